/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/plan.h"

#include "src/store/internal.h"

#include "libknot/base/assert.h"

#include <stdlib.h>

static bool is_in_limits(const store_image_t *image)
{
	uint64_t pieces = 0;
	for (uint32_t i = 0; i < image->chunk_count && image->chunk_count <= STORE_CHUNKS_MAX; i++) {
		pieces += image->chunks[i].len / STORE_PIECE_MAX + 1;
	}
	for (uint32_t i = 0; i < image->source_count && image->source_count <= STORE_SOURCE_MAX; i++) {
		if (image->sources[i].path.len > STORE_PATH_MAX) {
			return false;
		}
	}
	return image->chunk_count <= STORE_CHUNKS_MAX && image->source_count <= STORE_SOURCE_MAX &&
	       image->head.len <= STORE_HEAD_MAX && pieces <= STORE_PIECES_MAX / 4;
}

/* True if `image` is what is stored, or that with more behind it and without some chunks. */
static bool grows_from(const store_image_t *image, const store_record_t *old, uint32_t format)
{
	if (old->lineage != image->lineage || old->format != format || old->flags & STORE_RECORD_INLINE ||
			old->chunk_count > image->chunk_count || old->piece_next > UINT32_MAX / 2) {
		return false;
	}
	for (uint32_t i = 0; i < old->chunk_count; i++) {
		if (image->chunks[i].len > 0 && old->chunk_lens[i] > image->chunks[i].len) {
			return false;
		}
	}
	return true;
}

static uint32_t pieces_of(uint64_t len)
{
	return (uint32_t)((len + STORE_PIECE_MAX - 1) / STORE_PIECE_MAX);
}

static void add_parts(store_plan_t *plan, uint32_t chunk, uint64_t from, uint64_t to)
{
	/* Pieces of one chunk have about the same size, so that a long run of pages that one leaves fits the next. */
	assert(from <= to);
	uint32_t count = pieces_of(to - from);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t len = (to - from) / (count - i);
		assert(len > 0 && len <= STORE_PIECE_MAX);
		plan->parts[plan->part_count++] = (store_part_t){ plan->record.piece_count, chunk, from };
		plan->pieces[plan->record.piece_count++] =
				(store_piece_t){ .number = plan->record.piece_next++, .len = (uint32_t)len };
		plan->part_bytes += len;
		from += len;
	}
}

/* The pieces of a chunk that is stored up to `stored`: kept, written again as fewer ones, or dropped with it. Then its
 * new bytes. */
static uint32_t plan_stored_chunk(
		store_plan_t *plan, const store_record_t *old, uint32_t chunk, uint32_t piece, bool merges)
{
	uint64_t stored = old->chunk_lens[chunk], len = plan->image->chunks[chunk].len;
	uint32_t first = piece;
	bool is_gone = len == 0;
	assert(stored <= len || is_gone);
	for (uint64_t got = 0; got < stored; piece++) {
		assert(piece < old->piece_count);
		got += old->pieces[piece].len;
	}
	bool anew = merges && piece - first + (len > stored) > pieces_of(len);
	for (uint32_t i = first; i < piece; i++) {
		if (anew || is_gone) {
			plan->dropped[plan->dropped_count++] = old->pieces[i].number;
		} else {
			plan->pieces[plan->record.piece_count++] = old->pieces[i];
		}
	}
	if (!is_gone) {
		add_parts(plan, chunk, anew ? 0 : stored, len);
	}
	return piece;
}

static void plan_growth(store_plan_t *plan, const store_record_t *old)
{
	assert(old->lineage == plan->image->lineage && !(old->flags & STORE_RECORD_INLINE));
	const store_image_t *image = plan->image;
	plan->record.id = old->id;
	plan->record.piece_next = old->piece_next;
	bool merges = old->piece_count > 2 * (uint64_t)image->chunk_count + 64;
	uint32_t piece = 0;
	for (uint32_t chunk = 0; chunk < image->chunk_count; chunk++) {
		if (chunk < old->chunk_count) {
			piece = plan_stored_chunk(plan, old, chunk, piece, merges);
		} else {
			add_parts(plan, chunk, 0, image->chunks[chunk].len);
		}
	}
}

