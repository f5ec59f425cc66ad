/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Inside of the TCP stack: what its files share. See tcp.h for what it does.
 *
 * A connection is a record of 96 bytes (conn_t) as long as it lives, and a second one (busy_t) while something is
 * under way: bytes to send or unacknowledged, bytes received and not consumed, a timer of transmission.
 *
 * Each established connection belongs to a source (source_t), and each source that holds buffers has a share_t, which
 * counts them. Sources are ranked by what they hold (rank_t), so that the greediest is found without a search: see
 * share.c and doc/adr/0029-tcp-shares.md.
 *
 * Records are named by their number in a slab; 0 is none. Items never move, and their memory is only given back to the
 * system by kxdp_tcp_tick(): a pointer to a record that was freed stays readable until then.
 * Functions that may end the connection return true if it is still there.
 */
#pragma once

#include "libknot/base/rate.h"
#include "xdp/tcp/siphash.h"
#include "xdp/tcp/slab.h"
#include "xdp/tcp/tcp.h"

#include <assert.h>
#include <string.h>

enum {
	SECOND_US = 1000000,
	SECOND_MS = 1000,
	/* RFC 6298 2.4 wants at least a second; all common stacks use less. It is longer than a delayed ACK takes. */
	RTO_MIN_US = 250000,
	RTO_MAX_US = 60 * SECOND_US,             /* RFC 6298 2.5 */
	RTO_FIRST_US = SECOND_US,                /* 2.1 */
	RTO_AFTER_SYN_RESENT_US = 3 * SECOND_US, /* 5.7 */
	RTT_GRANULARITY_US = 1000,
	PROBE_MAX_US = 8 * SECOND_US, /* between window probes: if the ACK that opens a window was lost, so long */
	PROBES_LOST = 2,              /* unanswered, in a row: the peer may have gone */
	RESENDS_MAX = 8,              /* of data or FIN, in a row: then RST; two minutes at the least timeout */
	/* If a connection is retransmitting, or its peer answers window probes, idle_reset waits for it, but only so
	   long without progress (RFC 9293 3.8.3: 100 s). */
	REST_MAX_MS = 100 * SECOND_MS,
	SYN_ACK_RESENDS_MAX = 4, /* 1 + 2 + 4 + 8 + 16 s: then forgotten */
	SYN_ACK_RESENDS_FEW = 2, /* … when more than half of those that may be half-open are */
	/* SYN-ACKs that are sent again per second, for all connections of a worker. Each SYN of a flood would get some,
	   which would be most of what is sent, in front of replies, to the owners of forged addresses. */
	SYN_ACK_RESENDS_PER_S = 1000,
	TIME_WAIT_MS = 60 * SECOND_MS,
	IW_SEGMENTS = 10, /* RFC 6928 2 */
	IW_BYTES = 14600,
	MSS_DEFAULT_IPV4 = 536, /* RFC 9293 3.7.1 */
	MSS_DEFAULT_IPV6 = 1220,
	HEADERS_IPV4 = 40, /* IP and TCP without options */
	HEADERS_IPV6 = 60,
	WINDOW_MAX = 65535,  /* that we offer; our scale is 0: requests are short */
	MESSAGE_MAX = 65537, /* RFC 7766 8 */
	IN_MAX = 131072,     /* bytes received that a connection may keep: more than a message and a window */
	OUT_MAX = 262144,    /* bytes that one connection may have to send */
	RANGES_MAX = 8,      /* of data out of order */
	ACKS_OWED_MAX = 8,
	/* Challenge ACKs of a connection per second: CHALLENGES_MIN and up to CHALLENGES_SPREAD - 1 more, see send.c.
	 */
	CHALLENGES_MIN = 3,
	CHALLENGES_SPREAD = 4, /* a power of two */
	/* RSTs to segments of no connection: each remote address belongs to one of so many buckets, and each bucket has
	   this part of `resets_max`, see send.c. */
	RESET_BUCKETS = 256, /* a power of two */
	RESET_BUCKET_PART = 16,
	/* Bytes of an unfinished message or reply that count as progress, so that a long one may take long, and single
	   bytes may not: at most 129 times per message. */
	PROGRESS_SHIFT = 9, /* 512 */
	/* … and this many times without a reply: a message and a little. What gets no reply isn't a sign of life. */
	SILENT_STEPS_MAX = 130,
	/* … of output, when its source has more than its share: so much per STALL_MS, or all of it. */
	OUT_PROGRESS_SHIFT = 12, /* 4 KiB */
	/* As long as the sockets' default tcp-io-timeout, and twice the least retransmission timeout. */
	STALL_MS = 500,
	WHEEL_SHIFT = 14, /* 16.4 ms */
	WHEEL_SLOTS = 1024,
	CONN_SHIFT = 13, /* records mapped at once, as a power of two */
	BUSY_SHIFT = 10,
	SOURCE_SHIFT = 14,
	SHARE_SHIFT = 10,
	NOTES_MAX = 256,     /* segments of no connection that wait to be sent */
	UNIT = 512,          /* bytes: what shares are counted in; each buffer is a multiple of it */
	TRIM_US = SECOND_US, /* empty chunks of slabs go back to the system so often */
};

