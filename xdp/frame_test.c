/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/checksum.h"
#include "xdp/frame_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* A copy of exact size, so that ASan sees a read of one byte more. */
static uint8_t *exact_copy(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	memcpy(copy, bytes, len);
	return copy;
}

static void test_verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		frame_t f;
		build(&f, &rows[i]);
		uint8_t *copy = exact_copy(f.bytes, f.len);
		kxdp_packet_t p, untouched;
		memset(&p, 0xEE, sizeof(p));
		untouched = p;
		kxdp_verdict_t got = kxdp_frame_parse(copy, f.len, f.len, MTU, &p);
		if (got != rows[i].want) {
			fail_msg("%s: %s, want %s", rows[i].what, kxdp_verdict_name(got),
				 kxdp_verdict_name(rows[i].want));
		}
		assert_memory_equal(copy, f.bytes, f.len);
		if (got != KXDP_OK && got != KXDP_PARTIAL_CHECKSUM) {
			assert_memory_equal(&p, &untouched, sizeof(p));
		}
		free(copy);
	}
}

static void check_addresses(const row_t *row, const kxdp_packet_t *p)
{
	if (row->v6) {
		assert_int_equal(p->remote.in6.sin6_family, AF_INET6);
		assert_int_equal(p->local.in6.sin6_family, AF_INET6);
		assert_memory_equal(&p->remote.in6.sin6_addr, ips6[0], 16);
		assert_memory_equal(&p->local.in6.sin6_addr, ips6[1], 16);
		assert_int_equal(ntohs(p->remote.in6.sin6_port), ports[0]);
		assert_int_equal(ntohs(p->local.in6.sin6_port), ports[1]);
	} else {
		assert_int_equal(p->remote.in.sin_family, AF_INET);
		assert_int_equal(p->local.in.sin_family, AF_INET);
		assert_memory_equal(&p->remote.in.sin_addr, ips4[0], 4);
		assert_memory_equal(&p->local.in.sin_addr, ips4[1], 4);
		assert_int_equal(ntohs(p->remote.in.sin_port), ports[0]);
		assert_int_equal(ntohs(p->local.in.sin_port), ports[1]);
	}
}

/* The frame of each good row becomes, byte for byte, the frame that the builder makes for the reply. */
static void test_replies(void **state)
{
	(void)state;
	static const unsigned reply_lens[] = { 0, 1, 12, 31, 40, 200, 511, 1232, MTU - 48 };
	for (size_t i = 0; i < KNOT_LEN(rows) * KNOT_LEN(reply_lens); i++) {
		const row_t *row = &rows[i / KNOT_LEN(reply_lens)];
		unsigned reply_len = reply_lens[i % KNOT_LEN(reply_lens)];
		if (row->want != KXDP_OK && row->want != KXDP_PARTIAL_CHECKSUM) {
			continue;
		}
		frame_t f, want;
		build(&f, row);
		kxdp_packet_t p;
		assert_int_equal(kxdp_frame_parse(f.bytes, f.len, sizeof(f.bytes), MTU, &p), row->want);
		assert_int_equal(p.payload_len, row->payload_len);
		assert_ptr_equal(p.payload, f.bytes + f.udp_off + 8);
		assert_int_equal(p.payload_max, MTU - (row->v6 ? 48 : 28));
		assert_int_equal(p.is_ipv6, row->v6);
		assert_int_equal(p.ecn, ECN_SENT);
		assert_int_equal(p.vlan_count * 4, f.ip_off - 14);
		check_addresses(row, &p);

		row_t reply_row = *row;
		reply_row.as_reply = reply_row.swapped = true;
		reply_row.no_checksum = reply_row.partial_checksum = false;
		reply_row.set = reply_row.spoil = (patch_t){ .at = AT_NOTHING };
		reply_row.payload_len = reply_len;
		reply_row.padding = 0;
		build(&want, &reply_row);
		size_t want_len = want.len < 60 ? 60 : want.len;

		memset(p.payload + reply_len, 0xEE, sizeof(f.bytes) - f.udp_off - 8 - reply_len);
		memcpy(p.payload, want.bytes + want.udp_off + 8, reply_len);
		uint8_t *start;
		size_t len = kxdp_frame_reply(&p, reply_len, &start);
		if (len != want_len || memcmp(start, want.bytes, len) != 0) {
			fail_msg("%s: reply of %u bytes differs", row->what, reply_len);
		}
		assert_true(start >= f.bytes);
		assert_ptr_equal(start + f.ip_off + (row->v6 ? 48 : 28), p.payload);
	}
}

