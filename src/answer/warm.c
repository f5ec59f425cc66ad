/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lookup is a chain of loads, each of which needs the one before: levels of the set of zones, the zone, its version,
 * its chunks, levels of its tree, the node. For one request, each load waits for memory. Here the requests of a batch
 * take each step together and prefetch what the next step reads. A step ends where a load needs the result of another.
 */
#include "src/answer/answer.h"

#include <assert.h>

_Static_assert((int)ANSWER_BATCH_MAX <= (int)ZONE_TREE_WALKS_MAX && (int)ANSWER_BATCH_MAX <= (int)ZONEDB_BATCH_MAX,
		"one call");
_Static_assert(sizeof(answer_hint_t) / 64 % 2 == 1 && sizeof(answer_hint_t) % 64 == 0, "as answer.h says");

enum {
	OVERLAP_MIN = 3,     /* fewer walks at once don't hide a miss */
	RECORDS_MIN = 10000, /* smaller zones stay in the cache anyway, if they are few */
	ZONES_MIN = 256,     /* fewer of them stay in the cache */
};

/* True for a query about a name, which has a key then. What else is wrong with a request shows when it is answered. */
static inline bool warm_parse(knot_bytes_t request, answer_hint_t *ret_hint)
{
	const knot_query_t *q = &ret_hint->query;
	ret_hint->verdict = knot_query_parse(request, &ret_hint->query);
	ret_hint->deepest = 0;
	ret_hint->has_key = ret_hint->verdict == KNOT_MSG_OK && q->question_len > 0 && q->opcode == KNOT_OPCODE_QUERY;
	if (ret_hint->has_key) {
		ret_hint->key_len = (uint16_t)knot_name_key(q->qname, ret_hint->key);
	}
	return ret_hint->has_key;
}

static inline knot_name_t warm_name_of(const answer_hint_t *hint)
{
	const knot_query_t *q = &hint->query;
	return (knot_name_t){ q->qname_lower, q->qname.len, q->qname.label_count };
}

/* Usually it is the zone of the request before; certainly so if no zone is deeper. */
static void warm_find_few(const zonedb_t *zones, answer_hint_t **hints, size_t count)
{
	zone_t *zone = NULL;
	for (size_t i = 0; i < count; i++) {
		knot_name_t name = warm_name_of(hints[i]);
		if (zone == NULL || !knot_name_in(name, zone_name(zone))) {
			zone = zonedb_find_suffix_key(zones, name, hints[i]->key, hints[i]->key_len);
		}
		hints[i]->zone = zone;
		if (zone != NULL && zone_name(zone).label_count < zonedb_depth_max(zones)) {
			zone = NULL;
		}
	}
}

static void warm_find_zones(const zonedb_t *zones, answer_hint_t **hints, size_t count)
{
	if (count < OVERLAP_MIN || zonedb_count(zones) < ZONES_MIN) {
		warm_find_few(zones, hints, count);
		return;
	}
	zonedb_search_t searches[ANSWER_BATCH_MAX];
	for (size_t i = 0; i < count; i++) {
		searches[i] = (zonedb_search_t){
			.name = warm_name_of(hints[i]), .key = hints[i]->key, .key_len = hints[i]->key_len
		};
	}
	zonedb_find_suffixes(zones, searches, count);
	for (size_t i = 0; i < count; i++) {
		hints[i]->zone = searches[i].zone;
	}
}

/* Always inlined, see zone_node_prefetch_shared(). */
static inline __attribute__((always_inline)) void warm_prefetch_bytes(const void *p, size_t len)
{
	for (size_t at = 0; at < len; at += 64) {
		__builtin_prefetch((const char *)p + at);
	}
}

/* The version of each zone, and what of it is read before its tree is. */
static void warm_find_contents(answer_hint_t **hints, size_t count)
{
	const zone_t *before = NULL;
	for (size_t i = 0; i < count; i++) {
		zone_t *zone = hints[i]->zone;
		hints[i]->contents = zone != NULL ? zone_ask(zone) : NULL;
		if (zone != before && hints[i]->contents != NULL) {
			warm_prefetch_bytes(hints[i]->contents, sizeof(*hints[i]->contents));
		}
		before = zone;
	}
	const zone_contents_t *known = NULL;
	for (size_t i = 0; i < count; i++) {
		const zone_contents_t *contents = hints[i]->contents;
		if (contents != known && contents != NULL) {
			__builtin_prefetch(contents->arena.chunks);
			__builtin_prefetch(contents->apex);
		}
		known = contents;
	}
}

static void warm_walk(const zonedb_t *zones, answer_hint_t **hints, size_t count)
{
	zone_tree_walk_t walks[ANSWER_BATCH_MAX];
	answer_hint_t *walkers[ANSWER_BATCH_MAX];
	size_t walk_count = 0;
	bool are_many = zonedb_count(zones) >= ZONES_MIN;
	for (size_t i = 0; i < count; i++) {
		const zone_contents_t *contents = hints[i]->contents;
		if (contents != NULL && (are_many || contents->record_count >= RECORDS_MIN)) {
			walkers[walk_count] = hints[i];
			walks[walk_count++] = (zone_tree_walk_t){
				.view = &contents->arena,
				.tree = &contents->auth,
				.key = hints[i]->key,
				.key_len = hints[i]->key_len,
			};
		}
	}
	zone_tree_warm(walks, walk_count);
	for (size_t i = 0; i < walk_count; i++) {
		walkers[i]->deepest = walks[i].deepest;
		if (walks[i].deepest != 0) {
			zone_node_prefetch_shared(walks[i].view, zone_at(walks[i].view, walks[i].deepest));
		}
	}
}

void answer_warm(const zonedb_t *zones, const knot_bytes_t *requests, size_t count, answer_hint_t *ret_hints)
{
	assert(count <= ANSWER_BATCH_MAX);
	answer_hint_t *hints[ANSWER_BATCH_MAX];
	size_t with_key = 0;
	for (size_t i = 0; i < count; i++) {
		hints[with_key] = &ret_hints[i];
		with_key += warm_parse(requests[i], &ret_hints[i]);
	}
	warm_find_zones(zones, hints, with_key);
	warm_find_contents(hints, with_key);
	if (with_key >= OVERLAP_MIN) {
		warm_walk(zones, hints, with_key);
	}
}
