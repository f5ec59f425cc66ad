/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The data file of an LMDB database, page by page, read without LMDB: the meta pages, and what one page says by itself.
 *
 * Nothing of the file is trusted: numbers, lengths and places are checked before they are used. How pages belong
 * together is lmdb_walk.h's. Written after the format of LMDB 0.9 (data version 1), as lmdb.h and mdb.c describe it.
 * Used by the files of src/sys/lmdb_* only. One thread at a time. Does not own the descriptor.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	LMDB_META_COUNT = 2, /* the first pages of the file */
	LMDB_KEY_MAX = 511,
	LMDB_DEPTH_MAX = 32,
};

/** A tree's description in a meta page, as it is in the file. */
typedef struct {
	uint32_t page_len; /* of the first tree; else 0 */
	uint16_t flags, depth;
	uint64_t branch_pages, leaf_pages, large_pages, entries;
	uint64_t root; /* UINT64_MAX: it is empty, and depth is 0 */
} lmdb_tree_t;

/** A meta page behind its head, as it is in the file. */
typedef struct {
	uint32_t magic, version;
	uint64_t address, map_len;
	lmdb_tree_t free, main;
	uint64_t last_page, txn;
} lmdb_meta_t;

static_assert(sizeof(lmdb_tree_t) == 48 && sizeof(lmdb_meta_t) == 136, "LMDB's layout");

/** Zeroed before lmdb_file_begin(). */
typedef struct {
	int fd;              /* borrowed */
	uint64_t len;        /* bytes when it was begun */
	uint32_t page_len;   /* bytes */
	uint64_t page_count; /* number of the last page + 1 */
	const char *what;    /* the first fault, a static text; NULL: none */
	knot_err_t err;      /* of that fault */
} lmdb_file_t;

/** A branch or leaf whose head and nodes are sound; borrows its bytes. */
typedef struct {
	const uint8_t *bytes;
	unsigned count; /* nodes, at least one */
	bool is_leaf;
} lmdb_page_t;

/** One node of a page; borrows from its bytes. */
typedef struct {
	knot_bytes_t key;     /* the first of a branch has no meaning */
	uint64_t child;       /* branch: number of the page below; leaf with a large value: of the first page of that */
	uint64_t value_len;   /* leaf */
	const uint8_t *value; /* leaf: NULL if it is a large one */
	bool is_tree;         /* leaf: the value is the description of a named database */
} lmdb_node_t;

/**
 * Look at the file's length and at both meta pages; *ret_meta is the newer one. KNOT_ENOENT: the file is empty.
 * KNOT_EMALF: damaged, KNOT_ENOTSUP: of another version, byte order or page size, KNOT_EFILE: reading failed;
 * file->what says more.
 */
KNOT_MUST_USE knot_err_t lmdb_file_begin(lmdb_file_t *file, int fd, lmdb_meta_t *ret_meta);

/** Returns false and notes a fault, unless one is noted already. */
bool lmdb_file_fail(lmdb_file_t *file, knot_err_t err, const char *what);

/** The same for damage: KNOT_EMALF. */
bool lmdb_file_fault(lmdb_file_t *file, const char *what);

/** What the meta page `index` says now, unchecked. False: a fault is noted. */
bool lmdb_file_read_meta(lmdb_file_t *file, unsigned index, lmdb_meta_t *ret_meta);

/**
 * Write to the meta page of transaction `txn` so that it is older than the other one, even if it seems so already: what
 * the page cache shows needn't be on the disk after a failed write. Nothing is written if the meta pages aren't sound.
 * False: errno.
 */
bool lmdb_file_put_back_meta(int fd, uint32_t page_len, uint64_t txn);

/** Read a branch or a leaf to `bytes` (page_len of them) and check it without what it leads to. False: a fault. */
bool lmdb_file_read_page(lmdb_file_t *file, uint64_t number, bool is_leaf, uint8_t *bytes, lmdb_page_t *ret_page);

/** Check that the root of a tree is a page of the file and has the head of one. False: a fault is noted. */
bool lmdb_file_check_root(lmdb_file_t *file, const lmdb_tree_t *tree);

/** Check the head of a large value's first page; *ret_pages: how many pages it takes. False: a fault is noted. */
bool lmdb_file_check_large(lmdb_file_t *file, uint64_t first, uint64_t len, uint32_t *ret_pages);

/** Read a large value of `len` bytes, whose head has been checked. False: a fault is noted. */
bool lmdb_file_read_large(lmdb_file_t *file, uint64_t first, uint8_t *to, uint64_t len);

/** Node `index` of a page, below its count. */
lmdb_node_t lmdb_page_node(const lmdb_page_t *page, unsigned index);

/** As memcmp() and then by length: the order of keys in the main tree. */
int lmdb_key_compare(knot_bytes_t a, knot_bytes_t b);
