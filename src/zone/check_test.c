/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/build.h"
#include "src/zone/txn.h"

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
} messages_t;

static void on_message(const zone_message_t *message, void *ctx)
{
	static const char letters[] = "nwe";
	messages_t *m = ctx;
	m->len += (size_t)snprintf(
			m->text + m->len, sizeof(m->text) - m->len, "%c:%s\n", letters[message->level], message->text);
	assert_true(m->len < sizeof(m->text));
}

/* where the first record of a name is, in messages of a zone that fails */
#define AT(line) ", file 'test', line " #line "\n"

/* the last line of each refusal */
#define REFUSED "e:zone loader, failed to load zone, file 'test' (semantic check)\n"

#define HEAD                  "@ 60 SOA ns r 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n"
#define SIG(type)             " 60 RRSIG " type " 8 1 60 20300101000000 20200101000000 1 zone. AAAA\n"
#define SIGNED                "@ 60 SOA ns.out. r 1 2 3 4 5\n@" SIG("SOA") "@ 60 NS ns.out.\n"
#define KEY(type, flags, key) "@ 60 " type " " flags " 3 8 " key "\n"
#define DELETE                "@ 60 CDS 0 0 0 00\n@ 60 CDNSKEY 0 3 0 AA==\n"
#define SHA1_FEW              "000102030405060708090A0B0C0D0E0F"
#define SHA1                  SHA1_FEW "10111213"
#define SHA256                SHA1_FEW SHA1_FEW

/* An NSEC3 chain of one name, which nothing is asked about. */
#define ITERATED(count)                                                                                                \
	"@ 60 NSEC3PARAM 1 0 " count " -\n"                                                                            \
	"0123456789abcdefghijklmnopqrstuv 60 NSEC3 1 0 " count " - 0123456789abcdefghijklmnopqrstuv A\n"

