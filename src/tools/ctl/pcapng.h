/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Writes captured frames as pcapng (draft-ietf-opsawg-pcapng), the format of Wireshark and tcpdump.
 *
 * One section; interfaces are described before their first frame, any time. Time stamps in nanoseconds. Numbers are in
 * the machine's byte order, as the format allows. The stream belongs to the caller; its error flag tells of failed
 * writes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Bits of epb_flags, pcapng 4.3.1. */
typedef enum {
	PCAPNG_INBOUND = 1,
	PCAPNG_OUTBOUND = 2,
} pcapng_direction_t;

/** Section Header Block. application: what wrote the file. */
void pcapng_section(FILE *out, const char *application);

/**
 * Interface Description Block (Ethernet); the first one is interface 0.
 * filter: expression that was used, NULL: none. snaplen: bytes kept of a frame at most, 0: all.
 */
void pcapng_interface(FILE *out, const char *name, uint32_t snaplen, const char *filter);

/** A frame: bytes[0..len) of `original_len` on the wire. */
typedef struct {
	uint32_t interface;
	uint64_t time_ns; /* since 1970 */
	pcapng_direction_t direction;
	const uint8_t *bytes;
	uint32_t len;
	uint32_t original_len;
} pcapng_frame_t;

/** Enhanced Packet Block. */
void pcapng_frame(FILE *out, const pcapng_frame_t *frame);

/** Interface Statistics Block: frames written and, between capture and file, lost. */
typedef struct {
	uint32_t interface;
	uint64_t start_ns, end_ns;
	uint64_t captured; /* passed the filter */
	uint64_t dropped;  /* of these */
} pcapng_statistics_t;

void pcapng_statistics(FILE *out, const pcapng_statistics_t *statistics);
