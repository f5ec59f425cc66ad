/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/stream_in.h"

#include "libknot/msg/rcode.h"

#include <assert.h>
#include <stdio.h>

/* What the records so far were, so what the next one may be. */
typedef enum {
	STEP_START,    /* nothing */
	STEP_SOA,      /* the first SOA */
	STEP_SOLE_SOA, /* IXFR: the first SOA, alone in its message */
	STEP_WHOLE,    /* AXFR: records up to the second SOA */
	STEP_REMOVE,   /* IXFR: behind the old SOA of a changeset */
	STEP_ADD,      /* IXFR: behind its new SOA */
	STEP_END,
	STEP_COUNT
} stream_step_t;

/* ---- Messages ---- */

/* EDNS EXPIRE is the only option of interest. False: the options are malformed. */
static bool stream_read_options(knot_bytes_t options, bool *ret_has_expire, uint32_t *ret_expire_s)
{
	knot_reader_t r = knot_reader_of(options);
	while (!r.failed && knot_reader_left(&r) > 0) {
		uint16_t code = knot_read_u16(&r), len = knot_read_u16(&r);
		const uint8_t *data = knot_read(&r, len);
		if (data != NULL && code == KNOT_EDNS_EXPIRE && len == 4) {
			*ret_has_expire = true;
			*ret_expire_s = load_be32(data);
		}
	}
	return !r.failed;
}

/* What stands around the answer section. */
typedef struct {
	uint16_t rcode;
	bool has_opt, has_expire;
	uint32_t expire_s;
} envelope_t;

/* An OPT, of which there may be one (RFC 6891 6.1.1). */
static bool stream_read_opt(const knot_message_t *message, const knot_message_rr_t *rr, envelope_t *envelope)
{
	if (envelope->has_opt || rr->owner.len != 1) {
		return false;
	}
	envelope->has_opt = true;
	envelope->rcode |= (uint16_t)(rr->ttl >> 24 << 4);
	return stream_read_options((knot_bytes_t){ message->wire.data + rr->rdata_off, rr->rdata_len },
			&envelope->has_expire, &envelope->expire_s);
}

/* Reads the rest of a message from any place. False: it is malformed. */
static bool stream_read_rest(knot_message_t *message, envelope_t *envelope)
{
	knot_message_rr_t rr;
	while (knot_message_next(message, &rr)) {
		if (rr.section == KNOT_SECTION_ADDITIONAL && rr.type == KNOT_TYPE_OPT &&
				!stream_read_opt(message, &rr, envelope)) {
			return false;
		}
	}
	return knot_message_is_whole(message);
}

/* An answer to this query: header and, if there is one, question (RFC 5936 2.2: messages may leave it out). Some
 * servers answer IXFR by AXFR with the question of AXFR. */
static bool stream_open(const stream_in_query_t *query, knot_bytes_t wire, knot_message_t *ret_message)
{
	if (knot_message_begin(wire, ret_message) != KNOT_OK) {
		return false;
	}
	const uint16_t must = KNOT_FLAG_QR, must_not = KNOT_FLAG_TC | KNOT_OPCODE_MASK;
	if (ret_message->id != query->id || (ret_message->flags & (must | must_not)) != must ||
			ret_message->counts[KNOT_SECTION_QUESTION] > 1) {
		return false;
	}
	knot_message_rr_t rr;
	if (ret_message->counts[KNOT_SECTION_QUESTION] == 0) {
		return true;
	}
	return knot_message_next(ret_message, &rr) && rr.class == KNOT_CLASS_IN &&
	       (rr.type == query->type || (query->type == KNOT_TYPE_IXFR && rr.type == KNOT_TYPE_AXFR)) &&
	       knot_name_eq(rr.owner, query->zone);
}

/* An answer of which TC says that it isn't all. */
static bool stream_is_truncated(const stream_in_query_t *query, knot_bytes_t wire)
{
	knot_message_t message;
	const uint16_t must = KNOT_FLAG_QR | KNOT_FLAG_TC;
	return knot_message_begin(wire, &message) == KNOT_OK && message.id == query->id &&
	       (message.flags & must) == must;
}

/* ---- Records ---- */

static void stream_fail(stream_in_t *s, stream_in_fault_t fault)
{
	s->state = STREAM_IN_FAILED;
	s->fault = fault;
}

