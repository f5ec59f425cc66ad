/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Versions that come from one another share memory, so their trees give the nodes that differ. The base was proven, so
 * what they share is right by itself; a name that doesn't differ can only be wrong in its NSEC3 record, which then
 * differs. A record of the chain that came, went or has another bitmap must therefore be one of a name that differs, or
 * of one above such a name; if it isn't, the whole chain is looked at.
 */
#include "src/validate/run.h"

#include <stdlib.h>

#include "libknot/rr/rrtype.h"
#include "src/zone/diff.h"
#include "src/zone/tree_diff.h"

enum { AUTH, GLUE, NSEC3, TREES };
enum { WORTH_A_THREAD = 64 /* names: about two milliseconds of signatures */ };

/** A name that differs. NULL: it isn't there. */
typedef struct {
	const zone_node_t *before, *after;
} differing_t;

typedef struct {
	differing_t *at; /* owned, in canonical order */
	size_t count, max;
} differing_list_t;

typedef struct {
	validate_run_t *run;
	validate_checker_t *c;
	const zone_contents_t *base, *zone;
	differing_list_t lists[TREES], *list;   /* the one that is filled */
	uint8_t (*hashes)[ZONE_NSEC3_HASH_LEN]; /* owned: of names that differ, and of those above them */
	size_t hash_count, hash_max;
	uint8_t *scratch;    /* owned: VALIDATE_NSEC3_SCRATCH bytes */
	bool had_opt_out;    /* records that differ, or are in front of such */
	bool has_no_opt_out; /* those that are there now */
	bool needs_chain;    /* all of it has to be looked at */
	bool failed;         /* there was no memory */
	zone_tree_iter_t iter;
} change_t;

static knot_name_t differing_owner(const differing_t *d)
{
	return zone_node_owner(d->after != NULL ? d->after : d->before);
}

/* Room for one more element. */
static bool change_grow(change_t *ch, void **array, size_t size, size_t count, size_t *max)
{
	if (count < *max) {
		return true;
	}
	size_t more = 2 * *max + 64;
	void *grown = realloc(*array, more * size);
	if (grown == NULL) {
		ch->failed = true;
		return false;
	}
	*array = grown;
	*max = more;
	return true;
}

/* ---- What differs ---- */

static bool change_note(zone_ref_t before, zone_ref_t after, void *ctx)
{
	change_t *ch = ctx;
	differing_list_t *list = ch->list;
	differing_t d = { before != 0 ? zone_at(&ch->base->arena, before) : NULL,
		after != 0 ? zone_at(&ch->zone->arena, after) : NULL };
	bool is_same = d.before != NULL && d.after != NULL && d.before->flags == d.after->flags &&
		       zone_node_is_same(ch->base, d.before, ch->zone, d.after);
	void *at = list->at;
	if (is_same || !change_grow(ch, &at, sizeof(*list->at), list->count, &list->max)) {
		return !ch->failed;
	}
	list->at = at;
	list->at[list->count++] = d;
	return true;
}

static knot_err_t change_compare(change_t *ch)
{
	const zone_contents_t *zones[2] = { ch->base, ch->zone };
	const zone_tree_t *trees[2][TREES];
	for (unsigned i = 0; i < 2; i++) {
		trees[i][AUTH] = &zones[i]->auth;
		trees[i][GLUE] = zone_glue_tree(zones[i]);
		trees[i][NSEC3] = zone_nsec3_tree(zones[i]);
	}
	for (unsigned tree = 0; !ch->failed && tree < TREES; tree++) {
		ch->list = &ch->lists[tree];
		zone_tree_side_t before = { &ch->base->arena, trees[0][tree] },
				 after = { &ch->zone->arena, trees[1][tree] };
		(void)zone_tree_diff(before, after, change_note, ch);
	}
	return ch->failed ? KNOT_ENOMEM : KNOT_OK;
}

/* ---- NSEC ---- */

static const zone_node_t *member_before(const zone_contents_t *zone, knot_name_t name)
{
	zone_ref_t ref = zone_tree_below(&zone->arena, &zone->auth, name);
	while (ref != 0 && !validate_is_member(zone, zone_at(&zone->arena, ref))) {
		ref = zone_tree_below(&zone->arena, &zone->auth, zone_leaf_owner(&zone->arena, ref));
	}
	return ref != 0 ? zone_at(&zone->arena, ref) : NULL;
}

static const zone_node_t *change_member_behind(change_t *ch, knot_name_t name)
{
	const zone_contents_t *zone = ch->zone;
	zone_tree_seek(&zone->arena, &zone->auth, name, &ch->iter);
	for (zone_ref_t ref; (ref = zone_tree_next(&ch->iter)) != 0;) {
		const zone_node_t *node = zone_at(&zone->arena, ref);
		if (validate_is_member(zone, node) && !knot_name_eq(zone_node_owner(node), name)) {
			return node;
		}
	}
	return zone->apex;
}

