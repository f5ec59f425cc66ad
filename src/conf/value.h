/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Values: text ↔ binary form, by the type of a row.
 *
 * A snapshot keeps each item that was set in binary form, and two values are the same if their binary forms are:
 *   INT, OPTINT  8 bytes, host order; CONF_PERCENT set for a percentage
 *   BOOL, OPT    1 byte
 *   STR          bytes and a NUL
 *   HEX, B64     bytes
 *   DNAME        wire form, lower case
 *   ADDR         kind (0, 4, 6); UNIX: path and NUL; else 4 or 16 bytes, 4 bytes port or -1, name behind % and NUL
 *   NET          kind; UNIX: path and NUL; else address, format (0 one, 1 prefix, 2 range), and 1 byte or an address
 *   REF          as the identifier of the section it refers to
 *   MODREF       name and NUL, id and NUL
 *   RRTYPE       2 bytes, host order
 * Pure functions, no allocation.
 */
#pragma once

#include "src/conf/schema.h"

enum {
	CONF_VALUE_MAX = 32768, /* bytes of any binary form: a text of the longest value with its NUL */
	CONF_NO_PORT = -1,
};
#define CONF_PERCENT (INT64_C(1) << 62)

typedef enum { CONF_ADDR_UNIX = 0, CONF_ADDR_IPV4 = 4, CONF_ADDR_IPV6 = 6 } conf_addr_kind_t;

/** Views into the binary form of an ADDR. */
typedef struct {
	conf_addr_kind_t kind;
	const char *path;   /* UNIX */
	const uint8_t *ip;  /* 4 or 16 bytes */
	int32_t port;       /* host order or CONF_NO_PORT */
	const char *device; /* "" or what stood behind % */
} conf_addr_view_t;

/**
 * Convert text by the row's type and check its range.
 * ret_value: room for CONF_VALUE_MAX bytes; scratch on failure.
 * KNOT_EINVAL: not a value of this type.  KNOT_CONF_ERANGE: out of range, or a text of CONF_VALUE_MAX bytes or more.
 * KNOT_EB64LEN, KNOT_EB64CHAR. References and modules are not looked up here.
 */
KNOT_MUST_USE knot_err_t conf_value_scan(const conf_row_t *row, knot_str_t text, uint8_t *ret_value, size_t *ret_len);

/**
 * Print a value as conf-read has it: without quotes and units. Returns the length that it needs without the NUL, as
 * snprintf() does; at most `max` bytes with the NUL are written.
 */
size_t conf_value_print(const conf_row_t *row, knot_bytes_t value, char *ret_text, size_t max);

int64_t conf_value_int(knot_bytes_t value);

/** The addresses of a CONF_NET. */
conf_net_t conf_value_net(knot_bytes_t value);
conf_addr_view_t conf_value_addr(knot_bytes_t value);
