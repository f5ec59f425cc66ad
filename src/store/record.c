/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/store/record.h"

#include <assert.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * All numbers are in host byte order: an image is only read by the kind of machine that wrote it.
 *
 *   fixed_t | u64 length of each chunk | store_piece_t of each piece | packed_source_t of each source | head
 *   | pad to 8 | paths of the sources | zone's name | inline: bytes of the chunks
 *
 * The checksum covers everything behind itself, and, as its seed, what is in front of it.
 */
typedef struct {
	uint32_t magic;
	uint16_t format;
	uint16_t byte_order;
	uint64_t checksum;
	uint32_t image_format;
	uint32_t flags;
	uint64_t lineage;
	uint64_t saved_s;
	uint64_t settings;
	uint64_t id;
	uint32_t piece_next;
	uint32_t serial;
	uint32_t chunk_count;
	uint32_t piece_count;
	uint32_t source_count;
	uint32_t head_len;
	uint32_t paths_len;
	uint32_t zone_len;
} fixed_t;

typedef struct {
	uint64_t size;
	uint64_t inode;
	int64_t mtime_s;
	uint32_t mtime_ns;
	uint32_t path_len;
} packed_source_t;

static_assert(sizeof(fixed_t) == 88 && sizeof(packed_source_t) == 32 && sizeof(store_piece_t) == 16,
		"no padding on disk");

enum {
	RECORD_MAGIC = 0x695a4f42, /* "BOZi" on a little-endian machine */
	BYTE_ORDER_MARK = 0x0102,
	BYTE_ORDER_OTHER = 0x0201,
	CHECKED_FROM = 16,
};

static uint64_t checksum_of(const uint8_t *bytes, size_t len)
{
	assert(len >= sizeof(fixed_t));
	uint64_t start;
	memcpy(&start, bytes, sizeof(start));
	return XXH3_64bits_withSeed(bytes + CHECKED_FROM, len - CHECKED_FROM, start);
}

static size_t paths_len(const store_record_t *record, const store_source_t *sources)
{
	size_t len = 0;
	for (uint32_t i = 0; i < record->source_count; i++) {
		len += sources[i].path.len;
	}
	return len;
}

