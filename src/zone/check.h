/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Semantic checks of a compiled zone version, one table row per fault (check.c).
 *
 * As Knot: a mandatory fault is an error and makes a version unusable, with semantic-checks soft it is only noted;
 * optional checks run with semantic-checks on (warnings) or soft (notices) and never fail a zone. DNSSEC checks are
 * optional ones that run on signed zones; signatures must be there and within their time, they are not verified here.
 * Pure reads of one version. RFC 1034 3.6.2, 4.2.1; RFC 2181 10.1; RFC 6672 2.3, 2.4; RFC 4035 2; RFC 5155 7.1; RFC
 * 7344 4; RFC 8078 4.
 */
#pragma once

#include "src/zone/contents.h"

/** conf `semantic-checks` */
typedef enum {
	ZONE_CHECKS_OFF,  /* mandatory ones only */
	ZONE_CHECKS_SOFT, /* all, and nothing fails the zone */
	ZONE_CHECKS_ON,   /* all */
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
 * KNOT_ESEMCHECK: a mandatory check failed and checks isn't ZONE_CHECKS_SOFT. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_check(const zone_contents_t *zone, zone_checks_t checks, uint64_t now_s,
		zone_message_cb on_message, void *ctx);
