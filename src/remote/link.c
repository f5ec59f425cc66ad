/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/link.h"

#include "src/transport/tcp_buffer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINK_IN_MIN = 4096, LINK_IN_MAX = 2 + KNOT_MSG_MAX };

_Static_assert(LINK_ROOM == 256, "a slot is the lower byte of an ID");

void link_init(link_t *link, uint16_t key)
{
	*link = (link_t){ .key = key };
}

void link_done(link_t *link)
{
	free(link->out);
	free(link->in);
	link->out = link->in = NULL;
}

/* ---- Sending ---- */

static knot_err_t link_make_room(link_t *link, size_t max_len)
{
	if (link->out_sent > 0) {
		memmove(link->out, link->out + link->out_sent, link->out_len - link->out_sent);
		link->out_len -= link->out_sent;
		link->out_sent = 0;
	}
	if (link->out_max - link->out_len >= 2 + max_len) {
		return KNOT_OK;
	}
	size_t max = 2 * link->out_max + 2 + max_len;
	uint8_t *out = realloc(link->out, max);
	if (out == NULL) {
		return KNOT_ENOMEM;
	}
	link->out = out;
	link->out_max = max;
	return KNOT_OK;
}

static unsigned link_find_slot(link_t *link)
{
	while (link->slots[link->next_slot % LINK_ROOM] != NULL) {
		link->next_slot++;
	}
	return link->next_slot++ % LINK_ROOM;
}

knot_err_t link_put(link_t *link, remote_request_t *request, uint64_t now_ms, uint64_t now_s)
{
	size_t len;
	assert(link_has_room(link));
	size_t max_len = remote_query_max(&request->query);
	knot_err_t err = link_make_room(link, max_len);
	if (err != KNOT_OK) {
		return err;
	}
	unsigned slot = link_find_slot(link);
	/* The upper byte is another one each time, so that a late answer is no other question's. */
	uint16_t id = (uint16_t)((link->next_slot / LINK_ROOM << 8 | slot) ^ link->key);
	uint8_t *at = link->out + link->out_len;
	request->chain.pending = NULL;
	err = remote_query_write(&request->query, id, remote_request_key(request), now_s,
			(knot_mut_bytes_t){ at + 2, max_len }, &request->chain, &len);
	if (err != KNOT_OK) {
		return err;
	}
	store_be16(at, (uint16_t)len);
	link->out_len += 2 + len;
	link->slots[slot] = request;
	link->first_ms = link->count == 0 ? now_ms : link->first_ms;
	link->count++;
	link->stream_count += request->is_stream;
	request->id = id;
	request->is_answered = false;
	request->since_ms = now_ms;
	return KNOT_OK;
}

void link_note_sent(link_t *link, size_t len)
{
	assert(len <= link->out_len - link->out_sent);
	link->out_sent += len;
	if (link->out_sent == link->out_len) {
		link->out_sent = link->out_len = 0;
	}
}

/* ---- The end of a request ---- */

static remote_request_t *link_clear_slot(link_t *link, unsigned slot)
{
	remote_request_t *request = link->slots[slot];
	link->slots[slot] = NULL;
	link->count--;
	link->stream_count -= request->is_stream;
	if (remote_request_key(request) != NULL) {
		knot_tsig_chain_done(&request->chain);
	}
	return request;
}

static void link_end(link_t *link, unsigned slot, knot_err_t err, link_ended_cb ended, void *ctx)
{
	remote_request_t *request = link_clear_slot(link, slot);
	ended(request, err, ctx);
	request->on_end(request, err);
}

remote_request_t *link_take(link_t *link)
{
	for (unsigned slot = 0; slot < LINK_ROOM && link->count > 0; slot++) {
		if (link->slots[slot] != NULL) {
			return link_clear_slot(link, slot);
		}
	}
	return NULL;
}

static bool link_is_late(const link_t *link, const remote_request_t *request, uint64_t now_ms, uint64_t timeout_ms)
{
	uint64_t waits_ms = now_ms - request->since_ms;
	bool is_silent = waits_ms >= timeout_ms && now_ms - link->progress_ms >= timeout_ms;
	return is_silent || waits_ms >= LINK_ROUNDS_MAX * timeout_ms;
}

/* The question that has waited longest; now_ms: there is none. */
static uint64_t link_find_first(const link_t *link, uint64_t now_ms)
{
	uint64_t first_ms = now_ms;
	for (unsigned slot = 0; slot < LINK_ROOM; slot++) {
		const remote_request_t *request = link->slots[slot];
		first_ms = request != NULL && request->since_ms < first_ms ? request->since_ms : first_ms;
	}
	return first_ms;
}

