/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Writing a version to a zone file so that there is the old file or the new one, whenever the machine stops. Within
 * src/event only.
 *
 * A file beside it is written, flushed to the disk and renamed over it, and the folder is flushed. Nothing is logged.
 */
#pragma once

#include "src/event/source.h"
#include "src/zone/contents.h"

/**
 * Replace the file at `path`, which need not be there, nor its folder (made with a mode of 0770 less umask). It keeps
 * owner, group and mode, as far as the process may set them; a new one is 0660 less umask. A symbolic link stays and
 * what it leads to is replaced. ret_sources: NULL, or the file as a source of these contents with settings_number()
 * `settings`, to be freed with sources_free(). KNOT_EFILE: it is no regular file. Negated errno, KNOT_ENOMEM: it is as
 * before.
 */
KNOT_MUST_USE knot_err_t flush_to_file(
		const zone_contents_t *contents, const char *path, uint64_t settings, sources_t **ret_sources);
