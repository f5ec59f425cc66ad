/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/priv_helper.h"

#include "xdp/attach.h"
#include "xdp/forwarding.h"
#include "xdp/frame.h"
#include "xdp/iface.h"
#include "xdp/priv_caps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/** What the helper holds. */
typedef struct {
	priv_policy_t policy;
	kxdp_forwarding_t forwarding;
	struct {
		bool open;
		bool forwards; /* holds `forwarding` */
		kxdp_attach_t attach;
	} ifaces[PRIV_IFACES_MAX];
} helper_t;

static helper_t helper;

static void add_fd(priv_answer_t *answer, int fd)
{
	answer->fds[answer->reply.fd_count++] = fd;
}

/* The answer's descriptors are closed after sending: a copy of one that stays. */
static bool add_copy(priv_answer_t *answer, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy >= 0) {
		add_fd(answer, copy);
	}
	return copy >= 0;
}

static kxdp_attach_t *helper_find_iface(helper_t *h, uint32_t iface, kxdp_fault_t *ret_fault)
{
	if (!h->ifaces[iface].open) {
		(void)kxdp_fault(ret_fault, KNOT_EINVAL, "interface %u is not open", iface);
		return NULL;
	}
	return &h->ifaces[iface].attach;
}

/* ---- Interfaces ---- */

static void helper_follow_route_check(helper_t *h, uint32_t iface, bool wanted)
{
	if (wanted && !h->ifaces[iface].forwards) {
		kxdp_forwarding_hold(&h->forwarding);
	} else if (!wanted && h->ifaces[iface].forwards) {
		kxdp_forwarding_release(&h->forwarding);
	}
	h->ifaces[iface].forwards = wanted;
}

static void helper_close_iface(helper_t *h, uint32_t iface)
{
	kxdp_detach(&h->ifaces[iface].attach);
	helper_follow_route_check(h, iface, false);
	h->ifaces[iface].open = false;
}

static knot_err_t act_open(void *state, const priv_open_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	helper_t *h = state;
	uint32_t iface = 0;
	while (iface < PRIV_IFACES_MAX && h->ifaces[iface].open) {
		iface++;
	}
	if (iface == PRIV_IFACES_MAX) {
		return kxdp_fault(ret_fault, KNOT_ESPACE, "no more than %d interfaces", PRIV_IFACES_MAX);
	}
	/* Before the program asks for routes. */
	bool route_check = (request->config.flags & PRIV_CONFIG_ROUTE_CHECK) != 0;
	helper_follow_route_check(h, iface, route_check);
	kxdp_attach_t *attach = &h->ifaces[iface].attach;
	knot_err_t err = kxdp_attach(request, attach, ret_fault);
	if (err != KNOT_OK) {
		helper_follow_route_check(h, iface, false);
		return err;
	}
	h->ifaces[iface].open = true;
	if (!add_copy(answer, attach->counts_fd) || !add_copy(answer, attach->rules_fd) ||
			(attach->link_fd >= 0 && !add_copy(answer, attach->link_fd))) {
		err = kxdp_fault_errno(ret_fault, errno, attach->name, "passing descriptors");
		helper_close_iface(h, iface);
		return err;
	}
	answer->reply.u.opened = (priv_opened_t){
		.iface = iface,
		.index = attach->index,
		.queue_max = attach->queue_max,
		.flags = (attach->native ? PRIV_OPENED_NATIVE : 0) | (attach->shared != NULL ? PRIV_OPENED_SHARED : 0),
	};
	return KNOT_OK;
}

static knot_err_t act_configure(
		void *state, const priv_configure_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)answer;
	helper_t *h = state;
	kxdp_attach_t *attach = helper_find_iface(h, request->iface, ret_fault);
	if (attach == NULL) {
		return KNOT_EINVAL;
	}
	bool before = h->ifaces[request->iface].forwards;
	bool wanted = (request->config.flags & PRIV_CONFIG_ROUTE_CHECK) != 0;
	/* On before the program asks for routes, off after it has ceased to. */
	helper_follow_route_check(h, request->iface, before || wanted);
	knot_err_t err = kxdp_attach_configure(attach, &request->config, ret_fault);
	helper_follow_route_check(h, request->iface, err == KNOT_OK ? wanted : before);
	return err;
}

static knot_err_t act_close(void *state, const priv_close_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)answer;
	if (helper_find_iface(state, request->iface, ret_fault) == NULL) {
		return KNOT_EINVAL;
	}
	helper_close_iface(state, request->iface);
	return KNOT_OK;
}

