/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod-noudp: queries over UDP get an empty truncated reply, all or one of some number, so that clients ask over TCP.
 *
 * What is counted is a thread's own, so that no thread waits for another.
 */
#include "src/modules/module.h"

#include <assert.h>
#include <stdlib.h>

typedef struct {
	module_instance_t base;
	uint32_t every;        /* every n-th query is special; at least 1 */
	bool is_special_sent;  /* the special one is answered and the others truncated, or the other way round */
	sys_counters_t *asked; /* owned: one counter, queries so far */
} noudp_t;

static void noudp_free(module_instance_t *instance)
{
	noudp_t *noudp = (noudp_t *)instance;
	sys_counters_free(noudp->asked);
	free(noudp);
}

static knot_err_t noudp_make(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance)
{
	const conf_mod_noudp_t *settings = conf_mod(conf, CONF_MOD_NOUDP, ref->id);
	noudp_t *noudp = calloc(1, sizeof(*noudp));
	if (noudp == NULL) {
		return KNOT_ENOMEM;
	}
	noudp->base.api = &module_noudp_api;
	noudp->is_special_sent = settings->allow_rate > 0;
	noudp->every = noudp->is_special_sent ? settings->allow_rate : settings->truncate_rate;
	assert(noudp->every > 0);
	noudp->asked = sys_counters_new(1);
	if (noudp->asked == NULL) {
		noudp_free(&noudp->base);
		return KNOT_ENOMEM;
	}
	*ret_instance = &noudp->base;
	return KNOT_OK;
}

static answer_refusal_t noudp_gate(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes)
{
	const noudp_t *noudp = (const noudp_t *)instance;
	(void)notes;
	/* Nothing but a query can be asked again over TCP at no cost; what can't be read has its own reply. */
	if (!answer_is_udp(source->protocol) || request->query.opcode != KNOT_OPCODE_QUERY ||
			request->kind == ANSWER_KIND_REFUSED) {
		return ANSWER_REFUSAL_NONE;
	}
	bool is_special = noudp->every == 1 || sys_counters_next(noudp->asked, 0) % noudp->every == 0;
	return is_special == noudp->is_special_sent ? ANSWER_REFUSAL_NONE : ANSWER_REFUSAL_TRUNCATED;
}

const module_api_t module_noudp_api = {
	.name = "mod-noudp",
	.make = noudp_make,
	.free = noudp_free,
	.gate = noudp_gate,
};
