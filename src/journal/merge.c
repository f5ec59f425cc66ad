/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/changeset_merge.h"
#include "src/journal/internal.h"

#include <assert.h>
#include <stdlib.h>

/*
 * Which changes are merged. If it were always all of them, a journal of M bytes and a depth of d would be written again
 * after each d commits. So the newest ones are merged, and an older one joins them only while it is at most FACTOR
 * times as large as these together: sizes then fall by about that factor from one to the next, there are few of them,
 * and each byte is written again a logarithmic number of times. A whole zone is the oldest one.
 *
 * Borders, and what can't be merged, divide the entries into parts, each of which is merged by itself: the part where a
 * PART of the depth becomes free at the lowest cost. If that isn't enough for the limits, borders are ignored, and in
 * the end all is merged.
 */
enum { FACTOR = 2, PART = 4 };

void journal_chain_done(journal_chain_t *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		free((void *)chain->links[i].entry.change.payload.data);
	}
	free(chain->links);
	*chain = (journal_chain_t){ 0 };
}

static bool chain_is_in_merge(const journal_busy_t *busy, const void *ctx)
{
	const journal_entry_t *entry = ctx;
	return entry->number >= busy->first && entry->number < busy->end;
}

static knot_err_t chain_add(
		journal_t *journal, uint64_t zone, journal_chain_t *chain, const MDB_val *key, const MDB_val *value)
{
	if (chain->count == chain->max) {
		size_t max = chain->max * 2 + 32;
		journal_link_t *links = realloc(chain->links, max * sizeof(*links));
		if (links == NULL) {
			return KNOT_ENOMEM;
		}
		chain->links = links;
		chain->max = max;
	}
	journal_link_t *link = &chain->links[chain->count];
	*link = (journal_link_t){ .cost = value->mv_size };
	if (journal_head_read(journal_bytes(value), journal_bytes(key), &link->entry) == KNOT_OK) {
		link->entry.change.payload.data = NULL; /* loaded when it is needed */
		link->cost = journal_cost(&link->entry, key->mv_size);
		memcpy(&link->sum, value->mv_data, sizeof(link->sum));
		link->is_taken = journal_is_busy(journal, zone, chain_is_in_merge, &link->entry);
	} else {
		/* Which kind it is and where it ends isn't known: nothing joins it. */
		link->is_taken = link->is_damaged = true;
		link->entry.kind = JOURNAL_NOTE;
	}
	chain->count++;
	return KNOT_OK;
}

knot_err_t journal_chain_read(journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_chain_t *ret_chain)
{
	static const journal_key_kind_t kinds[] = { JOURNAL_KEY_WHOLE, JOURNAL_KEY_CHANGE };
	MDB_cursor *cursor;
	journal_meta_t meta;
	bool damaged;
	*ret_chain = (journal_chain_t){ 0 };
	int code = journal_load_meta(journal, txn, zone, &meta, &damaged);
	code = code != 0 ? code : mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return journal_read_error(code);
	}
	ret_chain->next = meta.next;
	ret_chain->flags = meta.flags;
	ret_chain->file = meta.flags & JOURNAL_HAS_FLUSHED ? meta.flushed : 0;
	ret_chain->serial_file = meta.serial_flushed;
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < KNOT_LEN(kinds) && err == KNOT_OK; i++) {
		MDB_val key, value;
		code = journal_seek(cursor, zone, kinds[i], 0, &key, &value);
		for (; code == 0 && err == KNOT_OK; code = journal_step(cursor, false, &key, &value)) {
			err = chain_add(journal, journal_hash_zone(zone), ret_chain, &key, &value);
		}
		if (err == KNOT_OK && code != MDB_NOTFOUND) {
			err = journal_read_error(code);
		}
	}
	mdb_cursor_close(cursor);
	err = err == KNOT_OK && ret_chain->count == 0 ? KNOT_ENOENT : err;
	if (err != KNOT_OK) {
		journal_chain_done(ret_chain);
	}
	return err;
}

size_t journal_count_damaged(const journal_chain_t *chain)
{
	size_t count = 0;
	for (size_t i = 0; i < chain->count; i++) {
		count += chain->links[i].is_damaged;
	}
	return count;
}

uint64_t journal_chain_bytes(const journal_chain_t *chain, uint64_t *ret_largest)
{
	uint64_t bytes = 0;
	*ret_largest = 0;
	for (size_t i = 0; i < chain->count; i++) {
		bytes += chain->links[i].cost;
		*ret_largest = chain->links[i].cost > *ret_largest ? chain->links[i].cost : *ret_largest;
	}
	return bytes;
}

