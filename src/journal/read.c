/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/internal.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Cursors ---- */

/* 0 if the key is one of the zone and kind; MDB_NOTFOUND if it is another one, MDB_CORRUPTED if it can't be one. */
static int seek_judge(const journal_key_t *wanted, const MDB_val *key)
{
	size_t prefix = (size_t)wanted->name_len + 1;
	if (key->mv_size < prefix || memcmp(key->mv_data, wanted->bytes, prefix) != 0) {
		return MDB_NOTFOUND;
	}
	return key->mv_size == wanted->len ? 0 : MDB_CORRUPTED;
}

int journal_seek(MDB_cursor *cursor, knot_name_t zone, journal_key_kind_t kind, uint64_t number, MDB_val *ret_key,
		MDB_val *ret_value)
{
	journal_key_t wanted;
	journal_key(zone, kind, number, 0, &wanted);
	*ret_key = journal_val(&wanted);
	int code = mdb_cursor_get(cursor, ret_key, ret_value, MDB_SET_RANGE);
	return code != 0 ? code : seek_judge(&wanted, ret_key);
}

int journal_seek_back(MDB_cursor *cursor, knot_name_t zone, journal_key_kind_t kind, uint64_t number, MDB_val *ret_key,
		MDB_val *ret_value)
{
	assert(kind != JOURNAL_KEY_PIECE);
	journal_key_t wanted, behind;
	journal_key(zone, kind, number, 0, &wanted);
	behind = wanted;
	if (number < UINT64_MAX) {
		journal_key_change(&behind, kind, number + 1, 0);
	} else {
		journal_key_change(&behind, kind + 1, 0, 0);
	}
	*ret_key = journal_val(&behind);
	int code = mdb_cursor_get(cursor, ret_key, ret_value, MDB_SET_RANGE);
	code = mdb_cursor_get(cursor, ret_key, ret_value, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
	return code != 0 ? code : seek_judge(&wanted, ret_key);
}

int journal_step(MDB_cursor *cursor, bool is_back, MDB_val *key, MDB_val *ret_value)
{
	knot_name_t zone;
	journal_key_kind_t kind;
	uint64_t number;
	if (!journal_key_read(journal_bytes(key), &zone, &kind, &number)) {
		return MDB_CORRUPTED;
	}
	journal_key_t at;
	journal_key(zone, kind, number, 0, &at);
	int code = mdb_cursor_get(cursor, key, ret_value, is_back ? MDB_PREV : MDB_NEXT);
	return code != 0 ? code : seek_judge(&at, key);
}

/* ---- Meta ---- */

/* Where the numbers of entries that are there end. */
static int meta_find_next(MDB_cursor *cursor, knot_name_t zone, uint64_t *ret_next)
{
	static const journal_key_kind_t kinds[] = { JOURNAL_KEY_WHOLE, JOURNAL_KEY_CHANGE, JOURNAL_KEY_NOTE };
	*ret_next = 1;
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		MDB_val key, value;
		int code = journal_seek_back(cursor, zone, kinds[i], UINT64_MAX, &key, &value);
		knot_name_t name;
		journal_key_kind_t kind;
		uint64_t number;
		if (code == 0 && journal_key_read(journal_bytes(&key), &name, &kind, &number) && number >= *ret_next) {
			*ret_next = number + 1;
		} else if (code != 0 && code != MDB_NOTFOUND) {
			return code;
		}
	}
	return 0;
}

/* Count a change or the whole zone. entry: NULL if it is damaged. */
static void meta_add(journal_meta_t *meta, const journal_entry_t *entry, const MDB_val *key, const MDB_val *value)
{
	knot_name_t name;
	journal_key_kind_t kind;
	uint64_t number;
	if (!journal_key_read(journal_bytes(key), &name, &kind, &number)) {
		return;
	}
	meta->bytes += entry != NULL ? journal_cost(entry, key->mv_size) : value->mv_size;
	meta->serial_last = entry != NULL ? entry->change.serial_to : 0;
	meta->flags = (meta->flags & ~(uint32_t)JOURNAL_HAS_LAST) | (entry != NULL ? JOURNAL_HAS_LAST : 0);
	if (kind == JOURNAL_KEY_WHOLE) {
		meta->flags |= JOURNAL_HAS_WHOLE;
		meta->whole = number;
		return;
	}
	if (entry == NULL) {
		meta->flags |= JOURNAL_IS_LOWERED; /* perhaps */
	} else {
		const journal_change_t *change = &entry->change;
		meta->serial_first = meta->count == 0 ? change->serial_from : meta->serial_first;
		meta->span += change->serial_to - change->serial_from;
		meta->flags |= journal_serial_is_newer(change->serial_to, change->serial_from) ? 0 : JOURNAL_IS_LOWERED;
	}
	meta->count++;
}

