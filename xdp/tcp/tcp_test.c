/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/rows_connect.h"
#include "xdp/tcp/rows_limit.h"
#include "xdp/tcp/rows_transmit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static void run_rows(const script_row_t *rows, size_t count)
{
	unsigned failed = 0;
	for (size_t i = 0; i < count; i++) {
		failed += !kxdp_script_run(rows[i].what, rows[i].script);
	}
	printf("%zu scripts, %u failed\n", count, failed);
	assert_int_equal(failed, 0);
}

static void test_connect(void **state)
{
	(void)state;
	run_rows(connect_rows, KNOT_LEN(connect_rows));
}

static void test_transmit(void **state)
{
	(void)state;
	run_rows(transmit_rows, KNOT_LEN(transmit_rows));
}

static void test_limits(void **state)
{
	(void)state;
	run_rows(limit_rows, KNOT_LEN(limit_rows));
}

/* ---- memory ---- */

enum {
	MILLION = 1000000,
	SECOND_US = 1000000,
};

static kxdp_tcp_t *stack_of_a_million(void)
{
	kxdp_tcp_limits_t limits = {
		.clients_max = MILLION,
		.per_source_max = 10,
		.half_open_max = MILLION,
		.inbuf_max = 100 << 20,
		.outbuf_max = 100 << 20,
		.idle_close_us = 10 * SECOND_US,
		.idle_reset_us = 20 * SECOND_US,
		.resend_us = 5 * SECOND_US,
		.resets_max = 100,
		.mtu = 1500,
	};
	kxdp_tcp_t *tcp;
	assert_int_equal(kxdp_tcp_new(&limits, (const uint8_t *)"0123456789abcdef", 0, &tcp), KNOT_OK);
	return tcp;
}

/* Client i: a /64 of its own, so that each is a source that is counted. */
static kxdp_segment_t segment_of(uint32_t i, uint8_t flags, uint32_t seq, uint32_t ack)
{
	kxdp_segment_t segment = {
		.flow = { .remote = { 0x20, 0x01, 0x0d, 0xb8, 0, (uint8_t)(i >> 16), (uint8_t)(i >> 8),
					  (uint8_t)i, [15] = 1 },
				.local = { 0x20, 0x01, 0x0d, 0xb8, 0xff, [15] = 53 },
				.remote_port = (uint16_t)(1024 + i % 60000),
				.local_port = 53 },
		.path = { .remote_mac = { 2, [5] = 1 }, .local_mac = { 2, [5] = 2 }, .mtu = 1500, .ifindex = 2 },
		.seq = seq,
		.ack = ack,
		.window = 65535,
		.mss = flags & KXDP_TCP_SYN ? 1440 : 0,
		.scale = -1,
		.flags = flags,
	};
	return segment;
}

/* The whole life of a request: SYN, ACK and request, reply, and the close when it is to be closed. */
static void ask(kxdp_tcp_t *tcp, uint32_t i, uint64_t now_us, bool is_closed)
{
	static const uint8_t request[40] = { 0, 38 }, reply[200] = { 0, 198 };
	uint8_t payload[2048];
	kxdp_segment_t in = segment_of(i, KXDP_TCP_SYN, 0, 0), out;
	kxdp_tcp_input_t input;
	assert_false(kxdp_tcp_receive(tcp, &in, now_us, &input));
	assert_true(kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out));
	assert_int_equal(out.flags, KXDP_TCP_SYN | KXDP_TCP_ACK);
	uint32_t iss = out.seq;
	in = segment_of(i, KXDP_TCP_ACK | KXDP_TCP_PSH, 1, iss + 1);
	in.payload = request;
	in.len = sizeof(request);
	assert_true(kxdp_tcp_receive(tcp, &in, now_us, &input));
	assert_true(kxdp_tcp_room(tcp, input.conn) >= sizeof(reply));
	assert_true(kxdp_tcp_write(tcp, input.conn, reply, sizeof(reply)));
	kxdp_tcp_consume(tcp, input.conn, input.len);
	assert_false(kxdp_tcp_next(tcp, &input));
	assert_true(kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out));
	assert_int_equal(out.len, sizeof(reply));
	in = segment_of(i, KXDP_TCP_ACK | (is_closed ? KXDP_TCP_FIN : 0), 1 + sizeof(request), iss + 1 + sizeof(reply));
	assert_int_equal(kxdp_tcp_receive(tcp, &in, now_us, &input), is_closed);
	if (!is_closed) {
		return;
	}
	kxdp_tcp_consume(tcp, input.conn, 0);
	kxdp_tcp_close(tcp, input.conn);
	assert_true(kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out));
	assert_true(out.flags & KXDP_TCP_FIN);
	in = segment_of(i, KXDP_TCP_ACK, 2 + sizeof(request), iss + 2 + sizeof(reply));
	assert_false(kxdp_tcp_receive(tcp, &in, now_us, &input));
}

