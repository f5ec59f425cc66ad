/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES_ROOM_MIN = 1 << 16 };

sys_lines_t sys_lines_of(int fd)
{
	return (sys_lines_t){ .fd = fd };
}

/* Lines that were given make room; one that fills all of it doubles it. realloc() would leave a copy of keys behind. */
static bool lines_make_room(sys_lines_t *lines)
{
	if (lines->start > 0) {
		memmove(lines->bytes, lines->bytes + lines->start, lines->end - lines->start);
		lines->end -= lines->start;
		lines->searched -= lines->start;
		lines->start = 0;
	}
	if (lines->end + 1 < lines->room) { /* a NUL fits behind the last line */
		return true;
	}
	size_t room = lines->room > 0 ? 2 * lines->room : LINES_ROOM_MIN;
	char *bytes = malloc(room);
	if (bytes == NULL) {
		lines->error = ENOMEM;
		return false;
	}
	if (lines->bytes != NULL) {
		memcpy(bytes, lines->bytes, lines->end);
		explicit_bzero(lines->bytes, lines->room);
		free(lines->bytes);
	}
	lines->bytes = bytes;
	lines->room = room;
	return true;
}

/* What there is, at least one byte but for the end. False: it can't be read. */
static bool lines_read(sys_lines_t *lines)
{
	if (!lines_make_room(lines)) {
		return false;
	}
	for (;;) {
		ssize_t len = read(lines->fd, lines->bytes + lines->end, lines->room - lines->end - 1);
		if (len >= 0) {
			lines->end += (size_t)len;
			lines->has_ended = len == 0;
			return true;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK) { /* others may have left a pipe or a terminal so */
			struct pollfd wait = { .fd = lines->fd, .events = POLLIN };
			(void)poll(&wait, 1, -1);
		} else if (errno != EINTR) {
			lines->error = errno;
			return false;
		}
	}
}

/* A line at `start`: its length, `has_newline` or up to the end of the file. */
static bool lines_give(sys_lines_t *lines, size_t len, bool has_newline, char **ret_line, size_t *ret_len)
{
	char *line = lines->bytes + lines->start;
	lines->number++;
	if (len > SYS_LINE_MAX) {
		lines->fault = "the line is longer than 1048576 bytes";
		return false;
	}
	if (memchr(line, '\0', len) != NULL) {
		lines->fault = "a byte with the value 0 in the line";
		return false;
	}
	line[len] = '\0';
	lines->start += len + has_newline;
	lines->searched = lines->start;
	*ret_line = line;
	*ret_len = len;
	return true;
}

bool sys_lines_next(sys_lines_t *lines, char **ret_line, size_t *ret_len)
{
	while (lines->fault == NULL && lines->error == 0) {
		size_t unseen = lines->end - lines->searched;
		const char *newline = unseen > 0 ? memchr(lines->bytes + lines->searched, '\n', unseen) : NULL;
		size_t len = (newline != NULL ? (size_t)(newline - lines->bytes) : lines->end) - lines->start;
		bool is_whole = newline != NULL || (lines->has_ended && len > 0) || len > SYS_LINE_MAX;
		if (is_whole) {
			return lines_give(lines, len, newline != NULL, ret_line, ret_len);
		}
		lines->searched = lines->end;
		if (lines->has_ended || !lines_read(lines)) {
			return false;
		}
	}
	return false;
}

void sys_lines_done(sys_lines_t *lines)
{
	if (lines->bytes != NULL) {
		explicit_bzero(lines->bytes, lines->room);
		free(lines->bytes);
	}
	lines->bytes = NULL;
	lines->room = lines->start = lines->end = lines->searched = 0;
	lines->has_ended = true;
}
