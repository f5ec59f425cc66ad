/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the stack may send, checked where it leaves the stack, with nothing but what was given to the stack before.
 * Bounds are on the generous side: what they forbid is wrong by every reading of the RFCs.
 */
#include "tests/sim/tcp_world.h"

enum {
	/* RFC 6298 says 1 s, all stacks wait 200 ms; a resend is never right before this. */
	RTO_LEAST_US = 100000,
	/* From here on the time between two retransmissions needn't grow. Before that it doubles, or nearly so when a
	   window probe came in between. */
	BACKOFF_MOST_US = 8 * SIM_SECOND,
	PROBE_LEAST_US = 100000,
	PROGRESS_SHIFT = 9, /* 512 bytes */
	/* What an ACK lets go goes at once. */
	CLOCKED_US = 50000,
	/* So many timeouts in a row, or so much silence, are reason enough to give up. */
	GIVE_UP_TIMEOUTS = 5,
	/* Of what a cookie is good for. */
	COOKIE_LIFE_US = 60 * SIM_SECOND,
};

static uint32_t header_len(const sim_client_t *client)
{
	return (client->plan.is_v6 ? 40 : 20) + KXDP_TCP_HEADER_LEN;
}

/* The longest payload that the client takes and the path lets through (RFC 9293 3.7.1). */
static uint32_t payload_most(const sim_client_t *client)
{
	uint32_t mss = client->plan.mss > 0 ? client->plan.mss : client->plan.is_v6 ? 1220 : 536;
	uint32_t path = client->plan.path_mtu - header_len(client);
	mss = mss > KXDP_TCP_MSS_MIN ? mss : KXDP_TCP_MSS_MIN;
	return mss < path ? mss : path;
}

/* ---- what is given to the stack ---- */

/* For so long that the server may close, now or at some time before: the FIN waits for what was written. */
static bool was_idle(const sim_world_t *world, const sim_client_t *client)
{
	return client->watch.was_idle ||
	       world->now - client->watch.progress_time >= world->limits.idle_close_us / 100 * 99;
}

void sim_watch_progress(const sim_world_t *world, sim_client_t *client)
{
	client->watch.was_idle = was_idle(world, client);
	client->watch.progress_time = world->now;
}

static void deliver_ack(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	sim_watch_t *watch = &client->watch;
	uint32_t ack = packet->ack - client->irs;
	bool is_new = !watch->is_synced;
	if (!watch->is_synced) {
		watch->is_synced = true;
		watch->acked = watch->sent_end = 1;
		watch->smss = payload_most(client);
		/* RFC 6928. */
		uint64_t initial = 2ull * watch->smss > 14600 ? 2ull * watch->smss : 14600;
		watch->bound = 10ull * watch->smss < initial ? 10ull * watch->smss : initial;
	}
	/* The ACK of a segment that is old may be disregarded (RFC 9293 3.10.7.4, first step). */
	bool is_sure = packet->seq - client->iss + packet->len >= watch->ack_sent + (packet->len > 0 ? 1 : 0);
	if (is_sure && watch->is_unsure && ack >= watch->acked) {
		watch->is_unsure = false;
		watch->timeouts = 0;
		watch->timer_from = world->now;
	}
	if (ack > watch->acked && (ack <= watch->sent_end || ack <= watch->probe_end)) {
		watch->sent_end = watch->sent_end > ack ? watch->sent_end : ack;
		watch->is_unsure |= !is_sure;
		uint32_t count = ack - watch->acked;
		watch->bound += count < watch->smss ? watch->smss : count < 2 * watch->smss ? count : 2 * watch->smss;
		watch->credit += count;
		watch->acked = ack;
		watch->timeouts = 0;
		watch->timer_from = is_sure ? world->now : watch->timer_from;
		is_new = true;
	} else {
		watch->bound += watch->smss;
		watch->dupacks++;
	}
	watch->credit += 2 * watch->smss;
	if (watch->acked == watch->sent_end) {
		watch->dupacks = 0;
		watch->is_recovering = false;
	}
	uint32_t edge = ack + ((uint32_t)packet->window << (client->scaling ? client->plan.scale : 0));
	watch->edge = edge > watch->edge ? edge : watch->edge;
	if (is_new) {
		sim_watch_progress(world, client);
	}
}

