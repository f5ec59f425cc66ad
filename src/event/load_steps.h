/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the files that load a zone share: a load on its way, and the steps of which its ways are made. Internal to
 * load_*.c.
 *
 * load_zone.c decides by load_plan() which way is taken, load_base.c has a function for each base, load_steps.c has
 * what these do: log, read the file, apply the journal, publish. What is logged about files and journal comes in Knot's
 * order, at the end or before the first fault.
 */
#pragma once

#include "src/event/derive_zone.h"
#include "src/event/load.h"
#include "src/event/load_plan.h"
#include "src/event/publish.h"

enum { LOADING_LINES_MAX = 4, LOADING_LINE_MAX = 96 };

/** A load on its way. */
typedef struct {
	const load_env_t *env;
	zone_t *zone;
	load_source_t *source; /* of what is served */
	load_settings_t settings;
	load_plan_t plan;
	journal_info_t journal; /* all zero: nothing is there */
	knot_err_t journal_err; /* what it has can't be read */
	zone_contents_t *image; /* owned; NULL: none */
	load_source_t image_source;
	load_report_t report;
	char lines[LOADING_LINES_MAX][LOADING_LINE_MAX]; /* what has been done and isn't logged yet */
	unsigned line_count;
	bool has_between; /* the zone got a serial and lost it again, as nothing else differs */
	uint32_t between;
	bool keeps_records;   /* of a zone that is made of others: its file is as ever, so what was committed stays */
	uint32_t file_serial; /* of the file that was read, before changes were applied to it */
	bool is_known;        /* what is published was served before */
	bool is_unsigned;     /* the versions that are published aren't signed: they are, or will be by an event */
	load_outcome_t outcome;
	/* What is still to be logged of the version that was published. */
	bool has_end, warns_of_serial, is_same; /* same: as what was served before, but for its serial */
	update_effects_t end;
	uint64_t end_size; /* bytes of its wire form */
} loading_t;

/** What is served and what new contents follow on; NULL: nothing, or only what was to be had without the journal. */
static inline const zone_contents_t *load_served(const loading_t *loading)
{
	return *loading->env->is_behind ? NULL : zone_contents(loading->zone);
}

/* ---- load_steps.c ---- */

/** Keep a line for the log. */
__attribute__((format(printf, 2, 3))) void load_note(loading_t *loading, const char *format, ...);

/** Log the lines that were kept. */
void load_write_notes(loading_t *loading);

/** Keep for the log that the zone is loaded; size: bytes of its wire form. */
void load_note_end(loading_t *loading, const update_effects_t *effects, uint64_t size);

/** Keep for the log that signing gave the version of a file another serial. */
void load_note_signed(loading_t *loading, uint32_t file_serial, uint32_t serial);

/** Log the lines that were kept, and that the zone is loaded, if it is. */
void load_log_end(loading_t *loading);

/** Log that the file can't be loaded. */
void load_log_failure(const loading_t *loading, knot_err_t err);

/** Where a version goes. */
publish_t load_begin_publish(loading_t *loading, load_source_t *take_next);

/** Serve a version in place of what is served, signed if the zone is. is_of_file: it has what a file says, so that its
 * signatures are looked at, too. */
KNOT_MUST_USE knot_err_t load_publish(loading_t *loading, update_source_t from, bool is_of_file,
		zone_contents_t *take_contents, load_source_t *take_source);

/** Serve a version in place of what is served. */
KNOT_MUST_USE knot_err_t load_publish_whole(
		loading_t *loading, update_source_t from, zone_contents_t *take_contents, load_source_t *take_source);

/** Give what is served its ZONEMD record, if it lacks that: another version, with the next serial. A failure is logged.
 */
void load_refresh_zonemd(loading_t *loading);

/** Note in the journal that the zone file has the version `serial`, if that isn't known. */
void load_note_flushed(const loading_t *loading, uint32_t serial);

/** Apply what the journal has after the serial of *contents, and note that they are ahead of the file then. */
KNOT_MUST_USE knot_err_t load_apply(loading_t *loading, zone_contents_t **contents, load_source_t *source);

/** Read the file and apply the changes after it. If they don't fit, the zone that is served stays, or, if there is
 * none, the file alone is served. */
KNOT_MUST_USE knot_err_t load_read_and_apply(
		loading_t *loading, zone_contents_t **ret_contents, load_source_t *ret_source);

/* ---- load_base.c: one for each base ---- */

KNOT_MUST_USE knot_err_t load_from_file(loading_t *loading);
KNOT_MUST_USE knot_err_t load_into_served(loading_t *loading);
KNOT_MUST_USE knot_err_t load_from_journal(loading_t *loading);
KNOT_MUST_USE knot_err_t load_from_image(loading_t *loading);
