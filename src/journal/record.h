/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Keys and values of the journal's database as bytes: what is known of a zone's journal, and the head of an entry.
 *
 * Bytes on disk: doc/formats/journal.md. Each value begins with a checksum of itself and of its key, so bytes that
 * are damaged, or are found at another key, are noticed. Pure; no state, any thread.
 */
#pragma once

#include "src/journal/journal.h"

#include <assert.h>

/* ---- Keys: the zone's name in wire form and lower case, then of what, then numbers, big endian ---- */

typedef enum {
	JOURNAL_KEY_META,   /* the journal of the zone as a whole, journal_meta_t */
	JOURNAL_KEY_WHOLE,  /* number: head of the whole zone; one at most */
	JOURNAL_KEY_CHANGE, /* number: head of a change */
	JOURNAL_KEY_NOTE,   /* number: head of a note */
	JOURNAL_KEY_PIECE,  /* number, part (series and piece): bytes of an entry */
	JOURNAL_KEY_END,    /* behind all of the zone */
} journal_key_kind_t;

enum {
	JOURNAL_KEY_NUMBER = 8, /* bytes */
	JOURNAL_KEY_PART = 4,
	JOURNAL_KEY_MAX = KNOT_NAME_MAX + 1 + JOURNAL_KEY_NUMBER + JOURNAL_KEY_PART,
	JOURNAL_KEY_FORMAT = 0xff, /* the only key that doesn't begin with a name: the first length is at most 63 */
};

typedef struct {
	uint8_t bytes[JOURNAL_KEY_MAX];
	uint16_t len, name_len;
} journal_key_t;

/** The key of a zone as a whole; JOURNAL_KEY_META has no number, only pieces have a part. */
void journal_key(knot_name_t zone, journal_key_kind_t kind, uint64_t number, uint32_t part, journal_key_t *ret_key);

/** The same of the zone that a key is of. */
void journal_key_change(journal_key_t *key, journal_key_kind_t kind, uint64_t number, uint32_t part);

/** What a key of the database is; name: a view into it. False: it isn't one of ours. */
bool journal_key_read(knot_bytes_t key, knot_name_t *ret_zone, journal_key_kind_t *ret_kind, uint64_t *ret_number);

/* ---- Values ---- */

enum {
	JOURNAL_META_LEN = 72,
	JOURNAL_HEAD_LEN = 88,
	JOURNAL_CHECKSUM_LEN = 8,
	JOURNAL_PAGE = 4096, /* bytes of LMDB's pages, which begin with … */
	JOURNAL_PAGE_HEADER = 16,
	/* A head with its payload takes one page at most; about 2,000 bytes share a page with their neighbours. */
	JOURNAL_INLINE_MAX = JOURNAL_PAGE - JOURNAL_PAGE_HEADER,
	/* A piece with its checksum fills pages. ADR 32 has the measurements. */
	JOURNAL_PIECE_MAX = 4 * JOURNAL_PAGE - JOURNAL_PAGE_HEADER,
	JOURNAL_PAYLOAD_MAX = 1 << 30,
	/* The part of a piece: its series in the upper bits, then which piece it is. */
	JOURNAL_SERIES_SHIFT = 20,
	JOURNAL_SERIES_MAX = 1,
};

static_assert(JOURNAL_PAYLOAD_MAX / (JOURNAL_PIECE_MAX - JOURNAL_CHECKSUM_LEN) < 1 << JOURNAL_SERIES_SHIFT,
		"a piece's number fits");

/** The part of a piece. */
static inline uint32_t journal_part(uint32_t series, uint32_t piece)
{
	return series << JOURNAL_SERIES_SHIFT | piece;
}

enum {
	JOURNAL_HAS_WHOLE = 1,
	JOURNAL_HAS_LAST = 2,    /* serial_last is known */
	JOURNAL_HAS_FLUSHED = 4, /* serial_flushed is known */
	JOURNAL_HAS_LOOSE = 16,  /* there may be pieces that are no entry's */
	JOURNAL_IS_LOWERED = 8,  /* a change has a serial that isn't newer than the one before it */
};

/** What is known of a zone's journal. All zeros: it is empty. */
typedef struct {
	uint64_t next;    /* number of the next entry, from 1 */
	uint64_t whole;   /* number of the whole zone, if there is one */
	uint64_t flushed; /* changes up to this number are in the zone file */
	uint64_t bytes;   /* that the whole zone and the changes take up, about */
	uint64_t span;    /* sum of the changes' steps of the serial */
	uint32_t count;   /* changes */
	uint32_t notes;
	uint32_t serial_first, serial_last, serial_flushed;
	uint32_t flags; /* JOURNAL_HAS_… */
} journal_meta_t;

void journal_meta_write(const journal_meta_t *meta, knot_bytes_t key, uint8_t ret_bytes[static JOURNAL_META_LEN]);

/** KNOT_EMALF: damaged. */
KNOT_MUST_USE knot_err_t journal_meta_read(knot_bytes_t bytes, knot_bytes_t key, journal_meta_t *ret_meta);

/** Bytes of the value of an entry's head. */
size_t journal_head_len(const journal_entry_t *entry);

/** Parts that the payload is in besides the head; 0: it is within. */
uint32_t journal_head_pieces(const journal_entry_t *entry);

/** Write a head, with the payload if that is within. The entry's number is the key's. */
void journal_head_write(const journal_entry_t *entry, knot_bytes_t key, uint8_t *ret_bytes);

/**
 * Read a head; ret_entry->change.payload.data is NULL if the payload, whose length is known, is in pieces.
 * KNOT_EMALF: damaged.
 */
KNOT_MUST_USE knot_err_t journal_head_read(knot_bytes_t bytes, knot_bytes_t key, journal_entry_t *ret_entry);

/** A piece: checksum and `bytes`. ret_piece: JOURNAL_CHECKSUM_LEN + bytes.len. */
void journal_piece_write(knot_bytes_t bytes, knot_bytes_t key, uint8_t *ret_piece);
KNOT_MUST_USE knot_err_t journal_piece_read(knot_bytes_t piece, knot_bytes_t key, knot_bytes_t *ret_bytes);

/** Bytes that an entry takes up, about. key_len: of its head. */
uint64_t journal_cost(const journal_entry_t *entry, size_t key_len);
