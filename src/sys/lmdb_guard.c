/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_guard.h"

#include "src/sys/lmdb_walk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct sys_lmdb_guard {
	/* Guards the rest. Not a sys_mutex_t, as programs without RCU sections check files, too. */
	pthread_mutex_t lock;
	lmdb_walk_t walk;
	uint64_t *waiting; /* owned: a bit for each leaf of the main tree that is still to be checked */
	uint64_t waiting_count;
	_Atomic bool is_done; /* no leaf is left to be checked */
	/* The way to a leaf: on each level a branch, whose bytes are the walk's, and the place in it. */
	struct {
		lmdb_page_t page;
		unsigned at;
	} path[LMDB_DEPTH_MAX];
	unsigned branches; /* levels of the path */
	uint64_t leaf;
};

/* ---- What is checked at once ---- */

static void lmdb_guard_keep_leaf(lmdb_walk_t *walk, uint64_t number, void *ctx)
{
	(void)walk;
	sys_lmdb_guard_t *guard = ctx;
	guard->waiting[number / 64] |= (uint64_t)1 << number % 64;
	guard->waiting_count++;
}

static bool lmdb_guard_check_trees(sys_lmdb_guard_t *guard, const lmdb_meta_t *meta)
{
	lmdb_walk_t *walk = &guard->walk;
	guard->waiting = calloc(walk->file.page_count / 64 + 1, sizeof(*guard->waiting));
	if (guard->waiting == NULL) {
		return lmdb_file_fail(&walk->file, KNOT_ENOMEM, "out of memory");
	}
	walk->hooks = (lmdb_walk_hooks_t){ .on_leaf = lmdb_guard_keep_leaf, .ctx = guard };
	return lmdb_walk_note_pages(walk) && lmdb_walk_tree(walk, &meta->main, false) &&
	       lmdb_walk_tree(walk, &meta->free, true);
}

knot_err_t sys_lmdb_guard_begin(int fd, sys_lmdb_guard_t **ret_guard, const char **ret_what)
{
	sys_lmdb_guard_t *guard = calloc(1, sizeof(*guard));
	if (guard == NULL) {
		*ret_what = "out of memory";
		return KNOT_ENOMEM;
	}
	pthread_mutex_init(&guard->lock, NULL);
	lmdb_file_t *file = &guard->walk.file;
	lmdb_meta_t meta;
	if (lmdb_file_begin(file, fd, &meta) != KNOT_OK || !lmdb_guard_check_trees(guard, &meta)) {
		knot_err_t err = file->err;
		*ret_what = file->what;
		sys_lmdb_guard_end(guard);
		return err;
	}
	file->fd = -1; /* LMDB opens the file once more; each check brings that descriptor */
	atomic_init(&guard->is_done, guard->waiting_count == 0);
	*ret_guard = guard;
	return KNOT_OK;
}

void sys_lmdb_guard_end(sys_lmdb_guard_t *take_guard)
{
	if (take_guard != NULL) {
		lmdb_walk_end(&take_guard->walk);
		free(take_guard->waiting);
		pthread_mutex_destroy(&take_guard->lock);
		free(take_guard);
	}
}

/* ---- The way to a leaf ---- */

/* Load the branch `number` to a level of the path. */
static bool lmdb_guard_load(sys_lmdb_guard_t *guard, unsigned level, uint64_t number)
{
	guard->path[level].at = 0;
	return lmdb_walk_load_branch(&guard->walk, number, level, &guard->path[level].page);
}

/* From the branch on a level go down to a leaf: the first one (key NULL), the last one, or the one where `key` would
 * be. */
static bool lmdb_guard_descend(sys_lmdb_guard_t *guard, unsigned level, const knot_bytes_t *key, bool to_last)
{
	for (;; level++) {
		const lmdb_page_t *page = &guard->path[level].page;
		unsigned at = to_last ? page->count - 1 : guard->path[level].at;
		while (key != NULL && at + 1 < page->count &&
				lmdb_key_compare(lmdb_page_node(page, at + 1).key, *key) <= 0) {
			at++;
		}
		guard->path[level].at = at;
		uint64_t child = lmdb_page_node(page, at).child;
		if (level + 1 == guard->branches) {
			guard->leaf = child;
			return true;
		}
		if (!lmdb_guard_load(guard, level + 1, child)) {
			return false;
		}
	}
}

