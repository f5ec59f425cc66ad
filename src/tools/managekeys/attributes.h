/* SPDX-License-Identifier: BSD-2-Clause */
/** What keymgr's attributes say of a key: times, roles, algorithm, size. Pure. */
#pragma once

#include "src/kasp/key.h"

/** What is said twice is what is said last. */
typedef struct {
	uint8_t algorithm; /* 0: not said */
	unsigned bits;     /* 0: not said */
	bool has_ksk, has_zsk, has_sep, has_for_later, has_adt;
	bool is_ksk, is_zsk, has_sep_flag, is_for_later, is_adt;
	const char *shared_policy; /* hidden `addtopolicy`: borrowed; NULL: none */
	uint32_t times_set;        /* bit per row of attributes_times() */
	kasp_times_t times;
} attributes_t;

/** A timer: its name in listings, and where it is. */
typedef struct {
	const char *name;
	size_t at;
} attributes_time_t;

/** The timers, in the order of listings. */
const attributes_time_t *attributes_times(size_t *ret_count);

/** The time of a row. */
static inline uint64_t attributes_time(const kasp_times_t *times, const attributes_time_t *row)
{
	return *(const uint64_t *)(const void *)((const uint8_t *)times + row->at);
}

/** Read a time: "20261231235959" (UTC), "now+5mi", "t-1d", "+2y", seconds since 1970, 0: unset. */
bool attributes_read_time(const char *text, uint64_t now_s, uint64_t *ret_s);

/**
 * Read "name=value" or "name". is_set: of `set`, where a key has its algorithm already. Complains on standard error. A
 * time that can't be read is left out, as in Knot DNS. False: the attribute isn't known.
 */
bool attributes_read(const char *text, uint64_t now_s, bool is_set, attributes_t *attributes);

/** Put the times that were said over those of a key. */
void attributes_apply_times(const attributes_t *attributes, kasp_times_t *times);

/** Check their order; complains on standard error. */
bool attributes_check_times(const kasp_times_t *times);
