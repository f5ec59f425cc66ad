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
 * Borders divide the entries into parts, each of which is merged by itself: the part where a PART of the depth becomes
 * free at the lowest cost. If that isn't enough for the limits, borders are ignored, and in the end all is merged.
 */
enum { FACTOR = 2, PART = 4 };

/* Entries to merge: [first..end). */
typedef struct {
	size_t first, end;
	size_t freed;  /* how many changes fewer there are then */
	uint64_t cost; /* bytes that are merged */
} range_t;

typedef struct {
	journal_entry_t *entries; /* owned; from the oldest on, a whole zone first; payloads owned when loaded */
	uint64_t *costs;          /* owned; bytes of each */
	size_t count, max;
	uint64_t next; /* of the zone's meta */
} chain_t;

static void chain_done(chain_t *chain)
{
	for (size_t i = 0; i < chain->count; i++) {
		free((void *)chain->entries[i].change.payload.data);
	}
	free(chain->entries);
	free(chain->costs);
}

static knot_err_t chain_add(chain_t *chain, const MDB_val *key, const MDB_val *value)
{
	if (chain->count == chain->max) {
		size_t max = chain->max * 2 + 32;
		journal_entry_t *entries = realloc(chain->entries, max * sizeof(*entries));
		chain->entries = entries != NULL ? entries : chain->entries;
		uint64_t *costs = realloc(chain->costs, max * sizeof(*costs));
		chain->costs = costs != NULL ? costs : chain->costs;
		if (entries == NULL || costs == NULL) {
			return KNOT_ENOMEM;
		}
		chain->max = max;
	}
	journal_entry_t *entry = &chain->entries[chain->count];
	knot_err_t err = journal_head_read(journal_bytes(value), journal_bytes(key), entry);
	if (err != KNOT_OK) {
		return err;
	}
	entry->change.payload.data = NULL; /* loaded when it is needed */
	chain->costs[chain->count++] = journal_cost(entry, key->mv_size);
	return KNOT_OK;
}

static knot_err_t chain_read(MDB_cursor *cursor, knot_name_t zone, chain_t *chain)
{
	static const journal_key_kind_t kinds[] = { JOURNAL_KEY_WHOLE, JOURNAL_KEY_CHANGE };
	for (size_t i = 0; i < KNOT_LEN(kinds); i++) {
		MDB_val key, value;
		int code = journal_seek(cursor, zone, kinds[i], 0, &key, &value);
		while (code == 0) {
			knot_err_t err = chain_add(chain, &key, &value);
			if (err != KNOT_OK) {
				return err;
			}
			code = journal_step(cursor, false, &key, &value);
		}
		if (code != MDB_NOTFOUND) {
			return journal_read_error(code);
		}
	}
	return KNOT_OK;
}

/* Load the payload of an entry. */
static knot_err_t chain_load(const journal_t *journal, MDB_txn *txn, knot_name_t zone, journal_entry_t *entry)
{
	if (entry->change.payload.data != NULL) {
		return KNOT_OK;
	}
	uint8_t *payload;
	if (journal_head_pieces(entry) > 0) {
		knot_err_t err = journal_load_payload(journal, txn, zone, entry, &payload);
		if (err == KNOT_OK) {
			entry->change.payload.data = payload;
		}
		return err;
	}
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
	payload = malloc(again.change.payload.len);
	if (payload == NULL) {
		return KNOT_ENOMEM;
	}
	memcpy(payload, again.change.payload.data, again.change.payload.len);
	entry->change.payload.data = payload;
	return KNOT_OK;
}

/* The newest entries of the part [begin..end): at least two, such that `wanted` changes become free if there are so
 * many, and older ones that are cheap to join. */
static range_t chain_choose_of(const chain_t *chain, size_t begin, size_t end, size_t wanted)
{
	range_t range = { .first = end, .end = end };
	while (range.first > begin) {
		bool is_needed = end - range.first < 2 || range.freed < wanted;
		if (!is_needed && chain->costs[range.first - 1] > FACTOR * range.cost) {
			break;
		}
		range.cost += chain->costs[--range.first];
		range.freed = end - range.first - 1;
	}
	return range;
}

/* True if a border stands before the entry. */
static bool chain_is_border(const chain_t *chain, size_t at, const uint32_t *borders, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (chain->entries[at - 1].change.serial_to == borders[i]) {
			return true;
		}
	}
	return false;
}

/* What is merged so that at least `needed` changes become free. freed is smaller if there aren't so many. */
static range_t chain_choose(const chain_t *chain, const uint32_t *borders, size_t border_count, size_t needed,
		const journal_limits_t *limits)
{
	size_t wanted = needed > 0 ? needed : 1;
	if (needed > 0 && limits->depth_max / PART > needed) {
		wanted = (size_t)limits->depth_max / PART;
	}
	range_t best = { 0 };
	for (size_t end = chain->count, begin = end; end > 0; end = begin) {
		while (--begin > 0 && !chain_is_border(chain, begin, borders, border_count)) {}
		range_t range = chain_choose_of(chain, begin, end, wanted);
		size_t more = range.freed < wanted ? range.freed : wanted,
		       most = best.freed < wanted ? best.freed : wanted;
		if (more > most || (more == most && range.cost < best.cost)) {
			best = range;
		}
	}
	return best;
}

