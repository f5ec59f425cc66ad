/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/peers.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Queues ---- */

void requests_put(requests_t *queue, remote_request_t *request)
{
	request->next = NULL;
	if (queue->first == NULL) {
		queue->first = request;
	} else {
		*queue->end = request;
	}
	queue->end = &request->next;
}

void requests_put_first(requests_t *queue, remote_request_t *request)
{
	if (queue->first == NULL) {
		requests_put(queue, request);
		return;
	}
	request->next = queue->first;
	queue->first = request;
}

remote_request_t *requests_take(requests_t *queue)
{
	remote_request_t *request = queue->first;
	if (request != NULL) {
		queue->first = request->next;
	}
	return request;
}

/* ---- The map ---- */

static int peer_compare(const void *a, const void *b)
{
	return memcmp(&((const peer_t *)a)->key, &((const peer_t *)b)->key, sizeof(peer_key_t));
}

static void peer_copy_address(const conf_addr_t *from, conf_addr_t *ret_to)
{
	memset(ret_to, 0, sizeof(*ret_to));
	if (from != NULL) {
		memcpy(&ret_to->ss, &from->ss, from->len);
		ret_to->len = from->len;
		memcpy(ret_to->device, from->device, strnlen(from->device, sizeof(from->device)));
	}
}

static void peer_key_of(const remote_request_t *request, peer_key_t *ret_key)
{
	memset(ret_key, 0, sizeof(*ret_key));
	peer_copy_address(&request->remote->addresses.data[request->address], &ret_key->to);
	peer_copy_address(remote_via(request->remote, request->address), &ret_key->via);
}

peer_t *peers_get(peers_t *peers, const remote_request_t *request)
{
	peer_t wanted;
	peer_key_of(request, &wanted.key);
	peer_t **found = tfind(&wanted, &peers->map, peer_compare);
	if (found != NULL) {
		return *found;
	}
	peer_t *peer = calloc(1, sizeof(*peer));
	if (peer == NULL) {
		return NULL;
	}
	peer->key = wanted.key;
	peer->pace = pace_new();
	if (tsearch(peer, &peers->map, peer_compare) == NULL) {
		free(peer);
		return NULL;
	}
	peer->next = peers->all;
	peers->all = peer;
	return peer;
}

void peers_touch(peers_t *peers, peer_t *peer)
{
	if (!peer->is_touched) {
		peer->is_touched = true;
		peer->next_touched = peers->touched;
		peers->touched = peer;
	}
}

bool peer_is_idle(const peer_t *peer, uint64_t now_ms)
{
	bool is_wanted = false;
	for (unsigned i = 0; i < PEER_QUEUES; i++) {
		is_wanted = is_wanted || peer->queues[i].first != NULL;
	}
	return peer->wires == NULL && !is_wanted && !peer->is_touched && peer->unreachable_ms <= now_ms;
}

void peers_drop(peers_t *peers, peer_t **at)
{
	peer_t *peer = *at;
	*at = peer->next;
	(void)tdelete(peer, &peers->map, peer_compare);
	free(peer);
}

/* ---- Sockets ---- */

/* Errors are left to connect(), but for those that would let it leave from another address. */
static knot_err_t peer_bind(const peer_t *peer, int fd)
{
	const conf_addr_t *via = &peer->key.via;
	int on = 1;
	if (via->len == 0) {
		return KNOT_OK;
	}
	if (via->device[0] != '\0' &&
			setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, via->device, sizeof(via->device)) != 0) {
		return knot_err_of_errno(errno);
	}
	if (via->ss.ss_family != AF_UNIX) {
		/* The port is chosen with the destination in mind: many connections may share one. */
		(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	}
	return bind(fd, (const struct sockaddr *)&via->ss, via->len) == 0 ? KNOT_OK : knot_err_of_errno(errno);
}

knot_err_t peer_connect(const peer_t *peer, int *ret_fd)
{
	int on = 1;
	const conf_addr_t *to = &peer->key.to;
	int fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return knot_err_of_errno(errno);
	}
	if (to->ss.ss_family != AF_UNIX) {
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	knot_err_t err = peer_bind(peer, fd);
	if (err == KNOT_OK && connect(fd, (const struct sockaddr *)&to->ss, to->len) != 0 && errno != EINPROGRESS) {
		err = knot_err_of_errno(errno);
	}
	if (err != KNOT_OK) {
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return KNOT_OK;
}
