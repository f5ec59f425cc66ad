/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/quic_client.h"

#include "src/transport/quic.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = UINT32_MAX,
	HANDSHAKE_MS = 10000,
	PATH_ROOM = 512,
};

/* Times of workers begin with 0, which is no time to ngtcp2's taste: a second is added. */
#define TRANSPORT_EPOCH_NS UINT64_C(1000000000)

typedef struct {
	uint64_t number; /* of the worker's query */
	uint64_t stream; /* of the connection */
	uint64_t sent_ns;
	worker_transfer_t transfer;
} conn_query_t;

typedef struct {
	transport_t *t; /* owned; NULL: free */
	FILE *qlog;     /* owned; NULL: none */
	uint64_t deadline_ns;
	uint32_t port;
	uint32_t heap_at;    /* place in `heap` */
	uint32_t idle_at;    /* place in `idle`; NONE: it isn't idle */
	uint32_t next_dirty; /* of the list of those that may have something to send */
	uint32_t next_free;
	bool is_dirty;
	bool is_established;
	bool is_over;     /* to be freed when all is sent; no query waits */
	bool is_ignoring; /* whatever comes, in the modes that don't react */
	uint8_t query_count;
	conn_query_t queries[QUIC_CLIENT_QUERIES_MAX];
} conn_t;

struct quic_client {
	worker_t *worker;
	quic_client_params_t params;
	conn_t *conns;        /* owned */
	uint32_t *port_conns; /* owned: by port */
	uint32_t *heap;       /* owned: conns in use, the earliest deadline first */
	uint32_t *idle;       /* owned: conns of mode R that no query waits on; a stack */
	uint32_t open, idle_count;
	uint32_t free_first, dirty_first, dirty_last;
	uint32_t next_port, next_shared;
	uint64_t opened; /* connections so far */
	bool is_finishing;
	knot_mut_bytes_t ticket; /* owned; len 0: none yet */
	bool may_be_early;       /* what is asked does no harm when it is repeated (RFC 9250 4.5) */
};

/* ---- Life ---- */

static bool client_allocate(quic_client_t *q)
{
	const uint32_t conns = q->params.conns, ports = q->params.ports;
	q->conns = calloc(conns, sizeof(*q->conns));
	q->port_conns = malloc(ports * sizeof(*q->port_conns));
	q->heap = malloc(conns * sizeof(*q->heap));
	q->idle = malloc(conns * sizeof(*q->idle));
	if (q->conns == NULL || q->port_conns == NULL || q->heap == NULL || q->idle == NULL) {
		return false;
	}
	memset(q->port_conns, 0xFF, ports * sizeof(*q->port_conns));
	for (uint32_t i = 0; i < conns; i++) {
		q->conns[i].next_free = i + 1 < conns ? i + 1 : NONE;
	}
	return true;
}

quic_client_t *quic_client_new(worker_t *worker, const quic_client_params_t *params)
{
	assert(params->conns > 0 && params->conns <= QUIC_CLIENT_CONNS_MAX && params->ports >= params->conns);
	const profile_t profile = worker->plan->message.profile;
	quic_client_t *q = calloc(1, sizeof(*q));
	if (q == NULL) {
		return NULL;
	}
	*q = (quic_client_t){ .worker = worker,
		.params = *params,
		.free_first = 0,
		.dirty_first = NONE,
		.dirty_last = NONE,
		.may_be_early = profile == PROFILE_QUERY || profile == PROFILE_NOTIFY };
	if (!client_allocate(q)) {
		quic_client_free(q);
		return NULL;
	}
	return q;
}

static void conn_free_transport(conn_t *c)
{
	transport_free(c->t); /* writes the end of qlog */
	c->t = NULL;
	if (c->qlog != NULL) {
		fclose(c->qlog);
		c->qlog = NULL;
	}
}

