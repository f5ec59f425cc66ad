/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Two datagram transports and a network between them that loses, delays, repeats, reorders and spoils by chance:
 * everything follows from a seed. Time is a number; nothing sleeps.
 */
#pragma once

#include "src/transport/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { TEST_NET_QUEUE_MAX = 512, TEST_NET_MS = 1000000 };

/** In parts of 1000. */
typedef struct {
	unsigned loss, duplicate, reorder, spoil;
} test_weather_t;

typedef struct {
	uint64_t at_ns; /* when it arrives */
	bool to_server;
	size_t len;
	uint8_t data[1500];
} test_datagram_t;

typedef struct {
	test_weather_t weather;
	uint64_t seed, now_ns;
	test_datagram_t *queue[TEST_NET_QUEUE_MAX];
	unsigned count, sent_count;
	/** What is to become of a client's datagram while there is no server; NULL: it is lost. Sets *server perhaps.
	 */
	void (*on_first)(void *ctx, knot_bytes_t datagram);
	void *ctx;
	transport_t *client, *server;
} test_net_t;

static inline uint64_t test_net_random(test_net_t *net)
{
	net->seed ^= net->seed << 13;
	net->seed ^= net->seed >> 7;
	net->seed ^= net->seed << 17;
	return net->seed;
}

static inline bool test_net_chance(test_net_t *net, unsigned in_1000)
{
	return test_net_random(net) % 1000 < in_1000;
}

static inline void test_net_send(test_net_t *net, knot_bytes_t datagram, bool to_server)
{
	unsigned copies = test_net_chance(net, net->weather.duplicate) ? 2 : 1;
	net->sent_count++;
	for (unsigned i = 0; i < copies; i++) {
		if (test_net_chance(net, net->weather.loss) || net->count == TEST_NET_QUEUE_MAX) {
			continue;
		}
		test_datagram_t *made = calloc(1, sizeof(*made));
		assert_true(datagram.len <= sizeof(made->data));
		memcpy(made->data, datagram.data, datagram.len);
		made->len = datagram.len;
		made->to_server = to_server;
		made->at_ns = net->now_ns + 5 * TEST_NET_MS;
		if (test_net_chance(net, net->weather.reorder)) {
			made->at_ns += test_net_random(net) % (40 * TEST_NET_MS);
		}
		if (test_net_chance(net, net->weather.spoil)) {
			made->data[test_net_random(net) % made->len] ^= (uint8_t)(1 + test_net_random(net) % 255);
		}
		net->queue[net->count++] = made;
	}
}

static inline void test_net_flush(test_net_t *net, transport_t *from, bool to_server)
{
	knot_bytes_t datagram;
	while (from != NULL && (datagram = transport_pending(from, net->now_ns)).len > 0) {
		test_net_send(net, datagram, to_server);
		transport_note_sent(from, datagram.len, net->now_ns);
	}
}

static inline void test_net_deliver(test_net_t *net, test_datagram_t *take_datagram)
{
	if (take_datagram->to_server && net->server == NULL && net->on_first != NULL) {
		net->on_first(net->ctx, (knot_bytes_t){ take_datagram->data, take_datagram->len });
	}
	transport_t *to = take_datagram->to_server ? net->server : net->client;
	knot_mut_bytes_t room = to != NULL ? transport_room(to) : (knot_mut_bytes_t){ .len = 0 };
	if (room.len >= take_datagram->len) {
		memcpy(room.data, take_datagram->data, take_datagram->len);
		transport_note_received(to, take_datagram->len, net->now_ns);
	}
	free(take_datagram);
}

/* The next datagram to arrive, or -1. */
static inline int test_net_find_next(const test_net_t *net)
{
	int found = -1;
	for (unsigned i = 0; i < net->count; i++) {
		if (found < 0 || net->queue[i]->at_ns < net->queue[found]->at_ns) {
			found = (int)i;
		}
	}
	return found;
}

static inline uint64_t test_net_timer(const transport_t *t)
{
	return t != NULL ? transport_deadline_ns(t) : TRANSPORT_NEVER_NS;
}

static inline void test_net_expire(test_net_t *net, transport_t *t)
{
	if (t != NULL && transport_deadline_ns(t) <= net->now_ns) {
		transport_expire(t, net->now_ns);
	}
}

/** One step of time: whatever comes first. False: nothing is to come, or not before until_ns, which is the time then.
 */
static inline bool test_net_step(test_net_t *net, uint64_t until_ns)
{
	test_net_flush(net, net->client, true);
	test_net_flush(net, net->server, false);
	int next = test_net_find_next(net);
	uint64_t a_ns = test_net_timer(net->client), b_ns = test_net_timer(net->server);
	uint64_t at_ns = next >= 0 ? net->queue[next]->at_ns : TRANSPORT_NEVER_NS;
	uint64_t timer_ns = a_ns < b_ns ? a_ns : b_ns;
	uint64_t first_ns = at_ns < timer_ns ? at_ns : timer_ns;
	if (first_ns >= until_ns) {
		net->now_ns = until_ns != TRANSPORT_NEVER_NS ? until_ns : net->now_ns;
		return false;
	}
	net->now_ns = first_ns > net->now_ns ? first_ns : net->now_ns;
	if (at_ns <= timer_ns) {
		test_datagram_t *datagram = net->queue[next];
		net->queue[next] = net->queue[--net->count];
		test_net_deliver(net, datagram);
	} else {
		test_net_expire(net, net->client);
		test_net_expire(net, net->server);
	}
	return true;
}

static inline void test_net_done(test_net_t *net)
{
	while (net->count > 0) {
		free(net->queue[--net->count]);
	}
	transport_free(net->client);
	transport_free(net->server);
	net->client = net->server = NULL;
}
