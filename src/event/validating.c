/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/validating.h"

#include "libknot/rr/rrtype.h"
#include "src/event/refresh.h"
#include "src/event/zone_sign.h"
#include "src/sys/clock.h"
#include "src/sys/dbus.h"
#include "src/sys/log.h"
#include "src/zone/image.h"
#include "src/zone/zonemd.h"

#include <stdlib.h>
#include <string.h>

enum {
	SAMPLED_MIN = 100000,      /* records: smaller versions are proven as a whole before they are published */
	SAMPLE = 64,               /* of larger ones one signature of so many, */
	SAMPLED_AFTER = 1000,      /* after so many of each key: changes of some hundred names are proven as a whole */
	MARGIN_S = 24 * 3600,      /* unless the policy has `rrsig-refresh` */
	SWEEP_AFTER_MS = 5 * 1000, /* a start has other things to do first */
	/* A thread proves so many in less than an hour, if each second one is a signature of the slowest algorithm. */
	SWEEP_RECORDS = 12 * 1000 * 1000,
	SWEEP_THREADS_MAX = 16,
};

/* ---- Settings ---- */

/* False: the zone isn't configured, or its signatures aren't looked at. */
static bool validating_read_conf(validating_t *validating)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&validating->server->root, guard);
	if (!state_settings(state, zone_name(validating->zone), &zone)) {
		return false;
	}
	const conf_policy_t *policy = conf_zone_policy(state->conf, &zone);
	validate_options_t *options = &validating->proof.options;
	*options = (validate_options_t){ .now_s = sys_clock_wall(), .thread_count = policy->threads };
	validating->is_signed_here = zone.dnssec_signing;
	validating->has_digest = zone.dnssec_signing && zone.zonemd_generate != CONF_ZONEMD_NONE &&
				 zone.zonemd_generate != CONF_ZONEMD_REMOVE;
	if (zone.dnssec_signing) {
		return policy->unsafe.bits == 0; /* what that allows is no valid zone */
	}
	options->iterations_max = VALIDATE_ITERATIONS_MAX;
	options->margin_s = policy->rrsig_refresh_s != CONF_POLICY_UNSET ? (uint64_t)policy->rrsig_refresh_s : MARGIN_S;
	return zone.dnssec_validation;
}

validating_t validating_begin(server_t *server, zone_t *zone, const update_t *update, const zone_contents_t *base)
{
	validating_t validating = { .server = server, .zone = zone };
	validating.is_wanted = validating_read_conf(&validating);
	if (!validating.is_wanted) {
		return validating;
	}
	bool is_served = base != NULL && base == zone_contents(zone);
	validating.proof.has_proven_base = update->txn != NULL && is_served && base->is_signed;
	const zone_contents_t *like = update->txn != NULL ? base : update->next;
	validating.is_sampled = validating.is_signed_here && like != NULL && like->record_count >= SAMPLED_MIN;
	if (validating.is_sampled) {
		validating.proof.options.sample = SAMPLE;
		validating.proof.options.sample_after = SAMPLED_AFTER;
		validating.proof.options.sample_seed = sys_clock_ns();
	}
	return validating;
}

/* ---- Log ---- */

static void validating_announce(knot_name_t name, knot_err_t err, const validate_result_t *result)
{
	char zone[KNOT_NAME_TEXT_MAX];
	uint64_t now_s = sys_clock_wall(), end_s = result->earliest_expiration_s;
	(void)knot_name_print(name, zone);
	sys_dbus_dnssec_invalid(zone, err == KNOT_EEXPIRES && end_s > now_s ? (uint32_t)(end_s - now_s) : 0);
}

static void validating_log(knot_name_t name, knot_err_t err, const validate_result_t *result, const char *what)
{
	char hint[UPDATE_HINT_MAX];
	if (err == KNOT_OK) {
		log_zone(LOG_INFO, name, "DNSSEC, %svalidation successful, checked RRSIGs %llu", what,
				(unsigned long long)result->rrsig_count);
		return;
	}
	validating_announce(name, err, result);
	int level = err == KNOT_EEXPIRES ? LOG_WARNING : LOG_ERR;
	log_zone(level, name, "DNSSEC, %svalidation failed (%s)", what, knot_strerror(err));
	update_print_hint(result, hint);
	if (hint[0] != '\0') {
		log_zone(level, name, "DNSSEC, validation hint: %s", hint);
	}
}

