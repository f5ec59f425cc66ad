/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/jump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_looks(void **state)
{
	(void)state;
	static const struct {
		uint64_t wall_ms, monotonic_ms;
		int64_t want;
	} looks[] = {
		{ 1000000, 5, 0 },                   /* the first look */
		{ 1005000, 5005, 0 },                /* both go on */
		{ 1065030, 65005, 0 },               /* slewed */
		{ 1066030, 64105, 0 },               /* read one after the other */
		{ 1067030, 65105, 0 },               /* small steps don't add up */
		{ 32603067030, 70105, 32601995000 }, /* a year */
		{ 32603068030, 71105, 0 },           /* told once */
		{ 1069030, 72105, -32602000000 },    /* back */
		{ 1068030, 73105, -2000 }, { 1072030, 75106, 0 }, { 500, 75107, -1071531 }, /* before it ran */
	};
	sys_jump_t jump = { .is_known = false };
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		int64_t moved_ms = sys_jump_look(&jump, looks[i].wall_ms, looks[i].monotonic_ms);
		if (moved_ms != looks[i].want) {
			fail_msg("look %zu: %lld", i, (long long)moved_ms);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_looks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
