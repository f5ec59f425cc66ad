/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Every counter that `stats`, `zone-stats` and the periodic dump show, in their order: sections server, xdp, mod-*,
 * zone. What they are is in src/sys/counters.def.
 *
 * Sums what threads count. Within an RCU read section, but for counters_read(), which asks the kernel and takes locks.
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
	sys_counter_kind_t kind;
	const char *help; /* one sentence, without a final dot */
	/*
	 * Metrics have it in a family of their own: a sum of rows of counters_xdp_sheets() that Knot doesn't have, or a
	 * reason why a request got no answer.
	 */
	bool is_elsewhere;
} counter_t;

/** Return false to end. */
typedef bool (*counter_cb)(const counter_t *counter, void *ctx);

/** What has to be read before a read section, at one moment. */
typedef struct counters_reading counters_reading_t;

/**
 * Read it. Takes locks, asks the kernel, may wait for changes of interfaces: not within a read section. NULL: no
 * memory. Free with counters_reading_free().
 */
counters_reading_t *counters_read(const server_t *server, net_t *net);
void counters_reading_free(counters_reading_t *take_reading);

/** What is counted per queue, a sheet per interface of the configuration; valid as long as `reading`. */
const struct xdp_sheet *counters_xdp_sheets(const counters_reading_t *reading, size_t *ret_count);

/** The server's counters, zeros as well. False: the callback ended it. */
bool counters_server(
		const state_t *state, const net_t *net, const counters_reading_t *reading, counter_cb cb, void *ctx);

/** Of those, section `server` only. */
bool counters_of_server(
		const state_t *state, const net_t *net, const counters_reading_t *reading, counter_cb cb, void *ctx);

/** Counters of a zone of `state`: with `facts` also section `zone` (size, max-ttl), which the dump leaves out. */
bool counters_zone(const state_t *state, const zone_t *zone, bool facts, counter_cb cb, void *ctx);

/** One fact of section `zone`. */
typedef struct {
	sys_counter_info_t info;
	uint64_t (*read)(const zone_contents_t *contents); /* contents NULL: not loaded */
} counter_zone_fact_t;

/** The index-th fact, static; NULL: there are no more. */
const counter_zone_fact_t *counters_zone_fact(unsigned index);
