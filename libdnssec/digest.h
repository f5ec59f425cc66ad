/* SPDX-License-Identifier: BSD-2-Clause */
/** Digests of keys for DS and CDS records (RFC 4034 5.1.4, 4509, 6605). Pure; any thread. */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"
#include "libknot/name/name.h"

enum {
	DNSSEC_DIGEST_SHA1 = 1,
	DNSSEC_DIGEST_SHA256 = 2,
	DNSSEC_DIGEST_SHA384 = 4,
	DNSSEC_DIGEST_MAX = 48,                /* bytes */
	DNSSEC_DS_MAX = 4 + DNSSEC_DIGEST_MAX, /* bytes of DS RDATA */
};

/** The digest of a key. owner: any case. KNOT_EHASH: there is no code for the type. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_digest(unsigned type, knot_name_t owner, knot_bytes_t dnskey_rdata,
		uint8_t ret_digest[static DNSSEC_DIGEST_MAX], size_t *ret_len);

/** The RDATA of the DS or CDS record of a key. Errors as above. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t dnssec_ds_make(unsigned type, knot_name_t owner, knot_bytes_t dnskey_rdata,
		uint8_t ret_rdata[static DNSSEC_DS_MAX], size_t *ret_len);
