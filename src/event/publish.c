/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/publish.h"

#include "src/event/derive_zone.h"
#include "src/event/external.h"
#include "src/event/signing.h"
#include "src/event/validating.h"
#include "src/sys/dbus.h"
#include "src/sys/log.h"
#include "src/update/serial.h"

#include <stdio.h>

static void publish_contents(zone_t *zone, zone_contents_t *take_contents)
{
	zone_contents_t *old = zone_publish(zone, take_contents);
	if (old != NULL) {
		sys_rcu_wait();
		zone_contents_free(old);
	}
}

static void publish_step(zone_contents_t *take_contents, void *ctx)
{
	publish_t *publish = ctx;
	source_clear(publish->source);
	*publish->source = publish->next;
	publish->next = (load_source_t){ 0 };
	derived_news_t *news = derived_compare(publish->server, zone_name(publish->zone), publish->from,
			zone_contents(publish->zone), take_contents);
	publish_contents(publish->zone, take_contents);
	derived_tell(publish->server, news);
}

/*
 * An image is the version that the changes after its serial lead on from. If a serial is given a second time, as by the
 * transfer of another zone, the image of the first one must not be there. Neither must the changes that lead to it,
 * where the new version comes without any (a note).
 */
static knot_err_t publish_guard_serial(const publish_t *publish, const update_record_t *record)
{
	size_t removed;
	if (!record->has_base || update_serial_is_newer(record->serial_to, record->serial_from)) {
		return KNOT_OK;
	}
	knot_err_t err = images_remove(publish->images, &record->origin, 1, &removed);
	bool is_note = !record->is_whole && record->payload.len == 0;
	return err == KNOT_OK && is_note ? changes_drop(publish->store.journal, record->origin) : err;
}

/* The image, and what is being saved as the next one: a start goes on from there. */
static size_t publish_borders(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	const publish_t *publish = ctx;
	return images_serials(publish->images, zone_name(publish->zone), ret_serials);
}

/* What the journal has doesn't lead to the version that is published, and changes of that must find a place. */
static void publish_go_unstored(const publish_t *publish, const update_record_t *record, knot_err_t err)
{
	if (record->is_whole || record->payload.len > 0) {
		log_zone(LOG_WARNING, record->origin, "failed to write %s (%s)",
				record->is_whole ? "zone-in-journal" : "changes to journal", knot_strerror(err));
		/* It logs a failure, which makes later changes fail, too. */
		knot_err_t drop_err = changes_drop(publish->store.journal, record->origin);
		(void)drop_err;
	} else {
		log_zone(LOG_WARNING, record->origin, "failed to note the new version in the journal (%s)",
				knot_strerror(err));
	}
}

static knot_err_t publish_store(const update_record_t *record, char *reason, void *ctx)
{
	publish_t *publish = ctx;
	knot_err_t err = publish_guard_serial(publish, record);
	publish->store.limits.borders = publish_borders;
	publish->store.limits.borders_ctx = publish;
	err = err == KNOT_OK ? changes_store(&publish->store, record, reason) : err;
	publish->has_stored = err == KNOT_OK;
	publish->is_not_stored = err != KNOT_OK;
	bool is_small = record->is_whole || record->payload.len == 0;
	if (err != KNOT_OK && ((publish->may_go_unstored && is_small) || publish->may_step_unstored)) {
		publish_go_unstored(publish, record, err);
		return KNOT_OK;
	}
	if (record->may_be_whole && (err == KNOT_ESEMCHECK || err == KNOT_EMALF)) {
		log_zone(LOG_NOTICE, record->origin,
				"storing the whole zone to journal, as it doesn't lead to serial %u",
				record->serial_to);
	} else if (err != KNOT_OK) {
		log_zone(LOG_ERR, record->origin, "journal update failed (%s)", knot_strerror(err));
	}
	return err;
}

static void publish_log_override(knot_name_t origin, const char *who, const char *rail)
{
	log_zone(LOG_NOTICE, origin, "guard rail overridden by force%s%s (%s)", who[0] != '\0' ? ", by " : "", who,
			rail);
}

/* A rail that was broken: why nothing is published, or why the version is published all the same. */
static void publish_log_rail(const update_t *update, knot_err_t err, const update_effects_t *effects)
{
	if (err == KNOT_EGUARDRAIL) {
		log_zone(LOG_ERR, update->origin, "guard rail, new version not published (%s), force overrides",
				update->reason != NULL ? update->reason : "");
	} else if (effects->rail[0] != '\0' && update->is_forced) {
		publish_log_override(update->origin, update->who, effects->rail);
	} else if (effects->rail[0] != '\0') {
		log_zone(LOG_WARNING, update->origin, "guard rail broken, but nothing was served before (%s)",
				effects->rail);
	}
}

/* Keys of which caches know too little, or too much. Where nothing is served, any version is better. */
static knot_err_t publish_inspect_keys(const publish_t *publish, const zone_contents_t *next)
{
	char rail[UPDATE_REASON_MAX] = "";
	knot_err_t err = signing_check_keys(publish->signing, zone_contents(publish->zone), next, rail);
	if (err == KNOT_EGUARDRAIL && (publish->is_forced || (publish->how & EVENT_MENDS) != 0)) {
		publish_log_override(zone_name(publish->zone), publish->who, rail);
		return KNOT_OK;
	}
	if (err == KNOT_EGUARDRAIL) {
		snprintf(publish->reason, UPDATE_REASON_MAX, "%s", rail);
	}
	return err;
}

