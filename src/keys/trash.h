/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The trash: keys that were deleted, whose private keys stay in their keystores for a while, so that they can be taken
 * back. Reading and discarding; what puts keys there is zone_keys.h. As there, nothing is logged, and one thread.
 */
#pragma once

#include "src/keys/zone_keys.h"

/** A deleted key and the zone that had it. */
typedef struct {
	uint8_t zone[KNOT_NAME_MAX];
	kasp_trash_t trash;
} keys_trash_item_t;

/** Zero: none. Free it with keys_trash_done(). */
typedef struct {
	keys_trash_item_t *items; /* owned */
	size_t count;
} keys_trash_t;

/** Read all of it, or (zone.len not 0) what a zone has there, in order of ids. KNOT_ENOMEM, KNOT_EFILE. */
KNOT_MUST_USE knot_err_t keys_trash_read(kasp_t *kasp, knot_name_t zone, keys_trash_t *ret_trash);

/**
 * Remove what is noted of a deleted key of the zone, and its private key from the zone's keystores, or, if none of them
 * has it, from the others of the configuration. A key that a zone has again stays, as does one that isn't in the trash
 * any more; neither is a failure, nor is a private key that is gone already. *ret_failed: the keystore that an error is
 * of; NULL: it is of the database. Errors of dnssec_store_open() and dnssec_store_remove(): the note is there again.
 */
KNOT_MUST_USE knot_err_t keys_trash_discard(
		const zone_keys_env_t *env, const char *id, const conf_keystore_t **ret_failed);

void keys_trash_done(keys_trash_t *trash);
