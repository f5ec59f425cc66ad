/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/log.h"

#include "src/sys/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static size_t format_line(char *out, const struct timespec *when, bool prefix_info, int level, knot_name_t zone,
		const char *format, ...)
{
	va_list args;
	va_start(args, format);
	size_t len = sys_log_format(out, when, prefix_info, level, zone, format, args);
	va_end(args);
	return len;
}

static const uint8_t example_wire[] = "\7example\3com";

static const struct {
	const char *what, *tz;
	time_t seconds;
	long nanoseconds;
	int level;
	bool has_zone, has_time, prefix_info;
	const char *message, *want;
} rows[] = {
	{ "server line, UTC", "UTC0", 0, 7000000, LOG_INFO, false, true, true, "server stopped",
			"1970-01-01T00:00:00.007+00:00 info: server stopped\n" },
	{ "zone line, east of Greenwich", "XXX-5:30", 1767225600, 999999999, LOG_ERR, true, true, true, "bad",
			"2026-01-01T05:30:00.999+05:30 error: [example.com.] bad\n" },
	{ "west of Greenwich", "XXX3:45", 1767225600, 0, LOG_WARNING, false, true, true, "w",
			"2025-12-31T20:15:00.000-03:45 warning: w\n" },
	{ "syslog has no timestamp", "UTC0", 0, 0, LOG_NOTICE, true, false, true, "n", "notice: [example.com.] n\n" },
	{ "tools leave info: out", "UTC0", 0, 0, LOG_INFO, false, false, false, "done", "done\n" },
	{ "tools keep error:", "UTC0", 0, 0, LOG_ERR, false, false, false, "gone", "error: gone\n" },
	{ "debug", "UTC0", 0, 0, LOG_DEBUG, false, false, true, "d", "debug: d\n" },
	{ "critical", "UTC0", 0, 0, LOG_CRIT, false, false, true, "c", "critical: c\n" },
	{ "a newline in a value does not make a second line", "UTC0", 0, 0, LOG_ERR, false, false, true, "a\nb",
			"error: a b\n" },
};

static void test_line_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		setenv("TZ", rows[i].tz, 1);
		tzset();
		struct timespec when = { rows[i].seconds, rows[i].nanoseconds };
		knot_name_t zone = rows[i].has_zone ? knot_name_of(example_wire) : (knot_name_t){ 0 };
		char line[SYS_LOG_LINE_MAX];
		size_t len = format_line(line, rows[i].has_time ? &when : NULL, rows[i].prefix_info, rows[i].level,
				zone, "%s", rows[i].message);
		if (strcmp(line, rows[i].want) != 0 || len != strlen(line)) {
			fail_msg("%s: got \"%s\", want \"%s\"", rows[i].what, line, rows[i].want);
		}
	}
}

static void test_long_line_is_cut(void **state)
{
	(void)state;
	char message[2000];
	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	struct timespec when = { 0, 0 };
	char line[SYS_LOG_LINE_MAX];
	size_t bare = format_line(line, NULL, true, LOG_INFO, knot_name_root, "%s", message);
	assert_int_equal(bare, SYS_LOG_MESSAGE_MAX + 1);
	assert_memory_equal(line, "info: [.] xxx", 13);
	assert_int_equal(line[bare - 1], '\n');
	setenv("TZ", "UTC0", 1);
	tzset();
	size_t timed = format_line(line, &when, true, LOG_INFO, knot_name_root, "%s", message);
	assert_int_equal(timed, bare + strlen("1970-01-01T00:00:00.000+00:00 "));
	assert_true(timed < sizeof(line));
}

static size_t slurp(const char *path, char *text, size_t max)
{
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t len = fread(text, 1, max - 1, file);
	text[len] = '\0';
	fclose(file);
	return len;
}

