/* SPDX-License-Identifier: BSD-2-Clause */
/** What the files of src/journal share: the environment, the queue of writes, and steps within a transaction. */
#pragma once

#include "src/journal/record.h"
#include "src/sys/lock.h"

#include <semaphore.h>

/** An entry as far as a merge needs it. */
typedef struct {
	journal_entry_t entry; /* payload.data: NULL, or owned once it was loaded */
	uint64_t cost;         /* bytes */
	uint64_t sum;          /* checksum of its head */
	bool is_damaged;
	bool is_taken; /* damaged, or part of a merge on its way: not to be merged */
} journal_link_t;

/** The whole zone, if there is one, and the changes, from the oldest on. */
typedef struct {
	journal_link_t *links; /* owned */
	size_t count, max;
	uint64_t next; /* of the zone's meta */
	uint32_t flags;
	uint64_t file; /* number of the entry that ends with the version of the zone file; 0: not known */
	uint32_t serial_file;
} journal_chain_t;

/** A merge that was computed outside a transaction: what it replaces and what it makes. */
typedef struct {
	uint64_t next;         /* of the zone's meta when it was computed: else it is out of date */
	uint64_t first, end;   /* changes with numbers of [first..end) are replaced */
	bool into_whole;       /* the whole zone, too */
	journal_entry_t entry; /* what replaces them; its payload is owned */
	/* For journal_merge(): the chain and where it is replaced. */
	const journal_link_t *links;
	size_t link_count;
} journal_merge_t;

/**
 * What is on its way in several transactions: pieces of an entry that isn't stored yet, and which changes are being
 * merged. On the stack of its thread, in journal->busy meanwhile.
 */
typedef struct journal_busy journal_busy_t;
struct journal_busy {
	journal_busy_t *next;
	uint64_t zone;       /* journal_hash_zone() */
	uint64_t first, end; /* numbers of what is being merged; end 0: nothing */
	uint64_t number;     /* whose pieces; 0: none */
	uint16_t series;
};

/** A zone that has changes for journal_merge(). */
typedef struct journal_deep journal_deep_t;
struct journal_deep {
	journal_deep_t *next;
	uint64_t zone;
	bool is_merging;
	bool again;        /* another change came meanwhile */
	bool may_merge;    /* whatever the limits say by then */
	uint64_t retry_ms; /* sys_clock_ms(): not wanted before, as it failed */
};

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
	bool drops_flushed;  /* drop all that may be dropped, whatever the limits */
	bool exceeds_depth;  /* by JOURNAL_DEPTH_MORE at most: merging would take too long */
	bool has_pieces;     /* the entry's pieces are stored, and its number is reserved */
	uint32_t first, end; /* pieces to store */
	size_t bytes;        /* that it writes, about */

	knot_err_t err;   /* KNOT_OK, or why not */
	bool needs_merge; /* with KNOT_EAGAIN: it must come with a merge */
	bool may_retry;   /* with KNOT_ESPACE: there is something to drop */
	bool is_deep;     /* with KNOT_OK: there is something to do for journal_merge() */
	uint64_t number;  /* that was reserved */
	journal_reason_t reason;

	journal_op_t *next; /* in the queue, then in the batch */
	bool is_done;       /* else it is woken to lead */
	sem_t wake;
};

