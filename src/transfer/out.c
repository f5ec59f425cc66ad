/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/out.h"

#include "libknot/msg/writer.h"
#include "src/transfer/out_page.h"
#include "src/zone/image.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>

/* What comes next. A transfer goes from SOA to END in this order, and leaves out what it doesn't have. */
typedef enum {
	AT_SOA,   /* the SOA of the version */
	AT_NODES, /* AXFR: all records but that */
	AT_STEPS, /* IXFR: the changes */
	AT_LAST,  /* the SOA again */
	AT_END,
} at_t;

/* AXFR: the next RRset. */
typedef struct {
	zone_node_iter_t iter;
	const zone_node_t *node; /* NULL: all were given out */
	unsigned number;         /* of its RRset */
	bool sigs;               /* the RRset's signatures are next */
} walk_t;

/* IXFR: the next record. */
typedef struct {
	size_t number; /* of the step */
	steps_out_records_t records;
	changeset_rr_t rr;
	bool has_rr; /* it didn't fit the message before */
} replay_t;

struct transfer_out {
	zone_contents_t *held; /* owned */
	atomic_int state;      /* transfer_out_state_t */
	at_t at;
	bool is_ixfr, may_ixfr, is_axfr, has_ended_early;
	uint32_t serial; /* the client's */
	steps_out_verdict_t history;
	knot_err_t err;
	steps_out_t *steps; /* a user; NULL: none */
	walk_t *walk;       /* owned; NULL: IXFR */
	replay_t replay;
	uint64_t message_count, byte_count, begin_us, end_us;
	transfer_out_link_t links[TRANSFER_OUT_LINK_COUNT];
	void *waker; /* the service's */
	bool has_key;
	knot_tsig_chain_t chain; /* has_key: of `key` */
	knot_tsig_key_t key;
	uint8_t key_name[KNOT_NAME_MAX];
	struct sockaddr_storage remote;
	uint16_t question_end, reply_len;
	uint8_t reply[TRANSFER_OUT_TEMPLATE_MAX];
	uint8_t secret[];
};

/* ---- Beginning and end ---- */

static void out_set_state(transfer_out_t *out, transfer_out_state_t state)
{
	atomic_store_explicit(&out->state, (int)state, memory_order_release);
}

transfer_out_state_t transfer_out_state(const transfer_out_t *out)
{
	return (transfer_out_state_t)atomic_load_explicit(&out->state, memory_order_acquire);
}

static size_t out_sockaddr_len(const struct sockaddr *remote)
{
	return remote->sa_family == AF_INET6  ? sizeof(struct sockaddr_in6)
	       : remote->sa_family == AF_INET ? sizeof(struct sockaddr_in)
					      : sizeof(sa_family_t);
}

static void out_take_chain(transfer_out_t *out, const knot_tsig_chain_t *chain)
{
	const knot_tsig_key_t *key = chain->key;
	assert(chain->pending == NULL); /* of a server's chain */
	memcpy(out->key_name, key->name.wire, key->name.len);
	memcpy(out->secret, key->secret.data, key->secret.len);
	out->key = (knot_tsig_key_t){
		.name = { out->key_name, key->name.len, key->name.label_count },
		.algorithm = key->algorithm,
		.secret = { out->secret, key->secret.len },
	};
	out->chain = *chain;
	out->chain.key = &out->key;
	out->has_key = true;
}

static bool out_begin_axfr(transfer_out_t *out)
{
	out->walk = malloc(sizeof(*out->walk));
	if (out->walk == NULL) {
		return false;
	}
	out->walk->number = 0;
	out->walk->sigs = false;
	zone_nodes_begin(out->held, &out->walk->iter);
	out->walk->node = zone_nodes_next(out->held, &out->walk->iter);
	out->is_axfr = true;
	return true;
}

