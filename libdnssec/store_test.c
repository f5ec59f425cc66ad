/* SPDX-License-Identifier: BSD-2-Clause */
/* Both kinds of store do the same. Tokens are SoftHSM's; without it those tests are left out. */
#include "libdnssec/sign.h"
#include "libdnssec/store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define MODULE "/usr/lib/softhsm/libsofthsm2.so"

static char dir[] = "/tmp/bowline-store-XXXXXX";
static char folder[64];
static const char token[] = "pkcs11:token=one;pin-value=1234 " MODULE;
static bool has_softhsm;

static int make_stores(void **state)
{
	(void)state;
	char command[512];
	if (mkdtemp(dir) == NULL) {
		return -1;
	}
	snprintf(folder, sizeof(folder), "%s/keys", dir);
	has_softhsm = access(MODULE, R_OK) == 0 && system("command -v softhsm2-util >/dev/null") == 0;
	if (!has_softhsm) {
		return 0;
	}
	snprintf(command, sizeof(command),
			"mkdir %s/tokens && echo 'directories.tokendir = %s/tokens\nlog.level = ERROR' >%s/conf", dir,
			dir, dir);
	char conf[64];
	snprintf(conf, sizeof(conf), "%s/conf", dir);
	if (system(command) != 0 || setenv("SOFTHSM2_CONF", conf, 1) != 0) {
		return -1;
	}
	return system("softhsm2-util --init-token --free --label one --pin 1234 --so-pin 1234 >/dev/null");
}

