/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the thread "remote" keeps: a record per server that is asked, with its queues and connections. Internal to
 * src/remote; used by its thread only.
 */
#pragma once

#include "src/remote/link.h"
#include "src/remote/pace.h"

typedef struct peer peer_t;

/** A connection with its socket. */
typedef struct wire {
	struct wire *next; /* of the peer */
	peer_t *peer;
	link_t link;
	uint64_t number;
	int fd;
	bool is_connected, wants_out, is_own; /* is_own: opened for one transfer */
	bool was_idle;                        /* it was kept after its last use */
	uint64_t begun_ms, idle_ms;           /* idle_ms: since when; 0: it isn't */
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
	unsigned wire_count, own_count;
	uint64_t unreachable_ms; /* until then it isn't tried */
	peer_t *next;            /* of all */
};

typedef struct {
	void *map;   /* owned: of tsearch() */
	peer_t *all; /* owned: a list */
} peers_t;

/** The server that a request is for; made if need be. NULL: out of memory. */
peer_t *peers_get(peers_t *peers, const remote_request_t *request);

/** True if nothing is known or wanted of it. */
bool peer_is_idle(const peer_t *peer, uint64_t now_ms);

/** Forget an idle peer. at: what points to it. */
void peers_drop(peers_t *peers, peer_t **at);

/* ---- Queues ---- */

void requests_put(requests_t *queue, remote_request_t *request);
void requests_put_first(requests_t *queue, remote_request_t *request);
remote_request_t *requests_take(requests_t *queue);

/** A socket on its way to the server. An errno code. */
KNOT_MUST_USE knot_err_t peer_connect(const peer_t *peer, int *ret_fd);
