/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/out_service.h"

#include "src/sys/log.h"
#include "src/sys/rcu.h"
#include "src/sys/thread.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct transfer_waker {
	atomic_uint users; /* the worker, and transfers that wait */
	int fd;            /* owned: eventfd */
};

/* Steps that the next receiver may need. */
typedef struct {
	steps_out_t *steps; /* a user; NULL: free */
	uint32_t serial_from, serial_to;
	uint64_t used_at; /* in turns of `clock` */
	uint8_t zone_len, zone[KNOT_NAME_MAX];
} kept_t;

struct transfer_service {
	sys_thread_t thread;
	journal_t *journal;                    /* borrowed */
	_Atomic(transfer_out_link_t *) handed; /* the last one first */
	sem_t wanted;                          /* posted when the first one is handed over, or to end */
	atomic_bool stop;
	steps_out_budget_t budget;
	uint64_t clock;
	kept_t kept[TRANSFER_STEPS_KEPT]; /* of the thread */
};

/* ---- Wakers ---- */

knot_err_t transfer_waker_new(int fd, transfer_waker_t **ret_waker)
{
	transfer_waker_t *waker = malloc(sizeof(*waker));
	if (waker == NULL) {
		return KNOT_ENOMEM;
	}
	waker->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (waker->fd < 0) {
		free(waker);
		return knot_err_of_errno(errno);
	}
	atomic_init(&waker->users, 1);
	*ret_waker = waker;
	return KNOT_OK;
}

void transfer_waker_drop(transfer_waker_t *take_waker)
{
	if (take_waker != NULL && atomic_fetch_sub_explicit(&take_waker->users, 1, memory_order_acq_rel) == 1) {
		close(take_waker->fd);
		free(take_waker);
	}
}

int transfer_waker_fd(const transfer_waker_t *waker)
{
	return waker->fd;
}

bool transfer_waker_clear(transfer_waker_t *waker)
{
	uint64_t count;
	return read(waker->fd, &count, sizeof(count)) == (ssize_t)sizeof(count);
}

static void waker_wake(transfer_waker_t *waker)
{
	const uint64_t one = 1;
	(void)!write(waker->fd, &one, sizeof(one)); /* fails only if it is readable anyway */
}

/* ---- Steps ---- */

static bool kept_is(const kept_t *kept, knot_name_t zone, uint32_t serial_from, uint32_t serial_to)
{
	return kept->steps != NULL && kept->serial_from == serial_from && kept->serial_to == serial_to &&
	       kept->zone_len == zone.len && memcmp(kept->zone, zone.wire, zone.len) == 0;
}

/* In place of what was used longest ago. */
static void service_keep(transfer_service_t *service, knot_name_t zone, uint32_t serial_from, uint32_t serial_to,
		steps_out_t *steps)
{
	kept_t *oldest = &service->kept[0];
	for (size_t i = 1; i < TRANSFER_STEPS_KEPT; i++) {
		if (service->kept[i].used_at < oldest->used_at) {
			oldest = &service->kept[i];
		}
	}
	steps_out_drop(oldest->steps);
	oldest->steps = steps_out_ref(steps);
	oldest->serial_from = serial_from;
	oldest->serial_to = serial_to;
	oldest->used_at = ++service->clock;
	oldest->zone_len = zone.len;
	memcpy(oldest->zone, zone.wire, zone.len);
}

static void service_keep_none(transfer_service_t *service)
{
	for (size_t i = 0; i < TRANSFER_STEPS_KEPT; i++) {
		steps_out_drop(service->kept[i].steps);
		service->kept[i].steps = NULL;
		service->kept[i].used_at = 0;
	}
}

static steps_out_verdict_t service_find_steps(knot_name_t zone, uint32_t serial_from, uint32_t serial_to,
		size_t len_max, steps_out_t **ret_steps, void *ctx)
{
	transfer_service_t *service = ctx;
	for (size_t i = 0; i < TRANSFER_STEPS_KEPT; i++) {
		if (kept_is(&service->kept[i], zone, serial_from, serial_to)) {
			service->kept[i].used_at = ++service->clock;
			*ret_steps = steps_out_ref(service->kept[i].steps);
			return STEPS_OUT_OK;
		}
	}
	steps_out_verdict_t verdict = steps_out_read(
			service->journal, &service->budget, zone, serial_from, serial_to, len_max, ret_steps);
	if (verdict == STEPS_OUT_UNUSABLE) {
		service_keep_none(service); /* what is kept may be what is in the way */
		verdict = steps_out_read(
				service->journal, &service->budget, zone, serial_from, serial_to, len_max, ret_steps);
	}
	if (verdict == STEPS_OUT_OK && steps_out_len(*ret_steps) <= TRANSFER_STEPS_KEPT_MAX) {
		service_keep(service, zone, serial_from, serial_to, *ret_steps);
	}
	return verdict;
}

/* ---- The thread ---- */

