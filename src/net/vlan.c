/* SPDX-License-Identifier: BSD-2-Clause */
/* VLAN devices as rtnetlink tells of them: IFLA_LINKINFO { IFLA_INFO_KIND "vlan", IFLA_INFO_DATA { id, protocol } }. */
#include "src/net/vlan.h"

#include "libknot/base/bytes.h"
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

/* What lies in bytes[0..len) after a header of 4 bytes: the attributes of one level. */
typedef struct {
	const uint8_t *at;
	size_t left;
} attributes_t;

typedef struct {
	unsigned type;
	knot_bytes_t value;
} attribute_t;

static bool next_attribute(attributes_t *attributes, attribute_t *ret_attribute)
{
	struct rtattr header;
	if (attributes->left < sizeof(header)) {
		return false;
	}
	memcpy(&header, attributes->at, sizeof(header));
	if (header.rta_len < sizeof(header) || header.rta_len > attributes->left) {
		return false;
	}
	*ret_attribute = (attribute_t){
		.type = header.rta_type & NLA_TYPE_MASK,
		.value = { attributes->at + sizeof(header), header.rta_len - sizeof(header) },
	};
	size_t step = RTA_ALIGN((size_t)header.rta_len);
	step = step < attributes->left ? step : attributes->left;
	attributes->at += step;
	attributes->left -= step;
	return true;
}

static attributes_t attributes_of(knot_bytes_t bytes)
{
	return (attributes_t){ bytes.data, bytes.len };
}

static bool parse_tag(knot_bytes_t data, kxdp_tag_t *ret_tag)
{
	attributes_t attributes = attributes_of(data);
	attribute_t attribute;
	kxdp_tag_t tag = { .type_be = htons(ETH_P_8021Q) };
	bool has_id = false;
	while (next_attribute(&attributes, &attribute)) {
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

static bool parse_info(knot_bytes_t info, kxdp_tag_t *ret_tag)
{
	attributes_t attributes = attributes_of(info);
	attribute_t attribute;
	bool is_vlan = false;
	knot_bytes_t data = { NULL, 0 };
	while (next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_INFO_KIND) {
			is_vlan = attribute.value.len >= 4 && memcmp(attribute.value.data, "vlan", 4) == 0 &&
				  (attribute.value.len == 4 || attribute.value.data[4] == '\0');
		} else if (attribute.type == IFLA_INFO_DATA) {
			data = attribute.value;
		}
	}
	return is_vlan && parse_tag(data, ret_tag);
}

static bool parse_link(knot_bytes_t message, vlan_device_t *ret_device)
{
	struct ifinfomsg link;
	if (message.len < sizeof(link)) {
		return false;
	}
	memcpy(&link, message.data, sizeof(link));
	vlan_device_t device = { .ifindex = (uint32_t)link.ifi_index };
	attributes_t attributes =
			attributes_of((knot_bytes_t){ message.data + sizeof(link), message.len - sizeof(link) });
	attribute_t attribute;
	bool is_vlan = false;
	while (next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_LINK && attribute.value.len == 4) {
			memcpy(&device.lower_ifindex, attribute.value.data, 4);
		} else if (attribute.type == IFLA_LINKINFO) {
			is_vlan = parse_info(attribute.value, &device.tag);
		}
	}
	*ret_device = device;
	return is_vlan && device.lower_ifindex != 0;
}

bool vlan_parse(const uint8_t *messages, size_t len, vlan_device_t *ret_devices, size_t max, size_t *io_count)
{
	for (size_t at = 0; at < len;) {
		struct nlmsghdr header;
		if (len - at < sizeof(header)) {
			return false;
		}
		memcpy(&header, messages + at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > len - at) {
			return false;
		}
		if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) {
			return false;
		}
		knot_bytes_t body = { messages + at + sizeof(header), header.nlmsg_len - sizeof(header) };
		if (header.nlmsg_type == RTM_NEWLINK && *io_count < max && parse_link(body, &ret_devices[*io_count])) {
			++*io_count;
		}
		at += NLMSG_ALIGN((size_t)header.nlmsg_len);
	}
	return true;
}

static knot_err_t read_devices(int fd, vlan_device_t *devices, size_t max, size_t *ret_count)
{
	const struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_GETLINK,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
				.nlmsg_seq = 1 },
		.link = { .ifi_family = AF_UNSPEC },
	};
	const struct timeval limit = { .tv_sec = 2 };
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (send(fd, &request, sizeof(request), 0) != (ssize_t)sizeof(request)) {
		return knot_err_of_errno(errno);
	}
	size_t count = 0;
	for (bool more = true; more;) {
		uint8_t messages[32768]; /* the kernel's dumps come in parts of at most this */
		ssize_t got = recv(fd, messages, sizeof(messages), 0);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			return knot_err_of_errno(errno);
		}
		more = vlan_parse(messages, (size_t)got, devices, max, &count);
	}
	*ret_count = count;
	return KNOT_OK;
}

static int compare(const void *a, const void *b)
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
		qsort(table->devices, count, sizeof(*devices), compare);
	}
	return table;
}

knot_err_t vlan_table_new(vlan_table_t **ret_table)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	vlan_device_t *devices = malloc(VLAN_DEVICES_MAX * sizeof(*devices));
	size_t count = 0;
	knot_err_t err = devices != NULL ? read_devices(fd, devices, VLAN_DEVICES_MAX, &count) : KNOT_ENOMEM;
	close(fd);
	if (err == KNOT_OK) {
		vlan_table_t *table = vlan_table_of(devices, count);
		err = table != NULL ? KNOT_OK : KNOT_ENOMEM;
		*ret_table = table != NULL ? table : *ret_table;
	}
	free(devices);
	return err;
}

static bool is_same(const vlan_table_t *a, const vlan_table_t *b)
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
	if (is_same(old, next)) {
		free(next);
		return;
	}
	RCU_PUBLISH(*table_rcu, next);
	sys_rcu_wait();
	free(old);
}

static const vlan_device_t *find(const vlan_table_t *table, uint32_t ifindex)
{
	const vlan_device_t key = { .ifindex = ifindex };
	return bsearch(&key, table->devices, table->count, sizeof(key), compare);
}

bool vlan_resolve(const vlan_table_t *table, kxdp_path_t *path)
{
	const vlan_device_t *device = table != NULL && table->count > 0 ? find(table, path->ifindex) : NULL;
	if (device == NULL) {
		return true;
	}
	/* From the inner tag, the upper device's, to the outer one. */
	kxdp_tag_t tags[KXDP_TAGS_MAX];
	unsigned first = KXDP_TAGS_MAX;
	uint32_t ifindex = path->ifindex;
	for (; device != NULL; device = find(table, ifindex)) {
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
