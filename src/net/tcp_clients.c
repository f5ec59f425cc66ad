/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/tcp_clients.h"

#include "xdp/tcp/source.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
	BUCKETS_FIRST = 64,
	LEVELS_FIRST = 16,
	/*
	 * Clients and sources looked at per eviction, and places that one of them is moved by: the lock is held for
	 * some 20 µs at most. Beyond that the order is not exact.
	 */
	LOOKS_PER_EVICTION = 64,
	/* More than one, so that the number sinks when the limit was lowered. */
	EVICTIONS_PER_ENTRY = 2,
};

struct tcp_source {
	tcp_source_t *hash_next;
	tcp_source_t *prev, *next; /* of its level; in none when count is 0 */
	uint64_t key;
	uint64_t seen_ms;           /* of its first client when the source came into its place */
	tcp_client_t *first, *last; /* idlest first, by seen_ms */
	uint32_t count;
};

typedef struct tcp_level {
	tcp_source_t *first, *last;
} tcp_level_t;

/* ---- Levels ---- */

/* Put a source into the level of its count, behind the last one whose clients are known to be idler. */
static void tcp_level_insert(tcp_clients_t *clients, tcp_source_t *source) SYS_REQUIRES(clients->lock)
{
	assert(source->count > 0 && source->count < clients->level_room);
	tcp_level_t *level = &clients->levels[source->count];
	tcp_source_t *before = level->last;
	source->seen_ms = source->first->seen_ms;
	for (unsigned i = 0; i < LOOKS_PER_EVICTION && before != NULL && before->seen_ms > source->seen_ms; i++) {
		before = before->prev;
	}
	source->prev = before;
	source->next = before != NULL ? before->next : level->first;
	*(before != NULL ? &before->next : &level->first) = source;
	*(source->next != NULL ? &source->next->prev : &level->last) = source;
	clients->top = source->count > clients->top ? source->count : clients->top;
}

static void tcp_level_remove(tcp_clients_t *clients, tcp_source_t *source) SYS_REQUIRES(clients->lock)
{
	assert(source->count > 0 && source->count < clients->level_room);
	tcp_level_t *level = &clients->levels[source->count];
	assert(source->prev != NULL ? source->prev->next == source : level->first == source);
	assert(source->next != NULL ? source->next->prev == source : level->last == source);
	*(source->prev != NULL ? &source->prev->next : &level->first) = source->next;
	*(source->next != NULL ? &source->next->prev : &level->last) = source->prev;
}

/* Have a level for `count` clients. False: no memory. */
static bool tcp_level_reserve(tcp_clients_t *clients, uint32_t count) SYS_REQUIRES(clients->lock)
{
	if (count < clients->level_room) {
		return true;
	}
	uint32_t room = 2 * clients->level_room;
	tcp_level_t *levels = realloc(clients->levels, room * sizeof(*levels));
	if (levels == NULL) {
		return false;
	}
	for (uint32_t i = clients->level_room; i < room; i++) {
		levels[i] = (tcp_level_t){ 0 };
	}
	clients->levels = levels;
	clients->level_room = room;
	return true;
}

/* ---- Sources ---- */

static tcp_source_t **tcp_source_bucket(const tcp_clients_t *clients, uint64_t key) SYS_REQUIRES(clients->lock)
{
	return &clients->buckets[kxdp_siphash13(&clients->key, &key, 1) & (clients->bucket_count - 1)];
}

/* Twice as many buckets, when there is memory. */
static void tcp_source_grow_table(tcp_clients_t *clients) SYS_REQUIRES(clients->lock)
{
	uint32_t old_count = clients->bucket_count;
	tcp_source_t **old = clients->buckets, **buckets = calloc(2 * (size_t)old_count, sizeof(*buckets));
	if (buckets == NULL) {
		return;
	}
	clients->buckets = buckets;
	clients->bucket_count = 2 * old_count;
	for (uint32_t i = 0; i < old_count; i++) {
		for (tcp_source_t *source = old[i], *next; source != NULL; source = next) {
			next = source->hash_next;
			tcp_source_t **bucket = tcp_source_bucket(clients, source->key);
			source->hash_next = *bucket;
			*bucket = source;
		}
	}
	free(old);
}

