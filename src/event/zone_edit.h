/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Open transactions on zones: who has one, and publishing what they become.
 *
 * A zone has at most one; it lasts over any number of control connections, until it is committed or aborted, or the
 * zone is purged. It reads the version that was published when it began. Meanwhile nothing else changes the zone: what
 * would load it waits, or is refused with KNOT_ETXNMANY. What changes mean is update/'s, the work on versions
 * zone/txn.h's. Open ones are in a map of their own: an entry has a bit. Any thread registered for RCU, outside of read
 * sections; callers at the same time take turns.
 */
#pragma once

#include "src/event/server.h"
#include "src/update/edit.h"

/** Begin. KNOT_ENOZONE. KNOT_ETXNMANY: there is one, or one of the configuration. KNOT_ECTLBUSY: the server stops.
 * KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t server_edit_begin(server_t *server, knot_name_t name, bool is_benevolent);

/** True if a transaction on some zone is open. */
bool server_edits_are_open(const server_t *server);

/** True if the zone has an open transaction. */
bool server_edit_is_open(const server_t *server, knot_name_t name);

/** A transaction that is open. */
typedef struct {
	uint64_t since_s;              /* wall clock: when it began */
	char zone[KNOT_NAME_TEXT_MAX]; /* with final dot */
} server_open_t;

/** The open transaction on the zone, or if there is none (or wire NULL) on some zone. False: none is open. */
bool server_edit_find_open(const server_t *server, knot_name_t name, server_open_t *ret_open);

/** A transaction that is being worked with. */
typedef struct server_edit server_edit_t;

/**
 * Have the transaction of a zone for oneself, to be given back soon with server_edit_leave(); waits for others.
 * ret_update: to read and change it with; valid until then. KNOT_ENOZONE. KNOT_ETXNNONE: there is none.
 */
KNOT_MUST_USE knot_err_t server_edit_enter(
		server_t *server, knot_name_t name, server_edit_t **ret_edit, update_t *ret_update);

/** Let others work with it. */
void server_edit_leave(server_t *server, server_edit_t *take_edit);

/** What a commit did, set in any case. */
typedef struct {
	server_ticket_t ticket; /* to wait for the zone file to be written, if that is at once; 0: nothing to wait for
				 */
	size_t removed, added;  /* records, also those that only have another TTL or serial now */
	char reason[FAULT_REASON_MAX]; /* what the check that failed found, without the text of the error; "" */
} server_commit_t;

/**
 * Make the changes a version and publish it, with another serial by `serial-policy` if it is the old one; nothing is
 * published if nothing changed. The zone file is written as `zonefile-sync` says. KNOT_ENOZONE. KNOT_ETXNNONE.
 * KNOT_ESEMCHECK, KNOT_EZONESIZE: a check failed and was logged, the transaction is still open. KNOT_ETRYAGAIN: the
 * zone isn't the one that it began on any more; abort. KNOT_ECTLBUSY: the server stops. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t server_edit_commit(server_t *server, knot_name_t name, server_commit_t *ret_commit);

/** Forget the changes. KNOT_ENOZONE. KNOT_ETXNNONE. */
KNOT_MUST_USE knot_err_t server_edit_abort(server_t *server, knot_name_t name);

/** How to set a serial. */
typedef struct {
	bool is_increment; /* add `number` to the present one */
	bool may_decrease; /* a new serial that isn't newer is fine */
	uint32_t number;
} server_serial_t;

/**
 * Publish a version with another serial. ret_ticket: as server_commit_t.ticket.
 * KNOT_ENOZONE. KNOT_EEMPTYZONE. KNOT_ETXNMANY: a transaction is open. KNOT_ERANGE: not newer. KNOT_ECTLBUSY,
 * KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t server_set_serial(
		server_t *server, knot_name_t name, const server_serial_t *serial, server_ticket_t *ret_ticket);
