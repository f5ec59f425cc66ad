/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/modules/module.h"

#include <assert.h>
#include <stdlib.h>

static const module_api_t *const modules[] = {
#define MODULE(name) &module_##name##_api,
#include "src/modules/modules.def"
#undef MODULE
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

/* ---- Chains ---- */

static unsigned module_stages_of(const module_api_t *api)
{
	return (unsigned)(api->gate != NULL) << ANSWER_STAGE_GATE |
	       (unsigned)(api->decide != NULL) << ANSWER_STAGE_DECIDE |
	       (unsigned)(api->finish != NULL) << ANSWER_STAGE_FINISH |
	       (unsigned)(api->answered != NULL) << ANSWER_STAGE_ANSWERED;
}

knot_err_t module_chain_of(module_instance_t *const *take_instances, size_t count, module_chain_t **ret_chain)
{
	assert(count > 0);
	module_chain_t *chain = calloc(1, sizeof(*chain) + count * sizeof(chain->instances[0]));
	if (chain == NULL) {
		return KNOT_ENOMEM;
	}
	chain->count = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		const module_api_t *api = take_instances[i]->api;
		chain->instances[i] = take_instances[i];
		chain->stages |= (uint8_t)module_stages_of(api);
	}
	*ret_chain = chain;
	return KNOT_OK;
}

/* Instances of references, into ret_instances. *made: how many there are, also after a failure. */
static knot_err_t module_make_instances(
		const conf_t *conf, conf_modrefs_t refs, module_instance_t **ret_instances, size_t *made)
{
	for (*made = 0; *made < refs.count; ++*made) {
		const conf_modref_t *ref = &refs.data[*made];
		const module_api_t *api = module_find(ref->name);
		knot_err_t err = api != NULL ? api->make(conf, ref, &ret_instances[*made]) : KNOT_ENOTSUP;
		if (err != KNOT_OK) {
			return err;
		}
	}
	return KNOT_OK;
}

knot_err_t module_chain_new(const conf_t *conf, conf_modrefs_t refs, module_chain_t **ret_chain)
{
	if (refs.count == 0) {
		*ret_chain = NULL;
		return KNOT_OK;
	}
	module_instance_t **instances = calloc(refs.count, sizeof(*instances));
	if (instances == NULL) {
		return KNOT_ENOMEM;
	}
	size_t made;
	knot_err_t err = module_make_instances(conf, refs, instances, &made);
	err = err == KNOT_OK ? module_chain_of(instances, made, ret_chain) : err;
	for (size_t i = 0; err != KNOT_OK && i < made; i++) {
		instances[i]->api->free(instances[i]);
	}
	free(instances);
	return err;
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

/* ---- Stages before the reply is complete ---- */

/* refusal: of the modules before; returns that of all. */
static answer_refusal_t module_chain_gate(const module_chain_t *chain, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes, answer_refusal_t refusal)
{
	for (unsigned i = 0; chain != NULL && i < chain->count && refusal != ANSWER_REFUSAL_SILENT; i++) {
		module_instance_t *instance = chain->instances[i];
		const module_api_t *api = instance->api;
		if (api->gate == NULL || (refusal != ANSWER_REFUSAL_NONE && !api->gates_refused)) {
			continue;
		}
		answer_refusal_t own = api->gate(instance, source, request, notes);
		refusal = own != ANSWER_REFUSAL_NONE ? own : refusal;
	}
	return refusal;
}

static answer_refusal_t module_gate(void *ctx, const answer_source_t *source, const answer_request_t *request)
{
	module_chains_t *chains = ctx;
	answer_refusal_t refusal =
			module_chain_gate(chains->server, source, request, &chains->notes, ANSWER_REFUSAL_NONE);
	return module_chain_gate(chains->zone, source, request, &chains->notes, refusal);
}

static void module_chain_decide(const module_chain_t *chain, const answer_source_t *source,
		const answer_request_t *request, const zonedb_t *zones, answer_outcome_t *outcome)
{
	for (unsigned i = 0; chain != NULL && i < chain->count; i++) {
		module_instance_t *instance = chain->instances[i];
		if (instance->api->decide != NULL) {
			instance->api->decide(instance, source, request, zones, outcome);
		}
	}
}

static void module_decide(
		void *ctx, const answer_source_t *source, const answer_request_t *request, answer_outcome_t *outcome)
{
	const module_chains_t *chains = ctx;
	module_chain_decide(chains->server, source, request, chains->zones, outcome);
	module_chain_decide(chains->zone, source, request, chains->zones, outcome);
}

static uint32_t module_chain_finish(const module_chain_t *chain, module_notes_t *notes, knot_msg_writer_t *w)
{
	uint32_t codes = 0;
	for (unsigned i = 0; chain != NULL && i < chain->count; i++) {
		module_instance_t *instance = chain->instances[i];
		if (instance->api->finish != NULL) {
			codes |= instance->api->finish(instance, notes, w);
		}
	}
	return codes;
}

static size_t module_finish_len(void *ctx)
{
	return ((const module_chains_t *)ctx)->notes.finish_len;
}

static uint32_t module_finish(
		void *ctx, const answer_source_t *source, const answer_request_t *request, knot_msg_writer_t *w)
{
	module_chains_t *chains = ctx;
	(void)source, (void)request;
	return module_chain_finish(chains->server, &chains->notes, w) |
	       module_chain_finish(chains->zone, &chains->notes, w);
}

answer_guests_t module_guests(module_chains_t *chains)
{
	const module_chain_t *server = chains->server, *zone = chains->zone;
	return (answer_guests_t){
		.stages = (uint8_t)(module_chain_stages(server) | module_chain_stages(zone)),
		.ctx = chains,
		.gate = module_gate,
		.decide = module_decide,
		.finish_len = module_finish_len,
		.finish = module_finish,
	};
}

/* ---- Counters ---- */

bool module_counters_plain(const sys_counters_t *counters, const sys_counter_info_t *items, unsigned count,
		const char *only, module_counter_cb cb, void *ctx)
{
	for (unsigned i = 0; i < count; i++) {
		bool is_wanted = only == NULL || strcmp(only, items[i].item) == 0;
		if (is_wanted && !cb(&items[i], NULL, sys_counters_sum(counters, i), ctx)) {
			return false;
		}
	}
	return true;
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
