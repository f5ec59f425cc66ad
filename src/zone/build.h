/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * From records to a compiled zone version: loading a zone file. Changing a version: txn.h.
 *
 * Records are collected in temporary memory, sorted, classified (cuts, glue, empty non-terminals, wildcards, NSEC3),
 * linked and compiled; the result is checked (check.h) before it is published. Nothing here publishes or logs:
 * messages go to a callback, the caller publishes. Any thread; one build per zone at a time. Reads the zone file and
 * nothing else; the time of day comes in as a value.
 */
#pragma once

#include "libknot/text/zonefile.h"
#include "src/zone/skip.h"
#include "src/zone/check.h"
#include "src/zone/contents.h"

/** Prove the signatures and the chain of a version, tell of faults by zone_fault_tell(). KNOT_ENOMEM, KNOT_ECRYPTO. */
typedef knot_err_t (*zone_prove_cb)(const zone_contents_t *zone, const zone_check_params_t *params);

/** Of which messages of checks the lines are looked up: reads the file again. */
typedef enum {
	ZONE_LINES_OF_ERRORS, /* if the zone fails */
	ZONE_LINES_ALL,
	ZONE_LINES_NONE,
} zone_lines_t;

typedef struct {
	knot_name_t origin;            /* apex, lower case */
	uint32_t default_ttl;          /* seconds, conf `default-ttl` */
	zone_checks_t checks;          /* conf `semantic-checks` */
	zone_dnssec_t dnssec;          /* of zone files only */
	zone_prove_cb prove;           /* called if DNSSEC is checked; NULL: signatures aren't looked at */
	unsigned thread_count;         /* for it */
	uint64_t size_max;             /* bytes of wire form, conf `zone-max-size`; 0: no limit */
	uint32_t nsec3_iterations_end; /* this many and more are refused, conf `nsec3-max-iterations`; 0: no limit */
	uint64_t now_s;                /* seconds since 1970, for the validity of signatures */
	const zone_skip_t *skip;       /* what a file gives of these isn't taken; borrowed; NULL: nothing */
	zone_message_cb on_message;    /* may be NULL */
	zone_lines_t lines;
	knot_zone_file_cb on_file;      /* each file that the zone is read from; may be NULL */
	bool (*should_stop)(void *ctx); /* asked now and then: true gives the build up; may be NULL */
	void *ctx;
} zone_build_params_t;

/**
 * Load the zone file at `path`. Every fault of the file is reported to on_message.
 * KNOT_EPARSEFAIL: faults in the file. KNOT_ESEMCHECK: a semantic check failed. KNOT_ENOSOA: no SOA at the apex.
 * KNOT_EZONESIZE: larger than size_max. KNOT_EFILE or a negated errno: the file can't be read (not reported to
 * on_message). KNOT_ESTOPPED: should_stop said so. KNOT_ENOMEM. On success the caller owns *ret_zone
 * (zone_contents_free()).
 */
KNOT_MUST_USE knot_err_t zone_build_file(
		const char *path, const zone_build_params_t *params, zone_contents_t **ret_zone);

/** As above from text in memory; `path` is used in messages and as the base of $INCLUDE. */
KNOT_MUST_USE knot_err_t zone_build_text(
		knot_str_t text, const char *path, const zone_build_params_t *params, zone_contents_t **ret_zone);

/** How a version that was built with these is checked. */
static inline zone_check_params_t zone_build_checks(const zone_build_params_t *params)
{
	return (zone_check_params_t){ .checks = params->checks,
		.thread_count = params->thread_count,
		.nsec3_iterations_end = params->nsec3_iterations_end,
		.now_s = params->now_s,
		.on_message = params->on_message,
		.ctx = params->ctx };
}
