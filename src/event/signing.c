/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/signing.h"

#include "src/event/clock_watch.h"
#include "src/event/dnskey_sync.h"
#include "src/event/ds_check.h"
#include "src/event/ds_push.h"
#include "src/event/dsync_notify.h"
#include "src/event/key_rail.h"
#include "src/event/signing_log.h"
#include "src/event/trash_sweep.h"
#include "src/sign/by_keys.h"
#include "src/sign/by_offline.h"
#include "src/sys/clock.h"
#include "src/sys/dbus.h"
#include "src/sys/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MIN_S = 10, RETRY_MAX_S = 600 }; /* after a failure */
enum { TRIES_MAX = 5 };                       /* while others change the zone's keys */

struct signing {
	server_t *server;
	zone_t *zone;
	conf_t *conf;   /* held */
	bool pushes_ds; /* conf `ds-push` */
	conf_metadata_db_t metadata_db;
	ds_push_cds_t cds; /* what is served before */
	bool has_dsync;    /* conf `dsync-notify` */
	dsync_told_t told; /* of what is served before */
	bool is_full;
	zone_keys_env_t env;
	conf_policy_times_t times;
	zone_keys_t keys;
	keys_outcome_t outcome;
	uint64_t rolls_after_s; /* keys aren't rolled for so long; 0: they were */
	knot_err_t flaw;        /* of private keys that may not even be needed yet */
	char flaw_reason[UPDATE_REASON_MAX];
	sign_by_keys_t by_keys;
	sign_by_offline_t offline;
	update_signing_t update;
};

bool signing_may_stall(const signing_t *signing)
{
	const conf_keystores_t stores = signing != NULL ? conf_policy_keystores(signing->conf, signing->env.policy)
							: (conf_keystores_t){ .count = 0 };
	bool has_token = false;
	for (size_t i = 0; i < stores.count; i++) {
		has_token = has_token || stores.data[i]->backend == CONF_KEYSTORE_PKCS11;
	}
	return has_token;
}

bool signing_is_wanted(const server_t *server, knot_name_t name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	return state_settings(state_load(&server->root, guard), name, &zone) && zone.dnssec_signing;
}

/* ---- Times ---- */

/* The earlier of two times, of which 0 is none. */
static uint64_t signing_earlier(uint64_t a_s, uint64_t b_s)
{
	return a_s == 0 || (b_s != 0 && b_s < a_s) ? b_s : a_s;
}

static void signing_plan_event(const signing_t *signing, event_t event, uint64_t when_s, bool is_earlier_only)
{
	server_t *server = signing->server;
	entry_t *entry = entry_of(signing->zone);
	uint64_t now_s = sys_clock_wall(), wait_s = when_s > now_s ? when_s - now_s : 0;
	sys_mutex_lock(&server->jobs.lock);
	if (!is_earlier_only) {
		jobs_cancel(&server->jobs, entry, event);
	}
	(void)jobs_plan(&server->jobs, entry, event, sys_clock_ms() + wait_s * 1000, 0);
	sys_mutex_unlock(&server->jobs.lock);
}

static void signing_plan(const signing_t *signing, uint64_t when_s, bool is_earlier_only)
{
	signing_plan_event(signing, EVENT_DNSSEC, when_s, is_earlier_only);
}

static void signing_plan_retry(const signing_t *signing)
{
	uint32_t wait_s = signing->times.pre_refresh_s;
	wait_s = wait_s < RETRY_MIN_S ? RETRY_MIN_S : wait_s > RETRY_MAX_S ? RETRY_MAX_S : wait_s;
	/* Without a version there is nothing to sign, unless the zone file is read again; a primary is asked anyway. */
	bool is_missing = zone_contents(signing->zone) == NULL &&
			  !server_is_secondary(signing->server, zone_name(signing->zone));
	signing_plan_event(signing, is_missing ? EVENT_LOAD : EVENT_DNSSEC, sys_clock_wall() + wait_s, true);
}

/* When signatures have to be renewed, or the next records that were signed offline begin to hold. */
static uint64_t signing_expiry_due(const signing_t *signing, const sign_result_t *result)
{
	uint64_t expires_s = result->earliest_expiration_s;
	return signing_earlier(expires_s > signing->times.refresh_s ? expires_s - signing->times.refresh_s : expires_s,
			signing->offline.next_s);
}

