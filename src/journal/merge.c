/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/journal/changeset_merge.h"
#include "src/journal/internal.h"

#include <assert.h>
#include <stdlib.h>

/*
 * Which changes are merged. If it were always all of them, a journal of M bytes and a depth of d would be written again
 * after each d commits. So the newest ones are merged, and an older one joins them only while it is at most FACTOR
 * times as large as these together: sizes then fall by about that factor from one to the next, there are few of them,
 * and each byte is written again a logarithmic number of times. A whole zone is the oldest one. If that isn't enough
 * for the limits, more are merged, in the end all.
 */
enum { FACTOR = 2 };

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

/* The first entry of those that are merged. */
static size_t chain_choose(const chain_t *chain, const journal_limits_t *limits)
{
	size_t whole = chain->count > 0 && chain->entries[0].kind == JOURNAL_WHOLE, first = chain->count;
	uint64_t sum = 0;
	while (first > 0) {
		/* What is left, the merged one and the new one. */
		size_t changes = (first > whole ? first - whole : 0) + 2;
		bool is_needed = chain->count - first < 2 || changes > limits->depth_max;
		if (!is_needed && chain->costs[first - 1] > FACTOR * sum) {
			break;
		}
		sum += chain->costs[--first];
	}
	return first;
}

static knot_err_t chain_merge(const journal_t *journal, MDB_txn *txn, knot_name_t zone, chain_t *chain, size_t first,
		journal_merge_t *ret_merge)
{
	changeset_merger_t *merger;
	knot_err_t err = changeset_merge_begin(&merger);
	if (err != KNOT_OK) {
		return err;
	}
	for (size_t i = first; i < chain->count && err == KNOT_OK; i++) {
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
	journal_entry_t made = chain->entries[chain->count - 1];
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
		.into_whole = into_whole,
		.entry = made,
	};
	return KNOT_OK;
}

/* True if with the merge in the place of the entries from `first` on the new one fits. */
static bool chain_fits(const chain_t *chain, size_t first, const journal_merge_t *merge, uint64_t cost,
		const journal_limits_t *limits, size_t key_len)
{
	uint64_t bytes = journal_cost(&merge->entry, key_len) + cost;
	for (size_t i = 0; i < first; i++) {
		bytes += chain->costs[i];
	}
	return bytes <= limits->usage_max;
}

static knot_err_t merge_plan(const journal_t *journal, MDB_txn *txn, knot_name_t zone, const journal_entry_t *entry,
		const journal_limits_t *limits, chain_t *chain, journal_merge_t *ret_merge)
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
	if (err == KNOT_OK && chain->count == 0) {
		err = KNOT_ESPACE;
	}
	journal_key_t key;
	journal_key(zone, JOURNAL_KEY_CHANGE, 0, 0, &key);
	uint64_t cost = journal_cost(entry, key.len);
	size_t first = err == KNOT_OK ? chain_choose(chain, limits) : 0;
	while (err == KNOT_OK) {
		err = chain_merge(journal, txn, zone, chain, first, ret_merge);
		if (err != KNOT_OK || chain_fits(chain, first, ret_merge, cost, limits, key.len)) {
			break;
		}
		free((void *)ret_merge->entry.change.payload.data);
		err = first == 0 ? KNOT_ESPACE : KNOT_OK;
		first = 0;
	}
	return err;
}

knot_err_t journal_plan_merge(journal_t *journal, knot_name_t zone, const journal_entry_t *entry,
		const journal_limits_t *limits, journal_merge_t *ret_merge, journal_reason_t *ret_reason)
{
	MDB_txn *txn;
	chain_t chain = { 0 };
	int code = journal_begin_read_zone(journal, zone, &txn);
	knot_err_t err = journal_read_error(code);
	if (code == 0) {
		err = merge_plan(journal, txn, zone, entry, limits, &chain, ret_merge);
		journal_end_read(journal, txn);
	}
	chain_done(&chain);
	if (err == KNOT_ESPACE) {
		sys_lmdb_say(ret_reason, "the journal of the zone is full, and merging its changes doesn't make enough "
					 "room, increase 'zone.journal-max-usage'");
	} else if (err != KNOT_OK) {
		sys_lmdb_say(ret_reason, "merging changes in the journal: %s", knot_strerror(err));
	}
	return err;
}
