/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/answer.h"

#include "libknot/msg/message.h"
#include "libknot/text/rdata_text.h"
#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_rows.h"
#include "src/answer/answer_test_zones.h"
#include "src/answer/aside.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

/* Everything that rcu-protected readers need: one thread, registered once. */
typedef struct {
	test_zones_t zones;
	answer_env_t env;
} fixture_t;

static const struct sockaddr_in6 client_ipv6 = { .sin6_family = AF_INET6 };
static const struct sockaddr_in client_ipv4 = { .sin_family = AF_INET };
static answer_aside_t aside;
static const answer_turn_t turn = { .aside = &aside };
static const answer_source_t udp = {
	.protocol = ANSWER_UDP4, .remote = (const struct sockaddr *)&client_ipv4, .turn = &turn
};
static const answer_source_t udp6 = {
	.protocol = ANSWER_UDP6, .remote = (const struct sockaddr *)&client_ipv6, .turn = &turn
};
static const answer_source_t tcp = {
	.protocol = ANSWER_TCP4, .remote = (const struct sockaddr *)&client_ipv4, .turn = &turn
};

/* Sets too long for UDP, for a compression pointer, for a message; and a TXT for each length of a reply. */
static char *make_large_zone(void)
{
	enum { MAX = 3 << 20 };
	char *text = malloc(MAX);
	size_t len = (size_t)snprintf(text, MAX,
			"$ORIGIN large.\n$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns.other.\n"
			"three A 192.0.2.1\nthree A 192.0.2.2\nthree A 192.0.2.3\nalias CNAME mx\n");
	for (unsigned i = 0; i < 1000; i++) {
		len += (size_t)snprintf(text + len, MAX - len, "mx MX %u host%u.somewhere%u.else.\n", i, i, i);
	}
	for (unsigned i = 0; i < 900; i++) {
		len += (size_t)snprintf(
				text + len, MAX - len, "mxin MX %u host%u.in\nhost%u.in A 192.0.2.1\n", i, i, i);
	}
	for (unsigned i = 0; i < 400; i++) {
		len += (size_t)snprintf(text + len, MAX - len, "huge TXT \"%0200u\"\n", i);
	}
	for (unsigned n = 500; n <= 1420; n++) {
		len += (size_t)snprintf(text + len, MAX - len, "t%04u TXT", n);
		/* Header, question, owner pointer and fixed fields make 41 bytes; a string has a length byte. */
		for (unsigned left = n - 41; left > 0;) {
			unsigned chunk = left > 200 ? 100 : left - 1;
			len += (size_t)snprintf(text + len, MAX - len, " \"%0*u\"", (int)chunk, 0);
			left -= chunk + 1;
		}
		len += (size_t)snprintf(text + len, MAX - len, "\n");
	}
	assert_true(len < MAX - 1);
	return text;
}

