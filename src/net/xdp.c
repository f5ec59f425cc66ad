/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * AF_XDP worker: one thread per queue. A batch is received; UDP requests are answered in their own frames, TCP segments
 * go through the stack (xdp_tcp.h); what is to be sent is sent with one kick. All within one read section.
 */
#include "src/net/request.h"
#include "src/net/xdp_worker.h"
#include "src/net/xdp_out.h"
#include "src/net/pace.h"
#include "src/net/xdp_tcp.h"
#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include "src/sys/log.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <assert.h>

_Static_assert((int)NET_XDP_BATCH <= (int)KXDP_BATCH_MAX, "one receive call");
_Static_assert((int)NET_XDP_BATCH <= (int)ANSWER_BATCH_MAX, "one call to read");

enum {
	/* What the answer engine asks for; smaller frames (tiny MTU) can't carry a DNS reply. */
	REPLY_ROOM_MIN = 512,
	/* TCP segments sent per turn: then it is time to receive again. */
	EMIT_MAX = 4 * NET_XDP_BATCH,
	/* How long a worker sleeps at most. */
	SLEEP_US = NET_POLL_MS / 4 * 1000,
	/* A ring that may be too small for what comes during a nap. */
	NAP_RING_MIN = 1024,
	/* Turns after xdp_worker_stop(), and how long the last segments may take to leave. */
	LAST_TURNS_MAX = 256,
	FAREWELL_MS = 100,
};

typedef struct {
	xdp_out_t out;
	traffic_batch_t traffic; /* of a turn */
	request_limits_t limits;
	request_turn_t turn;  /* of the turn */
	later_outbox_t later; /* 〃 */
	later_inbox_t *inbox; /* owned: replies that others made; its descriptor wakes as that of out.inbox */
	later_t *unsent;      /* owned: taken from it, in order, as far as there were no frames */
	xdp_tcp_t *tcp;       /* owned */
	/* What `may_nap` and the settings of TCP were derived from. */
	uint64_t state_number; /* 0: not yet */
	size_t worker_count;
	uint64_t now_us;
	pace_t pace;
	bool may_nap;     /* false with busy polling or a small ring */
	bool wants_turn;  /* there is more to send than one turn may */
	bool wants_frame; /* … than there were free frames */
} xdp_t;

static uint64_t clock_us(void)
{
	return sys_clock_ns() / 1000;
}

/* request_takers_t */
static void xdp_take_update(void *ctx, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const answer_aside_t *aside)
{
	xdp_t *xdp = ctx;
	(void)report;
	request_take_later(&xdp->later, &xdp->traffic, state, source, request, aside);
}

static const request_takers_t xdp_takers = { .takes = ANSWER_EFFECT_UPDATE, .update = xdp_take_update };

knot_err_t xdp_worker_init(xdp_worker_t *worker)
{
	assert(worker->shared != NULL && worker->queue != NULL && worker->ifindex != 0);
	xdp_t *xdp = calloc(1, sizeof(*xdp));
	if (xdp == NULL) {
		return KNOT_ENOMEM;
	}
	worker->memory = xdp;
	xdp->now_us = clock_us();
	char ifname[IF_NAMESIZE] = "";
	(void)if_indextoname(worker->ifindex, ifname);
	knot_err_t err = xdp_out_init(&xdp->out, worker, xdp->now_us);
	err = err == KNOT_OK ? later_inbox_new(relay_fd(xdp->out.inbox), &xdp->inbox) : err;
	xdp->later.inbox = xdp->inbox;
	xdp->turn.takers = &xdp_takers;
	xdp->turn.ctx = xdp;
	err = err == KNOT_OK ? xdp_tcp_new(kxdp_device_query(ifname).mtu, &xdp->traffic, &xdp->later, &xdp->tcp) : err;
	if (err != KNOT_OK) {
		xdp_worker_done(worker);
	}
	return err;
}

void xdp_worker_done(xdp_worker_t *worker)
{
	xdp_t *xdp = worker->memory;
	if (xdp != NULL) {
		for (later_t *next; xdp->unsent != NULL; xdp->unsent = next) {
			next = (later_t *)xdp->unsent->request.next;
			later_free(xdp->unsent);
		}
		later_inbox_close(xdp->inbox);
		xdp_out_done(&xdp->out);
		xdp_tcp_free(xdp->tcp);
		free(xdp);
		worker->memory = NULL;
	}
}

