/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TCP worker: many connections, one epoll set. RFC 7766: pipelined requests, several per segment, partial reads and
 * writes, idle time-out. A connection that waits holds no buffer (tcp_buffer.h).
 *
 * Fairness: a turn reads once, at most READ_CHUNK bytes, answers what is whole and sends once; level-triggered events
 * bring the rest after the others had their turn. Backpressure: while replies wait for the peer, nothing is read from
 * it. When there are too many clients, the idlest of the greediest source makes room (tcp_clients.h).
 *
 * Replies that others make later (later.h) are appended when they come. A connection that waits for
 * NET_LATER_PER_CONN of them isn't read. It isn't idle, as it is the server that is late. One that is closed meanwhile
 * keeps its record, which its replies name, until the last of them has come back.
 *
 * A transfer is made message by message, when everything before it has been taken by the peer, and some messages per
 * turn, so that others have theirs. While it lasts, nothing more of its connection is read or answered.
 *
 * Time, in two lists whose heads are the only ones that can be late:
 *
 *   idle   every connection, by its last answered query. Only an answered query restarts the time: a message that gets
 *          no answer does not, nor does a part of one. A connection in the middle of a message or of its reply is not
 *          closed by this limit: it leaves the list as overdue, and is closed when that message gets no answer.
 *   io     connections in the middle of a message or of its reply; the time restarts with each whole one.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/net/listen.h"
#include "src/net/net.h"
#include "src/net/request.h"
#include "src/transport/tcp_buffer.h"
#include "src/net/tcp_clients.h"
#include "src/net/socket_worker.h"
#include "src/net/transfers.h"
#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include "src/sys/log.h"
#include "xdp/tcp/source.h"

#include <assert.h>

enum {
	FRAME_MAX = NET_TCP_MESSAGE_MAX + 2,
	READ_CHUNK = 4096,
	/* A part of a message is kept (less than FRAME_MAX), then at least READ_CHUNK more is read after it. */
	IN_MAX = FRAME_MAX + READ_CHUNK,
	/*
	 * Bytes of replies from which on they are sent: hundreds of the usual size, or one of the largest, so that a
	 * client that asks for large ones and doesn't read costs one.
	 */
	OUT_ENOUGH = 32768,
	OUT_MAX = OUT_ENOUGH + FRAME_MAX,
};

typedef enum {
	TCP_LIST_IDLE,
	TCP_LIST_IO,
	TCP_LIST_WAITING, /* for the changes of an IXFR; no time is limited meanwhile but the idle one */
	TCP_LIST_COUNT,
} tcp_list_kind_t;

typedef struct conn {
	tcp_client_t client; /* with the descriptor, owned, and the time of the last answered query */
	struct {
		struct conn *prev, *next;
	} links[TCP_LIST_COUNT];
	bool is_busy;             /* in the io list */
	bool is_overdue;          /* not in the idle list any more */
	bool is_waiting;          /* in the waiting list */
	bool is_watched;          /* in the epoll set, with `events` */
	bool has_failed;          /* a transfer couldn't begin: close it */
	bool ended;               /* the peer has sent its last byte */
	bool is_closed;           /* the descriptor is closed; only `later_count` keeps it, in the list of the closed */
	uint32_t events;          /* registered with epoll */
	uint32_t later_count;     /* requests that are answered later */
	uint64_t io_from_ms;      /* when it became busy, or its last whole message came or went */
	tcp_rest_t in;            /* requests not answered yet */
	tcp_rest_t out;           /* replies not sent yet */
	transfer_out_t *transfer; /* owned until it is given to the service at its end; NULL: none */
	tcp_progress_t progress;
	struct sockaddr_storage remote, local; /* local: AF_UNSPEC until a module may want it */
} conn_t;

/** Oldest first. */
typedef struct {
	conn_t *first, *last;
} conn_list_t;

/** What a turn of a connection brought about. */
typedef struct {
	bool has_read;     /* a whole message was taken in, answered or not */
	bool has_answered; /* a query was answered, or the last byte of a reply was sent */
} tcp_turn_t;

typedef struct {
	int epoll_fd;
	bool accepts;             /* the listening sockets are in the epoll set */
	uint64_t accept_after_ms; /* look again then, when they aren't */
	uint64_t now_ms;
	uint64_t idle_max_ms; /* from the configuration; io_max_ms 0: no limit */
	uint64_t io_max_ms;
	uint32_t clients_max;
	conn_list_t lists[TCP_LIST_COUNT];
	conn_t *closed; /* linked by links[TCP_LIST_IDLE] */
	traffic_batch_t traffic;
	request_turn_t turn;     /* of the run of messages in work */
	later_outbox_t later;    /* 〃 */
	conn_t *asking;          /* whose messages these are */
	transfer_waker_t *waker; /* owned; NULL: transfers aren't served */
	bool is_woken;
	uint8_t in[IN_MAX];
	uint8_t out[OUT_MAX];
} tcp_t;

