/* SPDX-License-Identifier: BSD-2-Clause */
/* RDATA to presentation form, by the rows of rr/rrtype.def. */
#include <arpa/inet.h>
#include <stdio.h>

#include "libknot/base/encode.h"
#include "libknot/rr/rrdesc.h"
#include "libknot/text/rdata_text.h"

/* Text is written here; `failed` stays set after the first thing that did not fit or has no presentation form. */
typedef struct {
	const knot_rdata_style_t *style;
	bool is_open; /* of several lines: the parenthesis */
	char *text;
	size_t len, max; /* max without the NUL */
	bool failed;
	bool has_no_form; /* the reason is not the room: only \# can say it */
} printer_t;

/* Where the lines of one record begin, and how many digits stand on each. */
#define PRINT_INDENT "\n\t\t\t\t"
enum { PRINT_LINE_DIGITS = 40 };

static char *print_room(printer_t *p, size_t len)
{
	if (p->failed || len > p->max - p->len) {
		p->failed = true;
		return NULL;
	}
	char *at = p->text + p->len;
	p->len += len;
	return at;
}

static void print_put_bytes(printer_t *p, const char *text, size_t len)
{
	char *at = print_room(p, len);
	if (at != NULL) {
		memcpy(at, text, len);
	}
}

static void put_char(printer_t *p, char c)
{
	print_put_bytes(p, &c, 1);
}

static void put_str(printer_t *p, const char *text)
{
	print_put_bytes(p, text, strlen(text));
}

static void print_put_number(printer_t *p, uint32_t value)
{
	char digits[10];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	print_put_bytes(p, digits + at, sizeof(digits) - at);
}

static void put_hex(printer_t *p, const uint8_t *bytes, size_t len)
{
	char *at = print_room(p, KNOT_HEX_LEN(len));
	if (at != NULL) {
		knot_hex_print((knot_bytes_t){ bytes, len }, KNOT_HEX_UPPER, at);
	}
}

static size_t print_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Digits at the end of a record: lines of 40 where there are several lines. */
static void put_hex_lines(printer_t *p, const uint8_t *bytes, size_t len)
{
	enum { LINE_BYTES = PRINT_LINE_DIGITS / 2 };
	size_t step = p->style->is_multiline ? LINE_BYTES : len;
	for (size_t i = 0; i < len && !p->failed; i += step) {
		if (i > 0) {
			put_str(p, PRINT_INDENT);
		}
		put_hex(p, bytes + i, print_least(step, len - i));
	}
}

static void put_base64(printer_t *p, const uint8_t *bytes, size_t len)
{
	char *at = print_room(p, KNOT_BASE64_LEN(len));
	if (at != NULL) {
		knot_base64_print((knot_bytes_t){ bytes, len }, at);
	}
}

static void put_base64_lines(printer_t *p, const uint8_t *bytes, size_t len)
{
	enum { LINE_BYTES = PRINT_LINE_DIGITS / 4 * 3 };
	size_t step = p->style->is_multiline ? LINE_BYTES : len;
	for (size_t i = 0; i < len && !p->failed; i += step) {
		if (i > 0) {
			put_str(p, PRINT_INDENT);
		}
		put_base64(p, bytes + i, print_least(step, len - i));
	}
}

static void put_base32hex(printer_t *p, const uint8_t *bytes, size_t len)
{
	char *at = print_room(p, KNOT_BASE32HEX_LEN(len));
	if (at != NULL) {
		knot_base32hex_print((knot_bytes_t){ bytes, len }, at);
	}
}

static void put_escaped(printer_t *p, uint8_t c)
{
	char text[4] = { '\\', (char)('0' + c / 100), (char)('0' + c / 10 % 10), (char)('0' + c % 10) };
	print_put_bytes(p, text, sizeof(text));
}

/* The inside of a quoted text. */
static void print_put_text(printer_t *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && !p->failed; i++) {
		uint8_t c = bytes[i];
		if (c < ' ' || c > '~') {
			put_escaped(p, c);
			continue;
		}
		if (c == '"' || c == '\\') {
			put_char(p, '\\');
		}
		put_char(p, (char)c);
	}
}

