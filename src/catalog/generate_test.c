/* SPDX-License-Identifier: BSD-2-Clause */
/* Generated catalogs: ids as Knot's, and that edits change no more than they must. */
#include "src/catalog/generate.h"

#include "src/catalog/interpret.h"

#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\3gen\4test";
static const zone_build_params_t params = {
	.origin = { origin_wire, 10, 2 }, .default_ttl = 60, .checks = ZONE_CHECKS_ON
};
static const uint8_t own[] = "\3OWN\4test";

static catalog_listing_t listing(const char *group)
{
	return (catalog_listing_t){
		.member = knot_name_of(own), .since_s = 1795371952, .group = { (const uint8_t *)group, strlen(group) }
	};
}

/* What Knot DNS 3.2.6 called members that it had added at these times. */
static void test_id(void **state)
{
	(void)state;
	char id[CATALOG_ID_LEN];
	catalog_id(knot_name_of(own), 1795371952, id);
	assert_memory_equal(id, "4a283f027154bea7", sizeof(id));
	catalog_id(knot_name_of(own), 1795371828, id);
	assert_memory_equal(id, "fc86d8b84fb3104c", sizeof(id));
}

typedef struct {
	FILE *to;
	const char *sign;
} shown_t;

static bool show(const zone_rr_t *rr, void *ctx)
{
	shown_t *shown = ctx;
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX], *rdata = malloc(KNOT_RDATA_TEXT_MAX);
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	(void)knot_rdata_print(rr->type, rr->rdata, rdata, KNOT_RDATA_TEXT_MAX);
	fprintf(shown->to, "%s%s %u %s %s\n", shown->sign, owner, (unsigned)rr->ttl, type, rdata);
	free(rdata);
	return true;
}

static void check_diff(const zone_txn_t *txn, const char *want)
{
	char *got = NULL;
	size_t len;
	shown_t shown = { open_memstream(&got, &len), "-" };
	assert_int_equal(zone_txn_diff(txn, false, show, &shown), KNOT_OK);
	shown.sign = "+";
	assert_int_equal(zone_txn_diff(txn, true, show, &shown), KNOT_OK);
	fclose(shown.to);
	assert_string_equal(got, want);
	free(got);
}

static zone_txn_t *begin(const zone_contents_t *base)
{
	zone_txn_t *txn;
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	return txn;
}

static knot_name_t scan(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

#define ID "4a283f027154bea7.zones.gen.test."

static void test_generate(void **state)
{
	(void)state;
	zone_txn_t *txn = begin(NULL);
	catalog_listing_t plain = listing(""), group = listing("g x"), other = listing("h");
	assert_int_equal(catalog_put_head(txn, params.origin, 7), KNOT_OK);
	assert_int_equal(catalog_put_member(txn, params.origin, &group), KNOT_OK);
	check_diff(txn, "+gen.test. 0 NS invalid.\n+gen.test. 0 SOA invalid. invalid. 7 3600 600 2147483646 0\n"
			"+version.gen.test. 0 TXT \"2\"\n+" ID " 0 PTR own.test.\n+group." ID " 0 TXT \"g x\"\n");
	zone_contents_t *zone;
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	assert_int_equal(catalog_check(zone), KNOT_OK);

	txn = begin(zone);
	assert_int_equal(catalog_put_member(txn, params.origin, &group), KNOT_OK);
	assert_int_equal(catalog_put_head(txn, params.origin, 7), KNOT_OK);
	check_diff(txn, "");
	assert_int_equal(catalog_put_member(txn, params.origin, &other), KNOT_OK);
	check_diff(txn, "-group." ID " 0 TXT \"g x\"\n+group." ID " 0 TXT \"h\"\n");
	assert_int_equal(catalog_put_member(txn, params.origin, &plain), KNOT_OK);
	check_diff(txn, "-group." ID " 0 TXT \"g x\"\n");
	uint8_t owner[KNOT_NAME_MAX];
	const catalog_member_t listed = { .owner = scan(ID, owner) };
	assert_int_equal(catalog_drop_member(txn, &listed), KNOT_OK);
	check_diff(txn, "-" ID " 0 PTR own.test.\n-group." ID " 0 TXT \"g x\"\n");
	assert_int_equal(catalog_drop_member(txn, &listed), KNOT_OK);
	assert_int_equal(catalog_put_member(txn, params.origin, &group), KNOT_OK);
	check_diff(txn, "");
	zone_txn_discard(txn);
	zone_contents_free(zone);
}

/* ---- All members ---- */

static uint64_t since(knot_name_t member, void *ctx)
{
	(void)member, (void)ctx;
	return 1795371952;
}

static void gone(knot_name_t member, void *ctx)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(member, text);
	fprintf(ctx, "gone %s\n", text);
}

/* "member group, member group, ..." */
static void want_members(const char *text, catalog_set_t *ret_wanted)
{
	char name[64], group[64];
	int len;
	*ret_wanted = (catalog_set_t){ 0 };
	while (sscanf(text, "%63[^ ] %63[^,],%n", name, group, &len) == 2) {
		uint8_t wire[KNOT_NAME_MAX];
		bool has_group = strcmp(group, "-") != 0;
		const catalog_member_t member = { .member = scan(name, wire),
			.owner = knot_name_root,
			.group = { (const uint8_t *)group, has_group ? strlen(group) : 0 } };
		assert_int_equal(catalog_set_put(ret_wanted, &member), KNOT_OK);
		text += len;
	}
	assert_string_equal(text, "");
}

#define LISTED "version 0 TXT 2\na.zones 0 PTR a.\nb.zones 0 PTR b.\ngroup.b.zones 0 TXT g\n"

