/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The signer of one commit: the zone's keys brought up to date, the plan that follows from them, and what is logged and
 * planned when the version is published. Internal to src/event.
 *
 * A full run rolls keys and looks at the whole zone; else the keys are taken as they are. The key database is written
 * before anything is signed with a new key, so a failure later repeats the run with the same keys. In the zone's turn;
 * files and the key database are read.
 */
#pragma once

#include "libdnssec/key.h"
#include "src/event/internal.h"
#include "src/update/update.h"

typedef struct signing signing_t;

/** What to sign with. */
typedef struct {
	server_t *server;
	zone_t *zone;
	const zone_contents_t
			*like; /* whose TTLs count: what is changed, or the version without signatures; NULL: none */
	bool is_of_served;     /* what is served is changed: its signatures may be known */
	bool is_full;
	bool is_whole;     /* a whole version is signed, not edits */
	bool steps_serial; /* update_signing_t */
	bool is_forced;    /* a clock that is behind holds nothing up */
	unsigned how;      /* EVENT_…_SIGNATURES, EVENT_ROLLS_… */
} signing_ask_t;

/** True if the zone is configured to be signed. */
bool signing_is_wanted(const server_t *server, knot_name_t name);

/**
 * Prepare it. *ret_signing NULL: the zone isn't signed. Failures are logged, in Knot's words, and the next attempt is
 * planned. KNOT_ENOSIGNKEYS, KNOT_EKEYSET, KNOT_ENOPRIVATEKEY: keys are missing. KNOT_EMALF, KNOT_EFILE: of the key
 * database. reason: as update_t.reason.
 */
KNOT_MUST_USE knot_err_t signing_begin(const signing_ask_t *ask, char *reason, signing_t **ret_signing);

/** What the commit needs of it; borrowed. */
const update_signing_t *signing_of(const signing_t *signing);

/** A private key that can't be used, though the version could be signed without it: the error, with reason as
 * update_t.reason. NULL: KNOT_OK. */
KNOT_MUST_USE knot_err_t signing_flaw(const signing_t *signing, char *reason);

/** See whether the signed version is safe for who has the keys of versions before it in caches (key_rail.h). NULL: the
 * zone isn't signed. Errors and reason of key_rail_check(). */
KNOT_MUST_USE knot_err_t signing_check_keys(
		const signing_t *signing, const zone_contents_t *served, const zone_contents_t *next, char *reason);

/** End it: log what came of it, and plan the next run. err: of the commit. NULL: nothing happens. */
void signing_end(signing_t *take_signing, knot_err_t err, const update_t *update, const update_effects_t *effects);

/** A DNSKEY record. len 0: none. */
typedef struct {
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	size_t len;
} signing_dnskey_t;

/** Note in the key database that the parent has the DS of the KSK that is ready. contents: what is served. only: that
 * must be this key; NULL: whichever is ready. delay_s: as keys_confirm(). KNOT_ENOREADY. KNOT_ENOTSUP: the zone isn't
 * signed; errors of the key database. With a manual policy nothing happens, but for a warning. */
KNOT_MUST_USE knot_err_t signing_confirm(server_t *server, zone_t *zone, const zone_contents_t *contents,
		const signing_dnskey_t *only, uint32_t delay_s);

/** Keys that a parent is asked about. */
typedef struct {
	signing_dnskey_t ready;   /* the KSK that waits for its DS */
	signing_dnskey_t leaving; /* in an algorithm's rollover: the one that it replaces, whose DS has to be gone */
} signing_keys_t;

/** Find them. False: no key waits, or the key database can't be read. */
bool signing_find_keys(server_t *server, zone_t *zone, signing_keys_t *ret_keys);

/** True if there is a key database: a server that signs nothing has none. */
bool signing_has_kasp(const server_t *server);

/**
 * Copy what is kept of a zone's keys, private ones included, to another key database and folder, or from there. A
 * private key that can't be copied is logged, and the rest goes on. KNOT_ENOENT: nothing is kept; errors of the
 * databases.
 */
KNOT_MUST_USE knot_err_t signing_save_keys(
		server_t *server, zone_t *zone, kasp_t *to, const char *to_folder, bool only_keys);
KNOT_MUST_USE knot_err_t signing_restore_keys(
		server_t *server, zone_t *zone, kasp_t *from, const char *from_folder, bool only_keys);

/** Remove the zone's keys, and what else the key database has of it. */
KNOT_MUST_USE knot_err_t signing_purge(server_t *server, zone_t *zone, bool keys, bool data);

/** Note a serial, KASP_SIGNED_SERIAL or KASP_PRIMARY_SERIAL. A failure is logged. */
void signing_put_serial(kasp_t *kasp, uint8_t kind, knot_name_t name, uint32_t serial);

/** The serial of the primary's version that the zone was last made of, if it is signed here. False: unknown. */
bool signing_primary_serial(server_t *server, knot_name_t name, uint32_t *ret_serial);

/** Note it, when the version is published. A failure is logged: then the whole zone is transferred the next time. */
void signing_note_primary_serial(server_t *server, knot_name_t name, uint32_t serial);

/** True if keys of the zone may be in a token, so that signatures may last. NULL is allowed: false. */
bool signing_may_stall(const signing_t *signing);

/** The key database, opened if it isn't yet; logs a failure. It is closed with the server. */
KNOT_MUST_USE knot_err_t signing_kasp(server_t *server, kasp_t **ret_kasp) SYS_EXCLUDES(server->kasp_lock);
