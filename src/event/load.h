/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Loading a zone from its file: decide whether it is needed, read, check, compile, publish, say what happened.
 */
#pragma once

#include "src/state/state.h"

#include <time.h>

/** Identity of the file that a zone's contents came from; all zero: none. */
typedef struct {
	struct timespec mtime;
	uint64_t size;
	uint64_t inode;
} load_source_t;

/** True if the zone has no contents from a file, or the file isn't the one any more. One stat(). */
bool load_is_needed(const conf_zone_t *zone, const load_source_t *source);

/**
 * Load the zone with the settings of the current state and publish its contents; the old version keeps serving when it
 * fails. Logs what Knot logs. source: updated on success. Not within a read section; one caller per zone at a time.
 */
KNOT_MUST_USE knot_err_t load_zone(const state_root_t *root, zone_t *zone, load_source_t *source);
