/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_file.h"

#include <errno.h>
#include <stddef.h>
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
 */
enum {
	KIND_BRANCH = 1,
	KIND_LEAF = 2,
	KIND_LARGE = 4,
	KIND_META = 8,
	NODE_LARGE = 1, /* flags of a leaf's node */
	NODE_TREE = 2,
	PAGE_HEADER = 16,
	NODE_HEADER = 8,
	PAGE_LEN_MIN = 512,
	PAGE_LEN_MAX = 0x8000,
	BEYOND_FILE_MAX = 1 << 18, /* pages that were allocated, became free in the same transaction and so were never
				      written */
};

static const uint32_t lmdb_magic = 0xbeefc0de;

typedef struct {
	uint64_t number;
	uint16_t unused, kind, lower, upper;
} page_head_t;

typedef struct {
	uint16_t words[3];
	uint16_t key_len;
} node_head_t;

static_assert(sizeof(page_head_t) == PAGE_HEADER && sizeof(node_head_t) == NODE_HEADER, "LMDB's layout");

bool lmdb_file_fail(lmdb_file_t *file, knot_err_t err, const char *what)
{
	if (file->what == NULL) {
		file->what = what;
		file->err = err;
	}
	return false;
}

bool lmdb_file_fault(lmdb_file_t *file, const char *what)
{
	return lmdb_file_fail(file, KNOT_EMALF, what);
}

static bool lmdb_file_read(lmdb_file_t *file, uint64_t off, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t got = pread(file->fd, (uint8_t *)to + done, len - done, (off_t)(off + done));
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			return got < 0 ? lmdb_file_fail(file, KNOT_EFILE, "it can't be read")
				       : lmdb_file_fault(file, "its file is too short");
		}
		done += (size_t)got;
	}
	return true;
}

/* ---- Meta pages ---- */

bool lmdb_file_read_meta(lmdb_file_t *file, unsigned index, lmdb_meta_t *ret_meta)
{
	return lmdb_file_read(file, (uint64_t)index * file->page_len + PAGE_HEADER, ret_meta, sizeof(*ret_meta));
}

/* The page size is known only once the first of the two has been read. */
static bool lmdb_file_check_meta(lmdb_file_t *file, unsigned index, lmdb_meta_t *ret_meta)
{
	page_head_t head;
	if (!lmdb_file_read(file, (uint64_t)index * file->page_len, &head, sizeof(head)) ||
			!lmdb_file_read_meta(file, index, ret_meta)) {
		return false;
	}
	if (ret_meta->magic == __builtin_bswap32(lmdb_magic)) {
		return lmdb_file_fail(file, KNOT_ENOTSUP, "it was written by a machine of another byte order");
	}
	if (ret_meta->magic == lmdb_magic && ret_meta->version != 1) {
		return lmdb_file_fail(file, KNOT_ENOTSUP, "it was written by another version of LMDB");
	}
	return (ret_meta->magic == lmdb_magic && head.number == index && head.kind == KIND_META) ||
	       lmdb_file_fault(file, "it does not begin like a file of LMDB");
}

/* The page of a transaction is its number's parity, and the two are consecutive but in a new file. */
static bool lmdb_metas_fit(const lmdb_meta_t *metas)
{
	if (metas[0].txn == 0 && metas[1].txn == 0) {
		return true;
	}
	uint64_t a = metas[0].txn, b = metas[1].txn;
	return a % 2 == 0 && b % 2 == 1 && (a + 1 == b || b + 1 == a);
}

bool lmdb_file_put_back_meta(int fd, uint32_t page_len, uint64_t txn)
{
	lmdb_file_t file = { .fd = fd, .page_len = page_len };
	lmdb_meta_t metas[LMDB_META_COUNT];
	unsigned index = txn % LMDB_META_COUNT;
	if (!lmdb_file_check_meta(&file, 0, &metas[0]) || !lmdb_file_check_meta(&file, 1, &metas[1]) ||
			!lmdb_metas_fit(metas)) {
		return true;
	}
	/* The number alone: a torn write of more could leave a mixture that counts. With a smaller number than the
	 * other page's, the rest doesn't count. */
	uint64_t number = metas[index].txn;
	if (number == txn) {
		number = txn >= LMDB_META_COUNT ? txn - LMDB_META_COUNT : 0;
	}
	off_t off = (off_t)index * page_len + PAGE_HEADER + (off_t)offsetof(lmdb_meta_t, txn);
	ssize_t len = pwrite(fd, &number, sizeof(number), off);
	if (len >= 0 && len != (ssize_t)sizeof(number)) {
		errno = EIO;
	}
	return len == (ssize_t)sizeof(number);
}

