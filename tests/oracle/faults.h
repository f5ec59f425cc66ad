/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: faults that are put into a version, to see that the oracle finds them. Each row makes another version
 * of one with one thing wrong, as a commit with a fault in it would have.
 */
#pragma once

#include "src/zone/contents.h"

typedef struct {
	const char *what;
	/* True: it was applied. `zone` is being made. random: chooses where. */
	bool (*apply)(zone_contents_t *zone, uint64_t random);
	bool is_answered; /* answers show it, too */
} fault_row_t;

extern const fault_row_t fault_rows[];
extern const size_t fault_row_count;

/** A version as `zone` with the fault, which shares its memory. NULL: there is nothing in it that the fault could be
 * about. */
zone_contents_t *fault_put(const fault_row_t *fault, const zone_contents_t *zone, uint64_t random);
