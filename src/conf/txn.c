/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A changed block has a record of its own with all of its items, found by a hash of its identifier; the base is never
 * written. For undoing, a step has copies of records, made the first time that it changes one. Records are never
 * removed: a walk over the changes skips those that are equal to the base again.
 */
#include "src/conf/txn_internal.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOTS_MIN = 16, ITEM_HEAD = 4, ITEMS_MIN = 32 };

/* Not above: a value beyond int makes all values of its enum unsigned (since GCC 13). */
enum { ITEMS_MAX = UINT32_MAX /* bytes of a block's items */ };

/* ---- The base ---- */

/** Zones of a sealed store are packed; while it is being made they are in a table like any other. */
static bool is_packed(const conf_store_t *store, size_t section)
{
	return section == CONF_S_ZONE && store->tables[section].count == 0;
}

size_t conf_base_count(const conf_store_t *store, size_t section)
{
	return is_packed(store, section) ? store->zones.count : store->tables[section].count;
}

conf_block_view_t conf_base_at(const conf_store_t *store, size_t section, size_t index)
{
	assert(section < CONF_S_COUNT && index < conf_base_count(store, section));
	conf_block_view_t view = { .section = conf_sections[section] };
	if (is_packed(store, section)) {
		knot_name_t name = conf_zones_name(&store->zones, index);
		view.id = (knot_bytes_t){ name.wire, name.len };
		view.items = conf_zones_items(&store->zones, index);
	} else {
		const conf_block_t *block = &store->tables[section].blocks[index];
		view.id = (knot_bytes_t){ block->id, block->id_len };
		view.items = conf_block_items(block);
	}
	return view;
}

static bool find_base(const conf_store_t *store, size_t section, knot_bytes_t id, conf_block_view_t *ret_block)
{
	size_t index;
	if (is_packed(store, section)) {
		if (id.len == 0 || !conf_zones_find(&store->zones, knot_name_of(id.data), &index)) {
			return false;
		}
	} else {
		const conf_block_t *block = conf_store_find(store, section, id);
		if (block == NULL) {
			return false;
		}
		index = (size_t)(block - store->tables[section].blocks);
	}
	*ret_block = conf_base_at(store, section, index);
	return true;
}

/* ---- Changed blocks ---- */

/** FNV-1a: identifiers come from the operator, so chosen collisions are no threat. */
static uint64_t hash(knot_bytes_t id)
{
	uint64_t h = UINT64_C(14695981039346656037);
	for (size_t i = 0; i < id.len; i++) {
		h = (h ^ id.data[i]) * UINT64_C(1099511628211);
	}
	return h ^ h >> 32;
}

/** The slot of this identifier, or the free one where it would go. */
static conf_changed_t **find_slot(const conf_changes_t *changes, knot_bytes_t id)
{
	assert(changes->count < changes->slot_count); /* a free slot ends each search */
	size_t i = hash(id) & (changes->slot_count - 1);
	while (changes->slots[i] != NULL &&
			(changes->slots[i]->id_len != id.len ||
					(id.len > 0 && memcmp(changes->slots[i]->id, id.data, id.len) != 0))) {
		i = (i + 1) & (changes->slot_count - 1);
	}
	return &changes->slots[i];
}

static conf_changed_t *find_changed(const conf_txn_t *txn, size_t section, knot_bytes_t id)
{
	const conf_changes_t *changes = &txn->changes[section];
	return changes->slot_count > 0 ? *find_slot(changes, id) : NULL;
}

static bool txn_grow(conf_changes_t *changes)
{
	if (changes->count == changes->max) {
		size_t max = changes->max > 0 ? changes->max * 2 : SLOTS_MIN / 2;
		conf_changed_t **blocks = realloc(changes->blocks, max * sizeof(*blocks));
		if (blocks == NULL) {
			return false;
		}
		changes->blocks = blocks;
		changes->max = max;
	}
	if (changes->count * 2 < changes->slot_count) {
		return true;
	}
	size_t slot_count = changes->slot_count > 0 ? changes->slot_count * 2 : SLOTS_MIN;
	conf_changed_t **slots = calloc(slot_count, sizeof(*slots));
	if (slots == NULL) {
		return false;
	}
	free(changes->slots);
	changes->slots = slots;
	changes->slot_count = slot_count;
	for (size_t i = 0; i < changes->count; i++) {
		const conf_changed_t *block = changes->blocks[i];
		*find_slot(changes, (knot_bytes_t){ block->id, block->id_len }) = changes->blocks[i];
	}
	return true;
}

