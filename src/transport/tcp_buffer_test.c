/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/tcp_buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct {
	const char *what;
	const uint8_t *bytes;
	size_t len;
	size_t whole;   /* messages */
	size_t used;    /* bytes of them with their heads */
	size_t missing; /* of the part after them; 0: there is none */
} rows[] = {
	{ "nothing", NULL, 0, 0, 0, 2 },
	{ "half a length", (const uint8_t *)"\0", 1, 0, 0, 1 },
	{ "length alone", (const uint8_t *)"\0\3", 2, 0, 0, 3 },
	{ "part of a message", (const uint8_t *)"\0\3ab", 4, 0, 0, 1 },
	{ "one", (const uint8_t *)"\0\3abc", 5, 1, 5, 0 },
	{ "one of no bytes", (const uint8_t *)"\0\0", 2, 1, 2, 0 },
	{ "two in one segment", (const uint8_t *)"\0\1a\0\2bc", 7, 2, 7, 0 },
	{ "two and a part", (const uint8_t *)"\0\1a\0\2bc\1\0x", 10, 2, 7, 255 },
	{ "largest length", (const uint8_t *)"\377\377x", 3, 0, 0, 65534 },
};

static void test_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		/* A copy of the exact size: a sanitizer sees a read beyond it. */
		uint8_t *copy = malloc(rows[i].len > 0 ? rows[i].len : 1);
		assert_non_null(copy);
		if (rows[i].len > 0) {
			memcpy(copy, rows[i].bytes, rows[i].len);
		}
		knot_bytes_t bytes = { copy, rows[i].len };
		size_t pos = 0, whole = 0;
		knot_bytes_t message;
		while (tcp_frame_next(bytes, &pos, &message) == TCP_FRAME_WHOLE) {
			whole++;
			assert_ptr_equal(message.data + message.len, copy + pos);
		}
		if (whole != rows[i].whole || pos != rows[i].used) {
			fail_msg("%s: %zu messages in %zu bytes", rows[i].what, whole, pos);
		}
		if (rows[i].missing > 0) {
			size_t missing = tcp_frame_missing((knot_bytes_t){ copy + pos, rows[i].len - pos });
			if (missing != rows[i].missing) {
				fail_msg("%s: %zu missing", rows[i].what, missing);
			}
		}
		free(copy);
	}
}

/* However a stream of messages is cut, the same messages come out, and progress sees each border. */
static void test_any_cut(void **state)
{
	(void)state;
	const char *from_env = getenv("KNOT_SEED");
	unsigned seed = from_env != NULL ? (unsigned)strtoul(from_env, NULL, 10) : 1;
	printf("KNOT_SEED=%u\n", seed);
	srand(seed);
	enum { MESSAGES = 200, ROUNDS = 20 };
	for (int round = 0; round < ROUNDS; round++) {
		tcp_rest_t stream = { 0 }, rest = { 0 };
		size_t lens[MESSAGES];
		for (size_t i = 0; i < MESSAGES; i++) {
			lens[i] = (size_t)rand() % (i % 50 == 0 ? 65536 : 40);
			uint8_t head[2];
			store_be16(head, (uint16_t)lens[i]);
			assert_int_equal(tcp_rest_append(&stream, (knot_bytes_t){ head, 2 }), KNOT_OK);
			for (size_t k = 0; k < lens[i]; k++) {
				uint8_t byte = (uint8_t)(i + k);
				assert_int_equal(tcp_rest_append(&stream, (knot_bytes_t){ &byte, 1 }), KNOT_OK);
			}
		}
		size_t got = 0, ended = 0;
		tcp_progress_t progress = { 0 };
		for (size_t at = 0; at < stream.len;) {
			size_t part = 1 + (size_t)rand() % (round % 2 == 0 ? 7 : 3000);
			part = part < stream.len - at ? part : stream.len - at;
			ended += tcp_progress(&progress, (knot_bytes_t){ stream.data + at, part });
			assert_int_equal(tcp_rest_append(&rest, (knot_bytes_t){ stream.data + at, part }), KNOT_OK);
			at += part;
			size_t pos = 0;
			knot_bytes_t message;
			while (tcp_frame_next((knot_bytes_t){ rest.data, rest.len }, &pos, &message) ==
					TCP_FRAME_WHOLE) {
				assert_int_equal(message.len, lens[got]);
				for (size_t k = 0; k < message.len; k++) {
					assert_int_equal(message.data[k], (uint8_t)(got + k));
				}
				got++;
			}
			tcp_rest_drop(&rest, pos);
			assert_int_equal(ended, got);
		}
		assert_int_equal(got, MESSAGES);
		assert_int_equal(rest.len, 0);
		assert_null(rest.data);
		tcp_rest_done(&stream);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_any_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
