/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where a zone's contents came from: the state of the files when they were read, and the settings. Decides whether
 * reading again would give the same contents. No locks: callers have the zone's job.
 *
 * A file is taken to be the same while path, size, time of its last change (to the nanosecond) and inode are. The
 * kernel's time of change moves in ticks of some milliseconds, so a file that is written twice within a tick looks the
 * same after both. So a reader of a file that changed just now waits until the tick is over (sources_add()): any later
 * change is then seen. The contents of a FIFO are never the same. A file that isn't there is a source, too: size,
 * inode and times 0.
 *
 * Contents may be ahead of their files: changed by transactions, and not written to the zone file yet. Then only a
 * change of the files makes them out of date, not other settings, since reading the files would lose the changes.
 */
#pragma once

#include <sys/stat.h>

#include "src/conf/conf.h"
#include "src/store/store.h"

/** The files that one version was read from, the zone file first. */
typedef struct {
	store_source_t *data; /* owned, with their paths */
	uint32_t count, max;
	bool unsettled;    /* the time of change can't be relied on: never equal to another */
	knot_err_t failed; /* a file could not be noted */
	uint64_t settings; /* settings_number() it was made with */

	bool is_ahead;   /* the contents have changes that the files don't have */
	bool has_serial; /* the next is known */
	uint32_t serial; /* if ahead: that of the zone file */
} sources_t;

/**
 * Note a file that will be read. Sleeps for some milliseconds if it was changed just now.
 * info: as seen before reading. An error is kept in `failed`.
 */
void sources_add(sources_t *sources, const char *path, const struct stat *info);

/** The present state of the file at a path, which may be missing. Free it with sources_free(). NULL: out of memory, or
 * stat(2) failed for another reason. */
sources_t *sources_of_file(const char *path, uint64_t settings);

/** A copy, to be freed with sources_free(). NULL: out of memory. */
sources_t *sources_copy(const store_source_t *data, uint32_t count, uint64_t settings);

/** As above, with all members. */
sources_t *sources_copy_all(const sources_t *sources);

/** NULL is allowed. */
void sources_free(sources_t *take_sources);

/** The present state of a source. May block, so not in a read section. KNOT_EFILE: neither a regular file nor a FIFO.
 * Negated errno of stat(2). */
KNOT_MUST_USE knot_err_t source_stat(const char *path, struct stat *ret_info);

/** True if the file at the source's path is unchanged. One stat(2). */
bool source_is_same(const store_source_t *source);

/** Number of all settings that lead to other contents from the same files, and of the program that makes them. */
uint64_t settings_number(const conf_zone_t *zone);

/** The origin of an entry's contents. Small, as there may be a million. All zero: no contents, or of unknown origin. */
typedef struct {
	uint64_t print;   /* hash of settings, files and what they were */
	sources_t *files; /* owned; kept if there are included files, or the contents are ahead; else NULL */
} load_source_t;

/** The hash of a version's origin; 0 if unsettled. */
uint64_t sources_print(const sources_t *sources);

/** True if the file at `path` with this settings_number() would now give the contents of this origin. One stat(2)
 * per file. */
bool source_is_current(const load_source_t *source, const char *path, uint64_t settings);

/** True if the contents have changes that the files don't have. */
static inline bool source_is_ahead(const load_source_t *source)
{
	return source->files != NULL && source->files->is_ahead;
}

/**
 * Note that the contents got changes that the files don't have. path, settings: of the zone. serial: of the contents
 * before, NULL: there were none, so the present state of the file counts as known. KNOT_ENOMEM: nothing changed.
 */
KNOT_MUST_USE knot_err_t source_go_ahead(
		load_source_t *source, const char *path, uint64_t settings, const uint32_t *serial);

/**
 * A copy of the origin for contents that get changes which the files don't have: source_go_ahead() of the copy. Free it
 * with source_clear(). KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t source_of_changes(const load_source_t *source, const char *path, uint64_t settings,
		const uint32_t *serial, load_source_t *ret_source);

/** True if writing the zone file at `path` loses no changes: the contents were made from it, or are of unknown origin,
 * or it doesn't exist. */
bool source_may_be_replaced(const load_source_t *source, const char *path, uint64_t settings);

/** Forget the files if the zone file alone is enough to compare. */
void source_trim(load_source_t *source);

/** Forget everything. */
void source_clear(load_source_t *source);
