/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A zone version as bytes that can be stored and restored to the same version: a head, and the arena's chunks
 * unchanged.
 *
 * The head is plain data in host byte order without pointers or padding. src/store guards it against damage
 * (checksums, format, byte order). Here only references that would lead out of the chunks are checked. Pure; any
 * thread that holds the version.
 */
#pragma once

#include "src/zone/contents.h"

/** Number of the layout of nodes, trees, link table and this head. If you change one of them, add 1. */
enum { ZONE_IMAGE_FORMAT = 2 };

typedef struct zone_image_head zone_image_head_t;

/** Bytes of a head. */
extern const size_t zone_image_head_len;

/** Write the head of `zone` (zone_image_head_len bytes). */
void zone_image_write_head(const zone_contents_t *zone, uint8_t *ret_head);

/** Random number of the chain of versions that share chunks, which only grow, or become empty for good. It is kept in
 * the image. */
uint64_t zone_image_lineage(const zone_contents_t *zone);

/**
 * Number of chunks of the version, and the bytes of one, which may be empty. Published bytes never change. Valid as
 * long as the version.
 */
uint32_t zone_image_chunk_count(const zone_contents_t *zone);
knot_bytes_t zone_image_chunk(const zone_contents_t *zone, uint32_t chunk);

/**
 * Another hold on a version, which shares its chunks: it can be saved while newer versions are published and the
 * version itself is freed. Free it with zone_contents_free(). Don't publish it, nor begin a transaction with it. Call
 * it in a read section, or from the zone's job. NULL: out of memory.
 */
zone_contents_t *zone_image_hold(const zone_contents_t *zone);

/* ---- Reading ---- */

typedef struct zone_image_reader zone_image_reader_t;

/** Begin to restore a version from its head and the number of bytes in use of each chunk. KNOT_EMALF: they don't fit
 * together. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t zone_image_read_begin(
		knot_bytes_t head, const uint64_t *chunk_lens, uint32_t chunk_count, zone_image_reader_t **ret_reader);

/** Where the bytes of a chunk go: chunk_lens[chunk] bytes, to be filled before the end. */
uint8_t *zone_image_read_chunk(zone_image_reader_t *reader, uint32_t chunk);

/**
 * End reading: *ret_zone is the version, whose apex must be `origin`; transactions may begin with it. The reader is
 * freed, also on failure. KNOT_EMALF: roots lead out of the chunks, or it is another zone.
 */
KNOT_MUST_USE knot_err_t zone_image_read_end(
		zone_image_reader_t *take_reader, knot_name_t origin, zone_contents_t **ret_zone);

/** Give up. NULL is allowed. */
void zone_image_read_discard(zone_image_reader_t *take_reader);