/* request_takers_t */
static void tcp_take_update(void *ctx, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const answer_aside_t *aside)
{
	const socket_worker_t *worker = ctx;
	tcp_t *tcp = worker->memory;
	(void)report;
	request_take_later(&tcp->later, &tcp->traffic, state, source, request, aside);
}

/* request_takers_t */
static void tcp_take_stream(void *ctx, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const answer_aside_t *aside)
{
	(void)state, (void)request, (void)report;
	const socket_worker_t *worker = ctx;
	tcp_t *tcp = worker->memory;
	conn_t *conn = tcp->asking;
	assert(conn->transfer == NULL);
	conn->transfer = transfers_begin(worker->shared->transfers, tcp->waker, source, aside, tcp->turn.answer.now_us);
	conn->has_failed = conn->transfer == NULL;
}

static const request_takers_t tcp_takers = { .takes = ANSWER_EFFECT_UPDATE, .update = tcp_take_update };
static const request_takers_t tcp_takers_of_all = {
	.takes = ANSWER_EFFECT_UPDATE | ANSWER_EFFECT_STREAM,
	.update = tcp_take_update,
	.stream = tcp_take_stream,
};

knot_err_t tcp_worker_init(socket_worker_t *worker)
{
	assert(worker->sockets != NULL && worker->socket_count > 0);
	knot_err_t err = later_inbox_new(-1, &worker->inbox);
	tcp_t *tcp = err == KNOT_OK ? calloc(1, sizeof(*tcp)) : NULL;
	if (tcp == NULL) {
		return err != KNOT_OK ? err : KNOT_ENOMEM;
	}
	tcp->later.inbox = worker->inbox;
	tcp->turn.takers = &tcp_takers;
	tcp->turn.ctx = worker;
	worker->memory = tcp;
	return KNOT_OK;
}

/* ---- Lists ---- */

static void tcp_list_remove(tcp_t *tcp, conn_t *conn, tcp_list_kind_t kind)
{
	conn_list_t *list = &tcp->lists[kind];
	conn_t *prev = conn->links[kind].prev, *next = conn->links[kind].next;
	assert(prev != NULL ? prev->links[kind].next == conn : list->first == conn);
	assert(next != NULL ? next->links[kind].prev == conn : list->last == conn);
	*(prev != NULL ? &prev->links[kind].next : &list->first) = next;
	*(next != NULL ? &next->links[kind].prev : &list->last) = prev;
}

static void tcp_list_append(tcp_t *tcp, conn_t *conn, tcp_list_kind_t kind)
{
	conn_list_t *list = &tcp->lists[kind];
	conn->links[kind].prev = list->last;
	conn->links[kind].next = NULL;
	*(list->last != NULL ? &list->last->links[kind].next : &list->first) = conn;
	list->last = conn;
}

/* The idle time restarts. */
static void tcp_conn_restart_idle(tcp_t *tcp, conn_t *conn)
{
	if (!conn->is_overdue) {
		tcp_list_remove(tcp, conn, TCP_LIST_IDLE);
	}
	conn->is_overdue = false;
	tcp_client_answered(&conn->client, tcp->now_ms);
	tcp_list_append(tcp, conn, TCP_LIST_IDLE);
}

/* Put the connection where it belongs after a turn. False: it is idle for too long. */
static bool tcp_conn_follow_turn(tcp_t *tcp, conn_t *conn, tcp_turn_t turn)
{
	/* Requests that are held back are not the peer's fault. */
	bool is_held = conn->later_count >= NET_LATER_PER_CONN;
	bool has_work = conn->out.len > 0 || conn->transfer != NULL || (conn->in.len > 0 && !is_held);
	bool is_busy = has_work && !conn->is_waiting;
	if (turn.has_answered || conn->later_count > 0) {
		tcp_conn_restart_idle(tcp, conn);
	} else if (conn->is_overdue && (turn.has_read || !is_busy)) {
		return false;
	}
	if (is_busy != conn->is_busy || turn.has_read || turn.has_answered) {
		if (conn->is_busy) {
			tcp_list_remove(tcp, conn, TCP_LIST_IO);
		}
		if (is_busy) {
			conn->io_from_ms = tcp->now_ms;
			tcp_list_append(tcp, conn, TCP_LIST_IO);
		}
		conn->is_busy = is_busy;
	}
	return true;
}

/* ---- Connections ---- */

