/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/catalog/catalog_db.h"

#include "src/sys/lock.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct catalog_db {
	sys_mutex_t lock; /* while it is being opened */
	char *path;       /* owned; in `options`, too */
	sys_lmdb_options_t options;
	sys_lmdb_t lmdb;
	atomic_bool is_open; /* `lmdb` may be used; never again false */
};

struct catalog_write {
	catalog_db_t *db;
	MDB_txn *txn;
	int code; /* the first failure, LMDB's or errno */
};

static const char writing[] = "writing to the catalog database", reading[] = "reading the catalog database";

/* The first byte of a key and of a value. */
enum { KEY_MEMBER = 0, KEY_META = 1, VALUE_MEMBER = 0 };

static char version_key[] = "\1version", version_value[] = "1.0";
enum { VERSION_KEY_LEN = sizeof(version_key) - 1, VERSION_VALUE_LEN = sizeof(version_value) - 1 };

catalog_db_t *catalog_db_new(const catalog_db_params_t *params)
{
	catalog_db_t *db = calloc(1, sizeof(*db));
	char *kept = strdup(params->path);
	if (db == NULL || kept == NULL) {
		free(db);
		free(kept);
		return NULL;
	}
	sys_mutex_init(&db->lock);
	db->path = kept;
	/* A start reads all members, so a look at all pages reads nothing that isn't read then. */
	db->options = (sys_lmdb_options_t){ .path = kept,
		.item = "database.catalog-db",
		.size_max = params->size_max,
		.depth = SYS_LMDB_CHECK_PAGES,
		.read_only = params->read_only };
	return db;
}

void catalog_db_close(catalog_db_t *take_db)
{
	if (take_db != NULL) {
		sys_lmdb_close(&take_db->lmdb);
		sys_mutex_done(&take_db->lock);
		free(take_db->path);
		free(take_db);
	}
}

/* ---- Opening ---- */

static bool catalog_is_there(const catalog_db_t *db)
{
	int dir_fd = open(db->options.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_there = dir_fd >= 0 && faccessat(dir_fd, "data.mdb", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	if (dir_fd >= 0) {
		(void)close(dir_fd);
	}
	return is_there;
}

static knot_err_t catalog_open_file(catalog_db_t *db, sys_lmdb_reason_t *ret_reason)
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

/* A database of a later layout is neither read nor written. */
static knot_err_t catalog_check_version(catalog_db_t *db, sys_lmdb_reason_t *ret_reason)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&db->lmdb, MDB_RDONLY, &txn);
	if (code != 0) {
		return sys_lmdb_fail(&db->lmdb, code, reading, ret_reason);
	}
	MDB_val key = { VERSION_KEY_LEN, version_key }, value;
	code = mdb_get(txn, db->lmdb.dbi, &key, &value);
	bool is_ours = code == MDB_NOTFOUND ||
		       (code == 0 && value.mv_size >= 2 && memcmp(value.mv_data, version_value, 2) == 0);
	mdb_txn_abort(txn);
	if (code != 0 && code != MDB_NOTFOUND) {
		return sys_lmdb_fail(&db->lmdb, code, reading, ret_reason);
	}
	if (!is_ours) {
		sys_lmdb_say(ret_reason, "the catalog database is of another version than 1, move it away");
		return KNOT_ENOTSUP;
	}
	return KNOT_OK;
}

static knot_err_t catalog_open(catalog_db_t *db, bool may_make, sys_lmdb_reason_t *ret_reason) SYS_REQUIRES(db->lock)
{
	ret_reason->text[0] = '\0';
	if (atomic_load_explicit(&db->is_open, memory_order_acquire)) {
		return KNOT_OK;
	}
	if (!may_make && !catalog_is_there(db)) {
		sys_lmdb_say(ret_reason, "there is none");
		return KNOT_ENOENT;
	}
	knot_err_t err = sys_lmdb_lock(&db->lmdb, &db->options, ret_reason);
	err = err == KNOT_OK ? catalog_open_file(db, ret_reason) : err;
	err = err == KNOT_OK ? catalog_check_version(db, ret_reason) : err;
	if (err == KNOT_OK) {
		atomic_store_explicit(&db->is_open, true, memory_order_release);
	} else {
		sys_lmdb_close(&db->lmdb);
	}
	return err;
}

knot_err_t catalog_db_open(catalog_db_t *db, sys_lmdb_reason_t *ret_reason)
{
	sys_mutex_lock(&db->lock);
	knot_err_t err = catalog_open(db, false, ret_reason);
	sys_mutex_unlock(&db->lock);
	return err;
}

/* ---- Records ---- */

typedef struct {
	uint8_t bytes[1 + KNOT_NAME_MAX];
} catalog_key_t;

static MDB_val catalog_key_of(knot_name_t member, catalog_key_t *key)
{
	key->bytes[0] = KEY_MEMBER;
	knot_name_lower(member, key->bytes + 1);
	return (MDB_val){ 1u + member.len, key->bytes };
}

