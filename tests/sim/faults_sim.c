/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No bogus version is ever published: faults between the signer and the proof of a server, in keys and in keystores.
 *
 * A server in this process signs zones, which change by edits, by files and by signing them again. Each round spoils
 * the version that is made, or the keys that make it. It must be refused, by what is to refuse it, and the old version
 * served on; rounds without a fault must be published. Faults that get through all the same must be found by the proof
 * in the background, and mended. Then proof and rails are blinded: now the faults must come through, or the simulation
 * finds nothing.
 *
 *     faults_sim [-s seed] [-n rounds of each kind] [-k only kinds whose name has this] [-d folder for served versions]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/sys/clock.h"
#include "src/sys/rcu.h"
#include "src/sys/thread.h"
#include "tests/sim/faults_world.h"

enum { TRIES = 50, BLIND_ROUNDS = 10 };

/** What came of the rounds of a kind. */
typedef struct {
	unsigned outcomes[SIM_OUTCOMES];
	char text[300]; /* what is wrong; "": nothing */
} tally_t;

/* ---- Keys ---- */

/** A fault of keys. */
typedef struct {
	const char *name;
	sim_use_t use;
	sim_keys_t keys;
	/* What is in the key database; set: a copy of it, to be changed. NULL: nothing changes. */
	void (*change)(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set);
	/* What is in keystores; is_end: put it right again. NULL: as above. */
	void (*break_stores)(const sim_world_t *world, const sim_zone_t *zone, bool is_end);
	sim_outcome_t want; /* SIM_PUBLISHED: it is harmless */
	bool is_of_signer;  /* keys are read when the zone is signed as a whole, not by edits */
} key_row_t;

enum { KSK, ZSK, NEXT_KSK, NEXT_ZSK };

static kasp_times_t *times_of(const sim_zone_t *zone, keys_set_t *set, unsigned role)
{
	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->keys[i].id, zone->ids[role]) == 0) {
			return &set->keys[i].times;
		}
	}
	abort();
}

static void drop_key(const sim_zone_t *zone, keys_set_t *set, unsigned role)
{
	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->keys[i].id, zone->ids[role]) == 0) {
			keys_set_remove(set, i);
			return;
		}
	}
}

static void change_zsk_early(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, ZSK)->retire = now_s - 1;
	times_of(zone, set, ZSK)->remove = now_s;
	times_of(zone, set, NEXT_ZSK)->active = now_s - 1;
}

static void change_zsk_new(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, ZSK)->retire = now_s;
	times_of(zone, set, NEXT_ZSK)->publish = now_s - 1;
	times_of(zone, set, NEXT_ZSK)->active = now_s;
}

static void change_zsk_deleted(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	drop_key(zone, set, ZSK);
	times_of(zone, set, NEXT_ZSK)->active = now_s - 1;
}

static void change_ksk_early(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, KSK)->remove = now_s;
}

static void change_ksk_deleted(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	(void)now_s;
	drop_key(zone, set, KSK);
}

static void change_ds_new(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, KSK)->remove = now_s;
	times_of(zone, set, NEXT_KSK)->publish = now_s - 1;
	times_of(zone, set, NEXT_KSK)->ready = now_s;
	times_of(zone, set, NEXT_KSK)->active = now_s;
}

static void change_cds_new(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, NEXT_KSK)->publish = now_s - 1;
	times_of(zone, set, NEXT_KSK)->ready = now_s;
}

static void change_all_deleted(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	drop_key(zone, set, KSK);
	drop_key(zone, set, ZSK);
	*times_of(zone, set, NEXT_KSK) = (kasp_times_t){ .publish = now_s, .ready = now_s, .active = now_s };
	*times_of(zone, set, NEXT_ZSK) = (kasp_times_t){ .publish = now_s, .active = now_s };
}

static void change_zsk_in_time(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, ZSK)->retire = now_s;
	times_of(zone, set, NEXT_ZSK)->active = now_s;
}

static void change_ksk_in_time(const sim_zone_t *zone, uint64_t now_s, keys_set_t *set)
{
	times_of(zone, set, KSK)->retire_active = now_s;
	times_of(zone, set, KSK)->remove = now_s;
	times_of(zone, set, NEXT_KSK)->ready = now_s - 10;
	times_of(zone, set, NEXT_KSK)->active = now_s;
}

/* ---- Keystores: the first one has the keys when they are made ---- */

