/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/control/http_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

enum { HOST_MAX = 255 }; /* bytes of a name; no address is longer */

/* Cut ":port" off. False: what follows the name is no port. */
static bool host_cut_port(char *host)
{
	char *colon = host[0] == '[' ? strchr(host, ']') : host;
	colon = colon != NULL ? strchr(colon, ':') : NULL;
	if (colon == NULL) {
		return true;
	}
	*colon = '\0';
	return strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

static bool host_is_address(char *host)
{
	struct in6_addr address;
	size_t len = strlen(host);
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		host[1 + strcspn(host + 1, "%")] = '\0'; /* a zone of a link-local address, RFC 6874 */
		return inet_pton(AF_INET6, host + 1, &address) == 1;
	}
	return inet_pton(AF_INET, host, &address) == 1;
}

static bool host_is_name(const char *host, const char *name)
{
	size_t len = name != NULL ? strlen(name) : 0;
	len -= len > 0 && name[len - 1] == '.';
	return len > 0 && strlen(host) == len && strncasecmp(host, name, len) == 0;
}

/* localhost, or a name below it: no resolver asks a server for it (RFC 6761 6.3). */
static bool host_is_localhost(const char *host)
{
	static const char local[] = "localhost";
	size_t len = strlen(host), local_len = sizeof(local) - 1;
	return len >= local_len && strcasecmp(host + len - local_len, local) == 0 &&
	       (len == local_len || host[len - local_len - 1] == '.');
}

bool http_host_is_ours(const char *host, const char *const *names, size_t count)
{
	char name[HOST_MAX + sizeof("[]:65535")];
	if (host == NULL) {
		return true;
	}
	size_t len = strlen(host);
	if (len == 0 || len >= sizeof(name)) {
		return false;
	}
	memcpy(name, host, len + 1);
	if (!host_cut_port(name) || name[0] == '\0') {
		return false;
	}
	len = strlen(name);
	if (len > 1 && name[len - 1] == '.') {
		name[len - 1] = '\0';
	}
	bool is_ours = host_is_localhost(name);
	for (size_t i = 0; i < count && !is_ours; i++) {
		is_ours = host_is_name(name, names[i]);
	}
	return is_ours || host_is_address(name);
}
