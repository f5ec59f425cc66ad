/* SPDX-License-Identifier: BSD-2-Clause */
/* QUIC over ordinary sockets, which are connected UDP sockets: each is a port that connections have one after another.
 */
#include "src/tools/load/quic_lane.h"
#include "src/tools/load/socket_lane.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DATAGRAM_MAX = 4096, EVENTS_MAX = 64 };

typedef struct {
	lane_t *lane;
	quic_client_t *client; /* owned */
	int epoll_fd;
	int *fds; /* owned: gun->clients */
	unsigned count;
} quic_lane_t;

static bool socket_quic_open(quic_lane_t *l)
{
	lane_t *lane = l->lane;
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	l->fds = calloc(lane->gun->clients, sizeof(*l->fds));
	l->client = quic_lane_new_client(lane, lane->gun->clients);
	if (l->fds == NULL || l->epoll_fd < 0 || l->client == NULL || !socket_lane_allow(lane, lane->gun->clients)) {
		return false;
	}
	for (; l->count < lane->gun->clients; l->count++) {
		int fd = socket_lane_open(lane, SOCK_DGRAM);
		if (fd < 0) {
			if (errno == EAGAIN) {
				snprintf(lane->error, sizeof(lane->error), "no port for socket %u, use fewer --clients",
						l->count);
			}
			return false;
		}
		l->fds[l->count] = fd;
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = l->count };
		if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
			snprintf(lane->error, sizeof(lane->error), "can't poll (%s)", strerror(errno));
			return false;
		}
	}
	return true;
}

static void socket_quic_close(quic_lane_t *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		close(l->fds[i]);
	}
	if (l->epoll_fd >= 0) {
		close(l->epoll_fd);
	}
	free(l->fds);
	quic_client_free(l->client);
}

static void socket_quic_send(quic_lane_t *l)
{
	uint8_t bytes[QUIC_CLIENT_DATAGRAM_MAX];
	size_t len;
	uint32_t port;
	while (quic_client_send(l->client, gun_now(l->lane->gun), bytes, &len, &port)) {
		/* What the system has no room for is lost as on the way, and is sent again. */
		if (send(l->fds[port], bytes, len, MSG_DONTWAIT) < 0 && errno == ECONNREFUSED) {
			quic_client_refuse(l->client, port, gun_now(l->lane->gun));
		}
	}
}

/* What one socket has. */
static void socket_quic_take(quic_lane_t *l, uint32_t port)
{
	uint8_t bytes[DATAGRAM_MAX];
	ssize_t got;
	while ((got = recv(l->fds[port], bytes, sizeof(bytes), MSG_DONTWAIT)) >= 0) {
		quic_client_receive(l->client, port, (knot_bytes_t){ bytes, (size_t)got }, gun_now(l->lane->gun));
	}
	if (errno == ECONNREFUSED) {
		quic_client_refuse(l->client, port, gun_now(l->lane->gun));
	}
}

static unsigned socket_quic_receive(quic_lane_t *l, uint64_t sleep_ns)
{
	struct epoll_event events[EVENTS_MAX];
	if (sleep_ns > 0) {
		struct pollfd pfd = { .fd = l->epoll_fd, .events = POLLIN };
		const struct timespec limit = { (time_t)(sleep_ns / 1000000000), (long)(sleep_ns % 1000000000) };
		(void)ppoll(&pfd, 1, &limit, NULL);
	}
	int ready = epoll_wait(l->epoll_fd, events, EVENTS_MAX, 0);
	for (int i = 0; i < ready; i++) {
		socket_quic_take(l, events[i].data.u32);
	}
	return ready > 0 ? (unsigned)ready : 0;
}

/* A turn. False: it is over. */
static bool socket_quic_turn(quic_lane_t *l, uint64_t *io_last_ns, uint64_t *io_sleep_ns)
{
	quic_lane_turn_t turn = quic_lane_begin_turn(l->lane, l->client, io_last_ns);
	socket_quic_send(l);
	if (quic_lane_is_over(l->client, &turn)) {
		return false;
	}
	unsigned received = socket_quic_receive(l, *io_sleep_ns);
	*io_sleep_ns = turn.begun == 0 && received == 0 ? quic_lane_sleep_ns(l->lane, l->client) : 0;
	return true;
}

void socket_quic_run(lane_t *lane)
{
	quic_lane_t l = { .lane = lane, .epoll_fd = -1 };
	uint64_t last_ns = gun_now(lane->gun), sleep_ns = 0;
	bool goes_on = socket_quic_open(&l);
	while (goes_on && lane->error[0] == '\0') {
		goes_on = socket_quic_turn(&l, &last_ns, &sleep_ns);
	}
	socket_quic_close(&l);
}
