/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The TCP stack under any sequence of segments, times and calls: streams stay exact, nothing leaves the window or the
 * segment size, levels stay within their limits, everything ends empty.
 *
 * Input: 4 bytes of limits, then operations: one byte (operation | peer << 4) and its operands, little endian. Fields
 * of segments are relative to what the peer last saw, so that a few bytes reach deep states. A segment's payload is a
 * function of its sequence numbers: what the application reads can be checked whatever was overtaken or overlaps.
 */
#include "xdp/tcp/tcp.h"

#include <stdlib.h>
#include <string.h>

enum {
	PEERS = 4,
	ISN_MAX = 8,  /* initial sequence numbers of both sides that are remembered per peer */
	CONN_MAX = 4, /* connections of one peer, one after the other */
	PAYLOAD_MAX = 9000,
	WRITE_MAX = 70000,
	OPERATIONS_MAX = 600,
	LAZY = 0x80, /* in the first byte: segments are taken out only when an operation says so */
};

typedef struct {
	kxdp_tcp_conn_t conn;
	uint32_t next;    /* sequence number of the first byte that the application has not consumed */
	bool is_placed;   /* next is known */
	uint32_t written; /* bytes of replies */
	size_t kept;
	bool is_closed;
} conn_t;

/** A SYN-ACK's sequence number and what followed. */
typedef struct {
	uint32_t iss;
	uint64_t edge; /* highest offset that the peer has offered, plausible or not */
	uint64_t sent;
} side_t;

typedef struct {
	kxdp_flow_t flow;
	kxdp_path_t path;
	uint32_t isn[ISN_MAX]; /* ring */
	unsigned isn_count;
	side_t sides[ISN_MAX]; /* ring */
	unsigned side_count;
	conn_t conns[CONN_MAX]; /* ring */
	unsigned conn_count;
	uint32_t snd_nxt, rcv_nxt; /* the peer's view */
	uint16_t mss;              /* the highest ever offered */
	int8_t scale;              /* likewise */
} peer_t;

typedef struct {
	const uint8_t *data, *end;
	kxdp_tcp_t *tcp;
	kxdp_tcp_limits_t limits;
	bool is_lazy, has_lowered, was_reset;
	uint64_t now;
	peer_t peers[PEERS];
} run_t;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static uint32_t take(run_t *run, unsigned count)
{
	uint32_t value = 0;
	for (unsigned i = 0; i < count && run->data < run->end; i++) {
		value |= (uint32_t)*run->data++ << (8 * i);
	}
	return value;
}

/* Request byte with this sequence number; reply byte at this offset of a connection. */
static uint8_t request_byte(uint32_t seq)
{
	return (uint8_t)((seq * 0x9e3779b1u) >> 21);
}

static uint8_t reply_byte(kxdp_tcp_conn_t conn, uint32_t off)
{
	return (uint8_t)(((off + 1) * 0x85ebca6bu + (uint32_t)(conn ^ conn >> 32) * 0x9e3779b1u) >> 19);
}

/* ---- the application ---- */

static bool is_request_at(uint32_t seq, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] != request_byte(seq + (uint32_t)i)) {
			return false;
		}
	}
	return true;
}

static conn_t *conn_of(peer_t *peer, kxdp_tcp_conn_t id)
{
	for (unsigned i = 0; i < CONN_MAX; i++) {
		if (peer->conns[i].conn == id) {
			return &peer->conns[i];
		}
	}
	conn_t *conn = &peer->conns[peer->conn_count++ % CONN_MAX];
	*conn = (conn_t){ .conn = id };
	return conn;
}

/* The first bytes follow one of the SYNs (or ACKs that were taken for a cookie). */
static void place(const peer_t *peer, conn_t *conn, const uint8_t *bytes, size_t len)
{
	for (unsigned i = 0; i < ISN_MAX && !conn->is_placed && len > 0; i++) {
		if (is_request_at(peer->isn[i] + 1, bytes, len)) {
			conn->is_placed = true;
			conn->next = peer->isn[i] + 1;
		}
	}
	/* More SYNs than are remembered: nothing to compare with. */
	check(conn->is_placed || len == 0 || peer->isn_count > ISN_MAX);
	if (!conn->is_placed && len > 0) {
		uint32_t seq = 0;
		conn->is_placed = true;
		conn->next = seq;
		conn->kept = SIZE_MAX;
	}
}

static peer_t *peer_of(run_t *run, const kxdp_flow_t *flow)
{
	for (unsigned i = 0; i < PEERS; i++) {
		if (memcmp(&run->peers[i].flow, flow, sizeof(*flow)) == 0) {
			return &run->peers[i];
		}
	}
	abort();
}

