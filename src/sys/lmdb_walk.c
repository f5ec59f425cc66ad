/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_walk.h"

#include <stdlib.h>
#include <string.h>

enum {
	TREE_FREE_FLAGS = 8, /* keys are integers */
	FILE_FLAGS = 0x4000, /* kept with these: made with MDB_NOSUBDIR */
};

bool lmdb_walk_note_pages(lmdb_walk_t *walk)
{
	walk->met = calloc(walk->file.page_count / 64 + 1, sizeof(*walk->met));
	return walk->met != NULL || lmdb_file_fail(&walk->file, KNOT_ENOMEM, "out of memory");
}

void lmdb_walk_end(lmdb_walk_t *walk)
{
	free(walk->met);
	free(walk->list);
	for (unsigned i = 0; i < LMDB_DEPTH_MAX; i++) {
		free(walk->levels[i]);
	}
}

/* Each page has one use. */
static bool lmdb_walk_mark(lmdb_walk_t *walk, uint64_t page, uint64_t count)
{
	if (page < LMDB_META_COUNT || page >= walk->file.page_count || count > walk->file.page_count - page) {
		return lmdb_file_fault(&walk->file, "a page number is out of range");
	}
	for (uint64_t i = page; walk->met != NULL && i < page + count; i++) {
		uint64_t bit = (uint64_t)1 << i % 64;
		if (walk->met[i / 64] & bit) {
			return lmdb_file_fault(&walk->file, "a page is used twice");
		}
		walk->met[i / 64] |= bit;
	}
	walk->met_count += count;
	return true;
}

/* ---- Keys ---- */

static int lmdb_walk_compare(const lmdb_walk_t *walk, knot_bytes_t key)
{
	if (walk->is_free_tree) {
		uint64_t a, b;
		memcpy(&a, key.data, sizeof(a));
		memcpy(&b, walk->key, sizeof(b));
		return a < b ? -1 : a > b;
	}
	return lmdb_key_compare(key, (knot_bytes_t){ walk->key, walk->key_len });
}

/* Keys ascend through the leaves; one of a branch is greater than all before it and at most the first behind it. */
static bool lmdb_walk_pass_key(lmdb_walk_t *walk, knot_bytes_t key, bool is_bound)
{
	if (key.len == 0 || key.len > LMDB_KEY_MAX || (walk->is_free_tree && key.len != sizeof(uint64_t))) {
		return lmdb_file_fault(&walk->file, "a key has a wrong length");
	}
	if (walk->has_key) {
		int order = lmdb_walk_compare(walk, key);
		if (order < 0 || (order == 0 && !walk->key_is_bound)) {
			return lmdb_file_fault(&walk->file, "keys are out of order");
		}
	}
	memcpy(walk->key, key.data, key.len);
	walk->key_len = key.len;
	walk->has_key = true;
	walk->key_is_bound = is_bound;
	return true;
}

/* ---- Values ---- */

/* A value of the first tree lists free pages: u64 count, then that many u64, descending. */
static bool lmdb_walk_mark_free(lmdb_walk_t *walk, const uint8_t *value, uint64_t len)
{
	uint64_t count, before = UINT64_MAX;
	if (len < sizeof(count)) {
		return lmdb_file_fault(&walk->file, "a list of free pages is too short");
	}
	memcpy(&count, value, sizeof(count));
	if (count > len / sizeof(count) - 1) {
		return lmdb_file_fault(&walk->file, "a list of free pages is too short");
	}
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t page;
		memcpy(&page, value + i * sizeof(page), sizeof(page));
		if (page >= before) {
			return lmdb_file_fault(&walk->file, "a list of free pages is out of order");
		}
		if (!lmdb_walk_mark(walk, page, 1)) {
			return false;
		}
		before = page;
	}
	return true;
}

static bool lmdb_walk_large(lmdb_walk_t *walk, const lmdb_node_t *entry)
{
	uint32_t pages;
	if (!lmdb_file_check_large(&walk->file, entry->child, entry->value_len, &pages) ||
			!lmdb_walk_mark(walk, entry->child, pages)) {
		return false;
	}
	walk->counted.large_pages += pages;
	if (!walk->is_free_tree) {
		return true;
	}
	uint8_t *list = realloc(walk->list, entry->value_len + 1);
	if (list == NULL) {
		return lmdb_file_fail(&walk->file, KNOT_ENOMEM, "out of memory");
	}
	walk->list = list;
	return lmdb_file_read_large(&walk->file, entry->child, list, entry->value_len) &&
	       lmdb_walk_mark_free(walk, list, entry->value_len);
}

static bool lmdb_walk_entry(lmdb_walk_t *walk, const lmdb_node_t *entry)
{
	const lmdb_walk_hooks_t *hooks = &walk->hooks;
	walk->counted.entries++;
	if (!lmdb_walk_pass_key(walk, entry->key, false)) {
		return false;
	}
	if (hooks->on_entry != NULL && !walk->is_free_tree) {
		return lmdb_key_compare(entry->key, hooks->from) < 0 || hooks->on_entry(walk, entry, hooks->ctx);
	}
	if (entry->is_tree) {
		return lmdb_file_fault(&walk->file, "it has named databases");
	}
	if (entry->value == NULL) {
		return lmdb_walk_large(walk, entry);
	}
	return !walk->is_free_tree || lmdb_walk_mark_free(walk, entry->value, entry->value_len);
}

