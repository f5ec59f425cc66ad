/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/targets.h"

#include <stdlib.h>

enum { BYTES_MAX = 64 * 1024 };

/* Names' bytes, which don't move. */
struct zone_absent_bytes {
	struct zone_absent_bytes *next;
	size_t len;
	uint8_t data[BYTES_MAX];
};

/* The slot of a name or a free one. The place of the table differs from run to run, so names that collide can't be
 * chosen. */
static size_t targets_slot(const zone_targets_t *targets, knot_name_t name)
{
	const uint64_t factor = 0x9E3779B97F4A7C15u;
	uint64_t hash = (uintptr_t)targets->index * factor;
	for (unsigned i = 0; i < name.len; i++) {
		hash = (hash ^ name.wire[i]) * factor;
		hash ^= hash >> 29;
	}
	for (size_t at = (size_t)(hash >> 20);; at++) {
		at &= targets->index_max - 1;
		uint32_t i = targets->index[at];
		if (i == 0 || knot_name_eq(targets->list[i - 1].name, name)) {
			return at;
		}
	}
}

static bool targets_grow(zone_targets_t *targets)
{
	enum { FIRST = 64 };
	if (targets->count < targets->index_max / 2) {
		return true;
	}
	size_t max = targets->index_max == 0 ? FIRST : 2 * targets->index_max;
	zone_absent_t *list = realloc(targets->list, max / 2 * sizeof(*list));
	if (list == NULL) {
		return false;
	}
	targets->list = list;
	uint32_t *index = calloc(max, sizeof(*index));
	if (index == NULL) {
		return false;
	}
	free(targets->index);
	targets->index = index;
	targets->index_max = max;
	for (size_t i = 0; i < targets->count; i++) {
		index[targets_slot(targets, list[i].name)] = (uint32_t)i + 1;
	}
	return true;
}

static uint8_t *targets_keep(zone_targets_t *targets, knot_name_t name)
{
	struct zone_absent_bytes *bytes = targets->bytes;
	if (bytes == NULL || name.len > BYTES_MAX - bytes->len) {
		bytes = malloc(sizeof(*bytes));
		if (bytes == NULL) {
			return NULL;
		}
		bytes->next = targets->bytes;
		bytes->len = 0;
		targets->bytes = bytes;
	}
	uint8_t *kept = bytes->data + bytes->len;
	memcpy(kept, name.wire, name.len);
	bytes->len += name.len;
	return kept;
}

zone_absent_t *zone_targets_get(zone_targets_t *targets, knot_name_t name)
{
	if (!targets_grow(targets)) {
		return NULL;
	}
	size_t slot = targets_slot(targets, name);
	if (targets->index[slot] != 0) {
		return &targets->list[targets->index[slot] - 1];
	}
	const uint8_t *wire = targets_keep(targets, name);
	if (wire == NULL) {
		return NULL;
	}
	zone_absent_t *absent = &targets->list[targets->count++];
	*absent = (zone_absent_t){ .name = { wire, name.len, name.label_count } };
	targets->index[slot] = (uint32_t)targets->count;
	return absent;
}

static int cmp_absent(const void *va, const void *vb)
{
	return knot_name_cmp(((const zone_absent_t *)va)->name, ((const zone_absent_t *)vb)->name);
}

void zone_targets_sort(zone_targets_t *targets)
{
	free(targets->index);
	targets->index = NULL;
	targets->index_max = 0;
	if (targets->count > 0) {
		qsort(targets->list, targets->count, sizeof(*targets->list), cmp_absent);
	}
}

void zone_targets_done(zone_targets_t *targets)
{
	for (struct zone_absent_bytes *next, *bytes = targets->bytes; bytes != NULL; bytes = next) {
		next = bytes->next;
		free(bytes);
	}
	free(targets->list);
	free(targets->index);
	*targets = (zone_targets_t){ 0 };
}
