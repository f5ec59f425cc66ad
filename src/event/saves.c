/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/saves.h"

#include "src/zone/image.h"

/* ---- What waits. Under lock. ---- */

knot_err_t saves_reserve(saves_t *saves, size_t count)
{
	return queue_reserve(&saves->queue, count);
}

static void saves_put_entry(saves_t *saves, entry_t *entry) SYS_REQUIRES(saves->jobs->lock)
{
	/* The place of a purged zone stays until its turn, so there may be more places than zones. */
	if (saves->queue.count < saves->queue.room) {
		queue_put(&saves->queue, entry);
	} else {
		saves->is_incomplete = true;
	}
}

/* Queue the entries whose state is waiting. */
static void saves_requeue(saves_t *saves) SYS_REQUIRES(saves->jobs->lock)
{
	while (queue_take(&saves->queue) != NULL) {}
	saves->is_incomplete = false;
	for (size_t i = 0, count = saves->count(saves->ctx); i < count; i++) {
		entry_t *entry = saves->at(i, saves->ctx);
		if (entry->save == SAVE_WAITING) {
			saves_put_entry(saves, entry);
		}
	}
}

void saves_entries_changed(saves_t *saves)
{
	sys_mutex_assert_held(&saves->jobs->lock);
	if (saves->queue.count > 0 || saves->is_incomplete) {
		saves_requeue(saves);
	}
}

void saves_forget(saves_t *saves)
{
	sys_mutex_assert_held(&saves->jobs->lock);
	for (size_t i = 0, count = saves->count(saves->ctx); i < count; i++) {
		saves->at(i, saves->ctx)->save = SAVE_NONE;
	}
}

static void saves_mark_entry(saves_t *saves, entry_t *entry) SYS_REQUIRES(saves->jobs->lock)
{
	if (entry->save != SAVE_WAITING) {
		entry->save = SAVE_WAITING;
		saves_put_entry(saves, entry);
	}
}

/* A version that is saved stays, and with it all memory that a pass would give back: the pass ends first. */
static bool saves_may_take(const saves_t *saves, const entry_t *entry) SYS_REQUIRES(saves->jobs->lock)
{
	return !entry->is_running && (!entry->is_compacted || saves->jobs->stopping);
}

/* The next entry that waits and can be taken; looks at no more than *looks. */
static entry_t *saves_find_waiting(saves_t *saves, size_t *looks) SYS_REQUIRES(saves->jobs->lock)
{
	for (entry_t *entry; *looks > 0 && (entry = queue_take(&saves->queue)) != NULL;) {
		--*looks;
		if (entry->save == SAVE_WAITING && saves_may_take(saves, entry)) {
			return entry;
		}
		if (entry->save == SAVE_WAITING) {
			saves_put_entry(saves, entry);
		}
	}
	return NULL;
}

/* Call it while no job of the zone runs. False: out of memory. */
static bool saves_take_entry(const saves_t *saves, entry_t *entry, images_item_t *item, uint64_t *bytes)
{
	const sources_t *files = entry->source.files;
	item->contents = zone_image_hold(zone_contents(entry_zone(entry)));
	item->sources = files != NULL ? sources_copy_all(files) : NULL;
	item->print = entry->source.print;
	if (item->contents == NULL || (files != NULL && item->sources == NULL)) {
		zone_contents_free(item->contents);
		sources_free(item->sources);
		return false;
	}
	knot_name_lower(entry_name(entry), item->wire);
	item->name = knot_name_of(item->wire);
	for (uint32_t i = 0; i < zone_image_chunk_count(item->contents); i++) {
		*bytes += zone_image_chunk(item->contents, i).len;
	}
	images_note_taken(saves->images, item->name, item->contents->serial);
	entry->save = SAVE_TAKEN;
	entry->is_saving = true;
	return true;
}

static void saves_after_saving(const images_item_t *items, size_t count, bool success, void *ctx)
{
	saves_t *saves = ctx;
	sys_mutex_lock(&saves->jobs->lock);
	for (size_t i = 0; i < count; i++) {
		entry_t *entry = saves->find(items[i].name, saves->ctx);
		if (entry == NULL) {
			continue;
		}
		entry->is_saving = false;
		if (entry->save == SAVE_TAKEN) { /* else there is a newer version */
			entry->save = success ? SAVE_NONE : SAVE_FAILED;
		}
	}
	sys_mutex_unlock(&saves->jobs->lock);
}

