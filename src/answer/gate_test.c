/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that need permission or a key: what they get, in the order of the checks, and what is found out aside. */
#include "src/answer/aside.h"

#include "libknot/msg/message.h"
#include "src/answer/answer_test_zones.h"
#include "src/conf/test_conf.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { NOW_S = 1700000000, REPLY_MAX = 4096, SERIAL = 7 };

#define ZONE(name) "$ORIGIN " name ".\n$TTL 60\n@ SOA ns h 7 7200 3600 86400 300\n@ NS ns\nns A 192.0.2.7\n"
#define CHILDREN   "kid NS ns.kid\nns.kid A 192.0.2.8\nempty.x A 192.0.2.9\n"

/* signed. is for signed requests, open. for unsigned ones, closed. for none; fail. has no contents. */
static const char conf_text[] =
		"key:\n  - id: k\n    secret: c2VjcmV0\n  - id: other\n    secret: b3RoZXI=\n"
		"  - id: md5\n    algorithm: hmac-md5\n    secret: c2VjcmV0\n"
		"  - id: long\n    algorithm: hmac-sha512\n    secret: c2VjcmV0\n"
		"acl:\n  - id: s\n    key: [k, md5, long]\n    action: [query, transfer, notify, update]\n"
		"  - id: u\n    address: 192.0.2.1\n    action: [transfer, notify, update]\n"
		"zone:\n  - domain: signed\n    acl: s\n  - domain: open\n    acl: u\n    provide-ixfr: off\n"
		"  - domain: closed\n  - domain: fail\n    acl: [s, u]\n";

typedef struct {
	test_zones_t zones;
	answer_env_t env;
} fixture_t;

typedef enum { FINE, WRONG_MAC, SHORT_MAC, EARLY, LATE } flaw_t;

typedef struct {
	const char *what;
	const char *zone;
	uint16_t type;
	uint8_t opcode;
	const char *key; /* NULL: unsigned */
	flaw_t flaw;
	bool is_udp;
	bool has_edns;
	char record; /* of a transfer in AUTHORITY, of a NOTIFY in ANSWER: 's' SOA, 'x' SOA of another zone, 'a' A */
	uint32_t serial; /* of that SOA */
	const char *want;
} row_t;

enum { AXFR = KNOT_TYPE_AXFR, IXFR = KNOT_TYPE_IXFR, SOA = KNOT_TYPE_SOA, A = KNOT_TYPE_A, TXT = KNOT_TYPE_TXT };
enum { CDS = KNOT_TYPE_CDS, CDNSKEY = KNOT_TYPE_CDNSKEY, CSYNC = KNOT_TYPE_CSYNC };
enum { QUERY = KNOT_OPCODE_QUERY, NOTIFY = KNOT_OPCODE_NOTIFY, UPDATE = KNOT_OPCODE_UPDATE };

/*
 * want: rcode, aa, tc, opt and EDE of the reply, its answers; "tsig": it is authentic, or which error it says; then in
 * brackets what is found out: R refresh, C child, U update, S stream, + and - the ACL's verdict, the serial, notes in
 * lower case. A reply of a transfer is what each of its messages begins with.
 */
