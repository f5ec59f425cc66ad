/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/exchange.h"

#include "src/exchange/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* A server of one socket in a thread of its own: it serves one connection (or some datagrams) by a function. */
typedef struct {
	int fd;
	exchange_address_t address;
	void (*serve)(int fd);
	pthread_t thread;
} test_server_t;

static void *server_run(void *arg)
{
	test_server_t *server = arg;
	server->serve(server->fd);
	return NULL;
}

static exchange_address_t loopback(void)
{
	return (exchange_address_t){ .in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } } };
}

static test_server_t *server_new_at(exchange_address_t address, int type, void (*serve)(int fd))
{
	test_server_t *server = calloc(1, sizeof(*server));
	socklen_t len = sizeof(server->address);
	server->fd = socket(address.sa.sa_family, type, 0);
	server->serve = serve;
	assert_true(server->fd >= 0);
	assert_int_equal(bind(server->fd, &address.sa, exchange_address_len(&address)), 0);
	if (type == SOCK_STREAM) {
		assert_int_equal(listen(server->fd, 8), 0);
	}
	assert_int_equal(getsockname(server->fd, &server->address.sa, &len), 0);
	if (serve != NULL) {
		assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
	}
	return server;
}

static test_server_t *server_new(int type, void (*serve)(int fd))
{
	return server_new_at(loopback(), type, serve);
}

static void server_end(test_server_t *server)
{
	if (server->serve != NULL) {
		pthread_join(server->thread, NULL);
	}
	close(server->fd);
	free(server);
}

static exchange_t *open_to(const test_server_t *server, exchange_kind_t kind, uint32_t timeout_ms)
{
	exchange_t *x = exchange_new(
			&(exchange_params_t){ .kind = kind, .server = server->address, .timeout_ms = timeout_ms });
	assert_non_null(x);
	assert_int_equal(exchange_open(x), EXCHANGE_OK);
	return x;
}

static const knot_bytes_t query = { (const uint8_t *)"a question of some length", 25 };

static void assert_receives(exchange_t *x, const char *want)
{
	knot_bytes_t message;
	assert_int_equal(exchange_receive(x, exchange_until_ns(x), &message), EXCHANGE_OK);
	assert_int_equal(message.len, strlen(want));
	assert_memory_equal(message.data, want, message.len);
}

static void assert_ends(exchange_t *x, exchange_end_t want, const char *want_problem)
{
	knot_bytes_t message;
	char text[256];
	assert_int_equal(exchange_receive(x, exchange_until_ns(x), &message), want);
	(void)snprintf(text, sizeof(text), want_problem, exchange_peer_text(x));
	assert_string_equal(exchange_problem(x), text);
}

/* ---- UDP ---- */

static void serve_udp_from_elsewhere_first(int fd)
{
	exchange_address_t from, elsewhere = loopback();
	socklen_t len = sizeof(from);
	uint8_t room[512];
	assert_int_equal(recvfrom(fd, room, sizeof(room), 0, &from.sa, &len), (ssize_t)query.len);
	assert_memory_equal(room, query.data, query.len);
	int other = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(other, &elsewhere.sa, sizeof(elsewhere.in)), 0);
	assert_int_equal(sendto(other, "forged", 6, 0, &from.sa, len), 6);
	close(other);
	assert_int_equal(sendto(fd, "first", 5, 0, &from.sa, len), 5);
	assert_int_equal(sendto(fd, "second", 6, 0, &from.sa, len), 6);
}

static void test_udp(void **state)
{
	(void)state;
	knot_bytes_t message;
	test_server_t *server = server_new(SOCK_DGRAM, serve_udp_from_elsewhere_first);
	exchange_t *x = open_to(server, EXCHANGE_UDP, 10000);
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_int_equal(exchange_receive(x, exchange_until_ns(x), &message), EXCHANGE_SOURCE);
	assert_non_null(strstr(exchange_problem(x), "unexpected reply source 127.0.0.1@"));
	assert_receives(x, "first");
	assert_receives(x, "second");
	assert_int_equal(exchange_local(x)->in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_int_not_equal(exchange_local(x)->in.sin_port, 0);
	exchange_free(x);
	server_end(server);
}

static void test_udp_silence_and_refusal(void **state)
{
	(void)state;
	test_server_t *server = server_new(SOCK_DGRAM, NULL);
	exchange_t *x = open_to(server, EXCHANGE_UDP, 50);
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_ends(x, EXCHANGE_TIMEOUT, "response timeout for %s");
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK); /* a retry, which the caller decides on */
	server_end(server);
	assert_ends(x, EXCHANGE_TIMEOUT, "response timeout for %s");
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK); /* whatever became of the one before */
	assert_ends(x, EXCHANGE_RECEIVE, "can't receive reply from %s");
	assert_string_equal(exchange_reason(x), strerror(ECONNREFUSED));
	assert_true(exchange_is_open(x));
	exchange_free(x);
}

