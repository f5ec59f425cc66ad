/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments leave: what windows allow, one at a time, connection by connection. */
#include "xdp/tcp/stack.h"

bool tcp_is_ipv4(const uint8_t address[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };
	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

uint16_t tcp_path_mss(const kxdp_tcp_t *tcp, const kxdp_path_t *path, bool is_ipv4)
{
	uint32_t mtu = path->mtu > 0 && path->mtu < tcp->limits.mtu ? path->mtu : tcp->limits.mtu;
	uint32_t headers = is_ipv4 ? HEADERS_IPV4 : HEADERS_IPV6;
	return (uint16_t)(mtu > headers + 1 ? mtu - headers : 1);
}

uint16_t tcp_window(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	const busy_t *busy = busy_of(tcp, conn);
	uint32_t room = IN_MAX - (busy != NULL ? busy->in_len : 0);
	uint32_t target = min_u32(room, WINDOW_MAX);
	uint32_t step = max_u32(conn->mss, MSS_DEFAULT_IPV4);
	return (uint16_t)(target >= conn->rcv_wnd + step ? target : conn->rcv_wnd);
}

/* ---- segments of no connection ---- */

static void send_add_note(kxdp_tcp_t *tcp, const note_t *note)
{
	if (tcp->notes_count < NOTES_MAX) {
		tcp->notes[(tcp->notes_from + tcp->notes_count++) % NOTES_MAX] = *note;
	} else {
		stat_inc(&tcp->stats.dropped_limit);
	}
}

/*
 * RSTs to segments of no connection have a rate per remote address, not one for all. An RST to a forged address shows
 * that there is no such connection. If all addresses shared a rate, an attacker could see that RST: it would send as
 * many segments of its own and count the RSTs that are left for them. Which addresses share a bucket depends on the
 * worker's secret key.
 */
static bucket_t *send_reset_bucket(kxdp_tcp_t *tcp, const kxdp_flow_t *flow)
{
	uint64_t words[2];
	memcpy(words, flow->remote, sizeof(words));
	return &tcp->resets[kxdp_siphash13(&tcp->key, words, KNOT_LEN(words)) % RESET_BUCKETS];
}

static uint32_t send_reset_rate(const kxdp_tcp_t *tcp)
{
	uint32_t max = tcp->limits.resets_max;
	return max > 0 ? max_u32(max / RESET_BUCKET_PART, 1) : 0;
}

void tcp_note_reset(kxdp_tcp_t *tcp, const kxdp_segment_t *segment)
{
	if (!tcp_bucket_take(send_reset_bucket(tcp, &segment->flow), tcp->now_us, send_reset_rate(tcp))) {
		stat_inc(&tcp->stats.dropped_unknown);
		return;
	}
	send_add_note(tcp, &(note_t){ .flow = segment->flow,
					   .path = segment->path,
					   .seq = segment->ack,
					   .scale = -1,
					   .flags = KXDP_TCP_RST });
}

void tcp_note_cookie(kxdp_tcp_t *tcp, const kxdp_segment_t *syn)
{
	send_add_note(tcp, &(note_t){
					   .flow = syn->flow,
					   .path = syn->path,
					   .seq = tcp_cookie_make(tcp, syn),
					   .ack = syn->seq + 1,
					   .window = WINDOW_MAX,
					   .mss = tcp_path_mss(tcp, &syn->path, tcp_is_ipv4(syn->flow.remote)),
					   .scale = syn->scale >= 0 ? 0 : -1,
					   .flags = KXDP_TCP_SYN | KXDP_TCP_ACK,
			   });
}

static void send_emit_note(kxdp_tcp_t *tcp, kxdp_segment_t *ret_segment)
{
	const note_t *note = &tcp->notes[tcp->notes_from];
	*ret_segment = (kxdp_segment_t){
		.flow = note->flow,
		.path = note->path,
		.seq = note->seq,
		.ack = note->ack,
		.window = note->window,
		.mss = note->mss,
		.scale = note->scale,
		.flags = note->flags,
	};
	stat_add(&tcp->stats.resets_out, note->flags & KXDP_TCP_RST ? 1 : 0);
	tcp->notes_from = (tcp->notes_from + 1) % NOTES_MAX;
	tcp->notes_count--;
}

/*
 * Has this connection had few enough challenge ACKs? Counts one more.
 *
 * RFC 5961 10 asks for a limit, and one that all connections share tells one peer what others do (CVE-2016-5696): so
 * it is per connection. Where its seconds begin and how many ACKs each of them has are functions of the worker's key,
 * so that nothing can be measured by what is left of a number that is known, either.
 */
static bool send_may_challenge(const kxdp_tcp_t *tcp, conn_t *conn, uint32_t number)
{
	uint64_t words[2] = { (uint64_t)conn->generation << 32 | number, 0 };
	uint64_t begin_us = kxdp_siphash13(&tcp->key, words, KNOT_LEN(words)) % SECOND_US;
	words[1] = 1 + (tcp->now_us + begin_us) / SECOND_US;
	uint64_t dice = kxdp_siphash13(&tcp->key, words, KNOT_LEN(words));
	uint8_t most = CHALLENGES_MIN + dice % CHALLENGES_SPREAD;
	uint8_t second = (uint8_t)(words[1] % 16 << 4);
	uint8_t count = (conn->challenges & 0xf0) == second ? conn->challenges & 15 : 0;
	conn->challenges = (uint8_t)(second | (count < most ? count + 1 : count));
	return count < most;
}

void tcp_challenge(kxdp_tcp_t *tcp, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->flags & CONN_ACK || !send_may_challenge(tcp, conn, number)) {
		return;
	}
	stat_inc(&tcp->stats.challenge_acks);
	conn->flags |= CONN_ACK;
	tcp_conn_ready(tcp, number);
}

