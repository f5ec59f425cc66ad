/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/delegation/child_csync.h"

#include "libknot/rr/rdata.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CSYNC_IMMEDIATE = 1, CSYNC_SOAMINIMUM = 2, CSYNC_FLAGS = 3 };

static const uint16_t csync_address_types[] = { KNOT_TYPE_A, KNOT_TYPE_AAAA };

/* A decision on its way. */
typedef struct {
	const child_csync_question_t *q;
	child_csync_answer_t *a;
	unsigned budget;
	uint32_t csync_serial;
	unsigned flags;
	/* Of the server that is looked at: */
	const char *who;
	reply_keys_t keys; /* that may sign the child's data */
	reply_set_t dnskey, soa, csync, set, first;
} csync_job_t;

/* ---- Reading ---- */

/* An RRset of the server, which must be signed if there is one. */
static bool csync_read(csync_job_t *job, knot_bytes_t message, knot_name_t owner, uint16_t type, reply_set_t *ret_set)
{
	char name[KNOT_TYPE_TEXT_MAX];
	const char *fault = reply_read(message, REPLY_OF_SERVER, owner, type, ret_set);
	(void)knot_rrtype_print(type, name);
	if (fault != NULL) {
		child_say(job->a->reason, "%s: the answer for %s %s", job->who, name, fault);
		return false;
	}
	bool is_good = ret_set->count == 0 || reply_is_signed(ret_set, owner, job->q->child, &job->dnskey, job->keys,
							      job->q->now_s, &job->budget, NULL);
	if (!is_good) {
		child_say(job->a->reason, "%s: the %s records aren't signed by a key of the child", job->who, name);
	}
	return is_good;
}

/* The keys of the server's DNSKEY set, if a DS record is of one that has signed it. */
static bool csync_read_keys(csync_job_t *job, const child_csync_server_t *server)
{
	knot_name_t child = job->q->child;
	job->who = server->who;
	const char *fault = reply_read(server->dnskey, REPLY_OF_SERVER, child, KNOT_TYPE_DNSKEY, &job->dnskey);
	if (fault != NULL) {
		child_say(job->a->reason, "%s: the answer for DNSKEY %s", job->who, fault);
		return false;
	}
	reply_keys_t anchors = reply_keys_of_ds(&job->dnskey, child, job->q->ds, 0);
	job->keys = reply_keys_usable(&job->dnskey);
	bool is_good = reply_is_signed(
			&job->dnskey, child, child, &job->dnskey, anchors, job->q->now_s, &job->budget, NULL);
	if (!is_good) {
		child_say(job->a->reason,
				"%s: the DNSKEY records aren't signed by a key that a present DS record is of",
				job->who);
	}
	return is_good;
}

static bool csync_is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static bool csync_read_serial(csync_job_t *job, knot_bytes_t message, uint32_t *ret_serial)
{
	if (!csync_read(job, message, job->q->child, KNOT_TYPE_SOA, &job->soa)) {
		return false;
	}
	if (job->soa.count != 1) {
		child_say(job->a->reason, "%s: there isn't one SOA record", job->who);
		return false;
	}
	*ret_serial = knot_soa_serial(reply_rdata(&job->soa, 0));
	return true;
}

/* ---- The record ---- */

static bool csync_read_bitmap(csync_job_t *job, knot_bytes_t bitmap)
{
	enum { WINDOW_HEAD = 2, BITS = 8 };
	bool is_known = true;
	for (size_t pos = 0; pos + WINDOW_HEAD <= bitmap.len;) {
		unsigned window = bitmap.data[pos], len = bitmap.data[pos + 1];
		for (unsigned i = 0; i < len * BITS; i++) {
			bool is_set = (bitmap.data[pos + WINDOW_HEAD + i / BITS] & 0x80 >> i % BITS) != 0;
			unsigned type = window << 8 | i;
			if (!is_set) {
				continue;
			}
			bool *to = type == KNOT_TYPE_NS     ? &job->a->has_ns
				   : type == KNOT_TYPE_A    ? &job->a->has_address[0]
				   : type == KNOT_TYPE_AAAA ? &job->a->has_address[1]
							    : NULL;
			is_known = is_known && to != NULL;
			if (to != NULL) {
				*to = true;
			}
		}
		pos += WINDOW_HEAD + len;
	}
	if (!is_known) {
		child_say(job->a->reason, "the CSYNC record has types other than NS, A and AAAA");
	}
	return is_known;
}

