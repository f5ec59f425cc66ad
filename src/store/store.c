/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The value of STORE_KEY_FORMAT. */
typedef struct {
	char magic[8];
	uint32_t byte_order;
	uint16_t format;
	uint8_t word_len;
	uint8_t zero;
} format_t;

static_assert(sizeof(format_t) == 16, "no padding on disk");

static const format_t our_format = { "bowline", 0x01020304, STORE_FORMAT, sizeof(size_t), 0 };

/* ---- Keys ---- */

void store_key_head(knot_name_t zone, store_key_t *ret_key)
{
	assert(zone.len > 0 && zone.len <= KNOT_NAME_MAX);
	ret_key->bytes[0] = STORE_KEY_HEAD;
	ret_key->len = (uint16_t)(1 + knot_name_key(zone, ret_key->bytes + 1));
}

void store_key_piece(uint64_t id, uint32_t number, store_key_t *ret_key)
{
	ret_key->bytes[0] = STORE_KEY_PIECE;
	store_be64(ret_key->bytes + 1, id);
	store_be32(ret_key->bytes + 9, number);
	static_assert(STORE_PIECE_KEY_LEN == 1 + sizeof(id) + sizeof(number), "kind, id, number");
	ret_key->len = STORE_PIECE_KEY_LEN;
}

void store_key_work(uint64_t id, store_key_t *ret_key)
{
	ret_key->bytes[0] = STORE_KEY_WORK;
	store_be64(ret_key->bytes + 1, id);
	ret_key->len = STORE_WORK_KEY_LEN;
}

bool store_key_is_piece(const MDB_val *key, uint64_t *ret_id, uint32_t *ret_number)
{
	const uint8_t *bytes = key->mv_data;
	if (key->mv_size != STORE_PIECE_KEY_LEN || bytes[0] != STORE_KEY_PIECE) {
		return false;
	}
	*ret_id = (uint64_t)load_be32(bytes + 1) << 32 | load_be32(bytes + 5);
	*ret_number = load_be32(bytes + 9);
	return true;
}

/* ---- Opening ---- */

/*
 * LMDB doesn't say where it has mapped the file, but each page has its number in it: so the page with the format's
 * record shows the start of the map. With that, a value's pages can be read from the file, and a failing disk is an
 * error, not a signal.
 */
static void find_map(store_t *store, const void *value)
{
	assert(store->lmdb.page_len != 0 && (store->lmdb.page_len & (store->lmdb.page_len - 1)) == 0);
	const uint8_t *page = (const uint8_t *)((uintptr_t)value & ~(uintptr_t)(store->lmdb.page_len - 1));
	uint64_t number;
	memcpy(&number, page, sizeof(number));
	store->map = page - number * store->lmdb.page_len;
}

static int put_format(store_t *store)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&store->lmdb, 0, &txn);
	if (code != 0) {
		return code;
	}
	uint8_t kind = STORE_KEY_FORMAT;
	MDB_val key = { 1, &kind }, value = { sizeof(our_format), (void *)&our_format };
	code = mdb_put(txn, store->lmdb.dbi, &key, &value, 0);
	if (code != 0) {
		mdb_txn_abort(txn);
		return code;
	}
	return sys_lmdb_commit(&store->lmdb, txn);
}

/* value: sizeof(format_t) bytes. */
static knot_err_t compare_format(const MDB_val *value, store_reason_t *ret_reason)
{
	format_t format;
	memcpy(&format, value->mv_data, sizeof(format));
	if (memcmp(&format, &our_format, sizeof(format)) == 0) {
		return KNOT_OK;
	}
	sys_lmdb_say(ret_reason, "it has another format or byte order");
	return KNOT_ENOTSUP;
}

/* The format's record is missing. A database of ours is then damaged. A database of another program is not ours to set
 * aside. */
static knot_err_t judge_without_format(const store_t *store, MDB_txn *txn, store_reason_t *ret_reason)
{
	MDB_cursor *cursor;
	MDB_val key, value;
	int code = mdb_cursor_open(txn, store->lmdb.dbi, &cursor);
	if (code == 0) {
		code = mdb_cursor_get(cursor, &key, &value, MDB_LAST);
		mdb_cursor_close(cursor);
	}
	if (code != 0) {
		return sys_lmdb_fail(&store->lmdb, code, "opening the database", ret_reason);
	}
	if (*(const uint8_t *)key.mv_data == STORE_KEY_HEAD &&
			store_record_is_one((knot_bytes_t){ value.mv_data, value.mv_size })) {
		sys_lmdb_say(ret_reason, "it has no record of its format");
		return KNOT_EMALF;
	}
	sys_lmdb_say(ret_reason,
			"it is the database of something else, set 'database.image-db' to a folder of its own");
	return KNOT_EEXIST;
}