static uint64_t signing_next(const signing_t *signing, const sign_result_t *result)
{
	const keys_outcome_t *outcome = &signing->outcome;
	uint64_t next_s = signing_expiry_due(signing, result);
	next_s = signing_earlier(next_s, outcome->next.kind != KEYS_NOTHING ? outcome->next.due_s : 0);
	next_s = signing_earlier(next_s, outcome->next_timer_s);
	return signing_earlier(next_s, zone_keys_salt_due(&signing->env, &signing->keys));
}

/* ---- Preparing ---- */

typedef struct {
	bool has_soa;
	uint32_t ttl_s;
} signing_soa_t;

static bool signing_take_soa(const zone_rr_t *rr, void *ctx)
{
	signing_soa_t *soa = ctx;
	if (rr->type == KNOT_TYPE_SOA) {
		*soa = (signing_soa_t){ true, rr->ttl };
	}
	return !soa->has_soa;
}

static knot_err_t signing_find_times(signing_t *signing, const zone_contents_t *like)
{
	signing_soa_t soa = { .has_soa = false };
	knot_err_t err = like != NULL ? zone_read_apex(like, signing_take_soa, &soa) : KNOT_OK;
	if (err != KNOT_OK) {
		return err;
	}
	signing->times = conf_policy_times(
			signing->env.policy, signing->env.zone, soa.ttl_s, like != NULL ? like->max_ttl : soa.ttl_s);
	return KNOT_OK;
}

/* False: the zone isn't configured. *ret_is_signed: by this server. */
static bool signing_hold_conf(signing_t *signing, bool *ret_is_signed)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&signing->server->root, guard);
	if (!state_settings(state, zone_name(signing->zone), &zone)) {
		return false;
	}
	*ret_is_signed = zone.dnssec_signing;
	signing->conf = conf_hold(state->conf);
	signing->env.conf = signing->conf;
	signing->env.policy = conf_zone_policy(signing->conf, &zone);
	signing->metadata_db = zone.metadata_db;
	signing->pushes_ds = ds_push_targets(signing->env.policy, &zone).count > 0;
	signing->has_dsync = signing->env.policy->dsync_notify.count > 0;
	return true;
}

/* On D-Bus. */
static void signing_announce(const signing_t *signing)
{
	char zone[KNOT_NAME_TEXT_MAX];
	const keys_set_t *set = &signing->keys.set;
	(void)knot_name_print(signing->env.zone, zone);
	if (signing->outcome.is_changed) {
		sys_dbus_keys_updated(zone);
	}
	for (size_t i = 0; i < set->count; i++) {
		if (keys_use(set->keys, set->count, i, signing->env.now_s).is_ready) {
			sys_dbus_ksk_submission(zone, set->keys[i].tag, set->keys[i].id);
		}
	}
}

/* Keys move on from what is served, unless an operator moves them, or has forbidden it to be what they say. */
static knot_err_t signing_move_keys(signing_t *signing, unsigned how)
{
	const conf_policy_t *policy = signing->env.policy;
	bool is_late = false, waits = !policy->is_manual && policy->unsafe.bits == 0;
	knot_err_t err = waits ? key_rail_wait(&signing->env, &signing->keys, zone_contents(signing->zone), &is_late)
			       : KNOT_OK;
	unsigned rolls = ((how & EVENT_ROLLS_KSK) != 0 ? ZONE_KEYS_ROLLS_KSK : 0) |
			 ((how & EVENT_ROLLS_ZSK) != 0 ? ZONE_KEYS_ROLLS_ZSK : 0);
	err = err == KNOT_OK ? zone_keys_roll(&signing->env, &signing->keys, &signing->times, rolls, &signing->outcome)
			     : err;
	signing->outcome.is_changed = signing->outcome.is_changed || is_late;
	return err;
}

