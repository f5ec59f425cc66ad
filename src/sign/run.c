/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sign/run.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Beginning and end ---- */

typedef struct {
	bool found;
	uint32_t ttl, minimum;
} soa_t;

static bool see_soa(const zone_rr_t *rr, void *ctx)
{
	soa_t *soa = ctx;
	if (rr->type == KNOT_TYPE_SOA) {
		soa->found = true;
		soa->ttl = rr->ttl;
		soa->minimum = load_be32(rr->rdata.data + rr->rdata.len - 4);
	}
	return !soa->found;
}

knot_err_t sign_run_init(sign_run_t *run, zone_txn_t *txn, const sign_sink_t *sink, const sign_plan_t *plan)
{
	*run = (sign_run_t){ .txn = txn, .sink = sink, .plan = plan, .origin = zone_txn_origin(txn) };
	soa_t soa = { 0 };
	knot_err_t err = zone_txn_each_of(txn, run->origin, see_soa, &soa);
	if (err == KNOT_ENOMEM) {
		return err;
	}
	if (!soa.found) {
		return KNOT_ENOSOA;
	}
	if (plan->chain == SIGN_CHAIN_NSEC3 && run->origin.len + 1 + ZONE_NSEC3_LABEL_LEN > KNOT_NAME_MAX) {
		return KNOT_ENAMELEN;
	}
	run->chain_ttl = soa.ttl < soa.minimum ? soa.ttl : soa.minimum;
	run->pool = sign_pool_new(plan, run->origin);
	return run->pool != NULL ? KNOT_OK : KNOT_ENOMEM;
}

void sign_run_done(sign_run_t *run)
{
	sign_pool_free(run->pool); /* first: it may be at work with a piece */
	for (size_t i = 0; i < KNOT_LEN(run->pieces); i++) {
		sign_mem_done(&run->pieces[i].mem);
		free(run->pieces[i].sets);
		free(run->pieces[i].hashes);
	}
	free(run->links);
	*run = (sign_run_t){ 0 };
}

sign_result_t sign_run_result(const sign_run_t *run)
{
	sign_result_t result = { .is_changed = run->is_changed };
	sign_pool_sum(run->pool, &result);
	return result;
}

/* ---- Sets ---- */

static sign_piece_t *run_piece(sign_run_t *run)
{
	return &run->pieces[run->filling];
}

/* Room for one more element. */
static knot_err_t run_grow_array(void **array, size_t size, size_t count, size_t *max)
{
	if (count < *max) {
		return KNOT_OK;
	}
	size_t more = 2 * *max + 64;
	void *grown = realloc(*array, more * size);
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	*array = grown;
	*max = more;
	return KNOT_OK;
}

/* Copies of the records of a type, or of the signatures that cover it. One more has room behind them. */
static sign_rr_t *copy_rrs(sign_piece_t *piece, const sign_name_t *name, uint16_t type, bool sigs, size_t *ret_count)
{
	size_t count = 0;
	for (size_t i = 0; i < name->count; i++) {
		const sign_rr_t *rr = &name->rrs[i];
		bool is_sig = rr->type == KNOT_TYPE_RRSIG;
		count += sigs ? is_sig && sign_rrsig_covered(rr->rdata) == type : rr->type == type;
	}
	sign_rr_t *rrs = sign_mem_alloc(&piece->mem, (count + 1) * sizeof(*rrs));
	*ret_count = 0;
	for (size_t i = 0; rrs != NULL && i < name->count && *ret_count < count; i++) {
		const sign_rr_t *rr = &name->rrs[i];
		bool is_sig = rr->type == KNOT_TYPE_RRSIG;
		if (sigs ? is_sig && sign_rrsig_covered(rr->rdata) == type : rr->type == type) {
			sign_rr_t *copy = &rrs[(*ret_count)++];
			*copy = *rr;
			copy->rdata = sign_mem_copy(&piece->mem, rr->rdata);
		}
	}
	return rrs;
}

