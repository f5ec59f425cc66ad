/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Lines for messages of checks: which line of the zone file has the first record of the name that a message is about.
 *
 * A compiled version has no lines. So messages wait until the checks are done, the file is scanned once more for the
 * names they are about, and then they go on. That costs a scan, about half of a load, so it is done only for zones
 * that failed or if the caller asks for it. The scan ends as soon as all names were found. At most ZONE_LOCATE_MAX
 * messages wait, more go on without a line. One thread, no file is kept open.
 */
#pragma once

#include "libknot/text/zonefile.h"
#include "src/zone/check.h"

enum { ZONE_LOCATE_MAX = 64 }; /* messages: a log gets 20 of a zone, a person reads no more at once */

/** One message that waits. */
typedef struct {
	zone_message_level_t level;
	char *text, *owner;          /* owned; owner NULL: not about a name */
	uint8_t wire[KNOT_NAME_MAX]; /* of the owner, lower case */
	knot_name_t name;
	uint64_t line; /* 0: not found yet */
	char *file;    /* owned */
} zone_located_t;

/** Begins zeroed but for `on_message` and `ctx`; ends with zone_locate_tell(). */
typedef struct {
	zone_message_cb on_message; /* where messages go on to; may be NULL */
	void *ctx;
	zone_located_t *messages; /* owned */
	size_t count, missing;    /* missing: names without a line */
	bool has_errors;
	uint64_t owner_id;                  /* of the last record */
	const knot_zonefile_params_t *scan; /* borrowed, while the file is scanned */
} zone_locate_t;

/** A zone_message_cb with a zone_locate_t: have a message wait. */
void zone_locate_add(const zone_message_t *message, void *locate);

/**
 * Let the messages go on, with lines if `text` (NULL: the file at `path`) is scanned. scan: what the zone was built
 * with, of which origin, default_ttl and should_stop with its ctx are used; NULL: go on without lines.
 */
void zone_locate_tell(
		zone_locate_t *locate, const char *path, const knot_str_t *text, const knot_zonefile_params_t *scan);
