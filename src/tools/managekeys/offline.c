/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for a key-signing key that is kept on another machine: keys in advance, requests, responses. */
#include "src/kasp/offline_text.h"
#include "src/sign/offline.h"
#include "src/tools/managekeys/keymgr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char ksr_keyword[] = "KeySigningRequest", ksr_head[] = ";; KeySigningRequest 1.0 ";
static const char skr_keyword[] = "SignedKeyResponse", skr_head[] = ";; SignedKeyResponse 1.0 ";
static const char program[] = PACKAGE_STRING;

/* ---- Arguments ---- */

static bool offline_read_time(const keymgr_t *run, size_t index, uint64_t *ret_s)
{
	return attributes_read_time(run->arguments[index], run->env.now_s, ret_s) ||
	       keymgr_complain("invalid timestamp: %s", run->arguments[index]);
}

typedef struct {
	uint64_t from_s, to_s;
} offline_range_t;

/* "[from] to", where `from` has a default. */
static knot_err_t offline_read_range(const keymgr_t *run, offline_range_t *range)
{
	bool has_from = run->argument_count > 1;
	bool is_good = (!has_from || offline_read_time(run, 0, &range->from_s)) &&
		       offline_read_time(run, has_from ? 1 : 0, &range->to_s);
	return is_good ? KNOT_OK : KNOT_EPARAM;
}

static knot_err_t offline_check_policy(const keymgr_t *run)
{
	if (run->env.policy->is_offline_ksk && run->env.policy->is_manual) {
		return KNOT_OK;
	}
	(void)keymgr_complain("offline-ksk and manual must be enabled in configuration");
	return KNOT_ESEMCHECK;
}

/* The times that the policy says; false: it says not enough to make records without the zone. */
static bool offline_find_times(const keymgr_t *run, conf_policy_times_t *ret_times)
{
	const conf_policy_t *policy = run->env.policy;
	*ret_times = conf_policy_times(policy, run->env.zone, 0, 0);
	return policy->dnskey_ttl_s != CONF_POLICY_UNSET && policy->zone_max_ttl_s != CONF_POLICY_UNSET;
}

static knot_err_t offline_get_times(const keymgr_t *run, conf_policy_times_t *ret_times)
{
	if (offline_find_times(run, ret_times)) {
		return KNOT_OK;
	}
	(void)keymgr_complain("dnskey-ttl or zone-max-ttl not configured");
	return KNOT_ESEMCHECK;
}

/* ---- Files ---- */

static knot_err_t offline_read_file(const char *path, char **ret_text, size_t *ret_len)
{
	enum { FILE_MAX = 256 << 20, PART_LEN = 65536 };
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t len = 0, part = 1;
	if (file == NULL) {
		return KNOT_EFILE;
	}
	while (part > 0 && len < FILE_MAX) {
		char *grown = realloc(text, len + PART_LEN);
		if (grown == NULL) {
			break;
		}
		text = grown;
		part = fread(text + len, 1, PART_LEN, file);
		len += part;
	}
	bool is_good = part == 0 && !ferror(file);
	fclose(file);
	if (!is_good) {
		free(text);
		return KNOT_EFILE;
	}
	*ret_text = text;
	*ret_len = len;
	return KNOT_OK;
}

/* Complains where the file is wrong. */
static knot_err_t offline_load_file(const keymgr_t *run, const char *keyword, kasp_offline_file_t *ret_file)
{
	char *text;
	size_t len;
	uint64_t line = 0;
	knot_err_t err = offline_read_file(run->arguments[0], &text, &len);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_offline_parse((knot_str_t){ text, len }, keyword, run->env.zone, ret_file, &line);
	free(text);
	if (err == KNOT_EMALF) {
		(void)keymgr_complain("file '%s', line %" PRIu64 ", not a whole %s", run->arguments[0], line, keyword);
	}
	return err;
}

/* ---- Keys in advance ---- */

static knot_err_t offline_step(zone_keys_env_t *env, const conf_policy_times_t *times, uint64_t *ret_next_s)
{
	zone_keys_t keys;
	keys_outcome_t outcome;
	knot_err_t err = zone_keys_load(env, &keys);
	if (err != KNOT_OK) {
		return err;
	}
	err = zone_keys_roll(env, &keys, times, ZONE_KEYS_IN_ADVANCE, &outcome);
	err = err == KNOT_OK && (outcome.is_changed || !keys.has_ttls) ? zone_keys_save(env, &keys, times, &outcome)
								       : err;
	zone_keys_done(&keys);
	if (err == KNOT_OK) {
		*ret_next_s = outcome.next.kind != KEYS_NOTHING && outcome.next.due_s > env->now_s ? outcome.next.due_s
												   : 0;
	}
	return err;
}

