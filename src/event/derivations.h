/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zones that are made of others: which is made of which, and what each has to look at since one of those changed.
 * Internal to src/event. No locks: callers hold that of the jobs.
 *
 * A zone is entered when it is loaded, and leaves with its entry. Other zones take no memory. What to look at is kept
 * as marks (src/update/derive.h): their number follows the changes, and is bounded.
 */
#pragma once

#include <stdatomic.h>

#include "src/update/derive.h"

/** A zone and the names of those that it is made of. Never changes; freed with its last owner. */
typedef struct {
	atomic_uint owners;
	derive_kind_t kind;
	knot_name_t zone;
	derive_source_t *sources; /* sorted, without contents */
	size_t count;
	uint8_t wire[]; /* the names and the array */
} derived_names_t;

/** sources: any order, only their names count; those that `kind` doesn't allow for the zone are left out: itself, or,
 * for DERIVE_INCLUDE, what isn't below it. NULL: out of memory. */
derived_names_t *derived_names_new(
		derive_kind_t kind, knot_name_t zone, const knot_bytes_t *sources, size_t source_count);

derived_names_t *derived_names_share(derived_names_t *names);

/** True if both are made of the same zones in the same way. */
bool derived_names_eq(const derived_names_t *a, const derived_names_t *b);

void derived_names_free(derived_names_t *take_names);

/** One such zone. */
typedef struct {
	derived_names_t *names; /* owned with others */
	derive_marks_t marks;   /* what is to be looked at */
	zone_contents_t *own;   /* owned: what its file says, if that has records that look derived */
	bool is_own_known;
	bool has_asked;  /* its primary for that */
	bool is_waiting; /* it has no contents, since one of the others has none */
	unsigned round;  /* of the last search that met it */
} derivation_t;

/** Zero at first; freed with derivations_free(). */
typedef struct {
	void *zones;   /* owned: of tsearch() */
	void *sources; /* owned: the same */
	unsigned round;
	atomic_size_t count; /* of zones; read without lock, too */
} derivations_t;

/** NULL: it isn't made of others. */
derivation_t *derivations_find(const derivations_t *derivations, knot_name_t zone);

/** Enter a zone, or that it is made of others now; then all is to be looked at. *ret_is_other: it was made of others
 * before. NULL: out of memory. */
derivation_t *derivations_put(derivations_t *derivations, derived_names_t *names, bool *ret_is_other);

void derivations_drop(derivations_t *derivations, knot_name_t zone);
void derivations_free(derivations_t *derivations);

/** The zones that are made of this one, among others; *ret_count may be 0. Valid until one is entered or leaves. */
derivation_t *const *derivations_of(const derivations_t *derivations, knot_name_t source, size_t *ret_count);

/** True if `source` waits for `zone`, perhaps for one that does. */
bool derivations_wait(derivations_t *derivations, knot_name_t source, knot_name_t zone);
