/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

/* What a child that leaves by exit() has written to its terminal, and the terminal's flags afterwards. */
static tcflag_t flags_after(bool screen, char *ret_text, size_t max)
{
	int master, slave;
	char path[64];
	assert_int_equal(openpty(&master, &slave, path, NULL, NULL), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(master);
		(void)setsid();
		if (dup2(slave, STDIN_FILENO) < 0 || dup2(slave, STDOUT_FILENO) < 0) {
			_exit(1);
		}
		terminal_enter(screen);
		exit(3);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	struct termios now;
	assert_int_equal(tcgetattr(slave, &now), 0);
	assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
	ssize_t len = read(master, ret_text, max - 1);
	ret_text[len > 0 ? len : 0] = '\0';
	(void)close(master);
	(void)close(slave);
	return now.c_lflag;
}

/* Who runs out of memory calls exit() wherever that happens. */
static void test_exit_puts_the_terminal_back(void **state)
{
	(void)state;
	char text[256];
	tcflag_t flags = flags_after(true, text, sizeof(text));
	assert_true((flags & ICANON) != 0 && (flags & ECHO) != 0);
	assert_non_null(strstr(text, "\x1B[?1049h"));
	const char *back = strstr(text, "\x1B[?1049l");
	assert_true(back != NULL && strstr(back, "\x1B[?1049h") == NULL);
}

static void test_no_screen(void **state)
{
	(void)state;
	char text[256];
	(void)flags_after(false, text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_exit_puts_the_terminal_back),
		cmocka_unit_test(test_no_screen) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
