/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: is a node laid out as doc/formats/zone-node.md says? A slow check of what node_build.c has written, in
 * debug and sanitizer builds.
 *
 * Reads nothing outside of the node and the RRsets that it shares, so a test may pass it damaged nodes. Not for nodes
 * of an image: these are input.
 */
#pragma once

#include "src/zone/node.h"

/**
 * NULL, or what is wrong with a node of `size` bytes, as a static text. view: where shared RRsets are. Cost: a step
 * over each record.
 */
const char *zone_node_fault(const zone_arena_view_t *view, const zone_node_t *node, size_t size);

/** True if nothing is wrong with the node at `ref`, whose size is what its own parts say. */
static inline bool zone_node_is_sound(const zone_arena_view_t *view, zone_ref_t ref)
{
	const zone_node_t *node = zone_at(view, ref);
	return zone_node_fault(view, node, zone_node_size(node)) == NULL;
}
