/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/answer.h"

#include "libknot/base/assert.h"
#include "libknot/msg/message.h"
#include "src/answer/encode.h"

#include <assert.h>

enum {
	UDP_PAYLOAD_MIN = 512, /* RFC 1035 4.2.1; also the least a requestor can announce, RFC 6891 6.2.3 */
	OPT_LEN = 11,
	OPTION_HEAD_LEN = 4,
	ECS_MAX = 4 + 16,    /* family, source and scope prefix length, address (RFC 7871 6) */
	ZONEVERSION_LEN = 6, /* label count, type SOA-SERIAL, serial (RFC 9660 2) */
	EXPIRE_LEN = 4,
	EDE_LEN = 2,
	/* Longest NSID that is sent: the header, the longest question and all other options fit 512 bytes with it. */
	NSID_MAX = UDP_PAYLOAD_MIN - 12 - (255 + 4) - OPT_LEN - (4 + ECS_MAX) - (4 + ZONEVERSION_LEN) -
		   (4 + EXPIRE_LEN) - (4 + EDE_LEN) - 4,
	TSIG_FIXED_LEN = 16, /* of a TSIG RDATA without MAC and other data, behind the algorithm's name */
};

/* A request being answered. What the reply needs of the request's tail is copied: the reply may overwrite it. */
typedef struct {
	const answer_env_t *env;
	const answer_source_t *source;
	const knot_query_t *query;
	const answer_hint_t *hint; /* NULL: none */
	answer_report_t *report;
	knot_mut_bytes_t out;
	const zone_contents_t *zone;    /* NULL when no zone answers */
	bool any_option;                /* of those below */
	bool nsid, expire, zoneversion; /* options asked for */
	uint8_t ecs_len;                /* 0: no option to echo */
	uint8_t ecs[ECS_MAX];
	const uint8_t *key; /* lookup key of the question's name, made once: the hint's or own_key */
	size_t key_len;
	uint8_t own_key[KNOT_NAME_KEY_MAX];
} job_t;

static uint16_t answer_payload_max(const job_t *job)
{
	bool is_ipv6 = job->source->remote != NULL && job->source->remote->sa_family == AF_INET6;
	return is_ipv6 ? job->env->udp_payload_max_ipv6 : job->env->udp_payload_max_ipv4;
}

static size_t answer_reply_max(const job_t *job)
{
	size_t max = KNOT_MSG_MAX;
	if (answer_is_udp(job->source->protocol)) {
		max = UDP_PAYLOAD_MIN;
		if (job->query->edns.present) {
			size_t ours = answer_payload_max(job), theirs = job->query->edns.udp_payload;
			size_t least = theirs < ours ? theirs : ours;
			max = least > max ? least : max;
		}
	}
	return max < job->out.len ? max : job->out.len;
}

/* RFC 7871 6: the address has just the bytes of the source prefix, bits beyond it are 0. The scope is ignored. */
static bool answer_ecs_is_valid(knot_bytes_t data)
{
	if (data.len < 4) {
		return false;
	}
	unsigned bits = data.data[2];
	unsigned family = load_be16(data.data);
	size_t len = (bits + 7) / 8;
	if (family < 1 || family > 2 || bits > (family == 1 ? 32u : 128u) || data.len != 4 + len) {
		return false;
	}
	return bits % 8 == 0 || (data.data[3 + len] & 0xFF >> bits % 8) == 0;
}

/* Note the options that are answered. False: FORMERR. */
static bool answer_read_options(job_t *job)
{
	knot_bytes_t options = job->query->edns.options;
	size_t pos = 0;
	knot_edns_option_t option;
	job->any_option = true;
	while (knot_edns_next(options, &pos, &option)) {
		switch (option.code) {
		case KNOT_EDNS_NSID: job->nsid = job->env->nsid.len > 0 && job->env->nsid.len <= NSID_MAX; break;
		case KNOT_EDNS_EXPIRE: job->expire = true; break;
		case KNOT_EDNS_ZONEVERSION: job->zoneversion = option.data.len == 0; break;
		case KNOT_EDNS_SUBNET:
			if (!job->env->client_subnet) {
				break;
			}
			if (!answer_ecs_is_valid(option.data)) {
				return false;
			}
			memcpy(job->ecs, option.data.data, option.data.len);
			job->ecs_len = (uint8_t)option.data.len;
			break;
		default: break;
		}
	}
	return true;
}

