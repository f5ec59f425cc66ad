/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/link.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { REPLY_LEN_MAX = 32768 }; /* one link with all its attributes */

static void link_copy_text(char *to, size_t size, const struct rtattr *a)
{
	size_t len = RTA_PAYLOAD(a) < size - 1 ? RTA_PAYLOAD(a) : size - 1;
	memcpy(to, RTA_DATA(a), len);
	to[len] = '\0';
}

static uint32_t link_read_number(const struct rtattr *a)
{
	uint32_t value = 0;
	memcpy(&value, RTA_DATA(a), RTA_PAYLOAD(a) < sizeof(value) ? RTA_PAYLOAD(a) : sizeof(value));
	return value;
}

static void link_read_kind(const struct rtattr *nest, kxdp_link_t *link)
{
	int len = (int)RTA_PAYLOAD(nest);
	for (const struct rtattr *a = RTA_DATA(nest); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_INFO_KIND) {
			link_copy_text(link->kind, sizeof(link->kind), a);
		} else if (a->rta_type == IFLA_INFO_SLAVE_KIND) {
			link_copy_text(link->upper_kind, sizeof(link->upper_kind), a);
		}
	}
}

static void link_read_attributes(const struct nlmsghdr *message, kxdp_link_t *link)
{
	const struct ifinfomsg *info = NLMSG_DATA(message);
	*link = (kxdp_link_t){ .flags = info->ifi_flags, .type = info->ifi_type };
	int len = (int)message->nlmsg_len - (int)NLMSG_LENGTH(sizeof(*info));
	for (const struct rtattr *a = IFLA_RTA(info); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		switch (a->rta_type & NLA_TYPE_MASK) {
		case IFLA_NUM_RX_QUEUES: link->rx_queues = link_read_number(a); break;
		case IFLA_MTU: link->mtu = link_read_number(a); break;
		case IFLA_LINK: link->lower = link_read_number(a); break;
		case IFLA_MASTER: link->upper = link_read_number(a); break;
		case IFLA_LINKINFO: link_read_kind(a, link); break;
		default: break;
		}
	}
}

static bool link_query_kernel(int fd, unsigned ifindex, void *reply, kxdp_link_t *ret_link)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg info;
	} request = {
		.header = { .nlmsg_len = sizeof(request), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST },
		.info = { .ifi_index = (int)ifindex },
	};
	if (send(fd, &request, sizeof(request), 0) != (ssize_t)sizeof(request)) {
		return false;
	}
	ssize_t len = recv(fd, reply, REPLY_LEN_MAX, 0);
	const struct nlmsghdr *header = reply;
	if (len < (ssize_t)NLMSG_LENGTH(sizeof(struct ifinfomsg)) || header->nlmsg_type != RTM_NEWLINK ||
			header->nlmsg_len > (size_t)len) {
		return false;
	}
	link_read_attributes(header, ret_link);
	return true;
}

bool kxdp_link_query(unsigned ifindex, kxdp_link_t *ret_link)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	void *reply = malloc(REPLY_LEN_MAX);
	bool done = fd >= 0 && reply != NULL && link_query_kernel(fd, ifindex, reply, ret_link);
	free(reply);
	if (fd >= 0) {
		close(fd);
	}
	return done;
}
