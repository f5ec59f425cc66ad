/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/answer.h"

#include <assert.h>

_Static_assert((int)ANSWER_BATCH_MAX <= (int)ZONE_TREE_WALKS_MAX, "one call");

enum {
	OVERLAP_MIN = 3,     /* fewer walks at once don't hide a miss */
	RECORDS_MIN = 10000, /* smaller zones stay in the cache by themselves */
};

/* The question's name of what looks like a query; all that is wrong with it is found out when it is answered. */
static bool read_qname(knot_bytes_t request, knot_name_t *ret_name)
{
	if (request.len <= KNOT_MSG_HEADER_LEN) {
		return false;
	}
	knot_bytes_t question = { request.data + KNOT_MSG_HEADER_LEN, request.len - KNOT_MSG_HEADER_LEN };
	return knot_name_read(question, ret_name) == KNOT_OK;
}

static void look_up(const zonedb_t *zones, knot_bytes_t request, answer_hint_t *ret_hint)
{
	knot_name_t name;
	ret_hint->key_len = 0;
	ret_hint->deepest = 0;
	if (read_qname(request, &name)) {
		ret_hint->key_len = (uint16_t)knot_name_key(name, ret_hint->key);
		ret_hint->zone = zonedb_find_suffix_key(zones, name, ret_hint->key, ret_hint->key_len);
		ret_hint->contents = ret_hint->zone != NULL ? zone_contents(ret_hint->zone) : NULL;
	}
}

void answer_warm(const zonedb_t *zones, const knot_bytes_t *requests, size_t count, answer_hint_t *ret_hints)
{
	assert(count <= ANSWER_BATCH_MAX);
	zone_tree_walk_t walks[ANSWER_BATCH_MAX];
	answer_hint_t *walkers[ANSWER_BATCH_MAX];
	size_t walk_count = 0;
	for (size_t i = 0; i < count; i++) {
		answer_hint_t *hint = &ret_hints[i];
		if (count < OVERLAP_MIN) {
			hint->key_len = 0;
			continue;
		}
		look_up(zones, requests[i], hint);
		if (hint->key_len > 0 && hint->contents != NULL && hint->contents->record_count >= RECORDS_MIN) {
			walkers[walk_count] = hint;
			walks[walk_count++] = (zone_tree_walk_t){
				.view = &hint->contents->arena,
				.tree = &hint->contents->auth,
				.key = hint->key,
				.key_len = hint->key_len,
			};
		}
	}
	zone_tree_warm(walks, walk_count);
	for (size_t i = 0; i < walk_count; i++) {
		walkers[i]->deepest = walks[i].deepest;
	}
}
