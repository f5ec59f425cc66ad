/* SPDX-License-Identifier: BSD-2-Clause */
/* What catalogs say, what differs between their versions, and what is done about it. */
#include "src/catalog/interpret.h"

#include "src/zone/txn.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\3cat";
static const zone_build_params_t params = {
	.origin = { origin_wire, 5, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

#define HEAD "@ 0 SOA invalid. invalid. 1 2 3 4 5\n@ 0 NS invalid.\nversion 0 TXT \"2\"\n"

static zone_contents_t *build(const char *text)
{
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "text", &params, &zone), KNOT_OK);
	return zone;
}

/* ---- Versions of the format ---- */

static void test_check(void **state)
{
	(void)state;
	static const struct {
		const char *what, *text;
		knot_err_t want;
	} rows[] = {
		{ "a catalog", "version TXT \"2\"\n", KNOT_OK },
		{ "beside another record", "version TXT \"1\"\nversion TXT \"2\"\n", KNOT_OK },
		{ "without members or version", "a TXT \"2\"\n", KNOT_EZONEINVAL },
		{ "another version", "version TXT \"1\"\n", KNOT_EZONEINVAL },
		{ "more than a digit", "version TXT \"22\"\n", KNOT_EZONEINVAL },
		{ "two strings", "version TXT \"2\" \"2\"\n", KNOT_EZONEINVAL },
		{ "of another type", "version SPF \"2\"\n", KNOT_EZONEINVAL },
		{ "below", "a.version TXT \"2\"\n", KNOT_EZONEINVAL },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char text[512];
		snprintf(text, sizeof(text), "@ 0 SOA invalid. invalid. 1 2 3 4 5\n@ 0 NS invalid.\n%s", rows[i].text);
		zone_contents_t *zone = build(text);
		if (catalog_check(zone) != rows[i].want) {
			fail_msg("%s: %d", rows[i].what, catalog_check(zone));
		}
		zone_contents_free(zone);
	}
}

/* ---- Members ---- */

static void print_name(FILE *to, knot_name_t name)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(name, text);
	fputs(text, to);
}

static void print_member(FILE *to, const catalog_member_t *member)
{
	print_name(to, member->member);
	fputc('=', to);
	print_name(to, knot_name_strip(member->owner, 0));
	fprintf(to, "#%.*s%s", (int)member->group.len, (const char *)member->group.data,
			member->has_more_groups ? "!" : "");
}

static const struct {
	const char *what, *text, *want;
	knot_err_t err;
} read_rows[] = {
	{ "none", "", "", KNOT_OK },
	{ "two, in any case", "B.zones PTR M1.Test.\nA.ZONES PTR m2.\n", "m2.=a.zones.cat.# m1.test.=b.zones.cat.# ",
			KNOT_OK },
	{ "the root", "a.zones PTR .\n", ".=a.zones.cat.# ", KNOT_OK },
	{ "a group", "a.zones PTR m.\ngroup.a.zones TXT Gr\n", "m.=a.zones.cat.#Gr ", KNOT_OK },
	{ "an empty group", "a.zones PTR m.\ngroup.a.zones TXT \"\"\n", "m.=a.zones.cat.# ", KNOT_OK },
	{ "a group up to its NUL", "a.zones PTR m.\ngroup.a.zones TXT \"x\\000y\"\n", "m.=a.zones.cat.#x ", KNOT_OK },
	{ "several groups", "a.zones PTR m.\ngroup.a.zones TXT y\ngroup.a.zones TXT x\n", "m.=a.zones.cat.#x! ",
			KNOT_OK },
	{ "coo and other properties", "a.zones PTR m.\ncoo.a.zones PTR c.\nx.ext.a.zones TXT y\na.zones TXT z\n",
			"m.=a.zones.cat.# ", KNOT_OK },
	{ "deeper and shallower", "zones PTR a.\na.b.zones PTR m.\nx PTR y.\nb.zone PTR z.\n@ PTR p.\n", "", KNOT_OK },
	{ "a group without a member", "group.a.zones TXT x\n", "", KNOT_OK },
	{ "a group without a member behind one", "a.zones PTR m.\ngroup.b.zones TXT x\n", "m.=a.zones.cat.# ",
			KNOT_OK },
	{ "a group beside one", "group.zones PTR m.\ngroup.group.zones TXT x\n", "m.=group.zones.cat.#x ", KNOT_OK },
	{ "a wildcard", "*.zones PTR m.\n", "m.=*.zones.cat.# ", KNOT_OK },
	{ "below a cut", "zones NS ns.\na.zones PTR m.\n", "m.=a.zones.cat.# ", KNOT_OK },
	{ "two members at an id", "a.zones PTR m.\na.zones PTR n.\n", "", KNOT_EISRECORD },
	{ "a group of two strings", "a.zones PTR m.\ngroup.a.zones TXT x y\n", "", KNOT_EMALF },
};

