/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: names that records of a zone being built refer to, each with a link number, as far as they were not found
 * among the zone's names. One thread.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/zone/node.h"

typedef struct {
	knot_name_t name; /* of the bytes of the set */
	zone_link_t link; /* 0: none yet */
} zone_absent_t;

/** Zeroed is empty. */
typedef struct {
	zone_absent_t *list;
	size_t count;
	uint32_t *index;  /* hash table of `list`, plus 1; 0: free */
	size_t index_max; /* a power of two, or 0; `list` has room for half of that */
	struct zone_absent_bytes *bytes;
} zone_targets_t;

/** The entry of a name (lower case, copied), made at first; valid until the next call. NULL: out of memory. */
zone_absent_t *zone_targets_get(zone_targets_t *targets, knot_name_t name);

/** Sort the list by name in canonical order; nothing can be added then. */
void zone_targets_sort(zone_targets_t *targets);

void zone_targets_done(zone_targets_t *targets);
