/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/steps_out.h"

#include "src/journal/changeset_merge.h"

#include <assert.h>
#include <stdlib.h>

struct steps_out {
	atomic_uint users;
	steps_out_budget_t *budget; /* borrowed */
	size_t taken;               /* bytes of it */
	size_t count, len;          /* len: bytes of all payloads */
	steps_out_step_t list[];
};

/* What a visit gathers. */
typedef struct {
	steps_out_t *steps; /* owned */
	size_t room;        /* of its list */
	uint32_t serial_to;
	size_t len_max;
	bool is_there; /* the last step leads to serial_to */
	bool failed;   /* no memory, or too large */
} gather_t;

static void steps_free(steps_out_t *steps)
{
	if (steps != NULL && steps->budget != NULL) {
		atomic_fetch_sub_explicit(&steps->budget->used, steps->taken, memory_order_relaxed);
	}
	for (size_t i = 0; steps != NULL && i < steps->count; i++) {
		free(steps->list[i].data);
	}
	free(steps);
}

/* Room for one more. */
static bool gather_grow(gather_t *g)
{
	size_t count = g->steps != NULL ? g->steps->count : 0;
	if (count < g->room) {
		return true;
	}
	size_t room = g->room == 0 ? 8 : 2 * g->room;
	steps_out_t *steps = realloc(g->steps, sizeof(*steps) + room * sizeof(*steps->list));
	if (steps == NULL) {
		return false;
	}
	if (g->steps == NULL) {
		steps->count = steps->len = steps->taken = 0;
		steps->budget = NULL;
		atomic_init(&steps->users, 1);
	}
	g->steps = steps;
	g->room = room;
	return true;
}

/* Only copies: a read transaction is open. */
static bool gather_entry(const journal_entry_t *entry, void *ctx)
{
	gather_t *g = ctx;
	size_t len = entry->change.payload.len, have = g->steps != NULL ? g->steps->len : 0;
	uint8_t *data = len > 0 && have + len <= g->len_max && gather_grow(g) ? malloc(len) : NULL;
	if (data == NULL) {
		g->failed = true;
		return false;
	}
	memcpy(data, entry->change.payload.data, len);
	g->steps->list[g->steps->count++] = (steps_out_step_t){
		.serial_from = entry->change.serial_from,
		.serial_to = entry->change.serial_to,
		.len = len,
		.data = data,
	};
	g->steps->len += len;
	g->is_there = entry->change.serial_to == g->serial_to;
	return !g->is_there;
}

static bool gather_pass(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	(void)rr, (void)is_added, (void)ctx;
	return true;
}

static bool steps_are_sound(const steps_out_t *steps)
{
	for (size_t i = 0; i < steps->count; i++) {
		if (changeset_each((knot_bytes_t){ steps->list[i].data, steps->list[i].len }, CHANGESET_STEP,
				    gather_pass, NULL) != KNOT_OK) {
			return false;
		}
	}
	return true;
}

/* Make several steps one if that is smaller. A failure leaves them as they are, which is right, too. */
static void steps_condense(steps_out_t *steps)
{
	changeset_merger_t *merger;
	if (steps->count < 2 || steps->len > STEPS_OUT_MERGE_MAX || changeset_merge_begin(&merger) != KNOT_OK) {
		return;
	}
	for (size_t i = 0; i < steps->count; i++) {
		if (changeset_merge_add(merger, (knot_bytes_t){ steps->list[i].data, steps->list[i].len },
				    CHANGESET_STEP) != KNOT_OK) {
			changeset_merge_discard(merger);
			return;
		}
	}
	uint8_t *data;
	size_t len;
	uint32_t removed, added;
	if (changeset_merge_finish(merger, &data, &len, &removed, &added) != KNOT_OK) {
		return;
	}
	if (len >= steps->len) {
		free(data);
		return;
	}
	uint32_t serial_to = steps->list[steps->count - 1].serial_to;
	for (size_t i = 0; i < steps->count; i++) {
		free(steps->list[i].data);
	}
	steps->list[0].serial_to = serial_to;
	steps->list[0].data = data;
	steps->list[0].len = steps->len = len;
	steps->count = 1;
}

/* Take what the steps need. False: there isn't as much. */
static bool steps_take(steps_out_t *steps, steps_out_budget_t *budget)
{
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	do {
		if (steps->len > budget->max - used) {
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(
			&budget->used, &used, used + steps->len, memory_order_relaxed, memory_order_relaxed));
	steps->budget = budget;
	steps->taken = steps->len;
	return true;
}

steps_out_verdict_t steps_out_read(journal_t *journal, steps_out_budget_t *budget, knot_name_t zone,
		uint32_t serial_from, uint32_t serial_to, size_t len_max, steps_out_t **ret_steps)
{
	gather_t g = { .serial_to = serial_to, .len_max = len_max };
	knot_err_t err = journal_each_from(journal, zone, serial_from, gather_entry, &g);
	steps_out_verdict_t verdict = STEPS_OUT_OK;
	if (err == KNOT_ENOENT) {
		verdict = STEPS_OUT_INCOMPLETE;
	} else if (err != KNOT_OK || g.failed) {
		verdict = STEPS_OUT_UNUSABLE;
	} else if (!g.is_there) {
		verdict = STEPS_OUT_INCOMPLETE;
	} else if (!steps_are_sound(g.steps)) {
		verdict = STEPS_OUT_UNUSABLE;
	}
	if (verdict != STEPS_OUT_OK) {
		steps_free(g.steps);
		return verdict;
	}
	steps_condense(g.steps);
	if (!steps_take(g.steps, budget)) {
		steps_free(g.steps);
		return STEPS_OUT_UNUSABLE;
	}
	*ret_steps = g.steps;
	return STEPS_OUT_OK;
}

const steps_out_step_t *steps_out_list(const steps_out_t *steps, size_t *ret_count)
{
	*ret_count = steps->count;
	return steps->list;
}

size_t steps_out_len(const steps_out_t *steps)
{
	return steps->len;
}

steps_out_t *steps_out_ref(steps_out_t *steps)
{
	atomic_fetch_add_explicit(&steps->users, 1, memory_order_relaxed);
	return steps;
}

void steps_out_drop(steps_out_t *take_steps)
{
	if (take_steps != NULL && atomic_fetch_sub_explicit(&take_steps->users, 1, memory_order_acq_rel) == 1) {
		steps_free(take_steps);
	}
}

bool steps_out_next(steps_out_records_t *records, changeset_rr_t *ret_rr)
{
	enum { RRSET_HEAD = 6 /* type, class, records */, RR_HEAD = 6 /* TTL, length */ };
	const uint8_t *data = records->payload.data;
	if (records->left == 0) {
		if (records->pos == records->payload.len) {
			return false;
		}
		records->owner = knot_name_of(data + records->pos);
		records->pos += records->owner.len;
		records->type = load_be16(data + records->pos);
		records->left = load_be16(data + records->pos + 4);
		records->pos += RRSET_HEAD;
	}
	*ret_rr = (changeset_rr_t){
		.owner = records->owner,
		.type = records->type,
		.ttl = load_be32(data + records->pos),
		.rdata = { data + records->pos + RR_HEAD, load_be16(data + records->pos + 4) },
	};
	records->pos += RR_HEAD + ret_rr->rdata.len;
	records->left--;
	assert(records->pos <= records->payload.len); /* checked by changeset_each() */
	return true;
}
