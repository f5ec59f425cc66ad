/* SPDX-License-Identifier: BSD-2-Clause */
/* The link table against an array: random versions, of which the last few are kept and must not change. */
#include "src/zone/links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { VERSIONS = 4, NUMBERS_MAX = 70000 };

typedef struct {
	zone_arena_t *arena;
	zone_links_t links;
	zone_ref_t *refs; /* owned: what the table must say */
} version_t;

static uint64_t random_state = 1;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

static void check(const version_t *v)
{
	const zone_arena_view_t *view = zone_arena_view(v->arena);
	for (uint32_t i = 0; i < v->links.count; i++) {
		assert_int_equal(zone_links_get(view, &v->links, i + 1), v->refs[i]);
	}
	assert_int_equal(zone_links_get(view, &v->links, 0), 0);
	assert_int_equal(zone_links_get(view, &v->links, v->links.count + 1), 0);
}

static zone_ref_t *make_refs(void)
{
	zone_ref_t *refs = calloc(NUMBERS_MAX, sizeof(*refs));
	assert_non_null(refs);
	return refs;
}

/* Tables of each depth and page length that are made at once. */
static void test_build(void **state)
{
	(void)state;
	static const uint32_t counts[] = { 0, 1, 2, 3, 255, 256, 257, 511, 512, 513, 65535, 65536, 65537, NUMBERS_MAX };
	for (size_t i = 0; i < KNOT_LEN(counts); i++) {
		version_t v = { .arena = zone_arena_new(0), .refs = make_refs() };
		for (uint32_t k = 0; k < counts[i]; k++) {
			v.refs[k] = 1 + draw(1000000);
		}
		assert_int_equal(zone_links_build(v.arena, v.refs, counts[i], &v.links), KNOT_OK);
		check(&v);
		zone_arena_free(v.arena);
		free(v.refs);
	}
}

static void test_versions(void **state)
{
	(void)state;
	version_t versions[VERSIONS] = { { .arena = zone_arena_new(0), .refs = make_refs() } };
	for (unsigned round = 1; round < 60; round++) {
		const version_t *from = &versions[(round - 1) % VERSIONS];
		version_t *to = &versions[round % VERSIONS];
		if (to->arena != NULL) {
			zone_arena_free(to->arena);
			free(to->refs);
		}
		*to = (version_t){ .arena = zone_arena_fork(from->arena), .links = from->links, .refs = make_refs() };
		memcpy(to->refs, from->refs, NUMBERS_MAX * sizeof(*to->refs));
		for (unsigned i = draw(round % 5 == 0 ? 20000 : 300); i > 0 && to->links.count < NUMBERS_MAX; i--) {
			zone_link_t link;
			assert_int_equal(zone_links_add(to->arena, &to->links, &link), KNOT_OK);
			assert_int_equal(link, to->links.count);
		}
		for (unsigned i = draw(200); i > 0 && to->links.count > 0; i--) {
			zone_link_t link = 1 + draw(to->links.count);
			to->refs[link - 1] = draw(1000000);
			assert_int_equal(zone_links_set(to->arena, &to->links, link, to->refs[link - 1]), KNOT_OK);
		}
		for (unsigned i = 0; i < VERSIONS && versions[i].arena != NULL; i++) {
			check(&versions[i]);
		}
	}
	assert_true(versions[59 % VERSIONS].links.count > 65536);
	for (unsigned i = 0; i < VERSIONS; i++) {
		zone_arena_free(versions[i].arena);
		free(versions[i].refs);
	}
}

/* What a transaction allocates less what it drops is what the table takes. */
static void test_live_size(void **state)
{
	(void)state;
	zone_arena_t *arena = zone_arena_new(0);
	zone_links_t links = { 0 };
	for (unsigned i = 0; i < 3000; i++) {
		zone_link_t link;
		assert_int_equal(zone_links_add(arena, &links, &link), KNOT_OK);
	}
	zone_arena_t *other = zone_arena_new(0);
	zone_ref_t *refs = make_refs();
	zone_links_t built;
	assert_int_equal(zone_links_build(other, refs, links.count, &built), KNOT_OK);
	assert_int_equal(zone_arena_live_change(arena), zone_arena_live_change(other));
	free(refs);
	zone_arena_free(other);
	zone_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_build), cmocka_unit_test(test_versions),
		cmocka_unit_test(test_live_size) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