/* Levels decide per source; a reopened file is a new one when the old was moved away. */
static void test_file_targets(void **state)
{
	(void)state;
	char dir[] = "/tmp/bowline-log-XXXXXX", path[64], moved[64], missing[64], text[1024], want[128];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(moved, sizeof(moved), "%s/log.1", dir);
	snprintf(missing, sizeof(missing), "%s/missing/log", dir);
	snprintf(want, sizeof(want), "failed to open log, file '%s'", missing);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = path };
	target.levels[SYS_LOG_SERVER] = LOG_UPTO(LOG_WARNING);
	target.levels[SYS_LOG_ZONE] = LOG_UPTO(LOG_INFO);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	log_server(LOG_INFO, "hidden");
	log_server(LOG_ERR, "shown %d", 1);
	log_zone(LOG_INFO, knot_name_of(example_wire), "shown 2");
	log_control(LOG_ERR, "hidden");
	assert_true(sys_log_wants(SYS_LOG_ZONE, LOG_INFO));
	assert_false(sys_log_wants(SYS_LOG_ZONE, LOG_DEBUG));
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	log_server(LOG_ERR, "after");

	slurp(moved, text, sizeof(text));
	assert_non_null(strstr(text, " error: shown 1\n"));
	assert_non_null(strstr(text, " info: [example.com.] shown 2\n"));
	assert_null(strstr(text, "hidden"));
	assert_null(strstr(text, "after"));
	slurp(path, text, sizeof(text));
	assert_non_null(strstr(text, " error: after\n"));

	sys_log_target_t two[2] = { target, target };
	two[1].path = missing;
	assert_int_equal(sys_log_open(two, 2, getuid(), getgid()), KNOT_ENOENT);
	slurp(path, text, sizeof(text));
	assert_non_null(strstr(text, want));
	sys_log_close();
	assert_false(sys_log_wants(SYS_LOG_SERVER, LOG_CRIT));
	unlink(path);
	unlink(moved);
	rmdir(dir);
}

/* As root too: what a link leads to is written to, but not given away; nothing is made there. */
static void test_link_target(void **state)
{
	(void)state;
	enum { NOBODY = 65534 };
	char dir[] = "/tmp/bowline-log-XXXXXX", path[64], real[64], text[256];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	snprintf(real, sizeof(real), "%s/real", dir);
	assert_int_equal(symlink(real, path), 0);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = path };
	target.levels[SYS_LOG_SERVER] = LOG_UPTO(LOG_INFO);
	assert_int_equal(sys_log_open(&target, 1, NOBODY, NOBODY), KNOT_ENOENT);
	assert_int_equal(access(real, F_OK), -1);
	FILE *file = fopen(real, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(sys_log_open(&target, 1, NOBODY, NOBODY), KNOT_OK);
	log_server(LOG_INFO, "through the link");
	sys_log_close();
	struct stat info;
	assert_int_equal(stat(real, &info), 0);
	assert_int_equal(info.st_uid, geteuid());
	slurp(real, text, sizeof(text));
	assert_non_null(strstr(text, "through the link"));
	unlink(path);
	unlink(real);
	rmdir(dir);
}

