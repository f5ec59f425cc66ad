/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of many sizes come and go: none overlaps another, each keeps its bytes. KNOT_SEED=n replays. */
#include "src/zone/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>

enum { BLOCKS = 3000, STEPS = 300000, LEN_MAX = 2600 };

typedef struct {
	uint8_t *bytes;
	size_t len;
	uint8_t value;
} block_t;

static void check(const block_t *block)
{
	for (size_t i = 0; i < block->len; i++) {
		if (block->bytes[i] != block->value) {
			fail_msg("byte %zu of a block of %zu was overwritten", i, block->len);
		}
	}
}

static void test_random(void **state)
{
	(void)state;
	const char *text = getenv("KNOT_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
	print_message("KNOT_SEED=%llu\n", (unsigned long long)seed);
	static block_t blocks[BLOCKS];
	for (unsigned step = 0; step < STEPS; step++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		block_t *block = &blocks[(seed >> 33) % BLOCKS];
		if (block->bytes != NULL) {
			check(block);
			zone_slab_free(block->bytes, block->len);
			*block = (block_t){ 0 };
			continue;
		}
		block->len = 1 + (seed >> 20) % (step % 2 ? LEN_MAX : 64);
		block->value = (uint8_t)step;
		block->bytes = zone_slab_alloc(block->len);
		assert_non_null(block->bytes);
		assert_int_equal((uintptr_t)block->bytes % 8, 0);
		memset(block->bytes, block->value, block->len);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (blocks[i].bytes != NULL) {
			check(&blocks[i]);
			zone_slab_free(blocks[i].bytes, blocks[i].len);
		}
	}
}

/*
 * Of this process, as the kernel counts it page by page: its sums for statm lack what each processor has not added yet.
 */
static size_t resident_bytes(void)
{
	char line[256];
	size_t kib = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	if (f == NULL) {
		skip(); /* a kernel without CONFIG_PROC_PAGE_MONITOR */
	}
	while (kib == 0 && fgets(line, sizeof(line), f) != NULL) {
		(void)sscanf(line, "Rss: %zu kB", &kib);
	}
	fclose(f);
	assert_int_not_equal(kib, 0);
	return kib * 1024;
}

/* Many blocks take little more than their bytes, and a page for each slab when they are freed. */
static void test_memory(void **state)
{
	(void)state;
	enum { COUNT = 100000, LEN = 470, TAKEN = 472 };
#if defined(ZONE_SLAB_OFF) || defined(__SANITIZE_THREAD__)
	skip(); /* all blocks come from the heap, or each has shadow memory */
#endif
	/* Huge pages would come and go when the kernel finds the time. */
	(void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	void **blocks = malloc(COUNT * sizeof(*blocks));
	assert_non_null(blocks);
	memset(blocks, 0xff, COUNT * sizeof(*blocks)); /* its own pages are there before it is measured */
	size_t before = resident_bytes();
	for (unsigned i = 0; i < COUNT; i++) {
		blocks[i] = zone_slab_alloc(LEN);
		assert_non_null(blocks[i]);
		memset(blocks[i], 1, LEN);
	}
	size_t during = resident_bytes();
	for (unsigned i = 0; i < COUNT; i++) {
		zone_slab_free(blocks[(i * UINT64_C(7919)) % COUNT], LEN);
	}
	size_t after = resident_bytes();
	free(blocks);
	enum { SLAB_LEN = 64 * 1024, OTHER = 256 * 1024 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	assert_in_range(during - before, (size_t)COUNT * TAKEN * 9 / 10, (size_t)COUNT * TAKEN * 102 / 100 + OTHER);
	assert_true(after <= before + (size_t)COUNT * TAKEN * 105 / 100 / SLAB_LEN * page + OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random), cmocka_unit_test(test_memory) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
