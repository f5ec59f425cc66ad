/* SPDX-License-Identifier: BSD-2-Clause */
/* Private keys in PEM. One that is taken may sign, and is written so that it reads as the same. */
#include "libdnssec/sign.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void fuzz_pem_check(bool is_good)
{
	if (!is_good) {
		abort();
	}
}

/* A file may hold a public key that isn't the private one's: what it signs isn't valid then, and the server proves each
 * key before it uses it. */
static void fuzz_pem_sign(const dnssec_key_t *key)
{
	static const uint8_t text[] = "what is signed";
	const knot_bytes_t part = { text, sizeof(text) };
	uint8_t signature[DNSSEC_SIGNATURE_MAX];
	size_t len;
	dnssec_signer_t *signer;
	dnssec_verifier_t *verifier;
	if (dnssec_signer_new(key, false, &signer) != KNOT_OK) {
		return;
	}
	if (dnssec_signer_sign(signer, &part, 1, signature, &len) == KNOT_OK &&
			dnssec_verifier_new(key, &verifier) == KNOT_OK) {
		(void)!dnssec_verifier_verify(verifier, &part, 1, (knot_bytes_t){ signature, len });
		dnssec_verifier_free(verifier);
	}
	dnssec_signer_free(signer);
}

static void fuzz_pem_again(const dnssec_key_t *key)
{
	knot_mut_bytes_t pem;
	dnssec_key_t *again;
	fuzz_pem_check(dnssec_key_to_pem(key, &pem) == KNOT_OK);
	fuzz_pem_check(dnssec_key_from_pem((knot_bytes_t){ pem.data, pem.len }, dnssec_key_algorithm(key),
				       dnssec_key_flags(key), &again) == KNOT_OK);
	knot_bytes_t one = dnssec_key_rdata(key), other = dnssec_key_rdata(again);
	fuzz_pem_check(one.len == other.len && memcmp(one.data, other.data, one.len) == 0);
	dnssec_key_free(again);
	dnssec_pem_free(&pem);
}

/* data: the algorithm, then the file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	dnssec_key_t *key;
	if (len > 0 && dnssec_key_from_pem((knot_bytes_t){ data + 1, len - 1 }, data[0], 256, &key) == KNOT_OK) {
		fuzz_pem_sign(key);
		fuzz_pem_again(key);
		dnssec_key_free(key);
	}
	return 0;
}
