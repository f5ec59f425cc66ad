/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/iface.h"

#include "xdp/bpf/abi.h"
#include "xdp/bpf/embed.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_XDP
#define AF_XDP 44
#endif

_Static_assert((int)FILTER_LISTEN_MAX == (int)KXDP_LISTEN_MAX, "the kernel program has room for all listens");

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	if (b == NULL || a->sa_family != b->sa_family) {
		return false;
	}
	if (a->sa_family == AF_INET) {
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	}
	if (a->sa_family != AF_INET6) {
		return false;
	}
	const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)a, *y = (const struct sockaddr_in6 *)b;
	bool same_scope = x->sin6_scope_id == 0 || x->sin6_scope_id == y->sin6_scope_id;
	return same_scope && memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
}

knot_err_t kxdp_iface_of_address(const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE],
				 kxdp_fault_t *ret_fault)
{
	struct ifaddrs *list;
	if (getifaddrs(&list) != 0) {
		return kxdp_fault_errno(ret_fault, errno, "the interface", "listing interfaces");
	}
	char name[IF_NAMESIZE] = "";
	bool ambiguous = false;
	for (const struct ifaddrs *ifa = list; ifa != NULL; ifa = ifa->ifa_next) {
		if (same_address(sa, ifa->ifa_addr)) {
			ambiguous |= name[0] != '\0' && strcmp(name, ifa->ifa_name) != 0;
			snprintf(name, sizeof(name), "%s", ifa->ifa_name);
		}
	}
	freeifaddrs(list);
	if (name[0] == '\0') {
		return kxdp_fault(ret_fault, KNOT_ENODEV,
				  "no interface has this address; add it, or give the interface's name");
	}
	if (ambiguous) {
		return kxdp_fault(ret_fault, KNOT_EPARAMCONFL,
				  "more than one interface has this address; give the interface's name");
	}
	memcpy(ret_ifname, name, sizeof(name));
	return KNOT_OK;
}

static bool ethtool(int fd, const char *ifname, void *request)
{
	struct ifreq ifr = { .ifr_data = request };
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	return ioctl(fd, SIOCETHTOOL, &ifr) == 0;
}

static bool driver_is_virtual(const char *driver)
{
	static const char *const names[] = { "veth", "netkit", "tun", "bridge", "virtio_net" };
	for (size_t i = 0; i < KNOT_LEN(names); i++) {
		if (strcmp(driver, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void query_ethtool(int fd, const char *ifname, kxdp_device_t *device)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	if (ethtool(fd, ifname, &channels)) {
		unsigned now = channels.combined_count + channels.rx_count;
		unsigned max = channels.max_combined + channels.max_rx;
		device->queue_count = now > 0 ? now : 1;
		device->queue_max = max > device->queue_count ? max : device->queue_count;
	}
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	if (ethtool(fd, ifname, &driver)) {
		driver.driver[sizeof(driver.driver) - 1] = '\0';
		snprintf(device->driver, sizeof(device->driver), "%s", driver.driver);
		device->is_virtual = driver_is_virtual(device->driver);
	}
}

kxdp_device_t kxdp_device_query(const char *ifname)
{
	kxdp_device_t device = { .queue_count = 1, .queue_max = 1, .mtu = 1500 };
	device.index = if_nametoindex(ifname);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || device.index == 0) {
		if (fd >= 0) {
			close(fd);
		}
		return device;
	}
	query_ethtool(fd, ifname, &device);
	struct ifreq ifr = { 0 };
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu > 0) {
		device.mtu = ifr.ifr_mtu < UINT16_MAX ? (uint16_t)ifr.ifr_mtu : UINT16_MAX;
	}
	if (ioctl(fd, SIOCGIFFLAGS, &ifr) == 0) {
		device.is_up = (ifr.ifr_flags & IFF_UP) != 0;
		device.is_virtual |= (ifr.ifr_flags & IFF_LOOPBACK) != 0;
	}
	close(fd);
	return device;
}

static knot_err_t check_options(const kxdp_options_t *o, kxdp_fault_t *ret_fault)
{
	if (o->ring_size < KXDP_RING_MIN || o->ring_size > KXDP_RING_MAX || (o->ring_size & (o->ring_size - 1)) != 0) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "ring-size %u is not a power of two from %d to %d",
				  o->ring_size, KXDP_RING_MIN, KXDP_RING_MAX);
	}
	if (o->config.listen_count < 1 || o->config.listen_count > KXDP_LISTEN_MAX) {
		return kxdp_fault(ret_fault, KNOT_EINVAL, "%zu addresses to listen on, 1 to %d are possible",
				  o->config.listen_count, KXDP_LISTEN_MAX);
	}
	return KNOT_OK;
}

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