static knot_err_t act_queue(void *state, const priv_queue_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	kxdp_attach_t *attach = helper_find_iface(state, request->iface, ret_fault);
	if (attach == NULL) {
		return KNOT_EINVAL;
	}
	kxdp_socket_t s;
	knot_err_t err = kxdp_attach_queue(attach, request, &s, ret_fault);
	if (err != KNOT_OK) {
		return err;
	}
	add_fd(answer, s.fd);
	add_fd(answer, s.memory_fd);
	answer->reply.u.socket = (priv_socket_t){ .memory_len = s.memory_len, .frame_count = s.frame_count };
	return KNOT_OK;
}

static knot_err_t act_start(void *state, const priv_start_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)answer;
	kxdp_attach_t *attach = helper_find_iface(state, request->iface, ret_fault);
	return attach == NULL ? KNOT_EINVAL : kxdp_attach_start(attach, request, ret_fault);
}

static knot_err_t act_rule_set(
		void *state, const priv_rule_set_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	kxdp_attach_t *attach = helper_find_iface(state, request->iface, ret_fault);
	return attach == NULL ? KNOT_EINVAL : kxdp_attach_rule_set(attach, request, &answer->reply.u.rule, ret_fault);
}

static knot_err_t act_rule_remove(
		void *state, const priv_rule_remove_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	kxdp_attach_t *attach = helper_find_iface(state, request->iface, ret_fault);
	return attach == NULL ? KNOT_EINVAL
			      : kxdp_attach_rule_remove(attach, request, &answer->reply.u.rule, ret_fault);
}

static knot_err_t act_know(void *state, const priv_know_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)answer;
	kxdp_attach_t *attach = helper_find_iface(state, request->iface, ret_fault);
	return attach == NULL ? KNOT_EINVAL : kxdp_attach_know(attach, request, ret_fault);
}

static knot_err_t act_host(void *state, const priv_host_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)answer;
	kxdp_attach_t *attach = helper_find_iface(state, request->iface, ret_fault);
	return attach == NULL ? KNOT_EINVAL : kxdp_attach_host(attach, request, ret_fault);
}

/* ---- Sockets ---- */

static bool set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

static socklen_t address_of(const priv_bind_t *request, kxdp_addr_t *ret_addr)
{
	*ret_addr = (kxdp_addr_t){ 0 };
	if (request->family == AF_INET) {
		ret_addr->in.sin_family = AF_INET;
		ret_addr->in.sin_port = htons(request->port);
		memcpy(&ret_addr->in.sin_addr, request->addr, sizeof(ret_addr->in.sin_addr));
		return sizeof(ret_addr->in);
	}
	ret_addr->in6.sin6_family = AF_INET6;
	ret_addr->in6.sin6_port = htons(request->port);
	ret_addr->in6.sin6_scope_id = request->scope;
	memcpy(&ret_addr->in6.sin6_addr, request->addr, sizeof(ret_addr->in6.sin6_addr));
	return sizeof(ret_addr->in6);
}

/* Returns 0 or an errno value. */
static int bind_steps(int fd, const priv_bind_t *request, uint32_t *ret_nonlocal)
{
	kxdp_addr_t addr;
	socklen_t len = address_of(request, &addr);
	bool ipv6 = request->family == AF_INET6;
	size_t device_len = strlen(request->device);
	if ((ipv6 && !set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) ||
			(request->type == SOCK_STREAM && !set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1)) ||
			(request->reuseport != 0 && !set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1)) ||
			(device_len > 0 && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, request->device,
							   (socklen_t)device_len) != 0)) {
		return errno;
	}
	if (bind(fd, &addr.sa, len) == 0) {
		return 0;
	}
	if (errno != EADDRNOTAVAIL ||
			!set_int(fd, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_FREEBIND : IP_FREEBIND, 1) ||
			bind(fd, &addr.sa, len) != 0) {
		return errno;
	}
	*ret_nonlocal = 1;
	return 0;
}

static knot_err_t act_bind(void *state, const priv_bind_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)state;
	int fd = socket(request->family, request->type | SOCK_CLOEXEC, 0);
	int errnum = fd < 0 ? errno : bind_steps(fd, request, &answer->reply.u.nonlocal);
	if (errnum == 0) {
		add_fd(answer, fd);
		return KNOT_OK;
	}
	if (fd >= 0) {
		close(fd);
	}
	return kxdp_fault(ret_fault, knot_err_of_errno(errnum), "%s", strerrordesc_np(errnum));
}

static knot_err_t act_raw(void *state, const priv_raw_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)
{
	(void)state;
	bool ipv6 = request->family == AF_INET6;
	struct sock_filter nothing = { BPF_RET | BPF_K, 0, 0, 0 };
	const struct sock_fprog filter = { .len = 1, .filter = &nothing };
	int fd = socket((int)request->family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &(int){ 1 }, sizeof(int)) == 0 &&
			set_int(fd, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_HDRINCL : IP_HDRINCL, 1)) {
		add_fd(answer, fd);
		return KNOT_OK;
	}
	int errnum = errno;
	if (fd >= 0) {
		close(fd);
	}
	return kxdp_fault(ret_fault, knot_err_of_errno(errnum), "opening a raw socket: %s", strerrordesc_np(errnum));
}

