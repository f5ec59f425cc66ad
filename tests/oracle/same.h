/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: do two versions show the same to readers, whatever their references, numbers and sharing are? Node by
 * node: facts, records with their bytes and TTLs, additional data as the names that links lead to, the NSEC3 that
 * matches or covers each name and its wildcard; and that each name is found from the root, with its predecessor. Not
 * max_ttl: a version made by commits may state a higher one than its records have, never a lower one.
 */
#pragma once

#include "src/zone/contents.h"

/**
 * NULL, or what differs, as a static text. parts: names are searched from the root in one of so many parts of the zone,
 * by turns: 1 for all. All else is compared whole. ret_at: near which name; of one of the versions.
 */
const char *same_fault(const zone_contents_t *zone, const zone_contents_t *want, unsigned parts, unsigned turn,
		knot_name_t *ret_at);

/** How often what a version says can't be trusted without hashing: hints of NSEC3 that are out of date. */
unsigned same_stale_hints(const zone_contents_t *zone);
