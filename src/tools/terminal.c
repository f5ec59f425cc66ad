/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/terminal.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Alternate screen and no cursor; and back. */
#define ENTER "\x1B[?1049h\x1B[?25l\x1B[H\x1B[2J"
#define LEAVE "\x1B[0m\x1B[?25h\x1B[?1049l"

static volatile sig_atomic_t got_end, got_resize, got_stop;
static bool is_entered, on_screen;
static struct termios before;
static sigset_t mask_before;
static int pressed;

static void terminal_on_signal(int number)
{
	if (number == SIGWINCH || number == SIGCONT) {
		got_resize = 1;
	} else if (number == SIGTSTP) {
		got_stop = 1;
	} else {
		got_end = 1;
	}
}

static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };
enum { CAUGHT = sizeof(caught) / sizeof(caught[0]) };
static struct sigaction actions_before[CAUGHT];

static void terminal_set_screen(bool on)
{
	if (!on_screen) {
		return;
	}
	if (on) {
		struct termios raw = before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
		fputs(ENTER, stdout);
	} else {
		fputs(LEAVE, stdout);
	}
	(void)fflush(stdout);
	if (!on) {
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	}
}

void terminal_enter(bool screen)
{
	static bool is_registered;
	got_end = got_resize = got_stop = 0;
	pressed = 0;
	if (!is_registered) {
		is_registered = atexit(terminal_leave) ==
				0; /* must() ends the program without knowing of the terminal */
	}
	/* Signals are blocked except while waiting, so none is missed between a check and the wait. */
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < CAUGHT; i++) {
		struct sigaction action = { .sa_handler = terminal_on_signal };
		sigemptyset(&action.sa_mask);
		(void)sigaction(caught[i], &action, &actions_before[i]);
		sigaddset(&mask, caught[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &mask, &mask_before);
	is_entered = true;
	on_screen = screen && tcgetattr(STDIN_FILENO, &before) == 0;
	terminal_set_screen(true);
}

void terminal_leave(void)
{
	if (!is_entered) {
		return;
	}
	terminal_set_screen(false);
	is_entered = on_screen = false;
	for (size_t i = 0; i < CAUGHT; i++) {
		(void)sigaction(caught[i], &actions_before[i], NULL);
	}
	(void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

/* Ctrl-Z: restore the terminal for the shell; draw the screen again afterwards. */
static void terminal_suspend(void)
{
	got_stop = 0;
	terminal_set_screen(false);
	sigset_t mask;
	sigemptyset(&mask);
	sigaddset(&mask, SIGTSTP);
	(void)signal(SIGTSTP, SIG_DFL);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &mask, NULL); /* the process stops here */
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	struct sigaction action = { .sa_handler = terminal_on_signal };
	sigemptyset(&action.sa_mask);
	(void)sigaction(SIGTSTP, &action, NULL);
	terminal_set_screen(true);
	got_resize = 1;
}

terminal_event_t terminal_wait(int ms)
{
	struct pollfd input = { .fd = on_screen ? STDIN_FILENO : -1, .events = POLLIN };
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };
	int ready = ppoll(&input, 1, &time, &mask_before);
	if (got_stop) {
		terminal_suspend();
	}
	if (got_end) {
		got_end = 0; /* the next one is told again */
		return TERMINAL_END;
	}
	if (got_resize) {
		got_resize = 0;
		return TERMINAL_RESIZED;
	}
	if (ready <= 0) {
		return TERMINAL_TIMEOUT;
	}
	unsigned char key;
	if (read(STDIN_FILENO, &key, 1) != 1) {
		return TERMINAL_END;
	}
	pressed = key;
	return TERMINAL_KEY;
}

int terminal_key(void)
{
	int key = pressed;
	pressed = 0;
	return key;
}

void terminal_size(unsigned *ret_width, unsigned *ret_height)
{
	struct winsize size;
	bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
	*ret_width = is_known ? size.ws_col : 80;
	*ret_height = is_known ? size.ws_row : 24;
}
