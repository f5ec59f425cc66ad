/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TCP worker: many connections, one epoll set. RFC 7766: pipelined requests, several per segment, partial reads and
 * writes, idle time-out. A connection that waits holds no buffer (tcp_buffer.h).
 *
 * Fairness: a turn reads once, at most READ_CHUNK bytes, answers what is whole and sends once; level-triggered events
 * bring the rest after the others had their turn. Backpressure: while replies wait for the peer, nothing is read from
 * it. Two lists in order of time hold every connection: waiting for a request (idle limit), or in the middle of one or
 * of its reply (I/O limit). Their heads are the only ones that can be late.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/net/listen.h"
#include "src/net/request.h"
#include "src/net/tcp_buffer.h"
#include "src/net/worker.h"
#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include "src/sys/log.h"

enum {
	FRAME_MAX = NET_TCP_MESSAGE_MAX + 2,
	READ_CHUNK = 4096,
	/* A part of a message is kept (less than FRAME_MAX), then at least READ_CHUNK more is read after it. */
	IN_MAX = FRAME_MAX + READ_CHUNK,
	/* Answer while there is room for the largest reply: two of them, or hundreds of the usual size. */
	OUT_MAX = 3 * FRAME_MAX,
};

typedef struct conn {
	struct conn *prev, *next; /* in the list that `busy` names */
	int fd;
	bool busy;       /* in the io list, else in the idle list */
	bool ended;      /* the peer has sent its last byte */
	uint32_t events; /* registered with epoll */
	const worker_socket_t *sock;
	uint64_t since_ms; /* when it came into its list */
	tcp_rest_t in;     /* requests not answered yet */
	tcp_rest_t out;    /* replies not sent yet */
	tcp_progress_t progress;
	struct sockaddr_storage remote, local;
} conn_t;

/** Oldest first. */
typedef struct {
	conn_t *first, *last;
} conn_list_t;

typedef struct {
	int epoll_fd;
	bool accepts;             /* the listening sockets are in the epoll set */
	uint64_t accept_after_ms; /* look again then, when they aren't */
	uint64_t now_ms;
	uint64_t idle_max_ms; /* from the configuration; io_max_ms 0: no limit */
	uint64_t io_max_ms;
	uint32_t clients_max;
	size_t clients;
	conn_list_t idle, io;
	traffic_batch_t traffic;
	uint8_t in[IN_MAX];
	uint8_t out[OUT_MAX];
} tcp_t;

knot_err_t tcp_worker_init(worker_t *worker)
{
	tcp_t *tcp = calloc(1, sizeof(*tcp));
	if (tcp == NULL) {
		return KNOT_ENOMEM;
	}
	worker->memory = tcp;
	return KNOT_OK;
}

/* ---- Lists ---- */

static void list_remove(tcp_t *tcp, conn_t *conn)
{
	conn_list_t *list = conn->busy ? &tcp->io : &tcp->idle;
	*(conn->prev != NULL ? &conn->prev->next : &list->first) = conn->next;
	*(conn->next != NULL ? &conn->next->prev : &list->last) = conn->prev;
	conn->prev = conn->next = NULL;
}

static void list_append(tcp_t *tcp, conn_t *conn, bool busy)
{
	conn->busy = busy;
	conn->since_ms = tcp->now_ms;
	conn_list_t *list = busy ? &tcp->io : &tcp->idle;
	conn->prev = list->last;
	conn->next = NULL;
	*(list->last != NULL ? &list->last->next : &list->first) = conn;
	list->last = conn;
}

/* Where the connection belongs now. Its time starts anew when it changes the list or `progressed`: got a message
 * through. */
static void list_update(tcp_t *tcp, conn_t *conn, bool progressed)
{
	bool busy = conn->in.len > 0 || conn->out.len > 0;
	if (busy != conn->busy || progressed) {
		list_remove(tcp, conn);
		list_append(tcp, conn, busy);
	}
}

/* ---- Connections ---- */

static void conn_close(worker_t *worker, conn_t *conn)
{
	tcp_t *tcp = worker->memory;
	list_remove(tcp, conn);
	close(conn->fd);
	tcp_rest_done(&conn->in);
	tcp_rest_done(&conn->out);
	free(conn);
	tcp->clients--;
	atomic_fetch_sub_explicit(&worker->shared->tcp_clients, 1, memory_order_relaxed);
}

/* A reset instead of a FIN: the peer did not take what it asked for, so the kernel must not keep it for long either. */
static void conn_abort(worker_t *worker, conn_t *conn)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	(void)setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	conn_close(worker, conn);
}

