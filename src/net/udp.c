/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * UDP worker: receive a batch, answer it in one read section, send a batch. RFC 768, RFC 1122 4.1.3.5 (answers leave
 * from the address asked).
 *
 * Replies are built where their requests lie. A socket that gave a full batch is read again without poll(), so under
 * load there are two system calls per batch and none of them waits. A worker that would wake up for each query naps
 * instead (pace.h).
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "src/net/request.h"
#include "src/net/socket_worker.h"
#include "src/net/pace.h"
#include "src/sys/clock.h"
#include "src/sys/limits.h"
#include <assert.h>

enum {
	/* Buffers 64 KiB apart would share their sets of the first-level cache; 3 lines more spread them. */
	BUFFER_STRIDE = 65536 + 3 * 64,
	CONTROL_MAX = CMSG_SPACE(sizeof(struct in6_pktinfo)),
	/* Batches in a row from one socket: poll() once per 512 requests still notices other sockets and the end. */
	TURNS_MAX = 16,
	UDP_OTHER_POLLS = 2, /* besides the sockets: stop_fd, inbox */
};
_Static_assert((int)NET_UDP_REQUEST_MAX < (int)BUFFER_STRIDE, "a request fits its buffer");
_Static_assert((int)NET_UDP_BATCH <= (int)ANSWER_BATCH_MAX, "one call to read");
_Static_assert((int)NET_UDP_REPLY_MAX < (int)BUFFER_STRIDE, "a reply fits its buffer");
_Static_assert((int)CONTROL_MAX <= (int)LATER_CONTROL_MAX, "a later reply knows its address");

typedef union {
	struct cmsghdr align;
	uint8_t bytes[CONTROL_MAX];
} control_t;

typedef struct {
	struct mmsghdr in[NET_UDP_BATCH];
	struct mmsghdr out[NET_UDP_BATCH];
	struct iovec in_iov[NET_UDP_BATCH];
	struct iovec out_iov[NET_UDP_BATCH];
	struct sockaddr_storage peers[NET_UDP_BATCH];
	control_t controls[NET_UDP_BATCH];
	uint8_t *buffers; /* NET_UDP_BATCH of BUFFER_STRIDE, behind this struct */
	pace_t pace;
	traffic_batch_t traffic;
	request_limits_t limits;
	request_turn_t turn;  /* of the batch */
	later_outbox_t later; /* 〃 */
} udp_t;

/* request_takers_t */
static void udp_take_update(void *ctx, const state_t *state, const answer_source_t *source,
		const answer_request_t *request, const answer_report_t *report, const answer_aside_t *aside)
{
	udp_t *udp = ctx;
	(void)report;
	request_take_later(&udp->later, &udp->traffic, state, source, request, aside);
}

static const request_takers_t udp_takers = { .takes = ANSWER_EFFECT_UPDATE, .update = udp_take_update };

knot_err_t udp_worker_init(socket_worker_t *worker)
{
	assert(worker->sockets != NULL && worker->socket_count > 0);
	knot_err_t err = later_inbox_new(-1, &worker->inbox);
	if (err != KNOT_OK) {
		return err;
	}
	size_t poll_size = (worker->socket_count + UDP_OTHER_POLLS) * sizeof(struct pollfd);
	udp_t *udp = calloc(1, sizeof(*udp) + poll_size + (size_t)NET_UDP_BATCH * BUFFER_STRIDE);
	if (udp == NULL) {
		return KNOT_ENOMEM;
	}
	udp->later.inbox = worker->inbox;
	udp->turn.takers = &udp_takers;
	udp->turn.ctx = udp;
	udp->buffers = (uint8_t *)(udp + 1) + poll_size;
	for (size_t i = 0; i < NET_UDP_BATCH; i++) {
		udp->in_iov[i] = (struct iovec){ udp->buffers + i * BUFFER_STRIDE, NET_UDP_REQUEST_MAX };
		udp->in[i].msg_hdr = (struct msghdr){
			.msg_name = &udp->peers[i],
			.msg_iov = &udp->in_iov[i],
			.msg_iovlen = 1,
			.msg_control = &udp->controls[i],
		};
		udp->out[i].msg_hdr = (struct msghdr){ .msg_iov = &udp->out_iov[i], .msg_iovlen = 1 };
	}
	worker->memory = udp;
	return KNOT_OK;
}

typedef union {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
} udp_local_t;

/*
 * Turn the control message that says which address a request to a wildcard socket was sent to into what sends the reply
 * from there: without the interface, because the way back is the routing table's business, but for link-local
 * addresses. Returns the address; its family is AF_UNSPEC if there is no such message. The port is left out.
 */