static knot_err_t signing_roll(signing_t *signing, unsigned how)
{
	zone_keys_t *keys = &signing->keys;
	knot_err_t err = signing_move_keys(signing, how);
	if (err != KNOT_OK) {
		signing_log_failure(&signing->env, "failed to update key set", err, keys->reason);
		return err;
	}
	err = zone_keys_resalt(&signing->env, keys);
	if (err != KNOT_OK) {
		signing_log_failure(&signing->env, "failed to update NSEC3 salt", err, "");
		return err;
	}
	bool is_new = signing->outcome.is_changed || keys->is_salt_new || !keys->has_ttls;
	err = is_new ? zone_keys_save(&signing->env, keys, &signing->times, &signing->outcome) : KNOT_OK;
	if (err == KNOT_ETRYAGAIN) {
		return err;
	}
	if (err != KNOT_OK) {
		signing_log_failure(&signing->env, "failed to update key set", err, "");
	} else {
		signing_log_notes(&signing->env, &signing->outcome);
		signing_announce(signing);
	}
	return err;
}

/* How long caches remember what was served. */
static uint64_t signing_memory_s(const signing_t *signing)
{
	uint32_t key_ttl_s = signing->keys.has_ttls ? signing->keys.key_ttl_s : signing->times.dnskey_ttl_s;
	uint32_t max_ttl_s = signing->keys.has_ttls ? signing->keys.max_ttl_s : signing->times.zone_max_ttl_s;
	return (uint64_t)signing->env.policy->propagation_delay_s + (key_ttl_s > max_ttl_s ? key_ttl_s : max_ttl_s);
}

/*
 * By a clock that is behind, signatures would be worth nothing by the right one, and keys would lose their timers. One
 * that has jumped may be wrong, so no key moves on before caches have forgotten what was served by the other.
 */
static knot_err_t signing_check_clock(signing_t *signing, bool is_forced)
{
	zone_keys_t *keys = &signing->keys;
	uint64_t then_s, now_s = signing->env.now_s, memory_s = signing_memory_s(signing);
	const clock_signed_t signed_at = clock_read_signed(zone_contents(signing->zone), &keys->set, now_s);
	if (clock_is_behind(&signed_at, &keys->set, !signing->env.policy->is_manual, now_s, &then_s)) {
		signing_print_behind(then_s, now_s, keys->reason);
		signing->rolls_after_s = memory_s;
		return is_forced ? KNOT_OK : KNOT_EGUARDRAIL;
	}
	sys_mutex_lock(&signing->server->jobs.lock);
	bool is_new = !entry_of(signing->zone)->is_signed;
	sys_mutex_unlock(&signing->server->jobs.lock);
	bool has_expired = signed_at.is_known && signed_at.expires_s <= now_s;
	if (is_new && has_expired) {
		clock_note_expired(signing->server, signing->zone);
	}
	if (signing->is_full && is_new && has_expired) {
		signing_log_expired(&signing->env, signed_at.expires_s, memory_s);
	}
	signing->rolls_after_s = clock_hold_s(signing->server, signing->zone, memory_s);
	return KNOT_OK;
}

static bool signing_look_for_dnskey(const zone_rr_t *rr, void *ctx)
{
	bool *has_dnskey = ctx;
	*has_dnskey = rr->type == KNOT_TYPE_DNSKEY;
	return !*has_dnskey;
}

/* A key database without keys of a zone that has some was lost, or belongs elsewhere. New keys would have no DS, and be
 * in the way of the old ones when these are restored. */
static knot_err_t signing_check_lost_keys(signing_t *signing)
{
	const zone_contents_t *served = zone_contents(signing->zone);
	bool has_dnskey = false;
	if (served == NULL || signing->keys.set.count > 0 || signing->env.policy->is_manual) {
		return KNOT_OK;
	}
	knot_err_t err = zone_read_apex(served, signing_look_for_dnskey, &has_dnskey);
	if (err != KNOT_OK || !has_dnskey) {
		return err;
	}
	snprintf(signing->keys.reason, ZONE_KEYS_REASON_MAX,
			"the key database has no keys of the zone, which is served signed: restore them, or let new "
			"ones be made");
	return KNOT_EGUARDRAIL;
}

static knot_err_t signing_load_keys(signing_t *signing, const signing_ask_t *ask)
{
	knot_err_t err = zone_keys_load(&signing->env, &signing->keys);
	if (err != KNOT_OK) {
		signing_log_failure(&signing->env, "failed to load keys", err, "");
		return err;
	}
	err = ask->is_forced ? KNOT_OK : signing_check_lost_keys(signing);
	err = err == KNOT_OK ? signing_check_clock(signing, ask->is_forced) : err;
	bool is_rolled = signing->is_full && signing->rolls_after_s == 0;
	return err == KNOT_OK && is_rolled ? signing_roll(signing, ask->how) : err;
}