static size_t pad8(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* ---- Writing ---- */

size_t store_record_len(const store_record_t *record, const store_source_t *sources)
{
	return sizeof(fixed_t) + record->chunk_count * sizeof(uint64_t) + record->piece_count * sizeof(store_piece_t) +
	       record->source_count * sizeof(packed_source_t) + pad8(record->head.len) + paths_len(record, sources) +
	       record->zone.len;
}

static uint8_t *record_append_bytes(uint8_t *to, const void *bytes, size_t len)
{
	if (len > 0) {
		memcpy(to, bytes, len);
	}
	return to + len;
}

static uint8_t *append_sources(uint8_t *to, const store_record_t *record, const store_source_t *sources)
{
	for (uint32_t i = 0; i < record->source_count; i++) {
		packed_source_t packed = { .size = sources[i].size,
			.inode = sources[i].inode,
			.mtime_s = sources[i].mtime_s,
			.mtime_ns = sources[i].mtime_ns,
			.path_len = (uint32_t)sources[i].path.len };
		to = record_append_bytes(to, &packed, sizeof(packed));
	}
	return to;
}

void store_record_write(const store_record_t *record, const store_source_t *sources, const knot_bytes_t *chunks,
		uint8_t *ret_bytes)
{
	assert(record->piece_count == 0 || !(record->flags & STORE_RECORD_INLINE));
	assert(record->source_count <= STORE_SOURCE_MAX && record->head.len <= STORE_HEAD_MAX);
	assert((record->flags & ~(STORE_RECORD_INLINE | STORE_RECORD_AHEAD)) == 0);
	fixed_t fixed = {
		.magic = RECORD_MAGIC,
		.format = STORE_RECORD_FORMAT,
		.byte_order = BYTE_ORDER_MARK,
		.image_format = record->format,
		.flags = record->flags,
		.lineage = record->lineage,
		.saved_s = record->saved_s,
		.settings = record->settings,
		.id = record->id,
		.piece_next = record->piece_next,
		.serial = record->serial,
		.chunk_count = record->chunk_count,
		.piece_count = record->piece_count,
		.source_count = record->source_count,
		.head_len = (uint32_t)record->head.len,
		.paths_len = (uint32_t)paths_len(record, sources),
		.zone_len = record->zone.len,
	};
	uint8_t *p = record_append_bytes(ret_bytes, &fixed, sizeof(fixed));
	p = record_append_bytes(p, record->chunk_lens, record->chunk_count * sizeof(uint64_t));
	p = record_append_bytes(p, record->pieces, record->piece_count * sizeof(store_piece_t));
	p = append_sources(p, record, sources);
	p = record_append_bytes(p, record->head.data, record->head.len);
	size_t pad = pad8(record->head.len) - record->head.len;
	memset(p, 0, pad);
	p += pad;
	for (uint32_t i = 0; i < record->source_count; i++) {
		p = record_append_bytes(p, sources[i].path.data, sources[i].path.len);
	}
	knot_name_lower(record->zone, p);
	p += record->zone.len;
	for (uint32_t i = 0; record->flags & STORE_RECORD_INLINE && i < record->chunk_count; i++) {
		p = record_append_bytes(p, chunks[i].data, chunks[i].len);
	}
	size_t len = (size_t)(p - ret_bytes);
	assert(len == store_record_len(record, sources) + (record->flags & STORE_RECORD_INLINE ? record->size : 0));
	uint64_t checksum = checksum_of(ret_bytes, len);
	memcpy(ret_bytes + offsetof(fixed_t, checksum), &checksum, sizeof(checksum));
}

/* ---- Reading ---- */

/* Pieces fill chunk after chunk exactly; an inline record has none. */
static bool pieces_fit(const store_record_t *record)
{
	if (record->flags & STORE_RECORD_INLINE) {
		return record->piece_count == 0;
	}
	uint32_t piece = 0;
	for (uint32_t chunk = 0; chunk < record->chunk_count; chunk++) {
		uint64_t left = record->chunk_lens[chunk];
		while (left > 0) {
			if (piece == record->piece_count || record->pieces[piece].len == 0 ||
					record->pieces[piece].len > left ||
					record->pieces[piece].number >= record->piece_next) {
				return false;
			}
			left -= record->pieces[piece++].len;
		}
	}
	return piece == record->piece_count;
}

static bool sources_fit(const store_record_t *record, size_t all_paths_len)
{
	size_t sum = 0;
	for (uint32_t i = 0; i < record->source_count; i++) {
		packed_source_t source;
		memcpy(&source, record->packed_sources + i * sizeof(source), sizeof(source));
		if (source.path_len > STORE_PATH_MAX || source.mtime_ns > 999999999) {
			return false;
		}
		sum += source.path_len;
	}
	return sum == all_paths_len;
}

static bool sum_chunks(store_record_t *record)
{
	record->size = 0;
	for (uint32_t i = 0; i < record->chunk_count; i++) {
		if (__builtin_add_overflow(record->size, record->chunk_lens[i], &record->size)) {
			return false;
		}
	}
	return true;
}

static const char *read_start(knot_bytes_t bytes, fixed_t *ret_fixed, knot_err_t *ret_err)
{
	*ret_err = KNOT_EMALF;
	if (bytes.len < sizeof(fixed_t)) {
		return "its record is too short";
	}
	memcpy(ret_fixed, bytes.data, sizeof(*ret_fixed));
	if (ret_fixed->byte_order == BYTE_ORDER_OTHER && ret_fixed->magic == __builtin_bswap32(RECORD_MAGIC)) {
		*ret_err = KNOT_ENOTSUP;
		return "it was written by a machine of another byte order";
	}
	if (ret_fixed->magic != RECORD_MAGIC || ret_fixed->byte_order != BYTE_ORDER_MARK) {
		return "its record begins with other bytes";
	}
	if (ret_fixed->format != STORE_RECORD_FORMAT) {
		*ret_err = KNOT_ENOTSUP;
		return "its record has another format";
	}
	if (ret_fixed->checksum != checksum_of(bytes.data, bytes.len)) {
		return "the checksum of its record does not match";
	}
	*ret_err = KNOT_OK;
	return NULL;
}

static bool read_parts(knot_bytes_t bytes, const fixed_t *fixed, store_record_t *record)
{
	knot_reader_t r = knot_reader_of(bytes);
	(void)knot_read(&r, sizeof(*fixed));
	record->chunk_lens = (const uint64_t *)(const void *)knot_read(&r, fixed->chunk_count * sizeof(uint64_t));
	record->pieces = (const store_piece_t *)(const void *)knot_read(&r, fixed->piece_count * sizeof(store_piece_t));
	record->packed_sources = knot_read(&r, fixed->source_count * sizeof(packed_source_t));
	record->head = (knot_bytes_t){ knot_read(&r, fixed->head_len), fixed->head_len };
	(void)knot_read(&r, pad8(fixed->head_len) - fixed->head_len);
	record->packed_paths = knot_read(&r, fixed->paths_len);
	const uint8_t *name = knot_read(&r, fixed->zone_len);
	if (r.failed || !sum_chunks(record) || !pieces_fit(record) || !sources_fit(record, fixed->paths_len)) {
		return false;
	}
	record->inline_bytes = r.data + r.pos;
	if (knot_reader_left(&r) != (record->flags & STORE_RECORD_INLINE ? record->size : 0)) {
		return false;
	}
	return knot_name_read((knot_bytes_t){ name, fixed->zone_len }, &record->zone) == KNOT_OK &&
	       record->zone.len == fixed->zone_len;
}

knot_err_t store_record_read(knot_bytes_t bytes, store_record_t *ret_record, const char **ret_what)
{
	assert((uintptr_t)bytes.data % 8 == 0);
	fixed_t fixed;
	knot_err_t err;
	const char *what = read_start(bytes, &fixed, &err);
	if (what != NULL) {
		*ret_what = what;
		return err;
	}
	store_record_t record = {
		.lineage = fixed.lineage,
		.saved_s = fixed.saved_s,
		.settings = fixed.settings,
		.id = fixed.id,
		.piece_next = fixed.piece_next,
		.format = fixed.image_format,
		.serial = fixed.serial,
		.flags = fixed.flags,
		.chunk_count = fixed.chunk_count,
		.piece_count = fixed.piece_count,
		.source_count = fixed.source_count,
	};
	if (fixed.flags & ~(STORE_RECORD_INLINE | STORE_RECORD_AHEAD) || fixed.chunk_count > STORE_CHUNKS_MAX ||
			fixed.piece_count > STORE_PIECES_MAX || fixed.source_count > STORE_SOURCE_MAX ||
			fixed.head_len > STORE_HEAD_MAX || !read_parts(bytes, &fixed, &record)) {
		*ret_what = "the parts of its record do not fit together";
		return KNOT_EMALF;
	}
	*ret_record = record;
	return KNOT_OK;
}

bool store_record_is_one(knot_bytes_t bytes)
{
	uint32_t magic = 0;
	if (bytes.len >= sizeof(fixed_t)) {
		memcpy(&magic, bytes.data, sizeof(magic));
	}
	return magic == RECORD_MAGIC || magic == __builtin_bswap32(RECORD_MAGIC);
}

void store_record_sources(const store_record_t *record, store_source_t *ret_sources)
{
	assert(record->source_count == 0 || (record->packed_sources != NULL && record->packed_paths != NULL));
	const uint8_t *path = record->packed_paths;
	for (uint32_t i = 0; i < record->source_count; i++) {
		packed_source_t packed;
		memcpy(&packed, record->packed_sources + i * sizeof(packed), sizeof(packed));
		ret_sources[i] = (store_source_t){
			.path = { (const char *)path, packed.path_len },
			.size = packed.size,
			.inode = packed.inode,
			.mtime_s = packed.mtime_s,
			.mtime_ns = packed.mtime_ns,
		};
		path += packed.path_len;
	}
}
