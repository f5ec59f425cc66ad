/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/rdata_scan.h"

#include <arpa/inet.h>

#include "libknot/base/number.h"
#include "libknot/text/scan_fields.h"

void rdata_scanner_init(rdata_scanner_t *s, lexer_t *lex, uint8_t *out, size_t max)
{
	memset(s, 0, offsetof(rdata_scanner_t, bitmap));
	s->lex = lex;
	s->out = out;
	s->max = max < KNOT_RDATA_MAX ? max : KNOT_RDATA_MAX;
}

/* ---- numbers ---- */

static bool find_enum(const knot_field_enum_t *names, const token_t *tok, uint32_t *ret)
{
	for (size_t i = 0; names->rows[i].text != NULL; i++) {
		const char *name = names->rows[i].text;
		size_t k = 0;
		while (k < tok->len &&
				(name[k] == tok->data[k] || (name[k] >= 'A' && (name[k] | 0x20) == tok->data[k])) &&
				name[k] != '\0') {
			k++;
		}
		if (k == tok->len && name[k] == '\0') {
			*ret = names->rows[i].value;
			return true;
		}
	}
	return false;
}

static void scan_integer(rdata_scanner_t *s, const knot_field_t *field, uint32_t max)
{
	if (!scan_need_word(s, "invalid number")) {
		return;
	}
	uint32_t value;
	if (field->names == NULL || !find_enum(field->names, &s->tok, &value)) {
		const char *reason = scan_number(s->tok.data, s->tok.len, max, &value);
		if (reason != NULL) {
			scan_set_fault(s, reason);
			return;
		}
	}
	bool done = max == UINT8_MAX    ? scan_put_u8(s, (uint8_t)value)
		    : max == UINT16_MAX ? scan_put_u16(s, (uint16_t)value)
					: scan_put_u32(s, value);
	if (done) {
		scan_advance(s);
	}
}

static void scan_period_field(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid number")) {
		return;
	}
	uint32_t seconds;
	const char *reason = scan_period(s->tok.data, s->tok.len, &seconds);
	if (reason != NULL) {
		scan_set_fault(s, reason);
	} else if (scan_put_u32(s, seconds)) {
		scan_advance(s);
	}
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, counting years from March. */
static int64_t days_of(unsigned year, unsigned month, unsigned day)
{
	unsigned y = year - (month <= 2);
	unsigned year_day = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	return (int64_t)y * 365 + y / 4 - y / 100 + y / 400 + year_day - 719468;
}

static bool is_date(unsigned year, unsigned month, unsigned day)
{
	static const uint8_t days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] && (month != 2 || day < 29 || is_leap);
}

/* YYYYMMDDHHMMSS, RFC 4034 3.2, from 1970 to the end of 32 bits in 2106. */
static const char *scan_date(const char *text, uint32_t *ret)
{
	uint32_t date, clock;
	if (scan_number(text, 8, UINT32_MAX, &date) != NULL || scan_number(text + 8, 6, UINT32_MAX, &clock) != NULL) {
		return "invalid timestamp";
	}
	unsigned year = date / 10000, month = date / 100 % 100, day = date % 100;
	unsigned hour = clock / 10000, minute = clock / 100 % 100, second = clock % 100;
	if (year < 1970 || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 60) {
		return "invalid timestamp";
	}
	int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	if (seconds > UINT32_MAX) {
		return "invalid timestamp";
	}
	*ret = (uint32_t)seconds;
	return NULL;
}

static void scan_timestamp(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid timestamp")) {
		return;
	}
	uint32_t seconds;
	const char *reason = s->tok.len == 14  ? scan_date(s->tok.data, &seconds)
			     : s->tok.len > 10 ? "invalid timestamp"
					       : scan_number(s->tok.data, s->tok.len, UINT32_MAX, &seconds);
	if (reason != NULL) {
		scan_set_fault(s, reason);
	} else if (scan_put_u32(s, seconds)) {
		scan_advance(s);
	}
}

