/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three ways to a verdict, each cheaper than the one that it saves:
 *
 * - All bytes of a reply but its id have the hash of the last reply to this query that was found right: it is right.
 *   Servers mostly give one query one answer, so that is the work of nearly all replies.
 * - A reply is read once, and sums of its records' digests are compared with those of what the model expects: what
 *   differs in order, in compression or in options of EDNS.
 * - Where sums differ, sections are compared record by record, which knows what a server may add or leave out; sums
 * that have passed that are remembered with the question.
 */
#include "src/tools/load/judge.h"

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"
#include "libknot/text/rdata_text.h"
#include "src/tools/load/model.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	REMARK_MAX = 256,
	HEADER_MASK = 0xFE0F, /* QR, opcode, AA, TC, rcode */
	ID_LEN = 2,
	RIGHT_SEED = 3,
};

/** What is expected of a question, as sums. */
typedef struct {
	uint64_t answer, authority, additional;
	/* What a server made of what is optional, found right. */
	uint64_t other_authority, other_additional;
	uint16_t flags; /* of the header, by HEADER_MASK */
	uint8_t state;  /* 0: not known yet */
	bool has_others;
} expected_sums_t;

enum { SUMS_NONE, SUMS_KNOWN, SUMS_UNKNOWN };

typedef struct {
	char *question, *fault, *expected, *came; /* owned */
} wrong_t;

struct judge {
	const model_t *model;     /* borrowed */
	const queries_t *queries; /* borrowed */
	expected_sums_t *sums;    /* owned: one per query; NULL: questions are others */
	uint64_t *rights;         /* owned: as many; hash of the last right reply but its id. 0: none yet */
	expectation_t expectation;
	wrong_t *wrongs; /* owned */
	size_t wrong_count, wrong_room;
	uint64_t wrong_seen;
	char fault[REMARK_MAX];
	uint8_t rdata[KNOT_RDATA_MAX];
};

judge_t *judge_new(const model_t *model, const queries_t *queries, bool own_questions, unsigned thread, unsigned show)
{
	(void)thread;
	judge_t *j = calloc(1, sizeof(*j));
	if (j == NULL) {
		return NULL;
	}
	j->model = model;
	j->queries = queries;
	j->wrong_room = show;
	j->sums = own_questions ? NULL : calloc(queries->count, sizeof(*j->sums));
	j->rights = own_questions ? NULL : calloc(queries->count, sizeof(*j->rights));
	j->wrongs = show > 0 ? calloc(show, sizeof(*j->wrongs)) : NULL;
	bool has_memory = own_questions || (j->sums != NULL && j->rights != NULL);
	if (!has_memory || (j->wrongs == NULL && show > 0)) {
		judge_free(j);
		return NULL;
	}
	return j;
}

void judge_free(judge_t *j)
{
	if (j == NULL) {
		return;
	}
	for (size_t i = 0; i < j->wrong_count; i++) {
		free(j->wrongs[i].question);
		free(j->wrongs[i].fault);
		free(j->wrongs[i].expected);
		free(j->wrongs[i].came);
	}
	expectation_done(&j->expectation);
	free(j->wrongs);
	free(j->sums);
	free(j->rights);
	free(j);
}

/* ---- The reply ---- */

typedef struct {
	uint64_t sums[4]; /* by section */
	uint16_t flags;
	bool has_edns, is_whole;
	bool is_other; /* an rcode about the request itself, BADCOOKIE or BADVERS: no answer */
} judged_t;