/* A text that stands unquoted: what would end or change a word is escaped. */
static void put_word(printer_t *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && !p->failed; i++) {
		if (bytes[i] <= ' ' || bytes[i] > '~' || strchr("\"();\\", bytes[i]) != NULL) {
			put_escaped(p, bytes[i]);
		} else {
			put_char(p, (char)bytes[i]);
		}
	}
}

static void put_quoted(printer_t *p, const uint8_t *bytes, size_t len)
{
	put_char(p, '"');
	print_put_text(p, bytes, len);
	put_char(p, '"');
}

static void put_name(printer_t *p, const uint8_t *wire)
{
	char text[KNOT_NAME_TEXT_MAX];
	print_put_bytes(p, text, p->style->print_name(knot_name_of(wire), text));
}

static void put_type(printer_t *p, uint16_t type)
{
	char text[KNOT_TYPE_TEXT_MAX];
	print_put_bytes(p, text, knot_rrtype_print(type, text));
}

/* inet_ntop() makes it by printf(). */
static void put_ipv4(printer_t *p, const uint8_t *address)
{
	for (unsigned i = 0; i < 4; i++) {
		if (i > 0) {
			put_char(p, '.');
		}
		print_put_number(p, address[i]);
	}
}

static void put_address(printer_t *p, int family, const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];
	if (family == AF_INET) {
		put_ipv4(p, address);
		return;
	}
	put_str(p, inet_ntop(family, address, text, sizeof(text)));
}

static void put_integer(printer_t *p, const knot_field_t *field, uint32_t value)
{
	if (field->names != NULL && field->names->is_printed) {
		for (size_t i = 0; field->names->rows[i].text != NULL; i++) {
			if (field->names->rows[i].value == value) {
				put_str(p, field->names->rows[i].text);
				return;
			}
		}
	}
	print_put_number(p, value);
}

/* With zeros in front. A signed zone has two times at each signature: printf() takes longer than all else of it. */
static void put_digits(printer_t *p, uint32_t value, unsigned width)
{
	char *at = print_room(p, width);
	while (at != NULL && width > 0) {
		at[--width] = (char)('0' + value % 10);
		value /= 10;
	}
}

/* YYYYMMDDHHMMSS, the calendar counted in years from March. */
static void put_timestamp(printer_t *p, uint32_t seconds)
{
	uint32_t days = seconds / 86400 + 719468, clock = seconds % 86400;
	uint32_t era = days / 146097, era_day = days % 146097;
	uint32_t era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
	uint32_t year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
	uint32_t march_month = (5 * year_day + 2) / 153;
	uint32_t day = year_day - (153 * march_month + 2) / 5 + 1;
	uint32_t month = march_month < 10 ? march_month + 3 : march_month - 9;
	uint32_t year = era * 400 + era_year + (month <= 2);
	const uint32_t fields[] = { month, day, clock / 3600, clock / 60 % 60, clock % 60 };
	put_digits(p, year, 4);
	for (size_t i = 0; i < KNOT_LEN(fields); i++) {
		put_digits(p, fields[i], 2);
	}
}

static void put_eui(printer_t *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (i > 0) {
			put_char(p, '-');
		}
		put_hex(p, bytes + i, 1);
	}
}

static void put_node_id(printer_t *p, const uint8_t *bytes)
{
	for (size_t i = 0; i < 8; i += 2) {
		if (i > 0) {
			put_char(p, ':');
		}
		put_hex(p, bytes + i, 2);
	}
}

static void put_strings(printer_t *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && !p->failed; i += 1U + bytes[i]) {
		if (i > 0) {
			put_char(p, ' ');
		}
		put_quoted(p, bytes + i + 1, bytes[i]);
	}
}

static void put_bitmap(printer_t *p, const uint8_t *bytes, size_t len)
{
	bool is_first = true;
	for (size_t i = 0; i < len; i += 2U + bytes[i + 1]) {
		for (unsigned bit = 0; bit < 8U * bytes[i + 1] && !p->failed; bit++) {
			if (bytes[i + 2 + bit / 8] & 0x80 >> bit % 8) {
				if (!is_first) {
					put_char(p, ' ');
				}
				is_first = false;
				put_type(p, (uint16_t)(bytes[i] << 8 | bit));
			}
		}
	}
}

