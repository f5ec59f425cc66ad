/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/socket_lane.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_LEN = 4 << 20, SPARE_DESCRIPTORS = 64 };

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static bool socket_lane_bind(lane_t *lane, int fd)
{
	const struct sockaddr_storage *local = &lane->gun->options->local;
	if (local->ss_family == AF_UNSPEC) {
		return true;
	}
	/* The port is chosen by connect(): as many connections as there are ports for each destination. */
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){ 1 }, sizeof(int));
	socklen_t len = local->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	return bind(fd, (const struct sockaddr *)local, len) == 0;
}

int socket_lane_open(lane_t *lane, int type)
{
	const struct sockaddr_storage *target = &lane->gun->target;
	int fd = socket(target->ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = target->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	if (fd >= 0 && type == SOCK_DGRAM) {
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ BUFFER_LEN }, sizeof(int));
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ BUFFER_LEN }, sizeof(int));
	} else if (fd >= 0) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	}
	bool is_bound = fd >= 0 && socket_lane_bind(lane, fd);
	if (is_bound && (connect(fd, (const struct sockaddr *)target, len) == 0 || errno == EINPROGRESS)) {
		return fd;
	}
	int errnum = errno;
	if (fd >= 0) {
		close(fd);
	}
	bool is_short = errnum == EMFILE || errnum == ENFILE || errnum == ENOBUFS;
	is_short = is_short || (errnum == EADDRNOTAVAIL && is_bound); /* else -l isn't of this host */
	if (!is_short) {
		snprintf(lane->error, sizeof(lane->error), "can't %s (%s)",
				is_bound ? "connect" : "use the local address", strerror(errnum));
	}
	errno = is_short ? EAGAIN : errnum;
	return -1;
}

bool socket_lane_allow(lane_t *lane, unsigned count)
{
	struct rlimit limit;
	const rlim_t wanted = (rlim_t)count * lane->gun->lane_count + SPARE_DESCRIPTORS;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
		return true;
	}
	limit.rlim_cur = wanted;
	limit.rlim_max = limit.rlim_max > wanted ? limit.rlim_max : wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0) {
		return true;
	}
	snprintf(lane->error, sizeof(lane->error),
			"%llu open files are needed, ulimit -n allows %llu; use fewer --clients",
			(unsigned long long)wanted, (unsigned long long)limit.rlim_cur);
	return false;
}

static bool socket_ports_add(lane_t *lane, socket_ports_t *ports)
{
	int fd = socket_lane_open(lane, SOCK_DGRAM);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = ports->count };
	if (fd < 0) {
		if (errno == EAGAIN) {
			snprintf(lane->error, sizeof(lane->error), "no port for socket %u, use fewer --clients",
					ports->count);
		}
		return false;
	}
	ports->fds[ports->count++] = fd;
	if (epoll_ctl(ports->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		snprintf(lane->error, sizeof(lane->error), "can't poll (%s)", strerror(errno));
		return false;
	}
	return true;
}

bool socket_ports_open(lane_t *lane, socket_ports_t *ret_ports)
{
	const unsigned wanted = lane->gun->clients;
	*ret_ports = (socket_ports_t){ .epoll_fd = epoll_create1(EPOLL_CLOEXEC),
		.fds = calloc(wanted, sizeof(*ret_ports->fds)) };
	if (ret_ports->epoll_fd < 0 || ret_ports->fds == NULL) {
		snprintf(lane->error, sizeof(lane->error), "can't poll (%s)", strerror(errno));
		return false;
	}
	bool is_good = socket_lane_allow(lane, wanted);
	while (is_good && ret_ports->count < wanted) {
		is_good = socket_ports_add(lane, ret_ports);
	}
	return is_good;
}

void socket_ports_close(socket_ports_t *ports)
{
	for (unsigned i = 0; i < ports->count; i++) {
		close(ports->fds[i]);
	}
	if (ports->epoll_fd >= 0) {
		close(ports->epoll_fd);
	}
	free(ports->fds);
}

unsigned socket_lane_wait(int epoll_fd, uint64_t sleep_ns, struct epoll_event *ret_events, unsigned max)
{
	if (sleep_ns > 0) { /* epoll_wait() knows milliseconds only */
		struct pollfd pfd = { .fd = epoll_fd, .events = POLLIN };
		const struct timespec limit = { (time_t)(sleep_ns / 1000000000), (long)(sleep_ns % 1000000000) };
		(void)ppoll(&pfd, 1, &limit, NULL);
	}
	int ready = epoll_wait(epoll_fd, ret_events, (int)max, 0);
	return ready > 0 ? (unsigned)ready : 0;
}
