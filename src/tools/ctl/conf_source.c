/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which configuration: a file or a database, and reading it.
 */
#include "src/tools/ctl/knotc.h"
#include "src/tools/ctl/message.h"

#include "src/conf/db.h"

#include <stdlib.h>
#include <string.h>

conf_source_t knotc_conf_source(const params_t *params)
{
	if (params->confdb != NULL) {
		return (conf_source_t){ .is_db = true, .path = params->confdb };
	}
	if (params->config == NULL && conf_db_exists(conf_db_default_path())) {
		return (conf_source_t){ .is_db = true, .path = conf_db_default_path() };
	}
	return (conf_source_t){ .is_db = false, .path = params->config != NULL ? params->config : conf_default_path() };
}

static knot_err_t conf_source_load_db(
		const params_t *params, const char *path, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf)
{
	conf_db_t *db;
	conf_store_t *store;
	uint64_t version;
	knot_err_t err = conf_db_open(path, params->confdb_size_mib, false, sink, &db);
	if (err != KNOT_OK) {
		return err;
	}
	err = conf_db_read(db, sink, &store, &version);
	conf_db_close(db);
	return err == KNOT_OK ? conf_make(store, path, host, sink, ret_conf) : err;
}

static void conf_source_report(const params_t *params, const conf_source_t *source)
{
	if (params->verbose) {
		message_debug("%s '%s'", source->is_db ? "confdb" : "config", source->path);
	}
}

knot_err_t knotc_conf(const params_t *params, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf)
{
	conf_source_t source = knotc_conf_source(params);
	conf_source_report(params, &source);
	return source.is_db ? conf_source_load_db(params, source.path, host, sink, ret_conf)
			    : conf_load(source.path, host, sink, ret_conf);
}

void knotc_conf_failure(const conf_source_t *source, knot_err_t err, char ret_error[static KNOTC_ERROR_MAX])
{
	snprintf(ret_error, KNOTC_ERROR_MAX,
			source->is_db ? "failed to open configuration database '%.400s' (%s)"
				      : "failed to load configuration file '%.400s' (%s)",
			source->path, knot_strerror(err));
}

/* Print errors of the configuration, even if only the socket is wanted. Only conf-check prints notices and warnings. */
static void conf_source_report_error(void *ctx, const conf_fault_t *fault)
{
	if (fault->severity == CONF_ERROR) {
		knotc_tell(ctx, fault);
	}
}

/* Read only the two groups of a database that name the socket: it may have a million zones, and an error in one of them
 * doesn't concern the action. A file has to be read as a whole. */
static knot_err_t conf_source_load_groups(const params_t *params, const conf_source_t *source, conf_t **ret_conf)
{
	static const size_t groups[] = { CONF_S_SERVER, CONF_S_CONTROL };
	conf_sink_t sink = { conf_source_report_error, NULL };
	if (!source->is_db) {
		return knotc_conf(params, NULL, sink, ret_conf);
	}
	conf_db_t *db;
	conf_store_t *store;
	conf_source_report(params, source);
	knot_err_t err = conf_db_open(source->path, params->confdb_size_mib, false, sink, &db);
	if (err != KNOT_OK) {
		return err;
	}
	err = conf_db_read_groups(db, groups, KNOT_LEN(groups), sink, &store);
	conf_db_close(db);
	return err == KNOT_OK ? conf_make(store, source->path, NULL, sink, ret_conf) : err;
}

static bool conf_source_find_socket(
		const params_t *params, char ret_path[static KNOTC_PATH_MAX], char ret_error[static KNOTC_ERROR_MAX])
{
	conf_source_t source = knotc_conf_source(params);
	conf_t *conf;
	knot_err_t err = conf_source_load_groups(params, &source, &conf);
	if (err != KNOT_OK) {
		knotc_conf_failure(&source, err, ret_error);
		return false;
	}
	bool has_socket = conf->control.listen.count > 0;
	if (has_socket) {
		snprintf(ret_path, KNOTC_PATH_MAX, "%s", conf->control.listen.data[0]);
	} else {
		snprintf(ret_error, KNOTC_ERROR_MAX, "no control socket is configured in '%.400s'", source.path);
	}
	conf_free(conf);
	return has_socket;
}

bool knotc_socket(const params_t *params, char ret_path[static KNOTC_PATH_MAX], char ret_error[static KNOTC_ERROR_MAX])
{
	if (params->socket != NULL) {
		snprintf(ret_path, KNOTC_PATH_MAX, "%s", params->socket);
		return true;
	}
	socket_found_t *found = params->socket_found;
	if (found->path[0] == '\0' && !conf_source_find_socket(params, found->path, ret_error)) {
		return false;
	}
	memcpy(ret_path, found->path, sizeof(found->path));
	return true;
}
