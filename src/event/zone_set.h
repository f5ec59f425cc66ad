/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which zones the server has: those of its configuration and members of catalogs, made from those that it had. Internal
 * to src/event; under the reload lock.
 */
#pragma once

#include "src/event/entry.h"

/** What a catalog says of a zone. */
typedef enum {
	MEMBER_COMES,  /* the zone is to be added */
	MEMBER_GOES,   /* it is to be removed, with its data */
	MEMBER_RENEWS, /* its data go, and it begins as a new zone */
	MEMBER_STAYS,  /* it has other settings */
} member_kind_t;

/** A change of one zone. */
typedef struct {
	member_kind_t kind;
	zone_t *zone;          /* borrowed; NULL: none yet */
	zone_member_t *member; /* owned: what is to be set; of MEMBER_GOES what the zone had; NULL: nothing */
	uint8_t name_len, label_count;
	uint8_t *name; /* owned, lower case */
} member_change_t;

/** Changes of several. Zeroed: none. End with members_done(). */
typedef struct {
	member_change_t *changes; /* owned */
	size_t count, max;
} members_t;

/** Add one. catalog, group: of all but MEMBER_GOES. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t members_put(
		members_t *members, member_kind_t kind, knot_name_t name, knot_name_t catalog, knot_bytes_t group);

static inline knot_name_t members_name(const member_change_t *change)
{
	return (knot_name_t){ change->name, change->name_len, change->label_count };
}

/** Sort them in canonical order. */
void members_sort(members_t *members);

void members_done(members_t *members);

/** A set of zones that is to follow on another. */
typedef struct {
	zone_t **zones; /* owned; NULL: exactly those of the old set */
	size_t count, max;
	size_t fresh;     /* made, not in the old set */
	zone_t **leaving; /* owned: of them, members before that are configured now */
	size_t leaving_count, leaving_max;
} zone_set_t;

/**
 * The zones of a configuration, and the members of its catalogs: those of `old`, and those that come by `members`
 * (sorted; NULL: none), which get their zones; those that are configured become MEMBER_GOES. KNOT_ENOMEM: `members` may
 * have borrowed zones that are gone.
 */
KNOT_MUST_USE knot_err_t zone_set_merge(
		const conf_t *conf, const zonedb_t *old, members_t *members, zone_set_t *ret_set);

/** The zones of `old` with the changes of `members` (sorted), which get their zones. Cost: copying pointers, and the
 * changes. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_set_change(const zonedb_t *old, members_t *members, zone_set_t *ret_set);

/** Calls `visit` with each zone of `a` that isn't in `b`; both are in canonical order. */
void zone_set_each_missing(zone_t *const *a, size_t a_count, zone_t *const *b, size_t b_count,
		void (*visit)(entry_t *entry, void *ctx), void *ctx);

/** Free a set with the zones that were made for it. */
void zone_set_discard(zone_set_t *set, const zonedb_t *old);

/** Free a set whose zones are the server's now. */
void zone_set_done(zone_set_t *set);
