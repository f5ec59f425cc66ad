/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/internal.h"

#include <assert.h>
#include <stdlib.h>

enum {
	MERGE_TRIES = 8, /* journal_merge() may come in between */
	SETTLE_COMMITS = 2,
	PRESSURE_EACH = 64, /* changes after which usage is looked at */
};

/* Pieces from this number on may be those of the operation. */
static uint64_t append_end_of_others(const journal_op_t *op)
{
	return op->has_pieces ? op->entry->number : UINT64_MAX;
}

/* Store the operation's entry: its number is given here unless it was reserved. */
static int append_put_entry(const journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_meta_t *meta,
		uint64_t *ret_number, uint64_t *ret_cost)
{
	journal_entry_t entry = *op->entry;
	if (!op->has_pieces) {
		entry.number = meta->next++;
	}
	*ret_number = entry.number;
	int code = journal_put_head(journal, txn, op->zone, &entry, ret_cost);
	uint32_t pieces = op->has_pieces ? 0 : journal_head_pieces(&entry);
	return code != 0 ? code : journal_put_pieces(journal, txn, op->zone, &entry, 0, pieces);
}

/* Delete all changes, and what damaged entries may have left of their pieces; the whole zone and notes stay. */
static int append_forget_changes(const journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_meta_t *meta)
{
	knot_name_t zone = op->zone;
	int code = journal_delete_range(journal, txn, zone, JOURNAL_KEY_CHANGE, 0, UINT64_MAX);
	uint64_t whole = meta->whole, end = append_end_of_others(op);
	if (code == 0) {
		code = journal_delete_range(journal, txn, zone, JOURNAL_KEY_PIECE, 0, whole != 0 ? whole : end);
	}
	if (code == 0 && whole != 0) {
		code = journal_delete_range(journal, txn, zone, JOURNAL_KEY_PIECE, whole + 1, end);
	}
	meta->count = 0;
	meta->span = 0;
	meta->flags &= ~(uint32_t)(JOURNAL_IS_LOWERED | (whole == 0 ? JOURNAL_HAS_LAST : 0));
	return code;
}

/* ---- What must go before a change fits ---- */

typedef struct {
	uint64_t end;    /* changes with smaller numbers go */
	uint32_t count;  /* so many of them */
	uint64_t bytes;  /* that they take up */
	uint64_t span;   /* of serials */
	uint32_t serial; /* where the first that stays begins */
	bool is_damaged; /* some of their sizes are unknown */
} drop_t;

static bool drop_add(drop_t *drop, const MDB_val *key, const MDB_val *value)
{
	knot_name_t name;
	journal_key_kind_t kind;
	uint64_t number;
	journal_entry_t entry;
	if (!journal_key_read(journal_bytes(key), &name, &kind, &number)) {
		return false;
	}
	drop->end = number + 1;
	drop->count++;
	if (journal_head_read(journal_bytes(value), journal_bytes(key), &entry) == KNOT_OK) {
		drop->bytes += journal_cost(&entry, key->mv_size);
		drop->span += entry.change.serial_to - entry.change.serial_from;
		drop->serial = entry.change.serial_to;
	} else {
		drop->is_damaged = true;
	}
	return true;
}

/* True if the limits allow one more change when `drop` has been dropped. */
static bool drop_is_enough(const drop_t *drop, const journal_meta_t *meta, uint64_t cost, const journal_op_t *op)
{
	uint64_t used = meta->bytes > drop->bytes ? meta->bytes - drop->bytes : 0;
	uint64_t depth_max = op->limits->depth_max + (op->exceeds_depth ? JOURNAL_DEPTH_MORE : 0);
	return meta->count - drop->count < depth_max && used + cost <= op->limits->usage_max;
}

static bool drop_is_flushed(const MDB_val *key, const journal_meta_t *meta)
{
	knot_name_t name;
	journal_key_kind_t kind;
	uint64_t number;
	return journal_key_read(journal_bytes(key), &name, &kind, &number) && number <= meta->flushed;
}

/* Find what to drop of the oldest changes: those up to the one that begins at `serial` if that is set, then flushed
 * ones until it is enough, or all of these. */