/* Replies that name it are on their way. */
static void tcp_conn_keep_closed(tcp_t *tcp, conn_t *conn)
{
	conn->is_closed = true;
	conn->links[TCP_LIST_IDLE].prev = NULL;
	conn->links[TCP_LIST_IDLE].next = tcp->closed;
	if (tcp->closed != NULL) {
		tcp->closed->links[TCP_LIST_IDLE].prev = conn;
	}
	tcp->closed = conn;
}

/* The last of them has come back. */
static void tcp_conn_free_closed(tcp_t *tcp, conn_t *conn)
{
	assert(conn->is_closed && conn->later_count == 0);
	conn_t *prev = conn->links[TCP_LIST_IDLE].prev, *next = conn->links[TCP_LIST_IDLE].next;
	*(prev != NULL ? &prev->links[TCP_LIST_IDLE].next : &tcp->closed) = next;
	if (next != NULL) {
		next->links[TCP_LIST_IDLE].prev = prev;
	}
	free(conn);
}

/* The transfer is over, or its connection is. */
static void tcp_conn_end_transfer(socket_worker_t *worker, conn_t *conn)
{
	tcp_t *tcp = worker->memory;
	if (conn->is_waiting) {
		tcp_list_remove(tcp, conn, TCP_LIST_WAITING);
		conn->is_waiting = false;
	}
	transfer_service_end(worker->shared->transfers, conn->transfer, sys_clock_ns() / 1000);
	conn->transfer = NULL;
}

static void tcp_conn_close(socket_worker_t *worker, conn_t *conn)
{
	tcp_t *tcp = worker->memory;
	if (conn->transfer != NULL) {
		tcp_conn_end_transfer(worker, conn);
	}
	if (!conn->is_overdue) {
		tcp_list_remove(tcp, conn, TCP_LIST_IDLE);
	}
	if (conn->is_busy) {
		tcp_list_remove(tcp, conn, TCP_LIST_IO);
	}
	tcp_clients_leave(&worker->shared->tcp_clients, &conn->client);
	close(conn->client.fd);
	tcp_rest_done(&conn->in);
	tcp_rest_done(&conn->out);
	if (conn->later_count == 0) {
		free(conn);
	} else {
		tcp_conn_keep_closed(tcp, conn);
	}
}

/* A reset instead of a FIN: the peer did not take what it asked for, so the kernel needn't keep it either. */
static void tcp_conn_abort(socket_worker_t *worker, conn_t *conn)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	(void)setsockopt(conn->client.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	tcp_conn_close(worker, conn);
}

/* The idle time is over, RFC 7766 6.2.3. */
static void tcp_conn_close_idle(socket_worker_t *worker, conn_t *conn)
{
	sys_counters_add(worker->shared->counters, NET_COUNT_TCP_IDLE_TIMEOUT, 1);
	tcp_conn_close(worker, conn);
}

static bool tcp_conn_watch(tcp_t *tcp, conn_t *conn)
{
	bool has_more = conn->out.len > 0 || (conn->transfer != NULL && !conn->is_waiting);
	bool may_read = conn->out.len == 0 && conn->transfer == NULL && !conn->ended &&
			conn->later_count < NET_LATER_PER_CONN;
	uint32_t want = (has_more ? EPOLLOUT : 0) | (may_read ? EPOLLIN : 0);
	if (want == conn->events && conn->is_watched) {
		return true;
	}
	struct epoll_event event = { .events = want, .data.ptr = conn };
	int op = conn->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	conn->events = want;
	conn->is_watched = true;
	return epoll_ctl(tcp->epoll_fd, op, conn->client.fd, &event) == 0;
}

/* Send bytes; what the peer doesn't take now is kept. False: the connection is broken. */
static bool tcp_conn_send(conn_t *conn, knot_bytes_t bytes, tcp_turn_t *turn)
{
	size_t done = 0;
	while (done < bytes.len && conn->out.len == 0) {
		ssize_t sent = send(conn->client.fd, bytes.data + done, bytes.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent < 0 && errno != EAGAIN) {
			return false;
		}
		if (sent <= 0) {
			break;
		}
		turn->has_answered |=
				tcp_progress(&conn->progress, (knot_bytes_t){ bytes.data + done, (size_t)sent }) > 0;
		done += (size_t)sent;
	}
	return tcp_rest_append(&conn->out, (knot_bytes_t){ bytes.data + done, bytes.len - done }) == KNOT_OK;
}

