/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel program knows of the host follows what the caller knows: the difference goes to the helper. */
#include "xdp/iface.h"
#include "xdp/priv_call.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)KXDP_KNOWN_MAX == (int)FILTER_KNOWN_MAX, "the map has room for all that is known");
_Static_assert((int)KXDP_NEAR_MAX == (int)FILTER_NEAR_MAX, "near addresses");

/** Entries on their way to the helper, some per message. */
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

/* Entries of next[] that old[] lacks or has with another value. */
static void batch_add_news(batch_t *batch, const kxdp_known_t *old, size_t old_count, const kxdp_host_t *next)
{
	size_t at = 0;
	for (size_t i = 0; i < next->known_count; i++) {
		int order = -1;
		while (at < old_count && (order = kxdp_known_compare(&old[at], &next->known[i])) < 0) {
			at++;
		}
		if (at == old_count || order != 0 || old[at].value != next->known[i].value) {
			batch_add(batch, &next->known[i], next->known[i].value);
		}
	}
	batch_send(batch);
}

/* Entries of old[] that next[] lacks are forgotten. */
static void batch_add_past(batch_t *batch, const kxdp_known_t *old, size_t old_count, const kxdp_host_t *next)
{
	size_t at = 0;
	for (size_t i = 0; i < old_count; i++) {
		int order = -1;
		while (at < next->known_count && (order = kxdp_known_compare(&next->known[at], &old[i])) < 0) {
			at++;
		}
		if (at == next->known_count || order != 0) {
			batch_add(batch, &old[i], 0);
		}
	}
	batch_send(batch);
}

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

knot_err_t kxdp_iface_set_host(kxdp_iface_t *iface, const kxdp_host_t *host, kxdp_fault_t *ret_fault)
{
	assert(host->known_count <= KXDP_KNOWN_MAX);
	kxdp_known_t *known = malloc((host->known_count + 1) * sizeof(*known));
	if (known == NULL) {
		return kxdp_fault_errno(ret_fault, ENOMEM, iface->name, "telling the XDP program about the host");
	}
	if (host->known_count > 0) {
		memcpy(known, host->known, host->known_count * sizeof(*known));
	}
	/* What is new goes in first and what is past goes out last, so that nothing of the host's is missing meanwhile.
	 */
	batch_t batch = { .iface = iface, .request = { .kind = PRIV_KNOW, .iface = iface->id } };
	batch_add_news(&batch, iface->known, iface->known_count, host);
	const priv_host_t request = host_request(iface, host);
	if (batch.err == KNOT_OK && memcmp(&request, &iface->host, sizeof(request)) != 0) {
		priv_answer_t answer;
		batch.err = kxdp_priv_call(iface->priv, &request, &answer, &batch.fault);
		iface->host = batch.err == KNOT_OK ? request : iface->host;
	}
	batch_add_past(&batch, iface->known, iface->known_count, host);
	if (batch.err != KNOT_OK) {
		free(known);
		*ret_fault = batch.fault;
		return batch.err;
	}
	free(iface->known);
	iface->known = known;
	iface->known_count = host->known_count;
	return KNOT_OK;
}
