/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What all workers of a server share, whatever they answer over: sockets (socket_worker.h) or AF_XDP (xdp_worker.h).
 *
 * net.c makes it before the first worker and frees it after the last. Workers only read it, but for counters, which are
 * rows per thread, and the set of TCP clients, which has a lock that is taken per connection, never per packet. What is
 * published in it by others is loaded within a read section.
 */
#pragma once

#include "src/net/tcp_clients.h"
#include "src/net/traffic.h"
#include "src/net/vlan.h"
#include "src/state/state.h"
#include "src/transfer/out_service.h"
#include "src/update/request.h"
#include "xdp/priv.h"

typedef struct xdp_worker_set xdp_worker_set_t;

typedef struct {
	const state_root_t *state;     /* borrowed: what answers come from; NULL until net_start() */
	sys_counters_t *counters;      /* owned: NET_COUNT_* */
	sys_counters_t *traffic;       /* owned: TRAFFIC_… */
	looks_t looks;                 /* looks.list_rcu: RCU_LOAD() */
	tcp_clients_t tcp_clients;     /* of all TCP workers over sockets */
	transfer_service_t *transfers; /* borrowed, set before the first worker starts; NULL: no transfers */
	update_sink_t updates;         /* takes dynamic updates; set by net_start() */
	kxdp_priv_t *priv;             /* borrowed: opens what this process may not; NULL: there is no helper */
	xdp_worker_set_t *xdp_rcu;     /* owned, RCU_LOAD(): the XDP workers that run; never NULL while workers run */
	vlan_table_t *vlans_rcu; /* owned, RCU_LOAD(): VLAN devices, for routes that name them; NULL: there are none */
} worker_shared_t;
