/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The record of one image, as bytes: what is stored of a zone, where its chunks are, and for small zones the chunks
 * themselves.
 *
 * Bytes on disk: doc/formats/zone-image.md. Reading checks everything that a number in it could lead to, so a damaged
 * record whose checksum is right by chance does no harm. Pure; no state, any thread.
 */
#pragma once

#include "src/store/store.h"

enum {
	STORE_RECORD_FORMAT = 1,
	STORE_RECORD_INLINE = 1, /* flag: the bytes of the chunks follow, there are no pieces */
	STORE_RECORD_AHEAD = 2,  /* flag: store_image_t.is_ahead */
	STORE_CHUNKS_MAX = 1 << 20,
	STORE_PIECES_MAX = 1 << 22,
};

/** A value of LMDB that holds a part of a chunk. Pieces stand in the order of chunks and offsets, without gaps, none
 * spans two chunks. */
typedef struct {
	uint64_t checksum; /* XXH3, 64 bits */
	uint32_t number;   /* of its key */
	uint32_t len;      /* bytes, not 0 */
} store_piece_t;

/** A record as fields; what it points to is borrowed. */
typedef struct {
	knot_name_t zone; /* lower case */
	uint64_t lineage, saved_s, settings;
	uint64_t id;         /* of the image: first part of the keys of its pieces */
	uint32_t piece_next; /* numbers from here on were never used with this id */
	uint32_t format, serial;
	uint32_t flags;
	knot_bytes_t head;
	const uint64_t *chunk_lens;
	const store_piece_t *pieces;
	uint32_t chunk_count, piece_count, source_count;
	uint64_t size;                 /* bytes of all chunks */
	const uint8_t *packed_sources; /* after reading: for store_record_sources() */
	const uint8_t *packed_paths;
	const uint8_t *inline_bytes; /* after reading, with STORE_RECORD_INLINE: all chunks, `size` bytes */
} store_record_t;

/** Bytes of a record with these sources, without the chunks' bytes of an inline one. */
size_t store_record_len(const store_record_t *record, const store_source_t *sources);

/**
 * Write a record into `ret_bytes`, store_record_len() bytes and for an inline one the bytes of chunks, which are copied
 * from `chunks`. The zone's name is written in lower case. Pointers `packed_…` and `inline_bytes` aren't used.
 */
void store_record_write(const store_record_t *record, const store_source_t *sources, const knot_bytes_t *chunks,
		uint8_t *ret_bytes);

/**
 * Read a record. bytes: aligned to 8, and valid as long as the record is used.
 * KNOT_EMALF: damaged; KNOT_ENOTSUP: of another format or byte order. *ret_what is then set to a static text: what is
 * wrong.
 */
KNOT_MUST_USE knot_err_t store_record_read(knot_bytes_t bytes, store_record_t *ret_record, const char **ret_what);

/** True if these bytes begin like a record, of either byte order. Doesn't check whether it is whole. */
bool store_record_is_one(knot_bytes_t bytes);

/** Unpack the sources of a record that was read: source_count of them, borrowed from its bytes. */
void store_record_sources(const store_record_t *record, store_source_t *ret_sources);
