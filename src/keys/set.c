/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/set.h"

#include <stdlib.h>

knot_err_t keys_set_add(keys_set_t *set, const kasp_key_t *key)
{
	if (set->count == set->max) {
		size_t max = set->max != 0 ? 2 * set->max : 4;
		kasp_key_t *keys = realloc(set->keys, max * sizeof(*keys));
		if (keys == NULL) {
			return KNOT_ENOMEM;
		}
		set->keys = keys;
		set->max = max;
	}
	uint8_t *public = malloc(key->public.len + 1);
	if (public == NULL) {
		return KNOT_ENOMEM;
	}
	if (key->public.len > 0) {
		memcpy(public, key->public.data, key->public.len);
	}
	set->keys[set->count] = *key;
	set->keys[set->count++].public = (knot_bytes_t){ public, key->public.len };
	return KNOT_OK;
}

knot_err_t keys_set_copy(keys_set_t *set, const keys_set_t *from)
{
	size_t before = set->count;
	for (size_t i = 0; i < from->count; i++) {
		knot_err_t err = keys_set_add(set, &from->keys[i]);
		if (err != KNOT_OK) {
			while (set->count > before) {
				keys_set_remove(set, set->count - 1);
			}
			return err;
		}
	}
	return KNOT_OK;
}

void keys_set_remove(keys_set_t *set, size_t index)
{
	free((void *)(uintptr_t)set->keys[index].public.data);
	memmove(&set->keys[index], &set->keys[index + 1], (set->count - index - 1) * sizeof(*set->keys));
	set->count--;
}

void keys_set_done(keys_set_t *set)
{
	while (set->count > 0) {
		keys_set_remove(set, set->count - 1);
	}
	free(set->keys);
	*set = (keys_set_t){ 0 };
}
