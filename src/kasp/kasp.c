/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/kasp/kasp.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libknot/base/number.h"
#include "src/sys/lmdb_check.h"

enum {
	CHECK_TRIES = 3, /* another process may write while the file is read */
	DIR_MODE = 0770,
	FILE_MODE = 0660,
};

static char kasp_db_name[] = "keys_db";

struct kasp {
	MDB_env *env; /* owned */
	MDB_dbi dbi;
	bool is_read_only;
};

struct kasp_txn {
	const kasp_t *kasp;
	MDB_txn *txn; /* owned */
};

static knot_err_t kasp_err_of(int code)
{
	switch (code) {
	case 0: return KNOT_OK;
	case MDB_NOTFOUND: return KNOT_ENOENT;
	case MDB_MAP_FULL:
	case ENOSPC: return KNOT_ESPACE;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID: return KNOT_EMALF;
	case MDB_VERSION_MISMATCH: return KNOT_ENOTSUP;
	default: return code > 0 ? knot_err_of_errno(code) : KNOT_EFILE;
	}
}

/* ---- Opening ---- */

/* Pages that LMDB would follow wherever they lead. */
static knot_err_t kasp_check_file(const char *folder, char *reason)
{
	int dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = dir_fd >= 0 ? openat(dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC) : -1;
	knot_err_t err = fd >= 0 ? KNOT_EMALF : errno == ENOENT ? KNOT_ENOENT : knot_err_of_errno(errno);
	const char *what = "";
	sys_lmdb_check_t check;
	for (unsigned i = 0; fd >= 0 && err == KNOT_EMALF && i < CHECK_TRIES; i++) {
		err = sys_lmdb_check_named(fd, kasp_db_name, &check, &what);
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	if (dir_fd >= 0) {
		(void)close(dir_fd);
	}
	if (err != KNOT_OK) {
		snprintf(reason, KASP_REASON_MAX, "%.200s/data.mdb: %s", folder,
				what[0] != '\0' ? what : knot_strerror(err));
	}
	return err;
}

static int kasp_open_database(kasp_t *kasp)
{
	MDB_txn *txn;
	int code = mdb_txn_begin(kasp->env, NULL, kasp->is_read_only ? MDB_RDONLY : 0, &txn);
	if (code != 0) {
		return code;
	}
	code = mdb_dbi_open(txn, kasp_db_name, kasp->is_read_only ? 0 : MDB_CREATE, &kasp->dbi);
	if (code != 0) {
		mdb_txn_abort(txn);
		return code;
	}
	return mdb_txn_commit(txn);
}

static int kasp_open_env(kasp_t *kasp, const kasp_params_t *params)
{
	int code = mdb_env_create(&kasp->env);
	code = code == 0 ? mdb_env_set_maxdbs(kasp->env, 1) : code;
	code = code == 0 ? mdb_env_set_mapsize(kasp->env, params->size_max) : code;
	code = code == 0 ? mdb_env_open(kasp->env, params->path, MDB_NOTLS | (params->read_only ? MDB_RDONLY : 0),
					   FILE_MODE)
			 : code;
	return code == 0 ? kasp_open_database(kasp) : code;
}

knot_err_t kasp_open(const kasp_params_t *params, char *reason, kasp_t **ret_kasp)
{
	reason[0] = '\0';
	if (!params->read_only && mkdir(params->path, DIR_MODE) != 0 && errno != EEXIST) {
		knot_err_t err = knot_err_of_errno(errno);
		snprintf(reason, KASP_REASON_MAX, "%.200s: %s", params->path, knot_strerror(err));
		return err;
	}
	knot_err_t err = kasp_check_file(params->path, reason);
	if (err != KNOT_OK && (err != KNOT_ENOENT || params->read_only)) {
		return err;
	}
	kasp_t *kasp = calloc(1, sizeof(*kasp));
	if (kasp == NULL) {
		return KNOT_ENOMEM;
	}
	kasp->is_read_only = params->read_only;
	int code = kasp_open_env(kasp, params);
	if (code != 0) {
		snprintf(reason, KASP_REASON_MAX, "%.200s: %s", params->path, mdb_strerror(code));
		kasp_close(kasp);
		return kasp_err_of(code);
	}
	reason[0] = '\0';
	*ret_kasp = kasp;
	return KNOT_OK;
}

void kasp_close(kasp_t *take_kasp)
{
	if (take_kasp != NULL) {
		mdb_env_close(take_kasp->env);
		free(take_kasp);
	}
}

bool kasp_is_in_place(const kasp_t *kasp)
{
	char path[PATH_MAX];
	const char *folder = NULL;
	int fd = -1;
	struct stat has, is;
	bool is_known = mdb_env_get_path(kasp->env, &folder) == 0 && mdb_env_get_fd(kasp->env, &fd) == 0 &&
			snprintf(path, sizeof(path), "%s/data.mdb", folder) < (int)sizeof(path);
	return is_known && fstat(fd, &has) == 0 && stat(path, &is) == 0 && has.st_dev == is.st_dev &&
	       has.st_ino == is.st_ino;
}

/* ---- Transactions ---- */

knot_err_t kasp_begin(kasp_t *kasp, bool writes, kasp_txn_t **ret_txn)
{
	if (writes && kasp->is_read_only) {
		return KNOT_EACCES;
	}
	kasp_txn_t *txn = calloc(1, sizeof(*txn));
	if (txn == NULL) {
		return KNOT_ENOMEM;
	}
	txn->kasp = kasp;
	int code = mdb_txn_begin(kasp->env, NULL, writes ? 0 : MDB_RDONLY, &txn->txn);
	if (code == MDB_MAP_RESIZED) { /* by another process */
		code = mdb_env_set_mapsize(kasp->env, 0);
		code = code == 0 ? mdb_txn_begin(kasp->env, NULL, writes ? 0 : MDB_RDONLY, &txn->txn) : code;
	}
	if (code != 0) {
		free(txn);
		return kasp_err_of(code);
	}
	*ret_txn = txn;
	return KNOT_OK;
}

knot_err_t kasp_commit(kasp_txn_t *take_txn)
{
	int code = mdb_txn_commit(take_txn->txn);
	free(take_txn);
	return kasp_err_of(code);
}

void kasp_abort(kasp_txn_t *take_txn)
{
	if (take_txn != NULL) {
		mdb_txn_abort(take_txn->txn);
		free(take_txn);
	}
}

/* ---- Records ---- */

static knot_err_t kasp_get(kasp_txn_t *txn, uint8_t *key, size_t key_len, MDB_val *ret_value)
{
	MDB_val wanted = { key_len, key };
	return kasp_err_of(mdb_get(txn->txn, txn->kasp->dbi, &wanted, ret_value));
}

static knot_err_t kasp_put(kasp_txn_t *txn, uint8_t *key, size_t key_len, const void *value, size_t len)
{
	MDB_val at = { key_len, key }, data = { len, (void *)(uintptr_t)value };
	return kasp_err_of(mdb_put(txn->txn, txn->kasp->dbi, &at, &data, 0));
}

static knot_err_t kasp_del(kasp_txn_t *txn, uint8_t *key, size_t key_len)
{
	MDB_val at = { key_len, key };
	return kasp_err_of(mdb_del(txn->txn, txn->kasp->dbi, &at, NULL));
}

/** What a walk shows; false ends it. *ret_err: what the walk ends with then. */
typedef bool (*kasp_visit_t)(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err);

/* Visit the records whose keys begin so. */
static knot_err_t kasp_walk(kasp_txn_t *txn, const uint8_t *prefix, size_t len, kasp_visit_t visit, void *ctx)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn->txn, txn->kasp->dbi, &cursor);
	if (code != 0) {
		return kasp_err_of(code);
	}
	knot_err_t err = KNOT_OK;
	MDB_val key = { len, (void *)(uintptr_t)prefix }, value;
	code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	while (code == 0 && key.mv_size >= len && memcmp(key.mv_data, prefix, len) == 0) {
		const knot_bytes_t found = { key.mv_data, key.mv_size }, data = { value.mv_data, value.mv_size };
		if (!visit(found, data, ctx, &err)) {
			break;
		}
		code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	return err == KNOT_OK && code != 0 && code != MDB_NOTFOUND ? kasp_err_of(code) : err;
}

