/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A scripted server of DNS over QUIC, for functional tests: it answers each query with one A record, but
 * for every so manieth, with which it does something else.
 *
 *     quic_server CERTIFICATE KEY [address=ADDRESS] [WHAT=EVERY ...]
 *
 * WHAT: silent (no answer), cut (the stream is reset by an end without an answer), wrong (another address), id (an id
 * other than 0), close (the connection is closed), early=1 (early data is accepted).
 * flood=COUNT: nothing but so many processes that send to the first client's port as fast as they can, for 20 s at
 * most. ADDRESS: IPv4, 127.0.0.1 if not given. Prints its port; ends when standard input does, and prints what
 * happened: a name and a number a line.
 */
#include "src/sys/clock.h"
#include "src/transport/quic.h"
#include "tests/exchange/quic_shell.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNS_MAX = 4096, HEADER_LEN = 12, CID_MAX = 20 };

typedef enum { DO_SILENT, DO_CUT, DO_WRONG, DO_ID, DO_CLOSE, DO_EARLY, DO_COUNT } deed_t;
static const char *const deed_names[DO_COUNT] = { "silent", "cut", "wrong", "id", "close", "early" };

typedef struct {
	transport_t *t; /* owned; NULL: free */
	struct sockaddr_in peer;
	uint8_t cid[CID_MAX]; /* the client's, of its first datagram */
	uint8_t cid_len;
} conn_t;

typedef struct {
	int fd;
	transport_identity_t *identity;
	conn_t conns[CONNS_MAX];
	unsigned every[DO_COUNT]; /* 0: never */
	unsigned done[DO_COUNT];
	unsigned queries, connections;
} server_t;

static server_t server;

static bool accept_early(void *ctx, knot_bytes_t key, uint64_t expiry_s)
{
	(void)ctx, (void)key, (void)expiry_s;
	return true;
}

/* What is to be done with this query; DO_COUNT: answer it. */
static deed_t choose_deed(void)
{
	for (unsigned i = 0; i < DO_EARLY; i++) {
		if (server.every[i] > 0 && server.queries % server.every[i] == 0) {
			server.done[i]++;
			return (deed_t)i;
		}
	}
	return DO_COUNT;
}

static void answer(conn_t *c, uint64_t stream, knot_bytes_t query, deed_t deed)
{
	static const uint8_t record[] = { 0xC0, 0x0C, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7 };
	uint8_t reply[2048];
	size_t len = HEADER_LEN;
	while (len < query.len && query.data[len] != 0) {
		len += query.data[len] + 1u;
	}
	len += 5; /* the root label, type, class */
	if (len > query.len || len + sizeof(record) > sizeof(reply)) {
		return;
	}
	memcpy(reply, query.data, len);
	store_be16(reply, deed == DO_ID ? 0x1234 : 0);
	store_be16(reply + 2, 0x8400);
	store_be16(reply + 6, 1);
	store_be32(reply + 8, 0);
	memcpy(reply + len, record, sizeof(record));
	reply[len + sizeof(record) - 1] = deed == DO_WRONG ? 8 : 7;
	(void)!transport_put(c->t, (knot_bytes_t){ reply, len + sizeof(record) }, &stream);
	transport_finish(c->t, stream);
}

static void handle_query(conn_t *c, const transport_event_t *event)
{
	server.queries++;
	server.done[DO_EARLY] += transport_state(c->t) == TRANSPORT_OPENING;
	deed_t deed = choose_deed();
	if (deed == DO_CUT) {
		transport_finish(c->t, event->stream);
	} else if (deed == DO_CLOSE) {
		transport_close(c->t, sys_clock_ns());
	} else if (deed != DO_SILENT) {
		answer(c, event->stream, event->message, deed);
	}
}

static void flush(conn_t *c)
{
	knot_bytes_t datagram;
	while ((datagram = transport_pending(c->t, sys_clock_ns())).len > 0) {
		(void)!sendto(server.fd, datagram.data, datagram.len, 0, (struct sockaddr *)&c->peer, sizeof(c->peer));
		transport_note_sent(c->t, datagram.len, sys_clock_ns());
	}
	if (transport_state(c->t) == TRANSPORT_ENDED) {
		transport_free(c->t);
		c->t = NULL;
	}
}

/* The client's connection id of a long header (RFC 9000 17.2). len 0: a short one. */
static knot_bytes_t read_cid(knot_bytes_t datagram)
{
	knot_reader_t r = knot_reader_of(datagram);
	bool is_long = (knot_read_u8(&r) & 0x80) != 0;
	(void)knot_read_u32(&r);
	(void)knot_read(&r, knot_read_u8(&r));
	size_t len = knot_read_u8(&r);
	const uint8_t *cid = knot_read(&r, len);
	return is_long && cid != NULL && len <= CID_MAX ? (knot_bytes_t){ cid, len } : (knot_bytes_t){ .len = 0 };
}

static conn_t *find_conn(const struct sockaddr_in *peer)
{
	conn_t *unused = NULL;
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		conn_t *c = &server.conns[i];
		bool is_peer = c->t != NULL && c->peer.sin_port == peer->sin_port;
		if (is_peer) {
			return c;
		}
		unused = unused == NULL && c->t == NULL ? c : unused;
	}
	return unused;
}