static bool watch(tcp_t *tcp, conn_t *conn)
{
	uint32_t want = (conn->out.len > 0 ? EPOLLOUT : 0) | (conn->out.len == 0 && !conn->ended ? EPOLLIN : 0);
	if (want == conn->events) {
		return true;
	}
	struct epoll_event event = { .events = want, .data.ptr = conn };
	int op = conn->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
	conn->events = want;
	return epoll_ctl(tcp->epoll_fd, op, conn->fd, &event) == 0;
}

/* Send bytes; what the peer doesn't take now is kept. False: the connection is broken. */
static bool send_bytes(conn_t *conn, knot_bytes_t bytes, bool *progressed)
{
	size_t done = 0;
	while (done < bytes.len && conn->out.len == 0) {
		ssize_t sent = send(conn->fd, bytes.data + done, bytes.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent < 0 && errno != EAGAIN) {
			return false;
		}
		if (sent <= 0) {
			break;
		}
		*progressed |= tcp_progress(&conn->progress, (knot_bytes_t){ bytes.data + done, (size_t)sent }) > 0;
		done += (size_t)sent;
	}
	return tcp_rest_append(&conn->out, (knot_bytes_t){ bytes.data + done, bytes.len - done }) == KNOT_OK;
}

/* Send what was kept. False: broken. */
static bool send_rest(conn_t *conn, bool *progressed)
{
	while (conn->out.len > 0) {
		ssize_t sent = send(conn->fd, conn->out.data, conn->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent < 0) {
			return errno == EAGAIN;
		}
		*progressed |= tcp_progress(&conn->progress, (knot_bytes_t){ conn->out.data, (size_t)sent }) > 0;
		tcp_rest_drop(&conn->out, (size_t)sent);
	}
	return true;
}

/* Answer whole messages from *pos on while there is room for the largest reply. Returns the bytes put into tcp->out. */
static size_t answer_some(worker_t *worker, conn_t *conn, knot_bytes_t bytes, size_t *pos)
{
	tcp_t *tcp = worker->memory;
	size_t out_len = 0;
	answer_source_t source = {
		.transport = ANSWER_TCP,
		.remote = (const struct sockaddr *)&conn->remote,
		.local = (const struct sockaddr *)&conn->local,
	};
	module_protocol_t protocol = module_protocol(conn->remote.ss_family, ANSWER_TCP, false);
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(worker->shared->state, guard);
	traffic_begin(&tcp->traffic, RCU_LOAD(guard, worker->shared->looks.list_rcu), state);
	knot_bytes_t request;
	while (OUT_MAX - out_len >= FRAME_MAX && tcp_frame_next(bytes, pos, &request) == TCP_FRAME_WHOLE) {
		uint8_t *frame = tcp->out + out_len;
		size_t len = request_answer(&tcp->traffic, state, &source, NULL, protocol, request,
				(knot_mut_bytes_t){ frame + 2, NET_TCP_MESSAGE_MAX });
		if (len > 0) {
			store_be16(frame, (uint16_t)len);
			out_len += 2 + len;
		}
	}
	return out_len;
}

/* Answer and send everything whole in `bytes`, as far as the peer takes it; keep the rest. False: broken. */
static bool answer_run(worker_t *worker, conn_t *conn, knot_bytes_t bytes, bool *progressed)
{
	tcp_t *tcp = worker->memory;
	size_t pos = 0, before;
	do {
		before = pos;
		size_t out_len = answer_some(worker, conn, bytes, &pos);
		if (!send_bytes(conn, (knot_bytes_t){ tcp->out, out_len }, progressed)) {
			return false;
		}
	} while (pos > before && conn->out.len == 0);
	*progressed |= pos > 0;
	return tcp_rest_append(&conn->in, (knot_bytes_t){ bytes.data + pos, bytes.len - pos }) == KNOT_OK;
}

/* The same, counted: the run is a batch. */
static bool answer_bytes(worker_t *worker, conn_t *conn, knot_bytes_t bytes, bool *progressed)
{
	tcp_t *tcp = worker->memory;
	uint64_t start_ns = sys_clock_ns();
	bool is_alive = answer_run(worker, conn, bytes, progressed);
	if (!traffic_is_empty(&tcp->traffic)) {
		traffic_end(worker->shared->traffic, &tcp->traffic, sys_clock_ns() - start_ns);
	}
	return is_alive;
}

/* Requests kept while the peer was slow: they, and what is read now, are answered as one run of bytes. */
static size_t take_kept(tcp_t *tcp, conn_t *conn)
{
	size_t kept = conn->in.len;
	if (kept > 0) {
		memcpy(tcp->in, conn->in.data, kept);
	}
	tcp_rest_done(&conn->in);
	return kept;
}

