/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/name/name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} owned_name_t;

static knot_name_t scan(const char *text, owned_name_t *ret)
{
	knot_err_t err = knot_name_scan(knot_str_of(text), knot_name_root, ret->wire, &ret->name);
	if (err != KNOT_OK) {
		fail_msg("'%s': %s", text, knot_strerror(err));
	}
	return ret->name;
}

static const char label_63[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void test_scan(void **state)
{
	(void)state;
	static const struct {
		const char *text, *origin;
		knot_err_t want;
		const char *want_wire;
		uint8_t want_len, want_labels;
	} rows[] = {
		{ ".", NULL, KNOT_OK, "", 1, 0 },
		{ "a.", NULL, KNOT_OK, "\1a", 3, 1 },
		{ "Ab.c.", NULL, KNOT_OK, "\2Ab\1c", 6, 2 },
		{ "a", ".", KNOT_OK, "\1a", 3, 1 },
		{ "a.b", "c.d.", KNOT_OK, "\1a\1b\1c\1d", 9, 4 },
		{ "@", "c.d.", KNOT_OK, "\1c\1d", 5, 2 },
		{ "\\@", "c.", KNOT_OK, "\1@\1c", 5, 2 },
		{ "@.", NULL, KNOT_OK, "\1@", 3, 1 },
		{ "a\\.b.", NULL, KNOT_OK, "\3a.b", 5, 1 },
		{ "\\097\\\\.", NULL, KNOT_OK, "\2a\\", 4, 1 },
		{ "\\255.", NULL, KNOT_OK, "\1\377", 3, 1 },
		{ "*.a.", NULL, KNOT_OK, "\1*\1a", 5, 2 },
		{ "", ".", KNOT_EEMPTYLABEL, NULL, 0, 0 },
		{ "..", ".", KNOT_EEMPTYLABEL, NULL, 0, 0 },
		{ ".a", ".", KNOT_EEMPTYLABEL, NULL, 0, 0 },
		{ "a..b.", ".", KNOT_EEMPTYLABEL, NULL, 0, 0 },
		{ "a", NULL, KNOT_ENOORIGIN, NULL, 0, 0 },
		{ "@", NULL, KNOT_ENOORIGIN, NULL, 0, 0 },
		{ "a\\", ".", KNOT_EBADESC, NULL, 0, 0 },
		{ "a\\25.", ".", KNOT_EBADESC, NULL, 0, 0 },
		{ "a\\2x5.", ".", KNOT_EBADESC, NULL, 0, 0 },
		{ "\\256.", ".", KNOT_EBADESC, NULL, 0, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t wire[KNOT_NAME_MAX];
		owned_name_t origin = { .name = { 0 } };
		knot_name_t none = { 0 }, name = { 0 };
		knot_name_t from = rows[i].origin != NULL ? scan(rows[i].origin, &origin) : none;
		knot_err_t err = knot_name_scan(knot_str_of(rows[i].text), from, wire, &name);
		if (err != rows[i].want) {
			fail_msg("'%s': got %s", rows[i].text, knot_strerror(err));
		}
		if (err == KNOT_OK) {
			assert_int_equal(name.len, rows[i].want_len);
			assert_int_equal(name.label_count, rows[i].want_labels);
			assert_memory_equal(wire, rows[i].want_wire, name.len);
		}
	}
}

static void test_scan_limits(void **state)
{
	(void)state;
	char text[1100];
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	/* 63 + 63 + 63 + 61 bytes in four labels are 255 bytes of wire. */
	snprintf(text, sizeof(text), "%s.%s.%s.%.61s.", label_63, label_63, label_63, label_63);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	assert_int_equal(name.len, 255);
	text[strlen(text) - 1] = '\0';
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	assert_int_equal(name.len, 255);
	snprintf(text, sizeof(text), "%s.%s.%s.%.62s.", label_63, label_63, label_63, label_63);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_ENAMELEN);
	snprintf(text, sizeof(text), "%s.%s.%s.%.60s.b.", label_63, label_63, label_63, label_63);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_ENAMELEN);
	snprintf(text, sizeof(text), "%sa.", label_63);
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_ELABELLEN);

	for (unsigned i = 0; i < 127; i++) {
		memcpy(text + 2 * i, "a.", 3);
	}
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	assert_int_equal(name.len, 255);
	assert_int_equal(name.label_count, 127);
	uint8_t key[KNOT_NAME_KEY_MAX];
	assert_int_equal(knot_name_key(name, key), 254);
	assert_int_equal(knot_name_strip(name, 127).len, 1);
}

