/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One output of the log: a file, a stream, or the socket of the journal or of syslog. Internal to src/sys.
 *
 * An output may stop taking bytes: a pipe without a reader, a journal that hangs. A writer then waits SYS_LOG_WAIT_MS,
 * once. From then on it doesn't wait until the output takes something again, so a reader of the log can't stop a
 * thread that logs. Only the disk of a regular file is waited for, as everywhere. The caller counts what isn't
 * written. Any thread; nothing here calls the log.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum {
	LOG_OUTPUT_BLOCKING, /* written at once, however long that takes: a regular file */
	/* Standard output or error: others write there, too, so it can't be made non-blocking. A terminal that is
	   nearly full looks like one with room for a line, and is waited for however long that takes. */
	LOG_OUTPUT_STREAM,
	LOG_OUTPUT_NONBLOCKING, /* a pipe or terminal of our own, O_NONBLOCK */
	LOG_OUTPUT_SOCKET,      /* a stream socket */
	LOG_OUTPUT_JOURNAL,     /* the journal's native protocol; connected when first written to */
	LOG_OUTPUT_SYSLOG,      /* RFC 3164 as syslog(3) sends it; connected when first written to */
} log_output_kind_t;

typedef struct {
	log_output_kind_t kind;
	int fd;                 /* of a journal or syslog: owned, -1 while not connected, under a lock; else borrowed */
	bool is_stream;         /* syslog listens on a stream socket */
	atomic_bool is_stalled; /* it didn't take the last write in time */
	atomic_bool is_torn;    /* the last write was part of a line: the next one begins a new line */
	_Atomic int errnum;     /* why the last write failed */
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
 * field: "NAME=value", one more field for the journal, or NULL. message: without newline. False: not sent; errnum says
 * why.
 */
bool log_output_send(log_output_t *output, int level, const char *zone, const char *field, const char *message);

/** Close what it owns. */
void log_output_close(log_output_t *output);
