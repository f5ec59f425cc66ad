/* SPDX-License-Identifier: BSD-2-Clause */
/*
 *   ADDRESSES ─► SERVERS ─► SIGNALS ─► (worker) decide DS, plan CSYNC ─► GLUE ─► (worker) decide CSYNC
 *   resolver     all servers  resolver                                     all servers
 *
 * A phase is a list of questions, which each server that is asked gets one after the other. `busy` counts who still
 * asks, and whoever starts them; the last one to end goes on with the next phase.
 */
#include "src/event/child_run.h"

#include "libknot/msg/rcode.h"
#include "src/sys/clock.h"
#include "src/zone/records.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	GLUE_BASE = 7, /* replies of PHASE_GLUE stand behind those of PHASE_SERVERS, which are needed still */
	QUESTIONS_MAX = GLUE_BASE + 2 * CHILD_HOSTS_MAX + 1,
	WHO_MAX = 400,
	SIGNAL_TYPES = 2,
};

typedef enum { PHASE_ADDRESSES, PHASE_SERVERS, PHASE_SIGNALS, PHASE_GLUE } phase_t;

typedef struct {
	uint16_t type;
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name; /* of wire[] */
} run_question_t;

/* Who asks the questions of a phase. */
typedef struct {
	remote_request_t request; /* first: callbacks get it */
	child_run_t *run;
	const conf_groups_t *resolvers; /* NULL: one server, `remote` */
	size_t resolver;                /* which of them */
	size_t at;                      /* which question */
	bool is_answered;
	bool has_failed;
	knot_mut_bytes_t replies[QUESTIONS_MAX]; /* owned */
} run_asker_t;

/* A name server of the child. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name; /* lower case */
	bool is_in_child;
	size_t address_count;
} run_host_t;

/* An address of one of them. */
typedef struct {
	run_asker_t asker;
	size_t host;
	conf_addr_t address;
	conf_remote_t remote;
	char who[WHO_MAX];
} run_server_t;

struct child_run {
	child_run_params_t params; /* its names are those of the next two; its conf is held */
	uint8_t parent_wire[KNOT_NAME_MAX], child_wire[KNOT_NAME_MAX];
	uint64_t deadline_ms;
	phase_t phase;
	bool is_stopped;
	bool is_decided; /* DS */
	atomic_uint busy;
	size_t host_count, server_count, question_count;
	size_t reply_base; /* where replies of the phase begin */
	run_host_t hosts[CHILD_NS_MAX];
	run_question_t questions[QUESTIONS_MAX];
	run_asker_t resolver;
	knot_mut_bytes_t signals[CHILD_NS_MAX][SIGNAL_TYPES]; /* owned */
	child_host_t *present_glue;                           /* owned; of CHILD_HOSTS_MAX */
	size_t present_glue_count;
	char fault[CHILD_REASON_MAX]; /* why nothing can be decided; "": it can */
	child_result_t result;
	run_server_t servers[CHILD_SERVERS_MAX];
};

bool child_run_is_stopped(const child_run_t *run)
{
	return run->is_stopped;
}

server_t *child_run_server(const child_run_t *run)
{
	return run->params.server;
}

knot_name_t child_run_child(const child_run_t *run)
{
	return run->params.child;
}

const child_result_t *child_run_result(const child_run_t *run)
{
	return &run->result;
}

static void run_free_replies(knot_mut_bytes_t *replies, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(replies[i].data);
		replies[i] = (knot_mut_bytes_t){ .len = 0 };
	}
}

void child_run_free(child_run_t *take_run)
{
	child_run_t *run = take_run;
	if (run == NULL) {
		return;
	}
	for (size_t i = 0; i < CHILD_SERVERS_MAX; i++) {
		run_free_replies(run->servers[i].asker.replies, QUESTIONS_MAX);
	}
	for (size_t i = 0; i < CHILD_NS_MAX; i++) {
		run_free_replies(run->signals[i], SIGNAL_TYPES);
	}
	run_free_replies(run->resolver.replies, QUESTIONS_MAX);
	free(run->present_glue);
	conf_free(run->params.conf);
	free(run);
}

/* ---- The delegation ---- */

typedef struct {
	child_run_t *run;
	bool is_full;
} run_reading_t;