static int setup(void **state)
{
	fixture_t *f = calloc(1, sizeof(*f));
	char *zone_large = make_large_zone();
	const char *const texts[] = { zone_ex, zone_child_ex, zone_nsec, zone_nsec3, zone_optout, zone_large, NULL };
	f->zones = test_zones_new(texts, "fail.");
	free(zone_large);
	f->env = (answer_env_t){
		.nsid = { (const uint8_t *)"nsid-x", 6 },
		.identity = { (const uint8_t *)"ident-x", 7 },
		.version = { (const uint8_t *)"ver-x", 5 },
		.udp_payload_max_ipv4 = 1232,
		.udp_payload_max_ipv6 = 1400,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture_t *f = *state;
	test_zones_free(&f->zones);
	free(f);
	return 0;
}

/* Presentation of a reply: rcode and flags, then a line per section with its records sorted. */

enum { LINES_MAX = 400, TEXT_MAX = 400000 };

typedef struct {
	char *text;
	size_t len;
} text_t;

__attribute__((format(printf, 2, 3))) static void put(text_t *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	t->len += (size_t)vsnprintf(t->text + t->len, TEXT_MAX - t->len, format, args);
	va_end(args);
	assert_true(t->len < TEXT_MAX);
}

static bool shows_rdata(uint16_t type)
{
	static const uint16_t types[] = { KNOT_TYPE_A, KNOT_TYPE_AAAA, KNOT_TYPE_NS, KNOT_TYPE_CNAME, KNOT_TYPE_DNAME,
		KNOT_TYPE_MX, KNOT_TYPE_TXT, KNOT_TYPE_PTR, KNOT_TYPE_SRV, KNOT_TYPE_SVCB, KNOT_TYPE_HTTPS,
		36 /* KX */ };
	for (size_t i = 0; i < KNOT_LEN(types); i++) {
		if (types[i] == type) {
			return true;
		}
	}
	return false;
}

static char *print_record(knot_bytes_t msg, const knot_message_rr_t *rr)
{
	static uint8_t rdata[KNOT_RDATA_MAX];
	static char rdata_text[KNOT_RDATA_TEXT_MAX];
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX], covered[KNOT_TYPE_TEXT_MAX];
	uint16_t len;
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	assert_int_equal(knot_rdata_unpack(rr->type, msg, rr->rdata_off, rr->rdata_len,
					 (knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len),
			KNOT_OK);
	knot_rdata_print(rr->type, (knot_bytes_t){ rdata, len }, rdata_text, sizeof(rdata_text));
	if (rr->owner.wire[0] == 32) {
		owner[6] = '\0'; /* an NSEC3 hash: its start tells enough */
	}
	char *line = NULL;
	int printed;
	if (rr->type == KNOT_TYPE_RRSIG) {
		knot_rrtype_print(load_be16(rdata), covered);
		printed = asprintf(&line, "%s RRSIG(%s)", owner, covered);
	} else if (rr->type == KNOT_TYPE_SOA) {
		printed = asprintf(&line, "%s SOA/%u", owner, rr->ttl);
	} else if (rr->type == KNOT_TYPE_NSEC) {
		printed = asprintf(&line, "%s NSEC %.*s", owner, (int)strcspn(rdata_text, " "), rdata_text);
	} else if (shows_rdata(rr->type)) {
		printed = asprintf(&line, "%s %s %s", owner, type, rdata_text);
	} else {
		printed = asprintf(&line, "%s %s", owner, type);
	}
	assert_true(printed > 0);
	return line;
}

static int cmp_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_lines(text_t *t, const char *section, char **lines, unsigned count)
{
	qsort(lines, count, sizeof(*lines), cmp_lines);
	for (unsigned i = 0; i < count; i++) {
		put(t, "%s%s", i == 0 ? section : "; ", lines[i]);
		free(lines[i]);
	}
}

static const char *rcode_text(unsigned rcode)
{
	static const char *const texts[] = { "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED",
		"YXDOMAIN" };
	return rcode < KNOT_LEN(texts) ? texts[rcode] : rcode == 9 ? "NOTAUTH" : rcode == 16 ? "BADVERS" : "?";
}

/* Every reply has to be whole and to keep the question as it was asked. */
static void print_reply(knot_bytes_t reply, text_t *ret)
{
	static const char *const sections[] = { "", "\nAN ", "\nAU ", "\nAD " };
	static char *lines[4][LINES_MAX];
	unsigned counts[4] = { 0 };
	knot_message_t m;
	knot_message_rr_t rr;
	text_t opt = { malloc(TEXT_MAX), 0 };
	opt.text[0] = '\0';
	assert_int_equal(knot_message_begin(reply, &m), KNOT_OK);
	unsigned rcode = m.flags & KNOT_RCODE_MASK;
	while (knot_message_next(&m, &rr)) {
		if (rr.type == KNOT_TYPE_OPT && rr.section == KNOT_SECTION_ADDITIONAL) {
			rcode |= rr.ttl >> 24 << 4;
			put(&opt, " opt");
			size_t pos = 0;
			knot_edns_option_t o;
			while (knot_edns_next((knot_bytes_t){ reply.data + rr.rdata_off, rr.rdata_len }, &pos, &o)) {
				put(&opt, " %u=", o.code);
				for (size_t i = 0; i < o.data.len; i++) {
					put(&opt, "%02x", o.data.data[i]);
				}
			}
		} else if (rr.section != KNOT_SECTION_QUESTION) {
			assert_true(counts[rr.section] < LINES_MAX);
			lines[rr.section][counts[rr.section]++] = print_record(reply, &rr);
		}
	}
	assert_true(knot_message_is_whole(&m));
	assert_true(m.flags & KNOT_FLAG_QR);
	put(ret, "%s%s%s%s", rcode_text(rcode), m.flags & KNOT_FLAG_AA ? " aa" : "",
			m.flags & KNOT_FLAG_TC ? " tc" : "", opt.text);
	for (unsigned i = 1; i < 4; i++) {
		put_lines(ret, sections[i], lines[i], counts[i]);
	}
	free(opt.text);
}

/* udp_payload 0: without OPT. */
static size_t make_query(
		uint8_t *buf, size_t max, const char *qname, const char *qtype, uint16_t udp_payload, bool dnssec_ok)
{
	test_query_t query = { .id = 0x1234, .udp_payload = udp_payload, .dnssec_ok = dnssec_ok };
	assert_int_equal(knot_rrtype_scan(knot_str_of(qtype), &query.qtype), KNOT_OK);
	return test_query_put(&query, qname, buf, max);
}

/* Answer from an exact copy of the request into a separate buffer, then in place as one of a batch: both must give the
 * same, and have the same effects. */
static size_t answer_both_ways(fixture_t *f, const answer_source_t *source, const uint8_t *message, size_t len,
		uint8_t *out, size_t max, answer_report_t *ret_report)
{
	static answer_request_t alone;
	uint8_t *exact = malloc(len > 0 ? len : 1);
	memcpy(exact, message, len);
	test_zones_enter(&f->zones);
	const knot_bytes_t bytes = { exact, len };
	answer_read(&f->env, f->zones.db, &bytes, 1, &alone);
	size_t out_len = answer_message(&f->env, source, &alone, NULL, (knot_mut_bytes_t){ out, max }, ret_report);
	uint8_t *frame = malloc(max);
	memcpy(frame, message, len);
	const knot_bytes_t batch[] = { bytes, { frame, len }, bytes, bytes };
	answer_request_t requests[KNOT_LEN(batch)];
	answer_read(&f->env, f->zones.db, batch, KNOT_LEN(batch), requests);
	answer_report_t again;
	size_t frame_len =
			answer_message(&f->env, source, &requests[1], NULL, (knot_mut_bytes_t){ frame, max }, &again);
	test_zones_leave(&f->zones);
	assert_int_equal(frame_len, out_len);
	assert_memory_equal(frame, out, out_len);
	assert_ptr_equal(again.zone, ret_report->zone);
	assert_int_equal(again.effects, ret_report->effects);
	free(frame);
	free(exact);
	return out_len;
}

static void test_as_knot(void **state)
{
	fixture_t *f = *state;
	unsigned failed = 0;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t request[512], out[4096];
		size_t len = make_query(request, sizeof(request), rows[i].qname, rows[i].qtype,
				rows[i].dnssec_ok ? 1232 : 0, rows[i].dnssec_ok);
		answer_report_t report;
		size_t out_len = answer_both_ways(f, &udp, request, len, out, sizeof(out), &report);
		text_t got = { malloc(TEXT_MAX), 0 };
		print_reply((knot_bytes_t){ out, out_len }, &got);
		if (strcmp(got.text, rows[i].want) != 0) {
			print_message("%s %s%s\n--- want\n%s\n--- got\n%s\n\n", rows[i].qname, rows[i].qtype,
					rows[i].dnssec_ok ? " DO" : "", rows[i].want, got.text);
			failed++;
		}
		/* The question stays as it was asked, letter case included. */
		size_t question_end = len - (rows[i].dnssec_ok ? 11 : 0);
		assert_memory_equal(out + 12, request + 12, question_end - 12);
		assert_non_null(report.zone);
		free(got.text);
	}
	assert_int_equal(failed, 0);
}

