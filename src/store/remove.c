/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/internal.h"

#include "libknot/base/assert.h"

#include <stdlib.h>

enum { UNMAP_EVERY = 32 };

int store_delete_pieces(const store_t *store, MDB_txn *txn, uint64_t id, uint32_t number)
{
	assert(!store->lmdb.options.read_only);
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, store->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	store_key_t from;
	store_key_piece(id, number, &from);
	for (unsigned deleted = 1;; deleted++) {
		/* Search again each time: the place of a cursor after a deletion depends on what happened to its page.
		 */
		MDB_val key = store_key_val(&from), value;
		code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
		uint64_t found_id;
		uint32_t found_number;
		if (code != 0 || !store_key_is_piece(&key, &found_id, &found_number) || found_id != id) {
			break;
		}
		code = mdb_cursor_del(cursor, 0);
		if (code != 0) {
			break;
		}
		if (deleted % UNMAP_EVERY == 0) {
			store_unmap(store);
		}
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

/* ---- Leftovers ---- */

/* Saves that did not end: take the first key of kind WORK until there is none. */
static int remove_unended(const store_t *store, MDB_txn *txn)
{
	MDB_cursor *cursor = NULL;
	int code = mdb_cursor_open(txn, store->lmdb.dbi, &cursor);
	while (code == 0) {
		uint8_t kind = STORE_KEY_WORK;
		MDB_val key = { 1, &kind }, value;
		code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
		const uint8_t *bytes = key.mv_data;
		if (code != 0 || key.mv_size != STORE_WORK_KEY_LEN || bytes[0] != STORE_KEY_WORK ||
				value.mv_size != sizeof(uint32_t)) {
			break;
		}
		uint64_t id = (uint64_t)load_be32(bytes + 1) << 32 | load_be32(bytes + 5);
		uint32_t number;
		memcpy(&number, value.mv_data, sizeof(number));
		code = mdb_cursor_del(cursor, 0);
		if (code == 0) {
			code = store_delete_pieces(store, txn, id, number);
		}
	}
	if (cursor != NULL) {
		mdb_cursor_close(cursor);
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

typedef struct {
	uint64_t *ids; /* owned */
	size_t count, max;
} ids_t;

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int add_id(ids_t *ids, uint64_t id)
{
	assert(ids->count <= ids->max);
	if (ids->count == ids->max) {
		size_t max = ids->max * 2 + 64;
		uint64_t *more = realloc(ids->ids, max * sizeof(*more));
		if (more == NULL) {
			return ENOMEM;
		}
		ids->ids = more;
		ids->max = max;
	}
	ids->ids[ids->count++] = id;
	return 0;
}

/* The ids of images that have pieces, ascending. Records that can't be read have none. */
static int collect_ids(MDB_cursor *cursor, ids_t *ids)
{
	uint8_t kind = STORE_KEY_HEAD;
	MDB_val key = { 1, &kind }, value;
	int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	for (; code == 0 && *(const uint8_t *)key.mv_data == STORE_KEY_HEAD;
			code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
		void *copy = malloc(value.mv_size + 1);
		if (copy == NULL) {
			return ENOMEM;
		}
		memcpy(copy, value.mv_data, value.mv_size);
		store_record_t record;
		const char *what;
		bool has = store_record_read((knot_bytes_t){ copy, value.mv_size }, &record, &what) == KNOT_OK &&
			   record.piece_count > 0;
		free(copy);
		if (has && add_id(ids, record.id) != 0) {
			return ENOMEM;
		}
	}
	if (ids->count > 0) {
		qsort(ids->ids, ids->count, sizeof(*ids->ids), compare_ids);
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

static bool ids_are_sorted(const ids_t *ids)
{
	for (size_t i = 1; i < ids->count; i++) {
		if (ids->ids[i - 1] > ids->ids[i]) {
			return false;
		}
	}
	return true;
}

/* Delete pieces whose id is none of these. */
static int sweep_pieces(const store_t *store, MDB_txn *txn, MDB_cursor *cursor, const ids_t *ids)
{
	KNOT_ASSERT_SLOW(ids_are_sorted(ids));
	uint64_t id = 0;
	for (;;) {
		store_key_t from;
		store_key_piece(id, 0, &from);
		MDB_val key = store_key_val(&from), value;
		int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
		uint32_t number;
		if (code != 0 || !store_key_is_piece(&key, &id, &number)) {
			return code == MDB_NOTFOUND ? 0 : code;
		}
		if (ids->count == 0 || bsearch(&id, ids->ids, ids->count, sizeof(*ids->ids), compare_ids) == NULL) {
			code = store_delete_pieces(store, txn, id, 0);
			if (code != 0) {
				return code;
			}
		}
		if (++id == 0) {
			return 0;
		}
	}
}

static int sweep(const store_t *store, MDB_txn *txn)
{
	uint8_t kind = STORE_KEY_SWEEP;
	MDB_val key = { 1, &kind };
	int code = mdb_del(txn, store->lmdb.dbi, &key, NULL);
	if (code != 0) {
		return code == MDB_NOTFOUND ? 0 : code;
	}
	MDB_cursor *cursor;
	code = mdb_cursor_open(txn, store->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	ids_t ids = { 0 };
	code = collect_ids(cursor, &ids);
	if (code == 0) {
		code = sweep_pieces(store, txn, cursor, &ids);
	}
	free(ids.ids);
	mdb_cursor_close(cursor);
	return code;
}

knot_err_t store_remove_leftovers(store_t *store, store_reason_t *ret_reason)
{
	assert(!store->lmdb.options.read_only);
	MDB_txn *txn;
	int code = sys_lmdb_begin(&store->lmdb, 0, &txn);
	if (code != 0) {
		return sys_lmdb_fail(&store->lmdb, code, "removing what an interrupted save left", ret_reason);
	}
	code = remove_unended(store, txn);
	if (code == 0) {
		code = sweep(store, txn);
	}
	if (code == 0) {
		code = sys_lmdb_commit(&store->lmdb, txn);
	} else {
		mdb_txn_abort(txn);
	}
	return code == 0 ? KNOT_OK
			 : sys_lmdb_fail(&store->lmdb, code, "removing what an interrupted save left", ret_reason);
}

/* ---- Images of zones ---- */

enum { REMOVE_PER_TXN = 4096 };

/* A record that can't be read is removed here. The id of its pieces is unknown: the next sweep removes them. */
static int remove_one(store_t *store, MDB_txn *txn, knot_name_t zone, size_t *removed)
{
	void *copy;
	store_record_t record;
	const char *what;
	int code = 0;
	knot_err_t err = store_load_record(store, txn, zone, &copy, &record, &what, &code);
	if (err == KNOT_ENOENT) {
		return code == MDB_NOTFOUND ? 0 : code;
	}
	if (err == KNOT_ENOMEM) {
		return ENOMEM;
	}
	if (err == KNOT_OK) {
		code = record.piece_count > 0 ? store_delete_pieces(store, txn, record.id, 0) : 0;
		free(copy);
	} else {
		uint8_t kind = STORE_KEY_SWEEP;
		code = mdb_put(txn, store->lmdb.dbi, &(MDB_val){ 1, &kind }, &(MDB_val){ 1, &kind }, 0);
		store->has_leftovers = true;
	}
	if (code == 0) {
		store_key_t head_key;
		store_key_head(zone, &head_key);
		MDB_val key = store_key_val(&head_key);
		code = mdb_del(txn, store->lmdb.dbi, &key, NULL);
		*removed += code == 0;
	}
	return code;
}

static int remove_group(store_t *store, const knot_name_t *zones, size_t count, size_t *ret_removed)
{
	MDB_txn *txn;
	int code = sys_lmdb_begin(&store->lmdb, 0, &txn);
	if (code != 0) {
		return code;
	}
	*ret_removed = 0;
	for (size_t i = 0; code == 0 && i < count; i++) {
		code = remove_one(store, txn, zones[i], ret_removed);
	}
	if (code != 0) {
		mdb_txn_abort(txn);
		return code;
	}
	return sys_lmdb_commit(&store->lmdb, txn);
}

knot_err_t store_remove(
		store_t *store, const knot_name_t *zones, size_t count, size_t *ret_removed, store_reason_t *ret_reason)
{
	assert(!store->lmdb.options.read_only);
	size_t all = 0;
	for (size_t done = 0; done < count;) {
		size_t some = count - done < REMOVE_PER_TXN ? count - done : REMOVE_PER_TXN, removed;
		int code = remove_group(store, zones + done, some, &removed);
		if (code != 0) {
			return sys_lmdb_fail(&store->lmdb, code, "removing zone images", ret_reason);
		}
		all += removed;
		done += some;
	}
	ret_reason->text[0] = '\0';
	*ret_removed = all;
	return KNOT_OK;
}
