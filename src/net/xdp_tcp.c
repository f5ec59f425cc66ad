/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/xdp_tcp.h"

#include "src/net/later_conns.h"
#include "src/net/request.h"
#include "src/transport/tcp_buffer.h"
#include "src/net/xdp_streams.h"
#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include "src/sys/log.h"
#include "xdp/tcp/source.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <assert.h>

enum {
	FRAME_HEAD = 2, /* bytes of length in front of a message */
	FRAME_MAX = NET_TCP_MESSAGE_MAX + FRAME_HEAD,
};

struct xdp_tcp {
	_Atomic(kxdp_tcp_t *) stack; /* owned; NULL until `tcp` is on for the first time, then for good */
	bool is_on;
	bool failed; /* no memory for a stack: said once */
	uint16_t mtu;
	traffic_batch_t *traffic; /* borrowed: the worker's */
	later_outbox_t *outbox;   /* 〃 */
	request_turn_t turn;      /* of the segments in work */
	kxdp_tcp_conn_t asking;   /* whose request is in work */
	bool has_failed;          /* a transfer couldn't begin: reset it */
	xdp_streams_t streams;
	later_conns_t later;        /* connections that wait for later replies */
	kxdp_tcp_limits_t limits;   /* in force */
	_Atomic uint64_t malformed; /* segments whose header makes no sense */
	uint8_t key[KXDP_TCP_KEY_LEN];
	/*
	 * The batch: segments, and for those that begin with a whole message this message, where it is in the segment,
	 * and what is known of it. See xdp_tcp_first_frame().
	 */
	kxdp_segment_t segments[NET_XDP_BATCH];
	knot_bytes_t messages[NET_XDP_BATCH];
	answer_request_t requests[NET_XDP_BATCH];
	uint8_t reply[FRAME_MAX];
};

static kxdp_tcp_t *xdp_tcp_stack_of(const xdp_tcp_t *tcp)
{
	return atomic_load_explicit(&tcp->stack, memory_order_relaxed);
}

/* request_takers_t */
static void xdp_tcp_take_update(void *ctx, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const answer_aside_t *aside)
{
	xdp_tcp_t *tcp = ctx;
	(void)report;
	request_take_later(tcp->outbox, tcp->traffic, state, source, request, aside);
}

/* A transfer beyond those that there may be at once is answered with SERVFAIL, so that the secondary tries again. */
static void xdp_tcp_limit_streams(xdp_tcp_t *tcp)
{
	if (__builtin_expect(!xdp_streams_have_room(&tcp->streams), 0)) {
		tcp->turn.answer.takes &= (uint8_t)~ANSWER_EFFECT_STREAM;
	}
}

static void xdp_tcp_begin_turn(xdp_tcp_t *tcp, uint64_t now_us)
{
	request_turn_begin(&tcp->turn, now_us);
	xdp_tcp_limit_streams(tcp);
}

/* request_takers_t */
static void xdp_tcp_take_stream(void *ctx, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const answer_aside_t *aside)
{
	xdp_tcp_t *tcp = ctx;
	(void)state, (void)request, (void)report;
	static sys_log_repeats_t repeats;
	tcp->has_failed = !xdp_streams_begin(&tcp->streams, tcp->asking, source, aside, tcp->turn.answer.now_us);
	if (!tcp->has_failed) {
		kxdp_tcp_hold(xdp_tcp_stack_of(tcp), tcp->asking);
	} else {
		sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_WARNING,
				"TCP over XDP, transfer refused (not enough memory)");
	}
	xdp_tcp_limit_streams(tcp);
}

static const request_takers_t xdp_tcp_takers = { .takes = ANSWER_EFFECT_UPDATE, .update = xdp_tcp_take_update };
static const request_takers_t xdp_tcp_takers_of_all = {
	.takes = ANSWER_EFFECT_UPDATE | ANSWER_EFFECT_STREAM,
	.update = xdp_tcp_take_update,
	.stream = xdp_tcp_take_stream,
};