/* Bytes of a hex text, spaces ignored. */
static size_t from_hex(const char *text, uint8_t *ret, size_t max)
{
	size_t len = 0;
	for (const char *p = text; *p != '\0';) {
		if (*p == ' ') {
			p++;
			continue;
		}
		unsigned value;
		assert_int_equal(sscanf(p, "%2x", &value), 1);
		assert_true(len < max);
		ret[len++] = (uint8_t)value;
		p += 2;
	}
	return len;
}

#define HDR(flags, qd, an, ns, ar) "1234 " flags " 000" #qd " 000" #an " 000" #ns " 000" #ar " "
#define WEB                        "03776562 026578 00 " /* web.ex. */
#define WEB_A                      WEB "0001 0001 "
#define ZZ_A                       "027a7a 00 0001 0001 " /* not ours */
#define FAIL_A                     "01 61 046661696c 00 0001 0001 "
#define EX(type)                   "026578 00 " type " 0001 "
#define ID_SERVER                  "0269 64 06736572766572 00 "
#define VERSION_BIND               "0776657273696f6e 0462696e64 00 "
#define OPT(ttl, rdata)            "00 0029 04d0 " ttl " " rdata " "
#define PLAIN_OPT                  OPT("00000000", "0000")
#define TSIG                                                                                                           \
	"03 6b6579 00 00fa 00ff 00000000 001f 0b 686d61632d736861323536 00 000000006920 012c 0002 aabb 1234 0000 "     \
	"0000 "
