/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies that leave after the worker has gone on: those to dynamic updates, which wait for a commit.
 *
 *     worker: later_take() → behind its read section later_hand_over() → queue of the zone → event: make(), done()
 *     → inbox of the worker → worker: sends, later_free()
 *
 * A later_t is one allocation with one owner at any time: what has to be known to answer the request, a copy of the
 * request, and room for the reply, which is made and signed in its place by the thread that knows the rcode. The worker
 * only sends it, from where the request came in. No socket, frame, snapshot of the configuration or version of a zone
 * is held while it waits.
 *
 * An inbox is a stack that anyone pushes on by compare-and-swap, and that the worker takes whole by one exchange; a
 * sender wakes the worker only when that has announced that it sleeps. An inbox is counted: the worker has one
 * reference, and each request on its way another. So no sender looks for a worker that has ended, as a set of workers
 * changes: it finds the inbox closed, and frees the reply.
 *
 * Threads: the functions of later_t.request from any; the rest from the inbox's worker. Cost: nothing for queries but
 * one relaxed load per turn of the worker; per update an allocation, two counts of references and a copy.
 */
#pragma once

#include "libknot/msg/sign.h"
#include "src/answer/answer.h"
#include "src/update/request.h"
#include "xdp/path.h"

#include <stdatomic.h>

typedef struct later_inbox later_inbox_t;

enum { LATER_CONTROL_MAX = 64 /* bytes of the control message that names the address that was asked */ };

/** How a reply leaves; which one holds is known to the worker, whose alone it is. */
typedef union {
	struct {
		uint32_t socket; /* index among the worker's sockets, which don't change while it runs */
		socklen_t remote_len;
		uint8_t control_len; /* 0: the socket has one address only */
		_Alignas(8) uint8_t control[LATER_CONTROL_MAX];
	} udp;
	struct {
		void *conn; /* borrowed: a connection is kept, closed or not, until its replies came back */
	} tcp;
	struct {
		uint64_t conn; /* kxdp_tcp_conn_t, which is never used again soon; 0: UDP */
		kxdp_flow_t flow;
		kxdp_path_t path;
		uint8_t ecn;
	} xdp;
} later_way_t;

typedef struct later {
	update_request_t request; /* first: what the queue knows of it */
	later_inbox_t *inbox;     /* a reference, until the inbox has it */
	later_way_t way;
	answer_protocol_t protocol;
	uint64_t begin_ns;    /* when it was received; sys_clock_ns() */
	uint16_t payload_max; /* what an OPT says of us */
	bool is_signed;
	knot_tsig_key_t key; /* a copy, behind the bytes */
	knot_tsig_chain_t chain;
	struct sockaddr_storage remote;
	knot_name_t zone; /* in `bytes` */
	size_t bytes_max; /* room */
	size_t reply_len; /* 0: there is none (yet) */
	uint8_t *bytes;   /* the request, then the reply; with two bytes of length in front */
} later_t;

/** Requests of a batch that are to be handed over. Zero but for `inbox` to begin. */
typedef struct {
	later_inbox_t *inbox;  /* borrowed: the worker's */
	later_t *first, *last; /* owned */
	later_t *made; /* the one that the last call of request_answer() made, for its transport to fill in `way`; NULL
			*/
	uint64_t begin_ns; /* of the batch: the worker sets it */
} later_outbox_t;

/**
 * Make an inbox. wake_fd: an eventfd that the worker waits for, duplicated; -1: the inbox gets one of its own.
 * KNOT_ENOMEM, or why there is no descriptor.
 */
KNOT_MUST_USE knot_err_t later_inbox_new(int wake_fd, later_inbox_t **ret_inbox);

/** The worker ends: free what is in it, and let those that are on their way be freed by their senders. NULL is fine. */
void later_inbox_close(later_inbox_t *take_inbox);

/** Readable when a sender woke the worker. */
int later_inbox_fd(const later_inbox_t *inbox);

/** True: later_inbox_take() would find some. One relaxed load. */
bool later_inbox_has(const later_inbox_t *inbox);

/** All that is in it, linked by request.next, oldest first; NULL: none. */
later_t *later_inbox_take(later_inbox_t *inbox);

/** Before the worker sleeps. False: replies have come, don't. */
bool later_inbox_sleep(later_inbox_t *inbox);

/** After the worker slept: senders needn't wake it. is_woken: later_inbox_fd() was readable. */
void later_inbox_awake(later_inbox_t *inbox, bool is_woken);

/**
 * Take a request that the engine has let through, unanswered: a copy, which the outbox links and shows as `made`. For
 * its transport to fill in `way`. chain: verified; its key NULL: the request isn't signed. In the read section that the
 * key is valid in. False: no memory; nothing is answered.
 */
KNOT_MUST_USE bool later_take(later_outbox_t *outbox, const answer_source_t *source, const answer_request_t *request,
		const knot_tsig_chain_t *chain, uint16_t payload_max);

/**
 * Hand over what was taken. What can't wait is answered at once, through the worker's own inbox. Takes locks, so behind
 * the read section. sink NULL: nothing can wait.
 */
void later_hand_over(later_outbox_t *outbox, const update_sink_t *sink);

/** Free one that is in no inbox. NULL is fine. */
void later_free(later_t *take_later);