knot_err_t xdp_tcp_new(uint16_t mtu, traffic_batch_t *batch, later_outbox_t *outbox, xdp_tcp_t **ret_tcp)
{
	xdp_tcp_t *tcp = calloc(1, sizeof(*tcp));
	if (tcp == NULL) {
		return KNOT_ENOMEM;
	}
	tcp->mtu = mtu;
	tcp->traffic = batch;
	tcp->outbox = outbox;
	tcp->turn.takers = &xdp_tcp_takers;
	tcp->turn.ctx = tcp;
	if (getrandom(tcp->key, sizeof(tcp->key), 0) != (ssize_t)sizeof(tcp->key)) {
		knot_err_t err = knot_err_of_errno(errno);
		free(tcp);
		return err;
	}
	*ret_tcp = tcp;
	return KNOT_OK;
}

knot_err_t xdp_tcp_serve_transfers(xdp_tcp_t *tcp, transfer_service_t *transfers, int wake_fd)
{
	knot_err_t err = xdp_streams_init(&tcp->streams, transfers, wake_fd);
	if (err == KNOT_OK) {
		tcp->turn.takers = &xdp_tcp_takers_of_all;
	}
	return err;
}

void xdp_tcp_free(xdp_tcp_t *take_tcp)
{
	if (take_tcp != NULL) {
		xdp_streams_done(&take_tcp->streams, sys_clock_ns() / 1000);
		kxdp_tcp_free(xdp_tcp_stack_of(take_tcp));
		later_conns_done(&take_tcp->later);
		free(take_tcp);
	}
}

/* ---- Limits ---- */

static uint64_t limit_at_least(uint64_t value, uint64_t least)
{
	return value > least ? value : least;
}

static uint64_t limit_at_most(uint64_t value, uint64_t most)
{
	return value < most ? value : most;
}

kxdp_tcp_limits_t xdp_tcp_limits(const conf_xdp_t *conf, size_t worker_count, uint16_t mtu)
{
	enum {
		CLIENTS_MIN = 16,
		BUFFER_MIN = 4 * FRAME_MAX,         /* the largest message has to fit, beside others */
		SOURCE_BUFFER_MIN = 16 * FRAME_MAX, /* a megabyte: … in the share of one source, too */
		RESETS = 10000,
		RESETS_MIN = 100, /* per second, all workers: after a restart all peers hear soon */
		SECOND_US = 1000000,
	};
	uint32_t clients = (uint32_t)limit_at_least(conf->tcp_max_clients / worker_count, CLIENTS_MIN);
	/* One source takes at most an eighth of the buffers, or some more of small ones, but never more than half. */
	uint64_t inbuf = limit_at_least(conf->tcp_inbuf_max_size / worker_count, BUFFER_MIN);
	uint64_t outbuf = limit_at_least(conf->tcp_outbuf_max_size / worker_count, BUFFER_MIN);
	return (kxdp_tcp_limits_t){
		.clients_max = clients,
		.per_source_max = kxdp_source_share(clients),
		/* Beyond an eighth of the table half-open connections cost no memory: SYN cookies. */
		.half_open_max = (uint32_t)limit_at_least(clients / 8, CLIENTS_MIN),
		.inbuf_max = inbuf,
		.outbuf_max = outbuf,
		.in_source_max = limit_at_most(limit_at_least(inbuf / 8, SOURCE_BUFFER_MIN), inbuf / 2),
		.out_source_max = limit_at_most(limit_at_least(outbuf / 8, SOURCE_BUFFER_MIN), outbuf / 2),
		.idle_close_us = (uint64_t)conf->tcp_idle_close_timeout_s * SECOND_US,
		.idle_reset_us = (uint64_t)conf->tcp_idle_reset_timeout_s * SECOND_US,
		.resend_us = (uint64_t)conf->tcp_resend_timeout_s * SECOND_US,
		.resets_max = (uint32_t)limit_at_least(RESETS / worker_count, RESETS_MIN),
		.mtu = mtu,
	};
}

