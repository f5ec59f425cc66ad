/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/renewal.h"

#include <stdlib.h>

#include "src/event/internal.h"
#include "src/event/publish.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/sys/thread.h"
#include "src/zone/compact.h"
#include "src/zone/image.h"
#include "src/zone/renew.h"

enum {
	SMALL_MS = 1000,      /* a small zone that changes is built from scratch so often */
	BUSY_MS = 1000,       /* another zone is being renewed */
	FAILED_MS = 60000,    /* memory was short */
	RETRY_MS = 1000,      /* a zone changes too fast: at least, … */
	RETRY_TIMES = 4,      /* … so many times as long as the attempt took, FAILED_MS at most */
	ROUNDS_MIN = 3,       /* the thread follows so often: each time there is less, as it is faster than commits */
	ROUNDS_MAX = 20,      /* it isn't faster: compaction and saving wait no longer */
	TURN_RECORDS = 256,   /* that are left to be followed in the zone's turn: about a millisecond */
	WASTED_MIN = 4 << 20, /* bytes: not too much, however small the zone is */
};

void renewal_init(renewal_t *renewal)
{
	*renewal = (renewal_t){ .state = RENEWAL_NONE };
	pthread_cond_init(&renewal->work, NULL);
}

/* ---- The thread ---- */

/* Not under lock: it may take milliseconds. */
static void renewal_free(renewal_versions_t *take_versions)
{
	zone_contents_free(take_versions->held);
	zone_contents_free(take_versions->next);
	zone_contents_free(take_versions->fresh);
}

/* Take the versions out. */
static renewal_versions_t renewal_take(renewal_t *renewal, renewal_state_t state)
{
	renewal_versions_t versions = renewal->versions;
	renewal->versions = (renewal_versions_t){ .next = NULL };
	renewal->state = state;
	return versions;
}

/* A zone may change too fast for a moment only: what took less is tried again sooner. */
static unsigned renewal_rest_ms(const renewal_t *renewal, uint64_t now_ms, knot_err_t err)
{
	uint64_t wait_ms = (now_ms - renewal->began_ms) * RETRY_TIMES;
	return err != KNOT_ERANGE || wait_ms > FAILED_MS ? FAILED_MS
	       : wait_ms < RETRY_MS                      ? RETRY_MS
							 : (unsigned)wait_ms;
}

/* Another zone's turn may come. */
static void renewal_end(renewal_t *renewal, knot_err_t err)
{
	if (renewal->entry != NULL) {
		renewal->entry->is_compacted = false;
	}
	renewal->entry = NULL;
	renewal->state = RENEWAL_NONE;
	if (err != KNOT_OK) {
		uint64_t now_ms = sys_clock_ms();
		renewal->rest_until_ms = now_ms + renewal_rest_ms(renewal, now_ms, err);
	}
}

static bool renewal_should_stop(void *ctx)
{
	const server_t *server = ctx;
	return __atomic_load_n(&server->jobs.stopping, __ATOMIC_RELAXED);
}

