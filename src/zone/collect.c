/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/collect.h"

#include "libknot/base/assert.h"
#include "src/zone/collect_blocks.h"

#include <stdlib.h>
#include <sys/mman.h>

/*
 * A record: number of its head (1 byte; 0: TTL and type follow, 4 and 2 bytes), length of its RDATA (1 byte; LONG: 2
 * more follow), RDATA.
 */
enum { RECORD_HEAD_MAX = 1 + 6 + 3, LONG = 255 };

/* ---- Blocks ---- */

static void free_block(zone_collect_t *collect, zone_block_mem_t *block)
{
	collect->table[block->number] = NULL;
	if (block->size >= ZONE_BLOCK_SIZE) {
		munmap(block, block->size);
	} else {
		free(block);
	}
}

static void free_blocks(zone_collect_t *collect, zone_block_mem_t *first)
{
	for (zone_block_mem_t *block = first, *next; block != NULL; block = next) {
		next = block->next;
		free_block(collect, block);
	}
}

/* Room for one more block in the table. */
static bool grow_table(zone_collect_t *collect)
{
	if (collect->block_count < collect->table_max) {
		return true;
	}
	uint32_t max = 2 * collect->table_max + 4;
	zone_block_mem_t **grown =
			max <= ZONE_BLOCKS_MAX ? realloc(collect->table, max * sizeof(zone_block_mem_t *)) : NULL;
	if (grown == NULL) {
		return false;
	}
	collect->table = grown;
	collect->table_max = max;
	return true;
}

static void *map_block(size_t size)
{
	if (size < ZONE_BLOCK_SIZE) {
		return malloc(size);
	}
	/* Common blocks get filled: one call for all their pages is cheaper than a fault for each. */
	int populate = size == ZONE_BLOCK_SIZE ? MAP_POPULATE : 0;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
	return p != MAP_FAILED ? p : NULL;
}

static zone_block_mem_t *new_block(zone_collect_t *collect, size_t size)
{
	zone_block_mem_t *block = collect->spare;
	if (size == ZONE_BLOCK_SIZE && block != NULL) {
		collect->spare = block->next;
		*block = (zone_block_mem_t){ .size = size, .number = block->number, .used = sizeof(*block) };
		return block;
	}
	block = grow_table(collect) ? map_block(size) : NULL;
	if (block != NULL) {
		*block = (zone_block_mem_t){ .size = size, .number = collect->block_count++, .used = sizeof(*block) };
		collect->table[block->number] = block;
	}
	return block;
}

void zone_blocks_end(zone_blocks_t *blocks)
{
	if (blocks->last != NULL) {
		blocks->last->used = (size_t)(blocks->next - (uint8_t *)blocks->last);
	}
}

static bool add_block(zone_collect_t *collect, zone_blocks_t *blocks, size_t len)
{
	size_t size = blocks->last != NULL ? 2 * blocks->last->size : ZONE_BLOCK_FIRST;
	size = size > ZONE_BLOCK_SIZE ? ZONE_BLOCK_SIZE : size;
	if (len > size - sizeof(zone_block_mem_t)) {
		if (len > SIZE_MAX / 4) {
			return false;
		}
		/* Large groups get room to grow, so that they seldom move. */
		size = (2 * len + sizeof(zone_block_mem_t) + 4095) & ~(size_t)4095;
	}
	zone_block_mem_t *block = new_block(collect, size);
	if (block == NULL) {
		return false;
	}
	zone_blocks_end(blocks);
	if (blocks->last != NULL) {
		blocks->last->next = block;
	} else {
		blocks->first = block;
	}
	blocks->last = block;
	blocks->next = (uint8_t *)(block + 1);
	blocks->end = (uint8_t *)block + size;
	return true;
}

void *zone_blocks_room(zone_collect_t *collect, zone_blocks_t *blocks, size_t len)
{
	size_t pad = -(uintptr_t)blocks->next & 7;
	bool is_in_reach = blocks->last != NULL &&
			   (size_t)(blocks->next - (uint8_t *)blocks->last) + pad < ZONE_BLOCK_SIZE;
	if (is_in_reach && pad + len <= (size_t)(blocks->end - blocks->next)) {
		blocks->next += pad;
	} else if (!add_block(collect, blocks, len)) {
		return NULL;
	}
	void *p = blocks->next;
	blocks->next += len;
	return p;
}

