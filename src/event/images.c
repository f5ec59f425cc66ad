/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/images.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/event/name_list.h"
#include "src/sys/lock.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/process.h"
#include "src/sys/thread.h"
#include "src/zone/image.h"

#include <xxhash.h>

enum {
	BATCH_ZONES = 4096, /* a transaction that the disk has to confirm costs milliseconds: share it */
	BATCH_BYTES = 8 << 20,
	GATHER_MS = 200,   /* what is published together is saved together */
	LOADING_MS = 3000, /* loading goes first, but not forever */
	LOADING_POLL_MS = 100,
	RETRY_MS = 5 * 60 * 1000, /* a full disk is seldom emptied within seconds, and trying costs writes */
	NOW_AND_THEN_MS = 5 * 60 * 1000,
	STOP_MS = 1000,          /* of saving when the server stops; for other zones the next start reads the files */
	HELPERS_MAX = 3,         /* threads that read an image beside the calling one */
	HELPED_BYTES = 16 << 20, /* smaller images are read before a thread has started */
};

/** A version that is being saved. */
typedef struct {
	uint64_t zone; /* hash of the name: a mistake only keeps changes apart that could be merged */
	uint32_t serial;
} taken_t;

struct images {
	images_params_t params;
	char *path;     /* owned */
	store_t *store; /* owned; NULL: there are no images */
	sys_thread_t writer;
	sys_mutex_t store_lock; /* held to change the store; taken before all others */
	sys_mutex_t lock;       /* all below */
	pthread_cond_t wake;
	bool wanted SYS_GUARDED_BY(lock);       /* something is to be saved */
	bool failing SYS_GUARDED_BY(lock);      /* the last attempt failed, and that was logged */
	uint64_t then_ms SYS_GUARDED_BY(lock);  /* when to call `now_and_then` */
	uint64_t retry_ms SYS_GUARDED_BY(lock); /* while failing: when to try again */
	taken_t *taken SYS_GUARDED_BY(lock);    /* owned; room for BATCH_ZONES */
	size_t taken_count SYS_GUARDED_BY(lock);
	bool stopping SYS_GUARDED_BY(lock);
	uint64_t stop_ms SYS_GUARDED_BY(lock);
};

/* ---- Opening ---- */

static void images_open_store(images_t *images)
{
	/* Make the parent: even the storage folder may be new. */
	char parent[PATH_MAX];
	if (snprintf(parent, sizeof(parent), "%s", images->path) < (int)sizeof(parent)) {
		char *slash = strrchr(parent, '/');
		if (slash != NULL && slash != parent) {
			*slash = '\0';
			(void)mkdir(parent, S_IRWXU | S_IRWXG);
		}
	}
	store_options_t options = {
		.path = images->path, .size_max = images->params.size_max, .format = ZONE_IMAGE_FORMAT
	};
	store_reason_t reason = { .text = "" };
	knot_err_t err = store_open(&options, &images->store, &reason);
	if (err != KNOT_OK) {
		images->store = NULL;
		log_server(LOG_WARNING,
				"images, failed to open '%s' (%s), zones will be read from their files at every start",
				images->path, reason.text[0] != '\0' ? reason.text : knot_strerror(err));
	} else if (reason.text[0] != '\0') {
		log_server(LOG_WARNING, "images, '%s' created again (%s)", images->path, reason.text);
	}
}

knot_err_t images_new(const images_params_t *params, images_t **ret_images)
{
	images_t *images = calloc(1, sizeof(*images));
	char *path = strdup(params->path);
	if (images == NULL || path == NULL) {
		free(images);
		free(path);
		return KNOT_ENOMEM;
	}
	images->params = *params;
	images->path = path;
	sys_mutex_init(&images->store_lock);
	sys_mutex_init(&images->lock);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&images->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	images_open_store(images);
	*ret_images = images;
	return KNOT_OK;
}

