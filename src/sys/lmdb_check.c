/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_check.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * LMDB's pages, in host byte order. A number before a field is its offset in bytes.
 *
 *   page    0 u64 number | 8 u16 unused | 10 u16 kind | 12 u16 lower, 14 u16 upper | 16 contents
 *           (in the first page of a large value, 12 is a u32: how many pages it takes)
 *   meta    16 u32 magic, u32 version, u64 address, u64 map size, tree of free pages, main tree, u64 last page,
 *           u64 transaction
 *   tree    0 u32 page size (of the first tree) | 4 u16 flags | 6 u16 depth | 8 u64 each: branch pages, leaf pages,
 *           large-value pages, entries, root page
 *   branch, leaf
 *           from 16 to `lower` a u16 for each node, its place in the page; from `upper` to the page's end the nodes
 *   node    0 u16, u16 | 4 u16 flags | 6 u16 length of the key | 8 key, then in a leaf the value, or the u64 number
 *           of its first page. The first three fields of a branch's node are the number of the child page; the first
 *           two of a leaf's node are the length of the value.
 *
 * The number of a free page is in a value of the first tree: u64 count, then that many u64, descending.
 */
enum {
	KIND_BRANCH = 1,
	KIND_LEAF = 2,
	KIND_LARGE = 4,
	KIND_META = 8,
	NODE_LARGE = 1, /* flag of a leaf's node */
	PAGE_HEADER = 16,
	NODE_HEADER = 8,
	PAGE_LEN_MIN = 512,
	PAGE_LEN_MAX = 0x8000,
	KEY_MAX = 511,
	DEPTH_MAX = 32,
	TREE_FREE_FLAGS = 8, /* keys are integers */
	FILE_FLAGS = 0x4000, /* kept with these: made with MDB_NOSUBDIR */
	META_COUNT = 2,
	BEYOND_FILE_MAX = 1 << 18, /* pages that were allocated, became free in the same transaction and so were never
				      written */
};

static const uint32_t meta_magic = 0xbeefc0de;
static const uint64_t no_page = UINT64_MAX;

typedef struct {
	uint64_t number;
	uint16_t unused, kind, lower, upper;
} page_head_t;

typedef struct {
	uint32_t page_len;
	uint16_t flags, depth;
	uint64_t branch_pages, leaf_pages, large_pages, entries, root;
} tree_t;

typedef struct {
	uint32_t magic, version;
	uint64_t address, map_len;
	tree_t free, main;
	uint64_t last_page, txn;
} meta_t;

static_assert(sizeof(page_head_t) == PAGE_HEADER && sizeof(tree_t) == 48 && sizeof(meta_t) == 136, "LMDB's layout");

typedef struct {
	int fd;
	uint64_t file_len;
	uint32_t page_len;
	uint64_t page_count; /* last page + 1 */
	uint64_t *seen;      /* owned; a bit for each page; NULL: it is read, not checked as a whole */
	uint64_t seen_count;
	uint64_t *later; /* owned; a bit for each leaf of the main tree that is still to be checked; NULL: none waits */
	uint64_t later_count;
	uint8_t *levels[DEPTH_MAX]; /* owned; the page on each level of the walk */
	uint8_t *list;              /* owned; a list of free pages that is being read */
	const char *what;           /* first fault */
	knot_err_t err;             /* of that fault */
	/* The walk of one tree. */
	bool is_free_tree;
	tree_t counted;
	uint8_t key[KEY_MAX]; /* the last one */
	size_t key_len;
	bool has_key;
	bool key_is_bound; /* it is a branch's: the next one may be equal */
	/* Reading: */
	sys_lmdb_visit_t visit; /* NULL: nothing is visited */
	void *ctx;
	knot_bytes_t from; /* the first key of interest; empty: all */
	uint8_t *value;    /* owned; a large one */
	bool has_ended;    /* the visitor wants no more */
} checker_t;

/* False, with a reason; the first one stays. */
static bool lmdb_fail(checker_t *c, knot_err_t err, const char *what)
{
	if (c->what == NULL) {
		c->what = what;
		c->err = err;
	}
	return false;
}

static bool lmdb_fault(checker_t *c, const char *what)
{
	return lmdb_fail(c, KNOT_EMALF, what);
}

