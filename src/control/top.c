/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * top: numbers for a live screen, asked for again and again on one connection. doc/formats/top.md.
 *
 * Reply: DATA units with SECTION panel, ITEM part of the panel, ID key, DATA number. Numbers only grow, so that the
 * client makes rates out of two replies; zones and types are what was counted since the reply before, by tables that
 * exist from the first `top` of a connection to its end (net/look.h).
 */
#include "libknot/msg/rcode.h"
#include "src/control/counters.h"
#include "src/control/session.h"
#include "src/control/xdp_sheet.h"
#include "src/sys/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "libknot/rr/rrtype.h"

enum { NUMBER_TEXT_MAX = 24 };

static void top_send_number(session_t *session, const char *panel, const char *item, const char *id, uint64_t number)
{
	char text[NUMBER_TEXT_MAX];
	snprintf(text, sizeof(text), "%" PRIu64, number);
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_SECTION] = panel,
		[KNOT_CTL_IDX_ITEM] = item,
		[KNOT_CTL_IDX_ID] = id,
		[KNOT_CTL_IDX_DATA] = text,
	};
	session_send(session, KNOT_CTL_TYPE_DATA, &unit);
}

/* ---- What workers count ---- */

static bool top_send_server_counter(const counter_t *counter, void *ctx)
{
	session_t *session = ctx;
	top_send_number(session, "server", NULL, counter->item, counter->value);
	return !session->broken;
}

static knot_err_t top_send_server(session_t *session, const sys_counters_t *traffic)
{
	uint64_t requests = 0, replies = 0;
	for (unsigned i = 0; i < ANSWER_PROTOCOL_END; i++) {
		requests += sys_counters_sum(traffic, TRAFFIC_REQUESTS + i);
	}
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS; i++) {
		replies += sys_counters_sum(traffic, TRAFFIC_RCODES + i);
	}
	counters_reading_t *reading = counters_read(session->server, session->net);
	if (reading == NULL) {
		return KNOT_ENOMEM;
	}
	top_send_number(session, "server", NULL, "requests", requests);
	top_send_number(session, "server", NULL, "replies", replies);
	top_send_number(session, "server", NULL, "tcp-clients", net_tcp_clients(session->net));
	session_hold(session);
	{
		RCU_READ_SECTION(guard);
		const state_t *state = state_load(server_state(session->server), guard);
		(void)counters_of_server(state, session->net, reading, top_send_server_counter, session);
	}
	session_release(session);
	counters_reading_free(reading);
	return KNOT_OK;
}

static void top_send_traffic(session_t *session, const sys_counters_t *traffic)
{
	for (unsigned i = 0; i < ANSWER_PROTOCOL_END; i++) {
		if (answer_protocol_is_spoken((answer_protocol_t)i)) {
			top_send_number(session, "protocol", NULL, answer_protocol_name((answer_protocol_t)i),
					sys_counters_sum(traffic, TRAFFIC_REQUESTS + i));
		}
	}
	for (unsigned i = 0; i < KNOT_RCODE_SLOTS; i++) {
		uint64_t count = sys_counters_sum(traffic, TRAFFIC_RCODES + i);
		if (count > 0) {
			top_send_number(session, "rcode", NULL, knot_rcode_slot_name(i), count);
		}
	}
	for (unsigned i = 0; i < TRAFFIC_DROP_END; i++) {
		top_send_number(session, "drops", NULL, traffic_drop_name((traffic_drop_t)i),
				sys_counters_sum(traffic, TRAFFIC_DROPS + i));
	}
}

/* Buckets that are empty, and so are for a client that looks for a difference, are left out. */
static void top_send_latency(session_t *session, const sys_counters_t *traffic, unsigned protocol)
{
	for (unsigned i = 0; i < TRAFFIC_BUCKETS; i++) {
		uint64_t count = sys_counters_sum(traffic, TRAFFIC_LATENCY + protocol * TRAFFIC_BUCKETS + i);
		char bound[NUMBER_TEXT_MAX] = "inf";
		if (i < TRAFFIC_BOUNDS) {
			snprintf(bound, sizeof(bound), "%" PRIu64, traffic_bound_ns(i));
		}
		if (count > 0) {
			top_send_number(session, "latency", answer_protocol_name((answer_protocol_t)protocol), bound,
					count);
		}
	}
}

