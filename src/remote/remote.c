/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/remote.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "src/remote/peers.h"
#include "src/sys/clock.h"
#include "src/sys/lock.h"
#include "src/sys/thread.h"

enum {
	REMOTE_EVENTS = 128,
	REMOTE_TICK_MS = 50,    /* how late the end of a time limit may be noticed */
	REMOTE_LINGER_MS = 50,  /* before a connection is closed that carried questions and isn't kept */
	REMOTE_SPREAD = 16,     /* questions on a connection before another one is opened */
	REMOTE_READS_MAX = 16,  /* of a connection before others have their turn */
	REMOTE_READ_MAX = 4096, /* bytes of plain answers before that: some dozens, which take a millisecond */
};

struct remote {
	sys_thread_t thread;
	int epoll, wake; /* owned; wake: eventfd */
	struct {
		void (*ring)(void *ctx);
		void *ctx;
	} bell;
	sys_mutex_t lock;
	requests_t inbox SYS_GUARDED_BY(lock);
	bool is_stopping SYS_GUARDED_BY(lock);
	_Atomic uint32_t timeout_ms, pool_limit, pool_timeout_s, retry_delay_ms;
	/* Of the thread: */
	peers_t peers;
	uint64_t next_number, now_ms, now_s, tick_ms;
	unsigned idle_count; /* connections that are kept */
};

/* ---- Ends of requests ---- */

/** What is called when a request of a link ends. */
typedef struct {
	remote_t *remote;
	peer_t *peer;
} remote_end_t;

static void remote_note_end(remote_request_t *request, knot_err_t err, void *ctx)
{
	const remote_end_t *end = ctx;
	if (!request->is_counted) {
		return;
	}
	request->is_counted = false;
	uint64_t round_ms = atomic_load_explicit(&end->remote->timeout_ms, memory_order_relaxed);
	if (request->is_answered) {
		pace_answered(&end->peer->pace, end->remote->now_ms, request->took_ms);
	} else if (err == KNOT_ETIMEOUT) {
		pace_lost(&end->peer->pace, end->remote->now_ms, round_ms);
	} else {
		pace_forgotten(&end->peer->pace);
	}
}

static void remote_fail_queued(peer_t *peer, knot_err_t err)
{
	for (unsigned i = 0; i < PEER_QUEUES; i++) {
		requests_t failed = peer->queues[i];
		peer->queues[i].first = NULL;
		for (remote_request_t *request; (request = requests_take(&failed)) != NULL;) {
			request->is_answered = false;
			request->on_end(request, err);
		}
	}
}

/* ---- Connections ---- */

static void wire_set_kind(wire_t *wire, wire_kind_t kind)
{
	wire->peer->counts[wire->kind]--;
	wire->peer->counts[kind]++;
	wire->kind = kind;
}

static void wire_free(wire_t *take_wire)
{
	take_wire->peer->counts[take_wire->kind]--;
	close(take_wire->fd);
	link_done(&take_wire->link);
	free(take_wire);
}

static uint16_t remote_random(void)
{
	uint16_t number = 0;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
		number = (uint16_t)(sys_clock_ns() * 0x9e3779b97f4a7c15 >> 48);
	}
	return number;
}

static knot_err_t wire_open(remote_t *remote, peer_t *peer, wire_kind_t kind, wire_t **ret_wire)
{
	wire_t *wire = calloc(1, sizeof(*wire));
	if (wire == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = peer_connect(peer, &wire->fd);
	if (err != KNOT_OK) {
		free(wire);
		return err;
	}
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.ptr = wire };
	if (epoll_ctl(remote->epoll, EPOLL_CTL_ADD, wire->fd, &event) != 0) {
		err = knot_err_of_errno(errno);
		close(wire->fd);
		free(wire);
		return err;
	}
	link_init(&wire->link, remote_random());
	wire->peer = peer;
	wire->number = ++remote->next_number;
	wire->kind = kind;
	wire->wants_out = true;
	wire->begun_ms = remote->now_ms;
	peer->counts[kind]++;
	wire->next = peer->wires;
	peer->wires = wire;
	*ret_wire = wire;
	return KNOT_OK;
}