static void test_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(read_rows); i++) {
		char text[512], *got = NULL;
		size_t len;
		snprintf(text, sizeof(text), HEAD "%s", read_rows[i].text);
		zone_contents_t *zone = build(text);
		catalog_set_t set = { 0 };
		knot_err_t err = catalog_read(zone, &set);
		FILE *to = open_memstream(&got, &len);
		for (size_t k = 0; k < set.count && err == KNOT_OK; k++) {
			catalog_member_t member = catalog_set_get(&set, k);
			print_member(to, &member);
			fputc(' ', to);
		}
		fclose(to);
		if (err != read_rows[i].err || strcmp(got, read_rows[i].want) != 0) {
			fail_msg("%s: %d, %s", read_rows[i].what, err, got);
		}
		free(got);
		catalog_set_done(&set);
		zone_contents_free(zone);
	}
}

/* ---- Changes ---- */

static const char *const kinds[] = { "keep", "add", "remove", "renew", "regroup" };

static bool print_change(const catalog_change_t *change, void *ctx)
{
	FILE *to = ctx;
	fprintf(to, "%s ", kinds[change->kind]);
	if (change->kind != CATALOG_ADD) {
		print_member(to, &change->before);
		fputc(' ', to);
	}
	if (change->kind != CATALOG_REMOVE) {
		print_member(to, &change->after);
		fputc(' ', to);
	}
	if (change->note != CATALOG_NOTHING) {
		char text[CATALOG_NOTE_TEXT_MAX];
		catalog_note_print(change, text);
		fprintf(to, "(%d %s) ", catalog_note_level(change->note), text);
	}
	return true;
}

static const struct {
	const char *what, *before, *after, *want;
} change_rows[] = {
	{ "nothing", "a.zones PTR m.\n", "a.zones PTR m.\nb TXT x\n", "" },
	{ "one added", "a.zones PTR m.\n", "a.zones PTR m.\nb.zones PTR n.\n", "add n.=b.zones.cat.# " },
	{ "one removed", "a.zones PTR m.\nb.zones PTR n.\ngroup.b.zones TXT g\n", "a.zones PTR m.\n",
			"remove n.=b.zones.cat.#g " },
	{ "another id", "a.zones PTR m.\n", "b.zones PTR m.\n", "renew m.=a.zones.cat.# m.=b.zones.cat.# " },
	{ "another member", "a.zones PTR m.\n", "a.zones PTR n.\n", "remove m.=a.zones.cat.# add n.=a.zones.cat.# " },
	{ "a group", "a.zones PTR m.\n", "a.zones PTR m.\ngroup.a.zones TXT g\n",
			"regroup m.=a.zones.cat.# m.=a.zones.cat.#g " },
	{ "no group", "a.zones PTR m.\ngroup.a.zones TXT g\n", "a.zones PTR m.\n",
			"regroup m.=a.zones.cat.#g m.=a.zones.cat.# " },
	{ "the same group with another TTL", "group.a.zones 1 TXT g\na.zones 1 PTR m.\n",
			"group.a.zones 2 TXT g\na.zones 2 PTR m.\n", "" },
	{ "several groups", "a.zones PTR m.\n", "a.zones PTR m.\ngroup.a.zones TXT z\ngroup.a.zones TXT y\n",
			"regroup m.=a.zones.cat.# m.=a.zones.cat.#y! (4 member zone has multiple groups defined, "
			"picking 'y') " },
	{ "a line in a group", "", "a.zones PTR m.\ngroup.a.zones TXT \"a\\010b\"\ngroup.a.zones TXT zzzz\n",
			"add m.=a.zones.cat.#a\nb! (4 member zone has multiple groups defined, picking 'a?b') " },
	{ "two ids for a member", "", "a.zones PTR m.\nb.zones PTR m.\n",
			"add m.=a.zones.cat.# keep m.=b.zones.cat.# m.=b.zones.cat.# (3 duplicate addition of the "
			"member node, ignoring) " },
	{ "both of them go", "a.zones PTR m.\nb.zones PTR m.\n", "",
			"remove m.=a.zones.cat.# keep m.=b.zones.cat.# m.=b.zones.cat.# (3 duplicate removal of the "
			"member zone, ignoring) " },
	{ "what was broken is mended", "a.zones PTR m.\na.zones PTR n.\n", "a.zones PTR n.\n",
			"add n.=a.zones.cat.# " },
	{ "order of wire names", "", "a.zones PTR mm.\nb.zones PTR z.\nc.zones PTR .\n",
			"add .=c.zones.cat.# add z.=b.zones.cat.# add mm.=a.zones.cat.# " },
};

