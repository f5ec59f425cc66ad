/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts put together: sockets of server.listen, XDP interfaces, and the thread that watches the interfaces. */
#include "src/net/net.h"

#include <stdlib.h>

#include "src/net/interfaces.h"
#include "src/net/listen.h"
#include "src/net/monitor.h"
#include "src/net/sockets.h"
#include "src/sys/log.h"

enum {
	/* How often channels are read; changes of links and addresses come as netlink messages. */
	LOOK_MS = 1000,
};

struct net {
	worker_shared_t shared;
	sockets_t *main;       /* owned: of server.listen */
	net_workers_t workers; /* configured */
	interfaces_t interfaces;
	monitor_t monitor;
	sys_thread_t watcher;
	atomic_bool stopping;
	atomic_bool answering; /* from the start of all workers to net_stop() */
};

static sockets_options_t options_of(const conf_server_t *conf)
{
	return (sockets_options_t){
		.udp_workers = conf->udp_workers,
		.tcp_workers = conf->tcp_workers,
		.tcp_reuseport = conf->tcp_reuseport,
		.affinity = conf->socket_affinity,
	};
}

static knot_err_t open_everything(net_t *net, const conf_t *conf)
{
	sockets_options_t options = options_of(&conf->server);
	log_server(LOG_INFO, "using UDP%s reuseport%s", options.tcp_reuseport ? "/TCP" : "",
			options.affinity ? ", socket affinity" : "");
	knot_err_t err = sockets_new(
			&net->shared, &options, conf->server.listen.data, conf->server.listen.count, &net->main);
	options.shared = true;
	options.lenient = true;
	err = err == KNOT_OK ? interfaces_init(&net->interfaces, &net->shared, net->main, &options) : err;
	if (err != KNOT_OK) {
		return err;
	}
	conf_xdp_t *xdp = conf_xdp_copy(&conf->xdp);
	err = xdp != NULL ? interfaces_follow(&net->interfaces, xdp, false) : KNOT_ENOMEM;
	if (err == KNOT_OK && conf->server.listen.count == 0 && !interfaces_serve(&net->interfaces)) {
		log_server(LOG_WARNING, conf->xdp.listen.count > 0 ? "no address to serve on is there yet"
								   : "no network interface configured");
	}
	return err;
}

static knot_err_t make_counters(net_t *net, const conf_t *conf)
{
	state_expect_threads(conf);
	net->shared.counters = sys_counters_new(NET_COUNT_END);
	net->shared.traffic = traffic_counters_new();
	if (net->shared.counters == NULL || net->shared.traffic == NULL) {
		return KNOT_ENOMEM;
	}
	looks_init(&net->shared.looks, net->shared.traffic->slot_count);
	return tcp_clients_init(&net->shared.tcp_clients);
}

knot_err_t net_new(const conf_t *conf, kxdp_priv_t *priv, net_t **ret_net)
{
	net_t *net = calloc(1, sizeof(*net));
	if (net == NULL) {
		return KNOT_ENOMEM;
	}
	net->shared.priv = priv;
	net->workers = (net_workers_t){ .udp = conf->server.udp_workers, .tcp = conf->server.tcp_workers };
	net->monitor = (monitor_t){ -1, -1 };
	knot_err_t err = make_counters(net, conf);
	err = err == KNOT_OK ? monitor_init(&net->monitor) : err;
	err = err == KNOT_OK ? open_everything(net, conf) : err;
	if (err != KNOT_OK) {
		net_free(net);
		return err;
	}
	*ret_net = net;
	return KNOT_OK;
}

/* ---- Following ---- */

static void watch(void *arg)
{
	net_t *net = arg;
	bool event = false;
	while (!atomic_load_explicit(&net->stopping, memory_order_relaxed)) {
		(void)interfaces_follow(&net->interfaces, NULL, event);
		bool has_ends = interfaces_end_blocks(&net->interfaces);
		/* Without XDP there is nothing to look at until a reload asks for some, but for rules that end. */
		event = monitor_wait(&net->monitor, interfaces_empty(&net->interfaces) && !has_ends ? -1 : LOOK_MS);
	}
}

