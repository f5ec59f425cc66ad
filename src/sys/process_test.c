/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/bowline-process-XXXXXX";
static char path[64];

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s", dir);
	if (mkdtemp(path) == NULL) {
		return -1;
	}
	strcat(path, "/pid");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

static void write_text(const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static knot_err_t create(sys_pidfile_t *ret_file, pid_t *ret_other, bool *ret_stale)
{
	*ret_file = (sys_pidfile_t){ .fd = -1 };
	*ret_other = 0;
	*ret_stale = false;
	return sys_pidfile_create(path, getuid(), getgid(), ret_file, ret_other, ret_stale);
}

static void test_pidfile_holds_the_pid(void **state)
{
	(void)state;
	sys_pidfile_t file;
	pid_t other;
	bool stale;
	assert_int_equal(create(&file, &other, &stale), KNOT_OK);
	assert_false(stale);
	char text[32] = { 0 }, want[32];
	FILE *in = fopen(path, "r");
	assert_non_null(in);
	size_t len = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	assert_int_equal(snprintf(want, sizeof(want), "%d", (int)getpid()), len);
	assert_string_equal(text, want);
	struct stat info;
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0137, 0);
	sys_pidfile_remove(&file);
	assert_int_equal(access(path, F_OK), -1);
	sys_pidfile_remove(&file);
}

static void test_pidfile_of_the_dead_is_replaced(void **state)
{
	(void)state;
	pid_t child = fork();
	if (child == 0) {
		_exit(0);
	}
	waitpid(child, NULL, 0);
	char text[32];
	snprintf(text, sizeof(text), "%d", (int)child);
	const char *rows[] = { text, "rubbish", "", "-5", "99999999999999999999" };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		write_text(rows[i]);
		sys_pidfile_t file;
		pid_t other;
		bool stale;
		assert_int_equal(create(&file, &other, &stale), KNOT_OK);
		assert_int_equal(stale, rows[i][0] != '\0');
		sys_pidfile_remove(&file);
	}
}

/* A living process named knotd holds the file; one of another name only used the PID again. */
static void test_pidfile_of_the_living(void **state)
{
	(void)state;
	const struct {
		const char *name;
		knot_err_t want;
	} rows[] = { { "knotd", KNOT_EBUSY }, { "editor", KNOT_OK } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		int fds[2];
		assert_int_equal(pipe(fds), 0);
		pid_t child = fork();
		if (child == 0) {
			close(fds[0]);
			prctl(PR_SET_NAME, rows[i].name);
			ssize_t put = write(fds[1], "x", 1);
			(void)put;
			pause();
			_exit(0);
		}
		char byte;
		close(fds[1]);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		close(fds[0]);
		char text[32];
		snprintf(text, sizeof(text), "%d", (int)child);
		write_text(text);
		sys_pidfile_t file;
		pid_t other;
		bool stale;
		knot_err_t got = create(&file, &other, &stale);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		assert_int_equal(got, rows[i].want);
		if (got == KNOT_OK) {
			sys_pidfile_remove(&file);
		} else {
			assert_int_equal(other, child);
		}
	}
}

static void test_second_instance(void **state)
{
	(void)state;
	sys_pidfile_t first, second;
	pid_t other;
	bool stale;
	assert_int_equal(create(&first, &other, &stale), KNOT_OK);
	assert_int_equal(create(&second, &other, &stale), KNOT_EBUSY);
	assert_int_equal(other, getpid());
	sys_pidfile_remove(&first);
}

static void test_daemonize_reports_to_the_parent(void **state)
{
	(void)state;
	for (int ready = 0; ready <= 1; ready++) {
		pid_t child = fork();
		if (child == 0) {
			if (sys_daemonize("/") == KNOT_OK && ready) {
				sys_daemon_ready();
			}
			_exit(0);
		}
		int status = -1;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), ready ? EXIT_SUCCESS : EXIT_FAILURE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pidfile_holds_the_pid),
		cmocka_unit_test(test_pidfile_of_the_dead_is_replaced),
		cmocka_unit_test(test_pidfile_of_the_living),
		cmocka_unit_test(test_second_instance),
		cmocka_unit_test(test_daemonize_reports_to_the_parent),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
