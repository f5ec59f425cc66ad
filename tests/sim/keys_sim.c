/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Years of a zone's keys against what resolvers may have cached: src/keys rolls them, with rollovers that operators
 * force, policies that change, runs that come late and parents that take their time.
 *
 * The model keeps every DS set, DNSKEY set and set of zone signatures that was served for as long as a cache may hold
 * it. After each change it checks every mix of one of each: a chain of trust leads from the DS to the zone's data, and
 * each algorithm of the one set signs the next (RFC 6840 5.11). Between changes the caches only lose what they have, so
 * nothing else needs a check. Then the same with planted faults, each of which must be found.
 *
 * Each change also goes through the rail of the server (keys/caches.h), which knows only what is served and the timers:
 * without a fault it must hold nothing back.
 *
 *     keys_sim [-s seed] [-n schedules of each part] [-z the only schedule]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/keys/caches.h"
#include "src/keys/roll.h"
#include "tests/sim/tcp_random.h"

enum { HOUR = 3600, DAY = 24 * HOUR, YEAR = 365 * DAY, START = 1000000000, HELD_MAX = 32, TAGS = 64, FAULT_MAX = 300 };

/** What part of the schedules is disturbed, in millionths of each step. */
typedef struct {
	const char *name;
	uint32_t forced, changed, late;
} sim_part_t;

static const sim_part_t parts[] = {
	{ "lifetimes", 0, 0, 0 },
	{ "forced rollovers", 300000, 0, 0 },
	{ "changed policies", 50000, 200000, 0 },
	{ "late runs", 100000, 100000, 300000 },
};

/** A planted fault: what goes to the timer `field` as soon as a key is in the state. */
typedef struct {
	const char *name;
	keys_state_t state;
	bool is_ksk, is_zsk; /* the key's roles */
	size_t field;        /* of kasp_times_t */
	bool retires_others; /* the ZSK that is active retires in its place */
	bool is_known;       /* the server can know that it is one, and the rail holds it back; how long caches keep
				the parent's DS it can't */
} sim_fault_t;

static const sim_fault_t faults[] = {
	{ "old ZSK removed at once", KEYS_RETIRED, false, true, offsetof(kasp_times_t, remove), false, true },
	{ "ZSK used before it is known", KEYS_PUBLISHED, false, true, offsetof(kasp_times_t, active), true, true },
	{ "DS replaced before the KSK is known", KEYS_PUBLISHED, true, false, offsetof(kasp_times_t, ready), false,
			true },
	{ "DS replaced before the CSK is known", KEYS_PUBLISHED, true, true, offsetof(kasp_times_t, ready), false,
			true },
	{ "old KSK removed with its DS", KEYS_RETIRE_ACTIVE, true, false, offsetof(kasp_times_t, remove), false,
			false },
	{ "old CSK removed with its DS", KEYS_RETIRE_ACTIVE, true, true, offsetof(kasp_times_t, remove), false, false },
	{ "old CSK removed before its signatures", KEYS_RETIRED, true, true, offsetof(kasp_times_t, remove), false,
			true },
	{ "algorithm published before it signs", KEYS_PRE_ACTIVE, false, true, offsetof(kasp_times_t, publish), false,
			true },
	{ "post-active ZSK gone early", KEYS_POST_ACTIVE, false, true, offsetof(kasp_times_t, remove), false, true },
	{ "old algorithm dropped with its DS", KEYS_RETIRE_ACTIVE, true, false, offsetof(kasp_times_t, post_active),
			false, false },
};

/** A set that is or was served: bits are keys. */
typedef struct {
	uint64_t keys, signers; /* of DS only keys, of zone data only signers */
	uint64_t until_s;       /* when no cache has it; UINT64_MAX: it is served */
} held_t;

typedef struct {
	held_t sets[HELD_MAX];
	size_t count;
} cache_t;

