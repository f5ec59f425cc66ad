/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signing a change against signing the whole: random records come and go in a zone full of cuts, glue, wildcards and
 * empty non-terminals; after each change the zone must be, but for times and bytes of signatures, the one that is
 * signed from scratch, and signing it again with all signatures verified must find nothing to do. KNOT_SEED=n replays.
 */
#include "src/sign/sign.h"

#include "libknot/text/zonefile.h"
#include "src/sign/rdata.h"
#include "src/zone/dump_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { NOW_S = 1700000000, LIFETIME_S = 14 * 86400, ROUNDS = 12, CHANGES = 25 };

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

#define LABELS_OF_63                                                                                                   \
	"mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm."                                             \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define LONG_NAME                                                                                                      \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk."                                                    \
	"lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll." LABELS_OF_63

static const char *const lines[] = {
	"@ 60 NS ns",
	"@ 60 NS ns.cut",
	"@ 60 MX 5 NS.Cut",
	"ns 60 A 192.0.2.1",
	"ns 30 AAAA 2001:db8::1",
	"cut 60 NS ns.cut",
	"cut 60 NS ns.other",
	"cut 60 A 192.0.2.2",
	"cut 60 DS 1 8 1 AA",
	"ns.cut 60 A 192.0.2.3",
	"ns.cut 60 A 192.0.2.4",
	"ns.cut 60 AAAA 2001:db8::2",
	"a.b.cut 60 TXT x",
	"b.cut 60 NS ns.b.cut",
	"b.cut 60 DS 1 8 1 BB",
	"other 60 NS ns.cut",
	"other 60 NS ns.other",
	"other 60 TYPE61440 \\# 1 00",
	"ns.other 60 A 192.0.2.5",
	"b.ns.other 60 NS x.",
	"* 60 A 192.0.2.6",
	"*.w 60 A 192.0.2.7",
	"*.w 60 NS x.",
	"w 60 MX 10 x.w",
	"w 60 MX 20 ns.cut",
	"a.b.c.d 60 TXT deep",
	"z.b.c.d 60 NS ns",
	"z.b.c.d 60 DS 1 8 1 CC",
	"b.c.d 60 NS ns",
	"c.d 60 TXT up",
	"x.y.e 60 NS ns",
	"w.y.e 60 NS ns",
	"v.v.v.e 60 NS ns",
	"v.v.v.e 60 DS 1 8 1 DD",
	"SRV 60 SRV 1 2 3 ns",
	"srv 60 TYPE1234 \\# 0",
	"srv 60 TYPE65280 \\# 2 0102",
	"dn 60 DNAME ns.out.",
	"cn 60 CNAME W",
	"a.b.dn 60 TXT below",
	"@ 60 DS 1 8 1 EE",
	"* 60 NS x.",
	/* Names of 255 octets in labels of 63. */
	LONG_NAME " 60 A 192.0.2.8",
	LONG_NAME " 60 NS ns",
	LABELS_OF_63 " 60 TXT long",
	/* The hashes of ns with the salts of plan_of(): NSEC3 records have the owner of others. */
	"qf2m94t84v0hkcdn1i54ujqadta1fcqi 60 TXT hash",
	"qf2m94t84v0hkcdn1i54ujqadta1fcqi 60 NS ns",
	"x.qf2m94t84v0hkcdn1i54ujqadta1fcqi 60 A 192.0.2.9",
	"QKLHPM38KCRF63N0RH5F4799EPP6TQ5N 60 TXT hash",
	"x.qklhpm38kcrf63n0rh5f4799epp6tq5n 60 DS 1 8 1 FF",
	"x.qklhpm38kcrf63n0rh5f4799epp6tq5n 60 NS ns",
};

typedef struct {
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint16_t type;
	uint32_t ttl;
	uint8_t rdata[100];
	size_t rdata_len;
} record_t;

