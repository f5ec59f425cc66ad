/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct store_reader {
	const store_t *store;
	MDB_txn *txn; /* keeps the pages of pieces as they are; NULL: there are none */
	void *copy;   /* owned: the bytes behind `record` */
	store_record_t record;
	uint64_t *piece_offs;    /* owned: of each piece in the data file */
	uint32_t *first_pieces;  /* owned: of each chunk */
	store_source_t *sources; /* owned */
};

enum {
	READ_AT_ONCE = 256 * 1024, /* bytes; they are still in a near cache when the checksum is computed */
	READ_AHEAD = 16, /* pieces: a disk that answers late is kept busy, whatever the kernel's own read-ahead is */
};

knot_err_t store_load_record(const store_t *store, MDB_txn *txn, knot_name_t zone, void **ret_copy,
		store_record_t *ret_record, const char **ret_what, int *ret_code)
{
	store_key_t name_key;
	store_key_head(zone, &name_key);
	MDB_val key = store_key_val(&name_key), value;
	*ret_code = mdb_get(txn, store->lmdb.dbi, &key, &value);
	if (*ret_code != 0) {
		return KNOT_ENOENT;
	}
	void *copy = malloc(value.mv_size > 0 ? value.mv_size : 1);
	if (copy == NULL) {
		*ret_what = "out of memory";
		return KNOT_ENOMEM;
	}
	memcpy(copy, value.mv_data, value.mv_size);
	knot_err_t err = store_record_read((knot_bytes_t){ copy, value.mv_size }, ret_record, ret_what);
	if (err == KNOT_OK && !knot_name_eq(ret_record->zone, zone)) {
		*ret_what = "its record is another zone's";
		err = KNOT_EMALF;
	}
	if (err != KNOT_OK) {
		free(copy);
		return err;
	}
	*ret_copy = copy;
	return KNOT_OK;
}

/* Find the pieces in the file. Addresses from LMDB are used only if they are within its map. */
static bool find_pieces(store_reader_t *reader)
{
	const store_t *store = reader->store;
	for (uint32_t i = 0; i < reader->record.piece_count; i++) {
		const store_piece_t *piece = &reader->record.pieces[i];
		store_key_t piece_key;
		store_key_piece(reader->record.id, piece->number, &piece_key);
		MDB_val key = store_key_val(&piece_key), value;
		if (mdb_get(reader->txn, store->lmdb.dbi, &key, &value) != 0 || value.mv_size != piece->len ||
				(const uint8_t *)value.mv_data < store->map) {
			return false;
		}
		uint64_t off = (uint64_t)((const uint8_t *)value.mv_data - store->map);
		if (off > store->lmdb.map_len || piece->len > store->lmdb.map_len - off) {
			return false;
		}
		reader->piece_offs[i] = off;
	}
	return true;
}

static bool index_parts(store_reader_t *reader)
{
	const store_record_t *record = &reader->record;
	reader->sources = malloc((record->source_count + 1) * sizeof(*reader->sources));
	reader->first_pieces = malloc((record->chunk_count + 1) * sizeof(*reader->first_pieces));
	reader->piece_offs = malloc((record->piece_count + 1) * sizeof(*reader->piece_offs));
	if (reader->sources == NULL || reader->first_pieces == NULL || reader->piece_offs == NULL) {
		return false;
	}
	store_record_sources(record, reader->sources);
	uint32_t piece = 0;
	for (uint32_t chunk = 0; chunk < record->chunk_count; chunk++) {
		reader->first_pieces[chunk] = piece;
		for (uint64_t got = 0; piece < record->piece_count && got < record->chunk_lens[chunk]; piece++) {
			got += record->pieces[piece].len;
		}
	}
	return true;
}

static knot_err_t read_begin(store_reader_t *reader, knot_name_t zone, store_reason_t *ret_reason)
{
	const store_t *store = reader->store;
	int code = sys_lmdb_begin(&store->lmdb, MDB_RDONLY, &reader->txn);
	if (code != 0) {
		reader->txn = NULL;
		return sys_lmdb_fail(&store->lmdb, code, "reading the database", ret_reason);
	}
	const char *what = "";
	knot_err_t err = store_load_record(store, reader->txn, zone, &reader->copy, &reader->record, &what, &code);
	if (err == KNOT_ENOENT && code != MDB_NOTFOUND) {
		return sys_lmdb_fail(&store->lmdb, code, "reading the database", ret_reason);
	}
	if (err == KNOT_OK && store->format != 0 && store->format != reader->record.format) {
		sys_lmdb_say(ret_reason, "it has format %u, not %u", reader->record.format, store->format);
		return KNOT_ENOTSUP;
	}
	if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "%s", err == KNOT_ENOENT ? "there is none" : what);
		return err;
	}
	if (!index_parts(reader)) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	if (!find_pieces(reader)) {
		sys_lmdb_say(ret_reason, "parts of it are missing");
		return KNOT_EMALF;
	}
	return KNOT_OK;
}

