/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transaction keeps the records of the names that it touches, expanded. Building makes nodes of these and of what
 * depends on them (patch.h). What that can't do collects the records of all other names of the base, too, and compiles
 * the zone from scratch (compile.h). Memory is allocated piece by piece: there may be a transaction for each of 100,000
 * zones.
 */
#include "src/zone/txn.h"

#include "src/zone/compact.h"
#include "src/zone/compile.h"
#include "src/zone/patch.h"
#include "src/zone/record_set.h"
#include "src/zone/renew.h"
#include "src/zone/undo.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>

/* A touched name and all of its records. The bytes of the name, in lower case, and then those of its key lie behind. */
typedef struct {
	knot_name_t owner;
	const uint8_t *key; /* knot_name_key(), by which edits are in order: faster to compare than names */
	size_t key_len;
	zone_record_set_t records; /* owned */
	unsigned node_count;       /* nodes that the base has of the name: NSEC3 records have one of their own */
	unsigned filled_number;    /* txn->filled_number: it is in txn->filled */
	/* By tree of the base, see see_base_below(): each name between this one and the one here is touched, or has no
	   records there. 0: not known; SKIP_END: the rest of the tree. */
	zone_ref_t skips[2];
} edit_t;

#define SKIP_END ((zone_ref_t)-1) /* of no node */

struct zone_txn {
	const zone_contents_t *base; /* borrowed */
	zone_build_params_t params;
	void *edits;            /* owned: tsearch() tree of edit_t by owner */
	void *dnames;           /* owned: the same of those that have a DNAME, or had one since they were touched */
	void *filled;           /* owned: the same of those that have records, and some that have none any more */
	unsigned filled_number; /* of this `filled`; 0: there is none yet */
	unsigned filled_count;  /* there have been so many */
	edit_t *recent;         /* the name that was touched last */
	size_t edit_count;
	size_t node_count;  /* of all edits */
	zone_undo_t undo;   /* steps since the first mark */
	knot_name_t origin; /* of wire[] */
	uint8_t wire[];
};

static int cmp_edits(const void *va, const void *vb)
{
	const edit_t *a = va, *b = vb;
	size_t min = a->key_len < b->key_len ? a->key_len : b->key_len;
	int order = memcmp(a->key, b->key, min);
	return order != 0 ? order : (a->key_len > b->key_len) - (a->key_len < b->key_len);
}

static void free_edit(void *at)
{
	edit_t *edit = at;
	zone_record_set_clear(&edit->records);
	free(edit);
}

static void keep_edit(void *at)
{
	(void)at;
}

void zone_txn_discard(zone_txn_t *txn)
{
	if (txn != NULL) {
		zone_undo_clear(&txn->undo);
		tdestroy(txn->dnames, keep_edit);
		tdestroy(txn->filled, keep_edit);
		tdestroy(txn->edits, free_edit);
		free(txn);
	}
}

knot_err_t zone_txn_begin(const zone_contents_t *base, const zone_build_params_t *params, zone_txn_t **ret_txn)
{
	assert(base == NULL || knot_name_eq(zone_node_owner(base->apex), params->origin));
	zone_txn_t *txn = calloc(1, sizeof(*txn) + params->origin.len);
	if (txn == NULL) {
		return KNOT_ENOMEM;
	}
	txn->base = base;
	txn->params = *params;
	knot_name_lower(params->origin, txn->wire);
	txn->origin = (knot_name_t){ txn->wire, params->origin.len, params->origin.label_count };
	txn->params.origin = txn->origin;
	*ret_txn = txn;
	return KNOT_OK;
}

/* ---- Touched names ---- */

/* A name in lower case, to search with. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX], key[KNOT_NAME_KEY_MAX];
	edit_t edit;
} wanted_t;

static edit_t *find_edit(const zone_txn_t *txn, knot_name_t owner, wanted_t *wanted)
{
	knot_name_lower(owner, wanted->wire);
	wanted->edit = (edit_t){ .owner = { wanted->wire, owner.len, owner.label_count },
		.key = wanted->key,
		.key_len = knot_name_key(owner, wanted->key) };
	if (txn->recent != NULL && knot_name_eq(txn->recent->owner, owner)) {
		return txn->recent;
	}
	edit_t **found = tfind(&wanted->edit, &txn->edits, cmp_edits);
	return found != NULL ? *found : NULL;
}

static edit_t *edit_new(const wanted_t *wanted)
{
	knot_name_t owner = wanted->edit.owner;
	edit_t *edit = malloc(sizeof(*edit) + owner.len + wanted->edit.key_len);
	if (edit != NULL) {
		uint8_t *wire = (uint8_t *)(edit + 1), *key = wire + owner.len;
		memcpy(wire, wanted->wire, owner.len);
		memcpy(key, wanted->key, wanted->edit.key_len);
		*edit = (edit_t){
			.owner = { wire, owner.len, owner.label_count }, .key = key, .key_len = wanted->edit.key_len
		};
	}
	return edit;
}

static unsigned edit_count_nodes(const zone_contents_t *base, knot_name_t owner)
{
	const zone_tree_t *const trees[] = { &base->auth, zone_glue_tree(base), zone_nsec3_tree(base) };
	unsigned count = 0;
	for (size_t i = 0; i < KNOT_LEN(trees); i++) {
		count += zone_tree_find(&base->arena, trees[i], owner) != 0;
	}
	return count;
}

/* Remember a name that has a DNAME. */
static knot_err_t txn_note_dname(zone_txn_t *txn, edit_t *edit)
{
	return tsearch(edit, &txn->dnames, cmp_edits) != NULL ? KNOT_OK : KNOT_ENOMEM;
}