static knot_err_t change_check_nsec_links(change_t *ch, const differing_t *d)
{
	knot_name_t name = differing_owner(d);
	const zone_node_t *before = member_before(ch->zone, name); /* NULL: it is the apex */
	knot_err_t err = KNOT_OK;
	if (before != NULL) {
		err = validate_nsec_leads(ch->c, before, change_member_behind(ch, zone_node_owner(before)));
	}
	if (err == KNOT_OK && d->after != NULL && validate_is_member(ch->zone, d->after)) {
		err = validate_nsec_leads(ch->c, d->after, change_member_behind(ch, name));
	}
	return err;
}

static knot_err_t change_check_nsec(change_t *ch)
{
	const differing_list_t *list = &ch->lists[AUTH];
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < list->count; i++) {
		err = list->at[i].after != NULL ? validate_name_nsec(ch->c, list->at[i].after) : KNOT_OK;
	}
	for (size_t i = 0; err == KNOT_OK && i < ch->lists[GLUE].count; i++) {
		err = ch->lists[GLUE].at[i].after != NULL ? validate_below_nsec(ch->c, ch->lists[GLUE].at[i].after)
							  : KNOT_OK;
	}
	for (size_t i = 0; err == KNOT_OK && i < list->count; i++) {
		err = change_check_nsec_links(ch, &list->at[i]);
	}
	return err;
}

/* ---- NSEC3: names ---- */

static int cmp_hashes(const void *a, const void *b)
{
	return memcmp(a, b, ZONE_NSEC3_HASH_LEN);
}

static knot_err_t change_check_name(change_t *ch, knot_name_t name)
{
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	void *hashes = ch->hashes;
	if (!zone_nsec3_hash(zone_nsec3_params(ch->zone), name, hash)) {
		return KNOT_ECRYPTO;
	}
	if (!change_grow(ch, &hashes, sizeof(*ch->hashes), ch->hash_count, &ch->hash_max)) {
		return KNOT_ENOMEM;
	}
	ch->hashes = hashes;
	memcpy(ch->hashes[ch->hash_count++], hash, sizeof(hash));
	zone_ref_t ref = zone_tree_find(&ch->zone->arena, &ch->zone->auth, name);
	if (ref != 0) {
		return validate_name_nsec3(ch->c, NULL, zone_at(&ch->zone->arena, ref));
	}
	validate_cover_t cover = validate_tree_find(ch->zone, hash, ch->scratch);
	return cover.node == NULL || !cover.is_match ? KNOT_OK
						     : validate_checker_fault(ch->c, KNOT_EEXTRANSEC,
								       zone_node_owner(cover.node), KNOT_TYPE_NSEC3);
}

/* The names that differ, and those above them. What one shares with the one before came with that. */
static knot_err_t change_check_names(change_t *ch)
{
	const differing_list_t *list = &ch->lists[AUTH];
	unsigned apex = zone_node_owner(ch->zone->apex).label_count;
	knot_name_t last = { 0 };
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < list->count; i++) {
		const differing_t *d = &list->at[i];
		knot_name_t name = differing_owner(d);
		unsigned shared = last.len > 0 ? knot_name_shared_labels(name, last) : apex;
		shared = shared > apex ? shared : apex;
		for (unsigned labels = shared + 1; err == KNOT_OK && labels < name.label_count; labels++) {
			err = change_check_name(ch, knot_name_strip(name, name.label_count - labels));
		}
		err = err == KNOT_OK ? change_check_name(ch, name) : err;
		last = name;
	}
	if (ch->hash_count > 0) {
		qsort(ch->hashes, ch->hash_count, sizeof(*ch->hashes), cmp_hashes);
	}
	return err;
}

/* ---- NSEC3: records ---- */

static bool change_has_name(const change_t *ch, const uint8_t hash[static ZONE_NSEC3_HASH_LEN])
{
	return ch->hash_count > 0 && bsearch(hash, ch->hashes, ch->hash_count, sizeof(*ch->hashes), cmp_hashes) != NULL;
}

static void change_note_opt_out(change_t *ch, const zone_node_t *before, const zone_node_t *after)
{
	if (before != NULL) {
		validate_nsec3_t nsec3 = validate_nsec3_of(ch->base, before, ch->scratch);
		ch->had_opt_out = ch->had_opt_out || (nsec3.count > 0 && nsec3.is_opt_out);
	}
	if (after != NULL) {
		validate_nsec3_t nsec3 = validate_nsec3_of(ch->zone, after, ch->scratch);
		ch->has_no_opt_out = ch->has_no_opt_out || (nsec3.count > 0 && !nsec3.is_opt_out);
	}
}