static bool lmdb_file_check_metas(lmdb_file_t *file, lmdb_meta_t *ret_meta)
{
	lmdb_meta_t metas[LMDB_META_COUNT];
	if (!lmdb_file_check_meta(file, 0, &metas[0])) {
		return false;
	}
	uint32_t page_len = metas[0].free.page_len;
	if (page_len < PAGE_LEN_MIN || page_len > PAGE_LEN_MAX || (page_len & (page_len - 1)) != 0) {
		return lmdb_file_fault(file, "its page size is wrong");
	}
	if (page_len > (unsigned long)sysconf(_SC_PAGESIZE)) {
		return lmdb_file_fail(file, KNOT_ENOTSUP, "it was written by a machine with larger pages");
	}
	file->page_len = page_len;
	if (!lmdb_file_check_meta(file, 1, &metas[1])) {
		return false;
	}
	const lmdb_meta_t *meta = &metas[metas[0].txn < metas[1].txn];
	if (!lmdb_metas_fit(metas) || metas[1].free.page_len != page_len ||
			meta->last_page >= meta->map_len / page_len || meta->last_page < LMDB_META_COUNT - 1 ||
			meta->last_page > file->len / page_len + BEYOND_FILE_MAX) {
		return lmdb_file_fault(file, "its meta pages contradict each other");
	}
	file->page_count = meta->last_page + 1;
	*ret_meta = *meta;
	return true;
}

knot_err_t lmdb_file_begin(lmdb_file_t *file, int fd, lmdb_meta_t *ret_meta)
{
	struct stat info;
	file->fd = fd;
	if (fstat(fd, &info) != 0) {
		(void)lmdb_file_fail(file, KNOT_EFILE, "it can't be read");
	} else if (info.st_size == 0) {
		(void)lmdb_file_fail(file, KNOT_ENOENT, "it is empty");
	} else {
		file->len = (uint64_t)info.st_size;
		(void)lmdb_file_check_metas(file, ret_meta);
	}
	return file->err;
}

/* ---- Branches and leaves ---- */

static uint64_t lmdb_node_value_len(const node_head_t *head)
{
	return head->words[0] | (uint64_t)head->words[1] << 16;
}

/* Bytes of a node within its page; nodes begin at even places. */
static uint64_t lmdb_node_len(const node_head_t *head, bool is_leaf)
{
	uint64_t value = 0;
	if (is_leaf) {
		value = head->words[2] & NODE_LARGE ? sizeof(uint64_t) : lmdb_node_value_len(head);
	}
	return (NODE_HEADER + (uint64_t)head->key_len + value + 1) & ~(uint64_t)1;
}

/* Where a node is in its page. */
static uint16_t lmdb_page_place(const uint8_t *bytes, unsigned index)
{
	uint16_t place;
	memcpy(&place, bytes + PAGE_HEADER + (size_t)index * sizeof(place), sizeof(place));
	return place;
}

static bool lmdb_file_check_nodes(lmdb_file_t *file, const lmdb_page_t *page, uint16_t upper)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < page->count; i++) {
		uint16_t place = lmdb_page_place(page->bytes, i);
		if (place < upper || place % 2 != 0 || place > file->page_len - NODE_HEADER) {
			return lmdb_file_fault(file, "a node is out of its page");
		}
		node_head_t head;
		memcpy(&head, page->bytes + place, sizeof(head));
		bool is_tree = head.words[2] == NODE_TREE && lmdb_node_value_len(&head) == sizeof(lmdb_tree_t);
		if (page->is_leaf && (head.words[2] & ~NODE_LARGE) != 0 && !is_tree) {
			return lmdb_file_fault(file, "a node has unknown flags");
		}
		uint64_t len = lmdb_node_len(&head, page->is_leaf);
		if (len > file->page_len - place) {
			return lmdb_file_fault(file, "a node is out of its page");
		}
		sum += len;
	}
	return sum == file->page_len - upper || lmdb_file_fault(file, "nodes do not fill their page");
}

