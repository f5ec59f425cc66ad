/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: move what a tree has in some chunks to others, a part of the tree at a time. Records elsewhere aren't read:
 * the cost is that of reading the arrays of twigs, and of what moves. One writer.
 */
#pragma once

#include "src/zone/tree.h"

/** Chunks that are to become empty: a bit for each number. */
typedef struct {
	const uint64_t *bits;
	uint32_t chunk_count; /* of these; others stay */
} zone_leaving_t;

static inline bool zone_is_leaving(const zone_leaving_t *leaving, zone_ref_t ref)
{
	uint32_t chunk = ref >> ZONE_CHUNK_OFFSET_BITS;
	return chunk < leaving->chunk_count && (leaving->bits[chunk / 64] >> chunk % 64 & 1);
}

/** Where a walk that ended early goes on: at the first name that is not before this one. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	uint8_t len, label_count; /* len 0: at the beginning */
} zone_tree_place_t;

typedef struct {
	zone_arena_t *arena;
	zone_leaving_t leaving;
	/* Copies a record that is in a leaving chunk and drops it. Returns the copy's reference, or that of the record
	 * itself if it has to stay; 0: out of memory. *ret_len: bytes copied. */
	zone_ref_t (*move)(zone_ref_t record, void *ctx, size_t *ret_len);
	void *ctx;
	size_t steps;    /* how much may be done: about 20 ns each. What is left of it after a walk */
	knot_name_t end; /* the walk ends in front of this name; wire NULL: at the last one */
} zone_tree_move_t;

/**
 * Move records and arrays from `place` on until there are none or no steps are left; *place then says where to go on,
 * and is the beginning again if it was the end. KNOT_ENOMEM: give up the transaction.
 */
KNOT_MUST_USE knot_err_t zone_tree_move(zone_tree_move_t *move, zone_tree_t *tree, zone_tree_place_t *place);
