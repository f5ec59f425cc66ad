/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/journal_world.h"

#include "src/journal/changeset.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool journal_fault(journal_world_t *world, const char *format, ...)
{
	if (world->fault[0] == '\0') {
		va_list args;
		va_start(args, format);
		vsnprintf(world->fault, sizeof(world->fault), format, args);
		va_end(args);
	}
	return false;
}

/* ---- Zones and their changes ---- */

typedef struct {
	uint8_t wire[8];
	knot_name_t name;
} zone_name_t;

static knot_name_t zone_name(int zone, zone_name_t *ret_name)
{
	memcpy(ret_name->wire, (uint8_t[]){ 2, 'z', (uint8_t)('a' + zone), 0 }, 4);
	return ret_name->name = (knot_name_t){ ret_name->wire, 4, 1 };
}

/* Bytes of the record of a version: most fit a page, some need pages of their own, a few many. */
static size_t record_len(int zone, uint32_t serial)
{
	uint64_t x = sim_mix((uint64_t)zone << 32 | serial);
	switch (x % 16) {
	case 0: return 20000 + x % 40000;
	case 1:
	case 2: return 1500 + x % 9000;
	default: return 8 + x % 300;
	}
}

static void put_record(changeset_writer_t *writer, int zone, uint32_t serial, bool is_added)
{
	static _Thread_local uint8_t data[KNOT_RDATA_MAX];
	zone_name_t name;
	size_t len = record_len(zone, serial);
	sim_stream_fill((uint64_t)zone << 32 | serial, 0, data, len);
	changeset_put(writer, &(changeset_rr_t){ zone_name(zone, &name), 65280, 60, { data, len } }, is_added);
}

static void put_soa(changeset_writer_t *writer, int zone, uint32_t serial, bool is_added)
{
	zone_name_t name;
	uint8_t data[22] = { 0 };
	store_be32(data + 2, serial);
	changeset_put(writer, &(changeset_rr_t){ zone_name(zone, &name), KNOT_TYPE_SOA, 60, { data, 22 } }, is_added);
}

/* From version `from` to `to`; whole: only the latter. payload: free(). */
static journal_change_t make_change(int zone, uint32_t from, uint32_t to, bool whole)
{
	changeset_writer_t writer = { 0 };
	if (!whole) {
		put_soa(&writer, zone, from, false);
		put_record(&writer, zone, from, false);
	}
	put_soa(&writer, zone, to, true);
	put_record(&writer, zone, to, true);
	uint8_t *data;
	size_t len;
	if (changeset_finish(&writer, whole ? CHANGESET_WHOLE : CHANGESET_STEP, &data, &len) != KNOT_OK) {
		abort();
	}
	return (journal_change_t){ .serial_from = from, .serial_to = to, .time_s = to, .payload = { data, len } };
}

/* ---- Storing ---- */

typedef struct {
	journal_world_t *world;
	journal_t *journal;
	const journal_work_t *work;
	sim_random_t random;
	int first, stride; /* zones first, first + stride … are this thread's */
	bool is_right, is_ending;
	pthread_t thread;
} worker_t;

static size_t give_borders(uint32_t ret_serials[static JOURNAL_BORDERS_MAX], void *ctx)
{
	const journal_promise_t *promise = ctx;
	/* What is being saved first: while this reads it may become what was saved. */
	for (int i = JOURNAL_BORDERS_MAX; i-- > 0;) {
		ret_serials[i] = __atomic_load_n(&promise->is.images[i], __ATOMIC_SEQ_CST);
	}
	return JOURNAL_BORDERS_MAX;
}

static journal_limits_t limits_of(worker_t *worker, int zone)
{
	return (journal_limits_t){ .usage_max = zone % 2 == 0 ? 64 << 20 : 1 << 20,
		.depth_max = SIM_DEPTH,
		.may_merge = zone % 2 == 0,
		.borders = give_borders,
		.borders_ctx = &worker->world->promises[zone] };
}

