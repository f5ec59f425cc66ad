/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/delegation/dsync.h"

#include "libknot/msg/rcode.h"
#include "libknot/rr/rdata.h"

#include <assert.h>
#include <string.h>

/* ---- Names ---- */

static const uint8_t dsync_label[] = { 6, '_', 'd', 's', 'y', 'n', 'c' };

bool dsync_name(knot_name_t child, dsync_step_t step, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	assert(step.above > 0 && step.above <= child.label_count);
	const knot_name_t below = knot_name_strip(child, step.above);
	size_t head_len = step.is_bare ? 0 : (size_t)child.len - below.len;
	size_t len = head_len + sizeof(dsync_label) + below.len;
	if (len > KNOT_NAME_MAX) {
		return false;
	}
	memcpy(ret_wire, child.wire, head_len);
	memcpy(ret_wire + head_len, dsync_label, sizeof(dsync_label));
	memcpy(ret_wire + head_len + sizeof(dsync_label), below.wire, below.len);
	unsigned labels = (step.is_bare ? 0 : step.above) + 1 + below.label_count;
	*ret_name = (knot_name_t){ ret_wire, (uint8_t)len, (uint8_t)labels };
	return true;
}

bool dsync_next(knot_name_t child, dsync_step_t *step, knot_name_t apex)
{
	bool is_above = apex.label_count < child.label_count && knot_name_in(child, apex);
	unsigned above = is_above ? (unsigned)child.label_count - apex.label_count : 0;
	if (above > step->above) {
		*step = (dsync_step_t){ .above = above };
		return true;
	}
	bool has_next = !step->is_bare;
	step->is_bare = true;
	return has_next;
}

/* ---- Records ---- */

knot_err_t dsync_read(knot_bytes_t rdata, dsync_record_t *ret_record)
{
	enum { TARGET_OFF = 5 };
	knot_name_t target;
	if (rdata.len <= TARGET_OFF ||
			knot_name_read((knot_bytes_t){ rdata.data + TARGET_OFF, rdata.len - TARGET_OFF }, &target) !=
					KNOT_OK ||
			target.len != rdata.len - TARGET_OFF) {
		return KNOT_EMALF;
	}
	ret_record->type = load_be16(rdata.data);
	ret_record->scheme = rdata.data[2];
	ret_record->port = load_be16(rdata.data + 3);
	memcpy(ret_record->target_wire, target.wire, target.len);
	ret_record->target = (knot_name_t){ ret_record->target_wire, target.len, target.label_count };
	return KNOT_OK;
}

/* Copies of the struct have the name of their own bytes. */
static void dsync_put(const dsync_record_t *record, dsync_record_t *ret_record)
{
	*ret_record = *record;
	ret_record->target.wire = ret_record->target_wire;
}

static void dsync_take_record(const knot_message_t *message, const knot_message_rr_t *rr, dsync_answer_t *answer)
{
	dsync_record_t record;
	if (dsync_read((knot_bytes_t){ message->wire.data + rr->rdata_off, rr->rdata_len }, &record) != KNOT_OK ||
			record.scheme != DSYNC_SCHEME_NOTIFY || record.port == 0) {
		return;
	}
	dsync_record_t *to = record.type == KNOT_TYPE_CDS     ? &answer->cds
			     : record.type == KNOT_TYPE_CSYNC ? &answer->csync
							      : NULL;
	if (to != NULL && to->type == 0) {
		dsync_put(&record, to);
	}
}

dsync_verdict_t dsync_read_answer(knot_bytes_t bytes, dsync_answer_t *ret_answer)
{
	dsync_answer_t *answer = ret_answer;
	knot_message_t message;
	knot_message_rr_t rr;
	bool has_records = false, has_soa = false;
	answer->cds.type = answer->csync.type = 0;
	if (knot_message_begin(bytes, &message) != KNOT_OK) {
		return DSYNC_USELESS;
	}
	while (knot_message_next(&message, &rr)) {
		if (rr.section == KNOT_SECTION_ANSWER && rr.type == KNOT_TYPE_DSYNC && rr.class == KNOT_CLASS_IN) {
			has_records = true;
			dsync_take_record(&message, &rr, answer);
		} else if (rr.section == KNOT_SECTION_AUTHORITY && rr.type == KNOT_TYPE_SOA && !has_soa) {
			has_soa = true;
			memcpy(answer->apex_wire, rr.owner.wire, rr.owner.len);
			answer->apex = (knot_name_t){ answer->apex_wire, rr.owner.len, rr.owner.label_count };
		}
	}
	unsigned rcode = message.flags & KNOT_RCODE_MASK;
	bool is_usable = !message.failed && (rcode == KNOT_RCODE_NOERROR || rcode == KNOT_RCODE_NXDOMAIN);
	if (!is_usable || (!has_records && !has_soa)) {
		return DSYNC_USELESS;
	}
	return has_records ? DSYNC_FOUND : DSYNC_NEGATIVE;
}
