/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/segment.h"

#include "libknot/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PORTS "3039 0035 "

/* Header fields behind the ports: seq, ack, offset and flags, window, checksum, urgent pointer; then options and
 * payload. */
static const struct {
	const char *what, *hex;
	bool ok;
	kxdp_segment_t want;
} rows[] = {
	{ "no options (RFC 9293 3.1)", PORTS "01020304 0a0b0c0d 5010 1234 ffff 0000", true,
			{ .seq = 0x01020304,
					.ack = 0x0a0b0c0d,
					.window = 0x1234,
					.scale = -1,
					.flags = KXDP_TCP_ACK } },
	{ "payload", PORTS "01020304 0a0b0c0d 5018 1234 ffff 0000 616263", true,
			{ .seq = 0x01020304,
					.ack = 0x0a0b0c0d,
					.window = 0x1234,
					.scale = -1,
					.flags = KXDP_TCP_ACK | KXDP_TCP_PSH,
					.len = 3 } },
	{ "empty", "", false, { .seq = 0 } },
	{ "cut short", PORTS "01020304 0a0b0c0d 5010 1234 ffff 00", false, { .seq = 0 } },
	{ "data offset 4", PORTS "01020304 0a0b0c0d 4010 1234 ffff 0000", false, { .seq = 0 } },
	{ "data offset 15 of 20 bytes", PORTS "01020304 0a0b0c0d f010 1234 ffff 0000", false, { .seq = 0 } },
	{ "no ACK flag: no acknowledgment number", PORTS "01020304 0a0b0c0d 5002 1234 ffff 0000", true,
			{ .seq = 0x01020304, .window = 0x1234, .scale = -1, .flags = KXDP_TCP_SYN } },
	{ "reserved bits, ECN and URG flags are cleared (3.1)", PORTS "01020304 0a0b0c0d 5ff0 1234 ffff 1111", true,
			{ .seq = 0x01020304,
					.ack = 0x0a0b0c0d,
					.window = 0x1234,
					.scale = -1,
					.flags = KXDP_TCP_ACK } },
	{ "MSS (3.7.1)", PORTS "01020304 00000000 6002 1234 ffff 0000 020405b4", true,
			{ .seq = 0x01020304, .window = 0x1234, .mss = 1460, .scale = -1, .flags = KXDP_TCP_SYN } },
	{ "MSS, NOP, scale 7 (RFC 7323 2.2)", PORTS "01020304 00000000 7002 1234 ffff 0000 020405b4 01030307", true,
			{ .seq = 0x01020304, .window = 0x1234, .mss = 1460, .scale = 7, .flags = KXDP_TCP_SYN } },
	{ "scale 255 is 14 (RFC 7323 2.3)", PORTS "01020304 00000000 6002 1234 ffff 0000 0303ff01", true,
			{ .seq = 0x01020304, .window = 0x1234, .scale = 14, .flags = KXDP_TCP_SYN } },
	{ "options of a segment without SYN mean nothing (RFC 7323 2.2)",
			PORTS "01020304 00000000 7010 1234 ffff 0000 020405b4 01030307", true,
			{ .seq = 0x01020304, .window = 0x1234, .scale = -1, .flags = KXDP_TCP_ACK } },
	{ "unknown options are skipped (MUST-6): SACK-permitted, timestamps",
			PORTS "01020304 00000000 a002 1234 ffff 0000 020405b4 0402080a 00000001 00000000 01030307",
			true, { .seq = 0x01020304, .window = 0x1234, .mss = 1460, .scale = 7, .flags = KXDP_TCP_SYN } },
	{ "end of options: the rest is padding", PORTS "01020304 00000000 7002 1234 ffff 0000 00040404 020405b4", true,
			{ .seq = 0x01020304, .window = 0x1234, .scale = -1, .flags = KXDP_TCP_SYN } },
	{ "option of length 0 (MUST-7)", PORTS "01020304 00000000 6002 1234 ffff 0000 08000000", false, { .seq = 0 } },
	{ "option of length 1", PORTS "01020304 00000000 6002 1234 ffff 0000 08010000", false, { .seq = 0 } },
	{ "option that runs out of the header", PORTS "01020304 00000000 6002 1234 ffff 0000 010108ff", false,
			{ .seq = 0 } },
	{ "option without length", PORTS "01020304 00000000 6002 1234 ffff 0000 01010108", false, { .seq = 0 } },
	{ "MSS of a wrong length is skipped", PORTS "01020304 00000000 6002 1234 ffff 0000 02030501", true,
			{ .seq = 0x01020304, .window = 0x1234, .scale = -1, .flags = KXDP_TCP_SYN } },
};

