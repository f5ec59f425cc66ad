/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of faults, each in a zone that is right but for that: the whole check and that of the change must find it, and
 * say where.
 */
#include "libdnssec/p256.h"
#include "src/validate/validate.h"

#include "libknot/base/encode.h"
#include "src/validate/checker.h"
#include "src/validate/test_zone.h"

enum { DELEG = 61440, NO_HINT = UINT16_MAX };

/** A zone and how it is to be spoilt. */
typedef struct {
	zone_txn_t *txn;
	found_t has;
	knot_name_t owner;
	uint16_t type;
	const zone_contents_t *zone;
} spoil_t;

static const record_t *spoil_find(const spoil_t *s, uint16_t type, uint16_t covered)
{
	const record_t *r = find_record(&s->has, s->owner, type, covered);
	assert_non_null(r);
	return r;
}

/* ---- Faults of signatures ---- */

static void change_sig(const spoil_t *s, size_t offset, uint8_t bits)
{
	record_t changed = *spoil_find(s, KNOT_TYPE_RRSIG, s->type);
	changed.owner.wire = changed.owner_wire;
	remove_record(s->txn, &changed);
	changed.rdata[offset] ^= bits;
	put_record(s->txn, &changed);
}

static void flip_sig(const spoil_t *s)
{
	change_sig(s, spoil_find(s, KNOT_TYPE_RRSIG, s->type)->rdata_len - 1, 1);
}

static void change_labels(const spoil_t *s)
{
	change_sig(s, SIGN_RRSIG_LABELS_OFF, 4);
}

static void change_original_ttl(const spoil_t *s)
{
	change_sig(s, SIGN_RRSIG_LABELS_OFF + 4, 1);
}

static void change_signer(const spoil_t *s)
{
	change_sig(s, SIGN_RRSIG_SIGNER_OFF + 1, 1);
}

static void change_tag(const spoil_t *s)
{
	change_sig(s, SIGN_RRSIG_TAG_OFF, 1);
}

static void drop_sig(const spoil_t *s)
{
	remove_record(s->txn, spoil_find(s, KNOT_TYPE_RRSIG, s->type));
}

/* A second signature of the same key that is wrong. */
static void add_bad_sig(const spoil_t *s)
{
	record_t changed = *spoil_find(s, KNOT_TYPE_RRSIG, s->type);
	changed.owner.wire = changed.owner_wire;
	changed.rdata[changed.rdata_len - 1] ^= 1;
	put_record(s->txn, &changed);
}

/* A second signature that the zone has no key for. */
static void add_foreign_sig(const spoil_t *s)
{
	record_t changed = *spoil_find(s, KNOT_TYPE_RRSIG, s->type);
	changed.owner.wire = changed.owner_wire;
	changed.rdata[SIGN_RRSIG_TAG_OFF] ^= 1;
	put_record(s->txn, &changed);
}

static void change_ttl(const spoil_t *s)
{
	record_t changed = *spoil_find(s, s->type, 0);
	put_rr(s->txn, s->owner, s->type, changed.ttl + 1, (knot_bytes_t){ changed.rdata, changed.rdata_len });
}

static void add_to_set(const spoil_t *s)
{
	record_t changed = *spoil_find(s, s->type, 0);
	changed.rdata[changed.rdata_len - 1] ^= 1;
	put_rr(s->txn, s->owner, s->type, changed.ttl, (knot_bytes_t){ changed.rdata, changed.rdata_len });
}

static void drop_from_set(const spoil_t *s)
{
	remove_record(s->txn, spoil_find(s, s->type, 0));
}

/* A signature, of whatever it is, over a set that mustn't have one. */
static void sign_foreign(const spoil_t *s)
{
	record_t sig = *find_record(&s->has, origin, KNOT_TYPE_RRSIG, KNOT_TYPE_SOA);
	store_be16(sig.rdata, s->type);
	put_rr(s->txn, s->owner, KNOT_TYPE_RRSIG, 60, (knot_bytes_t){ sig.rdata, sig.rdata_len });
}

/* ---- Faults of keys ---- */

static void drop_keys(const spoil_t *s)
{
	assert_int_equal(zone_txn_remove_all(s->txn, origin, KNOT_TYPE_DNSKEY), KNOT_OK);
}

static void add_junk_key(const spoil_t *s)
{
	put_rr(s->txn, origin, KNOT_TYPE_DNSKEY, 3600, (knot_bytes_t){ (const uint8_t *)"\1\0\3\15abc", 7 });
}

static knot_bytes_t swap_words(const dnssec_key_t *key, unsigned number, uint8_t *rdata)
{
	enum { MODULUS = 4 + 1 + 3 };
	knot_bytes_t right = dnssec_key_rdata(key);
	memcpy(rdata, right.data, right.len);
	memcpy(rdata + MODULUS + 2 * number, right.data + MODULUS + 2 * number + 2, 2);
	memcpy(rdata + MODULUS + 2 * number + 2, right.data + MODULUS + 2 * number, 2);
	return (knot_bytes_t){ rdata, right.len };
}