static bool txn_reserve(conf_changed_t *block, size_t len)
{
	assert(block->items_len <= block->items_max);
	if (len <= block->items_max) {
		return true;
	}
	size_t max = len < ITEMS_MIN ? ITEMS_MIN : block->items_max > 0 ? len + len / 2 : len;
	uint8_t *items = max <= ITEMS_MAX ? realloc(block->items, max) : NULL;
	if (items == NULL) {
		return false;
	}
	block->items = items;
	block->items_max = (uint32_t)max;
	return true;
}

bool conf_changed_set(conf_changed_t *block, knot_bytes_t items)
{
	if (!txn_reserve(block, items.len)) {
		return false;
	}
	if (items.len > 0) {
		memmove(block->items, items.data, items.len);
	}
	block->items_len = (uint32_t)items.len;
	return true;
}

bool conf_changed_append(conf_changed_t *block, size_t row, knot_bytes_t value)
{
	assert(value.len <= UINT16_MAX);
	if (!txn_reserve(block, (size_t)block->items_len + ITEM_HEAD + value.len)) {
		return false;
	}
	block->items_len += (uint32_t)conf_item_put(block->items + block->items_len, row, value);
	return true;
}

/** A record like the base. NULL: no memory. */
static conf_changed_t *add_changed(conf_txn_t *txn, size_t section, knot_bytes_t id)
{
	conf_changes_t *changes = &txn->changes[section];
	conf_changed_t *block = txn_grow(changes) ? calloc(1, sizeof(*block) + id.len) : NULL;
	if (block == NULL) {
		return NULL;
	}
	conf_block_view_t base = { 0 };
	block->has_old = block->has_new = find_base(txn->base, section, id, &base);
	block->id_len = (uint32_t)id.len;
	if (id.len > 0) {
		memcpy(block->id, id.data, id.len);
	}
	if (!conf_changed_set(block, base.items)) {
		free(block);
		return NULL;
	}
	*find_slot(changes, id) = block;
	changes->blocks[changes->count++] = block;
	return block;
}

/** Keep the block's state for the innermost step. */
static bool txn_save(conf_txn_t *txn, conf_changed_t *block)
{
	if (txn->depth == 0 || block->saved_in == txn->steps[txn->depth - 1].number) {
		return true;
	}
	if (txn->undo_count == txn->undo_max) {
		size_t max = txn->undo_max * 2 + SLOTS_MIN;
		conf_undo_t *undo = realloc(txn->undo, max * sizeof(*undo));
		if (undo == NULL) {
			return false;
		}
		txn->undo = undo;
		txn->undo_max = max;
	}
	conf_undo_t state = {
		.block = block, .items_len = block->items_len, .has_new = block->has_new, .saved_in = block->saved_in
	};
	if (block->items_len > 0) {
		state.items = malloc(block->items_len);
		if (state.items == NULL) {
			return false;
		}
		memcpy(state.items, block->items, block->items_len);
	}
	txn->undo[txn->undo_count++] = state;
	block->saved_in = txn->steps[txn->depth - 1].number;
	return true;
}

conf_changed_t *conf_txn_touch(conf_txn_t *txn, size_t section, knot_bytes_t id)
{
	assert(section < CONF_S_COUNT);
	conf_changed_t *block = find_changed(txn, section, id);
	if (block == NULL) {
		block = add_changed(txn, section, id);
	}
	return block != NULL && txn_save(txn, block) ? block : NULL;
}

/* ---- Steps ---- */

void conf_txn_step(conf_txn_t *txn)
{
	assert(txn->depth < KNOT_LEN(txn->steps));
	txn->steps[txn->depth++] = (conf_step_t){ txn->undo_count, ++txn->step_count };
}

knot_err_t conf_txn_push(conf_txn_t *txn)
{
	if (txn->depth == CONF_TXN_DEPTH_MAX) {
		return KNOT_ETXNMANY;
	}
	conf_txn_step(txn);
	return KNOT_OK;
}

static void forget_states(conf_txn_t *txn, size_t from)
{
	assert(from <= txn->undo_count);
	while (txn->undo_count > from) {
		free(txn->undo[--txn->undo_count].items);
	}
}

