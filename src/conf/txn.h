/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Changes to a configuration that are not applied yet, and one way to read a configuration with or without them.
 *
 * A transaction holds the blocks that it changed, over a sealed store that it never changes; committing makes a new
 * store. Memory and time of a change don't depend on the size of the configuration. Pure: no file, no lock; one thread
 * at a time.
 */
#pragma once

#include "src/conf/store.h"

enum {
	CONF_TXN_DEPTH_MAX = 5, /* nested steps, as in Knot */
	CONF_ID_MAX = 480,      /* bytes of an identifier in a transaction: it is part of a key of the database */
};

/**
 * The block with this identifier in binary form (len 0: of a group). False: there is none. Valid until the transaction
 * changes. Without a transaction the store need not be sealed, except for zones.
 */
bool conf_view_find(conf_view_t view, size_t section, knot_bytes_t id, conf_block_view_t *ret_block);

/** A walk over the blocks of a section, in the order of a sealed store. Start: `{ .view = …, .section = … }`. */
typedef struct {
	conf_view_t view;
	size_t section;
	size_t store_pos, change_pos;
} conf_cursor_t;

/** The next block. False: there are no more. */
bool conf_view_next(conf_cursor_t *cursor, conf_block_view_t *ret_block);

/** Begin; base: sealed, must stay until the end. NULL: no memory. */
conf_txn_t *conf_txn_begin(const conf_store_t *base);

/** The store that it began with. */
const conf_store_t *conf_txn_base(const conf_txn_t *txn);

/** Forget everything. NULL is allowed. */
void conf_txn_free(conf_txn_t *take_txn);

/** What to set or remove, as text; NULL: not given. */
typedef struct {
	const char *section, *id, *item;
	const char *data;
} conf_edit_t;

/**
 * Nested steps: what was set since the last conf_txn_push() is kept by conf_txn_pop(), undone by conf_txn_undo().
 * KNOT_ETXNMANY: there are CONF_TXN_DEPTH_MAX already.
 */
KNOT_MUST_USE knot_err_t conf_txn_push(conf_txn_t *txn);
void conf_txn_pop(conf_txn_t *txn);
void conf_txn_undo(conf_txn_t *txn);

/**
 * Add a block (item NULL), or a value to an item: the only one replaces the old one, one of several is added. Without
 * an identifier the item of all blocks of the section. `include` reads files, `clear` empties sections. Types, ranges
 * and references are checked now; missing and contradictory items of a block, when the transaction is committed.
 * Changes nothing when it fails. sink: gets faults of included files. KNOT_CONF_EITEM: no such section or item.
 * KNOT_CONF_EID, KNOT_CONF_ENOID, KNOT_CONF_EIDUNSUP, KNOT_CONF_EDUPID: of the identifier. KNOT_CONF_ENODATA,
 * KNOT_CONF_EVALUE: a value is missing, or not wanted. KNOT_EINVAL, KNOT_CONF_ERANGE: a wrong value. KNOT_CONF_EMANY:
 * the item has as many as it takes. KNOT_ENOENT: a reference to nothing. KNOT_ENOTSUP: of a group only items can be
 * set. KNOT_CONF_ENOTSUP: not supported yet. KNOT_EFILE and others: of included files. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t conf_txn_set(conf_txn_t *txn, const conf_edit_t *edit, conf_sink_t sink);

/**
 * Remove a value, an item, a block, a section (id and item NULL) or everything (section NULL). Without an identifier
 * the item of all blocks. Changes nothing when it fails. Errors as of conf_txn_set(); KNOT_ENOENT: it was not set.
 */
KNOT_MUST_USE knot_err_t conf_txn_unset(conf_txn_t *txn, const conf_edit_t *edit);

/** True if nothing differs from the base. */
bool conf_txn_is_empty(const conf_txn_t *txn);

/** A walk over the blocks that were changed, added or removed (not has_new), by section, in the order of a sealed
 * store. */
typedef struct {
	size_t section;
	knot_bytes_t id;
	bool has_old, has_new;
	knot_bytes_t old_items, new_items;
} conf_change_t;
bool conf_txn_next_change(const conf_txn_t *txn, size_t *pos, conf_change_t *ret_change);

/** Make a sealed store of the base with the changes. Free with conf_store_free(). KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_txn_merge(const conf_txn_t *txn, conf_store_t **ret_store);
