/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies that leave by another interface than their queries came in on: an inbox per XDP worker, of whole frames.
 *
 * A bounded ring with many senders and one receiver (D. Vyukov's bounded queue: a sequence number per slot, one
 * compare-and-swap per frame). Not a ring per pair of workers: there would be the square of their number, coming and
 * going with every queue. A full inbox drops, as a full device would. The sender wakes the receiver through its
 * eventfd only when that has announced that it sleeps.
 *
 * Threads: relay_send() from any; take, sleep and awake from the inbox's worker. A sender must make sure that the
 * inbox exists: it reads xdp_worker_set_t within the read section. Cost: no allocation or lock per frame; a copy in, a
 * copy out.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RELAY_SLOTS = 256,      /* frames; a power of two */
	RELAY_FRAME_MAX = 2048, /* bytes per frame, see KXDP_FRAME_SIZE */
};

typedef struct relay relay_t;

/** KNOT_ENOMEM, or why there is no eventfd. */
KNOT_MUST_USE knot_err_t relay_new(relay_t **ret_relay);

/** Frames in it are lost. NULL is fine. */
void relay_free(relay_t *take_relay);

/** Put a copy of frame[0..len) in, len at most RELAY_FRAME_MAX. False: full, nothing happened. */
bool relay_send(relay_t *relay, const uint8_t *frame, size_t len);

/** True: relay_take() would find a frame. */
bool relay_has(const relay_t *relay);

/** The next frame, copied to frame[0..RELAY_FRAME_MAX); its length, 0: none. */
size_t relay_take(relay_t *relay, uint8_t *frame);

/** Readable when a sender woke the worker. */
int relay_fd(const relay_t *relay);

/** End the worker's sleep, or the next one, though there is no frame. */
void relay_wake(const relay_t *relay);

/** Before the worker sleeps. False: frames have come, don't. */
bool relay_sleep(relay_t *relay);

/** After the worker slept: senders needn't wake it. is_woken: relay_fd() was readable. */
void relay_awake(relay_t *relay, bool is_woken);
