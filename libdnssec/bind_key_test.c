/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/bind_key.h"
#include "libdnssec/sign.h"
#include "libknot/base/encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Made by BIND's dnssec-keygen for this test. */
static const char rsa_text[] =
		"Private-key-format: v1.3\n"
		"Algorithm: 8 (RSASHA256)\n"
		"Modulus: vXCZUtbO8iB7AFewpKaC1G2LGBvwWfrET9dbQiKUZMpe9GmzCcfo1HVDsSMd4rGWx+zKdP4C3M++TQiWx"
		"b6SZGD/ei5qRntSzgKDAzMYpgThX9JTZNXJw4Ow+LhBf2GF/JiTpf2zWLl8jHWBUDPDpeVxZSx4eRYM2F7rz5WvHjs"
		"=\n"
		"PublicExponent: AQAB\n"
		"PrivateExponent: IJFyGpbJf0DsRJPOz4+84E5w4lUzThTZmSxaCRWu02EjT/u4Bw9yTMxYNeTmp2mGlZp0+AYPc"
		"ezZN58pZJetzP2n/cO+VfEpVivA6bHesnZXzD10GuAJapsUBC3NPZycZher/4b+jrD4KJ8J/pQxs8UGYHuQr0MfmgH"
		"9I4Cxick=\n"
		"Prime1: +4kN9LOqPaFUchOKR/E2y4r3kpEO/89Vm4TzpCS2uMXSjGtuJ87pljrPE1vCf4eWefu/aJpp+f43xrz9ii"
		"mr1Q==\n"
		"Prime2: wM1j2Osr8QC4C6aVdhuuF7oYPe7/bH/ss+v2fuSERYyvSHrZxROiHLdsGubUNCYRIUtObRGMmm+HxPxeQu"
		"/5zw==\n"
		"Exponent1: YykIo2sgteMf00j4vpvNKjjCmLku3JH0AbdMBW2jyvvRoSHI71CWrW7Jq6wE5RmirLweHTKijLc3bdW"
		"bbhg3cQ==\n"
		"Exponent2: kPGXz7q0tSD6O+AHWtxiW/oOQXlMUtA1LeoFzM2U1wh1ugKJdsxUwkvunKbN/0pi9Gm90ucvkeao5iF"
		"n5+CrJw==\n"
		"Coefficient: cVsXnp2C26hzZhKuVsKSnXZOzoN2H2AbGxNcZjVmJ/PgUrCKHRvTlgIHKw6ju3bcGioqTs3qAZOY5"
		"azzacMlvA==\n";

/* RFC 6605 6.1. */
static const char ecdsa_text[] = "Private-key-format: v1.2\n"
				 "Algorithm: 13 (ECDSAP256SHA256)\n"
				 "PrivateKey: GU6SnQ/Ou+xC5RumuIUIuJZteXT2z0O/ok1s38Et6mQ=\n"
				 "Created: 20240229235959\n"
				 "Publish: 20230229000000\n" /* there was no such day */
				 "Inactive: 2024\n"
				 "Delete: 20260101000000 \n";

/* RFC 8080 6.1; with the ends of lines of another system. */
static const char ed25519_text[] = "Private-key-format: v1.2\r\n"
				   "Algorithm: 15 (ED25519)\r\n"
				   "PrivateKey: ODIyNjAzODQ2MjgwODAxMjI2NDUxOTAyMDQxNDIyNjI=\r\n"
				   "Activate: 20380119031408\r\n";

static const char rsa_public[] =
		"AwEAAb1wmVLWzvIgewBXsKSmgtRtixgb8Fn6xE/XW0IilGTKXvRpswnH6NR1Q7EjHeKxlsfsynT+AtzPvk0IlsW+km"
		"Rg/3ouakZ7Us4CgwMzGKYE4V/SU2TVycODsPi4QX9hhfyYk6X9s1i5fIx1gVAzw6XlcWUseHkWDNhe68+Vrx47";
static const char ecdsa_public[] =
		"GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==";
static const char ed25519_public[] = "l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=";
/* Of RFC 8080 6.1, too: another key. */
static const char other_public[] = "zPnZ/QwEe7S8C5SPz2OfS5RR40ATk2/rYnE9xHIEijs=";

static dnssec_key_t *key_of(uint8_t algorithm, const char *base64)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX] = { 1, 0, 3, algorithm };
	knot_base64_state_t state = { 0 };
	size_t len;
	dnssec_key_t *key;
	assert_int_equal(knot_base64_add(&state, knot_str_of(base64),
					 (knot_mut_bytes_t){ rdata + 4, sizeof(rdata) - 4 }, &len),
			KNOT_DECODE_OK);
	assert_int_equal(dnssec_key_from_rdata((knot_bytes_t){ rdata, len + 4 }, &key), KNOT_OK);
	return key;
}

