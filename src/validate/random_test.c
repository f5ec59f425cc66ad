/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random zones with cuts, glue, wildcards and empty non-terminals are signed, and changed and signed again: all of it
 * must be found right. Then something is spoilt: it must be found wrong if the signer would put something right, and
 * the check of the change must say the same as that of the whole. KNOT_SEED=n replays, KNOT_ROUNDS=n does more.
 */
#include "src/validate/test_zone.h"
#include "src/validate/validate.h"

enum { ROUNDS = 60, CHANGES = 6, FAULTS = 6 };

static validate_options_t strict_options(void)
{
	return (validate_options_t){ .now_s = now_s, .all_algorithms = true };
}

static void assert_good(const zone_contents_t *before, const zone_contents_t *zone, const char *what)
{
	validate_result_t result;
	const validate_options_t strict = strict_options();
	knot_err_t err = validate_zone(zone, &strict, &result);
	const char *which = "whole";
	if (err == KNOT_OK && before != NULL) {
		which = "change";
		err = validate_change(before, zone, &strict, &result);
		assert_false(result.is_whole);
	}
	if (err != KNOT_OK) {
		char owner[KNOT_NAME_TEXT_MAX] = "";
		if (result.has_hint) {
			knot_name_print(knot_name_of(result.owner), owner);
		}
		fail_msg("%s: %s: %s at %s %u", what, which, knot_strerror(err), owner, result.type);
	}
}

/* The zone is gone. */
static zone_contents_t *change_zone(zone_contents_t *take_zone, const sign_plan_t *plan, const char *what)
{
	zone_txn_t *txn = begin(take_zone);
	sign_result_t result;
	bool is_all;
	for (unsigned n = 1 + draw(4); n > 0; n--) {
		const record_t *r = &records[draw(KNOT_LEN(lines))];
		if (draw(2)) {
			put_record(txn, r);
		} else {
			knot_err_t err = zone_txn_remove(
					txn, r->owner, r->type, (knot_bytes_t){ r->rdata, r->rdata_len });
			assert_true(err == KNOT_OK || err == KNOT_ENORECORD || err == KNOT_ENONODE);
		}
	}
	assert_int_equal(sign_change(txn, plan, &is_all, &result), KNOT_OK);
	zone_contents_t *next = commit(txn);
	assert_good(take_zone, next, what);
	zone_contents_free(take_zone);
	return next;
}

/* ---- Faults ---- */

static const record_t *draw_record(const found_t *has, bool (*is_wanted)(const record_t *r))
{
	size_t at = draw((unsigned)has->count), tries = 0;
	while (!is_wanted(&has->at[at]) && tries++ < has->count) {
		at = (at + 1) % has->count;
	}
	return &has->at[at];
}

static bool is_sig(const record_t *r)
{
	return r->type == KNOT_TYPE_RRSIG;
}

static bool is_no_soa(const record_t *r)
{
	return r->type != KNOT_TYPE_SOA && r->type != KNOT_TYPE_RRSIG;
}

static bool is_chain(const record_t *r)
{
	return r->type == KNOT_TYPE_NSEC || r->type == KNOT_TYPE_NSEC3;
}

static bool is_below_cut(const record_t *r)
{
	return r->type == KNOT_TYPE_A || r->type == KNOT_TYPE_NS;
}

static bool flip_bit(zone_txn_t *txn, const found_t *has)
{
	const record_t *r = draw_record(has, is_sig);
	record_t changed = *r;
	size_t head = SIGN_RRSIG_SIGNER_OFF, behind = head + origin.len;
	size_t at = draw((unsigned)(r->rdata_len - origin.len));
	changed.rdata[at < head ? at : at - head + behind] ^= (uint8_t)(1u << draw(8));
	remove_record(txn, r);
	put_rr(txn, r->owner, r->type, r->ttl, (knot_bytes_t){ changed.rdata, changed.rdata_len });
	return true;
}

static bool drop_sig(zone_txn_t *txn, const found_t *has)
{
	remove_record(txn, draw_record(has, is_sig));
	return true;
}

static bool drop_record(zone_txn_t *txn, const found_t *has)
{
	remove_record(txn, draw_record(has, is_no_soa));
	return true;
}

static bool add_record(zone_txn_t *txn, const found_t *has)
{
	(void)has;
	put_record(txn, &records[draw(KNOT_LEN(lines))]);
	return true;
}

static bool change_ttl(zone_txn_t *txn, const found_t *has)
{
	const record_t *r = draw_record(has, is_no_soa);
	put_rr(txn, r->owner, r->type, r->ttl + 1, (knot_bytes_t){ r->rdata, r->rdata_len });
	return true;
}

/* A record of the chain that says something else, well signed. False: the flag of opt-out, which may stand where
 * nothing is opted out. */
static bool change_chain(zone_txn_t *txn, const found_t *has)
{
	record_t changed = *draw_record(has, is_chain);
	changed.owner.wire = changed.owner_wire;
	bool is_nsec3 = changed.type == KNOT_TYPE_NSEC3;
	size_t next = is_nsec3 ? 6 + (size_t)changed.rdata[4] : 1;
	size_t len = is_nsec3 ? ZONE_NSEC3_HASH_LEN : changed.rdata[0];
	unsigned part = draw(4);
	remove_record(txn, &changed);
	if (part == 0 && len > 0) {
		changed.rdata[next + draw((unsigned)len)] ^= 1;
	} else if (part == 1 && is_nsec3) {
		changed.rdata[1] ^= 1;
	} else if (part == 2 && is_nsec3) {
		changed.rdata[3] ^= 1; /* iterations: of another chain */
	} else {
		changed.rdata[changed.rdata_len - 1] ^= 0x20;
	}
	knot_err_t err = zone_txn_put(txn, changed.owner, changed.type, changed.ttl,
			(knot_bytes_t){ changed.rdata, changed.rdata_len });
	assert_true(err == KNOT_OK || err == KNOT_EMALF);
	return !(part == 1 && is_nsec3);
}

