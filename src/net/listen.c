/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/listen.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/sys/limits.h"
#include "src/sys/log.h"

bool listen_is_wildcard(const conf_addr_t *addr)
{
	if (addr->ss.ss_family == AF_INET) {
		return ((const struct sockaddr_in *)&addr->ss)->sin_addr.s_addr == htonl(INADDR_ANY);
	}
	return addr->ss.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)&addr->ss)->sin6_addr);
}

bool listen_dgram_addr(const conf_addr_t *addr, conf_addr_t *ret_addr)
{
	*ret_addr = *addr;
	if (addr->ss.ss_family != AF_UNIX) {
		return true;
	}
	struct sockaddr_un *un = (struct sockaddr_un *)&ret_addr->ss;
	size_t len = strnlen(un->sun_path, sizeof(un->sun_path));
	if (len + sizeof(LISTEN_DGRAM_SUFFIX) > sizeof(un->sun_path)) {
		return false;
	}
	memcpy(un->sun_path + len, LISTEN_DGRAM_SUFFIX, sizeof(LISTEN_DGRAM_SUFFIX));
	ret_addr->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + sizeof(LISTEN_DGRAM_SUFFIX));
	return true;
}

bool listen_is_served(const struct sockaddr_un *addr, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return false;
	}
	/* EAGAIN: its queue is full. EPROTOTYPE: a socket of another type. EPERM: it has a peer, and takes no other. */
	bool is_served = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN ||
			 errno == EPROTOTYPE || errno == EPERM;
	close(fd);
	return is_served;
}

void listen_unlink(const conf_addr_t *addr)
{
	struct stat info;
	if (addr->ss.ss_family == AF_UNIX) {
		const char *path = ((const struct sockaddr_un *)&addr->ss)->sun_path;
		if (lstat(path, &info) == 0 && S_ISSOCK(info.st_mode)) {
			unlink(path);
		}
	}
}

listen_accept_t listen_accept_after(int err)
{
	switch (err) {
	case EAGAIN: return LISTEN_ACCEPT_LATER;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM: return LISTEN_ACCEPT_PAUSE;
	default: return LISTEN_ACCEPT_NEXT;
	}
}

static knot_err_t set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

/* What must be set before the address is bound. */
static knot_err_t set_common(int fd, const conf_addr_t *addr, listen_options_t options)
{
	int family = addr->ss.ss_family;
	knot_err_t err = KNOT_OK;
	if (family == AF_INET6) {
		err = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	}
	if (err == KNOT_OK && family != AF_UNIX && options.reuseport) {
		err = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	}
	if (err == KNOT_OK && addr->device[0] != '\0' &&
			setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, addr->device, (socklen_t)strlen(addr->device)) !=
					0) {
		err = knot_err_of_errno(errno);
	}
	return err;
}

static knot_err_t set_udp(int fd, const conf_addr_t *addr)
{
	/* Bursts of a loaded server; the kernel cuts it to net.core.{r,w}mem_max. */
	(void)set_int(fd, SOL_SOCKET, SO_RCVBUF, 4 << 20);
	(void)set_int(fd, SOL_SOCKET, SO_SNDBUF, 4 << 20);
	/* A full send buffer is the link's pace; but a worker must not hang on a dead one. */
	struct timeval send_max = { .tv_usec = 100000 };
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &send_max, sizeof(send_max));
	int family = addr->ss.ss_family;
	knot_err_t err = KNOT_OK;
	/* A forged "fragmentation needed" must not shrink our packets: ignore the path MTU. */
	if (family == AF_INET) {
		(void)set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT);
		err = listen_is_wildcard(addr) ? set_int(fd, IPPROTO_IP, IP_PKTINFO, 1) : KNOT_OK;
	} else if (family == AF_INET6) {
		(void)set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_OMIT);
		err = listen_is_wildcard(addr) ? set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) : KNOT_OK;
	}
	return err;
}

static knot_err_t set_tcp(int fd, const conf_addr_t *addr)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
		return knot_err_of_errno(errno);
	}
	if (addr->ss.ss_family == AF_UNIX) {
		return KNOT_OK;
	}
	knot_err_t err = set_int(fd, IPPROTO_TCP, TCP_MAXSEG, NET_TCP_MSS);
	if (err == KNOT_OK) {
		err = set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	}
	if (err == KNOT_OK) {
		err = set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NET_TCP_NOTSENT_MAX);
	}
	return err;
}

