/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A simulated world: one TCP stack under test, its clients, the link between them, a clock that only events move.
 *
 * - tcp_plan.c: what each client does, chosen from the seed
 * - tcp_client.c: the model client, an active opener of its own making (RFC 9293): it shares nothing with the stack
 *   but struct kxdp_segment_t
 * - tcp_server.c: the application above the stack: it checks requests and writes replies
 * - tcp_watch.c: what the stack may send, checked where it leaves the stack
 * - tcp_world.c: the link and the loop
 *
 * Both streams of a connection are functions of its key and the offset: every byte is checked, none is kept.
 */
#pragma once

#include "tests/sim/tcp_events.h"
#include "tests/sim/tcp_random.h"
#include "xdp/tcp/tcp.h"

enum {
	SIM_SERVER_PORT = 53,
	SIM_PORT_BASE = 20000,
	SIM_GAPS_MAX = 24, /* ranges that a client keeps out of order */
	SIM_FRAME_MAX = 9216,
	SIM_SECOND = 1000000, /* microseconds */
};

/** What a client does. */
#define SIM_KINDS(KIND)                                                                                                \
	KIND(SINGLE)       /* one request, one reply */                                                                \
	KIND(SEQUENTIAL)   /* the next request after the reply */                                                      \
	KIND(PIPELINED)    /* up to 200 requests at once */                                                            \
	KIND(DRIP)         /* requests in segments of one byte */                                                      \
	KIND(UPLOAD)       /* long requests */                                                                         \
	KIND(BIG)          /* replies of up to 64 KiB */                                                               \
	KIND(STREAM)       /* a reply of up to 10 MB, written as room comes back */                                    \
	KIND(SLOW)         /* reads slowly: zero windows */                                                            \
	KIND(SHRINK)       /* takes window back */                                                                     \
	KIND(HALF_CLOSE)   /* FIN with the last request, then reads */                                                 \
	KIND(SILENT)       /* opens and closes without a request */                                                    \
	KIND(CLOSE_EARLY)  /* closes for good without reading: data gets RST */                                        \
	KIND(RESET)        /* RST in the middle */                                                                     \
	KIND(VANISH)       /* is gone without a word */                                                                \
	KIND(IDLE)         /* waits for the server to close */                                                         \
	KIND(SERVER_CLOSE) /* the server closes after the last reply */                                                \
	KIND(SIMULTANEOUS) /* both close at about the same time */                                                     \
	KIND(SERVER_ABORT) /* the server resets after the first request */                                             \
	KIND(REOPEN)       /* the same addresses and ports again, directly */                                          \
	KIND(BLACK_HOLE)   /* long packets to the client are lost without a word */                                    \
	KIND(HOSTILE)      /* header fields changed at random on the way */                                            \
	KIND(GREEDY)       /* asks for long replies and never reads; only in worlds of such (has_greedy) */
#define SIM_KIND_ENUM(name) SIM_##name,
typedef enum { SIM_KINDS(SIM_KIND_ENUM) SIM_KIND_COUNT } sim_kind_t;

/** Chosen before it starts. */
typedef struct {
	sim_kind_t kind;
	bool is_v6, delays_acks, fin_apart;
	uint8_t incarnations; /* how often the same ports are used, one after the other */
	int8_t scale;         /* -1: no option */
	uint16_t mss;         /* 0: no option */
	uint16_t path_mtu;    /* as the stack gets it */
	uint16_t hole;        /* longest IP packet that gets through to the client */
	uint32_t buffer;      /* bytes that the client takes before its application reads */
	uint32_t delay_us, jitter_us;
	uint32_t message_count;
	uint32_t request_min, request_max, reply_min, reply_max; /* bytes */
	uint32_t chunk;      /* bytes per write of the application; 0: all at once */
	uint32_t pause_us;   /* between its writes, or its reads */
	uint32_t read_chunk; /* bytes per read; 0: reads at once */
	uint64_t event_us;   /* after its start: reset, vanish, close, … */
	uint32_t isn;
} sim_plan_t;

typedef enum {
	SIM_UNBORN,
	SIM_SYN_SENT,
	SIM_OPEN, /* established until both FINs are acknowledged */
	SIM_TIME_WAIT,
	SIM_DONE,
} sim_state_t;

/** How it ended. */
#define SIM_ENDS(END)                                                                                                  \
	END(RUNNING)                                                                                                   \
	END(COMPLETE)                                                                                                  \
	END(LEFT) /* as planned: reset, vanished, hostile … */                                                       \
	END(IDLE_CLOSED)                                                                                               \
	END(GIVEN_UP) /* by the server, for a reason that is allowed */                                                \
	END(REFUSED)  /* under pressure */