/* ---- Keys ---- */

typedef struct {
	kasp_key_cb visit;
	void *ctx;
} kasp_keys_t;

static bool kasp_show_key(knot_bytes_t bytes, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	const kasp_keys_t *keys = ctx;
	knot_name_t zone;
	const char *id;
	kasp_key_t key;
	*ret_err = kasp_db_key_read(bytes, &zone, &id);
	*ret_err = *ret_err == KNOT_OK ? kasp_key_read(id, value, &key) : *ret_err;
	return *ret_err == KNOT_OK && keys->visit(&key, keys->ctx);
}

knot_err_t kasp_each_key(kasp_txn_t *txn, knot_name_t zone, kasp_key_cb visit, void *ctx)
{
	uint8_t prefix[KASP_DB_KEY_MAX];
	kasp_keys_t keys = { visit, ctx };
	return kasp_walk(txn, prefix, kasp_db_key(KASP_KEY, zone, NULL, prefix), kasp_show_key, &keys);
}

static bool kasp_note_first(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	(void)value, (void)ret_err;
	*(knot_bytes_t *)ctx = key;
	return false;
}

static knot_err_t kasp_del_all(kasp_txn_t *txn, const uint8_t *prefix, size_t len)
{
	uint8_t key[KASP_DB_KEY_MAX];
	for (;;) {
		knot_bytes_t found = { 0 };
		knot_err_t err = kasp_walk(txn, prefix, len, kasp_note_first, &found);
		if (err != KNOT_OK || found.len == 0) {
			return err;
		}
		size_t key_len = found.len;
		if (key_len > sizeof(key)) {
			return KNOT_EMALF;
		}
		memcpy(key, found.data, key_len);
		err = kasp_del(txn, key, key_len);
		if (err != KNOT_OK) {
			return err;
		}
	}
}

