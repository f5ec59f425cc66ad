/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/catalog/generate.h"

#include "src/catalog/interpret.h"

#include "libknot/base/siphash.h"
#include "libknot/rr/rrtype.h"

#include <assert.h>

/* Of all records, as Knot's: secondaries get changes by NOTIFY, and no resolver asks. */
enum { GENERATE_TTL = 0 };

void catalog_id(knot_name_t member, uint64_t since_s, char ret_id[static CATALOG_ID_LEN])
{
	uint8_t hashed[KNOT_NAME_MAX + 8];
	knot_name_lower(member, hashed);
	store_be64(hashed + member.len, since_s);
	uint64_t hash = knot_siphash24(0, 0, (knot_bytes_t){ hashed, member.len + 8u });
	for (unsigned i = 0; i < CATALOG_ID_LEN; i += 2) {
		unsigned byte = hash >> 4 * i & 0xff; /* least significant first */
		ret_id[i] = "0123456789abcdef"[byte >> 4];
		ret_id[i + 1] = "0123456789abcdef"[byte & 15];
	}
}

/* The name of labels, in wire form without the root label, below a catalog. */
static knot_err_t generate_name(const uint8_t *labels, size_t len, knot_name_t catalog,
		uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	if (len + catalog.len > KNOT_NAME_MAX) {
		return KNOT_EOUTOFZONE;
	}
	memcpy(ret_wire, labels, len);
	memcpy(ret_wire + len, catalog.wire, catalog.len);
	*ret_name = knot_name_of(ret_wire);
	return KNOT_OK;
}

/* Add a record; that it is there already is no failure. */
static knot_err_t generate_put(zone_txn_t *txn, knot_name_t owner, uint16_t type, knot_bytes_t rdata)
{
	knot_err_t err = zone_txn_put(txn, owner, type, GENERATE_TTL, rdata);
	return err == KNOT_EISRECORD ? KNOT_OK : err;
}

/* ---- The head ---- */

knot_err_t catalog_put_head(zone_txn_t *txn, knot_name_t catalog, uint32_t serial)
{
	static const uint8_t invalid[] = "\7invalid", version[] = "\7version", two[] = { 1, '2' };
	uint8_t soa[2 * sizeof(invalid) + 20], wire[KNOT_NAME_MAX];
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ soa, sizeof(soa) });
	knot_write(&w, invalid, sizeof(invalid));
	knot_write(&w, invalid, sizeof(invalid));
	const uint32_t numbers[] = { serial, 3600, 600, 2147483646, 0 }; /* RFC 9432 4.1: refresh, retry, expire */
	for (size_t i = 0; i < KNOT_LEN(numbers); i++) {
		knot_write_u32(&w, numbers[i]);
	}
	assert(!w.failed);
	knot_name_t owner;
	knot_err_t err = generate_name(version, sizeof(version) - 1, catalog, wire, &owner);
	if (err == KNOT_OK) {
		err = generate_put(txn, catalog, KNOT_TYPE_SOA, (knot_bytes_t){ soa, sizeof(soa) });
	}
	if (err == KNOT_OK) {
		err = generate_put(txn, catalog, KNOT_TYPE_NS, (knot_bytes_t){ invalid, sizeof(invalid) });
	}
	return err == KNOT_OK ? generate_put(txn, owner, KNOT_TYPE_TXT, (knot_bytes_t){ two, sizeof(two) }) : err;
}

/* ---- Members ---- */

/* Where the records of a member are. */
typedef struct {
	knot_name_t node, group; /* of the next */
	uint8_t node_wire[KNOT_NAME_MAX], group_wire[KNOT_NAME_MAX];
} generate_place_t;

static knot_err_t generate_place(knot_name_t catalog, const catalog_listing_t *listing, generate_place_t *ret_place)
{
	static const uint8_t zones[] = "\5zones";
	uint8_t labels[7 + CATALOG_ID_LEN + sizeof(zones)] = "\5group\20";
	catalog_id(listing->member, listing->since_s, (char *)labels + 7);
	memcpy(labels + 7 + CATALOG_ID_LEN, zones, sizeof(zones));
	size_t len = sizeof(labels) - 1;
	knot_err_t err = generate_name(labels, len, catalog, ret_place->group_wire, &ret_place->group);
	if (err != KNOT_OK) {
		return err;
	}
	return generate_name(labels + 6, len - 6, catalog, ret_place->node_wire, &ret_place->node);
}

/* What is there of a type at a name is removed. */
static knot_err_t generate_clear(zone_txn_t *txn, knot_name_t owner, uint16_t type)
{
	knot_err_t err = zone_txn_remove_all(txn, owner, type);
	return err == KNOT_ENONODE || err == KNOT_ENOENT ? KNOT_OK : err;
}

typedef struct {
	knot_bytes_t wanted;
	bool has_wanted, has_other;
} generate_group_t;

static bool generate_note_group(const zone_rr_t *rr, void *ctx)
{
	generate_group_t *group = ctx;
	if (rr->type == KNOT_TYPE_TXT) {
		bool is_wanted = group->wanted.len > 0 && rr->rdata.len == group->wanted.len &&
				 memcmp(rr->rdata.data, group->wanted.data, rr->rdata.len) == 0;
		group->has_wanted = group->has_wanted || is_wanted;
		group->has_other = group->has_other || !is_wanted;
	}
	return true;
}

