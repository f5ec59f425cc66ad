/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/catalog/set.h"

#include <assert.h>
#include <stdlib.h>

/* A member in `bytes`: flag; length of the group; length and number of labels of the name, and of the owner; then
 * group, name, owner. Names aren't walked to be read: a sort reads each some twenty times. */
enum { SET_FIXED = 6 };

static knot_err_t set_reserve(catalog_set_t *set, size_t len)
{
	if (set->count == set->count_max) {
		size_t max = 2 * set->count_max + 16;
		catalog_place_t *places = realloc(set->places, max * sizeof(*places));
		if (places == NULL) {
			return KNOT_ENOMEM;
		}
		set->places = places;
		set->count_max = max;
	}
	if (len > set->max - set->len) {
		size_t max = 2 * set->max + len + 1024;
		uint8_t *bytes = realloc(set->bytes, max);
		if (bytes == NULL) {
			return KNOT_ENOMEM;
		}
		set->bytes = bytes;
		set->max = max;
	}
	return KNOT_OK;
}

/* As a number that is ordered as the bytes; a short name is filled up with zeros, which is the order of names, too. */
static uint64_t set_head(knot_name_t name)
{
	uint8_t head[8] = { 0 };
	memcpy(head, name.wire, name.len < sizeof(head) ? name.len : sizeof(head));
	return load_be64(head);
}

knot_err_t catalog_set_put(catalog_set_t *set, const catalog_member_t *member)
{
	assert(member->group.len <= CATALOG_GROUP_MAX);
	size_t len = SET_FIXED + member->group.len + member->member.len + member->owner.len;
	knot_err_t err = set_reserve(set, len);
	if (err != KNOT_OK) {
		return err;
	}
	set->places[set->count++] = (catalog_place_t){ .head = set_head(member->member), .at = set->len };
	const uint8_t fixed[SET_FIXED] = { member->has_more_groups, (uint8_t)member->group.len, member->member.len,
		member->member.label_count, member->owner.len, member->owner.label_count };
	uint8_t *to = set->bytes + set->len;
	set->len += len;
	memcpy(to, fixed, SET_FIXED);
	to += SET_FIXED;
	if (member->group.len > 0) {
		memcpy(to, member->group.data, member->group.len);
	}
	to += member->group.len;
	memcpy(to, member->member.wire, member->member.len);
	memcpy(to + member->member.len, member->owner.wire, member->owner.len);
	return KNOT_OK;
}

static catalog_member_t set_read(const uint8_t *bytes)
{
	const uint8_t *group = bytes + SET_FIXED, *name = group + bytes[1];
	return (catalog_member_t){ .member = { name, bytes[2], bytes[3] },
		.owner = { name + bytes[2], bytes[4], bytes[5] },
		.group = { group, bytes[1] },
		.has_more_groups = bytes[0] };
}

catalog_member_t catalog_set_get(const catalog_set_t *set, size_t i)
{
	assert(i < set->count);
	return set_read(set->bytes + set->places[i].at);
}

int catalog_cmp(knot_name_t a, knot_name_t b)
{
	/* A name ends with its only empty label, so no other begins with it. */
	return memcmp(a.wire, b.wire, a.len < b.len ? a.len : b.len);
}

static int set_cmp_members(const void *a, const void *b, void *ctx)
{
	const catalog_place_t *a_place = a, *b_place = b;
	if (a_place->head != b_place->head) {
		return a_place->head < b_place->head ? -1 : 1;
	}
	const uint8_t *bytes = ctx;
	int order = catalog_cmp(set_read(bytes + a_place->at).member, set_read(bytes + b_place->at).member);
	return order != 0 ? order : (a_place->at > b_place->at) - (a_place->at < b_place->at);
}

void catalog_set_sort(catalog_set_t *set)
{
	size_t i = 1;
	while (i < set->count && set_cmp_members(&set->places[i - 1], &set->places[i], set->bytes) < 0) {
		i++;
	}
	if (i < set->count) {
		qsort_r(set->places, set->count, sizeof(*set->places), set_cmp_members, set->bytes);
	}
}

void catalog_set_done(catalog_set_t *set)
{
	free(set->bytes);
	free(set->places);
	*set = (catalog_set_t){ 0 };
}
