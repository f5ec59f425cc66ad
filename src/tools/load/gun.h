/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A run: threads ("lanes") that each move the messages of a worker, over a queue of an interface or over sockets.
 *
 * Owns interfaces, queues, threads. The main thread prepares, starts, watches (report.h), stops and joins.
 */
#pragma once

#include "src/tools/load/judge.h"
#include "src/tools/load/options.h"
#include "src/tools/load/route.h"
#include "src/tools/load/worker.h"
#include "xdp/inject.h"
#include "xdp/priv.h"
#include "xdp/queue.h"

#include <pthread.h>

enum {
	GUN_PORT_MIN = 2000,
	GUN_PORTS = 65536 - GUN_PORT_MIN,
	GUN_LANES_MAX = 256,
	GUN_BATCH_MAX = KXDP_BATCH_MAX,
	GUN_ADDRESSES_MAX = 1 << 24,
	GUN_TCP_ADDRESSES_MAX = 256,
};

typedef struct gun gun_t;

/** A thread. */
typedef struct {
	gun_t *gun; /* borrowed */
	unsigned index;
	unsigned interface;        /* of gun->interfaces */
	kxdp_queue_t *queue;       /* owned; NULL: sockets */
	struct inbox *inbox;       /* owned: TCP segments that came to other threads; NULL: none */
	kxdp_injector_t *injector; /* owned; NULL: frames go by the queue */
	pthread_t sender;          /* runs the injector */
	bool has_sender;
	bool has_sender_failed; /* atomic; sender_error: why, afterwards */
	char sender_error[256];
	uint64_t sender_told_ns; /* when it was asked to end last */
	uint32_t spared_ns; /* of the time that it would wait awake for what is due: how late sleeps end is learnt */
	worker_t worker;
	pthread_t thread;
	bool is_started;
	bool is_idle;    /* atomic: everything of its own is sent and received */
	bool is_over;    /* atomic: it has ended */
	char error[256]; /* why it ended early; "": it didn't */
} lane_t;

typedef struct {
	route_t route;
	kxdp_iface_t *iface; /* owned; NULL: sockets */
	uint8_t base[16];    /* the first local address; IPv4 as ::ffff:a.b.c.d */
} gun_interface_t;

struct gun {
	const options_t *options; /* borrowed */
	struct sockaddr_storage target;
	uint8_t target_addr[16]; /* as gun_interface_t.base */
	uint16_t target_port;
	worker_plan_t plan;
	queries_t queries;
	schedule_piece_t *pieces; /* owned */
	model_t *model;           /* owned; NULL: nothing is verified */
	kxdp_priv_t *priv;        /* owned */
	gun_interface_t interfaces[OPTIONS_INTERFACES_MAX];
	size_t interface_count;
	lane_t *lanes; /* owned */
	unsigned lane_count;
	uint64_t duration_ns;
	uint64_t start_ns;      /* monotonic: what workers' times count from */
	uint64_t start_wall_ns; /* UNIX time */
	bool stop;              /* atomic: send no more */
	bool ends;              /* atomic: and wait for nothing */
	uint64_t stopped_ns;    /* monotonic: when gun_stop() was called first */
	unsigned clients;       /* sockets per lane, or connections at a time */
};

/** Nanoseconds since the start. */
uint64_t gun_now(const gun_t *gun);

/** How XDP is used, for reports, once queues are open: kxdp_iface_mode_text(), or "native/inject". Static. */
const char *gun_mode_text(const gun_t *gun);

/** What a lane's thread runs. */
void xdp_udp_run(lane_t *lane);
void xdp_tcp_run(lane_t *lane);
void xdp_quic_run(lane_t *lane);
void socket_udp_run(lane_t *lane);
void socket_tcp_run(lane_t *lane);
void socket_quic_run(lane_t *lane);

/** For lanes: start and end the thread that sends their frames, if they have an injector. inject_lane.c. */
bool lane_start_sender(lane_t *lane);
void lane_stop_sender(lane_t *lane);

/** In a turn of a lane that sends no more: ask the sender to end once it has nothing left, without waiting for it. */
void lane_release_sender(lane_t *lane);

/** Something of it, or of its sender, has ended early. */
static inline bool lane_has_failed(const lane_t *lane)
{
	return lane->error[0] != '\0' || __atomic_load_n(&lane->has_sender_failed, __ATOMIC_ACQUIRE);
}

/** Let the sender have the processor. */
void lane_yield(const lane_t *lane);

/** Prepare everything up to the threads. Errors have been said. */
bool gun_open(gun_t *gun, const options_t *options);

/** Start the threads; the schedule begins a moment later. */
bool gun_start(gun_t *gun);

/** Send no more, in all threads; the second time, 50 ms later or more: nor wait for replies. */
void gun_stop(gun_t *gun);

/** True when all threads have ended. */
bool gun_is_over(const gun_t *gun);

/** Wait for the threads. */
void gun_join(gun_t *gun);
void gun_close(gun_t *gun);

/** What a lane does: see lane_phase(). */
typedef enum { LANE_SENDS, LANE_RECEIVES, LANE_ENDS } lane_phase_t;

/** What a lane is to do now. It receives for the timeout after its last query, then ends. */
lane_phase_t lane_phase(lane_t *lane, uint64_t now_ns, uint64_t *io_last_ns);

/** Nanoseconds that a lane may sleep for: until shortly before the next query is due. 0: it must look all the time. */
uint64_t lane_sleep_ns(const lane_t *lane, uint64_t now_ns);

/**
 * A lane that has an AF_XDP queue is done with its own queries: may it end? Not before all others are done, too, as
 * their replies may come to its queue.
 */
bool lane_may_end(lane_t *lane);

/** Learn that a sleep ended so late. */
void lane_note_wake(lane_t *lane, uint64_t late_ns);
