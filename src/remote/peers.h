/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the thread "remote" keeps: a record per server that is asked, with its queues and connections. Internal to
 * src/remote; used by its thread only.
 */
#pragma once

#include "src/remote/link.h"
#include "src/remote/pace.h"

typedef struct peer peer_t;

/** What a connection is for. Those for urgent questions carry no others, which would be before them at the server. */
typedef enum { WIRE_PLAIN, WIRE_URGENT, WIRE_STREAM, WIRE_KINDS } wire_kind_t;

/** A connection with its socket. */
typedef struct wire {
	struct wire *next; /* of the peer */
	peer_t *peer;
	link_t link;
	uint64_t number;
	int fd;
	wire_kind_t kind;
	bool is_connected, wants_out;
	bool was_idle;              /* it was kept after its last use */
	uint64_t begun_ms, idle_ms; /* idle_ms: since when it is kept; 0: it isn't */
	uint64_t empty_ms;          /* it lingers without a question since then; 0: it doesn't */
} wire_t;

typedef struct {
	remote_request_t *first, **end;
} requests_t;

enum { PEER_URGENT, PEER_PLAIN, PEER_STREAMS, PEER_QUEUES };

/** Who is asked, and from where. All bytes are set, so that keys are compared by them. */
typedef struct {
	conf_addr_t to, via; /* via: len 0: any */
} peer_key_t;

struct peer {
	peer_key_t key;
	pace_t pace;
	requests_t queues[PEER_QUEUES];
	wire_t *wires;
	unsigned counts[WIRE_KINDS];
	uint64_t unreachable_ms; /* until then it isn't tried */
	bool ends_streams;       /* it closes connections after a transfer: each has its own */
	bool is_touched;         /* something happened to it since the thread looked at it */
	peer_t *next_touched;
	peer_t *next; /* of all */
};

typedef struct {
	void *map;   /* owned: of tsearch() */
	peer_t *all; /* owned: a list */
	peer_t *touched;
} peers_t;

/** Let the thread look at a peer before it waits. */
void peers_touch(peers_t *peers, peer_t *peer);

/** The server that a request is for; made if need be. NULL: out of memory. */
peer_t *peers_get(peers_t *peers, const remote_request_t *request);

/** True if nothing is known or wanted of it. */
bool peer_is_idle(const peer_t *peer, uint64_t now_ms);

/** Forget an idle peer that isn't touched. at: what points to it. */
void peers_drop(peers_t *peers, peer_t **at);

/* ---- Queues ---- */

void requests_put(requests_t *queue, remote_request_t *request);
void requests_put_first(requests_t *queue, remote_request_t *request);
remote_request_t *requests_take(requests_t *queue);

/** A socket on its way to the server. An errno code. */
KNOT_MUST_USE knot_err_t peer_connect(const peer_t *peer, int *ret_fd);