#define SOA_RR(zone) zone "0006 0001 00000000 0016 00 00 00000001 00000002 00000003 00000004 00000005 "

static const struct {
	const char *what;
	bool over_tcp;
	const char *request;
	const char *want; /* as print_reply(), or NULL: no reply */
	unsigned want_qdcount;
} protocol_rows[] = {
	{ "shorter than a header", false, "1234 0000 0001 0000 0000", NULL, 0 },
	{ "a response", false, HDR("8000", 1, 0, 0, 0) WEB_A, NULL, 0 },
	{ "no question", false, HDR("0000", 0, 0, 0, 0), "FORMERR", 0 },
	{ "no question, OPT", false, HDR("0000", 0, 0, 0, 1) PLAIN_OPT, "FORMERR opt", 0 },
	{ "two questions, RFC 9619", false, HDR("0000", 2, 0, 0, 0) WEB_A WEB_A, "FORMERR", 0 },
	{ "question cut", false, HDR("0000", 1, 0, 0, 0) "0377", "FORMERR", 0 },
	{ "compressed question", false, HDR("0000", 1, 0, 0, 0) "c00c 0001 0001", "FORMERR", 0 },
	{ "trailing byte", false, HDR("0000", 1, 0, 0, 0) WEB_A "00", "FORMERR", 1 },
	{ "two OPT, RFC 6891 6.1.1", false, HDR("0000", 1, 0, 0, 2) WEB_A PLAIN_OPT PLAIN_OPT, "FORMERR", 1 },
	{ "option longer than OPT", false, HDR("0000", 1, 0, 0, 1) WEB_A OPT("00000000", "0004 00030001"), "FORMERR",
			1 },
	{ "A of three bytes in ADDITIONAL", false, HDR("0000", 1, 0, 0, 1) WEB_A "00 0001 0001 00000000 0003 010203",
			"FORMERR", 1 },
	{ "superfluous A in ADDITIONAL", false, HDR("0000", 1, 0, 0, 1) WEB_A "00 0001 0001 00000000 0004 01020304",
			"NOERROR aa\nAN web.ex. A 192.0.2.3", 1 },
	{ "IQUERY", false, HDR("0800", 1, 0, 0, 0) WEB_A, "NOTIMP", 1 },
	{ "STATUS with NSID", false, HDR("1000", 1, 0, 0, 1) WEB_A OPT("00000000", "0004 0003 0000"),
			"NOTIMP opt 3=6e7369642d78", 1 },
	{ "unknown opcode without question", false, HDR("3000", 0, 0, 0, 0), "NOTIMP", 0 },
	{ "type 0", false, HDR("0000", 1, 0, 0, 0) WEB "0000 0001", "NOTIMP", 1 },
	{ "NOTIFY", false, HDR("2400", 1, 0, 0, 0) EX("0006"), "NOTAUTH", 1 },
	{ "NOTIFY without question", false, HDR("2400", 0, 0, 0, 0), "FORMERR", 0 },
	{ "UPDATE", false, HDR("2800", 1, 0, 0, 0) EX("0006"), "NOTAUTH", 1 },
	{ "UPDATE whose zone section is no SOA, RFC 2136 3.1.1", false, HDR("2800", 1, 0, 0, 0) EX("0001"), "FORMERR",
			1 },
	{ "AXFR over UDP", false, HDR("0000", 1, 0, 0, 0) EX("00fc"), "NOTIMP", 1 },
	{ "AXFR over TCP", true, HDR("0000", 1, 0, 0, 0) EX("00fc"), "NOTAUTH", 1 },
	{ "IXFR over UDP", false, HDR("0000", 1, 0, 1, 0) EX("00fb") SOA_RR("c00c"), "NOTAUTH", 1 },
	{ "IXFR over TCP, OPT", true, HDR("0000", 1, 0, 1, 1) EX("00fb") SOA_RR("c00c") PLAIN_OPT, "NOTAUTH opt", 1 },
	{ "not ours", false, HDR("0000", 1, 0, 0, 0) ZZ_A, "REFUSED", 1 },
	{ "not ours, OPT: EDE 20", false, HDR("0000", 1, 0, 0, 1) ZZ_A PLAIN_OPT, "REFUSED opt 15=0014", 1 },
	{ "not ours, the root", false, HDR("0000", 1, 0, 0, 1) "00 0002 0001" PLAIN_OPT, "REFUSED opt 15=0014", 1 },
	{ "zone without contents", false, HDR("0000", 1, 0, 0, 0) FAIL_A, "SERVFAIL", 1 },
	{ "zone without contents, OPT: EDE 24", false, HDR("0000", 1, 0, 0, 1) FAIL_A PLAIN_OPT, "SERVFAIL opt 15=0018",
			1 },
	{ "CH id.server", false, HDR("0000", 1, 0, 0, 1) ID_SERVER "0010 0003" PLAIN_OPT,
			"NOERROR opt\nAN id.server. TXT \"ident-x\"", 1 },
	{ "CH version.bind", false, HDR("0000", 1, 0, 0, 0) VERSION_BIND "0010 0003",
			"NOERROR\nAN version.bind. TXT \"ver-x\"", 1 },
	{ "CH version.bind ANY", false, HDR("0000", 1, 0, 0, 1) VERSION_BIND "00ff 0003" PLAIN_OPT, "REFUSED opt", 1 },
	{ "CH of another name", false, HDR("0000", 1, 0, 0, 0) WEB "0010 0003", "REFUSED", 1 },
	{ "CH AXFR", false, HDR("0000", 1, 0, 0, 0) ID_SERVER "00fc 0003", "NOTIMP", 1 },
	{ "CH NOTIFY", false, HDR("2400", 1, 0, 0, 0) ID_SERVER "0006 0003", "NOTIMP", 1 },
	{ "class HS", false, HDR("0000", 1, 0, 0, 1) WEB "0001 0004" PLAIN_OPT, "REFUSED opt", 1 },
	{ "class ANY", false, HDR("0000", 1, 0, 0, 0) WEB "0001 00ff", "NOERROR aa\nAN web.ex. A 192.0.2.3", 1 },
	{ "BADVERS", false, HDR("0000", 1, 0, 0, 1) WEB_A OPT("00010000", "0000"), "BADVERS opt", 1 },
	{ "BADVERS goes before all else", false, HDR("1800", 1, 0, 0, 1) ZZ_A OPT("00018000", "0004 0003 0000"),
			"BADVERS opt 3=6e7369642d78", 1 },
	{ "BADVERS without question", false, HDR("0000", 0, 0, 0, 1) OPT("00010000", "0000"), "BADVERS opt", 0 },
	{ "NSID, RFC 5001", false, HDR("0000", 1, 0, 0, 1) WEB_A OPT("00000000", "0004 0003 0000"),
			"NOERROR aa opt 3=6e7369642d78\nAN web.ex. A 192.0.2.3", 1 },
	{ "unknown option", false, HDR("0000", 1, 0, 0, 1) WEB_A OPT("00000000", "0005 fde9 0001 aa"),
			"NOERROR aa opt\nAN web.ex. A 192.0.2.3", 1 },
	{ "EXPIRE, RFC 7314", false, HDR("0000", 1, 0, 0, 1) WEB_A OPT("00000000", "0004 0009 0000"),
			"NOERROR aa opt 9=00015180\nAN web.ex. A 192.0.2.3", 1 },
	{ "ZONEVERSION, RFC 9660", false, HDR("0000", 1, 0, 0, 1) WEB_A OPT("00000000", "0004 0013 0000"),
			"NOERROR aa opt 19=010000000001\nAN web.ex. A 192.0.2.3", 1 },
	{ "ZONEVERSION and EXPIRE of no zone", false,
			HDR("0000", 1, 0, 0, 1) ZZ_A OPT("00000000", "0008 0013 0000 0009 0000"), "REFUSED opt 15=0014",
			1 },
	{ "client subnet is not echoed by default", false,
			HDR("0000", 1, 0, 0, 1) WEB_A OPT("00000000", "000b 0008 0007 0001 1800 010203"),
			"NOERROR aa opt\nAN web.ex. A 192.0.2.3", 1 },
	{ "TSIG without rules", false, HDR("0000", 1, 0, 0, 1) WEB_A TSIG, "NOTAUTH", 1 },
	{ "TSIG behind OPT", false, HDR("0000", 1, 0, 0, 2) WEB_A PLAIN_OPT TSIG, "NOTAUTH opt", 1 },
	{ "TSIG, not our zone", false, HDR("0000", 1, 0, 0, 1) ZZ_A TSIG, "REFUSED", 1 },
	{ "TSIG without data", false, HDR("0000", 1, 0, 0, 1) WEB_A "00 00fa 00ff 00000000 0000", "FORMERR", 1 },
};