/** What an inner step kept is for the outer one now, which needs it only of blocks that it has no state of itself. */
static void hand_states_over(conf_txn_t *txn, size_t from, uint64_t outer)
{
	assert(from <= txn->undo_count);
	size_t kept = from;
	for (size_t i = from; i < txn->undo_count; i++) {
		conf_undo_t *state = &txn->undo[i];
		state->block->saved_in = outer;
		if (state->saved_in == outer) {
			free(state->items);
		} else {
			txn->undo[kept++] = *state;
		}
	}
	txn->undo_count = kept;
}

void conf_txn_pop(conf_txn_t *txn)
{
	assert(txn->depth > 0);
	const conf_step_t *inner = &txn->steps[--txn->depth];
	if (txn->depth == 0) {
		forget_states(txn, 0);
	} else {
		hand_states_over(txn, inner->undo_start, txn->steps[txn->depth - 1].number);
	}
}

void conf_txn_undo(conf_txn_t *txn)
{
	assert(txn->depth > 0);
	const conf_step_t *step = &txn->steps[--txn->depth];
	assert(step->undo_start <= txn->undo_count);
	while (txn->undo_count > step->undo_start) {
		const conf_undo_t *state = &txn->undo[--txn->undo_count];
		conf_changed_t *block = state->block;
		free(block->items);
		block->items = state->items;
		block->items_len = block->items_max = state->items_len;
		block->has_new = state->has_new;
		block->saved_in = state->saved_in;
	}
}

/* ---- Order ---- */