static bool run_take_delegation(const zone_rr_t *rr, void *ctx)
{
	run_reading_t *reading = ctx;
	child_present_t *to = rr->type == KNOT_TYPE_NS   ? &reading->run->result.ns
			      : rr->type == KNOT_TYPE_DS ? &reading->run->result.ds
							 : NULL;
	if (to != NULL) {
		to->ttl = rr->ttl;
		reading->is_full |= !reply_set_add(&to->set, rr->ttl, rr->rdata);
	}
	return true;
}

static void run_add_server(child_run_t *run, size_t host, bool is_ipv6, const uint8_t *bytes)
{
	char name[KNOT_NAME_TEXT_MAX], address[CONF_ADDR_TEXT_MAX];
	if (run->server_count == CHILD_SERVERS_MAX) {
		child_say(run->fault, "its name servers have more than %u addresses", CHILD_SERVERS_MAX);
		return;
	}
	run_server_t *server = &run->servers[run->server_count++];
	conf_addr_t *to = &server->address;
	if (is_ipv6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&to->ss;
		*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(CHILD_PORT) };
		memcpy(&in6->sin6_addr, bytes, sizeof(in6->sin6_addr));
		to->len = sizeof(*in6);
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&to->ss;
		*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(CHILD_PORT) };
		memcpy(&in->sin_addr, bytes, sizeof(in->sin_addr));
		to->len = sizeof(*in);
	}
	server->host = host;
	server->remote = (conf_remote_t){ .id = "child", .addresses = { to, 1 } };
	server->asker.run = run;
	server->asker.request.remote = &server->remote;
	run->hosts[host].address_count++;
	(void)knot_name_print(run->hosts[host].name, name);
	(void)snprintf(server->who, sizeof(server->who), "%.200s %s", name, conf_addr_print(to, address));
}

typedef struct {
	child_run_t *run;
	size_t host;
} run_addressing_t;

static bool run_take_address(const zone_rr_t *rr, void *ctx)
{
	const run_addressing_t *a = ctx;
	if (rr->type == KNOT_TYPE_A || rr->type == KNOT_TYPE_AAAA) {
		run_add_server(a->run, a->host, rr->type == KNOT_TYPE_AAAA, rr->rdata.data);
	}
	return true;
}

static bool run_take_glue(const zone_rr_t *rr, void *ctx)
{
	child_host_t *host = ctx;
	unsigned index = rr->type == KNOT_TYPE_AAAA;
	return (rr->type != KNOT_TYPE_A && rr->type != KNOT_TYPE_AAAA) ||
	       reply_set_add(&host->addresses[index], rr->ttl, rr->rdata);
}

/* What this server knows: the parent's glue, then zones that it has itself. */
static void run_find_addresses(child_run_t *run, size_t host, uint8_t *scratch)
{
	run_addressing_t a = { run, host };
	knot_name_t name = run->hosts[host].name;
	(void)zone_each_of_name(run->params.contents, name, scratch, run_take_address, &a);
	if (run->hosts[host].address_count > 0) {
		return;
	}
	RCU_READ_SECTION(guard);
	const zone_t *zone = zonedb_find_suffix(state_load(&run->params.server->root, guard)->zones, name);
	const zone_contents_t *contents = zone != NULL ? zone_contents(zone) : NULL;
	if (contents != NULL && contents != run->params.contents) {
		(void)zone_each_of_name(contents, name, scratch, run_take_address, &a);
	}
}

static void run_read_hosts(child_run_t *run, uint8_t *scratch)
{
	for (size_t i = 0; i < run->result.ns.set.count; i++) {
		run_host_t *host = &run->hosts[run->host_count];
		knot_name_t name = knot_name_of(reply_rdata(&run->result.ns.set, i).data);
		if (run->host_count == CHILD_NS_MAX) {
			child_say(run->fault, "it has more than %u name servers", CHILD_NS_MAX);
			return;
		}
		run->host_count++;
		knot_name_lower(name, host->wire);
		host->name = (knot_name_t){ host->wire, name.len, name.label_count };
		host->is_in_child = knot_name_in(host->name, run->params.child);
		run_find_addresses(run, run->host_count - 1, scratch);
	}
}

