/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Why zones fail: the reason in words for each zone whose last job failed. Other zones take no memory, and at most
 * FAULTS_MAX zones hold a reason, so a million zones that fail for one cause don't fill the memory.
 *
 * Also here: how a line of the log becomes such a reason. Internal to src/event except fault_reason_print(). No locks:
 * callers hold theirs.
 */
#pragma once

#include "libknot/base/err.h"
#include "libknot/name/name.h"

#include <stddef.h>
#include <stdint.h>

enum {
	FAULT_REASON_MAX = 384, /* bytes of a reason with its NUL; longer ones are cut */
	FAULTS_MAX = 65536,
};

/** Zero at first; freed with faults_free(). */
typedef struct {
	void *map; /* owned: of tsearch() */
	size_t count;
} faults_t;

/** A zone's failure. */
typedef struct {
	knot_err_t err;
	const char *reason; /* "": no details are known */
	uint64_t since_s;   /* wall clock: when it was first seen */
} fault_facts_t;

/** Keep that and why the zone failed at now_s, in place of an earlier failure. The same error with the same reason once
 * more is the same failure, and keeps its time. Nothing is kept if there is no room or memory. */
void faults_put(faults_t *faults, knot_name_t name, knot_err_t err, const char *reason, uint64_t now_s);

/** Forget the zone's reason. */
void faults_drop(faults_t *faults, knot_name_t name);

/** The zone's failure; NULL: none is kept. Valid until the next change. */
const fault_facts_t *faults_find(const faults_t *faults, knot_name_t name);

void faults_free(faults_t *faults);

/**
 * Turn a line of the log into the reason that follows the text of an error: "config, file 'x', line 3 (invalid item)"
 * becomes "file 'x', line 3, invalid item", without a final part that only repeats `err`. ret_reason: FAULT_REASON_MAX
 * bytes.
 */
void fault_reason_print(const char *line, knot_err_t err, char ret_reason[static FAULT_REASON_MAX]);
