/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/dnskey_sync.h"

#include "libdnssec/key.h"
#include "libknot/msg/message.h"
#include "libknot/msg/rcode.h"
#include "src/event/question.h"
#include "src/sys/clock.h"
#include "src/sys/log.h"
#include "src/transfer/stream_in.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* What is exchanged, in the order of the questions. */
static const struct {
	uint16_t type;
	const char *name;
} sync_types[] = {
	{ KNOT_TYPE_DNSKEY, "DNSKEY" },
	{ KNOT_TYPE_CDNSKEY, "CDNSKEY" },
	{ KNOT_TYPE_CDS, "CDS" },
};

enum { SYNC_TYPES = 3, SYNC_SET_MAX = 16 * 1024, SYNC_TAGS_TEXT_MAX = 160 };

/* Records of own keys, one behind the other: index in sync_types, length (two octets), RDATA. */
typedef struct {
	size_t len;
	bool is_full; /* not all are here */
	uint32_t ttl_s[SYNC_TYPES];
	uint8_t bytes[SYNC_SET_MAX];
} sync_set_t;

typedef struct {
	question_t base; /* first */
	const conf_groups_t *remotes;
	uint32_t interval_s;
	unsigned remainder, modulo; /* of the tags of own keys */
	size_t at;                  /* which remote is asked */
	unsigned step;              /* index in sync_types, or behind them: the update */
	bool is_behind;             /* a remote hadn't what we have */
	bool is_good;               /* the answer was read */
	sync_set_t own, theirs;
	uint8_t message[2 * SYNC_SET_MAX];
} sync_t;

/* ---- Sets ---- */

/* True if the record is of a key of ours. */
static bool sync_is_own(const sync_t *sync, unsigned type, knot_bytes_t rdata)
{
	enum { RDATA_MIN = 5 };
	if (rdata.len < RDATA_MIN) {
		return false;
	}
	bool is_digest = sync_types[type].type == KNOT_TYPE_CDS;
	uint16_t tag = is_digest ? load_be16(rdata.data) : dnssec_rdata_tag(rdata);
	return sync->modulo < 2 || tag % sync->modulo == sync->remainder;
}

static void sync_add(const sync_t *sync, sync_set_t *set, unsigned type, uint32_t ttl_s, knot_bytes_t rdata)
{
	enum { HEAD_LEN = 3 };
	if (!sync_is_own(sync, type, rdata)) {
		return;
	}
	if (rdata.len + HEAD_LEN > sizeof(set->bytes) - set->len) {
		set->is_full = true;
		return;
	}
	uint8_t *at = set->bytes + set->len;
	at[0] = (uint8_t)type;
	store_be16(at + 1, (uint16_t)rdata.len);
	memcpy(at + HEAD_LEN, rdata.data, rdata.len);
	set->len += HEAD_LEN + rdata.len;
	set->ttl_s[type] = ttl_s;
}

typedef struct {
	unsigned type;
	knot_bytes_t rdata;
} sync_record_t;

/* The record at *pos, which moves on; false: there is none. */
static bool sync_next(const sync_set_t *set, size_t *pos, sync_record_t *ret_record)
{
	enum { HEAD_LEN = 3 };
	if (*pos >= set->len) {
		return false;
	}
	const uint8_t *at = set->bytes + *pos;
	*ret_record = (sync_record_t){ at[0], { at + HEAD_LEN, load_be16(at + 1) } };
	*pos += HEAD_LEN + ret_record->rdata.len;
	return true;
}

static bool sync_has(const sync_set_t *set, const sync_record_t *record)
{
	size_t pos = 0;
	sync_record_t other;
	while (sync_next(set, &pos, &other)) {
		if (other.type == record->type && other.rdata.len == record->rdata.len &&
				memcmp(other.rdata.data, record->rdata.data, other.rdata.len) == 0) {
			return true;
		}
	}
	return false;
}

