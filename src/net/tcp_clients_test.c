/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/tcp_clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "xdp/tcp/source.h"

enum { FEW = 10, FEW_SHARE = 5 };

static tcp_client_t client(void)
{
	return (tcp_client_t){ .fd = -1 };
}

static void expect_evicted(const tcp_client_t *clients, size_t count, const char *want)
{
	char got[64] = "";
	for (size_t i = 0; i < count; i++) {
		got[i] = tcp_client_is_evicted(&clients[i]) ? 'x' : '.';
	}
	assert_string_equal(got, want);
}

static void leave_all(tcp_clients_t *set, tcp_client_t *clients, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		tcp_clients_leave(set, &clients[i]);
	}
	assert_int_equal(tcp_clients_count(set), 0);
	tcp_clients_done(set);
}

/* One source gets its share and no more: the idlest of its own connections gives way. */
static void test_share(void **state)
{
	(void)state;
	tcp_clients_t set = { 0 };
	assert_int_equal(tcp_clients_init(&set), KNOT_OK);
	tcp_client_t clients[8];
	for (size_t i = 0; i < FEW_SHARE; i++) {
		clients[i] = client();
		assert_int_equal(tcp_clients_enter(&set, &clients[i], 1, FEW, 100 + i), TCP_CLIENT_ADMITTED);
	}
	tcp_client_answered(&clients[0], 200); /* the oldest is not the idlest */
	for (size_t i = FEW_SHARE; i < 8; i++) {
		clients[i] = client();
		assert_int_equal(tcp_clients_enter(&set, &clients[i], 1, FEW, 210 + i), TCP_CLIENT_REPLACED);
		assert_int_equal(tcp_clients_count(&set), FEW_SHARE);
	}
	expect_evicted(clients, 8, ".xxx....");
	leave_all(&set, clients, 8);
}

/* When it is full, the greediest source loses its idlest; others keep what they have. */
static void test_greediest(void **state)
{
	(void)state;
	tcp_clients_t set = { 0 };
	assert_int_equal(tcp_clients_init(&set), KNOT_OK);
	static const uint64_t sources[] = { 1, 2, 2, 2, 2, 3, 3, 3, 4, 1, /* full */ 5, 6, 7, 1, 3 };
	tcp_client_t clients[KNOT_LEN(sources)];
	for (size_t i = 0; i < KNOT_LEN(sources); i++) {
		clients[i] = client();
		tcp_client_verdict_t got = tcp_clients_enter(&set, &clients[i], sources[i], FEW, 100 + i);
		assert_int_equal(got, i < FEW ? TCP_CLIENT_ADMITTED : TCP_CLIENT_REPLACED);
	}
	assert_int_equal(tcp_clients_count(&set), FEW);
	/*
	 * 5 takes from 2 (it had four), 6 and 7 from 2 and 3 (three each); then 1, 2 and 3 have two each: a third one
	 * of 1 or 3 costs 1 and 3 their own idlest.
	 */
	expect_evicted(clients, KNOT_LEN(sources), "xxx..xx........");
	leave_all(&set, clients, KNOT_LEN(sources));
}

/* Among sources that have the same number the idlest goes. */
static void test_idlest_of_equals(void **state)
{
	(void)state;
	tcp_clients_t set = { 0 };
	assert_int_equal(tcp_clients_init(&set), KNOT_OK);
	tcp_client_t clients[FEW + 2];
	for (size_t i = 0; i < FEW; i++) {
		clients[i] = client();
		(void)tcp_clients_enter(&set, &clients[i], i, FEW, 100);
	}
	for (size_t i = 0; i < FEW; i++) {
		if (i != 3 && i != 7) {
			tcp_client_answered(&clients[i], 200 + i);
		}
	}
	for (size_t i = FEW; i < FEW + 2; i++) {
		clients[i] = client();
		assert_int_equal(tcp_clients_enter(&set, &clients[i], i, FEW, 300), TCP_CLIENT_REPLACED);
	}
	expect_evicted(clients, FEW + 2, "...x...x....");
	leave_all(&set, clients, FEW + 2);
}