/* Keep in mind that the name has records, or will have. */
static knot_err_t txn_note_filled(zone_txn_t *txn, edit_t *edit)
{
	if (edit->filled_number == txn->filled_number) {
		return KNOT_OK; /* also: there is no such tree yet */
	}
	if (tsearch(edit, &txn->filled, cmp_edits) == NULL) {
		return KNOT_ENOMEM;
	}
	edit->filled_number = txn->filled_number;
	return KNOT_OK;
}

/* An edit with the base's records. NULL in *ret_edit without an error: there are none, and an empty one isn't wanted.
 */
static knot_err_t edit_make(zone_txn_t *txn, const wanted_t *wanted, bool may_be_empty, edit_t **ret_edit)
{
	unsigned node_count = txn->base != NULL ? edit_count_nodes(txn->base, wanted->edit.owner) : 0;
	*ret_edit = NULL;
	if (node_count == 0 && !may_be_empty) {
		return KNOT_OK;
	}
	edit_t *edit = edit_new(wanted);
	if (edit == NULL) {
		return KNOT_ENOMEM;
	}
	edit->node_count = node_count;
	knot_err_t err = node_count > 0 ? zone_record_set_load(txn->base, edit->owner, &edit->records) : KNOT_OK;
	if (err != KNOT_OK || tsearch(edit, &txn->edits, cmp_edits) == NULL) {
		free_edit(edit);
		return KNOT_ENOMEM;
	}
	txn->edit_count++;
	txn->node_count += node_count;
	*ret_edit = edit;
	return txn_note_filled(txn, edit);
}

/* The edit of a name, made from the base's records at first. To take records away may_be_empty is false: a name without
 * any isn't touched for that, and *ret_edit is NULL. */
static knot_err_t edit_of(zone_txn_t *txn, knot_name_t owner, bool may_be_empty, edit_t **ret_edit)
{
	wanted_t wanted;
	if (!knot_name_in(owner, txn->origin)) {
		return KNOT_EOUTOFZONE;
	}
	edit_t *edit = find_edit(txn, owner, &wanted);
	knot_err_t err = edit == NULL ? edit_make(txn, &wanted, may_be_empty, &edit) : KNOT_OK;
	*ret_edit = edit;
	if (edit == NULL || err != KNOT_OK) {
		return err;
	}
	txn->recent = edit;
	return zone_record_set_first(&edit->records, KNOT_TYPE_DNAME) != NULL ? txn_note_dname(txn, edit) : KNOT_OK;
}

/* Put a record among those of its name, or find it there. Signatures at one name are of different RRsets: they don't
 * share a TTL. */
static knot_err_t txn_put_record(zone_txn_t *txn, edit_t *edit, zone_record_t *record)
{
	zone_record_set_t *set = &edit->records;
	knot_err_t err = zone_undo_reserve(&txn->undo, 2);
	err = err == KNOT_OK ? zone_record_set_reserve(set) : err;
	if (err != KNOT_OK) {
		return err;
	}
	size_t pos;
	bool is_there = zone_record_set_find(set, record, &pos);
	zone_record_t *same = is_there ? set->at[pos] : NULL;
	zone_record_t *first = record->type == KNOT_TYPE_RRSIG ? same : zone_record_set_first(set, record->type);
	if (first != NULL && first->ttl != record->ttl) {
		zone_undo_note_ttl(&txn->undo, first, first->ttl);
		first->ttl = record->ttl;
	}
	if (is_there) {
		return KNOT_EISRECORD;
	}
	zone_record_set_put(set, pos, record);
	zone_undo_note_added(&txn->undo, set, record);
	return KNOT_OK;
}

