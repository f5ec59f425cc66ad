/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/zone_set.h"

#include <stdlib.h>
#include <string.h>

#include "src/catalog/settings.h"

/* ---- Changes ---- */

knot_err_t members_put(
		members_t *members, member_kind_t kind, knot_name_t name, knot_name_t catalog, knot_bytes_t group)
{
	if (members->count == members->max) {
		size_t max = 2 * members->max + 16;
		member_change_t *changes = realloc(members->changes, max * sizeof(*changes));
		if (changes == NULL) {
			return KNOT_ENOMEM;
		}
		members->changes = changes;
		members->max = max;
	}
	bool has_member = kind != MEMBER_GOES;
	member_change_t change = { .kind = kind, .name_len = name.len, .label_count = name.label_count };
	change.name = malloc(name.len);
	change.member = has_member ? zone_member_new(catalog, group) : NULL;
	if (change.name == NULL || (has_member && change.member == NULL)) {
		free(change.name);
		free(change.member);
		return KNOT_ENOMEM;
	}
	knot_name_lower(name, change.name);
	members->changes[members->count++] = change;
	return KNOT_OK;
}

static int members_compare(const void *a, const void *b)
{
	return knot_name_cmp(members_name(a), members_name(b));
}

void members_sort(members_t *members)
{
	if (members->count > 1) {
		qsort(members->changes, members->count, sizeof(*members->changes), members_compare);
	}
}

void members_done(members_t *members)
{
	for (size_t i = 0; i < members->count; i++) {
		free(members->changes[i].name);
		free(members->changes[i].member);
	}
	free(members->changes);
	*members = (members_t){ .count = 0 };
}

/* ---- Sets ---- */

void zone_set_each_missing(zone_t *const *a, size_t a_count, zone_t *const *b, size_t b_count,
		void (*visit)(entry_t *entry, void *ctx), void *ctx)
{
	size_t at = 0;
	for (size_t i = 0; i < a_count; i++) {
		while (at < b_count && b[at] != a[i] && knot_name_cmp(zone_name(b[at]), zone_name(a[i])) < 0) {
			at++;
		}
		if (at < b_count && b[at] == a[i]) {
			at++;
		} else {
			visit(entry_of(a[i]), ctx);
		}
	}
}

static void zone_set_free_entry(entry_t *entry, void *ctx)
{
	(void)ctx;
	entry_free(entry);
}

void zone_set_done(zone_set_t *set)
{
	free(set->zones);
	free(set->leaving);
	*set = (zone_set_t){ .count = 0 };
}

void zone_set_discard(zone_set_t *set, const zonedb_t *old)
{
	if (set->zones != NULL) {
		zone_set_each_missing(set->zones, set->count, zonedb_zones(old), zonedb_count(old), zone_set_free_entry,
				NULL);
	}
	zone_set_done(set);
}

static knot_err_t zone_set_add(zone_t ***zones, size_t *count, size_t *max, zone_t *zone)
{
	if (*count == *max) {
		size_t grown_max = *max + *max / 2 + 16;
		zone_t **grown = realloc(*zones, grown_max * sizeof(zone_t *));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		*zones = grown;
		*max = grown_max;
	}
	(*zones)[(*count)++] = zone;
	return KNOT_OK;
}

/** Zones on their way into a set, in canonical order: three lists that are walked side by side. */
typedef struct {
	const conf_t *conf;
	zone_t *const *old;
	members_t *members;
	size_t conf_at, old_at, old_count, member_at, member_count;
	zone_set_t *set;
	knot_name_t catalog; /* the last one that was looked up */
	bool is_interpreted; /* it says who its members are */
} zone_set_walk_t;

/* Most members follow one of the same catalog. */
static bool zone_set_is_interpreted(zone_set_walk_t *walk, const zone_member_t *member)
{
	knot_name_t catalog = zone_member_catalog(member);
	size_t index;
	if (catalog.len != walk->catalog.len || memcmp(catalog.wire, walk->catalog.wire, catalog.len) != 0) {
		walk->catalog = catalog;
		walk->is_interpreted = conf_zone_find(walk->conf, catalog, &index) &&
				       conf_zone(walk->conf, index).catalog_role == CONF_CATALOG_INTERPRET;
	}
	return walk->is_interpreted;
}

static knot_err_t zone_set_add_new(zone_set_t *set, knot_name_t name, zone_t **ret_zone)
{
	entry_t *entry = entry_new(name);
	if (entry == NULL) {
		return KNOT_ENOMEM;
	}
	*ret_zone = entry_zone(entry);
	knot_err_t err = zone_set_add(&set->zones, &set->count, &set->max, *ret_zone);
	if (err != KNOT_OK) {
		entry_free(entry);
	}
	set->fresh += err == KNOT_OK;
	return err;
}

static knot_err_t zone_set_add_member(zone_set_t *set, member_change_t *change)
{
	knot_err_t err = zone_set_add_new(set, members_name(change), &change->zone);
	if (err == KNOT_OK) {
		(void)zone_set_member(change->zone, change->member);
		change->member = NULL;
	}
	return err;
}

/* The zone `name`, which is the next of some of the lists. */
static knot_err_t zone_set_step(
		zone_set_walk_t *walk, knot_name_t name, zone_t *old, member_change_t *change, bool is_configured)
{
	zone_set_t *set = walk->set;
	const zone_member_t *member = old != NULL ? zone_member(old) : NULL;
	if (is_configured) {
		zone_t *fresh;
		if (change != NULL) {
			change->kind = MEMBER_GOES;
		}
		knot_err_t err = member != NULL ? zone_set_add(&set->leaving, &set->leaving_count, &set->leaving_max,
								  old)
						: KNOT_OK;
		return err != KNOT_OK ? err
		       : old == NULL  ? zone_set_add_new(set, name, &fresh)
				      : zone_set_add(&set->zones, &set->count, &set->max, old);
	}
	if (member != NULL && zone_set_is_interpreted(walk, member)) {
		return zone_set_add(&set->zones, &set->count, &set->max, old);
	}
	/* A zone that was configured goes with its configuration, and another comes. */
	bool comes = change != NULL && zone_set_is_interpreted(walk, change->member);
	return comes ? zone_set_add_member(set, change) : KNOT_OK;
}