static char *show_changes(catalog_set_t *before, catalog_set_t *after)
{
	char *got = NULL;
	size_t len;
	FILE *to = open_memstream(&got, &len);
	catalog_compare(before, after, print_change, to);
	fclose(to);
	catalog_set_done(before);
	catalog_set_done(after);
	return got;
}

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(change_rows); i++) {
		char text[512];
		snprintf(text, sizeof(text), HEAD "%s", change_rows[i].before);
		zone_contents_t *before = build(text);
		snprintf(text, sizeof(text), HEAD "%s", change_rows[i].after);
		zone_contents_t *after = build(text);
		catalog_set_t old = { 0 }, new = { 0 };
		assert_int_equal(catalog_read_diff(before, after, &old, &new), KNOT_OK);
		char *by_diff = show_changes(&old, &new);
		if (strcmp(by_diff, change_rows[i].want) != 0) {
			fail_msg("%s: %s", change_rows[i].what, by_diff);
		}
		/* The same from whole versions, where the old one can be read. */
		if (catalog_read(before, &old) == KNOT_OK) {
			assert_int_equal(catalog_read(after, &new), KNOT_OK);
			char *by_list = show_changes(&old, &new);
			assert_string_equal(by_list, by_diff);
			free(by_list);
		}
		catalog_set_done(&old);
		free(by_diff);
		zone_contents_free(before);
		zone_contents_free(after);
	}
}

static void test_bad_after(void **state)
{
	(void)state;
	zone_contents_t *before = build(HEAD "a.zones PTR m.\n");
	zone_contents_t *after = build(HEAD "a.zones PTR m.\na.zones PTR n.\n");
	catalog_set_t old = { 0 }, new = { 0 };
	assert_int_equal(catalog_read_diff(before, after, &old, &new), KNOT_EISRECORD);
	catalog_set_done(&old);
	catalog_set_done(&new);
	assert_int_equal(catalog_read_diff(NULL, before, &old, &new), KNOT_OK);
	assert_int_equal(old.count, 0);
	assert_int_equal(new.count, 1);
	catalog_set_done(&old);
	catalog_set_done(&new);
	zone_contents_free(before);
	zone_contents_free(after);
}

/* ---- Deciding ---- */