/* ---- Pages ---- */

static bool lmdb_walk_load(lmdb_walk_t *walk, uint64_t number, unsigned level, bool is_leaf, lmdb_page_t *ret_page)
{
	uint8_t **bytes = &walk->levels[level];
	if (*bytes == NULL && (*bytes = malloc(walk->file.page_len)) == NULL) {
		return lmdb_file_fail(&walk->file, KNOT_ENOMEM, "out of memory");
	}
	if (!lmdb_file_read_page(&walk->file, number, is_leaf, *bytes, ret_page)) {
		return false;
	}
	/* LMDB asserts that a branch has two. */
	return is_leaf || walk->is_free_tree || ret_page->count > 1 ||
	       lmdb_file_fault(&walk->file, "a page has too few nodes");
}

bool lmdb_walk_load_branch(lmdb_walk_t *walk, uint64_t number, unsigned level, lmdb_page_t *ret_page)
{
	walk->is_free_tree = false;
	return lmdb_walk_load(walk, number, level, false, ret_page);
}

static bool lmdb_walk_entries_of(lmdb_walk_t *walk, const lmdb_page_t *leaf)
{
	for (unsigned i = 0; i < leaf->count; i++) {
		lmdb_node_t entry = lmdb_page_node(leaf, i);
		if (!lmdb_walk_entry(walk, &entry)) {
			return false;
		}
	}
	return true;
}

/* A child whose keys are all less than the first one of interest: its neighbour's are not greater than that. */
static bool lmdb_walk_skips(const lmdb_walk_t *walk, const lmdb_page_t *branch, unsigned index)
{
	return walk->hooks.from.len > 0 && !walk->is_free_tree && index + 1 < branch->count &&
	       lmdb_key_compare(lmdb_page_node(branch, index + 1).key, walk->hooks.from) <= 0;
}

static bool lmdb_walk_page(lmdb_walk_t *walk, uint64_t number, unsigned level)
{
	bool is_leaf = level + 1 == walk->counted.depth;
	lmdb_page_t page;
	if (!lmdb_walk_mark(walk, number, 1)) {
		return false;
	}
	if (is_leaf) {
		walk->counted.leaf_pages++;
	} else {
		walk->counted.branch_pages++;
	}
	if (is_leaf && !walk->is_free_tree && walk->hooks.on_leaf != NULL) {
		walk->hooks.on_leaf(walk, number, walk->hooks.ctx);
		return true;
	}
	if (!lmdb_walk_load(walk, number, level, is_leaf, &page)) {
		return false;
	}
	if (is_leaf) {
		return lmdb_walk_entries_of(walk, &page);
	}
	for (unsigned i = 0; i < page.count; i++) {
		lmdb_node_t node = lmdb_page_node(&page, i);
		/* The first key of a branch has no meaning. */
		if ((i > 0 && !lmdb_walk_pass_key(walk, node.key, true)) ||
				(!lmdb_walk_skips(walk, &page, i) && !lmdb_walk_page(walk, node.child, level + 1))) {
			return false;
		}
	}
	return true;
}

bool lmdb_walk_leaf(lmdb_walk_t *walk, uint64_t number)
{
	lmdb_page_t leaf;
	walk->is_free_tree = walk->has_key = false;
	return lmdb_walk_load(walk, number, LMDB_DEPTH_MAX - 1, true, &leaf) && lmdb_walk_entries_of(walk, &leaf);
}

/* ---- Trees ---- */

static void lmdb_walk_begin(lmdb_walk_t *walk, const lmdb_tree_t *tree, bool is_free_tree)
{
	walk->is_free_tree = is_free_tree;
	walk->has_key = false;
	walk->counted = (lmdb_tree_t){ .page_len = is_free_tree ? walk->file.page_len : 0,
		.flags = tree->flags,
		.depth = tree->depth,
		.root = tree->root };
}

bool lmdb_walk_entries(lmdb_walk_t *walk, const lmdb_tree_t *tree)
{
	lmdb_walk_begin(walk, tree, false);
	return tree->depth == 0 || lmdb_walk_page(walk, tree->root, 0);
}

bool lmdb_walk_tree(lmdb_walk_t *walk, const lmdb_tree_t *tree, bool is_free_tree)
{
	if ((is_free_tree ? (tree->flags & ~FILE_FLAGS) != TREE_FREE_FLAGS : tree->flags != 0) ||
			tree->depth > LMDB_DEPTH_MAX || (tree->depth == 0) != (tree->root == UINT64_MAX)) {
		return lmdb_file_fault(&walk->file, "a tree's description is wrong");
	}
	lmdb_walk_begin(walk, tree, is_free_tree);
	if (tree->depth > 0 && !lmdb_walk_page(walk, tree->root, 0)) {
		return false;
	}
	if (walk->hooks.on_leaf != NULL && !is_free_tree) {
		/* Leaves would have to be read to count these. */
		walk->counted.entries = tree->entries;
		walk->counted.large_pages = tree->large_pages;
	}
	return memcmp(&walk->counted, tree, sizeof(*tree)) == 0 ||
	       lmdb_file_fault(&walk->file, "a tree's description does not match the tree");
}
