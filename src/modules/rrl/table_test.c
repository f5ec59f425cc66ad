/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/rrl/table.h"

#include "libknot/base/bytes.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RATE = 50, INSTANT = 125, SECOND = 1000000 };

static rrl_table_t *table_of(uint64_t instant, uint64_t rate, size_t entries)
{
	const rrl_limits_t limits = { instant, rate, entries };
	rrl_table_t *table;
	assert_int_equal(rrl_table_new(&limits, &table), KNOT_OK);
	return table;
}

static struct sockaddr_storage ipv4(uint32_t address)
{
	struct sockaddr_storage storage = { .ss_family = AF_INET };
	store_be32((uint8_t *)&((struct sockaddr_in *)&storage)->sin_addr, address);
	return storage;
}

static struct sockaddr_storage ipv6(uint64_t high, uint64_t low)
{
	struct sockaddr_storage storage = { .ss_family = AF_INET6 };
	uint8_t *ip = ((struct sockaddr_in6 *)&storage)->sin6_addr.s6_addr;
	store_be32(ip, (uint32_t)(high >> 32));
	store_be32(ip + 4, (uint32_t)high);
	store_be32(ip + 8, (uint32_t)(low >> 32));
	store_be32(ip + 12, (uint32_t)low);
	return storage;
}

static uint32_t salt;

static unsigned take(rrl_table_t *table, struct sockaddr_storage from, uint64_t now_us)
{
	return rrl_table_take(table, (const struct sockaddr *)&from, 1, now_us, ++salt * 2654435761u);
}

/* The limit at once, the rate in the long run, and all of it again after a pause. */
static void test_one_address(void **state)
{
	(void)state;
	rrl_table_t *table = table_of(INSTANT, RATE, 524288);
	struct sockaddr_storage from = ipv4(0xc0000201);
	uint64_t now_us = 1234567890;
	for (unsigned i = 0; i < INSTANT; i++) {
		assert_int_equal(take(table, from, now_us), RRL_FREE);
	}
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(take(table, from, now_us), 32);
	}
	/* A flood of 10,000 per second: the rate passes, whatever it does beyond. */
	unsigned passed = 0;
	for (unsigned i = 0; i < 60 * 10000; i++) {
		now_us += SECOND / 10000;
		passed += take(table, from, now_us) == RRL_FREE;
	}
	assert_in_range(passed, 60 * RATE * 97 / 100, 60 * RATE * 103 / 100);
	now_us += 60ull * SECOND;
	for (unsigned i = 0; i < INSTANT; i++) {
		assert_int_equal(take(table, from, now_us), RRL_FREE);
	}
	assert_int_equal(take(table, from, now_us), 32);
	rrl_table_free(table);
}

/* A source that stays below the rate is never limited. */
static void test_below_the_rate(void **state)
{
	(void)state;
	static const struct {
		uint64_t instant, rate;
	} rows[] = { { INSTANT, RATE }, { 1, 1 }, { 5, 5000 }, { 5592404, 50 }, { 10, 9 } };
	for (size_t row = 0; row < KNOT_LEN(rows); row++) {
		rrl_table_t *table = table_of(rows[row].instant, rows[row].rate, 1024);
		struct sockaddr_storage from = ipv4(0xc0000201);
		uint64_t gap_us = SECOND * 10ull / 6 / rows[row].rate; /* 60 % of it */
		if (rows[row].instant == 1) {
			gap_us = 10ull * SECOND; /* there is no second one at once */
		}
		for (unsigned i = 0; i < 20000; i++) {
			if (take(table, from, 5000000 + i * gap_us) != RRL_FREE && rows[row].instant > 1) {
				fail_msg("%lu %lu: number %u", rows[row].instant, rows[row].rate, i);
			}
		}
		rrl_table_free(table);
	}
}

/* Prices of a few units add up as well: nothing is lost by touching an entry. */
static void test_large_limits(void **state)
{
	(void)state;
	static const struct {
		uint64_t instant;
		unsigned addresses, prefix_len, multiple;
	} rows[] = { { 2000000, 1, 32, 1 }, { 60000, 256, 24, 32 } };
	for (size_t row = 0; row < KNOT_LEN(rows); row++) {
		rrl_table_t *table = table_of(rows[row].instant, RATE, 8192);
		uint32_t limit = (uint32_t)rows[row].instant * rows[row].multiple, passed = 0;
		unsigned prefix_len = RRL_FREE;
		while (prefix_len == RRL_FREE && passed < 2 * limit) {
			prefix_len = take(table, ipv4(0xc0000200u + passed % rows[row].addresses), 5000000);
			passed += prefix_len == RRL_FREE;
		}
		assert_int_equal(prefix_len, rows[row].prefix_len);
		assert_in_range(passed, limit - limit / 100, limit + limit / 100);
		rrl_table_free(table);
	}
}

