/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of one value that a type and a range can't express. */
#include "libknot/base/number.h"
#include "libknot/rr/rrtype.h"
#include "src/conf/schema_rows.h"
#include "src/conf/store.h"
#include "src/conf/value.h"
#include "src/conf/zonefile_name.h"

#include <stdlib.h>
#include <strings.h>

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
		uint64_t number;
		if (!knot_number_of(port + 1, 1, UINT16_MAX, &number)) {
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
	bool is_valid = addr.kind == CONF_ADDR_UNIX ? ifname_len(addr.path) > 0
						    : addr.port != 0 && addr.device[0] == '\0';
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
				other.prefix_len == block.prefix_len &&
				memcmp(other.addr, block.addr, sizeof(other.addr)) == 0) {
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

/** A record type or the word that stands for those of DNSSEC. */
const char *conf_check_skipped_type(const conf_check_value_t *value)
{
	bool is_dnssec = strcasecmp((const char *)value->value.data, "dnssec") == 0;
	return is_dnssec || value->value.data[0] == '\0' ? NULL : conf_check_rrtype(value);
}

const char *conf_check_rrtype(const conf_check_value_t *value)
{
	uint16_t type;
	const char *text = (const char *)value->value.data;
	return text[0] != '\0' && knot_rrtype_scan(knot_str_of(text), &type) != KNOT_OK ? "invalid RR type" : NULL;
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
