/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: copy a version into an arena of its own, without what only older versions used. Nodes are copied as they
 * are, in the order of the trees; what changes are references: of RRsets that nodes share, of trees and of the link
 * table.
 */
#pragma once

#include "src/zone/contents.h"

/**
 * How worn the version's memory is. WEARING: over 1.25 times what it would take anew, the next transaction had better
 * build anew (which finds out again which RRsets can be shared). WORN: over one and a half times, not to be published
 * like this.
 */
typedef enum { ZONE_FRESH, ZONE_WEARING, ZONE_WORN } zone_wear_t;
zone_wear_t zone_wear(const zone_contents_t *zone);

/** The copy; `zone` stays as it is. What its nodes share they share in the copy, no more. NULL: out of memory. Cost: a
 * pass over the zone, about a tenth of compiling it. */
zone_contents_t *zone_compact(const zone_contents_t *zone);
