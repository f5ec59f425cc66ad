/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of whole blocks: what in them does not go together. Zones and policies: check_zone.c. */
#include "libknot/base/number.h"
#include "src/conf/schema_rows.h"

#include <stdlib.h>
#include <sys/un.h>

/* ---- Server ---- */

/** A walk over the values of one row. */
typedef struct {
	knot_bytes_t items;
	size_t row, pos;
} values_t;

static values_t values_of(const conf_block_view_t *block, const char *name)
{
	return (values_t){ .items = block->items, .row = conf_row_find(block->section, knot_str_of(name)) };
}

static bool check_block_next_value(values_t *values, knot_bytes_t *ret_value)
{
	conf_item_t item;
	while (conf_item_next(values->items, &values->pos, &item)) {
		if (item.row == values->row) {
			*ret_value = item.value;
			return true;
		}
	}
	return false;
}

/** True if bind() could not take one of the item's paths; rundir counts where it goes before them. */
static bool has_long_path(const conf_block_view_t *block, const char *name)
{
	knot_bytes_t rundir = conf_block_find(block, "rundir");
	size_t rundir_len = rundir.data != NULL ? rundir.len : sizeof(KNOT_RUN_DIR); /* each with its NUL: the slash */
	values_t values = values_of(block, name);
	knot_bytes_t value;
	while (check_block_next_value(&values, &value)) {
		if (conf_value_addr(value).kind != CONF_ADDR_UNIX) {
			continue;
		}
		const char *path = conf_value_addr(value).path;
		if (strlen(path) + (path[0] == '/' ? 0 : rundir_len) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
			return true;
		}
	}
	return false;
}

static int32_t check_block_port_of(const conf_block_view_t *block, const values_t *values, const conf_addr_view_t *addr)
{
	return addr->port == CONF_NO_PORT ? block->section->rows[values->row].port : addr->port;
}

/** True if an address of one item is one of the other, too. An empty path is no address. */
static bool shares_address(const conf_block_view_t *block, const char *name, const char *other_name)
{
	values_t values = values_of(block, name);
	knot_bytes_t value, other_value;
	while (check_block_next_value(&values, &value)) {
		conf_addr_view_t addr = conf_value_addr(value);
		values_t others = values_of(block, other_name);
		while (check_block_next_value(&others, &other_value)) {
			conf_addr_view_t other = conf_value_addr(other_value);
			if (addr.kind != other.kind) {
				continue;
			}
			if (addr.kind == CONF_ADDR_UNIX) {
				if (addr.path[0] != '\0' && strcmp(addr.path, other.path) == 0) {
					return true;
				}
				continue;
			}
			size_t ip_len = addr.kind == CONF_ADDR_IPV4 ? 4 : 16;
			if (memcmp(addr.ip, other.ip, ip_len) == 0 && strcmp(addr.device, other.device) == 0 &&
					check_block_port_of(block, &values, &addr) ==
							check_block_port_of(block, &others, &other)) {
				return true;
			}
		}
	}
	return false;
}

/** A path that was set and is not empty. */
static bool has_path(const conf_block_view_t *block, const char *name)
{
	knot_bytes_t path = conf_block_find(block, name);
	return path.data != NULL && path.data[0] != '\0';
}

const char *conf_check_server(const conf_block_view_t *block, conf_view_t all)
{
	static const struct {
		const char *name, *other, *reason;
	} pairs[] = {
		{ "listen-quic", "listen", "address of 'listen' in 'listen-quic'" },
		{ "listen-tls", "listen", "address of 'listen' in 'listen-tls'" },
		{ "metrics-listen", "listen", "address of 'listen' in 'metrics-listen'" },
		{ "metrics-listen", "listen-tls", "address of 'listen-tls' in 'metrics-listen'" },
	};
	(void)all;
	for (size_t i = 0; i < KNOT_LEN(pairs); i++) {
		if (shares_address(block, pairs[i].name, pairs[i].other)) {
			return pairs[i].reason;
		}
	}
	if (has_path(block, "key-file") != has_path(block, "cert-file")) {
		return "both server certificate and key must be set";
	}
	if (has_long_path(block, "listen")) {
		return "path in 'listen' is too long for a socket";
	}
	return has_long_path(block, "metrics-listen") ? "path in 'metrics-listen' is too long for a socket" : NULL;
}

/* ---- XDP ---- */

/** Port of `address[@port]` or `ifname[@port]`, whose form was checked. */
static int32_t xdp_port(const conf_addr_view_t *addr)
{
	enum { DNS_PORT = 53 };
	if (addr->kind != CONF_ADDR_UNIX) {
		return addr->port == CONF_NO_PORT ? DNS_PORT : addr->port;
	}
	const char *at = strchr(addr->path, '@');
	uint64_t port = DNS_PORT;
	return at == NULL || knot_number_of(at + 1, 1, UINT16_MAX, &port) ? (int32_t)port : DNS_PORT;
}

