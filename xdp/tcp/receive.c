/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment arrives: RFC 9293 3.10.7 in its order, with RFC 5961. */
#include "xdp/tcp/stack.h"

#include <assert.h>

/* ---- no connection: LISTEN (3.10.7.2) ---- */

static void receive_set_options(
		const kxdp_tcp_t *tcp, conn_t *conn, const kxdp_path_t *path, uint16_t mss, int8_t scale)
{
	bool is_ipv4 = conn->flags & CONN_IPV4;
	uint16_t most = tcp_path_mss(tcp, path, is_ipv4);
	mss = mss > 0 ? mss : is_ipv4 ? MSS_DEFAULT_IPV4 : MSS_DEFAULT_IPV6;
	mss = mss > KXDP_TCP_MSS_MIN ? mss : KXDP_TCP_MSS_MIN;
	conn->mss = mss < most ? mss : most;
	conn->snd_scale = scale > 0 ? (uint8_t)scale & 15 : 0;
	conn->flags |= scale >= 0 ? CONN_SCALED : 0;
	conn->rcv_wnd = WINDOW_MAX;
	conn->ssthresh = SSTHRESH_NONE;
}

/* iss_min: the initial sequence number is behind it when that was given (RFC 9293 3.4.3). */
static void receive_first_syn(kxdp_tcp_t *tcp, const kxdp_segment_t *syn, uint64_t hash, const uint32_t *iss_min)
{
	if (syn->flags & KXDP_TCP_FIN) {
		stat_inc(&tcp->stats.dropped_invalid);
		return;
	}
	if (!tcp_source_has_room(tcp, syn->flow.remote)) {
		stat_inc(&tcp->stats.dropped_limit);
		return;
	}
	uint32_t number = 0;
	if (tcp->stats.half_open < tcp->limits.half_open_max && tcp_make_room(tcp, false)) {
		number = tcp_conn_new(tcp, syn, hash);
	}
	if (number == 0) {
		tcp_note_cookie(tcp, syn);
		return;
	}
	conn_t *conn = conn_at(tcp, number);
	receive_set_options(tcp, conn, &syn->path, syn->mss, syn->scale);
	conn->state = STATE_SYN_RCVD;
	conn->snd_una = tcp_initial_sequence(tcp, &syn->flow);
	if (iss_min != NULL && seq_until(conn->snd_una, *iss_min)) {
		conn->snd_una = *iss_min + 1;
	}
	conn->rcv_nxt = syn->seq + 1; /* data with it comes again: it is not acknowledged */
	conn->flags |= CONN_SYN_ACK;
	tcp_conn_enlist(tcp, number, LIST_HALF);
	tcp_conn_ready(tcp, number);
}

/* SYN_RCVD to ESTABLISHED. False: it may not; it has been reset. */
static bool receive_establish(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment)
{
	conn_t *conn = conn_at(tcp, number);
	if (!tcp_source_add(tcp, conn)) {
		stat_inc(&tcp->stats.dropped_limit);
		tcp_conn_reset(tcp, number);
		return false;
	}
	uint32_t sent_us = conn->syn_ack_us;
	conn->srtt_us = 0;
	if (sent_us != 0 && !(conn->flags & CONN_SYN_RESENT)) {
		tcp_rtt_sample(conn, (uint32_t)tcp->now_us - sent_us);
	}
	conn->state = STATE_ESTABLISHED;
	conn->flags &= (uint16_t)~CONN_SYN_ACK;
	conn->snd_una++;
	conn->snd_wnd = (uint32_t)segment->window << conn->snd_scale;
	conn->snd_wl1 = segment->seq;
	while (conn->snd_wnd >> conn->snd_wnd_max_bits != 0) {
		conn->snd_wnd_max_bits++;
	}
	conn->cwnd = tcp_initial_window(conn);
	stat_inc(&tcp->stats.accepted);
	tcp_conn_enlist(tcp, number, LIST_IDLE);
	return true;
}

