/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/tcp_client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	ISN_SEED = 0x715e9,
	WINDOW = 65535,
	MESSAGE_ROOM = 2 + 65535,
	PARTIAL_NONE = 0,
	WAITS_MAX = 1 << 20,
};

typedef enum {
	CONN_FREE,
	CONN_SYN_SENT,
	CONN_QUERY_SENT,
	CONN_IDLE, /* open, nothing asked: mode R between queries */
	CONN_OPEN, /* mode 2: the peer is to close */
	CONN_FIN_SENT,
	CONN_IGNORED, /* whatever comes: the modes that don't react */
} conn_state_t;

/** A connection, by port and address: nothing of it is needed but this. */
typedef struct {
	uint64_t number;   /* of the query */
	uint32_t seq;      /* of our next byte */
	uint32_t ack;      /* of the peer's next byte */
	uint32_t partial;  /* place of a message that is received in part, + 1; PARTIAL_NONE */
	uint16_t sent_len; /* of the query: what is sent again */
	uint8_t state;
	uint8_t resent;
} conn_t;

_Static_assert(sizeof(conn_t) == 24, "millions of them");

/** Something that may have to be sent again, in the order of time. */
typedef struct {
	uint64_t when_ns;
	uint64_t number;
	uint32_t conn;
	uint8_t state;
} wait_t;

typedef struct {
	uint8_t *bytes; /* owned: MESSAGE_ROOM, once it was needed */
	uint32_t len;
	uint32_t next_free; /* + 1 */
} partial_t;

struct tcp_client {
	worker_t *worker;
	conn_t *conns; /* owned */
	uint64_t conn_count;
	uint64_t open;
	wait_t *waits; /* owned: a ring of WAITS_MAX */
	uint64_t wait_first, wait_end;
	uint32_t *idle; /* owned: a stack; only mode R */
	uint32_t idle_count, idle_room;
	partial_t *partials;                  /* owned */
	uint32_t partial_count, partial_free; /* + 1 */
	uint16_t mss;
	char mode;
};

tcp_client_t *tcp_client_new(worker_t *worker, char mode, uint16_t mss)
{
	tcp_client_t *t = calloc(1, sizeof(*t));
	if (t == NULL) {
		return NULL;
	}
	*t = (tcp_client_t){ .worker = worker,
		.conn_count = (uint64_t)worker->flight.ports * worker->plan->addresses,
		.mss = mss,
		.mode = mode };
	t->conns = calloc(t->conn_count, sizeof(*t->conns));
	t->waits = calloc(WAITS_MAX, sizeof(*t->waits));
	if (t->conns == NULL || t->waits == NULL) {
		tcp_client_free(t);
		return NULL;
	}
	return t;
}

void tcp_client_free(tcp_client_t *take_client)
{
	tcp_client_t *t = take_client;
	if (t == NULL) {
		return;
	}
	for (uint32_t i = 0; i < t->partial_count; i++) {
		free(t->partials[i].bytes);
	}
	free(t->partials);
	free(t->conns);
	free(t->waits);
	free(t->idle);
	free(t);
}

uint64_t tcp_client_open_count(const tcp_client_t *t)
{
	return t->open;
}

/* ---- Parts of messages ---- */

static partial_t *client_partial(tcp_client_t *t, conn_t *c)
{
	if (c->partial != PARTIAL_NONE) {
		return &t->partials[c->partial - 1];
	}
	if (t->partial_free == 0) {
		partial_t *partials = realloc(t->partials, (t->partial_count + 1) * sizeof(*partials));
		if (partials == NULL) {
			return NULL;
		}
		t->partials = partials;
		partials[t->partial_count] = (partial_t){ .bytes = malloc(MESSAGE_ROOM) };
		if (partials[t->partial_count].bytes == NULL) {
			return NULL;
		}
		t->partial_free = ++t->partial_count;
	}
	c->partial = t->partial_free;
	partial_t *p = &t->partials[c->partial - 1];
	t->partial_free = p->next_free;
	p->len = 0;
	return p;
}

