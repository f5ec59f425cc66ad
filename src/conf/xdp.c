/* SPDX-License-Identifier: BSD-2-Clause */
/* Section xdp: the text of a block rule, PREFIX[@RATE], the same in the configuration and in commands; copies. */
#include "libknot/base/number.h"
#include "src/conf/conf.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAPPED_LEN = 96, /* bits of ::ffff:0:0/96 (RFC 4291 2.5.5.2) */
	RATE_MAX = 1000000,
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool has_bits_behind(const uint8_t addr[static 16], unsigned prefix_len)
{
	for (unsigned bit = prefix_len; bit < 128; bit++) {
		if ((addr[bit / 8] & 0x80 >> bit % 8) != 0) {
			return true;
		}
	}
	return false;
}

const char *conf_xdp_block_scan(knot_str_t text, conf_xdp_block_t *ret_block)
{
	char copy[CONF_XDP_BLOCK_TEXT_MAX];
	conf_xdp_block_t block = { 0 };
	if (text.len >= sizeof(copy) || text.len == 0 || memchr(text.data, '\0', text.len) != NULL) {
		return "invalid address prefix";
	}
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	char *rate = strchr(copy, '@');
	uint64_t number;
	if (rate != NULL) {
		*rate++ = '\0';
		if (!knot_number_of(rate, 1, RATE_MAX, &number)) {
			return "the rate must be 1 to 1000000 queries per second";
		}
		block.per_second = (uint32_t)number;
	}
	char *len = strchr(copy, '/');
	if (len != NULL) {
		*len++ = '\0';
	}
	bool is_ipv4 = inet_pton(AF_INET, copy, block.addr + sizeof(mapped)) == 1;
	if (is_ipv4) {
		memcpy(block.addr, mapped, sizeof(mapped));
	} else if (inet_pton(AF_INET6, copy, block.addr) != 1) {
		return "invalid address prefix";
	}
	number = is_ipv4 ? 32 : 128;
	if (len != NULL && !knot_number_of(len, 0, number, &number)) {
		return "invalid prefix length";
	}
	block.prefix_len = (uint8_t)(number + (is_ipv4 ? MAPPED_LEN : 0));
	if (has_bits_behind(block.addr, block.prefix_len)) {
		return "address has bits behind the prefix";
	}
	*ret_block = block;
	return NULL;
}

const char *conf_xdp_block_scan_time(const char *text, uint32_t *ret_seconds)
{
	static const struct {
		char letter;
		uint32_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	enum { DIGITS_MAX = 8, SECONDS_MAX = 52 * 604800 };
	static const char fault[] = "the time must be 1 second to 52 weeks, such as 90s, 10m, 2h, 1d, 1w";
	size_t digits = strspn(text, "0123456789");
	char number[DIGITS_MAX + 1];
	if (digits == 0 || digits > DIGITS_MAX) {
		return fault;
	}
	memcpy(number, text, digits);
	number[digits] = '\0';
	uint64_t factor = text[digits] == '\0' ? 1 : 0, count;
	for (size_t i = 0; i < KNOT_LEN(units) && factor == 0; i++) {
		factor = text[digits] == units[i].letter && text[digits + 1] == '\0' ? units[i].seconds : 0;
	}
	if (factor == 0 || !knot_number_of(number, 1, SECONDS_MAX / factor, &count)) {
		return fault;
	}
	*ret_seconds = (uint32_t)(count * factor);
	return NULL;
}

const char *conf_xdp_block_print(const conf_xdp_block_t *block, char ret_text[static CONF_XDP_BLOCK_TEXT_MAX])
{
	char ip[INET6_ADDRSTRLEN] = "";
	bool is_ipv4 = block->prefix_len >= MAPPED_LEN && memcmp(block->addr, mapped, sizeof(mapped)) == 0;
	unsigned len = block->prefix_len - (is_ipv4 ? MAPPED_LEN : 0);
	(void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, block->addr + (is_ipv4 ? sizeof(mapped) : 0), ip, sizeof(ip));
	int used = snprintf(ret_text, CONF_XDP_BLOCK_TEXT_MAX, "%s/%u", ip, len);
	if (block->per_second > 0) {
		(void)snprintf(ret_text + used, (size_t)(CONF_XDP_BLOCK_TEXT_MAX - used), "@%u", block->per_second);
	}
	return ret_text;
}

conf_xdp_t *conf_xdp_copy(const conf_xdp_t *xdp)
{
	size_t listens_len = xdp->listen.count * sizeof(*xdp->listen.data);
	size_t blocks_len = xdp->block.count * sizeof(*xdp->block.data);
	size_t text_len = 0;
	for (size_t i = 0; i < xdp->listen.count; i++) {
		text_len += strlen(xdp->listen.data[i].text) + 1;
	}
	conf_xdp_t *copy = malloc(sizeof(*copy) + listens_len + blocks_len + text_len);
	if (copy == NULL) {
		return NULL;
	}
	conf_xdp_listen_t *listens = (conf_xdp_listen_t *)(copy + 1);
	conf_xdp_block_t *blocks = (conf_xdp_block_t *)(listens + xdp->listen.count);
	char *text = (char *)(blocks + xdp->block.count);
	*copy = *xdp;
	copy->listen.data = listens;
	copy->block.data = blocks;
	for (size_t i = 0; i < xdp->listen.count; i++) {
		size_t len = strlen(xdp->listen.data[i].text) + 1;
		listens[i] = xdp->listen.data[i];
		listens[i].text = memcpy(text, xdp->listen.data[i].text, len);
		text += len;
	}
	for (size_t i = 0; i < xdp->block.count; i++) {
		blocks[i] = xdp->block.data[i];
		blocks[i].text = NULL;
	}
	return copy;
}

_Static_assert(_Alignof(conf_xdp_listen_t) <= _Alignof(conf_xdp_t) &&
				sizeof(conf_xdp_t) % _Alignof(conf_xdp_listen_t) == 0 &&
				_Alignof(conf_xdp_block_t) <= _Alignof(conf_xdp_listen_t),
		"conf_xdp_copy() puts them one behind the other");