/* An ACK that brings a cookie back makes a connection. 0: none. */
static uint32_t receive_cookie(kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint64_t hash)
{
	uint16_t mss;
	int8_t scale;
	tcp_cookie_verdict_t verdict = tcp_cookie_read(tcp, segment, &mss, &scale);
	if (verdict != TCP_COOKIE_GOOD) {
		if (verdict == TCP_COOKIE_BAD) {
			tcp_note_reset(tcp, segment);
		}
		return 0;
	}
	if (!tcp_source_has_room(tcp, segment->flow.remote)) { /* before another connection has to make room */
		stat_inc(&tcp->stats.dropped_limit);
		tcp_note_reset(tcp, segment);
		return 0;
	}
	uint32_t number = 0;
	if (tcp_make_room(tcp, true)) {
		number = tcp_conn_new(tcp, segment, hash);
	}
	if (number == 0) {
		stat_inc(&tcp->stats.dropped_limit);
		return 0;
	}
	conn_t *conn = conn_at(tcp, number);
	receive_set_options(tcp, conn, &segment->path, mss, scale);
	conn->state = STATE_SYN_RCVD;
	conn->snd_una = segment->ack - 1;
	conn->rcv_nxt = segment->seq;
	return receive_establish(tcp, number, segment) ? number : 0;
}

/* The connection that the segment makes; 0: none, it has been dealt with. */
static uint32_t receive_unknown(kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint64_t hash)
{
	if (segment->flags & KXDP_TCP_RST) {
		stat_inc(&tcp->stats.dropped_unknown);
		return 0;
	}
	if (segment->flags & KXDP_TCP_ACK) {
		if (!(segment->flags & KXDP_TCP_SYN) && tcp_cookies_are_out(tcp)) {
			return receive_cookie(tcp, segment, hash);
		}
		tcp_note_reset(tcp, segment);
	} else if (segment->flags & KXDP_TCP_SYN) {
		receive_first_syn(tcp, segment, hash, NULL);
	} else {
		stat_inc(&tcp->stats.dropped_invalid);
	}
	return 0;
}

/* ---- TIME-WAIT ---- */

static void receive_time_wait(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment, uint64_t hash)
{
	conn_t *conn = conn_at(tcp, number);
	if (segment->flags & KXDP_TCP_RST) {
		stat_inc(&tcp->stats.resets_in);
		if (segment->seq == conn->rcv_nxt) {
			tcp_conn_free(tcp, number);
		}
		return;
	}
	if (segment->flags & KXDP_TCP_SYN && !(segment->flags & KXDP_TCP_ACK) &&
			seq_before(conn->rcv_nxt, segment->seq)) {
		/* RFC 9293 3.10.7.4 (MAY-2): the port is used again. */
		uint32_t snd_nxt = conn->snd_una;
		tcp_conn_free(tcp, number);
		receive_first_syn(tcp, segment, hash, &snd_nxt);
		return;
	}
	if (segment->flags & KXDP_TCP_FIN && segment->flags & KXDP_TCP_ACK) { /* our last ACK was lost */
		conn->flags |= CONN_ACK;
		tcp_conn_enlist(tcp, number, LIST_TIME_WAIT);
		tcp_conn_ready(tcp, number);
		return;
	}
	if (segment->len > 0 || segment->flags & KXDP_TCP_SYN) {
		tcp_challenge(tcp, number);
	}
}

/* ---- data and FIN ---- */

/* What is left of a segment after both ends were cut off. */
typedef struct {
	const uint8_t *bytes;
	uint32_t len;
	uint32_t off; /* behind rcv_nxt */
	bool fin;     /* follows directly */
} piece_t;

static piece_t receive_cut_piece(const conn_t *conn, const kxdp_segment_t *segment)
{
	piece_t piece = { .bytes = segment->payload, .len = segment->len, .fin = segment->flags & KXDP_TCP_FIN };
	piece.off = segment->seq - conn->rcv_nxt;
	if (seq_before(segment->seq, conn->rcv_nxt)) {
		uint32_t old = min_u32(conn->rcv_nxt - segment->seq, piece.len);
		piece.bytes += old;
		piece.len -= old;
		piece.off += old;
		piece.fin = piece.fin && piece.off == 0;
		piece.off = 0;
	}
	if (piece.off + piece.len > conn->rcv_wnd) {
		piece.len = piece.off < conn->rcv_wnd ? conn->rcv_wnd - piece.off : 0;
		piece.fin = false;
	}
	return piece;
}

