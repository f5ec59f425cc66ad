/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/key.h"
#include "libknot/base/encode.h"
#include "libdnssec/digest.h"
#include "libknot/base/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* "dskey.example.com." of RFC 4034 5.4 and 4509 2.3, "example.net." of RFC 6605 6.1 and 6.2. */
static const struct {
	const char *owner;
	uint16_t flags;
	uint8_t algorithm;
	unsigned bits;
	const char *public;
	uint16_t tag;
	unsigned digest_type;
	const char *digest;
} rows[] = {
	{ "\5dskey\7example\3com", 256, 5, 1024,
			"AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/"
			"2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/"
			"M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==",
			60485, DNSSEC_DIGEST_SHA1, "2bb183af5f22588179a53b0a98631fad1a292118" },
	{ "\5DSKEY\7example\3com", 256, 5, 1024,
			"AQOeiiR0GOMYkDshWoSKz9XzfwJr1AYtsmx3TGkJaNXVbfi/"
			"2pHm822aJ5iI9BMzNXxeYCmZDRD99WYwYqUSdjMmmAphXdvxegXd/"
			"M5+X7OrzKBaMbCVdFLUUh6DhweJBjEVv5f2wwjM9XzcnOf+EPbtG9DMBmADjFDc2w/rljwvFw==",
			60485, DNSSEC_DIGEST_SHA256,
			"d4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a" },
	{ "\7example\3net", 257, 13, 256,
			"GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==",
			55648, DNSSEC_DIGEST_SHA256,
			"b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17" },
	{ "\7example\3net", 257, 14, 384,
			"xKYaNhWdGOfJ+nPrL8/arkwf2EY3MDJ+SErKivBVSum1w/egsXvSADtNJhyem5RCOpgQ6K8X1DRSEkrbYQ+OB+v8/"
			"uX45NBwY8rp65F6Glur8I/mlVNgF6W/qTI37m40",
			10771, DNSSEC_DIGEST_SHA384,
			"72d7b62976ce06438e9c0bf319013cf801f09ecc84b8d7e9495f27e305c6a9b0563a9b5f4d288405c3008a946df983"
			"d6" },
};

static size_t make_rdata(uint16_t flags, uint8_t algorithm, const char *public, uint8_t *ret_rdata)
{
	store_be16(ret_rdata, flags);
	ret_rdata[2] = 3;
	ret_rdata[3] = algorithm;
	knot_base64_state_t state = { 0 };
	size_t len;
	assert_int_equal(knot_base64_add(&state, knot_str_of(public),
					 (knot_mut_bytes_t){ ret_rdata + 4, DNSSEC_KEY_RDATA_MAX - 4 }, &len),
			KNOT_DECODE_OK);
	return 4 + len;
}

static void test_public_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t rdata[DNSSEC_KEY_RDATA_MAX], digest[DNSSEC_DIGEST_MAX];
		size_t len = make_rdata(rows[i].flags, rows[i].algorithm, rows[i].public, rdata);
		dnssec_key_t *key;
		assert_int_equal(dnssec_key_from_rdata((knot_bytes_t){ rdata, len }, &key), KNOT_OK);
		assert_int_equal(dnssec_key_tag(key), rows[i].tag);
		assert_int_equal(dnssec_key_bits(key), rows[i].bits);
		assert_int_equal(dnssec_key_flags(key), rows[i].flags);
		assert_false(dnssec_key_has_private(key));
		size_t digest_len;
		char text[2 * DNSSEC_DIGEST_MAX + 1];
		assert_int_equal(dnssec_digest(rows[i].digest_type, knot_name_of((const uint8_t *)rows[i].owner),
						 dnssec_key_rdata(key), digest, &digest_len),
				KNOT_OK);
		for (size_t j = 0; j < digest_len; j++) {
			snprintf(text + 2 * j, 3, "%02x", digest[j]);
		}
		assert_string_equal(text, rows[i].digest);
		dnssec_key_free(key);
	}
}

static void test_malformed(void **state)
{
	(void)state;
	static const struct {
		uint8_t rdata[80];
		size_t len;
		knot_err_t want;
	} bad[] = {
		{ { 1, 0, 3 }, 3, KNOT_EMALF },
		{ { 1, 0, 3, 13 }, 4, KNOT_EMALF },
		{ { 1, 0, 2, 13, 1 }, 68, KNOT_EMALF },                  /* the protocol */
		{ { 1, 0, 3, 3, 1 }, 68, KNOT_EKEYALGORITHM },           /* DSA */
		{ { 1, 0, 3, 13, 1 }, 67, KNOT_EPUBLICKEY },             /* a byte is missing */
		{ { 1, 0, 3, 13, 1 }, 68, KNOT_EPUBLICKEY },             /* not on the curve */
		{ { 1, 0, 3, 8, 0 }, 5, KNOT_EPUBLICKEY },               /* RSA: no exponent */
		{ { 1, 0, 3, 8, 3, 1, 0, 1 }, 8, KNOT_EPUBLICKEY },      /* no modulus */
		{ { 1, 0, 3, 8, 0, 255, 255, 1 }, 60, KNOT_EPUBLICKEY }, /* an exponent beyond the end */
		{ { 1, 0, 3, 15, 1 }, 35, KNOT_EPUBLICKEY },
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		dnssec_key_t *key = NULL;
		knot_err_t err = dnssec_key_from_rdata((knot_bytes_t){ bad[i].rdata, bad[i].len }, &key);
		if (err != bad[i].want) {
			fail_msg("row %zu: %s", i, knot_strerror(err));
		}
	}
}

