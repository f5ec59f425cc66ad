/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of two kinds. Timeouts that are the same for all (idle, TIME-WAIT, SYN-ACK by how often it was sent) are lists
 * in the order of time. Retransmission and window probes, of busy connections only, are in a wheel of 1024 slots of 16
 * ms. A timer that is postponed stays in its slot. When the wheel reaches that slot, the timer moves to the right one:
 * an ACK costs no list operation.
 */
#include "xdp/tcp/stack.h"

#define WHEEL_LINK offsetof(busy_t, wheel_link)

/* ---- RFC 6298 ---- */

void tcp_rtt_sample(conn_t *conn, uint32_t rtt_us)
{
	rtt_us = min_u32(max_u32(rtt_us, 1), RTO_MAX_US);
	if (conn->srtt_us == 0) { /* 2.2 */
		conn->srtt_us = rtt_us;
		conn->rttvar_us = rtt_us / 2;
		return;
	}
	uint32_t apart = conn->srtt_us > rtt_us ? conn->srtt_us - rtt_us : rtt_us - conn->srtt_us;
	conn->rttvar_us = conn->rttvar_us - conn->rttvar_us / 4 + apart / 4; /* 2.3 */
	conn->srtt_us = max_u32(conn->srtt_us - conn->srtt_us / 8 + rtt_us / 8, 1);
}

static uint64_t timer_rto_us(const kxdp_tcp_t *tcp, const conn_t *conn, const busy_t *busy)
{
	uint64_t rto = conn->flags & CONN_SYN_RESENT ? RTO_AFTER_SYN_RESENT_US : RTO_FIRST_US;
	if (conn->srtt_us != 0) {
		rto = conn->srtt_us + max_u32(4 * conn->rttvar_us, RTT_GRANULARITY_US); /* 2.2, 2.3 */
		rto = rto > RTO_MIN_US ? rto : RTO_MIN_US;
	}
	rto = rto < tcp->limits.resend_us ? rto : tcp->limits.resend_us;
	rto <<= busy->timeouts < 16 ? busy->timeouts : 16; /* 5.5 */
	uint64_t most = busy->timer == TIMER_PERSIST ? PROBE_MAX_US : RTO_MAX_US;
	return rto < most ? rto : most;
}

uint32_t tcp_ssthresh(const conn_t *conn)
{
	return conn->ssthresh == SSTHRESH_NONE ? UINT32_MAX : (uint32_t)conn->ssthresh * conn->mss;
}

/* In whole segments: RFC 5681 has no less than two. */
void tcp_set_ssthresh(conn_t *conn, uint32_t bytes)
{
	uint32_t segments = max_u32(bytes / conn->mss, 2);
	conn->ssthresh = (uint16_t)min_u32(segments, SSTHRESH_NONE - 1);
}

/* ---- the wheel ---- */

static void timer_wheel_put(kxdp_tcp_t *tcp, busy_t *busy, uint32_t number)
{
	uint64_t time = (busy->deadline_us + (1u << WHEEL_SHIFT) - 1) >> WHEEL_SHIFT;
	time = time > tcp->wheel_time ? time : tcp->wheel_time + 1;
	/* What is further away than once around is looked at on the way. */
	time = time < tcp->wheel_time + WHEEL_SLOTS ? time : tcp->wheel_time + WHEEL_SLOTS - 1;
	busy->wheel_slot = (uint32_t)(time % WHEEL_SLOTS);
	busy_list_append(tcp, WHEEL_LINK, &tcp->wheel[busy->wheel_slot], number);
	tcp->wheel_bits[busy->wheel_slot / 64] |= 1ull << busy->wheel_slot % 64;
}

void tcp_timer_remove(kxdp_tcp_t *tcp, busy_t *busy, uint32_t number)
{
	if (busy->wheel_slot == WHEEL_SLOTS) {
		return;
	}
	list_t *list = &tcp->wheel[busy->wheel_slot];
	busy_list_remove(tcp, WHEEL_LINK, list, number);
	if (list->head == 0) {
		tcp->wheel_bits[busy->wheel_slot / 64] &= ~(1ull << busy->wheel_slot % 64);
	}
	busy->wheel_slot = WHEEL_SLOTS;
}