static void test_million_idle(void **state)
{
	(void)state;
	kxdp_tcp_t *tcp = stack_of_a_million();
	for (uint32_t i = 0; i < MILLION; i++) {
		ask(tcp, i, i, false);
	}
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(tcp, &stats);
	printf("%llu connections, each of a source of its own: %.1f bytes each\n", (unsigned long long)stats.clients,
			(double)stats.memory / MILLION);
	assert_int_equal(stats.clients, MILLION);
	assert_int_equal(stats.inbuf + stats.outbuf, 0);
	assert_true(stats.memory <= (uint64_t)KXDP_TCP_IDLE_BYTES * MILLION);
	/* All are closed when their time comes, with a segment each, and then all is empty. */
	uint64_t now_us = 0, segments = 0;
	while (kxdp_tcp_next_time(tcp) != UINT64_MAX) {
		uint8_t payload[2048];
		kxdp_segment_t out;
		now_us = kxdp_tcp_next_time(tcp) > now_us ? kxdp_tcp_next_time(tcp) : now_us;
		kxdp_tcp_tick(tcp, now_us);
		while (kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out)) {
			segments++;
		}
	}
	kxdp_tcp_stats(tcp, &stats);
	assert_true(segments >= 2 * MILLION);
	assert_int_equal(stats.idle_closed, MILLION);
	assert_int_equal(stats.idle_reset + stats.gave_up, MILLION);
	assert_int_equal(stats.clients + stats.half_open + stats.time_wait + stats.inbuf + stats.outbuf, 0);
	kxdp_tcp_free(tcp);
}

/* Replies that peers don't take cost little more than what tcp-outbuf-max-size counts. */
static void test_memory_of_replies(void **state)
{
	(void)state;
	enum { COUNT = 20000, REPLY_LEN = 600 };
	static const uint8_t reply[REPLY_LEN] = { REPLY_LEN >> 8, REPLY_LEN & 255 };
	kxdp_tcp_t *tcp = stack_of_a_million();
	kxdp_tcp_stats_t before, after;
	kxdp_tcp_stats(tcp, &before);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint8_t payload[2048];
		kxdp_segment_t in = segment_of(i, KXDP_TCP_SYN, 0, 0), out;
		kxdp_tcp_input_t input;
		assert_false(kxdp_tcp_receive(tcp, &in, i, &input));
		assert_true(kxdp_tcp_emit(tcp, i, payload, sizeof(payload), &out));
		in = segment_of(i, KXDP_TCP_ACK, 1, out.seq + 1);
		in.window = 0;
		in.payload = payload;
		in.len = 40;
		assert_true(kxdp_tcp_receive(tcp, &in, i, &input));
		assert_true(kxdp_tcp_write(tcp, input.conn, reply, sizeof(reply)));
		kxdp_tcp_consume(tcp, input.conn, input.len);
		while (kxdp_tcp_emit(tcp, i, payload, sizeof(payload), &out)) {}
	}
	kxdp_tcp_stats(tcp, &after);
	assert_int_equal(after.outbuf, COUNT * REPLY_LEN);
	uint64_t most = 3 * after.outbuf;
	assert_in_range(after.memory - before.memory, after.outbuf, most);
	kxdp_tcp_free(tcp);
}

/*
 * One after the other: what was used is used again. Prints what the stack itself takes for a connection's whole life.
 */