static bool read_at(checker_t *c, uint64_t off, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t got = pread(c->fd, (uint8_t *)to + done, len - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return got < 0 ? lmdb_fail(c, KNOT_EFILE, "it can't be read")
				       : lmdb_fault(c, "its file is too short");
		}
		done += (size_t)got;
	}
	return true;
}

/* Each page has one use. */
static bool lmdb_mark(checker_t *c, uint64_t page, uint64_t count)
{
	if (page < META_COUNT || page >= c->page_count || count > c->page_count - page) {
		return lmdb_fault(c, "a page number is out of range");
	}
	for (uint64_t i = page; c->seen != NULL && i < page + count; i++) {
		uint64_t bit = (uint64_t)1 << i % 64;
		if (c->seen[i / 64] & bit) {
			return lmdb_fault(c, "a page is used twice");
		}
		c->seen[i / 64] |= bit;
	}
	c->seen_count += count;
	return true;
}

/* ---- Keys ---- */

static int lmdb_compare_bytes(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len > 0 ? memcmp(a, b, len) : 0;
	return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static int compare_keys(const checker_t *c, const uint8_t *key, size_t len)
{
	if (c->is_free_tree) {
		uint64_t a, b;
		memcpy(&a, key, sizeof(a));
		memcpy(&b, c->key, sizeof(b));
		return a < b ? -1 : a > b;
	}
	return lmdb_compare_bytes(key, len, c->key, c->key_len);
}

/* Keys ascend through the leaves; one of a branch is greater than all before it and at most the first behind it. */
static bool next_key(checker_t *c, const uint8_t *key, size_t len, bool is_bound)
{
	if (len == 0 || len > KEY_MAX || (c->is_free_tree && len != sizeof(uint64_t))) {
		return lmdb_fault(c, "a key has a wrong length");
	}
	if (c->has_key) {
		int order = compare_keys(c, key, len);
		if (order < 0 || (order == 0 && !c->key_is_bound)) {
			return lmdb_fault(c, "keys are out of order");
		}
	}
	memcpy(c->key, key, len);
	c->key_len = len;
	c->has_key = true;
	c->key_is_bound = is_bound;
	return true;
}

/* ---- Values ---- */

static bool mark_free_pages(checker_t *c, const uint8_t *value, uint64_t len)
{
	uint64_t count, before = no_page;
	if (len < sizeof(count)) {
		return lmdb_fault(c, "a list of free pages is too short");
	}
	memcpy(&count, value, sizeof(count));
	if (count > len / sizeof(count) - 1) {
		return lmdb_fault(c, "a list of free pages is too short");
	}
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t page;
		memcpy(&page, value + i * sizeof(page), sizeof(page));
		if (page >= before) {
			return lmdb_fault(c, "a list of free pages is out of order");
		}
		if (!lmdb_mark(c, page, 1)) {
			return false;
		}
		before = page;
	}
	return true;
}

static bool check_large(checker_t *c, uint64_t first, uint64_t len)
{
	uint64_t pages = (len + PAGE_HEADER + c->page_len - 1) / c->page_len;
	uint64_t off = first * c->page_len;
	page_head_t head;
	if (first >= c->page_count || pages > c->page_count - first) {
		return lmdb_fault(c, "a page number is out of range");
	}
	if (off + PAGE_HEADER + len > c->file_len) {
		return lmdb_fault(c, "its file is too short");
	}
	if (!read_at(c, off, &head, sizeof(head))) {
		return false;
	}
	uint32_t count;
	memcpy(&count, (const uint8_t *)&head + offsetof(page_head_t, lower), sizeof(count));
	if (head.number != first || head.kind != KIND_LARGE || count < pages) {
		return lmdb_fault(c, "a page has a wrong head");
	}
	c->counted.large_pages += count;
	if (!lmdb_mark(c, first, count)) {
		return false;
	}
	if (!c->is_free_tree) {
		return true;
	}
	uint8_t *list = realloc(c->list, len);
	if (list == NULL) {
		return lmdb_fail(c, KNOT_ENOMEM, "out of memory");
	}
	c->list = list;
	return read_at(c, off + PAGE_HEADER, list, len) && mark_free_pages(c, list, len);
}

/* ---- Pages ---- */

typedef struct {
	uint16_t words[3];
	uint16_t key_len;
} node_t;

