/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the journal tells of a zone's past: which versions there were, and the way back to one of them.
 *
 * Any thread, outside of read sections. The journal is read into memory first, so that a slow reader of a history keeps
 * no transaction of it open. doc/adr/0037-guard-rails-and-history.md
 */
#pragma once

#include "src/event/faults.h"
#include "src/event/server.h"
#include "src/journal/journal.h"
#include "src/zone/txn.h"

enum { HISTORY_MAX = 10000 }; /* versions that are listed, the newest */

/** A version that was published. */
typedef struct {
	bool has_from; /* it was made from the one before; else it is a whole zone */
	uint32_t serial_from, serial_to;
	uint64_t time_s;           /* wall clock */
	const char *source;        /* what made it: a word of UPDATE_SOURCES */
	char who[JOURNAL_WHO_MAX]; /* "": not known */
	uint32_t removed, added;   /* records, SOAs included */
	uint64_t zone_size;        /* bytes of wire form */
} history_version_t;

/**
 * The versions of a zone, oldest first: *ret_count of *ret_versions (free()), of which the newest HISTORY_MAX are
 * there. No history: none, and KNOT_OK. KNOT_EMALF: some are damaged; the others are there. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t server_read_history(
		const server_t *server, knot_name_t name, history_version_t **ret_versions, size_t *ret_count);

/** Where to go back to. */
typedef struct {
	bool has_serial; /* else: the version before the present one */
	uint32_t serial;
} history_target_t;

/**
 * Undo changes in a transaction that was begun on the version with the serial `current`, until it has the records of
 * the target, with the serial `current`. KNOT_ERANGE: the history doesn't lead there; reason (FAULT_REASON_MAX bytes)
 * names the oldest version that it leads to. KNOT_EMALF: what is stored doesn't fit. KNOT_ENOMEM. On failure discard
 * the transaction.
 */
KNOT_MUST_USE knot_err_t history_go_back(journal_t *journal, knot_name_t name, uint32_t current,
		const history_target_t *target, zone_txn_t *txn, char *reason);
