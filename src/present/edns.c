/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/edns.h"

#include "src/present/codes.h"

#include <arpa/inet.h>
#include <stdio.h>

enum {
	EDNS_FLAG_DO = 0x8000,      /* RFC 3225 */
	EDNS_FLAG_DE = 0x4000,      /* draft-ietf-deleg */
	COOKIE_CLIENT_LEN = 8,      /* RFC 7873 4 */
	ZONEVERSION_SOA_SERIAL = 0, /* RFC 9660 3.1 */
};

/** What an option says: data of checked form, and the message that it is in. */
typedef struct {
	knot_bytes_t data;
	const present_message_t *message;
	const present_style_t *style; /* NULL: JSON */
} edns_option_t;

/** How an option is shown. False, and nothing is put: its data isn't of the option's form. */
typedef struct {
	uint16_t code;
	const char *name;      /* of a line */
	const char *json_name; /* NULL: `name` */
	bool (*put)(present_text_t *text, const edns_option_t *option);
	bool (*put_json)(
			knot_json_t *json, const char *name, const edns_option_t *option); /* NULL: put() as a string */
	bool (*put_word)(present_text_t *text, const edns_option_t *option);               /* NULL: hex */
} edns_row_t;

/* ---- One option each ---- */

static bool edns_put_nsid(present_text_t *text, const edns_option_t *option)
{
	present_text_hex(text, option->data);
	if (present_is_printable(option->data)) {
		present_text_format(text, " \"%.*s\"", (int)option->data.len, (const char *)option->data.data);
	}
	return true;
}

static bool edns_put_nsid_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	present_text_t hex = { 0 };
	present_text_hex(&hex, option->data);
	knot_json_open(json, name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_str(json, "HEX", (knot_str_t){ hex.data, hex.len });
	if (present_is_printable(option->data)) {
		knot_json_str(json, "TEXT", (knot_str_t){ (const char *)option->data.data, option->data.len });
	}
	knot_json_close(json);
	present_text_done(&hex);
	return true;
}

/* RFC 7871 6: family, source and scope prefix lengths, as many bytes of the address as the source prefix has. */
static bool edns_put_subnet(present_text_t *text, const edns_option_t *option)
{
	const uint8_t *data = option->data.data;
	uint8_t address[16] = { 0 };
	char printed[INET6_ADDRSTRLEN];
	if (option->data.len < 4) {
		return false;
	}
	uint16_t family = load_be16(data);
	size_t max = family == 1 ? 4 : family == 2 ? 16 : 0, len = option->data.len - 4;
	if (max == 0 || data[2] > 8 * max || data[3] > 8 * max || len != (data[2] + 7U) / 8) {
		return false;
	}
	memcpy(address, data + 4, len);
	present_text_format(text, "%s/%u/%u",
			inet_ntop(family == 1 ? AF_INET : AF_INET6, address, printed, sizeof(printed)), data[2],
			data[3]);
	return true;
}

static bool edns_put_expire(present_text_t *text, const edns_option_t *option)
{
	char words[KNOT_PERIOD_TEXT_MAX];
	if (option->data.len == 0) {
		present_text_str(text, "(empty)");
		return true;
	}
	if (option->data.len != 4) {
		return false;
	}
	uint32_t seconds = load_be32(option->data.data);
	present_text_number(text, seconds);
	if (seconds > 0) {
		knot_period_print(seconds, words);
		present_text_format(text, " (%s)", words);
	}
	return true;
}

static bool edns_put_expire_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	char seconds[16] = "NONE";
	if (option->data.len != 0 && option->data.len != 4) {
		return false;
	}
	if (option->data.len == 4) {
		snprintf(seconds, sizeof(seconds), "%u", load_be32(option->data.data));
	}
	knot_json_text(json, name, seconds);
	return true;
}

static bool edns_put_cookie(present_text_t *text, const edns_option_t *option)
{
	present_text_hex(text, option->data);
	return true;
}

