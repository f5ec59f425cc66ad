/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The journal: changes of zones on disk, each there when the call that stores it returns.
 *
 * Owns an LMDB environment for all zones in the folder `database.journal-db`. Of a zone it knows its name, serials and
 * bytes (changeset.h); what they mean is the caller's. Layout, limits, and what happens in a crash:
 * doc/formats/journal.md and doc/adr/0032-journal.md. The folder is made with the first write; one that is missing is
 * an empty journal.
 *
 * Any thread may read and write. The changes of one zone are stored by one thread at a time. Writes of many threads
 * share a transaction and its two flushes: the first of them writes for all that wait, and those that arrive meanwhile
 * are written together next. Nothing is logged here: faults come back as an error and a text.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/sys/lmdb_env.h"

typedef struct journal journal_t;

/** Why something failed, for a log line: what, and what to do. */
typedef sys_lmdb_reason_t journal_reason_t;

typedef struct {
	const char *path;     /* folder; its parent must exist. Copied */
	uint64_t size_max;    /* bytes of the database: `journal-db-max-size` */
	bool is_asynchronous; /* `journal-db-mode: asynchronous`: nothing is flushed; the last changes, or all, are lost
				 if the machine stops, but not if the process does */
	bool read_only;       /* for tools, also while a server writes */
	/* What happened to the database when a write found it damaged, removed or replaced and opened it again, so that
	 * older changes aren't in it. Called by the thread that writes, without locks; NULL: nothing is said */
	void (*on_notice)(const char *path, const char *text);
	size_t transaction_max; /* bytes of a payload, about, that one transaction stores, as others wait for it; 0: as
				   ADR 38 says */
} journal_params_t;

/**
 * Open the journal. A database that is damaged or of another format is set aside (renamed), one that Knot DNS left is
 * renamed to data.mdb.knot; a new one is made by the first write, and ret_reason says what happened. If it can't be
 * opened, ret_reason says why, reading fails with KNOT_EFILE if there are data, and each write tries again. The text is
 * empty if all is well. KNOT_ENOMEM. read_only: any failure is returned: KNOT_ENOENT: there is none, KNOT_EMALF,
 * KNOT_ENOTSUP: damaged, of another format, KNOT_EEXIST: the database of something else, …
 */
KNOT_MUST_USE knot_err_t journal_open(
		const journal_params_t *params, journal_t **ret_journal, journal_reason_t *ret_reason);

/**
 * KNOT_OK: what is stored can be read, or nothing is; ret_reason is what was said when it was opened. Otherwise there
 * are data in a database that can't be opened, and ret_reason says why. If it was closed, as *ret_was_closed says, and
 * the last attempt to open it is a second old, this has tried it again. Not of a read-only one.
 */
KNOT_MUST_USE knot_err_t journal_reopen(journal_t *journal, bool *ret_was_closed, journal_reason_t *ret_reason);

/** Close it, after the last call has returned. NULL is allowed. */
void journal_close(journal_t *take_journal);

/* ---- Writing ---- */

enum {
	JOURNAL_WHO_MAX = 32,
	JOURNAL_NOTES_MAX = 100,
	JOURNAL_BORDERS_MAX = 2,
	JOURNAL_DEPTH_MORE = 64, /* changes above depth_max, while journal_merge() has not come to it */
};

/** A change of a zone. */
typedef struct {
	uint32_t serial_from, serial_to;
	uint64_t time_s;           /* wall clock, seconds since 1970 */
	uint8_t source;            /* the caller's */
	char who[JOURNAL_WHO_MAX]; /* who changed it, NUL-terminated; empty: not known */
	uint32_t removed, added;   /* records, SOAs included */
	uint64_t zone_size;        /* bytes of the zone's records after it */
	knot_bytes_t payload;      /* of changeset.h; borrowed for the call. Empty: a note */
} journal_change_t;

typedef struct {
	uint64_t usage_max;   /* bytes of a zone's journal: `journal-max-usage` */
	uint64_t depth_max;   /* changes: `journal-max-depth`, at least 2; see journal_merge() */
	bool may_merge;       /* `zonefile-sync: -1`: changes that aren't in the zone file can't be dropped, so they are
				 merged */
	bool drops_whole;     /* a start begins with the zone file, so a whole zone that a change doesn't lead on from
				 is dropped as changes are */
	bool has_file_source; /* a start may begin with the zone file: changes go on leading on from what came from it,
				 as below, which is what has the source file_source */
	uint8_t file_source;
	/* Which versions are stored elsewhere, and changes shall go on leading on from, as long as the depth allows it:
	 * a merge has changes of one side of them only. Fills serials, returns how many. NULL: there are none. Called
	 * when changes are to be merged. */
	size_t (*borders)(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx);
	void *borders_ctx;
} journal_limits_t;

/**
 * Store a change; it is on disk when KNOT_OK is returned. Changes that are in the zone file are dropped if the limits
 * ask for it, oldest first.
 *
 * The change begins where the last one ended. If it doesn't, the stored ones are dropped, as they lead nowhere; but
 * KNOT_ESEMCHECK, and nothing changes, if there is a whole zone that limits->drops_whole doesn't allow to drop, or if
 * the new serial isn't newer than its predecessor. It may also begin where a damaged change cuts off those that are
 * stored: the damaged one and those behind it are dropped.
 * Changes from a version with the new serial, and those before, are dropped, as two ways would lead from it.
 *
 * A change without payload is a note: a version was published of which no change is stored. It is for the history only,
 * and breaks no chain. The last JOURNAL_NOTES_MAX are kept.
 *
 * On failure nothing is changed; but if the disk reported an error and the process is killed or power fails before the
 * disk works again, the change may be there at the next start. KNOT_ESPACE: the change is larger than the limit, or the
 * database or the disk is full. KNOT_EAGAIN: the limits are reached, and nothing may be dropped before the zone is
 * flushed: write the zone file, journal_mark_flushed(), and call again. KNOT_ENOMEM, KNOT_EACCES, KNOT_EFILE …;
 * ret_reason (NULL is allowed) says more. Once the cause has gone, the next call works.
 */
