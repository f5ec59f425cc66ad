/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commits without memory. What commits make, tests/oracle/oracle_test compares with builds from scratch.
 */
#include "src/zone/test_dump.h"
#include "src/zone/txn.h"
#include "tests/oracle/world.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* ---- Memory that runs out ---- */

#if defined(__GLIBC__) && !defined(KNOT_IS_SANITIZED)
#define CAN_FAIL 1
#else
#define CAN_FAIL 0 /* the sanitizers have an allocator of their own */
#endif

static volatile struct {
	bool is_on;      /* count; and the allocation after `left` more fails */
	long left, held; /* left < 0: none fails (any more) */
} heap = { .left = -1 };

#if CAN_FAIL
extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t count, size_t len);
extern void *__libc_realloc(void *old, size_t len);
extern void __libc_free(void *at);

static bool heap_fails(void)
{
	return heap.is_on && heap.left >= 0 && heap.left-- == 0;
}

void *malloc(size_t len)
{
	void *at = heap_fails() ? NULL : __libc_malloc(len);
	heap.held += heap.is_on && at != NULL;
	return at;
}

void *calloc(size_t count, size_t len)
{
	void *at = heap_fails() ? NULL : __libc_calloc(count, len);
	heap.held += heap.is_on && at != NULL;
	return at;
}

void *realloc(void *old, size_t len)
{
	void *at = heap_fails() ? NULL : __libc_realloc(old, len);
	heap.held += heap.is_on && old == NULL && at != NULL;
	return at;
}

void free(void *at)
{
	heap.held -= heap.is_on && at != NULL;
	__libc_free(at);
}
#endif

static const zone_build_params_t params = {
	.origin = { (const uint8_t *)"\4zone", 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

/* Let each allocation of a build fail in turn: nothing leaks, and the version before stays as it is. */
static void build_without_memory(const zone_txn_t *txn, const zone_contents_t *base)
{
	char *before = dump_zone(base);
	assert_non_null(before);
	for (long fail_at = 0, left = -1; left < 0; fail_at++) {
		zone_contents_t *zone = NULL;
		heap.held = 0;
		heap.left = fail_at;
		heap.is_on = true;
		knot_err_t err = zone_txn_build(txn, base, &params, &zone);
		left = heap.left;
		heap.left = -1;
		zone_contents_free(zone);
		heap.is_on = false;
		assert_true(err == KNOT_OK || err == KNOT_ENOMEM); /* sharing and caches do without */
		assert_int_equal(heap.held, 0);
		char *after = dump_zone(base);
		assert_non_null(after);
		assert_string_equal(after, before);
		free(after);
	}
	free(before);
}

/* MX records whose targets don't exist: each takes a number. */
static void put_targets(zone_txn_t *txn, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint8_t rdata[] = "\0\0\3m--\4zone";
		rdata[4] = (uint8_t)('0' + i / 10);
		rdata[5] = (uint8_t)('0' + i % 10);
		assert_int_equal(zone_txn_put(txn, world_origin, KNOT_TYPE_MX, 60,
						 (knot_bytes_t){ rdata, sizeof(rdata) }),
				KNOT_OK);
	}
}

static void test_without_memory(void **state)
{
	(void)state;
	enum { WORLDS = 150, TARGETS = 60, CHANGES = 5 };
	world_t *w = CAN_FAIL ? malloc(sizeof(*w)) : NULL;
	for (uint64_t seed = 1; w != NULL && seed <= WORLDS; seed++) {
		uint64_t random = seed;
		world_state_t at;
		const chain_t none = { .count = 0 };
		world_make(w, seed);
		world_begin(w, &random, &at);
		zone_contents_t *base;
		zone_txn_t *txn;
		assert_int_equal(world_build(w, &at, &none, 1, &params, &base), KNOT_OK);
		assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
		for (unsigned i = 0, left = CHANGES; i < w->count && left > 0; i++) {
			const world_record_t *r = &w->records[i];
			if (!at.is_in[i]) {
				knot_bytes_t rdata = { r->rdata, r->rdata_len };
				assert_int_equal(zone_txn_put(txn, r->owner, r->type, 60, rdata), KNOT_OK);
				left--;
			}
		}
		put_targets(txn, world_draw(&random, TARGETS));
		build_without_memory(txn, base);
		zone_txn_discard(txn);
		zone_contents_free(base);
	}
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_without_memory) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
