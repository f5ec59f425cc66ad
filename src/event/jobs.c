/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/jobs.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/sys/clock.h"
#include "src/sys/process.h"
#include "src/sys/thread.h"

void jobs_init(jobs_t *jobs, unsigned worker_count, const jobs_params_t *params)
{
	*jobs = (jobs_t){ .worker_count = worker_count, .calls = *params };
	sys_mutex_init(&jobs->lock);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&jobs->work, &monotonic);
	pthread_cond_init(&jobs->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void jobs_deinit(jobs_t *jobs)
{
	agenda_deinit(&jobs->agenda);
	agenda_deinit(&jobs->refreshes);
	free(jobs->workers);
	sys_mutex_done(&jobs->lock);
	pthread_cond_destroy(&jobs->work);
	pthread_cond_destroy(&jobs->ended);
}

/* ---- The agenda. Under lock. ---- */

knot_err_t jobs_reserve(jobs_t *jobs, size_t count)
{
	/* Address space for every event that there may be: no page is taken before it is used. */
	knot_err_t err = agenda_reserve(&jobs->agenda, (count + 1) * EVENT_COUNT);
	return err == KNOT_OK ? agenda_reserve(&jobs->refreshes, count + 1) : err;
}

size_t jobs_count_due(const jobs_t *jobs)
{
	uint64_t now_ms = sys_clock_ms();
	return agenda_count_due(&jobs->agenda, now_ms) + agenda_count_due(&jobs->refreshes, now_ms);
}

/* The event that comes first; false: there is none. */
static bool jobs_first(const jobs_t *jobs, agenda_item_t *ret_item) SYS_REQUIRES(jobs->lock)
{
	agenda_item_t refresh;
	bool is_found = agenda_first(&jobs->agenda, ret_item);
	if (agenda_first(&jobs->refreshes, &refresh) &&
			(jobs->refreshing < JOBS_REFRESHES_MAX || refresh.due_ms == JOBS_DUE_BY_NOTIFY) &&
			(!is_found || refresh.due_ms < ret_item->due_ms)) {
		*ret_item = refresh;
		is_found = true;
	}
	return is_found;
}

static event_set_t jobs_bit_of(event_t event)
{
	return (event_set_t)1 << event;
}

/* Wake a worker, if there is something that it may do before the time until which it sleeps. */
static void jobs_wake_for(jobs_t *jobs, const entry_t *entry, event_t event, uint64_t due_ms) SYS_REQUIRES(jobs->lock)
{
	if (jobs->idle == 0) {
		return;
	}
	agenda_item_t first;
	bool is_first = jobs_first(jobs, &first) && first.zone == entry && first.event == event;
	if (is_first || due_ms <= sys_clock_ms()) {
		pthread_cond_signal(&jobs->work);
	}
}

server_ticket_t jobs_plan(jobs_t *jobs, entry_t *entry, event_t event, uint64_t due_ms, unsigned how)
{
	assert(!entry->gone && (event_row(event)->rules & EVENT_IS_ABSENT) == 0);
	bool was_planned = (entry->events & jobs_bit_of(event)) != 0;
	server_ticket_t ticket = agenda_plan(jobs_agenda(jobs, event), entry, event, due_ms, how);
	entry->events |= jobs_bit_of(event);
	if (entry->is_running) {
		return ticket; /* what ends the job looks at it */
	}
	if (was_planned) {
		agenda_release(jobs_agenda(jobs, event), entry, event); /* perhaps it may run as it is planned now */
	}
	jobs_wake_for(jobs, entry, event, due_ms);
	return ticket;
}

server_ticket_t jobs_ask(jobs_t *jobs, entry_t *entry, event_t event, unsigned how)
{
	return jobs_plan(jobs, entry, event, sys_clock_ms(), how);
}

static void jobs_forget(jobs_t *jobs, entry_t *entry, event_t event) SYS_REQUIRES(jobs->lock)
{
	bool was_planned = agenda_cancel(jobs_agenda(jobs, event), entry, event);
	assert(was_planned);
	(void)was_planned;
	entry->events &= ~jobs_bit_of(event);
}

void jobs_cancel(jobs_t *jobs, entry_t *entry, event_t event)
{
	agenda_item_t item;
	if (jobs_find(jobs, entry, event, &item) && (item.how & EVENT_BY_OPERATOR) == 0) {
		jobs_forget(jobs, entry, event);
	}
}

/* The event of the set that comes first in the table. */
static event_t jobs_first_of(event_set_t events)
{
	assert(events != 0);
	return (event_t)__builtin_ctz(events);
}

void jobs_release(jobs_t *jobs, entry_t *entry)
{
	for (event_set_t left = entry->events; left != 0 && !entry->is_running; left &= left - 1) {
		event_t event = jobs_first_of(left);
		agenda_item_t item;
		agenda_release(jobs_agenda(jobs, event), entry, event);
		if (jobs_find(jobs, entry, event, &item)) {
			jobs_wake_for(jobs, entry, event, item.due_ms);
		}
	}
}

bool jobs_let_go(jobs_t *jobs, entry_t *entry)
{
	while (entry->events != 0) {
		jobs_forget(jobs, entry, jobs_first_of(entry->events));
	}
	entry->gone = entry->is_running;
	return !entry->gone;
}

bool jobs_is_held(const entry_t *entry, const agenda_item_t *item)
{
	unsigned rules = event_row(item->event)->rules;
	bool is_frozen = entry->frozen && (rules & EVENT_FREEZES) != 0 && (item->how & EVENT_BY_OPERATOR) == 0;
	return is_frozen || (entry->edited && (rules & EVENT_WAITS_FOR_EDIT) != 0);
}

bool jobs_is_pending(const jobs_t *jobs, const entry_t *entry, event_set_t events)
{
	bool is_pending = false;
	uint64_t now_ms = sys_clock_ms();
	for (event_set_t left = entry->events & events; left != 0 && !is_pending; left &= left - 1) {
		agenda_item_t item;
		is_pending = jobs_find(jobs, entry, jobs_first_of(left), &item) && item.due_ms <= now_ms &&
			     !jobs_is_held(entry, &item);
	}
	return is_pending;
}

bool jobs_are_idle(const jobs_t *jobs)
{
	agenda_item_t first;
	return jobs->running == 0 && !(jobs_first(jobs, &first) && first.due_ms <= sys_clock_ms());
}

bool jobs_has_ended(const jobs_t *jobs, const entry_t *entry, server_ticket_t ticket)
{
	agenda_item_t item;
	event_t event = agenda_event_of(ticket); /* a command's turn is never planned */
	bool is_planned = event != EVENT_NONE && jobs_find(jobs, entry, event, &item) && item.ticket == ticket;
	return !is_planned && !(entry->is_running && entry->ticket == ticket);
}

/* ---- The pool ---- */

static void jobs_mark_begun(jobs_t *jobs, entry_t *entry, server_ticket_t ticket) SYS_REQUIRES(jobs->lock)
{
	assert(!entry->is_running);
	entry->is_running = true;
	entry->ticket = ticket;
	entry->since_s = (uint32_t)sys_clock_wall();
	jobs->running++;
	jobs->refreshing += agenda_event_of(ticket) == EVENT_REFRESH;
}

/* A failure stays until the event that failed, or whatever renews the contents, succeeds; but that of a restore
 * outlives the load that follows it. */
static void jobs_note_result(jobs_t *jobs, entry_t *entry, const job_outcome_t *outcome, knot_err_t result)
		SYS_REQUIRES(jobs->lock)
{
	event_t event = agenda_event_of(entry->ticket);
	if (result != KNOT_OK) {
		entry->result = result;
		entry->failed = event;
		jobs->errors += event != EVENT_BACKUP; /* that is no failed update of the zone */
	} else if (!outcome->keeps_result &&
			(entry->failed == event || (event == EVENT_LOAD ? entry->failed != EVENT_BACKUP
									: outcome->load != LOAD_UNCHANGED))) {
		entry->result = KNOT_OK;
	}
}

static void jobs_tell_if_idle(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	if (jobs_are_idle(jobs)) {
		pthread_cond_broadcast(&jobs->ended);
	}
}

void jobs_note_tried(jobs_t *jobs, entry_t *entry)
{
	if (!entry->tried && !entry->gone) {
		jobs->untried--;
	}
	entry->tried = true;
	jobs->has_started |= jobs->untried == 0;
	if (jobs->untried == 0) {
		pthread_cond_broadcast(&jobs->ended);
	}
}

static void jobs_mark_ended(jobs_t *jobs, entry_t *entry, job_outcome_t outcome, knot_err_t result)
		SYS_REQUIRES(jobs->lock)
{
	entry->is_running = false;
	jobs_note_result(jobs, entry, &outcome, result);
	jobs_note_tried(jobs, entry);
	jobs->running--;
	if (agenda_event_of(entry->ticket) == EVENT_REFRESH && jobs->refreshing-- == JOBS_REFRESHES_MAX &&
			jobs->idle > 0) {
		pthread_cond_signal(&jobs->work); /* the next one may begin */
	}
	if (!entry->gone) {
		jobs->calls.after(entry, agenda_event_of(entry->ticket), result, outcome, jobs->calls.ctx);
		jobs_release(jobs, entry);
	}
	free(outcome.reason);
	/* Not for each of a million zones at start. */
	if (jobs->awaited > 0) {
		pthread_cond_broadcast(&jobs->ended);
	} else {
		jobs_tell_if_idle(jobs);
	}
}

void jobs_wait(jobs_t *jobs)
{
	jobs->awaited++;
	sys_mutex_wait(&jobs->lock, &jobs->ended);
	jobs->awaited--;
}

void jobs_begin(jobs_t *jobs, entry_t *entry)
{
	jobs_mark_begun(jobs, entry, agenda_ticket(&jobs->agenda, EVENT_NONE));
}

void jobs_end(jobs_t *jobs, entry_t *entry, job_outcome_t outcome, knot_err_t result)
{
	jobs_mark_ended(jobs, entry, outcome, result);
	if (entry->gone) {
		sys_mutex_unlock(&jobs->lock);
		entry_free(entry);
		sys_mutex_lock(&jobs->lock);
	}
}

/* Give memory back after many jobs: what they used meanwhile is scattered between what they made. */
static void jobs_give_memory_back(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	agenda_trim(&jobs->agenda);
	agenda_trim(&jobs->refreshes);
	sys_mutex_unlock(&jobs->lock);
	sys_memory_trim();
	sys_mutex_lock(&jobs->lock);
}

/* True if the event is due, isn't parked, and may run. */
static bool jobs_may_run(const agenda_item_t *item, uint64_t now_ms)
{
	return item->due_ms <= now_ms && !item->is_parked && !item->zone->is_running && !jobs_is_held(item->zone, item);
}

/* Of the events of a zone that are due at the same time the first in the table, in place of `item`. */
static void jobs_break_tie(jobs_t *jobs, agenda_item_t *item) SYS_REQUIRES(jobs->lock)
{
	event_set_t before = item->zone->events & (jobs_bit_of(item->event) - 1);
	for (event_set_t left = before; left != 0; left &= left - 1) {
		agenda_item_t other;
		if (jobs_find(jobs, item->zone, jobs_first_of(left), &other) && other.due_ms == item->due_ms &&
				jobs_may_run(&other, item->due_ms)) {
			*item = other;
			return;
		}
	}
}

/* A zone that is asked for and not loaded goes before others. */
static bool jobs_find_urgent(jobs_t *jobs, uint64_t now_ms, agenda_item_t *ret_item) SYS_REQUIRES(jobs->lock)
{
	const entry_t *urgent = jobs->calls.urgent(jobs->calls.ctx);
	return urgent != NULL && jobs_find(jobs, urgent, EVENT_LOAD, ret_item) && jobs_may_run(ret_item, now_ms);
}

/* The event to run next; false: none is due, and *ret_wait_ms says for how long, 0: there is none. */
static bool jobs_find_next(jobs_t *jobs, agenda_item_t *ret_item, uint64_t *ret_wait_ms) SYS_REQUIRES(jobs->lock)
{
	uint64_t now_ms = sys_clock_ms();
	*ret_wait_ms = 0;
	for (agenda_item_t item; jobs_first(jobs, &item);) {
		if (item.due_ms > now_ms) {
			*ret_wait_ms = item.due_ms - now_ms;
			return false;
		}
		if (jobs_find_urgent(jobs, now_ms, ret_item)) {
			return true;
		}
		if (jobs_may_run(&item, now_ms)) {
			jobs_break_tie(jobs, &item);
			*ret_item = item;
			return true;
		}
		agenda_park(jobs_agenda(jobs, item.event), item.zone, item.event);
	}
	return false;
}

/* Wait for work, or until something is due. */
static void jobs_wait_for_work(jobs_t *jobs, uint64_t due_ms) SYS_REQUIRES(jobs->lock)
{
	jobs->idle++;
	if (due_ms == 0) {
		sys_mutex_wait(&jobs->lock, &jobs->work);
	} else {
		struct timespec end = sys_clock_until(CLOCK_MONOTONIC, due_ms);
		(void)sys_mutex_wait_until(&jobs->lock, &jobs->work, &end);
	}
	jobs->idle--;
}

/* The worker that slept until the first event was due is busy now: another one waits for the next. */
static void jobs_wake_another(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	agenda_item_t next;
	if (jobs->idle > 0 && jobs_first(jobs, &next)) {
		pthread_cond_signal(&jobs->work);
	}
}

/* Under lock, which is released meanwhile. */
static void jobs_run_one(jobs_t *jobs, const agenda_item_t *item) SYS_REQUIRES(jobs->lock)
{
	jobs_forget(jobs, item->zone, item->event);
	jobs_mark_begun(jobs, item->zone, item->ticket);
	jobs_wake_another(jobs);
	bool is_start = item->event == EVENT_LOAD && !jobs->has_started;
	sys_mutex_unlock(&jobs->lock);
	if (is_start) {
		sys_thread_step_back(); /* it needs all CPUs: mostly nothing is answered before it ends */
	} else {
		sys_thread_step_aside();
	}
	job_outcome_t outcome = { .load = LOAD_UNCHANGED };
	knot_err_t result = jobs->calls.run(item->zone, item->event, item->how, &outcome, jobs->calls.ctx);
	sys_mutex_lock(&jobs->lock);
	if (outcome.goes_on) {
		return; /* it may have ended, and the entry be gone */
	}
	jobs->running += outcome.then != NULL; /* not idle in between */
	jobs_end(jobs, item->zone, outcome, result);
	if (outcome.then != NULL) {
		sys_mutex_unlock(&jobs->lock);
		outcome.then(outcome.then_ctx);
		sys_mutex_lock(&jobs->lock);
		jobs->running--;
		jobs_tell_if_idle(jobs);
	}
}

/* Under lock, which is released meanwhile. */
static void jobs_run_step(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	job_step_t *step = jobs->steps;
	jobs->steps = step->next;
	sys_mutex_unlock(&jobs->lock);
	sys_thread_step_aside();
	step->run(step->ctx);
	sys_mutex_lock(&jobs->lock);
}

void jobs_go_on(jobs_t *jobs, job_step_t *step)
{
	step->next = NULL;
	sys_mutex_lock(&jobs->lock);
	*(jobs->steps == NULL ? &jobs->steps : jobs->last_step) = step;
	jobs->last_step = &step->next;
	pthread_cond_signal(&jobs->work);
	sys_mutex_unlock(&jobs->lock);
}

/* The next piece of work, or a wait for it. */
static void jobs_run_any(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	agenda_item_t next;
	uint64_t wait_ms;
	if (jobs->steps != NULL) {
		jobs_run_step(jobs);
	} else if (jobs_find_next(jobs, &next, &wait_ms)) {
		jobs_run_one(jobs, &next);
	} else if (agenda_was_long(&jobs->agenda) || agenda_was_long(&jobs->refreshes)) {
		jobs_give_memory_back(jobs);
	} else {
		jobs_tell_if_idle(jobs); /* what was due may have been parked */
		jobs_wait_for_work(jobs, wait_ms);
	}
}

static void jobs_run_worker(void *arg)
{
	jobs_t *jobs = arg;
	sys_mutex_lock(&jobs->lock);
	while (!jobs->stopping || jobs->steps != NULL) {
		jobs_run_any(jobs);
	}
	sys_mutex_unlock(&jobs->lock);
}

/* ---- In place of workers that wait ---- */

typedef struct jobs_spare {
	struct jobs_spare *next;
	jobs_t *jobs;
	bool is_over; /* under the lock of the jobs */
	sys_thread_t thread;
} jobs_spare_t;

static void jobs_run_spare(void *arg)
{
	jobs_spare_t *spare = arg;
	jobs_t *jobs = spare->jobs;
	sys_mutex_lock(&jobs->lock);
	while (!jobs->stopping && jobs->spare_count <= jobs->outside) {
		jobs_run_any(jobs);
	}
	jobs->spare_count--;
	spare->is_over = true;
	sys_mutex_unlock(&jobs->lock);
}

/* Free spare threads that have ended, or all of them: then none is left that could begin. Under lock, which is released
 * meanwhile. */
static void jobs_join_spares(jobs_t *jobs, bool is_stop) SYS_REQUIRES(jobs->lock)
{
	jobs_spare_t **at = &jobs->spares;
	while (*at != NULL) {
		jobs_spare_t *spare = *at;
		if (!spare->is_over && !is_stop) {
			at = &spare->next;
			continue;
		}
		*at = spare->next;
		sys_mutex_unlock(&jobs->lock);
		sys_thread_join(&spare->thread);
		free(spare);
		sys_mutex_lock(&jobs->lock);
		at = &jobs->spares; /* the list may have changed meanwhile */
	}
}

static void jobs_replace_worker(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	jobs->outside++;
	bool has_room = jobs->spare_count < JOBS_SPARES_MAX && jobs->spare_count < jobs->outside && !jobs->stopping;
	jobs_spare_t *spare = has_room ? calloc(1, sizeof(*spare)) : NULL;
	if (spare != NULL) {
		*spare = (jobs_spare_t){ .next = jobs->spares,
			.jobs = jobs,
			.thread = { .name = "bg-spare", .cpu = -1, .run = jobs_run_spare, .arg = spare } };
		if (sys_thread_start(&spare->thread) == KNOT_OK) {
			jobs->spares = spare;
			jobs->spare_count++;
		} else {
			free(spare);
		}
	}
}

static void jobs_resume_worker(jobs_t *jobs) SYS_REQUIRES(jobs->lock)
{
	jobs->outside--;
	pthread_cond_broadcast(&jobs->work); /* one that is idle in its place ends */
}

void jobs_step_out(jobs_t *jobs)
{
	sys_mutex_lock(&jobs->lock);
	jobs_join_spares(jobs, false);
	jobs_replace_worker(jobs);
	sys_mutex_unlock(&jobs->lock);
}

void jobs_step_in(jobs_t *jobs)
{
	sys_mutex_lock(&jobs->lock);
	jobs_resume_worker(jobs);
	sys_mutex_unlock(&jobs->lock);
}

void jobs_may_stall(jobs_t *jobs, entry_t *entry, jobs_stall_t *stall)
{
	*stall = (jobs_stall_t){ .entry = entry, .since_ms = sys_clock_ms() };
	sys_mutex_lock(&jobs->lock);
	stall->next = jobs->stalls;
	jobs->stalls = stall;
	sys_mutex_unlock(&jobs->lock);
}

void jobs_goes_on(jobs_t *jobs, jobs_stall_t *stall)
{
	sys_mutex_lock(&jobs->lock);
	jobs_stall_t **at = &jobs->stalls;
	while (*at != stall) {
		at = &(*at)->next;
	}
	*at = stall->next;
	if (stall->is_out) {
		jobs_resume_worker(jobs);
	}
	sys_mutex_unlock(&jobs->lock);
}

void jobs_look_for_stalls(jobs_t *jobs, uint64_t now_ms, void (*tell)(knot_name_t zone))
{
	sys_mutex_lock(&jobs->lock);
	jobs_join_spares(jobs, false);
	for (jobs_stall_t *stall = jobs->stalls; stall != NULL; stall = stall->next) {
		if (!stall->is_out && now_ms >= stall->since_ms + JOBS_STALL_MS) {
			stall->is_out = true;
			jobs_replace_worker(jobs);
			jobs_note_tried(jobs, stall->entry);
			tell(entry_name(stall->entry));
		}
	}
	sys_mutex_unlock(&jobs->lock);
}

knot_err_t jobs_start(jobs_t *jobs)
{
	jobs->workers = calloc(jobs->worker_count, sizeof(*jobs->workers));
	if (jobs->workers == NULL) {
		return KNOT_ENOMEM;
	}
	sys_mutex_lock(&jobs->lock);
	jobs->has_started = jobs->untried == 0;
	sys_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->worker_count; i++) {
		sys_thread_t *thread = &jobs->workers[i];
		*thread = (sys_thread_t){ .cpu = -1, .run = jobs_run_worker, .arg = jobs };
		snprintf(thread->name, sizeof(thread->name), "bg-%u", i % 100000);
		knot_err_t err = sys_thread_start(thread);
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

void jobs_stop(jobs_t *jobs)
{
	sys_mutex_lock(&jobs->lock);
	__atomic_store_n(&jobs->stopping, true, __ATOMIC_RELAXED); /* loads look at it without the lock */
	pthread_cond_broadcast(&jobs->work);
	pthread_cond_broadcast(&jobs->ended);
	sys_mutex_unlock(&jobs->lock);
	for (unsigned i = 0; i < jobs->worker_count && jobs->workers != NULL; i++) {
		sys_thread_join(&jobs->workers[i]);
	}
	sys_mutex_lock(&jobs->lock);
	jobs_join_spares(jobs, true);
	sys_mutex_unlock(&jobs->lock);
}
