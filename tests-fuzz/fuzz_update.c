/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Operators' words of any bytes applied to a zone: `+` sets and `-` unsets, with up to four words behind, each ending
 * in a byte 0; a step ends in a byte 1. `m` marks, `r` rolls back to the last mark, `c` commits, `f` commits while
 * nothing can be stored.
 *
 * What a transaction says is different leads from the zone to what it lists; what it builds, written as a zone file, is
 * read as the same records. A rollback, and a commit that fails, leave the edits of before. What a commit stores,
 * applied to the records of before, builds from scratch what it publishes.
 */
#include "src/update/edit.h"
#include "src/update/update.h"
#include "src/zone/dump.h"
#include "tests/oracle/same.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WORDS = 4, STEPS_MAX = 64, MARKS = 8 };

static uint8_t origin_wire[] = "\4zone";
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};
static uint8_t scratch[KNOT_RDATA_MAX];

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static zone_contents_t *build(const char *text, size_t len)
{
	zone_contents_t *zone;
	check(zone_build_text((knot_str_t){ text, len }, "fuzz", &params, &zone) == KNOT_OK);
	return zone;
}

/* A sum that doesn't depend on the order: of each record's bytes. */
static bool add_rr(const zone_rr_t *rr, void *ctx)
{
	uint64_t hash = 0xcbf29ce484222325 ^ rr->ttl ^ (uint64_t)rr->type << 32;
	for (size_t i = 0; i < rr->owner.len + rr->rdata.len; i++) {
		hash = (hash ^ (i < rr->owner.len ? rr->owner.wire[i] : rr->rdata.data[i - rr->owner.len])) *
		       0x100000001b3;
	}
	*(uint64_t *)ctx += hash * 0x9e3779b97f4a7c15;
	return true;
}

static uint64_t sum_of_zone(const zone_contents_t *zone)
{
	uint64_t sum = 0;
	check(zone_each_record(zone, scratch, add_rr, &sum));
	return sum;
}

static void check_differences(const zone_txn_t *txn, const zone_contents_t *base)
{
	uint64_t removed = 0, added = 0, listed = 0;
	check(zone_txn_diff(txn, false, add_rr, &removed) == KNOT_OK &&
			zone_txn_diff(txn, true, add_rr, &added) == KNOT_OK);
	check(zone_txn_each(txn, add_rr, &listed) == KNOT_OK);
	check(sum_of_zone(base) - removed + added == listed);
}

static void check_build(const zone_txn_t *txn, const zone_contents_t *base)
{
	zone_contents_t *zone;
	if (zone_txn_build(txn, base, &params, &zone) != KNOT_OK) {
		return;
	}
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	check(fd >= 0 && zone_dump(zone, fd, &(zone_dump_params_t){ .program = "fuzz" }) == KNOT_OK);
	size_t len = (size_t)lseek(fd, 0, SEEK_END);
	char *text = malloc(len);
	check(text != NULL && pread(fd, text, len, 0) == (ssize_t)len);
	close(fd);
	zone_contents_t *again = build(text, len);
	check(sum_of_zone(again) == sum_of_zone(zone) && again->serial == zone->serial);
	free(text);
	zone_contents_free(again);
	zone_contents_free(zone);
}

/* ---- Commits ---- */

static uint64_t sum_of_edits(const zone_txn_t *txn)
{
	uint64_t sum = 0;
	check(zone_txn_each(txn, add_rr, &sum) == KNOT_OK);
	return sum;
}

typedef struct {
	zone_contents_t *served, *fresh; /* owned; fresh: what was stored, built from scratch */
	update_t update;
	bool is_full; /* nothing can be stored */
	struct {
		size_t mark;
		uint64_t sum;
	} marks[MARKS];
	unsigned mark_count;
} world_t;

static bool put_rr(const zone_rr_t *rr, void *ctx)
{
	check(zone_txn_put(ctx, rr->owner, rr->type, rr->ttl, rr->rdata) == KNOT_OK);
	return true;
}

static bool apply_rr(const changeset_rr_t *rr, bool is_added, void *ctx)
{
	check((is_added ? zone_txn_put(ctx, rr->owner, rr->type, rr->ttl, rr->rdata)
			: zone_txn_remove(ctx, rr->owner, rr->type, rr->rdata)) == KNOT_OK);
	return true;
}

