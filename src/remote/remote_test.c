/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread with real sockets on loopback; the server is the test. */
#include "src/remote/remote.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "src/sys/clock.h"

enum { WAIT_MS = 20000, ASKS = 300 };

static const uint8_t zone_wire[] = "\7example";

typedef struct {
	remote_request_t request;
	remote_t *remote;
	atomic_uint ends;
	knot_err_t err;
	unsigned again;   /* ask so often on the same connection */
	bool then_stream; /* these are transfers */
	bool was_pooled;
} ask_t;

typedef struct {
	remote_t *remote;
	int listener;
	conf_addr_t address;
	conf_remote_t to;
} world_t;

static remote_verdict_t on_message(remote_request_t *request, knot_bytes_t message)
{
	(void)request, (void)message;
	return REMOTE_DONE;
}

static void on_end(remote_request_t *request, knot_err_t err)
{
	ask_t *ask = (ask_t *)request;
	ask->err = err;
	ask->was_pooled = request->is_pooled;
	if (err == KNOT_OK && ask->again > 0) {
		ask->again--;
		request->keeps_connection = true;
		request->is_stream = ask->then_stream;
		assert_int_equal(remote_ask(ask->remote, request), KNOT_OK);
		return;
	}
	atomic_fetch_add(&ask->ends, 1);
}

static void make_ask(world_t *world, ask_t *ask)
{
	memset(ask, 0, sizeof(*ask));
	ask->request = (remote_request_t){ .query = { .type = KNOT_TYPE_SOA, .zone = knot_name_of(zone_wire) },
		.remote = &world->to,
		.on_message = on_message,
		.on_end = on_end };
	ask->remote = world->remote;
}

static void wait_for_end(ask_t *ask)
{
	for (unsigned i = 0; i < WAIT_MS && atomic_load(&ask->ends) == 0; i++) {
		sys_clock_sleep_ns(1000000);
	}
	assert_int_equal(atomic_load(&ask->ends), 1);
}

static void begin(world_t *world, const conf_server_t *conf)
{
	memset(world, 0, sizeof(*world));
	struct sockaddr_in *sin = (struct sockaddr_in *)&world->address.ss;
	*sin = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	world->address.len = sizeof(*sin);
	world->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(world->listener, (struct sockaddr *)sin, sizeof(*sin)), 0);
	assert_int_equal(listen(world->listener, 64), 0);
	assert_int_equal(getsockname(world->listener, (struct sockaddr *)sin, &world->address.len), 0);
	world->to.addresses = (conf_addrs_t){ &world->address, 1 };
	assert_int_equal(remote_new(conf, &world->remote), KNOT_OK);
	assert_int_equal(remote_start(world->remote), KNOT_OK);
}

static void end(world_t *world)
{
	remote_stop(world->remote);
	remote_free(world->remote);
	close(world->listener);
}

static void read_all(int fd, uint8_t *at, size_t len)
{
	while (len > 0) {
		ssize_t got = read(fd, at, len);
		assert_true(got > 0);
		at += got;
		len -= (size_t)got;
	}
}

