/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/image.h"

#include <assert.h>
#include <stdlib.h>

/* The facts of a version that are not in its chunks. Largest fields first: no padding, every byte is data. */
struct zone_image_head {
	uint64_t lineage;
	uint64_t live_size, built_size, wire_size, record_count;
	zone_tree_t trees[5]; /* auth, nsec3, glue, absent, shared */
	zone_ref_t apex;
	zone_links_t links;
	uint32_t serial, soa_minimum_ttl, max_ttl;
	uint32_t salt_off; /* bytes from the apex node's start */
	uint16_t nsec3_iterations;
	uint8_t nsec3_algorithm, salt_len;
	uint8_t is_signed, has_nsec;
	uint8_t zeros[6];
};

const size_t zone_image_head_len = sizeof(zone_image_head_t);
_Static_assert(sizeof(zone_image_head_t) == 5 * 8 + 5 * 16 + 7 * 4 + 12, "the head has no padding");

enum { UNIT = 8 };

/* ---- Writing ---- */

void zone_image_write_head(const zone_contents_t *zone, uint8_t *ret_head)
{
	const zone_nsec3_params_t *nsec3 = zone_nsec3_params(zone);
	zone_image_head_t head = {
		.lineage = zone_arena_lineage(zone->store),
		.live_size = zone->live_size,
		.built_size = zone->is_short ? zone->live_size : zone->built_size,
		.wire_size = zone->wire_size,
		.record_count = zone->record_count,
		.trees = { zone->auth, *zone_nsec3_tree(zone), *zone_glue_tree(zone), *zone_absent_tree(zone),
				*zone_shared_tree(zone) },
		.apex = zone_tree_find(&zone->arena, &zone->auth, zone_node_owner(zone->apex)),
		.links = zone->links,
		.serial = zone->serial,
		.soa_minimum_ttl = zone->soa_minimum_ttl,
		.max_ttl = zone->max_ttl,
		.is_signed = zone->is_signed,
		.has_nsec = zone->has_nsec,
	};
	if (nsec3->algorithm != 0) {
		head.salt_off = (uint32_t)(nsec3->salt - (const uint8_t *)zone->apex);
		head.nsec3_iterations = nsec3->iterations;
		head.nsec3_algorithm = nsec3->algorithm;
		head.salt_len = nsec3->salt_len;
	}
	memcpy(ret_head, &head, sizeof(head));
}

uint64_t zone_image_lineage(const zone_contents_t *zone)
{
	return zone_arena_lineage(zone->store);
}

uint32_t zone_image_chunk_count(const zone_contents_t *zone)
{
	return zone->arena.chunk_count;
}

knot_bytes_t zone_image_chunk(const zone_contents_t *zone, uint32_t chunk)
{
	assert(chunk < zone->arena.chunk_count);
	return zone_arena_chunk(zone->store, chunk);
}

zone_contents_t *zone_image_hold(const zone_contents_t *zone)
{
	zone_contents_t *held = malloc(sizeof(*held));
	zone_arena_t *store = held != NULL ? zone_arena_fork(zone->store) : NULL;
	if (store == NULL) {
		free(held);
		return NULL;
	}
	zone_contents_copy(zone, held);
	held->store = store;
	held->arena = *zone_arena_view(store);
	return held;
}

/* ---- Reading ---- */

struct zone_image_reader {
	zone_image_head_t head;
	zone_arena_t *store; /* owned */
};

