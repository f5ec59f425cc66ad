/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Alone on its interface, the program hangs on a BPF link, which the kernel cleans up when the processes that hold it
 * are gone. Where libxdp's dispatcher is, it becomes one of the dispatcher's programs. doc/adr/0004.
 */
#include "xdp/attach.h"

#include "xdp/bpf/embed.h"
#include "xdp/iface.h"
#include "xdp/link.h"
#include "xdp/priv_caps.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif

_Static_assert((int)FILTER_LISTEN_MAX == (int)KXDP_LISTEN_MAX, "the kernel program has room for all listens");

enum { DISPATCHED_MAX = 10 }; /* programs that a dispatcher of libxdp takes */

static const char program_name[] = "bowline_filter", plain_program_name[] = "bowline_plain";
static const char client_program_name[] = "bowline_client";
static const char dispatcher_name[] = "xdp_dispatcher";

/* Opening a socket tells permission and kernel support apart from trouble with the program. */
static knot_err_t check_af_xdp(const char *ifname, kxdp_fault_t *ret_fault)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return kxdp_fault_errno(ret_fault, errno, ifname, "opening an AF_XDP socket");
	}
	close(fd);
	return KNOT_OK;
}

/* ---- Configuration ---- */

static void set_config(kxdp_attach_t *a, const priv_config_t *c)
{
	uint8_t protos = (uint8_t)(((c->flags & PRIV_CONFIG_UDP) != 0 ? FILTER_PROTO_UDP : 0) |
				   ((c->flags & PRIV_CONFIG_TCP) != 0 ? FILTER_PROTO_TCP : 0));
	const uint32_t checks = a->config.flags & (uint32_t)FILTER_CHECK_ALL;
	a->config = (struct filter_config){
		.listen_count = c->listen_count,
		.flags = ((c->flags & PRIV_CONFIG_ROUTE_CHECK) != 0 ? FILTER_ROUTE_CHECK : 0) |
			 ((c->flags & PRIV_CONFIG_DROP) != 0 ? FILTER_CLIENT_DROP : 0) |
			 (a->rule_count > 0 ? FILTER_RULES : 0) | checks,
		.host = a->config.host,
	};
	for (size_t i = 0; i < c->listen_count; i++) {
		struct filter_listen *listen = &a->config.listens[i];
		*listen = (struct filter_listen){
			.port_be = htons(c->listens[i].port),
			.protos = protos,
			.any_addr = c->listens[i].any_addr,
		};
		memcpy(listen->addr, c->listens[i].addr, sizeof(listen->addr));
	}
}

int kxdp_attach_write_config(kxdp_attach_t *a)
{
	uint32_t zero = 0, other = 1 - a->active;
	if (bpf_map_update_elem(a->config_fd, &other, &a->config, BPF_ANY) != 0 ||
			bpf_map_update_elem(a->active_fd, &zero, &other, BPF_ANY) != 0) {
		return errno;
	}
	a->active = other;
	return 0;
}

knot_err_t kxdp_attach_configure(kxdp_attach_t *a, const priv_config_t *config, kxdp_fault_t *ret_fault)
{
	if (a->plain && (config->flags & PRIV_CONFIG_ROUTE_CHECK) != 0) {
		return kxdp_fault(ret_fault, KNOT_ENOTSUP,
				"no route check beside this libxdp's dispatcher; stop the other XDP programs");
	}
	const struct filter_config before = a->config;
	set_config(a, config);
	int errnum = kxdp_attach_write_config(a);
	if (errnum != 0) {
		a->config = before;
		return kxdp_fault_errno(ret_fault, errnum, a->name, "configuring the XDP program");
	}
	return KNOT_OK;
}

/* ---- The host ---- */

/* Returns 0 or an errno value. */
static int know_one(const kxdp_attach_t *a, const priv_known_t *entry)
{
	struct filter_known key = { .len = 8u + entry->bits, .kind = entry->kind };
	memcpy(key.data, entry->data, sizeof(key.data));
	uint32_t value = entry->value;
	if (value != 0) {
		return bpf_map_update_elem(a->known_fd, &key, &value, BPF_ANY) == 0 ? 0 : errno;
	}
	return bpf_map_delete_elem(a->known_fd, &key) == 0 || errno == ENOENT ? 0 : errno;
}