static knot_err_t remote_map_err(int errnum)
{
	bool is_reset = errnum == ECONNREFUSED || errnum == ECONNRESET || errnum == EPIPE || errnum == ENOENT;
	return is_reset ? KNOT_ECONNRESET : knot_err_of_errno(errnum);
}

static unsigned remote_queue_of(const remote_request_t *request)
{
	return request->is_stream ? PEER_STREAMS : request->is_urgent ? PEER_URGENT : PEER_PLAIN;
}

/*
 * The connection is of no use any more. What was asked after other questions had been answered may be asked again on
 * another one: servers close connections after some answers or some time, or end while their successor has begun.
 */
static void wire_fail(remote_t *remote, wire_t *wire, knot_err_t err)
{
	peer_t *peer = wire->peer;
	remote_end_t end = { remote, peer };
	bool may_repeat = wire->link.answered > 0;
	wire->link.is_over = true;
	for (remote_request_t *request; (request = link_take(&wire->link)) != NULL;) {
		bool is_change = request->query.opcode == KNOT_OPCODE_UPDATE; /* the server may have made it */
		bool is_begun = request->is_stream && request->is_answered;
		bool is_repeated = may_repeat && !is_begun && !is_change && ++request->try_count < REMOTE_TRIES_MAX;
		peer->ends_streams |= is_repeated && request->is_stream;
		request->is_answered = request->is_answered && !is_repeated;
		remote_note_end(request, err, &end);
		if (is_repeated) {
			requests_put_first(&peer->queues[remote_queue_of(request)], request);
		} else {
			request->on_end(request, err);
		}
	}
	if (!wire->is_connected) {
		uint32_t delay_ms = atomic_load_explicit(&remote->retry_delay_ms, memory_order_relaxed);
		peer->unreachable_ms = err == KNOT_ETIMEOUT && delay_ms > 0 ? remote->now_ms + delay_ms : 0;
		remote_fail_queued(peer, err);
	}
}

static void wire_watch(remote_t *remote, wire_t *wire)
{
	bool wants_out = !wire->is_connected || link_pending(&wire->link).len > 0;
	if (wants_out != wire->wants_out) {
		struct epoll_event event = { .events = EPOLLIN | (wants_out ? EPOLLOUT : 0), .data.ptr = wire };
		wire->wants_out = wants_out;
		(void)epoll_ctl(remote->epoll, EPOLL_CTL_MOD, wire->fd, &event);
	}
}

static void wire_send(remote_t *remote, wire_t *wire)
{
	knot_bytes_t bytes;
	while (wire->is_connected && (bytes = link_pending(&wire->link)).len > 0) {
		ssize_t sent = send(wire->fd, bytes.data, bytes.len, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR) {
			continue;
		}
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			break;
		}
		if (sent < 0) {
			wire_fail(remote, wire, remote_map_err(errno));
			return;
		}
		link_note_sent(&wire->link, (size_t)sent);
	}
	wire_watch(remote, wire);
}

static void wire_receive(remote_t *remote, wire_t *wire)
{
	remote_end_t end = { remote, wire->peer };
	bool is_plain = wire->link.stream_count == 0;
	for (unsigned i = 0; i < (is_plain ? 1 : REMOTE_READS_MAX); i++) {
		knot_mut_bytes_t room = link_room(&wire->link);
		room.len = is_plain && room.len > REMOTE_READ_MAX ? REMOTE_READ_MAX : room.len;
		if (room.len == 0) {
			wire_fail(remote, wire, KNOT_ENOMEM);
			return;
		}
		ssize_t len = recv(wire->fd, room.data, room.len, 0);
		if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		}
		if (len <= 0) {
			wire_fail(remote, wire, len == 0 ? KNOT_ECONNRESET : remote_map_err(errno));
			return;
		}
		link_note_received(&wire->link, (size_t)len, remote->now_ms, remote->now_s, remote_note_end, &end);
		if ((size_t)len < room.len) {
			return;
		}
	}
}