bool xdp_worker_tcp_stats(const xdp_worker_t *worker, kxdp_tcp_stats_t *ret_stats)
{
	const xdp_t *xdp = worker->memory;
	return xdp_tcp_stats(xdp->tcp, ret_stats);
}

void xdp_worker_stop(xdp_worker_t *worker)
{
	atomic_store_explicit(&worker->stop, true, memory_order_relaxed);
	relay_wake(xdp_worker_inbox(worker));
}

relay_t *xdp_worker_inbox(const xdp_worker_t *worker)
{
	const xdp_t *xdp = worker->memory;
	return xdp->out.inbox;
}

/* ---- UDP ---- */

/* What was just taken to be answered later, if it was: no frame is kept, but the way back. */
static void xdp_set_way(xdp_t *xdp, const kxdp_packet_t *packet)
{
	later_t *later = xdp->later.made;
	if (later == NULL) {
		return;
	}
	xdp->later.made = NULL;
	later->way.xdp.conn = 0;
	later->way.xdp.flow = kxdp_packet_flow(packet);
	later->way.xdp.path = kxdp_packet_path(packet);
	later->way.xdp.ecn = packet->ecn;
}

static void answer_packet(
		const state_t *state, xdp_t *xdp, const kxdp_packet_t *packet, const answer_request_t *request)
{
	xdp_out_t *out = &xdp->out;
	size_t len = 0;
	if (packet->payload_max >= REPLY_ROOM_MIN) {
		answer_source_t source = {
			.protocol = packet->is_ipv6 ? ANSWER_UDP6_XDP : ANSWER_UDP4_XDP,
			.remote = &packet->remote.sa,
			.local = &packet->local.sa,
			.turn = &xdp->turn.answer,
		};
		len = request_answer(&xdp->traffic, &xdp->limits, state, &source, request,
				(knot_mut_bytes_t){ packet->payload, packet->payload_max });
	} else {
		traffic_drop(&xdp->traffic, TRAFFIC_DROP_NO_ROOM);
	}
	if (len > 0) {
		xdp_out_reply(out, packet, len);
	} else {
		xdp_set_way(xdp, packet);
		kxdp_drop(out->queue, packet);
	}
}

static void answer_udp(
		const state_t *state, xdp_t *xdp, const kxdp_packet_t *packets, const uint8_t *numbers, size_t count)
{
	knot_bytes_t messages[NET_XDP_BATCH];
	for (size_t i = 0; i < count; i++) {
		const kxdp_packet_t *packet = &packets[numbers[i]];
		messages[i] = (knot_bytes_t){ packet->payload, packet->payload_len };
	}
	answer_request_t requests[NET_XDP_BATCH];
	answer_read(&state->env, state->zones, messages, count, requests);
	for (size_t i = 0; i < count; i++) {
		answer_packet(state, xdp, &packets[numbers[i]], &requests[i]);
	}
}

/* ---- Later replies ---- */

/* One, by UDP. False: there is no free frame. */
static bool xdp_send_datagram(xdp_t *xdp, const later_t *later)
{
	kxdp_frame_t frame;
	if (later->reply_len == 0) {
		return true;
	}
	if (!kxdp_frame_take(xdp->out.queue, &frame)) {
		return false;
	}
	if (later->reply_len > frame.payload_max) {
		traffic_drop(&xdp->traffic, TRAFFIC_DROP_NO_ROOM);
		kxdp_frame_give_back(xdp->out.queue, &frame);
		return true;
	}
	memcpy(frame.payload, later->bytes, later->reply_len);
	xdp_out_datagram(&xdp->out, &frame, &later->way.xdp.flow, &later->way.xdp.path, later->way.xdp.ecn,
			later->reply_len);
	return true;
}

/* Send what others made, as far as there are frames. */
static void xdp_send_later(const xdp_worker_t *worker, xdp_t *xdp)
{
	if (xdp->unsent == NULL) {
		xdp->unsent = later_inbox_take(xdp->inbox);
	}
	while (xdp->unsent != NULL) {
		later_t *later = xdp->unsent;
		if (later->way.xdp.conn != 0) {
			xdp_tcp_write_later(xdp->tcp, later);
		} else if (!xdp_send_datagram(xdp, later)) {
			xdp->wants_frame = true;
			return;
		}
		request_note_later(worker->shared->traffic, later, sys_clock_ns());
		xdp->unsent = (later_t *)later->request.next;
		later_free(later);
	}
}