/* Another key with the same tag, which is a sum of words: the signer's private key isn't that of the published one. */
static void swap_key(const spoil_t *s)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	knot_bytes_t right = dnssec_key_rdata(rsa_zsk), wrong = swap_words(rsa_zsk, 8, rdata);
	assert_int_equal(dnssec_rdata_tag(wrong), dnssec_rdata_tag(right));
	assert_int_equal(zone_txn_remove(s->txn, origin, KNOT_TYPE_DNSKEY, right), KNOT_OK);
	put_rr(s->txn, origin, KNOT_TYPE_DNSKEY, 3600, wrong);
	sign_result_t result;
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_RSA);
	plan.manages = SIGN_MANAGES_NONE;
	assert_int_equal(sign_apex_set(s->txn, KNOT_TYPE_DNSKEY, &plan, &result), KNOT_OK);
}

/* Many keys with one tag, none of which a signature is of. */
static void add_like_keys(const spoil_t *s)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	sign_result_t result;
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_RSA);
	plan.manages = SIGN_MANAGES_NONE;
	assert_int_equal(zone_txn_remove(s->txn, origin, KNOT_TYPE_DNSKEY, dnssec_key_rdata(rsa_zsk)), KNOT_OK);
	for (unsigned i = 0; i < 4; i++) {
		put_rr(s->txn, origin, KNOT_TYPE_DNSKEY, 3600, swap_words(rsa_zsk, 8 + i, rdata));
	}
	assert_int_equal(sign_apex_set(s->txn, KNOT_TYPE_DNSKEY, &plan, &result), KNOT_OK);
}

/* Signatures of one record, all of them good. */
static void add_good_sigs(const spoil_t *s, unsigned count)
{
	uint8_t set[KNOT_NAME_MAX + 10 + 100];
	const record_t *r = spoil_find(s, s->type, 0);
	record_t sig = *spoil_find(s, KNOT_TYPE_RRSIG, s->type);
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ set, sizeof(set) });
	knot_write(&w, r->owner.wire, r->owner.len);
	knot_write_u16(&w, r->type);
	knot_write_u16(&w, KNOT_CLASS_IN);
	knot_write_u32(&w, r->ttl);
	knot_write_u16(&w, (uint16_t)r->rdata_len);
	knot_write(&w, r->rdata, r->rdata_len);
	assert_false(w.failed);
	size_t head_len = SIGN_RRSIG_SIGNER_OFF + (size_t)origin.len;
	dnssec_signer_t *signer;
	assert_int_equal(dnssec_signer_new(ec_zsk, false, &signer), KNOT_OK);
	sig.owner.wire = sig.owner_wire;
	for (unsigned i = 0; i < count; i++) {
		uint8_t *inception = sig.rdata + SIGN_RRSIG_INCEPTION_OFF;
		store_be32(inception, load_be32(inception) - 1);
		const knot_bytes_t pieces[] = { { sig.rdata, head_len }, { set, w.len } };
		size_t len;
		assert_int_equal(dnssec_signer_sign(signer, pieces, KNOT_LEN(pieces), sig.rdata + head_len, &len),
				KNOT_OK);
		put_record(s->txn, &sig);
	}
	dnssec_signer_free(signer);
}

enum { SIGS_MAX = 64 };

static void add_sigs_to_the_limit(const spoil_t *s)
{
	add_good_sigs(s, SIGS_MAX - 1);
}

static void add_sigs_beyond_the_limit(const spoil_t *s)
{
	add_good_sigs(s, SIGS_MAX);
}

/* ---- Faults of the chain ---- */

/* The NSEC or NSEC3 of the name. */
static void chain_record(const spoil_t *s, record_t *r)
{
	if (zone_nsec3_params(s->zone)->algorithm != 0) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t owner;
		assert_true(zone_nsec3_owner(zone_nsec3_params(s->zone), s->owner, origin, wire, &owner));
		const record_t *found = find_record(&s->has, owner, KNOT_TYPE_NSEC3, 0);
		assert_non_null(found);
		*r = *found;
	} else {
		*r = *spoil_find(s, KNOT_TYPE_NSEC, 0);
	}
	r->owner.wire = r->owner_wire;
}

/* Without its signatures, and without a link to it. */
static void drop_from_chain(const spoil_t *s)
{
	record_t r;
	chain_record(s, &r);
	remove_record(s->txn, &r);
	remove_record(s->txn, find_record(&s->has, r.owner, KNOT_TYPE_RRSIG, r.type));
}

static void resign(const spoil_t *s)
{
	sign_result_t result;
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_EC);
	plan.chain = SIGN_CHAIN_KEPT;
	plan.manages = SIGN_MANAGES_NONE;
	assert_int_equal(sign_zone(s->txn, NULL, &plan, &result), KNOT_OK);
}

static void change_link(const spoil_t *s)
{
	record_t r;
	chain_record(s, &r);
	remove_record(s->txn, &r);
	r.rdata[r.type == KNOT_TYPE_NSEC ? 1 : 5 + r.rdata[4] + 1 + 7] ^= 1;
	put_record(s->txn, &r);
	resign(s);
}

static void change_bitmap(const spoil_t *s)
{
	record_t r;
	chain_record(s, &r);
	remove_record(s->txn, &r);
	r.rdata[r.rdata_len - 1] ^= 0x10;
	put_record(s->txn, &r);
	resign(s);
}

