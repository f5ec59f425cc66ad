/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/zonefile.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "libknot/text/rdata_text.h"

enum { OUT_MAX = 1 << 20 };

static char rdata_text[KNOT_RDATA_TEXT_MAX];

/* What a scan said, one line each: "line owner ttl type rdata" and "!line reason". */
typedef struct {
	char text[OUT_MAX];
	size_t len;
	unsigned records, faults;
	unsigned stop_after; /* records or faults, 0: never */
	bool is_quiet;       /* count only */
} said_t;

static said_t said;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	said.len += (size_t)vsnprintf(said.text + said.len, OUT_MAX - said.len, format, args);
	va_end(args);
	assert_true(said.len < OUT_MAX);
}

static bool on_record(const knot_zone_record_t *record, void *ctx)
{
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	assert_ptr_equal(ctx, &said);
	assert_int_equal(knot_rdata_check(record->type, record->rdata), KNOT_OK);
	assert_int_equal(record->rrclass, KNOT_CLASS_IN);
	knot_name_t counted = knot_name_of(record->owner.wire);
	assert_int_equal(counted.len, record->owner.len);
	assert_int_equal(counted.label_count, record->owner.label_count);
	said.records++;
	if (!said.is_quiet) {
		knot_name_print(record->owner, owner);
		knot_rrtype_print(record->type, type);
		knot_rdata_print(record->type, record->rdata, rdata_text, sizeof(rdata_text));
		say("%s%lu %s %u %s %s\n", strcmp(record->file, "t") == 0 ? "" : strrchr(record->file, '/') + 1,
				(unsigned long)record->line, owner, record->ttl, type, rdata_text);
	}
	return said.stop_after == 0 || said.records + said.faults < said.stop_after;
}

static bool on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	assert_ptr_equal(ctx, &said);
	assert_int_not_equal(fault->err, KNOT_OK);
	assert_true(strlen(fault->reason) > 0);
	said.faults++;
	if (!said.is_quiet) {
		say("%s!%lu %s\n", strcmp(fault->file, "t") == 0 ? "" : strrchr(fault->file, '/') + 1,
				(unsigned long)fault->line, fault->reason);
	}
	return said.stop_after == 0 || said.records + said.faults < said.stop_after;
}

static const uint8_t origin_wire[] = "\1z";
static const knot_zonefile_params_t params = {
	.origin = { origin_wire, 3, 1 },
	.default_ttl = 3600,
	.on_record = on_record,
	.on_fault = on_fault,
	.ctx = &said,
};

static void reset(void)
{
	said.len = 0;
	said.text[0] = '\0';
	said.records = said.faults = said.stop_after = 0;
	said.is_quiet = false;
}

static knot_err_t scan_text(const char *text, size_t len)
{
	char *copy = malloc(len + (len == 0)); /* exact size: ASan sees a read of one byte more */
	assert_non_null(copy);
	memcpy(copy, text, len);
	knot_err_t err = knot_zonefile_scan_text((knot_str_t){ copy, len }, "t", &params);
	free(copy);
	return err;
}