static size_t answer_opt_len(const job_t *job, uint16_t ede)
{
	if (!job->query->edns.present) {
		return 0;
	}
	size_t len = OPT_LEN + (ede != KNOT_EDE_NONE ? OPTION_HEAD_LEN + EDE_LEN : 0);
	if (!job->any_option) {
		return len;
	}
	len += job->nsid ? OPTION_HEAD_LEN + job->env->nsid.len : 0;
	len += job->ecs_len > 0 ? OPTION_HEAD_LEN + (size_t)job->ecs_len : 0;
	len += job->expire && job->zone != NULL ? OPTION_HEAD_LEN + EXPIRE_LEN : 0;
	len += job->zoneversion && job->zone != NULL ? OPTION_HEAD_LEN + ZONEVERSION_LEN : 0;
	return len;
}

static uint8_t *answer_put_option_head(job_t *job, uint8_t *p, uint16_t code, size_t len)
{
	store_be16(p, code);
	store_be16(p + 2, (uint16_t)len);
	if (code < 16) {
		job->report->reply_options |= (uint16_t)(1u << code);
	}
	return p + OPTION_HEAD_LEN;
}

/* SOA EXPIRE of a zone whose master we are, RFC 7314 3.3: the last but one number of the SOA's RDATA. */
static uint32_t answer_soa_expire(const zone_contents_t *zone)
{
	const zone_rrset_t *soa = zone_node_rrset(&zone->arena, zone->apex, KNOT_TYPE_SOA);
	assert(soa != NULL); /* the builder refuses a zone without */
	zone_block_t body = zone_rrset_body(soa);
	return load_be32(body.bytes + body.len - 8);
}

/* Append the options that were asked for, see answer_opt_len(). Returns their end. */
__attribute__((noinline)) static uint8_t *answer_put_asked_options(job_t *job, uint8_t *p)
{
	if (job->nsid) {
		p = answer_put_option_head(job, p, KNOT_EDNS_NSID, job->env->nsid.len);
		memcpy(p, job->env->nsid.data, job->env->nsid.len);
		p += job->env->nsid.len;
	}
	if (job->ecs_len > 0) {
		p = answer_put_option_head(job, p, KNOT_EDNS_SUBNET, job->ecs_len);
		memcpy(p, job->ecs, job->ecs_len);
		p[3] = 0; /* our answers fit every network, RFC 7871 7.2.1 */
		p += job->ecs_len;
	}
	if (job->expire && job->zone != NULL) {
		p = answer_put_option_head(job, p, KNOT_EDNS_EXPIRE, EXPIRE_LEN);
		store_be32(p, answer_soa_expire(job->zone));
		p += EXPIRE_LEN;
	}
	if (job->zoneversion && job->zone != NULL) {
		p = answer_put_option_head(job, p, KNOT_EDNS_ZONEVERSION, ZONEVERSION_LEN);
		p[0] = job->zone->apex->owner_label_count;
		p[1] = 0; /* SOA-SERIAL */
		store_be32(p + 2, job->zone->serial);
		p += ZONEVERSION_LEN;
	}
	return p;
}

/* Append the options, see answer_opt_len(). Returns their end. */
static const uint8_t *answer_put_options(job_t *job, uint8_t *p, uint16_t ede)
{
	if (job->any_option) {
		p = answer_put_asked_options(job, p);
	}
	if (ede != KNOT_EDE_NONE) {
		p = answer_put_option_head(job, p, KNOT_EDNS_EDE, EDE_LEN);
		store_be16(p, ede);
		p += EDE_LEN;
	}
	return p;
}

