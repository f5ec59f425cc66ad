/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to be looked at, and how a change becomes that. */
#include <stdlib.h>
#include <string.h>

#include "libknot/rr/rrtype.h"
#include "src/update/derive_steps.h"
#include "src/zone/diff.h"

void derive_marks_done(derive_marks_t *marks)
{
	free(marks->data);
	*marks = (derive_marks_t){ 0 };
}

void derive_mark_all(derive_marks_t *marks)
{
	derive_marks_done(marks);
	marks->is_all = true;
}

static bool derive_marks_grow(derive_marks_t *marks, size_t len)
{
	if (marks->max - marks->len >= len) {
		return true;
	}
	size_t max = marks->max == 0 ? 256 : marks->max;
	while (max - marks->len < len) {
		max *= 2;
	}
	uint8_t *data = realloc(marks->data, max);
	if (data == NULL) {
		return false;
	}
	marks->data = data;
	marks->max = max;
	return true;
}

bool derive_mark(derive_marks_t *marks, knot_name_t owner, knot_name_t target)
{
	size_t len = 2 + (size_t)owner.len + target.len;
	if (!derive_marks_grow(marks, len)) {
		return false;
	}
	uint8_t *at = marks->data + marks->len;
	at[0] = owner.len;
	at[1] = target.len;
	memcpy(at + 2, owner.wire, owner.len);
	if (target.len > 0) {
		memcpy(at + 2 + owner.len, target.wire, target.len);
	}
	marks->len += len;
	marks->count++;
	return true;
}

void derive_marks_add(derive_marks_t *marks, const derive_marks_t *more)
{
	if (marks->is_all) {
		return;
	}
	if (more->is_all || marks->count + more->count > DERIVE_MARKS_MAX || !derive_marks_grow(marks, more->len)) {
		derive_mark_all(marks);
		return;
	}
	if (more->len > 0) {
		memcpy(marks->data + marks->len, more->data, more->len);
	}
	marks->len += more->len;
	marks->count += more->count;
}

/** A change on its way to marks. */
typedef struct {
	derive_kind_t kind;
	knot_name_t zone, source;
	const derive_t *derive; /* of derive_mark_edit() */
	derive_marks_t *marks;
} derive_marking_t;

static bool derive_marking_put(derive_marking_t *marking, knot_name_t owner, knot_name_t target)
{
	bool fits = marking->marks->count < DERIVE_MARKS_MAX && derive_mark(marking->marks, owner, target);
	if (!fits) {
		derive_mark_all(marking->marks);
	}
	return fits;
}

static bool derive_mark_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	derive_marking_t *marking = ctx;
	(void)is_added;
	if (marking->kind == DERIVE_INCLUDE) {
		bool is_apex = rr->owner.label_count == marking->source.label_count;
		return !derive_takes(rr->type, is_apex) || derive_marking_put(marking, rr->owner, (knot_name_t){ 0 });
	}
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t owner;
	return !derive_owner_of(marking->zone, rr, wire, &owner) || derive_marking_put(marking, owner, rr->owner);
}

void derive_mark_change(derive_kind_t kind, knot_name_t zone, knot_name_t name, const zone_contents_t *before,
		const zone_contents_t *after, derive_marks_t *marks)
{
	derive_marking_t marking = { .kind = kind, .zone = zone, .source = name, .marks = marks };
	if (!marks->is_all && zone_diff(before, after, derive_mark_record, &marking) != KNOT_OK) {
		derive_mark_all(marks);
	}
}

static bool derive_mark_edited(const zone_rr_t *rr, bool is_added, void *ctx)
{
	derive_marking_t *marking = ctx;
	/* What kept records away may be gone. */
	if (!is_added && (rr->type == KNOT_TYPE_CNAME || rr->type == KNOT_TYPE_DNAME) &&
			!derive_is_derived(marking->derive, rr)) {
		derive_mark_all(marking->marks);
		return false;
	}
	if (!derive_is_derived(marking->derive, rr)) {
		return true;
	}
	bool is_pointer = marking->derive->kind == DERIVE_REVERSE;
	return derive_marking_put(marking, rr->owner, is_pointer ? knot_name_of(rr->rdata.data) : (knot_name_t){ 0 });
}

void derive_mark_edit(const derive_t *derive, const zone_contents_t *before, const zone_contents_t *after,
		derive_marks_t *marks)
{
	derive_marking_t marking = { .derive = derive, .marks = marks };
	if (!marks->is_all && zone_diff(before, after, derive_mark_edited, &marking) != KNOT_OK) {
		derive_mark_all(marks);
	}
}
