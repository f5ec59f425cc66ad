/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP over ordinary sockets: a connection per query, or, in mode R, connections that are kept and have one query after
 * another. At most gun->clients connections at a time: where all are busy, queries wait, and their latency counts from
 * when they were due. Transfers are read to their end.
 */
#include "src/tools/load/socket_lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, STREAM_MAX = 2 + 65535, SEND_MAX = 64 };

typedef struct {
	int fd; /* -1: free */
	bool is_connected, is_idle;
	uint64_t number; /* of the query under way */
	uint64_t sent_ns;
	uint32_t next; /* of the list of free or idle ones */
	uint16_t out_len, out_sent;
	uint32_t in_len, in_room;
	uint8_t *in; /* owned; NULL: nothing half received */
	worker_transfer_t transfer;
	uint8_t out[MESSAGE_MAX + 2];
} tcp_conn_t;

enum { NO_CONN = UINT32_MAX };

typedef struct {
	lane_t *lane;
	int epoll_fd;
	tcp_conn_t *conns; /* owned */
	uint32_t count;
	uint32_t free_first, idle_first;
	uint32_t busy;             /* connections whose query isn't answered */
	uint32_t swept;            /* where the next look for queries that were given up begins */
	uint8_t bytes[STREAM_MAX]; /* of one read */
} tcp_t;

static bool socket_tcp_open(tcp_t *t, lane_t *lane)
{
	*t = (tcp_t){
		.lane = lane, .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .free_first = NO_CONN, .idle_first = NO_CONN
	};
	t->conns = calloc(lane->gun->clients, sizeof(*t->conns));
	if (t->conns == NULL || t->epoll_fd < 0 || !socket_lane_allow(lane, lane->gun->clients)) {
		return false;
	}
	t->count = lane->gun->clients;
	for (uint32_t i = t->count; i-- > 0;) {
		t->conns[i].fd = -1;
		t->conns[i].next = t->free_first;
		t->free_first = i;
	}
	return true;
}

static void socket_tcp_end(tcp_t *t, uint32_t index)
{
	tcp_conn_t *c = &t->conns[index];
	close(c->fd);
	free(c->in);
	*c = (tcp_conn_t){ .fd = -1, .next = t->free_first };
	t->free_first = index;
}

static void socket_tcp_close(tcp_t *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->conns[i].fd >= 0) {
			socket_tcp_end(t, i);
		}
	}
	free(t->conns);
	close(t->epoll_fd);
	free(t);
}

/* The query has no answer and gets none. */
static void socket_tcp_fail(tcp_t *t, uint32_t index, bool is_reset)
{
	worker_t *w = &t->lane->worker;
	tcp_conn_t *c = &t->conns[index];
	if (!c->is_idle) {
		t->busy--;
		worker_lose(w, c->number);
	}
	worker_add(&w->counts.reset, is_reset);
	if (c->is_idle) { /* out of the list of idle ones */
		uint32_t *at = &t->idle_first;
		while (*at != index) {
			at = &t->conns[*at].next;
		}
		*at = c->next;
	}
	socket_tcp_end(t, index);
}

static void socket_tcp_write(tcp_t *t, uint32_t index)
{
	tcp_conn_t *c = &t->conns[index];
	while (c->is_connected && c->out_sent < c->out_len) {
		ssize_t sent = send(c->fd, c->out + c->out_sent, (size_t)(c->out_len - c->out_sent), MSG_NOSIGNAL);
		if (sent < 0) {
			if (errno != EAGAIN && errno != EINTR) {
				socket_tcp_fail(t, index, errno == ECONNRESET || errno == EPIPE);
			}
			return;
		}
		c->out_sent = (uint16_t)(c->out_sent + sent);
	}
}

/* A connection for the next query: an idle one, or a new one. False: none now. */
static bool socket_tcp_take_conn(tcp_t *t, uint32_t *ret_index)
{
	if (t->idle_first != NO_CONN) {
		*ret_index = t->idle_first;
		t->idle_first = t->conns[*ret_index].next;
		t->conns[*ret_index].is_idle = false;
		return true;
	}
	if (t->free_first == NO_CONN) {
		return false;
	}
	int fd = socket_lane_open(t->lane, SOCK_STREAM);
	if (fd < 0) {
		return false;
	}
	uint32_t index = t->free_first;
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP, .data.u32 = index };
	if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		close(fd);
		return false;
	}
	t->free_first = t->conns[index].next;
	t->conns[index] = (tcp_conn_t){ .fd = fd };
	worker_add(&t->lane->worker.counts.opened, 1);
	*ret_index = index;
	return true;
}

