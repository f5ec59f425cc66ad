/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies that leave by another interface than their queries came in on: an inbox per XDP worker, and the table of
 * which interface is served by which inboxes and which VLAN device lies on what.
 *
 * An inbox is a bounded ring of whole frames with many senders and one receiver (D. Vyukov's bounded queue: a sequence
 * number per slot, one compare-and-swap per frame; not a ring per pair of workers, of which there would be the square
 * of their number, coming and going with every queue). A full inbox drops, as a full device queue would. The receiver
 * is woken through its eventfd only when it said that it sleeps.
 *
 * Threads: relay_join(), relay_leave(), relay_set_vlans() from one control thread at a time, registered for RCU, not in
 * a read section. relay_table() and what is done with it: any thread within a read section. relay_inbox_take() and
 * _sleep(), _awake(): the inbox's worker. Cost: no allocation or lock per frame; a copy in, a copy out.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "src/sys/rcu.h"
#include "xdp/path.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	RELAY_INBOX_SLOTS = 256,  /* frames; a power of two */
	RELAY_FRAME_MAX = 2048,   /* bytes per frame, see KXDP_FRAME_SIZE */
};

typedef struct relay relay_t;
typedef struct relay_inbox relay_inbox_t;
typedef struct relay_table relay_table_t;

/** A device made by `ip link add … type vlan`. */
typedef struct {
	uint32_t ifindex;
	uint32_t lower_ifindex; /* the device it is made on; may be a VLAN device itself */
	kxdp_tag_t tag;         /* priority 0 */
} relay_vlan_t;

/** KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t relay_new(relay_t **ret_relay);

/** All inboxes must have left. NULL is fine. */
void relay_free(relay_t *take_relay);

/**
 * Add an inbox for a worker of interface `ifindex`. wake_fd: an eventfd that the worker polls; borrowed until
 * relay_leave(). KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t relay_join(relay_t *relay, uint32_t ifindex, int wake_fd, relay_inbox_t **ret_inbox);

/** Nobody sends to the inbox any more when this returns; its frames are lost. After its worker ended. NULL is fine. */
void relay_leave(relay_t *relay, relay_inbox_t *take_inbox);

/** Replace the VLAN devices. vlans[0..count): copied. KNOT_ENOMEM: the old ones stay. */
KNOT_MUST_USE knot_err_t relay_set_vlans(relay_t *relay, const relay_vlan_t *vlans, size_t count);

/** Valid until the end of the section. */
const relay_table_t *relay_table(const relay_t *relay, rcu_guard_t guard);

/**
 * Turn a path that names a VLAN device into one that names the device below with the tags in front. False: no way on
 * a link, `ifindex` is of more VLAN devices on each other than KXDP_TAGS_MAX. Paths of other devices stay as they are.
 */
bool relay_resolve(const relay_table_t *table, kxdp_path_t *path);

/** What became of a frame. */
typedef enum {
	RELAY_SENT,
	RELAY_FULL,    /* dropped */
	RELAY_NO_PORT, /* no worker sends on that interface */
} relay_result_t;

/**
 * Put a copy of frame[0..len), len at most RELAY_FRAME_MAX, into an inbox of interface `ifindex`. hint: equal values go to
 * the same worker, so that a connection's segments stay in order.
 */
relay_result_t relay_send(const relay_table_t *table, uint32_t ifindex, uint32_t hint, const uint8_t *frame, size_t len);

/** The next frame, copied to frame[0..RELAY_FRAME_MAX); its length, 0: none. */
size_t relay_inbox_take(relay_inbox_t *inbox, uint8_t *frame);

/** Before the worker sleeps. False: frames have come, don't. */
bool relay_inbox_sleep(relay_inbox_t *inbox);

/** After the worker slept: senders needn't wake it. */
void relay_inbox_awake(relay_inbox_t *inbox);

/**
 * Read VLAN devices from the answer to RTM_GETLINK: messages[0..len) of one recv(). ret_vlans[0..max) is filled from
 * *io_count on. Returns false at the end of the answer (NLMSG_DONE, an error, or bytes that are no message).
 */
bool relay_vlans_parse(const uint8_t *messages, size_t len, relay_vlan_t *ret_vlans, size_t max, size_t *io_count);

/** Ask the kernel for the VLAN devices of this network namespace. Their number, at most `max`. */
KNOT_MUST_USE knot_err_t relay_vlans_read(relay_vlan_t *ret_vlans, size_t max, size_t *ret_count);