static void zone_set_take_smaller(knot_name_t *least, bool *has, knot_name_t name)
{
	if (!*has || knot_name_cmp(name, *least) < 0) {
		*least = name;
		*has = true;
	}
}

static bool zone_set_is_next(knot_name_t least, knot_name_t name)
{
	return least.len == name.len && memcmp(least.wire, name.wire, name.len) == 0;
}

static knot_err_t zone_set_walk(zone_set_walk_t *walk)
{
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK) {
		knot_name_t least = { 0 }, of_conf = { 0 }, of_old = { 0 }, of_member = { 0 };
		bool has = false;
		if (walk->conf_at < walk->conf->zone_count) {
			of_conf = conf_zone_name(walk->conf, walk->conf_at);
			zone_set_take_smaller(&least, &has, of_conf);
		}
		if (walk->old_at < walk->old_count) {
			of_old = zone_name(walk->old[walk->old_at]);
			zone_set_take_smaller(&least, &has, of_old);
		}
		if (walk->member_at < walk->member_count) {
			of_member = members_name(&walk->members->changes[walk->member_at]);
			zone_set_take_smaller(&least, &has, of_member);
		}
		if (!has) {
			break;
		}
		bool is_configured = zone_set_is_next(least, of_conf), is_old = zone_set_is_next(least, of_old);
		bool is_member = zone_set_is_next(least, of_member);
		zone_t *old = is_old ? walk->old[walk->old_at] : NULL;
		member_change_t *change = is_member ? &walk->members->changes[walk->member_at] : NULL;
		err = zone_set_step(walk, least, old, change, is_configured);
		walk->conf_at += is_configured;
		walk->old_at += is_old;
		walk->member_at += is_member;
	}
	return err;
}

knot_err_t zone_set_merge(const conf_t *conf, const zonedb_t *old, members_t *members, zone_set_t *ret_set)
{
	zone_set_t set = { .max = conf->zone_count + zonedb_count(old) + (members != NULL ? members->count : 0) + 1 };
	set.zones = malloc(set.max * sizeof(zone_t *));
	if (set.zones == NULL) {
		return KNOT_ENOMEM;
	}
	zone_set_walk_t walk = { .conf = conf,
		.old = zonedb_zones(old),
		.old_count = zonedb_count(old),
		.members = members,
		.member_count = members != NULL ? members->count : 0,
		.set = &set };
	knot_err_t err = zone_set_walk(&walk);
	if (err != KNOT_OK) {
		zone_set_discard(&set, old);
		return err;
	}
	if (set.fresh == 0 && set.count == walk.old_count) {
		free(set.zones);
		set.zones = NULL;
	}
	*ret_set = set;
	return KNOT_OK;
}

/* ---- Members that change under the same configuration ---- */

/* Where `name` is in the old set, or would be. */
static size_t zone_set_find(zone_t *const *zones, size_t low, size_t count, knot_name_t name, bool *ret_is_there)
{
	size_t high = count;
	*ret_is_there = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = knot_name_cmp(name, zone_name(zones[middle]));
		if (order == 0) {
			*ret_is_there = true;
			return middle;
		}
		if (order < 0) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low;
}

static void zone_set_copy(zone_set_t *set, zone_t *const *zones, size_t from, size_t to)
{
	memcpy(set->zones + set->count, zones + from, (to - from) * sizeof(zone_t *));
	set->count += to - from;
}

/* What a zone had is kept with the change, as the zone goes before its data do. */
static knot_err_t zone_set_note_member(member_change_t *change, const zone_member_t *member)
{
	change->member = zone_member_new(zone_member_catalog(member), zone_member_group(member));
	return change->member != NULL ? KNOT_OK : KNOT_ENOMEM;
}

knot_err_t zone_set_change(const zonedb_t *old, members_t *members, zone_set_t *ret_set)
{
	zone_t *const *zones = zonedb_zones(old);
	size_t count = zonedb_count(old), done = 0;
	zone_set_t set = { .max = count + members->count + 1 };
	set.zones = malloc(set.max * sizeof(zone_t *));
	knot_err_t err = set.zones != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (size_t i = 0; i < members->count && err == KNOT_OK; i++) {
		member_change_t *change = &members->changes[i];
		bool is_there;
		size_t at = zone_set_find(zones, done, count, members_name(change), &is_there);
		zone_set_copy(&set, zones, done, at);
		done = at;
		const zone_member_t *member = is_there ? zone_member(zones[at]) : NULL;
		if (member != NULL && change->kind == MEMBER_GOES) {
			err = zone_set_note_member(change, member);
			change->zone = zones[at];
			done++;
		} else if (member != NULL) {
			change->zone = zones[at]; /* the database had forgotten it */
			change->kind = change->kind == MEMBER_COMES ? MEMBER_STAYS : change->kind;
		} else if (!is_there && change->kind != MEMBER_GOES) {
			change->kind = MEMBER_COMES;
			err = zone_set_add_member(&set, change);
		}
	}
	if (err != KNOT_OK) {
		zone_set_discard(&set, old);
		return err;
	}
	zone_set_copy(&set, zones, done, count);
	*ret_set = set;
	return KNOT_OK;
}