static record_t records[KNOT_LEN(lines)];
static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static bool keep_record(const knot_zone_record_t *record, void *ctx)
{
	record_t *to = ctx;
	memcpy(to->owner_wire, record->owner.wire, record->owner.len);
	to->owner = (knot_name_t){ to->owner_wire, record->owner.len, record->owner.label_count };
	to->type = record->type;
	to->ttl = record->ttl;
	to->rdata_len = record->rdata.len;
	assert_true(record->rdata.len <= sizeof(to->rdata));
	memcpy(to->rdata, record->rdata.data, record->rdata.len);
	return true;
}

static dnssec_key_t *ksk, *zsk, *old_zsk;
static sign_key_t keys[2];
static knot_bytes_t dnskeys[2];

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		char line[400];
		int len = snprintf(line, sizeof(line), "%s\n", lines[i]);
		knot_zonefile_params_t scan = {
			.origin = origin, .default_ttl = 60, .on_record = keep_record, .ctx = &records[i]
		};
		assert_int_equal(knot_zonefile_scan_text((knot_str_t){ line, (size_t)len }, lines[i], &scan), KNOT_OK);
		assert_int_not_equal(records[i].owner.len, 0);
	}
	assert_int_equal(dnssec_key_generate(13, 256, 257, &ksk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(13, 256, 256, &zsk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(13, 256, 256, &old_zsk), KNOT_OK);
	keys[0] = (sign_key_t){ ksk, true, false };
	keys[1] = (sign_key_t){ zsk, false, true };
	dnskeys[0] = dnssec_key_rdata(ksk);
	dnskeys[1] = dnssec_key_rdata(zsk);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dnssec_key_free(ksk);
	dnssec_key_free(zsk);
	dnssec_key_free(old_zsk);
	return 0;
}

static sign_plan_t plan_of(sign_chain_t chain, bool is_opt_out)
{
	static const uint8_t salt[] = { 0xAB, 0xCD };
	return (sign_plan_t){ .keys = keys,
		.key_count = KNOT_LEN(keys),
		.dnskey = { .ttl = 3600, .rdatas = dnskeys, .rdata_count = KNOT_LEN(dnskeys) },
		.chain = chain,
		.nsec3 = { .algorithm = 1,
				.salt_len = is_opt_out ? 0 : 2,
				.iterations = is_opt_out ? 0 : 3,
				.salt = salt },
		.is_opt_out = is_opt_out,
		.now_s = NOW_S,
		.lifetime_s = LIFETIME_S,
		.refresh_s = 86400,
		.thread_count = 2 };
}

/* ---- What a zone has, in lines ---- */

typedef struct {
	char *lines[1200]; /* owned */
	size_t count;
} listing_t;

static bool list_rr(const zone_rr_t *rr, void *ctx)
{
	listing_t *list = ctx;
	char owner[KNOT_NAME_TEXT_MAX];
	knot_name_print(rr->owner, owner);
	size_t max = strlen(owner) + 40 + 2 * rr->rdata.len;
	char *line = malloc(max);
	assert_non_null(line);
	size_t len = (size_t)snprintf(line, max, "%s %u %u ", owner, (unsigned)rr->ttl, rr->type);
	for (size_t i = 0; i < rr->rdata.len; i++) {
		bool is_hidden = rr->type == KNOT_TYPE_RRSIG &&
				 ((i >= SIGN_RRSIG_EXPIRATION_OFF && i < SIGN_RRSIG_TAG_OFF) ||
						 i >= (size_t)SIGN_RRSIG_SIGNER_OFF + origin.len);
		len += (size_t)snprintf(line + len, max - len, "%02x", is_hidden ? 0 : rr->rdata.data[i]);
	}
	assert_true(list->count < KNOT_LEN(list->lines));
	list->lines[list->count++] = line;
	return true;
}

static int cmp_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_zone(const zone_contents_t *zone, listing_t *list)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	list->count = 0;
	assert_true(zone_each_record(zone, scratch, list_rr, list));
	qsort(list->lines, list->count, sizeof(*list->lines), cmp_lines);
}

