/* SPDX-License-Identifier: BSD-2-Clause */
/** What the files of src/store share: the environment and its keys. */
#pragma once

#include "src/store/record.h"

struct store {
	sys_lmdb_t lmdb;    /* all keys are in its unnamed database, see store_key_t */
	const uint8_t *map; /* where LMDB has mapped the file */
	uint32_t format;    /* the caller's; 0: any */
	bool has_leftovers; /* pieces of a save that failed could not be removed; only saving threads look */
};

enum {
	STORE_FORMAT = 1, /* of keys and of the environment as a whole; records have their own */

	/* Bytes: half a MiB and what its last page has left. doc/adr/0013-zone-images.md has the measurements. */
	STORE_PIECE_MAX = (512 << 10) + 4096 - 16,
	STORE_INLINE_MAX = 4 * 4096 - 16, /* bytes of a record with its chunks in it */
	/* Bytes of changed pages per transaction: LMDB keeps them in memory until the commit. Of one image this part,
	 * within limits … */
	STORE_STEP_PART = 16,
	STORE_STEP_MIN = 1 << 20,
	STORE_STEP_MAX = 16 << 20,
	STORE_GROUP_BYTES = 8 << 20, /* … and single pages for the next one; small images change such pages */

	STORE_PAGE_HEADER = 16, /* bytes that LMDB puts in front of a value with pages of its own */
};

/*
 * Keys. The first byte says of what:
 *   FORMAT                       the environment's format_t, one
 *   SWEEP                        some pieces belong to no record
 *   WORK, u64 id                 u32, native: pieces of this id from this number on belong to a save that has not ended
 *   PIECE, u64 id, u32 number    bytes of a chunk (big endian, so that an image's pieces are neighbours in order)
 *   HEAD, knot_name_key()        record of a zone: in canonical order of names
 *
 * HEAD is last, so that records of zones that are saved in order fill their pages.
 */
typedef enum { STORE_KEY_FORMAT, STORE_KEY_SWEEP, STORE_KEY_WORK, STORE_KEY_PIECE, STORE_KEY_HEAD } store_key_kind_t;

enum { STORE_KEY_MAX = 1 + KNOT_NAME_KEY_MAX, STORE_PIECE_KEY_LEN = 13, STORE_WORK_KEY_LEN = 9 };

typedef struct {
	uint8_t bytes[STORE_KEY_MAX];
	uint16_t len;
} store_key_t;

void store_key_head(knot_name_t zone, store_key_t *ret_key);
void store_key_piece(uint64_t id, uint32_t number, store_key_t *ret_key);
void store_key_work(uint64_t id, store_key_t *ret_key);
static inline MDB_val store_key_val(const store_key_t *key)
{
	return (MDB_val){ key->len, (void *)key->bytes };
}

/** Id and number of a piece's key; false: it is another key. */
bool store_key_is_piece(const MDB_val *key, uint64_t *ret_id, uint32_t *ret_number);

/**
 * Forget the pages of the map that this process has touched: with large folios in the page cache, a look at the head
 * of each piece maps all of the file, which counts as memory of the process.
 */
void store_unmap(const store_t *store);

/** Remove pieces that no record names, left by saves that did not end. */
KNOT_MUST_USE knot_err_t store_remove_leftovers(store_t *store, store_reason_t *ret_reason);

/** Delete the pieces of an image from `number` on. Returns a code of LMDB. */
int store_delete_pieces(const store_t *store, MDB_txn *txn, uint64_t id, uint32_t number);

/** Copy and read the record of a zone. ret_copy: to be freed. MDB_NOTFOUND and other codes of LMDB in *ret_code with
 * KNOT_ENOENT. */
KNOT_MUST_USE knot_err_t store_load_record(const store_t *store, MDB_txn *txn, knot_name_t zone, void **ret_copy,
		store_record_t *ret_record, const char **ret_what, int *ret_code);
