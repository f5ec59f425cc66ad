/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * conf-init, conf-import, conf-export: the configuration database without a server.
 */
#include "src/tools/ctl/knotc.h"

#include "src/conf/db.h"
#include "src/conf/io.h"
#include "src/tools/ctl/message.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool local_conf_report_failure(const params_t *params, const char *action, const char *what, knot_err_t err)
{
	(void)message_error("%s (%s)", what, knot_strerror(err));
	return knotc_finish(params, action, NULL, false);
}

/* ---- Database ---- */

static bool local_conf_is_empty(const conf_store_t *store)
{
	size_t count = store->zones.count;
	for (size_t i = 0; i < CONF_S_COUNT; i++) {
		count += store->tables[i].count;
	}
	return count == 0;
}

static const char *local_conf_find_db(const params_t *params)
{
	return params->confdb != NULL ? params->confdb : conf_db_default_path();
}

/*
 * Open the database for writing and hold it. ret_old: its contents; NULL if they can't be read and -f was given. False:
 * an error was printed.
 */
static bool local_conf_open_db(const params_t *params, const char *action, conf_db_t **ret_db, conf_store_t **ret_old)
{
	conf_sink_t sink = { knotc_tell, NULL };
	conf_db_t *db;
	knot_err_t err = conf_db_open(local_conf_find_db(params), params->confdb_size_mib, true, sink, &db);
	if (err == KNOT_OK) {
		err = conf_db_hold(db, sink);
		if (err != KNOT_OK) {
			conf_db_close(db);
		}
	}
	if (err != KNOT_OK) {
		char error[KNOTC_ERROR_MAX];
		knotc_conf_failure(&(conf_source_t){ .is_db = true, .path = local_conf_find_db(params) }, err, error);
		(void)message_error("%s", error);
		return knotc_finish(params, action, NULL, false);
	}
	uint64_t version;
	conf_store_t *old = NULL;
	err = conf_db_read(db, sink, &old, &version);
	*ret_old = err == KNOT_OK ? old : NULL;
	*ret_db = db;
	return true;
}

/* A database that isn't empty is overwritten only with -f. */
static bool local_conf_may_overwrite(const params_t *params, const conf_store_t *old)
{
	return params->flags.force || (old != NULL && local_conf_is_empty(old));
}

static bool local_conf_refuse_overwrite(const params_t *params, const char *action)
{
	(void)message_error(
			"use force option to overwrite the existing destination and ensure the server is not running!");
	return knotc_finish(params, action, NULL, false);
}

/** The file that is imported. */
typedef struct {
	const char *path;
	bool keep;          /**< Add it to what is there (+nopurge). */
	const conf_t *conf; /**< What is in it, for a database that is only made now; else NULL. */
} import_t;

/** Change the database, whose contents are `old`; NULL: they can't be read. import: NULL if nothing is imported. */
typedef knot_err_t (*change_t)(conf_db_t *db, const conf_store_t *old, const import_t *import);

/* Open the database, change it if that is allowed, and print the result. what: names the change in the error. */
static bool local_conf_change_db(
		const params_t *params, const char *action, const char *what, change_t change, const import_t *import)
{
	conf_db_t *db;
	conf_store_t *old;
	if (!local_conf_open_db(params, action, &db, &old)) {
		return false;
	}
	bool may = local_conf_may_overwrite(params, old);
	knot_err_t err = may ? change(db, old, import) : KNOT_OK;
	conf_store_free(old);
	conf_db_close(db);
	params->socket_found->path[0] = '\0'; /* the change may name another one */
	if (!may) {
		return local_conf_refuse_overwrite(params, action);
	}
	return err == KNOT_OK ? knotc_finish(params, action, "OK", true)
			      : local_conf_report_failure(params, action, what, err);
}

static knot_err_t local_conf_make_empty(conf_db_t *db, const conf_store_t *old, const import_t *import)
{
	(void)old;
	(void)import;
	conf_store_t *empty = conf_store_new();
	knot_err_t err = empty != NULL ? conf_store_seal(empty) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		err = conf_db_replace(db, empty, (conf_sink_t){ knotc_tell, NULL });
	}
	conf_store_free(empty);
	return err;
}