/*
 * Without lock. For zones made from one file only its print is kept. If the file is unchanged, so is its description;
 * if not, the image would be useless.
 */
static size_t saves_describe(saves_t *saves, images_item_t *items, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		images_item_t *item = &items[i];
		if (item->sources == NULL) {
			item->sources = saves->describe(item->name, saves->ctx);
		}
		if (item->sources == NULL || sources_print(item->sources) != item->print) {
			saves_after_saving(item, 1, true, saves);
			zone_contents_free(item->contents);
			sources_free(item->sources);
			continue;
		}
		if (kept != i) {
			items[kept] = *item;
			items[kept].name = knot_name_of(items[kept].wire);
		}
		kept++;
	}
	return kept;
}

static size_t saves_take_waiting(saves_t *saves, images_item_t *items, size_t max, uint64_t bytes_max)
{
	size_t count = 0;
	uint64_t bytes = 0;
	sys_mutex_lock(&saves->jobs->lock);
	if (saves->queue.count == 0 && saves->is_incomplete) {
		saves_requeue(saves);
	}
	size_t looks = saves->queue.count;
	for (entry_t *entry; count < max && bytes < bytes_max && (entry = saves_find_waiting(saves, &looks)) != NULL;) {
		if (saves_take_entry(saves, entry, &items[count], &bytes)) {
			count++;
		} else {
			entry->save = SAVE_FAILED;
		}
	}
	sys_mutex_unlock(&saves->jobs->lock);
	return count;
}

static size_t saves_take(images_item_t *items, size_t max, uint64_t bytes_max, void *ctx)
{
	/* 0 means that there is nothing more. */
	size_t count, kept = 0;
	while (kept == 0 && (count = saves_take_waiting(ctx, items, max, bytes_max)) > 0) {
		kept = saves_describe(ctx, items, count);
	}
	return kept;
}

static void saves_retry(void *ctx)
{
	saves_t *saves = ctx;
	sys_mutex_lock(&saves->jobs->lock);
	for (size_t i = 0, count = saves->count(saves->ctx); i < count; i++) {
		entry_t *entry = saves->at(i, saves->ctx);
		if (entry->save == SAVE_FAILED) {
			saves_mark_entry(saves, entry);
		}
	}
	sys_mutex_unlock(&saves->jobs->lock);
}

static void saves_now_and_then(const char *path, void *ctx)
{
	saves_t *saves = ctx;
	saves->now_and_then(path, saves->ctx);
}

static bool saves_is_loading(void *ctx)
{
	saves_t *saves = ctx;
	sys_mutex_lock(&saves->jobs->lock);
	bool loading = saves->jobs->untried > 0;
	sys_mutex_unlock(&saves->jobs->lock);
	return loading;
}

void saves_after_job(saves_t *saves, entry_t *entry, job_outcome_t outcome)
{
	sys_mutex_assert_held(&saves->jobs->lock);
	/* A written file is another source of the same contents, so save them again. */
	bool is_new = (outcome.load != LOAD_FAILED && outcome.load != LOAD_UNCHANGED) || outcome.is_flushed;
	bool can_save = entry->source.print != 0 && images_exist(saves->images);
	if (is_new) {
		entry->save = SAVE_NONE;
	}
	if ((outcome.load == LOAD_FROM_FILE || outcome.load == LOAD_FROM_IMAGE_AND_CHANGES ||
			    outcome.load == LOAD_FROM_JOURNAL || outcome.load == LOAD_EDITED || outcome.is_flushed) &&
			can_save) {
		saves_mark_entry(saves, entry);
	}
	/* A waiting entry may have been passed over while the job ran. */
	if (entry->save == SAVE_WAITING) {
		images_wake(saves->images);
	}
	source_trim(&entry->source);
}

knot_err_t saves_open(saves_t *saves, const conf_database_t *conf)
{
	images_params_t params = {
		.path = conf->image_db,
		.size_max = conf->image_db_max_size,
		.take = saves_take,
		.saved = saves_after_saving,
		.retry = saves_retry,
		.now_and_then = saves_now_and_then,
		.is_busy = saves_is_loading,
		.ctx = saves,
	};
	return images_new(&params, &saves->images);
}

void saves_close(saves_t *saves)
{
	images_free(saves->images);
	queue_deinit(&saves->queue);
}