/* ---- TCP ---- */

static int accept_one(int fd)
{
	int conn = accept(fd, NULL, NULL);
	assert_true(conn >= 0);
	return conn;
}

static void read_query(int conn)
{
	uint8_t room[2 + 25];
	assert_int_equal(recv(conn, room, sizeof(room), MSG_WAITALL), sizeof(room));
	assert_int_equal(load_be16(room), query.len);
	assert_memory_equal(room + 2, query.data, query.len);
}

static void serve_bytewise(int fd)
{
	static const char reply[] = "\0\5first\0\6second";
	int conn = accept_one(fd);
	read_query(conn);
	for (size_t i = 0; i < sizeof(reply) - 1; i++) {
		assert_int_equal(send(conn, reply + i, 1, MSG_NOSIGNAL), 1);
		usleep(500); /* so that bytes come one by one */
	}
	read_query(conn);
	assert_int_equal(send(conn, "\0\5third", 7, MSG_NOSIGNAL), 7);
	close(conn);
}

static void test_tcp(void **state)
{
	(void)state;
	test_server_t *server = server_new(SOCK_STREAM, serve_bytewise);
	exchange_t *x = open_to(server, EXCHANGE_TCP, 10000);
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_receives(x, "first");
	assert_receives(x, "second");
	assert_true(exchange_is_open(x));
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_receives(x, "third");
	assert_ends(x, EXCHANGE_CLOSED, "can't receive reply from %s");
	assert_false(exchange_is_open(x));
	assert_int_equal(exchange_send(x, query), EXCHANGE_CLOSED);
	exchange_free(x);
	server_end(server);
}

static void serve_half(int fd)
{
	int conn = accept_one(fd);
	read_query(conn);
	assert_int_equal(send(conn, "\0\5fir", 5, MSG_NOSIGNAL), 5);
	close(conn);
}