static void put_apl(printer_t *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && !p->failed; i += 4U + (bytes[i + 3] & 0x7F)) {
		uint16_t family = load_be16(bytes + i);
		uint8_t address[16] = { 0 };
		if (family != 1 && family != 2) { /* no presentation form, RFC 3123 5 */
			p->failed = p->has_no_form = true;
			return;
		}
		memcpy(address, bytes + i + 4, bytes[i + 3] & 0x7F);
		if (i > 0) {
			put_char(p, ' ');
		}
		if (bytes[i + 3] & 0x80) {
			put_char(p, '!');
		}
		print_put_number(p, family);
		put_char(p, ':');
		put_address(p, family == 1 ? AF_INET : AF_INET6, address);
		put_char(p, '/');
		print_put_number(p, bytes[i + 2]);
	}
}

/* ---- LOC, RFC 1876 3, with the two spaces between its groups that Knot prints ---- */

static void put_angle(printer_t *p, uint32_t value, char positive, char negative)
{
	enum { ORIGIN = 1U << 31 };
	uint32_t angle = value >= ORIGIN ? value - ORIGIN : ORIGIN - value;
	char text[48];
	int len = snprintf(text, sizeof(text), "%u %u %u", angle / 3600000, angle / 60000 % 60, angle / 1000 % 60);
	if (angle % 1000 != 0) {
		len += snprintf(text + len, sizeof(text) - (size_t)len, ".%03u", angle % 1000);
	}
	print_put_bytes(p, text, (size_t)len);
	put_char(p, ' ');
	put_char(p, value >= ORIGIN ? positive : negative);
}

static void put_metres(printer_t *p, uint64_t cm)
{
	char text[32];
	snprintf(text, sizeof(text), cm % 100 != 0 ? "%u.%02um" : "%um", (unsigned)(cm / 100), (unsigned)(cm % 100));
	put_str(p, text);
}

static void put_precision(printer_t *p, uint8_t value)
{
	uint64_t cm = value >> 4;
	for (unsigned i = 0; i < (value & 0x0FU); i++) {
		cm *= 10;
	}
	put_metres(p, cm);
}

static void put_loc(printer_t *p, const uint8_t *loc)
{
	enum { SEA_LEVEL = 10000000 }; /* centimetres above the base of altitudes */
	uint32_t altitude = load_be32(loc + 12);
	put_angle(p, load_be32(loc + 4), 'N', 'S');
	put_str(p, "  ");
	put_angle(p, load_be32(loc + 8), 'E', 'W');
	put_str(p, "  ");
	if (altitude < SEA_LEVEL) {
		put_char(p, '-');
	}
	put_metres(p, altitude < SEA_LEVEL ? SEA_LEVEL - altitude : altitude - SEA_LEVEL);
	put_str(p, "  ");
	put_precision(p, loc[1]);
	put_char(p, ' ');
	put_precision(p, loc[2]);
	put_char(p, ' ');
	put_precision(p, loc[3]);
}

/* ---- IPSECKEY ---- */

static void put_gateway(printer_t *p, uint8_t gateway_type, const uint8_t *gateway)
{
	switch (gateway_type) {
	case 1: put_address(p, AF_INET, gateway); break;
	case 2: put_address(p, AF_INET6, gateway); break;
	case 3: put_name(p, gateway); break;
	default: put_char(p, '.'); break;
	}
}

/* ---- SvcParams, RFC 9460 2.1 ---- */

static void put_svckey(printer_t *p, uint16_t key)
{
	const knot_svcparam_t *row = knot_svcparam(key);
	if (row->name != NULL) {
		put_str(p, row->name);
		return;
	}
	put_str(p, "key");
	print_put_number(p, key);
}

