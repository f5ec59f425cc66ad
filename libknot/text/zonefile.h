/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zone-file scanner: RFC 1035 5 master files, RFC 2308 4 ($TTL), RFC 3597 5 generic data, RFC 4034 etc. by the
 * rows of rr/rrtype.def. Streaming: records go to a callback one by one.
 *
 * Directives: $ORIGIN, $TTL, $INCLUDE file [origin] (relative to the including file; its $ORIGIN, $TTL and last owner
 * end with it; 16 levels, 10000 files). Names have letters, digits and the signs - _ / * as they are, and any other
 * byte escaped, as with Knot. Records of up to 65535 bytes RDATA, 16 MiB of text. LF and CR LF. Names that start a file
 * without an owner get the origin. Files are read in blocks and not mapped, so that one truncated under our eyes is a
 * fault and not a SIGBUS.
 *
 * Scratch memory is the scanner's; a record's bytes are valid during the callback only. Reads files (the zone file
 * and its $INCLUDEs), nothing else. One scanner per thread.
 */
#pragma once

#include "libknot/rr/rdata.h"

#include <sys/stat.h>

typedef struct {
	knot_name_t owner; /* absolute, case as in the file */
	uint16_t type;
	uint16_t rrclass;   /* KNOT_CLASS_IN: other classes are faults */
	uint32_t ttl;       /* seconds; of an RRSIG its original TTL field, whatever the file says (RFC 4034 3) */
	knot_bytes_t rdata; /* uncompressed, checked with knot_rdata_check() */
	uint64_t owner_id; /* not 0; of records of a scan that have the same number, the owner is the same, byte by byte
			    */
	const char *file;  /* path of the file it stands in; lives as long as the scan */
	uint64_t line;     /* first line of the record, from 1 */
} knot_zone_record_t;

/** What was wrong and where. All text is NUL-terminated and owned by this struct. */
typedef struct {
	knot_err_t err;
	uint64_t line;
	char file[256];   /* shortened from the left when longer */
	char reason[256]; /* e.g. "invalid IPv4 address, near '1.2.3'" */
	char token[256];  /* what stands there, as it is; "": nothing, or it is longer */
} knot_zone_fault_t;

/** Return false to end the scan (knot_zonefile_scan() then gives KNOT_OK). */
typedef bool (*knot_zone_record_cb)(const knot_zone_record_t *record, void *ctx);

/** Return false to end the scan after this fault. */
typedef bool (*knot_zone_fault_cb)(const knot_zone_fault_t *fault, void *ctx);

/**
 * A file was opened and will be read: the zone file or one that it includes. info: as fstat() sees it before reading.
 */
typedef void (*knot_zone_file_cb)(const char *path, const struct stat *info, void *ctx);

typedef struct {
	knot_name_t origin;    /* initial $ORIGIN */
	uint32_t default_ttl;  /* of records without a TTL before any $TTL (RFC 2308 4); the previous record's is not
				  taken */
	bool refuses_includes; /* $INCLUDE is a fault: the text isn't of who may read files here */
	knot_zone_record_cb on_record;
	knot_zone_fault_cb on_fault;    /* each fault; scanning goes on with the next line while it returns true */
	knot_zone_file_cb on_file;      /* may be NULL */
	bool (*should_stop)(void *ctx); /* asked every few thousand lines: true ends the scan as a callback does; may be
					   NULL */
	void *ctx;
} knot_zonefile_params_t;

/**
 * Scan the zone file at `path` ("-" is standard input).
 * KNOT_OK: the whole file was read and no fault reported, or a callback ended the scan.
 * KNOT_EPARSEFAIL: at least one fault was reported.  KNOT_EFILE or a negated errno: the file (not an $INCLUDE:
 * that is a fault) can't be read.
 */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_zonefile_scan(const char *path, const knot_zonefile_params_t *params);

/** As above for text in memory; `path` is used in faults and as the base of $INCLUDE. */
KNOT_EXPORT KNOT_MUST_USE knot_err_t knot_zonefile_scan_text(
		knot_str_t text, const char *path, const knot_zonefile_params_t *params);
