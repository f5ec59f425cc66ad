/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod-rrl: addresses and networks get only so many answers over UDP, and so much time of the CPU over other transports.
 *
 * What sources have used is in tables (table.h) that live as long as some configuration has a block with the same id
 * and limits: a reload forgets nothing, and zones with the same block share its tables.
 */
#include "src/modules/module.h"

#include "src/modules/rrl/table.h"
#include "src/sys/clock.h"
#include "src/sys/lock.h"
#include "src/sys/log.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <syslog.h>

enum {
	NS_PER_US = 1000,
	TIME_MAX_NS = 1000000000, /* of one request */
	SAMPLE_NS = 50000         /* that often a thread reads how much CPU it has used */
};
enum { COUNT_SLIPPED, COUNT_DROPPED, COUNT_DROPPED_TIME, COUNT_LIMITED, COUNT_END };

/** What a block's instances share. */
typedef struct rrl_shared {
	struct rrl_shared *next;
	unsigned refs;
	char *id;                   /* owned */
	rrl_limits_t rate, time;    /* rate 0: there is no such limit. Of time: in nanoseconds */
	rrl_table_t *rates, *times; /* owned; NULL: there is no such limit */
	_Atomic uint64_t logged_us; /* when a line was logged last, 0: never */
} rrl_shared_t;

typedef struct {
	module_instance_t base;
	rrl_shared_t *shared; /* one of its refs is ours */
	uint32_t slip;
	bool is_dry;
	uint64_t log_period_us;   /* 0: don't log */
	sys_counters_t *counters; /* owned; COUNT_… */
	conf_nets_t whitelist;    /* in: */
	conf_net_t nets[];
} rrl_t;

static const sys_counter_info_t items[] = {
	[COUNT_SLIPPED] = { "mod-rrl", "slipped", SYS_COUNTER_COUNT,
			"Requests beyond a limit that got a truncated reply" },
	[COUNT_DROPPED] = { "mod-rrl", "dropped", SYS_COUNTER_COUNT, "Requests beyond a limit that got no reply" },
	[COUNT_DROPPED_TIME] = { "mod-rrl", "dropped-time", SYS_COUNTER_COUNT,
			"Requests over TCP beyond a limit of time, which got no reply" },
};

/* ---- What instances share ---- */

static sys_mutex_t shares_lock = SYS_MUTEX_INIT;
static rrl_shared_t *shares SYS_GUARDED_BY_VARIABLE(shares_lock); /* and their refs */

static void rrl_shared_free(rrl_shared_t *shared)
{
	rrl_table_free(shared->rates);
	rrl_table_free(shared->times);
	free(shared->id);
	free(shared);
}

static bool rrl_limits_same(const rrl_limits_t *a, const rrl_limits_t *b)
{
	return a->instant == b->instant && a->rate == b->rate && a->entries == b->entries;
}

static knot_err_t rrl_shared_new(
		const char *id, const rrl_limits_t *rate, const rrl_limits_t *time, rrl_shared_t **ret_shared)
{
	rrl_shared_t *shared = calloc(1, sizeof(*shared));
	if (shared == NULL) {
		return KNOT_ENOMEM;
	}
	*shared = (rrl_shared_t){ .refs = 1, .id = strdup(id), .rate = *rate, .time = *time };
	knot_err_t err = shared->id != NULL ? KNOT_OK : KNOT_ENOMEM;
	if (err == KNOT_OK && rate->rate > 0) {
		err = rrl_table_new(rate, &shared->rates);
	}
	if (err == KNOT_OK && time->rate > 0) {
		err = rrl_table_new(time, &shared->times);
	}
	if (err != KNOT_OK) {
		rrl_shared_free(shared);
		return err;
	}
	*ret_shared = shared;
	return KNOT_OK;
}

static knot_err_t rrl_shared_get(
		const char *id, const rrl_limits_t *rate, const rrl_limits_t *time, rrl_shared_t **ret_shared)
{
	knot_err_t err = KNOT_OK;
	sys_mutex_lock(&shares_lock);
	rrl_shared_t *shared = shares;
	while (shared != NULL && (strcmp(shared->id, id) != 0 || !rrl_limits_same(&shared->rate, rate) ||
						 !rrl_limits_same(&shared->time, time))) {
		shared = shared->next;
	}
	if (shared != NULL) {
		shared->refs++;
	} else if ((err = rrl_shared_new(id, rate, time, &shared)) == KNOT_OK) {
		shared->next = shares;
		shares = shared;
	}
	sys_mutex_unlock(&shares_lock);
	*ret_shared = shared;
	return err;
}

static void rrl_shared_give(rrl_shared_t *shared)
{
	sys_mutex_lock(&shares_lock);
	assert(shared->refs > 0);
	if (--shared->refs == 0) {
		rrl_shared_t **link = &shares;
		while (*link != shared) {
			link = &(*link)->next;
		}
		*link = shared->next;
		rrl_shared_free(shared);
	}
	sys_mutex_unlock(&shares_lock);
}

