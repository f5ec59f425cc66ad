/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel program knows of the host follows what the caller knows: the difference goes to the helper. */
#include "xdp/iface.h"
#include "xdp/priv_call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)KXDP_KNOWN_MAX == (int)FILTER_KNOWN_MAX, "the map has room for all that is known");
_Static_assert((int)KXDP_NEAR_MAX == (int)FILTER_NEAR_MAX, "near addresses");

/**
 * Entries on their way to the helper, some per message. After an error nothing more is sent.
 */
typedef struct {
	kxdp_iface_t *iface;
	priv_know_t request;
	knot_err_t err; /* the first */
	kxdp_fault_t fault;
} batch_t;

static void batch_send(batch_t *batch)
{
	if (batch->err == KNOT_OK && batch->request.count > 0) {
		priv_answer_t answer;
		batch->err = kxdp_priv_call(batch->iface->priv, &batch->request, &answer, &batch->fault);
	}
	batch->request = (priv_know_t){ .kind = PRIV_KNOW, .iface = batch->iface->id };
}

static void batch_add(batch_t *batch, const kxdp_known_t *known, uint8_t value)
{
	if (batch->request.count == PRIV_KNOWN_MAX) {
		batch_send(batch);
	}
	priv_known_t *entry = &batch->request.entries[batch->request.count++];
	*entry = (priv_known_t){ .bits = known->bits, .kind = known->kind, .value = value };
	memcpy(entry->data, known->data, sizeof(entry->data));
}

/* ---- What differs ---- */

/*
 * What the map has and what it is to have, entry by entry in their order; either may be NULL. An entry of iface->known
 * with the value 0 is unsure: a change that failed may have set, changed or removed it. It differs from each value.
 */
typedef struct {
	const kxdp_iface_t *iface;
	const kxdp_host_t *host;
	size_t old_at, next_at;
	const kxdp_known_t *old, *next; /* the pair at hand, of the same key where both are there */
} pairs_t;

static bool pairs_step(pairs_t *pairs)
{
	bool has_old = pairs->old_at < pairs->iface->known_count, has_next = pairs->next_at < pairs->host->known_count;
	const kxdp_known_t *old = has_old ? &pairs->iface->known[pairs->old_at] : NULL;
	const kxdp_known_t *next = has_next ? &pairs->host->known[pairs->next_at] : NULL;
	int order = has_old && has_next ? kxdp_known_compare(old, next) : has_old ? -1 : 1;
	pairs->old = has_old && order <= 0 ? old : NULL;
	pairs->next = has_next && order >= 0 ? next : NULL;
	pairs->old_at += pairs->old != NULL;
	pairs->next_at += pairs->next != NULL;
	return pairs->old != NULL || pairs->next != NULL;
}

static bool pairs_differ(const pairs_t *pairs)
{
	return pairs->old == NULL || pairs->next == NULL || pairs->old->value != pairs->next->value;
}

/* Send what is new: entries that the map lacks or has with another value. */
static void host_send_news(batch_t *batch, const kxdp_host_t *host)
{
	for (pairs_t pairs = { .iface = batch->iface, .host = host }; pairs_step(&pairs);) {
		if (pairs.next != NULL && pairs_differ(&pairs)) {
			batch_add(batch, pairs.next, pairs.next->value);
		}
	}
	batch_send(batch);
}

/* Remove what is past. also_changed: also entries that have another value now. */
static void host_send_past(batch_t *batch, const kxdp_host_t *host, bool also_changed)
{
	for (pairs_t pairs = { .iface = batch->iface, .host = host }; pairs_step(&pairs);) {
		if (pairs.old != NULL && (pairs.next == NULL || (also_changed && pairs_differ(&pairs)))) {
			batch_add(batch, pairs.old, 0);
		}
	}
	batch_send(batch);
}

/* True if the map has room for old and new entries at the same time, and it is sure what it has. */
static bool host_fits(const kxdp_iface_t *iface, const kxdp_host_t *host)
{
	size_t count = 0;
	bool is_sure = true;
	for (pairs_t pairs = { .iface = iface, .host = host }; pairs_step(&pairs); count++) {
		is_sure = is_sure && (pairs.old == NULL || pairs.old->value != 0);
	}
	return is_sure && count <= KXDP_KNOWN_MAX;
}

/* Only what stays as it is, after what is past was removed. */
static void host_note_removed(kxdp_iface_t *iface, const kxdp_host_t *host)
{
	size_t count = 0;
	for (pairs_t pairs = { .iface = iface, .host = host }; pairs_step(&pairs);) {
		if (!pairs_differ(&pairs)) {
			iface->known[count++] = *pairs.next; /* not ahead of where `old` is read */
		}
	}
	iface->known_count = count;
}

