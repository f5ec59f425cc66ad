/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/base/encode.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LEN_MAX = 70, ROUNDS = 2000 };

/* RFC 4648 10; base32hex without its padding and in lower case. */
static const struct {
	const char *bytes, *hex, *base64, *base32hex;
} vectors[] = {
	{ "", "", "", "" },
	{ "f", "66", "Zg==", "co" },
	{ "fo", "666f", "Zm8=", "cpng" },
	{ "foo", "666f6f", "Zm9v", "cpnmu" },
	{ "foob", "666f6f62", "Zm9vYg==", "cpnmuog" },
	{ "fooba", "666f6f6261", "Zm9vYmE=", "cpnmuoj1" },
	{ "foobar", "666f6f626172", "Zm9vYmFy", "cpnmuoj1e8" },
};

static unsigned seed = 1;

static unsigned random_below(unsigned end)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % end;
}

static void expect(const char *text, size_t len, const char *want)
{
	assert_int_equal(len, strlen(want));
	assert_memory_equal(text, want, len);
}

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char text[32];
		knot_bytes_t bytes = { (const uint8_t *)vectors[i].bytes, strlen(vectors[i].bytes) };
		expect(text, knot_hex_print(bytes, KNOT_HEX_LOWER, text), vectors[i].hex);
		expect(text, knot_base64_print(bytes, text), vectors[i].base64);
		expect(text, knot_base32hex_print(bytes, text), vectors[i].base32hex);
	}
}

/* Each byte: a digit has exactly one value, and the letters that may be of either case have the same. */
static void test_digits(void **state)
{
	(void)state;
	unsigned hex = 0, base32hex = 0, base64 = 0;
	for (int c = 0; c < 256; c++) {
		const char *at = c != 0 ? strchr("0123456789abcdefghijklmnopqrstuv", tolower(c)) : NULL;
		const char *start = "0123456789abcdefghijklmnopqrstuv";
		at = at != NULL ? start + (strchr(start, tolower(c)) - start) : NULL;
		unsigned value = at != NULL ? (unsigned)(at - start) : KNOT_BAD_DIGIT;
		assert_int_equal(knot_base32hex_digit((char)c), value);
		assert_int_equal(knot_hex_digit((char)c), value < 16 ? value : KNOT_BAD_DIGIT);
		hex += knot_hex_digit((char)c) != KNOT_BAD_DIGIT;
		base32hex += knot_base32hex_digit((char)c) != KNOT_BAD_DIGIT;
		base64 += knot_base64_digit((char)c) != KNOT_BAD_DIGIT;
	}
	assert_int_equal(hex, 22);
	assert_int_equal(base32hex, 54);
	assert_int_equal(base64, 64);
}

/* Text in pieces of random lengths gives what it gives in one. */
static void scan_base64(knot_str_t text, const uint8_t *want, size_t want_len)
{
	knot_base64_state_t in_pieces = { 0 };
	uint8_t bytes[LEN_MAX + 3];
	size_t len = 0, count;
	for (size_t at = 0; at < text.len;) {
		size_t step = 1 + random_below(9);
		step = step < text.len - at ? step : text.len - at;
		knot_mut_bytes_t room = { bytes + len, want_len - len };
		assert_int_equal(knot_base64_add(&in_pieces, (knot_str_t){ text.data + at, step }, room, &count),
				KNOT_DECODE_OK);
		at += step;
		len += count;
	}
	assert_int_equal(in_pieces.digit_count, 0);
	assert_int_equal(len, want_len);
	assert_memory_equal(bytes, want, len);
}

static void scan_hex(knot_str_t text, const uint8_t *want, size_t want_len)
{
	knot_hex_state_t in_pieces = { 0 };
	uint8_t bytes[LEN_MAX + 1];
	size_t len = 0, count;
	for (size_t at = 0; at < text.len;) {
		size_t step = 1 + random_below(5);
		step = step < text.len - at ? step : text.len - at;
		assert_true(knot_hex_add(&in_pieces, (knot_str_t){ text.data + at, step }, bytes + len, &count));
		at += step;
		len += count;
	}
	assert_false(in_pieces.has_digit);
	assert_int_equal(len, want_len);
	assert_memory_equal(bytes, want, len);
}

