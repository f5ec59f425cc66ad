/* SPDX-License-Identifier: BSD-2-Clause */
/* What each prerequisite and each update does: rcode, lines of the log, and what differs afterwards. */
#include "src/update/ddns.h"

#include "libknot/msg/query.h"
#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static zone_contents_t *base, *chained; /* chained has a NSEC3PARAM */

static zone_contents_t *build(const char *text)
{
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "test", &params, &zone), KNOT_OK);
	return zone;
}

#define BASE                                                                                                           \
	"@ 60 SOA ns admin 5 1 2 3 4\n@ 60 NS ns\n@ 60 NS ns2\n@ 60 TXT apex\nns 60 A 192.0.2.1\nns2 60 A 192.0.2.2\n" \
	"mail 60 MX 10 ns\nmail 60 MX 20 ns2\nmail 60 TXT m\nc 60 CNAME ns\nd 60 DNAME other.\nb.ent 60 A 192.0.2.3\n" \
	"below 60 TXT b\nx.below 60 A 192.0.2.4\nsub 60 NS ns.sub\nns.sub 60 A 192.0.2.5\nsec 60 NSEC zone. A\n"

static int build_zones(void **state)
{
	(void)state;
	base = build(BASE);
	chained = build(BASE "@ 0 NSEC3PARAM 1 0 0 -\n");
	return 0;
}

static int free_zones(void **state)
{
	(void)state;
	zone_contents_free(base);
	zone_contents_free(chained);
	return 0;
}

/* ---- Messages ---- */

/*
 * One record per line, fields separated by a space. Prerequisites: "? OWNER" in use, "? OWNER TYPE" RRset there,
 * "! OWNER [TYPE]" the contrary, "= OWNER TYPE DATA" record of a whole RRset. Updates: "+ OWNER TTL TYPE DATA",
 * "- OWNER" all of a name, "- OWNER TYPE" RRset, "x OWNER TYPE DATA" record. Any: "P CLASS OWNER TTL TYPE [DATA]", and
 * with U in the place of P. Owners are relative to the zone.
 */
typedef struct {
	uint8_t bytes[KNOT_MSG_MAX];
	size_t len;
} message_t;

typedef struct {
	char kind;
	unsigned class;
	char owner[256], type[32], data[512];
	unsigned ttl;
} line_t;

static line_t read_line(const char *text, size_t len)
{
	char copy[1024];
	line_t line = { .kind = text[0], .type = "ANY" };
	assert_true(len < sizeof(copy));
	memcpy(copy, text, len);
	copy[len] = '\0';
	switch (copy[0]) {
	case '?':
	case '-':
		line.class = KNOT_CLASS_ANY;
		assert_true(sscanf(copy + 1, " %255s %31s", line.owner, line.type) >= 1);
		break;
	case '!':
		line.class = KNOT_CLASS_NONE;
		assert_true(sscanf(copy + 1, " %255s %31s", line.owner, line.type) >= 1);
		break;
	case '=':
	case 'x':
		line.class = copy[0] == 'x' ? KNOT_CLASS_NONE : KNOT_CLASS_IN;
		assert_int_equal(sscanf(copy + 1, " %255s %31s %511[^\n]", line.owner, line.type, line.data), 3);
		break;
	case '+':
		line.class = KNOT_CLASS_IN;
		assert_int_equal(sscanf(copy + 1, " %255s %u %31s %511[^\n]", line.owner, &line.ttl, line.type,
						 line.data),
				4);
		break;
	default:
		assert_true(sscanf(copy + 1, " %u %255s %u %31s %511[^\n]", &line.class, line.owner, &line.ttl,
					    line.type, line.data) >= 4);
	}
	return line;
}

static void put16(message_t *message, unsigned value)
{
	store_be16(message->bytes + message->len, (uint16_t)value);
	message->len += 2;
}

static void put_line(message_t *message, const char *text, size_t len)
{
	static uint8_t room[KNOT_RDATA_MAX];
	line_t line = read_line(text, len);
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint16_t type, rdlen = 0;
	const char *reason;
	assert_int_equal(knot_name_scan(knot_str_of(line.owner), params.origin, wire, &owner), KNOT_OK);
	assert_int_equal(knot_rrtype_scan(knot_str_of(line.type), &type), KNOT_OK);
	if (line.data[0] != '\0') {
		knot_mut_bytes_t to = { room, sizeof(room) };
		assert_int_equal(knot_rdata_scan(type, knot_str_of(line.data), params.origin, to, &rdlen, &reason),
				KNOT_OK);
	}
	memcpy(message->bytes + message->len, wire, owner.len);
	message->len += owner.len;
	put16(message, type);
	put16(message, line.class);
	put16(message, line.ttl >> 16);
	put16(message, line.ttl);
	put16(message, rdlen);
	memcpy(message->bytes + message->len, room, rdlen);
	message->len += rdlen;
	bool is_prereq = strchr("?!=P", line.kind) != NULL;
	size_t count_at = is_prereq ? 6 : 8;
	store_be16(message->bytes + count_at, (uint16_t)(load_be16(message->bytes + count_at) + 1));
}

static message_t *make_message(const char *lines)
{
	static message_t message;
	static const uint8_t head[] = { 0, 1, 0x28, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 'z', 'o', 'n', 'e', 0, 0, 6, 0, 1 };
	memcpy(message.bytes, head, sizeof(head));
	message.len = sizeof(head);
	while (*lines != '\0') {
		size_t len = strcspn(lines, "\n");
		put_line(&message, lines, len);
		lines += len + (lines[len] == '\n');
	}
	return &message;
}

