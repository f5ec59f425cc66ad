/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/event/refresh.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"

enum { PREFIX_MAX = REMOTE_PEER_TEXT_MAX };

const char *refresh_operation(const refresh_run_t *run)
{
	return run->request.query.type == KNOT_TYPE_AXFR ? "AXFR, incoming" : "IXFR, incoming";
}

static void refresh_print_peer(const refresh_run_t *run, unsigned remote, unsigned address, bool has_proto,
		char text[static PREFIX_MAX])
{
	const char *transport = !has_proto ? "" : run->request.is_pooled ? " TCP/pool" : " TCP";
	remote_print_peer(run->remotes[remote], address, transport, text);
}

void refresh_log(const refresh_run_t *run, int level, const char *operation, const char *format, ...)
{
	char peer[PREFIX_MAX], text[REFRESH_TEXT_MAX];
	va_list args;
	if (level > LOG_WARNING && !sys_log_wants(SYS_LOG_ZONE, level)) {
		return; /* of a million zones, it counts */
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	refresh_print_peer(run, run->action.remote, run->action.address, true, peer);
	log_zone(level, run->params.zone, "%s, %s%s", operation, peer, text);
}

static void refresh_print_prefix(const refresh_run_t *run, const refresh_note_t *note, refresh_prefix_t prefix,
		char text[static PREFIX_MAX + 32])
{
	char peer[PREFIX_MAX] = "";
	if (prefix != REFRESH_PREFIX_PLAIN && prefix != REFRESH_PREFIX_BARE) {
		refresh_print_peer(run, note->remote, note->address, prefix != REFRESH_PREFIX_NOPROTO, peer);
	}
	const char *operation = prefix == REFRESH_PREFIX_IXFR   ? "IXFR, incoming, "
				: prefix == REFRESH_PREFIX_BARE ? ""
								: "refresh, ";
	snprintf(text, PREFIX_MAX + 32, "%s%s", operation, peer);
}

static void refresh_log_note(refresh_run_t *run, const refresh_note_t *note)
{
	char text[REFRESH_TEXT_MAX], addr[CONF_ADDR_TEXT_MAX] = "", when[40] = "", prefix[PREFIX_MAX + 32];
	int level;
	refresh_prefix_t kind;
	struct tm local;
	time_t time = (time_t)note->time_s;
	if (time != 0 && localtime_r(&time, &local) != NULL) { /* few notes have one, and it isn't cheap */
		(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &local);
	}
	const conf_remote_t *remote =
			note->remote < run->params.remote_count ? run->remotes[note->remote] : run->remotes[0];
	unsigned address = note->address < remote->addresses.count ? note->address : 0;
	refresh_words_t words = {
		.remote = remote->id, .address = conf_addr_print(&remote->addresses.data[address], addr), .time = when
	};
	refresh_note_t safe = *note;
	safe.remote = note->remote < run->params.remote_count ? note->remote : 0;
	safe.address = (uint16_t)address;
	refresh_print(&safe, &words, text, &level, &kind);
	if (note->kind == REFRESH_NOTE_ADDRESS_FAILED) {
		snprintf(run->reason, sizeof(run->reason), "%.*s", (int)sizeof(run->reason) - 1, text);
	}
	refresh_print_prefix(run, &safe, kind, prefix);
	log_zone(level, run->params.zone, "%s%s", prefix, text);
}

void refresh_log_notes(refresh_run_t *run, const refresh_step_t *step)
{
	for (unsigned i = 0; i < step->note_count; i++) {
		refresh_log_note(run, &step->notes[i]);
	}
}

void refresh_log_stream(const refresh_run_t *run)
{
	const refresh_transfer_t *transfer = run->transfer;
	const stream_in_t *stream = &transfer->stream;
	const char *operation = stream->kind == STREAM_IN_AXFR ? "AXFR, incoming" : refresh_operation(run);
	if (stream->state == STREAM_IN_DONE) {
		refresh_log(run, LOG_INFO, operation,
				"finished, remote serial %u, %.2f seconds, %u messages, %llu bytes", stream->serial,
				(double)(sys_clock_ns() - transfer->begun_ns) / 1e9, stream->message_count,
				(unsigned long long)stream->byte_count);
		return;
	}
	if (stream->state != STREAM_IN_FAILED) {
		return; /* up to date: the machine says so */
	}
	char text[STREAM_IN_TEXT_MAX];
	if (stream->fault == STREAM_IN_SINK && transfer->has_update) {
		refresh_log(run, LOG_WARNING, operation, "serial %u -> %u, failed to apply changes to zone (%s)",
				stream->query.serial, stream->serial, knot_strerror(stream->err));
		return;
	}
	stream_in_print(stream, text);
	refresh_log(run, LOG_WARNING, stream->fault == STREAM_IN_EXPIRED ? "refresh" : operation, "%s", text);
}
