/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys: DNSKEY RDATA, PEM, private keys of BIND, and records of the key database. What is read of the database is
 * written as the same bytes.
 */
#include "libdnssec/bind_key.h"
#include "libdnssec/sign.h"
#include "libknot/base/encode.h"
#include "src/kasp/record.h"

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

static void fuzz_keys_pem(uint8_t algorithm, knot_bytes_t pem)
{
	dnssec_key_t *key;
	if (dnssec_key_from_pem(pem, algorithm, 256, &key) == KNOT_OK) {
		fuzz_keys_rdata(dnssec_key_rdata(key));
		dnssec_key_free(key);
	}
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

static void fuzz_keys_record(knot_bytes_t value)
{
	static const char id[] = "0123456789abcdef0123456789abcdef01234567";
	uint8_t bytes[KASP_VALUE_MAX];
	kasp_key_t key, again;
	kasp_trash_t trash;
	if (kasp_key_read(id, value, &key) == KNOT_OK) {
		size_t len = kasp_key_write(&key, bytes);
		if (kasp_key_read(id, (knot_bytes_t){ bytes, len }, &again) != KNOT_OK || again.tag != key.tag ||
				again.flags != key.flags || memcmp(&again.times, &key.times, sizeof(key.times)) != 0) {
			abort();
		}
	}
	if (kasp_trash_read(id, value, &trash) == KNOT_OK) {
		kasp_trash_write(&trash, bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	knot_name_t zone;
	const char *text;
	if (len < 2) {
		return 0;
	}
	const knot_bytes_t rest = { data + 2, len - 2 };
	switch (data[0] % 5) {
	case 0: fuzz_keys_rdata(rest); break;
	case 1: fuzz_keys_pem(data[1], rest); break;
	case 2: fuzz_keys_record(rest); break;
	case 3:
		if (kasp_db_key_read(rest, &zone, &text) == KNOT_OK && zone.len > KNOT_NAME_MAX) {
			abort();
		}
		break;
	case 4: fuzz_keys_bind(data[1], rest); break;
	}
	return 0;
}
