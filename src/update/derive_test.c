/* SPDX-License-Identifier: BSD-2-Clause */
/* What zones that are made of others have, row by row; and that following changes leads to the same as beginning anew.
 */
#include "src/update/derive.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"
#include "src/update/reverse_name.h"
#include "src/zone/diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SOURCES_MAX = 3 };

/* A name that lives as long as its owner. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} own_name_t;

static void scan(const char *text, own_name_t *ret_name)
{
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, ret_name->wire, &ret_name->name), KNOT_OK);
}

static zone_build_params_t params_of(knot_name_t origin)
{
	return (zone_build_params_t){ .origin = origin, .default_ttl = 60, .checks = ZONE_CHECKS_OFF };
}

/* NULL for NULL. Each zone gets a SOA and an NS. */
static zone_contents_t *build(knot_name_t origin, const char *text)
{
	static char whole[1 << 17];
	zone_contents_t *contents;
	if (text == NULL) {
		return NULL;
	}
	const zone_build_params_t params = params_of(origin);
	snprintf(whole, sizeof(whole), "@ 60 SOA ns.a. admin.a. 5 1 2 3 4\n@ 60 NS ns.a.\n%s", text);
	assert_int_equal(zone_build_text(knot_str_of(whole), "test", &params, &contents), KNOT_OK);
	return contents;
}

static bool print_rr(const zone_rr_t *rr, void *ctx)
{
	static char data[KNOT_RDATA_TEXT_MAX];
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	(void)knot_rdata_print(rr->type, rr->rdata, data, sizeof(data));
	fprintf(ctx, "%s %u %s %s\n", owner, (unsigned)rr->ttl, type, data);
	return true;
}

static bool print_other(const zone_rr_t *rr, void *ctx)
{
	bool is_frame = rr->type == KNOT_TYPE_SOA || (rr->type == KNOT_TYPE_NS && rr->owner.wire[1] != 'd');
	return is_frame || print_rr(rr, ctx);
}

/* All but SOA and NS records, to be freed. */
static char *text_of(const zone_contents_t *zone)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	zone_each_record(zone, scratch, print_other, to);
	free(scratch);
	fclose(to);
	return text;
}

/* The version after all, or what is marked, is put right. *ret_changed: whether that changed anything. */
static zone_contents_t *make(
		const derive_t *derive, const derive_marks_t *marks, const zone_contents_t *base, bool *ret_changed)
{
	zone_txn_t *txn;
	zone_contents_t *next;
	knot_err_t err;
	const zone_build_params_t params = params_of(derive->zone);
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	assert_int_equal(derive_apply(derive, marks, base, txn), KNOT_OK);
	*ret_changed = zone_txn_is_changed(txn, &err);
	assert_int_equal(zone_txn_build(txn, base, &params, &next), KNOT_OK);
	zone_txn_discard(txn);
	return next;
}

typedef struct {
	const char *what;
	derive_kind_t kind;
	const char *zone, *text;
	struct {
		const char *name, *text; /* text NULL: no contents; AWAITED: none now */
	} sources[SOURCES_MAX];
	const char *own; /* "": what the zone has; NULL: unknown */
	const char *want;
} row_t;

#define AWAITED "?"
#define REV     "2.0.192.in-addr.arpa."
#define IP6     "8.b.d.0.1.0.0.2.ip6.arpa."