static void test_protocol(void **state)
{
	fixture_t *f = *state;
	for (size_t i = 0; i < KNOT_LEN(protocol_rows); i++) {
		uint8_t request[512], out[1500];
		answer_report_t report;
		size_t len = from_hex(protocol_rows[i].request, request, sizeof(request));
		size_t out_len = answer_both_ways(
				f, protocol_rows[i].over_tcp ? &tcp : &udp, request, len, out, sizeof(out), &report);
		if ((out_len > 0) != (protocol_rows[i].want != NULL)) {
			fail_msg("%s: reply of %zu bytes", protocol_rows[i].what, out_len);
		}
		if (out_len == 0) {
			assert_int_equal(report.verdict, KNOT_MSG_DROP);
			continue;
		}
		text_t got = { malloc(TEXT_MAX), 0 };
		print_reply((knot_bytes_t){ out, out_len }, &got);
		if (strcmp(got.text, protocol_rows[i].want) != 0) {
			fail_msg("%s\n--- want\n%s\n--- got\n%s", protocol_rows[i].what, protocol_rows[i].want,
					got.text);
		}
		assert_int_equal(load_be16(out), 0x1234);
		assert_int_equal(load_be16(out + 2) & KNOT_OPCODE_MASK, load_be16(request + 2) & KNOT_OPCODE_MASK);
		assert_int_equal(load_be16(out + 4), protocol_rows[i].want_qdcount);
		assert_int_equal(report.has_opt, strstr(got.text, " opt") != NULL);
		free(got.text);
	}
}

