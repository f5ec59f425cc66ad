/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys: DNSKEY RDATA, PEM, and records of the key database. What is read of the database is written as the same bytes.
 */
#include "libdnssec/sign.h"
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
	switch (data[0] % 4) {
	case 0: fuzz_keys_rdata(rest); break;
	case 1: fuzz_keys_pem(data[1], rest); break;
	case 2: fuzz_keys_record(rest); break;
	case 3:
		if (kasp_db_key_read(rest, &zone, &text) == KNOT_OK && zone.len > KNOT_NAME_MAX) {
			abort();
		}
		break;
	}
	return 0;
}