transfer_out_t *transfer_out_new(const transfer_out_ask_t *ask)
{
	assert(ask->reply.len <= TRANSFER_OUT_TEMPLATE_MAX && ask->reply.len > KNOT_MSG_HEADER_LEN);
	size_t secret_len = ask->chain != NULL ? ask->chain->key->secret.len : 0;
	transfer_out_t *out = calloc(1, sizeof(*out) + secret_len);
	if (out == NULL) {
		return NULL;
	}
	out->held = zone_image_hold(ask->contents);
	out->is_ixfr = ask->is_ixfr;
	out->may_ixfr = ask->may_ixfr;
	out->serial = ask->serial;
	out->begin_us = ask->now_us;
	memcpy(out->reply, ask->reply.data, ask->reply.len);
	out->reply_len = (uint16_t)ask->reply.len;
	out->question_end = (uint16_t)(KNOT_MSG_HEADER_LEN + ask->contents->apex->owner_len + 4);
	assert(out->question_end <= out->reply_len);
	memcpy(&out->remote, ask->remote, out_sockaddr_len(ask->remote));
	if (ask->chain != NULL) {
		out_take_chain(out, ask->chain);
	}
	bool needs_steps = ask->is_ixfr && ask->may_ixfr;
	if (out->held == NULL || (!needs_steps && !out_begin_axfr(out))) {
		transfer_out_free(out);
		return NULL;
	}
	atomic_init(&out->state, needs_steps ? TRANSFER_OUT_UNPREPARED : TRANSFER_OUT_READY);
	return out;
}

static void out_fail(transfer_out_t *out, knot_err_t err)
{
	out->err = err;
	out->at = AT_END;
}

/* Changes that are larger than the zone aren't worth their memory, and neither are those above any bound. */
static size_t out_steps_max(const transfer_out_t *out)
{
	enum { LEAST = 1 << 20, MOST = 32 << 20 };
	uint64_t size = out->held->wire_size;
	return size < LEAST ? LEAST : size > MOST ? MOST : (size_t)size;
}

void transfer_out_prepare(transfer_out_t *out,
		steps_out_verdict_t (*find)(knot_name_t zone, uint32_t serial_from, uint32_t serial_to, size_t len_max,
				steps_out_t **ret_steps, void *ctx),
		void *ctx)
{
	assert(transfer_out_state(out) == TRANSFER_OUT_UNPREPARED);
	out->history = find(zone_node_owner(out->held->apex), out->serial, out->held->serial, out_steps_max(out),
			&out->steps, ctx);
	switch (out->history) {
	case STEPS_OUT_OK: {
		size_t count;
		out->replay.records = steps_out_records(steps_out_list(out->steps, &count));
		assert(count > 0);
		break;
	}
	case STEPS_OUT_INCOMPLETE:
	case STEPS_OUT_UNUSABLE:
		if (!out_begin_axfr(out)) {
			out_fail(out, KNOT_ENOMEM);
		}
		break;
	}
}

void transfer_out_release(transfer_out_t *out)
{
	out_set_state(out, TRANSFER_OUT_READY);
}

void transfer_out_end(transfer_out_t *out, uint64_t now_us)
{
	out->has_ended_early = transfer_out_state(out) < TRANSFER_OUT_DONE;
	out->end_us = now_us;
}

void transfer_out_free(transfer_out_t *take_out)
{
	if (take_out != NULL) {
		zone_contents_free(take_out->held);
		steps_out_drop(take_out->steps);
		free(take_out->walk);
		explicit_bzero(take_out->secret, take_out->key.secret.len);
		free(take_out);
	}
}

transfer_out_link_t *transfer_out_link(transfer_out_t *out, transfer_out_link_kind_t kind)
{
	out->links[kind].out = out;
	return &out->links[kind];
}

bool transfer_out_link_is(const transfer_out_link_t *link, transfer_out_link_kind_t kind)
{
	return link == &link->out->links[kind];
}

void transfer_out_set_waker(transfer_out_t *out, void *waker)
{
	out->waker = waker;
}