static struct filter_listen filter_listen_of(const kxdp_listen_t *listen, uint8_t protos)
{
	struct filter_listen out = { .port_be = htons(listen->port), .protos = protos };
	if (listen->addr.ss_family == AF_INET) {
		out.addr[10] = out.addr[11] = 0xFF;
		memcpy(out.addr + 12, &((const struct sockaddr_in *)&listen->addr)->sin_addr, 4);
	} else if (listen->addr.ss_family == AF_INET6) {
		memcpy(out.addr, &((const struct sockaddr_in6 *)&listen->addr)->sin6_addr, 16);
	} else {
		out.any_addr = 1;
	}
	return out;
}

static int write_config(struct bpf_object *object, const kxdp_config_t *c)
{
	struct filter_config config = { .listen_count = (uint32_t)c->listen_count,
					.flags = c->route_check ? FILTER_ROUTE_CHECK : 0 };
	uint8_t protos = (uint8_t)((c->udp ? FILTER_PROTO_UDP : 0) | (c->tcp ? FILTER_PROTO_TCP : 0));
	for (size_t i = 0; i < config.listen_count; i++) {
		config.listens[i] = filter_listen_of(&c->listens[i], protos);
	}
	uint32_t zero = 0;
	int fd = bpf_object__find_map_fd_by_name(object, "filter_config");
	return bpf_map_update_elem(fd, &zero, &config, BPF_ANY) == 0 ? 0 : errno;
}

static knot_err_t load_program(kxdp_iface_t *iface, const kxdp_options_t *options, kxdp_fault_t *ret_fault)
{
	libbpf_set_print(NULL); /* libraries don't log; the fault says what is needed */
	knot_bytes_t bytes = kxdp_filter_object();
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "bowline");
	struct bpf_object *object = bpf_object__open_mem(bytes.data, bytes.len, &opts);
	if (object == NULL) {
		return kxdp_fault_errno(ret_fault, errno, iface->name, "reading the XDP program");
	}
	iface->object = object;
	struct bpf_map *sockets = bpf_object__find_map_by_name(object, "filter_sockets");
	struct bpf_map *counts = bpf_object__find_map_by_name(object, "filter_counts");
	if (sockets == NULL || bpf_map__set_max_entries(sockets, iface->queue_max) != 0 || counts == NULL ||
	    bpf_map__set_max_entries(counts, iface->queue_max) != 0) {
		return kxdp_fault_errno(ret_fault, EINVAL, iface->name, "reading the XDP program");
	}
	if (bpf_object__load(object) != 0) {
		return kxdp_fault_errno(ret_fault, errno, iface->name, "loading the XDP program");
	}
	iface->sockets_fd = bpf_map__fd(sockets);
	iface->counts_fd = bpf_map__fd(counts);
	int errnum = write_config(object, &options->config);
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, iface->name, "configuring the XDP program");
	}
	return KNOT_OK;
}

typedef struct {
	kxdp_iface_t *iface;
	int prog_fd;
	uint32_t flags; /* XDP_FLAGS_DRV_MODE or XDP_FLAGS_SKB_MODE */
} attach_t;

static int attach_step(void *ctx)
{
	attach_t *a = ctx;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = a->flags);
	int fd = bpf_link_create(a->prog_fd, (int)a->iface->index, BPF_XDP, &opts);
	if (fd < 0) {
		return errno == EEXIST ? EBUSY : errno; /* EEXIST: attached in the other mode */
	}
	a->iface->link_fd = fd;
	return 0;
}

/* `ip link` can remove a program of which no BPF link is the owner, for example what another server left behind. */
static knot_err_t busy_fault(const kxdp_iface_t *iface, kxdp_fault_t *ret_fault)
{
	uint32_t id = 0;
	(void)bpf_xdp_query_id((int)iface->index, 0, &id);
	return kxdp_fault(ret_fault, KNOT_EBUSY,
			  "another XDP program (id %u) is attached; stop its owner, or detach it: "
			  "ip link set dev %s xdp off",
			  id, iface->name);
}

static knot_err_t attach_program(kxdp_iface_t *iface, kxdp_mode_t mode, kxdp_fault_t *ret_fault)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(iface->object, "bowline_filter");
	attach_t attach = { .iface = iface, .prog_fd = bpf_program__fd(program) };
	kxdp_detach_leftovers(iface->index);
	int errnum = EOPNOTSUPP;
	if (mode != KXDP_MODE_EMULATED) {
		attach.flags = XDP_FLAGS_DRV_MODE;
		errnum = kxdp_retry_busy(attach_step, &attach);
		iface->native = errnum == 0;
	}
	bool driver_cannot = errnum != 0 && errnum != EBUSY && errnum != EPERM;
	if (driver_cannot && mode != KXDP_MODE_NATIVE) {
		attach.flags = XDP_FLAGS_SKB_MODE;
		errnum = kxdp_retry_busy(attach_step, &attach);
	}
	if (errnum == EBUSY) {
		return busy_fault(iface, ret_fault);
	}
	if (errnum != 0) {
		return kxdp_fault_errno(ret_fault, errnum, iface->name, "attaching the XDP program");
	}
	return KNOT_OK;
}