/* ---- Queues ---- */

static bool top_is_sent(const xdp_row_t *row)
{
	return row->kind == XDP_ROW_COUNT && strcmp(row->group, "sent") == 0;
}

static bool top_is_received(const xdp_row_t *row)
{
	return row->kind == XDP_ROW_RECEIVED;
}

static bool top_is_dropped(const xdp_row_t *row)
{
	return row->kind == XDP_ROW_FATE && strcmp(row->group, "dropped") == 0;
}

static void top_send_queue(session_t *session, const xdp_sheet_t *sheet, size_t queue)
{
	static const struct {
		const char *panel;
		bool (*wants)(const xdp_row_t *row);
	} panels[] = { { "queue", top_is_received }, { "queue-sent", top_is_sent },
		{ "queue-dropped", top_is_dropped } };
	char id[NUMBER_TEXT_MAX];
	snprintf(id, sizeof(id), "%u", sheet->iface->queues[queue].index);
	for (size_t i = 0; i < KNOT_LEN(panels); i++) {
		uint64_t sum = 0;
		for (size_t j = 0; j < sheet->row_count; j++) {
			sum += panels[i].wants(&sheet->rows[j]) ? sheet->rows[j].values[queue] : 0;
		}
		top_send_number(session, panels[i].panel, sheet->iface->ifname, id, sum);
	}
}

static knot_err_t top_send_interface(session_t *session, const net_xdp_iface_status_t *iface)
{
	if (iface->queue_count == 0) {
		return KNOT_OK;
	}
	xdp_sheet_t sheet;
	knot_err_t err = xdp_sheet_make(iface, kxdp_device_query(iface->ifname).is_virtual, &sheet);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < iface->queue_count; i++) {
		if (!iface->queues[i].is_past) {
			top_send_queue(session, &sheet, i);
		}
	}
	for (size_t i = 0; i < sheet.row_count; i++) {
		uint64_t sum = top_is_dropped(&sheet.rows[i]) ? xdp_sheet_sum(&sheet, &sheet.rows[i]) : 0;
		if (sum > 0) {
			top_send_number(session, "drops", iface->ifname, sheet.rows[i].name, sum);
		}
	}
	xdp_sheet_free(&sheet);
	return KNOT_OK;
}

static knot_err_t top_send_interfaces(session_t *session)
{
	net_xdp_status_t *status;
	knot_err_t err = net_xdp_status(session->net, &status);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = 0; i < status->count && err == KNOT_OK; i++) {
		err = top_send_interface(session, &status->ifaces[i]);
	}
	net_xdp_status_free(status);
	return err;
}

/* ---- Zones and types ---- */

static knot_err_t top_send_looked(session_t *session)
{
	if (session->look == NULL) {
		/* One more than may look goes without zones and types. */
		knot_err_t err = look_start(net_looks(session->net), &session->look);
		return err == KNOT_EBUSY ? KNOT_OK : err;
	}
	look_result_t result;
	knot_err_t err = look_take(net_looks(session->net), session->look, server_state(session->server), &result);
	for (unsigned i = 0; i < result.type_count; i++) {
		char text[KNOT_TYPE_TEXT_MAX];
		(void)knot_rrtype_print(result.types[i].type, text);
		top_send_number(session, "type", NULL, text, result.types[i].count);
	}
	for (unsigned i = 0; i < result.zone_count; i++) {
		char text[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(knot_name_of(result.zones[i].name), text);
		top_send_number(session, "zone", NULL, text, result.zones[i].count);
	}
	return err;
}

void top_end(session_t *session)
{
	look_stop(net_looks(session->net), session->look);
	session->look = NULL;
}

command_result_t command_top(session_t *session)
{
	const sys_counters_t *traffic = net_traffic(session->net);
	top_send_number(session, "time", NULL, NULL, sys_clock_ns());
	knot_err_t err = top_send_server(session, traffic);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	top_send_traffic(session, traffic);
	for (unsigned i = 0; i < ANSWER_PROTOCOL_END; i++) {
		top_send_latency(session, traffic, i);
	}
	err = top_send_looked(session);
	return command_result(err == KNOT_OK ? top_send_interfaces(session) : err);
}
