/* SPDX-License-Identifier: BSD-2-Clause */
/** What must be written to save one image, given what is stored for its zone. Pure. */
#pragma once

#include "src/store/record.h"

/** A piece to be written: bytes of a chunk. */
typedef struct {
	uint32_t index; /* of record.pieces */
	uint32_t chunk;
	uint64_t offset; /* in the chunk */
} store_part_t;

typedef struct {
	const store_image_t *image;
	store_record_t record; /* the new one; pieces[].checksum of parts is still to be set */
	store_piece_t *pieces; /* owned; record.pieces */
	uint64_t *chunk_lens;  /* owned; record.chunk_lens */
	store_part_t *parts;   /* owned */
	uint32_t part_count;
	uint32_t *dropped; /* owned: numbers of pieces of this id that are not needed any more */
	uint32_t dropped_count;
	bool replaces; /* all pieces of `replaced_id` go */
	uint64_t replaced_id;
	bool is_appended;    /* set by the writer: the record became the last one of all */
	uint64_t part_bytes; /* bytes of all parts, or of an inline record's chunks */
	size_t record_len;   /* bytes of the new record with inline chunks */
} store_plan_t;

/**
 * Plan to save `image`. old: what is stored, or NULL. new_id: for an image that doesn't grow out of what is stored.
 * KNOT_ENOMEM; KNOT_ERANGE: it exceeds a limit of store.h or record.h, and can't be stored.
 */
KNOT_MUST_USE knot_err_t store_plan(const store_image_t *image, const store_record_t *old, uint64_t new_id,
		uint32_t format, uint64_t saved_s, store_plan_t *ret_plan);

/** Frees what it owns. One of zeros is allowed. */
void store_plan_done(store_plan_t *plan);
