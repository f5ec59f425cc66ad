/* SPDX-License-Identifier: BSD-2-Clause */
/* The set of zones, and publishing contents under readers (run it under TSan too). */
#include "src/zone/build.h"
#include "src/zone/lookup.h"
#include "src/zone/zonedb.h"
#include "src/sys/rcu.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} owned_name_t;

static knot_name_t scan(const char *text, owned_name_t *ret)
{
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, ret->wire, &ret->name), KNOT_OK);
	return ret->name;
}

static const char *const apexes[] = { "cz.", "Example.CZ.", "a.b.example.cz.", "org.", "com.", "x.com.", "in-addr.arpa." };

static void test_find(void **state)
{
	(void)state;
	static const struct {
		const char *name, *want_suffix;
		bool want_exact;
	} rows[] = {
		{ "cz.", "cz.", true }, { "CZ.", "cz.", true }, { "example.cz.", "example.cz.", true }, { "www.cz.", "cz.", false },
		{ "b.example.cz.", "example.cz.", false }, { "x.a.b.EXAMPLE.cz.", "a.b.example.cz.", false },
		{ "net.", NULL, false }, { ".", NULL, false }, { "comx.", NULL, false }, { "y.x.com.", "x.com.", false },
		{ "1.0.in-addr.arpa.", "in-addr.arpa.", false }, { "arpa.", NULL, false },
	};
	zone_t *zones[KNOT_LEN(apexes)];
	owned_name_t name;
	for (size_t i = 0; i < KNOT_LEN(apexes); i++) {
		zones[i] = zone_new(scan(apexes[i], &name));
	}
	zonedb_t *db = zonedb_new(zones, KNOT_LEN(apexes));
	assert_non_null(db);
	assert_int_equal(zonedb_count(db), KNOT_LEN(apexes));
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_t *exact = zonedb_find(db, scan(rows[i].name, &name)), *suffix = zonedb_find_suffix(db, name.name);
		owned_name_t want;
		bool is_right = (exact != NULL) == rows[i].want_exact && (suffix != NULL) == (rows[i].want_suffix != NULL) &&
		                (suffix == NULL || knot_name_eq(zone_name(suffix), scan(rows[i].want_suffix, &want)));
		if (!is_right) {
			fail_msg("%s", rows[i].name);
		}
	}
	zonedb_free(db);
	db = zonedb_new(NULL, 0);
	assert_null(zonedb_find_suffix(db, scan("cz.", &name)));
	zonedb_free(db);
	for (size_t i = 0; i < KNOT_LEN(apexes); i++) {
		zone_free(zones[i]);
	}
}

enum { READERS = 3, VERSIONS = 200 };

typedef struct {
	zone_t *zone;
	atomic_bool stop;
	atomic_ulong reads;
} race_t;

static zone_contents_t *build_version(unsigned serial)
{
	uint8_t origin[] = "\4zone";
	char text[256];
	/* The serial stands in two places: a reader that sees two versions mixed sees them differ. */
	int len = snprintf(text, sizeof(text), "@ 60 SOA ns r %u 2 3 4 5\n@ 60 NS ns.out.\na.b 60 TXT %u\n%s", serial, serial,
	                   serial % 2 ? "x.b 60 A 192.0.2.1\n" : "");
	zone_build_params_t params = { .origin = { origin, 6, 1 }, .default_ttl = 60 };
	zone_contents_t *zone = NULL;
	assert_int_equal(zone_build_text((knot_str_t){ text, (size_t)len }, "test", &params, &zone), KNOT_OK);
	return zone;
}

static void read_once(race_t *race)
{
	uint8_t name[] = "\1a\1b\4zone", other[] = "\1x\1b\4zone", scratch[512];
	RCU_READ_SECTION(guard);
	const zone_contents_t *zone = zone_contents(race->zone);
	zone_lookup_t found = zone_lookup(zone, (knot_name_t){ name, sizeof(name), 3 });
	if (found.kind != ZONE_FOUND) {
		abort();
	}
	zone_rr_iter_t iter = zone_rr_begin(found.node, zone_node_rrset(found.node, KNOT_TYPE_TXT), false);
	uint32_t ttl;
	knot_bytes_t rdata;
	if (!zone_rr_next(&iter, (knot_mut_bytes_t){ scratch, sizeof(scratch) }, &ttl, &rdata)) {
		abort();
	}
	unsigned serial = 0;
	for (size_t i = 1; i < rdata.len; i++) {
		serial = 10 * serial + (unsigned)(rdata.data[i] - '0');
	}
	bool has_other = zone_lookup(zone, (knot_name_t){ other, sizeof(other), 3 }).kind == ZONE_FOUND;
	if (serial != zone->serial || has_other != (serial % 2 == 1)) {
		abort();
	}
	atomic_fetch_add_explicit(&race->reads, 1, memory_order_relaxed);
	(void)guard;
}

static void *reader(void *ctx)
{
	race_t *race = ctx;
	sys_rcu_register();
	while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
		read_once(race);
	}
	sys_rcu_unregister();
	return NULL;
}

static void test_publish(void **state)
{
	(void)state;
	owned_name_t name;
	race_t race = { .zone = zone_new(scan("zone.", &name)) };
	assert_null(zone_contents(race.zone));
	assert_null(zone_publish(race.zone, build_version(0)));
	sys_rcu_register();
	pthread_t threads[READERS];
	for (unsigned i = 0; i < READERS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, reader, &race), 0);
	}
	for (unsigned i = 1; i <= VERSIONS || atomic_load(&race.reads) < VERSIONS; i++) {
		zone_contents_t *old = zone_publish(race.zone, build_version(i));
		assert_non_null(old);
		sys_rcu_wait();
		zone_contents_free(old);
	}
	atomic_store(&race.stop, true);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
	}
	sys_rcu_unregister();
	zone_free(race.zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_find), cmocka_unit_test(test_publish) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