/* The time that a slot stands for, from the slots done on. */
static uint64_t timer_slot_time(const kxdp_tcp_t *tcp, uint32_t slot)
{
	return tcp->wheel_time + 1 +
	       (slot + WHEEL_SLOTS - (uint32_t)((tcp->wheel_time + 1) % WHEEL_SLOTS)) % WHEEL_SLOTS;
}

void tcp_timer_start(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy, timer_kind_t kind)
{
	busy->timer = (uint8_t)kind;
	busy->deadline_us = tcp->now_us + timer_rto_us(tcp, conn, busy);
	if (busy->wheel_slot != WHEEL_SLOTS) {
		if (timer_slot_time(tcp, busy->wheel_slot) << WHEEL_SHIFT <= busy->deadline_us + (1u << WHEEL_SHIFT)) {
			return;
		}
		tcp_timer_remove(tcp, busy, conn->busy);
	}
	timer_wheel_put(tcp, busy, conn->busy);
}

void tcp_timer_stop(busy_t *busy)
{
	busy->timer = TIMER_NONE;
}

/*
 * Two timeouts of a full segment: perhaps it is too long for a path that doesn't say so (RFC 8899 1.1, RFC 2923 2.1).
 */
static void timer_suspect_black_hole(conn_t *conn, const busy_t *busy)
{
	static const uint16_t less[] = { 1220, 536 };
	for (size_t i = 0; i < KNOT_LEN(less) && busy->timeouts % 2 == 0 && busy->out_len >= conn->mss; i++) {
		if (conn->mss > less[i] && (conn->flags & CONN_IPV4 || less[i] >= MSS_DEFAULT_IPV6)) {
			conn->mss = less[i];
			return;
		}
	}
}

/* RFC 6298 5.4 to 5.6, RFC 5681 3.1, RFC 6582 4. */
static void timer_expire_resend(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy)
{
	stat_inc(&tcp->stats.timeouts);
	if (++busy->timeouts > RESENDS_MAX) {
		stat_inc(&tcp->stats.gave_up);
		tcp_conn_reset(tcp, busy->conn);
		return;
	}
	if (busy->timeouts == 1) {
		tcp_set_ssthresh(conn, (busy->snd_max - conn->snd_una) / 2);
	}
	timer_suspect_black_hole(conn, busy);
	conn->cwnd = conn->mss;
	busy->recover = busy->snd_max;
	busy->snd_nxt = conn->snd_una;
	busy->dupacks = 0;
	busy->flags &= (uint8_t) ~(BUSY_RECOVERY | BUSY_RESEND_ONE | BUSY_TIMING);
	tcp_timer_stop(busy); /* started when it is sent */
	tcp_conn_ready(tcp, busy->conn);
}

static void timer_fire(kxdp_tcp_t *tcp, busy_t *busy)
{
	conn_t *conn = conn_at(tcp, busy->conn);
	if (busy->timer == TIMER_RESEND) {
		timer_expire_resend(tcp, conn, busy);
	} else if (busy->timer == TIMER_PERSIST) { /* RFC 9293 3.8.6.1 */
		busy->timeouts += busy->timeouts < UINT8_MAX;
		busy->probes += busy->probes < PROBES_LOST;
		busy->flags |= BUSY_PROBE;
		tcp_timer_stop(busy);
		tcp_conn_ready(tcp, busy->conn);
	}
}

static void timer_wheel_turn(kxdp_tcp_t *tcp)
{
	uint64_t until = tcp->now_us >> WHEEL_SHIFT;
	if (until > tcp->wheel_time + WHEEL_SLOTS) {
		tcp->wheel_time = until - WHEEL_SLOTS; /* once around is all there is */
	}
	while (tcp->wheel_time < until) {
		uint32_t slot = (uint32_t)(++tcp->wheel_time % WHEEL_SLOTS);
		for (uint32_t number; (number = tcp->wheel[slot].head) != 0;) {
			busy_t *busy = busy_at(tcp, number);
			tcp_timer_remove(tcp, busy, number);
			if (busy->timer == TIMER_NONE) {
				continue;
			}
			if (busy->deadline_us > tcp->now_us) {
				timer_wheel_put(tcp, busy, number); /* into a later slot */
			} else {
				timer_fire(tcp, busy);
			}
		}
	}
}