static const row_t rows[] = {
	{ "an address", DERIVE_REVERSE, REV, "", { { "a.", "www 300 A 192.0.2.1" } }, "",
			"1." REV " 300 PTR www.a.\n" },
	{ "the apex, and two of one name", DERIVE_REVERSE, REV, "",
			{ { "a.", "@ 300 A 192.0.2.1\n@ 300 A 192.0.2.2" } }, "",
			"1." REV " 300 PTR a.\n2." REV " 300 PTR a.\n" },
	{ "outside of the zone", DERIVE_REVERSE, REV, "", { { "a.", "www A 192.0.3.1\nx A 10.2.0.192" } }, "", "" },
	{ "AAAA in a zone of IPv4", DERIVE_REVERSE, REV, "", { { "a.", "www AAAA 2001:db8::1" } }, "", "" },
	{ "A in a zone of IPv6", DERIVE_REVERSE, IP6, "", { { "a.", "www A 192.0.2.1" } }, "", "" },
	{ "AAAA", DERIVE_REVERSE, IP6, "", { { "a.", "www 9 AAAA 2001:db8::AB" } }, "",
			"b.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0." IP6 " 9 PTR www.a.\n" },
	{ "all of arpa", DERIVE_REVERSE, "arpa.", "", { { "a.", "www A 192.0.2.1\nwww AAAA ::1" } }, "",
			"1.2.0.192.in-addr.arpa. 60 PTR www.a.\n" },
	{ "a zone that isn't below arpa", DERIVE_REVERSE, "b.", "", { { "a.", "www A 192.0.2.1" } }, "", "" },
	{ "the zone is one address", DERIVE_REVERSE, "1." REV, "", { { "a.", "www A 192.0.2.1" } }, "",
			"1." REV " 60 PTR www.a.\n" },
	{ "several names, the lowest TTL", DERIVE_REVERSE, REV, "",
			{ { "a.", "x 90 A 192.0.2.1" }, { "b.", "y 30 A 192.0.2.1\nz 70 A 192.0.2.1" } }, "",
			"1." REV " 30 PTR x.a.\n1." REV " 30 PTR y.b.\n1." REV " 30 PTR z.b.\n" },
	{ "a wildcard, and glue", DERIVE_REVERSE, REV, "",
			{ { "a.", "* A 192.0.2.1\ndeleg NS ns.deleg\nns.deleg A 192.0.2.2" } }, "",
			"1." REV " 60 PTR *.a.\n2." REV " 60 PTR ns.deleg.a.\n" },
	{ "glue of a zone that is a source: that knows better", DERIVE_REVERSE, REV, "",
			{ { "a.", "d NS ns.d\nns.d A 192.0.2.2" }, { "d.a.", "ns A 192.0.2.3" } }, "",
			"3." REV " 60 PTR ns.d.a.\n" },
	{ "what isn't right goes, what is the zone's own stays", DERIVE_REVERSE, REV,
			"1 PTR old.a.\n2 PTR by.hand.\n3 TXT x", { { "a.", "" } }, "",
			"2." REV " 60 PTR by.hand.\n3." REV " 60 TXT \"x\"\n" },
	{ "what the file has stays, too", DERIVE_REVERSE, REV, "1 PTR old.a.\n2 PTR older.a.", { { "a.", "" } },
			"1 PTR old.a.", "1." REV " 60 PTR old.a.\n" },
	{ "the file isn't known", DERIVE_REVERSE, REV, "1 PTR old.a.", { { "a.", "" } }, NULL,
			"1." REV " 60 PTR old.a.\n" },
	{ "the file's record and an address beside it", DERIVE_REVERSE, REV, "1 900 PTR old.a.",
			{ { "a.", "new 300 A 192.0.2.1" } }, "1 900 PTR old.a.",
			"1." REV " 300 PTR new.a.\n1." REV " 300 PTR old.a.\n" },
	{ "the TTL of an address", DERIVE_REVERSE, REV, "1 900 PTR www.a.", { { "a.", "www 300 A 192.0.2.1" } }, "",
			"1." REV " 300 PTR www.a.\n" },
	{ "a source that is awaited", DERIVE_REVERSE, REV, "1 PTR old.a.\n2 PTR old.b.",
			{ { "a.", AWAITED }, { "b.", "new A 192.0.2.3" } }, "",
			"1." REV " 60 PTR old.a.\n3." REV " 60 PTR new.b.\n" },
	{ "a source that isn't there", DERIVE_REVERSE, REV, "1 PTR old.a.", { { "a.", NULL } }, "", "" },
	{ "a CNAME of the zone (RFC 2317)", DERIVE_REVERSE, REV, "1 CNAME 1.0/25", { { "a.", "www A 192.0.2.1" } }, "",
			"1." REV " 60 CNAME 1.0/25." REV "\n" },
	{ "below a DNAME", DERIVE_REVERSE, "0.192.in-addr.arpa.", "2 DNAME x.", { { "a.", "www A 192.0.2.1" } }, "",
			"2.0.192.in-addr.arpa. 60 DNAME x.\n" },
	{ "records in the source's names that are no PTR", DERIVE_REVERSE, REV, "1 MX 1 www.a.", { { "a.", "" } }, "",
			"1." REV " 60 MX 1 www.a.\n" },
	{ "a PTR at a name that is no address", DERIVE_REVERSE, REV, "x PTR www.a.\n01 PTR www.a.\n256 PTR www.a.",
			{ { "a.", "www A 192.0.2.1" } }, "", "1." REV " 60 PTR www.a.\n" },

	{ "a zone below", DERIVE_INCLUDE, "a.", "x TXT y", { { "s.a.", "@ TXT z\nwww 5 A 192.0.2.1" } }, "",
			"s.a. 60 TXT \"z\"\nwww.s.a. 5 A 192.0.2.1\nx.a. 60 TXT \"y\"\n" },
	{ "the delegation and what is below it go", DERIVE_INCLUDE, "a.", "d NS ns.d\nd DS 1 8 2 00\nns.d A 192.0.2.9",
			{ { "d.a.", "www A 192.0.2.1" } }, "", "www.d.a. 60 A 192.0.2.1\n" },
	{ "apex records that aren't copied", DERIVE_INCLUDE, "a.", "",
			{ { "s.a.", "@ DNSKEY 257 3 8 AAAA\n@ CDS 1 8 2 00\n@ CDNSKEY 257 3 8 AAAA\n@ ZONEMD 5 1 1 "
				    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000"
				    "00000"
				    "000000000\n@ NSEC3PARAM 1 0 0 -\n@ MX 1 x." } },
			"", "s.a. 60 MX 1 x.\n" },
	{ "signatures and denial aren't copied", DERIVE_INCLUDE, "a.", "",
			{ { "s.a.", "x A 192.0.2.1\nx RRSIG A 8 3 60 20300101000000 20200101000000 1 s.a. AAAA\nx NSEC "
				    "s.a. A" } },
			"", "x.s.a. 60 A 192.0.2.1\n" },
	{ "delegations of the source", DERIVE_INCLUDE, "a.", "",
			{ { "s.a.", "d NS ns.d\nns.d A 192.0.2.1\nd DS 1 8 2 00" } }, "",
			"d.s.a. 60 NS ns.d.s.a.\nd.s.a. 60 DS 1 8 2 00\nns.d.s.a. 60 A 192.0.2.1\n" },
	{ "one within another", DERIVE_INCLUDE, "a.", "",
			{ { "s.a.", "d NS ns.\nx.d TXT old" }, { "d.s.a.", "x TXT new" } }, "",
			"x.d.s.a. 60 TXT \"new\"\n" },
	{ "a CNAME replaces, and is replaced", DERIVE_INCLUDE, "a.", "x.s A 192.0.2.1\ny.s CNAME x",
			{ { "s.a.", "x CNAME y\ny TXT z" } }, "", "x.s.a. 60 CNAME y.s.a.\ny.s.a. 60 TXT \"z\"\n" },
	{ "below a DNAME of the zone", DERIVE_INCLUDE, "a.", "b DNAME x.", { { "s.b.a.", "x TXT y" } }, "",
			"b.a. 60 DNAME x.\n" },
	{ "a DNAME replaces what is below it", DERIVE_INCLUDE, "a.", "x.d.s TXT y", { { "s.a.", "d DNAME z." } }, "",
			"d.s.a. 60 DNAME z.\n" },
	{ "awaited", DERIVE_INCLUDE, "a.", "x.s TXT y", { { "s.a.", AWAITED } }, "", "x.s.a. 60 TXT \"y\"\n" },
	{ "not there", DERIVE_INCLUDE, "a.", "x.s TXT y\nz TXT y", { { "s.a.", NULL } }, "", "z.a. 60 TXT \"y\"\n" },
	{ "a TTL", DERIVE_INCLUDE, "a.", "x.s 5 TXT y", { { "s.a.", "x 7 TXT y" } }, "", "x.s.a. 7 TXT \"y\"\n" },
};