/*
 * After a failure what differs is unsure; new entries only if some may have been sent. room: for the entries of both.
 * Never more than KXDP_KNOWN_MAX are noted, as new entries are only sent when the map has room for them.
 */
static void host_note_unsure(kxdp_iface_t *iface, const kxdp_host_t *host, bool was_sent, kxdp_known_t *take_room)
{
	size_t count = 0;
	for (pairs_t pairs = { .iface = iface, .host = host }; pairs_step(&pairs);) {
		if (pairs.old != NULL || was_sent) {
			take_room[count] = pairs.old != NULL ? *pairs.old : *pairs.next;
			take_room[count].value = pairs_differ(&pairs) ? 0 : take_room[count].value;
			count++;
		}
	}
	assert(count <= KXDP_KNOWN_MAX);
	free(iface->known);
	iface->known = take_room;
	iface->known_count = count;
}

static void host_note_done(kxdp_iface_t *iface, const kxdp_host_t *host, kxdp_known_t *take_room)
{
	if (host->known_count > 0) {
		memcpy(take_room, host->known, host->known_count * sizeof(*take_room));
	}
	free(iface->known);
	iface->known = take_room;
	iface->known_count = host->known_count;
}

/* ---- All of it ---- */

static priv_host_t host_request(const kxdp_iface_t *iface, const kxdp_host_t *host)
{
	priv_host_t request = {
		.kind = PRIV_HOST,
		.iface = iface->id,
		.flags = (host->check_mac ? PRIV_HOST_MAC : 0) | (host->check_vlan ? PRIV_HOST_VLAN : 0) |
			 (host->check_address ? PRIV_HOST_ADDRESS : 0),
		.host = { .ipv4_count = host->ipv4_count,
				.ipv6_count = host->ipv6_count,
				.broadcast_mask_be = host->broadcast_mask_be,
				.broadcast_bits_be = host->broadcast_bits_be },
	};
	memcpy(request.host.mac, host->mac, sizeof(host->mac));
	memcpy(request.host.ipv6, host->ipv6, sizeof(host->ipv6));
	memcpy(request.host.ipv4_be, host->ipv4_be, sizeof(host->ipv4_be));
	return request;
}

/* Say what most packets are for, and what to check. */
static void host_send_request(batch_t *batch, const kxdp_host_t *host)
{
	kxdp_iface_t *iface = batch->iface;
	const priv_host_t request = host_request(iface, host);
	if (batch->err == KNOT_OK && memcmp(&request, &iface->host, sizeof(request)) != 0) {
		priv_answer_t answer;
		batch->err = kxdp_priv_call(iface->priv, &request, &answer, &batch->fault);
		/* The helper takes all or nothing, but an answer that is lost doesn't say which. */
		iface->host = batch->err == KNOT_OK ? request : (priv_host_t){ .kind = PRIV_NONE };
	}
}

knot_err_t kxdp_iface_set_host(kxdp_iface_t *iface, const kxdp_host_t *host, kxdp_fault_t *ret_fault)
{
	static const kxdp_host_t unchecked;
	assert(host->known_count <= KXDP_KNOWN_MAX);
	kxdp_known_t *room = malloc((iface->known_count + host->known_count + 1) * sizeof(*room));
	if (room == NULL) {
		return kxdp_fault_errno(ret_fault, ENOMEM, iface->name, "telling the XDP program about the host");
	}
	batch_t batch = { .iface = iface, .request = { .kind = PRIV_KNOW, .iface = iface->id } };
	const bool fits = host_fits(iface, host);
	if (!fits) {
		/* What is past has to go out first. Nothing is checked meanwhile, or the host's own would be missing.
		 */
		host_send_request(&batch, &unchecked);
		host_send_past(&batch, host, true);
		if (batch.err == KNOT_OK) {
			host_note_removed(iface, host);
		}
	}
	const bool has_room = batch.err == KNOT_OK;
	/* Else what is new goes in first and what is past goes out last: nothing of the host's is ever missing. */
	host_send_news(&batch, host);
	host_send_request(&batch, host);
	if (fits) {
		host_send_past(&batch, host, false);
	}
	if (batch.err == KNOT_OK) {
		host_note_done(iface, host, room);
		return KNOT_OK;
	}
	*ret_fault = batch.fault;
	host_note_unsure(iface, host, has_room, room);
	batch_t last = { .iface = iface };
	host_send_request(&last, &unchecked);
	return batch.err;
}