/* RFC 7477 2.1.1: checked RDATA. */
static bool csync_read_record(csync_job_t *job, knot_bytes_t rdata)
{
	enum { FLAGS_OFF = 4, BITMAP_OFF = 6 };
	job->csync_serial = load_be32(rdata.data);
	job->flags = load_be16(rdata.data + FLAGS_OFF);
	if ((job->flags & ~(unsigned)CSYNC_FLAGS) != 0) {
		child_say(job->a->reason, "the CSYNC record has unknown flags");
		return false;
	}
	if ((job->flags & CSYNC_IMMEDIATE) == 0 && !job->q->is_approved) {
		child_say(job->a->reason, "the CSYNC record isn't immediate and waits for approval");
		return false;
	}
	return csync_read_bitmap(job, (knot_bytes_t){ rdata.data + BITMAP_OFF, rdata.len - BITMAP_OFF });
}

static bool csync_check_serial(csync_job_t *job, const child_csync_server_t *server, bool is_first)
{
	uint32_t serial;
	if (!csync_read_serial(job, server->soa, &serial)) {
		return false;
	}
	if ((job->flags & CSYNC_SOAMINIMUM) != 0 && csync_is_before(serial, job->csync_serial)) {
		child_say(job->a->reason, "%s: the zone's serial is lower than that of the CSYNC record", job->who);
		return false;
	}
	if (job->q->has_last && csync_is_before(serial, job->q->last_serial)) {
		child_say(job->a->reason, "%s: the zone's serial is lower than that of the last synchronization",
				job->who);
		return false;
	}
	if (is_first || csync_is_before(job->a->serial, serial)) {
		job->a->serial = serial;
	}
	return true;
}

/* ---- First step ---- */

bool child_hosts_of(const reply_set_t *ns, knot_name_t child, child_host_t ret_hosts[static CHILD_HOSTS_MAX],
		size_t *ret_count)
{
	*ret_count = 0;
	for (size_t i = 0; i < ns->count; i++) {
		knot_name_t name = knot_name_of(reply_rdata(ns, i).data);
		if (!knot_name_in(name, child)) {
			continue;
		}
		if (*ret_count == CHILD_HOSTS_MAX) {
			return false;
		}
		child_host_t *host = &ret_hosts[(*ret_count)++];
		knot_name_lower(name, host->wire);
		host->name = (knot_name_t){ host->wire, name.len, name.label_count };
		for (size_t j = 0; j < KNOT_LEN(csync_address_types); j++) {
			reply_set_begin(&host->addresses[j], csync_address_types[j]);
		}
	}
	return true;
}

static bool csync_plan_servers(csync_job_t *job)
{
	for (size_t i = 0; i < job->q->server_count; i++) {
		const child_csync_server_t *server = &job->q->servers[i];
		if (!csync_read_keys(job, server) ||
				!csync_read(job, server->csync, job->q->child, KNOT_TYPE_CSYNC, &job->csync) ||
				!csync_read(job, server->ns, job->q->child, KNOT_TYPE_NS, &job->set)) {
			return false;
		}
		if (i == 0) {
			job->first = job->csync;
			job->a->ns = job->set;
			if (job->csync.count == 1 && !csync_read_record(job, reply_rdata(&job->csync, 0))) {
				return false;
			}
		}
		bool is_same = reply_set_eq(&job->csync, &job->first) &&
			       (!job->a->has_ns || reply_set_eq(&job->set, &job->a->ns));
		if (!is_same) {
			child_say(job->a->reason, "%s and %s have different CSYNC or NS records",
					job->q->servers[0].who, server->who);
			return false;
		}
		if (job->csync.count == 1 && !csync_check_serial(job, server, i == 0)) {
			return false;
		}
	}
	return true;
}

static child_verdict_t csync_plan(csync_job_t *job)
{
	child_csync_answer_t *a = job->a;
	if (job->q->server_count == 0 || job->q->server_count > CHILD_SERVERS_MAX) {
		child_say(a->reason, "no server of the child has answered");
		return CHILD_REFUSED;
	}
	if (job->q->ds->count == 0) {
		child_say(a->reason, "the child isn't secure, so its CSYNC record can't be verified");
		return CHILD_REFUSED;
	}
	if (!csync_plan_servers(job)) {
		return CHILD_REFUSED;
	}
	if (job->first.count != 1) {
		child_say(a->reason, job->first.count == 0 ? "the child has no CSYNC record"
							   : "the child has more than one CSYNC record");
		return job->first.count == 0 ? CHILD_NOTHING : CHILD_REFUSED;
	}
	if (!a->has_ns && !a->has_address[0] && !a->has_address[1]) {
		child_say(a->reason, "the CSYNC record has no types");
		return CHILD_NOTHING;
	}
	if (!job->q->may_update) {
		child_say(a->reason, "not allowed by 'csync'");
		return CHILD_REFUSED;
	}
	if (!a->has_ns) {
		a->ns = *job->q->ns;
	}
	if (a->ns.count == 0 || !child_hosts_of(&a->ns, job->q->child, a->hosts, &a->host_count)) {
		child_say(a->reason,
				a->ns.count == 0 ? "the child has no NS records" : "there are too many name servers");
		return CHILD_REFUSED;
	}
	return CHILD_CHANGE;
}

