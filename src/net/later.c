/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/later.h"

#include "libknot/msg/tsig.h"
#include "libknot/msg/writer.h"
#include "src/sys/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	ARCOUNT_OFF = 10,
	LENGTH_LEN = 2, /* in front of a message over a stream */
	/* What a reply may have that its request lacks: an OPT with an extended error. TSIG is reserved for by itself.
	 */
	REPLY_EXTRA = KNOT_OPT_LEN + KNOT_OPTION_HEAD_LEN + KNOT_EDE_LEN,
};

_Static_assert(offsetof(later_t, request) == 0, "the queue gives back what it got");

struct later_inbox {
	_Atomic(later_t *) head; /* newest first; LATER_CLOSED: the worker has ended */
	atomic_uint refs;
	atomic_bool sleeps;
	int wake_fd; /* owned */
};

/* No later_t has this address. */
static later_t later_closed_mark;
#define LATER_CLOSED (&later_closed_mark)

/* ---- Inboxes ---- */

knot_err_t later_inbox_new(int wake_fd, later_inbox_t **ret_inbox)
{
	later_inbox_t *inbox = malloc(sizeof(*inbox));
	if (inbox == NULL) {
		return KNOT_ENOMEM;
	}
	inbox->wake_fd = wake_fd >= 0 ? fcntl(wake_fd, F_DUPFD_CLOEXEC, 0) : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->wake_fd < 0) {
		free(inbox);
		return knot_err_of_errno(errno);
	}
	atomic_init(&inbox->head, NULL);
	atomic_init(&inbox->refs, 1);
	atomic_init(&inbox->sleeps, false);
	*ret_inbox = inbox;
	return KNOT_OK;
}

static void later_inbox_unref(later_inbox_t *inbox)
{
	if (atomic_fetch_sub_explicit(&inbox->refs, 1, memory_order_acq_rel) == 1) {
		close(inbox->wake_fd);
		free(inbox);
	}
}

void later_inbox_close(later_inbox_t *take_inbox)
{
	if (take_inbox == NULL) {
		return;
	}
	later_t *list = atomic_exchange(&take_inbox->head, LATER_CLOSED);
	assert(list != LATER_CLOSED);
	for (later_t *next; list != NULL; list = next) {
		next = (later_t *)list->request.next;
		later_free(list);
	}
	later_inbox_unref(take_inbox);
}

int later_inbox_fd(const later_inbox_t *inbox)
{
	return inbox->wake_fd;
}

bool later_inbox_has(const later_inbox_t *inbox)
{
	return atomic_load_explicit(&inbox->head, memory_order_relaxed) != NULL;
}

later_t *later_inbox_take(later_inbox_t *inbox)
{
	later_t *newest = atomic_exchange_explicit(&inbox->head, NULL, memory_order_acquire), *oldest = NULL;
	assert(newest != LATER_CLOSED);
	for (later_t *next; newest != NULL; newest = next) {
		next = (later_t *)newest->request.next;
		newest->request.next = (update_request_t *)oldest;
		oldest = newest;
	}
	return oldest;
}

bool later_inbox_sleep(later_inbox_t *inbox)
{
	/* Sequentially consistent, as is the push: either we see what was pushed, or the sender that we sleep. */
	atomic_store(&inbox->sleeps, true);
	if (atomic_load(&inbox->head) == NULL) {
		return true;
	}
	atomic_store(&inbox->sleeps, false);
	return false;
}

void later_inbox_awake(later_inbox_t *inbox, bool is_woken)
{
	atomic_store(&inbox->sleeps, false);
	eventfd_t count;
	if (is_woken) {
		(void)eventfd_read(inbox->wake_fd, &count);
	}
}

/* False: closed; the caller still has it. The reference is the caller's from then on. */
static bool later_inbox_push(later_inbox_t *inbox, later_t *later)
{
	later_t *head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
	do {
		if (head == LATER_CLOSED) {
			return false;
		}
		later->request.next = (update_request_t *)head;
	} while (!atomic_compare_exchange_weak(&inbox->head, &head, later));
	if (atomic_load(&inbox->sleeps) && atomic_exchange(&inbox->sleeps, false)) {
		(void)eventfd_write(inbox->wake_fd, 1);
	}
	return true;
}

/* ---- Replies ---- */

/* The primary's reply to a request that only it can verify, signed by it: only the ID is the client's. */
static void later_copy_reply(later_t *later)
{
	uint16_t id = load_be16(later->bytes);
	memcpy(later->bytes, later->request.reply.data, later->request.reply.len);
	store_be16(later->bytes, id);
	later->reply_len = later->request.reply.len;
	store_be16(later->bytes - LENGTH_LEN, (uint16_t)later->reply_len);
}

/* In the place of the request. The reply has no OPT, as Knot's, unless there is an extended error to say. */
static void later_make_reply(later_t *later, uint16_t ede)
{
	if (later->request.reply.len >= KNOT_MSG_HEADER_LEN && later->request.reply.len <= later->bytes_max) {
		later_copy_reply(later);
		return;
	}
	knot_query_t query;
	knot_msg_verdict_t verdict = knot_query_parse(later->request.message, &query);
	assert(verdict == KNOT_MSG_OK); /* as when it was taken */
	(void)verdict;
	knot_msg_writer_t w;
	knot_msg_begin_reply(&w, (knot_mut_bytes_t){ later->bytes, later->bytes_max }, &query);
	if (ede != KNOT_EDE_NONE && query.edns.present) {
		knot_err_t err = knot_msg_put_opt(&w, later->payload_max, later->request.rcode, 0, 0);
		err = err == KNOT_OK ? knot_msg_put_ede(&w, ede, (knot_str_t){ NULL, 0 }) : err;
		assert(err == KNOT_OK); /* REPLY_EXTRA */
		(void)err;
	}
	later->reply_len = knot_msg_finish(&w, query.id, knot_msg_reply_flags(&query, 0, later->request.rcode));
	if (later->is_signed && knot_tsig_sign(&later->chain, &w, sys_clock_wall(), &later->reply_len) != KNOT_OK) {
		later->reply_len = 0; /* GnuTLS doesn't: an unsigned one would be taken for a forgery */
	}
	store_be16(later->bytes - LENGTH_LEN, (uint16_t)later->reply_len);
}

