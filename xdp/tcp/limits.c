/* SPDX-License-Identifier: BSD-2-Clause */
/* Which connections get in, which are closed when resources run short, and how many segments unknown sources get. */
#include "xdp/tcp/source.h"
#include "xdp/tcp/stack.h"

#include <assert.h>

/* ---- sources ---- */

static uint64_t limits_prefix_of(const source_t *source)
{
	uint64_t prefix;
	memcpy(&prefix, source->prefix, sizeof(prefix));
	return prefix;
}

static uint32_t *limits_source_bucket(const kxdp_tcp_t *tcp, uint64_t prefix)
{
	return &tcp->source_buckets[(uint32_t)kxdp_siphash13(&tcp->key, &prefix, 1) & tcp->source_mask];
}

/* In the chain from `number` on. 0: not there. */
static uint32_t limits_find_source(const kxdp_tcp_t *tcp, uint32_t number, uint64_t prefix)
{
	while (number != 0 && limits_prefix_of(source_at(tcp, number)) != prefix) {
		number = source_at(tcp, number)->hash_next;
	}
	return number;
}

static bool limits_is_source_full(const kxdp_tcp_t *tcp, const source_t *source)
{
	return tcp->limits.per_source_max != 0 && source->count >= tcp->limits.per_source_max;
}

bool tcp_source_has_room(const kxdp_tcp_t *tcp, const uint8_t remote[16])
{
	if (tcp->limits.per_source_max == 0) {
		return true;
	}
	uint64_t prefix = kxdp_source_of(remote);
	uint32_t number = limits_find_source(tcp, *limits_source_bucket(tcp, prefix), prefix);
	return number == 0 || !limits_is_source_full(tcp, source_at(tcp, number));
}

bool tcp_source_add(kxdp_tcp_t *tcp, conn_t *conn)
{
	assert(conn->source == 0);
	uint64_t prefix = kxdp_source_of(conn->remote);
	uint32_t *bucket = limits_source_bucket(tcp, prefix), number = limits_find_source(tcp, *bucket, prefix);
	if (number == 0) {
		number = kxdp_slab_take(&tcp->sources);
		if (number == 0) {
			return false;
		}
		source_t *made = source_at(tcp, number);
		*made = (source_t){ .hash_next = *bucket };
		memcpy(made->prefix, &prefix, sizeof(made->prefix));
		*bucket = number;
	}
	source_t *source = source_at(tcp, number);
	if (limits_is_source_full(tcp, source)) {
		return false;
	}
	source->count++;
	conn->source = number;
	return true;
}

void tcp_source_remove(kxdp_tcp_t *tcp, conn_t *conn)
{
	uint32_t number = conn->source;
	if (number == 0) {
		return;
	}
	assert(conn->busy == 0);
	conn->source = 0;
	source_t *source = source_at(tcp, number);
	assert(source->count > 0);
	if (--source->count > 0) {
		return;
	}
	tcp_share_end(tcp, source);
	uint32_t *at = limits_source_bucket(tcp, limits_prefix_of(source));
	while (*at != number) {
		at = &source_at(tcp, *at)->hash_next;
	}
	*at = source->hash_next;
	kxdp_slab_give_back(&tcp->sources, number);
}

/* ---- rates ---- */

bool tcp_bucket_take(bucket_t *bucket, uint64_t now_us, uint32_t per_second)
{
	return knot_rate_take(bucket, now_us, per_second);
}

/* ---- the table ---- */

bool tcp_make_room(kxdp_tcp_t *tcp, bool is_complete)
{
	if (tcp->conn_count < tcp->limits.clients_max) {
		return true;
	}
	/* The least important connection: a closed one, a half-open one, the longest idle. */
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