static void free_listing(listing_t *list)
{
	while (list->count > 0) {
		free(list->lines[--list->count]);
	}
}

static void assert_same(const zone_contents_t *zone, const zone_contents_t *want, const char *what)
{
	listing_t a, b;
	list_zone(zone, &a);
	list_zone(want, &b);
	for (size_t i = 0; i < a.count || i < b.count; i++) {
		const char *line = i < a.count ? a.lines[i] : "(end)", *wanted = i < b.count ? b.lines[i] : "(end)";
		if (strcmp(line, wanted) != 0) {
			fail_msg("%s: has\n  %s\nshould have\n  %s", what, line, wanted);
		}
	}
	free_listing(&a);
	free_listing(&b);
}

/* ---- Zones ---- */

static void put_soa(zone_txn_t *txn, uint8_t minimum)
{
	uint8_t rdata[] = "\1m\0\1r\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
	rdata[sizeof(rdata) - 1] = minimum;
	knot_err_t err = zone_txn_remove_all(txn, origin, KNOT_TYPE_SOA);
	assert_true(err == KNOT_OK || err == KNOT_ENONODE);
	assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_SOA, 60, (knot_bytes_t){ rdata, sizeof(rdata) }), KNOT_OK);
}

static void put_record(zone_txn_t *txn, const record_t *r)
{
	knot_err_t err = zone_txn_put(txn, r->owner, r->type, r->ttl, (knot_bytes_t){ r->rdata, r->rdata_len });
	assert_true(err == KNOT_OK || err == KNOT_EISRECORD);
}

static zone_contents_t *build_plain(const bool *is_in, uint8_t minimum)
{
	zone_txn_t *txn;
	zone_contents_t *zone;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	put_soa(txn, minimum);
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		if (is_in[i]) {
			put_record(txn, &records[i]);
		}
	}
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

/* The zone is gone. */
static zone_contents_t *sign(zone_contents_t *zone, const sign_plan_t *plan, sign_result_t *ret_result)
{
	zone_txn_t *txn;
	zone_contents_t *signed_zone;
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	assert_int_equal(sign_zone(txn, NULL, plan, ret_result), KNOT_OK);
	assert_int_equal(zone_txn_commit(txn, &signed_zone), KNOT_OK);
	zone_contents_free(zone);
	return signed_zone;
}

/* Takes what a sink gets to a builder, and to a file. */
typedef struct {
	zone_builder_t *builder;
	zone_dump_parts_t *parts;
} both_t;

static knot_err_t put_both(void *ctx, const zone_rr_t *rr)
{
	const both_t *both = ctx;
	assert_int_equal(zone_dump_parts_put(both->parts, rr), KNOT_OK);
	return sign_to_builder(both->builder).put(both->builder, rr);
}

static void assert_same_file(FILE *is, FILE *want)
{
	char line[1000], want_line[1000];
	rewind(is);
	rewind(want);
	while (fgets(want_line, sizeof(want_line), want) != NULL) {
		assert_non_null(fgets(line, sizeof(line), is));
		assert_string_equal(line, want_line);
	}
	assert_null(fgets(line, sizeof(line), is));
}

/* What is signed into a builder. To a file it gives the same one that the version is written to. */
static zone_contents_t *sign_by_builder(zone_contents_t *zone, const sign_plan_t *plan, sign_result_t *ret_result)
{
	zone_txn_t *txn;
	zone_contents_t *signed_zone;
	const zone_dump_params_t how = { .program = "test" };
	FILE *file = tmpfile(), *want = tmpfile();
	both_t both = { .builder = zone_builder_new(origin) };
	const sign_sink_t sink = { put_both, &both };
	assert_non_null(both.builder);
	assert_non_null(file);
	assert_non_null(want);
	assert_int_equal(zone_dump_parts_begin(fileno(file), "/tmp", &how, &both.parts), KNOT_OK);
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	assert_int_equal(sign_zone(txn, &sink, plan, ret_result), KNOT_OK);
	zone_txn_discard(txn);
	zone_contents_free(zone);
	assert_int_equal(zone_builder_finish(both.builder, &params, &signed_zone), KNOT_OK);
	assert_int_equal(zone_dump_parts_end(both.parts), KNOT_OK);
	assert_int_equal(zone_dump(signed_zone, fileno(want), &how), KNOT_OK);
	assert_same_file(file, want);
	zone_dump_parts_free(both.parts);
	fclose(file);
	fclose(want);
	return signed_zone;
}