/* The trash records of an id, of whatever zones. */
static knot_err_t kasp_empty_trash_of(kasp_txn_t *txn, const char *id)
{
	uint8_t prefix[KASP_DB_KEY_MAX];
	const knot_name_t none = { 0 };
	return kasp_del_all(txn, prefix, kasp_db_trash_key(id, none, prefix));
}

knot_err_t kasp_put_key(kasp_txn_t *txn, knot_name_t zone, const kasp_key_t *key)
{
	uint8_t at[KASP_DB_KEY_MAX], value[KASP_VALUE_MAX];
	size_t len = kasp_key_write(key, value); /* first: its public key may be one that this transaction has shown */
	knot_err_t err = kasp_empty_trash_of(txn, key->id);
	size_t at_len = kasp_db_key(KASP_KEY, zone, key->id, at);
	return err == KNOT_OK ? kasp_put(txn, at, at_len, value, len) : err;
}

typedef struct {
	const char *id;
	bool is_used;
} kasp_use_t;

static bool kasp_look_for_use(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	kasp_use_t *use = ctx;
	knot_name_t zone;
	const char *id;
	(void)value, (void)ret_err;
	use->is_used = kasp_db_key_read(key, &zone, &id) == KNOT_OK && strcmp(id, use->id) == 0;
	return !use->is_used;
}

knot_err_t kasp_is_used(kasp_txn_t *txn, const char *id, bool *ret_is_used)
{
	static const uint8_t all[] = { KASP_KEY };
	kasp_use_t use = { .id = id };
	knot_err_t err = kasp_walk(txn, all, sizeof(all), kasp_look_for_use, &use);
	*ret_is_used = use.is_used;
	return err;
}

knot_err_t kasp_drop_key(kasp_txn_t *txn, knot_name_t zone, const char *id, bool *ret_is_used)
{
	uint8_t at[KASP_DB_KEY_MAX];
	knot_err_t err = kasp_del(txn, at, kasp_db_key(KASP_KEY, zone, id, at));
	return err == KNOT_OK ? kasp_is_used(txn, id, ret_is_used) : err;
}

typedef struct {
	void (*visit)(knot_name_t zone, void *ctx);
	void *ctx;
	uint8_t last[KNOT_NAME_MAX];
	size_t last_len;
} kasp_zones_t;

static bool kasp_show_zone(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	kasp_zones_t *zones = ctx;
	knot_name_t zone;
	const char *id;
	(void)value, (void)ret_err;
	bool is_new = kasp_db_key_read(key, &zone, &id) == KNOT_OK &&
		      (zone.len != zones->last_len || memcmp(zone.wire, zones->last, zone.len) != 0);
	if (is_new) {
		memcpy(zones->last, zone.wire, zone.len);
		zones->last_len = zone.len;
		zones->visit(zone, zones->ctx);
	}
	return true;
}

knot_err_t kasp_each_zone(kasp_txn_t *txn, void (*visit)(knot_name_t zone, void *ctx), void *ctx)
{
	static const uint8_t all[] = { KASP_KEY };
	kasp_zones_t zones = { .visit = visit, .ctx = ctx };
	return kasp_walk(txn, all, sizeof(all), kasp_show_zone, &zones);
}