/* The name goes out of the chain, which is closed behind it. */
static void skip_in_chain(const spoil_t *s)
{
	record_t gone;
	chain_record(s, &gone);
	bool is_nsec = gone.type == KNOT_TYPE_NSEC;
	for (size_t i = 0; i < s->has.count; i++) {
		record_t r = s->has.at[i];
		r.owner.wire = r.owner_wire;
		if (r.type != gone.type || knot_name_eq(r.owner, gone.owner)) {
			continue;
		}
		size_t head = is_nsec ? 0 : 6 + (size_t)r.rdata[4];
		size_t len = is_nsec ? knot_name_of(r.rdata).len : ZONE_NSEC3_HASH_LEN;
		size_t next_len = is_nsec ? knot_name_of(gone.rdata).len : ZONE_NSEC3_HASH_LEN;
		uint8_t hash[ZONE_NSEC3_HASH_LEN];
		bool leads = is_nsec ? knot_name_eq(knot_name_of(r.rdata), gone.owner)
				     : knot_base32hex_scan(
						       (knot_str_t){ (const char *)gone.owner.wire + 1, 32 }, hash) &&
							     memcmp(r.rdata + head, hash, len) == 0;
		if (leads) {
			remove_record(s->txn, &r);
			memmove(r.rdata + head + next_len, r.rdata + head + len, r.rdata_len - head - len);
			memcpy(r.rdata + head, gone.rdata + head, next_len);
			r.rdata_len += next_len - len;
			put_record(s->txn, &r);
		}
	}
	drop_from_chain(s);
	resign(s);
}

/* A name that isn't in the zone, between others. */
static void add_to_chain(const spoil_t *s)
{
	record_t r;
	chain_record(s, &r);
	record_t added = r;
	added.owner.wire = added.owner_wire;
	added.owner_wire[32] = r.owner_wire[32] == 'v' ? 'u' : (uint8_t)(r.owner_wire[32] + 1);
	if (r.owner_wire[32] == '9') {
		added.owner_wire[32] = 'a';
	}
	uint8_t *next = r.rdata + 6 + r.rdata[4];
	remove_record(s->txn, &r);
	put_record(s->txn, &added);
	assert_true(knot_base32hex_scan((knot_str_t){ (const char *)added.owner_wire + 1, 32 }, next));
	put_record(s->txn, &r);
	resign(s);
}

/* An NSEC where none belongs. */
static void add_nsec(const spoil_t *s)
{
	static const uint8_t rdata[] = "\4zone\0\0\1\x40";
	put_rr(s->txn, s->owner, KNOT_TYPE_NSEC, 30, (knot_bytes_t){ rdata, 9 });
}

static void add_nsec3(const spoil_t *s)
{
	record_t r;
	scan_record("00000000000000000000000000000000 30 NSEC3 1 0 0 - 00000000000000000000000000000001 A", &r);
	put_record(s->txn, &r);
	(void)s;
}

/* Foreign records: with another salt. */
static void add_foreign_nsec3(const spoil_t *s)
{
	record_t r;
	scan_record("00000000000000000000000000000000 30 NSEC3 1 0 0 FF 00000000000000000000000000000001 A", &r);
	put_record(s->txn, &r);
	(void)s;
}

static void clear_opt_out(const spoil_t *s)
{
	for (size_t i = 0; i < s->has.count; i++) {
		record_t r = s->has.at[i];
		r.owner.wire = r.owner_wire;
		if (r.type == KNOT_TYPE_NSEC3) {
			remove_record(s->txn, &r);
			r.rdata[1] = 0;
			put_record(s->txn, &r);
		}
	}
	resign(s);
}

static void add_param(const spoil_t *s)
{
	put_rr(s->txn, origin, KNOT_TYPE_NSEC3PARAM, 30, (knot_bytes_t){ (const uint8_t *)"\1\0\0\11\1x", 6 });
}

static void drop_param(const spoil_t *s)
{
	assert_int_equal(zone_txn_remove_all(s->txn, origin, KNOT_TYPE_NSEC3PARAM), KNOT_OK);
}

static void change_nothing(const spoil_t *s)
{
	(void)s;
}

/* ---- Rows ---- */

enum { ON_NSEC = 1 << CHAIN_NSEC, ON_NSEC3 = 1 << CHAIN_NSEC3, ON_OPT_OUT = 1 << CHAIN_OPT_OUT, ON_ALL = 7 };