/* A zone with its sources. */
typedef struct {
	own_name_t zone, names[SOURCES_MAX];
	derive_source_t sources[SOURCES_MAX];
	zone_contents_t *own;
	derive_t derive;
} made_t;

static void begin(const row_t *row, made_t *made)
{
	*made = (made_t){ .derive = { .kind = row->kind, .sources = made->sources } };
	scan(row->zone, &made->zone);
	made->derive.zone = made->zone.name;
	for (size_t i = 0; i < SOURCES_MAX && row->sources[i].name != NULL; i++) {
		scan(row->sources[i].name, &made->names[i]);
		const char *text = row->sources[i].text;
		bool is_awaited = text != NULL && strcmp(text, AWAITED) == 0;
		made->sources[made->derive.source_count++] = (derive_source_t){ made->names[i].name,
			build(made->names[i].name, is_awaited ? NULL : text), is_awaited };
	}
	derive_sort(made->sources, &made->derive.source_count);
	made->own = row->own != NULL ? build(made->zone.name, row->own) : NULL;
	made->derive.own = made->own;
	made->derive.is_own_known = row->own != NULL;
}

static void end(made_t *made)
{
	for (size_t i = 0; i < made->derive.source_count; i++) {
		zone_contents_free((zone_contents_t *)(uintptr_t)made->sources[i].contents);
	}
	zone_contents_free(made->own);
}

