/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UDP over connected sockets, a source port each; messages in batches of sendmmsg() and recvmmsg(). The worker's ports
 * are the sockets, in turn, so a server that shares its load by ports (SO_REUSEPORT) gets it evenly.
 *
 * A batch goes out by one call per socket that has messages in it. With the default batch of ten messages and 64
 * sockets that would be a call per message, so each batch stays on one socket, and the next one takes the next: the
 * worker's numbers are told apart by `run`.
 */
#include "src/tools/load/socket_lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

enum { REPLY_MAX = 4096 + 64, EVENTS_MAX = 64 };

typedef struct {
	lane_t *lane;
	socket_ports_t ports;
	/* To be sent: the messages of a turn, by socket. */
	uint8_t out[GUN_BATCH_MAX][MESSAGE_MAX + 2];
	worker_query_t queries[GUN_BATCH_MAX];
	uint8_t in[GUN_BATCH_MAX][REPLY_MAX];
	struct mmsghdr headers[GUN_BATCH_MAX];
	struct iovec vectors[GUN_BATCH_MAX];
} udp_t;

/* Send those of the turn that belong to one socket. */
static void socket_udp_send_to(udp_t *u, uint32_t port, const unsigned *which, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		u->vectors[i] = (struct iovec){ u->out[which[i]], u->queries[which[i]].len };
		u->headers[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &u->vectors[i], .msg_iovlen = 1 } };
	}
	unsigned sent = 0;
	while (sent < count) {
		int now = sendmmsg(u->ports.fds[port], u->headers + sent, count - sent, MSG_DONTWAIT);
		if (now > 0) {
			sent += (unsigned)now;
		} else if (errno != ECONNREFUSED && errno != EINTR) {
			break; /* refused: what ICMP said of one before; it is reported once */
		}
	}
	for (unsigned i = sent; i < count; i++) {
		worker_unsend(&u->lane->worker, &u->queries[which[i]]);
	}
}

static unsigned socket_udp_send(udp_t *u)
{
	worker_t *w = &u->lane->worker;
	const uint64_t now_ns = gun_now(u->lane->gun);
	unsigned count = 0;
	while (count < GUN_BATCH_MAX && worker_due(w) <= now_ns) {
		worker_next(w, now_ns, false, u->out[count], &u->queries[count]);
		count++;
	}
	bool is_done[GUN_BATCH_MAX] = { false };
	for (unsigned i = 0; i < count; i++) {
		unsigned which[GUN_BATCH_MAX], same = 0;
		for (unsigned k = i; k < count && !is_done[i]; k++) {
			if (u->queries[k].port == u->queries[i].port) {
				which[same++] = k;
			}
		}
		for (unsigned k = 0; k < same; k++) {
			is_done[which[k]] = true;
		}
		if (same > 0) {
			socket_udp_send_to(u, u->queries[i].port, which, same);
		}
	}
	return count;
}

/* What one socket has. Returns the number of messages. */
static unsigned socket_udp_take(udp_t *u, uint32_t port)
{
	for (unsigned i = 0; i < GUN_BATCH_MAX; i++) {
		u->vectors[i] = (struct iovec){ u->in[i], REPLY_MAX };
		u->headers[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &u->vectors[i], .msg_iovlen = 1 } };
	}
	int got = recvmmsg(u->ports.fds[port], u->headers, GUN_BATCH_MAX, MSG_DONTWAIT, NULL);
	const uint64_t now_ns = gun_now(u->lane->gun);
	for (int i = 0; i < got; i++) {
		const worker_reply_t reply = {
			.port = port, .now_ns = now_ns, .message = { u->in[i], u->headers[i].msg_len }
		};
		(void)worker_receive(&u->lane->worker, &u->lane->worker, &reply);
	}
	return got > 0 ? (unsigned)got : 0;
}

static unsigned socket_udp_receive(udp_t *u, uint64_t sleep_ns)
{
	struct epoll_event events[EVENTS_MAX];
	unsigned ready = socket_lane_wait(u->ports.epoll_fd, sleep_ns, events, EVENTS_MAX);
	unsigned received = 0;
	for (unsigned i = 0; i < ready; i++) {
		received += socket_udp_take(u, events[i].data.u32);
	}
	return received;
}

void socket_udp_run(lane_t *lane)
{
	udp_t *u = malloc(sizeof(*u));
	if (u == NULL) {
		snprintf(lane->error, sizeof(lane->error), "not enough memory");
		return;
	}
	*u = (udp_t){ .lane = lane };
	bool is_open = socket_ports_open(lane, &u->ports);
	uint64_t last_ns = gun_now(lane->gun), sleep_ns = 0;
	while (is_open) {
		uint64_t now_ns = gun_now(lane->gun);
		lane_phase_t phase = lane_phase(lane, now_ns, &last_ns);
		if (phase == LANE_ENDS) {
			break;
		}
		if (lane->worker.chains != NULL) {
			lane->worker.now_s = (uint64_t)time(NULL);
		}
		unsigned sent = phase == LANE_SENDS ? socket_udp_send(u) : 0;
		unsigned received = socket_udp_receive(u, sleep_ns);
		sleep_ns = sent == 0 && received == 0 ? lane_sleep_ns(lane, gun_now(lane->gun)) : 0;
	}
	socket_ports_close(&u->ports);
	free(u);
}