/* Send what was kept. False: broken. */
static bool tcp_conn_send_rest(conn_t *conn, tcp_turn_t *turn)
{
	while (conn->out.len > 0) {
		ssize_t sent = send(conn->client.fd, conn->out.data, conn->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent < 0) {
			return errno == EAGAIN;
		}
		turn->has_answered |= tcp_progress(&conn->progress, (knot_bytes_t){ conn->out.data, (size_t)sent }) > 0;
		tcp_rest_drop(&conn->out, (size_t)sent);
	}
	return true;
}

/* The address that the peer connected to; NULL: the kernel doesn't say. */
static const struct sockaddr *tcp_conn_local(conn_t *conn)
{
	socklen_t len = sizeof(conn->local);
	bool is_known = conn->local.ss_family != AF_UNSPEC ||
			getsockname(conn->client.fd, (struct sockaddr *)&conn->local, &len) == 0;
	return is_known ? (const struct sockaddr *)&conn->local : NULL;
}

/* What was just taken to be answered later, if it was. */
static void tcp_conn_set_way(tcp_t *tcp, conn_t *conn)
{
	later_t *later = tcp->later.made;
	if (later != NULL) {
		tcp->later.made = NULL;
		later->way.tcp.conn = conn;
		conn->later_count++;
	}
}

/* Answer whole messages from *pos on until there is enough to send. Returns the bytes put into tcp->out. */
static size_t tcp_conn_answer_some(socket_worker_t *worker, conn_t *conn, knot_bytes_t bytes, size_t *pos)
{
	tcp_t *tcp = worker->memory;
	size_t out_len = 0;
	answer_source_t source = {
		.protocol = answer_protocol_of_socket(conn->remote.ss_family, true),
		.remote = (const struct sockaddr *)&conn->remote,
		.turn = &tcp->turn.answer,
	};
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(worker->shared->state, guard);
	if (state_has_modules(state)) {
		source.local = tcp_conn_local(conn);
	}
	traffic_begin(&tcp->traffic, RCU_LOAD(guard, worker->shared->looks.list_rcu), state);
	knot_bytes_t message;
	assert(conn->out.len == 0); /* while replies wait, no query is answered */
	while (out_len < OUT_ENOUGH && conn->transfer == NULL && !conn->has_failed &&
			conn->later_count < NET_LATER_PER_CONN &&
			tcp_frame_next(bytes, pos, &message) == TCP_FRAME_WHOLE) {
		uint8_t *frame = tcp->out + out_len;
		answer_request_t request;
		answer_read(&state->env, state->zones, &message, 1, &request);
		size_t len = request_answer(&tcp->traffic, NULL, state, &source, &request,
				(knot_mut_bytes_t){ frame + 2, NET_TCP_MESSAGE_MAX });
		if (len > 0) {
			store_be16(frame, (uint16_t)len);
			out_len += 2 + len;
		} else {
			tcp_conn_set_way(tcp, conn);
		}
	}
	return out_len;
}

/* Answer and send everything whole in `bytes`, as far as the peer takes it; keep the rest. False: broken. */
static bool tcp_conn_answer_run(socket_worker_t *worker, conn_t *conn, knot_bytes_t bytes, tcp_turn_t *turn)
{
	tcp_t *tcp = worker->memory;
	size_t pos = 0, before;
	do {
		before = pos;
		size_t out_len = tcp_conn_answer_some(worker, conn, bytes, &pos);
		turn->has_answered |= out_len > 0;
		if (!tcp_conn_send(conn, (knot_bytes_t){ tcp->out, out_len }, turn)) {
			return false;
		}
	} while (pos > before && conn->out.len == 0 && conn->transfer == NULL && !conn->has_failed);
	turn->has_read |= pos > 0;
	return tcp_rest_append(&conn->in, (knot_bytes_t){ bytes.data + pos, bytes.len - pos }) == KNOT_OK;
}

/* The same, counted: the run is a batch. */
static bool tcp_conn_answer(socket_worker_t *worker, conn_t *conn, knot_bytes_t bytes, tcp_turn_t *turn)
{
	tcp_t *tcp = worker->memory;
	uint64_t start_ns = sys_clock_ns();
	request_turn_begin(&tcp->turn, start_ns / 1000);
	tcp->later.begin_ns = start_ns;
	tcp->asking = conn;
	bool is_alive = tcp_conn_answer_run(worker, conn, bytes, turn) && !conn->has_failed;
	if (conn->transfer != NULL && transfer_out_state(conn->transfer) == TRANSFER_OUT_UNPREPARED) {
		tcp_list_append(tcp, conn, TCP_LIST_WAITING);
		conn->is_waiting = true;
	}
	turn->has_answered |= conn->transfer != NULL;
	if (!traffic_is_empty(&tcp->traffic)) {
		traffic_end(worker->shared->traffic, &tcp->traffic, sys_clock_ns() - start_ns);
	}
	if (__builtin_expect(tcp->later.first != NULL, 0)) {
		later_hand_over(&tcp->later, &worker->shared->updates);
	}
	return is_alive;
}

