/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/monitor.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SETTLE_MS = 20, /* making or removing a link is a dozen of messages */
	MESSAGES_LEN = 16384,
};

/* Of routes only those that say what belongs to this host: a router's others come by the thousand. */
static void monitor_skip_routes(int fd)
{
	enum {
		TYPE_OFF = offsetof(struct nlmsghdr, nlmsg_type),
		KIND_OFF = sizeof(struct nlmsghdr) + offsetof(struct rtmsg, rtm_type)
	};
	/* Loads are in network order, messages in host order. */
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, TYPE_OFF),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWROUTE), 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELROUTE), 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, KIND_OFF),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RTN_LOCAL, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RTN_BROADCAST, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	const struct sock_fprog program = { .len = KNOT_LEN(steps), .filter = steps };
	(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

knot_err_t monitor_init(monitor_t *monitor)
{
	*monitor = (monitor_t){ .netlink_fd = -1, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (monitor->wake_fd < 0) {
		return knot_err_of_errno(errno);
	}
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
			     RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE | 1U << (RTNLGRP_IPV6_RULE - 1),
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0) {
		monitor_skip_routes(fd);
	}
	monitor->netlink_fd = fd;
	return KNOT_OK;
}

void monitor_done(monitor_t *monitor)
{
	if (monitor->netlink_fd >= 0) {
		close(monitor->netlink_fd);
	}
	if (monitor->wake_fd >= 0) {
		close(monitor->wake_fd);
	}
	*monitor = (monitor_t){ -1, -1 };
}

/* An overrun (ENOBUFS) is a change like any other. */
static void forget_messages(int fd)
{
	char messages[MESSAGES_LEN];
	ssize_t len;
	do {
		len = recv(fd, messages, sizeof(messages), MSG_DONTWAIT);
	} while (len > 0 || (len < 0 && (errno == EINTR || errno == ENOBUFS)));
}

bool monitor_wait(monitor_t *monitor, int timeout_ms)
{
	struct pollfd polls[] = {
		{ .fd = monitor->wake_fd, .events = POLLIN },
		{ .fd = monitor->netlink_fd, .events = POLLIN },
	};
	if (poll(polls, KNOT_LEN(polls), timeout_ms) <= 0) {
		return false;
	}
	bool is_change = polls[1].revents != 0;
	if (is_change) {
		(void)poll(polls, 1, SETTLE_MS);
		forget_messages(monitor->netlink_fd);
	}
	eventfd_t ignored;
	(void)eventfd_read(monitor->wake_fd, &ignored);
	return is_change;
}

void monitor_wake(const monitor_t *monitor)
{
	(void)eventfd_write(monitor->wake_fd, 1);
}
