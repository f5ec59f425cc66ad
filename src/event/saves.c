/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/saves.h"

#include "src/zone/image.h"

enum { SCAN_SLICE = 16384 }; /* entries looked at before others may have the lock */

/* ---- What waits. Under lock. ---- */

void saves_entries_changed(saves_t *saves)
{
	saves->recent_count = 0;
	saves->scan_at = 0;
	saves->scan_left = saves->count(saves->ctx);
}

static void mark(saves_t *saves, entry_t *entry)
{
	entry->save = SAVE_WAITING;
	if (saves->recent_count < SAVES_RECENT_MAX) {
		saves->recent[saves->recent_count++] = entry;
	} else {
		saves->scan_left = saves->count(saves->ctx);
	}
}

static entry_t *next_waiting(saves_t *saves, size_t *looks)
{
	while (saves->recent_count > 0) {
		entry_t *entry = saves->recent[--saves->recent_count];
		if (entry->save == SAVE_WAITING) {
			return entry;
		}
	}
	while (saves->scan_left > 0 && *looks > 0) {
		entry_t *entry = saves->at(saves->scan_at++ % saves->count(saves->ctx), saves->ctx);
		saves->scan_left--;
		--*looks;
		if (entry->save == SAVE_WAITING) {
			return entry;
		}
	}
	return NULL;
}

/* While no job of the zone runs. False: no memory. */
static bool take_entry(entry_t *entry, images_item_t *item, uint64_t *bytes)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	const sources_t *files = entry->source.files;
	item->contents = zone_image_hold(contents);
	item->sources = sources_copy(files->data, files->count, files->settings);
	if (item->contents == NULL || item->sources == NULL) {
		zone_contents_free(item->contents);
		sources_free(item->sources);
		return false;
	}
	knot_name_lower(entry_name(entry), item->wire);
	item->name = knot_name_of(item->wire);
	for (uint32_t i = 0; i < zone_image_chunk_count(item->contents); i++) {
		*bytes += zone_image_chunk(item->contents, i).len;
	}
	entry->save = SAVE_TAKEN;
	return true;
}

static size_t take_for_saving(images_item_t *items, size_t max, uint64_t bytes_max, void *ctx)
{
	saves_t *saves = ctx;
	size_t count = 0;
	uint64_t bytes = 0;
	bool more = true;
	while (more && count < max && bytes < bytes_max) {
		size_t looks = SCAN_SLICE;
		pthread_mutex_lock(&saves->jobs->lock);
		entry_t *entry;
		while (count < max && bytes < bytes_max && (entry = next_waiting(saves, &looks)) != NULL) {
			if (entry->job == JOB_RUNNING) {
				continue; /* marked again when it ends */
			}
			if (take_entry(entry, &items[count], &bytes)) {
				count++;
			} else {
				entry->save = SAVE_FAILED;
			}
		}
		more = saves->scan_left > 0;
		pthread_mutex_unlock(&saves->jobs->lock);
	}
	return count;
}

static void after_saving(const images_item_t *items, size_t count, bool success, void *ctx)
{
	saves_t *saves = ctx;
	pthread_mutex_lock(&saves->jobs->lock);
	for (size_t i = 0; i < count; i++) {
		entry_t *entry = saves->find(items[i].name, saves->ctx);
		if (entry == NULL || entry->save != SAVE_TAKEN) {
			continue; /* gone, or there is a newer version */
		}
		entry->save = success ? SAVE_NONE : SAVE_FAILED;
		if (success && entry->job != JOB_RUNNING) {
			source_trim(&entry->source);
		}
	}
	pthread_mutex_unlock(&saves->jobs->lock);
}

static void retry_saving(void *ctx)
{
	saves_t *saves = ctx;
	pthread_mutex_lock(&saves->jobs->lock);
	for (size_t i = 0, count = saves->count(saves->ctx); i < count; i++) {
		entry_t *entry = saves->at(i, saves->ctx);
		if (entry->save == SAVE_FAILED) {
			entry->save = SAVE_WAITING;
		}
	}
	saves_entries_changed(saves);
	pthread_mutex_unlock(&saves->jobs->lock);
}

static void now_and_then(const char *path, void *ctx)
{
	saves_t *saves = ctx;
	saves->now_and_then(path, saves->ctx);
}

static bool is_loading(void *ctx)
{
	saves_t *saves = ctx;
	pthread_mutex_lock(&saves->jobs->lock);
	bool loading = saves->jobs->untried > 0;
	pthread_mutex_unlock(&saves->jobs->lock);
	return loading;
}

void saves_after_job(saves_t *saves, entry_t *entry, load_outcome_t outcome)
{
	bool is_new = outcome != LOAD_FAILED && outcome != LOAD_UNCHANGED;
	bool can_save = entry->source.print != 0 && images_exist(saves->images);
	if (is_new) {
		entry->save = SAVE_NONE;
	}
	/* One that waits may have been passed over while the job ran. */
	if (entry->save == SAVE_WAITING || (outcome == LOAD_FROM_FILE && can_save)) {
		mark(saves, entry);
		images_wake(saves->images);
	} else if (entry->save == SAVE_NONE) {
		source_trim(&entry->source);
	}
}

knot_err_t saves_open(saves_t *saves, const conf_database_t *conf)
{
	images_params_t params = {
		.path = conf->image_db,
		.size_max = conf->image_db_max_size,
		.take = take_for_saving,
		.saved = after_saving,
		.retry = retry_saving,
		.now_and_then = now_and_then,
		.is_busy = is_loading,
		.ctx = saves,
	};
	return images_new(&params, &saves->images);
}

void saves_close(saves_t *saves)
{
	images_free(saves->images);
}
