/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/lint.h"
#include "src/conf/fault.h"
#include "src/conf/schema_rows.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Users ---- */

bool conf_lint_user(const conf_check_value_t *value, conf_lint_result_t *ret_result)
{
	char name[256];
	const char *text = (const char *)value->value.data;
	size_t len = strcspn(text, ":");
	const char *group = text[len] == ':' ? text + len + 1 : NULL;
	(void)snprintf(name, sizeof(name), "%.*s", (int)len, text);
	*ret_result = (conf_lint_result_t){ .severity = CONF_WARNING };
	if (getpwnam(name) == NULL) {
		ret_result->reason = "no such user";
		ret_result->hint = "create it with 'useradd --system', or name an existing one";
	} else if (group != NULL && getgrnam(group) == NULL) {
		ret_result->reason = "no such group";
	}
	return ret_result->reason != NULL;
}

/* ---- Addresses ---- */

/** True for what reads as a host name or an address, but is the path of a UNIX socket: `localhost@53`, `192.0.2.1:53`.
 */
static bool lint_looks_like_host(const char *path)
{
	const char *at = strrchr(path, '@'), *colon = strrchr(path, ':');
	const char *port = at != NULL ? at : colon;
	bool has_port = port != NULL && port[1] != '\0' && strspn(port + 1, "0123456789") == strlen(port + 1);
	return strchr(path, '/') == NULL && path[0] != '\0' &&
	       (has_port || strcasecmp(path, "localhost") == 0 || isdigit((unsigned char)path[0]));
}

static int32_t lint_port(const conf_check_value_t *value, const conf_addr_view_t *addr)
{
	return addr->port == CONF_NO_PORT ? value->row->port : addr->port;
}

static bool lint_same_address(const conf_check_value_t *value, const conf_addr_view_t *a, const conf_addr_view_t *b)
{
	if (a->kind != b->kind) {
		return false;
	}
	if (a->kind == CONF_ADDR_UNIX) {
		return strcmp(a->path, b->path) == 0;
	}
	return memcmp(a->ip, b->ip, a->kind == CONF_ADDR_IPV4 ? 4 : 16) == 0 && strcmp(a->device, b->device) == 0 &&
	       lint_port(value, a) == lint_port(value, b);
}

bool conf_lint_listen(const conf_check_value_t *value, conf_lint_result_t *ret_result)
{
	conf_addr_view_t addr = conf_value_addr(value->value);
	*ret_result = (conf_lint_result_t){ .severity = CONF_WARNING };
	if (addr.kind == CONF_ADDR_UNIX && lint_looks_like_host(addr.path)) {
		ret_result->reason = "not an IP address, makes a UNIX socket of this name";
		ret_result->hint = "write ADDRESS@PORT with an IP address, or a path with a slash";
		return true;
	}
	conf_item_t item;
	size_t row = (size_t)(value->row - value->block.section->rows), pos = 0;
	while (conf_item_next(value->block.items, &pos, &item)) {
		if (item.row != row) {
			continue; /* of another type */
		}
		conf_addr_view_t other = conf_value_addr(item.value);
		if (lint_same_address(value, &addr, &other)) {
			ret_result->reason = "the same address twice";
			return true;
		}
	}
	return false;
}

static bool lint_is_local(const conf_addr_view_t *addr)
{
	struct ifaddrs *all;
	bool is_found = false;
	if (getifaddrs(&all) != 0) {
		return true; /* nothing is known */
	}
	for (const struct ifaddrs *one = all; one != NULL && !is_found; one = one->ifa_next) {
		if (one->ifa_addr == NULL) {
			continue;
		}
		const void *ip4 = &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr;
		const void *ip6 = &((const struct sockaddr_in6 *)(const void *)one->ifa_addr)->sin6_addr;
		is_found = one->ifa_addr->sa_family == AF_INET
					   ? addr->kind == CONF_ADDR_IPV4 && memcmp(ip4, addr->ip, 4) == 0
					   : one->ifa_addr->sa_family == AF_INET6 && addr->kind == CONF_ADDR_IPV6 &&
							     memcmp(ip6, addr->ip, 16) == 0;
	}
	freeifaddrs(all);
	return is_found;
}

bool conf_lint_xdp_listen(const conf_check_value_t *value, conf_lint_result_t *ret_result)
{
	conf_addr_view_t addr = conf_value_addr(value->value);
	*ret_result = (conf_lint_result_t){ .severity = CONF_ERROR, .reason = "invalid XDP interface specification" };
	if (addr.kind != CONF_ADDR_UNIX) {
		ret_result->hint = "no interface of this machine has the address";
		return !lint_is_local(&addr);
	}
	char name[IF_NAMESIZE];
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(addr.path, "@"), addr.path);
	ret_result->hint = "this machine has no interface of this name; 'ip link' lists those it has";
	return if_nametoindex(name) == 0;
}

/* ---- Zone files ---- */

/** Cuts the path's last part off. Returns whether the folder is missing. */
static bool lint_folder_is_missing(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash == NULL || slash == path) {
		return false;
	}
	*slash = '\0';
	return access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

void conf_lint_zone_files(const conf_t *conf, conf_sink_t sink)
{
	char folder[PATH_MAX] = "";
	size_t count = 0;
	for (size_t i = 0; i < conf->zone_count; i++) {
		conf_zone_t zone = conf_zone(conf, i);
		char path[PATH_MAX], name[KNOT_NAME_TEXT_MAX], dir[PATH_MAX];
		bool is_known = conf_zone_file(&zone, path, sizeof(path)) == KNOT_OK;
		if (!is_known || access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)) {
			continue;
		}
		(void)snprintf(dir, sizeof(dir), "%s", path);
		bool no_folder = lint_folder_is_missing(dir);
		if (no_folder && strcmp(dir, folder) == 0) {
			continue;
		}
		if (no_folder) {
			(void)snprintf(folder, sizeof(folder), "%s", dir);
		}
		if (++count > CONF_ERRORS_TOLD_MAX) {
			continue;
		}
		(void)knot_name_print(zone.name, name);
		const conf_place_t place = { .section = "zone",
			.id = name,
			.item = no_folder ? "storage" : "file",
			.value = no_folder ? dir : path };
		(void)conf_tell(sink, CONF_WARNING, KNOT_OK, &place, no_folder ? "no such folder" : "no such file");
	}
	if (count > CONF_ERRORS_TOLD_MAX) {
		const conf_place_t nowhere = { 0 };
		(void)conf_tell_text(sink, CONF_WARNING, KNOT_OK, &nowhere, NULL,
				"config, %zu more zone files don't exist", count - CONF_ERRORS_TOLD_MAX);
	}
}