static void wire_on_event(remote_t *remote, wire_t *wire, uint32_t events)
{
	peers_touch(&remote->peers, wire->peer);
	if (!wire->is_connected) {
		int errnum = 0;
		socklen_t size = sizeof(errnum);
		(void)getsockopt(wire->fd, SOL_SOCKET, SO_ERROR, &errnum, &size);
		if (errnum != 0) {
			wire_fail(remote, wire, remote_map_err(errnum));
			return;
		}
		wire->is_connected = true;
		wire->peer->unreachable_ms = 0;
	}
	if ((events & EPOLLOUT) != 0) {
		wire_send(remote, wire);
	}
	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
		wire_receive(remote, wire);
	}
}

/* ---- Asking ---- */

/* Put a question on a connection. It is sent with others when the peer has been looked at. */
static void wire_ask(remote_t *remote, wire_t *wire, remote_request_t *request)
{
	peer_t *peer = wire->peer;
	peers_touch(&remote->peers, peer);
	knot_err_t err = link_put(&wire->link, request, remote->now_ms, remote->now_s);
	if (err != KNOT_OK) {
		request->on_end(request, err);
		return;
	}
	request->is_pooled = wire->was_idle;
	request->link = wire->number;
	request->is_counted = !request->is_stream;
	if (request->is_counted) {
		pace_sent(&peer->pace);
	}
	remote->idle_count -= wire->idle_ms != 0;
	wire->idle_ms = wire->empty_ms = 0;
}

/* Transfers weigh more than any number of questions. */
static unsigned wire_weight(const wire_t *wire)
{
	return wire->link.stream_count * LINK_ROOM + wire->link.count;
}

/* The connection of a kind that carries least; NULL: none has room. */
static wire_t *peer_find_lightest(const peer_t *peer, wire_kind_t kind)
{
	wire_t *best = NULL;
	for (wire_t *wire = peer->wires; wire != NULL; wire = wire->next) {
		bool is_usable = wire->kind == kind && link_has_room(&wire->link);
		best = is_usable && (best == NULL || wire_weight(wire) < wire_weight(best)) ? wire : best;
	}
	return best;
}

static wire_t *peer_find_idle(const peer_t *peer)
{
	wire_t *wire = peer->wires;
	while (wire != NULL && (wire->idle_ms == 0 || !link_has_room(&wire->link))) {
		wire = wire->next;
	}
	return wire;
}

/* A connection whose transfer has ended, if the server lets another one follow. */
static wire_t *peer_find_free_stream(const peer_t *peer)
{
	wire_t *wire = peer->ends_streams ? NULL : peer->wires;
	while (wire != NULL && (wire->kind != WIRE_STREAM || wire->link.count > 0 || !wire->is_connected ||
					       !link_has_room(&wire->link))) {
		wire = wire->next;
	}
	return wire;
}

/* The connection for a plain question; NULL: another one is to be opened. */
static wire_t *peer_find_plain(const peer_t *peer)
{
	wire_t *best = peer_find_lightest(peer, WIRE_PLAIN);
	bool is_busy = best != NULL && wire_weight(best) >= REMOTE_SPREAD;
	return is_busy && peer->counts[WIRE_PLAIN] < REMOTE_LINKS_MAX ? NULL : best;
}

/* For an urgent one. If other questions took all of the server's connections, it shares one with them. */
static wire_t *peer_find_urgent(const peer_t *peer)
{
	wire_t *best = peer_find_lightest(peer, WIRE_URGENT), *idle = peer_find_idle(peer);
	if (best != NULL && wire_weight(best) < REMOTE_SPREAD) {
		return best;
	}
	if (idle != NULL && peer->counts[WIRE_URGENT] < REMOTE_URGENT_MAX) {
		wire_set_kind(idle, WIRE_URGENT);
		return idle;
	}
	return peer->counts[WIRE_URGENT] < REMOTE_URGENT_MAX ? NULL : best;
}

static wire_t *peer_find_number(const peer_t *peer, uint64_t number)
{
	wire_t *wire = peer->wires;
	while (wire != NULL && wire->number != number) {
		wire = wire->next;
	}
	return wire;
}

/* Ask what is next in a queue, on a connection that is open or on a new one. */
static void peer_ask_next(remote_t *remote, peer_t *peer, unsigned which, wire_t *wire)
{
	static const wire_kind_t kinds[] = {
		[PEER_URGENT] = WIRE_URGENT, [PEER_PLAIN] = WIRE_PLAIN, [PEER_STREAMS] = WIRE_STREAM
	};
	knot_err_t err = KNOT_OK;
	if (wire == NULL) {
		err = wire_open(remote, peer, kinds[which], &wire);
	}
	remote_request_t *request = requests_take(&peer->queues[which]);
	if (err == KNOT_OK) {
		wire_ask(remote, wire, request);
	} else {
		request->is_answered = false;
		request->on_end(request, remote_map_err(-(int)err));
	}
}

