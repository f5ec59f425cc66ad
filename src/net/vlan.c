/* SPDX-License-Identifier: BSD-2-Clause */
/* VLAN devices as rtnetlink tells of them: IFLA_LINKINFO { IFLA_INFO_KIND "vlan", IFLA_INFO_DATA { id, protocol } }. */
#include "src/net/vlan.h"

#include "src/sys/netlink.h"
#include "src/sys/rcu.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool vlan_parse_tag(knot_bytes_t data, kxdp_tag_t *ret_tag)
{
	netlink_attributes_t attributes = netlink_attributes(data);
	netlink_attribute_t attribute;
	kxdp_tag_t tag = { .type_be = htons(ETH_P_8021Q) };
	bool has_id = false;
	while (netlink_next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_VLAN_ID && attribute.value.len == 2) {
			uint16_t id;
			memcpy(&id, attribute.value.data, 2);
			tag.control_be = htons(id & 0x0FFF);
			has_id = true;
		} else if (attribute.type == IFLA_VLAN_PROTOCOL && attribute.value.len == 2) {
			memcpy(&tag.type_be, attribute.value.data, 2);
		}
	}
	*ret_tag = tag;
	return has_id;
}

static bool vlan_parse_info(knot_bytes_t info, kxdp_tag_t *ret_tag)
{
	netlink_attributes_t attributes = netlink_attributes(info);
	netlink_attribute_t attribute;
	bool is_vlan = false;
	knot_bytes_t data = { NULL, 0 };
	while (netlink_next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_INFO_KIND) {
			is_vlan = attribute.value.len >= 4 && memcmp(attribute.value.data, "vlan", 4) == 0 &&
				  (attribute.value.len == 4 || attribute.value.data[4] == '\0');
		} else if (attribute.type == IFLA_INFO_DATA) {
			data = attribute.value;
		}
	}
	return is_vlan && vlan_parse_tag(data, ret_tag);
}

static bool vlan_parse_link(knot_bytes_t message, vlan_device_t *ret_device)
{
	struct ifinfomsg link;
	if (message.len < sizeof(link)) {
		return false;
	}
	memcpy(&link, message.data, sizeof(link));
	vlan_device_t device = { .ifindex = (uint32_t)link.ifi_index };
	netlink_attributes_t attributes =
			netlink_attributes((knot_bytes_t){ message.data + sizeof(link), message.len - sizeof(link) });
	netlink_attribute_t attribute;
	bool is_vlan = false;
	while (netlink_next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_LINK && attribute.value.len == 4) {
			memcpy(&device.lower_ifindex, attribute.value.data, 4);
		} else if (attribute.type == IFLA_LINKINFO) {
			is_vlan = vlan_parse_info(attribute.value, &device.tag);
		}
	}
	*ret_device = device;
	return is_vlan && device.lower_ifindex != 0;
}

void vlan_see(unsigned type, knot_bytes_t body, void *ctx)
{
	vlan_gather_t *gather = ctx;
	if (type == RTM_NEWLINK && gather->count < gather->max &&
			vlan_parse_link(body, &gather->devices[gather->count])) {
		gather->count++;
	}
}

static knot_err_t vlan_read_devices(int fd, vlan_device_t *devices, size_t max, size_t *ret_count)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} request = { .header = { .nlmsg_type = RTM_GETLINK } };
	vlan_gather_t gather = { devices, 0, max };
	knot_err_t err = netlink_dump(fd, &request, sizeof(request), vlan_see, &gather);
	*ret_count = gather.count;
	return err;
}

static int vlan_compare(const void *a, const void *b)
{
	uint32_t left = ((const vlan_device_t *)a)->ifindex, right = ((const vlan_device_t *)b)->ifindex;
	return (left > right) - (left < right);
}

vlan_table_t *vlan_table_of(const vlan_device_t *devices, size_t count)
{
	vlan_table_t *table = calloc(1, sizeof(*table) + count * sizeof(*devices));
	if (table != NULL && count > 0) {
		table->count = count;
		memcpy(table->devices, devices, count * sizeof(*devices));
		qsort(table->devices, count, sizeof(*devices), vlan_compare);
	}
	return table;
}

knot_err_t vlan_table_new(vlan_table_t **ret_table)
{
	int fd = netlink_open();
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	vlan_device_t *devices = malloc(VLAN_DEVICES_MAX * sizeof(*devices));
	size_t count = 0;
	knot_err_t err = devices != NULL ? vlan_read_devices(fd, devices, VLAN_DEVICES_MAX, &count) : KNOT_ENOMEM;
	close(fd);
	if (err == KNOT_OK) {
		vlan_table_t *table = vlan_table_of(devices, count);
		err = table != NULL ? KNOT_OK : KNOT_ENOMEM;
		*ret_table = table != NULL ? table : *ret_table;
	}
	free(devices);
	return err;
}

static bool vlan_is_same(const vlan_table_t *a, const vlan_table_t *b)
{
	size_t a_count = a != NULL ? a->count : 0, b_count = b != NULL ? b->count : 0;
	return a_count == b_count &&
	       (a_count == 0 || memcmp(a->devices, b->devices, a_count * sizeof(*a->devices)) == 0);
}

void vlan_follow(vlan_table_t **table_rcu, bool wanted)
{
	vlan_table_t *next = NULL, *old = *table_rcu;
	if (wanted && vlan_table_new(&next) != KNOT_OK) {
		return;
	}
	if (vlan_is_same(old, next)) {
		free(next);
		return;
	}
	RCU_PUBLISH(*table_rcu, next);
	sys_rcu_wait();
	free(old);
}

static const vlan_device_t *vlan_find(const vlan_table_t *table, uint32_t ifindex)
{
	const vlan_device_t key = { .ifindex = ifindex };
	return bsearch(&key, table->devices, table->count, sizeof(key), vlan_compare);
}

bool vlan_resolve(const vlan_table_t *table, kxdp_path_t *path)
{
	const vlan_device_t *device = table != NULL && table->count > 0 ? vlan_find(table, path->ifindex) : NULL;
	if (device == NULL) {
		return true;
	}
	/* From the inner tag, the upper device's, to the outer one. */
	kxdp_tag_t tags[KXDP_TAGS_MAX];
	unsigned first = KXDP_TAGS_MAX;
	uint32_t ifindex = path->ifindex;
	for (; device != NULL; device = vlan_find(table, ifindex)) {
		if (first == 0) {
			return false;
		}
		tags[--first] = device->tag;
		ifindex = device->lower_ifindex;
	}
	path->ifindex = ifindex;
	path->tag_count = (uint8_t)(KXDP_TAGS_MAX - first);
	memset(path->tags, 0, sizeof(path->tags));
	memcpy(path->tags, tags + first, path->tag_count * sizeof(*tags));
	return true;
}
