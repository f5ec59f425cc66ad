/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

enum {
	DUMP_LEN = 32768, /* the kernel's dumps come in parts of at most this */
	REPLY_MAX_S = 2,
};

netlink_attributes_t netlink_attributes(knot_bytes_t bytes)
{
	return (netlink_attributes_t){ bytes.data, bytes.len };
}

bool netlink_next_attribute(netlink_attributes_t *attributes, netlink_attribute_t *ret_attribute)
{
	struct rtattr header;
	if (attributes->left < sizeof(header)) {
		return false;
	}
	memcpy(&header, attributes->at, sizeof(header));
	if (header.rta_len < sizeof(header) || header.rta_len > attributes->left) {
		return false;
	}
	*ret_attribute = (netlink_attribute_t){
		.type = header.rta_type & NLA_TYPE_MASK,
		.value = { attributes->at + sizeof(header), header.rta_len - sizeof(header) },
	};
	size_t step = RTA_ALIGN((size_t)header.rta_len);
	step = step < attributes->left ? step : attributes->left;
	attributes->at += step;
	attributes->left -= step;
	return true;
}

uint32_t netlink_u32(const netlink_attribute_t *attribute, uint32_t otherwise)
{
	uint32_t value = otherwise;
	if (attribute->value.len == sizeof(value)) {
		memcpy(&value, attribute->value.data, sizeof(value));
	}
	return value;
}

/* What NLMSG_ERROR and NLMSG_DONE begin with: 0, or an errno value below 0. Older kernels leave it out of NLMSG_DONE.
 */
static knot_err_t netlink_result(knot_bytes_t body)
{
	int32_t result = 0;
	if (body.len >= sizeof(result)) {
		memcpy(&result, body.data, sizeof(result));
	}
	return result < 0 ? knot_err_of_errno(-result) : KNOT_OK;
}

netlink_walk_t netlink_walk(const uint8_t *messages, size_t len,
		void (*see)(unsigned type, knot_bytes_t body, void *ctx), void *ctx, bool *io_interrupted,
		knot_err_t *ret_err)
{
	*ret_err = KNOT_ERROR;
	for (size_t at = 0; at < len;) {
		struct nlmsghdr header;
		if (len - at < sizeof(header)) {
			return NETLINK_ERROR;
		}
		memcpy(&header, messages + at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > len - at) {
			return NETLINK_ERROR;
		}
		const knot_bytes_t body = { messages + at + sizeof(header), header.nlmsg_len - sizeof(header) };
		*io_interrupted |= (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
		if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE) {
			knot_err_t err = netlink_result(body);
			*ret_err = err != KNOT_OK ? err : KNOT_ERROR;
			return header.nlmsg_type == NLMSG_DONE && err == KNOT_OK ? NETLINK_DONE : NETLINK_ERROR;
		}
		see(header.nlmsg_type, body, ctx);
		at += NLMSG_ALIGN((size_t)header.nlmsg_len);
	}
	return NETLINK_MORE;
}

int netlink_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd >= 0) {
		const struct timeval limit = { .tv_sec = REPLY_MAX_S };
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		/* Linux 4.20: the kernel leaves out what the request doesn't ask for. */
		(void)setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &(int){ 1 }, sizeof(int));
	}
	return fd;
}

knot_err_t netlink_dump(
		int fd, void *request, size_t len, void (*see)(unsigned type, knot_bytes_t body, void *ctx), void *ctx)
{
	struct nlmsghdr *header = request;
	header->nlmsg_len = (uint32_t)len;
	header->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	header->nlmsg_seq = 1;
	if (send(fd, request, len, 0) != (ssize_t)len) {
		return knot_err_of_errno(errno);
	}
	bool interrupted = false;
	for (netlink_walk_t walk = NETLINK_MORE; walk != NETLINK_DONE;) {
		uint8_t messages[DUMP_LEN];
		ssize_t got = recv(fd, messages, sizeof(messages), 0);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			return knot_err_of_errno(errno);
		}
		knot_err_t err;
		walk = netlink_walk(messages, (size_t)got, see, ctx, &interrupted, &err);
		if (walk == NETLINK_ERROR) {
			return err;
		}
	}
	return interrupted ? KNOT_EAGAIN : KNOT_OK;
}

typedef struct {
	void (*see)(unsigned type, knot_bytes_t body, void *ctx);
	void *ctx;
} netlink_request_t;

static void netlink_see_reply(unsigned type, knot_bytes_t body, void *ctx)
{
	const netlink_request_t *request = ctx;
	if (request->see != NULL) {
		request->see(type, body, request->ctx);
	}
}

/* The acknowledgement, NLMSG_ERROR with 0, comes last. *ret_err: what it says. True: it is among these. */
static bool netlink_read_ack(const uint8_t *messages, size_t len, knot_err_t *ret_err)
{
	for (size_t at = 0; len - at >= sizeof(struct nlmsghdr);) {
		struct nlmsghdr header;
		memcpy(&header, messages + at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > len - at) {
			break;
		}
		if (header.nlmsg_type == NLMSG_ERROR) {
			*ret_err = netlink_result((knot_bytes_t){
					messages + at + sizeof(header), header.nlmsg_len - sizeof(header) });
			return true;
		}
		size_t step = NLMSG_ALIGN((size_t)header.nlmsg_len);
		at += step < len - at ? step : len - at;
	}
	return false;
}

knot_err_t netlink_request(
		int fd, void *request, size_t len, void (*see)(unsigned type, knot_bytes_t body, void *ctx), void *ctx)
{
	struct nlmsghdr *header = request;
	header->nlmsg_len = (uint32_t)len;
	header->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	header->nlmsg_seq = 1;
	if (send(fd, request, len, 0) != (ssize_t)len) {
		return knot_err_of_errno(errno);
	}
	netlink_request_t reply = { see, ctx };
	for (;;) {
		uint8_t messages[DUMP_LEN];
		ssize_t got = recv(fd, messages, sizeof(messages), 0);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			return knot_err_of_errno(errno);
		}
		bool interrupted = false;
		knot_err_t err = KNOT_OK, walked;
		bool is_last = netlink_read_ack(messages, (size_t)got, &err);
		netlink_walk_t walk =
				netlink_walk(messages, (size_t)got, netlink_see_reply, &reply, &interrupted, &walked);
		if (is_last) {
			return err;
		}
		if (walk == NETLINK_ERROR) {
			return walked;
		}
	}
}
