/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/edit.h"

#include "libknot/base/assert.h"
#include "libknot/rr/rrtype.h"
#include "libknot/text/rdata_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char bad_type[] = "unknown record type";

/* For assertions: names of the transaction are compared byte by byte. */
static bool edit_is_lower(knot_name_t name)
{
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(name, lower);
	return memcmp(lower, name.wire, name.len) == 0;
}

/* ---- Words ---- */

/*
 * The class may stand before the type, as in a zone file (RFC 1035 5.1): then the first word of the data is the type.
 */
static edit_words_t edit_strip_class(const edit_words_t *words, char type[static KNOT_TYPE_TEXT_MAX])
{
	edit_words_t plain = *words;
	size_t len = words->data != NULL ? strcspn(words->data, " \t") : 0;
	if (len > 0 && len < KNOT_TYPE_TEXT_MAX && words->type != NULL && strcasecmp(words->type, "IN") == 0) {
		memcpy(type, words->data, len);
		type[len] = '\0';
		plain.type = type;
		plain.data = words->data + len + strspn(words->data + len, " \t");
	}
	return plain;
}

/* True if the text is one word of a zone file: bytes that would end it, or begin something else, must be escaped. */
static bool edit_is_word(const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0') {
			p++;
		} else if ((unsigned char)*p <= ' ' || strchr(";()\"", *p) != NULL) {
			return false;
		}
	}
	return *text != '\0';
}

static knot_err_t edit_scan_owner(const edit_t *edit, const char *text, edit_note_t *note)
{
	if (text == NULL) {
		return KNOT_EPARAM;
	}
	knot_name_t owner;
	note->reason = knot_name_text_fault(knot_str_of(text));
	if (edit_is_word(text) && note->reason != NULL) {
		return KNOT_EPARSEFAIL;
	}
	note->reason = NULL;
	if (!edit_is_word(text) || knot_name_scan(knot_str_of(text), edit->origin, note->wire, &owner) != KNOT_OK) {
		note->reason = "invalid owner";
		return KNOT_EPARSEFAIL;
	}
	knot_name_lower(owner, note->wire);
	note->owner = (knot_name_t){ note->wire, owner.len, owner.label_count };
	return KNOT_OK;
}

/* ret: KNOT_RDATA_MAX bytes. */
static knot_err_t edit_scan_data(
		const edit_t *edit, edit_note_t *note, const char *text, uint8_t *ret, knot_bytes_t *ret_rdata)
{
	uint16_t len;
	knot_mut_bytes_t room = { ret, KNOT_RDATA_MAX };
	knot_err_t err = knot_rdata_scan(note->type, knot_str_of(text), edit->origin, room, &len, &note->reason);
	if (err != KNOT_OK) {
		return KNOT_EPARSEFAIL;
	}
	*ret_rdata = (knot_bytes_t){ ret, len };
	return KNOT_OK;
}

static bool edit_is_apex(const edit_t *edit, const edit_note_t *note)
{
	return note->owner.len == edit->origin.len && knot_name_in(note->owner, edit->origin);
}

/* ---- Adding ---- */

static knot_err_t edit_choose_ttl(const edit_t *edit, const edit_words_t *words, knot_bytes_t rdata, edit_note_t *note)
{
	uint32_t there;
	knot_err_t err = zone_txn_find_ttl(edit->txn, note->owner, note->type, &there);
	bool is_there = err == KNOT_OK;
	err = err == KNOT_ENOENT ? KNOT_OK : err;
	if (err == KNOT_OK && words->ttl != NULL && *words->ttl != '\0') {
		err = knot_ttl_scan(knot_str_of(words->ttl), &note->ttl, &note->reason);
	} else {
		note->ttl = is_there ? there : edit->default_ttl;
	}
	if (err == KNOT_OK && note->type == KNOT_TYPE_RRSIG) {
		assert(rdata.len >= 18);               /* RFC 4034 3.1: what knot_rdata_scan() reads is whole */
		note->ttl = load_be32(rdata.data + 4); /* RFC 4034 3: the TTL of the RRset that it signs */
	} else if (err == KNOT_OK) {
		note->has_new_ttl = is_there && there != note->ttl && note->type != KNOT_TYPE_SOA;
	}
	return err;
}

static knot_err_t edit_put_record(const edit_t *edit, knot_bytes_t rdata, const edit_note_t *note)
{
	if (note->type == KNOT_TYPE_SOA) {
		knot_err_t err = zone_txn_remove_all(edit->txn, note->owner, KNOT_TYPE_SOA);
		if (err != KNOT_OK && err != KNOT_ENONODE && err != KNOT_ENOENT) {
			return err;
		}
	}
	knot_err_t err = zone_txn_put(edit->txn, note->owner, note->type, note->ttl, rdata);
	return err == KNOT_EISRECORD && edit->is_benevolent ? KNOT_OK : err;
}

/* Type 0 marks a SIG that covers a transaction; records can't have it (RFC 6895 3.1). To zone_txn_remove_all() it means
 * all types. */
static bool edit_is_no_zone_data(uint16_t type)
{
	return type == 0 || knot_rrtype_is_meta(type);
}