knot_err_t store_read_begin(store_t *store, knot_name_t zone, store_reader_t **ret_reader, store_view_t *ret_view,
		store_reason_t *ret_reason)
{
	store_reader_t *reader = calloc(1, sizeof(*reader));
	if (reader == NULL) {
		sys_lmdb_say(ret_reason, "out of memory");
		return KNOT_ENOMEM;
	}
	reader->store = store;
	knot_err_t err = read_begin(reader, zone, ret_reason);
	if (err != KNOT_OK) {
		store_read_end(reader);
		return err;
	}
	const store_record_t *record = &reader->record;
	if (record->piece_count == 0) {
		mdb_txn_abort(reader->txn);
		reader->txn = NULL;
	}
	*ret_view = (store_view_t){
		.head = record->head,
		.sources = reader->sources,
		.source_count = record->source_count,
		.serial = record->serial,
		.settings = record->settings,
		.format = record->format,
		.lineage = record->lineage,
		.saved_s = record->saved_s,
		.size = record->size,
		.chunk_lens = record->chunk_lens,
		.chunk_count = record->chunk_count,
		.piece_count = record->piece_count,
		.is_ahead = record->flags & STORE_RECORD_AHEAD,
	};
	ret_reason->text[0] = '\0';
	*ret_reader = reader;
	return KNOT_OK;
}

/* Read from the file, not from the map: the kernel reads ahead, no page is mapped, and a file that got shorter is an
 * error, not a SIGBUS. */
static knot_err_t read_bytes(int fd, uint64_t off, uint8_t *to, size_t len)
{
	while (len > 0) {
		ssize_t got = pread(fd, to, len, (off_t)off);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return got == 0 ? KNOT_EMALF : KNOT_EFILE;
		}
		to += got;
		off += (size_t)got;
		len -= (size_t)got;
	}
	return KNOT_OK;
}

/* Ask the kernel for a piece that is needed soon; with the first one, for all up to it. A failure does no harm. */
static void ask_ahead(const store_reader_t *reader, uint32_t number)
{
	uint32_t first = number == 0 ? 0 : number + READ_AHEAD;
	for (uint32_t i = first; i <= number + READ_AHEAD && i < reader->record.piece_count; i++) {
		(void)posix_fadvise(reader->store->lmdb.fd, (off_t)reader->piece_offs[i], reader->record.pieces[i].len,
				POSIX_FADV_WILLNEED);
	}
}

static knot_err_t read_piece(const store_reader_t *reader, uint32_t number, uint8_t *to, store_reason_t *ret_reason)
{
	assert(number < reader->record.piece_count && reader->txn != NULL); /* without it pages are reused */
	const store_piece_t *piece = &reader->record.pieces[number];
	XXH3_state_t sum;
	XXH3_64bits_reset(&sum);
	ask_ahead(reader, number);
	for (uint32_t done = 0; done < piece->len;) {
		uint32_t len = piece->len - done < READ_AT_ONCE ? piece->len - done : READ_AT_ONCE;
		knot_err_t err = read_bytes(reader->store->lmdb.fd, reader->piece_offs[number] + done, to + done, len);
		if (err == KNOT_EFILE) {
			return sys_lmdb_fail(&reader->store->lmdb, errno, "reading the database", ret_reason);
		}
		if (err != KNOT_OK) {
			sys_lmdb_say(ret_reason, "the database's file is too short");
			return err;
		}
		XXH3_64bits_update(&sum, to + done, len);
		done += len;
	}
	if (XXH3_64bits_digest(&sum) != piece->checksum) {
		sys_lmdb_say(ret_reason, "a checksum does not match");
		return KNOT_EMALF;
	}
	return KNOT_OK;
}

static void copy_inline(const store_record_t *record, uint32_t chunk, uint8_t *to)
{
	assert(record->inline_bytes != NULL && chunk < record->chunk_count);
	const uint8_t *from = record->inline_bytes;
	for (uint32_t i = 0; i < chunk; i++) {
		from += record->chunk_lens[i];
	}
	if (record->chunk_lens[chunk] > 0) {
		memcpy(to, from, record->chunk_lens[chunk]);
	}
}

knot_err_t store_read_chunk(store_reader_t *reader, uint32_t chunk, uint8_t *to, store_reason_t *ret_reason)
{
	assert(chunk < reader->record.chunk_count);
	const store_record_t *record = &reader->record;
	if (record->flags & STORE_RECORD_INLINE) {
		copy_inline(record, chunk, to);
		return KNOT_OK;
	}
	uint32_t piece = reader->first_pieces[chunk];
	for (uint64_t done = 0; done < record->chunk_lens[chunk]; piece++) {
		knot_err_t err = read_piece(reader, piece, to + done, ret_reason);
		if (err != KNOT_OK) {
			return err;
		}
		done += record->pieces[piece].len;
	}
	return KNOT_OK;
}

