/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/name_list.h"

#include <stdlib.h>
#include <string.h>

bool name_list_visit(knot_name_t name, void *ctx)
{
	name_list_t *list = ctx;
	if (!list->wanted(name, list->ctx)) {
		return true;
	}
	if (list->max - list->len < name.len) {
		size_t max = 2 * list->max + KNOT_NAME_MAX;
		uint8_t *grown = realloc(list->wires, max);
		if (grown == NULL) {
			list->is_full = true;
			return false;
		}
		list->wires = grown;
		list->max = max;
	}
	memcpy(list->wires + list->len, name.wire, name.len);
	list->len += name.len;
	return true;
}

size_t name_list_take(name_list_t *list, knot_name_t *ret_names, size_t max)
{
	size_t count = 0;
	while (count < max && list->pos < list->len) {
		ret_names[count] = knot_name_of(list->wires + list->pos);
		list->pos += ret_names[count++].len;
	}
	return count;
}

void name_list_free(name_list_t *list)
{
	free(list->wires);
}
