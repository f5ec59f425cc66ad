/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Members of a catalog, as a list in one piece of memory: some 90 bytes for a member.
 *
 * What a member is to a catalog is its name, the owner of the PTR record that lists it (RFC 9432 4.1; the label there
 * is its unique id) and its group (4.3.2). One owner; any thread.
 */
#pragma once

#include "libknot/name/name.h"

enum { CATALOG_GROUP_MAX = 255 }; /* bytes: those of a string of a TXT record */

/** A member. Borrowed. */
typedef struct {
	knot_name_t member;   /* lower case */
	knot_name_t owner;    /* of its PTR: <unique id>.zones.<catalog>, lower case */
	knot_bytes_t group;   /* any bytes, at most CATALOG_GROUP_MAX; empty: none */
	bool has_more_groups; /* `group` is one of several */
} catalog_member_t;

/** Where a member of a list is. */
typedef struct {
	uint64_t head; /* the first bytes of its name, so that most comparisons read nothing else */
	size_t at;     /* offset in the list's bytes */
} catalog_place_t;

/** A list of members. Zeroed: an empty one. End with catalog_set_done(). */
typedef struct {
	uint8_t *bytes; /* owned */
	size_t len, max;
	catalog_place_t *places; /* owned */
	size_t count, count_max;
} catalog_set_t;

/** Add a copy. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t catalog_set_put(catalog_set_t *set, const catalog_member_t *member);

/** The member at `i` < count; valid until the next catalog_set_put(). */
catalog_member_t catalog_set_get(const catalog_set_t *set, size_t i);

/** Order of the wire names of members as bytes, in which LMDB keeps them, too: <0, 0, >0. */
int catalog_cmp(knot_name_t a, knot_name_t b);

/** Sort by catalog_cmp(); those of equal names stay as they were added. O(count) if they are in order already. */
void catalog_set_sort(catalog_set_t *set);

void catalog_set_done(catalog_set_t *set);