/* Items of an alpn list stand unquoted: what separates items or words is escaped (RFC 9460 A.1, 7.1.1). */
static void put_alpn(printer_t *p, const uint8_t *value, size_t len)
{
	for (size_t i = 0; i < len; i += 1U + value[i]) {
		if (i > 0) {
			put_char(p, ',');
		}
		for (size_t k = i + 1; k <= i + value[i] && !p->failed; k++) {
			uint8_t c = value[k];
			if (c == ',') {
				put_str(p, "\\\\,");
			} else if (c == '\\') {
				put_str(p, "\\\\\\\\");
			} else if (c <= ' ' || c > '~' || strchr("\"();", c) != NULL) {
				put_escaped(p, c);
			} else {
				put_char(p, (char)c);
			}
		}
	}
}

static void put_list(printer_t *p, knot_svcparam_kind_t kind, const uint8_t *value, size_t len)
{
	size_t step = kind == SVCPARAM_IPV4 ? 4 : kind == SVCPARAM_IPV6 ? 16 : 2;
	for (size_t i = 0; i < len && !p->failed; i += step) {
		if (i > 0) {
			put_char(p, ',');
		}
		if (kind == SVCPARAM_MANDATORY) {
			put_svckey(p, load_be16(value + i));
		} else {
			put_address(p, kind == SVCPARAM_IPV4 ? AF_INET : AF_INET6, value + i);
		}
	}
}

static void put_svc_value(printer_t *p, knot_svcparam_kind_t kind, const uint8_t *value, size_t len)
{
	switch (kind) {
	case SVCPARAM_OPAQUE:
	case SVCPARAM_DOHPATH: put_quoted(p, value, len); break;
	case SVCPARAM_ALPN: put_alpn(p, value, len); break;
	case SVCPARAM_PORT: print_put_number(p, load_be16(value)); break;
	case SVCPARAM_BASE64: put_base64(p, value, len); break;
	case SVCPARAM_MANDATORY:
	case SVCPARAM_IPV4:
	case SVCPARAM_IPV6: put_list(p, kind, value, len); break;
	case SVCPARAM_EMPTY: break;
	}
}

static void put_svcparams(printer_t *p, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len && !p->failed; i += 4U + load_be16(bytes + i + 2)) {
		uint16_t key = load_be16(bytes + i), value_len = load_be16(bytes + i + 2);
		if (i > 0) {
			put_str(p, p->style->is_multiline ? PRINT_INDENT : " ");
		}
		put_svckey(p, key);
		if (value_len > 0) {
			put_char(p, '=');
			put_svc_value(p, knot_svcparam(key)->kind, bytes + i + 4, value_len);
		}
	}
}

/* ---- records ---- */

/* Prints the field at `pos` of checked RDATA; returns its length in bytes. */
static size_t put_field(printer_t *p, const knot_field_t *field, knot_bytes_t rdata, size_t pos)
{
	const uint8_t *at = rdata.data + pos;
	size_t left = rdata.len - pos;
	switch ((knot_field_kind_t)field->kind) {
	case FIELD_U8: put_integer(p, field, at[0]); return 1;
	case FIELD_U16: put_integer(p, field, load_be16(at)); return 2;
	case FIELD_U32:
	case FIELD_PERIOD: print_put_number(p, load_be32(at)); return 4;
	case FIELD_TIMESTAMP: put_timestamp(p, load_be32(at)); return 4;
	case FIELD_TYPE: put_type(p, load_be16(at)); return 2;
	case FIELD_IPV4: put_address(p, AF_INET, at); return 4;
	case FIELD_IPV6: put_address(p, AF_INET6, at); return 16;
	case FIELD_EUI48: put_eui(p, at, 6); return 6;
	case FIELD_EUI64: put_eui(p, at, 8); return 8;
	case FIELD_NODE_ID: put_node_id(p, at); return 8;
	case FIELD_NAME: put_name(p, at); return knot_name_of(at).len;
	case FIELD_STRING: put_quoted(p, at + 1, at[0]); return 1U + at[0];
	case FIELD_TAG: put_word(p, at + 1, at[0]); return 1U + at[0];
	case FIELD_STRINGS: put_strings(p, at, left); return left;
	case FIELD_TEXT: put_quoted(p, at, left); return left;
	case FIELD_HEX: put_hex_lines(p, at, left); return left;
	case FIELD_BASE64: put_base64_lines(p, at, left); return left;
	case FIELD_SALT:
		if (at[0] == 0) {
			put_char(p, '-');
		}
		put_hex(p, at + 1, at[0]);
		return 1U + at[0];
	case FIELD_HASH: put_base32hex(p, at + 1, at[0]); return 1U + at[0];
	case FIELD_BITMAP: put_bitmap(p, at, left); return left;
	case FIELD_APL: put_apl(p, at, left); return left;
	case FIELD_LOC: put_loc(p, at); return left;
	case FIELD_GATEWAY:
		put_gateway(p, at[-2], at);
		return at[-2] == 1 ? 4 : at[-2] == 2 ? 16 : at[-2] == 3 ? knot_name_of(at).len : 0;
	case FIELD_SVCPARAMS: put_svcparams(p, at, left); return left;
	case FIELD_OPAQUE:
	case FIELD_END: break;
	}
	p->failed = true;
	return left;
}