#define SIM_END_ENUM(name) SIM_END_##name,
typedef enum { SIM_ENDS(SIM_END_ENUM) SIM_END_COUNT } sim_end_t;

/** Half-open range of offsets. */
typedef struct {
	uint32_t from, to;
} sim_range_t;

/** What the watcher knows of the server's side of a connection. Sequence numbers as offsets from the SYN. */
typedef struct {
	uint32_t acked;    /* delivered to the stack */
	uint32_t edge;     /* right edge of the window delivered to the stack, the highest ever */
	uint32_t sent_end; /* highest end of a segment */
	uint64_t bound;    /* of the congestion window, in bytes */
	uint32_t smss;
	uint32_t dupacks;   /* that have acknowledged nothing new, since everything was acknowledged */
	uint32_t credit;    /* segments that may go out again because of ACKs */
	bool is_recovering; /* something was lost, and not everything is acknowledged yet */
	uint32_t probe_end; /* end of what was sent behind the window */
	uint32_t ack_sent;  /* highest acknowledgment that the stack sent */
	uint32_t edge_sent; /* … and right edge of its window */
	bool is_synced;     /* the stack has got an ACK of this client */
	bool was_idle;      /* at some time */
	uint32_t syns;      /* that the stack has got and not answered yet */
	bool is_unsure;     /* whether the stack has taken the last acknowledgment */
	uint32_t syn_ack_seq;
	uint64_t syn_ack_time, last_syn_ack_time; /* by the timer, and of all */
	uint8_t timeouts;                         /* in a row */
	uint64_t timer_from;                      /* time of the last event that starts the retransmission timer */
	uint64_t backoff_us;                      /* length of the last timeout */
	uint64_t probe_time;                      /* of the last probe of a window that is closed */
	uint64_t progress_time;                   /* the stack has got something new */
	uint64_t clock_time;                      /* of what last let segments go again */
	uint64_t heard_time;                      /* … or anything */
	bool fin_seen, rst_seen;                  /* the stack sent it */
	bool is_rst_last;                         /* the last segment that the stack got was RST */
} sim_watch_t;

typedef struct {
	sim_plan_t plan;
	sim_state_t state;
	sim_end_t end;
	uint8_t incarnation;
	bool is_excused;    /* misbehaved, or the server was told to drop it */
	bool is_vanished;   /* its host doesn't answer */
	bool was_abandoned; /* the application has closed for good: no more reading */
	uint64_t key;       /* of the requests; replies are the stream ~key */
	uint64_t start_time, open_time, end_time, progress_time;

	/* Sending. Sequence numbers are offsets from the initial one; the first byte has 1. */
	uint32_t iss, irs;
	uint32_t una, nxt, max;
	uint32_t written; /* bytes that the application has written so far */
	uint32_t total_in, total_out;
	bool closed, fin_acked; /* the application has closed; the FIN has been acknowledged */
	uint32_t wnd, wl1, wl2; /* the server's window */
	uint8_t server_scale;
	bool scaling;
	uint32_t smss, cwnd;
	uint32_t message; /* which is next to be written */

	/* Receiving. */
	uint32_t rcv_nxt, edge; /* offsets from irs */
	uint32_t read;          /* bytes read by the application */
	sim_range_t gaps[SIM_GAPS_MAX];
	unsigned gap_count;
	bool peer_fin;
	uint32_t peer_fin_at;
	unsigned unacked_segments;
	bool must_ack;

	/* Timers: absolute, UINT64_MAX when off. */
	uint64_t resend_time, ack_time, app_time, event_time, end_wait_time;
	uint64_t timer_scheduled;
	uint64_t rto_us;
	unsigned syn_count;

	/* The application at the server. */
	kxdp_tcp_conn_t conn; /* 0: not seen yet */
	uint32_t served_off;  /* request bytes consumed */
	uint32_t served;      /* messages answered */
	uint32_t reply_off;   /* reply bytes written */
	uint32_t reply_done;  /* … of the message being answered */
	uint32_t kept;        /* bytes that were left unread at the last input */
	bool app_closed;

	sim_watch_t watch;
} sim_client_t;

/** What happens to segments, in parts of a million, and times. */
typedef struct {
	uint32_t loss, duplicate, reorder, corrupt, replay;
} sim_link_t;

typedef struct {
	uint64_t seed;
	uint32_t connections;
	uint32_t loss;  /* parts of a million */
	int64_t traced; /* slot whose events are printed; -1: none */
} sim_options_t;