void zone_blocks_recycle(zone_collect_t *collect, zone_block_mem_t *block)
{
	assert(collect->table[block->number] == block);
	if (block->size == ZONE_BLOCK_SIZE) {
		block->next = collect->spare;
		collect->spare = block;
	} else {
		free_block(collect, block);
	}
}

void zone_blocks_drop_spare(zone_collect_t *collect)
{
	free_blocks(collect, collect->spare);
	collect->spare = NULL;
}

/* ---- Names ---- */

uint64_t zone_name_prefix(const zone_collect_t *collect, knot_name_t name)
{
	uint8_t key[KNOT_NAME_KEY_MAX + ZONE_PREFIX_POSITIONS];
	size_t len = knot_name_key(name, key);
	memset(key + len, KNOT_KEY_END, ZONE_PREFIX_POSITIONS);
	uint64_t prefix = 0;
	for (unsigned i = 0; i < ZONE_PREFIX_POSITIONS; i++) {
		prefix = prefix << ZONE_PREFIX_BITS | key[collect->origin_key_len + i];
	}
	return prefix;
}

int zone_group_order(const zone_group_t *a, const zone_group_t *b)
{
	if (a->prefix != b->prefix) {
		return a->prefix < b->prefix ? -1 : 1;
	}
	return knot_name_cmp(zone_group_name(a), zone_group_name(b));
}

/* ---- Collecting ---- */

void zone_collect_init(zone_collect_t *collect, knot_name_t origin)
{
	*collect = (zone_collect_t){ 0 };
	knot_name_lower(origin, collect->origin_wire);
	collect->origin = (knot_name_t){ collect->origin_wire, origin.len, origin.label_count };
	uint8_t key[KNOT_NAME_KEY_MAX];
	collect->origin_key_len = (unsigned)knot_name_key(origin, key);
}

void zone_collect_done(zone_collect_t *collect)
{
	for (unsigned i = 0; i < ZONE_RUNS_MAX; i++) {
		free_blocks(collect, collect->runs[i].first);
	}
	free_blocks(collect, collect->rest.first);
	free_blocks(collect, collect->groups.first);
	free_blocks(collect, collect->scratch.first);
	free_blocks(collect, collect->spare);
	free(collect->table);
	free(collect->heads);
	*collect = (zone_collect_t){ 0 };
}

void *zone_collect_alloc(zone_collect_t *collect, size_t len)
{
	return zone_blocks_room(collect, &collect->scratch, len);
}

static void set_group(zone_group_t *group, knot_name_t lower, uint64_t prefix)
{
	*group = (zone_group_t){ .prefix = prefix,
		.size = (uint32_t)sizeof(*group) + lower.len,
		.owner_len = lower.len,
		.label_count = lower.label_count };
	memcpy(group->owner, lower.wire, lower.len);
}

/* Canonical order of a group and a name whose prefix is known. */
static inline bool is_before(const zone_group_t *group, uint64_t prefix, knot_name_t name)
{
	return group->prefix != prefix ? group->prefix < prefix : knot_name_cmp(zone_group_name(group), name) < 0;
}

/*
 * The list that a group of this name is appended to. Files that are sorted but for a few kinds of records (glue behind
 * its cut, say) are a few sorted runs. Ends of runs only move up, so a later group of the same owner is in a later
 * list.
 */
static zone_blocks_t *choose_run(zone_collect_t *collect, uint64_t prefix, knot_name_t name, unsigned *ret_run)
{
	for (unsigned i = 0; i < ZONE_RUNS_MAX; i++) {
		if (collect->run_ends[i] == NULL || is_before(collect->run_ends[i], prefix, name)) {
			*ret_run = i;
			return &collect->runs[i];
		}
	}
	*ret_run = ZONE_RUNS_MAX;
	return &collect->rest;
}

knot_err_t zone_collect_owner(zone_collect_t *collect, knot_name_t owner)
{
	assert(collect->groups.first == NULL);
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(owner, lower);
	zone_group_t *last = collect->last;
	if (last != NULL && last->owner_len == owner.len && memcmp(last->owner, lower, owner.len) == 0) {
		return KNOT_OK;
	}
	knot_name_t name = { lower, owner.len, owner.label_count };
	uint64_t prefix = zone_name_prefix(collect, name);
	unsigned run;
	zone_blocks_t *blocks = choose_run(collect, prefix, name, &run);
	zone_group_t *group = zone_blocks_room(collect, blocks, sizeof(*group) + owner.len);
	if (group == NULL) {
		return KNOT_ENOMEM;
	}
	set_group(group, name, prefix);
	if (run < ZONE_RUNS_MAX) {
		collect->run_ends[run] = group;
	}
	collect->run_number = run;
	collect->run = blocks;
	collect->last = group;
	collect->group_count++;
	return KNOT_OK;
}