static knot_err_t open_steps(kxdp_iface_t *iface, const kxdp_options_t *options, kxdp_fault_t *ret_fault)
{
	knot_err_t err = check_af_xdp(iface->name, ret_fault);
	if (err == KNOT_OK) {
		err = load_program(iface, options, ret_fault);
	}
	if (err == KNOT_OK) {
		err = attach_program(iface, options->mode, ret_fault);
	}
	return err;
}

knot_err_t kxdp_iface_open(kxdp_priv_t *priv, const kxdp_options_t *options, kxdp_iface_t **ret_iface,
			   kxdp_fault_t *ret_fault)
{
	(void)priv; /* for now the caller has the privileges itself */
	knot_err_t err = check_options(options, ret_fault);
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
		.index = device.index,
		.queue_count = device.queue_count,
		.queue_max = device.queue_max,
		.mtu = device.mtu,
		.zero_copy = options->zero_copy,
		.ring_size = options->ring_size,
		.allow_partial = device.is_virtual && options->checksum == KXDP_CHECKSUM_AUTO,
		.busypoll_budget = options->busypoll_budget,
		.busypoll_timeout_us = options->busypoll_timeout_us,
		.link_fd = -1,
		.sockets_fd = -1,
		.counts_fd = -1,
	};
	snprintf(iface->name, sizeof(iface->name), "%s", options->ifname);
	err = open_steps(iface, options, ret_fault);
	if (err != KNOT_OK) {
		kxdp_iface_close(iface);
		return err;
	}
	*ret_iface = iface;
	return KNOT_OK;
}

void kxdp_iface_close(kxdp_iface_t *take_iface)
{
	if (take_iface == NULL) {
		return;
	}
	if (take_iface->link_fd >= 0) {
		(void)bpf_link_detach(take_iface->link_fd); /* at once: closing alone leaves it to a kernel worker */
		close(take_iface->link_fd);
	}
	bpf_object__close(take_iface->object);
	free(take_iface);
}

knot_err_t kxdp_iface_open_socket(kxdp_iface_t *iface, unsigned queue, kxdp_socket_t *ret_socket,
				  kxdp_fault_t *ret_fault)
{
	const kxdp_socket_params_t params = {
		.ifindex = iface->index,
		.ifname = iface->name,
		.queue = queue,
		.ring_size = iface->ring_size,
		.try_zero_copy = iface->native && iface->zero_copy,
		.busypoll_budget = iface->busypoll_budget,
		.busypoll_timeout_us = iface->busypoll_timeout_us,
	};
	kxdp_socket_t s;
	knot_err_t err = kxdp_socket_open(&params, &s, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	if (bpf_map_update_elem(iface->sockets_fd, &queue, &s.fd, BPF_ANY) != 0) {
		err = kxdp_fault_errno(ret_fault, errno, iface->name, "directing packets to the AF_XDP socket");
		kxdp_socket_close(&s, NULL);
		return err;
	}
	*ret_socket = s;
	return KNOT_OK;
}

const char *kxdp_iface_name(const kxdp_iface_t *iface)
{
	return iface->name;
}

unsigned kxdp_iface_index(const kxdp_iface_t *iface)
{
	return iface->index;
}

unsigned kxdp_iface_queue_count(const kxdp_iface_t *iface)
{
	return iface->queue_count;
}

unsigned kxdp_iface_queue_max(const kxdp_iface_t *iface)
{
	return iface->queue_max;
}

const char *kxdp_iface_mode_text(const kxdp_iface_t *iface)
{
	if (iface->native) {
		return iface->copies ? "native/copy" : "native";
	}
	return iface->zero_copy ? "emulated" : "emulated/copy";
}

size_t kxdp_iface_filter_counts(const kxdp_iface_t *iface, unsigned queue, kxdp_filter_count_t *ret_counts, size_t max)
{
#define COUNT_NAME(constant, name, group, what) [constant] = name,
	static const char *const names[FILTER_COUNT_ROWS] = { FILTER_COUNTS(COUNT_NAME) };
#undef COUNT_NAME
	size_t count = max < FILTER_COUNT_ROWS ? max : FILTER_COUNT_ROWS;
	for (size_t i = 0; i < count; i++) {
		ret_counts[i] = (kxdp_filter_count_t){ .name = names[i] };
	}
	uint32_t first = queue != KXDP_ALL_QUEUES ? queue : 0;
	uint32_t end = queue != KXDP_ALL_QUEUES ? queue + 1 : iface->queue_max;
	for (uint32_t q = first; q < end; q++) {
		struct filter_counts counts;
		if (bpf_map_lookup_elem(iface->counts_fd, &q, &counts) != 0) {
			return 0;
		}
		for (size_t i = 0; i < count; i++) {
			ret_counts[i].packets += counts.packets[i];
		}
	}
	return count;
}
