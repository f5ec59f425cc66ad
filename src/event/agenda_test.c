/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/agenda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static uint64_t seed;

static uint32_t random_next(uint32_t end)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((seed >> 33) % end);
}

/* The agenda only uses addresses of zones. */
static entry_t *zone_at(size_t number)
{
	return (entry_t *)(uintptr_t)(UINT64_C(0x7f0000000000) + number * 64);
}

/* ---- The table ---- */

static void test_rows(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_COUNT; i++) {
		const event_row_t *row = event_row((event_t)i);
		assert_true(row->name != NULL && row->name[0] != '\0');
		assert_true((row->rules & ~31u) == 0);
		for (int j = 0; j < i; j++) {
			assert_string_not_equal(row->name, event_row((event_t)j)->name);
		}
	}
	/* Knot's order breaks ties, and is the order of zone-status. */
	static const char *const names[] = { "load", "refresh", "update", "expiration", "purge", "flush",
		"backup/restore", "notify", "re-sign", "DNSSEC-validate", "update-freeze", "update-thaw", "DS-check",
		"DS-push", "DNSKEY-sync" };
	static const char *const frozen[] = { "load", "refresh", "update", "purge", "flush", "re-sign", "DS-check" };
	size_t held = 0;
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		assert_string_equal(event_row((event_t)i)->name, names[i]);
		if ((event_row((event_t)i)->rules & EVENT_FREEZES) != 0) {
			assert_true(held < KNOT_LEN(frozen));
			assert_string_equal(names[i], frozen[held++]);
		}
	}
	assert_int_equal(held, KNOT_LEN(frozen));
}

/* ---- Examples ---- */

static agenda_item_t first_of(const agenda_t *agenda)
{
	agenda_item_t item;
	assert_true(agenda_first(agenda, &item));
	return item;
}

static void test_earlier_time_holds(void **state)
{
	(void)state;
	agenda_t agenda = { 0 };
	agenda_item_t item;
	assert_false(agenda_first(&agenda, &item));
	assert_false(agenda_cancel(&agenda, zone_at(1), EVENT_LOAD));
	assert_int_equal(agenda_reserve(&agenda, 8), KNOT_OK);
	agenda_ticket_t ticket = agenda_plan(&agenda, zone_at(1), EVENT_FLUSH, 100, 0);
	assert_int_equal(agenda_event_of(ticket), EVENT_FLUSH);
	assert_int_equal(agenda_plan(&agenda, zone_at(1), EVENT_FLUSH, 200, EVENT_BY_OPERATOR), ticket);
	assert_true(agenda_find(&agenda, zone_at(1), EVENT_FLUSH, &item));
	assert_int_equal(item.due_ms, 100);
	assert_int_equal(item.how, EVENT_BY_OPERATOR);
	agenda_ticket_t earlier = agenda_plan(&agenda, zone_at(1), EVENT_FLUSH, 50, EVENT_BY_FORCE);
	assert_int_not_equal(earlier, ticket);
	assert_true(agenda_find(&agenda, zone_at(1), EVENT_FLUSH, &item));
	assert_int_equal(item.due_ms, 50);
	assert_int_equal(item.ticket, earlier);
	assert_int_equal(item.how, EVENT_BY_OPERATOR | EVENT_BY_FORCE);
	assert_false(agenda_find(&agenda, zone_at(1), EVENT_LOAD, &item));
	assert_false(agenda_find(&agenda, zone_at(2), EVENT_FLUSH, &item));
	assert_true(agenda_cancel(&agenda, zone_at(1), EVENT_FLUSH));
	assert_int_equal(agenda.count, 0);
	agenda_deinit(&agenda);
}

static void test_equal_times_keep_their_order(void **state)
{
	(void)state;
	agenda_t agenda = { 0 };
	assert_int_equal(agenda_reserve(&agenda, 5000), KNOT_OK);
	for (size_t i = 0; i < 5000; i++) {
		(void)agenda_plan(&agenda, zone_at(i), EVENT_LOAD, 7, 0);
	}
	for (size_t i = 0; i < 5000; i++) {
		assert_ptr_equal(first_of(&agenda).zone, zone_at(i));
		assert_true(agenda_cancel(&agenda, zone_at(i), EVENT_LOAD));
	}
	agenda_deinit(&agenda);
}

