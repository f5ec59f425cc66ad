/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Writing journals of zones in the layout of Knot DNS: for backups, which either server restores.
 *
 * Owns the environment in a folder of its own. What Knot's layout has no place for is left out: who made a change, what
 * made it, and notes. Any thread; writers wait for each other. Layout: knot.c.
 */
#pragma once

#include "src/journal/journal.h"

typedef struct journal_knot_writer journal_knot_writer_t;

/**
 * Make a database in the folder, which is made; its parent must exist. path: borrowed for the writer's life. size_max:
 * bytes. KNOT_ENOMEM, errors of sys_lmdb_lock() and sys_lmdb_open(), with a reason.
 */
KNOT_MUST_USE knot_err_t journal_knot_make(
		const char *path, uint64_t size_max, journal_knot_writer_t **ret_writer, journal_reason_t *ret_reason);

/** Copy what the journal has of a zone. KNOT_ENOENT: that is nothing. KNOT_EMALF: damaged. KNOT_ESPACE, KNOT_EFILE …;
 * ret_reason says more. */
KNOT_MUST_USE knot_err_t journal_knot_copy(
		journal_knot_writer_t *writer, journal_t *journal, knot_name_t zone, journal_reason_t *ret_reason);

/** Make it durable, and close it in any case. Errors as above. NULL is allowed. */
KNOT_MUST_USE knot_err_t journal_knot_finish(journal_knot_writer_t *take_writer, journal_reason_t *ret_reason);
