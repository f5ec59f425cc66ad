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

static const row_t *row_at(size_t i)
{
	return i < KNOT_LEN(rows) ? &rows[i] : &tcp_rows[i - KNOT_LEN(rows)];
}

enum { ROW_COUNT = KNOT_LEN(rows) + KNOT_LEN(tcp_rows) };

static bool is_good(const row_t *row)
{
	return row->want == KXDP_OK || row->want == KXDP_PARTIAL_CHECKSUM;
}

static void test_verdicts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const row_t *row = row_at(i);
		frame_t f;
		build(&f, row);
		uint8_t *copy = exact_copy(f.bytes, f.len);
		kxdp_packet_t p, untouched;
		memset(&p, 0xEE, sizeof(p));
		untouched = p;
		kxdp_verdict_t got = kxdp_frame_parse(copy, f.len, f.len, MTU, &p);
		if (got != row->want) {
			fail_msg("%s: %s, want %s", row->what, kxdp_verdict_name(got), kxdp_verdict_name(row->want));
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
		if (!is_good(row)) {
			continue;
		}
		frame_t f, want;
		build(&f, row);
		kxdp_packet_t p;
		assert_int_equal(kxdp_frame_parse(f.bytes, f.len, sizeof(f.bytes), MTU, &p), row->want);
		assert_int_equal(p.payload_len, row->payload_len);
		assert_ptr_equal(p.payload, f.bytes + f.udp_off + 8);
		assert_int_equal(p.payload_max, MTU - (row->v6 ? 48 : 28));
		assert_int_equal(p.ip_proto, IPPROTO_UDP);
		assert_int_equal(p.is_ipv6, row->v6);
		assert_false(p.is_routed);
		assert_int_equal(kxdp_packet_kind(&p), row->v6 ? KXDP_UDP6 : KXDP_UDP4);
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

/* The frame that answers `row`: what a reply looks like, from server to client. */
static void build_answer(frame_t *f, const row_t *row)
{
	row_t answer = *row;
	answer.as_reply = answer.swapped = true;
	answer.no_checksum = answer.partial_checksum = false;
	answer.set = answer.spoil = (patch_t){ .at = AT_NOTHING };
	answer.padding = 0;
	build(f, &answer);
	f->len = f->len < 60 ? 60 : f->len;
}

static kxdp_flow_t flow_of(const row_t *row)
{
	kxdp_flow_t flow = { .remote_port = ports[0], .local_port = ports[1] };
	if (row->v6) {
		memcpy(flow.remote, ips6[0], 16);
		memcpy(flow.local, ips6[1], 16);
	} else {
		flow.remote[10] = flow.remote[11] = flow.local[10] = flow.local[11] = 0xFF;
		memcpy(flow.remote + 12, ips4[0], 4);
		memcpy(flow.local + 12, ips4[1], 4);
	}
	return flow;
}

static kxdp_path_t path_of(const row_t *row)
{
	uint8_t tags[12];
	kxdp_path_t path = { .tag_count = (uint8_t)(put_hex(tags, row->tags) / 4), .mtu = MTU };
	memcpy(path.remote_mac, macs[0], 6);
	memcpy(path.local_mac, macs[1], 6);
	for (unsigned i = 0; i < path.tag_count; i++) {
		path.tags[i] = (kxdp_tag_t){ load_raw16(tags + 4 * i), load_raw16(tags + 4 * i + 2) };
	}
	return path;
}

/* Segments are given out whole, with flow and path, compared as bytes. */
static void test_segments(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(tcp_rows); i++) {
		const row_t *row = &tcp_rows[i];
		if (!is_good(row)) {
			continue;
		}
		frame_t f;
		build(&f, row);
		kxdp_packet_t p;
		memset(&p, 0xEE, sizeof(p));
		assert_int_equal(kxdp_frame_parse(f.bytes, f.len, sizeof(f.bytes), MTU, &p), row->want);
		assert_ptr_equal(p.payload, f.bytes + f.udp_off);
		assert_int_equal(p.payload_len, f.payload_off - f.udp_off + row->payload_len);
		assert_int_equal(p.payload_max, 0);
		assert_int_equal(p.ip_proto, IPPROTO_TCP);
		assert_int_equal(kxdp_packet_kind(&p), row->v6 ? KXDP_TCP6 : KXDP_TCP4);
		assert_int_equal(p.ecn, ECN_SENT);
		check_addresses(row, &p);
		const kxdp_flow_t flow = flow_of(row);
		const kxdp_path_t path = path_of(row);
		assert_memory_equal(&p.flow, &flow, sizeof(flow));
		assert_memory_equal(&p.path, &path, sizeof(path));
		assert_int_equal(kxdp_flow_is_ipv4(&p.flow), !row->v6);
	}
}