/** RFC 9293 3.3.2; CLOSED and LISTEN are no record. */
typedef enum {
	STATE_GONE,  /* only waits to be taken off the ready list */
	STATE_RESET, /* … to be sent a RST */
	STATE_SYN_RCVD,
	STATE_ESTABLISHED,
	STATE_FIN_WAIT_1,
	STATE_FIN_WAIT_2,
	STATE_CLOSE_WAIT,
	STATE_CLOSING,
	STATE_LAST_ACK,
	STATE_TIME_WAIT,
} state_t;

/** Connections in the order of their stamps; each list has one timeout, so the first one is due first. */
typedef enum {
	LIST_IDLE,        /* FIN after idle_close */
	LIST_IDLE_CLOSED, /* … that got it, or have output that isn't acknowledged: RST after idle_reset, from the same
			     stamp on */
	LIST_CLOSING,     /* the application has closed, or output is being sent again, or waits for a window: RST after
			     idle_reset, unless that still goes on then */
	LIST_TIME_WAIT,
	LIST_HALF, /* SYN-ACK sent; + how often it was sent again */
	LIST_COUNT = LIST_HALF + SYN_ACK_RESENDS_MAX + 1,
	LIST_NONE = LIST_COUNT,
} list_kind_t;

enum {
	CONN_READY = 1 << 0, /* on the ready list */
	CONN_IPV4 = 1 << 1,
	CONN_ACK = 1 << 3,      /* an ACK is owed */
	CONN_SYN_ACK = 1 << 4,  /* SYN-ACK is to be sent */
	CONN_SCALED = 1 << 5,   /* both sides sent the option */
	CONN_PEER_FIN = 1 << 6, /* taken in */
	CONN_FIN = 1 << 7,      /* ours follows the last byte */
	CONN_SYN_RESENT = 1 << 8,
	CONN_HOLD_ONE = 1 << 14, /* how many reasons the application has to write later: see kxdp_tcp_hold() */
	CONN_HOLDS = 3 << 14,
};

typedef struct {
	uint32_t hash_next; /* first: the slab's link when free */
	uint32_t generation;
	uint8_t remote[16];
	uint32_t end;        /* path, and our address and port */
	uint32_t busy;       /* 0: nothing is under way, all that was sent is acknowledged */
	uint32_t prev, next; /* of its list */
	uint32_t ready_next;
	uint32_t snd_una; /* in SYN_RCVD the initial sequence number */
	uint32_t snd_wnd; /* bytes */
	uint32_t snd_wl1; /* SND.WL2 is never after snd_una, so it is not kept (ack.c) */
	uint32_t source;  /* that it is counted by; 0 while half-open and in TIME-WAIT */
	uint32_t rcv_nxt;
	uint32_t stamp_ms; /* last progress, or what its list says */
	uint32_t cwnd;
	union {
		uint32_t srtt_us;    /* 0: not known */
		uint32_t syn_ack_us; /* in SYN_RCVD: when it was sent */
	};
	uint32_t rttvar_us;
	uint16_t ssthresh; /* segments, or SSTHRESH_NONE */
	uint16_t rcv_wnd;  /* bytes behind rcv_nxt that the peer was told of */
	uint16_t mss;      /* payload of a segment to the peer */
	uint16_t remote_port;
	uint16_t flags; /* CONN_* */
	uint8_t state;  /* state_t */
	uint8_t list;   /* list_kind_t */
	uint8_t snd_scale : 4;
	uint8_t acks_owed : 4;    /* duplicate ones, each a segment of its own (RFC 5681 4.2) */
	uint8_t snd_wnd_max_bits; /* the largest snd_wnd was less than 1 << this */
	uint8_t challenges;       /* of the second in the upper half, as many as the lower half says */
	uint8_t silent_steps;     /* progress that input has made since the last reply, up to SILENT_STEPS_MAX */
} conn_t;

