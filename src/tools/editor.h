/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A prompt: lines are edited, completed and remembered with libedit, and run one by one. What they mean is the
 * program's, by callbacks.
 *
 * The history is ~/.PROGRAM_history, which only its owner may read, the user's keys are in ~/.editrc. One thread.
 */
#pragma once

#include "src/tools/candidates.h"

typedef struct {
	const char *program;
	void *ctx; /* of the callbacks */

	/** What stands before the line; valid until the next call. */
	const char *(*prompt)(void *ctx);

	/** Find what fits at the cursor. ret_found: freed by the editor. */
	void (*complete)(void *ctx, const complete_line_t *line, candidates_t *ret_found);

	/** Print what is known, where the Tab key is pressed on an empty line. NULL: the candidates. */
	void (*list_all)(void *ctx);

	/** Run a line, which ends with a newline. False: leave. */
	bool (*run)(void *ctx, const char *line);

	/** Whether a line may be remembered. NULL: all. */
	bool (*may_remember)(void *ctx, const char *line);

	/** Whether to leave, at run()'s wish or the end of input, where has_line is false. NULL: yes. */
	bool (*may_leave)(void *ctx, bool has_line);
} editor_t;

/** Prompt until the user leaves. False: it can't be started. */
bool editor_run(const editor_t *editor);
