/* SPDX-License-Identifier: BSD-2-Clause */
/* The usual forms are those that OpenSSL writes, those of GnuTLS are read, and what is spoilt is read as OpenSSL does.
 */
#include "libdnssec/form.h"
#include "libdnssec/internal.h"

#include <gnutls/x509.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KEYS = 40 /* numbers with leading zeros and with the first bit set among them */ };

static const uint8_t algorithms[] = { DNSSEC_ECDSAP256SHA256, DNSSEC_ECDSAP384SHA384, DNSSEC_ED25519, DNSSEC_ED448 };

static knot_bytes_t public_of(const dnssec_key_t *key)
{
	return (knot_bytes_t){ key->rdata + 4, key->rdata_len - 4 };
}

static void assert_as_openssl(const dnssec_key_t *key)
{
	char *text;
	uint8_t spki[FORM_SPKI_MAX], *der = NULL;
	knot_mut_bytes_t pem;
	BIO *bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key->evp, NULL, NULL, 0, NULL, NULL), 1);
	size_t len = (size_t)BIO_get_mem_data(bio, &text);
	assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
	assert_int_equal(pem.len, len);
	assert_memory_equal(pem.data, text, len);
	int der_len = i2d_PUBKEY(key->evp, &der);
	assert_int_equal(dnssec_form_spki(key->row, public_of(key), spki), der_len);
	assert_memory_equal(spki, der, (size_t)der_len);
	OPENSSL_free(der);
	BIO_free(bio);
	dnssec_pem_free(&pem);
}

static void test_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < KEYS * KNOT_LEN(algorithms); i++) {
		dnssec_key_t *key, *again;
		knot_mut_bytes_t pem;
		uint8_t private[FORM_PRIVATE_MAX], public[FORM_PUBLIC_MAX];
		bool has_public;
		assert_int_equal(dnssec_key_generate(algorithms[i % KNOT_LEN(algorithms)], 0, 256, &key), KNOT_OK);
		assert_as_openssl(key);
		assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
		knot_bytes_t text = { pem.data, pem.len };
		assert_true(dnssec_form_read_pem(key->row, text, private, public, &has_public));
		assert_int_equal(has_public, key->row->kind == DNSSEC_KIND_ECDSA);
		assert_int_equal(dnssec_key_from_pem(text, key->row->number, 256, &again), KNOT_OK);
		assert_memory_equal(dnssec_key_rdata(again).data, key->rdata, key->rdata_len);
		assert_int_equal(EVP_PKEY_eq(again->evp, key->evp), 1);
		assert_as_openssl(again);
		dnssec_pem_free(&pem);
		dnssec_key_free(again);
		dnssec_key_free(key);
	}
}

/* Files of Knot DNS are made by GnuTLS. */
static void test_of_gnutls(void **state)
{
	(void)state;
	for (size_t i = 0; i < KEYS * KNOT_LEN(algorithms); i++) {
		const dnssec_algorithm_t *row = dnssec_algorithm_find(algorithms[i % KNOT_LEN(algorithms)]);
		gnutls_x509_privkey_t made;
		gnutls_datum_t pem, x, y;
		gnutls_ecc_curve_t curve = dnssec_gnutls_curve(row);
		uint8_t private[FORM_PRIVATE_MAX], public[FORM_PUBLIC_MAX];
		bool has_public;
		dnssec_key_t *key;
		assert_int_equal(gnutls_x509_privkey_init(&made), 0);
		assert_int_equal(gnutls_x509_privkey_generate(
						 made, dnssec_gnutls_kind(row), GNUTLS_CURVE_TO_BITS(curve), 0),
				0);
		assert_int_equal(gnutls_x509_privkey_export2_pkcs8(
						 made, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &pem),
				0);
		knot_bytes_t text = { pem.data, pem.size };
		assert_true(dnssec_form_read_pem(row, text, private, public, &has_public));
		assert_int_equal(dnssec_key_from_pem(text, row->number, 256, &key), KNOT_OK);
		assert_int_equal(gnutls_x509_privkey_export_ecc_raw(made, &curve, &x, &y, NULL), 0);
		if (row->kind == DNSSEC_KIND_EDDSA) {
			assert_int_equal(x.size, row->public_len);
			assert_memory_equal(x.data, public_of(key).data, x.size);
		} else {
			assert_memory_equal(public_of(key).data, public, row->public_len);
			assert_memory_equal(y.data + y.size - 32, public + row->public_len - 32, 32);
		}
		gnutls_free(x.data);
		gnutls_free(y.data);
		gnutls_free(pem.data);
		gnutls_x509_privkey_deinit(made);
		dnssec_key_free(key);
	}
}