static void assert_unchanged(const zone_contents_t *zone, const sign_plan_t *plan)
{
	zone_txn_t *txn;
	sign_result_t result;
	knot_err_t err;
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	assert_int_equal(sign_zone(txn, NULL, plan, &result), KNOT_OK);
	assert_int_equal(result.rrsig_count, 0);
	assert_false(result.is_changed);
	assert_false(zone_txn_is_changed(txn, &err));
	zone_txn_discard(txn);
}

static void draw_records(bool *is_in)
{
	unsigned share = 1 + draw(9);
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		is_in[i] = draw(10) < share;
	}
}

static zone_contents_t *change(zone_contents_t *zone, bool *is_in, const sign_plan_t *plan)
{
	zone_txn_t *txn;
	zone_contents_t *next;
	sign_result_t result;
	bool is_all;
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	for (unsigned n = 1 + draw(4); n > 0; n--) {
		unsigned i = draw(KNOT_LEN(lines));
		const record_t *r = &records[i];
		if (draw(2)) {
			put_record(txn, r);
			is_in[i] = true;
		} else {
			knot_err_t want = is_in[i] ? KNOT_OK : KNOT_ENORECORD;
			assert_int_equal(zone_txn_remove(txn, r->owner, r->type,
							 (knot_bytes_t){ r->rdata, r->rdata_len }),
					want);
			is_in[i] = false;
		}
	}
	assert_int_equal(sign_change(txn, plan, &is_all, &result), KNOT_OK);
	assert_false(is_all);
	assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
	zone_contents_free(zone);
	return next;
}

typedef struct {
	const char *name;
	sign_chain_t chain;
	bool is_opt_out;
} kind_t;

static const kind_t kinds[] = {
	{ "NSEC", SIGN_CHAIN_NSEC, false },
	{ "NSEC3", SIGN_CHAIN_NSEC3, false },
	{ "NSEC3 with opt-out", SIGN_CHAIN_NSEC3, true },
};

static void test_change_as_whole(void **state)
{
	(void)state;
	const char *seed = getenv("KNOT_SEED");
	for (unsigned round = 0; round < ROUNDS * KNOT_LEN(kinds); round++) {
		const kind_t *kind = &kinds[round % KNOT_LEN(kinds)];
		random_state = (seed != NULL ? strtoull(seed, NULL, 0) : 1) + round;
		sign_plan_t plan = plan_of(kind->chain, kind->is_opt_out);
		bool is_in[KNOT_LEN(lines)];
		char what[100];
		sign_result_t result;
		draw_records(is_in);
		zone_contents_t *zone = sign(build_plain(is_in, 30), &plan, &result);
		assert_true(result.is_changed);
		zone_contents_t *other = sign_by_builder(build_plain(is_in, 30), &plan, &result);
		snprintf(what, sizeof(what), "%s, seed %llu, builder", kind->name, (unsigned long long)random_state);
		assert_same(other, zone, what);
		zone_contents_free(other);
		for (unsigned i = 0; i < CHANGES; i++) {
			snprintf(what, sizeof(what), "%s, round %u, change %u", kind->name, round, i);
			zone = change(zone, is_in, &plan);
			other = sign(build_plain(is_in, 30), &plan, &result);
			assert_same(zone, other, what);
			zone_contents_free(other);
			assert_unchanged(zone, &plan);
		}
		zone_contents_free(zone);
	}
}

