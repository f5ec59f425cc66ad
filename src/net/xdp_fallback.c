/* SPDX-License-Identifier: BSD-2-Clause */
/* Ordinary sockets in place of XDP, for as long as an interface can't have it. */
#include "src/net/interfaces.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

#include "src/sys/log.h"

enum {
	FALLBACK_MAX = 64, /* addresses of one interface */
};

static void add_address(conf_addr_t *addrs, size_t *count, const sockets_t *main, const struct sockaddr *sa,
		uint16_t port, const char *ifname)
{
	conf_addr_t addr = { 0 };
	if (sa->sa_family == AF_INET) {
		addr.len = sizeof(struct sockaddr_in);
		memcpy(&addr.ss, sa, addr.len);
		((struct sockaddr_in *)&addr.ss)->sin_port = htons(port);
	} else {
		addr.len = sizeof(struct sockaddr_in6);
		memcpy(&addr.ss, sa, addr.len);
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr.ss;
		in6->sin6_port = htons(port);
		in6->sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) ? if_nametoindex(ifname) : 0;
	}
	for (size_t i = 0; i < *count; i++) {
		if (memcmp(&addrs[i].ss, &addr.ss, sizeof(addr.ss)) == 0) {
			return;
		}
	}
	if (!sockets_serves(main, &addr) && *count < FALLBACK_MAX) {
		addrs[(*count)++] = addr;
	}
}

/* Addresses that sockets have to serve: those of the listens, or each address of the interface. False: can't look. */
static bool fallback_addresses(
		const interfaces_t *set, const xdp_want_t *want, conf_addr_t *addrs, size_t *ret_count, bool *ret_any)
{
	size_t count = 0;
	struct ifaddrs *all = NULL;
	if (getifaddrs(&all) != 0) {
		return false;
	}
	*ret_any = false;
	for (size_t i = 0; i < want->listen_count; i++) {
		const kxdp_listen_t *listen = &want->listens[i];
		if (listen->addr.ss_family != AF_UNSPEC) {
			*ret_any = true;
			add_address(addrs, &count, set->main, (const struct sockaddr *)&listen->addr, listen->port,
					want->ifname);
			continue;
		}
		for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next) {
			if (a->ifa_addr != NULL && strcmp(a->ifa_name, want->ifname) == 0 &&
					(a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6)) {
				*ret_any = true;
				add_address(addrs, &count, set->main, a->ifa_addr, listen->port, want->ifname);
			}
		}
	}
	freeifaddrs(all);
	*ret_count = count;
	return true;
}

/* Only one of the two groups can have an address when they are two users': at the start that was another one. */
static knot_err_t replace_sockets(interfaces_t *set, xdp_interface_t *item, const conf_addr_t *addrs, size_t count,
		sockets_t **io_made) SYS_REQUIRES(set->change)
{
	sockets_free(*io_made);
	sys_mutex_lock(&set->look);
	sockets_t *old = item->sockets;
	item->sockets = NULL;
	sys_mutex_unlock(&set->look);
	sockets_free(old);
	return sockets_new(set->shared, &set->fallback, addrs, count, io_made);
}

knot_err_t interfaces_follow_sockets(interfaces_t *set, xdp_interface_t *item, const xdp_want_t *want, bool news)
{
	conf_addr_t addrs[FALLBACK_MAX] = { 0 };
	bool any = true;
	size_t count = 0;
	if (item->iface == NULL && !fallback_addresses(set, want, addrs, &count, &any)) {
		return KNOT_OK; /* the next time */
	}
	if (!any && news) {
		log_server(LOG_WARNING, "interface %s has no address to bind sockets to instead of XDP", want->ifname);
	}
	if (sockets_same(item->sockets, addrs, count)) {
		return KNOT_OK;
	}
	sockets_t *made = NULL;
	knot_err_t err = KNOT_OK;
	if (count > 0) {
		err = sockets_new(set->shared, &set->fallback, addrs, count, &made);
		if (err == KNOT_EADDRINUSE && item->sockets != NULL) {
			err = replace_sockets(set, item, addrs, count, &made);
		}
		if (made != NULL && set->started) {
			knot_err_t started = sockets_start(made);
			err = err == KNOT_OK ? started : err;
		}
		if (made == NULL) {
			return err;
		}
	} else {
		log_server(LOG_INFO, "closing the sockets that served instead of XDP for %s", want->text);
	}
	sys_mutex_lock(&set->look);
	sockets_t *old = item->sockets;
	item->sockets = made;
	sys_mutex_unlock(&set->look);
	sockets_free(old);
	return err;
}
