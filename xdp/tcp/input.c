/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's side: input offered, consumed, kept and offered again; output taken. */
#include "xdp/tcp/stack.h"

#include <assert.h>

#define WAIT_LINK offsetof(busy_t, wait_link)

static kxdp_tcp_conn_t input_id_of(const conn_t *conn, uint32_t number)
{
	return (kxdp_tcp_conn_t)conn->generation << 32 | number;
}

/* ---- input that waits for room in the output ---- */

/* The list of those that wait for the same. NULL: there is none. */
static list_t *input_wait_list(kxdp_tcp_t *tcp, const busy_t *busy, wait_t wait)
{
	switch (wait) {
	case WAIT_NONE:
	case WAIT_OWN: return NULL;
	case WAIT_SOURCE: return &share_of(tcp, conn_at(tcp, busy->conn))->waiting;
	case WAIT_RUNNABLE: return &tcp->runnable;
	}
	return NULL;
}

static void input_set_wait(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number, wait_t wait)
{
	/* What waits is kept input, which its source's share counts. */
	assert(wait == WAIT_NONE || busy->in != 0);
	if (busy->wait == wait) {
		return;
	}
	list_t *from = input_wait_list(tcp, busy, (wait_t)busy->wait), *to = input_wait_list(tcp, busy, wait);
	tcp->source_waiters += (wait == WAIT_SOURCE) - (busy->wait == WAIT_SOURCE);
	if (from != NULL) {
		busy_list_remove(tcp, WAIT_LINK, from, busy_number);
	}
	if (to != NULL) {
		busy_list_append(tcp, WAIT_LINK, to, busy_number);
	}
	busy->wait = (uint8_t)wait;
}

void tcp_input_unwait(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number)
{
	input_set_wait(tcp, busy, busy_number, WAIT_NONE);
}

/*
 * Bytes that may be written. A connection whose peer has taken everything may always have a reply, however little is
 * free: others make room for it (buffer.c). One that pipelines keeps within the share of its source, and when
 * everything is taken the greediest source gets no more.
 */
static uint64_t input_output_room(kxdp_tcp_t *tcp, const conn_t *conn, const busy_t *busy)
{
	uint64_t max = tcp->limits.outbuf_max, own = OUT_MAX;
	if (busy == NULL || busy->out_len == 0) {
		return own < max ? own : max;
	}
	assert(busy->out_len <= OUT_MAX);
	own -= busy->out_len;
	uint64_t share = tcp->limits.out_source_max;
	if (share != 0) {
		uint64_t held = tcp_share_held(tcp, conn, SIDE_OUT), left = share > held ? share - held : 0;
		own = own < left ? own : left;
	}
	uint64_t left = max > tcp->stats.outbuf ? max - tcp->stats.outbuf : 0;
	return own <= left || !tcp_share_is_greediest(tcp, conn, SIDE_OUT) ? own : left;
}

/* Why the reader has to wait, if it does. */
static wait_t input_wait_of(kxdp_tcp_t *tcp, const conn_t *conn, const busy_t *busy)
{
	if (busy->out_len + MESSAGE_MAX > OUT_MAX) {
		return WAIT_OWN;
	}
	bool has_room = busy->out_len == 0 || input_output_room(tcp, conn, busy) >= MESSAGE_MAX;
	return has_room ? WAIT_NONE : WAIT_SOURCE;
}

void tcp_input_room(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number)
{
	if (busy->wait != WAIT_OWN && busy->wait != WAIT_SOURCE) {
		return;
	}
	wait_t wait = input_wait_of(tcp, conn_at(tcp, busy->conn), busy);
	if (wait != busy->wait) {
		input_set_wait(tcp, busy, busy_number, wait == WAIT_NONE ? WAIT_RUNNABLE : wait);
	}
}

void tcp_input_wake(kxdp_tcp_t *tcp, share_t *share)
{
	if (share->waiting.head != 0) {
		tcp_input_room(tcp, busy_at(tcp, share->waiting.head), share->waiting.head);
	}
}

/* ---- input ---- */

void tcp_input_give(kxdp_tcp_t *tcp, uint32_t number, const uint8_t *data, size_t len, kxdp_tcp_input_t *ret_input)
{
	const conn_t *conn = conn_at(tcp, number);
	tcp->current = number;
	tcp->current_data = data;
	tcp->current_len = len;
	*ret_input = (kxdp_tcp_input_t){
		.conn = input_id_of(conn, number),
		.data = data != NULL ? data
			: len > 0    ? tcp_in_bytes(tcp, busy_of(tcp, conn))
				     : NULL,
		.len = len,
		.fin = conn->flags & CONN_PEER_FIN,
		.flow = tcp_conn_flow(tcp, conn),
	};
}

bool kxdp_tcp_next(kxdp_tcp_t *tcp, kxdp_tcp_input_t *ret_input)
{
	if (tcp->current != 0) { /* what wasn't consumed is kept */
		kxdp_tcp_consume(tcp, input_id_of(conn_at(tcp, tcp->current), tcp->current), 0);
	}
	uint32_t busy_number = tcp->runnable.head;
	if (busy_number == 0) {
		return false;
	}
	busy_t *busy = busy_at(tcp, busy_number);
	input_set_wait(tcp, busy, busy_number, WAIT_NONE);
	tcp_input_give(tcp, busy->conn, NULL, busy->in_len, ret_input);
	return true;
}