knot_err_t kxdp_attach_know(kxdp_attach_t *a, const priv_know_t *request, kxdp_fault_t *ret_fault)
{
	for (uint32_t i = 0; i < request->count; i++) {
		int errnum = know_one(a, &request->entries[i]);
		if (errnum != 0) {
			return kxdp_fault_errno(ret_fault, errnum, a->name, "telling the XDP program about the host");
		}
	}
	return KNOT_OK;
}

knot_err_t kxdp_attach_host(kxdp_attach_t *a, const priv_host_t *request, kxdp_fault_t *ret_fault)
{
	const struct filter_config before = a->config;
	a->config.host = request->host;
	a->config.flags = (before.flags & ~(uint32_t)FILTER_CHECK_ALL) |
			  ((request->flags & PRIV_HOST_MAC) != 0 ? FILTER_CHECK_MAC : 0) |
			  ((request->flags & PRIV_HOST_VLAN) != 0 ? FILTER_CHECK_VLAN : 0) |
			  ((request->flags & PRIV_HOST_ADDRESS) != 0 ? FILTER_CHECK_ADDRESS : 0);
	int errnum = kxdp_attach_write_config(a);
	if (errnum != 0) {
		a->config = before;
		return kxdp_fault_errno(ret_fault, errnum, a->name, "telling the XDP program about the host");
	}
	return KNOT_OK;
}

/* ---- Loading ---- */

static int open_object(kxdp_attach_t *a)
{
	knot_bytes_t bytes = kxdp_filter_object();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "bowline");
	a->object = bpf_object__open_mem(bytes.data, bytes.len, &opts);
	if (a->object == NULL) {
		return errno;
	}
	static const char *const sized[] = { "filter_sockets", "filter_counts" };
	for (size_t i = 0; i < KNOT_LEN(sized); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(a->object, sized[i]);
		if (map == NULL || bpf_map__set_max_entries(map, a->queue_max) != 0) {
			return EINVAL;
		}
	}
	return 0;
}

/* The program of those in the object that this request is for; the kernel sees no other. */
static struct bpf_program *attach_choose_program(kxdp_attach_t *a, const priv_open_t *request)
{
	const bool is_client = (request->config.flags & PRIV_CONFIG_CLIENT) != 0;
	const char *wanted = is_client ? client_program_name : program_name;
	struct bpf_program *found = NULL, *program;
	bpf_object__for_each_program(program, a->object)
	{
		bool is_it = strcmp(bpf_program__name(program), wanted) == 0;
		(void)bpf_program__set_autoload(program, is_it);
		found = is_it ? program : found;
	}
	return found;
}

/* What is needed of the loaded object. Returns 0 or an errno value. */
static int take_maps(kxdp_attach_t *a, const priv_config_t *config)
{
	const struct {
		const char *name;
		int *fd;
	} maps[] = {
		{ "filter_sockets", &a->sockets_fd },
		{ "filter_config", &a->config_fd },
		{ "filter_active", &a->active_fd },
		{ "filter_counts", &a->counts_fd },
		{ "filter_rules", &a->rules_fd },
		{ "filter_prefixes", &a->prefixes_fd },
		{ "filter_known", &a->known_fd },
	};
	for (size_t i = 0; i < KNOT_LEN(maps); i++) {
		*maps[i].fd = bpf_object__find_map_fd_by_name(a->object, maps[i].name);
		if (*maps[i].fd < 0) {
			return EINVAL;
		}
	}
	int errnum = kxdp_rules_init(a);
	if (errnum != 0) {
		return errnum;
	}
	set_config(a, config);
	return kxdp_attach_write_config(a);
}

/* ---- Alone ---- */

typedef struct {
	kxdp_attach_t *attach;
	int prog_fd;
	uint32_t flags; /* XDP_FLAGS_DRV_MODE or XDP_FLAGS_SKB_MODE */
} link_t;

