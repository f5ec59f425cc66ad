/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/external.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/catalog/settings.h"
#include "src/event/internal.h"
#include "src/sys/clock.h"
#include "src/sys/dbus.h"
#include "src/sys/log.h"
#include "src/zone/dump.h"

struct external_wait {
	external_wait_t *next;
	knot_name_t name;
	enum { EXTERNAL_WAITS, EXTERNAL_ACCEPTED, EXTERNAL_REFUSED } state;
};

/** A block `external`, with the paths of a zone; "": not written. */
typedef struct {
	uint32_t timeout_s;
	char new_zone[PATH_MAX], removals[PATH_MAX], additions[PATH_MAX];
} external_settings_t;

void externals_init(externals_t *externals)
{
	*externals = (externals_t){ .first = NULL };
	sys_mutex_init(&externals->lock);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&externals->decided, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void externals_done(externals_t *externals)
{
	pthread_cond_destroy(&externals->decided);
	sys_mutex_done(&externals->lock);
}

void externals_stop(externals_t *externals)
{
	sys_mutex_lock(&externals->lock);
	externals->is_over = true;
	for (external_wait_t *wait = externals->first; wait != NULL; wait = wait->next) {
		wait->state = EXTERNAL_REFUSED;
	}
	pthread_cond_broadcast(&externals->decided);
	sys_mutex_unlock(&externals->lock);
}

/* ---- Which versions wait ---- */

static external_wait_t *external_find(const externals_t *externals, knot_name_t name) SYS_REQUIRES(externals->lock)
{
	external_wait_t *wait = externals->first;
	while (wait != NULL && knot_name_cmp(wait->name, name) != 0) {
		wait = wait->next;
	}
	return wait;
}

bool external_decide(externals_t *externals, knot_name_t name, bool is_accepted)
{
	sys_mutex_lock(&externals->lock);
	external_wait_t *wait = external_find(externals, name);
	bool is_waiting = wait != NULL && wait->state == EXTERNAL_WAITS;
	if (is_waiting) {
		wait->state = is_accepted ? EXTERNAL_ACCEPTED : EXTERNAL_REFUSED;
		pthread_cond_broadcast(&externals->decided);
	}
	sys_mutex_unlock(&externals->lock);
	return is_waiting;
}

bool external_is_waiting(externals_t *externals, knot_name_t name)
{
	sys_mutex_lock(&externals->lock);
	bool is_waiting = external_find(externals, name) != NULL;
	sys_mutex_unlock(&externals->lock);
	return is_waiting;
}

static void external_remove(externals_t *externals, external_wait_t *gone) SYS_REQUIRES(externals->lock)
{
	external_wait_t **at = &externals->first;
	while (*at != gone) {
		at = &(*at)->next;
	}
	*at = gone->next;
}

/* ---- Files ---- */

static int external_open(const char *path, bool is_behind)
{
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (is_behind ? O_APPEND : O_TRUNC), 0640);
}

static knot_err_t external_write_zone(const char *path, const zone_contents_t *zone)
{
	int fd = external_open(path, false);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	const zone_dump_params_t params = { .program = PACKAGE_STRING, .now_s = sys_clock_wall() };
	knot_err_t err = zone_dump(zone, fd, &params);
	return close(fd) == 0 || err != KNOT_OK ? err : knot_err_of_errno(errno);
}

static knot_err_t external_write_diff(const char *path, const zone_contents_t *base, const zone_contents_t *next,
		bool is_added, bool is_behind)
{
	int fd = external_open(path, is_behind);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	knot_err_t err = zone_dump_diff(base, next, is_added, is_added ? "Added records" : "Removed records", fd);
	return close(fd) == 0 || err != KNOT_OK ? err : knot_err_of_errno(errno);
}

static knot_err_t external_write(
		const external_settings_t *settings, const zone_contents_t *base, const zone_contents_t *next)
{
	bool is_one_file = strcmp(settings->removals, settings->additions) == 0;
	knot_err_t err = settings->new_zone[0] != '\0' ? external_write_zone(settings->new_zone, next) : KNOT_OK;
	if (err == KNOT_OK && settings->removals[0] != '\0') {
		err = external_write_diff(settings->removals, base, next, false, false);
	}
	if (err == KNOT_OK && settings->additions[0] != '\0') {
		err = external_write_diff(settings->additions, base, next, true, is_one_file);
	}
	return err;
}

