/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps, each of which refuses or goes on: read what each server says ─► all say the same ─► what do they ask for ─►
 * who has signed it ─► would the child stay valid. The sets of the first server are kept, those of others compared.
 */
#include "src/delegation/child_ds.h"

#include "libdnssec/digest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DS_ALGORITHM_OFF = 2, DS_DIGEST_TYPE_OFF = 3, DNSKEY_ALGORITHM_OFF = 3 };

void child_say(char reason[static CHILD_REASON_MAX], const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(reason, CHILD_REASON_MAX, format, args);
	va_end(args);
}

/* A decision on its way. */
typedef struct {
	const child_ds_question_t *q;
	child_ds_answer_t *a;
	unsigned budget;
	bool deletes;             /* the child asks for no DS records */
	reply_set_t wanted;       /* DS records that it asks for */
	reply_set_t cds, cdnskey; /* of the first server */
	/* Of the server that is looked at: */
	reply_set_t its_dnskey, its_cds, its_cdnskey;
} ds_job_t;

/* ---- Reading ---- */

static bool ds_read(ds_job_t *job, const char *who, knot_bytes_t message, reply_from_t from, knot_name_t owner,
		uint16_t type, reply_set_t *ret_set)
{
	char name[KNOT_TYPE_TEXT_MAX];
	const char *fault = reply_read(message, from, owner, type, ret_set);
	if (fault != NULL) {
		(void)knot_rrtype_print(type, name);
		child_say(job->a->reason, "%s: the answer for %s %s", who, name, fault);
	}
	return fault == NULL;
}

static bool ds_read_server(ds_job_t *job, const child_ds_server_t *server)
{
	knot_name_t child = job->q->child;
	return ds_read(job, server->who, server->cds, REPLY_OF_SERVER, child, KNOT_TYPE_CDS, &job->its_cds) &&
	       ds_read(job, server->who, server->cdnskey, REPLY_OF_SERVER, child, KNOT_TYPE_CDNSKEY,
			       &job->its_cdnskey) &&
	       ds_read(job, server->who, server->dnskey, REPLY_OF_SERVER, child, KNOT_TYPE_DNSKEY, &job->its_dnskey);
}

static bool ds_agrees(const ds_job_t *job)
{
	return reply_set_eq(&job->its_cds, &job->cds) && reply_set_eq(&job->its_cdnskey, &job->cdnskey);
}

static bool ds_read_all(ds_job_t *job)
{
	for (size_t i = 0; i < job->q->server_count; i++) {
		const child_ds_server_t *server = &job->q->servers[i];
		if (!ds_read_server(job, server)) {
			return false;
		}
		if (i == 0) {
			job->cds = job->its_cds;
			job->cdnskey = job->its_cdnskey;
		} else if (!ds_agrees(job)) {
			child_say(job->a->reason, "%s and %s have different CDS or CDNSKEY records",
					job->q->servers[0].who, server->who);
			return false;
		}
	}
	return true;
}

/* ---- What the child asks for ---- */

/* RFC 8078 4, with its erratum 5049. */
static bool ds_asks_to_delete(const reply_set_t *set)
{
	static const uint8_t cds[] = { 0, 0, 0, 0, 0 }, cdnskey[] = { 0, 0, 3, 0, 0 };
	return reply_set_has(set, (knot_bytes_t){ set->type == KNOT_TYPE_CDS ? cds : cdnskey, sizeof(cds) });
}

/* Digests that a DS record may have: those that there is code for, and that nobody has broken. */
static bool ds_is_digest_usable(uint8_t type)
{
	return type == DNSSEC_DIGEST_SHA256 || type == DNSSEC_DIGEST_SHA384;
}

