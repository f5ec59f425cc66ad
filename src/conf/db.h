/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The configuration database: blocks of a configuration in LMDB, so that changes outlive the process.
 * doc/formats/conf-db.md.
 *
 * A start or reload reads it whole into a store. Otherwise the running server doesn't read it; a commit writes its
 * changes in one LMDB transaction. Items are stored by name and as text, so that other releases and machines can read
 * them. The file is open only during a call: between calls nothing is mapped or locked except by conf_db_hold().
 *
 * One process may change it at a time: it holds the folder's lock (flock), which ends with the process. Readers and
 * the writer exclude each other for the time of one reading or commit by the file's lock. LMDB's own lock file isn't
 * used, so a killed process can't leave one behind.
 *
 * One thread at a time per handle, and one handle per process that is in a call: LMDB doesn't open a file twice in one
 * process. A sink gets faults with their reason and what to do; texts name the folder.
 */
#pragma once

#include "src/conf/txn.h"

typedef struct conf_db conf_db_t;

enum { CONF_DB_SIZE_DEFAULT = 500, CONF_DB_SIZE_MAX = 10000 }; /* MiB */

/** The default folder, without -C: KNOT_STORAGE_DIR "/confdb". */
const char *conf_db_default_path(void);

/** True if there is a database in the folder, ours or not, or the process may not look into the folder. */
bool conf_db_exists(const char *path);

/**
 * Open the database in a folder and check its format and every page. size_mib: the size to which it may grow. create:
 * make the folder and an empty database if there is none; nothing else is changed. If root makes them, they belong to
 * the owner of the folder above. KNOT_ENOENT: there is none. KNOT_EMALF: damaged. KNOT_ENOTSUP: made by Knot DNS, by
 * another program or a later release, never changed. KNOT_EACCES, KNOT_ESPACE, KNOT_EBUSY (another process writes for
 * longer than some seconds), KNOT_EFILE, KNOT_ENOMEM. Close with conf_db_close().
 */
KNOT_MUST_USE knot_err_t conf_db_open(
		const char *path, unsigned size_mib, bool create, conf_sink_t sink, conf_db_t **ret_db);

/** Close it, after releasing it if it is held. NULL is allowed. */
void conf_db_close(conf_db_t *take_db);

/** The folder. */
const char *conf_db_path(const conf_db_t *db);

/**
 * Read everything into a new sealed store. Values and types are checked, but not what conf_make() checks. ret_version:
 * the same number only for the same contents, see conf_db_version(). Errors as conf_db_open(); KNOT_CONF_EITEM,
 * KNOT_EINVAL, KNOT_CONF_ERANGE: another release wrote something that this one doesn't know.
 */
KNOT_MUST_USE knot_err_t conf_db_read(conf_db_t *db, conf_sink_t sink, conf_store_t **ret_store, uint64_t *ret_version);

/**
 * As conf_db_read(), but only the blocks of the given groups (CONF_S_SERVER …, no sections of several blocks), one
 * look-up each: for programs that need no more, whatever the number of zones. Faults in other blocks aren't noticed.
 */
KNOT_MUST_USE knot_err_t conf_db_read_groups(
		conf_db_t *db, const size_t *sections, size_t count, conf_sink_t sink, conf_store_t **ret_store);

/** Get the version alone: the count of changes in the lower 32 bits, a random mark of the file in the upper ones, so
 * that another file with as many changes has another version. */
KNOT_MUST_USE knot_err_t conf_db_version(conf_db_t *db, conf_sink_t sink, uint64_t *ret_version);

/**
 * Take the right to change it; KNOT_EBUSY: another process has it. conf_db_release() or the end of the process
 * releases it.
 */
KNOT_MUST_USE knot_err_t conf_db_hold(conf_db_t *db, conf_sink_t sink);
void conf_db_release(conf_db_t *db);

/**
 * Write the changes of a transaction, all or nothing, and flush them to disk. The database must be held and unchanged
 * since the transaction began. ret_version: may be NULL. KNOT_ESPACE: disk or size_mib full, the text tells which.
 */
KNOT_MUST_USE knot_err_t conf_db_write(conf_db_t *db, const conf_txn_t *txn, conf_sink_t sink, uint64_t *ret_version);

/**
 * Replace everything by a store, all or nothing: a new file takes the place of the old one. The database must be held.
 * Errors as conf_db_write().
 */
KNOT_MUST_USE knot_err_t conf_db_replace(conf_db_t *db, const conf_store_t *store, conf_sink_t sink);