/* A pipe without a reader is an error at once; one with a reader is a target. */
static void test_pipe_target(void **state)
{
	(void)state;
	char path[] = "/tmp/log_test_pipe.XXXXXX", line[SYS_LOG_LINE_MAX + 1];
	assert_non_null(mkdtemp(path));
	char pipe_path[64];
	(void)snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", path);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = pipe_path };
	memset(target.levels, 0xff, sizeof(target.levels));
	(void)alarm(20);
	assert_int_not_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	int fd = open(pipe_path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	log_server(LOG_INFO, "through the pipe");
	ssize_t len = read(fd, line, sizeof(line) - 1);
	assert_true(len > 0);
	line[len] = '\0';
	assert_non_null(strstr(line, "through the pipe"));
	(void)alarm(0);
	sys_log_close();
	close(fd);
	assert_int_equal(unlink(pipe_path), 0);
	assert_int_equal(rmdir(path), 0);
}

typedef struct {
	char dir[32], path[64];
	int fd; /* reading end */
} pipe_t;

/* A target of `size` bytes without a reader yet. */
static void open_small_pipe(pipe_t *small, int size)
{
	*small = (pipe_t){ .dir = "/tmp/log_test_pipe.XXXXXX" };
	assert_non_null(mkdtemp(small->dir));
	(void)snprintf(small->path, sizeof(small->path), "%s/pipe", small->dir);
	assert_int_equal(mkfifo(small->path, 0600), 0);
	small->fd = open(small->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(small->fd >= 0 && fcntl(small->fd, F_SETPIPE_SZ, size) >= size);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = small->path };
	target.levels[SYS_LOG_SERVER] = LOG_UPTO(LOG_INFO);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
}

static void close_small_pipe(pipe_t *small)
{
	sys_log_close();
	close(small->fd);
	assert_int_equal(unlink(small->path), 0);
	assert_int_equal(rmdir(small->dir), 0);
}

/* What is in the pipe, NUL-terminated behind the `len` bytes that are there. */
static size_t read_pipe(const pipe_t *small, char *text, size_t len, size_t max)
{
	for (ssize_t more; (more = read(small->fd, text + len, max - 1 - len)) > 0;) {
		len += (size_t)more;
	}
	text[len] = '\0';
	return len;
}

/* A writer waits once for a reader that stops. If the reader has read since and stops again, the writer waits again. */
static void test_reader_that_pauses(void **state)
{
	(void)state;
	char text[65536];
	pipe_t small;
	open_small_pipe(&small, 16384);
	for (unsigned pause = 0; pause < 3; pause++) {
		uint64_t begin_ms = sys_clock_ms();
		for (unsigned i = 0; i < 500; i++) {
			log_server(LOG_INFO, "line %u of those that are more than the pipe takes", i);
		}
		assert_true(sys_clock_ms() - begin_ms >= SYS_LOG_WAIT_MS);
		(void)read_pipe(&small, text, 0, sizeof(text));
		log_server(LOG_INFO, "taken at once");
	}
	close_small_pipe(&small);
}

/* Of lines that are written together, those that were not written are lost, no more. */
static void test_lost_of_gathered_lines(void **state)
{
	(void)state;
	enum { MANY = 120 };
	static char text[65536];
	sys_log_gathered_t lines;
	pipe_t small;
	open_small_pipe(&small, 4096);
	sys_log_gather(&lines);
	for (unsigned i = 0; i < MANY; i++) {
		log_server(LOG_INFO, "gathered.");
	}
	sys_log_write_gathered();
	size_t len = read_pipe(&small, text, 0, sizeof(text));
	log_server(LOG_INFO, "after.");
	(void)read_pipe(&small, text, len, sizeof(text));
	const char *note = strstr(text, " warning: log, ");
	assert_non_null(note);
	unsigned lost = 0, written = 0;
	assert_int_equal(sscanf(note, " warning: log, %u lines lost", &lost), 1);
	for (const char *at = text; (at = strstr(at, "gathered.\n")) != NULL; at++) {
		written++;
	}
	assert_true(written > 0);
	assert_int_equal(lost + written, MANY);
	assert_null(strstr(text, "\n\n"));
	assert_non_null(strstr(note, " info: after.\n"));
	close_small_pipe(&small);
}

static void *log_storm(void *arg)
{
	for (unsigned round = 0; round < 100; round++) {
		sys_log_gathered_t lines;
		sys_log_gather(&lines);
		for (unsigned i = 0; i < 100; i++) {
			log_server(LOG_INFO, "begin of a line of thread %s, and its end", (const char *)arg);
		}
		sys_log_write_gathered();
	}
	return NULL;
}

/* Lines of several threads don't end up within one another, however little the pipe takes at a time. */
static void test_threads_share_a_pipe(void **state)
{
	(void)state;
	static char names[3][2] = { "a", "b", "c" }, text[4 << 20];
	pthread_t threads[KNOT_LEN(names)];
	pipe_t small;
	size_t len = 0;
	open_small_pipe(&small, 4096);
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, log_storm, names[i]), 0);
	}
	for (size_t i = 0; i < KNOT_LEN(names);) {
		len = read_pipe(&small, text, len, sizeof(text));
		i += pthread_tryjoin_np(threads[i], NULL) == 0;
	}
	(void)read_pipe(&small, text, len, sizeof(text));
	unsigned torn = 0, notes = 0;
	for (char *rest, *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		size_t line_len = strlen(line);
		bool is_note = strstr(line, " warning: log, ") != NULL;
		bool is_whole = line_len > 60 && strstr(line, " info: begin") == line + 29 &&
				strcmp(line + line_len - 8, " its end") == 0 && strstr(line + 30, " info: ") == NULL;
		notes += is_note;
		torn += !is_note && !is_whole;
	}
	assert_true(torn <= notes); /* where this thread waits for longer than it is waited for */
	close_small_pipe(&small);
}