static void signing_note_flaw(const keys_flaw_t *flaw, void *ctx)
{
	signing_t *signing = ctx;
	char unused[UPDATE_REASON_MAX];
	signing_log_flaw(&signing->env, flaw, signing->flaw_reason[0] == '\0' ? signing->flaw_reason : unused);
}

/* All private keys once since the start, and when an operator asks: a key that signs in a month is mended best now. */
static void signing_prove_keys(signing_t *signing, unsigned how)
{
	sys_mutex_t *lock = &signing->server->jobs.lock;
	entry_t *entry = entry_of(signing->zone);
	sys_mutex_lock(lock);
	bool is_due = signing->is_full && (!entry->has_keys || (how & EVENT_BY_OPERATOR) != 0);
	sys_mutex_unlock(lock);
	if (is_due) {
		signing->flaw = zone_keys_prove(&signing->env, &signing->keys.set, signing_note_flaw, signing);
		sys_mutex_lock(lock);
		entry->has_keys = signing->flaw == KNOT_OK;
		sys_mutex_unlock(lock);
	}
}

knot_err_t signing_flaw(const signing_t *signing, char *reason)
{
	if (signing == NULL || signing->flaw == KNOT_OK) {
		return KNOT_OK;
	}
	snprintf(reason, UPDATE_REASON_MAX, "%s", signing->flaw_reason);
	return signing->flaw;
}

static knot_err_t signing_get_keys(signing_t *signing, const signing_ask_t *ask)
{
	zone_keys_t *keys = &signing->keys;
	knot_err_t err = signing_load_keys(signing, ask);
	for (unsigned i = 0; err == KNOT_ETRYAGAIN && i < TRIES_MAX; i++) {
		zone_keys_done(keys);
		err = signing_load_keys(signing, ask);
	}
	if (err != KNOT_OK) {
		return err;
	}
	if (signing->is_full) {
		signing_log_keys(&signing->env, &keys->set);
	}
	for (uint16_t tag; zone_keys_drop_unusable(&signing->env, keys, &tag);) {
		log_zone(LOG_WARNING, signing->env.zone, "DNSSEC, key %u cannot be used with NSEC3", tag);
	}
	err = zone_keys_open(&signing->env, keys);
	if (err != KNOT_OK) {
		signing_log_unusable(&signing->env, keys, err);
	} else {
		signing_prove_keys(signing, ask->how);
	}
	return err;
}

static bool signing_read_kasp_serial(const signing_t *signing, uint32_t *ret_serial)
{
	kasp_txn_t *txn;
	if (kasp_begin(signing->env.kasp, false, &txn) != KNOT_OK) {
		return false;
	}
	bool has = kasp_get_serial(txn, KASP_SIGNED_SERIAL, signing->env.zone, ret_serial) == KNOT_OK;
	kasp_abort(txn);
	return has;
}

static bool signing_read_timer_serial(const signing_t *signing, uint32_t *ret_serial)
{
	const timer_values_t timers = timer_sync_read(signing->server->timers, signing->env.zone);
	return timer_is_serial(timers.at[TIMER_LAST_SIGNED], ret_serial);
}

/* From the database of `dnssec-metadata-db`, or, as after a change of that, from the other one. */
static void signing_read_floor(signing_t *signing)
{
	uint32_t *floor = &signing->update.floor;
	bool is_timer = signing->metadata_db == CONF_METADATA_TIMER;
	bool has_floor =
			is_timer ? signing_read_timer_serial(signing, floor) : signing_read_kasp_serial(signing, floor);
	has_floor = has_floor ||
		    (is_timer ? signing_read_kasp_serial(signing, floor) : signing_read_timer_serial(signing, floor));
	signing->update.has_floor = has_floor;
}