typedef struct {
	sim_random_t random;
	const sim_part_t *part;
	const sim_fault_t *fault;
	conf_policy_t policy;
	conf_submission_t submission;
	const conf_submission_t *submissions[1];
	keys_set_t set;
	uint64_t now_s;
	uint16_t last_tag;
	uint8_t algorithms[TAGS]; /* by bit */
	uint32_t key_ttl_s, max_ttl_s, ds_ttl_s, parent_delay_s;
	uint64_t parent_due_s, confirm_due_s; /* 0: nothing is on its way */
	uint64_t parent_wants;
	bool has_ds, has_faulted, is_held; /* is_held: by the rail, a fault */
	keys_seen_t seen[HELD_MAX];        /* the keys that are served */
	size_t seen_count;
	cache_t ds, dnskey, data;
	char text[FAULT_MAX]; /* what is wrong; "": nothing */
} world_t;

/** How often something happened in the schedules of a part. */
typedef struct {
	uint64_t runs, checks, started[KEYS_NOTE_COUNT], confirmed, timeouts;
} counts_t;

static const uint8_t algorithms[] = { 8, 13, 15 };

static uint64_t key_bit(uint16_t tag)
{
	return UINT64_C(1) << (tag % TAGS);
}

static uint8_t publics[UINT16_MAX + 1][2]; /* by tag */

static knot_err_t make_key(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx)
{
	world_t *world = ctx;
	*ret_key = (kasp_key_t){ .tag = ++world->last_tag, .flags = wanted->flags };
	store_be16(publics[ret_key->tag], ret_key->tag);
	ret_key->public = (knot_bytes_t){ publics[ret_key->tag], 2 };
	snprintf(ret_key->id, sizeof(ret_key->id), "%040x", ret_key->tag);
	world->algorithms[ret_key->tag % TAGS] = wanted->algorithm;
	return KNOT_OK;
}

static void discard_key(const kasp_key_t *key, void *ctx)
{
	(void)key;
	(void)ctx;
}

/* ---- What resolvers have ---- */

static void cache_expire(cache_t *cache, uint64_t now_s)
{
	size_t kept = 0;
	for (size_t i = 0; i < cache->count; i++) {
		if (cache->sets[i].until_s > now_s) {
			cache->sets[kept++] = cache->sets[i];
		}
	}
	cache->count = kept;
}

static held_t *cache_served(cache_t *cache)
{
	return cache->count > 0 ? &cache->sets[cache->count - 1] : NULL;
}

/* Serve another set; caches have the one before for hold_s. Returns whether it is another one. */
static bool cache_serve(cache_t *cache, uint64_t keys, uint64_t signers, uint64_t now_s, uint64_t hold_s)
{
	held_t *served = cache_served(cache);
	if (served != NULL && served->keys == keys && served->signers == signers) {
		return false;
	}
	if (served != NULL) {
		served->until_s = now_s + hold_s;
	}
	cache_expire(cache, now_s);
	if (cache->count == HELD_MAX) {
		fprintf(stderr, "keys_sim: more than %d sets are cached\n", HELD_MAX);
		abort();
	}
	cache->sets[cache->count++] = (held_t){ keys, signers, UINT64_MAX };
	return true;
}

static uint64_t world_algorithms(const world_t *world, uint64_t keys)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < TAGS; i++) {
		mask |= (keys >> i & 1) != 0 ? UINT64_C(1) << world->algorithms[i] : 0;
	}
	return mask;
}

static const char *world_check_mix(const world_t *world, const held_t *ds, const held_t *dnskey, const held_t *data)
{
	if ((ds->keys & dnskey->keys & dnskey->signers) == 0) {
		return "no DS matches a key that signed DNSKEY";
	}
	if ((dnskey->keys & data->signers) == 0) {
		return "no key of DNSKEY signed the data";
	}
	if ((world_algorithms(world, ds->keys) & ~world_algorithms(world, dnskey->keys & dnskey->signers)) != 0) {
		return "an algorithm of DS doesn't sign DNSKEY";
	}
	/*
	 * The engine counts from a timer, not from the run that carried it out: after a late one it removes an old
	 * algorithm's signatures and keys together. A chain of trust stays, as validators take any (RFC 6840 5.11), so
	 * only what is served is checked then.
	 */
	bool is_served = dnskey->until_s == UINT64_MAX && data->until_s == UINT64_MAX;
	if ((is_served || world->part->late == 0) &&
			(world_algorithms(world, dnskey->keys) & ~world_algorithms(world, data->signers)) != 0) {
		return "an algorithm of DNSKEY doesn't sign the data";
	}
	return NULL;
}

