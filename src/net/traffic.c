/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/traffic.h"

#include <assert.h>

enum {
	BOUND_FIRST_LOG2 = 10, /* 1024 ns */
	STEPS_PER_OCTAVE = 2,  /* bounds are 1 and 1.5 times a power of two */
};

unsigned traffic_bucket(uint64_t time_ns)
{
	/* A bound belongs to its bucket, so what counts is the largest whole number below. */
	uint64_t below = time_ns > 0 ? time_ns - 1 : 0;
	if (below < UINT64_C(1) << BOUND_FIRST_LOG2) {
		return 0;
	}
	unsigned log2 = 63 - (unsigned)__builtin_clzll(below);
	unsigned half = (unsigned)(below >> (log2 - 1)) & 1;
	unsigned bucket = STEPS_PER_OCTAVE * (log2 - BOUND_FIRST_LOG2) + 1 + half;
	return bucket < TRAFFIC_BOUNDS ? bucket : TRAFFIC_BOUNDS;
}

uint64_t traffic_bound_ns(unsigned bucket)
{
	if (bucket >= TRAFFIC_BOUNDS) {
		return UINT64_MAX;
	}
	uint64_t power = UINT64_C(1) << (BOUND_FIRST_LOG2 + bucket / STEPS_PER_OCTAVE);
	return bucket % STEPS_PER_OCTAVE == 0 ? power : power + power / STEPS_PER_OCTAVE;
}

const char *traffic_drop_name(traffic_drop_t reason)
{
	static const char *const names[TRAFFIC_DROP_END] = {
#define COUNTER_DROP(name, reason, help) [TRAFFIC_DROP_##name] = reason,
#include "src/sys/counters.def"
	};
	assert((unsigned)reason < TRAFFIC_DROP_END);
	return names[reason];
}

void traffic_look(const traffic_batch_t *batch, const answer_report_t *report)
{
	for (unsigned i = 0; i < batch->row_count; i++) {
		look_row_t *row = batch->rows[i];
		if (report->zone != NULL) {
			look_count(row->zones, LOOK_ZONE_SETS, (uintptr_t)report->zone);
		}
		if (report->query->question_len > 0) {
			look_count(row->types, LOOK_TYPE_SETS, (uint64_t)LOOK_TYPE_KEY + report->query->qtype);
		}
	}
}

static void add_latency(sys_counters_t *counters, unsigned protocol, uint32_t requests, uint64_t time_ns)
{
	sys_counters_add(counters, TRAFFIC_TIME + protocol, requests * time_ns);
	sys_counters_add(counters, TRAFFIC_LATENCY + protocol * TRAFFIC_BUCKETS + traffic_bucket(time_ns), requests);
}

void traffic_end(sys_counters_t *counters, traffic_batch_t *batch, uint64_t time_ns)
{
	for (uint64_t rest = batch->used; rest != 0; rest &= rest - 1) {
		unsigned what = (unsigned)__builtin_ctzll(rest);
		sys_counters_add(counters, what, batch->noted[what]);
		if (what < TRAFFIC_REQUESTS + ANSWER_PROTOCOL_END) {
			add_latency(counters, what - TRAFFIC_REQUESTS, batch->noted[what], time_ns);
		}
		batch->noted[what] = 0;
	}
	batch->used = 0;
}
