/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Reading the journal that Knot DNS left, to print it and to take it over.
 *
 * Owns one open file, `data.mdb` in Knot's folder of the journal. It is never written to, and LMDB never opens it: its
 * pages are read with sys/lmdb_reader.h, which believes nothing in them. So damage anywhere is KNOT_EMALF, and a switch
 * back to Knot DNS finds the file as it was. Layout: knot.c. One thread at a time.
 *
 * Versions 1 to 3 are read. What is stored of a zone is at most one whole zone or one merged change, and a chain of
 * changes.
 */
#pragma once

#include "src/journal/journal.h"

typedef struct journal_knot journal_knot_t;

/**
 * Open a database file. KNOT_ENOENT: there is none. KNOT_EEXIST: it is the database of something else.
 * KNOT_ENOTSUP: of a version that isn't known. KNOT_EMALF: damaged. KNOT_EACCES, KNOT_EFILE, KNOT_ENOMEM; ret_reason
 * says more.
 */
KNOT_MUST_USE knot_err_t journal_knot_open(const char *path, journal_knot_t **ret_knot, journal_reason_t *ret_reason);

/** The same of a file that may lack its version: Knot's backups have the records of zones only. */
KNOT_MUST_USE knot_err_t journal_knot_open_copy(
		const char *path, journal_knot_t **ret_knot, journal_reason_t *ret_reason);

void journal_knot_close(journal_knot_t *take_knot);

/** Visit zones that have a journal, in the order of their wire forms, until `visit` returns false. KNOT_EMALF: damaged;
 * those before the damage were visited. */
KNOT_MUST_USE knot_err_t journal_knot_each_zone(
		journal_knot_t *knot, bool (*visit)(knot_name_t zone, void *ctx), void *ctx);

/** What the journal says of a zone; it may be wrong. */
typedef struct {
	bool has_changes; /* serial_first and serial_last are valid */
	bool has_merged;  /* serial_merged: where the merged change begins */
	bool has_flushed; /* serial_flushed: in the zone file */
	uint32_t serial_first, serial_last, serial_merged, serial_flushed;
	uint64_t changes;  /* how many, the merged one included */
	uint64_t occupied; /* bytes, about */
} journal_knot_info_t;

/** KNOT_ENOENT: there is nothing of the zone. KNOT_EMALF: damaged. */
KNOT_MUST_USE knot_err_t journal_knot_info(journal_knot_t *knot, knot_name_t zone, journal_knot_info_t *ret_info);

/**
 * Visit what is stored of a zone: the whole zone (JOURNAL_WHOLE) or the merged change (JOURNAL_MERGED) if there is one,
 * then the changes (JOURNAL_STEP) from the first one on as their serials continue. Entries have numbers from 1 on, and
 * neither source nor numbers of records. KNOT_ENOENT: nothing. KNOT_EMALF: damaged, KNOT_ECHAINLOOP: a change leads
 * back to a version that was visited; what is before the fault was visited.
 */
KNOT_MUST_USE knot_err_t journal_knot_each(journal_knot_t *knot, knot_name_t zone, journal_visit_t visit, void *ctx);

/** The same from a serial on: a change that begins there, be it the merged one, and what continues it; none if it is
 * the last version. */
KNOT_MUST_USE knot_err_t journal_knot_each_from(
		journal_knot_t *knot, knot_name_t zone, uint32_t serial, journal_visit_t visit, void *ctx);

/** Bytes of the database that are in use. */
uint64_t journal_knot_usage(const journal_knot_t *knot);