static knot_bytes_t bytes_of(const char *text)
{
	return (knot_bytes_t){ (const uint8_t *)text, strlen(text) };
}

/* What the private key signs, the public one accepts. */
static void check_signs(const dnssec_key_t *key)
{
	const knot_bytes_t piece = { (const uint8_t *)"text", 4 };
	uint8_t signature[DNSSEC_SIGNATURE_MAX];
	size_t len;
	dnssec_signer_t *signer;
	dnssec_verifier_t *verifier;
	assert_int_equal(dnssec_signer_new(key, false, &signer), KNOT_OK);
	assert_int_equal(dnssec_signer_sign(signer, &piece, 1, signature, &len), KNOT_OK);
	assert_int_equal(dnssec_verifier_new(key, &verifier), KNOT_OK);
	assert_int_equal(dnssec_verifier_verify(verifier, &piece, 1, (knot_bytes_t){ signature, len }), KNOT_OK);
	dnssec_signer_free(signer);
	dnssec_verifier_free(verifier);
}

static void test_kinds(void **state)
{
	(void)state;
	static const struct {
		uint8_t algorithm;
		const char *public, *text;
	} rows[] = { { 8, rsa_public, rsa_text }, { 13, ecdsa_public, ecdsa_text },
		{ 15, ed25519_public, ed25519_text } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		dnssec_key_t *key = key_of(rows[i].algorithm, rows[i].public);
		assert_false(dnssec_key_has_private(key));
		assert_int_equal(dnssec_bind_get(bytes_of(rows[i].text), key), KNOT_OK);
		assert_true(dnssec_key_has_private(key));
		assert_int_equal(dnssec_key_flags(key), 256);
		check_signs(key);
		dnssec_key_free(key);
	}
}

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		uint8_t algorithm;
		const char *public, *text;
		knot_err_t err;
	} rows[] = {
		{ 13, ecdsa_public, "", KNOT_EMALF },
		{ 13, ecdsa_public, "Algorithm: 13\nPrivateKey: AAAA\n", KNOT_EMALF },
		{ 13, ecdsa_public, "Private-key-format: v2.0\nAlgorithm: 13\n", KNOT_EMALF },
		{ 13, ecdsa_public, ed25519_text, KNOT_EKEYALGORITHM },
		{ 10, rsa_public, rsa_text, KNOT_EKEYALGORITHM },
		{ 13, ecdsa_public, "Private-key-format: v1.3\nAlgorithm: x\n", KNOT_EKEYALGORITHM },
		{ 13, ecdsa_public, "Private-key-format: v1.3\nAlgorithm: 13\n", KNOT_EPRIVATEKEY },
		{ 13, ecdsa_public, "Private-key-format: v1.3\nAlgorithm: 13\nPrivateKey: AAA\n", KNOT_EPRIVATEKEY },
		{ 13, ecdsa_public,
				"Private-key-format: v1.3\nAlgorithm: 13\n"
				"PrivateKey: ODIyNjAzODQ2MjgwODAxMjI2NDUxOTAyMDQxNDIyNjI=\n",
				KNOT_EPRIVATEKEY }, /* another key's */
		{ 15, other_public, ed25519_text, KNOT_EPRIVATEKEY },
		{ 15, ed25519_public, "Private-key-format: v1.3\nAlgorithm: 15\nPrivateKey: AAAA\n", KNOT_EPRIVATEKEY },
		{ 8, rsa_public, "Private-key-format: v1.3\nAlgorithm: 8\nModulus: AQAB\n", KNOT_EPRIVATEKEY },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		dnssec_key_t *key = key_of(rows[i].algorithm, rows[i].public);
		assert_int_equal(dnssec_bind_get(bytes_of(rows[i].text), key), rows[i].err);
		assert_false(dnssec_key_has_private(key));
		dnssec_key_free(key);
	}
}

static void test_times(void **state)
{
	(void)state;
	uint64_t when_s = 1;
	assert_int_equal(dnssec_bind_time(bytes_of(ecdsa_text), "Created", &when_s), KNOT_OK);
	assert_int_equal(when_s, 1709251199);
	assert_int_equal(dnssec_bind_time(bytes_of(ecdsa_text), "Revoke", &when_s), KNOT_OK);
	assert_int_equal(when_s, 0);
	assert_int_equal(dnssec_bind_time(bytes_of(ecdsa_text), "Publish", &when_s), KNOT_EMALF);
	assert_int_equal(dnssec_bind_time(bytes_of(ecdsa_text), "Inactive", &when_s), KNOT_EMALF);
	assert_int_equal(dnssec_bind_time(bytes_of(ecdsa_text), "Delete", &when_s), KNOT_EMALF);
	assert_int_equal(dnssec_bind_time(bytes_of(ed25519_text), "Activate", &when_s), KNOT_OK);
	assert_int_equal(when_s, 2147483648);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
