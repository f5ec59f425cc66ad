/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/json.h"

#include "src/present/edns.h"
#include "src/present/message.h"
#include "src/present/text.h"

#include <stdio.h>

/* Room for what one record needs as text: allocated with the first one. */
typedef struct {
	const present_style_t *style;
	present_style_t plain; /* of RDATA: on one line, whole */
	present_text_t text;
	uint8_t rdata[KNOT_RDATA_MAX];
} json_room_t;

static void json_put_name(knot_json_t *json, const char *member, const present_style_t *style, knot_name_t name)
{
	char text[KNOT_NAME_TEXT_MAX];
	size_t len = style->rdata.print_name(name, text);
	knot_json_str(json, member, (knot_str_t){ text, len });
}

static void json_put_type(knot_json_t *json, const char *number_member, const char *name_member, uint16_t type)
{
	char name[KNOT_TYPE_TEXT_MAX];
	knot_rrtype_print(type, name);
	knot_json_uint(json, number_member, type);
	knot_json_text(json, name_member, name);
}

static void json_put_class(knot_json_t *json, const char *number_member, const char *name_member, uint16_t rrclass)
{
	char name[KNOT_TYPE_TEXT_MAX];
	knot_rrclass_print(rrclass, name);
	knot_json_uint(json, number_member, rrclass);
	knot_json_text(json, name_member, name);
}

static void json_put_hex(knot_json_t *json, const char *member, present_text_t *text, knot_bytes_t bytes)
{
	text->len = 0;
	present_text_hex(text, bytes);
	knot_json_str(json, member, (knot_str_t){ text->data, text->len });
}

static void json_put_rdata(knot_json_t *json, json_room_t *room, uint16_t type, knot_bytes_t rdata)
{
	char member[8 + KNOT_TYPE_TEXT_MAX] = "rdata";
	knot_rrtype_print(type, member + strlen(member));
	if (strncmp(member, "rdataTYPE", 9) == 0) { /* nothing that hex doesn't say */
		return;
	}
	char *at = present_text_room(&room->text, KNOT_RDATA_TEXT_MAX);
	size_t len = at != NULL ? knot_rdata_print_as(type, rdata, &room->plain.rdata, at, KNOT_RDATA_TEXT_MAX) : 0;
	knot_json_str(json, member, (knot_str_t){ at, len });
}

static void json_put_record(
		knot_json_t *json, json_room_t *room, const present_message_t *message, const knot_message_rr_t *rr)
{
	uint16_t len = 0;
	bool is_opt = rr->type == KNOT_TYPE_OPT;
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	json_put_name(json, "NAME", room->style, rr->owner);
	json_put_type(json, "TYPE", "TYPEname", rr->type);
	if (is_opt) {
		knot_json_uint(json, "CLASS", rr->class);
	} else {
		json_put_class(json, "CLASS", "CLASSname", rr->class);
	}
	knot_json_uint(json, "TTL", rr->ttl);
	bool is_good = rr->rdata_len > 0 &&
		       knot_rdata_unpack(rr->type, message->wire, rr->rdata_off, rr->rdata_len,
				       (knot_mut_bytes_t){ room->rdata, sizeof(room->rdata) }, &len) == KNOT_OK;
	knot_bytes_t rdata = is_good ? (knot_bytes_t){ room->rdata, len }
				     : (knot_bytes_t){ message->wire.data + rr->rdata_off, rr->rdata_len };
	room->text.len = 0;
	if (rr->type == KNOT_TYPE_TSIG && message->has_tsig && rr->off == message->tsig.off) {
		present_tsig_put_rdata(&room->text, &room->plain, &message->tsig);
		knot_json_str(json, "rdataTSIG", (knot_str_t){ room->text.data, room->text.len });
	} else if (is_good && !is_opt) {
		json_put_rdata(json, room, rr->type, rdata);
	}
	knot_json_uint(json, "RDLENGTH", rdata.len);
	if (rdata.len > 0) {
		json_put_hex(json, "RDATAHEX", &room->text, rdata);
	}
	knot_json_close(json);
}

/* Header and question. */
static void json_put_head(knot_json_t *json, const present_style_t *style, const present_message_t *message)
{
	static const struct {
		const char *name;
		uint16_t bit;
	} flags[] = { { "AA", KNOT_FLAG_AA }, { "TC", KNOT_FLAG_TC }, { "RD", KNOT_FLAG_RD }, { "RA", KNOT_FLAG_RA },
		{ "AD", KNOT_FLAG_AD }, { "CD", KNOT_FLAG_CD } };
	static const char *const counts[] = { "QDCOUNT", "ANCOUNT", "NSCOUNT", "ARCOUNT" };
	knot_json_uint(json, "ID", message->id);
	knot_json_uint(json, "QR", (message->flags & KNOT_FLAG_QR) != 0);
	knot_json_uint(json, "Opcode", present_flags_opcode(message->flags));
	for (size_t i = 0; i < KNOT_LEN(flags); i++) {
		knot_json_uint(json, flags[i].name, (message->flags & flags[i].bit) != 0);
	}
	knot_json_uint(json, "RCODE", message->flags & KNOT_RCODE_MASK);
	for (size_t i = 0; i < KNOT_LEN(counts); i++) {
		knot_json_uint(json, counts[i], message->counts[i]);
	}
	if (message->has_question) {
		json_put_name(json, "QNAME", style, message->qname);
		json_put_type(json, "QTYPE", "QTYPEname", message->qtype);
		json_put_class(json, "QCLASS", "QCLASSname", message->qclass);
	}
}

static void json_put_sections(knot_json_t *json, const present_style_t *style, const present_message_t *message)
{
	static const char *const names[] = { NULL, "answerRRs", "authorityRRs", "additionalRRs" };
	static __thread json_room_t room;
	knot_message_t view;
	knot_message_rr_t rr;
	knot_section_t open = KNOT_SECTION_QUESTION;
	room.style = style;
	room.plain = (present_style_t){ .rdata = { .print_name = style->rdata.print_name } };
	if (knot_message_begin(message->wire, &view) != KNOT_OK) {
		return;
	}
	while (view.pos < message->end && knot_message_next(&view, &rr)) {
		if (rr.section == KNOT_SECTION_QUESTION || (message->has_opt && rr.off == message->opt_off)) {
			continue;
		}
		if (rr.section != open) {
			if (open != KNOT_SECTION_QUESTION) {
				knot_json_close(json);
			}
			open = rr.section;
			knot_json_open(json, names[open], KNOT_JSON_LIST, KNOT_JSON_LINES);
		}
		json_put_record(json, &room, message, &rr);
	}
	if (open != KNOT_SECTION_QUESTION) {
		knot_json_close(json);
	}
	present_text_done(&room.text);
}

void present_json_put(knot_json_t *json, const char *name, const present_style_t *style,
		const present_message_t *message, const struct tm *when, time_t when_s)
{
	char date[64];
	if (strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S%z", when) == 0) {
		date[0] = '\0';
	}
	knot_json_open(json, name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "dateString", date);
	knot_json_int(json, "dateSeconds", (int64_t)when_s);
	knot_json_uint(json, "msgLength", message->wire.len);
	if (message->wire.len >= KNOT_MSG_HEADER_LEN) {
		json_put_head(json, style, message);
		json_put_sections(json, style, message);
	}
	if (message->has_opt) {
		present_edns_put_json(json, message);
	}
	if (message->fault != NULL || message->end < message->wire.len) {
		present_text_t hex = { 0 };
		json_put_hex(json, "messageOctetsHEX", &hex, message->wire);
		present_text_done(&hex);
	}
	knot_json_close(json);
}