static int drop_find(MDB_cursor *cursor, const journal_op_t *op, const journal_meta_t *meta, uint64_t cost,
		const uint32_t *serial, drop_t *ret_drop)
{
	MDB_val key, value;
	int code = journal_seek(cursor, op->zone, JOURNAL_KEY_CHANGE, 0, &key, &value);
	drop_t drop = { 0 }, trimmed = { 0 };
	for (journal_entry_t entry; serial != NULL && code == 0;) {
		if (!drop_add(&drop, &key, &value)) {
			return MDB_CORRUPTED;
		}
		if (journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry) == KNOT_OK &&
				entry.change.serial_from == *serial) {
			trimmed = drop;
		}
		code = journal_step(cursor, false, &key, &value);
	}
	drop = trimmed;
	if (serial != NULL && (code == 0 || code == MDB_NOTFOUND)) {
		code = journal_seek(cursor, op->zone, JOURNAL_KEY_CHANGE, drop.end, &key, &value);
	}
	/* With a whole zone the changes are the way on from it. */
	while (code == 0 && !(meta->flags & JOURNAL_HAS_WHOLE) && drop_is_flushed(&key, meta) &&
			(op->drops_flushed || !drop_is_enough(&drop, meta, cost, op))) {
		if (!drop_add(&drop, &key, &value)) {
			return MDB_CORRUPTED;
		}
		code = journal_step(cursor, false, &key, &value);
	}
	*ret_drop = drop;
	return code == MDB_NOTFOUND ? 0 : code;
}

static int drop_apply(journal_t *journal, MDB_txn *txn, knot_name_t zone, const drop_t *drop, journal_meta_t *meta)
{
	if (drop->count == 0) {
		return 0;
	}
	int code = journal_delete_changes(journal, txn, zone, 0, drop->end);
	meta->count -= drop->count < meta->count ? drop->count : meta->count;
	meta->bytes -= drop->bytes < meta->bytes ? drop->bytes : meta->bytes;
	meta->span -= drop->span < meta->span ? drop->span : meta->span;
	meta->serial_first = drop->serial;
	if (meta->count == 0) {
		meta->span = 0;
		meta->bytes = 0;
		meta->flags &= ~(uint32_t)JOURNAL_IS_LOWERED;
	}
	return code;
}

/* ---- A change ---- */

static int append_refuse(journal_op_t *op, knot_err_t err, const char *why)
{
	op->err = err;
	sys_lmdb_say(&op->reason, "%s", why);
	return 0;
}

/* The first changes may begin at the serial that the new one leads to. Not if serials only grew, and not by 2^32. */
static bool append_may_return(const journal_meta_t *meta, const journal_change_t *change)
{
	return meta->count > 0 &&
	       (meta->flags & JOURNAL_IS_LOWERED || !journal_serial_is_newer(change->serial_to, change->serial_from) ||
			       meta->span + (change->serial_to - change->serial_from) > UINT32_MAX);
}

static bool append_is_merge_fresh(const journal_op_t *op, const journal_meta_t *meta)
{
	return op->merge != NULL && op->merge->next == meta->next;
}

/* Put what a merge has made in the place of what it is made of. */
static int append_apply_merge(journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_meta_t *meta)
{
	const journal_merge_t *merge = op->merge;
	int code = journal_delete_changes(journal, txn, op->zone, merge->first, merge->end);
	if (code == 0 && merge->into_whole) {
		code = journal_delete_whole(journal, txn, op->zone, meta);
	}
	uint64_t cost;
	if (code == 0) {
		code = journal_put_head(journal, txn, op->zone, &merge->entry, &cost);
	}
	code = code != 0 ? code
			 : journal_put_pieces(journal, txn, op->zone, &merge->entry, 0,
					   journal_head_pieces(&merge->entry));
	if (code != 0) {
		return code;
	}
	if (merge->into_whole) {
		meta->flags |= JOURNAL_HAS_WHOLE;
		meta->whole = merge->entry.number;
	}
	/* Counted from the entries: a merge is rare. */
	return journal_recount(journal, txn, op->zone, meta);
}

/* The rules for where a change begins. False: it is refused, or *ret_forget: what is stored leads nowhere. */
static bool append_continues(journal_op_t *op, const journal_meta_t *meta, bool *ret_forget)
{
	const journal_change_t *change = &op->entry->change;
	bool has_whole = (meta->flags & JOURNAL_HAS_WHOLE) != 0;
	*ret_forget = false;
	if (change->serial_from == change->serial_to) {
		(void)append_refuse(op, KNOT_ESEMCHECK, "a change doesn't change the serial");
		return false;
	}
	if ((meta->count == 0 && !has_whole) ||
			(meta->flags & JOURNAL_HAS_LAST && meta->serial_last == change->serial_from)) {
		return true;
	}
	bool keeps_whole = has_whole && !op->limits->drops_whole;
	if (keeps_whole || !journal_serial_is_newer(change->serial_to, change->serial_from)) {
		(void)append_refuse(
				op, KNOT_ESEMCHECK, "the change doesn't begin where the last one in the journal ended");
		return false;
	}
	*ret_forget = true;
	return true;
}

