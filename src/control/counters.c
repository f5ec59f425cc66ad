/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/counters.h"
#include "src/control/xdp_sheet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COUNT SYS_COUNTER_COUNT
#define LEVEL SYS_COUNTER_LEVEL
#define BYTES SYS_COUNTER_BYTES

static bool counters_give(counter_cb cb, void *ctx, const sys_counter_info_t *info, const char *id, uint64_t value)
{
	counter_t counter = { info->section, info->item, id, value, info->kind, info->help, false };
	return cb(&counter, ctx);
}

/* is_elsewhere: metrics have it in a family of their own. */
static bool counters_give_marked(counter_cb cb, void *ctx, const sys_counter_info_t *info, const char *id,
		uint64_t value, bool is_elsewhere)
{
	counter_t counter = { info->section, info->item, id, value, info->kind, info->help, is_elsewhere };
	return cb(&counter, ctx);
}

/* ---- Read before a read section ---- */

struct counters_reading {
	server_failures_t failures;
	server_children_t children;
	net_xdp_stats_t *stats; /* owned */
	size_t stats_count;
	net_xdp_status_t *status; /* owned */
	xdp_sheet_t *sheets;      /* owned: one per interface of `status` */
};

static bool counters_read_xdp(net_t *net, counters_reading_t *reading)
{
	size_t count = net_xdp_count(net);
	reading->stats = calloc(count + 1, sizeof(*reading->stats));
	if (reading->stats == NULL || net_xdp_status(net, &reading->status) != KNOT_OK) {
		return false;
	}
	while (reading->stats_count < count &&
			net_xdp_stats(net, reading->stats_count, &reading->stats[reading->stats_count])) {
		reading->stats_count++;
	}
	reading->sheets = calloc(reading->status->count + 1, sizeof(*reading->sheets));
	for (size_t i = 0; reading->sheets != NULL && i < reading->status->count; i++) {
		const net_xdp_iface_status_t *iface = &reading->status->ifaces[i];
		bool is_virtual = kxdp_device_query(iface->ifname).is_virtual;
		if (xdp_sheet_make(iface, is_virtual, &reading->sheets[i]) != KNOT_OK) {
			return false;
		}
	}
	return reading->sheets != NULL;
}

counters_reading_t *counters_read(const server_t *server, net_t *net)
{
	assert(!sys_rcu_is_reading());
	counters_reading_t *reading = calloc(1, sizeof(*reading));
	if (reading != NULL && !counters_read_xdp(net, reading)) {
		counters_reading_free(reading);
		return NULL;
	}
	if (reading != NULL) {
		reading->failures = server_failures(server);
		reading->children = server_children(server);
	}
	return reading;
}

void counters_reading_free(counters_reading_t *take_reading)
{
	if (take_reading == NULL) {
		return;
	}
	for (size_t i = 0; take_reading->sheets != NULL && i < take_reading->status->count; i++) {
		xdp_sheet_free(&take_reading->sheets[i]);
	}
	free(take_reading->sheets);
	net_xdp_status_free(take_reading->status);
	free(take_reading->stats);
	free(take_reading);
}

const xdp_sheet_t *counters_xdp_sheets(const counters_reading_t *reading, size_t *ret_count)
{
	*ret_count = reading->status->count;
	return reading->sheets;
}

/* ---- server ---- */

static uint64_t counters_read_zone_count(const state_t *state, const counters_reading_t *reading)
{
	(void)reading;
	return zonedb_count(state->zones);
}

static uint64_t counters_read_zone_update_error(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->failures.errors;
}

static uint64_t counters_read_zone_publish_refused(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->failures.refusals;
}

static uint64_t counters_read_zone_proof_refused(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->failures.unproven;
}

static uint64_t counters_read_delegation_check(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->children.checks;
}

static uint64_t counters_read_delegation_change(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->children.changes;
}

static uint64_t counters_read_delegation_refused(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->children.refused;
}

static uint64_t counters_read_delegation_notify_dropped(const state_t *state, const counters_reading_t *reading)
{
	(void)state;
	return reading->children.dropped;
}