/* ---- Worlds ---- */

typedef struct {
	update_t update;
	ddns_t *ddns;
	FILE *to;
	char *said;
	size_t said_len;
} world_t;

static void note_message(const ddns_message_t *message, void *ctx)
{
	fprintf(((world_t *)ctx)->to, "%c%s %s; ", "DNW"[message->level], message -> names_zone ? "" : "-",
			message->text);
}

static void begin(world_t *world, const zone_contents_t *zone)
{
	*world = (world_t){ 0 };
	world->to = open_memstream(&world->said, &world->said_len);
	assert_non_null(world->to);
	assert_int_equal(update_begin(params.origin, UPDATE_DDNS, zone, &world->update), KNOT_OK);
	assert_int_equal(ddns_begin(&world->update, note_message, world, &world->ddns), KNOT_OK);
}

static void end(world_t *world)
{
	ddns_end(world->ddns);
	update_end(&world->update);
	fclose(world->to);
	free(world->said);
}

static ddns_result_t apply(world_t *world, const char *lines)
{
	const message_t *message = make_message(lines);
	uint8_t *exact = malloc(message->len); /* of its size, so that sanitizers see a read of one byte more */
	assert_non_null(exact);
	memcpy(exact, message->bytes, message->len);
	ddns_result_t result = ddns_apply(world->ddns, (knot_bytes_t){ exact, message->len });
	free(exact);
	return result;
}

static bool print_rr(const zone_rr_t *rr, void *ctx)
{
	static char data[KNOT_RDATA_TEXT_MAX];
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	knot_rdata_print(rr->type, rr->rdata, data, sizeof(data));
	fprintf(ctx, "%s %u %s %s; ", owner, (unsigned)rr->ttl, type, data);
	return true;
}

/* Differences as "- …; + …; ", to be freed. */
static char *diff_text(const zone_txn_t *txn)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	fprintf(to, "- ");
	assert_int_equal(zone_txn_diff(txn, false, print_rr, to), KNOT_OK);
	fprintf(to, "+ ");
	assert_int_equal(zone_txn_diff(txn, true, print_rr, to), KNOT_OK);
	fclose(to);
	return text;
}

static const char *err_word(knot_err_t err)
{
	return err == KNOT_OK ? "" : knot_strerror(err);
}

/* ---- The tables ---- */

#define PREREQ    "prerequisites not met"
#define FORMAT    "broken update format"
#define NO_PREREQ PREREQ, KNOT_EPREREQ
#define MALFORMED KNOT_RCODE_FORMERR, FORMAT, KNOT_EMALF
#define FINE      KNOT_RCODE_NOERROR, NULL, KNOT_OK
#define SAME      "- + "

typedef struct {
	const char *lines;
	uint16_t rcode;
	const char *what;
	knot_err_t err;
	const char *said; /* NULL: nothing */
} prereq_row_t;