static void receive_advance(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, uint32_t len)
{
	uint32_t before = conn->rcv_nxt;
	conn->rcv_nxt += len;
	conn->rcv_wnd = (uint16_t)(conn->rcv_wnd - min_u32(len, conn->rcv_wnd));
	if ((before ^ conn->rcv_nxt) >> PROGRESS_SHIFT != 0) {
		tcp_conn_progress_in(tcp, number);
	}
}

/* Ranges that are in order now join the rest. */
static void receive_join_ranges(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, busy_t *busy)
{
	unsigned done = 0;
	while (done < busy->range_count && seq_until(busy->ranges[done].from, conn->rcv_nxt)) {
		if (seq_before(conn->rcv_nxt, busy->ranges[done].to)) {
			uint32_t len = busy->ranges[done].to - conn->rcv_nxt;
			busy->in_len += len;
			receive_advance(tcp, number, conn, len);
		}
		done++;
	}
	busy->range_count = (uint8_t)(busy->range_count - done);
	memmove(busy->ranges, busy->ranges + done, busy->range_count * sizeof(busy->ranges[0]));
}

/* True: it was put into the buffer. */
static bool receive_keep_in_order(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, busy_t *busy, const piece_t *piece)
{
	if (!tcp_in_reserve(tcp, busy, busy->in_len + piece->len, true)) {
		stat_inc(&tcp->stats.dropped_inbuf);
		return false;
	}
	memcpy(tcp_in_bytes(tcp, busy) + busy->in_len, piece->bytes, piece->len);
	busy->in_len += piece->len;
	receive_advance(tcp, number, conn, piece->len);
	receive_join_ranges(tcp, number, conn, busy);
	return true;
}

/* Adds [from, to), joined with what it touches. False: one too many. */
static bool receive_add_range(busy_t *busy, range_t range)
{
	unsigned at = 0, end;
	while (at < busy->range_count && seq_before(busy->ranges[at].to, range.from)) {
		at++;
	}
	for (end = at; end < busy->range_count && seq_until(busy->ranges[end].from, range.to); end++) {
		range.from = seq_before(busy->ranges[end].from, range.from) ? busy->ranges[end].from : range.from;
		range.to = seq_before(range.to, busy->ranges[end].to) ? busy->ranges[end].to : range.to;
	}
	if (end == at && busy->range_count == RANGES_MAX) {
		return false;
	}
	memmove(busy->ranges + at + 1, busy->ranges + end, (busy->range_count - end) * sizeof(range));
	busy->ranges[at] = range;
	busy->range_count = (uint8_t)(busy->range_count + 1 - (end - at));
	return true;
}

static uint32_t receive_count_ranges(const busy_t *busy)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < busy->range_count; i++) {
		sum += busy->ranges[i].to - busy->ranges[i].from;
	}
	return sum;
}

static void receive_owe_ack(conn_t *conn)
{
	if (conn->acks_owed < ACKS_OWED_MAX) {
		conn->acks_owed++;
	}
}

/* Data behind a hole: kept if there is room; a duplicate ACK tells the peer what is missing (RFC 5681 4.2). */
static void receive_keep_out_of_order(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, const piece_t *piece)
{
	stat_inc(&tcp->stats.out_of_order);
	receive_owe_ack(conn);
	busy_t *busy = tcp_busy_get(tcp, number);
	if (busy != NULL && tcp_in_reserve(tcp, busy, busy->in_len + piece->off + piece->len, false)) {
		uint32_t from = conn->rcv_nxt + piece->off, before = receive_count_ranges(busy);
		if (receive_add_range(busy, (range_t){ from, from + piece->len })) {
			memcpy(tcp_in_bytes(tcp, busy) + busy->in_len + piece->off, piece->bytes, piece->len);
		}
		if ((before ^ receive_count_ranges(busy)) >> PROGRESS_SHIFT != 0) {
			tcp_conn_progress_in(tcp, number);
		}
	}
	tcp_busy_put(tcp, number);
}

