/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A zone file of records that come one by one: the same file as zone_dump() makes of a version of them (dump.h), which
 * then needn't be there.
 *
 * Of the file's parts one is written at once, the others to files without a name beside it, which are appended to it at
 * the end: the kernel copies, or shares blocks where the file system does. Memory: some 500 KB a part. Any thread; one
 * call at a time.
 */
#pragma once

#include "src/zone/dump.h"
#include "src/zone/records.h"

typedef struct zone_dump_parts zone_dump_parts_t;

/**
 * Begin. fd: to write to, borrowed. folder: where parts may be kept meanwhile: that of the file. params: copied; skip
 * is borrowed. KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t zone_dump_parts_begin(
		int fd, const char *folder, const zone_dump_params_t *params, zone_dump_parts_t **ret_parts);

/** Take a record: those of the apex first, then by owner in canonical order; those of an NSEC3 chain in their order. At
 * a name by type, signatures by the types that they cover. KNOT_ENOMEM, or the errno of a system call. */
KNOT_MUST_USE knot_err_t zone_dump_parts_put(zone_dump_parts_t *parts, const zone_rr_t *rr);

/** Write what is left, in order. KNOT_ENOSOA: there was none. Errors as above. */
KNOT_MUST_USE knot_err_t zone_dump_parts_end(zone_dump_parts_t *parts);

/** Also after a failure, when the file has some of the records. NULL is allowed. */
void zone_dump_parts_free(zone_dump_parts_t *take_parts);