static void test_one_request_each(void **state)
{
	(void)state;
	enum { ROUNDS = 200000 };
	kxdp_tcp_t *tcp = stack_of_a_million();
	ask(tcp, 0, 0, true);
	kxdp_tcp_stats_t before, after;
	kxdp_tcp_stats(tcp, &before);
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		ask(tcp, i, i, true);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	kxdp_tcp_stats(tcp, &after);
	double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
	printf("%.0f ns for all of a connection with a request\n", ns / ROUNDS);
	assert_int_equal(after.memory, before.memory);
	assert_int_equal(after.clients, 0);
	kxdp_tcp_free(tcp);
}

/* Everything that there is to send; the sequence number behind it. */
static uint32_t emit_all(kxdp_tcp_t *tcp, uint32_t end)
{
	uint8_t payload[2048];
	kxdp_segment_t out;
	while (kxdp_tcp_emit(tcp, 2, payload, sizeof(payload), &out)) {
		end = out.len > 0 ? out.seq + out.len : end;
	}
	return end;
}

/* A connection that always has something under way, after half of all sequence numbers: losses are seen as before. */
static void test_fast_retransmit_after_2_gib(void **state)
{
	(void)state;
	enum { LEN = 60000, ROUNDS = 36500 };
	static uint8_t bytes[LEN];
	kxdp_tcp_t *tcp = stack_of_a_million();
	kxdp_segment_t in = segment_of(1, KXDP_TCP_SYN, 0, 0), out;
	kxdp_tcp_input_t input;
	assert_false(kxdp_tcp_receive(tcp, &in, 1, &input));
	assert_true(kxdp_tcp_emit(tcp, 1, bytes, sizeof(bytes), &out));
	in = segment_of(1, KXDP_TCP_ACK, 1, out.seq + 1);
	in.payload = bytes;
	in.len = 40;
	assert_true(kxdp_tcp_receive(tcp, &in, 1, &input));
	kxdp_tcp_conn_t conn = input.conn;
	kxdp_tcp_consume(tcp, conn, input.len);
	uint32_t end = out.seq + 1;
	for (unsigned round = 0; round <= ROUNDS; round++) {
		assert_true(kxdp_tcp_write(tcp, conn, bytes, LEN));
		end = emit_all(tcp, end);
		in = segment_of(1, KXDP_TCP_ACK, 41, end - 1);
		assert_false(kxdp_tcp_receive(tcp, &in, 2, &input));
		end = emit_all(tcp, end); /* what the congestion window kept back at first */
		while (round < 20 && kxdp_tcp_room(tcp, conn) < 4 * LEN) {
			in = segment_of(1, KXDP_TCP_ACK, 41, end - 1);
			assert_false(kxdp_tcp_receive(tcp, &in, 2, &input));
			end = emit_all(tcp, end);
		}
	}
	assert_true(kxdp_tcp_write(tcp, conn, bytes, LEN));
	(void)emit_all(tcp, end);
	for (unsigned i = 0; i < 3; i++) {
		assert_false(kxdp_tcp_receive(tcp, &in, 2, &input));
	}
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(tcp, &stats);
	assert_int_equal(stats.fast_resent, 1);
	kxdp_tcp_free(tcp);
}

/* ---- challenge ACKs ---- */

enum { PROBES = 20 };

/* Challenge ACKs that connection i gets for so many RSTs with a wrong sequence number. */
static unsigned challenge(kxdp_tcp_t *tcp, uint32_t i, uint64_t now_us, unsigned probes)
{
	unsigned got = 0;
	for (unsigned n = 0; n < probes; n++) {
		kxdp_segment_t in = segment_of(i, KXDP_TCP_RST, 100, 0), out;
		kxdp_tcp_input_t input;
		uint8_t payload[2048];
		assert_false(kxdp_tcp_receive(tcp, &in, now_us, &input));
		while (kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out)) {
			got++;
		}
	}
	return got;
}

/*
 * RFC 5961 10, CVE-2016-5696: what a connection gets is limited, differs by connection, time and key, and says nothing
 * about other connections.
 */