/* Count the entries of a kind into the meta. */
static int meta_count(MDB_cursor *cursor, knot_name_t zone, journal_key_kind_t kind, journal_meta_t *meta)
{
	MDB_val key, value;
	int code = journal_seek(cursor, zone, kind, 0, &key, &value);
	while (code == 0) {
		journal_entry_t entry;
		bool is_read = journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry) == KNOT_OK;
		if (kind == JOURNAL_KEY_NOTE) {
			meta->notes++;
		} else {
			meta_add(meta, is_read ? &entry : NULL, &key, &value);
		}
		code = journal_step(cursor, false, &key, &value);
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

/* What the entries show. Of what was flushed they say nothing. */
static int meta_rebuild(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *ret_meta)
{
	journal_meta_t meta = { 0 };
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	code = meta_find_next(cursor, zone, &meta.next);
	code = code != 0 ? code : meta_count(cursor, zone, JOURNAL_KEY_WHOLE, &meta);
	code = code != 0 ? code : meta_count(cursor, zone, JOURNAL_KEY_CHANGE, &meta);
	code = code != 0 ? code : meta_count(cursor, zone, JOURNAL_KEY_NOTE, &meta);
	mdb_cursor_close(cursor);
	if (code == 0) {
		*ret_meta = meta;
	}
	return code;
}

int journal_recount(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *meta)
{
	journal_meta_t counted;
	int code = meta_rebuild(journal, txn, zone, &counted);
	if (code == 0) {
		counted.next = counted.next > meta->next ? counted.next : meta->next;
		counted.flushed = meta->flushed;
		counted.serial_flushed = meta->serial_flushed;
		counted.flags |= meta->flags & (JOURNAL_HAS_FLUSHED | JOURNAL_HAS_LOOSE);
		*meta = counted;
	}
	return code;
}

int journal_load_meta(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *ret_meta, bool *ret_damaged)
{
	journal_key_t meta_key;
	journal_key(zone, JOURNAL_KEY_META, 0, 0, &meta_key);
	MDB_val key = journal_val(&meta_key), value;
	*ret_damaged = false;
	int code = mdb_get(txn, journal->lmdb.dbi, &key, &value);
	if (code != 0 || journal_meta_read(journal_bytes(&value), journal_bytes(&key), ret_meta) == KNOT_OK) {
		return code;
	}
	*ret_damaged = true;
	code = meta_rebuild(journal, txn, zone, ret_meta);
	ret_meta->flags |= JOURNAL_HAS_LOOSE; /* perhaps */
	return code;
}

/* ---- Payloads ---- */

knot_err_t journal_load_payload(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry,
		uint8_t **ret_payload)
{
	size_t len = entry->change.payload.len, done = 0;
	uint32_t pieces = journal_head_pieces(entry);
	assert(pieces > 0);
	uint8_t *payload = malloc(len);
	if (payload == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = KNOT_OK;
	for (uint32_t i = 0; i < pieces && err == KNOT_OK; i++) {
		journal_key_t piece_key;
		journal_key(zone, JOURNAL_KEY_PIECE, entry->number, journal_part(entry->series, i), &piece_key);
		MDB_val key = journal_val(&piece_key), value;
		knot_bytes_t bytes;
		int code = mdb_get(txn, journal->lmdb.dbi, &key, &value);
		err = code == MDB_NOTFOUND ? KNOT_EMALF : journal_read_error(code);
		if (err == KNOT_OK) {
			err = journal_piece_read(journal_bytes(&value), journal_bytes(&key), &bytes);
		}
		if (err == KNOT_OK && bytes.len > len - done) {
			err = KNOT_EMALF;
		}
		if (err == KNOT_OK) {
			memcpy(payload + done, bytes.data, bytes.len);
			done += bytes.len;
		}
	}
	if (err == KNOT_OK && done != len) {
		err = KNOT_EMALF;
	}
	if (err != KNOT_OK) {
		free(payload);
		return err;
	}
	*ret_payload = payload;
	return KNOT_OK;
}

/* ---- Visits ---- */

typedef struct {
	journal_t *journal;
	MDB_txn *txn;
	MDB_cursor *cursor;
	knot_name_t zone;
	journal_visit_t visit;
	void *ctx;
	bool is_ended; /* by a visit */
} reader_t;

static int reader_begin(reader_t *reader)
{
	int code = journal_begin_read_zone(reader->journal, reader->zone, &reader->txn);
	if (code != 0) {
		return code;
	}
	code = mdb_cursor_open(reader->txn, reader->journal->lmdb.dbi, &reader->cursor);
	if (code != 0) {
		journal_end_read(reader->journal, reader->txn);
	}
	return code;
}

static void reader_end(reader_t *reader)
{
	mdb_cursor_close(reader->cursor);
	journal_end_read(reader->journal, reader->txn);
}

/* Show an entry whose head was read. */
static knot_err_t reader_show(reader_t *reader, const journal_entry_t *entry)
{
	journal_entry_t whole = *entry;
	uint8_t *payload = NULL;
	if (entry->change.payload.data == NULL && entry->change.payload.len > 0) {
		knot_err_t err = journal_load_payload(reader->journal, reader->txn, reader->zone, entry, &payload);
		if (err != KNOT_OK) {
			return err;
		}
		whole.change.payload.data = payload;
	}
	reader->is_ended = !reader->visit(&whole, reader->ctx);
	free(payload);
	return KNOT_OK;
}

/* The newest change that begins at a serial. Damaged ones are passed over. */
static int reader_find(reader_t *reader, uint32_t serial_from, MDB_val *ret_key, MDB_val *ret_value)
{
	int code = journal_seek_back(reader->cursor, reader->zone, JOURNAL_KEY_CHANGE, UINT64_MAX, ret_key, ret_value);
	journal_entry_t entry;
	while (code == 0 && (journal_head_read(journal_bytes(ret_value), journal_bytes(ret_key), &entry) != KNOT_OK ||
					    entry.change.serial_from != serial_from)) {
		code = journal_step(reader->cursor, true, ret_key, ret_value);
	}
	return code;
}

static knot_err_t reader_follow(reader_t *reader, uint32_t serial_from)
{
	MDB_val key, value;
	int code = reader_find(reader, serial_from, &key, &value);
	if (code != 0) {
		return journal_read_error(code);
	}
	uint32_t serial = serial_from;
	while (code == 0 && !reader->is_ended) {
		journal_entry_t entry;
		knot_err_t err = journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry);
		if (err == KNOT_OK && entry.change.serial_from != serial) {
			err = KNOT_EMALF;
		}
		if (err == KNOT_OK) {
			err = reader_show(reader, &entry);
		}
		if (err != KNOT_OK) {
			return err;
		}
		serial = entry.change.serial_to;
		code = journal_step(reader->cursor, false, &key, &value);
	}
	return code == MDB_NOTFOUND ? KNOT_OK : journal_read_error(code);
}

knot_err_t journal_each_from(
		journal_t *journal, knot_name_t zone, uint32_t serial_from, journal_visit_t visit, void *ctx)
{
	reader_t reader = { .journal = journal, .zone = zone, .visit = visit, .ctx = ctx };
	int code = reader_begin(&reader);
	if (code != 0) {
		return journal_read_error(code);
	}
	knot_err_t err = reader_follow(&reader, serial_from);
	reader_end(&reader);
	return err;
}

static knot_err_t reader_show_whole(reader_t *reader)
{
	MDB_val key, value;
	int code = journal_seek(reader->cursor, reader->zone, JOURNAL_KEY_WHOLE, 0, &key, &value);
	journal_entry_t entry;
	knot_err_t err = journal_read_error(code);
	if (err == KNOT_OK) {
		err = journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry);
	}
	return err == KNOT_OK ? reader_show(reader, &entry) : err;
}