static void test_room(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		size_t room;
		uint16_t mtu;
		const char *extra;
		unsigned want;
	} room_rows[] = {
		{ "MTU is the limit", 1792, 1500, NULL, 1472 },
		{ "frame is the limit", 1792, 9000, NULL, 1792 - 42 },
		{ "options take from the frame", 1792, 9000, "01010100", 1792 - 46 },
		{ "options don't take from the MTU", 1792, 1500, "01010100", 1472 },
		{ "MTU below the headers", 1792, 20, NULL, 0 },
		{ "no room behind the query", 14 + 28 + 10, 1500, NULL, 10 },
	};
	for (size_t i = 0; i < KNOT_LEN(room_rows); i++) {
		frame_t f;
		build(&f, &(row_t){ .payload_len = 10, .extra = room_rows[i].extra });
		kxdp_packet_t p;
		assert_int_equal(kxdp_frame_parse(f.bytes, f.len, room_rows[i].room, room_rows[i].mtu, &p), KXDP_OK);
		if (p.payload_max != room_rows[i].want) {
			fail_msg("%s: %u, want %u", room_rows[i].what, p.payload_max, room_rows[i].want);
		}
	}
	/* A frame without room for padding stays short instead of growing over its end. */
	frame_t f;
	build(&f, &(row_t){ .payload_len = 4 });
	uint8_t *copy = exact_copy(f.bytes, f.len), *start;
	kxdp_packet_t p;
	assert_int_equal(kxdp_frame_parse(copy, f.len, f.len, MTU, &p), KXDP_OK);
	assert_int_equal(kxdp_frame_reply(&p, 4, &start), f.len);
	free(copy);
}

/* What checksums are for: no single wrong bit of an IPv4 datagram gets through. */
static void test_each_bit_matters(void **state)
{
	(void)state;
	frame_t f;
	build(&f, &(row_t){ .payload_len = 37, .extra = "01010100" });
	for (size_t bit = f.ip_off * 8; bit < f.len * 8; bit++) {
		uint8_t *copy = exact_copy(f.bytes, f.len);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		kxdp_packet_t p;
		if (kxdp_frame_parse(copy, f.len, f.len, MTU, &p) == KXDP_OK) {
			fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
		}
		free(copy);
	}
}

/* A reply whose sum is 0 is sent as 0xFFFF: 0 would say that there is no checksum (RFC 768). */
static void test_zero_sum(void **state)
{
	(void)state;
	unsigned zeros = 0;
	for (unsigned i = 0; i <= UINT16_MAX; i++) {
		frame_t f;
		build(&f, &(row_t){ .payload_len = 2 });
		kxdp_packet_t p;
		assert_int_equal(kxdp_frame_parse(f.bytes, f.len, sizeof(f.bytes), MTU, &p), KXDP_OK);
		store_be16(p.payload, (uint16_t)i);
		uint8_t *start;
		size_t len = kxdp_frame_reply(&p, 2, &start);
		zeros += load_raw16(p.payload - 2) == 0xFFFF;
		assert_int_not_equal(load_raw16(p.payload - 2), 0);
		/* Our own parser takes it back in. */
		assert_int_equal(kxdp_frame_parse(start, len, len, MTU, &p), KXDP_OK);
	}
	assert_int_equal(zeros, 1); /* one payload of 65536 brings the sum to 0 */
}

static void test_checksum_against_textbook(void **state)
{
	(void)state;
	uint8_t bytes[600];
	uint32_t seed = 2463534242;
	for (unsigned round = 0; round < 2000; round++) {
		size_t len = 8 + round % 580;
		for (size_t i = 0; i < len; i++) {
			seed ^= seed << 13;
			seed ^= seed >> 17;
			seed ^= seed << 5;
			bytes[i] = round % 3 == 0 ? 0xFF : (uint8_t)(seed >> 24);
		}
		uint8_t *copy = exact_copy(bytes, len);
		uint16_t folded = checksum_fold(checksum_bytes(round % 5 == 0 ? UINT64_MAX : 0, copy, len));
		uint16_t want = naive_sum(0, bytes, len);
		assert_int_equal(load_be16((const uint8_t *)&folded) % 0xFFFF, want % 0xFFFF);
		free(copy);
	}
	assert_int_equal(checksum_fold(0), 0);
	assert_int_equal(checksum_fold(UINT64_MAX), 0xFFFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts), cmocka_unit_test(test_replies),
		cmocka_unit_test(test_room),     cmocka_unit_test(test_each_bit_matters),
		cmocka_unit_test(test_zero_sum), cmocka_unit_test(test_checksum_against_textbook),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
