/* SPDX-License-Identifier: BSD-2-Clause */
/* trash-list, trash-discard and import-trash: deleted keys whose private keys are still there. */
#include "src/tools/managekeys/keymgr.h"

#include "libknot/base/json.h"
#include "src/keys/trash.h"

#include <stdio.h>
#include <string.h>

/* Of the zone, or of all. */
static knot_err_t trash_read(const keymgr_t *run, keys_trash_t *ret_trash)
{
	const knot_name_t all = { 0 };
	return keys_trash_read(run->kasp, run->subject != NULL ? run->env.zone : all, ret_trash);
}

/* ---- List ---- */

static const conf_keystore_t *trash_find_store(const keymgr_t *run, const keys_trash_item_t *item)
{
	zone_keys_env_t env = keymgr_env_of(run, knot_name_of(item->zone));
	return zone_keys_find_store(&env, item->trash.id);
}

static void trash_print(const keymgr_t *run, const keys_trash_item_t *item, list_times_t times)
{
	char zone[KNOT_NAME_TEXT_MAX], deleted[LIST_TIME_MAX], expires[LIST_TIME_MAX], number[8];
	const kasp_trash_t *trash = &item->trash;
	const dnssec_algorithm_t *algorithm = dnssec_algorithm_find(trash->algorithm);
	(void)knot_name_print(knot_name_of(item->zone), zone);
	keymgr_print_time(trash->deleted_s, run->env.now_s, times, deleted);
	keymgr_print_time(trash->discard_s, run->env.now_s, times, expires);
	snprintf(number, sizeof(number), "%u", trash->algorithm);
	printf("%s%s%s %5u %s %s%s%s deleted=%s expires=%s\n", run->subject == NULL ? zone : "",
			run->subject == NULL ? " " : "", trash->id, trash->tag,
			keymgr_role(trash->is_ksk, trash->is_zsk), algorithm != NULL ? algorithm->name : number,
			trash->is_for_later ? " for-later" : "", trash_find_store(run, item) == NULL ? " missing" : "",
			deleted, expires);
}

static void trash_json_time(
		const keymgr_t *run, knot_json_t *json, const char *name, uint64_t when_s, list_times_t times)
{
	char text[LIST_TIME_MAX];
	if (times == LIST_UNIX) {
		knot_json_uint(json, name, when_s);
	} else {
		keymgr_print_time(when_s, run->env.now_s, times, text);
		knot_json_text(json, name, text);
	}
}

static void trash_json(const keymgr_t *run, const keys_trash_item_t *item, list_times_t times, knot_json_t *json)
{
	char zone[KNOT_NAME_TEXT_MAX];
	const kasp_trash_t *trash = &item->trash;
	(void)knot_name_print(knot_name_of(item->zone), zone);
	knot_json_open(json, NULL, KNOT_JSON_OBJECT, KNOT_JSON_LINES);
	knot_json_text(json, "zone", zone);
	knot_json_text(json, "id", trash->id);
	knot_json_bool(json, "ksk", trash->is_ksk);
	knot_json_bool(json, "zsk", trash->is_zsk);
	knot_json_uint(json, "tag", trash->tag);
	knot_json_uint(json, "algorithm", trash->algorithm);
	knot_json_bool(json, "for-later", trash->is_for_later);
	knot_json_bool(json, "missing", trash_find_store(run, item) == NULL);
	trash_json_time(run, json, "deleted", trash->deleted_s, times);
	trash_json_time(run, json, "expires", trash->discard_s, times);
	knot_json_close(json);
}

done_t keymgr_run_trash_list(const keymgr_t *run)
{
	keys_trash_t trash;
	list_times_t times = keymgr_times_of(run->argument_count > 0 ? run->arguments[0] : "");
	knot_err_t err = trash_read(run, &trash);
	if (err != KNOT_OK) {
		return keymgr_done(err);
	}
	knot_json_t json = knot_json_of(knot_json_to_file, stdout);
	bool is_json = run->is_json;
	if (is_json) {
		knot_json_open(&json, NULL, KNOT_JSON_LIST, KNOT_JSON_LINES);
	}
	for (size_t i = 0; i < trash.count; i++) {
		if (is_json) {
			trash_json(run, &trash.items[i], times, &json);
		} else {
			trash_print(run, &trash.items[i], times);
		}
	}
	if (is_json) {
		knot_json_close(&json);
		err = knot_json_end(&json) ? KNOT_OK : KNOT_EFILE;
	}
	keys_trash_done(&trash);
	return keymgr_shown(err);
}

