/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/caches.h"

#include <string.h>

const char *keys_danger_text(keys_danger_kind_t kind)
{
	static const char *const texts[KEYS_DANGER_COUNT] = {
		[KEYS_SAFE] = "keys are safe",
		[KEYS_GONE] = "is missing in DNSKEY, before its time",
		[KEYS_MUTE] = "has stopped signing, before its time",
		[KEYS_DATA_ORPHANED] = "is missing in DNSKEY, but its signatures are cached, and no others",
		[KEYS_DATA_AHEAD] = "signs, but cached DNSKEY records lack it",
		[KEYS_DS_ORPHANED] = "has stopped signing DNSKEY, and no other key that does is known to have a DS",
		[KEYS_DS_AHEAD] = "is to have the DS, but hasn't signed cached DNSKEY records",
		[KEYS_CDS_AHEAD] = "is to get its DS, but hasn't signed cached DNSKEY records",
		[KEYS_ALGORITHM_AHEAD] = "is in DNSKEY, but cached data lacks signatures of its algorithm",
		[KEYS_ALGORITHM_GONE] = "is in cached DNSKEY records, but the data has no signatures of its algorithm",
	};
	return texts[kind];
}

static bool caches_is_same(const keys_seen_t *a, const keys_seen_t *b)
{
	if (a->algorithm != b->algorithm) {
		return false;
	}
	if (a->public.len == 0 || b->public.len == 0) {
		return a->tag == b->tag;
	}
	return a->public.len == b->public.len && memcmp(a->public.data, b->public.data, a->public.len) == 0;
}

static const keys_seen_t *caches_find(const keys_view_t *view, const keys_seen_t *wanted)
{
	for (size_t i = 0; i < view->count; i++) {
		if (caches_is_same(&view->keys[i], wanted)) {
			return &view->keys[i];
		}
	}
	return NULL;
}

const keys_seen_t *keys_find_seen(const keys_view_t *view, const kasp_key_t *key)
{
	const keys_seen_t wanted = { .public = key->public, .tag = key->tag, .algorithm = key->algorithm };
	return caches_find(view, &wanted);
}

/* ---- Uses of keys, as a version or a time in the past shows them ---- */

/** Bits of what a key does. */
enum { CACHES_PUBLIC = 1, CACHES_SIGNS_KEYS = 2, CACHES_SIGNS_ZONE = 4, CACHES_HAS_CDS = 8 };

static unsigned caches_seen_use(const keys_seen_t *seen)
{
	if (seen == NULL) {
		return 0;
	}
	return (seen->public.len > 0 ? CACHES_PUBLIC : 0u) |
	       (seen->signs_keys && !seen->is_revoked ? CACHES_SIGNS_KEYS : 0u) |
	       (seen->signs_zone ? CACHES_SIGNS_ZONE : 0u) | (seen->has_cds ? CACHES_HAS_CDS : 0u);
}

static unsigned caches_past_use(const keys_caches_t *caches, size_t index, uint64_t when_s)
{
	const kasp_key_t *key = &caches->keys[index];
	keys_use_t use = keys_use(caches->keys, caches->count, index, when_s);
	return (use.is_public ? CACHES_PUBLIC : 0u) |
	       (keys_signs_keys(key, &use) && !use.is_revoked ? CACHES_SIGNS_KEYS : 0u) |
	       (keys_signs_zone(key, &use) ? CACHES_SIGNS_ZONE : 0u);
}

/* True if the version has other keys, or other signers, than the one that is served. */
static bool caches_differ(const keys_caches_t *caches)
{
	const keys_view_t *views[] = { &caches->served, &caches->next };
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < views[i]->count; k++) {
			const keys_seen_t *seen = &views[i]->keys[k];
			if (caches_seen_use(seen) != caches_seen_use(caches_find(views[1 - i], seen))) {
				return true;
			}
		}
	}
	return false;
}

/* ---- The version against the one that is served ---- */

/*
 * Among the keys of one view that have the use `has`, one must have `wants` in the other. *ret_missed: one that
 * doesn't. True also if there is none.
 */
static bool caches_views_meet(
		const keys_view_t *view, unsigned has, const keys_view_t *other, unsigned wants, uint16_t *ret_missed)
{
	bool is_empty = true;
	for (size_t i = 0; i < view->count; i++) {
		if ((caches_seen_use(&view->keys[i]) & has) == 0) {
			continue;
		}
		is_empty = false;
		*ret_missed = view->keys[i].tag;
		if ((caches_seen_use(caches_find(other, &view->keys[i])) & wants) != 0) {
			return true;
		}
	}
	return is_empty;
}

static keys_danger_t caches_check_served(const keys_caches_t *caches)
{
	const keys_view_t *served = &caches->served, *next = &caches->next;
	uint16_t tag = 0;
	if (!caches_views_meet(served, CACHES_SIGNS_ZONE, next, CACHES_PUBLIC, &tag)) {
		return (keys_danger_t){ KEYS_DATA_ORPHANED, tag, 0 };
	}
	if (!caches_views_meet(next, CACHES_SIGNS_ZONE, served, CACHES_PUBLIC, &tag)) {
		return (keys_danger_t){ KEYS_DATA_AHEAD, tag, 0 };
	}
	if (!caches_views_meet(served, CACHES_SIGNS_KEYS, next, CACHES_SIGNS_KEYS, &tag)) {
		return (keys_danger_t){ KEYS_DS_ORPHANED, tag, 0 };
	}
	return (keys_danger_t){ KEYS_SAFE, 0, 0 };
}

