/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's side of an interface: asks the helper, and reads what the kernel program counts from shared memory. */
#include "xdp/iface.h"

#include "xdp/bpf/counts.h"
#include "xdp/priv_call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t rules_len = FILTER_RULE_MAX * sizeof(struct filter_rule);

static size_t counts_len(const kxdp_iface_t *iface)
{
	return iface->queue_max * sizeof(struct filter_counts);
}

static knot_err_t iface_check_config(const kxdp_config_t *c, kxdp_fault_t *ret_fault)
{
	if (c->listen_count < 1 || c->listen_count > KXDP_LISTEN_MAX) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "%zu addresses to listen on, 1 to %d are possible",
				c->listen_count, KXDP_LISTEN_MAX);
	}
	return KNOT_OK;
}

static knot_err_t iface_check_options(const kxdp_options_t *o, kxdp_fault_t *ret_fault)
{
	if (o->ring_size < KXDP_RING_MIN || o->ring_size > KXDP_RING_MAX || (o->ring_size & (o->ring_size - 1)) != 0) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "ring-size %u is not a power of two from %d to %d",
				o->ring_size, KXDP_RING_MIN, KXDP_RING_MAX);
	}
	if (strlen(o->ifname) >= IF_NAMESIZE) {
		return kxdp_fault_errno(ret_fault, ENODEV, o->ifname, "opening the interface");
	}
	return iface_check_config(&o->config, ret_fault);
}

static priv_config_t iface_wire_config(const kxdp_config_t *c)
{
	priv_config_t out = {
		.flags = (c->udp ? PRIV_CONFIG_UDP : 0) | (c->tcp ? PRIV_CONFIG_TCP : 0) |
			 (c->route_check ? PRIV_CONFIG_ROUTE_CHECK : 0) | (c->client ? PRIV_CONFIG_CLIENT : 0) |
			 (c->drop ? PRIV_CONFIG_DROP : 0),
		.listen_count = (uint32_t)c->listen_count,
	};
	for (size_t i = 0; i < c->listen_count; i++) {
		const kxdp_listen_t *listen = &c->listens[i];
		priv_listen_t *l = &out.listens[i];
		l->port = listen->port;
		if (listen->addr.ss_family == AF_INET) {
			l->addr[10] = l->addr[11] = 0xFF;
			memcpy(l->addr + 12, &((const struct sockaddr_in *)&listen->addr)->sin_addr, 4);
		} else if (listen->addr.ss_family == AF_INET6) {
			memcpy(l->addr, &((const struct sockaddr_in6 *)&listen->addr)->sin6_addr, 16);
		} else {
			l->any_addr = 1;
		}
	}
	return out;
}

/* ---- Opening ---- */

static const void *iface_map_shared(int fd, size_t len)
{
	const void *memory = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	return memory != MAP_FAILED ? memory : NULL;
}

/* What the helper opened becomes ours: maps in memory, the link. False: errno says why. */
static bool iface_take_opened(kxdp_iface_t *iface, const priv_answer_t *answer)
{
	const priv_opened_t *opened = &answer->reply.u.opened;
	iface->id = opened->iface;
	iface->index = opened->index;
	iface->queue_max = opened->queue_max;
	iface->native = (opened->flags & PRIV_OPENED_NATIVE) != 0;
	iface->shared = (opened->flags & PRIV_OPENED_SHARED) != 0;
	iface->counts = iface_map_shared(answer->fds[0], counts_len(iface));
	iface->counted = iface->counts != NULL ? iface_map_shared(answer->fds[1], rules_len) : NULL;
	int errnum = errno;
	close(answer->fds[0]);
	close(answer->fds[1]);
	iface->link_fd = iface->shared ? -1 : answer->fds[2];
	errno = errnum;
	return iface->counted != NULL;
}

