/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Actions that need no server: checks of the configuration and of zone files.
 */
#include "src/tools/ctl/knotc.h"

#include "src/conf/conf.h"
#include "src/sys/clock.h"
#include "src/tools/ctl/message.h"
#include "src/validate/report.h"
#include "src/zone/build.h"

#include <limits.h>
#include <string.h>

void knotc_tell(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	static const message_level_t levels[] = {
		[CONF_ERROR] = MESSAGE_ERROR,
		[CONF_WARNING] = MESSAGE_WARNING,
		[CONF_NOTICE] = MESSAGE_NOTICE,
	};
	message_tell(&(message_t){ .level = levels[fault->severity],
			.line = fault->line,
			.members = {
					[MESSAGE_TEXT] = fault->text,
					[MESSAGE_FILE] = fault->file,
					[MESSAGE_SECTION] = fault->section,
					[MESSAGE_ID] = fault->id,
					[MESSAGE_ITEM] = fault->item,
					[MESSAGE_VALUE] = fault->value,
					[MESSAGE_REASON] = fault->reason,
					[MESSAGE_HINT] = fault->hint,
			} });
}

static void local_report_errors(void *ctx, const conf_fault_t *fault)
{
	if (fault->severity == CONF_ERROR) {
		knotc_tell(ctx, fault);
	}
}

/** is_checked: see conf_host_t. */
static bool local_load(const params_t *params, bool is_checked, conf_sink_t sink, conf_t **ret_conf)
{
	conf_source_t source = knotc_conf_source(params);
	conf_host_t host = conf_host_offline();
	host.version = PACKAGE_STRING;
	host.is_checked = is_checked;
	knot_err_t err = knotc_conf(params, &host, sink, ret_conf);
	if (err != KNOT_OK) {
		char error[KNOTC_ERROR_MAX];
		knotc_conf_failure(&source, err, error);
		(void)message_error("%s", error);
	}
	return err == KNOT_OK;
}

bool knotc_finish(const params_t *params, const char *command, const char *text, bool is_good)
{
	if (params->format == FORMAT_JSON) {
		reply_t reply;
		reply_begin(&reply, stdout, command, NULL);
		reply_end(&reply, NULL, is_good);
	} else if (params->format == FORMAT_RAW) {
		printf("{\"command\": \"%s\", \"reply\": [], \"ok\": %s}\n", command, is_good ? "true" : "false");
	} else if (is_good && text != NULL) {
		puts(text);
	}
	return is_good;
}

bool knotc_load_conf(const params_t *params, conf_t **ret_conf)
{
	return local_load(params, false, (conf_sink_t){ local_report_errors, NULL }, ret_conf);
}

/** Pass a fault on, and count warnings in the context. */
static void local_tell_counted(void *ctx, const conf_fault_t *fault)
{
	size_t *warnings = ctx;
	*warnings += fault->severity == CONF_WARNING;
	knotc_tell(NULL, fault);
}

bool knotc_conf_check(const params_t *params)
{
	conf_t *conf;
	size_t warnings = 0;
	bool is_good = local_load(params, true, (conf_sink_t){ local_tell_counted, &warnings }, &conf);
	if (is_good) {
		conf_free(conf);
	}
	if (is_good && params->flags.force && warnings > 0) {
		is_good = message_error("%zu warning%s", warnings, warnings == 1 ? "" : "s");
	}
	return knotc_finish(params, "conf-check", "Configuration is valid", is_good);
}

/* ---- zone-check ---- */

typedef struct {
	char name[KNOT_NAME_TEXT_MAX]; /* with one final dot */
	bool warned;                   /* a semantic check found something */
} check_t;

static void local_report_zone(const zone_message_t *message, void *ctx)
{
	static const message_level_t levels[] = {
		[ZONE_MESSAGE_NOTICE] = MESSAGE_NOTICE,
		[ZONE_MESSAGE_WARNING] = MESSAGE_WARNING,
		[ZONE_MESSAGE_ERROR] = MESSAGE_ERROR,
	};
	check_t *check = ctx;
	/* What the loader corrects automatically, such as different TTLs, is not a finding of the checks. */
	check->warned |= strncmp(message->text, "check, ", 7) == 0;
	message_tell(&(message_t){ .level = levels[message->level],
			.line = message->line,
			.members = {
					[MESSAGE_TEXT] = message->text,
					[MESSAGE_ZONE] = check->name,
					[MESSAGE_FILE] = message->file,
					[MESSAGE_OWNER] = message->owner,
					[MESSAGE_REASON] = message->reason,
					[MESSAGE_HINT] = message->hint,
			} });
}