/* Requests kept while the peer was slow: they, and what is read now, are answered as one run of bytes. */
static size_t tcp_conn_take_kept(tcp_t *tcp, conn_t *conn)
{
	size_t kept = conn->in.len;
	assert(kept <= IN_MAX);
	if (kept > 0) {
		memcpy(tcp->in, conn->in.data, kept);
	}
	tcp_rest_done(&conn->in);
	return kept;
}

static bool tcp_conn_has_request(const conn_t *conn)
{
	size_t pos = 0;
	knot_bytes_t request;
	return tcp_frame_next((knot_bytes_t){ conn->in.data, conn->in.len }, &pos, &request) == TCP_FRAME_WHOLE;
}

/* Requests that were kept because replies had to leave first. False: broken. */
static bool tcp_conn_answer_kept(socket_worker_t *worker, conn_t *conn, tcp_turn_t *turn)
{
	bool may_answer = conn->out.len == 0 && conn->transfer == NULL && conn->later_count < NET_LATER_PER_CONN;
	if (!may_answer || !tcp_conn_has_request(conn)) {
		return true;
	}
	tcp_t *tcp = worker->memory;
	size_t kept = tcp_conn_take_kept(tcp, conn);
	return tcp_conn_answer(worker, conn, (knot_bytes_t){ tcp->in, kept }, turn);
}

/* False: close the connection. */
static bool tcp_conn_read_turn(socket_worker_t *worker, conn_t *conn, tcp_turn_t *turn)
{
	tcp_t *tcp = worker->memory;
	size_t kept = tcp_conn_take_kept(tcp, conn);
	size_t missing = tcp_frame_missing((knot_bytes_t){ tcp->in, kept });
	size_t want = missing > READ_CHUNK ? missing : READ_CHUNK;
	assert(kept < FRAME_MAX && want <= IN_MAX - kept); /* what was kept is a part of one message */
	ssize_t got = recv(conn->client.fd, tcp->in + kept, want, MSG_DONTWAIT);
	if (got < 0 && errno != EAGAIN && errno != EINTR) {
		return false;
	}
	conn->ended = got == 0;
	size_t len = kept + (got > 0 ? (size_t)got : 0);
	return tcp_conn_answer(worker, conn, (knot_bytes_t){ tcp->in, len }, turn);
}

/* The next messages of a transfer, at most what one turn of another connection sends. */
static bool tcp_conn_put_transfer(socket_worker_t *worker, conn_t *conn, tcp_turn_t *turn)
{
	tcp_t *tcp = worker->memory;
	transfer_out_t *transfer = conn->transfer;
	uint64_t now_s = sys_clock_wall_coarse();
	size_t len = 0;
	while (len < OUT_ENOUGH && transfer_out_state(transfer) == TRANSFER_OUT_READY) {
		uint8_t *frame = tcp->out + len;
		size_t message_len = transfer_out_next(
				transfer, (knot_mut_bytes_t){ frame + 2, NET_TCP_MESSAGE_MAX }, now_s);
		store_be16(frame, (uint16_t)message_len);
		len += 2 + message_len;
	}
	if (transfer_out_state(transfer) > TRANSFER_OUT_READY) {
		tcp_conn_end_transfer(worker, conn);
	}
	return tcp_conn_send(conn, (knot_bytes_t){ tcp->out, len }, turn);
}

static bool tcp_conn_write_turn(socket_worker_t *worker, conn_t *conn, tcp_turn_t *turn)
{
	if (!tcp_conn_send_rest(conn, turn)) {
		return false;
	}
	if (conn->transfer != NULL && conn->out.len == 0 &&
			transfer_out_state(conn->transfer) != TRANSFER_OUT_UNPREPARED &&
			!tcp_conn_put_transfer(worker, conn, turn)) {
		return false;
	}
	return conn->transfer != NULL || tcp_conn_answer_kept(worker, conn, turn);
}

/* After a turn: close the connection, or wait for what it needs. alive: it isn't broken. */
static void tcp_conn_end_turn(socket_worker_t *worker, conn_t *conn, bool alive, tcp_turn_t turn)
{
	tcp_t *tcp = worker->memory;
	/* After the peer's FIN, replies to its queries are still sent (RFC 7766 6.2.4: half-closed clients). */
	bool finished = conn->ended && conn->out.len == 0 && conn->transfer == NULL && conn->later_count == 0;
	if (!alive || finished || !tcp_conn_watch(tcp, conn)) {
		tcp_conn_close(worker, conn);
		return;
	}
	if (!tcp_conn_follow_turn(tcp, conn, turn)) {
		tcp_conn_close_idle(worker, conn);
	}
}

