/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The bytes of a change to a zone: the records it removes and the records it adds.
 *
 * The bytes are those of Knot DNS's journal: a stream of RRsets, each an owner in wire form, type, class, number of
 * records, then TTL, length and RDATA of each. A step is the SOA before it, the other removed records, the SOA after
 * it, the other added records. A whole zone is its SOA and the other records. doc/formats/journal.md draws them.
 * Reading checks everything, as the bytes may come from a damaged disk. Pure; no state, any thread.
 */
#pragma once

#include "libknot/rr/rdata.h"

/** What the bytes are: they don't say so themselves. */
typedef enum {
	CHANGESET_STEP,  /* from one version to another */
	CHANGESET_WHOLE, /* a whole version: everything is added */
} changeset_kind_t;

/** A record, borrowed. */
typedef struct {
	knot_name_t owner;
	uint16_t type;
	uint32_t ttl;       /* seconds */
	knot_bytes_t rdata; /* uncompressed */
} changeset_rr_t;

/** Looks at a record; false ends the visit. */
typedef bool (*changeset_visit_t)(const changeset_rr_t *rr, bool is_added, void *ctx);

/* ---- Writing ---- */

/** One run of RRsets; grows. */
typedef struct {
	uint8_t *data; /* owned */
	size_t len, max;
	size_t last_at; /* of the last RRset, to which records of the same owner and type are added */
	uint16_t last_count;
} changeset_run_t;

/** Gathers records. All zeros: empty. */
typedef struct {
	changeset_run_t soa[2], rest[2]; /* [is_added] */
	uint32_t count[2];               /* records, those of SOA included */
	bool failed;                     /* out of memory: stays until the end */
} changeset_writer_t;

/**
 * Add a record; removed and added ones may come in any order, the SOAs, too. Neighbours of one owner and type share an
 * RRset. A second SOA replaces the first. A failure to get memory is reported by changeset_finish().
 */
void changeset_put(changeset_writer_t *writer, const changeset_rr_t *rr, bool is_added);

/**
 * The bytes of all records: free(). The writer is empty afterwards, whatever is returned. KNOT_ENOMEM. KNOT_ENOSOA: a
 * SOA is missing, of which a step has one removed and one added, a whole zone one added. KNOT_EINVAL: a whole zone with
 * removed records.
 */
KNOT_MUST_USE knot_err_t changeset_finish(
		changeset_writer_t *writer, changeset_kind_t kind, uint8_t **ret_data, size_t *ret_len);

/** Drop what was gathered: the writer is empty afterwards. */
void changeset_discard(changeset_writer_t *writer);

/* ---- Reading ---- */

/**
 * Visit the records: the removed ones with the SOA first, then the added ones with the SOA first. Each record is valid
 * (knot_rdata_check()) and of class IN. KNOT_EMALF: damaged; nothing behind the fault is visited, so if you need all or
 * nothing, visit twice and do nothing the first time. KNOT_OK also when a visit has ended it.
 */
KNOT_MUST_USE knot_err_t changeset_each(
		knot_bytes_t payload, changeset_kind_t kind, changeset_visit_t visit, void *ctx);