static bool run_read_glue(child_run_t *run, uint8_t *scratch)
{
	run->present_glue = calloc(CHILD_HOSTS_MAX, sizeof(*run->present_glue));
	if (run->present_glue == NULL) {
		return false;
	}
	bool is_fine = child_hosts_of(
			&run->result.ns.set, run->params.child, run->present_glue, &run->present_glue_count);
	for (size_t i = 0; i < run->present_glue_count && is_fine; i++) {
		child_host_t *host = &run->present_glue[i];
		is_fine = zone_each_of_name(run->params.contents, host->name, scratch, run_take_glue, host);
	}
	if (!is_fine) {
		child_say(run->fault, "its glue has too many records");
	}
	return true;
}

static knot_err_t run_read(child_run_t *run)
{
	run_reading_t reading = { .run = run };
	uint8_t *scratch = malloc(KNOT_RDATA_MAX);
	if (scratch == NULL) {
		return KNOT_ENOMEM;
	}
	reply_set_begin(&run->result.ns.set, KNOT_TYPE_NS);
	reply_set_begin(&run->result.ds.set, KNOT_TYPE_DS);
	(void)zone_each_of_name(run->params.contents, run->params.child, scratch, run_take_delegation, &reading);
	knot_err_t err = run->result.ns.set.count == 0 ? KNOT_ENOENT : KNOT_OK;
	if (err == KNOT_OK && reading.is_full) {
		child_say(run->fault, "its delegation has too many records");
	} else if (err == KNOT_OK) {
		run_read_hosts(run, scratch);
		bool needs_glue = (run->params.wants & CHILD_WANTS_CSYNC) != 0 && run->fault[0] == '\0';
		err = !needs_glue || run_read_glue(run, scratch) ? KNOT_OK : KNOT_ENOMEM;
	}
	free(scratch);
	return err;
}

knot_err_t child_run_new(const child_run_params_t *params, char reason[static CHILD_REASON_MAX], child_run_t **ret_run)
{
	child_run_t *run = calloc(1, sizeof(*run));
	if (run == NULL) {
		return KNOT_ENOMEM;
	}
	run->params = *params;
	run->params.conf = conf_hold(params->conf);
	memcpy(run->parent_wire, params->parent.wire, params->parent.len);
	memcpy(run->child_wire, params->child.wire, params->child.len);
	run->params.parent.wire = run->parent_wire;
	run->params.child.wire = run->child_wire;
	run->result.wants = params->wants;
	run->resolver.run = run;
	run->resolver.resolvers = &params->rules->resolvers;
	knot_err_t err = run_read(run);
	run->params.contents = NULL;
	if (err == KNOT_OK && run->fault[0] != '\0') {
		child_say(reason, "%s", run->fault);
		err = KNOT_ENOTSUP;
	}
	if (err != KNOT_OK) {
		child_run_free(run);
		return err;
	}
	*ret_run = run;
	return KNOT_OK;
}

/* ---- Asking ---- */

static void run_go_on(child_run_t *run);

static void run_release(child_run_t *run)
{
	if (atomic_fetch_sub(&run->busy, 1) == 1) {
		run_go_on(run);
	}
}

static void run_ask(run_asker_t *asker)
{
	child_run_t *run = asker->run;
	const run_question_t *question = &run->questions[asker->at];
	asker->is_answered = false;
	asker->request.query = (remote_query_t){ .opcode = KNOT_OPCODE_QUERY,
		.type = question->type,
		.zone = question->name,
		.is_recursive = asker->resolvers != NULL,
		.has_edns = true,
		.wants_signatures = true };
	knot_err_t err = remote_ask(run->params.server->remote, &asker->request);
	if (err != KNOT_OK) {
		asker->request.on_end(&asker->request, err);
	}
}

/* One byte more than is looked at says that the reply is too large. */
static remote_verdict_t run_on_message(remote_request_t *request, knot_bytes_t message)
{
	run_asker_t *asker = (run_asker_t *)request;
	size_t len = message.len < REPLY_MESSAGE_MAX + 1 ? message.len : REPLY_MESSAGE_MAX + 1;
	knot_mut_bytes_t *to = &asker->replies[asker->run->reply_base + asker->at];
	free(to->data);
	*to = (knot_mut_bytes_t){ malloc(len), len };
	asker->is_answered = to->data != NULL;
	if (to->data != NULL) {
		memcpy(to->data, message.data, len);
	} else {
		to->len = 0;
	}
	return REMOTE_DONE;
}

