/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/segment.h"

#include <string.h>

enum {
	FLAGS_KNOWN = KXDP_TCP_FIN | KXDP_TCP_SYN | KXDP_TCP_RST | KXDP_TCP_PSH | KXDP_TCP_ACK,
	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_MSS = 2,   /* RFC 9293 3.7.1 */
	OPTION_SCALE = 3, /* RFC 7323 2.2 */
	MSS_LEN = 4,
	SCALE_LEN = 3,
	SCALE_MOST = 14, /* RFC 7323 2.3: a larger one means 14 */
};

static uint16_t segment_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t segment_load32(const uint8_t *p)
{
	return (uint32_t)segment_load16(p) << 16 | segment_load16(p + 2);
}

static void segment_store16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void segment_store32(uint8_t *p, uint32_t v)
{
	segment_store16(p, (uint16_t)(v >> 16));
	segment_store16(p + 2, (uint16_t)v);
}

/* Options of a length that isn't theirs are skipped like unknown ones (RFC 9293 3.1: MUST-6, MUST-7). */
static void segment_read_option(uint8_t kind, const uint8_t *option, size_t len, kxdp_segment_t *segment)
{
	if (kind == OPTION_MSS && len == MSS_LEN) {
		segment->mss = segment_load16(option + 2);
	} else if (kind == OPTION_SCALE && len == SCALE_LEN) {
		segment->scale = (int8_t)(option[2] < SCALE_MOST ? option[2] : SCALE_MOST);
	}
}

static bool segment_read_options(const uint8_t *options, size_t len, kxdp_segment_t *segment)
{
	for (size_t at = 0; at < len && options[at] != OPTION_END;) {
		if (options[at] == OPTION_NOP) {
			at++;
			continue;
		}
		if (len - at < 2 || options[at + 1] < 2 || options[at + 1] > len - at) {
			return false;
		}
		if (segment->flags & KXDP_TCP_SYN) {
			segment_read_option(options[at], options + at, options[at + 1], segment);
		}
		at += options[at + 1];
	}
	return true;
}

bool kxdp_segment_read(const uint8_t *bytes, size_t len, kxdp_segment_t *segment)
{
	if (len < KXDP_TCP_HEADER_LEN || len > UINT16_MAX) {
		return false;
	}
	size_t header_len = (size_t)(bytes[12] >> 4) * 4;
	if (header_len < KXDP_TCP_HEADER_LEN || header_len > len) {
		return false;
	}
	uint8_t flags = bytes[13] & FLAGS_KNOWN;
	kxdp_segment_t read = {
		.seq = segment_load32(bytes + 4),
		.ack = flags & KXDP_TCP_ACK ? segment_load32(bytes + 8) : 0,
		.window = segment_load16(bytes + 14),
		.scale = -1,
		.flags = flags,
		.len = (uint16_t)(len - header_len),
		.payload = len > header_len ? bytes + header_len : NULL,
	};
	if (!segment_read_options(bytes + KXDP_TCP_HEADER_LEN, header_len - KXDP_TCP_HEADER_LEN, &read)) {
		return false;
	}
	read.flow = segment->flow;
	read.path = segment->path;
	read.ecn = segment->ecn;
	*segment = read;
	return true;
}

size_t kxdp_segment_header_len(const kxdp_segment_t *segment)
{
	return KXDP_TCP_HEADER_LEN + (segment->mss > 0 ? MSS_LEN : 0) + (segment->scale >= 0 ? 1 + SCALE_LEN : 0);
}

void kxdp_segment_write(const kxdp_segment_t *segment, uint8_t *header)
{
	segment_store16(header, segment->flow.local_port);
	segment_store16(header + 2, segment->flow.remote_port);
	segment_store32(header + 4, segment->seq);
	segment_store32(header + 8, segment->flags & KXDP_TCP_ACK ? segment->ack : 0);
	header[12] = (uint8_t)(kxdp_segment_header_len(segment) / 4 << 4);
	header[13] = segment->flags;
	segment_store16(header + 14, segment->window);
	memset(header + 16, 0, 4); /* checksum, urgent pointer */
	uint8_t *option = header + KXDP_TCP_HEADER_LEN;
	if (segment->mss > 0) {
		option[0] = OPTION_MSS;
		option[1] = MSS_LEN;
		segment_store16(option + 2, segment->mss);
		option += MSS_LEN;
	}
	if (segment->scale >= 0) {
		option[0] = OPTION_NOP;
		option[1] = OPTION_SCALE;
		option[2] = SCALE_LEN;
		option[3] = (uint8_t)segment->scale;
	}
}
