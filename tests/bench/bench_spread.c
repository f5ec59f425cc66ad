/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For bench_sign.py: many small zones that are signed at one start, and how their renewals lie in the days after it.
 * The server's signer and what plans the event re-sign, under a clock of its own: when a zone is due, it is signed
 * again.
 *
 *     bench_spread ZONES SPREAD-SECONDS DAYS
 *
 * Writes a line of JSON: signatures of the start and of the days after; the busiest hour as a multiple of the mean
 * hour: of all these days together, of a day (the median of those that have signatures), and of the worst day; hours
 * without any.
 */
#include "src/sign/sign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOUR = 3600, DAY = 24 * HOUR, START_S = 1700000000, LIFETIME_S = 14 * DAY, TTL_S = HOUR, ZONES_PER_S = 500 };

/** A zone and when it is due. */
typedef struct {
	zone_contents_t *contents;
	uint64_t due_s;
} signed_zone_t;

static void check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_spread: %s failed\n", what);
		exit(1);
	}
}

static void put(zone_txn_t *txn, knot_name_t owner, uint16_t type, const void *rdata, size_t len)
{
	check(zone_txn_put(txn, owner, type, TTL_S, (knot_bytes_t){ rdata, len }) == KNOT_OK, "a record");
}

/* A zone of four records, unsigned. */
static zone_contents_t *make_zone(unsigned number)
{
	static const uint8_t soa[] =
			"\2ns\4host\4test\0\1h\4host\4test\0\0\0\0\1\0\0\7\10\0\0\3\204\0\1\121\200\0\0\16";
	static const uint8_t ns[] = "\2ns\4host\4test";
	static const uint8_t address[] = { 192, 0, 2, 1 };
	char text[32];
	uint8_t wire[KNOT_NAME_MAX], www_wire[KNOT_NAME_MAX];
	knot_name_t origin, www;
	zone_txn_t *txn;
	zone_contents_t *zone;
	snprintf(text, sizeof(text), "zone-%u.test.", number);
	check(knot_name_scan(knot_str_of(text), knot_name_root, wire, &origin) == KNOT_OK, "a name");
	check(knot_name_scan(knot_str_of("www"), origin, www_wire, &www) == KNOT_OK, "a name");
	const zone_build_params_t params = { .origin = origin };
	check(zone_txn_begin(NULL, &params, &txn) == KNOT_OK, "beginning");
	put(txn, origin, KNOT_TYPE_SOA, soa, sizeof(soa));
	put(txn, origin, KNOT_TYPE_NS, ns, sizeof(ns));
	put(txn, www, KNOT_TYPE_A, address, sizeof(address));
	check(zone_txn_commit(txn, &zone) == KNOT_OK, "a zone");
	return zone_contents_pack(zone);
}

/* As the event does it. Returns the number of new signatures. */
static uint64_t sign_again(signed_zone_t *zone, sign_plan_t *plan, uint64_t now_s)
{
	zone_txn_t *txn;
	sign_result_t result;
	zone_contents_t *next;
	const zone_build_params_t params = { .origin = zone_node_owner(zone->contents->apex) };
	plan->now_s = now_s;
	plan->spread_parts = sign_spread_parts(zone->contents);
	check(zone_txn_begin(zone->contents, &params, &txn) == KNOT_OK, "beginning");
	check(sign_zone(txn, NULL, plan, &result) == KNOT_OK, "signing");
	check(zone_txn_commit(txn, &next) == KNOT_OK, "a version");
	zone_contents_free(zone->contents);
	zone->contents = zone_contents_pack(next);
	zone->due_s = result.earliest_expiration_s - plan->refresh_s;
	return result.rrsig_count;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void report(uint64_t first, const uint64_t *hours, size_t count)
{
	uint64_t sum = 0, most = 0, idle = 0;
	double *days = calloc(count / 24 + 1, sizeof(*days));
	size_t busy = 0;
	check(days != NULL, "memory");
	for (size_t day = 0; day < count; day += 24) {
		uint64_t day_sum = 0, day_most = 0;
		for (size_t i = day; i < day + 24; i++) {
			day_sum += hours[i];
			day_most = hours[i] > day_most ? hours[i] : day_most;
			idle += hours[i] == 0;
		}
		if (day_sum > 0) {
			days[busy++] = 24.0 * (double)day_most / (double)day_sum;
		}
		sum += day_sum;
		most = day_most > most ? day_most : most;
	}
	qsort(days, busy, sizeof(*days), compare);
	printf("{\"first\": %" PRIu64 ", \"renewed\": %" PRIu64
	       ", \"most_per_mean\": %.3f, \"day\": %.3f, \"worst_day\": %.3f, "
	       "\"idle_hours\": %" PRIu64 "}\n",
			first, sum, sum > 0 ? (double)most * (double)count / (double)sum : 0,
			busy > 0 ? days[busy / 2] : 0, busy > 0 ? days[busy - 1] : 0, idle);
	free(days);
}

int main(int argc, char **argv)
{
	dnssec_key_t *key;
	if (argc != 4) {
		fprintf(stderr, "bench_spread: arguments?\n");
		return 2;
	}
	size_t count = strtoul(argv[1], NULL, 10), hour_count = 24 * strtoul(argv[3], NULL, 10);
	check(dnssec_key_generate(DNSSEC_ECDSAP256SHA256, 0, 257, &key) == KNOT_OK, "a key");
	const sign_key_t keys[] = { { key, true, true } };
	const knot_bytes_t dnskey = dnssec_key_rdata(key);
	/* As with the default policy: conf_policy_times() */
	sign_plan_t plan = { .keys = keys,
		.key_count = 1,
		.dnskey = { .ttl = TTL_S, .rdatas = &dnskey, .rdata_count = 1 },
		.chain = SIGN_CHAIN_NSEC,
		.lifetime_s = LIFETIME_S,
		.refresh_s = LIFETIME_S / 10 + HOUR + TTL_S,
		.pre_refresh_s = LIFETIME_S / 200,
		.trusts_signatures = true };
	uint32_t room_s = plan.lifetime_s - plan.refresh_s - plan.pre_refresh_s - 1;
	plan.spread_s = (uint32_t)strtoul(argv[2], NULL, 10);
	plan.spread_s = plan.spread_s < room_s ? plan.spread_s : room_s;
	signed_zone_t *zones = calloc(count, sizeof(*zones));
	uint64_t *hours = calloc(hour_count, sizeof(*hours)), first = 0;
	check(zones != NULL && hours != NULL, "memory");
	for (size_t i = 0; i < count; i++) {
		zones[i].contents = make_zone((unsigned)i);
		first += sign_again(&zones[i], &plan, START_S + i / ZONES_PER_S);
	}
	/* Zones know nothing of each other, so each can have its days by itself. */
	for (size_t i = 0; i < count; i++) {
		while (zones[i].due_s < START_S + hour_count * HOUR) {
			uint64_t due_s = zones[i].due_s;
			hours[(due_s - START_S) / HOUR] += sign_again(&zones[i], &plan, due_s);
		}
		zone_contents_free(zones[i].contents);
	}
	report(first, hours, hour_count);
	free(zones);
	free(hours);
	dnssec_key_free(key);
	return 0;
}
