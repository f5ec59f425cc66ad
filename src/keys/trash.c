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

static knot_err_t trash_end(kasp_txn_t *txn, knot_err_t err)
{
	if (err == KNOT_OK) {
		return kasp_commit(txn);
	}
	kasp_abort(txn);
	return err;
}

/* Remove what is noted, so that nobody else finds the key in the trash from now on. KNOT_ENOENT: somebody was faster.
 */
static knot_err_t trash_claim(const zone_keys_env_t *env, const char *id, kasp_trash_t *ret_trash, bool *ret_is_used)
{
	kasp_txn_t *txn;
	knot_err_t err = kasp_begin(env->kasp, true, &txn);
	return err == KNOT_OK ? trash_end(txn, kasp_take_trash(txn, env->zone, id, ret_trash, ret_is_used)) : err;
}

/* The private key is still there: note it again. A key that came back meanwhile needs no note. */
static knot_err_t trash_put_back(const zone_keys_env_t *env, const kasp_trash_t *trash)
{
	kasp_txn_t *txn;
	bool is_used = false;
	knot_err_t err = kasp_begin(env->kasp, true, &txn);
	if (err != KNOT_OK) {
		return err;
	}
	err = kasp_is_used(txn, trash->id, &is_used);
	err = err == KNOT_OK && !is_used ? kasp_put_trash(txn, env->zone, trash) : err;
	return trash_end(txn, err);
}

/* A zone that isn't configured any more, or has another policy now, may have had other keystores. */
static knot_err_t trash_remove_elsewhere(const zone_keys_env_t *env, const char *id, const conf_keystore_t **ret_failed)
{
	const conf_keystore_t *conf;
	knot_err_t worst = KNOT_ENOENT;
	for (size_t i = 0; (conf = conf_keystore_at(env->conf, i)) != NULL; i++) {
		dnssec_store_t *store;
		knot_err_t err = zone_keys_open_store(env, conf, &store);
		if (err == KNOT_OK) {
			err = dnssec_store_remove(store, id);
			dnssec_store_close(store);
		}
		if (err != KNOT_OK && err != KNOT_ENOENT) {
			*ret_failed = conf;
			worst = err;
		}
	}
	return worst;
}

knot_err_t keys_trash_discard(const zone_keys_env_t *env, const char *id, const conf_keystore_t **ret_failed)
{
	kasp_trash_t trash;
	bool is_used = false;
	*ret_failed = NULL;
	knot_err_t err = trash_claim(env, id, &trash, &is_used);
	if (err != KNOT_OK || is_used) {
		return err == KNOT_ENOENT ? KNOT_OK : err;
	}
	err = zone_keys_remove_private(env, id, ret_failed);
	err = err == KNOT_ENOENT ? trash_remove_elsewhere(env, id, ret_failed) : err;
	if (err == KNOT_OK || err == KNOT_ENOENT) {
		return KNOT_OK;
	}
	knot_err_t noted = trash_put_back(env, &trash);
	return noted == KNOT_OK ? err : noted;
}

void keys_trash_done(keys_trash_t *trash)
{
	free(trash->items);
	*trash = (keys_trash_t){ .count = 0 };
}