static void peer_ask_urgent(remote_t *remote, peer_t *peer)
{
	/* They may exceed the window, as they are few and must not wait for others. */
	while (peer->queues[PEER_URGENT].first != NULL) {
		wire_t *wire = peer_find_urgent(peer);
		if (wire == NULL && peer->counts[WIRE_URGENT] >= REMOTE_URGENT_MAX) {
			return;
		}
		peer_ask_next(remote, peer, PEER_URGENT, wire);
	}
}

static void peer_ask_plain(remote_t *remote, peer_t *peer)
{
	while (peer->queues[PEER_PLAIN].first != NULL && pace_has_room(&peer->pace)) {
		wire_t *wire = peer_find_plain(peer);
		if (wire == NULL && peer->counts[WIRE_PLAIN] >= REMOTE_LINKS_MAX) {
			return;
		}
		peer_ask_next(remote, peer, PEER_PLAIN, wire);
	}
}

static void peer_ask_streams(remote_t *remote, peer_t *peer)
{
	while (peer->queues[PEER_STREAMS].first != NULL) {
		wire_t *wire = peer_find_idle(peer);
		wire = wire != NULL ? wire : peer_find_free_stream(peer);
		if (wire == NULL && peer->counts[WIRE_STREAM] >= REMOTE_STREAMS_MAX) {
			return;
		}
		peer_ask_next(remote, peer, PEER_STREAMS, wire);
	}
}

static void peer_dispatch(remote_t *remote, peer_t *peer)
{
	if (peer->unreachable_ms > remote->now_ms) {
		remote_fail_queued(peer, KNOT_EUNREACHABLE);
		return;
	}
	peer_ask_urgent(remote, peer);
	peer_ask_plain(remote, peer);
	peer_ask_streams(remote, peer);
	for (wire_t *wire = peer->wires; wire != NULL; wire = wire->next) {
		wire_send(remote, wire);
	}
}

/* From the inbox to the connection that it keeps, or into the queue of its server. */
static void remote_route(remote_t *remote, remote_request_t *request)
{
	peer_t *peer = peers_get(&remote->peers, request);
	if (peer == NULL) {
		request->on_end(request, KNOT_ENOMEM);
		return;
	}
	wire_t *wire = request->keeps_connection ? peer_find_number(peer, request->link) : NULL;
	if (wire != NULL && link_has_room(&wire->link)) {
		wire_ask(remote, wire, request);
		return;
	}
	requests_put(&peer->queues[remote_queue_of(request)], request);
	peers_touch(&remote->peers, peer);
}

static bool remote_take_inbox(remote_t *remote, requests_t *ret_requests)
{
	sys_mutex_lock(&remote->lock);
	*ret_requests = remote->inbox;
	remote->inbox.first = NULL;
	bool is_stopping = remote->is_stopping;
	sys_mutex_unlock(&remote->lock);
	return is_stopping;
}

/* ---- Time ---- */

/* A connection without questions: kept for later ones, or not. */
static bool wire_is_kept(remote_t *remote, wire_t *wire)
{
	uint32_t limit = atomic_load_explicit(&remote->pool_limit, memory_order_relaxed);
	uint64_t keep_ms = UINT64_C(1000) * atomic_load_explicit(&remote->pool_timeout_s, memory_order_relaxed);
	if (wire->link.is_over || !wire->is_connected) {
		return false;
	}
	if (wire->idle_ms != 0) {
		return remote->now_ms - wire->idle_ms < keep_ms && remote->idle_count <= limit;
	}
	if (remote->idle_count >= limit) {
		return false;
	}
	wire_set_kind(wire, WIRE_PLAIN);
	wire->was_idle = true;
	wire->idle_ms = remote->now_ms;
	remote->idle_count++;
	return true;
}