/* Look at the format's record. KNOT_ENOENT: the environment is empty. */
static knot_err_t read_format(store_t *store, store_reason_t *ret_reason)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&store->lmdb, MDB_RDONLY, &txn);
	if (code != 0) {
		return sys_lmdb_fail(&store->lmdb, code, "opening the database", ret_reason);
	}
	uint8_t kind = STORE_KEY_FORMAT;
	MDB_val key = { 1, &kind }, value;
	MDB_stat stat = { 0 };
	code = mdb_stat(txn, store->lmdb.dbi, &stat);
	if (code == 0) {
		code = mdb_get(txn, store->lmdb.dbi, &key, &value);
	}
	knot_err_t err;
	if (code == 0) {
		err = value.mv_size == sizeof(our_format) ? compare_format(&value, ret_reason)
							  : judge_without_format(store, txn, ret_reason);
		find_map(store, value.mv_data);
	} else if (code == MDB_NOTFOUND && stat.ms_entries == 0) {
		sys_lmdb_say(ret_reason, "it is empty");
		err = KNOT_ENOENT;
	} else if (code == MDB_NOTFOUND) {
		err = judge_without_format(store, txn, ret_reason);
	} else {
		err = sys_lmdb_fail(&store->lmdb, code, "opening the database", ret_reason);
	}
	mdb_txn_abort(txn);
	return err;
}

static knot_err_t open_checked(store_t *store, store_reason_t *ret_reason)
{
	knot_err_t err = sys_lmdb_open(&store->lmdb, ret_reason);
	if (err == KNOT_OK) {
		err = read_format(store, ret_reason);
	}
	if (err == KNOT_ENOENT && !store->lmdb.options.read_only) {
		int code = put_format(store);
		err = code != 0 ? sys_lmdb_fail(&store->lmdb, code, "writing to the new database", ret_reason)
				: read_format(store, ret_reason);
	}
	return err;
}

static knot_err_t open_all(store_t *store, const store_options_t *options, store_reason_t *reason)
{
	knot_err_t err = sys_lmdb_lock(&store->lmdb,
			&(sys_lmdb_options_t){ .path = options->path,
					.item = "database.image-db",
					.size_max = options->size_max,
					.depth = SYS_LMDB_CHECK_PAGES,
					.read_only = options->read_only,
					.is_cache = true },
			reason);
	if (err != KNOT_OK) {
		return err;
	}
	err = open_checked(store, reason);
	if ((err == KNOT_EMALF || err == KNOT_ENOTSUP) && !store->lmdb.options.read_only) {
		err = sys_lmdb_set_aside(&store->lmdb, reason);
		store_reason_t second = { "" };
		if (err == KNOT_OK && (err = open_checked(store, &second)) != KNOT_OK) {
			*reason = second;
		}
	} else if (err == KNOT_OK) {
		reason->text[0] = '\0';
	}
	if (err == KNOT_OK && !store->lmdb.options.read_only) {
		store_reason_t ignored;
		store->has_leftovers = store_remove_leftovers(store, &ignored) != KNOT_OK;
	}
	return err;
}

knot_err_t store_open(const store_options_t *options, store_t **ret_store, store_reason_t *ret_reason)
{
	assert(options->path != NULL && (options->read_only || options->size_max >= STORE_SIZE_MIN));
	store_t *store = calloc(1, sizeof(*store));
	if (store == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	store->format = options->format;
	ret_reason->text[0] = '\0';
	knot_err_t err = open_all(store, options, ret_reason);
	if (err != KNOT_OK) {
		store_close(store);
		return err;
	}
	*ret_store = store;
	return KNOT_OK;
}

void store_close(store_t *take_store)
{
	if (take_store == NULL) {
		return;
	}
	sys_lmdb_close(&take_store->lmdb);
	free(take_store);
}

void store_unmap(const store_t *store)
{
	assert(store->map != NULL);
	/* A failure does no harm: only a count of memory stays larger. */
	(void)madvise((void *)store->map, store->lmdb.map_len, MADV_DONTNEED);
}

/* ---- Room ---- */

store_room_t store_room(const store_t *store)
{
	store_room_t room = { .max = store->lmdb.map_len };
	MDB_txn *txn;
	if (sys_lmdb_begin(&store->lmdb, MDB_RDONLY, &txn) != 0) {
		return room;
	}
	MDB_envinfo info;
	if (mdb_env_info(store->lmdb.env, &info) == 0) {
		room.used = (info.me_last_pgno + 1 - sys_lmdb_free_pages(txn)) * store->lmdb.page_len;
	}
	mdb_txn_abort(txn);
	return room;
}

bool store_source_is(const store_source_t *source, const struct stat *now)
{
	return (uint64_t)now->st_size == source->size && (uint64_t)now->st_ino == source->inode &&
	       now->st_mtim.tv_sec == source->mtime_s && (uint32_t)now->st_mtim.tv_nsec == source->mtime_ns;
}