/* What a key that no rule admits gets has no TSIG, as in Knot DNS since 3.3, and so none of the request's data. */
static void test_unknown_key(void **state)
{
	fixture_t *f = *state;
	static const char request_text[] = HDR("0000", 1, 0, 0, 1) WEB_A
			"03 6b6579 00 00fa 00ff 00000000 0033 0b 686d61632d736861323536 00 000000006920 012c 0002 aabb "
			"1234 0000 0014 000102030405060708090a0b0c0d0e0f10111213 ";
	static const char want_text[] = HDR("8009", 1, 0, 0, 0) WEB_A;
	uint8_t request[512], want[512], out[1500];
	answer_report_t report;
	size_t len = from_hex(request_text, request, sizeof(request));
	size_t want_len = from_hex(want_text, want, sizeof(want));
	size_t out_len = answer_both_ways(f, &udp, request, len, out, sizeof(out), &report);
	assert_int_equal(out_len, want_len);
	assert_memory_equal(out, want, want_len);
}

/* RFC 1035 4.1.1, RFC 4035 3.1.6: RD is copied, everything else of the request's flags is not. */
static void test_flags(void **state)
{
	fixture_t *f = *state;
	uint8_t request[512], out[512];
	answer_report_t report;
	size_t len = from_hex(HDR("07ff", 1, 0, 0, 0) WEB_A, request, sizeof(request));
	answer_both_ways(f, &udp, request, len, out, sizeof(out), &report);
	assert_int_equal(load_be16(out + 2), KNOT_FLAG_QR | KNOT_FLAG_AA | KNOT_FLAG_RD);
}

/* Size limits: 512 without EDNS, else the smaller of both sides' sizes, ours by address family; RFC 6891 6.2. */
static void test_payload_limits(void **state)
{
	fixture_t *f = *state;
	static const struct {
		const answer_source_t *source;
		unsigned size;     /* 0: no OPT */
		unsigned want_max; /* a reply that would be longer gets TC */
	} sizes[] = {
		{ &udp, 0, 512 },
		{ &udp6, 0, 512 },
		{ &udp, 1, 512 },
		{ &udp, 600, 600 },
		{ &udp, 1231, 1231 },
		{ &udp, 65535, 1232 },
		{ &udp6, 1300, 1300 },
		{ &udp6, 65535, 1400 },
	};
	for (size_t i = 0; i < KNOT_LEN(sizes); i++) {
		/* t<n>.large. has one TXT that makes the reply n bytes long: see zone_large. */
		bool was_whole = false, was_cut = false;
		for (unsigned n = 500; n <= 1420; n++) {
			char qname[32];
			uint8_t request[512], out[2048];
			answer_report_t report;
			snprintf(qname, sizeof(qname), "t%04u.large.", n);
			size_t len = make_query(request, sizeof(request), qname, "TXT", (uint16_t)sizes[i].size, false);
			unsigned opt = sizes[i].size > 0 ? KNOT_OPT_LEN : 0;
			size_t out_len = answer_both_ways(f, sizes[i].source, request, len, out, sizeof(out), &report);
			bool is_cut = (load_be16(out + 2) & KNOT_FLAG_TC) != 0;
			assert_int_equal(is_cut, n + opt > sizes[i].want_max);
			assert_int_equal(is_cut, report.truncated);
			assert_int_equal(out_len, is_cut ? 12u + 13 + 4 + opt : n + opt);
			was_cut |= is_cut;
			was_whole |= !is_cut;
		}
		assert_true(was_whole && was_cut);
	}
}

