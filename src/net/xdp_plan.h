/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the configuration requires of each interface: its listens, which name interfaces or addresses, sorted by
 * interface.
 *
 * Pure but for the function that finds the interface of an address. A new plan is made whenever the configuration or
 * the system changed; net/interfaces.h applies it to the system.
 */
#pragma once

#include "src/conf/conf.h"
#include "src/net/net.h"
#include "xdp/kxdp.h"

/** One interface. */
typedef struct {
	char ifname[IF_NAMESIZE];           /* "": no interface has the address of its only listen */
	kxdp_fault_t fault;                 /* then: why not */
	char text[NET_XDP_LISTEN_TEXT_MAX]; /* the listens as configured, separated by blanks; cut if need be */
	kxdp_listen_t listens[KXDP_LISTEN_MAX];
	size_t listen_count;
	bool udp, tcp, route_check;
	bool zero_copy;
	uint32_t ring_size;
	uint16_t busypoll_budget;
	uint16_t busypoll_timeout_us;
} xdp_want_t;

typedef struct {
	xdp_want_t *wants; /* in order of the configuration; owned, xdp_plan_done() */
	size_t count;
} xdp_plan_t;

/** As kxdp_iface_of_address(). */
typedef knot_err_t (*xdp_find_t)(
		const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE], kxdp_fault_t *ret_fault);

/**
 * Sort the listens. KNOT_ESPACE: more than KXDP_LISTEN_MAX on the interface that ret_plan->wants[ret_plan->count - 1]
 * names; nothing of the plan is to be used. KNOT_ENOMEM, or what kept `find` from looking. In any case the plan must be
 * freed.
 */
KNOT_MUST_USE knot_err_t xdp_plan_make(const conf_xdp_t *conf, xdp_find_t find, xdp_plan_t *ret_plan);

void xdp_plan_done(xdp_plan_t *plan);

/** The same interface, or the same listen that has none. */
bool xdp_want_meets(const xdp_want_t *a, const xdp_want_t *b);

/** Equal in the settings that require reopening the interface's sockets. */
bool xdp_want_opens_alike(const xdp_want_t *a, const xdp_want_t *b);

/** Equal in what can change while packets flow. */
bool xdp_want_serves_alike(const xdp_want_t *a, const xdp_want_t *b);

/** What of the traffic is the server's; borrows the listens. */
kxdp_config_t xdp_want_config(const xdp_want_t *want);

/** "UDP", "TCP" or "UDP/TCP", for the log. */
const char *xdp_want_protocols(const xdp_want_t *want);
