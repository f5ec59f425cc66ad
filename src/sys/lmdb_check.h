/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Check that LMDB's file is well formed. LMDB has no checksums and follows any number in its pages, even out of its
 * map, so this check comes before LMDB opens the file.
 *
 * What is checked: both meta pages, each page of both trees (numbers, kinds, bounds of nodes, order of keys, depth),
 * the heads of pages with large values, and that no page is used twice or both used and free. The contents of values
 * are the caller's, with checksums of their own. Reads branch and leaf pages and one header per large value, not the
 * values. No state. A file that is too large for that at a start has a guard (lmdb_guard.h).
 */
#pragma once

#include "libknot/base/err.h"

#include <stdint.h>

typedef struct {
	uint64_t txn;        /* the last transaction */
	uint64_t pages;      /* of the file as far as LMDB has used it */
	uint64_t used, free; /* of these; the two meta pages are used */
	uint64_t entries;    /* keys of the main database */
} sys_lmdb_check_t;

/**
 * Check a data file that no process writes to. KNOT_ENOENT: it is empty. KNOT_EMALF: damaged, KNOT_ENOTSUP: of another
 * version or byte order, KNOT_EFILE: reading failed, KNOT_ENOMEM; *ret_what is then a static text, and ret_check as
 * far as it is known.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_check(int fd, sys_lmdb_check_t *ret_check, const char **ret_what);

/**
 * The same of a file that has one named database, `name`, and nothing else; or is new, and doesn't have it yet. A
 * process may write to the file meanwhile: a fault then may be one of what was read while it changed, so look again.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_check_named(
		int fd, const char *name, sys_lmdb_check_t *ret_check, const char **ret_what);

/**
 * Check only what is there once: the meta pages, and that the roots of both trees are pages of the file and have the
 * head of such. Reads four pages, however large the file is. Errors and outputs as above; ret_check has `txn`, `pages`
 * and `entries`, as far as the file says.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_check_heads(int fd, sys_lmdb_check_t *ret_check, const char **ret_what);