/* ---- Other plans for a signed zone ---- */

/* Another chain takes the place of the one that is there, whichever these are. */
static void test_other_chain(void **state)
{
	(void)state;
	bool is_in[KNOT_LEN(lines)];
	random_state = 7;
	draw_records(is_in);
	for (size_t from = 0; from < KNOT_LEN(kinds); from++) {
		for (size_t to = 0; to < KNOT_LEN(kinds); to++) {
			sign_plan_t first = plan_of(kinds[from].chain, kinds[from].is_opt_out);
			sign_plan_t then = plan_of(kinds[to].chain, kinds[to].is_opt_out);
			sign_result_t result;
			zone_contents_t *want = sign(build_plain(is_in, 30), &then, &result);
			zone_contents_t *zone = sign(build_plain(is_in, 30), &first, &result);
			zone = sign(zone, &then, &result);
			assert_int_equal(result.is_changed, from != to);
			assert_same(zone, want, kinds[to].name);
			zone = sign(zone, &first, &result);
			zone = sign_by_builder(zone, &then, &result);
			assert_int_equal(result.is_changed, from != to);
			assert_same(zone, want, kinds[to].name);
			zone_contents_free(zone);
			zone_contents_free(want);
		}
	}
}

/* What a change says that others depend on makes it sign all: the TTL of the chain, keys, records of a chain. */
static void test_change_of_all(void **state)
{
	(void)state;
	static const uint8_t nsec[] = { 0, 0, 1, 0x40 };
	const struct {
		const char *what;
		bool is_all;
		uint16_t type; /* of a record that is put; 0: none */
		const uint8_t *rdata;
		size_t rdata_len;
		uint8_t minimum;
		bool has_other_chain;
	} rows[] = {
		{ "nothing", false, 0, NULL, 0, 30, false },
		{ "a SOA with another minimum", true, 0, NULL, 0, 29, false },
		{ "another chain is planned", true, 0, NULL, 0, 30, true },
		{ "an NSEC", true, KNOT_TYPE_NSEC, nsec, sizeof(nsec), 30, false },
		{ "a DNSKEY", true, KNOT_TYPE_DNSKEY, (const uint8_t *)"\1\0\3\15abc", 7, 30, false },
		{ "a CDS, which the plan doesn't want", false, KNOT_TYPE_CDS, (const uint8_t *)"\0\1\15\2abc", 7, 30,
				false },
		{ "an NSEC3PARAM", true, KNOT_TYPE_NSEC3PARAM, (const uint8_t *)"\1\0\0\0\0", 5, 30, false },
	};
	bool is_in[KNOT_LEN(lines)];
	random_state = 8;
	draw_records(is_in);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC, false), then = plan;
		sign_result_t result;
		zone_txn_t *txn;
		zone_contents_t *next, *zone = sign(build_plain(is_in, 30), &plan, &result);
		bool is_all;
		then.chain = rows[i].has_other_chain ? SIGN_CHAIN_NSEC3 : SIGN_CHAIN_NSEC;
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		put_soa(txn, rows[i].minimum);
		if (rows[i].type != 0) {
			assert_int_equal(zone_txn_put(txn, origin, rows[i].type, 60,
							 (knot_bytes_t){ rows[i].rdata, rows[i].rdata_len }),
					KNOT_OK);
		}
		print_message("%s\n", rows[i].what);
		assert_int_equal(sign_change(txn, &then, &is_all, &result), KNOT_OK);
		assert_int_equal(is_all, rows[i].is_all);
		assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
		zone_contents_t *want = sign(build_plain(is_in, rows[i].minimum), &then, &result);
		assert_same(next, want, rows[i].what);
		zone_contents_free(want);
		zone_contents_free(next);
		zone_contents_free(zone);
	}
}