static const struct {
	const char *what, *text, *want;
} rows[] = {
	{ "empty file", "", "" },
	{ "an unclosed parenthesis", "a A 1.2.3.4\nb TXT ( x\n@ A 1.2.3.4\n\x01\n",
			"1 a.z. 3600 A 1.2.3.4\n!4 invalid character, near '\\001', in the parentheses opened in line "
			"2\n" },
	{ "unclosed quote", "a TXT \"x\nb TXT \"y\r\nc A 1.2.3.4\n",
			"!1 unclosed quoted string\n!2 unclosed quoted string\n3 c.z. 3600 A 1.2.3.4\n" },
	{ "characters of names", "a-_/*9Z A 1.2.3.4\n\\+\\064 A 1.2.3.4\nb\\195\\188 A 1.2.3.4\n",
			"1 a-_/*9Z.z. 3600 A 1.2.3.4\n2 \\+\\@.z. 3600 A 1.2.3.4\n3 b\\195\\188.z. 3600 A 1.2.3.4\n" },
	{ "characters that are no names'",
			"a+b A 1.2.3.4\nb\303\274cher A 1.2.3.4\na MX 1 c@d\n$ORIGIN #\n"
			"a A 1.2.3.4\nabcdefghijklmnopqrstuvwxyz, A 1.2.3.4\n\\065+ A 1.2.3.4\n",
			"!1 invalid domain name character, near 'a+b'\n"
			"!2 invalid domain name character, near 'b\\195\\188cher'\n"
			"!3 invalid domain name character in exchange, near 'c@d'\n"
			"!4 invalid domain name character, near '#'\n5 a.z. 3600 A 1.2.3.4\n"
			"!6 invalid domain name character, near 'abcdefghijklmnopqrstuvwxyz,'\n"
			"!7 invalid domain name character, near '\\065+'\n" },
	{ "$GENERATE", "$GENERATE 1-2 a$ A 1.2.3.$\nb A 1.2.3.4\n",
			"!1 invalid directive, $GENERATE isn't supported, near '$GENERATE'\n2 b.z. 3600 A 1.2.3.4\n" },
	{ "blank lines and comments", "\n  \n; x\n\t; y\n   ;z", "" },
	{ "class, TTL, type", "a IN 5 A 1.2.3.4\n", "1 a.z. 5 A 1.2.3.4\n" },
	{ "TTL, class, type", "a 5 in A 1.2.3.4\n", "1 a.z. 5 A 1.2.3.4\n" },
	{ "TTL in units", "a 1w2d3h4m5s A 1.2.3.4\n", "1 a.z. 788645 A 1.2.3.4\n" },
	{ "class by number", "a CLASS1 A 1.2.3.4\n", "1 a.z. 3600 A 1.2.3.4\n" },
	{ "type by number", "a TYPE1 1.2.3.4\nb type65280 \\# 1 00\n",
			"1 a.z. 3600 A 1.2.3.4\n2 b.z. 3600 TYPE65280 \\# 1 00\n" },
	{ "no newline at the end", "a A 1.2.3.4", "1 a.z. 3600 A 1.2.3.4\n" },
	{ "CR LF", "a A 1.2.3.4\r\nb TXT \"x\"\r\n\r\n", "1 a.z. 3600 A 1.2.3.4\n2 b.z. 3600 TXT \"x\"\n" },
	{ "CR at the end", "a A 1.2.3.4\r", "1 a.z. 3600 A 1.2.3.4\n" },
	{ "CR within a line", "a A\r1.2.3.4\nb A 1.2.3.4\n",
			"!1 carriage return without newline, near '\\013'\n2 b.z. 3600 A 1.2.3.4\n" },
	{ "owner is repeated", "a A 1.2.3.4\n  A 1.2.3.5\n\tA 1.2.3.6\n",
			"1 a.z. 3600 A 1.2.3.4\n2 a.z. 3600 A 1.2.3.5\n3 a.z. 3600 A 1.2.3.6\n" },
	{ "first owner missing", " A 1.2.3.4\n", "1 z. 3600 A 1.2.3.4\n" },
	{ "@ and the root", "@ NS .\n. NS @\n", "1 z. 3600 NS .\n2 . 3600 NS z.\n" },
	{ "escapes in owners", "\\097b\\.c\\@\\;\\000\\$ A 1.2.3.4\n\\$ORIGIN A 1.2.3.4\n",
			"1 ab\\.c\\@\\;\\000\\$.z. 3600 A 1.2.3.4\n2 \\$ORIGIN.z. 3600 A 1.2.3.4\n" },
	{ "wildcard", "*.a A 1.2.3.4\n", "1 *.a.z. 3600 A 1.2.3.4\n" },
	{ "case is kept", "A.B.Z. A 1.2.3.4\n", "1 A.B.Z. 3600 A 1.2.3.4\n" },
	{ "parentheses", "a A ( ; x\n 1.2.3.4 ; )\n\n)\nb A 1.2.3.5\n",
			"1 a.z. 3600 A 1.2.3.4\n5 b.z. 3600 A 1.2.3.5\n" },
	{ "parentheses in the header", "a ( 5 IN\n A 1.2.3.4 )\nb A 1.2.3.5\n",
			"1 a.z. 5 A 1.2.3.4\n3 b.z. 3600 A 1.2.3.5\n" },
	{ "parentheses without blanks", "a(TXT x)y(z)\n", "1 a.z. 3600 TXT \"x\" \"y\" \"z\"\n" },
	{ "parentheses first", "a A 1.2.3.4\n( A 1.2.3.5 )\n", "1 a.z. 3600 A 1.2.3.4\n2 a.z. 3600 A 1.2.3.5\n" },
	{ "lines within quotes", "a TXT ( \"x\ny\" )\nb A 1.2.3.4\n",
			"1 a.z. 3600 TXT \"x\\010y\"\n3 b.z. 3600 A 1.2.3.4\n" },
	{ "semicolon in quotes", "a TXT \"x;y\" z;w\n", "1 a.z. 3600 TXT \"x;y\" \"z\"\n" },
	{ "$TTL", "a A 1.2.3.4\n$TTL 1d ; x\nb A 1.2.3.4\nc 5 A 1.2.3.4\nd A 1.2.3.4\n$ttl 7\ne A 1.2.3.4\n",
			"1 a.z. 3600 A 1.2.3.4\n3 b.z. 86400 A 1.2.3.4\n4 c.z. 5 A 1.2.3.4\n5 d.z. 86400 A 1.2.3.4\n7 "
			"e.z. 7 A 1.2.3.4\n" },
	{ "TTL of 32 bits", "a 4294967295 A 1.2.3.4\n", "1 a.z. 4294967295 A 1.2.3.4\n" },
	{ "TTL of an RRSIG", "a 7 RRSIG A 13 1 1800 20300101000000 20200101000000 1 z. AwEA\n",
			"1 a.z. 1800 RRSIG A 13 1 1800 20300101000000 20200101000000 1 z. AwEA\n" },
	{ "$ORIGIN", "$ORIGIN b.\na A 1.2.3.4\n@ NS x\n$ORIGIN c\na A 1.2.3.4\n NS y\n",
			"2 a.b. 3600 A 1.2.3.4\n3 b. 3600 NS x.b.\n5 a.c.b. 3600 A 1.2.3.4\n6 a.c.b. 3600 NS "
			"y.c.b.\n" },
	{ "owner spelt alike, other origin", "a A 1.2.3.4\n$ORIGIN b.\na A 1.2.3.4\n",
			"1 a.z. 3600 A 1.2.3.4\n3 a.b. 3600 A 1.2.3.4\n" },
	{ "owner outlives $ORIGIN", "a A 1.2.3.4\n$ORIGIN b.\n A 1.2.3.5\n",
			"1 a.z. 3600 A 1.2.3.4\n3 a.z. 3600 A 1.2.3.5\n" },
	{ "faults keep their lines", "a A 1.2.3\n\nb A 1.2.3.4\n\nc NOSUCH x\nd A\ne A 1.2.3.4 5\n",
			"!1 invalid IPv4 address, near '1.2.3'\n3 b.z. 3600 A 1.2.3.4\n!5 unsupported "
			"record type, near 'NOSUCH'\n"
			"!6 missing data in address\n!7 unexpected data, near '5'\n" },
	{ "fault within parentheses", "a SOA ( b. c.\n1\nx\n4 5 6 )\nb A 1.2.3.4\n",
			"!3 invalid number in refresh, near 'x', in the parentheses opened in line 1\n5 b.z. 3600 A "
			"1.2.3.4\n" },
	{ "unclosed quote", "a TXT \"x\nb A 1.2.3.4\n", "!1 unclosed quoted string\n2 b.z. 3600 A 1.2.3.4\n" },
	{ "unclosed parenthesis", "a A 1.2.3.4\nb A ( 1.2.3.4\n\n\n",
			"1 a.z. 3600 A 1.2.3.4\n!2 unclosed parenthesis\n" },
	{ "closing parenthesis alone", "a A 1.2.3.4 )\nb A 1.2.3.4\n",
			"!1 too many right parentheses, near ')'\n2 b.z. 3600 A 1.2.3.4\n" },
	{ "opening parenthesis twice", "a A ((1.2.3.4))\nb A 1.2.3.4\n",
			"!1 too many left parentheses, near '('\n2 b.z. 3600 A 1.2.3.4\n" },
	{ "bad owner", "a..b A 1.2.3.4\n A 1.2.3.4\nc A 1.2.3.4\n",
			"!1 invalid domain name, empty label, near 'a..b'\n!2 previous owner is invalid, near 'A'\n3 "
			"c.z. 3600 A 1.2.3.4\n" },
	{ "quoted owner", "\"a\" A 1.2.3.4\n", "!1 invalid domain name, near 'a'\n" },
	{ "quoted type", "a \"A\" 1.2.3.4\n", "!1 unsupported record type, near 'A'\n" },
	{ "owner alone", "a\nb ; x\nc 5 IN\n",
			"!1 missing record type\n!2 missing record type\n!3 missing record type\n" },
	{ "class CH", "a CH TXT x\n", "!1 unsupported class, near 'CH'\n" },
	{ "class twice", "a IN IN A 1.2.3.4\n", "!1 unsupported record type, near 'IN'\n" },
	{ "TTL twice", "a 5 5 A 1.2.3.4\n", "!1 unsupported record type, near '5'\n" },
	{ "TTL too large", "a 4294967296 A 1.2.3.4\n", "!1 number is bigger than 32 bits, near '4294967296'\n" },
	{ "unknown directive", "$FOO x ( y\n )\na A 1.2.3.4\n",
			"!1 invalid directive, near '$FOO'\n3 a.z. 3600 A 1.2.3.4\n" },
	{ "$TTL without a value", "$TTL\na A 1.2.3.4\n", "!1 invalid zone TTL\n2 a.z. 3600 A 1.2.3.4\n" },
	{ "$TTL with two values", "$TTL 1 2\na A 1.2.3.4\n", "!1 unexpected data, near '2'\n2 a.z. 3600 A 1.2.3.4\n" },
	{ "$ORIGIN that is no name", "$ORIGIN a..b\n$ORIGIN \"b\"\n$ORIGIN\n",
			"!1 invalid domain name, empty label, near 'a..b'\n!2 invalid domain name, near 'b'\n!3 "
			"invalid origin\n" },
	{ "generic data", "a A \\# 4 01020304\na TXT \\# ( 2 01\n 61 )\na A \\# 3 010203\n",
			"1 a.z. 3600 A 1.2.3.4\n2 a.z. 3600 TXT \"a\"\n!4 invalid record data\n" },
	{ "long token is cut", "a A 1234567890123456789012345678901234567890123456789012345678901234567890\n",
			"!1 invalid IPv4 address, near "
			"'123456789012345678901234567890123456789012345678...'\n" },
	{ "control character", "a\001b A 1.2.3.4\nb A 1.2.3.4\n",
			"!1 invalid character, near '\\001'\n2 b.z. 3600 A 1.2.3.4\n" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		reset();
		knot_err_t err = scan_text(rows[i].text, strlen(rows[i].text));
		if (strcmp(said.text, rows[i].want) != 0) {
			fail_msg("%s:\n%sinstead of\n%s", rows[i].what, said.text, rows[i].want);
		}
		assert_int_equal(err, said.faults > 0 ? KNOT_EPARSEFAIL : KNOT_OK);
	}
}

