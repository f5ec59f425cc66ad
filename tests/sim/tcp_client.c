/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model client: a conservative active opener (RFC 9293, 6298, 5681 in their simplest form). Sequence numbers are
 * kept as offsets from the initial ones: the SYN has 0, the first byte of the stream 1, the FIN the last.
 */
#include "tests/sim/tcp_world.h"

enum {
	RTO_FIRST_US = 1000000,
	RTO_MIN_US = 200000,
	RTO_MAX_US = 3000000,
	ACK_DELAY_US = 40000,
	SYNS_MAX = 60,
	TIME_WAIT_US = 60 * SIM_SECOND,
	PATIENCE_US = 150 * SIM_SECOND, /* without any progress; the server has 120 */
	HONEST_SLACK_US = 20000,
};

static bool is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Beside greedy clients: SYN, query and FIN take a round trip each, an ACK may be delayed, and nothing else takes time.
 */
static void check_honest(sim_world_t *world, const sim_client_t *client, sim_end_t how)
{
	uint64_t taken_us = world->now - client->start_time,
		 round_us = 2ull * (client->plan.delay_us + client->plan.jitter_us);
	if (how != SIM_END_COMPLETE) {
		sim_fail(world, client, "an honest client beside greedy ones: %s", sim_end_name(how));
	}
	taken_us -= client->end_wait_time != UINT64_MAX ? TIME_WAIT_US : 0;
	if (taken_us > 4 * round_us + ACK_DELAY_US + HONEST_SLACK_US) {
		sim_fail(world, client, "an honest client beside greedy ones took %llu us, round trips take %llu us",
				(unsigned long long)taken_us, (unsigned long long)round_us);
	}
	if (taken_us > world->totals.honest_max_us) {
		world->totals.honest_max_us = taken_us;
	}
}

static void end(sim_world_t *world, sim_client_t *client, sim_end_t how)
{
	if (client->state == SIM_DONE) {
		return;
	}
	if (sim_is_honest(world, client)) {
		check_honest(world, client, how);
	}
	sim_trace(world, client, "done: %s", sim_end_name(how));
	client->state = SIM_DONE;
	client->end = how;
	client->end_time = world->now;
	client->resend_time = client->ack_time = client->app_time = client->event_time = client->end_wait_time =
			UINT64_MAX;
	(world->is_pressed || world->is_stopped ? world->totals.pressed_ends : world->totals.ends)[how]++;
	world->running--;
	if (client->incarnation + 1 < client->plan.incarnations) {
		/* Not before the server's clock of initial sequence numbers (RFC 6528) has passed what it sent. */
		uint64_t pause = 1000 + 4ull * client->total_out;
		pause += sim_chance(&world->random, 500000) ? 0 : sim_below(&world->random, 200000);
		sim_schedule(world, world->now + pause, SIM_START, sim_slot(world, client));
	}
}

/* ---- sending ---- */

/* Bytes of the reply stream that are there in order. The FIN takes a number, but no room. */
static uint32_t got(const sim_client_t *client)
{
	return client->rcv_nxt == 0
			       ? 0
			       : client->rcv_nxt - 1 -
						 (client->peer_fin && client->rcv_nxt > client->peer_fin_at ? 1 : 0);
}

/*
 * What the header's window field says, and the right edge that this promises. Never back, unless it shrinks on purpose.
 */
static uint16_t window_field(sim_client_t *client, bool is_syn)
{
	uint32_t scale = !is_syn && client->scaling ? (uint32_t)client->plan.scale : 0;
	uint32_t kept = got(client) - client->read;
	uint32_t room = kept < client->plan.buffer ? client->plan.buffer - kept : 0;
	/* A window that is small is opened by larger steps (RFC 9293 3.8.6.2.2). */
	uint32_t old = client->edge > client->rcv_nxt ? client->edge - client->rcv_nxt : 0;
	uint32_t step = client->plan.buffer / 2 < 1460 ? client->plan.buffer / 2 : 1460;
	if (room > old && room - old < step && client->state == SIM_OPEN) {
		room = old;
	}
	if (client->plan.kind != SIM_SHRINK && room < old) {
		room = old;
	}
	uint32_t field = room >> scale;
	if (client->plan.kind != SIM_SHRINK && (field << scale) < old) {
		field++;
	}
	field = field < 65535 ? field : 65535;
	client->edge = client->rcv_nxt + (field << scale);
	return (uint16_t)field;
}