/* A key that signs no more: its signatures go, and those of the new one come, with its DNSKEY. */
static void test_other_key(void **state)
{
	(void)state;
	bool is_in[KNOT_LEN(lines)];
	random_state = 9;
	draw_records(is_in);
	const sign_key_t old_keys[] = { { ksk, true, false }, { old_zsk, false, true } };
	const knot_bytes_t all[] = { dnskeys[0], dnskeys[1], dnssec_key_rdata(old_zsk) };
	for (unsigned trusts = 0; trusts < 2; trusts++) {
		sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC3, true), first = plan;
		sign_result_t result;
		first.keys = old_keys;
		first.dnskey.rdatas = all + 1;
		zone_contents_t *want = sign(build_plain(is_in, 30), &plan, &result);
		uint64_t rrsig_count = result.rrsig_count;
		zone_contents_t *zone = sign(build_plain(is_in, 30), &first, &result);
		plan.trusts_signatures = trusts;
		zone = sign(zone, &plan, &result);
		assert_int_equal(result.rrsig_count, rrsig_count);
		assert_same(zone, want, "another key");
		zone_contents_free(zone);
		zone_contents_free(want);
	}
}

static unsigned count_type(const zone_contents_t *zone, uint16_t type)
{
	const zone_rrset_t *set = zone_node_rrset(&zone->arena, zone->apex, type);
	return set != NULL ? zone_rrset_rr_count(set) : 0;
}

/* The three ways to manage keys' records, with a foreign DNSKEY, one of ours that is to go, and a missing one. */
static void test_key_sets(void **state)
{
	(void)state;
	const struct {
		const char *what;
		sign_manages_t manages;
		unsigned dnskey_count;
		bool has_foreign, has_old, has_cds;
	} rows[] = {
		{ "full", SIGN_MANAGES_FULL, 2, false, false, true },
		{ "incremental", SIGN_MANAGES_INCREMENTAL, 3, true, false, true },
		{ "none", SIGN_MANAGES_NONE, 3, true, true, false },
	};
	static const uint8_t foreign[] = "\1\0\3\10foreign";
	const knot_bytes_t there[] = { { foreign, sizeof(foreign) }, dnssec_key_rdata(old_zsk), dnskeys[0] };
	const knot_bytes_t cds = { (const uint8_t *)"\0\1\15\2abc", 7 };
	bool is_in[KNOT_LEN(lines)] = { false };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC, false);
		sign_result_t result;
		zone_txn_t *txn;
		zone_contents_t *zone = build_plain(is_in, 30), *signed_zone;
		plan.manages = rows[i].manages;
		plan.dnskey.gone = &there[1];
		plan.dnskey.gone_count = 1;
		plan.cds = (sign_key_set_t){ .ttl = 0, .rdatas = &cds, .rdata_count = 1 };
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		for (size_t k = 0; k < KNOT_LEN(there); k++) {
			assert_int_equal(zone_txn_put(txn, origin, KNOT_TYPE_DNSKEY, 1, there[k]), KNOT_OK);
		}
		print_message("%s\n", rows[i].what);
		assert_int_equal(sign_zone(txn, NULL, &plan, &result), KNOT_OK);
		assert_int_equal(zone_txn_remove(txn, origin, KNOT_TYPE_DNSKEY, there[0]),
				rows[i].has_foreign ? KNOT_OK : KNOT_ENORECORD);
		assert_int_equal(zone_txn_remove(txn, origin, KNOT_TYPE_DNSKEY, there[1]),
				rows[i].has_old ? KNOT_OK : KNOT_ENORECORD);
		uint32_t ttl;
		assert_int_equal(zone_txn_find_ttl(txn, origin, KNOT_TYPE_DNSKEY, &ttl), KNOT_OK);
		assert_int_equal(ttl, rows[i].manages == SIGN_MANAGES_NONE ? 1 : 3600);
		assert_int_equal(zone_txn_commit(txn, &signed_zone), KNOT_OK);
		assert_int_equal(count_type(signed_zone, KNOT_TYPE_DNSKEY),
				rows[i].dnskey_count - rows[i].has_foreign - rows[i].has_old);
		assert_int_equal(count_type(signed_zone, KNOT_TYPE_CDS), rows[i].has_cds);
		zone_contents_free(signed_zone);
		zone_contents_free(zone);
	}
}