/* ---- A turn ---- */

/* Segments that the stack wants to send, as far as there are frames. Sending may make room for more answers. */
static void xdp_emit_segments(xdp_t *xdp, const state_t *state)
{
	xdp_out_t *out = &xdp->out;
	for (unsigned i = 0; i < EMIT_MAX; i++) {
		kxdp_frame_t frame;
		if (!kxdp_frame_take(out->queue, &frame)) {
			xdp->wants_frame = true;
			return;
		}
		kxdp_segment_t segment;
		bool is_given = xdp_tcp_emit(xdp->tcp, xdp->now_us, frame.payload, frame.payload_max, &segment);
		if (!is_given && state != NULL && xdp_tcp_answer_waiting(xdp->tcp, state)) {
			is_given = xdp_tcp_emit(xdp->tcp, xdp->now_us, frame.payload, frame.payload_max, &segment);
		}
		if (!is_given) {
			kxdp_frame_give_back(out->queue, &frame);
			return;
		}
		xdp_out_segment(out, &frame, &segment);
	}
	xdp->wants_turn = true;
}

static void handle_packets(xdp_t *xdp, const state_t *state, kxdp_packet_t *packets, size_t count)
{
	assert(count <= NET_XDP_BATCH);
	uint8_t udp[NET_XDP_BATCH], tcp[NET_XDP_BATCH];
	size_t udp_count = 0, tcp_count = 0;
	for (size_t i = 0; i < count; i++) {
		kxdp_packet_t *packet = &packets[i];
		if (packet->path.via != KXDP_VIA_SAME) {
			xdp_out_resolve(&xdp->out, &packet->path);
		}
		if (packet->ip_proto == IPPROTO_UDP) {
			udp[udp_count++] = (uint8_t)i;
		} else {
			tcp[tcp_count++] = (uint8_t)i;
		}
	}
	if (udp_count > 0) {
		answer_udp(state, xdp, packets, udp, udp_count);
	}
	if (tcp_count > 0) {
		xdp_tcp_receive(xdp->tcp, state, packets, tcp, tcp_count, xdp->now_us);
	}
	for (size_t i = 0; i < tcp_count; i++) {
		kxdp_drop(xdp->out.queue, &packets[tcp[i]]);
	}
}

/* Apply the published configuration if it, or the number of workers that share its limits, has changed. */
static void xdp_follow_state(xdp_t *xdp, const state_t *state)
{
	size_t count = xdp->out.set->count;
	if (state->number == xdp->state_number && count == xdp->worker_count) {
		return;
	}
	const conf_xdp_t *conf = &state->conf->xdp;
	xdp_tcp_configure(xdp->tcp, conf, count > 0 ? count : 1, xdp->now_us);
	xdp->may_nap = conf->busypoll_budget == 0 && conf->ring_size >= NAP_RING_MIN;
	xdp->state_number = state->number;
	xdp->worker_count = count;
}

/* Receive, answer, send. Returns the number of packets. */
static size_t take_turn(const xdp_worker_t *worker)
{
	xdp_t *xdp = worker->memory;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(worker->shared->state, guard);
	traffic_begin(&xdp->traffic, RCU_LOAD(guard, worker->shared->looks.list_rcu), state);
	uint64_t start_ns = sys_clock_ns();
	xdp->now_us = xdp->out.now_us = xdp->limits.now_us = start_ns / 1000;
	xdp->later.begin_ns = start_ns;
	request_turn_begin(&xdp->turn, xdp->now_us);
	xdp->out.set = RCU_LOAD(guard, worker->shared->xdp_rcu);
	xdp->out.vlans = RCU_LOAD(guard, worker->shared->vlans_rcu);
	xdp_follow_state(xdp, state);
	struct kxdp_tap *tap = RCU_LOAD(guard, worker->tap_rcu);
	kxdp_queue_tap(worker->queue, tap, tap != NULL ? sys_clock_real_ns() : 0);
	kxdp_packet_t packets[NET_XDP_BATCH];
	size_t count = kxdp_receive(worker->queue, packets, NET_XDP_BATCH);
	if (count > 0) {
		handle_packets(xdp, state, packets, count);
	}
	xdp->wants_turn = false;
	xdp->wants_frame = !xdp_out_inbox(&xdp->out);
	if (__builtin_expect(later_inbox_has(xdp->inbox) || xdp->unsent != NULL, 0)) {
		xdp_send_later(worker, xdp);
	}
	if (xdp_tcp_has_stack(xdp->tcp)) {
		xdp_tcp_tick(xdp->tcp, state, xdp->now_us);
		xdp_emit_segments(xdp, state);
		xdp->wants_turn |= xdp_tcp_wants_turn(xdp->tcp);
	}
	kxdp_flush(worker->queue);
	if (!traffic_is_empty(&xdp->traffic)) {
		traffic_end(worker->shared->traffic, &xdp->traffic, sys_clock_ns() - start_ns);
	}
	if (tap != NULL) {
		kxdp_queue_tap(worker->queue, NULL, 0);
	}
	return count;
}

