/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers (RFC 5936, RFC 1995): each message is read once, record by record, and printed at once; what is printed
 * goes out in large pieces.
 *
 * The end is where the first SOA comes again: for AXFR, and what is one in answer to IXFR, its second one; for changes,
 * the one in whose place the next change would begin.
 */
#include "src/tools/lookup/ask.h"

#include "src/present/codes.h"
#include "src/present/host.h"
#include "src/present/json.h"
#include "src/sys/clock.h"

#include <unistd.h>

enum { TRANSFER_FLUSH_LEN = 1 << 18 };

typedef enum {
	AT_START,   /* no record yet */
	AT_SECOND,  /* after the first SOA */
	AT_RECORDS, /* of a whole zone */
	AT_REMOVED, /* of a change: behind its old SOA */
	AT_ADDED,   /* behind its new SOA */
	AT_END,
} transfer_at_t;

typedef struct {
	ask_t *ask;
	transfer_at_t at;
	uint32_t serial;        /* of the first SOA */
	uint32_t change_serial; /* that the last change led to */
	size_t len, messages, records;
	bool is_after_end; /* said */
	present_columns_t columns;
	uint8_t rdata[KNOT_RDATA_MAX];
} transfer_t;

/* ---- Order of records ---- */

static void transfer_check_owner(transfer_t *t, const knot_message_rr_t *rr, const char *which)
{
	if (t->ask->question->name.len > 0 && !knot_name_eq(rr->owner, t->ask->question->name)) {
		lookup_warn(t->ask->lookup, "%s SOA owner not matching the requested zone name", which);
	}
}

/* A SOA where the next change may begin, or the end is. */
static void transfer_take_change(transfer_t *t, uint32_t serial)
{
	if (t->at != AT_SECOND && serial != t->change_serial) {
		lookup_warn(t->ask->lookup, "change from serial %u follows one to serial %u", serial, t->change_serial);
	}
	t->at = AT_REMOVED;
	t->change_serial = serial;
}

static void transfer_take_end(transfer_t *t, const knot_message_rr_t *rr)
{
	if (t->at == AT_ADDED && t->change_serial != t->serial) {
		lookup_warn(t->ask->lookup, "the last change leads to serial %u, not to %u", t->change_serial,
				t->serial);
	}
	transfer_check_owner(t, rr, "final");
	t->at = AT_END;
}

static void transfer_take_soa(transfer_t *t, const knot_message_rr_t *rr, uint32_t serial)
{
	bool is_first = serial == t->serial, is_ixfr = t->ask->query->operation == LOOKUP_IXFR;
	switch (t->at) {
	case AT_START:
		transfer_check_owner(t, rr, "leading");
		t->serial = serial;
		t->at = AT_SECOND;
		break;
	case AT_SECOND:
		if (is_ixfr && !is_first) {
			transfer_take_change(t, serial);
		} else if (is_first) {
			transfer_take_end(t, rr);
		} else {
			t->at = AT_RECORDS;
		}
		break;
	case AT_RECORDS:
		if (is_first) {
			transfer_take_end(t, rr);
		}
		break;
	case AT_REMOVED:
		t->change_serial = serial;
		t->at = AT_ADDED;
		break;
	case AT_ADDED:
		if (is_first) { /* no change begins with the newest version */
			transfer_take_end(t, rr);
		} else {
			transfer_take_change(t, serial);
		}
		break;
	case AT_END: break;
	}
}

static void transfer_take_record(transfer_t *t, const knot_message_rr_t *rr, knot_bytes_t rdata)
{
	if (t->at == AT_END && !t->is_after_end) {
		lookup_warn(t->ask->lookup, "records follow the final SOA");
		t->is_after_end = true;
	}
	if (rr->type == KNOT_TYPE_SOA) {
		transfer_take_soa(t, rr, knot_soa_serial(rdata));
	} else if (t->at == AT_SECOND) {
		t->at = AT_RECORDS;
	}
}

/* ---- Printing ---- */