/* With each comes an update, which must be done or not. */
static const prereq_row_t prereq_rows[] = {
	{ "? ns\n", FINE, NULL },
	{ "? NS\n", FINE, NULL },
	{ "? ns.sub\n", FINE, NULL },
	{ "? no\n", KNOT_RCODE_NXDOMAIN, NO_PREREQ, "D DDNS, prerequisite name no.zone. (NXDOMAIN); " },
	{ "? ent\n", KNOT_RCODE_NXDOMAIN, NO_PREREQ, "D DDNS, prerequisite name ent.zone. (NXDOMAIN); " },
	{ "! no\n", FINE, NULL },
	{ "! ent\n", FINE, NULL },
	{ "! ns\n", KNOT_RCODE_YXDOMAIN, NO_PREREQ, "D DDNS, prerequisite name ns.zone. (YXDOMAIN); " },
	{ "? ns A\n", FINE, NULL },
	{ "? ns AAAA\n", KNOT_RCODE_NXRRSET, NO_PREREQ, "D DDNS, prerequisite name ns.zone., type AAAA (NXRRSET); " },
	{ "? no A\n", KNOT_RCODE_NXRRSET, NO_PREREQ, "D DDNS, prerequisite name no.zone., type A (NXRRSET); " },
	{ "? ns AXFR\n", KNOT_RCODE_NXRRSET, NO_PREREQ, "D DDNS, prerequisite name ns.zone., type AXFR (NXRRSET); " },
	{ "! ns AAAA\n", FINE, NULL },
	{ "! ns A\n", KNOT_RCODE_YXRRSET, NO_PREREQ, "D DDNS, prerequisite name ns.zone., type A (YXRRSET); " },
	{ "= ns A 192.0.2.1\n", FINE, NULL },
	{ "= ns A 192.0.2.1\n= NS A 192.0.2.1\n", FINE, NULL },
	{ "= ns A 192.0.2.9\n", KNOT_RCODE_NXRRSET, NO_PREREQ,
			"D DDNS, prerequisite name ns.zone., type A, data '192.0.2.9' (NXRRSET); " },
	{ "= mail MX 20 NS2\n? ns\n= mail MX 10 ns\n", FINE, NULL },
	{ "= mail MX 20 ns2\n", KNOT_RCODE_NXRRSET, NO_PREREQ,
			"D DDNS, prerequisite name mail.zone., type MX, data '20 ns2.zone.' (NXRRSET); " },
	{ "= mail MX 20 ns2\n= mail MX 10 ns\n= mail MX 5 ns\n", KNOT_RCODE_NXRRSET, NO_PREREQ,
			"D DDNS, prerequisite name mail.zone., type MX, data '5 ns.zone.' '10 ns.zone.' '20 ns2.zone.' "
			"(NXRRSET); " },
	{ "= no A 192.0.2.1\n", KNOT_RCODE_NXRRSET, NO_PREREQ,
			"D DDNS, prerequisite name no.zone., type A, data '192.0.2.1' (NXRRSET); " },
	{ "= mail TXT m\n= ns A 192.0.2.1\n", FINE, NULL },
	/* Whole RRsets are compared at the end (RFC 2136 3.2.5). */
	{ "= ns A 192.0.2.9\n? no\n", KNOT_RCODE_NXDOMAIN, NO_PREREQ,
			"D DDNS, prerequisite name no.zone. (NXDOMAIN); " },
	{ "! ns\n? no\n", KNOT_RCODE_YXDOMAIN, NO_PREREQ, "D DDNS, prerequisite name ns.zone. (YXDOMAIN); " },
	{ "P 255 ns 1 A\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 254 ns 1 A\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 1 ns 1 A 192.0.2.1\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 255 ns 0 A 192.0.2.1\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 254 ns 0 A 192.0.2.1\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 3 ns 0 A 192.0.2.1\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 255 ns.other. 0 A\n", KNOT_RCODE_NOTZONE, PREREQ, KNOT_EOUTOFZONE, NULL },
	{ "P 1 ns.other. 0 A 192.0.2.1\n", KNOT_RCODE_NOTZONE, PREREQ, KNOT_EOUTOFZONE, NULL },
	{ "P 255 ns.other. 1 A\n", KNOT_RCODE_FORMERR, PREREQ, KNOT_EMALF, NULL },
	{ "P 255 ns.other. 0 A 192.0.2.1\n", KNOT_RCODE_NOTZONE, PREREQ, KNOT_EOUTOFZONE, NULL },
	{ "P 1 ns 0 A\n", MALFORMED, NULL },
	{ "P 1 ns 0 ANY\n", MALFORMED, NULL },
	{ "P 255 ns 0 OPT\n", MALFORMED, NULL },
	{ "P 255 ns 0 TSIG\n", MALFORMED, NULL },
};

static void check_result(const char *lines, ddns_result_t got, uint16_t rcode, const char *what, knot_err_t err)
{
	bool is_same_what = what == NULL ? got.what == NULL : got.what != NULL && strcmp(got.what, what) == 0;
	if (got.rcode != rcode || !is_same_what || got.err != err) {
		fail_msg("%srcode %u, %s (%s)", lines, got.rcode, got.what, err_word(got.err));
	}
}

static void check_said(world_t *world, const char *lines, const char *want)
{
	fflush(world->to);
	if (strcmp(world->said, want != NULL ? want : "") != 0) {
		fail_msg("%ssaid: %s", lines, world->said);
	}
}

static void check_diff(const world_t *world, const char *lines, const char *want)
{
	char *diff = diff_text(world->update.txn);
	if (strcmp(diff, want) != 0) {
		fail_msg("%sgives %s", lines, diff);
	}
	free(diff);
}

static void test_prerequisites(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(prereq_rows); i++) {
		const prereq_row_t *row = &prereq_rows[i];
		char lines[512];
		snprintf(lines, sizeof(lines), "%s+ new 60 A 192.0.2.7\n", row->lines);
		world_t world;
		begin(&world, base);
		check_result(lines, apply(&world, lines), row->rcode, row->what, row->err);
		check_said(&world, lines, row->said);
		check_diff(&world, lines, row->rcode == KNOT_RCODE_NOERROR ? "- + new.zone. 60 A 192.0.2.7; " : SAME);
		end(&world);
	}
}

typedef struct {
	const char *lines;
	uint16_t rcode;
	const char *what;
	knot_err_t err;
	const char *diff;
	const char *said; /* NULL: nothing */
} row_t;