/* Reads and checks; consumes all, or half of it now and then. */
static void read_all(run_t *run, kxdp_tcp_input_t *input, bool consumes)
{
	unsigned rounds = 0;
	do {
		peer_t *peer = peer_of(run, &input->flow);
		check(input->conn != 0);
		conn_t *conn = conn_of(peer, input->conn);
		place(peer, conn, input->data, input->len);
		bool is_known = conn->kept != SIZE_MAX;
		check(!is_known || (input->len >= conn->kept && is_request_at(conn->next, input->data, input->len)));
		size_t used = consumes || rounds > 2 ? input->len : input->len / 2;
		kxdp_tcp_consume(run->tcp, input->conn, used);
		conn->next += (uint32_t)used;
		conn->kept = is_known ? input->len - used : SIZE_MAX;
		if (input->fin && used == input->len && !conn->is_closed && (conn->next & 1)) {
			conn->is_closed = true;
			kxdp_tcp_close(run->tcp, conn->conn);
		}
		check(++rounds < 1000);
	} while (kxdp_tcp_next(run->tcp, input));
}

static void write_reply(run_t *run, conn_t *conn, uint32_t len)
{
	static uint8_t bytes[WRITE_MAX];
	size_t room = kxdp_tcp_room(run->tcp, conn->conn);
	for (uint32_t i = 0; i < len; i++) {
		bytes[i] = reply_byte(conn->conn, conn->written + i);
	}
	bool is_written = kxdp_tcp_write(run->tcp, conn->conn, bytes, len);
	check(is_written == (len <= room && room > 0) || len == 0);
	conn->written += is_written ? len : 0;
}

/* ---- what comes out ---- */

static bool is_reply_at(const peer_t *peer, uint32_t off, const kxdp_segment_t *segment)
{
	for (unsigned i = 0; i < CONN_MAX; i++) {
		const conn_t *conn = &peer->conns[i];
		bool fits = conn->conn != 0 && (uint64_t)off + segment->len <= conn->written;
		for (unsigned j = 0; fits && j < segment->len; j++) {
			fits = segment->payload[j] == reply_byte(conn->conn, off + j);
		}
		if (fits) {
			return true;
		}
	}
	return false;
}

static void check_payload(const run_t *run, peer_t *peer, const kxdp_segment_t *segment)
{
	uint32_t mss = peer->mss > 0 ? peer->mss : 1220;
	mss = mss > KXDP_TCP_MSS_MIN ? mss : KXDP_TCP_MSS_MIN;
	uint32_t header = peer->flow.remote[0] == 0xfd ? 60 : 40;
	check(segment->len <= mss && segment->len + header <= peer->path.mtu &&
			segment->len + header <= run->limits.mtu);
	if (peer->side_count > ISN_MAX || peer->conn_count > CONN_MAX) {
		return;
	}
	bool is_right = false;
	for (unsigned i = 0; i < peer->side_count; i++) {
		side_t *side = &peer->sides[i];
		uint32_t off = segment->seq - side->iss - 1;
		if (is_reply_at(peer, off, segment)) {
			uint64_t to = (uint64_t)off + segment->len;
			side->sent = to > side->sent ? to : side->sent;
			/* Behind the window: a probe. */
			is_right |= to <= side->edge || (segment->len == 1 && to == side->edge + 1);
		}
	}
	check(is_right);
}

static void check_emission(run_t *run, const kxdp_segment_t *segment, bool follows_rst)
{
	peer_t *peer = peer_of(run, &segment->flow);
	uint8_t flags = segment->flags;
	check(memcmp(&segment->path, &peer->path, sizeof(peer->path)) == 0 && segment->ecn == 0);
	check((flags & ~0x1f) == 0);
	check(flags & (KXDP_TCP_ACK | KXDP_TCP_RST));
	if (flags & KXDP_TCP_RST) {
		check(!(flags & (KXDP_TCP_SYN | KXDP_TCP_FIN)) && segment->len == 0 && !follows_rst);
	} else if (flags & KXDP_TCP_SYN) {
		check(flags == (KXDP_TCP_SYN | KXDP_TCP_ACK) && segment->len == 0 && !follows_rst);
		check(segment->mss > 0 && segment->scale <= 14);
		bool is_new = true;
		for (unsigned i = 0; i < ISN_MAX; i++) {
			is_new &= i >= peer->side_count || peer->sides[i].iss != segment->seq;
		}
		if (is_new) {
			peer->sides[peer->side_count++ % ISN_MAX] = (side_t){ .iss = segment->seq };
		}
		peer->rcv_nxt = segment->seq + 1;
	} else {
		check(segment->mss == 0 && segment->scale < 0);
		if (segment->len > 0) {
			check_payload(run, peer, segment);
		}
		if (segment->seq == peer->rcv_nxt) {
			peer->rcv_nxt += segment->len + (flags & KXDP_TCP_FIN ? 1 : 0);
		}
	}
	uint8_t header[KXDP_TCP_HEADER_MAX];
	kxdp_segment_t again;
	size_t len = kxdp_segment_header_len(segment);
	kxdp_segment_write(segment, header);
	check(len <= sizeof(header) && kxdp_segment_read(header, len, &again));
	check(again.seq == segment->seq && again.ack == segment->ack && again.flags == flags &&
			again.window == segment->window && again.mss == segment->mss && again.scale == segment->scale);
}

