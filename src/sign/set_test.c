/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One RRset: what its signatures say, by which keys they are, and which stay when it is signed again at another time,
 * by another key, or with other records.
 */
#include "src/sign/set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MADE_S = 1700000000, LIFETIME_S = 10000, KEYS_MAX = 4 };

static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };
static dnssec_key_t *ksk, *zsk, *other;

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(dnssec_key_generate(13, 256, 257, &ksk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(13, 256, 256, &zsk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(13, 256, 256, &other), KNOT_OK);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dnssec_key_free(ksk);
	dnssec_key_free(zsk);
	dnssec_key_free(other);
	return 0;
}

static const uint8_t address[] = { 192, 0, 2, 1 }, other_address[] = { 192, 0, 2, 2 };

/* A set of one address; its signatures have room. */
typedef struct {
	sign_set_t set;
	sign_rr_t rr, sigs[KEYS_MAX];
	sign_mem_t mem;
} case_t;

static void case_init(case_t *c, knot_name_t owner, uint16_t type, const uint8_t *rdata)
{
	*c = (case_t){ .rr = { .rdata = { rdata, 4 }, .ttl = 60, .type = type } };
	c->set = (sign_set_t){ .owner = owner, .type = type, .is_signed = true, .rrs = &c->rr, .rr_count = 1 };
	c->set.sigs = c->sigs;
}

/* Sign, and keep the new signatures as those that are there. */
static void case_sign(case_t *c, const sign_plan_t *plan)
{
	sign_signer_t *signer = sign_signer_new(plan, origin);
	assert_non_null(signer);
	assert_int_equal(sign_set(signer, &c->set), KNOT_OK);
	for (size_t i = 0; i < c->set.made_count; i++) {
		sign_rr_t *sig = &c->sigs[c->set.sig_count++];
		*sig = c->set.made[i];
		sig->rdata = sign_mem_copy(&c->mem, sig->rdata);
		sig->is_new = false;
	}
	c->set.made_count = 0;
	sign_signer_free(signer);
}

static sign_plan_t plan_at(uint64_t now_s, const sign_key_t *keys, size_t key_count)
{
	return (sign_plan_t){ .keys = keys,
		.key_count = key_count,
		.now_s = now_s,
		.lifetime_s = LIFETIME_S,
		.refresh_s = 1000,
		.pre_refresh_s = 100 };
}

/* ---- Contents ---- */

static void test_contents(void **state)
{
	(void)state;
	static uint8_t wild_wire[] = "\1*\1a\4zone", name_wire[] = "\1b\1a\4zone";
	const struct {
		const char *what;
		knot_name_t owner;
		uint8_t label_count;
	} rows[] = {
		{ "the apex", origin, 1 },
		{ "a name", { name_wire, 10, 3 }, 3 },
		{ "a wildcard counts without its first label", { wild_wire, 10, 3 }, 2 },
	};
	const sign_key_t keys[] = { { zsk, false, true } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		case_t c;
		sign_plan_t plan = plan_at(MADE_S, keys, 1);
		case_init(&c, rows[i].owner, KNOT_TYPE_A, address);
		case_sign(&c, &plan);
		print_message("%s\n", rows[i].what);
		assert_int_equal(c.set.sig_count, 1);
		const uint8_t *rdata = c.sigs[0].rdata.data;
		assert_int_equal(load_be16(rdata), KNOT_TYPE_A);
		assert_int_equal(rdata[2], 13);
		assert_int_equal(rdata[SIGN_RRSIG_LABELS_OFF], rows[i].label_count);
		assert_int_equal(load_be32(rdata + 4), 60);
		assert_int_equal(load_be32(rdata + SIGN_RRSIG_EXPIRATION_OFF), MADE_S + LIFETIME_S);
		assert_int_equal(load_be32(rdata + SIGN_RRSIG_INCEPTION_OFF), MADE_S - 5400);
		assert_int_equal(load_be16(rdata + SIGN_RRSIG_TAG_OFF), dnssec_key_tag(zsk));
		assert_memory_equal(rdata + SIGN_RRSIG_SIGNER_OFF, origin.wire, origin.len);
		assert_int_equal(c.sigs[0].rdata.len, SIGN_RRSIG_SIGNER_OFF + origin.len + 64);
		assert_int_equal(c.sigs[0].ttl, 60);
		sign_mem_done(&c.mem);
	}
}

/* ---- Roles ---- */

static void test_roles(void **state)
{
	(void)state;
	const sign_key_t keys[] = { { ksk, true, false }, { zsk, false, true }, { other, true, true } };
	static uint8_t name_wire[] = "\1b\4zone";
	const knot_name_t name = { name_wire, 8, 2 };
	const struct {
		const char *what;
		knot_name_t owner;
		uint16_t type;
		bool is_by_ksk, is_by_zsk, is_by_other;
	} rows[] = {
		{ "SOA", origin, KNOT_TYPE_SOA, false, true, true },
		{ "NSEC3PARAM", origin, KNOT_TYPE_NSEC3PARAM, false, true, true },
		{ "ZONEMD", origin, KNOT_TYPE_ZONEMD, false, true, true },
		{ "DNSKEY", origin, KNOT_TYPE_DNSKEY, true, false, true },
		{ "CDS", origin, KNOT_TYPE_CDS, true, false, true },
		{ "CDNSKEY", origin, KNOT_TYPE_CDNSKEY, true, false, true },
		{ "CDS of another name", name, KNOT_TYPE_CDS, false, true, true },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		case_t c;
		sign_plan_t plan = plan_at(MADE_S, keys, KNOT_LEN(keys));
		bool by[3] = { false };
		case_init(&c, rows[i].owner, rows[i].type, address);
		case_sign(&c, &plan);
		for (size_t k = 0; k < c.set.sig_count; k++) {
			uint16_t tag = load_be16(c.sigs[k].rdata.data + SIGN_RRSIG_TAG_OFF);
			for (size_t key = 0; key < KNOT_LEN(keys); key++) {
				by[key] |= dnssec_key_tag(keys[key].key) == tag;
			}
		}
		print_message("%s\n", rows[i].what);
		assert_int_equal(by[0], rows[i].is_by_ksk);
		assert_int_equal(by[1], rows[i].is_by_zsk);
		assert_int_equal(by[2], rows[i].is_by_other);
		sign_mem_done(&c.mem);
	}
}

/* ---- Keeping ---- */

typedef struct {
	const char *what;
	int64_t later_s; /* than it was made */
	bool is_kept;
	struct {
		uint32_t ttl; /* of the set then; 0: as it was */
		bool is_other_data, is_other_key, is_unsigned, drops, keeps_expired;
		uint8_t belief;
		bool is_damaged;
	} but;
} keep_row_t;

static void keep_row(const keep_row_t *row)
{
	const sign_key_t by_zsk[] = { { zsk, false, true } }, by_other[] = { { other, false, true } };
	sign_plan_t first = plan_at(MADE_S, by_zsk, 1);
	sign_plan_t then = plan_at((uint64_t)(MADE_S + row->later_s), row->but.is_other_key ? by_other : by_zsk, 1);
	then.drops_signatures = row->but.drops;
	then.keeps_expired = row->but.keeps_expired;
	case_t c;
	case_init(&c, origin, KNOT_TYPE_A, address);
	case_sign(&c, &first);
	assert_int_equal(c.set.sig_count, 1);
	c.rr.rdata.data = row->but.is_other_data ? other_address : address;
	c.rr.ttl = row->but.ttl != 0 ? row->but.ttl : c.rr.ttl;
	c.set.is_signed = !row->but.is_unsigned;
	c.sigs[0].belief = row->but.belief;
	if (row->but.is_damaged) {
		((uint8_t *)(uintptr_t)c.sigs[0].rdata.data)[c.sigs[0].rdata.len - 1] ^= 1;
	}
	print_message("%s\n", row->what);
	case_sign(&c, &then);
	assert_int_equal(c.sigs[0].goes, !row->is_kept);
	assert_int_equal(c.set.sig_count, row->is_kept || row->but.is_unsigned ? 1 : 2);
	sign_mem_done(&c.mem);
}

static void test_keeping(void **state)
{
	(void)state;
	static const keep_row_t rows[] = {
		{ "at once", 0, true, { 0 } },
		{ "inception isn't in the future yet", -5400, true, { 0 } },
		{ "inception in the future", -5401, false, { 0 } },
		{ "the last second before refresh", LIFETIME_S - 1101, true, { 0 } },
		{ "refresh", LIFETIME_S - 1100, false, { 0 } },
		{ "expired", LIFETIME_S + 1, false, { 0 } },
		{ "expired ones are good", LIFETIME_S + 1, true, { .keeps_expired = true } },
		{ "other records", 0, false, { .is_other_data = true } },
		{ "other records, believed", 0, true, { .is_other_data = true, .belief = SIGN_BELIEF_GOOD } },
		{ "stale, though it would verify", 0, false, { .belief = SIGN_BELIEF_STALE } },
		{ "another TTL", 0, false, { .ttl = 61, .belief = SIGN_BELIEF_GOOD } },
		{ "another key", 0, false, { .is_other_key = true, .belief = SIGN_BELIEF_GOOD } },
		{ "a set that isn't signed", 0, false, { .is_unsigned = true, .belief = SIGN_BELIEF_GOOD } },
		{ "all are dropped", 0, false, { .drops = true, .belief = SIGN_BELIEF_GOOD } },
		{ "damaged", 0, false, { .is_damaged = true } },
		{ "damaged, believed", 0, true, { .is_damaged = true, .belief = SIGN_BELIEF_GOOD } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		keep_row(&rows[i]);
	}
}

/* Of many signatures with the key's tag only some are verified: each hashes the whole set, however large it is. */
static void test_many_signatures(void **state)
{
	(void)state;
	const sign_key_t keys[] = { { zsk, false, true } };
	sign_plan_t plan = plan_at(MADE_S, keys, 1);
	for (unsigned wrong = 7; wrong <= 8; wrong++) {
		sign_rr_t sigs[10];
		case_t c;
		case_init(&c, origin, KNOT_TYPE_A, address);
		case_sign(&c, &plan);
		assert_int_equal(c.set.sig_count, 1);
		sigs[wrong] = c.sigs[0];
		for (unsigned i = 0; i < wrong; i++) {
			sigs[i] = c.sigs[0];
			sigs[i].rdata = sign_mem_copy(&c.mem, c.sigs[0].rdata);
			((uint8_t *)(uintptr_t)sigs[i].rdata.data)[sigs[i].rdata.len - 1] ^= (uint8_t)(i + 1);
		}
		c.set.sigs = sigs;
		c.set.sig_count = wrong + 1;
		sign_signer_t *signer = sign_signer_new(&plan, origin);
		assert_int_equal(sign_set(signer, &c.set), KNOT_OK);
		assert_int_equal(sigs[wrong].goes, wrong == 8);
		assert_int_equal(c.set.made_count, wrong == 8);
		sign_signer_free(signer);
		sign_mem_done(&c.mem);
	}
}

/* A signature whose own TTL isn't that of the set stays, with the right one. */
static void test_ttl_of_signature(void **state)
{
	(void)state;
	const sign_key_t keys[] = { { zsk, false, true } };
	sign_plan_t plan = plan_at(MADE_S, keys, 1);
	case_t c;
	case_init(&c, origin, KNOT_TYPE_A, address);
	case_sign(&c, &plan);
	c.sigs[0].ttl = 7;
	case_sign(&c, &plan);
	assert_int_equal(c.set.sig_count, 1);
	assert_false(c.sigs[0].goes);
	assert_true(c.sigs[0].is_new);
	assert_int_equal(c.sigs[0].ttl, 60);
	sign_mem_done(&c.mem);
}

/* Two keys with one tag: belief isn't enough, as it doesn't say whose signature it is. */
static void test_shared_tag(void **state)
{
	(void)state;
	dnssec_key_t *twin = NULL;
	while (twin == NULL || dnssec_key_tag(twin) != dnssec_key_tag(zsk)) {
		dnssec_key_free(twin);
		assert_int_equal(dnssec_key_generate(13, 256, 256, &twin), KNOT_OK);
	}
	const sign_key_t both[] = { { twin, false, true }, { zsk, false, true } };
	sign_plan_t first = plan_at(MADE_S, both + 1, 1), then = plan_at(MADE_S, both, 2);
	case_t c;
	case_init(&c, origin, KNOT_TYPE_A, address);
	case_sign(&c, &first);
	c.sigs[0].belief = SIGN_BELIEF_GOOD;
	case_sign(&c, &then);
	assert_int_equal(c.set.sig_count, 2);
	assert_false(c.sigs[0].goes);
	case_sign(&c, &then);
	assert_int_equal(c.set.sig_count, 2);
	assert_false(c.sigs[0].goes || c.sigs[1].goes);
	sign_mem_done(&c.mem);
	dnssec_key_free(twin);
}

/* Signatures of the keys' sets that are given take the place of those that are there. */
static void test_given(void **state)
{
	(void)state;
	const sign_key_t keys[] = { { ksk, true, true } };
	sign_plan_t plan = plan_at(MADE_S, keys, 1), later = plan_at(MADE_S + 10, keys, 1);
	case_t c, elsewhere;
	case_init(&elsewhere, origin, KNOT_TYPE_DNSKEY, address);
	case_sign(&elsewhere, &later);
	case_init(&c, origin, KNOT_TYPE_DNSKEY, address);
	case_sign(&c, &plan);
	plan.has_key_rrsigs = true;
	plan.key_rrsigs = &elsewhere.sigs[0].rdata;
	plan.key_rrsig_count = 1;
	case_sign(&c, &plan);
	assert_int_equal(c.set.sig_count, 2);
	assert_true(c.sigs[0].goes);
	assert_int_equal(knot_rdata_cmp(c.sigs[1].rdata, elsewhere.sigs[0].rdata), 0);
	case_sign(&c, &plan);
	assert_int_equal(c.set.sig_count, 2);
	assert_true(c.sigs[0].goes && !c.sigs[1].goes);
	sign_mem_done(&c.mem);
	sign_mem_done(&elsewhere.mem);
}

/* Renewed when it is due, a signature gets as long a lifetime as before, if the spread is more than half of that. */
static void test_spread_stays(void **state)
{
	(void)state;
	const sign_key_t keys[] = { { zsk, false, true } };
	sign_plan_t plan = plan_at(MADE_S, keys, 1);
	plan.refresh_s = 3600;
	uint32_t between_s = LIFETIME_S - 3600;
	for (uint32_t parts = 1; parts <= 64; parts *= 8) {
		for (uint32_t spread_s = between_s / 2 + 60; spread_s <= between_s; spread_s += between_s / 7) {
			plan.now_s = MADE_S + parts;
			plan.spread_s = spread_s;
			plan.spread_parts = parts;
			uint64_t made_s = plan.now_s;
			uint64_t expires_s = sign_expiration(&plan, origin, origin, KNOT_TYPE_SOA);
			assert_true(expires_s <= made_s + LIFETIME_S && expires_s > made_s + LIFETIME_S - spread_s);
			for (unsigned i = 0; i < 10; i++) {
				plan.now_s = expires_s - plan.refresh_s + (i == 5 ? 30 : 0); /* late once */
				uint64_t next_s = sign_expiration(&plan, origin, origin, KNOT_TYPE_SOA);
				assert_int_equal(next_s - expires_s, spread_s);
				expires_s = next_s;
			}
		}
	}
}

/* Each name's signatures expire within the spread, and not all at one time. */
static void test_spread(void **state)
{
	(void)state;
	const sign_key_t keys[] = { { zsk, false, true } };
	sign_plan_t plan = plan_at(MADE_S, keys, 1);
	uint32_t first = 0, min = UINT32_MAX, max = 0;
	plan.spread_s = 1000;
	plan.spread_parts = 4096;
	for (uint8_t i = 0; i < 100; i++) {
		uint8_t wire[] = "\1?\4zone";
		wire[1] = i;
		case_t c;
		case_init(&c, (knot_name_t){ wire, 8, 2 }, KNOT_TYPE_A, address);
		case_sign(&c, &plan);
		uint32_t expiration = load_be32(c.sigs[0].rdata.data + SIGN_RRSIG_EXPIRATION_OFF);
		min = expiration < min ? expiration : min;
		max = expiration > max ? expiration : max;
		first = i == 0 ? expiration : first;
		if (i == 99) { /* the same name again: the same time */
			wire[1] = 0;
			case_t again;
			case_init(&again, (knot_name_t){ wire, 8, 2 }, KNOT_TYPE_A, address);
			case_sign(&again, &plan);
			assert_int_equal(load_be32(again.sigs[0].rdata.data + SIGN_RRSIG_EXPIRATION_OFF), first);
			sign_mem_done(&again.mem);
		}
		sign_mem_done(&c.mem);
	}
	assert_true(max <= MADE_S + LIFETIME_S && min >= MADE_S + LIFETIME_S - 1000);
	assert_true(max - min > 800);
}

/* ---- RDATA ---- */

static void test_bitmaps(void **state)
{
	(void)state;
	const struct {
		uint16_t types[4];
		size_t count, len;
		const char *bitmap;
	} rows[] = {
		{ { 0 }, 0, 0, "" },
		{ { 1 }, 1, 3, "\x00\x01\x40" },
		{ { 1, 15, 46, 47 }, 4, 8,
				"\x00\x06\x40\x01\x00\x00\x00\x03" }, /* as in RFC 4034 4.3, without TYPE1234 */
		{ { 46, 1234 }, 2, 8 + 29, "\x00\x06\x00\x00\x00\x00\x00\x02\x04\x1b" },
		{ { 255, 256 }, 2, 34 + 3, NULL },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t bitmap[SIGN_BITMAP_MAX];
		size_t len = sign_bitmap_print(rows[i].types, rows[i].count, bitmap);
		assert_int_equal(len, rows[i].len);
		if (rows[i].bitmap != NULL) {
			assert_memory_equal(bitmap, rows[i].bitmap, len < 10 ? len : 10);
		}
	}
}

static void test_times(void **state)
{
	(void)state;
	const struct {
		uint32_t field;
		uint64_t now_s, want;
	} rows[] = {
		{ 100, 100, 100 },
		{ 99, 100, 99 },
		{ 0xFFFFFFFF, 100, 0 }, /* before 1970: the earliest there is */
		{ 5, 0xFFFFFFFF, 0x100000005 },
		{ 0xFFFFFFFF, 0x100000005, 0xFFFFFFFF },
		{ 0x7FFFFFFF, 0, 0x7FFFFFFF },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		assert_int_equal(sign_rrsig_time(rows[i].field, rows[i].now_s), rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_roles),
		cmocka_unit_test(test_keeping),
		cmocka_unit_test(test_many_signatures),
		cmocka_unit_test(test_ttl_of_signature),
		cmocka_unit_test(test_shared_tag),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_spread_stays),
		cmocka_unit_test(test_bitmaps),
		cmocka_unit_test(test_times),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