done_t keymgr_run_pregenerate(const keymgr_t *run)
{
	offline_range_t range = { .from_s = run->env.now_s };
	conf_policy_times_t times;
	if (run->argument_count == 0) {
		return keymgr_refuse("Timestamp to not specified");
	}
	knot_err_t err = offline_read_range(run, &range);
	err = err == KNOT_OK ? offline_get_times(run, &times) : err;
	zone_keys_env_t env = run->env;
	for (uint64_t at_s = range.from_s; err == KNOT_OK && at_s != 0 && at_s <= range.to_s;) {
		env.now_s = at_s;
		err = offline_step(&env, &times, &at_s);
		if (err != KNOT_OK) {
			(void)keymgr_complain("key rollover failed");
		}
	}
	return keymgr_done(err);
}

/* ---- Requests ---- */

static bool offline_is_zsk(const kasp_key_t *key)
{
	return key->is_zsk && !key->is_ksk;
}

/* The next time after `at_s` at which a timer of a key passes; 0: none. */
static uint64_t offline_next_timer(const keys_set_t *set, bool (*counts)(const kasp_key_t *key), uint64_t at_s)
{
	size_t count;
	uint64_t next_s = 0;
	const attributes_time_t *timers = attributes_times(&count);
	for (size_t i = 0; i < set->count; i++) {
		for (size_t j = 0; counts(&set->keys[i]) && j < count; j++) {
			uint64_t when_s = attributes_time(&set->keys[i].times, &timers[j]);
			bool is_created = strcmp(timers[j].name, "created") == 0;
			if (!is_created && when_s > at_s && (next_s == 0 || when_s < next_s)) {
				next_s = when_s;
			}
		}
	}
	return next_s;
}

/* The DNSKEYs that are in the zone then. */
static knot_err_t offline_add_keys(const keys_set_t *set, bool (*counts)(const kasp_key_t *key), uint64_t at_s,
		uint32_t ttl_s, kasp_offline_t *offline)
{
	uint8_t rdata[DNSSEC_KEY_RDATA_MAX];
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < set->count && err == KNOT_OK; i++) {
		keys_use_t use = keys_use(set->keys, set->count, i, at_s);
		if (counts(&set->keys[i]) && use.is_public) {
			size_t len = keys_dnskey(&set->keys[i], use.is_revoked, rdata);
			err = kasp_offline_add(offline, KNOT_TYPE_DNSKEY, ttl_s, (knot_bytes_t){ rdata, len });
		}
	}
	return err;
}

static knot_err_t offline_print_request(const keymgr_t *run, const keys_set_t *set, uint64_t at_s, uint32_t ttl_s)
{
	kasp_offline_t offline = { 0 };
	knot_err_t err = offline_add_keys(set, offline_is_zsk, at_s, ttl_s, &offline);
	if (err == KNOT_OK && offline.sets[KASP_OFFLINE_DNSKEY].count == 0) {
		err = KNOT_ENOSIGNKEYS;
	}
	if (err == KNOT_OK) {
		kasp_offline_print(ksr_head, at_s, &offline, run->env.zone, stdout);
	}
	kasp_offline_done(&offline);
	return err;
}

static bool offline_note_last(uint64_t when_s, void *ctx)
{
	*(uint64_t *)ctx = when_s;
	return true;
}

/* Where the last response ends, else now. */
static knot_err_t offline_find_last(const keymgr_t *run, uint64_t *ret_s)
{
	kasp_txn_t *txn;
	uint64_t last_s = run->env.now_s;
	knot_err_t err = kasp_begin(run->kasp, false, &txn);
	if (err == KNOT_OK) {
		err = kasp_each_offline(txn, run->env.zone, offline_note_last, &last_s);
		kasp_abort(txn);
	}
	*ret_s = last_s;
	return err;
}

