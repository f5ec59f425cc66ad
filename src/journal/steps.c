/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of a transaction that writes: each returns a code of LMDB. */
#include "src/journal/internal.h"

#include <assert.h>

int journal_begin_zone(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *ret_meta)
{
	bool damaged;
	*ret_meta = (journal_meta_t){ 0 };
	int code = journal_load_meta(journal, txn, zone, ret_meta, &damaged);
	if (ret_meta->next == 0) {
		ret_meta->next = 1;
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

int journal_save_meta(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_meta_t *meta)
{
	journal_key_t meta_key;
	uint8_t bytes[JOURNAL_META_LEN];
	journal_key(zone, JOURNAL_KEY_META, 0, 0, &meta_key);
	MDB_val key = journal_val(&meta_key), value = { sizeof(bytes), bytes };
	journal_meta_write(meta, journal_bytes(&key), bytes);
	return mdb_put(txn, journal->lmdb.dbi, &key, &value, 0);
}

int journal_put_pieces(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry,
		uint32_t first, uint32_t end)
{
	size_t len = entry->change.payload.len, each = JOURNAL_PIECE_MAX - JOURNAL_CHECKSUM_LEN;
	journal_key_t at;
	journal_key(zone, JOURNAL_KEY_PIECE, entry->number, 0, &at);
	for (uint32_t i = first; i < end; i++) {
		size_t from = i * each;
		knot_bytes_t bytes = { entry->change.payload.data + from, len - from < each ? len - from : each };
		journal_key_change(&at, JOURNAL_KEY_PIECE, entry->number, journal_part(entry->series, i));
		MDB_val key = journal_val(&at), value = { JOURNAL_CHECKSUM_LEN + bytes.len, NULL };
		int code = mdb_put(txn, journal->lmdb.dbi, &key, &value, MDB_RESERVE);
		if (code != 0) {
			return code;
		}
		journal_piece_write(bytes, (knot_bytes_t){ at.bytes, at.len }, value.mv_data);
	}
	return 0;
}

int journal_put_head(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry,
		uint64_t *ret_cost)
{
	static const journal_key_kind_t kinds[] = {
		[JOURNAL_STEP] = JOURNAL_KEY_CHANGE,
		[JOURNAL_MERGED] = JOURNAL_KEY_CHANGE,
		[JOURNAL_WHOLE] = JOURNAL_KEY_WHOLE,
		[JOURNAL_NOTE] = JOURNAL_KEY_NOTE,
	};
	journal_key_t at;
	journal_key(zone, kinds[entry->kind], entry->number, 0, &at);
	MDB_val key = journal_val(&at), value = { journal_head_len(entry), NULL };
	*ret_cost = journal_cost(entry, at.len);
	int code = mdb_put(txn, journal->lmdb.dbi, &key, &value, MDB_RESERVE);
	if (code == 0) {
		journal_head_write(entry, (knot_bytes_t){ at.bytes, at.len }, value.mv_data);
	}
	return code;
}

int journal_delete_range(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_key_kind_t kind,
		uint64_t number, uint64_t end)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	MDB_val key, value;
	while ((code = journal_seek(cursor, zone, kind, number, &key, &value)) == 0) {
		knot_name_t name;
		journal_key_kind_t found;
		if (!journal_key_read(journal_bytes(&key), &name, &found, &number) || number >= end) {
			break;
		}
		code = mdb_cursor_del(cursor, 0);
		if (code != 0) {
			break;
		}
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

int journal_delete_changes(const journal_t *journal, MDB_txn *txn, knot_name_t zone, uint64_t number, uint64_t end)
{
	int code = journal_delete_range(journal, txn, zone, JOURNAL_KEY_CHANGE, number, end);
	return code != 0 ? code : journal_delete_range(journal, txn, zone, JOURNAL_KEY_PIECE, number, end);
}

int journal_delete_whole(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *meta)
{
	int code = journal_delete_range(journal, txn, zone, JOURNAL_KEY_WHOLE, 0, UINT64_MAX);
	if (code == 0 && meta->whole != 0) {
		code = journal_delete_range(journal, txn, zone, JOURNAL_KEY_PIECE, meta->whole, meta->whole + 1);
	}
	meta->flags &= ~(uint32_t)JOURNAL_HAS_WHOLE;
	meta->whole = 0;
	return code;
}

/*
 * Keep some of the map free, so that small changes of a full one succeed: noting a flush, dropping what was flushed.
 * The free pages are counted only when the file has nearly its full size.
 */
bool journal_has_room(const journal_t *journal, uint64_t cost)
{
	enum {
		RESERVE_PAGES = 32,
		RESERVE_PART = 256
	}; /* of the map: lists of free pages need 8 bytes for each page */
	uint64_t page_len = journal->lmdb.page_len, pages = journal->lmdb.map_len / page_len;
	uint64_t wanted = cost / page_len + RESERVE_PAGES + pages / RESERVE_PART;
	MDB_envinfo info;
	if (mdb_env_info(journal->lmdb.env, &info) != 0) {
		return false;
	}
	uint64_t used = info.me_last_pgno + 1;
	if (used + wanted <= pages) {
		return true;
	}
	/* LMDB shows free pages to read transactions only. */
	MDB_txn *txn;
	if (sys_lmdb_begin(&journal->lmdb, MDB_RDONLY, &txn) != 0) {
		return false;
	}
	used -= sys_lmdb_free_pages(txn);
	mdb_txn_abort(txn);
	return used + wanted <= pages;
}
