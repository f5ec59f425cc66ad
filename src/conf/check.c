/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that a type and a range can't express: of one value, and of a whole block. */
#include "src/conf/schema_rows.h"
#include "src/conf/store.h"
#include "src/conf/value.h"
#include "src/conf/zonefile_name.h"

#include <stdlib.h>
#include <sys/un.h>

const char *conf_check_port(const conf_check_value_t *value)
{
	conf_addr_view_t addr = conf_value_addr(value->value);
	return addr.kind != CONF_ADDR_UNIX && addr.port == 0 ? "invalid port" : NULL;
}

/** Length of the name in `ifname[@port]`; 0: it is not of this form. */
static size_t ifname_len(const char *path)
{
	size_t len = strcspn(path, "@");
	const char *port = path + len;
	if (len == 0 || len >= IF_NAMESIZE || memchr(path, '/', len) != NULL) {
		return 0;
	}
	if (*port == '@') {
		size_t digits = strspn(port + 1, "0123456789");
		unsigned long number = strtoul(port + 1, NULL, 10);
		if (digits == 0 || digits > 5 || port[1 + digits] != '\0' || number == 0 || number > UINT16_MAX) {
			return 0;
		}
	}
	return len;
}

/** True if both are on the same interface as far as the text tells. */
static bool same_interface(const conf_addr_view_t *a, const conf_addr_view_t *b)
{
	if (a->kind != b->kind) {
		return false;
	}
	if (a->kind == CONF_ADDR_UNIX) {
		size_t len = ifname_len(a->path);
		return len == ifname_len(b->path) && memcmp(a->path, b->path, len) == 0;
	}
	return memcmp(a->ip, b->ip, a->kind == CONF_ADDR_IPV4 ? 4 : 16) == 0;
}

const char *conf_check_xdp_listen(const conf_check_value_t *value)
{
	conf_addr_view_t addr = conf_value_addr(value->value);
	bool is_valid =
		addr.kind == CONF_ADDR_UNIX ? ifname_len(addr.path) > 0 : addr.port != 0 && addr.device[0] == '\0';
	if (!is_valid) {
		return "invalid XDP interface specification";
	}
	conf_item_t item;
	size_t row = (size_t)(value->row - value->block.section->rows), pos = 0;
	while (conf_item_next(value->block.items, &pos, &item)) {
		bool is_repeated = item.value.len == value->value.len &&
				   memcmp(item.value.data, value->value.data, item.value.len) == 0;
		if (item.row != row || is_repeated) {
			continue; /* an exact repetition is dropped without a word, as in any list */
		}
		conf_addr_view_t other = conf_value_addr(item.value);
		if (same_interface(&addr, &other)) {
			return "duplicate XDP interface specification";
		}
	}
	return NULL;
}

const char *conf_check_xdp_block(const conf_check_value_t *value)
{
	conf_xdp_block_t block, other;
	const char *text = (const char *)value->value.data;
	if (*text == '\0') {
		return NULL; /* `block: []` */
	}
	const char *reason = conf_xdp_block_scan(knot_str_of(text), &block);
	if (reason != NULL) {
		return reason;
	}
	conf_item_t item;
	size_t row = (size_t)(value->row - value->block.section->rows), pos = 0;
	while (conf_item_next(value->block.items, &pos, &item)) {
		bool is_repeated = item.row != row || strcmp((const char *)item.value.data, text) == 0;
		if (!is_repeated && conf_xdp_block_scan(knot_str_of((const char *)item.value.data), &other) == NULL &&
		    other.prefix_len == block.prefix_len && memcmp(other.addr, block.addr, sizeof(other.addr)) == 0) {
			return "duplicate prefix";
		}
	}
	return NULL;
}

const char *conf_check_power_of_two(const conf_check_value_t *value)
{
	int64_t number = conf_value_int(value->value);
	return (number & (number - 1)) != 0 ? "value is not a power of two" : NULL;
}

const char *conf_check_not_zero(const conf_check_value_t *value)
{
	return conf_value_int(value->value) == 0 ? "value is out of range" : NULL;
}