/* Append the OPT record, for which answer_opt_len() bytes are free. */
static size_t answer_put_opt(job_t *job, uint8_t *at, uint16_t rcode, uint16_t ede)
{
	size_t len = answer_opt_len(job, ede);
	if (len == 0) {
		return 0;
	}
	at[0] = 0;
	store_be32(at + 1, (uint32_t)KNOT_TYPE_OPT << 16 | answer_payload_max(job));
	uint32_t flags = job->query->edns.dnssec_ok ? 0x8000 : 0; /* RFC 3225 3 */
	store_be32(at + 5, (uint32_t)(rcode >> 4) << 24 | flags); /* with version 0 between, RFC 6891 6.1.3 */
	store_be16(at + 9, (uint16_t)(len - OPT_LEN));
	if (len > OPT_LEN) {
		const uint8_t *end = answer_put_options(job, at + OPT_LEN, ede);
		assert((size_t)(end - at) == len);
		(void)end;
	}
	job->report->has_opt = true;
	return len;
}

/* Header of the reply: id, opcode and RD of the request (RFC 1035 4.1.1, RFC 4035 3.1.6 for AD and CD). */
static void answer_put_header(const job_t *job, uint16_t flags, uint16_t rcode, const uint16_t counts[static 4])
{
	KNOT_ASSERT_SLOW((flags & (KNOT_OPCODE_MASK | KNOT_RCODE_MASK)) == 0);
	uint8_t *h = job->out.data;
	uint32_t kept = job->query->flags & (KNOT_OPCODE_MASK | KNOT_FLAG_RD);
	/* Two fields per store: half the instructions of one by one. */
	store_be32(h, (uint32_t)job->query->id << 16 | KNOT_FLAG_QR | kept | flags | (rcode & KNOT_RCODE_MASK));
	store_be32(h + 4, (uint32_t)counts[0] << 16 | counts[1]);
	store_be32(h + 8, (uint32_t)counts[2] << 16 | counts[3]);
}

/* An answer without records: header, question as it came, OPT. */
static size_t answer_reply_empty(job_t *job, uint16_t rcode, uint16_t ede)
{
	size_t len = KNOT_MSG_HEADER_LEN + (size_t)job->query->question_len;
	if (!job->query->edns.present) {
		ede = KNOT_EDE_NONE;
	}
	size_t added = answer_put_opt(job, job->out.data + len, rcode, ede);
	uint16_t counts[4] = { job->query->question_len > 0, 0, 0, added > 0 };
	answer_put_header(job, 0, rcode, counts);
	job->report->rcode = rcode;
	job->report->ede = ede;
	return len + added;
}

/* A malformed request: whatever its tail said, there is no OPT in the reply (RFC 6891 7). */
static size_t answer_reply_formerr(job_t *job)
{
	uint16_t counts[4] = { job->query->question_len > 0 };
	answer_put_header(job, 0, KNOT_RCODE_FORMERR, counts);
	job->report->rcode = KNOT_RCODE_FORMERR;
	return KNOT_MSG_HEADER_LEN + (size_t)job->query->question_len;
}

static bool answer_name_is(const knot_query_t *q, const char *wire, size_t len)
{
	return q->qname.len == len && memcmp(q->qname_lower, wire, len) == 0;
}

/* CH TXT: the server's identity and version (RFC 4892). */
static size_t answer_reply_chaos(job_t *job)
{
	static const struct {
		const char *wire;
		size_t len;
		bool is_version;
	} names[] = {
		{ "\2id\6server", 11, false },
		{ "\10hostname\4bind", 15, false },
		{ "\7version\6server", 16, true },
		{ "\7version\4bind", 14, true },
	};
	const knot_query_t *q = job->query;
	knot_bytes_t text = { NULL, 0 };
	for (size_t i = 0; i < KNOT_LEN(names) && q->qtype == KNOT_TYPE_TXT; i++) {
		if (answer_name_is(q, names[i].wire, names[i].len)) {
			text = names[i].is_version ? job->env->version : job->env->identity;
		}
	}
	if (text.len == 0) {
		return answer_reply_empty(job, KNOT_RCODE_REFUSED, KNOT_EDE_NONE);
	}
	uint8_t rdata[1 + 255];
	rdata[0] = (uint8_t)(text.len < 255 ? text.len : 255);
	memcpy(rdata + 1, text.data, rdata[0]);

	size_t len = KNOT_MSG_HEADER_LEN + (size_t)q->question_len;
	size_t reserved = answer_opt_len(job, KNOT_EDE_NONE);
	knot_msg_writer_t w;
	knot_msg_continue(&w, (knot_mut_bytes_t){ job->out.data, answer_reply_max(job) - reserved }, len, q->qname);
	uint16_t flags = 0;
	if (knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, q->qname, KNOT_TYPE_TXT, KNOT_CLASS_CH, 0,
			    (knot_bytes_t){ rdata, 1u + rdata[0] }) != KNOT_OK) {
		flags = KNOT_FLAG_TC;
		job->report->truncated = true;
	}
	size_t added = answer_put_opt(job, job->out.data + w.len, KNOT_RCODE_NOERROR, KNOT_EDE_NONE);
	uint16_t counts[4] = { 1, w.counts[KNOT_SECTION_ANSWER], 0, added > 0 };
	answer_put_header(job, flags, KNOT_RCODE_NOERROR, counts);
	return w.len + added;
}