typedef struct {
	uint64_t segments_in, segments_out, lost, corrupted, duplicated, replayed, floods;
	uint64_t resent, memory_max, clients_max, inbuf_max, outbuf_max;
	uint64_t cookies_good, bytes_in, bytes_out;
	uint64_t greedy_dropped;      /* connections reset for their unread replies */
	uint64_t honest_max_us;       /* the longest life of an honest client beside greedy ones, without loss */
	uint64_t ends[SIM_END_COUNT]; /* in ordinary worlds */
	uint64_t pressed_ends[SIM_END_COUNT]; /* where limits are tight, or the server was stopped */
	uint64_t kinds[SIM_KIND_COUNT];
} sim_totals_t;

typedef struct {
	const sim_options_t *options;
	sim_random_t random;
	sim_events_t events;
	uint64_t now;
	kxdp_tcp_t *tcp; /* under test */
	kxdp_tcp_limits_t limits;
	sim_link_t link;
	sim_client_t *clients; /* owned; by slot */
	uint32_t running;      /* clients that aren't done */
	bool is_pressed;       /* limits are tight: refusals are allowed */
	bool has_cookies;      /* half_open_max is small */
	bool has_greedy;       /* most sources are greedy; the others must not notice it */
	uint32_t lucky_cookies;
	bool is_stopped; /* everything was aborted once */
	uint32_t flood_per_ms;
	uint32_t per_address;   /* clients that share an address */
	uint32_t pump_delay_us; /* the stack's segments wait for so long: batches */
	uint32_t emit_max;      /* segments per round */
	uint32_t payload_max;
	uint32_t room_wanted; /* the application waits for this much room; 0: as much as the reply needs */
	uint64_t wake_scheduled;
	uint64_t idle_wakes; /* in a row */
	uint32_t batch;      /* segments received since the last emission */
	char failure[400];   /* the first one */
	sim_totals_t totals;
} sim_world_t;

/** Runs a world to its end. False: something was wrong; it has been printed. Counts are added to totals. */
bool sim_world_run(const sim_options_t *options, sim_totals_t *totals);

const char *sim_kind_name(sim_kind_t kind);
const char *sim_end_name(sim_end_t end);

/* ---- between the parts ---- */

/** Notes a failure; the first one counts. `client` may be NULL. */
void sim_fail(sim_world_t *world, const sim_client_t *client, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

/** A line about a client that is traced. */
bool sim_is_traced(const sim_world_t *world, const sim_client_t *client);
void sim_trace(const sim_world_t *world, const sim_client_t *client, const char *format, ...)
		__attribute__((format(printf, 3, 4)));

static inline uint32_t sim_slot(const sim_world_t *world, const sim_client_t *client)
{
	return (uint32_t)(client - world->clients);
}

/** Chooses limits and link of the world, and what each client does. */
void sim_plan_world(sim_world_t *world);
void sim_plan_client(sim_world_t *world, sim_client_t *client);
/** Does this client live beside greedy ones, and so that it is known how long that may take? */
bool sim_is_honest(const sim_world_t *world, const sim_client_t *client);
uint32_t sim_request_len(const sim_client_t *client, uint32_t message);
uint32_t sim_reply_len(const sim_client_t *client, uint32_t message);
/** Resets what is counted for each use of the same ports. */
void sim_plan_incarnation(sim_world_t *world, sim_client_t *client);

kxdp_flow_t sim_flow(const sim_world_t *world, uint32_t slot);
/** UINT32_MAX: not one of the clients. */
uint32_t sim_slot_of(const sim_world_t *world, const kxdp_flow_t *flow);
kxdp_path_t sim_path(const sim_world_t *world, const sim_client_t *client);

/** Puts a segment of the client on the link. */
void sim_send(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet);
void sim_schedule(sim_world_t *world, uint64_t time, sim_event_kind_t kind, uint32_t slot);

void sim_client_start(sim_world_t *world, sim_client_t *client);
void sim_client_receive(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet);
void sim_client_timer(sim_world_t *world, sim_client_t *client);

/** Read and answer what there is. */
void sim_server_read(sim_world_t *world, kxdp_tcp_input_t *input);

/** A client's segment is about to be given to the stack. */
void sim_watch_delivery(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet);
/** The connection has done something that keeps it open. */
void sim_watch_progress(const sim_world_t *world, sim_client_t *client);
/** The stack has sent a segment to a client. False: it belongs to an earlier use of the ports. */
bool sim_watch_emission(sim_world_t *world, sim_client_t *client, const kxdp_segment_t *segment);