static uint64_t node_value_len(const node_t *node)
{
	return node->words[0] | (uint64_t)node->words[1] << 16;
}

static uint64_t node_child(const node_t *node)
{
	return node_value_len(node) | (uint64_t)node->words[2] << 32;
}

/* Bytes of a node within its page; nodes begin at even places. */
static uint64_t node_len(const node_t *node, bool is_leaf)
{
	uint64_t value = 0;
	if (is_leaf) {
		value = node->words[2] & NODE_LARGE ? sizeof(uint64_t) : node_value_len(node);
	}
	return (NODE_HEADER + (uint64_t)node->key_len + value + 1) & ~(uint64_t)1;
}

static bool check_nodes(checker_t *c, const uint8_t *page, const page_head_t *head)
{
	bool is_leaf = head->kind == KIND_LEAF;
	uint64_t sum = 0;
	for (uint32_t at = PAGE_HEADER; at < head->lower; at += 2) {
		uint16_t off;
		node_t node;
		memcpy(&off, page + at, sizeof(off));
		if (off < head->upper || off % 2 != 0 || off > c->page_len - NODE_HEADER) {
			return lmdb_fault(c, "a node is out of its page");
		}
		memcpy(&node, page + off, sizeof(node));
		if (is_leaf && node.words[2] & ~NODE_LARGE) {
			return lmdb_fault(c, "a node has unknown flags");
		}
		uint64_t len = node_len(&node, is_leaf);
		if (len > c->page_len - off) {
			return lmdb_fault(c, "a node is out of its page");
		}
		sum += len;
	}
	return sum == c->page_len - head->upper || lmdb_fault(c, "nodes do not fill their page");
}

static bool check_page(checker_t *c, uint64_t number, unsigned depth);

static bool visit_leaf_node(checker_t *c, const node_t *node, const uint8_t *key)
{
	if (lmdb_compare_bytes(key, node->key_len, c->from.data, c->from.len) < 0) {
		return true;
	}
	uint64_t len = node_value_len(node);
	const uint8_t *value = key + node->key_len;
	if (node->words[2] & NODE_LARGE) {
		uint64_t first;
		memcpy(&first, value, sizeof(first));
		if (len > SYS_LMDB_VALUE_MAX) {
			return lmdb_fault(c, "a value is too long");
		}
		uint8_t *grown = realloc(c->value, len + 1);
		if (grown == NULL) {
			return lmdb_fail(c, KNOT_ENOMEM, "out of memory");
		}
		value = c->value = grown;
		if (!check_large(c, first, len) || !read_at(c, first * c->page_len + PAGE_HEADER, grown, len)) {
			return false;
		}
	}
	c->has_ended = !c->visit((knot_bytes_t){ key, node->key_len }, (knot_bytes_t){ value, len }, c->ctx);
	return !c->has_ended;
}

/* A child whose keys are all less than the first one of interest: its neighbour's are not greater than that. */
static bool is_child_skipped(const checker_t *c, const page_head_t *head, const uint8_t *page, uint32_t at)
{
	uint16_t off;
	node_t node;
	if (c->from.len == 0 || at + 2u >= head->lower) {
		return false;
	}
	memcpy(&off, page + at + 2, sizeof(off));
	memcpy(&node, page + off, sizeof(node));
	return lmdb_compare_bytes(page + off + NODE_HEADER, node.key_len, c->from.data, c->from.len) <= 0;
}

static bool check_leaf_node(checker_t *c, const node_t *node, const uint8_t *key)
{
	c->counted.entries++;
	if (!next_key(c, key, node->key_len, false)) {
		return false;
	}
	const uint8_t *value = key + node->key_len;
	if (c->visit != NULL) {
		return visit_leaf_node(c, node, key);
	}
	if (node->words[2] & NODE_LARGE) {
		uint64_t first;
		memcpy(&first, value, sizeof(first));
		return check_large(c, first, node_value_len(node));
	}
	return !c->is_free_tree || mark_free_pages(c, value, node_value_len(node));
}