static knot_err_t signing_make_plan(signing_t *signing, const signing_ask_t *ask)
{
	sign_plan_t *plan = &signing->by_keys.plan;
	knot_err_t err = sign_by_keys(&signing->env, &signing->keys, &signing->times, &signing->by_keys);
	if (err == KNOT_OK && signing->is_full) {
		signing_log_submitted(&signing->env, signing->by_keys.records.submitted_count);
	}
	if (err == KNOT_OK && signing->env.policy->is_offline_ksk) {
		err = sign_by_offline(&signing->env, &signing->offline, plan);
		signing_log_offline(&signing->env, err, signing->is_full ? &signing->offline : NULL);
		if (err == KNOT_ENOENT) {
			snprintf(signing->keys.reason, ZONE_KEYS_REASON_MAX, "no offline KSK records, import an SKR");
		}
	}
	if (err != KNOT_OK) {
		return err;
	}
	sys_mutex_lock(&signing->server->jobs.lock);
	plan->trusts_signatures = ask->is_of_served && entry_of(signing->zone)->is_signed;
	sys_mutex_unlock(&signing->server->jobs.lock);
	plan->drops_signatures = (ask->how & EVENT_DROPS_SIGNATURES) != 0;
	signing->update.plan = plan;
	signing->update.is_full = ask->is_full;
	signing->update.steps_serial = ask->steps_serial;
	if (ask->steps_serial || ask->is_whole) {
		signing_read_floor(signing);
	}
	if (signing->is_full) {
		log_zone(LOG_INFO, signing->env.zone, "DNSSEC, signing started");
	}
	return KNOT_OK;
}

static void signing_free(signing_t *signing)
{
	sign_by_keys_done(&signing->by_keys);
	sign_by_offline_done(&signing->offline);
	zone_keys_done(&signing->keys);
	conf_free(signing->conf);
	free(signing);
}

static knot_err_t signing_prepare(signing_t *signing, const signing_ask_t *ask)
{
	knot_err_t err = signing_kasp(ask->server, &signing->env.kasp);
	if (err != KNOT_OK) {
		sys_mutex_lock(&ask->server->kasp_lock);
		snprintf(signing->keys.reason, ZONE_KEYS_REASON_MAX, "%s", ask->server->kasp_reason);
		sys_mutex_unlock(&ask->server->kasp_lock);
		signing_log_failure(&signing->env, "failed to initialize signing context", err, signing->keys.reason);
		return err;
	}
	err = signing_find_times(signing, ask->like);
	if (err == KNOT_OK && signing->is_full) {
		signing_log_policy(&signing->env, &signing->times);
	}
	err = err == KNOT_OK ? signing_get_keys(signing, ask) : err;
	err = err == KNOT_OK ? signing_make_plan(signing, ask) : err;
	signing->by_keys.plan.spread_parts = ask->like != NULL ? sign_spread_parts(ask->like) : 1;
	return err;
}

/* NULL with KNOT_OK: the zone isn't configured, or not signed, though it has to be. */
static knot_err_t signing_new(server_t *server, zone_t *zone, bool is_for_signing, signing_t **ret_signing)
{
	bool is_signed = false;
	signing_t *signing = calloc(1, sizeof(*signing));
	if (signing == NULL) {
		return KNOT_ENOMEM;
	}
	signing->server = server;
	signing->zone = zone;
	signing->env.zone = zone_name(zone);
	signing->env.kasp_path = server->started->database.kasp_db;
	signing->env.now_s = sys_clock_wall();
	bool is_wanted = signing_hold_conf(signing, &is_signed) && (is_signed || !is_for_signing);
	if (!is_wanted) {
		signing_free(signing);
	}
	*ret_signing = is_wanted ? signing : NULL;
	return KNOT_OK;
}

knot_err_t signing_begin(const signing_ask_t *ask, char *reason, signing_t **ret_signing)
{
	signing_t *signing;
	server_look_at_clock(ask->server);
	knot_err_t err = signing_new(ask->server, ask->zone, true, &signing);
	if (err != KNOT_OK || signing == NULL) {
		*ret_signing = NULL;
		return err;
	}
	signing->is_full = ask->is_full;
	if (signing->pushes_ds) {
		signing->cds = ds_push_read(zone_contents(ask->zone));
	}
	if (signing->has_dsync) {
		signing->told = dsync_told_read(zone_contents(ask->zone));
	}
	jobs_stall_t stall;
	jobs_may_stall(&ask->server->jobs, entry_of(ask->zone), &stall);
	err = signing_prepare(signing, ask);
	jobs_goes_on(&ask->server->jobs, &stall);
	if (err != KNOT_OK) {
		snprintf(reason, UPDATE_REASON_MAX, "%s", signing->keys.reason);
		signing_plan_retry(signing);
		signing_free(signing);
		return err;
	}
	*ret_signing = signing;
	return KNOT_OK;
}

