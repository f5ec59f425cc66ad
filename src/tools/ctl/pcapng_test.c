/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks are read back by a reader that knows only the format's frame: type, length, options, length. */
#include "src/tools/ctl/pcapng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct {
	char *bytes;
	size_t len, pos;
} file_t;

static uint32_t u32(const char *p)
{
	uint32_t value;
	memcpy(&value, p, sizeof(value));
	return value;
}

static uint16_t u16(const char *p)
{
	uint16_t value;
	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t stamp(const char *p)
{
	return (uint64_t)u32(p) << 32 | u32(p + 4);
}

/* The body of the next block, of this type. */
static const char *next_block(file_t *file, uint32_t type, uint32_t *ret_len)
{
	assert_true(file->len - file->pos >= 12);
	const char *block = file->bytes + file->pos;
	assert_int_equal(u32(block), type);
	uint32_t len = u32(block + 4);
	assert_int_equal(len % 4, 0);
	assert_true(len <= file->len - file->pos);
	assert_int_equal(u32(block + len - 4), len);
	file->pos += len;
	*ret_len = len - 12;
	return block + 8;
}

/* The value of an option in options[0..len), whose length must be as told. */
static const char *option(const char *options, uint32_t len, uint16_t code, uint16_t want_len)
{
	for (uint32_t pos = 0; pos + 4 <= len; pos += 4 + (u16(options + pos + 2) + 3u) / 4 * 4) {
		if (u16(options + pos) == code) {
			assert_int_equal(u16(options + pos + 2), want_len);
			return options + pos + 4;
		}
	}
	return NULL;
}

static file_t written(void (*write)(FILE *out))
{
	file_t file = { 0 };
	FILE *out = open_memstream(&file.bytes, &file.len);
	assert_non_null(out);
	write(out);
	assert_int_equal(fclose(out), 0);
	return file;
}

static const uint8_t frame_bytes[] = { 1, 2, 3, 4, 5 };

static void write_all(FILE *out)
{
	pcapng_section(out, "knotc");
	pcapng_interface(out, "eth0", 96, "udp port 53");
	pcapng_frame(out, &(pcapng_frame_t){ 0, 0x1234567890ABCDEF, PCAPNG_OUTBOUND, frame_bytes, sizeof(frame_bytes),
					  1400 });
	pcapng_interface(out, "eth12", 96, NULL);
	pcapng_frame(out, &(pcapng_frame_t){ 1, 7, PCAPNG_INBOUND, frame_bytes, 0, 60 });
	pcapng_statistics(out, &(pcapng_statistics_t){ 1, 5, 9, 100, 3 });
}

static void blocks(void **state)
{
	(void)state;
	file_t file = written(write_all);
	uint32_t len;
	const char *body = next_block(&file, 0x0A0D0D0A, &len);
	assert_int_equal(u32(body), 0x1A2B3C4D);
	assert_int_equal(u16(body + 4), 1);
	assert_memory_equal(body + 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);

	body = next_block(&file, 1, &len);
	assert_int_equal(u16(body), 1); /* LINKTYPE_ETHERNET */
	assert_int_equal(u32(body + 4), 96);
	assert_memory_equal(option(body + 8, len - 8, 2, 4), "eth0", 4);
	assert_int_equal(*option(body + 8, len - 8, 9, 1), 9);
	assert_memory_equal(option(body + 8, len - 8, 11, 12), "\0udp port 53", 12);

	body = next_block(&file, 6, &len);
	assert_int_equal(u32(body), 0);
	assert_true(stamp(body + 4) == 0x1234567890ABCDEF);
	assert_int_equal(u32(body + 12), 5);
	assert_int_equal(u32(body + 16), 1400);
	assert_memory_equal(body + 20, "\1\2\3\4\5\0\0\0", 8);
	assert_int_equal(u32(option(body + 28, len - 28, 2, 4)), 2);

	body = next_block(&file, 1, &len);
	assert_memory_equal(option(body + 8, len - 8, 2, 5), "eth12", 5);
	assert_null(option(body + 8, len - 8, 11, 0));

	body = next_block(&file, 6, &len);
	assert_int_equal(u32(body), 1);
	assert_int_equal(u32(body + 12), 0);
	assert_int_equal(u32(option(body + 20, len - 20, 2, 4)), 1);

	body = next_block(&file, 5, &len);
	assert_int_equal(u32(body), 1);
	assert_true(stamp(body + 4) == 9);
	assert_true(stamp(option(body + 12, len - 12, 2, 8)) == 5);
	assert_true(stamp(option(body + 12, len - 12, 3, 8)) == 9);
	uint64_t count;
	memcpy(&count, option(body + 12, len - 12, 6, 8), 8);
	assert_int_equal(count, 100);
	memcpy(&count, option(body + 12, len - 12, 7, 8), 8);
	assert_int_equal(count, 3);
	assert_int_equal(file.pos, file.len);
	free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