static uint64_t timer_wheel_next(const kxdp_tcp_t *tcp)
{
	uint64_t from = tcp->wheel_time + 1;
	for (uint32_t i = 0; i <= WHEEL_SLOTS / 64; i++) {
		uint32_t start = (uint32_t)(from % WHEEL_SLOTS), word = (start / 64 + i) % (WHEEL_SLOTS / 64);
		uint64_t bits = tcp->wheel_bits[word];
		bits &= i == 0 ? ~0ull << start % 64 : i == WHEEL_SLOTS / 64 ? ~(~0ull << start % 64) : ~0ull;
		if (bits != 0) {
			uint32_t slot = word * 64 + (uint32_t)__builtin_ctzll(bits);
			return timer_slot_time(tcp, slot) << WHEEL_SHIFT;
		}
	}
	return UINT64_MAX;
}

/* ---- lists ---- */

static uint32_t timer_list_timeout(const kxdp_tcp_t *tcp, unsigned list)
{
	uint64_t us;
	if (list >= LIST_HALF) {
		us = (RTO_FIRST_US < tcp->limits.resend_us ? RTO_FIRST_US : tcp->limits.resend_us)
		     << (list - LIST_HALF);
	} else if (list == LIST_TIME_WAIT) {
		return TIME_WAIT_MS;
	} else {
		us = list == LIST_IDLE && tcp->limits.idle_close_us < tcp->limits.idle_reset_us
				     ? tcp->limits.idle_close_us
				     : tcp->limits.idle_reset_us;
	}
	uint64_t ms = (us + 999) / 1000;
	return ms < INT32_MAX / 2 ? (uint32_t)ms : INT32_MAX / 2;
}

void tcp_timers_configure(kxdp_tcp_t *tcp)
{
	enum { IDLE_MOST_MS = 60 * SECOND_MS, STEPS = 256 };
	tcp->progress_step_ms = min_u32(ms_of(tcp->limits.idle_close_us), IDLE_MOST_MS) / STEPS;
	for (unsigned list = 0; list < LIST_COUNT; list++) {
		tcp->list_timeout_ms[list] = timer_list_timeout(tcp, list);
	}
}

static bool timer_has_output(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	return conn->busy != 0 && busy_at(tcp, conn->busy)->out_len > 0;
}

/*
 * Output is under way: it was sent again or will be, as packets may be lost many times in a row; or the peer's window
 * is closed, and the peer answers probes, so it may only be slow: a reader with a buffer of 6 MB opens its window when
 * it has read a 16th of it. What the window did meanwhile gives no more time.
 */
static bool timer_is_under_way(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	const busy_t *busy = busy_of(tcp, conn);
	return busy != NULL && (busy->snd_max != conn->snd_una || busy->out_len > 0) && busy->probes < PROBES_LOST &&
	       ms_of(tcp->now_us) - busy->out_stamp_ms < REST_MAX_MS;
}

/*
 * A half-open connection has waited for its ACK long enough: the SYN-ACK is sent again, or the connection forgotten. A
 * SYN-ACK beyond the rate counts as sent and lost: a client whose SYN-ACK or ACK was lost sends its SYN or data again
 * anyway, and is answered then.
 */
static void timer_resend_syn_ack(kxdp_tcp_t *tcp, unsigned list, uint32_t number)
{
	assert(list >= LIST_HALF);
	conn_t *conn = conn_at(tcp, number);
	bool are_many = tcp->stats.half_open > tcp->limits.half_open_max / 2;
	if (list >= LIST_HALF + (are_many ? SYN_ACK_RESENDS_FEW : SYN_ACK_RESENDS_MAX)) {
		stat_inc(&tcp->stats.gave_up);
		tcp_conn_free(tcp, number);
		return;
	}
	tcp_conn_enlist(tcp, number, list + 1);
	if (tcp_bucket_take(&tcp->syn_ack_resends, tcp->now_us, SYN_ACK_RESENDS_PER_S)) {
		stat_inc(&tcp->stats.timeouts);
		conn->flags |= CONN_SYN_ACK | CONN_SYN_RESENT;
		tcp_conn_ready(tcp, number);
	}
}

