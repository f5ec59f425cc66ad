/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/rests.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	knot_name_t name; /* of `wire` */
	rest_t rest;
	uint8_t wire[];
} rests_node_t;

static int rests_compare(const void *va, const void *vb)
{
	const rests_node_t *a = va, *b = vb;
	return knot_name_cmp(a->name, b->name);
}

static rests_node_t *rests_find_node(const rests_t *rests, knot_name_t name)
{
	const rests_node_t wanted = { .name = name };
	rests_node_t **found = tfind(&wanted, &rests->map, rests_compare);
	return found != NULL ? *found : NULL;
}

rest_t *rests_find(const rests_t *rests, knot_name_t name)
{
	rests_node_t *node = rests_find_node(rests, name);
	return node != NULL ? &node->rest : NULL;
}

rest_t *rests_get(rests_t *rests, knot_name_t name)
{
	rests_node_t *node = rests_find_node(rests, name);
	if (node != NULL) {
		return &node->rest;
	}
	node = calloc(1, sizeof(*node) + name.len);
	if (node == NULL) {
		return NULL;
	}
	memcpy(node->wire, name.wire, name.len);
	node->name = knot_name_of(node->wire);
	if (tsearch(node, &rests->map, rests_compare) == NULL) {
		free(node);
		return NULL;
	}
	return &node->rest;
}

static int rests_compare_remotes(const void *va, const void *vb)
{
	const rest_remote_t *a = va, *b = vb;
	return strcmp(a->id, b->id);
}

/* Made if need be; NULL: out of memory. */
static rest_remote_t *rests_get_remote(rests_t *rests, const char *id)
{
	size_t len = strlen(id) + 1;
	rest_remote_t *made = calloc(1, sizeof(*made) + len);
	if (made == NULL) {
		return NULL;
	}
	memcpy(made->id, id, len);
	rest_remote_t **found = tsearch(made, &rests->remotes, rests_compare_remotes);
	rest_remote_t *remote = found != NULL ? *found : NULL;
	if (remote != made) {
		free(made);
	}
	return remote;
}

void rests_confirm(rests_t *rests, rest_t *rest, const char *id, uint64_t now_s)
{
	rest_remote_t *remote = rests_get_remote(rests, id);
	if (remote != NULL) {
		remote->last_s = rest->refreshed_s = now_s;
		rest->refreshed_from = remote;
	}
}

typedef struct {
	void (*visit)(const rest_remote_t *remote, void *ctx);
	void *ctx;
} rests_walk_t;

static void rests_visit_remote(const void *node, VISIT when, void *ctx)
{
	const rests_walk_t *walk = ctx;
	if (when == postorder || when == leaf) {
		walk->visit(*(const rest_remote_t *const *)node, walk->ctx);
	}
}

void rests_each_remote(const rests_t *rests, void (*visit)(const rest_remote_t *remote, void *ctx), void *ctx)
{
	rests_walk_t walk = { visit, ctx };
	twalk_r(rests->remotes, rests_visit_remote, &walk);
}

void rests_drop(rests_t *rests, knot_name_t name)
{
	rests_node_t *node = rests_find_node(rests, name);
	if (node != NULL) {
		(void)tdelete(node, &rests->map, rests_compare);
		free(node);
	}
}

void rests_free(rests_t *rests)
{
	while (rests->map != NULL) {
		rests_node_t *node = *(rests_node_t **)rests->map;
		(void)tdelete(node, &rests->map, rests_compare);
		free(node);
	}
	while (rests->remotes != NULL) {
		rest_remote_t *remote = *(rest_remote_t **)rests->remotes;
		(void)tdelete(remote, &rests->remotes, rests_compare_remotes);
		free(remote);
	}
}
