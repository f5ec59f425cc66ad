/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/question.h"

#include "src/sys/clock.h"
#include "src/sys/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- Remotes ---- */

size_t question_count_remotes(const conf_groups_t *groups)
{
	size_t count = 0;
	for (size_t i = 0; i < groups->count; i++) {
		count += groups->data[i]->count;
	}
	return count;
}

const conf_remote_t *question_remote(const conf_groups_t *groups, size_t n)
{
	for (size_t i = 0; i < groups->count; i++) {
		if (n < groups->data[i]->count) {
			return groups->data[i]->remotes[n];
		}
		n -= groups->data[i]->count;
	}
	return NULL;
}

/* ---- The list ---- */

void *question_new(server_t *server, conf_t *conf, knot_name_t zone, event_t event, const char *what, size_t size)
{
	question_t *question = calloc(1, size);
	if (question == NULL) {
		return NULL;
	}
	memcpy(question->wire, zone.wire, zone.len);
	question->zone = (knot_name_t){ question->wire, zone.len, zone.label_count };
	question->server = server;
	question->conf = conf_hold(conf);
	question->event = event;
	question->what = what;
	return question;
}

void question_free(question_t *take_question)
{
	conf_free(take_question->conf);
	free(take_question);
}

void questions_free(server_t *server) SYS_UNCHECKED_LOCKS
{
	for (size_t i = 0; i < SERVER_QUESTION_LISTS; i++) {
		while (server->questions[i] != NULL) {
			question_t *first = server->questions[i];
			server->questions[i] = first->next;
			question_free(first);
		}
	}
}

/* After a start a hundred thousand zones may ask at the same time. */
static question_t **question_list(server_t *server, knot_name_t zone) SYS_REQUIRES(server->jobs.lock)
{
	return &server->questions[XXH3_64bits(zone.wire, zone.len) % SERVER_QUESTION_LISTS];
}

static question_t **question_find(server_t *server, knot_name_t zone, event_t event) SYS_REQUIRES(server->jobs.lock)
{
	question_t **at = question_list(server, zone);
	while (*at != NULL && ((*at)->event != event || !knot_name_eq((*at)->zone, zone))) {
		at = &(*at)->next;
	}
	return at;
}

void question_begin(question_t *question)
{
	server_t *server = question->server;
	sys_mutex_lock(&server->jobs.lock);
	question_t **list = question_list(server, question->zone);
	question->next = *list;
	*list = question;
	sys_mutex_unlock(&server->jobs.lock);
}

question_t *question_take(server_t *server, knot_name_t zone, event_t event, bool *ret_is_busy)
{
	sys_mutex_lock(&server->jobs.lock);
	question_t **at = question_find(server, zone, event), *question = *at;
	*ret_is_busy = question != NULL && !question->is_over;
	if (question != NULL && question->is_over) {
		*at = question->next;
	} else {
		question = NULL;
	}
	sys_mutex_unlock(&server->jobs.lock);
	return question;
}

bool question_may_begin(server_t *server, entry_t *entry, event_t event)
{
	enum { LATER_MS = 1000 };
	sys_mutex_lock(&server->jobs.lock);
	bool is_busy = *question_find(server, entry_name(entry), event) != NULL;
	if (is_busy) {
		(void)jobs_plan(&server->jobs, entry, event, sys_clock_ms() + LATER_MS, 0);
	}
	sys_mutex_unlock(&server->jobs.lock);
	return !is_busy;
}

void question_end(question_t *take_question, question_end_t how, knot_err_t err)
{
	question_t *question = take_question;
	server_t *server = question->server;
	sys_mutex_lock(&server->jobs.lock);
	entry_t *entry = err != KNOT_ESTOPPED ? server_find_entry(server, question->zone) : NULL;
	question_t **at = question_find(server, question->zone, question->event);
	bool is_kept = how.is_kept && entry != NULL;
	if (!is_kept) {
		*at = question->next;
	}
	question->is_over = is_kept;
	if (how.is_again && entry != NULL) {
		(void)jobs_plan(&server->jobs, entry, question->event, sys_clock_ms() + how.wait_ms, 0);
	}
	sys_mutex_unlock(&server->jobs.lock);
	if (!is_kept) {
		question_free(question);
	}
}

/* ---- Asking ---- */

void question_ask(question_t *question, const conf_remote_t *remote, unsigned address)
{
	remote_request_t *request = &question->request;
	request->remote = remote;
	request->address = address;
	knot_err_t err = remote_ask(question->server->remote, request);
	if (err != KNOT_OK) {
		request->on_end(request, err);
	}
}

bool question_ask_next_address(question_t *question)
{
	remote_request_t *request = &question->request;
	bool has_next = request->address + 1u < request->remote->addresses.count;
	if (has_next) {
		question_ask(question, request->remote, request->address + 1);
	}
	return has_next;
}

void question_log(const question_t *question, int level, const char *format, ...)
{
	char text[256], peer[REMOTE_PEER_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	const remote_request_t *request = &question->request;
	remote_print_peer(request->remote, request->address, request->is_pooled ? " TCP/pool" : " TCP", peer);
	log_zone(level, question->zone, "%s, outgoing, %s%s", question->what, peer, text);
}