static void promise_begin(journal_promise_t *promise, const journal_state_t *next)
{
	if (promise->has_perhaps && !promise->has_refused) {
		promise->refused = promise->perhaps;
		__atomic_store_n(&promise->has_refused, true, __ATOMIC_SEQ_CST);
	}
	promise->perhaps = *next;
	__atomic_store_n(&promise->has_perhaps, true, __ATOMIC_SEQ_CST);
}

/* The call has returned. Whether one that failed did something isn't known. */
static void promise_end(journal_promise_t *promise, knot_err_t err)
{
	if (err == KNOT_OK) {
		promise->is = promise->perhaps;
		__atomic_store_n(&promise->has_perhaps, false, __ATOMIC_SEQ_CST);
		__atomic_store_n(&promise->has_refused, false, __ATOMIC_SEQ_CST);
	}
}

static bool worker_judge(worker_t *worker, const char *what, int zone, knot_err_t err)
{
	if (err == KNOT_OK) {
		return true;
	}
	worker->world->refused++;
	bool is_room = err == KNOT_ESPACE || err == KNOT_EFILE || err == KNOT_EAGAIN || err == KNOT_EACCES;
	if (worker->work->may_fail && is_room) {
		return true;
	}
	return journal_fault(worker->world, "zone %d: %s: %s", zone, what, knot_strerror(err));
}

/* The zone file is written first, so a mark that isn't there, or is there though the call has failed, does no harm. */
static knot_err_t store_flush(worker_t *worker, int zone)
{
	journal_promise_t *promise = &worker->world->promises[zone];
	zone_name_t name;
	promise->is.file = promise->is.last;
	worker->world->flushes++;
	return journal_mark_flushed(worker->journal, zone_name(zone, &name), promise->is.file, NULL);
}

/* Append the next change, or one behind a gap. */
static knot_err_t store_change(worker_t *worker, int zone, uint32_t gap)
{
	journal_promise_t *promise = &worker->world->promises[zone];
	journal_limits_t limits = limits_of(worker, zone);
	zone_name_t name;
	journal_state_t next = promise->is;
	next.is_empty = false;
	if (gap > 0) {
		next.file = next.last + gap; /* the file that was loaded meanwhile */
		memset(next.images, 0, sizeof(next.images));
	}
	uint32_t from = next.last + gap;
	/* Another version than the one that was refused. */
	next.last = from + 1 + promise->has_perhaps;
	journal_change_t change = make_change(zone, from, next.last, false);
	knot_err_t err = KNOT_EAGAIN;
	for (int i = 0; i < 2 && err == KNOT_EAGAIN; i++) {
		promise_begin(promise, &next);
		err = journal_append(worker->journal, zone_name(zone, &name), &change, &limits, NULL);
		if (err == KNOT_EAGAIN && i == 0) {
			/* Nothing was stored. */
			__atomic_store_n(&promise->has_perhaps, false, __ATOMIC_SEQ_CST);
			(void)!store_flush(worker, zone);
			next.file = gap > 0 ? next.file : promise->is.file;
		}
	}
	promise_end(promise, err);
	free((void *)change.payload.data);
	worker->world->appends += err == KNOT_OK;
	return err;
}

static knot_err_t store_whole(worker_t *worker, int zone)
{
	journal_promise_t *promise = &worker->world->promises[zone];
	journal_limits_t limits = limits_of(worker, zone);
	zone_name_t name;
	journal_state_t next = { .last = promise->is.last + 1, .has_whole = true };
	journal_change_t whole = make_change(zone, next.last, next.last, true);
	promise_begin(promise, &next);
	knot_err_t err = journal_put_zone(worker->journal, zone_name(zone, &name), &whole, &limits, NULL);
	promise_end(promise, err);
	free((void *)whole.payload.data);
	worker->world->wholes += err == KNOT_OK;
	return err;
}

