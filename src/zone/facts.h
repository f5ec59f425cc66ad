/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: what a version says of the zone as a whole, read from its apex. */
#pragma once

#include "src/zone/contents.h"

/**
 * Fill in the arena's view, the apex, and what follows from its records: serial, negative TTL, whether the zone is
 * signed and has NSEC, the place of the salt. zone->store must be sealed, zone->nsec3_params be those of one of the
 * apex's NSEC3PARAM records. apex: has a SOA.
 */
void zone_facts_note(zone_contents_t *zone, zone_ref_t apex);
