/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/run.h"

#include <stdlib.h>

#include "libknot/rr/rrtype.h"

enum {
	PIECE = 4096,        /* nodes that are handed to the threads at once */
	WORTH_A_THREAD = 64, /* nodes: some milliseconds of signatures, many times what starting a thread costs */
};

/* ---- Beginning and end ---- */

static bool run_has_good_params(
		const zone_contents_t *zone, const zone_rrset_t *params, const validate_options_t *options)
{
	unsigned most = options->iterations_max > 0 ? options->iterations_max : UINT16_MAX;
	return zone_rrset_rr_count(params) == 1 && zone_nsec3_params(zone)->algorithm == 1 &&
	       zone_nsec3_params(zone)->iterations <= most &&
	       zone_node_owner(zone->apex).len + 1 + ZONE_NSEC3_LABEL_LEN <= KNOT_NAME_MAX;
}

static knot_err_t run_fault(validate_run_t *run, knot_err_t err, knot_name_t owner, uint16_t type)
{
	run->fault = (validate_fault_t){ err, owner, type };
	return validate_checker_fault(&run->checkers[0], err, owner, type);
}

enum { ORDER_WALK_BIT = 48 }; /* of the order of faults: below it, where in the walk */

/* Where the next walk's faults are in the order of all. */
static uint64_t run_begin_walk(validate_run_t *run)
{
	uint64_t order = run->walks++ << ORDER_WALK_BIT;
	run->checkers[0].all.order = order;
	return order;
}

static knot_err_t run_make_checkers(validate_run_t *run, unsigned count)
{
	run->checkers = calloc(count, sizeof(*run->checkers));
	knot_err_t err = run->checkers != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (unsigned i = 0; err == KNOT_OK && i < count; i++) {
		err = validate_checker_init(&run->checkers[i], run->zone, run->options, &run->keys);
		run->checkers[i].all.max = run->fault_max;
		run->checkers[i].verifies_together = run->verifies_together;
		run->checker_count++;
	}
	return err;
}

knot_err_t validate_run_init(validate_run_t *run, unsigned thread_count)
{
	const zone_contents_t *zone = run->zone;
	knot_err_t err = validate_keys_read(zone, &run->keys);
	if (err != KNOT_OK) {
		return err;
	}
	const zone_rrset_t *params = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC3PARAM);
	run->has_nsec3 = params != NULL;
	if (run->has_nsec3 && !run_has_good_params(zone, params, run->options)) {
		return KNOT_ENSEC3PARAM;
	}
	return run_make_checkers(run, thread_count > 0 ? thread_count : 1);
}

void validate_run_done(validate_run_t *run)
{
	for (unsigned i = 0; i < run->checker_count; i++) {
		validate_checker_done(&run->checkers[i]);
	}
	free(run->checkers);
	validate_keys_done(&run->keys);
	*run = (validate_run_t){ 0 };
}

bool validate_run_settle(validate_run_t *run, knot_err_t *io_err)
{
	bool is_unsure = false;
	for (unsigned i = 0; i < run->checker_count; i++) {
		knot_err_t err = validate_checker_settle(&run->checkers[i]);
		*io_err = *io_err == KNOT_OK ? err : *io_err;
		is_unsure = is_unsure || run->checkers[i].is_unsure;
	}
	return !is_unsure;
}

static void result_hint(validate_result_t *result, knot_name_t owner, uint16_t type)
{
	result->has_hint = true;
	memcpy(result->owner, owner.wire, owner.len);
	result->type = type;
}