bool lmdb_file_read_page(lmdb_file_t *file, uint64_t number, bool is_leaf, uint8_t *bytes, lmdb_page_t *ret_page)
{
	if (!lmdb_file_read(file, number * file->page_len, bytes, file->page_len)) {
		return false;
	}
	page_head_t head;
	memcpy(&head, bytes, sizeof(head));
	if (head.number != number || head.kind != (is_leaf ? KIND_LEAF : KIND_BRANCH) || head.lower < PAGE_HEADER ||
			head.lower % 2 != 0 || head.upper < head.lower || head.upper > file->page_len) {
		return lmdb_file_fault(file, "a page has a wrong head");
	}
	lmdb_page_t page = { .bytes = bytes, .count = (head.lower - PAGE_HEADER) / 2u, .is_leaf = is_leaf };
	if (page.count == 0) {
		return lmdb_file_fault(file, "a page has too few nodes");
	}
	*ret_page = page;
	return lmdb_file_check_nodes(file, &page, head.upper);
}

lmdb_node_t lmdb_page_node(const lmdb_page_t *page, unsigned index)
{
	assert(index < page->count);
	const uint8_t *at = page->bytes + lmdb_page_place(page->bytes, index);
	node_head_t head;
	memcpy(&head, at, sizeof(head));
	lmdb_node_t node = { .key = { at + NODE_HEADER, head.key_len } };
	if (!page->is_leaf) {
		node.child = lmdb_node_value_len(&head) | (uint64_t)head.words[2] << 32;
		return node;
	}
	node.value_len = lmdb_node_value_len(&head);
	node.is_tree = head.words[2] == NODE_TREE;
	if (head.words[2] & NODE_LARGE) {
		memcpy(&node.child, at + NODE_HEADER + head.key_len, sizeof(node.child));
	} else {
		node.value = at + NODE_HEADER + head.key_len;
	}
	return node;
}

bool lmdb_file_check_root(lmdb_file_t *file, const lmdb_tree_t *tree)
{
	if (tree->depth > LMDB_DEPTH_MAX || (tree->depth == 0) != (tree->root == UINT64_MAX)) {
		return lmdb_file_fault(file, "a tree's description is wrong");
	}
	if (tree->depth == 0) {
		return true;
	}
	if (tree->root < LMDB_META_COUNT || tree->root >= file->page_count) {
		return lmdb_file_fault(file, "a page number is out of range");
	}
	page_head_t head;
	if (!lmdb_file_read(file, tree->root * file->page_len, &head, sizeof(head))) {
		return false;
	}
	return (head.number == tree->root && head.kind == (tree->depth == 1 ? KIND_LEAF : KIND_BRANCH) &&
			       head.lower > PAGE_HEADER && head.lower <= head.upper && head.upper <= file->page_len) ||
	       lmdb_file_fault(file, "a page has a wrong head");
}

/* ---- Large values ---- */

bool lmdb_file_check_large(lmdb_file_t *file, uint64_t first, uint64_t len, uint32_t *ret_pages)
{
	uint64_t pages = (len + PAGE_HEADER + file->page_len - 1) / file->page_len;
	if (first >= file->page_count || pages > file->page_count - first) {
		return lmdb_file_fault(file, "a page number is out of range");
	}
	uint64_t off = first * file->page_len;
	if (off + PAGE_HEADER + len > file->len) {
		return lmdb_file_fault(file, "its file is too short");
	}
	page_head_t head;
	if (!lmdb_file_read(file, off, &head, sizeof(head))) {
		return false;
	}
	uint32_t count;
	memcpy(&count, (const uint8_t *)&head + offsetof(page_head_t, lower), sizeof(count));
	if (head.number != first || head.kind != KIND_LARGE || count < pages) {
		return lmdb_file_fault(file, "a page has a wrong head");
	}
	*ret_pages = count;
	return count <= file->page_count - first || lmdb_file_fault(file, "a page number is out of range");
}

bool lmdb_file_read_large(lmdb_file_t *file, uint64_t first, uint8_t *to, uint64_t len)
{
	return lmdb_file_read(file, first * file->page_len + PAGE_HEADER, to, len);
}

int lmdb_key_compare(knot_bytes_t a, knot_bytes_t b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}
