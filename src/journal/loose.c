/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An entry of many pieces is stored in several transactions: its pieces first, its head with the last. What a crash
 * leaves are pieces of which no head says that they are its own; JOURNAL_HAS_LOOSE in the zone's meta says that there
 * may be such. They are removed by journal_clean(), a few in each transaction.
 */
#include "src/journal/internal.h"

#include <assert.h>

uint32_t journal_pieces_at_once(const journal_t *journal)
{
	enum { DEFAULT = 4 << 20, LEAST = 1 };
	size_t max = journal->params.transaction_max;
	uint32_t pieces = (uint32_t)((max != 0 ? max : DEFAULT) / JOURNAL_PIECE_MAX);
	return pieces > LEAST ? pieces : LEAST;
}

/* ---- What is on its way ---- */

void journal_busy_begin(journal_t *journal, journal_busy_t *busy)
{
	sys_mutex_lock(&journal->lock);
	busy->next = journal->busy;
	journal->busy = busy;
	sys_mutex_unlock(&journal->lock);
}

void journal_busy_end(journal_t *journal, journal_busy_t *busy)
{
	sys_mutex_lock(&journal->lock);
	journal_busy_t **at = &journal->busy;
	while (*at != busy) {
		at = &(*at)->next;
	}
	*at = busy->next;
	sys_mutex_unlock(&journal->lock);
}

bool journal_is_busy(journal_t *journal, uint64_t zone, bool (*is_so)(const journal_busy_t *busy, const void *ctx),
		const void *ctx)
{
	bool found = false;
	sys_mutex_lock(&journal->lock);
	for (const journal_busy_t *busy = journal->busy; busy != NULL && !found; busy = busy->next) {
		found = busy->zone == zone && is_so(busy, ctx);
	}
	sys_mutex_unlock(&journal->lock);
	return found;
}

/* ---- Storing ---- */

static int op_reserve(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	int code = journal_begin_zone(journal, txn, op->zone, &meta);
	op->number = meta.next++;
	meta.flags |= JOURNAL_HAS_LOOSE;
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, &meta);
}

knot_err_t journal_reserve(journal_t *journal, knot_name_t zone, uint64_t *ret_number, journal_reason_t *ret_reason)
{
	journal_op_t op = { .run = op_reserve, .zone = zone };
	journal_submit(journal, &op);
	*ret_number = op.number;
	*ret_reason = op.reason;
	return op.err;
}

/* Delete the pieces of a number and series. At most `max`; *ret_count: how many. */
static int loose_delete(const journal_t *journal, MDB_txn *txn, knot_name_t zone, uint64_t number, uint32_t series,
		uint32_t max, uint32_t *ret_count)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	journal_key_t first, end;
	journal_key(zone, JOURNAL_KEY_PIECE, number, journal_part(series, 0), &first);
	journal_key(zone, JOURNAL_KEY_PIECE, number, journal_part(series + 1, 0), &end);
	*ret_count = 0;
	while (*ret_count < max) {
		MDB_val key = journal_val(&first), value;
		code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
		if (code != 0 || key.mv_size != first.len || memcmp(key.mv_data, end.bytes, end.len) >= 0) {
			break;
		}
		code = mdb_cursor_del(cursor, 0);
		if (code != 0) {
			break;
		}
		++*ret_count;
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

int journal_count_pieces(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	for (uint32_t i = 0; code == 0 && i < journal_head_pieces(entry); i++) {
		journal_key_t at;
		journal_key(zone, JOURNAL_KEY_PIECE, entry->number, journal_part(entry->series, i), &at);
		MDB_val key = journal_val(&at), value;
		code = mdb_cursor_get(cursor, &key, &value, i == 0 ? MDB_SET_KEY : MDB_NEXT);
		if (code == 0 && (key.mv_size != at.len || memcmp(key.mv_data, at.bytes, at.len) != 0)) {
			code = MDB_NOTFOUND;
		}
	}
	mdb_cursor_close(cursor);
	return code;
}

int journal_refuse_gone(journal_op_t *op)
{
	op->err = KNOT_EFILE;
	sys_lmdb_say(&op->reason, "the zone's journal was removed while a large change was being stored, try again");
	return 0;
}

static int op_put_pieces(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	uint32_t count;
	bool damaged;
	int code = journal_load_meta(journal, txn, op->zone, &meta, &damaged);
	/* If what they belong to is gone, the zone was dropped, and the number may be that of another entry by now. */
	if (code == 0 && op->merge != NULL) {
		code = journal_find_merged(journal, txn, op->zone, op->merge);
	} else if (code == 0 && op->entry->number >= meta.next) {
		code = MDB_NOTFOUND;
	}
	if (code == MDB_NOTFOUND && op->merge != NULL) {
		op->err = KNOT_EAGAIN;
		return 0;
	}
	if (code == MDB_NOTFOUND) {
		return journal_refuse_gone(op);
	}
	if (code == 0 && !journal_has_room(journal, op->bytes)) {
		code = MDB_MAP_FULL;
	}
	if (code == 0 && op->first == 0) { /* what a crash left there */
		code = loose_delete(journal, txn, op->zone, op->entry->number, op->entry->series, UINT32_MAX, &count);
	}
	code = code != 0 ? code : journal_put_pieces(journal, txn, op->zone, op->entry, op->first, op->end);
	if (code != 0 || meta.flags & JOURNAL_HAS_LOOSE) {
		return code;
	}
	meta.flags |= JOURNAL_HAS_LOOSE;
	return journal_save_meta(journal, txn, op->zone, &meta);
}

knot_err_t journal_put_loose(journal_t *journal, knot_name_t zone, const journal_entry_t *entry,
		const journal_merge_t *merge, const bool *stopping, journal_reason_t *ret_reason)
{
	uint32_t pieces = journal_head_pieces(entry);
	uint32_t each = journal_pieces_at_once(journal);
	for (uint32_t first = 0; first < pieces; first += each) {
		uint32_t left = pieces - first, count = left < each ? left : each;
		journal_op_t op = { .run = op_put_pieces,
			.zone = zone,
			.entry = entry,
			.merge = merge,
			.first = first,
			.end = first + count,
			.bytes = (size_t)count * JOURNAL_PIECE_MAX };
		journal_submit(journal, &op);
		if (op.err != KNOT_OK) {
			*ret_reason = op.reason;
			return op.err;
		}
		if (stopping != NULL && __atomic_load_n(stopping, __ATOMIC_RELAXED)) {
			return KNOT_ESTOPPED;
		}
	}
	return KNOT_OK;
}

/* ---- Removing ---- */

typedef struct {
	uint64_t number;
	uint32_t series;
} loose_id_t;

static bool loose_is_of(const journal_busy_t *busy, const void *ctx)
{
	const loose_id_t *id = ctx;
	return busy->number == id->number && busy->series == id->series;
}

/* True if a head says that the pieces are its own, or they are on their way. A damaged head may: they stay. */
static int loose_is_needed(
		journal_t *journal, MDB_txn *txn, knot_name_t zone, const loose_id_t *id, bool *ret_is_needed)
{
	static const journal_key_kind_t kinds[] = { JOURNAL_KEY_WHOLE, JOURNAL_KEY_CHANGE };
	*ret_is_needed = journal_is_busy(journal, journal_hash_zone(zone), loose_is_of, id);
	for (size_t i = 0; i < KNOT_LEN(kinds) && !*ret_is_needed; i++) {
		journal_key_t at;
		journal_entry_t entry;
		journal_key(zone, kinds[i], id->number, 0, &at);
		MDB_val key = journal_val(&at), value;
		int code = mdb_get(txn, journal->lmdb.dbi, &key, &value);
		if (code != 0 && code != MDB_NOTFOUND) {
			return code;
		}
		*ret_is_needed = code == 0 &&
				 (journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry) != KNOT_OK ||
						 (entry.series == id->series && journal_head_pieces(&entry) > 0));
	}
	return 0;
}

