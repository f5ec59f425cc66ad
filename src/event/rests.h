/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What is kept of zones that have primaries or notify others: times, and what was asked for. Other zones take no
 * memory. Internal to src/event. No locks: callers hold that of the jobs.
 */
#pragma once

#include "src/conf/rules.h"
#include "src/state/notices.h"
#include "src/transfer/timers.h"

typedef struct notify_run notify_run_t;

/** A primary, by what it did for zones. It stays until the server ends, also when the configuration has it no more. */
typedef struct {
	uint64_t last_s; /* seconds since 1970: when it last had just what some zone has, or gave it that; 0: not yet */
	char id[];       /* of the section remote */
} rest_remote_t;

typedef struct {
	timers_state_t timers;
	uint64_t last_notified;  /* timer_of_serial(): of which all that are notified know; 0: unknown */
	uint64_t notify_failed;  /* bit n: the n-th one isn't reached */
	notify_run_t *notify;    /* borrowed: they are being told; NULL: no */
	notice_addr_t notifier;  /* of the last NOTIFY since the last refresh */
	bool has_more_notifiers; /* others sent one, too */
	bool is_notified;        /* some NOTIFY came since the last refresh */
	bool notifies_all;       /* the next EVENT_NOTIFY is of a new version */
	bool is_retransfer;      /* the next refresh takes the zone whatever its serial */
	uint64_t refreshed_s;    /* seconds since 1970: when a primary last had just what the zone has; 0: not yet */
	const rest_remote_t *refreshed_from; /* that primary; NULL: none yet */
} rest_t;

/** Zero at first; freed with rests_free(). */
typedef struct {
	void *map;     /* owned: of tsearch() */
	void *remotes; /* owned: of tsearch() */
} rests_t;

/** What is kept of a zone; made if need be, all zero. NULL: out of memory. Valid until it is dropped. */
rest_t *rests_get(rests_t *rests, knot_name_t name);

/** The same; NULL: nothing is kept. */
rest_t *rests_find(const rests_t *rests, knot_name_t name);

/** Note that the primary `id` has just what the zone has now. Without memory nothing is noted. */
void rests_confirm(rests_t *rests, rest_t *rest, const char *id, uint64_t now_s);

/** Visit the primaries in order of their ids. */
void rests_each_remote(const rests_t *rests, void (*visit)(const rest_remote_t *remote, void *ctx), void *ctx);

void rests_drop(rests_t *rests, knot_name_t name);
void rests_free(rests_t *rests);
