/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/derive_zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/event/turn.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/zone/image.h"

enum {
	DERIVE_GATHER_MS = 100,      /* changes of sources become one within this time */
	DERIVE_RETRY_MS = 60 * 1000, /* after a failure, if no source changes before */
};

/* ---- A zone being made ---- */

/* NULL: out of memory. */
static derived_names_t *derived_names_of(const conf_zone_t *zone)
{
	bool is_reverse = zone->reverse_generate.count > 0;
	const conf_bytes_list_t *list = is_reverse ? &zone->reverse_generate : &zone->include_from;
	return derived_names_new(is_reverse ? DERIVE_REVERSE : DERIVE_INCLUDE, zone->name, list->data, list->count);
}

bool derived_differs(const server_t *server, const conf_zone_t *zone)
{
	bool is_derived = conf_zone_is_derived(zone);
	if (!is_derived && atomic_load(&server->derivations.count) == 0) {
		return false;
	}
	const derivation_t *one = derivations_find(&server->derivations, zone->name);
	if (one == NULL || !is_derived) {
		return (one != NULL) != is_derived;
	}
	derived_names_t *names = derived_names_of(zone);
	bool differs = names != NULL && !derived_names_eq(names, one->names);
	derived_names_free(names);
	return differs;
}

/* What the configuration says. KNOT_ENOENT: the zone isn't made of others. */
static knot_err_t derived_read_conf(const server_t *server, knot_name_t name, derived_names_t **ret_names)
{
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	if (!state_settings(state_load(&server->root, guard), name, &zone) || !conf_zone_is_derived(&zone)) {
		return KNOT_ENOENT;
	}
	*ret_names = derived_names_of(&zone);
	return *ret_names != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static void derived_log_source(const derived_set_t *set, const derive_source_t *source, const char *format)
{
	char name[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(source->name, name);
	name[strlen(name) > 1 ? strlen(name) - 1 : 1] = '\0';
	log_zone(LOG_WARNING, set->names->zone, format, name);
}

/* Hold what the source has. */
static knot_err_t derived_hold(server_t *server, derived_set_t *set, derive_source_t *source, bool is_load)
		SYS_REQUIRES(server->jobs.lock)
{
	entry_t *entry = server_find_entry(server, source->name);
	if (entry == NULL) {
		if (is_load) {
			derived_log_source(set, source,
					set->names->kind == DERIVE_REVERSE ? "zone to reverse '%s' does not exist"
									   : "zone to include '%s' does not exist");
		}
		return KNOT_OK;
	}
	RCU_READ_SECTION(guard);
	(void)guard;
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	if (contents == NULL) {
		source->is_awaited = true;
		set->is_too_early = set->is_too_early || !entry->tried;
		set->is_awaiting = set->is_awaiting ||
				   !derivations_wait(&server->derivations, source->name, set->names->zone);
		return KNOT_OK;
	}
	source->contents = zone_image_hold(contents);
	return source->contents != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t derived_enter(server_t *server, derived_set_t *set) SYS_REQUIRES(server->jobs.lock)
{
	derivation_t *one = derivations_put(&server->derivations, set->names, &set->has_other_sources);
	if (one == NULL) {
		return KNOT_ENOMEM;
	}
	set->marks = one->marks;
	set->own = one->own;
	set->derive.own = one->own;
	set->derive.is_own_known = one->is_own_known;
	one->marks = (derive_marks_t){ 0 };
	one->own = NULL;
	return KNOT_OK;
}

/* The set without what it knows of the zone; on failure nothing is kept. */
static knot_err_t derived_prepare(const server_t *server, knot_name_t zone, derived_set_t *ret_set)
{
	derived_set_t set = { 0 };
	knot_err_t err = derived_read_conf(server, zone, &set.names);
	if (err != KNOT_OK) {
		return err;
	}
	set.sources = calloc(set.names->count + 1, sizeof(*set.sources));
	if (set.sources == NULL) {
		derived_names_free(set.names);
		return KNOT_ENOMEM;
	}
	memcpy(set.sources, set.names->sources, set.names->count * sizeof(*set.sources));
	set.derive = (derive_t){ .kind = set.names->kind,
		.zone = set.names->zone,
		.sources = set.sources,
		.source_count = set.names->count };
	*ret_set = set;
	return KNOT_OK;
}

static knot_err_t derived_hold_all(server_t *server, derived_set_t *set, bool is_load) SYS_REQUIRES(server->jobs.lock)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; i < set->names->count && err == KNOT_OK; i++) {
		err = derived_hold(server, set, &set->sources[i], is_load);
		if (i % SERVER_CHUNK == SERVER_CHUNK - 1) {
			sys_mutex_unlock(&server->jobs.lock);
			sys_mutex_lock(&server->jobs.lock);
		}
	}
	return err;
}

/* True if the zone was made of others until now. */
static bool derived_leave(server_t *server, knot_name_t zone)
{
	if (atomic_load(&server->derivations.count) == 0) {
		return false;
	}
	sys_mutex_lock(&server->jobs.lock);
	bool was_derived = derivations_find(&server->derivations, zone) != NULL;
	derivations_drop(&server->derivations, zone);
	sys_mutex_unlock(&server->jobs.lock);
	return was_derived;
}

knot_err_t derived_open(server_t *server, knot_name_t zone, bool is_load, derived_set_t *ret_set)
{
	derived_set_t set;
	knot_err_t err = derived_prepare(server, zone, &set);
	if (err != KNOT_OK) {
		*ret_set = (derived_set_t){ .has_other_sources = err == KNOT_ENOENT && derived_leave(server, zone) };
		return err;
	}
	sys_mutex_lock(&server->jobs.lock);
	err = derived_enter(server, &set);
	err = err == KNOT_OK ? derived_hold_all(server, &set, is_load) : err;
	sys_mutex_unlock(&server->jobs.lock);
	if (err != KNOT_OK) {
		derived_close(server, &set);
		return err;
	}
	*ret_set = set;
	return KNOT_OK;
}

static void derived_free(derived_set_t *set)
{
	for (size_t i = 0; i < set->names->count; i++) {
		zone_contents_free((zone_contents_t *)(uintptr_t)set->sources[i].contents);
	}
	free(set->sources);
	zone_contents_free(set->own);
	derive_marks_done(&set->marks);
	derived_names_free(set->names);
}

knot_err_t derived_preview(
		server_t *server, knot_name_t zone, const zone_build_params_t *params, zone_contents_t **contents)
{
	derived_set_t set;
	knot_err_t err = derived_prepare(server, zone, &set);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_OK : err;
	}
	sys_mutex_lock(&server->jobs.lock);
	err = derived_hold_all(server, &set, false);
	sys_mutex_unlock(&server->jobs.lock);
	if (err == KNOT_OK) {
		derived_note_own(&set, *contents);
		err = derived_complete(&set, params, contents);
	}
	derived_free(&set);
	return err;
}