/* The nodes of the page on level `depth`, whose bounds have been checked. */
static bool follow_nodes(checker_t *c, const page_head_t *head, unsigned depth)
{
	const uint8_t *page = c->levels[depth];
	for (uint32_t at = PAGE_HEADER; at < head->lower; at += 2) {
		uint16_t off;
		node_t node;
		memcpy(&off, page + at, sizeof(off));
		memcpy(&node, page + off, sizeof(node));
		const uint8_t *key = page + off + NODE_HEADER;
		if (head->kind == KIND_LEAF) {
			if (!check_leaf_node(c, &node, key)) {
				return false;
			}
			continue;
		}
		/* The first key of a branch has no meaning. */
		if (at > PAGE_HEADER && !next_key(c, key, node.key_len, true)) {
			return false;
		}
		if (!is_child_skipped(c, head, page, at) && !check_page(c, node_child(&node), depth + 1)) {
			return false;
		}
	}
	return true;
}

/* Read a page to level `depth`, and check it without what it leads to. */
static bool lmdb_load_page(checker_t *c, uint64_t number, unsigned depth, bool is_leaf, page_head_t *ret_head)
{
	if (c->levels[depth] == NULL && (c->levels[depth] = malloc(c->page_len)) == NULL) {
		return lmdb_fail(c, KNOT_ENOMEM, "out of memory");
	}
	page_head_t head;
	if (!read_at(c, number * c->page_len, c->levels[depth], c->page_len)) {
		return false;
	}
	memcpy(&head, c->levels[depth], sizeof(head));
	if (head.number != number || head.kind != (is_leaf ? KIND_LEAF : KIND_BRANCH) || head.lower < PAGE_HEADER ||
			head.lower % 2 != 0 || head.upper < head.lower || head.upper > c->page_len) {
		return lmdb_fault(c, "a page has a wrong head");
	}
	/* LMDB asserts that a branch has two. */
	unsigned nodes = (head.lower - PAGE_HEADER) / 2u;
	if (nodes < (is_leaf || c->is_free_tree ? 1 : 2)) {
		return lmdb_fault(c, "a page has too few nodes");
	}
	*ret_head = head;
	return check_nodes(c, c->levels[depth], &head);
}

static bool check_page(checker_t *c, uint64_t number, unsigned depth)
{
	bool is_last = depth + 1 == c->counted.depth;
	if (!lmdb_mark(c, number, 1)) {
		return false;
	}
	if (is_last) {
		c->counted.leaf_pages++;
	} else {
		c->counted.branch_pages++;
	}
	if (is_last && !c->is_free_tree && c->later != NULL) {
		c->later[number / 64] |= (uint64_t)1 << number % 64;
		c->later_count++;
		return true;
	}
	page_head_t head;
	return lmdb_load_page(c, number, depth, is_last, &head) && follow_nodes(c, &head, depth);
}

static bool check_tree(checker_t *c, const tree_t *tree, bool is_free_tree)
{
	if ((is_free_tree ? (tree->flags & ~FILE_FLAGS) != TREE_FREE_FLAGS : tree->flags != 0) ||
			tree->depth > DEPTH_MAX || (tree->depth == 0) != (tree->root == no_page)) {
		return lmdb_fault(c, "a tree's description is wrong");
	}
	c->is_free_tree = is_free_tree;
	c->has_key = false;
	c->counted = (tree_t){ .page_len = is_free_tree ? c->page_len : 0,
		.flags = tree->flags,
		.depth = tree->depth,
		.root = tree->root };
	if (tree->depth > 0 && !check_page(c, tree->root, 0)) {
		return false;
	}
	if (c->later != NULL && !is_free_tree) {
		/* Leaves would have to be read to count these. */
		c->counted.entries = tree->entries;
		c->counted.large_pages = tree->large_pages;
	}
	return memcmp(&c->counted, tree, sizeof(*tree)) == 0 ||
	       lmdb_fault(c, "a tree's description does not match the tree");
}

/* ---- Meta pages ---- */

static knot_err_t read_meta(checker_t *c, uint64_t off, unsigned index, meta_t *ret_meta)
{
	page_head_t head;
	if (!read_at(c, off, &head, sizeof(head)) || !read_at(c, off + sizeof(head), ret_meta, sizeof(*ret_meta))) {
		return c->err;
	}
	if (ret_meta->magic == __builtin_bswap32(meta_magic)) {
		(void)lmdb_fault(c, "it was written by a machine of another byte order");
		return KNOT_ENOTSUP;
	}
	if (ret_meta->magic == meta_magic && ret_meta->version != 1) {
		(void)lmdb_fault(c, "it was written by another version of LMDB");
		return KNOT_ENOTSUP;
	}
	if (ret_meta->magic != meta_magic || head.number != index || head.kind != KIND_META) {
		(void)lmdb_fault(c, "it does not begin like a file of LMDB");
		return KNOT_EMALF;
	}
	return KNOT_OK;
}

