/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internal: the node builder's scratch memory, and what its two halves share. rrset_build.c compiles one RRset,
 * node_build.c puts them together to a node. One thread per builder.
 */
#pragma once

#include "src/zone/node_share.h"

/** Bytes that grow at their end. Kept from node to node, so that most nodes need no allocation. */
typedef struct {
	uint8_t *data; /* owned */
	size_t len, max;
} zone_buffer_t;

struct zone_node_builder {
	const zone_record_t **records; /* of the node, sorted */
	size_t record_max;
	zone_buffer_t made; /* zone_made_set_t[] */
	zone_buffer_t sets; /* the RRsets as they are stored */
	zone_buffer_t glue; /* copied addresses as they are stored, without their number */
	uint16_t glue_count;
	zone_buffer_t glue_ids; /* const void *[]: what they were copied from */
	zone_buffer_t links;    /* of the RRset being made, as they are stored */
	zone_buffer_t blocks;   /* its body and signatures */
	zone_buffer_t pointers; /* uint16_t[] */
	zone_node_share_t share;
	bool is_portable; /* the RRset being made would be the same at each name of the zone */
	bool has_key;     /* the name servers of the node being made can be remembered by share.key */
	bool failed;      /* out of memory, sticky until the next node */
};

/** An RRset to be compiled: a run of builder->records. */
typedef struct {
	size_t first, count, sig_count; /* first the RRs, then their signatures */
	uint32_t ttl;                   /* seconds, of all RRs */
} zone_rrset_run_t;

/**
 * Compile an RRset and append it to builder->sets as it is stored. Sets builder->is_portable, and builder->failed
 * without memory; copied addresses go to builder->glue.
 */
void zone_rrset_compile(zone_node_builder_t *builder, const zone_node_params_t *params, const zone_rrset_run_t *run);

/* ---- Buffers ---- */

/** Make a buffer longer by `len` bytes or more. False: no memory, and the builder has failed. */
bool zone_buffer_grow(zone_node_builder_t *builder, zone_buffer_t *buffer, size_t len);

/** Room for `len` more bytes, or NULL and the builder has failed. */
static inline uint8_t *zone_buffer_room(zone_node_builder_t *builder, zone_buffer_t *buffer, size_t len)
{
	if (len > buffer->max - buffer->len && !zone_buffer_grow(builder, buffer, len)) {
		return NULL;
	}
	uint8_t *p = buffer->data + buffer->len;
	buffer->len += len;
	return p;
}

/** Append bytes. Inlined, because most lengths are compile-time constants: a few bytes are then copied without a call.
 */
static inline __attribute__((always_inline)) void zone_buffer_put(
		zone_node_builder_t *builder, zone_buffer_t *buffer, const void *bytes, size_t len)
{
	uint8_t *p = zone_buffer_room(builder, buffer, len);
	if (p != NULL && len > 0) {
		memcpy(p, bytes, len);
	}
}

/** Write bytes to where there is room. Returns their end. */
static inline uint8_t *zone_put_bytes(uint8_t *to, const void *bytes, size_t len)
{
	memcpy(to, bytes, len);
	return to + len;
}

/* ---- Records ---- */

/** The type that an RRSIG covers (RFC 4034 3.1.1). */
static inline uint16_t zone_record_covers(const zone_record_t *record)
{
	return record->rdata_len >= 2 ? load_be16(record->rdata) : 0;
}

static inline knot_bytes_t zone_record_rdata(const zone_record_t *record)
{
	return (knot_bytes_t){ record->rdata, record->rdata_len };
}

/** The order of records in a node: by type, signatures as what they cover and behind it, then by RDATA. */
static inline int zone_record_order(const zone_record_t *a, const zone_record_t *b)
{
	bool a_sig = a->type == KNOT_TYPE_RRSIG, b_sig = b->type == KNOT_TYPE_RRSIG;
	uint16_t a_type = a_sig ? zone_record_covers(a) : a->type, b_type = b_sig ? zone_record_covers(b) : b->type;
	if (a_type != b_type) {
		return a_type < b_type ? -1 : 1;
	}
	return a_sig != b_sig ? a_sig - b_sig : knot_rdata_cmp(zone_record_rdata(a), zone_record_rdata(b));
}

/** The TTL of a type in a list. As Knot: the last record of the source sets that of its RRset. */
static inline uint32_t zone_records_ttl(const zone_record_t *list, uint16_t type)
{
	uint32_t ttl = 0;
	for (const zone_record_t *r = list; r != NULL; r = r->next) {
		ttl = r->type == type ? r->ttl : ttl;
	}
	return ttl;
}
