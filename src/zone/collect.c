/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/collect.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
	BLOCK_FIRST = 8 * 1024,          /* bytes */
	BLOCK_MAX = 4 * 1024 * 1024,
	BLOCK_MAP_MIN = 256 * 1024,      /* from here on mapped, so that the memory goes back to the system at once */
	PREFIX_POSITIONS = 10,           /* of 6 bits */
};

struct zone_block {
	struct zone_block *next;
	size_t size;                     /* bytes with this header */
};

uint64_t zone_name_prefix(knot_name_t origin, knot_name_t name)
{
	uint8_t key[KNOT_NAME_KEY_MAX];
	size_t len = knot_name_key(name, key);
	uint8_t origin_key[KNOT_NAME_KEY_MAX];
	size_t skip = knot_name_key(origin, origin_key);
	uint64_t prefix = 0;
	for (size_t i = skip; i < skip + PREFIX_POSITIONS; i++) {
		prefix = prefix << 6 | (i < len ? key[i] : KNOT_KEY_END);
	}
	return prefix;
}

int zone_name_order(const zone_name_t *a, const zone_name_t *b)
{
	if (a->prefix != b->prefix) {
		return a->prefix < b->prefix ? -1 : 1;
	}
	return knot_name_cmp(zone_name_of(a), zone_name_of(b));
}

void zone_collect_init(zone_collect_t *collect, knot_name_t origin)
{
	*collect = (zone_collect_t){ 0 };
	knot_name_lower(origin, collect->origin_wire);
	collect->origin = (knot_name_t){ collect->origin_wire, origin.len, origin.label_count };
}

void zone_collect_done(zone_collect_t *collect)
{
	for (zone_block_mem_t *block = collect->blocks, *next; block != NULL; block = next) {
		next = block->next;
		if (block->size >= BLOCK_MAP_MIN) {
			munmap(block, block->size);
		} else {
			free(block);
		}
	}
	free(collect->names.names);
	*collect = (zone_collect_t){ 0 };
}

static bool add_block(zone_collect_t *collect, size_t len)
{
	size_t size = collect->blocks != NULL ? 2 * collect->blocks->size : BLOCK_FIRST;
	size = size > BLOCK_MAX ? BLOCK_MAX : size;
	size = size < len + sizeof(zone_block_mem_t) ? len + sizeof(zone_block_mem_t) : size;
	zone_block_mem_t *block;
	if (size >= BLOCK_MAP_MIN) {
		void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		block = p != MAP_FAILED ? p : NULL;
	} else {
		block = malloc(size);
	}
	if (block == NULL) {
		return false;
	}
	*block = (zone_block_mem_t){ collect->blocks, size };
	collect->blocks = block;
	collect->next = (uint8_t *)(block + 1);
	collect->end = (uint8_t *)block + size;
	return true;
}

void *zone_collect_alloc(zone_collect_t *collect, size_t len)
{
	len = (len + 7) & ~(size_t)7;
	if (len > (size_t)(collect->end - collect->next) && !add_block(collect, len)) {
		return NULL;
	}
	void *p = collect->next;
	collect->next += len;
	return p;
}

zone_name_t *zone_names_add(zone_names_t *names)
{
	if (names->count == names->max) {
		size_t max = names->max == 0 ? 8 : names->max + names->max / 2;
		zone_name_t *grown = realloc(names->names, max * sizeof(*grown));
		if (grown == NULL) {
			return NULL;
		}
		names->names = grown;
		names->max = max;
	}
	zone_name_t *name = &names->names[names->count++];
	*name = (zone_name_t){ 0 };
	return name;
}

zone_name_t *zone_collect_name(zone_collect_t *collect, knot_name_t owner)
{
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(owner, lower);
	if (collect->names.count > 0) {
		zone_name_t *last = &collect->names.names[collect->names.count - 1];
		if (last->len == owner.len && memcmp(last->wire, lower, owner.len) == 0) {
			return last;
		}
	}
	uint8_t *wire = zone_collect_alloc(collect, owner.len);
	zone_name_t *name = wire != NULL ? zone_names_add(&collect->names) : NULL;
	if (name == NULL) {
		return NULL;
	}
	memcpy(wire, lower, owner.len);
	name->wire = wire;
	name->len = owner.len;
	name->label_count = owner.label_count;
	name->seq = (uint32_t)collect->names.count;
	name->prefix = zone_name_prefix(collect->origin, zone_name_of(name));
	return name;
}

knot_err_t zone_collect_record(zone_collect_t *collect, zone_name_t *name, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	zone_record_t *record = zone_collect_alloc(collect, sizeof(*record) + rdata.len);
	if (record == NULL) {
		return KNOT_ENOMEM;
	}
	*record = (zone_record_t){ .ttl = ttl, .type = type, .rdata_len = (uint16_t)rdata.len };
	if (rdata.len > 0) {
		memcpy(record->rdata, rdata.data, rdata.len);
		knot_rdata_canonical(type, (knot_mut_bytes_t){ record->rdata, rdata.len });
	}
	if (name->last != NULL) {
		name->last->next = record;
	} else {
		name->first = record;
	}
	name->last = record;
	return KNOT_OK;
}

static int cmp_entries(const void *va, const void *vb)
{
	const zone_name_t *a = va, *b = vb;
	int order = zone_name_order(a, b);
	return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

knot_err_t zone_collect_sort(zone_collect_t *collect)
{
	zone_name_t *names = collect->names.names;
	size_t count = collect->names.count;
	bool is_sorted = true;
	for (size_t i = 1; i < count && is_sorted; i++) {
		is_sorted = zone_name_order(&names[i - 1], &names[i]) < 0;
	}
	if (is_sorted) {
		return KNOT_OK;
	}
	qsort(names, count, sizeof(*names), cmp_entries);
	size_t kept = 1;
	for (size_t i = 1; i < count; i++) {
		zone_name_t *last = &names[kept - 1];
		if (zone_name_order(last, &names[i]) != 0) {
			names[kept++] = names[i];
			continue;
		}
		if (names[i].first != NULL && last->last != NULL) {
			last->last->next = names[i].first;
		} else if (names[i].first != NULL) {
			last->first = names[i].first;
		}
		last->last = names[i].last != NULL ? names[i].last : last->last;
		last->old_ref = last->old_ref != 0 ? last->old_ref : names[i].old_ref;
	}
	collect->names.count = kept;
	return KNOT_OK;
}
