/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/timers/timer_db.h"

#include "src/sys/lock.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct timer_db {
	sys_mutex_t lock; /* while it is being opened */
	char *path;       /* owned; in `options`, too */
	sys_lmdb_options_t options;
	sys_lmdb_t lmdb;
	atomic_bool is_open; /* `lmdb` may be used; never again false */
};

struct timer_write {
	timer_db_t *db;
	MDB_txn *txn;
	int code; /* the first failure, LMDB's or errno */
};

static const char writing[] = "writing to the timer database";

timer_db_t *timer_db_new(const char *path, uint64_t size_max, unsigned how)
{
	timer_db_t *db = calloc(1, sizeof(*db));
	char *kept = strdup(path);
	if (db == NULL || kept == NULL) {
		free(db);
		free(kept);
		return NULL;
	}
	sys_mutex_init(&db->lock);
	db->path = kept;
	/* A start reads the record of every zone, so a look at all pages reads nothing that isn't read then. */
	db->options = (sys_lmdb_options_t){ .path = kept,
		.item = "database.timer-db",
		.size_max = size_max,
		.depth = SYS_LMDB_CHECK_PAGES,
		.read_only = (how & TIMER_DB_READ_ONLY) != 0,
		.flags = (how & TIMER_DB_UNSYNCED) != 0 ? MDB_NOSYNC : 0 };
	return db;
}

void timer_db_close(timer_db_t *take_db)
{
	if (take_db != NULL) {
		sys_lmdb_close(&take_db->lmdb);
		sys_mutex_done(&take_db->lock);
		free(take_db->path);
		free(take_db);
	}
}

/* ---- Opening ---- */

