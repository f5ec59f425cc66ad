/* SPDX-License-Identifier: BSD-2-Clause */
/* XDP features of a device from the generic netlink family "netdev". Numbers are those of linux/netdev.h (6.3), which
 * the distributions' headers don't have yet. */
#include "xdp/features.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	NETDEV_GET = 1, /* NETDEV_CMD_DEV_GET */
	NETDEV_IFINDEX = 1,
	NETDEV_XDP_FEATURES = 3,
	FEATURE_BASIC = 1,
	FEATURE_REDIRECT = 2,
	FEATURE_TRANSMIT = 4,
	FEATURE_ZERO_COPY = 8,
	MESSAGE_LEN_MAX = 4096,
};

typedef struct {
	struct nlmsghdr header;
	struct genlmsghdr generic;
	uint8_t attributes[64];
} request_t;

static void features_add_attribute(request_t *r, uint16_t type, const void *data, size_t len)
{
	struct nlattr attribute = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type };
	uint8_t *at = (uint8_t *)r + NLMSG_ALIGN(r->header.nlmsg_len);
	memcpy(at, &attribute, sizeof(attribute));
	memcpy(at + NLA_HDRLEN, data, len);
	r->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(r->header.nlmsg_len) + NLA_ALIGN(NLA_HDRLEN + len));
}

/* The reply's attribute of this type, copied to ret_value[0..len). */
static bool features_query_attribute(int fd, const request_t *request, uint16_t type, void *ret_value, size_t len)
{
	uint8_t reply[MESSAGE_LEN_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	if (send(fd, request, request->header.nlmsg_len, 0) != (ssize_t)request->header.nlmsg_len) {
		return false;
	}
	ssize_t received = recv(fd, reply, sizeof(reply), 0);
	const struct nlmsghdr *header = (const struct nlmsghdr *)reply;
	if (received < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN) || header->nlmsg_len > (size_t)received ||
			header->nlmsg_type == NLMSG_ERROR) {
		return false;
	}
	for (size_t at = NLMSG_HDRLEN + GENL_HDRLEN; at + NLA_HDRLEN <= header->nlmsg_len;) {
		struct nlattr attribute;
		memcpy(&attribute, reply + at, sizeof(attribute));
		if (attribute.nla_len < NLA_HDRLEN || at + attribute.nla_len > header->nlmsg_len) {
			return false;
		}
		if ((attribute.nla_type & NLA_TYPE_MASK) == type && attribute.nla_len >= NLA_HDRLEN + len) {
			memcpy(ret_value, reply + at + NLA_HDRLEN, len);
			return true;
		}
		at += NLA_ALIGN(attribute.nla_len);
	}
	return false;
}

static request_t features_make_request(uint16_t family, uint8_t command)
{
	return (request_t){
		.header = { .nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN,
				.nlmsg_type = family,
				.nlmsg_flags = NLM_F_REQUEST },
		.generic = { .cmd = command, .version = 1 },
	};
}

bool kxdp_features_query(unsigned ifindex, kxdp_features_t *ret_features)
{
	static const char family_name[] = "netdev";
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0) {
		return false;
	}
	request_t find = features_make_request(GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	features_add_attribute(&find, CTRL_ATTR_FAMILY_NAME, family_name, sizeof(family_name));
	uint16_t family = 0;
	uint64_t bits = 0;
	bool known = features_query_attribute(fd, &find, CTRL_ATTR_FAMILY_ID, &family, sizeof(family));
	if (known) {
		request_t get = features_make_request(family, NETDEV_GET);
		uint32_t index = ifindex;
		features_add_attribute(&get, NETDEV_IFINDEX, &index, sizeof(index));
		known = features_query_attribute(fd, &get, NETDEV_XDP_FEATURES, &bits, sizeof(bits));
	}
	close(fd);
	if (known) {
		*ret_features = (kxdp_features_t){
			.native = (bits & FEATURE_BASIC) != 0,
			.redirect = (bits & FEATURE_REDIRECT) != 0,
			.transmit = (bits & FEATURE_TRANSMIT) != 0,
			.zero_copy = (bits & FEATURE_ZERO_COPY) != 0,
		};
	}
	return known;
}
