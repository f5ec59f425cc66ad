/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a key is at a time, by its timers, and what a zone does with it. Pure functions of values; any thread.
 *
 * The states are those of Knot DNS; RFC 7583 and 6781 have the ideas, RFC 5011 3 what is revoked.
 */
#pragma once

#include "src/kasp/key.h"

typedef enum {
	KEYS_INVALID, /* no timer has passed, or they contradict each other */
	KEYS_PRE_ACTIVE,
	KEYS_PUBLISHED,
	KEYS_READY,
	KEYS_ACTIVE,
	KEYS_RETIRE_ACTIVE,
	KEYS_RETIRED,
	KEYS_POST_ACTIVE,
	KEYS_REVOKED,
	KEYS_REMOVED,
} keys_state_t;

/** The state of a key. */
keys_state_t keys_state(const kasp_times_t *times, uint64_t now_s);

/** What a zone does with a key. */
typedef struct {
	bool is_public;                        /* its DNSKEY is in the zone */
	bool is_ready;                         /* a KSK whose DS may be published */
	bool is_active;                        /* it signs by its roles */
	bool ksk_active_plus, zsk_active_plus; /* it signs in that role though it isn't active */
	bool is_revoked;                       /* the DNSKEY has the REVOKE bit */
} keys_use_t;

/** The use of the `index`-th of all the keys of a zone. */
keys_use_t keys_use(const kasp_key_t *keys, size_t count, size_t index, uint64_t now_s);

/** True if the key signs DNSKEY, CDS and CDNSKEY. */
static inline bool keys_signs_keys(const kasp_key_t *key, const keys_use_t *use)
{
	return !key->is_public_only && key->is_ksk && (use->is_active || use->ksk_active_plus);
}

/** True if the key signs all the rest. */
static inline bool keys_signs_zone(const kasp_key_t *key, const keys_use_t *use)
{
	return !key->is_public_only && key->is_zsk && (use->is_active || use->zsk_active_plus);
}

/**
 * Check that each algorithm that the zone publishes can sign all of it (RFC 4035 2.2, RFC 6840 5.11). is_offline_ksk:
 * one complete role suffices. KNOT_ENOSIGNKEYS: no algorithm is complete. KNOT_EKEYSET: one lacks an active key.
 */
KNOT_MUST_USE knot_err_t keys_check(const kasp_key_t *keys, size_t count, bool is_offline_ksk, uint64_t now_s);