knot_err_t validate_run_end(const validate_run_t *run, knot_err_t err, validate_result_t *ret_result)
{
	validate_expiration_t first = { .expires_s = 0 };
	for (unsigned i = 0; i < run->checker_count; i++) {
		const validate_checker_t *c = &run->checkers[i];
		ret_result->rrsig_count += c->rrsig_count;
		ret_result->verified_count += c->verified_count;
		if (c->first.expires_s != 0 && (first.expires_s == 0 || c->first.expires_s < first.expires_s)) {
			first = c->first;
		}
	}
	ret_result->earliest_expiration_s = first.expires_s;
	if (err != KNOT_OK && err == run->fault.err) {
		result_hint(ret_result, run->fault.owner, run->fault.type);
	}
	bool expires_soon = run->options->margin_s > 0 && first.expires_s != 0 &&
			    first.expires_s < run->options->now_s + run->options->margin_s;
	if (err != KNOT_OK || !expires_soon) {
		return err;
	}
	result_hint(ret_result, first.owner, first.type);
	return KNOT_EEXPIRES;
}

/* ---- A walk through the nodes of a tree ---- */

typedef struct walk walk_t;
typedef knot_err_t (*walk_see_t)(const walk_t *walk, validate_checker_t *checker, const zone_node_t *node);

struct walk {
	validate_run_t *run;
	walk_see_t see;
	sign_place_t place;            /* of the names, but cuts */
	const validate_chain_t *chain; /* NULL: there is none */
	sys_team_t *team;              /* owned */
	zone_tree_iter_t iter;
	zone_ref_t pieces[2][PIECE];
	unsigned filling; /* number of the piece that is filled; the other one is in work */
	uint64_t order;   /* of the first node of that one, and then those of the others: see run_begin_walk() */
	size_t count;     /* nodes of that one */
	bool is_working;
	validate_fault_t *faults; /* owned: of the checkers, until they are compared */
	size_t *fault_at;         /* owned: the number in the piece */
};

static knot_err_t walk_do(void *ctx, unsigned member, size_t number)
{
	walk_t *walk = ctx;
	validate_checker_t *c = &walk->run->checkers[member];
	const zone_node_t *node = zone_at(&walk->run->zone->arena, walk->pieces[walk->filling ^ 1][number]);
	c->all.order = walk->order + number;
	knot_err_t err = walk->see(walk, c, node);
	if (err != KNOT_OK && number < walk->fault_at[member]) {
		walk->fault_at[member] = number;
		walk->faults[member] = c->fault;
	}
	return err;
}

/* The first fault of the piece becomes that of the run. */
static void walk_note_fault(walk_t *walk)
{
	size_t at = SIZE_MAX;
	for (unsigned i = 0; i < walk->run->checker_count; i++) {
		if (walk->fault_at[i] < at) {
			at = walk->fault_at[i];
			walk->run->fault = walk->faults[i];
		}
	}
}

static knot_err_t walk_finish(walk_t *walk)
{
	knot_err_t err = walk->is_working ? sys_team_finish(walk->team) : KNOT_OK;
	walk->is_working = false;
	if (err != KNOT_OK) {
		walk_note_fault(walk);
	}
	return err;
}

static knot_err_t walk_pieces(walk_t *walk)
{
	knot_err_t err = KNOT_OK;
	size_t count;
	do {
		zone_ref_t ref, *piece = walk->pieces[walk->filling];
		for (count = 0; count < PIECE && (ref = zone_tree_next(&walk->iter)) != 0;) {
			piece[count++] = ref;
		}
		err = walk_finish(walk);
		if (err == KNOT_OK && count > 0) {
			walk->filling ^= 1;
			walk->is_working = true;
			walk->order += walk->count;
			walk->count = count;
			sys_team_start(walk->team, count);
		}
	} while (err == KNOT_OK && count == PIECE);
	return err == KNOT_OK ? walk_finish(walk) : err;
}

static knot_err_t walk_init(walk_t *walk, validate_run_t *run)
{
	const sys_team_params_t params = { .name = "validate",
		.member_count = run->checker_count,
		.piece_min = WORTH_A_THREAD,
		.do_piece = walk_do,
		.ctx = walk };
	walk->run = run;
	walk->faults = calloc(run->checker_count, sizeof(*walk->faults));
	walk->fault_at = calloc(run->checker_count, sizeof(*walk->fault_at));
	walk->team = sys_team_new(&params);
	if (walk->faults == NULL || walk->fault_at == NULL || walk->team == NULL) {
		return KNOT_ENOMEM;
	}
	for (unsigned i = 0; i < run->checker_count; i++) {
		walk->fault_at[i] = SIZE_MAX;
	}
	return KNOT_OK;
}