static void client_drop_partial(tcp_client_t *t, conn_t *c)
{
	if (c->partial != PARTIAL_NONE) {
		t->partials[c->partial - 1].next_free = t->partial_free;
		t->partial_free = c->partial;
		c->partial = PARTIAL_NONE;
	}
}

/* ---- Connections ---- */

static uint32_t client_index(const tcp_client_t *t, uint32_t port, uint32_t address)
{
	return address * t->worker->flight.ports + port;
}

static void client_set_state(tcp_client_t *t, conn_t *c, conn_state_t state)
{
	t->open += (uint64_t)(c->state == CONN_FREE) - (uint64_t)(state == CONN_FREE);
	c->state = state;
	if (state == CONN_FREE) {
		client_drop_partial(t, c);
	}
}

/* It needs an acknowledgement: have it sent again when none comes. */
static void client_wait(tcp_client_t *t, const conn_t *c, uint64_t now_ns)
{
	if (t->wait_end - t->wait_first < WAITS_MAX) {
		t->waits[t->wait_end++ % WAITS_MAX] = (wait_t){
			.when_ns = now_ns + TCP_CLIENT_RESEND_NS,
			.number = c->number,
			.conn = (uint32_t)(c - t->conns),
			.state = c->state,
		};
	}
}

static void client_out(const tcp_client_t *t, const conn_t *c, uint8_t flags, size_t len, tcp_client_out_t *ret_out)
{
	uint32_t index = (uint32_t)(c - t->conns), ports = t->worker->flight.ports;
	*ret_out = (tcp_client_out_t){
		.port = index % ports,
		.address = index / ports,
		.seq = c->seq,
		.ack = c->ack,
		.mss = (flags & KXDP_TCP_SYN) != 0 ? t->mss : 0,
		.flags = flags,
		.len = len,
	};
}

/* The query, made from its number. Mode 5: less its last byte. */
static void client_send_query(tcp_client_t *t, conn_t *c, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out)
{
	size_t len = worker_make_again(t->worker, c->number, payload + 2);
	store_be16(payload, (uint16_t)len);
	len += 2 - (size_t)(t->mode == MODE_INCOMPLETE);
	client_out(t, c, KXDP_TCP_PSH | KXDP_TCP_ACK, len, ret_out);
	c->seq += (uint32_t)len;
	c->sent_len = (uint16_t)len;
	c->resent = 0;
	client_set_state(t, c, t->mode == MODE_INCOMPLETE || t->mode == MODE_NO_ACK ? CONN_IGNORED : CONN_QUERY_SENT);
	if (c->state == CONN_QUERY_SENT) {
		client_wait(t, c, now_ns);
	}
}

static bool client_take_idle(tcp_client_t *t, conn_t **ret_conn)
{
	while (t->idle_count > 0) {
		conn_t *c = &t->conns[t->idle[--t->idle_count]];
		if (c->state == CONN_IDLE) { /* it wasn't closed meanwhile */
			*ret_conn = c;
			return true;
		}
	}
	return false;
}

static void client_put_idle(tcp_client_t *t, conn_t *c)
{
	if (t->idle_count == t->idle_room) {
		uint32_t room = t->idle_room * 2 + 1024;
		uint32_t *idle = realloc(t->idle, room * sizeof(*idle));
		if (idle == NULL) {
			return; /* it stays open, and unused */
		}
		t->idle = idle;
		t->idle_room = room;
	}
	client_set_state(t, c, CONN_IDLE);
	t->idle[t->idle_count++] = (uint32_t)(c - t->conns);
}

void tcp_client_next(tcp_client_t *t, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out)
{
	worker_t *w = t->worker;
	worker_query_t query;
	worker_next(w, now_ns, true, payload, &query);
	conn_t *c;
	if (client_take_idle(t, &c)) {
		c->number = query.number;
		client_send_query(t, c, now_ns, payload, ret_out);
		return;
	}
	c = &t->conns[client_index(t, query.port, query.address)];
	if (c->state != CONN_FREE) {
		/* All ports went round: the connection that was here is given up. */
		bool was_waiting = flight_give_up(&w->flight, c->number);
		worker_add(&w->counts.refused, was_waiting);
		client_set_state(t, c, CONN_FREE);
	}
	*c = (conn_t){ .number = query.number,
		.seq = (uint32_t)hash_number(w->plan->message.seed ^ hash_number(query.number ^ ISN_SEED)) };
	t->open++;
	c->state = CONN_SYN_SENT;
	worker_add(&w->counts.opened, 1);
	client_out(t, c, KXDP_TCP_SYN, 0, ret_out);
	c->seq++;
	client_wait(t, c, now_ns);
}