static void test_print(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ ".", "." },
		{ "Www.Example.", "Www.Example." },
		{ "a_b-*/9.", "a_b-*/9." },
		{ "\\000\\032\\127\\200#.", "\\000\\032\\127\\200\\035." },
		{ "\\!\\\"\\$\\@\\;\\(\\.\\\\.", "\\!\\\"\\$\\@\\;\\(\\.\\\\." },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		owned_name_t name;
		char text[KNOT_NAME_TEXT_MAX];
		assert_int_equal(knot_name_print(scan(rows[i].text, &name), text), strlen(rows[i].want));
		assert_string_equal(text, rows[i].want);
	}
}

static void test_read(void **state)
{
	(void)state;
	static const struct {
		const char *what, *bytes;
		size_t len;
		knot_err_t want;
		uint8_t want_len;
	} rows[] = {
		{ "root", "\0xx", 3, KNOT_OK, 1 },
		{ "two labels", "\1a\2bc\0", 6, KNOT_OK, 6 },
		{ "empty", "", 0, KNOT_EMALF, 0 },
		{ "no root label", "\1a", 2, KNOT_EMALF, 0 },
		{ "label cut short", "\3ab", 3, KNOT_EMALF, 0 },
		{ "pointer", "\300\014", 2, KNOT_EMALF, 0 },
		{ "reserved label type", "\100ab\0", 4, KNOT_EMALF, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t *exact = malloc(rows[i].len > 0 ? rows[i].len : 1); /* so that ASan sees one byte too many */
		memcpy(exact, rows[i].bytes, rows[i].len);
		knot_name_t name;
		knot_err_t err = knot_name_read((knot_bytes_t){ exact, rows[i].len }, &name);
		if (err != rows[i].want) {
			fail_msg("%s: got %s", rows[i].what, knot_strerror(err));
		}
		if (err == KNOT_OK) {
			assert_int_equal(name.len, rows[i].want_len);
		}
		free(exact);
	}
	uint8_t wire[257] = { 0 };
	for (unsigned i = 0; i < 256; i += 2) {
		wire[i] = 1;
	}
	wire[254] = 0;
	knot_name_t name;
	assert_int_equal(knot_name_read((knot_bytes_t){ wire, 257 }, &name), KNOT_OK);
	assert_int_equal(name.len, 255);
	wire[254] = 1;
	assert_int_equal(knot_name_read((knot_bytes_t){ wire, 257 }, &name), KNOT_EMALF);
}

static void test_unpack(void **state)
{
	(void)state;
	static const struct {
		const char *what, *msg;
		size_t len, pos;
		knot_err_t want;
		const char *want_text;
		size_t want_pos;
	} rows[] = {
		{ "plain", "\1a\1b\0x", 6, 0, KNOT_OK, "a.b.", 5 },
		{ "pointer", "\1b\0\1a\300\0x", 8, 3, KNOT_OK, "a.b.", 7 },
		{ "pointer to pointer", "\1c\0\1b\300\0\1a\300\3", 11, 7, KNOT_OK, "a.b.c.", 11 },
		{ "pointer alone", "\1b\0\300\0", 5, 3, KNOT_OK, "b.", 5 },
		{ "pointer to itself", "\300\0", 2, 0, KNOT_EMALF, NULL, 0 },
		{ "loop over a label", "\1a\300\0", 4, 0, KNOT_EMALF, NULL, 0 },
		{ "forward", "\300\2\1a\0", 5, 0, KNOT_EMALF, NULL, 0 },
		{ "two-step loop", "\300\2\300\0", 4, 2, KNOT_EMALF, NULL, 0 },
		{ "cut label", "\3ab", 3, 0, KNOT_EMALF, NULL, 0 },
		{ "cut pointer", "\300", 1, 0, KNOT_EMALF, NULL, 0 },
		{ "position at end", "\0", 1, 1, KNOT_EMALF, NULL, 0 },
		{ "reserved type", "\200\0", 2, 0, KNOT_EMALF, NULL, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t wire[KNOT_NAME_MAX];
		uint8_t *exact = malloc(rows[i].len);
		memcpy(exact, rows[i].msg, rows[i].len);
		knot_name_t name;
		size_t pos = rows[i].pos;
		knot_err_t err = knot_name_unpack((knot_bytes_t){ exact, rows[i].len }, &pos, wire, &name);
		if (err != rows[i].want) {
			fail_msg("%s: got %s", rows[i].what, knot_strerror(err));
		}
		if (err == KNOT_OK) {
			char text[KNOT_NAME_TEXT_MAX];
			knot_name_print(name, text);
			assert_string_equal(text, rows[i].want_text);
			assert_int_equal(pos, rows[i].want_pos);
		}
		free(exact);
	}
}

/* Pointers that lead to pointers: as many as a name can have labels, and not one more. */
static void test_unpack_chain(void **state)
{
	(void)state;
	enum { COUNT = KNOT_LABEL_COUNT_MAX + 1 };
	uint8_t msg[2 + 2 * COUNT] = { 0 };
	for (size_t i = 1; i <= COUNT; i++) {
		store_be16(msg + 2 * i, (uint16_t)(0xC000 | (2 * (i - 1))));
	}
	for (size_t pointers = COUNT - 1; pointers <= COUNT; pointers++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t name;
		size_t pos = 2 * pointers;
		knot_err_t err = knot_name_unpack((knot_bytes_t){ msg, sizeof(msg) }, &pos, wire, &name);
		assert_int_equal(err, pointers < COUNT ? KNOT_OK : KNOT_EMALF);
	}
}

static void test_relations(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		int want_cmp;
		bool want_in;
		unsigned want_shared;
	} rows[] = {
		{ "www.example.", "WWW.Example.", 0, true, 2 },
		{ "a.b.", "b.", 1, true, 1 },
		{ "b.", "a.b.", -1, false, 1 },
		{ "a.", "b.", -1, false, 0 },
		{ "ab.", "b.", -1, false, 0 },
		{ "a.b.", ".", 1, true, 0 },
		{ ".", ".", 0, true, 0 },
		{ "z.a.", "a.b.", -1, false, 0 },
		{ "aaa.x.", "aa.x.", 1, false, 1 },
		{ "-.x.", "0.x.", -1, false, 1 },
		{ "\\200.x.", "z.x.", 1, false, 1 },
		{ "abcdefghijk.", "abcdefghijl.", -1, false, 0 },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		owned_name_t a, b;
		scan(rows[i].a, &a);
		scan(rows[i].b, &b);
		int cmp = knot_name_cmp(a.name, b.name);
		assert_int_equal((cmp > 0) - (cmp < 0), rows[i].want_cmp);
		assert_int_equal(knot_name_eq(a.name, b.name), rows[i].want_cmp == 0);
		assert_int_equal(knot_name_in(a.name, b.name), rows[i].want_in);
		assert_int_equal(knot_name_shared_labels(a.name, b.name), rows[i].want_shared);
	}
}

/* The essays of name.h: key order is canonical order, the key of a name is a prefix of the keys below. */
static void test_key_model(void **state)
{
	(void)state;
	const char *seed_text = getenv("KNOT_SEED");
	unsigned seed = seed_text != NULL ? (unsigned)strtoul(seed_text, NULL, 10) : 20240607u;
	srandom(seed);
	for (unsigned round = 0; round < 200000; round++) {
		uint8_t wires[2][KNOT_NAME_MAX], keys[2][KNOT_NAME_KEY_MAX];
		knot_name_t names[2];
		size_t lens[2];
		for (unsigned n = 0; n < 2; n++) {
			size_t len = 0;
			for (long labels = random() % 4; labels > 0; labels--) {
				uint8_t label_len = (uint8_t)(1 + random() % (round % 4 == 0 ? 20 : 3));
				wires[n][len++] = label_len;
				for (unsigned k = 0; k < label_len; k++) {
					wires[n][len++] = random() % 3 ? (uint8_t)("aAbz[_`-."[random() % 9])
								       : (uint8_t)random();
				}
			}
			wires[n][len] = 0;
			if (n == 1 && round % 8 == 0) { /* the same but for one byte of a label */
				len = names[0].len - 1u;
				memcpy(wires[1], wires[0], names[0].len);
				unsigned at = wires[0][0] > 0 ? 1 + (unsigned)random() % wires[0][0] : 0;
				wires[1][at] = at > 0 ? (uint8_t)("aAbz"[random() % 4]) : 0;
			}
			names[n] = knot_name_of(wires[n]);
			/* Where it is the end of a message, with nothing to be read behind it. */
			uint8_t *exact = malloc(len + 1);
			memcpy(exact, wires[n], len + 1);
			lens[n] = knot_name_key(knot_name_of(exact), keys[n]);
			free(exact);
		}
		size_t min = lens[0] < lens[1] ? lens[0] : lens[1];
		int got = memcmp(keys[0], keys[1], min);
		got = got != 0 ? got : (int)lens[0] - (int)lens[1];
		int want = knot_name_cmp(names[0], names[1]);
		if ((got > 0) - (got < 0) != (want > 0) - (want < 0)) {
			fail_msg("key order differs from canonical order, KNOT_SEED=%u round %u", seed, round);
		}
		bool is_prefix = lens[0] >= lens[1] && memcmp(keys[0], keys[1], lens[1]) == 0;
		if (is_prefix != knot_name_in(names[0], names[1])) {
			fail_msg("key prefix differs from name_in, KNOT_SEED=%u round %u", seed, round);
		}
		for (size_t k = 0; k < lens[0]; k++) {
			assert_true(keys[0][k] < KNOT_KEY_POSITIONS);
		}
	}
}

static void test_lower(void **state)
{
	(void)state;
	uint8_t wire[KNOT_NAME_MAX] = { 0 };
	/* All byte values, in labels of 50, also across the eight-byte steps. */
	unsigned value = 0, len = 0;
	while (value < 256 && len < 250) {
		wire[len++] = 24;
		for (unsigned k = 0; k < 24; k++) {
			wire[len++] = (uint8_t)value++;
		}
	}
	knot_name_t name = knot_name_of(wire);
	uint8_t low[KNOT_NAME_MAX];
	knot_name_lower(name, low);
	for (unsigned i = 0; i < name.len; i++) {
		uint8_t c = wire[i];
		assert_int_equal(low[i], c >= 'A' && c <= 'Z' ? c + 32 : c);
	}
	assert_true(knot_name_eq(name, knot_name_of(low)));
	owned_name_t last;
	scan("\\219\\193\\218\\225\\128Z\\255[@.", &last);
	knot_name_lower(last.name, low);
	assert_memory_equal(low, "\11\333\301\332\341\200z\377[@", 11);
}

static void test_round_trip(void **state)
{
	(void)state;
	srandom(7);
	for (unsigned round = 0; round < 20000; round++) {
		uint8_t wire[KNOT_NAME_MAX], again[KNOT_NAME_MAX];
		size_t len = 0;
		for (long labels = random() % 5; labels > 0; labels--) {
			uint8_t label_len = (uint8_t)(1 + random() % 50);
			wire[len++] = label_len;
			for (unsigned k = 0; k < label_len; k++) {
				wire[len++] = (uint8_t)random();
			}
		}
		wire[len] = 0;
		char text[KNOT_NAME_TEXT_MAX];
		size_t text_len = knot_name_print(knot_name_of(wire), text);
		assert_int_equal(text_len, strlen(text));
		knot_name_t name;
		assert_int_equal(knot_name_scan((knot_str_t){ text, text_len }, (knot_name_t){ 0 }, again, &name),
				KNOT_OK);
		assert_int_equal(name.len, len + 1);
		assert_memory_equal(again, wire, name.len);
	}
}

/* RFC 4592 3.3.1; a name of 255 bytes has no room for the label. */
static void test_wildcard_below(void **state)
{
	(void)state;
	static const struct {
		uint8_t len; /* of the encloser: labels of one byte and, for an odd rest, one of two */
		bool want;
	} rows[] = { { 1, true }, { 3, true }, { 252, true }, { 253, true }, { 254, false }, { 255, false } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t encloser_wire[KNOT_NAME_MAX] = { 0 }, wire[KNOT_NAME_MAX];
		knot_name_t encloser = { encloser_wire, rows[i].len, 0 }, wildcard = { 0 };
		for (size_t at = 0; at + 1u < rows[i].len; encloser.label_count++) {
			encloser_wire[at] = rows[i].len - 1u - at == 3 ? 2 : 1;
			memset(encloser_wire + at + 1, 'a', encloser_wire[at]);
			at += 1u + encloser_wire[at];
		}
		encloser_wire[rows[i].len - 1] = 0;
		assert_int_equal(knot_name_wildcard_below(encloser, wire, &wildcard), rows[i].want);
		if (rows[i].want) {
			knot_name_t read;
			assert_int_equal(knot_name_read((knot_bytes_t){ wire, wildcard.len }, &read), KNOT_OK);
			assert_int_equal(read.len, rows[i].len + 2);
			assert_int_equal(read.label_count, wildcard.label_count);
			assert_true(knot_name_is_wildcard(wildcard));
			assert_true(knot_name_eq(knot_name_strip(wildcard, 1), encloser));
		} else {
			assert_null(wildcard.wire);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_scan_limits),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_unpack_chain),
		cmocka_unit_test(test_relations),
		cmocka_unit_test(test_key_model),
		cmocka_unit_test(test_wildcard_below),
		cmocka_unit_test(test_lower),
		cmocka_unit_test(test_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
