/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/look.h"

#include <stdlib.h>

#include "src/sys/counters.h"
#include "libknot/base/assert.h"

/* Two sets of tables: one is counted in, the other is empty. */
struct look {
	look_row_t *rows;  /* owned; published */
	look_row_t *spare; /* owned; all zero */
};

/* ---- Counting ---- */

void look_count(look_entry_t (*sets)[LOOK_WAYS], unsigned set_count, uint64_t key)
{
	KNOT_ASSERT_SLOW(key != 0 && set_count > 0 && (set_count & (set_count - 1)) == 0);
	/* Fibonacci hashing: addresses differ in the middle, types in the lowest bits. */
	look_entry_t *set = sets[(key * UINT64_C(0x9E3779B97F4A7C15)) >> 40 & (set_count - 1)];
	unsigned least = 0;
	for (unsigned i = 0; i < LOOK_WAYS; i++) {
		if (set[i].key == key) {
			set[i].count++;
			return;
		}
		if (set[i].count < set[least].count) {
			least = i;
		}
	}
	set[least] = (look_entry_t){ .key = key, .count = set[least].count + 1, .taken_over = set[least].count };
}

unsigned look_rows(const look_list_t *list, uint64_t state, look_row_t *ret_rows[static LOOKS_MAX])
{
	unsigned slot = sys_thread_slot();
	if (slot == 0 || slot >= list->slot_count) {
		return 0;
	}
	for (unsigned i = 0; i < list->count; i++) {
		look_row_t *row = &list->rows[i][slot];
		if (row->state != state) {
			memset(row, 0, sizeof(*row));
			row->state = state;
		}
		ret_rows[i] = row;
	}
	return list->count;
}

/* ---- The list ---- */

void looks_init(looks_t *looks, unsigned slot_count)
{
	*looks = (looks_t){ .slot_count = slot_count };
	sys_mutex_init(&looks->lock);
}

void looks_done(looks_t *looks)
{
	assert(looks->count == 0);
	sys_mutex_done(&looks->lock);
}

/* Publish the tables that lookers count in now, and wait until the ones before are left. */
static void look_publish_list(looks_t *looks) SYS_REQUIRES(looks->lock)
{
	sys_mutex_assert_held(&looks->lock);
	assert(looks->count <= LOOKS_MAX);
	look_list_t *next = &looks->lists[looks->list_rcu == &looks->lists[0]];
	*next = (look_list_t){ .slot_count = looks->slot_count, .count = looks->count };
	for (unsigned i = 0; i < looks->count; i++) {
		next->rows[i] = looks->looks[i]->rows;
	}
	RCU_PUBLISH(looks->list_rcu, looks->count > 0 ? next : NULL);
	sys_rcu_wait();
}

static void look_free(look_t *look)
{
	free(look->rows);
	free(look->spare);
	free(look);
}

static void leave(looks_t *looks, const look_t *look) SYS_REQUIRES(looks->lock)
{
	for (unsigned i = 0; i < looks->count; i++) {
		if (looks->looks[i] == look) {
			looks->looks[i] = looks->looks[--looks->count];
			return;
		}
	}
}

knot_err_t look_start(looks_t *looks, look_t **ret_look)
{
	look_t *look = calloc(1, sizeof(*look));
	if (look == NULL) {
		return KNOT_ENOMEM;
	}
	/* Pages of rows that no thread has stay untouched. */
	look->rows = calloc(looks->slot_count, sizeof(*look->rows));
	look->spare = calloc(looks->slot_count, sizeof(*look->spare));
	if (look->rows == NULL || look->spare == NULL) {
		look_free(look);
		return KNOT_ENOMEM;
	}
	sys_mutex_lock(&looks->lock);
	bool is_free = looks->count < LOOKS_MAX;
	if (is_free) {
		looks->looks[looks->count++] = look;
		look_publish_list(looks);
	}
	sys_mutex_unlock(&looks->lock);
	if (!is_free) {
		look_free(look);
		return KNOT_EBUSY;
	}
	*ret_look = look;
	return KNOT_OK;
}

void look_stop(looks_t *looks, look_t *take_look)
{
	if (take_look == NULL) {
		return;
	}
	sys_mutex_lock(&looks->lock);
	leave(looks, take_look);
	look_publish_list(looks);
	sys_mutex_unlock(&looks->lock);
	look_free(take_look);
}

/* ---- Taking ---- */

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = ((const look_entry_t *)a)->key, y = ((const look_entry_t *)b)->key;
	return (x > y) - (x < y);
}