struct journal {
	journal_params_t params;
	/* Guards `queue` to `busy`. Nothing else is taken under it. */
	sys_mutex_t lock;
	journal_op_t *queue, **queue_end;
	bool is_led;          /* a thread writes, or has been woken to */
	journal_deep_t *deep; /* owned */
	journal_busy_t *busy;
	/* Readers and the writer hold it to read; it is held to write while the environment is opened or closed. */
	sys_rwlock_t env_lock;
	sys_lmdb_t lmdb;
	bool is_broken;  /* LMDB refuses to go on: open it again. Only the leader looks */
	bool is_settled; /* sys_lmdb_settle() has been called. Only the leader looks */
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

/* ---- steps.c: steps of a transaction that writes, returning codes of LMDB ---- */

/** The meta of a zone that may have none. */
KNOT_MUST_USE int journal_begin_zone(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *ret_meta);
KNOT_MUST_USE int journal_save_meta(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_meta_t *meta);

/** Store the pieces [first..end) of an entry of the number it has. */
KNOT_MUST_USE int journal_put_pieces(const journal_t *journal, MDB_txn *txn, knot_name_t zone,
		const journal_entry_t *entry, uint32_t first, uint32_t end);

/** Store the head of an entry of the number it has. *ret_cost: bytes, those of its pieces included. */
KNOT_MUST_USE int journal_put_head(const journal_t *journal, MDB_txn *txn, knot_name_t zone,
		const journal_entry_t *entry, uint64_t *ret_cost);

/** Delete what stands from a key of the zone on, up to the first of another kind or with a number of at least `end`. */
KNOT_MUST_USE int journal_delete_range(const journal_t *journal, MDB_txn *txn, knot_name_t zone,
		journal_key_kind_t kind, uint64_t number, uint64_t end);

/** Delete changes with numbers of [number..end) and their pieces. */
KNOT_MUST_USE int journal_delete_changes(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, uint64_t number, uint64_t end);
KNOT_MUST_USE int journal_delete_whole(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_meta_t *meta);

/** True if the map has room for `cost` bytes. */
bool journal_has_room(const journal_t *journal, uint64_t cost);

/* ---- loose.c: pieces whose entry is stored in a later transaction, so that others come in between ---- */

/** Pieces that one transaction stores or removes; an entry of more is stored in several. */
uint32_t journal_pieces_at_once(const journal_t *journal);

/** Note what is on its way, or that it has ended. */
void journal_busy_begin(journal_t *journal, journal_busy_t *busy) SYS_EXCLUDES(&journal->lock);
void journal_busy_end(journal_t *journal, journal_busy_t *busy) SYS_EXCLUDES(&journal->lock);

/** True if one of what is on its way in the zone is so. */
bool journal_is_busy(journal_t *journal, uint64_t zone, bool (*is_so)(const journal_busy_t *busy, const void *ctx),
		const void *ctx) SYS_EXCLUDES(&journal->lock);

/** Reserve a number for an entry: *ret_number. */
KNOT_MUST_USE knot_err_t journal_reserve(
		journal_t *journal, knot_name_t zone, uint64_t *ret_number, journal_reason_t *ret_reason);

/**
 * Store an entry's pieces, in transactions of journal_pieces_at_once(). merge: what the entry is made of; KNOT_EAGAIN:
 * that isn't there any more. NULL: the entry's number is reserved; KNOT_EFILE: the zone was dropped since. stopping:
 * may be NULL.
 */
KNOT_MUST_USE knot_err_t journal_put_loose(journal_t *journal, knot_name_t zone, const journal_entry_t *entry,
		const journal_merge_t *merge, const bool *stopping, journal_reason_t *ret_reason);

/** MDB_NOTFOUND: some of the entry's pieces aren't there. Returns codes of LMDB. */
KNOT_MUST_USE int journal_count_pieces(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry);

/** Refuse an operation whose pieces, or number, were dropped with the zone. Returns 0. */
int journal_refuse_gone(journal_op_t *op);

/** Remove pieces that are no entry's, in transactions of their own. */
KNOT_MUST_USE knot_err_t journal_clean(
		journal_t *journal, knot_name_t zone, const bool *stopping, journal_reason_t *ret_reason);

/* ---- background.c ---- */

/** Note that there is something to do for journal_merge(); may_merge: as the limits of a change said. */
void journal_note_deep(journal_t *journal, knot_name_t zone, bool may_merge) SYS_EXCLUDES(&journal->lock);

/** MDB_NOTFOUND: some of what was merged isn't there any more. Returns codes of LMDB. */
KNOT_MUST_USE int journal_find_merged(
		const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_merge_t *merge);

/** Hash of a zone's name, whatever its letters' case. */
uint64_t journal_hash_zone(knot_name_t zone);

/* ---- merge.c ---- */

/** Bytes of changes that a thread that stores one merges itself. */
enum { JOURNAL_MERGE_AT_ONCE = 64 << 10 };

/** Entries of a chain to merge: [first..end). */
typedef struct {
	size_t first, end;
	size_t freed;  /* how many changes fewer there are then */
	uint64_t cost; /* bytes that are merged */
} journal_range_t;

/** Read the chain, without payloads; damaged entries are taken. KNOT_ENOENT: it is empty. journal_chain_done(). */
KNOT_MUST_USE knot_err_t journal_chain_read(
		journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_chain_t *ret_chain);
void journal_chain_done(journal_chain_t *chain);

/** How many entries of the chain are known to be damaged. */
size_t journal_count_damaged(const journal_chain_t *chain);

/** Bytes of the chain, and of its largest entry. */
uint64_t journal_chain_bytes(const journal_chain_t *chain, uint64_t *ret_largest);

/**
 * Add the version of the zone file, if that is known, to `count` borders: a start may go on from there. It is the last
 * that was written to the file or came from it.
 */
size_t journal_add_border(journal_chain_t *chain, const journal_limits_t *limits, uint32_t *borders, size_t count);

/**
 * What of a chain is to be merged so that `needed` changes become free. freed is smaller if there aren't so many; 0:
 * nothing can be merged.
 */
journal_range_t journal_choose(const journal_chain_t *chain, const uint32_t *borders, size_t border_count,
		size_t needed, const journal_limits_t *limits);

/** True if some of the chain is being merged by another thread. */
bool journal_is_merging(const journal_chain_t *chain);

/** As above across borders: those of the caller give way first, then that of the zone file. */
journal_range_t journal_choose_across(const journal_chain_t *chain, size_t needed, const journal_limits_t *limits);

/** Load the payloads of a range. KNOT_EMALF: one is damaged; it is taken then. */
KNOT_MUST_USE knot_err_t journal_chain_load(const journal_t *journal, MDB_txn *txn, knot_name_t zone,
		journal_chain_t *chain, const journal_range_t *range);

/** Merge a range whose payloads have been loaded. free() the entry's payload. */
KNOT_MUST_USE knot_err_t journal_chain_merge(
		const journal_chain_t *chain, const journal_range_t *range, journal_merge_t *ret_merge);

/**
 * Compute the merge that makes room for the operation's entry within its limits. KNOT_EBUSY: it would take too long,
 * and the depth may be exceeded; never if op->exceeds_depth is set. KNOT_EMALF: what is to be merged is damaged,
 * KNOT_ESPACE: it wouldn't be enough, KNOT_EAGAIN: the changes were replaced meanwhile, KNOT_ENOMEM, …; ret_reason
 * says more. free() the entry's payload.
 */
KNOT_MUST_USE knot_err_t journal_plan_merge(
		journal_t *journal, const journal_op_t *op, journal_merge_t *ret_merge, journal_reason_t *ret_reason);
