/* SPDX-License-Identifier: BSD-2-Clause */
/* QUIC over ordinary sockets, which are connected UDP sockets: each is a port that connections have one after another.
 */
#include "src/tools/load/quic_lane.h"
#include "src/tools/load/socket_lane.h"

#include <errno.h>
#include <sys/socket.h>

enum {
	DATAGRAM_MAX = 4096,
	EVENTS_MAX = 64,
	TAKES_MAX = 32, /* datagrams of one socket in a turn: a server that floods it holds up neither others nor the
			   end */
};

typedef struct {
	lane_t *lane;
	quic_client_t *client; /* owned */
	socket_ports_t ports;
} socket_quic_t;

static void socket_quic_send(socket_quic_t *l)
{
	uint8_t bytes[QUIC_CLIENT_DATAGRAM_MAX];
	size_t len;
	uint32_t port;
	while (quic_client_send(l->client, gun_now(l->lane->gun), bytes, &len, &port)) {
		/* What the system has no room for is lost as on the way, and is sent again. */
		if (send(l->ports.fds[port], bytes, len, MSG_DONTWAIT) < 0 && errno == ECONNREFUSED) {
			quic_client_refuse(l->client, port);
		}
	}
}

/* What one socket has. */
static void socket_quic_take(socket_quic_t *l, uint32_t port)
{
	uint8_t bytes[DATAGRAM_MAX];
	ssize_t got = 0;
	for (unsigned i = 0; i < TAKES_MAX && got >= 0; i++) {
		got = recv(l->ports.fds[port], bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got >= 0) {
			quic_client_receive(
					l->client, port, (knot_bytes_t){ bytes, (size_t)got }, gun_now(l->lane->gun));
		}
	}
	if (got < 0 && errno == ECONNREFUSED) {
		quic_client_refuse(l->client, port);
	}
}

static unsigned socket_quic_receive(socket_quic_t *l, uint64_t sleep_ns)
{
	struct epoll_event events[EVENTS_MAX];
	unsigned ready = socket_lane_wait(l->ports.epoll_fd, sleep_ns, events, EVENTS_MAX);
	for (unsigned i = 0; i < ready; i++) {
		socket_quic_take(l, events[i].data.u32);
	}
	return ready;
}

/* A turn. False: it is over. */
static bool socket_quic_turn(socket_quic_t *l, uint64_t *io_last_ns, uint64_t *io_sleep_ns)
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
	socket_quic_t l = { .lane = lane, .client = quic_lane_new_client(lane, lane->gun->clients) };
	if (l.client == NULL) {
		return;
	}
	uint64_t last_ns = gun_now(lane->gun), sleep_ns = 0;
	bool goes_on = socket_ports_open(lane, &l.ports);
	while (goes_on && lane->error[0] == '\0') {
		goes_on = socket_quic_turn(&l, &last_ns, &sleep_ns);
	}
	socket_ports_close(&l.ports);
	quic_client_free(l.client);
}