/* Client's and server's part. */
static bool edns_put_cookie_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	present_text_t hex = { 0 };
	const size_t client = KNOT_HEX_LEN(COOKIE_CLIENT_LEN);
	if (option->data.len < COOKIE_CLIENT_LEN) {
		return false;
	}
	present_text_hex(&hex, option->data);
	knot_json_open(json, name, KNOT_JSON_LIST, KNOT_JSON_LINES);
	knot_json_str(json, NULL, (knot_str_t){ hex.data, client });
	if (option->data.len > COOKIE_CLIENT_LEN) {
		knot_json_str(json, NULL, (knot_str_t){ hex.data + client, hex.len - client });
	}
	knot_json_close(json);
	present_text_done(&hex);
	return true;
}

/* RFC 7828 3.1: nothing, or units of 100 milliseconds. */
static bool edns_put_keepalive(present_text_t *text, const edns_option_t *option)
{
	if (option->data.len == 2) {
		unsigned tenths = load_be16(option->data.data);
		present_text_format(text, "%u.%u s", tenths / 10, tenths % 10);
	} else if (option->data.len == 0) {
		present_text_str(text, "(empty)");
	}
	return option->data.len == 2 || option->data.len == 0;
}

static bool edns_put_keepalive_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	if (option->data.len == 2) {
		knot_json_uint(json, name, load_be16(option->data.data));
	} else if (option->data.len == 0) {
		knot_json_null(json, name);
	}
	return option->data.len == 2 || option->data.len == 0;
}

static bool edns_put_padding(present_text_t *text, const edns_option_t *option)
{
	present_text_format(text, "%zu B", option->data.len);
	return true;
}

static bool edns_put_padding_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	bool is_zero = true;
	for (size_t i = 0; i < option->data.len; i++) {
		is_zero &= option->data.data[i] == 0;
	}
	knot_json_open(json, name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_uint(json, "LENGTH", option->data.len);
	if (!is_zero) {
		present_text_t hex = { 0 };
		present_text_hex(&hex, option->data);
		knot_json_str(json, "HEX", (knot_str_t){ hex.data, hex.len });
		present_text_done(&hex);
	}
	knot_json_close(json);
	return true;
}

/* A name and nothing else: of CHAIN and REPORTCHANNEL. */
static bool edns_put_name(present_text_t *text, const edns_option_t *option)
{
	char printed[KNOT_NAME_TEXT_MAX];
	knot_name_t name;
	if (knot_name_read(option->data, &name) != KNOT_OK || name.len != option->data.len) {
		return false;
	}
	size_t len = option->style != NULL ? option->style->rdata.print_name(name, printed)
					   : knot_name_print(name, printed);
	present_text_put(text, printed, len);
	return true;
}

static bool edns_put_ede(present_text_t *text, const edns_option_t *option)
{
	if (option->data.len < 2) {
		return false;
	}
	unsigned code = load_be16(option->data.data);
	const char *purpose = present_ede(code);
	present_text_format(text, "%u (%s)", code, purpose != NULL ? purpose : "Unknown code");
	knot_bytes_t extra = { option->data.data + 2, option->data.len - 2 };
	if (extra.len > 0 && extra.data[extra.len - 1] == 0) { /* RFC 8914 2: senders may end it so */
		extra.len--;
	}
	if (option->data.len > 2) {
		present_text_str(text, ": '");
		present_text_foreign(text, extra);
		present_text_char(text, '\'');
	}
	return true;
}

static bool edns_put_ede_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	if (option->data.len < 2) {
		return false;
	}
	unsigned code = load_be16(option->data.data);
	const char *purpose = present_ede(code);
	knot_json_open(json, name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_uint(json, "CODE", code);
	if (purpose != NULL) {
		knot_json_text(json, "Purpose", purpose);
	}
	if (option->data.len > 2) {
		knot_json_str(json, "TEXT", (knot_str_t){ (const char *)option->data.data + 2, option->data.len - 2 });
	}
	knot_json_close(json);
	return true;
}