static void transfer_put_record(transfer_t *t, const knot_message_rr_t *rr, knot_bytes_t rdata)
{
	const present_style_t *style = &t->ask->query->style;
	present_text_t *out = &t->ask->lookup->out;
	switch (style->format) {
	case PRESENT_FULL: present_record_put(out, style, &t->columns, rr, rdata); break;
	case PRESENT_SHORT:
		present_rdata_put(out, style, rr->type, rdata);
		present_text_char(out, '\n');
		break;
	case PRESENT_HOST: present_host_put_record(out, style, rr, rdata); break;
	case PRESENT_JSON: break;
	}
}

static bool transfer_fail_at(transfer_t *t, present_message_t *view, const char *fault, size_t off)
{
	view->fault = fault;
	view->fault_off = view->end = off;
	ask_fail_malformed(t->ask, view);
	return false;
}

/* The records of a message's answer section, one by one. */
static bool transfer_take_message(transfer_t *t, knot_bytes_t wire)
{
	static present_message_t head; /* for its wreck */
	knot_message_t view;
	knot_message_rr_t rr;
	if (knot_message_begin(wire, &view) != KNOT_OK) {
		return false;
	}
	while (knot_message_next(&view, &rr)) {
		uint16_t len;
		if (rr.section != KNOT_SECTION_ANSWER) {
			continue;
		}
		if (knot_rdata_unpack(rr.type, wire, rr.rdata_off, rr.rdata_len,
				    (knot_mut_bytes_t){ t->rdata, sizeof(t->rdata) }, &len) != KNOT_OK) {
			(void)present_read(wire, &head);
			return transfer_fail_at(t, &head, "RDATA isn't of its type", rr.off);
		}
		knot_bytes_t rdata = { t->rdata, len };
		if (t->records == 0 && rr.type != KNOT_TYPE_SOA) {
			break;
		}
		transfer_put_record(t, &rr, rdata);
		transfer_take_record(t, &rr, rdata);
		t->records++;
	}
	if (view.failed) {
		(void)present_read(wire, &head);
		return transfer_fail_at(t, &head, head.fault != NULL ? head.fault : "a record is cut off", view.pos);
	}
	if (t->records == 0) {
		lookup_error(t->ask->lookup, "first answer record from %s isn't SOA",
				exchange_peer_text(t->ask->exchange));
		return false;
	}
	if (knot_message_is_whole(&view) || view.pos == wire.len) {
		return true;
	}
	lookup_warn(t->ask->lookup, "malformed reply packet (trailing data)");
	return true;
}

static void transfer_put_tsig(transfer_t *t, const present_message_t *message)
{
	const present_style_t *style = &t->ask->query->style;
	if (message->has_tsig && style->format == PRESENT_FULL && (style->shows & PRESENT_TSIG)) {
		present_style_t bare = *style;
		bare.shows &= ~(uint32_t)PRESENT_COMMENTS;
		present_tsig_put(&t->ask->lookup->out, &bare, message);
	}
}

/* What stands in a message's header. */
static bool transfer_check_head(transfer_t *t, unsigned rcode)
{
	char name[PRESENT_CODE_MAX];
	if (rcode != KNOT_RCODE_NOERROR) {
		lookup_error(t->ask->lookup, "server replied with error '%s'", present_rcode(rcode, name));
	}
	return rcode == KNOT_RCODE_NOERROR;
}

static bool transfer_is_over(const transfer_t *t)
{
	/* A single SOA is all that there is to say to IXFR: RFC 1995 2 and 4. */
	bool is_single = t->ask->query->operation == LOOKUP_IXFR && t->messages == 1 && t->records == 1;
	return t->at == AT_END || is_single;
}

/* ---- Messages ---- */

typedef enum { MESSAGE_GOOD, MESSAGE_BAD, MESSAGE_NONE } message_result_t;