static void test_parked_events_keep_their_time(void **state)
{
	(void)state;
	agenda_t agenda = { 0 };
	agenda_item_t item;
	assert_int_equal(agenda_reserve(&agenda, 8), KNOT_OK);
	for (size_t i = 0; i < 3; i++) {
		(void)agenda_plan(&agenda, zone_at(i), EVENT_LOAD, 10 * (i + 1), 0);
	}
	agenda_park(&agenda, zone_at(0), EVENT_LOAD);
	agenda_park(&agenda, zone_at(1), EVENT_LOAD);
	assert_ptr_equal(first_of(&agenda).zone, zone_at(2));
	assert_int_equal(agenda_count_due(&agenda, 30), 1);
	agenda_park(&agenda, zone_at(2), EVENT_LOAD);
	assert_false(agenda_first(&agenda, &item));
	assert_true(agenda_find(&agenda, zone_at(1), EVENT_LOAD, &item));
	assert_true(item.is_parked && item.due_ms == 20);
	/* Planned for an earlier time it is still parked. */
	(void)agenda_plan(&agenda, zone_at(1), EVENT_LOAD, 5, 0);
	assert_false(agenda_first(&agenda, &item));
	for (size_t i = 0; i < 3; i++) {
		agenda_release(&agenda, zone_at(i), EVENT_LOAD);
	}
	assert_ptr_equal(first_of(&agenda).zone, zone_at(1));
	assert_int_equal(agenda_count_due(&agenda, 10), 2);
	assert_int_equal(agenda_count_due(&agenda, UINT64_MAX), 3);
	agenda_deinit(&agenda);
}

static void test_times_beyond_all_limits(void **state)
{
	(void)state;
	agenda_t agenda = { 0 };
	assert_int_equal(agenda_reserve(&agenda, 8), KNOT_OK);
	(void)agenda_plan(&agenda, zone_at(1), EVENT_FLUSH, UINT64_MAX, 0);
	(void)agenda_plan(&agenda, zone_at(2), EVENT_FLUSH, 0, 0);
	assert_ptr_equal(first_of(&agenda).zone, zone_at(2));
	assert_int_equal(agenda_count_due(&agenda, 1), 1);
	agenda_item_t item;
	assert_true(agenda_find(&agenda, zone_at(1), EVENT_FLUSH, &item) && !item.is_parked);
	agenda_deinit(&agenda);
}

/* ---- Random operations against a table of all events ---- */

enum { ZONES = 24, ROUNDS = 200000 };

typedef struct {
	bool is_planned, is_parked;
	unsigned how;
	uint64_t due_ms, order;
} model_t;

static model_t model[ZONES][EVENT_COUNT];
static uint64_t order;

static void model_plan(agenda_t *agenda, size_t zone, event_t event)
{
	model_t *now = &model[zone][event];
	uint64_t due_ms = random_next(50);
	unsigned how = random_next(4);
	(void)agenda_plan(agenda, zone_at(zone), event, due_ms, how);
	now->how = (now->is_planned ? now->how : 0) | how;
	if (!now->is_planned || due_ms < now->due_ms) {
		now->due_ms = due_ms;
		now->order = ++order;
		now->is_parked = now->is_planned && now->is_parked;
	}
	now->is_planned = true;
}

static void model_compare(const agenda_t *agenda)
{
	size_t count = 0, due = 0, first_zone = ZONES;
	event_t first_event = EVENT_NONE;
	const model_t *first = NULL;
	for (size_t zone = 0; zone < ZONES; zone++) {
		for (int event = 0; event < EVENT_COUNT; event++) {
			const model_t *now = &model[zone][event];
			agenda_item_t item;
			assert_int_equal(agenda_find(agenda, zone_at(zone), (event_t)event, &item), now->is_planned);
			if (!now->is_planned) {
				continue;
			}
			assert_int_equal(item.due_ms, now->due_ms);
			assert_int_equal(item.how, now->how);
			assert_int_equal(item.is_parked, now->is_parked);
			count++;
			due += !now->is_parked && now->due_ms <= 25;
			if (!now->is_parked &&
					(first == NULL || now->due_ms < first->due_ms ||
							(now->due_ms == first->due_ms && now->order < first->order))) {
				first = now;
				first_zone = zone;
				first_event = (event_t)event;
			}
		}
	}
	agenda_item_t item;
	assert_int_equal(agenda->count, count);
	assert_int_equal(agenda_count_due(agenda, 25), due);
	assert_int_equal(agenda_first(agenda, &item), first != NULL);
	if (first != NULL) {
		assert_ptr_equal(item.zone, zone_at(first_zone));
		assert_int_equal(item.event, first_event);
	}
}

