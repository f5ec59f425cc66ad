/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merging beside the thread that stores changes. What is to be merged is read and computed outside of any transaction,
 * written in pieces (loose.c), and put in the place of what it is made of by a small transaction, if that is still
 * there; else it begins again.
 */
#include "src/journal/internal.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/sys/clock.h"

enum {
	/* Usage from which all is merged, so that storing a change doesn't have to, if that promises to free a part. */
	PRESSURE_PARTS = 8,
	PRESSURE_FROM = 6,
	RETRY_MS = 60000, /* after a failure: else each change would try it again, in a full database in vain */
};

/* ---- Zones with changes to merge ---- */

uint64_t journal_hash_zone(knot_name_t zone)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(zone, wire);
	return XXH3_64bits(wire, zone.len);
}

static journal_deep_t **deep_find(journal_t *journal, uint64_t zone) SYS_REQUIRES(&journal->lock)
{
	journal_deep_t **at = &journal->deep;
	while (*at != NULL && (*at)->zone != zone) {
		at = &(*at)->next;
	}
	return at;
}

void journal_note_deep(journal_t *journal, knot_name_t zone, bool may_merge)
{
	uint64_t hash = journal_hash_zone(zone);
	sys_mutex_lock(&journal->lock);
	journal_deep_t **at = deep_find(journal, hash);
	if (*at != NULL) {
		(*at)->again = true;
	} else if ((*at = calloc(1, sizeof(**at))) != NULL) { /* without memory the next change tries again */
		(*at)->zone = hash;
	}
	if (*at != NULL) {
		(*at)->may_merge = (*at)->may_merge || may_merge;
	}
	sys_mutex_unlock(&journal->lock);
}

bool journal_wants_merge(journal_t *journal, knot_name_t zone)
{
	sys_mutex_lock(&journal->lock);
	bool wants = false;
	if (journal->deep != NULL) {
		const journal_deep_t *deep = *deep_find(journal, journal_hash_zone(zone));
		wants = deep != NULL && !deep->is_merging && sys_clock_ms() >= deep->retry_ms;
	}
	sys_mutex_unlock(&journal->lock);
	return wants;
}

/* False: it isn't noted, or another thread merges. */
static bool deep_begin(journal_t *journal, uint64_t zone, bool *may_merge)
{
	sys_mutex_lock(&journal->lock);
	journal_deep_t *deep = *deep_find(journal, zone);
	bool begins = deep != NULL && !deep->is_merging;
	if (begins) {
		deep->is_merging = true;
		deep->again = false;
		*may_merge = *may_merge || deep->may_merge;
	}
	sys_mutex_unlock(&journal->lock);
	return begins;
}

/* False: it begins again, as another change came meanwhile. What failed stays noted. */
static bool deep_end(journal_t *journal, uint64_t zone, knot_err_t err, bool is_stopping)
{
	sys_mutex_lock(&journal->lock);
	journal_deep_t **at = deep_find(journal, zone), *deep = *at;
	bool ends = err != KNOT_OK || is_stopping || !deep->again;
	deep->again = false;
	if (err != KNOT_OK) {
		deep->is_merging = false;
		deep->retry_ms = sys_clock_ms() + RETRY_MS;
	} else if (ends) {
		*at = deep->next;
		free(deep);
	}
	sys_mutex_unlock(&journal->lock);
	return ends;
}

/* ---- What to merge ---- */

/* What to merge of the first `count` entries. Borders give way, if they may, when nothing else is left. */
static journal_range_t background_choose_of(journal_chain_t *chain, size_t count, const uint32_t *borders,
		size_t border_count, bool may_cross, size_t needed, const journal_limits_t *limits)
{
	size_t all = chain->count;
	chain->count = count;
	journal_range_t range = journal_choose(chain, borders, border_count, needed, limits);
	chain->count = all - 1; /* the last change stays as it is */
	if (range.freed == 0) {
		range = journal_choose(chain, borders, border_count, needed, limits);
	}
	bool crosses = range.freed == 0 && may_cross;
	chain->count = all;
	if (crosses && !journal_is_merging(chain)) {
		chain->count = all - 1;
		range = journal_choose_across(chain, needed, limits);
		chain->count = all;
	}
	return range;
}

/* The range of the chain to merge now; freed 0: none. */
static journal_range_t background_choose(
		journal_chain_t *chain, const uint32_t *borders, size_t border_count, const journal_limits_t *limits)
{
	bool has_whole = chain->links[0].entry.kind == JOURNAL_WHOLE;
	size_t changes = chain->count - has_whole, count = chain->count;
	uint64_t largest, bytes = journal_chain_bytes(chain, &largest), part = limits->usage_max / PRESSURE_PARTS;
	if ((!has_whole && !limits->may_merge) || count < 3) {
		return (journal_range_t){ 0 };
	}
	if (bytes >= PRESSURE_FROM * part && bytes - largest >= part) {
		/* What crosses borders waits until a change has no room at all. */
		journal_range_t range =
				background_choose_of(chain, count - 1, borders, border_count, false, count, limits);
		if (range.freed > 0) {
			return range;
		}
	}
	if (changes <= limits->depth_max) {
		return (journal_range_t){ 0 };
	}
	/* As if the change that exceeds the depth had made room for itself. If that is long past: all but the last. */
	size_t over = changes - (size_t)limits->depth_max;
	return background_choose_of(chain, over <= limits->depth_max ? count - over : count - 1, borders, border_count,
			true, over, limits);
}