/* ---- Receiving ---- */

static void client_established(tcp_client_t *t, conn_t *c, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out)
{
	worker_add(&t->worker->counts.established, 1);
	switch (t->mode) {
	case MODE_SYN: client_set_state(t, c, CONN_IGNORED); break;
	case MODE_HANDSHAKE:
		client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
		client_set_state(t, c, CONN_OPEN);
		break;
	case MODE_SILENT:
		client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
		client_set_state(t, c, CONN_IGNORED);
		break;
	default: client_send_query(t, c, now_ns, payload, ret_out); break;
	}
}

static void client_reset(tcp_client_t *t, conn_t *c)
{
	worker_t *w = t->worker;
	worker_add(&w->counts.reset, 1);
	if (c->state == CONN_SYN_SENT || c->state == CONN_QUERY_SENT) {
		worker_lose(w, c->number);
	}
	client_set_state(t, c, CONN_FREE);
}

/* Bytes in order. True: the message is whole, and was given to the worker. */
static bool client_take_bytes(tcp_client_t *t, conn_t *c, const kxdp_segment_t *s, uint64_t now_ns)
{
	knot_bytes_t bytes = { s->payload, s->len };
	if (c->partial != PARTIAL_NONE || bytes.len < 2 || bytes.len < 2u + load_be16(bytes.data)) {
		partial_t *p = client_partial(t, c);
		if (p == NULL || p->len + bytes.len > MESSAGE_ROOM) {
			return false;
		}
		memcpy(p->bytes + p->len, bytes.data, bytes.len);
		p->len += (uint32_t)bytes.len;
		bytes = (knot_bytes_t){ p->bytes, p->len };
	}
	if (bytes.len < 2 || bytes.len < 2u + load_be16(bytes.data)) {
		return false;
	}
	const worker_reply_t reply = { .now_ns = now_ns, .message = { bytes.data + 2, load_be16(bytes.data) } };
	(void)worker_receive_number(t->worker, c->number, &reply);
	client_drop_partial(t, c);
	return true;
}

static void client_close(tcp_client_t *t, conn_t *c, uint64_t now_ns, tcp_client_out_t *ret_out)
{
	client_out(t, c, KXDP_TCP_FIN | KXDP_TCP_ACK, 0, ret_out);
	c->seq++;
	c->resent = 0;
	client_set_state(t, c, CONN_FIN_SENT);
	client_wait(t, c, now_ns);
}

static void client_answered(tcp_client_t *t, conn_t *c, uint64_t now_ns, tcp_client_out_t *ret_out)
{
	if (t->mode == MODE_NO_CLOSE) {
		client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
		client_set_state(t, c, CONN_IGNORED);
	} else if (t->mode == MODE_REUSE) {
		client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
		client_put_idle(t, c);
	} else {
		client_close(t, c, now_ns, ret_out);
	}
}

/* The peer's FIN, in order. */
static void client_take_fin(tcp_client_t *t, conn_t *c, tcp_client_out_t *ret_out)
{
	worker_t *w = t->worker;
	c->ack++;
	worker_add(&w->counts.closed, 1);
	if (c->state == CONN_QUERY_SENT) {
		worker_lose(w, c->number);
	}
	if (c->state == CONN_FIN_SENT) {
		if (t->mode != MODE_NO_FIN_ACK) {
			client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
		}
	} else {
		/* Its acknowledgement would end LAST-ACK; if it gets lost, the peer's RST to what it sends again is
		 * fine. */
		client_out(t, c, KXDP_TCP_FIN | KXDP_TCP_ACK, 0, ret_out);
	}
	client_set_state(t, c, CONN_FREE);
}

