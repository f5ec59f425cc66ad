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
}