static knot_err_t store(const update_record_t *record, char *reason, void *ctx)
{
	(void)reason;
	world_t *world = ctx;
	if (world->is_full) {
		return KNOT_ESPACE;
	}
	zone_txn_t *txn;
	zone_contents_t *fresh;
	check(zone_txn_begin(NULL, &params, &txn) == KNOT_OK);
	check(zone_each_record(world->fresh, scratch, put_rr, txn));
	check(changeset_each(record->payload, CHANGESET_STEP, apply_rr, txn) == KNOT_OK);
	check(zone_txn_build(txn, NULL, &params, &fresh) == KNOT_OK);
	zone_txn_discard(txn);
	zone_contents_free(world->fresh);
	world->fresh = fresh;
	return KNOT_OK;
}

static void publish(zone_contents_t *take_contents, void *ctx)
{
	((world_t *)ctx)->served = take_contents;
}

static void commit(world_t *world, bool is_full)
{
	static const update_policy_t policy = {
		.build = { .origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT },
		.serials = { .policy = CONF_SERIAL_INCREMENT },
		.stores = UPDATE_STORES_CHANGES,
	};
	const update_env_t env = { .store = store, .publish = publish, .ctx = world };
	zone_contents_t *base = world->served;
	uint64_t sum = sum_of_edits(world->update.txn);
	update_effects_t effects;
	world->is_full = is_full;
	check_differences(world->update.txn, base);
	knot_err_t err = update_commit(&world->update, base, &policy, &env, &effects);
	if (err != KNOT_OK) {
		check(world->served == base && sum_of_edits(world->update.txn) == sum);
		return;
	}
	check(effects.is_published == (world->served != base));
	update_end(&world->update);
	world->mark_count = 0;
	if (effects.is_published) {
		knot_name_t at;
		check(same_fault(world->served, world->fresh, 1, 0, &at) == NULL);
		zone_contents_free(base);
	}
	check(update_begin(params.origin, UPDATE_CONTROL, world->served, &world->update) == KNOT_OK);
}

/* ---- Steps ---- */

static void mark(world_t *world)
{
	if (world->mark_count < MARKS) {
		size_t at = update_mark(&world->update);
		world->marks[world->mark_count].mark = at;
		world->marks[world->mark_count++].sum = sum_of_edits(world->update.txn);
	}
}

static void rollback(world_t *world)
{
	if (world->mark_count > 0) {
		world->mark_count--;
		update_rollback(&world->update, world->marks[world->mark_count].mark);
		check(sum_of_edits(world->update.txn) == world->marks[world->mark_count].sum);
	}
}

static void change(world_t *world, char what, const edit_words_t *named, bool is_benevolent)
{
	edit_t edit = {
		.txn = world->update.txn, .origin = params.origin, .default_ttl = 77, .is_benevolent = is_benevolent
	};
	edit_note_t note;
	knot_err_t err = what == '-' ? edit_unset(&edit, named, &note) : edit_set(&edit, named, &note);
	check(err != KNOT_EPARSEFAIL || note.reason != NULL);
}

/* Takes a step off the input, which ends in a byte 0. */
static size_t step(world_t *world, const char *text, size_t len, bool is_benevolent)
{
	const char *words[WORDS] = { NULL };
	size_t pos = 1;
	for (unsigned i = 0; i < WORDS && pos < len && text[pos] != 1; i++) {
		words[i] = text[pos] == 2 ? NULL : text + pos;
		pos += strlen(text + pos) + 1;
	}
	switch (text[0]) {
	case 'm': mark(world); break;
	case 'r': rollback(world); break;
	case 'c':
	case 'f': commit(world, text[0] == 'f'); break;
	default: change(world, text[0], &(edit_words_t){ words[0], words[1], words[2], words[3] }, is_benevolent);
	}
	return pos < len ? pos + 1 : len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char zone[] = "@ 60 SOA ns admin 5 1 2 3 4\n@ NS ns\nns A 192.0.2.1\nmail 300 MX 10 ns\nsub NS "
				   "ns.sub\nns.sub A 192.0.2.2\n"
				   "*.w TXT a\nc CNAME ns\nb.ent A 192.0.2.3\nz NS ns\n";
	world_t world = { .served = build(zone, sizeof(zone) - 1), .fresh = build(zone, sizeof(zone) - 1) };
	check(update_begin(params.origin, UPDATE_CONTROL, world.served, &world.update) == KNOT_OK);
	char *text = calloc(1, size + 1);
	check(text != NULL);
	if (size > 0) {
		memcpy(text, data, size);
	}
	size_t pos = 0;
	for (unsigned steps = 0; pos < size && steps < STEPS_MAX; steps++) {
		pos += step(&world, text + pos, size - pos, size % 2);
	}
	free(text);
	check_differences(world.update.txn, world.served);
	check_build(world.update.txn, world.served);
	commit(&world, false);
	update_end(&world.update);
	zone_contents_free(world.served);
	zone_contents_free(world.fresh);
	return 0;
}
