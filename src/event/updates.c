/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/updates.h"

#include "libknot/msg/rcode.h"
#include "src/sys/clock.h"

#include <assert.h>
#include <netinet/in.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A zone for which requests wait. The bytes of the name lie behind. */
typedef struct {
	knot_name_t name; /* lower case */
	update_list_t list;
	size_t used;
	size_t wanted; /* so many are waited for; 0: nobody waits */
	bool has_left; /* updates_take() didn't take all */
} updates_zone_t;

static int updates_cmp(const void *va, const void *vb)
{
	const updates_zone_t *a = va, *b = vb;
	int order = (a->name.len > b->name.len) - (a->name.len < b->name.len);
	return order != 0 ? order : memcmp(a->name.wire, b->name.wire, a->name.len);
}

/* name: lower case. */
static updates_zone_t *updates_find(const updates_t *updates, knot_name_t name) SYS_REQUIRES(updates->lock)
{
	const updates_zone_t wanted = { .name = name };
	updates_zone_t **found = tfind(&wanted, &updates->zones, updates_cmp);
	return found != NULL ? *found : NULL;
}

static updates_zone_t *updates_add_zone(updates_t *updates, knot_name_t name) SYS_REQUIRES(updates->lock)
{
	updates_zone_t *zone = calloc(1, sizeof(*zone) + name.len);
	if (zone == NULL) {
		return NULL;
	}
	uint8_t *wire = (uint8_t *)(zone + 1);
	memcpy(wire, name.wire, name.len);
	zone->name = (knot_name_t){ wire, name.len, name.label_count };
	zone->list.end = &zone->list.first;
	if (tsearch(zone, &updates->zones, updates_cmp) == NULL) {
		free(zone);
		return NULL;
	}
	return zone;
}

static void updates_remove_zone(updates_t *updates, updates_zone_t *zone) SYS_REQUIRES(updates->lock)
{
	tdelete(zone, &updates->zones, updates_cmp);
	free(zone);
}

static size_t *updates_source(updates_t *updates, const struct sockaddr *remote) SYS_REQUIRES(updates->lock)
{
	enum { NETWORK_LEN = 7 }; /* bytes of an IPv6 address that count */
	uint64_t hash = 0;        /* of what comes by UNIX sockets */
	if (remote->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)remote;
		hash = XXH3_64bits_withSeed(&in->sin_addr, sizeof(in->sin_addr), updates->seed);
	} else if (remote->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)remote;
		hash = XXH3_64bits_withSeed(&in->sin6_addr, NETWORK_LEN, updates->seed);
	}
	return &updates->sources[hash % UPDATES_SOURCES];
}

void updates_init(updates_t *updates, size_t max, uint64_t seed)
{
	memset(updates, 0, sizeof(*updates));
	sys_mutex_init(&updates->lock);
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&updates->gathered, &monotonic);
	pthread_condattr_destroy(&monotonic);
	updates->max = max;
	updates->seed = seed;
}

void updates_deinit(updates_t *updates)
{
	assert(updates->zones == NULL);
	pthread_cond_destroy(&updates->gathered);
	sys_mutex_done(&updates->lock);
}

static bool updates_has_room(updates_t *updates, const updates_zone_t *zone, size_t count_max,
		const update_request_t *request) SYS_REQUIRES(updates->lock)
{
	size_t room = updates->max - updates->used, in_zone = zone != NULL ? zone->used : 0;
	if (updates->is_closed || request->size > room ||
			(count_max > 0 && zone != NULL && zone->list.count >= count_max)) {
		return false;
	}
	size_t left = room - request->size;
	return in_zone + request->size <= left && *updates_source(updates, request->remote) + request->size <= left;
}

knot_err_t updates_put(updates_t *updates, knot_name_t name, size_t count_max, update_request_t *take_request,
		bool *ret_is_first)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	knot_name_t lower = { wire, name.len, name.label_count };
	sys_mutex_lock(&updates->lock);
	updates_zone_t *zone = updates_find(updates, lower);
	bool has_room = updates_has_room(updates, zone, count_max, take_request), is_first = zone == NULL;
	zone = has_room && is_first ? updates_add_zone(updates, lower) : zone;
	if (has_room && zone != NULL) {
		take_request->next = NULL;
		take_request->rcode = KNOT_RCODE_NOERROR;
		*zone->list.end = take_request;
		zone->list.end = &take_request->next;
		zone->list.count++;
		zone->used += take_request->size;
		updates->used += take_request->size;
		*updates_source(updates, take_request->remote) += take_request->size;
		if (zone->list.count == zone->wanted) {
			pthread_cond_broadcast(&updates->gathered);
		}
	}
	sys_mutex_unlock(&updates->lock);
	if (!has_room) {
		return KNOT_ESPACE;
	}
	*ret_is_first = is_first;
	return zone != NULL ? KNOT_OK : KNOT_ENOMEM;
}

/* ---- How many a batch waits for ---- */

static uint64_t updates_hash(const updates_t *updates, knot_name_t name)
{
	return XXH3_64bits_withSeed(name.wire, name.len, updates->seed);
}

/* Until so many wait for the zone, or the time is over. Returns how many do; nothing is known of the zone between two
 * looks. */