/* When what is marked now is looked at. */
static uint64_t derived_due_ms(const server_t *server, knot_name_t zone_name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	bool has = state_settings(state_load(&server->root, guard), zone_name, &zone);
	uint64_t delay_ms = has ? zone.update_delay_s * 1000ULL : 0;
	return sys_clock_ms() + (delay_ms > DERIVE_GATHER_MS ? delay_ms : DERIVE_GATHER_MS);
}

static void derived_plan(server_t *server, const derivation_t *one) SYS_REQUIRES(server->jobs.lock)
{
	knot_name_t zone = one->names->zone;
	entry_t *entry = server_find_entry(server, zone);
	if (entry == NULL) {
		return;
	}
	if (!one->is_waiting) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DERIVE, derived_due_ms(server, zone), 0);
	} else {
		/* A secondary that waits has got its own records; it gets them again. */
		event_t event = server_is_secondary(server, zone) ? EVENT_REFRESH : EVENT_LOAD;
		(void)jobs_plan(&server->jobs, entry, event, sys_clock_ms() + DERIVE_GATHER_MS, 0);
	}
}

/* True if what held the zone up has gone since derived_open(), which told nobody to wake it. */
static bool derived_may_go_on(const server_t *server, const derived_set_t *set) SYS_REQUIRES(server->jobs.lock)
{
	bool has_come = false, is_early = false;
	for (size_t i = 0; i < set->names->count; i++) {
		entry_t *entry = server_find_entry(server, set->names->sources[i].name);
		bool has_contents = entry != NULL && zone_contents(entry_zone(entry)) != NULL;
		has_come = has_come || (has_contents && set->sources[i].is_awaited);
		is_early = is_early || (entry != NULL && !has_contents && !entry->tried);
	}
	return (set->is_waiting && has_come) || (set->is_too_early && !is_early);
}

