/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/event/publish.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/zone/build.h"
#include "src/zone/records.h"

#include <xxhash.h>

enum { FAULT_LINES_MAX = 20 }; /* lines per file: a file of rubbish must not fill the disk with log */

static zone_checks_t checks_of(conf_semchecks_t conf)
{
	switch (conf) {
	case CONF_SEMCHECKS_OFF: return ZONE_CHECKS_OFF;
	case CONF_SEMCHECKS_SOFT: return ZONE_CHECKS_SOFT;
	case CONF_SEMCHECKS_ON: return ZONE_CHECKS_ON;
	}
	return ZONE_CHECKS_OFF;
}

knot_err_t load_settings(const state_root_t *root, knot_name_t name, load_settings_t *ret_settings)
{
	ret_settings->path[0] = '\0';
	RCU_READ_SECTION(guard);
	const conf_t *conf = state_load(root, guard)->conf;
	size_t index;
	if (!conf_zone_find(conf, name, &index)) {
		return KNOT_ENOZONE;
	}
	conf_zone_t zone = conf_zone(conf, index);
	ret_settings->default_ttl = zone.default_ttl;
	ret_settings->checks = checks_of(zone.semantic_checks);
	ret_settings->size_max = zone.zone_max_size;
	ret_settings->nsec3_iterations_end = zone.nsec3_max_iterations + 1;
	ret_settings->number = settings_number(&zone);
	ret_settings->sync_s = zone.zonefile_sync_s;
	ret_settings->serial_policy = zone.serial_policy;
	return conf_zone_file(&zone, ret_settings->path, sizeof(ret_settings->path));
}

static bool load_should_stop(void *ctx)
{
	const load_report_t *report = ctx;
	return report->stopping != NULL && __atomic_load_n(report->stopping, __ATOMIC_RELAXED);
}

static void on_file(const char *path, const struct stat *info, void *ctx)
{
	const load_report_t *report = ctx;
	sources_add(report->sources, path, info);
}

static void load_on_message(const zone_message_t *message, void *ctx)
{
	load_report_t *report = ctx;
	report->lines++;
	if (message->level == ZONE_MESSAGE_ERROR && report->reason != NULL && report->reason[0] == '\0') {
		fault_reason_print(message->text, KNOT_OK, report->reason);
	}
	if (report->lines > FAULT_LINES_MAX) {
		return;
	}
	static const int levels[] = {
		[ZONE_MESSAGE_NOTICE] = LOG_NOTICE,
		[ZONE_MESSAGE_WARNING] = LOG_WARNING,
		[ZONE_MESSAGE_ERROR] = LOG_ERR,
	};
	log_zone(levels[message->level], report->name, "%s%s%s", message->text, message->hint != NULL ? ", " : "",
			message->hint != NULL ? message->hint : "");
	if (report->lines == FAULT_LINES_MAX && report->path == NULL) {
		log_zone(LOG_WARNING, report->name, "further messages about the transaction suppressed");
	} else if (report->lines == FAULT_LINES_MAX) {
		log_zone(LOG_WARNING, report->name, "further messages about zone file '%s' suppressed", report->path);
	}
}

_Static_assert((int)UPDATE_REASON_MAX == (int)FAULT_REASON_MAX, "reasons of updates become those of faults");

update_policy_t load_policy(const load_settings_t *settings, load_report_t *report)
{
	return (update_policy_t){
		.build = {
			.origin = report->name,
			.default_ttl = settings->default_ttl,
			.checks = settings->checks,
			.size_max = settings->size_max,
			.nsec3_iterations_end = settings->nsec3_iterations_end,
			.now_s = sys_clock_wall(),
			.on_message = load_on_message,
			.on_file = on_file,
			.should_stop = load_should_stop,
			.ctx = report,
		},
		.serial_policy = settings->serial_policy,
	};
}

