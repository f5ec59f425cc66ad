/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The records of a zone's apex that a key-signing key elsewhere has signed in advance, from a time on: DNSKEY, CDNSKEY,
 * CDS, and the signatures over them. In memory, and as bytes of the key database in Knot's layout. Pure.
 */
#pragma once

#include "libknot/name/name.h"
#include "libknot/rr/rrtype.h"

/** A record. */
typedef struct {
	uint32_t ttl;
	knot_bytes_t rdata; /* owned by the set */
} kasp_offline_rr_t;

typedef struct {
	kasp_offline_rr_t *rrs; /* owned; in canonical order, each once */
	size_t count;
} kasp_offline_set_t;

/** Places of the sets, in the order in which they are written. */
typedef enum {
	KASP_OFFLINE_DNSKEY,
	KASP_OFFLINE_CDNSKEY,
	KASP_OFFLINE_CDS,
	KASP_OFFLINE_RRSIG,
	KASP_OFFLINE_SETS
} kasp_offline_place_t;

/** Zero: nothing. Free it with kasp_offline_done(). */
typedef struct {
	kasp_offline_set_t sets[KASP_OFFLINE_SETS];
} kasp_offline_t;

/** The type of the records at a place. */
uint16_t kasp_offline_type(kasp_offline_place_t place);

/** Add a copy of a record; one that is there already changes nothing. KNOT_ENOTSUP: such records aren't signed offline.
 * KNOT_ESPACE: there are 65535. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t kasp_offline_add(kasp_offline_t *offline, uint16_t type, uint32_t ttl, knot_bytes_t rdata);

void kasp_offline_done(kasp_offline_t *offline);

/** Bytes that kasp_offline_write() needs. */
size_t kasp_offline_len(const kasp_offline_t *offline, knot_name_t zone);

/** Write the value of a record of the key database. */
void kasp_offline_write(const kasp_offline_t *offline, knot_name_t zone, uint8_t *ret_value);

/** Read one. KNOT_EMALF: it is cut off, or isn't of the zone. KNOT_ENOMEM. */
KNOT_MUST_USE knot_err_t kasp_offline_read(knot_bytes_t value, knot_name_t zone, kasp_offline_t *ret_offline);