/* The next address of a resolver, or the next one. */
static bool run_next_resolver(run_asker_t *asker)
{
	remote_request_t *request = &asker->request;
	if (asker->resolvers == NULL) {
		return false;
	}
	if (request->address + 1u < request->remote->addresses.count) {
		request->address++;
		return true;
	}
	size_t n = ++asker->resolver;
	for (size_t i = 0; i < asker->resolvers->count; i++) {
		const conf_group_t *group = asker->resolvers->data[i];
		if (n < group->count) {
			request->remote = group->remotes[n];
			request->address = 0;
			return true;
		}
		n -= group->count;
	}
	return false;
}

static void run_on_end(remote_request_t *request, knot_err_t err)
{
	run_asker_t *asker = (run_asker_t *)request;
	child_run_t *run = asker->run;
	bool is_late = sys_clock_ms() > run->deadline_ms;
	run->is_stopped |= err == KNOT_ESTOPPED;
	bool is_good = err == KNOT_OK && asker->is_answered && !is_late;
	if (is_good) {
		asker->at++;
	} else if (run->is_stopped || is_late || !run_next_resolver(asker)) {
		asker->has_failed = true;
	}
	if (asker->has_failed || asker->at == run->question_count) {
		run_release(run);
	} else {
		run_ask(asker);
	}
}

static void run_begin_asker(run_asker_t *asker)
{
	asker->at = 0;
	asker->request.on_message = run_on_message;
	asker->request.on_end = run_on_end;
	atomic_fetch_add(&asker->run->busy, 1);
	run_ask(asker);
}

static bool run_begin_resolver(child_run_t *run)
{
	run_asker_t *asker = &run->resolver;
	asker->has_failed = false;
	asker->resolver = 0;
	asker->request.address = 0;
	for (size_t i = 0; i < asker->resolvers->count; i++) {
		if (asker->resolvers->data[i]->count > 0) {
			asker->request.remote = asker->resolvers->data[i]->remotes[0];
			run_begin_asker(asker);
			return true;
		}
	}
	return false;
}

static void run_begin_servers(child_run_t *run)
{
	for (size_t i = 0; i < run->server_count; i++) {
		if (!run->servers[i].asker.has_failed) {
			run_begin_asker(&run->servers[i].asker);
		}
	}
}

/* ---- Questions ---- */

static void run_put_question(child_run_t *run, knot_name_t name, uint16_t type)
{
	run_question_t *question = &run->questions[run->question_count++];
	memcpy(question->wire, name.wire, name.len);
	question->name = (knot_name_t){ question->wire, name.len, name.label_count };
	question->type = type;
}

/* RFC 9615 3.1: _dsboot.<child>._signal.<host>. False: too long. */
static bool run_signal_name(
		knot_name_t child, knot_name_t host, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	static const uint8_t dsboot[] = { 7, '_', 'd', 's', 'b', 'o', 'o', 't' };
	static const uint8_t signal[] = { 7, '_', 's', 'i', 'g', 'n', 'a', 'l' };
	size_t child_len = (size_t)child.len - 1, len = sizeof(dsboot) + child_len + sizeof(signal) + host.len;
	if (len > KNOT_NAME_MAX) {
		return false;
	}
	memcpy(ret_wire, dsboot, sizeof(dsboot));
	memcpy(ret_wire + sizeof(dsboot), child.wire, child_len);
	memcpy(ret_wire + sizeof(dsboot) + child_len, signal, sizeof(signal));
	memcpy(ret_wire + sizeof(dsboot) + child_len + sizeof(signal), host.wire, host.len);
	*ret_name = (knot_name_t){ ret_wire, (uint8_t)len, (uint8_t)(child.label_count + host.label_count + 2) };
	return true;
}

/* Numbers of the questions of PHASE_SERVERS; those about one thing follow on another. */
enum { AT_DNSKEY, AT_FIRST };