/* The lines that Knot writes after the messages about single faults. */
static void log_failure(knot_name_t name, const char *path, knot_err_t err)
{
	log_zone(LOG_ERR, name, "failed to parse zone file '%s' (%s)", path, knot_strerror(err));
	if (err == KNOT_ENOENT) {
		log_zone(LOG_INFO, name, "zone not found");
	}
}

/* ---- Serials ---- */

/* A sum, so that the order of records doesn't matter. */
static bool load_add_record(const zone_rr_t *rr, void *ctx)
{
	uint64_t *sum = ctx;
	const uint32_t numbers[] = { rr->type, rr->ttl };
	uint64_t seed = XXH3_64bits_withSeed(rr->owner.wire, rr->owner.len, XXH3_64bits(numbers, sizeof(numbers)));
	*sum += XXH3_64bits_withSeed(rr->rdata.data, rr->rdata.len, seed);
	return true;
}

/* True if the records are the same, or if there is no memory to compare. One pass over both. */
static bool load_same_records(const zone_contents_t *a, const zone_contents_t *b)
{
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	uint64_t sum_a = 0, sum_b = 0;
	bool is_same = a->record_count == b->record_count;
	if (is_same && scratch != NULL) {
		(void)zone_each_record(a, scratch, load_add_record, &sum_a);
		(void)zone_each_record(b, scratch, load_add_record, &sum_b);
	}
	free(scratch);
	return is_same && sum_a == sum_b;
}

void load_warn_of_serial(knot_name_t name, uint32_t before, uint32_t after, bool is_same)
{
	int32_t step = (int32_t)(after - before); /* RFC 1982 3.2 */
	if (step < 0) {
		log_zone(LOG_WARNING, name, "serial went back, %u -> %u, secondaries keep the old version", before,
				after);
	} else if (step == 0 && !is_same) {
		log_zone(LOG_WARNING, name, "contents changed, but not the serial %u, secondaries keep the old version",
				after);
	}
}

static void load_log(knot_name_t name, const update_effects_t *effects, uint64_t size, bool from_file)
{
	sys_log_gathered_t lines;
	char before[16] = "none";
	if (effects->has_base) {
		snprintf(before, sizeof(before), "%u", effects->serial_from);
	}
	sys_log_gather(&lines);
	if (from_file) {
		log_zone(LOG_INFO, name, "zone file parsed, serial %u", effects->serial_to);
	}
	log_zone(LOG_INFO, name, "loaded, serial %s -> %u, %llu bytes%s", before, effects->serial_to,
			(unsigned long long)size, from_file ? "" : ", from image");
	sys_log_write_gathered();
}

/* Serve a version in place of what is served. take_source: of the version. */
static knot_err_t load_publish(zone_t *zone, load_source_t *source, const load_settings_t *settings,
		zone_contents_t *take_contents, load_source_t *take_source, bool from_file)
{
	const zone_contents_t *old = zone_contents(zone);
	bool is_same = old != NULL && old->serial == take_contents->serial && load_same_records(old, take_contents);
	uint64_t size = take_contents->wire_size;
	load_report_t report = { .name = zone_name(zone) };
	const update_policy_t policy = load_policy(settings, &report);
	publish_t publish = { .zone = zone, .source = source, .next = *take_source };
	update_t update;
	update_effects_t effects;
	*take_source = (load_source_t){ 0 };
	update_begin_whole(zone_name(zone), UPDATE_FILE, old, take_contents, &update);
	knot_err_t err = publish_update(&publish, &update, old, &policy, &effects);
	update_end(&update);
	if (err == KNOT_OK) {
		load_log(zone_name(zone), &effects, size, from_file);
	}
	if (err == KNOT_OK && effects.has_base) {
		load_warn_of_serial(zone_name(zone), effects.serial_from, effects.serial_to, is_same);
	}
	return err;
}