/* Members are "m." of id a or b; names of catalogs "cat." and "dog.". */
static const struct {
	const char *what, *before, *after; /* owner and group */
	const char *stored;                /* the same; NULL: not */
	bool is_configured;
	catalog_kind_t want;
	catalog_note_t note;
} decide_rows[] = {
	{ "new", NULL, "a.zones.cat.", NULL, false, CATALOG_ADD, CATALOG_NOTHING },
	{ "new, configured", NULL, "a.zones.cat.", NULL, true, CATALOG_KEEP, CATALOG_CONFIGURED },
	{ "configured and stored", NULL, "a.zones.cat.", "a.zones.cat.", true, CATALOG_KEEP, CATALOG_CONFIGURED },
	{ "of another catalog", NULL, "a.zones.cat.", "a.zones.dog.", false, CATALOG_KEEP, CATALOG_OTHER_CATALOG },
	{ "known at a start", NULL, "a.zones.cat.", "a.zones.cat.", false, CATALOG_KEEP, CATALOG_NOTHING },
	{ "known with another group", NULL, "a.zones.cat. g", "a.zones.cat. h", false, CATALOG_REGROUP,
			CATALOG_NOTHING },
	{ "known with another id", NULL, "a.zones.cat.", "b.zones.cat.", false, CATALOG_KEEP, CATALOG_ADDED_ALREADY },
	{ "removed", "a.zones.cat.", NULL, "a.zones.cat.", false, CATALOG_REMOVE, CATALOG_NOTHING },
	{ "removed, unknown", "a.zones.cat.", NULL, NULL, false, CATALOG_KEEP, CATALOG_REMOVED_UNKNOWN },
	{ "removed, configured", "a.zones.cat.", NULL, NULL, true, CATALOG_KEEP, CATALOG_NOTHING },
	{ "removed, configured and stored", "a.zones.cat.", NULL, "a.zones.cat.", true, CATALOG_KEEP, CATALOG_NOTHING },
	{ "another id, configured and stored", "a.zones.cat.", "b.zones.cat.", "a.zones.cat.", true, CATALOG_KEEP,
			CATALOG_CONFIGURED },
	{ "removed by the wrong catalog", "a.zones.cat.", NULL, "a.zones.dog.", false, CATALOG_KEEP,
			CATALOG_REMOVED_WRONG },
	{ "removed at the wrong id", "a.zones.cat.", NULL, "b.zones.cat.", false, CATALOG_KEEP, CATALOG_REMOVED_WRONG },
	{ "another id", "a.zones.cat.", "b.zones.cat.", "a.zones.cat.", false, CATALOG_RENEW, CATALOG_NOTHING },
	{ "another id, stored already", "a.zones.cat.", "b.zones.cat.", "b.zones.cat.", false, CATALOG_KEEP,
			CATALOG_NOTHING },
	{ "another id, a third one stored", "a.zones.cat.", "b.zones.cat.", "c.zones.cat.", false, CATALOG_KEEP,
			CATALOG_ADDED_ALREADY },
	{ "another id of the other catalog's", "a.zones.cat.", "b.zones.cat.", "a.zones.dog.", false, CATALOG_KEEP,
			CATALOG_OTHER_CATALOG },
	{ "another id, unknown", "a.zones.cat.", "b.zones.cat.", NULL, false, CATALOG_ADD, CATALOG_NOTHING },
	{ "another group", "a.zones.cat. g", "a.zones.cat. h", "a.zones.cat. g", false, CATALOG_REGROUP,
			CATALOG_NOTHING },
	{ "another group, unknown", "a.zones.cat. g", "a.zones.cat. h", NULL, false, CATALOG_ADD, CATALOG_NOTHING },
};

static catalog_member_t member_of(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	static const uint8_t m[] = "\1m";
	catalog_member_t member = { .member = knot_name_of(m) };
	if (text != NULL) {
		size_t len = strcspn(text, " ");
		assert_int_equal(knot_name_scan((knot_str_t){ text, len }, knot_name_root, wire, &member.owner),
				KNOT_OK);
		member.group = (knot_bytes_t){ (const uint8_t *)text + len, strlen(text + len) };
	}
	return member;
}