/* As the library alone reads it. */
static bool openssl_reads(const dnssec_key_t *key, const uint8_t *pem, size_t len)
{
	BIO *bio = BIO_new_mem_buf(pem, (int)len);
	EVP_PKEY *evp = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t) "");
	bool is_same = evp != NULL && EVP_PKEY_get_base_id(evp) == EVP_PKEY_get_base_id(key->evp);
	EVP_PKEY_free(evp);
	BIO_free(bio);
	return is_same;
}

/* What is cut or has another character is no key, or one that the library reads, too. */
static void test_spoilt(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(algorithms); i++) {
		dnssec_key_t *key;
		knot_mut_bytes_t pem;
		assert_int_equal(dnssec_key_generate(algorithms[i], 0, 256, &key), KNOT_OK);
		assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
		for (size_t k = 0; k < 2 * pem.len; k++) {
			dnssec_key_t *read;
			bool is_cut = k < pem.len;
			uint8_t *text = malloc(pem.len);
			size_t len = is_cut ? k : pem.len;
			assert_non_null(text);
			memcpy(text, pem.data, pem.len);
			text[k % pem.len] ^= is_cut ? 0 : 5;
			uint8_t *exact = malloc(len + 1); /* for what looks behind the end */
			assert_non_null(exact);
			memcpy(exact, text, len);
			knot_err_t err =
					dnssec_key_from_pem((knot_bytes_t){ exact, len }, key->row->number, 256, &read);
			if (err == KNOT_OK) {
				assert_true(openssl_reads(key, text, len));
				dnssec_key_free(read);
			}
			free(exact);
			free(text);
		}
		dnssec_pem_free(&pem);
		dnssec_key_free(key);
	}
}

static void test_others(void **state)
{
	(void)state;
	uint8_t spki[FORM_SPKI_MAX], private[FORM_PRIVATE_MAX], public[FORM_PUBLIC_MAX];
	bool has_public;
	dnssec_key_t *rsa, *ed, *read;
	knot_mut_bytes_t pem;
	assert_int_equal(dnssec_key_generate(DNSSEC_RSASHA256, 1024, 256, &rsa), KNOT_OK);
	assert_int_equal(dnssec_form_spki(rsa->row, public_of(rsa), spki), 0);
	assert_int_equal(dnssec_form_private_len(rsa->row), 0);
	assert_int_equal(dnssec_key_to_pem(rsa, &pem), KNOT_OK);
	assert_false(dnssec_form_read_pem(rsa->row, (knot_bytes_t){ pem.data, pem.len }, private, public, &has_public));
	assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ pem.data, pem.len }, DNSSEC_RSASHA256, 256, &read),
			KNOT_OK);
	dnssec_key_free(read);
	/* A key of another algorithm. */
	assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ pem.data, pem.len }, DNSSEC_ED25519, 256, &read),
			KNOT_EKEYALGORITHM);
	dnssec_pem_free(&pem);
	assert_int_equal(dnssec_key_generate(DNSSEC_ED25519, 0, 256, &ed), KNOT_OK);
	assert_int_equal(dnssec_key_to_pem(ed, &pem), KNOT_OK);
	assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ pem.data, pem.len }, DNSSEC_ED448, 256, &read),
			KNOT_EKEYALGORITHM);
	assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ pem.data, pem.len }, DNSSEC_ECDSAP256SHA256, 256, &read),
			KNOT_EKEYALGORITHM);
	dnssec_pem_free(&pem);
	dnssec_key_free(ed);
	dnssec_key_free(rsa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_of_gnutls),
		cmocka_unit_test(test_spoilt),
		cmocka_unit_test(test_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