knot_err_t zone_txn_put(zone_txn_t *txn, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	edit_t *edit;
	knot_err_t err = edit_of(txn, owner, true, &edit);
	err = err == KNOT_OK ? txn_note_filled(txn, edit) : err;
	err = err == KNOT_OK && type == KNOT_TYPE_DNAME ? txn_note_dname(txn, edit) : err;
	if (err != KNOT_OK) {
		return err;
	}
	zone_record_t *record = zone_record_new(type, ttl, rdata);
	if (record == NULL) {
		return KNOT_ENOMEM;
	}
	err = txn_put_record(txn, edit, record);
	if (err != KNOT_OK) {
		free(record);
	}
	return err;
}

knot_err_t zone_txn_remove(zone_txn_t *txn, knot_name_t owner, uint16_t type, knot_bytes_t rdata)
{
	edit_t *edit;
	knot_err_t err = edit_of(txn, owner, false, &edit);
	err = err == KNOT_OK ? zone_undo_reserve(&txn->undo, 1) : err;
	if (err != KNOT_OK) {
		return err;
	}
	zone_record_t *wanted = zone_record_new(type, 0, rdata);
	if (wanted == NULL) {
		return KNOT_ENOMEM;
	}
	size_t pos;
	bool found = edit != NULL && zone_record_set_find(&edit->records, wanted, &pos);
	free(wanted);
	if (!found) {
		return KNOT_ENORECORD;
	}
	zone_record_t *record = zone_record_set_take(&edit->records, pos);
	zone_undo_note_removed(&txn->undo, &edit->records, record);
	return KNOT_OK;
}

/* Take the records [begin..end) out, for which there is room to be noted. */
static void txn_remove_range(zone_txn_t *txn, zone_record_set_t *set, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		zone_undo_note_removed(&txn->undo, set, set->at[i]);
	}
	memmove(set->at + begin, set->at + end, (set->count - end) * sizeof(*set->at));
	set->count -= end - begin;
}

knot_err_t zone_txn_remove_all(zone_txn_t *txn, knot_name_t owner, uint16_t type)
{
	edit_t *edit;
	size_t begin, end;
	knot_err_t err = edit_of(txn, owner, false, &edit);
	if (err != KNOT_OK) {
		return err;
	}
	if (edit == NULL || edit->records.count == 0) {
		return KNOT_ENONODE;
	}
	zone_record_set_t *set = &edit->records;
	zone_record_set_range(set, type == 0 ? KNOT_TYPE_SOA : type, &begin, &end);
	err = zone_undo_reserve(&txn->undo, type == 0 ? set->count : end - begin);
	if (err != KNOT_OK) {
		return err;
	}
	if (type != 0) {
		txn_remove_range(txn, set, begin, end);
		return end > begin ? KNOT_OK : KNOT_ENOENT;
	}
	txn_remove_range(txn, set, end, set->count); /* all but SOA */
	txn_remove_range(txn, set, 0, begin);
	return KNOT_OK;
}

/* ---- Marks ---- */

size_t zone_txn_mark(zone_txn_t *txn)
{
	txn->undo.is_kept = true;
	return txn->undo.count;
}

void zone_txn_rollback(zone_txn_t *txn, size_t mark)
{
	zone_undo_back(&txn->undo, mark);
	/* Names may have records again, and noting them could fail: it is done when it's asked for. */
	tdestroy(txn->filled, keep_edit);
	txn->filled = NULL;
	txn->filled_number = 0;
}

void zone_txn_unmark(zone_txn_t *txn)
{
	zone_undo_clear(&txn->undo);
}

/* ---- Reading ---- */

knot_name_t zone_txn_origin(const zone_txn_t *txn)
{
	return txn->origin;
}

const zone_contents_t *zone_txn_base(const zone_txn_t *txn)
{
	return txn->base;
}

bool zone_txn_is_touched(const zone_txn_t *txn, knot_name_t owner)
{
	wanted_t wanted;
	return find_edit(txn, owner, &wanted) != NULL;
}

/* Edits in canonical order. */
typedef struct {
	edit_t **edits; /* owned */
	size_t count, max;
	bool failed;
} edits_t;

static void list_edit(const void *at, VISIT visit, void *ctx)
{
	edits_t *list = ctx;
	if ((visit != postorder && visit != leaf) || list->failed) {
		return;
	}
	if (list->count == list->max) {
		size_t max = 2 * list->max + 16;
		edit_t **grown = realloc(list->edits, max * sizeof(*grown));
		if (grown == NULL) {
			list->failed = true;
			return;
		}
		list->edits = grown;
		list->max = max;
	}
	list->edits[list->count++] = *(edit_t *const *)at;
}

static knot_err_t list_edits(const zone_txn_t *txn, edits_t *ret_list)
{
	edits_t list = { 0 };
	twalk_r(txn->edits, list_edit, &list);
	if (list.failed) {
		free(list.edits);
		return KNOT_ENOMEM;
	}
	*ret_list = list;
	return KNOT_OK;
}

