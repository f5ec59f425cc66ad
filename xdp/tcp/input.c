/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's side: input offered, consumed, kept and offered again; output taken. */
#include "xdp/tcp/stack.h"

#include <assert.h>

#define WAIT_LINK offsetof(busy_t, wait_link)

static kxdp_tcp_conn_t id_of(const conn_t *conn, uint32_t number)
{
	return (kxdp_tcp_conn_t)conn->generation << 32 | number;
}

/* ---- input that waits for room in the output ---- */

static list_t *wait_list(kxdp_tcp_t *tcp, wait_t wait)
{
	return wait == WAIT_SHARED ? &tcp->shared : wait == WAIT_RUNNABLE ? &tcp->runnable : NULL;
}

static void set_wait(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number, wait_t wait)
{
	list_t *from = wait_list(tcp, busy->wait), *to = wait_list(tcp, wait);
	if (from != NULL) {
		list_remove(&tcp->busies, WAIT_LINK, from, busy_number);
	}
	if (to != NULL) {
		list_append(&tcp->busies, WAIT_LINK, to, busy_number);
	}
	busy->wait = (uint8_t)wait;
}

void tcp_input_unwait(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number)
{
	set_wait(tcp, busy, busy_number, WAIT_NONE);
}

static bool has_own_room(const busy_t *busy)
{
	return busy->out_len + MESSAGE_MAX <= OUT_MAX;
}

static bool has_shared_room(const kxdp_tcp_t *tcp)
{
	return tcp->stats.outbuf + MESSAGE_MAX <= tcp->limits.outbuf_max || tcp->stats.outbuf == 0;
}

void tcp_input_room(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number)
{
	if (busy->wait == WAIT_OWN && has_own_room(busy)) {
		set_wait(tcp, busy, busy_number, has_shared_room(tcp) ? WAIT_RUNNABLE : WAIT_SHARED);
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
		.conn = id_of(conn, number),
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
		kxdp_tcp_consume(tcp, id_of(conn_at(tcp, tcp->current), tcp->current), 0);
	}
	uint32_t busy_number = tcp->runnable.head;
	if (busy_number == 0 && tcp->shared.head != 0 && has_shared_room(tcp)) {
		busy_number = tcp->shared.head;
	}
	if (busy_number == 0) {
		return false;
	}
	busy_t *busy = busy_at(tcp, busy_number);
	set_wait(tcp, busy, busy_number, WAIT_NONE);
	tcp_input_give(tcp, busy->conn, NULL, busy->in_len, ret_input);
	return true;
}

/* Keep the end of bytes that were not copied yet. False: the connection is gone for want of memory. */
static bool keep_rest(kxdp_tcp_t *tcp, uint32_t number, const uint8_t *rest, uint32_t len)
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
		if (rest > 0 && !keep_rest(tcp, number, tcp->current_data + len, rest)) {
			return;
		}
	} else if (conn->busy != 0 && len > 0) {
		tcp_in_drop(tcp, busy_at(tcp, conn->busy), (uint32_t)len);
	}
	if (len > 0) {
		tcp_conn_progress(tcp, number);
	}
	busy_t *busy = busy_of(tcp, conn);
	if (rest > 0 && !has_own_room(busy)) {
		set_wait(tcp, busy, conn->busy, WAIT_OWN);
	} else if (rest > 0 && !has_shared_room(tcp)) {
		set_wait(tcp, busy, conn->busy, WAIT_SHARED);
	} else if (busy != NULL) {
		set_wait(tcp, busy, conn->busy, WAIT_NONE);
	}
	/* A window that was nearly closed is open again. */
	if (conn->rcv_wnd < WINDOW_MAX / 2 && !(conn->flags & CONN_PEER_FIN) && tcp_window(tcp, conn) > conn->rcv_wnd) {
		conn->flags |= CONN_ACK;
		tcp_conn_ready(tcp, number);
	}
	tcp_busy_put(tcp, number);
}

/* ---- output ---- */

size_t kxdp_tcp_room(const kxdp_tcp_t *tcp, kxdp_tcp_conn_t id)
{
	const conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn == NULL || conn->flags & CONN_FIN) {
		return 0;
	}
	const busy_t *busy = busy_of(tcp, conn);
	uint64_t own = OUT_MAX - (busy != NULL ? busy->out_len : 0);
	uint64_t shared = tcp->limits.outbuf_max > tcp->stats.outbuf ? tcp->limits.outbuf_max - tcp->stats.outbuf : 0;
	return own < shared ? own : shared;
}

bool kxdp_tcp_write(kxdp_tcp_t *tcp, kxdp_tcp_conn_t id, const uint8_t *bytes, size_t len)
{
	conn_t *conn = tcp_conn_of_id(tcp, id);
	if (conn == NULL || len > kxdp_tcp_room(tcp, id)) {
		return false;
	}
	if (len == 0) {
		return !(conn->flags & CONN_FIN);
	}
	tcp_restart_window(tcp, conn);
	busy_t *busy = tcp_busy_get(tcp, (uint32_t)id);
	if (busy == NULL || !tcp_out_append(tcp, conn, busy, bytes, (uint32_t)len)) {
		tcp_busy_put(tcp, (uint32_t)id);
		return false;
	}
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
