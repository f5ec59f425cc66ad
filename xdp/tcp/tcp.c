/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/stack.h"

#include <stdlib.h>

enum {
	END_SHIFT = 10,
	SOURCE_SHIFT = 14,
	CLIENTS_MOST = 1 << 30,
	MTU_LEAST = 68, /* RFC 791 3.2 */
};

static bool are_valid(const kxdp_tcp_limits_t *limits)
{
	return limits->clients_max > 0 && limits->clients_max <= CLIENTS_MOST && limits->mtu >= MTU_LEAST &&
	       limits->resend_us > 0 && limits->idle_close_us > 0 && limits->idle_reset_us > 0;
}

static bool make_tables(kxdp_tcp_t *tcp, const kxdp_tcp_limits_t *limits)
{
	return tcp_table_resize(tcp, limits->clients_max) &&
	       (limits->per_source_max == 0 || tcp_sources_resize(tcp, limits->clients_max));
}

knot_err_t kxdp_tcp_new(const kxdp_tcp_limits_t *limits, const uint8_t key[static KXDP_TCP_KEY_LEN], uint64_t now_us,
		kxdp_tcp_t **ret_tcp)
{
	if (!are_valid(limits)) {
		return KNOT_EINVAL;
	}
	kxdp_tcp_t *tcp = calloc(1, sizeof(*tcp));
	if (tcp == NULL) {
		return KNOT_ENOMEM;
	}
	tcp->limits = *limits;
	memcpy(&tcp->key, key, sizeof(tcp->key));
	tcp->now_us = now_us;
	tcp->wheel_time = now_us >> WHEEL_SHIFT;
	tcp->stats.memory = sizeof(*tcp);
	kxdp_slab_init(&tcp->conns, sizeof(conn_t), CONN_SHIFT);
	kxdp_slab_init(&tcp->busies, sizeof(busy_t), BUSY_SHIFT);
	kxdp_slab_init(&tcp->ends, sizeof(end_t), END_SHIFT);
	kxdp_slab_init(&tcp->sources, sizeof(source_t), SOURCE_SHIFT);
	tcp_buffers_init(tcp);
	tcp_timers_configure(tcp);
	if (!make_tables(tcp, limits)) {
		kxdp_tcp_free(tcp);
		return KNOT_ENOMEM;
	}
	*ret_tcp = tcp;
	return KNOT_OK;
}

void kxdp_tcp_free(kxdp_tcp_t *take_tcp)
{
	if (take_tcp == NULL) {
		return;
	}
	kxdp_slab_done(&take_tcp->conns);
	kxdp_slab_done(&take_tcp->busies);
	kxdp_slab_done(&take_tcp->ends);
	kxdp_slab_done(&take_tcp->sources);
	tcp_buffers_done(take_tcp);
	kxdp_unmap(take_tcp->buckets, take_tcp->bucket_room * sizeof(take_tcp->buckets[0]));
	kxdp_unmap(take_tcp->source_buckets, (take_tcp->source_mask + 1) * sizeof(take_tcp->source_buckets[0]));
	kxdp_unmap(take_tcp->end_buckets, (take_tcp->end_mask + 1) * sizeof(take_tcp->end_buckets[0]));
	free(take_tcp);
}

void kxdp_tcp_configure(kxdp_tcp_t *tcp, const kxdp_tcp_limits_t *limits)
{
	if (!are_valid(limits)) {
		return;
	}
	kxdp_tcp_limits_t old = tcp->limits;
	tcp->limits = *limits;
	if (!make_tables(tcp, limits)) { /* no memory: as many as before */
		tcp->limits.clients_max = limits->clients_max < old.clients_max ? limits->clients_max : old.clients_max;
		tcp->limits.per_source_max = tcp->source_buckets != NULL ? limits->per_source_max : 0;
	}
	tcp_timers_configure(tcp);
}

void kxdp_tcp_stats(const kxdp_tcp_t *tcp, kxdp_tcp_stats_t *ret_stats)
{
	const uint64_t *from = (const uint64_t *)&tcp->stats;
	uint64_t *to = (uint64_t *)ret_stats;
	for (size_t i = 0; i < sizeof(*ret_stats) / sizeof(uint64_t); i++) {
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
	ret_stats->memory += kxdp_slab_memory(&tcp->conns) + kxdp_slab_memory(&tcp->busies) +
			     kxdp_slab_memory(&tcp->ends) + kxdp_slab_memory(&tcp->sources) + tcp_buffers_memory(tcp);
}
