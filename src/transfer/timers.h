/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * When a secondary zone is refreshed, tried again, and expires.
 *
 * The rules are functions of the zone's SOA, its configuration and what a primary said; the time of day and random
 * numbers come in as values. timers_state_t is all that is kept for a zone between refreshes. Pure; no state of its
 * own, any thread. RFC 1035 3.3.13 (SOA), RFC 7314 (EXPIRE).
 */
#pragma once

#include "libknot/name/name.h"
#include "src/timers/timer_record.h"

#include <assert.h>

/** The timers of a SOA, seconds. */
typedef struct {
	uint32_t refresh_s, retry_s, expire_s;
} timers_soa_t;

/** They are in RDATA that was checked. */
timers_soa_t timers_soa_of(knot_bytes_t soa);

/** The zone's items of the configuration. */
typedef struct {
	uint32_t refresh_min_s, refresh_max_s; /* refresh-min-interval … */
	uint32_t retry_min_s, retry_max_s;
	uint32_t expire_min_s, expire_max_s;
	uint32_t jitter; /* refresh-jitter: seconds, or percent of the refresh interval */
	bool is_jitter_percent;
	bool is_catalog; /* the zone is an interpreted catalog: it never expires */
} timers_conf_t;

typedef enum { TIMERS_AS_IS, TIMERS_TO_MIN, TIMERS_TO_MAX } timers_trim_t;

/** An interval, and which limit it was trimmed to. */
typedef struct {
	uint32_t seconds;
	timers_trim_t trim;
} timers_interval_t;

/**
 * Between a success and the next refresh, less the jitter of the zone: at most (1 + jitter), a part of it that follows
 * from the name, so that zones with the same SOA spread, each the same after a restart. zone: lower case.
 */
timers_interval_t timers_refresh(const timers_soa_t *soa, const timers_conf_t *conf, knot_name_t zone);

/** Between a failure and the next try, of a zone with contents. */
timers_interval_t timers_retry(const timers_soa_t *soa, const timers_conf_t *conf);

/** The same of a zone without contents. failures: that went before this one. random: any number. */
timers_interval_t timers_bootstrap(const timers_conf_t *conf, unsigned failures, uint32_t random);

/** What a primary said with its EXPIRE option. */
typedef struct {
	bool is_said;
	uint32_t seconds;
} timers_option_t;

/** Between now and the expiration. left_s: seconds that are left now, which an up-to-date primary can't shorten; 0
 * after a transfer. Not of a catalog. */
timers_interval_t timers_expire(
		const timers_soa_t *soa, const timers_conf_t *conf, timers_option_t option, uint64_t left_s);

enum { TIMERS_TRIM_TEXT_MAX = 64 };

/** "refresh timer trimmed to 'refresh-min-interval'". what: "refresh", "retry", "expire". False: it wasn't trimmed. */
bool timers_print_trim(const char *what, timers_trim_t trim, char ret_text[static TIMERS_TRIM_TEXT_MAX]);

/** What is kept for a zone. All zero: a new zone, to be refreshed now. */
typedef struct {
	uint64_t next_refresh_s; /* seconds since 1970; 0: now */
	uint64_t next_expire_s;  /* 0: not before the next success */
	uint64_t pin_hit_s;      /* since when another primary is newer than the pinned one; 0: none is */
	uint8_t last_primary[TIMER_MASTER_LEN]; /* the pinned one's address, as the timer database has it */
	bool has_last_primary;
	bool is_last_ok;            /* the last refresh succeeded */
	uint8_t bootstrap_failures; /* not stored: a new process begins at 0 */
} timers_state_t;

static_assert(sizeof(timers_state_t) <= 64, "a million zones: 64 MB");

/** To and from the values of the timer database. */
void timers_state_put(const timers_state_t *state, timer_values_t *values);
timers_state_t timers_state_of(const timer_values_t *values);

/** At the start of the server, before the zone is loaded. True: it has expired meanwhile, so don't load it. */
bool timers_start(timers_state_t *state, uint64_t now_s);

/** The zone was loaded, or has nothing to be loaded from. Contents that are gone although the last refresh was good are
 * fetched now. */
void timers_loaded(timers_state_t *state, bool has_contents, uint64_t now_s);

/** The zone has expired: bootstrap from now on, from any primary. */
void timers_expired(timers_state_t *state, uint64_t now_s);