static udp_local_t udp_reply_from_local(struct msghdr *msg)
{
	udp_local_t local = { .in6.sin6_family = AF_UNSPEC };
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo *info = (struct in_pktinfo *)CMSG_DATA(cmsg);
			info->ipi_ifindex = 0;
			local.in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = info->ipi_addr };
		} else if (cmsg->cmsg_level == IPPROTO_IPV6 && cmsg->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo *info = (struct in6_pktinfo *)CMSG_DATA(cmsg);
			if (!IN6_IS_ADDR_LINKLOCAL(&info->ipi6_addr)) {
				info->ipi6_ifindex = 0;
			}
			local.in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = info->ipi6_addr };
		}
	}
	return local;
}

/* What was just taken to be answered later, if it was: from which socket and address, and to whom. */
static void udp_set_way(
		udp_t *udp, const socket_worker_t *worker, const worker_socket_t *sock, const struct msghdr *msg)
{
	later_t *later = udp->later.made;
	if (later == NULL) {
		return;
	}
	udp->later.made = NULL;
	later->way.udp.socket = (uint32_t)(sock - worker->sockets);
	later->way.udp.remote_len = msg->msg_namelen;
	if (sock->wildcard && msg->msg_controllen > 0) {
		assert(msg->msg_controllen <= LATER_CONTROL_MAX);
		later->way.udp.control_len = (uint8_t)msg->msg_controllen;
		memcpy(later->way.udp.control, msg->msg_control, msg->msg_controllen);
	}
}

/* Answers requests in[0..count); returns the number of replies in out. */
static unsigned answer_batch(const socket_worker_t *worker, const worker_socket_t *sock, unsigned count)
{
	udp_t *udp = worker->memory;
	unsigned replies = 0;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(worker->shared->state, guard);
	traffic_begin(&udp->traffic, RCU_LOAD(guard, worker->shared->looks.list_rcu), state);
	knot_bytes_t messages[NET_UDP_BATCH];
	for (unsigned i = 0; i < count; i++) {
		messages[i] = (knot_bytes_t){ udp->in_iov[i].iov_base, udp->in[i].msg_len };
	}
	answer_request_t requests[NET_UDP_BATCH];
	answer_read(&state->env, state->zones, messages, count, requests);
	for (unsigned i = 0; i < count; i++) {
		struct msghdr *msg = &udp->in[i].msg_hdr;
		if (msg->msg_namelen <= sizeof(sa_family_t)) {
			traffic_drop(&udp->traffic, TRAFFIC_DROP_NO_ADDRESS);
			continue;
		}
		answer_source_t source = {
			.protocol = answer_protocol_of_socket(udp->peers[i].ss_family, false),
			.remote = (const struct sockaddr *)&udp->peers[i],
			.local = (const struct sockaddr *)&sock->addr->ss,
			.turn = &udp->turn.answer,
		};
		udp_local_t local;
		if (sock->wildcard) {
			local = udp_reply_from_local(msg);
			source.local = local.sa.sa_family != AF_UNSPEC ? &local.sa : NULL;
		}
		uint8_t *buffer = udp->in_iov[i].iov_base;
		size_t len = request_answer(&udp->traffic, &udp->limits, state, &source, &requests[i],
				(knot_mut_bytes_t){ buffer, NET_UDP_REPLY_MAX });
		if (len == 0) {
			udp_set_way(udp, worker, sock, msg);
			continue;
		}
		struct msghdr *reply = &udp->out[replies].msg_hdr;
		udp->out_iov[replies] = (struct iovec){ buffer, len };
		reply->msg_name = msg->msg_name;
		reply->msg_namelen = msg->msg_namelen;
		reply->msg_control = sock->wildcard && msg->msg_controllen > 0 ? msg->msg_control : NULL;
		reply->msg_controllen = reply->msg_control != NULL ? msg->msg_controllen : 0;
		replies++;
	}
	return replies;
}

static void send_batch(udp_t *udp, const worker_socket_t *sock, unsigned count)
{
	/*
	 * A full send buffer is waited for (SO_SNDTIMEO bounds it): the link sets the pace. UNIX peers may never read.
	 */
	int flags = MSG_NOSIGNAL | (sock->addr->ss.ss_family == AF_UNIX ? MSG_DONTWAIT : 0);
	for (unsigned at = 0; at < count;) {
		int sent = sendmmsg(sock->fd, udp->out + at, count - at, flags);
		/* The first one can't be sent (peer's port 0, unreachable, ...): lost, as datagrams may be. */
		if (sent <= 0) {
			traffic_drop(&udp->traffic, TRAFFIC_DROP_NOT_SENT);
		}
		at += sent > 0 ? (unsigned)sent : 1;
	}
}