/* Signatures of the version are believed if the plan says so, but not those of names that were touched otherwise. */
static void test_trust(void **state)
{
	(void)state;
	bool is_in[KNOT_LEN(lines)];
	random_state = 11;
	draw_records(is_in);
	is_in[3] = true; /* ns A */
	sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC, false);
	sign_result_t result;
	zone_contents_t *zone = sign(build_plain(is_in, 30), &plan, &result);
	for (unsigned trusts = 0; trusts < 2; trusts++) {
		zone_txn_t *txn;
		zone_contents_t *wrong;
		uint8_t rdata[] = { 192, 0, 2, 99 };
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		assert_int_equal(zone_txn_put(txn, records[3].owner, KNOT_TYPE_A, 60, (knot_bytes_t){ rdata, 4 }),
				KNOT_OK);
		plan.trusts_signatures = true;
		assert_int_equal(zone_txn_build(txn, zone, &params, &wrong), KNOT_OK); /* with a wrong signature */
		assert_int_equal(sign_zone(txn, NULL, &plan, &result), KNOT_OK);
		assert_int_equal(result.rrsig_count, 1); /* the touched name is looked at */
		zone_txn_discard(txn);
		plan.trusts_signatures = trusts;
		assert_int_equal(zone_txn_begin(wrong, &params, &txn), KNOT_OK);
		assert_int_equal(sign_zone(txn, NULL, &plan, &result), KNOT_OK);
		assert_int_equal(result.rrsig_count, trusts ? 0 : 1);
		assert_int_equal(result.earliest_expiration_s, NOW_S + LIFETIME_S);
		zone_txn_discard(txn);
		zone_contents_free(wrong);
	}
	zone_contents_free(zone);
}

/* A chain that is to stay: it is signed, nothing else. */
static void test_kept_chain(void **state)
{
	(void)state;
	bool is_in[KNOT_LEN(lines)];
	random_state = 12;
	draw_records(is_in);
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		sign_plan_t plan = plan_of(kinds[i].chain, kinds[i].is_opt_out), kept = plan;
		sign_result_t result;
		zone_contents_t *want = sign(build_plain(is_in, 30), &plan, &result);
		uint64_t rrsig_count = result.rrsig_count;
		zone_contents_t *zone = sign(build_plain(is_in, 30), &plan, &result);
		kept.chain = SIGN_CHAIN_KEPT;
		kept.drops_signatures = true;
		zone = sign(zone, &kept, &result);
		assert_int_equal(result.rrsig_count, rrsig_count);
		assert_same(zone, want, kinds[i].name);
		zone = sign_by_builder(zone, &kept, &result);
		assert_int_equal(result.rrsig_count, rrsig_count);
		assert_same(zone, want, kinds[i].name);
		zone_contents_free(zone);
		zone_contents_free(want);
	}
}

/* After the step of the serial the SOA has one signature, of its new contents. */
static void test_apex_set(void **state)
{
	(void)state;
	bool is_in[KNOT_LEN(lines)] = { false };
	sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC, false);
	sign_result_t result;
	zone_txn_t *txn;
	zone_contents_t *zone = sign(build_plain(is_in, 30), &plan, &result), *next;
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	assert_int_equal(sign_apex_set(txn, KNOT_TYPE_SOA, &plan, &result), KNOT_OK);
	assert_int_equal(result.rrsig_count, 1); /* also when nothing has changed */
	put_soa(txn, 30);
	assert_int_equal(sign_apex_set(txn, KNOT_TYPE_SOA, &plan, &result), KNOT_OK);
	assert_int_equal(result.rrsig_count, 1);
	assert_int_equal(zone_txn_commit(txn, &next), KNOT_OK);
	assert_unchanged(next, &plan);
	zone_contents_free(next);
	zone_contents_free(zone);
}