void link_expire(link_t *link, uint64_t now_ms, uint64_t timeout_ms, link_ended_cb ended, void *ctx)
{
	if (link->count == 0 || now_ms - link->first_ms < timeout_ms) {
		return; /* most are looked at often, and rarely one by one */
	}
	link->first_ms = link_find_first(link, now_ms);
	for (unsigned slot = 0; slot < LINK_ROOM && link->count > 0 && timeout_ms > 0; slot++) {
		if (link->slots[slot] != NULL && link_is_late(link, link->slots[slot], now_ms, timeout_ms)) {
			link->is_over = true;
			link_end(link, slot, KNOT_ETIMEOUT, ended, ctx);
		}
	}
}

/* ---- Receiving ---- */

knot_mut_bytes_t link_room(link_t *link)
{
	if (link->in_max - link->in_len < LINK_IN_MIN && link->in_max < LINK_IN_MAX) {
		size_t max = link->in_max == 0 ? LINK_IN_MIN : LINK_IN_MAX;
		uint8_t *in = realloc(link->in, max);
		if (in == NULL) {
			return (knot_mut_bytes_t){ .len = 0 };
		}
		link->in = in;
		link->in_max = max;
	}
	return (knot_mut_bytes_t){ link->in + link->in_len, link->in_max - link->in_len };
}

/* What is wrong with a message, before its content is looked at. */
static knot_err_t link_check(remote_request_t *request, knot_bytes_t message, uint64_t now_s)
{
	uint16_t flags = load_be16(message.data + 2);
	bool is_refused = (flags & KNOT_RCODE_MASK) != 0;
	if ((flags & KNOT_FLAG_QR) == 0) {
		return KNOT_EMALF;
	}
	if (remote_request_key(request) != NULL) {
		knot_err_t err = knot_tsig_verify(&request->chain, message, now_s);
		/* An unsigned refusal may be forged, but so may silence; its rcode helps whoever looks for the cause.
		 */
		if (err != KNOT_OK && !(err == KNOT_EMALF && is_refused)) {
			return err;
		}
	}
	return (flags & KNOT_FLAG_TC) != 0 && !is_refused ? KNOT_EFEWDATA : KNOT_OK;
}

static void link_give(link_t *link, unsigned slot, knot_bytes_t message, uint64_t now_ms, uint64_t now_s,
		link_ended_cb ended, void *ctx)
{
	remote_request_t *request = link->slots[slot];
	request->took_ms = request->is_answered ? request->took_ms : (uint32_t)(now_ms - request->since_ms);
	request->is_answered = true;
	request->since_ms = now_ms;
	knot_err_t err = link_check(request, message, now_s);
	remote_verdict_t verdict = err == KNOT_OK ? request->on_message(request, message) : REMOTE_DROP;
	if (verdict == REMOTE_MORE) {
		return;
	}
	bool is_signed = remote_request_key(request) != NULL;
	if (err == KNOT_OK && verdict == REMOTE_DONE && is_signed && !knot_tsig_is_complete(&request->chain)) {
		err = KNOT_EMALF;
	}
	/* The rest of a stream that isn't read would be in the way of others. */
	link->is_over = link->is_over || (verdict == REMOTE_DROP && request->is_stream) || err != KNOT_OK;
	link_end(link, slot, err, ended, ctx);
}

/* The only question that waits, or LINK_ROOM. */
static unsigned link_find_only(const link_t *link)
{
	for (unsigned slot = 0; slot < LINK_ROOM && link->count == 1; slot++) {
		if (link->slots[slot] != NULL) {
			return slot;
		}
	}
	return LINK_ROOM;
}

static void link_read(
		link_t *link, knot_bytes_t message, uint64_t now_ms, uint64_t now_s, link_ended_cb ended, void *ctx)
{
	unsigned slot = LINK_ROOM;
	link->progress_ms = now_ms;
	if (message.len >= KNOT_MSG_HEADER_LEN) {
		uint16_t id = load_be16(message.data);
		slot = (uint8_t)(id ^ link->key);
		if (link->slots[slot] != NULL && link->slots[slot]->id == id) {
			link->answered++;
			link_give(link, slot, message, now_ms, now_s, ended, ctx);
			return;
		}
	}
	/* It answers nothing that was asked. If only one question waits, that is what it is meant for. */
	link->is_over = true;
	slot = link_find_only(link);
	if (slot < LINK_ROOM) {
		link->slots[slot]->is_answered = true;
		link_end(link, slot, KNOT_EMALF, ended, ctx);
	}
}

void link_note_received(link_t *link, size_t len, uint64_t now_ms, uint64_t now_s, link_ended_cb ended, void *ctx)
{
	assert(len <= link->in_max - link->in_len);
	size_t at = 0;
	knot_bytes_t message;
	link->in_len += len;
	knot_bytes_t all = { link->in, link->in_len };
	while (link->count > 0 && tcp_frame_next(all, &at, &message) == TCP_FRAME_WHOLE) {
		link_read(link, message, now_ms, now_s, ended, ctx);
	}
	if (link->count == 0) {
		at = link->in_len; /* it belongs to no question */
	}
	memmove(link->in, link->in + at, link->in_len - at);
	link->in_len -= at;
}
