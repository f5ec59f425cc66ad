/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/rrl/table.h"

#include "libknot/base/bytes.h"
#include "xdp/tcp/siphash.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

/*
 * An entry is one word: tag (16 bits), tick of the last change (22), value (26). It lies in a line of eight, which the
 * hash of its prefix gives as it gives the tag. A word of zeros is an empty entry: it has used nothing.
 */
enum {
	LINE = 8,
	VALUE_BITS = 26,
	TICK_BITS = 22,
	TICK_MASK = (1 << TICK_BITS) - 1,
	VALUE_MAX = (1 << VALUE_BITS) - 1,
	LIMIT = VALUE_MAX - 4096, /* prices are parts of it: what is above is for their rounding */
	PRICE_BITS = 16,          /* behind the point of a price */
	TICKS_PER_TAU = 64,       /* ticks in which a value sinks to 1/e, if they aren't shorter than: */
	TICK_MIN_US = 125,
	DECAYS = 19 * TICKS_PER_TAU, /* after so many ticks nothing is left: e^-19 < 2^-27 */
	TOUCHED_MAX = 64 << 20,      /* bytes; larger tables get their pages when they are used */
};

/* Networks of an address, the longest first, and how much more they may use. Knot's. */
typedef struct {
	uint8_t len;
	uint16_t multiple;
} prefix_t;

enum { PREFIXES_4 = 4, PREFIXES_6 = 5, PREFIXES_MAX = 5 };
static const prefix_t prefixes_4[PREFIXES_4] = { { 32, 1 }, { 24, 32 }, { 20, 256 }, { 18, 768 } };
static const prefix_t prefixes_6[PREFIXES_6] = { { 128, 1 }, { 64, 2 }, { 56, 3 }, { 48, 4 }, { 32, 64 } };

typedef struct {
	_Alignas(64) _Atomic uint64_t entries[LINE];
} line_t;

struct rrl_table {
	line_t *lines; /* owned: mapped */
	size_t line_count;
	uint64_t tick_us;
	uint32_t decays[DECAYS];                             /* by ticks: what is left of a value, in 1/2^32 */
	uint64_t prices_4[PREFIXES_4], prices_6[PREFIXES_6]; /* of one unit, PRICE_BITS behind the point */
	/* One for each kind of prefix: peers don't know them, so they can't choose what meets in an entry. */
	kxdp_siphash_key_t keys_4[PREFIXES_4], keys_6[PREFIXES_6];
};

/* An entry that a prefix has or will have. */
typedef struct {
	line_t *line;
	uint16_t tag;
	uint16_t noise; /* for rounding */
	unsigned index; /* in the line */
	uint32_t value; /* now */
	uint8_t prefix_len;
	uint64_t price;
} found_t;

/* ---- Making one ---- */

/* e^-x, 0 <= x <= 1. */
static double table_exp_minus(double x)
{
	double sum = 1, term = 1;
	for (int i = 1; i < 20; i++) {
		term *= -x / i;
		sum += term;
	}
	return sum;
}

static void table_fill_decays(rrl_table_t *table, const rrl_limits_t *limits)
{
	double tau_us = 1e6 * (double)limits->instant / (double)limits->rate;
	table->tick_us = (uint64_t)(tau_us / TICKS_PER_TAU);
	table->tick_us = table->tick_us > TICK_MIN_US ? table->tick_us : TICK_MIN_US;
	double factor = table_exp_minus((double)table->tick_us / tau_us), left = 1;
	table->decays[0] = UINT32_MAX;
	for (size_t i = 1; i < DECAYS; i++) {
		left *= factor;
		table->decays[i] = (uint32_t)(left * UINT32_MAX);
	}
}

static void table_fill_prices(uint64_t *prices, const prefix_t *prefixes, size_t count, uint64_t instant)
{
	for (size_t i = 0; i < count; i++) {
		prices[i] = ((uint64_t)LIMIT << PRICE_BITS) / (instant * prefixes[i].multiple);
	}
}