static void stored_path(
		const sim_world_t *world, const sim_zone_t *zone, unsigned store, unsigned role, char path[static 256])
{
	snprintf(path, 256, "%s/keys/store%u/%s.pem", world->dir, store, zone->ids[role]);
}

static void stored_move(const sim_world_t *world, const sim_zone_t *zone, unsigned from, unsigned to)
{
	char folder[128], old[256], new[256];
	snprintf(folder, sizeof(folder), "%s/keys/store%u", world->dir, to);
	(void)mkdir(folder, 0700);
	stored_path(world, zone, from, ZSK, old);
	stored_path(world, zone, to, ZSK, new);
	if (rename(old, new) != 0) {
		perror(old);
		exit(2);
	}
}

/* Another zone's key, as a file that has the name of this one's. */
static void stored_put_wrong(const sim_world_t *world, const sim_zone_t *zone, unsigned store)
{
	char path[256];
	knot_mut_bytes_t pem;
	stored_path(world, zone, store, ZSK, path);
	FILE *file = dnssec_key_to_pem(zone->other, &pem) == KNOT_OK ? fopen(path, "w") : NULL;
	if (file == NULL || fwrite(pem.data, 1, pem.len, file) != pem.len || fclose(file) != 0) {
		perror(path);
		exit(2);
	}
	dnssec_pem_free(&pem);
}

static void stored_unlink(const sim_world_t *world, const sim_zone_t *zone, unsigned store)
{
	char path[256];
	stored_path(world, zone, store, ZSK, path);
	(void)unlink(path);
}

/* The first has a wrong one, the third the right one. */
static void break_first_store(const sim_world_t *world, const sim_zone_t *zone, bool is_end)
{
	if (is_end) {
		stored_unlink(world, zone, 1);
		stored_move(world, zone, 3, 1);
	} else {
		stored_move(world, zone, 1, 3);
		stored_put_wrong(world, zone, 1);
	}
}

/* No store has the right one; two have wrong ones. */
static void break_all_stores(const sim_world_t *world, const sim_zone_t *zone, bool is_end)
{
	if (is_end) {
		stored_unlink(world, zone, 1);
		stored_unlink(world, zone, 2);
		stored_move(world, zone, 9, 1);
	} else {
		stored_move(world, zone, 1, 9);
		stored_move(world, zone, 9, 2);
		stored_move(world, zone, 2, 9);
		stored_put_wrong(world, zone, 1);
		stored_put_wrong(world, zone, 2);
	}
}

static void break_file(const sim_world_t *world, const sim_zone_t *zone, bool is_end)
{
	char path[256];
	if (is_end) {
		stored_unlink(world, zone, 1);
		stored_move(world, zone, 9, 1);
		return;
	}
	stored_move(world, zone, 1, 9);
	stored_path(world, zone, 1, ZSK, path);
	FILE *file = fopen(path, "w");
	if (file != NULL) {
		fputs("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", file);
		fclose(file);
	}
}

static void lose_file(const sim_world_t *world, const sim_zone_t *zone, bool is_end)
{
	stored_move(world, zone, is_end ? 9 : 1, is_end ? 1 : 9);
}