/* ---- Keys that parents know ---- */

static void signing_pick_keys(const signing_t *signing, signing_keys_t *keys)
{
	const keys_set_t *set = &signing->keys.set;
	const kasp_key_t *ready = NULL;
	for (size_t i = 0; i < set->count && ready == NULL; i++) {
		if (keys_use(set->keys, set->count, i, signing->env.now_s).is_ready) {
			ready = &set->keys[i];
			keys->ready.len = keys_dnskey(ready, false, keys->ready.rdata);
		}
	}
	for (size_t i = 0; i < set->count && ready != NULL; i++) {
		const kasp_key_t *key = &set->keys[i];
		bool is_active = keys_use(set->keys, set->count, i, signing->env.now_s).is_active;
		if (key->is_ksk && is_active && key->algorithm != ready->algorithm) {
			keys->leaving.len = keys_dnskey(key, false, keys->leaving.rdata);
		}
	}
}

/* KNOT_ETRYAGAIN: somebody else has changed the keys meanwhile. */
static knot_err_t signing_try_confirm(signing_t *signing, const signing_dnskey_t *only, uint32_t delay_s)
{
	zone_keys_t *keys = &signing->keys;
	signing_keys_t known = { .ready = { .len = 0 } };
	zone_keys_done(keys);
	knot_err_t err = zone_keys_load(&signing->env, keys);
	if (err != KNOT_OK) {
		return err;
	}
	signing_pick_keys(signing, &known);
	bool is_wanted = only == NULL ||
			 (only->len == known.ready.len && memcmp(only->rdata, known.ready.rdata, only->len) == 0);
	err = is_wanted ? keys_confirm(&keys->set, signing->env.now_s, delay_s) : KNOT_ENOREADY;
	return err == KNOT_OK ? zone_keys_save(&signing->env, keys, &signing->times, &signing->outcome) : err;
}

knot_err_t signing_confirm(server_t *server, zone_t *zone, const zone_contents_t *contents,
		const signing_dnskey_t *only, uint32_t delay_s)
{
	signing_t *signing;
	knot_err_t err = signing_new(server, zone, true, &signing);
	if (err != KNOT_OK || signing == NULL) {
		return err == KNOT_OK ? KNOT_ENOTSUP : err;
	}
	if (signing->env.policy->is_manual) {
		log_zone(LOG_WARNING, signing->env.zone, "DNSSEC, ignoring KSK submission due to manual policy");
		signing_free(signing);
		return KNOT_OK;
	}
	jobs_stall_t stall;
	jobs_may_stall(&server->jobs, entry_of(zone), &stall);
	err = signing_kasp(server, &signing->env.kasp);
	err = err == KNOT_OK ? signing_find_times(signing, contents) : err;
	err = err == KNOT_OK ? KNOT_ETRYAGAIN : err;
	for (unsigned i = 0; err == KNOT_ETRYAGAIN && i < TRIES_MAX; i++) {
		err = signing_try_confirm(signing, only, delay_s);
	}
	jobs_goes_on(&server->jobs, &stall);
	if (err == KNOT_OK) {
		log_zone(LOG_NOTICE, signing->env.zone, "DNSSEC, KSK submission, confirmed");
	}
	signing_free(signing);
	return err;
}

const update_signing_t *signing_of(const signing_t *signing)
{
	return signing != NULL ? &signing->update : NULL;
}

knot_err_t signing_check_keys(
		const signing_t *signing, const zone_contents_t *served, const zone_contents_t *next, char *reason)
{
	if (signing == NULL || signing->env.policy->unsafe.bits != 0) {
		return KNOT_OK;
	}
	return key_rail_check(&signing->env, &signing->keys, &signing->times, served, next, reason);
}

bool signing_find_keys(server_t *server, zone_t *zone, signing_keys_t *ret_keys)
{
	signing_t *signing;
	*ret_keys = (signing_keys_t){ .ready = { .len = 0 } };
	if (signing_new(server, zone, true, &signing) != KNOT_OK || signing == NULL) {
		return false;
	}
	if (signing_kasp(server, &signing->env.kasp) == KNOT_OK &&
			zone_keys_load(&signing->env, &signing->keys) == KNOT_OK) {
		signing_pick_keys(signing, ret_keys);
	}
	signing_free(signing);
	return ret_keys->ready.len > 0;
}