/* One zone more seldom moves the events of all others. */
static void test_room_grows_in_parts(void **state)
{
	(void)state;
	agenda_t agenda = { 0 };
	unsigned moves = 0;
	for (size_t room = 1000; room < 2000; room++) {
		size_t before = agenda.room;
		assert_int_equal(agenda_reserve(&agenda, room), KNOT_OK);
		assert_true(agenda.room >= room);
		moves += agenda.room != before;
	}
	assert_true(moves > 0 && moves <= 5);
	agenda_deinit(&agenda);
}

static void test_random_operations(void **state)
{
	(void)state;
	const char *given = getenv("KNOT_SEED");
	seed = given != NULL ? strtoull(given, NULL, 0) : 34;
	print_message("KNOT_SEED=%llu\n", (unsigned long long)seed);
	agenda_t agenda = { 0 };
	assert_int_equal(agenda_reserve(&agenda, 16), KNOT_OK);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t zone = random_next(ZONES);
		event_t event = (event_t)random_next(EVENT_COUNT);
		model_t *now = &model[zone][event];
		/* Phases in which more is planned, and in which more is cancelled. */
		unsigned what = random_next(round / 1000 % 2 == 0 ? 12 : 20);
		if (what < 6) {
			assert_int_equal(agenda_reserve(&agenda, agenda.count + 1), KNOT_OK);
			model_plan(&agenda, zone, event);
		} else if (what < 8 && now->is_planned) {
			agenda_park(&agenda, zone_at(zone), event);
			now->is_parked = true;
		} else if (what < 10 && now->is_planned) {
			agenda_release(&agenda, zone_at(zone), event);
			now->is_parked = false;
		} else if (what == 10 && random_next(100) == 0) {
			agenda_trim(&agenda);
		} else {
			assert_int_equal(agenda_cancel(&agenda, zone_at(zone), event), now->is_planned);
			now->is_planned = now->is_parked = false;
		}
		if (round % 64 == 0) {
			model_compare(&agenda);
		}
	}
	model_compare(&agenda);
	agenda_deinit(&agenda);
}

/* ---- A million zones ---- */

enum { MANY = 1000000 };

/* Bytes in memory of a mapping. */
static size_t resident(void *at, size_t bytes)
{
	size_t pages = (bytes + 4095) / 4096, count = 0;
	unsigned char *in = malloc(pages);
	assert_non_null(in);
	assert_int_equal(mincore(at, bytes, in), 0);
	for (size_t i = 0; i < pages; i++) {
		count += in[i] & 1;
	}
	free(in);
	return count * 4096;
}

static size_t memory_of(const agenda_t *agenda)
{
	return resident(agenda->slots, agenda->room * 16) + resident(agenda->index, agenda->index_len * 4);
}

static void test_a_million_zones(void **state)
{
	(void)state;
	agenda_t agenda = { 0 };
	seed = 5;
	/* Room for every event that there may be, as the server reserves it, takes no memory. */
	assert_int_equal(agenda_reserve(&agenda, (size_t)MANY * EVENT_COUNT), KNOT_OK);
	assert_true(memory_of(&agenda) < 65536);
	for (size_t i = 0; i < MANY; i++) {
		(void)agenda_plan(&agenda, zone_at(i), EVENT_LOAD, i / 1000, 0);
	}
	size_t bytes = memory_of(&agenda);
	print_message("a million events: %zu bytes\n", bytes);
	assert_true(bytes < (size_t)MANY * 28);
	for (size_t i = 0; i < MANY; i++) { /* flushes at random times meanwhile, for one zone in a hundred */
		if (i % 100 == 0) {
			(void)agenda_plan(&agenda, zone_at(i), EVENT_FLUSH, 1000000 + random_next(1000), 0);
		}
		assert_ptr_equal(first_of(&agenda).zone, zone_at(i));
		assert_true(agenda_cancel(&agenda, zone_at(i), EVENT_LOAD));
	}
	assert_true(agenda_was_long(&agenda));
	agenda_trim(&agenda);
	assert_false(agenda_was_long(&agenda));
	bytes = memory_of(&agenda);
	print_message("ten thousand left: %zu bytes\n", bytes);
	assert_true(bytes < 10000 * 28 + 3 * 4096);
	uint64_t last = 0;
	for (size_t i = 0; i < MANY / 100; i++) {
		agenda_item_t item = first_of(&agenda);
		assert_true(item.due_ms >= last);
		last = item.due_ms;
		assert_true(agenda_cancel(&agenda, item.zone, item.event));
	}
	agenda_deinit(&agenda);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_earlier_time_holds),
		cmocka_unit_test(test_equal_times_keep_their_order),
		cmocka_unit_test(test_parked_events_keep_their_time),
		cmocka_unit_test(test_times_beyond_all_limits),
		cmocka_unit_test(test_room_grows_in_parts),
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_a_million_zones),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