static const row_t rows[] = {
	/* Format (RFC 2136 3.4.1) */
	{ "U 1 ns.other. 60 A 192.0.2.1\n", KNOT_RCODE_NOTZONE, FORMAT, KNOT_EOUTOFZONE, SAME, NULL },
	{ "U 3 ns.other. 60 A 192.0.2.1\n", KNOT_RCODE_NOTZONE, FORMAT, KNOT_EOUTOFZONE, SAME, NULL },
	{ "+ a 60 A 192.0.2.1\nU 255 other. 0 A\n", KNOT_RCODE_NOTZONE, FORMAT, KNOT_EOUTOFZONE, SAME, NULL },
	{ "U 3 ns 60 A 192.0.2.1\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 SIG A 8 1 60 20300101000000 20200101000000 1 zone. AAAA\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 OPT \\# 0\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 NXNAME \\# 0\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 TKEY\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 TSIG\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 IXFR \\# 0\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 AXFR \\# 0\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 MAILA \\# 0\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 ANY\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 60 TYPE0 \\# 1 00\n", MALFORMED, SAME, NULL },
	{ "U 255 ns 0 TYPE0\n", MALFORMED, SAME, NULL },
	{ "U 255 ns 0 AXFR\n", MALFORMED, SAME, NULL },
	{ "U 255 ns 0 A 192.0.2.1\n", MALFORMED, SAME, NULL },
	{ "U 254 ns 1 A 192.0.2.1\n", MALFORMED, SAME, NULL },
	{ "U 254 ns 0 ANY\n", MALFORMED, SAME, NULL },
	{ "U 254 ns 0 A\n", MALFORMED, SAME, NULL },
	{ "U 1 ns 0 A\n", MALFORMED, SAME, NULL },
	{ "U 255 ns 5 A\n", FINE, "- ns.zone. 60 A 192.0.2.1; + ", NULL },
	{ "+ ns 0 NSEC3PARAM 1 0 0 -\n", KNOT_RCODE_REFUSED, FORMAT, KNOT_EDENIED, SAME,
			"W- DDNS, refusing to add NSEC3PARAM to non-apex node; " },
	{ "- ns NSEC3PARAM\n", KNOT_RCODE_REFUSED, FORMAT, KNOT_EDENIED, SAME,
			"W- DDNS, refusing to add NSEC3PARAM to non-apex node; " },

	/* Adding */
	{ "+ a 30 A 192.0.2.7\n", FINE, "- + a.zone. 30 A 192.0.2.7; ", NULL },
	{ "+ NS 60 A 192.0.2.1\n", FINE, SAME, NULL },
	{ "+ ns 99 A 192.0.2.1\n", FINE, SAME, NULL },
	{ "+ NS 99 A 192.0.2.7\n", FINE,
			"- ns.zone. 60 A 192.0.2.1; + ns.zone. 99 A 192.0.2.1; ns.zone. 99 A 192.0.2.7; ",
			"N TTL mismatch, owner ns.zone., type A, TTL set to 99; " },
	{ "+ a 1 A 192.0.2.7\n+ a 2 A 192.0.2.7\n", FINE, "- + a.zone. 1 A 192.0.2.7; ", NULL },
	{ "+ mail 60 MX 10 NS\n", FINE, SAME, NULL },
	{ "+ x 9 TYPE65280 \\# 0\n", FINE, "- + x.zone. 9 TYPE65280 \\# 0; ", NULL },
	{ "+ x.sub 9 A 192.0.2.7\n", FINE, "- + x.sub.zone. 9 A 192.0.2.7; ", NULL },
	{ "+ ns 60 DS 1 8 1 3F\n", FINE, "- + ns.zone. 60 DS 1 8 1 3F; ", NULL },
	{ "+ ns 5 RRSIG A 8 2 60 20300101000000 20200101000000 1 zone. AAAA\n", FINE,
			"- + ns.zone. 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 zone. AAAA; ", NULL },
	{ "+ ns 60 NSEC a A\n", FINE, "- + ns.zone. 60 NSEC a.zone. A; ", NULL },
	{ "+ ns 60 CDS 0 0 0 00\n", FINE, "- + ns.zone. 60 CDS 0 0 0 00; ", NULL },

	/* CNAME */
	{ "+ c 60 CNAME ns\n", FINE, SAME, NULL },
	{ "+ c 99 CNAME ns\n", FINE, "- c.zone. 60 CNAME ns.zone.; + c.zone. 99 CNAME ns.zone.; ", NULL },
	{ "+ C 99 CNAME ns2\n", FINE, "- c.zone. 60 CNAME ns.zone.; + c.zone. 99 CNAME ns2.zone.; ", NULL },
	{ "+ ns 60 CNAME a\n", FINE, SAME, NULL },
	{ "+ sec 60 CNAME a\n", FINE, "- + sec.zone. 60 CNAME a.zone.; ", NULL }, /* beside NSEC */
	{ "+ d 60 CNAME a\n", FINE, SAME, NULL },
	{ "+ x.d 60 CNAME a\n", FINE, SAME, NULL },
	{ "+ @ 60 CNAME a\n", FINE, SAME, NULL },
	{ "+ ent 60 CNAME a\n", FINE, "- + ent.zone. 60 CNAME a.zone.; ", NULL },
	{ "- ns\n+ ns 60 CNAME a\n", FINE, "- ns.zone. 60 A 192.0.2.1; + ns.zone. 60 CNAME a.zone.; ", NULL },

	/* DNAME */
	{ "+ d 60 DNAME other.\n", FINE, SAME, NULL },
	{ "+ d 99 DNAME other.\n", FINE, SAME, NULL },
	{ "+ d 60 DNAME more.\n", FINE, "- d.zone. 60 DNAME other.; + d.zone. 60 DNAME more.; ", NULL },
	{ "+ below 60 DNAME more.\n", FINE, SAME, NULL },
	{ "+ ent 60 DNAME more.\n", FINE, SAME, NULL },
	{ "+ sub 60 DNAME more.\n", FINE, SAME, NULL },
	{ "+ @ 60 DNAME more.\n", FINE, SAME, NULL },
	{ "+ c 60 DNAME more.\n", FINE, SAME, NULL },
	{ "+ x.d 60 DNAME more.\n", FINE, SAME, NULL },
	{ "+ ns 60 DNAME more.\n", FINE, "- + ns.zone. 60 DNAME more.; ", NULL },
	{ "- x.below\n+ below 60 DNAME more.\n", FINE, "- x.below.zone. 60 A 192.0.2.4; + below.zone. 60 DNAME more.; ",
			NULL },
	{ "+ a.b.ns 60 A 192.0.2.7\n+ ns 60 DNAME more.\n", FINE, "- + a.b.ns.zone. 60 A 192.0.2.7; ", NULL },
	{ "+ ns 60 DNAME more.\n+ a.b.ns 60 A 192.0.2.7\n", FINE, "- + ns.zone. 60 DNAME more.; ", NULL },

	/* Beside CNAME, below DNAME */
	{ "+ c 60 A 192.0.2.7\n", FINE, SAME, NULL },
	{ "+ c 60 RRSIG A 8 2 60 20300101000000 20200101000000 1 zone. AAAA\n", FINE, SAME, NULL },
	{ "+ c 60 NSEC a A\n", FINE, SAME, NULL },
	{ "+ x.d 60 A 192.0.2.7\n", FINE, SAME, NULL },
	{ "+ y.x.d 60 A 192.0.2.7\n", FINE, SAME, NULL },
	{ "- d DNAME\n+ y.x.d 60 A 192.0.2.7\n", FINE, "- d.zone. 60 DNAME other.; + y.x.d.zone. 60 A 192.0.2.7; ",
			NULL },

	/* SOA */
	{ "+ @ 60 SOA ns admin 5 1 2 3 4\n", FINE, SAME, NULL },
	{ "+ @ 99 SOA ns admin 5 1 2 3 4\n", FINE, SAME, NULL },
	{ "+ @ 60 SOA ns admin 4 1 2 3 4\n", FINE, SAME, NULL },
	{ "+ @ 60 SOA ns admin 2147483653 1 2 3 4\n", FINE, SAME, NULL },
	{ "+ @ 99 SOA ns2 admin 8 1 2 3 4\n", FINE,
			"- zone. 60 SOA ns.zone. admin.zone. 5 1 2 3 4; + zone. 99 SOA ns2.zone. admin.zone. 8 1 2 3 "
			"4; ",
			NULL },
	{ "+ @ 60 SOA ns admin 8 1 2 3 4\n+ @ 60 SOA ns admin 7 1 2 3 4\n", FINE,
			"- zone. 60 SOA ns.zone. admin.zone. 5 1 2 3 4; + zone. 60 SOA ns.zone. admin.zone. 7 1 2 3 "
			"4; ",
			NULL },
	{ "+ ns 60 SOA ns admin 8 1 2 3 4\n", FINE, SAME, NULL },
	{ "- @ SOA\n", FINE, SAME, NULL },
	{ "x @ SOA ns admin 5 1 2 3 4\n", FINE, SAME, NULL },

	/* NSEC3PARAM */
	{ "+ @ 0 NSEC3PARAM 1 0 0 -\n", FINE, "- + zone. 0 NSEC3PARAM 1 0 0 -; ", NULL },
	{ "+ @ 0 NSEC3PARAM 1 0 0 -\n+ @ 0 NSEC3PARAM 1 0 1 -\n", FINE, SAME, NULL },

	/* Deleting */
	{ "- ns A\n", FINE, "- ns.zone. 60 A 192.0.2.1; + ", NULL },
	{ "- ns AAAA\n", FINE, SAME, NULL },
	{ "- no A\n", FINE, SAME, NULL },
	{ "- no\n", FINE, SAME, NULL },
	{ "- ent\n", FINE, SAME, NULL },
	{ "x ns A 192.0.2.9\n", FINE, SAME, NULL },
	{ "x no A 192.0.2.9\n", FINE, SAME, NULL },
	{ "x mail MX 10 NS\n", FINE, "- mail.zone. 60 MX 10 ns.zone.; + ", NULL },
	{ "- MAIL\n", FINE,
			"- mail.zone. 60 MX 10 ns.zone.; mail.zone. 60 MX 20 ns2.zone.; mail.zone. 60 TXT \"m\"; + ",
			NULL },
	{ "- sub NS\n", FINE, "- sub.zone. 60 NS ns.sub.zone.; + ", NULL },

	/* The apex */
	{ "- @ NS\n", FINE, SAME, NULL },
	{ "x @ NS ns\n", FINE, "- zone. 60 NS ns.zone.; + ", NULL },
	{ "x @ NS ns\nx @ NS ns2\n", FINE, "- zone. 60 NS ns.zone.; + ", NULL },
	{ "x @ NS ns\nx @ NS ns2\n+ @ 60 NS ns\nx @ NS ns2\n", FINE, "- zone. 60 NS ns2.zone.; + ", NULL },
	{ "x @ NS ns9\n", FINE, SAME, NULL },
	{ "- @\n", FINE, "- zone. 60 TXT \"apex\"; + ", NULL },
	{ "+ @ 60 A 192.0.2.1\n+ @ 60 CAA 0 issue x\n- @\n", FINE, "- zone. 60 TXT \"apex\"; + ", NULL },
	{ "- @ TXT\n", FINE, "- zone. 60 TXT \"apex\"; + ", NULL },
};