static int link_step(void *ctx)
{
	const link_t *l = ctx;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = l->flags);
	int fd = bpf_link_create(l->prog_fd, (int)l->attach->index, BPF_XDP, &opts);
	if (fd < 0) {
		return errno == EEXIST ? EBUSY : errno; /* EEXIST: attached in the other mode */
	}
	l->attach->link_fd = fd;
	return 0;
}

/* `ip link` can remove a program of which no BPF link is the owner, for example what another server left behind. */
static knot_err_t busy_fault(const kxdp_attach_t *a, kxdp_fault_t *ret_fault)
{
	uint32_t id = 0;
	(void)bpf_xdp_query_id((int)a->index, 0, &id);
	return kxdp_fault(ret_fault, KNOT_EBUSY,
			"another XDP program (id %u) is attached; stop its owner, or detach it: "
			"ip link set dev %s xdp off",
			id, a->name);
}

/* A bond hands the program to its ports' drivers: packets would arrive as the ports', and the bond's socket refuses
 * those (xsk_rcv_check() in Linux). */
static bool runs_in_ports(unsigned ifindex)
{
	kxdp_link_t link;
	return kxdp_link_query(ifindex, &link) && strcmp(link.kind, "bond") == 0;
}

static knot_err_t attach_alone(kxdp_attach_t *a, const priv_open_t *request, kxdp_fault_t *ret_fault)
{
	const struct bpf_program *program = attach_choose_program(a, request);
	if (bpf_object__load(a->object) != 0) {
		return kxdp_fault_errno(ret_fault, errno, a->name, "loading the XDP program");
	}
	int errnum = take_maps(a, &request->config);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, a->name, "configuring the XDP program");
	}
	link_t link = { .attach = a, .prog_fd = bpf_program__fd(program) };
	errnum = EOPNOTSUPP;
	if (request->mode != KXDP_MODE_EMULATED && !runs_in_ports(a->index)) {
		link.flags = XDP_FLAGS_DRV_MODE;
		errnum = kxdp_retry_busy(link_step, &link);
		a->native = errnum == 0;
	}
	bool driver_cannot = errnum != 0 && errnum != EBUSY && errnum != EPERM;
	if (driver_cannot && request->mode != KXDP_MODE_NATIVE) {
		link.flags = XDP_FLAGS_SKB_MODE;
		errnum = kxdp_retry_busy(link_step, &link);
	}
	if (errnum == EBUSY) {
		return busy_fault(a, ret_fault);
	}
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, a->name, "attaching the XDP program");
	}
	return KNOT_OK;
}

/* ---- Beside others ---- */

/* True if libxdp's dispatcher is attached. By its name: libxdp itself finds it only where its files are mounted. */
static bool has_dispatcher(unsigned ifindex, bool *ret_native)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	if (bpf_xdp_query((int)ifindex, 0, &query) != 0) {
		return false;
	}
	uint32_t id = query.drv_prog_id != 0 ? query.drv_prog_id : query.skb_prog_id;
	int fd = id != 0 ? bpf_prog_get_fd_by_id(id) : -1;
	if (fd < 0) {
		return false;
	}
	struct bpf_prog_info info = { 0 };
	uint32_t info_len = sizeof(info);
	bool is_dispatcher =
			bpf_obj_get_info_by_fd(fd, &info, &info_len) == 0 && strcmp(info.name, dispatcher_name) == 0;
	close(fd);
	*ret_native = query.drv_prog_id != 0;
	return is_dispatcher;
}

static bool has_bpf_files(const char **ret_path)
{
	const char *path = secure_getenv(XDP_BPFFS_ENVVAR);
	*ret_path = path != NULL ? path : "/sys/fs/bpf";
	struct statfs info;
	return statfs(*ret_path, &info) == 0 && info.f_type == (__fsword_t)BPF_FS_MAGIC;
}

static enum xdp_attach_mode shared_mode(const kxdp_attach_t *a)
{
	return a->native ? XDP_MODE_NATIVE : XDP_MODE_SKB;
}