/* Bytes of exact size on the heap, so that ASan sees a read of one more. */
static uint8_t *bytes_of(const char *hex, size_t *ret_len)
{
	uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
	size_t len = 0;
	for (unsigned value; *hex != '\0'; hex += *hex != '\0') {
		if (*hex != ' ' && sscanf(hex++, "%2x", &value) == 1) {
			bytes[len++] = (uint8_t)value;
		}
	}
	uint8_t *exact = realloc(bytes, len > 0 ? len : 1);
	*ret_len = len;
	return exact;
}

static void test_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		size_t len;
		uint8_t *bytes = bytes_of(rows[i].hex, &len);
		kxdp_segment_t segment = { .flow = { .remote_port = 7 }, .path = { .mtu = 8 }, .ecn = 3, .seq = 0xee },
			       before = segment;
		if (kxdp_segment_read(bytes, len, &segment) != rows[i].ok) {
			fail_msg("%s", rows[i].what);
		}
		kxdp_segment_t want = rows[i].ok ? rows[i].want : before;
		want.flow = before.flow;
		want.path = before.path;
		want.ecn = before.ecn;
		want.payload = want.len > 0 ? bytes + len - want.len : NULL;
		bool same = segment.seq == want.seq && segment.ack == want.ack && segment.window == want.window &&
			    segment.mss == want.mss && segment.scale == want.scale && segment.flags == want.flags &&
			    segment.len == want.len && segment.payload == want.payload && segment.ecn == want.ecn &&
			    segment.path.mtu == want.path.mtu && segment.flow.remote_port == want.flow.remote_port;
		if (!same) {
			fail_msg("%s: seq %x ack %x window %x mss %u scale %d flags %x len %u", rows[i].what,
					segment.seq, segment.ack, segment.window, segment.mss, segment.scale,
					segment.flags, segment.len);
		}
		free(bytes);
	}
}

/* What is written reads the same; cut anywhere, nothing breaks. */
static void test_write(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		kxdp_segment_t segment = {
			.flow = { .remote_port = (uint16_t)(i * 77), .local_port = 53 },
			.seq = i * 0x9e3779b9u,
			.ack = i * 0x85ebca6bu,
			.window = (uint16_t)(i * 131),
			.mss = (uint16_t)(i % 3 == 0 ? 0 : i * 13),
			.scale = (int8_t)(i % 5 == 0 ? -1 : (int)(i % 15)),
			.flags = KXDP_TCP_SYN | (i % 2 ? KXDP_TCP_ACK : 0),
		};
		segment.ack = segment.flags & KXDP_TCP_ACK ? segment.ack : 0;
		size_t len = kxdp_segment_header_len(&segment);
		assert_true(len % 4 == 0 && len <= KXDP_TCP_HEADER_MAX);
		uint8_t *bytes = malloc(len);
		memset(bytes, 0xee, len);
		kxdp_segment_write(&segment, bytes);
		assert_int_equal(bytes[0] << 8 | bytes[1], segment.flow.local_port);
		assert_int_equal(bytes[2] << 8 | bytes[3], segment.flow.remote_port);
		assert_int_equal(bytes[16] | bytes[17] | bytes[18] | bytes[19], 0);
		kxdp_segment_t read = { .flow = segment.flow };
		assert_true(kxdp_segment_read(bytes, len, &read));
		assert_memory_equal(&read, &segment, sizeof(read));
		for (size_t cut = 0; cut < len; cut++) {
			kxdp_segment_t untouched = segment;
			assert_false(kxdp_segment_read(bytes, cut, &untouched));
			assert_memory_equal(&untouched, &segment, sizeof(untouched));
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_write),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