/* ---- headers ---- */

static void send_fill_header(kxdp_tcp_t *tcp, conn_t *conn, uint8_t flags, uint32_t seq, kxdp_segment_t *ret_segment)
{
	const end_t *end = end_at(tcp, conn->end);
	*ret_segment = (kxdp_segment_t){
		.path = end->path,
		.seq = seq,
		.ack = conn->rcv_nxt,
		.scale = -1,
		.flags = flags,
	};
	ret_segment->flow = tcp_conn_flow(tcp, conn);
	if (!(flags & KXDP_TCP_RST)) {
		ret_segment->window = conn->rcv_wnd = tcp_window(tcp, conn);
	}
}

static void send_emit_reset(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, kxdp_segment_t *ret_segment)
{
	send_fill_header(tcp, conn, KXDP_TCP_RST | KXDP_TCP_ACK, conn->snd_una, ret_segment);
	stat_inc(&tcp->stats.resets_out);
	tcp_conn_free(tcp, number);
}

static void send_emit_syn_ack(kxdp_tcp_t *tcp, conn_t *conn, kxdp_segment_t *ret_segment)
{
	send_fill_header(tcp, conn, KXDP_TCP_SYN | KXDP_TCP_ACK, conn->snd_una, ret_segment);
	ret_segment->mss = tcp_path_mss(tcp, &ret_segment->path, conn->flags & CONN_IPV4);
	ret_segment->scale = conn->flags & CONN_SCALED ? 0 : -1;
	conn->flags &= (uint16_t) ~(CONN_SYN_ACK | CONN_ACK);
	if (conn->syn_ack_us == 0 && conn->list == LIST_HALF && !(conn->flags & CONN_SYN_RESENT)) {
		conn->syn_ack_us = max_u32((uint32_t)tcp->now_us, 1);
	}
	stat_add(&tcp->stats.resent, conn->flags & CONN_SYN_RESENT ? 1 : 0);
}

/* ---- data ---- */

/* What goes next: [seq, seq + len), and the FIN. */
typedef struct {
	uint32_t seq, len;
	bool fin;
} span_t;

/* Bytes from snd_una on that the network may have now; limited transmit (RFC 3042) included. */
static uint32_t send_window_now(const conn_t *conn, const busy_t *busy)
{
	uint32_t extra = busy->flags & BUSY_RECOVERY ? 0 : min_u32(busy->dupacks, 2) * conn->mss;
	return conn->cwnd + extra;
}

/* The first segment once more, or a probe, whatever the congestion window says. */
static span_t send_span_at_once(const conn_t *conn, const busy_t *busy, uint32_t segment_max)
{
	uint32_t most = segment_max;
	if (busy->flags & BUSY_PROBE) {
		most = min_u32(most, max_u32(conn->snd_wnd, 1));
	} else {
		most = min_u32(most, max_u32(busy->snd_max - conn->snd_una, 1));
	}
	span_t span = { .seq = conn->snd_una, .len = min_u32(busy->out_len, most) };
	span.fin = conn->flags & CONN_FIN && span.len == busy->out_len && span.len < most &&
		   (busy->flags & BUSY_PROBE || busy->snd_max == conn->snd_una + busy->out_len + 1);
	return span;
}

