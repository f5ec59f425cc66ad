/* SPDX-License-Identifier: BSD-2-Clause */
/* What the peer's acknowledgments and windows do: RFC 9293 3.10.7.4 (fifth), RFC 5681, RFC 6582. */
#include "xdp/tcp/stack.h"

#include <assert.h>

enum {
	DUPACKS = 3, /* RFC 5681 3.2 */
	CWND_MAX = 2 * OUT_MAX,
	RECOVER_OLD = 1 << 30, /* bytes */
};

uint32_t tcp_initial_window(const conn_t *conn)
{
	/* RFC 6298 5.7 and RFC 6928 2: a SYN-ACK that was sent more than once is a sign of congestion. */
	if (conn->flags & CONN_SYN_RESENT) {
		return conn->mss;
	}
	return min_u32(IW_SEGMENTS * conn->mss, max_u32(2 * conn->mss, IW_BYTES));
}

/* ---- congestion control ---- */

void tcp_restart_window(const kxdp_tcp_t *tcp, conn_t *conn)
{
	const busy_t *busy = busy_of(tcp, conn);
	if (busy != NULL && (busy->out_len > 0 || busy->snd_max != conn->snd_una)) {
		return;
	}
	uint32_t idle_ms = ms_of(tcp->now_us) - conn->stamp_ms;
	if (idle_ms > max_u32(conn->srtt_us + 4 * conn->rttvar_us, RTO_MIN_US) / 1000) {
		conn->cwnd = min_u32(conn->cwnd, tcp_initial_window(conn));
	}
}

/* RFC 6582 3.2: `acked` bytes of new data in recovery. */
static void ack_take_in_recovery(conn_t *conn, busy_t *busy, uint32_t acked)
{
	if (!seq_before(conn->snd_una, busy->recover)) { /* full acknowledgment */
		uint32_t flight = busy->snd_max - conn->snd_una;
		conn->cwnd = min_u32(tcp_ssthresh(conn), max_u32(flight, conn->mss) + conn->mss);
		busy->flags &= (uint8_t)~BUSY_RECOVERY;
		busy->dupacks = 0;
		return;
	}
	busy->flags = (uint8_t)((busy->flags | BUSY_RESEND_ONE) &
				~BUSY_TIMING); /* partial acknowledgment: the next hole */
	conn->cwnd -= min_u32(acked, conn->cwnd);
	conn->cwnd = max_u32(conn->cwnd + (acked >= conn->mss ? conn->mss : 0), conn->mss);
}

static void ack_open_window(conn_t *conn, busy_t *busy, uint32_t acked)
{
	if (busy->flags & BUSY_RECOVERY) {
		ack_take_in_recovery(conn, busy, acked);
		return;
	}
	busy->dupacks = 0;
	if (seq_before(busy->recover, conn->snd_una - RECOVER_OLD)) {
		busy->recover = conn->snd_una - 2; /* or it would seem to lie ahead after 2 GiB */
	}
	if (conn->cwnd < tcp_ssthresh(conn)) { /* RFC 5681 3.1: slow start */
		conn->cwnd += min_u32(acked, conn->mss);
	} else {
		/* Congestion avoidance; no more than was acknowledged (RFC 3465 2.1). */
		conn->cwnd += min_u32(acked, max_u32((uint32_t)conn->mss * conn->mss / conn->cwnd, 1));
	}
	conn->cwnd = min_u32(conn->cwnd, CWND_MAX);
}

/* RFC 5681 3.2, RFC 6582 3.2; the first two let new data go (RFC 3042), see send.c. */
static void ack_count_duplicate(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy)
{
	busy->dupacks += busy->dupacks < UINT8_MAX;
	if (busy->flags & BUSY_RECOVERY) {
		conn->cwnd = min_u32(conn->cwnd + conn->mss, CWND_MAX);
	} else if (busy->dupacks == DUPACKS && seq_before(busy->recover, conn->snd_una - 1)) {
		tcp_set_ssthresh(conn, (busy->snd_max - conn->snd_una) / 2);
		busy->recover = busy->snd_max;
		conn->cwnd = min_u32(tcp_ssthresh(conn) + DUPACKS * conn->mss, CWND_MAX);
		busy->flags = (uint8_t)((busy->flags | BUSY_RECOVERY | BUSY_RESEND_ONE) & ~BUSY_TIMING);
		tcp_timer_start(tcp, conn, busy, TIMER_RESEND);
		stat_inc(&tcp->stats.fast_resent);
	}
	tcp_conn_ready(tcp, busy->conn);
}

