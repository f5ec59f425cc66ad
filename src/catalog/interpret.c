/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/catalog/interpret.h"

#include "src/zone/diff.h"
#include "src/zone/records.h"

#include "libknot/rr/rrtype.h"

#include <assert.h>
#include <stdlib.h>

static const uint8_t zones_label[] = { 5, 'z', 'o', 'n', 'e', 's' }, group_label[] = { 5, 'g', 'r', 'o', 'u', 'p' };

/* ---- Which name is what ---- */

typedef enum { AT_NOTHING, AT_MEMBER, AT_GROUP } at_t;

/* What a name is in a catalog; *ret_id: the member's node <unique id>.zones.<catalog>, a view into the name. */
static at_t interpret_place(const zone_contents_t *zone, knot_name_t owner, knot_name_t *ret_id)
{
	knot_name_t apex = zone_node_owner(zone->apex);
	unsigned depth = owner.label_count - apex.label_count;
	if (depth != 2 && depth != 3) {
		return AT_NOTHING;
	}
	knot_name_t id = knot_name_strip(owner, depth - 2), zones = knot_name_strip(id, 1);
	if (memcmp(zones.wire, zones_label, sizeof(zones_label)) != 0 ||
			(depth == 3 && memcmp(owner.wire, group_label, sizeof(group_label)) != 0)) {
		return AT_NOTHING;
	}
	*ret_id = id;
	return depth == 2 ? AT_MEMBER : AT_GROUP;
}

static bool interpret_is_same(knot_name_t a, knot_name_t b)
{
	return a.len == b.len && memcmp(a.wire, b.wire, a.len) == 0;
}

/* ---- Members of a version ---- */

/* The records of a member follow each other in canonical order: PTR, then the group; so one member at a time is
 * gathered. */
typedef struct {
	const zone_contents_t *zone;
	catalog_set_t *set;
	knot_err_t err;
	bool has_ptr;
	catalog_member_t member; /* views of the next */
	uint8_t owner[KNOT_NAME_MAX], name[KNOT_NAME_MAX], group[CATALOG_GROUP_MAX];
	bool has_group;
} gather_t;

static void interpret_finish(gather_t *gather)
{
	if (gather->has_ptr && gather->err == KNOT_OK) {
		gather->err = catalog_set_put(gather->set, &gather->member);
	}
	gather->has_ptr = gather->has_group = false;
}

static void interpret_add_ptr(gather_t *gather, knot_name_t id, knot_bytes_t rdata)
{
	if (gather->has_ptr) {
		gather->err = KNOT_EISRECORD;
		return;
	}
	memcpy(gather->owner, id.wire, id.len);
	knot_name_t member = knot_name_of(rdata.data);
	knot_name_lower(member, gather->name);
	gather->member = (catalog_member_t){ .member = knot_name_of(gather->name),
		.owner = knot_name_of(gather->owner) };
	gather->has_ptr = true;
}

static void interpret_add_group(gather_t *gather, knot_name_t id, knot_bytes_t rdata)
{
	if (!gather->has_ptr || !interpret_is_same(gather->member.owner, id)) {
		return; /* of a member that isn't there */
	}
	if (rdata.data[0] + 1u != rdata.len) {
		gather->err = KNOT_EMALF;
	} else if (gather->has_group) {
		gather->member.has_more_groups = true; /* the first in canonical order counts */
	} else {
		/* The database ends groups by NUL, as Knot's: nothing behind one counts. */
		size_t len = strnlen((const char *)rdata.data + 1, rdata.len - 1);
		memcpy(gather->group, rdata.data + 1, len);
		gather->member.group = (knot_bytes_t){ gather->group, len };
		gather->has_group = true;
	}
}

static bool interpret_record(const zone_rr_t *rr, void *ctx)
{
	gather_t *gather = ctx;
	knot_name_t id;
	at_t at = interpret_place(gather->zone, rr->owner, &id);
	if (at == AT_MEMBER && rr->type == KNOT_TYPE_PTR) {
		if (gather->has_ptr && !interpret_is_same(gather->member.owner, id)) {
			interpret_finish(gather);
		}
		interpret_add_ptr(gather, id, rr->rdata);
	} else if (at == AT_GROUP && rr->type == KNOT_TYPE_TXT) {
		interpret_add_group(gather, id, rr->rdata);
	}
	return gather->err == KNOT_OK;
}

