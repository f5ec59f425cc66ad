/* SPDX-License-Identifier: BSD-2-Clause */
/* What is printed: to standard output in large pieces, errors and warnings in between where they belong. */
#include "src/tools/lookup/lookup.h"

#include "src/sys/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void lookup_progress(lookup_t *lookup, const char *what, size_t count)
{
	const uint64_t second_ns = 1000000000;
	if (!lookup->shows_progress) {
		return;
	}
	uint64_t now_ns = sys_clock_ns();
	if (lookup->progress_ns == 0) {
		lookup->progress_ns = now_ns + second_ns;
	}
	if (now_ns >= lookup->progress_ns) {
		lookup->progress_ns = now_ns + second_ns;
		lookup->has_progress = true;
		fprintf(stderr, "\r;; %zu %s\033[K", count, what);
	}
}

/* What is said next begins a line of its own. */
void lookup_end_progress(lookup_t *lookup)
{
	if (lookup->has_progress) {
		fputs("\r\033[K", stderr);
		lookup->has_progress = false;
	}
}

void lookup_flush(lookup_t *lookup)
{
	size_t done = 0;
	while (done < lookup->out.len && !lookup->has_failed_output) {
		ssize_t written = write(STDOUT_FILENO, lookup->out.data + done, lookup->out.len - done);
		if (written > 0) {
			done += (size_t)written;
		} else if (written == 0 || errno != EINTR) {
			lookup->has_failed_output = true;
		}
	}
	lookup->has_failed_output |= lookup->out.failed;
	lookup->out.len = 0;
}

__attribute__((format(printf, 3, 0))) static void say_line(
		lookup_t *lookup, const char *word, const char *format, va_list args)
{
	char line[2048];
	int len = snprintf(line, sizeof(line), ";; %s: ", word);
	int more = vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	lookup_flush(lookup);
	lookup_end_progress(lookup);
	if (more >= 0 && (size_t)(len + more) < sizeof(line) - 1) {
		line[len + more] = '\n';
		line[len + more + 1] = '\0';
	}
	fputs(line, stderr);
}

void lookup_error(lookup_t *lookup, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say_line(lookup, "ERROR", format, args);
	va_end(args);
}

void lookup_warn(lookup_t *lookup, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say_line(lookup, "WARNING", format, args);
	va_end(args);
}

void lookup_debug(lookup_t *lookup, const char *format, ...)
{
	char line[1024];
	va_list args;
	if (lookup->debug == 0) {
		return;
	}
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	present_text_format(&lookup->out, ";; DEBUG: %s\n", line);
	lookup_flush(lookup);
}