static void world_check(world_t *world, counts_t *counts)
{
	cache_expire(&world->ds, world->now_s);
	cache_expire(&world->dnskey, world->now_s);
	cache_expire(&world->data, world->now_s);
	for (size_t i = 0; i < world->ds.count * world->dnskey.count * world->data.count; i++) {
		const held_t *ds = &world->ds.sets[i % world->ds.count];
		const held_t *dnskey = &world->dnskey.sets[i / world->ds.count % world->dnskey.count];
		const held_t *data = &world->data.sets[i / world->ds.count / world->dnskey.count];
		const char *wrong = ds->keys != 0 ? world_check_mix(world, ds, dnskey, data) : NULL;
		counts->checks++;
		if (wrong != NULL && world->text[0] == '\0') {
			snprintf(world->text, sizeof(world->text),
					"%s after %llu s: DS %llx, DNSKEY %llx by %llx, data by %llx", wrong,
					(unsigned long long)(world->now_s - START), (unsigned long long)ds->keys,
					(unsigned long long)dnskey->keys, (unsigned long long)dnskey->signers,
					(unsigned long long)data->signers);
		}
	}
}

/* ---- What is served ---- */

/* The keys as the next version will show them. The list's own public keys go with their keys. */
static size_t world_see(const world_t *world, keys_seen_t *seen)
{
	size_t count = 0;
	for (size_t i = 0; i < world->set.count; i++) {
		const kasp_key_t *key = &world->set.keys[i];
		keys_use_t use = keys_use(world->set.keys, world->set.count, i, world->now_s);
		const keys_seen_t made = { .public = { publics[key->tag], use.is_public ? 2 : 0 },
			.tag = key->tag,
			.algorithm = key->algorithm,
			.signs_keys = keys_signs_keys(key, &use),
			.signs_zone = keys_signs_zone(key, &use),
			.has_cds = use.is_ready };
		if ((use.is_public || made.signs_keys || made.signs_zone) && count < HELD_MAX) {
			seen[count++] = made;
		}
	}
	return count;
}

static void world_ask_rail(world_t *world)
{
	keys_seen_t next[HELD_MAX];
	size_t count = world_see(world, next);
	uint32_t delay_s = world->policy.propagation_delay_s;
	const keys_caches_t caches = { .served = { world->seen, world->seen_count },
		.next = { next, count },
		.keys = world->set.keys,
		.count = world->set.count,
		.key_hold_s = delay_s + world->key_ttl_s,
		.data_hold_s = delay_s + world->max_ttl_s,
		.now_s = world->now_s };
	keys_danger_t danger = keys_caches_check(&caches);
	world->is_held = world->is_held || danger.kind != KEYS_SAFE;
	if (danger.kind != KEYS_SAFE && world->fault == NULL && world->text[0] == '\0') {
		snprintf(world->text, sizeof(world->text), "the rail holds back what is safe after %llu s: key %u %s",
				(unsigned long long)(world->now_s - START), danger.tag, keys_danger_text(danger.kind));
	}
	memcpy(world->seen, next, sizeof(next));
	world->seen_count = count;
}