static void tcp_conn_serve(socket_worker_t *worker, conn_t *conn, uint32_t events)
{
	if (tcp_client_is_evicted(&conn->client)) {
		tcp_conn_abort(worker, conn);
		return;
	}
	tcp_turn_t turn = { false, false };
	bool alive;
	if (conn->out.len > 0 || conn->transfer != NULL) {
		alive = (events & (EPOLLERR | EPOLLHUP)) == 0 && tcp_conn_write_turn(worker, conn, &turn);
	} else if ((conn->events & EPOLLIN) == 0) {
		alive = false; /* waits for later replies, so that only its end is reported */
	} else {
		alive = tcp_conn_read_turn(worker, conn, &turn);
	}
	tcp_conn_end_turn(worker, conn, alive, turn);
}

/* A reply that another thread made. */
static void tcp_conn_send_later(socket_worker_t *worker, conn_t *conn, const later_t *later)
{
	tcp_turn_t turn = { false, false };
	const knot_bytes_t frame = { later->bytes - 2, 2 + later->reply_len };
	bool alive = later->reply_len == 0 || tcp_conn_send(conn, frame, &turn);
	alive = alive && tcp_conn_answer_kept(worker, conn, &turn);
	tcp_conn_end_turn(worker, conn, alive, turn);
}

static void tcp_send_later(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	for (later_t *next, *later = later_inbox_take(worker->inbox); later != NULL; later = next) {
		next = (later_t *)later->request.next;
		conn_t *conn = later->way.tcp.conn;
		assert(conn->later_count > 0);
		conn->later_count--;
		if (!conn->is_closed) {
			tcp_conn_send_later(worker, conn, later);
		} else if (conn->later_count == 0) {
			tcp_conn_free_closed(tcp, conn);
		}
		request_note_later(worker->shared->traffic, later, sys_clock_ns());
		later_free(later);
	}
}

/* ---- Listening ---- */

static void tcp_accept_pause(socket_worker_t *worker, unsigned pause_ms)
{
	tcp_t *tcp = worker->memory;
	if (tcp->accepts) {
		for (size_t i = 0; i < worker->socket_count; i++) {
			(void)epoll_ctl(tcp->epoll_fd, EPOLL_CTL_DEL, worker->sockets[i].fd, NULL);
		}
		tcp->accepts = false;
	}
	tcp->accept_after_ms = tcp->now_ms + pause_ms;
}

static bool tcp_accept_resume(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	for (size_t i = 0; i < worker->socket_count; i++) {
		/* One worker is woken per connection, not all that share the socket. */
		struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.ptr = &worker->sockets[i] };
		if (epoll_ctl(tcp->epoll_fd, EPOLL_CTL_ADD, worker->sockets[i].fd, &event) != 0) {
			return false;
		}
	}
	tcp->accepts = true;
	return true;
}

/* accept() failed with `err`. False: none of this turn is left to accept. */
static bool tcp_accept_failed(socket_worker_t *worker, int err)
{
	enum { RETRY_MS = 200 };
	static sys_log_repeats_t repeats;
	switch (listen_accept_after(err)) {
	case LISTEN_ACCEPT_LATER: return false; /* another worker was faster */
	case LISTEN_ACCEPT_NEXT: return true;
	case LISTEN_ACCEPT_PAUSE: break;
	}
	tcp_accept_pause(worker, RETRY_MS);
	sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_WARNING, "TCP, failed to accept connection (%s)",
			knot_strerror(knot_err_of_errno(err)));
	return false;
}

/* The source of a client; all clients over UNIX sockets are one source. */
static uint64_t tcp_source_key(const struct sockaddr_storage *remote)
{
	uint8_t ip[16] = { 0 };
	if (remote->ss_family == AF_INET) {
		ip[10] = ip[11] = 0xff;
		memcpy(ip + 12, &((const struct sockaddr_in *)remote)->sin_addr, 4);
	} else if (remote->ss_family == AF_INET6) {
		memcpy(ip, &((const struct sockaddr_in6 *)remote)->sin6_addr, sizeof(ip));
	}
	return kxdp_source_of(ip);
}