void *transfer_out_waker(const transfer_out_t *out)
{
	return out->waker;
}

transfer_out_facts_t transfer_out_facts_at_begin(const transfer_out_t *out)
{
	return (transfer_out_facts_t){
		.zone = zone_node_owner(out->held->apex),
		.remote = (const struct sockaddr *)&out->remote,
		.key = out->has_key ? out->key.name : (knot_name_t){ .len = 0 },
		.is_ixfr = out->is_ixfr,
		.is_axfr = out->is_axfr,
		.serial_from = out->serial,
		.serial_to = out->held->serial,
		.history = out->history,
		.may_ixfr = out->may_ixfr,
	};
}

transfer_out_facts_t transfer_out_facts(const transfer_out_t *out)
{
	transfer_out_facts_t facts = transfer_out_facts_at_begin(out);
	facts.state = transfer_out_state(out);
	facts.has_ended_early = out->has_ended_early;
	facts.err = out->err;
	facts.message_count = out->message_count;
	facts.byte_count = out->byte_count;
	facts.time_us = out->end_us - out->begin_us;
	return facts;
}

/* ---- Messages ---- */

/* The SOA of the version. */
static out_put_t out_put_soa(const transfer_out_t *out, out_page_t *page)
{
	const zone_node_t *apex = out->held->apex;
	const zone_rrset_t *soa = zone_node_rrset(&out->held->arena, apex, KNOT_TYPE_SOA);
	assert(soa != NULL); /* the builder refuses a zone without */
	zone_block_t body = zone_rrset_body(soa);
	return out_page_put_block(page, apex, &body);
}

/* Go to the next RRset, or the signatures of this one. */
static inline void walk_step(walk_t *walk, const zone_contents_t *zone, const zone_rrset_t *set)
{
	if (!walk->sigs && zone_rrset_has_sigs(set)) {
		walk->sigs = true;
		return;
	}
	walk->sigs = false;
	if (++walk->number < zone_node_rrset_count(walk->node)) {
		return;
	}
	walk->number = 0;
	do { /* empty non-terminals have nothing */
		walk->node = zone_nodes_next(zone, &walk->iter);
	} while (walk->node != NULL && zone_node_rrset_count(walk->node) == 0);
}

/* Records of the version, until the message is full or there are none left. */
static out_put_t out_put_nodes(transfer_out_t *out, out_page_t *page)
{
	walk_t *walk = out->walk;
	const zone_contents_t *zone = out->held;
	while (walk->node != NULL) {
		const zone_rrset_t *set = zone_node_rrset_at(&zone->arena, walk->node, walk->number);
		bool is_soa = walk->node == zone->apex && !walk->sigs && zone_rrset_type(set) == KNOT_TYPE_SOA;
		if (!is_soa) {
			if (zone_rrset_is_huge(set)) {
				return OUT_PUT_NEVER;
			}
			zone_block_t block = walk->sigs ? zone_rrset_sigs(set) : zone_rrset_body(set);
			out_put_t put = out_page_put_block(page, walk->node, &block);
			if (put != OUT_PUT_OK) {
				return put;
			}
		}
		walk_step(walk, zone, set);
		if (out_page_is_full(page)) {
			return OUT_PUT_FULL;
		}
	}
	return OUT_PUT_OK;
}

/* Changes, record by record. */
static out_put_t out_put_steps(transfer_out_t *out, out_page_t *page)
{
	replay_t *replay = &out->replay;
	size_t count;
	const steps_out_step_t *list = steps_out_list(out->steps, &count);
	while (true) {
		if (!replay->has_rr && !steps_out_next(&replay->records, &replay->rr)) {
			if (++replay->number == count) {
				return OUT_PUT_OK;
			}
			replay->records = steps_out_records(&list[replay->number]);
			continue;
		}
		out_put_t put = out_page_put_rr(page, &replay->rr);
		replay->has_rr = put != OUT_PUT_OK;
		if (put != OUT_PUT_OK) {
			return put;
		}
		if (out_page_is_full(page)) {
			return OUT_PUT_FULL;
		}
	}
}