static void world_sign(world_t *world, counts_t *counts)
{
	uint64_t keys = 0, key_signers = 0, zone_signers = 0;
	world_ask_rail(world);
	for (size_t i = 0; i < world->set.count; i++) {
		const kasp_key_t *key = &world->set.keys[i];
		keys_use_t use = keys_use(world->set.keys, world->set.count, i, world->now_s);
		keys |= use.is_public ? key_bit(key->tag) : 0;
		key_signers |= keys_signs_keys(key, &use) ? key_bit(key->tag) : 0;
		zone_signers |= keys_signs_zone(key, &use) ? key_bit(key->tag) : 0;
	}
	uint32_t delay_s = world->policy.propagation_delay_s;
	bool is_changed = cache_serve(&world->dnskey, keys, key_signers, world->now_s, delay_s + world->key_ttl_s);
	is_changed = cache_serve(&world->data, 0, zone_signers, world->now_s, delay_s + world->max_ttl_s) || is_changed;
	if (is_changed) {
		world_check(world, counts);
	}
}

static void world_plant(world_t *world)
{
	const sim_fault_t *fault = world->fault;
	for (size_t i = 0; fault != NULL && i < world->set.count; i++) {
		kasp_key_t *key = &world->set.keys[i];
		if (keys_state(&key->times, world->now_s) != fault->state || key->is_ksk != fault->is_ksk ||
				key->is_zsk != fault->is_zsk) {
			continue;
		}
		world->has_faulted = true;
		*(uint64_t *)((char *)&key->times + fault->field) = world->now_s;
		for (size_t j = 0; fault->retires_others && j < world->set.count; j++) {
			kasp_key_t *other = &world->set.keys[j];
			if (j != i && !other->is_ksk && keys_state(&other->times, world->now_s) == KEYS_ACTIVE) {
				other->times.retire = world->now_s;
			}
		}
	}
}

/* ---- The parent ---- */

/* The keys whose CDS is published. */
static uint64_t world_cds(const world_t *world)
{
	uint64_t ready = 0, active = 0;
	uint8_t algorithm = 0;
	for (size_t i = 0; i < world->set.count; i++) {
		const kasp_key_t *key = &world->set.keys[i];
		keys_use_t use = keys_use(world->set.keys, world->set.count, i, world->now_s);
		if (use.is_ready) {
			ready |= key_bit(key->tag);
			algorithm = key->algorithm;
		}
	}
	for (size_t i = 0; i < world->set.count; i++) {
		const kasp_key_t *key = &world->set.keys[i];
		keys_use_t use = keys_use(world->set.keys, world->set.count, i, world->now_s);
		bool is_doubled = world->policy.cds_publish == CONF_CDS_DOUBLE_DS && key->algorithm == algorithm;
		bool counts = key->is_ksk && use.is_active && world->policy.cds_publish != CONF_CDS_ROLLOVER;
		active |= counts && (ready == 0 || is_doubled) ? key_bit(key->tag) : 0;
	}
	return ready | active;
}

/* The parent sees CDS and does as it says some time later; the first DS waits until no cache has unsigned data. */
static void world_ask_parent(world_t *world)
{
	uint64_t wants = world_cds(world);
	held_t *ds = cache_served(&world->ds);
	if (wants == 0 || wants == ds->keys || (world->parent_due_s != 0 && wants == world->parent_wants)) {
		return;
	}
	uint64_t first_s = world->has_ds ? 0
					 : (uint64_t)world->policy.propagation_delay_s + world->key_ttl_s +
							   world->max_ttl_s;
	world->parent_wants = wants;
	world->parent_due_s = world->now_s + first_s + sim_below(&world->random, 5 * DAY);
}

static void world_serve_ds(world_t *world, counts_t *counts)
{
	uint64_t hold_s = (uint64_t)world->ds_ttl_s + world->parent_delay_s;
	world->parent_due_s = 0;
	/* A parent takes only what CDS says now, and only what a DNSKEY that is served has signed (RFC 7344 4.1). */
	if (world_cds(world) == world->parent_wants &&
			cache_serve(&world->ds, world->parent_wants, 0, world->now_s, hold_s)) {
		world->has_ds = true;
		world->confirm_due_s = world->now_s + sim_below(&world->random, 2) * sim_below(&world->random, 3 * DAY);
		world_check(world, counts);
	}
}