/*
 * A signed request, while no key is known: RFC 8945 5.2.1, NOTAUTH with an unsigned TSIG that names the key and the
 * error BADKEY. The TSIG of the request is its last record; its owner and algorithm are repeated.
 */
__attribute__((noinline)) static size_t answer_reply_badkey(job_t *job)
{
	const knot_query_t *q = job->query;
	knot_message_t msg;
	knot_message_rr_t rr = { .rdata_len = 0 };
	if (knot_message_begin(q->wire, &msg) != KNOT_OK) {
		return answer_reply_formerr(job);
	}
	while (knot_message_next(&msg, &rr)) {}
	knot_name_t algorithm;
	knot_bytes_t rdata = { q->wire.data + rr.rdata_off, rr.rdata_len };
	if (msg.failed || rr.type != KNOT_TYPE_TSIG || knot_name_read(rdata, &algorithm) != KNOT_OK ||
			rdata.len - algorithm.len < TSIG_FIXED_LEN ||
			rdata.len - algorithm.len - TSIG_FIXED_LEN < load_be16(algorithm.wire + algorithm.len + 8)) {
		return answer_reply_formerr(job);
	}
	uint8_t made[KNOT_NAME_MAX + TSIG_FIXED_LEN];
	size_t name_len = algorithm.len;
	knot_name_lower(algorithm, made);
	memcpy(made + name_len, rdata.data + name_len, 8); /* time signed and fudge, as they came */
	store_be16(made + name_len + 8, 0);                /* no MAC */
	store_be16(made + name_len + 10, q->id);
	store_be16(made + name_len + 12, KNOT_RCODE_BADKEY);
	store_be16(made + name_len + 14, 0);

	size_t len = answer_reply_empty(job, KNOT_RCODE_NOTAUTH, KNOT_EDE_NONE);
	job->report->rcode = KNOT_RCODE_BADKEY;
	knot_msg_writer_t w;
	knot_msg_continue(&w, (knot_mut_bytes_t){ job->out.data, answer_reply_max(job) }, len, (knot_name_t){ 0 });
	if (knot_msg_put_rr(&w, KNOT_SECTION_ADDITIONAL, rr.owner, KNOT_TYPE_TSIG, KNOT_CLASS_ANY, 0,
			    (knot_bytes_t){ made, name_len + TSIG_FIXED_LEN }) == KNOT_OK) {
		store_be16(job->out.data + 10, (uint16_t)(load_be16(job->out.data + 10) + 1));
	}
	return w.len;
}

static knot_name_t answer_lower_name(const knot_query_t *q)
{
	return (knot_name_t){ q->qname_lower, q->qname.len, q->qname.label_count };
}

/* A query for DS at the apex of `zone`: the parent's zone answers if it is served here (RFC 4035 3.1.4.1). */
__attribute__((noinline)) static zone_t *answer_find_parent(const zonedb_t *zones, zone_t *zone, knot_name_t name)
{
	if (name.label_count == 0 || zonedb_find(zones, name) != zone) {
		return zone;
	}
	zone_t *parent = zonedb_find_suffix(zones, knot_name_strip(name, 1));
	return parent != NULL ? parent : zone;
}

