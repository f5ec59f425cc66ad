/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree against a sorted array: random puts, removals and lookups; every committed version is kept and checked again
 * after later transactions, so that a write into shared memory shows. KNOT_SEED=n replays.
 */
#include "src/zone/node.h"
#include "src/zone/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { UNIVERSE = 600, VERSIONS = 12, ROUNDS = 60, OPS = 40 };

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} owned_name_t;

typedef struct {
	zone_arena_t *arena;
	zone_tree_t tree;
	zone_ref_t refs[UNIVERSE]; /* by index of the universe, which is sorted; 0: not in */
} version_t;

static owned_name_t universe[UNIVERSE];
static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

static void seed_random(void)
{
	const char *text = getenv("KNOT_SEED");
	random_state = text != NULL ? strtoull(text, NULL, 10) : 1;
	print_message("KNOT_SEED=%llu\n", (unsigned long long)random_state);
	draw(1);
}

/* Names that share prefixes, sit above each other, and use bytes with two key positions. */
static void draw_name(owned_name_t *ret)
{
	static const uint8_t bytes[] = { 'a', 'b', 'z', '0', '-', '_', '*', 0, 0x20, 0x7F, 0xFF, '.' };
	unsigned labels = draw(6);
	size_t len = 0;
	for (unsigned i = 0; i < labels; i++) {
		unsigned label_len = draw(10) == 0 ? 1 + draw(40) : 1 + draw(2);
		ret->wire[len++] = (uint8_t)label_len;
		for (unsigned j = 0; j < label_len; j++) {
			ret->wire[len++] = bytes[draw(draw(3) ? 3 : KNOT_LEN(bytes))];
		}
	}
	ret->wire[len] = 0;
	ret->name = (knot_name_t){ ret->wire, (uint8_t)(len + 1), (uint8_t)labels };
}

static int cmp_names(const void *va, const void *vb)
{
	const owned_name_t *a = va, *b = vb;
	return knot_name_cmp((knot_name_t){ a->wire, a->name.len, a->name.label_count },
			(knot_name_t){ b->wire, b->name.len, b->name.label_count });
}

static void make_universe(void)
{
	size_t have = 0;
	while (have < UNIVERSE) {
		draw_name(&universe[have]);
		bool is_new = true;
		for (size_t i = 0; i < have && is_new; i++) {
			is_new = cmp_names(&universe[i], &universe[have]) != 0;
		}
		have += is_new;
	}
	qsort(universe, UNIVERSE, sizeof(*universe), cmp_names);
	for (size_t i = 0; i < UNIVERSE; i++) {
		universe[i].name.wire = universe[i].wire;
	}
}

static zone_ref_t make_leaf(zone_arena_t *arena, knot_name_t name)
{
	zone_ref_t ref = zone_arena_alloc(arena, offsetof(zone_node_t, owner) + name.len);
	assert_int_not_equal(ref, 0);
	zone_node_t *node = zone_at(zone_arena_view(arena), ref);
	node->owner_len = name.len;
	node->owner_label_count = name.label_count;
	memcpy(node->owner, name.wire, name.len);
	return ref;
}

static zone_ref_t oracle_above(const version_t *v, knot_name_t name)
{
	zone_ref_t best = 0;
	unsigned best_labels = 0;
	for (size_t i = 0; i < UNIVERSE; i++) {
		knot_name_t other = universe[i].name;
		if (v->refs[i] != 0 && knot_name_in(name, other) && (best == 0 || other.label_count > best_labels)) {
			best = v->refs[i];
			best_labels = other.label_count;
		}
	}
	return best;
}

static zone_ref_t oracle_before(const version_t *v, size_t end)
{
	for (size_t i = end; i-- > 0;) {
		if (v->refs[i] != 0) {
			return v->refs[i];
		}
	}
	return 0;
}