static knot_err_t store_drop(worker_t *worker, int zone)
{
	journal_promise_t *promise = &worker->world->promises[zone];
	zone_name_t name;
	journal_state_t next = { .last = promise->is.last, .file = promise->is.last, .is_empty = true };
	promise_begin(promise, &next);
	knot_err_t err = journal_drop(worker->journal, zone_name(zone, &name), NULL);
	err = err == KNOT_ENOENT ? KNOT_OK : err;
	promise_end(promise, err);
	worker->world->drops += err == KNOT_OK;
	return err;
}

/* The last version is being saved, and the one before that has been. Where changes are dropped, none need lead on. */
static void store_image(worker_t *worker, int zone)
{
	journal_state_t *is = &worker->world->promises[zone].is;
	if (zone % 2 == 0 && is->last != 0 && !is->is_empty) {
		for (int i = 0; i < JOURNAL_BORDERS_MAX; i++) {
			uint32_t next = i + 1 < JOURNAL_BORDERS_MAX ? is->images[i + 1] : is->last;
			__atomic_store_n(&is->images[i], next, __ATOMIC_SEQ_CST);
		}
	}
}

/* In the background, if there are threads; else in between. */
static void store_merge(worker_t *worker, int zone)
{
	static const bool never;
	journal_limits_t limits = limits_of(worker, zone);
	zone_name_t name;
	(void)zone_name(zone, &name);
	if (journal_wants_merge(worker->journal, name.name)) {
		knot_err_t err = journal_merge(worker->journal, name.name, &limits, &never, NULL);
		worker->world->background += err == KNOT_OK;
		worker->is_right = worker->is_right && worker_judge(worker, "merging", zone, err);
	}
}

static void *worker_merge(void *arg)
{
	worker_t *worker = arg;
	while (!__atomic_load_n(&worker->is_ending, __ATOMIC_RELAXED)) {
		for (int zone = 0; zone < SIM_ZONES; zone++) {
			store_merge(worker, zone);
		}
		sched_yield();
	}
	return NULL;
}

static bool worker_step(worker_t *worker)
{
	int zone = worker->first +
		   (int)sim_below(&worker->random,
				   (uint64_t)((SIM_ZONES - worker->first + worker->stride - 1) / worker->stride)) *
				   worker->stride;
	journal_promise_t *promise = &worker->world->promises[zone];
	/* A call that failed: find out what is stored, as a server does that starts again. Here the next start does. */
	if (promise->has_perhaps && !worker->work->goes_on) {
		return true;
	}
	uint64_t dice = sim_below(&worker->random, 40);
	if (worker->stride == 1 && dice % 3 != 0) {
		store_merge(worker, zone);
	}
	if (dice == 0) {
		return worker_judge(worker, "dropping", zone, store_drop(worker, zone));
	}
	if (dice == 1 && zone % 3 == 0) {
		return worker_judge(worker, "a whole zone", zone, store_whole(worker, zone));
	}
	if (dice == 2 && !promise->is.has_whole) {
		return worker_judge(worker, "a change behind a gap", zone, store_change(worker, zone, 3));
	}
	if (dice < 6 && zone % 2 == 1) {
		return worker_judge(worker, "noting a flush", zone, store_flush(worker, zone));
	}
	if (dice < 11) {
		store_image(worker, zone);
	}
	return worker_judge(worker, "a change", zone, store_change(worker, zone, 0));
}

static void *worker_run(void *arg)
{
	worker_t *worker = arg;
	worker->is_right = true;
	for (unsigned i = 0; i < worker->work->steps && worker->is_right; i++) {
		worker->is_right = worker_step(worker);
	}
	return NULL;
}

/* Drop all zones but one; then there is room for a change of that. */
static bool worker_recover(worker_t *worker)
{
	worker->world->disk.fail_at = 0;
	for (int zone = 1; zone < SIM_ZONES; zone++) {
		(void)!store_drop(worker, zone);
	}
	if (store_drop(worker, 0) != KNOT_OK) {
		return journal_fault(worker->world, "nothing can be dropped any more");
	}
	knot_err_t err = store_change(worker, 0, 0);
	return err == KNOT_OK || journal_fault(worker->world, "it doesn't recover: %s", knot_strerror(err));
}