/* The zone that answers, and its version: the longest match, but for DS. */
static void answer_find_zone(job_t *job, const zonedb_t *zones)
{
	const knot_query_t *q = job->query;
	knot_name_t name = answer_lower_name(q);
	zone_t *zone;
	if (job->hint != NULL) {
		job->key = job->hint->key;
		job->key_len = job->hint->key_len;
		zone = job->hint->zone;
		job->zone = job->hint->contents;
	} else {
		job->key = job->own_key;
		job->key_len = knot_name_key(name, job->own_key);
		zone = zonedb_find_suffix_key(zones, name, job->key, job->key_len);
		job->zone = zone != NULL ? zone_ask(zone) : NULL;
	}
	job->report->zone = zone;
	if (job->zone == NULL && zone != NULL) {
		zonedb_want(zones, zone);
	}
	if (q->qtype == KNOT_TYPE_DS && zone != NULL) {
		zone_t *above = answer_find_parent(zones, zone, name);
		if (above != zone) {
			job->report->zone = above;
			job->zone = zone_contents(above);
			job->hint = NULL;
		}
	}
}

/* Transfers, NOTIFY and UPDATE name a zone; they are not about a name in it. NULL: there is no such zone. */
static zone_t *answer_find_named_zone(const job_t *job, const zonedb_t *zones)
{
	return zonedb_find(zones, answer_lower_name(job->query));
}

static size_t answer_reply_from_zone(job_t *job)
{
	const knot_query_t *q = job->query;
	zone_ref_t deepest = job->hint != NULL ? job->hint->deepest : 0;
	answer_plan_t plan;
	answer_plan(job->zone, q, zone_lookup_walked(job->zone, answer_lower_name(q), job->key, job->key_len, deepest),
			&plan);

	size_t max = answer_reply_max(job);
	size_t reserved = answer_opt_len(job, KNOT_EDE_NONE);
	knot_mut_bytes_t room = { job->out.data, max > reserved ? max - reserved : 0 };
	bool is_udp = answer_is_udp(job->source->protocol);
	answer_encoded_t enc = answer_encode(&plan, room, is_udp, job->env->rotate ? q->id : ANSWER_ROTATE_NONE);
	if (enc.too_big) {
		return answer_reply_empty(job, KNOT_RCODE_SERVFAIL, KNOT_EDE_NONE);
	}
	uint16_t flags = (plan.authoritative ? KNOT_FLAG_AA : 0) | (enc.truncated ? KNOT_FLAG_TC : 0);
	size_t added = answer_put_opt(job, job->out.data + enc.len, plan.rcode, KNOT_EDE_NONE);
	enc.counts[KNOT_SECTION_ADDITIONAL] = (uint16_t)(enc.counts[KNOT_SECTION_ADDITIONAL] + (added > 0));
	answer_put_header(job, flags, plan.rcode, enc.counts);
	job->report->rcode = plan.rcode;
	job->report->truncated = enc.truncated;
	job->report->is_nodata = plan.rcode == KNOT_RCODE_NOERROR && !enc.truncated &&
				 enc.counts[KNOT_SECTION_ANSWER] == 0 &&
				 (enc.counts[KNOT_SECTION_AUTHORITY] == 0 || enc.first_authority_is_soa);
	return enc.len + added;
}

static size_t answer_reply_lookup(job_t *job)
{
	if (job->report->zone == NULL) {
		return answer_reply_empty(job, KNOT_RCODE_REFUSED, KNOT_EDE_NOT_AUTH);
	}
	if (job->query->has_tsig) {
		return answer_reply_badkey(job);
	}
	if (job->zone == NULL) {
		return answer_reply_empty(job, KNOT_RCODE_SERVFAIL, KNOT_EDE_INVALID_DATA);
	}
	return answer_reply_from_zone(job);
}

/* Transfers, NOTIFY and UPDATE aren't served: all are refused. Statistics count that as BADKEY, as Knot's do. */
static size_t answer_reply_denied(job_t *job)
{
	if (job->query->has_tsig && job->report->zone != NULL) {
		return answer_reply_badkey(job);
	}
	size_t len = answer_reply_empty(job, KNOT_RCODE_NOTAUTH, KNOT_EDE_NONE);
	if (job->report->zone != NULL) {
		job->report->rcode = KNOT_RCODE_BADKEY;
	}
	return len;
}

static bool answer_is_lookup(const knot_query_t *q)
{
	return q->opcode == KNOT_OPCODE_QUERY && q->qtype != KNOT_TYPE_AXFR && q->qtype != KNOT_TYPE_IXFR &&
	       q->qtype != 0;
}

