/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/signing_log.h"

#include "libdnssec/algorithm.h"
#include "src/sys/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIME_TEXT_MAX = 40 };

static const char *log_time(uint64_t when_s, char text[static TIME_TEXT_MAX])
{
	time_t when = (time_t)when_s;
	struct tm local;
	if (localtime_r(&when, &local) == NULL || strftime(text, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S%z", &local) == 0) {
		snprintf(text, TIME_TEXT_MAX, "%llu", (unsigned long long)when_s);
	}
	return text;
}

static const char *log_role(bool is_ksk, bool is_zsk)
{
	return is_ksk && is_zsk ? "CSK" : is_ksk ? "KSK" : "ZSK";
}

void signing_log_failure(const zone_keys_env_t *env, const char *what, knot_err_t err, const char *details)
{
	log_zone(LOG_ERR, env->zone, "DNSSEC, %s (%s)%s%s", what, knot_strerror(err), details[0] != '\0' ? ", " : "",
			details);
}

void signing_log_flaw(const zone_keys_env_t *env, const keys_flaw_t *flaw, char *reason)
{
	const char *store = flaw->store;
	snprintf(reason, UPDATE_REASON_MAX, "key %u, private key%s%.200s", flaw->key->tag,
			store[0] != '\0' ? ", keystore " : "", store);
	log_zone(LOG_ERR, env->zone, "DNSSEC, key %u, private key can't be used (%s)%s%s", flaw->key->tag,
			knot_strerror(flaw->err), store[0] != '\0' ? ", keystore " : "", store);
}

void signing_print_behind(uint64_t then_s, uint64_t now_s, char *ret_reason)
{
	char then[TIME_TEXT_MAX], now[TIME_TEXT_MAX];
	snprintf(ret_reason, ZONE_KEYS_REASON_MAX, "the clock is behind: it shows %s, but signatures or keys are of %s",
			log_time(now_s, now), log_time(then_s, then));
}

void signing_log_expired(const zone_keys_env_t *env, uint64_t expired_s, uint64_t hold_s)
{
	char expired[TIME_TEXT_MAX], now[TIME_TEXT_MAX];
	log_zone(LOG_WARNING, env->zone,
			"DNSSEC, signatures had expired at %s, and the clock shows %s, keys are not rolled for %llu "
			"seconds",
			log_time(expired_s, expired), log_time(env->now_s, now), (unsigned long long)hold_s);
}

void signing_log_unusable(const zone_keys_env_t *env, const zone_keys_t *keys, knot_err_t err)
{
	if (keys->set.count == 0) {
		log_zone(LOG_ERR, env->zone, "DNSSEC, no keys are available");
	} else if (err == KNOT_EKEYSET || err == KNOT_ENOSIGNKEYS) {
		log_zone(LOG_ERR, env->zone, "DNSSEC, keys validation failed (%s)", knot_strerror(err));
	} else if (keys->reason[0] != '\0') {
		log_zone(LOG_ERR, env->zone, "DNSSEC, key %u, failed to load private key (%s)%s%s", keys->failed_tag,
				knot_strerror(err), keys->failed_store[0] != '\0' ? ", keystore " : "",
				keys->failed_store);
	}
	signing_log_failure(env, "failed to load keys", err, "");
}

/* ---- Policy ---- */

static void log_lifetimes(const zone_keys_env_t *env, const conf_policy_times_t *times)
{
	const conf_policy_t *policy = env->policy;
	uint64_t shared = 2ull * policy->propagation_delay_s + times->dnskey_ttl_s;
	uint64_t ksk_min = shared + times->dnskey_ttl_s, zsk_min = shared + times->zone_max_ttl_s;
	bool has_csk = policy->is_single_type;
	if (!has_csk && policy->ksk_lifetime_s != 0 && policy->ksk_lifetime_s < ksk_min) {
		log_zone(LOG_WARNING, env->zone,
				"DNSSEC, KSK lifetime too low according to propagation delay and DNSKEY TTL");
	}
	uint32_t lifetime_s = has_csk ? policy->ksk_lifetime_s : times->zsk_lifetime_s;
	if (lifetime_s != 0 && lifetime_s < zsk_min) {
		log_zone(LOG_WARNING, env->zone,
				"DNSSEC, %s lifetime too low according to propagation delay, DNSKEY TTL, and maximum "
				"zone TTL",
				has_csk ? "CSK" : "ZSK");
	}
}

void signing_log_policy(const zone_keys_env_t *env, const conf_policy_times_t *times)
{
	if (times->is_refresh_low) {
		log_zone(LOG_WARNING, env->zone, "RRSIG refresh + pre-refresh higher than RRSIG lifetime");
	}
	if (times->refresh_s < (uint64_t)times->zone_max_ttl_s + env->policy->propagation_delay_s) {
		log_zone(LOG_WARNING, env->zone,
				"DNSSEC, RRSIG refresh lower than maximum zone TTL + propagation delay");
	}
	if (!env->policy->is_manual) {
		log_lifetimes(env, times);
	}
}

/* ---- Keys ---- */

static void log_failed_action(const zone_keys_env_t *env, const keys_note_t *note)
{
	const char *action = note->action == KEYS_DELETE ? "invalid" : keys_kind_name(note->action);
	if (note->tag != 0) {
		log_zone(LOG_WARNING, env->zone, "DNSSEC, key rollover, tag %5u, action %s (%s)", note->tag, action,
				knot_strerror(note->err));
	} else {
		log_zone(LOG_WARNING, env->zone, "DNSSEC, key rollover, action %s (%s)", action,
				knot_strerror(note->err));
	}
}

void signing_log_notes(const zone_keys_env_t *env, const keys_outcome_t *outcome)
{
	static const struct {
		int level;
		const char *text;
		bool has_tag;
	} rows[KEYS_NOTE_COUNT] = {
		[KEYS_NOTE_KSK_STARTED] = { LOG_INFO, "KSK rollover started", false },
		[KEYS_NOTE_ZSK_STARTED] = { LOG_INFO, "ZSK rollover started", false },
		[KEYS_NOTE_ALGORITHM_STARTED] = { LOG_INFO, "algorithm rollover started", false },
		[KEYS_NOTE_SCHEME_STARTED] = { LOG_INFO, "signing scheme rollover started", false },
		[KEYS_NOTE_KSK_IGNORED] = { LOG_WARNING, "ignoring forced KSK rollover due to running rollover",
				false },
		[KEYS_NOTE_ZSK_IGNORED] = { LOG_WARNING, "ignoring forced ZSK rollover due to running rollover",
				false },
		[KEYS_NOTE_MANUAL] = { LOG_NOTICE, "ignoring forced key rollover due to manual policy", false },
		[KEYS_NOTE_CLEARED] = { LOG_NOTICE, "cleared future timers of auto-managed key", true },
		[KEYS_NOTE_CONFLICT] = { LOG_NOTICE, "generated key with conflicting keytag", true },
		[KEYS_NOTE_SUBMISSION] = { LOG_NOTICE, "KSK submission, waiting for confirmation", false },
	};
	for (size_t i = 0; i < outcome->note_count; i++) {
		const keys_note_t *note = &outcome->notes[i];
		if (note->kind == KEYS_NOTE_FAILED) {
			log_failed_action(env, note);
		} else if (note->kind == KEYS_NOTE_SUBMISSION) {
			char field[32]; /* scripts look for it in the journal */
			snprintf(field, sizeof(field), "KEY_SUBMISSION=%u", note->tag);
			sys_log_field(SYS_LOG_ZONE, rows[note->kind].level, env->zone, field, "DNSSEC, %s",
					rows[note->kind].text);
		} else if (rows[note->kind].has_tag) {
			log_zone(rows[note->kind].level, env->zone, "DNSSEC, %s %u", rows[note->kind].text, note->tag);
		} else {
			log_zone(rows[note->kind].level, env->zone, "DNSSEC, %s", rows[note->kind].text);
		}
	}
}

static uint64_t log_key_time(const kasp_key_t *key)
{
	const kasp_times_t *times = &key->times;
	bool has_pre = times->pre_active != 0 && (times->publish == 0 || times->pre_active < times->publish);
	uint64_t when_s = has_pre ? times->pre_active : times->publish;
	return when_s != 0 ? when_s : UINT64_MAX;
}

static void log_key(const zone_keys_env_t *env, const keys_set_t *set, size_t index)
{
	const kasp_key_t *key = &set->keys[index];
	keys_use_t use = keys_use(set->keys, set->count, index, env->now_s);
	const dnssec_algorithm_t *algorithm = dnssec_algorithm_find(key->algorithm);
	char number[8];
	snprintf(number, sizeof(number), "%u", key->algorithm);
	bool is_plus = use.ksk_active_plus || use.zsk_active_plus;
	log_zone(LOG_INFO, env->zone, "DNSSEC, key, tag %5u, algorithm %s%s%s%s%s%s", key->tag,
			algorithm != NULL ? algorithm->name : number,
			key->is_ksk ? (key->is_zsk ? ", CSK" : ", KSK") : "", use.is_public ? ", public" : "",
			use.is_ready ? ", ready" : "", use.is_active ? ", active" : "", is_plus ? ", active+" : "");
}

void signing_log_keys(const zone_keys_env_t *env, const keys_set_t *set)
{
	size_t *order = calloc(set->count + 1, sizeof(*order));
	for (size_t i = 0; order != NULL && i < set->count; i++) {
		size_t at = i;
		for (; at > 0 && log_key_time(&set->keys[order[at - 1]]) > log_key_time(&set->keys[i]); at--) {
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
	for (size_t i = 0; i < set->count; i++) {
		log_key(env, set, order != NULL ? order[i] : i);
	}
	free(order);
}

void signing_log_submitted(const zone_keys_env_t *env, size_t count)
{
	size_t expected = env->policy->cds_publish == CONF_CDS_DOUBLE_DS ? 2 : 1;
	if (count > expected) {
		log_zone(LOG_WARNING, env->zone, "DNSSEC, published CDS/CDNSKEY records for too many (%zu) keys",
				count);
	}
}

/* ---- Offline KSK ---- */

void signing_log_offline(const zone_keys_env_t *env, knot_err_t err, const sign_by_offline_t *offline)
{
	enum { WEEK_S = 7 * 86400 };
	if (err == KNOT_ENOENT) {
		log_zone(LOG_ERR, env->zone, "DNSSEC, no offline KSK records available");
	} else if (err != KNOT_OK) {
		signing_log_failure(env, "failed to load offline KSK records", err, "");
	}
	if (err != KNOT_OK || offline == NULL) {
		return;
	}
	const kasp_offline_set_t *sets = offline->records.sets;
	log_zone(LOG_INFO, env->zone, "DNSSEC, using offline records, DNSKEYs %zu, CDNSKEYs %zu, CDs %zu, RRSIGs %zu",
			sets[KASP_OFFLINE_DNSKEY].count, sets[KASP_OFFLINE_CDNSKEY].count, sets[KASP_OFFLINE_CDS].count,
			sets[KASP_OFFLINE_RRSIG].count);
	if (offline->next_s == 0) {
		log_zone(LOG_WARNING, env->zone,
				"DNSSEC, using last offline KSK records available, import new SKR before RRSIGs "
				"expire");
	} else if (offline->last_s < env->now_s + WEEK_S) {
		log_zone(LOG_NOTICE, env->zone,
				"DNSSEC, having offline KSK records for less than a week, import new SKR");
	}
}

/* ---- Results ---- */

void signing_log_result(const zone_keys_env_t *env, const update_effects_t *effects)
{
	bool is_whole = effects->is_signed_whole;
	if (!effects->is_published || !effects->signing.is_changed) {
		if (is_whole) {
			log_zone(LOG_INFO, env->zone, "DNSSEC, zone is up-to-date");
		}
		return;
	}
	log_zone(LOG_INFO, env->zone, "DNSSEC, %s signed, serial %u, new RRSIGs %llu",
			is_whole ? "successfully" : "incrementally", effects->serial_to,
			(unsigned long long)effects->signing.rrsig_count);
}

void signing_log_next(const zone_keys_env_t *env, const keys_outcome_t *outcome, uint64_t next_s)
{
	char when[TIME_TEXT_MAX];
	const keys_action_t *next = &outcome->next;
	if (next_s == 0) {
		log_zone(LOG_WARNING, env->zone, "DNSSEC, next signing not scheduled");
	} else {
		log_zone(LOG_INFO, env->zone, "DNSSEC, next signing at %s", log_time(next_s, when));
	}
	if (next->kind == KEYS_GENERATE) {
		log_zone(LOG_INFO, env->zone, "DNSSEC, next key action, %s, generate at %s",
				log_role(next->is_ksk, next->is_zsk), log_time(next->due_s, when));
	} else if (next->kind != KEYS_NOTHING && next->kind != KEYS_DELETE) {
		log_zone(LOG_INFO, env->zone, "DNSSEC, next key action, %s tag %u, %s at %s",
				log_role(next->is_ksk, next->is_zsk), next->tag, keys_kind_name(next->kind),
				log_time(next->due_s, when));
	}
}