static const struct {
	const char *what, *current, *wanted, *want;
	knot_err_t err;
} list_rows[] = {
	{ "as it is", LISTED, "b. g,a. -,", "", KNOT_OK },
	{ "nothing is wanted", LISTED, "",
			"gone a.\ngone b.\n-a.zones.gen.test. 0 PTR a.\n-b.zones.gen.test. 0 PTR b.\n"
			"-group.b.zones.gen.test. 0 TXT \"g\"\n",
			KNOT_OK },
	{ "one goes, one comes", LISTED, "own.test. x,a. -,",
			"gone b.\n-b.zones.gen.test. 0 PTR b.\n"
			"-group.b.zones.gen.test. 0 TXT \"g\"\n+" ID " 0 PTR own.test.\n+group." ID " 0 TXT \"x\"\n",
			KNOT_OK },
	{ "a group comes, another goes", LISTED, "a. h,b. -,",
			"-group.b.zones.gen.test. 0 TXT \"g\"\n"
			"+group.a.zones.gen.test. 0 TXT \"h\"\n",
			KNOT_OK },
	{ "another group", LISTED, "a. -,b. h,",
			"-group.b.zones.gen.test. 0 TXT \"g\"\n"
			"+group.b.zones.gen.test. 0 TXT \"h\"\n",
			KNOT_OK },
	{ "two groups become one", LISTED "group.b.zones 0 TXT h\n", "a. -,b. g,",
			"-group.b.zones.gen.test. 0 TXT \"h\"\n", KNOT_OK },
	{ "listed twice", LISTED "c.zones 0 PTR a.\n", "a. -,b. g,", "-c.zones.gen.test. 0 PTR a.\n", KNOT_OK },
	{ "listed twice, and goes", LISTED "c.zones 0 PTR a.\n", "b. g,",
			"gone a.\n-a.zones.gen.test. 0 PTR a.\n-c.zones.gen.test. 0 PTR a.\n", KNOT_OK },
	{ "two members of an id", LISTED "a.zones 0 PTR c.\n", "", NULL, KNOT_EISRECORD },
};

static zone_contents_t *build_current(const char *text)
{
	char whole[512];
	snprintf(whole, sizeof(whole), "@ 0 SOA invalid. invalid. 1 2 3 4 5\n@ 0 NS invalid.\n%s", text);
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(whole), "text", &params, &zone), KNOT_OK);
	return zone;
}

static void test_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(list_rows); i++) {
		zone_contents_t *current = build_current(list_rows[i].current);
		zone_txn_t *txn = begin(current);
		catalog_set_t wanted;
		want_members(list_rows[i].wanted, &wanted);
		char *got = NULL;
		size_t len;
		shown_t shown = { open_memstream(&got, &len), "-" };
		const catalog_times_t times = { since, gone, shown.to };
		knot_err_t err = catalog_list_members(txn, params.origin, current, &wanted, &times);
		if (err == KNOT_OK) {
			assert_int_equal(zone_txn_diff(txn, false, show, &shown), KNOT_OK);
			shown.sign = "+";
			assert_int_equal(zone_txn_diff(txn, true, show, &shown), KNOT_OK);
		}
		fclose(shown.to);
		if (err != list_rows[i].err || (err == KNOT_OK && strcmp(got, list_rows[i].want) != 0)) {
			fail_msg("%s: %d\n%s", list_rows[i].what, err, got);
		}
		free(got);
		catalog_set_done(&wanted);
		zone_txn_discard(txn);
		zone_contents_free(current);
	}
}

/* A first version; what it lists is what was wanted, and listing that again changes nothing. */
static void test_list_first(void **state)
{
	(void)state;
	zone_txn_t *txn = begin(NULL);
	zone_contents_t *zone;
	catalog_set_t wanted, listed = { 0 };
	const catalog_times_t times = { since, gone, stderr };
	want_members("z.test. -,own.test. g,", &wanted);
	assert_int_equal(catalog_put_head(txn, params.origin, 7), KNOT_OK);
	assert_int_equal(catalog_list_members(txn, params.origin, NULL, &wanted, &times), KNOT_OK);
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	assert_int_equal(catalog_check(zone), KNOT_OK);
	assert_int_equal(catalog_read(zone, &listed), KNOT_OK);
	assert_int_equal(listed.count, 2);
	txn = begin(zone);
	assert_int_equal(catalog_list_members(txn, params.origin, zone, &wanted, &times), KNOT_OK);
	check_diff(txn, "");
	zone_txn_discard(txn);
	catalog_set_done(&wanted);
	catalog_set_done(&listed);
	zone_contents_free(zone);
}

/* A catalog whose own name leaves no room for those of members. */
static void test_long_name(void **state)
{
	(void)state;
	uint8_t wire[KNOT_NAME_MAX] = { 0 };
	for (unsigned i = 0; i < 3; i++) {
		wire[64 * i] = 63;
		memset(wire + 64 * i + 1, 'a', 63);
	}
	wire[192] = 40;
	memset(wire + 193, 'b', 40);
	knot_name_t name = knot_name_of(wire);
	zone_build_params_t long_params = params;
	long_params.origin = name;
	zone_txn_t *txn;
	assert_int_equal(zone_txn_begin(NULL, &long_params, &txn), KNOT_OK);
	assert_int_equal(catalog_put_head(txn, name, 7), KNOT_OK);
	catalog_listing_t plain = listing("");
	assert_int_equal(catalog_put_member(txn, name, &plain), KNOT_EOUTOFZONE);
	zone_txn_discard(txn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_generate),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_first),
		cmocka_unit_test(test_long_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