/* The owner's copy, which the sets of one name share. */
static knot_name_t piece_owner(sign_piece_t *piece, knot_name_t owner)
{
	const sign_set_t *last = piece->set_count > 0 ? &piece->sets[piece->set_count - 1] : NULL;
	if (last != NULL && last->owner.len == owner.len && memcmp(last->owner.wire, owner.wire, owner.len) == 0) {
		return last->owner;
	}
	return sign_mem_name(&piece->mem, owner);
}

knot_err_t sign_run_add_set(sign_run_t *run, const sign_name_t *name, uint16_t type, bool is_signed, size_t *ret_set)
{
	sign_piece_t *piece = run_piece(run);
	void *sets = piece->sets;
	knot_err_t err = run_grow_array(&sets, sizeof(*piece->sets), piece->set_count, &piece->set_max);
	if (err != KNOT_OK) {
		return err;
	}
	piece->sets = sets;
	sign_set_t set = { .owner = piece_owner(piece, name->owner), .type = type, .is_signed = is_signed };
	set.rrs = copy_rrs(piece, name, type, false, &set.rr_count);
	set.sigs = copy_rrs(piece, name, type, true, &set.sig_count);
	if (piece->mem.failed) {
		return KNOT_ENOMEM;
	}
	*ret_set = piece->set_count;
	piece->sets[piece->set_count++] = set;
	return KNOT_OK;
}

/* Signatures of types that the name doesn't have. */
static knot_err_t run_add_strays(sign_run_t *run, const sign_name_t *name, bool is_nsec_apart)
{
	knot_err_t err = KNOT_OK;
	uint16_t last = 0;
	for (size_t i = 0; err == KNOT_OK && i < name->count; i++) {
		if (name->rrs[i].type != KNOT_TYPE_RRSIG) {
			continue;
		}
		uint16_t covered = sign_rrsig_covered(name->rrs[i].rdata);
		bool is_stray = covered != last && !sign_name_has(name, covered) &&
				!(is_nsec_apart && covered == KNOT_TYPE_NSEC);
		size_t set;
		err = is_stray ? sign_run_add_set(run, name, covered, false, &set) : KNOT_OK;
		last = covered;
	}
	return err;
}

void sign_run_drop(sign_run_t *run, size_t number)
{
	sign_set_t *set = &run_piece(run)->sets[number];
	set->is_signed = false;
	for (size_t i = 0; i < set->rr_count; i++) {
		set->rrs[i].goes = true;
	}
}

knot_err_t sign_run_add(sign_run_t *run, const sign_name_t *name, sign_place_t place, sign_nsec_t nsec, size_t *ret_set)
{
	bool has_sigs = name->count > 0 && name->rrs[name->count - 1].type == KNOT_TYPE_RRSIG;
	bool is_nsec_apart = nsec == SIGN_NSEC_WAITS || nsec == SIGN_NSEC_APART;
	bool is_nsec_due = nsec == SIGN_NSEC_WAITS; /* its place is the one by its type */
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < name->count; i++) {
		uint16_t type = name->rrs[i].type;
		if (is_nsec_due && type > KNOT_TYPE_NSEC) {
			is_nsec_due = false;
			err = sign_run_add_set(run, name, KNOT_TYPE_NSEC, true, ret_set);
		}
		bool is_first = i == 0 || name->rrs[i - 1].type != type;
		bool is_nsec = type == KNOT_TYPE_NSEC && nsec != SIGN_NSEC_KEPT;
		bool is_signed = sign_place_signs(place, type);
		bool is_of_interest = run->sink != NULL || is_signed || has_sigs || is_nsec;
		if (!is_first || type == KNOT_TYPE_RRSIG || !is_of_interest || (is_nsec && is_nsec_apart)) {
			continue;
		}
		size_t set;
		err = err == KNOT_OK ? sign_run_add_set(run, name, type, is_signed, &set) : err;
		if (err == KNOT_OK && is_nsec) {
			sign_run_drop(run, set);
		}
	}
	if (err == KNOT_OK && is_nsec_due) {
		err = sign_run_add_set(run, name, KNOT_TYPE_NSEC, true, ret_set);
	}
	return err == KNOT_OK && has_sigs ? run_add_strays(run, name, is_nsec_apart) : err;
}

