/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/record.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Numbers in values are in host byte order: LMDB's own are, too. */
typedef struct {
	uint64_t checksum;
	uint64_t next, whole, flushed, bytes, span;
	uint32_t count, notes;
	uint32_t serial_first, serial_last, serial_flushed;
	uint32_t flags;
} disk_meta_t;

typedef struct {
	uint64_t checksum;
	uint64_t time_s, zone_size, payload_len;
	uint32_t serial_from, serial_to;
	uint32_t removed, added;
	uint32_t pieces;
	uint8_t kind, source;
	uint16_t series;
	char who[JOURNAL_WHO_MAX];
} disk_head_t;

static_assert(sizeof(disk_meta_t) == JOURNAL_META_LEN && sizeof(disk_head_t) == JOURNAL_HEAD_LEN, "no padding on disk");

enum { NODE_HEADER = 10, SHARED_MAX = 2000 };

/* ---- Keys ---- */

static void put_number(uint8_t *to, uint64_t v)
{
	store_be32(to, (uint32_t)(v >> 32));
	store_be32(to + 4, (uint32_t)v);
}

void journal_key_change(journal_key_t *key, journal_key_kind_t kind, uint64_t number, uint32_t part)
{
	uint8_t *p = key->bytes + key->name_len;
	*p++ = (uint8_t)kind;
	if (kind != JOURNAL_KEY_META && kind != JOURNAL_KEY_END) {
		put_number(p, number);
		p += JOURNAL_KEY_NUMBER;
	}
	if (kind == JOURNAL_KEY_PIECE) {
		store_be32(p, part);
		p += JOURNAL_KEY_PART;
	}
	key->len = (uint16_t)(p - key->bytes);
}

void journal_key(knot_name_t zone, journal_key_kind_t kind, uint64_t number, uint32_t part, journal_key_t *ret_key)
{
	assert(zone.len > 0);
	knot_name_lower(zone, ret_key->bytes);
	ret_key->name_len = zone.len;
	journal_key_change(ret_key, kind, number, part);
}

bool journal_key_read(knot_bytes_t key, knot_name_t *ret_zone, journal_key_kind_t *ret_kind, uint64_t *ret_number)
{
	static const uint8_t lens[JOURNAL_KEY_END] = {
		[JOURNAL_KEY_WHOLE] = JOURNAL_KEY_NUMBER,
		[JOURNAL_KEY_CHANGE] = JOURNAL_KEY_NUMBER,
		[JOURNAL_KEY_NOTE] = JOURNAL_KEY_NUMBER,
		[JOURNAL_KEY_PIECE] = JOURNAL_KEY_NUMBER + JOURNAL_KEY_PART,
	};
	knot_name_t zone;
	if (knot_name_read(key, &zone) != KNOT_OK || key.len == zone.len) {
		return false;
	}
	uint8_t kind = key.data[zone.len];
	size_t left = key.len - zone.len - 1;
	if (kind >= JOURNAL_KEY_END || left != lens[kind]) {
		return false;
	}
	const uint8_t *p = key.data + zone.len + 1;
	*ret_zone = zone;
	*ret_kind = (journal_key_kind_t)kind;
	*ret_number = left > 0 ? (uint64_t)load_be32(p) << 32 | load_be32(p + 4) : 0;
	return true;
}

/* ---- Values ---- */

static uint64_t checksum_of(const uint8_t *value, size_t len, knot_bytes_t key)
{
	assert(len >= JOURNAL_CHECKSUM_LEN);
	return XXH3_64bits_withSeed(
			value + JOURNAL_CHECKSUM_LEN, len - JOURNAL_CHECKSUM_LEN, XXH3_64bits(key.data, key.len));
}

static void put_checksum(uint8_t *value, size_t len, knot_bytes_t key)
{
	uint64_t checksum = checksum_of(value, len, key);
	memcpy(value, &checksum, sizeof(checksum));
}

static bool has_checksum(knot_bytes_t value, size_t len_min, knot_bytes_t key)
{
	if (value.len < len_min) {
		return false;
	}
	uint64_t checksum = checksum_of(value.data, value.len, key);
	return memcmp(value.data, &checksum, sizeof(checksum)) == 0;
}

void journal_meta_write(const journal_meta_t *meta, knot_bytes_t key, uint8_t ret_bytes[static JOURNAL_META_LEN])
{
	disk_meta_t disk = {
		.next = meta->next,
		.whole = meta->whole,
		.flushed = meta->flushed,
		.bytes = meta->bytes,
		.span = meta->span,
		.count = meta->count,
		.notes = meta->notes,
		.serial_first = meta->serial_first,
		.serial_last = meta->serial_last,
		.serial_flushed = meta->serial_flushed,
		.flags = meta->flags,
	};
	memcpy(ret_bytes, &disk, sizeof(disk));
	put_checksum(ret_bytes, sizeof(disk), key);
}

knot_err_t journal_meta_read(knot_bytes_t bytes, knot_bytes_t key, journal_meta_t *ret_meta)
{
	disk_meta_t disk;
	if (bytes.len != sizeof(disk) || !has_checksum(bytes, sizeof(disk), key)) {
		return KNOT_EMALF;
	}
	memcpy(&disk, bytes.data, sizeof(disk));
	*ret_meta = (journal_meta_t){
		.next = disk.next,
		.whole = disk.whole,
		.flushed = disk.flushed,
		.bytes = disk.bytes,
		.span = disk.span,
		.count = disk.count,
		.notes = disk.notes,
		.serial_first = disk.serial_first,
		.serial_last = disk.serial_last,
		.serial_flushed = disk.serial_flushed,
		.flags = disk.flags,
	};
	return KNOT_OK;
}

