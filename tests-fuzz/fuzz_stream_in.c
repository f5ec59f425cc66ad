/* SPDX-License-Identifier: BSD-2-Clause */
/* A primary's messages of any bytes: each begins with two bytes of length, as over TCP. The first byte of the input
 * chooses what was asked for. Whatever comes, the reader says where it stands; what it hands over is as its header
 * promises: begin first and once, records within the zone and valid, changesets that lead on to the serial that is
 * reached, sizes within the limit. */
#include "src/transfer/stream_in.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { SIZE_MAX_BYTES = 2000 };

typedef struct {
	stream_in_kind_t kind;
	uint64_t bytes;
	uint32_t records, changesets, to;
	bool was_soa;
} seen_t;

static const uint8_t zone_wire[] = { 1, 'z', 0 };
static const knot_name_t zone = { zone_wire, 3, 1 };

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static knot_err_t on_begin(stream_in_kind_t kind, uint32_t serial, void *ctx)
{
	(void)serial;
	seen_t *seen = ctx;
	check(seen->kind == STREAM_IN_UNKNOWN && kind != STREAM_IN_UNKNOWN);
	seen->kind = kind;
	return KNOT_OK;
}

static knot_err_t on_record(const zone_rr_t *rr, bool is_added, void *ctx)
{
	seen_t *seen = ctx;
	check(seen->kind != STREAM_IN_UNKNOWN && (is_added || seen->kind == STREAM_IN_IXFR));
	check(knot_name_in(rr->owner, zone) && knot_rdata_check(rr->type, rr->rdata) == KNOT_OK);
	check(rr->type != KNOT_TYPE_SOA || knot_name_eq(rr->owner, zone));
	check((seen->records == 0) <= (rr->type == KNOT_TYPE_SOA));
	check(seen->kind == STREAM_IN_IXFR || (rr->type == KNOT_TYPE_SOA) == (seen->records == 0));
	seen->records++;
	seen->bytes += (uint64_t)rr->owner.len + 10 + rr->rdata.len;
	return seen->bytes == 666 ? KNOT_ENOMEM : KNOT_OK;
}

static knot_err_t on_changeset(uint32_t from, uint32_t to, void *ctx)
{
	seen_t *seen = ctx;
	check(seen->kind == STREAM_IN_IXFR && (seen->changesets == 0 || from == seen->to));
	seen->changesets++;
	seen->to = to;
	return KNOT_OK;
}

static void on_foreign(knot_name_t owner, void *ctx)
{
	check(((seen_t *)ctx)->kind == STREAM_IN_AXFR && !knot_name_in(owner, zone));
}

static void check_end(const stream_in_t *stream, const seen_t *seen)
{
	char text[STREAM_IN_TEXT_MAX];
	check(seen->bytes <= stream->record_bytes + 3 + 10 + stream->soa_len);
	switch (stream->state) {
	case STREAM_IN_DONE:
		check(seen->kind == stream->kind && seen->records > 0);
		check(stream->kind == STREAM_IN_AXFR || seen->to == stream->serial_reached);
		check(stream->record_bytes <= 2 * SIZE_MAX_BYTES + 1);
		break;
	case STREAM_IN_UP_TO_DATE: check(seen->kind == STREAM_IN_UNKNOWN); break;
	case STREAM_IN_FAILED:
		stream_in_print(stream, text);
		check(text[0] != '\0' && stream_in_error(stream) != KNOT_OK);
		break;
	case STREAM_IN_MORE: break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	if (len == 0) {
		return 0;
	}
	stream_in_query_t query = { .zone = zone, .serial = 5, .size_max = SIZE_MAX_BYTES, .id = 0x1234 };
	query.type = data[0] & 1 ? KNOT_TYPE_IXFR : KNOT_TYPE_AXFR;
	query.is_one_by_one = (data[0] & 2) != 0;
	seen_t seen = { 0 };
	const stream_in_sink_t sink = { on_begin, on_record, on_changeset, on_foreign, &seen };
	stream_in_t stream;
	stream_in_begin(&stream, &query, &sink);
	size_t pos = 1;
	while (stream.state == STREAM_IN_MORE && len - pos >= 2) {
		size_t want = load_be16(data + pos), room = len - pos - 2;
		want = want < room ? want : room;
		uint8_t *message = malloc(want > 0 ? want : 1); /* of its own, so that reading past its end is seen */
		check(message != NULL);
		memcpy(message, data + pos + 2, want);
		soa_answer_t answer = soa_answer_read(
				&(stream_in_query_t){ .zone = zone, .id = 0x1234, .type = KNOT_TYPE_SOA },
				(knot_bytes_t){ message, want }, scratch);
		check(answer.verdict != SOA_ANSWER_RCODE || answer.rcode != 0);
		stream_in_read(&stream, (knot_bytes_t){ message, want }, scratch);
		free(message);
		pos += 2 + want;
	}
	check_end(&stream, &seen);
	return 0;
}
