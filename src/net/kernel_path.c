/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/kernel_path.h"

#include "libknot/base/bytes.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum {
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	TOKEN_US = 1000000 / KERNEL_PATH_RATE,
};

void kernel_path_init(kernel_path_t *path, int fd4, int fd6, uint64_t now_us)
{
	*path = (kernel_path_t){
		.fd4 = fd4,
		.fd6 = fd6,
		.tokens_us = (uint64_t)KERNEL_PATH_BURST * TOKEN_US,
		.last_us = now_us,
	};
}

static bool take_token(kernel_path_t *path, uint64_t now_us)
{
	const uint64_t tokens_max_us = (uint64_t)KERNEL_PATH_BURST * TOKEN_US;
	uint64_t passed_us = now_us > path->last_us ? now_us - path->last_us : 0;
	path->last_us += passed_us;
	uint64_t tokens_us = path->tokens_us + (passed_us < tokens_max_us ? passed_us : tokens_max_us);
	tokens_us = tokens_us < tokens_max_us ? tokens_us : tokens_max_us;
	bool has = tokens_us >= TOKEN_US;
	path->tokens_us = tokens_us - (has ? TOKEN_US : 0);
	return has;
}

/* Where to, and (in a control message) where from: without it, rules that look at the source wouldn't see it. */
typedef struct {
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} to;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	struct iovec iov;
	struct msghdr msg;
} message_t;

static void put_control(message_t *m, int level, int type, const void *info, size_t info_len)
{
	m->msg.msg_control = m->control;
	m->msg.msg_controllen = CMSG_SPACE(info_len);
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&m->msg);
	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(info_len);
	memcpy(CMSG_DATA(cmsg), info, info_len);
}

static void address_ipv4(message_t *m, const uint8_t *packet)
{
	struct in_pktinfo info = { 0 };
	memcpy(&info.ipi_spec_dst, packet + 12, 4);
	m->to.in.sin_family = AF_INET;
	memcpy(&m->to.in.sin_addr, packet + 16, 4);
	m->msg.msg_namelen = sizeof(m->to.in);
	put_control(m, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
}

static void address_ipv6(message_t *m, const uint8_t *packet, uint32_t ifindex)
{
	struct in6_pktinfo info = { 0 };
	memcpy(&info.ipi6_addr, packet + 8, 16);
	m->to.in6.sin6_family = AF_INET6;
	memcpy(&m->to.in6.sin6_addr, packet + 24, 16);
	m->to.in6.sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&m->to.in6.sin6_addr) ? ifindex : 0;
	m->msg.msg_namelen = sizeof(m->to.in6);
	put_control(m, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
}

static bool send_message(int fd, const struct msghdr *msg)
{
	ssize_t sent;
	do {
		sent = sendmsg(fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

kernel_path_result_t kernel_path_send(
		kernel_path_t *path, uint32_t ifindex, const uint8_t *packet, size_t len, uint64_t now_us)
{
	bool is_ipv6 = len >= IPV6_LEN && packet[0] >> 4 == 6;
	bool is_ipv4 = len >= IPV4_LEN && packet[0] >> 4 == 4;
	int fd = is_ipv6 ? path->fd6 : is_ipv4 ? path->fd4 : -1;
	if (fd < 0) {
		return KERNEL_PATH_FAILED;
	}
	if (!take_token(path, now_us)) {
		return KERNEL_PATH_LIMITED;
	}
	message_t m = { .iov = { (void *)(uintptr_t)packet, len } };
	m.msg = (struct msghdr){ .msg_name = &m.to, .msg_iov = &m.iov, .msg_iovlen = 1 };
	if (is_ipv6) {
		address_ipv6(&m, packet, ifindex);
	} else {
		address_ipv4(&m, packet);
	}
	bool sent = send_message(fd, &m.msg);
	if (!sent && errno == EINVAL) {
		/* The address that was asked isn't one of the host's (XDP listens on an interface answer any): the
		 * header says it anyway, only the rules don't see it. */
		m.msg.msg_control = NULL;
		m.msg.msg_controllen = 0;
		sent = send_message(fd, &m.msg);
	}
	return sent ? KERNEL_PATH_SENT : KERNEL_PATH_FAILED;
}