/* Exponents of RSA as long as 64 bits; longer ones would make verifications slow. RFC 3110 2. */
static void test_rsa_exponents(void **state)
{
	(void)state;
	static const struct {
		uint8_t len, first;
		knot_err_t want;
	} exponents[] = { { 3, 1, KNOT_OK }, { 8, 0xFF, KNOT_OK }, { 9, 1, KNOT_EPUBLICKEY },
		{ 10, 0, KNOT_EPUBLICKEY }, { 200, 1, KNOT_EPUBLICKEY } };
	for (size_t i = 0; i < KNOT_LEN(exponents); i++) {
		enum { MODULUS_LEN = 256 };
		uint8_t rdata[DNSSEC_KEY_RDATA_MAX] = { 1, 0, 3, 8, exponents[i].len };
		dnssec_key_t *key = NULL;
		memset(rdata + 5, 0xFF, exponents[i].len + (size_t)MODULUS_LEN);
		rdata[5] = exponents[i].first;
		size_t len = 5 + exponents[i].len + (size_t)MODULUS_LEN;
		knot_err_t err = dnssec_key_from_rdata((knot_bytes_t){ rdata, len }, &key);
		if (err != exponents[i].want) {
			fail_msg("%u octets: %s", exponents[i].len, knot_strerror(err));
		}
		dnssec_key_free(key);
	}
}

static void test_pem_and_ids(void **state)
{
	(void)state;
	const dnssec_algorithm_t *row;
	for (size_t i = 0; (row = dnssec_algorithm_at(i)) != NULL; i++) {
		dnssec_key_t *key, *again, *public;
		knot_mut_bytes_t pem;
		char id[DNSSEC_KEY_ID_LEN + 1], id_again[DNSSEC_KEY_ID_LEN + 1];
		unsigned bits = row->kind == DNSSEC_KIND_RSA ? 1024 : 0;
		assert_ptr_equal(dnssec_algorithm_find_name(row->name), row);
		assert_int_equal(dnssec_key_generate(row->number, bits, 257, &key), KNOT_OK);
		assert_int_equal(dnssec_key_bits(key), bits != 0 ? bits : row->bits_default);
		assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
		assert_non_null(strstr((const char *)pem.data, "-----BEGIN PRIVATE KEY-----"));
		assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ pem.data, pem.len }, row->number, 256, &again),
				KNOT_OK);
		assert_int_equal(dnssec_key_id(key, id), KNOT_OK);
		assert_int_equal(dnssec_key_id(again, id_again), KNOT_OK);
		assert_string_equal(id, id_again);
		assert_int_equal(strlen(id), DNSSEC_KEY_ID_LEN);
		assert_int_not_equal(dnssec_key_tag(key), dnssec_key_tag(again));
		dnssec_key_set_flags(again, 257);
		assert_int_equal(dnssec_key_tag(key), dnssec_key_tag(again));

		/* The public key alone gets its private one, and no other. */
		assert_int_equal(dnssec_key_from_rdata(dnssec_key_rdata(key), &public), KNOT_OK);
		assert_int_equal(dnssec_key_to_pem(public, &pem), KNOT_ENOPRIVATEKEY);
		dnssec_key_t *other;
		assert_int_equal(dnssec_key_generate(row->number, bits, 257, &other), KNOT_OK);
		assert_int_equal(dnssec_key_take_private(public, other), KNOT_EPRIVATEKEY);
		assert_int_equal(dnssec_key_take_private(public, again), KNOT_OK);
		assert_true(dnssec_key_has_private(public));
		assert_int_equal(dnssec_key_take_private(public, again), KNOT_ENOPRIVATEKEY);
		dnssec_pem_free(&pem);
		dnssec_key_free(other);
		dnssec_key_free(public);
		dnssec_key_free(again);
		dnssec_key_free(key);
	}
}