static void check_levels(run_t *run)
{
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(run->tcp, &stats);
	check(run->has_lowered ||
			(stats.clients <= run->limits.clients_max && stats.half_open <= run->limits.half_open_max &&
					stats.inbuf <= run->limits.inbuf_max &&
					stats.outbuf <= run->limits.outbuf_max));
	check(stats.half_open <= stats.clients);
}

static void drain(run_t *run, unsigned max, size_t payload_max, bool follows_rst)
{
	static uint8_t payload[PAYLOAD_MAX];
	kxdp_segment_t segment;
	kxdp_tcp_input_t input;
	for (unsigned i = 0; i < max && kxdp_tcp_emit(run->tcp, run->now, payload, payload_max, &segment); i++) {
		check(segment.len <= payload_max && (segment.len == 0 || segment.payload == payload));
		check_emission(run, &segment, follows_rst);
		check(i < 100000);
	}
	if (kxdp_tcp_next(run->tcp, &input)) {
		read_all(run, &input, true);
	}
}

/* ---- what goes in ---- */

static void receive(run_t *run, peer_t *peer, kxdp_segment_t *segment)
{
	static uint8_t payload[PAYLOAD_MAX];
	segment->flow = peer->flow;
	segment->path = peer->path;
	for (unsigned i = 0; i < segment->len; i++) {
		payload[i] = request_byte(segment->seq + (segment->flags & KXDP_TCP_SYN ? 1 : 0) + i);
	}
	segment->payload = segment->len > 0 ? payload : NULL;
	if (segment->flags & KXDP_TCP_SYN) {
		peer->isn[peer->isn_count++ % ISN_MAX] = segment->seq;
		uint16_t mss = segment->mss > 0 ? segment->mss : 1220;
		peer->mss = mss > peer->mss ? mss : peer->mss;
		peer->scale = segment->scale > peer->scale ? segment->scale : peer->scale;
	} else if (segment->flags & KXDP_TCP_ACK) {
		/*
		 * It may be taken for the answer to a cookie, also when its sequence number follows no SYN of this run.
		 */
		bool is_new = true;
		for (unsigned i = 0; i < ISN_MAX; i++) {
			is_new &= i >= peer->isn_count || peer->isn[i] != segment->seq - 1;
		}
		for (unsigned i = 0; i < ISN_MAX && i < peer->side_count && is_new; i++) {
			if (segment->ack == peer->sides[i].iss + 1) {
				peer->isn[peer->isn_count++ % ISN_MAX] = segment->seq - 1;
				break;
			}
		}
	}
	for (unsigned i = 0; i < ISN_MAX && i < peer->side_count && segment->flags & KXDP_TCP_ACK; i++) {
		uint32_t off = segment->ack - peer->sides[i].iss - 1;
		uint64_t edge = off + ((uint64_t)segment->window << (peer->scale > 0 ? peer->scale : 0));
		if (off <= peer->sides[i].sent + 2 && edge > peer->sides[i].edge) {
			peer->sides[i].edge = edge;
		}
	}
	kxdp_tcp_input_t input;
	if (kxdp_tcp_receive(run->tcp, segment, run->now, &input)) {
		read_all(run, &input, segment->seq & 2);
	}
	memset(payload, 0x55, 16);
	if (!run->is_lazy) {
		drain(run, UINT32_MAX, PAYLOAD_MAX, segment->flags & KXDP_TCP_RST);
	}
}