static void walk_free(walk_t *walk)
{
	sys_team_free(walk->team);
	free(walk->faults);
	free(walk->fault_at);
	free(walk);
}

static knot_err_t run_walk(validate_run_t *run, const zone_tree_t *tree, sign_place_t place,
		const validate_chain_t *chain, walk_see_t see)
{
	if (tree->count == 0) {
		return KNOT_OK;
	}
	walk_t *walk = calloc(1, sizeof(*walk));
	if (walk == NULL) {
		return KNOT_ENOMEM;
	}
	knot_err_t err = walk_init(walk, run);
	walk->see = see;
	walk->place = place;
	walk->chain = chain;
	walk->order = run_begin_walk(run);
	zone_tree_begin(&run->zone->arena, tree, &walk->iter);
	err = err == KNOT_OK ? walk_pieces(walk) : err;
	walk_free(walk);
	return err;
}

/* ---- Signatures ---- */

static knot_err_t see_signatures(const walk_t *walk, validate_checker_t *c, const zone_node_t *node)
{
	bool is_foreign = (node->flags & ZONE_NODE_NSEC3) && validate_nsec3_of(c->zone, node, c->scratch).count == 0;
	if (is_foreign) {
		return KNOT_OK;
	}
	sign_place_t place = walk->place == SIGN_PLACE_BELOW ? SIGN_PLACE_BELOW : validate_place(node);
	return validate_signatures(c, node, place, NULL, NULL);
}

knot_err_t validate_run_signatures(validate_run_t *run)
{
	const zone_contents_t *zone = run->zone;
	knot_err_t err = run_walk(run, &zone->auth, SIGN_PLACE_AUTH, NULL, see_signatures);
	err = err == KNOT_OK ? run_walk(run, zone_glue_tree(zone), SIGN_PLACE_BELOW, NULL, see_signatures) : err;
	return err == KNOT_OK ? run_walk(run, zone_nsec3_tree(zone), SIGN_PLACE_AUTH, NULL, see_signatures) : err;
}

/* ---- The chain ---- */

static knot_err_t see_nsec(const walk_t *walk, validate_checker_t *c, const zone_node_t *node)
{
	(void)walk;
	return validate_name_nsec(c, node);
}

static knot_err_t see_nsec3(const walk_t *walk, validate_checker_t *c, const zone_node_t *node)
{
	return validate_name_nsec3(c, walk->chain, node);
}

static knot_err_t see_below(const walk_t *walk, validate_checker_t *c, const zone_node_t *node)
{
	(void)walk;
	return validate_below_nsec(c, node);
}

knot_err_t validate_nsec_leads(validate_checker_t *c, const zone_node_t *from, const zone_node_t *to)
{
	uint32_t ttl;
	knot_bytes_t rdata;
	const zone_rrset_t *nsec = zone_node_rrset(&c->zone->arena, from, KNOT_TYPE_NSEC);
	if (nsec == NULL) { /* who goes on has said so */
		return c->all.max > 0 ? KNOT_OK
				      : validate_checker_fault(c, KNOT_ENONSEC, zone_node_owner(from), KNOT_TYPE_ANY);
	}
	zone_rr_iter_t iter = zone_rr_begin(from, nsec, false);
	bool leads = zone_rr_next(&iter, (knot_mut_bytes_t){ c->scratch, KNOT_RDATA_MAX }, &ttl, &rdata) &&
		     knot_name_eq(knot_name_of(rdata.data), zone_node_owner(to));
	return leads ? KNOT_OK : validate_checker_fault(c, KNOT_ENSECCHAIN, zone_node_owner(from), KNOT_TYPE_NSEC);
}