/* How long answers are: names that need not be spelled out aren't. */
static void test_compression(void **state)
{
	fixture_t *f = *state;
	static const struct {
		const char *qname, *qtype;
		size_t want_len;
	} answers[] = {
		/* a.b.ent.nsec. owns the denial and shares b.ent.nsec. with the question; dn.nsec. only the apex. */
		{ "c.b.ent.nsec.", "A", 12 + 18 + (41 + 39) + (39 + 39) + (37 + 39) + 11 },
		{ "c.b.en.nsec.", "A", 12 + 17 + (41 + 39) + (37 + 39) + (31 + 39) + 11 },
	};
	for (size_t i = 0; i < KNOT_LEN(answers); i++) {
		uint8_t request[512], out[2048];
		answer_report_t report;
		size_t len = make_query(request, sizeof(request), answers[i].qname, answers[i].qtype, 1232, true);
		assert_int_equal(answer_both_ways(f, &udp, request, len, out, sizeof(out), &report),
				answers[i].want_len);
	}
}

/* Beyond 0x3FFF no pointer reaches: the whole set has to arrive all the same. RRsets that fit no message: SERVFAIL. */
static void test_large_over_tcp(void **state)
{
	fixture_t *f = *state;
	static const struct {
		const char *qname, *qtype;
		unsigned want_answers, want_additional;
		unsigned want_rcode;
		bool want_udp_truncated;
	} large[] = {
		{ "mx.large.", "MX", 1000, 0, KNOT_RCODE_NOERROR, true },
		{ "mxin.large.", "MX", 900, 900, KNOT_RCODE_NOERROR, true },
		{ "huge.large.", "TXT", 0, 0, KNOT_RCODE_SERVFAIL, true },
		{ "alias.large.", "MX", 1001, 0, KNOT_RCODE_NOERROR, true },
	};
	for (size_t i = 0; i < KNOT_LEN(large); i++) {
		static uint8_t out[65535];
		uint8_t request[512];
		answer_report_t report;
		size_t len = make_query(request, sizeof(request), large[i].qname, large[i].qtype, 0, false);
		size_t out_len = answer_both_ways(f, &tcp, request, len, out, sizeof(out), &report);
		knot_message_t m;
		knot_message_rr_t rr;
		assert_int_equal(knot_message_begin((knot_bytes_t){ out, out_len }, &m), KNOT_OK);
		assert_int_equal(m.flags & KNOT_RCODE_MASK, large[i].want_rcode);
		assert_int_equal(m.counts[KNOT_SECTION_ANSWER], large[i].want_answers);
		assert_int_equal(m.counts[KNOT_SECTION_ADDITIONAL], large[i].want_additional);
		assert_false(report.truncated);
		unsigned seen = 0;
		while (knot_message_next(&m, &rr)) {
			uint8_t rdata[KNOT_RDATA_MAX];
			uint16_t rdata_len;
			if (rr.section == KNOT_SECTION_QUESTION || rr.type != KNOT_TYPE_MX) {
				continue;
			}
			assert_int_equal(knot_rdata_unpack(rr.type, (knot_bytes_t){ out, out_len }, rr.rdata_off,
							 rr.rdata_len, (knot_mut_bytes_t){ rdata, sizeof(rdata) },
							 &rdata_len),
					KNOT_OK);
			/* Preferences count from 0, each exchange names its own. */
			char text[64];
			char name[KNOT_NAME_TEXT_MAX];
			snprintf(text, sizeof(text), "host%u.", load_be16(rdata));
			knot_name_print(knot_name_of(rdata + 2), name);
			assert_int_equal(strncmp(name, text, strlen(text)), 0);
			seen++;
		}
		assert_true(knot_message_is_whole(&m));
		assert_true(large[i].want_rcode != KNOT_RCODE_NOERROR || seen >= 900);

		uint8_t small[4096];
		answer_both_ways(f, &udp, request, len, small, sizeof(small), &report);
		assert_int_equal(report.truncated, large[i].want_udp_truncated);
		assert_int_equal(report.rcode, KNOT_RCODE_NOERROR);
	}
}