static bool xdp_tcp_same_limits(const kxdp_tcp_limits_t *a, const kxdp_tcp_limits_t *b)
{
	return a->clients_max == b->clients_max && a->inbuf_max == b->inbuf_max && a->outbuf_max == b->outbuf_max &&
	       a->idle_close_us == b->idle_close_us && a->idle_reset_us == b->idle_reset_us &&
	       a->resend_us == b->resend_us && a->resets_max == b->resets_max;
}

static bool xdp_tcp_make_stack(xdp_tcp_t *tcp, const kxdp_tcp_limits_t *limits, uint64_t now_us)
{
	kxdp_tcp_t *stack;
	knot_err_t err = kxdp_tcp_new(limits, tcp->key, now_us, &stack);
	if (err != KNOT_OK) {
		if (!tcp->failed) {
			log_server(LOG_ERR, "no TCP over XDP (%s)", knot_strerror(err));
		}
		tcp->failed = true;
		return false;
	}
	atomic_store_explicit(&tcp->stack, stack, memory_order_release);
	return true;
}

void xdp_tcp_configure(xdp_tcp_t *tcp, const conf_xdp_t *conf, size_t worker_count, uint64_t now_us)
{
	assert(worker_count > 0);
	kxdp_tcp_t *stack = xdp_tcp_stack_of(tcp);
	if (!conf->tcp) {
		if (tcp->is_on) {
			kxdp_tcp_abort_all(stack);
			tcp->is_on = false;
		}
		return;
	}
	kxdp_tcp_limits_t limits = xdp_tcp_limits(conf, worker_count, tcp->mtu);
	if (stack == NULL) {
		tcp->is_on = xdp_tcp_make_stack(tcp, &limits, now_us);
	} else {
		tcp->is_on = true;
		if (!xdp_tcp_same_limits(&limits, &tcp->limits)) {
			kxdp_tcp_configure(stack, &limits);
		}
	}
	tcp->limits = limits;
}

bool xdp_tcp_has_stack(const xdp_tcp_t *tcp)
{
	return xdp_tcp_stack_of(tcp) != NULL;
}

/* ---- Answers ---- */

static const struct sockaddr *xdp_tcp_address_of(
		const uint8_t ip[16], uint16_t port, bool is_ipv4, kxdp_addr_t *address)
{
	*address = (kxdp_addr_t){ 0 };
	if (is_ipv4) {
		address->in.sin_family = AF_INET;
		store_be16((uint8_t *)&address->in.sin_port, port);
		memcpy(&address->in.sin_addr, ip + 12, 4);
	} else {
		address->in6.sin6_family = AF_INET6;
		store_be16((uint8_t *)&address->in6.sin6_port, port);
		memcpy(&address->in6.sin6_addr, ip, 16);
	}
	return &address->sa;
}

/* The message that a segment begins with, found before the stack got the segment. */
typedef struct {
	knot_bytes_t message; /* NULL: none */
	const answer_request_t *request;
} foreseen_t;

/* What is answered next. */
typedef struct {
	knot_bytes_t message;
	const answer_request_t *request; /* NULL: the message wasn't read yet */
} frame_t;

/*
 * The first message of the input. Where the stack gives the bytes of the segment itself, from its beginning, this is
 * the message that was found in the segment: the same bytes at the same place, so neither framed nor compared again.
 * Everything else is framed here: a message that began in an earlier segment is in the stack's own buffer, and a
 * segment that the stack has cut begins elsewhere, or ends too early for the message.
 */