static void test_challenges_are_apart(void **state)
{
	(void)state;
	enum { COUNT = 64, ROUNDS = 2 };
	unsigned alone[COUNT], among[COUNT], most = 0, least = PROBES, later_differ = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		kxdp_tcp_t *tcp = stack_of_a_million();
		for (uint32_t i = 0; i < COUNT; i++) {
			ask(tcp, i, 1, false);
		}
		for (uint32_t i = 0; i < COUNT; i++) {
			/* The second time those before it have used up theirs many times over. */
			(round == 0 ? alone : among)[i] = challenge(tcp, i, 2, round == 0 ? PROBES : 1000 * PROBES);
		}
		for (uint32_t i = 0; i < COUNT && round == 0; i++) {
			later_differ += challenge(tcp, i, 3 * SECOND_US, PROBES) != alone[i];
		}
		kxdp_tcp_free(tcp);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(alone[i], among[i]);
		most = alone[i] > most ? alone[i] : most;
		least = alone[i] < least ? alone[i] : least;
	}
	assert_int_equal(least, 3);
	assert_int_equal(most, 6);
	assert_in_range(later_differ, COUNT / 4, COUNT);
}

/* ---- memory that goes back ---- */

/* `count` connections from number `first` on, each keeping `len` bytes of an unfinished message. */
static void keep_input(kxdp_tcp_t *tcp, uint32_t first, uint32_t count, uint32_t len, uint64_t now_us)
{
	static uint8_t bytes[1400];
	uint8_t payload[2048];
	for (uint32_t i = first; i < first + count; i++) {
		kxdp_segment_t in = segment_of(i, KXDP_TCP_SYN, 0, 0), out;
		kxdp_tcp_input_t input;
		assert_false(kxdp_tcp_receive(tcp, &in, now_us, &input));
		while (kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out) && !(out.flags & KXDP_TCP_SYN)) {}
		uint32_t ack = out.seq + 1;
		for (uint32_t sent = 0; sent < len; sent += in.len) {
			in = segment_of(i, KXDP_TCP_ACK, 1 + sent, ack);
			in.payload = bytes;
			in.len = (uint16_t)(len - sent < sizeof(bytes) ? len - sent : sizeof(bytes));
			if (kxdp_tcp_receive(tcp, &in, now_us, &input)) {
				kxdp_tcp_consume(tcp, input.conn, 0);
			}
			while (kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out)) {}
		}
	}
}

/*
 * Many connections with long input, then more with less, then still more: what one size has held goes to the next one,
 * and in the end nearly all of it to the system.
 */
static void test_memory_is_bounded_and_goes_back(void **state)
{
	(void)state;
	static const struct {
		uint32_t count, len;
	} waves[] = { { 900, 60000 }, { 3300, 20000 }, { 9000, 3000 }, { 40000, 300 } };
	kxdp_tcp_t *tcp = stack_of_a_million();
	kxdp_tcp_stats_t before, now;
	kxdp_tcp_stats(tcp, &before);
	uint64_t now_us = 1, most = 0;
	uint32_t first = 0;
	for (size_t i = 0; i < KNOT_LEN(waves); i++) {
		keep_input(tcp, first, waves[i].count, waves[i].len, now_us);
		first += waves[i].count;
		kxdp_tcp_stats(tcp, &now);
		assert_true(now.inbuf <= 100 << 20);
		most = now.memory > most ? now.memory : most;
		kxdp_tcp_abort_all(tcp);
		(void)emit_all(tcp, 0);
		now_us += SECOND_US;
		kxdp_tcp_tick(tcp, now_us);
	}
	/* Records of 40,000 busy connections and tables for a million are beside the buffers. */
	printf("memory: %llu KiB at first, at most %llu KiB", (unsigned long long)before.memory >> 10,
			(unsigned long long)most >> 10);
	assert_true(most <= before.memory + (100 << 20) + (24 << 20));
	while (kxdp_tcp_next_time(tcp) != UINT64_MAX) {
		now_us = kxdp_tcp_next_time(tcp);
		kxdp_tcp_tick(tcp, now_us);
	}
	kxdp_tcp_stats(tcp, &now);
	printf(", %llu KiB in the end\n", (unsigned long long)now.memory >> 10);
	assert_true(now.memory <= before.memory + (4 << 20));
	kxdp_tcp_free(tcp);
}