static int remove_stores(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static dnssec_store_t *store_of(dnssec_store_kind_t kind)
{
	dnssec_store_t *store;
	if (kind == DNSSEC_STORE_PKCS11 && !has_softhsm) {
		skip();
	}
	assert_int_equal(dnssec_store_open(kind, kind == DNSSEC_STORE_PEM ? folder : token, &store), KNOT_OK);
	return store;
}

static dnssec_key_t *public_of(const dnssec_key_t *key)
{
	dnssec_key_t *public;
	assert_int_equal(dnssec_key_from_rdata(dnssec_key_rdata(key), &public), KNOT_OK);
	return public;
}

/* True if what `key` signs is valid by the public key of `other`. */
static bool signs_as(const dnssec_key_t *key, const dnssec_key_t *other)
{
	const knot_bytes_t pieces[] = { { (const uint8_t *)"one", 3 }, { (const uint8_t *)"two", 3 } };
	uint8_t signature[DNSSEC_SIGNATURE_MAX];
	size_t len;
	dnssec_signer_t *signer;
	dnssec_verifier_t *verifier;
	assert_int_equal(dnssec_signer_new(key, false, &signer), KNOT_OK);
	assert_int_equal(dnssec_signer_sign(signer, pieces, 2, signature, &len), KNOT_OK);
	assert_int_equal(dnssec_verifier_new(other, &verifier), KNOT_OK);
	knot_err_t err = dnssec_verifier_verify(verifier, pieces, 2, (knot_bytes_t){ signature, len });
	dnssec_signer_free(signer);
	dnssec_verifier_free(verifier);
	return err == KNOT_OK;
}

/* Generated, found by id, got for a public key, refused for another one, removed. */
static void check_store(dnssec_store_kind_t kind)
{
	static const uint8_t algorithms[] = { DNSSEC_RSASHA256, DNSSEC_ECDSAP256SHA256, DNSSEC_ECDSAP384SHA384 };
	dnssec_store_t *store = store_of(kind);
	for (size_t i = 0; i < sizeof(algorithms); i++) {
		char id[DNSSEC_KEY_ID_LEN + 1], other_id[DNSSEC_KEY_ID_LEN + 1];
		dnssec_key_t *made, *other, *found;
		assert_int_equal(dnssec_store_generate(store, algorithms[i], 0, 257, "label", id, &made), KNOT_OK);
		assert_int_equal(dnssec_store_generate(store, algorithms[i], 0, 256, "", other_id, &other), KNOT_OK);
		assert_int_equal(strlen(id), DNSSEC_KEY_ID_LEN);
		assert_true(dnssec_store_has(store, id));
		assert_int_equal(dnssec_store_find(store, id, algorithms[i], 257, &found), KNOT_OK);
		assert_int_equal(dnssec_key_tag(found), dnssec_key_tag(made));
		assert_true(signs_as(found, made) && !signs_as(found, other));
		dnssec_key_t *public = public_of(made), *wrong = public_of(made);
		assert_int_equal(dnssec_store_get(store, id, public), KNOT_OK);
		assert_true(signs_as(public, made));
		assert_int_equal(dnssec_store_get(store, other_id, wrong), KNOT_EPRIVATEKEY);
		assert_false(dnssec_key_has_private(wrong));
		assert_int_equal(dnssec_store_remove(store, id), KNOT_OK);
		assert_false(dnssec_store_has(store, id));
		assert_int_equal(dnssec_store_get(store, id, wrong), KNOT_ENOENT);
		assert_int_equal(dnssec_store_remove(store, id), KNOT_ENOENT);
		dnssec_key_t *keys[] = { made, other, found, public, wrong };
		for (size_t k = 0; k < 5; k++) {
			dnssec_key_free(keys[k]);
		}
	}
	dnssec_store_close(store);
}

/* A private key of memory, twice, and where another is under its id. */
static void check_put(dnssec_store_kind_t kind)
{
	char id[DNSSEC_KEY_ID_LEN + 1], hash[DNSSEC_KEY_ID_LEN + 1];
	dnssec_store_t *store = store_of(kind);
	dnssec_key_t *key, *found;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t algorithm = i == 0 ? DNSSEC_RSASHA512 : DNSSEC_ECDSAP256SHA256;
		assert_int_equal(dnssec_key_generate(algorithm, 0, 256, &key), KNOT_OK);
		assert_int_equal(dnssec_key_id(key, hash), KNOT_OK);
		assert_int_equal(dnssec_store_put(store, key, "", id), KNOT_OK);
		assert_string_equal(id, hash);
		assert_int_equal(dnssec_store_put(store, key, "", id), KNOT_OK);
		assert_int_equal(dnssec_store_find(store, id, algorithm, 256, &found), KNOT_OK);
		assert_true(signs_as(found, key));
		dnssec_key_free(found);
		uint8_t other = i == 0 ? DNSSEC_ECDSAP256SHA256 : DNSSEC_RSASHA256;
		assert_int_not_equal(dnssec_store_find(store, id, other, 256, &found), KNOT_OK);
		dnssec_key_t *public = public_of(key);
		assert_int_equal(dnssec_store_put(store, public, "", id), KNOT_ENOPRIVATEKEY);
		dnssec_key_free(public);
		dnssec_key_free(key);
	}
	dnssec_store_close(store);
}

static void check_refused(dnssec_store_kind_t kind)
{
	char id[DNSSEC_KEY_ID_LEN + 1];
	dnssec_store_t *store = store_of(kind);
	dnssec_key_t *key;
	assert_int_equal(dnssec_store_generate(store, 99, 0, 257, "", id, &key), KNOT_EKEYALGORITHM);
	assert_int_equal(dnssec_store_generate(store, DNSSEC_RSASHA256, 512, 257, "", id, &key), KNOT_EKEYSIZE);
	assert_int_equal(dnssec_store_find(store, "xyz", DNSSEC_RSASHA256, 257, &key), KNOT_EKEYID);
	assert_int_equal(dnssec_store_find(store, "", DNSSEC_RSASHA256, 257, &key), KNOT_EKEYID);
	assert_false(dnssec_store_has(store, "xyz"));
	assert_int_equal(dnssec_store_find(store, "00ff", DNSSEC_RSASHA256, 257, &key), KNOT_ENOENT);
	assert_string_equal(kind == DNSSEC_STORE_PEM ? dnssec_store_folder(store) : "",
			kind == DNSSEC_STORE_PEM ? folder : "");
	assert_true(kind == DNSSEC_STORE_PEM || dnssec_store_folder(store) == NULL);
	dnssec_store_close(store);
}