/* ---- Instances ---- */

static void rrl_free(module_instance_t *instance)
{
	rrl_t *rrl = (rrl_t *)instance;
	if (rrl->shared != NULL) {
		rrl_shared_give(rrl->shared);
	}
	sys_counters_free(rrl->counters);
	free(rrl);
}

/* The tables and counters of an instance that has its settings. */
static knot_err_t rrl_complete(rrl_t *rrl, const conf_mod_rrl_t *settings)
{
	const rrl_limits_t rate = { settings->instant_limit, settings->rate_limit, settings->table_size };
	rrl_limits_t time = { (uint64_t)settings->time_instant_limit * NS_PER_US,
		(uint64_t)settings->time_rate_limit * NS_PER_US, settings->table_size };
	/* A decay within less than a millisecond is none. */
	time.rate = time.rate < 1000 * time.instant ? time.rate : 1000 * time.instant;
	rrl->counters = sys_counters_new(COUNT_END);
	return rrl->counters != NULL ? rrl_shared_get(settings->id, &rate, &time, &rrl->shared) : KNOT_ENOMEM;
}

static knot_err_t rrl_make(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance)
{
	const conf_mod_rrl_t *settings = conf_mod(conf, CONF_MOD_RRL, ref->id);
	size_t net_count = settings->whitelist.count;
	rrl_t *rrl = calloc(1, sizeof(*rrl) + net_count * sizeof(rrl->nets[0]));
	if (rrl == NULL) {
		return KNOT_ENOMEM;
	}
	rrl->base.api = &module_rrl_api;
	rrl->slip = settings->slip;
	rrl->is_dry = settings->dry_run;
	rrl->log_period_us = (uint64_t)settings->log_period_ms * 1000;
	rrl->whitelist = (conf_nets_t){ rrl->nets, net_count };
	if (net_count > 0) {
		memcpy(rrl->nets, settings->whitelist.data, net_count * sizeof(rrl->nets[0]));
	}
	knot_err_t err = rrl_complete(rrl, settings);
	if (err != KNOT_OK) {
		rrl_free(&rrl->base);
		return err;
	}
	*ret_instance = &rrl->base;
	return KNOT_OK;
}

/* ---- Stages ---- */

static inline bool rrl_wants_log(const rrl_t *rrl, const answer_source_t *source)
{
	uint64_t last_us = atomic_load_explicit(&rrl->shared->logged_us, memory_order_relaxed);
	int64_t passed_us = (int64_t)(source->turn->now_us - last_us); /* another thread's clock may be ahead */
	return rrl->log_period_us > 0 && (last_us == 0 || passed_us >= (int64_t)rrl->log_period_us);
}

/* One line per period, whichever thread is first. */
__attribute__((noinline, cold)) static void rrl_log(
		const rrl_t *rrl, const answer_source_t *source, unsigned prefix_len, const char *what)
{
	rrl_shared_t *shared = rrl->shared;
	uint64_t now_us = source->turn->now_us;
	uint64_t last_us = atomic_load_explicit(&shared->logged_us, memory_order_relaxed);
	if (!rrl_wants_log(rrl, source) || !atomic_compare_exchange_strong(&shared->logged_us, &last_us, now_us)) {
		return;
	}
	char text[INET6_ADDRSTRLEN] = "";
	const struct sockaddr *remote = source->remote;
	(void)inet_ntop(remote->sa_family,
			remote->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)remote)->sin_addr
						     : (const void *)&((const struct sockaddr_in6 *)remote)->sin6_addr,
			text, sizeof(text));
	log_server(LOG_NOTICE, "module 'mod-rrl%s%s', address %s limited on /%u by %s%s",
			shared->id[0] != '\0' ? "/" : "", shared->id, text, prefix_len, what,
			rrl->is_dry ? " (dry run)" : "");
}

/* What a request beyond the limit gets. */
__attribute__((noinline)) static answer_refusal_t rrl_limit(
		const rrl_t *rrl, const answer_source_t *source, const answer_request_t *request, unsigned prefix_len)
{
	if (rrl_wants_log(rrl, source)) {
		rrl_log(rrl, source, prefix_len, "rate");
	}
	/* Only a query can be repeated over TCP. */
	bool can_slip = rrl->slip > 0 && request->query.opcode == KNOT_OPCODE_QUERY &&
			request->kind != ANSWER_KIND_REFUSED;
	bool slips = can_slip && (rrl->slip == 1 || sys_counters_next(rrl->counters, COUNT_LIMITED) % rrl->slip == 0);
	sys_counters_add(rrl->counters, slips ? COUNT_SLIPPED : COUNT_DROPPED, 1);
	return rrl->is_dry ? ANSWER_REFUSAL_NONE : slips ? ANSWER_REFUSAL_TRUNCATED : ANSWER_REFUSAL_SILENT;
}