/* Count the connection, which may cost another one its place. False: it can't be had. */
static bool tcp_conn_enter(socket_worker_t *worker, conn_t *conn)
{
	const tcp_t *tcp = worker->memory;
	worker_shared_t *shared = worker->shared;
	switch (tcp_clients_enter(&shared->tcp_clients, &conn->client, tcp_source_key(&conn->remote), tcp->clients_max,
			tcp->now_ms)) {
	case TCP_CLIENT_REPLACED: sys_counters_add(shared->counters, NET_COUNT_TCP_EVICTED, 1); return true;
	case TCP_CLIENT_ADMITTED: return true;
	case TCP_CLIENT_REFUSED: break;
	}
	return false;
}

static void tcp_conn_open(socket_worker_t *worker, int fd, const struct sockaddr_storage *remote)
{
	tcp_t *tcp = worker->memory;
	conn_t *conn = calloc(1, sizeof(*conn));
	if (conn == NULL) {
		close(fd);
		return;
	}
	conn->client.fd = fd;
	conn->remote = *remote;
	if (!tcp_conn_enter(worker, conn)) {
		close(fd);
		free(conn);
		return;
	}
	tcp_list_append(tcp, conn, TCP_LIST_IDLE);
	if (!tcp_conn_watch(tcp, conn)) {
		tcp_conn_close(worker, conn);
	}
}

static void tcp_accept_some(socket_worker_t *worker, const worker_socket_t *sock)
{
	for (unsigned i = 0; i < NET_TCP_ACCEPT_BATCH; i++) {
		struct sockaddr_storage remote = { 0 };
		socklen_t len = sizeof(remote);
		int fd = accept4(sock->fd, (struct sockaddr *)&remote, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			tcp_conn_open(worker, fd, &remote);
		} else if (!tcp_accept_failed(worker, errno)) {
			return;
		}
	}
}

/* ---- Time ---- */

static uint64_t tcp_time_left(uint64_t now_ms, uint64_t since_ms, uint64_t max_ms)
{
	uint64_t passed = now_ms - since_ms;
	return passed < max_ms ? max_ms - passed : 0;
}

/* Until the first of the idle list is late. */
static uint64_t tcp_idle_left(const tcp_t *tcp)
{
	const conn_t *first = tcp->lists[TCP_LIST_IDLE].first;
	return first == NULL ? UINT64_MAX
			     : tcp_time_left(tcp->now_ms, tcp_client_answered_ms(&first->client), tcp->idle_max_ms);
}

static uint64_t tcp_io_left(const tcp_t *tcp)
{
	const conn_t *first = tcp->lists[TCP_LIST_IO].first;
	return first == NULL || tcp->io_max_ms == 0 ? UINT64_MAX
						    : tcp_time_left(tcp->now_ms, first->io_from_ms, tcp->io_max_ms);
}

static void tcp_close_late(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	while (tcp_io_left(tcp) == 0) {
		sys_counters_add(worker->shared->counters, NET_COUNT_TCP_IO_TIMEOUT, 1);
		tcp_conn_abort(worker, tcp->lists[TCP_LIST_IO].first);
	}
	while (tcp_idle_left(tcp) == 0) {
		conn_t *conn = tcp->lists[TCP_LIST_IDLE].first;
		if (conn->later_count > 0) {
			tcp_conn_restart_idle(tcp, conn); /* it is we who are late */
			continue;
		}
		if (!conn->is_busy) {
			tcp_conn_close_idle(worker, conn);
			continue;
		}
		tcp_list_remove(tcp, conn, TCP_LIST_IDLE);
		conn->is_overdue = true;
	}
}

/* Until the next connection is late, or there is a reason to look again. */
static int tcp_poll_timeout(const tcp_t *tcp)
{
	uint64_t left = NET_POLL_MS, io = tcp_io_left(tcp), idle = tcp_idle_left(tcp);
	left = io < left ? io : left;
	left = idle < left ? idle : left;
	if (!tcp->accepts) {
		uint64_t again = tcp->accept_after_ms > tcp->now_ms ? tcp->accept_after_ms - tcp->now_ms : 0;
		left = again < left ? again : left;
	}
	return (int)left + 1; /* the coarse clock may be a tick behind: not before the limit */
}

static void tcp_read_limits(const socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	RCU_READ_SECTION(guard);
	const conf_server_t *conf = &state_load(worker->shared->state, guard)->conf->server;
	tcp->idle_max_ms = (uint64_t)conf->tcp_idle_timeout_s * 1000;
	tcp->io_max_ms = conf->tcp_io_timeout_ms;
	tcp->clients_max = conf->tcp_max_clients;
}

/* ---- The thread ---- */

static bool tcp_is_listener(const socket_worker_t *worker, const void *ptr)
{
	const char *at = ptr, *first = (const char *)worker->sockets;
	return at >= first && at < first + worker->socket_count * sizeof(*worker->sockets);
}

