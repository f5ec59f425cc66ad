/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/image_world.h"
#include "tests/sim/tcp_random.h"
#include "src/zone/image.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>

bool sim_fault(sim_world_t *world, const char *format, ...)
{
	if (world->fault[0] == '\0') {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(world->fault, sizeof(world->fault), format, arguments);
		va_end(arguments);
	}
	return false;
}

static store_options_t options_of(const sim_world_t *world)
{
	return (store_options_t){ .path = world->folder, .size_max = world->size_max, .format = SIM_FORMAT };
}

/* ---- Source and settings: functions of the version, so that head, chunks and source can be compared ---- */

static store_source_t source_of(const sim_world_t *world, unsigned zone, uint32_t serial)
{
	uint64_t dice = sim_mix(world->seed + serial);
	return (store_source_t){
		.path = knot_str_of(sim_zone_rows[zone].name),
		.size = dice >> 20,
		.inode = serial,
		.mtime_s = (int64_t)(dice >> 32),
		.mtime_ns = (uint32_t)(dice % 1000000000),
	};
}

static bool is_source(const store_source_t *a, const store_source_t *b)
{
	return a->path.len == b->path.len && memcmp(a->path.data, b->path.data, a->path.len) == 0 &&
	       a->size == b->size && a->inode == b->inode && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

static uint64_t settings_of(const sim_world_t *world, uint32_t serial)
{
	return sim_mix(world->seed ^ serial);
}

/* ---- Reading ---- */

typedef enum { IMAGE_NONE, IMAGE_REFUSED, IMAGE_READ } found_t;

/* What one image is, as far as its own parts say. contents is owned by the caller when it was read. */
typedef struct {
	found_t found;
	zone_contents_t *contents;
	uint32_t serial;
	uint64_t raw_digest;
	bool is_whole; /* head, source and settings name one version */
	store_reason_t reason;
} image_t;

static knot_err_t read_chunks(store_reader_t *reader, const store_view_t *view, XXH64_state_t *hash, knot_name_t name,
		zone_contents_t **ret_contents, store_reason_t *reason)
{
	zone_image_reader_t *image;
	knot_err_t err = zone_image_read_begin(view->head, view->chunk_lens, view->chunk_count, &image);
	if (err != KNOT_OK) {
		snprintf(reason->text, sizeof(reason->text), "zone_image_read_begin");
		return err;
	}
	for (uint32_t i = 0; i < view->chunk_count; i++) {
		uint8_t *to = zone_image_read_chunk(image, i);
		err = store_read_chunk(reader, i, to, reason);
		if (err != KNOT_OK) {
			zone_image_read_discard(image);
			return err;
		}
		XXH64_update(hash, to, view->chunk_lens[i]);
	}
	err = zone_image_read_end(image, name, ret_contents);
	if (err != KNOT_OK) {
		snprintf(reason->text, sizeof(reason->text), "zone_image_read_end");
	}
	return err;
}

/* A refusal must be one of the errors that the contract names, with a reason. */
static bool refuse(sim_world_t *world, unsigned zone, knot_err_t err, image_t *image)
{
	image->found = err == KNOT_ENOENT ? IMAGE_NONE : IMAGE_REFUSED;
	if (err != KNOT_ENOENT && err != KNOT_EMALF && err != KNOT_ENOTSUP && err != KNOT_EFILE) {
		return sim_fault(world, "%s: read gives error %d: %s", sim_zone_rows[zone].name, err,
				image->reason.text);
	}
	if (err != KNOT_ENOENT && image->reason.text[0] == '\0') {
		return sim_fault(world, "%s: error %d without a reason", sim_zone_rows[zone].name, err);
	}
	return true;
}

static bool read_image(sim_world_t *world, store_t *store, unsigned zone, image_t *ret)
{
	sim_name_t name;
	store_reader_t *reader;
	store_view_t view;
	*ret = (image_t){ 0 };
	knot_err_t err = store_read_begin(store, sim_zone_name(zone, &name), &reader, &view, &ret->reason);
	if (err != KNOT_OK) {
		return refuse(world, zone, err, ret);
	}
	XXH64_state_t *hash = XXH64_createState();
	XXH64_reset(hash, 0);
	XXH64_update(hash, view.head.data, view.head.len);
	uint32_t serial = view.serial;
	store_source_t source = source_of(world, zone, serial);
	ret->is_whole = view.source_count == 1 && is_source(&view.sources[0], &source) &&
			view.settings == settings_of(world, serial) && view.format == SIM_FORMAT;
	err = read_chunks(reader, &view, hash, name.name, &ret->contents, &ret->reason);
	store_read_end(reader);
	ret->raw_digest = XXH64_digest(hash);
	XXH64_freeState(hash);
	if (err != KNOT_OK) {
		return refuse(world, zone, err, ret);
	}
	ret->found = IMAGE_READ;
	ret->serial = serial;
	ret->is_whole = ret->is_whole && ret->contents->serial == serial;
	return true;
}

/* ---- Verifying ---- */

static uint64_t digest_of(sim_world_t *world, unsigned zone, uint32_t serial)
{
	if (world->digests[serial] == 0) {
		zone_contents_t *contents = sim_zone_build(world->seed, zone, serial);
		world->digests[serial] = sim_zone_digest(contents);
		zone_contents_free(contents);
	}
	return world->digests[serial];
}

static bool is_allowed(const sim_world_t *world, unsigned zone, uint32_t serial, sim_strictness_t strictness)
{
	const sim_promise_t *promise = &world->promises[zone];
	return serial == promise->saved ||
	       (promise->is_saving && serial == (promise->is_removing ? 0 : promise->pending)) ||
	       strictness == SIM_ANY_OR_REFUSED;
}

/* The bytes were looked at before, or everything that readers can see of them is now. */
static bool is_version(sim_world_t *world, unsigned zone, const image_t *image)
{
	if (world->raw_digests[image->serial] == image->raw_digest) {
		return true;
	}
	if (sim_zone_digest(image->contents) != digest_of(world, zone, image->serial)) {
		return false;
	}
	world->raw_digests[image->serial] = image->raw_digest;
	return true;
}

static bool verify_image(
		sim_world_t *world, unsigned zone, const image_t *image, sim_strictness_t strictness, bool is_new)
{
	const char *name = sim_zone_rows[zone].name;
	const sim_promise_t *promise = &world->promises[zone];
	if (image->found == IMAGE_REFUSED) {
		world->refused++;
		return strictness != SIM_AS_PROMISED || sim_fault(world, "%s: refused: %s", name, image->reason.text);
	}
	if (image->found == IMAGE_NONE) {
		world->empty++;
		/* Damage of a key hides an image: as if the zone had never been saved. No line is logged, and it is
		 * built from its source. */
		world->hidden +=
				strictness != SIM_AS_PROMISED && !is_new && !is_allowed(world, zone, 0, SIM_OR_REFUSED);
		return strictness != SIM_AS_PROMISED || is_allowed(world, zone, 0, strictness) ||
		       sim_fault(world, "%s: no image, but serial %u was saved", name, promise->saved);
	}
	world->verified++;
	if (image->serial == 0 || image->serial >= SIM_SERIALS || world->zone_of[image->serial] != zone + 1) {
		return sim_fault(world, "%s: serial %u was never published", name, image->serial);
	}
	if (!is_allowed(world, zone, image->serial, strictness)) {
		return sim_fault(world, "%s: serial %u; saved %u, being saved %u", name, image->serial, promise->saved,
				promise->is_saving ? promise->pending : 0);
	}
	if (!image->is_whole) {
		return sim_fault(world, "%s: head, source, settings and contents of serial %u disagree", name,
				image->serial);
	}
	return is_version(world, zone, image) ||
	       sim_fault(world, "%s: serial %u isn't what was published", name, image->serial);
}

typedef struct {
	sim_world_t *world;
	const bool *has;
	unsigned found;
	bool is_right;
} listing_t;

static bool visit_listed(knot_name_t name, void *ctx)
{
	listing_t *listing = ctx;
	sim_name_t own;
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		if (listing->has[zone] && knot_name_eq(name, sim_zone_name(zone, &own))) {
			listing->found++;
			return true;
		}
	}
	listing->is_right = sim_fault(listing->world, "an image is listed that can't be read");
	return false;
}