/*
 * What counts is time of the CPU, but to read it is a system call. So a thread reads it only when its last reading is
 * SAMPLE_NS old, and after a request that took that long: it may have been preempted. Of a shorter one the time that
 * passed is taken.
 */
static void rrl_begin_time(module_notes_t *notes)
{
	static _Thread_local struct {
		uint64_t at_ns, used_ns;
	} sample;
	uint64_t now_ns = sys_clock_ns();
	if (now_ns - sample.at_ns >= SAMPLE_NS) {
		sample.used_ns = sys_clock_thread_ns();
		sample.at_ns = now_ns;
	}
	notes->started_ns = now_ns;
	notes->used_ns = sample.used_ns;
}

/* At most SAMPLE_NS too much, if it was preempted. */
static uint64_t rrl_spent_ns(const module_notes_t *notes)
{
	uint64_t passed_ns = sys_clock_ns() - notes->started_ns;
	if (passed_ns < SAMPLE_NS) {
		return passed_ns;
	}
	uint64_t used_ns = sys_clock_thread_ns() - notes->used_ns;
	uint64_t spent_ns = used_ns < passed_ns ? used_ns : passed_ns;
	return spent_ns < TIME_MAX_NS ? spent_ns : TIME_MAX_NS;
}

static answer_refusal_t rrl_gate_stream(const rrl_t *rrl, const answer_source_t *source, module_notes_t *notes)
{
	if (rrl->shared->times == NULL) {
		return ANSWER_REFUSAL_NONE;
	}
	unsigned prefix_len = rrl_table_look(rrl->shared->times, source->remote, source->turn->now_us);
	if (__builtin_expect(prefix_len != RRL_FREE, 0)) {
		if (rrl_wants_log(rrl, source)) {
			rrl_log(rrl, source, prefix_len, "time");
		}
		sys_counters_add(rrl->counters, COUNT_DROPPED_TIME, 1);
		if (!rrl->is_dry) {
			return ANSWER_REFUSAL_SILENT;
		}
	}
	if (notes->started_ns == 0) {
		rrl_begin_time(notes);
	}
	return ANSWER_REFUSAL_NONE;
}

static inline bool rrl_is_exempt(const rrl_t *rrl, const answer_source_t *source)
{
	return source->remote->sa_family == AF_UNIX ||
	       (rrl->whitelist.count > 0 && conf_nets_have(rrl->whitelist, source->remote));
}

/* Another instance of the same block has looked at the request: one of the server's before one of the zone's. */
static inline bool rrl_is_second(const rrl_t *rrl, const module_notes_t *notes)
{
	const rrl_t *last = (const rrl_t *)notes->limiter;
	return last != NULL && last != rrl && last->shared == rrl->shared;
}

static answer_refusal_t rrl_gate(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes)
{
	const rrl_t *rrl = (const rrl_t *)instance;
	if (rrl_is_exempt(rrl, source) || rrl_is_second(rrl, notes)) {
		return ANSWER_REFUSAL_NONE;
	}
	notes->limiter = instance;
	if (!answer_is_udp(source->protocol)) {
		return rrl_gate_stream(rrl, source, notes);
	}
	if (rrl->shared->rates == NULL || notes->is_source_known) {
		return ANSWER_REFUSAL_NONE;
	}
	unsigned prefix_len =
			rrl_table_take(rrl->shared->rates, source->remote, 1, source->turn->now_us, request->query.id);
	return __builtin_expect(prefix_len == RRL_FREE, 1) ? ANSWER_REFUSAL_NONE
							   : rrl_limit(rrl, source, request, prefix_len);
}

static void rrl_answered(module_instance_t *instance, const module_answered_t *what)
{
	const rrl_t *rrl = (const rrl_t *)instance;
	const answer_source_t *source = what->source;
	if (what->notes->started_ns == 0 || rrl->shared->times == NULL || rrl_is_exempt(rrl, source) ||
			rrl_is_second(rrl, what->notes)) {
		return;
	}
	uint64_t spent_ns = rrl_spent_ns(what->notes);
	rrl_table_charge(rrl->shared->times, source->remote, spent_ns, source->turn->now_us, (uint32_t)spent_ns);
}

static const sys_counter_info_t *rrl_item(const module_instance_t *instance, unsigned index)
{
	(void)instance;
	return index < KNOT_LEN(items) ? &items[index] : NULL;
}

static bool rrl_counters(const module_instance_t *instance, const char *only, module_counter_cb cb, void *ctx)
{
	return module_counters_plain(((const rrl_t *)instance)->counters, items, KNOT_LEN(items), only, cb, ctx);
}

const module_api_t module_rrl_api = {
	.name = "mod-rrl",
	.make = rrl_make,
	.free = rrl_free,
	.gate = rrl_gate,
	.gates_refused = true,
	.answered = rrl_answered,
	.item = rrl_item,
	.counters = rrl_counters,
};