static void test_updates(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		world_t world;
		begin(&world, base);
		check_result(rows[i].lines, apply(&world, rows[i].lines), rows[i].rcode, rows[i].what, rows[i].err);
		check_said(&world, rows[i].lines, rows[i].said);
		check_diff(&world, rows[i].lines, rows[i].diff);
		end(&world);
	}
}

/* A zone that has a NSEC3PARAM keeps it, but with all of the apex. */
static void test_chained(void **state)
{
	(void)state;
	static const char warning[] = "W- DDNS, refusing to add second NSEC3PARAM to zone apex; ";
	static const row_t chained_rows[] = {
		{ "+ @ 0 NSEC3PARAM 1 0 1 -\n", KNOT_RCODE_REFUSED, FORMAT, KNOT_EDENIED, SAME, warning },
		{ "+ @ 0 NSEC3PARAM 1 0 0 -\n", KNOT_RCODE_REFUSED, FORMAT, KNOT_EDENIED, SAME, warning },
		{ "- @ NSEC3PARAM\n", KNOT_RCODE_REFUSED, FORMAT, KNOT_EDENIED, SAME, warning },
		{ "x @ NSEC3PARAM 1 0 0 -\n", KNOT_RCODE_REFUSED, FORMAT, KNOT_EDENIED, SAME, warning },
		{ "- @\n", FINE, "- zone. 60 TXT \"apex\"; zone. 0 NSEC3PARAM 1 0 0 -; + ", NULL },
	};
	for (size_t i = 0; i < KNOT_LEN(chained_rows); i++) {
		const row_t *row = &chained_rows[i];
		world_t world;
		begin(&world, chained);
		check_result(row->lines, apply(&world, row->lines), row->rcode, row->what, row->err);
		check_said(&world, row->lines, row->said);
		check_diff(&world, row->lines, row->diff);
		end(&world);
	}
}