static bool xdp_tcp_first_frame(
		const kxdp_tcp_input_t *input, const foreseen_t *foreseen, size_t *pos, frame_t *ret_frame)
{
	const uint8_t *data = foreseen->message.data;
	size_t len = FRAME_HEAD + foreseen->message.len;
	if (data != NULL && len <= input->len && input->data + FRAME_HEAD == data) {
		*pos = len;
		*ret_frame = (frame_t){ foreseen->message, foreseen->request };
		return true;
	}
	ret_frame->request = NULL;
	return tcp_frame_next((knot_bytes_t){ input->data, input->len }, pos, &ret_frame->message) == TCP_FRAME_WHOLE;
}

/* ---- Later replies ---- */

/* True: a transfer, or so many requests of the connection, aren't answered yet that no more is read. */
static bool xdp_tcp_is_held(const xdp_tcp_t *tcp, kxdp_tcp_conn_t conn)
{
	if (__builtin_expect(tcp->streams.count > 0, 0) && xdp_streams_find(&tcp->streams, conn) != NULL) {
		return true;
	}
	const later_conn_t *known =
			__builtin_expect(tcp->later.used > 0, 0) ? later_conns_find(&tcp->later, conn) : NULL;
	return known != NULL && known->count >= NET_LATER_PER_CONN;
}

/* What was just taken to be answered later, if it was. */
static void xdp_tcp_set_way(xdp_tcp_t *tcp, kxdp_tcp_t *stack, kxdp_tcp_conn_t conn)
{
	later_t *later = tcp->outbox->made;
	if (later == NULL) {
		return;
	}
	tcp->outbox->made = NULL;
	later->way.xdp.conn = conn;
	bool is_first = later_conns_find(&tcp->later, conn) == NULL;
	if (later_conns_add(&tcp->later, conn) != KNOT_OK) {
		traffic_drop(tcp->traffic, TRAFFIC_DROP_NO_MEMORY);
		kxdp_tcp_abort(stack, conn);
	} else if (is_first) {
		kxdp_tcp_hold(stack, conn);
	}
}

/* The peer sends no more: close the connection, or let it be closed behind its transfer or its last later reply. */
static void xdp_tcp_close(xdp_tcp_t *tcp, kxdp_tcp_t *stack, kxdp_tcp_conn_t conn)
{
	later_conn_t *known = later_conns_find(&tcp->later, conn);
	xdp_stream_t *stream = xdp_streams_find(&tcp->streams, conn);
	if (stream != NULL) {
		stream->is_ended = true;
	} else if (known != NULL) {
		known->is_ended = true;
	} else {
		kxdp_tcp_close(stack, conn);
	}
}

void xdp_tcp_write_later(xdp_tcp_t *tcp, const later_t *later)
{
	kxdp_tcp_t *stack = xdp_tcp_stack_of(tcp);
	kxdp_tcp_conn_t conn = later->way.xdp.conn;
	assert(stack != NULL && conn != 0);
	bool is_known = later_conns_find(&tcp->later, conn) != NULL;
	later_conn_t left = later_conns_sub(&tcp->later, conn);
	if (is_known && left.count == 0) {
		kxdp_tcp_release(stack, conn);
	}
	if (later->reply_len > 0 && kxdp_tcp_room(stack, conn) > 0 &&
			!kxdp_tcp_write(stack, conn, later->bytes - FRAME_HEAD, FRAME_HEAD + later->reply_len)) {
		/* The peer takes nothing of what it asked for, or there is no memory. */
		kxdp_tcp_abort(stack, conn);
	}
	if (left.count == 0 && left.is_ended) {
		xdp_tcp_close(tcp, stack, conn);
	} else if (left.count + 1 == NET_LATER_PER_CONN) {
		kxdp_tcp_resume(stack, conn);
	}
}

/* ---- Input ---- */