void sim_watch_delivery(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	sim_watch_t *watch = &client->watch;
	watch->is_rst_last = packet->flags & KXDP_TCP_RST;
	watch->heard_time = watch->clock_time = world->now;
	if (packet->incarnation != client->incarnation && packet->flags & KXDP_TCP_SYN) {
		watch->syns++; /* it opens a connection that its client has given up */
		watch->syn_ack_time = watch->backoff_us = 0;
	}
	if (packet->incarnation != client->incarnation || packet->flags & KXDP_TCP_RST) {
		return;
	}
	if (packet->flags & KXDP_TCP_SYN) {
		watch->syns++;
		watch->progress_time = watch->is_synced ? watch->progress_time : world->now;
		return;
	}
	deliver_ack(world, client, packet);
}

/* ---- what the stack sends ---- */

static void check_syn_ack(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment)
{
	sim_watch_t *watch = &client->watch;
	if (segment->flags != (KXDP_TCP_SYN | KXDP_TCP_ACK) || segment->len > 0) {
		sim_fail(world, client, "a SYN with flags 0x%02x and %u bytes", segment->flags, segment->len);
	}
	if (segment->mss == 0 || segment->mss > world->limits.mtu - header_len(client)) {
		sim_fail(world, client, "SYN-ACK with MSS %u", segment->mss);
	}
	if (segment->scale > 14 || (segment->scale >= 0 && client->plan.scale < 0)) {
		sim_fail(world, client, "SYN-ACK with window scale %d", segment->scale);
	}
	if (watch->is_rst_last && watch->heard_time == world->now && world->batch == 1) {
		sim_fail(world, client, "SYN-ACK in answer to RST");
	}
	if (segment->seq != watch->syn_ack_seq) { /* another connection */
		watch->syn_ack_seq = segment->seq;
		watch->syn_ack_time = watch->backoff_us = 0;
	}
	/* Without a SYN of the client: by the timer, less and less often. */
	if (watch->syns == 0) {
		uint64_t gap = world->now - watch->syn_ack_time;
		uint64_t least = watch->backoff_us / 5 * 6;
		least = least < BACKOFF_MOST_US ? least : BACKOFF_MOST_US;
		if (gap < RTO_LEAST_US || gap < least) {
			sim_fail(world, client, "SYN-ACK again after %llu us", (unsigned long long)gap);
		}
		watch->backoff_us = world->now - watch->last_syn_ack_time;
		watch->syn_ack_time = world->now;
	} else if (watch->syn_ack_time == 0) {
		watch->syn_ack_time = world->now; /* a SYN that comes again needn't restart the timer */
	}
	watch->syns -= watch->syns > 0;
	watch->last_syn_ack_time = world->now;
}

static void check_rst(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment)
{
	sim_watch_t *watch = &client->watch;
	if (segment->flags & (KXDP_TCP_SYN | KXDP_TCP_FIN) || segment->len > 0) {
		sim_fail(world, client, "RST with flags 0x%02x and %u bytes", segment->flags, segment->len);
	}
	bool is_allowed = client->is_excused || world->is_pressed || world->is_stopped;
	bool is_answer = world->batch == 1 && watch->heard_time == world->now && watch->is_rst_last;
	if (is_answer && !was_idle(world, client) && client->plan.kind != SIM_HOSTILE && !world->is_stopped) {
		sim_fail(world, client, "RST in answer to RST");
	}
	is_allowed = is_allowed || client->state != SIM_OPEN || was_idle(world, client) ||
		     watch->timeouts >= GIVE_UP_TIMEOUTS ||
		     (world->has_cookies && world->now - client->open_time > COOKIE_LIFE_US);
	/* All of it came, only the last ACK didn't: the server's TIME-WAIT may be over. */
	is_allowed = is_allowed || (client->peer_fin && client->rcv_nxt > client->peer_fin_at && client->closed);
	if (!is_allowed && client->incarnation > 0) {
		is_allowed = segment->seq - client->irs != client->rcv_nxt; /* to something old: it does no harm */
	}
	if (!is_allowed) {
		sim_fail(world, client, "RST to an open connection that has done nothing wrong");
	}
	watch->rst_seen = true;
}