/* ---- Asking ---- */

static knot_err_t external_take_path(const conf_zone_t *zone, const char *format, char path[static PATH_MAX])
{
	path[0] = '\0';
	return format != NULL ? conf_zone_path(zone, format, path, PATH_MAX) : KNOT_OK;
}

/* False: the zone's versions need nobody's consent. *ret_err: a file can't be named. */
static bool external_read_settings(
		const server_t *server, const zone_t *zone, external_settings_t *settings, knot_err_t *ret_err)
{
	RCU_READ_SECTION(guard);
	conf_zone_t conf;
	*ret_err = KNOT_OK;
	if (!catalog_zone_settings(state_load(&server->root, guard)->conf, zone, &conf) || conf.external.count == 0) {
		return false;
	}
	const conf_external_t *external = conf.external.data[0];
	settings->timeout_s = external->timeout_s;
	*ret_err = external_take_path(&conf, external->dump_new_zone, settings->new_zone);
	*ret_err = *ret_err == KNOT_OK ? external_take_path(&conf, external->dump_removals, settings->removals)
				       : *ret_err;
	*ret_err = *ret_err == KNOT_OK ? external_take_path(&conf, external->dump_additions, settings->additions)
				       : *ret_err;
	return true;
}

static void external_announce(knot_name_t name, uint32_t serial)
{
	char text[KNOT_NAME_TEXT_MAX];
	(void)knot_name_print(name, text);
	log_zone(LOG_NOTICE, name, "waiting for external validation");
	sys_dbus_external_verify(text, serial);
}

/* Wait for the decision. False: nothing is asked any more, as the server stops. */
static bool external_wait_for(externals_t *externals, external_wait_t *wait, uint32_t timeout_s, uint32_t serial)
{
	const struct timespec end = sys_clock_until(CLOCK_MONOTONIC, (uint64_t)timeout_s * 1000);
	bool is_late = false;
	sys_mutex_lock(&externals->lock);
	bool is_asked = !externals->is_over;
	if (is_asked) {
		wait->next = externals->first;
		externals->first = wait;
		sys_mutex_unlock(&externals->lock);
		external_announce(wait->name, serial); /* who hears of it finds it waiting */
		sys_mutex_lock(&externals->lock);
		while (wait->state == EXTERNAL_WAITS && !is_late) {
			is_late = !sys_mutex_wait_until(&externals->lock, &externals->decided, &end);
		}
		external_remove(externals, wait);
	}
	sys_mutex_unlock(&externals->lock);
	return is_asked;
}

knot_err_t external_ask(
		server_t *server, zone_t *zone, const zone_contents_t *base, const zone_contents_t *next, char *reason)
{
	external_settings_t settings;
	knot_err_t err;
	if (!external_read_settings(server, zone, &settings, &err)) {
		return KNOT_OK;
	}
	err = err == KNOT_OK ? external_write(&settings, base, next) : err;
	if (err != KNOT_OK) {
		log_zone(LOG_ERR, zone_name(zone),
				"failed to dump new zone version or zone diff for external validation (%s)",
				knot_strerror(err));
		return err;
	}
	external_wait_t wait = { .name = zone_name(zone) };
	jobs_step_out(&server->jobs);
	server_note_tried(server, entry_of(zone));
	bool is_asked = external_wait_for(&server->externals, &wait, settings.timeout_s, next->serial);
	jobs_step_in(&server->jobs);
	if (wait.state == EXTERNAL_ACCEPTED) {
		return KNOT_OK;
	}
	snprintf(reason, UPDATE_REASON_MAX, "%s",
			!is_asked                      ? "the server stops"
			: wait.state == EXTERNAL_WAITS ? "there was no decision in time"
						       : "it was refused");
	return KNOT_EEXTERNAL;
}