/* Keep the end of bytes that were not copied yet. False: the connection is gone for want of memory. */
static bool input_keep_rest(kxdp_tcp_t *tcp, uint32_t number, const uint8_t *rest, uint32_t len)
{
	busy_t *busy = tcp_busy_get(tcp, number);
	if (busy == NULL || !tcp_in_reserve(tcp, busy, len, true)) {
		stat_inc(&tcp->stats.dropped_inbuf);
		tcp_conn_reset(tcp, number);
		return false;
	}
	memcpy(tcp_in_bytes(tcp, busy), rest, len);
	busy->in_len = len;
	return true;
}

void kxdp_tcp_consume(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id, size_t len)
{
	uint32_t number = (uint32_t)id;
	conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn == NULL || tcp->current != number) {
		return; /* gone, or closed meanwhile */
	}
	assert(len <= tcp->current_len);
	uint32_t rest = (uint32_t)(tcp->current_len - len);
	tcp->current = 0;
	if (tcp->current_data != NULL) {
		if (rest > 0 && !input_keep_rest(tcp, number, tcp->current_data + len, rest)) {
			return;
		}
	} else if (conn->busy != 0 && len > 0) {
		tcp_in_drop(tcp, busy_at(tcp, conn->busy), (uint32_t)len);
	}
	busy_t *busy = busy_of(tcp, conn);
	if (busy != NULL) {
		input_set_wait(tcp, busy, conn->busy, rest > 0 ? input_wait_of(tcp, conn, busy) : WAIT_NONE);
	}
	/* What this one has left may be enough for the next one that waits. */
	share_t *share = tcp->source_waiters > 0 ? share_of(tcp, conn) : NULL;
	if (share != NULL) {
		tcp_input_wake(tcp, share);
	}
	/* A window that was nearly closed is open again. */
	if (conn->rcv_wnd < WINDOW_MAX / 2 && !(conn->flags & CONN_PEER_FIN) && tcp_window(tcp, conn) > conn->rcv_wnd) {
		conn->flags |= CONN_ACK;
		tcp_conn_ready(tcp, number);
	}
	tcp_busy_put(tcp, number);
}

void kxdp_tcp_resume(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	const conn_t *conn = tcp_conn_of_id(tcp, id);
	busy_t *busy = conn != NULL ? busy_of(tcp, conn) : NULL;
	assert(tcp->current != (uint32_t)id);
	if (busy != NULL && busy->in_len > 0 && busy->wait == WAIT_NONE) {
		input_set_wait(tcp, busy, conn->busy, WAIT_RUNNABLE);
	}
}

/* ---- output ---- */

void kxdp_tcp_hold(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn != NULL) {
		assert((conn->flags & CONN_HOLDS) != CONN_HOLDS);
		conn->flags = (uint16_t)(conn->flags + CONN_HOLD_ONE);
	}
}

void kxdp_tcp_release(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn != NULL) {
		assert((conn->flags & CONN_HOLDS) != 0);
		conn->flags = (uint16_t)(conn->flags - CONN_HOLD_ONE);
	}
}

size_t kxdp_tcp_room(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	const conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn == NULL || conn->flags & CONN_FIN) {
		return 0;
	}
	return input_output_room(tcp, conn, busy_of(tcp, conn));
}

bool kxdp_tcp_is_open(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	const conn_t *conn = tcp_conn_of_id(tcp, id);
	return conn != NULL && (conn->flags & CONN_FIN) == 0;
}

bool kxdp_tcp_write(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id, const uint8_t *bytes, size_t len)
{
	conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn == NULL || conn->flags & CONN_FIN || len > input_output_room(tcp, conn, busy_of(tcp, conn))) {
		return false;
	}
	if (len == 0) {
		return true;
	}
	tcp_restart_window(tcp, conn);
	busy_t *busy = tcp_busy_get(tcp, (uint32_t)id);
	if (busy == NULL || !tcp_out_append(tcp, conn, busy, bytes, (uint32_t)len)) {
		tcp_busy_put(tcp, (uint32_t)id);
		return false;
	}
	conn->silent_steps = 0;
	tcp_conn_progress(tcp, (uint32_t)id);
	tcp_conn_ready(tcp, (uint32_t)id);
	return true;
}

void kxdp_tcp_close(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	uint32_t number = (uint32_t)id;
	conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn == NULL || conn->flags & CONN_FIN) {
		return;
	}
	tcp->current = tcp->current == number ? 0 : tcp->current;
	busy_t *busy = tcp_busy_get(tcp, number);
	if (busy == NULL) {
		tcp_conn_reset(tcp, number);
		return;
	}
	tcp_input_unwait(tcp, busy, conn->busy);
	tcp_in_free(tcp, busy);
	busy->flags &= (uint8_t)~BUSY_FIN_AHEAD;
	conn->flags |= CONN_FIN;
	busy->out_stamp_ms = busy->out_len > 0 ? busy->out_stamp_ms : ms_of(tcp->now_us);
	conn->state = conn->state == STATE_CLOSE_WAIT ? STATE_LAST_ACK : STATE_FIN_WAIT_1;
	tcp_conn_enlist(tcp, number, LIST_CLOSING);
	tcp_conn_ready(tcp, number);
}

void kxdp_tcp_abort(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	if (tcp_conn_of_id(tcp, id) != NULL) {
		tcp_conn_reset(tcp, (uint32_t)id);
	}
}

void kxdp_tcp_abort_all(kxdp_tcp_t *tcp)
{
	for (unsigned list = 0; list < LIST_COUNT; list++) {
		for (uint32_t number; (number = tcp->lists[list].head) != 0;) {
			if (list == LIST_TIME_WAIT) {
				tcp_conn_free(tcp, number);
			} else {
				tcp_conn_reset(tcp, number);
			}
		}
	}
}
