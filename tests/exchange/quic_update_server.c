/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A server over QUIC that takes one update a time, for tests of clients: good, or as bad as a test wants it.
 *
 *     quic_update_server CERTIFICATE KEY WAY
 *
 * It listens on 127.0.0.1, prints its port, and then each message that it is sent, in hex. A new peer takes the place
 * of the last one. What it does with a message is the WAY, a row of `ways`. A signal ends it.
 */
#include "libknot/base/bytes.h"
#include "libknot/msg/rcode.h"
#include "src/sys/clock.h"
#include "src/transport/quic.h"
#include "tests/exchange/quic_shell.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADER_LEN = 12, QUESTION_TAIL = 4, LONG_REPLY = 60000 };

typedef struct server {
	int fd;
	transport_identity_t *identity;
	transport_t *peer; /* NULL: none yet */
	struct sockaddr_in address;
	void (*answer)(struct server *server, transport_event_t *event);
	int datagrams_left; /* before it goes without a word; -1: it stays */
	int datagrams_open; /* before it closes the connection in order; -1: it doesn't */
} server_t;

/* ---- Ways ---- */

/* A reply without records, padded with zeros behind its end to `len` bytes if that is more. */
static void server_reply(
		server_t *server, transport_event_t *event, uint16_t id, uint8_t flags, uint8_t rcode, size_t len)
{
	static uint8_t reply[LONG_REPLY];
	knot_bytes_t query = event->message;
	size_t end = HEADER_LEN;
	while (end < query.len && query.data[end] != 0) {
		end += query.data[end] + 1U;
	}
	end += 1 + QUESTION_TAIL;
	if (end > query.len || end > sizeof(reply)) {
		return;
	}
	memset(reply, 0, sizeof(reply));
	memcpy(reply, query.data, end);
	memset(reply + 6, 0, 6); /* no records but the zone */
	reply[0] = (uint8_t)(id >> 8);
	reply[1] = (uint8_t)id;
	reply[2] = flags;
	reply[3] = rcode;
	if (transport_put(server->peer, (knot_bytes_t){ reply, len > end ? len : end }, &event->stream) != KNOT_OK) {
		quic_shell_die("transport_put");
	}
	transport_finish(server->peer, event->stream);
}

enum { FLAGS_UPDATE = 0xA8, FLAGS_QUERY = 0x80 };

static void way_good(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 0, FLAGS_UPDATE, 0, 0);
}

static void way_refuse(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 0, FLAGS_UPDATE, KNOT_RCODE_REFUSED, 0);
}

static void way_other_id(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 7, FLAGS_UPDATE, 0, 0);
}

static void way_no_update(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 0, FLAGS_QUERY, 0, 0);
}

static void way_trailing(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 0, FLAGS_UPDATE, 0, 100);
}

static void way_silent(server_t *server, transport_event_t *event)
{
	(void)server;
	(void)event;
}

static void way_empty(server_t *server, transport_event_t *event)
{
	transport_finish(server->peer, event->stream);
}

static void way_half_and_close(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 0, FLAGS_UPDATE, 0, LONG_REPLY);
	server->datagrams_open = 2;
}

static void way_half_and_stall(server_t *server, transport_event_t *event)
{
	server_reply(server, event, 0, FLAGS_UPDATE, 0, LONG_REPLY);
	server->datagrams_left = 2;
}

static void way_close(server_t *server, transport_event_t *event)
{
	(void)event;
	transport_close(server->peer, sys_clock_ns());
}

static void way_die(server_t *server, transport_event_t *event)
{
	(void)event;
	close(server->fd);
	exit(EXIT_SUCCESS);
}

static const struct {
	const char *name;
	void (*answer)(server_t *server, transport_event_t *event);
} ways[] = {
	{ "good", way_good },
	{ "refuse", way_refuse },
	{ "other-id", way_other_id },
	{ "no-update", way_no_update },
	{ "trailing", way_trailing },
	{ "silent", way_silent },
	{ "empty", way_empty },
	{ "half-and-close", way_half_and_close },
	{ "half-and-stall", way_half_and_stall },
	{ "close", way_close },
	{ "die", way_die },
};