static const struct {
	const char *what;
	unsigned chains;
	unsigned keys;
	void (*spoil)(const spoil_t *s);
	const char *owner; /* of what is spoilt */
	uint16_t type;
	knot_err_t err;
	uint16_t hint;          /* type that is told; 0: not compared */
	const char *hint_owner; /* NULL: owner; "": not compared */
} rows[] = {
	{ "nothing", ON_ALL, KEYS_EC, change_nothing, "@", 0, KNOT_OK, 0, NULL },
	{ "a bit of a signature", ON_ALL, KEYS_EC, flip_sig, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "that of a wildcard", ON_ALL, KEYS_EC, flip_sig, "*.w", KNOT_TYPE_A, KNOT_ENOSIG, KNOT_TYPE_A, NULL },
	{ "that of the SOA", ON_ALL, KEYS_EC, flip_sig, "@", KNOT_TYPE_SOA, KNOT_ENOSIG, KNOT_TYPE_SOA, NULL },
	{ "that of the keys", ON_ALL, KEYS_EC, flip_sig, "@", KNOT_TYPE_DNSKEY, KNOT_ENOSIG, KNOT_TYPE_DNSKEY, NULL },
	{ "that of a DS", ON_ALL, KEYS_RSA, flip_sig, "secure", KNOT_TYPE_DS, KNOT_ENOSIG, KNOT_TYPE_DS, NULL },
	{ "that of an NSEC", ON_NSEC, KEYS_EC, flip_sig, "cut", KNOT_TYPE_NSEC, KNOT_ENOSIG, KNOT_TYPE_NSEC, NULL },
	{ "labels", ON_ALL, KEYS_EC, change_labels, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "original TTL", ON_ALL, KEYS_EC, change_original_ttl, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT,
			NULL },
	{ "signer", ON_ALL, KEYS_EC, change_signer, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "tag", ON_ALL, KEYS_EC, change_tag, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "no signature", ON_ALL, KEYS_EC, drop_sig, "ns", KNOT_TYPE_AAAA, KNOT_ENOSIG, KNOT_TYPE_AAAA, NULL },
	{ "no signature at all", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, drop_sig, "secure", KNOT_TYPE_DS, KNOT_ENSECBITMAP, 0,
			NULL },
	{ "no signature of a DELEG", ON_NSEC, KEYS_EC, drop_sig, "other", DELEG, KNOT_ENOSIG, DELEG, NULL },
	{ "one of two algorithms", ON_ALL, KEYS_BOTH, drop_sig, "ns", KNOT_TYPE_AAAA, KNOT_OK, 0, NULL },
	{ "a wrong one beside a good one", ON_ALL, KEYS_EC, add_bad_sig, "txt", KNOT_TYPE_TXT, KNOT_ESIGNATURE,
			KNOT_TYPE_TXT, NULL },
	{ "a foreign one beside a good one", ON_ALL, KEYS_EC, add_foreign_sig, "txt", KNOT_TYPE_TXT, KNOT_OK, 0, NULL },
	{ "TTL", ON_ALL, KEYS_EC, change_ttl, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "a record more", ON_ALL, KEYS_EC, add_to_set, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "a record less", ON_ALL, KEYS_EC, drop_from_set, "txt", KNOT_TYPE_TXT, KNOT_ENOSIG, KNOT_TYPE_TXT, NULL },
	{ "glue that is signed", ON_ALL, KEYS_EC, sign_foreign, "ns.cut", KNOT_TYPE_A, KNOT_ENOSIG, KNOT_TYPE_A, NULL },
	{ "a delegation that is signed", ON_ALL, KEYS_EC, sign_foreign, "cut", KNOT_TYPE_NS, KNOT_ENOSIG, KNOT_TYPE_NS,
			NULL },
	{ "no DNSKEY", ON_ALL, KEYS_EC, drop_keys, "@", 0, KNOT_ENOSIGNKEYS, NO_HINT, NULL },
	{ "a DNSKEY that is none", ON_ALL, KEYS_EC, add_junk_key, "@", 0, KNOT_EPUBLICKEY, NO_HINT, NULL },
	{ "a DNSKEY less", ON_ALL, KEYS_EC, drop_from_set, "@", KNOT_TYPE_DNSKEY, KNOT_ENOSIG, 0, NULL },
	{ "another DNSKEY with the same tag", ON_ALL, KEYS_RSA, swap_key, "@", 0, KNOT_ENOSIG, 0, NULL },
	{ "many DNSKEYs with one tag", ON_ALL, KEYS_RSA, add_like_keys, "@", 0, KNOT_EKEYTAGS, 0, NULL },
	{ "many signatures of a set", ON_ALL, KEYS_EC, add_sigs_to_the_limit, "srv", 65280, KNOT_OK, 0, NULL },
	{ "too many", ON_ALL, KEYS_EC, add_sigs_beyond_the_limit, "srv", 65280, KNOT_ESIGNATURE, 65280, NULL },
	{ "no NSEC", ON_NSEC, KEYS_EC, drop_from_chain, "txt", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "no NSEC of a delegation", ON_NSEC, KEYS_EC, drop_from_chain, "x.y.e", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "left out", ON_ALL, KEYS_EC, skip_in_chain, "txt", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "an empty name left out", ON_NSEC3, KEYS_EC, skip_in_chain, "b.c.d", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "an empty name left out with opt-out", ON_OPT_OUT, KEYS_EC, skip_in_chain, "b.c.d", 0, KNOT_ENONSEC,
			KNOT_TYPE_ANY, NULL },
	{ "a delegation left out", ON_NSEC3, KEYS_EC, skip_in_chain, "x.y.e", 0, KNOT_EOPTOUT, KNOT_TYPE_ANY, NULL },
	{ "a signed one left out", ON_OPT_OUT, KEYS_EC, skip_in_chain, "secure", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "no NSEC3", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, drop_from_chain, "txt", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "link", ON_ALL, KEYS_EC, change_link, "txt", 0, KNOT_ENSECCHAIN, 0, "" },
	{ "bitmap", ON_ALL, KEYS_EC, change_bitmap, "txt", 0, KNOT_ENSECBITMAP, 0, NULL },
	{ "bitmap of a cut", ON_ALL, KEYS_EC, change_bitmap, "secure", 0, KNOT_ENSECBITMAP, 0, NULL },
	{ "bitmap of the apex", ON_ALL, KEYS_EC, change_bitmap, "@", 0, KNOT_ENSECBITMAP, 0, NULL },
	{ "an NSEC below a cut", ON_NSEC, KEYS_EC, add_nsec, "ns.cut", 0, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC, NULL },
	{ "an NSEC at an empty name", ON_NSEC, KEYS_EC, add_nsec, "b.c.d", 0, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC, NULL },
	{ "two NSECs", ON_NSEC, KEYS_EC, add_nsec, "txt", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
	{ "an NSEC beside NSEC3", ON_NSEC3, KEYS_EC, add_nsec, "txt", 0, KNOT_ENSECBITMAP, KNOT_TYPE_NSEC, NULL },
	{ "an NSEC3 beside NSEC", ON_NSEC, KEYS_EC, add_nsec3, "txt", 0, KNOT_EEXTRANSEC, KNOT_TYPE_NSEC3, "" },
	{ "a signature of nothing", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, sign_foreign, "nothing", KNOT_TYPE_A, KNOT_ENONSEC,
			KNOT_TYPE_ANY, NULL },
	{ "an NSEC3 too many", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, add_to_chain, "txt", 0, KNOT_EEXTRANSEC, KNOT_TYPE_NSEC3,
			"" },
	{ "a foreign NSEC3", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, add_foreign_nsec3, "@", 0, KNOT_OK, 0, NULL },
	{ "no opt-out", ON_OPT_OUT, KEYS_EC, clear_opt_out, "@", 0, KNOT_EOPTOUT, KNOT_TYPE_ANY, "" },
	{ "two NSEC3PARAMs", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, add_param, "@", 0, KNOT_ENSEC3PARAM, NO_HINT, NULL },
	{ "no NSEC3PARAM", ON_NSEC3 | ON_OPT_OUT, KEYS_EC, drop_param, "@", 0, KNOT_ENONSEC, KNOT_TYPE_ANY, NULL },
};

static const validate_options_t plain = { .now_s = NOW_S };

static void assert_hint(const validate_result_t *result, size_t row, knot_name_t owner, const char *what)
{
	char has[KNOT_NAME_TEXT_MAX];
	if (rows[row].err == KNOT_OK || rows[row].hint == NO_HINT) {
		assert_false(result->has_hint);
		return;
	}
	assert_true(result->has_hint);
	knot_name_t name = knot_name_of(result->owner);
	knot_name_print(name, has);
	bool is_other_owner = rows[row].hint_owner == NULL && !knot_name_eq(name, owner);
	if (is_other_owner || (rows[row].hint != 0 && rows[row].hint != result->type)) {
		fail_msg("%s: %s: hint %s type %u", what, rows[row].what, has, result->type);
	}
}

static uint64_t count_left_out(const validate_faults_t *found)
{
	uint64_t count = 0;
	for (size_t i = 0; i < VALIDATE_KINDS; i++) {
		count += found->left_out[i];
	}
	return count;
}

static void assert_same_fault(const validate_fault_t *a, const validate_fault_t *b)
{
	assert_int_equal(a->err, b->err);
	assert_int_equal(a->type, b->type);
	assert_ptr_equal(a->owner.wire, b->owner.wire);
}

/* The first fault is that at which the check ends that doesn't go on; others stay the same with more threads, and are
 * counted where they aren't listed. */
static void check_list(const zone_contents_t *zone, knot_err_t want, const validate_result_t *result, const char *what)
{
	enum { MANY = 1000 };
	validate_options_t options = plain;
	validate_faults_t all, some, one;
	knot_err_t err = validate_zone_list(zone, &options, MANY, &all);
	bool has_place = want != KNOT_OK && validate_kind(want) < VALIDATE_KINDS;
	if (err != (has_place ? KNOT_OK : want) || (all.count > 0) != has_place) {
		fail_msg("%s: list: %s, %zu", what, knot_strerror(err), all.count);
	}
	options.thread_count = 2;
	assert_int_equal(validate_zone_list(zone, &options, MANY, &some), err);
	assert_int_equal(validate_zone_list(zone, &options, 1, &one), err);
	assert_int_equal(some.count, all.count);
	assert_int_equal(count_left_out(&all) + count_left_out(&some), 0);
	for (size_t i = 0; i < all.count; i++) {
		assert_same_fault(&some.faults[i], &all.faults[i]);
	}
	if (has_place) {
		assert_int_equal(all.faults[0].err, want);
		assert_int_equal(all.faults[0].type, result->type);
		assert_true(knot_name_eq(all.faults[0].owner, knot_name_of(result->owner)));
		assert_int_equal(one.count, 1);
		assert_same_fault(&one.faults[0], &all.faults[0]);
		assert_int_equal(count_left_out(&one), all.count - 1);
	}
	validate_faults_done(&all);
	validate_faults_done(&some);
	validate_faults_done(&one);
}

static void check_row(size_t row, unsigned chain)
{
	uint8_t wire[KNOT_NAME_MAX];
	sign_plan_t plan = plan_of(chain, rows[row].keys);
	validate_options_t options = plain;
	validate_result_t result;
	bool is_in[KNOT_LEN(lines)];
	for (size_t i = 0; i < KNOT_LEN(lines); i++) { /* "cut" is insecure; other programs don't know DELEG */
		is_in[i] = i + 1 < KNOT_LEN(lines) && (rows[row].type == DELEG || records[i].type != DELEG);
	}
	zone_contents_t *zone = make_zone(is_in, &plan);
	assert_int_equal(validate_zone(zone, &options, &result), KNOT_OK);
	spoil_t s = { begin(zone), list_zone(zone), scan_name(rows[row].owner, wire), rows[row].type, zone };
	rows[row].spoil(&s);
	zone_contents_t *spoilt = commit(s.txn);
	for (options.thread_count = 0; options.thread_count <= 2; options.thread_count++) {
		knot_err_t err = validate_zone(spoilt, &options, &result);
		if (err != rows[row].err) {
			fail_msg("%s: %s: whole: %s", chain_names[chain], rows[row].what, knot_strerror(err));
		}
		assert_hint(&result, row, s.owner, "whole");
	}
	char what[200];
	snprintf(what, sizeof(what), "%s: %s", chain_names[chain], rows[row].what);
	dump_zone(spoilt, what, rows[row].err, result.has_hint ? knot_name_of(result.owner) : (knot_name_t){ 0 });
	check_list(spoilt, rows[row].err, &result, what);
	knot_err_t err = validate_change(zone, spoilt, &options, &result);
	if (err != rows[row].err) {
		fail_msg("%s: %s: change: %s", chain_names[chain], rows[row].what, knot_strerror(err));
	}
	assert_hint(&result, row, s.owner, "change");
	free(s.has.at);
	zone_contents_free(spoilt);
	zone_contents_free(zone);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t row = 0; row < KNOT_LEN(rows); row++) {
		for (unsigned chain = 0; chain < CHAINS; chain++) {
			if (rows[row].chains & 1u << chain) {
				check_row(row, chain);
			}
		}
	}
}

