/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * How much sources have used lately, in a table of fixed size (doc/adr/0041-rate-limits.md).
 *
 * Each address counts for itself and for the networks that it is in, each of which may use a multiple. A count decays
 * exponentially, so that a source that keeps at the limit gets `rate` per second, and one that comes after a pause
 * `instant` at once. What is beyond the limit isn't counted, so the number of writes to one entry is limited as well.
 * No lock, no allocation, no atomic read-modify-write: a count may be lost when threads write at the same time.
 */
#pragma once

#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct rrl_table rrl_table_t;

/** What a table limits, in any unit. instant: 1– ; rate: per second, 1–1000 * instant. */
typedef struct {
	uint64_t instant, rate;
	size_t entries; /* at least 1; a power of two is made of it */
} rrl_limits_t;

/** KNOT_ENOMEM, or no randomness. Of 8 bytes per entry; those of small tables are touched at once. */
KNOT_MUST_USE knot_err_t rrl_table_new(const rrl_limits_t *limits, rrl_table_t **ret_table);

/** NULL is allowed. */
void rrl_table_free(rrl_table_t *take_table);

enum { RRL_FREE = 0 /* no limit is exceeded; else the length of the prefix whose limit is */ };

/**
 * Use up `amount` for an address and its networks, unless that would exceed the limit of one of them: then nothing is
 * used, and the length of the longest such prefix is returned. remote: AF_INET or AF_INET6. now_us: monotonic. salt:
 * anything that differs between calls. Any thread.
 */
unsigned rrl_table_take(
		rrl_table_t *table, const struct sockaddr *remote, uint64_t amount, uint64_t now_us, uint32_t salt);

/** Whether an address, or one of its networks, has used up all; as above. */
unsigned rrl_table_look(const rrl_table_t *table, const struct sockaddr *remote, uint64_t now_us);

/** Use up `amount`, at most 10^9, whether or not that much is left. */
void rrl_table_charge(
		rrl_table_t *table, const struct sockaddr *remote, uint64_t amount, uint64_t now_us, uint32_t salt);