/** conn_t.ssthresh: slow start without a limit (RFC 5681 3.1: "arbitrarily high"). */
enum { SSTHRESH_NONE = UINT16_MAX };

_Static_assert(sizeof(conn_t) == 96, "with buckets and sources at most KXDP_TCP_IDLE_BYTES");

typedef struct {
	uint32_t prev, next;
} link_t;

typedef struct {
	uint32_t head, tail;
} list_t;

typedef struct {
	uint32_t from, to;
} range_t;

typedef enum {
	TIMER_NONE,
	TIMER_RESEND,
	TIMER_PERSIST,
} timer_kind_t;

enum {
	BUSY_RECOVERY = 1 << 0,   /* RFC 6582 */
	BUSY_RESEND_ONE = 1 << 1, /* the first segment, now */
	BUSY_PROBE = 1 << 2,      /* … what the window may take, or a byte */
	BUSY_FIN_AHEAD = 1 << 3,  /* the peer's FIN came out of order */
	BUSY_TIMING = 1 << 4,     /* the round trip of rtt_seq */
};

/** Which buffers. */
typedef enum {
	SIDE_IN,  /* received, not consumed */
	SIDE_OUT, /* written, not acknowledged */
	SIDE_COUNT,
} side_t;

/** Why input that is kept has to be offered again. */
typedef enum {
	WAIT_NONE,
	WAIT_OWN,    /* for room in its own output; on no list */
	WAIT_SOURCE, /* for room in what its source may have; on the share's list */
	WAIT_RUNNABLE,
} wait_t;

typedef struct {
	uint32_t conn; /* first: the slab's link when free */
	/* Output: from snd_una on. */
	uint32_t out_head, out_tail, out_len;
	uint32_t cursor, cursor_seq; /* a chunk, and the sequence number of its first byte; 0: none */
	uint32_t snd_nxt, snd_max;   /* to be sent next; end of what was ever sent */
	uint32_t recover;
	uint32_t rtt_seq, rtt_start_us;
	uint32_t out_stamp_ms;    /* last progress of output, or when the first of it was written */
	uint32_t writer_stamp_ms; /* the same in steps of OUT_PROGRESS_SHIFT: the order of the share's writers */
	uint64_t deadline_us;     /* of the timer; it may be in an earlier slot of the wheel */
	uint32_t wheel_slot;      /* WHEEL_SLOTS: in none */
	uint8_t timer;            /* timer_kind_t */
	uint8_t timeouts;         /* in a row */
	uint8_t dupacks;
	uint8_t flags; /* BUSY_* */
	/* Input: in_len bytes from in_start are in order, ranges follow at their distance. */
	uint32_t in, in_start, in_len, in_room;
	uint32_t fin_seq;
	range_t ranges[RANGES_MAX]; /* apart and in order */
	uint8_t range_count;
	uint8_t in_class;
	uint8_t wait;   /* wait_t */
	uint8_t probes; /* since the peer was heard of last, up to PROBES_LOST */
	link_t wheel_link, wait_link;
	link_t holder_links[SIDE_COUNT]; /* of the share's lists */
} busy_t;