/* Gathered lines come in order, none is lost or held back behind a worse one. */
static void test_gathered_lines(void **state)
{
	(void)state;
	enum { MANY = 500, TEXT_MAX = 64 * 1024 };
	static char text[TEXT_MAX];
	char dir[] = "/tmp/bowline-log-XXXXXX", path[64], want[32];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = path };
	target.levels[SYS_LOG_SERVER] = target.levels[SYS_LOG_ZONE] = LOG_UPTO(LOG_INFO);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	static sys_log_gathered_t lines;
	sys_log_gather(&lines);
	log_zone(LOG_INFO, knot_name_of(example_wire), "line a");
	log_zone(LOG_INFO, knot_name_of(example_wire), "line b");
	log_zone(LOG_DEBUG, knot_name_of(example_wire), "hidden");
	assert_int_equal(slurp(path, text, sizeof(text)), 0);
	log_zone(LOG_ERR, knot_name_of(example_wire), "worse");
	slurp(path, text, sizeof(text));
	char *a = strstr(text, " info: [example.com.] line a\n"), *b = strstr(text, " info: [example.com.] line b\n");
	char *worse = strstr(text, " error: [example.com.] worse\n");
	assert_true(a != NULL && b > a && worse > b);
	for (unsigned i = 0; i < MANY; i++) {
		log_server(LOG_INFO, "many %u.", i);
	}
	sys_log_write_gathered();
	log_server(LOG_INFO, "at once");
	slurp(path, text, sizeof(text));
	char *at = text;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(want, sizeof(want), " info: many %u.\n", i);
		char *found = strstr(at, want);
		assert_true(found != NULL && found > at);
		at = found;
	}
	assert_non_null(strstr(at, " info: at once\n"));
	assert_null(strstr(text, "hidden"));
	sys_log_close();
	unlink(path);
	rmdir(dir);
}

/* Room for `more` bytes in the file, as on a disk that is nearly full; 0 bytes more: full; -1: as much as one likes. */
static void limit_file(const char *path, int more)
{
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = more >= 0 ? (rlim_t)info.st_size + (rlim_t)more : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* What a full disk doesn't take is counted, and said where it is missing; half a line stays a line of its own. */
static void test_full_disk(void **state)
{
	(void)state;
	char dir[] = "/tmp/bowline-log-XXXXXX", path[64], text[2048];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = path };
	target.levels[SYS_LOG_SERVER] = LOG_UPTO(LOG_INFO);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	log_server(LOG_INFO, "one");
	limit_file(path, 0);
	log_server(LOG_INFO, "two");
	log_server(LOG_INFO, "three");
	limit_file(path, -1);
	log_server(LOG_INFO, "four");
	limit_file(path, 40); /* timestamp and some */
	log_server(LOG_INFO, "torn apart");
	limit_file(path, -1);
	log_server(LOG_INFO, "five");
	log_server(LOG_INFO, "six");
	slurp(path, text, sizeof(text));
	static const char *const order[] = {
		" info: one\n",
		" warning: log, 2 lines lost (",
		")\n",
		" info: four\n",
		" info: torn\n",
		" warning: log, 1 lines lost (",
		")\n",
		" info: five\n",
		" info: six\n",
	};
	const char *at = text;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *found = strstr(at, order[i]);
		if (found == NULL) {
			fail_msg("no '%s' in: %s", order[i], text);
		}
		at = found;
	}
	sys_log_close();
	unlink(path);
	rmdir(dir);
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned count = 0;
	for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
		count++;
	}
	return count;
}