static void test_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(decide_rows); i++) {
		uint8_t before[KNOT_NAME_MAX], after[KNOT_NAME_MAX], stored[KNOT_NAME_MAX];
		catalog_change_t change = { .before = member_of(decide_rows[i].before, before),
			.after = member_of(decide_rows[i].after, after) };
		change.kind = decide_rows[i].before == NULL                           ? CATALOG_ADD
			      : decide_rows[i].after == NULL                          ? CATALOG_REMOVE
			      : knot_name_eq(change.before.owner, change.after.owner) ? CATALOG_REGROUP
										      : CATALOG_RENEW;
		catalog_facts_t facts = { .is_configured = decide_rows[i].is_configured,
			.is_stored = decide_rows[i].stored != NULL,
			.entry = member_of(decide_rows[i].stored, stored) };
		if (facts.is_stored) {
			facts.catalog = knot_name_strip(facts.entry.owner, 2);
		}
		catalog_change_t got = catalog_decide(&change, params.origin, &facts);
		if (got.kind != decide_rows[i].want || got.note != decide_rows[i].note) {
			fail_msg("%s: %s, note %d", decide_rows[i].what, kinds[got.kind], got.note);
		}
	}
}

/* ---- Lists ---- */

/* Random names, many of them equal in their first bytes: in order, and equal ones as they were added. */
static void test_sort(void **state)
{
	(void)state;
	uint64_t random = 20261122;
	catalog_set_t set = { 0 };
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t name[KNOT_NAME_MAX] = { 0 }, owner[KNOT_NAME_MAX] = { 4, i >> 8, i & 255, 'x', 'y' };
		random = random * 6364136223846793005 + 1442695040888963407;
		unsigned labels = random >> 60 & 3, pos = 0;
		for (unsigned k = 0; k < labels; k++) {
			unsigned len = 1 + (random >> (40 + 4 * k) & 7);
			name[pos] = (uint8_t)len;
			memset(name + pos + 1, random >> (20 + k) & 1 ? 0 : 'a', len);
			pos += 1 + len;
		}
		catalog_member_t member = { .member = knot_name_of(name), .owner = knot_name_of(owner) };
		assert_int_equal(catalog_set_put(&set, &member), KNOT_OK);
	}
	catalog_set_sort(&set);
	unsigned equal = 0;
	for (size_t i = 1; i < set.count; i++) {
		catalog_member_t a = catalog_set_get(&set, i - 1), b = catalog_set_get(&set, i);
		int order = catalog_cmp(a.member, b.member);
		assert_true(order < 0 || (order == 0 && memcmp(a.owner.wire, b.owner.wire, 3) < 0));
		equal += order == 0;
	}
	assert_true(equal > 1000);
	catalog_set_done(&set);
}

/* ---- Cost ---- */

static uint64_t cpu_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A member more costs about the same in a catalog of 100,000 as in one of 1,000: what differs is looked at. */
static void test_cost(void **state)
{
	(void)state;
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	fputs(HEAD, to);
	for (unsigned i = 0; i < 100000; i++) {
		fprintf(to, "id%u.zones 0 PTR m%u.example.\n", i, i);
	}
	fclose(to);
	zone_contents_t *before = build(text), *after;
	free(text);
	zone_txn_t *txn;
	static const uint8_t owner[] = "\3new\5zones\3cat", target[] = "\3new";
	assert_int_equal(zone_txn_begin(before, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, knot_name_of(owner), KNOT_TYPE_PTR, 0,
					 (knot_bytes_t){ target, sizeof(target) }),
			KNOT_OK);
	assert_int_equal(zone_txn_commit(txn, &after), KNOT_OK);
	catalog_set_t old = { 0 }, new = { 0 };
	uint64_t begin = cpu_us();
	assert_int_equal(catalog_read_diff(before, after, &old, &new), KNOT_OK);
	uint64_t diff_us = cpu_us() - begin;
	assert_int_equal(old.count, 0);
	assert_int_equal(new.count, 1);
	char *got = show_changes(&old, &new);
	assert_string_equal(got, "add new.=new.zones.cat.# ");
	free(got);
	begin = cpu_us();
	assert_int_equal(catalog_read(after, &new), KNOT_OK);
	uint64_t read_us = cpu_us() - begin;
	assert_int_equal(new.count, 100001);
	print_message("difference %llu us, all members %llu us\n", (unsigned long long)diff_us,
			(unsigned long long)read_us);
	assert_true(diff_us < read_us / 10);
	catalog_set_done(&new);
	zone_contents_free(before);
	zone_contents_free(after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_bad_after),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_cost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
