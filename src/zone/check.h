/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Semantic checks of a compiled zone version, one table row per fault (check.c).
 *
 * As Knot: a mandatory fault is an error and makes a version unusable, with `semantic-checks: soft` it is only noted;
 * optional checks run with semantic-checks on, are warnings, and never fail a zone. Those of DNSSEC run on signed zones
 * if the caller wants them: what the apex says of keys, NSEC3 and the parent's DS set. Signatures and the chain of NSEC
 * or NSEC3 are proven by src/validate, which tells of faults by zone_fault_tell(). Pure reads of one version.
 * RFC 1034 3.6.2, 4.2.1; RFC 2181 10.1; RFC 6672 2.3, 2.4; RFC 4035 2; RFC 7344 4; RFC 8078 4; RFC 9276 3.
 */
#pragma once

#include "src/zone/contents.h"

/** conf `semantic-checks` */
typedef enum {
	ZONE_CHECKS_OFF,    /* mandatory ones only */
	ZONE_CHECKS_SOFT,   /* mandatory ones only, and none fails the zone */
	ZONE_CHECKS_ON,     /* all */
	ZONE_CHECKS_REPORT, /* all, and none fails the zone: for who is asked what is wrong. Not in conf */
} zone_checks_t;

/** Whether checks of DNSSEC are among all checks. */
typedef enum {
	ZONE_DNSSEC_OFF,
	ZONE_DNSSEC_IF_SIGNED, /* if the SOA has an RRSIG */
	ZONE_DNSSEC_ON,
} zone_dnssec_t;

/** What is wrong, in the order of Knot's summaries. */
typedef enum {
	ZONE_FAULT_NONE,
	ZONE_FAULT_SOA_MISSING,
	ZONE_FAULT_SOA_MULTIPLE,
	ZONE_FAULT_CNAME_BESIDE,
	ZONE_FAULT_CNAME_MULTIPLE,
	ZONE_FAULT_DNAME_CHILD,
	ZONE_FAULT_DNAME_MULTIPLE,
	ZONE_FAULT_DNAME_NS,
	ZONE_FAULT_DS_APEX,
	ZONE_FAULT_DELEG_APEX,
	ZONE_FAULT_NS_APEX,
	ZONE_FAULT_GLUE,
	ZONE_FAULT_RRSIG,
	ZONE_FAULT_NSEC_MISSING,
	ZONE_FAULT_NSEC_BITMAP,
	ZONE_FAULT_NSEC_CHAIN,
	ZONE_FAULT_NSEC3_OPT_OUT,
	ZONE_FAULT_NSEC_EXTRA,
	ZONE_FAULT_NSEC3PARAM_FLAGS,
	ZONE_FAULT_NSEC3PARAM_ALGORITHM,
	ZONE_FAULT_DS_ALGORITHM,
	ZONE_FAULT_DS_LEN,
	ZONE_FAULT_DNSKEY_MISSING,
	ZONE_FAULT_DNSKEY_INVALID,
	ZONE_FAULT_DNSKEY_TAGS,
	ZONE_FAULT_CDS_MISSING,
	ZONE_FAULT_CDS_MISMATCH,
	ZONE_FAULT_CDNSKEY_MISSING,
	ZONE_FAULT_CDNSKEY_MISMATCH,
	ZONE_FAULT_CDNSKEY_ALONE,
	ZONE_FAULT_CDS_DELETE,
	ZONE_FAULT_UNKNOWN,
	/* Ours. */
	ZONE_FAULT_NSEC3_ITERATIONS,
	ZONE_FAULT_NSEC3_LIMIT,
	ZONE_FAULT_TARGET_ALIAS,
	ZONE_FAULT_COUNT,
} zone_fault_t;

typedef enum {
	ZONE_MESSAGE_NOTICE,
	ZONE_MESSAGE_WARNING,
	ZONE_MESSAGE_ERROR,
} zone_message_level_t;

/** A fault and its place. */
typedef struct zone_found {
	zone_fault_t fault;
	uint16_t type;      /* of the owner's records that it is about; 0 or KNOT_TYPE_ANY: all of them */
	knot_name_t owner;  /* in the zone */
	knot_bytes_t rdata; /* of the record that it is about, names in any case; len 0: all of the type */
	const char *detail; /* "(keytag 1, algorithm 2)"; NULL: none */
} zone_found_t;

/** A line for the log, and what it is about as far as that is known. Strings are valid during the call. */
typedef struct {
	zone_message_level_t level;
	const char *text;               /* the whole, without zone name and severity */
	const char *file;               /* NULL: not known */
	uint64_t line;                  /* of the file; 0: not known */
	const char *owner;              /* NULL: not about one name */
	const char *reason;             /* NULL: the text has all */
	const char *hint;               /* what is probably meant, to stand behind the text; NULL: nothing */
	const struct zone_found *found; /* what a check found; NULL: the message is about something else */
	uint64_t more; /* not 0: so many more like `found` aren't told of one by one; there is no owner */
} zone_message_t;

typedef void (*zone_message_cb)(const zone_message_t *message, void *ctx);

/** How to check. */
typedef struct {
	zone_checks_t checks;
	zone_dnssec_t dnssec;
	uint32_t nsec3_iterations_end; /* this many and more are an error; 0: no limit */
	uint64_t now_s;                /* seconds since 1970: for proofs of signatures */
	unsigned thread_count;         /* for the same */
	zone_message_cb on_message;    /* gets every fault; may be NULL */
	void *ctx;
} zone_check_params_t;

/** Knot's text of a fault. */
const char *zone_fault_text(zone_fault_t fault);

/** Whether it makes a zone unusable. */
bool zone_fault_is_serious(zone_fault_t fault);

/** Whether Knot has details of such faults; if not, they are ours. */
bool zone_fault_has_detail(zone_fault_t fault);

/** Tell of a fault at the level that it has with these parameters. */
void zone_fault_tell(const zone_check_params_t *params, const zone_found_t *found);

/** Whether DNSSEC of this version is to be checked, and so its signatures be proven. */
bool zone_check_has_dnssec(const zone_contents_t *zone, const zone_check_params_t *params);

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
 * DNAME above those below a cut, and what holds for the whole zone. Of optional checks, what depends on other names, as
 * a delegation to a name server of another one, is looked at when the whole zone is checked. NULL: the whole zone. As
 * above.
 */
KNOT_MUST_USE knot_err_t zone_check_names(
		const zone_contents_t *zone, const zone_check_params_t *params, const knot_name_t *names, size_t count);