/* ---- The version against the timers of its keys ---- */

/* What was served and by its timers is to stay, stays. */
static keys_danger_t caches_check_timers(const keys_caches_t *caches)
{
	for (size_t i = 0; i < caches->count && !caches->is_offline_ksk; i++) {
		const kasp_key_t *key = &caches->keys[i];
		unsigned wanted = caches_past_use(caches, i, caches->now_s) &
				  caches_seen_use(keys_find_seen(&caches->served, key));
		unsigned missed = wanted & ~caches_seen_use(keys_find_seen(&caches->next, key));
		if (missed != 0) {
			return (keys_danger_t){ (missed & CACHES_PUBLIC) != 0 ? KEYS_GONE : KEYS_MUTE, key->tag, 0 };
		}
	}
	return (keys_danger_t){ KEYS_SAFE, 0, 0 };
}

/* A key whose DS the parent is known to have: somebody has said so, or it was never anything else. */
static bool caches_has_ds(const kasp_key_t *key, const keys_use_t *use)
{
	return key->is_ksk && use->is_active;
}

/* The key with the DS signs; or none is known to have one, and all that signed before go on. */
static keys_danger_t caches_check_ds(const keys_caches_t *caches)
{
	bool is_known = false;
	for (size_t i = 0; i < caches->count; i++) {
		keys_use_t use = keys_use(caches->keys, caches->count, i, caches->now_s);
		const keys_seen_t *seen = keys_find_seen(&caches->next, &caches->keys[i]);
		is_known = is_known ||
			   (caches_has_ds(&caches->keys[i], &use) && (caches_seen_use(seen) & CACHES_SIGNS_KEYS) != 0);
	}
	for (size_t i = 0; i < caches->served.count && !is_known; i++) {
		const keys_seen_t *before = &caches->served.keys[i];
		bool stays = (caches_seen_use(caches_find(&caches->next, before)) & CACHES_SIGNS_KEYS) != 0;
		if ((caches_seen_use(before) & CACHES_SIGNS_KEYS) != 0 && !stays) {
			return (keys_danger_t){ KEYS_DS_ORPHANED, before->tag, 0 };
		}
	}
	return (keys_danger_t){ KEYS_SAFE, 0, 0 };
}

/* ---- The version against the past ---- */

/** What keys did at a time in the past, against what they do in the version. */
typedef struct {
	keys_danger_kind_t kind;
	unsigned past, next;
	enum {
		CACHES_OLD_MEET,       /* one of the keys with `past` then has `next` in the version */
		CACHES_NEW_MEET,       /* one of those with `next` had `past`, if any key had */
		CACHES_ALL_NEW,        /* each of those with `next` had `past`, if any key had */
		CACHES_OLD_ALGORITHMS, /* each algorithm of keys with `past` has one with `next` */
		CACHES_NEW_ALGORITHMS, /* each algorithm of those with `next` had one with `past`, if any key had */
	} how;
	bool wants_ds; /* keys of the version count only if they have a DS */
} caches_rule_t;

static const caches_rule_t data_rules[] = {
	{ KEYS_DATA_ORPHANED, CACHES_SIGNS_ZONE, CACHES_PUBLIC, CACHES_OLD_MEET, false },
	{ KEYS_ALGORITHM_AHEAD, CACHES_SIGNS_ZONE, CACHES_PUBLIC, CACHES_NEW_ALGORITHMS, false },
};
static const caches_rule_t key_rules[] = {
	{ KEYS_DATA_AHEAD, CACHES_PUBLIC, CACHES_SIGNS_ZONE, CACHES_NEW_MEET, false },
	{ KEYS_DS_AHEAD, CACHES_SIGNS_KEYS, CACHES_SIGNS_KEYS, CACHES_NEW_MEET, true },
	{ KEYS_CDS_AHEAD, CACHES_SIGNS_KEYS, CACHES_HAS_CDS, CACHES_ALL_NEW, false },
	{ KEYS_ALGORITHM_GONE, CACHES_PUBLIC, CACHES_SIGNS_ZONE, CACHES_OLD_ALGORITHMS, false },
};

static bool caches_had(const keys_caches_t *caches, const caches_rule_t *rule, size_t index, uint64_t when_s)
{
	return (caches_past_use(caches, index, when_s) & rule->past) != 0;
}

static bool caches_has(const keys_caches_t *caches, const caches_rule_t *rule, size_t index)
{
	const kasp_key_t *key = &caches->keys[index];
	keys_use_t use = keys_use(caches->keys, caches->count, index, caches->now_s);
	return (caches_seen_use(keys_find_seen(&caches->next, key)) & rule->next) != 0 && !use.is_revoked &&
	       (!rule->wants_ds || caches_has_ds(key, &use));
}