static void stream_take(stream_in_t *s, knot_err_t err)
{
	if (err != KNOT_OK && s->state == STREAM_IN_MORE) {
		s->err = err;
		stream_fail(s, STREAM_IN_SINK);
	}
}

static void stream_count_useless(stream_in_t *s, uint32_t cost)
{
	s->useless_count += cost;
	if (s->useless_count > STREAM_IN_USELESS_MAX) {
		stream_fail(s, STREAM_IN_ENDLESS);
	}
}

/* Chooses the kind, and hands over the first SOA where it is part of the zone. */
static void stream_begin_kind(stream_in_t *s, stream_in_kind_t kind)
{
	s->kind = kind;
	stream_take(s, s->sink.begin(kind, s->serial, s->sink.ctx));
	if (kind == STREAM_IN_AXFR && s->state == STREAM_IN_MORE) {
		const zone_rr_t soa = { s->query.zone, KNOT_TYPE_SOA, s->soa_ttl, { s->soa, s->soa_len } };
		stream_take(s, s->sink.record(&soa, true, s->sink.ctx));
	}
}

static void stream_finish(stream_in_t *s, uint32_t serial)
{
	s->serial_reached = serial;
	s->step = STEP_END;
}

static void stream_put(stream_in_t *s, const zone_rr_t *rr, bool is_added)
{
	s->changeset_records++;
	stream_take(s, s->sink.record(rr, is_added, s->sink.ctx));
}

/* The old SOA of a changeset, which must lead on from the one before. */
static void stream_begin_changeset(stream_in_t *s, const zone_rr_t *rr)
{
	uint32_t serial = knot_soa_serial(rr->rdata);
	if (s->changeset_count > 0 && serial != s->to) {
		stream_fail(s, STREAM_IN_MALFORMED);
		return;
	}
	s->from = serial;
	s->changeset_records = 0;
	s->step = STEP_REMOVE;
	stream_put(s, rr, false);
}

static void stream_end_changeset(stream_in_t *s)
{
	s->changeset_count++;
	if (s->changeset_records <= 2) { /* its SOAs only */
		stream_count_useless(s, 1);
	}
	if (s->state == STREAM_IN_MORE) {
		stream_take(s, s->sink.changeset(s->from, s->to, s->sink.ctx));
	}
}

/* The first record of the answer. */
static void stream_on_start(stream_in_t *s, const zone_rr_t *rr, bool is_apex_soa)
{
	if (!is_apex_soa) {
		stream_fail(s, STREAM_IN_BAD_SOA);
		return;
	}
	s->serial = knot_soa_serial(rr->rdata);
	s->soa_ttl = rr->ttl;
	s->soa_len = (uint16_t)rr->rdata.len;
	memcpy(s->soa, rr->rdata.data, rr->rdata.len);
	s->step = STEP_SOA;
	if (s->query.type == KNOT_TYPE_AXFR) {
		s->step = STEP_WHOLE;
		stream_begin_kind(s, STREAM_IN_AXFR);
	}
}

/* A record of a whole zone. Its end is the second SOA, whatever that says. */
static void stream_on_whole(stream_in_t *s, const zone_rr_t *rr, bool is_apex_soa)
{
	if (is_apex_soa) {
		stream_finish(s, s->serial);
	} else {
		stream_put(s, rr, true);
	}
}

/* The record behind the first SOA of an answer to IXFR says what kind it is. */
static void stream_on_second(stream_in_t *s, const zone_rr_t *rr, bool is_apex_soa)
{
	bool is_same = is_apex_soa && knot_soa_serial(rr->rdata) == s->serial, is_changes = is_apex_soa && !is_same;
	if (is_same && s->answer_count > 2) { /* neither a zone of a SOA only, nor a changeset */
		stream_fail(s, STREAM_IN_MALFORMED);
		return;
	}
	stream_begin_kind(s, is_changes ? STREAM_IN_IXFR : STREAM_IN_AXFR);
	if (s->state != STREAM_IN_MORE) {
		return;
	}
	if (is_changes) {
		stream_begin_changeset(s, rr);
	} else {
		s->step = STEP_WHOLE;
		stream_on_whole(s, rr, is_apex_soa);
	}
}

static void stream_on_removed(stream_in_t *s, const zone_rr_t *rr, bool is_apex_soa)
{
	if (is_apex_soa) {
		s->to = knot_soa_serial(rr->rdata);
		s->step = STEP_ADD;
	}
	stream_put(s, rr, is_apex_soa);
}