/* Is sending [from, to) again due? */
static void check_resent(sim_world_t *world, sim_client_t *client, uint32_t from, uint32_t to)
{
	sim_watch_t *watch = &client->watch;
	/* By acknowledgments: three that say nothing new, or a timeout before, and then at most two segments for each
	 * ACK. */
	if ((watch->dupacks >= 3 || watch->is_recovering) && watch->credit >= to - from &&
			world->now - watch->clock_time < CLOCKED_US) {
		watch->credit -= to - from;
		watch->is_recovering = true;
		return;
	}
	uint64_t gap = world->now - watch->timer_from;
	uint64_t least = watch->timeouts > 0 ? watch->backoff_us / 5 * 6 : 0;
	least = least < BACKOFF_MOST_US ? least : BACKOFF_MOST_US;
	/* With windows that close and overtake each other, probes look like retransmissions. */
	bool is_early = gap < RTO_LEAST_US && client->plan.read_chunk == 0;
	if (is_early || gap < least) {
		sim_fail(world, client, "bytes %u to %u again after %llu us (timeouts %u, the last one %llu us)",
				from - 1, to - 1, (unsigned long long)gap, watch->timeouts,
				(unsigned long long)watch->backoff_us);
	}
	watch->is_recovering = true;
	watch->credit = watch->smss > to - from ? watch->smss - (to - from) : 0;
	watch->timeouts++;
	/* Anything heard in between may have started the timer again. */
	uint64_t from_time = watch->heard_time > watch->timer_from ? watch->heard_time : watch->timer_from;
	watch->backoff_us = world->now - from_time;
	watch->timer_from = watch->clock_time = world->now;
	watch->bound = watch->smss;
}

/* A byte behind a closed window, not too often (RFC 9293 3.8.6.1). */
static void check_probe(sim_world_t *world, sim_client_t *client, uint32_t from, uint32_t len)
{
	sim_watch_t *watch = &client->watch;
	if (len != 1 || from > watch->edge) {
		sim_fail(world, client, "bytes %u to %u are behind the window, which ends at %u", from - 1,
				from - 1 + len, watch->edge - 1);
	}
	if (from == watch->edge && world->now - watch->probe_time < PROBE_LEAST_US) {
		sim_fail(world, client, "window probes %llu us apart",
				(unsigned long long)(world->now - watch->probe_time));
	}
	watch->probe_time = watch->timer_from = world->now;
}

static void check_data(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment)
{
	sim_watch_t *watch = &client->watch;
	uint32_t from = segment->seq - client->irs, to = from + segment->len;
	if (segment->len > payload_most(client) || segment->len > world->payload_max) {
		sim_fail(world, client, "%u bytes in a segment, at most %u may be", segment->len, payload_most(client));
	}
	if (to - 1 > client->reply_off) {
		sim_fail(world, client, "bytes %u to %u, the application has written %u", from - 1, to - 1,
				client->reply_off);
	}
	size_t same = sim_stream_same(~client->key, from - 1, segment->payload, segment->len);
	if (same < segment->len) {
		sim_fail(world, client, "byte %zu of the replies is wrong", from - 1 + same);
	}
	if (client->plan.kind == SIM_SHRINK) {
		/* A probe looks like a retransmission. */
	} else if (to > watch->edge || (client->plan.read_chunk > 0 && segment->len == 1 && watch->smss > 1 &&
						       to - 1 < client->reply_off)) {
		/* The second case: windows that overtook each other, and the stack believes the one that was closed. */
		check_probe(world, client, from, segment->len);
		watch->probe_end = to;
		return;
	} else if (from < watch->sent_end) {
		check_resent(world, client, from, to);
	} else if (watch->acked == watch->sent_end) {
		watch->timer_from = world->now;
	}
	watch->sent_end = to > watch->sent_end ? to : watch->sent_end;
	if (to > watch->acked && to - watch->acked > watch->bound && client->plan.kind != SIM_SHRINK) {
		sim_fail(world, client, "%u bytes on their way, at most %llu may be", to - watch->acked,
				(unsigned long long)watch->bound);
	}
}

