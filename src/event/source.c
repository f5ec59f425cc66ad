/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/source.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "src/sys/clock.h"
#include "src/sys/rcu.h"
#include "src/zone/image.h"

/* The longest tick of kernels in use is 10 ms (CONFIG_HZ=100). */
enum { TICK_NS = 20 * 1000000 };

/* File systems without fractions of a second (and those with two seconds) have whole ones; another host's clock may be
 * wrong. */
enum { COARSE_NS = 2 * 1000000000LL };

knot_err_t source_stat(const char *path, struct stat *ret_info)
{
	assert(!sys_rcu_is_reading());
	if (stat(path, ret_info) != 0) {
		return knot_err_of_errno(errno);
	}
	/* A device has no end. A FIFO is allowed, for operators that know that loading waits for its writer. */
	return S_ISREG(ret_info->st_mode) || S_ISFIFO(ret_info->st_mode) ? KNOT_OK : KNOT_EFILE;
}

/* True if the time of change will show any later change of the file. Waits for that if it doesn't take long. */
static bool source_settle(const struct stat *info)
{
	if (!S_ISREG(info->st_mode)) {
		return false;
	}
	struct timespec now = sys_clock_real();
	if (now.tv_sec - info->st_mtim.tv_sec > 2 || info->st_mtim.tv_sec - now.tv_sec > 2) {
		return true;
	}
	int64_t age_ns =
			(int64_t)(now.tv_sec - info->st_mtim.tv_sec) * 1000000000 + now.tv_nsec - info->st_mtim.tv_nsec;
	if (age_ns < 0 || (info->st_mtim.tv_nsec == 0 && age_ns < COARSE_NS)) {
		return false;
	}
	if (age_ns < TICK_NS) {
		sys_clock_sleep_ns((uint64_t)(TICK_NS - age_ns));
	}
	return true;
}

static knot_err_t source_append(sources_t *sources, const store_source_t *source)
{
	if (sources->count == sources->max) {
		uint32_t max = sources->max == 0 ? 1 : 4 * sources->max;
		store_source_t *grown = realloc(sources->data, max * sizeof(*grown));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		sources->data = grown;
		sources->max = max;
	}
	char *path = strndup(source->path.data, source->path.len);
	if (path == NULL) {
		return KNOT_ENOMEM;
	}
	sources->data[sources->count] = *source;
	sources->data[sources->count++].path.data = path;
	return KNOT_OK;
}

static store_source_t source_of(const char *path, const struct stat *info)
{
	return (store_source_t){
		.path = knot_str_of(path),
		.size = (uint64_t)info->st_size,
		.inode = info->st_ino,
		.mtime_s = info->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)info->st_mtim.tv_nsec,
	};
}

void sources_add(sources_t *sources, const char *path, const struct stat *info)
{
	sources->unsettled |= !source_settle(info);
	store_source_t source = source_of(path, info);
	knot_err_t err = source_append(sources, &source);
	sources->failed = err != KNOT_OK ? err : sources->failed;
}

void sources_free(sources_t *take_sources)
{
	if (take_sources == NULL) {
		return;
	}
	for (uint32_t i = 0; i < take_sources->count; i++) {
		free((char *)take_sources->data[i].path.data);
	}
	free(take_sources->data);
	free(take_sources);
}

sources_t *sources_copy(const store_source_t *data, uint32_t count, uint64_t settings)
{
	sources_t *copy = calloc(1, sizeof(*copy));
	if (copy == NULL) {
		return NULL;
	}
	copy->settings = settings;
	for (uint32_t i = 0; i < count; i++) {
		if (source_append(copy, &data[i]) != KNOT_OK) {
			sources_free(copy);
			return NULL;
		}
	}
	return copy;
}

sources_t *sources_copy_all(const sources_t *sources)
{
	sources_t *copy = sources_copy(sources->data, sources->count, sources->settings);
	if (copy != NULL) {
		copy->unsettled = sources->unsettled;
		copy->failed = sources->failed;
		copy->is_ahead = sources->is_ahead;
		copy->has_serial = sources->has_serial;
		copy->serial = sources->serial;
	}
	return copy;
}

/* The present state of the file; all zero if there is none. False: neither can be determined. */
static bool source_look(const char *path, store_source_t *ret_source)
{
	struct stat info;
	knot_err_t err = source_stat(path, &info);
	if (err == KNOT_OK) {
		*ret_source = source_of(path, &info);
	} else if (err == KNOT_ENOENT) {
		*ret_source = (store_source_t){ .path = knot_str_of(path) };
	}
	return err == KNOT_OK || err == KNOT_ENOENT;
}

sources_t *sources_of_file(const char *path, uint64_t settings)
{
	store_source_t source;
	return source_look(path, &source) ? sources_copy(&source, 1, settings) : NULL;
}

bool source_is_same(const store_source_t *source)
{
	char path[PATH_MAX];
	struct stat now;
	if (source->path.len >= sizeof(path)) {
		return false;
	}
	memcpy(path, source->path.data, source->path.len);
	path[source->path.len] = '\0';
	knot_err_t err = source_stat(path, &now);
	if (err == KNOT_ENOENT) {
		now = (struct stat){ 0 };
	}
	return (err == KNOT_OK || err == KNOT_ENOENT) && store_source_is(source, &now);
}

