/* SPDX-License-Identifier: BSD-2-Clause */
/* Who gets in, who goes when there is too little for all, and how many segments strangers get. */
#include "xdp/tcp/source.h"
#include "xdp/tcp/stack.h"

/* ---- sources ---- */

static uint32_t *source_bucket(const kxdp_tcp_t *tcp, uint64_t prefix)
{
	return &tcp->source_buckets[(uint32_t)kxdp_siphash13(&tcp->key, &prefix, 1) & tcp->source_mask];
}

static source_t *source_at(const kxdp_tcp_t *tcp, uint32_t number)
{
	return kxdp_slab_at(&tcp->sources, number);
}

/* In the chain from `number` on. 0: not there. */
static uint32_t source_find(const kxdp_tcp_t *tcp, uint32_t number, uint64_t prefix)
{
	while (number != 0 && source_at(tcp, number)->prefix != prefix) {
		number = source_at(tcp, number)->hash_next;
	}
	return number;
}

bool tcp_source_has_room(const kxdp_tcp_t *tcp, const uint8_t remote[16])
{
	if (tcp->limits.per_source_max == 0) {
		return true;
	}
	uint64_t prefix = kxdp_source_of(remote);
	uint32_t number = source_find(tcp, *source_bucket(tcp, prefix), prefix);
	return number == 0 || source_at(tcp, number)->count < tcp->limits.per_source_max;
}

bool tcp_source_add(kxdp_tcp_t *tcp, conn_t *conn)
{
	if (tcp->limits.per_source_max == 0) {
		return true;
	}
	uint64_t prefix = kxdp_source_of(conn->remote);
	uint32_t *bucket = source_bucket(tcp, prefix), number = source_find(tcp, *bucket, prefix);
	if (number == 0) {
		number = kxdp_slab_take(&tcp->sources);
		if (number == 0) {
			return true; /* no memory to count it */
		}
		*source_at(tcp, number) = (source_t){ .hash_next = *bucket, .prefix = prefix };
		*bucket = number;
	}
	source_t *source = source_at(tcp, number);
	if (source->count >= tcp->limits.per_source_max) {
		return false;
	}
	source->count++;
	conn->flags |= CONN_COUNTED;
	return true;
}

void tcp_source_remove(kxdp_tcp_t *tcp, conn_t *conn)
{
	if (!(conn->flags & CONN_COUNTED)) {
		return;
	}
	conn->flags &= (uint16_t)~CONN_COUNTED;
	uint64_t prefix = kxdp_source_of(conn->remote);
	uint32_t *at = source_bucket(tcp, prefix), number = source_find(tcp, *at, prefix);
	if (--source_at(tcp, number)->count > 0) {
		return;
	}
	while (*at != number) {
		at = &source_at(tcp, *at)->hash_next;
	}
	*at = source_at(tcp, number)->hash_next;
	kxdp_slab_give_back(&tcp->sources, number);
}

/* ---- rates ---- */

bool tcp_bucket_take(bucket_t *bucket, uint64_t now_us, uint32_t per_second)
{
	if (per_second == 0) {
		return false;
	}
	/* In units of time: each segment costs 1/per_second, and a second of them may be saved up. */
	uint64_t cost_us = SECOND_US / per_second > 0 ? SECOND_US / per_second : 1;
	uint64_t full_us = bucket->full_us > now_us ? bucket->full_us : now_us;
	if (full_us + cost_us > now_us + SECOND_US) {
		return false;
	}
	bucket->full_us = full_us + cost_us;
	return true;
}

/* ---- the table ---- */

bool tcp_make_room(kxdp_tcp_t *tcp, bool is_complete)
{
	if (tcp->conn_count < tcp->limits.clients_max) {
		return true;
	}
	/* Who is missed least: a closed one, a half-open one, the longest idle. */
	if (tcp->lists[LIST_TIME_WAIT].head != 0) {
		tcp_conn_free(tcp, tcp->lists[LIST_TIME_WAIT].head);
		return true;
	}
	for (unsigned list = LIST_COUNT - 1; is_complete && list >= LIST_HALF; list--) {
		if (tcp->lists[list].head != 0) {
			stat_inc(&tcp->stats.dropped_limit);
			tcp_conn_free(tcp, tcp->lists[list].head);
			return true;
		}
	}
	static const list_kind_t order[] = { LIST_IDLE_CLOSED, LIST_CLOSING, LIST_IDLE };
	for (size_t i = 0; is_complete && i < KNOT_LEN(order); i++) {
		if (tcp->lists[order[i]].head != 0) {
			stat_inc(&tcp->stats.evicted);
			tcp_conn_reset(tcp, tcp->lists[order[i]].head);
			return true;
		}
	}
	return false;
}

/* ---- buffers ---- */

bool tcp_reclaim_input(kxdp_tcp_t *tcp, uint32_t spared)
{
	uint32_t busy = tcp->readers.head;
	if (busy != 0 && busy_at(tcp, busy)->conn == spared) {
		busy = busy_at(tcp, busy)->in_link.next;
	}
	/* Its bytes are being read just now. */
	if (busy != 0 && tcp->current != 0 && busy_at(tcp, busy)->conn == tcp->current) {
		busy = busy_at(tcp, busy)->in_link.next;
	}
	if (busy == 0 || busy_at(tcp, busy)->conn == spared) {
		return false;
	}
	stat_inc(&tcp->stats.dropped_inbuf);
	tcp_conn_reset(tcp, busy_at(tcp, busy)->conn);
	return true;
}

/* A peer that has taken nothing for so long makes room for those who wait. */
static uint64_t stall_us(const kxdp_tcp_t *tcp)
{
	uint64_t quarter = tcp->limits.idle_close_us / 4;
	return quarter > SECOND_US ? quarter : SECOND_US;
}

static bool outbuf_is_short(const kxdp_tcp_t *tcp)
{
	return tcp->shared.head != 0 && tcp->stats.outbuf + MESSAGE_MAX > tcp->limits.outbuf_max;
}

static uint64_t writer_age_us(const kxdp_tcp_t *tcp)
{
	return (uint64_t)(ms_of(tcp->now_us) - busy_at(tcp, tcp->writers.head)->writer_stamp_ms) * 1000;
}

void tcp_reclaim_output(kxdp_tcp_t *tcp)
{
	while (outbuf_is_short(tcp) && tcp->writers.head != 0 && writer_age_us(tcp) >= stall_us(tcp)) {
		stat_inc(&tcp->stats.dropped_outbuf);
		tcp_conn_reset(tcp, busy_at(tcp, tcp->writers.head)->conn);
	}
}

uint64_t tcp_reclaim_time(const kxdp_tcp_t *tcp)
{
	if (!outbuf_is_short(tcp) || tcp->writers.head == 0) {
		return UINT64_MAX;
	}
	uint64_t age = writer_age_us(tcp), stall = stall_us(tcp) + 1000;
	return age < stall ? tcp->now_us + (stall - age) : tcp->now_us;
}
