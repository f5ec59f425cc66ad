/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Memory that knotc can't go on without: a tool that runs out of it says so and ends, instead of each caller handling
 * it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/** Returns what an allocation gave; ends the tool with status 1 where that is NULL. What atexit() was told (the
 * terminal) is done. */
static inline void *must(void *memory)
{
	if (memory == NULL) {
		fputs("error: not enough memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return memory;
}