/* ---- Times ---- */

static void test_times(void **state)
{
	(void)state;
	const uint64_t begins_s = NOW_S - SIGN_INCEPTION_OFFSET_S, ends_s = NOW_S + LIFETIME_S;
	const struct {
		const char *what;
		validate_options_t options;
		knot_err_t err;
	} at[] = {
		{ "now", { .now_s = NOW_S }, KNOT_OK },
		{ "first second", { .now_s = begins_s }, KNOT_OK },
		{ "not yet valid", { .now_s = begins_s - 1 }, KNOT_ENOSIG },
		{ "last second", { .now_s = ends_s }, KNOT_OK },
		{ "expired", { .now_s = ends_s + 1 }, KNOT_ENOSIG },
		{ "expired, nothing but times", { .now_s = ends_s + 1, .only_times = true }, KNOT_ENOSIG },
		{ "expired, whatever the time is", { .now_s = ends_s + 1, .ignores_times = true }, KNOT_OK },
		{ "in the margin", { .now_s = NOW_S, .margin_s = LIFETIME_S + 1 }, KNOT_EEXPIRES },
		{ "not in the margin", { .now_s = NOW_S, .margin_s = LIFETIME_S }, KNOT_OK },
	};
	for (unsigned chain = 0; chain < CHAINS; chain++) {
		sign_plan_t plan = plan_of(chain, KEYS_EC);
		zone_contents_t *zone = make_zone(NULL, &plan);
		for (size_t i = 0; i < KNOT_LEN(at); i++) {
			validate_result_t result;
			knot_err_t err = validate_zone(zone, &at[i].options, &result);
			if (err != at[i].err || result.earliest_expiration_s != ends_s ||
					result.has_hint != (err != KNOT_OK)) {
				fail_msg("%s: %s: %s", chain_names[chain], at[i].what, knot_strerror(err));
			}
		}
		zone_contents_free(zone);
	}
}