knot_err_t journal_read_zone(journal_t *journal, knot_name_t zone, journal_visit_t visit, void *ctx)
{
	reader_t reader = { .journal = journal, .zone = zone, .visit = visit, .ctx = ctx };
	int code = reader_begin(&reader);
	if (code != 0) {
		return journal_read_error(code);
	}
	knot_err_t err = reader_show_whole(&reader);
	reader_end(&reader);
	return err;
}

/* One of the two sequences of which a zone's history is made. */
typedef struct {
	MDB_cursor *cursor;
	MDB_val key, value;
	int code;
	uint64_t number; /* of the entry that it is at */
} run_t;

static void run_look(run_t *run)
{
	knot_name_t name;
	journal_key_kind_t kind;
	if (run->code == 0 && !journal_key_read(journal_bytes(&run->key), &name, &kind, &run->number)) {
		run->code = MDB_CORRUPTED;
	}
}

/* Show changes and notes by their numbers. Damaged ones are left out, and make it KNOT_EMALF. */
static knot_err_t reader_show_runs(reader_t *reader, run_t runs[static 2], bool *ret_any)
{
	bool is_damaged = false;
	while (!reader->is_ended) {
		run_t *run = runs[0].code != 0                                      ? &runs[1]
			     : runs[1].code == 0 && runs[1].number < runs[0].number ? &runs[1]
										    : &runs[0];
		if (run->code != 0) {
			break;
		}
		*ret_any = true;
		journal_entry_t entry;
		knot_err_t err = journal_head_read(journal_bytes(&run->value), journal_bytes(&run->key), &entry);
		err = err == KNOT_OK ? reader_show(reader, &entry) : err;
		if (err != KNOT_OK && err != KNOT_EMALF) {
			return err;
		}
		is_damaged = is_damaged || err == KNOT_EMALF;
		run->code = journal_step(run->cursor, false, &run->key, &run->value);
		run_look(run);
	}
	for (int i = 0; i < 2; i++) {
		if (runs[i].code != 0 && runs[i].code != MDB_NOTFOUND) {
			return journal_read_error(runs[i].code);
		}
	}
	return is_damaged ? KNOT_EMALF : KNOT_OK;
}