static size_t updates_wait_for(updates_t *updates, knot_name_t name, gather_wish_t wish) SYS_REQUIRES(updates->lock)
{
	uint64_t end_ns = sys_clock_ns() + wish.us * 1000ULL;
	struct timespec end = { .tv_sec = (time_t)(end_ns / 1000000000), .tv_nsec = (long)(end_ns % 1000000000) };
	for (bool has_time = true;;) {
		updates_zone_t *zone = updates_find(updates, name);
		size_t waiting = zone != NULL ? zone->list.count : 0;
		if (zone == NULL || waiting >= wish.count || !has_time || updates->is_closed) {
			if (zone != NULL) {
				zone->wanted = 0;
			}
			return waiting;
		}
		zone->wanted = wish.count;
		has_time = sys_mutex_wait_until(&updates->lock, &updates->gathered, &end);
	}
}

void updates_gather(updates_t *updates, knot_name_t name)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	knot_name_t lower = { wire, name.len, name.label_count };
	uint64_t hash = updates_hash(updates, lower);
	sys_mutex_lock(&updates->lock);
	const updates_zone_t *zone = updates_find(updates, lower);
	gather_wish_t wish = gather_before(&updates->gather, hash, zone != NULL ? zone->list.count : 0);
	if (zone != NULL && wish.us > 0) {
		gather_after(&updates->gather, hash, wish.count, updates_wait_for(updates, lower, wish));
	}
	sys_mutex_unlock(&updates->lock);
}

void updates_note_batch(updates_t *updates, knot_name_t name, size_t answered, uint64_t took_ns)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	knot_name_t lower = { wire, name.len, name.label_count };
	sys_mutex_lock(&updates->lock);
	const updates_zone_t *zone = updates_find(updates, lower);
	gather_note(&updates->gather, updates_hash(updates, lower), answered, zone != NULL ? zone->list.count : 0,
			took_ns);
	sys_mutex_unlock(&updates->lock);
}

/* ---- Taking and answering ---- */

/* The oldest of a zone; the zone goes with its last one. */
static update_request_t *updates_pop(updates_t *updates, updates_zone_t *zone) SYS_REQUIRES(updates->lock)
{
	update_request_t *request = zone->list.first;
	zone->list.first = request->next;
	zone->list.count--;
	zone->used -= request->size;
	request->next = NULL;
	if (zone->list.first == NULL) {
		updates_remove_zone(updates, zone);
	}
	return request;
}

static void updates_append(update_list_t *list, update_request_t *request)
{
	*list->end = request;
	list->end = &request->next;
	list->count++;
}

/* The list's end is not set: it may lie in the caller's frame. */
static update_list_t updates_close(const update_list_t *list)
{
	return (update_list_t){ .first = list->first, .count = list->count };
}

update_list_t updates_take(updates_t *updates, knot_name_t name, size_t count_max)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	update_list_t list = { .end = &list.first };
	sys_mutex_lock(&updates->lock);
	updates_zone_t *zone = updates_find(updates, (knot_name_t){ wire, name.len, name.label_count });
	bool is_last = zone == NULL;
	while (!is_last && list.count < count_max) {
		is_last = zone->list.count == 1;
		updates_append(&list, updates_pop(updates, zone));
	}
	if (!is_last) {
		zone->has_left = true;
	}
	sys_mutex_unlock(&updates->lock);
	return updates_close(&list);
}

updates_waiting_t updates_wait(updates_t *updates, knot_name_t name)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	sys_mutex_lock(&updates->lock);
	const updates_zone_t *zone = updates_find(updates, (knot_name_t){ wire, name.len, name.label_count });
	updates_waiting_t waiting = zone == NULL ? UPDATES_NONE : zone->has_left ? UPDATES_LEFT : UPDATES_NEW;
	sys_mutex_unlock(&updates->lock);
	return waiting;
}

void updates_answer(updates_t *updates, update_list_t *take_list)
{
	sys_mutex_lock(&updates->lock);
	for (const update_request_t *r = take_list->first; r != NULL; r = r->next) {
		assert(updates->used >= r->size);
		updates->used -= r->size;
		*updates_source(updates, r->remote) -= r->size;
	}
	sys_mutex_unlock(&updates->lock);
	for (update_request_t *r = take_list->first; r != NULL; r = r->next) {
		r->make(r);
	}
	for (update_request_t *next, *r = take_list->first; r != NULL; r = next) {
		next = r->next;
		r->next = NULL;
		r->done(r);
	}
	*take_list = (update_list_t){ .first = NULL };
}

void updates_drop(updates_t *updates, uint16_t rcode)
{
	update_list_t list = { .end = &list.first };
	sys_mutex_lock(&updates->lock);
	updates->is_closed = true;
	pthread_cond_broadcast(&updates->gathered);
	while (updates->zones != NULL) {
		updates_append(&list, updates_pop(updates, *(updates_zone_t **)updates->zones));
	}
	sys_mutex_unlock(&updates->lock);
	for (update_request_t *r = list.first; r != NULL; r = r->next) {
		r->rcode = rcode;
	}
	updates_answer(updates, &list);
}
