/* SPDX-License-Identifier: BSD-2-Clause */
/* VLAN devices as rtnetlink tells of them: IFLA_LINKINFO { IFLA_INFO_KIND "vlan", IFLA_INFO_DATA { id, protocol } }. */
#include "src/net/relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
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

static bool parse_link(knot_bytes_t message, relay_vlan_t *ret_vlan)
{
	struct ifinfomsg link;
	if (message.len < sizeof(link)) {
		return false;
	}
	memcpy(&link, message.data, sizeof(link));
	relay_vlan_t vlan = { .ifindex = (uint32_t)link.ifi_index };
	attributes_t attributes =
		attributes_of((knot_bytes_t){ message.data + sizeof(link), message.len - sizeof(link) });
	attribute_t attribute;
	bool is_vlan = false;
	while (next_attribute(&attributes, &attribute)) {
		if (attribute.type == IFLA_LINK && attribute.value.len == 4) {
			memcpy(&vlan.lower_ifindex, attribute.value.data, 4);
		} else if (attribute.type == IFLA_LINKINFO) {
			is_vlan = parse_info(attribute.value, &vlan.tag);
		}
	}
	*ret_vlan = vlan;
	return is_vlan && vlan.lower_ifindex != 0;
}

bool relay_vlans_parse(const uint8_t *messages, size_t len, relay_vlan_t *ret_vlans, size_t max, size_t *io_count)
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
		if (header.nlmsg_type == RTM_NEWLINK && *io_count < max && parse_link(body, &ret_vlans[*io_count])) {
			++*io_count;
		}
		at += NLMSG_ALIGN((size_t)header.nlmsg_len);
	}
	return true;
}

knot_err_t relay_vlans_read(relay_vlan_t *ret_vlans, size_t max, size_t *ret_count)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	struct {
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
	knot_err_t err = KNOT_OK;
	size_t count = 0;
	bool more = send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);
	err = more ? KNOT_OK : knot_err_of_errno(errno);
	while (more) {
		uint8_t messages[32768]; /* the kernel's dumps are cut to what the first recv() offers, at most this */
		ssize_t got = recv(fd, messages, sizeof(messages), 0);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			err = knot_err_of_errno(errno);
			break;
		}
		more = relay_vlans_parse(messages, (size_t)got, ret_vlans, max, &count);
	}
	close(fd);
	if (err == KNOT_OK) {
		*ret_count = count;
	}
	return err;
}