/* Answer whole messages while there is room for the largest reply; what is left is kept by the stack. */
static void xdp_tcp_answer_input(xdp_tcp_t *tcp, kxdp_tcp_t *stack, const state_t *state, const kxdp_tcp_input_t *input,
		const foreseen_t *foreseen)
{
	bool is_ipv4 = kxdp_flow_is_ipv4(&input->flow);
	kxdp_addr_t remote, local;
	answer_source_t source = {
		.protocol = is_ipv4 ? ANSWER_TCP4_XDP : ANSWER_TCP6_XDP,
		.remote = xdp_tcp_address_of(input->flow.remote, input->flow.remote_port, is_ipv4, &remote),
		.local = xdp_tcp_address_of(input->flow.local, input->flow.local_port, is_ipv4, &local),
		.turn = &tcp->turn.answer,
	};
	knot_bytes_t bytes = { input->data, input->len };
	size_t used = 0, next = 0;
	frame_t frame;
	bool is_whole = xdp_tcp_first_frame(input, foreseen, &next, &frame);
	answer_request_t own;
	tcp->asking = input->conn;
	while (is_whole && kxdp_tcp_room(stack, input->conn) >= FRAME_MAX && !xdp_tcp_is_held(tcp, input->conn)) {
		if (frame.request == NULL) {
			answer_read(&state->env, state->zones, &frame.message, 1, &own);
			frame.request = &own;
		}
		size_t len = request_answer(tcp->traffic, NULL, state, &source, frame.request,
				(knot_mut_bytes_t){ tcp->reply + FRAME_HEAD, NET_TCP_MESSAGE_MAX });
		store_be16(tcp->reply, (uint16_t)len);
		if (len > 0 && !kxdp_tcp_write(stack, input->conn, tcp->reply, FRAME_HEAD + len)) {
			/*
			 * There was room, so there is no memory: better no connection than one with an answer missing.
			 */
			traffic_drop(tcp->traffic, TRAFFIC_DROP_NO_MEMORY);
			kxdp_tcp_abort(stack, input->conn);
			return;
		}
		if (len == 0) {
			xdp_tcp_set_way(tcp, stack, input->conn);
		}
		if (__builtin_expect(tcp->has_failed, 0)) {
			tcp->has_failed = false;
			kxdp_tcp_abort(stack, input->conn);
			return;
		}
		used = next;
		frame.request = NULL;
		is_whole = tcp_frame_next(bytes, &next, &frame.message) == TCP_FRAME_WHOLE;
	}
	/*
	 * After the peer's end the rest never becomes whole. What it asked before is answered still (RFC 7766 6.2.4).
	 */
	bool is_done = input->fin && !is_whole;
	kxdp_tcp_consume(stack, input->conn, is_done ? input->len : used);
	if (is_done) {
		xdp_tcp_close(tcp, stack, input->conn);
	}
}

static void xdp_tcp_count_malformed(xdp_tcp_t *tcp)
{
	uint64_t count = atomic_load_explicit(&tcp->malformed, memory_order_relaxed);
	atomic_store_explicit(&tcp->malformed, count + 1, memory_order_relaxed);
}

/* Read the headers, and find the messages that segments begin with. Returns the number of segments. */
static size_t xdp_tcp_read_segments(xdp_tcp_t *tcp, const kxdp_packet_t *packets, const uint8_t *numbers, size_t count)
{
	size_t good = 0;
	for (size_t i = 0; i < count; i++) {
		const kxdp_packet_t *packet = &packets[numbers[i]];
		kxdp_segment_t *segment = &tcp->segments[good];
		if (!kxdp_segment_read(packet->payload, packet->payload_len, segment)) {
			xdp_tcp_count_malformed(tcp);
			continue;
		}
		segment->flow = packet->flow;
		segment->path = packet->path;
		segment->ecn = packet->ecn;
		size_t next = 0;
		if (tcp_frame_next((knot_bytes_t){ segment->payload, segment->len }, &next, &tcp->messages[good]) !=
				TCP_FRAME_WHOLE) {
			tcp->messages[good] = (knot_bytes_t){ NULL, 0 };
		}
		good++;
	}
	return good;
}

