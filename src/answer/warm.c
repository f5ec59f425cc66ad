/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/answer.h"

#include <assert.h>

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

void answer_warm(const zonedb_t *zones, const knot_bytes_t *requests, size_t count)
{
	assert(count <= ANSWER_BATCH_MAX);
	if (count < OVERLAP_MIN) {
		return;
	}
	uint8_t keys[ANSWER_BATCH_MAX][KNOT_NAME_KEY_MAX];
	zone_tree_walk_t walks[ANSWER_BATCH_MAX];
	size_t walk_count = 0;
	for (size_t i = 0; i < count; i++) {
		knot_name_t name;
		if (!read_qname(requests[i], &name)) {
			continue;
		}
		uint8_t *key = keys[walk_count];
		size_t key_len = knot_name_key(name, key);
		const zone_t *zone = zonedb_find_suffix_key(zones, name, key, key_len);
		const zone_contents_t *contents = zone != NULL ? zone_contents(zone) : NULL;
		if (contents != NULL && contents->record_count >= RECORDS_MIN) {
			walks[walk_count++] = (zone_tree_walk_t){
				.view = &contents->arena,
				.tree = &contents->auth,
				.key = key,
				.key_len = key_len,
			};
		}
	}
	zone_tree_warm(walks, walk_count);
}