/* Forged SYNs: what is sent to their sources is little more than a SYN-ACK each, however long they don't answer. */
static void test_flood_of_syns(void **state)
{
	(void)state;
	enum { COUNT = 20000, SECONDS = 60, RESENDS = 1000 };
	kxdp_tcp_t *tcp = stack_of_a_million();
	kxdp_tcp_input_t input;
	uint64_t now_us = 1;
	for (uint32_t i = 0; i < COUNT; i++) {
		kxdp_segment_t syn = segment_of(i, KXDP_TCP_SYN, 0, 0);
		assert_false(kxdp_tcp_receive(tcp, &syn, now_us, &input));
	}
	uint8_t payload[1500];
	kxdp_segment_t out;
	uint64_t first = 0, again = 0;
	for (; kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out); first++) {}
	assert_int_equal(first, COUNT);
	for (unsigned i = 0; i < SECONDS * 10; i++) {
		uint64_t now = 0;
		now_us += SECOND_US / 10;
		kxdp_tcp_tick(tcp, now_us);
		for (; kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out); now++) {
			assert_int_equal(out.flags, KXDP_TCP_SYN | KXDP_TCP_ACK);
		}
		assert_true(now <= RESENDS);
		again += now;
	}
	printf("SYN-ACKs: %llu, and %llu again\n", (unsigned long long)first, (unsigned long long)again);
	assert_true(again >= RESENDS && again <= COUNT / 2);
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(tcp, &stats);
	assert_int_equal(stats.gave_up, COUNT);
	assert_int_equal(stats.half_open, 0);
	kxdp_tcp_free(tcp);
}

/* Input without replies, 512 bytes each second: about as many seconds as a message of 65,535 bytes would take. */
static void test_input_without_replies(void **state)
{
	(void)state;
	enum { MOST_S = 65537 / 512 + 2 + 10 };
	static const uint8_t zeros[512];
	kxdp_tcp_t *tcp = stack_of_a_million();
	uint8_t payload[2048];
	kxdp_segment_t in = segment_of(0, KXDP_TCP_SYN, 0, 0), out;
	kxdp_tcp_input_t input;
	assert_false(kxdp_tcp_receive(tcp, &in, 1, &input));
	assert_true(kxdp_tcp_emit(tcp, 1, payload, sizeof(payload), &out));
	uint32_t ack = out.seq + 1, seconds = 0;
	for (bool is_open = true; is_open; seconds++) {
		uint64_t now_us = seconds * (uint64_t)SECOND_US + 2;
		assert_true(seconds <= MOST_S);
		in = segment_of(0, KXDP_TCP_ACK, 1 + seconds * (uint32_t)sizeof(zeros), ack);
		in.payload = zeros;
		in.len = sizeof(zeros);
		if (kxdp_tcp_receive(tcp, &in, now_us, &input)) {
			kxdp_tcp_consume(tcp, input.conn, input.len);
		}
		kxdp_tcp_tick(tcp, now_us);
		while (kxdp_tcp_emit(tcp, now_us, payload, sizeof(payload), &out)) {
			is_open = is_open && !(out.flags & KXDP_TCP_FIN);
		}
	}
	assert_true(seconds > 100);
	kxdp_tcp_free(tcp);
}

static void test_limits_checked(void **state)
{
	(void)state;
	kxdp_tcp_t *tcp = NULL;
	kxdp_tcp_limits_t limits = {
		.clients_max = 0, .idle_close_us = 1, .idle_reset_us = 1, .resend_us = 1, .mtu = 1500
	};
	const uint8_t key[KXDP_TCP_KEY_LEN] = { 0 };
	assert_int_equal(kxdp_tcp_new(&limits, key, 0, &tcp), KNOT_EINVAL);
	limits.clients_max = 1;
	limits.mtu = 60;
	assert_int_equal(kxdp_tcp_new(&limits, key, 0, &tcp), KNOT_EINVAL);
	limits.mtu = 1500;
	limits.idle_reset_us = 0;
	assert_int_equal(kxdp_tcp_new(&limits, key, 0, &tcp), KNOT_EINVAL);
	assert_null(tcp);
	kxdp_tcp_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_million_idle),
		cmocka_unit_test(test_one_request_each),
		cmocka_unit_test(test_flood_of_syns),
		cmocka_unit_test(test_input_without_replies),
		cmocka_unit_test(test_limits_checked),
		cmocka_unit_test(test_challenges_are_apart),
		cmocka_unit_test(test_memory_is_bounded_and_goes_back),
		cmocka_unit_test(test_memory_of_replies),
		cmocka_unit_test(test_fast_retransmit_after_2_gib),
		cmocka_unit_test(test_connect),
		cmocka_unit_test(test_transmit),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
