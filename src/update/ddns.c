/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message is read up to four times: its form, so that no step finds a fault that an earlier one should have found;
 * prerequisites; the format of updates; and what they do. Most messages have one record, and a record is cheaper to
 * read again than to keep.
 */
#include "src/update/ddns.h"

#include "src/update/ddns_steps.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

knot_err_t ddns_begin(update_t *update, ddns_message_cb on_message, void *ctx, ddns_t **ret_ddns)
{
	assert(update->txn != NULL);
	ddns_t *ddns = malloc(sizeof(*ddns));
	if (ddns == NULL) {
		return KNOT_ENOMEM;
	}
	ddns->update = update;
	ddns->on_message = on_message;
	ddns->ctx = ctx;
	*ret_ddns = ddns;
	return KNOT_OK;
}

void ddns_end(ddns_t *ddns)
{
	free(ddns);
}

void ddns_say(const ddns_t *ddns, ddns_level_t level, bool names_zone, const char *format, ...)
{
	if (ddns->on_message == NULL) {
		return;
	}
	char text[DDNS_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ddns->on_message(&(ddns_message_t){ level, names_zone, text }, ddns->ctx);
}

/* ---- Reading ---- */

/* OPT and TSIG belong to the message, not to a zone; a type ANY with a zone's class says nothing. */
static bool ddns_is_misplaced(const knot_message_rr_t *raw)
{
	bool is_question = raw->section == KNOT_SECTION_QUESTION, is_more = raw->section == KNOT_SECTION_ADDITIONAL;
	bool is_pseudo = raw->type == KNOT_TYPE_OPT || raw->type == KNOT_TYPE_TSIG;
	return (is_pseudo && !is_more) || (!is_question && raw->type == KNOT_TYPE_ANY && raw->class == KNOT_CLASS_IN);
}

/* Class ANY asks for records whatever their data is; so does NONE as a prerequisite (RFC 2136 2.4, 2.5). */
static bool ddns_has_data(const knot_message_rr_t *raw)
{
	bool is_any = raw->class == KNOT_CLASS_ANY;
	bool is_no_prereq = raw->section == KNOT_SECTION_ANSWER && raw->class == KNOT_CLASS_NONE;
	bool is_record = raw->section == KNOT_SECTION_ANSWER || raw->section == KNOT_SECTION_AUTHORITY;
	return is_record && !is_any && !is_no_prereq;
}

bool ddns_next(ddns_t *ddns, knot_message_t *message, knot_message_rr_t *raw, ddns_rr_t *ret_rr, knot_err_t *ret_err)
{
	if (!knot_message_next(message, raw)) {
		*ret_err = message->failed ? KNOT_EMALF : KNOT_OK;
		return false;
	}
	uint16_t len = 0;
	knot_mut_bytes_t room = { ddns->rdata, sizeof(ddns->rdata) };
	*ret_err = ddns_is_misplaced(raw) ? KNOT_EMALF : KNOT_OK;
	if (*ret_err == KNOT_OK && ddns_has_data(raw)) {
		*ret_err = knot_rdata_unpack(raw->type, message->wire, raw->rdata_off, raw->rdata_len, room, &len);
	}
	if (*ret_err != KNOT_OK) {
		return false;
	}
	*ret_rr = (ddns_rr_t){
		.owner = raw->owner,
		.type = raw->type,
		.class = raw->class,
		.ttl = raw->ttl,
		.rdata = { ddns->rdata, len },
		.has_rdata = raw->rdata_len > 0,
	};
	return true;
}

/* Begin at the prerequisites of a message that can be read to its end: one question, and nothing behind. */
static knot_err_t ddns_read(ddns_t *ddns, knot_bytes_t wire, knot_message_t *ret_message)
{
	knot_message_t message;
	knot_message_rr_t raw;
	ddns_rr_t rr;
	if (knot_message_begin(wire, &message) != KNOT_OK || message.counts[KNOT_SECTION_QUESTION] != 1) {
		return KNOT_EMALF;
	}
	knot_err_t err;
	bool goes_on = ddns_next(ddns, &message, &raw, &rr, &err);
	*ret_message = message;
	while (goes_on) {
		goes_on = ddns_next(ddns, &message, &raw, &rr, &err);
	}
	return err == KNOT_OK && knot_message_is_whole(&message) ? KNOT_OK : KNOT_EMALF;
}

/* ---- Steps ---- */

/* Visit each of the updates, which are the next records. */
static knot_err_t ddns_each_update(ddns_t *ddns, const knot_message_t *updates,
		knot_err_t (*visit)(const ddns_t *ddns, const ddns_rr_t *rr))
{
	knot_message_t message = *updates;
	knot_message_rr_t raw;
	ddns_rr_t rr;
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; err == KNOT_OK && i < message.counts[KNOT_SECTION_AUTHORITY]; i++) {
		bool is_read = ddns_next(ddns, &message, &raw, &rr, &err);
		assert(is_read); /* as it was by ddns_read() */
		(void)is_read;
		err = visit(ddns, &rr);
	}
	return err;
}

static uint16_t ddns_rcode_of(knot_err_t err)
{
	static const struct {
		knot_err_t err;
		uint16_t rcode;
	} rows[] = {
		{ KNOT_OK, KNOT_RCODE_NOERROR },
		{ KNOT_EMALF, KNOT_RCODE_FORMERR },
		{ KNOT_EOUTOFZONE, KNOT_RCODE_NOTZONE },
		{ KNOT_EDENIED, KNOT_RCODE_REFUSED },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (rows[i].err == err) {
			return rows[i].rcode;
		}
	}
	return KNOT_RCODE_SERVFAIL;
}

static ddns_result_t ddns_fail(const char *what, knot_err_t err)
{
	return (ddns_result_t){ .rcode = ddns_rcode_of(err), .what = what, .err = err };
}

ddns_result_t ddns_apply(ddns_t *ddns, knot_bytes_t wire)
{
	knot_message_t message;
	knot_err_t err = ddns_read(ddns, wire, &message);
	if (err != KNOT_OK) {
		return ddns_fail("broken update format", err);
	}
	uint16_t rcode = KNOT_RCODE_NOERROR;
	err = ddns_check_prereqs(ddns, &message, &rcode);
	if (err != KNOT_OK) {
		ddns_result_t result = ddns_fail("prerequisites not met", err);
		result.rcode = err == KNOT_EPREREQ ? rcode : result.rcode;
		return result;
	}
	err = ddns_each_update(ddns, &message, ddns_check_update);
	if (err != KNOT_OK) {
		return ddns_fail("broken update format", err);
	}
	size_t mark = update_mark(ddns->update);
	err = ddns_each_update(ddns, &message, ddns_apply_update);
	if (err != KNOT_OK) {
		update_rollback(ddns->update, mark);
		return ddns_fail("failed to apply", err);
	}
	return (ddns_result_t){ .rcode = KNOT_RCODE_NOERROR };
}
