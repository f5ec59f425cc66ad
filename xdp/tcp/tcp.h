/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TCP for a server that answers requests, as a pure state machine: segments, bytes and a clock in; segments and bytes
 * out. No socket, ring, thread or clock inside; randomness is the key it is given.
 *
 * Owns: connections, retransmission, congestion and flow control, timers, limits. Not here: frames (frame.h), what the
 * bytes mean (the caller frames and answers messages), sending. RFC 9293 (passive opens only), 6298, 5681, 6582, 7323
 * 2 (window scale), 5961, 4987 3.6 (SYN cookies), 1122 4.2.
 *
 * Left out: SACK, timestamps, ECN, urgent data, keep-alives, data in a SYN (it comes again), Nagle's rule and delayed
 * ACKs (replies take ACKs along, as segments are only made when the caller asks for them). See
 * doc/adr/0008-tcp-stack.md.
 *
 * Idle is a connection without a request consumed or all output acknowledged or, of unfinished ones, 512 bytes more:
 * single bytes keep no connection from being closed. Replies that weren't acknowledged at an RST are lost.
 *
 * Threads: one at a time; each worker has a stack of its own. kxdp_tcp_stats() from any thread.
 * Cost: nothing is allocated per segment beyond what slabs grow by; an idle connection takes at most
 * KXDP_TCP_IDLE_BYTES in all, hash bucket included. Buffers exist only while bytes are in them.
 *
 *     kxdp_tcp_input_t input;
 *     bool is_more = kxdp_tcp_receive(tcp, &segment, now_us, &input);
 *     for (; is_more; is_more = kxdp_tcp_next(tcp, &input)) {
 *         size_t used = 0;
 *         while (a whole message is at input.data + used && kxdp_tcp_room(tcp, input.conn) >= the longest reply) {
 *             (void)kxdp_tcp_write(tcp, input.conn, reply, reply_len);
 *             used += …;
 *         }
 *         kxdp_tcp_consume(tcp, input.conn, used);   // the rest is kept and comes again with more bytes, or with room
 *         if (input.fin && used == input.len) { kxdp_tcp_close(tcp, input.conn); }
 *     }
 *     … after the batch:
 *     kxdp_tcp_tick(tcp, now_us);
 *     while (there is room for a frame && kxdp_tcp_emit(tcp, now_us, payload, payload_max, &segment)) { send it }
 */
#pragma once

#include "libknot/base/err.h"
#include "xdp/tcp/segment.h"

enum {
	KXDP_TCP_IDLE_BYTES = 128,
	KXDP_TCP_KEY_LEN = 16,
	/* The least MSS of a peer: less counts as this, or a peer could have every byte of a reply in a frame of its
	   own (CVE-2019-11479). */
	KXDP_TCP_MSS_MIN = 64,
};

/** Limits of one stack (the caller divides those of the configuration by the number of workers). */
typedef struct {
	uint32_t clients_max;    /* connections, half-open and closing ones included */
	uint32_t per_source_max; /* established connections of one source: an IPv4 address or IPv6 /64; 0: no limit */
	uint32_t half_open_max;  /* beyond it a SYN gets a cookie instead of memory */
	/* Bytes mapped for received data and for replies, in all; half a megabyte of each may be mapped
	   whatever they are. When a connection needs more, the greediest source loses its oldest one: that with
	   the longest kept input, or whose peer has acknowledged least lately. */
	uint64_t inbuf_max, outbuf_max;
	/* What one source may hold of them; 0: no limit. Received (at least 131072): beyond it the source loses its
	   own oldest connection. Replies: beyond it, connections of the source must wait for each reply to be
	   acknowledged before the next one, and those whose peers acknowledge nothing are reset once half of
	   outbuf_max is in use. */
	uint64_t in_source_max, out_source_max;
	uint64_t idle_close_us; /* idle for so long: FIN, unless a reply is still being sent */
	/* … and for so long: RST, unless data or FIN is being sent again, or the peer's window is closed and the peer
	   answers probes (at most 100 s). */
	uint64_t idle_reset_us;
	uint64_t resend_us;  /* upper bound of the first retransmission timeout */
	uint32_t resets_max; /* per second: RST to segments of no connection; a 16th of it to one remote address */
	uint16_t mtu;        /* of the interface */
} kxdp_tcp_limits_t;