static void send(sim_world_t *world, sim_client_t *client, uint32_t seq, uint32_t len, uint8_t flags)
{
	sim_packet_t packet = {
		.key = client->key,
		.off = seq - 1,
		.seq = client->iss + seq,
		.len = (uint16_t)len,
		.flags = flags,
		.scale = -1,
		.incarnation = client->incarnation,
	};
	if (flags & KXDP_TCP_ACK) {
		packet.ack = client->irs + client->rcv_nxt;
	}
	if (flags & KXDP_TCP_SYN) {
		packet.mss = client->plan.mss;
		packet.scale = client->plan.scale;
	}
	if (!(flags & KXDP_TCP_RST)) {
		packet.window = window_field(client, flags & KXDP_TCP_SYN);
	}
	if (flags & KXDP_TCP_ACK) {
		client->must_ack = false;
		client->unacked_segments = 0;
		client->ack_time = UINT64_MAX;
	}
	sim_send(world, client, &packet);
}

static void send_ack(sim_world_t *world, sim_client_t *client)
{
	send(world, client, client->max, 0, KXDP_TCP_ACK);
}

/* A segment of its own making, which isn't part of the connection. */
static void send_reset(sim_world_t *world, sim_client_t *client, const sim_packet_t *to)
{
	sim_packet_t packet = { .scale = -1, .flags = KXDP_TCP_RST, .incarnation = client->incarnation };
	if (to->flags & KXDP_TCP_ACK) {
		packet.seq = to->ack;
	} else {
		packet.flags |= KXDP_TCP_ACK;
		packet.ack = to->seq + to->len + (to->flags & KXDP_TCP_SYN ? 1 : 0) +
			     (to->flags & KXDP_TCP_FIN ? 1 : 0);
	}
	sim_send(world, client, &packet);
}

static uint32_t fin_at(const sim_client_t *client)
{
	return client->closed ? client->written + 1 : UINT32_MAX;
}

/* Sends what windows allow from `nxt` on. */
static void output(sim_world_t *world, sim_client_t *client)
{
	while (client->state == SIM_OPEN) {
		uint32_t flight = client->nxt - client->una;
		uint32_t window = client->wnd < client->cwnd ? client->wnd : client->cwnd;
		uint32_t data = client->written + 1 > client->nxt ? client->written + 1 - client->nxt : 0;
		uint32_t len = data < client->smss ? data : client->smss;
		if (client->plan.chunk > 0 && len > client->plan.chunk) {
			len = client->plan.chunk;
		}
		if (flight + len > window) {
			len = flight < window ? window - flight : 0;
		}
		bool sends_fin = client->closed && client->nxt + len == fin_at(client) &&
				 !(client->plan.fin_apart && len > 0);
		if (len == 0 && !(sends_fin && client->nxt == fin_at(client))) {
			break;
		}
		send(world, client, client->nxt, len,
				(uint8_t)(KXDP_TCP_ACK | (len > 0 ? KXDP_TCP_PSH : 0) |
						(sends_fin ? KXDP_TCP_FIN : 0)));
		client->nxt += len + (sends_fin ? 1 : 0);
		if (client->nxt > client->max) {
			client->max = client->nxt;
		}
		if (client->resend_time == UINT64_MAX) {
			client->resend_time = world->now + client->rto_us;
		}
	}
	/* A closed window is probed by the same timer. */
	if (client->state == SIM_OPEN && client->resend_time == UINT64_MAX &&
			(client->written + 1 > client->una || (client->closed && !client->fin_acked))) {
		client->resend_time = world->now + client->rto_us;
	}
}

static void resend(sim_world_t *world, sim_client_t *client)
{
	client->rto_us = client->rto_us * 2 < RTO_MAX_US ? client->rto_us * 2 : RTO_MAX_US;
	client->resend_time = world->now + client->rto_us;
	if (client->state == SIM_SYN_SENT) {
		if (client->syn_count++ >= SYNS_MAX) {
			if (!world->is_pressed) {
				sim_fail(world, client, "%d SYNs and no connection", SYNS_MAX);
			}
			end(world, client, SIM_END_REFUSED);
			return;
		}
		send(world, client, 0, 0, KXDP_TCP_SYN);
		return;
	}
	if (client->una == client->max && client->written + 1 == client->una && !client->closed) {
		client->resend_time = UINT64_MAX;
		return;
	}
	client->nxt = client->una;
	client->cwnd = client->smss;
	if (client->wnd == 0 && client->written + 1 > client->una) {
		/* Window probe (RFC 9293 3.8.6.1). */
		send(world, client, client->una, 1, KXDP_TCP_ACK);
		client->nxt = client->una + 1;
		if (client->nxt > client->max) {
			client->max = client->nxt;
		}
		return;
	}
	if (client->closed && client->una == fin_at(client)) {
		send(world, client, client->una, 0, KXDP_TCP_ACK | KXDP_TCP_FIN);
		client->nxt = client->una + 1;
		return;
	}
	output(world, client);
}