/* Digest of a record that came. False: its RDATA can't be read. */
static bool judge_digest(
		judge_t *j, knot_bytes_t reply, const knot_message_rr_t *rr, uint64_t owner_hash, uint64_t *ret_digest)
{
	uint16_t len = rr->rdata_len;
	if (rr->type == KNOT_TYPE_A || rr->type == KNOT_TYPE_AAAA) {
		size_t wanted = rr->type == KNOT_TYPE_A ? 4 : 16;
		*ret_digest = model_record_digest(owner_hash,
				model_rdata_hash(rr->type, (knot_bytes_t){ reply.data + rr->rdata_off, len }));
		return len == wanted && rr->class == KNOT_CLASS_IN;
	}
	if (knot_rdata_unpack(rr->type, reply, rr->rdata_off, rr->rdata_len,
			    (knot_mut_bytes_t){ j->rdata, sizeof(j->rdata) }, &len) != KNOT_OK) {
		return false;
	}
	knot_rdata_canonical(rr->type, (knot_mut_bytes_t){ j->rdata, len });
	*ret_digest = model_record_digest(owner_hash, model_rdata_hash(rr->type, (knot_bytes_t){ j->rdata, len }));
	return rr->class == KNOT_CLASS_IN;
}

static uint64_t judge_owner_hash(const knot_message_rr_t *rr)
{
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(rr->owner, lower);
	return model_name_hash((knot_name_t){ lower, rr->owner.len, rr->owner.label_count });
}

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name; /* lower case, in `wire` */
	uint16_t type;
} question_t;

/* Read all of it. False: it isn't a whole message. */
static bool judge_read(judge_t *j, knot_bytes_t reply, question_t *ret_question, judged_t *ret_judged)
{
	knot_message_t message;
	knot_message_rr_t rr;
	*ret_judged = (judged_t){ .flags = 0 };
	if (knot_message_begin(reply, &message) != KNOT_OK || !knot_message_next(&message, &rr) ||
			rr.section != KNOT_SECTION_QUESTION) {
		return false;
	}
	ret_judged->flags = message.flags & HEADER_MASK;
	knot_name_lower(rr.owner, ret_question->wire);
	ret_question->name = (knot_name_t){ ret_question->wire, rr.owner.len, rr.owner.label_count };
	ret_question->type = rr.type;
	const uint64_t question_hash = model_name_hash(ret_question->name);
	while (knot_message_next(&message, &rr)) {
		if (rr.type == KNOT_TYPE_OPT && rr.section == KNOT_SECTION_ADDITIONAL) {
			ret_judged->has_edns = true;
			ret_judged->is_other = rr.ttl >> 24 != 0;
			continue;
		}
		if (rr.type == KNOT_TYPE_TSIG && rr.section == KNOT_SECTION_ADDITIONAL) {
			continue;
		}
		/* The owner is mostly the question's, as a pointer. */
		bool is_question = load_be16(reply.data + rr.off) == 0xC00C;
		uint64_t digest;
		if (!judge_digest(j, reply, &rr, is_question ? question_hash : judge_owner_hash(&rr), &digest)) {
			return false;
		}
		ret_judged->sums[rr.section] +=
				rr.section == KNOT_SECTION_ANSWER ? model_with_ttl(digest, rr.ttl) : digest;
	}
	ret_judged->is_whole = knot_message_is_whole(&message);
	return ret_judged->is_whole;
}

/* ---- Record by record ---- */

