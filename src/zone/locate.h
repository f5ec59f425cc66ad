/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Lines for messages of checks: which line of the zone file has the first record of the name and type that a message is
 * about.
 *
 * A compiled version has no lines. So messages wait until the checks are done, the file is scanned once more for what
 * they are about, and then they go on, in the order in which they came. That costs a scan, about half of a load, so it
 * is done only for zones that failed or if the caller asks for it. The scan ends as soon as all were found. At most
 * ZONE_LOCATE_MAX messages wait; if there are more, these go on, and all further ones without a line. One thread, no
 * file is kept open.
 */
#pragma once

#include "libknot/text/zonefile.h"
#include "src/zone/check.h"

enum { ZONE_LOCATE_MAX = 1000 }; /* messages: a log gets 20 of a zone, a person reads no more at once */

/** How well a record fits to a message: each fits better than the ones before. */
typedef enum { ZONE_LOCATED_OWNER, ZONE_LOCATED_TYPE, ZONE_LOCATED_RECORD, ZONE_LOCATED_KINDS } zone_located_kind_t;

/** Zero: not found yet. */
typedef struct {
	uint64_t line;
	char *file; /* owned */
} zone_located_line_t;

/** One message that waits. */
typedef struct {
	zone_message_t message; /* its strings are owned */
	zone_found_t found;     /* what `message` has; its parts are owned */
	uint8_t owner[KNOT_NAME_MAX];
	zone_located_line_t lines[ZONE_LOCATED_KINDS];
} zone_located_t;

/** Begins zeroed but for the first ones; ends with zone_locate_tell(). */
typedef struct {
	zone_message_cb on_message; /* where messages go on to; may be NULL */
	void *ctx;
	const char *path;                   /* of the zone file */
	const knot_str_t *text;             /* scanned instead of it; NULL: the file is */
	const knot_zonefile_params_t *scan; /* what the zone was built with, of which origin, default_ttl and
					       should_stop with its ctx are used; NULL: it can't be scanned again */
	bool is_always;                     /* else only if there is an error */
	zone_located_t *messages;           /* owned */
	zone_located_t **by_name;           /* owned: ascending; those of names, while the file is scanned */
	size_t count, name_count, missing;  /* missing: without a line of their own */
	bool has_errors, is_done;
	uint64_t owner_id; /* of the last record */
	size_t first, end; /* of it, in by_name[] */
} zone_locate_t;

/** A zone_message_cb with a zone_locate_t: have a message wait. */
void zone_locate_add(const zone_message_t *message, void *locate);

/** Let the messages go on, with lines if there are errors among them or is_always says so. */
void zone_locate_tell(zone_locate_t *locate);
