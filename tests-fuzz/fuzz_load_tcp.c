/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Servers of any kind to the load generator's TCP: segments in any order, with any flags and options, replies in
 * pieces, lengths that lie, and time that passes. Counters add up, a query has one end, and nothing is said in a
 * connection that isn't there.
 *
 * Input: the mode (1 byte), then actions: a kind (1 byte, action_t in its low bits; the rest is the port), and what
 * belongs to it. A segment: how far its sequence number is from the next one (1 byte, signed), its flags (1 byte), the
 * length of its data (1 byte), data; the server's reply: from which byte of it on, and how many (1 byte each).
 */
#undef calloc /* what is tested has fuzz_calloc() and fuzz_free() in their place */
#undef free

#include "src/tools/load/tcp_client.h"

#include <stdlib.h>
#include <string.h>

typedef enum { DO_NEXT, DO_SEGMENT, DO_REPLY, DO_RAW, DO_TIME, DO_COUNT } action_t;

enum { PORTS = 5, ACTION_BITS = 3, WINDOW = 1024, REPLY_MAX = 2 + MESSAGE_MAX, WAIT_NS = 400000000, SEQ = 0xFFFFFFF0 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What a server knows of a connection. */
typedef struct {
	uint32_t seq;   /* of its next byte, as the client acknowledged it */
	uint32_t ack;   /* of the client's next byte */
	bool is_synced; /* our SYN was acknowledged */
	bool is_there;  /* the client began it */
	uint8_t reply[REPLY_MAX];
	size_t reply_len;
} peer_t;

static queries_t queries;
static schedule_piece_t piece = { 0, UINT64_MAX / 2, 1e9 };
static worker_plan_t plan;
static worker_t worker;
static tcp_client_t *client;
static peer_t peers[PORTS];
static uint64_t now_ns;
static uint8_t *payload; /* owned: of exact size, so that a byte too far is seen */

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* ---- Memory ---- */

enum { LARGE = 1 << 17, RING = 1 << 24, LARGE_MAX = 8 };

void *fuzz_calloc(size_t count, size_t size);
void fuzz_free(void *take_memory);

/** A large piece, which the system takes milliseconds to make: it is made once. */
typedef struct {
	uint8_t *bytes;
	size_t size;
	bool is_used;
} large_t;

static large_t large[LARGE_MAX];

void *fuzz_calloc(size_t count, size_t size)
{
	if (count * size < LARGE) {
		return calloc(count, size);
	}
	large_t *l = large;
	while (l->bytes != NULL && (l->is_used || l->size != count * size)) {
		l++;
		check(l < large + LARGE_MAX);
	}
	if (l->bytes == NULL) {
		*l = (large_t){ calloc(count, size), count * size, false };
		check(l->bytes != NULL);
	} else if (l->size < RING) { /* the ring's places are written before they are read */
		memset(l->bytes, 0, l->size);
	}
	l->is_used = true;
	return l->bytes;
}

void fuzz_free(void *take_memory)
{
	for (large_t *l = large; l < large + LARGE_MAX && take_memory != NULL; l++) {
		if (l->bytes == take_memory) {
			l->is_used = false;
			return;
		}
	}
	free(take_memory);
}

/* ---- The peer ---- */

static void set_up(void)
{
	char why[QUERIES_ERROR_MAX];
	const queries_params_t params = { .edns_size = 1232 };
	check(queries_add_line(&queries, KNOT_STR("a.example. A"), &params, why));
	check(queries_add_line(&queries, KNOT_STR("b.example. TXT"), &params, why));
	plan = (worker_plan_t){ .message = { .queries = &queries },
		.schedule = { .pieces = &piece, .piece_count = 1, .end_ns = piece.end_ns, .batch = 1, .threads = 1 },
		.timeout_ns = 2 * (uint64_t)TCP_CLIENT_RESEND_NS,
		.step_count = 1,
		.addresses = 1 };
	pick_in_turn(&plan.message.pick, 2);
	payload = malloc(MESSAGE_MAX + 2);
	check(payload != NULL);
}

static void begin(char mode)
{
	check(worker_init(&worker, &plan, &(worker_params_t){ .window = WINDOW, .ports = PORTS, .first = 1 }));
	client = tcp_client_new(&worker, mode, 1460);
	check(client != NULL);
	memset(peers, 0, sizeof(peers));
	now_ns = 0;
}

/* What holds of counters after every step. */
static void check_counts(void)
{
	const worker_counts_t *c = &worker.counts;
	uint64_t open = tcp_client_open_count(client);
	check(open <= PORTS && open <= c->opened);
	check(c->established <= c->opened);
	check(c->replies == c->matched + c->duplicate + c->late + c->unexpected + c->malformed);
	/* A connection has one end; a query has at most one, but a reply that came for it may have been a wrong one. */
	check(c->closed + c->reset + open <= c->opened);
	check(c->matched + c->refused <= c->sent);
	check(c->replies <= c->sent);
}

/* A segment of the client: what is in it fits to what it has said and heard. */
static void take_out(const tcp_client_out_t *out)
{
	check(out->port < PORTS && out->address == 0);
	peer_t *p = &peers[out->port];
	bool is_syn = out->flags & KXDP_TCP_SYN;
	check(is_syn == (out->mss != 0) && (out->flags & KXDP_TCP_RST) == 0);
	check(out->len == 0 || (out->flags & (KXDP_TCP_PSH | KXDP_TCP_ACK)) == (KXDP_TCP_PSH | KXDP_TCP_ACK));
	if (is_syn) {
		check(out->flags == KXDP_TCP_SYN && out->len == 0);
		if (!p->is_there || p->is_synced || p->ack != out->seq + 1) {
			*p = (peer_t){ .seq = SEQ, .ack = out->seq + 1, .is_there = true };
		}
		return;
	}
	check(p->is_there && p->is_synced && (out->flags & KXDP_TCP_ACK) != 0);
	p->seq = out->ack;
	if (out->len == 0) {
		return;
	}
	check(out->len <= MESSAGE_MAX + 2);
	bool is_again = (int32_t)(out->seq - p->ack) < 0;
	check(out->seq == p->ack || is_again);
	p->ack = out->seq + (uint32_t)out->len;
	memcpy(p->reply, payload, out->len);
	p->reply_len = out->len;
	p->reply[4] |= 0x80;
}

static void give(uint32_t port, const kxdp_segment_t *segment)
{
	tcp_client_out_t out;
	peer_t *p = &peers[port];
	const uint8_t wanted = KXDP_TCP_SYN | KXDP_TCP_ACK;
	if (p->is_there && !p->is_synced && (segment->flags & (wanted | KXDP_TCP_RST)) == wanted &&
			segment->ack == p->ack) {
		p->is_synced = true;
		p->seq = segment->seq + 1;
	}
	tcp_client_receive(client, port, 0, segment, now_ns, payload, &out);
	if (out.flags != 0) {
		check(out.port == port);
		take_out(&out);
	}
}

static void give_data(knot_reader_t *r, uint32_t port, bool is_reply)
{
	peer_t *p = &peers[port];
	kxdp_segment_t segment = { .scale = -1, .window = 65535, .ack = p->ack };
	segment.seq = p->seq + (uint32_t)(int8_t)knot_read_u8(r);
	segment.flags = knot_read_u8(r) & 0x1F;
	const uint8_t *from = NULL;
	size_t len;
	if (is_reply) {
		size_t off = knot_read_u8(r);
		len = knot_read_u8(r);
		off = off < p->reply_len ? off : p->reply_len;
		len = len < p->reply_len - off ? len : p->reply_len - off;
		from = p->reply + off;
	} else {
		len = knot_read_u8(r);
		len = len < knot_reader_left(r) ? len : knot_reader_left(r);
		from = knot_read(r, len);
	}
	if (r->failed) {
		return;
	}
	uint8_t *exact = malloc(len > 0 ? len : 1);
	if (len > 0) {
		memcpy(exact, from, len);
	}
	segment.payload = len > 0 ? exact : NULL;
	segment.len = (uint16_t)len;
	give(port, &segment);
	free(exact);
}

/* A segment as it is read from a frame. */
static void give_raw(knot_reader_t *r, uint32_t port)
{
	size_t len = knot_read_u8(r), left = knot_reader_left(r);
	kxdp_segment_t segment = { 0 };
	len = len < left ? len : left;
	const uint8_t *from = knot_read(r, len);
	if (!r->failed && kxdp_segment_read(from, len, &segment)) {
		give(port, &segment);
	}
}

static void pass_time(unsigned steps)
{
	tcp_client_out_t out;
	now_ns += (uint64_t)(steps + 1) * WAIT_NS;
	for (unsigned i = 0; tcp_client_resend(client, now_ns, payload, &out); i++) {
		check(i < 10000); /* it comes to an end */
		uint32_t old_ack = peers[out.port].ack;
		check((int32_t)(out.seq - old_ack) <= 0); /* nothing new */
		take_out(&out);
	}
}

static void act(knot_reader_t *r)
{
	tcp_client_out_t out;
	uint8_t kind = knot_read_u8(r);
	uint32_t port = (uint32_t)(kind >> ACTION_BITS) % PORTS;
	switch ((action_t)((kind & ((1 << ACTION_BITS) - 1)) % DO_COUNT)) {
	case DO_NEXT:
		tcp_client_next(client, now_ns, payload, &out);
		check(out.flags != 0);
		take_out(&out);
		break;
	case DO_SEGMENT: give_data(r, port, false); break;
	case DO_REPLY: give_data(r, port, true); break;
	case DO_RAW: give_raw(r, port); break;
	case DO_TIME: pass_time(kind >> ACTION_BITS); break;
	case DO_COUNT: break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char modes[] = { MODE_NORMAL, MODE_SYN, MODE_HANDSHAKE, MODE_SILENT, MODE_INCOMPLETE, MODE_NO_ACK,
		MODE_NO_CLOSE, MODE_NO_FIN_ACK, MODE_REUSE };
	if (payload == NULL) {
		set_up();
	}
	if (size < 1) {
		return 0;
	}
	begin(modes[data[0] % sizeof(modes)]);
	knot_reader_t r = knot_reader_of((knot_bytes_t){ data + 1, size - 1 });
	while (!r.failed && knot_reader_left(&r) > 0) {
		act(&r);
		check_counts();
	}
	tcp_client_free(client);
	worker_done(&worker);
	return 0;
}