static bool sync_take_own(const zone_rr_t *rr, void *ctx)
{
	sync_t *sync = ctx;
	for (unsigned i = 0; i < SYNC_TYPES; i++) {
		if (rr->type == sync_types[i].type) {
			sync_add(sync, &sync->own, i, rr->ttl, rr->rdata);
		}
	}
	return true;
}

/* ---- The update ---- */

/* What came of comparing, for the log. */
typedef struct {
	unsigned added[SYNC_TYPES], removed[SYNC_TYPES];
	char tags[SYNC_TAGS_TEXT_MAX]; /* "+1 -2", of DNSKEY records */
} sync_changes_t;

static void sync_note(sync_changes_t *changes, const sync_record_t *record, bool is_added)
{
	unsigned *count = is_added ? changes->added : changes->removed;
	size_t len = strlen(changes->tags);
	count[record->type]++;
	if (sync_types[record->type].type == KNOT_TYPE_DNSKEY) {
		(void)snprintf(changes->tags + len, sizeof(changes->tags) - len, "%s%c%u", len > 0 ? " " : "",
				is_added ? '+' : '-', dnssec_rdata_tag(record->rdata));
	}
}

/* Put the records of `of` that `in` lacks, as additions or removals (RFC 2136 2.5.1, 2.5.4). */
static knot_err_t sync_put(const sync_t *sync, knot_msg_writer_t *w, bool is_added, sync_changes_t *changes)
{
	size_t pos = 0;
	sync_record_t record;
	const sync_set_t *of = is_added ? &sync->own : &sync->theirs, *in = is_added ? &sync->theirs : &sync->own;
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK && sync_next(of, &pos, &record)) {
		if (!sync_has(in, &record)) {
			err = knot_msg_put_rr(w, KNOT_SECTION_AUTHORITY, sync->base.zone, sync_types[record.type].type,
					is_added ? KNOT_CLASS_IN : KNOT_CLASS_NONE,
					is_added ? of->ttl_s[record.type] : 0, record.rdata);
			sync_note(changes, &record, is_added);
		}
	}
	return err;
}

static knot_err_t sync_make(sync_t *sync, sync_changes_t *changes)
{
	knot_msg_writer_t w;
	*changes = (sync_changes_t){ .tags = "" };
	if (sync->own.is_full || sync->theirs.is_full) {
		return KNOT_ESPACE;
	}
	knot_msg_begin(&w, (knot_mut_bytes_t){ sync->message, sizeof(sync->message) });
	knot_err_t err = knot_msg_put_question(&w, sync->base.zone, KNOT_TYPE_SOA, KNOT_CLASS_IN);
	err = err == KNOT_OK ? sync_put(sync, &w, false, changes) : err;
	err = err == KNOT_OK ? sync_put(sync, &w, true, changes) : err;
	if (err != KNOT_OK) {
		return err;
	}
	bool is_same = w.counts[KNOT_SECTION_AUTHORITY] == 0;
	size_t len = knot_msg_finish(&w, 0, KNOT_OPCODE_UPDATE << 11);
	sync->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_UPDATE,
		.type = KNOT_TYPE_SOA,
		.zone = sync->base.zone,
		.message = { sync->message, is_same ? 0 : len } };
	return KNOT_OK;
}

/* ---- Answers ---- */

static bool sync_read(sync_t *sync, knot_bytes_t bytes)
{
	knot_message_t message;
	knot_message_rr_t rr;
	if (knot_message_begin(bytes, &message) != KNOT_OK || (message.flags & KNOT_RCODE_MASK) != KNOT_RCODE_NOERROR) {
		return false;
	}
	while (knot_message_next(&message, &rr)) {
		if (rr.section == KNOT_SECTION_ANSWER && rr.type == sync_types[sync->step].type &&
				rr.class == KNOT_CLASS_IN && knot_name_eq(rr.owner, sync->base.zone)) {
			sync_add(sync, &sync->theirs, sync->step, rr.ttl,
					(knot_bytes_t){ bytes.data + rr.rdata_off, rr.rdata_len });
		}
	}
	return !message.failed;
}