/* A SOA ends the changeset. It is the old one of the next changeset, or the final one, which says what the first said.
 */
static void stream_on_added(stream_in_t *s, const zone_rr_t *rr, bool is_apex_soa)
{
	if (!is_apex_soa) {
		stream_put(s, rr, true);
		return;
	}
	stream_end_changeset(s);
	if (s->state != STREAM_IN_MORE) {
		return;
	}
	if (knot_soa_serial(rr->rdata) == s->serial) {
		if (s->to != s->serial) {
			stream_fail(s, STREAM_IN_MALFORMED);
			return;
		}
		stream_finish(s, s->serial);
	} else if (s->query.is_one_by_one && knot_soa_serial(rr->rdata) == s->to) {
		stream_finish(s, s->to);
	} else {
		stream_begin_changeset(s, rr);
	}
}

static void (*const step_rows[STEP_COUNT])(stream_in_t *s, const zone_rr_t *rr, bool is_apex_soa) = {
	[STEP_START] = stream_on_start,
	[STEP_SOA] = stream_on_second,
	[STEP_SOLE_SOA] = stream_on_second,
	[STEP_WHOLE] = stream_on_whole,
	[STEP_REMOVE] = stream_on_removed,
	[STEP_ADD] = stream_on_added,
};

static uint64_t stream_hash_bytes(uint64_t hash, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		uint8_t word[8] = { 0 };
		size_t count = len < 8 ? len : 8;
		memcpy(word, bytes, count);
		hash = (hash ^ load_le64(word)) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 32;
		bytes += count;
		len -= count;
	}
	return hash;
}

/* Counts a record that is the same as the one before. It goes to the sink nevertheless, so two that only hash alike do
 * no harm. */
static void stream_count_repeated(stream_in_t *s, const zone_rr_t *rr)
{
	uint64_t hash = stream_hash_bytes(rr->type, rr->owner.wire, rr->owner.len);
	hash = stream_hash_bytes(hash ^ rr->rdata.len << 16, rr->rdata.data, rr->rdata.len);
	if (hash == s->previous_hash) {
		stream_count_useless(s, 1);
	}
	s->previous_hash = hash;
}

/* Twice the size for changesets, which remove and add. */
static bool stream_is_too_large(const stream_in_t *s)
{
	uint64_t size = s->kind == STREAM_IN_IXFR ? s->record_bytes / 2 : s->record_bytes;
	return s->query.size_max > 0 && size > s->query.size_max;
}

static void stream_on_foreign(stream_in_t *s, knot_name_t owner)
{
	s->foreign_count++;
	if (s->kind == STREAM_IN_AXFR && s->sink.foreign != NULL && s->foreign_count <= STREAM_IN_FOREIGN_MAX) {
		s->sink.foreign(owner, s->sink.ctx);
	}
	stream_count_useless(s, 1);
}

/* A record outside the zone only has a say in what kind of answer it is. */
static void stream_on_outside(stream_in_t *s, const zone_rr_t *rr)
{
	if (s->step == STEP_START) {
		stream_fail(s, STREAM_IN_BAD_SOA);
		return;
	}
	if (s->step == STEP_SOA || s->step == STEP_SOLE_SOA) {
		s->step = STEP_WHOLE;
		stream_begin_kind(s, STREAM_IN_AXFR);
	}
	if (s->state == STREAM_IN_MORE) {
		stream_on_foreign(s, rr->owner);
	}
}

