/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/store.h"

#include <stdlib.h>

struct conf_chunk {
	conf_chunk_t *next;
	size_t size; /* bytes of data */
	max_align_t data[];
};

enum { CHUNK_SIZE = 256 * 1024, SLOTS_MIN = 16, BLOCKS_MIN = 4, ITEM_HEAD = 4 };

conf_store_t *conf_store_new(void)
{
	return calloc(1, sizeof(conf_store_t));
}

/** Keys of TSIG and secrets of modules are in there; zones have none. */
static void wipe_arena(const conf_arena_t *arena)
{
	for (conf_chunk_t *chunk = arena->chunks; chunk != NULL; chunk = chunk->next) {
		size_t unused = chunk == arena->chunks ? arena->left : 0;
		explicit_bzero((uint8_t *)chunk->data + unused, chunk->size - unused);
	}
}

static void free_arena(conf_arena_t *arena)
{
	while (arena->chunks != NULL) {
		conf_chunk_t *next = arena->chunks->next;
		free(arena->chunks);
		arena->chunks = next;
	}
	arena->left = 0;
}

void conf_store_free(conf_store_t *store)
{
	if (store == NULL) {
		return;
	}
	for (size_t i = 0; i < CONF_S_COUNT; i++) {
		free(store->tables[i].blocks);
		free(store->tables[i].slots);
	}
	free(store->zones.bytes);
	free(store->zones.starts);
	wipe_arena(&store->arena);
	free_arena(&store->arena);
	free_arena(&store->zone_arena);
	free(store);
}

/** Space is taken from the end of a chunk downwards, so that alignment is one mask. */
static uint8_t *store_take(conf_arena_t *arena, size_t size, size_t align)
{
	assert(align > 0 && (align & (align - 1)) == 0 && align <= _Alignof(max_align_t));
	size_t left = arena->left;
	if (arena->chunks == NULL || size > left) {
		size_t chunk_size = size > CHUNK_SIZE / 4 ? size + align : CHUNK_SIZE;
		conf_chunk_t *chunk = malloc(sizeof(*chunk) + chunk_size);
		if (chunk == NULL) {
			return NULL;
		}
		chunk->size = chunk_size;
		/* A big object gets a chunk of its own behind the open one. */
		if (chunk_size != CHUNK_SIZE && arena->chunks != NULL) {
			chunk->next = arena->chunks->next;
			arena->chunks->next = chunk;
			return (uint8_t *)chunk->data;
		}
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->left = left = chunk_size;
	}
	arena->left = (left - size) & ~(align - 1);
	return (uint8_t *)arena->chunks->data + arena->left;
}

void *conf_store_alloc(conf_store_t *store, size_t size)
{
	void *room = store_take(&store->arena, size, _Alignof(max_align_t));
	if (room != NULL) {
		memset(room, 0, size);
	}
	return room;
}

static const uint8_t *copy_bytes(conf_arena_t *arena, const uint8_t *data, size_t len)
{
	uint8_t *copy = store_take(arena, len, 1);
	if (copy != NULL && len > 0) {
		memcpy(copy, data, len);
	}
	return copy;
}

const uint8_t *conf_store_bytes(conf_store_t *store, size_t section, const uint8_t *data, size_t len)
{
	assert(section < CONF_S_COUNT);
	return copy_bytes(section == CONF_S_ZONE ? &store->zone_arena : &store->arena, data, len);
}

const char *conf_store_str(conf_store_t *store, const char *text)
{
	return (const char *)copy_bytes(&store->arena, (const uint8_t *)text, strlen(text) + 1);
}

/* ---- Blocks ---- */

/** FNV-1a: identifiers come from the operator's file, so chosen collisions are no threat. */
static uint64_t hash(knot_bytes_t id)
{
	uint64_t h = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < id.len; i++) {
		h = (h ^ id.data[i]) * UINT64_C(1099511628211);
	}
	return h ^ h >> 32;
}

static bool has_id(const conf_block_t *block, knot_bytes_t id)
{
	return block->id_len == id.len && (id.len == 0 || memcmp(block->id, id.data, id.len) == 0);
}

/** The slot of this identifier, or the free one where it would go. */
static uint32_t *find_slot(const conf_table_t *table, knot_bytes_t id)
{
	assert(table->count < table->slot_count); /* a free slot ends each search */
	size_t i = hash(id) & (table->slot_count - 1);
	while (table->slots[i] != 0 && !has_id(&table->blocks[table->slots[i] - 1], id)) {
		i = (i + 1) & (table->slot_count - 1);
	}
	return &table->slots[i];
}