knot_err_t kasp_get_shared(kasp_txn_t *txn, const char *policy, kasp_key_t *ret_key)
{
	uint8_t at[KASP_DB_KEY_MAX], key[KASP_DB_KEY_MAX];
	const knot_name_t none = { 0 };
	knot_name_t zone;
	const char *id;
	MDB_val value;
	knot_err_t err = kasp_get(txn, at, kasp_db_key(KASP_SHARED, none, policy, at), &value);
	if (err != KNOT_OK) {
		return err;
	}
	if (value.mv_size > sizeof(key)) {
		return KNOT_EMALF;
	}
	size_t key_len = value.mv_size;
	memcpy(key, value.mv_data, key_len);
	err = kasp_get(txn, key, key_len, &value);
	err = err == KNOT_OK ? kasp_db_key_read((knot_bytes_t){ key, key_len }, &zone, &id) : err;
	return err == KNOT_OK ? kasp_key_read(id, (knot_bytes_t){ value.mv_data, value.mv_size }, ret_key) : err;
}

knot_err_t kasp_put_shared(kasp_txn_t *txn, const char *policy, knot_name_t zone, const char *id)
{
	uint8_t at[KASP_DB_KEY_MAX], key[KASP_DB_KEY_MAX];
	const knot_name_t none = { 0 };
	size_t at_len = kasp_db_key(KASP_SHARED, none, policy, at);
	return kasp_put(txn, at, at_len, key, kasp_db_key(KASP_KEY, zone, id, key));
}

/* ---- What else is kept of a zone ---- */

static knot_err_t kasp_get_fixed(kasp_txn_t *txn, uint8_t kind, knot_name_t zone, size_t len, const uint8_t **ret_bytes)
{
	uint8_t at[KASP_DB_KEY_MAX];
	MDB_val value;
	knot_err_t err = kasp_get(txn, at, kasp_db_key(kind, zone, NULL, at), &value);
	if (err == KNOT_OK && value.mv_size != len) {
		err = KNOT_EMALF;
	}
	if (err == KNOT_OK) {
		*ret_bytes = value.mv_data;
	}
	return err;
}

static knot_err_t kasp_put_fixed(kasp_txn_t *txn, uint8_t kind, knot_name_t zone, const uint8_t *bytes, size_t len)
{
	uint8_t at[KASP_DB_KEY_MAX];
	return kasp_put(txn, at, kasp_db_key(kind, zone, NULL, at), bytes, len);
}

knot_err_t kasp_get_salt(kasp_txn_t *txn, knot_name_t zone, uint8_t ret_salt[static KASP_SALT_MAX], size_t *ret_len,
		uint64_t *ret_made_s)
{
	uint8_t at[KASP_DB_KEY_MAX];
	const uint8_t *made;
	MDB_val salt;
	knot_err_t err = kasp_get(txn, at, kasp_db_key(KASP_SALT, zone, NULL, at), &salt);
	if (err == KNOT_OK && salt.mv_size > KASP_SALT_MAX) {
		err = KNOT_EMALF;
	}
	err = err == KNOT_OK ? kasp_get_fixed(txn, KASP_SALT_TIME, zone, 8, &made) : err;
	if (err == KNOT_OK) {
		memcpy(ret_salt, salt.mv_data, salt.mv_size);
		*ret_len = salt.mv_size;
		*ret_made_s = load_be64(made);
	}
	return err;
}

knot_err_t kasp_put_salt(kasp_txn_t *txn, knot_name_t zone, knot_bytes_t salt, uint64_t made_s)
{
	uint8_t made[8];
	store_be32(made, (uint32_t)(made_s >> 32));
	store_be32(made + 4, (uint32_t)made_s);
	knot_err_t err = kasp_put_fixed(txn, KASP_SALT, zone, salt.data, salt.len);
	return err == KNOT_OK ? kasp_put_fixed(txn, KASP_SALT_TIME, zone, made, sizeof(made)) : err;
}

knot_err_t kasp_get_serial(kasp_txn_t *txn, uint8_t kind, knot_name_t zone, uint32_t *ret_serial)
{
	const uint8_t *bytes;
	knot_err_t err = kasp_get_fixed(txn, kind, zone, 4, &bytes);
	if (err == KNOT_OK) {
		*ret_serial = load_be32(bytes);
	}
	return err;
}

