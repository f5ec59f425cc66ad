/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Walk the trees of an LMDB data file and check how its pages belong together: that keys ascend, that no page has two
 * uses, and that a tree is as its description says.
 *
 * Used by the files of src/sys/lmdb_* only: a check is a walk, the guard and the reader are walks with hooks. Owns its
 * buffers: one page for each level, and bits for the pages that were met. One thread at a time.
 */
#pragma once

#include "src/sys/lmdb_file.h"

typedef struct lmdb_walk lmdb_walk_t;

/** What happens in the leaves of the main tree. Zeroed: each is read and checked. */
typedef struct {
	/* Called for each leaf, which then isn't read. */
	void (*on_leaf)(lmdb_walk_t *walk, uint64_t number, void *ctx);
	/* Called for each entry whose key isn't less than `from`; a large value's head isn't checked then. False ends
	 * the walk: a fault is noted, or it has seen enough. */
	bool (*on_entry)(lmdb_walk_t *walk, const lmdb_node_t *entry, void *ctx);
	void *ctx;
	knot_bytes_t from; /* empty: all keys */
} lmdb_walk_hooks_t;

/** Zeroed, but for `file` and `hooks`, before the first walk. */
struct lmdb_walk {
	lmdb_file_t file; /* begun; has the fault after a walk that returned false */
	lmdb_walk_hooks_t hooks;
	uint64_t met_count;  /* pages that are used or free, the meta pages left out */
	lmdb_tree_t counted; /* what the last walk of a tree has met */
	/* Internal: */
	uint64_t *met;                   /* owned: a bit for each page; NULL: pages may be met twice */
	uint8_t *levels[LMDB_DEPTH_MAX]; /* owned: the page on each level */
	uint8_t *list;                   /* owned: a list of free pages that is being read */
	bool is_free_tree;
	uint8_t key[LMDB_KEY_MAX]; /* the last one */
	size_t key_len;
	bool has_key;
	bool key_is_bound; /* it is a branch's: the next one may be equal */
};

/** From now on a page that is met twice is a fault. False: KNOT_ENOMEM is noted. */
bool lmdb_walk_note_pages(lmdb_walk_t *walk);

/** Check a tree with all it leads to; hooks are those of the main tree. False: a fault is noted, or a hook ended it. */
bool lmdb_walk_tree(lmdb_walk_t *walk, const lmdb_tree_t *tree, bool is_free_tree);

/** Visit the main tree from hooks.from on; pages that aren't reached are not looked at. False as above. */
bool lmdb_walk_entries(lmdb_walk_t *walk, const lmdb_tree_t *tree);

/** Check one leaf of the main tree, whatever the keys before it are. False: a fault is noted. */
bool lmdb_walk_leaf(lmdb_walk_t *walk, uint64_t number);

/** Read the branch `number` of the main tree to the buffer of a level, where it stays until the next one. */
bool lmdb_walk_load_branch(lmdb_walk_t *walk, uint64_t number, unsigned level, lmdb_page_t *ret_page);

void lmdb_walk_end(lmdb_walk_t *walk);
