/* SPDX-License-Identifier: BSD-2-Clause */
/* Warnings of answers that AF_XDP could not send. Looks at the machine's interfaces; one that is not there may come
 * later. */
#include "src/conf/fault.h"
#include "src/conf/load.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	XDP_MTU = 1790, /* what Knot's frames hold */
	ETHERNET = 18,  /* header with a VLAN tag */
	IPV4 = 20,
	IPV6 = 40,
	UDP = 8,
};

/** True if the largest answer, with headers and `more` bytes, has at most that many bytes. */
static bool fits(const conf_server_t *server, unsigned more, unsigned max)
{
	return server->udp_payload_max_ipv4 + IPV4 + UDP + more <= max &&
	       server->udp_payload_max_ipv6 + IPV6 + UDP + more <= max;
}

static bool same_ip(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	if (a == NULL || a->sa_family != b->ss_family) {
		return false;
	}
	return a->sa_family == AF_INET
			       ? ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
						 ((const struct sockaddr_in *)b)->sin_addr.s_addr
			       : a->sa_family == AF_INET6 &&
						 IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
								 &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/** Name of the interface that is meant; false: none has the address. */
static bool find_name(const conf_xdp_listen_t *listen, char ret_name[static IF_NAMESIZE])
{
	if (listen->ifname[0] != '\0') {
		(void)snprintf(ret_name, IF_NAMESIZE, "%s", listen->ifname);
		return true;
	}
	struct ifaddrs *all;
	if (getifaddrs(&all) != 0) {
		return false;
	}
	const struct ifaddrs *one = all;
	while (one != NULL && !same_ip(one->ifa_addr, &listen->addr)) {
		one = one->ifa_next;
	}
	if (one != NULL) {
		(void)snprintf(ret_name, IF_NAMESIZE, "%s", one->ifa_name);
	}
	freeifaddrs(all);
	return one != NULL;
}

/** 0: not known. */
static unsigned mtu_of(const char *name)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return 0;
	}
	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	int status = ioctl(fd, SIOCGIFMTU, &request);
	(void)close(fd);
	return status == 0 && request.ifr_mtu > 0 ? (unsigned)request.ifr_mtu : 0;
}

void conf_check_xdp_payload(const conf_t *conf, conf_sink_t sink)
{
	const conf_place_t place = { .file = conf->path };
	if (conf->xdp.listen.count > 0 && !fits(&conf->server, ETHERNET, XDP_MTU)) {
		(void)conf_tell_text(sink, CONF_WARNING, KNOT_OK, &place, NULL,
				"config, maximum UDP payload not compatible with XDP MTU (%u)", XDP_MTU);
	}
	for (size_t i = 0; i < conf->xdp.listen.count; i++) {
		char name[IF_NAMESIZE];
		unsigned mtu = find_name(&conf->xdp.listen.data[i], name) ? mtu_of(name) : 0;
		if (mtu > 0 && !fits(&conf->server, 0, mtu)) {
			(void)conf_tell_text(sink, CONF_WARNING, KNOT_OK, &place, NULL,
					"config, maximum UDP payload not compatible with MTU of interface %s", name);
		}
	}
}