static void run_ask_servers(child_run_t *run)
{
	knot_name_t child = run->params.child;
	run_put_question(run, child, KNOT_TYPE_DNSKEY);
	if (run->params.wants & CHILD_WANTS_DS) {
		run_put_question(run, child, KNOT_TYPE_CDS);
		run_put_question(run, child, KNOT_TYPE_CDNSKEY);
	}
	if (run->params.wants & CHILD_WANTS_CSYNC) {
		run_put_question(run, child, KNOT_TYPE_SOA);
		run_put_question(run, child, KNOT_TYPE_CSYNC);
		run_put_question(run, child, KNOT_TYPE_NS);
	}
	run_begin_servers(run);
}

static void run_ask_addresses(child_run_t *run)
{
	for (size_t i = 0; i < run->host_count; i++) {
		if (run->hosts[i].address_count == 0 && !run->hosts[i].is_in_child) {
			run_put_question(run, run->hosts[i].name, KNOT_TYPE_A);
			run_put_question(run, run->hosts[i].name, KNOT_TYPE_AAAA);
		}
	}
	if (run->question_count > 0) {
		(void)run_begin_resolver(run);
	}
}

/* Only of a child that may become secure. */
static void run_ask_signals(child_run_t *run)
{
	bool is_wanted = (run->params.wants & CHILD_WANTS_DS) != 0 && run->result.ds.set.count == 0 &&
			 run->params.rules->may_bootstrap && run->fault[0] == '\0';
	for (size_t i = 0; i < run->host_count && is_wanted; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t name;
		if (run->hosts[i].is_in_child) {
			continue;
		}
		if (!run_signal_name(run->params.child, run->hosts[i].name, wire, &name)) {
			child_say(run->fault, "the names of its signals are too long");
			run->question_count = 0;
			return;
		}
		run_put_question(run, name, KNOT_TYPE_CDS);
		run_put_question(run, name, KNOT_TYPE_CDNSKEY);
	}
	if (run->question_count > 0) {
		(void)run_begin_resolver(run);
	}
}

static void run_ask_glue(child_run_t *run)
{
	const child_csync_answer_t *csync = &run->result.csync_answer;
	for (size_t i = 0; i < csync->host_count; i++) {
		for (unsigned j = 0; j < 2; j++) {
			if (csync->has_address[j]) {
				run_put_question(run, csync->hosts[i].name, j == 0 ? KNOT_TYPE_A : KNOT_TYPE_AAAA);
			}
		}
	}
	run_put_question(run, run->params.child, KNOT_TYPE_SOA);
	run_begin_servers(run);
}

/* ---- What a phase gave ---- */

static void run_take_resolved(child_run_t *run)
{
	size_t at = 0;
	for (size_t i = 0; i < run->host_count; i++) {
		if (run->hosts[i].address_count > 0 || run->hosts[i].is_in_child) {
			continue;
		}
		for (unsigned j = 0; j < 2; j++, at++) {
			const uint16_t type = j == 0 ? KNOT_TYPE_A : KNOT_TYPE_AAAA;
			const size_t len = j == 0 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
			const knot_mut_bytes_t reply = run->resolver.replies[at];
			knot_message_t message;
			knot_message_rr_t rr;
			if (reply.len == 0 || reply.len > REPLY_MESSAGE_MAX ||
					knot_message_begin((knot_bytes_t){ reply.data, reply.len }, &message) !=
							KNOT_OK) {
				continue;
			}
			while (knot_message_next(&message, &rr)) {
				if (rr.section == KNOT_SECTION_ANSWER && rr.type == type && rr.rdata_len == len) {
					run_add_server(run, i, j == 1, reply.data + rr.rdata_off);
				}
			}
		}
	}
	run_free_replies(run->resolver.replies, QUESTIONS_MAX);
}

static void run_check_addresses(child_run_t *run)
{
	char name[KNOT_NAME_TEXT_MAX];
	for (size_t i = 0; i < run->host_count && run->fault[0] == '\0'; i++) {
		if (run->hosts[i].address_count == 0) {
			(void)knot_name_print(run->hosts[i].name, name);
			child_say(run->fault, "no address of the name server %.200s is known", name);
		}
	}
}