static unsigned socket_tcp_send(tcp_t *t)
{
	worker_t *w = &t->lane->worker;
	unsigned count = 0;
	uint64_t now_ns = gun_now(t->lane->gun);
	uint32_t index;
	while (count < SEND_MAX && worker_due(w) <= now_ns && t->lane->error[0] == '\0' &&
			socket_tcp_take_conn(t, &index)) {
		tcp_conn_t *c = &t->conns[index];
		worker_query_t query;
		worker_next(w, now_ns, true, c->out, &query);
		c->number = query.number;
		c->sent_ns = now_ns;
		c->out_len = (uint16_t)query.len;
		c->out_sent = 0;
		t->busy++;
		c->transfer = (worker_transfer_t){ 0 };
		socket_tcp_write(t, index);
		count++;
	}
	return count;
}

/* Its query is answered. */
static void socket_tcp_answered(tcp_t *t, uint32_t index)
{
	tcp_conn_t *c = &t->conns[index];
	t->busy--;
	if (t->lane->gun->options->mode == MODE_REUSE) {
		c->is_idle = true;
		c->next = t->idle_first;
		t->idle_first = index;
		return;
	}
	worker_add(&t->lane->worker.counts.closed, 1);
	socket_tcp_end(t, index);
}

/* A message. True: the query is answered. */
static bool socket_tcp_message(tcp_t *t, tcp_conn_t *c, knot_bytes_t message)
{
	worker_t *w = &t->lane->worker;
	const profile_t profile = t->lane->gun->options->profile;
	const worker_reply_t reply = { .now_ns = gun_now(t->lane->gun), .message = message };
	if (profile == PROFILE_AXFR || profile == PROFILE_IXFR) {
		worker_transfer_state_t state = worker_receive_transfer(w, &c->transfer, message);
		if (state == TRANSFER_MORE) {
			return false;
		}
	}
	flight_verdict_t verdict = worker_receive_number(w, c->number, &reply);
	return verdict == FLIGHT_MATCHED || verdict == FLIGHT_LATE;
}

/* Keep the rest of a message for later. False: no memory. */
static bool socket_tcp_keep(tcp_conn_t *c, knot_bytes_t rest)
{
	if (c->in_len + rest.len > c->in_room) {
		size_t room = c->in_len + rest.len < 1024    ? 1024
			      : c->in_len + rest.len < 16384 ? 16384
							     : 2 * STREAM_MAX;
		uint8_t *in = realloc(c->in, room);
		if (in == NULL) {
			return false;
		}
		c->in = in;
		c->in_room = (uint32_t)room;
	}
	memcpy(c->in + c->in_len, rest.data, rest.len);
	c->in_len += (uint32_t)rest.len;
	return true;
}

/* Messages of bytes[0..len); *io_rest: what is left of a half one. True: the query is answered. */
static bool socket_tcp_split(tcp_t *t, tcp_conn_t *c, knot_bytes_t *io_rest)
{
	while (io_rest->len >= 2 && io_rest->len >= 2u + load_be16(io_rest->data)) {
		size_t len = load_be16(io_rest->data);
		bool is_answered = socket_tcp_message(t, c, (knot_bytes_t){ io_rest->data + 2, len });
		*io_rest = (knot_bytes_t){ io_rest->data + 2 + len, io_rest->len - 2 - len };
		if (is_answered) {
			return true;
		}
	}
	return false;
}

typedef enum { TCP_GOES_ON, TCP_ANSWERED, TCP_ENDED } tcp_state_t;