/* True if a key with the algorithm of the index-th had the use then (is_past), or has it in the version. */
static bool caches_algorithm_is_there(
		const keys_caches_t *caches, const caches_rule_t *rule, size_t index, uint64_t when_s, bool is_past)
{
	bool is_there = false;
	for (size_t i = 0; i < caches->count && !is_there; i++) {
		is_there = caches->keys[i].algorithm == caches->keys[index].algorithm &&
			   (is_past ? caches_had(caches, rule, i, when_s) : caches_has(caches, rule, i));
	}
	return is_there;
}

/* True if the rule holds for what was cached at when_s. *ret_tag: of a key that breaks it. */
static bool caches_rule_holds(
		const keys_caches_t *caches, const caches_rule_t *rule, uint64_t when_s, uint16_t *ret_tag)
{
	bool had_any = false, has_any = false, is_met = false, all_new = true, all_algorithms = true;
	for (size_t i = 0; i < caches->count; i++) {
		bool had = caches_had(caches, rule, i, when_s), has = caches_has(caches, rule, i);
		bool is_old = rule->how == CACHES_OLD_MEET || rule->how == CACHES_OLD_ALGORITHMS;
		bool lacks_algorithm = is_old ? had && !caches_algorithm_is_there(caches, rule, i, when_s, false)
					      : has && !caches_algorithm_is_there(caches, rule, i, when_s, true);
		had_any = had_any || had;
		has_any = has_any || has;
		is_met = is_met || (had && has);
		all_new = all_new && (had || !has);
		all_algorithms = all_algorithms && !lacks_algorithm;
		*ret_tag = (is_old ? had && !has : has && !had) ? caches->keys[i].tag : *ret_tag;
	}
	switch (rule->how) {
	case CACHES_OLD_MEET: return is_met || !had_any;
	case CACHES_NEW_MEET: return is_met || !had_any || !has_any;
	case CACHES_ALL_NEW: return all_new || !had_any;
	case CACHES_OLD_ALGORITHMS: return all_algorithms || !has_any;
	case CACHES_NEW_ALGORITHMS: return all_algorithms || !had_any;
	}
	return true;
}

static void caches_judge(const keys_caches_t *caches, const caches_rule_t *rule, uint64_t when_s, uint32_t hold_s,
		keys_danger_t *danger)
{
	uint16_t tag = 0;
	if (!caches_rule_holds(caches, rule, when_s, &tag)) {
		uint64_t until_s = when_s + hold_s > danger->until_s ? when_s + hold_s : danger->until_s;
		*danger = (keys_danger_t){ rule->kind, tag, until_s };
	}
}

/* The moments at which uses change: the beginning of the time that caches remember, each timer in it, and the second
 * before each, which is the last one at which the former could be fetched. */
static keys_danger_t caches_check_rule(const keys_caches_t *caches, const caches_rule_t *rule, uint32_t hold_s)
{
	keys_danger_t danger = { KEYS_SAFE, 0, 0 };
	uint64_t begin_s = caches->now_s > hold_s ? caches->now_s - hold_s : 0;
	caches_judge(caches, rule, begin_s, hold_s, &danger);
	for (size_t i = 0; i < caches->count; i++) {
		const kasp_times_t *t = &caches->keys[i].times;
		const uint64_t timers[] = { t->pre_active, t->publish, t->ready, t->active, t->retire_active, t->retire,
			t->post_active, t->remove, t->revoke };
		for (size_t k = 0; k < KNOT_LEN(timers); k++) {
			if (timers[k] > begin_s && timers[k] < caches->now_s) {
				caches_judge(caches, rule, timers[k], hold_s, &danger);
			}
			if (timers[k] > begin_s + 1 && timers[k] <= caches->now_s) {
				caches_judge(caches, rule, timers[k] - 1, hold_s, &danger);
			}
		}
	}
	return danger;
}

static keys_danger_t caches_check_past(
		const keys_caches_t *caches, const caches_rule_t *rules, size_t rule_count, uint32_t hold_s)
{
	keys_danger_t danger = { KEYS_SAFE, 0, 0 };
	for (size_t i = 0; i < rule_count && danger.kind == KEYS_SAFE; i++) {
		danger = caches_check_rule(caches, &rules[i], hold_s);
	}
	return danger;
}

keys_danger_t keys_caches_check(const keys_caches_t *caches)
{
	keys_danger_t danger = { KEYS_SAFE, 0, 0 };
	if (caches->served.count == 0 || !caches_differ(caches)) {
		return danger;
	}
	danger = caches_check_timers(caches);
	danger = danger.kind == KEYS_SAFE ? caches_check_served(caches) : danger;
	danger = danger.kind == KEYS_SAFE ? caches_check_ds(caches) : danger;
	danger = danger.kind == KEYS_SAFE
				 ? caches_check_past(caches, data_rules, KNOT_LEN(data_rules), caches->data_hold_s)
				 : danger;
	return danger.kind == KEYS_SAFE ? caches_check_past(caches, key_rules, KNOT_LEN(key_rules), caches->key_hold_s)
					: danger;
}