/* False: no image may be used; if there is one, the log says why. */
static bool take_image(images_t *images, zone_t *zone, const load_settings_t *settings, load_source_t *source)
{
	images_query_t query = { .name = zone_name(zone), .path = settings->path, .settings = settings->number };
	char reason[IMAGES_REASON_MAX];
	zone_contents_t *contents = NULL;
	load_source_t found = { 0 };
	switch (images_read(images, &query, &contents, &found, reason)) {
	case IMAGES_READ: return load_publish(zone, source, settings, contents, &found, false) == KNOT_OK;
	case IMAGES_NONE: break;
	case IMAGES_STALE: log_zone(LOG_INFO, query.name, "image not used (%s)", reason); break;
	case IMAGES_DAMAGED:
		log_zone(LOG_WARNING, query.name, "image not used (%s), rebuilding from zone file", reason);
		break;
	}
	return false;
}

/* Read, check and compile the file. ret_source is the caller's to clear. */
static knot_err_t load_build(knot_name_t name, const load_settings_t *settings, const bool *stopping,
		zone_contents_t **ret_contents, load_source_t *ret_source, char *reason)
{
	struct stat info;
	knot_err_t err = source_stat(settings->path, &info);
	sources_t *sources = err == KNOT_OK ? calloc(1, sizeof(*sources)) : NULL;
	if (sources == NULL) {
		return err != KNOT_OK ? err : KNOT_ENOMEM;
	}
	sources->settings = settings->number;
	load_report_t report = {
		.name = name, .path = settings->path, .sources = sources, .stopping = stopping, .reason = reason
	};
	const update_policy_t policy = load_policy(settings, &report);
	err = zone_build_file(settings->path, &policy.build, ret_contents);
	*ret_source = (load_source_t){ .print = sources_print(sources), .files = sources };
	return err;
}

knot_err_t load_zone(const state_root_t *root, images_t *images, zone_t *zone, load_source_t *source,
		const bool *stopping, load_outcome_t *ret_outcome, char ret_reason[static FAULT_REASON_MAX])
{
	load_settings_t settings;
	knot_name_t name = zone_name(zone);
	*ret_outcome = LOAD_FAILED;
	ret_reason[0] = '\0';
	knot_err_t err = load_settings(root, name, &settings);
	if (err == KNOT_ENOZONE) {
		return err;
	}
	const zone_contents_t *contents = zone_contents(zone);
	if (err == KNOT_OK && contents != NULL && source_is_current(source, settings.path, settings.number)) {
		log_zone(LOG_INFO, name, "zone file not changed, serial %u", contents->serial);
		*ret_outcome = LOAD_UNCHANGED;
		return KNOT_OK;
	}
	if (err == KNOT_OK && contents == NULL && take_image(images, zone, &settings, source)) {
		*ret_outcome = LOAD_FROM_IMAGE;
		return KNOT_OK;
	}
	load_source_t found = { 0 };
	zone_contents_t *built = NULL;
	err = err == KNOT_OK ? load_build(name, &settings, stopping, &built, &found, ret_reason) : err;
	if (err != KNOT_OK) {
		source_clear(&found);
		if (ret_reason[0] == '\0') {
			snprintf(ret_reason, FAULT_REASON_MAX, "file '%.300s'", settings.path);
		}
		if (err != KNOT_ESTOPPED) { /* the server ends: nothing is wrong with the file */
			log_failure(name, settings.path, err);
		}
		return err;
	}
	if (source_is_ahead(source)) {
		log_zone(LOG_NOTICE, name, "zone file changed, it replaces changes that were not written to it");
	}
	err = load_publish(zone, source, &settings, built, &found, true);
	*ret_outcome = err == KNOT_OK ? LOAD_FROM_FILE : LOAD_FAILED;
	return err;
}

knot_err_t load_remove_file(const state_root_t *root, knot_name_t name)
{
	load_settings_t settings;
	knot_err_t err = load_settings(root, name, &settings);
	if (err == KNOT_OK && unlink(settings.path) != 0 && errno != ENOENT) {
		err = knot_err_of_errno(errno);
	}
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, name, "failed to remove zone file (%s)", knot_strerror(err));
	}
	return err;
}
