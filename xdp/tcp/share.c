/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each source holds of the buffers, and which source has to give some back. The reasons are in
 * doc/adr/0029-tcp-shares.md.
 *
 * Ranks. Sources are ranked by the units that they hold, in levels of half a power of two: 1, 2, 3, 4, 6, 8, 12, … The
 * greediest one is the first of the highest level: exact to a factor of 1.5. A source moves up as soon as it holds
 * more. It moves down only when the stack looks for the greediest source (share_settle()), so its rank is what it holds
 * or has held lately. A query or reply of a source whose holdings come and go then costs an addition and no list
 * operation, and each step down follows a step up.
 *
 * A share that counts nothing any more stays, for the next reply, until its source ends, it is found on top, or a few
 * others are made (share_sweep()): there are never many more than are in use.
 *
 * Everything here is O(1), amortized where a source steps down: no search looks at more than CANDIDATES connections.
 */
#include "xdp/tcp/stack.h"

enum {
	/* Connections that are looked at for one that may be reset. Two may not: the caller's and the one being read.
	 */
	CANDIDATES = 3,
	STALLED_MOST = 8, /* resets per reply that is written: the rest with the next ones */
};

#define RANK_LINK(side) (offsetof(share_t, rank_links) + (side) * sizeof(link_t))

/* ---- ranks ---- */

/* 0 of one unit, 63 of 3 << 30 and more. units: not 0. */
static unsigned share_level_of(uint32_t units)
{
	assert(units > 0);
	unsigned top = 31 - (unsigned)__builtin_clz(units);
	return 2 * top + (top > 0 ? units >> (top - 1) & 1 : 0);
}

static void share_rank(kxdp_tcp_t *tcp, uint32_t number, side_t side, unsigned to)
{
	rank_t *rank = &tcp->ranks[side];
	share_t *share = share_at(tcp, number);
	unsigned from = share->levels[side];
	if (from != RANK_LEVELS) {
		list_remove(&tcp->shares, RANK_LINK(side), &rank->levels[from], number);
		rank->bits &= ~((uint64_t)(rank->levels[from].head == 0) << from);
	}
	if (to != RANK_LEVELS) {
		list_append(&tcp->shares, RANK_LINK(side), &rank->levels[to], number);
		rank->bits |= 1ull << to;
	}
	share->levels[side] = (uint8_t)to;
}

static void share_free(kxdp_tcp_t *tcp, uint32_t number)
{
	share_t *share = share_at(tcp, number);
	assert(share->units[SIDE_IN] == 0 && share->units[SIDE_OUT] == 0 && share->waiting.head == 0);
	assert(share->holders[SIDE_IN].head == 0 && share->holders[SIDE_OUT].head == 0);
	share_rank(tcp, number, SIDE_IN, RANK_LEVELS);
	share_rank(tcp, number, SIDE_OUT, RANK_LEVELS);
	source_at(tcp, share->source)->share = 0;
	kxdp_slab_give_back(&tcp->shares, number);
}

/* Is it in the level of what it holds? If not, it is put there, or goes when it holds nothing at all. */
static bool share_settle(kxdp_tcp_t *tcp, uint32_t number, side_t side)
{
	const share_t *share = share_at(tcp, number);
	unsigned level = share->units[side] > 0 ? share_level_of(share->units[side]) : RANK_LEVELS;
	if (level == share->levels[side]) {
		return true;
	}
	if (share->units[SIDE_IN] + share->units[SIDE_OUT] == 0) {
		share_free(tcp, number);
	} else {
		share_rank(tcp, number, side, level);
	}
	return false;
}

/* Makes sure that the first one of the highest level belongs there. Returns the level; RANK_LEVELS: none. */
static unsigned share_settle_top(kxdp_tcp_t *tcp, side_t side)
{
	const rank_t *rank = &tcp->ranks[side];
	while (rank->bits != 0) {
		unsigned level = RANK_LEVELS - 1 - (unsigned)__builtin_clzll(rank->bits);
		if (share_settle(tcp, rank->levels[level].head, side)) {
			return level;
		}
	}
	return RANK_LEVELS;
}

/* The oldest of the lowest level: it goes when it counts nothing, else it comes last there. */
static void share_sweep(kxdp_tcp_t *tcp, side_t side)
{
	enum { LOOKS = 2 }; /* per share that is made, so that those that count nothing become fewer */
	const rank_t *rank = &tcp->ranks[side];
	for (unsigned i = 0; i < LOOKS && rank->bits != 0; i++) {
		unsigned level = (unsigned)__builtin_ctzll(rank->bits);
		uint32_t number = rank->levels[level].head;
		if (share_settle(tcp, number, side)) {
			share_rank(tcp, number, side, level);
		}
	}
}

/* ---- counting ---- */

