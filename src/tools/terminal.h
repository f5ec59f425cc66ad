/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A terminal that a program draws on: the alternate screen, single keys, its size, signals. Uses escape sequences that
 * every current terminal has, and no terminal database.
 *
 * One per process: signals have no context. The terminal is put back by terminal_leave(), before the process stops by
 * Ctrl-Z, and by exit().
 */
#pragma once

#include <stdbool.h>

/** What happened while waiting. */
typedef enum {
	TERMINAL_TIMEOUT,
	TERMINAL_KEY,     /* terminal_key() has it */
	TERMINAL_RESIZED, /* or the screen must be drawn again */
	TERMINAL_END,     /* a signal requests the end, or the terminal is gone */
} terminal_event_t;

/** True if `screen`: standard input and output are terminals. Signals are caught from now on either way. */
void terminal_enter(bool screen);

/** Put the terminal and signals back. Without terminal_enter() nothing happens. */
void terminal_leave(void);

/** Wait at most `ms` (0: look only). */
terminal_event_t terminal_wait(int ms);

/** The key that was pressed, once; 0: none. */
int terminal_key(void);

/** Cells of standard output; 80×24 if it doesn't say. */
void terminal_size(unsigned *ret_width, unsigned *ret_height);
