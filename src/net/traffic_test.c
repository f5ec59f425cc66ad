/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- Buckets ---- */

static void test_bounds(void **state)
{
	(void)state;
	assert_int_equal(traffic_bound_ns(0), 1024);
	assert_int_equal(traffic_bound_ns(1), 1536);
	assert_int_equal(traffic_bound_ns(2), 2048);
	assert_int_equal(traffic_bound_ns(TRAFFIC_BOUNDS - 1), UINT64_C(1) << 32);
	assert_int_equal(traffic_bound_ns(TRAFFIC_BOUNDS), UINT64_MAX);
	for (unsigned i = 0; i < TRAFFIC_BOUNDS; i++) {
		uint64_t bound = traffic_bound_ns(i);
		assert_true(bound < traffic_bound_ns(i + 1));
		assert_int_equal(traffic_bucket(bound), i);
		assert_int_equal(traffic_bucket(bound + 1), i + 1);
	}
	assert_int_equal(traffic_bucket(0), 0);
	assert_int_equal(traffic_bucket(1), 0);
	assert_int_equal(traffic_bucket(UINT64_MAX), TRAFFIC_BOUNDS);
}

/* ---- Batches ---- */

static answer_report_t report_of(uint16_t rcode, zone_t *zone, const knot_query_t *query)
{
	return (answer_report_t){ .rcode = rcode, .zone = zone, .query = query };
}

static void test_batch(void **state)
{
	(void)state;
	sys_counters_t *counters = traffic_counters_new();
	assert_non_null(counters);
	knot_query_t query = { 0 };
	traffic_batch_t batch = { 0 };
	assert_true(traffic_is_empty(&batch));
	answer_report_t good = report_of(0, NULL, &query), refused = report_of(5, NULL, &query),
			odd = report_of(12, NULL, &query), none = good;
	none.verdict = KNOT_MSG_DROP;
	for (unsigned i = 0; i < 3; i++) {
		traffic_request(&batch, ANSWER_UDP4, &good, 100);
	}
	traffic_request(&batch, ANSWER_UDP6_XDP, &refused, 100);
	traffic_request(&batch, ANSWER_UDP6_XDP, &odd, 100);
	traffic_request(&batch, ANSWER_UDP4, &none, 0);
	traffic_request(&batch, ANSWER_UDP4, &good, 0);
	traffic_drop(&batch, TRAFFIC_DROP_NOT_SENT);
	assert_false(traffic_is_empty(&batch));
	traffic_end(counters, &batch, 1500);
	assert_true(traffic_is_empty(&batch));
	traffic_end(counters, &batch, 1500); /* nothing is added twice */
	traffic_request(&batch, ANSWER_UDP4, &good, 100);
	traffic_end(counters, &batch, 5000);
	const struct {
		unsigned what;
		uint64_t want;
	} rows[] = {
		{ TRAFFIC_REQUESTS + ANSWER_UDP4, 4 },
		{ TRAFFIC_REQUESTS + ANSWER_UDP6_XDP, 2 },
		{ TRAFFIC_RCODES + 0, 4 },
		{ TRAFFIC_RCODES + 5, 1 },
		{ TRAFFIC_RCODES + KNOT_RCODE_SLOT_OTHER, 1 },
		{ TRAFFIC_DROPS + TRAFFIC_DROP_NO_REQUEST, 1 },
		{ TRAFFIC_DROPS + TRAFFIC_DROP_MODULE, 1 },
		{ TRAFFIC_DROPS + TRAFFIC_DROP_NOT_SENT, 1 },
		{ TRAFFIC_TIME + ANSWER_UDP4, 3 * 1500 + 5000 },
		{ TRAFFIC_TIME + ANSWER_UDP6_XDP, 2 * 1500 },
		{ TRAFFIC_LATENCY + ANSWER_UDP4 * TRAFFIC_BUCKETS + 1, 3 },
		{ TRAFFIC_LATENCY + ANSWER_UDP4 * TRAFFIC_BUCKETS + 5, 1 }, /* 4096 < 5000 <= 6144 */
		{ TRAFFIC_LATENCY + ANSWER_UDP6_XDP * TRAFFIC_BUCKETS + 1, 2 },
	};
	uint64_t all = 0, told = 0;
	for (unsigned i = 0; i < TRAFFIC_END; i++) {
		all += sys_counters_sum(counters, i);
	}
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		assert_int_equal(sys_counters_sum(counters, rows[i].what), rows[i].want);
		told += rows[i].want;
	}
	assert_int_equal(all, told); /* and nothing else was counted */
	sys_counters_free(counters);
}

/* ---- Tables ---- */

static const look_entry_t *find(look_entry_t (*sets)[LOOK_WAYS], unsigned set_count, uint64_t key)
{
	for (unsigned i = 0; i < set_count * LOOK_WAYS; i++) {
		const look_entry_t *entry = &sets[i / LOOK_WAYS][i % LOOK_WAYS];
		if (entry->key == key) {
			return entry;
		}
	}
	return NULL;
}

