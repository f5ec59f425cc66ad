/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Frame in, verified; frame out, checksums filled in: nanoseconds per query and reply, best of five runs.
 * Instructions: valgrind --tool=callgrind. Frames come from the cache here; on the wire the first touch costs more.
 */
#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "xdp/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAMES = 64, FRAME_SIZE = 2048, ROUNDS = 20000, RUNS = 5 };

static uint8_t frames[FRAMES][FRAME_SIZE] __attribute__((aligned(4096)));

/* A query is the reply to a packet that never was: the writer needs only its addresses. */
static size_t make_query(uint8_t *frame, bool is_ipv6, unsigned payload_len)
{
	memset(frame, 0, FRAME_SIZE);
	frame[0] = frame[6] = 2;
	store_be16(frame + 12, is_ipv6 ? 0x86DD : 0x0800);
	kxdp_packet_t packet = {
		.payload = frame + 14 + (is_ipv6 ? 48 : 28),
		.payload_max = 1400,
		.is_ipv6 = is_ipv6,
		.frame = frame,
		.frame_room = FRAME_SIZE,
		.ip_off = 14,
	};
	packet.remote.in.sin_port = htons(53);
	packet.local.in.sin_port = htons(40000);
	if (is_ipv6) {
		memset(&packet.remote.in6.sin6_addr, 0x20, 16);
		memset(&packet.local.in6.sin6_addr, 0x21, 16);
	} else {
		packet.remote.in.sin_addr.s_addr = htonl(0xC0000201);
		packet.local.in.sin_addr.s_addr = htonl(0xC0000202);
	}
	uint8_t *start;
	return kxdp_frame_reply(&packet, payload_len, &start);
}

static double run_ns(bool is_ipv6, unsigned payload_len)
{
	size_t len = 0;
	for (unsigned i = 0; i < FRAMES; i++) {
		len = make_query(frames[i], is_ipv6, payload_len);
	}
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < FRAMES; i++) {
			/* A reply of the same length is a query again: no copy is measured. */
			kxdp_packet_t packet;
			uint8_t *start;
			if (kxdp_frame_parse(frames[i], len, FRAME_SIZE, 1500, &packet) != KXDP_OK) {
				abort();
			}
			len = kxdp_frame_reply(&packet, payload_len, &start);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	double ns = (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
	return ns / ((double)ROUNDS * FRAMES);
}

int main(void)
{
	static const struct {
		bool is_ipv6;
		unsigned len;
	} rows[] = { { false, 48 }, { false, 200 }, { false, 1232 }, { true, 48 }, { true, 200 }, { true, 1232 } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		double best = 0;
		for (unsigned run = 0; run < RUNS; run++) {
			double ns = run_ns(rows[i].is_ipv6, rows[i].len);
			best = best == 0 || ns < best ? ns : best;
		}
		printf("frame, IPv%d, query and reply of %u bytes: %.1f ns\n", rows[i].is_ipv6 ? 6 : 4, rows[i].len,
				best);
	}
	return 0;
}
