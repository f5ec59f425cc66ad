/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/counters.h"
#include "src/control/xdp_sheet.h"

#include <stdlib.h>

static bool one(counter_cb cb, void *ctx, const char *section, const char *item, const char *id, uint64_t value)
{
	counter_t counter = { section, item, id, value };
	return cb(&counter, ctx);
}

/* ---- xdp: an item of all interfaces, then the next item ---- */

typedef struct {
	const char *name;
	size_t off; /* in kxdp_stats_t */
	bool is_64; /* uint64_t, else uint32_t */
} xdp_item_t;

#define COUNT(field)                                                                                                   \
	{                                                                                                              \
#field, offsetof(kxdp_stats_t, field), true                                                            \
	}
#define REFUSED(name, verdict)                                                                                         \
	{                                                                                                              \
		name, offsetof(kxdp_stats_t, received) + (verdict) * sizeof(uint64_t), true                            \
	}
#define LEVEL(field)                                                                                                   \
	{                                                                                                              \
#field, offsetof(kxdp_stats_t, field), false                                                           \
	}

static const xdp_item_t xdp_items[] = {
	COUNT(rx_dropped),
	COUNT(rx_invalid),
	COUNT(tx_invalid),
	COUNT(rx_full),
	COUNT(fq_empty),
	COUNT(tx_empty),
	LEVEL(tx_busy),
	LEVEL(fq_fill),
	LEVEL(rx_fill),
	LEVEL(tx_fill),
	LEVEL(cq_fill),
	/* Ours alone, behind Knot's: frames that were not answered, by their fault. */
	REFUSED("rx_fragment", KXDP_FRAGMENT),
	REFUSED("rx_bad_length", KXDP_BAD_LENGTH),
	REFUSED("rx_bad_header", KXDP_BAD_HEADER),
	REFUSED("rx_bad_address", KXDP_BAD_ADDRESS),
	REFUSED("rx_bad_ip_checksum", KXDP_BAD_IP_CHECKSUM),
	REFUSED("rx_bad_udp_checksum", KXDP_BAD_UDP_CHECKSUM),
	REFUSED("rx_bad_tcp_checksum", KXDP_BAD_TCP_CHECKSUM),
	REFUSED("rx_partial_checksum", KXDP_PARTIAL_CHECKSUM), /* refused on physical devices only: doc/adr/0005 */
	COUNT(tx_full),
};

struct counters_xdp {
	net_xdp_stats_t *stats; /* owned */
	size_t stats_count;
	net_xdp_status_t *status; /* owned */
	xdp_sheet_t *sheets;      /* owned: one per interface of `status` */
};

static bool read_xdp(net_t *net, counters_xdp_t *xdp)
{
	size_t count = net_xdp_count(net);
	xdp->stats = calloc(count + 1, sizeof(*xdp->stats));
	if (xdp->stats == NULL || net_xdp_status(net, &xdp->status) != KNOT_OK) {
		return false;
	}
	while (xdp->stats_count < count && net_xdp_stats(net, xdp->stats_count, &xdp->stats[xdp->stats_count])) {
		xdp->stats_count++;
	}
	xdp->sheets = calloc(xdp->status->count + 1, sizeof(*xdp->sheets));
	for (size_t i = 0; xdp->sheets != NULL && i < xdp->status->count; i++) {
		const net_xdp_iface_status_t *iface = &xdp->status->ifaces[i];
		if (xdp_sheet_make(iface, kxdp_device_query(iface->ifname).is_virtual, &xdp->sheets[i]) != KNOT_OK) {
			return false;
		}
	}
	return xdp->sheets != NULL;
}

counters_xdp_t *counters_xdp_read(net_t *net)
{
	counters_xdp_t *xdp = calloc(1, sizeof(*xdp));
	if (xdp != NULL && !read_xdp(net, xdp)) {
		counters_xdp_free(xdp);
		return NULL;
	}
	return xdp;
}

void counters_xdp_free(counters_xdp_t *take_xdp)
{
	if (take_xdp == NULL) {
		return;
	}
	for (size_t i = 0; take_xdp->sheets != NULL && i < take_xdp->status->count; i++) {
		xdp_sheet_free(&take_xdp->sheets[i]);
	}
	free(take_xdp->sheets);
	net_xdp_status_free(take_xdp->status);
	free(take_xdp->stats);
	free(take_xdp);
}