uint32_t journal_head_pieces(const journal_entry_t *entry)
{
	enum { PIECE_BYTES = JOURNAL_PIECE_MAX - JOURNAL_CHECKSUM_LEN };
	size_t len = entry->change.payload.len;
	assert(len <= JOURNAL_PAYLOAD_MAX);
	return JOURNAL_HEAD_LEN + len <= JOURNAL_INLINE_MAX ? 0 : (uint32_t)((len + PIECE_BYTES - 1) / PIECE_BYTES);
}

size_t journal_head_len(const journal_entry_t *entry)
{
	return JOURNAL_HEAD_LEN + (journal_head_pieces(entry) == 0 ? entry->change.payload.len : 0);
}

void journal_head_write(const journal_entry_t *entry, knot_bytes_t key, uint8_t *ret_bytes)
{
	const journal_change_t *change = &entry->change;
	disk_head_t disk = {
		.time_s = change->time_s,
		.zone_size = change->zone_size,
		.payload_len = change->payload.len,
		.serial_from = change->serial_from,
		.serial_to = change->serial_to,
		.removed = change->removed,
		.added = change->added,
		.pieces = journal_head_pieces(entry),
		.kind = (uint8_t)entry->kind,
		.source = change->source,
		.series = entry->series,
	};
	memcpy(disk.who, change->who, strnlen(change->who, sizeof(disk.who) - 1));
	memcpy(ret_bytes, &disk, sizeof(disk));
	if (disk.pieces == 0 && change->payload.len > 0) {
		memcpy(ret_bytes + sizeof(disk), change->payload.data, change->payload.len);
	}
	put_checksum(ret_bytes, journal_head_len(entry), key);
}

knot_err_t journal_head_read(knot_bytes_t bytes, knot_bytes_t key, journal_entry_t *ret_entry)
{
	disk_head_t disk;
	knot_name_t zone;
	journal_key_kind_t key_kind;
	uint64_t number;
	if (!has_checksum(bytes, sizeof(disk), key) || !journal_key_read(key, &zone, &key_kind, &number)) {
		return KNOT_EMALF;
	}
	memcpy(&disk, bytes.data, sizeof(disk));
	journal_entry_t entry = { .kind = (journal_kind_t)disk.kind,
		.number = number,
		.series = disk.series,
		.change = {
				.serial_from = disk.serial_from,
				.serial_to = disk.serial_to,
				.time_s = disk.time_s,
				.source = disk.source,
				.removed = disk.removed,
				.added = disk.added,
				.zone_size = disk.zone_size,
				.payload = { NULL, disk.payload_len },
		} };
	memcpy(entry.change.who, disk.who, sizeof(disk.who));
	/* A checksum that is right by chance: the parts must fit all the same. */
	if (disk.kind > JOURNAL_NOTE || disk.payload_len > JOURNAL_PAYLOAD_MAX || disk.series > JOURNAL_SERIES_MAX ||
			disk.who[sizeof(disk.who) - 1] != '\0' || disk.pieces != journal_head_pieces(&entry) ||
			bytes.len != journal_head_len(&entry) ||
			(disk.kind == JOURNAL_NOTE) != (disk.payload_len == 0)) {
		return KNOT_EMALF;
	}
	if (disk.pieces == 0) {
		entry.change.payload.data = bytes.data + sizeof(disk);
	}
	*ret_entry = entry;
	return KNOT_OK;
}

void journal_piece_write(knot_bytes_t bytes, knot_bytes_t key, uint8_t *ret_piece)
{
	assert(bytes.len > 0 && bytes.len + JOURNAL_CHECKSUM_LEN <= JOURNAL_PIECE_MAX);
	memcpy(ret_piece + JOURNAL_CHECKSUM_LEN, bytes.data, bytes.len);
	put_checksum(ret_piece, JOURNAL_CHECKSUM_LEN + bytes.len, key);
}

knot_err_t journal_piece_read(knot_bytes_t piece, knot_bytes_t key, knot_bytes_t *ret_bytes)
{
	if (piece.len > JOURNAL_PIECE_MAX || !has_checksum(piece, JOURNAL_CHECKSUM_LEN + 1, key)) {
		return KNOT_EMALF;
	}
	*ret_bytes = (knot_bytes_t){ piece.data + JOURNAL_CHECKSUM_LEN, piece.len - JOURNAL_CHECKSUM_LEN };
	return KNOT_OK;
}

/* A value of more than about half a page has pages of its own. */
static uint64_t cost_of_value(size_t key_len, size_t len)
{
	uint64_t node = NODE_HEADER + key_len;
	return key_len + len <= SHARED_MAX
			       ? node + len
			       : node + (len + JOURNAL_PAGE_HEADER + JOURNAL_PAGE - 1) / JOURNAL_PAGE * JOURNAL_PAGE;
}

uint64_t journal_cost(const journal_entry_t *entry, size_t key_len)
{
	uint32_t pieces = journal_head_pieces(entry);
	uint64_t cost = cost_of_value(key_len, journal_head_len(entry));
	if (pieces > 0) {
		size_t len = entry->change.payload.len, each = JOURNAL_PIECE_MAX - JOURNAL_CHECKSUM_LEN;
		size_t piece_key = key_len + JOURNAL_KEY_PART;
		cost += (pieces - 1) * cost_of_value(piece_key, JOURNAL_PIECE_MAX) +
			cost_of_value(piece_key, len - (pieces - 1) * each + JOURNAL_CHECKSUM_LEN);
	}
	return cost;
}