/* The page of a transaction is its number's parity, and the two are consecutive but in a new file. */
static bool metas_fit(const meta_t *metas)
{
	if (metas[0].txn == 0 && metas[1].txn == 0) {
		return true;
	}
	uint64_t a = metas[0].txn, b = metas[1].txn;
	return a % 2 == 0 && b % 2 == 1 && (a + 1 == b || b + 1 == a);
}

static knot_err_t read_metas(checker_t *c, meta_t *ret_meta)
{
	meta_t metas[META_COUNT];
	knot_err_t err = read_meta(c, 0, 0, &metas[0]);
	if (err != KNOT_OK) {
		return err;
	}
	uint32_t page_len = metas[0].free.page_len;
	if (page_len < PAGE_LEN_MIN || page_len > PAGE_LEN_MAX || (page_len & (page_len - 1)) != 0) {
		(void)lmdb_fault(c, "its page size is wrong");
		return KNOT_EMALF;
	}
	if (page_len > (unsigned long)sysconf(_SC_PAGESIZE)) {
		(void)lmdb_fault(c, "it was written by a machine with larger pages");
		return KNOT_ENOTSUP;
	}
	err = read_meta(c, page_len, 1, &metas[1]);
	if (err != KNOT_OK) {
		return err;
	}
	const meta_t *meta = &metas[metas[0].txn < metas[1].txn];
	if (!metas_fit(metas) || metas[1].free.page_len != page_len || meta->last_page >= meta->map_len / page_len ||
			meta->last_page < META_COUNT - 1 ||
			meta->last_page > c->file_len / page_len + BEYOND_FILE_MAX) {
		(void)lmdb_fault(c, "its meta pages contradict each other");
		return KNOT_EMALF;
	}
	c->page_len = page_len;
	*ret_meta = *meta;
	return KNOT_OK;
}

static knot_err_t check_all(checker_t *c, sys_lmdb_check_t *ret_check)
{
	meta_t meta;
	knot_err_t err = read_metas(c, &meta);
	if (err != KNOT_OK) {
		return err;
	}
	c->page_count = meta.last_page + 1;
	c->seen = calloc(c->page_count / 64 + 1, sizeof(*c->seen));
	if (c->seen == NULL) {
		(void)lmdb_fail(c, KNOT_ENOMEM, "out of memory");
		return c->err;
	}
	*ret_check = (sys_lmdb_check_t){ .txn = meta.txn, .pages = c->page_count, .entries = meta.main.entries };
	bool ok = check_tree(c, &meta.main, false);
	ret_check->used = META_COUNT + c->seen_count;
	ok = ok && check_tree(c, &meta.free, true);
	uint64_t free_tree = c->counted.branch_pages + c->counted.leaf_pages + c->counted.large_pages;
	ret_check->used += free_tree;
	ret_check->free = META_COUNT + c->seen_count - ret_check->used;
	return ok ? KNOT_OK : c->err;
}

static bool lmdb_check_root(checker_t *c, const tree_t *tree)
{
	if (tree->depth > DEPTH_MAX || (tree->depth == 0) != (tree->root == no_page)) {
		return lmdb_fault(c, "a tree's description is wrong");
	}
	if (tree->depth == 0) {
		return true;
	}
	page_head_t head;
	if (tree->root < META_COUNT || tree->root >= c->page_count) {
		return lmdb_fault(c, "a page number is out of range");
	}
	if (!read_at(c, tree->root * c->page_len, &head, sizeof(head))) {
		return false;
	}
	return (head.number == tree->root && head.kind == (tree->depth == 1 ? KIND_LEAF : KIND_BRANCH) &&
			       head.lower > PAGE_HEADER && head.lower <= head.upper && head.upper <= c->page_len) ||
	       lmdb_fault(c, "a page has a wrong head");
}