/* Returns false when the worker has to end. */
static bool tcp_handle_events(socket_worker_t *worker, const struct epoll_event *events, int count)
{
	tcp_t *tcp = worker->memory;
	for (int i = 0; i < count; i++) {
		void *ptr = events[i].data.ptr;
		if (ptr == worker) {
			return false;
		}
		if (ptr == worker->inbox) {
			continue;
		}
		if (ptr == &tcp->waker) {
			tcp->is_woken = transfer_waker_clear(tcp->waker);
		} else if (tcp_is_listener(worker, ptr)) {
			tcp_accept_some(worker, ptr);
		} else {
			tcp_conn_serve(worker, ptr, events[i].events);
		}
	}
	return true;
}

/* Go on with transfers that were prepared meanwhile: behind the events, which may be about connections that this ends.
 */
static void tcp_serve_prepared(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	tcp->is_woken = false;
	for (conn_t *conn = tcp->lists[TCP_LIST_WAITING].first, *next; conn != NULL; conn = next) {
		next = conn->links[TCP_LIST_WAITING].next;
		if (transfer_out_state(conn->transfer) != TRANSFER_OUT_UNPREPARED) {
			tcp_list_remove(tcp, conn, TCP_LIST_WAITING);
			conn->is_waiting = false;
			tcp_conn_serve(worker, conn, EPOLLOUT);
		}
	}
}

/* Transfers are served if there is a service for them. */
static bool tcp_start_transfers(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	if (worker->shared->transfers == NULL) {
		return true;
	}
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &tcp->waker };
	tcp->turn.takers = &tcp_takers_of_all;
	return transfer_waker_new(-1, &tcp->waker) == KNOT_OK &&
	       epoll_ctl(tcp->epoll_fd, EPOLL_CTL_ADD, transfer_waker_fd(tcp->waker), &event) == 0;
}

static bool tcp_start(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	tcp->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event stop = { .events = EPOLLIN, .data.ptr = worker };
	struct epoll_event wake = { .events = EPOLLIN, .data.ptr = worker->inbox };
	return tcp->epoll_fd >= 0 && epoll_ctl(tcp->epoll_fd, EPOLL_CTL_ADD, worker->stop_fd, &stop) == 0 &&
	       epoll_ctl(tcp->epoll_fd, EPOLL_CTL_ADD, later_inbox_fd(worker->inbox), &wake) == 0 &&
	       tcp_start_transfers(worker) && tcp_accept_resume(worker);
}

static void tcp_stop(socket_worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	/* Each is in one of the lists at least. */
	for (tcp_list_kind_t kind = 0; kind < TCP_LIST_COUNT; kind++) {
		while (tcp->lists[kind].first != NULL) {
			tcp_conn_close(worker, tcp->lists[kind].first);
		}
	}
	/* Replies that are on their way find the inbox closed, and are freed by those that make them. */
	while (tcp->closed != NULL) {
		conn_t *conn = tcp->closed;
		conn->later_count = 0;
		tcp_conn_free_closed(tcp, conn);
	}
	transfer_waker_drop(tcp->waker);
	tcp->waker = NULL;
	if (tcp->epoll_fd >= 0) {
		close(tcp->epoll_fd);
	}
}

static bool tcp_is_woken(const socket_worker_t *worker, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr == worker->inbox) {
			return true;
		}
	}
	return false;
}

void tcp_worker_run(void *arg)
{
	socket_worker_t *worker = arg;
	tcp_t *tcp = worker->memory;
	if (!tcp_start(worker)) {
		log_server(LOG_ERR, "TCP, failed to start worker (%s)", knot_strerror(knot_err_of_errno(errno)));
		tcp_stop(worker);
		return;
	}
	for (bool goes_on = true; goes_on;) {
		struct epoll_event events[NET_TCP_EVENTS];
		bool sleeps = later_inbox_sleep(worker->inbox);
		int count = epoll_wait(tcp->epoll_fd, events, NET_TCP_EVENTS, sleeps ? tcp_poll_timeout(tcp) : 0);
		later_inbox_awake(worker->inbox, tcp_is_woken(worker, events, count));
		tcp->now_ms = sys_clock_ms();
		tcp_read_limits(worker);
		goes_on = tcp_handle_events(worker, events, count);
		if (later_inbox_has(worker->inbox)) {
			tcp_send_later(worker);
		}
		if (tcp->is_woken) {
			tcp_serve_prepared(worker);
		}
		tcp_close_late(worker);
		if (!tcp->accepts && tcp->now_ms >= tcp->accept_after_ms && !tcp_accept_resume(worker)) {
			tcp_accept_pause(worker, NET_POLL_MS);
		}
	}
	tcp_send_later(worker);
	tcp_stop(worker);
}