/* True if pieces of the change are damaged or missing. */
static bool append_is_damaged(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry)
{
	uint8_t *payload;
	if (journal_head_pieces(entry) == 0) {
		return false;
	}
	knot_err_t err = journal_load_payload(journal, txn, zone, entry, &payload);
	if (err == KNOT_OK) {
		free(payload);
	}
	return err == KNOT_EMALF;
}

/* The number of the damaged change right behind the version `serial`: no reader gets past that. MDB_NOTFOUND. */
static int append_find_damage(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, uint32_t serial, uint64_t *ret_number)
{
	static const journal_key_kind_t kinds[] = { JOURNAL_KEY_WHOLE, JOURNAL_KEY_CHANGE };
	MDB_cursor *cursor;
	bool is_behind = false; /* the entry before leads to the serial */
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		MDB_val key, value;
		code = journal_seek(cursor, zone, kinds[i], 0, &key, &value);
		for (; code == 0; code = journal_step(cursor, false, &key, &value)) {
			knot_name_t name;
			journal_key_kind_t kind;
			journal_entry_t entry;
			bool is_read = journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry) == KNOT_OK;
			if (is_behind && (!is_read || append_is_damaged(journal, txn, zone, &entry)) &&
					journal_key_read(journal_bytes(&key), &name, &kind, ret_number)) {
				mdb_cursor_close(cursor);
				return 0;
			}
			is_behind = is_read && entry.change.serial_to == serial;
		}
	}
	mdb_cursor_close(cursor);
	return code;
}

/* If the change leads on from where a damaged one cuts off what is stored, drop that and those behind it. */
static int append_cut_off(journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_meta_t *meta)
{
	uint64_t number;
	uint32_t serial = op->entry->change.serial_from;
	if (meta->count == 0 || (meta->flags & JOURNAL_HAS_LAST && meta->serial_last == serial)) {
		return 0;
	}
	int code = append_find_damage(journal, txn, op->zone, serial, &number);
	code = code != 0 ? code : journal_delete_changes(journal, txn, op->zone, number, append_end_of_others(op));
	code = code != 0 ? code : journal_recount(journal, txn, op->zone, meta);
	return code == MDB_NOTFOUND ? 0 : code;
}

static int append_insert(journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_meta_t *meta)
{
	const journal_change_t *change = &op->entry->change;
	uint64_t number, cost;
	int code = append_put_entry(journal, txn, op, meta, &number, &cost);
	if (meta->count == 0) {
		meta->serial_first = change->serial_from;
	}
	if (!journal_serial_is_newer(change->serial_to, change->serial_from)) {
		meta->flags |= JOURNAL_IS_LOWERED;
	}
	meta->count++;
	meta->bytes += cost;
	meta->span += change->serial_to - change->serial_from;
	meta->serial_last = change->serial_to;
	meta->flags |= JOURNAL_HAS_LAST;
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, meta);
}

/* Nothing may be dropped that would make room. */
static int append_refuse_full(journal_op_t *op, const journal_meta_t *meta)
{
	if (meta->flags & JOURNAL_HAS_WHOLE || op->limits->may_merge) {
		op->needs_merge = true;
		return append_refuse(op, KNOT_EAGAIN, "changes must be merged first");
	}
	return append_refuse(op, KNOT_EAGAIN, "the journal is full, the zone file must be written first");
}

