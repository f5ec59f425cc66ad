/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether the private keys of a zone are those of its published keys, all of them and in each keystore: also those that
 * will sign later, and in keystores that come after one that has the key. Reads files and asks tokens; changes nothing.
 */
#pragma once

#include "src/keys/zone_keys.h"

/** A private key that can't be used. Borrowed. */
typedef struct {
	const kasp_key_t *key;
	const char *store; /* the keystore; "": the built-in one, or none has the key */
	knot_err_t err;    /* as of zone_keys_open() */
} keys_flaw_t;

/** Told of each. */
typedef void (*keys_flaw_cb)(const keys_flaw_t *flaw, void *ctx);

/**
 * Prove all that this server is to have: not those of others, of an offline KSK, and of keys that are removed. A
 * signature or a look at the numbers for each key and store. The first error; KNOT_OK: there is no flaw.
 */
KNOT_MUST_USE knot_err_t zone_keys_prove(
		const zone_keys_env_t *env, const keys_set_t *set, keys_flaw_cb on_flaw, void *ctx);
