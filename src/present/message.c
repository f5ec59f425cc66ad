/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/message.h"

#include "src/present/codes.h"
#include "src/present/edns.h"
#include "libknot/msg/sign.h"
#include "libknot/text/rr_text.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Records ---- */

static size_t message_pad_owner(const present_style_t *style, knot_name_t owner, char *ret_text)
{
	size_t len = style->rdata.print_name(owner, ret_text);
	return knot_rr_pad_owner(ret_text, len);
}

static void message_put_owner(
		present_text_t *text, const present_style_t *style, present_columns_t *columns, knot_name_t owner)
{
	if (columns->owner_len != owner.len || memcmp(columns->owner_wire, owner.wire, owner.len) != 0) {
		memcpy(columns->owner_wire, owner.wire, owner.len);
		columns->owner_len = owner.len;
		columns->owner_text_len = message_pad_owner(style, owner, columns->owner_text);
	}
	present_text_put(text, columns->owner_text, columns->owner_text_len);
}

static size_t message_print_type(const present_style_t *style, uint16_t type, char ret_text[static KNOT_TYPE_TEXT_MAX])
{
	return style->rdata.is_generic ? (size_t)snprintf(ret_text, KNOT_TYPE_TEXT_MAX, "TYPE%u", type)
				       : knot_rrtype_print(type, ret_text);
}

static void message_put_type(
		present_text_t *text, const present_style_t *style, present_columns_t *columns, uint16_t type)
{
	if (columns->type_len == 0 || columns->type != type) {
		columns->type = type;
		columns->type_len = (uint16_t)message_print_type(style, type, columns->type_text);
	}
	present_text_put(text, columns->type_text, columns->type_len);
}

static char message_gap(const present_style_t *style)
{
	return style->rdata.is_multiline ? ' ' : '\t';
}

static void message_put_class(present_text_t *text, uint16_t rrclass)
{
	char name[KNOT_TYPE_TEXT_MAX];
	if (rrclass == KNOT_CLASS_IN) { /* of each record of a transfer */
		present_text_put(text, "IN", 2);
		return;
	}
	present_text_put(text, name, knot_rrclass_print(rrclass, name));
}

void present_rdata_put(present_text_t *text, const present_style_t *style, uint16_t type, knot_bytes_t rdata)
{
	size_t max = rdata.len < 256 ? 4096 : KNOT_RDATA_TEXT_MAX;
	char *at = present_text_room(text, max);
	size_t len = at != NULL ? knot_rdata_print_as(type, rdata, &style->rdata, at, max) : 0;
	if (at != NULL && len == 0 && max < KNOT_RDATA_TEXT_MAX) { /* a bitmap of a few bytes may name many types */
		at = present_text_room(text, KNOT_RDATA_TEXT_MAX);
		len = at != NULL ? knot_rdata_print_as(type, rdata, &style->rdata, at, KNOT_RDATA_TEXT_MAX) : 0;
	}
	text->len += len;
}

void present_record_put(present_text_t *text, const present_style_t *style, present_columns_t *columns,
		const knot_message_rr_t *rr, knot_bytes_t rdata)
{
	const char gap = message_gap(style);
	message_put_owner(text, style, columns, rr->owner);
	if (style->shows & PRESENT_TTL) {
		present_text_number(text, rr->ttl);
		present_text_char(text, gap);
	}
	if (style->shows & PRESENT_CLASS) {
		message_put_class(text, rr->class);
		present_text_char(text, gap);
	}
	message_put_type(text, style, columns, rr->type);
	if (!present_is_empty(rr)) {
		present_text_char(text, gap);
		present_rdata_put(text, style, rr->type, rdata);
	}
	present_text_char(text, '\n');
}

/* ---- Sections ---- */

/* What sections are called where they are counted, and above them; UPDATE has other ones (RFC 2136 2). */
static const struct {
	const char *count, *heading;
} message_sections[2][4] = {
	{ { "QUERY", "QUESTION SECTION" }, { "ANSWER", "ANSWER SECTION" }, { "AUTHORITY", "AUTHORITY SECTION" },
			{ "ADDITIONAL", "ADDITIONAL SECTION" } },
	{ { "ZONE", "ZONE SECTION" }, { "PREREQ", "PREREQUISITE SECTION" }, { "UPDATE", "UPDATE SECTION" },
			{ "ADDITIONAL", "ADDITIONAL DATA" } },
};