/* True: go on. */
static bool each_of_edit(const edit_t *edit, zone_rr_cb visit, void *ctx)
{
	const zone_record_set_t *set = &edit->records;
	bool goes_on = true;
	uint32_t ttl = 0;
	for (size_t i = 0; goes_on && i < set->count; i++) {
		const zone_record_t *r = set->at[i];
		bool is_first = i == 0 || set->at[i - 1]->type != r->type || r->type == KNOT_TYPE_RRSIG;
		ttl = is_first ? r->ttl : ttl;
		zone_rr_t rr = { edit->owner, r->type, ttl, { r->rdata, r->rdata_len } };
		goes_on = visit(&rr, ctx);
	}
	return goes_on;
}

/* A walk through the base's names and the touched ones in one canonical order. */
typedef struct {
	const zone_txn_t *txn;
	edits_t list;
	size_t at; /* of the next edit to show */
	uint8_t *scratch;
	zone_rr_cb visit;
	void *ctx;
	knot_err_t err;
} walk_t;

/* Show edits in front of `owner`, all for wire NULL. True: go on. */
static bool each_edit_before(walk_t *walk, knot_name_t owner)
{
	bool goes_on = true;
	while (goes_on && walk->at < walk->list.count) {
		const edit_t *edit = walk->list.edits[walk->at];
		if (owner.wire != NULL && knot_name_cmp(edit->owner, owner) >= 0) {
			break;
		}
		walk->at++;
		goes_on = each_of_edit(edit, walk->visit, walk->ctx);
	}
	return goes_on;
}

static void walk_all(walk_t *walk, zone_node_iter_t *iter)
{
	const zone_contents_t *base = walk->txn->base;
	bool goes_on = true, is_chain = false;
	if (base != NULL) {
		zone_nodes_begin(base, iter);
		for (const zone_node_t *node; goes_on && (node = zone_nodes_next(base, iter)) != NULL;) {
			knot_name_t owner = zone_node_owner(node);
			/* The NSEC3 chain comes behind, in an order of its own: then all edits have been shown. */
			is_chain = is_chain || zone_tree_find(&base->arena, zone_nsec3_tree(base), owner) != 0;
			goes_on = each_edit_before(walk, is_chain ? (knot_name_t){ 0 } : owner);
			wanted_t wanted;
			if (goes_on && find_edit(walk->txn, owner, &wanted) == NULL) {
				goes_on = zone_each_of_node(base, node, walk->scratch, walk->visit, walk->ctx);
			}
		}
	}
	if (goes_on) {
		(void)each_edit_before(walk, (knot_name_t){ 0 });
	}
}

knot_err_t zone_txn_each(const zone_txn_t *txn, zone_rr_cb visit, void *ctx)
{
	walk_t walk = { .txn = txn, .visit = visit, .ctx = ctx, .err = KNOT_OK };
	knot_err_t err = list_edits(txn, &walk.list);
	if (err != KNOT_OK) {
		return err;
	}
	zone_node_iter_t *iter = malloc(sizeof(*iter));
	walk.scratch = malloc(KNOT_RDATA_MAX);
	if (iter != NULL && walk.scratch != NULL) {
		walk_all(&walk, iter);
	} else {
		walk.err = KNOT_ENOMEM;
	}
	free(iter);
	free(walk.scratch);
	free(walk.list.edits);
	return walk.err;
}

/* In any tree: an empty non-terminal may have the name of an NSEC3 record. */
static bool base_has_records(const zone_contents_t *base, knot_name_t owner)
{
	const zone_tree_t *const trees[] = { &base->auth, zone_glue_tree(base), zone_nsec3_tree(base) };
	bool has_records = false;
	for (size_t i = 0; !has_records && i < KNOT_LEN(trees); i++) {
		zone_ref_t ref = zone_tree_find(&base->arena, trees[i], owner);
		has_records = ref != 0 && zone_node_rrset_count(zone_at(&base->arena, ref)) > 0;
	}
	return has_records;
}

knot_err_t zone_txn_each_of(const zone_txn_t *txn, knot_name_t owner, zone_rr_cb visit, void *ctx)
{
	wanted_t wanted;
	const edit_t *edit = find_edit(txn, owner, &wanted);
	if (edit != NULL) {
		(void)each_of_edit(edit, visit, ctx);
		return edit->records.count > 0 ? KNOT_OK : KNOT_ENONODE;
	}
	if (txn->base == NULL || !base_has_records(txn->base, wanted.edit.owner)) {
		return KNOT_ENONODE;
	}
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	(void)zone_each_of_name(txn->base, wanted.edit.owner, scratch, visit, ctx);
	free(scratch);
	return KNOT_OK;
}

typedef struct {
	uint16_t type;
	bool found;
	uint32_t ttl;
} seek_t;