/* A name that is stored in lower case at the start of bytes. */
static bool catalog_read_name(knot_bytes_t bytes, knot_name_t *ret_name)
{
	uint8_t lower[KNOT_NAME_MAX];
	if (knot_name_read(bytes, ret_name) != KNOT_OK) {
		return false;
	}
	knot_name_lower(*ret_name, lower);
	return memcmp(lower, ret_name->wire, ret_name->len) == 0;
}

/* How many labels are in the first `len` bytes of a name; 0: none, or that is no border of labels. */
static unsigned catalog_labels_before(knot_name_t name, size_t len)
{
	unsigned count = 0;
	size_t pos = 0;
	while (pos < len && name.wire[pos] != 0) {
		pos += 1u + name.wire[pos];
		count++;
	}
	return pos == len ? count : 0;
}

/* A record of a member as LMDB has it: nothing of it is trusted. False: it isn't one. */
static bool catalog_record_read(knot_bytes_t key, knot_bytes_t value, catalog_record_t *ret_record)
{
	catalog_record_t record = { 0 };
	catalog_member_t *entry = &record.entry;
	knot_bytes_t name = { key.data + 1, key.len - 1 };
	if (!catalog_read_name(name, &entry->member) || entry->member.len != name.len || value.len < 2 ||
			value.data[0] != VALUE_MEMBER) {
		return false;
	}
	knot_bytes_t rest = { value.data + 2, value.len - 2 };
	if (!catalog_read_name(rest, &entry->owner)) {
		return false;
	}
	unsigned labels = catalog_labels_before(entry->owner, value.data[1]);
	knot_bytes_t group = { rest.data + entry->owner.len, rest.len - entry->owner.len };
	/* Group and NUL; a group that has a NUL itself was cut there. */
	if (labels == 0 || group.len == 0 || group.len > CATALOG_GROUP_MAX + 1 ||
			memchr(group.data, '\0', group.len) != group.data + group.len - 1) {
		return false;
	}
	entry->group = (knot_bytes_t){ group.data, group.len - 1 };
	record.catalog = knot_name_strip(entry->owner, labels);
	*ret_record = record;
	return true;
}

/* Move a record to memory of the caller. */
static void catalog_record_keep(catalog_record_t *record, catalog_record_room_t *room)
{
	catalog_member_t *entry = &record->entry;
	uint8_t *to = room->bytes;
	unsigned labels = entry->owner.label_count - record->catalog.label_count;
	memcpy(to, entry->member.wire, entry->member.len);
	entry->member.wire = to;
	to += entry->member.len;
	memcpy(to, entry->owner.wire, entry->owner.len);
	entry->owner.wire = to;
	to += entry->owner.len;
	if (entry->group.len > 0) {
		memcpy(to, entry->group.data, entry->group.len);
	}
	entry->group.data = to;
	record->catalog = knot_name_strip(entry->owner, labels);
}

knot_err_t catalog_db_read(
		catalog_db_t *db, knot_name_t member, catalog_record_room_t *room, catalog_record_t *ret_record)
{
	if (!atomic_load_explicit(&db->is_open, memory_order_acquire)) {
		return KNOT_ENOENT;
	}
	MDB_txn *txn;
	sys_lmdb_reason_t ignored;
	int code = sys_lmdb_begin(&db->lmdb, MDB_RDONLY, &txn);
	if (code != 0) {
		return sys_lmdb_fail(&db->lmdb, code, reading, &ignored);
	}
	catalog_key_t bytes;
	catalog_record_t record;
	MDB_val key = catalog_key_of(member, &bytes), value;
	code = mdb_get(txn, db->lmdb.dbi, &key, &value);
	knot_err_t err = code == MDB_NOTFOUND ? KNOT_ENOENT : KNOT_OK;
	if (code == 0 && !catalog_record_read((knot_bytes_t){ key.mv_data, key.mv_size },
					 (knot_bytes_t){ value.mv_data, value.mv_size }, &record)) {
		err = KNOT_EMALF;
	}
	if (code == 0 && err == KNOT_OK) {
		catalog_record_keep(&record, room);
		*ret_record = record;
	}
	mdb_txn_abort(txn);
	return code == 0 || code == MDB_NOTFOUND ? err : sys_lmdb_fail(&db->lmdb, code, reading, &ignored);
}

