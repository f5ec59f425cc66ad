/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/stack.h"

#include <stdlib.h>

enum {
	END_SHIFT = 10,
	CLIENTS_MOST = 1 << 30,
	MTU_LEAST = 68, /* RFC 791 3.2 */
};

static bool tcp_limits_are_valid(const kxdp_tcp_limits_t *limits)
{
	return limits->clients_max > 0 && limits->clients_max <= CLIENTS_MOST && limits->mtu >= MTU_LEAST &&
	       limits->resend_us > 0 && limits->idle_close_us > 0 && limits->idle_reset_us > 0 &&
	       (limits->in_source_max == 0 || limits->in_source_max >= IN_MAX);
}

static bool tcp_make_tables(kxdp_tcp_t *tcp, const kxdp_tcp_limits_t *limits)
{
	return tcp_table_resize(tcp, limits->clients_max) && tcp_sources_resize(tcp, limits->clients_max);
}

knot_err_t kxdp_tcp_new(const kxdp_tcp_limits_t *limits, const uint8_t key[static KXDP_TCP_KEY_LEN], uint64_t now_us,
		kxdp_tcp_t **ret_tcp)
{
	if (!tcp_limits_are_valid(limits)) {
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
	kxdp_slab_init(&tcp->shares, sizeof(share_t), SHARE_SHIFT);
	tcp_buffers_init(tcp);
	tcp_timers_configure(tcp);
	if (!tcp_make_tables(tcp, limits)) {
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
	kxdp_slab_done(&take_tcp->shares);
	tcp_buffers_done(take_tcp);
	kxdp_unmap(take_tcp->buckets, take_tcp->bucket_room * sizeof(take_tcp->buckets[0]));
	kxdp_unmap(take_tcp->source_buckets, (take_tcp->source_mask + 1) * sizeof(take_tcp->source_buckets[0]));
	kxdp_unmap(take_tcp->end_buckets, (take_tcp->end_mask + 1) * sizeof(take_tcp->end_buckets[0]));
	free(take_tcp);
}

void kxdp_tcp_configure(kxdp_tcp_t *tcp, const kxdp_tcp_limits_t *limits)
{
	if (!tcp_limits_are_valid(limits)) {
		return;
	}
	kxdp_tcp_limits_t old = tcp->limits;
	tcp->limits = *limits;
	if (!tcp_make_tables(tcp, limits)) { /* no memory: as many as before */
		tcp->limits.clients_max = limits->clients_max < old.clients_max ? limits->clients_max : old.clients_max;
	}
	tcp_timers_configure(tcp);
}

/* ---- memory that goes back ---- */

/* Of kxdp_tcp_t: slabs whose empty chunks go back to the system. Those of buffers follow each other. */
static const size_t slab_offs[] = { offsetof(kxdp_tcp_t, conns), offsetof(kxdp_tcp_t, busies),
	offsetof(kxdp_tcp_t, ends), offsetof(kxdp_tcp_t, sources), offsetof(kxdp_tcp_t, shares),
	offsetof(kxdp_tcp_t, buffers[SIDE_IN][0]), offsetof(kxdp_tcp_t, buffers[SIDE_IN][1]),
	offsetof(kxdp_tcp_t, buffers[SIDE_IN][2]), offsetof(kxdp_tcp_t, buffers[SIDE_IN][3]),
	offsetof(kxdp_tcp_t, buffers[SIDE_OUT][0]), offsetof(kxdp_tcp_t, buffers[SIDE_OUT][1]) };

enum { SLAB_KEEP = 1 }; /* empty chunks, for the next connection */

/*
 * Half of the empty chunks each second: what comes and goes in waves isn't mapped again with each wave, and after a
 * flood nearly everything is back within some seconds.
 */
void tcp_trim(kxdp_tcp_t *tcp)
{
	if (tcp->now_us < tcp->trim_us) {
		return;
	}
	tcp->trim_us = tcp->now_us + TRIM_US;
	for (size_t i = 0; i < KNOT_LEN(slab_offs); i++) {
		kxdp_slab_t *slab = (kxdp_slab_t *)((uint8_t *)tcp + slab_offs[i]);
		kxdp_slab_trim(slab, SLAB_KEEP, (slab->empty_count + 1) / 2);
	}
}

uint64_t tcp_trim_time(const kxdp_tcp_t *tcp)
{
	for (size_t i = 0; i < KNOT_LEN(slab_offs); i++) {
		const kxdp_slab_t *slab = (const kxdp_slab_t *)((const uint8_t *)tcp + slab_offs[i]);
		if (slab->empty_count > SLAB_KEEP) {
			return tcp->trim_us > tcp->now_us ? tcp->trim_us : tcp->now_us;
		}
	}
	return UINT64_MAX;
}

void kxdp_tcp_stats(const kxdp_tcp_t *tcp, kxdp_tcp_stats_t *ret_stats)
{
	const uint64_t *from = (const uint64_t *)&tcp->stats;
	uint64_t *to = (uint64_t *)ret_stats;
	for (size_t i = 0; i < sizeof(*ret_stats) / sizeof(uint64_t); i++) {
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	}
	ret_stats->memory += kxdp_slab_memory(&tcp->conns) + kxdp_slab_memory(&tcp->busies) +
			     kxdp_slab_memory(&tcp->ends) + kxdp_slab_memory(&tcp->sources) +
			     kxdp_slab_memory(&tcp->shares) + tcp_buffers_memory(tcp);
}

void kxdp_tcp_stats_add(kxdp_tcp_stats_t *sum, const kxdp_tcp_stats_t *part)
{
	enum { COUNT = 1, LEVEL = 0, BYTES = 0 };
#define TCP_ADD(name, kind, help) sum->name += (kind)*part->name;
	KXDP_TCP_STATS(TCP_ADD)
#undef TCP_ADD
}