static void test_rows(void **state)
{
	(void)state;
	const derive_marks_t all = { .is_all = true };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		made_t made;
		bool changed;
		begin(&rows[i], &made);
		zone_contents_t *base = build(made.zone.name, rows[i].text);
		zone_contents_t *next = make(&made.derive, &all, base, &changed);
		char *text = text_of(next);
		if (strcmp(text, rows[i].want) != 0) {
			fail_msg("%s: got\n%swant\n%s", rows[i].what, text, rows[i].want);
		}
		free(text);
		zone_contents_t *again = make(&made.derive, &all, next, &changed);
		if (changed) {
			fail_msg("%s: a second time something changes", rows[i].what);
		}
		zone_contents_free(again);
		zone_contents_free(next);
		zone_contents_free(base);
		end(&made);
	}
}

/* ---- What others have put into the transaction ---- */

static void check_edit(const char *zone, derive_kind_t kind, const char *source, const char *source_text,
		const char *text, const char *owner, const char *type, const char *data, const char *want)
{
	const row_t row = { "", kind, zone, text, { { source, source_text } }, "", "" };
	const derive_marks_t all = { .is_all = true };
	made_t made;
	own_name_t name, target;
	zone_txn_t *txn;
	zone_contents_t *next;
	uint16_t number;
	begin(&row, &made);
	zone_contents_t *base = build(made.zone.name, text);
	const zone_build_params_t params = params_of(made.zone.name);
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	scan(owner, &name);
	scan(data, &target);
	assert_int_equal(knot_rrtype_scan(knot_str_of(type), &number), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, name.name, number, 60, (knot_bytes_t){ target.wire, target.name.len }),
			KNOT_OK);
	assert_int_equal(derive_apply(&made.derive, &all, base, txn), KNOT_OK);
	assert_int_equal(zone_txn_build(txn, base, &params, &next), KNOT_OK);
	zone_txn_discard(txn);
	char *got = text_of(next);
	assert_string_equal(got, want);
	free(got);
	zone_contents_free(next);
	zone_contents_free(base);
	end(&made);
}

