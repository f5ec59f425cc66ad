/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/pem_store.h"
#include "libdnssec/sign.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/bowline-pem-XXXXXX";
static char store[64];

static int make_folder(void **state)
{
	(void)state;
	umask(022);
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	return mkdtemp(folder) != NULL && snprintf(store, sizeof(store), "%s/keys", folder) > 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void write_file(const char *id, const char *text, int len)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s.pem", store, id);
	(void)unlink(path);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%.*s", len, text);
	fclose(file);
}

static void test_store(void **state)
{
	(void)state;
	dnssec_key_t *key, *public, *other;
	char id[DNSSEC_KEY_ID_LEN + 1], other_id[DNSSEC_KEY_ID_LEN + 1], path[256];
	struct stat info;
	assert_int_equal(dnssec_key_generate(DNSSEC_ECDSAP256SHA256, 0, 257, &key), KNOT_OK);
	assert_int_equal(dnssec_key_generate(DNSSEC_ECDSAP256SHA256, 0, 257, &other), KNOT_OK);
	assert_int_equal(dnssec_pem_put(store, key, id), KNOT_OK);
	assert_int_equal(dnssec_pem_put(store, key, id), KNOT_OK); /* it is the same */
	assert_int_equal(stat(store, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0750);
	snprintf(path, sizeof(path), "%s/%s.pem", store, id);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0640);

	assert_int_equal(dnssec_key_from_rdata(dnssec_key_rdata(key), &public), KNOT_OK);
	assert_int_equal(dnssec_pem_put(store, public, other_id), KNOT_ENOPRIVATEKEY);
	assert_int_equal(dnssec_pem_get(store, "0123456789012345678901234567890123456789", public), KNOT_ENOENT);
	assert_int_equal(dnssec_pem_put(store, other, other_id), KNOT_OK);
	assert_int_equal(dnssec_pem_get(store, other_id, public), KNOT_EPRIVATEKEY);
	assert_false(dnssec_key_has_private(public));
	assert_int_equal(dnssec_pem_get(store, id, public), KNOT_OK);
	assert_true(dnssec_key_has_private(public));

	/* Ids lead nowhere else. */
	assert_int_equal(dnssec_pem_get(store, "../x", public), KNOT_EKEYID);
	assert_int_equal(dnssec_pem_get(store, "", public), KNOT_EKEYID);
	assert_int_equal(dnssec_pem_remove(store, "/etc/passwd"), KNOT_EKEYID);

	/* Another file isn't written over; rubbish and half a file are no keys. */
	knot_mut_bytes_t pem;
	assert_int_equal(dnssec_key_to_pem(key, &pem), KNOT_OK);
	write_file(id, "rubbish", 7);
	assert_int_equal(dnssec_pem_put(store, key, id), KNOT_EKEYIMPORT);
	assert_int_equal(dnssec_pem_get(store, id, public), KNOT_EPRIVATEKEY);
	write_file(id, (const char *)pem.data, (int)pem.len / 2);
	assert_int_equal(dnssec_pem_get(store, id, public), KNOT_EPRIVATEKEY);
	assert_int_equal(dnssec_pem_remove(store, id), KNOT_OK);
	assert_int_equal(dnssec_pem_remove(store, id), KNOT_ENOENT);
	assert_int_equal(dnssec_pem_put("/proc/none/keys", key, id), KNOT_ENOENT);
	dnssec_pem_free(&pem);
	dnssec_key_free(key);
	dnssec_key_free(other);
	dnssec_key_free(public);
}

/* As other programs wrote it once: the private number has an octet 0 in front. */
static void test_leading_zero(void **state)
{
	(void)state;
	static const char text[] = "-----BEGIN EC PRIVATE KEY-----\n"
				   "MHgCAQEEIQDJr6nYRbp1FmtcIVdnsdaTTlDD2zbomxJ7imIrEg9nIaAKBggqhkjO\n"
				   "PQMBB6FEA0IABGD+1LolWp0xyWHrdMY1bWjASbiSO2H6bOZpYi5g8p+2eQP+EAi4\n"
				   "vJmkGunpVii8ZPLxsgwtfp9Rd6PClNRGIpk=\n"
				   "-----END EC PRIVATE KEY-----\n";
	dnssec_key_t *key;
	dnssec_signer_t *signer;
	uint8_t signature[DNSSEC_SIGNATURE_MAX];
	size_t len;
	assert_int_equal(dnssec_key_from_pem((knot_bytes_t){ (const uint8_t *)text, sizeof(text) - 1 }, 13, 256, &key),
			KNOT_OK);
	for (int is_reproducible = 0; is_reproducible < 2; is_reproducible++) {
		assert_int_equal(dnssec_signer_new(key, is_reproducible, &signer), KNOT_OK);
		assert_int_equal(dnssec_signer_sign(signer, &(knot_bytes_t){ signature, 0 }, 1, signature, &len),
				KNOT_OK);
		dnssec_signer_free(signer);
	}
	dnssec_key_free(key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_store, make_folder, remove_folder),
		cmocka_unit_test(test_leading_zero),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
