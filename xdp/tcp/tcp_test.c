/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define OPEN "< S 0 mss=1460 scale=7\n> SA 0 1\n< A 1 1 win=512\n"

static const struct {
	const char *what, *script;
} scripts[] = {
	{ "RFC 9293 3.5: three-way handshake, query, reply, close", "< S 0 mss=1460 scale=7\n"
								    "> SA 0 1 mss=1460 scale=0 win=65535\n"
								    "< A 1 1\n"
								    "> none\n"
								    "< PA 1 1 len=40\n"
								    "read 40\n"
								    "write 100\n"
								    "> A 1 41 len=100\n"
								    "> none\n"
								    "< A 41 101\n"
								    "> none\n"
								    "< FA 41 101\n"
								    "read 0 fin\n"
								    "close\n"
								    "> FA 101 42\n"
								    "< A 42 102\n"
								    "> none\n"
								    "stat clients 0\n" },
	{ "RFC 6298 5: a reply is sent again, less and less often", OPEN "< PA 1 1 len=40\n"
									 "read 40\n"
									 "write 100\n"
									 "> A 1 41 len=100\n"
									 "time +240ms\n"
									 "> none\n"
									 "time +30ms\n"
									 "> A 1 41 len=100\n"
									 "time +490ms\n"
									 "> none\n"
									 "time +30ms\n"
									 "> A 1 41 len=100\n"
									 "< A 41 101\n"
									 "time +5s\n"
									 "> none\n" },
};

static void test_scripts(void **state)
{
	(void)state;
	unsigned failed = 0;
	for (size_t i = 0; i < KNOT_LEN(scripts); i++) {
		failed += !kxdp_script_run(scripts[i].what, scripts[i].script);
	}
	printf("%zu scripts, %u failed\n", KNOT_LEN(scripts), failed);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scripts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
