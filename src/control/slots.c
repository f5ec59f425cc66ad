/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/slots.h"

#include "src/sys/clock.h"
#include "src/sys/lock.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	RETRY_MS = 50,     /* how soon to look again for a connection to close, where all are busy */
	FAILURE_MS = 1000, /* no descriptors, no memory: don't spin */
};

typedef struct {
	slots_t *slots;
	unsigned socket;
	sys_thread_t thread;
	pthread_cond_t ready;               /* there is a connection, or the slots stop */
	int fd SYS_GUARDED_BY(slots->lock); /* connection that is served, or is to be; -1: none */
	peer_wait_t wait;
	peer_ready_t ready_peer; /* the acceptor's */
} slot_t;

typedef struct {
	int fd;                /* borrowed */
	uint64_t pause_end_ms; /* not looked at before: all slots are taken, or accepting failed */
	size_t slot_count;     /* slots of this socket, their threads run */
} socket_t;

struct slots {
	socket_t sockets[SLOTS_SOCKETS_MAX];
	size_t socket_count;
	slot_t slots[SLOTS_MAX];
	sys_thread_t acceptor;
	int wake_fd; /* eventfd: a slot became free, or the slots stop */
	sys_mutex_t lock;
	size_t count SYS_GUARDED_BY(
			lock); /* slots whose threads run: the first ones; only the thread that accepts adds one */
	bool stopping SYS_GUARDED_BY(lock);
	slots_serve_t serve;
	void *ctx;
};

static void slots_wake_acceptor(slots_t *slots)
{
	uint64_t one = 1;
	(void)!write(slots->wake_fd, &one, sizeof(one));
}

/* What goes on for as long as descriptors or memory are short. */
static void slots_log_failure(const char *what, knot_err_t err)
{
	static sys_log_repeats_t repeats;
	sys_log_repeated(&repeats, SYS_LOG_CONTROL, LOG_ERR, "control, failed to %s (%s)", what, knot_strerror(err));
}

/* ---- The thread of a slot ---- */

/* The next connection; -1: the end. */
static int slots_next_connection(slot_t *self)
{
	slots_t *slots = self->slots;
	sys_mutex_lock(&slots->lock);
	while (self->fd < 0 && !slots->stopping) {
		sys_mutex_wait(&slots->lock, &self->ready);
	}
	int fd = self->fd;
	sys_mutex_unlock(&slots->lock);
	return fd;
}

static void slots_run_slot(void *arg)
{
	slot_t *self = arg;
	slots_t *slots = self->slots;
	for (int fd; (fd = slots_next_connection(self)) >= 0;) {
		/* A descriptor of our own, so that `fd` stays this connection for the thread that shuts it down. */
		int own_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (own_fd >= 0) {
			slots->serve(slots->ctx, own_fd, self->socket, &self->wait);
		} else {
			slots_log_failure("serve a connection", knot_err_of_errno(errno));
		}
		sys_mutex_lock(&slots->lock);
		self->fd = -1;
		atomic_store(&self->wait.since_ms, 0);
		sys_mutex_unlock(&slots->lock);
		close(fd);
		slots_wake_acceptor(slots);
	}
}

/* ---- The thread that accepts ---- */

static slot_t *slots_find_free(slots_t *slots, unsigned socket) SYS_REQUIRES(slots->lock)
{
	for (size_t i = 0; i < slots->count; i++) {
		if (slots->slots[i].socket == socket && slots->slots[i].fd < 0) {
			return &slots->slots[i];
		}
	}
	return NULL;
}

/* Whether the peer has sent something, or has made room for more of its reply. */
static bool slots_is_peer_ready(slots_t *slots, slot_t *slot) SYS_REQUIRES(slots->lock)
{
	(void)slots;
	short events = atomic_load(&slot->wait.what) == PEER_WAIT_INPUT ? POLLIN : POLLOUT;
	struct pollfd pfd = { .fd = slot->fd, .events = events };
	return poll(&pfd, 1, 0) > 0;
}

/* The slot whose connection has waited longest for a peer that lets it wait; `count`: none. */
static size_t slots_find_idle(slots_t *slots, uint64_t since_ms[SLOTS_MAX], uint64_t now_ms) SYS_REQUIRES(slots->lock)
{
	while (true) {
		size_t longest = peer_wait_longest(since_ms, slots->count, now_ms, SLOTS_GRACE_MS);
		if (longest == slots->count || !slots_is_peer_ready(slots, &slots->slots[longest]) ||
				!peer_ready_is_spared(&slots->slots[longest].ready_peer, since_ms[longest], now_ms,
						SLOTS_SPARE_MS)) {
			return longest;
		}
		since_ms[longest] = 0;
	}
}

