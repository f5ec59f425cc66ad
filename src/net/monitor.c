/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/monitor.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	SETTLE_MS = 20, /* making or removing a link is a dozen of messages */
	MESSAGES_LEN = 16384,
};

knot_err_t monitor_init(monitor_t *monitor)
{
	*monitor = (monitor_t){ .netlink_fd = -1, .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	if (monitor->wake_fd < 0) {
		return knot_err_of_errno(errno);
	}
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0) {
		close(fd);
		fd = -1;
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