/* ---- What is looked at ---- */

static void test_algorithms(void **state)
{
	(void)state;
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_BOTH);
	validate_options_t options = { .now_s = NOW_S, .all_algorithms = true };
	validate_result_t result;
	uint8_t wire[KNOT_NAME_MAX];
	zone_contents_t *zone = make_zone(NULL, &plan);
	assert_int_equal(validate_zone(zone, &options, &result), KNOT_OK);
	spoil_t s = { begin(zone), list_zone(zone), scan_name("txt", wire), KNOT_TYPE_TXT, zone };
	drop_sig(&s);
	zone_contents_t *spoilt = commit(s.txn);
	assert_int_equal(validate_zone(spoilt, &options, &result), KNOT_ENOSIG);
	assert_int_equal(result.type, KNOT_TYPE_TXT);
	free(s.has.at);
	zone_contents_free(spoilt);
	zone_contents_free(zone);
}

static void put_many_names(zone_txn_t *txn, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char line[60];
		record_t r;
		snprintf(line, sizeof(line), "n%u 60 TXT x", i);
		scan_record(line, &r);
		put_record(txn, &r);
	}
}

/* A fault that one sample may miss is found by one of as many as there are; all but cryptography is looked at in each.
 */
static void test_sample(void **state)
{
	(void)state;
	enum { NAMES = 200, SAMPLE = 5 };
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_EC);
	validate_options_t options = { .now_s = NOW_S, .sample = SAMPLE };
	validate_result_t all, some;
	uint8_t wire[KNOT_NAME_MAX];
	sign_result_t signed_result;
	zone_contents_t *plain_zone = make_zone(NULL, &plan);
	zone_txn_t *txn = begin(plain_zone);
	put_many_names(txn, NAMES);
	assert_int_equal(sign_zone(txn, NULL, &plan, &signed_result), KNOT_OK);
	zone_contents_t *zone = commit(txn);
	assert_int_equal(validate_zone(zone, &plain, &all), KNOT_OK);
	assert_int_equal(validate_zone(zone, &options, &some), KNOT_OK);
	assert_int_equal(all.verified_count, all.rrsig_count);
	assert_int_equal(some.rrsig_count, all.rrsig_count);
	assert_in_range(some.verified_count, all.rrsig_count / SAMPLE / 2, all.rrsig_count / SAMPLE * 2);
	spoil_t s = { begin(zone), list_zone(zone), scan_name("n177", wire), KNOT_TYPE_TXT, zone };
	flip_sig(&s);
	zone_contents_t *spoilt = commit(s.txn);
	unsigned found = 0;
	for (options.sample_seed = 0; options.sample_seed < SAMPLE; options.sample_seed++) {
		found += validate_zone(spoilt, &options, &some) == KNOT_ENOSIG;
	}
	assert_int_equal(found, 1);
	assert_int_equal(validate_change(zone, spoilt, &plain, &some), KNOT_ENOSIG);
	assert_int_equal(some.verified_count, 1); /* the other signatures of the name are as before */
	free(s.has.at);
	zone_contents_free(spoilt);
	zone_contents_free(zone);
	zone_contents_free(plain_zone);
}

