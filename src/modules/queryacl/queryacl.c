/* SPDX-License-Identifier: BSD-2-Clause */
/* mod-queryacl: queries get NOTAUTH unless they come from a listed address, and to a listed address of the server. */
#include "src/modules/module.h"

#include <stdlib.h>

typedef struct {
	module_instance_t base;
	conf_nets_t addresses, interfaces; /* count 0: any. In: */
	conf_net_t nets[];
} queryacl_t;

static void queryacl_free(module_instance_t *instance)
{
	free(instance);
}

static knot_err_t queryacl_make(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance)
{
	const conf_mod_queryacl_t *settings = conf_mod(conf, CONF_MOD_QUERYACL, ref->id);
	size_t address_count = settings->addresses.count, interface_count = settings->interfaces.count;
	queryacl_t *acl = calloc(1, sizeof(*acl) + (address_count + interface_count) * sizeof(acl->nets[0]));
	if (acl == NULL) {
		return KNOT_ENOMEM;
	}
	acl->base.api = &module_queryacl_api;
	acl->addresses = (conf_nets_t){ acl->nets, address_count };
	acl->interfaces = (conf_nets_t){ acl->nets + address_count, interface_count };
	if (address_count > 0) {
		memcpy(acl->nets, settings->addresses.data, address_count * sizeof(acl->nets[0]));
	}
	if (interface_count > 0) {
		memcpy(acl->nets + address_count, settings->interfaces.data, interface_count * sizeof(acl->nets[0]));
	}
	*ret_instance = &acl->base;
	return KNOT_OK;
}

static bool queryacl_admits(conf_nets_t nets, const struct sockaddr *addr)
{
	return nets.count == 0 || conf_nets_have(nets, addr);
}

static answer_refusal_t queryacl_gate(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, module_notes_t *notes)
{
	const queryacl_t *acl = (const queryacl_t *)instance;
	(void)notes;
	if (!answer_kind_is_query((answer_kind_t)request->kind)) {
		return ANSWER_REFUSAL_NONE;
	}
	return queryacl_admits(acl->addresses, source->remote) && queryacl_admits(acl->interfaces, source->local)
			       ? ANSWER_REFUSAL_NONE
			       : ANSWER_REFUSAL_NOT_ADMITTED;
}

const module_api_t module_queryacl_api = {
	.name = "mod-queryacl",
	.make = queryacl_make,
	.free = queryacl_free,
	.gate = queryacl_gate,
};