done_t keymgr_run_generate_ksr(const keymgr_t *run)
{
	offline_range_t range = { 0 };
	conf_policy_times_t times;
	keys_set_t set = { .count = 0 };
	if (run->argument_count == 0) {
		return keymgr_refuse("Timestamps to not specified");
	}
	knot_err_t err = offline_check_policy(run);
	err = err == KNOT_OK ? offline_find_last(run, &range.from_s) : err;
	err = err == KNOT_OK ? offline_read_range(run, &range) : err;
	err = err == KNOT_OK ? offline_get_times(run, &times) : err;
	err = err == KNOT_OK ? keymgr_read_keys(run->kasp, run->env.zone, &set) : err;
	uint64_t at_s = range.from_s;
	while (err == KNOT_OK && at_s != 0 && at_s < range.to_s) {
		err = offline_print_request(run, &set, at_s, times.dnskey_ttl_s);
		at_s = offline_next_timer(&set, offline_is_zsk, at_s);
	}
	err = err == KNOT_OK ? offline_print_request(run, &set, range.to_s, times.dnskey_ttl_s) : err;
	if (err == KNOT_OK) {
		kasp_offline_print_end(ksr_head, run->env.now_s, program, stdout);
	}
	keys_set_done(&set);
	return keymgr_shown(err);
}

/* ---- Responses ---- */

static bool offline_is_ksk(const kasp_key_t *key)
{
	return key->is_ksk;
}

static knot_err_t offline_add_all(const keys_rdatas_t *from, uint16_t type, uint32_t ttl_s, kasp_offline_t *offline)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < from->count && err == KNOT_OK; i++) {
		err = kasp_offline_add(offline, type, ttl_s, from->rdatas[i]);
	}
	return err;
}

/* Our keys as they are then, and those of the request. */
static knot_err_t offline_compose(const keymgr_t *run, const zone_keys_t *keys, uint64_t at_s,
		const kasp_offline_set_t *requested, kasp_offline_t *offline)
{
	enum { CDS_TTL_S = 0 };
	keys_records_t records;
	uint32_t ttl_s = requested->rrs[0].ttl;
	knot_err_t err = keys_records_make(
			keys->set.keys, keys->set.count, run->env.policy, run->env.zone, at_s, &records);
	for (size_t i = 0; i < requested->count && err == KNOT_OK; i++) {
		err = kasp_offline_add(offline, KNOT_TYPE_DNSKEY, ttl_s, requested->rrs[i].rdata);
	}
	err = err == KNOT_OK ? offline_add_keys(&keys->set, offline_is_ksk, at_s, ttl_s, offline) : err;
	err = err == KNOT_OK ? offline_add_all(&records.cdnskey, KNOT_TYPE_CDNSKEY, CDS_TTL_S, offline) : err;
	err = err == KNOT_OK ? offline_add_all(&records.cds, KNOT_TYPE_CDS, CDS_TTL_S, offline) : err;
	keys_records_done(&records);
	return err;
}

/* Our keys that sign keys then. */
static knot_err_t offline_list_keys(
		const keymgr_t *run, zone_keys_t *keys, uint64_t at_s, sign_key_t *ret_keys, size_t *ret_count)
{
	zone_keys_env_t env = run->env;
	size_t count = 0;
	env.now_s = at_s;
	knot_err_t err = zone_keys_open_ksks(&env, keys);
	for (size_t i = 0; i < keys->opened_count && err == KNOT_OK; i++) {
		if (keys->opened[i] != NULL) {
			ret_keys[count++] = (sign_key_t){ .key = keys->opened[i], .signs_keys = true };
		}
	}
	*ret_count = count;
	return err == KNOT_OK && count == 0 ? KNOT_ENOSIGNKEYS : err;
}

static knot_err_t offline_print_response(
		const keymgr_t *run, zone_keys_t *keys, uint64_t at_s, const kasp_offline_set_t *requested)
{
	kasp_offline_t offline = { 0 };
	sign_key_t *list = calloc(keys->set.count + 1, sizeof(*list));
	if (list == NULL) {
		return KNOT_ENOMEM;
	}
	sign_plan_t plan = { .keys = list,
		.now_s = at_s,
		.lifetime_s = run->env.policy->rrsig_lifetime_s,
		.is_reproducible = run->env.policy->is_reproducible };
	knot_err_t err = offline_list_keys(run, keys, at_s, list, &plan.key_count);
	err = err == KNOT_OK ? offline_compose(run, keys, at_s, requested, &offline) : err;
	err = err == KNOT_OK ? sign_offline(run->env.zone, &plan, &offline) : err;
	if (err == KNOT_OK) {
		kasp_offline_print(skr_head, at_s, &offline, run->env.zone, stdout);
	}
	kasp_offline_done(&offline);
	free(list);
	return err;
}