bool rdata_scan_type(rdata_scanner_t *s, const token_t *tok, uint16_t *ret_type)
{
	knot_str_t text = { tok->data, tok->len };
	if (tok->kind != TOKEN_WORD || tok->len > sizeof(uint64_t)) {
		return tok->kind == TOKEN_WORD && knot_rrtype_scan(text, ret_type) == KNOT_OK;
	}
	uint64_t key = 0;
	memcpy(&key, tok->data, tok->len);
	type_cache_t *entry = &s->types[key * 0x9E3779B97F4A7C15u >> 58];
	if (entry->key != key || key == 0) {
		if (knot_rrtype_scan(text, ret_type) != KNOT_OK) {
			return false;
		}
		*entry = (type_cache_t){ key, *ret_type };
	}
	*ret_type = entry->type;
	return true;
}

static void scan_type(rdata_scanner_t *s)
{
	uint16_t type;
	if (!scan_need_word(s, "unsupported record type")) {
		return;
	}
	if (!rdata_scan_type(s, &s->tok, &type)) {
		scan_set_fault(s, "unsupported record type");
	} else if (scan_put_u16(s, type)) {
		scan_advance(s);
	}
}

/* ---- addresses ---- */

/* RFC 1035 3.4.1, strictly four decimal numbers without leading zeros, as inet_pton(). */
bool scan_parse_ipv4(const char *text, size_t len, uint8_t ret[static 4])
{
	size_t i = 0;
	for (unsigned part = 0; part < 4; part++) {
		unsigned value = 0;
		size_t start = i;
		while (i < len && i - start < 3 && knot_is_digit(text[i])) {
			value = value * 10 + (unsigned)(text[i++] - '0');
		}
		if (i == start || value > 255 || (text[start] == '0' && i - start > 1)) {
			return false;
		}
		ret[part] = (uint8_t)value;
		if (part < 3 && (i == len || text[i++] != '.')) {
			return false;
		}
	}
	return i == len;
}

bool scan_parse_ipv6(const char *text, size_t len, uint8_t ret[static 16])
{
	char copy[INET6_ADDRSTRLEN];
	if (len >= sizeof(copy) || memchr(text, '\0', len) != NULL) {
		return false;
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	return inet_pton(AF_INET6, copy, ret) == 1;
}

static void scan_ipv4(rdata_scanner_t *s)
{
	uint8_t address[4];
	if (!scan_need_word(s, "invalid IPv4 address")) {
		return;
	}
	if (!scan_parse_ipv4(s->tok.data, s->tok.len, address)) {
		scan_set_fault(s, "invalid IPv4 address");
	} else if (scan_put_bytes(s, address, sizeof(address))) {
		scan_advance(s);
	}
}

static void scan_ipv6(rdata_scanner_t *s)
{
	uint8_t address[16];
	if (!scan_need_word(s, "invalid IPv6 address")) {
		return;
	}
	if (!scan_parse_ipv6(s->tok.data, s->tok.len, address)) {
		scan_set_fault(s, "invalid IPv6 address");
	} else if (scan_put_bytes(s, address, sizeof(address))) {
		scan_advance(s);
	}
}

/* ---- digits: hex, base32hex, base64 ---- */

/* Hex digits in pairs of one text; the state carries a digit over blanks. */
static bool put_hex(rdata_scanner_t *s, const char *text, size_t len, knot_hex_state_t *state)
{
	size_t count;
	uint8_t *p = scan_room(s, (len + 1) / 2);
	if (p == NULL) {
		return false;
	}
	if (!knot_hex_add(state, (knot_str_t){ text, len }, p, &count)) {
		scan_set_fault(s, "invalid hexadecimal character");
		return false;
	}
	s->len += count;
	return true;
}

static void scan_hex_rest(rdata_scanner_t *s, size_t min)
{
	size_t start = s->len;
	knot_hex_state_t state = { 0 };
	while (!scan_at_end(s)) {
		if (!scan_need_word(s, "invalid hexadecimal character") ||
				!put_hex(s, s->tok.data, s->tok.len, &state)) {
			return;
		}
		scan_advance(s);
	}
	if (state.has_digit) {
		scan_set_fault(s, "odd number of hexadecimal digits");
	} else if (s->len - start < min) {
		scan_set_fault(s, "missing data");
	}
}

bool scan_put_base64(rdata_scanner_t *s, const char *text, size_t len, knot_base64_state_t *state)
{
	size_t count;
	knot_mut_bytes_t left = { s->out + s->len, s->max - s->len };
	switch (knot_base64_add(state, (knot_str_t){ text, len }, left, &count)) {
	case KNOT_DECODE_OK: s->len += count; return true;
	case KNOT_DECODE_BAD_DIGIT: scan_set_fault(s, "invalid base64 character"); return false;
	case KNOT_DECODE_NO_ROOM: break;
	}
	return scan_room(s, left.len + 1) != NULL;
}

static void scan_base64_rest(rdata_scanner_t *s, size_t min)
{
	size_t start = s->len;
	knot_base64_state_t state = { 0 };
	while (!scan_at_end(s)) {
		if (!scan_need_word(s, "invalid base64 character") ||
				!scan_put_base64(s, s->tok.data, s->tok.len, &state)) {
			return;
		}
		scan_advance(s);
	}
	if (state.digit_count != 0) {
		scan_set_fault(s, "incomplete base64 data");
	} else if (s->len - start < min) {
		scan_set_fault(s, "missing data");
	}
}

/* NSEC3 salt: length byte and bytes, "-" for none (RFC 5155 3.3). */
static void scan_salt(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid hexadecimal character")) {
		return;
	}
	size_t start = s->len;
	knot_hex_state_t state = { 0 };
	bool is_empty = s->tok.len == 1 && s->tok.data[0] == '-';
	if (!scan_put_u8(s, 0) || (!is_empty && !put_hex(s, s->tok.data, s->tok.len, &state))) {
		return;
	}
	size_t len = s->len - start - 1;
	if (state.has_digit || len > UINT8_MAX) {
		scan_set_fault(s,
				state.has_digit ? "odd number of hexadecimal digits" : "salt is longer than 255 bytes");
		return;
	}
	s->out[start] = (uint8_t)len;
	scan_advance(s);
}

