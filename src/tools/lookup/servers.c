/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/servers.h"

#include "libknot/base/number.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>

static const char resolv_conf[] = "/etc/resolv.conf";

enum { SERVERS_RESOLV_MAX = 3 /* as the C library */ };

static const char *servers_default_port(const lookup_query_t *query)
{
	return query->uses_https && query->uses_tls ? "443" : query->uses_tls || query->uses_quic ? "853" : "53";
}

static bool servers_scan_port(const char *service, uint16_t *ret_port)
{
	uint64_t port;
	if (!knot_number_of(service, 0, UINT16_MAX, &port)) {
		return false;
	}
	*ret_port = (uint16_t)port;
	return true;
}

/* Addresses need no resolver, which reads files of its own. */
static bool servers_from_address(const char *host, const char *service, exchange_address_t *ret_address)
{
	exchange_address_t address = { .storage = { 0 } };
	char plain[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];
	uint16_t port;
	if (!servers_scan_port(service, &port)) {
		return false;
	}
	if (inet_pton(AF_INET, host, &address.in.sin_addr) == 1) {
		address.in.sin_family = AF_INET;
		address.in.sin_port = htons(port);
		*ret_address = address;
		return true;
	}
	if (strlen(host) >= sizeof(plain)) {
		return false;
	}
	memcpy(plain, host, strlen(host) + 1);
	char *scope = strchr(plain, '%');
	if (scope != NULL) {
		*scope++ = '\0';
		address.in6.sin6_scope_id = if_nametoindex(scope);
	}
	if (inet_pton(AF_INET6, plain, &address.in6.sin6_addr) != 1 ||
			(scope != NULL && address.in6.sin6_scope_id == 0)) {
		return false;
	}
	address.in6.sin6_family = AF_INET6;
	address.in6.sin6_port = htons(port);
	*ret_address = address;
	return true;
}

static bool servers_from_path(const lookup_host_t *host, exchange_address_t *ret_address)
{
	exchange_address_t address = { .storage = { 0 } };
	if (host->host_len >= sizeof(address.un.sun_path)) {
		return false;
	}
	address.un.sun_family = AF_UNIX;
	memcpy(address.un.sun_path, host->host, host->host_len);
	*ret_address = address;
	return true;
}

/* Addresses of one host; 0 if there are none, which is said. */
static size_t servers_resolve(lookup_t *lookup, const lookup_host_t *host, const char *port, int family, size_t max,
		exchange_address_t *ret_addresses)
{
	char name[1025];
	const char *service = host->service != NULL ? host->service : port;
	if (host->host_len > 0 && host->host[0] == '/') {
		if (servers_from_path(host, ret_addresses)) {
			return 1;
		}
		lookup_error(lookup, "path is too long for a socket: %.*s", (int)host->host_len, host->host);
		return 0;
	}
	snprintf(name, sizeof(name), "%.*s", (int)host->host_len, host->host);
	if (servers_from_address(name, service, ret_addresses)) {
		return family == AF_UNSPEC || ret_addresses[0].sa.sa_family == family; /* of the other family: nobody */
	}
	const struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found = NULL;
	int result = getaddrinfo(name, service, &hints, &found);
	size_t count = 0;
	if (result != 0) {
		lookup_error(lookup, "%s for %s@%s", gai_strerror(result), name, service);
		return 0;
	}
	for (const struct addrinfo *at = found; at != NULL && count < max; at = at->ai_next) {
		if (at->ai_addrlen <= sizeof(ret_addresses[0])) {
			memset(&ret_addresses[count], 0, sizeof(ret_addresses[0]));
			memcpy(&ret_addresses[count++], at->ai_addr, at->ai_addrlen);
		}
	}
	freeaddrinfo(found);
	return count;
}

/* The servers of resolv.conf; without one, this machine. */
static void servers_read_resolv(lookup_hosts_t *ret_hosts, char room[static SERVERS_RESOLV_MAX * 128])
{
	char line[1024];
	FILE *file = fopen(resolv_conf, "re");
	ret_hosts->count = 0;
	while (file != NULL && ret_hosts->count < SERVERS_RESOLV_MAX && fgets(line, sizeof(line), file) != NULL) {
		char *save = NULL, *word = strtok_r(line, " \t\r\n", &save);
		char *host = word != NULL && strcmp(word, "nameserver") == 0 ? strtok_r(NULL, " \t\r\n", &save) : NULL;
		char *copy = room + ret_hosts->count * 128;
		if (host != NULL && strlen(host) < 128) {
			memcpy(copy, host, strlen(host) + 1);
			if (lookup_scan_host(copy, &ret_hosts->hosts[ret_hosts->count])) {
				ret_hosts->count++;
			}
		}
	}
	if (file != NULL) {
		fclose(file);
	}
	if (ret_hosts->count == 0) {
		ret_hosts->hosts[0] = (lookup_host_t){ "127.0.0.1", 9, NULL };
		ret_hosts->hosts[1] = (lookup_host_t){ "::1", 3, NULL };
		ret_hosts->count = 2;
	}
}

void lookup_servers(const lookup_query_t *query, lookup_hosts_t *ret_hosts)
{
	static lookup_hosts_t resolv;
	static char room[SERVERS_RESOLV_MAX * 128];
	const char *port = query->port != NULL ? query->port : servers_default_port(query);
	lookup_hosts_t url = { .count = 1 };
	bool has_server = query->uses_https && query->uses_tls && query->http_server != NULL &&
			  lookup_scan_host(query->http_server, &url.hosts[0]);
	if (query->servers != NULL) {
		*ret_hosts = *query->servers;
	} else if (has_server) {
		*ret_hosts = url;
	} else {
		if (resolv.count == 0) {
			servers_read_resolv(&resolv, room);
		}
		*ret_hosts = resolv;
	}
	for (size_t i = 0; i < ret_hosts->count; i++) {
		lookup_host_t *host = &ret_hosts->hosts[i];
		host->service = host->service != NULL ? host->service : port;
	}
}

size_t lookup_resolve(lookup_t *lookup, const lookup_query_t *query, const lookup_host_t *host,
		exchange_address_t ret_addresses[static LOOKUP_ADDRESSES_MAX])
{
	return servers_resolve(lookup, host, host->service, query->family, LOOKUP_ADDRESSES_MAX, ret_addresses);
}

bool lookup_local(lookup_t *lookup, const lookup_query_t *query, exchange_address_t *ret_address)
{
	exchange_address_t found[1] = { { .storage = { 0 } } };
	found[0].sa.sa_family = AF_UNSPEC;
	if (query->local.host != NULL && servers_resolve(lookup, &query->local, "0", query->family, 1, found) == 0) {
		return false;
	}
	*ret_address = found[0];
	return true;
}