/* ---- Planning ---- */

static void validating_plan(server_t *server, zone_t *zone, uint64_t wait_ms, bool is_proven)
{
	sys_mutex_lock(&server->jobs.lock);
	entry_of(zone)->is_proven = is_proven;
	(void)jobs_plan(&server->jobs, entry_of(zone), EVENT_VALIDATE, sys_clock_ms() + wait_ms, 0);
	sys_mutex_unlock(&server->jobs.lock);
}

void validating_plan_all(server_t *server, zone_t *zone)
{
	validating_plan(server, zone, SWEEP_AFTER_MS, false);
}

/* When the first signature has expired. */
static void validating_plan_expiry(server_t *server, zone_t *zone, const validate_result_t *result)
{
	uint64_t now_s = sys_clock_wall(), due_s = result->earliest_expiration_s + 1;
	if (result->earliest_expiration_s != 0) {
		validating_plan(server, zone, due_s > now_s ? (due_s - now_s) * 1000 : 0, true);
	}
}

static void validating_count_refused(server_t *server)
{
	sys_mutex_lock(&server->jobs.lock);
	server->unproven++;
	sys_mutex_unlock(&server->jobs.lock);
}

void validating_end(const validating_t *validating, knot_err_t err, const update_t *update)
{
	const update_proven_t *proof = &update->proof;
	if (!validating->is_wanted || !proof->is_done) {
		return;
	}
	bool is_bad = proof->err != KNOT_OK && proof->err != KNOT_EEXPIRES;
	if (is_bad || !validating->is_signed_here) {
		validating_log(update->origin, proof->err, &proof->result,
				proof->result.is_whole ? "" : "incremental ");
	}
	if (is_bad) {
		validating_count_refused(validating->server);
	}
	if (err != KNOT_OK) {
		return;
	}
	if (!validating->is_signed_here) {
		validating_plan_expiry(validating->server, validating->zone, &proof->result);
	} else if (proof->result.is_whole && validating->is_sampled) {
		validating_plan_all(validating->server, validating->zone);
	}
}

/* ---- The event ---- */

/** All of a version is proven while its zone goes on. */
typedef struct {
	server_t *server;
	validating_t validating;
	zone_contents_t *held; /* owned */
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name; /* of wire[] */
} validating_sweep_t;