static const row_t rows[] = {
	/* Queries. */
	{ "signed query", "signed.", SOA, QUERY, "k", FINE, true, false, 0, 0, "NOERROR aa an1 tsig [+]" },
	{ "signed query, EDNS", "signed.", SOA, QUERY, "k", FINE, true, true, 0, 0, "NOERROR aa opt an1 tsig [+]" },
	{ "signed by hmac-md5", "signed.", SOA, QUERY, "md5", FINE, false, false, 0, 0, "NOERROR aa an1 tsig [+]" },
	{ "signed by hmac-sha512", "signed.", SOA, QUERY, "long", FINE, false, false, 0, 0, "NOERROR aa an1 tsig [+]" },
	{ "name below the zone", "nope.signed.", A, QUERY, "k", FINE, true, false, 0, 0, "NXDOMAIN aa tsig [+]" },
	{ "key that isn't allowed: no TSIG", "signed.", SOA, QUERY, "other", FINE, true, true, 0, 0,
			"NOTAUTH opt [-]" },
	{ "zone without rules", "closed.", SOA, QUERY, "k", FINE, true, false, 0, 0, "NOTAUTH [-]" },
	{ "zone without rules, unsigned", "closed.", SOA, QUERY, NULL, FINE, true, false, 0, 0, "NOERROR aa an1" },
	{ "zone with rules, unsigned", "signed.", SOA, QUERY, NULL, FINE, true, false, 0, 0, "NOERROR aa an1" },
	{ "not our zone", "zz.", SOA, QUERY, "k", FINE, true, true, 0, 0, "REFUSED opt ede20" },
	{ "no contents", "fail.", SOA, QUERY, "k", FINE, true, true, 0, 0, "SERVFAIL opt ede24 tsig [+]" },
	{ "wrong MAC", "signed.", SOA, QUERY, "k", WRONG_MAC, true, false, 0, 0, "NOTAUTH tsig BADSIG [+ badsig]" },
	{ "wrong MAC, EDNS", "signed.", SOA, QUERY, "k", WRONG_MAC, true, true, 0, 0,
			"NOTAUTH opt tsig BADSIG [+ badsig]" },
	{ "MAC cut short", "signed.", SOA, QUERY, "k", SHORT_MAC, true, false, 0, 0, "NOTAUTH tsig BADSIG [+ badsig]" },
	{ "signed too early", "signed.", SOA, QUERY, "k", EARLY, true, false, 0, 0,
			"NOTAUTH tsig BADTIME [+ badtime]" },
	{ "signed in the future", "signed.", SOA, QUERY, "k", LATE, true, false, 0, 0,
			"NOTAUTH tsig BADTIME [+ badtime]" },
	{ "wrong MAC, no contents", "fail.", SOA, QUERY, "k", WRONG_MAC, true, true, 0, 0,
			"NOTAUTH opt tsig BADSIG [+ badsig]" },

	/* AXFR. */
	{ "AXFR", "signed.", AXFR, QUERY, "k", FINE, false, false, 0, 0, "NOERROR aa [S+ axfr]" },
	{ "AXFR, EDNS", "signed.", AXFR, QUERY, "k", FINE, false, true, 0, 0, "NOERROR aa opt [S+ axfr]" },
	{ "AXFR by address", "open.", AXFR, QUERY, NULL, FINE, false, false, 0, 0, "NOERROR aa [S+ axfr]" },
	{ "AXFR over UDP: before anything else", "zz.", AXFR, QUERY, "k", WRONG_MAC, true, false, 0, 0, "NOTIMPL" },
	{ "AXFR of no zone", "zz.", AXFR, QUERY, "k", WRONG_MAC, false, true, 0, 0, "NOTAUTH opt" },
	{ "AXFR below a zone", "x.signed.", AXFR, QUERY, "k", FINE, false, false, 0, 0, "NOTAUTH" },
	{ "AXFR, denied", "signed.", AXFR, QUERY, NULL, FINE, false, true, 0, 0, "NOTAUTH opt [-]" },
	{ "AXFR, denied key", "open.", AXFR, QUERY, "k", WRONG_MAC, false, false, 0, 0, "NOTAUTH [-]" },
	{ "AXFR, wrong MAC", "signed.", AXFR, QUERY, "k", WRONG_MAC, false, false, 0, 0,
			"NOTAUTH tsig BADSIG [+ badsig]" },
	{ "AXFR, late", "signed.", AXFR, QUERY, "k", EARLY, false, false, 0, 0, "NOTAUTH tsig BADTIME [+ badtime]" },
	{ "AXFR, no contents", "fail.", AXFR, QUERY, "k", FINE, false, true, 0, 0, "SERVFAIL opt ede24 tsig [+]" },
	{ "AXFR, no contents, wrong MAC", "fail.", AXFR, QUERY, "k", WRONG_MAC, false, true, 0, 0,
			"NOTAUTH opt tsig BADSIG [+ badsig]" },

	/* IXFR. */
	{ "IXFR", "signed.", IXFR, QUERY, "k", FINE, false, true, 's', 6, "NOERROR aa opt [S+ ixfr 6]" },
	{ "IXFR, 2^31 apart: no order", "signed.", IXFR, QUERY, "k", FINE, false, false, 's', SERIAL + (1u << 31),
			"NOERROR aa [S+ ixfr 2147483655]" },
	{ "IXFR, provide-ixfr is off", "open.", IXFR, QUERY, NULL, FINE, false, false, 's', 1,
			"NOERROR aa [S+ ixfr-off 1]" },
	{ "IXFR, up to date", "signed.", IXFR, QUERY, "k", FINE, false, false, 's', SERIAL,
			"NOERROR an1 tsig [+ uptodate 7]" },
	{ "IXFR, newer", "signed.", IXFR, QUERY, "k", FINE, false, true, 's', SERIAL + 1,
			"NOERROR opt an1 tsig [+ uptodate 8]" },
	{ "IXFR over UDP", "signed.", IXFR, QUERY, "k", FINE, true, false, 's', 6, "NOERROR an1 tsig [+ 6]" },
	{ "IXFR over UDP, up to date", "open.", IXFR, QUERY, NULL, FINE, true, true, 's', SERIAL,
			"NOERROR opt an1 [+ 7]" },
	{ "IXFR of no zone", "zz.", IXFR, QUERY, NULL, FINE, true, false, 's', 6, "NOTAUTH" },
	{ "IXFR, denied", "signed.", IXFR, QUERY, NULL, FINE, true, false, 0, 0, "NOTAUTH [-]" },
	{ "IXFR, wrong MAC", "signed.", IXFR, QUERY, "k", WRONG_MAC, true, false, 0, 0,
			"NOTAUTH tsig BADSIG [+ badsig]" },
	{ "IXFR, no contents", "fail.", IXFR, QUERY, "k", FINE, true, true, 0, 0, "SERVFAIL opt ede24 tsig [+]" },
	{ "IXFR without SOA", "signed.", IXFR, QUERY, "k", FINE, false, true, 0, 0,
			"FORMERR opt tsig [+ malformed 0]" },
	{ "IXFR without SOA over UDP", "open.", IXFR, QUERY, NULL, FINE, true, false, 0, 0, "FORMERR [+ malformed 0]" },
	{ "IXFR, another zone's SOA", "signed.", IXFR, QUERY, "k", FINE, false, false, 'x', 6,
			"FORMERR tsig [+ malformed 0]" },
	{ "IXFR, another record", "signed.", IXFR, QUERY, "k", FINE, false, false, 'a', 6,
			"FORMERR tsig [+ malformed 0]" },

	/* NOTIFY. */
	{ "NOTIFY", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's', 8, "NOERROR tsig [R+ notify 8]" },
	{ "NOTIFY, EDNS", "open.", SOA, NOTIFY, NULL, FINE, true, true, 's', 8, "NOERROR opt [R+ notify 8]" },
	{ "NOTIFY, the same serial", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's', SERIAL,
			"NOERROR tsig [+ notify 7]" },
	{ "NOTIFY, an older serial", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's', 1,
			"NOERROR tsig [R+ notify 1]" },
	{ "NOTIFY without serial", "signed.", SOA, NOTIFY, "k", FINE, false, false, 0, 0, "NOERROR tsig [R+ notify]" },
	{ "NOTIFY, another record", "signed.", SOA, NOTIFY, "k", FINE, true, false, 'a', 0,
			"NOERROR tsig [R+ notify bad]" },
	{ "NOTIFY, another zone's SOA", "signed.", SOA, NOTIFY, "k", FINE, true, false, 'x', 8,
			"NOERROR tsig [R+ notify bad]" },
	{ "NOTIFY, no contents", "fail.", SOA, NOTIFY, "k", FINE, true, false, 's', 0, "NOERROR tsig [R+ notify 0]" },
	{ "NOTIFY of another type", "signed.", TXT, NOTIFY, "k", FINE, true, false, 0, 0, "FORMERR tsig [+ invalid]" },
	{ "NOTIFY of another type, denied", "signed.", TXT, NOTIFY, NULL, FINE, true, false, 0, 0, "NOTAUTH [-]" },
	{ "NOTIFY of no zone", "zz.", SOA, NOTIFY, "k", FINE, true, true, 0, 0, "NOTAUTH opt" },
	{ "NOTIFY, wrong MAC", "signed.", SOA, NOTIFY, "k", WRONG_MAC, true, false, 's', 8,
			"NOTAUTH tsig BADSIG [+ badsig]" },

	/* NOTIFY about a child: of "signed.", which follows its children, and of "open.", which doesn't. */
	{ "NOTIFY(CDS)", "kid.signed.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "NOERROR tsig [C+ child]" },
	{ "NOTIFY(CSYNC), EDNS", "kid.signed.", CSYNC, NOTIFY, "k", FINE, false, true, 0, 0,
			"NOERROR opt tsig [C+ child]" },
	{ "NOTIFY(CDS) with a record", "kid.signed.", CDS, NOTIFY, "k", FINE, true, false, 's', 8,
			"NOERROR tsig [C+ child]" },
	{ "NOTIFY(CDS), denied", "kid.signed.", CDS, NOTIFY, NULL, FINE, true, false, 0, 0, "NOTAUTH [-]" },
	{ "NOTIFY(CDS), wrong MAC", "kid.signed.", CDS, NOTIFY, "k", WRONG_MAC, true, false, 0, 0,
			"NOTAUTH tsig BADSIG [+ badsig]" },
	{ "NOTIFY(CDNSKEY)", "kid.signed.", CDNSKEY, NOTIFY, "k", FINE, true, false, 0, 0, "NOTAUTH" },
	{ "NOTIFY(SOA) of a child", "kid.signed.", SOA, NOTIFY, "k", FINE, true, false, 0, 0, "NOTAUTH" },
	{ "NOTIFY(CDS) of the apex", "signed.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "FORMERR tsig [+ invalid]" },
	{ "NOTIFY(CDS) below a cut", "ns.kid.signed.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "NOTAUTH tsig [+]" },
	{ "NOTIFY(CDS) of a name", "ns.signed.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "NOTAUTH tsig [+]" },
	{ "NOTIFY(CDS) of no records", "x.signed.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "NOTAUTH tsig [+]" },
	{ "NOTIFY(CDS) of no name", "zz.signed.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "NOTAUTH tsig [+]" },
	{ "NOTIFY(CDS), no contents", "kid.fail.", CDS, NOTIFY, "k", FINE, true, false, 0, 0, "SERVFAIL tsig [+]" },
	{ "NOTIFY(CDS), not followed", "kid.open.", CDS, NOTIFY, NULL, FINE, true, false, 0, 0, "NOTAUTH" },
	{ "NOTIFY(CDS) of the root", ".", CDS, NOTIFY, NULL, FINE, true, false, 0, 0, "NOTAUTH" },

	/* UPDATE. */
	{ "UPDATE", "signed.", SOA, UPDATE, "k", FINE, true, true, 0, 0, "later [U+]" },
	{ "UPDATE by address", "open.", SOA, UPDATE, NULL, FINE, false, false, 0, 0, "later [U+]" },
	{ "UPDATE of a zone without contents", "fail.", SOA, UPDATE, "k", FINE, true, false, 0, 0, "later [U+]" },
	{ "UPDATE of another type, no zone", "zz.", A, UPDATE, NULL, FINE, true, true, 0, 0, "FORMERR opt" },
	{ "UPDATE of no zone", "zz.", SOA, UPDATE, "k", FINE, true, false, 0, 0, "NOTAUTH" },
	{ "UPDATE, denied", "closed.", SOA, UPDATE, "k", FINE, true, true, 0, 0, "NOTAUTH opt [-]" },
	{ "UPDATE, wrong MAC", "signed.", SOA, UPDATE, "k", WRONG_MAC, true, false, 0, 0,
			"NOTAUTH tsig BADSIG [+ badsig]" },
};

static knot_name_t scan_name(const char *text, uint8_t ret_wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, ret_wire, &name), KNOT_OK);
	return name;
}

static int setup(void **state)
{
	fixture_t *f = calloc(1, sizeof(*f));
	const char *const texts[] = { ZONE("signed") CHILDREN, ZONE("open") CHILDREN, ZONE("closed"), NULL };
	f->zones = test_zones_new(texts, "fail.");
	f->env = (answer_env_t){
		.udp_payload_max_ipv4 = 1232, .udp_payload_max_ipv6 = 1232, .conf = build_text(conf_text)
	};
	static const char *const parents[] = { "signed.", "fail." };
	for (size_t i = 0; i < KNOT_LEN(parents); i++) {
		uint8_t wire[KNOT_NAME_MAX];
		zone_follow_children(zonedb_find(f->zones.db, scan_name(parents[i], wire)), true);
	}
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture_t *f = *state;
	test_zones_free(&f->zones);
	conf_free((conf_t *)f->env.conf);
	free(f);
	return 0;
}

/* ---- Requests ---- */

static void put_record(const row_t *row, knot_name_t zone, knot_msg_writer_t *w)
{
	static const uint8_t other[] = "\5other", address[4] = { 192, 0, 2, 1 };
	uint8_t soa[22] = { 0 };
	store_be32(soa + 2, row->serial);
	knot_section_t section = row->opcode == NOTIFY ? KNOT_SECTION_ANSWER : KNOT_SECTION_AUTHORITY;
	knot_bytes_t rdata = row->record == 'a' ? (knot_bytes_t){ address, sizeof(address) }
						: (knot_bytes_t){ soa, sizeof(soa) };
	if (row->record != 0) {
		assert_int_equal(knot_msg_put_rr(w, section, row->record == 'x' ? knot_name_of(other) : zone,
						 row->record == 'a' ? A : SOA, KNOT_CLASS_IN, 0, rdata),
				KNOT_OK);
	}
}

static const knot_tsig_key_t *key_of(const fixture_t *f, const char *name)
{
	static knot_tsig_key_t keys[4];
	static uint8_t wires[4][KNOT_NAME_MAX];
	static const struct {
		const char *name, *secret;
		knot_tsig_algorithm_t algorithm;
	} known[] = {
		{ "k", "secret", KNOT_TSIG_HMAC_SHA256 },
		{ "other", "other", KNOT_TSIG_HMAC_SHA256 },
		{ "md5", "secret", KNOT_TSIG_HMAC_MD5 },
		{ "long", "secret", KNOT_TSIG_HMAC_SHA512 },
	};
	(void)f;
	for (size_t i = 0; i < KNOT_LEN(known); i++) {
		if (strcmp(known[i].name, name) == 0) {
			keys[i] = (knot_tsig_key_t){ scan_name(name, wires[i]), known[i].algorithm,
				{ (const uint8_t *)known[i].secret, strlen(known[i].secret) } };
			return &keys[i];
		}
	}
	fail();
	return NULL;
}

/* A TSIG whose MAC has a byte less. */
static size_t put_short_mac(knot_tsig_chain_t *client, knot_msg_writer_t *w)
{
	static const uint8_t mac[31] = { 0 };
	const knot_tsig_t tsig = { .key = client->key->name,
		.algorithm = knot_tsig_algorithm_name(client->key->algorithm),
		.time_s = NOW_S,
		.fudge_s = 300,
		.mac = { mac, sizeof(mac) },
		.original_id = 0x1234 };
	assert_int_equal(knot_tsig_put(w, &tsig), KNOT_OK);
	store_be16(w->data + 10, w->counts[KNOT_SECTION_ADDITIONAL]);
	return w->len;
}

static size_t make_request(const fixture_t *f, const row_t *row, uint8_t *room, size_t max, knot_tsig_chain_t *client)
{
	knot_msg_writer_t w;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t zone = scan_name(row->zone, wire);
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, max });
	assert_int_equal(knot_msg_put_question(&w, zone, row->type, KNOT_CLASS_IN), KNOT_OK);
	put_record(row, zone, &w);
	if (row->has_edns) {
		assert_int_equal(knot_msg_put_opt(&w, 1232, 0, 0, 0), KNOT_OK);
	}
	size_t len = knot_msg_finish(&w, 0x1234, (uint16_t)(row->opcode << 11));
	if (row->key == NULL) {
		return len;
	}
	knot_tsig_chain_begin(client, key_of(f, row->key));
	if (row->flaw == SHORT_MAC) {
		return put_short_mac(client, &w);
	}
	uint64_t at_s = row->flaw == EARLY ? NOW_S - 301 : row->flaw == LATE ? NOW_S + 301 : NOW_S;
	assert_int_equal(knot_tsig_sign(client, &w, at_s, &len), KNOT_OK);
	if (row->flaw == WRONG_MAC) {
		room[len - 7] ^= 1; /* the MAC's last byte: id, error and length of other data follow */
	}
	return len;
}

/* ---- Replies as text ---- */

typedef struct {
	char text[256];
	size_t len;
} text_t;

__attribute__((format(printf, 2, 3))) static void put(text_t *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	t->len += (size_t)vsnprintf(t->text + t->len, sizeof(t->text) - t->len, format, args);
	va_end(args);
	assert_true(t->len < sizeof(t->text));
}

static void print_opt(knot_bytes_t reply, const knot_message_rr_t *rr, text_t *t)
{
	size_t pos = 0;
	knot_edns_option_t option;
	put(t, " opt");
	while (knot_edns_next((knot_bytes_t){ reply.data + rr->rdata_off, rr->rdata_len }, &pos, &option)) {
		assert_int_equal(option.code, KNOT_EDNS_EDE);
		put(t, " ede%u", load_be16(option.data.data));
	}
}

/* What the client makes of the TSIG: its MAC covers the request's, and an error must be said as RFC 8945 5.3.2 wants.
 */
static void print_tsig(knot_bytes_t reply, const row_t *row, knot_tsig_chain_t *client, text_t *t)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	assert_int_equal(knot_tsig_read(reply, wire, &tsig), KNOT_OK);
	assert_int_equal(tsig.fudge_s, 300);
	put(t, " tsig");
	if (tsig.error == 0) {
		assert_int_equal(knot_tsig_verify(client, reply, NOW_S), KNOT_OK);
		assert_int_equal(tsig.time_s, NOW_S);
		return;
	}
	bool is_time = tsig.error == KNOT_RCODE_BADTIME;
	put(t, is_time ? " BADTIME" : " BADSIG");
	assert_int_equal(tsig.error, is_time ? 18 : 16);
	assert_int_equal(tsig.time_s, row->flaw == EARLY ? NOW_S - 301 : row->flaw == LATE ? NOW_S + 301 : NOW_S);
	assert_int_equal(tsig.mac.len, is_time ? 32 : 0);
	assert_int_equal(tsig.other.len, is_time ? 6 : 0);
	if (is_time) {
		assert_int_equal(load_be32(tsig.other.data + 2), NOW_S);
		assert_int_equal(knot_tsig_verify(client, reply, tsig.time_s), KNOT_TSIG_EBADTIME);
	}
}

static void print_reply(knot_bytes_t reply, const row_t *row, knot_tsig_chain_t *client, text_t *t)
{
	knot_message_t m;
	knot_message_rr_t rr;
	bool has_tsig = false;
	assert_int_equal(knot_message_begin(reply, &m), KNOT_OK);
	assert_int_equal(load_be16(reply.data), 0x1234);
	assert_int_equal((m.flags & KNOT_OPCODE_MASK) >> 11, row->opcode);
	assert_int_equal(m.counts[KNOT_SECTION_QUESTION], 1);
	put(t, "%s%s%s", knot_rcode_slot_name(m.flags & KNOT_RCODE_MASK), m.flags & KNOT_FLAG_AA ? " aa" : "",
			m.flags & KNOT_FLAG_TC ? " tc" : "");
	unsigned answers = m.counts[KNOT_SECTION_ANSWER];
	while (knot_message_next(&m, &rr)) {
		if (rr.section != KNOT_SECTION_QUESTION && rr.type == KNOT_TYPE_OPT) {
			print_opt(reply, &rr, t);
		}
		has_tsig |= rr.type == KNOT_TYPE_TSIG;
		if (rr.section == KNOT_SECTION_ANSWER) {
			assert_int_equal(rr.type, KNOT_TYPE_SOA);
		}
	}
	assert_true(knot_message_is_whole(&m));
	if (answers > 0) {
		put(t, " an%u", answers);
	}
	if (has_tsig) {
		print_tsig(reply, row, client, t);
	}
}

static void print_aside(const answer_report_t *report, const answer_aside_t *aside, text_t *t)
{
	static const char *const notes[] = {
		[ANSWER_NOTE_NONE] = "",
		[ANSWER_NOTE_NOTIFY] = " notify",
		[ANSWER_NOTE_NOTIFY_INVALID] = " invalid",
		[ANSWER_NOTE_NOTIFY_CHILD] = " child",
		[ANSWER_NOTE_UP_TO_DATE] = " uptodate",
		[ANSWER_NOTE_FROZEN] = " frozen",
		[ANSWER_NOTE_MALFORMED] = " malformed",
	};
	if ((report->effects & ANSWER_EFFECT_NOTED) == 0) {
		assert_int_equal(report->effects & ~(ANSWER_EFFECT_ASKED | ANSWER_EFFECT_WANTED), 0);
		return;
	}
	bool is_stream = (report->effects & ANSWER_EFFECT_STREAM) != 0;
	put(t, " [%s%s%s%s%s%s", report->effects & ANSWER_EFFECT_REFRESH ? "R" : "",
			report->effects & ANSWER_EFFECT_CHILD ? "C" : "",
			report->effects & ANSWER_EFFECT_UPDATE ? "U" : "", is_stream ? "S" : "",
			aside->verdict.is_allowed ? "+" : "-", notes[aside->note]);
	if (aside->tsig != ANSWER_TSIG_OK) {
		put(t, aside->tsig == ANSWER_TSIG_BADSIG ? " badsig" : " badtime");
	}
	if (is_stream) {
		put(t, " %s%s", aside->is_ixfr ? "ixfr" : "axfr",
				aside->is_ixfr && !aside->provides_ixfr ? "-off" : "");
		assert_ptr_equal(aside->contents, zone_contents(report->zone));
	}
	if (aside->is_ixfr || aside->has_serial) {
		put(t, " %u", aside->serial);
	}
	put(t, "%s]", aside->has_bad_record ? " bad" : "");
}

/* ---- Tests ---- */

static struct sockaddr_in client_address = { .sin_family = AF_INET };

/* The text of what a request gets; the same if the reply takes its place. */
static void ask(fixture_t *f, const row_t *row, uint8_t takes, text_t *ret_text)
{
	static answer_request_t request;
	uint8_t message[1024], out[REPLY_MAX], frame[REPLY_MAX];
	knot_tsig_chain_t client = { .key = NULL };
	answer_aside_t aside;
	answer_report_t report, again;
	const answer_turn_t turn = { .wall_s = NOW_S, .aside = &aside, .takes = takes };
	assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &client_address.sin_addr), 1);
	const answer_source_t source = { .protocol = row->is_udp ? ANSWER_UDP4 : ANSWER_TCP4,
		.remote = (const struct sockaddr *)&client_address,
		.turn = &turn };
	size_t len = make_request(f, row, message, sizeof(message), &client);
	memcpy(frame, message, len);
	const knot_bytes_t bytes = { message, len }, in_place = { frame, len };
	test_zones_enter(&f->zones);
	memset(&aside, 0xA5, sizeof(aside)); /* what an earlier request left */
	answer_read(&f->env, f->zones.db, &in_place, 1, &request);
	size_t frame_len = answer_message(
			&f->env, &source, &request, NULL, (knot_mut_bytes_t){ frame, sizeof(frame) }, &again);
	size_t template_len = again.effects & ANSWER_EFFECT_STREAM ? aside.template.len : 0;
	memset(&aside, 0xA5, sizeof(aside));
	answer_read(&f->env, f->zones.db, &bytes, 1, &request);
	size_t out_len = answer_message(
			&f->env, &source, &request, NULL, (knot_mut_bytes_t){ out, sizeof(out) }, &report);
	assert_int_equal(frame_len, out_len);
	assert_int_equal(again.effects, report.effects);
	assert_int_equal(again.rcode, report.rcode);
	if (report.effects & ANSWER_EFFECT_STREAM) {
		assert_int_equal(out_len, 0);
		assert_ptr_equal(aside.template.data, out);
		out_len = aside.template.len;
		assert_int_equal(template_len, out_len);
	}
	if (report.effects & ANSWER_EFFECT_UPDATE) {
		assert_int_equal(out_len, 0);
		assert_memory_equal(frame, message, len);
	} else {
		assert_memory_equal(frame, out, out_len);
	}
	*ret_text = (text_t){ .len = 0 };
	if (out_len > 0) {
		print_reply((knot_bytes_t){ out, out_len }, row, &client, ret_text);
	} else {
		put(ret_text, "later");
	}
	print_aside(&report, &aside, ret_text);
	/* A request that is taken has a chain to sign its answer with, as far as it was signed. */
	if (report.effects & (ANSWER_EFFECT_STREAM | ANSWER_EFFECT_UPDATE)) {
		assert_int_equal(aside.chain.key != NULL, row->key != NULL);
		assert_int_equal(aside.chain.position, row->key != NULL ? KNOT_TSIG_AT_FIRST : KNOT_TSIG_AT_REQUEST);
	}
	test_zones_leave(&f->zones);
}