/* Whether a record's bitmap is the same as before. */
static bool change_keeps_bitmap(change_t *ch, const differing_t *d)
{
	uint8_t bitmap[SIGN_BITMAP_MAX];
	knot_bytes_t old =
			sign_rdata_bitmap(KNOT_TYPE_NSEC3, validate_nsec3_of(ch->base, d->before, ch->scratch).rdata);
	size_t len = old.len;
	if (len > sizeof(bitmap)) {
		return false;
	}
	memcpy(bitmap, old.data, len);
	knot_bytes_t new = sign_rdata_bitmap(KNOT_TYPE_NSEC3, validate_nsec3_of(ch->zone, d->after, ch->scratch).rdata);
	return new.len == len &&memcmp(new.data, bitmap, len) == 0;
}

static knot_err_t change_check_link(change_t *ch, const zone_node_t *from, const zone_node_t *to)
{
	uint8_t next[ZONE_NSEC3_HASH_LEN];
	uint8_t hash[ZONE_NSEC3_HASH_LEN];
	memcpy(hash, validate_nsec3_of(ch->zone, to, ch->scratch).hash, sizeof(hash));
	validate_nsec3_t nsec3 = validate_nsec3_of(ch->zone, from, ch->scratch);
	bool leads = nsec3.count == 1 && validate_nsec3_next(nsec3.rdata, next) &&
		     memcmp(next, hash, sizeof(hash)) == 0;
	return leads ? KNOT_OK : validate_checker_fault(ch->c, KNOT_ENSECCHAIN, zone_node_owner(from), KNOT_TYPE_NSEC3);
}

/* Whether a record that came, went or changed is one of a name that was looked at; and whether a span that was opted
 * out is so no more. */
static void change_explain(change_t *ch, const differing_t *d)
{
	const validate_nsec3_t none = { .count = 0 };
	validate_nsec3_t old = d->before != NULL ? validate_nsec3_of(ch->base, d->before, ch->scratch) : none;
	validate_nsec3_t new = d->after != NULL ? validate_nsec3_of(ch->zone, d->after, ch->scratch) : none;
	if (old.count == 0 && new.count == 0) {
		return; /* of another chain */
	}
	bool is_kept = old.count > 0 && new.count > 0;
	if (!(is_kept && change_keeps_bitmap(ch, d)) && !change_has_name(ch, new.count > 0 ? new.hash : old.hash)) {
		ch->needs_chain = true;
	}
	knot_name_t owner = differing_owner(d);
	change_note_opt_out(ch, d->before, d->after);
	change_note_opt_out(ch, validate_tree_before(ch->base, owner, ch->scratch),
			validate_tree_before(ch->zone, owner, ch->scratch));
}

static knot_err_t change_check_links(change_t *ch, const differing_t *d)
{
	knot_name_t owner = differing_owner(d);
	bool is_in = d->after != NULL && validate_nsec3_of(ch->zone, d->after, ch->scratch).count > 0;
	const zone_node_t *before = validate_tree_before(ch->zone, owner, ch->scratch);
	const zone_node_t *behind = validate_tree_behind(ch->zone, owner, ch->scratch);
	if (before == NULL || behind == NULL) { /* alone, or no chain is left */
		return is_in ? change_check_link(ch, d->after, d->after) : KNOT_OK;
	}
	knot_err_t err = change_check_link(ch, before, is_in ? d->after : behind);
	return err == KNOT_OK && is_in ? change_check_link(ch, d->after, behind) : err;
}

static knot_err_t change_check_nsec3(change_t *ch)
{
	const differing_list_t *list = &ch->lists[NSEC3];
	knot_err_t err = change_check_names(ch);
	for (size_t i = 0; err == KNOT_OK && i < list->count; i++) {
		change_explain(ch, &list->at[i]);
	}
	if (err == KNOT_OK && (ch->needs_chain || (ch->had_opt_out && ch->has_no_opt_out))) {
		err = validate_run_chain(ch->run);
		ch->c->fault = ch->run->fault;
		return err;
	}
	for (size_t i = 0; err == KNOT_OK && i < list->count; i++) {
		err = change_check_links(ch, &list->at[i]);
	}
	return err;
}

/* ---- The change ---- */

static knot_err_t change_check_chain(change_t *ch)
{
	if (ch->run->has_nsec3) {
		return change_check_nsec3(ch);
	}
	zone_ref_t nsec3 = zone_tree_last(&ch->zone->arena, zone_nsec3_tree(ch->zone));
	return nsec3 == 0 ? change_check_nsec(ch)
			  : validate_checker_fault(ch->c, KNOT_EEXTRANSEC, zone_leaf_owner(&ch->zone->arena, nsec3),
					    KNOT_TYPE_NSEC3);
}

