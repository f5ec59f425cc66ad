/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The journal that kjournalprint reads: ours, or one that Knot DNS wrote, behind the same few functions.
 */
#pragma once

#include "src/journal/knot.h"

typedef struct {
	journal_t *ours;      /* owned, or NULL */
	journal_knot_t *knot; /* owned, or NULL */
} source_t;

/** Open the journal in a folder. KNOT_ENOENT: there is none. Other errors with a reason. */
KNOT_MUST_USE knot_err_t source_open(const char *path, source_t *ret_source, journal_reason_t *ret_reason);
void source_close(source_t *source);

KNOT_MUST_USE knot_err_t source_each_zone(
		const source_t *source, bool (*visit)(knot_name_t zone, void *ctx), void *ctx);

/** What is known of a zone. */
typedef struct {
	bool has_whole;
	uint32_t serial_first, serial_last;
	uint64_t occupied; /* bytes */
} source_zone_t;

/** KNOT_ENOENT: it has no journal. */
KNOT_MUST_USE knot_err_t source_zone(const source_t *source, knot_name_t zone, source_zone_t *ret_zone);

/** Visit all entries of a zone but notes; or, if `serial` isn't NULL, the change that begins there and what continues
 * it (none if that is the last version). KNOT_ENOENT: there is no such change. */
KNOT_MUST_USE knot_err_t source_each(
		const source_t *source, knot_name_t zone, const uint32_t *serial, journal_visit_t visit, void *ctx);

/**
 * Check that what is stored of a zone agrees. Returns 0, or the number of the rule that it breaks, as Knot counts them.
 * *ret_err: KNOT_OK, or why it could not be checked.
 */
unsigned source_check(const source_t *source, knot_name_t zone, knot_err_t *ret_err);

/** Bytes of the database in use. */
uint64_t source_usage(const source_t *source);