knot_err_t sign_run_give(sign_run_t *run, size_t number, knot_bytes_t rdata)
{
	sign_set_t *set = &run_piece(run)->sets[number];
	bool is_there = false;
	for (size_t i = 0; i < set->rr_count; i++) {
		sign_rr_t *rr = &set->rrs[i];
		bool is_same = rr->rdata.len == rdata.len && memcmp(rr->rdata.data, rdata.data, rdata.len) == 0;
		rr->goes = !is_same;
		rr->is_new = is_same && rr->ttl != run->chain_ttl;
		rr->ttl = run->chain_ttl;
		is_there = is_there || is_same;
	}
	bool is_other = set->rr_count > 0 && (!is_there || set->rr_count > 1 || set->rrs[0].is_new);
	for (size_t i = 0; is_other && i < set->sig_count; i++) {
		set->sigs[i].belief = SIGN_BELIEF_STALE;
	}
	if (!is_there) { /* add_set has left room for it */
		knot_bytes_t copy = sign_mem_copy(&run_piece(run)->mem, rdata);
		if (copy.data == NULL) {
			return KNOT_ENOMEM;
		}
		set->rrs[set->rr_count++] = (sign_rr_t){ copy, run->chain_ttl, set->type, .is_new = true };
	}
	return KNOT_OK;
}

knot_err_t sign_run_hash(sign_run_t *run, knot_name_t name, uint32_t bitmap)
{
	sign_piece_t *piece = run_piece(run);
	void *hashes = piece->hashes;
	knot_err_t err = run_grow_array(&hashes, sizeof(*piece->hashes), piece->hash_count, &piece->hash_max);
	if (err != KNOT_OK) {
		return err;
	}
	piece->hashes = hashes;
	knot_name_t copy = sign_mem_name(&piece->mem, name);
	if (copy.wire == NULL) {
		return KNOT_ENOMEM;
	}
	piece->hashes[piece->hash_count++] = (sign_hash_t){ .name = copy, .bitmap = bitmap };
	return KNOT_OK;
}

/* ---- Delivery ---- */

static knot_err_t run_put(sign_run_t *run, knot_name_t owner, const sign_rr_t *rr)
{
	run->is_changed = run->is_changed || rr->is_new;
	if (run->sink != NULL) {
		const zone_rr_t whole = { owner, rr->type, rr->ttl, rr->rdata };
		return run->sink->put(run->sink->ctx, &whole);
	}
	knot_err_t err = rr->is_new ? zone_txn_put(run->txn, owner, rr->type, rr->ttl, rr->rdata) : KNOT_OK;
	return err == KNOT_EISRECORD ? KNOT_OK : err;
}

static knot_err_t run_remove(sign_run_t *run, knot_name_t owner, const sign_rr_t *rr)
{
	run->is_changed = true;
	return run->sink == NULL ? zone_txn_remove(run->txn, owner, rr->type, rr->rdata) : KNOT_OK;
}

/* What goes first: one record of a set may take the place of another. */
static knot_err_t run_deliver_rrs(sign_run_t *run, knot_name_t owner, const sign_rr_t *rrs, size_t count)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		err = rrs[i].goes ? run_remove(run, owner, &rrs[i]) : KNOT_OK;
	}
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		err = rrs[i].goes ? KNOT_OK : run_put(run, owner, &rrs[i]);
	}
	return err;
}

/* The signature that comes next behind `last` (NULL: first) in canonical order, of those that stay or are new. */
static const sign_rr_t *set_next_sig(const sign_set_t *set, const sign_rr_t *last)
{
	const sign_rr_t *next = NULL;
	for (size_t i = 0; i < set->sig_count + set->made_count; i++) {
		const sign_rr_t *sig = i < set->sig_count ? &set->sigs[i] : &set->made[i - set->sig_count];
		bool is_behind = !sig->goes && (last == NULL || knot_rdata_cmp(last->rdata, sig->rdata) < 0);
		next = is_behind && (next == NULL || knot_rdata_cmp(sig->rdata, next->rdata) < 0) ? sig : next;
	}
	return next;
}

