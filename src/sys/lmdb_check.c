/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_check.h"

#include "src/sys/lmdb_walk.h"

#include <string.h>

static bool lmdb_check_trees(lmdb_walk_t *walk, const lmdb_meta_t *meta, sys_lmdb_check_t *ret_check)
{
	if (!lmdb_walk_note_pages(walk) || !lmdb_walk_tree(walk, &meta->main, false)) {
		return false;
	}
	uint64_t main_pages = walk->met_count;
	if (!lmdb_walk_tree(walk, &meta->free, true)) {
		return false;
	}
	const lmdb_tree_t *free_tree = &walk->counted;
	ret_check->used = LMDB_META_COUNT + main_pages + free_tree->branch_pages + free_tree->leaf_pages +
			  free_tree->large_pages;
	ret_check->free = LMDB_META_COUNT + walk->met_count - ret_check->used;
	return true;
}

static bool lmdb_check_roots(lmdb_walk_t *walk, const lmdb_meta_t *meta, sys_lmdb_check_t *ret_check)
{
	(void)ret_check;
	return lmdb_file_check_root(&walk->file, &meta->main) && lmdb_file_check_root(&walk->file, &meta->free);
}

/** The named database that is looked for. */
typedef struct {
	knot_bytes_t name;
	bool is_found;
	lmdb_tree_t tree;
} lmdb_named_t;

static bool lmdb_check_take_named(lmdb_walk_t *walk, const lmdb_node_t *entry, void *ctx)
{
	lmdb_named_t *named = ctx;
	if (!entry->is_tree || lmdb_key_compare(entry->key, named->name) != 0) {
		return lmdb_file_fault(&walk->file, "it has something else than the named database");
	}
	named->is_found = true;
	memcpy(&named->tree, entry->value, sizeof(named->tree));
	return true;
}

static bool lmdb_check_trees_and(lmdb_walk_t *walk, const lmdb_meta_t *meta, lmdb_named_t *named)
{
	walk->hooks = (lmdb_walk_hooks_t){ .on_entry = lmdb_check_take_named, .ctx = named };
	if (!lmdb_walk_note_pages(walk) || !lmdb_walk_tree(walk, &meta->main, false)) {
		return false;
	}
	walk->hooks = (lmdb_walk_hooks_t){ .on_entry = NULL };
	return (!named->is_found || lmdb_walk_tree(walk, &named->tree, false)) &&
	       lmdb_walk_tree(walk, &meta->free, true);
}

typedef bool (*lmdb_check_part_t)(lmdb_walk_t *walk, const lmdb_meta_t *meta, sys_lmdb_check_t *ret_check);

static knot_err_t lmdb_check_file(
		int fd, lmdb_check_part_t check_part, sys_lmdb_check_t *ret_check, const char **ret_what)
{
	lmdb_walk_t walk = { 0 };
	lmdb_meta_t meta;
	*ret_check = (sys_lmdb_check_t){ 0 };
	if (lmdb_file_begin(&walk.file, fd, &meta) == KNOT_OK) {
		*ret_check = (sys_lmdb_check_t){
			.txn = meta.txn, .pages = walk.file.page_count, .entries = meta.main.entries
		};
		(void)check_part(&walk, &meta, ret_check);
	}
	if (walk.file.err != KNOT_OK) {
		*ret_what = walk.file.what;
	}
	lmdb_walk_end(&walk);
	return walk.file.err;
}

knot_err_t sys_lmdb_check(int fd, sys_lmdb_check_t *ret_check, const char **ret_what)
{
	return lmdb_check_file(fd, lmdb_check_trees, ret_check, ret_what);
}

knot_err_t sys_lmdb_check_named(int fd, const char *name, sys_lmdb_check_t *ret_check, const char **ret_what)
{
	lmdb_walk_t walk = { 0 };
	lmdb_meta_t meta;
	lmdb_named_t named = { .name = { (const uint8_t *)name, strlen(name) } };
	*ret_check = (sys_lmdb_check_t){ 0 };
	if (lmdb_file_begin(&walk.file, fd, &meta) == KNOT_OK) {
		ret_check->txn = meta.txn;
		ret_check->pages = walk.file.page_count;
		(void)lmdb_check_trees_and(&walk, &meta, &named);
		ret_check->entries = named.tree.entries;
	}
	if (walk.file.err != KNOT_OK) {
		*ret_what = walk.file.what;
	}
	lmdb_walk_end(&walk);
	return walk.file.err;
}

knot_err_t sys_lmdb_check_heads(int fd, sys_lmdb_check_t *ret_check, const char **ret_what)
{
	return lmdb_check_file(fd, lmdb_check_roots, ret_check, ret_what);
}
