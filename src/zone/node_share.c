/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two tables. `seen` is an open hash table of counts, one slot for each hash; it never shrinks, and when it is full,
 * RRsets that come then are not shared. `known` is a cache of pairs of slots: a new entry replaces the second of its
 * pair.
 */
#include "src/zone/node_share.h"

#include "libknot/base/assert.h"

#include <stdlib.h>

enum {
	KNOWN_COUNT = 8192, /* slots of the cache, in pairs; a power of two */
	KNOWN_FROM = 64,    /* RRsets that could be remembered before the cache is made: never in small zones */
};

void zone_node_share_clear(zone_node_share_t *share)
{
	free(share->seen);
	free(share->known);
	*share = (zone_node_share_t){ 0 };
}

uint32_t zone_node_share_hash(const uint8_t *bytes, size_t len)
{
	uint64_t h = len;
	for (; len >= 8; bytes += 8, len -= 8) {
		uint64_t word;
		memcpy(&word, bytes, sizeof(word));
		h = (h ^ word) * 0x9E3779B97F4A7C15u;
		h ^= h >> 32;
	}
	uint64_t rest = 0;
	memcpy(&rest, bytes, len);
	h = (h ^ rest) * 0x9E3779B97F4A7C15u;
	return (uint32_t)(h >> 32) | 1;
}

/* ---- Remembering ---- */

/* False: the cache is not in use, or the RRset doesn't fit. */
static inline bool share_make_key(
		zone_node_share_t *share, const zone_record_t *const *records, size_t count, uint32_t ttl)
{
	if (share->known == NULL) {
		if (share->known_asked < KNOWN_FROM) {
			share->known_asked++;
			return false;
		}
		share->known = calloc(KNOWN_COUNT, sizeof(*share->known));
		if (share->known == NULL) {
			return false; /* it goes without */
		}
	}
	size_t len = 0;
	for (size_t i = 0; i < count; i++) {
		const zone_record_t *record = records[i];
		if (record->rdata_len > ZONE_KNOWN_RDATA_MAX - len) {
			return false;
		}
		memcpy(share->key.rdata + len, record->rdata, record->rdata_len);
		len += record->rdata_len;
	}
	share->key.rdata_len = (uint8_t)len;
	share->key.ttl = ttl;
	share->key.hash = zone_node_share_hash(share->key.rdata, len) ^ ttl;
	return true;
}

/* The first of the two slots that may hold the key. */
static zone_known_set_t *known_slots(const zone_node_share_t *share)
{
	return &share->known[share->key.hash & (KNOWN_COUNT - 2)];
}

zone_ref_t zone_node_share_find(
		zone_node_share_t *share, const zone_record_t *const *records, size_t count, uint32_t ttl)
{
	share->has_key = share_make_key(share, records, count, ttl);
	if (!share->has_key) {
		return 0;
	}
	zone_known_set_t *slot = known_slots(share);
	const zone_known_set_t *key = &share->key;
	for (unsigned i = 0; i < 2; i++, slot++) {
		if (slot->hash == key->hash && slot->ref != 0 && slot->ttl == key->ttl &&
				slot->rdata_len == key->rdata_len &&
				memcmp(slot->rdata, key->rdata, key->rdata_len) == 0) {
			slot->users++;
			return slot->ref;
		}
	}
	return 0;
}

/* ---- Sharing ---- */

enum {
	SEEN_FIRST = 64,
};

static zone_seen_set_t *find_seen(const zone_node_share_t *share, uint32_t hash)
{
	KNOT_ASSERT_SLOW(share->seen_max > 0 && share->seen_count < share->seen_max); /* a free slot ends each search */
	size_t i = (size_t)hash * 2654435761u & (share->seen_max - 1);
	while (share->seen[i].hash != 0 && share->seen[i].hash != hash) {
		i = (i + 1) & (share->seen_max - 1);
	}
	return &share->seen[i];
}

/* Room for one more. False: there is none, or no memory. */
static bool grow_seen(zone_node_share_t *share)
{
	if (share->seen_count < share->seen_max / 4 * 3) {
		return true;
	}
	size_t max = share->seen_max == 0 ? SEEN_FIRST : 2 * share->seen_max, old_max = share->seen_max;
	zone_seen_set_t *old = share->seen, *grown = max <= ZONE_SHARE_SLOTS_MAX ? calloc(max, sizeof(*grown)) : NULL;
	if (grown == NULL) {
		return false;
	}
	share->seen = grown;
	share->seen_max = max;
	for (size_t i = 0; i < old_max; i++) {
		if (old[i].hash != 0) {
			*find_seen(share, old[i].hash) = old[i];
		}
	}
	free(old);
	return true;
}

static bool is_stored(const zone_arena_view_t *arena, zone_ref_t ref, const uint8_t *bytes, size_t len)
{
	const zone_rrset_t *stored = zone_at(arena, ref);
	return zone_rrset_size(stored) == len && memcmp(stored, bytes, len) == 0;
}

/* Count an RRset. Returns its slot, or NULL when the table is full. */
static zone_seen_set_t *note_seen(zone_node_share_t *share, uint32_t hash)
{
	zone_seen_set_t *seen = share->seen_max > 0 ? find_seen(share, hash) : NULL;
	if (seen == NULL || seen->hash == 0) {
		if (!grow_seen(share)) {
			return NULL;
		}
		seen = find_seen(share, hash);
		*seen = (zone_seen_set_t){ .hash = hash };
		share->seen_count++;
	}
	seen->count++;
	return seen;
}

void zone_node_share_set(zone_node_share_t *share, zone_arena_t *arena, zone_made_set_t *made, const uint8_t *bytes)
{
	zone_seen_set_t *seen = note_seen(share, zone_node_share_hash(bytes, made->len));
	if (seen == NULL || seen->count == 1) {
		return;
	}
	if (seen->ref == 0) {
		seen->ref = zone_arena_alloc_kept(arena, made->len);
		if (seen->ref != 0) {
			memcpy(zone_at(zone_arena_view(arena), seen->ref), bytes, made->len);
		}
	}
	/* Two RRsets of one hash are possible: the second then is not shared. */
	if (seen->ref != 0 && is_stored(zone_arena_view(arena), seen->ref, bytes, made->len)) {
		made->shared = seen->ref;
		seen->users++;
	}
}

/* Count the users that the cache found. */
static void count_known(const zone_node_share_t *share, zone_known_set_t *slot)
{
	if (slot->users > 0) {
		find_seen(share, slot->seen_hash)->users += slot->users;
		slot->users = 0;
	}
}

void zone_node_share_remember(zone_node_share_t *share, zone_ref_t ref, uint32_t hash)
{
	zone_known_set_t *slot = known_slots(share);
	slot += slot->ref != 0;
	count_known(share, slot);
	*slot = share->key;
	slot->ref = ref;
	slot->seen_hash = hash;
}

const zone_seen_set_t *zone_node_share_next(zone_node_share_t *share, const zone_seen_set_t *after)
{
	for (size_t i = 0; after == NULL && share->known != NULL && i < KNOWN_COUNT; i++) {
		count_known(share, &share->known[i]);
	}
	for (size_t i = after != NULL ? (size_t)(after - share->seen) + 1 : 0; i < share->seen_max; i++) {
		if (share->seen[i].users > 0) {
			return &share->seen[i];
		}
	}
	return NULL;
}