/* Five lines, then one that says how many more there were; another message is not held back with it. */
static void test_repeats(void **state)
{
	(void)state;
	char dir[] = "/tmp/bowline-log-XXXXXX", path[64], text[4096];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/log", dir);
	sys_log_target_t target = { .kind = SYS_LOG_TO_FILE, .path = path };
	target.levels[SYS_LOG_SERVER] = LOG_UPTO(LOG_INFO);
	assert_int_equal(sys_log_open(&target, 1, getuid(), getgid()), KNOT_OK);
	static sys_log_repeats_t first, second, hidden;
	for (unsigned i = 0; i < 100; i++) {
		sys_log_repeated(&first, SYS_LOG_SERVER, LOG_WARNING, "many (%u)", i);
		sys_log_repeated(&hidden, SYS_LOG_SERVER, LOG_DEBUG, "hidden");
	}
	sys_log_repeated(&second, SYS_LOG_SERVER, LOG_INFO, "few");
	sys_log_tell_repeats(false);
	slurp(path, text, sizeof(text));
	assert_int_equal(occurrences(text, " warning: many ("), SYS_LOG_REPEAT_MAX);
	assert_int_equal(occurrences(text, "repeated"), 0);
	sys_log_tell_repeats(true);
	sys_log_tell_repeats(true);
	slurp(path, text, sizeof(text));
	assert_int_equal(occurrences(text, " warning: many (99), message repeated 95 times\n"), 1);
	assert_int_equal(occurrences(text, "repeated"), 1);
	assert_int_equal(occurrences(text, " info: few\n"), 1);
	assert_null(strstr(text, "hidden"));
	sys_log_repeated(&first, SYS_LOG_SERVER, LOG_WARNING, "again");
	slurp(path, text, sizeof(text));
	assert_non_null(strstr(text, " warning: again\n"));
	sys_log_close();
	unlink(path);
	rmdir(dir);
}

/* Warnings and worse of this thread, as many as there is room for, whatever targets there are. */
static void test_captured_lines(void **state)
{
	(void)state;
	static sys_log_captured_t lines;
	sys_log_close();
	log_server(LOG_ERR, "before");
	sys_log_capture(&lines);
	log_server(LOG_NOTICE, "not bad enough");
	log_zone(LOG_WARNING, knot_name_of(example_wire), "a %s", "warning");
	log_control(LOG_ERR, "an error");
	assert_int_equal(lines.count, 2);
	assert_int_equal(lines.lines[0].level, LOG_WARNING);
	assert_string_equal(lines.lines[0].text, "[example.com.] a warning");
	assert_int_equal(lines.lines[1].level, LOG_ERR);
	assert_string_equal(lines.lines[1].text, "an error");
	for (unsigned i = 0; i < 2 * SYS_LOG_CAPTURE_MAX; i++) {
		log_server(LOG_WARNING, "more");
	}
	sys_log_end_capture();
	log_server(LOG_ERR, "after");
	assert_int_equal(lines.count, 2 + 2 * SYS_LOG_CAPTURE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_format),
		cmocka_unit_test(test_long_line_is_cut),
		cmocka_unit_test(test_file_targets),
		cmocka_unit_test(test_link_target),
		cmocka_unit_test(test_pipe_target),
		cmocka_unit_test(test_reader_that_pauses),
		cmocka_unit_test(test_lost_of_gathered_lines),
		cmocka_unit_test(test_threads_share_a_pipe),
		cmocka_unit_test(test_gathered_lines),
		cmocka_unit_test(test_captured_lines),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_repeats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
