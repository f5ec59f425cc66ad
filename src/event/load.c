/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/validate/report.h"
#include "src/zone/build.h"

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

/* What is validated or signed is proven before it is published. */
static zone_dnssec_t dnssec_of(const conf_zone_t *zone)
{
	return zone->dnssec_validation || zone->dnssec_signing ? ZONE_DNSSEC_OFF : ZONE_DNSSEC_IF_SIGNED;
}

knot_err_t load_settings(const state_root_t *root, knot_name_t name, load_settings_t *ret_settings)
{
	ret_settings->path[0] = '\0';
	RCU_READ_SECTION(guard);
	conf_zone_t zone;
	const state_t *state = state_load(root, guard);
	if (!state_settings(state, name, &zone)) {
		return KNOT_ENOZONE;
	}
	if (zone.catalog_role == CONF_CATALOG_GENERATE) {
		/* Its members are those of the configuration, whatever a file says; their ids must outlive the process.
		 */
		zone.zonefile_load = CONF_ZONEFILE_NONE;
		zone.journal_content = CONF_JOURNAL_ALL;
	}
	ret_settings->skip = zone_skip_of(zone.zonefile_skip.data, zone.zonefile_skip.count);
	ret_settings->catalog_role = zone.catalog_role;
	ret_settings->default_ttl = zone.default_ttl;
	ret_settings->checks = checks_of(zone.semantic_checks);
	ret_settings->dnssec = dnssec_of(&zone);
	ret_settings->threads = conf_zone_policy(state->conf, &zone)->threads;
	ret_settings->size_max = zone.zone_max_size;
	ret_settings->nsec3_iterations_end = zone.nsec3_max_iterations + 1;
	ret_settings->number = settings_number(&zone);
	ret_settings->sync_s = zone.zonefile_sync_s;
	ret_settings->verifies_zonemd = zone.zonemd_verify;
	ret_settings->zonemd = zone.zonemd_generate;
	ret_settings->is_signed = zone.dnssec_signing;
	ret_settings->serials = conf_zone_serials(&zone);
	ret_settings->load = zone.zonefile_load;
	ret_settings->content = zone.journal_content;
	ret_settings->limits = (journal_limits_t){ .usage_max = zone.journal_max_usage,
		.depth_max = zone.journal_max_depth,
		.may_merge = zone.zonefile_sync_s < 0,
		.drops_whole = zone.journal_content == CONF_JOURNAL_CHANGES && zone.zonefile_load != CONF_ZONEFILE_NONE,
		.has_file_source = zone.zonefile_load != CONF_ZONEFILE_NONE,
		.file_source = UPDATE_FILE };
	ret_settings->rails = (rails_policy_t){ 100 - zone.publish_max_shrink, zone.publish_require.bits };
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
	if (report->sources != NULL) {
		sources_add(report->sources, path, info);
	}
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
	static const update_store_t stores[] = {
		[CONF_JOURNAL_NONE] = UPDATE_STORES_NOTHING,
		[CONF_JOURNAL_CHANGES] = UPDATE_STORES_CHANGES,
		[CONF_JOURNAL_ALL] = UPDATE_STORES_ALL,
	};
	return (update_policy_t){
		.build = {
			.origin = report->name,
			.default_ttl = settings->default_ttl,
			.checks = settings->checks,
			.size_max = settings->size_max,
			.nsec3_iterations_end = settings->nsec3_iterations_end,
			.skip = &settings->skip,
			.now_s = sys_clock_wall(),
			.on_message = load_on_message,
			.on_file = on_file,
			.should_stop = load_should_stop,
			.ctx = report,
		},
		.serials = settings->serials,
		.stores = stores[settings->content],
		.rails = settings->rails,
		.verifies_zonemd = settings->verifies_zonemd,
		.zonemd = settings->zonemd,
	};
}

knot_err_t load_build(const load_settings_t *settings, load_report_t *report, zone_contents_t **ret_contents)
{
	struct stat info;
	knot_err_t err = source_stat(settings->path, &info);
	if (err != KNOT_OK) {
		return err;
	}
	report->path = settings->path;
	update_policy_t policy = load_policy(settings, report);
	policy.build.dnssec = settings->dnssec;
	policy.build.prove = validate_report;
	policy.build.thread_count = settings->threads;
	return zone_build_file(settings->path, &policy.build, ret_contents);
}

knot_err_t load_remove_file(const state_root_t *root, knot_name_t name)
{
	load_settings_t settings;
	knot_err_t err = load_settings(root, name, &settings);
	if (err == KNOT_OK && unlink(settings.path) != 0 && errno != ENOENT) {
		err = knot_err_of_errno(errno);
	}
	return err;
}
