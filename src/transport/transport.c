/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transport/transport.h"

#include "src/transport/ops.h"
#include "src/transport/tls_params.h"

#include <assert.h>
#include <stdio.h>

void transport_free(transport_t *take_t)
{
	if (take_t != NULL) {
		take_t->ops->free(take_t);
	}
}

transport_kind_t transport_kind(const transport_t *t)
{
	return t->ops->kind;
}

transport_state_t transport_state(const transport_t *t)
{
	return t->state;
}

transport_end_t transport_end(const transport_t *t)
{
	return t->end;
}

const char *transport_reason(const transport_t *t)
{
	return t->reason;
}

bool transport_is_datagram(const transport_t *t)
{
	return t->ops->is_datagram;
}

knot_mut_bytes_t transport_room(transport_t *t)
{
	return t->state == TRANSPORT_ENDED ? (knot_mut_bytes_t){ .len = 0 } : t->ops->room(t);
}

void transport_note_received(transport_t *t, size_t len, uint64_t now_ns)
{
	if (t->state != TRANSPORT_ENDED) {
		t->ops->note_received(t, len, now_ns);
	}
}

void transport_note_eof(transport_t *t, uint64_t now_ns)
{
	if (t->state != TRANSPORT_ENDED && t->ops->note_eof != NULL) {
		t->ops->note_eof(t, now_ns);
	}
}

/* What came before the end is still there to be taken. */
bool transport_take(transport_t *t, transport_event_t *ret_event)
{
	return t->ops->take(t, ret_event);
}

knot_err_t transport_put(transport_t *t, knot_bytes_t message, uint64_t *stream)
{
	if (t->state == TRANSPORT_ENDED) {
		return KNOT_ECONNRESET;
	}
	if (message.len == 0 || message.len > TRANSPORT_MESSAGE_MAX) {
		return KNOT_ERANGE;
	}
	return t->ops->put(t, message, stream);
}

void transport_finish(transport_t *t, uint64_t stream)
{
	if (t->state != TRANSPORT_ENDED && t->ops->finish != NULL) {
		t->ops->finish(t, stream);
	}
}

void transport_cancel(transport_t *t, uint64_t stream)
{
	if (t->state != TRANSPORT_ENDED && t->ops->cancel != NULL) {
		t->ops->cancel(t, stream);
	}
}

knot_bytes_t transport_pending(transport_t *t, uint64_t now_ns)
{
	return t->ops->pending(t, now_ns);
}

void transport_note_sent(transport_t *t, size_t len, uint64_t now_ns)
{
	t->ops->note_sent(t, len, now_ns);
}

uint64_t transport_deadline_ns(const transport_t *t)
{
	return t->state == TRANSPORT_ENDED || t->ops->deadline_ns == NULL ? TRANSPORT_NEVER_NS : t->ops->deadline_ns(t);
}

void transport_expire(transport_t *t, uint64_t now_ns)
{
	if (t->state != TRANSPORT_ENDED && t->ops->expire != NULL) {
		t->ops->expire(t, now_ns);
	}
}

void transport_close(transport_t *t, uint64_t now_ns)
{
	if (t->state == TRANSPORT_ENDED) {
		return;
	}
	if (t->ops->close != NULL) {
		t->ops->close(t, now_ns);
	}
	transport_stop(t, TRANSPORT_END_CLOSED, "closed");
}

void transport_describe(const transport_t *t, transport_session_t *ret_session)
{
	ret_session->count = 0;
	if (t->ops->describe != NULL) {
		t->ops->describe(t, ret_session);
	}
}

knot_err_t transport_ticket(const transport_t *t, knot_mut_bytes_t *ret_ticket)
{
	return t->ops->ticket != NULL ? t->ops->ticket(t, ret_ticket) : KNOT_ENOENT;
}

/* ---- What the kinds share ---- */

void transport_stop(transport_t *t, transport_end_t end, const char *format, ...)
{
	if (t->state == TRANSPORT_ENDED) {
		return;
	}
	va_list args;
	t->state = TRANSPORT_ENDED;
	t->end = end;
	va_start(args, format);
	(void)vsnprintf(t->reason, sizeof(t->reason), format, args);
	va_end(args);
}

void transport_session_add(transport_session_t *session, const char *format, ...)
{
	va_list args;
	assert(session->count < TRANSPORT_SESSION_LINES_MAX);
	va_start(args, format);
	(void)vsnprintf(session->lines[session->count++], TRANSPORT_SESSION_LINE_MAX, format, args);
	va_end(args);
}