uint64_t settings_number(const conf_zone_t *zone)
{
	/* Another release may check or compile differently. The layout of nodes has a number of its own. */
	static const char program[] = PACKAGE_VERSION;
	uint64_t values[] = { zone->default_ttl, (uint64_t)zone->semantic_checks, zone->zone_max_size,
		zone->nsec3_max_iterations, zone->zonemd_generate, zone->zonemd_verify, zone->dnssec_signing,
		zone->dnssec_validation, XXH3_64bits(program, sizeof(program)) };
	uint64_t number = XXH3_64bits(values, sizeof(values));
	const conf_bytes_list_t *const lists[] = { &zone->reverse_generate, &zone->include_from };
	for (size_t i = 0; i < KNOT_LEN(lists); i++) {
		for (size_t j = 0; j < lists[i]->count; j++) {
			number = XXH3_64bits_withSeed(lists[i]->data[j].data, lists[i]->data[j].len, number + i);
		}
	}
	for (size_t i = 0; i < zone->zonefile_skip.count; i++) {
		const char *word = zone->zonefile_skip.data[i];
		number = XXH3_64bits_withSeed(word, strlen(word), number);
	}
	return number;
}

static uint64_t source_print_one(uint64_t seed, const store_source_t *source)
{
	uint64_t values[] = { source->size, source->inode, (uint64_t)source->mtime_s, source->mtime_ns };
	uint64_t print = XXH3_64bits_withSeed(source->path.data, source->path.len, seed);
	return XXH3_64bits_withSeed(values, sizeof(values), print);
}

uint64_t sources_print(const sources_t *sources)
{
	if (sources->unsettled || sources->failed != KNOT_OK || sources->count == 0) {
		return 0;
	}
	uint64_t print = sources->settings;
	for (uint32_t i = 0; i < sources->count; i++) {
		print = source_print_one(print, &sources->data[i]);
	}
	return print == 0 ? 1 : print;
}

bool source_is_current(const load_source_t *source, const char *path, uint64_t settings)
{
	store_source_t file;
	if (source->print == 0 || !source_look(path, &file)) {
		return false;
	}
	uint64_t print = source_print_one(source_is_ahead(source) ? source->files->settings : settings, &file);
	for (uint32_t i = 1; source->files != NULL && i < source->files->count; i++) {
		if (!source_is_same(&source->files->data[i])) {
			return false;
		}
		print = source_print_one(print, &source->files->data[i]);
	}
	return (print == 0 ? 1 : print) == source->print;
}

knot_err_t source_go_ahead(load_source_t *source, const char *path, uint64_t settings, const uint32_t *serial)
{
	if (source_is_ahead(source)) {
		return KNOT_OK;
	}
	if (source->files == NULL) {
		sources_t *files = sources_of_file(path, settings);
		files = files != NULL ? files : calloc(1, sizeof(*files));
		if (files == NULL) {
			return KNOT_ENOMEM;
		}
		files->unsettled = source->print == 0 && serial != NULL;
		if (source->print != 0 && sources_print(files) != source->print) {
			/* It changed since it was read: no file is what the contents were made from. */
			sources_free(files);
			files = calloc(1, sizeof(*files));
			if (files == NULL) {
				return KNOT_ENOMEM;
			}
		}
		files->settings = settings;
		source->files = files;
		source->print = sources_print(files);
	}
	source->files->is_ahead = true;
	source->files->has_serial = serial != NULL;
	source->files->serial = serial != NULL ? *serial : 0;
	return KNOT_OK;
}

knot_err_t source_of_changes(const load_source_t *source, const char *path, uint64_t settings, const uint32_t *serial,
		load_source_t *ret_source)
{
	load_source_t copy = { .print = source->print };
	if (source->files != NULL) {
		copy.files = sources_copy_all(source->files);
		if (copy.files == NULL) {
			return KNOT_ENOMEM;
		}
	}
	knot_err_t err = source_go_ahead(&copy, path, settings, serial);
	if (err != KNOT_OK) {
		source_clear(&copy);
		return err;
	}
	*ret_source = copy;
	return KNOT_OK;
}

bool source_may_be_replaced(const load_source_t *source, const char *path, uint64_t settings)
{
	struct stat info;
	if (source_stat(path, &info) == KNOT_ENOENT) {
		return true;
	}
	if (!source_is_ahead(source)) {
		return source->print == 0 || source_is_current(source, path, settings);
	}
	bool is_same = source->files->count > 0;
	for (uint32_t i = 0; is_same && i < source->files->count; i++) {
		is_same = source_is_same(&source->files->data[i]);
	}
	return is_same;
}

void source_trim(load_source_t *source)
{
	if (source->files != NULL && source->files->count <= 1 && !source->files->is_ahead) {
		sources_free(source->files);
		source->files = NULL;
	}
}

void source_clear(load_source_t *source)
{
	sources_free(source->files);
	*source = (load_source_t){ 0 };
}