static knot_err_t reader_show_all(reader_t *reader)
{
	knot_err_t whole = reader_show_whole(reader);
	if (whole != KNOT_OK && whole != KNOT_ENOENT && whole != KNOT_EMALF) {
		return whole;
	}
	run_t runs[2] = { { .cursor = reader->cursor }, { 0 } };
	int code = mdb_cursor_open(reader->txn, reader->journal->lmdb.dbi, &runs[1].cursor);
	if (code != 0) {
		return journal_read_error(code);
	}
	for (int i = 0; i < 2; i++) {
		runs[i].code = journal_seek(runs[i].cursor, reader->zone,
				i == 0 ? JOURNAL_KEY_CHANGE : JOURNAL_KEY_NOTE, 0, &runs[i].key, &runs[i].value);
		run_look(&runs[i]);
	}
	bool any = whole != KNOT_ENOENT;
	knot_err_t err = reader_show_runs(reader, runs, &any);
	mdb_cursor_close(runs[1].cursor);
	return err != KNOT_OK ? err : whole == KNOT_EMALF ? KNOT_EMALF : any ? KNOT_OK : KNOT_ENOENT;
}

knot_err_t journal_each(journal_t *journal, knot_name_t zone, journal_visit_t visit, void *ctx)
{
	reader_t reader = { .journal = journal, .zone = zone, .visit = visit, .ctx = ctx };
	int code = reader_begin(&reader);
	if (code != 0) {
		return journal_read_error(code);
	}
	knot_err_t err = reader_show_all(&reader);
	reader_end(&reader);
	return err;
}

/* ---- Facts ---- */

static void info_find_whole(reader_t *reader, journal_info_t *info)
{
	MDB_val key, value;
	journal_entry_t entry;
	if (journal_seek(reader->cursor, reader->zone, JOURNAL_KEY_WHOLE, 0, &key, &value) == 0 &&
			journal_head_read(journal_bytes(&value), journal_bytes(&key), &entry) == KNOT_OK) {
		info->serial_whole = entry.change.serial_to;
	}
}