#define ACTION(constant, name, what) .name = act_##name,
static const priv_actions_t actions = { PRIV_REQUESTS(ACTION) };

/* ---- The process ---- */

/* What a terminal or a service manager sends to all of the daemon's processes is meant for the daemon. */
static void helper_ignore_signals(void)
{
	static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM };
	for (size_t i = 0; i < KNOT_LEN(numbers); i++) {
		(void)signal(numbers[i], SIG_IGN);
	}
	sigset_t none;
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Close all of the daemon's descriptors but standard error, which sanitizers and assertions write to. Close that, too,
 * when the daemon leaves its terminal: the process that started it may wait for the end of its output. Returns the new
 * number of `fd`, which may be any: that of a standard stream if the daemon was started without one. -1: no room.
 */
static int helper_keep_only(int fd, bool detached)
{
	enum { KEPT = STDERR_FILENO + 1 };
	if (fd < KEPT) {
		detached |= fd == STDERR_FILENO; /* there is none, then */
		fd = fcntl(fd, F_DUPFD_CLOEXEC, KEPT);
	}
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		if (detached) {
			(void)dup2(null, STDERR_FILENO);
		}
	}
	if (fd > KEPT) {
		fd = dup3(fd, KEPT, O_CLOEXEC);
	}
	if (close_range(KEPT + 1, ~0U, 0) != 0) { /* Linux 5.9 */
		struct rlimit limit;
		int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
		for (int i = KEPT + 1; i < end; i++) {
			close(i);
		}
	}
	return fd;
}

static void helper_set_name(char **argv)
{
	static const char name[] = "knotd: privileged helper";
	(void)prctl(PR_SET_NAME, "knotd-priv", 0, 0, 0);
	if (argv == NULL || argv[0] == NULL) {
		return;
	}
	/* The kernel lays the strings out one behind the other. */
	char *end = argv[0];
	for (size_t i = 0; argv[i] == end; i++) {
		end += strlen(argv[i]) + 1;
	}
	size_t room = (size_t)(end - argv[0]);
	memset(argv[0], 0, room);
	memcpy(argv[0], name, room > sizeof(name) ? sizeof(name) : room - 1);
}

static bool helper_send_answer(int fd, const priv_answer_t *answer)
{
	struct iovec data = { .iov_base = (void *)(uintptr_t)&answer->reply, .iov_len = sizeof(answer->reply) };
	union {
		struct cmsghdr header; /* for alignment */
		char room[CMSG_SPACE(PRIV_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	size_t fds_len = answer->reply.fd_count * sizeof(int);
	if (fds_len > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(fds_len);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(fds_len)
		};
		memcpy(CMSG_DATA(header), answer->fds, fds_len);
	}
	ssize_t sent;
	do {
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)sizeof(answer->reply);
}

/* False: the other end is gone. */
static bool helper_serve_one(int fd)
{
	static uint8_t message[sizeof(priv_request_t) + 1];
	ssize_t len = recv(fd, message, sizeof(message), 0);
	if (len < 0 && errno == EINTR) {
		return true;
	}
	if (len <= 0) {
		return false;
	}
	priv_answer_t answer;
	kxdp_priv_serve(&actions, &helper, &helper.policy, message, (size_t)len, &answer);
	if (answer.reply.err != KNOT_OK) {
		for (uint32_t i = 0; i < answer.reply.fd_count; i++) {
			close(answer.fds[i]);
		}
		answer.reply.fd_count = 0;
	}
	bool sent = helper_send_answer(fd, &answer);
	/* The daemon has them now: what it closes is closed. */
	for (uint32_t i = 0; i < answer.reply.fd_count; i++) {
		close(answer.fds[i]);
	}
	return sent;
}

_Noreturn void kxdp_priv_helper(int fd, const priv_policy_t *policy, char **argv, bool detached)
{
	helper_ignore_signals();
	fd = helper_keep_only(fd, detached);
	helper_set_name(argv);
	kxdp_caps_limit();
	if (chdir("/") != 0) {
		/* The folder stays in use, which only keeps it from being unmounted. */
	}
	helper.policy = *policy;
	while (fd >= 0 && helper_serve_one(fd)) {}
	for (uint32_t i = 0; i < PRIV_IFACES_MAX; i++) {
		if (helper.ifaces[i].open) {
			helper_close_iface(&helper, i);
		}
	}
	_exit(0);
}