/* Of several faults the first is found, however many threads look for it. */
/* More keys than an RRset counts. */
static void test_many_keys(void **state)
{
	(void)state;
	enum { MANY = UINT16_MAX + 5000 };
	uint8_t rdata[4 + 32] = { 1, 0, 3, 15 };
	validate_result_t result;
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_EC);
	zone_contents_t *zone = make_zone(NULL, &plan);
	zone_txn_t *txn = begin(zone);
	for (uint32_t i = 0; i < MANY; i++) {
		store_be32(rdata + 4, i);
		put_rr(txn, origin, KNOT_TYPE_DNSKEY, 3600, (knot_bytes_t){ rdata, sizeof(rdata) });
	}
	zone_contents_t *next = commit(txn);
	assert_int_equal(validate_zone(next, &plain, &result), KNOT_ENOSIG);
	assert_int_equal(result.type, KNOT_TYPE_DNSKEY);
	zone_contents_free(next);
	zone_contents_free(zone);
}

/* More iterations than are wanted. */
static void test_iterations(void **state)
{
	(void)state;
	validate_options_t options = plain;
	validate_result_t result;
	sign_plan_t plan = plan_of(CHAIN_NSEC3, KEYS_EC);
	zone_contents_t *zone = make_zone(NULL, &plan);
	options.iterations_max = plan.nsec3.iterations;
	assert_int_equal(validate_zone(zone, &options, &result), KNOT_OK);
	options.iterations_max--;
	assert_int_equal(validate_zone(zone, &options, &result), KNOT_ENSEC3PARAM);
	zone_contents_free(zone);
}

static void test_threads(void **state)
{
	(void)state;
	enum { NAMES = 2000 };
	static const char *const spoilt_names[] = { "n999", "n1500", "n1999", "n7", "n12" };
	for (unsigned chain = 0; chain < CHAINS; chain++) {
		sign_plan_t plan = plan_of(chain, KEYS_EC);
		uint8_t wire[KNOT_NAME_MAX];
		sign_result_t signed_result;
		zone_contents_t *small = make_zone(NULL, &plan);
		zone_txn_t *txn = begin(small);
		put_many_names(txn, NAMES);
		assert_int_equal(sign_zone(txn, NULL, &plan, &signed_result), KNOT_OK);
		zone_contents_t *zone = commit(txn);
		spoil_t s = { begin(zone), list_zone(zone), { 0 }, KNOT_TYPE_TXT, zone };
		for (size_t i = 0; i < KNOT_LEN(spoilt_names); i++) {
			s.owner = scan_name(spoilt_names[i], wire);
			flip_sig(&s);
		}
		zone_contents_t *spoilt = commit(s.txn);
		validate_result_t good, bad;
		for (unsigned threads = 0; threads <= 4; threads++) {
			const validate_options_t options = { .now_s = NOW_S, .thread_count = threads };
			assert_int_equal(validate_zone(zone, &options, &good), KNOT_OK);
			assert_int_equal(good.verified_count, good.rrsig_count);
			assert_int_equal(validate_zone(spoilt, &options, &bad), KNOT_ENOSIG);
			assert_true(knot_name_eq(knot_name_of(bad.owner), scan_name("n12", wire)));
		}
		free(s.has.at);
		zone_contents_free(spoilt);
		zone_contents_free(zone);
		zone_contents_free(small);
	}
}

