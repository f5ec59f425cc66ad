/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define A_NUL "a byte with the value 0 in the line"

/* A pipe with these bytes and nothing behind. */
static int piped(const char *bytes, size_t len)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, len), (ssize_t)len);
	close(ends[1]);
	return ends[0];
}

static void test_lines(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t len;
		const char *lines[4]; /* that come, then NULL */
		size_t number;        /* at the end */
		const char *fault;
	} rows[] = {
		{ "", 0, { NULL }, 0, NULL },
		{ "\n", 1, { "" }, 1, NULL },
		{ "a", 1, { "a" }, 1, NULL },
		{ "a\nb", 3, { "a", "b" }, 2, NULL },
		{ "a\r\n\nb\n", 6, { "a\r", "", "b" }, 3, NULL },
		{ "a\n\0b\nc\n", 7, { "a" }, 2, A_NUL },
		{ "a\nb\0", 4, { "a" }, 2, A_NUL },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = piped(rows[i].bytes, rows[i].len);
		sys_lines_t lines = sys_lines_of(fd);
		char *line;
		size_t len, count = 0;
		while (sys_lines_next(&lines, &line, &len)) {
			assert_non_null(rows[i].lines[count]);
			assert_string_equal(line, rows[i].lines[count]);
			assert_int_equal(len, strlen(line));
			count++;
		}
		assert_null(rows[i].lines[count]);
		sys_lines_done(&lines);
		assert_false(sys_lines_next(&lines, &line, &len));
		assert_int_equal(lines.number, rows[i].number);
		assert_int_equal(lines.error, 0);
		if (rows[i].fault == NULL) {
			assert_null(lines.fault);
		} else {
			assert_string_equal(lines.fault, rows[i].fault);
		}
		close(fd);
	}
}

static void *write_long_lines(void *ctx)
{
	int fd = *(int *)ctx;
	static char bytes[SYS_LINE_MAX + 2];
	memset(bytes, 'x', sizeof(bytes));
	bytes[SYS_LINE_MAX] = '\n';
	assert_int_equal(write(fd, "short\n", 6), 6);
	for (size_t sent = 0; sent < SYS_LINE_MAX + 1;) {
		ssize_t len = write(fd, bytes + sent, SYS_LINE_MAX + 1 - sent);
		assert_true(len > 0);
		sent += (size_t)len;
	}
	bytes[SYS_LINE_MAX] = 'x';
	while (write(fd, bytes, sizeof(bytes)) > 0) {} /* without end, until nobody reads */
	close(fd);
	return NULL;
}

/* The longest line comes whole; one that is longer ends it, however much follows. */
static void test_long_lines(void **state)
{
	(void)state;
	int ends[2];
	pthread_t writer;
	char *line;
	size_t len;
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_long_lines, &ends[1]), 0);
	sys_lines_t lines = sys_lines_of(ends[0]);
	assert_true(sys_lines_next(&lines, &line, &len));
	assert_string_equal(line, "short");
	assert_true(sys_lines_next(&lines, &line, &len));
	assert_int_equal(len, SYS_LINE_MAX);
	assert_int_equal(strlen(line), SYS_LINE_MAX);
	assert_false(sys_lines_next(&lines, &line, &len));
	assert_int_equal(lines.number, 3);
	assert_string_equal(lines.fault, "the line is longer than 1048576 bytes");
	assert_true(lines.room <= 4 * (size_t)SYS_LINE_MAX);
	sys_lines_done(&lines);
	close(ends[0]);
	pthread_join(writer, NULL);
}

/* A line is given when it is there, and not when the writer has ended. */
static void test_lines_as_they_come(void **state)
{
	(void)state;
	int ends[2];
	char *line;
	size_t len;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	sys_lines_t lines = sys_lines_of(ends[0]);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(ends[1], "line\n", 5), 5);
		assert_true(sys_lines_next(&lines, &line, &len));
		assert_string_equal(line, "line");
	}
	close(ends[1]);
	assert_false(sys_lines_next(&lines, &line, &len));
	assert_true(lines.fault == NULL && lines.error == 0);
	sys_lines_done(&lines);
	close(ends[0]);
}

static void test_unreadable(void **state)
{
	(void)state;
	char *line;
	size_t len;
	int fd = open("/", O_RDONLY);
	sys_lines_t lines = sys_lines_of(fd);
	assert_false(sys_lines_next(&lines, &line, &len));
	assert_int_equal(lines.error, EISDIR);
	assert_int_equal(lines.number, 0);
	sys_lines_done(&lines);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_lines_as_they_come),
		cmocka_unit_test(test_unreadable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
