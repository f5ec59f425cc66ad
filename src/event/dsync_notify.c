/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run: find the record ─► find the target's addresses ─► tell it of CDS ─► tell it of CSYNC ─► end.
 *
 * `ask` of a step sends the question, `take` reads its answer, and `next` says what comes after it, or after its
 * failure. The first two steps go to the configured servers, one after the other until one has a useful answer; the
 * others to the addresses that were found. RFC 9859 4.2, and RFC 1996 3.6 for repetition.
 */
#include "src/event/dsync_notify.h"

#include "libknot/msg/message.h"
#include "libknot/msg/rcode.h"
#include "src/delegation/dsync.h"
#include "src/event/question.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/transfer/stream_in.h"

#include <netinet/in.h>
#include <string.h>
#include <xxhash.h>

enum {
	DSYNC_RETRY_MIN_S = 60, /* RFC 1996 3.6; doubled with each failure */
	DSYNC_RETRY_MAX_S = 3600,
	DSYNC_TRIES_MAX = 12, /* about seven hours */
	DSYNC_ADDRESSES_MAX = 8,
};

typedef enum { DSYNC_STEP_RECORD, DSYNC_STEP_IPV4, DSYNC_STEP_IPV6, DSYNC_STEP_TELL } dsync_step_kind_t;

typedef struct dsync_run dsync_run_t;

/* What the parent is told of, in this order. */
static const struct {
	uint16_t type;
	const char *what;
} dsync_types[] = { { KNOT_TYPE_CDS, "notify(CDS)" }, { KNOT_TYPE_CSYNC, "notify(CSYNC)" } };

enum { DSYNC_TYPES = KNOT_LEN(dsync_types) };

struct dsync_run {
	question_t base; /* first */
	const conf_groups_t *resolvers;
	size_t at; /* which of them is asked */
	unsigned tries;
	dsync_step_kind_t step;
	bool is_useful; /* the answer of this step was read, and had something */
	dsync_step_t search;
	dsync_verdict_t verdict;
	dsync_answer_t answer;
	bool has_type[DSYNC_TYPES]; /* the zone has such records */
	unsigned type;              /* index of the one that the parent is told of */
	uint16_t rcode;             /* of its answer */
	bool has_failed;            /* someone wasn't reached: try again */
	uint8_t name_wire[KNOT_NAME_MAX];
	uint8_t agent_wire[KNOT_NAME_MAX];
	knot_name_t agent; /* len 0: none */
	bool has_bad_agent;
	/* The target: a remote that isn't configured. */
	conf_addr_t addresses[DSYNC_ADDRESSES_MAX];
	conf_remote_t target;
};

/* ---- When ---- */

static bool dsync_is_told(uint16_t type)
{
	return type == KNOT_TYPE_CDS || type == KNOT_TYPE_CDNSKEY || type == KNOT_TYPE_CSYNC;
}

static bool dsync_told_take(const zone_rr_t *rr, void *ctx)
{
	dsync_told_t *told = ctx;
	if (dsync_is_told(rr->type) && told->count < DSYNC_TOLD_MAX) {
		told->hashes[told->count++] = XXH3_64bits_withSeed(rr->rdata.data, rr->rdata.len, rr->type);
	}
	return true;
}

dsync_told_t dsync_told_read(const zone_contents_t *contents)
{
	dsync_told_t told = { .count = 0 };
	/* Without memory, nothing: then the parent is told once more than needed. */
	if (contents != NULL && zone_read_apex(contents, dsync_told_take, &told) != KNOT_OK) {
		told.count = 0;
	}
	return told;
}

static bool dsync_told_has(const dsync_told_t *told, uint64_t hash)
{
	for (size_t i = 0; i < told->count; i++) {
		if (told->hashes[i] == hash) {
			return true;
		}
	}
	return false;
}

void dsync_notify_follow(server_t *server, entry_t *entry, const dsync_told_t *before, const dsync_told_t *after,
		const conf_policy_t *policy)
{
	int64_t delay_s = policy->dsync_delay_s != CONF_POLICY_UNSET ? policy->dsync_delay_s
								     : (int64_t)policy->propagation_delay_s;
	bool has_new = false;
	for (size_t i = 0; i < after->count && !has_new; i++) {
		has_new = !dsync_told_has(before, after->hashes[i]);
	}
	if (has_new) {
		sys_mutex_lock(&server->jobs.lock);
		(void)jobs_plan(&server->jobs, entry, EVENT_DSYNC_NOTIFY, sys_clock_ms() + (uint64_t)delay_s * 1000, 0);
		sys_mutex_unlock(&server->jobs.lock);
	}
}