/** What many connections share. */
typedef struct {
	uint32_t hash_next;
	uint32_t refs;
	kxdp_path_t path;
	uint8_t local[16];
	uint16_t local_port;
} end_t;

/** A source that is counted: an IPv4 address or IPv6 /64. Exists while it has established connections. */
typedef struct {
	uint32_t hash_next;
	uint32_t count;     /* connections */
	uint32_t share;     /* 0: it holds no buffers */
	uint32_t prefix[2]; /* two halves: a uint64_t would make the record 24 bytes long */
} source_t;

_Static_assert(sizeof(source_t) == 20, "with conn_t and buckets at most KXDP_TCP_IDLE_BYTES");

/** What a source holds. Exists while that is anything, and somewhat longer, see share.c. */
typedef struct {
	uint32_t source; /* first: the slab's link when free */
	uint32_t units[SIDE_COUNT];
	uint8_t levels[SIDE_COUNT];    /* that it is ranked in: that of `units` or a higher one; RANK_LEVELS: none */
	link_t rank_links[SIDE_COUNT]; /* of that level */
	list_t holders[SIDE_COUNT];    /* busy records with buffers, the one with the oldest progress first */
	list_t waiting;                /* busy records with WAIT_SOURCE, the longest waiting first */
} share_t;

/** Two per power of two of units: numbers of 32 bits. */
enum { RANK_LEVELS = 64 };

/** Sources that hold buffers of one side, by how much at most. */
typedef struct {
	list_t levels[RANK_LEVELS]; /* of share_t; the one that has been in its level longest comes first */
	uint64_t bits;              /* levels that aren't empty */
} rank_t;

/** A segment of no connection. */
typedef struct {
	kxdp_flow_t flow;
	kxdp_path_t path;
	uint32_t seq, ack;
	uint16_t window, mss;
	int8_t scale;
	uint8_t flags;
} note_t;

/** So many per second, as many at once. */
typedef knot_rate_t bucket_t;

enum {
	BUFFER_CLASSES = 4, /* of sizes; output uses the first two */
};

struct kxdp_tcp {
	kxdp_tcp_limits_t limits;
	kxdp_siphash_key_t key;
	uint64_t now_us; /* the latest that was given */
	kxdp_tcp_stats_t stats;

	uint32_t generation; /* of the connection made last */
	uint64_t trim_us;    /* when empty chunks go back next */

	kxdp_slab_t conns, busies, ends, sources, shares;
	/* Linear hashing: the table grows by one bucket per new connection (while there are more connections than ever
	 * before), so that few connections use few cache lines of it, and nothing ever waits for a whole table. Buckets
	 * [0..bucket_mask + bucket_split] are in use; those below bucket_split have one more bit of the hash. */
	uint32_t *buckets; /* owned; bucket_room of them, zeros from what is in use on */
	uint32_t bucket_room, bucket_mask, bucket_split;
	uint32_t *source_buckets; /* owned */
	uint32_t source_mask;
	uint32_t *end_buckets; /* owned */
	uint32_t end_mask, end_count;
	uint32_t end_last;   /* used last, or 0 */
	uint32_t conn_count; /* records in the table; TIME-WAIT included */

	uint64_t segment_hash; /* of the segment that is being received … */
	uint32_t segment_conn; /* … and its connection, or 0 */

	list_t lists[LIST_COUNT];
	uint32_t list_timeout_ms[LIST_COUNT];
	uint32_t progress_step_ms; /* progress within so much of the last one changes no list */
	uint32_t ready_head, ready_tail;
	list_t runnable;         /* WAIT_RUNNABLE */
	uint32_t source_waiters; /* records with WAIT_SOURCE, of all sources */
	rank_t ranks[SIDE_COUNT];

	list_t wheel[WHEEL_SLOTS];
	uint64_t wheel_bits[WHEEL_SLOTS / 64]; /* slots that aren't empty */
	uint64_t wheel_time;                   /* slots up to this one, counted from time 0, are done */

	kxdp_slab_t buffers[SIDE_COUNT][BUFFER_CLASSES];

	note_t notes[NOTES_MAX]; /* ring */
	uint32_t notes_from, notes_count;