/* The first one of a list has been there too long. */
static void timer_expire_first(kxdp_tcp_t *tcp, unsigned list, uint32_t number)
{
	conn_t *conn = conn_at(tcp, number);
	if (list >= LIST_HALF) {
		timer_resend_syn_ack(tcp, list, number);
	} else if (list == LIST_TIME_WAIT) {
		tcp_conn_free(tcp, number);
	} else if (list == LIST_IDLE && conn->flags & CONN_HOLDS && !timer_has_output(tcp, conn)) {
		tcp_conn_enlist(tcp, number, LIST_IDLE); /* the peer waits, not we */
	} else if (list == LIST_IDLE && tcp->limits.idle_close_us < tcp->limits.idle_reset_us &&
			timer_has_output(tcp, conn)) {
		tcp_conn_move(tcp, number, LIST_IDLE_CLOSED); /* not idle: it waits for its peer, but not for ever */
	} else if (list == LIST_IDLE && tcp->limits.idle_close_us < tcp->limits.idle_reset_us) {
		uint32_t stamp_ms = conn->stamp_ms; /* idle_reset counts from the same time */
		stat_inc(&tcp->stats.idle_closed);
		kxdp_tcp_close(tcp, (kxdp_tcp_conn_t)conn->generation << 32 | number);
		if (conn->list == LIST_CLOSING) {
			tcp_conn_move(tcp, number, LIST_IDLE_CLOSED);
			conn->stamp_ms = stamp_ms;
		}
	} else if (timer_is_under_way(tcp, conn)) {
		tcp_conn_enlist(tcp, number, LIST_CLOSING);
	} else {
		stat_inc(&tcp->stats.idle_reset);
		tcp_conn_reset(tcp, number);
	}
}

void kxdp_tcp_tick(kxdp_tcp_t *tcp, uint64_t now_us)
{
	enum { BATCH = 4096 }; /* the rest next time */
	tcp->now_us = now_us > tcp->now_us ? now_us : tcp->now_us;
	timer_wheel_turn(tcp);
	uint32_t now_ms = ms_of(tcp->now_us), left = BATCH;
	for (unsigned list = 0; list < LIST_COUNT; list++) {
		uint32_t timeout_ms = tcp->list_timeout_ms[list];
		for (uint32_t number; left > 0 && (number = tcp->lists[list].head) != 0; left--) {
			if ((int32_t)(now_ms - conn_at(tcp, number)->stamp_ms) < (int32_t)timeout_ms) {
				break;
			}
			timer_expire_first(tcp, list, number);
		}
	}
	for (; left > 0 && tcp->conn_count > tcp->limits.clients_max && tcp_make_room(tcp, true); left--) {}
	tcp_trim(tcp);
}

uint64_t kxdp_tcp_next_time(const kxdp_tcp_t *tcp)
{
	uint64_t next = timer_wheel_next(tcp), trim = tcp_trim_time(tcp);
	next = trim < next ? trim : next;
	uint64_t now_ms = tcp->now_us / 1000;
	for (unsigned list = 0; list < LIST_COUNT; list++) {
		if (tcp->lists[list].head == 0) {
			continue;
		}
		uint32_t due_ms = conn_at(tcp, tcp->lists[list].head)->stamp_ms + tcp->list_timeout_ms[list];
		int32_t left_ms = (int32_t)(due_ms - (uint32_t)now_ms);
		uint64_t due_us = left_ms > 0 ? (now_ms + (uint64_t)left_ms) * 1000 : tcp->now_us;
		next = due_us < next ? due_us : next;
	}
	return tcp->conn_count > tcp->limits.clients_max ? tcp->now_us : next;
}