/* ---- Questions ---- */

static void dsync_ask_resolver(dsync_run_t *run, knot_name_t name, uint16_t type, unsigned address)
{
	const conf_remote_t *resolver = question_remote(run->resolvers, run->at);
	run->is_useful = false;
	run->base.what = "DSYNC lookup";
	run->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_QUERY,
		.type = type,
		.zone = name,
		.is_recursive = true,
		.has_edns = !resolver->no_edns };
	question_ask(&run->base, resolver, address);
}

static void dsync_end(dsync_run_t *run, knot_err_t err)
{
	bool is_again = run->has_failed && run->tries < DSYNC_TRIES_MAX;
	uint64_t wait_s = (uint64_t)DSYNC_RETRY_MIN_S << (run->tries < 8 ? run->tries : 8);
	if (run->has_failed && !is_again && err != KNOT_ESTOPPED) {
		log_zone(LOG_WARNING, run->base.zone, "DSYNC notify, giving up, the parent hasn't been told");
	}
	question_end_t how = { .is_again = is_again,
		.is_kept = is_again,
		.wait_ms = (wait_s < DSYNC_RETRY_MAX_S ? wait_s : DSYNC_RETRY_MAX_S) * 1000 };
	question_end(&run->base, how, err);
}

static void dsync_ask_record(dsync_run_t *run, unsigned address)
{
	knot_name_t name;
	run->step = DSYNC_STEP_RECORD;
	if (!dsync_name(run->base.zone, run->search, run->name_wire, &name)) {
		log_zone(LOG_NOTICE, run->base.zone, "DSYNC notify, the name is too long for a search");
		dsync_end(run, KNOT_OK);
		return;
	}
	dsync_ask_resolver(run, name, KNOT_TYPE_DSYNC, address);
}

/* The record for the type that is next; NULL: the parent has none, or there is no type left. */
static const dsync_record_t *dsync_pick(dsync_run_t *run)
{
	const dsync_record_t *records[DSYNC_TYPES] = { &run->answer.cds, &run->answer.csync };
	for (; run->type < DSYNC_TYPES; run->type++) {
		if (run->has_type[run->type] && records[run->type]->type != 0) {
			return records[run->type];
		}
	}
	return NULL;
}

static void dsync_ask_address(dsync_run_t *run, dsync_step_kind_t step, unsigned address)
{
	const dsync_record_t *record = dsync_pick(run);
	run->step = step;
	dsync_ask_resolver(run, record->target, step == DSYNC_STEP_IPV4 ? KNOT_TYPE_A : KNOT_TYPE_AAAA, address);
}

static void dsync_tell(dsync_run_t *run, unsigned address)
{
	run->step = DSYNC_STEP_TELL;
	run->base.what = dsync_types[run->type].what;
	run->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_NOTIFY,
		.type = dsync_types[run->type].type,
		.zone = run->base.zone,
		.has_edns = true,
		.reports = run->agent };
	question_ask(&run->base, &run->target, address);
}

/* Of the next type: where its target is. */
static void dsync_go_on(dsync_run_t *run)
{
	run->at = 0;
	run->target.addresses.count = 0;
	if (dsync_pick(run) != NULL) {
		dsync_ask_address(run, DSYNC_STEP_IPV4, 0);
	} else {
		dsync_end(run, KNOT_OK);
	}
}

/* ---- Answers ---- */

static void dsync_take_address(dsync_run_t *run, const uint8_t *bytes, bool is_ipv6)
{
	conf_addr_t *to = &run->addresses[run->target.addresses.count];
	uint16_t port_be = htons(dsync_pick(run)->port);
	memset(to, 0, sizeof(*to));
	if (is_ipv6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&to->ss;
		*in6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port_be };
		memcpy(&in6->sin6_addr, bytes, sizeof(in6->sin6_addr));
		to->len = sizeof(*in6);
	} else {
		struct sockaddr_in *in = (struct sockaddr_in *)&to->ss;
		*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port_be };
		memcpy(&in->sin_addr, bytes, sizeof(in->sin_addr));
		to->len = sizeof(*in);
	}
	run->target.addresses.count++;
}