/* Walks made together, names of all kinds at once, lead to what walks one by one do. */
static void check_warm(const version_t *v)
{
	static uint8_t keys[UNIVERSE][KNOT_NAME_KEY_MAX];
	static zone_tree_walk_t walks[UNIVERSE];
	const zone_arena_view_t *view = zone_arena_view(v->arena);
	for (size_t i = 0; i < UNIVERSE; i++) {
		walks[i] = (zone_tree_walk_t){ .view = view, .tree = &v->tree, .key = keys[i] };
		walks[i].key_len = knot_name_key(universe[i].name, keys[i]);
	}
	for (size_t i = 0; i < UNIVERSE; i += ZONE_TREE_WALKS_MAX) {
		size_t left = UNIVERSE - i;
		zone_tree_warm(walks + i, left < ZONE_TREE_WALKS_MAX ? left : ZONE_TREE_WALKS_MAX);
	}
	for (size_t i = 0; i < UNIVERSE; i++) {
		zone_tree_match_t match = zone_tree_match_walked(
				view, &v->tree, universe[i].name, keys[i], walks[i].key_len, walks[i].deepest);
		assert_int_equal(match.exact, v->refs[i]);
		assert_int_equal(match.encloser, oracle_above(v, universe[i].name));
	}
}

static void check_seek(const version_t *v);

static void check_lookups(const version_t *v)
{
	check_warm(v);
	const zone_arena_view_t *view = zone_arena_view(v->arena);
	for (size_t i = 0; i < UNIVERSE; i++) {
		knot_name_t name = universe[i].name;
		uint8_t key[KNOT_NAME_KEY_MAX];
		size_t key_len = knot_name_key(name, key);
		zone_tree_match_t match = zone_tree_match(view, &v->tree, name, key, key_len);
		assert_int_equal(zone_tree_find(view, &v->tree, name), v->refs[i]);
		assert_int_equal(match.exact, v->refs[i]);
		assert_int_equal(match.encloser, oracle_above(v, name));
		assert_int_equal(zone_tree_below(view, &v->tree, name), oracle_before(v, i));
		assert_int_equal(zone_tree_floor(view, &v->tree, name), oracle_before(v, i + 1));
	}
	assert_int_equal(zone_tree_last(view, &v->tree), oracle_before(v, UNIVERSE));
	check_seek(v);
}

/* From each name on the rest follows in order. */
static void check_seek(const version_t *v)
{
	static zone_ref_t want[UNIVERSE + 1];
	size_t count = 0;
	for (size_t i = UNIVERSE; i-- > 0;) {
		zone_tree_iter_t iter;
		if (v->refs[i] != 0) {
			want[count++] = v->refs[i];
		}
		zone_tree_seek(zone_arena_view(v->arena), &v->tree, universe[i].name, &iter);
		for (size_t k = 0; k < 8 && k < count; k++) {
			assert_int_equal(zone_tree_next(&iter), want[count - 1 - k]);
		}
		if (count < 8) {
			assert_int_equal(zone_tree_next(&iter), 0);
		}
	}
}

static void check_order(const version_t *v)
{
	zone_tree_iter_t iter;
	uint32_t count = 0;
	zone_tree_begin(zone_arena_view(v->arena), &v->tree, &iter);
	for (size_t i = 0; i < UNIVERSE; i++) {
		if (v->refs[i] != 0) {
			assert_int_equal(zone_tree_next(&iter), v->refs[i]);
			count++;
		}
	}
	assert_int_equal(zone_tree_next(&iter), 0);
	assert_int_equal(v->tree.count, count);
}

/* A tree built at once from the version's records equals the one that grew. */
static void check_build(const version_t *v)
{
	zone_tree_leaf_t leaves[UNIVERSE];
	size_t count = 0, before = 0;
	version_t built = *v;
	built.arena = zone_arena_new(0);
	for (size_t i = 0; i < UNIVERSE; i++) {
		built.refs[i] = v->refs[i] != 0 ? make_leaf(built.arena, universe[i].name) : 0;
		if (built.refs[i] != 0) {
			leaves[count].ref = built.refs[i];
			if (count > 0) {
				leaves[count].step = zone_tree_step(universe[before].name, universe[i].name);
			}
			before = i;
			count++;
		}
	}
	assert_int_equal(zone_tree_build(built.arena, leaves, count, &built.tree), KNOT_OK);
	zone_arena_seal(built.arena, true);
	check_lookups(&built);
	check_order(&built);
	zone_arena_free(built.arena);
}