/* An object can be loaded once, also when that fails. Returns 0 or an errno value. */
static int join_with(kxdp_attach_t *a, const char *name)
{
	LIBBPF_OPTS(xdp_program_opts, opts, .obj = a->object, .prog_name = name);
	struct xdp_program *program = xdp_program__create(&opts);
	long error = libxdp_get_error(program);
	if (error != 0) {
		return (int)-error;
	}
	int errnum = -xdp_program__attach(program, (int)a->index, shared_mode(a), 0);
	if (errnum != 0) {
		xdp_program__close(program);
		return errnum;
	}
	a->shared = program;
	return 0;
}

/*
 * The dispatcher holds programs by files, so one of ours stays there when helper and daemon were both killed: it
 * passes everything for want of sockets, but still obeys its block rules. Each process that joins holds a name (an
 * abstract UNIX socket of the network namespace, which ends with the process). If it gets the name, no other Bowline
 * runs on this interface.
 */
static bool hold_name(kxdp_attach_t *a)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "bowline-xdp-%u", a->index);
	a->name_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return a->name_fd >= 0 &&
	       bind(a->name_fd, (const struct sockaddr *)&name,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0;
}

static bool is_ours(const char *name)
{
	return strcmp(name, program_name) == 0 || strcmp(name, plain_program_name) == 0 ||
	       strcmp(name, client_program_name) == 0;
}

static void remove_dead(const kxdp_attach_t *a)
{
	for (unsigned i = 0; i < DISPATCHED_MAX; i++) { /* each removal makes another dispatcher */
		struct xdp_multiprog *all = xdp_multiprog__get_from_ifindex((int)a->index);
		if (libxdp_get_error(all) != 0) {
			return;
		}
		struct xdp_program *program = NULL;
		do {
			program = xdp_multiprog__next_prog(program, all);
		} while (program != NULL && !is_ours(xdp_program__name(program)));
		bool removed = program != NULL && xdp_program__detach(program, (int)a->index, shared_mode(a), 0) == 0;
		xdp_multiprog__close(all);
		if (!removed) {
			return;
		}
	}
}

static knot_err_t join(kxdp_attach_t *a, const priv_open_t *request, kxdp_fault_t *ret_fault)
{
	const char *path;
	if (!has_bpf_files(&path)) {
		return kxdp_fault(ret_fault, KNOT_EBUSY,
				"libxdp's dispatcher is attached, joining it needs the BPF file system: "
				"mount -t bpf bpf %s",
				path);
	}
	if (request->mode == KXDP_MODE_NATIVE && !a->native) {
		return kxdp_fault(ret_fault, KNOT_ENOTSUP, "libxdp's dispatcher is attached in emulated mode");
	}
	if (hold_name(a)) {
		remove_dead(a);
	}
	const bool is_client = (request->config.flags & PRIV_CONFIG_CLIENT) != 0;
	int errnum = join_with(a, is_client ? client_program_name : program_name);
	if (errnum != 0 && !is_client && (request->config.flags & PRIV_CONFIG_ROUTE_CHECK) == 0) {
		/* New kernels let it join an old libxdp's dispatcher only without route check: see bpf/abi.h. */
		bpf_object__close(a->object);
		a->object = NULL;
		int again = open_object(a);
		again = again == 0 ? join_with(a, plain_program_name) : again;
		a->plain = again == 0;
		errnum = again == 0 ? 0 : errnum;
	}
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, a->name, "joining libxdp's dispatcher");
	}
	errnum = take_maps(a, &request->config);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, a->name, "configuring the XDP program");
	}
	return KNOT_OK;
}

/* ---- All of it ---- */

static knot_err_t attach_steps(kxdp_attach_t *a, const priv_open_t *request, kxdp_fault_t *ret_fault)
{
	knot_err_t err = check_af_xdp(a->name, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	int errnum = open_object(a);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, a->name, "reading the XDP program");
	}
	/* Looking at what others attached needs more than attaching. */
	kxdp_caps_admin(true);
	kxdp_detach_leftovers(a->index);
	bool share = has_dispatcher(a->index, &a->native);
	if (share) {
		err = join(a, request, ret_fault);
	}
	kxdp_caps_admin(false);
	return share ? err : attach_alone(a, request, ret_fault);
}

