/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Check that LMDB's file is well formed, and read one without LMDB. LMDB has no checksums and follows any number in its
 * pages, even out of its map, so this check comes before LMDB opens the file.
 *
 * What is checked: both meta pages, each page of both trees (numbers, kinds, bounds of nodes, order of keys, depth),
 * the heads of pages with large values, and that no page is used twice or both used and free. The contents of values
 * are the caller's, with checksums of their own. Reads branch and leaf pages and one header per large value, not the
 * values. Written after the format of LMDB 0.9 (data version 1), as lmdb.h and mdb.c describe it. No state.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

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
 * Check only what is there once: the meta pages, and that the roots of both trees are pages of the file and have the
 * head of such. Reads four pages, however large the file is. Errors and outputs as above; ret_check has `txn`, `pages`
 * and `entries`, as far as the file says.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_check_heads(int fd, sys_lmdb_check_t *ret_check, const char **ret_what);

/**
 * For files that are too large to be read at a start: what every use of the file depends on is checked at once, the
 * meta pages, the branch pages of the main tree, all of the tree of free pages, and that no page has two uses as far as
 * these say. Leaves, and the large values that they name, are checked when they are first used. Pages that LMDB writes
 * later need no check. Any thread.
 */
typedef struct sys_lmdb_guard sys_lmdb_guard_t;

/** Check the first part. Errors and ret_what as above. */
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

/**
 * Reads a file that LMDB never opens: what another program has left. Each page is checked when it is reached, and read
 * by read(2), so damage is an error and no signal. One thread at a time.
 */
typedef struct sys_lmdb_reader sys_lmdb_reader_t;

enum { SYS_LMDB_VALUE_MAX = 1 << 24 }; /* bytes; a file with a longer value is taken for damaged */

/** Looks at a key and its value, borrowed for the call; false ends the visit. */
typedef bool (*sys_lmdb_visit_t)(knot_bytes_t key, knot_bytes_t value, void *ctx);

/**
 * Begin to read a file. fd: borrowed until the end. Errors and *ret_what as above. If another process writes to the
 * file, that may look like damage after its second transaction.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_reader_begin(int fd, sys_lmdb_reader_t **ret_reader, const char **ret_what);
void sys_lmdb_reader_end(sys_lmdb_reader_t *take_reader);

/**
 * Visit the main database's keys that aren't less than `from`, in order. KNOT_OK: up to the end, or as far as the
 * visitor wanted. KNOT_EMALF, KNOT_EFILE, KNOT_ENOMEM: those before the fault were visited; *ret_what says what it is.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_reader_each(
		sys_lmdb_reader_t *reader, knot_bytes_t from, sys_lmdb_visit_t visit, void *ctx, const char **ret_what);

/** Bytes of the main database's pages. */
uint64_t sys_lmdb_reader_usage(const sys_lmdb_reader_t *reader);