/* ---- the application ---- */

static bool has_everything(const sim_client_t *client)
{
	return client->rcv_nxt > client->total_out;
}

static void close_now(sim_world_t *world, sim_client_t *client)
{
	if (!client->closed) {
		sim_trace(world, client, "closes after %u bytes", client->written);
		client->closed = true;
	}
}

/* Writes the next messages or pieces of them. */
static void write_requests(sim_world_t *world, sim_client_t *client)
{
	const sim_plan_t *plan = &client->plan;
	if (plan->kind == SIM_SEQUENTIAL) {
		uint32_t replies = 0;
		for (uint32_t i = 0; i < client->message; i++) {
			replies += sim_reply_len(client, i);
		}
		if (client->message < plan->message_count && client->rcv_nxt > replies) {
			client->written += sim_request_len(client, client->message++);
		}
	} else if (plan->chunk > 0) {
		if (world->now >= client->app_time && client->written < client->total_in) {
			uint32_t left = client->total_in - client->written;
			client->written += left < plan->chunk ? left : plan->chunk;
			client->app_time =
					client->written < client->total_in ? world->now + plan->pause_us : UINT64_MAX;
		}
	} else {
		client->written = client->total_in;
	}
}

static void read_replies(sim_world_t *world, sim_client_t *client)
{
	if (client->plan.read_chunk == 0) {
		client->read = got(client);
		return;
	}
	if (world->now < client->app_time || client->was_abandoned) {
		return;
	}
	uint32_t kept = got(client) - client->read;
	uint32_t count = kept < client->plan.read_chunk ? kept : client->plan.read_chunk;
	client->read += count;
	client->app_time = world->now + client->plan.pause_us;
	if (client->plan.kind == SIM_SHRINK && client->plan.buffer > 1000 && sim_chance(&world->random, 200000)) {
		client->plan.buffer -= (uint32_t)sim_below(&world->random, client->plan.buffer / 2);
	}
	if (count > 0) {
		uint32_t edge = client->edge;
		(void)window_field(client, false);
		client->must_ack = client->must_ack || client->edge != edge;
		client->edge = edge; /* that is promised only by sending it */
	}
}

static void application(sim_world_t *world, sim_client_t *client)
{
	if (client->state != SIM_OPEN) {
		return;
	}
	if (client->was_abandoned) {
		output(world, client);
		return;
	}
	if (client->plan.read_chunk > 0) {
		read_replies(world, client);
		client->written = client->total_in;
	} else {
		write_requests(world, client);
		read_replies(world, client);
	}
	bool is_written = client->written == client->total_in;
	bool is_over = client->peer_fin && client->rcv_nxt > client->peer_fin_at;
	sim_kind_t kind = client->plan.kind;
	bool is_patient = kind == SIM_IDLE || kind == SIM_SERVER_CLOSE;
	bool is_done = kind == SIM_HALF_CLOSE || kind == SIM_SILENT ? is_written : is_written && has_everything(client);
	if (is_over || (is_done && !is_patient)) {
		close_now(world, client);
	}
	output(world, client);
	if (client->must_ack && client->state == SIM_OPEN) {
		send_ack(world, client);
	}
}

/* What the plan does at a time of its own. */
static void event(sim_world_t *world, sim_client_t *client)
{
	client->event_time = UINT64_MAX;
	client->is_excused = true;
	if (client->plan.kind == SIM_VANISH) {
		sim_trace(world, client, "vanishes");
		client->is_vanished = true;
		end(world, client, SIM_END_LEFT);
	} else if (client->state == SIM_SYN_SENT) {
		/* A host forgets without a word. */
		end(world, client, SIM_END_LEFT);
	} else if (client->plan.kind == SIM_RESET) {
		sim_trace(world, client, "resets");
		send(world, client, client->nxt, 0,
				KXDP_TCP_RST | (sim_chance(&world->random, 500000) ? KXDP_TCP_ACK : 0));
		end(world, client, SIM_END_LEFT);
	} else {
		sim_trace(world, client, "closes for good");
		client->was_abandoned = true;
		client->total_in = client->written;
		close_now(world, client);
		output(world, client);
	}
}