/* ---- Putting it in place ---- */

static int replace_find(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_link_t *link,
		journal_key_t *ret_key)
{
	bool is_whole = link->entry.kind == JOURNAL_WHOLE;
	journal_key(zone, is_whole ? JOURNAL_KEY_WHOLE : JOURNAL_KEY_CHANGE, link->entry.number, 0, ret_key);
	MDB_val key = journal_val(ret_key), value;
	int code = mdb_get(txn, journal->lmdb.dbi, &key, &value);
	if (code != 0) {
		return code;
	}
	return value.mv_size >= sizeof(link->sum) && memcmp(value.mv_data, &link->sum, sizeof(link->sum)) == 0
			       ? 0
			       : MDB_NOTFOUND;
}

int journal_find_merged(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_merge_t *merge)
{
	int code = 0;
	for (size_t i = 0; i < merge->link_count && code == 0; i++) {
		journal_key_t at;
		code = replace_find(journal, txn, zone, &merge->links[i], &at);
	}
	return code;
}

/* Delete the heads of what was merged; their pieces are loose then. */
static int replace_delete(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_merge_t *merge,
		journal_meta_t *meta)
{
	for (size_t i = 0; i < merge->link_count; i++) {
		journal_key_t at;
		int code = replace_find(journal, txn, zone, &merge->links[i], &at);
		MDB_val key = journal_val(&at);
		code = code != 0 ? code : mdb_del(txn, journal->lmdb.dbi, &key, NULL);
		if (code != 0) {
			return code;
		}
		if (journal_head_pieces(&merge->links[i].entry) > 0) {
			meta->flags |= JOURNAL_HAS_LOOSE;
		}
	}
	return 0;
}

/* KNOT_EAGAIN: what was merged isn't there any more. */
static int op_replace(journal_t *journal, MDB_txn *txn, journal_op_t *op)
{
	const journal_merge_t *merge = op->merge;
	journal_meta_t meta;
	uint64_t cost;
	int code = journal_begin_zone(journal, txn, op->zone, &meta);
	code = code != 0 ? code : journal_find_merged(journal, txn, op->zone, merge);
	code = code != 0 ? code : journal_count_pieces(journal, txn, op->zone, &merge->entry);
	if (code == MDB_NOTFOUND) {
		op->err = KNOT_EAGAIN;
		return 0;
	}
	code = code != 0 ? code : replace_delete(journal, txn, op->zone, merge, &meta);
	code = code != 0 ? code : journal_put_head(journal, txn, op->zone, &merge->entry, &cost);
	code = code != 0 ? code : journal_recount(journal, txn, op->zone, &meta);
	meta.next++; /* what was planned over the old changes is out of date */
	return code != 0 ? code : journal_save_meta(journal, txn, op->zone, &meta);
}

/* ---- Merging ---- */

/* One merge on its way. */
typedef struct {
	journal_t *journal;
	knot_name_t zone;
	const journal_limits_t *limits;
	const bool *stopping;
	journal_reason_t *reason;
	journal_chain_t chain;
	journal_range_t range;
	journal_busy_t busy;
	bool has_loose;
} background_t;

/*
 * Read the chain twice: the caller is asked for its borders between two transactions, as its locks come before
 * env_lock. A version that is stored elsewhere from then on is not older than the chain that was read first, so no
 * border is missed. KNOT_ENOENT: there is nothing to merge.
 */