static bool has_whole_request(const conn_t *conn)
{
	size_t pos = 0;
	knot_bytes_t request;
	return tcp_frame_next((knot_bytes_t){ conn->in.data, conn->in.len }, &pos, &request) == TCP_FRAME_WHOLE;
}

/* False: close the connection. */
static bool read_turn(worker_t *worker, conn_t *conn, bool *progressed)
{
	tcp_t *tcp = worker->memory;
	size_t kept = take_kept(tcp, conn);
	size_t missing = tcp_frame_missing((knot_bytes_t){ tcp->in, kept });
	size_t want = missing > READ_CHUNK ? missing : READ_CHUNK;
	ssize_t got = recv(conn->fd, tcp->in + kept, want, MSG_DONTWAIT);
	if (got < 0 && errno != EAGAIN && errno != EINTR) {
		return false;
	}
	conn->ended = got == 0;
	size_t len = kept + (got > 0 ? (size_t)got : 0);
	return answer_bytes(worker, conn, (knot_bytes_t){ tcp->in, len }, progressed);
}

static bool write_turn(worker_t *worker, conn_t *conn, bool *progressed)
{
	tcp_t *tcp = worker->memory;
	if (!send_rest(conn, progressed)) {
		return false;
	}
	if (conn->out.len > 0 || !has_whole_request(conn)) {
		return true;
	}
	size_t kept = take_kept(tcp, conn);
	return answer_bytes(worker, conn, (knot_bytes_t){ tcp->in, kept }, progressed);
}

static void serve(worker_t *worker, conn_t *conn, uint32_t events)
{
	tcp_t *tcp = worker->memory;
	bool progressed = false, alive;
	if (conn->out.len > 0) {
		alive = (events & EPOLLERR) == 0 && write_turn(worker, conn, &progressed);
	} else {
		alive = read_turn(worker, conn, &progressed);
	}
	/* After the peer's end: what it asked before is still sent (RFC 7766 6.2.4 allows half-closed clients). */
	bool finished = conn->ended && conn->out.len == 0;
	if (!alive || finished || !watch(tcp, conn)) {
		conn_close(worker, conn);
		return;
	}
	list_update(tcp, conn, progressed);
}

/* ---- Listening ---- */

static void pause_accepting(worker_t *worker, unsigned pause_ms)
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

static bool resume_accepting(worker_t *worker)
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

static void accept_failed(worker_t *worker)
{
	enum { RETRY_MS = 200 };
	static sys_log_repeats_t repeats;
	int err = errno;
	if (err == EAGAIN || err == EINTR || err == ECONNABORTED || err == EPROTO || err == EPERM) {
		return; /* taken by another worker, or the peer is gone */
	}
	pause_accepting(worker, RETRY_MS);
	sys_log_repeated(&repeats, SYS_LOG_SERVER, LOG_WARNING, "TCP, failed to accept connection (%s)",
			knot_strerror(knot_err_of_errno(err)));
}

/* Take part in the common limit. False: it is reached. */
static bool claim_client(worker_t *worker)
{
	const tcp_t *tcp = worker->memory;
	if (atomic_fetch_add_explicit(&worker->shared->tcp_clients, 1, memory_order_relaxed) < tcp->clients_max) {
		return true;
	}
	atomic_fetch_sub_explicit(&worker->shared->tcp_clients, 1, memory_order_relaxed);
	return false;
}

static void conn_open(worker_t *worker, const worker_socket_t *sock, int fd, const struct sockaddr_storage *remote)
{
	tcp_t *tcp = worker->memory;
	conn_t *conn = calloc(1, sizeof(*conn));
	if (conn == NULL) {
		close(fd);
		atomic_fetch_sub_explicit(&worker->shared->tcp_clients, 1, memory_order_relaxed);
		return;
	}
	conn->fd = fd;
	conn->sock = sock;
	conn->remote = *remote;
	conn->local = sock->addr->ss;
	if (sock->wildcard) {
		socklen_t len = sizeof(conn->local);
		(void)getsockname(fd, (struct sockaddr *)&conn->local, &len);
	}
	tcp->clients++;
	list_append(tcp, conn, false);
	if (!watch(tcp, conn)) {
		conn_close(worker, conn);
	}
}

static void accept_some(worker_t *worker, const worker_socket_t *sock)
{
	enum { FULL_RETRY_MS = 50 };
	for (unsigned i = 0; i < NET_TCP_ACCEPT_BATCH; i++) {
		if (!claim_client(worker)) {
			pause_accepting(worker, FULL_RETRY_MS);
			return;
		}
		struct sockaddr_storage remote = { 0 };
		socklen_t len = sizeof(remote);
		int fd = accept4(sock->fd, (struct sockaddr *)&remote, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			int err = errno;
			atomic_fetch_sub_explicit(&worker->shared->tcp_clients, 1, memory_order_relaxed);
			errno = err;
			accept_failed(worker);
			return;
		}
		conn_open(worker, sock, fd, &remote);
	}
}