/* Go to the next leaf or the one before. *ret_moved: there is one. */
static bool lmdb_guard_move(sys_lmdb_guard_t *guard, bool is_back, bool *ret_moved)
{
	for (unsigned level = guard->branches; level-- > 0;) {
		unsigned *at = &guard->path[level].at;
		if (is_back ? *at == 0 : *at + 1 >= guard->path[level].page.count) {
			continue;
		}
		*at = is_back ? *at - 1 : *at + 1;
		uint64_t child = lmdb_page_node(&guard->path[level].page, *at).child;
		*ret_moved = true;
		if (level + 1 == guard->branches) {
			guard->leaf = child;
			return true;
		}
		return lmdb_guard_load(guard, level + 1, child) && lmdb_guard_descend(guard, level + 1, NULL, is_back);
	}
	*ret_moved = false;
	return true;
}

/* ---- What is checked later ---- */

/* Check the leaf if it is one of those that wait for it. */
static bool lmdb_guard_check_leaf(sys_lmdb_guard_t *guard)
{
	uint64_t bit = (uint64_t)1 << guard->leaf % 64;
	if (guard->leaf >= guard->walk.file.page_count || !(guard->waiting[guard->leaf / 64] & bit)) {
		return true;
	}
	if (!lmdb_walk_leaf(&guard->walk, guard->leaf)) {
		return false;
	}
	guard->waiting[guard->leaf / 64] &= ~bit;
	atomic_store_explicit(&guard->is_done, --guard->waiting_count == 0, memory_order_release);
	return true;
}

/* All leaves that have keys of [first..last], and NEIGHBOURS on both sides: deleting merges pages with these. */
static bool lmdb_guard_check_range(
		sys_lmdb_guard_t *guard, const lmdb_tree_t *tree, knot_bytes_t first, knot_bytes_t last)
{
	enum { NEIGHBOURS = 3 };
	guard->branches = tree->depth - 1u;
	guard->leaf = tree->root;
	if (guard->branches == 0) {
		return lmdb_guard_check_leaf(guard);
	}
	bool moved = true;
	if (!lmdb_guard_load(guard, 0, tree->root) || !lmdb_guard_descend(guard, 0, &first, false)) {
		return false;
	}
	for (unsigned i = 0; i < NEIGHBOURS && moved; i++) {
		if (!lmdb_guard_move(guard, true, &moved)) {
			return false;
		}
	}
	for (unsigned behind = 0; behind <= NEIGHBOURS;) {
		if (!lmdb_guard_check_leaf(guard) || !lmdb_guard_move(guard, false, &moved)) {
			return false;
		}
		if (!moved) {
			break;
		}
		/* The first key of a branch has no meaning, so a leaf behind the range may count as one of it. */
		unsigned level = guard->branches - 1, at = guard->path[level].at;
		behind += at > 0 && lmdb_key_compare(lmdb_page_node(&guard->path[level].page, at).key, last) > 0;
	}
	return true;
}

/* In the version of the file that transaction `txn` made. */
static knot_err_t lmdb_guard_check_version(sys_lmdb_guard_t *guard, uint64_t txn, knot_bytes_t first, knot_bytes_t last)
{
	lmdb_file_t *file = &guard->walk.file;
	for (unsigned i = 0; i < LMDB_META_COUNT; i++) {
		lmdb_meta_t meta;
		if (!lmdb_file_read_meta(file, i, &meta)) {
			return file->err;
		}
		if (meta.txn == txn && meta.main.depth <= LMDB_DEPTH_MAX) {
			return meta.main.depth == 0 || lmdb_guard_check_range(guard, &meta.main, first, last)
					       ? KNOT_OK
					       : file->err;
		}
	}
	return KNOT_EAGAIN;
}

knot_err_t sys_lmdb_guard_check(sys_lmdb_guard_t *guard, int fd, uint64_t txn, knot_bytes_t first, knot_bytes_t last)
{
	if (atomic_load_explicit(&guard->is_done, memory_order_acquire)) {
		return KNOT_OK;
	}
	pthread_mutex_lock(&guard->lock);
	guard->walk.file.fd = fd;
	guard->walk.file.what = NULL;
	knot_err_t err = lmdb_guard_check_version(guard, txn, first, last);
	pthread_mutex_unlock(&guard->lock);
	return err;
}