static int catalog_visit_all(const catalog_db_t *db, MDB_txn *txn, catalog_record_cb visit, void *ctx, size_t *damaged)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	int code = mdb_cursor_open(txn, db->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	bool goes_on = true;
	while (goes_on && (code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
		const uint8_t *kind = key.mv_data;
		catalog_record_t record;
		if (key.mv_size > 0 && *kind == KEY_META) {
			continue;
		}
		if (key.mv_size > 0 && *kind == KEY_MEMBER &&
				catalog_record_read((knot_bytes_t){ key.mv_data, key.mv_size },
						(knot_bytes_t){ value.mv_data, value.mv_size }, &record)) {
			goes_on = visit(&record, ctx);
		} else {
			++*damaged;
		}
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

knot_err_t catalog_db_each(catalog_db_t *db, catalog_record_cb visit, void *ctx, size_t *ret_damaged,
		sys_lmdb_reason_t *ret_reason)
{
	size_t damaged = 0;
	if (!atomic_load_explicit(&db->is_open, memory_order_acquire)) {
		*ret_damaged = 0;
		return KNOT_OK;
	}
	MDB_txn *txn;
	int code = sys_lmdb_begin(&db->lmdb, MDB_RDONLY, &txn);
	if (code == 0) {
		code = catalog_visit_all(db, txn, visit, ctx, &damaged);
		mdb_txn_abort(txn);
	}
	if (code != 0) {
		return sys_lmdb_fail(&db->lmdb, code, reading, ret_reason);
	}
	*ret_damaged = damaged;
	return KNOT_OK;
}

/* ---- Writing ---- */

static knot_err_t catalog_note_code(catalog_write_t *write, int code)
{
	sys_lmdb_reason_t ignored;
	if (code != 0 && write->code == 0) {
		write->code = code;
	}
	return code == 0 ? KNOT_OK : sys_lmdb_fail(&write->db->lmdb, code, writing, &ignored);
}

static int catalog_put_version(const catalog_write_t *write)
{
	MDB_val key = { VERSION_KEY_LEN, version_key }, value = { VERSION_VALUE_LEN, version_value };
	int code = mdb_put(write->txn, write->db->lmdb.dbi, &key, &value, MDB_NOOVERWRITE);
	return code == MDB_KEYEXIST ? 0 : code;
}

knot_err_t catalog_db_begin(catalog_db_t *db, catalog_write_t **ret_write, sys_lmdb_reason_t *ret_reason)
{
	assert(!db->options.read_only);
	catalog_write_t *write = calloc(1, sizeof(*write));
	if (write == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	write->db = db;
	sys_mutex_lock(&db->lock);
	knot_err_t err = catalog_open(db, true, ret_reason);
	sys_mutex_unlock(&db->lock);
	int code = err == KNOT_OK ? sys_lmdb_begin(&db->lmdb, 0, &write->txn) : 0;
	if (err == KNOT_OK && code == 0 && (code = catalog_put_version(write)) != 0) {
		mdb_txn_abort(write->txn);
	}
	if (code != 0) {
		err = sys_lmdb_fail(&db->lmdb, code, writing, ret_reason);
	}
	if (err != KNOT_OK) {
		free(write);
		return err;
	}
	*ret_write = write;
	return KNOT_OK;
}

knot_err_t catalog_write_put(catalog_write_t *write, const catalog_record_t *record)
{
	const catalog_member_t *entry = &record->entry;
	assert(entry->owner.len > record->catalog.len && entry->group.len <= CATALOG_GROUP_MAX);
	catalog_key_t bytes;
	uint8_t packed[2 + KNOT_NAME_MAX + CATALOG_GROUP_MAX + 1];
	size_t group_len = entry->group.len > 0 ? strnlen((const char *)entry->group.data, entry->group.len) : 0;
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ packed, sizeof(packed) });
	knot_write_u8(&w, VALUE_MEMBER);
	knot_write_u8(&w, (uint8_t)(entry->owner.len - record->catalog.len));
	knot_name_lower(entry->owner, knot_write_room(&w, entry->owner.len));
	knot_write(&w, entry->group.data, group_len);
	knot_write_u8(&w, 0);
	assert(!w.failed);
	MDB_val key = catalog_key_of(entry->member, &bytes);
	MDB_val value = { 2u + entry->owner.len + group_len + 1u, packed };
	return catalog_note_code(write, mdb_put(write->txn, write->db->lmdb.dbi, &key, &value, 0));
}

knot_err_t catalog_write_drop(catalog_write_t *write, knot_name_t member)
{
	catalog_key_t bytes;
	MDB_val key = catalog_key_of(member, &bytes);
	int code = mdb_del(write->txn, write->db->lmdb.dbi, &key, NULL);
	return catalog_note_code(write, code == MDB_NOTFOUND ? 0 : code);
}

knot_err_t catalog_write_commit(catalog_write_t *take_write, sys_lmdb_reason_t *ret_reason)
{
	assert(take_write->code == 0);
	sys_lmdb_t *lmdb = &take_write->db->lmdb;
	int code = sys_lmdb_commit(lmdb, take_write->txn);
	free(take_write);
	return code == 0 ? KNOT_OK : sys_lmdb_fail(lmdb, code, writing, ret_reason);
}

void catalog_write_discard(catalog_write_t *take_write, sys_lmdb_reason_t *ret_reason)
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
