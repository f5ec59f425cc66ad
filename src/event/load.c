/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/load.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/zone/build.h"

enum { FAULT_LINES_MAX = 20 }; /* lines per file: a file of rubbish must not fill the disk with log */

static knot_err_t stat_source(const char *path, load_source_t *ret_source)
{
	struct stat info;
	if (stat(path, &info) != 0) {
		return knot_err_of_errno(errno);
	}
	if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
		return KNOT_EFILE; /* a device has no end; a FIFO is for those who know that loading waits for its writer */
	}
	*ret_source = (load_source_t){ .mtime = info.st_mtim, .size = (uint64_t)info.st_size, .inode = info.st_ino };
	return KNOT_OK;
}

bool load_is_needed(const conf_zone_t *zone, const load_source_t *source)
{
	char path[PATH_MAX];
	load_source_t now = { 0 };
	if (source->inode == 0 || conf_zone_file(zone, path, sizeof(path)) != KNOT_OK ||
	    stat_source(path, &now) != KNOT_OK) {
		return true;
	}
	return now.mtime.tv_sec != source->mtime.tv_sec || now.mtime.tv_nsec != source->mtime.tv_nsec ||
	       now.size != source->size || now.inode != source->inode;
}

/** Settings of a load, copied: a reload may free the configuration meanwhile. */
typedef struct {
	char path[PATH_MAX];
	uint32_t default_ttl;
	zone_checks_t checks;
	uint64_t size_max;
} settings_t;

static zone_checks_t checks_of(conf_semchecks_t conf)
{
	switch (conf) {
	case CONF_SEMCHECKS_OFF: return ZONE_CHECKS_OFF;
	case CONF_SEMCHECKS_SOFT: return ZONE_CHECKS_SOFT;
	case CONF_SEMCHECKS_ON: return ZONE_CHECKS_ON;
	}
	return ZONE_CHECKS_OFF;
}

/* KNOT_ENOZONE: the zone isn't configured any more. */
static knot_err_t read_settings(const state_root_t *root, knot_name_t name, settings_t *ret_settings)
{
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
	return conf_zone_file(&zone, ret_settings->path, sizeof(ret_settings->path));
}

typedef struct {
	knot_name_t name;
	const char *path;
	unsigned lines;
} report_t;

static void on_message(zone_message_level_t level, const char *text, void *ctx)
{
	report_t *report = ctx;
	report->lines++;
	if (report->lines > FAULT_LINES_MAX) {
		return;
	}
	static const int levels[] = {
		[ZONE_MESSAGE_NOTICE] = LOG_NOTICE,
		[ZONE_MESSAGE_WARNING] = LOG_WARNING,
		[ZONE_MESSAGE_ERROR] = LOG_ERR,
	};
	log_zone(levels[level], report->name, "%s", text);
	if (report->lines == FAULT_LINES_MAX) {
		log_zone(LOG_WARNING, report->name, "further messages about zone file '%s' suppressed", report->path);
	}
}

/* What Knot says after the messages about single faults. */
static void log_failure(knot_name_t name, const char *path, knot_err_t err)
{
	log_zone(LOG_ERR, name, "failed to parse zone file '%s' (%s)", path, knot_strerror(err));
	if (err == KNOT_ENOENT) {
		log_zone(LOG_INFO, name, "zone not found");
	}
	log_zone(LOG_ERR, name, "zone event 'load' failed (%s)", knot_strerror(err));
}

static void publish(zone_t *zone, zone_contents_t *contents)
{
	uint32_t serial = contents->serial;
	uint64_t size = contents->wire_size;
	zone_contents_t *old = zone_publish(zone, contents);
	char before[16] = "none";
	if (old != NULL) {
		snprintf(before, sizeof(before), "%u", old->serial);
	}
	log_zone(LOG_INFO, zone_name(zone), "loaded, serial %s -> %u, %llu bytes", before, serial,
		 (unsigned long long)size);
	if (old != NULL) {
		sys_rcu_wait();
		zone_contents_free(old);
	}
}

knot_err_t load_zone(const state_root_t *root, zone_t *zone, load_source_t *source)
{
	settings_t settings;
	knot_name_t name = zone_name(zone);
	knot_err_t err = read_settings(root, name, &settings);
	if (err == KNOT_ENOZONE) {
		return err;
	}
	report_t report = { .name = name, .path = settings.path };
	zone_build_params_t params = {
		.origin = name,
		.default_ttl = settings.default_ttl,
		.checks = settings.checks,
		.size_max = settings.size_max,
		.now_s = sys_clock_wall(),
		.on_message = on_message,
		.ctx = &report,
	};
	/* Identity before reading: a file that changes meanwhile is then seen as changed by the next reload. */
	load_source_t found = { 0 };
	zone_contents_t *contents = NULL;
	err = err == KNOT_OK ? stat_source(settings.path, &found) : err;
	err = err == KNOT_OK ? zone_build_file(settings.path, &params, &contents) : err;
	if (err != KNOT_OK) {
		log_failure(name, settings.path, err);
		return err;
	}
	log_zone(LOG_INFO, name, "zone file parsed, serial %u", contents->serial);
	publish(zone, contents);
	*source = found;
	return KNOT_OK;
}
