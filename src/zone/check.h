/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Semantic checks of a compiled zone version, one table row per fault (check.c).
 *
 * As Knot: a mandatory fault is an error and makes a version unusable, with `semantic-checks: soft` it is only noted;
 * optional checks run with semantic-checks on (warnings) or soft (notices) and never fail a zone. DNSSEC checks are
 * optional ones that run on signed zones; signatures must exist and be within their validity period; they are not
 * verified here. Pure reads of one version. RFC 1034 3.6.2, 4.2.1; RFC 2181 10.1; RFC 6672 2.3, 2.4; RFC 4035 2; RFC
 * 5155 7.1; RFC 7344 4; RFC 8078 4; RFC 9276 3.
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

/** A line for the log, and what it is about as far as that is known. Strings are valid during the call. */
typedef struct {
	zone_message_level_t level;
	const char *text;   /* the whole, without zone name and severity */
	const char *file;   /* NULL: not known */
	uint64_t line;      /* of the file; 0: not known */
	const char *owner;  /* NULL: not about one name */
	const char *reason; /* NULL: the text has all */
	const char *hint;   /* what is probably meant, to stand behind the text; NULL: nothing */
} zone_message_t;

typedef void (*zone_message_cb)(const zone_message_t *message, void *ctx);

/** How to check. */
typedef struct {
	zone_checks_t checks;
	uint32_t nsec3_iterations_end; /* this many and more are an error; 0: no limit */
	uint64_t now_s;                /* seconds since 1970 */
	zone_message_cb on_message;    /* gets every fault; may be NULL */
	void *ctx;
} zone_check_params_t;

/** Iterations of NSEC3 from which on a zone is warned of: each costs a hash for each name that isn't there. */
enum { ZONE_NSEC3_ITERATIONS_WARN = 50 };

/**
 * Check `zone`.
 * KNOT_ESEMCHECK: a mandatory check failed and checks isn't ZONE_CHECKS_SOFT, or there are too many iterations of
 * NSEC3. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_check(const zone_contents_t *zone, const zone_check_params_t *params);

/**
 * Check what a change of the names `names` (ascending, each once, in the zone or gone) can break: their own records, a
 * DNAME above those below a cut, the NSEC or NSEC3 records around them, and what holds for the whole zone. Of optional
 * checks, what depends on other names is looked at when the whole zone is checked: a delegation to a name server of
 * another one, names that an NSEC3 record is about, the chain of a zone whose apex has just become signed. NULL: the
 * whole zone. As above.
 */
KNOT_MUST_USE knot_err_t zone_check_names(
		const zone_contents_t *zone, const zone_check_params_t *params, const knot_name_t *names, size_t count);