/* ---- Backups ---- */

/** Private keys on their way. */
typedef struct {
	const zone_keys_env_t *env;
	const char *folder; /* of the backup */
	bool is_restore;
} signing_copying_t;

static bool signing_copy_private(const kasp_key_t *key, void *ctx)
{
	const signing_copying_t *copying = ctx;
	knot_err_t err = key->is_public_only   ? KNOT_OK
			 : copying->is_restore ? zone_keys_import(copying->env, key, copying->folder)
					       : zone_keys_export(copying->env, key->id, copying->folder);
	const char *what = copying->is_restore ? "restore" : "backup";
	if (err == KNOT_ENOTSUP) {
		log_zone(LOG_NOTICE, copying->env->zone, "%s of private key id %s via PKCS #11 not possible, ignoring",
				what, key->id);
	} else if (err != KNOT_OK) {
		log_zone(LOG_NOTICE, copying->env->zone, "%s, private key not copied, tag %u, id %s (%s)", what,
				key->tag, key->id, knot_strerror(err));
	}
	return true;
}

/* Private keys first: a record without its key would end signing. */
static knot_err_t signing_copy_keys(
		const signing_copying_t *copying, kasp_t *from, kasp_t *to, knot_name_t zone, bool only_keys)
{
	kasp_txn_t *source, *target;
	knot_err_t err = kasp_begin(from, false, &source);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_each_key(source, zone, signing_copy_private, (void *)(uintptr_t)copying);
	err = err == KNOT_OK ? kasp_begin(to, true, &target) : err;
	if (err == KNOT_OK) {
		err = kasp_copy_zone(source, target, zone, only_keys);
		if (err == KNOT_OK) {
			err = kasp_commit(target);
		} else {
			kasp_abort(target);
		}
	}
	kasp_abort(source);
	return err;
}

static knot_err_t signing_exchange(
		server_t *server, zone_t *zone, kasp_t *other, const char *folder, bool is_restore, bool only_keys)
{
	signing_t *signing;
	knot_err_t err = signing_new(server, zone, false, &signing);
	if (err != KNOT_OK || signing == NULL) {
		return err == KNOT_OK ? KNOT_ENOZONE : err;
	}
	kasp_t *own;
	const signing_copying_t copying = { &signing->env, folder, is_restore };
	err = signing_kasp(server, &own);
	if (err == KNOT_OK) {
		err = is_restore ? signing_copy_keys(&copying, other, own, signing->env.zone, only_keys)
				 : signing_copy_keys(&copying, own, other, signing->env.zone, only_keys);
	}
	signing_free(signing);
	return err;
}

knot_err_t signing_save_keys(server_t *server, zone_t *zone, kasp_t *to, const char *to_folder, bool only_keys)
{
	return signing_exchange(server, zone, to, to_folder, false, only_keys);
}

knot_err_t signing_restore_keys(server_t *server, zone_t *zone, kasp_t *from, const char *from_folder, bool only_keys)
{
	return signing_exchange(server, zone, from, from_folder, true, only_keys);
}

knot_err_t signing_purge(server_t *server, zone_t *zone, bool keys, bool data)
{
	signing_t *signing;
	if (!signing_has_kasp(server)) {
		return KNOT_OK;
	}
	knot_err_t err = signing_new(server, zone, false, &signing);
	if (err != KNOT_OK || signing == NULL) {
		return err == KNOT_OK ? KNOT_ENOZONE : err;
	}
	err = signing_kasp(server, &signing->env.kasp);
	err = err == KNOT_OK ? signing_find_times(signing, NULL) : err;
	err = err == KNOT_OK ? zone_keys_purge(&signing->env, &signing->times, keys, data) : err;
	signing_free(signing);
	return err;
}

/* ---- Ending ---- */