/* The disk works again: go on or stop. */
static bool worker_go_on(worker_t *worker)
{
	worker->world->disk.fail_at = 0;
	for (int zone = 0; zone < SIM_ZONES; zone++) {
		journal_promise_t *promise = &worker->world->promises[zone];
		if (worker->work->stops) {
			promise->has_perhaps = promise->has_refused = false;
			continue;
		}
		knot_err_t err = store_change(worker, zone, 0);
		if (err != KNOT_OK) {
			return journal_fault(worker->world, "zone %d doesn't go on: %s", zone, knot_strerror(err));
		}
	}
	return true;
}

bool journal_work(journal_world_t *world, const journal_work_t *work)
{
	disk_control = &world->disk;
	journal_t *journal;
	journal_reason_t reason;
	journal_params_t params = {
		.path = world->folder, .size_max = world->size_max, .transaction_max = SIM_TRANSACTION
	};
	if (journal_open(&params, &journal, &reason) != KNOT_OK) {
		return journal_fault(world, "opening: %s", reason.text);
	}
	if (reason.text[0] != '\0' && !work->may_fail) {
		return journal_fault(world, "opening: %s", reason.text);
	}
	worker_t workers[SIM_THREADS], merger = { .world = world, .journal = journal, .work = work, .is_right = true };
	int count = work->in_threads ? SIM_THREADS : 1;
	bool is_right = true;
	if (count > 1 && pthread_create(&merger.thread, NULL, worker_merge, &merger) != 0) {
		abort();
	}
	for (int i = 0; i < count; i++) {
		workers[i] = (worker_t){ .world = world,
			.journal = journal,
			.work = work,
			.random = { .state = sim_mix(work->script + (uint64_t)i) },
			.first = i,
			.stride = count };
		if (count == 1) {
			(void)worker_run(&workers[i]);
		} else if (pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]) != 0) {
			abort();
		}
	}
	for (int i = 0; i < count; i++) {
		if (count > 1) {
			pthread_join(workers[i].thread, NULL);
		}
		is_right = is_right && workers[i].is_right;
	}
	if (count > 1) {
		__atomic_store_n(&merger.is_ending, true, __ATOMIC_RELAXED);
		pthread_join(merger.thread, NULL);
		is_right = is_right && merger.is_right;
	}
	is_right = is_right && (!work->must_recover || worker_recover(&workers[0]));
	is_right = is_right && (!work->goes_on || worker_go_on(&workers[0]));
	journal_close(journal);
	disk_control = NULL;
	return is_right;
}

/* ---- Comparing ---- */

typedef struct {
	journal_world_t *world;
	int zone;
	bool is_right, has_whole, has_any, reaches_file;
	uint32_t file, last;
	uint32_t images[JOURNAL_BORDERS_MAX]; /* 0: none, or a change leads on from it */
	unsigned changes;
} look_t;

static bool look(const journal_entry_t *entry, void *ctx)
{
	look_t *l = ctx;
	const journal_change_t *is = &entry->change;
	bool whole = entry->kind == JOURNAL_WHOLE;
	journal_change_t want = make_change(l->zone, is->serial_from, is->serial_to, whole);
	if (is->payload.len != want.payload.len || memcmp(is->payload.data, want.payload.data, want.payload.len) != 0 ||
			is->time_s != is->serial_to) {
		l->is_right = journal_fault(
				l->world, "zone %d: %u -> %u has wrong bytes", l->zone, is->serial_from, is->serial_to);
	} else if (l->has_any && is->serial_from != l->last) {
		l->is_right = journal_fault(l->world, "zone %d: %u -> %u follows %u", l->zone, is->serial_from,
				is->serial_to, l->last);
	}
	free((void *)want.payload.data);
	l->has_any = true;
	l->has_whole = l->has_whole || whole;
	l->changes += !whole;
	l->world->merges += entry->kind == JOURNAL_MERGED;
	l->reaches_file = l->reaches_file || (!whole && is->serial_from == l->file);
	for (int i = 0; i < JOURNAL_BORDERS_MAX; i++) {
		l->world->borders += l->images[i] != 0 && l->images[i] == is->serial_from;
		l->images[i] = l->images[i] == is->serial_from ? 0 : l->images[i];
	}
	l->last = is->serial_to;
	return l->is_right;
}