static int compare_ids(size_t section, knot_bytes_t a, knot_bytes_t b)
{
	if (section == CONF_S_ZONE) {
		return knot_name_cmp(knot_name_of(a.data), knot_name_of(b.data));
	}
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static knot_bytes_t changed_id(const conf_changed_t *block)
{
	return (knot_bytes_t){ block->id, block->id_len };
}

static int compare_names(const void *a, const void *b)
{
	return compare_ids(
			CONF_S_ZONE, changed_id(*(conf_changed_t *const *)a), changed_id(*(conf_changed_t *const *)b));
}

static int compare_bytes(const void *a, const void *b)
{
	return compare_ids(CONF_S_SERVER, changed_id(*(conf_changed_t *const *)a),
			changed_id(*(conf_changed_t *const *)b));
}

/** Records are sorted when they are walked, not when they are made: their order has no meaning. */
static const conf_changes_t *sorted(const conf_txn_t *txn, size_t section)
{
	conf_changes_t *changes = (conf_changes_t *)&txn->changes[section];
	if (changes->sorted < changes->count) {
		qsort(changes->blocks, changes->count, sizeof(*changes->blocks),
				section == CONF_S_ZONE ? compare_names : compare_bytes);
		changes->sorted = changes->count;
	}
	return changes;
}

/* ---- Reading ---- */

static conf_block_view_t changed_view(size_t section, const conf_changed_t *block)
{
	return (conf_block_view_t){
		.section = conf_sections[section], .id = changed_id(block), .items = conf_changed_items(block)
	};
}

bool conf_view_find(conf_view_t view, size_t section, knot_bytes_t id, conf_block_view_t *ret_block)
{
	const conf_changed_t *block = view.txn != NULL ? find_changed(view.txn, section, id) : NULL;
	if (block == NULL) {
		return find_base(view.store, section, id, ret_block);
	}
	if (block->has_new) {
		*ret_block = changed_view(section, block);
	}
	return block->has_new;
}

/** The next block of the base and its changed form, if any. False: it was removed, or there are no more. */
static bool next_in_txn(conf_cursor_t *cursor, bool *ret_end, conf_block_view_t *ret_block)
{
	const conf_changes_t *changes = sorted(cursor->view.txn, cursor->section);
	bool has_base = cursor->store_pos < conf_base_count(cursor->view.store, cursor->section);
	bool has_change = cursor->change_pos < changes->count;
	*ret_end = !has_base && !has_change;
	if (*ret_end) {
		return false;
	}
	conf_block_view_t base = { 0 };
	int order = 1; /* of the base to the change */
	if (has_base) {
		base = conf_base_at(cursor->view.store, cursor->section, cursor->store_pos);
		order = -1;
	}
	if (has_base && has_change) {
		order = compare_ids(cursor->section, base.id, changed_id(changes->blocks[cursor->change_pos]));
	}
	cursor->store_pos += order <= 0;
	if (order < 0) {
		*ret_block = base;
		return true;
	}
	const conf_changed_t *block = changes->blocks[cursor->change_pos++];
	*ret_block = changed_view(cursor->section, block);
	return block->has_new;
}

bool conf_view_next(conf_cursor_t *cursor, conf_block_view_t *ret_block)
{
	bool is_end = false, is_found = false;
	if (cursor->view.txn == NULL || cursor->view.txn->changes[cursor->section].count == 0) {
		is_end = cursor->store_pos >= conf_base_count(cursor->view.store, cursor->section);
		if (!is_end) {
			*ret_block = conf_base_at(cursor->view.store, cursor->section, cursor->store_pos++);
		}
		return !is_end;
	}
	while (!is_end && !is_found) {
		is_found = next_in_txn(cursor, &is_end, ret_block);
	}
	return is_found;
}

/* ---- Life ---- */

conf_txn_t *conf_txn_begin(const conf_store_t *base)
{
	assert(conf_store_is_sealed(base));
	conf_txn_t *txn = calloc(1, sizeof(*txn));
	if (txn != NULL) {
		txn->base = base;
	}
	return txn;
}

void conf_txn_free(conf_txn_t *take_txn)
{
	if (take_txn == NULL) {
		return;
	}
	forget_states(take_txn, 0);
	free(take_txn->undo);
	for (size_t i = 0; i < CONF_S_COUNT; i++) {
		conf_changes_t *changes = &take_txn->changes[i];
		for (size_t j = 0; j < changes->count; j++) {
			free(changes->blocks[j]->items);
			free(changes->blocks[j]);
		}
		free(changes->blocks);
		free(changes->slots);
	}
	free(take_txn);
}

const conf_store_t *conf_txn_base(const conf_txn_t *txn)
{
	return txn->base;
}

/* ---- What became of it ---- */

/** pos: the section in the upper half, the record in the lower. */
bool conf_txn_next_change(const conf_txn_t *txn, size_t *pos, conf_change_t *ret_change)
{
	_Static_assert(sizeof(size_t) == 8, "two numbers in one");
	size_t section = *pos >> 32, index = *pos & UINT32_MAX;
	for (; section < CONF_S_COUNT; section++, index = 0) {
		const conf_changes_t *changes = sorted(txn, section);
		while (index < changes->count) {
			const conf_changed_t *block = changes->blocks[index++];
			conf_block_view_t base = { 0 };
			if (block->has_old) {
				(void)find_base(txn->base, section, changed_id(block), &base);
			}
			knot_bytes_t items = block->has_new ? conf_changed_items(block) : (knot_bytes_t){ 0 };
			bool is_same = items.len == base.items.len &&
				       (items.len == 0 || memcmp(items.data, base.items.data, items.len) == 0);
			if (block->has_old == block->has_new && is_same) {
				continue;
			}
			*ret_change = (conf_change_t){ .section = section,
				.id = changed_id(block),
				.has_old = block->has_old,
				.has_new = block->has_new,
				.old_items = base.items,
				.new_items = items };
			*pos = section << 32 | index;
			return true;
		}
	}
	*pos = section << 32;
	return false;
}

bool conf_txn_is_empty(const conf_txn_t *txn)
{
	conf_change_t change;
	size_t pos = 0;
	return !conf_txn_next_change(txn, &pos, &change);
}

typedef knot_err_t (*put_block_t)(conf_store_t *store, size_t section, knot_bytes_t id, knot_bytes_t items);

static knot_err_t copy_view(conf_view_t view, put_block_t put, conf_store_t **ret_store)
{
	conf_store_t *store = conf_store_new();
	knot_err_t err = store != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t section = 0; err == KNOT_OK && section < CONF_S_COUNT; section++) {
		conf_cursor_t cursor = { .view = view, .section = section };
		conf_block_view_t block;
		while (err == KNOT_OK && conf_view_next(&cursor, &block)) {
			err = put(store, section, block.id, block.items);
		}
	}
	if (err != KNOT_OK) {
		conf_store_free(store);
		return err;
	}
	*ret_store = store;
	return KNOT_OK;
}

knot_err_t conf_view_copy(conf_view_t view, conf_store_t **ret_store)
{
	return copy_view(view, conf_store_put, ret_store);
}

knot_err_t conf_txn_merge(const conf_txn_t *txn, conf_store_t **ret_store)
{
	conf_store_t *store;
	knot_err_t err = copy_view((conf_view_t){ .store = txn->base, .txn = txn }, conf_store_append, &store);
	if (err != KNOT_OK) {
		return err;
	}
	err = conf_store_seal(store);
	if (err != KNOT_OK) {
		conf_store_free(store);
		return err;
	}
	*ret_store = store;
	return KNOT_OK;
}