/* Scanning is the inverse of printing, for random bytes of each length. */
static void test_inverse(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint8_t bytes[LEN_MAX], back[LEN_MAX + 3];
		char text[2 * LEN_MAX + 4];
		size_t len = round % (LEN_MAX + 1), count;
		for (size_t i = 0; i < len; i++) {
			bytes[i] = (uint8_t)random_below(256);
		}
		knot_bytes_t from = { bytes, len };
		knot_hex_case_t letters = round % 2 == 0 ? KNOT_HEX_LOWER : KNOT_HEX_UPPER;
		knot_str_t hex = { text, knot_hex_print(from, letters, text) };
		assert_int_equal(hex.len, KNOT_HEX_LEN(len));
		assert_true(knot_hex_scan(hex, back, &count));
		assert_int_equal(count, len);
		assert_memory_equal(back, bytes, len);
		scan_hex(hex, bytes, len);
		knot_str_t base64 = { text, knot_base64_print(from, text) };
		assert_int_equal(base64.len, KNOT_BASE64_LEN(len));
		scan_base64(base64, bytes, len);
		size_t text_len = knot_base32hex_print(from, text);
		assert_int_equal(text_len, KNOT_BASE32HEX_LEN(len));
		for (size_t i = 0; i < text_len; i++) {
			text[i] = round % 2 == 0 ? text[i] : (char)toupper(text[i]);
		}
		assert_true(knot_base32hex_scan((knot_str_t){ text, text_len }, back));
		assert_memory_equal(back, bytes, len);
	}
}

static const struct {
	const char *what, *text;
	size_t room;
	knot_decode_t want;
	unsigned digits_left;
} base64_rows[] = {
	{ "no group", "", 0, KNOT_DECODE_OK, 0 },
	{ "a part of a group", "Zm9", 3, KNOT_DECODE_OK, 3 },
	{ "padding of one", "Zm8=", 2, KNOT_DECODE_OK, 0 },
	{ "padding of two", "Zg==", 1, KNOT_DECODE_OK, 0 },
	{ "padding of three", "Z===", 3, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "padding alone", "====", 3, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "a digit behind padding", "Zg=v", 3, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "a group behind padding", "Zg==Zm9v", 9, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "padding behind padding", "Zg===", 9, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "a blank", "Zm 9v", 9, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "the alphabet of URLs", "Zm-_", 9, KNOT_DECODE_BAD_DIGIT, 0 },
	{ "no room for a group", "Zm9v", 2, KNOT_DECODE_NO_ROOM, 0 },
	{ "no room for the second group", "Zm9vZm9v", 5, KNOT_DECODE_NO_ROOM, 0 },
	{ "no room for a padded group", "Zm9vZm8=", 4, KNOT_DECODE_NO_ROOM, 0 },
};

static void test_base64_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(base64_rows) / sizeof(base64_rows[0]); i++) {
		print_message("%s\n", base64_rows[i].what);
		knot_base64_state_t scanner = { 0 };
		uint8_t bytes[16];
		size_t len = 99;
		knot_mut_bytes_t room = { bytes, base64_rows[i].room };
		assert_int_equal(knot_base64_add(&scanner, knot_str_of(base64_rows[i].text), room, &len),
				base64_rows[i].want);
		if (base64_rows[i].want == KNOT_DECODE_OK) {
			assert_int_equal(scanner.digit_count, base64_rows[i].digits_left);
		}
	}
}

static void test_hex_faults(void **state)
{
	(void)state;
	uint8_t bytes[4];
	size_t len;
	assert_false(knot_hex_scan(KNOT_STR("0g"), bytes, &len));
	assert_false(knot_hex_scan(KNOT_STR("g0"), bytes, &len));
	assert_false(knot_hex_scan(KNOT_STR("012"), bytes, &len));
	assert_false(knot_hex_scan(KNOT_STR("01 2"), bytes, &len));
	assert_false(knot_base32hex_scan(KNOT_STR("0w"), bytes));
	assert_true(knot_base32hex_scan(KNOT_STR("0v"), bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_base64_faults),
		cmocka_unit_test(test_hex_faults),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