const xdp_sheet_t *counters_xdp_sheets(const counters_xdp_t *xdp, size_t *ret_count)
{
	*ret_count = xdp->status->count;
	return xdp->sheets;
}

/* Those that Knot has, too, and next to them ours of the same sort. */
static bool xdp_items_counters(const counters_xdp_t *xdp, counter_cb cb, void *ctx)
{
	for (size_t i = 0; i < KNOT_LEN(xdp_items); i++) {
		for (size_t j = 0; j < xdp->stats_count; j++) {
			const char *field = (const char *)&xdp->stats[j].stats + xdp_items[i].off;
			uint64_t value = xdp_items[i].is_64 ? *(const uint64_t *)(const void *)field
							    : *(const uint32_t *)(const void *)field;
			if (!one(cb, ctx, "xdp", xdp_items[i].name, xdp->stats[j].ifname, value)) {
				return false;
			}
		}
	}
	return true;
}

static const xdp_row_t *find_row(const xdp_sheet_t *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->row_count; i++) {
		if (strcmp(sheet->rows[i].name, name) == 0) {
			return &sheet->rows[i];
		}
	}
	return NULL;
}

/* One row of all interfaces that have it. */
static bool row_counters(const counters_xdp_t *xdp, const char *name, counter_cb cb, void *ctx)
{
	for (size_t i = 0; i < xdp->status->count; i++) {
		const xdp_row_t *row = find_row(&xdp->sheets[i], name);
		const char *ifname = xdp->status->ifaces[i].ifname;
		if (row != NULL && ifname[0] != '\0' &&
				!one(cb, ctx, "xdp", name, ifname, xdp_sheet_sum(&xdp->sheets[i], row))) {
			return false;
		}
	}
	return true;
}

/* The rows of `xdp-status` but for levels: rows that the first interface doesn't have come behind its own. */
static bool xdp_row_counters(const counters_xdp_t *xdp, counter_cb cb, void *ctx)
{
	for (size_t i = 0; i < xdp->status->count; i++) {
		for (size_t j = 0; j < xdp->sheets[i].row_count; j++) {
			const xdp_row_t *row = &xdp->sheets[i].rows[j];
			bool is_told = row->kind == XDP_ROW_LEVEL;
			for (size_t k = 0; k < i && !is_told; k++) {
				is_told = find_row(&xdp->sheets[k], row->name) != NULL;
			}
			if (!is_told && !row_counters(xdp, row->name, cb, ctx)) {
				return false;
			}
		}
	}
	return true;
}

typedef struct {
	counter_cb cb;
	void *ctx;
} relay_t;

static bool relay(const char *module, const char *item, const char *id, uint64_t value, void *ctx)
{
	const relay_t *to = ctx;
	return one(to->cb, to->ctx, module, item, id, value);
}

bool counters_server(const state_t *state, const server_t *server, const net_t *net, const counters_xdp_t *xdp,
		counter_cb cb, void *ctx)
{
	const sys_counters_t *net_sums = net_counters(net);
	relay_t to = { cb, ctx };
	return one(cb, ctx, "server", "zone-count", NULL, zonedb_count(state->zones)) &&
	       one(cb, ctx, "server", "zone-update-error", NULL, server_update_errors(server)) &&
	       one(cb, ctx, "server", "tcp-io-timeout", NULL, sys_counters_sum(net_sums, NET_COUNT_TCP_IO_TIMEOUT)) &&
	       one(cb, ctx, "server", "tcp-idle-timeout", NULL,
			       sys_counters_sum(net_sums, NET_COUNT_TCP_IDLE_TIMEOUT)) &&
	       (xdp == NULL || (xdp_items_counters(xdp, cb, ctx) && xdp_row_counters(xdp, cb, ctx))) &&
	       module_chain_counters(state->modules, NULL, relay, &to);
}

bool counters_zone(const state_t *state, const zone_t *zone, bool facts, counter_cb cb, void *ctx)
{
	const zone_contents_t *contents = zone_contents(zone);
	if (facts && (!one(cb, ctx, "zone", "size", NULL, contents != NULL ? contents->wire_size : 0) ||
				     !one(cb, ctx, "zone", "max-ttl", NULL,
						     contents != NULL ? contents->max_ttl : 0))) {
		return false;
	}
	relay_t to = { cb, ctx };
	return module_chain_counters(state_zone_modules(state, zone), NULL, relay, &to);
}