static bool seek_type(const zone_rr_t *rr, void *ctx)
{
	seek_t *seek = ctx;
	if (rr->type == seek->type) {
		seek->found = true;
		seek->ttl = rr->ttl;
	}
	return !seek->found;
}

/* An RRset of the base, where nothing has to be expanded. Not of signatures, which are beside the sets that they cover.
 */
static const zone_rrset_t *find_base_set(const zone_contents_t *base, knot_name_t owner, uint16_t type)
{
	const zone_tree_t *const trees[] = { &base->auth, zone_glue_tree(base), zone_nsec3_tree(base) };
	const zone_rrset_t *set = NULL;
	for (size_t i = 0; set == NULL && i < KNOT_LEN(trees); i++) {
		zone_ref_t ref = zone_tree_find(&base->arena, trees[i], owner);
		set = ref != 0 ? zone_node_rrset(&base->arena, zone_at(&base->arena, ref), type) : NULL;
	}
	return set;
}

knot_err_t zone_txn_find_ttl(const zone_txn_t *txn, knot_name_t owner, uint16_t type, uint32_t *ret_ttl)
{
	wanted_t wanted;
	seek_t seek = { .type = type };
	knot_err_t err = KNOT_OK;
	const edit_t *edit = find_edit(txn, owner, &wanted);
	if (edit != NULL) {
		const zone_record_t *record = zone_record_set_first(&edit->records, type);
		seek = (seek_t){ type, record != NULL, record != NULL ? record->ttl : 0 };
	} else if (type == KNOT_TYPE_RRSIG) {
		err = zone_txn_each_of(txn, owner, seek_type, &seek);
	} else if (txn->base != NULL) {
		const zone_rrset_t *set = find_base_set(txn->base, wanted.edit.owner, type);
		seek = (seek_t){ type, set != NULL, set != NULL ? zone_rrset_ttl(set) : 0 };
	}
	if (seek.found) {
		*ret_ttl = seek.ttl;
	}
	return seek.found ? KNOT_OK : err == KNOT_ENOMEM ? err : KNOT_ENOENT;
}

/* ---- Names ---- */

/* To find the edit behind a key: tfind() compares with those on the way down, and the last that lies behind the key is
 * the nearest. */
typedef struct {
	edit_t edit; /* first: compared as such */
	edit_t **next;
} behind_t;

static int cmp_behind(const void *wanted, const void *at)
{
	const behind_t *behind = wanted;
	bool is_behind = cmp_edits(&behind->edit, at) < 0;
	if (is_behind) {
		*behind->next = (edit_t *)(uintptr_t)at;
	}
	return is_behind ? -1 : 1;
}

/* The nearest one that may have records. */
static edit_t *find_edit_behind(const zone_txn_t *txn, const edit_t *edit)
{
	edit_t *next = NULL;
	const behind_t behind = { *edit, &next };
	(void)tfind(&behind, &txn->filled, cmp_behind);
	return next;
}

/* Begin to keep the names with records, as there is a first question. */
static knot_err_t txn_list_filled(zone_txn_t *txn)
{
	edits_t list;
	if (txn->filled_number != 0) {
		return KNOT_OK;
	}
	knot_err_t err = list_edits(txn, &list);
	if (err != KNOT_OK) {
		return err;
	}
	txn->filled_number = ++txn->filled_count;
	for (size_t i = 0; err == KNOT_OK && i < list.count; i++) {
		err = list.edits[i]->records.count > 0 ? txn_note_filled(txn, list.edits[i]) : KNOT_OK;
	}
	free(list.edits);
	if (err != KNOT_OK) {
		tdestroy(txn->filled, keep_edit);
		txn->filled = NULL;
		txn->filled_number = 0;
	}
	return err;
}

/* True if a touched name below `owner` has records. Those that have none any more are let go, so each costs once. */
static bool see_edits_below(zone_txn_t *txn, const edit_t *owner)
{
	for (;;) {
		edit_t *edit = find_edit_behind(txn, owner);
		if (edit == NULL || !knot_name_in(edit->owner, owner->owner)) {
			return false;
		}
		if (edit->records.count > 0) {
			return true;
		}
		tdelete(edit, &txn->filled, cmp_edits);
		edit->filled_number = 0;
	}
}

/*
 * True if a name below `owner` that was not touched has records. Once touched, a name remains so; so the first touched
 * one of a walk keeps where the walk ended, and the next walk goes on there.
 */
