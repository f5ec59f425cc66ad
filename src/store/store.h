/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zone images in LMDB: chunks of bytes and a head per zone, written so that a zone's image is whole or is not there.
 *
 * Owns the environment in one folder. Knows nothing of zones but their names: what a head says and what chunks hold is the
 * caller's (src/zone/image.h). Layout, checksums, and what happens in a crash: doc/formats/zone-image.md.
 * Any thread may read; one thread at a time saves or removes (LMDB has one writer; others would wait for it). Nothing is
 * logged here: what is wrong comes back as an error and a text.
 */
#pragma once

#include "libknot/name/name.h"

typedef struct store store_t;

enum { STORE_REASON_MAX = 256 };

/** Why something failed, for a log line: what, where, and what to do. */
typedef struct {
	char text[STORE_REASON_MAX];
} store_reason_t;

/**
 * Open (make, if there is none) the environment in the folder `path`, whose parent must exist. size_max: bytes, LMDB's map size.
 * What an interrupted save left behind is removed. An environment of another format or byte order, or one that LMDB refuses as
 * damaged, is set aside (renamed) and a new one made; ret_reason then says so with KNOT_OK, else its text is empty.
 * KNOT_EACCES, KNOT_ENOMEM, KNOT_EBUSY (another process writes to it), KNOT_EFILE …: ret_reason says more.
 */
KNOT_MUST_USE knot_err_t store_open(const char *path, uint64_t size_max, store_t **ret_store, store_reason_t *ret_reason);

/** After the last reader and writer. NULL is allowed. */
void store_close(store_t *take_store);

/* ---- Saving ---- */

/** One version of a zone, borrowed for the call. */
typedef struct {
	knot_name_t zone;
	uint64_t lineage;            /* chunks of one lineage only grow at their end: what is stored of them stays as it is */
	knot_bytes_t head;           /* opaque; at most 64 KiB */
	const knot_bytes_t *chunks;  /* the bytes in use of each */
	uint32_t chunk_count;
} store_image_t;

/** What a save has done. */
typedef struct {
	uint64_t written;            /* bytes of chunks; less than the images' size when parts had been stored before */
	uint32_t skipped;            /* images that are not stored because there was no room for them alone */
} store_saved_t;

/**
 * Save images, of different zones, durably: afterwards each is there as given, and after a crash each is as before or as given.
 * Only what is not yet stored of a lineage is written. Small images share a transaction; one that is larger than a transaction
 * should be is written in several, and becomes visible with the last.
 * KNOT_ESPACE: the map or the disk is full, KNOT_EFILE: another error of the disk; what was stored before is still there.
 */
KNOT_MUST_USE knot_err_t store_save(store_t *store, const store_image_t *images, size_t count, store_saved_t *ret_saved,
                                    store_reason_t *ret_reason);

/** Remove a zone's image. KNOT_ENOENT: there is none. Errors of store_save(). */
KNOT_MUST_USE knot_err_t store_remove(store_t *store, knot_name_t zone, store_reason_t *ret_reason);

/* ---- Reading ---- */

/** An image being read; a read transaction of LMDB: end it soon. */
typedef struct store_reader store_reader_t;

/** What is stored of a zone; borrowed from the reader. */
typedef struct {
	knot_bytes_t head;
	uint64_t lineage;
	uint64_t saved_s;            /* wall clock, seconds since 1970 */
	uint64_t size;               /* bytes of all chunks */
	const uint64_t *chunk_lens;  /* bytes */
	uint32_t chunk_count;
	uint32_t piece_count;        /* values that the chunks are stored in */
} store_view_t;

/**
 * Begin to read a zone's image. KNOT_ENOENT: there is none. KNOT_EMALF: it is damaged, KNOT_ENOTSUP: of another format or
 * byte order; ret_reason says what. ret_view is valid until store_read_end().
 */
KNOT_MUST_USE knot_err_t store_read_begin(store_t *store, knot_name_t zone, store_reader_t **ret_reader, store_view_t *ret_view,
                                          store_reason_t *ret_reason);

/** Copy a whole chunk to `to` (view.chunk_lens[chunk] bytes) and verify it. KNOT_EMALF: damaged. */
KNOT_MUST_USE knot_err_t store_read_chunk(store_reader_t *reader, uint32_t chunk, uint8_t *to, store_reason_t *ret_reason);

void store_read_end(store_reader_t *take_reader);

/** Calls `visit` with each zone that has an image, in canonical order of names, until it returns false. `name` is valid during the call. */
KNOT_MUST_USE knot_err_t store_each(store_t *store, bool (*visit)(knot_name_t name, void *ctx), void *ctx);

/** Bytes: what the environment takes up of its map, and the map. */
typedef struct {
	uint64_t used, max;
} store_room_t;

store_room_t store_room(const store_t *store);