/* ---- What was seen before, or is looked at sixteen bytes at a time, says the same as alone ---- */

static unsigned random_state;

static unsigned draw(unsigned limit)
{
	random_state = random_state * 1103515245u + 12345u;
	return (random_state >> 8) % limit;
}

/* One line that is a record or nearly one; no parentheses, so that each line stands for itself. */
static size_t make_line(char *line)
{
	static const char *const owners[] = { "a", "b.c", "@", "www.a-long-label-of-many-bytes.example.", "x\\.y",
		"\\097", "A", "*", "a", "a..b", "." };
	static const char *const heads[] = { " 3600 IN", " IN 3600", "\t7", " in", "", "  IN", " 1h30m\tIN",
		" CLASS1 5", " 3600 IN", " 99999999999 IN", " CH" };
	static const char *const rdata[] = {
		"A 192.0.2.1",
		"A\t192.0.2.1",
		"A 192.0.2.1 ; comment",
		"AAAA 2001:db8::1",
		"NS ns1.h5.net.",
		"NS ns",
		"NS ns\\.1",
		"NS a-label-of-more-than-sixteen-bytes.and-another-one.x",
		"DS 1 13 2 00FFab",
		"MX 10 mail",
		"TXT \"a b;c\" d\\\"e",
		"type1 1.2.3.4",
		"CAA 0 issue \"x\"",
		"A \\# 4 01020304",
		"SOA a b 1 2h 3 4 5",
		"NSEC3PARAM 1 0 0 -",
		"A  1.2.3.4  ",
		"A 1.2.3.4\r",
		"TXT x\"y\"",
		"RRSIG A 13 2 60 20300101000000 20200101000000 1 z. AAAA",
	};
	size_t len = (size_t)sprintf(line, "%s%s %s", owners[draw(KNOT_LEN(owners))], heads[draw(KNOT_LEN(heads))],
			rdata[draw(KNOT_LEN(rdata))]);
	for (unsigned changes = draw(4) == 0 ? 1 + draw(3) : 0; changes > 0; changes--) {
		static const char bytes[] = "a.\\\"; \t\r$@19\x01\xff#-";
		size_t at = draw((unsigned)len);
		char byte = bytes[draw(sizeof(bytes) - 1)];
		switch (draw(3)) {
		case 0: line[at] = byte; break;
		case 1:
			memmove(line + at + 1, line + at, len - at);
			line[at] = byte;
			len++;
			break;
		case 2:
			memmove(line + at, line + at + 1, len - at - 1);
			len -= len > 1;
			break;
		}
	}
	if (strchr(" \t\r;$", line[0]) != NULL) {
		line[0] = 'a'; /* its owner is its own, and nothing it says lasts */
	}
	if (line[len - 1] == '\\') {
		line[len - 1] = 'x'; /* an escaped newline within quotes would be data */
	}
	return len;
}