static void check_fin(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment)
{
	sim_watch_t *watch = &client->watch;
	uint32_t at = segment->seq - client->irs + segment->len;
	if (at - 1 != client->reply_off) {
		sim_fail(world, client, "FIN after byte %u of %u", at - 1, client->reply_off);
	}
	if (!client->app_closed && !watch->fin_seen && !was_idle(world, client) && !world->is_pressed &&
			!world->is_stopped) {
		sim_fail(world, client, "FIN without a reason, %llu us after the client's last segment",
				(unsigned long long)(world->now - watch->progress_time));
	}
	if (!watch->fin_seen && watch->acked == watch->sent_end) {
		watch->timer_from = world->now;
	}
	watch->fin_seen = true;
	watch->sent_end = at + 1 > watch->sent_end ? at + 1 : watch->sent_end;
}

static void check_ack(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment)
{
	sim_watch_t *watch = &client->watch;
	uint32_t ack = segment->ack - client->iss;
	uint32_t edge = ack + ((uint32_t)segment->window << (client->scaling ? client->server_scale : 0));
	if (ack > client->max || ack < watch->ack_sent) {
		sim_fail(world, client, "ACK %u after %u, %u were sent", ack, watch->ack_sent, client->max);
	}
	if (edge < watch->edge_sent) {
		sim_fail(world, client, "the window ends at %u and not at %u any more", edge, watch->edge_sent);
	}
	/* The least that the stack must take for activity: 512 bytes more in order, or a request that is complete
	   (tcp_server.c). Single bytes of a request keep nothing open. */
	if ((segment->ack ^ (watch->ack_sent + client->iss)) >> PROGRESS_SHIFT != 0) {
		sim_watch_progress(world, client);
	}
	watch->ack_sent = ack;
	watch->edge_sent = edge;
}

bool sim_watch_emission(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment)
{
	kxdp_path_t path = sim_path(world, client);
	if (client->state == SIM_UNBORN || memcmp(&path, &segment->path, sizeof(path)) != 0 || segment->ecn != 0) {
		sim_fail(world, client, "a segment with another path, or to an unknown client");
		return false;
	}
	if (segment->flags & KXDP_TCP_RST) {
		check_rst(world, client, segment);
		return false;
	}
	if (segment->flags & KXDP_TCP_SYN && client->plan.kind == SIM_HOSTILE) {
		return false;
	}
	if (segment->flags & KXDP_TCP_SYN) {
		check_syn_ack(world, client, segment);
		return true;
	}
	if (!(segment->flags & KXDP_TCP_ACK) || segment->mss > 0 || segment->scale >= 0) {
		sim_fail(world, client, "a segment with flags 0x%02x", segment->flags);
	}
	uint32_t from = segment->seq - client->irs, ack = segment->ack - client->iss;
	bool is_current = client->open_time > 0 && client->watch.is_synced && from - 1 <= client->total_out + 2 &&
			  ack <= client->max;
	if (!is_current || client->plan.kind == SIM_HOSTILE) {
		if (client->incarnation == 0 && !client->is_excused && !world->has_cookies && world->link.replay == 0) {
			sim_fail(world, client, "a segment of no connection: seq %u ack %u", from, ack);
		}
		return false;
	}
	check_ack(world, client, segment);
	if (segment->len > 0) {
		check_data(world, client, segment);
	}
	if (segment->flags & KXDP_TCP_FIN) {
		check_fin(world, client, segment);
	}
	return true;
}