/* ---- receiving ---- */

/* Adds [from, to) to what is there out of order; false: no place. */
static bool keep(sim_client_t *client, uint32_t from, uint32_t to)
{
	unsigned at = 0;
	while (at < client->gap_count && client->gaps[at].to < from) {
		at++;
	}
	unsigned until = at;
	while (until < client->gap_count && client->gaps[until].from <= to) {
		from = client->gaps[until].from < from ? client->gaps[until].from : from;
		to = client->gaps[until].to > to ? client->gaps[until].to : to;
		until++;
	}
	if (until == at && client->gap_count == SIM_GAPS_MAX) {
		return false;
	}
	memmove(&client->gaps[at + 1], &client->gaps[until], (client->gap_count - until) * sizeof(client->gaps[0]));
	client->gaps[at] = (sim_range_t){ from, to };
	client->gap_count = client->gap_count - (until - at) + 1;
	return true;
}

static void take_in_order(sim_client_t *client)
{
	if (client->gap_count > 0 && client->gaps[0].from <= client->rcv_nxt) {
		if (client->gaps[0].to > client->rcv_nxt) {
			client->rcv_nxt = client->gaps[0].to;
		}
		client->gap_count--;
		memmove(&client->gaps[0], &client->gaps[1], client->gap_count * sizeof(client->gaps[0]));
	}
}

static void receive_data(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet, uint32_t seq)
{
	uint32_t from = seq, to = seq + packet->len;
	bool has_fin = packet->flags & KXDP_TCP_FIN;
	if (to > client->edge) {
		to = client->edge;
		has_fin = false;
	}
	if (packet->len > 0 && packet->key != ~client->key && !client->is_excused) {
		sim_fail(world, client, "bytes %u to %u of another connection", seq - 1, seq - 1 + packet->len);
	}
	if (to < from) {
		return;
	}
	if (packet->len > 0 && client->was_abandoned) {
		/* There is no reader any more (RFC 9293 3.10.4, RFC 2525 2.17). */
		send(world, client, client->nxt, 0, KXDP_TCP_RST);
		end(world, client, SIM_END_LEFT);
		return;
	}
	uint32_t before = client->rcv_nxt;
	client->progress_time = world->now;
	bool is_kept = keep(client, from, to);
	if (has_fin && is_kept) {
		client->peer_fin_at = seq + packet->len;
		client->peer_fin = true;
	}
	take_in_order(client);
	if (client->peer_fin && client->rcv_nxt == client->peer_fin_at) {
		client->rcv_nxt++;
		client->must_ack = true;
	}
	client->unacked_segments++;
	if (client->rcv_nxt == before || client->gap_count > 0 || !client->plan.delays_acks ||
			client->unacked_segments >= 2) {
		client->must_ack = true;
	} else if (client->ack_time == UINT64_MAX) {
		client->ack_time = world->now + ACK_DELAY_US;
	}
}

/* The server's FIN came: was it right? */
static void check_end(sim_world_t *world, sim_client_t *client)
{
	if (!client->peer_fin || client->rcv_nxt <= client->peer_fin_at) {
		return;
	}
	if (got(client) > client->total_out) {
		sim_fail(world, client, "%u bytes instead of %u", got(client), client->total_out);
	}
	/* Before all replies: only when it was idle for too long; sim_watch_emission() has seen to that. */
}

static void finish(sim_world_t *world, sim_client_t *client)
{
	if (!(client->fin_acked && client->peer_fin && client->rcv_nxt > client->peer_fin_at)) {
		return;
	}
	if (client->must_ack) {
		send_ack(world, client);
	}
	bool is_complete = client->peer_fin_at - 1 == client->total_out;
	sim_end_t how = is_complete ? SIM_END_COMPLETE : SIM_END_IDLE_CLOSED;
	if (client->was_abandoned) {
		how = SIM_END_LEFT;
	}
	/* The last ACK may be lost: the FIN comes again. A host that opens the same ports again doesn't wait. */
	if (client->plan.kind != SIM_REOPEN) {
		client->state = SIM_TIME_WAIT;
		client->resend_time = client->ack_time = client->app_time = client->event_time = UINT64_MAX;
		client->end_wait_time = world->now + TIME_WAIT_US;
		client->end = how;
		return;
	}
	end(world, client, how);
}

