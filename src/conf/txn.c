/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/txn.h"

#include <assert.h>

bool conf_view_find(conf_view_t view, size_t section, knot_bytes_t id, conf_block_view_t *ret_block)
{
	assert(view.txn == NULL);
	size_t index;
	if (section == CONF_S_ZONE && view.store->zones.starts != NULL) {
		const conf_zones_t *zones = &view.store->zones;
		bool is_found = conf_zones_find(zones, knot_name_of(id.data), &index);
		if (is_found) {
			knot_name_t name = conf_zones_name(zones, index);
			*ret_block = (conf_block_view_t){ .section = conf_sections[section],
							  .id = { name.wire, name.len },
							  .items = conf_zones_items(zones, index) };
		}
		return is_found;
	}
	const conf_block_t *block = conf_store_find(view.store, section, id);
	if (block != NULL) {
		*ret_block = (conf_block_view_t){ .section = conf_sections[section],
						  .id = { block->id, block->id_len },
						  .items = conf_block_items(block) };
	}
	return block != NULL;
}

bool conf_view_next(conf_cursor_t *cursor, conf_block_view_t *ret_block)
{
	assert(cursor->view.txn == NULL);
	const conf_store_t *store = cursor->view.store;
	const conf_section_t *section = conf_sections[cursor->section];
	if (cursor->section == CONF_S_ZONE) {
		if (cursor->store_pos >= store->zones.count) {
			return false;
		}
		knot_name_t name = conf_zones_name(&store->zones, cursor->store_pos);
		*ret_block = (conf_block_view_t){ .section = section,
						  .id = { name.wire, name.len },
						  .items = conf_zones_items(&store->zones, cursor->store_pos) };
	} else {
		const conf_table_t *table = &store->tables[cursor->section];
		if (cursor->store_pos >= table->count) {
			return false;
		}
		const conf_block_t *block = &table->blocks[cursor->store_pos];
		*ret_block = (conf_block_view_t){ .section = section,
						  .id = { block->id, block->id_len },
						  .items = conf_block_items(block) };
	}
	cursor->store_pos++;
	return true;
}