void images_free(images_t *images)
{
	if (images == NULL) {
		return;
	}
	store_close(images->store);
	sys_mutex_done(&images->store_lock);
	sys_mutex_done(&images->lock);
	pthread_cond_destroy(&images->wake);
	free(images->taken);
	free(images->path);
	free(images);
}

bool images_exist(const images_t *images)
{
	return images->store != NULL;
}

const char *images_path(const images_t *images)
{
	return images->store != NULL ? images->path : NULL;
}

/* ---- Saving ---- */

/** What store_save() gets: one allocation each. */
typedef struct {
	store_image_t *images;
	uint8_t *heads;
	knot_bytes_t *chunks;
} batch_t;

static void images_free_batch(batch_t *batch)
{
	free(batch->images);
	free(batch->heads);
	free(batch->chunks);
}

static knot_err_t images_batch_of(const images_item_t *items, size_t count, batch_t *ret_batch)
{
	size_t chunk_count = 0;
	for (size_t i = 0; i < count; i++) {
		chunk_count += zone_image_chunk_count(items[i].contents);
	}
	batch_t batch = {
		.images = calloc(count, sizeof(*batch.images)),
		.heads = calloc(count, zone_image_head_len),
		.chunks = calloc(chunk_count, sizeof(*batch.chunks)),
	};
	if (batch.images == NULL || batch.heads == NULL || batch.chunks == NULL) {
		images_free_batch(&batch);
		return KNOT_ENOMEM;
	}
	knot_bytes_t *chunk = batch.chunks;
	for (size_t i = 0; i < count; i++) {
		const zone_contents_t *contents = items[i].contents;
		uint8_t *head = batch.heads + i * zone_image_head_len;
		zone_image_write_head(contents, head);
		batch.images[i] = (store_image_t){
			.zone = items[i].name,
			.sources = items[i].sources->data,
			.source_count = items[i].sources->count,
			.serial = contents->serial,
			.settings = items[i].sources->settings,
			.is_ahead = items[i].sources->is_ahead,
			.lineage = zone_image_lineage(contents),
			.head = { head, zone_image_head_len },
			.chunks = chunk,
			.chunk_count = zone_image_chunk_count(contents),
		};
		for (uint32_t j = 0; j < batch.images[i].chunk_count; j++) {
			*chunk++ = zone_image_chunk(contents, j);
		}
	}
	*ret_batch = batch;
	return KNOT_OK;
}

static bool images_save_items(images_t *images, const images_item_t *items, size_t count, store_reason_t *ret_reason)
{
	batch_t batch;
	knot_err_t err = images_batch_of(items, count, &batch);
	if (err != KNOT_OK) {
		snprintf(ret_reason->text, sizeof(ret_reason->text), "%s", knot_strerror(err));
		return false;
	}
	store_saved_t saved = { 0 };
	err = store_save(images->store, batch.images, count, &saved, ret_reason);
	images_free_batch(&batch);
	if (err != KNOT_OK && ret_reason->text[0] == '\0') {
		snprintf(ret_reason->text, sizeof(ret_reason->text), "%s", knot_strerror(err));
	}
	bool success = err == KNOT_OK && saved.skipped == 0;
	if (success && saved.refused > 0) {
		log_server(LOG_WARNING, "images, %u not saved (%s), to be read from files at the next start",
				(unsigned)saved.refused, ret_reason->text);
	}
	return success;
}

static void images_free_items(images_item_t *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		zone_contents_free(items[i].contents);
		sources_free(items[i].sources);
	}
}

