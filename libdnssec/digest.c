/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/digest.h"

#include <openssl/evp.h>

#include "libdnssec/key.h"

static const EVP_MD *digest_hash_of(unsigned type)
{
	switch (type) {
	case DNSSEC_DIGEST_SHA1: return EVP_sha1();
	case DNSSEC_DIGEST_SHA256: return EVP_sha256();
	case DNSSEC_DIGEST_SHA384: return EVP_sha384();
	default: return NULL;
	}
}

knot_err_t dnssec_digest(unsigned type, knot_name_t owner, knot_bytes_t dnskey_rdata,
		uint8_t ret_digest[static DNSSEC_DIGEST_MAX], size_t *ret_len)
{
	const EVP_MD *hash = digest_hash_of(type);
	if (hash == NULL) {
		return KNOT_EHASH;
	}
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(owner, lower);
	unsigned len = 0;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool is_good = ctx != NULL && EVP_DigestInit_ex(ctx, hash, NULL) == 1 &&
		       EVP_DigestUpdate(ctx, lower, owner.len) == 1 &&
		       EVP_DigestUpdate(ctx, dnskey_rdata.data, dnskey_rdata.len) == 1 &&
		       EVP_DigestFinal_ex(ctx, ret_digest, &len) == 1;
	EVP_MD_CTX_free(ctx);
	*ret_len = len;
	return is_good ? KNOT_OK : KNOT_ENOMEM;
}

knot_err_t dnssec_ds_make(unsigned type, knot_name_t owner, knot_bytes_t dnskey_rdata,
		uint8_t ret_rdata[static DNSSEC_DS_MAX], size_t *ret_len)
{
	size_t len;
	if (dnskey_rdata.len < 4) {
		return KNOT_EMALF;
	}
	knot_err_t err = dnssec_digest(type, owner, dnskey_rdata, ret_rdata + 4, &len);
	if (err == KNOT_OK) {
		store_be16(ret_rdata, dnssec_rdata_tag(dnskey_rdata));
		ret_rdata[2] = dnskey_rdata.data[3];
		ret_rdata[3] = (uint8_t)type;
		*ret_len = 4 + len;
	}
	return err;
}