/* One batch from one socket. Returns true if there may be more. *io_count: the requests are added. */
static bool serve_socket(const socket_worker_t *worker, const worker_socket_t *sock, size_t *io_count)
{
	udp_t *udp = worker->memory;
	for (size_t i = 0; i < NET_UDP_BATCH; i++) {
		udp->in[i].msg_hdr.msg_namelen = sizeof(udp->peers[i]);
		udp->in[i].msg_hdr.msg_controllen = sock->wildcard ? sizeof(udp->controls[i]) : 0;
	}
	int count = recvmmsg(sock->fd, udp->in, NET_UDP_BATCH, MSG_DONTWAIT, NULL);
	if (count <= 0) {
		return false; /* empty, or an error that belongs to an earlier reply */
	}
	uint64_t start_ns = sys_clock_ns();
	assert(count <= NET_UDP_BATCH);
	udp->limits.now_us = start_ns / 1000;
	request_turn_begin(&udp->turn, udp->limits.now_us);
	*io_count += (size_t)count;
	udp->later.begin_ns = start_ns;
	unsigned replies = answer_batch(worker, sock, (unsigned)count);
	send_batch(udp, sock, replies);
	if (!traffic_is_empty(&udp->traffic)) {
		traffic_end(worker->shared->traffic, &udp->traffic, sys_clock_ns() - start_ns);
	}
	if (__builtin_expect(udp->later.first != NULL, 0)) {
		later_hand_over(&udp->later, &worker->shared->updates);
	}
	return count == NET_UDP_BATCH;
}

/* ---- Later replies ---- */

static void udp_put_later(udp_t *udp, later_t *later, unsigned at)
{
	udp->out_iov[at] = (struct iovec){ later->bytes, later->reply_len };
	struct msghdr *reply = &udp->out[at].msg_hdr;
	reply->msg_name = &later->remote;
	reply->msg_namelen = later->way.udp.remote_len;
	reply->msg_controllen = later->way.udp.control_len;
	reply->msg_control = later->way.udp.control_len > 0 ? later->way.udp.control : NULL;
}

/* Send what others made: runs of replies of one socket, a batch each. */
static void udp_send_later(const socket_worker_t *worker)
{
	udp_t *udp = worker->memory;
	later_t *batch[NET_UDP_BATCH];
	for (later_t *later = later_inbox_take(worker->inbox); later != NULL;) {
		uint32_t socket = later->way.udp.socket;
		unsigned count = 0, replies = 0;
		for (; later != NULL && count < NET_UDP_BATCH && later->way.udp.socket == socket;
				later = (later_t *)later->request.next) {
			batch[count++] = later;
			if (later->reply_len > 0) {
				udp_put_later(udp, later, replies++);
			}
		}
		assert(socket < worker->socket_count);
		send_batch(udp, &worker->sockets[socket], replies);
		uint64_t now_ns = sys_clock_ns();
		for (unsigned i = 0; i < count; i++) {
			request_note_later(worker->shared->traffic, batch[i], now_ns);
			later_free(batch[i]);
		}
	}
}

/* What has arrived is answered, a bounded number of batches per socket, before the sockets are closed. */
static void serve_rest(const socket_worker_t *worker)
{
	for (size_t i = 0; i < worker->socket_count; i++) {
		size_t count = 0;
		for (unsigned turn = 0; turn < TURNS_MAX && serve_socket(worker, &worker->sockets[i], &count); turn++) {
		}
	}
}

void udp_worker_run(void *arg)
{
	socket_worker_t *worker = arg;
	udp_t *udp = worker->memory;
	struct pollfd *polls = (struct pollfd *)(udp + 1);
	size_t count = worker->socket_count;
	for (size_t i = 0; i < count; i++) {
		polls[i] = (struct pollfd){ .fd = worker->sockets[i].fd, .events = POLLIN };
	}
	polls[count] = (struct pollfd){ .fd = worker->stop_fd, .events = POLLIN };
	polls[count + 1] = (struct pollfd){ .fd = later_inbox_fd(worker->inbox), .events = POLLIN };
	for (bool more = false;;) {
		bool sleeps = !more && later_inbox_sleep(worker->inbox);
		int ready = poll(polls, count + UDP_OTHER_POLLS, sleeps ? NET_POLL_MS : 0);
		later_inbox_awake(worker->inbox, ready > 0 && polls[count + 1].revents != 0);
		if (later_inbox_has(worker->inbox)) {
			udp_send_later(worker);
		}
		if (polls[count].revents != 0) {
			serve_rest(worker);
			udp_send_later(worker);
			return;
		}
		more = false;
		size_t requests = 0;
		for (size_t i = 0; i < count && ready > 0; i++) {
			if (polls[i].revents != 0) {
				bool busy = true;
				for (unsigned turn = 0; busy && turn < TURNS_MAX; turn++) {
					busy = serve_socket(worker, &worker->sockets[i], &requests);
				}
				more |= busy;
			}
		}
		uint32_t nap_us = pace_turn(&udp->pace, sys_clock_ns() / 1000, requests);
		if (nap_us > 0 && !more) { /* stop_fd waits as long */
			(void)nanosleep(&(struct timespec){ .tv_nsec = (long)nap_us * 1000 }, NULL);
		}
	}
}