/* True while it waits for more questions: as soon as one was answered, the next may be on its way here. */
static bool wire_lingers(const remote_t *remote, wire_t *wire)
{
	if (wire->link.is_over || wire->idle_ms != 0) {
		return false;
	}
	if (wire->kind == WIRE_STREAM) { /* for the transfer that waits for a connection */
		return wire->peer->queues[PEER_STREAMS].first != NULL && !wire->peer->ends_streams;
	}
	wire->empty_ms = wire->empty_ms != 0 ? wire->empty_ms : remote->now_ms;
	return remote->now_ms - wire->empty_ms < REMOTE_LINGER_MS;
}

static void wire_tick(remote_t *remote, wire_t *wire)
{
	remote_end_t end = { remote, wire->peer };
	uint32_t timeout_ms = atomic_load_explicit(&remote->timeout_ms, memory_order_relaxed);
	if (wire->link.is_over && wire->link.count == 0) {
		return; /* it has failed */
	}
	if (!wire->is_connected && timeout_ms > 0 && remote->now_ms - wire->begun_ms >= timeout_ms) {
		wire_fail(remote, wire, KNOT_ETIMEOUT);
	} else if (wire->is_connected) {
		link_expire(&wire->link, remote->now_ms, timeout_ms, remote_note_end, &end);
	}
}

/* Close what isn't used any more. Here only, so that no event names a connection that is gone. */
static void peer_sweep(remote_t *remote, peer_t *peer, bool is_tick)
{
	for (wire_t **at = &peer->wires; *at != NULL;) {
		wire_t *wire = *at;
		if (is_tick) {
			wire_tick(remote, wire);
		}
		if (wire->link.count > 0 || wire_is_kept(remote, wire) || wire_lingers(remote, wire)) {
			at = &wire->next;
			continue;
		}
		*at = wire->next;
		remote->idle_count -= wire->idle_ms != 0;
		wire_free(wire);
	}
}

/* Look at all servers. */
static void remote_tick(remote_t *remote)
{
	remote->tick_ms = remote->now_ms;
	for (peer_t **at = &remote->peers.all; *at != NULL;) {
		peer_sweep(remote, *at, true);
		peer_dispatch(remote, *at);
		if (peer_is_idle(*at, remote->now_ms)) {
			peers_drop(&remote->peers, at);
		} else {
			at = &(*at)->next;
		}
	}
}

/* Look at those to which something happened. True if some server has a connection or something in its queues. */
static bool remote_sweep(remote_t *remote)
{
	/* What touches one again while it is looked at is seen in the next turn, after other servers. */
	peer_t *touched = remote->peers.touched;
	remote->peers.touched = NULL;
	while (touched != NULL) {
		peer_t *peer = touched;
		touched = peer->next_touched;
		peer->is_touched = false;
		peer_sweep(remote, peer, false);
		peer_dispatch(remote, peer);
	}
	if (remote->now_ms - remote->tick_ms >= REMOTE_TICK_MS) {
		remote_tick(remote);
	}
	return remote->peers.all != NULL;
}

/* ---- The thread ---- */

static void remote_end_all(remote_t *remote)
{
	requests_t requests;
	(void)remote_take_inbox(remote, &requests);
	for (remote_request_t *request; (request = requests_take(&requests)) != NULL;) {
		request->on_end(request, KNOT_ESTOPPED);
	}
	remote->peers.touched = NULL;
	while (remote->peers.all != NULL) {
		peer_t *peer = remote->peers.all;
		remote_fail_queued(peer, KNOT_ESTOPPED);
		while (peer->wires != NULL) {
			wire_t *wire = peer->wires;
			for (remote_request_t *request; (request = link_take(&wire->link)) != NULL;) {
				request->on_end(request, KNOT_ESTOPPED);
			}
			peer->wires = wire->next;
			wire_free(wire);
		}
		peers_drop(&remote->peers, &remote->peers.all);
	}
}

static void remote_handle(remote_t *remote, const struct epoll_event *event)
{
	uint64_t count;
	if (event->data.ptr == &remote->bell) {
		remote->bell.ring(remote->bell.ctx);
	} else if (event->data.ptr != NULL) {
		wire_on_event(remote, event->data.ptr, event->events);
	} else if (read(remote->wake, &count, sizeof(count)) < 0) {
		assert(errno == EAGAIN || errno == EINTR);
	}
}