enum { ALL = ANSWER_EFFECT_STREAM | ANSWER_EFFECT_UPDATE | ANSWER_EFFECT_REFRESH | ANSWER_EFFECT_CHILD };

static void test_tables(void **state)
{
	unsigned failed = 0;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		text_t got;
		ask(*state, &rows[i], ALL, &got);
		if (strcmp(got.text, rows[i].want) != 0) {
			print_message("%s\n  want %s\n  got  %s\n", rows[i].what, rows[i].want, got.text);
			failed++;
		}
	}
	assert_int_equal(failed, 0);
}

/* Of a zone whose transfers are frozen: streams are refused behind all other checks, and UDP tells the serial. */
static void test_frozen(void **state)
{
	static const row_t frozen[] = {
		{ "AXFR", "signed.", AXFR, QUERY, "k", FINE, false, true, 0, 0, "REFUSED opt ede14 tsig [+ frozen]" },
		{ "IXFR", "signed.", IXFR, QUERY, "k", FINE, false, false, 's', 6, "REFUSED tsig [+ frozen 6]" },
		{ "IXFR, malformed", "signed.", IXFR, QUERY, "k", FINE, false, false, 0, 0,
				"FORMERR tsig [+ malformed 0]" },
		{ "IXFR over UDP", "signed.", IXFR, QUERY, "k", FINE, true, false, 's', 6, "NOERROR an1 tsig [+ 6]" },
		{ "AXFR, denied", "signed.", AXFR, QUERY, NULL, FINE, false, true, 0, 0, "NOTAUTH opt [-]" },
		{ "NOTIFY", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's', 8, "NOERROR tsig [R+ notify 8]" },
		{ "query", "signed.", SOA, QUERY, "k", FINE, true, false, 0, 0, "NOERROR aa an1 tsig [+]" },
	};
	fixture_t *f = *state;
	uint8_t wire[KNOT_NAME_MAX];
	zone_t *zone = zonedb_find(f->zones.db, scan_name("signed.", wire));
	text_t got;
	zone_freeze_transfers(zone, true);
	for (size_t i = 0; i < KNOT_LEN(frozen); i++) {
		ask(f, &frozen[i], ALL, &got);
		assert_string_equal(got.text, frozen[i].want);
	}
	zone_freeze_transfers(zone, false);
	ask(f, &frozen[0], ALL, &got);
	assert_string_equal(got.text, "NOERROR aa opt [S+ axfr]");
}

