/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/out.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

enum { REMOTE_TEXT_MAX = INET6_ADDRSTRLEN + 16 };

static void text_put_remote(const struct sockaddr *remote, char ret_text[static REMOTE_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN] = "?";
	if (remote->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)remote;
		inet_ntop(AF_INET, &in->sin_addr, address, sizeof(address));
		snprintf(ret_text, REMOTE_TEXT_MAX, "%s@%u", address, ntohs(in->sin_port));
	} else if (remote->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)remote;
		inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
		snprintf(ret_text, REMOTE_TEXT_MAX, "%s@%u", address, ntohs(in6->sin6_port));
	} else {
		snprintf(ret_text, REMOTE_TEXT_MAX, "UNIX socket");
	}
}

/* "AXFR, outgoing, remote 192.0.2.1@5300 TCP, key k., <text>" */
__attribute__((format(printf, 5, 6))) static void text_put_line(const transfer_out_facts_t *facts, bool is_axfr,
		transfer_out_line_t *line, int level, const char *format, ...)
{
	char remote[REMOTE_TEXT_MAX], key[KNOT_NAME_TEXT_MAX] = "";
	text_put_remote(facts->remote, remote);
	if (facts->key.len > 0) {
		knot_name_print(facts->key, key);
	}
	const char *transport = facts->remote->sa_family == AF_UNIX ? "" : " TCP";
	int len = snprintf(line->text, sizeof(line->text), "%s, outgoing, remote %s%s, %s%s%s",
			is_axfr ? "AXFR" : "IXFR", remote, transport, key[0] != '\0' ? "key " : "", key,
			key[0] != '\0' ? ", " : "");
	if (len < 0 || (size_t)len >= sizeof(line->text)) {
		len = 0;
	}
	va_list args;
	va_start(args, format);
	vsnprintf(line->text + len, sizeof(line->text) - (size_t)len, format, args);
	va_end(args);
	line->level = level;
}

/* Why the answer to an IXFR isn't one. */
static size_t text_put_fallback(const transfer_out_facts_t *facts, transfer_out_line_t *line)
{
	if (facts->history == STEPS_OUT_INCOMPLETE) {
		text_put_line(facts, false, line, LOG_INFO, "incomplete history, serial %u, fallback to AXFR",
				facts->serial_from);
	} else {
		text_put_line(facts, false, line, LOG_INFO, "cannot provide, fallback to AXFR");
	}
	return 1;
}

size_t transfer_out_print_begin(
		const transfer_out_facts_t *facts, transfer_out_line_t ret_lines[TRANSFER_OUT_LINES_MAX])
{
	size_t count = 0;
	if (facts->is_ixfr && facts->is_axfr) {
		count += text_put_fallback(facts, &ret_lines[count]);
	}
	if (facts->is_axfr) {
		text_put_line(facts, true, &ret_lines[count++], LOG_INFO, "started, serial %u", facts->serial_to);
	} else {
		text_put_line(facts, false, &ret_lines[count++], LOG_INFO, "started, serial %u -> %u",
				facts->serial_from, facts->serial_to);
	}
	return count;
}

size_t transfer_out_print_end(const transfer_out_facts_t *facts, transfer_out_line_t ret_lines[TRANSFER_OUT_LINES_MAX])
{
	if (facts->err == KNOT_ESPACE) {
		text_put_line(facts, facts->is_axfr, ret_lines, LOG_ERR, "failed (transfer was not sent)");
	} else if (facts->err != KNOT_OK) {
		text_put_line(facts, facts->is_axfr, ret_lines, LOG_ERR, "failed (%s)", knot_strerror(facts->err));
	} else if (facts->has_ended_early) {
		text_put_line(facts, facts->is_axfr, ret_lines, LOG_DEBUG,
				"connection ended early, %llu messages, %llu bytes",
				(unsigned long long)facts->message_count, (unsigned long long)facts->byte_count);
	} else {
		text_put_line(facts, facts->is_axfr, ret_lines, LOG_INFO,
				"finished, %.2f seconds, %llu messages, %llu bytes", (double)facts->time_us / 1e6,
				(unsigned long long)facts->message_count, (unsigned long long)facts->byte_count);
	}
	return 1;
}