/* ---- new data acknowledged ---- */

static void ack_take_fin(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn)
{
	switch (conn->state) {
	case STATE_FIN_WAIT_1: conn->state = STATE_FIN_WAIT_2; break;
	case STATE_CLOSING: tcp_conn_time_wait(tcp, number); break;
	case STATE_LAST_ACK: tcp_conn_free(tcp, number); break;
	default: break;
	}
}

static void ack_take_new(kxdp_tcp_t *tcp, uint32_t number, conn_t *conn, busy_t *busy, uint32_t ack)
{
	uint32_t before = conn->snd_una, acked = ack - before;
	bool is_fin = conn->flags & CONN_FIN && acked == busy->out_len + 1;
	conn->snd_una = ack;
	tcp_out_drop(tcp, conn, busy, acked - is_fin);
	busy->snd_nxt = seq_before(busy->snd_nxt, ack) ? ack : busy->snd_nxt;
	if (busy->flags & BUSY_TIMING && seq_until(busy->rtt_seq, ack)) {
		tcp_rtt_sample(conn, (uint32_t)tcp->now_us - busy->rtt_start_us);
		busy->flags &= (uint8_t)~BUSY_TIMING;
	}
	busy->timeouts = 0;
	ack_open_window(conn, busy, acked);
	if (busy->snd_max == ack) {
		tcp_timer_stop(busy); /* RFC 6298 5.2 */
	} else {
		tcp_timer_start(tcp, conn, busy, TIMER_RESEND); /* 5.3 */
	}
	if (busy->out_len == 0 || (before ^ ack) >> PROGRESS_SHIFT != 0) {
		tcp_conn_progress(tcp, number);
	}
	if (busy->wait != WAIT_NONE) {
		tcp_input_room(tcp, busy, conn->busy);
	}
	if (is_fin) {
		ack_take_fin(tcp, number, conn);
	}
}

/*
 * SND.WL1 and SND.WL2 keep out windows of old segments (RFC 9293 3.10.7.4, fifth); one that acknowledges something new
 * is none, whatever its number. SND.WL2 isn't kept: it is the acknowledgment of an earlier segment, so never after
 * snd_una, and segments that acknowledge less than snd_una don't come here.
 */
static void ack_update_window(conn_t *conn, const kxdp_segment_t *segment)
{
	assert(!seq_before(segment->ack, conn->snd_una));
	if (segment->ack == conn->snd_una && seq_before(segment->seq, conn->snd_wl1)) {
		return;
	}
	conn->snd_wnd = (uint32_t)segment->window << conn->snd_scale;
	conn->snd_wl1 = segment->seq;
	while (conn->snd_wnd >> conn->snd_wnd_max_bits != 0) {
		conn->snd_wnd_max_bits++;
	}
}

bool tcp_ack(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment)
{
	conn_t *conn = conn_at(tcp, number);
	busy_t *busy = busy_of(tcp, conn);
	/* RFC 5961 5.2. */
	if (seq_before(snd_max_of(tcp, conn), segment->ack) ||
			seq_before(segment->ack, conn->snd_una - (1u << conn->snd_wnd_max_bits))) {
		stat_inc(&tcp->stats.dropped_invalid);
		tcp_challenge(tcp, number);
		return false;
	}
	if (seq_before(segment->ack, conn->snd_una)) {
		return true;
	}
	uint32_t window = conn->snd_wnd;
	ack_update_window(conn, segment);
	if (busy == NULL) {
		return true;
	}
	busy->probes = 0;
	if (window == 0 && conn->snd_wnd > 0) {
		busy->timeouts = 0; /* open again */
	}
	bool is_bare = segment->len == 0 && !(segment->flags & KXDP_TCP_FIN);
	if (segment->ack != conn->snd_una) {
		uint32_t generation = conn->generation;
		ack_take_new(tcp, number, conn, busy, segment->ack);
		if (conn->generation != generation || conn->busy == 0) {
			return conn->generation == generation;
		}
	} else if (is_bare && busy->snd_max != conn->snd_una && busy->timer == TIMER_RESEND &&
			window == conn->snd_wnd) {
		ack_count_duplicate(tcp, conn, busy);
	}
	if (busy->out_len > 0 || (conn->flags & CONN_FIN && conn->state != STATE_FIN_WAIT_2)) {
		tcp_conn_ready(tcp, number);
	}
	tcp_busy_put(tcp, number);
	return true;
}