static void dsync_take_addresses(dsync_run_t *run, knot_bytes_t bytes)
{
	knot_message_t message;
	knot_message_rr_t rr;
	bool is_ipv6 = run->step == DSYNC_STEP_IPV6;
	size_t len = is_ipv6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
	uint16_t type = is_ipv6 ? KNOT_TYPE_AAAA : KNOT_TYPE_A;
	if (knot_message_begin(bytes, &message) != KNOT_OK) {
		return;
	}
	unsigned rcode = message.flags & KNOT_RCODE_MASK;
	while (knot_message_next(&message, &rr)) {
		if (rr.section == KNOT_SECTION_ANSWER && rr.type == type && rr.rdata_len == len &&
				run->target.addresses.count < DSYNC_ADDRESSES_MAX) {
			dsync_take_address(run, bytes.data + rr.rdata_off, is_ipv6);
		}
	}
	run->is_useful = !message.failed && (rcode == KNOT_RCODE_NOERROR || rcode == KNOT_RCODE_NXDOMAIN);
}

static void dsync_take_told(dsync_run_t *run, knot_bytes_t bytes)
{
	knot_message_t message;
	run->is_useful = knot_message_begin(bytes, &message) == KNOT_OK;
	run->rcode = run->is_useful ? message.flags & KNOT_RCODE_MASK : 0;
}

static remote_verdict_t dsync_on_message(remote_request_t *request, knot_bytes_t bytes)
{
	dsync_run_t *run = (dsync_run_t *)request;
	if (run->step == DSYNC_STEP_RECORD) {
		run->verdict = dsync_read_answer(bytes, &run->answer);
		run->is_useful = run->verdict != DSYNC_USELESS;
	} else if (run->step == DSYNC_STEP_TELL) {
		dsync_take_told(run, bytes);
	} else {
		dsync_take_addresses(run, bytes);
	}
	return REMOTE_DONE;
}

/* ---- What comes next ---- */

/* Another resolver, which is asked the same; false: there is none. */
static bool dsync_next_resolver(dsync_run_t *run)
{
	const remote_request_t *request = &run->base.request;
	unsigned address = request->address + 1;
	if (address >= request->remote->addresses.count) {
		address = 0;
		run->at++;
	}
	if (question_remote(run->resolvers, run->at) == NULL) {
		return false;
	}
	if (run->step == DSYNC_STEP_RECORD) {
		dsync_ask_record(run, address);
	} else {
		dsync_ask_address(run, run->step, address);
	}
	return true;
}

static void dsync_next_record(dsync_run_t *run)
{
	if (run->verdict == DSYNC_NEGATIVE) {
		if (dsync_next(run->base.zone, &run->search, run->answer.apex)) {
			dsync_ask_record(run, run->base.request.address);
			return;
		}
		log_zone(LOG_NOTICE, run->base.zone, "DSYNC notify, the parent has no DSYNC record");
		dsync_end(run, KNOT_OK);
		return;
	}
	if (dsync_pick(run) == NULL) {
		log_zone(LOG_NOTICE, run->base.zone, "DSYNC notify, the parent wants no NOTIFY of such records");
	}
	run->type = 0;
	dsync_go_on(run);
}

static void dsync_next_address(dsync_run_t *run)
{
	char text[KNOT_NAME_TEXT_MAX];
	if (run->step == DSYNC_STEP_IPV4) {
		run->at = 0;
		dsync_ask_address(run, DSYNC_STEP_IPV6, 0);
	} else if (run->target.addresses.count > 0) {
		dsync_tell(run, 0);
	} else {
		(void)knot_name_print(dsync_pick(run)->target, text);
		log_zone(LOG_WARNING, run->base.zone, "DSYNC notify, no address of the parent's target %s", text);
		run->has_failed = true;
		run->type++;
		dsync_go_on(run);
	}
}

static void dsync_next_type(dsync_run_t *run)
{
	char rcode[STREAM_IN_RCODE_TEXT_MAX];
	if (run->rcode == KNOT_RCODE_NOERROR) {
		question_log(&run->base, LOG_INFO, "success");
	} else {
		stream_in_print_rcode(run->rcode, rcode);
		question_log(&run->base, LOG_WARNING, "server responded with error '%s'", rcode);
	}
	run->type++;
	dsync_go_on(run);
}

/* Nobody is left to be asked in this step. */
static void dsync_fail(dsync_run_t *run)
{
	run->has_failed = true;
	if (run->step == DSYNC_STEP_RECORD) {
		dsync_end(run, KNOT_OK);
	} else if (run->step == DSYNC_STEP_TELL) {
		run->type++;
		dsync_go_on(run);
	} else {
		dsync_next_address(run);
	}
}