static bool see_base_below(const zone_txn_t *txn, unsigned number, knot_name_t owner, zone_tree_iter_t *iter)
{
	const zone_tree_t *tree = number == 0 ? &txn->base->auth : zone_glue_tree(txn->base);
	const zone_arena_view_t *view = &txn->base->arena;
	edit_t *first = NULL;
	bool is_below = true, found = false;
	zone_ref_t ref = 0;
	zone_tree_seek(view, tree, owner, iter);
	while (!found && is_below && (ref = zone_tree_next(iter)) != 0) {
		const zone_node_t *node = zone_at(view, ref);
		knot_name_t name = zone_node_owner(node);
		wanted_t wanted;
		is_below = knot_name_in(name, owner);
		edit_t *edit = is_below ? find_edit(txn, name, &wanted) : NULL;
		found = is_below && name.len > owner.len && zone_node_rrset_count(node) > 0 && edit == NULL;
		first = first == NULL ? edit : first;
		zone_ref_t skip = edit != NULL ? edit->skips[number] : 0;
		if (skip == SKIP_END) {
			ref = 0;
			break;
		}
		if (skip != 0) {
			zone_tree_seek(view, tree, zone_node_owner(zone_at(view, skip)), iter);
		}
	}
	if (first != NULL) {
		first->skips[number] = ref != 0 ? ref : SKIP_END;
	}
	return found;
}

knot_err_t zone_txn_find_below(zone_txn_t *txn, knot_name_t owner)
{
	wanted_t wanted;
	if (!knot_name_in(owner, txn->origin)) {
		return KNOT_ENONODE;
	}
	knot_err_t err = txn_list_filled(txn);
	if (err != KNOT_OK) {
		return err;
	}
	(void)find_edit(txn, owner, &wanted);
	bool found = see_edits_below(txn, &wanted.edit);
	if (!found && txn->base != NULL) {
		zone_tree_iter_t *iter = malloc(sizeof(*iter));
		if (iter == NULL) {
			return KNOT_ENOMEM;
		}
		found = see_base_below(txn, 0, wanted.edit.owner, iter) ||
			see_base_below(txn, 1, wanted.edit.owner, iter);
		free(iter);
	}
	return found ? KNOT_OK : KNOT_ENONODE;
}

knot_err_t zone_txn_find(zone_txn_t *txn, knot_name_t owner)
{
	wanted_t wanted;
	if (!knot_name_in(owner, txn->origin)) {
		return KNOT_ENONODE;
	}
	const edit_t *edit = find_edit(txn, owner, &wanted);
	const zone_node_t *node =
			edit == NULL && txn->base != NULL ? zone_find_node(txn->base, wanted.edit.owner) : NULL;
	bool found = owner.len == txn->origin.len ||
		     (edit != NULL ? edit->records.count > 0 : node != NULL && zone_node_rrset_count(node) > 0);
	return found ? KNOT_OK : zone_txn_find_below(txn, owner);
}

/* The key of the name above: a part of it, as each label ends with KNOT_KEY_END, which is in no label. */
static void strip_edit(edit_t *name)
{
	assert(name->key_len > 0);
	name->owner = knot_name_strip(name->owner, 1);
	do {
		name->key_len--;
	} while (name->key_len > 0 && name->key[name->key_len - 1] != KNOT_KEY_END);
}

/* True if a touched name has a DNAME and is `name` or above it. */
static bool see_edits_dname(const zone_txn_t *txn, edit_t name)
{
	while (txn->dnames != NULL) {
		edit_t **edit = tfind(&name, &txn->dnames, cmp_edits);
		if (edit != NULL && zone_record_set_first(&(*edit)->records, KNOT_TYPE_DNAME) != NULL) {
			return true;
		}
		if (name.owner.label_count == txn->origin.label_count) {
			break;
		}
		strip_edit(&name);
	}
	return false;
}

/* True if a name that was not touched has a DNAME and is `name` or above it. */
static bool see_base_dname(const zone_txn_t *txn, const zone_tree_t *tree, edit_t name)
{
	const zone_arena_view_t *view = &txn->base->arena;
	zone_ref_t ref;
	while ((ref = zone_tree_match(view, tree, name.owner, name.key, name.key_len).encloser) != 0) {
		const zone_node_t *node = zone_at(view, ref);
		while (name.owner.label_count > zone_node_owner(node).label_count) {
			strip_edit(&name);
		}
		if ((node->flags & ZONE_NODE_DNAME) != 0 && tfind(&name, &txn->edits, cmp_edits) == NULL) {
			return true;
		}
		if (name.owner.label_count == txn->origin.label_count) {
			break;
		}
		strip_edit(&name);
	}
	return false;
}

bool zone_txn_is_below_dname(const zone_txn_t *txn, knot_name_t owner)
{
	wanted_t wanted;
	if (!knot_name_in(owner, txn->origin) || owner.len == txn->origin.len) {
		return false;
	}
	(void)find_edit(txn, owner, &wanted);
	strip_edit(&wanted.edit);
	return see_edits_dname(txn, wanted.edit) ||
	       (txn->base != NULL && (see_base_dname(txn, &txn->base->auth, wanted.edit) ||
						     see_base_dname(txn, zone_glue_tree(txn->base), wanted.edit)));
}