/* Bind, also to an address that no interface has yet. */
static knot_err_t bind_to(int fd, const conf_addr_t *addr, int type, bool *ret_nonlocal)
{
	*ret_nonlocal = false;
	if (addr->ss.ss_family == AF_UNIX) {
		if (listen_is_served((const struct sockaddr_un *)&addr->ss, type)) {
			return KNOT_EADDRINUSE;
		}
		listen_unlink(addr); /* a server that was killed left the file behind */
	}
	if (bind(fd, (const struct sockaddr *)&addr->ss, addr->len) == 0) {
		return KNOT_OK;
	}
	if (errno != EADDRNOTAVAIL) {
		return knot_err_of_errno(errno);
	}
	int err = errno;
	bool v6 = addr->ss.ss_family == AF_INET6;
	if (set_int(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND, 1) != KNOT_OK ||
			bind(fd, (const struct sockaddr *)&addr->ss, addr->len) != 0) {
		return knot_err_of_errno(errno == EACCES ? EACCES : err); /* the address was in the way of the port */
	}
	*ret_nonlocal = true;
	return KNOT_OK;
}

static knot_err_t set_kind(int fd, const conf_addr_t *addr, int type)
{
	return type == SOCK_DGRAM ? set_udp(fd, addr) : set_tcp(fd, addr);
}

/* A bound socket: made here, or, for a low port after privileges were dropped, by the helper. */
static knot_err_t open_bound(
		const conf_addr_t *addr, int type, listen_options_t options, int *ret_fd, bool *ret_nonlocal)
{
	int fd = socket(addr->ss.ss_family, type | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	*ret_fd = fd;
	knot_err_t err = set_common(fd, addr, options);
	if (err == KNOT_OK && type == SOCK_STREAM && addr->ss.ss_family != AF_UNIX) {
		/* Connections in TIME-WAIT must not keep a restarted server from binding. */
		err = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	}
	err = err == KNOT_OK ? set_kind(fd, addr, type) : err;
	err = err == KNOT_OK ? bind_to(fd, addr, type, ret_nonlocal) : err;
	if (err == KNOT_EACCES && options.priv != NULL && addr->ss.ss_family != AF_UNIX) {
		kxdp_fault_t fault;
		kxdp_bind_t bind = {
			.type = type,
			.addr = (const struct sockaddr *)&addr->ss,
			.reuseport = options.reuseport,
		};
		memcpy(bind.device, addr->device, sizeof(bind.device));
		close(fd);
		*ret_fd = -1;
		err = kxdp_priv_bind(options.priv, &bind, ret_fd, ret_nonlocal, &fault);
		err = err == KNOT_OK ? set_kind(*ret_fd, addr, type) : err;
	}
	return err;
}

static knot_err_t open_socket(const conf_addr_t *addr, int type, listen_options_t options, bool quiet, int *ret_fd)
{
	const char *proto = type == SOCK_DGRAM ? "UDP" : "TCP";
	bool nonlocal = false;
	int fd = -1;
	knot_err_t err = open_bound(addr, type, options, &fd, &nonlocal);
	if (err == KNOT_OK && type == SOCK_STREAM && listen(fd, NET_TCP_LISTEN_BACKLOG) != 0) {
		err = knot_err_of_errno(errno);
	}
	char text[CONF_ADDR_TEXT_MAX];
	conf_addr_print(addr, text);
	if (err != KNOT_OK) {
		if (!options.silent) {
			bool is_ip = addr->ss.ss_family != AF_UNIX;
			bool is_denied = is_ip && (err == KNOT_EACCES || err == KNOT_EPERM);
			bool is_taken = is_ip && err == KNOT_EADDRINUSE;
			log_server(LOG_ERR, "cannot bind address %s %s (%s)%s", text, proto, knot_strerror(err),
					is_denied  ? ", ports below 1024 need CAP_NET_BIND_SERVICE"
					: is_taken ? ", 'ss -lntup' shows the program that uses it"
						   : "");
		}
		if (fd >= 0) {
			close(fd);
		}
		return err;
	}
	if (nonlocal && !quiet) {
		log_server(LOG_WARNING, "address %s %s bound, but required nonlocal bind", text, proto);
	}
	*ret_fd = fd;
	return KNOT_OK;
}

knot_err_t listen_udp(const conf_addr_t *addr, listen_options_t options, bool quiet, int *ret_fd)
{
	conf_addr_t dgram;
	if (!listen_dgram_addr(addr, &dgram)) {
		char text[CONF_ADDR_TEXT_MAX];
		log_server(LOG_ERR, "cannot bind address %s UDP (path too long)", conf_addr_print(addr, text));
		return KNOT_ESPACE;
	}
	return open_socket(&dgram, SOCK_DGRAM, options, quiet, ret_fd);
}

knot_err_t listen_tcp(const conf_addr_t *addr, listen_options_t options, bool quiet, int *ret_fd)
{
	return open_socket(addr, SOCK_STREAM, options, quiet, ret_fd);
}