bool knotc_conf_init(const params_t *params)
{
	return local_conf_change_db(params, "conf-init", "initialization", local_conf_make_empty, NULL);
}

/* ---- Import ---- */

/* A path as the directive `include` takes it: its special characters stand for themselves. */
static void local_conf_escape_pattern(const char *path, char *ret_pattern)
{
	for (; *path != '\0'; path++) {
		if (strchr("*?[]\\", *path) != NULL) {
			*ret_pattern++ = '\\';
		}
		*ret_pattern++ = *path;
	}
	*ret_pattern = '\0';
}

/* Add a file to the contents. Both are checked together before anything is written. */
static knot_err_t local_conf_add_file(conf_db_t *db, const conf_store_t *old, const char *path)
{
	conf_sink_t sink = { knotc_tell, NULL };
	char real[PATH_MAX], pattern[2 * PATH_MAX];
	if (old == NULL) {
		return KNOT_EMALF; /* what can't be read can't be kept */
	}
	if (realpath(path, real) == NULL) {
		return knot_err_of_errno(errno);
	}
	local_conf_escape_pattern(real, pattern);
	conf_txn_t *txn = conf_txn_begin(old);
	if (txn == NULL) {
		return KNOT_ENOMEM;
	}
	conf_store_t *all;
	conf_t *conf;
	knot_err_t err = conf_txn_set(txn, &(conf_edit_t){ .section = "include", .data = pattern }, sink);
	if (err == KNOT_OK) {
		err = conf_txn_merge(txn, &all);
	}
	if (err == KNOT_OK) {
		err = conf_make(all, conf_db_path(db), NULL, sink, &conf);
	}
	if (err == KNOT_OK) {
		conf_free(conf);
		err = conf_db_write(db, txn, sink, NULL);
	}
	conf_txn_free(txn);
	return err;
}

static knot_err_t local_conf_replace_by_file(conf_db_t *db, const char *path)
{
	conf_sink_t sink = { knotc_tell, NULL };
	conf_t *conf;
	knot_err_t err = conf_load(path, NULL, sink, &conf);
	if (err == KNOT_OK) {
		err = conf_db_replace(db, conf->store, sink);
		conf_free(conf);
	}
	return err;
}

static knot_err_t local_conf_import_file(conf_db_t *db, const conf_store_t *old, const import_t *import)
{
	if (import->conf != NULL && old != NULL && local_conf_is_empty(old)) {
		return conf_db_replace(db, import->conf->store, (conf_sink_t){ knotc_tell, NULL });
	}
	return import->keep ? local_conf_add_file(db, old, import->path) : local_conf_replace_by_file(db, import->path);
}

bool knotc_conf_import(const params_t *params, const request_t *request)
{
	static const char action[] = "conf-import", what[] = "import";
	const char *path = request->units[0][KNOT_CTL_IDX_OWNER], *filters = request->units[0][KNOT_CTL_IDX_FILTERS];
	conf_t *conf = NULL;
	/* A server prefers a database as soon as there is one, so a failed import must not leave an empty one behind.
	 */
	if (!conf_db_exists(local_conf_find_db(params))) {
		knot_err_t err = conf_load(path, NULL, (conf_sink_t){ knotc_tell, NULL }, &conf);
		if (err != KNOT_OK) {
			return local_conf_report_failure(params, action, what, err);
		}
	}
	import_t import = { .path = path, .keep = filters != NULL && strchr(filters, 'p') != NULL, .conf = conf };
	bool is_done = local_conf_change_db(params, action, what, local_conf_import_file, &import);
	conf_free(conf);
	return is_done;
}

/* ---- Export ---- */

static bool local_conf_write_export(const conf_t *conf, FILE *out)
{
	bool is_good = conf != NULL ? conf_io_export((conf_view_t){ .store = conf->store }, out)
				    : conf_io_export_schema(out);
	return fflush(out) == 0 && is_good;
}

/*
 * Write to a file beside it and rename that: an export that fails half-way loses nothing. An existing file keeps its
 * mode and owner. A new one gets the mode that the umask leaves, as with Knot: the server often runs as another user.
 */
