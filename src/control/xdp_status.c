/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * xdp-status: where the packets of each XDP interface ended, per queue and in sum. Request: SECTION an interface, or
 * none.
 *
 * Reply: units with SECTION interface, TYPE group, ITEM name, ID queue (none: of the whole interface), DATA value.
 * Facts are in the group "interface", rows as in xdp_sheet.c; doc/formats/xdp-control.md.
 */
#include "src/control/session.h"
#include "src/control/xdp_sheet.h"

#include <inttypes.h>
#include <stdio.h>

enum { VALUE_TEXT_MAX = 24 };

/* ---- Reply ---- */

typedef struct {
	session_t *session;
	const char *ifname;
	knot_ctl_type_t type; /* of the next unit */
} reply_t;

static void xdp_status_send_value(
		reply_t *reply, const char *group, const char *name, const char *id, const char *value)
{
	knot_ctl_data_t unit = {
		[KNOT_CTL_IDX_SECTION] = reply->ifname,
		[KNOT_CTL_IDX_ITEM] = name,
		[KNOT_CTL_IDX_ID] = id,
		[KNOT_CTL_IDX_TYPE] = group,
		[KNOT_CTL_IDX_DATA] = value,
	};
	session_send(reply->session, reply->type, &unit);
	reply->type = KNOT_CTL_TYPE_EXTRA;
}

static void xdp_status_send_row(reply_t *reply, const xdp_sheet_t *sheet, const xdp_row_t *row)
{
	char value[VALUE_TEXT_MAX], id[VALUE_TEXT_MAX];
	if (row->kind != XDP_ROW_LEVEL) {
		snprintf(value, sizeof(value), "%" PRIu64, xdp_sheet_sum(sheet, row));
		xdp_status_send_value(reply, row->group, row->name, NULL, value);
	}
	for (size_t i = 0; i < sheet->iface->queue_count; i++) {
		snprintf(value, sizeof(value), "%" PRIu64, row->values[i]);
		snprintf(id, sizeof(id), "%u", sheet->iface->queues[i].index);
		xdp_status_send_value(reply, row->group, row->name, id, value);
	}
}

static void xdp_status_send_differences(reply_t *reply, const xdp_sheet_t *sheet)
{
	char value[VALUE_TEXT_MAX], id[VALUE_TEXT_MAX];
	int64_t sum = 0;
	for (size_t i = 0; i < sheet->iface->queue_count; i++) {
		sum += xdp_sheet_difference(sheet, i);
	}
	snprintf(value, sizeof(value), "%" PRId64, sum);
	xdp_status_send_value(reply, "difference", "difference", NULL, value);
	for (size_t i = 0; i < sheet->iface->queue_count; i++) {
		snprintf(value, sizeof(value), "%" PRId64, xdp_sheet_difference(sheet, i));
		snprintf(id, sizeof(id), "%u", sheet->iface->queues[i].index);
		xdp_status_send_value(reply, "difference", "difference", id, value);
	}
}

static const char *xdp_status_print_switch(bool is_on)
{
	return is_on ? "on" : "off";
}

/* Facts that are not known ("") are left out. */
static void xdp_status_send_facts(reply_t *reply, const net_xdp_iface_status_t *iface, bool helper_alive)
{
	static const char *const states[] = {
		[NET_XDP_UP] = "up",
		[NET_XDP_GONE] = "gone",
		[NET_XDP_SOCKETS] = "sockets",
	};
	char mtu[VALUE_TEXT_MAX] = "", queues[VALUE_TEXT_MAX];
	size_t queue_count = 0;
	for (size_t i = 0; i < iface->queue_count; i++) {
		queue_count += !iface->queues[i].is_past;
	}
	if (iface->mtu > 0) {
		snprintf(mtu, sizeof(mtu), "%u", iface->mtu);
	}
	snprintf(queues, sizeof(queues), "%zu", queue_count);
	const struct {
		const char *name, *value;
	} facts[] = {
		{ "state", states[iface->state] },
		{ "reason", iface->reason },
		{ "mode", iface->mode },
		{ "driver", iface->driver },
		{ "mtu", mtu },
		{ "link", iface->link_up ? "up" : "down" },
		{ "queues", queues },
		{ "listen", iface->listen },
		{ "udp", xdp_status_print_switch(iface->udp) },
		{ "tcp", xdp_status_print_switch(iface->tcp) },
		{ "route-check", xdp_status_print_switch(iface->route_check) },
		{ "helper", helper_alive ? "" : "ended" },
	};
	for (size_t i = 0; i < KNOT_LEN(facts); i++) {
		if (facts[i].value[0] != '\0') {
			xdp_status_send_value(reply, "interface", facts[i].name, NULL, facts[i].value);
		}
	}
}

static knot_err_t xdp_status_send_interface(session_t *session, const net_xdp_iface_status_t *iface, bool helper_alive)
{
	xdp_sheet_t sheet;
	knot_err_t err = xdp_sheet_make(iface, kxdp_device_query(iface->ifname).is_virtual, &sheet);
	if (err != KNOT_OK) {
		return err;
	}
	/* An address whose interface is not there stands for it. */
	reply_t reply = { session, iface->ifname[0] != '\0' ? iface->ifname : iface->listen, KNOT_CTL_TYPE_DATA };
	xdp_status_send_facts(&reply, iface, helper_alive);
	for (size_t i = 0; i < sheet.row_count && iface->queue_count > 0; i++) {
		xdp_status_send_row(&reply, &sheet, &sheet.rows[i]);
	}
	if (iface->queue_count > 0) {
		xdp_status_send_differences(&reply, &sheet);
	}
	xdp_sheet_free(&sheet);
	return KNOT_OK;
}

command_result_t command_xdp_status(session_t *session)
{
	const char *wanted = session->args[KNOT_CTL_IDX_SECTION];
	net_xdp_status_t *status;
	knot_err_t err = net_xdp_status(session->net, &status);
	if (err != KNOT_OK) {
		return command_result(err);
	}
	bool is_known = wanted == NULL;
	for (size_t i = 0; i < status->count && err == KNOT_OK; i++) {
		if (wanted == NULL || strcmp(wanted, status->ifaces[i].ifname) == 0) {
			is_known = true;
			err = xdp_status_send_interface(session, &status->ifaces[i], status->helper_alive);
		}
	}
	net_xdp_status_free(status);
	if (!is_known) {
		session_send_error(session, "no such XDP interface");
	}
	return command_result(err);
}