/* One batch. False: there was nothing to save, or it can't be saved now. */
static bool images_save_batch(images_t *images, images_item_t *items, bool *ret_failed)
{
	store_reason_t reason = { .text = "" };
	sys_mutex_lock(&images->store_lock);
	sys_mutex_lock(&images->lock);
	images->taken_count = 0;
	sys_mutex_unlock(&images->lock);
	size_t count = images->params.take(items, BATCH_ZONES, BATCH_BYTES, images->params.ctx);
	bool success = count == 0 || images_save_items(images, items, count, &reason);
	sys_mutex_unlock(&images->store_lock);
	if (count > 0) {
		images->params.saved(items, count, success, images->params.ctx);
	}
	images_free_items(items, count);
	if (!success) {
		*ret_failed = true;
		sys_mutex_lock(&images->lock);
		bool is_first = !images->failing;
		images->failing = true;
		images->retry_ms = sys_clock_ms() + RETRY_MS;
		sys_mutex_unlock(&images->lock);
		if (is_first) {
			log_server(LOG_WARNING,
					"images, failed to save (%s), zones are served and will be read from their "
					"files at the next "
					"start, next try in %d minutes or after a reload",
					reason.text, RETRY_MS / 60000);
		}
	}
	return count > 0;
}

static bool images_is_past_stop(images_t *images)
{
	sys_mutex_lock(&images->lock);
	bool past = images->stopping && sys_clock_ms() >= images->stop_ms;
	sys_mutex_unlock(&images->lock);
	return past;
}

/* Save everything that waits. */
static void images_save_all(images_t *images)
{
	bool failed = false;
	unsigned batches = 0;
	images_item_t *items = calloc(BATCH_ZONES, sizeof(*items));
	if (items == NULL) {
		log_server(LOG_WARNING, "images, failed to save (%s)", knot_strerror(KNOT_ENOMEM));
		return;
	}
	while (!images_is_past_stop(images) && images_save_batch(images, items, &failed)) {
		batches++;
	}
	free(items);
	if (batches > 2) {
		sys_memory_trim(); /* what was kept of many zones until now */
	}
	sys_mutex_lock(&images->lock);
	bool works_again = images->failing && batches > 0 && !failed;
	images->failing = images->failing && failed;
	sys_mutex_unlock(&images->lock);
	if (works_again) {
		log_server(LOG_INFO, "images, saved again");
	}
}

/* Under lock. Sleeps at most `ms`; woken by a stop, and by news unless `deaf`. */
static void images_nap(images_t *images, uint64_t ms, bool deaf) SYS_REQUIRES(images->lock)
{
	struct timespec end = sys_clock_until(CLOCK_MONOTONIC, ms);
	bool is_late = false;
	while (!is_late && !images->stopping) {
		is_late = !sys_mutex_wait_until(&images->lock, &images->wake, &end);
		if (!deaf) {
			return;
		}
	}
}

/* Under lock. */
static void images_call_now_and_then(images_t *images) SYS_REQUIRES(images->lock)
{
	uint64_t now_ms = sys_clock_ms();
	if (now_ms < images->then_ms) {
		return;
	}
	images->then_ms = now_ms + NOW_AND_THEN_MS;
	sys_mutex_unlock(&images->lock);
	images->params.now_and_then(images->path, images->params.ctx);
	sys_mutex_lock(&images->lock);
}

/* Under lock: wait until there is something to save. */
static void images_wait_for_news(images_t *images) SYS_REQUIRES(images->lock)
{
	while (!images->stopping && (!images->wanted || images->failing)) {
		images_call_now_and_then(images);
		uint64_t now_ms = sys_clock_ms();
		if (images->failing && now_ms >= images->retry_ms) {
			return;
		}
		uint64_t until_ms = images->failing && images->retry_ms < images->then_ms ? images->retry_ms
											  : images->then_ms;
		images_nap(images, until_ms > now_ms ? until_ms - now_ms : 0, false);
	}
}

/* Under lock: wait until it is time to save. */
static void images_wait_for_calm(images_t *images) SYS_REQUIRES(images->lock)
{
	images_nap(images, GATHER_MS, true);
	for (unsigned waited_ms = 0; !images->stopping && waited_ms < LOADING_MS; waited_ms += LOADING_POLL_MS) {
		sys_mutex_unlock(&images->lock);
		bool is_busy = images->params.is_busy(images->params.ctx);
		sys_mutex_lock(&images->lock);
		if (!is_busy) {
			return;
		}
		images_nap(images, LOADING_POLL_MS, true);
	}
}