static uint32_t share_make(kxdp_tcp_t *tcp, uint32_t source_number)
{
	share_sweep(tcp, SIDE_IN);
	share_sweep(tcp, SIDE_OUT);
	uint32_t number = kxdp_slab_take(&tcp->shares);
	if (number != 0) {
		*share_at(tcp, number) = (share_t){ .source = source_number, .levels = { RANK_LEVELS, RANK_LEVELS } };
		source_at(tcp, source_number)->share = number;
	}
	return number;
}

share_t *tcp_share_add(kxdp_tcp_t *tcp, const conn_t *conn, side_t side, uint32_t more)
{
	assert(conn->source != 0 && more > 0);
	uint32_t number = source_at(tcp, conn->source)->share;
	if (number == 0 && (number = share_make(tcp, conn->source)) == 0) {
		return NULL;
	}
	share_t *share = share_at(tcp, number);
	assert(share->units[side] <= UINT32_MAX - more);
	share->units[side] += more;
	unsigned level = share_level_of(share->units[side]);
	if (share->levels[side] == RANK_LEVELS || level > share->levels[side]) {
		share_rank(tcp, number, side, level);
	}
	return share;
}

void tcp_share_end(kxdp_tcp_t *tcp, source_t *source)
{
	assert(source->count == 0);
	if (source->share != 0) {
		share_free(tcp, source->share);
	}
}

bool tcp_share_is_greediest(kxdp_tcp_t *tcp, const conn_t *conn, side_t side)
{
	unsigned top = share_settle_top(tcp, side);
	const share_t *share = share_of(tcp, conn);
	return share != NULL && share->units[side] > 0 && share_level_of(share->units[side]) == top;
}

/* ---- taking back ---- */

/* The oldest holder that may be reset, as a connection. 0: none among the first ones. */
static uint32_t share_find_victim(const kxdp_tcp_t *tcp, const share_t *share, side_t side, uint32_t spared)
{
	uint32_t busy = share->holders[side].head;
	for (unsigned i = 0; busy != 0 && i < CANDIDATES; i++) {
		uint32_t number = busy_at(tcp, busy)->conn;
		if (number != spared && number != tcp->current) {
			return number;
		}
		busy = busy_at(tcp, busy)->holder_links[side].next;
	}
	return 0;
}

static void share_reset_victim(kxdp_tcp_t *tcp, side_t side, uint32_t number)
{
	stat_inc(side == SIDE_IN ? &tcp->stats.dropped_inbuf : &tcp->stats.dropped_outbuf);
	tcp_conn_reset(tcp, number);
}

bool tcp_share_reclaim(kxdp_tcp_t *tcp, side_t side, uint32_t spared)
{
	const rank_t *rank = &tcp->ranks[side];
	(void)share_settle_top(tcp, side);
	uint64_t bits = rank->bits;
	for (unsigned looks = 0; bits != 0 && looks < CANDIDATES;) {
		unsigned level = RANK_LEVELS - 1 - (unsigned)__builtin_clzll(bits);
		for (uint32_t at = rank->levels[level].head, next; at != 0 && looks < CANDIDATES; at = next) {
			next = share_at(tcp, at)->rank_links[side].next;
			if (!share_settle(tcp, at, side)) {
				bits |= rank->bits & ((1ull << level) - 1); /* it has moved down */
				continue;
			}
			uint32_t victim = share_find_victim(tcp, share_at(tcp, at), side, spared);
			if (victim != 0) {
				share_reset_victim(tcp, side, victim);
				return true;
			}
			looks++;
		}
		bits &= ~(1ull << level);
	}
	return false;
}

bool tcp_share_reclaim_own(kxdp_tcp_t *tcp, side_t side, uint32_t spared)
{
	const share_t *share = share_of(tcp, conn_at(tcp, spared));
	uint32_t victim = share != NULL ? share_find_victim(tcp, share, side, spared) : 0;
	if (victim == 0) {
		return false;
	}
	share_reset_victim(tcp, side, victim);
	return true;
}

void tcp_share_drop_stalled(kxdp_tcp_t *tcp, uint32_t spared, uint32_t len)
{
	const conn_t *conn = conn_at(tcp, spared);
	uint64_t most = tcp->limits.out_source_max;
	for (unsigned i = 0; most != 0 && i < STALLED_MOST && tcp_share_held(tcp, conn, SIDE_OUT) + len > most; i++) {
		const share_t *share = share_of(tcp, conn);
		uint32_t victim = share != NULL ? share_find_victim(tcp, share, SIDE_OUT, spared) : 0;
		if (victim == 0 ||
				ms_of(tcp->now_us) - busy_of(tcp, conn_at(tcp, victim))->writer_stamp_ms < STALL_MS) {
			return;
		}
		share_reset_victim(tcp, SIDE_OUT, victim);
	}
}
