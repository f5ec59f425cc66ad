/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Changes to a zone in the operator's words: `owner [TTL] type data` as text, applied to a transaction (zone/txn.h).
 *
 * This file decides what is allowed and what the text means. Access, publishing and logging are the job of event/.
 * Pure: text and a transaction in, a changed transaction out; no state. A failure changes nothing except the TTL when
 * the record exists already.
 */
#pragma once

#include "src/zone/txn.h"

/** The words of one change; NULL: not given. Any bytes, borrowed. */
typedef struct {
	const char *owner; /* relative to the zone, or absolute with a final dot; "@": the apex */
	const char *ttl;   /* seconds, plain or with units (1h30m); empty: not given */
	const char *type;  /* mnemonic or TYPEn; "IN": the type is the first word of the data */
	const char *data;  /* presentation form of the RDATA */
} edit_words_t;

typedef struct {
	zone_txn_t *txn;
	knot_name_t origin;   /* apex, lower case */
	uint32_t default_ttl; /* of RRsets that have none yet; seconds */
	bool is_benevolent;   /* adding an existing record and removing a missing one succeed */
} edit_t;

/** Facts about a change beside its error, for messages. */
typedef struct {
	const char *reason; /* of KNOT_EPARSEFAIL: static text, or NULL */
	bool has_new_ttl;   /* other records of the RRset got the TTL of the added one */
	uint32_t ttl;
	uint16_t type;
	knot_name_t owner; /* of wire[]; wire NULL: not known */
	uint8_t wire[KNOT_NAME_MAX];
} edit_note_t;

/**
 * Add a record. A SOA replaces the present one.
 * KNOT_EPARSEFAIL: owner, TTL, type or data can't be read, or records of the type can't be zone data. KNOT_EPARAM: no
 * owner, or a bad type without a TTL. KNOT_EOUTOFZONE. KNOT_EDENIED: SOA below the apex. KNOT_EISRECORD: the record
 * exists already; its TTL is changed all the same. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t edit_set(const edit_t *edit, const edit_words_t *words, edit_note_t *ret_note);

/**
 * Remove a record, an RRset (no data) or all of a name but its SOA (no type). The TTL is ignored. A SOA stays, without
 * an error. An empty owner is the apex. KNOT_EPARSEFAIL: owner or data can't be read, or the type of the data is
 * unknown. KNOT_EPARAM: unknown type, no owner, or data without a type. KNOT_ENORECORD: no such record. KNOT_ENONODE,
 * without data: no such name. KNOT_ENOENT: no such RRset. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t edit_unset(const edit_t *edit, const edit_words_t *words, edit_note_t *ret_note);