static knot_err_t local_conf_export_to_file(const conf_t *conf, const char *path)
{
	struct stat old;
	bool exists = stat(path, &old) == 0;
	if (exists && !S_ISREG(old.st_mode)) {
		FILE *out = fopen(path, "we");
		bool is_good = out != NULL && local_conf_write_export(conf, out);
		int saved = errno;
		is_good = (out == NULL || fclose(out) == 0) && is_good;
		return is_good ? KNOT_OK : knot_err_of_errno(saved);
	}
	char real[PATH_MAX], temporary[PATH_MAX + 16];
	/* Replace the file that a symbolic link leads to, not the link. */
	if (!exists || realpath(path, real) == NULL) {
		snprintf(real, sizeof(real), "%s", path);
	}
	snprintf(temporary, sizeof(temporary), "%s.%ld", real, (long)getpid());
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (out == NULL) {
		return knot_err_of_errno(errno);
	}
	bool is_good = local_conf_write_export(conf, out);
	is_good = is_good &&
		  (!exists || (fchown(fd, old.st_uid, old.st_gid) == 0 && fchmod(fd, old.st_mode & 07777) == 0));
	is_good = is_good && fsync(fd) == 0;
	int saved = errno;
	if (fclose(out) != 0 && is_good) {
		saved = errno;
		is_good = false;
	}
	if (is_good && rename(temporary, real) != 0) {
		saved = errno;
		is_good = false;
	}
	if (!is_good) {
		(void)unlink(temporary);
	}
	return is_good ? KNOT_OK : knot_err_of_errno(saved);
}

static bool local_conf_export_unit(const conf_unit_t *unit, void *ctx)
{
	knot_ctl_data_t data = {
		[KNOT_CTL_IDX_SECTION] = unit->section,
		[KNOT_CTL_IDX_ITEM] = unit->item,
		[KNOT_CTL_IDX_ID] = unit->id,
		[KNOT_CTL_IDX_DATA] = unit->data,
	};
	output_unit(ctx, unit->is_next ? KNOT_CTL_TYPE_EXTRA : KNOT_CTL_TYPE_DATA, (const knot_ctl_data_t *)&data);
	return true;
}

/* Print the items as conf-read does. False: the reply says why. */
static bool local_conf_export_as_json(const conf_t *conf)
{
	output_t output = { .out = stdout, .action = action_find("conf-export"), .format = FORMAT_JSON };
	output_begin(&output);
	knot_err_t err = conf_io_read(
			(conf_view_t){ .store = conf->store }, &(conf_where_t){ 0 }, local_conf_export_unit, &output);
	return output_end(&output, err == KNOT_OK ? NULL : knot_strerror(err));
}

bool knotc_conf_export(const params_t *params, const request_t *request)
{
	static const char action[] = "conf-export";
	const char *path = request->units[0][KNOT_CTL_IDX_OWNER], *filters = request->units[0][KNOT_CTL_IDX_FILTERS];
	bool schema = filters != NULL && strchr(filters, 's') != NULL;
	/* Standard output is the file here: print nothing else to it. */
	params_t quiet = *params;
	quiet.verbose = params->verbose && path != NULL;
	conf_t *conf = NULL;
	if (!schema && !knotc_load_conf(&quiet, &conf)) {
		return knotc_finish(params, action, NULL, false);
	}
	knot_err_t err = KNOT_OK;
	if (path != NULL) {
		err = local_conf_export_to_file(conf, path);
	} else if (conf != NULL && params->format == FORMAT_JSON) {
		bool is_good = local_conf_export_as_json(conf);
		conf_free(conf);
		return is_good;
	} else if (!local_conf_write_export(conf, stdout)) {
		err = KNOT_EFILE;
	}
	conf_free(conf);
	if (err != KNOT_OK) {
		char what[KNOTC_ERROR_MAX];
		snprintf(what, sizeof(what), "failed to export to %s%.400s%s",
				path != NULL ? "file '" : "standard output", path != NULL ? path : "",
				path != NULL ? "'" : "");
		return local_conf_report_failure(params, action, what, err);
	}
	return path != NULL ? knotc_finish(params, action, "OK", true) : true;
}
