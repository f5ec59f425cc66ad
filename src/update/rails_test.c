/* SPDX-License-Identifier: BSD-2-Clause */
/* Which versions may replace which. */
#include "src/update/rails.h"

#include "src/zone/build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

#define SOA(serial) "@ 60 SOA ns admin " #serial " 1 2 3 4\n"
#define NS          "@ 60 NS ns\n"
#define A4          "a 60 A 192.0.2.1\nb 60 A 192.0.2.2\nc 60 A 192.0.2.3\nd 60 A 192.0.2.4\n"
#define A8          A4 "e 60 A 192.0.2.5\nf 60 A 192.0.2.6\ng 60 A 192.0.2.7\nh 60 A 192.0.2.8\n"
#define SIG         "@ 60 RRSIG SOA 8 1 60 20300101000000 20200101000000 1 @ AAAA\n"
#define KEY(text)   "@ 60 DNSKEY 257 3 8 " text "\n"
#define CHAIN3                                                                                                         \
	"@ 60 NSEC3PARAM 1 0 0 -\n0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 1 0 - "                                  \
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"

static const struct {
	const char *what;
	rails_policy_t policy;
	const char *old; /* NULL: nothing is served */
	const char *next;
	const char *want; /* the reason; "": no rail is broken */
} rows[] = {
	{ "no rails", { 0, 0 }, SOA(5) NS A8, SOA(4), "" },
	{ "no rails, nothing was served", { 0, 0 }, NULL, SOA(4), "" },

	{ "10 -> 6 records", { 60, 0 }, SOA(1) NS A8, SOA(2) NS A4, "" },
	{ "more than may go", { 61, 0 }, SOA(1) NS A8, SOA(2) NS A4,
			"publish-max-shrink 39 %, records 10 -> 6, -40.0 %" },
	{ "nothing may go", { 100, 0 }, SOA(1) NS A8, SOA(2) A8, "publish-max-shrink 0 %, records 10 -> 9, -10.0 %" },
	{ "as many as before", { 100, 0 }, SOA(1) NS A4, SOA(2) NS A4, "" },
	{ "it grows", { 100, 0 }, SOA(1) NS A4, SOA(2) NS A8, "" },
	{ "nothing was served that could shrink", { 100, 0 }, NULL, SOA(2), "" },

	{ "NS records stay", { 0, CONF_REQUIRE_APEX_NS }, SOA(1) NS, SOA(2) NS A4, "" },
	{ "NS records go", { 0, CONF_REQUIRE_APEX_NS }, SOA(1) NS, SOA(2) A4,
			"publish-require apex-ns, no NS record at the zone apex" },
	{ "a cut has NS records", { 0, CONF_REQUIRE_APEX_NS }, SOA(1) NS, SOA(2) "sub 60 NS ns\n",
			"publish-require apex-ns, no NS record at the zone apex" },
	{ "no NS records, nothing was served", { 0, CONF_REQUIRE_APEX_NS }, NULL, SOA(2) A4,
			"publish-require apex-ns, no NS record at the zone apex" },

	{ "newer", { 0, CONF_REQUIRE_NEWER_SERIAL }, SOA(1) NS, SOA(2) NS A4, "" },
	{ "newer, across the end", { 0, CONF_REQUIRE_NEWER_SERIAL }, SOA(4294967295) NS, SOA(0) NS A4, "" },
	{ "back", { 0, CONF_REQUIRE_NEWER_SERIAL }, SOA(2) NS, SOA(1) NS A4,
			"publish-require newer-serial, serial 2 -> 1" },
	{ "not to compare", { 0, CONF_REQUIRE_NEWER_SERIAL }, SOA(0) NS, SOA(2147483648) NS,
			"publish-require newer-serial, serial 0 -> 2147483648" },
	{ "the same serial and records", { 0, CONF_REQUIRE_NEWER_SERIAL }, SOA(2) NS A4, SOA(2) NS A4, "" },
	{ "the same serial, other records", { 0, CONF_REQUIRE_NEWER_SERIAL }, SOA(2) NS A4, SOA(2) NS A8,
			"publish-require newer-serial, serial 2 -> 2, but other records" },
	{ "nothing was served", { 0, CONF_REQUIRE_NEWER_SERIAL }, NULL, SOA(1), "" },

	{ "signed, NSEC", { 0, CONF_REQUIRE_SIGNED }, SOA(1), SOA(2) SIG "@ 60 NSEC @ SOA RRSIG NSEC\n", "" },
	{ "signed, NSEC3", { 0, CONF_REQUIRE_SIGNED }, SOA(1), SOA(2) SIG CHAIN3, "" },
	{ "no signatures", { 0, CONF_REQUIRE_SIGNED }, SOA(1) SIG CHAIN3, SOA(2) CHAIN3,
			"publish-require signed, no signatures at the zone apex" },
	{ "no chain", { 0, CONF_REQUIRE_SIGNED }, SOA(1) SIG CHAIN3, SOA(2) SIG,
			"publish-require signed, no NSEC or NSEC3 chain" },

	{ "a key stays", { 0, CONF_REQUIRE_COMMON_KEY }, SOA(1) KEY("AAAA") KEY("BBBB"), SOA(2) KEY("BBBB") KEY("CCCC"),
			"" },
	{ "other keys", { 0, CONF_REQUIRE_COMMON_KEY }, SOA(1) KEY("AAAA") KEY("BBBB"), SOA(2) KEY("CCCC"),
			"publish-require common-key, all DNSKEY records are other ones" },
	{ "no keys", { 0, CONF_REQUIRE_COMMON_KEY }, SOA(1) KEY("AAAA"), SOA(2) A8,
			"publish-require common-key, no DNSKEY record is left" },
	{ "first keys", { 0, CONF_REQUIRE_COMMON_KEY }, SOA(1) A4, SOA(2) KEY("AAAA"), "" },

	{ "several: the first is named", { 90, CONF_REQUIRE_APEX_NS | CONF_REQUIRE_NEWER_SERIAL }, SOA(2) NS A8, SOA(1),
			"publish-max-shrink 10 %, records 10 -> 1, -90.0 %" },
};

static zone_contents_t *build(const char *text)
{
	zone_contents_t *zone = NULL;
	if (text != NULL) {
		assert_int_equal(zone_build_text(knot_str_of(text), "text", &params, &zone), KNOT_OK);
	}
	return zone;
}

static void test_rails(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_contents_t *old = build(rows[i].old), *next = build(rows[i].next);
		for (unsigned forced = 0; forced < 2; forced++) {
			char reason[RAILS_REASON_MAX] = "x";
			knot_err_t err = rails_check(&rows[i].policy, old, next, forced, reason);
			bool is_refused = rows[i].want[0] != '\0' && old != NULL && !forced;
			if (err != (is_refused ? KNOT_EGUARDRAIL : KNOT_OK) || strcmp(reason, rows[i].want) != 0) {
				fail_msg("%s%s: %s, '%s'", rows[i].what, forced ? ", forced" : "", knot_strerror(err),
						reason);
			}
		}
		zone_contents_free(old);
		zone_contents_free(next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rails) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
