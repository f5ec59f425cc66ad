/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * An LMDB environment in a folder of its own: opening, locking, transactions, faults.
 *
 * Owns the folder's lock, the environment and the handle of its unnamed database, which is the only one that we use.
 * What the values mean, and whether they are sound, is the caller's. What is done about damage, and why:
 * doc/adr/0033-damage.md. One process at a time opens an environment to write; others read meanwhile. Nothing is
 * logged here: faults come back as an error and a text. Any thread, one writing transaction at a time (LMDB makes
 * others wait).
 */
#pragma once

#include "src/sys/lmdb_guard.h"

#include <lmdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SYS_LMDB_REASON_MAX = 256 };

/** Why something failed, for a log line: what, where, and what to do. */
typedef struct {
	char text[SYS_LMDB_REASON_MAX];
} sys_lmdb_reason_t;

/** How much of a file is checked before LMDB opens it, as LMDB trusts its pages. */
typedef enum {
	SYS_LMDB_CHECK_PAGES, /* each page of its trees: for files that are read as a whole at a start anyway */
	SYS_LMDB_CHECK_HEADS, /* meta pages, the file's length and the roots */
	/* Branch pages and free pages; leaves by sys_lmdb_touch(), which must come before each use: for large files. */
	SYS_LMDB_CHECK_TOUCHED,
} sys_lmdb_depth_t;

/** How to open an environment. Texts are borrowed for its life. */
typedef struct {
	const char *path;       /* folder; its parent must exist */
	const char *item;       /* the configuration's item of the folder, such as "database.timer-db": for advice */
	uint64_t size_max;      /* bytes, LMDB's map size; an existing larger file is still opened */
	unsigned flags;         /* of LMDB: MDB_WRITEMAP, MDB_MAPASYNC */
	sys_lmdb_depth_t depth; /* of the check */
	bool read_only;         /* also while another process writes; nothing is made or set aside */
	bool is_cache;          /* a file that is set aside replaces an earlier one */
} sys_lmdb_options_t;

/** Zeroed before sys_lmdb_lock(). */
typedef struct {
	sys_lmdb_options_t options;
	MDB_env *env;              /* owned; NULL: the file is not open */
	MDB_dbi dbi;               /* the unnamed database */
	int dir_fd;                /* locked by the process that writes; valid after sys_lmdb_lock() */
	int fd;                    /* the data file, LMDB's */
	bool is_locked;            /* dir_fd is valid */
	bool is_alone;             /* read_only: no process has it open, as there is no table of readers */
	uint64_t map_len;          /* bytes */
	uint32_t page_len;         /* bytes of an LMDB page */
	_Atomic uint64_t file_len; /* bytes of the data file after the last commit */
	sys_lmdb_guard_t *guard;   /* owned; NULL: all was checked, or another process has done that */
	uint64_t failed_txn;       /* of the last commit if that failed, else 0: see sys_lmdb_settle() */
} sys_lmdb_t;

/**
 * Open the folder, and lock it if it is to be written to; it is made with a mode of 0770 less umask. Waits for half a
 * second for a process that reads. KNOT_ENOENT (read_only: there is none), KNOT_EBUSY (another process writes to it),
 * KNOT_EACCES …: ret_reason says more. Whatever is returned, sys_lmdb_close() ends it.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_lock(
		sys_lmdb_t *lmdb, const sys_lmdb_options_t *options, sys_lmdb_reason_t *ret_reason);

/**
 * Check the file and let LMDB open it; if there is none, and it is to be written to, it is made. KNOT_EMALF: damaged,
 * KNOT_ENOTSUP: of another version or byte order (both: the caller may set it aside and open again), KNOT_ENOENT
 * (read_only: there is none or it is empty), and other errors; ret_reason says more.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_open(sys_lmdb_t *lmdb, sys_lmdb_reason_t *ret_reason);

/**
 * Close the file if it is open, and rename it to data.mdb.damaged (data.mdb.damaged.1, … if it is no cache and there
 * is one). The reason, which says what is wrong with it, gets the new name added. A reader that has the old file open
 * keeps it. On failure the reason says why it could not be renamed.
 */
KNOT_MUST_USE knot_err_t sys_lmdb_set_aside(sys_lmdb_t *lmdb, sys_lmdb_reason_t *reason);

/** Close everything, after the last transaction has ended. */
void sys_lmdb_close(sys_lmdb_t *lmdb);

/**
 * mdb_txn_begin(), or MDB_CORRUPTED if the file has lost bytes since the last commit: pages are read in LMDB's map,
 * where a missing one raises SIGBUS. (A file cut within a transaction, or a disk that fails there, ends the process.)
 */
KNOT_MUST_USE int sys_lmdb_begin(const sys_lmdb_t *lmdb, unsigned flags, MDB_txn **ret_txn);

/**
 * Before keys of [first..last] are looked for or, in a transaction that `writes`, changed: 0, MDB_CORRUPTED, EAGAIN
 * (not if it writes: two others have written meanwhile, begin again), or another code. Nothing happens but with
 * SYS_LMDB_CHECK_TOUCHED.
 */
KNOT_MUST_USE int sys_lmdb_touch(
		const sys_lmdb_t *lmdb, MDB_txn *txn, bool writes, knot_bytes_t first, knot_bytes_t last);

/** mdb_txn_commit() of a transaction that has written. After a failure sys_lmdb_settle() comes before the next one. */
KNOT_MUST_USE int sys_lmdb_commit(sys_lmdb_t *lmdb, MDB_txn *take_txn);

/**
 * Make sure that no transaction is there that a commit said had failed: its meta page may have been written though an
 * error was reported. Before the database is closed after such a commit; no transaction that writes is open. Returns 0
 * or a code of errno: the transaction may be there.
 */
KNOT_MUST_USE int sys_lmdb_put_back(const sys_lmdb_t *lmdb);

/**
 * The same on the disk: else what such a meta page leads to could be written over before a power failure brings it
 * back. After a failed commit, and before the first transaction that writes after opening, as an earlier process may
 * have ended in between. Returns 0 or a code of errno: call it again before writing.
 */
KNOT_MUST_USE int sys_lmdb_settle(sys_lmdb_t *lmdb);

/** Our error code for one of LMDB's or errno (not 0); sets the text "<what>: <why>, <what to do>". */
knot_err_t sys_lmdb_fail(const sys_lmdb_t *lmdb, int code, const char *what, sys_lmdb_reason_t *ret_reason);

/** Set the text of a reason. */
__attribute__((format(printf, 2, 3))) void sys_lmdb_say(sys_lmdb_reason_t *ret_reason, const char *format, ...);

/** Pages that LMDB may use again, counted within a transaction. */
uint64_t sys_lmdb_free_pages(MDB_txn *txn);
