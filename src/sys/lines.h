/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Lines of text from a file, a pipe or a terminal, as they come: what is there is given without waiting for more.
 *
 * Owns its buffer, which grows with the longest line up to SYS_LINE_MAX and is wiped at the end: there may be keys in
 * it. Does not own the descriptor. A line that is too long, or has a byte with the value 0, which nothing behind would
 * see as text, ends the reading with a fault: nothing of a file is left out without a word. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Bytes of a line, without its end. The longest RDATA, 65,535 bytes, has less than a third in any form. */
enum { SYS_LINE_MAX = 1 << 20 };

typedef struct {
	size_t number;     /* of the line that was given last or is at fault, from 1; 0: none was read */
	const char *fault; /* what is wrong with line `number`; NULL: nothing. Static */
	int error;         /* errno code of reading, 0: none */

	int fd;
	bool has_ended;
	char *bytes; /* owned */
	size_t room, start, end, searched;
} sys_lines_t;

/** Lines from a descriptor that is open for reading, and stays the caller's. */
sys_lines_t sys_lines_of(int fd);

/**
 * The next line without its end, with a NUL behind it, borrowed until the next call and free to be changed. False: the
 * file has ended, or `fault` or `error` says why not. The last line needs no newline.
 */
bool sys_lines_next(sys_lines_t *lines, char **ret_line, size_t *ret_len);

/** Wipe and release the buffer; `number`, `fault` and `error` stay. */
void sys_lines_done(sys_lines_t *lines);
