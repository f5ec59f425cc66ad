/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/entry.h"

_Static_assert(sizeof(entry_t) % 8 == 0 && sizeof(entry_t) <= ZONE_HEAD_MAX, "may stand before a zone");

knot_name_t entry_name(entry_t *entry)
{
	return zone_name(entry_zone(entry));
}

entry_t *entry_new(knot_name_t name)
{
	zone_t *zone = zone_new_with_head(name, sizeof(entry_t));
	return zone != NULL ? entry_of(zone) : NULL;
}

void entry_free(entry_t *entry)
{
	source_clear(&entry->source);
	zone_free(entry_zone(entry));
}
