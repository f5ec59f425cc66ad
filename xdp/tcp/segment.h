/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TCP segments as values: read from the bytes behind an IP header, and written there (RFC 9293 3.1, options RFC 7323,
 * 9293 3.2). Checksums are not here: frame.h verifies and fills them in. Pure.
 */
#pragma once

#include "xdp/path.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	KXDP_TCP_FIN = 0x01,
	KXDP_TCP_SYN = 0x02,
	KXDP_TCP_RST = 0x04,
	KXDP_TCP_PSH = 0x08,
	KXDP_TCP_ACK = 0x10,
	KXDP_TCP_HEADER_LEN = 20,
	KXDP_TCP_HEADER_MAX = 60,
};

typedef struct {
	kxdp_flow_t flow;
	kxdp_path_t path;
	uint32_t seq;
	uint32_t ack;           /* 0 without KXDP_TCP_ACK */
	uint16_t window;        /* as in the header, unscaled */
	uint16_t mss;           /* option of a SYN; 0: absent */
	int8_t scale;           /* option of a SYN, 0 to 14 (RFC 7323 2.3); -1: absent */
	uint8_t flags;          /* KXDP_TCP_*; others are cleared */
	uint8_t ecn;            /* of the IP header; sent as 0: ECN is not negotiated */
	uint16_t len;           /* bytes of payload */
	const uint8_t *payload; /* borrowed from the frame; NULL when len is 0 */
} kxdp_segment_t;

/**
 * Read the TCP header at bytes[0..len), where `len` is all of the IP payload. Sets everything but flow, path and ecn.
 * False: cut short, data offset out of range, or an option whose length runs out of the header (RFC 9293 3.1).
 */
bool kxdp_segment_read(const uint8_t *bytes, size_t len, kxdp_segment_t *segment);

/**
 * Write header and options to the `kxdp_segment_header_len()` bytes directly in front of the payload. The checksum
 * field is 0.
 */
void kxdp_segment_write(const kxdp_segment_t *segment, uint8_t *header);

/** 20, or more when `mss` or `scale` is to be sent; a multiple of 4. */
size_t kxdp_segment_header_len(const kxdp_segment_t *segment);