/* What was signed here and is wrong is signed again; what is known to be right needn't be looked at again. */
static void validating_conclude(server_t *server, knot_name_t name, bool is_signed_here, knot_err_t err)
{
	bool is_good = err == KNOT_OK || err == KNOT_EEXPIRES, is_bad = !is_good && err != KNOT_ENOMEM;
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, name);
	if (entry != NULL && is_good) {
		entry->is_proven = true;
	} else if (entry != NULL && is_bad && is_signed_here) {
		entry->is_signed = false;
		(void)jobs_plan(&server->jobs, entry, EVENT_DNSSEC, sys_clock_ms(),
				EVENT_DROPS_SIGNATURES | EVENT_MENDS);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

/* What was only compared before it was published. */
static knot_err_t validating_check_digest(const validating_sweep_t *sweep, validate_result_t *result)
{
	knot_err_t err = zonemd_verify(sweep->held);
	if (err != KNOT_OK) {
		result->has_hint = true;
		result->type = KNOT_TYPE_ZONEMD;
		memcpy(result->owner, sweep->name.wire, sweep->name.len);
	}
	return err;
}

static void validating_sweep(void *ctx)
{
	validating_sweep_t *sweep = ctx;
	validate_result_t result;
	validate_options_t *options = &sweep->validating.proof.options;
	size_t thread_count = 1 + sweep->held->record_count / SWEEP_RECORDS;
	options->thread_count = (unsigned)(thread_count < SWEEP_THREADS_MAX ? thread_count : SWEEP_THREADS_MAX);
	knot_err_t err = validate_zone(sweep->held, options, &result);
	if (err == KNOT_OK && sweep->validating.has_digest) {
		err = validating_check_digest(sweep, &result);
	}
	validating_log(sweep->name, err, &result, "");
	validating_conclude(sweep->server, sweep->name, sweep->validating.is_signed_here, err);
	zone_contents_free(sweep->held);
	free(sweep);
}

static knot_err_t validating_begin_sweep(
		const validating_t *validating, const zone_contents_t *contents, job_outcome_t *outcome)
{
	validating_sweep_t *sweep = calloc(1, sizeof(*sweep));
	zone_contents_t *held = sweep != NULL ? zone_image_hold(contents) : NULL;
	if (held == NULL) {
		free(sweep);
		return KNOT_ENOMEM;
	}
	knot_name_t name = zone_name(validating->zone);
	memcpy(sweep->wire, name.wire, name.len);
	sweep->name = (knot_name_t){ sweep->wire, name.len, name.label_count };
	sweep->server = validating->server;
	sweep->validating = *validating;
	sweep->held = held;
	outcome->then = validating_sweep;
	outcome->then_ctx = sweep;
	return KNOT_OK;
}

/* A secondary zone that isn't valid any more is not answered. */
static void validating_expire(const validating_t *validating)
{
	entry_t *entry = entry_of(validating->zone);
	if (!validating->is_signed_here && server_is_secondary(validating->server, entry_name(entry))) {
		refresh_drop_contents(validating->server, entry);
	}
}

static knot_err_t validating_run(const validating_t *validating, const zone_contents_t *contents, const char *what,
		job_outcome_t *outcome)
{
	validate_result_t result;
	knot_name_t name = zone_name(validating->zone);
	log_zone(LOG_INFO, name, "DNSSEC, %s", what);
	knot_err_t err = validate_zone(contents, &validating->proof.options, &result);
	validating_log(name, err, &result, "");
	validating_conclude(validating->server, name, validating->is_signed_here, err);
	if (err == KNOT_OK || err == KNOT_EEXPIRES) {
		if (!validating->is_signed_here) {
			validating_plan_expiry(validating->server, validating->zone, &result);
		}
		return KNOT_OK;
	}
	char hint[UPDATE_HINT_MAX];
	update_print_hint(&result, hint);
	outcome->reason = strdup(hint);
	validating_expire(validating);
	return err;
}

knot_err_t server_run_validate(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	validating_t validating = { .server = server, .zone = entry_zone(entry) };
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	bool is_by_operator = (how & EVENT_BY_OPERATOR) != 0, is_wanted = validating_read_conf(&validating);
	outcome->load = LOAD_UNCHANGED;
	if (contents == NULL || !(is_wanted || is_by_operator)) {
		outcome->keeps_result = true;
		return KNOT_OK;
	}
	if (is_by_operator) {
		return validating_run(&validating, contents, "full zone revalidation", outcome);
	}
	sys_mutex_lock(&server->jobs.lock);
	bool is_proven = entry->is_proven;
	sys_mutex_unlock(&server->jobs.lock);
	if (is_proven) {
		validating.proof.options.only_times = true;
		return validating_run(&validating, contents, "RRSIG expiration revalidation", outcome);
	}
	outcome->keeps_result = true;
	return validating_begin_sweep(&validating, contents, outcome);
}

/* Nothing is known of what comes from an image. */
void server_plan_validate(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	validating_t validating = { .server = server, .zone = entry_zone(entry) };
	bool is_old = outcome.load == LOAD_FROM_IMAGE || outcome.load == LOAD_FROM_IMAGE_AND_CHANGES ||
		      outcome.load == LOAD_FROM_JOURNAL;
	if (ended == EVENT_LOAD && is_old && zone_contents(entry_zone(entry)) != NULL &&
			validating_read_conf(&validating)) {
		entry->is_proven = false;
		(void)jobs_plan(&server->jobs, entry, EVENT_VALIDATE, sys_clock_ms() + SWEEP_AFTER_MS, 0);
	}
}

knot_err_t server_zone_validate(server_t *server, knot_name_t name, server_ticket_t *ret_ticket)
{
	{
		RCU_READ_SECTION(guard);
		const zone_t *zone = zonedb_find(state_load(&server->root, guard)->zones, name);
		if (zone == NULL || zone_contents(zone) == NULL) {
			return zone == NULL ? KNOT_ENOZONE : KNOT_EEMPTYZONE;
		}
	}
	return server_zone_ask(server, name, EVENT_VALIDATE, 0, ret_ticket);
}