static bool timer_is_there(const timer_db_t *db)
{
	int dir_fd = open(db->options.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_there = dir_fd >= 0 && faccessat(dir_fd, "data.mdb", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (dir_fd >= 0) {
		(void)close(dir_fd);
	}
	return is_there;
}

static knot_err_t timer_open_file(timer_db_t *db, sys_lmdb_reason_t *ret_reason)
{
	knot_err_t err = sys_lmdb_open(&db->lmdb, ret_reason);
	if ((err != KNOT_EMALF && err != KNOT_ENOTSUP) || db->options.read_only) {
		return err;
	}
	sys_lmdb_reason_t second;
	err = sys_lmdb_set_aside(&db->lmdb, ret_reason);
	if (err == KNOT_OK && (err = sys_lmdb_open(&db->lmdb, &second)) != KNOT_OK) {
		*ret_reason = second;
	}
	return err;
}

static knot_err_t timer_open(timer_db_t *db, bool may_make, sys_lmdb_reason_t *ret_reason) SYS_REQUIRES(db->lock)
{
	ret_reason->text[0] = '\0';
	if (atomic_load_explicit(&db->is_open, memory_order_acquire)) {
		return KNOT_OK;
	}
	if (!may_make && !timer_is_there(db)) {
		sys_lmdb_say(ret_reason, "there is none");
		return KNOT_ENOENT;
	}
	knot_err_t err = sys_lmdb_lock(&db->lmdb, &db->options, ret_reason);
	err = err == KNOT_OK ? timer_open_file(db, ret_reason) : err;
	if (err == KNOT_OK) {
		atomic_store_explicit(&db->is_open, true, memory_order_release);
	} else {
		sys_lmdb_close(&db->lmdb);
	}
	return err;
}

knot_err_t timer_db_open(timer_db_t *db, sys_lmdb_reason_t *ret_reason)
{
	sys_mutex_lock(&db->lock);
	knot_err_t err = timer_open(db, false, ret_reason);
	sys_mutex_unlock(&db->lock);
	return err;
}

/* ---- Records ---- */

static MDB_val timer_key(knot_name_t zone, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_lower(zone, wire);
	return (MDB_val){ zone.len, wire };
}

/* The record of a zone. KNOT_ENOENT: none, KNOT_EMALF: damaged; else *ret_code says more. */
static knot_err_t timer_load(
		const timer_db_t *db, MDB_txn *txn, knot_name_t zone, timer_record_t *ret_record, int *ret_code)
{
	uint8_t wire[KNOT_NAME_MAX];
	MDB_val key = timer_key(zone, wire), value;
	*ret_code = mdb_get(txn, db->lmdb.dbi, &key, &value);
	if (*ret_code != 0) {
		return *ret_code == MDB_NOTFOUND ? KNOT_ENOENT : KNOT_EFILE;
	}
	return timer_record_read((knot_bytes_t){ value.mv_data, value.mv_size }, ret_record);
}

knot_err_t timer_db_read_record(timer_db_t *db, knot_name_t zone, timer_record_t *ret_record)
{
	if (!atomic_load_explicit(&db->is_open, memory_order_acquire)) {
		return KNOT_ENOENT;
	}
	MDB_txn *txn;
	sys_lmdb_reason_t ignored;
	int code = sys_lmdb_begin(&db->lmdb, MDB_RDONLY, &txn);
	if (code != 0) {
		return sys_lmdb_fail(&db->lmdb, code, "", &ignored);
	}
	knot_err_t err = timer_load(db, txn, zone, ret_record, &code);
	mdb_txn_abort(txn);
	return err;
}

knot_err_t timer_db_read(timer_db_t *db, knot_name_t zone, timer_values_t *ret_values)
{
	timer_record_t record;
	knot_err_t err = timer_db_read_record(db, zone, &record);
	if (err == KNOT_OK) {
		*ret_values = record.values;
	}
	return err;
}

/* ---- Writing ---- */

knot_err_t timer_db_begin(timer_db_t *db, timer_write_t **ret_write, sys_lmdb_reason_t *ret_reason)
{
	timer_write_t *write = calloc(1, sizeof(*write));
	if (write == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	sys_mutex_lock(&db->lock);
	knot_err_t err = timer_open(db, true, ret_reason);
	sys_mutex_unlock(&db->lock);
	int code = err == KNOT_OK ? sys_lmdb_begin(&db->lmdb, 0, &write->txn) : 0;
	if (code != 0) {
		err = sys_lmdb_fail(&db->lmdb, code, writing, ret_reason);
	}
	if (err != KNOT_OK) {
		free(write);
		return err;
	}
	write->db = db;
	*ret_write = write;
	return KNOT_OK;
}

static knot_err_t timer_note(timer_write_t *write, int code)
{
	sys_lmdb_reason_t ignored;
	if (code != 0 && write->code == 0) {
		write->code = code;
	}
	return code == 0 ? KNOT_OK : sys_lmdb_fail(&write->db->lmdb, code, writing, &ignored);
}

/* Store a record, if it isn't stored already. */
static int timer_store(timer_write_t *write, knot_name_t zone, const timer_record_t *record)
{
	uint8_t wire[KNOT_NAME_MAX], bytes[TIMER_RECORD_MAX];
	MDB_val key = timer_key(zone, wire), old, value = { timer_record_write(record, bytes), bytes };
	if (value.mv_size == 0) {
		int code = mdb_del(write->txn, write->db->lmdb.dbi, &key, NULL);
		return code == MDB_NOTFOUND ? 0 : code;
	}
	int code = mdb_get(write->txn, write->db->lmdb.dbi, &key, &old);
	if (code == 0 && old.mv_size == value.mv_size && memcmp(old.mv_data, bytes, old.mv_size) == 0) {
		return 0;
	}
	return code == 0 || code == MDB_NOTFOUND ? mdb_put(write->txn, write->db->lmdb.dbi, &key, &value, 0) : code;
}

knot_err_t timer_write_put(timer_write_t *write, knot_name_t zone, const timer_values_t *values, uint32_t mask)
{
	timer_record_t record;
	int code;
	knot_err_t err = timer_load(write->db, write->txn, zone, &record, &code);
	if (err == KNOT_ENOENT || err == KNOT_EMALF) {
		record = (timer_record_t){ 0 };
	} else if (err != KNOT_OK) {
		return timer_note(write, code);
	}
	timer_record_set(&record, values, mask);
	return timer_note(write, timer_store(write, zone, &record));
}

knot_err_t timer_write_record(timer_write_t *write, knot_name_t zone, const timer_record_t *record)
{
	return timer_note(write, timer_store(write, zone, record));
}

knot_err_t timer_write_drop(timer_write_t *write, knot_name_t zone, bool *ret_found)
{
	uint8_t wire[KNOT_NAME_MAX];
	MDB_val key = timer_key(zone, wire);
	int code = mdb_del(write->txn, write->db->lmdb.dbi, &key, NULL);
	bool is_found = code == 0;
	knot_err_t err = timer_note(write, code == MDB_NOTFOUND ? 0 : code);
	if (err == KNOT_OK && ret_found != NULL) {
		*ret_found = is_found;
	}
	return err;
}

knot_err_t timer_write_commit(timer_write_t *take_write, sys_lmdb_reason_t *ret_reason)
{
	assert(take_write->code == 0);
	sys_lmdb_t *lmdb = &take_write->db->lmdb;
	int code = sys_lmdb_commit(lmdb, take_write->txn);
	free(take_write);
	return code == 0 ? KNOT_OK : sys_lmdb_fail(lmdb, code, writing, ret_reason);
}

void timer_write_discard(timer_write_t *take_write, sys_lmdb_reason_t *ret_reason)
{
	ret_reason->text[0] = '\0';
	if (take_write == NULL) {
		return;
	}
	mdb_txn_abort(take_write->txn);
	if (take_write->code != 0) {
		(void)sys_lmdb_fail(&take_write->db->lmdb, take_write->code, writing, ret_reason);
	}
	free(take_write);
}

/* ---- Removing ---- */

/* Keys that aren't names belong to no zone. */
static bool timer_is_dropped(const MDB_val *key, bool (*is_dropped)(knot_name_t zone, void *ctx), void *ctx)
{
	knot_name_t zone;
	knot_bytes_t bytes = { key->mv_data, key->mv_size };
	return knot_name_read(bytes, &zone) == KNOT_OK && zone.len == key->mv_size && is_dropped(zone, ctx);
}

static int timer_drop_all(
		timer_write_t *write, bool (*is_dropped)(knot_name_t zone, void *ctx), void *ctx, size_t *count)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	int code = mdb_cursor_open(write->txn, write->db->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	while ((code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		if (timer_is_dropped(&key, is_dropped, ctx)) {
			/* The cursor is then at the next record, which LMDB's MDB_NEXT knows. */
			if ((code = mdb_cursor_del(cursor, 0)) != 0) {
				break;
			}
			++*count;
		}
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

knot_err_t timer_db_drop_if(timer_db_t *db, bool (*is_dropped)(knot_name_t zone, void *ctx), void *ctx,
		size_t *ret_count, sys_lmdb_reason_t *ret_reason)
{
	size_t count = 0;
	timer_write_t *write;
	if (!atomic_load_explicit(&db->is_open, memory_order_acquire)) {
		*ret_count = 0;
		return KNOT_OK;
	}
	knot_err_t err = timer_db_begin(db, &write, ret_reason);
	if (err != KNOT_OK) {
		return err;
	}
	err = timer_note(write, timer_drop_all(write, is_dropped, ctx, &count));
	if (err != KNOT_OK) {
		timer_write_discard(write, ret_reason);
		return err;
	}
	err = timer_write_commit(write, ret_reason);
	if (err == KNOT_OK) {
		*ret_count = count;
	}
	return err;
}
