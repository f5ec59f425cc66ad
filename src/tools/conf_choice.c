/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/conf_choice.h"

#include "src/conf/db.h"
#include "src/conf/schema.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *conf_choice_default_config(void)
{
	return conf_default_path();
}

const char *conf_choice_default_confdb(void)
{
	return conf_db_default_path();
}

/* The first error. */
static void conf_choice_note(void *ctx, const conf_fault_t *fault)
{
	char *error = ctx;
	if (fault->severity == CONF_ERROR && error[0] == '\0') {
		snprintf(error, CONF_CHOICE_ERROR_MAX / 2, "%s", fault->text);
	}
}

/* Only the group that is wanted, or all: there may be a million zones. */
static knot_err_t conf_choice_read_db(
		const char *path, bool is_whole, const conf_host_t *host, conf_sink_t sink, conf_t **ret_conf)
{
	uint64_t version;
	static const size_t groups[] = { CONF_S_DATABASE };
	conf_db_t *db;
	conf_store_t *store;
	knot_err_t err = conf_db_open(path, CONF_DB_SIZE_DEFAULT, false, sink, &db);
	if (err == KNOT_OK) {
		err = is_whole ? conf_db_read(db, sink, &store, &version)
			       : conf_db_read_groups(db, groups, KNOT_LEN(groups), sink, &store);
		conf_db_close(db);
	}
	return err == KNOT_OK ? conf_make(store, path, host, sink, ret_conf) : err;
}

static bool conf_choice_absolute(const char *path, char *ret_path, char *ret_error)
{
	char folder[PATH_MAX] = "";
	if (path[0] != '/' && getcwd(folder, sizeof(folder)) == NULL) {
		snprintf(ret_error, CONF_CHOICE_ERROR_MAX, "the working directory is unknown (%s)",
				knot_strerror(knot_err_of_errno(errno)));
		return false;
	}
	const char *between = path[0] != '/' ? "/./" : "";
	if (snprintf(ret_path, PATH_MAX, "%s%s%s", folder, between, path) >= PATH_MAX) {
		snprintf(ret_error, CONF_CHOICE_ERROR_MAX, "the path is too long");
		return false;
	}
	return true;
}

static bool conf_choice_read(const conf_choice_t *choice, bool is_whole, conf_t **ret_conf, char *ret_error)
{
	const char *confdb = choice->confdb;
	if (confdb == NULL && choice->config == NULL && conf_db_exists(conf_db_default_path())) {
		confdb = conf_db_default_path();
	}
	const char *config = choice->config != NULL ? choice->config : conf_default_path();
	conf_host_t host = conf_host_offline();
	host.version = PACKAGE_STRING;
	char fault[CONF_CHOICE_ERROR_MAX] = "";
	conf_sink_t sink = { conf_choice_note, fault };
	knot_err_t err = confdb != NULL ? conf_choice_read_db(confdb, is_whole, &host, sink, ret_conf)
					: conf_load(config, &host, sink, ret_conf);
	if (err != KNOT_OK) {
		snprintf(ret_error, CONF_CHOICE_ERROR_MAX, "%.4000s%s%s '%.2000s' (%s)", fault,
				fault[0] != '\0' ? "\nerror: " : "",
				confdb != NULL ? "failed to open configuration database"
					       : "failed opening configuration file",
				confdb != NULL ? confdb : config, knot_strerror(err));
	}
	return err == KNOT_OK;
}

bool conf_choice_load(const conf_choice_t *choice, conf_t **ret_conf, char ret_error[static CONF_CHOICE_ERROR_MAX])
{
	return conf_choice_read(choice, true, ret_conf, ret_error);
}

bool conf_choice_folder(const conf_choice_t *choice, char *ret_path, char ret_error[static CONF_CHOICE_ERROR_MAX])
{
	if (choice->dir != NULL) {
		return conf_choice_absolute(choice->dir, ret_path, ret_error);
	}
	conf_t *conf;
	if (!conf_choice_read(choice, false, &conf, ret_error)) {
		return false;
	}
	bool is_good = conf_choice_absolute(choice->pick(conf), ret_path, ret_error);
	conf_free(conf);
	return is_good;
}