/* Read a question and answer it, after `skip` others that aren't. */
static void answer_one(int fd)
{
	uint8_t bytes[1024];
	read_all(fd, bytes, 2);
	read_all(fd, bytes + 2, load_be16(bytes));
	bytes[4] |= 0x80;
	size_t len = (size_t)load_be16(bytes) + 2;
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

static void test_answer_and_connection_kept(void **state)
{
	(void)state;
	world_t world;
	ask_t ask;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	make_ask(&world, &ask);
	ask.again = 2;
	assert_int_equal(remote_ask(world.remote, &ask.request), KNOT_OK);
	int fd = accept(world.listener, NULL, NULL);
	for (unsigned i = 0; i < 3; i++) {
		answer_one(fd); /* all on one connection */
	}
	wait_for_end(&ask);
	assert_int_equal(ask.err, KNOT_OK);
	uint8_t byte;
	assert_int_equal(read(fd, &byte, 1), 0); /* it isn't kept without a use */
	close(fd);
	end(&world);
}

static void test_pool(void **state)
{
	(void)state;
	world_t world;
	ask_t first, second;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS,
				      .remote_pool_limit = 1,
				      .remote_pool_timeout_s = 100 });
	make_ask(&world, &first);
	assert_int_equal(remote_ask(world.remote, &first.request), KNOT_OK);
	int fd = accept(world.listener, NULL, NULL);
	answer_one(fd);
	wait_for_end(&first);
	assert_false(first.was_pooled);
	/* The thread may not have put it aside yet: a question in between shares it. */
	sys_clock_sleep_ns(200000000);
	make_ask(&world, &second);
	second.request.is_stream = true;
	assert_int_equal(remote_ask(world.remote, &second.request), KNOT_OK);
	answer_one(fd);
	wait_for_end(&second);
	assert_int_equal(second.err, KNOT_OK);
	assert_true(second.was_pooled);
	close(fd);
	end(&world);
}

static void test_refused(void **state)
{
	(void)state;
	world_t world;
	ask_t ask;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	close(world.listener);
	make_ask(&world, &ask);
	assert_int_equal(remote_ask(world.remote, &ask.request), KNOT_OK);
	wait_for_end(&ask);
	assert_int_equal(ask.err, KNOT_ECONNRESET);
	world.listener = -1;
	end(&world);
}

static void test_silence(void **state)
{
	(void)state;
	world_t world;
	ask_t ask;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = 100 });
	make_ask(&world, &ask);
	assert_int_equal(remote_ask(world.remote, &ask.request), KNOT_OK);
	int fd = accept(world.listener, NULL, NULL);
	wait_for_end(&ask);
	assert_int_equal(ask.err, KNOT_ETIMEOUT);
	close(fd);
	end(&world);
}

static void test_closed_without_an_answer(void **state)
{
	(void)state;
	world_t world;
	ask_t ask;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	make_ask(&world, &ask);
	assert_int_equal(remote_ask(world.remote, &ask.request), KNOT_OK);
	close(accept(world.listener, NULL, NULL));
	wait_for_end(&ask);
	assert_int_equal(ask.err, KNOT_ECONNRESET);
	end(&world);
}

/* A server that closes the connection after one answer gets the other questions again. */
static void test_closed_after_an_answer(void **state)
{
	(void)state;
	world_t world;
	ask_t asks[2];
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	for (unsigned i = 0; i < 2; i++) {
		make_ask(&world, &asks[i]);
		assert_int_equal(remote_ask(world.remote, &asks[i].request), KNOT_OK);
	}
	for (unsigned i = 0; i < 2; i++) {
		int fd = accept(world.listener, NULL, NULL);
		answer_one(fd);
		close(fd);
	}
	for (unsigned i = 0; i < 2; i++) {
		wait_for_end(&asks[i]);
		assert_int_equal(asks[i].err, KNOT_OK);
	}
	end(&world);
}

/* The same of a transfer behind a question, of which nothing has come: the server that answered may have ended. */
static void test_closed_before_a_transfer(void **state)
{
	(void)state;
	uint8_t bytes[1024];
	world_t world;
	ask_t ask;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	make_ask(&world, &ask);
	ask.again = 1;
	ask.then_stream = true;
	assert_int_equal(remote_ask(world.remote, &ask.request), KNOT_OK);
	int fd = accept(world.listener, NULL, NULL);
	answer_one(fd);
	read_all(fd, bytes, 2); /* the transfer */
	close(fd);
	fd = accept(world.listener, NULL, NULL);
	answer_one(fd);
	wait_for_end(&ask);
	assert_int_equal(ask.err, KNOT_OK);
	close(fd);
	end(&world);
}

/* More transfers than connections: what waits follows on that of a transfer that has ended, until the server closes
 * one. */