static void syn(run_t *run, peer_t *peer)
{
	static const uint16_t msss[] = { 0, 1, 100, 536, 1220, 1460, 8960, 65535 };
	uint32_t operand = take(run, 2);
	peer->snd_nxt += 0x10000u * (operand >> 12 & 3) + (operand >> 14) + 70000;
	kxdp_segment_t segment = {
		.seq = peer->snd_nxt,
		.flags = KXDP_TCP_SYN,
		.window = (uint16_t)(operand & 0x800 ? 65535 : operand * 13),
		.mss = msss[operand & 7],
		.scale = (int8_t)((operand >> 3 & 15) == 15 ? -1 : (int)(operand >> 3 & 15)),
		.len = operand & 0x80 ? 20 : 0,
	};
	peer->snd_nxt++;
	receive(run, peer, &segment);
}

/* Data, ACK, FIN or RST as they should be, but for two small distances. */
static void segment(run_t *run, peer_t *peer, uint8_t flags, uint32_t len, int32_t seq_off, int32_t ack_off,
		uint16_t window)
{
	kxdp_segment_t out = {
		.seq = peer->snd_nxt + (uint32_t)seq_off,
		.ack = flags & KXDP_TCP_ACK ? peer->rcv_nxt + (uint32_t)ack_off : 0,
		.flags = flags,
		.window = window,
		.scale = -1,
		.len = (uint16_t)len,
	};
	if (seq_off == 0 && !(flags & KXDP_TCP_RST)) {
		peer->snd_nxt += len + (flags & KXDP_TCP_FIN ? 1 : 0);
	}
	receive(run, peer, &out);
}

static void raw(run_t *run, peer_t *peer)
{
	uint8_t bytes[KXDP_TCP_HEADER_MAX];
	size_t len = take(run, 1) % (sizeof(bytes) + 1);
	for (size_t i = 0; i < len; i++) {
		bytes[i] = (uint8_t)take(run, 1);
	}
	kxdp_segment_t in = { 0 };
	if (!kxdp_segment_read(bytes, len, &in)) {
		return;
	}
	check(in.scale >= -1 && in.scale <= 14 && (in.flags & ~0x1f) == 0 && in.len <= len &&
			(in.len == 0) == (in.payload == NULL));
	receive(run, peer, &in);
}

static conn_t *last_conn(peer_t *peer)
{
	conn_t *conn = &peer->conns[(peer->conn_count + CONN_MAX - 1) % CONN_MAX];
	return conn->conn != 0 ? conn : NULL;
}

static void pass_time(run_t *run, uint32_t operand)
{
	run->now += (uint64_t)(operand & 0xff) << (operand >> 8 & 31);
	kxdp_tcp_tick(run->tcp, run->now);
	if (!run->is_lazy) {
		drain(run, UINT32_MAX, PAYLOAD_MAX, false);
		check(kxdp_tcp_next_time(run->tcp) > run->now);
	}
}

static void next_timer(run_t *run)
{
	uint64_t next = kxdp_tcp_next_time(run->tcp);
	if (next != UINT64_MAX && next > run->now) {
		run->now = next;
	}
	pass_time(run, 0);
}

static void configure(run_t *run, uint32_t operand)
{
	run->limits.clients_max = operand & 1 ? 2 : 100;
	run->limits.half_open_max = operand & 2 ? operand >> 6 & 1 : 50;
	run->limits.per_source_max = operand & 4 ? 1 + (operand >> 7) : 0;
	run->limits.inbuf_max = operand & 8 ? 3000 : 1 << 20;
	run->limits.outbuf_max = operand & 16 ? 70000 : 1 << 22;
	run->limits.idle_close_us = operand & 32 ? 1000000 : 10000000;
	run->limits.idle_reset_us = 2 * run->limits.idle_close_us;
	run->limits.resend_us = 5000000;
	run->limits.resets_max = 1000;
	run->limits.mtu = 1500;
}

static void on_conn(run_t *run, peer_t *peer, uint32_t operation)
{
	conn_t *conn = last_conn(peer);
	uint32_t operand = operation == 10 ? take(run, 2) : 0;
	if (conn == NULL) {
		return;
	}
	switch (operation) {
	case 10: write_reply(run, conn, operand + (operand == 0xffff ? 2 : 0)); break;
	case 11:
		conn->is_closed = true;
		kxdp_tcp_close(run->tcp, conn->conn);
		break;
	default: kxdp_tcp_abort(run->tcp, conn->conn); break;
	}
	if (!run->is_lazy) {
		drain(run, UINT32_MAX, PAYLOAD_MAX, false);
	}
}

