/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/exchange/exchange.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>

socklen_t exchange_address_len(const exchange_address_t *address)
{
	switch (address->sa.sa_family) {
	case AF_INET: return sizeof(address->in);
	case AF_INET6: return sizeof(address->in6);
	case AF_UNIX: {
		size_t len = strnlen(address->un.sun_path, sizeof(address->un.sun_path));
		return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (len < sizeof(address->un.sun_path)));
	}
	default: return sizeof(sa_family_t);
	}
}

void exchange_address_print(const exchange_address_t *address, char ret_text[static EXCHANGE_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "", zone[IF_NAMESIZE + 1] = "";
	ret_text[0] = '\0';
	if (address->sa.sa_family == AF_UNIX) {
		int len = (int)strnlen(address->un.sun_path, sizeof(address->un.sun_path));
		(void)snprintf(ret_text, EXCHANGE_TEXT_MAX, "%.*s", len, address->un.sun_path);
	} else if (address->sa.sa_family == AF_INET) {
		(void)inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof(host));
		(void)snprintf(ret_text, EXCHANGE_TEXT_MAX, "%s@%u", host, ntohs(address->in.sin_port));
	} else if (address->sa.sa_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof(host));
		if (address->in6.sin6_scope_id != 0 && if_indextoname(address->in6.sin6_scope_id, zone + 1) != NULL) {
			zone[0] = '%';
		}
		(void)snprintf(ret_text, EXCHANGE_TEXT_MAX, "%s%s@%u", host, zone, ntohs(address->in6.sin6_port));
	}
}