/* ---- Differences ---- */

typedef struct {
	const zone_txn_t *txn;
	bool added;
	bool has_soa_first; /* the SOA was shown already */
	bool only_soa;
	zone_rr_cb visit;
	void *ctx;
} diff_t;

static bool diff_visit(const zone_rr_t *rr, void *ctx)
{
	const diff_t *diff = ctx;
	bool is_soa = rr->type == KNOT_TYPE_SOA && rr->owner.len == diff->txn->origin.len;
	bool is_left_out = diff->only_soa ? !is_soa : is_soa && diff->has_soa_first;
	return is_left_out || diff->visit(rr, diff->ctx);
}

/* True: go on. */
static bool diff_edit(diff_t *diff, const edit_t *edit, knot_err_t *ret_err)
{
	zone_record_t *before = NULL;
	*ret_err = edit->node_count > 0 ? zone_records_load(diff->txn->base, edit->owner, &before) : KNOT_OK;
	if (*ret_err != KNOT_OK) {
		return false;
	}
	const zone_record_t *now = zone_record_set_link(&edit->records);
	const zone_record_t *ours = diff->added ? now : before, *theirs = diff->added ? before : now;
	bool goes_on = true;
	*ret_err = zone_records_diff(edit->owner, ours, theirs, diff_visit, diff, &goes_on);
	zone_records_free(before);
	return goes_on && *ret_err == KNOT_OK;
}

knot_err_t zone_txn_diff(const zone_txn_t *txn, bool added, zone_rr_cb visit, void *ctx)
{
	edits_t list;
	knot_err_t err = list_edits(txn, &list);
	if (err != KNOT_OK) {
		return err;
	}
	diff_t diff = { .txn = txn, .added = added, .visit = visit, .ctx = ctx, .has_soa_first = txn->base != NULL };
	wanted_t wanted;
	const edit_t *apex = find_edit(txn, txn->origin, &wanted);
	bool goes_on = true;
	if (diff.has_soa_first && apex != NULL) {
		diff.only_soa = true;
		goes_on = diff_edit(&diff, apex, &err);
		diff.only_soa = false;
	}
	for (size_t i = 0; goes_on && i < list.count; i++) {
		goes_on = diff_edit(&diff, list.edits[i], &err);
	}
	free(list.edits);
	return err;
}

static bool note_change(const zone_rr_t *rr, void *ctx)
{
	(void)rr;
	bool *changed = ctx;
	*changed = true;
	return false;
}

bool zone_txn_is_changed(const zone_txn_t *txn, knot_err_t *ret_err)
{
	bool changed = false;
	*ret_err = zone_txn_diff(txn, false, note_change, &changed);
	if (*ret_err == KNOT_OK && !changed) {
		*ret_err = zone_txn_diff(txn, true, note_change, &changed);
	}
	return *ret_err == KNOT_OK && changed;
}

/* ---- Building ---- */

typedef struct {
	zone_collect_t *collect;
	knot_err_t err;
} collecting_t;

static bool collect_rr(const zone_rr_t *rr, void *ctx)
{
	collecting_t *to = ctx;
	to->err = zone_collect_record(to->collect, rr->type, rr->ttl, rr->rdata);
	return to->err == KNOT_OK;
}

static knot_err_t collect_nodes(const zone_txn_t *txn, const zone_build_params_t *params, zone_node_iter_t *iter,
		uint8_t *scratch, zone_collect_t *collect)
{
	collecting_t to = { collect, KNOT_OK };
	size_t touched_left = txn->node_count, count = 0;
	zone_nodes_begin(txn->base, iter);
	for (const zone_node_t *node; to.err == KNOT_OK && (node = zone_nodes_next(txn->base, iter)) != NULL;) {
		if (zone_compile_stops(params, count++)) {
			return KNOT_ESTOPPED;
		}
		wanted_t wanted;
		bool is_touched = touched_left > 0 && find_edit(txn, zone_node_owner(node), &wanted) != NULL;
		touched_left -= is_touched;
		if (is_touched || zone_node_rrset_count(node) == 0) {
			continue;
		}
		to.err = zone_collect_owner(collect, zone_node_owner(node));
		if (to.err == KNOT_OK) {
			(void)zone_each_of_node(txn->base, node, scratch, collect_rr, &to);
		}
	}
	return to.err;
}

static knot_err_t collect_base(const zone_txn_t *txn, const zone_build_params_t *params, zone_collect_t *collect)
{
	if (txn->base == NULL) {
		return KNOT_OK;
	}
	zone_node_iter_t *iter = malloc(sizeof(*iter));
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	knot_err_t err = iter != NULL && scratch != NULL ? collect_nodes(txn, params, iter, scratch, collect)
							 : KNOT_ENOMEM;
	free(scratch);
	free(iter);
	return err;
}

