/* SPDX-License-Identifier: BSD-2-Clause */
/* Differences of versions: what is shown in which order, and what it costs. patch_test compares random versions. */
#include "src/zone/diff.h"

#include "src/zone/txn.h"

#include "libknot/rr/rrtype.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

#define SOA            "@ 60 SOA m r %u 2 3 4 5\n"
#define SOA_OF(serial) "@ 60 SOA m r " #serial " 2 3 4 5\n"

static zone_contents_t *build(const char *text)
{
	zone_contents_t *zone;
	assert_int_equal(zone_build_text(knot_str_of(text), "text", &params, &zone), KNOT_OK);
	return zone;
}

typedef struct {
	FILE *to;
	unsigned count, end; /* records, and with how many to end */
} shown_t;

static bool show(const zone_rr_t *rr, bool is_added, void *ctx)
{
	shown_t *shown = ctx;
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	knot_rrtype_print(rr->type, type);
	fprintf(shown->to, "%s %s %u %s %02x\n", is_added ? "+" : "-", owner, (unsigned)rr->ttl, type,
			rr->rdata.data[rr->rdata.len - 1]);
	shown->count++;
	return shown->count != shown->end;
}

static void check(const zone_contents_t *before, const zone_contents_t *after, unsigned end, const char *want)
{
	char *text = NULL;
	size_t len;
	shown_t shown = { .to = open_memstream(&text, &len), .end = end };
	assert_non_null(shown.to);
	assert_int_equal(zone_diff(before, after, show, &shown), KNOT_OK);
	fclose(shown.to);
	assert_string_equal(text, want);
	free(text);
}

/* Names below a new delegation change trees, not records. */
static void test_order(void **state)
{
	(void)state;
	zone_contents_t *a = build("@ 60 SOA m r 1 2 3 4 5\nb.x 60 A 192.0.2.1\nb.x 60 A 192.0.2.2\n"
				   "b.x 60 TXT a\nc.x 60 A 192.0.2.3\na 60 A 192.0.2.4\nz 60 A 192.0.2.5\n");
	zone_contents_t *b = build("@ 60 SOA m r 1 2 3 4 5\nx 60 NS b.x\nb.x 30 A 192.0.2.1\nb.x 30 A 192.0.2.3\n"
				   "b.x 60 TXT a\nc.x 60 A 192.0.2.3\nd.e 60 A 192.0.2.5\nz 60 A 192.0.2.5\n");
	check(a, b, 0,
			"- a.zone. 60 A 04\n"
			"+ d.e.zone. 60 A 05\n"
			"+ x.zone. 60 NS 00\n"
			"- b.x.zone. 60 A 01\n"
			"- b.x.zone. 60 A 02\n"
			"+ b.x.zone. 30 A 01\n"
			"+ b.x.zone. 30 A 03\n");
	check(b, a, 2,
			"+ a.zone. 60 A 04\n"
			"- d.e.zone. 60 A 05\n");
	check(a, a, 0, "");
	zone_contents_free(a);
	zone_contents_free(b);
}

static void test_empty(void **state)
{
	(void)state;
	zone_contents_t *zone = build("@ 60 SOA m r 1 2 3 4 5\na.b 60 A 192.0.2.1\n");
	check(NULL, zone, 0, "+ zone. 60 SOA 05\n+ a.b.zone. 60 A 01\n");
	check(zone, NULL, 0, "- zone. 60 SOA 05\n- a.b.zone. 60 A 01\n");
	check(NULL, NULL, 0, "");
	zone_contents_free(zone);
}

/* An owner of a chain may have other records, too: they are shown together. */
static void test_chain(void **state)
{
	(void)state;
#define CHAIN                                                                                                          \
	"@ 60 SOA m r 1 2 3 4 5\n@ 60 NSEC3PARAM 1 0 0 -\n"                                                            \
	"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 NSEC3 1 1 0 - 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom A\n"
	zone_contents_t *a = build(CHAIN "z 60 A 192.0.2.1\n");
	zone_contents_t *b = build(CHAIN "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 A 192.0.2.2\n");
	zone_contents_t *c = build("@ 60 SOA m r 1 2 3 4 5\n0p9mhaveqvm6t7vbl5lop2u3t2rp3tom 60 A 192.0.2.2\n");
	check(a, b, 0,
			"+ 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.zone. 60 A 02\n"
			"- z.zone. 60 A 01\n");
	check(b, c, 0,
			"- zone. 60 NSEC3PARAM 00\n"
			"- 0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.zone. 60 NSEC3 40\n");
	zone_contents_free(a);
	zone_contents_free(b);
	zone_contents_free(c);
}