/* More than what waits at a time, with one thread and with more: the zone is the same and complete. */
static void test_pieces(void **state)
{
	(void)state;
	enum { NAMES = 2600 };
	for (size_t kind = 0; kind < KNOT_LEN(kinds); kind++) {
		sign_plan_t plan = plan_of(kinds[kind].chain, kinds[kind].is_opt_out), alone = plan;
		sign_result_t result;
		zone_txn_t *txn;
		zone_contents_t *zone, *signed_zone;
		alone.thread_count = 0;
		assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
		put_soa(txn, 30);
		for (unsigned i = 0; i < NAMES; i++) {
			uint8_t wire[] = "\2??\4zone";
			record_t record = records[3]; /* ns A */
			wire[1] = (uint8_t)('a' + i % 26);
			wire[2] = (uint8_t)(128 + i / 26);
			record.owner.wire = wire;
			put_record(txn, &record);
		}
		assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
		assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
		assert_int_equal(sign_zone(txn, NULL, &plan, &result), KNOT_OK);
		/* DNSKEY, SOA, NSEC3PARAM, each name, and the chain. */
		unsigned apex_count = kinds[kind].chain == SIGN_CHAIN_NSEC3 ? 3 : 2;
		assert_int_equal(result.rrsig_count, apex_count + NAMES + NAMES + 1);
		assert_int_equal(zone_txn_commit(txn, &signed_zone), KNOT_OK);
		assert_unchanged(signed_zone, &alone);
		zone_contents_free(signed_zone);
		signed_zone = sign_by_builder(zone, &alone, &result);
		assert_int_equal(result.rrsig_count, apex_count + NAMES + NAMES + 1);
		assert_unchanged(signed_zone, &plan);
		zone_contents_free(signed_zone);
	}
}

static void test_no_soa(void **state)
{
	(void)state;
	sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC, false);
	sign_result_t result;
	zone_txn_t *txn;
	assert_int_equal(zone_txn_begin(NULL, &params, &txn), KNOT_OK);
	assert_int_equal(sign_zone(txn, NULL, &plan, &result), KNOT_ENOSOA);
	zone_txn_discard(txn);
}

/* Hashes of 32 digits and a point would make it longer than a name may be. */
static void test_long_origin(void **state)
{
	(void)state;
	static uint8_t wire[KNOT_NAME_MAX];
	for (unsigned len = 222; len <= 223; len++) {
		memset(wire, 'a', sizeof(wire));
		wire[0] = wire[64] = wire[128] = 63;
		wire[192] = (uint8_t)(len - 194);
		wire[len - 1] = 0;
		zone_build_params_t long_params = params;
		long_params.origin = (knot_name_t){ wire, (uint8_t)len, 4 };
		sign_plan_t plan = plan_of(SIGN_CHAIN_NSEC3, false);
		sign_result_t result;
		zone_txn_t *txn;
		assert_int_equal(zone_txn_begin(NULL, &long_params, &txn), KNOT_OK);
		const uint8_t soa[] = "\1m\0\1r\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0";
		assert_int_equal(zone_txn_put(txn, long_params.origin, KNOT_TYPE_SOA, 60,
						 (knot_bytes_t){ soa, sizeof(soa) }),
				KNOT_OK);
		assert_int_equal(sign_zone(txn, NULL, &plan, &result), len == 222 ? KNOT_OK : KNOT_ENAMELEN);
		zone_txn_discard(txn);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change_as_whole),
		cmocka_unit_test(test_other_chain),
		cmocka_unit_test(test_change_of_all),
		cmocka_unit_test(test_other_key),
		cmocka_unit_test(test_key_sets),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_kept_chain),
		cmocka_unit_test(test_apex_set),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_no_soa),
		cmocka_unit_test(test_long_origin),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