static bool message_is_update(uint16_t flags)
{
	return present_flags_opcode(flags) == KNOT_OPCODE_UPDATE;
}

static void message_put_heading(present_text_t *text, const present_style_t *style, const char *name)
{
	if (style->shows & PRESENT_COMMENTS) {
		present_text_format(text, "\n;; %s:\n", name);
	}
}

static const uint32_t message_section_bits[] = {
	[KNOT_SECTION_QUESTION] = PRESENT_QUESTION,
	[KNOT_SECTION_ANSWER] = PRESENT_ANSWER,
	[KNOT_SECTION_AUTHORITY] = PRESENT_AUTHORITY,
	[KNOT_SECTION_ADDITIONAL] = PRESENT_ADDITIONAL,
};

static void message_put_question(present_text_t *text, const present_style_t *style, const knot_message_rr_t *rr)
{
	char owner[KNOT_NAME_TEXT_MAX + 32], type[KNOT_TYPE_TEXT_MAX];
	const char gap = message_gap(style);
	present_text_str(text, style->shows & PRESENT_COMMENTS ? ";; " : ";;");
	present_text_put(text, owner, message_pad_owner(style, rr->owner, owner));
	if (style->shows & PRESENT_TTL) { /* the column stays empty */
		present_text_char(text, gap);
	}
	if (style->shows & PRESENT_CLASS) {
		message_put_class(text, rr->class);
		present_text_char(text, gap);
	}
	present_text_put(text, type, message_print_type(style, rr->type, type));
	present_text_char(text, '\n');
}

/* The records of all sections, up to the end or to the message's fault. */
static void message_put_sections(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	static __thread uint8_t rdata[KNOT_RDATA_MAX];
	knot_message_t view;
	knot_message_rr_t rr;
	present_columns_t columns = { 0 };
	int headed = -1;
	if (knot_message_begin(message->wire, &view) != KNOT_OK) {
		return;
	}
	while (view.pos < message->end && knot_message_next(&view, &rr)) {
		uint16_t len = 0;
		bool is_apart = rr.type == KNOT_TYPE_OPT || rr.type == KNOT_TYPE_TSIG;
		bool is_question = rr.section == KNOT_SECTION_QUESTION;
		if (!(style->shows & message_section_bits[rr.section]) || (is_apart && !is_question)) {
			continue;
		}
		if (headed != (int)rr.section) {
			headed = (int)rr.section;
			message_put_heading(text, style,
					message_sections[message_is_update(message->flags)][rr.section].heading);
		}
		if (is_question) {
			message_put_question(text, style, &rr);
		} else if (present_is_empty(&rr) ||
				knot_rdata_unpack(rr.type, message->wire, rr.rdata_off, rr.rdata_len,
						(knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len) == KNOT_OK) {
			present_record_put(text, style, &columns, &rr, (knot_bytes_t){ rdata, len });
		}
	}
}

/* ---- Header, TSIG ---- */

enum { MESSAGE_FLAGS = 0xFFFF & ~(KNOT_OPCODE_MASK | KNOT_RCODE_MASK) };

static void message_put_flags(present_text_t *text, uint16_t flags)
{
	static const struct {
		uint16_t bit;
		const char *name;
	} names[] = {
		{ KNOT_FLAG_QR, " qr" },
		{ KNOT_FLAG_AA, " aa" },
		{ KNOT_FLAG_TC, " tc" },
		{ KNOT_FLAG_RD, " rd" },
		{ KNOT_FLAG_RA, " ra" },
		{ 0x0040, " z" },
		{ KNOT_FLAG_AD, " ad" },
		{ KNOT_FLAG_CD, " cd" },
	};
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		present_text_str(text, flags & names[i].bit ? names[i].name : "");
	}
}