static void images_run_writer(void *arg)
{
	images_t *images = arg;
	sys_mutex_lock(&images->lock);
	images->then_ms = sys_clock_ms() + NOW_AND_THEN_MS;
	for (bool last = false; !last;) {
		images_wait_for_news(images);
		images_wait_for_calm(images);
		last = images->stopping;
		images->wanted = false;
		bool retries = images->failing;
		sys_mutex_unlock(&images->lock);
		sys_thread_step_aside();
		if (retries) {
			images->params.retry(images->params.ctx);
		}
		if (!(last && retries)) {
			images_save_all(images);
		}
		sys_mutex_lock(&images->lock);
	}
	sys_mutex_unlock(&images->lock);
}

knot_err_t images_start(images_t *images)
{
	if (images->store == NULL) {
		return KNOT_OK;
	}
	images->taken = calloc(BATCH_ZONES, sizeof(*images->taken));
	if (images->taken == NULL) {
		return KNOT_ENOMEM;
	}
	images->writer = (sys_thread_t){
		.name = "images", .cpu = -1, .yields = true, .run = images_run_writer, .arg = images
	};
	return sys_thread_start(&images->writer);
}

void images_wake(images_t *images)
{
	sys_mutex_lock(&images->lock);
	bool was_wanted = images->wanted;
	images->wanted = true;
	sys_mutex_unlock(&images->lock);
	if (!was_wanted) {
		pthread_cond_signal(&images->wake);
	}
}

static uint64_t images_hash_name(knot_name_t name)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	return XXH3_64bits(wire, name.len);
}

void images_note_taken(images_t *images, knot_name_t name, uint32_t serial)
{
	sys_mutex_lock(&images->lock);
	/* Those that a batch has dropped again come first, and give way. */
	images->taken[images->taken_count++ % BATCH_ZONES] = (taken_t){ images_hash_name(name), serial };
	sys_mutex_unlock(&images->lock);
}

static bool images_find_taken(images_t *images, knot_name_t name, uint32_t *ret_serial)
{
	uint64_t zone = images_hash_name(name);
	bool is_found = false;
	sys_mutex_lock(&images->lock);
	for (size_t i = 0; i < images->taken_count && i < BATCH_ZONES && !is_found; i++) {
		is_found = images->taken[i].zone == zone;
		*ret_serial = images->taken[i].serial;
	}
	sys_mutex_unlock(&images->lock);
	return is_found;
}

size_t images_serials(images_t *images, knot_name_t name, uint32_t ret_serials[static 2])
{
	store_reader_t *reader;
	store_view_t view;
	store_reason_t reason = { .text = "" };
	/* In this order: what is saved meanwhile is one of the two. */
	size_t count = images_find_taken(images, name, ret_serials);
	if (images->store != NULL && store_read_begin(images->store, name, &reader, &view, &reason) == KNOT_OK) {
		ret_serials[count++] = view.serial;
		store_read_end(reader);
	}
	return count;
}

void images_retry(images_t *images)
{
	sys_mutex_lock(&images->lock);
	images->retry_ms = 0;
	sys_mutex_unlock(&images->lock);
	pthread_cond_signal(&images->wake);
}

void images_stop(images_t *images)
{
	if (images == NULL) {
		return;
	}
	sys_mutex_lock(&images->lock);
	images->stopping = true;
	images->stop_ms = sys_clock_ms() + STOP_MS;
	sys_mutex_unlock(&images->lock);
	pthread_cond_signal(&images->wake);
	sys_thread_join(&images->writer);
}

knot_err_t images_remove(images_t *images, const knot_name_t *names, size_t count, size_t *ret_removed)
{
	*ret_removed = 0;
	if (images->store == NULL || count == 0) {
		return KNOT_OK;
	}
	store_reason_t reason = { .text = "" };
	sys_mutex_lock(&images->store_lock);
	knot_err_t err = store_remove(images->store, names, count, ret_removed, &reason);
	sys_mutex_unlock(&images->store_lock);
	if (err != KNOT_OK) {
		log_server(LOG_ERR, "images, failed to remove from '%s' (%s)", images->path,
				reason.text[0] != '\0' ? reason.text : knot_strerror(err));
	}
	return err;
}