/* When signatures made at a time are renewed. */
static uint64_t offline_renewal(const keymgr_t *run, uint64_t at_s)
{
	const conf_policy_t *policy = run->env.policy;
	uint64_t ttl_s = policy->dnskey_ttl_s != CONF_POLICY_UNSET ? (uint64_t)policy->dnskey_ttl_s : 0;
	uint64_t before_s = policy->rrsig_refresh_s != CONF_POLICY_UNSET ? (uint64_t)policy->rrsig_refresh_s
									 : ttl_s + policy->propagation_delay_s;
	return policy->rrsig_lifetime_s > before_s ? at_s + policy->rrsig_lifetime_s - before_s : 0;
}

/* A section, and those that follow before the next one (at next_s; 0: it is the last one). */
static knot_err_t offline_answer(
		const keymgr_t *run, zone_keys_t *keys, const kasp_offline_section_t *section, uint64_t next_s)
{
	const kasp_offline_set_t *requested = &section->records.sets[KASP_OFFLINE_DNSKEY];
	knot_err_t err = requested->count > 0 ? KNOT_OK : KNOT_EMALF;
	uint64_t at_s = section->when_s;
	do {
		err = err == KNOT_OK ? offline_print_response(run, keys, at_s, requested) : err;
		uint64_t timer_s = offline_next_timer(&keys->set, offline_is_ksk, at_s);
		uint64_t renewal_s = offline_renewal(run, at_s);
		at_s = timer_s != 0 && (renewal_s == 0 || timer_s < renewal_s) ? timer_s : renewal_s;
	} while (err == KNOT_OK && at_s != 0 && at_s < next_s);
	return err;
}

done_t keymgr_run_sign_ksr(const keymgr_t *run)
{
	kasp_offline_file_t file = { .count = 0 };
	zone_keys_t keys = { .set = { .count = 0 } };
	if (run->argument_count == 0) {
		return keymgr_refuse("Input file not specified");
	}
	knot_err_t err = offline_check_policy(run);
	err = err == KNOT_OK ? offline_load_file(run, ksr_keyword, &file) : err;
	err = err == KNOT_OK ? zone_keys_load(&run->env, &keys) : err;
	for (size_t i = 0; i < file.count && err == KNOT_OK; i++) {
		err = offline_answer(
				run, &keys, &file.sections[i], i + 1 < file.count ? file.sections[i + 1].when_s : 0);
	}
	if (err == KNOT_OK) {
		kasp_offline_print_end(skr_head, run->env.now_s, program, stdout);
	} else if (keys.reason[0] != '\0') {
		(void)keymgr_complain("%s", keys.reason);
	}
	zone_keys_done(&keys);
	kasp_offline_file_done(&file);
	return keymgr_shown(err);
}

static knot_err_t offline_check_section(const keymgr_t *run, const kasp_offline_file_t *file, size_t index)
{
	uint64_t next_s = index + 1 < file->count ? file->sections[index + 1].when_s : 0;
	return sign_offline_check(run->env.zone, &file->sections[index].records, file->sections[index].when_s, next_s);
}

done_t keymgr_run_validate_skr(const keymgr_t *run)
{
	kasp_offline_file_t file = { .count = 0 };
	if (run->argument_count == 0) {
		return keymgr_refuse("Input file not specified");
	}
	knot_err_t err = offline_load_file(run, skr_keyword, &file);
	for (size_t i = 0; i < file.count && err == KNOT_OK; i++) {
		knot_err_t fault = offline_check_section(run, &file, i);
		if (fault != KNOT_OK) {
			(void)keymgr_complain("invalid SignedKeyResponse for %" PRIu64 " (%s)", file.sections[i].when_s,
					knot_strerror(fault));
		}
	}
	kasp_offline_file_done(&file);
	return keymgr_done(err);
}

/* ---- What is stored ---- */

typedef struct {
	uint64_t *times; /* owned */
	size_t count;
	knot_err_t err;
} offline_times_t;

static bool offline_take_time(uint64_t when_s, void *ctx)
{
	offline_times_t *all = ctx;
	uint64_t *grown = realloc(all->times, (all->count + 1) * sizeof(*grown));
	if (grown == NULL) {
		all->err = KNOT_ENOMEM;
		return false;
	}
	all->times = grown;
	grown[all->count++] = when_s;
	return true;
}