/* ---- Cost ---- */

static zone_contents_t *build_large(unsigned names)
{
	char *text = NULL;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	assert_non_null(to);
	fprintf(to, SOA, 1);
	for (unsigned i = 0; i < names; i++) {
		fprintf(to, "name-%u 60 A 192.0.2.%u\n", i * 7919, i % 250);
	}
	fclose(to);
	zone_contents_t *zone = build(text);
	free(text);
	return zone;
}

static void test_differs(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after;
		bool at_all, but_serial;
	} rows[] = {
		{ SOA_OF(1) "a 60 A 192.0.2.1\n", SOA_OF(1) "a 60 A 192.0.2.1\n", false, false },
		{ SOA_OF(1) "a 60 A 192.0.2.1\n", SOA_OF(7) "a 60 A 192.0.2.1\n", true, false },
		{ SOA_OF(1) "a 60 A 192.0.2.1\n", SOA_OF(7) "a 61 A 192.0.2.1\n", true, true },
		{ SOA_OF(1) "a 60 A 192.0.2.1\n", SOA_OF(1) "b 60 A 192.0.2.1\n", true, true },
		{ SOA_OF(1), "@ 60 SOA m r 7 2 3 4 6\n", true, true },
		{ SOA_OF(1), "@ 61 SOA m r 7 2 3 4 5\n", true, true },
		{ SOA_OF(1), "@ 60 SOA m rr 7 2 3 4 5\n", true, true },
		{ SOA_OF(1) "a 60 A 192.0.2.1\n", NULL, true, true },
		{ SOA_OF(1), NULL, true, true },
		{ NULL, SOA_OF(1), true, true },
		{ NULL, NULL, false, false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		zone_contents_t *before = rows[i].before != NULL ? build(rows[i].before) : NULL;
		zone_contents_t *after = rows[i].after != NULL ? build(rows[i].after) : NULL;
		bool at_all, but_serial;
		assert_int_equal(zone_differs(before, after, ZONE_DIFFERS_AT_ALL, &at_all), KNOT_OK);
		assert_int_equal(zone_differs(before, after, ZONE_DIFFERS_BUT_SERIAL, &but_serial), KNOT_OK);
		assert_true(at_all == rows[i].at_all && but_serial == rows[i].but_serial);
		zone_contents_free(before);
		zone_contents_free(after);
	}
}

static zone_contents_t *change_one(const zone_contents_t *base)
{
	static uint8_t wire[] = "\6name-0\4zone", rdata[] = { 198, 51, 100, 1 };
	zone_txn_t *txn;
	zone_contents_t *zone;
	knot_name_t owner = { wire, sizeof(wire), 2 };
	assert_int_equal(zone_txn_begin(base, &params, &txn), KNOT_OK);
	assert_int_equal(zone_txn_put(txn, owner, KNOT_TYPE_A, 60, (knot_bytes_t){ rdata, sizeof(rdata) }), KNOT_OK);
	assert_int_equal(zone_txn_build(txn, base, &params, &zone), KNOT_OK);
	zone_txn_discard(txn);
	return zone;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The least of some runs: others use the machine, too. */
static uint64_t measure(const zone_contents_t *before, const zone_contents_t *after)
{
	uint64_t least = UINT64_MAX;
	for (unsigned i = 0; i < 5; i++) {
		uint64_t begin = cpu_ns();
		check(before, after, 0, "+ name-0.zone. 60 A 01\n");
		uint64_t took = cpu_ns() - begin;
		least = took < least ? took : least;
	}
	return least;
}

static void test_cost(void **state)
{
	(void)state;
	zone_contents_t *base = build_large(30000), *next = change_one(base), *apart = build_large(30000);
	uint64_t shared = measure(base, next), whole = measure(apart, next);
	print_message("one record among 30000: %llu ns where the versions share memory, %llu ns where they don't\n",
			(unsigned long long)shared, (unsigned long long)whole);
	assert_true(shared < whole / 20);
	zone_contents_free(base);
	zone_contents_free(next);
	zone_contents_free(apart);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_empty),
		cmocka_unit_test(test_chain), cmocka_unit_test(test_differs), cmocka_unit_test(test_cost) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
