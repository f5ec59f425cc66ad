/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of queries: lines of text, binary files, packets of recordings; which addresses are near. */
#include "src/tools/load/playback.h"
#include "src/tools/load/route.h"

#include <arpa/inet.h>
#include <pcap/pcap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void test_lines(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool good;
		size_t count;
		uint8_t flags;
		const char *why;
	} rows[] = {
		{ "abc6.example.com. AAAA", true, 1, 0, NULL },
		{ "abc6.example.com AAAA\n", true, 1, 0, NULL },
		{ "a.example.com. NS E", true, 1, QUERY_EDNS, NULL },
		{ "ab.example.com.\tA\tD\r\n", true, 1, QUERY_EDNS | QUERY_DO, NULL },
		{ ". NS", true, 1, 0, NULL },
		{ "x TYPE65280", true, 1, 0, NULL },
		{ "", true, 0, 0, NULL },
		{ "   \n", true, 0, 0, NULL },
		{ "; dnsperf's comment", true, 0, 0, NULL },
		{ "# a comment", true, 0, 0, NULL },
		{ "a.example.com", false, 0, 0, "missing type ''" },
		{ "a.example.com BAD", false, 0, 0, "unknown type 'BAD'" },
		{ "a.example.com A X", false, 0, 0, "unknown flag 'X', E or D is possible" },
		{ "a.example.com A E more", false, 0, 0, "unknown flag 'more', E or D is possible" },
		{ "a..example.com A", false, 0, 0, "bad name 'a..example.com'" },
	};
	const queries_params_t params = { .edns_size = 1232 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		queries_t q = { 0 };
		char why[QUERIES_ERROR_MAX] = "";
		assert_int_equal(queries_add_line(&q, knot_str_of(rows[i].line), &params, why), rows[i].good);
		assert_int_equal(q.count, rows[i].count);
		if (rows[i].count > 0) {
			assert_int_equal(q.items[0].flags, rows[i].flags);
			assert_true(q.items[0].qname_len > 0);
		}
		if (rows[i].why != NULL) {
			assert_string_equal(why, rows[i].why);
		}
		queries_free(&q);
	}
}

static void test_profiles(void **state)
{
	(void)state;
	static const struct {
		profile_t profile;
		uint16_t flags, qtype, counts[4];
	} rows[] = {
		{ PROFILE_AXFR, 0, 252, { 1, 0, 0, 0 } },
		{ PROFILE_IXFR, 0, 251, { 1, 0, 1, 0 } },
		{ PROFILE_NOTIFY, 4 << 11 | 0x0400, 6, { 1, 1, 0, 0 } },
		{ PROFILE_UPDATE, 5 << 11, 6, { 1, 0, 0, 0 } },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const queries_params_t params = { .profile = rows[i].profile, .edns_size = 1232, .serial = 9 };
		queries_t q = { 0 };
		char why[QUERIES_ERROR_MAX];
		assert_true(queries_add_line(&q, KNOT_STR("example.com"), &params, why));
		const uint8_t *m = queries_message(&q, &q.items[0]);
		assert_int_equal(load_be16(m + 2), rows[i].flags);
		for (unsigned k = 0; k < 4; k++) {
			assert_int_equal(load_be16(m + 4 + 2 * k), rows[i].counts[k]);
		}
		assert_int_equal(load_be16(m + 12 + q.items[0].qname_len), rows[i].qtype);
		assert_true((q.items[0].flags & QUERY_OTHER) != 0);
		queries_free(&q);
	}
}

static void write_file(char *path, const void *bytes, size_t len)
{
	int fd = mkstemp(path);
	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static void test_binary(void **state)
{
	(void)state;
	static const uint8_t query[] = "\0\x11\xAB\xCD\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1";
	static const struct {
		size_t len;
		size_t count;
		const char *error; /* NULL: none */
	} rows[] = {
		{ 19, 1, NULL },
		{ 38, 2, NULL },
		{ 20, 1, "the file ends within a length" },
		{ 37, 1, "the file ends within the message" },
	};
	uint8_t bytes[38];
	memcpy(bytes, query, 19);
	memcpy(bytes + 19, query, 19);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char path[] = "/tmp/queries-test-XXXXXX", error[QUERIES_ERROR_MAX] = "";
		write_file(path, bytes, rows[i].len);
		queries_t q = { 0 };
		const queries_params_t params = { .max = 100 };
		assert_int_equal(queries_load_binary(&q, path, &params, error), rows[i].error == NULL);
		assert_int_equal(q.count, rows[i].count);
		assert_true(rows[i].error == NULL || strstr(error, rows[i].error) != NULL);
		assert_int_equal(load_be16(queries_message(&q, &q.items[0])), 0);
		queries_free(&q);
		unlink(path);
	}
}