/* What others are told of the zone's keys. */
static void signing_tell_others(const signing_t *signing)
{
	entry_t *entry = entry_of(signing->zone);
	if (signing->pushes_ds) {
		const ds_push_cds_t now = ds_push_read(zone_contents(signing->zone));
		ds_push_follow(signing->server, entry, &signing->cds, &now, signing->env.policy->propagation_delay_s);
	}
	if (signing->has_dsync) {
		const dsync_told_t now = dsync_told_read(zone_contents(signing->zone));
		dsync_notify_follow(signing->server, entry, &signing->told, &now, signing->env.policy);
	}
	dnskey_sync_follow(signing->server, entry, signing->env.policy);
}

/* A start without the zone's image goes on from there. Knot DNS, to which the database may go back, takes differences
 * of a primary only if a secondary has that very serial. */
static void signing_note_serial(const signing_t *signing, const update_effects_t *effects)
{
	bool is_wanted = signing->is_full || server_is_secondary(signing->server, signing->env.zone);
	if (effects->is_published && signing->metadata_db == CONF_METADATA_KASP && is_wanted) {
		signing_put_serial(signing->env.kasp, KASP_SIGNED_SERIAL, signing->env.zone, effects->serial_to);
	}
}

/* The change is signed, but what the zone as a whole needs waits. */
static void signing_warn_of_failure(const signing_t *signing)
{
	const entry_t *entry = entry_of(signing->zone);
	sys_mutex_lock(&signing->server->jobs.lock);
	bool has_failed = entry->result != KNOT_OK && entry->failed == EVENT_DNSSEC;
	sys_mutex_unlock(&signing->server->jobs.lock);
	if (has_failed) {
		log_zone(LOG_WARNING, signing->env.zone, "DNSSEC, previous signing had failed");
	}
}

static void signing_conclude(signing_t *signing, const update_effects_t *effects)
{
	const sign_result_t *result = &effects->signing;
	signing_log_result(&signing->env, effects);
	signing_note_serial(signing, effects);
	if (signing->is_full) {
		trash_sweep(signing->server, &signing->env);
		sys_mutex_lock(&signing->server->jobs.lock);
		entry_of(signing->zone)->is_signed = true;
		sys_mutex_unlock(&signing->server->jobs.lock);
		uint64_t next_s = signing_next(signing, result);
		signing_log_next(&signing->env, &signing->outcome, next_s);
		if (next_s != 0) {
			signing_plan(signing, next_s, false);
		}
		if (signing->flaw != KNOT_OK) {
			signing_plan_retry(signing);
		}
		if (signing->rolls_after_s != 0) {
			signing_plan(signing, sys_clock_wall() + signing->rolls_after_s, true);
		}
		if (ds_check_is_due(signing->env.policy, &signing->keys.set, signing->env.now_s)) {
			sys_mutex_lock(&signing->server->jobs.lock);
			(void)jobs_ask(&signing->server->jobs, entry_of(signing->zone), EVENT_DS_CHECK, 0);
			sys_mutex_unlock(&signing->server->jobs.lock);
		}
	} else {
		signing_warn_of_failure(signing);
		if (result->earliest_expiration_s != 0) {
			signing_plan(signing, signing_expiry_due(signing, result), true);
		}
	}
	signing_tell_others(signing);
}

/* Signers don't say whose token has failed. */
static void signing_look_for_token(signing_t *signing, knot_err_t err)
{
	if (err == KNOT_PKCS11_ETOKEN || err == KNOT_PKCS11_EPIN || err == KNOT_EPRIVATEKEY || err == KNOT_ENOENT) {
		zone_keys_recheck(&signing->env, &signing->keys);
	}
}

void signing_end(signing_t *take_signing, knot_err_t err, const update_t *update, const update_effects_t *effects)
{
	if (take_signing == NULL) {
		return;
	}
	jobs_stall_t stall;
	server_t *server = take_signing->server;
	jobs_may_stall(&server->jobs, entry_of(take_signing->zone), &stall);
	if (err == KNOT_OK && effects->is_signed) {
		signing_conclude(take_signing, effects);
	} else if (err != KNOT_OK) {
		if (update->has_unsigned) {
			const char *what = take_signing->is_full ? "failed to sign zone content"
								 : "failed to sign changeset";
			signing_look_for_token(take_signing, err);
			signing_log_failure(&take_signing->env, what, err, take_signing->keys.reason);
		}
		signing_plan_retry(take_signing);
	}
	jobs_goes_on(&server->jobs, &stall);
	signing_free(take_signing);
}
