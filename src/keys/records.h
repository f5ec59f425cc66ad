/* SPDX-License-Identifier: BSD-2-Clause */
/** The DNSKEY, CDS and CDNSKEY records of a zone, by its keys and its policy (RFC 4034 2, 7344, 8078). Pure. */
#pragma once

#include "src/conf/policy.h"
#include "src/keys/state.h"

/** RDATAs. Zero: none. */
typedef struct {
	knot_bytes_t *rdatas; /* owned, with what they point to */
	size_t count;
} keys_rdatas_t;

typedef struct {
	keys_rdatas_t dnskey, cds, cdnskey;
	/* Records of keys of ours that are not to be there. */
	keys_rdatas_t no_dnskey, no_cds, no_cdnskey;
	size_t submitted_count; /* keys whose CDS is published; more than one, with double-ds two, is worth a warning */
} keys_records_t;

/** Make them. zone: any case. Free with keys_records_done(), also after KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t keys_records_make(const kasp_key_t *keys, size_t count, const conf_policy_t *policy,
		knot_name_t zone, uint64_t now_s, keys_records_t *ret_records);

void keys_records_done(keys_records_t *records);

/** The RDATA of the DNSKEY of a key. Returns its length. */
size_t keys_dnskey(const kasp_key_t *key, bool is_revoked, uint8_t ret_rdata[static DNSSEC_KEY_RDATA_MAX]);

/** True if the key is of that many bits; 0: its algorithm's default. Only keys of RSA have others. */
bool keys_has_size(const kasp_key_t *key, unsigned bits);