const char *conf_check_module_prefix(const conf_check_value_t *value)
{
	return strncmp((const char *)value->value.data, "mod-", 4) != 0 ? "required 'mod-' prefix" : NULL;
}

const char *conf_check_keystore_id(const conf_check_value_t *value)
{
	return value->value.data[0] == '-' ? "leading '-' is not allowed" : NULL;
}

const char *conf_check_no_dot(const conf_check_value_t *value)
{
	return strchr((const char *)value->value.data, '.') != NULL ? "dot '.' is not allowed" : NULL;
}

const char *conf_check_pin(const conf_check_value_t *value)
{
	enum { PIN_LEN = 32 }; /* SHA-256 of the public key */
	return value->value.len != PIN_LEN ? "invalid certificate pin" : NULL;
}

const char *conf_check_group(const conf_check_value_t *value)
{
	enum { GROUP_MAX = 255 }; /* one character-string, RFC 9432 4.4.2 */
	return value->value.len - 1 > GROUP_MAX ? "group name is too long" : NULL;
}

const char *conf_check_cookie_secret(const conf_check_value_t *value)
{
	enum { SECRET_LEN = 16 }; /* RFC 9018 4.4 */
	return value->value.len != SECRET_LEN ? "the length of the cookie secret MUST BE 16 bytes (32 HEX characters)"
					      : NULL;
}

/** `R/M` with R < M <= 256. ret_end: behind it. */
static bool scan_modulo(const char *text, char **ret_end)
{
	enum { MODULUS_MAX = 256 };
	if (*text < '0' || *text > '9') {
		return false;
	}
	unsigned long remainder = strtoul(text, ret_end, 10);
	if (**ret_end != '/' || (*ret_end)[1] < '0' || (*ret_end)[1] > '9') {
		return false;
	}
	unsigned long modulus = strtoul(*ret_end + 1, ret_end, 10);
	return remainder < modulus && modulus <= MODULUS_MAX;
}

const char *conf_check_modulo(const conf_check_value_t *value)
{
	char *end;
	return !scan_modulo((const char *)value->value.data, &end) || *end != '\0' ? "invalid modulo" : NULL;
}

/** `[R/M][+-A]`. */
const char *conf_check_serial_modulo(const conf_check_value_t *value)
{
	enum { SHIFT_MAX = 2000000000 };
	static const char invalid[] = "invalid modulo";
	char *text = (char *)(uintptr_t)value->value.data;
	if (*text != '+' && *text != '-' && !scan_modulo(text, &text)) {
		return invalid;
	}
	if (*text == '\0') {
		return NULL;
	}
	char *end;
	bool is_signed = (*text == '+' || *text == '-') && text[1] >= '0' && text[1] <= '9';
	errno = 0;
	long long shift = strtoll(text, &end, 10);
	return !is_signed || *end != '\0' || errno != 0 || shift > SHIFT_MAX || shift < -SHIFT_MAX ? invalid : NULL;
}

const char *conf_check_zonefile(const conf_check_value_t *value)
{
	switch (conf_zonefile_check((const char *)value->value.data)) {
	case CONF_ZONEFILE_OK: return NULL;
	case CONF_ZONEFILE_IGNORED: return "ignoring unknown zonefile formatter";
	case CONF_ZONEFILE_INVALID: return "invalid index of zonefile formatter";
	}
	return NULL;
}

/* ---- Blocks ---- */

static bool is_set(const conf_block_view_t *block, const char *name)
{
	return conf_block_find(block, name).data != NULL;
}

static bool is_on(const conf_block_view_t *block, const char *name, bool dflt)
{
	knot_bytes_t value = conf_block_find(block, name);
	return value.data != NULL ? value.data[0] != 0 : dflt;
}

/** True if bind() could not take one of the item's paths; rundir counts where it goes before them. */
static bool has_long_path(const conf_block_view_t *block, const char *name)
{
	knot_bytes_t rundir = conf_block_find(block, "rundir");
	size_t rundir_len = rundir.data != NULL ? rundir.len : sizeof(KNOT_RUN_DIR); /* each with its NUL: the slash */
	size_t row = conf_row_find(block->section, knot_str_of(name)), pos = 0;
	conf_item_t item;
	while (conf_item_next(block->items, &pos, &item)) {
		if (item.row != row || conf_value_addr(item.value).kind != CONF_ADDR_UNIX) {
			continue;
		}
		const char *path = conf_value_addr(item.value).path;
		if (strlen(path) + (path[0] == '/' ? 0 : rundir_len) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
			return true;
		}
	}
	return false;
}

