/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/text/rdata_scan.h"

#include <arpa/inet.h>

#include "libknot/base/assert.h"
#include "libknot/base/encode.h"
#include "libknot/base/number.h"

static void scan_set_fault(rdata_scanner_t *s, const char *reason)
{
	if (s->status == SCAN_OK) {
		s->status = SCAN_FAULT;
		s->reason = reason;
	}
}

void rdata_scanner_init(rdata_scanner_t *s, lexer_t *lex, uint8_t *out, size_t max)
{
	memset(s, 0, offsetof(rdata_scanner_t, bitmap));
	s->lex = lex;
	s->out = out;
	s->max = max < KNOT_RDATA_MAX ? max : KNOT_RDATA_MAX;
}

/* Reads the next token. The lexer's own trouble becomes the scanner's status. */
static inline void advance(rdata_scanner_t *s)
{
	lexer_next(s->lex, &s->tok);
	if (s->tok.kind >= TOKEN_FAULT && s->status == SCAN_OK) {
		s->status = s->tok.kind == TOKEN_MORE ? SCAN_MORE : SCAN_FAULT;
		s->reason = s->lex->reason;
		s->what = NULL;
	}
}

static inline bool at_end(const rdata_scanner_t *s)
{
	return s->tok.kind == TOKEN_EOL || s->status != SCAN_OK;
}

/* True if the current token is an unquoted word, which most fields must be. */
static inline bool need_word(rdata_scanner_t *s, const char *reason)
{
	if (s->status == SCAN_OK && s->tok.kind == TOKEN_WORD && !s->tok.has_quote) {
		return true;
	}
	scan_set_fault(s, s->tok.kind == TOKEN_EOL ? "missing data" : reason);
	return false;
}

/* Room for `len` more bytes of RDATA, not yet counted. */
static inline uint8_t *scan_room(rdata_scanner_t *s, size_t len)
{
	KNOT_ASSERT_SLOW(s->len <= s->max);
	if (len <= s->max - s->len) {
		return s->out + s->len;
	}
	s->is_full = s->status == SCAN_OK;
	scan_set_fault(s, "record data is too long");
	return NULL;
}

static inline bool scan_put_bytes(rdata_scanner_t *s, const void *bytes, size_t len)
{
	uint8_t *p = scan_room(s, len);
	if (p == NULL) {
		return false;
	}
	memcpy(p, bytes, len);
	s->len += len;
	return true;
}

static bool put_u16(rdata_scanner_t *s, uint16_t v)
{
	uint8_t bytes[2];
	store_be16(bytes, v);
	return scan_put_bytes(s, bytes, sizeof(bytes));
}

static bool put_u32(rdata_scanner_t *s, uint32_t v)
{
	uint8_t bytes[4];
	store_be32(bytes, v);
	return scan_put_bytes(s, bytes, sizeof(bytes));
}

