/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Writing a version to a zone file so that either the old file or the new one exists, whenever the machine stops.
 * Internal to src/event.
 *
 * It writes a file beside the old one, flushes it to the disk, renames it over the old one and flushes the folder. It
 * logs nothing and has no state; one caller per file at a time.
 */
#pragma once

#include "src/event/source.h"
#include "src/zone/contents.h"
#include "src/zone/skip.h"

enum {
	FLUSH_KEEPS_NEWER = 1, /* a file that another program changes while this one writes is kept: KNOT_EAGAIN */
	FLUSH_SYNCS_LATER = 2, /* nothing is flushed to the disk: the caller does that for many files */
};

/**
 * Replace or make the file at `path`, and its folder if that is missing (with a mode of 0770 less umask). It keeps
 * owner, group and mode, as far as the process may set them; a new one is 0660 less umask. A symbolic link stays and
 * what it leads to is replaced. skip: types that are left out; NULL: none. how: FLUSH_…. ret_sources: NULL, or the file
 * as a source of these contents with settings_number() `settings`, to be freed with sources_free(). KNOT_EFILE: it
 * isn't a regular file. Negated errno, KNOT_ENOMEM: the old file is unchanged.
 */
KNOT_MUST_USE knot_err_t flush_to_file(const zone_contents_t *contents, const zone_skip_t *skip, const char *path,
		uint64_t settings, unsigned how, sources_t **ret_sources);

/** The same with the bytes of another file, which must be a regular one. KNOT_ENOENT: there is no such file. */
KNOT_MUST_USE knot_err_t flush_copy_file(const char *from, const char *path, unsigned how);