static knot_err_t background_read(background_t *work)
{
	journal_t *journal = work->journal;
	MDB_txn *txn;
	uint32_t borders[JOURNAL_BORDERS_MAX + 1];
	int code = journal_begin_read_zone(journal, work->zone, &txn);
	if (code != 0) {
		return journal_read_error(code);
	}
	knot_err_t err = journal_chain_read(journal, txn, work->zone, &work->chain);
	journal_end_read(journal, txn);
	if (err != KNOT_OK) {
		return err;
	}
	journal_link_t last = work->chain.links[work->chain.count - 1];
	journal_chain_done(&work->chain);
	size_t border_count =
			work->limits->borders != NULL ? work->limits->borders(borders, work->limits->borders_ctx) : 0;
	code = journal_begin_read_zone(journal, work->zone, &txn);
	if (code != 0) {
		return journal_read_error(code);
	}
	err = journal_chain_read(journal, txn, work->zone, &work->chain);
	if (err == KNOT_OK) {
		bool is_same = false; /* else numbers may have begun at 1 again, or it was merged */
		for (size_t i = 0; i < work->chain.count; i++) {
			journal_link_t *link = &work->chain.links[i];
			is_same = is_same || (link->entry.number == last.entry.number && link->sum == last.sum);
			link->is_taken = link->is_taken || link->entry.number > last.entry.number;
		}
		work->has_loose = (work->chain.flags & JOURNAL_HAS_LOOSE) != 0;
		if (!is_same) {
			journal_end_read(journal, txn);
			return KNOT_EAGAIN;
		}
		border_count = journal_add_border(&work->chain, work->limits, borders, border_count);
		size_t damaged = journal_count_damaged(&work->chain), before;
		do { /* what turns out to be damaged is left out */
			before = damaged;
			work->range = background_choose(&work->chain, borders, border_count, work->limits);
			err = work->range.freed > 0
					      ? journal_chain_load(journal, txn, work->zone, &work->chain, &work->range)
					      : KNOT_ENOENT;
			damaged = journal_count_damaged(&work->chain);
		} while (err == KNOT_EMALF && damaged > before);
	}
	journal_end_read(journal, txn);
	return err;
}

static knot_err_t background_write(background_t *work, journal_merge_t *merge)
{
	const journal_entry_t *last = &merge->links[merge->link_count - 1].entry;
	merge->entry.series = journal_head_pieces(last) > 0 && last->series == 0 ? 1 : 0;
	journal_busy_t pieces = {
		.zone = work->busy.zone, .number = merge->entry.number, .series = merge->entry.series
	};
	journal_busy_begin(work->journal, &pieces);
	knot_err_t err = journal_put_loose(
			work->journal, work->zone, &merge->entry, merge, work->stopping, work->reason);
	if (err == KNOT_OK) {
		journal_op_t op = { .run = op_replace, .zone = work->zone, .merge = merge };
		op.bytes = journal_head_len(&merge->entry);
		journal_submit(work->journal, &op);
		err = op.err;
		*work->reason = op.reason;
	}
	journal_busy_end(work->journal, &pieces);
	return err;
}

/* KNOT_ENOENT: there is nothing to merge. KNOT_EAGAIN: the changes were replaced meanwhile. */
static knot_err_t background_merge_once(background_t *work)
{
	journal_merge_t merge;
	knot_err_t err = background_read(work);
	if (err == KNOT_OK) {
		const journal_link_t *links = work->chain.links;
		work->busy = (journal_busy_t){ .zone = journal_hash_zone(work->zone),
			.first = links[work->range.first].entry.number,
			.end = links[work->range.end - 1].entry.number + 1 };
		journal_busy_begin(work->journal, &work->busy);
		err = journal_chain_merge(&work->chain, &work->range, &merge);
		if (err == KNOT_OK) {
			err = background_write(work, &merge);
			free((void *)merge.entry.change.payload.data);
		}
		journal_busy_end(work->journal, &work->busy);
	}
	journal_chain_done(&work->chain);
	return err;
}

static knot_err_t background_merge(background_t *work)
{
	bool cleans = false;
	knot_err_t err = KNOT_OK;
	while ((err == KNOT_OK || err == KNOT_EAGAIN) && !__atomic_load_n(work->stopping, __ATOMIC_RELAXED)) {
		err = background_merge_once(work);
		cleans = cleans || work->has_loose || err != KNOT_ENOENT; /* a failure leaves pieces, too */
	}
	knot_err_t clean_err = KNOT_OK;
	journal_reason_t clean_reason = { "" };
	if (cleans && !__atomic_load_n(work->stopping, __ATOMIC_RELAXED)) {
		clean_err = journal_clean(work->journal, work->zone, work->stopping, &clean_reason);
	}
	bool is_done = err == KNOT_ENOENT || err == KNOT_EAGAIN || err == KNOT_ESTOPPED;
	if (is_done) {
		*work->reason = clean_reason;
	}
	return is_done ? clean_err : err;
}

knot_err_t journal_merge(journal_t *journal, knot_name_t zone, const journal_limits_t *limits, const bool *stopping,
		journal_reason_t *ret_reason)
{
	journal_reason_t reason = { "" };
	uint64_t hash = journal_hash_zone(zone);
	knot_err_t err = KNOT_OK;
	journal_limits_t limits_now = *limits;
	if (deep_begin(journal, hash, &limits_now.may_merge)) {
		do {
			background_t work = { .journal = journal,
				.zone = zone,
				.limits = &limits_now,
				.stopping = stopping,
				.reason = &reason };
			err = background_merge(&work);
		} while (!deep_end(journal, hash, err, __atomic_load_n(stopping, __ATOMIC_RELAXED)));
	}
	if (ret_reason != NULL) {
		*ret_reason = err == KNOT_OK ? (journal_reason_t){ "" } : reason;
	}
	return err;
}
