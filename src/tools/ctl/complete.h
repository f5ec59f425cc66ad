/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What can stand at the cursor of a command line: words of the action table, and names from a server or a
 * configuration.
 *
 * Not here: the terminal. Names come from a callback, so tests need neither server nor configuration.
 */
#pragma once

#include "src/tools/candidates.h"
#include "src/tools/ctl/action.h"

/** Gets the units of a reply. */
typedef void (*complete_unit_t)(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit);

/** Where names come from. */
typedef struct {
	/**
	 * Give the units of the reply to `request` (CMD is set) to on_unit; none without an answer. is_local: for an
	 * action that works on the configuration without a server.
	 */
	void (*ask)(void *ctx, bool is_local, const knot_ctl_data_t *request, complete_unit_t on_unit, void *unit_ctx);
	void *ctx;
} complete_source_t;

/** Find what fits. ret_found: free with candidates_free(). */
void complete(const complete_line_t *line, const complete_source_t *source, candidates_t *ret_found);
