/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event `update`: all requests that wait for a zone become one change of it. Each is applied behind a mark of its
 * own (update/ddns.h), so one that is refused doesn't touch the others; one commit makes all of them durable.
 */
#include "src/event/zone_update.h"

#include "libknot/msg/rcode.h"
#include "src/event/forward.h"
#include "src/event/turn.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/update/ddns.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCH_MAX = 4096, /* requests of one commit: some 20 ms of work */
	FROZEN_MAX = 8,   /* as in Knot */
	REMOTE_MAX = INET6_ADDRSTRLEN + 8,
};

/* ---- Putting ---- */

/* When requests that begin to wait now are processed. */
static uint64_t update_due_ms(const server_t *server, entry_t *entry) SYS_REQUIRES(server->jobs.lock)
{
	uint64_t now_ms = sys_clock_ms();
	conf_zone_t zone;
	if (zone_contents(entry_zone(entry)) == NULL) {
		return now_ms; /* the sooner it is served */
	}
	RCU_READ_SECTION(guard);
	bool has = state_settings(state_load(&server->root, guard), entry_name(entry), &zone);
	return has ? now_ms + zone.update_delay_s * 1000ULL : now_ms;
}

update_put_t server_update_put(server_t *server, knot_name_t zone, update_request_t *take_request)
{
	static const struct {
		knot_err_t err;
		update_put_t result;
	} results[] = {
		{ KNOT_OK, UPDATE_WAITS },
		{ KNOT_ENOZONE, UPDATE_NO_ZONE },
		{ KNOT_ECTLBUSY, UPDATE_FROZEN },
		{ KNOT_ESPACE, UPDATE_NO_ROOM },
		{ KNOT_ENOMEM, UPDATE_NO_MEMORY },
	};
	bool is_first = false;
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = server_find_entry(server, zone);
	bool is_frozen = entry != NULL && entry->frozen;
	knot_err_t err = entry == NULL ? KNOT_ENOZONE
				       : updates_put(&server->updates, zone, is_frozen ? FROZEN_MAX : 0, take_request,
							 &is_first);
	if (err == KNOT_OK && is_first) {
		(void)jobs_plan(&server->jobs, entry, EVENT_UPDATE, update_due_ms(server, entry), 0);
		if (entry->edited) {
			log_zone(LOG_WARNING, zone, "blocked zone update due to open control transaction");
		}
	}
	sys_mutex_unlock(&server->jobs.lock);
	err = err == KNOT_ESPACE && is_frozen ? KNOT_ECTLBUSY : err;
	size_t i = 0;
	while (results[i].err != err) {
		i++;
	}
	return results[i].result;
}

static update_put_t update_put(void *ctx, knot_name_t zone, update_request_t *take_request)
{
	return server_update_put(ctx, zone, take_request);
}

update_sink_t server_update_sink(server_t *server)
{
	return (update_sink_t){ .put = update_put, .ctx = server };
}

/* ---- The log ---- */

static void update_print_remote(const struct sockaddr *remote, char text[static REMOTE_MAX])
{
	char address[INET6_ADDRSTRLEN] = "";
	unsigned port = 0;
	if (remote->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)remote;
		inet_ntop(AF_INET, &in->sin_addr, address, sizeof(address));
		port = ntohs(in->sin_port);
	} else if (remote->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)remote;
		inet_ntop(AF_INET6, &in->sin6_addr, address, sizeof(address));
		port = ntohs(in->sin6_port);
	} else {
		snprintf(text, REMOTE_MAX, "unix");
		return;
	}
	snprintf(text, REMOTE_MAX, "%s@%u", address, port);
}

static void update_on_message(const ddns_message_t *message, void *ctx)
{
	static const int levels[] = {
		[DDNS_DEBUG] = LOG_DEBUG, [DDNS_NOTICE] = LOG_NOTICE, [DDNS_WARNING] = LOG_WARNING
	};
	const turn_t *turn = ctx;
	if (message->names_zone) {
		log_zone(levels[message->level], turn->name, "%s", message->text);
	} else {
		log_server(levels[message->level], "%s", message->text);
	}
}

/* Knot's word for the transport is TCP for all of them. */
static void update_log_refusal(const turn_t *turn, const update_request_t *request, const ddns_result_t *result)
{
	char remote[REMOTE_MAX];
	update_print_remote(request->remote, remote);
	log_zone(LOG_WARNING, turn->name, "DDNS, incoming, remote %s TCP, %s (%s)", remote, result->what,
			knot_strerror(result->err));
}

/* ---- A batch ---- */

/* Apply all, each for itself. */
static knot_err_t update_apply(const turn_t *turn, update_t *update, const update_list_t *list)
{
	ddns_t *ddns;
	knot_err_t err = ddns_begin(update, update_on_message, (void *)(uintptr_t)turn, &ddns);
	if (err != KNOT_OK) {
		return err;
	}
	for (update_request_t *r = list->first; r != NULL; r = r->next) {
		ddns_result_t result = ddns_apply(ddns, r->message);
		r->rcode = result.rcode;
		if (result.what != NULL) {
			update_log_refusal(turn, r, &result);
		}
	}
	ddns_end(ddns);
	return KNOT_OK;
}