knot_err_t rrl_table_new(const rrl_limits_t *limits, rrl_table_t **ret_table)
{
	assert(limits->instant > 0 && limits->rate > 0 && limits->rate <= 1000 * limits->instant &&
			limits->entries > 0);
	rrl_table_t *table = calloc(1, sizeof(*table));
	if (table == NULL) {
		return KNOT_ENOMEM;
	}
	table->line_count = 1;
	while (table->line_count * LINE < limits->entries) {
		table->line_count *= 2;
	}
	size_t size = table->line_count * sizeof(line_t);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		free(table);
		return KNOT_ENOMEM;
	}
	table->lines = memory;
	(void)madvise(memory, size, MADV_HUGEPAGE); /* where there are none, it costs misses of the TLB */
	if (size <= TOUCHED_MAX) {
		memset(memory, 0, size);
	}
	table_fill_decays(table, limits);
	table_fill_prices(table->prices_4, prefixes_4, PREFIXES_4, limits->instant);
	table_fill_prices(table->prices_6, prefixes_6, PREFIXES_6, limits->instant);
	if (getrandom(table->keys_4, sizeof(table->keys_4), 0) != (ssize_t)sizeof(table->keys_4) ||
			getrandom(table->keys_6, sizeof(table->keys_6), 0) != (ssize_t)sizeof(table->keys_6)) {
		rrl_table_free(table);
		return KNOT_ENOMEM;
	}
	*ret_table = table;
	return KNOT_OK;
}

void rrl_table_free(rrl_table_t *take_table)
{
	if (take_table != NULL) {
		(void)munmap(take_table->lines, take_table->line_count * sizeof(line_t));
		free(take_table);
	}
}

/* ---- Entries ---- */

static inline uint32_t table_value_of(const rrl_table_t *table, uint64_t entry, uint32_t tick)
{
	uint32_t age = (tick - (uint32_t)(entry >> VALUE_BITS)) & TICK_MASK;
	/* An age that is nearly all ticks is of a thread whose clock is a little ahead. */
	age = age > TICK_MASK - TICKS_PER_TAU ? 0 : age;
	/* One more than the factor: without an age nothing may be lost, or small prices never add up. */
	return age < DECAYS ? (uint32_t)((entry & VALUE_MAX) * (UINT64_C(1) + table->decays[age]) >> 32) : 0;
}

/* Has one of the address's prefixes before this one the entry? */
static bool table_is_taken(const found_t *first, const found_t *found, unsigned index)
{
	for (const found_t *other = first; other < found; other++) {
		if (other->line == found->line && other->index == index) {
			return true;
		}
	}
	return false;
}

/* The entry to give up for a new prefix: the one with the least value. There are more than an address has prefixes. */
__attribute__((noinline)) static void table_find_victim(
		const rrl_table_t *table, const found_t *first, found_t *found, uint32_t tick)
{
	uint32_t least = UINT32_MAX;
	for (unsigned i = 0; i < LINE; i++) {
		if (table_is_taken(first, found, i)) {
			continue;
		}
		uint64_t entry = atomic_load_explicit(&found->line->entries[i], memory_order_relaxed);
		uint32_t value = table_value_of(table, entry, tick);
		if (value < least) {
			least = value;
			found->index = i;
		}
	}
	found->value = 0;
}

/* first: of the address's prefixes, in the order in which their entries are found. */
static inline void table_find(const rrl_table_t *table, const found_t *first, found_t *found, uint32_t tick)
{
	for (unsigned i = 0; i < LINE; i++) {
		uint64_t entry = atomic_load_explicit(&found->line->entries[i], memory_order_relaxed);
		if (entry >> (VALUE_BITS + TICK_BITS) == found->tag) {
			found->index = i;
			found->value = table_value_of(table, entry, tick);
			return;
		}
	}
	table_find_victim(table, first, found, tick);
}

static inline void table_place(const rrl_table_t *table, found_t *found, uint64_t hash)
{
	found->line = &table->lines[hash & (table->line_count - 1)];
	found->tag = (uint16_t)(hash >> 48);
	found->noise = (uint16_t)(hash >> 32);
	__builtin_prefetch(found->line);
}