/* RFC 9293 3.8.6.2.1 (sender's silly window avoidance), Nagle's rule left out: replies are written whole. */
static span_t send_span_in_window(const conn_t *conn, const busy_t *busy, uint32_t segment_max)
{
	span_t span = { .seq = busy->snd_nxt };
	uint32_t off = busy->snd_nxt - conn->snd_una;
	uint32_t window = min_u32(send_window_now(conn, busy), conn->snd_wnd);
	uint32_t usable = window > off ? window - off : 0;
	if (off > busy->out_len || usable == 0) { /* the FIN is out, or nothing fits */
		return span;
	}
	uint32_t left = busy->out_len - off, len = min_u32(min_u32(left, segment_max), usable);
	bool is_again = seq_before(busy->snd_nxt, busy->snd_max);
	bool is_enough = is_again || len == left || len == segment_max || len >= (1u << conn->snd_wnd_max_bits) / 4;
	span.len = is_enough ? len : 0;
	span.fin = conn->flags & CONN_FIN && span.len == left && usable > span.len;
	return span;
}

/* Something is to be sent, nothing is on its way, and the window lets nothing go: ask for it by and by. */
static void send_start_persist(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy)
{
	bool is_pending = busy->out_len > 0 || (conn->flags & CONN_FIN && conn->state != STATE_FIN_WAIT_2);
	if (is_pending && busy->timer == TIMER_NONE) {
		tcp_timer_start(tcp, conn, busy, TIMER_PERSIST);
	}
}

static void send_note_sent(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy, const span_t *span)
{
	uint32_t end = span->seq + span->len + span->fin;
	bool is_new = seq_until(busy->snd_max, span->seq);
	bool was_probe = busy->flags & BUSY_PROBE;
	busy->flags &= (uint8_t) ~(BUSY_RESEND_ONE | BUSY_PROBE);
	stat_add(&tcp->stats.resent, is_new ? 0 : 1);
	if (is_new && !(busy->flags & BUSY_TIMING) &&
			!was_probe) { /* RFC 6298 3, 4: once per round trip, nothing that was resent */
		busy->flags |= BUSY_TIMING;
		busy->rtt_seq = end;
		busy->rtt_start_us = (uint32_t)tcp->now_us;
	}
	busy->snd_max = seq_before(busy->snd_max, end) ? end : busy->snd_max;
	if (was_probe && end - conn->snd_una > conn->snd_wnd) {
		tcp_timer_start(tcp, conn, busy, TIMER_PERSIST); /* snd_nxt stays: the byte is likely to be refused */
		return;
	}
	busy->snd_nxt = seq_before(busy->snd_nxt, end) ? end : busy->snd_nxt;
	if (busy->timer != TIMER_RESEND) {
		tcp_timer_start(tcp, conn, busy, TIMER_RESEND); /* RFC 6298 5.1 */
	}
}

/* Frames take less than the peer and the path: then that is the size of a segment (SMSS) everywhere. */
static void send_limit_segment(conn_t *conn, size_t payload_max)
{
	bool is_new = conn->cwnd == tcp_initial_window(conn);
	conn->mss = (uint16_t)payload_max;
	conn->cwnd = is_new ? tcp_initial_window(conn) : max_u32(conn->cwnd, conn->mss);
}

/* True: a segment with data, FIN, or both. */
static bool send_emit_data(
		kxdp_tcp_t *tcp, conn_t *conn, uint8_t *payload, size_t payload_max, kxdp_segment_t *ret_segment)
{
	busy_t *busy = busy_of(tcp, conn);
	if (busy == NULL || payload_max == 0) {
		return false;
	}
	if (payload_max < conn->mss) {
		send_limit_segment(conn, payload_max);
	}
	uint32_t segment_max = conn->mss;
	bool at_once = busy->flags & (BUSY_RESEND_ONE | BUSY_PROBE);
	span_t span = at_once ? send_span_at_once(conn, busy, segment_max)
			      : send_span_in_window(conn, busy, segment_max);
	if (span.len == 0 && !span.fin) {
		busy->flags &= (uint8_t) ~(BUSY_RESEND_ONE | BUSY_PROBE);
		if (busy->snd_nxt == conn->snd_una) {
			send_start_persist(tcp, conn, busy);
		}
		return false;
	}
	uint32_t off = span.seq - conn->snd_una;
	bool is_last = off + span.len == busy->out_len;
	uint8_t flags = (uint8_t)(KXDP_TCP_ACK | (span.fin ? KXDP_TCP_FIN : 0) |
				  (is_last && span.len > 0 ? KXDP_TCP_PSH : 0));
	send_fill_header(tcp, conn, flags, span.seq, ret_segment);
	if (span.len > 0) {
		tcp_out_copy(tcp, conn, busy, off, payload, span.len);
		ret_segment->payload = payload;
		ret_segment->len = (uint16_t)span.len;
	}
	conn->flags &= (uint16_t)~CONN_ACK;
	send_note_sent(tcp, conn, busy, &span);
	return true;
}

