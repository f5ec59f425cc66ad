/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/conf_edit.h"

#include "src/event/internal.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

bool server_conf_is_open(const server_t *server)
{
	return atomic_load(&server->edit.is_open);
}

uint64_t server_conf_open_since(const server_t *server)
{
	return server_conf_is_open(server) ? atomic_load(&server->edit.since_s) : 0;
}

bool server_conf_is_kept(const server_t *server)
{
	return server->params.db != NULL;
}

/** Forget the transaction and let others change the database. */
static void conf_edit_end(server_t *server)
{
	conf_open_t *edit = &server->edit;
	conf_txn_free(edit->txn);
	conf_store_free(edit->base);
	edit->txn = NULL;
	edit->base = NULL;
	atomic_store(&edit->is_open, false);
	if (server->params.db != NULL) {
		conf_db_release(server->params.db);
	}
}

void conf_edit_close(server_t *server)
{
	if (server->edit.txn != NULL) {
		conf_edit_end(server);
	}
}

/* ---- Beginning ---- */

/** Read the database if it isn't what is published: another process changed it and didn't reload. */
static knot_err_t conf_edit_read_base(server_t *server, conf_sink_t sink)
{
	conf_open_t *edit = &server->edit;
	uint64_t version;
	knot_err_t err = conf_db_version(server->params.db, sink, &version);
	if (err == KNOT_OK && version != edit->version) {
		err = conf_db_read(server->params.db, sink, &edit->base, &version);
		if (err == KNOT_OK) {
			log_control(LOG_NOTICE,
					"control, configuration database '%s' was changed by another process, the "
					"transaction begins "
					"with its contents, conf-commit or reload follows them",
					conf_db_path(server->params.db));
		}
	}
	return err;
}

static knot_err_t conf_edit_begin_txn(server_t *server, unsigned owner, conf_sink_t sink)
{
	conf_open_t *edit = &server->edit;
	conf_db_t *db = server->params.db;
	if (edit->txn != NULL || server_edits_are_open(server)) {
		return KNOT_ETXNMANY;
	}
	if (db == NULL) {
		log_control(LOG_NOTICE, "control, persistent configuration database not available");
	}
	knot_err_t err = db != NULL ? conf_db_hold(db, sink) : KNOT_OK;
	if (err != KNOT_OK) {
		return err;
	}
	err = db != NULL ? conf_edit_read_base(server, sink) : KNOT_OK;
	if (err == KNOT_OK) {
		edit->txn = conf_txn_begin(edit->base != NULL ? edit->base : server->root.state_rcu->conf->store);
		err = edit->txn != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	if (err != KNOT_OK) {
		conf_edit_end(server);
		return err;
	}
	edit->owner = owner;
	atomic_store(&edit->since_s, sys_clock_wall());
	atomic_store(&edit->is_open, true);
	return KNOT_OK;
}

knot_err_t server_conf_begin(server_t *server, unsigned owner, conf_sink_t sink)
{
	sys_mutex_lock(&server->reload_lock);
	knot_err_t err = conf_edit_begin_txn(server, owner, sink);
	sys_mutex_unlock(&server->reload_lock);
	return err;
}

knot_err_t server_conf_txn(server_t *server, unsigned owner, conf_txn_t **ret_txn)
{
	conf_txn_t *txn = server->edit.txn;
	if (txn == NULL) {
		return KNOT_ETXNNONE;
	}
	if (server->edit.owner != owner) {
		return KNOT_ETXNTHREAD;
	}
	*ret_txn = txn;
	return KNOT_OK;
}

/* ---- Ending ---- */

typedef struct {
	server_t *server;
	conf_sink_t sink;
} keeping_t;

static knot_err_t conf_edit_keep(void *ctx)
{
	keeping_t *keeping = ctx;
	server_t *server = keeping->server;
	return conf_db_write(server->params.db, server->edit.txn, keeping->sink, &server->edit.version);
}

/* Zones that a transaction adds, removes and changes, and blocks of other sections that it touches. */
typedef struct {
	size_t added, removed, changed, others;
} conf_edit_counts_t;

static conf_edit_counts_t conf_edit_count(const conf_txn_t *txn)
{
	conf_edit_counts_t counts = { 0 };
	conf_change_t change;
	size_t pos = 0;
	while (conf_txn_next_change(txn, &pos, &change)) {
		bool is_zone = change.section == CONF_S_ZONE;
		counts.added += is_zone && !change.has_old;
		counts.removed += is_zone && !change.has_new;
		counts.changed += is_zone && change.has_old && change.has_new;
		counts.others += !is_zone;
	}
	return counts;
}

static knot_err_t conf_edit_commit_txn(server_t *server, conf_sink_t sink) SYS_REQUIRES(server->reload_lock)
{
	conf_open_t *edit = &server->edit;
	conf_store_t *merged;
	conf_t *conf;
	/* Changes that another process wrote are applied with it, even if there are no others. */
	if (edit->base == NULL && conf_txn_is_empty(edit->txn)) {
		return KNOT_OK;
	}
	knot_err_t err = conf_txn_merge(edit->txn, &merged);
	if (err == KNOT_OK) {
		const char *path = server->root.state_rcu->conf->path;
		err = conf_make(merged, path, server->params.host, sink, &conf);
	}
	if (err != KNOT_OK) {
		return err;
	}
	keeping_t keeping = { server, sink };
	server_change_t change = {
		.txn = edit->base == NULL ? edit->txn : NULL,
		.keep = server->params.db != NULL ? conf_edit_keep : NULL,
		.ctx = &keeping,
	};
	conf_edit_counts_t counts = conf_edit_count(edit->txn);
	/* The transaction's base goes with the old configuration: so look at it for the last time here. */
	err = server_apply(server, conf, &change);
	if (err == KNOT_OK) {
		log_control(LOG_INFO,
				"control, configuration committed, zones: %zu added, %zu removed, %zu changed, other "
				"blocks: %zu",
				counts.added, counts.removed, counts.changed, counts.others);
	}
	return err;
}

knot_err_t server_conf_commit(server_t *server, unsigned owner, conf_sink_t sink)
{
	conf_txn_t *txn;
	sys_mutex_lock(&server->reload_lock);
	knot_err_t err = server_conf_txn(server, owner, &txn);
	err = err == KNOT_ETXNTHREAD ? KNOT_ECTLBUSY : err == KNOT_OK ? conf_edit_commit_txn(server, sink) : err;
	if (err == KNOT_OK) {
		conf_edit_end(server);
	}
	sys_mutex_unlock(&server->reload_lock);
	return err;
}

knot_err_t server_conf_abort(server_t *server, unsigned owner)
{
	conf_txn_t *txn;
	sys_mutex_lock(&server->reload_lock);
	knot_err_t err = server_conf_txn(server, owner, &txn);
	if (err == KNOT_OK) {
		conf_edit_end(server);
	}
	sys_mutex_unlock(&server->reload_lock);
	return err == KNOT_ETXNNONE ? KNOT_OK : err == KNOT_ETXNTHREAD ? KNOT_ECTLBUSY : err;
}