static bool judge_fault(judge_t *j, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool judge_fault(judge_t *j, const char *format, ...)
{
	if (j->fault[0] == '\0') {
		va_list args;
		va_start(args, format);
		vsnprintf(j->fault, sizeof(j->fault), format, args);
		va_end(args);
	}
	return false;
}

/* The digests of a section that came, in order. Returns their number, TTLs beside them. */
typedef struct {
	uint64_t digest;
	uint32_t ttl;
	uint16_t type;
	uint32_t node; /* of the model, where the owner is; MODEL_NONE */
	bool is_matched;
} came_t;

static size_t judge_collect(judge_t *j, knot_bytes_t reply, knot_section_t section, came_t **ret_came)
{
	knot_message_t message;
	knot_message_rr_t rr;
	size_t count = 0;
	*ret_came = NULL;
	if (knot_message_begin(reply, &message) != KNOT_OK) {
		return 0;
	}
	*ret_came = calloc(message.counts[section] + (size_t)1, sizeof(came_t));
	while (*ret_came != NULL && knot_message_next(&message, &rr)) {
		if (rr.section != section || rr.type == KNOT_TYPE_OPT || rr.type == KNOT_TYPE_TSIG) {
			continue;
		}
		uint8_t lower[KNOT_NAME_MAX];
		knot_name_lower(rr.owner, lower);
		knot_name_t owner = { lower, rr.owner.len, rr.owner.label_count };
		came_t *c = &(*ret_came)[count];
		if (judge_digest(j, reply, &rr, model_name_hash(owner), &c->digest)) {
			uint32_t zone = j->expectation.zone;
			c->node = zone != MODEL_NONE ? model_find(j->model, zone, owner) : MODEL_NONE;
			c->ttl = rr.ttl;
			c->type = rr.type;
			count++;
		}
	}
	return count;
}

/* Match what came with what is expected; TTLs count in answers. Returns how many expected ones are missing. */
static size_t judge_match(const expected_section_t *expected, came_t *came, size_t count, bool *ret_bad_ttl)
{
	size_t missing = 0;
	*ret_bad_ttl = false;
	for (size_t i = 0; i < expected->count; i++) {
		bool found = false;
		for (size_t k = 0; k < count && !found; k++) {
			if (!came[k].is_matched && came[k].digest == expected->records[i].digest) {
				found = came[k].is_matched = true;
				*ret_bad_ttl |= came[k].ttl != expected->records[i].ttl;
			}
		}
		missing += !found;
	}
	return missing;
}

static bool judge_is_in_zone(const model_t *m, const came_t *came)
{
	if (came->node == MODEL_NONE) {
		return false;
	}
	for (uint32_t r = m->nodes[came->node].first; r != MODEL_NONE; r = m->records[r].next) {
		if (model_record_digest(m->nodes[came->node].hash, m->records[r].hash) == came->digest) {
			return true;
		}
	}
	return false;
}

static bool judge_answer_section(judge_t *j, knot_bytes_t reply, bool is_truncated)
{
	came_t *came;
	size_t count = judge_collect(j, reply, KNOT_SECTION_ANSWER, &came);
	bool bad_ttl, is_good = true;
	size_t missing = judge_match(&j->expectation.answer, came, count, &bad_ttl);
	if (missing > 0 && !is_truncated) {
		is_good = judge_fault(
				j, "answer section: %zu of %zu records missing", missing, j->expectation.answer.count);
	}
	for (size_t k = 0; k < count && is_good; k++) {
		if (!came[k].is_matched) {
			is_good = judge_fault(j, "answer section: a record that doesn't belong there (type %u)",
					came[k].type);
		}
	}
	if (is_good && bad_ttl) {
		is_good = judge_fault(j, "answer section: another TTL");
	}
	free(came);
	return is_good;
}

/* A server may say in positive answers which name servers the zone has. */
static bool judge_may_be_in_authority(const judge_t *j, const came_t *came)
{
	const expectation_t *e = &j->expectation;
	bool is_positive = e->kind == EXPECT_ANSWER && e->rcode == KNOT_RCODE_NOERROR;
	bool is_apex_ns = e->zone != MODEL_NONE && came->node == j->model->zones[e->zone].apex &&
			  (came->type == KNOT_TYPE_NS || came->type == KNOT_TYPE_RRSIG);
	return is_positive && is_apex_ns && judge_is_in_zone(j->model, came);
}

static bool judge_authority_section(judge_t *j, knot_bytes_t reply, bool is_truncated)
{
	came_t *came;
	size_t count = judge_collect(j, reply, KNOT_SECTION_AUTHORITY, &came);
	bool bad_ttl, is_good = true; /* TTLs of negative answers: RFC 2308, 9077 have rules of their own */
	size_t missing = judge_match(&j->expectation.authority, came, count, &bad_ttl);
	if (missing > 0 && !is_truncated) {
		is_good = judge_fault(j, "authority section: %zu of %zu records missing", missing,
				j->expectation.authority.count);
	}
	for (size_t k = 0; k < count && is_good; k++) {
		if (!came[k].is_matched && !judge_may_be_in_authority(j, &came[k])) {
			is_good = judge_fault(j, "authority section: a record that doesn't belong there (type %u)",
					came[k].type);
		}
	}
	free(came);
	return is_good;
}

/* Glue must be there; addresses, keys of addresses and their signatures may be, as the zone has them. */
static bool judge_additional_section(judge_t *j, knot_bytes_t reply, bool is_truncated)
{
	came_t *came;
	size_t count = judge_collect(j, reply, KNOT_SECTION_ADDITIONAL, &came);
	bool bad_ttl, is_good = true;
	size_t missing = judge_match(&j->expectation.glue, came, count, &bad_ttl);
	if (missing > 0 && !is_truncated) {
		is_good = judge_fault(j, "additional section: %zu of %zu addresses of name servers missing", missing,
				j->expectation.glue.count);
	}
	for (size_t k = 0; k < count && is_good; k++) {
		if (!came[k].is_matched && !judge_is_in_zone(j->model, &came[k])) {
			is_good = judge_fault(j, "additional section: a record that the zone doesn't have (type %u)",
					came[k].type);
		}
	}
	free(came);
	return is_good;
}

static uint16_t judge_flags(const expectation_t *e)
{
	return (uint16_t)(KNOT_FLAG_QR | (e->is_authoritative ? KNOT_FLAG_AA : 0) | e->rcode);
}

/* Everything, with j->fault as the reason. The expectation is j's. */
static bool judge_compare(judge_t *j, knot_bytes_t reply, const judged_t *judged, bool wants_edns)
{
	const expectation_t *e = &j->expectation;
	const uint16_t flags = judge_flags(e);
	const bool is_truncated = (judged->flags & KNOT_FLAG_TC) != 0;
	j->fault[0] = '\0';
	if ((judged->flags & KNOT_RCODE_MASK) != e->rcode) {
		return judge_fault(j, "rcode %s, expected %s",
				knot_rcode_slot_name(knot_rcode_slot(judged->flags & KNOT_RCODE_MASK)),
				knot_rcode_slot_name(knot_rcode_slot(e->rcode)));
	}
	if (((judged->flags ^ flags) & KNOT_FLAG_AA) != 0) {
		return judge_fault(j, "AA is %s", (judged->flags & KNOT_FLAG_AA) != 0 ? "set" : "missing");
	}
	if (((judged->flags ^ flags) & KNOT_OPCODE_MASK) != 0) {
		return judge_fault(j, "another opcode");
	}
	if (judged->has_edns != wants_edns) {
		return judge_fault(j, wants_edns ? "EDNS is missing" : "EDNS that wasn't asked for");
	}
	return judge_answer_section(j, reply, is_truncated) && judge_authority_section(j, reply, is_truncated) &&
	       judge_additional_section(j, reply, is_truncated);
}

/* ---- What is kept of wrong ones ---- */

static void judge_print_record(
		FILE *out, const char *section, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	char name[KNOT_NAME_TEXT_MAX], type_text[KNOT_TYPE_TEXT_MAX];
	char *text = malloc(KNOT_RDATA_TEXT_MAX);
	(void)knot_name_print(owner, name);
	(void)knot_rrtype_print(type, type_text);
	bool is_printed = text != NULL && knot_rdata_check(type, rdata) == KNOT_OK &&
			  knot_rdata_print(type, rdata, text, KNOT_RDATA_TEXT_MAX) > 0;
	fprintf(out, "  %-10s %s %u %s %s\n", section, name, ttl, type_text,
			is_printed ? text : "(RDATA that can't be read)");
	free(text);
}

static const char *const section_names[] = { "question", "answer", "authority", "additional" };

static void judge_print_section(
		const model_t *m, const expected_section_t *s, const char *name, const expectation_t *e, FILE *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const expected_record_t *r = &s->records[i];
		knot_name_t owner = knot_name_of(r->owner);
		if (r->record == MODEL_NONE) {
			judge_print_record(out, name, owner, KNOT_TYPE_CNAME, r->ttl,
					(knot_bytes_t){ e->made, knot_name_of(e->made).len });
		} else {
			judge_print_record(out, name, owner, m->records[r->record].type, r->ttl,
					model_rdata(m, &m->records[r->record]));
		}
	}
}

