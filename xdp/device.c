/* SPDX-License-Identifier: BSD-2-Clause */
/* What anybody may ask the kernel about an interface. */
#include "xdp/iface.h"
#include "xdp/link.h"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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

knot_err_t kxdp_iface_of_address(
		const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE], kxdp_fault_t *ret_fault)
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
	kxdp_link_t link;
	if (kxdp_link_query(device.index, &link)) {
		device.mtu = link.mtu < UINT16_MAX ? (uint16_t)link.mtu : UINT16_MAX;
		device.is_up = (link.flags & IFF_UP) != 0;
		device.is_virtual |= (link.flags & IFF_LOOPBACK) != 0;
		device.queue_max = link.rx_queues > device.queue_max ? link.rx_queues : device.queue_max;
	}
	close(fd);
	return device;
}
