/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Semantic checks of a compiled zone version, one table row per fault (check.c).
 *
 * Mandatory checks always run and make a version unusable; optional ones run with semantic-checks on (they fail the
 * version) or soft (they warn). DNSSEC checks are optional and run on zones that are signed. Pure reads of one version.
 * RFC 1034 3.6.2, 4.2.1; RFC 2181 10.1; RFC 6672 2.3, 2.4; RFC 4035 2; RFC 5155 7.1.
 */
#pragma once

#include "src/zone/contents.h"

/** conf `semantic-checks` */
typedef enum {
	ZONE_CHECKS_OFF,             /* mandatory ones only */
	ZONE_CHECKS_SOFT,            /* optional ones warn */
	ZONE_CHECKS_ON,              /* optional ones fail the zone */
} zone_checks_t;

typedef enum {
	ZONE_MESSAGE_NOTICE,
	ZONE_MESSAGE_WARNING,
	ZONE_MESSAGE_ERROR,
} zone_message_level_t;

/** One line for the log, without zone name and severity; text is valid during the call. */
typedef void (*zone_message_cb)(zone_message_level_t level, const char *text, void *ctx);

/**
 * Check `zone`. now_s: seconds since 1970. Every fault is told to on_message (may be NULL).
 * KNOT_ESEMCHECK: a mandatory check failed, or an optional one with ZONE_CHECKS_ON. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_check(const zone_contents_t *zone, zone_checks_t checks, uint64_t now_s,
                                    zone_message_cb on_message, void *ctx);