/*
 * The sequence number of a segment without data: one that the peer accepts also when its window has closed or shrunk.
 */
static uint32_t send_bare_seq(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	if (conn->state == STATE_SYN_RCVD) {
		return conn->snd_una + 1;
	}
	uint32_t edge = conn->snd_una + conn->snd_wnd, end = snd_max_of(tcp, conn);
	return seq_before(edge, end) ? edge : end;
}

/* True: a segment; *ret_more: perhaps there is another one. */
static bool send_emit_conn(kxdp_tcp_t *tcp, uint32_t number, uint8_t *payload, size_t payload_max,
		kxdp_segment_t *ret_segment, bool *ret_more)
{
	conn_t *conn = conn_at(tcp, number);
	*ret_more = false;
	switch ((state_t)conn->state) {
	case STATE_GONE: kxdp_slab_give_back(&tcp->conns, number); return false;
	case STATE_RESET: send_emit_reset(tcp, number, conn, ret_segment); return true;
	case STATE_SYN_RCVD:
		if (conn->flags & CONN_SYN_ACK) {
			send_emit_syn_ack(tcp, conn, ret_segment);
			return true;
		}
		break;
	case STATE_ESTABLISHED:
	case STATE_FIN_WAIT_1:
	case STATE_FIN_WAIT_2:
	case STATE_CLOSE_WAIT:
	case STATE_CLOSING:
	case STATE_LAST_ACK:
	case STATE_TIME_WAIT: break;
	}
	/* Duplicate ACKs first: one with data wouldn't count as such (RFC 5681 2). */
	if (conn->acks_owed > 0) {
		conn->acks_owed--;
		conn->flags &= (uint16_t)~CONN_ACK;
		send_fill_header(tcp, conn, KXDP_TCP_ACK, send_bare_seq(tcp, conn), ret_segment);
		*ret_more = true;
		return true;
	}
	if (send_emit_data(tcp, conn, payload, payload_max, ret_segment)) {
		const busy_t *busy = busy_of(tcp, conn);
		*ret_more = busy->snd_nxt - conn->snd_una < busy->out_len + (conn->flags & CONN_FIN ? 1 : 0);
		return true;
	}
	if (conn->flags & CONN_ACK) {
		conn->flags &= (uint16_t)~CONN_ACK;
		send_fill_header(tcp, conn, KXDP_TCP_ACK, send_bare_seq(tcp, conn), ret_segment);
		return true;
	}
	return false;
}

bool kxdp_tcp_emit(kxdp_tcp_t *tcp, uint64_t now_us, uint8_t *payload, size_t payload_max, kxdp_segment_t *ret_segment)
{
	tcp->now_us = now_us > tcp->now_us ? now_us : tcp->now_us;
	if (tcp->notes_count > 0) {
		send_emit_note(tcp, ret_segment);
		stat_inc(&tcp->stats.segments_out);
		return true;
	}
	uint32_t number;
	while ((number = tcp->ready_head) != 0) {
		conn_t *conn = conn_at(tcp, number);
		tcp->ready_head = conn->ready_next;
		tcp->ready_tail = tcp->ready_head != 0 ? tcp->ready_tail : 0;
		conn->flags &= (uint16_t)~CONN_READY;
		bool more, is_sent = send_emit_conn(tcp, number, payload, payload_max, ret_segment, &more);
		if (more) {
			tcp_conn_ready(tcp, number);
		}
		if (is_sent) {
			stat_inc(&tcp->stats.segments_out);
			return true;
		}
	}
	return false;
}