static int append_change(journal_t *journal, MDB_txn *txn, journal_op_t *op, journal_meta_t *meta)
{
	const journal_change_t *change = &op->entry->change;
	journal_key_t key;
	journal_key(op->zone, JOURNAL_KEY_CHANGE, 0, 0, &key);
	uint64_t cost = journal_cost(op->entry, key.len);
	bool forgets;
	int code = append_cut_off(journal, txn, op, meta);
	if (code != 0 || !append_continues(op, meta, &forgets)) {
		return code;
	}
	if (forgets) {
		code = journal_delete_whole(journal, txn, op->zone, meta);
		code = code != 0 ? code : append_forget_changes(journal, txn, op, meta);
		meta->bytes = 0;
		return code != 0 ? code : append_insert(journal, txn, op, meta);
	}
	bool may_return = append_may_return(meta, change);
	MDB_cursor *cursor;
	drop_t drop;
	code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	code = drop_find(cursor, op, meta, cost, may_return ? &change->serial_to : NULL, &drop);
	mdb_cursor_close(cursor);
	if (code != 0) {
		return code;
	}
	if (drop.count > 0 && meta->flags & JOURNAL_HAS_WHOLE) {
		return append_refuse(op, KNOT_ESEMCHECK, "the change returns to a version that the journal leads from");
	}
	if (!drop_is_enough(&drop, meta, cost, op)) {
		if (!append_is_merge_fresh(op, meta)) {
			return append_refuse_full(op, meta);
		}
		code = append_apply_merge(journal, txn, op, meta);
	} else {
		code = drop_apply(journal, txn, op->zone, &drop, meta);
		if (code == 0 && drop.is_damaged) {
			code = journal_recount(journal, txn, op->zone, meta);
		}
	}
	return code != 0 ? code : append_insert(journal, txn, op, meta);
}

/* ---- Operations ---- */

/* Bytes of the map that the operation's entry takes. */
static uint64_t append_room_of(const journal_op_t *op)
{
	return op->has_pieces ? JOURNAL_PAGE : journal_cost(op->entry, JOURNAL_KEY_MAX);
}

/* The zone's meta. op->err is set: what is stored of the operation already is gone. */
static int append_begin(journal_t *journal, MDB_txn *txn, journal_op_t *op, journal_meta_t *ret_meta)
{
	int code = journal_begin_zone(journal, txn, op->zone, ret_meta);
	if (code == 0 && op->has_pieces) {
		code = op->entry->number < ret_meta->next ? journal_count_pieces(journal, txn, op->zone, op->entry)
							  : MDB_NOTFOUND;
		if (code == MDB_NOTFOUND) {
			return journal_refuse_gone(op);
		}
	}
	return code == 0 && !journal_has_room(journal, append_room_of(op)) ? MDB_MAP_FULL : code;
}

static int append_note(const journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_meta_t *meta)
{
	uint64_t number, cost;
	int code = append_put_entry(journal, txn, op, meta, &number, &cost);
	meta->notes++;
	while (code == 0 && meta->notes > JOURNAL_NOTES_MAX) {
		MDB_cursor *cursor;
		MDB_val key, value;
		code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
		if (code != 0) {
			break;
		}
		code = journal_seek(cursor, op->zone, JOURNAL_KEY_NOTE, 0, &key, &value);
		code = code != 0 ? code : mdb_cursor_del(cursor, 0);
		mdb_cursor_close(cursor);
		meta->notes--;
	}
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, meta);
}

/* True if there is something to do for journal_merge(). */
static bool append_is_deep(const journal_op_t *op, const journal_meta_t *meta)
{
	const journal_limits_t *limits = op->limits;
	bool merges = limits->may_merge || meta->flags & JOURNAL_HAS_WHOLE;
	/* Whether merging would help shows a look at all of them: now and then. */
	bool is_pressed = meta->bytes > limits->usage_max / 4 * 3 && meta->next % PRESSURE_EACH == 0;
	return meta->flags & JOURNAL_HAS_LOOSE || (merges && (meta->count > limits->depth_max || is_pressed));
}

static int op_append(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	int code = append_begin(journal, txn, op, &meta);
	if (code != 0 || op->err != KNOT_OK) {
		return code;
	}
	if (op->entry->kind == JOURNAL_NOTE) {
		return append_note(journal, txn, op, &meta);
	}
	code = append_change(journal, txn, op, &meta);
	op->is_deep = op->err == KNOT_OK && append_is_deep(op, &meta);
	return code;
}

static int op_put_zone(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	int code = append_begin(journal, txn, op, &meta);
	if (code != 0 || op->err != KNOT_OK) {
		return code;
	}
	code = journal_delete_whole(journal, txn, op->zone, &meta);
	code = code != 0 ? code : append_forget_changes(journal, txn, op, &meta);
	if (code != 0) {
		return code;
	}
	code = append_put_entry(journal, txn, op, &meta, &meta.whole, &meta.bytes);
	meta.serial_last = op->entry->change.serial_to;
	meta.flags |= JOURNAL_HAS_WHOLE | JOURNAL_HAS_LAST;
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, &meta);
}

