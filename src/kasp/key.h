/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A key of a zone as the key database has it: what it is, and its timers. A value, but for the public key, whose owner
 * is said where one is made. The private key is in a keystore, under the same id.
 */
#pragma once

#include "libdnssec/key.h"

/** When a key begins to be something. Seconds since 1970; 0: never. */
typedef struct {
	uint64_t created, pre_active, publish, ready, active, retire_active, retire, post_active, remove, revoke;
} kasp_times_t;

typedef struct {
	char id[DNSSEC_KEY_ID_MAX + 1];
	uint8_t algorithm;
	uint16_t flags; /* of the DNSKEY, but for the REVOKE bit, which follows from the timer */
	uint16_t tag;   /* with these flags */
	bool is_ksk;    /* it has the role of a KSK; of a CSK: both */
	bool is_zsk;
	bool is_public_only; /* the private key is somebody else's */
	bool is_for_later;   /* it waits until a key like it is to be generated */
	kasp_times_t times;
	knot_bytes_t public; /* the public key as in DNSKEY RDATA */
} kasp_key_t;