/* An error about a zone; its name has the final dot. */
static void local_report_zone_error(const char *zone, const char *text)
{
	message_tell(&(message_t){
			.level = MESSAGE_ERROR, .members = { [MESSAGE_TEXT] = text, [MESSAGE_ZONE] = zone } });
}

static zone_checks_t local_choose_checks(conf_semchecks_t checks)
{
	switch (checks) {
	case CONF_SEMCHECKS_OFF: return ZONE_CHECKS_OFF;
	case CONF_SEMCHECKS_SOFT: return ZONE_CHECKS_SOFT;
	case CONF_SEMCHECKS_ON: return ZONE_CHECKS_ON;
	}
	return ZONE_CHECKS_OFF;
}

/* force: a warning is a failure too. */
static bool local_check_zone(const conf_t *conf, const conf_zone_t *zone, bool force)
{
	check_t check = { .warned = false };
	(void)knot_name_print(zone->name, check.name);
	char path[PATH_MAX];
	zone_contents_t *contents = NULL;
	const zone_skip_t skip = zone_skip_of(zone->zonefile_skip.data, zone->zonefile_skip.count);
	zone_build_params_t params = {
		.origin = zone->name,
		.default_ttl = zone->default_ttl,
		.checks = local_choose_checks(zone->semantic_checks),
		.size_max = zone->zone_max_size,
		.nsec3_iterations_end = zone->nsec3_max_iterations + 1,
		.skip = &skip,
		.now_s = sys_clock_wall(),
		.dnssec = zone->dnssec_signing ? ZONE_DNSSEC_OFF : ZONE_DNSSEC_IF_SIGNED,
		.prove = validate_report,
		.thread_count = conf_zone_policy(conf, zone)->threads,
		.on_message = local_report_zone,
		.lines = ZONE_LINES_ALL,
		.ctx = &check,
	};
	knot_err_t err = conf_zone_file(zone, path, sizeof(path));
	if (err == KNOT_OK) {
		err = zone_build_file(path, &params, &contents);
	}
	zone_contents_free(contents);
	if (err != KNOT_OK) {
		char text[KNOTC_ERROR_MAX];
		snprintf(text, sizeof(text), "failed to check zone file (%s)", knot_strerror(err));
		local_report_zone_error(check.name, text);
	}
	return err == KNOT_OK && !(force && check.warned);
}

static bool local_check_named(const conf_t *conf, const char *text, bool force)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	size_t index;
	if (knot_name_scan(knot_str_of(text), knot_name_root, wire, &name) != KNOT_OK) {
		size_t len = strlen(text);
		char given[KNOTC_ERROR_MAX];
		snprintf(given, sizeof(given), "%.500s%s", text, len > 0 && text[len - 1] == '.' ? "" : ".");
		local_report_zone_error(given, "invalid name");
		return false;
	}
	if (!conf_zone_find(conf, name, &index)) {
		char print[KNOT_NAME_TEXT_MAX];
		(void)knot_name_print(name, print);
		local_report_zone_error(print, knot_strerror(KNOT_ENOZONE));
		return false;
	}
	conf_zone_t zone = conf_zone(conf, index);
	return local_check_zone(conf, &zone, force);
}

bool knotc_zone_check(const params_t *params, const request_t *request)
{
	conf_t *conf;
	if (!knotc_load_conf(params, &conf)) {
		return knotc_finish(params, "zone-check", NULL, false);
	}
	bool is_good = true;
	if (request->units[0][KNOT_CTL_IDX_ZONE] == NULL) {
		for (size_t i = 0; i < conf->zone_count; i++) {
			conf_zone_t zone = conf_zone(conf, i);
			is_good &= local_check_zone(conf, &zone, params->flags.force);
		}
	} else {
		for (size_t i = 0; i < request->count; i++) {
			is_good &= local_check_named(conf, request->units[i][KNOT_CTL_IDX_ZONE], params->flags.force);
		}
	}
	conf_free(conf);
	return knotc_finish(params, "zone-check", NULL, is_good);
}
