/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Every counter that `stats`, `zone-stats` and the periodic dump show, in their order: sections server, xdp, mod-*,
 * zone.
 *
 * Sums what threads count. Within an RCU read section, but for counters_xdp_read(), which asks the kernel.
 */
#pragma once

#include "src/event/server.h"
#include "src/modules/module.h"
#include "src/net/net.h"

/** One counter. All strings borrowed during the call; id NULL: the item has one counter only. */
typedef struct {
	const char *section;
	const char *item;
	const char *id;
	uint64_t value;
} counter_t;

/** Return false to end. */
typedef bool (*counter_cb)(const counter_t *counter, void *ctx);

/** What is counted about XDP at one moment. */
typedef struct counters_xdp counters_xdp_t;

/** Read it. May wait for changes of interfaces, so not within a read section. NULL: no memory. Free with
 * counters_xdp_free(). */
counters_xdp_t *counters_xdp_read(net_t *net);
void counters_xdp_free(counters_xdp_t *take_xdp);

/** What is counted per queue, a sheet per interface of the configuration; valid as long as `xdp`. */
const struct xdp_sheet *counters_xdp_sheets(const counters_xdp_t *xdp, size_t *ret_count);

/** The server's counters, zeros as well. xdp: NULL: without. False: the callback ended it. */
bool counters_server(const state_t *state, const server_t *server, const net_t *net, const counters_xdp_t *xdp,
		counter_cb cb, void *ctx);

/** Counters of a zone of `state`: with `facts` also section `zone` (size, max-ttl), which the dump leaves out. */
bool counters_zone(const state_t *state, const zone_t *zone, bool facts, counter_cb cb, void *ctx);