/* What Space-Saving promises: a count is never too small, and without what was taken over never too large. */
static void test_heavy_keys_are_kept(void **state)
{
	(void)state;
	enum { KEYS = 20000, ROUNDS = 400000, HEAVY = 10 };
	static look_entry_t sets[LOOK_ZONE_SETS][LOOK_WAYS];
	uint64_t *exact = calloc(KEYS + 1, sizeof(*exact)), random = 4711;
	assert_non_null(exact);
	for (unsigned i = 0; i < ROUNDS; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		/* Half of all are of a few keys, the others are spread over many. */
		uint64_t key = 1 + (random >> 33) % ((random >> 20 & 1) == 0 ? HEAVY : KEYS);
		exact[key]++;
		look_count(sets, LOOK_ZONE_SETS, key);
	}
	uint64_t sum = 0;
	for (unsigned i = 0; i < LOOK_ZONE_SETS * LOOK_WAYS; i++) {
		const look_entry_t *entry = &sets[i / LOOK_WAYS][i % LOOK_WAYS];
		sum += entry->count;
		if (entry->key != 0) {
			assert_true(entry->count >= exact[entry->key]);
			assert_true(entry->count - entry->taken_over <= exact[entry->key]);
		}
	}
	assert_int_equal(sum, ROUNDS);
	for (uint64_t key = 1; key <= HEAVY; key++) {
		const look_entry_t *entry = find(sets, LOOK_ZONE_SETS, key);
		assert_non_null(entry);
		assert_true(entry->count - entry->taken_over > exact[key] * 9 / 10);
	}
	free(exact);
}

/* ---- Looking ---- */

typedef struct {
	state_t state;
	state_root_t root;
	looks_t looks;
	zone_t *zones[3];
} world_t;

static void world_init(world_t *world)
{
	static const uint8_t names[3][4] = { "\1a", "\1b", "\1c" };
	*world = (world_t){ .state = { .number = 7 } };
	for (unsigned i = 0; i < 3; i++) {
		world->zones[i] = zone_new(knot_name_of(names[i]));
		assert_non_null(world->zones[i]);
	}
	world->root.state_rcu = &world->state;
	looks_init(&world->looks, 4);
}

static void world_done(world_t *world)
{
	looks_done(&world->looks);
	for (unsigned i = 0; i < 3; i++) {
		zone_free(world->zones[i]);
	}
}

static void ask(world_t *world, unsigned zone, uint16_t type, unsigned times)
{
	RCU_READ_SECTION(guard);
	traffic_batch_t batch = { 0 };
	traffic_begin(&batch, RCU_LOAD(guard, world->looks.list_rcu), &world->state);
	knot_query_t query = { .question_len = 7, .qtype = type };
	answer_report_t report = report_of(0, zone < 3 ? world->zones[zone] : NULL, &query);
	for (unsigned i = 0; i < times; i++) {
		traffic_request(&batch, ANSWER_UDP4, &report, 50);
	}
}

static void test_looks(void **state)
{
	(void)state;
	world_t world;
	world_init(&world);
	sys_rcu_register();
	assert_int_not_equal(sys_slot_take(), 0);
	ask(&world, 0, 1, 5); /* no looker: not counted */
	look_t *first, *second;
	look_result_t result;
	assert_int_equal(look_start(&world.looks, &first), KNOT_OK);
	ask(&world, 0, 1, 5);
	assert_int_equal(look_start(&world.looks, &second), KNOT_OK);
	ask(&world, 2, 28, 7);
	ask(&world, 3, 0, 1); /* no zone, type 0 */

	assert_int_equal(look_take(&world.looks, first, &world.root, &result), KNOT_OK);
	assert_int_equal(result.zone_count, 2);
	assert_int_equal(result.zones[0].count, 7);
	assert_memory_equal(result.zones[0].name, "\1c", 3);
	assert_int_equal(result.zones[1].count, 5);
	assert_memory_equal(result.zones[1].name, "\1a", 3);
	assert_int_equal(result.type_count, 3);
	assert_int_equal(result.types[0].type, 28);
	assert_int_equal(result.types[1].type, 1);
	assert_int_equal(result.types[2].type, 0);
	assert_int_equal(result.types[2].count, 1);

	/* Each looker has counts of its own; taken is taken. */
	assert_int_equal(look_take(&world.looks, second, &world.root, &result), KNOT_OK);
	assert_int_equal(result.zone_count, 1);
	assert_int_equal(result.zones[0].count, 7);
	assert_int_equal(look_take(&world.looks, first, &world.root, &result), KNOT_OK);
	assert_int_equal(result.zone_count, 0);
	assert_int_equal(result.type_count, 0);

	/* Zones of a state that isn't published any more may be gone. */
	ask(&world, 1, 1, 9);
	state_t next = { .number = 8 };
	world.root.state_rcu = &next;
	assert_int_equal(look_take(&world.looks, first, &world.root, &result), KNOT_OK);
	assert_int_equal(result.zone_count, 0);
	assert_int_equal(result.type_count, 1);
	assert_int_equal(result.types[0].count, 9);

	look_t *more[LOOKS_MAX];
	for (unsigned i = 2; i < LOOKS_MAX; i++) {
		assert_int_equal(look_start(&world.looks, &more[i]), KNOT_OK);
	}
	look_t *none = NULL;
	assert_int_equal(look_start(&world.looks, &none), KNOT_EBUSY);
	for (unsigned i = 2; i < LOOKS_MAX; i++) {
		look_stop(&world.looks, more[i]);
	}
	look_stop(&world.looks, first);
	look_stop(&world.looks, second);
	look_stop(&world.looks, NULL);
	assert_null(world.looks.list_rcu);
	sys_slot_give();
	sys_rcu_unregister();
	world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_heavy_keys_are_kept),
		cmocka_unit_test(test_looks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