/* Lines of all prefixes of an address, which are fetched at the same time. Returns their number. */
static inline size_t table_place_all(
		const rrl_table_t *table, const struct sockaddr *remote, found_t found[PREFIXES_MAX])
{
	if (remote->sa_family == AF_INET) {
		uint32_t ip = load_be32((const uint8_t *)&((const struct sockaddr_in *)remote)->sin_addr);
		for (size_t i = 0; i < PREFIXES_4; i++) {
			uint64_t word = ip & ~(uint32_t)0 << (32 - prefixes_4[i].len);
			table_place(table, &found[i], kxdp_siphash13(&table->keys_4[i], &word, 1));
			found[i].prefix_len = prefixes_4[i].len;
			found[i].price = table->prices_4[i];
		}
		return PREFIXES_4;
	}
	assert(remote->sa_family == AF_INET6);
	const uint8_t *ip = ((const struct sockaddr_in6 *)remote)->sin6_addr.s6_addr;
	const uint64_t words[2] = { load_be64(ip), load_be64(ip + 8) };
	for (size_t i = 0; i < PREFIXES_6; i++) {
		uint64_t word = i > 0 ? words[0] & ~UINT64_C(0) << (64 - prefixes_6[i].len) : 0;
		table_place(table, &found[i],
				i == 0 ? kxdp_siphash13(&table->keys_6[i], words, 2)
				       : kxdp_siphash13(&table->keys_6[i], &word, 1));
		found[i].prefix_len = prefixes_6[i].len;
		found[i].price = table->prices_6[i];
	}
	return PREFIXES_6;
}

static inline uint32_t table_tick_of(const rrl_table_t *table, uint64_t now_us)
{
	return (uint32_t)(now_us / table->tick_us) & TICK_MASK;
}

/* A value after `amount` was used up. Parts of a unit are rounded up as often as they are large. */
static inline uint64_t table_sum(const found_t *found, uint64_t amount, uint32_t salt)
{
	uint64_t noise = (uint16_t)(found->noise + salt * 40503u);
	return found->value + ((found->price * amount + noise) >> PRICE_BITS);
}

static inline void table_store(const found_t *found, uint64_t value, uint32_t tick)
{
	uint64_t entry = (uint64_t)found->tag << (VALUE_BITS + TICK_BITS) | (uint64_t)tick << VALUE_BITS |
			 (value < VALUE_MAX ? value : VALUE_MAX);
	atomic_store_explicit(&found->line->entries[found->index], entry, memory_order_relaxed);
}

unsigned rrl_table_take(
		rrl_table_t *table, const struct sockaddr *remote, uint64_t amount, uint64_t now_us, uint32_t salt)
{
	found_t found[PREFIXES_MAX];
	uint64_t sums[PREFIXES_MAX];
	uint32_t tick = table_tick_of(table, now_us);
	size_t count = table_place_all(table, remote, found);
	for (size_t i = 0; i < count; i++) {
		table_find(table, found, &found[i], tick);
		sums[i] = table_sum(&found[i], amount, salt);
		if (sums[i] > VALUE_MAX) {
			return found[i].prefix_len;
		}
	}
	for (size_t i = 0; i < count; i++) {
		table_store(&found[i], sums[i], tick);
	}
	return RRL_FREE;
}

unsigned rrl_table_look(const rrl_table_t *table, const struct sockaddr *remote, uint64_t now_us)
{
	found_t found[PREFIXES_MAX];
	uint32_t tick = table_tick_of(table, now_us);
	size_t count = table_place_all(table, remote, found);
	for (size_t i = 0; i < count; i++) {
		table_find(table, found, &found[i], tick);
		if (found[i].value >= LIMIT) {
			return found[i].prefix_len;
		}
	}
	return RRL_FREE;
}

void rrl_table_charge(
		rrl_table_t *table, const struct sockaddr *remote, uint64_t amount, uint64_t now_us, uint32_t salt)
{
	enum { AMOUNT_MAX = 1000000000 }; /* times the largest price it fits 64 bits */
	assert(amount <= AMOUNT_MAX);
	found_t found[PREFIXES_MAX];
	uint32_t tick = table_tick_of(table, now_us);
	size_t count = table_place_all(table, remote, found);
	for (size_t i = 0; i < count; i++) {
		table_find(table, found, &found[i], tick);
		table_store(&found[i], table_sum(&found[i], amount, salt), tick);
	}
}
