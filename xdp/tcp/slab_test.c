/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum {
	SHIFT = 4, /* 16 items of a page: a chunk is 64 KiB */
	ITEM = 4096,
	PER_CHUNK = 1 << SHIFT,
	CHUNKS = 40,
	COUNT = CHUNKS * PER_CHUNK,
};

static uint32_t numbers[COUNT];

static void take_all(kxdp_slab_t *slab)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		numbers[i] = kxdp_slab_take(slab);
		assert_int_not_equal(numbers[i], 0);
		memcpy((uint8_t *)kxdp_slab_at(slab, numbers[i]) + sizeof(uint32_t), &i, sizeof(i));
	}
}

/* Each item is there once, and holds what was written to it. */
static void check_all(const kxdp_slab_t *slab)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t held;
		memcpy(&held, (const uint8_t *)kxdp_slab_at(slab, numbers[i]) + sizeof(uint32_t), sizeof(held));
		assert_int_equal(held, i);
	}
}

static void test_empty_chunks_go_back(void **state)
{
	(void)state;
	kxdp_slab_t slab;
	kxdp_slab_init(&slab, ITEM, SHIFT);
	for (unsigned round = 0; round < 3; round++) {
		take_all(&slab);
		check_all(&slab);
		assert_int_equal(kxdp_slab_mapped(&slab), CHUNKS * PER_CHUNK * ITEM);
		for (uint32_t i = 0; i < COUNT; i++) {
			kxdp_slab_give_back(&slab, numbers[i]);
		}
		assert_int_equal(slab.empty_count, CHUNKS - 1); /* one item is `spare` */
		kxdp_slab_trim(&slab, 1, 10);
		assert_int_equal(kxdp_slab_mapped(&slab), (CHUNKS - 10) * PER_CHUNK * ITEM);
		kxdp_slab_trim(&slab, 1, UINT32_MAX);
		assert_int_equal(kxdp_slab_mapped(&slab), PER_CHUNK * ITEM);
		assert_true(kxdp_slab_memory(&slab) < 2 * PER_CHUNK * ITEM);
		assert_true(slab.chunk_end <= CHUNKS + 1); /* places are used again */
	}
	kxdp_slab_done(&slab);
}

/* One item keeps its chunk, and the chunk's other items are given out before a new chunk is mapped. */
static void test_used_chunks_stay(void **state)
{
	(void)state;
	kxdp_slab_t slab;
	kxdp_slab_init(&slab, ITEM, SHIFT);
	take_all(&slab);
	for (uint32_t i = 0; i < COUNT; i++) {
		if (i % PER_CHUNK != 3) {
			kxdp_slab_give_back(&slab, numbers[i]);
		}
	}
	kxdp_slab_trim(&slab, 0, UINT32_MAX);
	assert_int_equal(slab.mapped_count, CHUNKS);
	for (uint32_t i = 0; i < COUNT; i++) {
		if (i % PER_CHUNK != 3) {
			numbers[i] = kxdp_slab_take(&slab);
			memcpy((uint8_t *)kxdp_slab_at(&slab, numbers[i]) + sizeof(uint32_t), &i, sizeof(i));
		}
	}
	assert_int_equal(slab.mapped_count, CHUNKS);
	check_all(&slab);
	kxdp_slab_done(&slab);
}

/* At random, against a plain count. */
static void test_random(void **state)
{
	(void)state;
	kxdp_slab_t slab;
	kxdp_slab_init(&slab, ITEM, SHIFT);
	uint64_t random = 1;
	uint32_t used = 0;
	memset(numbers, 0, sizeof(numbers));
	for (uint32_t step = 0; step < 200000; step++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint32_t i = (uint32_t)(random >> 33) % COUNT;
		if (numbers[i] == 0) {
			numbers[i] = kxdp_slab_take(&slab);
			memcpy((uint8_t *)kxdp_slab_at(&slab, numbers[i]) + sizeof(uint32_t), &i, sizeof(i));
			used++;
		} else {
			uint32_t held;
			memcpy(&held, (const uint8_t *)kxdp_slab_at(&slab, numbers[i]) + sizeof(uint32_t),
					sizeof(held));
			assert_int_equal(held, i);
			kxdp_slab_give_back(&slab, numbers[i]);
			numbers[i] = 0;
			used--;
		}
		if (step % 1000 == 0) {
			kxdp_slab_trim(&slab, 1, 2);
		}
		assert_true(slab.mapped_count * (uint64_t)PER_CHUNK >= used);
	}
	uint32_t sum = 0;
	for (uint32_t chunk = 0; chunk < slab.chunk_end; chunk++) {
		sum += slab.chunks[chunk] != NULL ? slab.infos[chunk].used : 0;
	}
	assert_int_equal(sum, used + (slab.spare != 0 ? 1 : 0));
	assert_false(kxdp_slab_has(&slab, 0));
	assert_false(kxdp_slab_has(&slab, slab.chunk_end << SHIFT));
	kxdp_slab_done(&slab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_chunks_go_back),
		cmocka_unit_test(test_used_chunks_stay),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