knot_err_t catalog_read(const zone_contents_t *zone, catalog_set_t *set)
{
	gather_t *gather = calloc(1, sizeof(*gather));
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = KNOT_ENOMEM;
	if (gather != NULL && scratch != NULL) {
		gather->zone = zone;
		gather->set = set;
		(void)zone_each_record(zone, scratch, interpret_record, gather);
		interpret_finish(gather);
		err = gather->err;
	}
	free(gather);
	free(scratch);
	return err;
}

/* ---- Members that differ ---- */

typedef struct {
	gather_t gather; /* of the version that is read */
	const zone_contents_t *before, *after;
	catalog_set_t *before_set, *after_set;
	uint8_t *scratch; /* owned, KNOT_RDATA_MAX */
	knot_name_t last; /* unique id that was looked at; the differences of one follow each other */
	uint8_t last_wire[KNOT_NAME_MAX];
	knot_err_t err;
} differ_t;

static knot_err_t interpret_read_id(differ_t *differ, const zone_contents_t *zone, catalog_set_t *set)
{
	if (zone == NULL) {
		return KNOT_OK;
	}
	gather_t *gather = &differ->gather;
	*gather = (gather_t){ .zone = zone, .set = set };
	uint8_t wire[KNOT_NAME_MAX];
	(void)zone_each_of_name(zone, differ->last, differ->scratch, interpret_record, gather);
	if (gather->err == KNOT_OK && differ->last.len + sizeof(group_label) <= sizeof(wire)) {
		memcpy(wire, group_label, sizeof(group_label));
		memcpy(wire + sizeof(group_label), differ->last.wire, differ->last.len);
		(void)zone_each_of_name(zone, knot_name_of(wire), differ->scratch, interpret_record, gather);
	}
	interpret_finish(gather);
	return gather->err;
}

static bool interpret_difference(const zone_rr_t *rr, bool is_added, void *ctx)
{
	(void)is_added;
	differ_t *differ = ctx;
	knot_name_t id;
	at_t at = interpret_place(differ->after, rr->owner, &id);
	bool is_of_member =
			(at == AT_MEMBER && rr->type == KNOT_TYPE_PTR) || (at == AT_GROUP && rr->type == KNOT_TYPE_TXT);
	if (!is_of_member || interpret_is_same(differ->last, id)) {
		return true;
	}
	memcpy(differ->last_wire, id.wire, id.len);
	differ->last = knot_name_of(differ->last_wire);
	differ->err = interpret_read_id(differ, differ->before, differ->before_set);
	if (differ->err != KNOT_ENOMEM) {
		differ->err = interpret_read_id(differ, differ->after, differ->after_set);
	}
	return differ->err == KNOT_OK;
}

knot_err_t catalog_read_diff(const zone_contents_t *before, const zone_contents_t *after, catalog_set_t *before_set,
		catalog_set_t *after_set)
{
	differ_t *differ = calloc(1, sizeof(*differ));
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = KNOT_ENOMEM;
	if (differ != NULL && scratch != NULL) {
		differ->before = before;
		differ->after = after;
		differ->before_set = before_set;
		differ->after_set = after_set;
		differ->scratch = scratch;
		err = zone_diff(before, after, interpret_difference, differ);
		err = err == KNOT_OK ? differ->err : err;
	}
	free(differ);
	free(scratch);
	return err;
}

/* ---- The version of the format ---- */

static bool interpret_version(const zone_rr_t *rr, void *ctx)
{
	static const uint8_t two[] = { 1, '2' };
	bool *is_right = ctx;
	*is_right = *is_right || (rr->type == KNOT_TYPE_TXT && rr->rdata.len == sizeof(two) &&
						 memcmp(rr->rdata.data, two, sizeof(two)) == 0);
	return !*is_right;
}

knot_err_t catalog_check(const zone_contents_t *zone)
{
	static const uint8_t label[] = { 7, 'v', 'e', 'r', 's', 'i', 'o', 'n' };
	knot_name_t apex = zone_node_owner(zone->apex);
	uint8_t wire[KNOT_NAME_MAX];
	if (apex.len + sizeof(label) > sizeof(wire)) {
		return KNOT_EZONEINVAL;
	}
	memcpy(wire, label, sizeof(label));
	memcpy(wire + sizeof(label), apex.wire, apex.len);
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	bool is_right = false;
	(void)zone_each_of_name(zone, knot_name_of(wire), scratch, interpret_version, &is_right);
	free(scratch);
	return is_right ? KNOT_OK : KNOT_EZONEINVAL;
}
