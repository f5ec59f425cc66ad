/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: compile collected records to a zone version. Stages, each a pass over names in canonical order:
 *
 *   sort → classify (NSEC3 owners apart, cuts, names below cuts apart, empty non-terminals made, wildcard flags)
 *        → compile each node (additional data resolved, NSEC3 links) → number what is linked to → trees → facts
 */
#pragma once

#include "src/zone/build.h"
#include "src/zone/collect.h"
#include "src/zone/contents.h"

/**
 * Compile. collect: used up, but still to be given to zone_collect_done(). Of params size_max is used, and should_stop
 * with its ctx, which is asked each ZONE_STOP_NAMES names.
 * KNOT_ENOSOA: no SOA at the apex. KNOT_EZONESIZE: over size_max bytes of wire form (0: no limit) or a node too large.
 * KNOT_ESTOPPED: should_stop said so. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_compile(
		zone_collect_t *collect, const zone_build_params_t *params, zone_contents_t **ret_zone);

enum { ZONE_STOP_NAMES = 4096 }; /* about 2 ms */

/** True if the build is to be given up after so many names. */
static inline bool zone_compile_stops(const zone_build_params_t *params, size_t names)
{
	return params->should_stop != NULL && names % ZONE_STOP_NAMES == 0 && params->should_stop(params->ctx);
}

/** Give the heap's free pages back to the system. Call it when everything that a build needed is freed: glibc keeps
 * tens of megabytes after a large zone. */
void zone_compile_trim(uint64_t record_count);