	bucket_t resets[RESET_BUCKETS];
	bucket_t syn_ack_resends;
	uint64_t cookie_time_us; /* the last one sent; 0: none */

	/* The input that was given out last. */
	uint32_t current;            /* 0: none */
	const uint8_t *current_data; /* NULL: in the connection's buffer */
	size_t current_len;
};

/* ---- values ---- */

static inline bool seq_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool seq_until(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) <= 0;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint32_t ms_of(uint64_t us)
{
	return (uint32_t)(us / 1000);
}

/* One writer; readers of other threads see no torn value. */
static inline void stat_add(uint64_t *counter, uint64_t count)
{
	__atomic_store_n(counter, *counter + count, __ATOMIC_RELAXED);
}

static inline void stat_sub(uint64_t *counter, uint64_t count)
{
	__atomic_store_n(counter, *counter - count, __ATOMIC_RELAXED);
}

static inline void stat_inc(uint64_t *counter)
{
	stat_add(counter, 1);
}

/* As kxdp_slab_at(), with the numbers known to the compiler. */
static inline conn_t *conn_at(const kxdp_tcp_t *tcp, uint32_t number)
{
	return (conn_t *)tcp->conns.chunks[number >> CONN_SHIFT] + (number & ((1u << CONN_SHIFT) - 1));
}

static inline busy_t *busy_at(const kxdp_tcp_t *tcp, uint32_t number)
{
	return (busy_t *)tcp->busies.chunks[number >> BUSY_SHIFT] + (number & ((1u << BUSY_SHIFT) - 1));
}

/** NULL: not busy. */
static inline busy_t *busy_of(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	return conn->busy != 0 ? busy_at(tcp, conn->busy) : NULL;
}

static inline end_t *end_at(const kxdp_tcp_t *tcp, uint32_t number)
{
	return kxdp_slab_at(&tcp->ends, number);
}

static inline source_t *source_at(const kxdp_tcp_t *tcp, uint32_t number)
{
	return (source_t *)tcp->sources.chunks[number >> SOURCE_SHIFT] + (number & ((1u << SOURCE_SHIFT) - 1));
}

static inline share_t *share_at(const kxdp_tcp_t *tcp, uint32_t number)
{
	return (share_t *)tcp->shares.chunks[number >> SHARE_SHIFT] + (number & ((1u << SHARE_SHIFT) - 1));
}

/** NULL: its source holds no buffers. It has a source: it is established and not in TIME-WAIT. */
static inline share_t *share_of(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	assert(conn->source != 0);
	uint32_t number = source_at(tcp, conn->source)->share;
	return number != 0 ? share_at(tcp, number) : NULL;
}

static inline bool is_synchronized(const conn_t *conn)
{
	return conn->state >= STATE_ESTABLISHED;
}

/** The sequence number behind everything that was sent. */
static inline uint32_t snd_max_of(const kxdp_tcp_t *tcp, const conn_t *conn)
{
	return conn->busy != 0 ? busy_at(tcp, conn->busy)->snd_max : conn->snd_una;
}

/* ---- lists: links inside of records of a slab ---- */

static inline link_t *link_at(const kxdp_slab_t *slab, size_t off, uint32_t number)
{
	return (link_t *)((uint8_t *)kxdp_slab_at(slab, number) + off);
}

static inline void list_append(const kxdp_slab_t *slab, size_t off, list_t *list, uint32_t number)
{
	*link_at(slab, off, number) = (link_t){ .prev = list->tail };
	if (list->tail != 0) {
		link_at(slab, off, list->tail)->next = number;
	} else {
		list->head = number;
	}
	list->tail = number;
}

static inline void list_remove(const kxdp_slab_t *slab, size_t off, list_t *list, uint32_t number)
{
	link_t link = *link_at(slab, off, number);
	if (link.prev != 0) {
		link_at(slab, off, link.prev)->next = link.next;
	} else {
		list->head = link.next;
	}
	if (link.next != 0) {
		link_at(slab, off, link.next)->prev = link.prev;
	} else {
		list->tail = link.prev;
	}
}