knot_err_t net_reconfigure(net_t *net)
{
	/* A control command may come before net_start(). */
	const state_root_t *root = __atomic_load_n(&net->shared.state, __ATOMIC_ACQUIRE);
	if (root == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = interfaces_follow_published(&net->interfaces, root, true);
	monitor_wake(&net->monitor);
	return err;
}

/* ---- Life ---- */

static knot_err_t start_all(net_t *net)
{
	knot_err_t err = sockets_start(net->main);
	err = err == KNOT_OK ? interfaces_start(&net->interfaces) : err;
	if (err == KNOT_OK) {
		/* A reload may have published another configuration since net_new(). */
		(void)interfaces_follow_published(&net->interfaces, net->shared.state, false);
		net->watcher = (sys_thread_t){ .name = "xdp-watch", .cpu = -1, .run = watch, .arg = net };
		err = sys_thread_start(&net->watcher);
	}
	return err;
}

void net_set_transfers(net_t *net, transfer_service_t *transfers)
{
	net->shared.transfers = transfers;
}

knot_err_t net_start(net_t *net, const state_root_t *state, update_sink_t updates)
{
	net->shared.updates = updates;
	__atomic_store_n(&net->shared.state, state, __ATOMIC_RELEASE);
	knot_err_t err = start_all(net);
	atomic_store(&net->answering, err == KNOT_OK);
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "failed to start workers (%s)", knot_strerror(err));
		net_stop(net);
	}
	return err;
}

void net_stop(net_t *net)
{
	atomic_store(&net->answering, false);
	atomic_store_explicit(&net->stopping, true, memory_order_relaxed);
	monitor_wake(&net->monitor);
	sys_thread_join(&net->watcher);
	interfaces_stop(&net->interfaces);
	sockets_stop(net->main);
}

void net_free(net_t *net)
{
	if (net == NULL) {
		return;
	}
	interfaces_done(&net->interfaces);
	sockets_free(net->main);
	monitor_done(&net->monitor);
	tcp_clients_done(&net->shared.tcp_clients);
	if (net->shared.traffic != NULL && net->shared.counters != NULL) {
		looks_done(&net->shared.looks);
	}
	sys_counters_free(net->shared.traffic);
	sys_counters_free(net->shared.counters);
	free(net);
}

/* ---- What can be seen and done ---- */

bool net_is_answering(const net_t *net)
{
	return atomic_load(&net->answering);
}

net_workers_t net_workers(net_t *net)
{
	net_workers_t workers = interfaces_workers(&net->interfaces);
	workers.udp += net->workers.udp;
	workers.tcp += net->workers.tcp;
	return workers;
}

const sys_counters_t *net_counters(const net_t *net)
{
	return net->shared.counters;
}

const sys_counters_t *net_traffic(const net_t *net)
{
	return net->shared.traffic;
}

looks_t *net_looks(net_t *net)
{
	return &net->shared.looks;
}

knot_err_t net_listen(const net_t *net, const conf_addr_t *addr, int *ret_fd)
{
	return listen_tcp(addr, (listen_options_t){ .priv = net->shared.priv, .silent = true }, false, ret_fd);
}

unsigned net_tcp_clients(const net_t *net)
{
	return tcp_clients_count(&net->shared.tcp_clients);
}

size_t net_xdp_count(net_t *net)
{
	return interfaces_count(&net->interfaces);
}

bool net_xdp_stats(net_t *net, size_t index, net_xdp_stats_t *ret_stats)
{
	return interfaces_stats(&net->interfaces, index, ret_stats);
}

knot_err_t net_xdp_status(net_t *net, net_xdp_status_t **ret_status)
{
	return interfaces_status(&net->interfaces, ret_status);
}

knot_err_t net_capture_start(
		net_t *net, const char *ifname, const kxdp_tap_options_t *options, net_capture_t **ret_capture)
{
	return interfaces_capture(&net->interfaces, ifname, options, ret_capture);
}

size_t net_capture_sources(net_t *net, const net_capture_t *capture, net_capture_source_t *ret_sources, size_t max)
{
	return interfaces_capture_sources(&net->interfaces, capture, ret_sources, max);
}

void net_capture_end(net_t *net, net_capture_t *capture)
{
	interfaces_capture_end(&net->interfaces, capture);
}

void net_capture_stop(net_t *net, net_capture_t *take_capture)
{
	interfaces_capture_stop(&net->interfaces, take_capture);
}

knot_err_t net_block_add(net_t *net, const net_block_t *rules, size_t count)
{
	knot_err_t err = interfaces_block(&net->interfaces, rules, count);
	monitor_wake(&net->monitor); /* without interfaces it sleeps until a rule has an end */
	return err;
}

knot_err_t net_block_remove(net_t *net, const conf_xdp_block_t *rule)
{
	return interfaces_unblock(&net->interfaces, rule);
}

knot_err_t net_block_list(net_t *net, net_block_t **ret_rules, size_t *ret_count)
{
	return interfaces_blocks(&net->interfaces, ret_rules, ret_count);
}