const char *present_status(const present_message_t *message, char ret_text[static PRESENT_CODE_MAX])
{
	bool is_of_tsig = message->has_tsig && (message->flags & KNOT_RCODE_MASK) == KNOT_RCODE_NOTAUTH &&
			  message->rcode == message->tsig.error;
	return is_of_tsig ? present_tsig_error(message->rcode) : present_rcode(message->rcode, ret_text);
}

static void message_put_header(present_text_t *text, const present_message_t *message)
{
	char opcode[PRESENT_CODE_MAX], rcode[PRESENT_CODE_MAX];
	present_text_format(text, ";; ->>HEADER<<- opcode: %s; status: %s; id: %u\n;; Flags:%s",
			present_opcode(present_flags_opcode(message->flags), opcode), present_status(message, rcode),
			message->id, message->flags & MESSAGE_FLAGS ? "" : " ");
	message_put_flags(text, message->flags);
	for (unsigned i = 0; i < 4; i++) {
		present_text_format(text, "; %s: %u", message_sections[message_is_update(message->flags)][i].count,
				message->counts[i]);
	}
	present_text_char(text, '\n');
}

static void message_put_base64(present_text_t *text, knot_bytes_t bytes)
{
	if (bytes.len > 0) {
		present_text_char(text, ' ');
		char *at = present_text_room(text, KNOT_BASE64_LEN(bytes.len));
		text->len += at != NULL ? knot_base64_print(bytes, at) : 0;
	}
}

static bool message_has_server_time(const knot_tsig_t *tsig)
{
	return tsig->error == KNOT_RCODE_BADTIME && tsig->other.len == KNOT_TSIG_TIME_LEN;
}

uint64_t present_tsig_time(const knot_tsig_t *tsig)
{
	const uint8_t *other = tsig->other.data;
	return message_has_server_time(tsig) ? (uint64_t)load_be16(other) << 32 | load_be32(other + 2) : tsig->time_s;
}

void present_tsig_put_rdata(present_text_t *text, const present_style_t *style, const knot_tsig_t *tsig)
{
	const char *line = style->rdata.is_multiline ? "\n\t\t\t\t" : " ";
	char *at = present_text_room(text, KNOT_NAME_TEXT_MAX);
	text->len += at != NULL ? knot_name_print(tsig->algorithm, at) : 0;
	present_text_format(text, " %" PRIu64 " %u%s%s%zu", tsig->time_s, tsig->fudge_s,
			style->rdata.is_multiline ? " (" : "", line, tsig->mac.len);
	message_put_base64(text, tsig->mac);
	present_text_format(
			text, "%s%u %s %zu", line, tsig->original_id, present_tsig_error(tsig->error), tsig->other.len);
	if (message_has_server_time(tsig)) {
		present_text_format(text, " %" PRIu64, present_tsig_time(tsig)); /* as the time signed */
	} else {
		message_put_base64(text, tsig->other);
	}
	if (style->rdata.is_multiline) {
		present_text_format(text, "%s)", line);
	}
}

void present_tsig_put(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	const knot_tsig_t *tsig = &message->tsig;
	char name[KNOT_NAME_TEXT_MAX + 32], type[KNOT_TYPE_TEXT_MAX];
	const char gap = message_gap(style);
	message_put_heading(text, style, "TSIG PSEUDOSECTION");
	present_text_put(text, name, message_pad_owner(style, tsig->key, name));
	if (style->shows & PRESENT_TTL) {
		present_text_format(text, "0%c", gap);
	}
	if (style->shows & PRESENT_CLASS) {
		present_text_format(text, "ANY%c", gap);
	}
	present_text_put(text, type, message_print_type(style, KNOT_TYPE_TSIG, type));
	present_text_char(text, gap);
	if (style->rdata.is_generic) {
		present_rdata_put(text, style, KNOT_TYPE_TSIG, message->tsig_rdata);
	} else {
		present_tsig_put_rdata(text, style, tsig);
	}
	present_text_char(text, '\n');
}

/* ---- The whole ---- */

/* What comes before the sections. */
static void message_put_head(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	if (style->shows & PRESENT_HEADER) {
		message_put_header(text, message);
	}
	if ((style->shows & PRESENT_EDNS) && message->has_opt) {
		message_put_heading(text, style, "EDNS PSEUDOSECTION");
		if (style->shows & PRESENT_OPT_PRESENT) {
			present_edns_put_line(text, style, message);
		} else {
			present_edns_put(text, style, message);
		}
	}
}

