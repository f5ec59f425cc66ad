/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/derivations.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

static bool derived_may_have(derive_kind_t kind, knot_name_t zone, knot_name_t source)
{
	if (kind == DERIVE_REVERSE) {
		return !knot_name_eq(zone, source);
	}
	return source.label_count > zone.label_count && knot_name_in(source, zone);
}

static knot_name_t derived_put_name(uint8_t **at, knot_name_t name)
{
	knot_name_t put = { *at, name.len, name.label_count };
	knot_name_lower(name, *at);
	*at += name.len;
	return put;
}

derived_names_t *derived_names_new(
		derive_kind_t kind, knot_name_t zone, const knot_bytes_t *sources, size_t source_count)
{
	size_t size = sizeof(derived_names_t) + (source_count + 1) * sizeof(derive_source_t) + zone.len;
	for (size_t i = 0; i < source_count; i++) {
		size += sources[i].len;
	}
	derived_names_t *names = calloc(1, size + _Alignof(derive_source_t));
	if (names == NULL) {
		return NULL;
	}
	uintptr_t end = (uintptr_t)names->wire, step = _Alignof(derive_source_t);
	names->sources = (derive_source_t *)((end + step - 1) / step * step);
	uint8_t *at = (uint8_t *)(names->sources + source_count);
	names->owners = 1;
	names->kind = kind;
	names->zone = derived_put_name(&at, zone);
	for (size_t i = 0; i < source_count; i++) {
		knot_name_t source = knot_name_of(sources[i].data);
		if (derived_may_have(kind, zone, source)) {
			names->sources[names->count++].name = derived_put_name(&at, source);
		}
	}
	derive_sort(names->sources, &names->count);
	return names;
}

derived_names_t *derived_names_share(derived_names_t *names)
{
	atomic_fetch_add(&names->owners, 1);
	return names;
}

void derived_names_free(derived_names_t *take_names)
{
	if (take_names != NULL && atomic_fetch_sub(&take_names->owners, 1) == 1) {
		free(take_names);
	}
}

bool derived_names_eq(const derived_names_t *a, const derived_names_t *b)
{
	bool is_same = a->kind == b->kind && a->count == b->count;
	for (size_t i = 0; i < a->count && is_same; i++) {
		is_same = knot_name_eq(a->sources[i].name, b->sources[i].name);
	}
	return is_same;
}

/* ---- Maps ---- */

/** Who is made of a zone. */
typedef struct {
	knot_name_t name; /* of wire[] */
	derivation_t **users;
	size_t count, max;
	uint8_t wire[];
} derivations_source_t;

static int derivations_cmp_zone(const void *a, const void *b)
{
	return knot_name_cmp(((const derivation_t *)a)->names->zone, ((const derivation_t *)b)->names->zone);
}

static int derivations_cmp_source(const void *a, const void *b)
{
	return knot_name_cmp(((const derivations_source_t *)a)->name, ((const derivations_source_t *)b)->name);
}

derivation_t *derivations_find(const derivations_t *derivations, knot_name_t zone)
{
	derived_names_t names = { .zone = zone };
	const derivation_t key = { .names = &names };
	derivation_t **found = tfind(&key, &derivations->zones, derivations_cmp_zone);
	return found != NULL ? *found : NULL;
}

static derivations_source_t *derivations_find_source(const derivations_t *derivations, knot_name_t name)
{
	const derivations_source_t key = { .name = name };
	derivations_source_t **found = tfind(&key, &derivations->sources, derivations_cmp_source);
	return found != NULL ? *found : NULL;
}

static derivations_source_t *derivations_make_source(derivations_t *derivations, knot_name_t name)
{
	derivations_source_t *source = derivations_find_source(derivations, name);
	if (source != NULL) {
		return source;
	}
	source = calloc(1, sizeof(*source) + name.len);
	if (source == NULL) {
		return NULL;
	}
	memcpy(source->wire, name.wire, name.len);
	source->name = knot_name_of(source->wire);
	if (tsearch(source, &derivations->sources, derivations_cmp_source) == NULL) {
		free(source);
		return NULL;
	}
	return source;
}