/* … of busy records, with what the compiler knows of these: several of them for each reply. */

static inline link_t *busy_link_at(const kxdp_tcp_t *tcp, size_t off, uint32_t number)
{
	return (link_t *)((uint8_t *)busy_at(tcp, number) + off);
}

static inline void busy_list_append(const kxdp_tcp_t *tcp, size_t off, list_t *list, uint32_t number)
{
	*busy_link_at(tcp, off, number) = (link_t){ .prev = list->tail };
	if (list->tail != 0) {
		busy_link_at(tcp, off, list->tail)->next = number;
	} else {
		list->head = number;
	}
	list->tail = number;
}

static inline void busy_list_remove(const kxdp_tcp_t *tcp, size_t off, list_t *list, uint32_t number)
{
	link_t link = *busy_link_at(tcp, off, number);
	if (link.prev != 0) {
		busy_link_at(tcp, off, link.prev)->next = link.next;
	} else {
		assert(list->head == number);
		list->head = link.next;
	}
	if (link.next != 0) {
		busy_link_at(tcp, off, link.next)->prev = link.prev;
	} else {
		assert(list->tail == number);
		list->tail = link.prev;
	}
}

/* ---- table.c: records ---- */

uint64_t tcp_flow_hash(const kxdp_tcp_t *tcp, const kxdp_flow_t *flow);
/** 0: there is none. */
uint32_t tcp_find(const kxdp_tcp_t *tcp, const kxdp_flow_t *flow, uint64_t hash);
/** A connection for the segment's flow, in no list, all zero but for flow and path. 0: no memory. */
uint32_t tcp_conn_new(kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint64_t hash);
/** Forget it; nothing is sent. */
void tcp_conn_free(kxdp_tcp_t *tcp, uint32_t number);
/** Forget it and send RST: the record stays for that, out of the table. */
void tcp_conn_reset(kxdp_tcp_t *tcp, uint32_t number);
/** Move it to the end of a list and set its stamp to now. */
void tcp_conn_enlist(kxdp_tcp_t *tcp, uint32_t number, list_kind_t list);
/** Move it to the end of a list and keep its stamp. */
void tcp_conn_move(kxdp_tcp_t *tcp, uint32_t number, list_kind_t list);
/** It has made progress: restart its idle time. */
void tcp_conn_progress(kxdp_tcp_t *tcp, uint32_t number);
/** As tcp_conn_progress(), for more bytes of an unfinished message: at most SILENT_STEPS_MAX times without a reply. */
void tcp_conn_progress_in(kxdp_tcp_t *tcp, uint32_t number);
/** Enter TIME-WAIT: free what was kept for sending. */
void tcp_conn_time_wait(kxdp_tcp_t *tcp, uint32_t number);
void tcp_conn_ready(kxdp_tcp_t *tcp, uint32_t number);
/** From now on send its segments to where this segment of the peer came from. */
void tcp_conn_set_path(kxdp_tcp_t *tcp, conn_t *conn, const kxdp_segment_t *segment);
kxdp_flow_t tcp_conn_flow(const kxdp_tcp_t *tcp, const conn_t *conn);
/** NULL: gone. */
conn_t *tcp_conn_of_id(const kxdp_tcp_t *tcp, kxdp_tcp_conn_t id);
/** NULL: no memory. */
busy_t *tcp_busy_get(kxdp_tcp_t *tcp, uint32_t number);
/** Let the busy record go when nothing is in it. */
void tcp_busy_put(kxdp_tcp_t *tcp, uint32_t number);
/** False: no memory. Existing entries are kept. */
bool tcp_table_resize(kxdp_tcp_t *tcp, uint32_t clients_max);
bool tcp_sources_resize(kxdp_tcp_t *tcp, uint32_t clients_max);

/* ---- buffer.c ---- */