static void plan_anew(store_plan_t *plan, const store_record_t *old, uint64_t new_id)
{
	plan->record.id = new_id;
	plan->replaces = old != NULL && old->piece_count > 0;
	plan->replaced_id = old != NULL ? old->id : 0;
	size_t bare = store_record_len(&plan->record, plan->image->sources);
	if (plan->record.size <= STORE_INLINE_MAX && bare + plan->record.size <= STORE_INLINE_MAX) {
		plan->record.flags |= STORE_RECORD_INLINE;
		plan->part_bytes = plan->record.size;
		return;
	}
	for (uint32_t chunk = 0; chunk < plan->image->chunk_count; chunk++) {
		add_parts(plan, chunk, 0, plan->image->chunks[chunk].len);
	}
}

/* True if the new record's pieces, kept ones and parts, fill the chunks in order, and each part is where its piece is.
 */
static bool plan_is_whole(const store_plan_t *plan)
{
	const store_record_t *record = &plan->record;
	uint32_t piece = 0, part = 0;
	uint64_t part_bytes = 0;
	if (record->flags & STORE_RECORD_INLINE) {
		return record->piece_count == 0 && plan->part_count == 0 && plan->part_bytes == record->size;
	}
	for (uint32_t chunk = 0; chunk < record->chunk_count; chunk++) {
		uint64_t done = 0;
		for (; done < record->chunk_lens[chunk] && piece < record->piece_count; piece++) {
			if (part < plan->part_count && plan->parts[part].index == piece) {
				if (plan->parts[part].chunk != chunk || plan->parts[part].offset != done) {
					return false;
				}
				part_bytes += record->pieces[piece].len;
				part++;
			}
			if (record->pieces[piece].number >= record->piece_next) {
				return false;
			}
			done += record->pieces[piece].len;
		}
		if (done != record->chunk_lens[chunk]) {
			return false;
		}
	}
	return piece == record->piece_count && part == plan->part_count && part_bytes == plan->part_bytes;
}

static knot_err_t allocate(store_plan_t *plan, const store_record_t *old)
{
	const store_image_t *image = plan->image;
	uint32_t old_count = old != NULL ? old->piece_count : 0;
	size_t new_count = 0;
	for (uint32_t i = 0; i < image->chunk_count; i++) {
		new_count += pieces_of(image->chunks[i].len) + 1;
	}
	plan->pieces = malloc((old_count + new_count + 1) * sizeof(*plan->pieces));
	plan->parts = malloc((new_count + 1) * sizeof(*plan->parts));
	plan->dropped = malloc((old_count + (size_t)1) * sizeof(*plan->dropped));
	plan->chunk_lens = malloc((image->chunk_count + (size_t)1) * sizeof(*plan->chunk_lens));
	return plan->pieces != NULL && plan->parts != NULL && plan->dropped != NULL && plan->chunk_lens != NULL
			       ? KNOT_OK
			       : KNOT_ENOMEM;
}

knot_err_t store_plan(const store_image_t *image, const store_record_t *old, uint64_t new_id, uint32_t format,
		uint64_t saved_s, store_plan_t *ret_plan)
{
	assert(image->chunk_count == 0 || image->chunks != NULL);
	assert(image->source_count == 0 || image->sources != NULL);
	if (!is_in_limits(image)) {
		return KNOT_ERANGE;
	}
	store_plan_t plan = {
		.image = image,
		.record = { .zone = image->zone,
				.lineage = image->lineage,
				.saved_s = saved_s,
				.settings = image->settings,
				.format = format,
				.serial = image->serial,
				.head = image->head,
				.chunk_count = image->chunk_count,
				.source_count = image->source_count,
				.flags = image->is_ahead ? STORE_RECORD_AHEAD : 0 },
	};
	if (allocate(&plan, old) != KNOT_OK) {
		store_plan_done(&plan);
		return KNOT_ENOMEM;
	}
	for (uint32_t i = 0; i < image->chunk_count; i++) {
		plan.chunk_lens[i] = image->chunks[i].len;
		plan.record.size += image->chunks[i].len;
	}
	plan.record.chunk_lens = plan.chunk_lens;
	plan.record.pieces = plan.pieces;
	if (old != NULL && grows_from(image, old, format)) {
		plan_growth(&plan, old);
	} else {
		plan_anew(&plan, old, new_id);
	}
	plan.record_len = store_record_len(&plan.record, image->sources) +
			  (plan.record.flags & STORE_RECORD_INLINE ? (size_t)plan.record.size : 0);
	KNOT_ASSERT_SLOW(plan_is_whole(&plan));
	*ret_plan = plan;
	return KNOT_OK;
}

void store_plan_done(store_plan_t *plan)
{
	free(plan->pieces);
	free(plan->parts);
	free(plan->dropped);
	free(plan->chunk_lens);
}
