/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of single tokens: names, numbers, periods, texts. */
#include "libknot/text/rdata_scan.h"

#include "libknot/base/number.h"

static const char *name_fault(knot_err_t err)
{
	switch ((int)err) {
	case KNOT_OK: return NULL;
	case KNOT_EEMPTYLABEL: return "invalid domain name, empty label";
	case KNOT_ELABELLEN: return "invalid domain name, label longer than 63 bytes";
	case KNOT_ENAMELEN: return "invalid domain name, longer than 255 bytes";
	case KNOT_EBADESC: return "invalid escape sequence";
	case KNOT_ENOORIGIN: return "relative domain name without an origin";
	default: return "invalid domain name";
	}
}

/*
 * What may stand in a name as it is: the letters, digits and signs that Knot takes. Anything else is escaped, so that
 * a zone that we load is one that Knot loads, too, and no UTF-8 gets into names by mistake.
 */
static const uint8_t name_chars[256] = {
	['0' ... '9'] = 1,
	['A' ... 'Z'] = 1,
	['a' ... 'z'] = 1,
	['-'] = 1,
	['_'] = 1,
	['/'] = 1,
	['*'] = 1,
	['.'] = 1,
};

static const char bad_char[] = "invalid domain name character";

const char *scan_name_chars(knot_str_t text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\\') {
			i++; /* a digit of \\DDD needs no look */
		} else if (!name_chars[(uint8_t)text.data[i]]) {
			return bad_char;
		}
	}
	return NULL;
}

enum { CHUNK = 64 };

#ifdef __SSE2__
/* All ones where v is from..from + count - 1. */
static inline __m128i is_between(__m128i v, char from, char count)
{
	__m128i above = _mm_sub_epi8(v, _mm_set1_epi8(from)); /* unsigned: what is below wraps around */
	return _mm_cmpeq_epi8(_mm_min_epu8(above, _mm_set1_epi8((char)(count - 1))), above);
}

/* As name_chars. */
static inline __m128i is_name_char(__m128i v)
{
	__m128i letter = is_between(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 26);
	__m128i number = is_between(v, '-', 13); /* - . / 0 to 9 */
	__m128i sign = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('_')), _mm_cmpeq_epi8(v, _mm_set1_epi8('*')));
	return _mm_or_si128(_mm_or_si128(letter, number), sign);
}
#endif

/*
 * Where dots are among the first `len` (at most CHUNK) of the `room` bytes at `p`: bit 0 is the first byte.
 * ret_good: bits of those that may stand in a name.
 */
static inline uint64_t find_dots(const uint8_t *p, size_t len, size_t room, uint64_t *ret_good)
{
	uint64_t dots = 0, good = 0;
	size_t i = 0;
#ifdef __SSE2__
	for (; i < len && i + 16 <= room; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		dots |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('.'))) << i;
		good |= (uint64_t)(unsigned)_mm_movemask_epi8(is_name_char(v)) << i;
	}
#else
	(void)room;
#endif
	for (; i < len; i++) {
		dots |= (uint64_t)(p[i] == '.') << i;
		good |= (uint64_t)name_chars[p[i]] << i;
	}
	uint64_t all = len < CHUNK ? (1ull << len) - 1 : UINT64_MAX;
	*ret_good = good & all;
	return dots & all;
}