static void test_alone_or_not(void **state)
{
	(void)state;
	enum { ROUNDS = 3000, LINES = 12, LINE_MAX_LEN = 256 };
	static char all[LINES * LINE_MAX_LEN], alone[LINES + LINE_MAX_LEN], want[1 << 16];
	const char *seed = getenv("KNOT_SEED");
	random_state = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : 1;
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned start = random_state;
		size_t len = 0, want_len = 0;
		want[0] = '\0';
		for (unsigned i = 0; i < LINES; i++) {
			size_t line_len = make_line(all + len);
			memset(alone, '\n', i);
			all[len + line_len] = '\n';
			memcpy(alone + i, all + len, line_len + 1);
			reset();
			(void)!scan_text(alone, i + line_len + 1);
			memcpy(want + want_len, said.text, said.len + 1);
			want_len += said.len;
			len += line_len + 1;
		}
		reset();
		(void)!scan_text(all, len);
		if (strcmp(said.text, want) != 0) {
			fail_msg("KNOT_SEED=%u round %u, of\n%.*s\ncame\n%s\nand line by line\n%s", start, round,
					(int)len, all, said.text, want);
		}
	}
}

static void test_nul_bytes(void **state)
{
	(void)state;
	reset();
	static const char text[] = "a A 1.2.3.4\n\0\nb\0c A 1.2.3.4\nd TXT \"\0\"\ne TXT x ; \0\n\0";
	assert_int_equal(scan_text(text, sizeof(text) - 1), KNOT_EPARSEFAIL);
	assert_string_equal(said.text, "1 a.z. 3600 A 1.2.3.4\n!2 invalid character, near '\\000'\n!3 invalid "
				       "character, near '\\000'\n"
				       "!4 invalid character, near '\\000'\n5 e.z. 3600 TXT \"x\"\n!6 invalid "
				       "character, near '\\000'\n");
}