/* True: bytes are to be read; *ret_direct when they are not in the buffer. */
static bool receive_data(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, const piece_t *piece, bool *ret_direct)
{
	if (piece->off > 0) {
		receive_keep_out_of_order(tcp, number, conn, piece);
		return false;
	}
	busy_t *busy = busy_of(tcp, conn);
	conn->flags |= CONN_ACK;
	if (busy != NULL && busy->in != 0) {
		return receive_keep_in_order(tcp, number, conn, busy, piece);
	}
	receive_advance(tcp, number, conn, piece->len);
	*ret_direct = true;
	return true;
}

/* The peer has sent all (3.10.7.4, eighth). True: the application has to learn of it. */
static bool receive_fin(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn)
{
	receive_advance(tcp, number, conn, 1);
	conn->flags |= CONN_PEER_FIN | CONN_ACK;
	switch (conn->state) {
	case STATE_ESTABLISHED: conn->state = STATE_CLOSE_WAIT; return true;
	case STATE_FIN_WAIT_1: conn->state = STATE_CLOSING; break;
	case STATE_FIN_WAIT_2: tcp_conn_time_wait(tcp, number); break;
	default: break;
	}
	return false;
}

/* Note where the FIN is if data in front of it is missing. True: it is next. */
static bool receive_is_fin_next(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, const piece_t *piece)
{
	if (piece->fin && piece->off == 0) {
		return true;
	}
	busy_t *busy = busy_of(tcp, conn);
	if (piece->fin && !(conn->flags & CONN_FIN)) {
		busy = tcp_busy_get(tcp, number);
		if (busy != NULL) {
			busy->flags |= BUSY_FIN_AHEAD;
			busy->fin_seq = conn->rcv_nxt + piece->off + piece->len;
		}
		if (piece->len == 0) {
			receive_owe_ack(conn);
		}
	}
	if (busy != NULL && busy->flags & BUSY_FIN_AHEAD && busy->fin_seq == conn->rcv_nxt) {
		busy->flags &= (uint8_t)~BUSY_FIN_AHEAD;
		return true;
	}
	return false;
}

static bool receive_text(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment, kxdp_tcp_input_t *ret_input)
{
	conn_t *conn = conn_at(tcp, number);
	if (segment->len == 0 && !(segment->flags & KXDP_TCP_FIN)) {
		return false;
	}
	if (conn->flags & CONN_PEER_FIN) { /* nothing follows a FIN: this was received before */
		stat_inc(&tcp->stats.duplicates);
		conn->flags |= CONN_ACK;
		tcp_conn_ready(tcp, number);
		return false;
	}
	piece_t piece = receive_cut_piece(conn, segment);
	tcp_restart_window(tcp, conn);
	if (piece.len > 0 && conn->flags & CONN_FIN) { /* no reader is left (RFC 9293 3.6.1, SHLD-3) */
		tcp_conn_reset(tcp, number);
		return false;
	}
	bool is_direct = false, has_input = false;
	if (piece.len > 0) {
		has_input = receive_data(tcp, number, conn, &piece, &is_direct);
		if (!has_input && piece.off == 0) {
			return false; /* no memory: it comes again */
		}
	} else {
		conn->flags |= CONN_ACK;
	}
	tcp_conn_ready(tcp, number);
	piece_t tail = piece;
	tail.len = piece.off == 0 ? 0 : piece.len; /* what was in order has been taken */
	if (receive_is_fin_next(tcp, number, conn, &tail)) {
		has_input = receive_fin(tcp, number, conn) || has_input;
	}
	if (has_input) {
		const busy_t *busy = busy_of(tcp, conn);
		size_t kept = busy != NULL ? busy->in_len : 0;
		tcp_input_give(tcp, number, is_direct ? piece.bytes : NULL, is_direct ? piece.len : kept, ret_input);
	}
	return has_input;
}

/* ---- the checks in front ---- */

/* 3.10.7.4, first: is any of it in the window? */
static bool receive_is_acceptable(const conn_t *conn, const kxdp_segment_t *segment)
{
	uint32_t len = segment->len + (segment->flags & KXDP_TCP_FIN ? 1 : 0);
	uint32_t off = segment->seq - conn->rcv_nxt;
	if (conn->rcv_wnd == 0) { /* "special allowance": what is at the window is cut to nothing */
		return off == 0;
	}
	return off < conn->rcv_wnd || (len > 0 && off + len - 1 < conn->rcv_wnd);
}