/* The PEM of a key in which the numbers of its public key are those of another one. */
static size_t mix_pem(const dnssec_key_t *key, const dnssec_key_t *other, size_t number_len, char *ret_text)
{
	static const char head[] = "-----BEGIN PRIVATE KEY-----\n", foot[] = "\n-----END PRIVATE KEY-----\n";
	knot_mut_bytes_t pem;
	uint8_t der[4096];
	char packed[8192];
	size_t len = 0, der_len = 0;
	assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
	const char *at = (const char *)pem.data + sizeof(head) - 1, *end = strstr(at, "-----END");
	for (; at < end; at++) {
		packed[len] = *at;
		len += *at != '\n';
	}
	dnssec_pem_free(&pem);
	knot_base64_state_t state = { 0 };
	assert_int_equal(knot_base64_add(&state, (knot_str_t){ packed, len }, (knot_mut_bytes_t){ der, sizeof(der) },
					 &der_len),
			KNOT_DECODE_OK);
	knot_bytes_t own = dnssec_key_rdata(key), wrong = dnssec_key_rdata(other);
	unsigned found = 0;
	for (size_t i = 0; i + number_len <= der_len; i++) {
		if (memcmp(der + i, own.data + own.len - number_len, number_len) == 0) {
			memcpy(der + i, wrong.data + wrong.len - number_len, number_len);
			found++;
		}
	}
	assert_int_equal(found, 1);
	len = knot_base64_print((knot_bytes_t){ der, der_len }, packed);
	return (size_t)sprintf(ret_text, "%s%.*s%s", head, (int)len, packed, foot);
}

/* A private key with the public key of another one is none. */
static void test_mixed_pem(void **state)
{
	(void)state;
	static const struct {
		uint8_t algorithm;
		size_t number_len; /* of the public key, at its end */
	} pairs[] = { { DNSSEC_ECDSAP256SHA256, 64 }, { DNSSEC_ECDSAP384SHA384, 96 }, { DNSSEC_RSASHA256, 256 } };
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		dnssec_key_t *key, *other, *mixed = NULL;
		char text[8192];
		assert_int_equal(dnssec_key_generate(pairs[i].algorithm, 0, 256, &key), KNOT_OK);
		assert_int_equal(dnssec_key_generate(pairs[i].algorithm, 0, 256, &other), KNOT_OK);
		size_t len = mix_pem(key, key, pairs[i].number_len, text);
		assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ (uint8_t *)text, len }, pairs[i].algorithm, 256,
						 &mixed),
				KNOT_OK);
		dnssec_key_free(mixed);
		len = mix_pem(key, other, pairs[i].number_len, text);
		assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ (uint8_t *)text, len }, pairs[i].algorithm, 256,
						 &mixed),
				KNOT_EPRIVATEKEY);
		dnssec_key_free(key);
		dnssec_key_free(other);
	}
}

static void test_wrong_pem(void **state)
{
	(void)state;
	dnssec_key_t *key, *none = NULL;
	knot_mut_bytes_t pem;
	assert_int_equal(dnssec_key_generate(DNSSEC_ECDSAP256SHA256, 0, 256, &key), KNOT_OK);
	assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
	const knot_bytes_t text = { pem.data, pem.len };
	assert_int_equal(dnssec_key_from_pem(text, DNSSEC_ECDSAP384SHA384, 256, &none), KNOT_EKEYALGORITHM);
	assert_int_equal(dnssec_key_from_pem(text, DNSSEC_RSASHA256, 256, &none), KNOT_EKEYALGORITHM);
	assert_int_equal(dnssec_key_from_pem(text, DNSSEC_ED25519, 256, &none), KNOT_EKEYALGORITHM);
	assert_int_equal(dnssec_key_from_pem(text, 3, 256, &none), KNOT_EKEYALGORITHM);
	for (size_t len = 0; len < text.len - 30; len += 7) {
		assert_int_equal(dnssec_key_from_pem(
						 (knot_bytes_t){ pem.data, len }, DNSSEC_ECDSAP256SHA256, 256, &none),
				KNOT_EPRIVATEKEY);
	}
	assert_null(none);
	assert_int_equal(dnssec_key_generate(DNSSEC_RSASHA256, 512, 256, &none), KNOT_EKEYSIZE);
	assert_int_equal(dnssec_key_generate(DNSSEC_ED25519, 257, 256, &none), KNOT_EKEYSIZE);
	assert_int_equal(dnssec_key_generate(12, 0, 256, &none), KNOT_EKEYALGORITHM);
	dnssec_pem_free(&pem);
	dnssec_key_free(key);
}

static void test_algorithm_names(void **state)
{
	(void)state;
	assert_int_equal(dnssec_algorithm_find_name("ecdsap256sha256")->number, 13);
	assert_int_equal(dnssec_algorithm_find_name("15")->number, 15);
	assert_null(dnssec_algorithm_find_name("271"));
	assert_null(dnssec_algorithm_find_name("15x"));
	assert_null(dnssec_algorithm_find_name(""));
	assert_null(dnssec_algorithm_find_name("dsa"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public_keys),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_rsa_exponents),
		cmocka_unit_test(test_pem_and_ids),
		cmocka_unit_test(test_mixed_pem),
		cmocka_unit_test(test_wrong_pem),
		cmocka_unit_test(test_algorithm_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
