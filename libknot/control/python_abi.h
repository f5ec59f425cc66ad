/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the Python package libknot calls in the library besides control.h and knot_strerror(): names, RR types, rcodes.
 *
 * Thin adapters with a fixed ABI over name.h and rrtype.h; our own code uses those. NUL-terminated strings and wire
 * names without lengths, as that package passes them. No state, any thread.
 */
#pragma once

#include "libknot/base/err.h"

#include <stddef.h>
#include <stdint.h>

/** A number and its name. Tables end with a NULL name. */
typedef struct {
	int id;
	const char *name;
} knot_lookup_t;

enum { KNOT_RCODE_NAME_ROWS = 32 }; /* the package maps this many rows */

/** Names of the rcodes, RFC 1035, 2136, 2845, 6891, 8945; unused rows have a NULL name. */
extern KNOT_EXPORT const knot_lookup_t knot_rcode_names[KNOT_RCODE_NAME_ROWS];

typedef struct {
	int block_types[8];    /* kept for the layout; always 0 */
	const char *type_name; /* mnemonic, or NULL: print TYPEn */
} knot_rdata_descriptor_t;

/** Descriptor of an RR type; never NULL. */
KNOT_EXPORT const knot_rdata_descriptor_t *knot_get_rdata_descriptor(uint16_t type);

/** Bytes of a valid wire name. */
KNOT_EXPORT size_t knot_dname_size(const uint8_t *name);

/**
 * Check the wire name at `name`, not reading at or behind `endp`. pkt: start of the message that pointers are relative
 * to; NULL: none are allowed. Returns its bytes in place (with a pointer, up to it), or KNOT_EMALF.
 */
KNOT_EXPORT int knot_dname_wire_check(const uint8_t *name, const uint8_t *endp, const uint8_t *pkt);

/** Print a valid wire name into dst[0..maxlen), or into malloc()ed memory if dst is NULL. NULL: does not fit, no
 * memory. */
KNOT_EXPORT char *knot_dname_to_str(char *dst, const uint8_t *name, size_t maxlen);

/**
 * Scan a name, with or without final dot, into dst[0..maxlen), or into malloc()ed memory if dst is NULL. Letters keep
 * their case. NULL: not a name, does not fit, no memory.
 */
KNOT_EXPORT uint8_t *knot_dname_from_str(uint8_t *dst, const char *name, size_t maxlen);