static void receive_unacceptable(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment)
{
	if (segment->flags & KXDP_TCP_RST) {
		stat_inc(&tcp->stats.dropped_invalid);
		return;
	}
	if (segment->len == 0 &&
			!(segment->flags & KXDP_TCP_FIN)) { /* two ends that disagree must not go on for ever */
		stat_inc(&tcp->stats.dropped_invalid);
		tcp_challenge(tcp, number);
		return;
	}
	conn_t *conn = conn_at(tcp, number);
	stat_inc(&tcp->stats.duplicates);
	conn->flags |= CONN_ACK;
	tcp_conn_ready(tcp, number);
}

/* RFC 5961 3.2. */
static void receive_reset(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment)
{
	if (segment->seq == conn_at(tcp, number)->rcv_nxt) {
		stat_inc(&tcp->stats.resets_in);
		tcp_conn_free(tcp, number);
	} else {
		stat_inc(&tcp->stats.dropped_invalid);
		tcp_challenge(tcp, number);
	}
}

/* A SYN for a connection that has had one. */
static void receive_syn(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment, uint64_t hash)
{
	conn_t *conn = conn_at(tcp, number);
	if (conn->state != STATE_SYN_RCVD ||
			segment->flags & KXDP_TCP_ACK) { /* RFC 5961 4.2; SYN-ACKs are no answer here */
		tcp_challenge(tcp, number);
	} else if (segment->seq + 1 == conn->rcv_nxt) { /* the SYN-ACK was lost */
		stat_inc(&tcp->stats.duplicates);
		conn->flags |= CONN_SYN_ACK;
		conn->syn_ack_us = 0;
		tcp_conn_ready(tcp, number);
	} else if (receive_is_acceptable(conn, segment)) { /* 3.10.7.4, fourth: back to LISTEN */
		tcp_conn_free(tcp, number);
		receive_first_syn(tcp, segment, hash, NULL);
	} else {
		tcp_challenge(tcp, number);
	}
}

/* True: the segment goes on to text and FIN. */
static bool receive_checked(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment, uint64_t hash)
{
	conn_t *conn = conn_at(tcp, number);
	if (segment->flags & KXDP_TCP_SYN && !(segment->flags & KXDP_TCP_RST)) {
		receive_syn(tcp, number, segment, hash);
		return false;
	}
	if (!receive_is_acceptable(conn, segment)) {
		receive_unacceptable(tcp, number, segment);
		return false;
	}
	if (segment->flags & KXDP_TCP_RST) {
		receive_reset(tcp, number, segment);
		return false;
	}
	if (!(segment->flags & KXDP_TCP_ACK)) {
		stat_inc(&tcp->stats.dropped_invalid);
		return false;
	}
	if (conn->state == STATE_SYN_RCVD) {
		if (segment->ack != conn->snd_una + 1) {
			tcp_note_reset(tcp, segment);
			return false;
		}
		if (!receive_establish(tcp, number, segment)) {
			return false;
		}
	}
	uint32_t generation = conn->generation;
	if (!tcp_ack(tcp, number, segment) || conn->generation != generation) {
		return false;
	}
	tcp_conn_set_path(tcp, conn, segment);
	return true;
}

bool kxdp_tcp_receive(kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint64_t now_us, kxdp_tcp_input_t *ret_input)
{
	assert(tcp->current == 0); /* each input is followed by consume() */
	tcp->now_us = now_us > tcp->now_us ? now_us : tcp->now_us;
	stat_inc(&tcp->stats.segments_in);
	uint64_t hash = tcp_flow_hash(tcp, &segment->flow);
	tcp->segment_hash = hash;
	uint32_t number = tcp_find(tcp, &segment->flow, hash);
	tcp->segment_conn = number;
	if (number == 0) {
		number = receive_unknown(tcp, segment, hash);
		return number != 0 && receive_text(tcp, number, segment, ret_input);
	}
	if (conn_at(tcp, number)->state == STATE_TIME_WAIT) {
		receive_time_wait(tcp, number, segment, hash);
		return false;
	}
	if (!receive_checked(tcp, number, segment, hash) || conn_at(tcp, number)->state == STATE_TIME_WAIT) {
		return false;
	}
	return receive_text(tcp, number, segment, ret_input);
}