/* ---- Discard ---- */

done_t keymgr_run_trash_discard(const keymgr_t *run)
{
	keys_trash_t trash;
	if (run->argument_count == 0) {
		return keymgr_refuse("Key ID not specified");
	}
	const char *id = run->arguments[0];
	bool is_all = strcmp(id, "-") == 0 || strcmp(id, "--") == 0, is_found = is_all;
	knot_err_t err = trash_read(run, &trash);
	for (size_t i = 0; i < trash.count && err == KNOT_OK; i++) {
		if (is_all || strcmp(trash.items[i].trash.id, id) == 0) {
			const conf_keystore_t *failed;
			zone_keys_env_t env = keymgr_env_of(run, knot_name_of(trash.items[i].zone));
			err = keys_trash_discard(&env, trash.items[i].trash.id, &failed);
			is_found = true;
		}
	}
	keys_trash_done(&trash);
	return keymgr_done(err == KNOT_OK && !is_found ? KNOT_CONF_ENOTEXIST : err);
}

/* ---- Taking back ---- */

/* Warn of keystores of other zones that have the key. */
static void trash_look_elsewhere(const keymgr_t *run, const char *id)
{
	const conf_keystore_t *conf;
	for (size_t i = 0; (conf = conf_keystore_at(run->conf, i)) != NULL; i++) {
		dnssec_store_t *store;
		if (zone_keys_open_store(&run->env, conf, &store) != KNOT_OK) {
			continue;
		}
		if (dnssec_store_has(store, id)) {
			fprintf(stderr, "warning: key %s, stored in another keystore %s\n", id,
					conf->id[0] != '\0' ? conf->id : "default");
		}
		dnssec_store_close(store);
	}
}

/* The key with its public part, which only the keystore has now. */
static knot_err_t trash_find_key(
		const keymgr_t *run, const kasp_trash_t *trash, const attributes_t *attributes, dnssec_key_t **ret_key)
{
	const conf_keystore_t *conf = zone_keys_find_store(&run->env, trash->id);
	dnssec_store_t *store;
	if (conf == NULL) {
		trash_look_elsewhere(run, trash->id);
		return KNOT_ENOKEYSTORE;
	}
	knot_err_t err = zone_keys_open_store(&run->env, conf, &store);
	if (err == KNOT_OK) {
		bool has_adt = attributes->has_adt ? attributes->is_adt : run->env.policy->has_adt;
		err = dnssec_store_find(store, trash->id, trash->algorithm,
				keymgr_flags(attributes, trash->is_ksk, has_adt), ret_key);
		dnssec_store_close(store);
	}
	return err;
}

static knot_err_t trash_take_back(const keymgr_t *run, const kasp_trash_t *trash, const attributes_t *attributes)
{
	dnssec_key_t *found;
	kasp_key_t key = { .is_ksk = trash->is_ksk,
		.is_zsk = trash->is_zsk,
		.times = { .publish = run->env.now_s, .active = run->env.now_s } };
	attributes_t taken = *attributes;
	taken.is_for_later = attributes->has_for_later ? attributes->is_for_later : trash->is_for_later;
	memcpy(key.id, trash->id, sizeof(key.id));
	knot_err_t err = keymgr_time_key(&taken, &key);
	err = err == KNOT_OK ? trash_find_key(run, trash, attributes, &found) : err;
	if (err == KNOT_OK) {
		err = keymgr_put_found(run, found, &key); /* and the note goes */
		dnssec_key_free(found);
	}
	return err;
}

done_t keymgr_run_import_trash(const keymgr_t *run)
{
	attributes_t attributes;
	keys_trash_t trash;
	if (run->argument_count == 0) {
		return keymgr_refuse("Key ID to re-import not specified");
	}
	if (!keymgr_read_attributes(run, 1, false, &attributes)) {
		return keymgr_done(KNOT_EPARAM);
	}
	knot_err_t err = keys_trash_read(run->kasp, (knot_name_t){ 0 }, &trash);
	size_t i = 0;
	while (err == KNOT_OK && i < trash.count && strcmp(trash.items[i].trash.id, run->arguments[0]) != 0) {
		i++;
	}
	if (err == KNOT_OK) {
		err = i < trash.count ? trash_take_back(run, &trash.items[i].trash, &attributes) : KNOT_CONF_ENOTEXIST;
	}
	keys_trash_done(&trash);
	return keymgr_done(err);
}