static void message_put_tail(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	if ((style->shows & PRESENT_TSIG) && message->has_tsig) {
		present_tsig_put(text, style, message);
	}
}

static void message_put_full(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	message_put_head(text, style, message);
	message_put_sections(text, style, message);
	message_put_tail(text, style, message);
}

static void message_put_short(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	static __thread uint8_t rdata[KNOT_RDATA_MAX];
	knot_message_t view;
	knot_message_rr_t rr;
	uint16_t len;
	if (knot_message_begin(message->wire, &view) != KNOT_OK) {
		return;
	}
	while (view.pos < message->end && knot_message_next(&view, &rr) && rr.section <= KNOT_SECTION_ANSWER) {
		if (rr.section == KNOT_SECTION_ANSWER &&
				knot_rdata_unpack(rr.type, message->wire, rr.rdata_off, rr.rdata_len,
						(knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len) == KNOT_OK) {
			present_rdata_put(text, style, rr.type, (knot_bytes_t){ rdata, len });
			present_text_char(text, '\n');
		}
	}
}

void present_message_put(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	if (style->format == PRESENT_SHORT) {
		message_put_head(text, style, message);
		message_put_short(text, style, message);
		message_put_tail(text, style, message);
	} else {
		message_put_full(text, style, message);
	}
}

void present_transfer_put(present_text_t *text, const present_style_t *style, knot_name_t zone, uint16_t qtype)
{
	char name[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	style->rdata.print_name(zone, name);
	knot_rrtype_print(qtype, type);
	present_text_format(text, ";; %s for %s\n", type, name);
}

void present_foot_put(present_text_t *text, const present_foot_t *foot)
{
	char when[64];
	if (strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", &foot->when) == 0) {
		when[0] = '\0';
	}
	present_text_format(text, "%s;; %s %zu B", foot->is_transfer ? "" : "\n", foot->is_query ? "Sent" : "Received",
			foot->len);
	if (foot->messages > 0) {
		present_text_format(text, " (%zu messages, %zu records)", foot->messages, foot->records);
	}
	present_text_char(text, '\n');
	present_text_format(text, ";; Time %s\n;; %s %s in %.1f ms\n", when, foot->is_query ? "To" : "From", foot->peer,
			foot->elapsed_ms);
}

/* ---- What can't be read ---- */

/* As comments, whatever the lines are. */
static void message_put_comments(present_text_t *text, const present_text_t *lines)
{
	for (size_t i = 0; i < lines->len; i++) {
		bool begins = i == 0 || lines->data[i - 1] == '\n';
		if (begins && lines->data[i] != ';' && lines->data[i] != '\n') {
			present_text_str(text, ";; ");
		}
		present_text_char(text, lines->data[i]);
	}
}

static void message_put_dump(present_text_t *text, knot_bytes_t wire, size_t from)
{
	enum { LINE_BYTES = 16 };
	if (from == wire.len) {
		present_text_format(text, ";; %04zx: end of message\n", from);
	}
	for (size_t i = from; i < wire.len; i += LINE_BYTES) {
		present_text_format(text, ";; %04zx:", i);
		for (size_t k = i; k < wire.len && k < i + LINE_BYTES; k++) {
			present_text_format(text, " %02X", wire.data[k]);
		}
		present_text_char(text, '\n');
	}
}

void present_wreck_put(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	present_style_t all = *style;
	present_text_t good = { 0 };
	all.format = PRESENT_FULL;
	all.shows = PRESENT_ALL | PRESENT_COMMENTS | PRESENT_CLASS | PRESENT_TTL;
	all.rdata.is_multiline = false;
	present_text_format(text, ";; Malformed message of %zu B, from byte %zu on: %s\n", message->wire.len,
			message->end, message->fault);
	if (message->wire.len >= KNOT_MSG_HEADER_LEN) {
		message_put_full(&good, &all, message);
		message_put_comments(text, &good);
		present_text_char(text, '\n');
	}
	message_put_dump(text, message->wire, message->end);
	text->failed |= good.failed;
	present_text_done(&good);
}
