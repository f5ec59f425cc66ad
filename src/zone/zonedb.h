/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * All zones of the server in one name tree, and the zone object.
 *
 * A zone_t lives as long as the zone is configured, over any number of reloads; its contents are one published
 * pointer. A zonedb_t is an immutable set of zones; a configuration reload makes a new one that shares the zone_t of zones
 * that stay, publishes it, waits for readers, and frees what is gone. Readers: within an RCU read section.
 *
 * Not here: when contents are loaded, what zone-status shows of that (event/server.h), what modules do (modules/).
 */
#pragma once

#include "src/zone/contents.h"

typedef struct zonedb zonedb_t;
typedef struct zone zone_t;
struct module_chain;

/* ---- A zone ---- */

/** A zone without contents. name: any case, copied in lower case. NULL: out of memory. */
zone_t *zone_new(knot_name_t name);

/** Free a zone that no reader has, with its contents, not its modules. NULL is allowed. */
void zone_free(zone_t *take_zone);

/** The apex, lower case; lives as long as the zone. */
knot_name_t zone_name(const zone_t *zone);

/** Contents to answer from, or NULL (not loaded yet, failed, expired). Within a read section, or from the zone's own job. */
const zone_contents_t *zone_contents(const zone_t *zone);

/**
 * Publish contents (NULL: none any more) and give the old ones back: free them with zone_contents_free() after
 * sys_rcu_wait(). One writer at a time.
 */
zone_contents_t *zone_publish(zone_t *zone, zone_contents_t *take_contents);

/** The chain of the zone's own modules, or NULL. Opaque here: src/modules/. Within a read section. */
const struct module_chain *zone_modules(const zone_t *zone);

/** Replace the chain and give the old one back, to be freed after sys_rcu_wait(). One writer at a time. */
struct module_chain *zone_set_modules(zone_t *zone, struct module_chain *take_chain);

/* ---- The set of zones ---- */

/** A set of `count` zones of different names; borrows them. NULL: out of memory. O(count). */
zonedb_t *zonedb_new(zone_t *const *zones, size_t count);

/** Free a set that no reader has; the zones stay. NULL is allowed. */
void zonedb_free(zonedb_t *take_db);

/** Zones in the set. */
size_t zonedb_count(const zonedb_t *db);

/** The zone whose apex is the longest suffix of `name` (any case), or NULL. */
zone_t *zonedb_find_suffix(const zonedb_t *db, knot_name_t name);

/** As above with the name's knot_name_key(), for who has it already. */
zone_t *zonedb_find_suffix_key(const zonedb_t *db, knot_name_t name, const uint8_t *key, size_t key_len);

/** One of many searches at once: what is set, and what comes out. */
typedef struct {
	knot_name_t name;
	const uint8_t *key; /* its knot_name_key() */
	size_t key_len;
	zone_t *zone; /* out: as from zonedb_find_suffix_key(); its head is on the way into the cache */
} zonedb_search_t;

/** zonedb_find_suffix_key() for searches[0..count), count <= ZONE_TREE_WALKS_MAX, whose cache misses overlap. */
void zonedb_find_suffixes(const zonedb_t *db, zonedb_search_t *searches, size_t count);

/** The zone of exactly this apex (any case), or NULL. */
zone_t *zonedb_find(const zonedb_t *db, knot_name_t apex);

/** Calls `visit` with each zone in canonical order of names until it returns false. */
void zonedb_each(const zonedb_t *db, bool (*visit)(zone_t *zone, void *ctx), void *ctx);
