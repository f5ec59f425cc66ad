/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module.h"
#include "src/modules/stats/stats.h"

#include <assert.h>
#include <stdlib.h>

/* One row per module. */
static const module_api_t *const modules[] = {
	&module_stats_api,
};

const module_api_t *module_find(const char *name)
{
	for (size_t i = 0; i < KNOT_LEN(modules); i++) {
		if (strcmp(modules[i]->name, name) == 0) {
			return modules[i];
		}
	}
	return NULL;
}

const module_api_t *module_at(unsigned index)
{
	return index < KNOT_LEN(modules) ? modules[index] : NULL;
}

knot_err_t module_chain_new(const conf_t *conf, conf_modrefs_t refs, module_chain_t **ret_chain)
{
	if (refs.count == 0) {
		*ret_chain = NULL;
		return KNOT_OK;
	}
	module_chain_t *chain = calloc(1, sizeof(*chain) + refs.count * sizeof(chain->instances[0]));
	if (chain == NULL) {
		return KNOT_ENOMEM;
	}
	for (size_t i = 0; i < refs.count; i++) {
		const module_api_t *api = module_find(refs.data[i].name);
		knot_err_t err = api != NULL ? api->make(conf, &refs.data[i], &chain->instances[i]) : KNOT_ENOTSUP;
		if (err != KNOT_OK) {
			module_chain_free(chain);
			return err;
		}
		chain->count++;
	}
	*ret_chain = chain;
	return KNOT_OK;
}

void module_chain_free(module_chain_t *take_chain)
{
	if (take_chain == NULL) {
		return;
	}
	for (unsigned i = 0; i < take_chain->count; i++) {
		take_chain->instances[i]->api->free(take_chain->instances[i]);
	}
	free(take_chain);
}

bool module_chain_counters(const module_chain_t *chain, const char *only, module_counter_cb cb, void *ctx)
{
	for (unsigned i = 0; chain != NULL && i < chain->count; i++) {
		const module_instance_t *instance = chain->instances[i];
		assert(instance->api->counters == NULL || instance->api->item != NULL);
		if (instance->api->counters != NULL && !instance->api->counters(instance, only, cb, ctx)) {
			return false;
		}
	}
	return true;
}

void module_chain_items(const module_chain_t *chain, void (*cb)(const sys_counter_info_t *item, void *ctx), void *ctx)
{
	for (unsigned i = 0; chain != NULL && i < chain->count; i++) {
		const module_instance_t *instance = chain->instances[i];
		const sys_counter_info_t *item;
		for (unsigned j = 0;
				instance->api->counters != NULL && (item = instance->api->item(instance, j)) != NULL;
				j++) {
			cb(item, ctx);
		}
	}
}