/* The list has the images that can be read, and no others. */
static bool verify_listing(sim_world_t *world, store_t *store, const bool *has)
{
	listing_t listing = { .world = world, .has = has, .is_right = true };
	unsigned want = 0;
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		want += has[zone];
	}
	knot_err_t err = store_each(store, visit_listed, &listing);
	if (err != KNOT_OK) {
		return sim_fault(world, "images can't be listed: %d", err);
	}
	return listing.is_right &&
	       (listing.found == want || sim_fault(world, "%u images listed of %u", listing.found, want));
}

/* The making of an environment that never held anything may have been torn: that it is set aside then loses nothing. */
static bool has_promised(const sim_world_t *world)
{
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		if (world->promises[zone].saved != 0) {
			return true;
		}
	}
	return false;
}

/* The disk gives errors in this process. */
static bool has_errors(const sim_world_t *world)
{
	return disk_control != NULL && world->disk.fail_at != 0;
}

/* ret_store: NULL if errors of the disk were to be expected. */
static bool open_store(sim_world_t *world, sim_strictness_t strictness, store_t **ret_store)
{
	*ret_store = NULL;
	store_reason_t reason = { "" };
	store_options_t options = options_of(world);
	knot_err_t err = store_open(&options, ret_store, &reason);
	if (err != KNOT_OK) {
		return (has_errors(world) && reason.text[0] != '\0') ||
		       sim_fault(world, "the store can't be opened: %d: %s", err, reason.text);
	}
	if (reason.text[0] == '\0') {
		return true;
	}
	world->set_aside++;
	if (strictness == SIM_AS_PROMISED && has_promised(world)) {
		store_close(*ret_store);
		return sim_fault(world, "opening the store says: %s", reason.text);
	}
	return true;
}