void xdp_tcp_receive(xdp_tcp_t *tcp, const state_t *state, const kxdp_packet_t *packets, const uint8_t *numbers,
		size_t count, uint64_t now_us)
{
	kxdp_tcp_t *stack = xdp_tcp_stack_of(tcp);
	if (stack == NULL) {
		return;
	}
	assert(count <= NET_XDP_BATCH);
	xdp_tcp_begin_turn(tcp, now_us);
	count = xdp_tcp_read_segments(tcp, packets, numbers, count);
	answer_read(&state->env, state->zones, tcp->messages, count, tcp->requests);
	for (size_t i = 0; i < count; i++) {
		const foreseen_t foreseen = { tcp->messages[i], &tcp->requests[i] };
		kxdp_tcp_input_t input;
		bool is_more = kxdp_tcp_receive(stack, &tcp->segments[i], now_us, &input);
		for (; is_more; is_more = kxdp_tcp_next(stack, &input)) {
			xdp_tcp_answer_input(tcp, stack, state, &input, &foreseen);
		}
	}
}

bool xdp_tcp_answer_waiting(xdp_tcp_t *tcp, const state_t *state)
{
	kxdp_tcp_t *stack = xdp_tcp_stack_of(tcp);
	assert(stack != NULL);
	const foreseen_t nothing = { { NULL, 0 }, NULL };
	kxdp_tcp_input_t input;
	bool any = false;
	while (kxdp_tcp_next(stack, &input)) {
		xdp_tcp_answer_input(tcp, stack, state, &input, &nothing);
		any = true;
	}
	return any;
}

void xdp_tcp_tick(xdp_tcp_t *tcp, const state_t *state, uint64_t now_us)
{
	assert(xdp_tcp_has_stack(tcp));
	kxdp_tcp_t *stack = xdp_tcp_stack_of(tcp);
	kxdp_tcp_tick(stack, now_us);
	xdp_tcp_begin_turn(tcp, now_us);
	if (__builtin_expect(tcp->streams.count > 0, 0)) {
		xdp_streams_go_on(&tcp->streams, stack, tcp->reply, now_us, tcp->turn.answer.wall_s);
		xdp_tcp_begin_turn(tcp, now_us); /* those that ended made room */
	} else {
		tcp->streams.wants_turn = false;
	}
	(void)xdp_tcp_answer_waiting(tcp, state);
}

bool xdp_tcp_emit(xdp_tcp_t *tcp, uint64_t now_us, uint8_t *payload, size_t payload_max, kxdp_segment_t *ret_segment)
{
	return kxdp_tcp_emit(xdp_tcp_stack_of(tcp), now_us, payload, payload_max, ret_segment);
}

bool xdp_tcp_wants_turn(const xdp_tcp_t *tcp)
{
	return tcp->streams.wants_turn;
}

void xdp_tcp_abort_all(xdp_tcp_t *tcp)
{
	assert(xdp_tcp_has_stack(tcp));
	kxdp_tcp_abort_all(xdp_tcp_stack_of(tcp));
}

uint64_t xdp_tcp_time_left(const xdp_tcp_t *tcp, uint64_t now_us, uint64_t max_us)
{
	const kxdp_tcp_t *stack = xdp_tcp_stack_of(tcp);
	uint64_t next_us = stack != NULL ? kxdp_tcp_next_time(stack) : UINT64_MAX;
	if (next_us <= now_us) {
		return 0;
	}
	return next_us - now_us < max_us ? next_us - now_us : max_us;
}

bool xdp_tcp_stats(const xdp_tcp_t *tcp, kxdp_tcp_stats_t *ret_stats)
{
	const kxdp_tcp_t *stack = atomic_load_explicit(&tcp->stack, memory_order_acquire);
	if (stack == NULL) {
		return false;
	}
	kxdp_tcp_stats(stack, ret_stats);
	uint64_t malformed = atomic_load_explicit(&tcp->malformed, memory_order_relaxed);
	ret_stats->segments_in += malformed;
	ret_stats->dropped_invalid += malformed;
	return true;
}