static const struct {
	const char *what, *zone;
	zone_checks_t checks;
	knot_err_t want;
	const char *want_messages;
} rows[] = {
	{ "a good zone", HEAD, ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "no SOA", "@ 60 NS ns.out.\n", ZONE_CHECKS_OFF, KNOT_ENOSOA, "e:check, missing SOA at the zone apex\n" },
	{ "empty", "", ZONE_CHECKS_OFF, KNOT_ENOSOA, "e:check, missing SOA at the zone apex\n" },
	{ "SOA elsewhere", "a 60 SOA ns r 1 2 3 4 5\n", ZONE_CHECKS_OFF, KNOT_ENOSOA,
			"e:check, missing SOA at the zone apex\n" },
	{ "two SOA", HEAD "@ 60 SOA ns r 2 2 3 4 5\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node zone., multiple SOA records" AT(1) REFUSED },
	{ "the same SOA twice", HEAD "@ 60 SOA ns r 1 2 3 4 5\n", ZONE_CHECKS_OFF, KNOT_OK, "" },
	{ "no NS", "@ 60 SOA ns r 1 2 3 4 5\n", ZONE_CHECKS_OFF, KNOT_OK,
			"w:check, node zone., missing NS at the zone apex\n" },
	{ "data beside CNAME", HEAD "c 60 CNAME a\nc 60 A 192.0.2.1\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node c.zone., another record exists beside CNAME (record type A)" AT(4) REFUSED },
	{ "soft: noted only", HEAD "c 60 CNAME a\nc 60 A 192.0.2.1\n", ZONE_CHECKS_SOFT, KNOT_OK,
			"n:check, node c.zone., another record exists beside CNAME (record type A)\n" },
	{ "NSEC and RRSIG beside CNAME", HEAD "c 60 CNAME a\nc 60 NSEC a A\nc" SIG("CNAME"), ZONE_CHECKS_OFF, KNOT_OK,
			"" },
	{ "two CNAME", HEAD "c 60 CNAME a\nc 60 CNAME b\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node c.zone., multiple CNAME records" AT(4) REFUSED },
	{ "DNAME faults", HEAD "d 60 DNAME a.\nd 60 DNAME b.\nx.d 60 A 192.0.2.1\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node d.zone., child record exists under DNAME" AT(
					4) "e:check, node d.zone., multiple DNAME records" AT(4) REFUSED },
	{ "data beside CNAME below a cut", HEAD "a 60 NS o.\nc.a 60 CNAME b\nc.a 60 A 192.0.2.1\n", ZONE_CHECKS_OFF,
			KNOT_ESEMCHECK,
			"e:check, node c.a.zone., another record exists beside CNAME (record type A)" AT(5) REFUSED },
	{ "two CNAME below a cut", HEAD "a 60 NS o.\nc.a 60 CNAME b\nc.a 60 CNAME c\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node c.a.zone., multiple CNAME records" AT(5) REFUSED },
	{ "DNAME faults below a cut",
			HEAD "a 60 NS o.\nd.a 60 DNAME a.\nd.a 60 DNAME b.\nx.y.d.a 60 A 192.0.2.1\ne.a 60 DNAME a.\n"
			     "e.a 60 NS o.\n",
			ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node d.a.zone., child record exists under DNAME" AT(
					5) "e:check, node d.a.zone., multiple DNAME records" AT(5) "e:check, node "
												   "e.a.zone., NS "
												   "record exists "
												   "beside DNAME" AT(8)
														   REFUSED },
	{ "DNAME at a cut with glue", HEAD "a 60 NS o.\na 60 DNAME b.\nx.a 60 A 192.0.2.1\n", ZONE_CHECKS_OFF,
			KNOT_ESEMCHECK,
			"e:check, node a.zone., child record exists under DNAME" AT(
					5) "e:check, node a.zone., NS record exists beside DNAME" AT(5) REFUSED },
	{ "DNAME below a cut", HEAD "a 60 NS o.\nd.a 60 DNAME a.\nda.a 60 A 192.0.2.1\n", ZONE_CHECKS_OFF, KNOT_OK,
			"" },
	{ "NS beside DNAME", HEAD "d 60 DNAME a.\nd 60 NS a.\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node d.zone., NS record exists beside DNAME" AT(4) REFUSED },
	{ "DNAME at the apex", "@ 60 SOA ns r 1 2 3 4 5\n@ 60 NS ns.out.\n@ 60 DNAME out.\n", ZONE_CHECKS_ON, KNOT_OK,
			"" },
	{ "glue: on", HEAD "a 60 NS ns.a\n", ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node a.zone., missing glue record (NS ns.a.zone.)\n" },
	{ "glue: soft", HEAD "a 60 NS ns.a\n", ZONE_CHECKS_SOFT, KNOT_OK, "" },
	{ "glue: off", HEAD "a 60 NS ns.a\n", ZONE_CHECKS_OFF, KNOT_OK, "" },
	{ "glue there", HEAD "a 60 NS ns.a\na 60 NS a\nns.a 60 AAAA ::1\na 60 A 192.0.2.1\n", ZONE_CHECKS_ON, KNOT_OK,
			"" },
	{ "server without address", HEAD "a 60 NS b\nb 60 TXT x\n", ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node a.zone., missing glue record (NS b.zone.)\n" },
	{ "targets that are aliases",
			HEAD
			"@ 60 MX 1 M\nm 60 CNAME a\nsub 60 NS n\nn 60 CNAME a\na 60 A 192.0.2.1\nsub 60 NS ns.out.\n"
			"ok 60 MX 1 a\n",
			ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., target is an alias (MX m.zone.)\n"
			"w:check, node sub.zone., missing glue record (NS n.zone.)\n"
			"w:check, node sub.zone., target is an alias (NS n.zone.)\n" },
	{ "targets that are aliases: off", HEAD "@ 60 MX 1 m\nm 60 CNAME a\n", ZONE_CHECKS_OFF, KNOT_OK, "" },
	{ "iterations of NSEC3 that are many", HEAD ITERATED("51"), ZONE_CHECKS_OFF, KNOT_OK,
			"w:check, node zone., too many NSEC3 iterations (51, RFC 9276 recommends 0)\n" },
	{ "iterations of NSEC3 that aren't", HEAD ITERATED("50"), ZONE_CHECKS_OFF, KNOT_OK, "" },
	{ "iterations of NSEC3 that are allowed", HEAD ITERATED("100"), ZONE_CHECKS_OFF, KNOT_OK,
			"w:check, node zone., too many NSEC3 iterations (100, RFC 9276 recommends 0)\n" },
	{ "iterations of NSEC3 over the limit, with soft checks, too", HEAD ITERATED("101"), ZONE_CHECKS_SOFT,
			KNOT_ESEMCHECK,
			"e:check, node zone., more NSEC3 iterations than nsec3-max-iterations (101, allowed "
			"100)" AT(4) REFUSED },
	{ "server below another cut", HEAD "a 60 NS x.b\nb 60 NS ns.out.\n", ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "server from a wildcard", HEAD "a 60 NS x.w\n*.w 60 A 192.0.2.1\n", ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "glue of the apex, always", "@ 60 SOA ns r 1 2 3 4 5\n@ 60 NS ns\na 60 NS ns.a\n", ZONE_CHECKS_OFF, KNOT_OK,
			"w:check, node zone., missing glue record (NS ns.zone.)\n" },
	{ "glue of the apex, soft", "@ 60 SOA ns r 1 2 3 4 5\n@ 60 NS ns\n", ZONE_CHECKS_SOFT, KNOT_OK,
			"n:check, node zone., missing glue record (NS ns.zone.)\n" },
	{ "DS at the apex", HEAD "@ 60 DS 7 8 1 " SHA1 "\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node zone., DS at the zone apex" AT(4) REFUSED },
	{ "DELEG at the apex", HEAD "@ 60 TYPE61440 \\# 1 00\n", ZONE_CHECKS_OFF, KNOT_ESEMCHECK,
			"e:check, node zone., DELEG at the zone apex" AT(4) REFUSED },
	{ "a report goes on", HEAD "c 60 CNAME a\nc 60 CNAME b\nd 60 NS ns.d\n", ZONE_CHECKS_REPORT, KNOT_OK,
			"e:check, node c.zone., multiple CNAME records" AT(
					4) "w:check, node d.zone., missing glue record (NS ns.d.zone.)" AT(6) },
	{ "DS length", HEAD "a 60 NS o.\na 60 DS 7 8 2 AABB\n", ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node a.zone., invalid digest length in DS (keytag 7, algorithm 2)\n" },
	{ "DS lengths that are right",
			HEAD "a 60 NS o.\na 60 DS 7 8 1 " SHA1 "\na 60 DS 7 8 2 " SHA256 "\na 60 DS 7 8 3 " SHA256
			     "\na 60 DS 7 8 4 " SHA256 SHA1_FEW "\na 60 DS 7 8 5 " SHA256 "\na 60 DS 7 8 6 " SHA256
			     "\n",
			ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "DS of unknown digests", HEAD "a 60 NS o.\na 60 DS 7 8 0 00\na 60 DS 7 8 7 " SHA256 "\n", ZONE_CHECKS_ON,
			KNOT_OK,
			"w:check, node a.zone., unknown algorithm in DS (keytag 7, algorithm 0)\n"
			"w:check, node a.zone., unknown algorithm in DS (keytag 7, algorithm 7)\n" },
	{ "DS with other checks off", HEAD "a 60 NS o.\na 60 DS 7 8 2 AABB\n", ZONE_CHECKS_OFF, KNOT_OK, "" },
	{ "CDS of a zone that isn't signed", HEAD "@ 60 CDS 1 8 2 AA\n", ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "no DNSKEY", SIGNED, ZONE_CHECKS_ON, KNOT_OK, "w:check, node zone., missing DNSKEY\n" },
	{ "no DNSKEY: soft", SIGNED, ZONE_CHECKS_SOFT, KNOT_OK, "" },
	{ "CDS alone", SIGNED KEY("DNSKEY", "257", "AAAA") "@ 60 CDS 1 8 2 AA\n", ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., missing CDNSKEY\n" },
	{ "CDNSKEY alone", SIGNED KEY("DNSKEY", "257", "AAAA") KEY("CDNSKEY", "257", "AAAA"), ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., missing CDS\n" },
	{ "CDS and CDNSKEY that match",
			SIGNED KEY("DNSKEY", "257", "AAAA")
					KEY("CDNSKEY", "257", "AAAA") "@ 60 CDS 1024 8 1 "
								      "A264ADADA2E24393F88BF7AEE7A9652719636CAB\n",
			ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "CDS of another key",
			SIGNED KEY("DNSKEY", "257", "AAAA") KEY("CDNSKEY", "257", "AAAA") "@ 60 CDS 1 8 1 " SHA1 "\n"
											  "@ 60 CDS 1 8 77 AA\n",
			ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., CDS not match CDNSKEY\nw:check, node zone., CDS not match CDNSKEY\n" },
	{ "CDNSKEY of other keys, and too many",
			SIGNED KEY("DNSKEY", "257", "AAAA") KEY("CDNSKEY", "257", "AAAB") KEY("CDNSKEY", "256", "AAAA")
					KEY("CDNSKEY", "257", "AAAA") "@ 60 CDS 1 8 1 " SHA1 "\n",
			ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., CDNSKEY not match DNSKEY\nw:check, node zone., CDNSKEY not match DNSKEY\n"
			"w:check, node zone., CDS not match CDNSKEY\n"
			"w:check, node zone., CDNSKEY without corresponding CDS\n" },
	{ "delete", SIGNED KEY("DNSKEY", "257", "AAAA") DELETE, ZONE_CHECKS_ON, KNOT_OK, "" },
	{ "delete and a key", SIGNED KEY("DNSKEY", "257", "AAAA") KEY("CDNSKEY", "257", "AAAA") DELETE, ZONE_CHECKS_ON,
			KNOT_OK,
			"w:check, node zone., invalid CDNSKEY/CDS for DNSSEC delete algorithm\n"
			"w:check, node zone., CDNSKEY without corresponding CDS\n" },
	{ "delete in one of them",
			SIGNED KEY("DNSKEY", "257", "AAAA") KEY("CDNSKEY", "257", "AAAA") "@ 60 CDS 0 0 0 00\n",
			ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., invalid CDNSKEY/CDS for DNSSEC delete algorithm\n" },
	{ "delete with another length",
			SIGNED KEY("DNSKEY", "257", "AAAA") "@ 60 CDS 0 0 0 01\n@ 60 CDNSKEY 0 3 0 AA==\n",
			ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., CDS not match CDNSKEY\n"
			"w:check, node zone., invalid CDNSKEY/CDS for DNSSEC delete algorithm\n" },
	{ "NSEC3PARAM", SIGNED KEY("DNSKEY", "257", "AAAA") "@ 60 NSEC3PARAM 2 1 0 -\n", ZONE_CHECKS_ON, KNOT_OK,
			"w:check, node zone., invalid flags in NSEC3PARAM\n"
			"w:check, node zone., invalid algorithm in NSEC3PARAM\n" },
	{ "out of zone", HEAD "x.out. 60 A 192.0.2.1\n", ZONE_CHECKS_OFF, KNOT_OK,
			"w:zone loader, ignoring out-of-zone data, owner x.out.\n" },
	{ "TTLs", HEAD "a 60 A 192.0.2.1\na 70 A 192.0.2.2\na 70 TXT x\n", ZONE_CHECKS_OFF, KNOT_OK,
			"n:zone loader, TTL mismatch, owner a.zone., type A, TTL set to 70\n" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		messages_t messages = { .len = 0 };
		zone_build_params_t params = { .origin = { origin_wire, 6, 1 },
			.default_ttl = 60,
			.checks = rows[i].checks,
			.dnssec = ZONE_DNSSEC_IF_SIGNED,
			.nsec3_iterations_end = 101,
			.now_s = 1700000000,
			.on_message = on_message,
			.ctx = &messages };
		zone_contents_t *zone = NULL;
		knot_err_t err = zone_build_text(knot_str_of(rows[i].zone), "test", &params, &zone);
		if (err != rows[i].want || strcmp(messages.text, rows[i].want_messages) != 0) {
			fail_msg("%s: %s, messages:\n%swanted:\n%s", rows[i].what, knot_strerror(err), messages.text,
					rows[i].want_messages);
		}
		assert_int_equal(zone != NULL, err == KNOT_OK);
		zone_contents_free(zone);
	}
}

typedef struct {
	messages_t messages;
	unsigned calls, stop_at;
} stop_t;

static bool should_stop(void *ctx)
{
	stop_t *stop = ctx;
	return ++stop->calls == stop->stop_at;
}

static void on_message_of_stop(const zone_message_t *message, void *ctx)
{
	on_message(message, &((stop_t *)ctx)->messages);
}

/* A server that ends doesn't wait until the lines of faults are found either. */
static void test_stop_ends_search_for_lines(void **state)
{
	(void)state;
	static const char text[] = HEAD "a 60 CNAME b\na 60 CNAME c\n";
	stop_t stop = { .calls = 0 };
	zone_build_params_t params = { .origin = knot_name_of(origin_wire),
		.on_message = on_message_of_stop,
		.should_stop = should_stop,
		.ctx = &stop };
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(KNOT_STR(text), "test", &params, &zone), KNOT_ESEMCHECK);
	assert_non_null(strstr(stop.messages.text, "file 'test', line 4"));
	stop = (stop_t){ .stop_at = stop.calls }; /* the last time that it was asked */
	assert_int_equal(zone_build_text(KNOT_STR(text), "test", &params, &zone), KNOT_ESEMCHECK);
	assert_null(strstr(stop.messages.text, "file 'test', line 4"));
}

/* A limit that was configured since holds for each version that is made, not only for those that are loaded. */
static void test_limit_at_commit(void **state)
{
	(void)state;
	static uint8_t address[] = { 192, 0, 2, 2 };
	static const char text[] = HEAD "a 60 A 192.0.2.1\nb 60 A 192.0.2.1\nc 60 A 192.0.2.1\n" ITERATED("60");
	messages_t messages = { .len = 0 };
	zone_build_params_t params = {
		.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .on_message = on_message, .ctx = &messages
	};
	zone_contents_t *zone, *next;
	zone_txn_t *txn;
	assert_int_equal(zone_build_text(KNOT_STR(text), "test", &params, &zone), KNOT_OK);
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, params.origin, KNOT_TYPE_A, 60, (knot_bytes_t){ address, 4 }), KNOT_OK);
	params.nsec3_iterations_end = 50;
	messages.len = 0;
	assert_int_equal(zone_txn_build(txn, zone, &params, &next), KNOT_ESEMCHECK);
	assert_string_equal(messages.text,
			"e:check, node zone., more NSEC3 iterations than nsec3-max-iterations (60, allowed 49)\n");
	params.nsec3_iterations_end = 61;
	assert_int_equal(zone_txn_build(txn, zone, &params, &next), KNOT_OK);
	zone_txn_discard(txn);
	zone_contents_free(next);
	zone_contents_free(zone);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_limit_at_commit),
		cmocka_unit_test(test_stop_ends_search_for_lines) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
