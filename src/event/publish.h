/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where versions of zones become served: the only caller of zone_publish(). Internal to src/event.
 *
 * It gives the steps of a change (update/update.h) what they need of the daemon, and notes what the new contents were
 * made from. Any thread registered for RCU, outside of read sections; one caller per zone at a time.
 */
#pragma once

#include "src/event/catalogs.h"
#include "src/event/changes.h"
#include "src/event/load.h"

/** Where a change goes. */
typedef struct {
	zone_t *zone;
	load_source_t *source; /* of what is served; replaced by `next` when the change is published */
	load_source_t next;    /* owned: of the new contents */
	changes_store_t store;
	images_t *images;
	server_t *outside;    /* another program decides about the version, if the zone says so; NULL: none is asked */
	char *reason;         /* borrowed: update->reason while it is published; set by publish_update() */
	server_t *server;     /* tells zones that are made of this one */
	update_source_t from; /* set by publish_update() */
	struct signing *signing; /* of the commit; set by publish_update() */
	bool is_forced;          /* of update->is_forced; set by publish_update() */
	const char *who;         /* borrowed: the same of update->who */
	server_t *catalogs;     /* the zone is a catalog that is interpreted: what it says goes there; NULL: it isn't */
	catalog_work_t *said;   /* owned: what the version says, until it is served */
	bool is_unsigned;       /* nothing is signed, whatever the zone's settings say */
	bool is_known;          /* the version was proven when it was made: not now, but later */
	unsigned how;           /* of signing: signing_ask_t */
	bool may_go_unstored;   /* a whole version that the journal can't take is published all the same */
	bool may_step_unstored; /* another version that it can't take, too */
	bool has_stored;        /* out: the change is in the journal */
	bool is_not_stored;     /* out: it could not be stored */
	knot_err_t flaw;    /* out, of the event re-sign: of private keys, though the rest is done; with the reason */
	bool is_not_signed; /* out: it could not be signed, or what the signer made isn't valid */
} publish_t;

/**
 * Commit the change and serve it in place of what is served, signed if the zone is. base: as for update_commit().
 * publish->next is gone afterwards, also on failure, unless there was nothing to publish. Errors of update_commit() and
 * of signing_begin().
 */
KNOT_MUST_USE knot_err_t publish_update(publish_t *publish, update_t *update, const zone_contents_t *base,
		const update_policy_t *policy, update_effects_t *ret_effects);

/** Serve another version with the same records. */
void publish_moved(zone_t *zone, zone_contents_t *take_contents);

/** Serve nothing any more. Logs that. */
void publish_drop(zone_t *zone, load_source_t *source);

/** The same without a line in the log. */
void publish_clear(zone_t *zone, load_source_t *source);
