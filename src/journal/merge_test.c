/* SPDX-License-Identifier: BSD-2-Clause */
/* Merging: the merged change does what its parts do one after the other. */
#include "src/journal/changeset_merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NAMES = 6, VALUES = 3, RECORDS = NAMES * VALUES, STEPS_MAX = 8, ROUNDS = 20000 };

/* A zone: for each record its TTL, 0 if it isn't there. The first ones of a name are an RRset. */
typedef struct {
	uint32_t ttl[RECORDS];
	uint32_t serial;
} zone_t;

static uint64_t random_state;

static uint32_t random_below(uint32_t end)
{
	random_state = random_state * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % end);
}

static void put(changeset_writer_t *writer, int record, uint32_t ttl, bool is_added)
{
	/* Letters' case of owners differs from change to change. */
	uint8_t owner[] = { 1, (uint8_t)((random_below(2) ? 'A' : 'a') + record / VALUES), 1, 'z', 0 };
	uint8_t data[] = { 192, 0, 2, (uint8_t)(record % VALUES) };
	changeset_put(writer, &(changeset_rr_t){ { owner, 5, 2 }, 1, ttl, { data, 4 } }, is_added);
}

static void put_soa(changeset_writer_t *writer, uint32_t serial, bool is_added)
{
	static const uint8_t owner[] = { 1, 'z', 0 };
	uint8_t data[22] = { 0 };
	store_be32(data + 2, serial);
	changeset_put(writer, &(changeset_rr_t){ { owner, 3, 1 }, KNOT_TYPE_SOA, 3600, { data, 22 } }, is_added);
}

typedef struct {
	uint8_t *data;
	size_t len;
} made_t;

static made_t make_whole(const zone_t *zone)
{
	changeset_writer_t writer = { 0 };
	made_t made;
	put_soa(&writer, zone->serial, true);
	for (int i = 0; i < RECORDS; i++) {
		if (zone->ttl[i] != 0) {
			put(&writer, i, zone->ttl[i], true);
		}
	}
	assert_int_equal(changeset_finish(&writer, CHANGESET_WHOLE, &made.data, &made.len), KNOT_OK);
	return made;
}

/* A change of the zone: some records come, go, or get another TTL. */
static made_t make_step(zone_t *zone)
{
	changeset_writer_t writer = { 0 };
	made_t made;
	put_soa(&writer, zone->serial, false);
	put_soa(&writer, ++zone->serial, true);
	for (int i = 0; i < RECORDS; i++) {
		uint32_t ttl = random_below(3) == 0 ? random_below(3) * 60 : zone->ttl[i];
		if (ttl == zone->ttl[i]) {
			continue;
		}
		if (zone->ttl[i] != 0) {
			put(&writer, i, zone->ttl[i], false);
		}
		if (ttl != 0) {
			put(&writer, i, ttl, true);
		}
		zone->ttl[i] = ttl;
	}
	assert_int_equal(changeset_finish(&writer, CHANGESET_STEP, &made.data, &made.len), KNOT_OK);
	return made;
}

typedef struct {
	zone_t zone;
	bool is_step, failed;
	uint32_t counts[2];
} apply_t;

/* Strict: what is removed is there with this TTL, what is added isn't there. */
static bool apply(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	apply_t *a = ctx;
	a->counts[is_added]++;
	if (rr->type == KNOT_TYPE_SOA) {
		uint32_t serial = knot_soa_serial(rr->rdata);
		a->failed = a->failed || (!is_added && a->zone.serial != serial);
		a->zone.serial = serial;
		return true;
	}
	int record = ((rr->owner.wire[1] | 32) - 'a') * VALUES + rr->rdata.data[3];
	uint32_t *ttl = &a->zone.ttl[record];
	a->failed = a->failed || *ttl != (is_added ? 0 : rr->ttl);
	*ttl = is_added ? rr->ttl : 0;
	return true;
}

static void test_merged_is_as_one_after_the_other(void **state)
{
	(void)state;
	const char *seed = getenv("KNOT_SEED");
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t first = (seed != NULL ? strtoull(seed, NULL, 10) : 1) + round;
		random_state = first * 0x9e3779b97f4a7c15;
		zone_t begin = { .serial = random_below(5) }, zone;
		for (int i = 0; i < RECORDS; i++) {
			begin.ttl[i] = random_below(3) * 60;
		}
		zone = begin;
		bool with_whole = random_below(2) == 0;
		made_t parts[STEPS_MAX + 1];
		size_t count = 0;
		if (with_whole) {
			parts[count++] = make_whole(&begin);
		}
		for (uint32_t steps = 1 + random_below(STEPS_MAX - 1); steps > 0; steps--) {
			parts[count++] = make_step(&zone);
		}
		changeset_merger_t *merger;
		assert_int_equal(changeset_merge_begin(&merger), KNOT_OK);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(changeset_merge_add(merger, (knot_bytes_t){ parts[i].data, parts[i].len },
							 i == 0 && with_whole ? CHANGESET_WHOLE : CHANGESET_STEP),
					KNOT_OK);
		}
		made_t merged;
		uint32_t removed, added;
		assert_int_equal(changeset_merge_finish(merger, &merged.data, &merged.len, &removed, &added), KNOT_OK);
		apply_t a = { .zone = with_whole ? (zone_t){ .serial = 0 } : begin };
		assert_int_equal(changeset_each((knot_bytes_t){ merged.data, merged.len },
						 with_whole ? CHANGESET_WHOLE : CHANGESET_STEP, apply, &a),
				KNOT_OK);
		if (a.failed || memcmp(&a.zone, &zone, sizeof(zone)) != 0 || a.counts[0] != removed ||
				a.counts[1] != added) {
			fail_msg("KNOT_SEED=%llu: %s", (unsigned long long)first,
					a.failed ? "it doesn't apply" : "another zone comes of it");
		}
		free(merged.data);
		for (size_t i = 0; i < count; i++) {
			free(parts[i].data);
		}
	}
}

static void test_damaged_part(void **state)
{
	(void)state;
	zone_t zone = { .serial = 1 };
	made_t made = make_step(&zone);
	changeset_merger_t *merger;
	assert_int_equal(changeset_merge_begin(&merger), KNOT_OK);
	assert_int_equal(changeset_merge_add(merger, (knot_bytes_t){ made.data, made.len - 1 }, CHANGESET_STEP),
			KNOT_EMALF);
	changeset_merge_discard(merger);
	uint8_t *data;
	size_t len;
	uint32_t removed, added;
	assert_int_equal(changeset_merge_begin(&merger), KNOT_OK);
	assert_int_equal(changeset_merge_finish(merger, &data, &len, &removed, &added), KNOT_ENOSOA);
	free(made.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged_is_as_one_after_the_other),
		cmocka_unit_test(test_damaged_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