/* The number of the last change that leads to a serial; MDB_NOTFOUND. */
static int mark_find(MDB_cursor *cursor, knot_name_t zone, uint32_t serial, uint64_t *ret_number)
{
	MDB_val key, value;
	int code = journal_seek_back(cursor, zone, JOURNAL_KEY_CHANGE, UINT64_MAX, &key, &value);
	for (; code == 0; code = journal_step(cursor, true, &key, &value)) {
		journal_entry_t entry;
		if (journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry) == KNOT_OK &&
				entry.change.serial_to == serial) {
			*ret_number = entry.number;
			return 0;
		}
	}
	return code;
}

static int op_mark_flushed(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	MDB_cursor *cursor;
	bool damaged;
	int code = journal_load_meta(journal, txn, op->zone, &meta, &damaged);
	if (code == 0) {
		code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	}
	if (code == 0) {
		uint64_t number;
		code = mark_find(cursor, op->zone, op->serial, &number);
		mdb_cursor_close(cursor);
		if (code == 0) {
			meta.flushed = number;
			meta.serial_flushed = op->serial;
			meta.flags |= JOURNAL_HAS_FLUSHED;
			code = journal_save_meta(journal, txn, op->zone, &meta);
		}
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

static int op_drop(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_key_t first;
	MDB_cursor *cursor;
	journal_key(op->zone, JOURNAL_KEY_META, 0, 0, &first);
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	op->err = KNOT_ENOENT;
	for (;;) {
		MDB_val key = journal_val(&first), value;
		code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
		if (code != 0 || key.mv_size < first.name_len ||
				memcmp(key.mv_data, first.bytes, first.name_len) != 0) {
			break;
		}
		code = mdb_cursor_del(cursor, 0);
		if (code != 0) {
			break;
		}
		op->err = KNOT_OK;
	}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

/* Drop all changes that are in the zone file, to make room in a database or on a disk that is full. */
static int op_trim(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	MDB_cursor *cursor;
	drop_t drop;
	int code = journal_begin_zone(journal, txn, op->zone, &meta);
	code = code != 0 ? code : mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	code = drop_find(cursor, op, &meta, 0, NULL, &drop);
	mdb_cursor_close(cursor);
	if (code == 0 && drop.count == 0) {
		bool may_flush = meta.count > 0 && !(meta.flags & JOURNAL_HAS_WHOLE);
		op->err = may_flush ? KNOT_EAGAIN : KNOT_ENOENT;
		return 0;
	}
	code = code != 0 ? code : drop_apply(journal, txn, op->zone, &drop, &meta);
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, &meta);
}

/* Write something small: pages that were freed may be used again two transactions later. */
static int op_settle(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	journal_meta_t meta;
	int code = journal_begin_zone(journal, txn, op->zone, &meta);
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, &meta);
}

/* ---- The public functions ---- */

static knot_err_t append_end(const journal_op_t *op, journal_reason_t *ret_reason)
{
	if (ret_reason != NULL) {
		*ret_reason = op->err == KNOT_OK ? (journal_reason_t){ "" } : op->reason;
	}
	return op->err;
}

/* The database or the disk is full. KNOT_OK: there is more room now; KNOT_EAGAIN: there would be after a flush. */
static knot_err_t append_make_room(journal_t *journal, const journal_op_t *op)
{
	journal_op_t trim = { .run = op_trim, .zone = op->zone, .limits = op->limits, .drops_flushed = true };
	journal_submit(journal, &trim);
	for (int i = 0; trim.err == KNOT_OK && i < SETTLE_COMMITS; i++) {
		journal_op_t settle = { .run = op_settle, .zone = op->zone };
		journal_submit(journal, &settle);
	}
	return trim.err;
}

static void append_free_merge(journal_op_t *op)
{
	if (op->merge != NULL) {
		free((void *)op->merge->entry.change.payload.data);
		op->merge = NULL;
	}
}

/* Write the operation, with a merge if it needs one. */
static void append_submit(journal_t *journal, journal_op_t *op)
{
	journal_merge_t merge;
	for (int i = 0; i < MERGE_TRIES; i++) {
		journal_submit(journal, op);
		append_free_merge(op);
		if (!op->needs_merge) {
			return;
		}
		op->err = journal_plan_merge(journal, op, &merge, &op->reason);
		if (op->err == KNOT_OK) {
			op->merge = &merge;
		} else if (op->err == KNOT_EBUSY) {
			op->exceeds_depth = true;
		} else if (op->err != KNOT_EAGAIN) {
			return;
		}
	}
	append_free_merge(op);
	(void)append_refuse(op, KNOT_EAGAIN, "its changes were merged by another thread each time, try again");
}

/* Store an entry; one that is large in several transactions. */
static void append_store(journal_t *journal, journal_op_t *op, journal_entry_t *entry)
{
	if (!op->has_pieces && journal_head_pieces(entry) > journal_pieces_at_once(journal)) {
		op->err = journal_put_loose(journal, op->zone, entry, NULL, NULL, &op->reason);
		op->may_retry = op->err == KNOT_ESPACE;
		op->has_pieces = op->err == KNOT_OK;
		if (!op->has_pieces) {
			return;
		}
	}
	op->bytes = op->has_pieces ? 0 : entry->change.payload.len;
	append_submit(journal, op);
}

static void append_store_or_make_room(journal_t *journal, journal_op_t *op, journal_entry_t *entry)
{
	append_store(journal, op, entry);
	if (op->may_retry) {
		knot_err_t room = append_make_room(journal, op);
		if (room == KNOT_OK) {
			append_store(journal, op, entry);
		} else if (room == KNOT_EAGAIN && entry->kind == JOURNAL_STEP && !op->limits->may_merge) {
			op->err = KNOT_EAGAIN;
		}
	}
}

static knot_err_t append_entry(journal_t *journal, int (*run)(journal_t *, MDB_txn *, journal_op_t *), knot_name_t zone,
		journal_entry_t *entry, const journal_limits_t *limits, journal_reason_t *ret_reason)
{
	journal_op_t op = { .run = run, .zone = zone, .entry = entry, .limits = limits };
	journal_key_t key;
	journal_key(zone, JOURNAL_KEY_CHANGE, 0, 0, &key);
	if (entry->kind != JOURNAL_NOTE && (entry->change.payload.len > JOURNAL_PAYLOAD_MAX ||
							   journal_cost(entry, key.len) >= limits->usage_max)) {
		op.err = KNOT_ESPACE;
		sys_lmdb_say(&op.reason,
				"%zu bytes are more than the limit of a zone's journal, increase "
				"'zone.journal-max-usage'",
				entry->change.payload.len);
		return append_end(&op, ret_reason);
	}
	bool is_large = journal_head_pieces(entry) > journal_pieces_at_once(journal);
	journal_busy_t busy = { .zone = journal_hash_zone(zone) };
	if (is_large) {
		op.err = journal_reserve(journal, zone, &entry->number, &op.reason);
		if (op.err != KNOT_OK) {
			return append_end(&op, ret_reason);
		}
		busy.number = entry->number;
		journal_busy_begin(journal, &busy);
	}
	append_store_or_make_room(journal, &op, entry);
	if (is_large) {
		journal_busy_end(journal, &busy);
	}
	if (op.is_deep || is_large) {
		journal_note_deep(journal, zone, limits->may_merge);
	}
	return append_end(&op, ret_reason);
}

knot_err_t journal_append(journal_t *journal, knot_name_t zone, const journal_change_t *change,
		const journal_limits_t *limits, journal_reason_t *ret_reason)
{
	assert(limits->depth_max >= 2);
	journal_entry_t entry = { .kind = change->payload.len == 0 ? JOURNAL_NOTE : JOURNAL_STEP, .change = *change };
	return append_entry(journal, op_append, zone, &entry, limits, ret_reason);
}

knot_err_t journal_put_zone(journal_t *journal, knot_name_t zone, const journal_change_t *whole,
		const journal_limits_t *limits, journal_reason_t *ret_reason)
{
	assert(whole->payload.len > 0);
	journal_entry_t entry = { .kind = JOURNAL_WHOLE, .change = *whole };
	entry.change.serial_from = whole->serial_to;
	return append_entry(journal, op_put_zone, zone, &entry, limits, ret_reason);
}

knot_err_t journal_mark_flushed(journal_t *journal, knot_name_t zone, uint32_t serial, journal_reason_t *ret_reason)
{
	journal_op_t op = { .run = op_mark_flushed, .zone = zone, .serial = serial };
	journal_submit(journal, &op);
	return append_end(&op, ret_reason);
}

knot_err_t journal_drop(journal_t *journal, knot_name_t zone, journal_reason_t *ret_reason)
{
	journal_op_t op = { .run = op_drop, .zone = zone };
	journal_submit(journal, &op);
	return append_end(&op, ret_reason);
}