/* Behind the read section. */
static void xdp_hand_over(const xdp_worker_t *worker)
{
	xdp_t *xdp = worker->memory;
	if (__builtin_expect(xdp->later.first != NULL, 0)) {
		later_hand_over(&xdp->later, &worker->shared->updates);
	}
}

/* Sleep until there is something to do, after a turn with `count` packets. False: the queue can't be used any more. */
static bool sleep_well(xdp_worker_t *worker, size_t count)
{
	xdp_t *xdp = worker->memory;
	uint32_t nap_us = pace_turn(&xdp->pace, xdp->now_us, count);
	if (xdp->wants_frame) {
		/* The inbox may be part of it, so it can't say when to go on. */
		return (kxdp_wait(worker->queue, 1, -1) & KXDP_WAIT_GONE) == 0;
	}
	if (xdp->wants_turn) {
		return true;
	}
	if (nap_us > 0 && xdp->may_nap) { /* the inbox waits as long */
		(void)nanosleep(&(struct timespec){ .tv_nsec = (long)nap_us * 1000 }, NULL);
		return true;
	}
	if (!relay_sleep(xdp->out.inbox)) {
		return true;
	}
	if (!later_inbox_sleep(xdp->inbox)) {
		relay_awake(xdp->out.inbox, false);
		return true;
	}
	uint64_t sleep_us = xdp_tcp_time_left(xdp->tcp, xdp->now_us, SLEEP_US);
	unsigned what = kxdp_wait(worker->queue, (int)((sleep_us + 999) / 1000), relay_fd(xdp->out.inbox));
	later_inbox_awake(xdp->inbox, false); /* the descriptor is the relay's */
	relay_awake(xdp->out.inbox, (what & KXDP_WAIT_WOKEN) != 0);
	return (what & KXDP_WAIT_GONE) == 0;
}

static void emit_last(const xdp_worker_t *worker, xdp_t *xdp)
{
	RCU_READ_SECTION(guard);
	xdp->out.set = RCU_LOAD(guard, worker->shared->xdp_rcu);
	xdp->wants_turn = xdp->wants_frame = false;
	xdp_emit_segments(xdp, NULL);
	kxdp_flush(worker->queue);
}

/* Reset the connections, so that no client waits for a server that has gone. */
static void bid_farewell(xdp_worker_t *worker)
{
	xdp_t *xdp = worker->memory;
	if (!xdp_tcp_has_stack(xdp->tcp)) {
		return;
	}
	xdp_tcp_abort_all(xdp->tcp);
	emit_last(worker, xdp);
	for (unsigned i = 0; (xdp->wants_turn || xdp->wants_frame) && i < FAREWELL_MS; i++) {
		(void)kxdp_wait(worker->queue, 1, -1);
		emit_last(worker, xdp);
	}
}

static void serve_transfers(const xdp_worker_t *worker)
{
	xdp_t *xdp = worker->memory;
	transfer_service_t *transfers = worker->shared->transfers;
	knot_err_t err = transfers != NULL ? xdp_tcp_serve_transfers(xdp->tcp, transfers, relay_fd(xdp->out.inbox))
					   : KNOT_OK;
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "no transfers over XDP (%s)", knot_strerror(err));
	}
}

void xdp_worker_run(void *arg)
{
	xdp_worker_t *worker = arg;
	serve_transfers(worker);
	for (unsigned last_turns = 0;;) {
		size_t count = take_turn(worker);
		xdp_hand_over(worker);
		if (atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
			/* First answer what has arrived. */
			if (count == 0 || ++last_turns == LAST_TURNS_MAX) {
				bid_farewell(worker);
				return;
			}
		} else if (count < NET_XDP_BATCH && !sleep_well(worker, count)) {
			atomic_store(&worker->failed, true);
			return;
		}
	}
}