static const key_row_t key_rows[] = {
	{ "private key of the same tag", SIM_TAGS, SIM_KEYS_SWAPPED, NULL, NULL, SIM_BY_PROOF, false },
	{ "one session of three with a key of the same tag", SIM_TAGS, SIM_KEYS_SESSION, NULL, NULL, SIM_BY_PROOF,
			false },
	{ "private key of another zone", SIM_PLAIN, SIM_KEYS_SWAPPED, NULL, NULL, SIM_BY_PROOF, false },
	{ "one session of three with another key", SIM_PLAIN, SIM_KEYS_SESSION, NULL, NULL, SIM_BY_PROOF, false },
	{ "one signature of three is garbled", SIM_PLAIN, SIM_KEYS_GARBLED, NULL, NULL, SIM_BY_PROOF, false },
	{ "store dies midway", SIM_PLAIN, SIM_KEYS_DYING, NULL, NULL, SIM_BY_KEYS, false },
	{ "wrong key in each store", SIM_STORES, SIM_KEYS_FINE, NULL, break_all_stores, SIM_BY_KEYS, false },
	{ "private key is damaged", SIM_STORES, SIM_KEYS_FINE, NULL, break_file, SIM_BY_KEYS, false },
	{ "private key is lost", SIM_STORES, SIM_KEYS_FINE, NULL, lose_file, SIM_BY_KEYS, false },
	{ "control: wrong key in the first store of three", SIM_STORES, SIM_KEYS_FINE, NULL, break_first_store,
			SIM_PUBLISHED, false },
	{ "ZSK removed early", SIM_ROLLS, SIM_KEYS_FINE, change_zsk_early, NULL, SIM_BY_RAIL, true },
	{ "ZSK deleted early", SIM_ROLLS, SIM_KEYS_FINE, change_zsk_deleted, NULL, SIM_BY_RAIL, true },
	{ "ZSK used before it is known", SIM_ROLLS, SIM_KEYS_FINE, change_zsk_new, NULL, SIM_BY_RAIL, true },
	{ "KSK with the DS removed early", SIM_ROLLS, SIM_KEYS_FINE, change_ksk_early, NULL, SIM_BY_RAIL, true },
	{ "KSK with the DS deleted", SIM_ROLLS, SIM_KEYS_FINE, change_ksk_deleted, NULL, SIM_BY_RAIL, true },
	{ "DS replaced before the KSK is known", SIM_ROLLS, SIM_KEYS_FINE, change_ds_new, NULL, SIM_BY_RAIL, true },
	{ "DS asked for before the KSK is known", SIM_ROLLS, SIM_KEYS_FINE, change_cds_new, NULL, SIM_BY_RAIL, true },
	{ "all keys replaced", SIM_ROLLS, SIM_KEYS_FINE, change_all_deleted, NULL, SIM_BY_RAIL, true },
	{ "control: ZSK replaced in time", SIM_ROLLS, SIM_KEYS_FINE, change_zsk_in_time, NULL, SIM_PUBLISHED, true },
	{ "control: KSK replaced in time", SIM_ROLLS, SIM_KEYS_FINE, change_ksk_in_time, NULL, SIM_PUBLISHED, true },
	{ "control: no fault", SIM_PLAIN, SIM_KEYS_FINE, NULL, NULL, SIM_PUBLISHED, false },
};

/* ---- Rounds ---- */

static void tally_fail(tally_t *tally, const sim_zone_t *zone, const char *what)
{
	if (tally->text[0] == '\0') {
		snprintf(tally->text, sizeof(tally->text), "%s %s (%s)", zone->name, what,
				knot_strerror(sim_world_error()));
	}
}

/* What is served, after a version was refused or published. */
static void check_served(sim_world_t *world, const sim_zone_t *zone, tally_t *tally)
{
	knot_err_t err = world->is_blind ? KNOT_OK : sim_world_check(world, zone);
	if (err != KNOT_OK && tally->text[0] == '\0') {
		snprintf(tally->text, sizeof(tally->text), "%s is bogus: %s", zone->name, knot_strerror(err));
	}
}

static void note(sim_world_t *world, const sim_zone_t *zone, sim_outcome_t outcome, bool has_moved, bool is_harmless,
		tally_t *tally)
{
	tally->outcomes[outcome]++;
	if (is_harmless != has_moved && !world->is_blind) {
		tally_fail(tally, zone, is_harmless ? "isn't published" : "is published");
	}
	check_served(world, zone, tally);
}

/* After a fault the next version isn't spoilt. Signing anew needn't change anything within a second. */
static void mend(sim_world_t *world, sim_zone_t *zone, tally_t *tally)
{
	bool has_moved;
	(void)sim_world_commit(world, zone, SIM_BY_SIGNER, NULL, SIM_KEYS_FINE, &has_moved);
	(void)sim_world_commit(world, zone, SIM_BY_EDIT, NULL, SIM_KEYS_FINE, &has_moved);
	if (!has_moved) {
		tally_fail(tally, zone, "isn't published without a fault");
	}
}

static void run_kind_once(sim_world_t *world, const sim_kind_t *kind, tally_t *tally)
{
	sim_outcome_t outcome = SIM_MISSED;
	bool has_moved = false;
	for (unsigned i = 0; i < TRIES && outcome == SIM_MISSED; i++) {
		sim_zone_t *zone = sim_world_draw(world, kind->zones, SIM_PLAIN);
		sim_way_t way = (sim_way_t)sim_below(&world->random, SIM_WAYS);
		outcome = sim_world_commit(world, zone, way, kind->spoil, SIM_KEYS_FINE, &has_moved);
		if (outcome != SIM_MISSED) {
			note(world, zone, outcome, has_moved, kind->is_harmless, tally);
		}
		if (outcome == SIM_BY_KEYS) {
			tally_fail(tally, zone, "is refused for another cause");
		}
		if (world->is_blind || sim_below(&world->random, 8) == 0) {
			mend(world, zone, tally);
		}
	}
	tally->outcomes[SIM_MISSED] += outcome == SIM_MISSED;
}