static void service_log(knot_name_t zone, size_t count, const transfer_out_line_t *lines)
{
	for (size_t i = 0; i < count; i++) {
		log_zone(lines[i].level, zone, "%s", lines[i].text);
	}
}

static void service_log_begin(const transfer_out_t *out)
{
	transfer_out_line_t lines[TRANSFER_OUT_LINES_MAX];
	transfer_out_facts_t facts = transfer_out_facts_at_begin(out);
	service_log(facts.zone, transfer_out_print_begin(&facts, lines), lines);
}

static void service_log_end(const transfer_out_t *out)
{
	transfer_out_line_t lines[TRANSFER_OUT_LINES_MAX];
	transfer_out_facts_t facts = transfer_out_facts(out);
	service_log(facts.zone, transfer_out_print_end(&facts, lines), lines);
}

/*
 * One link. The owner of a transfer that needn't be prepared goes on meanwhile, so of it only what never changes is
 * read. That of an unprepared one waits, or has ended it: then its end is handed over behind this.
 */
static void service_handle(transfer_service_t *service, transfer_out_link_t *link)
{
	transfer_out_t *out = link->out;
	if (transfer_out_link_is(link, TRANSFER_OUT_LINK_END)) {
		service_log_end(out);
		transfer_out_free(out);
		return;
	}
	transfer_waker_t *waker = transfer_out_waker(out);
	if (waker == NULL) {
		service_log_begin(out);
		return;
	}
	transfer_out_prepare(out, service_find_steps, service);
	service_log_begin(out);
	transfer_out_release(out);
	waker_wake(waker);
	transfer_waker_drop(waker);
}

/* All that was handed over, the first one first. */
static transfer_out_link_t *service_take(transfer_service_t *service)
{
	transfer_out_link_t *list = atomic_exchange_explicit(&service->handed, NULL, memory_order_acquire);
	transfer_out_link_t *first = NULL;
	while (list != NULL) {
		transfer_out_link_t *next = list->next;
		list->next = first;
		first = list;
		list = next;
	}
	return first;
}

static void service_run(void *arg)
{
	transfer_service_t *service = arg;
	for (bool goes_on = true; goes_on;) {
		while (sem_wait(&service->wanted) != 0 && errno == EINTR) {}
		goes_on = !atomic_load_explicit(&service->stop, memory_order_acquire);
		sys_thread_step_aside();
		for (transfer_out_link_t *link = service_take(service); link != NULL;) {
			transfer_out_link_t *next = link->next;
			service_handle(service, link);
			link = next;
		}
	}
	service_keep_none(service);
}

knot_err_t transfer_service_new(journal_t *journal, transfer_service_t **ret_service)
{
	transfer_service_t *service = calloc(1, sizeof(*service));
	if (service == NULL) {
		return KNOT_ENOMEM;
	}
	service->journal = journal;
	service->budget.max = TRANSFER_STEPS_MAX;
	service->thread = (sys_thread_t){ .name = "transfers", .cpu = -1, .run = service_run, .arg = service };
	int code = sem_init(&service->wanted, 0, 0);
	assert(code == 0);
	(void)code;
	knot_err_t err = sys_thread_start(&service->thread);
	if (err != KNOT_OK) {
		sem_destroy(&service->wanted);
		free(service);
		return err;
	}
	*ret_service = service;
	return KNOT_OK;
}

void transfer_service_free(transfer_service_t *take_service)
{
	if (take_service == NULL) {
		return;
	}
	atomic_store_explicit(&take_service->stop, true, memory_order_release);
	sem_post(&take_service->wanted);
	sys_thread_join(&take_service->thread);
	assert(atomic_load(&take_service->handed) == NULL && atomic_load(&take_service->budget.used) == 0);
	sem_destroy(&take_service->wanted);
	free(take_service);
}

/* ---- Of workers ---- */

static void service_hand(transfer_service_t *service, transfer_out_link_t *link)
{
	transfer_out_link_t *before = atomic_load_explicit(&service->handed, memory_order_relaxed);
	do {
		link->next = before;
	} while (!atomic_compare_exchange_weak_explicit(
			&service->handed, &before, link, memory_order_release, memory_order_relaxed));
	/* The link is the thread's now, and may be gone. */
	if (before == NULL) {
		sem_post(&service->wanted);
	}
}

void transfer_service_begin(transfer_service_t *service, transfer_out_t *out, transfer_waker_t *waker)
{
	if (transfer_out_state(out) == TRANSFER_OUT_UNPREPARED) {
		atomic_fetch_add_explicit(&waker->users, 1, memory_order_relaxed);
		transfer_out_set_waker(out, waker);
	}
	service_hand(service, transfer_out_link(out, TRANSFER_OUT_LINK_BEGIN));
}

void transfer_service_end(transfer_service_t *service, transfer_out_t *take_out, uint64_t now_us)
{
	transfer_out_end(take_out, now_us);
	service_hand(service, transfer_out_link(take_out, TRANSFER_OUT_LINK_END));
}
