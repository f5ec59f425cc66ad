/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/priv.h"

#include "xdp/iface.h"
#include "xdp/priv_call.h"
#include "xdp/priv_caps.h"
#include "xdp/priv_helper.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	REPLY_MAX_S = 30, /* opening waits up to a second for what the kernel releases late, a few times */
	END_POLL_MS = 5,
	END_MAX_MS = 5000,
};

struct kxdp_priv {
	pthread_mutex_t lock; /* one request at a time; covers `fd` and `pid` */
	int fd;               /* owned; -1: the helper has ended */
	pid_t pid;            /* -1: waited for */
	priv_policy_t policy; /* the helper's, which was forked with it */
};

static priv_policy_t priv_make_policy(const kxdp_priv_params_t *params)
{
	enum { PORT_DNS = 53, PORT_DNS_OVER_TLS = 853 };
	priv_policy_t policy = { 0 };
	kxdp_priv_policy_allow(&policy, PORT_DNS);
	kxdp_priv_policy_allow(&policy, PORT_DNS_OVER_TLS);
	for (size_t i = 0; i < params->port_count; i++) {
		kxdp_priv_policy_allow(&policy, params->ports[i]);
	}
	return policy;
}

knot_err_t kxdp_priv_start(const kxdp_priv_params_t *params, kxdp_priv_t **ret_priv, kxdp_fault_t *ret_fault)
{
	if (!kxdp_caps_any()) {
		return kxdp_fault_errno(ret_fault, EPERM, "", "starting the privileged helper");
	}
	kxdp_priv_t *priv = malloc(sizeof(*priv));
	int fds[2];
	if (priv == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
		int errnum = priv == NULL ? ENOMEM : errno;
		free(priv);
		return kxdp_fault_errno(ret_fault, errnum, "", "starting the privileged helper");
	}
	*priv = (kxdp_priv_t){ .fd = fds[0], .policy = priv_make_policy(params) };
	pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		kxdp_priv_helper(fds[1], &priv->policy, params->argv, params->detached);
	}
	close(fds[1]);
	if (pid < 0) {
		int errnum = errno;
		close(fds[0]);
		free(priv);
		return kxdp_fault_errno(ret_fault, errnum, "", "starting the privileged helper");
	}
	const struct timeval reply_max = { .tv_sec = REPLY_MAX_S };
	(void)setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &reply_max, sizeof(reply_max));
	priv->pid = pid;
	pthread_mutex_init(&priv->lock, NULL);
	*ret_priv = priv;
	return KNOT_OK;
}

/* The helper has ended, or is asked to by this: it sees the end of the pair. With the lock held. */
static void priv_release_helper(kxdp_priv_t *priv)
{
	if (priv->fd >= 0) {
		close(priv->fd);
		priv->fd = -1;
	}
	if (priv->pid > 0 && waitpid(priv->pid, NULL, WNOHANG) != 0) {
		priv->pid = -1;
	}
}

/*
 * The helper doesn't react: it is stopped, or stuck in the kernel. Left alone it would keep the kernel program attached
 * after this process, and the next one would find the interface taken. A helper that runs as root stays if this process
 * has given that up: it may not be killed then. With the lock held.
 */
static void priv_kill_helper(const kxdp_priv_t *priv)
{
	if (priv->pid > 0) {
		(void)kill(priv->pid, SIGKILL); /* not waited for yet, so the number is its own still */
	}
}

void kxdp_priv_stop(kxdp_priv_t *take_priv)
{
	kxdp_priv_t *priv = take_priv;
	if (priv == NULL) {
		return;
	}
	priv_release_helper(priv);
	const struct timespec pause = { .tv_nsec = END_POLL_MS * 1000000L };
	for (unsigned ms = 0; priv->pid > 0 && ms < 2 * END_MAX_MS; ms += END_POLL_MS) {
		if (ms == END_MAX_MS) {
			priv_kill_helper(priv);
		}
		nanosleep(&pause, NULL);
		priv_release_helper(priv);
	}
	pthread_mutex_destroy(&priv->lock);
	free(priv);
}

bool kxdp_priv_alive(kxdp_priv_t *priv)
{
	if (priv == NULL) {
		return false;
	}
	if (pthread_mutex_trylock(&priv->lock) != 0) {
		return true; /* a request runs, and finds out */
	}
	struct pollfd pfd = { .fd = priv->fd };
	if (priv->fd >= 0 && poll(&pfd, 1, 0) > 0) {
		priv_release_helper(priv); /* nothing was asked for: only the end is reported */
	}
	bool alive = priv->fd >= 0;
	pthread_mutex_unlock(&priv->lock);
	return alive;
}

knot_err_t kxdp_priv_check_port(const kxdp_priv_t *priv, uint16_t port, kxdp_fault_t *ret_fault)
{
	return priv != NULL ? kxdp_priv_policy_check(&priv->policy, port, ret_fault) : KNOT_OK;
}

/* ---- Requests ---- */

