/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/listen.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

/* Only what the whole process lacks pauses accepting; errors of one connection (accept(2)) cost only that one. */
static void test_errors_of_accept(void **state)
{
	(void)state;
	static const struct {
		int err;
		listen_accept_t want;
	} rows[] = {
		{ EAGAIN, LISTEN_ACCEPT_LATER },
		{ EWOULDBLOCK, LISTEN_ACCEPT_LATER },
		{ EINTR, LISTEN_ACCEPT_NEXT },
		{ ECONNABORTED, LISTEN_ACCEPT_NEXT },
		{ EPERM, LISTEN_ACCEPT_NEXT }, /* a firewall's rule */
		{ ENETDOWN, LISTEN_ACCEPT_NEXT },
		{ EPROTO, LISTEN_ACCEPT_NEXT },
		{ ENOPROTOOPT, LISTEN_ACCEPT_NEXT },
		{ EHOSTDOWN, LISTEN_ACCEPT_NEXT },
		{ ENONET, LISTEN_ACCEPT_NEXT },
		{ EHOSTUNREACH, LISTEN_ACCEPT_NEXT },
		{ EOPNOTSUPP, LISTEN_ACCEPT_NEXT },
		{ ENETUNREACH, LISTEN_ACCEPT_NEXT },
		{ ETIMEDOUT, LISTEN_ACCEPT_NEXT },
		{ EMFILE, LISTEN_ACCEPT_PAUSE },
		{ ENFILE, LISTEN_ACCEPT_PAUSE },
		{ ENOBUFS, LISTEN_ACCEPT_PAUSE },
		{ ENOMEM, LISTEN_ACCEPT_PAUSE },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		assert_int_equal(listen_accept_after(rows[i].err), rows[i].want);
	}
}

/* A file is only replaced if there is no program behind it, whatever socket that has. */
static void test_socket_files(void **state)
{
	(void)state;
	static const struct {
		int type;
		bool is_left; /* its program has ended */
		bool want;
	} rows[] = {
		{ SOCK_STREAM, false, true },
		{ SOCK_DGRAM, false, true },
		{ SOCK_SEQPACKET, false, true },
		{ SOCK_STREAM, true, false },
		{ SOCK_DGRAM, true, false },
	};
	char dir[] = "/tmp/listen-test-XXXXXX";
	assert_non_null(mkdtemp(dir));
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", dir);
	assert_false(listen_is_served(&addr, SOCK_STREAM));
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		int fd = socket(AF_UNIX, rows[i].type | SOCK_CLOEXEC, 0);
		assert_true(fd >= 0);
		assert_int_equal(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
		if (rows[i].type != SOCK_DGRAM) {
			assert_int_equal(listen(fd, 1), 0);
		}
		if (rows[i].is_left) {
			close(fd);
		}
		assert_int_equal(listen_is_served(&addr, SOCK_STREAM), rows[i].want);
		assert_int_equal(listen_is_served(&addr, SOCK_DGRAM), rows[i].want);
		if (!rows[i].is_left) {
			close(fd);
		}
		assert_int_equal(unlink(addr.sun_path), 0);
	}
	/* A datagram socket that is connected takes packets of its peer only (EPERM). */
	int fds[2];
	struct sockaddr_un peer = { .sun_family = AF_UNIX };
	snprintf(peer.sun_path, sizeof(peer.sun_path), "%s/p", dir);
	for (unsigned i = 0; i < 2; i++) {
		fds[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
		assert_int_equal(bind(fds[i], (const struct sockaddr *)(i == 0 ? &addr : &peer), sizeof(addr)), 0);
	}
	assert_int_equal(connect(fds[0], (const struct sockaddr *)&peer, sizeof(peer)), 0);
	assert_true(listen_is_served(&addr, SOCK_DGRAM));
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(unlink(addr.sun_path), 0);
	assert_int_equal(unlink(peer.sun_path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_of_accept),
		cmocka_unit_test(test_socket_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
