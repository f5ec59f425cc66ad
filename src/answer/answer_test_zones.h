/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones from text for tests and fuzz targets, and the read section that answering from them needs. Aborts on any
 * failure: the texts are ours.
 */
#pragma once

#include "src/sys/rcu.h"
#include "src/zone/build.h"
#include "src/zone/zonedb.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEST_ZONES_MAX = 16 };

typedef struct {
	zonedb_t *db;
	zone_t *zones[TEST_ZONES_MAX];
	size_t count;
	rcu_guard_t guard;
} test_zones_t;

static inline void test_zones_check(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "test zones: %s\n", what);
		abort();
	}
}

static inline void test_zones_on_message(const zone_message_t *message, void *ctx)
{
	(void)ctx;
	fprintf(stderr, "test zones: %s%s\n", message->level == ZONE_MESSAGE_ERROR ? "error: " : "", message->text);
}

static inline zone_t *test_zones_add(test_zones_t *t, const char *apex, size_t apex_len)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	test_zones_check(knot_name_scan((knot_str_t){ apex, apex_len }, knot_name_root, wire, &name) == KNOT_OK, apex);
	zone_t *zone = zone_new(name);
	test_zones_check(zone != NULL && t->count < TEST_ZONES_MAX, "zone_new");
	t->zones[t->count++] = zone;
	return zone;
}

/* texts: each begins with "$ORIGIN <apex>\n"; the last is NULL. empty: apex of a zone without contents. */
static inline test_zones_t test_zones_new(const char *const *texts, const char *empty)
{
	test_zones_t t = { .count = 0 };
	sys_rcu_register();
	for (; *texts != NULL; texts++) {
		const char *apex = *texts + strlen("$ORIGIN ");
		zone_t *zone = test_zones_add(&t, apex, strcspn(apex, "\n"));
		zone_build_params_t params = { .origin = zone_name(zone),
			.default_ttl = 3600,
			.checks = ZONE_CHECKS_OFF,
			.on_message = test_zones_on_message };
		zone_contents_t *contents = NULL;
		knot_err_t err = zone_build_text(knot_str_of(*texts), "test.zone", &params, &contents);
		test_zones_check(err == KNOT_OK, knot_strerror(err));
		test_zones_check(zone_publish(zone, contents) == NULL, "zone_publish");
	}
	test_zones_add(&t, empty, strlen(empty));
	t.db = zonedb_new(t.zones, t.count);
	test_zones_check(t.db != NULL, "zonedb_new");
	return t;
}

static inline void test_zones_enter(test_zones_t *t)
{
	t->guard = sys_rcu_enter();
}

static inline void test_zones_leave(test_zones_t *t)
{
	sys_rcu_leave(&t->guard);
}

static inline void test_zones_free(test_zones_t *t)
{
	zonedb_free(t->db);
	for (size_t i = 0; i < t->count; i++) {
		zone_free(t->zones[i]);
	}
	sys_rcu_unregister();
}