static void judge_print_flags(FILE *out, uint16_t flags)
{
	fprintf(out, "  %s%s%s\n", knot_rcode_slot_name(knot_rcode_slot(flags & KNOT_RCODE_MASK)),
			(flags & KNOT_FLAG_AA) != 0 ? ", AA" : "", (flags & KNOT_FLAG_TC) != 0 ? ", TC" : "");
}

static void judge_print_expected(const judge_t *j, FILE *out)
{
	const expectation_t *e = &j->expectation;
	judge_print_flags(out, judge_flags(e));
	judge_print_section(j->model, &e->answer, section_names[KNOT_SECTION_ANSWER], e, out);
	judge_print_section(j->model, &e->authority, section_names[KNOT_SECTION_AUTHORITY], e, out);
	judge_print_section(j->model, &e->glue, section_names[KNOT_SECTION_ADDITIONAL], e, out);
}

static void judge_print_came(judge_t *j, knot_bytes_t reply, FILE *out)
{
	knot_message_t message;
	knot_message_rr_t rr;
	if (knot_message_begin(reply, &message) != KNOT_OK) {
		return;
	}
	judge_print_flags(out, message.flags);
	while (knot_message_next(&message, &rr)) {
		uint16_t len = 0;
		if (rr.section == KNOT_SECTION_QUESTION || rr.type == KNOT_TYPE_OPT) {
			continue;
		}
		bool is_read = knot_rdata_unpack(rr.type, reply, rr.rdata_off, rr.rdata_len,
					       (knot_mut_bytes_t){ j->rdata, sizeof(j->rdata) }, &len) == KNOT_OK;
		judge_print_record(out, section_names[rr.section], rr.owner, rr.type, rr.ttl,
				is_read ? (knot_bytes_t){ j->rdata, len } : (knot_bytes_t){ NULL, 0 });
	}
	if (message.failed) {
		fprintf(out, "  what follows can't be read, %zu bytes from offset %zu:\n ", reply.len - message.pos,
				message.pos);
		for (size_t i = message.pos; i < reply.len && i < message.pos + 64; i++) {
			fprintf(out, " %02x", reply.data[i]);
		}
		fputc('\n', out);
	}
}

