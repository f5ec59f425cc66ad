/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Reads an LMDB file that LMDB never opens: what another program has left. Each page is checked when it is reached, and
 * read by read(2), so damage is an error and no signal. One thread at a time.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sys_lmdb_reader sys_lmdb_reader_t;

enum { SYS_LMDB_VALUE_MAX = 1 << 24 }; /* bytes; a file with a longer value is taken for damaged */

/** Looks at a key and its value, borrowed for the call; false ends the visit. */
typedef bool (*sys_lmdb_visit_t)(knot_bytes_t key, knot_bytes_t value, void *ctx);

/**
 * Begin to read a file. fd: borrowed until the end. Errors and *ret_what as those of sys_lmdb_check(). If another
 * process writes to the file, that may look like damage after its second transaction.
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
