/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What NSEC and NSEC3 records prove: that a name or a type of it isn't there (RFC 4035 5.4, RFC 5155 8). Pure; the
 * records' signatures are the caller's.
 */
#pragma once

#include "libknot/name/name.h"
#include "libknot/rr/rrtype.h"

/** An NSEC or NSEC3 record in canonical form: owner in lower case, RDATA checked. Borrowed. */
typedef struct {
	knot_name_t owner;
	uint16_t type;
	knot_bytes_t rdata;
} denial_record_t;

typedef enum {
	DENIAL_NONE,     /* nothing is proven */
	DENIAL_NXDOMAIN, /* neither the name nor a wildcard for it is there */
	DENIAL_NODATA,  /* the name, or the wildcard for it, is there without the type; or nothing but names below it */
	DENIAL_OPT_OUT, /* the name may be an insecure delegation: NSEC3 with opt-out covers it, and DS is asked for or
			   no more is proven */
} denial_t;

/** What is proven of a name (in lower case) and a type. zone: the name of the zone that the records are of. */
denial_t denial_find(const denial_record_t *records, size_t count, knot_name_t zone, knot_name_t name, uint16_t type);

/**
 * Whether it is proven that nothing is there between a wildcard's encloser, which has so many labels, and the name that
 * was made of it (RFC 4035 5.3.4, RFC 5155 8.8).
 */
bool denial_of_closer(const denial_record_t *records, size_t count, knot_name_t name, unsigned encloser_labels);
