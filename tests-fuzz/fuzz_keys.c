/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys: DNSKEY RDATA, and private keys of BIND. */
#include "libdnssec/bind_key.h"
#include "libdnssec/sign.h"
#include "libknot/base/encode.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A public key that is taken may be used to verify. */
static void fuzz_keys_rdata(knot_bytes_t rdata)
{
	dnssec_key_t *key;
	dnssec_verifier_t *verifier;
	if (dnssec_key_from_rdata(rdata, &key) != KNOT_OK) {
		return;
	}
	knot_bytes_t again = dnssec_key_rdata(key);
	if (again.len != rdata.len || memcmp(again.data, rdata.data, rdata.len) != 0) {
		abort();
	}
	if (dnssec_verifier_new(key, &verifier) == KNOT_OK) {
		if (dnssec_verifier_verify(verifier, &rdata, 1, rdata) == KNOT_OK) {
			abort();
		}
		dnssec_verifier_free(verifier);
	}
	dnssec_key_free(key);
}

/* The public keys of bind_key_test.c: a private key that is taken belongs to one of them. */
static void fuzz_keys_bind(uint8_t choice, knot_bytes_t text)
{
	static const struct {
		uint8_t algorithm;
		const char *public;
	} rows[] = {
		{ DNSSEC_RSASHA256, "AwEAAb1wmVLWzvIgewBXsKSmgtRtixgb8Fn6xE/"
				    "XW0IilGTKXvRpswnH6NR1Q7EjHeKxlsfsynT+AtzPvk0IlsW+km"
				    "Rg/3ouakZ7Us4CgwMzGKYE4V/"
				    "SU2TVycODsPi4QX9hhfyYk6X9s1i5fIx1gVAzw6XlcWUseHkWDNhe68+Vrx47" },
		{ DNSSEC_ECDSAP256SHA256,
				"GojIhhXUN/"
				"u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==" },
		{ DNSSEC_ED25519, "l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=" },
	};
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX] = { 1, 0, 3, rows[choice % 3].algorithm };
	knot_base64_state_t state = { 0 };
	size_t len;
	uint64_t when_s;
	dnssec_key_t *key;
	if (knot_base64_add(&state, knot_str_of(rows[choice % 3].public),
			    (knot_mut_bytes_t){ rdata + 4, sizeof(rdata) - 4 }, &len) != KNOT_DECODE_OK ||
			dnssec_key_from_rdata((knot_bytes_t){ rdata, len + 4 }, &key) != KNOT_OK) {
		abort();
	}
	bool is_taken = dnssec_bind_get(text, key) == KNOT_OK;
	if (is_taken != dnssec_key_has_private(key) ||
			(dnssec_bind_time(text, "Publish", &when_s) == KNOT_OK && when_s > UINT64_C(253402300799))) {
		abort();
	}
	dnssec_key_free(key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 2) {
		return 0;
	}
	const knot_bytes_t rest = { data + 2, len - 2 };
	if (data[0] % 2 == 0) {
		fuzz_keys_rdata(rest);
	} else {
		fuzz_keys_bind(data[1], rest);
	}
	return 0;
}