static void judge_keep(judge_t *j, const question_t *question, knot_bytes_t reply)
{
	j->wrong_seen++;
	if (j->wrong_count == j->wrong_room) {
		return;
	}
	wrong_t wrong = { 0 };
	size_t len;
	char name[KNOT_NAME_TEXT_MAX] = "?", type[KNOT_TYPE_TEXT_MAX] = "";
	if (question != NULL) {
		(void)knot_name_print(question->name, name);
		(void)knot_rrtype_print(question->type, type);
	}
	FILE *out = open_memstream(&wrong.expected, &len);
	if (out != NULL) {
		judge_print_expected(j, out);
		fclose(out);
	}
	out = open_memstream(&wrong.came, &len);
	if (out != NULL) {
		judge_print_came(j, reply, out);
		fclose(out);
	}
	bool is_good = asprintf(&wrong.question, "%s %s", name, type) >= 0;
	wrong.fault = strdup(j->fault);
	if (!is_good || wrong.fault == NULL || wrong.expected == NULL || wrong.came == NULL) {
		free(is_good ? wrong.question : NULL);
		free(wrong.fault);
		free(wrong.expected);
		free(wrong.came);
		return;
	}
	j->wrongs[j->wrong_count++] = wrong;
}

size_t judge_wrong_count(const judge_t *j)
{
	return j->wrong_count;
}

judge_wrong_t judge_wrong(const judge_t *j, size_t index)
{
	const wrong_t *w = &j->wrongs[index];
	return (judge_wrong_t){ index + 1, w->question, w->fault, w->expected, w->came };
}

/* ---- The verdict ---- */

