/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The timers of all zones in LMDB, in the layout of Knot's timer database: either server goes on where the other has
 * stopped.
 *
 * Owns the environment in one folder (`timer-db`), a record (timer_record.h) per zone under its name in wire form and
 * lower case. The folder is made with the first record. Nothing is kept in memory: who writes when is the caller's
 * (`timer-db-sync`). A damaged record is a fault of its zone only; a file whose pages can't be trusted is set aside
 * before LMDB maps it (doc/adr/0033-damage.md). Nothing is logged here. Any thread; one of them writes at a time.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/sys/lmdb_env.h"
#include "src/timers/timer_record.h"

typedef struct timer_db timer_db_t;

enum {
	TIMER_DB_READ_ONLY = 1, /* nothing is made or set aside */
	TIMER_DB_UNSYNCED = 2,  /* nothing is flushed to the disk: the caller does that */
};

/** A database in a folder, not opened yet. size_max: bytes, LMDB's map. how: TIMER_DB_…. NULL: out of memory. */
timer_db_t *timer_db_new(const char *path, uint64_t size_max, unsigned how);

/**
 * Open what is in the folder. KNOT_ENOENT: there is no database yet. A damaged file is set aside, which a reason with
 * KNOT_OK says, else the text is empty. Errors of sys_lmdb_lock() and sys_lmdb_open(), with a reason: nothing can be
 * read; timer_db_begin() tries again.
 */
KNOT_MUST_USE knot_err_t timer_db_open(timer_db_t *db, sys_lmdb_reason_t *ret_reason);

/** Close it, when no thread uses it any more. NULL is allowed. */
void timer_db_close(timer_db_t *take_db);

/**
 * The timers of a zone. zone: any case. KNOT_ENOENT: there are none. KNOT_EMALF: the record is damaged, KNOT_EFILE,
 * KNOT_ENOMEM …: go on without timers.
 */
KNOT_MUST_USE knot_err_t timer_db_read(timer_db_t *db, knot_name_t zone, timer_values_t *ret_values);

/** The whole record of a zone, with what only other versions know. Errors as above. */
KNOT_MUST_USE knot_err_t timer_db_read_record(timer_db_t *db, knot_name_t zone, timer_record_t *ret_record);

/** Changes of many zones, in one transaction. */
typedef struct timer_write timer_write_t;

/** Begin, making folder and database if needed; commit or discard in the same thread. Other writers wait until then.
 * Errors as timer_db_open(). */
KNOT_MUST_USE knot_err_t timer_db_begin(timer_db_t *db, timer_write_t **ret_write, sys_lmdb_reason_t *ret_reason);

/**
 * Set the values of a zone that `mask` names (as timer_record_set()); others, and what else its record has, stay. A
 * damaged record is replaced. A record that stays the same isn't written. KNOT_ESPACE, KNOT_EFILE …: discard.
 */
KNOT_MUST_USE knot_err_t timer_write_put(
		timer_write_t *write, knot_name_t zone, const timer_values_t *values, uint32_t mask);

/** Set the whole record of a zone; one that says nothing removes it. Errors as timer_write_put(). */
KNOT_MUST_USE knot_err_t timer_write_record(timer_write_t *write, knot_name_t zone, const timer_record_t *record);

/** Remove the record of a zone. ret_found: NULL, or whether there was one. Errors as timer_write_put(). */
KNOT_MUST_USE knot_err_t timer_write_drop(timer_write_t *write, knot_name_t zone, bool *ret_found);

/** Make the changes durable; on an error none is made. */
KNOT_MUST_USE knot_err_t timer_write_commit(timer_write_t *take_write, sys_lmdb_reason_t *ret_reason);

/** End without changes; the reason of the failure that led to it. NULL is allowed. */
void timer_write_discard(timer_write_t *take_write, sys_lmdb_reason_t *ret_reason);

/**
 * Remove the records of all zones that `is_dropped` says true of, within one transaction; it is called for each zone
 * that has a record, and must not use the database. ret_count: how many.
 */
KNOT_MUST_USE knot_err_t timer_db_drop_if(timer_db_t *db, bool (*is_dropped)(knot_name_t zone, void *ctx), void *ctx,
		size_t *ret_count, sys_lmdb_reason_t *ret_reason);