/* True if what is stored is this state. */
static bool state_is(const look_t *l, const journal_state_t *state)
{
	if (state->last == 0 || state->is_empty) {
		return !l->has_any;
	}
	if (!l->has_any) {
		return !state->has_whole && state->file == state->last;
	}
	for (int i = 0; i < JOURNAL_BORDERS_MAX; i++) {
		if (l->images[i] != 0 && l->images[i] != l->last) {
			return false;
		}
	}
	return l->last == state->last && l->has_whole == state->has_whole &&
	       (state->has_whole || l->reaches_file || state->file == state->last);
}

static bool verify_zone(journal_world_t *world, journal_t *journal, int zone, bool is_damaged)
{
	journal_promise_t *promise = &world->promises[zone];
	zone_name_t name;
	for (int i = 0; i < 3; i++) {
		const journal_state_t *states[] = { &promise->is, &promise->perhaps, &promise->refused },
				      *state = states[i];
		if (i == 2 && !promise->has_refused) {
			break;
		}
		look_t l = { .world = world, .zone = zone, .is_right = true, .file = state->file };
		memcpy(l.images, state->images, sizeof(l.images));
		knot_err_t err = journal_each(journal, zone_name(zone, &name), look, &l);
		if (is_damaged) {
			/* A damaged one is left out, and then the next doesn't follow. */
			world->damaged += err == KNOT_EMALF;
			bool is_gap = !l.is_right && strstr(world->fault, "follows") != NULL;
			if (is_gap) {
				world->fault[0] = '\0';
			}
			return l.is_right || is_gap;
		}
		if (err != KNOT_OK && err != KNOT_ENOENT) {
			return journal_fault(world, "zone %d: %s", zone, knot_strerror(err));
		}
		if (!l.is_right) {
			return false;
		}
		if (l.changes > SIM_DEPTH + JOURNAL_DEPTH_MORE) {
			return journal_fault(world, "zone %d has %u changes", zone, l.changes);
		}
		if (state_is(&l, state)) {
			promise->is = *state;
			promise->has_perhaps = promise->has_refused = false;
			world->verified++;
			return true;
		}
		if (!promise->has_perhaps) {
			return journal_fault(world,
					"zone %d: %u was promised (file %u, images %u and %u%s%s), %u is there%s%s",
					zone, state->last, state->file, state->images[0], state->images[1],
					state->has_whole ? ", whole" : "", state->is_empty ? ", dropped" : "", l.last,
					l.has_whole ? ", whole" : "", l.reaches_file ? ", from the file on" : "");
		}
	}
	return journal_fault(
			world, "zone %d: neither %u nor %u is there", zone, promise->is.last, promise->perhaps.last);
}

bool journal_verify(journal_world_t *world, bool is_damaged)
{
	journal_t *journal;
	journal_reason_t reason;
	if (journal_open(&(journal_params_t){ .path = world->folder, .size_max = world->size_max }, &journal,
			    &reason) != KNOT_OK) {
		return journal_fault(world, "opening: %s", reason.text);
	}
	bool is_aside = strstr(reason.text, "data.mdb.damaged") != NULL;
	/* A kill may leave a file without anything in it. */
	bool is_new = true;
	for (int zone = 0; zone < SIM_ZONES; zone++) {
		is_new = is_new && world->promises[zone].is.last == 0;
	}
	bool is_right = reason.text[0] == '\0' || is_damaged || (is_new && is_aside) ||
			journal_fault(world, "opening: %s", reason.text);
	world->set_aside += is_aside;
	for (int zone = 0; zone < SIM_ZONES && is_right; zone++) {
		is_right = verify_zone(world, journal, zone, is_damaged);
	}
	journal_close(journal);
	return is_right;
}