static bool put_u8(rdata_scanner_t *s, uint8_t v)
{
	return scan_put_bytes(s, &v, 1);
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
	if (!need_word(s, "invalid number")) {
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
	bool done = max == UINT8_MAX    ? put_u8(s, (uint8_t)value)
		    : max == UINT16_MAX ? put_u16(s, (uint16_t)value)
					: put_u32(s, value);
	if (done) {
		advance(s);
	}
}

static void scan_period_field(rdata_scanner_t *s)
{
	if (!need_word(s, "invalid number")) {
		return;
	}
	uint32_t seconds;
	const char *reason = scan_period(s->tok.data, s->tok.len, &seconds);
	if (reason != NULL) {
		scan_set_fault(s, reason);
	} else if (put_u32(s, seconds)) {
		advance(s);
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
	if (!need_word(s, "invalid timestamp")) {
		return;
	}
	uint32_t seconds;
	const char *reason = s->tok.len == 14  ? scan_date(s->tok.data, &seconds)
			     : s->tok.len > 10 ? "invalid timestamp"
					       : scan_number(s->tok.data, s->tok.len, UINT32_MAX, &seconds);
	if (reason != NULL) {
		scan_set_fault(s, reason);
	} else if (put_u32(s, seconds)) {
		advance(s);
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
	if (!need_word(s, "unsupported record type")) {
		return;
	}
	if (!rdata_scan_type(s, &s->tok, &type)) {
		scan_set_fault(s, "unsupported record type");
	} else if (put_u16(s, type)) {
		advance(s);
	}
}

/* ---- addresses ---- */

/* RFC 1035 3.4.1, strictly four decimal numbers without leading zeros, as inet_pton(). */
static bool parse_ipv4(const char *text, size_t len, uint8_t ret[static 4])
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

static bool parse_ipv6(const char *text, size_t len, uint8_t ret[static 16])
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
	if (!need_word(s, "invalid IPv4 address")) {
		return;
	}
	if (!parse_ipv4(s->tok.data, s->tok.len, address)) {
		scan_set_fault(s, "invalid IPv4 address");
	} else if (scan_put_bytes(s, address, sizeof(address))) {
		advance(s);
	}
}

static void scan_ipv6(rdata_scanner_t *s)
{
	uint8_t address[16];
	if (!need_word(s, "invalid IPv6 address")) {
		return;
	}
	if (!parse_ipv6(s->tok.data, s->tok.len, address)) {
		scan_set_fault(s, "invalid IPv6 address");
	} else if (scan_put_bytes(s, address, sizeof(address))) {
		advance(s);
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
	while (!at_end(s)) {
		if (!need_word(s, "invalid hexadecimal character") || !put_hex(s, s->tok.data, s->tok.len, &state)) {
			return;
		}
		advance(s);
	}
	if (state.has_digit) {
		scan_set_fault(s, "odd number of hexadecimal digits");
	} else if (s->len - start < min) {
		scan_set_fault(s, "missing data");
	}
}

static bool put_base64(rdata_scanner_t *s, const char *text, size_t len, knot_base64_state_t *state)
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
	while (!at_end(s)) {
		if (!need_word(s, "invalid base64 character") || !put_base64(s, s->tok.data, s->tok.len, &state)) {
			return;
		}
		advance(s);
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
	if (!need_word(s, "invalid hexadecimal character")) {
		return;
	}
	size_t start = s->len;
	knot_hex_state_t state = { 0 };
	bool is_empty = s->tok.len == 1 && s->tok.data[0] == '-';
	if (!put_u8(s, 0) || (!is_empty && !put_hex(s, s->tok.data, s->tok.len, &state))) {
		return;
	}
	size_t len = s->len - start - 1;
	if (state.has_digit || len > UINT8_MAX) {
		scan_set_fault(s,
				state.has_digit ? "odd number of hexadecimal digits" : "salt is longer than 255 bytes");
		return;
	}
	s->out[start] = (uint8_t)len;
	advance(s);
}

/* NSEC3 next hashed owner: length byte and bytes, base32hex without padding (RFC 5155 3.3). */
static void scan_hash(rdata_scanner_t *s)
{
	if (!need_word(s, "invalid base32hex character")) {
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
	advance(s);
}

/* `pairs` hex pairs with dashes between (RFC 7043 3.2, 4.2). */
static void scan_eui(rdata_scanner_t *s, size_t pairs)
{
	if (!need_word(s, "invalid EUI address")) {
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
	advance(s);
}

/* Four groups of one to four hex digits with colons between (RFC 6742 2.1.2). */
static void scan_node_id(rdata_scanner_t *s)
{
	if (!need_word(s, "invalid node identifier")) {
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
		if (!put_u16(s, (uint16_t)value)) {
			return;
		}
	}
	advance(s);
}

/* ---- names and texts ---- */

static void scan_name_field(rdata_scanner_t *s)
{
	if (!need_word(s, "invalid domain name")) {
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
	advance(s);
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
		advance(s);
		return true;
	}
	const char *reason = scan_text(s->tok.data, s->tok.len, s->out + s->len, max < left ? max : left, &len);
	if (reason != NULL) {
		s->is_full = left < max && s->tok.len > left;
		scan_set_fault(s, reason);
		return false;
	}
	s->len += len;
	advance(s);
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
	if (s->status == SCAN_OK && put_u8(s, 0) && scan_put_text(s, UINT8_MAX)) {
		s->out[start] = (uint8_t)(s->len - start - 1);
	}
}

static void scan_strings(rdata_scanner_t *s)
{
	do {
		scan_string(s);
	} while (!at_end(s));
}

static void scan_tag(rdata_scanner_t *s)
{
	if (need_word(s, "invalid tag")) {
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
	while (!at_end(s)) {
		uint16_t type;
		if (!need_word(s, "invalid bitmap")) {
			break;
		}
		if (!rdata_scan_type(s, &s->tok, &type)) {
			scan_set_fault(s, "invalid bitmap, unsupported record type");
			break;
		}
		s->bitmap[type >> 8][(type & 0xFF) / 8] |= 0x80 >> (type & 7);
		window_max = (unsigned)(type >> 8) > window_max ? type >> 8 : window_max;
		has_types = true;
		advance(s);
	}
	for (unsigned window = 0; has_types && window <= window_max; window++) {
		uint8_t *bits = s->bitmap[window], len = 32;
		while (len > 0 && bits[len - 1] == 0) {
			len--;
		}
		if (len > 0 && s->status == SCAN_OK) {
			(void)(put_u8(s, (uint8_t)window) && put_u8(s, len) && scan_put_bytes(s, bits, len));
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
	bool is_valid = family == 1 ? parse_ipv4(colon + 1, address_len, address) && prefix <= 32
				    : family == 2 && parse_ipv6(colon + 1, address_len, address) && prefix <= 128;
	if (!is_valid) {
		return "invalid address prefix";
	}
	while (size > 0 && address[size - 1] == 0) { /* RFC 3123 4: no trailing zeros */
		size--;
	}
	(void)(put_u16(s, (uint16_t)family) && put_u8(s, (uint8_t)prefix) &&
			put_u8(s, (uint8_t)((is_negated ? 0x80 : 0) | size)) && scan_put_bytes(s, address, size));
	return NULL;
}

static void scan_apl(rdata_scanner_t *s)
{
	while (!at_end(s)) {
		if (!need_word(s, "invalid address prefix")) {
			return;
		}
		const char *reason = scan_apl_item(s, s->tok.data, s->tok.len);
		if (reason != NULL) {
			scan_set_fault(s, reason);
			return;
		}
		if (s->status == SCAN_OK) {
			advance(s);
		}
	}
}

/* ---- LOC, RFC 1876 3 ---- */

/* Decimal number with up to `decimals` digits behind the point and an optional 'm', times 10^decimals. */
static bool parse_decimal(const char *text, size_t len, unsigned decimals, bool is_metres, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned behind = 0, digits = 0;
	bool has_point = false;
	if (is_metres && len > 1 && text[len - 1] == 'm') {
		len--;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (!knot_is_digit(text[i]) || digits == 12 || (has_point && behind == decimals)) {
			return false;
		}
		value = value * 10 + (uint64_t)(text[i] - '0');
		digits++;
		behind += has_point;
	}
	for (; behind < decimals; behind++) {
		value *= 10;
	}
	*ret = value;
	return digits > 0;
}

/* Degrees [minutes [seconds]] hemisphere, as thousandths of a second of arc from the equator or prime meridian. */
static void scan_angle(rdata_scanner_t *s, char positive, char negative, unsigned degrees_max, uint32_t *ret)
{
	static const uint64_t limits[] = { 180, 59, 59999 };
	static const uint32_t scale[] = { 3600000, 60000, 1 };
	uint64_t total = 0;
	unsigned part = 0;
	for (;; part++) {
		if (!need_word(s, "invalid location")) {
			return;
		}
		char c = s->tok.data[0] & (char)~0x20;
		if (part > 0 && s->tok.len == 1 && (c == positive || c == negative)) {
			break;
		}
		uint64_t value;
		if (part == 3 || !parse_decimal(s->tok.data, s->tok.len, part == 2 ? 3 : 0, false, &value) ||
				value > limits[part]) {
			scan_set_fault(s, "invalid location");
			return;
		}
		total += value * scale[part];
		advance(s);
	}
	if (total > (uint64_t)degrees_max * scale[0]) {
		scan_set_fault(s, "invalid location");
		return;
	}
	bool is_positive = (s->tok.data[0] & (char)~0x20) == positive;
	*ret = (uint32_t)(is_positive ? (1U << 31) + total : (1U << 31) - total);
	advance(s);
}

/* Metres as one digit and a power of ten in centimetres. */
static bool parse_precision(const token_t *tok, uint8_t *ret)
{
	uint64_t cm;
	if (!parse_decimal(tok->data, tok->len, 2, true, &cm) || cm > 9000000000u) {
		return false;
	}
	unsigned exponent = 0;
	while (cm > 9) {
		cm /= 10;
		exponent++;
	}
	*ret = (uint8_t)(cm << 4 | exponent);
	return true;
}

static bool parse_altitude(const token_t *tok, uint32_t *ret)
{
	bool is_negative = tok->len > 1 && tok->data[0] == '-';
	uint64_t cm;
	if (!parse_decimal(tok->data + is_negative, tok->len - is_negative, 2, true, &cm) ||
			(is_negative ? cm > 10000000 : cm > UINT32_MAX - 10000000u)) {
		return false;
	}
	*ret = (uint32_t)(is_negative ? 10000000 - cm : 10000000 + cm);
	return true;
}

static void scan_loc(rdata_scanner_t *s)
{
	uint8_t precision[3] = { 0x12, 0x16, 0x13 }; /* 1 m, 10 km, 10 m: RFC 1876 3 */
	uint32_t latitude = 0, longitude = 0, altitude = 0;
	scan_angle(s, 'N', 'S', 90, &latitude);
	scan_angle(s, 'E', 'W', 180, &longitude);
	if (!need_word(s, "invalid location")) {
		return;
	}
	if (!parse_altitude(&s->tok, &altitude)) {
		scan_set_fault(s, "invalid location");
		return;
	}
	advance(s);
	for (unsigned i = 0; i < 3 && !at_end(s); i++) {
		if (!need_word(s, "invalid location") || !parse_precision(&s->tok, &precision[i])) {
			scan_set_fault(s, "invalid location");
			return;
		}
		advance(s);
	}
	(void)(s->status == SCAN_OK && put_u8(s, 0) && scan_put_bytes(s, precision, sizeof(precision)) &&
			put_u32(s, latitude) && put_u32(s, longitude) && put_u32(s, altitude));
}

/* ---- IPSECKEY gateway ---- */

static void scan_gateway(rdata_scanner_t *s)
{
	if (!need_word(s, "invalid gateway")) {
		return;
	}
	switch (s->out[s->len - 2]) {
	case 0:
		if (s->tok.len != 1 || s->tok.data[0] != '.') {
			scan_set_fault(s, "invalid gateway");
			return;
		}
		advance(s);
		break;
	case 1: scan_ipv4(s); break;
	case 2: scan_ipv6(s); break;
	case 3: scan_name_field(s); break;
	default: scan_set_fault(s, "invalid gateway type"); break;
	}
}

/* ---- SvcParams, RFC 9460 2.1 and appendix A ---- */

/*
 * Next item of a comma-separated list in raw text (appendix A.1). Text escapes are resolved first, then, for lists of
 * texts (`is_escaped`), the list's own: backslash before comma or backslash.
 */
static bool next_item(knot_str_t text, size_t *pos, bool is_escaped, uint8_t *item, size_t max, size_t *ret_len)
{
	size_t len = 0;
	while (*pos < text.len) {
		uint8_t c;
		size_t at = *pos;
		if (!scan_char(text.data, text.len, &at, &c)) {
			return false;
		}
		if (c == ',') {
			break;
		}
		if (is_escaped && c == '\\' && (at == text.len || !scan_char(text.data, text.len, &at, &c))) {
			return false;
		}
		if (len == max) {
			return false;
		}
		item[len++] = c;
		*pos = at;
	}
	*ret_len = len;
	return len > 0;
}

static void put_mandatory(rdata_scanner_t *s, size_t start)
{
	/* Keys were appended in any order; insertion sort in place, duplicates are a fault. */
	for (size_t i = start + 2; i < s->len; i += 2) {
		uint16_t key = load_be16(s->out + i);
		size_t k = i;
		for (; k > start && load_be16(s->out + k - 2) > key; k -= 2) {
			store_be16(s->out + k, load_be16(s->out + k - 2));
		}
		store_be16(s->out + k, key);
	}
	for (size_t i = start; i + 4 <= s->len; i += 2) {
		if (load_be16(s->out + i) == load_be16(s->out + i + 2)) {
			scan_set_fault(s, "duplicate SvcParam key");
		}
	}
}

static void put_list_item(rdata_scanner_t *s, knot_svcparam_kind_t kind, const uint8_t *item, size_t len)
{
	uint8_t address[16];
	uint16_t key;
	const char *text = (const char *)item;
	if (kind == SVCPARAM_ALPN) {
		(void)(put_u8(s, (uint8_t)len) && scan_put_bytes(s, item, len));
	} else if (kind == SVCPARAM_IPV4 && parse_ipv4(text, len, address)) {
		scan_put_bytes(s, address, 4);
	} else if (kind == SVCPARAM_IPV6 && parse_ipv6(text, len, address)) {
		scan_put_bytes(s, address, 16);
	} else if (kind == SVCPARAM_MANDATORY && knot_svcparam_key((knot_str_t){ text, len }, &key)) {
		put_u16(s, key);
	} else {
		scan_set_fault(s, "invalid SvcParam value");
	}
}

static void put_list(rdata_scanner_t *s, knot_svcparam_kind_t kind, knot_str_t text)
{
	uint8_t item[UINT8_MAX];
	size_t start = s->len, pos = 0, len;
	bool has_more = true;
	while (has_more && s->status == SCAN_OK) {
		if (!next_item(text, &pos, kind == SVCPARAM_ALPN, item, sizeof(item), &len)) {
			scan_set_fault(s, "invalid SvcParam value");
			return;
		}
		put_list_item(s, kind, item, len);
		has_more = pos < text.len; /* at a comma, however it is spelt; one at the end leaves an empty item */
		if (has_more) {
			uint8_t comma;
			(void)scan_char(text.data, text.len, &pos, &comma);
		}
	}
	if (kind == SVCPARAM_MANDATORY && s->status == SCAN_OK) {
		put_mandatory(s, start);
	}
}

static void put_svc_text(rdata_scanner_t *s, knot_str_t text)
{
	size_t len;
	const char *reason = scan_text(text.data, text.len, s->out + s->len, s->max - s->len, &len);
	if (reason != NULL) {
		s->is_full = text.len > s->max - s->len;
		scan_set_fault(s, reason);
		return;
	}
	s->len += len;
}

/* The value of one SvcParam from raw text, behind what is written. */
static void put_svc_value(rdata_scanner_t *s, knot_svcparam_kind_t kind, knot_str_t text)
{
	uint32_t port;
	knot_base64_state_t base64 = { 0 };
	if (kind == SVCPARAM_EMPTY ? text.len > 0 : kind != SVCPARAM_OPAQUE && text.len == 0) {
		scan_set_fault(s, text.len > 0 ? "unexpected SvcParam value" : "missing SvcParam value");
		return;
	}
	switch (kind) {
	case SVCPARAM_OPAQUE:
	case SVCPARAM_DOHPATH: put_svc_text(s, text); break;
	case SVCPARAM_EMPTY: break;
	case SVCPARAM_PORT:
		if (scan_number(text.data, text.len, UINT16_MAX, &port) != NULL) {
			scan_set_fault(s, "invalid SvcParam value");
		} else {
			put_u16(s, (uint16_t)port);
		}
		break;
	case SVCPARAM_BASE64:
		if (put_base64(s, text.data, text.len, &base64) && base64.digit_count != 0) {
			scan_set_fault(s, "incomplete base64 data");
		}
		break;
	case SVCPARAM_MANDATORY:
	case SVCPARAM_ALPN:
	case SVCPARAM_IPV4:
	case SVCPARAM_IPV6: put_list(s, kind, text); break;
	}
}

/* Moves the parameter at `at` to its place among the sorted ones from `start`. False: its key is there already. */
static bool sort_param(rdata_scanner_t *s, size_t start, size_t at)
{
	uint16_t key = load_be16(s->out + at);
	size_t pos = start;
	while (pos < at && load_be16(s->out + pos) < key) {
		pos += 4U + load_be16(s->out + pos + 2);
	}
	if (pos == at) {
		return true;
	}
	if (load_be16(s->out + pos) == key) {
		return false;
	}
	/* Rotate [pos..at)[at..len) by three reversals: no scratch memory. */
	size_t bounds[][2] = { { pos, at }, { at, s->len }, { pos, s->len } };
	for (size_t i = 0; i < KNOT_LEN(bounds); i++) {
		for (size_t a = bounds[i][0], b = bounds[i][1]; a + 1 < b; a++) {
			b--;
			uint8_t byte = s->out[a];
			s->out[a] = s->out[b];
			s->out[b] = byte;
		}
	}
	return true;
}

/* Takes the quotes off `value` in place. False: quotes elsewhere than around the whole value. */
static bool unquote(knot_str_t *value)
{
	if (value->len < 2 || value->data[0] != '"' || value->data[value->len - 1] != '"') {
		return false;
	}
	*value = (knot_str_t){ value->data + 1, value->len - 2 };
	for (size_t i = 0; i < value->len; i += value->data[i] == '\\' ? 2 : 1) {
		if (value->data[i] == '"') {
			return false;
		}
	}
	return true;
}

/* key or key=value or key="value" */
static void scan_svcparam(rdata_scanner_t *s, size_t start)
{
	knot_str_t key_text = { s->tok.data, s->tok.len }, value = { s->tok.data, 0 };
	const char *equals = memchr(s->tok.data, '=', s->tok.len);
	if (equals != NULL) {
		key_text.len = (size_t)(equals - s->tok.data);
		value = (knot_str_t){ equals + 1, s->tok.len - key_text.len - 1 };
	}
	uint16_t key;
	if (!knot_svcparam_key(key_text, &key)) {
		scan_set_fault(s, "invalid SvcParam key");
		return;
	}
	if (s->tok.has_quote && !unquote(&value)) {
		scan_set_fault(s, "invalid SvcParam value");
		return;
	}
	size_t at = s->len;
	if (!put_u16(s, key) || !put_u16(s, 0)) {
		return;
	}
	put_svc_value(s, knot_svcparam(key)->kind, value);
	if (s->status != SCAN_OK) {
		return;
	}
	store_be16(s->out + at + 2, (uint16_t)(s->len - at - 4));
	if (!sort_param(s, start, at)) {
		scan_set_fault(s, "duplicate SvcParam key");
		return;
	}
	advance(s);
}

static void scan_svcparams(rdata_scanner_t *s)
{
	size_t start = s->len;
	while (!at_end(s)) {
		if (s->tok.kind != TOKEN_WORD) {
			scan_set_fault(s, "invalid SvcParam key");
			return;
		}
		scan_svcparam(s, start);
	}
	if (s->status == SCAN_OK && !knot_svcparams_check((knot_bytes_t){ s->out + start, s->len - start })) {
		scan_set_fault(s, "invalid SvcParams, mandatory key missing or invalid value");
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
	advance(s);
	if (!need_word(s, "invalid number")) {
		return;
	}
	const char *reason = scan_number(s->tok.data, s->tok.len, UINT16_MAX, &len);
	if (reason != NULL) {
		scan_set_fault(s, reason);
		return;
	}
	advance(s);
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
	advance(s);
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