/* One of all names that differ, tree by tree. */
static knot_err_t change_check_signed(void *ctx, unsigned member, size_t number)
{
	change_t *ch = ctx;
	validate_checker_t *c = &ch->run->checkers[member];
	unsigned tree = 0;
	while (number >= ch->lists[tree].count) {
		number -= ch->lists[tree++].count;
	}
	const zone_node_t *node = ch->lists[tree].at[number].after, *before = ch->lists[tree].at[number].before;
	bool is_nothing = node == NULL || (tree == NSEC3 && validate_nsec3_of(ch->zone, node, c->scratch).count == 0);
	if (is_nothing) {
		return KNOT_OK;
	}
	bool was_alike = before != NULL && validate_place(before) == validate_place(node);
	return validate_signatures(c, node, tree == GLUE ? SIGN_PLACE_BELOW : validate_place(node), ch->base,
			was_alike ? before : NULL);
}

/* If threads find something, the run is repeated by one, which finds the first fault. */
static knot_err_t change_check_in_threads(change_t *ch, size_t count)
{
	const sys_team_params_t params = { .name = "validate",
		.member_count = ch->run->checker_count,
		.piece_min = WORTH_A_THREAD,
		.do_piece = change_check_signed,
		.ctx = ch };
	sys_team_t *team = sys_team_new(&params);
	if (team == NULL) {
		return KNOT_ENOMEM;
	}
	sys_team_start(team, count);
	knot_err_t err = sys_team_finish(team);
	sys_team_free(team);
	ch->c->is_unsure = ch->c->is_unsure || err != KNOT_OK;
	return err;
}

static knot_err_t change_check_signatures(change_t *ch)
{
	size_t count = ch->lists[AUTH].count + ch->lists[GLUE].count + ch->lists[NSEC3].count;
	if (ch->run->checker_count > 1 && count >= 2 * WORTH_A_THREAD) {
		return change_check_in_threads(ch, count);
	}
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		err = change_check_signed(ch, 0, i);
	}
	return err;
}

static knot_err_t change_check(validate_run_t *run, const zone_contents_t *base)
{
	change_t *ch = calloc(1, sizeof(*ch));
	if (ch == NULL) {
		return KNOT_ENOMEM;
	}
	ch->run = run;
	ch->c = &run->checkers[0];
	ch->base = base;
	ch->zone = run->zone;
	ch->scratch = malloc(VALIDATE_NSEC3_SCRATCH);
	knot_err_t err = ch->scratch != NULL ? change_compare(ch) : KNOT_ENOMEM;
	err = err == KNOT_OK && !run->options->only_times ? change_check_chain(ch) : err;
	err = err == KNOT_OK ? change_check_signatures(ch) : err;
	run->fault = ch->c->fault;
	for (unsigned tree = 0; tree < TREES; tree++) {
		free(ch->lists[tree].at);
	}
	free(ch->hashes);
	free(ch->scratch);
	free(ch);
	return err;
}

static bool has_same_apex_set(const zone_contents_t *base, const zone_contents_t *zone, uint16_t type)
{
	const zone_rrset_t *a = zone_node_rrset(&base->arena, base->apex, type);
	const zone_rrset_t *b = zone_node_rrset(&zone->arena, zone->apex, type);
	return a == NULL || b == NULL ? a == b : zone_rrset_has_same_records(a, b);
}

/* False: to be repeated by one thread, with each signature verified by itself. */
static bool change_run(
		validate_run_t run, const zone_contents_t *base, validate_result_t *ret_result, knot_err_t *ret_err)
{
	*ret_result = (validate_result_t){ .is_whole = false };
	knot_err_t err = validate_run_init(&run, run.verifies_together ? run.options->thread_count : 1);
	err = err == KNOT_OK ? change_check(&run, base) : err;
	bool is_sure = validate_run_settle(&run, &err);
	*ret_err = validate_run_end(&run, err, ret_result);
	validate_run_done(&run);
	return is_sure;
}

knot_err_t validate_change(const zone_contents_t *base, const zone_contents_t *zone, const validate_options_t *options,
		validate_result_t *ret_result)
{
	if (base == NULL || base->soa_minimum_ttl != zone->soa_minimum_ttl ||
			!has_same_apex_set(base, zone, KNOT_TYPE_DNSKEY) ||
			!has_same_apex_set(base, zone, KNOT_TYPE_NSEC3PARAM)) {
		return validate_zone(zone, options, ret_result);
	}
	validate_run_t run = { .zone = zone, .options = options, .verifies_together = true };
	knot_err_t err;
	if (!change_run(run, base, ret_result, &err)) {
		run.verifies_together = false;
		(void)change_run(run, base, ret_result, &err);
	}
	return err;
}