/* Messages of one transaction see each other; one that is refused leaves the others as they are. */
static void test_batch(void **state)
{
	(void)state;
	static const struct {
		const char *lines;
		uint16_t rcode;
		const char *diff; /* since the beginning */
	} steps[] = {
		{ "! a\n+ a 60 A 192.0.2.7\n", KNOT_RCODE_NOERROR, "- + a.zone. 60 A 192.0.2.7; " },
		{ "! a\n+ b 60 A 192.0.2.7\n", KNOT_RCODE_YXDOMAIN, "- + a.zone. 60 A 192.0.2.7; " },
		{ "? a\n- a\n+ other. 60 A 192.0.2.7\n", KNOT_RCODE_NOTZONE, "- + a.zone. 60 A 192.0.2.7; " },
		{ "= a A 192.0.2.7\n- a\n+ b 60 A 192.0.2.7\n", KNOT_RCODE_NOERROR, "- + b.zone. 60 A 192.0.2.7; " },
		{ "= a A 192.0.2.7\n- b\n", KNOT_RCODE_NXRRSET, "- + b.zone. 60 A 192.0.2.7; " },
		{ "+ @ 60 SOA ns admin 9 1 2 3 4\n", KNOT_RCODE_NOERROR,
				"- zone. 60 SOA ns.zone. admin.zone. 5 1 2 3 4; + zone. 60 SOA ns.zone. admin.zone. 9 "
				"1 2 "
				"3 4; b.zone. 60 A 192.0.2.7; " },
		/* Newer than the version that is served, though older than the one before it here. */
		{ "+ @ 60 SOA ns admin 6 1 2 3 4\n", KNOT_RCODE_NOERROR,
				"- zone. 60 SOA ns.zone. admin.zone. 5 1 2 3 4; + zone. 60 SOA ns.zone. admin.zone. 6 "
				"1 2 "
				"3 4; b.zone. 60 A 192.0.2.7; " },
	};
	world_t world;
	begin(&world, base);
	for (size_t i = 0; i < KNOT_LEN(steps); i++) {
		ddns_result_t result = apply(&world, steps[i].lines);
		if (result.rcode != steps[i].rcode) {
			fail_msg("%srcode %u", steps[i].lines, result.rcode);
		}
		check_diff(&world, steps[i].lines, steps[i].diff);
	}
	end(&world);
}

/* A zone without a version gets one by an update that brings a SOA. */
static void test_first(void **state)
{
	(void)state;
	world_t world;
	begin(&world, NULL);
	assert_int_equal(apply(&world, "? @\n+ a 60 A 192.0.2.7\n").rcode, KNOT_RCODE_NXDOMAIN);
	assert_int_equal(apply(&world, "! @\n+ @ 60 NS ns\n").rcode, KNOT_RCODE_NOERROR);
	assert_int_equal(apply(&world, "+ @ 60 SOA ns admin 9 1 2 3 4\n").rcode, KNOT_RCODE_NOERROR);
	assert_int_equal(apply(&world, "+ @ 60 SOA ns admin 3 1 2 3 4\n").rcode, KNOT_RCODE_NOERROR);
	check_diff(&world, "", "- + zone. 60 NS ns.zone.; zone. 60 SOA ns.zone. admin.zone. 3 1 2 3 4; ");
	end(&world);
}

/* Every message that is cut short, or longer than it says, is malformed and changes nothing. */
static void test_cut(void **state)
{
	(void)state;
	world_t world;
	begin(&world, base);
	message_t *message = make_message("? ns\n= mail TXT m\n+ a 60 A 192.0.2.7\nx mail MX 10 ns\n- ns\n");
	for (size_t len = 0; len <= message->len + 1; len++) {
		if (len == message->len) {
			continue;
		}
		uint8_t *exact = calloc(1, len + 1);
		assert_non_null(exact);
		memcpy(exact, message->bytes, len < message->len ? len : message->len);
		ddns_result_t result = ddns_apply(world.ddns, (knot_bytes_t){ exact, len });
		free(exact);
		assert_int_equal(result.rcode, KNOT_RCODE_FORMERR);
		assert_int_equal(result.err, KNOT_EMALF);
	}
	check_diff(&world, "", SAME);
	assert_int_equal(ddns_apply(world.ddns, (knot_bytes_t){ message->bytes, message->len }).rcode,
			KNOT_RCODE_NOERROR);
	end(&world);
}

