/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/entry.h"

#include <stdlib.h>

knot_name_t entry_name(const entry_t *entry)
{
	return zone_name(entry->zone);
}

entry_t *entry_new(knot_name_t name)
{
	entry_t *entry = calloc(1, sizeof(*entry));
	if (entry == NULL) {
		return NULL;
	}
	entry->zone = zone_new(name);
	if (entry->zone == NULL) {
		free(entry);
		return NULL;
	}
	return entry;
}

void entry_free(entry_t *entry)
{
	module_chain_free(zone_set_modules(entry->zone, NULL));
	zone_free(entry->zone);
	source_clear(&entry->source);
	free(entry);
}

entry_t *entry_find(entry_t *const *entries, size_t count, knot_name_t name)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = knot_name_cmp(name, entry_name(entries[middle]));
		if (order == 0) {
			return entries[middle];
		}
		if (order < 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return NULL;
}