static knot_bytes_t block_id(const conf_block_t *block)
{
	return (knot_bytes_t){ block->id, block->id_len };
}

static int compare_bytes(const void *a, const void *b)
{
	const conf_block_t *x = a, *y = b;
	size_t len = x->id_len < y->id_len ? x->id_len : y->id_len;
	int order = len > 0 ? memcmp(x->id, y->id, len) : 0;
	return order != 0 ? order : (x->id_len > y->id_len) - (x->id_len < y->id_len);
}

conf_block_t *conf_store_find(const conf_store_t *store, size_t section, knot_bytes_t id)
{
	assert(section < CONF_S_COUNT && (section != CONF_S_ZONE || !conf_store_is_sealed(store)));
	const conf_table_t *table = &store->tables[section];
	if (table->count == 0) {
		return NULL;
	}
	if (table->slots != NULL) {
		uint32_t slot = *find_slot(table, id);
		return slot != 0 ? &table->blocks[slot - 1] : NULL;
	}
	conf_block_t key = { .id = id.data, .id_len = (uint32_t)id.len };
	return bsearch(&key, table->blocks, table->count, sizeof(key), compare_bytes);
}

bool conf_zones_find(const conf_zones_t *zones, knot_name_t name, size_t *ret_index)
{
	size_t low = 0, high = zones->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = knot_name_cmp(name, conf_zones_name(zones, middle));
		if (order == 0) {
			*ret_index = middle;
			return true;
		}
		if (order < 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return false;
}

static knot_err_t grow_blocks(conf_table_t *table)
{
	if (table->count == table->max) {
		size_t max = table->max > 0 ? table->max * 2 : BLOCKS_MIN;
		conf_block_t *blocks = max <= UINT32_MAX ? realloc(table->blocks, max * sizeof(*blocks)) : NULL;
		if (blocks == NULL) {
			return KNOT_ENOMEM;
		}
		table->blocks = blocks;
		table->max = max;
	}
	return KNOT_OK;
}

static knot_err_t store_grow(conf_table_t *table)
{
	knot_err_t err = grow_blocks(table);
	if (err != KNOT_OK) {
		return err;
	}
	if (table->count * 2 < table->slot_count) {
		return KNOT_OK;
	}
	size_t slot_count = table->slot_count > 0 ? table->slot_count * 2 : SLOTS_MIN;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));
	if (slots == NULL) {
		return KNOT_ENOMEM;
	}
	free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	for (size_t i = 0; i < table->count; i++) {
		*find_slot(table, block_id(&table->blocks[i])) = (uint32_t)i + 1;
	}
	return KNOT_OK;
}

knot_err_t conf_store_add(conf_store_t *store, size_t section, knot_bytes_t id, conf_block_t **ret_block)
{
	assert(section < CONF_S_COUNT && !conf_store_is_sealed(store) && id.len <= UINT32_MAX);
	conf_table_t *table = &store->tables[section];
	const uint8_t *copy = conf_store_bytes(store, section, id.data, id.len);
	knot_err_t err = copy != NULL ? store_grow(table) : KNOT_ENOMEM;
	if (err != KNOT_OK) {
		return err;
	}
	uint32_t *slot = find_slot(table, id);
	assert(*slot == 0); /* there is no block with this identifier */
	conf_block_t *block = &table->blocks[table->count++];
	*block = (conf_block_t){ .id = copy, .id_len = (uint32_t)id.len };
	*slot = (uint32_t)table->count;
	*ret_block = block;
	return KNOT_OK;
}

knot_err_t conf_store_put(conf_store_t *store, size_t section, knot_bytes_t id, knot_bytes_t items)
{
	assert(items.len <= UINT32_MAX);
	conf_block_t *block;
	const uint8_t *copy = conf_store_bytes(store, section, items.data, items.len);
	knot_err_t err = copy != NULL ? conf_store_add(store, section, id, &block) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		block->items = copy;
		block->items_len = (uint32_t)items.len;
	}
	return err;
}

