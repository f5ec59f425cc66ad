/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/http_host.h"

#include "libknot/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct {
	const char *host;
	bool want;
} rows[] = {
	{ NULL, true },
	{ "127.0.0.1", true },
	{ "192.0.2.1:9433", true },
	{ "[::1]", true },
	{ "[2001:db8::1]:9433", true },
	{ "[fe80::1%25eth0]:9433", true },
	{ "localhost", true },
	{ "LocalHost.:9433", true },
	{ "metrics.localhost", true },
	{ "ns1", true },
	{ "NS1.example.net.:80", true },
	/* a stranger's names */
	{ "evil.example", false },
	{ "evil.example:9433", false },
	{ "127.0.0.1.evil.example", false },
	{ "localhost.evil.example", false },
	{ "notlocalhost", false },
	{ "ns1.example.net.evil.example", false },
	{ "ns2", false },
	/* nothing that is a host */
	{ "", false },
	{ ".", false },
	{ ":9433", false },
	{ "127.0.0.1:x", false },
	{ "127.0.0.1:1:2", false },
	{ "::1", false },
	{ "[", false },
	{ "[]", false },
	{ "[::1", false },
	{ "]", false },
	{ "a b", false },
};

static void whose_host(void **state)
{
	static const char *const names[] = { "ns1", "", NULL, "ns1.example.net" };
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (http_host_is_ours(rows[i].host, names, KNOT_LEN(names)) != rows[i].want) {
			fail_msg("%s", rows[i].host);
		}
	}
	char longest[400];
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(http_host_is_ours(longest, names, KNOT_LEN(names)));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(whose_host) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