knot_err_t images_remove_if(images_t *images, bool (*wanted)(knot_name_t name, void *ctx), void *ctx)
{
	enum { BATCH = 1024 }; /* in a transaction */
	knot_name_t names[BATCH];
	name_list_t list = { .wanted = wanted, .ctx = ctx };
	knot_err_t err = images->store != NULL ? store_each(images->store, name_list_visit, &list) : KNOT_OK;
	err = err == KNOT_OK && list.is_full ? KNOT_ENOMEM : err;
	for (size_t count, removed; err == KNOT_OK && (count = name_list_take(&list, names, BATCH)) > 0;) {
		err = images_remove(images, names, count, &removed);
	}
	name_list_free(&list);
	return err;
}

/* ---- Reading ---- */

/** Chunks of one image, shared out among threads. */
typedef struct {
	store_reader_t *from;
	zone_image_reader_t *to;
	uint32_t count;
	_Atomic uint32_t next;
	_Atomic knot_err_t err;
	sys_mutex_t lock;
	store_reason_t reason; /* of the first failure; under lock */
} copying_t;

static void copy_chunks(void *arg)
{
	copying_t *copying = arg;
	for (uint32_t chunk; (chunk = atomic_fetch_add(&copying->next, 1)) < copying->count;) {
		store_reason_t reason = { .text = "" };
		knot_err_t err = store_read_chunk(
				copying->from, chunk, zone_image_read_chunk(copying->to, chunk), &reason);
		if (err != KNOT_OK) {
			sys_mutex_lock(&copying->lock);
			copying->reason = reason;
			sys_mutex_unlock(&copying->lock);
			atomic_store(&copying->err, err);
			atomic_store(&copying->next, copying->count);
		}
	}
}

static knot_err_t copy_all(copying_t *copying, uint64_t size)
{
	sys_thread_t helpers[HELPERS_MAX] = { 0 };
	unsigned count = size < HELPED_BYTES ? 0 : sys_cpu_count() - 1;
	for (unsigned i = 0; i < count && i < HELPERS_MAX; i++) {
		helpers[i] = (sys_thread_t){ .name = "images-read", .cpu = -1, .run = copy_chunks, .arg = copying };
		/* Not an error: without a helper it only takes longer. */
		if (sys_thread_start(&helpers[i]) != KNOT_OK) {
			break;
		}
	}
	copy_chunks(copying);
	for (unsigned i = 0; i < HELPERS_MAX; i++) {
		sys_thread_join(&helpers[i]);
	}
	return atomic_load(&copying->err);
}

static knot_err_t read_contents(store_reader_t *from, const store_view_t *view, knot_name_t origin,
		zone_contents_t **ret_contents, store_reason_t *ret_reason)
{
	zone_image_reader_t *to;
	knot_err_t err = zone_image_read_begin(view->head, view->chunk_lens, view->chunk_count, &to);
	if (err != KNOT_OK) {
		return err;
	}
	copying_t copying = { .from = from, .to = to, .count = view->chunk_count, .err = KNOT_OK };
	sys_mutex_init(&copying.lock);
	err = copy_all(&copying, view->size);
	sys_mutex_done(&copying.lock);
	if (err != KNOT_OK) {
		*ret_reason = copying.reason;
		zone_image_read_discard(to);
		return err;
	}
	return zone_image_read_end(to, origin, ret_contents);
}