knot_err_t conf_store_append(conf_store_t *store, size_t section, knot_bytes_t id, knot_bytes_t items)
{
	conf_table_t *table = &store->tables[section];
	assert(table->slots == NULL && !conf_store_is_sealed(store));
	assert(id.len <= UINT32_MAX && items.len <= UINT32_MAX);
	conf_block_t block = { .id_len = (uint32_t)id.len, .items_len = (uint32_t)items.len };
	block.id = conf_store_bytes(store, section, id.data, id.len);
	block.items = block.id != NULL ? conf_store_bytes(store, section, items.data, items.len) : NULL;
	knot_err_t err = block.items != NULL ? grow_blocks(table) : KNOT_ENOMEM;
	if (err == KNOT_OK) {
		table->blocks[table->count++] = block;
	}
	return err;
}

void conf_store_clear(conf_store_t *store, size_t section)
{
	assert(section < CONF_S_COUNT);
	conf_table_t *table = &store->tables[section];
	free(table->blocks);
	free(table->slots);
	*table = (conf_table_t){ 0 };
}

/* ---- Order ---- */

typedef struct {
	uint64_t prefix;    /* first eight positions of the key: decides most comparisons without a cache miss */
	const uint8_t *key; /* behind the prefix */
	uint32_t key_len;   /* of all of it */
	uint32_t index;
} sort_entry_t;