/* ---- What a message may cost ---- */

enum { COST_MESSAGE_MAX = 60000 };

typedef struct {
	message_t message;
	unsigned count;
	size_t deep_at; /* of a name of 120 labels; 0: there is none */
} crowd_t;

enum { FIRST_TYPE = 20000, CROWD_TYPES = 2500, CROWD_BELOW = 2000 };

/* A record of the name with this label (NULL: none) below the apex, or below the deep name. False: the message is full.
 */
static bool crowd_put(crowd_t *crowd, const char *label, bool is_deep, uint16_t type, uint16_t class, uint32_t ttl,
		const char *data)
{
	static uint8_t rdata[KNOT_RDATA_MAX];
	message_t *m = &crowd->message;
	if (m->len > COST_MESSAGE_MAX) {
		return false;
	}
	if (label != NULL) {
		m->bytes[m->len++] = (uint8_t)strlen(label);
		memcpy(m->bytes + m->len, label, strlen(label));
		m->len += strlen(label);
	}
	if (is_deep && crowd->deep_at == 0) {
		crowd->deep_at = m->len;
		for (unsigned i = 0; i < 120; i++) {
			m->bytes[m->len++] = 1;
			m->bytes[m->len++] = 'x';
		}
		put16(m, 0xC00C);
	} else {
		put16(m, 0xC000 | (is_deep ? (unsigned)crowd->deep_at : 12));
	}
	put16(m, type);
	put16(m, class);
	put16(m, ttl >> 16);
	put16(m, ttl);
	uint16_t len = 0;
	const char *reason;
	if (data != NULL) {
		assert_int_equal(knot_rdata_scan(type, knot_str_of(data), params.origin,
						 (knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len, &reason),
				KNOT_OK);
	}
	put16(m, len);
	memcpy(m->bytes + m->len, rdata, len);
	m->len += len;
	crowd->count++;
	store_be16(m->bytes + 8, (uint16_t)crowd->count);
	return true;
}

/* All that there are so far are prerequisites. */
static void crowd_count_prereqs(crowd_t *crowd)
{
	store_be16(crowd->message.bytes + 6, (uint16_t)crowd->count);
	store_be16(crowd->message.bytes + 8, 0);
}

/* One record more. False: the message is full. */
typedef bool (*crowd_cb)(crowd_t *crowd, unsigned i);

static const char *crowd_text(const char *prefix, const char *between, unsigned i)
{
	static char texts[2][32];
	static unsigned turn;
	turn ^= 1;
	snprintf(texts[turn], sizeof(texts[turn]), "%s%u%s%u", prefix, i / 250 % 250, between, i % 250);
	return texts[turn];
}

static bool crowd_names(crowd_t *crowd, unsigned i)
{
	return crowd_put(crowd, crowd_text("n", "-", i), false, KNOT_TYPE_A, KNOT_CLASS_IN, 60, "192.0.2.1");
}

static bool crowd_records(crowd_t *crowd, unsigned i)
{
	return crowd_put(crowd, "n", false, KNOT_TYPE_A, KNOT_CLASS_IN, 60, crowd_text("10.0.", ".", i));
}

static bool crowd_ttls(crowd_t *crowd, unsigned i)
{
	return crowd_put(crowd, "n", false, KNOT_TYPE_A, KNOT_CLASS_IN, i, crowd_text("10.0.", ".", i));
}

static bool crowd_coming_and_going(crowd_t *crowd, unsigned i)
{
	return i % 2000 < 1000 ? crowd_put(crowd, "n", false, KNOT_TYPE_A, KNOT_CLASS_IN, 60,
						 crowd_text("10.0.", ".", i))
			       : crowd_put(crowd, "n", false, KNOT_TYPE_A, KNOT_CLASS_NONE, 0,
						 crowd_text("10.0.", ".", i - 1000));
}

static bool crowd_apex_ns(crowd_t *crowd, unsigned i)
{
	return i < 1000 ? crowd_put(crowd, NULL, false, KNOT_TYPE_NS, KNOT_CLASS_IN, 60, crowd_text("n", "-", i))
			: crowd_put(crowd, NULL, false, KNOT_TYPE_NS, KNOT_CLASS_NONE, 0, "none");
}

static bool crowd_aliases(crowd_t *crowd, unsigned i)
{
	return i < 2000 ? crowd_records(crowd, i)
			: crowd_put(crowd, "n", false, KNOT_TYPE_CNAME, KNOT_CLASS_IN, 60, "ns");
}

static bool crowd_deep_names(crowd_t *crowd, unsigned i)
{
	return crowd_put(crowd, i == 0 ? NULL : crowd_text("", "-", i), i % 2 == 0, KNOT_TYPE_A, KNOT_CLASS_IN, 60,
			"192.0.2.1");
}

/* Names that aren't there, below one that is to get a DNAME and can't, as there is one that is. */
static bool crowd_deleted(crowd_t *crowd, unsigned i)
{
	if (i < 2) {
		return crowd_put(crowd, i == 0 ? "zz" : NULL, true, KNOT_TYPE_A, KNOT_CLASS_IN, 60, "192.0.2.1");
	}
	return i < 2000 ? crowd_put(crowd, crowd_text("", "-", i), true, KNOT_TYPE_ANY, KNOT_CLASS_ANY, 0, NULL)
			: crowd_put(crowd, NULL, true, KNOT_TYPE_DNAME, KNOT_CLASS_IN, 60, "ns");
}

/* Names below one, in two messages as one has no room for both: put, deleted, and a DNAME that comes and goes. */
static bool crowd_below(crowd_t *crowd, unsigned i)
{
	return i < CROWD_BELOW &&
	       crowd_put(crowd, crowd_text("", "-", i), true, KNOT_TYPE_A, KNOT_CLASS_IN, 60, "192.0.2.1");
}

static bool crowd_dnames(crowd_t *crowd, unsigned i)
{
	if (i < CROWD_BELOW) {
		return crowd_put(crowd, crowd_text("", "-", i), true, KNOT_TYPE_ANY, KNOT_CLASS_ANY, 0, NULL);
	}
	return i % 2 == 0 ? crowd_put(crowd, NULL, true, KNOT_TYPE_DNAME, KNOT_CLASS_IN, 60, "ns")
			  : crowd_put(crowd, NULL, true, KNOT_TYPE_DNAME, KNOT_CLASS_ANY, 0, NULL);
}

/* As many types of one name; and as prerequisites, each an RRset. */
static bool crowd_types(crowd_t *crowd, unsigned i)
{
	return i < CROWD_TYPES &&
	       crowd_put(crowd, "n", false, (uint16_t)(FIRST_TYPE + i), KNOT_CLASS_IN, 60, "\\# 1 00");
}

static bool crowd_type_prereqs(crowd_t *crowd, unsigned i)
{
	bool is_put = i < CROWD_TYPES &&
		      crowd_put(crowd, "n", false, (uint16_t)(FIRST_TYPE + i), KNOT_CLASS_IN, 0, "\\# 1 00");
	crowd_count_prereqs(crowd);
	return is_put;
}

static void crowd_fill(crowd_t *crowd, crowd_cb put_one)
{
	crowd->message = *make_message("");
	crowd->count = 0;
	crowd->deep_at = 0;
	while (put_one(crowd, crowd->count)) {}
}

/* CPU time for a message behind another one (NULL: none), nanoseconds; the best of some. */
static double crowd_time(crowd_cb put_one, crowd_cb put_before)
{
	static crowd_t crowd, before;
	double best = 0;
	crowd_fill(&crowd, put_one);
	if (put_before != NULL) {
		crowd_fill(&before, put_before);
	}
	for (unsigned run = 0; run < 3; run++) {
		update_t update;
		ddns_t *ddns;
		struct timespec from, to;
		assert_int_equal(update_begin(params.origin, UPDATE_DDNS, base, &update), KNOT_OK);
		assert_int_equal(ddns_begin(&update, NULL, NULL, &ddns), KNOT_OK);
		if (put_before != NULL) {
			const knot_bytes_t message = { before.message.bytes, before.message.len };
			assert_int_equal(ddns_apply(ddns, message).rcode, KNOT_RCODE_NOERROR);
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		ddns_result_t result = ddns_apply(ddns, (knot_bytes_t){ crowd.message.bytes, crowd.message.len });
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		assert_int_equal(result.rcode, KNOT_RCODE_NOERROR);
		ddns_end(ddns);
		update_end(&update);
		double took = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
		best = run == 0 || took < best ? took : best;
	}
	return best / crowd.count;
}

/* No record costs much more because of the others in its message: what would is quadratic. */
static void test_costs(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		crowd_cb put_one;
		unsigned max; /* times what a record of a name of its own costs */
		crowd_cb put_before;
	} crowds[] = {
		{ "records of one name", crowd_records, 3, NULL },
		{ "TTLs of one RRset", crowd_ttls, 3, NULL },
		{ "records that come and go", crowd_coming_and_going, 3, NULL },
		{ "name servers of the apex", crowd_apex_ns, 3, NULL },
		{ "aliases beside data", crowd_aliases, 3, NULL },
		{ "deep names", crowd_deep_names, 20, NULL },
		{ "a DNAME above deleted names", crowd_deleted, 20, NULL },
		{ "prerequisites of one name", crowd_type_prereqs, 2, crowd_types },
		{ "DNAMEs above names that were deleted", crowd_dnames, 20, crowd_below },
	};
	unsigned slow_count = 0;
	double plain = crowd_time(crowd_names, NULL);
	print_message("%.0f ns per record: names\n", plain);
	for (size_t i = 0; i < KNOT_LEN(crowds); i++) {
		double took = crowd_time(crowds[i].put_one, crowds[i].put_before);
		bool is_slow = took > crowds[i].max * plain;
		print_message("%.0f ns per record: %s%s\n", took, crowds[i].what, is_slow ? ": too slow" : "");
		slow_count += is_slow;
	}
	assert_int_equal(slow_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prerequisites),
		cmocka_unit_test(test_updates),
		cmocka_unit_test(test_chained),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_costs),
	};
	return cmocka_run_group_tests(tests, build_zones, free_zones);
}