void quic_client_free(quic_client_t *take_client)
{
	quic_client_t *q = take_client;
	if (q == NULL) {
		return;
	}
	for (uint32_t i = 0; q->conns != NULL && i < q->params.conns; i++) {
		conn_free_transport(&q->conns[i]);
	}
	free(q->ticket.data);
	free(q->conns);
	free(q->port_conns);
	free(q->heap);
	free(q->idle);
	free(q);
}

uint32_t quic_client_open_count(const quic_client_t *q)
{
	return q->open;
}

static uint32_t conn_index(const quic_client_t *q, const conn_t *c)
{
	return (uint32_t)(c - q->conns);
}

/* ---- Deadlines: a heap ---- */

static void heap_put(quic_client_t *q, uint32_t at, uint32_t conn)
{
	q->heap[at] = conn;
	q->conns[conn].heap_at = at;
}

static uint64_t heap_deadline(const quic_client_t *q, uint32_t at)
{
	return q->conns[q->heap[at]].deadline_ns;
}

/* The one at this place has another deadline: put it where it belongs. */
static void heap_settle(quic_client_t *q, uint32_t at)
{
	const uint32_t conn = q->heap[at];
	const uint64_t deadline_ns = q->conns[conn].deadline_ns;
	while (at > 0 && heap_deadline(q, (at - 1) / 2) > deadline_ns) {
		heap_put(q, at, q->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (uint32_t child; (child = 2 * at + 1) < q->open; at = child) {
		child += child + 1 < q->open && heap_deadline(q, child + 1) < heap_deadline(q, child);
		if (heap_deadline(q, child) >= deadline_ns) {
			break;
		}
		heap_put(q, at, q->heap[child]);
	}
	heap_put(q, at, conn);
}

static void heap_remove(quic_client_t *q, uint32_t at)
{
	q->open--;
	if (at != q->open) {
		heap_put(q, at, q->heap[q->open]);
		heap_settle(q, at);
	}
}

uint64_t quic_client_deadline_ns(const quic_client_t *q)
{
	return q->open > 0 ? heap_deadline(q, 0) : UINT64_MAX;
}

static void conn_set_deadline(quic_client_t *q, conn_t *c)
{
	uint64_t deadline_ns = transport_deadline_ns(c->t);
	if (deadline_ns != TRANSPORT_NEVER_NS) {
		deadline_ns = deadline_ns > TRANSPORT_EPOCH_NS ? deadline_ns - TRANSPORT_EPOCH_NS : 0;
	}
	for (unsigned i = 0; i < c->query_count; i++) {
		/* A transfer may take as long as it goes on. */
		uint64_t end_ns = c->queries[i].sent_ns + q->worker->plan->timeout_ns + 1;
		bool is_first = c->queries[i].transfer.records == 0 && end_ns < deadline_ns;
		deadline_ns = is_first ? end_ns : deadline_ns;
	}
	c->deadline_ns = deadline_ns;
	heap_settle(q, c->heap_at);
}

/* ---- Lists ---- */

static void conn_mark_dirty(quic_client_t *q, conn_t *c)
{
	if (c->is_dirty) {
		return;
	}
	const uint32_t index = conn_index(q, c);
	c->is_dirty = true;
	c->next_dirty = NONE;
	if (q->dirty_last == NONE) {
		q->dirty_first = index;
	} else {
		q->conns[q->dirty_last].next_dirty = index;
	}
	q->dirty_last = index;
}

static void client_pop_dirty(quic_client_t *q)
{
	conn_t *c = &q->conns[q->dirty_first];
	c->is_dirty = false;
	q->dirty_first = c->next_dirty;
	q->dirty_last = q->dirty_first == NONE ? NONE : q->dirty_last;
}

static void conn_set_idle(quic_client_t *q, conn_t *c, bool is_idle)
{
	if (is_idle == (c->idle_at != NONE)) {
		return;
	}
	if (is_idle) {
		c->idle_at = q->idle_count++;
		q->idle[c->idle_at] = conn_index(q, c);
		return;
	}
	const uint32_t last = q->idle[--q->idle_count];
	q->idle[c->idle_at] = last;
	q->conns[last].idle_at = c->idle_at;
	c->idle_at = NONE;
}

/* ---- Connections ---- */

static void conn_write_qlog(void *ctx, knot_bytes_t piece)
{
	conn_t *c = ctx;
	(void)fwrite(piece.data, 1, piece.len, c->qlog);
}

static void conn_open_qlog(const quic_client_t *q, conn_t *c)
{
	char path[PATH_ROOM];
	if (q->params.qlog_dir == NULL) {
		return;
	}
	snprintf(path, sizeof(path), "%s/%u-%llu.qlog", q->params.qlog_dir, q->worker->thread,
			(unsigned long long)q->opened);
	c->qlog = fopen(path, "we"); /* without it the run goes on: the directory was looked at before */
}

static bool conn_new_transport(quic_client_t *q, conn_t *c, uint64_t now_ns)
{
	const bool has_ticket = !q->params.full_handshakes && q->ticket.len > 0;
	const uint64_t idle_ms = q->worker->plan->timeout_ns / 1000000 + HANDSHAKE_MS;
	const transport_tls_params_t tls = {
		.role = TRANSPORT_CLIENT,
		.ticket = has_ticket ? (knot_bytes_t){ q->ticket.data, q->ticket.len } : (knot_bytes_t){ .len = 0 },
		.uses_early_data = has_ticket && q->may_be_early,
	};
	conn_open_qlog(q, c);
	const transport_quic_params_t quic = {
		.handshake_ms = HANDSHAKE_MS,
		.idle_ms = (uint32_t)idle_ms,
		.qlog = c->qlog != NULL ? conn_write_qlog : NULL,
		.qlog_ctx = c,
	};
	if (transport_quic_new(&tls, &quic, now_ns + TRANSPORT_EPOCH_NS, &c->t) == KNOT_OK) {
		return true;
	}
	conn_free_transport(c);
	return false;
}

static uint32_t client_take_port(quic_client_t *q)
{
	while (q->port_conns[q->next_port] != NONE) { /* there are as many as connections, at least */
		q->next_port = (q->next_port + 1) % q->params.ports;
	}
	uint32_t port = q->next_port;
	q->next_port = (q->next_port + 1) % q->params.ports;
	return port;
}

/* NULL: as many as may be, or no memory. */
static conn_t *conn_open(quic_client_t *q, uint64_t now_ns)
{
	if (q->free_first == NONE) {
		return NULL;
	}
	conn_t *c = &q->conns[q->free_first];
	const uint32_t next_free = c->next_free;
	*c = (conn_t){ .idle_at = NONE, .next_dirty = NONE, .next_free = next_free, .deadline_ns = UINT64_MAX };
	if (!conn_new_transport(q, c, now_ns)) {
		return NULL;
	}
	q->free_first = next_free;
	c->port = client_take_port(q);
	q->port_conns[c->port] = conn_index(q, c);
	heap_put(q, q->open, conn_index(q, c));
	q->open++;
	q->opened++;
	worker_add(&q->worker->counts.opened, 1);
	return c;
}

/* It isn't in the list of dirty ones. */
static void conn_free(quic_client_t *q, conn_t *c)
{
	assert(!c->is_dirty && c->query_count == 0);
	conn_set_idle(q, c, false);
	heap_remove(q, c->heap_at);
	q->port_conns[c->port] = NONE;
	conn_free_transport(c);
	c->next_free = q->free_first;
	q->free_first = conn_index(q, c);
}

/* Queries that wait on it have no answer and get none. */
static void conn_lose_queries(quic_client_t *q, conn_t *c)
{
	for (unsigned i = 0; i < c->query_count; i++) {
		worker_lose(q->worker, c->queries[i].number);
	}
	c->query_count = 0;
}

static void conn_end(quic_client_t *q, conn_t *c)
{
	conn_lose_queries(q, c);
	conn_set_idle(q, c, false);
	c->is_over = true;
	conn_mark_dirty(q, c);
}

/* In order: the server is told. */
static void conn_close(quic_client_t *q, conn_t *c, uint64_t now_ns)
{
	if (q->params.mode != MODE_NO_CLOSE) {
		transport_close(c->t, now_ns + TRANSPORT_EPOCH_NS);
		worker_add(&q->worker->counts.closed, 1);
	}
	conn_end(q, c);
}

/* ---- Queries ---- */

static bool client_asks(const quic_client_t *q)
{
	return q->params.mode != MODE_SYN && q->params.mode != MODE_HANDSHAKE && q->params.mode != MODE_SILENT;
}

/* Modes in which the answer isn't waited for. */
static bool client_ignores_answers(const quic_client_t *q)
{
	return !client_asks(q) || q->params.mode == MODE_INCOMPLETE || q->params.mode == MODE_NO_ACK;
}

/* One that can take another query beside those that it has. */
static conn_t *client_find_shared(quic_client_t *q)
{
	for (uint32_t i = 0; i < q->params.conns; i++) {
		conn_t *c = &q->conns[q->next_shared];
		q->next_shared = (q->next_shared + 1) % q->params.conns;
		if (c->t != NULL && !c->is_over && c->query_count < QUIC_CLIENT_QUERIES_MAX) {
			return c;
		}
	}
	return NULL;
}

static conn_t *client_find_conn(quic_client_t *q, uint64_t now_ns)
{
	if (q->params.mode != MODE_REUSE) {
		return conn_open(q, now_ns);
	}
	if (q->idle_count > 0) {
		return &q->conns[q->idle[q->idle_count - 1]];
	}
	conn_t *c = conn_open(q, now_ns);
	return c != NULL ? c : client_find_shared(q);
}

static knot_err_t conn_put(const quic_client_t *q, conn_t *c, knot_bytes_t message, uint64_t *ret_stream)
{
	return q->params.mode == MODE_INCOMPLETE ? transport_quic_put_part(c->t, message, message.len - 1, ret_stream)
						 : transport_put(c->t, message, ret_stream);
}

/* A connection instead of one that takes no more, as its server never ends the streams that it has answered. */
static conn_t *conn_replace(quic_client_t *q, conn_t *c, uint64_t now_ns)
{
	if (c->query_count > 0) {
		return NULL;
	}
	conn_close(q, c, now_ns);
	return conn_open(q, now_ns);
}

/* False: neither this connection takes it nor another one. */
static bool client_put(quic_client_t *q, conn_t **io_conn, knot_bytes_t message, uint64_t now_ns, uint64_t *ret_stream)
{
	if (!client_asks(q) || conn_put(q, *io_conn, message, ret_stream) == KNOT_OK) {
		return true;
	}
	conn_t *other = conn_replace(q, *io_conn, now_ns);
	*io_conn = other != NULL ? other : *io_conn;
	return other != NULL && conn_put(q, other, message, ret_stream) == KNOT_OK;
}

bool quic_client_next(quic_client_t *q, uint64_t now_ns)
{
	uint8_t message[MESSAGE_MAX];
	worker_query_t query;
	uint64_t stream = 0;
	conn_t *c = client_find_conn(q, now_ns);
	if (c == NULL) {
		return false;
	}
	worker_next(q->worker, now_ns, false, message, &query);
	if (!client_put(q, &c, (knot_bytes_t){ message, query.len }, now_ns, &stream)) {
		worker_unsend(q->worker, &query);
	} else if (!client_ignores_answers(q)) {
		c->queries[c->query_count++] =
				(conn_query_t){ .number = query.number, .stream = stream, .sent_ns = now_ns };
	}
	conn_set_idle(q, c, false);
	conn_mark_dirty(q, c);
	return true;
}

/* ---- What comes ---- */

static conn_query_t *conn_find_query(conn_t *c, uint64_t stream)
{
	for (unsigned i = 0; i < c->query_count; i++) {
		if (c->queries[i].stream == stream) {
			return &c->queries[i];
		}
	}
	return NULL;
}

/* For the connections to come: the ticket that this one's server gave. */
static void client_keep_ticket(quic_client_t *q, const conn_t *c)
{
	knot_mut_bytes_t ticket;
	if (!q->params.full_handshakes && q->params.mode != MODE_REUSE && transport_ticket(c->t, &ticket) == KNOT_OK) {
		free(q->ticket.data);
		q->ticket = ticket;
	}
}

/* A query is answered, or never will be. */
static void conn_finish_query(quic_client_t *q, conn_t *c, conn_query_t *query, uint64_t now_ns)
{
	*query = c->queries[--c->query_count];
	if (q->params.mode != MODE_REUSE || (q->is_finishing && c->query_count == 0)) {
		client_keep_ticket(q, c);
		conn_close(q, c, now_ns);
	} else if (c->query_count == 0) {
		conn_set_idle(q, c, true);
	}
}

static bool client_is_transfer(const quic_client_t *q)
{
	const profile_t profile = q->worker->plan->message.profile;
	return profile == PROFILE_AXFR || profile == PROFILE_IXFR;
}

static void conn_take_message(quic_client_t *q, conn_t *c, const transport_event_t *event, uint64_t now_ns)
{
	const worker_reply_t reply = { .now_ns = now_ns, .message = event->message };
	conn_query_t *query = conn_find_query(c, event->stream);
	if (query == NULL || (client_is_transfer(q) && worker_receive_transfer(q->worker, &query->transfer,
								       event->message) == TRANSFER_MORE)) {
		return;
	}
	flight_verdict_t verdict = worker_receive_number(q->worker, query->number, &reply);
	if (verdict == FLIGHT_MATCHED || verdict == FLIGHT_LATE) {
		conn_finish_query(q, c, query, now_ns);
	}
}

static void conn_take(quic_client_t *q, conn_t *c, const transport_event_t *event, uint64_t now_ns)
{
	if (event->kind == TRANSPORT_MESSAGE) {
		conn_take_message(q, c, event, now_ns);
		return;
	}
	conn_query_t *query = conn_find_query(c, event->stream);
	if (query != NULL) { /* the stream is over, and had no answer */
		worker_lose(q->worker, query->number);
		conn_finish_query(q, c, query, now_ns);
	}
}

static void conn_note_established(quic_client_t *q, conn_t *c)
{
	if (c->is_established || transport_state(c->t) != TRANSPORT_OPEN) {
		return;
	}
	c->is_established = true;
	worker_add(&q->worker->counts.established, 1);
	c->is_ignoring = q->params.mode == MODE_SILENT || q->params.mode == MODE_INCOMPLETE ||
			 q->params.mode == MODE_NO_ACK;
}

/* The other end, or the time, has ended it. */
static void conn_note_end(quic_client_t *q, conn_t *c)
{
	if (transport_state(c->t) != TRANSPORT_ENDED || c->is_over) {
		return;
	}
	const transport_end_t end = transport_end(c->t);
	worker_add(&q->worker->counts.closed, end == TRANSPORT_END_BY_PEER);
	worker_add(&q->worker->counts.reset, end != TRANSPORT_END_BY_PEER && end != TRANSPORT_END_TIMEOUT);
	conn_end(q, c);
}

static void conn_handle(quic_client_t *q, conn_t *c, uint64_t now_ns)
{
	transport_event_t event;
	conn_note_established(q, c);
	while (!c->is_over && transport_take(c->t, &event)) {
		conn_take(q, c, &event, now_ns);
	}
	conn_note_end(q, c);
	conn_mark_dirty(q, c);
}

void quic_client_receive(quic_client_t *q, uint32_t port, knot_bytes_t datagram, uint64_t now_ns)
{
	const uint32_t index = port < q->params.ports ? q->port_conns[port] : NONE;
	conn_t *c = index != NONE ? &q->conns[index] : NULL;
	if (c == NULL || c->is_over || c->is_ignoring) {
		return;
	}
	knot_mut_bytes_t room = transport_room(c->t);
	if (datagram.len > room.len) {
		return; /* nothing that a server may send */
	}
	memcpy(room.data, datagram.data, datagram.len);
	transport_note_received(c->t, datagram.len, now_ns + TRANSPORT_EPOCH_NS);
	conn_handle(q, c, now_ns);
}

void quic_client_refuse(quic_client_t *q, uint32_t port)
{
	const uint32_t index = port < q->params.ports ? q->port_conns[port] : NONE;
	if (index != NONE && !q->conns[index].is_over) {
		worker_add(&q->worker->counts.reset, 1);
		conn_end(q, &q->conns[index]);
	}
}

/* ---- What goes ---- */

/* Nothing more is to be sent now. */
static void conn_settle(quic_client_t *q, conn_t *c)
{
	/* In these modes the last that was to leave has left. */
	bool is_done = c->is_over || c->is_ignoring || q->params.mode == MODE_SYN;
	if (is_done) {
		conn_lose_queries(q, c);
		conn_free(q, c);
	} else {
		conn_set_deadline(q, c);
	}
}

bool quic_client_send(quic_client_t *q, uint64_t now_ns, uint8_t bytes[static QUIC_CLIENT_DATAGRAM_MAX],
		size_t *ret_len, uint32_t *ret_port)
{
	while (q->dirty_first != NONE) {
		conn_t *c = &q->conns[q->dirty_first];
		knot_bytes_t datagram = transport_pending(c->t, now_ns + TRANSPORT_EPOCH_NS);
		conn_note_end(q, c);
		if (datagram.len > 0) {
			assert(datagram.len <= QUIC_CLIENT_DATAGRAM_MAX);
			memcpy(bytes, datagram.data, datagram.len);
			transport_note_sent(c->t, datagram.len, now_ns + TRANSPORT_EPOCH_NS);
			*ret_len = datagram.len;
			*ret_port = c->port;
			return true;
		}
		client_pop_dirty(q);
		conn_settle(q, c);
	}
	return false;
}

/* ---- Time ---- */

static void conn_expire_queries(quic_client_t *q, conn_t *c, uint64_t now_ns)
{
	for (unsigned i = c->query_count; i-- > 0 && !c->is_over;) {
		conn_query_t *query = &c->queries[i];
		bool is_late = now_ns - query->sent_ns > q->worker->plan->timeout_ns && query->transfer.records == 0;
		if (is_late) {
			worker_lose(q->worker, query->number);
			transport_cancel(c->t, query->stream);
			conn_finish_query(q, c, query, now_ns);
		}
	}
}

void quic_client_expire(quic_client_t *q, uint64_t now_ns)
{
	while (quic_client_deadline_ns(q) <= now_ns) {
		conn_t *c = &q->conns[q->heap[0]];
		if (transport_deadline_ns(c->t) <= now_ns + TRANSPORT_EPOCH_NS) {
			transport_expire(c->t, now_ns + TRANSPORT_EPOCH_NS);
		}
		conn_expire_queries(q, c, now_ns);
		conn_note_end(q, c);
		conn_mark_dirty(q, c);
		/* Its next deadline is known when what is due has been sent. */
		c->deadline_ns = UINT64_MAX;
		heap_settle(q, 0);
	}
}

void quic_client_finish(quic_client_t *q, bool waits, uint64_t now_ns)
{
	q->is_finishing = true;
	while (q->idle_count > 0) {
		conn_close(q, &q->conns[q->idle[q->idle_count - 1]], now_ns);
	}
	for (uint32_t i = 0; i < q->open && !waits; i++) {
		conn_t *c = &q->conns[q->heap[i]];
		if (!c->is_over) {
			conn_close(q, c, now_ns);
		}
	}
}
