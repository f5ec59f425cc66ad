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
} rest_t;

/** Zero at first; freed with rests_free(). */
typedef struct {
	void *map; /* owned: of tsearch() */
} rests_t;

/** What is kept of a zone; made if need be, all zero. NULL: out of memory. Valid until it is dropped. */
rest_t *rests_get(rests_t *rests, knot_name_t name);

/** The same; NULL: nothing is kept. */
rest_t *rests_find(const rests_t *rests, knot_name_t name);

void rests_drop(rests_t *rests, knot_name_t name);
void rests_free(rests_t *rests);
