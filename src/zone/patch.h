/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: a version from the one before it and the names that change, at a cost that follows the change.
 *
 * What is read and written: the names that change; their ancestors; names that change sides when a delegation comes or
 * goes; the delegation above changed glue; names that don't exist and are below a name that came or went. Nodes that
 * refer to others by number don't change when these do (doc/adr/0030-incremental-versions.md). Stages:
 *
 *   place (patch_place.c: which tree each name is in, with bare nodes) → number → build nodes → resolve what doesn't
 * exist → drop what is no longer used → facts
 *
 * Nothing of the base is written to. One thread.
 */
#pragma once

#include "src/zone/check.h"
#include "src/zone/contents.h"
#include "src/zone/node_build.h"

/** A name and all its records in the new version. */
typedef struct {
	knot_name_t owner;            /* lower case, in the zone */
	const zone_record_t *records; /* NULL: none */
} zone_change_t;

/**
 * Make a version of `base` in which the names of `changes` (ascending in canonical order, each once) have these
 * records. It shares the memory of base. checks: the names that were touched are checked. size_max: bytes of wire form,
 * 0: no limit. KNOT_EAGAIN: the NSEC3 chain that is answered from becomes another one, which takes a build from
 * scratch. KNOT_ENOSOA, KNOT_ESEMCHECK, KNOT_EZONESIZE, KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_patch(const zone_contents_t *base, const zone_change_t *changes, size_t count,
		uint64_t size_max, const zone_check_params_t *checks, zone_contents_t **ret_zone);