static int compare_counts(const void *a, const void *b)
{
	const look_entry_t *x = a, *y = b;
	return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : compare_keys(a, b);
}

/* Entries of equal keys become one, and the largest come first. Returns how many there are. */
static size_t merge(look_entry_t *entries, size_t count)
{
	qsort(entries, count, sizeof(*entries), compare_keys);
	size_t merged = 0;
	for (size_t i = 0; i < count; i++) {
		if (merged > 0 && entries[merged - 1].key == entries[i].key) {
			entries[merged - 1].count += entries[i].count;
		} else {
			entries[merged++] = entries[i];
		}
	}
	qsort(entries, merged, sizeof(*entries), compare_counts);
	return merged;
}

static size_t look_collect_entries(look_entry_t (*sets)[LOOK_WAYS], unsigned set_count, look_entry_t *ret_entries)
{
	size_t count = 0;
	for (unsigned i = 0; i < set_count * LOOK_WAYS; i++) {
		const look_entry_t *entry = &sets[i / LOOK_WAYS][i % LOOK_WAYS];
		if (entry->key != 0) {
			ret_entries[count++] =
					(look_entry_t){ .key = entry->key, .count = entry->count - entry->taken_over };
		}
	}
	return count;
}

enum { ZONE_ENTRIES = LOOK_ZONE_SETS * LOOK_WAYS, TYPE_ENTRIES = LOOK_TYPE_SETS * LOOK_WAYS };

/* Zones of the published state live until the end of the read section. */
static void read_rows(look_row_t *rows, unsigned slot_count, const state_root_t *root, look_entry_t *entries,
		look_result_t *result)
{
	RCU_READ_SECTION(guard);
	uint64_t state = state_load(root, guard)->number;
	size_t zones = 0;
	for (unsigned i = 0; i < slot_count; i++) {
		zones += rows[i].state == state ? look_collect_entries(rows[i].zones, LOOK_ZONE_SETS, entries + zones)
						: 0;
	}
	zones = merge(entries, zones);
	for (; result->zone_count < zones && result->zone_count < LOOK_TOP; result->zone_count++) {
		const look_entry_t *entry = &entries[result->zone_count];
		look_top_t *top = &result->zones[result->zone_count];
		top->count = entry->count;
		knot_name_t name = zone_name((const zone_t *)(uintptr_t)entry->key);
		memcpy(top->name, name.wire, name.len);
	}
	size_t types = 0;
	for (unsigned i = 0; i < slot_count; i++) {
		types += rows[i].state != 0 ? look_collect_entries(rows[i].types, LOOK_TYPE_SETS, entries + types) : 0;
	}
	types = merge(entries, types);
	for (; result->type_count < types && result->type_count < LOOK_TOP; result->type_count++) {
		const look_entry_t *entry = &entries[result->type_count];
		result->types[result->type_count] = (look_top_t){ .count = entry->count, .type = (uint16_t)entry->key };
	}
}

/* Rows that were counted in; a row without a state is empty. */
static unsigned used_rows(const look_row_t *rows, unsigned slot_count)
{
	unsigned used = 0;
	for (unsigned i = 0; i < slot_count; i++) {
		used += rows[i].state != 0;
	}
	return used;
}

static knot_err_t look_take_result(looks_t *looks, look_t *look, const state_root_t *root, look_result_t *result)
		SYS_REQUIRES(looks->lock)
{
	look_row_t *full = look->rows;
	look->rows = look->spare;
	look->spare = full;
	look_publish_list(looks);
	unsigned used = used_rows(full, looks->slot_count);
	look_entry_t *entries = calloc((size_t)used * ZONE_ENTRIES + 1, sizeof(*entries));
	if (entries != NULL) {
		read_rows(full, looks->slot_count, root, entries, result);
		free(entries);
	}
	for (unsigned i = 0; i < looks->slot_count; i++) {
		if (full[i].state != 0) {
			memset(&full[i], 0, sizeof(full[i]));
		}
	}
	return entries != NULL ? KNOT_OK : KNOT_ENOMEM;
}

knot_err_t look_take(looks_t *looks, look_t *look, const state_root_t *root, look_result_t *ret_result)
{
	*ret_result = (look_result_t){ 0 };
	sys_mutex_lock(&looks->lock);
	knot_err_t err = look_take_result(looks, look, root, ret_result);
	sys_mutex_unlock(&looks->lock);
	return err;
}