static void priv_close_fds(priv_answer_t *answer, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		close(answer->fds[i]);
	}
}

static uint32_t priv_take_fds(struct msghdr *message, int ret_fds[static PRIV_FDS_MAX])
{
	uint32_t count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			count = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(ret_fds, CMSG_DATA(c), count * sizeof(int));
		}
	}
	return count;
}

/* False: the helper has ended, or doesn't reply. */
static bool priv_receive_answer(int fd, priv_answer_t *answer)
{
	struct iovec data = { .iov_base = &answer->reply, .iov_len = sizeof(answer->reply) };
	union {
		struct cmsghdr header; /* for alignment */
		char room[CMSG_SPACE(PRIV_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t len;
	do {
		len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	} while (len < 0 && errno == EINTR);
	if (len <= 0) {
		return false;
	}
	uint32_t count = priv_take_fds(&message, answer->fds);
	if (len != (ssize_t)sizeof(answer->reply)) {
		priv_close_fds(answer, count);
		return false;
	}
	answer->reply.text[sizeof(answer->reply.text) - 1] = '\0';
	if (count != answer->reply.fd_count) { /* we have no room for more descriptors: some are lost */
		priv_close_fds(answer, count);
		answer->reply.err = KNOT_ESPACE;
		snprintf(answer->reply.text, sizeof(answer->reply.text),
				"too many open files; raise LimitNOFILE (ulimit -n)");
	}
	return true;
}

static bool priv_exchange_messages(int fd, const void *request, size_t len, priv_answer_t *answer)
{
	ssize_t sent;
	do {
		sent = send(fd, request, len, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)len && priv_receive_answer(fd, answer);
}

knot_err_t kxdp_priv_call(kxdp_priv_t *priv, const void *request, priv_answer_t *ret_answer, kxdp_fault_t *ret_fault)
{
	if (priv == NULL) {
		return kxdp_fault_errno(ret_fault, EPERM, "", "asking the privileged helper");
	}
	uint32_t kind;
	memcpy(&kind, request, sizeof(kind));
	priv_answer_t answer;
	pthread_mutex_lock(&priv->lock);
	bool answered = priv->fd >= 0 &&
			priv_exchange_messages(priv->fd, request, kxdp_priv_request_len(kind), &answer);
	if (answered && answer.reply.err == KNOT_ESPACE && kind == PRIV_OPEN && answer.reply.fd_count > 0) {
		/* Open, but its descriptors are lost: undo it. */
		const priv_close_t undo = { .kind = PRIV_CLOSE, .iface = answer.reply.u.opened.iface };
		priv_answer_t closed;
		answered = priv_exchange_messages(priv->fd, &undo, sizeof(undo), &closed);
	}
	if (!answered) {
		priv_kill_helper(priv); /* it may have ended by itself; if not, no reply that is late may be taken for
					   another's */
		priv_release_helper(priv);
	}
	pthread_mutex_unlock(&priv->lock);
	if (!answered) {
		return kxdp_fault(ret_fault, KNOT_ECONNCLOSED,
				"the privileged helper has ended; restart the server to change anything");
	}
	if (answer.reply.err != KNOT_OK) {
		return kxdp_fault(ret_fault, (knot_err_t)answer.reply.err, "%s", answer.reply.text);
	}
	*ret_answer = answer;
	return KNOT_OK;
}

knot_err_t kxdp_priv_bind(
		kxdp_priv_t *priv, const kxdp_bind_t *bind, int *ret_fd, bool *ret_nonlocal, kxdp_fault_t *ret_fault)
{
	priv_bind_t request = {
		.kind = PRIV_BIND,
		.family = bind->addr->sa_family,
		.type = (uint16_t)bind->type,
		.reuseport = bind->reuseport,
	};
	if (bind->addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)bind->addr;
		request.port = ntohs(in->sin_port);
		memcpy(request.addr, &in->sin_addr, sizeof(in->sin_addr));
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)bind->addr;
		request.port = ntohs(in6->sin6_port);
		request.scope = in6->sin6_scope_id;
		memcpy(request.addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
	}
	memcpy(request.device, bind->device, strnlen(bind->device, sizeof(request.device) - 1));
	priv_answer_t answer;
	knot_err_t err = kxdp_priv_call(priv, &request, &answer, ret_fault);
	if (err == KNOT_OK) {
		*ret_fd = answer.fds[0];
		*ret_nonlocal = answer.reply.u.nonlocal != 0;
	}
	return err;
}

knot_err_t kxdp_priv_raw_socket(kxdp_priv_t *priv, int family, int *ret_fd, kxdp_fault_t *ret_fault)
{
	const priv_raw_t request = { .kind = PRIV_RAW, .family = (uint32_t)family };
	priv_answer_t answer;
	knot_err_t err = kxdp_priv_call(priv, &request, &answer, ret_fault);
	if (err == KNOT_OK) {
		*ret_fd = answer.fds[0];
	}
	return err;
}