static void receive_ack(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet, uint32_t seq)
{
	uint32_t ack = packet->ack - client->iss;
	if (is_after(ack, client->una)) {
		client->una = ack;
		client->progress_time = world->now;
		if (client->nxt < ack) {
			client->nxt = ack;
		}
		if (client->cwnd < 1u << 20) {
			client->cwnd += client->smss;
		}
		client->rto_us = RTO_MIN_US + 4 * client->plan.delay_us;
		client->resend_time = client->una == client->max ? UINT64_MAX : world->now + client->rto_us;
		if (client->closed && client->una > client->written + 1) {
			client->fin_acked = true;
		}
	}
	if (!is_after(client->una, ack) &&
			(is_after(seq, client->wl1) || (seq == client->wl1 && !is_after(client->wl2, ack)))) {
		client->wnd = (uint32_t)packet->window << (client->scaling ? client->server_scale : 0);
		client->wl1 = seq;
		client->wl2 = ack;
	}
}

static void receive_synchronized(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	uint32_t seq = packet->seq - client->irs;
	uint32_t len = packet->len + (packet->flags & KXDP_TCP_FIN ? 1u : 0);
	uint32_t window = client->edge > client->rcv_nxt ? client->edge - client->rcv_nxt : 0;
	/* An ACK right behind the window is taken, as all stacks do: when the window is full, there is no other place
	 * for it. */
	bool fits = len == 0 ? seq - client->rcv_nxt <= window
			     : window > 0 && (seq - client->rcv_nxt < window ||
							     seq + len - 1 - client->rcv_nxt < window);
	if (packet->flags & KXDP_TCP_RST) {
		if (seq == client->rcv_nxt) {
			sim_trace(world, client, "is reset");
			if (!client->is_excused && !client->watch.rst_seen) {
				sim_fail(world, client, "an RST that the stack hasn't sent");
			}
			bool is_done = client->state == SIM_TIME_WAIT;
			end(world, client,
					is_done              ? client->end
					: client->is_excused ? SIM_END_LEFT
							     : SIM_END_GIVEN_UP);
		} else if (fits) {
			send_ack(world, client);
		}
		return;
	}
	if (packet->flags & KXDP_TCP_SYN || !fits) {
		if (!(packet->flags & KXDP_TCP_SYN) && window == 0 && seq == client->rcv_nxt &&
				packet->flags & KXDP_TCP_ACK && !is_after(packet->ack - client->iss, client->max)) {
			receive_ack(world, client, packet, seq);
		}
		send_ack(world, client);
		return;
	}
	if (!(packet->flags & KXDP_TCP_ACK)) {
		return;
	}
	if (is_after(packet->ack - client->iss, client->max)) {
		send_ack(world, client);
		return;
	}
	receive_ack(world, client, packet, seq);
	if (client->state == SIM_TIME_WAIT) {
		if (len > 0) {
			send_ack(world, client);
		}
		return;
	}
	if (len > 0) {
		receive_data(world, client, packet, seq);
		if (client->state != SIM_OPEN) {
			return;
		}
		check_end(world, client);
	}
	application(world, client);
	finish(world, client);
}