/* The check of the DS, or an operator by hand: only of a key whose DS is there. */
static void world_confirm(world_t *world, counts_t *counts)
{
	world->confirm_due_s = 0;
	for (size_t i = 0; i < world->set.count; i++) {
		kasp_key_t *key = &world->set.keys[i];
		if (key->is_ksk && keys_state(&key->times, world->now_s) == KEYS_READY) {
			bool has_ds = (cache_served(&world->ds)->keys & key_bit(key->tag)) != 0;
			uint32_t delay_s = world->ds_ttl_s + world->parent_delay_s;
			counts->confirmed += has_ds && keys_confirm(&world->set, world->now_s, delay_s) == KNOT_OK;
			return;
		}
	}
}

/* ---- Time ---- */

static void world_begin(world_t *world, const sim_part_t *part, const sim_fault_t *fault, uint64_t seed)
{
	static const uint8_t publish[] = { CONF_CDS_ROLLOVER, CONF_CDS_ALWAYS, CONF_CDS_DOUBLE_DS };
	*world = (world_t){ .random = { seed }, .part = part, .fault = fault, .now_s = START };
	sim_random_t *random = &world->random;
	world->key_ttl_s = (uint32_t)sim_between(random, 60, 2 * DAY);
	world->max_ttl_s = (uint32_t)sim_between(random, 60, 7 * DAY);
	world->ds_ttl_s = (uint32_t)sim_between(random, 60, 2 * DAY);
	world->parent_delay_s = (uint32_t)sim_below(random, DAY);
	/* The new key takes over without D when nobody says that the DS is there: no sooner than no cache has the old.
	 */
	uint64_t needed_s = 14 * DAY + world->key_ttl_s + world->max_ttl_s + world->ds_ttl_s + world->parent_delay_s;
	world->submission.timeout_s = sim_chance(random, 300000) ? (uint32_t)needed_s : 0;
	world->submissions[0] = &world->submission;
	world->policy = (conf_policy_t){
		.algorithm = algorithms[sim_below(random, KNOT_LEN(algorithms))],
		.is_single_type = sim_chance(random, 400000),
		.propagation_delay_s = (uint32_t)sim_below(random, DAY),
		.ksk_lifetime_s = sim_chance(random, 500000) ? (uint32_t)sim_between(random, 60 * DAY, YEAR) : 0,
		.zsk_lifetime_s = sim_chance(random, 800000) ? (uint32_t)sim_between(random, 20 * DAY, 90 * DAY) : 0,
		.delete_delay_s = (uint32_t)(sim_below(random, 2) * sim_below(random, 30 * DAY)),
		.cds_publish = publish[sim_below(random, KNOT_LEN(publish))],
		.keytag_modulo = "0/1",
		.submission = { world->submissions, 1 },
	};
	cache_serve(&world->ds, 0, 0, START, 0);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static keys_outcome_t world_run(world_t *world, counts_t *counts, bool forces_ksk, bool forces_zsk)
{
	const keys_maker_t maker = { .generate = make_key, .discard = discard_key, .ctx = world };
	const keys_params_t params = { .policy = &world->policy,
		.zsk_lifetime_s = world->policy.zsk_lifetime_s,
		.key_ttl_s = world->key_ttl_s,
		.max_ttl_s = world->max_ttl_s,
		.now_s = world->now_s,
		.forces_ksk = forces_ksk,
		.forces_zsk = forces_zsk };
	keys_outcome_t outcome;
	if (keys_run(&world->set, &params, &maker, &outcome) != KNOT_OK) {
		fprintf(stderr, "keys_sim: keys_run() failed\n");
		abort();
	}
	counts->runs++;
	for (size_t i = 0; i < outcome.note_count; i++) {
		counts->started[outcome.notes[i].kind]++;
	}
	return outcome;
}

/*
 * True if all keys are such as the policy wants. Otherwise a forced rollover, which comes before that of the algorithm
 * or the scheme, makes a key of the new algorithm public before it signs, or a KSK without a ZSK beside a CSK: the
 * order is Knot DNS's own.
 */
static bool world_is_of_policy(const world_t *world)
{
	for (size_t i = 0; i < world->set.count; i++) {
		const kasp_key_t *key = &world->set.keys[i];
		bool fits = key->algorithm == world->policy.algorithm &&
			    (key->is_ksk && key->is_zsk) == world->policy.is_single_type;
		if (!fits && keys_state(&key->times, world->now_s) != KEYS_REMOVED) {
			return false;
		}
	}
	return true;
}

/* One step: whatever is next happens, then the engine runs and the zone is signed. */
static void world_step(world_t *world, counts_t *counts, uint64_t *run_due_s)
{
	sim_random_t *random = &world->random;
	uint64_t next_s = sooner(sooner(*run_due_s, world->parent_due_s), world->confirm_due_s);
	uint64_t disturbed_s = world->now_s + 1 + sim_below(random, 40 * DAY);
	world->now_s = next_s != 0 && next_s < disturbed_s ? next_s : disturbed_s;
	if (world->now_s == world->parent_due_s) {
		world_serve_ds(world, counts);
	}
	bool is_run = world->now_s == *run_due_s || world->now_s == disturbed_s;
	if (world->confirm_due_s != 0 && world->now_s >= world->confirm_due_s) {
		world_confirm(world, counts);
		is_run = true;
	}
	if (!is_run) {
		return;
	}
	if (sim_chance(random, world->part->changed)) {
		world->policy.algorithm = algorithms[sim_below(random, KNOT_LEN(algorithms))];
		world->policy.is_single_type ^= sim_chance(random, 500000);
	}
	bool may_force = world_is_of_policy(world);
	bool forces_ksk = may_force && sim_chance(random, world->part->forced);
	bool forces_zsk = may_force && sim_chance(random, world->part->forced);
	keys_outcome_t outcome = world_run(world, counts, forces_ksk, forces_zsk);
	world_plant(world);
	world_sign(world, counts);
	world_ask_parent(world);
	*run_due_s = sooner(outcome.next.kind != KEYS_NOTHING ? outcome.next.due_s : 0, outcome.next_timer_s);
	if (*run_due_s != 0 && sim_chance(random, world->part->late)) {
		*run_due_s += sim_below(random, sim_chance(random, 300000) ? 60 * DAY : 2 * DAY);
	}
}

/* A schedule: false with what is wrong in world->text. */
static bool world_live(world_t *world, counts_t *counts)
{
	uint64_t run_due_s = START + 1;
	while (world->now_s < START + 3 * (uint64_t)YEAR && world->text[0] == '\0') {
		world_step(world, counts, &run_due_s);
	}
	keys_set_done(&world->set);
	return world->text[0] == '\0';
}

/* ---- Parts ---- */

/* What a part is about happens in it, or it checks nothing. */
static bool has_happened(const sim_part_t *part, const counts_t *counts)
{
	return counts->confirmed > 0 && counts->started[KEYS_NOTE_ZSK_STARTED] > 0 &&
	       counts->started[KEYS_NOTE_KSK_STARTED] > 0 &&
	       (part->forced == 0 || counts->started[KEYS_NOTE_KSK_IGNORED] > 0) &&
	       (part->changed == 0 || (counts->started[KEYS_NOTE_ALGORITHM_STARTED] > 0 &&
						      counts->started[KEYS_NOTE_SCHEME_STARTED] > 0));
}

static bool run_part(const sim_part_t *part, uint64_t seed, uint64_t count, int64_t only)
{
	counts_t counts = { 0 };
	for (uint64_t i = only >= 0 ? (uint64_t)only : 0; i < (only >= 0 ? (uint64_t)only + 1 : count); i++) {
		world_t world;
		world_begin(&world, part, NULL, sim_mix(seed * 1000003 + i) + (uint64_t)(part - parts));
		if (!world_live(&world, &counts)) {
			printf("not ok %s: schedule %llu: %s; again: tests/sim/keys_sim -s %llu -z %llu\n", part->name,
					(unsigned long long)i, world.text, (unsigned long long)seed,
					(unsigned long long)i);
			return false;
		}
	}
	bool is_fine = only >= 0 || count < 100 || has_happened(part, &counts);
	printf("%s %s: %llu runs, %llu mixes, rollovers of ZSK %llu, KSK %llu, algorithm %llu, scheme %llu; %llu DS "
	       "confirmed\n",
			is_fine ? "ok" : "not ok", part->name, (unsigned long long)counts.runs,
			(unsigned long long)counts.checks, (unsigned long long)counts.started[KEYS_NOTE_ZSK_STARTED],
			(unsigned long long)counts.started[KEYS_NOTE_KSK_STARTED],
			(unsigned long long)counts.started[KEYS_NOTE_ALGORITHM_STARTED],
			(unsigned long long)counts.started[KEYS_NOTE_SCHEME_STARTED],
			(unsigned long long)counts.confirmed);
	return is_fine;
}

/* Schedules without late runs have no fault, so what is found is the planted one. */
static bool run_fault(const sim_fault_t *fault, uint64_t seed)
{
	enum { TRIES = 100 };
	counts_t counts = { 0 };
	unsigned found = 0, planted = 0, held = 0;
	for (uint64_t i = 0; i < TRIES; i++) {
		world_t world;
		world_begin(&world, &parts[2], fault, sim_mix(seed * 1000003 + i));
		bool is_found = !world_live(&world, &counts);
		planted += world.has_faulted;
		found += is_found && world.has_faulted;
		held += is_found && world.is_held;
	}
	bool is_fine = found > 0 && (!fault->is_known || held == found);
	printf("%s %s: found in %u of %u schedules, of which the rail holds back %u\n", is_fine ? "ok" : "not ok",
			fault->name, found, planted, held);
	return is_fine;
}

/* How long two years of many zones' keys take, with the default policy. */
static void measure(void)
{
	enum { ZONES = 10000 };
	counts_t counts = { 0 };
	clock_t start = clock();
	for (unsigned i = 0; i < ZONES; i++) {
		world_t world = { .now_s = START, .key_ttl_s = HOUR, .max_ttl_s = HOUR };
		world.policy = (conf_policy_t){ .algorithm = 13,
			.propagation_delay_s = HOUR,
			.zsk_lifetime_s = 30 * DAY,
			.keytag_modulo = "0/1",
			.cds_publish = CONF_CDS_ROLLOVER };
		while (world.now_s != 0 && world.now_s < START + 2 * (uint64_t)YEAR) {
			keys_outcome_t outcome = world_run(&world, &counts, false, false);
			if (keys_confirm(&world.set, world.now_s, HOUR) == KNOT_OK) {
				outcome = world_run(&world, &counts, false, false);
			}
			world.now_s = sooner(outcome.next.kind != KEYS_NOTHING ? outcome.next.due_s : 0,
					outcome.next_timer_s);
		}
		keys_set_done(&world.set);
	}
	printf("# two years of the keys of %d zones: %llu runs, %.2f s of CPU\n", ZONES,
			(unsigned long long)counts.runs, (double)(clock() - start) / CLOCKS_PER_SEC);
}

int main(int argc, char *argv[])
{
	uint64_t seed = 1, count = 5000;
	int64_t only = -1;
	for (int option; (option = getopt(argc, argv, "s:n:z:")) != -1;) {
		switch (option) {
		case 's': seed = strtoull(optarg, NULL, 10); break;
		case 'n': count = strtoull(optarg, NULL, 10); break;
		case 'z': only = (int64_t)strtoull(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	bool is_fine = true;
	for (size_t i = 0; i < KNOT_LEN(parts); i++) {
		is_fine = run_part(&parts[i], seed, count, only) && is_fine;
	}
	for (size_t i = 0; only < 0 && i < KNOT_LEN(faults); i++) {
		is_fine = run_fault(&faults[i], seed) && is_fine;
	}
	if (only < 0) {
		measure();
	}
	return is_fine ? 0 : 1;
}