/* Find the source, or make it. NULL: no memory. */
static tcp_source_t *tcp_source_get(tcp_clients_t *clients, uint64_t key) SYS_REQUIRES(clients->lock)
{
	tcp_source_t **bucket = tcp_source_bucket(clients, key);
	for (tcp_source_t *source = *bucket; source != NULL; source = source->hash_next) {
		if (source->key == key) {
			return source;
		}
	}
	tcp_source_t *source = calloc(1, sizeof(*source));
	if (source == NULL) {
		return NULL;
	}
	source->key = key;
	source->hash_next = *bucket;
	*bucket = source;
	if (++clients->source_count > clients->bucket_count) {
		tcp_source_grow_table(clients);
	}
	return source;
}

/* Forget a source that has no clients. */
static void tcp_source_drop_empty(tcp_clients_t *clients, tcp_source_t *source) SYS_REQUIRES(clients->lock)
{
	if (source->count > 0) {
		return;
	}
	tcp_source_t **at = tcp_source_bucket(clients, source->key);
	while (*at != source) {
		assert(*at != NULL);
		at = &(*at)->hash_next;
	}
	*at = source->hash_next;
	clients->source_count--;
	free(source);
}

/* Put a client into the list behind the last one that is known to be idler. */
static void tcp_source_insert(tcp_source_t *source, tcp_client_t *client)
{
	tcp_client_t *before = source->last;
	for (unsigned i = 0; i < LOOKS_PER_EVICTION && before != NULL && before->seen_ms > client->seen_ms; i++) {
		before = before->prev;
	}
	client->prev = before;
	client->next = before != NULL ? before->next : source->first;
	*(before != NULL ? &before->next : &source->first) = client;
	*(client->next != NULL ? &client->next->prev : &source->last) = client;
}

static void tcp_source_unlink(tcp_source_t *source, tcp_client_t *client)
{
	assert(client->prev != NULL ? client->prev->next == client : source->first == client);
	assert(client->next != NULL ? client->next->prev == client : source->last == client);
	*(client->prev != NULL ? &client->prev->next : &source->first) = client->next;
	*(client->next != NULL ? &client->next->prev : &source->last) = client->prev;
}

static void tcp_source_add_client(tcp_clients_t *clients, tcp_source_t *source, tcp_client_t *client)
		SYS_REQUIRES(clients->lock)
{
	if (source->count > 0) {
		tcp_level_remove(clients, source);
	}
	tcp_source_insert(source, client);
	source->count++;
	tcp_level_insert(clients, source);
	client->source = source;
	atomic_fetch_add_explicit(&clients->count, 1, memory_order_relaxed);
}

static void tcp_source_remove_client(tcp_clients_t *clients, tcp_source_t *source, tcp_client_t *client)
		SYS_REQUIRES(clients->lock)
{
	assert(source->count > 0 && client->source == source);
	tcp_level_remove(clients, source);
	tcp_source_unlink(source, client);
	if (--source->count > 0) {
		tcp_level_insert(clients, source);
	}
	if (clients->levels[clients->top].first == NULL) {
		clients->top--; /* the source was the only one there, and is one level below now */
	}
	assert(clients->top == 0 || clients->levels[clients->top].first != NULL);
	client->source = NULL;
	atomic_fetch_sub_explicit(&clients->count, 1, memory_order_relaxed);
}

/* The client whose last answer is longest ago. */
static tcp_client_t *tcp_source_idlest(tcp_source_t *source)
{
	assert(source->count > 0);
	for (unsigned i = 0; i < LOOKS_PER_EVICTION; i++) {
		tcp_client_t *client = source->first;
		uint64_t answered_ms = tcp_client_answered_ms(client);
		if (answered_ms == client->seen_ms) {
			return client;
		}
		tcp_source_unlink(source, client);
		client->seen_ms = answered_ms;
		tcp_source_insert(source, client);
	}
	return source->first;
}

/* ---- Evictions ---- */

/* Of the sources that have the most clients the one whose idlest client is idlest. */
static tcp_source_t *tcp_clients_greediest(tcp_clients_t *clients) SYS_REQUIRES(clients->lock)
{
	assert(clients->top > 0);
	tcp_source_t *best = NULL;
	uint64_t best_ms = UINT64_MAX;
	for (unsigned i = 0; i < LOOKS_PER_EVICTION; i++) {
		tcp_source_t *source = clients->levels[clients->top].first;
		uint64_t answered_ms = tcp_client_answered_ms(tcp_source_idlest(source));
		if (answered_ms == source->seen_ms) {
			return source;
		}
		if (answered_ms < best_ms) {
			best = source;
			best_ms = answered_ms;
		}
		tcp_level_remove(clients, source);
		tcp_level_insert(clients, source);
	}
	return best;
}