static void operate(run_t *run)
{
	uint32_t operation = take(run, 1);
	peer_t *peer = &run->peers[operation >> 4 & (PEERS - 1)];
	uint32_t a;
	switch (operation & 15) {
	case 0: syn(run, peer); break;
	case 1: segment(run, peer, KXDP_TCP_ACK, 0, 0, 0, (uint16_t)take(run, 2)); break;
	case 2: segment(run, peer, KXDP_TCP_ACK | KXDP_TCP_PSH, take(run, 2) % 1461, 0, 0, 65535); break;
	case 3:
		a = take(run, 3);
		segment(run, peer, KXDP_TCP_ACK, a >> 16, (int16_t)a, 0, 65535);
		break;
	case 4:
		a = take(run, 3);
		segment(run, peer, KXDP_TCP_ACK, 0, 0, (int16_t)a, (uint16_t)(a >> 16) * 256);
		break;
	case 5: segment(run, peer, KXDP_TCP_ACK, 0, 0, 0, 65535); break;
	case 6: segment(run, peer, KXDP_TCP_ACK | KXDP_TCP_FIN, take(run, 1), 0, 0, 65535); break;
	case 7:
		a = take(run, 1);
		segment(run, peer, KXDP_TCP_RST | (a & 1 ? KXDP_TCP_ACK : 0), 0, (int8_t)a / 2, 0, 0);
		break;
	case 8: {
		uint8_t flags = take(run, 1) & 0x1f;
		int16_t seq_off = (int16_t)take(run, 2), ack_off = (int16_t)take(run, 2);
		uint16_t window = (uint16_t)take(run, 2);
		segment(run, peer, flags, take(run, 1), seq_off, ack_off, window);
		break;
	}
	case 9: pass_time(run, take(run, 2)); break;
	case 10:
	case 11:
	case 12: on_conn(run, peer, operation & 15); break;
	case 13:
		configure(run, take(run, 1));
		run->has_lowered = true;
		kxdp_tcp_configure(run->tcp, &run->limits);
		break;
	case 14:
		a = take(run, 2);
		drain(run, a & 0xff, 1 + (a >> 8) * 35, false);
		break;
	default:
		if (operation & 0x80) {
			raw(run, peer);
		} else {
			next_timer(run);
		}
		break;
	}
}

static void set_up(run_t *run)
{
	for (unsigned i = 0; i < PEERS; i++) {
		peer_t *peer = &run->peers[i];
		peer->path = (kxdp_path_t){
			.remote_mac = { 2, 1 }, .local_mac = { 2, 2 }, .mtu = i == 1 ? 1280 : 1500, .ifindex = 3
		};
		peer->flow = (kxdp_flow_t){ .remote_port = (uint16_t)(4000 + i), .local_port = 53 };
		peer->scale = -1;
		peer->snd_nxt = 0u - 100000 + i * 50000;
		if (i == 3) {
			peer->flow.remote[0] = peer->flow.local[0] = 0xfd;
		} else {
			peer->flow.remote[10] = peer->flow.remote[11] = peer->flow.local[10] = peer->flow.local[11] =
					0xff;
			peer->flow.remote[12] = peer->flow.local[12] = 10;
		}
		peer->flow.remote[15] = 1;
		peer->flow.local[15] = 2;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static run_t run;
	if (size < 4 || size > 4096) {
		return 0;
	}
	run = (run_t){ .data = data, .end = data + size, .now = 1000 };
	uint8_t key[KXDP_TCP_KEY_LEN] = { 0 };
	run.is_lazy = take(&run, 1) & LAZY;
	configure(&run, take(&run, 1));
	key[0] = (uint8_t)take(&run, 2);
	set_up(&run);
	check(kxdp_tcp_new(&run.limits, key, run.now, &run.tcp) == KNOT_OK);
	for (unsigned i = 0; i < OPERATIONS_MAX && run.data < run.end; i++) {
		operate(&run);
		check_levels(&run);
	}
	/* Left alone, everything ends. Half of the runs are stopped instead. */
	kxdp_tcp_stats_t stats;
	run.is_lazy = false;
	if (size & 1) {
		kxdp_tcp_abort_all(run.tcp);
	}
	for (unsigned i = 0; i < 150; i++) {
		pass_time(&run, 0x1701); /* 8 s */
	}
	kxdp_tcp_stats(run.tcp, &stats);
	check(stats.clients == 0 && stats.half_open == 0 && stats.time_wait == 0 && stats.inbuf == 0 &&
			stats.outbuf == 0);
	kxdp_tcp_free(run.tcp);
	return 0;
}