static void test_folder(void **state)
{
	(void)state;
	check_store(DNSSEC_STORE_PEM);
	check_put(DNSSEC_STORE_PEM);
	check_refused(DNSSEC_STORE_PEM);
}

static void test_token(void **state)
{
	(void)state;
	check_store(DNSSEC_STORE_PKCS11);
	check_put(DNSSEC_STORE_PKCS11);
	check_refused(DNSSEC_STORE_PKCS11);
}

/* What can be wrong with the configuration. */
static void test_open(void **state)
{
	(void)state;
	static const struct {
		const char *config;
		knot_err_t err;
	} rows[] = {
		{ "", KNOT_PKCS11_ECONFIG },
		{ "keys", KNOT_PKCS11_ECONFIG },
		{ "pkcs11:token=one", KNOT_PKCS11_ECONFIG },
		{ "pkcs11:token=one ", KNOT_PKCS11_ECONFIG },
		{ " " MODULE, KNOT_PKCS11_ECONFIG },
		{ "token=one " MODULE, KNOT_PKCS11_ECONFIG },
		{ "pkcs11:token=one /nonexistent.so", KNOT_PKCS11_EMODULE },
		{ "pkcs11:token=none;pin-value=1234 " MODULE, KNOT_PKCS11_ETOKEN },
		{ "pkcs11:%zz " MODULE, KNOT_PKCS11_ECONFIG },
	};
	dnssec_store_t *store;
	if (!has_softhsm) {
		skip();
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(dnssec_store_open(DNSSEC_STORE_PKCS11, rows[i].config, &store), rows[i].err);
	}
}

/* A PIN behind a question mark is as good; a wrong one is told. */
static void test_pin(void **state)
{
	(void)state;
	char id[DNSSEC_KEY_ID_LEN + 1];
	dnssec_store_t *store;
	dnssec_key_t *key;
	if (!has_softhsm) {
		skip();
	}
	/* A login counts for the whole process: the wrong PIN first. */
	assert_int_equal(dnssec_store_open(DNSSEC_STORE_PKCS11, "pkcs11:token=one;pin-value=12 " MODULE, &store),
			KNOT_OK);
	assert_int_equal(dnssec_store_generate(store, DNSSEC_ECDSAP256SHA256, 0, 256, "", id, &key), KNOT_PKCS11_EPIN);
	assert_false(dnssec_store_has(store, "00ff"));
	dnssec_store_close(store);
	assert_int_equal(dnssec_store_open(DNSSEC_STORE_PKCS11, "pkcs11:token=one?pin-value=1234 " MODULE, &store),
			KNOT_OK);
	assert_int_equal(dnssec_store_generate(store, DNSSEC_ECDSAP256SHA256, 0, 256, "", id, &key), KNOT_OK);
	assert_true(dnssec_store_has(store, id));
	dnssec_key_free(key);
	assert_int_equal(dnssec_store_remove(store, id), KNOT_OK);
	dnssec_store_close(store);
}

enum { SIGNATURES = 50, THREADS = 4 };

static void *sign_much(void *ctx)
{
	const dnssec_key_t *key = ctx;
	for (unsigned i = 0; i < SIGNATURES / 10; i++) {
		if (!signs_as(key, key)) {
			return NULL;
		}
	}
	return ctx;
}

/* One key, a session for each signer. */
static void test_threads(void **state)
{
	(void)state;
	char id[DNSSEC_KEY_ID_LEN + 1];
	pthread_t threads[THREADS];
	dnssec_key_t *key;
	dnssec_store_t *store = store_of(DNSSEC_STORE_PKCS11);
	assert_int_equal(dnssec_store_generate(store, DNSSEC_ECDSAP256SHA256, 0, 256, "", id, &key), KNOT_OK);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, sign_much, key), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *result = NULL;
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_ptr_equal(result, key);
	}
	dnssec_key_free(key);
	dnssec_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_pin),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, make_stores, remove_stores);
}