/* What networks may use, of both families: the multiple of an address. */
static void test_networks(void **state)
{
	(void)state;
	static const struct {
		bool is_ipv6;
		unsigned bit, prefix_len, multiple; /* addresses differ from this bit on */
	} rows[] = {
		{ false, 24, 24, 32 },
		{ false, 20, 20, 256 },
		{ false, 18, 18, 768 },
		{ true, 96, 64, 2 },
		{ true, 56, 56, 3 },
		{ true, 48, 48, 4 },
		{ true, 32, 32, 64 },
	};
	enum { SMALL = 2 };
	for (size_t row = 0; row < KNOT_LEN(rows); row++) {
		rrl_table_t *table = table_of(SMALL, 1, 1 << 20);
		unsigned passed = 0, limited = 0;
		for (uint64_t i = 0; i < 4000 && limited == 0; i++) {
			/* Each address asks once, spread over all networks below. */
			uint64_t spread = i * 0x9e3779b97f4a7c15u;
			struct sockaddr_storage from =
					rows[row].is_ipv6
							? ipv6(0x20010db800000000u | (rows[row].bit < 64 ? spread >> rows[row].bit
													 : 0),
									  spread ^ i)
							: ipv4(0x0a000000u | (uint32_t)(spread >> 32 >> rows[row].bit));
			unsigned prefix_len = take(table, from, 77000000);
			passed += prefix_len == RRL_FREE;
			/* Addresses of small networks repeat. */
			limited += prefix_len == rows[row].prefix_len;
		}
		if (limited == 0 || passed > rows[row].multiple * SMALL ||
				passed < rows[row].multiple * SMALL * 9 / 10) {
			fail_msg("/%u: %u passed", rows[row].prefix_len, passed);
		}
		rrl_table_free(table);
	}
}

/* One that asks too much doesn't use up what its neighbours may use, nor does a flood of forged sources. */
static void test_others(void **state)
{
	(void)state;
	rrl_table_t *table = table_of(INSTANT, RATE, 524288);
	uint64_t now_us = 99000000;
	unsigned refused = 0, asked = 0;
	uint64_t random = 88172645463325252u;
	for (unsigned i = 0; i < 4000000; i++) {
		now_us += 2; /* 500,000 per second */
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		if (i % 2 == 0) {
			(void)take(table, ipv4(0xc6336401u), now_us); /* greedy: 250,000 per second */
		} else {
			(void)take(table, ipv4((uint32_t)random), now_us); /* forged */
		}
		if (i % 50000 == 0) { /* neighbours of the greedy one, 5 of 10 per second each, and others */
			for (uint32_t n = 0; n < 50; n++) {
				refused += take(table, ipv4(n % 2 ? 0xc6336402u + n : 0x5db8d800u + n * 65536),
							   now_us) != RRL_FREE;
				asked++;
			}
		}
	}
	assert_true(asked >= 4000);
	assert_int_equal(refused, 0);
	rrl_table_free(table);
}

/* However many sources there are, the table is as large as it was; with few entries it still limits the greediest. */
static void test_small_table(void **state)
{
	(void)state;
	rrl_table_t *table = table_of(INSTANT, RATE, 64);
	uint64_t random = 1234567, now_us = 5000000;
	unsigned passed = 0;
	for (unsigned i = 0; i < 200000; i++) {
		now_us += 10;
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		passed += take(table, ipv4(0xc6336401u), now_us) == RRL_FREE;
		(void)take(table, ipv4((uint32_t)random), now_us);
	}
	assert_true(passed < 1000); /* of 200,000 in two seconds */
	rrl_table_free(table);
}

/* Charging is limited by nothing, and what is used up comes back. */
static void test_charge(void **state)
{
	(void)state;
	rrl_table_t *table = table_of(5000000, 5000000, 1024); /* 5 ms in nanoseconds, per second as well */
	struct sockaddr_storage from = ipv6(0x20010db800000000u, 1), other = ipv6(0x20010db900000000u, 1);
	const struct sockaddr *remote = (const struct sockaddr *)&from;
	uint64_t now_us = 50000000;
	rrl_table_charge(table, remote, 4900000, now_us, 1);
	assert_int_equal(rrl_table_look(table, remote, now_us), RRL_FREE);
	rrl_table_charge(table, remote, 1000000000, now_us, 1);
	assert_int_equal(rrl_table_look(table, remote, now_us), 128);
	assert_int_equal(rrl_table_look(table, (const struct sockaddr *)&other, now_us), RRL_FREE);
	/* There is no debt: what it may use again is known after a moment. */
	assert_int_equal(rrl_table_look(table, remote, now_us + SECOND / 10), RRL_FREE);
	rrl_table_free(table);
}

/* Prefixes of one address that share a line don't take each other's new entries. */
static void test_one_line(void **state)
{
	(void)state;
	rrl_table_t *table = table_of(INSTANT, RATE, 8);
	struct sockaddr_storage from = ipv4(0xc0000201);
	for (unsigned i = 0; i < INSTANT; i++) {
		assert_int_equal(take(table, from, 1), RRL_FREE);
	}
	assert_int_equal(take(table, from, 1), 32);
	rrl_table_free(table);
}

/* An entry that wasn't touched for very long is empty, whatever its tick says. */
static void test_long_pauses(void **state)
{
	(void)state;
	rrl_table_t *table = table_of(INSTANT, RATE, 1024);
	struct sockaddr_storage from = ipv4(0xc0000201);
	uint64_t now_us = 1;
	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 0; i < INSTANT; i++) {
			assert_int_equal(take(table, from, now_us), RRL_FREE);
		}
		assert_int_equal(take(table, from, now_us), 32);
		now_us += 3600ull * SECOND + 77777;
	}
	rrl_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_address),
		cmocka_unit_test(test_below_the_rate),
		cmocka_unit_test(test_large_limits),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_small_table),
		cmocka_unit_test(test_charge),
		cmocka_unit_test(test_one_line),
		cmocka_unit_test(test_long_pauses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
