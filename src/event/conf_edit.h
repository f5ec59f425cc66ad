/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The server's one open transaction of the configuration: begun, edited, committed or aborted by the programs that
 * control the server.
 *
 * Beginning copies nothing: changes lie over the published configuration. A commit checks the whole, writes the
 * changes to the configuration's database if there is one, and only then publishes; answering goes on meanwhile. While
 * a transaction is open, no reload replaces the configuration under it, and no other process can change the database.
 * Without a database, committed changes last until the next reload or start.
 *
 * It belongs to an owner, a number: for the control protocol, the socket on which it was begun. Callers must not run
 * these functions at the same time; a reload and server_conf_is_open() may run at any time.
 */
#pragma once

#include "src/conf/txn.h"
#include "src/event/server.h"

/** True while a transaction is open. Any thread. */
bool server_conf_is_open(const server_t *server);

/** Wall clock (seconds since 1970) when the open transaction began; 0: none is open. Any thread. */
uint64_t server_conf_open_since(const server_t *server);

/** True if commits outlive a reload and the process, because the configuration is in a database. Any thread. */
bool server_conf_is_kept(const server_t *server);

/**
 * Begin. sink: gets faults of the database. KNOT_ETXNMANY: one is open, here or on a zone. KNOT_EBUSY: another process
 * changes the database. Other errors are the database's, if another process changed it meanwhile and it must be read
 * again.
 */
KNOT_MUST_USE knot_err_t server_conf_begin(server_t *server, unsigned owner, conf_sink_t sink);

/** Get the open transaction. KNOT_ETXNNONE: there is none. KNOT_ETXNTHREAD: it is another owner's. Valid until it is
 * committed or aborted. */
KNOT_MUST_USE knot_err_t server_conf_txn(server_t *server, unsigned owner, conf_txn_t **ret_txn);

/**
 * Check, store and apply the changes; zones that need it are loading when this returns. On failure the transaction
 * stays open and nothing has changed. sink: gets the faults; the first error is the reason. KNOT_ETXNNONE,
 * KNOT_ECTLBUSY: another owner's; errors of conf_make() and conf_db_write().
 */
KNOT_MUST_USE knot_err_t server_conf_commit(server_t *server, unsigned owner, conf_sink_t sink);

/** Abort. KNOT_OK also if there is none. KNOT_ECTLBUSY: it is another owner's. */
KNOT_MUST_USE knot_err_t server_conf_abort(server_t *server, unsigned owner);

/** Forget an open transaction, as the server ends. */
void conf_edit_close(server_t *server);
