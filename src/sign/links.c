/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/links.h"

#include <stdlib.h>

#include "libknot/rr/rrtype.h"

typedef struct {
	const zone_contents_t *base;
	const zone_tree_t *tree;
	uint16_t type;
	zone_tree_iter_t iter;
	sign_stops_t stops;
} find_t;

static const knot_name_t none = { 0 };

static bool find_is_member(const find_t *f, const zone_node_t *node)
{
	return zone_node_rrset(&f->base->arena, node, f->type) != NULL;
}

/* The last member in front of `behind` (none: of all) and behind `front` (none: any). none: there is none. */
static knot_name_t find_last(const find_t *f, knot_name_t front, knot_name_t behind)
{
	const zone_arena_view_t *view = &f->base->arena;
	zone_ref_t ref = behind.len > 0 ? zone_tree_below(view, f->tree, behind) : zone_tree_last(view, f->tree);
	while (ref != 0) {
		const zone_node_t *node = zone_at(view, ref);
		knot_name_t owner = zone_node_owner(node);
		if (front.len > 0 && knot_name_cmp(owner, front) <= 0) {
			break;
		}
		if (find_is_member(f, node)) {
			return owner;
		}
		ref = zone_tree_below(view, f->tree, owner);
	}
	return none;
}

static knot_name_t find_first(find_t *f, knot_name_t front, knot_name_t behind)
{
	const zone_arena_view_t *view = &f->base->arena;
	if (front.len > 0) {
		zone_tree_seek(view, f->tree, front, &f->iter);
	} else {
		zone_tree_begin(view, f->tree, &f->iter);
	}
	for (zone_ref_t ref; (ref = zone_tree_next(&f->iter)) != 0;) {
		const zone_node_t *node = zone_at(view, ref);
		knot_name_t owner = zone_node_owner(node);
		if (behind.len > 0 && knot_name_cmp(owner, behind) >= 0) {
			break;
		}
		if (find_is_member(f, node) && (front.len == 0 || !knot_name_eq(owner, front))) {
			return owner;
		}
	}
	return none;
}

static knot_err_t find_put(find_t *f, sign_stop_t stop)
{
	sign_stops_t *stops = &f->stops;
	if (stops->count == stops->max) {
		size_t max = 2 * stops->max + 64;
		sign_stop_t *grown = realloc(stops->stops, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		stops->stops = grown;
		stops->max = max;
	}
	stops->stops[stops->count++] = stop;
	return KNOT_OK;
}

/* What doesn't change between two names: its ends. */
static knot_err_t find_gap(find_t *f, knot_name_t front, knot_name_t behind)
{
	knot_name_t last = find_last(f, front, behind);
	if (last.len == 0) {
		return KNOT_OK;
	}
	knot_name_t first = find_first(f, front, behind);
	knot_err_t err = first.wire != last.wire ? find_put(f, (sign_stop_t){ first, SIGN_NO_CHANGE, true }) : KNOT_OK;
	return err == KNOT_OK ? find_put(f, (sign_stop_t){ last, SIGN_NO_CHANGE, false }) : err;
}

knot_err_t sign_stops_find(const zone_contents_t *base, uint16_t type, const sign_change_t *changes,
		size_t change_count, sign_stops_t *ret_stops)
{
	find_t *f = calloc(1, sizeof(*f));
	if (f == NULL) {
		return KNOT_ENOMEM;
	}
	f->base = base;
	f->tree = type == KNOT_TYPE_NSEC ? &base->auth : zone_nsec3_tree(base);
	f->type = type;
	knot_name_t front = none;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < change_count; i++) {
		err = find_gap(f, front, changes[i].owner);
		if (err == KNOT_OK && changes[i].is_member) {
			err = find_put(f, (sign_stop_t){ changes[i].owner, (int64_t)i, false });
		}
		front = changes[i].owner;
	}
	err = err == KNOT_OK && change_count > 0 ? find_gap(f, front, none) : err;
	if (err == KNOT_OK) {
		*ret_stops = f->stops;
	} else {
		sign_stops_done(&f->stops);
	}
	free(f);
	return err;
}

void sign_stops_done(sign_stops_t *stops)
{
	free(stops->stops);
	*stops = (sign_stops_t){ 0 };
}