/* The first number and series of pieces from these on. MDB_NOTFOUND. */
static int loose_find(const journal_t *journal, MDB_txn *txn, knot_name_t zone, loose_id_t *id)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	journal_key_t at;
	journal_key(zone, JOURNAL_KEY_PIECE, id->number, journal_part(id->series, 0), &at);
	MDB_val key = journal_val(&at), value;
	code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	knot_name_t name;
	journal_key_kind_t kind;
	if (code == 0 && (key.mv_size <= at.name_len || memcmp(key.mv_data, at.bytes, at.name_len + 1U) != 0)) {
		code = MDB_NOTFOUND;
	} else if (code == 0 && !journal_key_read(journal_bytes(&key), &name, &kind, &id->number)) {
		code = MDB_CORRUPTED;
	}
	if (code == 0) {
		id->series = load_be32((const uint8_t *)key.mv_data + key.mv_size - JOURNAL_KEY_PART) >>
			     JOURNAL_SERIES_SHIFT;
	}
	mdb_cursor_close(cursor);
	return code;
}

/* Remove some. KNOT_EAGAIN: there may be more. */
static int op_clean(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	uint32_t left = journal_pieces_at_once(journal);
	bool is_busy = false;
	int code = journal_begin_zone(journal, txn, op->zone, &meta);
	if (code != 0 || !(meta.flags & JOURNAL_HAS_LOOSE)) {
		return code;
	}
	for (loose_id_t id = { 0 }; left > 0 && (code = loose_find(journal, txn, op->zone, &id)) == 0; id.series++) {
		bool is_needed;
		uint32_t count = 0;
		code = loose_is_needed(journal, txn, op->zone, &id, &is_needed);
		is_busy = is_busy || journal_is_busy(journal, journal_hash_zone(op->zone), loose_is_of, &id);
		if (code == 0 && !is_needed) {
			code = loose_delete(journal, txn, op->zone, id.number, id.series, left, &count);
		}
		if (code != 0) {
			return code;
		}
		left -= count;
	}
	op->err = left == 0 ? KNOT_EAGAIN : KNOT_OK;
	if (code == MDB_NOTFOUND && !is_busy) {
		meta.flags &= ~(uint32_t)JOURNAL_HAS_LOOSE;
		return journal_save_meta(journal, txn, op->zone, &meta);
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

knot_err_t journal_clean(journal_t *journal, knot_name_t zone, const bool *stopping, journal_reason_t *ret_reason)
{
	for (;;) {
		journal_op_t op = { .run = op_clean, .zone = zone };
		journal_submit(journal, &op);
		if (op.err != KNOT_EAGAIN) {
			*ret_reason = op.reason;
			return op.err;
		}
		if (__atomic_load_n(stopping, __ATOMIC_RELAXED)) {
			return KNOT_OK;
		}
	}
}