/* ---- Second step ---- */

static const child_host_t *csync_find_glue(const csync_job_t *job, knot_name_t name)
{
	for (size_t i = 0; i < job->q->glue_count; i++) {
		if (knot_name_eq(job->q->glue[i].name, name)) {
			return &job->q->glue[i];
		}
	}
	return NULL;
}

/* The addresses that a server has for a host: of the first kept, of others compared. */
static bool csync_take_addresses(csync_job_t *job, const child_csync_server_t *server, size_t host, size_t type)
{
	child_host_t *to = &job->a->hosts[host];
	if (!csync_read(job, server->hosts[host][type], to->name, csync_address_types[type], &job->set)) {
		return false;
	}
	if (server == job->q->servers) {
		to->addresses[type] = job->set;
	} else if (!reply_set_eq(&to->addresses[type], &job->set)) {
		child_say(job->a->reason, "%s and %s have different addresses of name servers", job->q->servers[0].who,
				server->who);
		return false;
	}
	return true;
}

static bool csync_decide_server(csync_job_t *job, const child_csync_server_t *server)
{
	uint32_t before, after;
	if (!csync_read_keys(job, server) || !csync_read_serial(job, server->soa, &before) ||
			!csync_read_serial(job, server->soa_after, &after)) {
		return false;
	}
	if (before != after) {
		child_say(job->a->reason, "%s: the zone has changed meanwhile", job->who);
		return false;
	}
	for (size_t i = 0; i < job->a->host_count; i++) {
		for (size_t j = 0; j < KNOT_LEN(csync_address_types); j++) {
			if (job->a->has_address[j] && !csync_take_addresses(job, server, i, j)) {
				return false;
			}
		}
	}
	return true;
}

/* What isn't said stays. False: a host would have no address. */
static bool csync_complete(csync_job_t *job)
{
	for (size_t i = 0; i < job->a->host_count; i++) {
		child_host_t *host = &job->a->hosts[i];
		const child_host_t *glue = csync_find_glue(job, host->name);
		for (size_t j = 0; j < KNOT_LEN(csync_address_types) && glue != NULL; j++) {
			if (host->addresses[j].count == 0) {
				host->addresses[j] = glue->addresses[j];
			}
		}
		if (host->addresses[0].count == 0 && host->addresses[1].count == 0) {
			child_say(job->a->reason, "a name server in the child would have no address");
			return false;
		}
	}
	return true;
}

/* Everything is there already. */
static bool csync_is_same(const csync_job_t *job)
{
	bool is_same = reply_set_eq(&job->a->ns, job->q->ns);
	for (size_t i = 0; i < job->a->host_count && is_same; i++) {
		const child_host_t *host = &job->a->hosts[i], *glue = csync_find_glue(job, host->name);
		is_same = glue != NULL && reply_set_eq(&host->addresses[0], &glue->addresses[0]) &&
			  reply_set_eq(&host->addresses[1], &glue->addresses[1]);
	}
	return is_same;
}

static child_verdict_t csync_decide(csync_job_t *job)
{
	for (size_t i = 0; i < job->q->server_count; i++) {
		if (!csync_decide_server(job, &job->q->servers[i])) {
			return CHILD_REFUSED;
		}
	}
	if (!csync_complete(job)) {
		return CHILD_REFUSED;
	}
	return csync_is_same(job) ? CHILD_KEEP : CHILD_CHANGE;
}

/* ---- Both ---- */

static knot_err_t csync_run(const child_csync_question_t *question, child_csync_answer_t *answer,
		child_verdict_t (*decide)(csync_job_t *job))
{
	csync_job_t *job = calloc(1, sizeof(*job));
	if (job == NULL) {
		return KNOT_ENOMEM;
	}
	job->q = question;
	job->a = answer;
	job->budget = REPLY_BUDGET;
	answer->reason[0] = '\0';
	answer->verdict = decide(job);
	free(job);
	return KNOT_OK;
}

knot_err_t child_csync_plan(const child_csync_question_t *question, child_csync_answer_t *ret_answer)
{
	ret_answer->has_ns = ret_answer->has_address[0] = ret_answer->has_address[1] = false;
	ret_answer->host_count = 0;
	ret_answer->serial = 0;
	reply_set_begin(&ret_answer->ns, KNOT_TYPE_NS);
	return csync_run(question, ret_answer, csync_plan);
}

knot_err_t child_csync_decide(const child_csync_question_t *question, child_csync_answer_t *answer)
{
	assert(answer->verdict == CHILD_CHANGE);
	return csync_run(question, answer, csync_decide);
}