/* A segment of a connection that is synchronized. */
static void client_take_segment(
		tcp_client_t *t, conn_t *c, const kxdp_segment_t *s, uint64_t now_ns, tcp_client_out_t *ret_out)
{
	if (s->seq != c->ack) {
		/* Old or ahead of time: say what is expected (RFC 9293 3.10.7.4). Not to a bare ACK. */
		if (s->len > 0 || (s->flags & (KXDP_TCP_FIN | KXDP_TCP_SYN)) != 0) {
			client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
		}
		return;
	}
	if (s->len > 0) {
		c->ack += s->len;
		bool is_answered = c->state == CONN_QUERY_SENT && client_take_bytes(t, c, s, now_ns);
		if ((s->flags & KXDP_TCP_FIN) == 0 || t->mode == MODE_NO_CLOSE) {
			if (is_answered) {
				client_answered(t, c, now_ns, ret_out);
			} else {
				client_out(t, c, KXDP_TCP_ACK, 0, ret_out);
			}
			return;
		}
		if (is_answered) {
			client_set_state(t, c, CONN_OPEN);
		}
	}
	if ((s->flags & KXDP_TCP_FIN) != 0 && t->mode != MODE_NO_CLOSE) {
		client_take_fin(t, c, ret_out);
	}
}

void tcp_client_receive(tcp_client_t *t, uint32_t port, uint32_t address, const kxdp_segment_t *s, uint64_t now_ns,
		uint8_t *payload, tcp_client_out_t *ret_out)
{
	conn_t *c = &t->conns[client_index(t, port, address)];
	*ret_out = (tcp_client_out_t){ .flags = 0 };
	if (c->state == CONN_FREE || c->state == CONN_IGNORED) {
		return;
	}
	if ((s->flags & KXDP_TCP_RST) != 0) {
		/* In answer to a SYN it acknowledges that; else it is in order (RFC 5961 3.2). */
		bool is_ours = c->state == CONN_SYN_SENT ? s->ack == c->seq : s->seq == c->ack;
		if (is_ours) {
			client_reset(t, c);
		}
		return;
	}
	if (c->state == CONN_SYN_SENT) {
		const uint8_t wanted = KXDP_TCP_SYN | KXDP_TCP_ACK;
		if ((s->flags & wanted) == wanted && s->ack == c->seq) {
			c->ack = s->seq + 1;
			client_established(t, c, now_ns, payload, ret_out);
		}
		return;
	}
	client_take_segment(t, c, s, now_ns, ret_out);
}

/* ---- Again ---- */

static void client_send_again(tcp_client_t *t, conn_t *c, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out)
{
	worker_add(&t->worker->counts.resent, 1);
	c->resent++;
	client_wait(t, c, now_ns);
	if (c->state == CONN_QUERY_SENT) {
		size_t len = worker_make_again(t->worker, c->number, payload + 2);
		store_be16(payload, (uint16_t)len);
		client_out(t, c, KXDP_TCP_PSH | KXDP_TCP_ACK, len + 2, ret_out);
		ret_out->seq -= c->sent_len;
		return;
	}
	client_out(t, c, c->state == CONN_SYN_SENT ? KXDP_TCP_SYN : KXDP_TCP_FIN | KXDP_TCP_ACK, 0, ret_out);
	ret_out->seq--;
}

bool tcp_client_resend(tcp_client_t *t, uint64_t now_ns, uint8_t *payload, tcp_client_out_t *ret_out)
{
	while (t->wait_first != t->wait_end && t->waits[t->wait_first % WAITS_MAX].when_ns <= now_ns) {
		const wait_t wait = t->waits[t->wait_first++ % WAITS_MAX];
		conn_t *c = &t->conns[wait.conn];
		if (c->number != wait.number || c->state != wait.state) {
			continue;
		}
		if (c->resent == TCP_CLIENT_RESEND_MAX) {
			if (c->state != CONN_FIN_SENT) {
				worker_lose(t->worker, c->number);
			}
			client_set_state(t, c, CONN_FREE);
			continue;
		}
		client_send_again(t, c, now_ns, payload, ret_out);
		return true;
	}
	return false;
}