static knot_err_t iface_open_steps(kxdp_iface_t *iface, const kxdp_options_t *options, kxdp_fault_t *ret_fault)
{
	priv_open_t request = {
		.kind = PRIV_OPEN,
		.mode = (uint32_t)options->mode,
		.config = iface_wire_config(&options->config),
	};
	memcpy(request.ifname, iface->name, sizeof(request.ifname));
	priv_answer_t answer;
	knot_err_t err = kxdp_priv_call(iface->priv, &request, &answer, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	if (!iface_take_opened(iface, &answer)) {
		return kxdp_fault_errno(ret_fault, errno, iface->name, "mapping the XDP program's counters");
	}
	return KNOT_OK;
}

knot_err_t kxdp_iface_open(
		kxdp_priv_t *priv, const kxdp_options_t *options, kxdp_iface_t **ret_iface, kxdp_fault_t *ret_fault)
{
	knot_err_t err = iface_check_options(options, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	kxdp_device_t device = kxdp_device_query(options->ifname);
	if (device.index == 0) {
		return kxdp_fault_errno(ret_fault, ENODEV, options->ifname, "opening the interface");
	}
	kxdp_iface_t *iface = calloc(1, sizeof(*iface));
	if (iface == NULL) {
		return kxdp_fault_errno(ret_fault, ENOMEM, options->ifname, "opening the interface");
	}
	*iface = (kxdp_iface_t){
		.queue_count = device.queue_count,
		.mtu = device.mtu,
		.zero_copy = options->zero_copy,
		.ring_size = options->ring_size,
		.allow_partial = device.is_virtual && options->checksum == KXDP_CHECKSUM_AUTO,
		.busypoll_budget = options->busypoll_budget,
		.busypoll_timeout_us = options->busypoll_timeout_us,
		.route_check = options->config.route_check,
		.priv = priv,
		.id = UINT32_MAX,
		.link_fd = -1,
	};
	pthread_mutex_init(&iface->rules_lock, NULL);
	snprintf(iface->name, sizeof(iface->name), "%s", options->ifname);
	err = iface_open_steps(iface, options, ret_fault);
	if (err != KNOT_OK) {
		kxdp_iface_close(iface);
		return err;
	}
	*ret_iface = iface;
	return KNOT_OK;
}

knot_err_t kxdp_iface_configure(kxdp_iface_t *iface, const kxdp_config_t *config, kxdp_fault_t *ret_fault)
{
	knot_err_t err = iface_check_config(config, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	const priv_configure_t request = {
		.kind = PRIV_CONFIGURE, .iface = iface->id, .config = iface_wire_config(config)
	};
	/* Queues look for metadata before the program writes any, and until it no longer does: see queue.c. */
	const bool before = __atomic_load_n(&iface->route_check, __ATOMIC_RELAXED);
	__atomic_store_n(&iface->route_check, before || config->route_check, __ATOMIC_RELAXED);
	priv_answer_t answer;
	err = kxdp_priv_call(iface->priv, &request, &answer, ret_fault);
	__atomic_store_n(&iface->route_check, err == KNOT_OK ? config->route_check : before, __ATOMIC_RELAXED);
	return err;
}

void kxdp_iface_close(kxdp_iface_t *take_iface)
{
	kxdp_iface_t *iface = take_iface;
	if (iface == NULL) {
		return;
	}
	if (iface->id != UINT32_MAX) {
		const priv_close_t request = { .kind = PRIV_CLOSE, .iface = iface->id };
		priv_answer_t answer;
		kxdp_fault_t fault;
		(void)!kxdp_priv_call(iface->priv, &request, &answer, &fault);
	}
	if (iface->counts != NULL) {
		munmap((void *)(uintptr_t)iface->counts, counts_len(iface));
	}
	if (iface->counted != NULL) {
		munmap((void *)(uintptr_t)iface->counted, rules_len);
	}
	if (iface->link_fd >= 0) {
		close(iface->link_fd); /* without a helper, this is what detaches the program */
	}
	pthread_mutex_destroy(&iface->rules_lock);
	free(iface->known);
	free(iface->rules);
	free(iface);
}

/* ---- Sockets ---- */

typedef struct {
	kxdp_iface_t *iface;
	unsigned queue;
	bool zero_copy;
	kxdp_socket_t socket;
	kxdp_mapping_t mapping;
	knot_err_t err; /* of the helper */
	kxdp_fault_t fault;
} socket_steps_t;

static knot_err_t iface_make_socket(
		const kxdp_iface_t *iface, unsigned queue, kxdp_socket_t *ret_socket, kxdp_fault_t *ret_fault)
{
	const priv_queue_t request = {
		.kind = PRIV_QUEUE,
		.iface = iface->id,
		.queue = queue,
		.ring_size = iface->ring_size,
		/* The configuration has room for more, which no driver makes use of. */
		.busypoll_budget =
				iface->busypoll_budget < PRIV_BUSYPOLL_MAX ? iface->busypoll_budget : PRIV_BUSYPOLL_MAX,
		.busypoll_timeout_us = iface->busypoll_timeout_us,
	};
	priv_answer_t answer;
	knot_err_t err = kxdp_priv_call(iface->priv, &request, &answer, ret_fault);
	if (err == KNOT_OK) {
		*ret_socket = (kxdp_socket_t){
			.fd = answer.fds[0],
			.memory_fd = answer.fds[1],
			.memory_len = answer.reply.u.socket.memory_len,
			.frame_count = answer.reply.u.socket.frame_count,
		};
	}
	return err;
}

static knot_err_t iface_start_socket(const kxdp_iface_t *iface, unsigned queue, bool start, kxdp_fault_t *ret_fault)
{
	const priv_start_t request = { .kind = PRIV_START, .iface = iface->id, .queue = queue, .start = start };
	priv_answer_t answer;
	return kxdp_priv_call(iface->priv, &request, &answer, ret_fault);
}

/* One socket, bound. Returns 0 or an errno value; EIO with `err` when it was the helper that failed. */
static int iface_bind_step(void *ctx)
{
	socket_steps_t *s = ctx;
	s->err = iface_make_socket(s->iface, s->queue, &s->socket, &s->fault);
	if (s->err != KNOT_OK) {
		return EIO;
	}
	int errnum = kxdp_socket_map(&s->socket, s->iface->ring_size, &s->mapping);
	if (errnum == 0) {
		errnum = kxdp_socket_bind(&s->socket, &s->mapping, s->iface->index, s->queue, s->zero_copy);
		if (errnum == 0) {
			return 0;
		}
		kxdp_socket_close(&s->socket, &s->mapping);
	} else {
		kxdp_socket_close(&s->socket, NULL);
	}
	kxdp_fault_t ignored; /* a helper that has ended says so at the next step */
	(void)!iface_start_socket(s->iface, s->queue, false, &ignored);
	return errnum;
}

static int iface_bind_socket(socket_steps_t *s)
{
	if (s->iface->native && s->iface->zero_copy) {
		s->zero_copy = true;
		int errnum = kxdp_retry_busy(iface_bind_step, s);
		if (errnum == 0 || errnum == EBUSY || errnum == EPERM || errnum == ENETDOWN || s->err != KNOT_OK) {
			return errnum;
		}
	}
	s->zero_copy = false;
	return kxdp_retry_busy(iface_bind_step, s);
}

knot_err_t kxdp_iface_open_socket(kxdp_iface_t *iface, unsigned queue, kxdp_socket_t *ret_socket,
		kxdp_mapping_t *ret_mapping, kxdp_fault_t *ret_fault)
{
	assert(queue < iface->queue_max);
	socket_steps_t s = { .iface = iface, .queue = queue };
	int errnum = iface_bind_socket(&s);
	if (s.err != KNOT_OK) {
		*ret_fault = s.fault;
		return s.err;
	}
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, iface->name, "binding the AF_XDP socket");
	}
	knot_err_t err = iface_start_socket(iface, queue, true, ret_fault);
	if (err != KNOT_OK) {
		kxdp_socket_close(&s.socket, &s.mapping);
		return err;
	}
	*ret_socket = s.socket;
	*ret_mapping = s.mapping;
	return KNOT_OK;
}

/* ---- What it is ---- */

const char *kxdp_iface_name(const kxdp_iface_t *iface)
{
	return iface->name;
}

unsigned kxdp_iface_index(const kxdp_iface_t *iface)
{
	return iface->index;
}

bool kxdp_iface_is_shared(const kxdp_iface_t *iface)
{
	return iface->shared;
}

unsigned kxdp_iface_queue_count(const kxdp_iface_t *iface)
{
	return iface->queue_count;
}

unsigned kxdp_iface_queue_max(const kxdp_iface_t *iface)
{
	return iface->queue_max;
}

bool kxdp_iface_copies(const kxdp_iface_t *iface)
{
	return iface->native && __atomic_load_n(&iface->copies, __ATOMIC_RELAXED);
}

const char *kxdp_iface_mode_text(const kxdp_iface_t *iface)
{
	if (iface->native) {
		return kxdp_iface_copies(iface) ? "native/copy" : "native";
	}
	return iface->zero_copy ? "emulated" : "emulated/copy";
}

/* ---- Counters and rules ---- */

size_t kxdp_iface_filter_counts(const kxdp_iface_t *iface, unsigned queue, kxdp_filter_count_t *ret_counts, size_t max)
{
#define COUNT_ROW(constant, name, group, what) [constant] = { name, what, 0 },
	static const kxdp_filter_count_t rows[FILTER_COUNT_ROWS] = { FILTER_COUNTS(COUNT_ROW) };
#undef COUNT_ROW
	uint32_t first = queue != KXDP_ALL_QUEUES ? queue : 0;
	uint32_t end = iface == NULL ? 0 : queue != KXDP_ALL_QUEUES ? queue + 1 : iface->queue_max;
	assert(iface == NULL || end <= iface->queue_max);
	uint64_t packets[FILTER_COUNT_ROWS] = { 0 };
	for (uint32_t q = first; q < end; q++) {
		filter_counts_add(&iface->counts[q], packets);
	}
	size_t count = max < FILTER_COUNT_ROWS ? max : FILTER_COUNT_ROWS;
	for (size_t i = 0; i < count; i++) {
		ret_counts[i] = rows[i];
		ret_counts[i].packets = packets[i];
	}
	return count;
}

static bool same_prefix(const kxdp_rule_t *a, const kxdp_rule_t *b)
{
	return a->prefix_len == b->prefix_len && memcmp(a->addr, b->addr, sizeof(a->addr)) == 0;
}

/* With the lock held: the rule's place, or rule_count. */
static size_t iface_find_rule(const kxdp_iface_t *iface, const kxdp_rule_t *rule)
{
	size_t i = 0;
	while (i < iface->rule_count && !same_prefix(&iface->rules[i].rule, rule)) {
		i++;
	}
	return i;
}

/* Room for one more, so that nothing can fail once the kernel has the rule. */
static bool iface_reserve_rule(kxdp_iface_t *iface)
{
	kxdp_iface_rule_t *rules = realloc(iface->rules, (iface->rule_count + 1) * sizeof(*rules));
	if (rules != NULL) {
		iface->rules = rules;
	}
	return rules != NULL;
}

knot_err_t kxdp_rule_set(kxdp_iface_t *iface, const kxdp_rule_t *rule, kxdp_fault_t *ret_fault)
{
	priv_rule_set_t request = {
		.kind = PRIV_RULE_SET,
		.iface = iface->id,
		.prefix_len = rule->prefix_len,
		.per_second = rule->per_second,
	};
	memcpy(request.addr, rule->addr, sizeof(request.addr));
	pthread_mutex_lock(&iface->rules_lock);
	priv_answer_t answer;
	knot_err_t err = iface_reserve_rule(iface) ? kxdp_priv_call(iface->priv, &request, &answer, ret_fault)
						   : kxdp_fault_errno(ret_fault, ENOMEM, iface->name, "adding a rule");
	if (err == KNOT_OK) {
		size_t at = iface_find_rule(iface, rule);
		iface->rules[at] = (kxdp_iface_rule_t){ *rule, answer.reply.u.rule };
		iface->rule_count += at == iface->rule_count;
	}
	pthread_mutex_unlock(&iface->rules_lock);
	return err;
}

knot_err_t kxdp_rule_remove(kxdp_iface_t *iface, const kxdp_rule_t *rule, kxdp_fault_t *ret_fault)
{
	priv_rule_remove_t request = { .kind = PRIV_RULE_REMOVE, .iface = iface->id, .prefix_len = rule->prefix_len };
	memcpy(request.addr, rule->addr, sizeof(request.addr));
	pthread_mutex_lock(&iface->rules_lock);
	priv_answer_t answer;
	size_t at = iface_find_rule(iface, rule);
	knot_err_t err = at < iface->rule_count ? kxdp_priv_call(iface->priv, &request, &answer, ret_fault)
						: kxdp_fault(ret_fault, KNOT_ENOENT, "no such rule");
	if (err == KNOT_OK) {
		iface->rules[at] = iface->rules[--iface->rule_count];
	}
	pthread_mutex_unlock(&iface->rules_lock);
	return err;
}

size_t kxdp_iface_rules(kxdp_iface_t *iface, kxdp_rule_count_t *ret_rules, size_t max)
{
	pthread_mutex_lock(&iface->rules_lock);
	size_t count = iface->rule_count;
	for (size_t i = 0; i < count && i < max; i++) {
		const struct filter_rule *counted = &iface->counted[iface->rules[i].index];
		ret_rules[i] = (kxdp_rule_count_t){
			.rule = iface->rules[i].rule,
			.matched = __atomic_load_n(&counted->matched, __ATOMIC_RELAXED),
			.dropped = __atomic_load_n(&counted->dropped, __ATOMIC_RELAXED),
		};
	}
	pthread_mutex_unlock(&iface->rules_lock);
	return count;
}