zone_group_t *zone_collect_empty(zone_collect_t *collect, knot_name_t owner, zone_group_ref_t *ret_ref)
{
	zone_group_t *group = zone_collect_alloc(collect, sizeof(*group) + owner.len);
	if (group != NULL) {
		set_group(group, owner, zone_name_prefix(collect, owner));
		*ret_ref = zone_group_ref(collect->scratch.last, group);
	}
	return group;
}

bool zone_is_nsec3_record(uint16_t type, knot_bytes_t rdata)
{
	return type == KNOT_TYPE_NSEC3 ||
	       (type == KNOT_TYPE_RRSIG && rdata.len >= 2 && load_be16(rdata.data) == KNOT_TYPE_NSEC3);
}

static uint16_t kinds_of(uint16_t type, knot_bytes_t rdata)
{
	switch (type) {
	case KNOT_TYPE_A:
	case KNOT_TYPE_AAAA: return ZONE_GROUP_REST | ZONE_GROUP_ADDRESS;
	case KNOT_TYPE_NS: return ZONE_GROUP_REST | ZONE_GROUP_NS;
	case KNOT_TYPE_SOA: return ZONE_GROUP_REST | ZONE_GROUP_SOA;
	case KNOT_TYPE_SVCB:
	case KNOT_TYPE_HTTPS: return ZONE_GROUP_REST | ZONE_GROUP_SERVICE;
	default: return zone_is_nsec3_record(type, rdata) ? ZONE_GROUP_NSEC3 : ZONE_GROUP_REST;
	}
}

knot_err_t zone_group_grow(zone_collect_t *collect, zone_blocks_t *blocks, zone_group_t **group, size_t len)
{
	size_t size = (*group)->size;
	KNOT_ASSERT_SLOW((uint8_t *)*group + size == blocks->next); /* the last group of its list */
	if (len > UINT32_MAX - size) {
		return KNOT_EZONESIZE;
	}
	if (len > (size_t)(blocks->end - blocks->next)) { /* the group is the last of its block: move it to a new one */
		const zone_group_t *from = *group;
		blocks->next = (uint8_t *)*group;
		zone_block_mem_t *old = blocks->last;
		if (!add_block(collect, blocks, size + len)) {
			blocks->next = (uint8_t *)*group + size;
			return KNOT_ENOMEM;
		}
		assert(old->next == blocks->last);
		*group = (zone_group_t *)blocks->next;
		memcpy(*group, from, size);
		blocks->next += size;
	}
	(*group)->size = (uint32_t)(size + len);
	blocks->next += len;
	return KNOT_OK;
}

/* The number of a pair of type and TTL, assigned if one is left; 0: none. */
static unsigned head_of(zone_collect_t *collect, uint16_t type, uint32_t ttl)
{
	const zone_record_head_t *heads = collect->heads;
	unsigned last = collect->last_head;
	if (last != 0 && heads[last].type == type && heads[last].ttl == ttl) {
		return last;
	}
	for (unsigned i = 1; i <= collect->head_count; i++) {
		if (heads[i].type == type && heads[i].ttl == ttl) {
			collect->last_head = i;
			return i;
		}
	}
	if (collect->head_count + 1 == ZONE_HEADS_MAX) {
		return 0;
	}
	if (collect->head_count + 1 >= collect->head_max) {
		uint32_t max = collect->head_max == 0 ? 8 : 2 * collect->head_max;
		zone_record_head_t *grown = realloc(collect->heads, max * sizeof(*grown));
		if (grown == NULL) {
			return 0; /* no error: the record carries its own pair */
		}
		collect->heads = grown;
		collect->head_max = max;
	}
	collect->last_head = ++collect->head_count;
	collect->heads[collect->head_count] = (zone_record_head_t){ ttl, type };
	return collect->head_count;
}

