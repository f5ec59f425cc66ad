/* SPDX-License-Identifier: BSD-2-Clause */
/** The signed zone's file, written while the zone is signed: beside the one that it replaces, until it is whole. */
#pragma once

#include "src/sign/plan.h"
#include "src/zone/dump_parts.h"

#include <limits.h>

/** Zero: none. */
typedef struct {
	char path[PATH_MAX], temporary[PATH_MAX];
	int fd;
	zone_dump_parts_t *parts; /* owned; NULL: there is no temporary file */
	uint64_t size, size_max;  /* bytes of all records in wire form; size_max 0: any */
	knot_err_t err;           /* why a record wasn't taken */
} output_t;

/** Begin. path: of the file that is replaced or made. size_max: of the zone, conf `zone-max-size`. KNOT_ESPACE: the
 * path is too long. KNOT_ENOMEM, or the errno of a system call. */
KNOT_MUST_USE knot_err_t output_begin(
		output_t *output, const char *path, const zone_dump_params_t *params, uint64_t size_max);

/** What takes the records. KNOT_EZONESIZE and errors of zone_dump_parts_put(): in output->err, too. */
sign_sink_t output_sink(output_t *output);

/** The file gets its name, and is on the disk. Errors of zone_dump_parts_end(), or the errno of a system call: nothing
 * was replaced. */
KNOT_MUST_USE knot_err_t output_end(output_t *output);

/** Leave things as they were, if output_end() hasn't replaced the file. */
void output_done(output_t *output);