bool sim_verify(sim_world_t *world, sim_strictness_t strictness)
{
	store_t *store;
	uint64_t set_aside = world->set_aside;
	if (!open_store(world, strictness, &store)) {
		return false;
	}
	bool is_new = world->set_aside != set_aside;
	bool is_right = true, has[SIM_ZONES] = { false };
	for (unsigned zone = 0; zone < SIM_ZONES && is_right; zone++) {
		image_t image;
		is_right = read_image(world, store, zone, &image) &&
			   verify_image(world, zone, &image, strictness, is_new);
		has[zone] = image.found != IMAGE_NONE;
		zone_contents_free(image.contents);
		world->promises[zone] = (sim_promise_t){ .saved = image.serial };
	}
	is_right = is_right && (strictness != SIM_AS_PROMISED || verify_listing(world, store, has));
	store_close(store);
	return is_right;
}

/* ---- Publishing ---- */

/* A zone of the publisher: the version that readers would see. */
typedef struct {
	zone_contents_t *contents; /* owned; NULL: none */
	uint32_t serial;
} live_t;

typedef struct {
	sim_world_t *world;
	sim_random_t random;
	store_t *store;
	live_t zones[SIM_ZONES];
} publisher_t;

/* As a restarted daemon does: the image, if there is one, goes on. */
static bool take_up(publisher_t *publisher)
{
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		image_t image;
		if (!read_image(publisher->world, publisher->store, zone, &image)) {
			return false;
		}
		publisher->zones[zone] = (live_t){ image.contents, image.serial };
	}
	return true;
}

static bool is_stepwise(sim_zone_kind_t kind)
{
	return kind != SIM_SMALL && kind != SIM_REBUILT;
}