knot_err_t kxdp_attach(const priv_open_t *request, kxdp_attach_t *ret_attach, kxdp_fault_t *ret_fault)
{
	kxdp_device_t device = kxdp_device_query(request->ifname);
	if (device.index == 0) {
		return kxdp_fault_errno(ret_fault, ENODEV, request->ifname, "opening the interface");
	}
	kxdp_attach_t a = {
		.index = device.index,
		.queue_max = device.queue_max < PRIV_QUEUE_END ? device.queue_max : PRIV_QUEUE_END,
		.link_fd = -1,
		.waiting_fd = -1,
		.name_fd = -1,
	};
	memcpy(a.name, request->ifname, sizeof(a.name));
	/* Libraries don't log; the fault says what is needed. */
	libbpf_set_print(NULL);
	libxdp_set_print(NULL);
	knot_err_t err = attach_steps(&a, request, ret_fault);
	if (err != KNOT_OK) {
		kxdp_detach(&a);
		return err;
	}
	*ret_attach = a;
	return KNOT_OK;
}

void kxdp_detach(kxdp_attach_t *a)
{
	if (a->waiting_fd >= 0) {
		close(a->waiting_fd);
	}
	if (a->link_fd >= 0) {
		(void)bpf_link_detach(a->link_fd); /* at once: closing alone leaves it to a kernel worker */
		close(a->link_fd);
	}
	if (a->shared != NULL) {
		kxdp_caps_admin(true);
		(void)xdp_program__detach(a->shared, (int)a->index, shared_mode(a), 0);
		kxdp_caps_admin(false);
		xdp_program__close(a->shared);
	}
	kxdp_rules_done(a);
	bpf_object__close(a->object);
	if (a->name_fd >= 0) {
		close(a->name_fd);
	}
	*a = (kxdp_attach_t){ .link_fd = -1, .waiting_fd = -1, .name_fd = -1 };
}

/* The daemon holds the socket. */
static void forget_waiting(kxdp_attach_t *a)
{
	if (a->waiting_fd >= 0) {
		close(a->waiting_fd);
		a->waiting_fd = -1;
	}
}

knot_err_t kxdp_attach_queue(
		kxdp_attach_t *a, const priv_queue_t *request, kxdp_socket_t *ret_socket, kxdp_fault_t *ret_fault)
{
	if (request->queue >= a->queue_max) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "%s has no queue %u", a->name, request->queue);
	}
	const kxdp_socket_params_t params = {
		.ifname = a->name,
		.ring_size = request->ring_size,
		.busypoll_budget = request->busypoll_budget,
		.busypoll_timeout_us = request->busypoll_timeout_us,
	};
	forget_waiting(a);
	kxdp_socket_t s;
	knot_err_t err = kxdp_socket_make(&params, &s, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	a->waiting_queue = request->queue;
	a->waiting_fd = fcntl(s.fd, F_DUPFD_CLOEXEC, 0);
	if (a->waiting_fd < 0) {
		err = kxdp_fault_errno(ret_fault, errno, a->name, "keeping the AF_XDP socket");
		kxdp_socket_close(&s, NULL);
		return err;
	}
	*ret_socket = s;
	return KNOT_OK;
}

knot_err_t kxdp_attach_start(kxdp_attach_t *a, const priv_start_t *request, kxdp_fault_t *ret_fault)
{
	knot_err_t err = KNOT_OK;
	if (a->waiting_fd < 0 || a->waiting_queue != request->queue) {
		err = kxdp_fault(ret_fault, KNOT_EINVAL, "no socket waits for queue %u of %s", request->queue, a->name);
	} else if (request->start != 0 &&
			bpf_map_update_elem(a->sockets_fd, &request->queue, &a->waiting_fd, BPF_ANY) != 0) {
		err = kxdp_fault_errno(ret_fault, errno, a->name, "directing packets to the AF_XDP socket");
	}
	forget_waiting(a);
	return err;
}