static void test_edited(void **state)
{
	(void)state;
	/* The version was right before, so only the edit says that there is something to do. */
	check_edit(REV, DERIVE_REVERSE, "a.", "www A 192.0.2.1", "1 PTR www.a.", "1." REV, "CNAME", "x.",
			"1." REV " 60 CNAME x.\n");
	check_edit("0.192.in-addr.arpa.", DERIVE_REVERSE, "a.", "www A 192.0.2.1", "1.2 PTR www.a.",
			"2.0.192.in-addr.arpa.", "DNAME", "x.", "2.0.192.in-addr.arpa. 60 DNAME x.\n");
	check_edit("a.", DERIVE_INCLUDE, "s.a.", "x A 192.0.2.1", "x.s A 192.0.2.1", "y.s.a.", "PTR", "x.",
			"x.s.a. 60 A 192.0.2.1\n");
	check_edit("a.", DERIVE_INCLUDE, "s.b.a.", "x A 192.0.2.1", "x.s.b A 192.0.2.1", "b.a.", "DNAME", "x.",
			"b.a. 60 DNAME x.\n");
}

/* ---- Following changes ---- */

static uint32_t random_state;

static unsigned pick(unsigned end)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 16) % end;
}

/* Records of a source: few names, so that they meet. */
static void print_source(derive_kind_t kind, char *text, size_t size)
{
	static const char *const others[] = { "TXT x", "MX 1 y", "CNAME z." };
	size_t len = 0;
	text[0] = '\0';
	for (unsigned name = 0; name < 6; name++) {
		unsigned what = pick(kind == DERIVE_REVERSE ? 3 : 6);
		if (what >= 3) {
			len += (size_t)snprintf(
					text + len, size - len, "n%u %u %s\n", name, 60 + pick(2), others[what - 3]);
			continue;
		}
		for (unsigned i = 0; i < what; i++) {
			len += (size_t)snprintf(text + len, size - len, "n%u %u A 192.0.2.%u\n", name, 60 + name,
					2 * pick(3) + i);
		}
	}
}

/* The zone after following changes of one source after the other is what is made anew. */
static void follow(derive_kind_t kind, const char *zone, const char *const *names, const char *text)
{
	const row_t row = { "", kind, zone, text, { { names[0], "" }, { names[1], "" }, { names[2], "" } }, "", "" };
	const derive_marks_t all = { .is_all = true };
	char source[4096];
	made_t made;
	bool changed, differs;
	begin(&row, &made);
	zone_contents_t *base = build(made.zone.name, text), *now = make(&made.derive, &all, base, &changed);
	for (unsigned step = 0; step < 60; step++) {
		derive_source_t *one = &made.sources[pick(SOURCES_MAX)];
		derive_marks_t marks = { 0 };
		print_source(kind, source, sizeof(source));
		zone_contents_t *after = build(one->name, source);
		derive_mark_change(kind, made.zone.name, one->name, one->contents, after, &marks);
		zone_contents_free((zone_contents_t *)(uintptr_t)one->contents);
		one->contents = after;
		zone_contents_t *next = make(&made.derive, &marks, now, &changed);
		zone_contents_t *anew = make(&made.derive, &all, base, &changed);
		assert_int_equal(zone_differs(next, anew, ZONE_DIFFERS_AT_ALL, &differs), KNOT_OK);
		if (differs) {
			char *got = text_of(next), *want = text_of(anew);
			fail_msg("step %u: got\n%swant\n%s", step, got, want);
		}
		derive_marks_done(&marks);
		zone_contents_free(anew);
		zone_contents_free(now);
		now = next;
	}
	zone_contents_free(now);
	zone_contents_free(base);
	end(&made);
}

static void test_follow(void **state)
{
	(void)state;
	static const char *const forward[] = { "a.", "n1.a.", "b." }, *const below[] = { "s.a.", "n1.s.a.", "t.a." };
	for (random_state = 1; random_state < 40; random_state++) {
		uint32_t seed = random_state;
		follow(DERIVE_REVERSE, REV, forward, "1 CNAME x.\n7 PTR by.hand.");
		follow(DERIVE_INCLUDE, "a.", below, "x TXT y\nn1.t NS ns.n1.t");
		random_state = seed;
	}
}

