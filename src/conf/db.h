/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The configuration database: blocks of a configuration in LMDB, so that changes outlive the process.
 *
 * Read whole at start and at a reload into a store; while the server runs nothing is read from it, a commit writes what it
 * changed in one LMDB transaction. doc/formats/conf-db.md. Items are stored by their names, so that releases can read each other's.
 * One process may change it at a time: it holds a lock file's lock (flock), which ends with the process.
 */
#pragma once

#include "src/conf/txn.h"

typedef struct conf_db conf_db_t;

enum { CONF_DB_SIZE_DEFAULT = 500, CONF_DB_SIZE_MAX = 10000 }; /* MiB */

/** Where it is without -C. */
const char *conf_db_default_path(void);

/** True if there is a database in the folder. */
bool conf_db_exists(const char *path);

/** Open; create: make folder and database if there is none. A database that another program made is refused with a clear message to `sink`. */
KNOT_MUST_USE knot_err_t conf_db_open(const char *path, unsigned size_mib, bool create, conf_sink_t sink, conf_db_t **ret_db);
/** NULL is allowed. */
void conf_db_close(conf_db_t *take_db);

/** Read everything into a new sealed store. ret_version: counts commits. */
KNOT_MUST_USE knot_err_t conf_db_read(conf_db_t *db, conf_sink_t sink, conf_store_t **ret_store, uint64_t *ret_version);

/** Become the one who may change it; KNOT_EBUSY: another is. Released by conf_db_release() or the end of the process. */
KNOT_MUST_USE knot_err_t conf_db_hold(conf_db_t *db);
void conf_db_release(conf_db_t *db);

/** Write the changes of a transaction, all or nothing, and flush them to disk. */
KNOT_MUST_USE knot_err_t conf_db_write(conf_db_t *db, const conf_txn_t *txn);

/** Put a store in place of everything. */
KNOT_MUST_USE knot_err_t conf_db_replace(conf_db_t *db, const conf_store_t *store);