/* NSEC3 next hashed owner: length byte and bytes, base32hex without padding (RFC 5155 3.3). */
static void scan_hash(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid base32hex character")) {
		return;
	}
	size_t len = s->tok.len * 5 / 8;
	if (len == 0 || len > UINT8_MAX || (len * 8 + 4) / 5 != s->tok.len) {
		scan_set_fault(s, "invalid length of base32hex data");
		return;
	}
	uint8_t *p = scan_room(s, 1 + len);
	if (p == NULL) {
		return;
	}
	p[0] = (uint8_t)len;
	if (!knot_base32hex_scan((knot_str_t){ s->tok.data, s->tok.len }, p + 1)) {
		scan_set_fault(s, "invalid base32hex character");
		return;
	}
	s->len += 1 + len;
	scan_advance(s);
}

/* `pairs` hex pairs with dashes between (RFC 7043 3.2, 4.2). */
static void scan_eui(rdata_scanner_t *s, size_t pairs)
{
	if (!scan_need_word(s, "invalid EUI address")) {
		return;
	}
	uint8_t *p = scan_room(s, pairs);
	if (p == NULL) {
		return;
	}
	bool is_valid = s->tok.len == pairs * 3 - 1;
	for (size_t i = 0; is_valid && i < pairs; i++) {
		const char *text = s->tok.data + 3 * i;
		uint8_t high = knot_hex_digit(text[0]), low = knot_hex_digit(text[1]);
		is_valid = ((high | low) & 0xF0) == 0 && (i == pairs - 1 || text[2] == '-');
		p[i] = (uint8_t)(high << 4 | low);
	}
	if (!is_valid) {
		scan_set_fault(s, "invalid EUI address");
		return;
	}
	s->len += pairs;
	scan_advance(s);
}

