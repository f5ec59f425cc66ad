/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod-authsignal: the signals of DNSSEC bootstrapping (RFC 9615) without records of their own.
 *
 * In a zone `_signal.<name server>`, a query for `_dsboot.<child>._signal.<name server>` and type CDS or CDNSKEY gets
 * the records that the child's apex has, if the child is a zone of this server. Nothing is copied: the plan lists the
 * child's RRset with the question's name as its owner. Its signatures are the child's, under another name, so they are
 * left out; signatures that a validator accepts would have to be made when the answer is sent.
 */
#include "src/modules/module.h"

#include <stdlib.h>

static const uint8_t authsignal_label[] = { 7, '_', 'd', 's', 'b', 'o', 'o', 't' };

static void authsignal_free(module_instance_t *instance)
{
	free(instance);
}

static knot_err_t authsignal_make(const conf_t *conf, const conf_modref_t *ref, module_instance_t **ret_instance)
{
	(void)conf, (void)ref;
	module_instance_t *instance = calloc(1, sizeof(*instance));
	if (instance == NULL) {
		return KNOT_ENOMEM;
	}
	instance->api = &module_authsignal_api;
	*ret_instance = instance;
	return KNOT_OK;
}

/* The name between `_dsboot` and the zone's own; false: the question isn't a signal's. */
static bool authsignal_read_child(
		const answer_request_t *request, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_child)
{
	const knot_query_t *q = &request->query;
	const knot_name_t zone = zone_name(request->zone);
	if ((q->qtype != KNOT_TYPE_CDS && q->qtype != KNOT_TYPE_CDNSKEY) ||
			q->qname.label_count < zone.label_count + 2 ||
			memcmp(q->qname_lower, authsignal_label, sizeof(authsignal_label)) != 0) {
		return false;
	}
	size_t len = (size_t)q->qname.len - zone.len - sizeof(authsignal_label);
	memcpy(ret_wire, q->qname_lower + sizeof(authsignal_label), len);
	ret_wire[len] = 0;
	*ret_child = (knot_name_t){ ret_wire, (uint8_t)(len + 1),
		(uint8_t)(q->qname.label_count - zone.label_count - 1) };
	return true;
}

/* Nothing was found: no records, and it isn't a referral. */
static bool authsignal_is_miss(const answer_outcome_t *outcome)
{
	const answer_plan_t *plan = &outcome->plan;
	return outcome->kind == ANSWER_OUTCOME_PLAN && plan->authority_begin == 0 && plan->authoritative;
}

static void authsignal_answer(const answer_request_t *request, const zone_t *child, answer_outcome_t *outcome)
{
	const zone_contents_t *contents = zone_contents(child);
	if (contents == NULL) {
		outcome->kind = ANSWER_OUTCOME_REFUSAL;
		outcome->refusal = ANSWER_REFUSAL_NOT_LOADED;
		return;
	}
	const zone_rrset_t *set = zone_node_rrset(&contents->arena, contents->apex, request->query.qtype);
	if (set != NULL) {
		answer_plan_borrowed(request->contents, &request->query, contents->apex, set, &outcome->plan);
	} else {
		outcome->plan.rcode = KNOT_RCODE_NOERROR;
	}
}

static void authsignal_decide(module_instance_t *instance, const answer_source_t *source,
		const answer_request_t *request, const zonedb_t *zones, answer_outcome_t *outcome)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	(void)instance, (void)source;
	if (!answer_kind_is_query((answer_kind_t)request->kind) || !authsignal_is_miss(outcome)) {
		return;
	}
	if (!authsignal_read_child(request, wire, &name)) {
		/* As in Knot: there may be names below any. */
		outcome->plan.rcode = KNOT_RCODE_NOERROR;
		return;
	}
	const zone_t *child = zonedb_find(zones, name);
	/* What isn't answered to everybody isn't told in a roundabout way either. */
	if (child != NULL && !zone_has_restricted_queries(child)) {
		authsignal_answer(request, child, outcome);
	}
}

const module_api_t module_authsignal_api = {
	.name = "mod-authsignal",
	.make = authsignal_make,
	.free = authsignal_free,
	.decide = authsignal_decide,
};