static knot_err_t chain_merge(const journal_t *journal, MDB_txn *txn, knot_name_t zone, chain_t *chain,
		const range_t *range, journal_merge_t *ret_merge)
{
	size_t first = range->first, last = range->end - 1;
	changeset_merger_t *merger;
	knot_err_t err = changeset_merge_begin(&merger);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = first; i <= last && err == KNOT_OK; i++) {
		journal_entry_t *entry = &chain->entries[i];
		if (i > first && entry->change.serial_from != chain->entries[i - 1].change.serial_to) {
			err = KNOT_EMALF;
			break;
		}
		err = chain_load(journal, txn, zone, entry);
		if (err == KNOT_OK) {
			err = changeset_merge_add(merger, entry->change.payload,
					entry->kind == JOURNAL_WHOLE ? CHANGESET_WHOLE : CHANGESET_STEP);
		}
	}
	if (err != KNOT_OK) {
		changeset_merge_discard(merger);
		return err;
	}
	bool into_whole = chain->entries[first].kind == JOURNAL_WHOLE;
	journal_entry_t made = chain->entries[last];
	uint8_t *data;
	err = changeset_merge_finish(merger, &data, &made.change.payload.len, &made.change.removed, &made.change.added);
	if (err != KNOT_OK) {
		return err;
	}
	made.change.payload.data = data;
	made.kind = into_whole ? JOURNAL_WHOLE : JOURNAL_MERGED;
	made.change.serial_from = into_whole ? made.change.serial_to : chain->entries[first].change.serial_from;
	*ret_merge = (journal_merge_t){
		.next = chain->next,
		.first = into_whole ? 0 : chain->entries[first].number,
		.end = chain->entries[last].number + 1,
		.into_whole = into_whole,
		.entry = made,
	};
	return KNOT_OK;
}

/* True if with the merge in the place of the range the new one fits. */
static bool chain_fits(const chain_t *chain, const range_t *range, const journal_merge_t *merge, uint64_t cost,
		const journal_limits_t *limits, size_t key_len)
{
	uint64_t bytes = journal_cost(&merge->entry, key_len) + cost;
	for (size_t i = 0; i < chain->count; i++) {
		bytes += i < range->first || i >= range->end ? chain->costs[i] : 0;
	}
	return bytes <= limits->usage_max;
}

/* What is merged for one more change. */
static range_t chain_plan(const chain_t *chain, const journal_limits_t *limits)
{
	uint32_t borders[JOURNAL_BORDERS_MAX];
	size_t border_count = limits->borders != NULL ? limits->borders(borders, limits->borders_ctx) : 0;
	size_t changes = chain->count - (chain->entries[0].kind == JOURNAL_WHOLE);
	size_t needed = changes >= limits->depth_max ? changes + 1 - (size_t)limits->depth_max : 0;
	range_t range = chain_choose(chain, borders, border_count, needed, limits);
	if (range.freed == 0 || range.freed < needed) {
		range = chain_choose(chain, NULL, 0, needed, limits);
	}
	return range.freed > 0 ? range : (range_t){ .end = chain->count };
}

static knot_err_t merge_read(const journal_t *journal, MDB_txn *txn, knot_name_t zone, chain_t *chain)
{
	MDB_cursor *cursor;
	journal_meta_t meta;
	bool damaged;
	int code = journal_load_meta(journal, txn, zone, &meta, &damaged);
	code = code != 0 ? code : mdb_cursor_open(txn, journal->lmdb.dbi, &cursor);
	if (code != 0) {
		return journal_read_error(code);
	}
	chain->next = meta.next;
	knot_err_t err = chain_read(cursor, zone, chain);
	mdb_cursor_close(cursor);
	return err == KNOT_OK && chain->count == 0 ? KNOT_ESPACE : err;
}

static knot_err_t merge_make(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry,
		const journal_limits_t *limits, chain_t *chain, range_t range, journal_merge_t *ret_merge)
{
	journal_key_t key;
	journal_key(zone, JOURNAL_KEY_CHANGE, 0, 0, &key);
	uint64_t cost = journal_cost(entry, key.len);
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK) {
		err = chain_merge(journal, txn, zone, chain, &range, ret_merge);
		if (err != KNOT_OK || chain_fits(chain, &range, ret_merge, cost, limits, key.len)) {
			break;
		}
		free((void *)ret_merge->entry.change.payload.data);
		err = range.end - range.first == chain->count ? KNOT_ESPACE : KNOT_OK;
		range = (range_t){ .first = 0, .end = chain->count };
	}
	return err;
}

/* The caller is asked for its borders between two transactions, as its locks come before env_lock. */
static knot_err_t merge_plan(journal_t *journal, knot_name_t zone, const journal_entry_t *entry,
		const journal_limits_t *limits, chain_t *chain, journal_merge_t *ret_merge)
{
	MDB_txn *txn;
	int code = journal_begin_read_zone(journal, zone, &txn);
	if (code != 0) {
		return journal_read_error(code);
	}
	knot_err_t err = merge_read(journal, txn, zone, chain);
	journal_end_read(journal, txn);
	if (err != KNOT_OK) {
		return err;
	}
	range_t range = chain_plan(chain, limits);
	code = journal_begin_read_zone(journal, zone, &txn);
	if (code != 0) {
		return journal_read_error(code);
	}
	err = merge_make(journal, txn, zone, entry, limits, chain, range, ret_merge);
	journal_end_read(journal, txn);
	return err;
}

knot_err_t journal_plan_merge(journal_t *journal, knot_name_t zone, const journal_entry_t *entry,
		const journal_limits_t *limits, journal_merge_t *ret_merge, journal_reason_t *ret_reason)
{
	chain_t chain = { 0 };
	knot_err_t err = merge_plan(journal, zone, entry, limits, &chain, ret_merge);
	chain_done(&chain);
	if (err == KNOT_ESPACE) {
		sys_lmdb_say(ret_reason, "the journal of the zone is full, and merging its changes doesn't make enough "
					 "room, increase 'zone.journal-max-usage'");
	} else if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "merging changes in the journal: %s", knot_strerror(err));
	}
	return err;
}
