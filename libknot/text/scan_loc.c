/* SPDX-License-Identifier: BSD-2-Clause */
/* LOC (RFC 1876 3): latitude, longitude, altitude, and up to three precisions. */
#include "libknot/text/scan_fields.h"

#include "libknot/base/number.h"

/* Decimal number with up to `decimals` digits behind the point and an optional 'm', times 10^decimals. */
static bool loc_parse_decimal(const char *text, size_t len, unsigned decimals, bool is_metres, uint64_t *ret)
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
static void loc_scan_angle(rdata_scanner_t *s, char positive, char negative, unsigned degrees_max, uint32_t *ret)
{
	static const uint64_t limits[] = { 180, 59, 59999 };
	static const uint32_t scale[] = { 3600000, 60000, 1 };
	uint64_t total = 0;
	unsigned part = 0;
	for (;; part++) {
		if (!scan_need_word(s, "invalid location")) {
			return;
		}
		char c = s->tok.data[0] & (char)~0x20;
		if (part > 0 && s->tok.len == 1 && (c == positive || c == negative)) {
			break;
		}
		uint64_t value;
		if (part == 3 || !loc_parse_decimal(s->tok.data, s->tok.len, part == 2 ? 3 : 0, false, &value) ||
				value > limits[part]) {
			scan_set_fault(s, "invalid location");
			return;
		}
		total += value * scale[part];
		scan_advance(s);
	}
	if (total > (uint64_t)degrees_max * scale[0]) {
		scan_set_fault(s, "invalid location");
		return;
	}
	bool is_positive = (s->tok.data[0] & (char)~0x20) == positive;
	*ret = (uint32_t)(is_positive ? (1U << 31) + total : (1U << 31) - total);
	scan_advance(s);
}

/* Metres as one digit and a power of ten in centimetres. */
static bool loc_parse_precision(const token_t *tok, uint8_t *ret)
{
	uint64_t cm;
	if (!loc_parse_decimal(tok->data, tok->len, 2, true, &cm) || cm > 9000000000u) {
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

static bool loc_parse_altitude(const token_t *tok, uint32_t *ret)
{
	bool is_negative = tok->len > 1 && tok->data[0] == '-';
	uint64_t cm;
	if (!loc_parse_decimal(tok->data + is_negative, tok->len - is_negative, 2, true, &cm) ||
			(is_negative ? cm > 10000000 : cm > UINT32_MAX - 10000000u)) {
		return false;
	}
	*ret = (uint32_t)(is_negative ? 10000000 - cm : 10000000 + cm);
	return true;
}

void scan_loc(rdata_scanner_t *s)
{
	uint8_t precision[3] = { 0x12, 0x16, 0x13 }; /* 1 m, 10 km, 10 m: RFC 1876 3 */
	uint32_t latitude = 0, longitude = 0, altitude = 0;
	loc_scan_angle(s, 'N', 'S', 90, &latitude);
	loc_scan_angle(s, 'E', 'W', 180, &longitude);
	if (!scan_need_word(s, "invalid location")) {
		return;
	}
	if (!loc_parse_altitude(&s->tok, &altitude)) {
		scan_set_fault(s, "invalid location");
		return;
	}
	scan_advance(s);
	for (unsigned i = 0; i < 3 && !scan_at_end(s); i++) {
		if (!scan_need_word(s, "invalid location") || !loc_parse_precision(&s->tok, &precision[i])) {
			scan_set_fault(s, "invalid location");
			return;
		}
		scan_advance(s);
	}
	(void)(s->status == SCAN_OK && scan_put_u8(s, 0) && scan_put_bytes(s, precision, sizeof(precision)) &&
			scan_put_u32(s, latitude) && scan_put_u32(s, longitude) && scan_put_u32(s, altitude));
}
