/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where lines of the log go: a file, a stream, or the socket of the journal or of syslog. Within src/sys only.
 *
 * Whatever takes bytes may stop taking them: a pipe that nobody reads, a journal that hangs. A writer then waits
 * SYS_LOG_WAIT_MS, once; from then on, until something was taken again, it doesn't wait at all, so that a thread that
 * logs goes on whoever reads the log. Only the disk of a regular file is waited for, as everywhere. What isn't written
 * is the caller's to count. Any thread; nothing here calls the log.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum {
	LOG_OUTPUT_BLOCKING, /* written at once, however long that takes: a regular file */
	/* Standard output or error: others write there, too, so it can't be made non-blocking. A terminal that is
	 * nearly full isn't told from one with room for a line, and is waited for however long that takes. */
	LOG_OUTPUT_STREAM,
	LOG_OUTPUT_NONBLOCKING, /* a pipe or terminal of our own, O_NONBLOCK */
	LOG_OUTPUT_SOCKET,      /* a stream socket */
	LOG_OUTPUT_JOURNAL,     /* the journal's native protocol; connected when first written to */
	LOG_OUTPUT_SYSLOG,      /* RFC 3164 as syslog(3) sends it; so, too */
} log_output_kind_t;

typedef struct {
	log_output_kind_t kind;
	int fd;                 /* of a journal or syslog: owned, -1 while not connected, under a lock; else borrowed */
	bool is_stream;         /* syslog listens at a stream socket */
	atomic_bool is_stalled; /* it didn't take the last thing in time */
	atomic_bool is_torn;    /* the last thing written was part of a line: what comes next begins a new one */
	_Atomic int errnum;     /* why the last thing was not written */
} log_output_t;

/**
 * An output for an open descriptor; the kind follows from what it is. is_own: this process opened it with O_NONBLOCK.
 */
log_output_t log_output_of(int fd, bool is_own);

/** Write text of one or more whole lines to a descriptor. Returns how many bytes were written; if not all, errnum says
 * why. */
size_t log_output_write(log_output_t *output, const char *text, size_t len);

/**
 * Send one message to the journal or syslog. level: of <syslog.h>. zone: text for the journal's field ZONE, or NULL.
 * message: without newline. False: not sent; errnum says why.
 */
bool log_output_send(log_output_t *output, int level, const char *zone, const char *message);

/** Close what it owns. */
void log_output_close(log_output_t *output);
