/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Allocation in tools: one that runs out of memory prints an error and ends, so callers need not handle it.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

/** Return `memory`; if it is NULL, end the tool with status 1 by exit(), which restores the terminal. */
static inline void *must(void *memory)
{
	if (memory == NULL) {
		fputs("error: not enough memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return memory;
}