static void dsync_on_end(remote_request_t *request, knot_err_t err)
{
	static void (*const next[])(dsync_run_t * run) = {
		[DSYNC_STEP_RECORD] = dsync_next_record,
		[DSYNC_STEP_IPV4] = dsync_next_address,
		[DSYNC_STEP_IPV6] = dsync_next_address,
		[DSYNC_STEP_TELL] = dsync_next_type,
	};
	dsync_run_t *run = (dsync_run_t *)request;
	if (err == KNOT_ESTOPPED) {
		dsync_end(run, err);
		return;
	}
	if (err == KNOT_OK && run->is_useful) {
		next[run->step](run);
		return;
	}
	question_log(&run->base, LOG_WARNING, "failed (%s)", knot_strerror(err != KNOT_OK ? err : KNOT_EMALF));
	bool is_told = run->step == DSYNC_STEP_TELL;
	if (!(is_told ? question_ask_next_address(&run->base) : dsync_next_resolver(run))) {
		dsync_fail(run);
	}
}

/* ---- The event ---- */

static bool dsync_take_record_of_zone(const zone_rr_t *rr, void *ctx)
{
	dsync_run_t *run = ctx;
	if (rr->type == KNOT_TYPE_NS && run->agent.len > 0) {
		/* RFC 9859 4.2.1: nobody else is to get queries because of it. */
		knot_name_t server;
		bool is_name = knot_name_read(rr->rdata, &server) == KNOT_OK;
		run->has_bad_agent = run->has_bad_agent && !(is_name && knot_name_in(run->agent, server));
	}
	run->has_type[0] |= rr->type == KNOT_TYPE_CDS || rr->type == KNOT_TYPE_CDNSKEY;
	run->has_type[1] |= rr->type == KNOT_TYPE_CSYNC;
	return true;
}

/* NULL: there is nobody to ask, or no memory. */
static dsync_run_t *dsync_run_new(server_t *server, knot_name_t name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	if (!state_settings(state, name, &zone) || !zone.dnssec_signing || name.label_count == 0) {
		return NULL;
	}
	const conf_policy_t *policy = conf_zone_policy(state->conf, &zone);
	dsync_run_t *run = question_count_remotes(&policy->dsync_notify) > 0
					   ? question_new(server, state->conf, name, EVENT_DSYNC_NOTIFY, "DSYNC lookup",
							     sizeof(*run))
					   : NULL;
	if (run == NULL) {
		return NULL;
	}
	run->base.request.on_message = dsync_on_message;
	run->base.request.on_end = dsync_on_end;
	run->resolvers = &policy->dsync_notify;
	run->search = dsync_first();
	run->target.id = "dsync";
	run->target.addresses.data = run->addresses;
	if (policy->dsync_report.len > 0) {
		memcpy(run->agent_wire, policy->dsync_report.data, policy->dsync_report.len);
		run->agent = knot_name_of(run->agent_wire);
		run->has_bad_agent = true;
	}
	return run;
}

/* What the last run has tried, if it waits. False: one goes on. */
static bool dsync_take_last(server_t *server, entry_t *entry, unsigned *ret_tries)
{
	bool is_busy;
	dsync_run_t *last = (dsync_run_t *)question_take(server, entry_name(entry), EVENT_DSYNC_NOTIFY, &is_busy);
	*ret_tries = last != NULL ? last->tries + 1 : 0;
	if (last != NULL) {
		question_free(&last->base);
	}
	return !is_busy || question_may_begin(server, entry, EVENT_DSYNC_NOTIFY);
}

knot_err_t server_run_dsync_notify(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	unsigned tries;
	(void)how;
	outcome->load = LOAD_UNCHANGED;
	outcome->keeps_result = true;
	if (contents == NULL || !dsync_take_last(server, entry, &tries)) {
		return KNOT_OK;
	}
	dsync_run_t *run = dsync_run_new(server, entry_name(entry));
	if (run == NULL) {
		return KNOT_OK;
	}
	run->tries = tries;
	knot_err_t err = zone_read_apex(contents, dsync_take_record_of_zone, run);
	if (err != KNOT_OK || (!run->has_type[0] && !run->has_type[1])) {
		question_free(&run->base);
		return err;
	}
	if (run->has_bad_agent) {
		log_zone(LOG_WARNING, entry_name(entry),
				"DSYNC notify, 'dsync-report-channel' isn't below a name server of the zone, ignored");
		run->agent.len = 0;
	}
	question_begin(&run->base);
	dsync_ask_record(run, 0);
	return KNOT_OK;
}

/* Planned by signing_end(), which knows the records, and by the end of a run. */
void server_plan_dsync_notify(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}
