/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/listen.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_of_accept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
