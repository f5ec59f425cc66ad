/* SPDX-License-Identifier: BSD-2-Clause */
/** Record types that a zone file neither gives nor gets (conf `zonefile-skip`): others manage them. A value. */
#pragma once

#include "libknot/base/bytes.h"

enum { ZONE_SKIP_MAX = 40 };

typedef struct {
	uint16_t types[ZONE_SKIP_MAX];
	uint16_t count;
} zone_skip_t;

/** The types of mnemonics, and for "dnssec" all that signing makes. Other words, "" and what is more than ZONE_SKIP_MAX
 * types in all add nothing. */
zone_skip_t zone_skip_of(const char *const *words, size_t count);

/** True if records of the type are skipped. skip: NULL: none are. */
static inline bool zone_skip_has(const zone_skip_t *skip, uint16_t type)
{
	for (size_t i = 0; skip != NULL && i < skip->count; i++) {
		if (skip->types[i] == type) {
			return true;
		}
	}
	return false;
}
