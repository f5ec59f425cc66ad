/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/report.h"
#include "src/zone/build.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";

typedef struct {
	char text[4096];
	size_t len;
	uint64_t counts[ZONE_FAULT_COUNT], lines;
} messages_t;

static void on_message(const zone_message_t *message, void *ctx)
{
	messages_t *m = ctx;
	char line[512];
	m->counts[message->found->fault] += message->more > 0 ? message->more : 1;
	m->lines++;
	assert_int_equal(message->level, ZONE_MESSAGE_WARNING);
	assert_int_equal(message->owner == NULL, message->more > 0);
	int len = snprintf(line, sizeof(line), "%s|%u\n", message->text, message->found->type);
	if (m->len + (size_t)len < sizeof(m->text)) {
		memcpy(m->text + m->len, line, (size_t)len + 1);
		m->len += (size_t)len;
	}
}

static void report(const char *text, zone_dnssec_t dnssec, zone_checks_t checks, messages_t *messages)
{
	*messages = (messages_t){ .len = 0 };
	const zone_build_params_t params = { .origin = { origin_wire, 6, 1 },
		.default_ttl = 60,
		.checks = checks,
		.dnssec = dnssec,
		.prove = validate_report,
		.now_s = 1700000000,
		.on_message = on_message,
		.ctx = messages };
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	zone_contents_free(zone);
}

#define KEY     "mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ=="
#define SOA     "@ 60 SOA ns.out. r 1 2 3 4 5\n@ 60 NS ns.out.\n"
#define SIG     "@ 60 RRSIG SOA 13 1 60 20300101000000 20200101000000 1 zone. AAAA\n"
#define DNSKEYS "@ 60 DNSKEY 257 3 13 " KEY "\n"

static const struct {
	const char *what, *zone;
	zone_dnssec_t dnssec;
	zone_checks_t checks;
	const char *want;
} rows[] = {
	{ "signed without keys: not told here", SOA SIG, ZONE_DNSSEC_IF_SIGNED, ZONE_CHECKS_ON,
			"check, node zone., missing DNSKEY|6\n" },
	{ "not signed", SOA DNSKEYS, ZONE_DNSSEC_IF_SIGNED, ZONE_CHECKS_ON, "" },
	{ "not wanted", SOA SIG DNSKEYS, ZONE_DNSSEC_OFF, ZONE_CHECKS_ON, "" },
	{ "soft", SOA SIG DNSKEYS, ZONE_DNSSEC_ON, ZONE_CHECKS_SOFT, "" },
	{ "all, and in order", SOA DNSKEYS "a 60 A 192.0.2.1\nb 60 NSEC @ A\n", ZONE_DNSSEC_ON, ZONE_CHECKS_ON,
			"check, node zone., missing NSEC(3) record|255\n"
			"check, node a.zone., missing NSEC(3) record|255\n"
			"check, node b.zone., wrong NSEC(3) bitmap|47\n"
			"check, node zone., no valid signature for a record (record type NS)|2\n"
			"check, node zone., no valid signature for a record (record type SOA)|6\n"
			"check, node zone., no valid signature for a record (record type DNSKEY)|48\n"
			"check, node a.zone., no valid signature for a record (record type A)|1\n"
			"check, node b.zone., no valid signature for a record (record type NSEC)|47\n" },
	{ "a key that isn't one", SOA SIG "@ 60 DNSKEY 257 3 13 AAAA\n", ZONE_DNSSEC_IF_SIGNED, ZONE_CHECKS_ON,
			"check, node zone., invalid DNSKEY|48\n" },
	{ "parameters", SOA SIG DNSKEYS "@ 60 NSEC3PARAM 1 0 0 -\n@ 60 NSEC3PARAM 1 0 1 -\n", ZONE_DNSSEC_IF_SIGNED,
			ZONE_CHECKS_ON, "check, node zone., unknown error (missing or wrong NSEC3PARAM record)|51\n" },
};

static void test_rows(void **state)
{
	(void)state;
	messages_t messages;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		report(rows[i].zone, rows[i].dnssec, rows[i].checks, &messages);
		if (strcmp(messages.text, rows[i].want) != 0) {
			fail_msg("%s:\n%swanted:\n%s", rows[i].what, messages.text, rows[i].want);
		}
	}
}

/* Faults behind the first VALIDATE_REPORT_MAX are counted only. */
static void test_many(void **state)
{
	(void)state;
	enum { NAMES = 1500 };
	messages_t messages;
	char *text = malloc(64 * NAMES + 1024);
	size_t len = (size_t)sprintf(text, "%s", SOA DNSKEYS);
	for (unsigned i = 0; i < NAMES; i++) {
		len += (size_t)sprintf(text + len, "n%u 60 A 192.0.2.1\n", i);
	}
	report(text, ZONE_DNSSEC_ON, ZONE_CHECKS_ON, &messages);
	assert_int_equal(messages.counts[ZONE_FAULT_NSEC_MISSING], NAMES + 1);
	assert_int_equal(messages.counts[ZONE_FAULT_RRSIG], NAMES + 3);
	assert_int_equal(messages.lines, VALIDATE_REPORT_MAX + 2);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_many) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
