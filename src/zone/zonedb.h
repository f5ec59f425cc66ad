/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * All zones of the server in one copy-on-write name tree, and the zone object.
 *
 * A zone_t lives as long as the zone is configured, over any number of reloads; its contents are one published
 * pointer. A zonedb_t is an immutable set of zones; a configuration reload makes a new one that shares the zone_t of zones
 * that stay, publishes it, waits for readers, and frees what is gone. Readers: within an RCU read section.
 */
#pragma once

#include "src/zone/contents.h"

typedef struct zonedb zonedb_t;
typedef struct zone zone_t;
/* zone_t's fields are the zone owner's to define here: name, contents_rcu, state for zone-status, hooks' data. */

/** The zone whose apex is the longest suffix of `name` (lower case), or NULL. */
zone_t *zonedb_find_suffix(const zonedb_t *db, knot_name_t name);

/** The zone of exactly this apex (lower case), or NULL. */
zone_t *zonedb_find(const zonedb_t *db, knot_name_t apex);

/** Contents of a zone to answer from, or NULL (not loaded yet, failed, expired). Within a read section. */
const zone_contents_t *zone_contents(const zone_t *zone);
