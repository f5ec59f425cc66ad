/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * All zones of the server as one set, and the zone object.
 *
 * A zone_t lives as long as the zone is configured, over any number of reloads; its contents are one published
 * pointer. A zonedb_t is an immutable set of zones; a configuration reload makes a new one that shares the zone_t of
 * zones that stay, publishes it, waits for readers, and frees what is gone. Readers: within an RCU read section.
 *
 * The set is a hash table over names plus an array in canonical order (doc/adr/0018-many-zones.md): finding the longest
 * suffix costs one cache miss per number of labels that apexes have (one or two in practice) and one for the zone,
 * whether there are ten zones or a million. 20 bytes per zone.
 *
 * Not here: when contents are loaded and what zone-status shows of that (event/server.h), and what modules do
 * (modules/).
 */
#pragma once

#include "src/zone/contents.h"

typedef struct zonedb zonedb_t;
typedef struct zone zone_t;

/* ---- A zone ---- */

/** A zone without contents. name: any case, copied in lower case. NULL: out of memory. */
zone_t *zone_new(knot_name_t name);

enum { ZONE_HEAD_MAX = 248 };

/**
 * As above, with `head_len` zeroed bytes for its owner in the same allocation, which saves an allocation for each of a
 * million zones. head_len: a multiple of 8, at most ZONE_HEAD_MAX.
 */
zone_t *zone_new_with_head(knot_name_t name, size_t head_len);

/** The owner's bytes; freed with the zone. */
void *zone_head(zone_t *zone);

/** The zone of a head of `head_len` bytes. */
static inline zone_t *zone_of_head(void *head, size_t head_len)
{
	return (zone_t *)((uint8_t *)head + head_len);
}

/** Free a zone that no reader has, with its contents. NULL is allowed. */
void zone_free(zone_t *take_zone);

/** The apex, lower case; lives as long as the zone. */
knot_name_t zone_name(const zone_t *zone);

/** Contents to answer from, or NULL (not loaded yet, failed, expired). Within a read section, or from the zone's own
 * job. */
const zone_contents_t *zone_contents(const zone_t *zone);

/** zone_contents() for a query. ret_is_noted: false if it's the first since zone_take_asked(), or if the zone has
 * restricted queries: call zone_note_asked(). */
const zone_contents_t *zone_ask(const zone_t *zone, bool *ret_is_noted);

/** Note that there was a query. A write to memory that all threads read: once for each zone_take_asked(). Any thread.
 */
void zone_note_asked(zone_t *zone);

/** True if there was a query since the last call. Any thread. */
bool zone_take_asked(zone_t *zone);

/** Whether the zone may be transferred from here. At first it may. Any thread. */
void zone_freeze_transfers(zone_t *zone, bool is_frozen);
bool zone_has_frozen_transfers(const zone_t *zone);

/** Whether queries for the zone need permission, as those for catalogs do. At first they don't. Any thread. */
void zone_restrict_queries(zone_t *zone, bool is_restricted);
bool zone_has_restricted_queries(const zone_t *zone);

/** Whether the zone has serials of its own although it has primaries, so that theirs can't be compared with them. At
 * first it hasn't. Any thread. */
void zone_renumber(zone_t *zone, bool is_renumbered);
bool zone_is_renumbered(const zone_t *zone);

/** Whether the zone takes NOTIFYs of CDS and CSYNC for its children (conf `delegation`). At first it doesn't. Any
 * thread.
 */
void zone_follow_children(zone_t *zone, bool is_following);
bool zone_follows_children(const zone_t *zone);

/** Why a zone is there that isn't in the configuration: a catalog (RFC 9432) lists it. */
typedef struct {
	uint8_t catalog_len, catalog_labels, group_len;
	uint8_t bytes[]; /* the catalog's name in wire form, lower case, and the zone's group there */
} zone_member_t;

/** group: at most 255 bytes. NULL: out of memory. Freed with its zone, or by free(). */
zone_member_t *zone_member_new(knot_name_t catalog, knot_bytes_t group);

static inline knot_name_t zone_member_catalog(const zone_member_t *member)
{
	return (knot_name_t){ member->bytes, member->catalog_len, member->catalog_labels };
}

/** "": none. */
static inline knot_bytes_t zone_member_group(const zone_member_t *member)
{
	return (knot_bytes_t){ member->bytes + member->catalog_len, member->group_len };
}