static void test_stop(void **state)
{
	(void)state;
	static const char text[] = "a A 1.2.3.4\nb A x\nc A 1.2.3.4\n";
	reset();
	said.stop_after = 1;
	assert_int_equal(scan_text(text, strlen(text)), KNOT_OK);
	assert_string_equal(said.text, "1 a.z. 3600 A 1.2.3.4\n");
	reset();
	said.stop_after = 2;
	assert_int_equal(scan_text(text, strlen(text)), KNOT_EPARSEFAIL);
	assert_int_equal(said.faults + said.records, 2);
}

/* ---- files ---- */

typedef struct {
	char folder[64];
} files_t;

static int files_setup(void **state)
{
	files_t *files = malloc(sizeof(*files));
	strcpy(files->folder, "/tmp/zonefile_test.XXXXXX");
	*state = files;
	return mkdtemp(files->folder) != NULL ? 0 : -1;
}

static int files_teardown(void **state)
{
	char command[128];
	files_t *files = *state;
	snprintf(command, sizeof(command), "rm -r %s", files->folder);
	int result = system(command);
	free(files);
	return result;
}

static const char *path_of(files_t *files, const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", files->folder, name);
	return path;
}

static void write_file(files_t *files, const char *name, const char *text, size_t len)
{
	FILE *file = fopen(path_of(files, name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void write_text(files_t *files, const char *name, const char *text)
{
	write_file(files, name, text, strlen(text));
}

/* Every row again from a file. */
static void test_rows_from_file(void **state)
{
	files_t *files = *state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		reset();
		write_text(files, "z", rows[i].text);
		(void)!knot_zonefile_scan(path_of(files, "z"), &params);
		char want[OUT_MAX / 64], *line = want;
		*want = '\0';
		for (const char *p = rows[i].want; *p != '\0'; p = strchr(p, '\n') + 1) {
			line += sprintf(line, "z%.*s\n", (int)(strchr(p, '\n') - p), p);
		}
		assert_string_equal(said.text, want);
	}
}

static void test_include(void **state)
{
	files_t *files = *state;
	assert_int_equal(mkdir(path_of(files, "sub"), 0700), 0);
	write_text(files, "main",
			"$TTL 5\n$ORIGIN o.\na A 1.2.3.4\n$INCLUDE sub/one\n A 1.2.3.5\nb A 1.2.3.6\n"
			"$include \"sub/t\\119o\" p ; x\nc A 1.2.3.7\n");
	write_text(files, "sub/one", " A 2.0.0.1\nx A 2.0.0.2\n$TTL 9\n$ORIGIN q.\ny A 2.0.0.3\n$INCLUDE two\n");
	write_text(files, "sub/two", "t A 3.0.0.1\nu A x");
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "main"), &params), KNOT_EPARSEFAIL);
	assert_string_equal(said.text,
			"main3 a.o. 5 A 1.2.3.4\none1 o. 5 A 2.0.0.1\none2 x.o. 5 A 2.0.0.2\none5 y.q. 9 A 2.0.0.3\n"
			"two1 t.q. 9 A 3.0.0.1\ntwo!2 invalid IPv4 address, near 'x'\n"
			"main5 a.o. 5 A 1.2.3.5\nmain6 b.o. 5 A 1.2.3.6\n"
			"two1 t.p.o. 5 A 3.0.0.1\ntwo!2 invalid IPv4 address, near 'x'\nmain8 c.o. 5 A "
			"1.2.3.7\n");
}