knot_err_t kasp_put_serial(kasp_txn_t *txn, uint8_t kind, knot_name_t zone, uint32_t serial)
{
	uint8_t bytes[4];
	store_be32(bytes, serial);
	return kasp_put_fixed(txn, kind, zone, bytes, sizeof(bytes));
}

knot_err_t kasp_get_ttls(kasp_txn_t *txn, knot_name_t zone, uint32_t *ret_max_s, uint32_t *ret_key_s)
{
	const uint8_t *bytes;
	knot_err_t err = kasp_get_fixed(txn, KASP_TTLS, zone, 8, &bytes);
	if (err == KNOT_OK) {
		*ret_max_s = load_be32(bytes);
		*ret_key_s = load_be32(bytes + 4);
	}
	return err;
}

knot_err_t kasp_put_ttls(kasp_txn_t *txn, knot_name_t zone, uint32_t max_s, uint32_t key_s)
{
	uint8_t bytes[8];
	store_be32(bytes, max_s);
	store_be32(bytes + 4, key_s);
	return kasp_put_fixed(txn, KASP_TTLS, zone, bytes, sizeof(bytes));
}

/* ---- All that is kept of a zone ---- */

static bool kasp_copy_record(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	uint8_t at[KASP_DB_KEY_MAX];
	if (key.len > sizeof(at)) {
		*ret_err = KNOT_EMALF;
		return false;
	}
	memcpy(at, key.data, key.len);
	*ret_err = kasp_put(ctx, at, key.len, value.data, value.len);
	return *ret_err == KNOT_OK;
}

/* What is in use isn't trash. */
static bool kasp_empty_trash_of_record(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	knot_name_t zone;
	const char *id;
	(void)value;
	*ret_err = kasp_db_key_read(key, &zone, &id);
	*ret_err = *ret_err == KNOT_OK ? kasp_empty_trash_of(ctx, id) : *ret_err;
	return *ret_err == KNOT_OK;
}

/* Keys first. */
static const uint8_t zone_kinds[] = { KASP_KEY, KASP_SALT, KASP_SALT_TIME, KASP_PRIMARY_SERIAL, KASP_SIGNED_SERIAL,
	KASP_OFFLINE, KASP_TTLS };

knot_err_t kasp_drop_zone(kasp_txn_t *txn, knot_name_t zone)
{
	uint8_t prefix[KASP_DB_KEY_MAX];
	knot_err_t err = KNOT_OK;
	for (size_t i = 1; i < KNOT_LEN(zone_kinds) && err == KNOT_OK; i++) {
		err = kasp_del_all(txn, prefix, kasp_db_key(zone_kinds[i], zone, NULL, prefix));
	}
	return err;
}

knot_err_t kasp_copy_zone(kasp_txn_t *from, kasp_txn_t *to, knot_name_t zone, bool only_keys)
{
	uint8_t prefix[KASP_DB_KEY_MAX];
	size_t count = only_keys ? 1 : KNOT_LEN(zone_kinds);
	knot_bytes_t first = { 0 };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < count && err == KNOT_OK && first.len == 0; i++) {
		err = kasp_walk(from, prefix, kasp_db_key(zone_kinds[i], zone, NULL, prefix), kasp_note_first, &first);
	}
	err = err == KNOT_OK && first.len == 0 ? KNOT_ENOENT : err;
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		size_t len = kasp_db_key(zone_kinds[i], zone, NULL, prefix);
		err = kasp_del_all(to, prefix, len);
		err = err == KNOT_OK ? kasp_walk(from, prefix, len, kasp_copy_record, to) : err;
	}
	size_t len = kasp_db_key(KASP_KEY, zone, NULL, prefix);
	return err == KNOT_OK ? kasp_walk(from, prefix, len, kasp_empty_trash_of_record, to) : err;
}

/* ---- Records that are signed offline ---- */

enum { KASP_TIME_DIGITS = 20 };

static size_t kasp_offline_key(knot_name_t zone, uint64_t when_s, uint8_t ret_key[static KASP_DB_KEY_MAX])
{
	char digits[KASP_TIME_DIGITS + 1];
	(void)snprintf(digits, sizeof(digits), "%020" PRIu64, when_s);
	return kasp_db_key(KASP_OFFLINE, zone, digits, ret_key);
}

typedef struct {
	kasp_offline_cb visit;
	void *ctx;
} kasp_offlines_t;