/* Close the connection of a socket that has waited longest, if one has waited for long enough. */
static void slots_make_room(slots_t *slots, unsigned socket, uint64_t now_ms) SYS_REQUIRES(slots->lock)
{
	uint64_t since_ms[SLOTS_MAX];
	for (size_t i = 0; i < slots->count; i++) {
		slot_t *slot = &slots->slots[i];
		bool is_candidate = slot->socket == socket && slot->fd >= 0;
		since_ms[i] = is_candidate ? atomic_load(&slot->wait.since_ms) : 0;
	}
	size_t longest = slots_find_idle(slots, since_ms, now_ms);
	if (longest < slots->count && peer_wait_take(&slots->slots[longest].wait, since_ms[longest])) {
		(void)shutdown(slots->slots[longest].fd, SHUT_RDWR);
		static sys_log_repeats_t repeats;
		sys_log_repeated(&repeats, SYS_LOG_CONTROL, LOG_NOTICE,
				"control, closed a connection that was idle for %u ms to make room for another one",
				(unsigned)(now_ms - since_ms[longest]));
	}
}

static void slots_hand_over(slots_t *slots, slot_t *slot, int take_fd)
{
	sys_mutex_lock(&slots->lock);
	bool stopping = slots->stopping;
	if (!stopping) {
		slot->fd = take_fd;
		pthread_cond_signal(&slot->ready);
	}
	sys_mutex_unlock(&slots->lock);
	if (stopping) {
		close(take_fd);
	}
}

/* Start one more thread for a socket: threads come as connections do, and stay. */
static knot_err_t slots_add_slot(slots_t *slots, unsigned index)
{
	sys_mutex_lock(&slots->lock);
	size_t number = slots->count;
	sys_mutex_unlock(&slots->lock);
	assert(number < SLOTS_MAX); /* only this thread adds */
	slot_t *slot = &slots->slots[number];
	slot->socket = index;
	slot->thread = (sys_thread_t){ .cpu = -1, .run = slots_run_slot, .arg = slot };
	snprintf(slot->thread.name, sizeof(slot->thread.name), "control-%u", (unsigned)(number % SLOTS_MAX));
	knot_err_t err = sys_thread_start(&slot->thread);
	if (err == KNOT_OK) {
		sys_mutex_lock(&slots->lock);
		slots->count++;
		sys_mutex_unlock(&slots->lock);
		slots->sockets[index].slot_count++;
	}
	return err;
}

/* A slot without a connection, the first one, so that threads that no load needs stay cold. NULL: none, but maybe soon.
 */
static slot_t *slots_get_slot(slots_t *slots, unsigned index, uint64_t now_ms)
{
	sys_mutex_lock(&slots->lock);
	slot_t *slot = slots_find_free(slots, index);
	sys_mutex_unlock(&slots->lock);
	knot_err_t err = KNOT_OK;
	if (slot == NULL && slots->sockets[index].slot_count < SLOTS_MAX / slots->socket_count) {
		err = slots_add_slot(slots, index);
	}
	sys_mutex_lock(&slots->lock);
	slot = slots_find_free(slots, index);
	if (slot == NULL) {
		slots_make_room(slots, index, now_ms);
	}
	sys_mutex_unlock(&slots->lock);
	if (err != KNOT_OK) {
		slots_log_failure("start a thread", err);
	}
	return slot;
}