/* RFC 9660 3: labels of the zone's name, kind of version, version. */
static bool edns_put_zoneversion(present_text_t *text, const edns_option_t *option)
{
	const uint8_t *data = option->data.data;
	const present_message_t *message = option->message;
	char zone[KNOT_NAME_TEXT_MAX];
	if (option->data.len == 0) {
		present_text_str(text, "(empty)");
		return true;
	}
	if (option->data.len < 2 || (data[1] == ZONEVERSION_SOA_SERIAL && option->data.len != 6)) {
		return false;
	}
	if (data[1] == ZONEVERSION_SOA_SERIAL) {
		present_text_format(text, "SOA-SERIAL: %u", load_be32(data + 2));
	} else {
		present_text_format(text, "TYPE%u: ", data[1]);
		present_text_hex(text, (knot_bytes_t){ data + 2, option->data.len - 2 });
	}
	if (message->has_question && data[0] <= message->qname.label_count) {
		knot_name_print(knot_name_strip(message->qname, message->qname.label_count - data[0]), zone);
		present_text_format(text, " (%s)", zone);
	} else {
		present_text_format(text, " (%u labels)", data[0]);
	}
	return true;
}

static bool edns_put_zoneversion_json(knot_json_t *json, const char *name, const edns_option_t *option)
{
	const uint8_t *data = option->data.data;
	if (option->data.len != 6 || data[1] != ZONEVERSION_SOA_SERIAL) {
		return false;
	}
	knot_json_open(json, name, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_uint(json, "LABELS", data[0]);
	knot_json_text(json, "TYPE", "SOA-SERIAL");
	knot_json_uint(json, "VERSION", load_be32(data + 2));
	knot_json_close(json);
	return true;
}

/* ---- In a word: options whose hex isn't what people read ---- */

static bool edns_put_expire_word(present_text_t *text, const edns_option_t *option)
{
	if (option->data.len == 4) {
		present_text_number(text, load_be32(option->data.data));
	} else if (option->data.len == 0) {
		present_text_str(text, "NONE");
	}
	return option->data.len == 4 || option->data.len == 0;
}

static bool edns_put_cookie_word(present_text_t *text, const edns_option_t *option)
{
	if (option->data.len < COOKIE_CLIENT_LEN) {
		return false;
	}
	present_text_hex(text, (knot_bytes_t){ option->data.data, COOKIE_CLIENT_LEN });
	if (option->data.len > COOKIE_CLIENT_LEN) {
		present_text_char(text, ',');
		present_text_hex(text, (knot_bytes_t){ option->data.data + COOKIE_CLIENT_LEN,
						       option->data.len - COOKIE_CLIENT_LEN });
	}
	return true;
}

static bool edns_put_keepalive_word(present_text_t *text, const edns_option_t *option)
{
	if (option->data.len == 2) {
		present_text_number(text, load_be16(option->data.data));
	}
	return option->data.len == 2;
}

static bool edns_put_padding_word(present_text_t *text, const edns_option_t *option)
{
	present_text_number(text, (uint32_t)option->data.len);
	return true;
}

static bool edns_put_ede_word(present_text_t *text, const edns_option_t *option)
{
	if (option->data.len < 2) {
		return false;
	}
	present_text_number(text, load_be16(option->data.data));
	if (option->data.len > 2) {
		present_text_str(text, ",\"");
		for (size_t i = 2; i < option->data.len; i++) { /* the quote and the backslash, too */
			uint8_t c = option->data.data[i];
			if (c == '"' || c == '\\') {
				present_text_char(text, '\\');
				present_text_char(text, (char)c);
			} else if (c < ' ' || c > '~') {
				present_text_format(text, "\\%03u", c);
			} else {
				present_text_char(text, (char)c);
			}
		}
		present_text_char(text, '"');
	}
	return true;
}

/* ---- All options ---- */

static const edns_row_t edns_rows[] = {
	{ KNOT_EDNS_NSID, "NSID", NULL, edns_put_nsid, edns_put_nsid_json, NULL },
	{ KNOT_EDNS_SUBNET, "CLIENT-SUBNET", "ECS", edns_put_subnet, NULL, edns_put_subnet },
	{ KNOT_EDNS_EXPIRE, "EXPIRE", NULL, edns_put_expire, edns_put_expire_json, edns_put_expire_word },
	{ KNOT_EDNS_COOKIE, "COOKIE", NULL, edns_put_cookie, edns_put_cookie_json, edns_put_cookie_word },
	{ KNOT_EDNS_KEEPALIVE, "KEEPALIVE", NULL, edns_put_keepalive, edns_put_keepalive_json,
			edns_put_keepalive_word },
	{ KNOT_EDNS_PADDING, "PADDING", NULL, edns_put_padding, edns_put_padding_json, edns_put_padding_word },
	{ PRESENT_EDNS_CHAIN, "CHAIN", NULL, edns_put_name, NULL, edns_put_name },
	{ KNOT_EDNS_EDE, "EDE", NULL, edns_put_ede, edns_put_ede_json, edns_put_ede_word },
	{ PRESENT_EDNS_REPORTCHANNEL, "REPORTCHANNEL", NULL, edns_put_name, NULL, edns_put_name },
	{ KNOT_EDNS_ZONEVERSION, "ZONEVERSION", NULL, edns_put_zoneversion, edns_put_zoneversion_json, NULL },
};

static const edns_row_t *edns_find(uint16_t code)
{
	for (size_t i = 0; i < KNOT_LEN(edns_rows); i++) {
		if (edns_rows[i].code == code) {
			return &edns_rows[i];
		}
	}
	return NULL;
}

static void edns_put_unknown(present_text_t *text, const present_style_t *style, knot_bytes_t data)
{
	if ((style->shows & PRESENT_OPT_TEXT) && present_is_printable(data)) {
		present_text_put(text, (const char *)data.data, data.len);
	} else {
		present_text_hex(text, data);
	}
}

/* The rcode, if OPT has a part in it. */
static const char *edns_rcode(const present_message_t *message, char room[static PRESENT_CODE_MAX])
{
	return present_rcode(message->opt_ttl >> 24 != 0 ? message->rcode : KNOT_RCODE_NOERROR, room);
}

static const char *edns_begin(const present_style_t *style)
{
	return style->shows & PRESENT_COMMENTS ? ";; " : ";;";
}

void present_edns_put(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	char rcode[PRESENT_CODE_MAX];
	knot_edns_option_t found;
	present_text_format(text, "%sVersion: %u; flags: %s%s; UDP size: %u B; ext-rcode: %s\n", edns_begin(style),
			message->opt_ttl >> 16 & 0xFF, message->opt_ttl & EDNS_FLAG_DO ? "do" : "",
			!(message->opt_ttl & EDNS_FLAG_DE) ? ""
			: message->opt_ttl & EDNS_FLAG_DO  ? " de"
							   : "de",
			message->opt_payload, edns_rcode(message, rcode));
	for (size_t pos = 0; knot_edns_next(message->options, &pos, &found);) {
		const edns_row_t *row = edns_find(found.code);
		const edns_option_t option = { found.data, message, style };
		if (row == NULL) {
			present_text_format(text, ";; Option (%u): ", found.code);
			edns_put_unknown(text, style, found.data);
		} else {
			present_text_format(text, ";; %s: ", row->name);
			if (!row->put(text, &option)) {
				present_text_hex(text, found.data);
				present_text_str(text, found.data.len > 0 ? " (malformed)" : "(malformed)");
			}
		}
		present_text_char(text, '\n');
	}
}

void present_edns_put_line(present_text_t *text, const present_style_t *style, const present_message_t *message)
{
	char rcode[PRESENT_CODE_MAX];
	knot_edns_option_t found;
	present_text_format(text, "%sVersion=%u FLAGS=", edns_begin(style), message->opt_ttl >> 16 & 0xFF);
	const char *comma = "";
	for (unsigned bit = 0; bit < 16; bit++) {
		if (message->opt_ttl & 0x8000U >> bit) {
			present_text_str(text, comma);
			comma = ",";
			if (bit < 2) {
				present_text_str(text, bit == 0 ? "DO" : "DE");
			} else {
				present_text_format(text, "BIT%u", bit);
			}
		}
	}
	present_text_format(text, "%s RCODE=%s UDPSIZE=%u", *comma == '\0' ? "0" : "",
			present_rcode(message->rcode, rcode), message->opt_payload);
	for (size_t pos = 0; knot_edns_next(message->options, &pos, &found);) {
		const edns_row_t *row = edns_find(found.code);
		const edns_option_t option = { found.data, message, style };
		if (row == NULL) {
			present_text_format(text, " OPT%u=", found.code);
		} else {
			present_text_format(text, " %s=", row->json_name != NULL ? row->json_name : row->name);
		}
		if (row == NULL || row->put_word == NULL || !row->put_word(text, &option)) {
			present_text_hex(text, found.data);
		}
	}
	present_text_char(text, '\n');
}

static void edns_put_flags_json(knot_json_t *json, uint32_t opt_ttl)
{
	knot_json_open(json, "FLAGS", KNOT_JSON_LIST, KNOT_JSON_LINES);
	for (unsigned bit = 0; bit < 16; bit++) {
		char name[8];
		snprintf(name, sizeof(name), "BIT%u", bit);
		if (opt_ttl & 0x8000U >> bit) {
			knot_json_text(json, NULL, bit == 0 ? "DO" : bit == 1 ? "DE" : name);
		}
	}
	knot_json_close(json);
}

/* As hex, under its number, or under its name if that isn't what the option has. */
static void edns_put_hex_json(knot_json_t *json, const char *name, knot_bytes_t data)
{
	present_text_t hex = { 0 };
	present_text_hex(&hex, data);
	knot_json_str(json, name, (knot_str_t){ hex.data, hex.len });
	present_text_done(&hex);
}

static void edns_put_option_json(knot_json_t *json, const present_message_t *message, const knot_edns_option_t *found)
{
	const edns_row_t *row = edns_find(found->code);
	const edns_option_t option = { found->data, message, NULL };
	char number[16];
	snprintf(number, sizeof(number), "OPT%u", found->code);
	const char *name = row == NULL ? number : row->json_name != NULL ? row->json_name : row->name;
	if (row != NULL && row->put_json != NULL) {
		if (!row->put_json(json, name, &option)) {
			edns_put_hex_json(json, name, found->data);
		}
		return;
	}
	present_text_t text = { 0 };
	if (row != NULL && row->put(&text, &option)) {
		knot_json_str(json, name, (knot_str_t){ text.data, text.len });
	} else {
		edns_put_hex_json(json, name, found->data);
	}
	present_text_done(&text);
}

void present_edns_put_json(knot_json_t *json, const present_message_t *message)
{
	char rcode[PRESENT_CODE_MAX];
	knot_edns_option_t found;
	knot_json_open(json, "EDNS", KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_uint(json, "Version", message->opt_ttl >> 16 & 0xFF);
	edns_put_flags_json(json, message->opt_ttl);
	knot_json_text(json, "RCODE", present_rcode(message->rcode, rcode));
	knot_json_uint(json, "UDPSIZE", message->opt_payload);
	for (size_t pos = 0; knot_edns_next(message->options, &pos, &found);) {
		edns_put_option_json(json, message, &found);
	}
	knot_json_close(json);
}
