/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/reverse_name.h"

#include <stdio.h>
#include <string.h>

static const uint8_t ip4_suffix[] = "\7in-addr\4arpa", ip6_suffix[] = "\3ip6\4arpa";

static const char hex_digits[] = "0123456789abcdef";

knot_name_t reverse_name(knot_bytes_t address, uint8_t ret_wire[static KNOT_NAME_MAX])
{
	uint8_t *at = ret_wire;
	bool is_ip6 = address.len == REVERSE_ADDRESS_MAX;
	for (size_t i = address.len; i > 0; i--) {
		uint8_t byte = address.data[i - 1];
		if (is_ip6) {
			*at++ = 1;
			*at++ = (uint8_t)hex_digits[byte & 15];
			*at++ = 1;
			*at++ = (uint8_t)hex_digits[byte >> 4];
		} else {
			char digits[4];
			int len = snprintf(digits, sizeof(digits), "%u", (unsigned)byte);
			*at++ = (uint8_t)len;
			memcpy(at, digits, (size_t)len);
			at += len;
		}
	}
	if (is_ip6) {
		memcpy(at, ip6_suffix, sizeof(ip6_suffix));
	} else {
		memcpy(at, ip4_suffix, sizeof(ip4_suffix));
	}
	return knot_name_of(ret_wire);
}

bool reverse_is_ip6(knot_name_t name)
{
	return knot_name_in(name, knot_name_of(ip6_suffix));
}

/* A number as it is printed. False: it isn't one. */
static bool reverse_read_byte(const uint8_t *label, uint8_t *ret_byte)
{
	unsigned value = 0, len = label[0];
	if (len == 0 || len > 3 || (len > 1 && label[1] == '0')) {
		return false;
	}
	for (unsigned i = 1; i <= len; i++) {
		if (label[i] < '0' || label[i] > '9') {
			return false;
		}
		value = value * 10 + (label[i] - '0');
	}
	*ret_byte = (uint8_t)value;
	return value <= UINT8_MAX;
}

static bool reverse_read_nibble(const uint8_t *label, uint8_t *ret_nibble)
{
	const char *digit = label[0] == 1 && label[1] != '\0' ? strchr(hex_digits, label[1]) : NULL;
	*ret_nibble = digit != NULL ? (uint8_t)(digit - hex_digits) : 0;
	return digit != NULL;
}

static size_t reverse_read_ip4(const uint8_t *at, uint8_t *ret_address)
{
	for (unsigned i = 4; i > 0; i--, at += 1 + at[0]) {
		if (!reverse_read_byte(at, &ret_address[i - 1])) {
			return 0;
		}
	}
	return 4;
}

static size_t reverse_read_ip6(const uint8_t *at, uint8_t *ret_address)
{
	for (unsigned i = REVERSE_ADDRESS_MAX; i > 0; i--, at += 4) {
		uint8_t low, high;
		if (!reverse_read_nibble(at, &low) || !reverse_read_nibble(at + 2, &high)) {
			return 0;
		}
		ret_address[i - 1] = (uint8_t)(high << 4 | low);
	}
	return REVERSE_ADDRESS_MAX;
}

size_t reverse_address(knot_name_t name, uint8_t ret_address[static REVERSE_ADDRESS_MAX])
{
	if (name.label_count == 4 + 2 && knot_name_in(name, knot_name_of(ip4_suffix))) {
		return reverse_read_ip4(name.wire, ret_address);
	}
	if (name.label_count == 32 + 2 && reverse_is_ip6(name)) {
		return reverse_read_ip6(name.wire, ret_address);
	}
	return 0;
}
