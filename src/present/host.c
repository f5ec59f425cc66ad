/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/host.h"

#include "src/present/codes.h"
#include "src/present/message.h"

/* Types that have words of their own; all others: "has TYPE record". */
static const char *host_words(uint16_t type)
{
	static const struct {
		uint16_t type;
		const char *words;
	} rows[] = {
		{ KNOT_TYPE_A, "has IPv4 address" },
		{ KNOT_TYPE_NS, "nameserver is" },
		{ KNOT_TYPE_CNAME, "is an alias for" },
		{ KNOT_TYPE_SOA, "start of authority is" },
		{ KNOT_TYPE_PTR, "points to" },
		{ KNOT_TYPE_MX, "mail is handled by" },
		{ KNOT_TYPE_TXT, "description is" },
		{ KNOT_TYPE_AAAA, "has IPv6 address" },
		{ 29 /* LOC */, "location is" },
		{ KNOT_TYPE_DS, "delegation signature is" },
		{ 44 /* SSHFP */, "SSH fingerprint is" },
		{ KNOT_TYPE_RRSIG, "RR set signature is" },
		{ KNOT_TYPE_DNSKEY, "DNSSEC key is" },
		{ 52 /* TLSA */, "has TLS certificate" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (rows[i].type == type) {
			return rows[i].words;
		}
	}
	return NULL;
}

static void host_put_name(present_text_t *text, const present_style_t *style, knot_name_t name)
{
	char *at = present_text_room(text, KNOT_NAME_TEXT_MAX);
	text->len += at != NULL ? style->rdata.print_name(name, at) : 0;
}

void present_host_put_record(
		present_text_t *text, const present_style_t *style, const knot_message_rr_t *rr, knot_bytes_t rdata)
{
	const char *words = host_words(rr->type);
	char type[KNOT_TYPE_TEXT_MAX];
	host_put_name(text, style, rr->owner);
	if (words != NULL) {
		present_text_char(text, ' ');
		present_text_str(text, words);
	} else {
		knot_rrtype_print(rr->type, type);
		present_text_format(text, " has %s record", type);
	}
	present_text_char(text, ' ');
	present_rdata_put(text, style, rr->type, rdata);
	present_text_char(text, '\n');
}

/* There is no answer: why. */
static void host_put_nothing(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	char type[KNOT_TYPE_TEXT_MAX], rcode[PRESENT_CODE_MAX];
	knot_rrtype_print(message->qtype, type);
	present_text_str(text, "Host ");
	host_put_name(text, style, message->has_question ? message->qname : knot_name_root);
	if (message->rcode == KNOT_RCODE_NOERROR) {
		present_text_format(text, " has no %s record\n", type);
	} else {
		present_text_format(text, " type %s error: %s\n", type, present_rcode(message->rcode, rcode));
	}
}

void present_host_put(
		present_text_t *text, const present_style_t *style, const present_message_t *message, bool hides_alias)
{
	static __thread uint8_t rdata[KNOT_RDATA_MAX];
	knot_message_t view;
	knot_message_rr_t rr;
	uint16_t len;
	if (message->counts[KNOT_SECTION_ANSWER] == 0) {
		host_put_nothing(text, style, message);
		return;
	}
	if (knot_message_begin(message->wire, &view) != KNOT_OK) {
		return;
	}
	while (view.pos < message->end && knot_message_next(&view, &rr) && rr.section <= KNOT_SECTION_ANSWER) {
		bool is_hidden = hides_alias && rr.type == KNOT_TYPE_CNAME;
		if (rr.section == KNOT_SECTION_ANSWER && !is_hidden &&
				knot_rdata_unpack(rr.type, message->wire, rr.rdata_off, rr.rdata_len,
						(knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len) == KNOT_OK) {
			present_host_put_record(text, style, &rr, (knot_bytes_t){ rdata, len });
		}
	}
}