static bool ds_is_in_cdnskey(const ds_job_t *job, knot_bytes_t ds)
{
	uint8_t made[DNSSEC_DS_MAX];
	size_t len;
	for (size_t i = 0; i < job->cdnskey.count; i++) {
		if (dnssec_ds_make(ds.data[DS_DIGEST_TYPE_OFF], job->q->child, reply_rdata(&job->cdnskey, i), made,
				    &len) == KNOT_OK &&
				len == ds.len && memcmp(made, ds.data, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool ds_want_of_cds(ds_job_t *job)
{
	for (size_t i = 0; i < job->cds.count; i++) {
		knot_bytes_t rdata = reply_rdata(&job->cds, i);
		bool is_usable = ds_is_digest_usable(rdata.data[DS_DIGEST_TYPE_OFF]);
		if (is_usable && job->cdnskey.count > 0 && !ds_is_in_cdnskey(job, rdata)) {
			child_say(job->a->reason, "the CDS and CDNSKEY records are of different keys");
			return false;
		}
		if (is_usable && !reply_set_add(&job->wanted, 0, rdata)) {
			child_say(job->a->reason, "a CDS record can't be read");
			return false;
		}
	}
	return true;
}

/* True if some CDS record is of the key. */
static bool ds_is_in_cds(const ds_job_t *job, knot_bytes_t dnskey)
{
	uint8_t made[DNSSEC_DS_MAX];
	size_t len;
	for (size_t i = 0; i < job->cds.count; i++) {
		unsigned type = reply_rdata(&job->cds, i).data[DS_DIGEST_TYPE_OFF];
		if (dnssec_ds_make(type, job->q->child, dnskey, made, &len) == KNOT_OK &&
				reply_set_has(&job->cds, (knot_bytes_t){ made, len })) {
			return true;
		}
	}
	return false;
}

static bool ds_want_of_cdnskey(ds_job_t *job)
{
	for (size_t i = 0; i < job->cdnskey.count; i++) {
		uint8_t made[DNSSEC_DS_MAX];
		size_t len;
		knot_bytes_t key = reply_rdata(&job->cdnskey, i);
		if (job->cds.count > 0 && !ds_is_in_cds(job, key)) {
			child_say(job->a->reason, "the CDS and CDNSKEY records are of different keys");
			return false;
		}
		if (job->cds.count > 0) {
			continue;
		}
		if (dnssec_ds_make(DNSSEC_DIGEST_SHA256, job->q->child, key, made, &len) != KNOT_OK ||
				!reply_set_add(&job->wanted, 0, (knot_bytes_t){ made, len })) {
			child_say(job->a->reason, "a CDNSKEY record can't be read");
			return false;
		}
	}
	return true;
}

static bool ds_want_deletion(ds_job_t *job)
{
	const reply_set_t *sets[] = { &job->cds, &job->cdnskey };
	for (size_t i = 0; i < KNOT_LEN(sets); i++) {
		if (sets[i]->count > 1 || (sets[i]->count == 1 && !ds_asks_to_delete(sets[i]))) {
			child_say(job->a->reason, "the request to remove DS records has other records beside it");
			return false;
		}
	}
	job->deletes = true;
	return true;
}

static bool ds_want(ds_job_t *job)
{
	reply_set_begin(&job->wanted, KNOT_TYPE_DS);
	if (ds_asks_to_delete(&job->cds) || ds_asks_to_delete(&job->cdnskey)) {
		return ds_want_deletion(job);
	}
	if (!ds_want_of_cds(job) || !ds_want_of_cdnskey(job)) {
		return false;
	}
	if (job->wanted.count == 0) {
		child_say(job->a->reason, "no CDS record has a digest that may be used (SHA-256 or SHA-384)");
	}
	return job->wanted.count > 0;
}

/* ---- Who has signed it ---- */

/* Keys of the server's DNSKEY set that DS records are of and that have signed that set. 0: none. */
static reply_keys_t ds_signers(ds_job_t *job, const reply_set_t *ds, unsigned algorithm)
{
	knot_name_t child = job->q->child;
	reply_keys_t keys = reply_keys_of_ds(&job->its_dnskey, child, ds, algorithm);
	return reply_is_signed(&job->its_dnskey, child, child, &job->its_dnskey, keys, job->q->now_s, &job->budget,
			       NULL)
			       ? keys
			       : 0;
}

static bool ds_is_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* CDS and CDNSKEY of the server are signed by one of the keys. */
static bool ds_check_signatures(ds_job_t *job, const child_ds_server_t *server, reply_keys_t keys, const char *whose)
{
	const reply_set_t *sets[] = { &job->its_cds, &job->its_cdnskey };
	knot_name_t child = job->q->child;
	for (size_t i = 0; i < KNOT_LEN(sets); i++) {
		uint32_t inception = 0;
		if (sets[i]->count == 0) {
			continue;
		}
		if (!reply_is_signed(sets[i], child, child, &job->its_dnskey, keys, job->q->now_s, &job->budget,
				    &inception)) {
			child_say(job->a->reason, "%s: the %s records aren't signed by a key that a %s DS record is of",
					server->who, i == 0 ? "CDS" : "CDNSKEY", whose);
			return false;
		}
		if (job->a->inception == 0 || ds_is_later(inception, job->a->inception)) {
			job->a->inception = inception;
		}
		if (job->q->has_last && ds_is_later(job->q->last_inception, inception)) {
			child_say(job->a->reason, "%s: the %s records are older than those accepted before",
					server->who, i == 0 ? "CDS" : "CDNSKEY");
			return false;
		}
	}
	return true;
}

static bool ds_check_secure(ds_job_t *job, const child_ds_server_t *server)
{
	reply_keys_t keys = ds_signers(job, job->q->present, 0);
	if (keys == 0) {
		child_say(job->a->reason,
				"%s: the DNSKEY records aren't signed by a key that a present DS record is of",
				server->who);
		return false;
	}
	return ds_check_signatures(job, server, keys, "present");
}

/* With the new DS records the child is valid, whichever of their algorithms a validator uses. RFC 4035 2.2 */
static bool ds_check_future(ds_job_t *job, const child_ds_server_t *server)
{
	reply_keys_t keys = 0;
	for (size_t i = 0; i < job->wanted.count; i++) {
		unsigned algorithm = reply_rdata(&job->wanted, i).data[DS_ALGORITHM_OFF];
		reply_keys_t signers = ds_signers(job, &job->wanted, algorithm);
		if (signers == 0) {
			child_say(job->a->reason,
					"%s: no key of algorithm %u that the new DS records are of has signed the "
					"DNSKEY "
					"records",
					server->who, algorithm);
			return false;
		}
		keys |= signers;
	}
	return job->q->present->count > 0 || ds_check_signatures(job, server, keys, "new");
}

static bool ds_check_servers(ds_job_t *job)
{
	for (size_t i = 0; i < job->q->server_count; i++) {
		const child_ds_server_t *server = &job->q->servers[i];
		if (!ds_read_server(job, server)) {
			return false;
		}
		bool is_good = (job->q->present->count == 0 || ds_check_secure(job, server)) &&
			       (job->deletes || ds_check_future(job, server));
		if (!is_good) {
			return false;
		}
	}
	return true;
}

/* ---- Signals ---- */

static bool ds_check_signals(ds_job_t *job)
{
	if (job->q->signal_count == 0) {
		child_say(job->a->reason, "no name server of the child can have a signal, as all are in the child");
		return false;
	}
	for (size_t i = 0; i < job->q->signal_count; i++) {
		const child_ds_signal_t *signal = &job->q->signals[i];
		if (!ds_read(job, signal->who, signal->cds, REPLY_OF_RESOLVER, signal->names, KNOT_TYPE_CDS,
				    &job->its_cds) ||
				!ds_read(job, signal->who, signal->cdnskey, REPLY_OF_RESOLVER, signal->names,
						KNOT_TYPE_CDNSKEY, &job->its_cdnskey)) {
			return false;
		}
		if (!ds_agrees(job)) {
			child_say(job->a->reason, "%s: the signal isn't what the child has", signal->who);
			return false;
		}
	}
	return true;
}

/* ---- The decision ---- */

static bool ds_is_allowed(ds_job_t *job)
{
	bool is_secure = job->q->present->count > 0;
	const char *needed = job->deletes && !job->q->may_delete                 ? "ds-delete"
			     : is_secure && !job->deletes && !job->q->may_update ? "ds-update"
			     : !is_secure && !job->q->may_bootstrap              ? "ds-bootstrap"
										 : NULL;
	if (needed != NULL) {
		child_say(job->a->reason, "not allowed by '%s'", needed);
	}
	return needed == NULL;
}

static child_verdict_t ds_decide(ds_job_t *job)
{
	bool is_secure = job->q->present->count > 0;
	if (job->q->server_count == 0 || job->q->server_count > CHILD_SERVERS_MAX) {
		child_say(job->a->reason, "no server of the child has answered");
		return CHILD_REFUSED;
	}
	if (!ds_read_all(job)) {
		return CHILD_REFUSED;
	}
	if (job->cds.count == 0 && job->cdnskey.count == 0) {
		child_say(job->a->reason, "the child has no CDS or CDNSKEY records");
		return CHILD_NOTHING;
	}
	if (!ds_want(job)) {
		return CHILD_REFUSED;
	}
	if (is_secure ? reply_set_eq(&job->wanted, job->q->present) : job->deletes) {
		return CHILD_KEEP;
	}
	if (!ds_is_allowed(job) || !ds_check_servers(job) || (!is_secure && !ds_check_signals(job))) {
		return CHILD_REFUSED;
	}
	job->a->ds = job->wanted;
	return CHILD_CHANGE;
}

knot_err_t child_ds_decide(const child_ds_question_t *question, child_ds_answer_t *ret_answer)
{
	ds_job_t *job = calloc(1, sizeof(*job));
	if (job == NULL) {
		return KNOT_ENOMEM;
	}
	job->q = question;
	job->a = ret_answer;
	job->budget = REPLY_BUDGET;
	reply_set_begin(&ret_answer->ds, KNOT_TYPE_DS);
	ret_answer->reason[0] = '\0';
	ret_answer->inception = 0;
	ret_answer->verdict = ds_decide(job);
	free(job);
	return KNOT_OK;
}
