/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/counters.h"

static bool one(counter_cb cb, void *ctx, const char *section, const char *item, const char *id, uint64_t value)
{
	counter_t counter = { section, item, id, value };
	return cb(&counter, ctx);
}

/* ---- xdp: an item of all interfaces, then the next item ---- */

typedef struct {
	const char *name;
	size_t off;         /* in kxdp_stats_t */
	bool is_64;         /* uint64_t, else uint32_t */
} xdp_item_t;

#define COUNT(field) { #field, offsetof(kxdp_stats_t, field), true }
#define REFUSED(name, verdict) { name, offsetof(kxdp_stats_t, received) + (verdict) * sizeof(uint64_t), true }
#define LEVEL(field) { #field, offsetof(kxdp_stats_t, field), false }

static const xdp_item_t xdp_items[] = {
	COUNT(rx_dropped), COUNT(rx_invalid), COUNT(tx_invalid), COUNT(rx_full), COUNT(fq_empty), COUNT(tx_empty),
	LEVEL(tx_busy), LEVEL(fq_fill), LEVEL(rx_fill), LEVEL(tx_fill), LEVEL(cq_fill),
	/* Ours alone, behind Knot's: frames that were not answered, by their fault. */
	REFUSED("rx_fragment", KXDP_FRAGMENT), REFUSED("rx_bad_length", KXDP_BAD_LENGTH),
	REFUSED("rx_bad_header", KXDP_BAD_HEADER), REFUSED("rx_bad_address", KXDP_BAD_ADDRESS),
	REFUSED("rx_bad_ip_checksum", KXDP_BAD_IP_CHECKSUM), REFUSED("rx_bad_udp_checksum", KXDP_BAD_UDP_CHECKSUM),
	REFUSED("rx_partial_checksum", KXDP_PARTIAL_CHECKSUM),   /* refused on physical devices only: doc/adr/0005 */
	COUNT(tx_full),
};

static bool xdp_counters(net_t *net, counter_cb cb, void *ctx)
{
	size_t count = net_xdp_count(net);
	for (size_t i = 0; i < KNOT_LEN(xdp_items) && count > 0; i++) {
		for (size_t j = 0; j < count; j++) {
			net_xdp_stats_t iface;
			if (!net_xdp_stats(net, j, &iface)) {
				continue;
			}
			const char *field = (const char *)&iface.stats + xdp_items[i].off;
			uint64_t value = xdp_items[i].is_64 ? *(const uint64_t *)(const void *)field
			                                    : *(const uint32_t *)(const void *)field;
			if (!one(cb, ctx, "xdp", xdp_items[i].name, iface.ifname, value)) {
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

bool counters_server(const state_t *state, const server_t *server, net_t *net, counter_cb cb, void *ctx)
{
	const sys_counters_t *net_sums = net_counters(net);
	relay_t to = { cb, ctx };
	return one(cb, ctx, "server", "zone-count", NULL, zonedb_count(state->zones)) &&
	       one(cb, ctx, "server", "zone-update-error", NULL, server_update_errors(server)) &&
	       one(cb, ctx, "server", "tcp-io-timeout", NULL, sys_counters_sum(net_sums, NET_COUNT_TCP_IO_TIMEOUT)) &&
	       one(cb, ctx, "server", "tcp-idle-timeout", NULL,
	           sys_counters_sum(net_sums, NET_COUNT_TCP_IDLE_TIMEOUT)) &&
	       xdp_counters(net, cb, ctx) &&
	       module_chain_counters(state->modules, relay, &to);
}

bool counters_zone(const zone_t *zone, bool facts, counter_cb cb, void *ctx)
{
	const zone_contents_t *contents = zone_contents(zone);
	if (facts && (!one(cb, ctx, "zone", "size", NULL, contents != NULL ? contents->wire_size : 0) ||
	              !one(cb, ctx, "zone", "max-ttl", NULL, contents != NULL ? contents->max_ttl : 0))) {
		return false;
	}
	relay_t to = { cb, ctx };
	return module_chain_counters(zone_modules(zone), relay, &to);
}
