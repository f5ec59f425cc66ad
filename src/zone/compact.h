/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: copy a version into an arena of its own, without the memory that only older versions used. Nodes are
 * copied unchanged, in the order of the trees. Only references change: of shared RRsets, of trees and of the link
 * table. Pure; any thread that holds the version.
 */
#pragma once

#include "src/zone/contents.h"

/**
 * How much memory the version wastes. WEARING: over 1.25 times what it uses; a small zone is then built from scratch,
 * which also finds again which RRsets can be shared. WORN: over 1.375 times; not to be published like this.
 */
typedef enum { ZONE_FRESH, ZONE_WEARING, ZONE_WORN } zone_wear_t;
zone_wear_t zone_wear(const zone_contents_t *zone);

/** Returns the copy; `zone` stays as it is. The copy shares the RRsets that `zone` shares, and no others. NULL: out of
 * memory. Cost: a pass over the zone, about a tenth of compiling it. */
zone_contents_t *zone_compact(const zone_contents_t *zone);
