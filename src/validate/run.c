/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/run.h"

#include <stdlib.h>

#include "libknot/rr/rrtype.h"

enum {
	PIECE = 4096,        /* nodes that are handed to the threads at once */
	WORTH_A_THREAD = 64, /* nodes: some milliseconds of signatures, many times what starting a thread costs */
};

/* ---- Beginning and end ---- */

static bool run_has_good_params(const zone_contents_t *zone, const zone_rrset_t *params)
{
	return zone_rrset_rr_count(params) == 1 && zone_nsec3_params(zone)->algorithm == 1 &&
	       zone_node_owner(zone->apex).len + 1 + ZONE_NSEC3_LABEL_LEN <= KNOT_NAME_MAX;
}

static knot_err_t run_fault(validate_run_t *run, knot_err_t err, knot_name_t owner, uint16_t type)
{
	run->fault = (validate_fault_t){ err, owner, type };
	return err;
}

static knot_err_t run_make_checkers(validate_run_t *run, unsigned count)
{
	run->checkers = calloc(count, sizeof(*run->checkers));
	knot_err_t err = run->checkers != NULL ? KNOT_OK : KNOT_ENOMEM;
	for (unsigned i = 0; err == KNOT_OK && i < count; i++) {
		err = validate_checker_init(&run->checkers[i], run->zone, run->options, &run->keys);
		run->checker_count++;
	}
	return err;
}

knot_err_t validate_run_init(validate_run_t *run, const zone_contents_t *zone, const validate_options_t *options,
		unsigned thread_count)
{
	*run = (validate_run_t){ .zone = zone, .options = options };
	knot_err_t err = validate_keys_read(zone, &run->keys);
	if (err != KNOT_OK) {
		return err;
	}
	const zone_rrset_t *params = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_NSEC3PARAM);
	run->has_nsec3 = params != NULL;
	if (run->has_nsec3 && !run_has_good_params(zone, params)) {
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
	bool is_working;
	validate_fault_t *faults; /* owned: of the checkers, until they are compared */
	size_t *fault_at;         /* owned: the number in the piece */
};

static knot_err_t walk_do(void *ctx, unsigned member, size_t number)
{
	walk_t *walk = ctx;
	validate_checker_t *c = &walk->run->checkers[member];
	const zone_node_t *node = zone_at(&walk->run->zone->arena, walk->pieces[walk->filling ^ 1][number]);
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
	if (nsec == NULL) {
		return validate_checker_fault(c, KNOT_ENONSEC, zone_node_owner(from), KNOT_TYPE_ANY);
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
	if (err == KNOT_OK) {
		zone_tree_begin(&run->zone->arena, &run->zone->auth, iter);
	}
	for (zone_ref_t ref; err == KNOT_OK && (ref = zone_tree_next(iter)) != 0;) {
		const zone_node_t *node = zone_at(&run->zone->arena, ref);
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
	if (nsec3 != 0) {
		return run_fault(run, KNOT_EEXTRANSEC, zone_leaf_owner(&zone->arena, nsec3), KNOT_TYPE_NSEC3);
	}
	return run_follow_nsec(run);
}

static knot_err_t run_find_superfluous(validate_run_t *run, const validate_chain_t *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		if (!chain->links[i].is_matched) {
			const zone_node_t *node = zone_at(&run->zone->arena, chain->links[i].ref);
			return run_fault(run, KNOT_EEXTRANSEC, zone_node_owner(node), KNOT_TYPE_NSEC3);
		}
	}
	return KNOT_OK;
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

knot_err_t validate_zone(const zone_contents_t *zone, const validate_options_t *options, validate_result_t *ret_result)
{
	validate_run_t run;
	*ret_result = (validate_result_t){ .is_whole = true };
	knot_err_t err = validate_run_init(&run, zone, options, options->thread_count);
	err = err == KNOT_OK && !options->only_times ? validate_run_chain(&run) : err;
	err = err == KNOT_OK ? validate_run_signatures(&run) : err;
	err = validate_run_end(&run, err, ret_result);
	validate_run_done(&run);
	return err;
}
