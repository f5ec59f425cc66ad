/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A zone version as bytes that can be stored and become the same version again: a head, and the arena's chunks as they
 * are.
 *
 * The head is plain data in host byte order without pointers or padding. Whoever stores it guards it against damage
 * (src/store: checksums, format, byte order); here only what would lead out of the chunks is checked. Pure; any thread
 * that holds the version.
 */
#pragma once

#include "src/zone/contents.h"

/** Number of the layout of nodes, trees, link table and this head. Whoever changes one of them adds 1. */
enum { ZONE_IMAGE_FORMAT = 1 };

typedef struct zone_image_head zone_image_head_t;

/** Bytes of a head. */
extern const size_t zone_image_head_len;

/** Write the head of `zone` (zone_image_head_len bytes). */
void zone_image_write_head(const zone_contents_t *zone, uint8_t *ret_head);

/** Names the chain of versions whose chunks only grow: random, the same for versions that share chunks, kept in the
 * image. */
uint64_t zone_image_lineage(const zone_contents_t *zone);

/**
 * Chunks of the version, and the bytes in use of one: what was published never changes. Valid as long as the version.
 */
uint32_t zone_image_chunk_count(const zone_contents_t *zone);
knot_bytes_t zone_image_chunk(const zone_contents_t *zone, uint32_t chunk);

/**
 * Another hold on a version, so that it can be saved while newer ones are published and it is freed: shares its chunks.
 * To be freed with zone_contents_free(). Not to be published or to begin a transaction with. Caller: in a read section,
 * or the zone's job. NULL: out of memory.
 */
zone_contents_t *zone_image_hold(const zone_contents_t *zone);

/* ---- Reading ---- */

typedef struct zone_image_reader zone_image_reader_t;

/** Begin to make a version from its head and the bytes in use of each chunk. KNOT_EMALF: they don't fit together.
 * KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_image_read_begin(
		knot_bytes_t head, const uint64_t *chunk_lens, uint32_t chunk_count, zone_image_reader_t **ret_reader);

/** Where the bytes of a chunk go: chunk_lens[chunk] bytes, to be filled before the end. */
uint8_t *zone_image_read_chunk(zone_image_reader_t *reader, uint32_t chunk);

/**
 * The version, whose apex must be `origin`; transactions may begin with it. The reader is gone afterwards.
 * KNOT_EMALF: roots lead out of the chunks, or it is another zone.
 */
KNOT_MUST_USE knot_err_t zone_image_read_end(
		zone_image_reader_t *take_reader, knot_name_t origin, zone_contents_t **ret_zone);

/** Give up. NULL is allowed. */
void zone_image_read_discard(zone_image_reader_t *take_reader);
