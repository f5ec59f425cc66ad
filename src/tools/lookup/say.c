/* SPDX-License-Identifier: BSD-2-Clause */
/* What is printed: to standard output in large pieces, errors and warnings in between where they belong. */
#include "src/tools/lookup/lookup.h"

#include "src/sys/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Standard output that doesn't block, as others may have left a terminal or a pipe: until it takes more. */
static bool say_wait(void)
{
	struct pollfd wait = { .fd = STDOUT_FILENO, .events = POLLOUT };
	return poll(&wait, 1, -1) > 0 || errno == EINTR;
}

void lookup_flush(lookup_t *lookup)
{
	size_t done = 0;
	while (done < lookup->out.len && !lookup->has_failed_output) {
		ssize_t written = write(STDOUT_FILENO, lookup->out.data + done, lookup->out.len - done);
		if (written > 0) {
			done += (size_t)written;
		} else if (written == 0 || (errno != EINTR && !(errno == EAGAIN && say_wait()))) {
			lookup->has_failed_output = true; /* first: what says it flushes, too */
			lookup_error(lookup, "failed to write to standard output (%s)", strerror(errno));
		}
	}
	lookup->has_failed_output |= lookup->out.failed;
	lookup->out.len = 0;
}

/* ";; WORD: …" with a newline. Servers have a part in it, so control characters are escaped. */
__attribute__((format(printf, 3, 0))) static void say_put(
		present_text_t *text, const char *word, const char *format, va_list args)
{
	char *line = NULL;
	int len = vasprintf(&line, format, args);
	if (len < 0) {
		text->failed = true;
		return;
	}
	bool ends_twice = len > 0 && line[len - 1] == '\n'; /* a blank line behind it is wanted */
	present_text_format(text, ";; %s: ", word);
	present_text_foreign(text, (knot_bytes_t){ (const uint8_t *)line, (size_t)len - ends_twice });
	present_text_str(text, ends_twice ? "\n\n" : "\n");
	free(line);
}

__attribute__((format(printf, 3, 0))) static void say_line(
		lookup_t *lookup, const char *word, const char *format, va_list args)
{
	present_text_t text = { 0 };
	lookup_flush(lookup);
	lookup_end_progress(lookup);
	say_put(&text, word, format, args);
	fwrite(text.data, 1, text.len, stderr);
	present_text_done(&text);
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

void lookup_pass_by(lookup_t *lookup, lookup_passed_t *passed, const char *format, ...)
{
	va_list args;
	if (passed->count++ >= LOOKUP_PASSED_MAX) {
		return;
	}
	va_start(args, format);
	say_line(lookup, "WARNING", format, args);
	va_end(args);
}

void lookup_end_passed(lookup_t *lookup, lookup_passed_t *passed)
{
	if (passed->count > LOOKUP_PASSED_MAX) {
		lookup_warn(lookup, "%zu more of that kind were passed by", passed->count - LOOKUP_PASSED_MAX);
	}
	passed->count = 0;
}

void lookup_warn_exchange(lookup_t *lookup, const exchange_t *exchange)
{
	const char *reason = exchange_reason(exchange);
	lookup_warn(lookup, reason[0] != '\0' ? "%s (%s)" : "%s%s", exchange_problem(exchange), reason);
}

const char *lookup_tsig_reason(
		knot_err_t err, const present_message_t *reply, uint64_t now_s, char ret_text[static LOOKUP_REASON_MAX])
{
	if (err != KNOT_TSIG_EBADTIME || !reply->has_tsig) {
		return err == KNOT_EMALF ? "expected a TSIG or SIG(0)" : knot_strerror(err);
	}
	uint64_t server_s = present_tsig_time(&reply->tsig);
	bool is_ahead = server_s > now_s;
	snprintf(ret_text, LOOKUP_REASON_MAX, "%s: the server's clock is %" PRIu64 " s %s this one%s",
			knot_strerror(err), is_ahead ? server_s - now_s : now_s - server_s,
			is_ahead ? "ahead of" : "behind",
			reply->tsig.mac.len == 0 ? ", says a reply without a signature" : "");
	return ret_text;
}

void lookup_debug(lookup_t *lookup, const char *format, ...)
{
	va_list args;
	if (lookup->debug == 0) {
		return;
	}
	va_start(args, format);
	say_put(&lookup->out, "DEBUG", format, args);
	va_end(args);
	lookup_flush(lookup);
}