static void run_row_once(sim_world_t *world, const key_row_t *row, tally_t *tally)
{
	bool has_moved;
	sim_zone_t *zone = sim_world_draw(world, SIM_CHAINS, row->use);
	sim_way_t way = row->is_of_signer ? SIM_BY_SIGNER : (sim_way_t)sim_below(&world->random, SIM_WAYS);
	if (!row->is_of_signer && row->want == SIM_PUBLISHED && way == SIM_BY_SIGNER) {
		way = SIM_BY_EDIT; /* signing anew needn't change anything within a second */
	}
	keys_set_t before = sim_world_keys(world, zone), set = { .keys = NULL };
	if (row->change != NULL) {
		(void)!keys_set_copy(&set, &before);
		row->change(zone, sys_clock_wall(), &set);
		sim_world_put_keys(world, zone, &before, &set);
	}
	if (row->break_stores != NULL) {
		row->break_stores(world, zone, false);
	}
	sim_outcome_t outcome = SIM_MISSED; /* too few signatures for the third */
	for (unsigned i = 0; i < TRIES && outcome == SIM_MISSED; i++) {
		outcome = sim_world_commit(world, zone, way, NULL, row->keys, &has_moved);
	}
	note(world, zone, outcome, has_moved, row->want == SIM_PUBLISHED, tally);
	if (outcome != row->want && !world->is_blind) {
		tally_fail(tally, zone, "is refused for another cause");
	}
	if (row->break_stores != NULL) {
		row->break_stores(world, zone, true);
	}
	if (row->change != NULL) {
		sim_world_put_keys(world, zone, &set, &before);
		keys_set_done(&set);
	}
	keys_set_done(&before);
	if (row->change != NULL || world->is_blind || sim_below(&world->random, 8) == 0) {
		mend(world, zone, tally);
	}
}

/* A fault that got through, as it was beside the sample: the sweep finds it, and it is signed again. */
static bool run_sweep(sim_world_t *world, const sim_kind_t *kind)
{
	sim_outcome_t outcome = SIM_MISSED;
	sim_zone_t *zone = NULL;
	bool has_moved = false;
	world->is_blind = true;
	for (unsigned i = 0; i < TRIES && outcome == SIM_MISSED; i++) {
		zone = sim_world_draw(world, kind->zones, SIM_PLAIN);
		outcome = sim_world_commit(world, zone, SIM_BY_EDIT, kind->spoil, SIM_KEYS_FINE, &has_moved);
	}
	world->is_blind = false;
	bool is_digest = kind->zones == SIM_ZONEMD; /* signatures say nothing of it */
	bool is_bogus = zone != NULL &&
			(is_digest ? sim_world_check_digest(world, zone) : sim_world_check(world, zone)) != KNOT_OK;
	if (zone != NULL) {
		sim_world_sweep(world, zone);
	}
	bool is_mended = zone != NULL && sim_world_check(world, zone) == KNOT_OK &&
			 (!is_digest || sim_world_check_digest(world, zone) == KNOT_OK);
	bool is_fine = outcome == SIM_PUBLISHED && is_bogus && is_mended;
	printf("%s sweep, %s: %s, %s\n", is_fine ? "ok" : "not ok", kind->name, is_bogus ? "bogus" : "not bogus",
			is_mended ? "mended" : "not mended");
	return is_fine;
}

static bool run_sweeps(sim_world_t *world, const char *only)
{
	bool is_fine = true;
	for (size_t i = 0; i < sim_kind_count; i++) {
		const sim_kind_t *kind = &sim_kinds[i];
		if (!kind->is_harmless && strstr(kind->name, only) != NULL) {
			is_fine = run_sweep(world, kind) && is_fine;
		}
	}
	return is_fine;
}

/* ---- Summary ---- */

static unsigned injected(const tally_t *tally)
{
	return tally->outcomes[SIM_PUBLISHED] + tally->outcomes[SIM_BY_PROOF] + tally->outcomes[SIM_BY_RAIL] +
	       tally->outcomes[SIM_BY_KEYS];
}