/* Four groups of one to four hex digits with colons between (RFC 6742 2.1.2). */
static void scan_node_id(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid node identifier")) {
		return;
	}
	const char *p = s->tok.data, *end = p + s->tok.len;
	for (unsigned group = 0; group < 4; group++) {
		unsigned value = 0;
		const char *start = p;
		while (p < end && p - start < 4 && knot_hex_digit(*p) != KNOT_BAD_DIGIT) {
			value = value << 4 | knot_hex_digit(*p++);
		}
		bool is_ended = group == 3 ? p == end : p < end && *p++ == ':';
		if (p == start || !is_ended || *start == ':') {
			scan_set_fault(s, "invalid node identifier");
			return;
		}
		if (!scan_put_u16(s, (uint16_t)value)) {
			return;
		}
	}
	scan_advance(s);
}

/* ---- names and texts ---- */

static void scan_name_field(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid domain name")) {
		return;
	}
	uint8_t wire[KNOT_NAME_MAX];
	bool is_roomy = s->max - s->len >= KNOT_NAME_MAX; /* then it is written in place */
	knot_name_t name;
	const char *reason = scan_name(&s->tok, s->origin, is_roomy ? s->out + s->len : wire, &name);
	if (reason != NULL) {
		scan_set_fault(s, reason);
		return;
	}
	if (is_roomy) {
		s->len += name.len;
	} else if (!scan_put_bytes(s, name.wire, name.len)) {
		return;
	}
	scan_advance(s);
}

/* The current token as text of at most `max` bytes behind what is written. */
static bool scan_put_text(rdata_scanner_t *s, size_t max)
{
	if (s->status != SCAN_OK || s->tok.kind == TOKEN_EOL || s->tok.has_quote) {
		scan_set_fault(s, s->tok.kind == TOKEN_EOL ? "missing data" : "invalid text string");
		return false;
	}
	size_t left = s->max - s->len, len;
	if (!s->tok.has_escape && s->tok.len <= max) {
		if (!scan_put_bytes(s, s->tok.data, s->tok.len)) {
			return false;
		}
		scan_advance(s);
		return true;
	}
	const char *reason = scan_text(s->tok.data, s->tok.len, s->out + s->len, max < left ? max : left, &len);
	if (reason != NULL) {
		s->is_full = left < max && s->tok.len > left;
		scan_set_fault(s, reason);
		return false;
	}
	s->len += len;
	scan_advance(s);
	return true;
}

static void scan_text_field(rdata_scanner_t *s, size_t min)
{
	size_t start = s->len;
	if (scan_put_text(s, KNOT_RDATA_MAX) && s->len - start < min) {
		scan_set_fault(s, "missing data");
	}
}

static void scan_string(rdata_scanner_t *s)
{
	size_t start = s->len;
	if (s->status == SCAN_OK && scan_put_u8(s, 0) && scan_put_text(s, UINT8_MAX)) {
		s->out[start] = (uint8_t)(s->len - start - 1);
	}
}

/*
 * A text of more than 255 bytes becomes several strings, as in Knot DNS: keys of DKIM are pasted in one piece. It is
 * written whole, and then its parts make way for their lengths, the last one first.
 */
static void scan_long_string(rdata_scanner_t *s)
{
	size_t start = s->len;
	if (!scan_put_text(s, KNOT_RDATA_MAX)) {
		return;
	}
	size_t len = s->len - start, count = len > 0 ? (len + UINT8_MAX - 1) / UINT8_MAX : 1;
	if (s->max - s->len < count) {
		s->is_full = true;
		scan_set_fault(s, "text is too long");
		return;
	}
	for (size_t i = count; i > 0; i--) {
		size_t from = (i - 1) * UINT8_MAX, part = len - from < UINT8_MAX ? len - from : UINT8_MAX;
		uint8_t *to = s->out + start + from + (i - 1);
		memmove(to + 1, s->out + start + from, part);
		*to = (uint8_t)part;
	}
	s->len += count;
}

static void scan_strings(rdata_scanner_t *s)
{
	do {
		if (s->tok.len > UINT8_MAX) {
			scan_long_string(s);
		} else {
			scan_string(s);
		}
	} while (!scan_at_end(s));
}

static void scan_tag(rdata_scanner_t *s)
{
	if (scan_need_word(s, "invalid tag")) {
		scan_string(s);
	}
}

/* ---- type bitmaps ---- */