/* ---- What is merged ---- */

/* The newest entries of the part [begin..end): at least two, such that `wanted` changes become free if there are so
 * many, and older ones that are cheap to join. */
static journal_range_t choose_of_part(const journal_chain_t *chain, size_t begin, size_t end, size_t wanted)
{
	journal_range_t range = { .first = end, .end = end };
	while (range.first > begin) {
		if (range.cost + chain->links[range.first - 1].cost > JOURNAL_PAYLOAD_MAX) {
			break;
		}
		bool is_needed = end - range.first < 2 || range.freed < wanted;
		if (!is_needed && chain->links[range.first - 1].cost > FACTOR * range.cost) {
			break;
		}
		range.cost += chain->links[--range.first].cost;
		range.freed = end - range.first - 1;
	}
	return range;
}

size_t journal_add_border(journal_chain_t *chain, const journal_limits_t *limits, uint32_t *borders, size_t count)
{
	for (size_t i = 0; i < chain->count && limits->has_file_source; i++) {
		const journal_link_t *link = &chain->links[i];
		if (!link->is_damaged && link->entry.change.source == limits->file_source &&
				link->entry.number > chain->file) {
			chain->file = link->entry.number;
			chain->serial_file = link->entry.change.serial_to;
		}
	}
	if (chain->file != 0) {
		borders[count++] = chain->serial_file;
	}
	return count;
}

/* True if what stands before the entry isn't merged with it. */
static bool choose_is_apart(const journal_chain_t *chain, size_t at, const uint32_t *borders, size_t count)
{
	const journal_link_t *before = &chain->links[at - 1], *link = &chain->links[at];
	bool is_apart = before->is_taken || link->is_taken ||
			before->entry.change.serial_to != link->entry.change.serial_from;
	for (size_t i = 0; i < count && !is_apart; i++) {
		is_apart = before->entry.change.serial_to == borders[i];
	}
	return is_apart;
}

journal_range_t journal_choose(const journal_chain_t *chain, const uint32_t *borders, size_t border_count,
		size_t needed, const journal_limits_t *limits)
{
	size_t wanted = needed > 0 ? needed : 1;
	if (needed > 0 && limits->depth_max / PART > needed) {
		wanted = (size_t)limits->depth_max / PART;
	}
	journal_range_t best = { 0 };
	for (size_t end = chain->count, begin = end; end > 0; end = begin) {
		while (--begin > 0 && !choose_is_apart(chain, begin, borders, border_count)) {}
		journal_range_t range = choose_of_part(chain, begin, end, wanted);
		size_t more = range.freed < wanted ? range.freed : wanted;
		size_t most = best.freed < wanted ? best.freed : wanted;
		if (more > most || (more == most && range.cost < best.cost)) {
			best = range;
		}
	}
	return best;
}

bool journal_is_merging(const journal_chain_t *chain)
{
	bool is_merging = false;
	for (size_t i = 0; i < chain->count; i++) {
		is_merging = is_merging || (chain->links[i].is_taken && !chain->links[i].is_damaged);
	}
	return is_merging;
}

journal_range_t journal_choose_across(const journal_chain_t *chain, size_t needed, const journal_limits_t *limits)
{
	journal_range_t range = journal_choose(chain, &chain->serial_file, chain->file != 0, needed, limits);
	return range.freed > 0 ? range : journal_choose(chain, NULL, 0, needed, limits);
}

/* ---- Merging ---- */

static knot_err_t chain_load_inline(const journal_t *journal, MDB_txn *txn, knot_name_t zone,
		const journal_entry_t *entry, uint8_t **ret_payload)
{
	journal_key_t at;
	journal_entry_t again;
	journal_key(zone, entry->kind == JOURNAL_WHOLE ? JOURNAL_KEY_WHOLE : JOURNAL_KEY_CHANGE, entry->number, 0, &at);
	MDB_val key = journal_val(&at), value;
	knot_err_t err = journal_read_error(mdb_get(txn, journal->lmdb.dbi, &key, &value));
	if (err == KNOT_OK) {
		err = journal_head_read(journal_bytes(&value), journal_bytes(&key), &again);
	}
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_EMALF : err;
	}
	uint8_t *payload = malloc(again.change.payload.len);
	if (payload == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(payload, again.change.payload.data, again.change.payload.len);
	*ret_payload = payload;
	return KNOT_OK;
}