/* ---- forms of records ---- */

static void print_open_line(printer_t *p)
{
	put_str(p, p->is_open ? PRINT_INDENT : "(" PRINT_INDENT);
	p->is_open = true;
}

static void print_close_lines(printer_t *p)
{
	if (p->is_open) {
		put_str(p, PRINT_INDENT ")");
	}
}

size_t knot_period_print(uint32_t seconds, char ret_text[static KNOT_PERIOD_TEXT_MAX])
{
	static const struct {
		uint32_t seconds;
		const char *name;
	} units[] = { { 604800, "week" }, { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	size_t len = 0;
	uint32_t left = seconds;
	for (size_t i = 0; i < KNOT_LEN(units); i++) {
		uint32_t count = left / units[i].seconds;
		left %= units[i].seconds;
		if (count > 0) {
			len += (size_t)snprintf(ret_text + len, KNOT_PERIOD_TEXT_MAX - len, "%s%u %s%s",
					len > 0 ? " " : "", count, units[i].name, count > 1 ? "s" : "");
		}
	}
	if (len == 0) {
		len = (size_t)snprintf(ret_text, KNOT_PERIOD_TEXT_MAX, "0 seconds");
	}
	return len;
}

/* What stands behind a number of a SOA: its name, and a period in words. */
static void print_explain_field(printer_t *p, const knot_field_t *field, const uint8_t *at)
{
	char text[KNOT_PERIOD_TEXT_MAX];
	put_str(p, " ; ");
	put_str(p, field->what);
	if (field->kind == FIELD_PERIOD) {
		put_str(p, " (");
		print_put_bytes(p, text, knot_period_print(load_be32(at), text));
		put_char(p, ')');
	}
}

/* Bits of the key in checked RDATA of DNSKEY's form; 0: only the algorithm's own library knows. */
static unsigned print_key_bits(knot_bytes_t rdata)
{
	const uint8_t *key = rdata.data + 4;
	size_t len = rdata.len - 4, head = 1, e_len = len > 0 ? key[0] : 0;
	switch (rdata.data[3]) {
	case 13:
	case 15: return 256;
	case 14: return 384;
	case 16: return 456;
	case 1:
	case 5:
	case 7:
	case 8:
	case 10: break; /* RFC 3110 2: the exponent's length in one byte or three, exponent, modulus */
	default: return 0;
	}
	if (e_len == 0 && len >= 3) {
		head = 3;
		e_len = load_be16(key + 1);
	}
	return len > head + e_len ? (unsigned)(8 * (len - head - e_len)) : 0;
}

/* "; KSK, ECDSAP256SHA256 (256b), id = 2371" */
static void print_explain_key(printer_t *p, const knot_rrdesc_t *row, knot_bytes_t rdata)
{
	put_str(p, rdata.data[1] & 1 ? " ; KSK, " : " ; ZSK, ");
	const knot_field_enum_t *names = row->fields[2].names;
	size_t i = 0;
	while (names->rows[i].text != NULL && names->rows[i].value != rdata.data[3]) {
		i++;
	}
	if (names->rows[i].text != NULL) {
		put_str(p, names->rows[i].text);
	} else {
		print_put_number(p, rdata.data[3]);
	}
	unsigned bits = print_key_bits(rdata);
	if (bits > 0) {
		put_str(p, " (");
		print_put_number(p, bits);
		put_str(p, "b)");
	}
	put_str(p, ", id = ");
	print_put_number(p, knot_dnskey_tag(rdata));
}

/* In place of a key or a signature. */
static void print_omit_crypto(printer_t *p, const knot_rrdesc_t *row, knot_bytes_t rdata)
{
	if (!(row->flags & ROW_KEY) || p->style->is_multiline) {
		put_str(p, "[omitted]");
		return;
	}
	put_str(p, "[id = ");
	print_put_number(p, knot_dnskey_tag(rdata));
	put_char(p, ']');
}

static void put_typed(printer_t *p, const knot_rrdesc_t *row, knot_bytes_t rdata)
{
	const bool is_multiline = p->style->is_multiline, hides_crypto = p->style->hides_crypto;
	size_t pos = 0;
	for (const knot_field_t *field = row->fields; field->kind != FIELD_END && !p->failed; field++) {
		size_t before = p->len;
		bool was_open = p->is_open, is_hidden = hides_crypto && (field->flags & FIELD_CRYPTO);
		bool is_alone = is_hidden && (row->flags & ROW_KEY); /* nothing that needs a line */
		bool has_line = is_multiline && (field->flags & FIELD_NEW_LINE) && !is_alone;
		if (field != row->fields && !(has_line && was_open)) {
			put_char(p, ' ');
		}
		if (has_line) {
			print_open_line(p);
		}
		size_t start = p->len, at = pos;
		if (is_hidden) {
			print_omit_crypto(p, row, rdata);
			pos = rdata.len;
		} else {
			pos += put_field(p, field, rdata, pos);
		}
		if (p->len == start && field->kind != FIELD_BITMAP) { /* an empty field at the end takes no separator */
			p->len = before;
			p->is_open = was_open;
		} else if (p->len == start && !has_line) {
			p->len = before;
		} else if (has_line && (field->kind == FIELD_U32 || field->kind == FIELD_PERIOD)) {
			print_explain_field(p, field, rdata.data + at);
		}
	}
	print_close_lines(p);
	if (is_multiline && (row->flags & ROW_KEY)) {
		put_str(p, hides_crypto ? PRINT_INDENT : "");
		print_explain_key(p, row, rdata);
	}
}

static void put_generic(printer_t *p, knot_bytes_t rdata)
{
	if (p->style->is_multiline) {
		print_open_line(p);
	}
	put_str(p, "\\# ");
	print_put_number(p, (uint32_t)rdata.len);
	if (rdata.len > 0) {
		put_char(p, ' ');
		if (p->style->is_multiline) {
			print_open_line(p);
		}
		put_hex_lines(p, rdata.data, rdata.len);
	}
	print_close_lines(p);
}

size_t knot_rdata_print_as(
		uint16_t type, knot_bytes_t rdata, const knot_rdata_style_t *style, char *ret_text, size_t max)
{
	const knot_rrdesc_t *row = knot_rrdesc(type);
	if (max == 0) {
		return 0;
	}
	printer_t p = { .style = style, .text = ret_text, .max = max - 1 };
	if (style->is_generic || (row->flags & ROW_GENERIC) || row->fields[0].kind == FIELD_OPAQUE || rdata.len == 0) {
		put_generic(&p, rdata);
	} else {
		put_typed(&p, row, rdata);
		if (p.has_no_form || (p.failed && max >= KNOT_RDATA_TEXT_MAX)) { /* a full type bitmap has 700,000
										    characters */
			p = (printer_t){ .style = style, .text = ret_text, .max = max - 1 };
			put_generic(&p, rdata);
		}
	}
	ret_text[p.failed ? 0 : p.len] = '\0';
	return p.failed ? 0 : p.len;
}

size_t knot_rdata_print(uint16_t type, knot_bytes_t rdata, char *ret_text, size_t max)
{
	static const knot_rdata_style_t style = { .print_name = knot_name_print };
	return knot_rdata_print_as(type, rdata, &style, ret_text, max);
}