typedef struct kxdp_tcp kxdp_tcp_t;

/** A connection; never 0; not reused soon after its end. */
typedef uint64_t kxdp_tcp_conn_t;

/** Bytes to be read, contiguous and in order. */
typedef struct {
	kxdp_tcp_conn_t conn;
	const uint8_t *data; /* valid until the next call for this stack but write() and room() */
	size_t len;          /* may be 0 with `fin` */
	bool fin;            /* nothing follows */
	kxdp_flow_t flow;
} kxdp_tcp_input_t;

/**
 * Make a stack. key: random, secret; for initial sequence numbers (RFC 6528), cookies and hashing. now_us: of a
 * monotonic clock, as in all calls; never going back. KNOT_ENOMEM, KNOT_EINVAL (limits).
 */
KNOT_MUST_USE knot_err_t kxdp_tcp_new(const kxdp_tcp_limits_t *limits, const uint8_t key[static KXDP_TCP_KEY_LEN],
		uint64_t now_us, kxdp_tcp_t **ret_tcp);

/** Frees everything, sends nothing. NULL is fine. */
void kxdp_tcp_free(kxdp_tcp_t *take_tcp);

/** Other limits from now on. Connections beyond a lower limit are closed by and by, the longest idle first. */
void kxdp_tcp_configure(kxdp_tcp_t *tcp, const kxdp_tcp_limits_t *limits);

/**
 * Take in a verified segment. Its payload has to stay until kxdp_tcp_consume(). Returns true when bytes (or the peer's
 * FIN) are to be read: the caller then loops over kxdp_tcp_next() as shown above. What has to be sent waits for
 * kxdp_tcp_emit().
 */
bool kxdp_tcp_receive(kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint64_t now_us, kxdp_tcp_input_t *ret_input);

/**
 * The next connection whose bytes wait to be read: because more came in order, or because room for replies has come
 * back since kxdp_tcp_consume() left some. Returns false when there is none now. Also call it after kxdp_tcp_emit() and
 * kxdp_tcp_tick().
 */
bool kxdp_tcp_next(kxdp_tcp_t *tcp, kxdp_tcp_input_t *ret_input);

/** The first `len` bytes of the last input of `conn` are done; the rest is kept. Must follow each input. */
void kxdp_tcp_consume(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn, size_t len);

/**
 * Offer what was left of a connection's input again, by the next kxdp_tcp_next(). For a reader that had a reason of its
 * own to leave whole messages; want of room is looked after without it. Nothing if the connection is gone.
 */
void kxdp_tcp_resume(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);

/**
 * The application will write to the connection by itself: it isn't idle meanwhile, unless its peer leaves unread what
 * was written. At most three reasons of a connection at once, each ended by kxdp_tcp_release(). Nothing if the
 * connection is gone.
 */
void kxdp_tcp_hold(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);
void kxdp_tcp_release(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);

/**
 * Bytes that kxdp_tcp_write() would take now, memory permitting; 0 when the connection is gone. While a connection's
 * peer has acknowledged everything there is always room for the longest reply, unless outbuf_max itself is less.
 */
size_t kxdp_tcp_room(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);

/** False: the connection is gone, or it was closed: nothing more can be written to it. */
bool kxdp_tcp_is_open(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);

/**
 * Append a copy of bytes[0..len) to what is sent: all or nothing. Other connections may be reset to make room for it,
 * never this one. False: no room, no memory, or the connection is gone.
 */
bool kxdp_tcp_write(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn, const uint8_t *bytes, size_t len);

/** Send FIN after what was written. */
void kxdp_tcp_close(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);

/** Send RST and forget. */
void kxdp_tcp_abort(kxdp_tcp_t *tcp, kxdp_tcp_conn_t conn);

/** Reset all connections, for the end of the server: emit() the RSTs afterwards. */
void kxdp_tcp_abort_all(kxdp_tcp_t *tcp);

/** Let timers that are due take effect. */
void kxdp_tcp_tick(kxdp_tcp_t *tcp, uint64_t now_us);