static void remote_run(void *arg)
{
	remote_t *remote = arg;
	struct epoll_event events[REMOTE_EVENTS];
	bool is_busy = false, is_stopping = false;
	while (!is_stopping) {
		requests_t requests;
		int wait_ms = remote->peers.touched != NULL ? 0 : is_busy ? REMOTE_TICK_MS : -1;
		int count = epoll_wait(remote->epoll, events, REMOTE_EVENTS, wait_ms);
		remote->now_ms = sys_clock_ms();
		remote->now_s = sys_clock_wall();
		for (int i = 0; i < count; i++) {
			remote_handle(remote, &events[i]);
		}
		is_stopping = remote_take_inbox(remote, &requests);
		for (remote_request_t *request; (request = requests_take(&requests)) != NULL;) {
			remote_route(remote, request);
		}
		is_busy = remote_sweep(remote);
	}
	remote_end_all(remote);
}

/* ---- From other threads ---- */

static void remote_wake(remote_t *remote)
{
	(void)eventfd_write(remote->wake, 1);
}

knot_err_t remote_ask(remote_t *remote, remote_request_t *request)
{
	if (request->remote->quic || request->remote->tls) {
		return KNOT_ENOTSUP;
	}
	request->try_count = 0;
	request->is_counted = request->is_answered = false;
	sys_mutex_lock(&remote->lock);
	bool is_stopping = remote->is_stopping, was_empty = remote->inbox.first == NULL;
	if (!is_stopping) {
		requests_put(&remote->inbox, request);
	}
	sys_mutex_unlock(&remote->lock);
	if (!is_stopping && was_empty) {
		remote_wake(remote);
	}
	return is_stopping ? KNOT_ESTOPPED : KNOT_OK;
}

void remote_configure(remote_t *remote, const conf_server_t *conf)
{
	atomic_store_explicit(&remote->timeout_ms, conf->tcp_remote_io_timeout_ms, memory_order_relaxed);
	atomic_store_explicit(&remote->pool_limit, conf->remote_pool_limit, memory_order_relaxed);
	atomic_store_explicit(&remote->pool_timeout_s, conf->remote_pool_timeout_s, memory_order_relaxed);
	atomic_store_explicit(&remote->retry_delay_ms, conf->remote_retry_delay_ms, memory_order_relaxed);
}

knot_err_t remote_new(const conf_server_t *conf, remote_t **ret_remote)
{
	remote_t *remote = calloc(1, sizeof(*remote));
	if (remote == NULL) {
		return KNOT_ENOMEM;
	}
	remote->epoll = epoll_create1(EPOLL_CLOEXEC);
	remote->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct epoll_event event = { .events = EPOLLIN };
	if (remote->epoll < 0 || remote->wake < 0 ||
			epoll_ctl(remote->epoll, EPOLL_CTL_ADD, remote->wake, &event) != 0) {
		knot_err_t err = knot_err_of_errno(errno);
		close(remote->epoll);
		close(remote->wake);
		free(remote);
		return err;
	}
	sys_mutex_init(&remote->lock);
	remote_configure(remote, conf);
	*ret_remote = remote;
	return KNOT_OK;
}

knot_err_t remote_set_bell(remote_t *remote, int fd, void (*ring)(void *ctx), void *ctx)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = &remote->bell };
	remote->bell.ring = ring;
	remote->bell.ctx = ctx;
	return epoll_ctl(remote->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

knot_err_t remote_start(remote_t *remote)
{
	remote->thread = (sys_thread_t){ .name = "remote", .cpu = -1, .run = remote_run, .arg = remote };
	return sys_thread_start(&remote->thread);
}

void remote_stop(remote_t *remote)
{
	sys_mutex_lock(&remote->lock);
	remote->is_stopping = true;
	sys_mutex_unlock(&remote->lock);
	remote_wake(remote);
	sys_thread_join(&remote->thread);
}

void remote_free(remote_t *take_remote)
{
	if (take_remote == NULL) {
		return;
	}
	assert(take_remote->inbox.first == NULL && take_remote->peers.all == NULL);
	close(take_remote->epoll);
	close(take_remote->wake);
	sys_mutex_done(&take_remote->lock);
	free(take_remote);
}