static tcp_state_t socket_tcp_read(tcp_t *t, tcp_conn_t *c)
{
	for (;;) {
		ssize_t got = recv(c->fd, t->bytes, sizeof(t->bytes), 0);
		if (got <= 0) {
			bool is_over = got == 0 || (errno != EAGAIN && errno != EINTR);
			return is_over ? TCP_ENDED : TCP_GOES_ON;
		}
		knot_bytes_t rest = { t->bytes, (size_t)got };
		if (c->in_len > 0) {
			if (!socket_tcp_keep(c, rest)) {
				return TCP_ENDED;
			}
			rest = (knot_bytes_t){ c->in, c->in_len };
		}
		bool is_answered = socket_tcp_split(t, c, &rest);
		if (c->in_len > 0) {
			memmove(c->in, rest.data, rest.len);
			c->in_len = (uint32_t)rest.len;
		} else if (rest.len > 0 && !socket_tcp_keep(c, rest)) {
			return TCP_ENDED;
		}
		if (is_answered) {
			return TCP_ANSWERED;
		}
	}
}

static void socket_tcp_handle(tcp_t *t, const struct epoll_event *event)
{
	const uint32_t index = event->data.u32;
	tcp_conn_t *c = &t->conns[index];
	if (c->fd < 0) {
		return; /* ended by an event before this one */
	}
	if (!c->is_connected && (event->events & EPOLLOUT) != 0 && (event->events & EPOLLERR) == 0) {
		c->is_connected = true;
		worker_add(&t->lane->worker.counts.established, 1);
		socket_tcp_write(t, index);
		if (c->fd < 0) {
			return;
		}
	}
	tcp_state_t state = TCP_GOES_ON;
	if ((event->events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0) {
		state = socket_tcp_read(t, c);
	} else if (c->is_connected) {
		socket_tcp_write(t, index);
	}
	if (state == TCP_ANSWERED) {
		socket_tcp_answered(t, index);
	} else if (state == TCP_ENDED) {
		socket_tcp_fail(t, index, (event->events & EPOLLERR) != 0);
	}
}

static unsigned socket_tcp_receive(tcp_t *t, uint64_t sleep_ns)
{
	struct epoll_event events[EVENTS_MAX];
	unsigned ready = socket_lane_wait(t->epoll_fd, sleep_ns, events, EVENTS_MAX);
	for (unsigned i = 0; i < ready; i++) {
		socket_tcp_handle(t, &events[i]);
	}
	return ready;
}

/* Connections whose query was given up make room for others; a few at a time. */
static void socket_tcp_sweep(tcp_t *t)
{
	const uint64_t now_ns = gun_now(t->lane->gun), timeout_ns = t->lane->gun->plan.timeout_ns;
	for (unsigned i = 0; i < SEND_MAX && t->count > 0; i++) {
		t->swept = (t->swept + 1) % t->count;
		tcp_conn_t *c = &t->conns[t->swept];
		/* A transfer may take as long as it goes on. */
		bool is_late = c->fd >= 0 && !c->is_idle && now_ns - c->sent_ns > timeout_ns &&
			       c->transfer.records == 0;
		if (is_late) {
			socket_tcp_fail(t, t->swept, false);
		}
	}
}

void socket_tcp_run(lane_t *lane)
{
	tcp_t *t = malloc(sizeof(*t));
	if (t == NULL) {
		snprintf(lane->error, sizeof(lane->error), "not enough memory");
		return;
	}
	bool is_open = socket_tcp_open(t, lane);
	uint64_t last_ns = gun_now(lane->gun), sleep_ns = 0;
	while (is_open) {
		uint64_t now_ns = gun_now(lane->gun);
		lane_phase_t phase = lane_phase(lane, now_ns, &last_ns);
		bool is_over = phase == LANE_ENDS || (phase == LANE_RECEIVES && t->busy == 0);
		if (is_over || lane->error[0] != '\0') {
			break;
		}
		if (lane->worker.chains != NULL) {
			lane->worker.now_s = (uint64_t)time(NULL);
		}
		unsigned sent = phase == LANE_SENDS ? socket_tcp_send(t) : 0;
		unsigned received = socket_tcp_receive(t, sleep_ns);
		socket_tcp_sweep(t);
		sleep_ns = 0;
		if (sent == 0 && received == 0) {
			/* Queries that are due wait for a connection: an event will tell. */
			sleep_ns = lane_sleep_ns(lane, gun_now(lane->gun));
			bool is_blocked = worker_due(&lane->worker) <= now_ns && phase == LANE_SENDS;
			sleep_ns = is_blocked ? 100000 : sleep_ns;
		}
	}
	socket_tcp_close(t);
}