static void test_marks_of_edits(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after;
		size_t count;
		bool is_all;
	} edits[] = {
		{ "1 TXT x", "1 TXT y", 0, false },
		{ "1 PTR x.b.", "2 PTR x.b.", 0, false },
		{ "1 PTR x.a.", "1 PTR x.a.\n2 PTR x.a.", 1, false },
		{ "1 PTR x.a.", "", 1, false },
		{ "1 CNAME x.", "", 0, true },
		{ "", "1 CNAME x.", 0, false },
		{ "1 DNAME x.", "", 0, true },
	};
	const row_t row = { "", DERIVE_REVERSE, REV, "", { { "a.", "x A 192.0.2.1" } }, "", "" };
	for (size_t i = 0; i < KNOT_LEN(edits); i++) {
		made_t made;
		derive_marks_t marks = { 0 };
		begin(&row, &made);
		zone_contents_t *before = build(made.zone.name, edits[i].before);
		zone_contents_t *after = build(made.zone.name, edits[i].after);
		derive_mark_edit(&made.derive, before, after, &marks);
		assert_int_equal(marks.count, edits[i].count);
		assert_int_equal(marks.is_all, edits[i].is_all);
		derive_marks_done(&marks);
		zone_contents_free(before);
		zone_contents_free(after);
		end(&made);
	}
}

/* As many marks as may be, and one more. */
static void test_marks_end(void **state)
{
	(void)state;
	derive_marks_t marks = { 0 }, more = { 0 };
	char *text = malloc(1 << 17);
	size_t len = 0;
	own_name_t zone, name;
	scan("arpa.", &zone);
	scan("a.", &name);
	for (unsigned i = 0; i < 4096; i++) {
		len += (size_t)snprintf(text + len, (1 << 17) - len, "n%u A 10.0.%u.%u\n", i, i >> 8, i & 255);
	}
	zone_contents_t *after = build(name.name, text);
	free(text);
	derive_mark_change(DERIVE_REVERSE, zone.name, name.name, NULL, after, &more);
	assert_int_equal(more.count, 4096);
	for (unsigned i = 0; i < DERIVE_MARKS_MAX / 4096; i++) {
		assert_false(marks.is_all);
		derive_marks_add(&marks, &more);
	}
	assert_false(marks.is_all);
	assert_int_equal(marks.count, DERIVE_MARKS_MAX);
	derive_marks_add(&marks, &more);
	assert_true(marks.is_all);
	assert_null(marks.data);
	derive_marks_add(&marks, &more);
	assert_false(derive_marks_are_empty(&marks));
	derive_marks_done(&more);
	derive_marks_done(&marks);
	zone_contents_free(after);
}

static void test_reverse_names(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t len;
		const char *address;
	} names[] = {
		{ "1.2.0.192.in-addr.arpa.", 4, "\300\0\2\1" },
		{ "255.255.255.255.in-addr.arpa.", 4, "\377\377\377\377" },
		{ "256.2.0.192.in-addr.arpa.", 0, "" },
		{ "01.2.0.192.in-addr.arpa.", 0, "" },
		{ "1000.2.0.192.in-addr.arpa.", 0, "" },
		{ "a.2.0.192.in-addr.arpa.", 0, "" },
		{ "2.0.192.in-addr.arpa.", 0, "" },
		{ "9.1.2.0.192.in-addr.arpa.", 0, "" },
		{ "1.2.0.192.in-addr.arpb.", 0, "" },
		{ "f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", 16,
				"\x20\1\r\xb8\0\0\0\0\0\0\0\0\0\0\0\xf" },
		{ "g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", 0, "" },
		{ "ff.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", 0, "" },
		{ "\\000.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", 0, "" },
		{ "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.", 0, "" },
	};
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		own_name_t name, back;
		uint8_t address[REVERSE_ADDRESS_MAX];
		scan(names[i].name, &name);
		size_t len = reverse_address(name.name, address);
		if (len != names[i].len) {
			fail_msg("%s: %zu bytes", names[i].name, len);
		}
		assert_memory_equal(address, names[i].address, len);
		if (len > 0) {
			back.name = reverse_name((knot_bytes_t){ address, len }, back.wire);
			assert_true(knot_name_eq(back.name, name.name));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_edited),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_marks_of_edits),
		cmocka_unit_test(test_marks_end),
		cmocka_unit_test(test_reverse_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
