/* SPDX-License-Identifier: BSD-2-Clause */
/** The values of a block rule (struct filter_rule in abi.h) for a rate, user space's side. Pure. */
#pragma once

#include "xdp/bpf/abi.h"

#include <stdint.h>

enum {
	FILTER_RATE_MAX = 10 * 1000 * 1000, /* more than a queue delivers; exact to 4e-5 */
};

/** Queries that may come at once beyond a rate of `per_second`: a tenth of a second's, at least 1. */
static inline uint64_t filter_burst(uint32_t per_second)
{
	return per_second >= 10 ? per_second / 10 : 1;
}

/**
 * A rule that lets at most t × per_second + filter_burst() + 1 queries pass in any t seconds.
 *
 * per_second: 1 to FILTER_RATE_MAX; 0: the rule drops everything. `prefix_len` is the caller's; `due` and the
 * counters are 0.
 */
static inline struct filter_rule filter_rule_of(uint32_t per_second)
{
	if (per_second == 0) {
		return (struct filter_rule){ 0 };
	}
	uint64_t second = 1000000000ULL << 8;
	uint64_t interval = (second + per_second - 1) / per_second; /* rounded up: never above the rate */
	return (struct filter_rule){ .interval = interval, .tolerance = interval * filter_burst(per_second) };
}