void derived_close(server_t *server, derived_set_t *set)
{
	sys_mutex_lock(&server->jobs.lock);
	derivation_t *one = derivations_find(&server->derivations, set->names->zone);
	if (one != NULL) {
		one->own = set->own;
		one->is_own_known = set->derive.is_own_known;
		one->is_waiting = set->is_waiting;
		set->own = NULL;
		if (!set->is_done) {
			derive_marks_add(&one->marks, &set->marks);
		}
		if ((set->is_waiting || set->is_too_early) && derived_may_go_on(server, set)) {
			derived_plan(server, one);
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	derived_free(set);
}

static bool derived_find_like(const zone_rr_t *rr, void *ctx)
{
	const derived_set_t *set = ctx;
	return !derive_is_derived(&set->derive, rr);
}

void derived_note_own(derived_set_t *set, const zone_contents_t *own)
{
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	zone_contents_free(set->own);
	set->own = NULL;
	set->derive.is_own_known = scratch != NULL;
	/* Most have nothing that looks derived. */
	if (own != NULL && set->derive.kind == DERIVE_REVERSE && scratch != NULL &&
			!zone_each_record(own, scratch, derived_find_like, set)) {
		set->own = zone_image_hold(own);
		set->derive.is_own_known = set->own != NULL;
	}
	set->derive.own = set->own;
	free(scratch);
}

knot_err_t derived_apply_all(const derived_set_t *set, const zone_contents_t *base, zone_txn_t *txn)
{
	const derive_marks_t all = { .is_all = true };
	return derive_apply(&set->derive, &all, base, txn);
}

knot_err_t derived_complete(const derived_set_t *set, const zone_build_params_t *params, zone_contents_t **contents)
{
	zone_txn_t *txn;
	zone_contents_t *whole = NULL;
	knot_err_t err = zone_txn_begin(*contents, params, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = derived_apply_all(set, *contents, txn);
	bool is_changed = err == KNOT_OK && zone_txn_is_changed(txn, &err);
	err = is_changed && err == KNOT_OK ? zone_txn_build(txn, *contents, params, &whole) : err;
	zone_txn_discard(txn);
	if (whole != NULL) {
		zone_contents_free(*contents);
		*contents = zone_txn_freshen(whole);
	}
	return err;
}

bool derived_must_wait(derived_set_t *set)
{
	for (size_t i = 0; set->is_awaiting && !set->is_too_early && i < set->names->count; i++) {
		if (set->sources[i].is_awaited) {
			derived_log_source(set, &set->sources[i], "waiting for source forward zone '%s'");
		}
	}
	set->is_waiting = set->is_awaiting;
	return set->is_awaiting;
}

/* ---- What others have to look at ---- */

typedef struct {
	derived_names_t *names; /* owned with others */
	derive_marks_t marks;
} derived_item_t;

struct derived_news {
	size_t count;
	derived_item_t items[];
};

/* What others do to such a zone may have to be put right. */
static bool derived_is_edit(update_source_t from)
{
	return from == UPDATE_CONTROL || from == UPDATE_DDNS || from == UPDATE_REVERT;
}

static derived_news_t *derived_list(server_t *server, knot_name_t zone, bool is_edit) SYS_REQUIRES(server->jobs.lock)
{
	size_t count;
	derivation_t *const *users = derivations_of(&server->derivations, zone, &count);
	const derivation_t *self = is_edit ? derivations_find(&server->derivations, zone) : NULL;
	size_t all = count + (self != NULL);
	derived_news_t *news = all > 0 ? calloc(1, sizeof(*news) + all * sizeof(news->items[0])) : NULL;
	for (size_t i = 0; i < all && news != NULL; i++) {
		news->items[news->count++].names = derived_names_share((i < count ? users[i] : self)->names);
	}
	/* Without memory for that they look at all. */
	for (size_t i = 0; i < count && news == NULL; i++) {
		derive_mark_all(&users[i]->marks);
	}
	return news;
}

derived_news_t *derived_compare(server_t *server, knot_name_t zone, update_source_t from, const zone_contents_t *now,
		const zone_contents_t *next)
{
	if (atomic_load(&server->derivations.count) == 0) {
		return NULL;
	}
	sys_mutex_lock(&server->jobs.lock);
	derived_news_t *news = derived_list(server, zone, derived_is_edit(from));
	sys_mutex_unlock(&server->jobs.lock);
	for (size_t i = 0; news != NULL && i < news->count; i++) {
		derived_item_t *item = &news->items[i];
		const derive_t derive = { .kind = item->names->kind,
			.zone = item->names->zone,
			.sources = item->names->sources,
			.source_count = item->names->count };
		if (knot_name_eq(item->names->zone, zone)) {
			derive_mark_edit(&derive, now, next, &item->marks);
		} else if (now == NULL) {
			derive_mark_all(&item->marks);
		} else {
			derive_mark_change(derive.kind, derive.zone, zone, now, next, &item->marks);
		}
	}
	return news;
}

void derived_tell(server_t *server, derived_news_t *take_news)
{
	if (take_news == NULL) {
		return;
	}
	sys_mutex_lock(&server->jobs.lock);
	for (size_t i = 0; i < take_news->count; i++) {
		derived_item_t *item = &take_news->items[i];
		derivation_t *one = derivations_find(&server->derivations, item->names->zone);
		if (one != NULL && !derive_marks_are_empty(&item->marks)) {
			derive_marks_add(&one->marks, &item->marks);
			derived_plan(server, one);
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	for (size_t i = 0; i < take_news->count; i++) {
		derive_marks_done(&take_news->items[i].marks);
		derived_names_free(take_news->items[i].names);
	}
	free(take_news);
}

/* ---- The event ---- */

/* What the file of a primary says, if that isn't known since it wasn't read. */
static void derived_find_own(server_t *server, derived_set_t *set, const load_settings_t *settings)
{
	if (set->derive.is_own_known || set->derive.kind == DERIVE_INCLUDE ||
			server_is_secondary(server, set->names->zone)) {
		return;
	}
	zone_contents_t *own = NULL;
	load_report_t report = { .name = set->names->zone, .stopping = &server->jobs.stopping };
	knot_err_t err = load_build(settings, &report, &own);
	if (err == KNOT_OK || err == KNOT_ENOENT) {
		derived_note_own(set, own);
	}
	zone_contents_free(own);
}

/* The primary's records aren't known after a start. The next transfer tells, which then finds all that is wrong. */
static void derived_ask_for_own(server_t *server, const derived_set_t *set)
{
	if (set->derive.is_own_known || set->derive.kind == DERIVE_INCLUDE ||
			!server_is_secondary(server, set->names->zone)) {
		return;
	}
	sys_mutex_lock(&server->jobs.lock);
	derivation_t *one = derivations_find(&server->derivations, set->names->zone);
	entry_t *entry = server_find_entry(server, set->names->zone);
	if (one != NULL && entry != NULL && !one->has_asked) {
		one->has_asked = true;
		(void)jobs_plan(&server->jobs, entry, EVENT_REFRESH, sys_clock_ms(), 0);
	}
	sys_mutex_unlock(&server->jobs.lock);
}

/* Look at what is marked, and publish what that changes. */
static knot_err_t derived_commit(const turn_t *turn, const derived_set_t *set)
{
	update_t update;
	uint32_t before = turn->current->serial;
	knot_err_t err = update_begin(turn->name, UPDATE_DERIVED, turn->current, &update);
	if (err != KNOT_OK) {
		return err;
	}
	err = derive_apply(&set->derive, &set->marks, turn->current, update.txn);
	bool is_changed = err == KNOT_OK && zone_txn_is_changed(update.txn, &err);
	err = is_changed && err == KNOT_OK ? turn_publish(turn, &update) : err;
	update_end(&update);
	const zone_contents_t *now = zone_contents(entry_zone(turn->entry));
	if (err == KNOT_OK && now != turn->current) {
		log_zone(LOG_INFO, turn->name, "%s, serial %u -> %u, %zu records removed, %zu added",
				set->names->kind == DERIVE_REVERSE ? "reverse records generated" : "zones included",
				before, now->serial, turn->commit->removed, turn->commit->added);
	}
	return err;
}

static knot_err_t derived_run(turn_t *turn, derived_set_t *set)
{
	/* The last of the sources that are being loaded asks again. */
	if (set->is_too_early || derive_marks_are_empty(&set->marks)) {
		return KNOT_OK;
	}
	knot_err_t err = load_settings(&turn->server->root, turn->name, &turn->settings);
	if (err == KNOT_OK) {
		derived_find_own(turn->server, set, &turn->settings);
		derived_ask_for_own(turn->server, set);
		err = derived_commit(turn, set);
		set->is_done = err == KNOT_OK;
	}
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, turn->name, "failed to %s (%s%s%s)",
				set->names->kind == DERIVE_REVERSE ? "generate reverse records" : "include zones",
				knot_strerror(err), turn->commit->reason[0] != '\0' ? ", " : "", turn->commit->reason);
	}
	return err;
}

knot_err_t derived_follow(server_t *server, entry_t *entry, derived_set_t *set, bool is_forced, job_outcome_t *outcome)
{
	const server_author_t author = { .who = "", .is_forced = is_forced };
	server_commit_t commit = { 0 };
	turn_t turn = { .server = server,
		.entry = entry,
		.name = entry_name(entry),
		.current = zone_contents(entry_zone(entry)),
		.author = &author,
		.commit = &commit };
	knot_err_t err = derived_run(&turn, set);
	if (zone_contents(entry_zone(entry)) != turn.current) {
		outcome->load = LOAD_EDITED;
	}
	if (err != KNOT_OK && commit.reason[0] != '\0' && outcome->reason == NULL) {
		outcome->reason = strdup(commit.reason);
	}
	outcome->is_derived = !set->is_too_early;
	outcome->is_to_be_derived_later = err != KNOT_OK && err != KNOT_EGUARDRAIL;
	return err;
}

knot_err_t server_run_derive(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	outcome->load = LOAD_UNCHANGED;
	if (zone_contents(entry_zone(entry)) == NULL || !turn_may_change(server, entry)) {
		outcome->keeps_result = true;
		return KNOT_OK; /* the load that is to come asks again */
	}
	derived_set_t set;
	knot_err_t err = derived_open(server, entry_name(entry), false, &set);
	if (err != KNOT_OK) {
		return err == KNOT_ENOENT ? KNOT_OK : err;
	}
	err = derived_follow(server, entry, &set, (how & EVENT_BY_FORCE) != 0, outcome);
	derived_close(server, &set);
	outcome->keeps_result = outcome->load == LOAD_UNCHANGED;
	return err;
}

void server_plan_derive(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	if (atomic_load(&server->derivations.count) == 0) {
		return;
	}
	const derivation_t *self = derivations_find(&server->derivations, entry_name(entry));
	if (outcome.is_to_be_derived_later) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DERIVE, sys_clock_ms() + DERIVE_RETRY_MS, 0);
	}
	if (ended != EVENT_LOAD && ended != EVENT_REFRESH) {
		return;
	}
	if (self != NULL && !outcome.is_derived && !self->is_waiting && !derive_marks_are_empty(&self->marks)) {
		(void)jobs_plan(&server->jobs, entry, EVENT_DERIVE, sys_clock_ms(), 0);
	}
	/* Those that it came too early for. */
	bool is_missing = zone_contents(entry_zone(entry)) == NULL;
	size_t count;
	derivation_t *const *users = derivations_of(&server->derivations, entry_name(entry), &count);
	for (size_t i = 0; i < count; i++) {
		bool is_behind = !users[i]->is_waiting && !derive_marks_are_empty(&users[i]->marks);
		if (is_behind || (users[i]->is_waiting && is_missing && ended == EVENT_LOAD)) {
			derived_plan(server, users[i]);
		}
	}
}