static void receive_syn_sent(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	bool is_ours = packet->flags & KXDP_TCP_ACK && packet->ack == client->iss + 1;
	if (packet->flags & KXDP_TCP_ACK && !is_ours) {
		if (!(packet->flags & KXDP_TCP_RST)) {
			send_reset(world, client, packet);
			/* A host tries again at once when an old connection was in the way. */
			client->resend_time = world->now + RTO_MIN_US;
		}
		return;
	}
	if (packet->flags & KXDP_TCP_RST) {
		if (is_ours) {
			if (!world->is_pressed && !client->is_excused && !world->is_stopped) {
				sim_fail(world, client, "SYN was answered with RST");
			}
			end(world, client, SIM_END_REFUSED);
		}
		return;
	}
	if (!(packet->flags & KXDP_TCP_SYN) || !is_ours) {
		return;
	}
	client->state = SIM_OPEN;
	client->open_time = world->now;
	client->irs = packet->seq;
	client->una = client->nxt = client->max = 1;
	/* The promise made in the SYN counts from irs + 1 on. */
	client->rcv_nxt = 1;
	client->edge += 1;
	client->wnd = packet->window; /* never scaled in a SYN */
	client->wl1 = 0;
	client->wl2 = 1;
	client->scaling = client->plan.scale >= 0 && packet->scale >= 0;
	client->server_scale = packet->scale > 0 ? (uint8_t)packet->scale : 0;
	uint32_t mss = packet->mss > 0 ? packet->mss : 536;
	uint32_t own = client->plan.path_mtu - (client->plan.is_v6 ? 60u : 40u);
	client->smss = mss < own ? mss : own;
	client->cwnd = 4 * client->smss;
	client->rto_us = RTO_MIN_US + 4 * client->plan.delay_us;
	client->resend_time = UINT64_MAX;
	client->must_ack = true;
	client->progress_time = world->now;
	client->app_time = client->plan.pause_us > 0 ? world->now : UINT64_MAX;
	application(world, client);
	finish(world, client);
}

static void reschedule(sim_world_t *world, sim_client_t *client)
{
	const uint64_t times[] = {
		client->resend_time,
		client->ack_time,
		client->app_time,
		client->event_time,
		client->end_wait_time,
		client->state == SIM_OPEN ? client->progress_time + PATIENCE_US : UINT64_MAX,
	};
	uint64_t first = UINT64_MAX;
	for (size_t i = 0; i < KNOT_LEN(times); i++) {
		first = times[i] < first ? times[i] : first;
	}
	if (first < client->timer_scheduled) {
		client->timer_scheduled = first;
		sim_schedule(world, first > world->now ? first : world->now, SIM_CLIENT_TIMER, sim_slot(world, client));
	}
}

void sim_client_receive(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	switch (client->state) {
	case SIM_UNBORN: break;
	case SIM_SYN_SENT: receive_syn_sent(world, client, packet); break;
	case SIM_OPEN:
	case SIM_TIME_WAIT: receive_synchronized(world, client, packet); break;
	case SIM_DONE:
		if (!client->is_vanished && !(packet->flags & KXDP_TCP_RST)) {
			send_reset(world, client, packet);
		}
		break;
	}
	reschedule(world, client);
}

/* The server's RST may have been lost, and then both sides are silent. Otherwise the connection is stuck. */
static void lose_patience(sim_world_t *world, sim_client_t *client)
{
	if (!client->is_excused && !client->watch.rst_seen && !world->is_pressed) {
		sim_fail(world, client, "stuck: %u of %u bytes sent and acknowledged, %u of %u received, FIN %s%s",
				client->una - 1, client->total_in, got(client), client->total_out,
				client->closed ? "sent" : "not sent", client->peer_fin ? " and received" : "");
	}
	end(world, client, client->is_excused ? SIM_END_LEFT : SIM_END_GIVEN_UP);
}

void sim_client_timer(sim_world_t *world, sim_client_t *client)
{
	client->timer_scheduled = UINT64_MAX;
	if (client->event_time <= world->now) {
		event(world, client);
	}
	if (client->end_wait_time <= world->now) {
		end(world, client, client->end);
	}
	if (client->app_time <= world->now) {
		application(world, client);
		if (client->app_time <= world->now) {
			client->app_time = UINT64_MAX;
		}
		if (client->state == SIM_OPEN) {
			finish(world, client);
		}
	}
	if (client->state == SIM_OPEN && client->progress_time + PATIENCE_US <= world->now) {
		lose_patience(world, client);
	}
	if (client->ack_time <= world->now) {
		send_ack(world, client);
	}
	if (client->resend_time <= world->now) {
		resend(world, client);
	}
	reschedule(world, client);
}

void sim_client_start(sim_world_t *world, sim_client_t *client)
{
	sim_plan_incarnation(world, client);
	client->state = SIM_SYN_SENT;
	world->running++;
	client->rto_us = RTO_FIRST_US;
	client->resend_time = world->now + client->rto_us;
	if (client->plan.event_us != UINT64_MAX) {
		client->event_time = world->now + client->plan.event_us;
	}
	send(world, client, 0, 0, KXDP_TCP_SYN);
	client->max = 1;
	reschedule(world, client);
}
