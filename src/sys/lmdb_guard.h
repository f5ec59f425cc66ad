/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The check of an LMDB file that is too large to be read at a start. What every use of the file depends on is checked
 * at once: the meta pages, the branch pages of the main tree, all of the tree of free pages, and that no page has two
 * uses as far as these say. Leaves, and the large values that they name, are checked when they are first used. Pages
 * that LMDB writes later need no check. Any thread.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <stdint.h>

typedef struct sys_lmdb_guard sys_lmdb_guard_t;

/** Check the first part. Errors and *ret_what as those of sys_lmdb_check(). */
KNOT_MUST_USE knot_err_t sys_lmdb_guard_begin(int fd, sys_lmdb_guard_t **ret_guard, const char **ret_what);

/** NULL is allowed. */
void sys_lmdb_guard_end(sys_lmdb_guard_t *take_guard);

/**
 * Before LMDB looks for keys of [first..last], or changes them, in an open transaction: check the leaves that have such
 * keys, and some beside them, in the version of the file that was made by transaction `txn` (the number of a read
 * transaction; one less than that of a writing one). KNOT_EMALF: damaged. KNOT_EAGAIN: that version is too old, begin
 * another transaction. KNOT_EFILE, KNOT_ENOMEM. fd: the data file. Cost once all is checked: none; before, some reads
 * of pages.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_guard_check(
		sys_lmdb_guard_t *guard, int fd, uint64_t txn, knot_bytes_t first, knot_bytes_t last);
