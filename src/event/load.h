/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Loading a zone: decide whether it is needed, take the image or read the file, check, compile, publish, say what happened.
 */
#pragma once

#include "src/event/images.h"
#include "src/state/state.h"

typedef enum {
	LOAD_FAILED,    /* nothing changed */
	LOAD_UNCHANGED, /* contents are what the file would give: nothing was done */
	LOAD_FROM_FILE,
	LOAD_FROM_IMAGE,
	LOAD_DROPPED,   /* by load_drop() */
} load_outcome_t;

/**
 * Load the zone with the settings of the current state and publish its contents; the old version keeps serving when it
 * fails. Logs what Knot logs. source: of the contents; updated. Not within a read section; one caller per zone at a time.
 * ret_outcome: set in any case. Returns why it failed.
 */
KNOT_MUST_USE knot_err_t load_zone(const state_root_t *root, images_t *images, zone_t *zone, load_source_t *source,
				   load_outcome_t *ret_outcome);

/** Publish that the zone has no contents any more. Not within a read section; one caller per zone at a time. */
void load_drop(zone_t *zone, load_source_t *source);

/** Remove the zone's file as configured. Logs a failure. KNOT_OK also when there is none. */
KNOT_MUST_USE knot_err_t load_remove_file(const state_root_t *root, knot_name_t name);