static knot_err_t run_follow_nsec(validate_run_t *run)
{
	zone_tree_iter_t *iter = malloc(sizeof(*iter));
	const zone_node_t *last = NULL;
	knot_err_t err = iter != NULL ? KNOT_OK : KNOT_ENOMEM;
	(void)run_begin_walk(run);
	if (err == KNOT_OK) {
		zone_tree_begin(&run->zone->arena, &run->zone->auth, iter);
	}
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&run->zone->arena, ref);
		run->checkers[0].all.order++;
		if (validate_is_member(run->zone, node)) {
			err = last != NULL ? validate_nsec_leads(&run->checkers[0], last, node) : KNOT_OK;
			last = node;
		}
	}
	err = err == KNOT_OK ? validate_nsec_leads(&run->checkers[0], last, run->zone->apex) : err;
	run->fault = run->checkers[0].fault;
	free(iter);
	return err;
}

static knot_err_t run_nsec(validate_run_t *run)
{
	const zone_contents_t *zone = run->zone;
	knot_err_t err = run_walk(run, &zone->auth, SIGN_PLACE_AUTH, NULL, see_nsec);
	err = err == KNOT_OK ? run_walk(run, zone_glue_tree(zone), SIGN_PLACE_BELOW, NULL, see_below) : err;
	if (err != KNOT_OK) {
		return err;
	}
	zone_ref_t nsec3 = zone_tree_last(&zone->arena, zone_nsec3_tree(zone));
	(void)run_begin_walk(run);
	if (nsec3 != 0) {
		err = run_fault(run, KNOT_EEXTRANSEC, zone_leaf_owner(&zone->arena, nsec3), KNOT_TYPE_NSEC3);
	}
	return err == KNOT_OK ? run_follow_nsec(run) : err;
}

static knot_err_t run_find_superfluous(validate_run_t *run, const validate_chain_t *chain)
{
	knot_err_t err = KNOT_OK;
	(void)run_begin_walk(run);
	for (size_t i = 0; err == KNOT_OK && i < chain->count; i++) {
		if (!chain->links[i].is_matched) {
			const zone_node_t *node = zone_at(&run->zone->arena, chain->links[i].ref);
			err = run_fault(run, KNOT_EEXTRANSEC, zone_node_owner(node), KNOT_TYPE_NSEC3);
		}
	}
	return err;
}

static knot_err_t run_nsec3(validate_run_t *run)
{
	const zone_contents_t *zone = run->zone;
	validate_chain_t chain = { .links = NULL };
	knot_name_t broken;
	knot_err_t err = validate_chain_read(zone, &chain, &broken);
	err = err == KNOT_OK ? run_walk(run, &zone->auth, SIGN_PLACE_AUTH, &chain, see_nsec3) : err;
	err = err == KNOT_OK ? run_find_superfluous(run, &chain) : err;
	if (err == KNOT_OK && broken.len > 0) {
		err = run_fault(run, KNOT_ENSECCHAIN, broken, KNOT_TYPE_NSEC3);
	}
	validate_chain_done(&chain);
	return err;
}

knot_err_t validate_run_chain(validate_run_t *run)
{
	return run->has_nsec3 ? run_nsec3(run) : run_nsec(run);
}

/* ---- The whole zone ---- */

/* False: to be repeated with each signature verified by itself. */
static bool run_zone(validate_run_t run, validate_result_t *ret_result, knot_err_t *ret_err)
{
	*ret_result = (validate_result_t){ .is_whole = true };
	knot_err_t err = validate_run_init(&run, run.options->thread_count);
	err = err == KNOT_OK && !run.options->only_times ? validate_run_chain(&run) : err;
	err = err == KNOT_OK ? validate_run_signatures(&run) : err;
	bool is_sure = validate_run_settle(&run, &err);
	*ret_err = validate_run_end(&run, err, ret_result);
	validate_run_done(&run);
	return is_sure;
}

knot_err_t validate_zone(const zone_contents_t *zone, const validate_options_t *options, validate_result_t *ret_result)
{
	validate_run_t run = { .zone = zone, .options = options, .verifies_together = true };
	knot_err_t err;
	if (!run_zone(run, ret_result, &err)) {
		run.verifies_together = false;
		(void)run_zone(run, ret_result, &err);
	}
	return err;
}