static void scan_bitmap(rdata_scanner_t *s)
{
	if (!s->has_bitmap) {
		memset(s->bitmap, 0, sizeof(s->bitmap));
		s->has_bitmap = true;
	}
	unsigned window_max = 0;
	bool has_types = false;
	while (!scan_at_end(s)) {
		uint16_t type;
		if (!scan_need_word(s, "invalid bitmap")) {
			break;
		}
		if (!rdata_scan_type(s, &s->tok, &type)) {
			scan_set_fault(s, "invalid bitmap, unsupported record type");
			break;
		}
		s->bitmap[type >> 8][(type & 0xFF) / 8] |= 0x80 >> (type & 7);
		window_max = (unsigned)(type >> 8) > window_max ? type >> 8 : window_max;
		has_types = true;
		scan_advance(s);
	}
	for (unsigned window = 0; has_types && window <= window_max; window++) {
		uint8_t *bits = s->bitmap[window], len = 32;
		while (len > 0 && bits[len - 1] == 0) {
			len--;
		}
		if (len > 0 && s->status == SCAN_OK) {
			(void)(scan_put_u8(s, (uint8_t)window) && scan_put_u8(s, len) && scan_put_bytes(s, bits, len));
		}
		memset(bits, 0, len);
	}
}

/* ---- APL ---- */

/* One item [!]family:address/prefix, RFC 3123 5. */
static const char *scan_apl_item(rdata_scanner_t *s, const char *text, size_t len)
{
	bool is_negated = len > 0 && text[0] == '!';
	text += is_negated;
	len -= is_negated;
	const char *colon = memchr(text, ':', len), *slash = memchr(text, '/', len);
	if (colon == NULL || slash == NULL || slash < colon) {
		return "invalid address prefix";
	}
	uint32_t family, prefix;
	uint8_t address[16];
	const char *prefix_text = slash + 1;
	if (scan_number(text, (size_t)(colon - text), UINT16_MAX, &family) != NULL ||
			scan_number(prefix_text, (size_t)(text + len - prefix_text), UINT8_MAX, &prefix) != NULL) {
		return "invalid address prefix";
	}
	size_t address_len = (size_t)(slash - colon - 1), size = family == 1 ? 4 : 16;
	bool is_valid = family == 1 ? scan_parse_ipv4(colon + 1, address_len, address) && prefix <= 32
				    : family == 2 && scan_parse_ipv6(colon + 1, address_len, address) && prefix <= 128;
	if (!is_valid) {
		return "invalid address prefix";
	}
	while (size > 0 && address[size - 1] == 0) { /* RFC 3123 4: no trailing zeros */
		size--;
	}
	(void)(scan_put_u16(s, (uint16_t)family) && scan_put_u8(s, (uint8_t)prefix) &&
			scan_put_u8(s, (uint8_t)((is_negated ? 0x80 : 0) | size)) && scan_put_bytes(s, address, size));
	return NULL;
}

static void scan_apl(rdata_scanner_t *s)
{
	while (!scan_at_end(s)) {
		if (!scan_need_word(s, "invalid address prefix")) {
			return;
		}
		const char *reason = scan_apl_item(s, s->tok.data, s->tok.len);
		if (reason != NULL) {
			scan_set_fault(s, reason);
			return;
		}
		if (s->status == SCAN_OK) {
			scan_advance(s);
		}
	}
}

/* ---- IPSECKEY gateway ---- */

static void scan_gateway(rdata_scanner_t *s)
{
	if (!scan_need_word(s, "invalid gateway")) {
		return;
	}
	switch (s->out[s->len - 2]) {
	case 0:
		if (s->tok.len != 1 || s->tok.data[0] != '.') {
			scan_set_fault(s, "invalid gateway");
			return;
		}
		scan_advance(s);
		break;
	case 1: scan_ipv4(s); break;
	case 2: scan_ipv6(s); break;
	case 3: scan_name_field(s); break;
	default: scan_set_fault(s, "invalid gateway type"); break;
	}
}

/* ---- records ---- */

