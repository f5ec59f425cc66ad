/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * What the sending program and user space agree on: a ring of frames in memory that both see.
 *
 * The program (send.bpf.c) hangs on nothing: bpf_prog_test_run() with live frames calls it again and again (Linux
 * 5.18), each time with a fresh frame of the kernel's, which it fills from the ring and redirects to an interface. That
 * is the driver's ndo_xdp_xmit(), in batches: no socket buffer, no copy but this one. Where the ring is empty the frame
 * is dropped.
 *
 * Maps:
 *   send_slots    array, SEND_SLOTS of struct send_slot; can be mapped into memory
 *   send_control  array, 1 of struct send_control; 〃
 */
#pragma once

#include <linux/types.h>

enum {
	SEND_SLOTS = 4096, /* a power of two */
	SEND_OFF_MAX = 128,
	SEND_LEN_MIN = 60, /* IEEE 802.3 without FCS */
	SEND_LEN_MAX = 1536,
	SEND_ROOM = SEND_OFF_MAX + SEND_LEN_MAX,
	SEND_FRAME_LEN = 64, /* of the frames that the kernel makes, before they are filled */
};

struct send_slot {
	__u16 off; /* of the frame in `bytes`, 0 to SEND_OFF_MAX */
	__u16 len; /* SEND_LEN_MIN to SEND_LEN_MAX */
	__u8 bytes[SEND_ROOM];
	__u32 zero;
};

/** On cache lines of their own. Numbers count up and wrap; a slot's place is its number mod SEND_SLOTS. */
struct send_control {
	__u32 ifindex;
	__u32 pad[15];
	__u32 head; /* user space's: frames before it are filled */
	__u32 pad_head[15];
	__u32 tail;   /* the program's: frames before it have been taken */
	__u32 failed; /* of those, with a length that can't be, or no room */
	__u32 barrier;
	__u32 pad_tail[13];
};
