/* SPDX-License-Identifier: BSD-2-Clause */
/** Reading the kernel program's counters (struct filter_counts in abi.h), user space's side. */
#pragma once

#include "xdp/bpf/abi.h"

#include <stdint.h>

/**
 * Add one queue's counters to io_packets[0..FILTER_COUNT_ROWS), by enum filter_count; to FILTER_RECEIVED their sum.
 *
 * counts: the map's memory, or a copy. The program counts meanwhile: each row is exact at some moment of the call.
 */
static inline void filter_counts_add(const struct filter_counts *counts, uint64_t *io_packets)
{
	for (unsigned i = FILTER_RECEIVED + 1; i < FILTER_COUNT_ROWS; i++) {
		uint64_t packets = __atomic_load_n(&counts->packets[i], __ATOMIC_RELAXED);
		io_packets[i] += packets;
		io_packets[FILTER_RECEIVED] += packets;
	}
}