static void scan_field(rdata_scanner_t *s, const knot_field_t *field)
{
	switch ((knot_field_kind_t)field->kind) {
	case FIELD_U8: scan_integer(s, field, UINT8_MAX); break;
	case FIELD_U16: scan_integer(s, field, UINT16_MAX); break;
	case FIELD_U32: scan_integer(s, field, UINT32_MAX); break;
	case FIELD_PERIOD: scan_period_field(s); break;
	case FIELD_TIMESTAMP: scan_timestamp(s); break;
	case FIELD_TYPE: scan_type(s); break;
	case FIELD_IPV4: scan_ipv4(s); break;
	case FIELD_IPV6: scan_ipv6(s); break;
	case FIELD_EUI48: scan_eui(s, 6); break;
	case FIELD_EUI64: scan_eui(s, 8); break;
	case FIELD_NODE_ID: scan_node_id(s); break;
	case FIELD_NAME: scan_name_field(s); break;
	case FIELD_STRING: scan_string(s); break;
	case FIELD_TAG: scan_tag(s); break;
	case FIELD_STRINGS: scan_strings(s); break;
	case FIELD_TEXT: scan_text_field(s, field->min); break;
	case FIELD_HEX: scan_hex_rest(s, field->min); break;
	case FIELD_BASE64: scan_base64_rest(s, field->min); break;
	case FIELD_SALT: scan_salt(s); break;
	case FIELD_HASH: scan_hash(s); break;
	case FIELD_BITMAP: scan_bitmap(s); break;
	case FIELD_APL: scan_apl(s); break;
	case FIELD_LOC: scan_loc(s); break;
	case FIELD_GATEWAY: scan_gateway(s); break;
	case FIELD_SVCPARAMS: scan_svcparams(s); break;
	case FIELD_OPAQUE: scan_set_fault(s, "unable to process text form for this type"); break;
	case FIELD_END: break;
	}
}

/* RFC 3597 5: \# length hex... */
static void scan_generic(rdata_scanner_t *s, uint16_t type)
{
	uint32_t len;
	scan_advance(s);
	if (!scan_need_word(s, "invalid number")) {
		return;
	}
	const char *reason = scan_number(s->tok.data, s->tok.len, UINT16_MAX, &len);
	if (reason != NULL) {
		scan_set_fault(s, reason);
		return;
	}
	scan_advance(s);
	scan_hex_rest(s, 0);
	if (s->status != SCAN_OK) {
		return;
	}
	if (s->len != len) {
		scan_set_fault(s, "the rdata length statement is incorrect");
	} else if (knot_rdata_check(type, (knot_bytes_t){ s->out, s->len }) != KNOT_OK) {
		scan_set_fault(s, "invalid record data");
	}
}

/* True if what was scanned is RDATA, by the other reader of the same rows. */
static bool scan_is_sound(const rdata_scanner_t *s, uint16_t type)
{
	return s->status != SCAN_OK || knot_rdata_check(type, (knot_bytes_t){ s->out, s->len }) == KNOT_OK;
}

static void scan_fields(rdata_scanner_t *s, const knot_rrdesc_t *row)
{
	for (const knot_field_t *field = row->fields; field->kind != FIELD_END; field++) {
		s->what = field->what;
		scan_field(s, field);
		if (s->status != SCAN_OK) {
			return;
		}
	}
	if (s->tok.kind != TOKEN_EOL) {
		s->what = NULL;
		scan_set_fault(s, "unexpected data");
	}
}

scan_status_t rdata_scan_record(rdata_scanner_t *s, const knot_rrdesc_t *row, uint16_t type)
{
	KNOT_ASSERT_SLOW(s->lex != NULL && s->out != NULL && row == knot_rrdesc(type));
	s->status = SCAN_OK;
	s->len = 0;
	s->what = NULL;
	s->is_full = false;
	scan_advance(s);
	if (s->status != SCAN_OK) {
		return s->status;
	}
	if (s->tok.kind == TOKEN_WORD && s->tok.len == 2 && memcmp(s->tok.data, "\\#", 2) == 0) {
		scan_generic(s, type);
	} else {
		scan_fields(s, row);
	}
	KNOT_ASSERT_SLOW(scan_is_sound(s, type));
	return s->status;
}