/* Put records until the message is full or all are put. Returns OK or FULL: send it; NEVER: it can't go on. */
static out_put_t out_fill(transfer_out_t *out, out_page_t *page)
{
	while (out->at != AT_END) {
		out_put_t put = OUT_PUT_OK;
		at_t next = AT_END;
		switch (out->at) {
		case AT_SOA:
			put = out_put_soa(out, page);
			next = out->steps != NULL ? AT_STEPS : AT_NODES;
			break;
		case AT_NODES:
			put = out_put_nodes(out, page);
			next = AT_LAST;
			break;
		case AT_STEPS:
			put = out_put_steps(out, page);
			next = AT_LAST;
			break;
		case AT_LAST: put = out_put_soa(out, page); break;
		case AT_END: break;
		}
		if (put != OUT_PUT_OK) {
			return put == OUT_PUT_FULL && page->w.counts[KNOT_SECTION_ANSWER] == 0 ? OUT_PUT_NEVER : put;
		}
		out->at = next;
	}
	return OUT_PUT_OK;
}

/* OPT, header, TSIG. */
static size_t out_finish(transfer_out_t *out, out_page_t *page, uint16_t rcode, uint64_t now_s)
{
	knot_msg_writer_t *w = &page->w;
	size_t opt_len = (size_t)out->reply_len - out->question_end;
	knot_msg_release(w);
	assert(opt_len <= w->max - w->len); /* reserved */
	memcpy(w->data + w->len, out->reply + out->question_end, opt_len);
	w->len += opt_len;
	w->counts[KNOT_SECTION_ADDITIONAL] = opt_len > 0;
	uint16_t flags = (uint16_t)(load_be16(out->reply + 2) & ~(KNOT_FLAG_AA | KNOT_RCODE_MASK));
	flags |= rcode != KNOT_RCODE_NOERROR ? rcode : KNOT_FLAG_AA;
	size_t len = knot_msg_finish(w, load_be16(out->reply), flags);
	if (out->has_key && knot_tsig_sign(&out->chain, w, now_s, &len) != KNOT_OK) {
		out->err = KNOT_ERROR; /* the client drops what isn't signed */
		out->at = AT_END;
	}
	out->message_count++;
	out->byte_count += len;
	return len;
}

/* A message with room for what follows the records. */
static void out_begin_page(transfer_out_t *out, knot_mut_bytes_t room, out_page_t *page)
{
	size_t reserved = (size_t)out->reply_len - out->question_end;
	reserved += out->has_key ? knot_tsig_len(&out->chain) : 0;
	out_page_begin(page, room, (knot_bytes_t){ out->reply, out->question_end }, zone_node_owner(out->held->apex));
	bool has_room = knot_msg_reserve(&page->w, reserved);
	assert(has_room);
	(void)has_room;
}

size_t transfer_out_next(transfer_out_t *out, knot_mut_bytes_t room, uint64_t now_s)
{
	assert(transfer_out_state(out) == TRANSFER_OUT_READY && room.len >= KNOT_MSG_MAX);
	out_page_t page;
	out_begin_page(out, room, &page);
	if (out->err == KNOT_OK && out_fill(out, &page) == OUT_PUT_NEVER) {
		out_fail(out, KNOT_ESPACE);
	}
	bool has_failed = out->err != KNOT_OK;
	if (has_failed) {
		out_begin_page(out, room, &page);
	}
	size_t len = out_finish(out, &page, has_failed ? KNOT_RCODE_SERVFAIL : KNOT_RCODE_NOERROR, now_s);
	if (out->at == AT_END) {
		out_set_state(out, out->err != KNOT_OK ? TRANSFER_OUT_FAILED : TRANSFER_OUT_DONE);
	}
	return len;
}