static void test_transfers_follow_on_connections(void **state)
{
	(void)state;
	enum { TRANSFERS = REMOTE_STREAMS_MAX + 4 };
	static ask_t asks[TRANSFERS];
	int fds[REMOTE_STREAMS_MAX];
	uint8_t question[1024];
	world_t world;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	for (unsigned i = 0; i < TRANSFERS; i++) {
		make_ask(&world, &asks[i]);
		asks[i].request.is_stream = true;
		assert_int_equal(remote_ask(world.remote, &asks[i].request), KNOT_OK);
	}
	for (unsigned i = 0; i < REMOTE_STREAMS_MAX; i++) {
		fds[i] = accept(world.listener, NULL, NULL);
	}
	answer_one(fds[0]);
	answer_one(fds[0]); /* the first that waited */
	read_all(fds[0], question, 2);
	read_all(fds[0], question + 2, load_be16(question));
	close(fds[0]); /* the second isn't answered: it is asked again, and each has its own connection from now on */
	for (unsigned i = 0; i < 3; i++) {
		fds[0] = accept(world.listener, NULL, NULL);
		answer_one(fds[0]);
		assert_int_equal(read(fds[0], question, 1), 0);
		close(fds[0]);
	}
	for (unsigned i = 1; i < REMOTE_STREAMS_MAX; i++) {
		answer_one(fds[i]);
		assert_int_equal(read(fds[i], question, 1), 0);
		close(fds[i]);
	}
	for (unsigned i = 0; i < TRANSFERS; i++) {
		wait_for_end(&asks[i]);
		assert_int_equal(asks[i].err, KNOT_OK);
	}
	end(&world);
}

/* Plain questions fill their connections; an urgent one has its own. */
static void test_urgent_passes_others(void **state)
{
	(void)state;
	static ask_t asks[ASKS];
	world_t world;
	ask_t urgent;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	for (unsigned i = 0; i < ASKS; i++) {
		make_ask(&world, &asks[i]);
		assert_int_equal(remote_ask(world.remote, &asks[i].request), KNOT_OK);
	}
	int first = accept(world.listener, NULL, NULL); /* the first window fits into one */
	make_ask(&world, &urgent);
	urgent.request.is_urgent = true;
	assert_int_equal(remote_ask(world.remote, &urgent.request), KNOT_OK);
	int fd = accept(world.listener, NULL, NULL);
	answer_one(fd);
	wait_for_end(&urgent);
	assert_int_equal(urgent.err, KNOT_OK);
	assert_int_equal(atomic_load(&asks[0].ends), 0);
	remote_stop(world.remote);
	remote_free(world.remote);
	close(fd);
	close(first);
	close(world.listener);
}

static void test_stop_ends_all(void **state)
{
	(void)state;
	static ask_t asks[ASKS];
	world_t world;
	begin(&world, &(conf_server_t){ .tcp_remote_io_timeout_ms = WAIT_MS });
	for (unsigned i = 0; i < ASKS; i++) {
		make_ask(&world, &asks[i]);
		asks[i].request.is_stream = i % 3 == 0;
		assert_int_equal(remote_ask(world.remote, &asks[i].request), KNOT_OK);
	}
	remote_stop(world.remote);
	for (unsigned i = 0; i < ASKS; i++) {
		assert_int_equal(atomic_load(&asks[i].ends), 1);
		assert_int_equal(asks[i].err, KNOT_ESTOPPED);
	}
	make_ask(&world, &asks[0]);
	assert_int_equal(remote_ask(world.remote, &asks[0].request), KNOT_ESTOPPED);
	remote_free(world.remote);
	close(world.listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer_and_connection_kept),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_closed_without_an_answer),
		cmocka_unit_test(test_closed_after_an_answer),
		cmocka_unit_test(test_closed_before_a_transfer),
		cmocka_unit_test(test_transfers_follow_on_connections),
		cmocka_unit_test(test_urgent_passes_others),
		cmocka_unit_test(test_stop_ends_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