static remote_verdict_t sync_on_message(remote_request_t *request, knot_bytes_t bytes)
{
	sync_t *sync = (sync_t *)request;
	char text[STREAM_IN_RCODE_TEXT_MAX];
	if (sync->step < SYNC_TYPES) {
		sync->is_good = sync_read(sync, bytes);
		return REMOTE_DONE;
	}
	unsigned rcode = load_be16(bytes.data + 2) & KNOT_RCODE_MASK;
	if (rcode == KNOT_RCODE_NOERROR) {
		question_log(&sync->base, LOG_INFO, "finished");
	} else {
		stream_in_print_rcode((uint16_t)rcode, text);
		question_log(&sync->base, LOG_ERR, "remote responded with rcode %s", text);
	}
	return REMOTE_DONE;
}

/* ---- Steps ---- */

static void sync_ask(sync_t *sync, unsigned step, const conf_remote_t *remote, unsigned address)
{
	sync->step = step;
	sync->is_good = false;
	if (step == 0) {
		sync->theirs.len = 0;
		sync->theirs.is_full = false;
	}
	sync->base.request.query = (remote_query_t){ .opcode = KNOT_OPCODE_QUERY,
		.type = sync_types[step].type,
		.zone = sync->base.zone,
		.has_edns = !remote->no_edns };
	question_ask(&sync->base, remote, address);
}

static void sync_next_remote(sync_t *sync, knot_err_t err)
{
	const conf_remote_t *remote = err != KNOT_ESTOPPED ? question_remote(sync->remotes, ++sync->at) : NULL;
	if (remote != NULL) {
		sync_ask(sync, 0, remote, 0);
		return;
	}
	question_end_t how = { .is_again = sync->is_behind, .wait_ms = sync->interval_s * UINT64_C(1000) };
	question_end(&sync->base, how, err);
}

/* All is known of the remote. */
static void sync_compare(sync_t *sync)
{
	sync_changes_t changes;
	remote_request_t *request = &sync->base.request;
	knot_err_t err = sync_make(sync, &changes);
	if (err == KNOT_OK && request->query.message.len == 0) {
		question_log(&sync->base, LOG_INFO, "remote is up-to-date");
		sync_next_remote(sync, KNOT_OK);
		return;
	}
	sync->is_behind = true;
	if (err != KNOT_OK) {
		question_log(&sync->base, LOG_WARNING, "failed to prepare update (%s)", knot_strerror(err));
		sync_next_remote(sync, KNOT_OK);
		return;
	}
	bool has_tags = changes.tags[0] != '\0';
	log_zone(LOG_INFO, sync->base.zone, "DNSKEY sync, DNSKEYs +%u/-%u%s%s%s, CDNSKEYs +%u/-%u, CDSs +%u/-%u",
			changes.added[0], changes.removed[0], has_tags ? " (" : "", changes.tags, has_tags ? ")" : "",
			changes.added[1], changes.removed[1], changes.added[2], changes.removed[2]);
	sync->step = SYNC_TYPES;
	question_ask(&sync->base, request->remote, request->address);
}

/* True if the next address was asked. */
static bool sync_fail(sync_t *sync, knot_err_t err)
{
	remote_request_t *request = &sync->base.request;
	sync->is_behind = true;
	if (err == KNOT_ETIMEOUT && sync->step == SYNC_TYPES) {
		question_log(&sync->base, LOG_NOTICE,
				"timed out, may be caused by parallel mutual DNSKEY sync, may settle down after "
				"check-interval");
		return false;
	}
	question_log(&sync->base, LOG_ERR, "failed (%s)", knot_strerror(err));
	bool has_next = request->address + 1u < request->remote->addresses.count;
	if (has_next) {
		sync_ask(sync, 0, request->remote, request->address + 1);
	}
	return has_next;
}