/* A client waits at the socket. Only this thread takes slots, so one that is free stays free. */
static void slots_accept_at(slots_t *slots, unsigned index)
{
	socket_t *socket = &slots->sockets[index];
	uint64_t now_ms = sys_clock_ms();
	slot_t *slot = slots_get_slot(slots, index, now_ms);
	if (slot == NULL) {
		socket->pause_end_ms = now_ms + RETRY_MS;
		return;
	}
	int fd = accept4(socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		slots_hand_over(slots, slot, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		slots_log_failure("accept", knot_err_of_errno(errno));
		socket->pause_end_ms = now_ms + FAILURE_MS;
	}
}

static bool slots_is_stopping(slots_t *slots)
{
	sys_mutex_lock(&slots->lock);
	bool stopping = slots->stopping;
	sys_mutex_unlock(&slots->lock);
	return stopping;
}

/* Wait for connections, but not at sockets that pause; -1 in their place. */
static void slots_wait_connections(slots_t *slots, struct pollfd fds[SLOTS_SOCKETS_MAX + 1])
{
	uint64_t now_ms = sys_clock_ms();
	int timeout_ms = -1;
	for (size_t i = 0; i < slots->socket_count; i++) {
		bool pauses = slots->sockets[i].pause_end_ms > now_ms;
		fds[i] = (struct pollfd){ .fd = pauses ? -1 : slots->sockets[i].fd, .events = POLLIN };
		int left_ms = pauses ? (int)(slots->sockets[i].pause_end_ms - now_ms) : -1;
		timeout_ms = left_ms >= 0 && (timeout_ms < 0 || left_ms < timeout_ms) ? left_ms : timeout_ms;
	}
	struct pollfd *woken = &fds[slots->socket_count];
	*woken = (struct pollfd){ .fd = slots->wake_fd, .events = POLLIN };
	if (poll(fds, (nfds_t)slots->socket_count + 1, timeout_ms) < 0) {
		for (size_t i = 0; i <= slots->socket_count; i++) {
			fds[i].revents = 0;
		}
	}
	uint64_t count;
	if (woken->revents != 0 && read(slots->wake_fd, &count, sizeof(count)) > 0) {
		for (size_t i = 0; i < slots->socket_count; i++) {
			slots->sockets[i].pause_end_ms = 0;
		}
	}
}

static void slots_run_acceptor(void *arg)
{
	slots_t *slots = arg;
	struct pollfd fds[SLOTS_SOCKETS_MAX + 1];
	while (!slots_is_stopping(slots)) {
		slots_wait_connections(slots, fds);
		for (unsigned i = 0; i < slots->socket_count; i++) {
			if (fds[i].revents != 0) {
				slots_accept_at(slots, i);
			}
		}
	}
}

/* ---- Life ---- */

slots_t *slots_new(const int *fds, size_t count, slots_serve_t serve, void *ctx)
{
	assert(count <= SLOTS_SOCKETS_MAX);
	slots_t *slots = calloc(1, sizeof(*slots));
	if (slots == NULL) {
		return NULL;
	}
	slots->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (slots->wake_fd < 0) {
		free(slots);
		return NULL;
	}
	sys_mutex_init(&slots->lock);
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		slot_t *slot = &slots->slots[i];
		slot->slots = slots;
		slot->fd = -1;
		pthread_cond_init(&slot->ready, NULL);
	}
	slots->serve = serve;
	slots->ctx = ctx;
	slots->socket_count = count;
	for (size_t i = 0; i < slots->socket_count; i++) {
		slots->sockets[i].fd = fds[i];
	}
	return slots;
}

knot_err_t slots_start(slots_t *slots)
{
	/* One for each socket, so that an operator always gets in. */
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; i < slots->socket_count && err == KNOT_OK; i++) {
		err = slots_add_slot(slots, i);
	}
	if (err == KNOT_OK) {
		slots->acceptor =
				(sys_thread_t){ .name = "control", .cpu = -1, .run = slots_run_acceptor, .arg = slots };
		err = sys_thread_start(&slots->acceptor);
	}
	if (err != KNOT_OK) {
		log_control(LOG_CRIT, "control, failed to start a thread (%s)", knot_strerror(err));
	}
	return err;
}

void slots_stop(slots_t *slots)
{
	sys_mutex_lock(&slots->lock);
	slots->stopping = true;
	for (size_t i = 0; i < slots->count; i++) {
		pthread_cond_signal(&slots->slots[i].ready);
		if (slots->slots[i].fd >= 0) {
			(void)shutdown(slots->slots[i].fd, SHUT_RDWR);
		}
	}
	sys_mutex_unlock(&slots->lock);
	slots_wake_acceptor(slots);
	sys_thread_join(&slots->acceptor);
	/* Those that it started meanwhile see that the slots stop. */
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		sys_thread_join(&slots->slots[i].thread);
	}
}

void slots_free(slots_t *slots)
{
	if (slots == NULL) {
		return;
	}
	close(slots->wake_fd);
	for (size_t i = 0; i < SLOTS_MAX; i++) {
		pthread_cond_destroy(&slots->slots[i].ready);
	}
	sys_mutex_done(&slots->lock);
	free(slots);
}