static void stream_on_record(stream_in_t *s, knot_message_rr_t *rr, knot_bytes_t wire, uint8_t *scratch)
{
	uint16_t len;
	if (rr->class != KNOT_CLASS_IN || knot_rrtype_is_meta(rr->type) ||
			knot_rdata_unpack(rr->type, wire, rr->rdata_off, rr->rdata_len,
					(knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &len) != KNOT_OK) {
		stream_fail(s, STREAM_IN_MALFORMED);
		return;
	}
	knot_rdata_canonical(rr->type, (knot_mut_bytes_t){ scratch, len });
	knot_name_lower(rr->owner, rr->owner_wire);
	const zone_rr_t record = { rr->owner, rr->type, rr->ttl, { scratch, len } };
	s->record_bytes += (uint64_t)rr->owner.len + 10 + len;
	stream_count_repeated(s, &record);
	bool is_apex = knot_name_eq(rr->owner, s->query.zone), is_soa = rr->type == KNOT_TYPE_SOA;
	if (s->state != STREAM_IN_MORE) {
		return;
	}
	if (!is_apex && !knot_name_in(rr->owner, s->query.zone)) {
		stream_on_outside(s, &record);
	} else if (is_soa && !is_apex) {
		stream_fail(s, s->step == STEP_START ? STREAM_IN_BAD_SOA : STREAM_IN_MALFORMED);
	} else {
		step_rows[s->step](s, &record, is_soa);
	}
	if (s->state == STREAM_IN_MORE && stream_is_too_large(s)) {
		stream_fail(s, s->kind == STREAM_IN_IXFR ? STREAM_IN_TRANSFER_SIZE : STREAM_IN_ZONE_SIZE);
	}
}

/* ---- Streams ---- */

void stream_in_begin(stream_in_t *stream, const stream_in_query_t *query, const stream_in_sink_t *sink)
{
	assert(query->type == KNOT_TYPE_AXFR || query->type == KNOT_TYPE_IXFR);
	*stream = (stream_in_t){ .query = *query, .sink = *sink, .state = STREAM_IN_MORE };
}

/* The answer section is over: what it leaves open. */
static void stream_end_answer(stream_in_t *s, uint16_t answer_count)
{
	if (answer_count == 0) {
		if (s->step == STEP_START) {
			stream_fail(s, s->query.type == KNOT_TYPE_IXFR ? STREAM_IN_UNSUPPORTED : STREAM_IN_BAD_SOA);
		} else {
			stream_count_useless(s, STREAM_IN_EMPTY_COST);
		}
	} else if (s->step == STEP_SOA) {
		s->step = STEP_SOLE_SOA;
		/* RFC 1982: ours is the same, or newer. At a distance of 2^31 neither is. */
		uint32_t ahead = s->query.serial - s->serial;
		if (ahead < UINT32_C(1) << 31) {
			s->serial_reached = s->query.serial;
			s->state = STREAM_IN_UP_TO_DATE;
		}
	} else if (s->step == STEP_END) {
		s->state = STREAM_IN_DONE;
	}
}

/* What the envelope says goes before what the records led to. */
static void stream_on_envelope(stream_in_t *s, const envelope_t *envelope)
{
	if (envelope->rcode != KNOT_RCODE_NOERROR) {
		s->rcode = envelope->rcode;
		stream_fail(s, STREAM_IN_RCODE);
		return;
	}
	if (envelope->has_expire) {
		s->has_expire = true;
		s->expire_s = envelope->expire_s;
		if (envelope->expire_s < 2) {
			stream_fail(s, STREAM_IN_EXPIRED);
		}
	}
}

stream_in_state_t stream_in_read(stream_in_t *stream, knot_bytes_t wire, uint8_t *scratch)
{
	assert(stream->state == STREAM_IN_MORE);
	knot_message_t message;
	stream->message_count++;
	stream->byte_count += wire.len;
	if (!stream_open(&stream->query, wire, &message)) {
		stream_fail(stream,
				stream_is_truncated(&stream->query, wire) ? STREAM_IN_TRUNCATED : STREAM_IN_MALFORMED);
		return stream->state;
	}
	envelope_t envelope = { .rcode = message.flags & KNOT_RCODE_MASK };
	uint16_t answer_count = message.counts[KNOT_SECTION_ANSWER];
	stream->answer_count = answer_count;
	knot_message_rr_t rr;
	for (uint16_t i = 0; i < answer_count && envelope.rcode == KNOT_RCODE_NOERROR; i++) {
		if (!knot_message_next(&message, &rr)) {
			break;
		}
		if (stream->step != STEP_END) { /* RFC 5936 2.2: the rest of the message is ignored */
			stream_on_record(stream, &rr, wire, scratch);
		}
		if (stream->state != STREAM_IN_MORE) {
			return stream->state;
		}
	}
	if (!stream_read_rest(&message, &envelope)) {
		stream_fail(stream, STREAM_IN_MALFORMED);
		return stream->state;
	}
	stream_on_envelope(stream, &envelope);
	if (stream->state == STREAM_IN_MORE) {
		stream_end_answer(stream, answer_count);
	}
	return stream->state;
}

/* ---- Texts ---- */

/* {text of the log, NULL: "failed (<error>)"; error}. */
static const struct {
	const char *text;
	knot_err_t err;
} fault_rows[STREAM_IN_FAULT_COUNT] = {
	[STREAM_IN_MALFORMED] = { NULL, KNOT_EMALF },
	[STREAM_IN_TRUNCATED] = { NULL, KNOT_EFEWDATA },
	[STREAM_IN_RCODE] = { "server responded with error", KNOT_EDENIED },
	[STREAM_IN_UNSUPPORTED] = { "not supported by remote", KNOT_ENOTSUP },
	[STREAM_IN_BAD_SOA] = { "malformed response SOA", KNOT_EMALF },
	[STREAM_IN_ZONE_SIZE] = { "zone size exceeded", KNOT_EZONESIZE },
	[STREAM_IN_TRANSFER_SIZE] = { "transfer size exceeded", KNOT_EZONESIZE },
	[STREAM_IN_EXPIRED] = { "remote is expired, ignoring", KNOT_EDENIED },
	[STREAM_IN_ENDLESS] = { "endless transfer", KNOT_EMALF },
	[STREAM_IN_SINK] = { NULL, KNOT_ERROR },
};

knot_err_t stream_in_error(const stream_in_t *stream)
{
	assert(stream->state == STREAM_IN_FAILED);
	return stream->fault == STREAM_IN_SINK ? stream->err : fault_rows[stream->fault].err;
}

void stream_in_print_rcode(uint16_t rcode, char ret_text[static STREAM_IN_RCODE_TEXT_MAX])
{
	const char *name = rcode < KNOT_RCODE_SLOT_OTHER ? knot_rcode_slot_name(rcode) : NULL;
	if (name != NULL) {
		snprintf(ret_text, STREAM_IN_RCODE_TEXT_MAX, "%s", name);
	} else {
		snprintf(ret_text, STREAM_IN_RCODE_TEXT_MAX, "%u", rcode);
	}
}

void stream_in_print(const stream_in_t *stream, char ret_text[static STREAM_IN_TEXT_MAX])
{
	const char *text = fault_rows[stream->fault].text;
	if (stream->fault == STREAM_IN_RCODE) {
		char rcode[STREAM_IN_RCODE_TEXT_MAX];
		stream_in_print_rcode(stream->rcode, rcode);
		snprintf(ret_text, STREAM_IN_TEXT_MAX, "%s '%s'", text, rcode);
	} else if (text != NULL) {
		snprintf(ret_text, STREAM_IN_TEXT_MAX, "%s", text);
	} else {
		snprintf(ret_text, STREAM_IN_TEXT_MAX, "failed (%s)", knot_strerror(stream_in_error(stream)));
	}
}

/* ---- SOA queries ---- */

soa_answer_t soa_answer_read(const stream_in_query_t *query, knot_bytes_t wire, uint8_t *scratch)
{
	const soa_answer_t malformed = { .verdict = SOA_ANSWER_MALFORMED };
	knot_message_t message;
	if (!stream_open(query, wire, &message)) {
		return malformed;
	}
	soa_answer_t answer = { .verdict = SOA_ANSWER_OK };
	envelope_t envelope = { .rcode = message.flags & KNOT_RCODE_MASK };
	uint16_t count = message.counts[KNOT_SECTION_ANSWER], len = 0;
	bool has_soa = false;
	knot_message_rr_t rr;
	if (count == 1 && knot_message_next(&message, &rr) && rr.type == KNOT_TYPE_SOA && rr.class == KNOT_CLASS_IN &&
			knot_name_eq(rr.owner, query->zone) &&
			knot_rdata_unpack(rr.type, wire, rr.rdata_off, rr.rdata_len,
					(knot_mut_bytes_t){ scratch, KNOT_RDATA_MAX }, &len) == KNOT_OK) {
		answer.serial = knot_soa_serial((knot_bytes_t){ scratch, len });
		has_soa = true;
	}
	if (!stream_read_rest(&message, &envelope)) {
		return malformed;
	}
	if (envelope.rcode != KNOT_RCODE_NOERROR) {
		return (soa_answer_t){ .verdict = SOA_ANSWER_RCODE, .rcode = envelope.rcode };
	}
	answer.has_expire = envelope.has_expire;
	answer.expire_s = envelope.expire_s;
	return has_soa ? answer : malformed;
}