void tcp_buffers_init(kxdp_tcp_t *tcp);
void tcp_buffers_done(kxdp_tcp_t *tcp);
uint64_t tcp_buffers_memory(const kxdp_tcp_t *tcp);
/** Room for `len` bytes from in_start on. False: a limit or no memory; nothing has changed. */
bool tcp_in_reserve(kxdp_tcp_t *tcp, busy_t *busy, uint32_t len, bool may_reclaim);
uint8_t *tcp_in_bytes(const kxdp_tcp_t *tcp, const busy_t *busy);
/** Drop the first `len` bytes. */
void tcp_in_drop(kxdp_tcp_t *tcp, busy_t *busy, uint32_t len);
void tcp_in_free(kxdp_tcp_t *tcp, busy_t *busy);
/** False: no memory, also after others had to make room; nothing of this connection has changed. */
bool tcp_out_append(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy, const uint8_t *bytes, uint32_t len);
/** Copy [off, off + len) of the output. */
void tcp_out_copy(kxdp_tcp_t *tcp, const conn_t *conn, busy_t *busy, uint32_t off, uint8_t *to, uint32_t len);
void tcp_out_drop(kxdp_tcp_t *tcp, const conn_t *conn, busy_t *busy, uint32_t len);

/* ---- tcp.c ---- */

/** Give empty chunks of slabs back to the system, when it is time. Pointers to records that were freed end here. */
void tcp_trim(kxdp_tcp_t *tcp);
/** When that is next; UINT64_MAX: there are none. */
uint64_t tcp_trim_time(const kxdp_tcp_t *tcp);

/* ---- share.c ---- */

/** Count `more` units for the source of `conn`. Returns its share; NULL: no memory. */
share_t *tcp_share_add(kxdp_tcp_t *tcp, const conn_t *conn, side_t side, uint32_t more);
/** The source has lost its last connection, and so holds nothing. */
void tcp_share_end(kxdp_tcp_t *tcp, source_t *source);
/** Bytes that the source of `conn` holds. */
static inline uint64_t tcp_share_held(const kxdp_tcp_t *tcp, const conn_t *conn, side_t side)
{
	const share_t *share = share_of(tcp, conn);
	return share != NULL ? (uint64_t)share->units[side] * UNIT : 0;
}

/** True if no source holds clearly more. */
bool tcp_share_is_greediest(kxdp_tcp_t *tcp, const conn_t *conn, side_t side);
/** A connection that holds buffers comes last among those of its source. */
static inline void tcp_share_enlist(kxdp_tcp_t *tcp, share_t *share, side_t side, uint32_t busy_number)
{
	size_t off = offsetof(busy_t, holder_links) + side * sizeof(link_t);
	busy_list_append(tcp, off, &share->holders[side], busy_number);
}

static inline void tcp_share_delist(kxdp_tcp_t *tcp, share_t *share, side_t side, uint32_t busy_number)
{
	size_t off = offsetof(busy_t, holder_links) + side * sizeof(link_t);
	busy_list_remove(tcp, off, &share->holders[side], busy_number);
}

/** RST to the oldest holder of the greediest source, but not to `spared` or the one being read. False: none. */
bool tcp_share_reclaim(kxdp_tcp_t *tcp, side_t side, uint32_t spared);
/** RST to the oldest holder of the source of `spared`, but not to that or the one being read. False: none. */
bool tcp_share_reclaim_own(kxdp_tcp_t *tcp, side_t side, uint32_t spared);
/** RST to writers of the source of `spared` that have stalled, while it would have more than its share. */
void tcp_share_drop_stalled(kxdp_tcp_t *tcp, uint32_t spared, uint32_t len);

/* ---- limits.c ---- */

/** False: this source has as many connections as it may. */
bool tcp_source_has_room(const kxdp_tcp_t *tcp, const uint8_t remote[16]);
/** Counts `conn` by its source. False: that has as many connections as it may, or no memory. */
bool tcp_source_add(kxdp_tcp_t *tcp, conn_t *conn);
/** The reverse, if it is counted. It must hold no buffers any more. */
void tcp_source_remove(kxdp_tcp_t *tcp, conn_t *conn);
bool tcp_bucket_take(bucket_t *bucket, uint64_t now_us, uint32_t per_second);
/** Make room for one more connection. is_complete: by RST to the longest idle if need be. False: there is none. */
bool tcp_make_room(kxdp_tcp_t *tcp, bool is_complete);