static void test_include_faults(void **state)
{
	files_t *files = *state;
	assert_int_equal(mkfifo(path_of(files, "fifo"), 0600), 0);
	write_text(files, "main",
			"$INCLUDE nosuch\n$INCLUDE fifo\n$INCLUDE .\n$INCLUDE\n$INCLUDE main a b\n$INCLUDE \"\"\n"
			"$INCLUDE x\\000y\n$INCLUDE main a..b\na A 1.2.3.4\n");
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "main"), &params), KNOT_EPARSEFAIL);
	assert_string_equal(said.text,
			"main!1 cannot include file, not exists, near 'nosuch'\nmain!2 cannot include file, file "
			"error, near 'fifo'\n"
			"main!3 cannot include file, file error, near '.'\nmain!4 missing file name\n"
			"main!5 unexpected data, near 'b'\nmain!6 invalid file name\nmain!7 invalid file name, near "
			"'x\\000y'\n"
			"main!8 invalid domain name, empty label, near 'a..b'\nmain9 a.z. 3600 A 1.2.3.4\n");
	knot_zonefile_params_t of_others = params;
	of_others.refuses_includes = true;
	write_text(files, "other", "b A 1.2.3.4\n");
	write_text(files, "main", "a A 1.2.3.4\n$INCLUDE other\nc A 1.2.3.4\n");
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "main"), &of_others), KNOT_EPARSEFAIL);
	assert_string_equal(said.text, "main1 a.z. 3600 A 1.2.3.4\nmain!2 no files are included here, near '$INCLUDE'\n"
				       "main3 c.z. 3600 A 1.2.3.4\n");
	/* A file that includes itself ends, with one fault. */
	write_text(files, "loop", "$INCLUDE loop\n");
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "loop"), &params), KNOT_EPARSEFAIL);
	assert_string_equal(said.text, "loop!1 too many files included within each other\n");
}

/* Each file that is read is reported once it is open: path, size, in the order of reading; not one that can't be read.
 */
static void on_file(const char *path, const struct stat *info, void *ctx)
{
	assert_ptr_equal(ctx, &said);
	say("+%s %ld %d\n", strrchr(path, '/') + 1, (long)info->st_size, S_ISREG(info->st_mode));
}

static void test_on_file(void **state)
{
	files_t *files = *state;
	write_text(files, "one", "a A 1.2.3.4\n");
	write_text(files, "two", "$INCLUDE one\n");
	write_text(files, "main", "$INCLUDE two\n$INCLUDE nosuch\n$INCLUDE one b\n");
	knot_zonefile_params_t with_files = params;
	with_files.on_file = on_file;
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "main"), &with_files), KNOT_EPARSEFAIL);
	assert_string_equal(said.text, "+main 44 1\n+two 13 1\n+one 12 1\none1 a.z. 3600 A 1.2.3.4\n"
				       "main!2 cannot include file, not exists, near 'nosuch'\n"
				       "+one 12 1\none1 a.b.z. 3600 A 1.2.3.4\n");
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "nosuch"), &with_files), KNOT_ENOENT);
	assert_string_equal(said.text, "");
}

