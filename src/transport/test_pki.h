/* SPDX-License-Identifier: BSD-2-Clause */
/** Certificates for tests, made in memory: a CA and what it signs, as wrong as a test wants them. */
#pragma once

#include "src/transport/tls_params.h"

#include <gnutls/ocsp.h>
#include <gnutls/x509.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/** A certificate with its key. */
typedef struct {
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t key;
	char *crt_pem, *key_pem; /* owned */
	uint8_t pin[TRANSPORT_PIN_LEN];
} test_cert_t;

typedef struct {
	const char *name;          /* common name, and DNS name unless it is a CA */
	const test_cert_t *issuer; /* NULL: signs itself */
	bool is_ca;
	int64_t begins_s, ends_s; /* from now */
	uint8_t serial;
} test_cert_params_t;

static inline char *test_pki_text(const gnutls_datum_t *datum)
{
	char *text = strndup((const char *)datum->data, datum->size);
	gnutls_free(datum->data);
	assert_non_null(text);
	return text;
}

static inline void test_pki_ok(int code)
{
	if (code < 0) {
		fail_msg("GnuTLS: %s", gnutls_strerror(code));
	}
}

static inline void test_cert_new(const test_cert_params_t *params, test_cert_t *ret_cert)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 };
	gnutls_datum_t pem;
	size_t pin_len = TRANSPORT_PIN_LEN;
	time_t now = time(NULL);
	test_cert_t c = { 0 };
	const test_cert_t *issuer = params->issuer != NULL ? params->issuer : &c;
	test_pki_ok(gnutls_x509_privkey_init(&c.key));
	test_pki_ok(gnutls_x509_privkey_generate(
			c.key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
	test_pki_ok(gnutls_x509_crt_init(&c.crt));
	test_pki_ok(gnutls_x509_crt_set_version(c.crt, 3));
	test_pki_ok(gnutls_x509_crt_set_serial(c.crt, &params->serial, 1));
	test_pki_ok(gnutls_x509_crt_set_dn_by_oid(
			c.crt, GNUTLS_OID_X520_COMMON_NAME, 0, params->name, (unsigned)strlen(params->name)));
	test_pki_ok(gnutls_x509_crt_set_activation_time(c.crt, now + params->begins_s));
	test_pki_ok(gnutls_x509_crt_set_expiration_time(c.crt, now + params->ends_s));
	test_pki_ok(gnutls_x509_crt_set_key(c.crt, c.key));
	test_pki_ok(gnutls_x509_crt_set_basic_constraints(c.crt, params->is_ca, -1));
	if (params->is_ca) {
		test_pki_ok(gnutls_x509_crt_set_key_usage(
				c.crt, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_DIGITAL_SIGNATURE));
	} else {
		test_pki_ok(gnutls_x509_crt_set_subject_alt_name(c.crt, GNUTLS_SAN_DNSNAME, params->name,
				(unsigned)strlen(params->name), GNUTLS_FSAN_SET));
		test_pki_ok(gnutls_x509_crt_set_subject_alt_name(
				c.crt, GNUTLS_SAN_IPADDRESS, loopback, sizeof(loopback), GNUTLS_FSAN_APPEND));
		test_pki_ok(gnutls_x509_crt_set_key_purpose_oid(c.crt, GNUTLS_KP_TLS_WWW_SERVER, 0));
	}
	test_pki_ok(gnutls_x509_crt_sign2(c.crt, issuer->crt, issuer->key, GNUTLS_DIG_SHA256, 0));
	test_pki_ok(gnutls_x509_crt_get_key_id(c.crt, GNUTLS_KEYID_USE_SHA256, c.pin, &pin_len));
	test_pki_ok(gnutls_x509_crt_export2(c.crt, GNUTLS_X509_FMT_PEM, &pem));
	c.crt_pem = test_pki_text(&pem);
	test_pki_ok(gnutls_x509_privkey_export2(c.key, GNUTLS_X509_FMT_PEM, &pem));
	c.key_pem = test_pki_text(&pem);
	*ret_cert = c;
}

static inline void test_cert_free(test_cert_t *cert)
{
	gnutls_x509_crt_deinit(cert->crt);
	gnutls_x509_privkey_deinit(cert->key);
	free(cert->crt_pem);
	free(cert->key_pem);
}

/** A CA and certificates for "dns.example" of all kinds. */
typedef struct {
	test_cert_t ca, other_ca, good, expired, early, self_signed, wrong_name, of_other_ca;
	char ca_file[64]; /* the CA's certificate */
} test_pki_t;

enum { TEST_PKI_DAY = 86400 };

static inline void test_pki_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline void test_pki_new(test_pki_t *ret_pki)
{
	const test_pki_t *pki = ret_pki;
	const struct {
		test_cert_t *to;
		test_cert_params_t params;
	} rows[] = {
		{ &ret_pki->ca, { "Test CA", NULL, true, -TEST_PKI_DAY, TEST_PKI_DAY, 1 } },
		{ &ret_pki->other_ca, { "Other CA", NULL, true, -TEST_PKI_DAY, TEST_PKI_DAY, 2 } },
		{ &ret_pki->good, { "dns.example", &pki->ca, false, -TEST_PKI_DAY, TEST_PKI_DAY, 3 } },
		{ &ret_pki->expired, { "dns.example", &pki->ca, false, -TEST_PKI_DAY, -3600, 4 } },
		{ &ret_pki->early, { "dns.example", &pki->ca, false, 3600, TEST_PKI_DAY, 5 } },
		{ &ret_pki->self_signed, { "dns.example", NULL, false, -TEST_PKI_DAY, TEST_PKI_DAY, 6 } },
		{ &ret_pki->wrong_name, { "other.example", &pki->ca, false, -TEST_PKI_DAY, TEST_PKI_DAY, 7 } },
		{ &ret_pki->of_other_ca, { "dns.example", &pki->other_ca, false, -TEST_PKI_DAY, TEST_PKI_DAY, 8 } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		test_cert_new(&rows[i].params, rows[i].to);
	}
	(void)snprintf(ret_pki->ca_file, sizeof(ret_pki->ca_file), "/tmp/transport_test.%d.pem", getpid());
	test_pki_write(ret_pki->ca_file, ret_pki->ca.crt_pem);
}

static inline void test_pki_free(test_pki_t *pki)
{
	test_cert_t *certs[] = { &pki->ca, &pki->other_ca, &pki->good, &pki->expired, &pki->early, &pki->self_signed,
		&pki->wrong_name, &pki->of_other_ca };
	for (size_t i = 0; i < KNOT_LEN(certs); i++) {
		test_cert_free(certs[i]);
	}
	unlink(pki->ca_file);
}

static inline knot_bytes_t test_pki_bytes(const char *text)
{
	return (knot_bytes_t){ (const uint8_t *)text, strlen(text) };
}

static inline transport_identity_t *test_pki_identity(const test_cert_t *cert)
{
	transport_identity_t *identity;
	assert_int_equal(
			transport_identity_new(test_pki_bytes(cert->crt_pem), test_pki_bytes(cert->key_pem), &identity),
			KNOT_OK);
	return identity;
}