static size_t answer_reply(job_t *job, const zonedb_t *zones)
{
	const knot_query_t *q = job->query;
	if (q->edns.present && q->edns.version != 0) {
		return answer_reply_empty(job, KNOT_RCODE_BADVERS, KNOT_EDE_NONE); /* RFC 6891 6.1.3 */
	}
	bool known = q->opcode == KNOT_OPCODE_QUERY || q->opcode == KNOT_OPCODE_NOTIFY ||
		     q->opcode == KNOT_OPCODE_UPDATE;
	if (!known) {
		if (q->question_len > 0 && q->qclass == KNOT_CLASS_IN) {
			job->report->zone = answer_find_named_zone(job, zones); /* its statistics count the request */
		}
		return answer_reply_empty(job, KNOT_RCODE_NOTIMP, KNOT_EDE_NONE);
	}
	if (q->question_len == 0) {
		return answer_reply_empty(job, KNOT_RCODE_FORMERR, KNOT_EDE_NONE);
	}
	if (q->opcode == KNOT_OPCODE_QUERY && q->qtype == 0) {
		return answer_reply_empty(job, KNOT_RCODE_NOTIMP, KNOT_EDE_NONE);
	}
	if (q->qclass == KNOT_CLASS_CH) {
		return answer_is_lookup(q) ? answer_reply_chaos(job)
					   : answer_reply_empty(job, KNOT_RCODE_NOTIMP, KNOT_EDE_NONE);
	}
	if (q->qclass != KNOT_CLASS_IN && q->qclass != KNOT_CLASS_ANY) {
		return answer_reply_empty(job, KNOT_RCODE_REFUSED, KNOT_EDE_NONE);
	}

	if (answer_is_lookup(q)) {
		answer_find_zone(job, zones);
		return answer_reply_lookup(job);
	}
	job->report->zone = answer_find_named_zone(job, zones);
	if (q->opcode == KNOT_OPCODE_UPDATE && q->qtype != KNOT_TYPE_SOA) {
		return answer_reply_empty(job, KNOT_RCODE_FORMERR, KNOT_EDE_NONE); /* RFC 2136 3.1.1 */
	}
	/* RFC 5936 4.2: a zone transfer needs a stream. */
	if (q->opcode == KNOT_OPCODE_QUERY && q->qtype == KNOT_TYPE_AXFR && answer_is_udp(job->source->protocol)) {
		return answer_reply_empty(job, KNOT_RCODE_NOTIMP, KNOT_EDE_NONE);
	}
	return answer_reply_denied(job);
}

size_t answer_message(const answer_env_t *env, const zonedb_t *zones, const answer_source_t *source,
		const answer_hint_t *hint, knot_bytes_t request, knot_mut_bytes_t out, knot_query_t *ret_query,
		answer_report_t *ret_report)
{
	assert(out.len >= UDP_PAYLOAD_MIN);
	KNOT_ASSERT_SLOW(out.data == request.data || out.data + out.len <= request.data ||
			 request.data + request.len <= out.data);
	const knot_query_t *query = hint != NULL ? &hint->query : ret_query;
	*ret_report = (answer_report_t){ .ede = KNOT_EDE_NONE, .query = query };
	ret_report->verdict = hint != NULL ? hint->verdict : knot_query_parse(request, ret_query);
	if (ret_report->verdict == KNOT_MSG_DROP) {
		return 0;
	}
	job_t job;
	job.env = env;
	job.source = source;
	job.query = query;
	job.hint = hint != NULL && hint->has_key ? hint : NULL;
	job.report = ret_report;
	job.out = out;
	job.zone = NULL;
	job.any_option = job.nsid = job.expire = job.zoneversion = false;
	job.ecs_len = 0;
	if (out.data != request.data) {
		memcpy(out.data, request.data, KNOT_MSG_HEADER_LEN + (size_t)query->question_len);
	}
	if (ret_report->verdict == KNOT_MSG_FORMERR) {
		return answer_reply_formerr(&job);
	}
	if (query->edns.options.len > 0 && !answer_read_options(&job)) {
		return answer_reply_empty(&job, KNOT_RCODE_FORMERR, KNOT_EDE_NONE);
	}
	return answer_reply(&job, zones);
}
