/* SPDX-License-Identifier: BSD-2-Clause */
/** What the two halves of a transaction share: txn.c keeps the changed blocks, txn_edit.c interprets text. */
#pragma once

#include "src/conf/txn.h"
#include "src/conf/value.h"

/** A block that the transaction has touched; it may equal the base again. Lives as long as the transaction. */
typedef struct {
	uint8_t *items; /* owned; NULL: none */
	uint32_t items_len, items_max;
	bool has_old;      /* the base has the block */
	bool has_new;      /* the transaction has it */
	uint64_t saved_in; /* the innermost open step that has a state of it; of one that ended: none has */
	uint32_t id_len;
	uint8_t id[];
} conf_changed_t;

/** Blocks of one section by their identifiers. */
typedef struct {
	conf_changed_t **blocks; /* owned, in order of their making, or sorted */
	conf_changed_t **slots;  /* hash table: the same pointers, NULL: free */
	size_t count, max;
	size_t slot_count; /* power of two or 0 */
	size_t sorted;     /* the first `sorted` blocks are in order */
} conf_changes_t;

/** A state to go back to. */
typedef struct {
	conf_changed_t *block;
	uint8_t *items; /* owned */
	uint32_t items_len;
	bool has_new;
	uint64_t saved_in; /* of the block, before */
} conf_undo_t;

/** An open step. */
typedef struct {
	size_t undo_start; /* where its states begin */
	uint64_t number;   /* never used again */
} conf_step_t;

struct conf_txn {
	const conf_store_t *base; /* borrowed */
	conf_changes_t changes[CONF_S_COUNT];
	conf_undo_t *undo; /* owned: states before the steps that are open, oldest first */
	size_t undo_count, undo_max;
	conf_step_t steps[CONF_TXN_DEPTH_MAX + 1]; /* the last is for one edit */
	unsigned depth;
	uint64_t step_count;                               /* ever begun */
	uint8_t id[CONF_VALUE_MAX], value[CONF_VALUE_MAX]; /* of the edit */
};

/** Blocks of a section of the base, by index. */
size_t conf_base_count(const conf_store_t *store, size_t section);
conf_block_view_t conf_base_at(const conf_store_t *store, size_t section, size_t index);

/** The block's record, made like the base if there is none, its state kept for an undo. NULL: no memory. */
conf_changed_t *conf_txn_touch(conf_txn_t *txn, size_t section, knot_bytes_t id);

/** Put items in place of the block's own. They may be part of these. False: no memory, nothing changed. */
KNOT_MUST_USE bool conf_changed_set(conf_changed_t *block, knot_bytes_t items);

/** Put one more item behind the others. False: no memory, nothing changed. */
KNOT_MUST_USE bool conf_changed_append(conf_changed_t *block, size_t row, knot_bytes_t value);

static inline knot_bytes_t conf_changed_items(const conf_changed_t *block)
{
	return (knot_bytes_t){ block->items, block->items_len };
}

/** Begin a step, also when CONF_TXN_DEPTH_MAX are open: for steps within one call. */
void conf_txn_step(conf_txn_t *txn);

/** A store with all blocks of the view, not sealed. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t conf_view_copy(conf_view_t view, conf_store_t **ret_store);
