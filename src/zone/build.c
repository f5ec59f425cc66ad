/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/build.h"

#include "src/zone/compile.h"
#include "src/zone/locate.h"

#include "src/zone/idna.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 2048 }; /* a name in presentation form, a path and some words */

typedef struct {
	const zone_build_params_t *params;
	zone_collect_t collect;
	uint64_t fault_count;
	knot_err_t err;     /* why the scan was ended: KNOT_ENOMEM, KNOT_EZONESIZE */
	uint64_t owner_id;  /* of the last record that was collected; 0: none */
	size_t group_count; /* groups when it came */
	uint32_t group_ttl; /* TTL of the group's records so far */
	bool has_mixed_ttl; /* they differ */
} load_t;

__attribute__((format(printf, 3, 4))) static void tell(
		const zone_build_params_t *params, zone_message_level_t level, const char *format, ...)
{
	if (params->on_message == NULL) {
		return;
	}
	char text[MESSAGE_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	params->on_message(&(zone_message_t){ .level = level, .text = text }, params->ctx);
}

/* As Knot: the last TTL counts, and a message says when it differs from the one before. */
static void tell_ttl_mismatch(const load_t *load, const zone_group_t *group, const knot_zone_record_t *record)
{
	bool has_previous = false;
	uint32_t ttl = 0;
	zone_packed_t r;
	for (size_t pos = 0; zone_group_next(&load->collect, group, &pos, &r);) {
		has_previous = has_previous || r.type == record->type;
		ttl = r.type == record->type ? r.ttl : ttl;
	}
	if (record->type == KNOT_TYPE_RRSIG || !has_previous || ttl == record->ttl) {
		return;
	}
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	knot_name_print(zone_group_name(group), owner);
	knot_rrtype_print(record->type, type);
	tell(load->params, ZONE_MESSAGE_NOTICE, "zone loader, TTL mismatch, owner %s, type %s, TTL set to %u", owner,
			type, (unsigned)record->ttl);
}

/* While all of a group's TTLs are the same, there is nothing to compare. */
static void check_ttl(load_t *load, const knot_zone_record_t *record)
{
	const zone_collect_t *collect = &load->collect;
	if (collect->group_count != load->group_count) {
		load->group_count = collect->group_count;
		load->group_ttl = record->ttl;
		load->has_mixed_ttl = false;
	}
	load->has_mixed_ttl = load->has_mixed_ttl || load->group_ttl != record->ttl;
	if (load->has_mixed_ttl) {
		tell_ttl_mismatch(load, collect->last, record);
	}
}

static bool on_record(const knot_zone_record_t *record, void *ctx)
{
	load_t *load = ctx;
	if (load->fault_count > 0) {
		return true; /* only further faults are of interest */
	}
	if (zone_skip_has(load->params->skip, record->type)) {
		return true;
	}
	if (record->owner_id != load->owner_id) {
		if (!knot_name_in(record->owner, load->collect.origin)) {
			char owner[KNOT_NAME_TEXT_MAX];
			knot_name_print(record->owner, owner);
			tell(load->params, ZONE_MESSAGE_WARNING, "zone loader, ignoring out-of-zone data, owner %s",
					owner);
			return true;
		}
		load->err = zone_collect_owner(&load->collect, record->owner);
		load->owner_id = record->owner_id;
	}
	if (load->err == KNOT_OK) {
		check_ttl(load, record);
		load->err = zone_collect_record(&load->collect, record->type, record->ttl, record->rdata);
	}
	return load->err == KNOT_OK;
}

static void on_file(const char *path, const struct stat *info, void *ctx)
{
	const load_t *load = ctx;
	if (load->params->on_file != NULL) {
		load->params->on_file(path, info, load->params->ctx);
	}
}

static bool build_should_stop(void *ctx)
{
	const load_t *load = ctx;
	return load->params->should_stop != NULL && load->params->should_stop(load->params->ctx);
}

static bool on_fault(const knot_zone_fault_t *fault, void *ctx)
{
	load_t *load = ctx;
	char name[KNOT_NAME_TEXT_MAX], hint[KNOT_NAME_TEXT_MAX + 64] = "", text[MESSAGE_MAX];
	load->fault_count++;
	if (load->params->on_message == NULL) {
		return true;
	}
	if (zone_idna_to_ascii(fault->token, name, sizeof(name))) {
		snprintf(hint, sizeof(hint), "not IDNA, did you mean '%s'?", name);
	}
	snprintf(text, sizeof(text), "zone loader, error in zone, file '%s', line %llu (%s)", fault->file,
			(unsigned long long)fault->line, fault->reason);
	load->params->on_message(&(zone_message_t){ .level = ZONE_MESSAGE_ERROR,
						 .text = text,
						 .file = fault->file,
						 .line = fault->line,
						 .reason = fault->reason,
						 .hint = hint[0] != '\0' ? hint : NULL },
			load->params->ctx);
	return true;
}

static knot_err_t build_prove(
		const zone_build_params_t *params, const zone_contents_t *zone, const zone_check_params_t *checks)
{
	bool is_wanted = params->prove != NULL && zone_check_has_dnssec(zone, checks);
	return is_wanted ? params->prove(zone, checks) : KNOT_OK;
}

/* Check the version. Faults get the line numbers of their names if they fail the zone, or if the caller asked for
 * lines. */
static knot_err_t build_check(const load_t *load, const zone_contents_t *zone, const char *path, const knot_str_t *text)
{
	const zone_build_params_t *params = load->params;
	const knot_zonefile_params_t scan = { .origin = load->collect.origin,
		.default_ttl = params->default_ttl,
		.should_stop = params->should_stop,
		.ctx = params->ctx };
	/* What comes from standard input can't be read again. */
	bool is_readable = text != NULL || strcmp(path, "-") != 0;
	zone_locate_t locate = { .on_message = params->on_message,
		.ctx = params->ctx,
		.path = path,
		.text = text,
		.scan = is_readable ? &scan : NULL,
		.is_always = params->lines == ZONE_LINES_ALL };
	zone_check_params_t checks = zone_build_checks(params);
	checks.dnssec = params->dnssec;
	if (params->lines != ZONE_LINES_NONE) {
		checks.on_message = zone_locate_add;
		checks.ctx = &locate;
	}
	knot_err_t err = zone_check(zone, &checks);
	err = err == KNOT_OK ? build_prove(params, zone, &checks) : err;
	zone_locate_tell(&locate);
	return err;
}

/* There is no version yet. */
static void build_tell_no_soa(const zone_build_params_t *params)
{
	char owner[KNOT_NAME_TEXT_MAX];
	const zone_found_t found = { .fault = ZONE_FAULT_SOA_MISSING, .type = KNOT_TYPE_SOA, .owner = params->origin };
	if (params->on_message != NULL) {
		knot_name_print(params->origin, owner);
		params->on_message(&(zone_message_t){ .level = ZONE_MESSAGE_ERROR,
						   .text = "check, missing SOA at the zone apex",
						   .owner = owner,
						   .found = &found },
				params->ctx);
	}
}

static knot_err_t build_finish(load_t *load, const char *path, const knot_str_t *text, zone_contents_t **ret_zone)
{
	const zone_build_params_t *params = load->params;
	if (load->err != KNOT_OK || build_should_stop(load)) {
		return load->err != KNOT_OK ? load->err : KNOT_ESTOPPED;
	}
	if (load->fault_count > 0) {
		tell(params, ZONE_MESSAGE_ERROR, "zone loader, failed to load zone, file '%s', %llu errors", path,
				(unsigned long long)load->fault_count);
		return KNOT_EPARSEFAIL;
	}
	zone_contents_t *zone;
	knot_err_t err = zone_compile(&load->collect, params, &zone);
	if (err == KNOT_ENOSOA) {
		build_tell_no_soa(params);
	}
	if (err != KNOT_OK) {
		return err;
	}
	if (build_should_stop(load)) {
		zone_contents_free(zone);
		return KNOT_ESTOPPED;
	}
	err = build_check(load, zone, path, text);
	if (err != KNOT_OK) {
		tell(params, ZONE_MESSAGE_ERROR, "zone loader, failed to load zone, file '%s' (%s)", path,
				knot_strerror(err));
		zone_contents_free(zone);
		return err;
	}
	*ret_zone = zone;
	return KNOT_OK;
}

static knot_err_t build_build(
		const char *path, const knot_str_t *text, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	load_t load = { .params = params, .err = KNOT_OK };
	zone_collect_init(&load.collect, params->origin);
	knot_zonefile_params_t scan = {
		.origin = load.collect.origin,
		.default_ttl = params->default_ttl,
		.on_record = on_record,
		.on_fault = on_fault,
		.on_file = on_file,
		.should_stop = build_should_stop,
		.ctx = &load,
	};
	knot_err_t err = text != NULL ? knot_zonefile_scan_text(*text, path, &scan) : knot_zonefile_scan(path, &scan);
	if (err == KNOT_OK || err == KNOT_EPARSEFAIL) {
		err = build_finish(&load, path, text, ret_zone);
	}
	zone_collect_done(&load.collect);
	zone_compile_trim(err == KNOT_OK ? (*ret_zone)->record_count : 0);
	return err;
}

knot_err_t zone_build_file(const char *path, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	return build_build(path, NULL, params, ret_zone);
}

knot_err_t zone_build_text(
		knot_str_t text, const char *path, const zone_build_params_t *params, zone_contents_t **ret_zone)
{
	return build_build(path, &text, params, ret_zone);
}