/* Records with the same number have the same owner, and those that follow each other with the same spelling have the
 * same number. */
typedef struct {
	uint64_t ids[16];
	uint8_t owners[16][KNOT_NAME_MAX];
	unsigned count;
} owner_ids_t;

static bool note_owner(const knot_zone_record_t *record, void *ctx)
{
	owner_ids_t *seen = ctx;
	assert_true(seen->count < KNOT_LEN(seen->ids));
	assert_int_not_equal(record->owner_id, 0);
	memcpy(seen->owners[seen->count], record->owner.wire, record->owner.len);
	seen->ids[seen->count++] = record->owner_id;
	return true;
}

static void test_owner_ids(void **state)
{
	files_t *files = *state;
	static owner_ids_t seen;
	seen.count = 0;
	write_text(files, "one", " A 1.2.3.4\na A 1.2.3.4\n");
	knot_zonefile_params_t with_ids = params;
	with_ids.on_record = note_owner;
	with_ids.on_fault = NULL;
	with_ids.ctx = &seen;
	write_text(files, "main",
			" A 1.2.3.4\na A 1.2.3.4\na A 1.2.3.5\n A 1.2.3.6\n$INCLUDE one\n A 1.2.3.7\n"
			"$INCLUDE one b\n$ORIGIN b\na A 1.2.3.8\nA A 1.2.3.9\n");
	assert_int_equal(knot_zonefile_scan(path_of(files, "main"), &with_ids), KNOT_OK);
	assert_int_equal(seen.count, 11);
	for (unsigned i = 0; i < seen.count; i++) {
		for (unsigned k = 0; k < i; k++) {
			bool is_same = knot_name_of(seen.owners[i]).len == knot_name_of(seen.owners[k]).len &&
				       memcmp(seen.owners[i], seen.owners[k], knot_name_of(seen.owners[i]).len) == 0;
			assert_true(is_same || seen.ids[i] != seen.ids[k]);
		}
	}
	assert_true(seen.ids[1] == seen.ids[2] && seen.ids[2] == seen.ids[3] && seen.ids[3] == seen.ids[6]);
}

static void test_unreadable(void **state)
{
	files_t *files = *state;
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "nosuch"), &params), KNOT_ENOENT);
	assert_int_equal(knot_zonefile_scan(files->folder, &params), KNOT_EFILE);
	assert_int_equal(said.records + said.faults, 0);
}

/* Records over every block border, from a file and through a pipe: same lines, same records. */
static char *big_text(size_t *ret_len, unsigned *ret_records)
{
	char *text = malloc(3 << 20);
	size_t len = 0;
	unsigned line = 1, records = 0;
	while (len < (2 << 20)) {
		switch (line % 7) {
		case 0: len += (size_t)sprintf(text + len, "; %*s\n", (int)(line % 61), ""); break;
		case 1:
			len += (size_t)sprintf(
					text + len, "n%u TXT (\"%u\\\"\" ; %u\r\n x\\032y\n)\n", line, line, line);
			line += 2;
			records++;
			break;
		default:
			len += (size_t)sprintf(text + len, "n%u 7 IN A 1.2.3.4\n", line);
			records++;
			break;
		}
		line++;
	}
	*ret_len = len;
	*ret_records = records;
	return text;
}

typedef struct {
	int fd;
	const char *text;
	size_t len, step;
} feed_t;

static void *feed(void *arg)
{
	feed_t *f = arg;
	for (size_t at = 0; at < f->len;) {
		size_t count = f->len - at < f->step ? f->len - at : f->step;
		ssize_t written = write(f->fd, f->text + at, count);
		assert_true(written > 0);
		at += (size_t)written;
	}
	close(f->fd);
	return NULL;
}

static void scan_piped(const char *text, size_t len, size_t step, knot_err_t want)
{
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	feed_t f = { fds[1], text, len, step };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, feed, &f), 0);
	char path[32];
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	assert_int_equal(knot_zonefile_scan(path, &params), want);
	pthread_join(thread, NULL);
	close(fds[0]);
}

static void test_blocks(void **state)
{
	files_t *files = *state;
	size_t len;
	unsigned records;
	char *text = big_text(&len, &records);
	write_file(files, "big", text, len);
	reset();
	said.is_quiet = true;
	assert_int_equal(knot_zonefile_scan(path_of(files, "big"), &params), KNOT_OK);
	assert_int_equal(said.records, records);
	for (size_t step = 1000; step < 70000; step += 30011) {
		reset();
		said.is_quiet = true;
		scan_piped(text, len, step, KNOT_OK);
		assert_int_equal(said.records, records);
	}
	free(text);
}

