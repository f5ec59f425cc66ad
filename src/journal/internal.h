/* SPDX-License-Identifier: BSD-2-Clause */
/** What the files of src/journal share: the environment, the queue of writes, and steps within a transaction. */
#pragma once

#include "src/journal/record.h"
#include "src/sys/lock.h"

#include <semaphore.h>

/** A merge that was computed outside a transaction: what it replaces and what it makes. */
typedef struct {
	uint64_t next;         /* of the zone's meta when it was computed: else it is out of date */
	uint64_t first, end;   /* changes with numbers of [first..end) are replaced */
	bool into_whole;       /* the whole zone, too */
	journal_entry_t entry; /* what replaces them; its payload is owned */
} journal_merge_t;

/** A write that waits for its transaction. On the stack of the thread that waits. */
typedef struct journal_op journal_op_t;
struct journal_op {
	/* What it does in a transaction, returning a code of LMDB. A refusal is no such code: it sets `err` and returns
	 * 0, and has written nothing. May run more than once. */
	int (*run)(journal_t *journal, MDB_txn *txn, journal_op_t *op);
	knot_name_t zone;
	const journal_entry_t *entry;
	const journal_limits_t *limits;
	const journal_merge_t *merge; /* NULL: none */
	uint32_t serial;
	bool drops_flushed; /* drop all that may be dropped, whatever the limits */

	knot_err_t err;   /* KNOT_OK, or why not */
	bool needs_merge; /* with KNOT_EAGAIN: it must come with a merge */
	bool may_retry;   /* with KNOT_ESPACE: there is something to drop */
	journal_reason_t reason;

	journal_op_t *next; /* in the queue, then in the batch */
	bool is_done;       /* else it is woken to lead */
	sem_t wake;
};

struct journal {
	journal_params_t params;
	/* Guards `queue` to `is_led`. Nothing else is taken under it. */
	sys_mutex_t lock;
	journal_op_t *queue, **queue_end;
	bool is_led; /* a thread writes, or has been woken to */
	/* Readers and the writer hold it to read; it is held to write while the environment is opened or closed. */
	sys_rwlock_t env_lock;
	sys_lmdb_t lmdb;
	bool is_broken; /* LMDB refuses to go on: open it again. Only the leader looks */
	/* Guarded by env_lock: why there is a database that isn't open, and when that was tried; what was said then. */
	knot_err_t closed;
	uint64_t tried_ms;
	journal_reason_t said;
};

/** True if `a` is newer than `b`, RFC 1982 3.2. */
static inline bool journal_serial_is_newer(uint32_t a, uint32_t b)
{
	return a != b && a - b < (uint32_t)1 << 31;
}

static inline MDB_val journal_val(const journal_key_t *key)
{
	return (MDB_val){ key->len, (void *)key->bytes };
}

static inline knot_bytes_t journal_bytes(const MDB_val *val)
{
	return (knot_bytes_t){ val->mv_data, val->mv_size };
}

/* ---- journal.c ---- */

/** Let the operation run in the next transaction; op->err and op->reason say what came of it. */
void journal_submit(journal_t *journal, journal_op_t *op) SYS_EXCLUDES(&journal->lock);

/**
 * Begin to read keys of [first..last], or of a zone: MDB_NOTFOUND if there is no database. With 0 the caller ends it by
 * journal_end_read(). Returns codes of LMDB.
 */
KNOT_MUST_USE int journal_begin_read(journal_t *journal, knot_bytes_t first, knot_bytes_t last, MDB_txn **ret_txn);
KNOT_MUST_USE int journal_begin_read_zone(journal_t *journal, knot_name_t zone, MDB_txn **ret_txn);
void journal_end_read(journal_t *journal, MDB_txn *take_txn);

/** Our error for a code of LMDB while reading. */
knot_err_t journal_read_error(int code);

/* ---- read.c ---- */

/**
 * The zone's meta; if that is damaged, as far as the entries show it, with *ret_damaged. MDB_NOTFOUND: the zone has
 * none. Returns codes of LMDB.
 */
KNOT_MUST_USE int journal_load_meta(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *ret_meta, bool *ret_damaged);

/** Count the entries of a zone into its meta again; what was flushed and the next number stay. Returns codes of LMDB.
 */
KNOT_MUST_USE int journal_recount(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *meta);

/** Load the payload of an entry that is in pieces: free(). KNOT_EMALF: parts are damaged or missing. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t journal_load_payload(const journal_t *journal, MDB_txn *txn, knot_name_t zone,
		const journal_entry_t *entry, uint8_t **ret_payload);

/** Move a cursor to the first (or, going back, the last) key of a kind with at least (at most) this number. Returns
 * codes of LMDB. MDB_NOTFOUND: there is none. */
KNOT_MUST_USE int journal_seek(MDB_cursor *cursor, knot_name_t zone, journal_key_kind_t kind, uint64_t number,
		MDB_val *ret_key, MDB_val *ret_value);
KNOT_MUST_USE int journal_seek_back(MDB_cursor *cursor, knot_name_t zone, journal_key_kind_t kind, uint64_t number,
		MDB_val *ret_key, MDB_val *ret_value);

/** Move a cursor on (or back) within the kind that it is at. */
KNOT_MUST_USE int journal_step(MDB_cursor *cursor, bool is_back, MDB_val *key, MDB_val *ret_value);

/* ---- merge.c ---- */

/**
 * Compute the merge that makes room for `entry` within the limits. KNOT_EMALF: what is to be merged is damaged,
 * KNOT_ESPACE: it wouldn't be enough, KNOT_ENOMEM, …; ret_reason says more. free() the entry's payload.
 */
KNOT_MUST_USE knot_err_t journal_plan_merge(journal_t *journal, knot_name_t zone, const journal_entry_t *entry,
		const journal_limits_t *limits, journal_merge_t *ret_merge, journal_reason_t *ret_reason);
