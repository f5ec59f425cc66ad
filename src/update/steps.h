/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal: the steps of a commit as a table. */
#pragma once

#include "src/update/update.h"

typedef struct {
	const char *name; /* for tests and debuggers */
	knot_err_t (*run)(update_t *update);
	void (*undo)(update_t *update); /* NULL: there is nothing to undo */
} update_step_t;

/** The steps in their order; ret_count: how many. */
const update_step_t *update_steps(size_t *ret_count);

/** Run the steps until one fails; then undo those before it, the last one first. Returns the error. */
KNOT_MUST_USE knot_err_t update_run(update_t *update, const update_step_t *steps, size_t count);
