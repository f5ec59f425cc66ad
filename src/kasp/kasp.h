/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The key database (KASP) in LMDB, in Knot's layout: either server, and either keymgr, goes on where the other has
 * stopped.
 *
 * Owns the environment in one folder (`kasp-db`) with one named database. Several processes may have it open, and LMDB
 * makes writers wait for each other; that is why it isn't opened as our other databases are (sys/lmdb_env.h). The
 * file's pages are checked before LMDB maps them; a damaged file is never set aside or replaced, as it names the only
 * keys of zones. Private keys aren't in here. Nothing is logged here. Any thread.
 */
#pragma once

#include "src/kasp/offline.h"
#include "src/kasp/record.h"

typedef struct kasp kasp_t;

enum { KASP_REASON_MAX = 256 };

/** How to open it. Borrowed for the call. */
typedef struct {
	const char *path;  /* folder; made if it isn't there, but for read_only */
	uint64_t size_max; /* bytes, LMDB's map */
	bool read_only;
} kasp_params_t;

/**
 * Open the database. KNOT_ENOENT: read_only, and there is none. KNOT_EMALF: its pages are damaged. KNOT_ENOTSUP: of
 * another version of LMDB. KNOT_EACCES and others. reason: KASP_REASON_MAX bytes, says more.
 */
KNOT_MUST_USE knot_err_t kasp_open(const kasp_params_t *params, char *reason, kasp_t **ret_kasp);

/** NULL is allowed. */
void kasp_close(kasp_t *take_kasp);

/** False: its file was removed or replaced by another one since it was opened; what is written would be lost. */
bool kasp_is_in_place(const kasp_t *kasp);

/** A transaction. One that writes keeps other writers waiting, also those of other processes: end it soon. */
typedef struct kasp_txn kasp_txn_t;

/** Begin; end it in the same thread. KNOT_ENOMEM, KNOT_EFILE, KNOT_EACCES: opened read_only. */
KNOT_MUST_USE knot_err_t kasp_begin(kasp_t *kasp, bool writes, kasp_txn_t **ret_txn);

/** Make the changes durable; on an error none is made: KNOT_ESPACE, KNOT_EFILE. */
KNOT_MUST_USE knot_err_t kasp_commit(kasp_txn_t *take_txn);

/** End without changes. NULL is allowed. */
void kasp_abort(kasp_txn_t *take_txn);

/* ---- Keys ---- */

/** Looks at a key, borrowed for the call; false ends the visit. */
typedef bool (*kasp_key_cb)(const kasp_key_t *key, void *ctx);

/** Visit the keys of a zone in order of their ids. KNOT_EMALF: one is damaged; none behind it is visited. */
KNOT_MUST_USE knot_err_t kasp_each_key(kasp_txn_t *txn, knot_name_t zone, kasp_key_cb visit, void *ctx);

/** Add a key of a zone, or replace what is there of it. Trash records of the id go. KNOT_ESPACE, KNOT_EFILE. */
KNOT_MUST_USE knot_err_t kasp_put_key(kasp_txn_t *txn, knot_name_t zone, const kasp_key_t *key);

/** Take a key out of a zone. *ret_is_used: other zones have it, too. KNOT_ENOENT: the zone doesn't have it. */
KNOT_MUST_USE knot_err_t kasp_drop_key(kasp_txn_t *txn, knot_name_t zone, const char *id, bool *ret_is_used);

/** Whether any zone has the key. */
KNOT_MUST_USE knot_err_t kasp_is_used(kasp_txn_t *txn, const char *id, bool *ret_is_used);

/** Visit the names of all zones that have keys, each once, in the order of their wire form. */
KNOT_MUST_USE knot_err_t kasp_each_zone(kasp_txn_t *txn, void (*visit)(knot_name_t zone, void *ctx), void *ctx);

/** The id of the KSK that the zones of a policy share. KNOT_ENOENT: none, or its key is gone. */
KNOT_MUST_USE knot_err_t kasp_get_shared(kasp_txn_t *txn, const char *policy, kasp_key_t *ret_key);

/** Note it: the key `id` of `zone`. */
KNOT_MUST_USE knot_err_t kasp_put_shared(kasp_txn_t *txn, const char *policy, knot_name_t zone, const char *id);