KNOT_MUST_USE knot_err_t journal_append(journal_t *journal, knot_name_t zone, const journal_change_t *change,
		const journal_limits_t *limits, journal_reason_t *ret_reason);

/**
 * Store a whole zone (payload of CHANGESET_WHOLE), its serial being serial_to. It replaces the changes. Errors as
 * above, but for KNOT_EAGAIN and KNOT_ESEMCHECK.
 */
KNOT_MUST_USE knot_err_t journal_put_zone(journal_t *journal, knot_name_t zone, const journal_change_t *whole,
		const journal_limits_t *limits, journal_reason_t *ret_reason);

/**
 * True if changes of a zone wait for journal_merge(), and it isn't at work on them: a change that was stored exceeds
 * the depth, as merging in its place would have taken too long. False for a minute after it failed. Cheap; any thread,
 * under any lock.
 */
bool journal_wants_merge(journal_t *journal, knot_name_t zone);

/**
 * Merge changes of a zone until the limits hold again, and remove what crashes have left. Beside the thread that stores
 * changes of the zone, which goes on meanwhile; for seconds if there is much to merge. Does nothing if it isn't wanted,
 * or another thread does it. stopping: read atomically; true ends it soon. Memory meanwhile: about five times the bytes
 * that are merged.
 *
 * On failure the changes stay as they are. KNOT_EMALF: one of them is damaged. KNOT_ESPACE, KNOT_ENOMEM …; ret_reason
 * (NULL is allowed) says more.
 */
KNOT_MUST_USE knot_err_t journal_merge(journal_t *journal, knot_name_t zone, const journal_limits_t *limits,
		const bool *stopping, journal_reason_t *ret_reason);

/** Note that the zone file has the version `serial`: changes up to it may be dropped. A serial that no change leads to
 * is ignored. */
KNOT_MUST_USE knot_err_t journal_mark_flushed(
		journal_t *journal, knot_name_t zone, uint32_t serial, journal_reason_t *ret_reason);

/** Remove all of a zone. KNOT_ENOENT: there is nothing. */
KNOT_MUST_USE knot_err_t journal_drop(journal_t *journal, knot_name_t zone, journal_reason_t *ret_reason);

/* ---- Reading ---- */

typedef enum {
	JOURNAL_STEP,   /* a change as it was stored */
	JOURNAL_MERGED, /* a change that was made of several */
	JOURNAL_WHOLE,  /* a whole zone; serial_to is its serial, and serial_from the same */
	JOURNAL_NOTE,   /* a change without payload */
} journal_kind_t;

/** What is stored, borrowed during a visit. */
typedef struct {
	journal_kind_t kind;
	uint64_t number; /* ascends with time within a zone */
	uint16_t series; /* the journal's own: which pieces of that number are the payload */
	journal_change_t change;
} journal_entry_t;

/**
 * Looks at an entry; false ends the visits. A read transaction is open meanwhile: be quick, as the pages of what is
 * dropped can't be used again before, and don't write to the journal.
 */
typedef bool (*journal_visit_t)(const journal_entry_t *entry, void *ctx);

/**
 * Visit the changes that lead on from the version `serial_from`, in order. KNOT_ENOENT: none begins there. KNOT_EMALF:
 * what follows is damaged or doesn't continue; what was visited is right. Cost: what is visited, wherever it begins.
 */
KNOT_MUST_USE knot_err_t journal_each_from(
		journal_t *journal, knot_name_t zone, uint32_t serial_from, journal_visit_t visit, void *ctx);

/** Visit the whole zone. KNOT_ENOENT: there is none. KNOT_EMALF: damaged. */
KNOT_MUST_USE knot_err_t journal_read_zone(journal_t *journal, knot_name_t zone, journal_visit_t visit, void *ctx);

/**
 * Visit all entries, the whole zone first, then changes and notes in order. KNOT_ENOENT: nothing. KNOT_EMALF: at least
 * one is damaged; the others were visited.
 */
KNOT_MUST_USE knot_err_t journal_each(journal_t *journal, knot_name_t zone, journal_visit_t visit, void *ctx);

typedef struct {
	bool has_whole, has_changes, has_flushed;
	uint32_t serial_whole;   /* has_whole; 0 if it is damaged */
	uint32_t serial_first;   /* has_changes: where the first one begins */
	uint32_t serial_last;    /* has_whole or has_changes: of the last version */
	uint32_t serial_flushed; /* has_flushed: the newest version that is known to be in the zone file */
	uint32_t changes, notes; /* how many */
	uint64_t bytes;          /* about */
} journal_info_t;

/** KNOT_ENOENT: there is nothing of the zone. */
KNOT_MUST_USE knot_err_t journal_info(journal_t *journal, knot_name_t zone, journal_info_t *ret_info);

/**
 * Call `visit` with each zone that has a journal, in the order of their wire forms, until it returns false. The name is
 * valid during the call, in which no transaction is open. Changes made meanwhile may be seen or not.
 */
KNOT_MUST_USE knot_err_t journal_each_zone(journal_t *journal, bool (*visit)(knot_name_t zone, void *ctx), void *ctx);

/** Bytes: what is in use of the database, and its size at most. */
typedef struct {
	uint64_t used, max;
} journal_usage_t;

journal_usage_t journal_usage(journal_t *journal);