/* Build, then follow the commits up to the next version. KNOT_OK without a version: to build it would save little. */
static knot_err_t renewal_build(server_t *server, renewal_versions_t *versions)
{
	if (versions->fresh == NULL) {
		if (!zone_renewal_pays(versions->held, renewal_should_stop, server)) {
			return KNOT_OK;
		}
		versions->fresh = zone_renew(versions->held, renewal_should_stop, server);
	}
	if (versions->fresh == NULL || versions->next == NULL) {
		return versions->fresh != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	knot_err_t err = zone_renew_follow(versions->held, versions->next, SIZE_MAX, &versions->fresh);
	zone_contents_free(versions->held);
	versions->held = versions->next;
	versions->next = NULL;
	return err;
}

/* Under lock, which is released meanwhile. */
static void renewal_work(server_t *server) SYS_REQUIRES(server->jobs.lock)
{
	renewal_t *renewal = &server->renewal;
	bool is_dropped = renewal->state == RENEWAL_DROPS;
	renewal_versions_t versions = renewal_take(renewal, RENEWAL_WORKS);
	sys_mutex_unlock(&server->jobs.lock);
	sys_thread_step_aside();
	knot_err_t err = is_dropped ? KNOT_OK : renewal_build(server, &versions);
	sys_mutex_lock(&server->jobs.lock);
	if (renewal->entry != NULL) { /* for its turn; or its compaction has waited */
		(void)jobs_plan(&server->jobs, renewal->entry, EVENT_COMPACT, sys_clock_ms(), 0);
	}
	if (err == KNOT_OK && renewal->entry != NULL) {
		renewal->versions = versions;
		renewal->state = RENEWAL_READY;
		return;
	}
	renewal_end(renewal, err);
	sys_mutex_unlock(&server->jobs.lock);
	renewal_free(&versions);
	sys_mutex_lock(&server->jobs.lock);
}

static void renewal_thread(void *arg)
{
	server_t *server = arg;
	renewal_t *renewal = &server->renewal;
	sys_mutex_lock(&server->jobs.lock);
	while (!server->jobs.stopping) {
		if (renewal->state == RENEWAL_WORKS || renewal->state == RENEWAL_DROPS) {
			renewal_work(server);
		} else {
			sys_mutex_wait(&server->jobs.lock, &renewal->work);
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
}

void renewal_done(server_t *server)
{
	renewal_t *renewal = &server->renewal;
	sys_mutex_lock(&server->jobs.lock);
	pthread_cond_signal(&renewal->work);
	sys_mutex_unlock(&server->jobs.lock);
	sys_thread_join(&renewal->thread);
	renewal_free(&renewal->versions);
	pthread_cond_destroy(&renewal->work);
}

void renewal_forget(server_t *server, const entry_t *entry)
{
	sys_mutex_assert_held(&server->jobs.lock);
	renewal_t *renewal = &server->renewal;
	if (renewal->entry != entry) {
		return;
	}
	renewal->entry = NULL;
	if (renewal->state == RENEWAL_READY) {
		renewal->state = RENEWAL_DROPS;
		pthread_cond_signal(&renewal->work);
	}
}

bool renewal_has(const server_t *server, const entry_t *entry)
{
	return server->renewal.entry == entry;
}

unsigned renewal_wait_ms(const server_t *server, const entry_t *entry, const zone_contents_t *contents)
{
	const renewal_t *renewal = &server->renewal;
	bool is_mine = renewal->entry == entry;
	if (is_mine || !zone_needs_renewal(contents)) {
		return is_mine && renewal->state == RENEWAL_READY;
	}
	if (contents->record_count < ZONE_COMPACT_RECORDS) {
		return SMALL_MS;
	}
	uint64_t now_ms = sys_clock_ms();
	return now_ms < renewal->rest_until_ms  ? (unsigned)(renewal->rest_until_ms - now_ms)
	       : renewal->state != RENEWAL_NONE ? BUSY_MS
						: 1;
}

/* ---- The zone's turn ---- */

static void renewal_log(entry_t *entry, knot_err_t err)
{
	if (err == KNOT_OK) {
		log_zone(LOG_DEBUG, entry_name(entry), "built from scratch in the background");
	} else {
		log_zone(LOG_DEBUG, entry_name(entry), "not built from scratch in the background (%s)",
				err == KNOT_ERANGE   ? "it changes too fast"
				: err == KNOT_ENOENT ? "it would save little"
						     : knot_strerror(err));
	}
}

/* A transaction that is open wouldn't know the version again: a small one has no room for what it was made from. */
static void renewal_run_small(server_t *server, entry_t *entry)
{
	zone_t *zone = entry_zone(entry);
	sys_mutex_lock(&server->jobs.lock);
	bool is_edited = entry->edited;
	sys_mutex_unlock(&server->jobs.lock);
	zone_contents_t *fresh = is_edited ? NULL : zone_renew(zone_contents(zone), NULL, NULL);
	if (fresh != NULL) {
		publish_moved(zone, fresh);
		renewal_log(entry, KNOT_OK);
	}
}

static knot_err_t renewal_start_thread(server_t *server) SYS_REQUIRES(server->jobs.lock)
{
	sys_thread_t *thread = &server->renewal.thread;
	if (thread->started) {
		return KNOT_OK;
	}
	*thread = (sys_thread_t){ .name = "renewal", .cpu = -1, .yields = true, .run = renewal_thread, .arg = server };
	return sys_thread_start(thread);
}

static void renewal_begin(server_t *server, entry_t *entry)
{
	renewal_t *renewal = &server->renewal;
	zone_contents_t *held = zone_image_hold(zone_contents(entry_zone(entry)));
	sys_mutex_lock(&server->jobs.lock);
	bool may_begin = renewal->state == RENEWAL_NONE && !server->jobs.stopping && !entry->gone &&
			 sys_clock_ms() >= renewal->rest_until_ms;
	if (may_begin && (held == NULL || renewal_start_thread(server) != KNOT_OK)) {
		renewal->rest_until_ms = sys_clock_ms() + FAILED_MS;
		may_begin = false;
	}
	if (may_begin) {
		renewal->state = RENEWAL_WORKS;
		renewal->entry = entry;
		renewal->versions.held = held;
		renewal->rounds = 0;
		renewal->began_ms = sys_clock_ms();
		entry->is_compacted = true;
		held = NULL;
		pthread_cond_signal(&renewal->work);
	}
	sys_mutex_unlock(&server->jobs.lock);
	zone_contents_free(held);
}

/* Apply what is left, if it is little. KNOT_ERANGE: it isn't. */
static knot_err_t renewal_follow(renewal_versions_t *versions, const zone_contents_t *now, unsigned round)
{
	if (zone_is_same_version(versions->held, now)) {
		return KNOT_OK;
	}
	if (zone_arena_lineage(versions->held->store) != zone_arena_lineage(now->store)) {
		return KNOT_ETRYAGAIN; /* all may differ */
	}
	if (round < ROUNDS_MIN) {
		return KNOT_ERANGE;
	}
	return zone_renew_follow(versions->held, now, TURN_RECORDS, &versions->fresh);
}

/* A build from scratch would save little: the zone has grown, and that's all. KNOT_ENOENT: it is asked again when it
 * has grown again. */
static knot_err_t renewal_put_off(zone_t *zone, const zone_contents_t *held, const zone_contents_t *now)
{
	if (zone_arena_lineage(held->store) != zone_arena_lineage(now->store)) {
		return KNOT_ETRYAGAIN;
	}
	zone_contents_t *later = zone_renew_later(now);
	if (later == NULL) {
		return KNOT_ENOMEM;
	}
	publish_moved(zone, later);
	return KNOT_ENOENT;
}

/* True while there is memory for the versions that commits leave behind: passes and saves wait as long as that. */
static bool renewal_has_room(const zone_contents_t *now)
{
	uint64_t wasted = zone_wasted(now);
	return wasted <= now->live_size || wasted <= WASTED_MIN;
}

/* The version is there: serve it, or have the thread follow what was committed since. */
static void renewal_finish(server_t *server, entry_t *entry)
{
	renewal_t *renewal = &server->renewal;
	zone_t *zone = entry_zone(entry);
	const zone_contents_t *now = zone_contents(zone);
	sys_mutex_lock(&server->jobs.lock);
	renewal_versions_t versions = renewal_take(renewal, RENEWAL_TURN);
	unsigned round = renewal->rounds++;
	sys_mutex_unlock(&server->jobs.lock);
	knot_err_t err = now == NULL              ? KNOT_ETRYAGAIN
			 : versions.fresh == NULL ? renewal_put_off(zone, versions.held, now)
						  : renewal_follow(&versions, now, round);
	if (err == KNOT_OK) {
		zone_renew_end(versions.fresh, now);
		publish_moved(zone, versions.fresh);
		versions.fresh = NULL;
	} else if (err == KNOT_ERANGE && round < ROUNDS_MAX && renewal_has_room(now)) {
		versions.next = zone_image_hold(now);
		err = versions.next != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	if (versions.next == NULL) {
		renewal_log(entry, err);
	}
	sys_mutex_lock(&server->jobs.lock);
	bool goes_on = versions.next != NULL && renewal->entry != NULL;
	if (!goes_on) {
		renewal_end(renewal, err == KNOT_ETRYAGAIN || err == KNOT_ENOENT ? KNOT_OK : err);
	}
	/* Nearly all memory of the zone may go with the old versions: not in its turn. */
	renewal->versions = versions;
	renewal->state = goes_on ? RENEWAL_WORKS : RENEWAL_DROPS;
	pthread_cond_signal(&renewal->work);
	sys_mutex_unlock(&server->jobs.lock);
}

void renewal_run(server_t *server, entry_t *entry)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	sys_mutex_lock(&server->jobs.lock);
	bool is_mine = server->renewal.entry == entry, is_ready = is_mine && server->renewal.state == RENEWAL_READY;
	sys_mutex_unlock(&server->jobs.lock);
	if (is_ready) {
		renewal_finish(server, entry);
	} else if (!is_mine && contents != NULL && zone_needs_renewal(contents)) {
		if (contents->record_count < ZONE_COMPACT_RECORDS) {
			renewal_run_small(server, entry);
		} else {
			renewal_begin(server, entry);
		}
	}
}
