/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/net.h"

#include <ifaddrs.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/net/listen.h"
#include "src/net/worker.h"
#include "src/sys/limits.h"
#include "src/sys/log.h"

/** The sockets of one listen address. */
typedef struct {
	conf_addr_t addr;
	bool wildcard;
	int *udp_fds; /* owned: one per UDP worker, one in all for AF_UNIX; -1: not open */
	size_t udp_count;
	int *tcp_fds; /* owned: one in all, or one per TCP worker with tcp-reuseport */
	size_t tcp_count;
} endpoint_t;

typedef struct {
	kxdp_iface_t *iface;   /* owned */
	kxdp_queue_t **queues; /* owned */
	unsigned queue_count;
} xdp_iface_t;

struct net {
	worker_shared_t shared;
	int stop_fd; /* of all socket workers */
	net_workers_t counts;
	bool tcp_reuseport;
	bool socket_affinity;
	endpoint_t *endpoints; /* owned, one allocation that never moves: workers point into it */
	size_t endpoint_count, endpoint_max;
	xdp_iface_t *ifaces; /* owned */
	size_t iface_count;
	worker_t *workers; /* owned: UDP, then TCP, then XDP */
	size_t worker_count;
};

/* ---- Ordinary sockets ---- */

/* The kernel hands a packet to the socket whose number is its CPU's, modulo their count. */
static knot_err_t attach_affinity(const endpoint_t *endpoint)
{
	struct sock_filter code[] = {
		{BPF_LD | BPF_W | BPF_ABS,   0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_CPU)},
		{ BPF_ALU | BPF_MOD | BPF_K, 0, 0, (uint32_t)endpoint->udp_count      },
		{ BPF_RET | BPF_A,           0, 0, 0                                  },
	};
	struct sock_fprog program = { .len = KNOT_LEN(code), .filter = code };
	return setsockopt(endpoint->udp_fds[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0
		       ? KNOT_OK
		       : knot_err_of_errno(errno);
}

typedef knot_err_t (*listen_fn_t)(const conf_addr_t *, listen_options_t, bool, int *);

static knot_err_t open_all(const conf_addr_t *addr, listen_fn_t open_one, size_t count, int **ret_fds,
			   size_t *ret_count)
{
	int *fds = malloc(count * sizeof(*fds));
	if (fds == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_fds = fds;
	for (*ret_count = 0; *ret_count < count; ++*ret_count) {
		listen_options_t options = { .reuseport = count > 1 };
		knot_err_t err = open_one(addr, options, *ret_count > 0, &fds[*ret_count]);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

static knot_err_t bind_endpoint(net_t *net, const conf_addr_t *addr)
{
	char text[CONF_ADDR_TEXT_MAX];
	log_server(LOG_INFO, "binding to interface %s", conf_addr_print(addr, text));
	endpoint_t *endpoint = &net->endpoints[net->endpoint_count++];
	endpoint->addr = *addr;
	endpoint->wildcard = listen_is_wildcard(addr);
	bool is_unix = addr->ss.ss_family == AF_UNIX;
	knot_err_t err = open_all(&endpoint->addr, listen_udp, is_unix ? 1 : net->counts.udp, &endpoint->udp_fds,
				  &endpoint->udp_count);
	if (err == KNOT_OK) {
		err = open_all(&endpoint->addr, listen_tcp, net->tcp_reuseport && !is_unix ? net->counts.tcp : 1,
			       &endpoint->tcp_fds, &endpoint->tcp_count);
	}
	if (err == KNOT_OK && net->socket_affinity && endpoint->udp_count > 1) {
		err = attach_affinity(endpoint);
		if (err != KNOT_OK) {
			log_server(LOG_ERR, "cannot set socket affinity of address %s (%s)", text, knot_strerror(err));
		}
	}
	return err;
}

static knot_err_t bind_all(net_t *net, const conf_addrs_t *listen)
{
	for (size_t i = 0; i < listen->count; i++) {
		knot_err_t err = bind_endpoint(net, &listen->data[i]);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

/* ---- XDP ---- */

static uint16_t port_of(const struct sockaddr_storage *ss)
{
	return ntohs(ss->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)ss)->sin6_port
					       : ((const struct sockaddr_in *)ss)->sin_port);
}

static bool same_ip(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family) {
		return false;
	}
	if (a->ss_family == AF_INET) {
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	}
	return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/* True if ordinary sockets take requests to this address and port already. */
static bool is_bound(const net_t *net, const conf_addr_t *addr)
{
	for (size_t i = 0; i < net->endpoint_count; i++) {
		const endpoint_t *endpoint = &net->endpoints[i];
		if (endpoint->addr.ss.ss_family == addr->ss.ss_family &&
		    port_of(&endpoint->addr.ss) == port_of(&addr->ss) &&
		    (endpoint->wildcard || same_ip(&endpoint->addr.ss, &addr->ss))) {
			return true;
		}
	}
	return false;
}

static bool has_xdp(const net_t *net)
{
	return net->iface_count > 0;
}

static knot_err_t bind_instead_on(net_t *net, const struct sockaddr *sa, uint16_t port, const char *ifname)
{
	conf_addr_t addr = { 0 };
	if (sa->sa_family == AF_INET) {
		addr.len = sizeof(struct sockaddr_in);
		memcpy(&addr.ss, sa, addr.len);
		((struct sockaddr_in *)&addr.ss)->sin_port = htons(port);
	} else {
		addr.len = sizeof(struct sockaddr_in6);
		memcpy(&addr.ss, sa, addr.len);
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr.ss;
		in6->sin6_port = htons(port);
		in6->sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ? if_nametoindex(ifname) : 0;
	}
	if (is_bound(net, &addr)) {
		return KNOT_OK;
	}
	if (net->endpoint_count == net->endpoint_max) {
		return KNOT_ESPACE;
	}
	return bind_endpoint(net, &addr);
}

/* Serve a listen that can't have XDP over ordinary sockets: on its address, or on each address of its interface. */
static knot_err_t bind_instead(net_t *net, const conf_xdp_listen_t *listen, const char *ifname)
{
	if (listen->addr.ss_family != AF_UNSPEC) {
		return bind_instead_on(net, (const struct sockaddr *)&listen->addr, listen->port, ifname);
	}
	struct ifaddrs *all;
	if (getifaddrs(&all) != 0) {
		return knot_err_of_errno(errno);
	}
	bool any = false;
	knot_err_t err = KNOT_OK;
	for (const struct ifaddrs *i = all; i != NULL && err == KNOT_OK; i = i->ifa_next) {
		if (i->ifa_addr != NULL && strcmp(i->ifa_name, ifname) == 0 &&
		    (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6)) {
			err = bind_instead_on(net, i->ifa_addr, listen->port, ifname);
			any = true;
		}
	}
	freeifaddrs(all);
	if (err == KNOT_OK && !any) {
		log_server(LOG_WARNING, "interface %s has no address to bind sockets to instead of XDP", ifname);
	}
	return err;
}

static void iface_done(xdp_iface_t *iface)
{
	for (unsigned i = 0; i < iface->queue_count && iface->queues != NULL; i++) {
		kxdp_queue_close(iface->queues[i]);
	}
	free(iface->queues);
	kxdp_iface_close(iface->iface);
	*iface = (xdp_iface_t){ 0 };
}

static knot_err_t iface_open(kxdp_priv_t *priv, const kxdp_options_t *options, xdp_iface_t *ret_iface,
			     kxdp_fault_t *ret_fault)
{
	xdp_iface_t iface = { 0 };
	knot_err_t err = kxdp_iface_open(priv, options, &iface.iface, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	iface.queue_count = kxdp_iface_queue_count(iface.iface);
	iface.queues = calloc(iface.queue_count, sizeof(*iface.queues));
	if (iface.queues == NULL) {
		iface_done(&iface);
		*ret_fault = (kxdp_fault_t){ .err = KNOT_ENOMEM, .text = "not enough memory" };
		return KNOT_ENOMEM;
	}
	for (unsigned i = 0; i < iface.queue_count; i++) {
		err = kxdp_queue_open(iface.iface, i, &iface.queues[i], ret_fault);
		if (err != KNOT_OK) {
			iface_done(&iface);
			return err;
		}
	}
	*ret_iface = iface;
	return KNOT_OK;
}

/* The listens of one interface, which have it in common. */
typedef struct {
	char ifname[IF_NAMESIZE];
	const conf_xdp_listen_t *conf[KXDP_LISTEN_MAX];
	kxdp_listen_t listens[KXDP_LISTEN_MAX];
	size_t count;
} xdp_group_t;

static knot_err_t open_group(net_t *net, const conf_xdp_t *conf, const xdp_group_t *group)
{
	kxdp_options_t options = {
		.ifname = group->ifname,
		.config = { .listens = group->listens, .listen_count = group->count, .udp = conf->udp },
		.zero_copy = conf->zero_copy,
		.ring_size = conf->ring_size,
		.busypoll_budget = conf->busypoll_budget,
		.busypoll_timeout_us = conf->busypoll_timeout_us,
	};
	for (size_t i = 0; i < group->count; i++) {
		log_server(LOG_INFO, "binding to XDP interface %s", group->conf[i]->text);
	}
	kxdp_fault_t fault;
	xdp_iface_t *iface = &net->ifaces[net->iface_count];
	knot_err_t err = iface_open(net->shared.priv, &options, iface, &fault);
	if (err == KNOT_OK) {
		net->iface_count++;
		net->counts.xdp += iface->queue_count;
		for (size_t i = 0; i < group->count; i++) {
			log_server(LOG_INFO, "initialized XDP interface %s, UDP port %u, queues %u, %s mode",
				   group->ifname, group->listens[i].port, iface->queue_count,
				   kxdp_iface_mode_text(iface->iface));
		}
		return KNOT_OK;
	}
	log_server(LOG_WARNING, "failed to initialize XDP interface %s (%s), using ordinary sockets instead",
		   group->ifname, fault.text);
	for (size_t i = 0; i < group->count; i++) {
		err = bind_instead(net, group->conf[i], group->ifname);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

/* The interface of a listen. False: none; sockets were tried instead, *ret_err says how that went. */
static bool find_iface(net_t *net, const conf_xdp_listen_t *listen, char ret_ifname[static IF_NAMESIZE],
		       knot_err_t *ret_err)
{
	if (listen->ifname[0] != '\0') {
		snprintf(ret_ifname, IF_NAMESIZE, "%s", listen->ifname);
		return true;
	}
	kxdp_fault_t fault;
	if (kxdp_iface_of_address((const struct sockaddr *)&listen->addr, ret_ifname, &fault) == KNOT_OK) {
		return true;
	}
	log_server(LOG_WARNING, "no XDP interface for address %s (%s), using ordinary sockets instead", listen->text,
		   fault.text);
	*ret_err = bind_instead(net, listen, "");
	return false;
}

static xdp_group_t *group_of(xdp_group_t *groups, size_t *count, const char *ifname)
{
	for (size_t i = 0; i < *count; i++) {
		if (strcmp(groups[i].ifname, ifname) == 0) {
			return &groups[i];
		}
	}
	xdp_group_t *group = &groups[(*count)++];
	snprintf(group->ifname, sizeof(group->ifname), "%s", ifname);
	return group;
}

static knot_err_t open_xdp(net_t *net, const conf_xdp_t *conf)
{
	size_t count = conf->listen.count, group_count = 0;
	if (count == 0) {
		return KNOT_OK;
	}
	xdp_group_t *groups = calloc(count, sizeof(*groups));
	net->ifaces = calloc(count, sizeof(*net->ifaces));
	knot_err_t err = groups != NULL && net->ifaces != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t i = 0; i < count && err == KNOT_OK; i++) {
		const conf_xdp_listen_t *listen = &conf->listen.data[i];
		char ifname[IF_NAMESIZE];
		if (!find_iface(net, listen, ifname, &err)) {
			continue;
		}
		xdp_group_t *group = group_of(groups, &group_count, ifname);
		if (group->count == KXDP_LISTEN_MAX) {
			log_server(LOG_ERR, "too many XDP listen addresses on interface %s, at most %d", ifname,
				   KXDP_LISTEN_MAX);
			err = KNOT_ESPACE;
			break;
		}
		group->conf[group->count] = listen;
		group->listens[group->count++] = (kxdp_listen_t){ .addr = listen->addr, .port = listen->port };
	}
	for (size_t i = 0; i < group_count && err == KNOT_OK; i++) {
		err = open_group(net, conf, &groups[i]);
	}
	free(groups);
	return err;
}

/* ---- Workers ---- */

static knot_err_t add_sockets(worker_t *worker, const net_t *net, bool tcp, size_t number)
{
	worker->sockets = calloc(net->endpoint_count > 0 ? net->endpoint_count : 1, sizeof(*worker->sockets));
	if (worker->sockets == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < net->endpoint_count; i++) {
		const endpoint_t *endpoint = &net->endpoints[i];
		size_t count = tcp ? endpoint->tcp_count : endpoint->udp_count;
		const int *fds = tcp ? endpoint->tcp_fds : endpoint->udp_fds;
		worker->sockets[worker->socket_count++] = (worker_socket_t){
			.fd = fds[count > 1 ? number : 0],
			.addr = &endpoint->addr,
			.wildcard = endpoint->wildcard,
		};
	}
	return KNOT_OK;
}

static worker_t *add_worker(net_t *net, const char *kind, size_t number, void (*run)(void *))
{
	worker_t *worker = &net->workers[net->worker_count++];
	worker->shared = &net->shared;
	worker->stop_fd = net->stop_fd;
	worker->thread = (sys_thread_t){ .cpu = -1, .counts = true, .run = run, .arg = worker };
	snprintf(worker->thread.name, sizeof(worker->thread.name), "%s-%u", kind, (unsigned)(number % 100000));
	return worker;
}

static knot_err_t make_workers(net_t *net)
{
	size_t count = (size_t)net->counts.udp + net->counts.tcp + net->counts.xdp;
	net->workers = calloc(count, sizeof(*net->workers));
	worker_set_t *set = calloc(1, sizeof(*set) + net->counts.xdp * sizeof(set->workers[0]));
	if (net->workers == NULL || set == NULL) {
		free(set);
		return KNOT_ENOMEM;
	}
	set->count = net->counts.xdp;
	net->shared.xdp_rcu = set;
	knot_err_t err = KNOT_OK;
	unsigned cpus = sys_cpu_count();
	bool has_sockets = net->endpoint_count > 0;
	for (size_t i = 0; has_sockets && i < net->counts.udp && err == KNOT_OK; i++) {
		worker_t *worker = add_worker(net, "udp", i, udp_worker_run);
		worker->thread.cpu = net->socket_affinity ? (int)(i % cpus) : -1;
		err = add_sockets(worker, net, false, i);
		err = err == KNOT_OK ? udp_worker_init(worker) : err;
	}
	for (size_t i = 0; has_sockets && i < net->counts.tcp && err == KNOT_OK; i++) {
		worker_t *worker = add_worker(net, "tcp", i, tcp_worker_run);
		err = add_sockets(worker, net, true, i);
		err = err == KNOT_OK ? tcp_worker_init(worker) : err;
	}
	size_t number = 0;
	for (size_t i = 0; i < net->iface_count; i++) {
		for (unsigned q = 0; q < net->ifaces[i].queue_count && err == KNOT_OK; q++, number++) {
			worker_t *worker = add_worker(net, "xdp", number, xdp_worker_run);
			worker->thread.cpu = (int)(number % cpus);
			worker->queue = net->ifaces[i].queues[q];
			worker->ifindex = kxdp_iface_index(net->ifaces[i].iface);
			worker->queue_index = q;
			net->shared.xdp_rcu->workers[number] = worker;
			err = xdp_worker_init(worker);
		}
	}
	return err;
}

static knot_err_t open_everything(net_t *net, const conf_t *conf)
{
	net->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (net->stop_fd < 0) {
		return knot_err_of_errno(errno);
	}
	/* An XDP listen that falls back may have an address of each kind on its interface. */
	enum { FALLBACK_MAX = 64 };
	net->endpoint_max = conf->server.listen.count + FALLBACK_MAX;
	net->endpoints = calloc(net->endpoint_max, sizeof(*net->endpoints));
	if (net->endpoints == NULL) {
		return KNOT_ENOMEM;
	}
	log_server(LOG_INFO, "using UDP%s reuseport%s", net->tcp_reuseport ? "/TCP" : "",
		   net->socket_affinity ? ", socket affinity" : "");
	knot_err_t err = bind_all(net, &conf->server.listen);
	err = err == KNOT_OK ? open_xdp(net, &conf->xdp) : err;
	if (err == KNOT_OK && net->endpoint_count == 0 && !has_xdp(net)) {
		if (conf->xdp.listen.count > 0) {
			log_server(LOG_ERR, "no address to serve on is left");
			err = KNOT_EADDRNOTAVAIL;
		} else {
			log_server(LOG_WARNING, "no network interface configured");
		}
	}
	err = err == KNOT_OK ? make_workers(net) : err;
	if (err == KNOT_OK) {
		sys_slots_reserve(net->counts.udp + net->counts.tcp + net->counts.xdp);
		net->shared.counters = sys_counters_new(NET_COUNT_END);
		err = net->shared.counters != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	return err;
}

knot_err_t net_new(const conf_t *conf, kxdp_priv_t *priv, net_t **ret_net)
{
	net_t *net = calloc(1, sizeof(*net));
	if (net == NULL) {
		return KNOT_ENOMEM;
	}
	net->stop_fd = -1;
	net->shared.priv = priv;
	net->counts = (net_workers_t){ .udp = conf->server.udp_workers, .tcp = conf->server.tcp_workers };
	net->tcp_reuseport = conf->server.tcp_reuseport;
	net->socket_affinity = conf->server.socket_affinity;
	knot_err_t err = open_everything(net, conf);
	if (err != KNOT_OK) {
		net_free(net);
		return err;
	}
	*ret_net = net;
	return KNOT_OK;
}

knot_err_t net_start(net_t *net, const state_root_t *state)
{
	net->shared.state = state;
	for (size_t i = 0; i < net->worker_count; i++) {
		knot_err_t err = sys_thread_start(&net->workers[i].thread);
		if (err != KNOT_OK) {
			log_server(LOG_ERR, "failed to start thread %s (%s)", net->workers[i].thread.name,
				   knot_strerror(err));
			net_stop(net);
			return err;
		}
	}
	return KNOT_OK;
}

void net_stop(net_t *net)
{
	(void)eventfd_write(net->stop_fd, 1);
	for (size_t i = 0; i < net->worker_count; i++) {
		atomic_store_explicit(&net->workers[i].stop, true, memory_order_relaxed);
	}
	for (size_t i = 0; i < net->worker_count; i++) {
		sys_thread_join(&net->workers[i].thread);
	}
}

static void close_all(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		close(fds[i]);
	}
	free(fds);
}

static void endpoint_done(endpoint_t *endpoint)
{
	/* The files of UNIX sockets go with them; not those of an address that another program holds. */
	conf_addr_t dgram;
	if (endpoint->udp_count > 0 && listen_dgram_addr(&endpoint->addr, &dgram)) {
		listen_unlink(&dgram);
	}
	if (endpoint->tcp_count > 0) {
		listen_unlink(&endpoint->addr);
	}
	close_all(endpoint->udp_fds, endpoint->udp_count);
	close_all(endpoint->tcp_fds, endpoint->tcp_count);
}

void net_free(net_t *net)
{
	if (net == NULL) {
		return;
	}
	for (size_t i = 0; i < net->worker_count; i++) {
		free(net->workers[i].sockets);
		if (net->workers[i].queue != NULL) {
			xdp_worker_done(&net->workers[i]);
		} else {
			free(net->workers[i].memory);
		}
	}
	free(net->workers);
	free(net->shared.xdp_rcu);
	for (size_t i = 0; i < net->endpoint_count; i++) {
		endpoint_done(&net->endpoints[i]);
	}
	free(net->endpoints);
	for (size_t i = 0; i < net->iface_count; i++) {
		iface_done(&net->ifaces[i]);
	}
	free(net->ifaces);
	sys_counters_free(net->shared.counters);
	if (net->stop_fd >= 0) {
		close(net->stop_fd);
	}
	free(net);
}

net_workers_t net_workers(const net_t *net)
{
	return net->counts;
}

const sys_counters_t *net_counters(const net_t *net)
{
	return net->shared.counters;
}

size_t net_xdp_count(net_t *net)
{
	return net->iface_count;
}

static void add_stats(kxdp_stats_t *sum, const kxdp_stats_t *part)
{
	sum->rx_dropped += part->rx_dropped;
	sum->rx_invalid += part->rx_invalid;
	sum->tx_invalid += part->tx_invalid;
	sum->rx_full += part->rx_full;
	sum->fq_empty += part->fq_empty;
	sum->tx_empty += part->tx_empty;
	sum->tx_busy += part->tx_busy;
	sum->fq_fill += part->fq_fill;
	sum->rx_fill += part->rx_fill;
	sum->tx_fill += part->tx_fill;
	sum->cq_fill += part->cq_fill;
	for (size_t i = 0; i < KXDP_VERDICT_COUNT; i++) {
		sum->received[i] += part->received[i];
	}
	sum->replied += part->replied;
	sum->tx_full += part->tx_full;
}

bool net_xdp_stats(net_t *net, size_t index, net_xdp_stats_t *ret_stats)
{
	if (index >= net->iface_count) {
		return false;
	}
	const xdp_iface_t *iface = &net->ifaces[index];
	kxdp_stats_t sum = { 0 };
	for (unsigned i = 0; i < iface->queue_count; i++) {
		kxdp_stats_t part;
		kxdp_queue_stats(iface->queues[i], &part);
		add_stats(&sum, &part);
	}
	sum.tx_busy /= iface->queue_count;
	sum.fq_fill /= iface->queue_count;
	sum.rx_fill /= iface->queue_count;
	sum.tx_fill /= iface->queue_count;
	sum.cq_fill /= iface->queue_count;
	*ret_stats = (net_xdp_stats_t){ .queue_count = iface->queue_count, .stats = sum };
	snprintf(ret_stats->ifname, sizeof(ret_stats->ifname), "%s", kxdp_iface_name(iface->iface));
	return true;
}