/* ---- Time ---- */

static void close_late(worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	while (tcp->io.first != NULL && tcp->io_max_ms > 0 && tcp->now_ms - tcp->io.first->since_ms >= tcp->io_max_ms) {
		sys_counters_add(worker->shared->counters, NET_COUNT_TCP_IO_TIMEOUT, 1);
		conn_abort(worker, tcp->io.first);
	}
	while (tcp->idle.first != NULL && tcp->now_ms - tcp->idle.first->since_ms >= tcp->idle_max_ms) {
		sys_counters_add(worker->shared->counters, NET_COUNT_TCP_IDLE_TIMEOUT, 1);
		conn_close(worker, tcp->idle.first);
	}
}

static uint64_t time_left(uint64_t now_ms, uint64_t since_ms, uint64_t max_ms)
{
	uint64_t passed = now_ms - since_ms;
	return passed < max_ms ? max_ms - passed : 0;
}

/* Until the next connection is late, or there is a reason to look again. */
static int poll_timeout(const tcp_t *tcp)
{
	uint64_t left = NET_POLL_MS;
	if (tcp->io.first != NULL && tcp->io_max_ms > 0) {
		uint64_t io = time_left(tcp->now_ms, tcp->io.first->since_ms, tcp->io_max_ms);
		left = io < left ? io : left;
	}
	if (tcp->idle.first != NULL) {
		uint64_t idle = time_left(tcp->now_ms, tcp->idle.first->since_ms, tcp->idle_max_ms);
		left = idle < left ? idle : left;
	}
	if (!tcp->accepts) {
		uint64_t again = tcp->accept_after_ms > tcp->now_ms ? tcp->accept_after_ms - tcp->now_ms : 0;
		left = again < left ? again : left;
	}
	return (int)left + 1; /* the coarse clock may be a tick behind: not before the limit */
}

static void read_limits(const worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	RCU_READ_SECTION(guard);
	const conf_server_t *conf = &state_load(worker->shared->state, guard)->conf->server;
	tcp->idle_max_ms = (uint64_t)conf->tcp_idle_timeout_s * 1000;
	tcp->io_max_ms = conf->tcp_io_timeout_ms;
	tcp->clients_max = conf->tcp_max_clients;
}

/* ---- The thread ---- */

static bool is_listener(const worker_t *worker, const void *ptr)
{
	const char *at = ptr, *first = (const char *)worker->sockets;
	return at >= first && at < first + worker->socket_count * sizeof(*worker->sockets);
}

/* Returns false when the worker has to end. */
static bool handle(worker_t *worker, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		void *ptr = events[i].data.ptr;
		if (ptr == worker) {
			return false;
		}
		if (is_listener(worker, ptr)) {
			accept_some(worker, ptr);
		} else {
			serve(worker, ptr, events[i].events);
		}
	}
	return true;
}

static bool start(worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	tcp->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event stop = { .events = EPOLLIN, .data.ptr = worker };
	return tcp->epoll_fd >= 0 && epoll_ctl(tcp->epoll_fd, EPOLL_CTL_ADD, worker->stop_fd, &stop) == 0 &&
	       resume_accepting(worker);
}

static void stop(worker_t *worker)
{
	tcp_t *tcp = worker->memory;
	while (tcp->idle.first != NULL) {
		conn_close(worker, tcp->idle.first);
	}
	while (tcp->io.first != NULL) {
		conn_close(worker, tcp->io.first);
	}
	if (tcp->epoll_fd >= 0) {
		close(tcp->epoll_fd);
	}
}

void tcp_worker_run(void *arg)
{
	worker_t *worker = arg;
	tcp_t *tcp = worker->memory;
	if (!start(worker)) {
		log_server(LOG_ERR, "TCP, failed to start worker (%s)", knot_strerror(knot_err_of_errno(errno)));
		stop(worker);
		return;
	}
	for (bool goes_on = true; goes_on;) {
		struct epoll_event events[NET_TCP_EVENTS];
		int count = epoll_wait(tcp->epoll_fd, events, NET_TCP_EVENTS, poll_timeout(tcp));
		tcp->now_ms = sys_clock_ms();
		read_limits(worker);
		goes_on = handle(worker, events, count);
		close_late(worker);
		if (!tcp->accepts && tcp->now_ms >= tcp->accept_after_ms && !resume_accepting(worker)) {
			pause_accepting(worker, NET_POLL_MS);
		}
	}
	stop(worker);
}