/* Nothing of the batch has happened. */
static void update_refuse(const turn_t *turn, const update_list_t *list, knot_err_t err)
{
	uint16_t rcode = err == KNOT_EZONESIZE ? KNOT_RCODE_REFUSED : KNOT_RCODE_SERVFAIL;
	log_zone(LOG_ERR, turn->name, "DDNS, dropping %zu updates in a bulk", list->count);
	log_zone(LOG_ERR, turn->name, "DDNS, processing failed (%s)", knot_strerror(err));
	for (update_request_t *r = list->first; r != NULL; r = r->next) {
		r->rcode = r->rcode == KNOT_RCODE_NOERROR ? rcode : r->rcode;
	}
}

/* The version before, of which nothing may be read when another is served. */
typedef struct {
	bool is_there;
	uint32_t serial;
	uint64_t begin_ms;
} update_before_t;

static void update_log_end(const turn_t *turn, const update_before_t *before)
{
	const zone_contents_t *now = zone_contents(entry_zone(turn->entry));
	unsigned ms = (unsigned)(sys_clock_ms() - before->begin_ms);
	char serial[16] = "none";
	if (before->is_there) {
		snprintf(serial, sizeof(serial), "%u", before->serial);
	}
	if (now == turn->current) {
		log_zone(LOG_INFO, turn->name, "DDNS, finished, no changes to the zone were made");
	} else {
		log_zone(LOG_INFO, turn->name, "DDNS, finished, serial %s -> %u, %u.%02u seconds", serial, now->serial,
				ms / 1000, ms % 1000 / 10);
	}
}

static knot_err_t update_process(const turn_t *turn, const update_list_t *list)
{
	update_t update;
	const update_before_t before = { .is_there = turn->current != NULL,
		.serial = turn->current != NULL ? turn->current->serial : 0,
		.begin_ms = sys_clock_ms() };
	log_zone(LOG_INFO, turn->name, "DDNS, processing %zu updates", list->count);
	knot_err_t err = update_begin(turn->name, UPDATE_DDNS, turn->current, &update);
	if (err == KNOT_OK) {
		err = update_apply(turn, &update, list);
		/* All were refused, and there is no version: that isn't a failure of the zone. */
		bool is_new = turn->current != NULL || zone_txn_is_changed(update.txn, &err);
		err = err == KNOT_OK && is_new ? turn_publish(turn, &update) : err;
		update_end(&update);
	}
	if (err != KNOT_OK) {
		update_refuse(turn, list, err);
	} else {
		update_log_end(turn, &before);
	}
	return err;
}

knot_err_t server_run_update(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	static const server_author_t author = { .who = "" };
	(void)how;
	knot_name_t name = entry_name(entry);
	updates_gather(&server->updates, name);
	uint64_t begin_ns = sys_clock_ns();
	update_list_t list = updates_take(&server->updates, name, BATCH_MAX);
	server_commit_t commit = { .reason = "" };
	turn_t turn = { .server = server, .entry = entry, .name = name, .author = &author, .commit = &commit };
	turn.current = zone_contents(entry_zone(entry));
	knot_err_t err = KNOT_OK;
	outcome->keeps_result = true;
	if (list.count > 0 && !forward_updates(server, name, &list)) {
		err = turn_may_change(server, entry) ? load_settings(&server->root, name, &turn.settings) : KNOT_EAGAIN;
		if (err == KNOT_OK) {
			err = update_process(&turn, &list);
		} else {
			update_refuse(&turn, &list, err);
		}
	}
	bool is_new = zone_contents(entry_zone(entry)) != turn.current;
	outcome->load = is_new ? LOAD_EDITED : LOAD_UNCHANGED;
	outcome->keeps_result = !is_new;
	outcome->reason = commit.reason[0] != '\0' && err != KNOT_OK ? strdup(commit.reason) : NULL;
	if (list.count > 0) { /* else they wait for another server */
		updates_note_batch(&server->updates, name, list.count, sys_clock_ns() - begin_ns);
	}
	updates_answer(&server->updates, &list);
	return err;
}

/* What came while a batch was processed, or what a batch left. */
void server_plan_update(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)outcome;
	updates_waiting_t waiting =
			ended == EVENT_UPDATE ? updates_wait(&server->updates, entry_name(entry)) : UPDATES_NONE;
	if (waiting != UPDATES_NONE) {
		uint64_t due_ms = waiting == UPDATES_LEFT ? 0 : update_due_ms(server, entry);
		(void)jobs_plan(&server->jobs, entry, EVENT_UPDATE, due_ms, 0);
	}
}