bool counters_of_server(
		const state_t *state, const net_t *net, const counters_reading_t *reading, counter_cb cb, void *ctx)
{
	static const struct {
		sys_counter_info_t info;
		uint64_t (*read)(
				const state_t *state, const counters_reading_t *reading); /* NULL: a worker counts it */
		unsigned worker_index;
		bool is_drop; /* counted with the traffic */
	} rows[] = {
#define COUNTER_READ(reader, item, kind, help) { { "server", item, kind, help }, counters_read_##reader, 0, false },
#define COUNTER_WORKER(name, item, help)       { { "server", item, COUNT, help }, NULL, NET_COUNT_##name, false },
#define COUNTER_DROP_SHOWN(name, reason, help)                                                                         \
	{ { "server", reason, COUNT, help }, NULL, TRAFFIC_DROPS + TRAFFIC_DROP_##name, true },
#include "src/sys/counters.def"
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const sys_counters_t *counters = rows[i].is_drop ? net_traffic(net) : net_counters(net);
		uint64_t value = rows[i].read != NULL ? rows[i].read(state, reading)
						      : sys_counters_sum(counters, rows[i].worker_index);
		if (!counters_give_marked(cb, ctx, &rows[i].info, NULL, value, rows[i].is_drop)) {
			return false;
		}
	}
	return true;
}

/* ---- xdp: an item of all interfaces, then the next item ---- */

typedef struct {
	sys_counter_info_t info;
	size_t off;  /* in kxdp_stats_t */
	size_t size; /* bytes: a uint64_t, or a uint32_t */
	bool is_own; /* Knot doesn't have it */
} xdp_item_t;

static const xdp_item_t xdp_items[] = {
#define XDP_FIELD(field)                         offsetof(kxdp_stats_t, field), sizeof(((kxdp_stats_t *)NULL)->field)
#define COUNTER_XDP(item, field, kind, help)     { { "xdp", item, kind, help }, XDP_FIELD(field), false },
#define COUNTER_XDP_OWN(item, field, kind, help) { { "xdp", item, kind, help }, XDP_FIELD(field), true },
#include "src/sys/counters.def"
};

/* Those that Knot has, too, and next to them ours of the same sort. */
static bool counters_of_interfaces(const counters_reading_t *reading, counter_cb cb, void *ctx)
{
	for (size_t i = 0; i < KNOT_LEN(xdp_items); i++) {
		for (size_t j = 0; j < reading->stats_count; j++) {
			const char *field = (const char *)&reading->stats[j].stats + xdp_items[i].off;
			assert(xdp_items[i].size == sizeof(uint64_t) || xdp_items[i].size == sizeof(uint32_t));
			uint64_t value = xdp_items[i].size == sizeof(uint64_t) ? *(const uint64_t *)(const void *)field
									       : *(const uint32_t *)(const void *)field;
			if (!counters_give_marked(cb, ctx, &xdp_items[i].info, reading->stats[j].ifname, value,
					    xdp_items[i].is_own)) {
				return false;
			}
		}
	}
	return true;
}

static const xdp_row_t *counters_find_row(const xdp_sheet_t *sheet, const char *name)
{
	for (size_t i = 0; i < sheet->row_count; i++) {
		if (strcmp(sheet->rows[i].name, name) == 0) {
			return &sheet->rows[i];
		}
	}
	return NULL;
}

/* One row of all interfaces that have it. */
static bool counters_of_row(const counters_reading_t *reading, const xdp_row_t *like, counter_cb cb, void *ctx)
{
	sys_counter_info_t info = { "xdp", like->name, like->counts, like->help };
	for (size_t i = 0; i < reading->status->count; i++) {
		const xdp_row_t *row = counters_find_row(&reading->sheets[i], like->name);
		const char *ifname = reading->status->ifaces[i].ifname;
		if (row != NULL && ifname[0] != '\0' &&
				!counters_give_marked(cb, ctx, &info, ifname, xdp_sheet_sum(&reading->sheets[i], row),
						true)) {
			return false;
		}
	}
	return true;
}

/* The rows of `xdp-status` but for levels: rows that the first interface doesn't have come behind its own. */
static bool counters_of_queues(const counters_reading_t *reading, counter_cb cb, void *ctx)
{
	for (size_t i = 0; i < reading->status->count; i++) {
		for (size_t j = 0; j < reading->sheets[i].row_count; j++) {
			const xdp_row_t *row = &reading->sheets[i].rows[j];
			bool is_done = row->kind == XDP_ROW_LEVEL;
			for (size_t k = 0; k < i && !is_done; k++) {
				is_done = counters_find_row(&reading->sheets[k], row->name) != NULL;
			}
			if (!is_done && !counters_of_row(reading, row, cb, ctx)) {
				return false;
			}
		}
	}
	return true;
}

/* ---- Everything ---- */

typedef struct {
	counter_cb cb;
	void *ctx;
} relay_t;

static bool counters_relay(const sys_counter_info_t *info, const char *id, uint64_t value, void *ctx)
{
	const relay_t *to = ctx;
	return counters_give(to->cb, to->ctx, info, id, value);
}

bool counters_server(
		const state_t *state, const net_t *net, const counters_reading_t *reading, counter_cb cb, void *ctx)
{
	assert(sys_rcu_is_reading());
	relay_t to = { cb, ctx };
	return counters_of_server(state, net, reading, cb, ctx) && counters_of_interfaces(reading, cb, ctx) &&
	       counters_of_queues(reading, cb, ctx) && module_chain_counters(state->modules, NULL, counters_relay, &to);
}

/* ---- zone ---- */

static uint64_t counters_read_zone_size(const zone_contents_t *contents)
{
	return contents != NULL ? contents->wire_size : 0;
}

static uint64_t counters_read_zone_max_ttl(const zone_contents_t *contents)
{
	return contents != NULL ? contents->max_ttl : 0;
}

const counter_zone_fact_t *counters_zone_fact(unsigned index)
{
	static const counter_zone_fact_t facts[] = {
#define COUNTER_ZONE(reader, item, kind, help) { { "zone", item, kind, help }, counters_read_##reader },
#include "src/sys/counters.def"
	};
	return index < KNOT_LEN(facts) ? &facts[index] : NULL;
}

bool counters_zone(const state_t *state, const zone_t *zone, bool facts, counter_cb cb, void *ctx)
{
	assert(sys_rcu_is_reading());
	const zone_contents_t *contents = zone_contents(zone);
	const counter_zone_fact_t *fact;
	for (unsigned i = 0; facts && (fact = counters_zone_fact(i)) != NULL; i++) {
		if (!counters_give(cb, ctx, &fact->info, NULL, fact->read(contents))) {
			return false;
		}
	}
	relay_t to = { cb, ctx };
	return module_chain_counters(state_zone_modules(state, zone), NULL, counters_relay, &to);
}