/** NULL: the zone is configured. Within a read section, or by the one writer. */
const zone_member_t *zone_member(const zone_t *zone);

/** Set it and give the old one back, to be freed by free() after sys_rcu_wait(). One writer at a time. */
zone_member_t *zone_set_member(zone_t *zone, zone_member_t *take_member);

/**
 * Publish contents (NULL: none any more) and give the old ones back: free them with zone_contents_free() after
 * sys_rcu_wait(). One writer at a time.
 */
zone_contents_t *zone_publish(zone_t *zone, zone_contents_t *take_contents);

/* ---- The set of zones ---- */

/**
 * A set of `count` zones of different names; borrows them. NULL: out of memory. O(count) when they are given in
 * canonical order of their names, as a configuration has them; otherwise they are sorted.
 */
zonedb_t *zonedb_new(zone_t *const *zones, size_t count);

/**
 * The set that is to follow on `old`, of `count` zones in canonical order. If few differ, both share the hash table,
 * and this costs two passes over arrays of pointers. NULL: out of memory. Zones that are new can't be found by name
 * before zonedb_link(); zonedb_zones() has them. Sets follow on one another in a line: only the last that was linked
 * may be `old`.
 */
zonedb_t *zonedb_next(const zonedb_t *old, zone_t *const *zones, size_t count);

/**
 * Make new zones of a set from zonedb_next() known to its table, and take those out that are gone. Before it is
 * published, when nothing can fail any more: readers of the set before see that, too. No zone may be freed until these
 * have ended. One writer at a time. O(zones that differ).
 */
void zonedb_link(zonedb_t *db);

/** Another owner of the same set, for a configuration with the same zones. Each owner calls zonedb_free(). */
zonedb_t *zonedb_ref(const zonedb_t *db);

/** Drop a set that this owner's readers have left; the last owner frees it. The zones stay. NULL is allowed. */
void zonedb_free(zonedb_t *take_db);

/** Zones in the set. */
size_t zonedb_count(const zonedb_t *db);

/** The most labels that an apex has. */
unsigned zonedb_depth_max(const zonedb_t *db);

/** All of them, in canonical order of names; lives as long as the set. */
zone_t *const *zonedb_zones(const zonedb_t *db);

/** The zone whose apex is the longest suffix of `name` (any case), or NULL. */
zone_t *zonedb_find_suffix(const zonedb_t *db, knot_name_t name);

/** As above with the name's knot_name_key(), for callers that have it already. */
zone_t *zonedb_find_suffix_key(const zonedb_t *db, knot_name_t name, const uint8_t *key, size_t key_len);

/** The zone of exactly this apex (any case), or NULL. */
zone_t *zonedb_find(const zonedb_t *db, knot_name_t apex);

/**
 * Note that a query came for a zone without contents, which should be loaded first (zonedb_take_wanted()). Writes only
 * for the first query of a zone until zone_unwant(). Within a read section.
 */
void zonedb_want(const zonedb_t *db, zone_t *zone);

/** A zone that was wanted, or NULL; one may be missed when many are wanted at once. One thread at a time, while the
 * set's zones live. */
zone_t *zonedb_take_wanted(const zonedb_t *db);

/** Note that a wanted zone was loaded, or can't be. Any thread. */
void zone_unwant(zone_t *zone);

/** Calls `visit` with each zone in canonical order of names until it returns false. */
void zonedb_each(const zonedb_t *db, bool (*visit)(zone_t *zone, void *ctx), void *ctx);

/* ---- Many at once ---- */

enum { ZONEDB_BATCH_MAX = 64 };

/** One of many searches. The caller sets and owns all but the marked member. */
typedef struct {
	knot_name_t name;
	const uint8_t *key; /* its knot_name_key() */
	size_t key_len;
	zone_t *zone; /* out: as from zonedb_find_suffix_key(); its head and name are in the cache */
} zonedb_search_t;

/**
 * zonedb_find_suffix_key() for searches[0..count), count <= ZONEDB_BATCH_MAX, side by side, so that their cache misses
 * (the slot, the zone) overlap. Within a read section.
 */
void zonedb_find_suffixes(const zonedb_t *db, zonedb_search_t *searches, size_t count);