/* The next version of a zone. */
static void publish(publisher_t *publisher, unsigned zone)
{
	sim_world_t *world = publisher->world;
	live_t *live = &publisher->zones[zone];
	uint32_t serial = ++world->last_serial;
	if (serial >= SIM_SERIALS) {
		abort();
	}
	if (world->zone_of[serial] != zone + 1) { /* a scenario begins again, and takes another course */
		world->zone_of[serial] = (uint8_t)(zone + 1);
		world->digests[serial] = world->raw_digests[serial] = 0;
	}
	bool is_step = live->contents != NULL && is_stepwise(sim_zone_rows[zone].kind) &&
		       !sim_chance(&publisher->random, 60000);
	zone_contents_t *next = is_step ? sim_zone_step(world->seed, zone, live->contents, live->serial, serial)
					: sim_zone_build(world->seed, zone, serial);
	world->steps += is_step;
	zone_contents_free(live->contents);
	*live = (live_t){ next, serial };
}

/* A version to be saved: its own hold on the chunks, so that newer ones may be published meanwhile. */
typedef struct {
	sim_name_t name;
	zone_contents_t *held; /* owned */
	unsigned zone;
	uint32_t serial;
	store_source_t source;
	uint8_t *head;        /* owned */
	knot_bytes_t *chunks; /* owned */
} saving_t;

static void prepare(publisher_t *publisher, unsigned zone, saving_t *saving, store_image_t *image)
{
	const live_t *live = &publisher->zones[zone];
	zone_contents_t *held = zone_image_hold(live->contents);
	uint32_t count = held != NULL ? zone_image_chunk_count(held) : 0;
	*saving = (saving_t){
		.held = held,
		.zone = zone,
		.serial = live->serial,
		.source = source_of(publisher->world, zone, live->serial),
		.head = malloc(zone_image_head_len),
		.chunks = calloc(count + 1, sizeof(*saving->chunks)),
	};
	if (held == NULL || saving->head == NULL || saving->chunks == NULL) {
		abort();
	}
	zone_image_write_head(held, saving->head);
	for (uint32_t i = 0; i < count; i++) {
		saving->chunks[i] = zone_image_chunk(held, i);
	}
	*image = (store_image_t){
		.zone = sim_zone_name(zone, &saving->name),
		.sources = &saving->source,
		.source_count = 1,
		.serial = live->serial,
		.settings = settings_of(publisher->world, live->serial),
		.lineage = zone_image_lineage(held),
		.head = { saving->head, zone_image_head_len },
		.chunks = saving->chunks,
		.chunk_count = count,
	};
}

/* What was skipped stays as it was: the store says how many, not which, so all of the batch may be as before. */
static void settle(sim_world_t *world, const saving_t *savings, unsigned count, bool is_certain)
{
	for (unsigned i = 0; i < count; i++) {
		sim_promise_t *promise = &world->promises[savings[i].zone];
		if (is_certain) {
			*promise = (sim_promise_t){ .saved = savings[i].serial };
		}
	}
}

static bool save(publisher_t *publisher, const saving_t *savings, const store_image_t *images, unsigned count)
{
	sim_world_t *world = publisher->world;
	store_saved_t saved = { 0 };
	store_reason_t reason = { "" };
	for (unsigned i = 0; i < count; i++) {
		sim_promise_t *promise = &world->promises[savings[i].zone];
		promise->pending = savings[i].serial;
		promise->is_removing = false;
		promise->is_saving = true;
	}
	knot_err_t err = store_save(publisher->store, images, count, &saved, &reason);
	world->saves += count;
	world->bytes += saved.written;
	world->skipped += saved.skipped;
	world->errors += err != KNOT_OK;
	if (err != KNOT_OK && err != KNOT_ESPACE && !(has_errors(world) && err == KNOT_EFILE)) {
		return sim_fault(world, "saving gives error %d: %s", err, reason.text);
	}
	if ((err != KNOT_OK || saved.skipped > 0) != (reason.text[0] != '\0')) {
		return sim_fault(world, "saving gives %d, %u skipped, and the reason '%s'", err, saved.skipped,
				reason.text);
	}
	settle(world, savings, count, err == KNOT_OK && saved.skipped == 0);
	return true;
}