knot_err_t journal_info(journal_t *journal, knot_name_t zone, journal_info_t *ret_info)
{
	reader_t reader = { .journal = journal, .zone = zone };
	int code = reader_begin(&reader);
	if (code != 0) {
		return journal_read_error(code);
	}
	journal_meta_t meta;
	bool damaged;
	code = journal_load_meta(journal, reader.txn, zone, &meta, &damaged);
	if (code == 0) {
		*ret_info = (journal_info_t){
			.has_whole = (meta.flags & JOURNAL_HAS_WHOLE) != 0,
			.has_changes = meta.count > 0,
			.has_flushed = (meta.flags & JOURNAL_HAS_FLUSHED) != 0,
			.serial_first = meta.serial_first,
			.serial_last = meta.serial_last,
			.serial_flushed = meta.serial_flushed,
			.changes = meta.count,
			.notes = meta.notes,
			.bytes = meta.bytes,
		};
		if (ret_info->has_whole) {
			info_find_whole(&reader, ret_info);
		}
	}
	reader_end(&reader);
	return journal_read_error(code);
}

/* The name in the first key that is greater than `key`. MDB_NOTFOUND: there is none. */
static int zone_read_next(const journal_t *journal, MDB_txn *txn, MDB_val key, uint8_t *wire, knot_name_t *ret_zone)
{
	MDB_cursor *cursor;
	MDB_val value;
	int code = mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return code;
	}
	code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	knot_name_t zone;
	journal_key_kind_t kind;
	uint64_t number;
	if (code == 0 && key.mv_size > 0 && *(const uint8_t *)key.mv_data == JOURNAL_KEY_FORMAT) {
		code = MDB_NOTFOUND;
	} else if (code == 0 && !journal_key_read(journal_bytes(&key), &zone, &kind, &number)) {
		code = MDB_CORRUPTED;
	}
	if (code == 0) {
		memcpy(wire, zone.wire, zone.len);
		*ret_zone = (knot_name_t){ wire, zone.len, zone.label_count };
	}
	mdb_cursor_close(cursor);
	return code;
}

/* The first zone whose name is greater than the `len` bytes in `wire`; its name is copied there. */
static int zone_find_next(journal_t *journal, uint8_t wire[static KNOT_NAME_MAX + 1], size_t len, knot_name_t *ret_zone)
{
	MDB_txn *txn;
	wire[len] = len > 0 ? JOURNAL_KEY_END : 0;
	knot_bytes_t from = { wire, len + 1 };
	int code = journal_begin_read(journal, from, from, &txn);
	if (code == 0) {
		code = zone_read_next(journal, txn, (MDB_val){ len + 1, wire }, wire, ret_zone);
		journal_end_read(journal, txn);
	}
	return code;
}

knot_err_t journal_each_zone(journal_t *journal, bool (*visit)(knot_name_t zone, void *ctx), void *ctx)
{
	uint8_t wire[KNOT_NAME_MAX + 1];
	knot_name_t zone = { wire, 0, 0 };
	int code = zone_find_next(journal, wire, 0, &zone);
	while (code == 0 && visit(zone, ctx)) {
		code = zone_find_next(journal, wire, zone.len, &zone);
	}
	return code == MDB_NOTFOUND ? KNOT_OK : journal_read_error(code);
}

journal_usage_t journal_usage(journal_t *journal)
{
	journal_usage_t usage = { .max = journal->params.size_max };
	MDB_txn *txn;
	static const uint8_t none[1]; /* what is read has been checked */
	knot_bytes_t key = { none, sizeof(none) };
	if (journal_begin_read(journal, key, key, &txn) != 0) {
		return usage;
	}
	MDB_envinfo info;
	if (mdb_env_info(journal->lmdb.env, &info) == 0) {
		usage.max = info.me_mapsize;
		usage.used = (info.me_last_pgno + 1 - sys_lmdb_free_pages(txn)) * journal->lmdb.page_len;
	}
	journal_end_read(journal, txn);
	return usage;
}