const char *conf_check_xdp(const conf_block_view_t *block, conf_view_t all)
{
	enum { QUIC_PORT = 853 };
	(void)all;
	bool has_udp = conf_block_option(block, "udp", true), has_quic = conf_block_option(block, "quic", false);
	bool is_any = has_udp || has_quic || conf_block_option(block, "tcp", false);
	if (conf_block_has(block, "listen") && !is_any) {
		return "XDP processing requires UDP, TCP, or QUIC enabled";
	}
	values_t listens = values_of(block, "listen");
	knot_bytes_t value;
	while (has_udp && has_quic && check_block_next_value(&listens, &value)) {
		conf_addr_view_t addr = conf_value_addr(value);
		if (xdp_port(&addr) == conf_block_number(block, "quic-port", QUIC_PORT)) {
			return "port of 'listen' in 'quic-port'";
		}
	}
	return NULL;
}

/* ---- What zones refer to ---- */

const char *conf_check_acl(const conf_block_view_t *block, conf_view_t all)
{
	static const char *const excluded[] = { "address", "key", "protocol", "cert-key", "cert-hostname" };
	(void)all;
	for (size_t i = 0; i < KNOT_LEN(excluded); i++) {
		if (conf_block_has(block, "remote") && conf_block_has(block, excluded[i])) {
			return "specified ACL/remote together with address or key";
		}
	}
	return NULL;
}

const char *conf_check_keystore(const conf_block_view_t *block, conf_view_t all)
{
	enum { PEM = 0 };
	(void)all;
	return conf_block_option(block, "key-label", false) && conf_block_option(block, "backend", PEM) == PEM
			       ? "key labels not supported with the specified keystore"
			       : NULL;
}

const char *conf_check_remote(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	return conf_block_option(block, "quic", false) && conf_block_option(block, "tls", false)
			       ? "'quic' and 'tls' cannot be enabled together"
			       : NULL;
}

/* ---- Modules ---- */

const char *conf_check_cookies(const conf_block_view_t *block, conf_view_t all)
{
	enum { SECRET_LEN = 16 }; /* RFC 9018 4.4 */
	(void)all;
	values_t secrets = values_of(block, "secret");
	knot_bytes_t secret;
	while (check_block_next_value(&secrets, &secret)) {
		if (secret.len != SECRET_LEN) {
			return "the length of the cookie secret MUST BE 16 bytes (32 HEX characters)";
		}
	}
	return NULL;
}

const char *conf_check_dnserr(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	knot_bytes_t channel = conf_block_find(block, "report-channel");
	bool has_channel = channel.data != NULL && channel.data[0] != 0; /* the root means none, RFC 9567 5 */
	return !has_channel && !conf_block_option(block, "agent", false) ? "no report channel specified" : NULL;
}

const char *conf_check_geoip(const conf_block_view_t *block, conf_view_t all)
{
	enum { GEODB = 1 };
	(void)all;
	return conf_block_option(block, "mode", 0) == GEODB && !conf_block_has(block, "geodb-file")
			       ? "no geodb file specified"
			       : NULL;
}

const char *conf_check_noudp(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	return conf_block_has(block, "udp-allow-rate") && conf_block_has(block, "udp-truncate-rate")
			       ? "udp-allow-rate and udp-truncate-rate cannot be specified together"
			       : NULL;
}

const char *conf_check_rrl(const conf_block_view_t *block, conf_view_t all)
{
	enum { RATE_DEFAULT = 50, INSTANT_DEFAULT = 125, RATE_PER_INSTANT_MAX = 1000 };
	(void)all;
	int64_t rate = conf_block_number(block, "rate-limit", RATE_DEFAULT);
	int64_t instant = conf_block_number(block, "instant-limit", INSTANT_DEFAULT);
	return rate > RATE_PER_INSTANT_MAX * instant ? "rate limit is higher than 1000 times instant limit" : NULL;
}

const char *conf_check_synthrecord(const conf_block_view_t *block, conf_view_t all)
{
	enum { FORWARD = 1, REVERSE = 2 };
	(void)all;
	unsigned type = conf_block_option(block, "type", 0);
	if (type == 0) {
		return "no synthesis type specified";
	}
	if (type == REVERSE && !conf_block_has(block, "origin")) {
		return "no origin specified";
	}
	if (type == FORWARD && conf_block_has(block, "origin")) {
		return "origin not allowed with forward type";
	}
	if (type == FORWARD && conf_block_has(block, "reverse-short")) {
		return "reverse-short not allowed with forward type";
	}
	return conf_block_has(block, "network") ? NULL : "no network subnet specified";
}