/* When a change is a case for the whole zone. */
static void test_whole(void **state)
{
	(void)state;
	validate_result_t result;
	sign_plan_t plan = plan_of(CHAIN_NSEC, KEYS_EC), more = plan_of(CHAIN_NSEC, KEYS_BOTH);
	zone_contents_t *zone = make_zone(NULL, &plan);
	assert_int_equal(validate_change(NULL, zone, &plain, &result), KNOT_OK);
	assert_true(result.is_whole);
	assert_int_equal(validate_change(zone, zone, &plain, &result), KNOT_OK);
	assert_false(result.is_whole);
	assert_int_equal(result.rrsig_count, 0);
	zone_txn_t *txn = begin(zone);
	sign_result_t signed_result;
	assert_int_equal(sign_zone(txn, NULL, &more, &signed_result), KNOT_OK);
	zone_contents_t *next = commit(txn);
	assert_int_equal(validate_change(zone, next, &plain, &result), KNOT_OK);
	assert_true(result.is_whole);
	zone_contents_t *other = make_zone(NULL, &plan); /* the same records in other memory */
	assert_int_equal(validate_change(zone, other, &plain, &result), KNOT_OK);
	assert_false(result.is_whole);
	zone_contents_free(other);
	zone_contents_free(next);
	zone_contents_free(zone);
}

typedef struct {
	uint8_t rdata[512];
	size_t len;
	uint32_t ttl;
} signature_t;

static bool find_signature(const zone_rr_t *rr, void *ctx)
{
	signature_t *found = ctx;
	if (rr->type == KNOT_TYPE_RRSIG) {
		memcpy(found->rdata, rr->rdata.data, rr->rdata.len);
		found->len = rr->rdata.len;
		found->ttl = rr->ttl;
	}
	return found->len == 0;
}

static knot_name_t many_name(unsigned number, uint8_t wire[static KNOT_NAME_MAX])
{
	char text[32];
	knot_name_t name;
	snprintf(text, sizeof(text), "many-%u", number);
	assert_int_equal(knot_name_scan(knot_str_of(text), origin, wire, &name), KNOT_OK);
	return name;
}

/* A change that is worth threads: two signatures of it are spoilt, and the first one is found. */
static void test_large_change(void **state)
{
	(void)state;
	enum { NAMES = 400 };
	static const uint8_t address[] = { 192, 0, 2, 7 };
	for (unsigned chain = 0; chain < CHAINS; chain++) {
		uint8_t wire[KNOT_NAME_MAX];
		sign_plan_t plan = plan_of(chain, KEYS_EC);
		zone_contents_t *zone = make_zone(NULL, &plan);
		zone_txn_t *txn = begin(zone);
		sign_result_t signed_result;
		bool is_all;
		for (unsigned i = 0; i < NAMES; i++) {
			knot_name_t name = many_name(i, wire);
			assert_int_equal(zone_txn_put(txn, name, KNOT_TYPE_A, 60, (knot_bytes_t){ address, 4 }),
					KNOT_OK);
		}
		assert_int_equal(sign_change(txn, &plan, &is_all, &signed_result), KNOT_OK);
		zone_contents_t *good = commit(txn);
		txn = begin(good);
		for (unsigned i = 155; i < NAMES; i += 100) { /* 155 is before 255 and 355 */
			signature_t found = { .len = 0 };
			knot_name_t name = many_name(i, wire);
			assert_int_equal(zone_txn_each_of(txn, name, find_signature, &found), KNOT_OK);
			knot_bytes_t rdata = { found.rdata, found.len };
			assert_int_equal(zone_txn_remove(txn, name, KNOT_TYPE_RRSIG, rdata), KNOT_OK);
			found.rdata[found.len - 5] ^= 2;
			assert_int_equal(zone_txn_put(txn, name, KNOT_TYPE_RRSIG, found.ttl, rdata), KNOT_OK);
		}
		zone_contents_t *bad = commit(txn);
		for (unsigned threads = 1; threads <= 4; threads++) {
			validate_options_t options = plain;
			validate_result_t result;
			options.thread_count = threads;
			assert_int_equal(validate_change(zone, good, &options, &result), KNOT_OK);
			assert_false(result.is_whole);
			assert_true(result.verified_count >= NAMES);
			assert_int_equal(validate_change(zone, bad, &options, &result), KNOT_ENOSIG);
			assert_true(result.has_hint);
			assert_true(knot_name_eq(knot_name_of(result.owner), many_name(155, wire)));
		}
		zone_contents_free(bad);
		zone_contents_free(good);
		zone_contents_free(zone);
	}
}

/* From here on several signatures by a key are verified together. */
static void test_tables(void **state)
{
	(void)state;
	const dnssec_key_t *const keys[] = { ec_ksk, ec_zsk };
	for (size_t i = 0; i < KNOT_LEN(keys); i++) {
		p256_table_t *table = p256_table_take(dnssec_key_rdata(keys[i]).data + 4, UINT32_MAX);
		assert_non_null(table);
		p256_table_release(table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_algorithms),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_iterations),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_large_change),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_large_change),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_algorithms),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