/* The right line number after two megabytes of text. */
static void test_late_fault(void **state)
{
	files_t *files = *state;
	size_t len;
	unsigned records, lines = 1;
	char *text = big_text(&len, &records), want[128];
	for (size_t i = 0; i < len; i++) {
		bool is_line_start = i == 0 || text[i - 1] == '\n';
		lines += text[i] == '\n';
		if (is_line_start && text[i] != '\n') {
			text[i] = ';'; /* comments instead of records: only the fault is said */
		}
	}
	len += (size_t)sprintf(text + len, "x A y\n");
	write_file(files, "late", text, len);
	snprintf(want, sizeof(want), "late!%u invalid IPv4 address, near 'y'\n", lines);
	reset();
	assert_int_equal(knot_zonefile_scan(path_of(files, "late"), &params), KNOT_EPARSEFAIL);
	assert_string_equal(said.text, want);
	free(text);
}

/* RDATA of 65535 bytes in text four times as long, and one byte more; a comment of megabytes; no end of parentheses. */
static void test_long_records(void **state)
{
	files_t *files = *state;
	char *text = malloc(40 << 20), *p = text;
	p += sprintf(p, "a TXT (\n");
	for (unsigned i = 0; i < 256; i++) {
		*p++ = '"';
		for (unsigned k = 0; k < (i < 255 ? 255 : 254); k++) {
			p += sprintf(p, "\\%03u", k);
		}
		*p++ = '"';
		*p++ = '\n';
	}
	p += sprintf(p, ")\nb A 1.2.3.4\n");
	write_file(files, "long", text, (size_t)(p - text));
	reset();
	said.is_quiet = true;
	assert_int_equal(knot_zonefile_scan(path_of(files, "long"), &params), KNOT_OK);
	assert_int_equal(said.records, 2);

	p -= strlen(")\nb A 1.2.3.4\n");
	p += sprintf(p, "\"\" )\nb A 1.2.3.4\n");
	write_file(files, "long", text, (size_t)(p - text));
	reset();
	said.is_quiet = true;
	assert_int_equal(knot_zonefile_scan(path_of(files, "long"), &params), KNOT_EPARSEFAIL);
	assert_int_equal(said.faults, 1);
	assert_int_equal(said.records, 1);

	p = text + sprintf(text, "a A ( 1.2.3.4 ;");
	memset(p, 'c', 8 << 20);
	p += 8 << 20;
	p += sprintf(p, "\n)\nb A 1.2.3.4\n;");
	memset(p, 'd', 12 << 20);
	p += 12 << 20;
	p += sprintf(p, "\nc A 1.2.3.4\n");
	write_file(files, "long", text, (size_t)(p - text));
	reset();
	(void)!knot_zonefile_scan(path_of(files, "long"), &params);
	assert_string_equal(
			said.text, "long1 a.z. 3600 A 1.2.3.4\nlong3 b.z. 3600 A 1.2.3.4\nlong5 c.z. 3600 A 1.2.3.4\n");

	/* A record that is too long is one fault, and what follows is scanned. */
	for (unsigned is_closed = 0; is_closed < 2; is_closed++) {
		p = text + sprintf(text, "a A 1.2.3.4\nb TXT (\n");
		for (unsigned i = 0; i < (20 << 20) / 512; i++) {
			p += sprintf(p, "\"\" ;%*s\n", 506, "");
		}
		p += sprintf(p, is_closed ? ")\nc A 1.2.3.4\n" : "x");
		write_file(files, "long", text, (size_t)(p - text));
		reset();
		assert_int_equal(knot_zonefile_scan(path_of(files, "long"), &params), KNOT_EPARSEFAIL);
		assert_memory_equal(said.text, "long1 a.z. 3600 A 1.2.3.4\nlong!2 record is too long\n", 52);
		assert_int_equal(said.faults, 1);
		assert_int_equal(said.records, 1 + is_closed);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nul_bytes),
		cmocka_unit_test(test_alone_or_not),
		cmocka_unit_test_setup_teardown(test_owner_ids, files_setup, files_teardown),
		cmocka_unit_test(test_stop),
		cmocka_unit_test_setup_teardown(test_rows_from_file, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_include, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_include_faults, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_on_file, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_blocks, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_late_fault, files_setup, files_teardown),
		cmocka_unit_test_setup_teardown(test_long_records, files_setup, files_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
