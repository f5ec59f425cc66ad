/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/keys/trash.h"

#include <stdlib.h>

typedef struct {
	keys_trash_t *trash;
	knot_name_t zone;
	knot_err_t err;
} trash_list_t;

static bool trash_take(knot_name_t zone, const kasp_trash_t *trash, void *ctx)
{
	trash_list_t *list = ctx;
	if (list->zone.len != 0 && (list->zone.len != zone.len || memcmp(list->zone.wire, zone.wire, zone.len) != 0)) {
		return true;
	}
	keys_trash_item_t *items = realloc(list->trash->items, (list->trash->count + 1) * sizeof(*items));
	if (items == NULL) {
		list->err = KNOT_ENOMEM;
		return false;
	}
	list->trash->items = items;
	keys_trash_item_t *item = &items[list->trash->count++];
	memcpy(item->zone, zone.wire, zone.len);
	item->trash = *trash;
	return true;
}

knot_err_t keys_trash_read(kasp_t *kasp, knot_name_t zone, keys_trash_t *ret_trash)
{
	kasp_txn_t *txn;
	*ret_trash = (keys_trash_t){ .count = 0 };
	trash_list_t list = { .trash = ret_trash, .zone = zone };
	knot_err_t err = kasp_begin(kasp, false, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_each_trash(txn, trash_take, &list);
	err = err == KNOT_OK ? list.err : err;
	kasp_abort(txn);
	if (err != KNOT_OK) {
		keys_trash_done(ret_trash);
	}
	return err;
}

knot_err_t keys_trash_discard(const zone_keys_env_t *env, const char *id)
{
	kasp_txn_t *txn;
	knot_err_t err = zone_keys_remove_private(env, id);
	if (err != KNOT_OK && err != KNOT_ENOENT) {
		return err;
	}
	err = kasp_begin(env->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_drop_trash(txn, env->zone, id);
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

void keys_trash_done(keys_trash_t *trash)
{
	free(trash->items);
	*trash = (keys_trash_t){ .count = 0 };
}
