/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The settings as the operator wrote them: for each section its blocks, for each block its items in binary form.
 *
 * Snapshots are built from a store and compared by it, and reading the configuration back prints it: conf_item_next()
 * walks a block, conf_value_print() prints a value. Blocks of zones are in canonical order of their names, others in
 * byte order of their identifiers.
 *
 * Memory: bump arenas, 24 bytes per block, 4 bytes and the value per item. Freed as a whole. Zones of a sealed store
 * are packed: 4 bytes, the name and the items each, one after the other in canonical order (conf_zones_t). Packed
 * items: row (2 bytes, host order), length (2, host order), value. A multi row has one item for each value. They hold
 * no pointers, so that items may be copied from store to store.
 */
#pragma once

#include "libknot/base/assert.h"
#include "src/conf/schema.h"

typedef struct {
	const uint8_t *id; /* binary form; NULL in a group */
	const uint8_t *items;
	uint32_t items_len;
	uint32_t id_len;
} conf_block_t;

typedef struct {
	conf_block_t *blocks;
	size_t count, max;
	uint32_t *slots;   /* hash table of the identifiers while loading: index + 1, 0: free */
	size_t slot_count; /* power of two or 0 */
} conf_table_t;

/** The zones of a sealed store: for each its name in wire form, then its items. */
typedef struct {
	uint8_t *bytes;   /* owned */
	uint32_t *starts; /* owned; count + 1 offsets in `bytes` */
	size_t count;
} conf_zones_t;

/** A list in a zone's own block, in the form that the zone's struct has. */
typedef struct {
	uint32_t zone, row; /* indexes */
	const void *data;
	size_t count;
} conf_zone_list_t;

typedef struct conf_chunk conf_chunk_t;

/** Grows at its end only. */
typedef struct {
	conf_chunk_t *chunks;
	size_t left; /* bytes of the first chunk */
} conf_arena_t;

struct conf_store {
	conf_table_t tables[CONF_S_COUNT]; /* by index of the section; zones: only until it is sealed */
	conf_zones_t zones;
	conf_arena_t arena;
	conf_arena_t zone_arena; /* identifiers and items of zones until they are packed */
	/* Typed values made when the snapshot is built: */
	conf_key_t *keys; /* one for each block of section key; so with the next two */
	conf_remote_t *remotes;
	conf_acl_t *acls;
	conf_external_t *externals;
	conf_keystore_t *keystores; /* and behind them the built-in one */
	const conf_keystore_t *builtin_keystore;
	conf_submission_t *submissions;
	conf_delegation_t *delegations;
	conf_dnskey_sync_t *syncs;
	conf_policy_t *policies;      /* and behind them the built-in one */
	conf_group_t *groups;         /* one for each remote, then one for each block of section remotes */
	conf_zone_t *templates;       /* one for each block of section template, plus the one without any at the end */
	size_t default_template;      /* index of the one for zones without a template */
	uint16_t zone_template_row;   /* index of row `template` */
	conf_zone_list_t *zone_lists; /* by zone and row */
	size_t zone_list_count;
	bool has_zone_modules;  /* some zone has modules in its own block */
	bool has_zone_catalogs; /* some zone has catalog-role in its own block */
};

typedef struct {
	size_t row;
	knot_bytes_t value;
} conf_item_t;

/** NULL: no memory. */
conf_store_t *conf_store_new(void);
void conf_store_free(conf_store_t *store);

/** `size` bytes, aligned for anything, that live as long as the store; NULL: no memory. */
void *conf_store_alloc(conf_store_t *store, size_t size);
/** Copy of a string; NULL: no memory. */
const char *conf_store_str(conf_store_t *store, const char *text);
/** Copy of an identifier or of items of a block of the section; for zones valid until the store is sealed. NULL: no
 * memory. */
const uint8_t *conf_store_bytes(conf_store_t *store, size_t section, const uint8_t *data, size_t len);

/** The block with this identifier (len 0: the only block of a group), or NULL. Not for zones of a sealed store. */
conf_block_t *conf_store_find(const conf_store_t *store, size_t section, knot_bytes_t id);

/** Add a block without items. The identifier is copied. KNOT_ENOMEM. Invalidates pointers to the section's blocks. */
KNOT_MUST_USE knot_err_t conf_store_add(conf_store_t *store, size_t section, knot_bytes_t id, conf_block_t **ret_block);

/** Add a block with its items, which are copied. There must be none with this identifier. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_store_put(conf_store_t *store, size_t section, knot_bytes_t id, knot_bytes_t items);

/**
 * As conf_store_put(), of a store whose blocks are known to be different and which is sealed next: nothing is found in
 * it before. Not for a section that conf_store_add() or conf_store_put() has added to.
 */
KNOT_MUST_USE knot_err_t conf_store_append(conf_store_t *store, size_t section, knot_bytes_t id, knot_bytes_t items);

/** Forget the section's blocks. */
void conf_store_clear(conf_store_t *store, size_t section);

/**
 * Sort all sections, pack the zones and drop the hash tables; conf_store_find() then searches by bisection.
 * KNOT_ENOMEM: also when the zones take more than 4 GiB.
 */
KNOT_MUST_USE knot_err_t conf_store_seal(conf_store_t *store);

/** True if the store is sealed: nothing can be added, zones are packed. */
static inline bool conf_store_is_sealed(const conf_store_t *store)
{
	return store->zones.starts != NULL;
}

/** Name of the zone at `index` of a sealed store. */
static inline knot_name_t conf_zones_name(const conf_zones_t *zones, size_t index)
{
	assert(index < zones->count);
	return knot_name_of(zones->bytes + zones->starts[index]);
}

/** Packed items of the zone at `index`. */
static inline knot_bytes_t conf_zones_items(const conf_zones_t *zones, size_t index)
{
	assert(index < zones->count);
	const uint8_t *start = zones->bytes + zones->starts[index];
	size_t name_len = knot_name_of(start).len;
	return (knot_bytes_t){ start + name_len, zones->starts[index + 1] - zones->starts[index] - name_len };
}

/** Index of the zone of this name in any case; false: there is none. */
bool conf_zones_find(const conf_zones_t *zones, knot_name_t name, size_t *ret_index);

/** The next item of packed items; *pos starts at 0. False: there are no more. */
bool conf_item_next(knot_bytes_t items, size_t *pos, conf_item_t *ret_item);

/** Write one packed item. ret_items: room for 4 + value.len bytes. Returns the bytes written. */
size_t conf_item_put(uint8_t *ret_items, size_t row, knot_bytes_t value);

/** First value of the named row that was set in a block; len 0 and data NULL: none. `name` must be one of its rows. */
knot_bytes_t conf_block_find(const conf_block_view_t *block, const char *name);

static inline knot_bytes_t conf_block_items(const conf_block_t *block)
{
	return (knot_bytes_t){ block->items, block->items_len };
}