static void change(version_t *v, unsigned ops)
{
	for (unsigned i = 0; i < ops; i++) {
		unsigned which = draw(UNIVERSE);
		zone_ref_t old = 0;
		if (draw(5) < 3) {
			zone_ref_t leaf = make_leaf(v->arena, universe[which].name);
			assert_int_equal(zone_tree_put(v->arena, &v->tree, leaf, &old), KNOT_OK);
			assert_int_equal(old, v->refs[which]);
			v->refs[which] = leaf;
		} else {
			knot_err_t want = v->refs[which] != 0 ? KNOT_OK : KNOT_ENOENT;
			assert_int_equal(zone_tree_remove(v->arena, &v->tree, universe[which].name), want);
			v->refs[which] = 0;
		}
	}
}

static void test_versions(void **state)
{
	(void)state;
	seed_random();
	make_universe();
	version_t versions[VERSIONS] = { { .arena = zone_arena_new(0) } };
	unsigned newest = 0;
	for (unsigned round = 1; round < ROUNDS; round++) {
		unsigned next = round % VERSIONS;
		if (versions[next].arena != NULL) {
			zone_arena_free(versions[next].arena);
		}
		versions[next] = versions[newest];
		versions[next].arena = zone_arena_fork(versions[newest].arena);
		assert_non_null(versions[next].arena);
		change(&versions[next], round < 4 ? 10 * OPS : OPS);
		newest = next;
		check_lookups(&versions[draw(VERSIONS) % (round < VERSIONS ? round : VERSIONS)]);
		check_order(&versions[newest]);
	}
	for (unsigned i = 0; i < VERSIONS; i++) {
		check_lookups(&versions[i]);
		check_order(&versions[i]);
		check_build(&versions[i]);
		zone_arena_free(versions[i].arena);
	}
}

/* What a discarded fork wrote behind its parent's end is of no concern to the next one. */
static void test_discarded_fork(void **state)
{
	(void)state;
	version_t base = { .arena = zone_arena_new(0) };
	seed_random();
	make_universe();
	change(&base, 3 * OPS);
	for (unsigned i = 0; i < 5; i++) {
		version_t lost = base, kept = base;
		lost.arena = zone_arena_fork(base.arena);
		change(&lost, OPS);
		zone_arena_free(lost.arena);
		check_lookups(&base);
		kept.arena = zone_arena_fork(base.arena);
		change(&kept, OPS);
		zone_arena_free(base.arena);
		base = kept;
		check_lookups(&base);
	}
	zone_arena_free(base.arena);
}

static void test_empty(void **state)
{
	(void)state;
	zone_tree_t tree = { 0 };
	zone_arena_t *arena = zone_arena_new(0);
	const zone_arena_view_t *view = zone_arena_view(arena);
	uint8_t key[KNOT_NAME_KEY_MAX];
	zone_tree_match_t match = zone_tree_match(view, &tree, knot_name_root, key, knot_name_key(knot_name_root, key));
	assert_int_equal(match.exact, 0);
	assert_int_equal(match.encloser, 0);
	assert_int_equal(zone_tree_find(view, &tree, knot_name_root), 0);
	assert_int_equal(zone_tree_floor(view, &tree, knot_name_root), 0);
	assert_int_equal(zone_tree_last(view, &tree), 0);
	zone_tree_iter_t iter;
	zone_tree_begin(view, &tree, &iter);
	assert_int_equal(zone_tree_next(&iter), 0);
	assert_int_equal(zone_tree_remove(arena, &tree, knot_name_root), KNOT_ENOENT);
	zone_arena_free(arena);
}

static void test_large_allocation(void **state)
{
	(void)state;
	zone_arena_t *arena = zone_arena_new(0);
	static const size_t lens[] = { 1, 5000000, 8, ZONE_CHUNK_MAX, 24, ZONE_CHUNK_MAX - 8, 100 };
	zone_ref_t refs[KNOT_LEN(lens)];
	for (size_t i = 0; i < KNOT_LEN(lens); i++) {
		refs[i] = zone_arena_alloc(arena, lens[i]);
		assert_int_not_equal(refs[i], 0);
		memset(zone_at(zone_arena_view(arena), refs[i]), (int)i + 1, lens[i]);
	}
	for (size_t i = 0; i < KNOT_LEN(lens); i++) {
		const uint8_t *p = zone_at(zone_arena_view(arena), refs[i]);
		assert_int_equal(p[0], i + 1);
		assert_int_equal(p[lens[i] - 1], i + 1);
	}
	zone_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_discarded_fork),
		cmocka_unit_test(test_large_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
