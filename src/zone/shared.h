/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: an index of the RRsets that nodes of a version share, by a hash of their bytes, so that a transaction finds
 * them and knows when the last user of one is gone.
 *
 * A tree (tree.h) of records that are nodes: the owner is a label of the hash in hexadecimal digits, the one RRset is
 * the shared one, and the number that nodes keep for links is the number of users. There is at most one of each hash.
 * One writer.
 */
#pragma once

#include "src/zone/node_build.h"
#include "src/zone/tree.h"

/** The shared RRset of these bytes, which gets one more user; 0: there is none, or no memory. */
zone_ref_t zone_shared_use(zone_arena_t *arena, zone_tree_t *tree, uint32_t hash, const uint8_t *bytes, size_t len);

/** A user of the shared RRset at `ref` is gone; the last one takes it along. KNOT_ENOMEM: give up the transaction. */
KNOT_MUST_USE knot_err_t zone_shared_leave(zone_arena_t *arena, zone_tree_t *tree, zone_ref_t ref);

/** Make the index of what a builder shared. KNOT_ENOMEM: free the arena. */
KNOT_MUST_USE knot_err_t zone_shared_build(zone_arena_t *arena, zone_node_builder_t *builder, zone_tree_t *ret_tree);