knot_err_t journal_chain_load(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_chain_t *chain,
		const journal_range_t *range)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = range->first; i < range->end && err == KNOT_OK; i++) {
		journal_link_t *link = &chain->links[i];
		uint8_t *payload;
		if (link->is_damaged) {
			return KNOT_EMALF;
		}
		if (link->entry.change.payload.data != NULL) {
			continue;
		}
		err = journal_head_pieces(&link->entry) > 0
				      ? journal_load_payload(journal, txn, zone, &link->entry, &payload)
				      : chain_load_inline(journal, txn, zone, &link->entry, &payload);
		if (err == KNOT_OK) {
			link->entry.change.payload.data = payload;
		}
		link->is_damaged = link->is_damaged || err == KNOT_EMALF;
		link->is_taken = link->is_taken || err == KNOT_EMALF;
	}
	return err;
}

knot_err_t journal_chain_merge(const journal_chain_t *chain, const journal_range_t *range, journal_merge_t *ret_merge)
{
	const journal_link_t *first = &chain->links[range->first], *last = &chain->links[range->end - 1];
	bool into_whole = first->entry.kind == JOURNAL_WHOLE;
	changeset_merger_t *merger;
	knot_err_t err = changeset_merge_begin(&merger);
	if (err != KNOT_OK) {
		return err;
	}
	for (const journal_link_t *link = first; link <= last && err == KNOT_OK; link++) {
		if (link->is_damaged ||
				(link > first && link->entry.change.serial_from != link[-1].entry.change.serial_to)) {
			err = KNOT_EMALF;
			break;
		}
		err = changeset_merge_add(merger, link->entry.change.payload,
				link->entry.kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP);
	}
	if (err != KNOT_OK) {
		changeset_merge_discard(merger);
		return err;
	}
	journal_entry_t made = last->entry;
	uint8_t *data;
	err = changeset_merge_finish(merger, &data, &made.change.payload.len, &made.change.removed, &made.change.added);
	if (err != KNOT_OK) {
		return err;
	}
	if (made.change.payload.len > JOURNAL_PAYLOAD_MAX) {
		free(data);
		return KNOT_ESPACE;
	}
	made.change.payload.data = data;
	made.series = 0;
	made.kind = into_whole ? JOURNAL_WHOLE : JOURNAL_MERGED;
	made.change.serial_from = into_whole ? made.change.serial_to : first->entry.change.serial_from;
	*ret_merge = (journal_merge_t){
		.next = chain->next,
		.first = into_whole ? 0 : first->entry.number,
		.end = last->entry.number + 1,
		.into_whole = into_whole,
		.entry = made,
		.links = first,
		.link_count = range->end - range->first,
	};
	return KNOT_OK;
}

/* ---- For one more change ---- */

/* True if with the merge in the place of the range the new one fits. */
static bool plan_fits(const journal_chain_t *chain, const journal_range_t *range, const journal_merge_t *merge,
		uint64_t cost, const journal_limits_t *limits, size_t key_len)
{
	uint64_t bytes = journal_cost(&merge->entry, key_len) + cost;
	for (size_t i = 0; i < chain->count; i++) {
		bytes += i < range->first || i >= range->end ? chain->links[i].cost : 0;
	}
	return bytes <= limits->usage_max;
}

/* At the last, what is on its way is merged here, and journal_merge() begins again; then borders give way. */
static journal_range_t plan_choose_anything(journal_chain_t *chain, const uint32_t *borders, size_t border_count,
		size_t needed, const journal_limits_t *limits)
{
	for (size_t i = 0; i < chain->count; i++) {
		chain->links[i].is_taken = chain->links[i].is_damaged;
	}
	journal_range_t range = journal_choose(chain, borders, border_count, needed, limits);
	if (range.freed == 0 || range.freed < needed) {
		range = journal_choose_across(chain, needed, limits);
	}
	if (range.freed == 0 || range.freed < needed) {
		range = journal_choose(chain, NULL, 0, needed, limits);
	}
	return range.freed > 0 ? range : (journal_range_t){ .end = chain->count };
}