/* ---- All faults ---- */

typedef struct {
	validate_fault_t fault;
	uint64_t order;
	size_t at; /* of its checker: faults of one node have the same order */
} listed_t;

static int listed_compare(const void *a, const void *b)
{
	const listed_t *x = a, *y = b;
	return x->order != y->order ? (x->order > y->order) - (x->order < y->order) : (x->at > y->at) - (x->at < y->at);
}

static int listed_compare_fault(const validate_fault_t *a, const validate_fault_t *b)
{
	size_t len = a->owner.len < b->owner.len ? a->owner.len : b->owner.len;
	int order = memcmp(a->owner.wire, b->owner.wire, len);
	order = order != 0 ? order : (int)a->owner.len - (int)b->owner.len;
	order = order != 0 ? order : (int)a->type - (int)b->type;
	return order != 0 ? order : (int)a->err - (int)b->err;
}

static int listed_compare_place(const void *a, const void *b)
{
	const listed_t *x = a, *y = b;
	int order = listed_compare_fault(&x->fault, &y->fault);
	return order != 0 ? order : listed_compare(a, b);
}

/* What is wrong with a name is found there, and by others from names below it. */
static size_t listed_drop_repeated(listed_t *listed, size_t count)
{
	size_t kept = 0;
	qsort(listed, count, sizeof(*listed), listed_compare_place);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || listed_compare_fault(&listed[kept - 1].fault, &listed[i].fault) != 0) {
			listed[kept++] = listed[i];
		}
	}
	qsort(listed, kept, sizeof(*listed), listed_compare);
	return kept;
}

static size_t run_collect(const validate_run_t *run, listed_t *listed)
{
	size_t count = 0;
	for (unsigned i = 0; i < run->checker_count; i++) {
		const validate_list_t *all = &run->checkers[i].all;
		for (size_t j = 0; j < all->count; j++) {
			listed[count++] = (listed_t){ all->list[j].fault, all->list[j].order, j };
		}
	}
	return listed_drop_repeated(listed, count);
}

static knot_err_t run_list(const validate_run_t *run, validate_faults_t *faults)
{
	size_t listed = 0;
	for (unsigned i = 0; i < run->checker_count; i++) {
		listed += run->checkers[i].all.count;
		for (unsigned j = 0; j < VALIDATE_KINDS; j++) {
			faults->left_out[j] += run->checkers[i].all.left_out[j];
		}
	}
	listed_t *list = calloc(listed + 1, sizeof(*list));
	faults->faults = calloc(listed + 1, sizeof(*faults->faults));
	if (list == NULL || faults->faults == NULL) {
		free(list);
		return KNOT_ENOMEM;
	}
	size_t count = run_collect(run, list);
	for (size_t i = 0; i < count; i++) {
		if (i < run->fault_max) {
			faults->faults[faults->count++] = list[i].fault;
		} else {
			faults->left_out[validate_kind(list[i].fault.err)]++;
		}
	}
	free(list);
	return KNOT_OK;
}

knot_err_t validate_zone_list(const zone_contents_t *zone, const validate_options_t *options, size_t fault_max,
		validate_faults_t *ret_faults)
{
	validate_run_t run = { .zone = zone, .options = options, .fault_max = fault_max };
	*ret_faults = (validate_faults_t){ .faults = NULL };
	knot_err_t err = validate_run_init(&run, options->thread_count);
	err = err == KNOT_OK && !options->only_times ? validate_run_chain(&run) : err;
	err = err == KNOT_OK ? validate_run_signatures(&run) : err;
	err = err == KNOT_OK ? run_list(&run, ret_faults) : err;
	validate_run_done(&run);
	return err;
}

void validate_faults_done(validate_faults_t *faults)
{
	free(faults->faults);
	*faults = (validate_faults_t){ .faults = NULL };
}
