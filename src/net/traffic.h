/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What every worker counts of its traffic, always: requests by protocol, replies by rcode, drops by reason, and how
 * long requests took.
 *
 * A worker notes each request in a batch of its own (two additions to memory that no other thread reads), and adds the
 * batch to its row of counters once its replies are handed over, with the time that this took: the one place where
 * traffic is counted. The clock is read at both ends of a batch, never per request. Latency of a request = time from
 * when its batch was received to when the batch's replies were handed to the kernel or the ring: what the server adds
 * to a round trip, without queues before and after it. A TCP batch is what one turn of a connection took in, and over
 * XDP one turn of the worker.
 *
 * While there is a looker (look.h), zones and types are counted, too.
 * Threads: a batch is its worker's; any thread reads counters with sys_counters_sum().
 */
#pragma once

#include "libknot/base/assert.h"
#include "libknot/msg/rcode.h"
#include "src/answer/answer.h"
#include "src/net/look.h"
#include "src/sys/counters.h"

/**
 * Why something that came in was not answered: TRAFFIC_DROP_<name> of src/sys/counters.def. Over XDP, what comes before
 * requests is counted with the queues.
 */
typedef enum {
#define COUNTER_DROP(name, reason, help) TRAFFIC_DROP_##name,
#include "src/sys/counters.def"
	TRAFFIC_DROP_END,
} traffic_drop_t;

enum {
	/* Upper bounds of latency: 1024, 1536, 2048, 3072, … 2^32 ns: two per power of two, so that a quantile is off
	 * by a third at most; and one bucket for what takes longer. */
	TRAFFIC_BOUNDS = 45,
	TRAFFIC_BUCKETS = TRAFFIC_BOUNDS + 1,
};

/** Counters of the set, one after the other. The first ones are noted per request. */
enum {
	TRAFFIC_REQUESTS,                                        /* + answer_protocol_t */
	TRAFFIC_RCODES = TRAFFIC_REQUESTS + ANSWER_PROTOCOL_END, /* + knot_rcode_slot(): replies */
	TRAFFIC_DROPS = TRAFFIC_RCODES + KNOT_RCODE_SLOTS,       /* + traffic_drop_t */
	TRAFFIC_NOTED = TRAFFIC_DROPS + TRAFFIC_DROP_END,
	TRAFFIC_TIME = TRAFFIC_NOTED,                         /* + answer_protocol_t: ns, summed over requests */
	TRAFFIC_LATENCY = TRAFFIC_TIME + ANSWER_PROTOCOL_END, /* + protocol * TRAFFIC_BUCKETS + bucket */
	TRAFFIC_END = TRAFFIC_LATENCY + ANSWER_PROTOCOL_END * TRAFFIC_BUCKETS,
};

/** What a worker has noted of the batch in work. All zero at first. */
typedef struct {
	uint64_t used; /* bit i: noted[i] isn't 0 */
	uint32_t noted[TRAFFIC_NOTED];
	unsigned row_count; /* lookers; valid in the read section of traffic_begin() */
	look_row_t *rows[LOOKS_MAX];
} traffic_batch_t;

_Static_assert((int)TRAFFIC_NOTED <= 64, "a bit for each");

/** The counters of a net_t, all 0. NULL: no memory. Free with sys_counters_free(). */
static inline sys_counters_t *traffic_counters_new(void)
{
	return sys_counters_new(TRAFFIC_END);
}

/** Begin to answer from `state`, in the read section that `looks` (NULL: no looker) was loaded in. */
static inline void traffic_begin(traffic_batch_t *batch, const look_list_t *looks, const state_t *state)
{
	batch->row_count = looks == NULL ? 0 : look_rows(looks, state->number, batch->rows);
}

/** Note one event: TRAFFIC_… below TRAFFIC_NOTED. */
static inline void traffic_note(traffic_batch_t *batch, unsigned what)
{
	KNOT_ASSERT_SLOW(what < TRAFFIC_NOTED);
	batch->noted[what]++;
	batch->used |= UINT64_C(1) << what;
}

/** Note a drop. */
static inline void traffic_drop(traffic_batch_t *batch, traffic_drop_t reason)
{
	traffic_note(batch, TRAFFIC_DROPS + reason);
}

/** Count a query's zone and type for lookers. */
void traffic_look(const traffic_batch_t *batch, const answer_report_t *report);

/**
 * Note a request that was answered, or (reply_len 0) dropped: because it is no request, or by a module. Between
 * traffic_begin() and the end of the read section.
 */
static inline void traffic_request(
		traffic_batch_t *batch, answer_protocol_t protocol, const answer_report_t *report, size_t reply_len)
{
	if (__builtin_expect(reply_len == 0, 0)) {
		traffic_drop(batch, report->verdict == KNOT_MSG_DROP ? TRAFFIC_DROP_NO_REQUEST : TRAFFIC_DROP_MODULE);
		return;
	}
	traffic_note(batch, TRAFFIC_REQUESTS + protocol);
	traffic_note(batch, TRAFFIC_RCODES + knot_rcode_slot(report->rcode));
	if (__builtin_expect(batch->row_count > 0, 0)) {
		traffic_look(batch, report);
	}
}

/** True if nothing was noted: there is nothing to end. */
static inline bool traffic_is_empty(const traffic_batch_t *batch)
{
	return batch->used == 0;
}

/** The replies were handed over `time_ns` after their requests were received: add what was noted to `counters`, empty
 * the batch. */
void traffic_end(sys_counters_t *counters, traffic_batch_t *batch, uint64_t time_ns);

/** Bucket of a latency: the first whose bound isn't smaller. */
unsigned traffic_bucket(uint64_t time_ns);

/** Upper bound of a bucket in nanoseconds; of the last one UINT64_MAX. */
uint64_t traffic_bound_ns(unsigned bucket);

/** Text of a reason as statistics show it: "no-request". Static. */
const char *traffic_drop_name(traffic_drop_t reason);
