/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One RRset in the reply of a server, with its signatures, and whether keys have signed it. Pure.
 *
 * What a reply may have is bounded in bytes, records and signatures, and what is verified by a budget, so that a child
 * can't make its parent work for long (as by many keys of one tag). RFC 4034 3.1.8.1 and 6, RFC 4035 5.3.
 */
#pragma once

#include "libknot/msg/message.h"

enum {
	REPLY_RECORDS_MAX = 32,
	REPLY_SIGS_MAX = 16,
	REPLY_BYTES_MAX = 8192,    /* of RDATA in all */
	REPLY_MESSAGE_MAX = 16384, /* bytes of a message that is looked at */
};

typedef struct {
	uint16_t off, len; /* in bytes[] */
} reply_rdata_t;

/** Records of one owner and type, in canonical form and order, each once. */
typedef struct {
	uint16_t type;
	uint32_t ttl; /* the lowest */
	size_t count, sig_count;
	reply_rdata_t records[REPLY_RECORDS_MAX], sigs[REPLY_SIGS_MAX];
	size_t used;
	uint8_t bytes[REPLY_BYTES_MAX];
} reply_set_t;

static inline knot_bytes_t reply_rdata(const reply_set_t *set, size_t index)
{
	return (knot_bytes_t){ set->bytes + set->records[index].off, set->records[index].len };
}

/** An empty set. */
void reply_set_begin(reply_set_t *set, uint16_t type);

/** Add a record, whose names aren't compressed. False: there is no room, or it can't be read. */
bool reply_set_add(reply_set_t *set, uint32_t ttl, knot_bytes_t rdata);

bool reply_set_has(const reply_set_t *set, knot_bytes_t rdata);

/** True if both have the same records. */
bool reply_set_eq(const reply_set_t *a, const reply_set_t *b);

/** Who was asked: a server that has the zone, or a resolver, which validates. */
typedef enum { REPLY_OF_SERVER, REPLY_OF_RESOLVER } reply_from_t;

/**
 * Read what a reply says about a name and a type. A name without such records gives an empty set. Returns NULL, or why
 * the reply is of no use: a static string that follows "the answer ". RFC 1035 4.1.1; a resolver's must have AD (RFC
 * 6840 5.8), a server's AA.
 */
const char *reply_read(knot_bytes_t message, reply_from_t from, knot_name_t owner, uint16_t type, reply_set_t *ret_set);

/** Sets of keys: bit n is the n-th record of a DNSKEY set. */
typedef uint32_t reply_keys_t;

/** Keys that may sign data of the zone: the flag ZONE, protocol 3, not revoked, of a known algorithm. */
reply_keys_t reply_keys_usable(const reply_set_t *dnskeys);

/** Those of the usable ones that a DS record is of. algorithm: of the DS; 0: any. */
reply_keys_t reply_keys_of_ds(const reply_set_t *dnskeys, knot_name_t owner, const reply_set_t *ds, unsigned algorithm);

/** What may be verified: decremented with each signature. */
enum { REPLY_BUDGET = 512 };

/**
 * True if one of `keys` has signed the set, the signature is good at now_s, and it is of the set's own name, not of a
 * wildcard. owner: lower case, of the set and of the keys. ret_inception: the latest of such signatures; NULL: not
 * wanted.
 */
bool reply_is_signed(const reply_set_t *set, knot_name_t owner, knot_name_t signer, const reply_set_t *dnskeys,
		reply_keys_t keys, uint64_t now_s, unsigned *budget, uint32_t *ret_inception);
