/* SPDX-License-Identifier: BSD-2-Clause */
/** Internal to collect.c and collect_sort.c: the blocks that groups lie in. */
#pragma once

#include "src/zone/collect.h"

/* Blocks of ZONE_BLOCK_SIZE, the common size, and larger ones are mapped, smaller ones come from the heap. */
enum { ZONE_BLOCK_FIRST = 4 * 1024 }; /* bytes; blocks double from here */

struct zone_block {
	struct zone_block *next;
	size_t size;     /* bytes with this header */
	uint32_t number; /* in zone_collect_t.table */
	size_t used;     /* bytes with this header that hold groups; of a list's last block after zone_blocks_end() */
};

/** `len` bytes at the end of a list, 8-byte aligned. NULL: out of memory. */
void *zone_blocks_room(zone_collect_t *collect, zone_blocks_t *blocks, size_t len);

/** Nothing more is appended for now: note how much of the last block is used. */
void zone_blocks_end(zone_blocks_t *blocks);

/** Keep a block that is no longer in any list for reuse. */
void zone_blocks_recycle(zone_collect_t *collect, zone_block_mem_t *block);
void zone_blocks_drop_spare(zone_collect_t *collect);

/** The group behind `group` (NULL: the first) in a block whose `used` is set; NULL: none. */
zone_group_t *zone_block_next(const zone_block_mem_t *block, const zone_group_t *group);

/** Room for `len` more bytes at the end of the list's last group, which may move. KNOT_ENOMEM, KNOT_EZONESIZE: nothing
 * changed. */
KNOT_MUST_USE knot_err_t zone_group_grow(
		zone_collect_t *collect, zone_blocks_t *blocks, zone_group_t **group, size_t len);