static void derivations_unlink(derivations_t *derivations, const derivation_t *one)
{
	for (size_t i = 0; i < one->names->count; i++) {
		derivations_source_t *source = derivations_find_source(derivations, one->names->sources[i].name);
		size_t kept = 0;
		for (size_t j = 0; source != NULL && j < source->count; j++) {
			if (source->users[j] != one) {
				source->users[kept++] = source->users[j];
			}
		}
		if (source != NULL && kept == 0) {
			(void)tdelete(source, &derivations->sources, derivations_cmp_source);
			free(source->users);
			free(source);
		} else if (source != NULL) {
			source->count = kept;
		}
	}
}

static bool derivations_link_one(derivations_t *derivations, derivation_t *one, knot_name_t name)
{
	derivations_source_t *source = derivations_make_source(derivations, name);
	if (source == NULL) {
		return false;
	}
	if (source->count == source->max) {
		size_t max = source->max == 0 ? 4 : 2 * source->max;
		derivation_t **users = realloc(source->users, max * sizeof(derivation_t *));
		if (users == NULL) {
			return false;
		}
		source->users = users;
		source->max = max;
	}
	source->users[source->count++] = one;
	return true;
}

static bool derivations_link(derivations_t *derivations, derivation_t *one)
{
	for (size_t i = 0; i < one->names->count; i++) {
		if (!derivations_link_one(derivations, one, one->names->sources[i].name)) {
			derivations_unlink(derivations, one);
			return false;
		}
	}
	return true;
}

static void derivations_free_one(derivation_t *one)
{
	derive_marks_done(&one->marks);
	zone_contents_free(one->own);
	derived_names_free(one->names);
	free(one);
}

void derivations_drop(derivations_t *derivations, knot_name_t zone)
{
	derivation_t *one = derivations_find(derivations, zone);
	if (one != NULL) {
		derivations_unlink(derivations, one);
		(void)tdelete(one, &derivations->zones, derivations_cmp_zone);
		derivations_free_one(one);
		derivations->count--;
	}
}

derivation_t *derivations_put(derivations_t *derivations, derived_names_t *names, bool *ret_is_other)
{
	derivation_t *one = derivations_find(derivations, names->zone);
	*ret_is_other = one != NULL && !derived_names_eq(one->names, names);
	if (one != NULL && !*ret_is_other) {
		return one;
	}
	derivations_drop(derivations, names->zone);
	one = calloc(1, sizeof(*one));
	if (one == NULL) {
		return NULL;
	}
	one->names = derived_names_share(names);
	derive_mark_all(&one->marks);
	if (!derivations_link(derivations, one)) {
		derivations_free_one(one);
		return NULL;
	}
	if (tsearch(one, &derivations->zones, derivations_cmp_zone) == NULL) {
		derivations_unlink(derivations, one);
		derivations_free_one(one);
		return NULL;
	}
	derivations->count++;
	return one;
}

void derivations_free(derivations_t *derivations)
{
	while (derivations->zones != NULL) {
		const derivation_t *one = *(derivation_t **)derivations->zones;
		uint8_t wire[KNOT_NAME_MAX];
		memcpy(wire, one->names->zone.wire, one->names->zone.len);
		derivations_drop(derivations, knot_name_of(wire));
	}
}

derivation_t *const *derivations_of(const derivations_t *derivations, knot_name_t source, size_t *ret_count)
{
	const derivations_source_t *found = derivations_find_source(derivations, source);
	*ret_count = found != NULL ? found->count : 0;
	return found != NULL ? found->users : NULL;
}

/* Each zone is looked at once. */
static bool derivations_leads_to(derivations_t *derivations, knot_name_t from, knot_name_t zone, unsigned depth)
{
	derivation_t *one = derivations_find(derivations, from);
	if (one == NULL || !one->is_waiting || one->round == derivations->round || depth == 0) {
		return false;
	}
	one->round = derivations->round;
	for (size_t i = 0; i < one->names->count; i++) {
		knot_name_t next = one->names->sources[i].name;
		if (knot_name_eq(next, zone) || derivations_leads_to(derivations, next, zone, depth - 1)) {
			return true;
		}
	}
	return false;
}

bool derivations_wait(derivations_t *derivations, knot_name_t source, knot_name_t zone)
{
	enum { DEPTH_MAX = 1024 }; /* of the stack: longer chains aren't loops, but for a purpose */
	derivations->round++;
	return derivations_leads_to(derivations, source, zone, DEPTH_MAX);
}
