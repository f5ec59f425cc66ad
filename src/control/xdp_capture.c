/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * xdp-capture: frames of XDP workers for one client, which asks for them again and again on one connection. The workers
 * copy what the filter wants into rings; here they are drained and printed. Units: doc/formats/xdp-control.md.
 */
#include "libknot/base/encode.h"
#include "libknot/base/number.h"
#include "src/control/capture_filter.h"
#include "src/control/session.h"
#include "src/sys/log.h"
#include "xdp/tap.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SOURCES_MAX = 1024, /* queues of all interfaces */
	INTERFACES_MAX = 64,
	FRAME_TEXT_MAX = UINT16_MAX / 2, /* bytes of a frame that an item can carry, two digits each */
	REPLY_FRAMES_MAX = 16384,        /* in one block */
	READ_WAIT_MS = 250,              /* a reply without frames comes after so long */
	POLL_MS = 5,
	IDLE_TIMEOUT_MS = 60000, /* a client that doesn't ask for so long has gone */
};

struct xdp_capture {
	net_capture_t *taps;
	size_t filter_len;
	struct bpf_insn filter[CAPTURE_FILTER_MAX];
	char told[INTERFACES_MAX][IF_NAMESIZE]; /* interfaces that the client knows */
	size_t told_count;
	net_capture_source_t sources[SOURCES_MAX];
	char hex[2 * FRAME_TEXT_MAX + 1];
};

typedef struct xdp_capture xdp_capture_t;

static bool xdp_capture_match_frame(const void *filter, const uint8_t *frame, uint32_t len)
{
	return bpf_filter(filter, frame, len, len) != 0;
}

static knot_err_t xdp_capture_refuse_request(session_t *session, const char *text)
{
	log_control(LOG_DEBUG, "control, capture (%s)", text);
	session_send_error(session, text);
	return KNOT_OK;
}

/* ---- Sources ---- */

/* The queues now; those that came since the last call are behind the others. */
static size_t xdp_capture_find_sources(session_t *session)
{
	xdp_capture_t *capture = session->capture;
	size_t count = net_capture_sources(session->net, capture->taps, capture->sources, SOURCES_MAX);
	return count < SOURCES_MAX ? count : SOURCES_MAX;
}

static void xdp_capture_send_interface(session_t *session, const char ifname[static IF_NAMESIZE])
{
	xdp_capture_t *capture = session->capture;
	for (size_t i = 0; i < capture->told_count; i++) {
		if (strcmp(capture->told[i], ifname) == 0) {
			return;
		}
	}
	if (capture->told_count < INTERFACES_MAX) {
		memcpy(capture->told[capture->told_count++], ifname, IF_NAMESIZE);
	}
	knot_ctl_data_t unit = { [KNOT_CTL_IDX_ID] = ifname, [KNOT_CTL_IDX_TYPE] = "interface" };
	session_send(session, KNOT_CTL_TYPE_DATA, &unit);
}

static size_t xdp_capture_send_interfaces(session_t *session)
{
	size_t count = xdp_capture_find_sources(session);
	for (size_t i = 0; i < count; i++) {
		xdp_capture_send_interface(session, session->capture->sources[i].ifname);
	}
	return count;
}

/* ---- Start ---- */

/* What the request asks for; `text` says what is wrong with it, or NULL. */
static const char *xdp_capture_scan_request(
		const session_t *session, xdp_capture_t *capture, kxdp_tap_options_t *ret_options)
{
	const char *snaplen = session->args[KNOT_CTL_IDX_ITEM], *filter = session->args[KNOT_CTL_IDX_DATA];
	kxdp_tap_options_t options = { 0 };
	if (snaplen != NULL) {
		uint64_t number;
		if (!knot_number_of(snaplen, 1, UINT32_MAX, &number)) {
			return "invalid snaplen";
		}
		options.snaplen = (uint32_t)number;
	}
	if (filter != NULL) {
		if (capture_filter_scan(filter, capture->filter, &capture->filter_len) != KNOT_OK) {
			return "invalid filter program";
		}
		options.match = xdp_capture_match_frame;
		options.filter = capture->filter;
	}
	if (options.snaplen == 0 || options.snaplen > FRAME_TEXT_MAX) {
		options.snaplen = FRAME_TEXT_MAX;
	}
	*ret_options = options;
	return NULL;
}

