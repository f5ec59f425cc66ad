/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static knot_bytes_t text_of(const char *text)
{
	return (knot_bytes_t){ (const uint8_t *)text, strlen(text) };
}

static knot_err_t verify(
		const dnssec_key_t *key, const knot_bytes_t *pieces, size_t count, const uint8_t *sig, size_t len)
{
	dnssec_verifier_t *verifier;
	assert_int_equal(dnssec_verifier_new(key, &verifier), KNOT_OK);
	knot_err_t err = dnssec_verifier_verify(verifier, pieces, count, (knot_bytes_t){ sig, len });
	assert_int_equal(dnssec_verifier_verify(verifier, pieces, count, (knot_bytes_t){ sig, len }), err);
	dnssec_verifier_free(verifier);
	return err;
}

/* What one signs the other accepts, however it is cut into pieces, and nothing that has a bit flipped. */
static void check_key(const dnssec_key_t *key, bool is_reproducible)
{
	const knot_bytes_t whole[] = { text_of("header, owner, records") };
	const knot_bytes_t parts[] = { text_of("header"), text_of(""), text_of(", owner"), text_of(", records") };
	const knot_bytes_t others[] = { text_of("header, owner, recordt"), text_of("header, owner, record"),
		text_of("") };
	const dnssec_algorithm_t *row = dnssec_key_algorithm_row(key);
	uint8_t sig[DNSSEC_SIGNATURE_MAX], again[DNSSEC_SIGNATURE_MAX];
	size_t len, again_len;
	dnssec_signer_t *signer;
	assert_int_equal(dnssec_signer_new(key, is_reproducible, &signer), KNOT_OK);
	for (unsigned i = 0; i < 40; i++) { /* numbers of ECDSA with leading zeros among them */
		assert_int_equal(dnssec_signer_sign(signer, parts, 4, sig, &len), KNOT_OK);
		assert_int_equal(len, row->signature_len != 0 ? row->signature_len : dnssec_key_bits(key) / 8);
		assert_int_equal(verify(key, whole, 1, sig, len), KNOT_OK);
	}
	assert_int_equal(dnssec_signer_sign(signer, whole, 1, again, &again_len), KNOT_OK);
	assert_int_equal(memcmp(sig, again, len) == 0, is_reproducible || row->is_deterministic);
	dnssec_signer_free(signer);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(verify(key, &others[i], 1, sig, len), KNOT_ESIGNATURE);
	}
	for (size_t i = 0; i < len; i++) {
		sig[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(verify(key, whole, 1, sig, len), KNOT_ESIGNATURE);
		sig[i] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(verify(key, whole, 1, sig, len - 1), KNOT_ESIGNATURE);
	assert_int_equal(verify(key, whole, 1, sig, 0), KNOT_ESIGNATURE);
	memset(sig, 0, sizeof(sig));
	assert_int_equal(verify(key, whole, 1, sig, len), KNOT_ESIGNATURE);
}

static void test_each_algorithm(void **state)
{
	(void)state;
	const dnssec_algorithm_t *row;
	for (size_t i = 0; (row = dnssec_algorithm_at(i)) != NULL; i++) {
		dnssec_key_t *key, *other;
		unsigned bits = row->kind == DNSSEC_KIND_RSA ? 1024 : 0;
		assert_int_equal(dnssec_key_generate(row->number, bits, 256, &key), KNOT_OK);
		check_key(key, false);
		check_key(key, true);
		/* Another key of the algorithm. */
		const knot_bytes_t data = text_of("data");
		uint8_t sig[DNSSEC_SIGNATURE_MAX];
		size_t len;
		dnssec_signer_t *signer;
		assert_int_equal(dnssec_key_generate(row->number, bits, 256, &other), KNOT_OK);
		assert_int_equal(dnssec_signer_new(other, false, &signer), KNOT_OK);
		assert_int_equal(dnssec_signer_sign(signer, &data, 1, sig, &len), KNOT_OK);
		assert_int_equal(verify(key, &data, 1, sig, len), KNOT_ESIGNATURE);
		assert_int_equal(verify(other, &data, 1, sig, len), KNOT_OK);
		dnssec_signer_free(signer);
		dnssec_key_free(other);
		dnssec_key_free(key);
	}
}

/* Enough signatures by one key that those of P-256 are verified with a table, and one by one or several at once. */
static void check_many(const dnssec_key_t *key, unsigned count)
{
	uint8_t sig[DNSSEC_SIGNATURE_MAX], number[4] = { 0 };
	const knot_bytes_t data[] = { text_of("number "), { number, sizeof(number) } };
	size_t len;
	dnssec_signer_t *signer;
	dnssec_verifier_t *verifier;
	assert_int_equal(dnssec_signer_new(key, false, &signer), KNOT_OK);
	assert_int_equal(dnssec_verifier_new(key, &verifier), KNOT_OK);
	assert_int_equal(dnssec_verifier_settle(verifier), KNOT_OK);
	for (unsigned i = 0; i < count; i++) {
		store_be32(number, i);
		assert_int_equal(dnssec_signer_sign(signer, data, KNOT_LEN(data), sig, &len), KNOT_OK);
		knot_err_t (*verify_by[])(dnssec_verifier_t *, const knot_bytes_t *, size_t,
				knot_bytes_t) = { dnssec_verifier_take, dnssec_verifier_verify };
		assert_int_equal(verify_by[i % 3 == 0](verifier, data, KNOT_LEN(data), (knot_bytes_t){ sig, len }),
				KNOT_OK);
	}
	assert_int_equal(dnssec_verifier_settle(verifier), KNOT_OK);
	/* A wrong one among those that are taken is told of, and forgotten. */
	for (unsigned wrong = 0; wrong < 40; wrong += 13) {
		knot_err_t err = KNOT_OK;
		for (unsigned i = 0; i < 40; i++) {
			store_be32(number, i);
			assert_int_equal(dnssec_signer_sign(signer, data, KNOT_LEN(data), sig, &len), KNOT_OK);
			sig[i % len] ^= i == wrong ? 0x10 : 0;
			knot_err_t now = dnssec_verifier_take(
					verifier, data, KNOT_LEN(data), (knot_bytes_t){ sig, len });
			assert_true(now == KNOT_OK || (now == KNOT_ESIGNATURE && i >= wrong && err == KNOT_OK));
			err = err == KNOT_OK ? now : err;
		}
		knot_err_t last = dnssec_verifier_settle(verifier);
		assert_int_equal(err == KNOT_OK ? last : err, KNOT_ESIGNATURE);
		assert_int_equal(dnssec_verifier_settle(verifier), KNOT_OK);
		assert_int_equal(dnssec_verifier_take(verifier, data, KNOT_LEN(data), (knot_bytes_t){ sig, 1 }),
				KNOT_ESIGNATURE);
	}
	dnssec_verifier_free(verifier);
	dnssec_signer_free(signer);
	check_key(key, false);
}

static void test_many(void **state)
{
	(void)state;
	static const struct {
		uint8_t algorithm;
		unsigned count;
	} rows[] = { { DNSSEC_ECDSAP256SHA256, 1500 }, { DNSSEC_ECDSAP384SHA384, 50 }, { DNSSEC_ED25519, 50 } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		dnssec_key_t *key;
		assert_int_equal(dnssec_key_generate(rows[i].algorithm, 0, 256, &key), KNOT_OK);
		check_many(key, rows[i].count);
		dnssec_key_free(key);
	}
}

/* RFC 6979 A.2.5, SHA-256, "sample". */
static void test_reproducible_vector(void **state)
{
	(void)state;
	static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
				  "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgya+p2EW6dRZrXCFX\n"
				  "Z7HWk05Qw9s26JsSe4piKxIPZyGhRANCAARg/tS6JVqdMclh63TGNW1owEm4kjth\n"
				  "+mzmaWIuYPKftnkD/hAIuLyZpBrp6VYovGTy8bIMLX6fUXejwpTURiKZ\n"
				  "-----END PRIVATE KEY-----\n";
	static const char want[] = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
				   "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8";
	const knot_bytes_t data = text_of("sample");
	dnssec_key_t *key;
	dnssec_signer_t *signer;
	uint8_t sig[DNSSEC_SIGNATURE_MAX];
	size_t len;
	char text[2 * 64 + 1];
	assert_int_equal(dnssec_key_from_pem(text_of(pem), DNSSEC_ECDSAP256SHA256, 256, &key), KNOT_OK);
	assert_int_equal(dnssec_signer_new(key, true, &signer), KNOT_OK);
	assert_int_equal(dnssec_signer_sign(signer, &data, 1, sig, &len), KNOT_OK);
	assert_int_equal(len, 64);
	for (size_t i = 0; i < len; i++) {
		snprintf(text + 2 * i, 3, "%02x", sig[i]);
	}
	assert_string_equal(text, want);
	dnssec_signer_free(signer);
	dnssec_key_free(key);
}

static void test_no_private_key(void **state)
{
	(void)state;
	dnssec_key_t *key, *public;
	dnssec_signer_t *signer = NULL;
	assert_int_equal(dnssec_key_generate(DNSSEC_ED25519, 0, 256, &key), KNOT_OK);
	assert_int_equal(dnssec_key_from_rdata(dnssec_key_rdata(key), &public), KNOT_OK);
	assert_int_equal(dnssec_signer_new(public, false, &signer), KNOT_ENOPRIVATEKEY);
	assert_null(signer);
	dnssec_signer_free(NULL);
	dnssec_verifier_free(NULL);
	dnssec_key_free(public);
	dnssec_key_free(key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_algorithm),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_reproducible_vector),
		cmocka_unit_test(test_no_private_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