const char *conf_check_server(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	if (has_long_path(block, "listen")) {
		return "path in 'listen' is too long for a socket";
	}
	return has_long_path(block, "metrics-listen") ? "path in 'metrics-listen' is too long for a socket" : NULL;
}

const char *conf_check_xdp(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	bool is_any = is_on(block, "udp", true) || is_on(block, "tcp", false) || is_on(block, "quic", false);
	return is_set(block, "listen") && !is_any ? "XDP processing requires UDP, TCP, or QUIC enabled" : NULL;
}

const char *conf_check_acl(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	static const char *const excluded[] = { "address", "key", "protocol", "cert-key", "cert-hostname" };
	for (size_t i = 0; i < KNOT_LEN(excluded); i++) {
		if (is_set(block, "remote") && is_set(block, excluded[i])) {
			return "specified ACL/remote together with address or key";
		}
	}
	return NULL;
}

const char *conf_check_keystore(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	return is_on(block, "key-label", false) && !is_on(block, "backend", false)
		       ? "key labels not supported with the specified keystore"
		       : NULL;
}

const char *conf_check_remote(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	return is_on(block, "quic", false) && is_on(block, "tls", false) ? "'quic' and 'tls' cannot be enabled together"
									 : NULL;
}

typedef struct {
	const char *min, *max, *reason;
} interval_t;

/** Items of zones that must go together, in templates too. */
static const char *check_intervals(const conf_block_view_t *block)
{
	static const interval_t intervals[] = {
		{ "refresh-min-interval", "refresh-max-interval",
		  "'refresh-min-interval' is higher than 'refresh-max-interval'" },
		{ "retry-min-interval", "retry-max-interval",
		  "'retry-min-interval' is higher than 'retry-max-interval'" },
		{ "expire-min-interval", "expire-max-interval",
		  "'expire-min-interval' is higher than 'expire-max-interval'" },
	};
	for (size_t i = 0; i < KNOT_LEN(intervals); i++) {
		knot_bytes_t min = conf_block_find(block, intervals[i].min),
			     max = conf_block_find(block, intervals[i].max);
		if (min.data != NULL && max.data != NULL && conf_value_int(min) > conf_value_int(max)) {
			return intervals[i].reason;
		}
	}
	return NULL;
}

const char *conf_check_template(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	bool is_default = strcmp((const char *)block->id.data, "default") == 0;
	if (!is_default && is_set(block, "global-module")) {
		return "global module in non-default template";
	}
	return check_intervals(block);
}

const char *conf_check_zone(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	return check_intervals(block);
}

const char *conf_check_noudp(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	return is_set(block, "udp-allow-rate") && is_set(block, "udp-truncate-rate")
		       ? "udp-allow-rate and udp-truncate-rate cannot be specified together"
		       : NULL;
}

const char *conf_check_rrl(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	enum { INSTANT_DEFAULT = 125, RATE_PER_INSTANT_MAX = 1000 };
	knot_bytes_t rate = conf_block_find(block, "rate-limit"), instant = conf_block_find(block, "instant-limit");
	int64_t instant_limit = instant.data != NULL ? conf_value_int(instant) : INSTANT_DEFAULT;
	return rate.data != NULL && conf_value_int(rate) > RATE_PER_INSTANT_MAX * instant_limit
		       ? "rate limit is higher than 1000 times instant limit"
		       : NULL;
}

const char *conf_check_synthrecord(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	enum { REVERSE = 2 };
	bool is_reverse = conf_block_find(block, "type").data[0] == REVERSE;
	if (is_reverse && !is_set(block, "origin")) {
		return "no origin specified";
	}
	return !is_reverse && is_set(block, "origin") ? "origin not allowed with forward type" : NULL;
}