/* ---- cookie.c ---- */

uint32_t tcp_initial_sequence(const kxdp_tcp_t *tcp, const kxdp_flow_t *flow);
uint32_t tcp_cookie_make(kxdp_tcp_t *tcp, const kxdp_segment_t *syn);
typedef enum {
	TCP_COOKIE_BAD,
	TCP_COOKIE_GOOD,
	TCP_COOKIE_LATER, /* it acknowledges a cookie, but isn't the first segment, which may still come */
} tcp_cookie_verdict_t;

/** Check the cookie that a segment acknowledges. If it is good, return MSS and scale of the SYN. */
tcp_cookie_verdict_t tcp_cookie_read(
		kxdp_tcp_t *tcp, const kxdp_segment_t *segment, uint16_t *ret_mss, int8_t *ret_scale);
/** True if cookies were sent so lately that one may come back. */
bool tcp_cookies_are_out(const kxdp_tcp_t *tcp);

/* ---- send.c ---- */

/** RST to a segment of no connection (RFC 9293 3.10.7.1), as the rate allows. */
void tcp_note_reset(kxdp_tcp_t *tcp, const kxdp_segment_t *segment);
void tcp_note_cookie(kxdp_tcp_t *tcp, const kxdp_segment_t *syn);
/** RFC 5961 3, 4, 5, 7. */
void tcp_challenge(kxdp_tcp_t *tcp, uint32_t number);
/** The MSS that we say, or that the path lets us send. */
uint16_t tcp_path_mss(const kxdp_tcp_t *tcp, const kxdp_path_t *path, bool is_ipv4);
bool tcp_is_ipv4(const uint8_t address[16]);
/** The window that there is to offer (RFC 9293 3.8.6.2.2); at least rcv_wnd. */
uint16_t tcp_window(const kxdp_tcp_t *tcp, const conn_t *conn);

/* ---- timer.c ---- */

/** The limits have changed. */
void tcp_timers_configure(kxdp_tcp_t *tcp);

void tcp_timer_start(kxdp_tcp_t *tcp, conn_t *conn, busy_t *busy, timer_kind_t kind);
void tcp_timer_stop(busy_t *busy);
/** Out of the wheel: the record goes. */
void tcp_timer_remove(kxdp_tcp_t *tcp, busy_t *busy, uint32_t number);
void tcp_rtt_sample(conn_t *conn, uint32_t rtt_us);
uint32_t tcp_ssthresh(const conn_t *conn);
void tcp_set_ssthresh(conn_t *conn, uint32_t bytes);

/* ---- input.c ---- */

/** What `number` has in its buffer is to be read: fills in ret_input. */
void tcp_input_give(kxdp_tcp_t *tcp, uint32_t number, const uint8_t *data, size_t len, kxdp_tcp_input_t *ret_input);
/** Output has gone: perhaps input of this connection that waited for room may be read now. */
void tcp_input_room(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number);
/** … or input of the one that has waited longest for room in its source's share. */
void tcp_input_wake(kxdp_tcp_t *tcp, share_t *share);
void tcp_input_unwait(kxdp_tcp_t *tcp, busy_t *busy, uint32_t busy_number);

/** Count less for a share (share.c). Input of other connections may become readable. */
static inline void tcp_share_sub(kxdp_tcp_t *tcp, share_t *share, side_t side, uint32_t less)
{
	assert(share->units[side] >= less);
	share->units[side] -= less;
	if (side == SIDE_OUT && share->waiting.head != 0) {
		tcp_input_wake(tcp, share);
	}
}

/* ---- ack.c ---- */

/** Take in acknowledgment and window of an acceptable segment. False: the segment is to be dropped. */
bool tcp_ack(kxdp_tcp_t *tcp, uint32_t number, const kxdp_segment_t *segment);
/** RFC 5681 4.1: after a pause what the path takes is not known any more. Before the pause is over. */
void tcp_restart_window(const kxdp_tcp_t *tcp, conn_t *conn);
/** RFC 6928 2. */
uint32_t tcp_initial_window(const conn_t *conn);
