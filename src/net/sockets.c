/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/sockets.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/net/listen.h"
#include "src/sys/log.h"
#include <assert.h>

/** The sockets of one listen address. */
typedef struct {
	conf_addr_t addr;
	bool wildcard;
	int *udp_fds; /* owned: one per UDP worker, one in all for AF_UNIX */
	size_t udp_count;
	int *tcp_fds; /* owned: one in all, or one per TCP worker with tcp-reuseport */
	size_t tcp_count;
} endpoint_t;

struct sockets {
	worker_shared_t *shared; /* borrowed */
	sockets_options_t options;
	int stop_fd;
	conf_addr_t *addrs; /* owned: as asked for */
	size_t addr_count;
	endpoint_t *endpoints; /* owned, one allocation that never moves: workers point into it */
	size_t endpoint_count;
	socket_worker_t *workers; /* owned: UDP, then TCP */
	size_t worker_count;
};

/* ---- Binding ---- */

/* The kernel hands a packet to the socket whose number is its CPU's, modulo their count. */
static knot_err_t attach_affinity(const endpoint_t *endpoint)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)(SKF_AD_OFF + SKF_AD_CPU) },
		{ BPF_ALU | BPF_MOD | BPF_K, 0, 0, (uint32_t)endpoint->udp_count },
		{ BPF_RET | BPF_A, 0, 0, 0 },
	};
	struct sock_fprog program = { .len = KNOT_LEN(code), .filter = code };
	return setsockopt(endpoint->udp_fds[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0
			       ? KNOT_OK
			       : knot_err_of_errno(errno);
}

typedef knot_err_t (*listen_fn_t)(const conf_addr_t *, listen_options_t, bool, int *);

static knot_err_t open_all(const sockets_t *sockets, const conf_addr_t *addr, listen_fn_t open_one, size_t count,
		int **ret_fds, size_t *ret_count)
{
	int *fds = malloc(count * sizeof(*fds));
	if (fds == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_fds = fds;
	for (*ret_count = 0; *ret_count < count; ++*ret_count) {
		listen_options_t options = { .reuseport = count > 1 || sockets->options.shared,
			.priv = sockets->shared->priv };
		knot_err_t err = open_one(addr, options, *ret_count > 0, &fds[*ret_count]);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
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
	*endpoint = (endpoint_t){ 0 };
}

static knot_err_t bind_endpoint(const sockets_t *sockets, const conf_addr_t *addr, endpoint_t *endpoint)
{
	char text[CONF_ADDR_TEXT_MAX];
	log_server(LOG_INFO, "binding to interface %s", conf_addr_print(addr, text));
	const sockets_options_t *options = &sockets->options;
	endpoint->addr = *addr;
	endpoint->wildcard = listen_is_wildcard(addr);
	bool is_unix = addr->ss.ss_family == AF_UNIX;
	knot_err_t err = open_all(sockets, &endpoint->addr, listen_udp, is_unix ? 1 : options->udp_workers,
			&endpoint->udp_fds, &endpoint->udp_count);
	if (err == KNOT_OK) {
		err = open_all(sockets, &endpoint->addr, listen_tcp,
				options->tcp_reuseport && !is_unix ? options->tcp_workers : 1, &endpoint->tcp_fds,
				&endpoint->tcp_count);
	}
	if (err == KNOT_OK && options->affinity && endpoint->udp_count > 1) {
		err = attach_affinity(endpoint);
		if (err != KNOT_OK) {
			log_server(LOG_ERR, "cannot set socket affinity of address %s (%s)", text, knot_strerror(err));
		}
	}
	if (err != KNOT_OK) {
		endpoint_done(endpoint);
	}
	return err;
}

/* ---- Workers ---- */

static knot_err_t add_sockets(socket_worker_t *worker, const sockets_t *sockets, bool tcp, size_t number)
{
	assert(sockets->endpoint_count > 0);
	worker->sockets = calloc(sockets->endpoint_count, sizeof(*worker->sockets));
	if (worker->sockets == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < sockets->endpoint_count; i++) {
		const endpoint_t *endpoint = &sockets->endpoints[i];
		size_t count = tcp ? endpoint->tcp_count : endpoint->udp_count;
		const int *fds = tcp ? endpoint->tcp_fds : endpoint->udp_fds;
		assert(count == 1 || number < count);
		worker->sockets[worker->socket_count++] = (worker_socket_t){
			.fd = fds[count > 1 ? number : 0],
			.addr = &endpoint->addr,
			.wildcard = endpoint->wildcard,
		};
	}
	return KNOT_OK;
}

static socket_worker_t *add_worker(sockets_t *sockets, const char *kind, size_t number, void (*run)(void *))
{
	socket_worker_t *worker = &sockets->workers[sockets->worker_count++];
	worker->shared = sockets->shared;
	worker->stop_fd = sockets->stop_fd;
	worker->thread = (sys_thread_t){ .cpu = -1, .counts = true, .answers = true, .run = run, .arg = worker };
	snprintf(worker->thread.name, sizeof(worker->thread.name), "%s-%u", kind, (unsigned)(number % 100000));
	return worker;
}

static knot_err_t make_workers(sockets_t *sockets)
{
	const sockets_options_t *options = &sockets->options;
	sockets->workers = calloc((size_t)options->udp_workers + options->tcp_workers, sizeof(*sockets->workers));
	if (sockets->workers == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = KNOT_OK;
	unsigned cpus = sys_cpu_count();
	for (size_t i = 0; i < options->udp_workers && err == KNOT_OK; i++) {
		socket_worker_t *worker = add_worker(sockets, "udp", i, udp_worker_run);
		worker->thread.cpu = options->affinity ? (int)(i % cpus) : -1;
		err = add_sockets(worker, sockets, false, i);
		err = err == KNOT_OK ? udp_worker_init(worker) : err;
	}
	for (size_t i = 0; i < options->tcp_workers && err == KNOT_OK; i++) {
		socket_worker_t *worker = add_worker(sockets, "tcp", i, tcp_worker_run);
		err = add_sockets(worker, sockets, true, i);
		err = err == KNOT_OK ? tcp_worker_init(worker) : err;
	}
	return err;
}

/* ---- The group ---- */

static knot_err_t bind_all(sockets_t *sockets)
{
	knot_err_t first = KNOT_OK;
	for (size_t i = 0; i < sockets->addr_count; i++) {
		knot_err_t err = bind_endpoint(
				sockets, &sockets->addrs[i], &sockets->endpoints[sockets->endpoint_count]);
		sockets->endpoint_count += err == KNOT_OK;
		first = first == KNOT_OK ? err : first;
		if (err == KNOT_ENOMEM || (err != KNOT_OK && !sockets->options.lenient)) {
			return err;
		}
	}
	return first;
}

knot_err_t sockets_new(worker_shared_t *shared, const sockets_options_t *options, const conf_addr_t *addrs,
		size_t count, sockets_t **ret_sockets)
{
	assert(options->udp_workers > 0 && options->tcp_workers > 0);
	*ret_sockets = NULL;
	sockets_t *sockets = calloc(1, sizeof(*sockets));
	if (sockets == NULL) {
		return KNOT_ENOMEM;
	}
	*sockets = (sockets_t){ .shared = shared, .options = *options, .addr_count = count };
	sockets->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sockets->addrs = malloc(count * sizeof(*addrs) + 1);
	sockets->endpoints = calloc(count + 1, sizeof(*sockets->endpoints));
	knot_err_t err = sockets->stop_fd < 0 ? knot_err_of_errno(errno) : KNOT_OK;
	if (sockets->addrs == NULL || sockets->endpoints == NULL) {
		err = KNOT_ENOMEM;
	}
	bool is_made = err == KNOT_OK;
	if (is_made) {
		if (count > 0) {
			memcpy(sockets->addrs, addrs, count * sizeof(*addrs));
		}
		err = bind_all(sockets);
		is_made = err == KNOT_OK || (options->lenient && err != KNOT_ENOMEM);
	}
	if (is_made && sockets->endpoint_count > 0) {
		knot_err_t made = make_workers(sockets);
		is_made = made == KNOT_OK;
		err = is_made ? err : made;
	}
	if (!is_made) {
		sockets_free(sockets);
		return err;
	}
	*ret_sockets = sockets;
	return err;
}

knot_err_t sockets_start(sockets_t *sockets)
{
	for (size_t i = 0; i < sockets->worker_count; i++) {
		knot_err_t err = sys_thread_start(&sockets->workers[i].thread);
		if (err != KNOT_OK) {
			log_server(LOG_ERR, "failed to start thread %s (%s)", sockets->workers[i].thread.name,
					knot_strerror(err));
			return err;
		}
	}
	return KNOT_OK;
}

void sockets_stop(sockets_t *sockets)
{
	(void)eventfd_write(sockets->stop_fd, 1);
	for (size_t i = 0; i < sockets->worker_count; i++) {
		sys_thread_join(&sockets->workers[i].thread);
	}
}

void sockets_free(sockets_t *take_sockets)
{
	sockets_t *sockets = take_sockets;
	if (sockets == NULL) {
		return;
	}
	if (sockets->stop_fd >= 0) {
		sockets_stop(sockets);
		close(sockets->stop_fd);
	}
	for (size_t i = 0; i < sockets->worker_count; i++) {
		later_inbox_close(sockets->workers[i].inbox);
		free(sockets->workers[i].sockets);
		free(sockets->workers[i].memory);
	}
	free(sockets->workers);
	for (size_t i = 0; i < sockets->endpoint_count; i++) {
		endpoint_done(&sockets->endpoints[i]);
	}
	free(sockets->endpoints);
	free(sockets->addrs);
	free(sockets);
}

size_t sockets_count(const sockets_t *sockets)
{
	return sockets->endpoint_count;
}

net_workers_t sockets_workers(const sockets_t *sockets)
{
	bool has_any = sockets->endpoint_count > 0;
	return (net_workers_t){ .udp = has_any ? sockets->options.udp_workers : 0,
		.tcp = has_any ? sockets->options.tcp_workers : 0 };
}

/* ---- Comparing ---- */

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
	const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)a, *y = (const struct sockaddr_in6 *)b;
	return a->ss_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&x->sin6_addr, &y->sin6_addr) &&
	       x->sin6_scope_id == y->sin6_scope_id;
}

bool sockets_serves(const sockets_t *sockets, const conf_addr_t *addr)
{
	for (size_t i = 0; sockets != NULL && i < sockets->endpoint_count; i++) {
		const endpoint_t *endpoint = &sockets->endpoints[i];
		if (endpoint->addr.ss.ss_family == addr->ss.ss_family &&
				port_of(&endpoint->addr.ss) == port_of(&addr->ss) &&
				(endpoint->wildcard || same_ip(&endpoint->addr.ss, &addr->ss))) {
			return true;
		}
	}
	return false;
}

static bool has_addr(const conf_addr_t *addrs, size_t count, const conf_addr_t *addr)
{
	for (size_t i = 0; i < count; i++) {
		if (port_of(&addrs[i].ss) == port_of(&addr->ss) && same_ip(&addrs[i].ss, &addr->ss)) {
			return true;
		}
	}
	return false;
}

bool sockets_same(const sockets_t *sockets, const conf_addr_t *addrs, size_t count)
{
	if (sockets == NULL || sockets->addr_count != count) {
		return sockets == NULL && count == 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (!has_addr(sockets->addrs, count, &addrs[i])) {
			return false;
		}
	}
	return true;
}