/* The serials of a primary say nothing about a zone that has serials of its own. */
static void test_renumbered(void **state)
{
	static const row_t row = { "NOTIFY, the same serial", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's',
		SERIAL, "NOERROR tsig [R+ notify 7]" };
	fixture_t *f = *state;
	uint8_t wire[KNOT_NAME_MAX];
	zone_t *zone = zonedb_find(f->zones.db, scan_name("signed.", wire));
	text_t got;
	zone_renumber(zone, true);
	ask(f, &row, ALL, &got);
	assert_string_equal(got.text, row.want);
	zone_renumber(zone, false);
	ask(f, &row, ALL, &got);
	assert_string_equal(got.text, "NOERROR tsig [+ notify 7]");
}

/* A transport that doesn't take them: nothing is promised. What can be answered at once is. */
static void test_not_taken(void **state)
{
	static const row_t others[] = {
		{ "AXFR", "signed.", AXFR, QUERY, "k", FINE, false, true, 0, 0, "SERVFAIL opt tsig [+]" },
		{ "UPDATE", "open.", SOA, UPDATE, NULL, FINE, true, false, 0, 0, "SERVFAIL [+]" },
		{ "NOTIFY", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's', 8, "SERVFAIL tsig [+ notify 8]" },
		{ "NOTIFY, the same serial", "signed.", SOA, NOTIFY, "k", FINE, true, false, 's', SERIAL,
				"NOERROR tsig [+ notify 7]" },
		{ "IXFR over UDP", "signed.", IXFR, QUERY, "k", FINE, true, false, 's', 6, "NOERROR an1 tsig [+ 6]" },
		{ "query", "signed.", SOA, QUERY, "k", FINE, true, false, 0, 0, "NOERROR aa an1 tsig [+]" },
	};
	for (size_t i = 0; i < KNOT_LEN(others); i++) {
		text_t got;
		ask(*state, &others[i], 0, &got);
		assert_string_equal(got.text, others[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_renumbered),
		cmocka_unit_test(test_not_taken),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