static knot_err_t run_deliver_sorted(sign_run_t *run, const sign_set_t *set)
{
	knot_err_t err = run_deliver_rrs(run, set->owner, set->rrs, set->rr_count);
	const sign_rr_t *sig = NULL;
	for (size_t i = 0; i < set->sig_count; i++) {
		run->is_changed = run->is_changed || set->sigs[i].goes;
	}
	while (err == KNOT_OK && (sig = set_next_sig(set, sig)) != NULL) {
		err = run_put(run, set->owner, sig);
	}
	return err;
}

static knot_err_t run_deliver(sign_run_t *run, const sign_set_t *set)
{
	if (run->sink != NULL) {
		return run_deliver_sorted(run, set);
	}
	knot_err_t err = run_deliver_rrs(run, set->owner, set->rrs, set->rr_count);
	err = err == KNOT_OK ? run_deliver_rrs(run, set->owner, set->sigs, set->sig_count) : err;
	return err == KNOT_OK ? run_deliver_rrs(run, set->owner, set->made, set->made_count) : err;
}

static knot_err_t run_link(sign_run_t *run, const sign_hash_t *hash)
{
	void *links = run->links;
	knot_err_t err = run_grow_array(&links, sizeof(*run->links), run->link_count, &run->link_max);
	if (err == KNOT_OK) {
		run->links = links;
		sign_link_t *link = &run->links[run->link_count++];
		memcpy(link->hash, hash->hash, sizeof(link->hash));
		link->bitmap = hash->bitmap;
	}
	return err;
}

static knot_err_t run_deliver_piece(sign_run_t *run, sign_piece_t *piece)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < piece->set_count; i++) {
		err = run_deliver(run, &piece->sets[i]);
	}
	for (size_t i = 0; err == KNOT_OK && i < piece->hash_count; i++) {
		err = run_link(run, &piece->hashes[i]);
	}
	piece->set_count = 0;
	piece->hash_count = 0;
	sign_mem_reset(&piece->mem);
	return err;
}

/* Begin with the piece that was filled as soon as the one before is done, which is delivered meanwhile. */
static knot_err_t run_turn(sign_run_t *run)
{
	sign_piece_t *piece = run_piece(run), *before = &run->pieces[run->filling ^ 1];
	bool was_working = run->is_working;
	knot_err_t err = was_working ? sign_pool_finish(run->pool) : KNOT_OK;
	run->is_working = false;
	if (err != KNOT_OK) {
		return err;
	}
	sign_pool_start(run->pool, piece->sets, piece->set_count, piece->hashes, piece->hash_count);
	run->is_working = true;
	run->filling ^= 1;
	return was_working ? run_deliver_piece(run, before) : KNOT_OK;
}

knot_err_t sign_run_pass(sign_run_t *run)
{
	enum {
		SETS_OF_A_THREAD = 2048, /* some 30 ms of signing, and half a megabyte */
		BYTES_MAX = 8 * 1024 * 1024,
	};
	unsigned threads = run->plan->thread_count > 0 ? run->plan->thread_count : 1;
	const sign_piece_t *piece = run_piece(run);
	bool is_full = piece->set_count + piece->hash_count >= (size_t)SETS_OF_A_THREAD * threads ||
		       piece->mem.total >= BYTES_MAX;
	return is_full ? run_turn(run) : KNOT_OK;
}

knot_err_t sign_run_flush(sign_run_t *run)
{
	knot_err_t err = run_turn(run);
	err = err == KNOT_OK ? sign_pool_finish(run->pool) : err;
	run->is_working = false;
	return err == KNOT_OK ? run_deliver_piece(run, &run->pieces[run->filling ^ 1]) : err;
}