knot_err_t zone_image_read_begin(
		knot_bytes_t head, const uint64_t *chunk_lens, uint32_t chunk_count, zone_image_reader_t **ret_reader)
{
	if (head.len != sizeof(zone_image_head_t) || chunk_count == 0 || chunk_count > ZONE_CHUNK_COUNT_MAX) {
		return KNOT_EMALF;
	}
	for (uint32_t i = 0; i < chunk_count; i++) {
		if (chunk_lens[i] % UNIT != 0 || chunk_lens[i] > PTRDIFF_MAX) { /* 0: none has this number */
			return KNOT_EMALF;
		}
	}
	zone_image_reader_t *reader = calloc(1, sizeof(*reader));
	if (reader == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(&reader->head, head.data, sizeof(reader->head));
	reader->store = zone_arena_restore(reader->head.lineage, chunk_lens, chunk_count);
	if (reader->store == NULL) {
		zone_image_read_discard(reader);
		return KNOT_ENOMEM;
	}
	*ret_reader = reader;
	return KNOT_OK;
}

uint8_t *zone_image_read_chunk(zone_image_reader_t *reader, uint32_t chunk)
{
	assert(chunk < zone_arena_view(reader->store)->chunk_count);
	return zone_arena_view(reader->store)->chunks[chunk];
}

void zone_image_read_discard(zone_image_reader_t *take_reader)
{
	if (take_reader != NULL) {
		zone_arena_free(take_reader->store);
		free(take_reader);
	}
}

/* Bytes in use from `ref` to the end of its chunk; 0: `ref` is 0 or leads out of the chunks. */
static size_t room_at(const zone_arena_t *store, zone_ref_t ref)
{
	uint32_t chunk = ref >> ZONE_CHUNK_OFFSET_BITS;
	size_t off = UNIT * (size_t)(ref & ((1u << ZONE_CHUNK_OFFSET_BITS) - 1));
	if (ref == 0 || chunk >= zone_arena_view(store)->chunk_count || off >= zone_arena_chunk(store, chunk).len) {
		return 0;
	}
	return zone_arena_chunk(store, chunk).len - off;
}

static bool is_node(const zone_arena_t *store, zone_ref_t ref)
{
	enum { OWNER_OFF = offsetof(zone_node_t, owner) };
	size_t room = room_at(store, ref);
	const zone_node_t *node = room >= OWNER_OFF ? zone_at(zone_arena_view(store), ref) : NULL;
	return node != NULL && node->owner_len > 0 && room - OWNER_OFF >= node->owner_len;
}

static bool is_tree(const zone_arena_t *store, const zone_tree_t *tree)
{
	if (tree->count == 0) {
		return true;
	}
	if (!(tree->root.lo & 1)) {
		return tree->count == 1 && is_node(store, tree->root.ref);
	}
	uint64_t positions = ((uint64_t)tree->root.hi << 32 | tree->root.lo) >> 1 & ((UINT64_C(1) << 48) - 1);
	unsigned twigs = (unsigned)__builtin_popcountll(positions);
	return twigs >= 2 && room_at(store, tree->root.ref) >= twigs * sizeof(zone_twig_t);
}

/* True if the page at `shift` and those below it lie in the chunks. */
static bool is_link_page(
		const zone_arena_t *store, const zone_links_t *links, zone_ref_t ref, uint32_t first, unsigned shift)
{
	uint32_t room = zone_links_room(links->count, first, shift);
	if (room_at(store, ref) < room * sizeof(zone_ref_t)) {
		return false;
	}
	const zone_ref_t *page = zone_at(zone_arena_view(store), ref);
	for (uint32_t i = 0; shift > 0 && i < room && first + ((uint64_t)i << shift) < links->count; i++) {
		if (!is_link_page(store, links, page[i], first + (i << shift), shift - ZONE_LINK_BITS)) {
			return false;
		}
	}
	return true;
}

static bool is_link_table(const zone_arena_t *store, const zone_links_t *links)
{
	return links->count == 0 || is_link_page(store, links, links->root, 0, zone_links_shift(links->count));
}

/* True if the apex node has this name. The root label must be the last byte of its owner's bytes. */
static bool is_apex(const zone_arena_t *store, const zone_image_head_t *head, knot_name_t origin)
{
	if (!is_node(store, head->apex)) {
		return false;
	}
	const zone_node_t *apex = zone_at(zone_arena_view(store), head->apex);
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(origin, lower);
	return apex->owner_len == origin.len && apex->owner_label_count == origin.label_count &&
	       memcmp(apex->owner, lower, origin.len) == 0 && (apex->flags & ZONE_NODE_APEX) &&
	       head->salt_off + (size_t)head->salt_len <= room_at(store, head->apex);
}

static bool is_sound(const zone_arena_t *store, const zone_image_head_t *head, knot_name_t origin)
{
	static const uint8_t zeros[sizeof(head->zeros)];
	for (size_t i = 0; i < KNOT_LEN(head->trees); i++) {
		if (!is_tree(store, &head->trees[i])) {
			return false;
		}
	}
	return head->trees[0].count > 0 && is_link_table(store, &head->links) && is_apex(store, head, origin) &&
	       head->nsec3_algorithm <= 1 && head->is_signed <= 1 && head->has_nsec <= 1 &&
	       memcmp(head->zeros, zeros, sizeof(zeros)) == 0;
}

static void image_fill(zone_contents_t *zone, zone_arena_t *take_store, const zone_image_head_t *head)
{
	*zone = (zone_contents_t){
		.store = take_store,
		.arena = *zone_arena_view(take_store),
		.auth = head->trees[0],
		.nsec3 = head->trees[1],
		.glue = head->trees[2],
		.absent = head->trees[3],
		.shared = head->trees[4],
		.links = head->links,
		.apex = zone_at(zone_arena_view(take_store), head->apex),
		.serial = head->serial,
		.soa_minimum_ttl = head->soa_minimum_ttl,
		.max_ttl = head->max_ttl,
		.is_signed = head->is_signed,
		.has_nsec = head->has_nsec,
		.live_size = head->live_size,
		.built_size = head->built_size,
		.wire_size = head->wire_size,
		.record_count = head->record_count,
	};
	if (head->nsec3_algorithm != 0) {
		zone->nsec3_params = (zone_nsec3_params_t){
			.algorithm = head->nsec3_algorithm,
			.salt_len = head->salt_len,
			.iterations = head->nsec3_iterations,
			.salt = (const uint8_t *)zone->apex + head->salt_off,
		};
	}
}

knot_err_t zone_image_read_end(zone_image_reader_t *take_reader, knot_name_t origin, zone_contents_t **ret_zone)
{
	if (!is_sound(take_reader->store, &take_reader->head, origin)) {
		zone_image_read_discard(take_reader);
		return KNOT_EMALF;
	}
	zone_contents_t *zone = malloc(sizeof(*zone));
	if (zone == NULL) {
		zone_image_read_discard(take_reader);
		return KNOT_ENOMEM;
	}
	image_fill(zone, take_reader->store, &take_reader->head);
	free(take_reader);
	*ret_zone = zone_contents_pack(zone);
	return KNOT_OK;
}