static knot_err_t lmdb_check_heads(checker_t *c, sys_lmdb_check_t *ret_check)
{
	meta_t meta;
	knot_err_t err = read_metas(c, &meta);
	if (err != KNOT_OK) {
		return err;
	}
	c->page_count = meta.last_page + 1;
	*ret_check = (sys_lmdb_check_t){ .txn = meta.txn, .pages = c->page_count, .entries = meta.main.entries };
	return lmdb_check_root(c, &meta.main) && lmdb_check_root(c, &meta.free) ? KNOT_OK : c->err;
}

static void lmdb_free(checker_t *c)
{
	free(c->seen);
	free(c->later);
	free(c->list);
	free(c->value);
	for (unsigned i = 0; i < DEPTH_MAX; i++) {
		free(c->levels[i]);
	}
}

static knot_err_t lmdb_check_file(int fd, knot_err_t (*check)(checker_t *c, sys_lmdb_check_t *ret_check),
		sys_lmdb_check_t *ret_check, const char **ret_what)
{
	checker_t checker = { .fd = fd };
	struct stat info;
	*ret_check = (sys_lmdb_check_t){ 0 };
	if (fstat(fd, &info) != 0) {
		*ret_what = "it can't be read";
		return KNOT_EFILE;
	}
	checker.file_len = (uint64_t)info.st_size;
	if (checker.file_len == 0) {
		*ret_what = "it is empty";
		return KNOT_ENOENT;
	}
	knot_err_t err = check(&checker, ret_check);
	if (err != KNOT_OK) {
		*ret_what = checker.what;
	}
	lmdb_free(&checker);
	return err;
}

knot_err_t sys_lmdb_check(int fd, sys_lmdb_check_t *ret_check, const char **ret_what)
{
	return lmdb_check_file(fd, check_all, ret_check, ret_what);
}

knot_err_t sys_lmdb_check_heads(int fd, sys_lmdb_check_t *ret_check, const char **ret_what)
{
	return lmdb_check_file(fd, lmdb_check_heads, ret_check, ret_what);
}

/* ---- Leaves that are checked when they are first used ---- */

struct sys_lmdb_guard {
	/* Guards the rest. Not a sys_mutex_t, as programs without RCU sections check files, too. */
	pthread_mutex_t lock;
	checker_t checker;
	_Atomic bool is_done; /* no leaf is left to be checked */
	/* The way to a leaf: on each level a branch, in checker.levels, and the place in it. */
	struct {
		uint16_t at, count;
	} path[DEPTH_MAX];
	unsigned branches; /* levels of the path */
	uint64_t leaf;
};

knot_err_t sys_lmdb_guard_begin(int fd, sys_lmdb_guard_t **ret_guard, const char **ret_what)
{
	struct stat info;
	meta_t meta;
	sys_lmdb_guard_t *guard = calloc(1, sizeof(*guard));
	*ret_what = "out of memory";
	if (guard == NULL) {
		return KNOT_ENOMEM;
	}
	checker_t *c = &guard->checker;
	pthread_mutex_init(&guard->lock, NULL);
	c->fd = fd;
	knot_err_t err = KNOT_ENOENT;
	if (fstat(fd, &info) != 0) {
		(void)lmdb_fail(c, err = KNOT_EFILE, "it can't be read");
	} else if (info.st_size == 0) {
		c->what = "it is empty";
	} else {
		c->file_len = (uint64_t)info.st_size;
		err = read_metas(c, &meta);
	}
	if (err == KNOT_OK) {
		c->page_count = meta.last_page + 1;
		c->seen = calloc(c->page_count / 64 + 1, sizeof(*c->seen));
		c->later = calloc(c->page_count / 64 + 1, sizeof(*c->later));
		if (c->seen == NULL || c->later == NULL) {
			(void)lmdb_fail(c, KNOT_ENOMEM, "out of memory");
			err = KNOT_ENOMEM;
		} else {
			err = check_tree(c, &meta.main, false) && check_tree(c, &meta.free, true) ? KNOT_OK : c->err;
		}
	}
	if (err != KNOT_OK) {
		*ret_what = c->what;
		sys_lmdb_guard_end(guard);
		return err;
	}
	c->is_free_tree = false;
	c->fd = -1;
	atomic_init(&guard->is_done, c->later_count == 0);
	*ret_guard = guard;
	return KNOT_OK;
}