static void test_rotation(void **state)
{
	fixture_t *f = *state;
	f->env.rotate = true;
	for (unsigned id = 0; id < 8; id++) {
		uint8_t request[512], out[512];
		answer_report_t report;
		size_t len = make_query(request, sizeof(request), "three.large.", "A", 0, false);
		store_be16(request, (uint16_t)id);
		size_t out_len = answer_both_ways(f, &udp, request, len, out, sizeof(out), &report);
		knot_message_t m;
		knot_message_rr_t rr;
		assert_int_equal(knot_message_begin((knot_bytes_t){ out, out_len }, &m), KNOT_OK);
		assert_int_equal(m.counts[KNOT_SECTION_ANSWER], 3);
		assert_true(knot_message_next(&m, &rr));
		for (unsigned i = 0; i < 3; i++) {
			assert_true(knot_message_next(&m, &rr));
			assert_int_equal(out[rr.rdata_off + 3], 1 + (id + i) % 3);
		}
		assert_int_equal(out_len, 12 + 13 + 4 + 3 * 16);
	}
	f->env.rotate = false;
}

/* RFC 7871 7.2.1: echoed with scope 0 when enabled; malformed: FORMERR. */
static void test_client_subnet(void **state)
{
	fixture_t *f = *state;
	static const struct {
		const char *what, *option, *want;
	} ecs[] = {
		{ "IPv4 /24", "000b 0008 0007 0001 1800 010203",
				"NOERROR aa opt 8=00011800010203\nAN web.ex. A 192.0.2.3" },
		{ "IPv6 /0", "0008 0008 0004 0002 0000", "NOERROR aa opt 8=00020000\nAN web.ex. A 192.0.2.3" },
		{ "address too short", "000a 0008 0006 0001 1800 0102", "FORMERR opt" },
		{ "bits beyond the prefix", "000b 0008 0007 0001 1700 010203", "FORMERR opt" },
		{ "scope set", "000b 0008 0007 0001 1801 010203",
				"NOERROR aa opt 8=00011800010203\nAN web.ex. A 192.0.2.3" },
		{ "unknown family", "0008 0008 0004 0003 0000", "FORMERR opt" },
		{ "prefix too long", "000d 0008 0009 0001 2100 0102030400", "FORMERR opt" },
	};
	f->env.client_subnet = true;
	for (size_t i = 0; i < KNOT_LEN(ecs); i++) {
		char hex[512];
		uint8_t request[512], out[512];
		answer_report_t report;
		snprintf(hex, sizeof(hex), HDR("0000", 1, 0, 0, 1) WEB_A "00 0029 04d0 00000000 %s", ecs[i].option);
		size_t len = from_hex(hex, request, sizeof(request));
		size_t out_len = answer_both_ways(f, &udp, request, len, out, sizeof(out), &report);
		text_t got = { malloc(TEXT_MAX), 0 };
		print_reply((knot_bytes_t){ out, out_len }, &got);
		if (strcmp(got.text, ecs[i].want) != 0) {
			fail_msg("%s: %s", ecs[i].what, got.text);
		}
		free(got.text);
	}
	f->env.client_subnet = false;
}

static void test_report(void **state)
{
	fixture_t *f = *state;
	static const struct {
		const char *qname, *qtype;
		bool want_zone, want_nodata;
		uint16_t want_rcode;
	} reports[] = {
		{ "web.ex.", "A", true, false, KNOT_RCODE_NOERROR },
		{ "web.ex.", "MX", true, true, KNOT_RCODE_NOERROR },
		{ "nx.ex.", "MX", true, false, KNOT_RCODE_NXDOMAIN },
		{ "x.sub.ex.", "A", true, false, KNOT_RCODE_NOERROR },
		{ "zz.", "A", false, false, KNOT_RCODE_REFUSED },
		{ "x.fail.", "A", true, false, KNOT_RCODE_SERVFAIL },
	};
	for (size_t i = 0; i < KNOT_LEN(reports); i++) {
		uint8_t request[512], out[512];
		answer_report_t report;
		size_t len = make_query(request, sizeof(request), reports[i].qname, reports[i].qtype, 1232, false);
		answer_both_ways(f, &udp, request, len, out, sizeof(out), &report);
		assert_int_equal(report.zone != NULL, reports[i].want_zone);
		assert_int_equal(report.is_nodata, reports[i].want_nodata);
		assert_int_equal(report.rcode, reports[i].want_rcode);
		assert_int_equal(report.reply_options != 0, report.ede != KNOT_EDE_NONE);
		assert_true(report.has_opt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_knot),
		cmocka_unit_test(test_protocol),
		cmocka_unit_test(test_unknown_key),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_payload_limits),
		cmocka_unit_test(test_large_over_tcp),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_client_subnet),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_compression),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