/* ---- What else is kept of a zone ---- */

enum { KASP_SALT_MAX = 255 };

/** The salt of NSEC3 and when it was made (0: never). KNOT_ENOENT: none is kept. */
KNOT_MUST_USE knot_err_t kasp_get_salt(kasp_txn_t *txn, knot_name_t zone, uint8_t ret_salt[static KASP_SALT_MAX],
		size_t *ret_len, uint64_t *ret_made_s);
KNOT_MUST_USE knot_err_t kasp_put_salt(kasp_txn_t *txn, knot_name_t zone, knot_bytes_t salt, uint64_t made_s);

/** A serial: kind KASP_PRIMARY_SERIAL or KASP_SIGNED_SERIAL. KNOT_ENOENT. */
KNOT_MUST_USE knot_err_t kasp_get_serial(kasp_txn_t *txn, uint8_t kind, knot_name_t zone, uint32_t *ret_serial);
KNOT_MUST_USE knot_err_t kasp_put_serial(kasp_txn_t *txn, uint8_t kind, knot_name_t zone, uint32_t serial);

/** The highest TTL of the zone and that of its DNSKEY when its keys were saved, seconds. KNOT_ENOENT. */
KNOT_MUST_USE knot_err_t kasp_get_ttls(kasp_txn_t *txn, knot_name_t zone, uint32_t *ret_max_s, uint32_t *ret_key_s);
KNOT_MUST_USE knot_err_t kasp_put_ttls(kasp_txn_t *txn, knot_name_t zone, uint32_t max_s, uint32_t key_s);

/* ---- All that is kept of a zone ---- */

/** Copy it to another database, in place of what that has of the zone: keys, and unless `only_keys` salt, serials, TTLs
 * and offline records. Trash records of its keys go there. KNOT_ENOENT: there is nothing. KNOT_ESPACE, KNOT_EFILE. */
KNOT_MUST_USE knot_err_t kasp_copy_zone(kasp_txn_t *from, kasp_txn_t *to, knot_name_t zone, bool only_keys);

/** Remove it, but for the keys. That there is nothing is no failure. */
KNOT_MUST_USE knot_err_t kasp_drop_zone(kasp_txn_t *txn, knot_name_t zone);

/* ---- Records that are signed offline ---- */

/** Visits the times of the sets of a zone, in order; false ends the visit. */
typedef bool (*kasp_offline_cb)(uint64_t when_s, void *ctx);
KNOT_MUST_USE knot_err_t kasp_each_offline(kasp_txn_t *txn, knot_name_t zone, kasp_offline_cb visit, void *ctx);

/** The set that holds from `when_s` on. KNOT_ENOENT, KNOT_EMALF, KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t kasp_get_offline(
		kasp_txn_t *txn, knot_name_t zone, uint64_t when_s, kasp_offline_t *ret_offline);

/** Put it in place of the one of that time, if there is one. KNOT_ESPACE, KNOT_EFILE, KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t kasp_put_offline(
		kasp_txn_t *txn, knot_name_t zone, uint64_t when_s, const kasp_offline_t *offline);

/** Remove the set of a time. KNOT_ENOENT. */
KNOT_MUST_USE knot_err_t kasp_drop_offline(kasp_txn_t *txn, knot_name_t zone, uint64_t when_s);

/* ---- Trash ---- */

typedef bool (*kasp_trash_cb)(knot_name_t zone, const kasp_trash_t *trash, void *ctx);

/** Visit all trash records in order of ids. False ends the visit. Damaged ones are passed over. */
KNOT_MUST_USE knot_err_t kasp_each_trash(kasp_txn_t *txn, kasp_trash_cb visit, void *ctx);
KNOT_MUST_USE knot_err_t kasp_put_trash(kasp_txn_t *txn, knot_name_t zone, const kasp_trash_t *trash);

/** Remove a record, and give what it had. *ret_is_used: a zone has the key all the same. KNOT_ENOENT: there is none.
 * KNOT_EMALF. */
KNOT_MUST_USE knot_err_t kasp_take_trash(
		kasp_txn_t *txn, knot_name_t zone, const char *id, kasp_trash_t *ret_trash, bool *ret_is_used);