/* ---- The shell ---- */

static void server_receive(server_t *server)
{
	static uint8_t data[TRANSPORT_QUIC_DATAGRAM_MAX];
	struct sockaddr_in from = { 0 };
	socklen_t from_len = sizeof(from);
	ssize_t len = recvfrom(server->fd, data, sizeof(data), 0, (struct sockaddr *)&from, &from_len);
	uint64_t now_ns = sys_clock_ns();
	if (len <= 0) {
		return;
	}
	if (server->peer == NULL || from.sin_port != server->address.sin_port) {
		transport_tls_params_t tls = { .role = TRANSPORT_SERVER, .identity = server->identity };
		transport_quic_params_t quic = { 0 };
		transport_t *peer;
		if (transport_quic_accept(&tls, &quic, (knot_bytes_t){ data, (size_t)len }, now_ns, &peer) != KNOT_OK) {
			return;
		}
		transport_free(server->peer);
		server->peer = peer;
		server->address = from;
		server->datagrams_left = server->datagrams_open = -1;
	}
	knot_mut_bytes_t room = transport_room(server->peer);
	if (room.len >= (size_t)len) {
		memcpy(room.data, data, (size_t)len);
		transport_note_received(server->peer, (size_t)len, now_ns);
	}
}

static void server_serve(server_t *server)
{
	transport_event_t event;
	while (server->peer != NULL && transport_take(server->peer, &event)) {
		if (event.kind != TRANSPORT_MESSAGE) {
			continue;
		}
		for (size_t i = 0; i < event.message.len; i++) {
			printf("%02x", event.message.data[i]);
		}
		putchar('\n');
		(void)fflush(stdout);
		server->answer(server, &event);
	}
}

static void server_send(server_t *server)
{
	knot_bytes_t datagram;
	while (server->peer != NULL && server->datagrams_left != 0 &&
			(datagram = transport_pending(server->peer, sys_clock_ns())).len > 0) {
		(void)sendto(server->fd, datagram.data, datagram.len, 0, (struct sockaddr *)&server->address,
				sizeof(server->address));
		transport_note_sent(server->peer, datagram.len, sys_clock_ns());
		server->datagrams_left -= server->datagrams_left > 0;
		if (server->datagrams_open > 0 && --server->datagrams_open == 0) {
			transport_close(server->peer, sys_clock_ns());
		}
	}
}

static int server_wait_ms(const server_t *server)
{
	uint64_t until_ns = server->peer != NULL ? transport_deadline_ns(server->peer) : TRANSPORT_NEVER_NS;
	uint64_t now_ns = sys_clock_ns();
	if (until_ns == TRANSPORT_NEVER_NS) {
		return -1;
	}
	return until_ns <= now_ns ? 0 : (int)((until_ns - now_ns) / 1000000 + 1);
}

int main(int argc, char **argv)
{
	server_t server = { .datagrams_left = -1, .datagrams_open = -1 };
	for (size_t i = 0; argc == 4 && i < KNOT_LEN(ways); i++) {
		server.answer = strcmp(ways[i].name, argv[3]) == 0 ? ways[i].answer : server.answer;
	}
	if (server.answer == NULL) {
		(void)fprintf(stderr, "Usage: quic_update_server CERTIFICATE KEY WAY\n");
		return EXIT_FAILURE;
	}
	server.identity = quic_shell_identity(argv[1], argv[2]);
	server.fd = quic_shell_listen("127.0.0.1");
	for (;;) {
		struct pollfd poll_fd = { .fd = server.fd, .events = POLLIN };
		if (poll(&poll_fd, 1, server_wait_ms(&server)) > 0) {
			server_receive(&server);
		}
		if (server.peer != NULL && transport_deadline_ns(server.peer) <= sys_clock_ns()) {
			transport_expire(server.peer, sys_clock_ns());
		}
		server_serve(&server);
		server_send(&server);
	}
}