/* NULL: the image is of the present files and settings; otherwise a text that says what differs. */
static const char *difference(
		const store_view_t *view, const images_query_t *query, char reason[static IMAGES_REASON_MAX])
{
	if (view->format != ZONE_IMAGE_FORMAT) {
		return "made by another version of the program";
	}
	if (view->source_count == 0 || !knot_str_eq(view->sources[0].path, knot_str_of(query->path))) {
		return "made from another zone file";
	}
	/* Changes that the files don't have are worth more than new settings. */
	if (view->settings != query->settings && !view->is_ahead) {
		return "settings of the zone or the version of the program changed";
	}
	if (!source_is_same(&view->sources[0])) {
		return "zone file changed";
	}
	for (uint32_t i = 1; i < view->source_count; i++) {
		if (!source_is_same(&view->sources[i])) {
			snprintf(reason, IMAGES_REASON_MAX, "included file '%.*s' changed",
					(int)view->sources[i].path.len, view->sources[i].path.data);
			return reason;
		}
	}
	return NULL;
}

static load_source_t source_of_view(const store_view_t *view)
{
	sources_t borrowed = {
		.data = (store_source_t *)view->sources, .count = view->source_count, .settings = view->settings
	};
	load_source_t source = { .print = sources_print(&borrowed) };
	if (view->source_count > 1 || view->is_ahead) {
		source.files = sources_copy(view->sources, view->source_count, view->settings);
		source.print = source.files != NULL ? source.print : 0;
	}
	if (source.files != NULL) {
		source.files->is_ahead = view->is_ahead;
	}
	return source;
}

static images_verdict_t verdict_of(knot_err_t err, const store_reason_t *reason, char text[static IMAGES_REASON_MAX])
{
	snprintf(text, IMAGES_REASON_MAX, "%s", reason->text[0] != '\0' ? reason->text : knot_strerror(err));
	switch ((int)err) {
	case KNOT_ENOENT: return IMAGES_NONE;
	case KNOT_ENOTSUP: return IMAGES_STALE;
	default: return IMAGES_DAMAGED;
	}
}

images_verdict_t images_read(images_t *images, const images_query_t *query, zone_contents_t **ret_contents,
		load_source_t *ret_source, char ret_reason[static IMAGES_REASON_MAX])
{
	store_reader_t *reader;
	store_view_t view;
	store_reason_t reason = { .text = "" };
	if (images->store == NULL) {
		return IMAGES_NONE;
	}
	knot_err_t err = store_read_begin(images->store, query->name, &reader, &view, &reason);
	if (err != KNOT_OK) {
		return verdict_of(err, &reason, ret_reason);
	}
	images_verdict_t verdict = IMAGES_READ;
	const char *different = difference(&view, query, ret_reason);
	if (different == NULL) {
		err = read_contents(reader, &view, query->name, ret_contents, &reason);
		if (err == KNOT_OK) {
			*ret_source = source_of_view(&view);
		} else {
			verdict = verdict_of(err, &reason, ret_reason);
		}
	} else {
		verdict = IMAGES_STALE;
		if (different != ret_reason) {
			snprintf(ret_reason, IMAGES_REASON_MAX, "%s", different);
		}
	}
	store_read_end(reader);
	return verdict;
}

void images_info(images_t *images, const images_query_t *query, images_info_t *ret_info)
{
	store_reader_t *reader;
	store_view_t view;
	store_reason_t reason = { .text = "" };
	*ret_info = (images_info_t){ .verdict = IMAGES_NONE };
	if (images->store == NULL) {
		return;
	}
	knot_err_t err = store_read_begin(images->store, query->name, &reader, &view, &reason);
	if (err != KNOT_OK) {
		ret_info->verdict = verdict_of(err, &reason, ret_info->reason);
		return;
	}
	const char *different = difference(&view, query, ret_info->reason);
	ret_info->verdict = different == NULL ? IMAGES_READ : IMAGES_STALE;
	if (different != NULL && different != ret_info->reason) {
		snprintf(ret_info->reason, sizeof(ret_info->reason), "%s", different);
	}
	ret_info->serial = view.serial;
	ret_info->size = view.size;
	ret_info->pieces = view.piece_count;
	ret_info->saved_s = view.saved_s;
	if (view.source_count > 0) {
		snprintf(ret_info->path, sizeof(ret_info->path), "%.*s", (int)view.sources[0].path.len,
				view.sources[0].path.data);
	}
	store_read_end(reader);
}