static knot_err_t publish_inspect(const zone_contents_t *base, const zone_contents_t *next, void *ctx)
{
	publish_t *publish = ctx;
	knot_err_t keys_err = publish_inspect_keys(publish, next);
	if (keys_err != KNOT_OK) {
		return keys_err;
	}
	if (publish->outside != NULL) {
		knot_err_t err = external_ask(publish->outside, publish->zone, base, next, publish->reason);
		if (err != KNOT_OK) {
			return err;
		}
	}
	if (publish->catalogs == NULL) {
		return KNOT_OK;
	}
	catalogs_drop(publish->said);
	publish->said = NULL;
	return catalogs_read(zone_name(publish->zone), base, next, &publish->said);
}

static void publish_log_zonemd(knot_name_t origin, knot_err_t err, void *ctx)
{
	(void)ctx;
	if (err == KNOT_OK) {
		log_zone(LOG_INFO, origin, "ZONEMD, verification successful");
	} else {
		log_zone(LOG_ERR, origin, "ZONEMD, verification failed (%s)", knot_strerror(err));
	}
}

/* Sources of which nothing is known, versions that are new as a whole, and those that aren't signed yet. */
static knot_err_t publish_begin_signing(
		const publish_t *publish, const update_t *update, const zone_contents_t *base, signing_t **ret_signing)
{
	bool is_file = update->source == UPDATE_FILE;
	bool is_known = update->txn != NULL && base != NULL && base->is_signed;
	const signing_ask_t ask = { .server = publish->server,
		.zone = publish->zone,
		.like = update->txn != NULL ? base : update->next,
		.is_of_served = update->txn != NULL && base != NULL && base == zone_contents(publish->zone),
		.is_full = !is_known || is_file || update->source == UPDATE_SIGNER,
		.is_whole = update->txn == NULL,
		.steps_serial = is_file,
		.is_forced = update->is_forced,
		.how = publish->how };
	*ret_signing = NULL;
	return publish->is_unsigned ? KNOT_OK : signing_begin(&ask, publish->reason, ret_signing);
}

/* Whose signatures the new version has is known again when it is signed. */
static void publish_distrust(const publish_t *publish)
{
	sys_mutex_lock(&publish->server->jobs.lock);
	entry_of(publish->zone)->is_signed = false;
	sys_mutex_unlock(&publish->server->jobs.lock);
}

static knot_err_t publish_commit(publish_t *publish, update_t *update, const zone_contents_t *base,
		const update_policy_t *policy, update_effects_t *ret_effects)
{
	const update_env_t env = { .on_zonemd = publish_log_zonemd,
		.inspect = publish_inspect,
		.store = publish_store,
		.publish = publish_step,
		.ctx = publish };
	signing_t *signing;
	*ret_effects = (update_effects_t){ 0 };
	knot_err_t err = publish_begin_signing(publish, update, base, &signing);
	if (err != KNOT_OK) {
		publish->is_not_signed = true;
		return err;
	}
	update_policy_t full_policy = *policy;
	publish->signing = signing;
	const validating_t validating = validating_begin(publish->server, publish->zone, update, base);
	full_policy.signing = signing_of(signing);
	full_policy.proof = validating.is_wanted && !publish->is_known ? &validating.proof : NULL;
	jobs_stall_t stall;
	bool may_stall = signing_may_stall(signing);
	if (may_stall) {
		jobs_may_stall(&publish->server->jobs, entry_of(publish->zone), &stall);
	}
	err = update_commit(update, base, &full_policy, &env, ret_effects);
	if (may_stall) {
		jobs_goes_on(&publish->server->jobs, &stall);
	}
	if (err == KNOT_OK && signing == NULL && ret_effects->is_published) {
		publish_distrust(publish);
	}
	bool is_unproven = update->proof.is_done && update->proof.err == err;
	publish->is_not_signed = err != KNOT_OK && signing != NULL && (update->has_unsigned || is_unproven);
	publish->flaw = err == KNOT_OK && publish->from == UPDATE_SIGNER ? signing_flaw(signing, publish->reason)
									 : KNOT_OK;
	validating_end(&validating, err, update);
	signing_end(signing, err, update, ret_effects);
	publish->signing = NULL;
	return err;
}

knot_err_t publish_update(publish_t *publish, update_t *update, const zone_contents_t *base,
		const update_policy_t *policy, update_effects_t *ret_effects)
{
	char unused[UPDATE_REASON_MAX];
	publish->reason = update->reason != NULL ? update->reason : unused;
	publish->from = update->source;
	publish->is_forced = update->is_forced;
	publish->who = update->who;
	knot_err_t err = publish_commit(publish, update, base, policy, ret_effects);
	if (err == KNOT_OK && publish->said != NULL) {
		catalogs_put(publish->catalogs, publish->said);
	} else {
		catalogs_drop(publish->said);
	}
	publish->said = NULL;
	if (err != KNOT_OK || ret_effects->is_published) {
		source_clear(&publish->next);
	}
	publish_log_rail(update, err, ret_effects);
	if (err == KNOT_OK && ret_effects->is_published && sys_dbus_has(SYS_DBUS_ZONE_UPDATED)) {
		char zone[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(update->origin, zone);
		sys_dbus_zone_updated(zone, ret_effects->serial_to);
	}
	return err;
}

void publish_moved(zone_t *zone, zone_contents_t *take_contents)
{
	publish_contents(zone, take_contents);
}

void publish_drop(zone_t *zone, load_source_t *source)
{
	log_zone(LOG_INFO, zone_name(zone), "zone expired");
	publish_clear(zone, source);
}

void publish_clear(zone_t *zone, load_source_t *source)
{
	source_clear(source);
	publish_contents(zone, NULL);
}