void store_read_end(store_reader_t *take_reader)
{
	assert(take_reader != NULL);
	if (take_reader->txn != NULL) {
		mdb_txn_abort(take_reader->txn);
	}
	free(take_reader->copy);
	free(take_reader->piece_offs);
	free(take_reader->first_pieces);
	free(take_reader->sources);
	free(take_reader);
}

/* ---- All ---- */

enum {
	SLICE = 256,   /* records read in one transaction, which ends before they are visited */
	KEY_MAX = 511, /* bytes; LMDB's */
};

typedef struct {
	bool (*visit)(knot_name_t name, void *ctx); /* NULL: only count */
	void *ctx;
	uint8_t last[KEY_MAX];           /* key of the record that was read last */
	size_t last_len;                 /* 0: none was */
	uint8_t (*names)[KNOT_NAME_MAX]; /* owned: of a slice */
	size_t count;                    /* of these */
	size_t damaged;
} walk_t;

/* The name in a head's record is behind parts of varying length, so the record is read; a damaged one has no known
 * name. */
static bool note_record(const MDB_val *value, walk_t *walk)
{
	assert(walk->count < SLICE);
	void *copy = malloc(value->mv_size > 0 ? value->mv_size : 1);
	if (copy == NULL) {
		return false;
	}
	memcpy(copy, value->mv_data, value->mv_size);
	store_record_t record;
	const char *what;
	if (store_record_read((knot_bytes_t){ copy, value->mv_size }, &record, &what) == KNOT_OK) {
		memcpy(walk->names[walk->count++], record.zone.wire, record.zone.len);
	} else {
		walk->damaged++;
	}
	free(copy);
	return true;
}

/* The records behind the last one, at most SLICE. MDB_NOTFOUND: these are the last ones. */
static int look_at_slice(MDB_cursor *cursor, walk_t *walk)
{
	uint8_t kind = STORE_KEY_HEAD;
	MDB_val first = { 1, &kind }, last = { walk->last_len, walk->last };
	MDB_val key = walk->last_len == 0 ? first : last, value;
	int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
	if (code == 0 && key.mv_size == walk->last_len && memcmp(key.mv_data, walk->last, walk->last_len) == 0) {
		code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
	}
	for (unsigned i = 0; code == 0; i++) {
		if (*(const uint8_t *)key.mv_data != STORE_KEY_HEAD) {
			return MDB_NOTFOUND;
		}
		if (i == SLICE) {
			return 0;
		}
		walk->last_len = key.mv_size < sizeof(walk->last) ? key.mv_size : sizeof(walk->last);
		memcpy(walk->last, key.mv_data, walk->last_len);
		code = note_record(&value, walk) ? mdb_cursor_get(cursor, &key, &value, MDB_NEXT) : ENOMEM;
	}
	return code;
}

static int read_slice(store_t *store, walk_t *walk)
{
	MDB_txn *txn;
	MDB_cursor *cursor;
	walk->count = 0;
	int code = sys_lmdb_begin(&store->lmdb, MDB_RDONLY, &txn);
	if (code != 0) {
		return code;
	}
	code = mdb_cursor_open(txn, store->lmdb.dbi, &cursor);
	if (code == 0) {
		code = look_at_slice(cursor, walk);
		mdb_cursor_close(cursor);
	}
	mdb_txn_abort(txn);
	return code;
}

static knot_err_t walk_records(store_t *store, walk_t *walk)
{
	store_reason_t ignored;
	walk->names = malloc(SLICE * sizeof(*walk->names));
	if (walk->names == NULL) {
		return KNOT_ENOMEM;
	}
	int code = 0;
	for (bool goes_on = true; goes_on && code == 0;) {
		code = read_slice(store, walk);
		bool is_read = code == 0 || code == MDB_NOTFOUND;
		for (size_t i = 0; is_read && goes_on && walk->visit != NULL && i < walk->count; i++) {
			goes_on = walk->visit(knot_name_of(walk->names[i]), walk->ctx);
		}
	}
	free(walk->names);
	return code == 0 || code == MDB_NOTFOUND ? KNOT_OK
						 : sys_lmdb_fail(&store->lmdb, code, "reading the database", &ignored);
}

knot_err_t store_each(store_t *store, bool (*visit)(knot_name_t name, void *ctx), void *ctx)
{
	assert(visit != NULL);
	return walk_records(store, &(walk_t){ .visit = visit, .ctx = ctx });
}

knot_err_t store_count_damaged(store_t *store, size_t *ret_count)
{
	walk_t walk = { .visit = NULL };
	knot_err_t err = walk_records(store, &walk);
	if (err == KNOT_OK) {
		*ret_count = walk.damaged;
	}
	return err;
}