static knot_err_t generate_put_group(zone_txn_t *txn, knot_name_t owner, knot_bytes_t group)
{
	uint8_t text[1 + CATALOG_GROUP_MAX] = { (uint8_t)group.len };
	assert(group.len <= CATALOG_GROUP_MAX);
	if (group.len > 0) {
		memcpy(text + 1, group.data, group.len);
	}
	generate_group_t found = { .wanted = { text, group.len > 0 ? 1 + group.len : 0 } };
	knot_err_t err = zone_txn_each_of(txn, owner, generate_note_group, &found);
	if (err != KNOT_OK && err != KNOT_ENONODE) {
		return err;
	}
	if (found.has_other) {
		err = generate_clear(txn, owner, KNOT_TYPE_TXT);
		if (err != KNOT_OK) {
			return err;
		}
	}
	bool is_missing = group.len > 0 && (found.has_other || !found.has_wanted);
	return is_missing ? generate_put(txn, owner, KNOT_TYPE_TXT, found.wanted) : KNOT_OK;
}

knot_err_t catalog_put_member(zone_txn_t *txn, knot_name_t catalog, const catalog_listing_t *listing)
{
	generate_place_t place;
	uint8_t target[KNOT_NAME_MAX];
	knot_err_t err = generate_place(catalog, listing, &place);
	if (err != KNOT_OK) {
		return err;
	}
	knot_name_lower(listing->member, target);
	err = generate_put(txn, place.node, KNOT_TYPE_PTR, (knot_bytes_t){ target, listing->member.len });
	return err == KNOT_OK ? generate_put_group(txn, place.group, listing->group) : err;
}

/* The owner of a listed member's group. */
static knot_err_t generate_group_name(knot_name_t owner, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	static const uint8_t group[] = "\5group";
	return generate_name(group, sizeof(group) - 1, owner, ret_wire, ret_name);
}

knot_err_t catalog_drop_member(zone_txn_t *txn, const catalog_member_t *listed)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t group;
	knot_err_t err = generate_group_name(listed->owner, wire, &group);
	err = err == KNOT_OK ? generate_clear(txn, group, KNOT_TYPE_TXT) : err;
	return err == KNOT_OK ? generate_clear(txn, listed->owner, KNOT_TYPE_PTR) : err;
}

/* ---- All members ---- */

/* The list as it is and as it is to be, side by side. */
typedef struct {
	zone_txn_t *txn;
	knot_name_t catalog;
	catalog_set_t *listed, *wanted;
	size_t listed_at, wanted_at;
	const catalog_times_t *times;
} generate_walk_t;

/* The next member; false: there is none. */
static bool generate_peek(const catalog_set_t *set, size_t at, catalog_member_t *ret_member)
{
	bool is_there = at < set->count;
	if (is_there) {
		*ret_member = catalog_set_get(set, at);
	}
	return is_there;
}

static knot_err_t generate_keep(const generate_walk_t *walk, const catalog_member_t *listed, knot_bytes_t group)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t owner;
	if (!listed->has_more_groups && listed->group.len == group.len &&
			(group.len == 0 || memcmp(listed->group.data, group.data, group.len) == 0)) {
		return KNOT_OK;
	}
	knot_err_t err = generate_group_name(listed->owner, wire, &owner);
	return err == KNOT_OK ? generate_put_group(walk->txn, owner, group) : err;
}

/* Drop what is listed of the member at the walk's place, but for its first `kept` entries. */
static knot_err_t generate_drop(generate_walk_t *walk, knot_name_t member, unsigned kept)
{
	knot_err_t err = KNOT_OK;
	catalog_member_t listed;
	for (unsigned i = 0; err == KNOT_OK && generate_peek(walk->listed, walk->listed_at, &listed) &&
			     catalog_cmp(listed.member, member) == 0;
			i++) {
		err = i < kept ? KNOT_OK : catalog_drop_member(walk->txn, &listed);
		walk->listed_at++;
	}
	return err;
}

static knot_err_t generate_add(const generate_walk_t *walk, const catalog_member_t *wanted)
{
	const catalog_listing_t listing = { .member = wanted->member,
		.since_s = walk->times->since(wanted->member, walk->times->ctx),
		.group = wanted->group };
	return catalog_put_member(walk->txn, walk->catalog, &listing);
}

/* The next member of either list. */
static knot_err_t generate_step(generate_walk_t *walk, bool *ret_goes_on)
{
	catalog_member_t listed, wanted;
	bool is_listed = generate_peek(walk->listed, walk->listed_at, &listed);
	bool is_wanted = generate_peek(walk->wanted, walk->wanted_at, &wanted);
	*ret_goes_on = is_listed || is_wanted;
	if (!*ret_goes_on) {
		return KNOT_OK;
	}
	int order = !is_listed ? 1 : !is_wanted ? -1 : catalog_cmp(listed.member, wanted.member);
	if (order < 0) {
		walk->times->gone(listed.member, walk->times->ctx);
		return generate_drop(walk, listed.member, 0);
	}
	walk->wanted_at++;
	if (order > 0) {
		return generate_add(walk, &wanted);
	}
	knot_err_t err = generate_keep(walk, &listed, wanted.group);
	return err == KNOT_OK ? generate_drop(walk, wanted.member, 1) : err;
}

knot_err_t catalog_list_members(zone_txn_t *txn, knot_name_t catalog, const zone_contents_t *current,
		catalog_set_t *wanted, const catalog_times_t *times)
{
	catalog_set_t listed = { 0 };
	generate_walk_t walk = { .txn = txn, .catalog = catalog, .listed = &listed, .wanted = wanted, .times = times };
	bool goes_on = true;
	knot_err_t err = current != NULL ? catalog_read(current, &listed) : KNOT_OK;
	if (err == KNOT_OK) {
		catalog_set_sort(&listed);
		catalog_set_sort(wanted);
	}
	while (err == KNOT_OK && goes_on) {
		err = generate_step(&walk, &goes_on);
	}
	catalog_set_done(&listed);
	return err;
}