static bool sign_wrongly(zone_txn_t *txn, const found_t *has)
{
	record_t sig = *draw_record(has, is_sig);
	const record_t *r = draw_record(has, is_below_cut);
	r = is_sig(r) ? draw_record(has, is_no_soa) : r; /* there is none */
	store_be16(sig.rdata, r->type);
	put_rr(txn, r->owner, KNOT_TYPE_RRSIG, r->ttl, (knot_bytes_t){ sig.rdata, sig.rdata_len });
	return r->type != KNOT_TYPE_DNSKEY; /* what a key that doesn't sign keys says of them is passed over */
}

static bool drop_sets(zone_txn_t *txn, const found_t *has)
{
	const record_t *r = draw_record(has, is_chain);
	remove_record(txn, r);
	for (size_t i = 0; i < has->count; i++) {
		const record_t *sig = &has->at[i];
		if (is_sig(sig) && knot_name_eq(sig->owner, r->owner) && load_be16(sig->rdata) == r->type) {
			remove_record(txn, sig);
		}
	}
	return true;
}

static const struct {
	const char *what;
	/* False: the signer needn't have the same opinion. */
	bool (*spoil)(zone_txn_t *txn, const found_t *has);
	bool is_resigned;
} faults[] = {
	{ "a bit of a signature", flip_bit, false },
	{ "a signature less", drop_sig, false },
	{ "a record less", drop_record, false },
	{ "a record more", add_record, false },
	{ "another TTL", change_ttl, false },
	{ "the chain", change_chain, true },
	{ "a signature too many", sign_wrongly, false },
	{ "the chain, a record less", drop_sets, false },
};

/* Whether the signer, which verifies everything, finds something to do. */
static bool needs_signing(const zone_contents_t *zone, const sign_plan_t *plan)
{
	zone_txn_t *txn = begin(zone);
	sign_result_t result;
	assert_int_equal(sign_zone(txn, NULL, plan, &result), KNOT_OK);
	zone_txn_discard(txn);
	return result.is_changed;
}

static void spoil(const zone_contents_t *zone, const sign_plan_t *plan, const char *round)
{
	size_t fault = draw(KNOT_LEN(faults));
	found_t has = list_zone(zone);
	zone_txn_t *txn = begin(zone);
	bool is_sure = faults[fault].spoil(txn, &has);
	char what[200];
	snprintf(what, sizeof(what), "%s, %s", round, faults[fault].what);
	if (faults[fault].is_resigned) {
		sign_plan_t kept = *plan;
		sign_result_t result;
		kept.chain = SIGN_CHAIN_KEPT;
		assert_int_equal(sign_zone(txn, NULL, &kept, &result), KNOT_OK);
	}
	zone_contents_t *spoilt = commit(txn);
	validate_result_t whole, change;
	const validate_options_t strict = strict_options();
	knot_err_t err = validate_zone(spoilt, &strict, &whole);
	knot_err_t err_of_change = validate_change(zone, spoilt, &strict, &change);
	validate_result_t lenient;
	const validate_options_t plain = { .now_s = now_s };
	knot_err_t err_for_others = validate_zone(spoilt, &plain, &lenient);
	assert_true(err != KNOT_OK || err_for_others == KNOT_OK);
	dump_zone(spoilt, what, err_for_others, whole.has_hint ? knot_name_of(whole.owner) : (knot_name_t){ 0 });
	if (err != err_of_change) {
		fail_msg("%s: whole: %s, change: %s", what, knot_strerror(err), knot_strerror(err_of_change));
	}
	if (is_sure && (err != KNOT_OK) != needs_signing(spoilt, plan)) {
		fail_msg("%s: %s, but the signer does not think so", what, knot_strerror(err));
	}
	free(has.at);
	zone_contents_free(spoilt);
}

static void test_random(void **state)
{
	(void)state;
	const char *seed = getenv("KNOT_SEED"), *rounds = getenv("KNOT_ROUNDS");
	unsigned round_count = rounds != NULL ? (unsigned)atoi(rounds) : ROUNDS;
	for (unsigned round = 0; round < round_count; round++) {
		unsigned chain = round % CHAINS, share = 1 + round % 9;
		random_state = (seed != NULL ? strtoull(seed, NULL, 0) : 1) + round;
		sign_plan_t plan = plan_of(chain, round % 4 == 3 ? KEYS_BOTH : KEYS_EC);
		bool is_in[KNOT_LEN(lines)];
		char what[100];
		for (size_t i = 0; i < KNOT_LEN(lines); i++) {
			is_in[i] = draw(10) < share;
		}
		snprintf(what, sizeof(what), "%s, round %u", chain_names[chain], round);
		zone_contents_t *zone = make_zone(is_in, &plan);
		assert_good(NULL, zone, what);
		for (unsigned i = 0; i < CHANGES; i++) {
			zone = change_zone(zone, &plan, what);
		}
		for (unsigned i = 0; i < FAULTS; i++) {
			spoil(zone, &plan, what);
		}
		zone_contents_free(zone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