static knot_err_t edit_scan_set(const edit_t *edit, const edit_words_t *words, edit_note_t *note, uint8_t *room,
		knot_bytes_t *ret_rdata)
{
	knot_err_t err = words->type != NULL ? edit_scan_owner(edit, words->owner, note) : KNOT_EPARAM;
	if (err != KNOT_OK) {
		return err;
	}
	if (knot_rrtype_scan(knot_str_of(words->type), &note->type) != KNOT_OK) {
		/* As in Knot: its clients send an invalid TTL as the type. */
		note->reason = bad_type;
		return words->ttl != NULL ? KNOT_EPARSEFAIL : KNOT_EPARAM;
	}
	if (edit_is_no_zone_data(note->type)) {
		note->reason = "record type is not zone data";
		return KNOT_EPARSEFAIL;
	}
	err = edit_scan_data(edit, note, words->data != NULL ? words->data : "", room, ret_rdata);
	if (err == KNOT_OK && !knot_name_in(note->owner, edit->origin)) {
		err = KNOT_EOUTOFZONE;
	}
	return err == KNOT_OK && note->type == KNOT_TYPE_SOA && !edit_is_apex(edit, note) ? KNOT_EDENIED : err;
}

knot_err_t edit_set(const edit_t *edit, const edit_words_t *words, edit_note_t *ret_note)
{
	assert(edit->txn != NULL);
	KNOT_ASSERT_SLOW(edit_is_lower(edit->origin));
	*ret_note = (edit_note_t){ 0 };
	char type[KNOT_TYPE_TEXT_MAX];
	const edit_words_t plain = edit_strip_class(words, type);
	uint8_t *room = malloc(KNOT_RDATA_MAX);
	if (room == NULL) {
		return KNOT_ENOMEM;
	}
	knot_bytes_t rdata;
	knot_err_t err = edit_scan_set(edit, &plain, ret_note, room, &rdata);
	err = err == KNOT_OK ? edit_choose_ttl(edit, &plain, rdata, ret_note) : err;
	err = err == KNOT_OK ? edit_put_record(edit, rdata, ret_note) : err;
	free(room);
	return err;
}

/* ---- Removing ---- */

static knot_err_t edit_remove_record(const edit_t *edit, const edit_words_t *words, edit_note_t *note)
{
	uint8_t *room = malloc(KNOT_RDATA_MAX);
	if (room == NULL) {
		return KNOT_ENOMEM;
	}
	knot_bytes_t rdata;
	knot_err_t err = edit_scan_data(edit, note, words->data, room, &rdata);
	err = err == KNOT_OK ? zone_txn_remove(edit->txn, note->owner, note->type, rdata) : err;
	free(room);
	return err;
}

/* An empty non-terminal exists, although it has no records (RFC 9499 7). */
static knot_err_t edit_remove_all(const edit_t *edit, const edit_words_t *words, const edit_note_t *note)
{
	knot_err_t err = zone_txn_remove_all(edit->txn, note->owner, note->type);
	if (err == KNOT_ENONODE) {
		err = zone_txn_find(edit->txn, note->owner);
		err = err == KNOT_OK && words->type != NULL ? KNOT_ENOENT : err;
	}
	return err;
}

static knot_err_t edit_remove(const edit_t *edit, const edit_words_t *words, edit_note_t *note)
{
	/* As in Knot, an empty owner is the apex. */
	bool is_empty = words->owner != NULL && *words->owner == '\0';
	knot_err_t err = words->data != NULL && words->type == NULL
					 ? KNOT_EPARAM
					 : edit_scan_owner(edit, is_empty ? "@" : words->owner, note);
	if (err != KNOT_OK) {
		return err;
	}
	if (words->type != NULL && knot_rrtype_scan(knot_str_of(words->type), &note->type) != KNOT_OK) {
		note->reason = bad_type;
		return words->data != NULL ? KNOT_EPARSEFAIL : KNOT_EPARAM;
	}
	if (!knot_name_in(note->owner, edit->origin)) {
		return KNOT_ENONODE;
	}
	if (words->type != NULL && edit_is_no_zone_data(note->type)) {
		err = zone_txn_find(edit->txn, note->owner);
		return err == KNOT_OK ? KNOT_ENOENT : err;
	}
	if (note->type == KNOT_TYPE_SOA && edit_is_apex(edit, note)) {
		uint32_t ttl; /* a zone always has its SOA; another one replaces it */
		return zone_txn_find_ttl(edit->txn, note->owner, KNOT_TYPE_SOA, &ttl);
	}
	return words->data != NULL ? edit_remove_record(edit, words, note) : edit_remove_all(edit, words, note);
}

knot_err_t edit_unset(const edit_t *edit, const edit_words_t *words, edit_note_t *ret_note)
{
	assert(edit->txn != NULL);
	KNOT_ASSERT_SLOW(edit_is_lower(edit->origin));
	*ret_note = (edit_note_t){ 0 };
	char type[KNOT_TYPE_TEXT_MAX];
	const edit_words_t plain = edit_strip_class(words, type);
	knot_err_t err = edit_remove(edit, &plain, ret_note);
	bool is_missing = err == KNOT_ENONODE || err == KNOT_ENOENT || err == KNOT_ENORECORD;
	return is_missing && edit->is_benevolent ? KNOT_OK : err;
}