static bool report(const char *name, bool is_harmless, const tally_t *tally)
{
	bool is_fine = tally->text[0] == '\0' && injected(tally) > 0;
	printf("%s %s: %u %s, %u published, refused by proof %u, rail %u, keys %u%s%s\n", is_fine ? "ok" : "not ok",
			name, injected(tally), is_harmless ? "harmless" : "injected", tally->outcomes[SIM_PUBLISHED],
			tally->outcomes[SIM_BY_PROOF], tally->outcomes[SIM_BY_RAIL], tally->outcomes[SIM_BY_KEYS],
			tally->text[0] != '\0' ? ": " : "", tally->text);
	return is_fine;
}

/* Without proof and rails the fault is published, so that it was one. */
static bool report_blind(const char *name, const tally_t *tally)
{
	bool is_fine = tally->outcomes[SIM_PUBLISHED] > 0;
	printf("%s blind, %s: %u of %u published\n", is_fine ? "ok" : "not ok", name, tally->outcomes[SIM_PUBLISHED],
			injected(tally));
	return is_fine;
}

typedef struct {
	unsigned injected, published, harmless, harmless_published;
} totals_t;

static void add(totals_t *totals, bool is_harmless, const tally_t *tally)
{
	*(is_harmless ? &totals->harmless : &totals->injected) += injected(tally);
	*(is_harmless ? &totals->harmless_published : &totals->published) += tally->outcomes[SIM_PUBLISHED];
}

static bool run_all(sim_world_t *world, const char *only, unsigned rounds, totals_t *totals)
{
	bool is_fine = true;
	for (size_t i = 0; i < sim_kind_count; i++) {
		const sim_kind_t *kind = &sim_kinds[i];
		tally_t tally = { .text = "" };
		bool is_wanted = strstr(kind->name, only) != NULL && !(world->is_blind && kind->is_harmless);
		for (unsigned k = 0; k < rounds && is_wanted; k++) {
			run_kind_once(world, kind, &tally);
		}
		if (is_wanted) {
			is_fine = (world->is_blind ? report_blind(kind->name, &tally)
						   : report(kind->name, kind->is_harmless, &tally)) &&
				  is_fine;
			add(totals, kind->is_harmless, &tally);
		}
	}
	for (size_t i = 0; i < KNOT_LEN(key_rows); i++) {
		const key_row_t *row = &key_rows[i];
		tally_t tally = { .text = "" };
		bool is_harmless = row->want == SIM_PUBLISHED;
		bool is_wanted = strstr(row->name, only) != NULL &&
				 !(world->is_blind && (is_harmless || row->want == SIM_BY_KEYS));
		for (unsigned k = 0; k < rounds && is_wanted; k++) {
			run_row_once(world, row, &tally);
		}
		if (is_wanted) {
			is_fine = (world->is_blind ? report_blind(row->name, &tally)
						   : report(row->name, is_harmless, &tally)) &&
				  is_fine;
			add(totals, is_harmless, &tally);
		}
	}
	return is_fine;
}

int main(int argc, char *argv[])
{
	uint64_t seed = 1;
	unsigned rounds = 40;
	const char *only = "", *folder = NULL;
	for (int option; (option = getopt(argc, argv, "s:n:k:d:")) != -1;) {
		switch (option) {
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'n': rounds = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'k': only = optarg; break;
		case 'd': folder = optarg; break;
		default: return 2;
		}
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	sys_rcu_register();
	sim_world_t world;
	totals_t totals = { 0 }, blind = { 0 };
	sim_world_begin(&world, seed);
	bool is_fine = run_all(&world, only, rounds, &totals);
	for (size_t i = 0; folder != NULL && i < world.zone_count; i++) {
		sim_world_dump(&world, &world.zones[i], folder);
	}
	is_fine = run_sweeps(&world, only) && is_fine;
	world.is_blind = true;
	is_fine = run_all(&world, only, rounds < BLIND_ROUNDS ? rounds : BLIND_ROUNDS, &blind) && is_fine;
	printf("# %u faults injected, %u published; %u harmless, %u published; blinded: %u of %u published\n",
			totals.injected, totals.published, totals.harmless, totals.harmless_published, blind.published,
			blind.injected);
	sim_world_end(&world);
	sys_rcu_unregister();
	if (!is_fine) {
		printf("# again: tests/sim/faults_sim -s %llu -n %u\n", (unsigned long long)seed, rounds);
	}
	return is_fine ? 0 : 1;
}