command_result_t command_xdp_capture(session_t *session)
{
	if (session->capture != NULL) {
		return command_result(xdp_capture_refuse_request(session, "this connection has a capture already"));
	}
	xdp_capture_t *capture = calloc(1, sizeof(*capture));
	if (capture == NULL) {
		return command_result(KNOT_ENOMEM);
	}
	kxdp_tap_options_t options;
	const char *fault = xdp_capture_scan_request(session, capture, &options);
	knot_err_t err = fault != NULL ? KNOT_OK
				       : net_capture_start(session->net, session->args[KNOT_CTL_IDX_SECTION], &options,
							 &capture->taps);
	if (fault != NULL || err != KNOT_OK) {
		free(capture);
		return command_result(
				fault != NULL        ? xdp_capture_refuse_request(session, fault)
				: err == KNOT_EBUSY  ? xdp_capture_refuse_request(session, "another capture is running")
				: err != KNOT_ENODEV ? err
						     : xdp_capture_refuse_request(session,
								       session->args[KNOT_CTL_IDX_SECTION] != NULL
										       ? "no such XDP interface"
										       : "no XDP interface"));
	}
	session->capture = capture;
	knot_ctl_set_timeout(session->ctl, IDLE_TIMEOUT_MS);
	(void)xdp_capture_send_interfaces(session);
	return command_result(KNOT_OK);
}

/* ---- Frames ---- */

static void xdp_capture_send_frame(session_t *session, const char *ifname, const kxdp_tap_record_t *record)
{
	char *hex = session->capture->hex, time[24], len[16];
	uint32_t kept = record->captured_len < FRAME_TEXT_MAX ? record->captured_len : FRAME_TEXT_MAX;
	hex[knot_hex_print((knot_bytes_t){ record->bytes, kept }, KNOT_HEX_LOWER, hex)] = '\0';
	snprintf(time, sizeof(time), "%" PRIu64, record->time_ns);
	snprintf(len, sizeof(len), "%" PRIu32, record->len);
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_ITEM] = record->direction == KXDP_OUTBOUND ? "out" : "in",
		[KNOT_CTL_IDX_ID] = ifname,
		[KNOT_CTL_IDX_OWNER] = len,
		[KNOT_CTL_IDX_TTL] = time,
		[KNOT_CTL_IDX_TYPE] = "packet",
		[KNOT_CTL_IDX_DATA] = hex,
	};
	session_send(session, KNOT_CTL_TYPE_DATA, &unit);
}

/* What the rings have, some from each in turn. Returns the number of frames sent. */
static size_t xdp_capture_drain_rings(session_t *session, size_t source_count)
{
	const net_capture_source_t *sources = session->capture->sources;
	size_t share = source_count > 0 ? REPLY_FRAMES_MAX / source_count + 1 : 0, sent = 0;
	for (size_t i = 0; i < source_count; i++) {
		kxdp_tap_record_t record;
		for (size_t j = 0; j < share && !session->broken && kxdp_tap_next(sources[i].tap, &record); j++) {
			xdp_capture_send_frame(session, sources[i].ifname, &record);
			sent++;
		}
	}
	return sent;
}

command_result_t command_xdp_capture_read(session_t *session)
{
	if (session->capture == NULL) {
		return command_result(xdp_capture_refuse_request(session, "no capture is running"));
	}
	size_t sent = 0;
	for (int waited_ms = 0; sent == 0 && waited_ms < READ_WAIT_MS && !session->broken; waited_ms += POLL_MS) {
		sent = xdp_capture_drain_rings(session, xdp_capture_send_interfaces(session));
		if (sent == 0) {
			(void)poll(NULL, 0, POLL_MS);
		}
	}
	return command_result(KNOT_OK);
}

/* ---- End ---- */

static void xdp_capture_send_counter(session_t *session, const char *ifname, const char *item, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_ITEM] = item,
		[KNOT_CTL_IDX_ID] = ifname,
		[KNOT_CTL_IDX_TYPE] = "statistics",
		[KNOT_CTL_IDX_DATA] = text,
	};
	session_send(session, KNOT_CTL_TYPE_DATA, &unit);
}

/* Sums over the queues of an interface. */
static void xdp_capture_send_statistics(session_t *session, const char *ifname, size_t source_count)
{
	uint64_t matched = 0, dropped = 0;
	for (size_t i = 0; i < source_count; i++) {
		if (strcmp(session->capture->sources[i].ifname, ifname) == 0) {
			kxdp_tap_stats_t stats;
			kxdp_tap_stats(session->capture->sources[i].tap, &stats);
			matched += stats.matched;
			dropped += stats.dropped;
		}
	}
	xdp_capture_send_counter(session, ifname, "captured", matched);
	xdp_capture_send_counter(session, ifname, "dropped", dropped);
}

command_result_t command_xdp_capture_stop(session_t *session)
{
	if (session->capture == NULL) {
		return command_result(xdp_capture_refuse_request(session, "no capture is running"));
	}
	/* What came before the end goes with it. */
	net_capture_end(session->net, session->capture->taps);
	size_t source_count = xdp_capture_send_interfaces(session);
	while (xdp_capture_drain_rings(session, source_count) > 0) {}
	for (size_t i = 0; i < session->capture->told_count; i++) {
		xdp_capture_send_statistics(session, session->capture->told[i], source_count);
	}
	xdp_capture_end(session);
	return command_result(KNOT_OK);
}

void xdp_capture_end(session_t *session)
{
	if (session->capture != NULL) {
		net_capture_stop(session->net, session->capture->taps);
		free(session->capture);
		session->capture = NULL;
	}
}
