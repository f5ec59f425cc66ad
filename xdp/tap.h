/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A look at the frames of one queue: those that a filter matches are copied, with time and direction, to a ring that
 * another thread drains.
 *
 * The thread that handles packets never waits: when the ring is full, frames are counted and not copied. Allocation is
 * done by kxdp_tap_new(). What a filter is, is the caller's business (libpcap's bpf_filter(), most likely).
 *
 * Threads: kxdp_tap_put() and kxdp_tap_batch() from one thread, kxdp_tap_next() from one other, kxdp_tap_stats() from
 * any. Free it only when both are done with it.
 */
#pragma once

#include "libknot/base/err.h"
#include "xdp/frame.h"

enum {
	KXDP_TAP_RING_DEFAULT = 4 << 20, /* bytes */
};

typedef struct kxdp_tap kxdp_tap_t;

/** True: frame[0..len) is wanted. Called by the thread that handles packets: no allocation, lock or system call. */
typedef bool (*kxdp_tap_match_t)(const void *filter, const uint8_t *frame, uint32_t len);

typedef struct kxdp_tap_options {
	kxdp_tap_match_t match; /* NULL: all frames */
	const void *filter;     /* for `match`; borrowed until the tap is freed */
	uint32_t snaplen;       /* bytes copied of each frame; 0: all */
	uint32_t ring_len;      /* bytes of the ring, rounded up to a power of two; 0: KXDP_TAP_RING_DEFAULT */
} kxdp_tap_options_t;

typedef enum {
	KXDP_INBOUND,
	KXDP_OUTBOUND,
} kxdp_direction_t;

/** A frame seen. */
typedef struct {
	uint64_t time_ns; /* since the Epoch */
	uint32_t len;     /* bytes of the frame */
	uint32_t captured_len;
	kxdp_direction_t direction;
	const uint8_t *bytes; /* captured_len bytes; valid until the next kxdp_tap_next() */
} kxdp_tap_record_t;

/** KNOT_ENOMEM. KNOT_EINVAL: a ring of more than 1 GiB. */
KNOT_MUST_USE knot_err_t kxdp_tap_new(const kxdp_tap_options_t *options, kxdp_tap_t **ret_tap);

/** NULL is fine. */
void kxdp_tap_free(kxdp_tap_t *take_tap);

/** The time of the frames that follow, in nanoseconds since the Epoch. */
void kxdp_tap_batch(kxdp_tap_t *tap, uint64_t time_ns);

/** Copy frame[0..len) to the ring if the filter matches and there is room. */
void kxdp_tap_put(kxdp_tap_t *tap, kxdp_direction_t direction, const uint8_t *frame, uint32_t len);

/** The oldest frame in the ring, which then is removed by the next call. False: there is none now. */
bool kxdp_tap_next(kxdp_tap_t *tap, kxdp_tap_record_t *ret_record);

typedef struct {
	uint64_t seen;    /* shown by the queue */
	uint64_t matched; /* wanted by the filter */
	uint64_t dropped; /* of those, not copied: the ring was full */
} kxdp_tap_stats_t;

void kxdp_tap_stats(const kxdp_tap_t *tap, kxdp_tap_stats_t *ret_stats);