static void test_limits(void **state)
{
	(void)state;
	tcp_clients_t set = { 0 };
	assert_int_equal(tcp_clients_init(&set), KNOT_OK);
	tcp_client_t clients[20];
	clients[0] = client();
	assert_int_equal(tcp_clients_enter(&set, &clients[0], 1, 0, 1), TCP_CLIENT_REFUSED);
	for (size_t i = 0; i < 20; i++) {
		clients[i] = client();
		(void)tcp_clients_enter(&set, &clients[i], i, 15, 100);
	}
	assert_int_equal(tcp_clients_count(&set), 15);
	/* A lower limit is reached step by step. */
	tcp_client_t more[5];
	for (size_t i = 0; i < 5; i++) {
		more[i] = client();
		assert_int_equal(tcp_clients_enter(&set, &more[i], 50 + i, 10, 200), TCP_CLIENT_REPLACED);
	}
	assert_int_equal(tcp_clients_count(&set), 10);
	for (size_t i = 0; i < 5; i++) {
		tcp_clients_leave(&set, &more[i]);
	}
	leave_all(&set, clients, 20);
}

/* Random comings, goings and answers, against counts made one by one. */
static void test_random(void **state)
{
	(void)state;
	enum { ROOM = 3000, SOURCES = 700, MAX = 2048, STEPS = 60000 };
	tcp_clients_t set = { 0 };
	assert_int_equal(tcp_clients_init(&set), KNOT_OK);
	tcp_client_t *clients = calloc(ROOM, sizeof(*clients));
	bool is_open[ROOM] = { false };
	uint64_t source_of[ROOM] = { 0 };
	srand(20261122);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)rand() % ROOM;
		if (!is_open[i]) {
			clients[i] = client();
			source_of[i] = rand() % 2 == 0 ? 0 : (unsigned)rand() % SOURCES;
			is_open[i] = tcp_clients_enter(&set, &clients[i], source_of[i], MAX, step) !=
				     TCP_CLIENT_REFUSED;
			assert_true(is_open[i]);
		} else if (tcp_client_is_evicted(&clients[i]) || rand() % 4 == 0) {
			tcp_clients_leave(&set, &clients[i]);
			is_open[i] = false;
		} else {
			tcp_client_answered(&clients[i], step);
		}
		if (step % 500 == 0) {
			unsigned counted = 0, own[SOURCES] = { 0 };
			for (unsigned j = 0; j < ROOM; j++) {
				if (is_open[j] && !tcp_client_is_evicted(&clients[j])) {
					counted++;
					own[source_of[j]]++;
				}
			}
			assert_int_equal(tcp_clients_count(&set), counted);
			assert_true(counted <= MAX);
			for (unsigned j = 0; j < SOURCES; j++) {
				assert_true(own[j] <= kxdp_source_share(MAX));
			}
		}
	}
	for (unsigned j = 0; j < ROOM; j++) {
		if (is_open[j]) {
			tcp_clients_leave(&set, &clients[j]);
		}
	}
	leave_all(&set, NULL, 0);
	free(clients);
}

static void test_sources(void **state)
{
	(void)state;
	static const uint8_t a[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 }, b[16] = { [10] = 0xff, 0xff, 192, 0, 2, 2 };
	static const uint8_t c[16] = { 0x20, 1, 0xd, 0xb8, [7] = 1, [15] = 1 },
			     d[16] = { 0x20, 1, 0xd, 0xb8, [7] = 1, [15] = 2 },
			     e[16] = { 0x20, 1, 0xd, 0xb8, [7] = 2, [15] = 1 };
	assert_int_not_equal(kxdp_source_of(a), kxdp_source_of(b));
	assert_int_equal(kxdp_source_of(c), kxdp_source_of(d));
	assert_int_not_equal(kxdp_source_of(c), kxdp_source_of(e));
	static const struct {
		uint32_t clients_max, want;
	} shares[] = { { 0, 1 }, { 1, 1 }, { 2, 1 }, { 20, 10 }, { 2048, 1024 }, { 8192, 1024 }, { 80000, 10000 } };
	for (size_t i = 0; i < KNOT_LEN(shares); i++) {
		assert_int_equal(kxdp_source_share(shares[i].clients_max), shares[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_greediest),
		cmocka_unit_test(test_idlest_of_equals),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_sources),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