/* The connection of a datagram, perhaps a new one in place of one that is over. NULL: none. */
static conn_t *meet(const struct sockaddr_in *peer, knot_bytes_t datagram)
{
	conn_t *c = find_conn(peer);
	knot_bytes_t cid = read_cid(datagram);
	bool is_same = c != NULL && c->t != NULL &&
		       (cid.len == 0 || (cid.len == c->cid_len && memcmp(cid.data, c->cid, cid.len) == 0));
	if (c == NULL || is_same) {
		return c;
	}
	transport_free(c->t);
	*c = (conn_t){ .peer = *peer, .cid_len = (uint8_t)cid.len };
	const transport_tls_params_t tls = { .role = TRANSPORT_SERVER, .identity = server.identity };
	const transport_quic_params_t quic = { .idle_ms = 0 };
	if (cid.len == 0 || transport_quic_accept(&tls, &quic, datagram, sys_clock_ns(), &c->t) != KNOT_OK) {
		c->t = NULL;
		return NULL;
	}
	memcpy(c->cid, cid.data, cid.len);
	server.connections++;
	return c;
}

static void receive(void)
{
	uint8_t bytes[TRANSPORT_QUIC_DATAGRAM_MAX];
	struct sockaddr_in peer;
	socklen_t peer_len = sizeof(peer);
	ssize_t got;
	while ((got = recvfrom(server.fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&peer, &peer_len)) >=
			0) {
		conn_t *c = meet(&peer, (knot_bytes_t){ bytes, (size_t)got });
		transport_event_t event;
		if (c == NULL) {
			continue;
		}
		knot_mut_bytes_t room = transport_room(c->t);
		memcpy(room.data, bytes, (size_t)got);
		transport_note_received(c->t, (size_t)got, sys_clock_ns());
		while (transport_take(c->t, &event)) {
			if (event.kind == TRANSPORT_MESSAGE) {
				handle_query(c, &event);
			}
		}
		flush(c);
	}
}

/* What is due; returns milliseconds until the next. */
static int expire(void)
{
	uint64_t now_ns = sys_clock_ns(), first_ns = now_ns + 1000000000;
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		conn_t *c = &server.conns[i];
		if (c->t != NULL && transport_deadline_ns(c->t) <= now_ns) {
			transport_expire(c->t, now_ns);
			flush(c);
		}
		uint64_t deadline_ns = c->t != NULL ? transport_deadline_ns(c->t) : UINT64_MAX;
		first_ns = deadline_ns < first_ns ? deadline_ns : first_ns;
	}
	return first_ns > now_ns ? (int)((first_ns - now_ns) / 1000000) + 1 : 0;
}

static void read_deed(const char *word)
{
	for (unsigned k = 0; k < DO_COUNT; k++) {
		size_t len = strlen(deed_names[k]);
		if (strncmp(word, deed_names[k], len) == 0 && word[len] == '=') {
			server.every[k] = (unsigned)strtoul(word + len + 1, NULL, 10);
		}
	}
}

static void set_up(int argc, char **argv)
{
	static const char of_address[] = "address=";
	const char *address = "127.0.0.1";
	for (int i = 3; i < argc; i++) {
		bool is_address = strncmp(argv[i], of_address, strlen(of_address)) == 0;
		address = is_address ? argv[i] + strlen(of_address) : address;
		read_deed(argv[i]);
	}
	server.identity = quic_shell_identity(argv[1], argv[2]);
	if (server.every[DO_EARLY] > 0 &&
			transport_identity_allow_early_data(server.identity, accept_early, NULL) != KNOT_OK) {
		quic_shell_die("early data");
	}
	server.fd = quic_shell_listen(address);
}

/* Datagrams that can't be read, to whoever has sent one. Other processes go on with it until this one ends. */
static void flood(unsigned count)
{
	enum { BATCH = 64, LEN = 25, SECONDS_MAX = 20 };
	static uint8_t bytes[LEN];
	static struct mmsghdr headers[BATCH];
	struct sockaddr_in peer;
	socklen_t peer_len = sizeof(peer);
	struct iovec part = { bytes, sizeof(bytes) };
	if (recvfrom(server.fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&peer, &peer_len) < 0) {
		quic_shell_die("recvfrom");
	}
	memset(bytes, 0x41, sizeof(bytes));
	for (unsigned i = 0; i < BATCH; i++) {
		headers[i].msg_hdr = (struct msghdr){
			.msg_name = &peer, .msg_namelen = peer_len, .msg_iov = &part, .msg_iovlen = 1
		};
	}
	for (unsigned i = 0; i < count; i++) {
		if (fork() == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (alarm(SECONDS_MAX);;) {
				(void)sendmmsg(server.fd, headers, BATCH, 0);
			}
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		return 1;
	}
	set_up(argc, argv);
	if (argc > 3 && strncmp(argv[3], "flood=", 6) == 0) {
		char rest;
		flood((unsigned)strtoul(argv[3] + 6, NULL, 10));
		return read(0, &rest, 1) == 0 ? 0 : 1;
	}
	for (int wait_ms = 0;; wait_ms = expire()) {
		struct pollfd fds[] = { { .fd = server.fd, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
		(void)poll(fds, 2, wait_ms);
		if (fds[1].revents != 0) {
			break;
		}
		receive();
	}
	printf("connections %u\nqueries %u\n", server.connections, server.queries);
	for (unsigned k = 0; k < DO_COUNT; k++) {
		printf("%s %u\n", deed_names[k], server.done[k]);
	}
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		transport_free(server.conns[i].t);
	}
	transport_identity_free(server.identity);
	close(server.fd);
	return 0;
}