static void sync_on_end(remote_request_t *request, knot_err_t err)
{
	sync_t *sync = (sync_t *)request;
	if (err != KNOT_OK && err != KNOT_ESTOPPED && sync_fail(sync, err)) {
		return;
	}
	if (err != KNOT_OK || sync->step == SYNC_TYPES) {
		sync_next_remote(sync, err);
	} else if (!sync->is_good) {
		question_log(&sync->base, LOG_ERR, "failed to obtain %s record", sync_types[sync->step].name);
		sync->is_behind = true;
		sync_next_remote(sync, KNOT_OK);
	} else if (sync->step + 1 < SYNC_TYPES) {
		sync_ask(sync, sync->step + 1, request->remote, request->address);
	} else {
		sync_compare(sync);
	}
}

/* ---- The event ---- */

void dnskey_sync_follow(server_t *server, entry_t *entry, const conf_policy_t *policy)
{
	enum { SPREAD_MS = 4000, STEP_MS = 2000 };
	unsigned remainder, modulo;
	uint16_t random = 0;
	if (policy->dnskey_sync.count == 0) {
		return;
	}
	/* Signers of one zone shouldn't begin at the same time. */
	conf_policy_tags(policy, &remainder, &modulo);
	(void)getrandom(&random, sizeof(random), GRND_NONBLOCK);
	uint64_t wait_ms = modulo > 1 ? remainder * (uint64_t)STEP_MS : random % (SPREAD_MS + 1u);
	sys_mutex_lock(&server->jobs.lock);
	(void)jobs_plan(&server->jobs, entry, EVENT_DNSKEY_SYNC, sys_clock_ms() + wait_ms, 0);
	sys_mutex_unlock(&server->jobs.lock);
}

/* NULL: nothing is configured, or no memory. */
static sync_t *sync_new(server_t *server, knot_name_t name)
{
	conf_zone_t zone;
	RCU_READ_SECTION(guard);
	const state_t *state = state_load(&server->root, guard);
	if (!state_settings(state, name, &zone) || !zone.dnssec_signing) {
		return NULL;
	}
	const conf_policy_t *policy = conf_zone_policy(state->conf, &zone);
	const conf_dnskey_sync_t *conf = policy->dnskey_sync.count > 0 ? policy->dnskey_sync.data[0] : NULL;
	sync_t *sync = conf != NULL && question_count_remotes(&conf->remotes) > 0
				       ? question_new(server, state->conf, name, EVENT_DNSKEY_SYNC, "DNSKEY sync",
							 sizeof(*sync))
				       : NULL;
	if (sync != NULL) {
		sync->remotes = &conf->remotes;
		sync->interval_s = conf->check_interval_s;
		conf_policy_tags(policy, &sync->remainder, &sync->modulo);
		sync->base.request.on_message = sync_on_message;
		sync->base.request.on_end = sync_on_end;
	}
	return sync;
}

knot_err_t server_run_dnskey_sync(server_t *server, entry_t *entry, unsigned how, job_outcome_t *outcome)
{
	const zone_contents_t *contents = zone_contents(entry_zone(entry));
	(void)how;
	outcome->load = LOAD_UNCHANGED;
	outcome->keeps_result = true;
	sync_t *sync = contents != NULL && question_may_begin(server, entry, EVENT_DNSKEY_SYNC)
				       ? sync_new(server, entry_name(entry))
				       : NULL;
	if (sync == NULL) {
		return KNOT_OK;
	}
	knot_err_t err = zone_read_apex(contents, sync_take_own, sync);
	if (err != KNOT_OK) {
		question_free(&sync->base);
		return err;
	}
	question_begin(&sync->base);
	sync_ask(sync, 0, question_remote(sync->remotes, 0), 0);
	return KNOT_OK;
}

/* Planned by signing_end() and by the end of an exchange. */
void server_plan_dnskey_sync(server_t *server, entry_t *entry, event_t ended, job_outcome_t outcome)
{
	(void)server, (void)entry, (void)ended, (void)outcome;
}