/* Each name server must have answered at one address at least; those that are silent don't count then. */
static void run_check_servers(child_run_t *run)
{
	for (size_t i = 0; i < run->host_count && run->fault[0] == '\0'; i++) {
		const run_server_t *silent = NULL;
		bool has_answered = false;
		for (size_t j = 0; j < run->server_count; j++) {
			const run_server_t *server = &run->servers[j];
			if (server->host == i) {
				has_answered |= !server->asker.has_failed;
				silent = server->asker.has_failed ? server : silent;
			}
		}
		if (!has_answered && silent != NULL) {
			child_say(run->fault, "%s doesn't answer over TCP", silent->who);
		}
	}
}

static void run_take_signals(child_run_t *run)
{
	size_t at = 0;
	for (size_t i = 0; i < run->host_count && run->question_count > 0; i++) {
		for (unsigned j = 0; j < SIGNAL_TYPES && !run->hosts[i].is_in_child; j++, at++) {
			run->signals[i][j] = run->resolver.replies[at];
			run->resolver.replies[at] = (knot_mut_bytes_t){ .len = 0 };
		}
	}
	if (run->question_count > 0 && run->resolver.has_failed && run->fault[0] == '\0') {
		child_say(run->fault, "no resolver answers");
	}
}

/* ---- Phases ---- */

static void run_begin_phase(child_run_t *run, phase_t phase)
{
	static void (*const ask[])(child_run_t * run) = {
		[PHASE_ADDRESSES] = run_ask_addresses,
		[PHASE_SERVERS] = run_ask_servers,
		[PHASE_SIGNALS] = run_ask_signals,
		[PHASE_GLUE] = run_ask_glue,
	};
	run->phase = phase;
	run->question_count = 0;
	run->reply_base = phase == PHASE_GLUE ? GLUE_BASE : 0;
	atomic_store(&run->busy, 1); /* ours, until all are on their way */
	ask[phase](run);
	run_release(run);
}

void child_run_start(child_run_t *run)
{
	run->deadline_ms = sys_clock_ms() + CHILD_RUN_MS;
	run_begin_phase(run, PHASE_ADDRESSES);
}

/* The phase is over. */
static void run_go_on(child_run_t *run)
{
	if (run->is_stopped) {
		run->params.on_done(run);
		return;
	}
	switch (run->phase) {
	case PHASE_ADDRESSES:
		run_take_resolved(run);
		run_check_addresses(run);
		break;
	case PHASE_SERVERS: run_check_servers(run); break;
	case PHASE_SIGNALS: run_take_signals(run); break;
	case PHASE_GLUE: run_check_servers(run); break;
	}
	if (run->fault[0] != '\0' || run->phase >= PHASE_SIGNALS) {
		run->params.on_done(run);
	} else {
		run_begin_phase(run, run->phase + 1);
	}
}

/* ---- Decisions ---- */

static knot_bytes_t run_reply(const run_server_t *server, size_t at)
{
	return (knot_bytes_t){ server->asker.replies[at].data, server->asker.replies[at].len };
}

static knot_bytes_t run_bytes(knot_mut_bytes_t bytes)
{
	return (knot_bytes_t){ bytes.data, bytes.len };
}

static void run_decide_ds(child_run_t *run)
{
	child_ds_server_t servers[CHILD_SERVERS_MAX];
	child_ds_signal_t signals[CHILD_NS_MAX];
	uint8_t wires[CHILD_NS_MAX][KNOT_NAME_MAX];
	char whos[CHILD_NS_MAX][KNOT_NAME_TEXT_MAX];
	size_t count = 0, signal_count = 0;
	child_ds_answer_t *answer = &run->result.ds_answer;
	for (size_t i = 0; i < run->server_count; i++) {
		const run_server_t *server = &run->servers[i];
		if (!server->asker.has_failed) {
			servers[count++] = (child_ds_server_t){ server->who, run_reply(server, AT_DNSKEY),
				run_reply(server, AT_FIRST), run_reply(server, AT_FIRST + 1) };
		}
	}
	for (size_t i = 0; i < run->host_count && run->params.rules->may_bootstrap; i++) {
		child_ds_signal_t *signal = &signals[signal_count];
		if (!run->hosts[i].is_in_child && run->signals[i][0].len > 0 &&
				run_signal_name(run->params.child, run->hosts[i].name, wires[i], &signal->names)) {
			(void)knot_name_print(signal->names, whos[i]);
			signal->who = whos[i];
			signal->cds = run_bytes(run->signals[i][0]);
			signal->cdnskey = run_bytes(run->signals[i][1]);
			signal_count++;
		}
	}
	const conf_delegation_t *rules = run->params.rules;
	const child_ds_question_t question = { .child = run->params.child,
		.now_s = sys_clock_wall(),
		.present = &run->result.ds.set,
		.servers = servers,
		.server_count = count,
		.signals = signals,
		.signal_count = signal_count,
		.may_update = rules->may_update,
		.may_delete = rules->may_delete,
		.may_bootstrap = rules->may_bootstrap,
		.has_last = run->params.has_inception,
		.last_inception = run->params.inception };
	if (child_ds_decide(&question, answer) != KNOT_OK) {
		answer->verdict = CHILD_REFUSED;
		child_say(answer->reason, "%s", knot_strerror(KNOT_ENOMEM));
	}
}