static bool save_zones(publisher_t *publisher, const bool *is_wanted)
{
	saving_t savings[SIM_ZONES];
	store_image_t images[SIM_ZONES];
	unsigned count = 0;
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		/* What an uncertain save of the zone left must be settled by reading before there is another. */
		bool is_here = sim_zone_rows[zone].kind != SIM_LARGE || publisher->world->has_large;
		if (is_wanted[zone] && is_here && !publisher->world->promises[zone].is_saving) {
			publish(publisher, zone);
			prepare(publisher, zone, &savings[count], &images[count]);
			count++;
			if (sim_below(&publisher->random, 3) == 0) {
				publish(publisher, zone); /* newer than what is saved, in the same chunks */
			}
		}
	}
	bool is_right = save(publisher, savings, images, count);
	for (unsigned i = 0; i < count; i++) {
		zone_contents_free(savings[i].held);
		free(savings[i].head);
		free(savings[i].chunks);
	}
	return is_right;
}

static bool save_some(publisher_t *publisher)
{
	enum { BATCH_MAX = 5 };
	bool is_wanted[SIM_ZONES] = { false };
	for (unsigned wanted = (unsigned)sim_between(&publisher->random, 1, BATCH_MAX); wanted > 0; wanted--) {
		is_wanted[sim_below(&publisher->random, SIM_ZONES)] = true;
	}
	return save_zones(publisher, is_wanted);
}

static bool rebuild(publisher_t *publisher)
{
	bool is_wanted[SIM_ZONES];
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		is_wanted[zone] = publisher->zones[zone].contents == NULL;
	}
	return save_zones(publisher, is_wanted);
}

static bool remove_some(publisher_t *publisher)
{
	sim_world_t *world = publisher->world;
	sim_name_t names[SIM_ZONES];
	knot_name_t zones[SIM_ZONES];
	unsigned which[SIM_ZONES], count = 0, want = 0;
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		sim_promise_t *promise = &world->promises[zone];
		if (sim_zone_rows[zone].kind == SIM_PASSING && !promise->is_saving) {
			promise->is_removing = true;
			promise->is_saving = true;
			want += promise->saved != 0;
			which[count] = zone;
			zones[count] = sim_zone_name(zone, &names[count]);
			count++;
		}
	}
	size_t removed = 0;
	store_reason_t reason = { "" };
	knot_err_t err = store_remove(publisher->store, zones, count, &removed, &reason);
	world->errors += err != KNOT_OK;
	if (err == KNOT_ESPACE || (has_errors(world) && err == KNOT_EFILE)) {
		return true;
	}
	if (err != KNOT_OK || removed != want) {
		return sim_fault(world, "removing gives error %d, %zu of %u removed: %s", err, removed, want,
				reason.text);
	}
	for (unsigned i = 0; i < count; i++) {
		world->promises[which[i]] = (sim_promise_t){ 0 };
		zone_contents_free(publisher->zones[which[i]].contents);
		publisher->zones[which[i]] = (live_t){ 0 };
	}
	world->removals += count;
	return true;
}

bool sim_publish(sim_world_t *world, const sim_work_t *work)
{
	publisher_t publisher = { .world = world, .random = { .state = sim_mix(work->script) } };
	disk_control = &world->disk;
	if (!open_store(world, SIM_AS_PROMISED, &publisher.store)) {
		return false;
	}
	if (publisher.store == NULL) {
		disk_control = NULL;
		return true;
	}
	bool is_right = take_up(&publisher) && (!work->rebuilds || rebuild(&publisher));
	for (unsigned i = 0; i < work->batches && is_right; i++) {
		is_right = sim_below(&publisher.random, 8) == 0 ? remove_some(&publisher) : save_some(&publisher);
	}
	store_close(publisher.store);
	disk_control = NULL;
	for (unsigned zone = 0; zone < SIM_ZONES; zone++) {
		zone_contents_free(publisher.zones[zone].contents);
	}
	return is_right;
}
