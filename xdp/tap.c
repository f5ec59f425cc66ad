/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of bytes with one writer and one reader. Records are contiguous: one that doesn't fit in front of the ring's
 * end starts at its beginning, and a record without bytes fills the gap. Positions only grow; their difference is what
 * is in the ring.
 *
 *     | time_ns 8 | len 4 | captured_len 4 | size 4 | what 4 | bytes … padded to 8 | next record …
 */
#include "xdp/tap.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	RING_LEN_MIN = 64 << 10,
	RING_LEN_MAX = 1 << 30,
	ALIGN = 8,
	LINE = 64,
	GAP = 2, /* record_t.what, besides kxdp_direction_t: nothing up to the ring's end */
};

typedef struct {
	uint64_t time_ns;
	uint32_t len;
	uint32_t captured_len;
	uint32_t size; /* bytes of the whole record, a multiple of ALIGN */
	uint32_t what;
} record_t;

_Static_assert(sizeof(record_t) % ALIGN == 0, "bytes follow");

struct kxdp_tap {
	kxdp_tap_options_t options;
	uint8_t *ring; /* owned */
	size_t ring_len;
	/* The writer's. */
	_Alignas(LINE) atomic_size_t head; /* end of what is written */
	size_t tail_seen;
	uint64_t time_ns;
	atomic_uint_least64_t seen, matched, dropped;
	/* The reader's. */
	_Alignas(LINE) atomic_size_t tail; /* start of what is not given back */
	size_t read_at;                    /* end of the record that the caller looks at */
};

knot_err_t kxdp_tap_new(const kxdp_tap_options_t *options, kxdp_tap_t **ret_tap)
{
	size_t wanted = options->ring_len > 0 ? options->ring_len : KXDP_TAP_RING_DEFAULT;
	if (wanted > RING_LEN_MAX) {
		return KNOT_EINVAL;
	}
	size_t len = RING_LEN_MIN;
	while (len < wanted) {
		len *= 2;
	}
	kxdp_tap_t *tap = aligned_alloc(LINE, sizeof(*tap));
	if (tap == NULL) {
		return KNOT_ENOMEM;
	}
	memset(tap, 0, sizeof(*tap));
	tap->options = *options;
	tap->ring_len = len;
	tap->ring = aligned_alloc(LINE, len);
	if (tap->ring == NULL) {
		free(tap);
		return KNOT_ENOMEM;
	}
	memset(tap->ring, 0, len); /* the pages are there before packets are */
	*ret_tap = tap;
	return KNOT_OK;
}

void kxdp_tap_free(kxdp_tap_t *take_tap)
{
	if (take_tap != NULL) {
		free(take_tap->ring);
		free(take_tap);
	}
}

/* ---- The writer's side ---- */

static void tap_count_packet(atomic_uint_least64_t *counter)
{
	/* Release, for kxdp_tap_stats(): what was counted before is seen with it. */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_release);
}

void kxdp_tap_batch(kxdp_tap_t *tap, uint64_t time_ns)
{
	tap->time_ns = time_ns;
}

/* True: `len` bytes from `head` on are free. */
static bool tap_has_room(kxdp_tap_t *tap, size_t head, size_t len)
{
	if (tap->ring_len - (head - tap->tail_seen) >= len) {
		return true;
	}
	tap->tail_seen = atomic_load_explicit(&tap->tail, memory_order_acquire);
	return tap->ring_len - (head - tap->tail_seen) >= len;
}

static record_t *tap_find_record(const kxdp_tap_t *tap, size_t position)
{
	return (record_t *)(void *)(tap->ring + (position & (tap->ring_len - 1)));
}

void kxdp_tap_put(kxdp_tap_t *tap, kxdp_direction_t direction, const uint8_t *frame, uint32_t len)
{
	tap_count_packet(&tap->seen);
	if (tap->options.match != NULL && !tap->options.match(tap->options.filter, frame, len)) {
		return;
	}
	tap_count_packet(&tap->matched);
	uint32_t captured_len = tap->options.snaplen > 0 && tap->options.snaplen < len ? tap->options.snaplen : len;
	size_t size = sizeof(record_t) + (captured_len + (ALIGN - 1u)) / ALIGN * ALIGN;
	size_t head = atomic_load_explicit(&tap->head, memory_order_relaxed);
	size_t to_end = tap->ring_len - (head & (tap->ring_len - 1));
	size_t gap = to_end < size ? to_end : 0;
	if (!tap_has_room(tap, head, gap + size)) {
		tap_count_packet(&tap->dropped);
		return;
	}
	/* A gap shorter than a record's head is known by its shortness. */
	if (gap >= sizeof(record_t)) {
		*tap_find_record(tap, head) = (record_t){ .size = (uint32_t)gap, .what = GAP };
	}
	record_t *record = tap_find_record(tap, head + gap);
	*record = (record_t){
		.time_ns = tap->time_ns,
		.len = len,
		.captured_len = captured_len,
		.size = (uint32_t)size,
		.what = direction,
	};
	memcpy(record + 1, frame, captured_len);
	atomic_store_explicit(&tap->head, head + gap + size, memory_order_release);
}

/* ---- The reader's side ---- */

bool kxdp_tap_next(kxdp_tap_t *tap, kxdp_tap_record_t *ret_record)
{
	size_t at = tap->read_at;
	atomic_store_explicit(&tap->tail, at, memory_order_release);
	if (at == atomic_load_explicit(&tap->head, memory_order_acquire)) {
		return false;
	}
	size_t to_end = tap->ring_len - (at & (tap->ring_len - 1));
	if (to_end < sizeof(record_t) || tap_find_record(tap, at)->what == GAP) {
		at += to_end;
	}
	const record_t *record = tap_find_record(tap, at);
	assert(record->what < GAP && record->size >= sizeof(*record));
	*ret_record = (kxdp_tap_record_t){
		.time_ns = record->time_ns,
		.len = record->len,
		.captured_len = record->captured_len,
		.direction = record->what,
		.bytes = (const uint8_t *)(record + 1),
	};
	tap->read_at = at + record->size;
	return true;
}

void kxdp_tap_stats(const kxdp_tap_t *tap, kxdp_tap_stats_t *ret_stats)
{
	/* In this order, so that dropped <= matched <= seen for a thread that reads while frames are put. */
	uint64_t dropped = atomic_load_explicit(&tap->dropped, memory_order_acquire);
	uint64_t matched = atomic_load_explicit(&tap->matched, memory_order_acquire);
	uint64_t seen = atomic_load_explicit(&tap->seen, memory_order_acquire);
	*ret_stats = (kxdp_tap_stats_t){ .seen = seen, .matched = matched, .dropped = dropped };
}