/* What is merged for one more change. */
static knot_err_t plan_choose(journal_chain_t *chain, const journal_op_t *op, journal_range_t *ret_range)
{
	const journal_limits_t *limits = op->limits;
	uint32_t borders[JOURNAL_BORDERS_MAX + 1];
	size_t border_count = limits->borders != NULL ? limits->borders(borders, limits->borders_ctx) : 0;
	border_count = journal_add_border(chain, limits, borders, border_count);
	size_t changes = chain->count - (chain->links[0].entry.kind == JOURNAL_WHOLE);
	uint64_t depth_max = limits->depth_max + (op->exceeds_depth ? JOURNAL_DEPTH_MORE : 0);
	size_t needed = changes >= depth_max ? changes + 1 - (size_t)depth_max : 0;
	journal_range_t range = journal_choose(chain, borders, border_count, needed, limits);
	if (range.freed == 0 && !journal_is_merging(chain)) { /* else there is more to choose from soon */
		range = journal_choose_across(chain, needed, limits);
	}
	bool is_enough = range.freed > 0 && range.freed >= needed;
	if (needed > 0 && !op->exceeds_depth && !(is_enough && range.cost <= JOURNAL_MERGE_AT_ONCE)) {
		return KNOT_EBUSY;
	}
	*ret_range = is_enough ? range : plan_choose_anything(chain, borders, border_count, needed, limits);
	return KNOT_OK;
}

/* Merge the range, or all if that isn't enough. */
static knot_err_t plan_make(const journal_t *journal, MDB_txn *txn, const journal_op_t *op, journal_chain_t *chain,
		journal_range_t range, journal_merge_t *ret_merge)
{
	journal_key_t key;
	journal_key(op->zone, JOURNAL_KEY_CHANGE, 0, 0, &key);
	uint64_t cost = journal_cost(op->entry, key.len);
	for (;;) {
		knot_err_t err = journal_chain_load(journal, txn, op->zone, chain, &range);
		err = err == KNOT_OK ? journal_chain_merge(chain, &range, ret_merge) : err;
		if (err != KNOT_OK || plan_fits(chain, &range, ret_merge, cost, op->limits, key.len)) {
			return err;
		}
		free((void *)ret_merge->entry.change.payload.data);
		if (range.end - range.first == chain->count) {
			return KNOT_ESPACE;
		}
		range = (journal_range_t){ .first = 0, .end = chain->count };
	}
}

static knot_err_t plan_load(journal_t *journal, const journal_op_t *op, journal_chain_t *chain, journal_range_t range,
		journal_merge_t *ret_merge)
{
	MDB_txn *txn;
	journal_meta_t meta;
	bool damaged;
	int code = journal_begin_read_zone(journal, op->zone, &txn);
	if (code != 0) {
		return journal_read_error(code);
	}
	code = journal_load_meta(journal, txn, op->zone, &meta, &damaged);
	knot_err_t err = journal_read_error(code);
	if (err == KNOT_OK && meta.next != chain->next) {
		err = KNOT_EAGAIN;
	}
	err = err == KNOT_OK ? plan_make(journal, txn, op, chain, range, ret_merge) : err;
	journal_end_read(journal, txn);
	return err;
}

/* The caller is asked for its borders between two transactions, as its locks come before env_lock. */
static knot_err_t plan_merge(
		journal_t *journal, const journal_op_t *op, journal_chain_t *chain, journal_merge_t *ret_merge)
{
	MDB_txn *txn;
	journal_range_t range;
	int code = journal_begin_read_zone(journal, op->zone, &txn);
	if (code != 0) {
		return journal_read_error(code);
	}
	knot_err_t err = journal_chain_read(journal, txn, op->zone, chain);
	journal_end_read(journal, txn);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_ESPACE : err;
	}
	/* What turns out to be damaged is left out. */
	size_t damaged = journal_count_damaged(chain), before;
	do {
		before = damaged;
		err = plan_choose(chain, op, &range);
		err = err == KNOT_OK ? plan_load(journal, op, chain, range, ret_merge) : err;
		damaged = journal_count_damaged(chain);
	} while (err == KNOT_EMALF && damaged > before);
	return err;
}

knot_err_t journal_plan_merge(
		journal_t *journal, const journal_op_t *op, journal_merge_t *ret_merge, journal_reason_t *ret_reason)
{
	journal_chain_t chain = { 0 };
	knot_err_t err = plan_merge(journal, op, &chain, ret_merge);
	journal_chain_done(&chain);
	if (err == KNOT_ESPACE) {
		sys_lmdb_say(ret_reason, "the journal of the zone is full, and merging its changes doesn't make enough "
					 "room, increase 'zone.journal-max-usage'");
	} else if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "merging changes in the journal: %s", knot_strerror(err));
	}
	return err;
}