/* is_plan: the first step. */
static void run_decide_csync(child_run_t *run, bool is_plan)
{
	child_csync_server_t servers[CHILD_SERVERS_MAX];
	knot_bytes_t hosts[CHILD_SERVERS_MAX][CHILD_HOSTS_MAX][2];
	child_csync_answer_t *answer = &run->result.csync_answer;
	size_t count = 0, first = AT_FIRST + ((run->params.wants & CHILD_WANTS_DS) != 0 ? 2 : 0);
	for (size_t i = 0; i < run->server_count; i++) {
		const run_server_t *server = &run->servers[i];
		if (server->asker.has_failed) {
			continue;
		}
		size_t at = GLUE_BASE;
		for (size_t j = 0; j < answer->host_count && !is_plan; j++) {
			for (unsigned k = 0; k < 2; k++) {
				hosts[count][j][k] = answer->has_address[k] ? run_reply(server, at++)
									    : (knot_bytes_t){ .len = 0 };
			}
		}
		servers[count] = (child_csync_server_t){ .who = server->who,
			.dnskey = run_reply(server, AT_DNSKEY),
			.soa = run_reply(server, first),
			.csync = run_reply(server, first + 1),
			.ns = run_reply(server, first + 2),
			.hosts = hosts[count],
			.soa_after = is_plan ? (knot_bytes_t){ .len = 0 } : run_reply(server, at) };
		count++;
	}
	const child_csync_question_t question = { .child = run->params.child,
		.now_s = sys_clock_wall(),
		.ds = &run->result.ds.set,
		.ns = &run->result.ns.set,
		.glue = run->present_glue,
		.glue_count = run->present_glue_count,
		.servers = servers,
		.server_count = count,
		.may_update = run->params.rules->may_csync,
		.is_approved = run->params.is_approved,
		.has_last = run->params.has_serial,
		.last_serial = run->params.serial };
	knot_err_t err = is_plan ? child_csync_plan(&question, answer) : child_csync_decide(&question, answer);
	if (err != KNOT_OK) {
		answer->verdict = CHILD_REFUSED;
		child_say(answer->reason, "%s", knot_strerror(err));
	}
}

/* Nothing can be decided. */
static void run_refuse(child_run_t *run)
{
	if (!run->is_decided) {
		run->result.ds_answer.verdict = CHILD_REFUSED;
		child_say(run->result.ds_answer.reason, "%s", run->fault);
	}
	run->result.csync_answer.verdict = CHILD_REFUSED;
	child_say(run->result.csync_answer.reason, "%s", run->fault);
}

bool child_run_decide(child_run_t *run)
{
	if (run->fault[0] != '\0') {
		run_refuse(run);
		return true;
	}
	if (run->phase == PHASE_GLUE) {
		run_decide_csync(run, false);
		return true;
	}
	if (run->params.wants & CHILD_WANTS_DS) {
		run_decide_ds(run);
		run->is_decided = true;
	}
	if ((run->params.wants & CHILD_WANTS_CSYNC) == 0) {
		return true;
	}
	run_decide_csync(run, true);
	if (run->result.csync_answer.verdict != CHILD_CHANGE) {
		return true;
	}
	run_begin_phase(run, PHASE_GLUE);
	return false;
}
