/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The server's one open transaction of the configuration: begun, edited, committed or given up by whoever controls the
 * server.
 *
 * Beginning copies nothing: changes lie over what is published. Committing checks the whole, writes the changes to the
 * configuration's database if there is one, and only then publishes; answering goes on meanwhile. While one is open no
 * reload changes what is under it, and no other process can change the database. Without a database it lasts until the
 * next reload or start.
 *
 * It belongs to an owner, a number: for the control protocol, the socket that it was begun at. Callers see to it that
 * these functions don't run at the same time; a reload may, and server_conf_is_open().
 */
#pragma once

#include "src/conf/txn.h"
#include "src/event/server.h"

/** True while one is open. Any thread. */
bool server_conf_is_open(const server_t *server);

/** Wall clock when the one that is open began; 0: none is open. Any thread. */
uint64_t server_conf_open_since(const server_t *server);

/** True if what is committed outlives a reload and the process: the configuration is in a database. Any thread. */
bool server_conf_is_kept(const server_t *server);

/**
 * Begin. sink: faults of the database. KNOT_ETXNMANY: one is open, or one on a zone. KNOT_EBUSY: another process
 * changes the database. Others: of the database, if another process changed it meanwhile and it must be read again.
 */
KNOT_MUST_USE knot_err_t server_conf_begin(server_t *server, unsigned owner, conf_sink_t sink);

/** The open transaction. KNOT_ETXNNONE: there is none. KNOT_ETXNTHREAD: it is another owner's. Valid until it is
 * committed or aborted. */
KNOT_MUST_USE knot_err_t server_conf_txn(server_t *server, unsigned owner, conf_txn_t **ret_txn);

/**
 * Check, keep and follow what was changed; zones that need it are loading when this returns. On failure the transaction
 * stays open and nothing has changed. sink: told what is wrong, the first error being the reason. KNOT_ETXNNONE,
 * KNOT_ECTLBUSY: another owner's; what conf_make() and conf_db_write() give.
 */
KNOT_MUST_USE knot_err_t server_conf_commit(server_t *server, unsigned owner, conf_sink_t sink);

/** Give up. KNOT_OK also if there is none. KNOT_ECTLBUSY: it is another owner's. */
KNOT_MUST_USE knot_err_t server_conf_abort(server_t *server, unsigned owner);

/** The server ends: forget an open one. */
void conf_edit_close(server_t *server);