/* What is built is, byte for byte, the frame that the builder of the tests makes. */
static void test_built(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const row_t *row = row_at(i);
		if (!is_good(row)) {
			continue;
		}
		frame_t want;
		build_answer(&want, row);
		size_t transport_len = want.payload_off - want.udp_off + row->payload_len;
		/* All the room there has to be, and no byte more. */
		size_t room = KXDP_HEADERS_MAX + (transport_len < 46 ? 46 : transport_len);
		uint8_t *bytes = malloc(room), *transport = bytes + KXDP_HEADERS_MAX, *start;
		memset(bytes, 0xEE, room);
		memcpy(transport, want.bytes + want.udp_off, transport_len);
		memset(transport + (row->tcp ? TCP_CHECKSUM_AT : 6), 0x55, 2);
		const kxdp_flow_t flow = flow_of(row);
		const kxdp_path_t path = path_of(row);
		size_t len = kxdp_frame_build(&path, &flow, row->tcp ? IPPROTO_TCP : IPPROTO_UDP, ECN_SENT, transport,
				transport_len, &start);
		if (len != want.len || start < bytes || memcmp(start, want.bytes, len) != 0) {
			fail_msg("%s: frame differs", row->what);
		}
		assert_ptr_equal(start + want.udp_off, transport);
		memset(bytes, 0xEE, KXDP_HEADERS_MAX);
		len = kxdp_frame_build_ip(&flow, row->tcp ? IPPROTO_TCP : IPPROTO_UDP, ECN_SENT, transport,
				transport_len, &start);
		assert_int_equal(len, want.payload_off - want.ip_off + row->payload_len);
		assert_memory_equal(start, want.bytes + want.ip_off, len);
		assert_int_equal(start[-1], 0xEE);
		free(bytes);
	}
}

/* A routed reply has the MACs and tags of its path, whatever the query had; all else is as ever. */
static void test_routed(void **state)
{
	(void)state;
	static const char *const tags[] = { NULL, "8100 0007", "88A8 0008 8100 E009" };
	for (size_t i = 0; i < KNOT_LEN(rows) * KNOT_LEN(tags); i++) {
		const row_t *row = &rows[i / KNOT_LEN(tags)];
		if (!is_good(row)) {
			continue;
		}
		uint8_t memory[KXDP_REPLY_HEADROOM + FRAME_MAX], *start;
		memset(memory, 0xEE, sizeof(memory));
		frame_t f, want;
		build(&f, row);
		uint8_t *frame = memory + KXDP_REPLY_HEADROOM;
		memcpy(frame, f.bytes, f.len);
		kxdp_packet_t p;
		assert_int_equal(kxdp_frame_parse(frame, f.len, FRAME_MAX, MTU, &p), row->want);
		const kxdp_path_t back = kxdp_packet_path(&p);
		row_t routed = *row;
		assert_memory_equal(back.remote_mac, macs[0], 6);
		assert_memory_equal(back.local_mac, macs[1], 6);
		assert_int_equal(back.tag_count, p.vlan_count);
		routed.tags = tags[i % KNOT_LEN(tags)];
		build_answer(&want, &routed);
		memcpy(want.bytes, "\x02router\x02local", 12);
		p.is_routed = true;
		p.path = path_of(&routed);
		memcpy(p.path.remote_mac, want.bytes, 6);
		memcpy(p.path.local_mac, want.bytes + 6, 6);
		const kxdp_path_t path = kxdp_packet_path(&p);
		assert_memory_equal(&path, &p.path, sizeof(path));
		memcpy(p.payload, want.bytes + want.payload_off, row->payload_len);
		size_t len = kxdp_frame_reply(&p, row->payload_len, &start);
		if (len != want.len || start < memory || memcmp(start, want.bytes, len) != 0) {
			fail_msg("%s: routed reply with tags '%s' differs", row->what, routed.tags);
		}
		len = kxdp_frame_reply_ip(&p, row->payload_len, &start);
		assert_memory_equal(start, want.bytes + want.ip_off, len);
		assert_int_equal(len, want.payload_off - want.ip_off + row->payload_len);
	}
}

/* For counting frames that failed: any prefix of any frame has a kind, whole ones the right one. */
static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const row_t *row = row_at(i);
		frame_t f;
		build(&f, row);
		for (size_t len = 0; len <= f.len; len += len < 100 ? 1 : 37) {
			uint8_t *copy = exact_copy(f.bytes, len);
			assert_in_range(kxdp_frame_kind(copy, len), 0, KXDP_KIND_COUNT - 1);
			free(copy);
		}
		kxdp_kind_t want = (row->tcp ? KXDP_TCP4 : KXDP_UDP4) + (row->v6 ? 1 : 0);
		bool has_checksum_fault = row->want >= KXDP_BAD_IP_CHECKSUM;
		if (is_good(row) || has_checksum_fault || (row->want == KXDP_FRAGMENT && row->v6)) {
			if (kxdp_frame_kind(f.bytes, f.len) != want) {
				fail_msg("%s: %s", row->what, kxdp_kind_name(kxdp_frame_kind(f.bytes, f.len)));
			}
		}
	}
	assert_string_equal(kxdp_kind_name(KXDP_TCP6), "tcp6");
	assert_string_equal(kxdp_kind_name(KXDP_OTHER_KIND), "other");
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

/* What checksums are for: no single wrong bit of an IPv4 packet gets through. */
static void check_each_bit(const row_t *row)
{
	frame_t f;
	build(&f, row);
	for (size_t bit = f.ip_off * 8; bit < f.len * 8; bit++) {
		uint8_t *copy = exact_copy(f.bytes, f.len);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		kxdp_packet_t p;
		if (kxdp_frame_parse(copy, f.len, f.len, MTU, &p) == KXDP_OK) {
			fail_msg("%s: bit %zu of byte %zu", row->what, bit % 8, bit / 8);
		}
		free(copy);
	}
}

static void test_each_bit_matters(void **state)
{
	(void)state;
	check_each_bit(&(row_t){ "UDP", .payload_len = 37, .extra = "01010100" });
	check_each_bit(&(row_t){
			"TCP", .payload_len = 37, .extra = "01010100", .tcp = true, .tcp_options = "01010101" });
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
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_built),
		cmocka_unit_test(test_routed),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_each_bit_matters),
		cmocka_unit_test(test_zero_sum),
		cmocka_unit_test(test_checksum_against_textbook),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