static void serve_reset(int fd)
{
	int conn = accept_one(fd);
	struct linger now = { .l_onoff = 1 };
	read_query(conn);
	setsockopt(conn, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(conn);
}

static void test_tcp_bad_ends(void **state)
{
	(void)state;
	static const struct {
		void (*serve)(int fd);
		exchange_end_t want;
	} rows[] = { { serve_half, EXCHANGE_CLOSED }, { serve_reset, EXCHANGE_RECEIVE } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		test_server_t *server = server_new(SOCK_STREAM, rows[i].serve);
		exchange_t *x = open_to(server, EXCHANGE_TCP, 10000);
		assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
		assert_ends(x, rows[i].want, "can't receive reply from %s");
		exchange_free(x);
		server_end(server);
	}
}

static void test_tcp_silence(void **state)
{
	(void)state;
	test_server_t *server = server_new(SOCK_STREAM, NULL);
	exchange_t *x = open_to(server, EXCHANGE_TCP, 50);
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_ends(x, EXCHANGE_TIMEOUT, "response timeout for %s");
	exchange_free(x);
	server_end(server);
}

/* A datagram that the system doesn't send isn't waited for. */
static void test_udp_not_sent(void **state)
{
	(void)state;
	const exchange_params_t rows[] = {
		{ .kind = EXCHANGE_UDP, .server = { .un = { AF_UNIX, "/nonexistent/socket" } } },
		{ .kind = EXCHANGE_UDP,
				.server = { .in = { .sin_family = AF_INET,
							    .sin_port = htons(53),
							    .sin_addr = { INADDR_BROADCAST } } } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		exchange_t *x = exchange_new(&rows[i]); /* without a time limit */
		assert_int_equal(exchange_open(x), EXCHANGE_OK);
		assert_int_equal(exchange_send(x, query), EXCHANGE_SEND);
		assert_non_null(strstr(exchange_problem(x), "can't send query to "));
		assert_string_equal(exchange_reason(x), strerror(i == 0 ? ENOENT : EACCES));
		exchange_free(x);
	}
}

static void test_not_opened(void **state)
{
	(void)state;
	test_server_t *server = server_new(SOCK_STREAM, NULL);
	exchange_params_t params = { .kind = EXCHANGE_TCP, .server = server->address, .timeout_ms = 10000 };
	char want[256];
	server_end(server);
	exchange_t *x = exchange_new(&params);
	assert_int_equal(exchange_open(x), EXCHANGE_CONNECT);
	(void)snprintf(want, sizeof(want), "can't connect to 127.0.0.1@%u(TCP)", ntohs(params.server.in.sin_port));
	assert_string_equal(exchange_problem(x), want);
	assert_string_equal(exchange_reason(x), strerror(ECONNREFUSED));
	assert_int_equal(exchange_send(x, query), EXCHANGE_CONNECT);
	exchange_free(x);
	params.local = (exchange_address_t){ .in = { .sin_family = AF_INET, .sin_addr = { htonl(0xc0000201) } } };
	x = exchange_new(&params);
	assert_int_equal(exchange_open(x), EXCHANGE_BIND);
	assert_string_equal(exchange_problem(x), "can't assign address 192.0.2.1");
	assert_string_equal(exchange_reason(x), strerror(EADDRNOTAVAIL));
	exchange_free(x);
}

static void test_unix(void **state)
{
	(void)state;
	exchange_address_t address = { .un = { .sun_family = AF_UNIX } };
	(void)snprintf(address.un.sun_path, sizeof(address.un.sun_path), "/tmp/exchange_test.%d", getpid());
	test_server_t *server = server_new_at(address, SOCK_STREAM, serve_bytewise);
	exchange_t *x = open_to(server, EXCHANGE_TCP, 10000);
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_receives(x, "first");
	assert_receives(x, "second");
	assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
	assert_receives(x, "third");
	exchange_free(x);
	server_end(server);
	unlink(address.un.sun_path);
}

/* ---- PROXYv2 ---- */

static const uint8_t proxy_tcp4[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\1\2\3\4\6\7\x8\x9\0\5\0\x35";
static const uint8_t proxy_udp4[] = "\r\n\r\n\0\r\nQUIT\n\x21\x12\0\x0c\1\2\3\4\6\7\x8\x9\0\5\0\x35";

static void serve_proxied_tcp(int fd)
{
	uint8_t room[sizeof(proxy_tcp4) - 1];
	int conn = accept_one(fd);
	assert_int_equal(recv(conn, room, sizeof(room), MSG_WAITALL), sizeof(room));
	assert_memory_equal(room, proxy_tcp4, sizeof(room));
	read_query(conn);
	read_query(conn);
	close(conn);
}

static void serve_proxied_udp(int fd)
{
	uint8_t room[sizeof(proxy_udp4) - 1 + 100];
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(recv(fd, room, sizeof(room), 0), sizeof(proxy_udp4) - 1 + query.len);
		assert_memory_equal(room, proxy_udp4, sizeof(proxy_udp4) - 1);
		assert_memory_equal(room + sizeof(proxy_udp4) - 1, query.data, query.len);
	}
}

static void test_proxy(void **state)
{
	(void)state;
	static const struct {
		exchange_kind_t kind;
		int type;
		void (*serve)(int fd);
	} rows[] = { { EXCHANGE_TCP, SOCK_STREAM, serve_proxied_tcp },
		{ EXCHANGE_UDP, SOCK_DGRAM, serve_proxied_udp } };
	const exchange_address_t source = { .in = { .sin_family = AF_INET,
							    .sin_port = htons(5),
							    .sin_addr = { htonl(0x01020304) } } },
				 destination = { .in = { .sin_family = AF_INET,
								 .sin_port = htons(53),
								 .sin_addr = { htonl(0x06070809) } } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		test_server_t *server = server_new(rows[i].type, rows[i].serve);
		exchange_t *x = exchange_new(&(exchange_params_t){ .kind = rows[i].kind,
				.server = server->address,
				.timeout_ms = 10000,
				.proxy_source = source,
				.proxy_destination = destination });
		assert_int_equal(exchange_open(x), EXCHANGE_OK);
		assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
		assert_int_equal(exchange_send(x, query), EXCHANGE_OK);
		server_end(server);
		exchange_free(x);
	}
}

static void test_proxy_ipv6(void **state)
{
	(void)state;
	static const uint8_t want[] = "\r\n\r\n\0\r\nQUIT\n\x21\x22\0\x24\xff\1\0\0\0\0\0\0\0\0\0\0\0\0\0\1"
				      "\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\2\1\2\3\4";
	uint8_t header[PROXY_HEADER_MAX];
	exchange_address_t a = { .in6 = { .sin6_family = AF_INET6, .sin6_port = htons(0x102) } };
	exchange_address_t b = { .in6 = { .sin6_family = AF_INET6, .sin6_port = htons(0x304) } };
	assert_int_equal(inet_pton(AF_INET6, "ff01::1", &a.in6.sin6_addr), 1);
	assert_int_equal(inet_pton(AF_INET6, "ff02::2", &b.in6.sin6_addr), 1);
	assert_int_equal(proxy_write(&a, &b, true, header), sizeof(want) - 1);
	assert_memory_equal(header, want, sizeof(want) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_udp_silence_and_refusal),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_tcp_bad_ends),
		cmocka_unit_test(test_tcp_silence),
		cmocka_unit_test(test_udp_not_sent),
		cmocka_unit_test(test_not_opened),
		cmocka_unit_test(test_unix),
		cmocka_unit_test(test_proxy),
		cmocka_unit_test(test_proxy_ipv6),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