static void collect_edit(const void *at, VISIT visit, void *ctx)
{
	collecting_t *to = ctx;
	const edit_t *edit = *(const edit_t *const *)at;
	if ((visit != postorder && visit != leaf) || edit->records.count == 0 || to->err != KNOT_OK) {
		return;
	}
	to->err = zone_collect_owner(to->collect, edit->owner);
	for (const zone_record_t *r = zone_record_set_link(&edit->records); r != NULL && to->err == KNOT_OK;
			r = r->next) {
		to->err = zone_collect_record(to->collect, r->type, r->ttl, (knot_bytes_t){ r->rdata, r->rdata_len });
	}
}

/* Everything from scratch. */
static knot_err_t txn_compile(const zone_txn_t *txn, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	zone_collect_t *collect = malloc(sizeof(*collect));
	if (collect == NULL) {
		return KNOT_ENOMEM;
	}
	zone_collect_init(collect, txn->origin);
	collecting_t edits = { collect, KNOT_OK };
	knot_err_t err = collect_base(txn, params, collect);
	if (err == KNOT_OK) {
		twalk_r(txn->edits, collect_edit, &edits);
		err = edits.err;
	}
	zone_contents_t *zone = NULL;
	err = err == KNOT_OK ? zone_compile(collect, params, &zone) : err;
	zone_collect_done(collect);
	free(collect);
	const zone_check_params_t checks = zone_build_checks(params);
	err = err == KNOT_OK ? zone_check(zone, &checks) : err;
	zone_compile_trim(err == KNOT_OK ? zone->record_count : 0);
	if (err != KNOT_OK) {
		zone_contents_free(zone);
		return err;
	}
	*ret_zone = zone;
	return KNOT_OK;
}

/* Only what changes. */
static knot_err_t txn_patch(const zone_txn_t *txn, const zone_contents_t *base, const zone_build_params_t *params,
		zone_contents_t **ret_zone)
{
	edits_t list = { 0 };
	knot_err_t err = list_edits(txn, &list);
	zone_change_t *changes = err == KNOT_OK ? calloc(list.count + 1, sizeof(*changes)) : NULL;
	if (changes == NULL) {
		free(list.edits);
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < list.count; i++) {
		changes[i] = (zone_change_t){ list.edits[i]->owner, zone_record_set_link(&list.edits[i]->records) };
	}
	const zone_check_params_t checks = zone_build_checks(params);
	err = zone_patch(base, changes, list.count, params->size_max, &checks, ret_zone);
	free(changes);
	free(list.edits);
	return err;
}

/* A patch shares less than a build from scratch, so it isn't for changes of a great part of the zone. */
static bool is_small_change(const zone_txn_t *txn, const zone_contents_t *base)
{
	size_t names = base != NULL ? (size_t)base->auth.count + zone_glue_tree(base)->count : 0;
	return txn->edit_count < names / 2;
}

knot_err_t zone_txn_build(const zone_txn_t *txn, const zone_contents_t *base, const zone_build_params_t *params,
		zone_contents_t **ret_zone)
{
	knot_err_t err = is_small_change(txn, base) ? txn_patch(txn, base, params, ret_zone) : KNOT_EAGAIN;
	if (err != KNOT_EAGAIN) {
		return err;
	}
	zone_build_params_t change = *params;
	change.should_stop = NULL; /* a change isn't given up half-way */
	return txn_compile(txn, &change, ret_zone);
}

knot_err_t zone_txn_rebuild(const zone_txn_t *txn, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	return txn_compile(txn, params, ret_zone);
}

zone_contents_t *zone_txn_freshen(zone_contents_t *take_zone)
{
	enum {
		WASTED_MIN = 64 * 1024
	}; /* bytes: what some 25 commits leave; building from scratch costs more than one */
	bool is_small = take_zone->record_count < ZONE_COMPACT_RECORDS;
	bool is_due = is_small && zone_wasted(take_zone) > WASTED_MIN && zone_needs_renewal(take_zone);
	zone_contents_t *fresh = is_due ? zone_renew(take_zone, NULL, NULL) : NULL;
	if (fresh != NULL) {
		zone_contents_free(take_zone);
	}
	return fresh != NULL ? fresh : take_zone;
}

knot_err_t zone_txn_commit(zone_txn_t *take_txn, zone_contents_t **ret_zone)
{
	knot_err_t err = zone_txn_build(take_txn, take_txn->base, &take_txn->params, ret_zone);
	zone_txn_discard(take_txn);
	if (err == KNOT_OK) {
		*ret_zone = zone_txn_freshen(*ret_zone);
	}
	return err;
}