/** Time of the next timer, for the caller's wait; UINT64_MAX: none. */
uint64_t kxdp_tcp_next_time(const kxdp_tcp_t *tcp);

/**
 * The next segment to send, as far as windows allow; its payload is written to payload[0..payload_max), to which
 * ret_segment->payload points. payload_max: what a frame takes, about the same in all calls: the least that a
 * connection has met is its segment size from then on. Returns false when nothing is to be sent now. A segment given
 * out counts as sent.
 */
bool kxdp_tcp_emit(kxdp_tcp_t *tcp, uint64_t now_us, uint8_t *payload, size_t payload_max, kxdp_segment_t *ret_segment);

/** Counters: ROW(field, kind, help); kind COUNT: only grows, LEVEL: of now, BYTES: of now in bytes; help: one sentence.
 * The levels come last. */
/* clang-format off */
#define KXDP_TCP_STATS(ROW) \
	ROW(segments_in, COUNT, "TCP segments received") \
	ROW(segments_out, COUNT, "TCP segments sent") \
	ROW(accepted, COUNT, "TCP connections established") \
	ROW(cookies_sent, COUNT, "SYN cookies sent because the table of connections was under pressure") \
	ROW(cookies_good, COUNT, "TCP connections opened by a valid SYN cookie") \
	ROW(cookies_bad, COUNT, "ACKs without a valid SYN cookie") \
	ROW(resent, COUNT, "TCP segments sent again") \
	ROW(fast_resent, COUNT, "TCP segments sent again after three duplicate ACKs") \
	ROW(timeouts, COUNT, "TCP retransmission timeouts") \
	ROW(out_of_order, COUNT, "TCP segments that came before an earlier one") \
	ROW(duplicates, COUNT, "TCP segments with bytes that had been received before") \
	ROW(resets_in, COUNT, "TCP resets received") \
	ROW(resets_out, COUNT, "TCP resets sent") \
	ROW(challenge_acks, COUNT, "Challenge ACKs sent (RFC 5961)") \
	ROW(dropped_unknown, COUNT, "TCP segments of no connection, beyond the rate of resets") \
	ROW(dropped_invalid, COUNT, "TCP segments outside of the window, or with flags that make no sense") \
	ROW(dropped_limit, COUNT, "TCP segments refused by the limit of clients, of one source's connections, or for want of memory") \
	ROW(dropped_inbuf, COUNT, "TCP segments not taken, and connections reset, for want of input buffers") \
	ROW(dropped_outbuf, COUNT, "TCP connections reset because their peers left replies unread, for want of output buffers") \
	ROW(idle_closed, COUNT, "TCP connections closed because they were idle") \
	ROW(idle_reset, COUNT, "TCP connections reset because they were idle for too long") \
	ROW(gave_up, COUNT, "TCP connections given up because nothing was acknowledged") \
	ROW(evicted, COUNT, "TCP connections that made room for others") \
	ROW(clients, LEVEL, "TCP connections over AF_XDP, without those in TIME-WAIT") \
	ROW(half_open, LEVEL, "TCP connections over AF_XDP that are being opened") \
	ROW(time_wait, LEVEL, "TCP connections over AF_XDP in TIME-WAIT") \
	ROW(inbuf, BYTES, "Bytes of queries over AF_XDP that wait for the rest of their messages") \
	ROW(outbuf, BYTES, "Bytes of replies over AF_XDP that wait to be acknowledged") \
	ROW(memory, BYTES, "Bytes that the TCP stack for AF_XDP holds in all")
#define KXDP_TCP_STATS_FIELD(name, kind, help) uint64_t name;
typedef struct {
	KXDP_TCP_STATS(KXDP_TCP_STATS_FIELD)
} kxdp_tcp_stats_t;
/* clang-format on */

void kxdp_tcp_stats(const kxdp_tcp_t *tcp, kxdp_tcp_stats_t *ret_stats);

/** Add the counters of `part` to `sum`; levels stay as they are. */
void kxdp_tcp_stats_add(kxdp_tcp_stats_t *sum, const kxdp_tcp_stats_t *part);
