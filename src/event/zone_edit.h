/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Open transactions on zones: which zones have one, and publishing their results.
 *
 * A zone has at most one; it lasts over any number of control connections, until it is committed or aborted, or the
 * zone is purged. It reads the version that was published when it began. Meanwhile nothing else changes the zone:
 * loads wait or are refused with KNOT_ETXNMANY. Not here: the meaning of changes (update/), the work on versions
 * (zone/txn.h). Open transactions are in a map of their own; an entry has only a bit. Any thread registered for RCU,
 * outside of read sections; concurrent callers take turns.
 */
#pragma once

#include "src/event/history.h"
#include "src/event/server.h"
#include "src/update/edit.h"

/** Begin. KNOT_ENOZONE. KNOT_ETXNMANY: one is open on the zone or on the configuration. KNOT_ECTLBUSY: the server
 * stops. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t server_edit_begin(server_t *server, knot_name_t name, bool is_benevolent);

/** True if a transaction on some zone is open. */
bool server_edits_are_open(const server_t *server);

/** True if the zone has an open transaction. */
bool server_edit_is_open(const server_t *server, knot_name_t name);

/** True while a version of the zone waits for external validation, which server_edit_commit() and server_edit_abort()
 * decide. */
bool server_is_validated(server_t *server, knot_name_t name);

/** An open transaction. */
typedef struct {
	uint64_t since_s;              /* wall clock: when it began */
	char zone[KNOT_NAME_TEXT_MAX]; /* with final dot */
} server_open_t;

/** Find the open transaction on the zone, or if there is none (or wire NULL) one on any zone. False: none is open. */
bool server_edit_find_open(const server_t *server, knot_name_t name, server_open_t *ret_open);

/** A transaction in use by a caller. */
typedef struct server_edit server_edit_t;

/**
 * Get exclusive use of a zone's transaction; waits for other callers. End it soon with server_edit_leave().
 * ret_changes: for reading and changing it; valid until then. KNOT_ENOZONE. KNOT_ETXNNONE: there is none.
 */
KNOT_MUST_USE knot_err_t server_edit_enter(
		server_t *server, knot_name_t name, server_edit_t **ret_edit, edit_t *ret_changes);

/** End the exclusive use. */
void server_edit_leave(server_t *server, server_edit_t *take_edit);

/** Whose change it is. */
typedef struct {
	const char *who; /* for the log and the zone's history, "uid 0" say; "": it isn't known */
	bool is_forced;  /* publish also what breaks a guard rail */
} server_author_t;

/** What a commit did, set in any case. */
typedef struct {
	server_ticket_t ticket; /* to wait for the zone file to be written, if that is at once; 0: nothing to wait for
				 */
	size_t removed, added;  /* records, including those of which only TTL or serial changed */
	bool is_not_stored;     /* the journal couldn't take the change: the zone has this fault until it can */
	knot_err_t flaw;        /* of a private key, though all was done; with the reason */
	bool is_not_signed;     /* it could not be signed, or was signed wrongly: the same */
	char reason[FAULT_REASON_MAX]; /* details of the failed check, without the text of the error; "": none */
} server_commit_t;

/**
 * If a version of the zone waits for external validation, accept that, and do nothing else. Otherwise make a version of
 * the changes and publish it, with a serial by `serial-policy` if the serial wasn't changed. Nothing
 * is published if nothing changed. The zone file is written as `zonefile-sync` says. KNOT_ENOZONE. KNOT_ETXNNONE.
 * KNOT_ESEMCHECK, KNOT_EZONESIZE, KNOT_EGUARDRAIL: a check failed and was logged; the transaction is still open.
 * KNOT_ESPACE and other errors of changes_store(): it can't be made durable; the transaction is still open.
 * KNOT_ETRYAGAIN: the zone isn't any more the one that the transaction began on; abort it. KNOT_ECTLBUSY: the server
 * stops. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t server_edit_commit(
		server_t *server, knot_name_t name, const server_author_t *author, server_commit_t *ret_commit);

/** Forget the changes, or refuse the version that waits for external validation. KNOT_ENOZONE. KNOT_ETXNNONE. */
KNOT_MUST_USE knot_err_t server_edit_abort(server_t *server, knot_name_t name);

/**
 * Publish a version with the records of an earlier one and a serial by `serial-policy`. KNOT_ENOZONE. KNOT_EEMPTYZONE.
 * KNOT_ETXNMANY: a transaction is open. Errors of history_go_back() and of server_edit_commit().
 */
KNOT_MUST_USE knot_err_t server_revert(server_t *server, knot_name_t name, const history_target_t *target,
		const server_author_t *author, server_commit_t *ret_commit);

/**
 * Read, check and compile the zone file as a load would; nothing is published, and the zone's other work isn't held up.
 * Faults in the file are logged. The caller owns *ret_contents. reason: details of the error. KNOT_ENOZONE. Errors of
 * load_build().
 */
KNOT_MUST_USE knot_err_t server_build_file(server_t *server, knot_name_t name, char reason[static FAULT_REASON_MAX],
		zone_contents_t **ret_contents);

/** How to set a serial. */
typedef struct {
	bool is_increment; /* add `number` to the present one */
	uint32_t number;
} server_serial_t;

/**
 * Publish a version with another serial; one that isn't newer, if it is forced.
 * KNOT_ENOZONE. KNOT_EEMPTYZONE. KNOT_ETXNMANY: a transaction is open. KNOT_ERANGE: not newer. KNOT_EGUARDRAIL: a rail
 * that the zone breaks already. KNOT_ECTLBUSY, KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t server_set_serial(server_t *server, knot_name_t name, const server_serial_t *serial,
		const server_author_t *author, server_commit_t *ret_commit);