void sys_lmdb_guard_end(sys_lmdb_guard_t *take_guard)
{
	if (take_guard != NULL) {
		lmdb_free(&take_guard->checker);
		pthread_mutex_destroy(&take_guard->lock);
		free(take_guard);
	}
}

/* The node of a branch: its key, and its child page. */
static uint64_t guard_node(const sys_lmdb_guard_t *guard, unsigned level, unsigned at, knot_bytes_t *ret_key)
{
	const uint8_t *page = guard->checker.levels[level];
	uint16_t off;
	node_t node;
	memcpy(&off, page + PAGE_HEADER + at * 2, sizeof(off));
	memcpy(&node, page + off, sizeof(node));
	*ret_key = (knot_bytes_t){ page + off + NODE_HEADER, node.key_len };
	return node_child(&node);
}

static int guard_compare(knot_bytes_t a, knot_bytes_t b)
{
	int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Load the branch `number` to a level of the path. */
static bool guard_load(sys_lmdb_guard_t *guard, unsigned level, uint64_t number)
{
	page_head_t head;
	if (!lmdb_load_page(&guard->checker, number, level, false, &head)) {
		return false;
	}
	guard->path[level].count = (uint16_t)((head.lower - PAGE_HEADER) / 2);
	guard->path[level].at = 0;
	return true;
}

/* From the branch on a level go down to a leaf: the first one (key NULL), the last one, or the one where `key` would
 * be. */
static bool guard_descend(sys_lmdb_guard_t *guard, unsigned level, const knot_bytes_t *key, bool to_last)
{
	for (;; level++) {
		knot_bytes_t node_key;
		uint16_t count = guard->path[level].count, at = to_last ? count - 1 : guard->path[level].at;
		while (key != NULL && at + 1 < count &&
				(guard_node(guard, level, at + 1u, &node_key), guard_compare(node_key, *key) <= 0)) {
			at++;
		}
		guard->path[level].at = at;
		uint64_t child = guard_node(guard, level, at, &node_key);
		if (level + 1 == guard->branches) {
			guard->leaf = child;
			return true;
		}
		if (!guard_load(guard, level + 1, child)) {
			return false;
		}
	}
}

/* Go to the next leaf or the one before. *ret_moved: there is one. */
static bool guard_move(sys_lmdb_guard_t *guard, bool is_back, bool *ret_moved)
{
	for (unsigned level = guard->branches; level-- > 0;) {
		uint16_t at = guard->path[level].at;
		if (is_back ? at == 0 : at + 1u >= guard->path[level].count) {
			continue;
		}
		guard->path[level].at = is_back ? at - 1 : at + 1;
		knot_bytes_t key;
		uint64_t child = guard_node(guard, level, guard->path[level].at, &key);
		*ret_moved = true;
		if (level + 1 == guard->branches) {
			guard->leaf = child;
			return true;
		}
		return guard_load(guard, level + 1, child) && guard_descend(guard, level + 1, NULL, is_back);
	}
	*ret_moved = false;
	return true;
}

/* Check the leaf if it is one of those that wait for it. */
static bool guard_check_leaf(sys_lmdb_guard_t *guard)
{
	checker_t *c = &guard->checker;
	uint64_t bit = (uint64_t)1 << guard->leaf % 64;
	if (guard->leaf >= c->page_count || !(c->later[guard->leaf / 64] & bit)) {
		return true;
	}
	page_head_t head;
	c->has_key = false;
	if (!lmdb_load_page(c, guard->leaf, DEPTH_MAX - 1, true, &head) || !follow_nodes(c, &head, DEPTH_MAX - 1)) {
		return false;
	}
	c->later[guard->leaf / 64] &= ~bit;
	atomic_store_explicit(&guard->is_done, --c->later_count == 0, memory_order_release);
	return true;
}

/* All leaves that have keys of [first..last], and NEIGHBOURS on both sides: deleting merges pages with these. */
static bool guard_check_range(sys_lmdb_guard_t *guard, const tree_t *tree, knot_bytes_t first, knot_bytes_t last)
{
	enum { NEIGHBOURS = 3 };
	guard->branches = tree->depth - 1u;
	guard->leaf = tree->root;
	if (guard->branches == 0) {
		return guard_check_leaf(guard);
	}
	bool moved = true;
	if (!guard_load(guard, 0, tree->root) || !guard_descend(guard, 0, &first, false)) {
		return false;
	}
	for (unsigned i = 0; i < NEIGHBOURS && moved; i++) {
		if (!guard_move(guard, true, &moved)) {
			return false;
		}
	}
	for (unsigned behind = 0; behind <= NEIGHBOURS;) {
		if (!guard_check_leaf(guard) || !guard_move(guard, false, &moved)) {
			return false;
		}
		if (!moved) {
			break;
		}
		/* The first key of a branch has no meaning, so a leaf behind the range may count as one of it. */
		knot_bytes_t key;
		unsigned level = guard->branches - 1, at = guard->path[level].at;
		(void)guard_node(guard, level, at, &key);
		behind += at > 0 && guard_compare(key, last) > 0;
	}
	return true;
}

knot_err_t sys_lmdb_guard_check(sys_lmdb_guard_t *guard, int fd, uint64_t txn, knot_bytes_t first, knot_bytes_t last)
{
	if (atomic_load_explicit(&guard->is_done, memory_order_acquire)) {
		return KNOT_OK;
	}
	pthread_mutex_lock(&guard->lock);
	checker_t *c = &guard->checker;
	meta_t meta;
	c->fd = fd;
	c->what = NULL;
	knot_err_t err = KNOT_EAGAIN;
	for (uint64_t i = 0; i < META_COUNT && err == KNOT_EAGAIN; i++) {
		if (!read_at(c, i * c->page_len + PAGE_HEADER, &meta, sizeof(meta))) {
			err = c->err;
		} else if (meta.txn == txn && meta.main.depth <= DEPTH_MAX) {
			err = meta.main.depth == 0 || guard_check_range(guard, &meta.main, first, last) ? KNOT_OK
													: c->err;
		}
	}
	pthread_mutex_unlock(&guard->lock);
	return err;
}

/* ---- Reading ---- */

struct sys_lmdb_reader {
	checker_t checker;
	meta_t meta;
};

knot_err_t sys_lmdb_reader_begin(int fd, sys_lmdb_reader_t **ret_reader, const char **ret_what)
{
	sys_lmdb_reader_t *reader = calloc(1, sizeof(*reader));
	if (reader == NULL) {
		*ret_what = "out of memory";
		return KNOT_ENOMEM;
	}
	struct stat info;
	checker_t *c = &reader->checker;
	c->fd = fd;
	c->file_len = fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
	knot_err_t err = c->file_len > 0 ? read_metas(c, &reader->meta) : KNOT_ENOENT;
	c->page_count = reader->meta.last_page + 1;
	if (err == KNOT_OK && !lmdb_check_root(c, &reader->meta.main)) {
		err = c->err;
	}
	if (err != KNOT_OK) {
		*ret_what = err == KNOT_ENOENT ? "it is empty" : c->what;
		sys_lmdb_reader_end(reader);
		return err;
	}
	*ret_reader = reader;
	return KNOT_OK;
}

void sys_lmdb_reader_end(sys_lmdb_reader_t *take_reader)
{
	if (take_reader != NULL) {
		lmdb_free(&take_reader->checker);
		free(take_reader);
	}
}

knot_err_t sys_lmdb_reader_each(
		sys_lmdb_reader_t *reader, knot_bytes_t from, sys_lmdb_visit_t visit, void *ctx, const char **ret_what)
{
	checker_t *c = &reader->checker;
	const tree_t *tree = &reader->meta.main;
	c->what = NULL;
	c->err = KNOT_OK;
	c->visit = visit;
	c->ctx = ctx;
	c->from = from;
	c->has_ended = c->has_key = c->is_free_tree = false;
	c->counted = (tree_t){ .depth = tree->depth };
	if (tree->depth == 0 || check_page(c, tree->root, 0) || c->has_ended) {
		return KNOT_OK;
	}
	*ret_what = c->what;
	return c->err;
}

uint64_t sys_lmdb_reader_usage(const sys_lmdb_reader_t *reader)
{
	const tree_t *tree = &reader->meta.main;
	return (tree->branch_pages + tree->leaf_pages + tree->large_pages) * reader->checker.page_len;
}