/* Close the idlest client of the source that would have the most with one client more from `newcomer`. */
static bool tcp_clients_evict(tcp_clients_t *clients, tcp_source_t *newcomer, uint32_t share)
		SYS_REQUIRES(clients->lock)
{
	if (clients->top == 0) {
		return false;
	}
	bool is_own = newcomer->count >= share || newcomer->count >= clients->top;
	tcp_source_t *source = is_own ? newcomer : tcp_clients_greediest(clients);
	tcp_client_t *client = tcp_source_idlest(source);
	tcp_source_remove_client(clients, source, client);
	if (source != newcomer) {
		tcp_source_drop_empty(clients, source);
	}
	atomic_store_explicit(&client->evicted, true, memory_order_relaxed);
	/* The descriptor is open: its owner takes the lock before closing it. */
	(void)shutdown(client->fd, SHUT_RDWR);
	return true;
}

/* ---- The set ---- */

/* Only the calling thread has the set: not yet, or no longer, shared. */
knot_err_t tcp_clients_init(tcp_clients_t *clients) SYS_UNCHECKED_LOCKS
{
	if (getrandom(&clients->key, sizeof(clients->key), 0) != (ssize_t)sizeof(clients->key)) {
		return knot_err_of_errno(errno);
	}
	clients->buckets = calloc(BUCKETS_FIRST, sizeof(tcp_source_t *));
	clients->levels = calloc(LEVELS_FIRST, sizeof(*clients->levels));
	if (clients->buckets == NULL || clients->levels == NULL) {
		free(clients->buckets);
		free(clients->levels);
		*clients = (tcp_clients_t){ 0 };
		return KNOT_ENOMEM;
	}
	clients->bucket_count = BUCKETS_FIRST;
	clients->level_room = LEVELS_FIRST;
	sys_mutex_init(&clients->lock);
	return KNOT_OK;
}

void tcp_clients_done(tcp_clients_t *clients) SYS_UNCHECKED_LOCKS
{
	if (clients->buckets == NULL) {
		return;
	}
	assert(clients->source_count == 0);
	sys_mutex_done(&clients->lock);
	free(clients->buckets);
	free(clients->levels);
	*clients = (tcp_clients_t){ 0 };
}

static tcp_client_verdict_t tcp_clients_admit(tcp_clients_t *clients, tcp_client_t *client, uint64_t key,
		uint32_t clients_max) SYS_REQUIRES(clients->lock)
{
	tcp_source_t *source = tcp_source_get(clients, key);
	if (source == NULL) {
		return TCP_CLIENT_REFUSED;
	}
	uint32_t share = kxdp_source_share(clients_max);
	unsigned evicted = 0;
	while (evicted < EVICTIONS_PER_ENTRY && (tcp_clients_count(clients) >= clients_max || source->count >= share) &&
			tcp_clients_evict(clients, source, share)) {
		evicted++;
	}
	bool has_room = tcp_clients_count(clients) < clients_max || evicted > 0;
	if (!has_room || !tcp_level_reserve(clients, source->count + 1)) {
		tcp_source_drop_empty(clients, source);
		return TCP_CLIENT_REFUSED;
	}
	tcp_source_add_client(clients, source, client);
	return evicted > 0 ? TCP_CLIENT_REPLACED : TCP_CLIENT_ADMITTED;
}

tcp_client_verdict_t tcp_clients_enter(
		tcp_clients_t *clients, tcp_client_t *client, uint64_t source, uint32_t clients_max, uint64_t now_ms)
{
	assert(client->source == NULL && !tcp_client_is_evicted(client));
	client->seen_ms = now_ms;
	tcp_client_answered(client, now_ms);
	sys_mutex_lock(&clients->lock);
	tcp_client_verdict_t verdict = tcp_clients_admit(clients, client, source, clients_max);
	sys_mutex_unlock(&clients->lock);
	return verdict;
}

void tcp_clients_leave(tcp_clients_t *clients, tcp_client_t *client)
{
	sys_mutex_lock(&clients->lock);
	tcp_source_t *source = client->source;
	if (source != NULL) {
		tcp_source_remove_client(clients, source, client);
		tcp_source_drop_empty(clients, source);
	}
	sys_mutex_unlock(&clients->lock);
}