static void judge_expect(judge_t *j, const question_t *question, const query_t *query, expected_sums_t *sums)
{
	expectation_t *e = &j->expectation;
	expect(j->model, question->name, question->type, (query->flags & QUERY_DO) != 0, e);
	if (sums->state == SUMS_NONE) {
		*sums = (expected_sums_t){
			.answer = expected_sum(&e->answer, true),
			.authority = expected_sum(&e->authority, false),
			.additional = expected_sum(&e->glue, false),
			.flags = judge_flags(e),
			.state = e->kind == EXPECT_UNKNOWN ? SUMS_UNKNOWN : SUMS_KNOWN,
		};
	}
}

static bool judge_sums_agree(const expected_sums_t *s, const judged_t *came)
{
	bool is_plain = came->sums[KNOT_SECTION_AUTHORITY] == s->authority &&
			came->sums[KNOT_SECTION_ADDITIONAL] == s->additional;
	bool is_other = s->has_others && came->sums[KNOT_SECTION_AUTHORITY] == s->other_authority &&
			came->sums[KNOT_SECTION_ADDITIONAL] == s->other_additional;
	return s->state == SUMS_KNOWN && came->flags == s->flags && came->sums[KNOT_SECTION_ANSWER] == s->answer &&
	       (is_plain || is_other);
}

/* By reading it. */
static judge_verdict_t judge_read_reply(judge_t *j, uint32_t index, knot_bytes_t reply)
{
	const query_t *query = &j->queries->items[index];
	expected_sums_t fresh = { .state = SUMS_NONE }, *sums = j->sums != NULL ? &j->sums[index] : &fresh;
	if ((query->flags & QUERY_OTHER) != 0 || sums->state == SUMS_UNKNOWN) {
		return JUDGE_UNKNOWN;
	}
	question_t question;
	judged_t judged;
	bool is_read = judge_read(j, reply, &question, &judged);
	if (!is_read) {
		if (judged.flags == 0) {
			return JUDGE_UNKNOWN; /* without a question: an error that the counts of rcodes show */
		}
		judge_expect(j, &question, query, sums);
		j->fault[0] = '\0';
		judge_fault(j, "the message can't be read to its end");
		judge_keep(j, &question, reply);
		return JUDGE_WRONG;
	}
	if (judged.is_other) {
		return JUDGE_UNKNOWN;
	}
	const bool wants_edns = (query->flags & QUERY_EDNS) != 0;
	bool is_expected = sums->state == SUMS_NONE;
	if (is_expected) {
		judge_expect(j, &question, query, sums);
		if (sums->state == SUMS_UNKNOWN) {
			return JUDGE_UNKNOWN;
		}
	}
	if (judge_sums_agree(sums, &judged) && judged.has_edns == wants_edns) {
		return JUDGE_RIGHT;
	}
	if (!is_expected) {
		judge_expect(j, &question, query, sums);
	}
	if (judge_compare(j, reply, &judged, wants_edns)) {
		if ((judged.flags & KNOT_FLAG_TC) == 0) {
			sums->other_authority = judged.sums[KNOT_SECTION_AUTHORITY];
			sums->other_additional = judged.sums[KNOT_SECTION_ADDITIONAL];
			sums->has_others = true;
		}
		return JUDGE_RIGHT;
	}
	judge_keep(j, &question, reply);
	return JUDGE_WRONG;
}

judge_verdict_t judge_reply(judge_t *j, uint32_t index, knot_bytes_t reply)
{
	if (j->rights == NULL || reply.len < KNOT_MSG_HEADER_LEN) {
		return judge_read_reply(j, index, reply);
	}
	const uint64_t hash = hash_bytes(RIGHT_SEED, reply.data + ID_LEN, reply.len - ID_LEN);
	if (hash == j->rights[index] && hash != 0) {
		return JUDGE_RIGHT;
	}
	const judge_verdict_t verdict = judge_read_reply(j, index, reply);
	if (verdict == JUDGE_RIGHT) {
		j->rights[index] = hash;
	}
	return verdict;
}