const char *scan_name(const token_t *tok, knot_name_t origin, uint8_t wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	if (tok->kind != TOKEN_WORD || tok->has_quote) {
		return "invalid domain name";
	}
	const char *text = tok->data;
	size_t len = tok->len;
	if (tok->has_escape && scan_name_chars((knot_str_t){ text, len }) != NULL) {
		return bad_char;
	}
	if (tok->has_escape || len > KNOT_NAME_MAX - 2 || (len == 1 && (*text == '.' || *text == '@'))) {
		return name_fault(knot_name_scan((knot_str_t){ text, len }, origin, wire, ret_name));
	}
	/* The text moves by one byte: dots become the lengths of the labels behind them. */
	memcpy(wire + 1, text, len);
	size_t label = 0; /* where the current label's length byte goes */
	unsigned labels = 0;
	for (size_t from = 0; from < len; from += CHUNK) {
		size_t count = len - from < CHUNK ? len - from : CHUNK;
		uint64_t good, dots = find_dots(wire + 1 + from, count, KNOT_NAME_MAX - 1 - from, &good);
		if (good != (count < CHUNK ? (1ull << count) - 1 : UINT64_MAX)) {
			return bad_char;
		}
		for (; dots != 0; dots &= dots - 1) {
			size_t i = from + (size_t)__builtin_ctzll(dots), label_len = i - label;
			if (label_len - 1 >= KNOT_LABEL_MAX) { /* 0 wraps around */
				return name_fault(label_len == 0 ? KNOT_EEMPTYLABEL : KNOT_ELABELLEN);
			}
			wire[label] = (uint8_t)label_len;
			label = i + 1;
			labels++;
		}
	}
	if (label == len) { /* the final dot */
		wire[len] = 0;
		*ret_name = (knot_name_t){ wire, (uint8_t)(len + 1), (uint8_t)labels };
		return NULL;
	}
	if (len - label > KNOT_LABEL_MAX) {
		return name_fault(KNOT_ELABELLEN);
	}
	if (origin.wire == NULL) {
		return name_fault(KNOT_ENOORIGIN);
	}
	if (len + 1 + origin.len > KNOT_NAME_MAX) {
		return name_fault(KNOT_ENAMELEN);
	}
	wire[label] = (uint8_t)(len - label);
	memcpy(wire + len + 1, origin.wire, origin.len);
	*ret_name = (knot_name_t){ wire, (uint8_t)(len + 1 + origin.len), (uint8_t)(labels + 1 + origin.label_count) };
	return NULL;
}

static const char *number_fault(uint32_t max)
{
	return max == UINT8_MAX    ? "number is bigger than 8 bits"
	       : max == UINT16_MAX ? "number is bigger than 16 bits"
				   : "number is bigger than 32 bits";
}

const char *scan_number(const char *text, size_t len, uint32_t max, uint32_t *ret)
{
	uint64_t value;
	switch (knot_number_scan((knot_str_t){ text, len }, max, &value)) {
	case KNOT_NUMBER_OK: *ret = (uint32_t)value; return NULL;
	case KNOT_NUMBER_TOO_BIG: return number_fault(max);
	case KNOT_NUMBER_INVALID: break;
	}
	return "invalid number";
}

static uint32_t unit_seconds(char unit)
{
	switch (unit | 0x20) {
	case 's': return 1;
	case 'm': return 60;
	case 'h': return 3600;
	case 'd': return 86400;
	case 'w': return 604800;
	default: return 0;
	}
}

const char *scan_period(const char *text, size_t len, uint32_t *ret)
{
	uint64_t total = 0, value = 0;
	bool has_digit = false, has_unit = false;
	for (size_t i = 0; i < len; i++) {
		if (knot_is_digit(text[i])) {
			value = value * 10 + (uint64_t)(text[i] - '0');
			has_digit = true;
		} else {
			uint32_t seconds = unit_seconds(text[i]);
			if (!has_digit) {
				return "invalid number";
			}
			if (seconds == 0) {
				return "invalid time unit";
			}
			total += value * seconds;
			value = 0;
			has_digit = false;
			has_unit = true;
		}
		if (value > UINT32_MAX || total > UINT32_MAX) {
			return "number is bigger than 32 bits";
		}
	}
	if (has_digit == has_unit) { /* nothing, or digits behind the last unit */
		return has_unit ? "invalid time unit" : "invalid number";
	}
	*ret = (uint32_t)(total + value);
	return NULL;
}

bool scan_char(const char *text, size_t len, size_t *pos, uint8_t *ret)
{
	if (text[*pos] != '\\') {
		*ret = (uint8_t)text[(*pos)++];
		return true;
	}
	const char *p = text + *pos + 1;
	size_t left = len - *pos - 1;
	if (left >= 1 && !knot_is_digit(p[0])) {
		*ret = (uint8_t)p[0];
		*pos += 2;
		return true;
	}
	if (left < 3 || !knot_is_digit(p[1]) || !knot_is_digit(p[2])) {
		return false;
	}
	unsigned value = (unsigned)((p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0'));
	*ret = (uint8_t)value;
	*pos += 4;
	return value <= UINT8_MAX;
}

const char *scan_text(const char *text, size_t len, uint8_t *ret, size_t max, size_t *ret_len)
{
	size_t count = 0;
	for (size_t i = 0; i < len;) {
		uint8_t c;
		if (!scan_char(text, len, &i, &c)) {
			return "invalid escape sequence";
		}
		if (count == max) {
			return "text is too long";
		}
		ret[count++] = c;
	}
	*ret_len = count;
	return NULL;
}
