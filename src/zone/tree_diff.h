/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the names at which two trees differ. Cost: some steps for each difference and each level above it, because
 * what both have in the same memory is skipped; a walk over both where they share none. No allocation; any thread.
 */
#pragma once

#include "src/zone/tree.h"

/** A tree and where its references lead. */
typedef struct {
	const zone_arena_view_t *view;
	const zone_tree_t *tree;
} zone_tree_side_t;

/** Records of one name that are not the same memory; 0 where there is none of the name. False ends the comparison. */
typedef bool (*zone_tree_diff_cb)(zone_ref_t before, zone_ref_t after, void *ctx);

/** Visit the names whose records differ or lie elsewhere, in canonical order. False: `visit` ended it. */
bool zone_tree_diff(zone_tree_side_t before, zone_tree_side_t after, zone_tree_diff_cb visit, void *ctx);