static message_result_t transfer_step(transfer_t *t, knot_json_t *json)
{
	static present_message_t message;
	ask_t *ask = t->ask;
	knot_bytes_t wire;
	if (!ask_receive(ask, true, &wire)) {
		return MESSAGE_NONE;
	}
	bool needs_whole = json != NULL || t->messages == 0 || ask->chain != NULL;
	bool is_readable = wire.len >= KNOT_MSG_HEADER_LEN;
	if (!is_readable || needs_whole) {
		if (!present_read(wire, &message) && (t->messages == 0 || !is_readable)) {
			ask_fail_malformed(ask, &message);
			if (json != NULL) {
				ask_put_json(ask, &message, NULL, json);
			}
			return MESSAGE_BAD;
		}
	}
	if (t->messages == 0) {
		ask_check_reply(ask, &message);
		if (ask->query->style.format <= PRESENT_SHORT && (ask->query->style.shows & PRESENT_HEADER)) {
			present_transfer_put(&ask->lookup->out, &ask->query->style,
					ask->question->name.len > 0 ? ask->question->name : knot_name_root,
					ask->query->type);
		}
	}
	if (json != NULL) {
		ask_put_json(ask, &message, NULL, json);
	}
	if (!transfer_check_head(t, needs_whole ? message.rcode : load_be16(wire.data + 2) & KNOT_RCODE_MASK)) {
		if (needs_whole && message.has_tsig && message.tsig.error == KNOT_RCODE_BADTIME) {
			(void)ask_verify(ask, wire, &message, lookup_warn); /* by how much the clocks differ */
		}
		return MESSAGE_BAD;
	}
	/* What the key's owner hasn't sent is no part of the zone: it isn't shown, and nobody waits for more of it. */
	if (!ask_verify(ask, wire, &message, lookup_error) || !transfer_take_message(t, wire)) {
		return MESSAGE_BAD;
	}
	if (load_be16(wire.data + 10) > 0 && (needs_whole || present_read(wire, &message))) {
		transfer_put_tsig(t, &message);
	}
	t->messages++;
	t->len += wire.len;
	lookup_progress(ask->lookup, "records", t->records);
	if (ask->lookup->out.len >= TRANSFER_FLUSH_LEN) {
		lookup_flush(ask->lookup);
	}
	return MESSAGE_GOOD;
}

static bool transfer_all(transfer_t *t, knot_json_t *json)
{
	do {
		if (t->messages > 0 && t->ask->query->delay_ms > 0) {
			lookup_flush(t->ask->lookup);
			usleep(t->ask->query->delay_ms * 1000);
		}
		if (transfer_step(t, json) != MESSAGE_GOOD || t->ask->lookup->has_failed_output) {
			return false;
		}
	} while (!transfer_is_over(t));
	if (t->ask->chain != NULL && !knot_tsig_is_complete(t->ask->chain) && t->messages > 1) {
		lookup_error(t->ask->lookup, "the last message of the transfer isn't signed");
		return false; /* RFC 8945 5.3.1: so the ones since the last signature may be anybody's */
	}
	return true;
}

ask_result_t ask_transfer(ask_t *ask)
{
	static transfer_t t;
	bool is_json = ask->query->style.format == PRESENT_JSON;
	t.ask = ask;
	t.at = AT_START;
	t.len = t.messages = t.records = 0;
	t.is_after_end = false;
	t.columns = (present_columns_t){ 0 };
	knot_json_t own = ask_json(ask->lookup), *json = NULL;
	if (is_json) {
		json = ask->has_query_json ? &ask->json : &own;
		knot_json_open(json, ask->has_query_json ? "responseMessage" : NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	}
	bool is_good = transfer_all(&t, json);
	if (is_json) {
		knot_json_close(json);
		if (!ask->has_query_json) {
			ask->lookup->out.failed |= !knot_json_end(json);
		}
	} else if (ask->query->style.format <= PRESENT_SHORT) {
		ask_put_foot(ask, t.len, false, true, t.messages, t.records);
	}
	return is_good ? ASK_DONE : ASK_FAILED;
}