static bool kasp_show_offline(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	const kasp_offlines_t *offlines = ctx;
	knot_name_t zone;
	const char *digits;
	uint64_t when_s;
	(void)value;
	*ret_err = kasp_db_key_read(key, &zone, &digits);
	if (*ret_err == KNOT_OK && !knot_number_of(digits, 0, UINT64_MAX, &when_s)) {
		*ret_err = KNOT_EMALF;
	}
	return *ret_err == KNOT_OK && offlines->visit(when_s, offlines->ctx);
}

knot_err_t kasp_each_offline(kasp_txn_t *txn, knot_name_t zone, kasp_offline_cb visit, void *ctx)
{
	uint8_t prefix[KASP_DB_KEY_MAX];
	kasp_offlines_t offlines = { visit, ctx };
	return kasp_walk(txn, prefix, kasp_db_key(KASP_OFFLINE, zone, NULL, prefix), kasp_show_offline, &offlines);
}

knot_err_t kasp_get_offline(kasp_txn_t *txn, knot_name_t zone, uint64_t when_s, kasp_offline_t *ret_offline)
{
	uint8_t key[KASP_DB_KEY_MAX];
	MDB_val value;
	knot_err_t err = kasp_get(txn, key, kasp_offline_key(zone, when_s, key), &value);
	return err == KNOT_OK ? kasp_offline_read((knot_bytes_t){ value.mv_data, value.mv_size }, zone, ret_offline)
			      : err;
}

knot_err_t kasp_put_offline(kasp_txn_t *txn, knot_name_t zone, uint64_t when_s, const kasp_offline_t *offline)
{
	uint8_t key[KASP_DB_KEY_MAX];
	size_t len = kasp_offline_len(offline, zone);
	uint8_t *value = malloc(len);
	if (value == NULL) {
		return KNOT_ENOMEM;
	}
	kasp_offline_write(offline, zone, value);
	knot_err_t err = kasp_put(txn, key, kasp_offline_key(zone, when_s, key), value, len);
	free(value);
	return err;
}

knot_err_t kasp_drop_offline(kasp_txn_t *txn, knot_name_t zone, uint64_t when_s)
{
	uint8_t key[KASP_DB_KEY_MAX];
	return kasp_del(txn, key, kasp_offline_key(zone, when_s, key));
}

/* ---- Trash ---- */

typedef struct {
	kasp_trash_cb visit;
	void *ctx;
} kasp_bin_t;

static bool kasp_show_trash(knot_bytes_t key, knot_bytes_t value, void *ctx, knot_err_t *ret_err)
{
	const kasp_bin_t *bin = ctx;
	knot_name_t zone;
	const char *id;
	kasp_trash_t trash;
	(void)ret_err;
	bool is_good = kasp_db_key_read(key, &zone, &id) == KNOT_OK && kasp_trash_read(id, value, &trash) == KNOT_OK;
	return !is_good || bin->visit(zone, &trash, bin->ctx);
}

knot_err_t kasp_each_trash(kasp_txn_t *txn, kasp_trash_cb visit, void *ctx)
{
	static const uint8_t all[] = { KASP_TRASH };
	kasp_bin_t bin = { visit, ctx };
	return kasp_walk(txn, all, sizeof(all), kasp_show_trash, &bin);
}

knot_err_t kasp_put_trash(kasp_txn_t *txn, knot_name_t zone, const kasp_trash_t *trash)
{
	uint8_t at[KASP_DB_KEY_MAX], value[KASP_TRASH_LEN];
	kasp_trash_write(trash, value);
	return kasp_put(txn, at, kasp_db_trash_key(trash->id, zone, at), value, sizeof(value));
}

knot_err_t kasp_take_trash(
		kasp_txn_t *txn, knot_name_t zone, const char *id, kasp_trash_t *ret_trash, bool *ret_is_used)
{
	uint8_t at[KASP_DB_KEY_MAX];
	MDB_val value;
	knot_err_t err = kasp_get(txn, at, kasp_db_trash_key(id, zone, at), &value);
	err = err == KNOT_OK ? kasp_trash_read(id, (knot_bytes_t){ value.mv_data, value.mv_size }, ret_trash) : err;
	err = err == KNOT_OK ? kasp_del(txn, at, kasp_db_trash_key(id, zone, at)) : err;
	return err == KNOT_OK ? kasp_is_used(txn, id, ret_is_used) : err;
}
