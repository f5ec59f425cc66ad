/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/internal.h"
#include "src/journal/changeset.h"
#include "src/update/serial.h"
#include "src/update/update.h"

/* ---- Versions ---- */

typedef struct {
	history_version_t *versions; /* owned: room for HISTORY_MAX, a ring once there are more */
	size_t count;                /* seen */
} history_listing_t;

static bool history_note_version(const journal_entry_t *entry, void *ctx)
{
	history_listing_t *listing = ctx;
	const journal_change_t *change = &entry->change;
	listing->versions[listing->count++ % HISTORY_MAX] = (history_version_t){
		.has_from = entry->kind != JOURNAL_WHOLE,
		.serial_from = change->serial_from,
		.serial_to = change->serial_to,
		.time_s = change->time_s,
		.source = update_source_name(change->source),
		.removed = change->removed,
		.added = change->added,
		.zone_size = change->zone_size,
	};
	memcpy(listing->versions[(listing->count - 1) % HISTORY_MAX].who, change->who, JOURNAL_WHO_MAX);
	return true;
}

/* Turn a ring into a list: the oldest is where the next would go. */
static knot_err_t history_unroll(history_listing_t *listing)
{
	size_t first = listing->count % HISTORY_MAX;
	if (listing->count <= HISTORY_MAX || first == 0) {
		return KNOT_OK;
	}
	history_version_t *list = malloc(HISTORY_MAX * sizeof(*list));
	if (list == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(list, listing->versions + first, (HISTORY_MAX - first) * sizeof(*list));
	memcpy(list + HISTORY_MAX - first, listing->versions, first * sizeof(*list));
	free(listing->versions);
	listing->versions = list;
	return KNOT_OK;
}

knot_err_t server_read_history(
		const server_t *server, knot_name_t name, history_version_t **ret_versions, size_t *ret_count)
{
	history_listing_t listing = { .versions = malloc(HISTORY_MAX * sizeof(*listing.versions)) };
	if (listing.versions == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = journal_each(server->journal, name, history_note_version, &listing);
	bool is_there = err == KNOT_OK || err == KNOT_ENOENT || err == KNOT_EMALF;
	knot_err_t list_err = is_there ? history_unroll(&listing) : err;
	if (list_err != KNOT_OK) {
		free(listing.versions);
		return list_err;
	}
	*ret_versions = listing.versions;
	*ret_count = listing.count < HISTORY_MAX ? listing.count : HISTORY_MAX;
	return err == KNOT_ENOENT ? KNOT_OK : err;
}

/* ---- The way back ---- */

/* The payloads of the changes from a version to the present one. */
typedef struct {
	uint8_t **data; /* owned, as are the elements */
	size_t *lens;   /* owned */
	size_t count, max;
	uint32_t serial; /* where the last one leads to */
	knot_err_t err;
} history_way_t;

static bool history_add_step(const journal_entry_t *entry, void *ctx)
{
	history_way_t *way = ctx;
	knot_bytes_t payload = entry->change.payload;
	if (way->count == way->max) {
		size_t max = 2 * way->max + 8;
		uint8_t **data = reallocarray(way->data, max, sizeof(*data));
		way->data = data != NULL ? data : way->data;
		size_t *lens = data != NULL ? reallocarray(way->lens, max, sizeof(*lens)) : NULL;
		way->lens = lens != NULL ? lens : way->lens;
		way->max = lens != NULL ? max : way->max;
	}
	uint8_t *copy = way->count < way->max ? malloc(payload.len + 1) : NULL;
	if (copy == NULL) {
		way->err = KNOT_ENOMEM;
		return false;
	}
	memcpy(copy, payload.data, payload.len);
	way->data[way->count] = copy;
	way->lens[way->count++] = payload.len;
	way->serial = entry->change.serial_to;
	return true;
}

static void history_free_way(history_way_t *way)
{
	for (size_t i = 0; i < way->count; i++) {
		free(way->data[i]);
	}
	free(way->data);
	free(way->lens);
}

typedef struct {
	zone_txn_t *txn;
	bool takes_added; /* this pass removes what was added; the other one puts back what was removed */
	knot_err_t err;
} history_undo_t;

static bool history_undo_record(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	history_undo_t *undo = ctx;
	if (is_added == undo->takes_added) {
		undo->err = is_added ? zone_txn_remove(undo->txn, rr->owner, rr->type, rr->rdata)
				     : zone_txn_put(undo->txn, rr->owner, rr->type, rr->ttl, rr->rdata);
	}
	return undo->err == KNOT_OK;
}

/* What was added goes first: a record whose TTL changed is both, and is to end with its old TTL. */
static knot_err_t history_undo_step(zone_txn_t *txn, knot_bytes_t payload)
{
	history_undo_t undo = { .txn = txn, .takes_added = true };
	knot_err_t err = changeset_each(payload, CHANGESET_STEP, history_undo_record, &undo);
	undo.takes_added = false;
	if (err == KNOT_OK && undo.err == KNOT_OK) {
		err = changeset_each(payload, CHANGESET_STEP, history_undo_record, &undo);
	}
	return err != KNOT_OK || undo.err == KNOT_OK || undo.err == KNOT_ENOMEM ? (err != KNOT_OK ? err : undo.err)
										: KNOT_EMALF;
}

static bool history_note_last(const journal_entry_t *entry, void *ctx)
{
	history_target_t *target = ctx;
	if (entry->kind == JOURNAL_STEP || entry->kind == JOURNAL_MERGED) {
		*target = (history_target_t){ true, entry->change.serial_from };
	}
	return true;
}

/* Say how far back the history leads from the present version. */
static knot_err_t history_miss(journal_t *journal, knot_name_t name, uint32_t current, char *reason)
{
	journal_info_t info;
	bool leads = journal_info(journal, name, &info) == KNOT_OK && info.has_changes && info.serial_last == current;
	if (leads) {
		snprintf(reason, FAULT_REASON_MAX, "the history leads back to serial %" PRIu32, info.serial_first);
	} else {
		snprintf(reason, FAULT_REASON_MAX,
				"no change that led to serial %" PRIu32 " is stored, the history leads back to it only",
				current);
	}
	return KNOT_ERANGE;
}

knot_err_t history_go_back(journal_t *journal, knot_name_t name, uint32_t current, const history_target_t *target,
		zone_txn_t *txn, char *reason)
{
	history_target_t to = *target;
	if (!to.has_serial && journal_each(journal, name, history_note_last, &to) == KNOT_ENOENT) {
		return history_miss(journal, name, current, reason);
	}
	if (target->has_serial && to.serial == current) {
		snprintf(reason, FAULT_REASON_MAX, "serial %" PRIu32 " is the present one", current);
		return KNOT_ERANGE;
	}
	history_way_t way = { .serial = to.serial };
	knot_err_t err = to.has_serial ? journal_each_from(journal, name, to.serial, history_add_step, &way)
				       : KNOT_ENOENT;
	err = way.err != KNOT_OK ? way.err : err;
	if (err == KNOT_ENOENT || (err == KNOT_OK && way.serial != current)) {
		err = history_miss(journal, name, current, reason);
	}
	for (size_t i = way.count; err == KNOT_OK && i > 0; i--) {
		err = history_undo_step(txn, (knot_bytes_t){ way.data[i - 1], way.lens[i - 1] });
	}
	history_free_way(&way);
	return err == KNOT_OK ? update_set_serial(txn, name, current) : err;
}