static void later_send(later_t *take_later)
{
	later_inbox_t *inbox = take_later->inbox;
	take_later->inbox = NULL;
	if (!later_inbox_push(inbox, take_later)) {
		later_free(take_later);
	}
	later_inbox_unref(inbox);
}

/* ---- Requests ---- */

static void later_make(update_request_t *request)
{
	later_make_reply((later_t *)request, KNOT_EDE_NONE);
}

static void later_done(update_request_t *take_request)
{
	later_send((later_t *)take_request);
}

/* Copies of the key's name and secret at `at`, where there is room. */
static void later_copy_key(later_t *later, const knot_tsig_chain_t *chain, uint8_t *at)
{
	const knot_tsig_key_t *key = chain->key;
	memcpy(at, key->name.wire, key->name.len);
	memcpy(at + key->name.len, key->secret.data, key->secret.len);
	later->key = (knot_tsig_key_t){
		.name = { at, key->name.len, key->name.label_count },
		.algorithm = key->algorithm,
		.secret = { at + key->name.len, key->secret.len },
	};
	later->chain = *chain;
	later->chain.key = &later->key;
	later->is_signed = true;
}

/* The request without its signature, which was verified: another server may get it signed by another key. */
static void later_strip_tsig(later_t *later)
{
	uint8_t key_wire[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	knot_err_t err = knot_tsig_read(later->request.message, key_wire, &tsig);
	assert(err == KNOT_OK); /* as when it was verified */
	(void)err;
	later->request.message.len = tsig.off;
	store_be16(later->bytes + ARCOUNT_OFF, (uint16_t)(load_be16(later->bytes + ARCOUNT_OFF) - 1));
}

static void later_copy_remote(later_t *later, const struct sockaddr *remote)
{
	size_t len = remote->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
		     : remote->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_un);
	memcpy(&later->remote, remote, len);
	later->request.remote = (const struct sockaddr *)&later->remote;
}

bool later_take(later_outbox_t *outbox, const answer_source_t *source, const answer_request_t *request,
		const knot_tsig_chain_t *chain, uint16_t payload_max)
{
	const knot_query_t *query = &request->query;
	const knot_tsig_key_t *key = chain->key;
	size_t room = query->wire.len + REPLY_EXTRA + (key != NULL ? knot_tsig_len(chain) : 0);
	size_t size = sizeof(later_t) + LENGTH_LEN + room + (key != NULL ? key->name.len + key->secret.len : 0);
	later_t *later = malloc(size);
	if (later == NULL) {
		return false;
	}
	memset(later, 0, sizeof(*later));
	later->bytes = (uint8_t *)(later + 1) + LENGTH_LEN;
	later->bytes_max = room;
	memcpy(later->bytes, query->wire.data, query->wire.len);
	if (key != NULL) {
		later_copy_key(later, chain, later->bytes + room);
	}
	later_copy_remote(later, source->remote);
	later->request.message = (knot_bytes_t){ later->bytes, query->wire.len };
	later->request.is_foreign = query->has_tsig && key == NULL;
	later->request.size = size;
	later->request.make = later_make;
	later->request.done = later_done;
	later->zone = (knot_name_t){ later->bytes + KNOT_MSG_QNAME_OFF, query->qname.len, query->qname.label_count };
	if (key != NULL && query->has_tsig) {
		later_strip_tsig(later);
	}
	later->protocol = source->protocol;
	later->payload_max = payload_max;
	later->begin_ns = outbox->begin_ns;
	later->inbox = outbox->inbox;
	atomic_fetch_add_explicit(&later->inbox->refs, 1, memory_order_relaxed);
	if (outbox->last != NULL) {
		outbox->last->request.next = &later->request;
	} else {
		outbox->first = later;
	}
	outbox->last = outbox->made = later;
	return true;
}

void later_free(later_t *take_later)
{
	if (take_later != NULL && take_later->is_signed) {
		explicit_bzero((void *)(uintptr_t)take_later->key.secret.data, take_later->key.secret.len);
	}
	free(take_later);
}

void later_hand_over(later_outbox_t *outbox, const update_sink_t *sink)
{
	static const struct {
		uint16_t rcode, ede;
	} refusals[UPDATE_PUT_END] = {
		[UPDATE_NO_ZONE] = { KNOT_RCODE_NOTAUTH, KNOT_EDE_NONE },
		[UPDATE_FROZEN] = { KNOT_RCODE_REFUSED, KNOT_EDE_NOT_READY },
		[UPDATE_NO_ROOM] = { KNOT_RCODE_REFUSED, KNOT_EDE_NONE },
		[UPDATE_NO_MEMORY] = { KNOT_RCODE_SERVFAIL, KNOT_EDE_NONE },
	};
	later_t *later = outbox->first;
	outbox->first = outbox->last = outbox->made = NULL;
	for (later_t *next; later != NULL; later = next) {
		next = (later_t *)later->request.next;
		update_put_t put = sink != NULL ? sink->put(sink->ctx, later->zone, &later->request) : UPDATE_NO_ROOM;
		if (put != UPDATE_WAITS) {
			later->request.rcode = refusals[put].rcode;
			later_make_reply(later, refusals[put].ede);
			later_send(later);
		}
	}
}
