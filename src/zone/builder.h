/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A whole zone built from records that come one by one, as in a transfer: what zone_build_file() does without a file.
 *
 * Records may come in any order. They are held in packed form (collect.h) until the end, when the version is compiled
 * and checked. Any thread; one call at a time. Nothing is published or logged.
 */
#pragma once

#include "src/zone/build.h"

typedef struct zone_builder zone_builder_t;

/** Begin. origin: copied. NULL: out of memory. */
zone_builder_t *zone_builder_new(knot_name_t origin);

/** Take a record: owner in the zone, any case; rdata uncompressed and checked. KNOT_ENOMEM, KNOT_EZONESIZE. */
KNOT_MUST_USE knot_err_t zone_builder_put(
		zone_builder_t *builder, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata);

/** The version; the builder is gone, also on failure. Errors as zone_build_file() but for those of files. */
KNOT_MUST_USE knot_err_t zone_builder_finish(
		zone_builder_t *take_builder, const zone_build_params_t *params, zone_contents_t **ret_zone);

/** Forget it. NULL is allowed. */
void zone_builder_discard(zone_builder_t *take_builder);