static size_t pack_head(zone_collect_t *collect, uint8_t to[static RECORD_HEAD_MAX], uint16_t type, uint32_t ttl,
		size_t rdata_len)
{
	size_t len = 1;
	to[0] = (uint8_t)head_of(collect, type, ttl);
	if (to[0] == 0) {
		store_be32(to + 1, ttl);
		store_be16(to + 5, type);
		len += 6;
	}
	to[len++] = rdata_len < LONG ? (uint8_t)rdata_len : LONG;
	if (rdata_len >= LONG) {
		store_be16(to + len, (uint16_t)rdata_len);
		len += 2;
	}
	return len;
}

knot_err_t zone_collect_record(zone_collect_t *collect, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	assert(collect->last != NULL && collect->groups.first == NULL); /* an owner came first, nothing is sorted yet */
	uint8_t head[RECORD_HEAD_MAX];
	size_t head_len = pack_head(collect, head, type, ttl, rdata.len), len = head_len + rdata.len;
	knot_err_t err = zone_group_grow(collect, collect->run, &collect->last, len);
	if (err != KNOT_OK) {
		return err;
	}
	zone_group_t *group = collect->last;
	if (collect->run_number < ZONE_RUNS_MAX) {
		collect->run_ends[collect->run_number] = group; /* it may have moved */
	}
	uint8_t *p = (uint8_t *)group + group->size - len;
	memcpy(p, head, head_len);
	if (rdata.len > 0) {
		memcpy(p + head_len, rdata.data, rdata.len);
		knot_rdata_canonical(type, (knot_mut_bytes_t){ p + head_len, rdata.len });
	}
	uint16_t kinds = kinds_of(type, rdata);
	group->kinds |= kinds;
	collect->kinds |= kinds;
	return KNOT_OK;
}

/* ---- Reading ---- */

bool zone_group_next(const zone_collect_t *collect, const zone_group_t *group, size_t *pos, zone_packed_t *ret_record)
{
	if (*pos == 0) {
		*pos = sizeof(*group) + group->owner_len;
	}
	if (*pos >= group->size) {
		return false;
	}
	const uint8_t *p = (const uint8_t *)group + *pos;
	zone_record_head_t head;
	if (*p != 0) {
		KNOT_ASSERT_SLOW(*p <= collect->head_count);
		head = collect->heads[*p++];
	} else {
		head = (zone_record_head_t){ load_be32(p + 1), load_be16(p + 5) };
		p += 7;
	}
	size_t len = *p++;
	if (len == LONG) {
		len = load_be16(p);
		p += 2;
	}
	*ret_record = (zone_packed_t){ head.ttl, head.type, { p, len } };
	*pos = (size_t)(p + len - (const uint8_t *)group);
	KNOT_ASSERT_SLOW(*pos <= group->size);
	return true;
}

zone_group_ref_t zone_group_ref(const zone_block_mem_t *block, const zone_group_t *group)
{
	size_t offset = (size_t)((const uint8_t *)group - (const uint8_t *)block);
	assert(offset < ZONE_BLOCK_SIZE && offset % 8 == 0);
	return block->number << ZONE_GROUP_OFFSET_BITS | (uint32_t)(offset / 8);
}

zone_group_t *zone_block_next(const zone_block_mem_t *block, const zone_group_t *group)
{
	size_t pos = group == NULL ? sizeof(*block)
				   : (size_t)((const uint8_t *)group - (const uint8_t *)block) + group->size;
	pos = (pos + 7) & ~(size_t)7;
	return pos < block->used ? (zone_group_t *)((uint8_t *)(uintptr_t)block + pos) : NULL;
}

zone_group_t *zone_collect_next(const zone_collect_t *collect, zone_block_mem_t **block, const zone_group_t *group)
{
	if (group == NULL) {
		*block = collect->groups.first;
	}
	for (; *block != NULL; *block = (*block)->next, group = NULL) {
		zone_group_t *next = zone_block_next(*block, group);
		if (next != NULL) {
			return next;
		}
	}
	return NULL;
}

void zone_collect_release(zone_collect_t *collect, const zone_group_t *group)
{
	zone_block_mem_t *block = collect->groups.first;
	const uint8_t *p = (const uint8_t *)group;
	while (p < (const uint8_t *)block || p >= (const uint8_t *)block + block->used) {
		collect->groups.first = block->next;
		free_block(collect, block);
		block = collect->groups.first;
		assert(block != NULL);
	}
}