/* IPv4 with UDP or TCP to port 53. */
static size_t put_packet(uint8_t *to, uint8_t proto, uint32_t seq, const uint8_t *data, size_t len)
{
	size_t header = proto == IPPROTO_TCP ? 20 : 8;
	memset(to, 0, 20 + header);
	to[0] = 0x45;
	store_be16(to + 2, (uint16_t)(20 + header + len));
	to[9] = proto;
	store_be32(to + 12, 0x7F000001);
	store_be32(to + 16, 0x7F000001);
	store_be16(to + 20, 4444);
	store_be16(to + 22, 53);
	if (proto == IPPROTO_TCP) {
		store_be32(to + 24, seq);
		to[32] = 0x50;
	} else {
		store_be16(to + 24, (uint16_t)(8 + len));
	}
	memcpy(to + 20 + header, data, len);
	return 20 + header + len;
}

static void test_recording(void **state)
{
	(void)state;
	static const uint8_t query[] = "\xAB\xCD\1\0\0\1\0\0\0\0\0\0\0\0\2\0\1"; /* 17 bytes */
	queries_t q = { 0 };
	playback_t *p = playback_new(&q, 53, true);
	uint8_t packet[256], stream[2 * 19];
	size_t len = put_packet(packet, IPPROTO_UDP, 0, query, 17);
	assert_true(playback_packet(p, DLT_RAW, 5000, packet, len));
	assert_int_equal(q.count, 1);
	for (size_t cut = 0; cut < len; cut++) {
		assert_true(playback_packet(p, DLT_RAW, 5000, packet, cut)); /* cut short: left out */
	}
	assert_int_equal(q.count, 1);
	/* Two queries over TCP, in pieces, one of which comes twice. */
	for (unsigned i = 0; i < 2; i++) {
		store_be16(stream + 19 * i, 17);
		memcpy(stream + 19 * i + 2, query, 17);
	}
	static const struct {
		size_t from, to, count;
	} pieces[] = { { 0, 1, 1 }, { 1, 10, 1 }, { 1, 10, 1 }, { 10, 30, 2 }, { 30, 38, 3 } };
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		len = put_packet(packet, IPPROTO_TCP, 1000 + (uint32_t)pieces[i].from, stream + pieces[i].from,
				pieces[i].to - pieces[i].from);
		assert_true(playback_packet(p, DLT_RAW, 7000, packet, len));
		assert_int_equal(q.count, pieces[i].count);
	}
	/* Times count from the first, and don't go back. */
	assert_int_equal(q.times_ns[0], 0);
	assert_int_equal(q.times_ns[2], 2000);
	len = put_packet(packet, IPPROTO_UDP, 0, query, 17);
	assert_true(playback_packet(p, DLT_RAW, 6000, packet, len));
	assert_int_equal(q.times_ns[3], 2000);
	store_be16(packet + 22, 5353); /* another port */
	assert_true(playback_packet(p, DLT_RAW, 6000, packet, len));
	packet[30] |= 0x80; /* a reply */
	store_be16(packet + 22, 53);
	assert_true(playback_packet(p, DLT_RAW, 6000, packet, len));
	assert_int_equal(q.count, 4);
	playback_free(p);
	queries_free(&q);
}

static void test_near(void **state)
{
	(void)state;
	static const struct {
		const char *addr;
		bool local, direct, veth, want;
	} rows[] = {
		{ "127.0.0.1", false, false, false, true },
		{ "127.255.255.255", false, false, false, true },
		{ "::1", false, false, false, true },
		{ "169.254.9.9", false, false, false, true },
		{ "fe80::1", false, false, false, true },
		{ "febf::1", false, false, false, true },
		{ "fec0::1", false, true, false, false },
		{ "8.8.8.8", false, false, false, false },
		{ "8.8.8.8", false, true, false, false },
		{ "8.8.8.8", true, false, false, true },
		{ "8.8.8.8", false, true, true, true },
		{ "8.8.8.8", false, false, true, false },
		{ "10.1.2.3", false, true, false, true },
		{ "10.1.2.3", false, false, false, false },
		{ "172.31.255.255", false, true, false, true },
		{ "172.32.0.0", false, true, false, false },
		{ "192.168.0.1", false, true, false, true },
		{ "192.0.2.1", false, true, false, true },
		{ "192.0.3.1", false, true, false, false },
		{ "198.19.255.255", false, true, false, true },
		{ "198.20.0.0", false, true, false, false },
		{ "fd00::1", false, true, false, true },
		{ "fd00::1", false, false, false, false },
		{ "2001:db8::1", false, true, false, true },
		{ "2001:db9::1", false, true, false, false },
		{ "2a00::1", false, true, false, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sockaddr_storage sa = { 0 };
		if (inet_pton(AF_INET, rows[i].addr, &((struct sockaddr_in *)&sa)->sin_addr) == 1) {
			sa.ss_family = AF_INET;
		} else {
			assert_int_equal(
					inet_pton(AF_INET6, rows[i].addr, &((struct sockaddr_in6 *)&sa)->sin6_addr), 1);
			sa.ss_family = AF_INET6;
		}
		if (route_is_near(&sa, rows[i].local, rows[i].direct, rows[i].veth) != rows[i].want) {
			fail_msg("%s, row %zu", rows[i].addr, i);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_recording),
		cmocka_unit_test(test_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
