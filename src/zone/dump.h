/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A version as a zone file (RFC 1035 5): one record per line, `owner TTL type RDATA`, all names absolute, the SOA
 * first, then the data with owners in canonical order, then signatures and the chain of NSEC or NSEC3 records, each
 * under a heading. No directives, so that any line can be moved, and any program reads it.
 *
 * Only writes to a descriptor: naming, replacing and flushing files is the caller's job. Readers: as contents.h says.
 */
#pragma once

#include "src/zone/contents.h"
#include "src/zone/skip.h"

typedef struct {
	const char *program;     /* for the comment at the head, e.g. PACKAGE_STRING */
	uint64_t now_s;          /* for the comment at the end: seconds since 1970 */
	const zone_skip_t *skip; /* types that are left out; NULL: none */
} zone_dump_params_t;

/**
 * Write the records that differ between two versions (diff.h): those of `after` that are new, or those of `before` that
 * are gone. head: a comment before them. Errors as below.
 */
KNOT_MUST_USE knot_err_t zone_dump_diff(
		const zone_contents_t *before, const zone_contents_t *after, bool is_added, const char *head, int fd);

/** Write the whole zone to `fd`. A negated errno of write(2): part of it may be written. KNOT_ENOMEM. Cost: some 0.3 µs
 * a record. */
KNOT_MUST_USE knot_err_t zone_dump(const zone_contents_t *zone, int fd, const zone_dump_params_t *params);