/* The times of all sets. Free them, also on an error. */
static knot_err_t offline_list_times(const keymgr_t *run, kasp_txn_t *txn, offline_times_t *ret_times)
{
	*ret_times = (offline_times_t){ .count = 0 };
	knot_err_t err = kasp_each_offline(txn, run->env.zone, offline_take_time, ret_times);
	return err == KNOT_OK ? ret_times->err : err;
}

static knot_err_t offline_drop(const keymgr_t *run, kasp_txn_t *txn, const offline_range_t *range)
{
	offline_times_t all;
	knot_err_t err = offline_list_times(run, txn, &all);
	for (size_t i = 0; i < all.count && err == KNOT_OK; i++) {
		if (all.times[i] >= range->from_s && all.times[i] <= range->to_s) {
			err = kasp_drop_offline(txn, run->env.zone, all.times[i]);
		}
	}
	free(all.times);
	return err;
}

static knot_err_t offline_end(kasp_txn_t *txn, knot_err_t err)
{
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

static knot_err_t offline_store(const keymgr_t *run, const kasp_offline_file_t *file)
{
	kasp_txn_t *txn;
	knot_err_t err = kasp_begin(run->kasp, true, &txn);
	if (err != KNOT_OK || file->count == 0) {
		return err == KNOT_OK ? offline_end(txn, KNOT_OK) : err;
	}
	err = offline_drop(run, txn, &(offline_range_t){ file->sections[0].when_s, UINT64_MAX });
	for (size_t i = 0; i < file->count && err == KNOT_OK; i++) {
		err = kasp_put_offline(txn, run->env.zone, file->sections[i].when_s, &file->sections[i].records);
	}
	return offline_end(txn, err);
}

done_t keymgr_run_import_skr(const keymgr_t *run)
{
	kasp_offline_file_t file = { .count = 0 };
	if (run->argument_count == 0) {
		return keymgr_refuse("Input file not specified");
	}
	knot_err_t err = offline_check_policy(run);
	err = err == KNOT_OK ? offline_load_file(run, skr_keyword, &file) : err;
	for (size_t i = 0; i < file.count && err == KNOT_OK; i++) {
		err = offline_check_section(run, &file, i);
	}
	err = err == KNOT_OK ? offline_store(run, &file) : err;
	kasp_offline_file_done(&file);
	return keymgr_done(err);
}

static knot_err_t offline_show_one(const keymgr_t *run, kasp_txn_t *txn, uint64_t stored_s, uint64_t shown_s)
{
	kasp_offline_t offline;
	knot_err_t err = kasp_get_offline(txn, run->env.zone, stored_s, &offline);
	if (err == KNOT_OK) {
		kasp_offline_print(";; Offline records for ", shown_s, &offline, run->env.zone, stdout);
		kasp_offline_done(&offline);
	}
	return err;
}

/* From the one that holds at `from` on. */
static knot_err_t offline_show(const keymgr_t *run, const offline_range_t *range)
{
	kasp_txn_t *txn;
	offline_times_t all = { .count = 0 };
	knot_err_t err = kasp_begin(run->kasp, false, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = offline_list_times(run, txn, &all);
	for (size_t i = 0; i < all.count && err == KNOT_OK && all.times[i] <= range->to_s; i++) {
		bool is_over = i + 1 < all.count && all.times[i + 1] <= range->from_s;
		uint64_t shown_s = all.times[i] > range->from_s ? all.times[i] : range->from_s;
		err = is_over ? KNOT_OK : offline_show_one(run, txn, all.times[i], shown_s);
	}
	free(all.times);
	kasp_abort(txn);
	return err;
}

done_t keymgr_run_show_offline(const keymgr_t *run)
{
	offline_range_t range = { .from_s = 0, .to_s = UINT64_MAX };
	bool is_good = (run->argument_count < 1 || offline_read_time(run, 0, &range.from_s)) &&
		       (run->argument_count < 2 || offline_read_time(run, 1, &range.to_s));
	return keymgr_shown(is_good ? offline_show(run, &range) : KNOT_EPARAM);
}

done_t keymgr_run_del_offline(const keymgr_t *run)
{
	offline_range_t range;
	kasp_txn_t *txn;
	if (run->argument_count < 2) {
		return keymgr_refuse("Timestamps from-to not specified");
	}
	knot_err_t err = offline_read_range(run, &range);
	err = err == KNOT_OK ? kasp_begin(run->kasp, true, &txn) : err;
	return keymgr_done(err == KNOT_OK ? offline_end(txn, offline_drop(run, txn, &range)) : err);
}
