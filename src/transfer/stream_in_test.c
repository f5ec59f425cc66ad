/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/stream_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/*
 * A script of a primary's messages for the zone "z.", separated by "|", each of words:
 *
 * Sn    SOA of the zone with serial n          an    A record 192.0.2.n of the name "a.z.", any lower-case letter
 * Fn    A record outside the zone              On    SOA of another zone
 * Bn    SOA of a name below the apex           Pn    A record with a compressed owner
 * En    OPT with EXPIRE n                      Xn    OPT with n as the upper bits of the rcode
 * Rn    rcode n                                Ln    TXT of n times 250 bytes
 * Un    A record "UP.Z." in upper case         Nn    A record in the authority section
 * !x    something wrong: see flaw_rows
 */
typedef struct {
	uint8_t bytes[KNOT_MSG_MAX];
	size_t len;
	uint16_t counts[4], id, flags;
	bool has_question;
	uint8_t question_name;
	uint16_t question_type;
	int cut; /* bytes that are missing at the end, or (negative) too many */
} script_t;

enum { ID = 4711, OURS = 5 };

static void put_bytes(script_t *m, const void *bytes, size_t len)
{
	assert_true(m->len + len <= sizeof(m->bytes));
	memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

static void put_u16(script_t *m, unsigned value)
{
	put_bytes(m, (uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static void put_rr(script_t *m, unsigned section, const char *owner, size_t owner_len, unsigned type, unsigned class,
		const void *rdata, size_t len)
{
	put_bytes(m, owner, owner_len);
	put_u16(m, type);
	put_u16(m, class);
	put_u16(m, 0);
	put_u16(m, 60);
	put_u16(m, (unsigned)len);
	put_bytes(m, rdata, len);
	m->counts[section]++;
}

static void put_soa(script_t *m, const char *owner, size_t owner_len, uint32_t serial)
{
	uint8_t rdata[22] = { 0 };
	store_be32(rdata + 2, serial);
	put_rr(m, 1, owner, owner_len, KNOT_TYPE_SOA, 1, rdata, sizeof(rdata));
}

static void put_a(script_t *m, unsigned section, const char *owner, size_t owner_len, unsigned number)
{
	put_rr(m, section, owner, owner_len, KNOT_TYPE_A, 1, (uint8_t[]){ 192, 0, 2, (uint8_t)number }, 4);
}

static void put_txt(script_t *m, unsigned count)
{
	uint8_t rdata[KNOT_RDATA_MAX];
	for (unsigned i = 0; i < count; i++) {
		rdata[251 * i] = 250;
		memset(rdata + 251 * i + 1, 'x', 250);
	}
	put_rr(m, 1, "\1t\1z", 5, KNOT_TYPE_TXT, 1, rdata, 251 * count);
}

static void put_opt(script_t *m, const char *owner, size_t owner_len, uint32_t expire, bool has_expire, unsigned upper)
{
	uint8_t option[8] = { 0, KNOT_EDNS_EXPIRE, 0, 4 };
	store_be32(option + 4, expire);
	put_bytes(m, owner, owner_len);
	put_u16(m, KNOT_TYPE_OPT);
	put_u16(m, 1232);
	put_u16(m, upper << 8);
	put_u16(m, 0);
	put_u16(m, has_expire ? 8 : 0);
	put_bytes(m, option, has_expire ? 8 : 0);
	m->counts[3]++;
}

static void flaw_id(script_t *m)
{
	m->id++;
}
static void flaw_qr(script_t *m)
{
	m->flags &= (uint16_t)~KNOT_FLAG_QR;
}
static void flaw_tc(script_t *m)
{
	m->flags |= KNOT_FLAG_TC;
}
static void flaw_opcode(script_t *m)
{
	m->flags |= 0x2000;
}
static void flaw_name(script_t *m)
{
	m->question_name = 'y';
}
static void flaw_type(script_t *m)
{
	m->question_type = KNOT_TYPE_A;
}
static void flaw_axfr(script_t *m)
{
	m->question_type = KNOT_TYPE_AXFR;
}
static void flaw_silent(script_t *m)
{
	m->has_question = false;
}
static void flaw_cut(script_t *m)
{
	m->cut = 1;
}
static void flaw_trail(script_t *m)
{
	m->cut = -1;
}
static void flaw_header(script_t *m)
{
	m->cut = 1 << 20;
}
static void flaw_count(script_t *m)
{
	m->counts[1]++;
}
static void flaw_questions(script_t *m)
{
	m->counts[0]++;
}
static void flaw_class(script_t *m)
{
	put_rr(m, 1, "\1a\1z", 5, KNOT_TYPE_A, 3, "abcd", 4);
}
static void flaw_any(script_t *m)
{
	put_rr(m, 1, "\1a\1z", 5, KNOT_TYPE_ANY, 1, "", 0);
}
static void flaw_opt(script_t *m)
{
	put_rr(m, 1, "\0", 1, KNOT_TYPE_OPT, 1, "", 0);
}
static void flaw_rdata(script_t *m)
{
	put_rr(m, 1, "\1a\1z", 5, KNOT_TYPE_A, 1, "abc", 3);
}
static void flaw_soa(script_t *m)
{
	put_rr(m, 1, "\1z", 3, KNOT_TYPE_SOA, 1, "\0\0abc", 5);
}
static void flaw_label(script_t *m)
{
	put_rr(m, 1, "\x7f", 1, KNOT_TYPE_A, 1, "abcd", 4);
}
static void flaw_twice(script_t *m)
{
	put_opt(m, "", 1, 9, true, 0), put_opt(m, "", 1, 9, true, 0);
}
static void flaw_owner(script_t *m)
{
	put_opt(m, "\1z", 3, 9, true, 0);
}

static void flaw_option(script_t *m)
{
	put_opt(m, "", 1, 9, true, 0);
	m->bytes[m->len - 5] = 5;
}

/* The owner points to itself. */
static void flaw_loop(script_t *m)
{
	uint8_t pointer[2];
	store_be16(pointer, (uint16_t)(0xC000 | m->len));
	put_rr(m, 1, (char *)pointer, 2, KNOT_TYPE_A, 1, "abcd", 4);
}

/* The owner points to its own beginning behind a label. */
static void flaw_loop2(script_t *m)
{
	uint8_t owner[4] = { 1, 'a' };
	store_be16(owner + 2, (uint16_t)(0xC000 | m->len));
	put_rr(m, 1, (char *)owner, 4, KNOT_TYPE_A, 1, "abcd", 4);
}

static void flaw_forward(script_t *m)
{
	uint8_t pointer[2];
	store_be16(pointer, (uint16_t)(0xC000 | (m->len + 20)));
	put_rr(m, 1, (char *)pointer, 2, KNOT_TYPE_A, 1, "abcd", 4);
}

/* A name in RDATA that points to itself. */
static void flaw_target(script_t *m)
{
	uint8_t rdata[2];
	store_be16(rdata, (uint16_t)(0xC000 | (m->len + 15)));
	put_rr(m, 1, "\1a\1z", 5, KNOT_TYPE_NS, 1, rdata, 2);
}

/* An SRV's target must not be compressed, RFC 3597 4; what is read must fit nevertheless. */
static void flaw_past(script_t *m)
{
	put_rr(m, 1, "\1a\1z", 5, KNOT_TYPE_A, 1, "abcd", 4);
	store_be16(m->bytes + m->len - 6, 0xffff);
}

static const struct {
	const char *name;
	void (*apply)(script_t *m);
} flaw_rows[] = {
	{ "id", flaw_id },
	{ "qr", flaw_qr },
	{ "tc", flaw_tc },
	{ "opcode", flaw_opcode },
	{ "name", flaw_name },
	{ "type", flaw_type },
	{ "axfr", flaw_axfr },
	{ "silent", flaw_silent },
	{ "cut", flaw_cut },
	{ "trail", flaw_trail },
	{ "header", flaw_header },
	{ "count", flaw_count },
	{ "questions", flaw_questions },
	{ "class", flaw_class },
	{ "any", flaw_any },
	{ "opt", flaw_opt },
	{ "rdata", flaw_rdata },
	{ "soa", flaw_soa },
	{ "label", flaw_label },
	{ "twice", flaw_twice },
	{ "owner", flaw_owner },
	{ "option", flaw_option },
	{ "loop", flaw_loop },
	{ "loop2", flaw_loop2 },
	{ "forward", flaw_forward },
	{ "target", flaw_target },
	{ "past", flaw_past },
};

static void apply_flaw(script_t *m, const char *name)
{
	for (size_t i = 0; i < KNOT_LEN(flaw_rows); i++) {
		if (strcmp(flaw_rows[i].name, name) == 0) {
			flaw_rows[i].apply(m);
			return;
		}
	}
	fail_msg("no flaw %s", name);
}

static void put_word(script_t *m, const char *word)
{
	uint32_t number = (uint32_t)strtoul(word + 1, NULL, 10);
	switch (word[0]) {
	case 'S': put_soa(m, "\1z", 3, number); break;
	case 'O': put_soa(m, "\1y", 3, number); break;
	case 'B': put_soa(m, "\1b\1z", 5, number); break;
	case 'F': put_a(m, 1, "\1a\1y", 5, number); break;
	case 'P': put_a(m, 1, "\1p\xC0\x0C", 4, number); break;
	case 'U': put_a(m, 1, "\2UP\1Z", 6, number); break;
	case 'N': put_a(m, 2, "\1a\1z", 5, number); break;
	case 'E': put_opt(m, "", 1, number, true, 0); break;
	case 'X': put_opt(m, "", 1, 0, false, number); break;
	case 'L': put_txt(m, number); break;
	case 'R': m->flags |= (uint16_t)number; break;
	case '!': apply_flaw(m, word + 1); break;
	default: put_a(m, 1, (char[]){ 1, word[0], 1, 'z', 0 }, 5, number);
	}
}

/* Flags first: the question stands before the records. */
static void write_message(script_t *m, char *words, uint16_t type)
{
	static const char *const early[] = { "!name", "!type", "!axfr", "!silent" };
	*m = (script_t){ .id = ID, .flags = KNOT_FLAG_QR | KNOT_FLAG_AA, .has_question = true, .question_name = 'z' };
	m->question_type = type;
	for (size_t i = 0; i < KNOT_LEN(early); i++) {
		if (strstr(words, early[i]) != NULL) {
			apply_flaw(m, early[i] + 1);
		}
	}
	m->len = KNOT_MSG_HEADER_LEN;
	if (m->has_question) {
		put_bytes(m, (uint8_t[]){ 1, m->question_name, 0 }, 3);
		put_u16(m, m->question_type);
		put_u16(m, KNOT_CLASS_IN);
		m->counts[0] = 1;
	}
	char *save;
	for (char *word = strtok_r(words, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		put_word(m, word);
	}
	store_be16(m->bytes, m->id);
	store_be16(m->bytes + 2, m->flags);
	for (unsigned i = 0; i < 4; i++) {
		store_be16(m->bytes + 4 + 2 * i, m->counts[i]);
	}
	m->len = m->cut > (int)m->len ? 11 : m->len - (size_t)m->cut;
}

/* ---- The sink: spells what it gets ---- */

typedef struct {
	char text[4096];
	size_t len;
	unsigned fail_at; /* the call that fails; 0: none */
	unsigned calls;
} spell_t;

__attribute__((format(printf, 2, 3))) static knot_err_t spell(spell_t *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (s->len < sizeof(s->text) - 100) {
		s->len += (size_t)vsnprintf(s->text + s->len, 100, format, args);
	}
	va_end(args);
	return ++s->calls == s->fail_at ? KNOT_ENORECORD : KNOT_OK;
}

static knot_err_t on_begin(stream_in_kind_t kind, uint32_t serial, void *ctx)
{
	return spell(ctx, "%s%u", kind == STREAM_IN_AXFR ? "axfr" : "ixfr", serial);
}

static knot_err_t on_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	char sign = is_added ? '+' : '-';
	if (rr->type == KNOT_TYPE_SOA) {
		return spell(ctx, " %cS%u", sign, knot_soa_serial(rr->rdata));
	}
	return spell(ctx, " %c%.*s%u", sign, rr->owner.wire[0], (const char *)rr->owner.wire + 1,
			rr->type == KNOT_TYPE_A ? rr->rdata.data[3] : (unsigned)rr->rdata.len);
}

static knot_err_t on_changeset(uint32_t from, uint32_t to, void *ctx)
{
	return spell(ctx, " (%u-%u)", from, to);
}

static void on_foreign(knot_name_t owner, void *ctx)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(owner, text);
	(void)spell(ctx, " foreign:%s", text);
}

static uint8_t scratch[KNOT_RDATA_MAX];
static const uint8_t zone_wire[] = { 1, 'z', 0 };

typedef struct {
	stream_in_t stream;
	spell_t spelled;
} run_t;

static void begin(run_t *run, uint16_t type, uint64_t size_max, bool is_one_by_one)
{
	const stream_in_query_t query = {
		.zone = { zone_wire, 3, 1 },
		.id = ID,
		.type = type,
		.serial = OURS,
		.size_max = size_max,
		.is_one_by_one = is_one_by_one,
	};
	run->spelled.len = run->spelled.calls = 0;
	run->spelled.text[0] = '\0';
	const stream_in_sink_t sink = { on_begin, on_record, on_changeset, on_foreign, &run->spelled };
	stream_in_begin(&run->stream, &query, &sink);
}

static void feed(run_t *run, const char *words)
{
	static script_t message;
	char *copy = strdup(words), *rest = copy;
	for (char *part = strsep(&rest, "|"); part != NULL; part = strsep(&rest, "|")) {
		assert_int_equal(run->stream.state, STREAM_IN_MORE);
		write_message(&message, part, run->stream.query.type);
		stream_in_read(&run->stream, (knot_bytes_t){ message.bytes, message.len }, scratch);
	}
	free(copy);
}

static const char *state_text(const stream_in_t *stream, char text[static STREAM_IN_TEXT_MAX])
{
	static const char *const names[] = { "more", "done", "up-to-date" };
	if (stream->state != STREAM_IN_FAILED) {
		return names[stream->state];
	}
	stream_in_print(stream, text);
	return text;
}

typedef struct {
	const char *what, *script, *sink, *state;
} row_t;

static const char malformed[] = "failed (malformed data)";
static const char bad_soa[] = "malformed response SOA";

static const row_t axfr_rows[] = {
	{ "one message", "S7 a1 b2 S7", "axfr7 +S7 +a1 +b2", "done" },
	{ "many messages", "S7|a1|b2|S7", "axfr7 +S7 +a1 +b2", "done" },
	{ "no question after the first", "S7|a1 !silent|S7 !silent", "axfr7 +S7 +a1", "done" },
	{ "no question at all", "S7 a1 S7 !silent", "axfr7 +S7 +a1", "done" },
	{ "the end is the second SOA", "S7 a1 S9", "axfr7 +S7 +a1", "done" },
	{ "what follows the end is ignored", "S7 a1 S7 b2 !class !any", "axfr7 +S7 +a1", "done" },
	{ "a zone without an end", "S7 a1|b2", "axfr7 +S7 +a1 +b2", "more" },
	{ "a lower serial than ours", "S1 a1 S1", "axfr1 +S1 +a1", "done" },
	{ "compression and case", "S7 P1 U2 S7", "axfr7 +S7 +p1 +up2", "done" },
	{ "foreign records", "S7 F1 a1 F2 S7", "axfr7 +S7 foreign:a.y. +a1 foreign:a.y.", "done" },
	{ "the SOA of another zone isn't the end", "S7 a1 O7", "axfr7 +S7 +a1 foreign:y.", "more" },
	{ "a SOA below the apex", "S7 a1 B7", "axfr7 +S7 +a1", malformed },
	{ "other sections are ignored", "S7 a1 S7 N5 E100", "axfr7 +S7 +a1", "done" },
	{ "an empty message between", "S7||a1 S7", "axfr7 +S7 +a1", "done" },
	{ "changesets aren't asked for", "S7 S5 a1 S7", "axfr7 +S7", "done" },
	{ "nothing", "", "", bad_soa },
	{ "no SOA first", "a1 S7 S7", "", bad_soa },
	{ "the SOA of another zone first", "O7 a1 O7", "", bad_soa },
	{ "a SOA below the apex first", "B7 a1 B7", "", bad_soa },
	{ "a foreign record first", "F1 S7 S7", "", bad_soa },
	{ "refused", "R5", "", "server responded with error 'REFUSED'" },
	{ "an rcode without a name", "R12", "", "server responded with error '12'" },
	{ "refused, with records", "S7 a1 S7 R9", "", "server responded with error 'NOTAUTH'" },
	{ "an error in the middle", "S7 a1|R2", "axfr7 +S7 +a1", "server responded with error 'SERVFAIL'" },
	{ "an extended rcode", "X1", "", "server responded with error 'BADVERS'" },
	{ "an extended rcode behind a whole zone", "S7 a1 S7 X1", "axfr7 +S7 +a1",
			"server responded with error 'BADVERS'" },
	{ "expired", "S7 a1 S7 E1", "axfr7 +S7 +a1", "remote is expired, ignoring" },
	{ "expired in 2 s", "S7 a1 S7 E2", "axfr7 +S7 +a1", "done" },
	/* What no primary that means well does. */
	{ "another id", "S7 a1 S7 !id", "", malformed },
	{ "another id later", "S7|a1 S7 !id", "axfr7 +S7", malformed },
	{ "a query", "S7 a1 S7 !qr", "", malformed },
	{ "truncated", "S7 a1 S7 !tc", "", "failed (not enough data to parse)" },
	{ "truncated later", "S7|a1 S7 !tc", "axfr7 +S7", "failed (not enough data to parse)" },
	{ "another opcode", "S7 a1 S7 !opcode", "", malformed },
	{ "a question about another zone", "S7 a1 S7 !name", "", malformed },
	{ "the zone changes later", "S7|a1 S7 !name", "axfr7 +S7", malformed },
	{ "a question of another type", "S7 a1 S7 !type", "", malformed },
	{ "two questions", "S7 a1 S7 !questions", "", malformed },
	{ "shorter than a header", "S7 a1 S7 !header", "", malformed },
	{ "cut in the last record", "S7 a1 !cut", "axfr7 +S7", malformed },
	{ "cut behind the end", "S7 S7 a1 !cut", "axfr7 +S7", malformed },
	{ "more bytes than records", "S7 a1 S7 !trail", "axfr7 +S7 +a1", malformed },
	{ "more records than bytes", "S7 a1 !count", "axfr7 +S7 +a1", malformed },
	{ "another class", "S7 !class S7", "axfr7 +S7", malformed },
	{ "a type of queries", "S7 !any S7", "axfr7 +S7", malformed },
	{ "OPT in the answer", "S7 !opt S7", "axfr7 +S7", malformed },
	{ "RDATA too short", "S7 !rdata S7", "axfr7 +S7", malformed },
	{ "a SOA too short", "!soa S7", "", malformed },
	{ "a SOA too short as the end", "S7 a1 !soa", "axfr7 +S7 +a1", malformed },
	{ "a label of 127 bytes", "S7 !label S7", "axfr7 +S7", malformed },
	{ "an owner that points to itself", "S7 !loop S7", "axfr7 +S7", malformed },
	{ "an owner that is its own suffix", "S7 !loop2 S7", "axfr7 +S7", malformed },
	{ "an owner that points forward", "S7 !forward S7", "axfr7 +S7", malformed },
	{ "a target that points to itself", "S7 !target S7", "axfr7 +S7", malformed },
	{ "RDATA past the end", "S7 !past", "axfr7 +S7", malformed },
	{ "two OPT", "S7 a1 S7 !twice", "axfr7 +S7 +a1", malformed },
	{ "OPT with an owner", "S7 a1 S7 !owner", "axfr7 +S7 +a1", malformed },
	{ "an option past the end of OPT", "S7 a1 S7 !option", "axfr7 +S7 +a1", malformed },
};

static const row_t ixfr_rows[] = {
	{ "one changeset", "S7 S5 a1 S7 b2 S7", "ixfr7 -S5 -a1 +S7 +b2 (5-7)", "done" },
	{ "two changesets", "S7 S5 a1 S6 b2 S6 b2 S7 c3 S7", "ixfr7 -S5 -a1 +S6 +b2 (5-6) -S6 -b2 +S7 +c3 (6-7)",
			"done" },
	{ "a message for each record", "S7|S5|a1|S7|b2|S7", "ixfr7 -S5 -a1 +S7 +b2 (5-7)", "done" },
	{ "only the serial", "S7 S5 S7 S7", "ixfr7 -S5 +S7 (5-7)", "done" },
	{ "another serial than ours", "S7 S3 a1 S7 S7", "ixfr7 -S3 -a1 +S7 (3-7)", "done" },
	{ "foreign records, silently", "S7 S5 F1 a1 S7 F2 b2 S7", "ixfr7 -S5 -a1 +S7 +b2 (5-7)", "done" },
	{ "the SOA of another zone isn't the end", "S7 S5 S7 b2 O7", "ixfr7 -S5 +S7 +b2", "more" },
	{ "up to date", "S5", "", "up-to-date" },
	{ "older", "S4", "", "up-to-date" },
	{ "older beyond the turn of the serial", "S4294967295", "", "up-to-date" },
	{ "as far as can be", "S2147483653", "", "more" },
	{ "newer, and nothing else yet", "S7", "", "more" },
	{ "newer, then a changeset", "S7|S5 a1 S7|S7", "ixfr7 -S5 -a1 +S7 (5-7)", "done" },
	{ "newer, then a whole zone", "S7|a1|S7", "axfr7 +S7 +a1", "done" },
	{ "newer, then the same SOA", "S7|S7", "axfr7 +S7", "done" },
	{ "newer, then foreign", "S7|F1 a1 S7", "axfr7 +S7 foreign:a.y. +a1", "done" },
	{ "a whole zone", "S7 a1 b2 S7", "axfr7 +S7 +a1 +b2", "done" },
	{ "a whole zone with the question of AXFR", "S7 a1 S7 !axfr", "axfr7 +S7 +a1", "done" },
	{ "a whole zone of a SOA", "S7 S7", "axfr7 +S7", "done" },
	{ "a whole zone, then cut", "S7 a1|!header", "axfr7 +S7 +a1", malformed },
	{ "two equal SOAs and more", "S7 S7 a1", "", malformed },
	{ "nothing", "", "", "not supported by remote" },
	{ "a single record", "a1", "", bad_soa },
	{ "not implemented", "R4", "", "server responded with error 'NOTIMPL'" },
	{ "steps that don't lead on", "S9 S5 a1 S6 S7 b1 S9 S9", "ixfr9 -S5 -a1 +S6 (5-6)", malformed },
	{ "steps that lead elsewhere", "S9 S5 a1 S6 b1 S9", "ixfr9 -S5 -a1 +S6 +b1 (5-6)", malformed },
	{ "steps that go back", "S9 S5 S6 S5 S6 S6", "ixfr9 -S5 +S6 (5-6)", malformed },
	{ "another serial at the end", "S7 S5 S7 a1 S8", "ixfr7 -S5 +S7 +a1 (5-7)", malformed },
	{ "a SOA below the apex in a changeset", "S7 S5 B5 S7 S7", "ixfr7 -S5", malformed },
	{ "another id in the middle", "S7 S5 a1|S7 S7 !id", "ixfr7 -S5 -a1", malformed },
	{ "an error in the middle", "S7 S5 a1|R5", "ixfr7 -S5 -a1", "server responded with error 'REFUSED'" },
	{ "expired", "S7 S5 S7 S7 E0", "ixfr7 -S5 +S7 (5-7)", "remote is expired, ignoring" },
	{ "expired and up to date", "S5 E0", "", "remote is expired, ignoring" },
	{ "a cut changeset", "S7 S5 a1 S7 !cut", "ixfr7 -S5 -a1", malformed },
};

static void check_rows(const row_t *rows, size_t count, uint16_t type)
{
	for (size_t i = 0; i < count; i++) {
		static run_t run;
		char text[STREAM_IN_TEXT_MAX];
		begin(&run, type, 0, false);
		feed(&run, rows[i].script);
		const char *state = state_text(&run.stream, text);
		if (strcmp(state, rows[i].state) != 0 || strcmp(run.spelled.text, rows[i].sink) != 0) {
			fail_msg("%s: '%s' and %s, not '%s' and %s", rows[i].what, run.spelled.text, state,
					rows[i].sink, rows[i].state);
		}
	}
}

static void test_axfr(void **state)
{
	(void)state;
	check_rows(axfr_rows, KNOT_LEN(axfr_rows), KNOT_TYPE_AXFR);
}

static void test_ixfr(void **state)
{
	(void)state;
	check_rows(ixfr_rows, KNOT_LEN(ixfr_rows), KNOT_TYPE_IXFR);
}

static void test_one_by_one(void **state)
{
	(void)state;
	static run_t run;
	begin(&run, KNOT_TYPE_IXFR, 0, true);
	feed(&run, "S9 S5 a1 S6 S6 b1 S9 S9");
	assert_int_equal(run.stream.state, STREAM_IN_DONE);
	assert_string_equal(run.spelled.text, "ixfr9 -S5 -a1 +S6 (5-6)");
	assert_int_equal(run.stream.serial, 9);
	assert_int_equal(run.stream.serial_reached, 6);
	begin(&run, KNOT_TYPE_IXFR, 0, true);
	feed(&run, "S9 S5 a1 S9 S9");
	assert_int_equal(run.stream.state, STREAM_IN_DONE);
	assert_int_equal(run.stream.serial_reached, 9);
}

static void test_facts(void **state)
{
	(void)state;
	static run_t run;
	begin(&run, KNOT_TYPE_AXFR, 0, false);
	feed(&run, "S7 F1|a1 S8 E77");
	assert_int_equal(run.stream.state, STREAM_IN_DONE);
	assert_int_equal(run.stream.kind, STREAM_IN_AXFR);
	assert_int_equal(run.stream.serial, 7);
	assert_int_equal(run.stream.serial_reached, 7);
	assert_int_equal(run.stream.message_count, 2);
	assert_int_equal(run.stream.foreign_count, 1);
	assert_true(run.stream.has_expire);
	assert_int_equal(run.stream.expire_s, 77);
	const uint64_t header = 12 + 7, soa = 3 + 10 + 22, a = 5 + 10 + 4, opt = 11 + 8;
	assert_int_equal(run.stream.byte_count, 2 * header + 2 * soa + 2 * a + opt);
	assert_int_equal(run.stream.record_bytes, 2 * soa + 2 * a);
}

/* Exactly the limit passes, one byte more doesn't. */
static void test_size(void **state)
{
	(void)state;
	const struct {
		uint16_t type;
		const char *script;
		uint64_t size;
		const char *text;
	} rows[] = {
		{ KNOT_TYPE_AXFR, "S7 a1|S7", 2 * 35 + 19, "zone size exceeded" },
		{ KNOT_TYPE_AXFR, "S7 F1 S7", 2 * 35 + 19, "zone size exceeded" },
		{ KNOT_TYPE_IXFR, "S7 a1|S7", 2 * 35 + 19, "zone size exceeded" },
		{ KNOT_TYPE_IXFR, "S7 S5 a1 b1 S7 S7", (4 * 35 + 2 * 19) / 2, "transfer size exceeded" },
		{ KNOT_TYPE_AXFR, "S7 L250 L250|S7", 2 * 35 + 2 * (15 + 62750), "zone size exceeded" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		static run_t run;
		char text[STREAM_IN_TEXT_MAX];
		bool is_large = strstr(rows[i].script, "L250 L250") != NULL; /* two don't fit a message */
		const char *script = is_large ? "S7|L250|L250|S7" : rows[i].script;
		begin(&run, rows[i].type, rows[i].size, false);
		feed(&run, script);
		assert_int_equal(run.stream.state, STREAM_IN_DONE);
		begin(&run, rows[i].type, rows[i].size - 1, false);
		char *last = strrchr(script, '|'), *first = strndup(script, last == NULL ? 0 : (size_t)(last - script));
		if (last != NULL) {
			feed(&run, first);
		}
		feed(&run, last == NULL ? script : last + 1);
		free(first);
		assert_string_equal(state_text(&run.stream, text), rows[i].text);
	}
}

/* Streams without an end come to an end: the last message again and again. */
static void test_endless(void **state)
{
	(void)state;
	const struct {
		const char *what;
		uint16_t type;
		const char *first, *again;
		unsigned most; /* messages */
	} rows[] = {
		{ "empty messages", KNOT_TYPE_AXFR, "S7", "", 1001 },
		{ "empty messages after a sole SOA", KNOT_TYPE_IXFR, "S7", "", 1001 },
		{ "empty messages in a changeset", KNOT_TYPE_IXFR, "S7 S5", "E9", 1001 },
		{ "the same record", KNOT_TYPE_AXFR, "S7", "a1 a1 a1 a1", 250001 },
		{ "foreign records", KNOT_TYPE_AXFR, "S7", "F1 F2 F3 F4", 250001 },
		{ "foreign records in a changeset", KNOT_TYPE_IXFR, "S7 S5", "F1 F2 F3 F4", 250001 },
		{ "empty changesets", KNOT_TYPE_IXFR, "S7 S5", "S6 S6 S5 S5", 500001 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		static run_t run;
		static script_t message;
		char text[STREAM_IN_TEXT_MAX], words[64];
		begin(&run, rows[i].type, 0, false);
		feed(&run, rows[i].first);
		snprintf(words, sizeof(words), "%s", rows[i].again);
		write_message(&message, words, rows[i].type);
		unsigned count = 0;
		while (run.stream.state == STREAM_IN_MORE && count++ < rows[i].most) {
			stream_in_read(&run.stream, (knot_bytes_t){ message.bytes, message.len }, scratch);
		}
		if (strcmp(state_text(&run.stream, text), "endless transfer") != 0) {
			fail_msg("%s: after %u messages %s", rows[i].what, count, state_text(&run.stream, text));
		}
	}
}

static void test_foreign_log(void **state)
{
	(void)state;
	static run_t run;
	begin(&run, KNOT_TYPE_AXFR, 0, false);
	feed(&run, "S7");
	for (unsigned i = 0; i < 3 * STREAM_IN_FOREIGN_MAX; i++) {
		feed(&run, "F1 F2");
	}
	assert_int_equal(run.stream.foreign_count, 6 * STREAM_IN_FOREIGN_MAX);
	assert_int_equal(run.spelled.calls, 2 + STREAM_IN_FOREIGN_MAX);
}

/* Each call of the sink may fail; the stream ends there with its error. */
static void test_sink_fails(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 6; i++) {
		static run_t run;
		char text[STREAM_IN_TEXT_MAX];
		run.spelled.fail_at = i;
		begin(&run, KNOT_TYPE_IXFR, 0, false);
		feed(&run, "S7 S5 a1 S7 b1 S7");
		assert_string_equal(state_text(&run.stream, text), "failed (no such record in zone found)");
		assert_int_equal(stream_in_error(&run.stream), KNOT_ENORECORD);
		assert_int_equal(run.spelled.calls, i);
		if (i <= 3) {
			begin(&run, KNOT_TYPE_AXFR, 0, false);
			feed(&run, "S7 a1 S7");
			assert_int_equal(run.stream.state, STREAM_IN_FAILED);
			assert_int_equal(run.spelled.calls, i);
		}
		run.spelled.fail_at = 0;
	}
}

/* Every prefix of a message, and every message with a byte changed, is read to some verdict. */
static void test_damage(void **state)
{
	(void)state;
	static script_t message;
	char words[] = "S7 S5 a1 P2 U3 S7 L2 b1 S7 E100";
	write_message(&message, words, KNOT_TYPE_IXFR);
	unsigned verdicts[STREAM_IN_FAILED + 1] = { 0 };
	for (size_t len = 0; len <= message.len; len++) {
		static run_t run;
		uint8_t *copy = malloc(len > 0 ? len : 1);
		memcpy(copy, message.bytes, len);
		begin(&run, KNOT_TYPE_IXFR, 0, false);
		stream_in_state_t verdict = stream_in_read(&run.stream, (knot_bytes_t){ copy, len }, scratch);
		assert_int_equal(verdict, len == message.len ? STREAM_IN_DONE : STREAM_IN_FAILED);
		free(copy);
	}
	for (size_t at = 0; at < message.len; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			static run_t run;
			message.bytes[at] ^= (uint8_t)(1 << bit);
			begin(&run, KNOT_TYPE_IXFR, 0, false);
			verdicts[stream_in_read(&run.stream, (knot_bytes_t){ message.bytes, message.len }, scratch)]++;
			message.bytes[at] ^= (uint8_t)(1 << bit);
		}
	}
	assert_true(verdicts[STREAM_IN_FAILED] > 0 && verdicts[STREAM_IN_DONE] > 0);
}

static void test_soa_answer(void **state)
{
	(void)state;
	const struct {
		const char *script;
		soa_answer_t want;
	} rows[] = {
		{ "S7", { .verdict = SOA_ANSWER_OK, .serial = 7 } },
		{ "S7 N1 E9", { .verdict = SOA_ANSWER_OK, .serial = 7, .has_expire = true, .expire_s = 9 } },
		{ "S7 !silent", { .verdict = SOA_ANSWER_OK, .serial = 7 } },
		{ "R5", { .verdict = SOA_ANSWER_RCODE, .rcode = 5 } },
		{ "S7 R2", { .verdict = SOA_ANSWER_RCODE, .rcode = 2 } },
		{ "S7 X1", { .verdict = SOA_ANSWER_RCODE, .rcode = 16 } },
		{ "", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 S7", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 a1", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "a1", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "O7", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "B7", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "!soa", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !id", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !tc", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !name", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !axfr", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !cut", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !trail", { .verdict = SOA_ANSWER_MALFORMED } },
		{ "S7 !twice", { .verdict = SOA_ANSWER_MALFORMED } },
	};
	const stream_in_query_t query = { .zone = { zone_wire, 3, 1 }, .id = ID, .type = KNOT_TYPE_SOA };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		static script_t message;
		char words[64];
		snprintf(words, sizeof(words), "%s", rows[i].script);
		write_message(&message, words, KNOT_TYPE_SOA);
		soa_answer_t got = soa_answer_read(&query, (knot_bytes_t){ message.bytes, message.len }, scratch);
		const soa_answer_t *want = &rows[i].want;
		if (got.verdict != want->verdict || got.rcode != want->rcode || got.serial != want->serial ||
				got.has_expire != want->has_expire || got.expire_s != want->expire_s) {
			fail_msg("'%s': verdict %d, serial %u", rows[i].script, got.verdict, got.serial);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_axfr),
		cmocka_unit_test(test_ixfr),
		cmocka_unit_test(test_one_by_one),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_foreign_log),
		cmocka_unit_test(test_sink_fails),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_soa_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