static int compare_entries(const void *a, const void *b)
{
	const sort_entry_t *x = a, *y = b;
	if (x->prefix != y->prefix) {
		return x->prefix < y->prefix ? -1 : 1;
	}
	uint32_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
	int order = len > 0 ? memcmp(x->key, y->key, len) : 0;
	return order != 0 ? order : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

static bool are_sorted_names(const conf_table_t *table)
{
	for (size_t i = 1; i < table->count; i++) {
		if (knot_name_cmp(knot_name_of(table->blocks[i - 1].id), knot_name_of(table->blocks[i].id)) > 0) {
			return false;
		}
	}
	return true;
}

/** Length of what all keys begin with: a prefix would be the same in all of them if every zone is below "com". */
static size_t common_len(const sort_entry_t *entries, size_t count)
{
	size_t common = entries[0].key_len;
	for (size_t i = 1; i < count; i++) {
		size_t len = 0;
		while (len < common && len < entries[i].key_len && entries[i].key[len] == entries[0].key[len]) {
			len++;
		}
		common = len;
	}
	return common;
}

static void set_prefix(sort_entry_t *entry, size_t common)
{
	entry->key += common;
	entry->key_len -= (uint32_t)common;
	for (size_t i = 0; i < sizeof(entry->prefix); i++) {
		/* A key's end sorts before every position, also before position 0. */
		entry->prefix = entry->prefix << 8 | (i < entry->key_len ? entry->key[i] + 1u : 0);
	}
}

/** Sort zones by their lookup keys, whose byte order is the canonical order of names. */
static knot_err_t sort_names(conf_table_t *table)
{
	size_t key_bytes = 0;
	uint8_t key[KNOT_NAME_KEY_MAX];
	for (size_t i = 0; i < table->count; i++) {
		key_bytes += 2 * (size_t)table->blocks[i].id_len;
	}
	sort_entry_t *entries = calloc(table->count, sizeof(*entries));
	uint8_t *keys = malloc(key_bytes + 1);
	conf_block_t *blocks = malloc(table->count * sizeof(*blocks));
	if (entries == NULL || keys == NULL || blocks == NULL) {
		free(entries);
		free(keys);
		free(blocks);
		return KNOT_ENOMEM;
	}
	uint8_t *next = keys;
	for (size_t i = 0; i < table->count; i++) {
		size_t len = knot_name_key(knot_name_of(table->blocks[i].id), key);
		memcpy(next, key, len);
		entries[i] = (sort_entry_t){ .key = next, .key_len = (uint32_t)len, .index = (uint32_t)i };
		next += len;
	}
	size_t common = common_len(entries, table->count);
	for (size_t i = 0; i < table->count; i++) {
		set_prefix(&entries[i], common);
	}
	qsort(entries, table->count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < table->count; i++) {
		blocks[i] = table->blocks[entries[i].index];
	}
	free(table->blocks);
	table->blocks = blocks;
	table->max = table->count;
	free(entries);
	free(keys);
	return KNOT_OK;
}

/** Put name and items of each zone, in the order of the blocks, behind each other, and forget the blocks. */
static knot_err_t pack_zones(conf_store_t *store)
{
	conf_table_t *table = &store->tables[CONF_S_ZONE];
	size_t len = 0;
	for (size_t i = 0; i < table->count; i++) {
		len += (size_t)table->blocks[i].id_len + table->blocks[i].items_len;
	}
	if (len > UINT32_MAX) {
		return KNOT_ENOMEM;
	}
	conf_zones_t zones = { .bytes = malloc(len + 1),
		.starts = malloc((table->count + 1) * sizeof(*zones.starts)),
		.count = table->count };
	if (zones.bytes == NULL || zones.starts == NULL) {
		free(zones.bytes);
		free(zones.starts);
		return KNOT_ENOMEM;
	}
	size_t at = 0;
	for (size_t i = 0; i < table->count; i++) {
		const conf_block_t *block = &table->blocks[i];
		zones.starts[i] = (uint32_t)at;
		memcpy(zones.bytes + at, block->id, block->id_len);
		at += block->id_len;
		if (block->items_len > 0) {
			memcpy(zones.bytes + at, block->items, block->items_len);
			at += block->items_len;
		}
	}
	assert(at == len);
	zones.starts[table->count] = (uint32_t)at;
	store->zones = zones;
	conf_store_clear(store, CONF_S_ZONE);
	free_arena(&store->zone_arena);
	return KNOT_OK;
}

/** True if each identifier is there once. The blocks are sorted. */
static bool are_different_bytes(const conf_table_t *table)
{
	for (size_t i = 1; i < table->count; i++) {
		if (compare_bytes(&table->blocks[i - 1], &table->blocks[i]) >= 0) {
			return false;
		}
	}
	return true;
}

static knot_err_t seal_zones(conf_store_t *store)
{
	conf_table_t *table = &store->tables[CONF_S_ZONE];
	knot_err_t err = are_sorted_names(table) ? KNOT_OK : sort_names(table);
	KNOT_ASSERT_SLOW(err != KNOT_OK || are_sorted_names(table));
	return err == KNOT_OK ? pack_zones(store) : err;
}

knot_err_t conf_store_seal(conf_store_t *store)
{
	assert(!conf_store_is_sealed(store));
	for (size_t i = 0; i < CONF_S_COUNT; i++) {
		conf_table_t *table = &store->tables[i];
		free(table->slots);
		table->slots = NULL;
		table->slot_count = 0;
		if (table->count > 0 && i != CONF_S_ZONE) {
			qsort(table->blocks, table->count, sizeof(*table->blocks), compare_bytes);
			KNOT_ASSERT_SLOW(are_different_bytes(table));
		}
	}
	return seal_zones(store);
}

/* ---- Items ---- */

bool conf_item_next(knot_bytes_t items, size_t *pos, conf_item_t *ret_item)
{
	if (*pos >= items.len) {
		return false;
	}
	assert(items.len - *pos >= ITEM_HEAD);
	const uint8_t *head = items.data + *pos;
	uint16_t row, len;
	memcpy(&row, head, sizeof(row));
	memcpy(&len, head + sizeof(row), sizeof(len));
	*ret_item = (conf_item_t){ .row = row, .value = { head + ITEM_HEAD, len } };
	*pos += ITEM_HEAD + len;
	assert(*pos <= items.len);
	return true;
}

size_t conf_item_put(uint8_t *ret_items, size_t row, knot_bytes_t value)
{
	assert(row <= UINT16_MAX && value.len <= UINT16_MAX);
	uint16_t row16 = (uint16_t)row, len = (uint16_t)value.len;
	memcpy(ret_items, &row16, sizeof(row16));
	memcpy(ret_items + sizeof(row16), &len, sizeof(len));
	if (value.len > 0) {
		memmove(ret_items + ITEM_HEAD, value.data, value.len); /* it may be there already */
	}
	return ITEM_HEAD + value.len;
}

static bool store_has_row(const conf_section_t *section, const char *name)
{
	for (size_t i = 0; i < section->row_count; i++) {
		if (strcmp(section->rows[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

knot_bytes_t conf_block_find(const conf_block_view_t *block, const char *name)
{
	KNOT_ASSERT_SLOW(store_has_row(block->section, name));
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(block->items, &pos, &item)) {
		assert(item.row < block->section->row_count);
		if (strcmp(block->section->rows[item.row].name, name) == 0) {
			return item.value;
		}
	}
	return (knot_bytes_t){ 0 };
}
