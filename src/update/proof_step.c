/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/proof_step.h"

#include "libknot/rr/rrtype.h"

#include <stdio.h>
#include <string.h>

void update_print_hint(const validate_result_t *result, char ret_text[static UPDATE_HINT_MAX])
{
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	ret_text[0] = '\0';
	if (result->has_hint) {
		(void)knot_name_print(knot_name_of(result->owner), owner);
		(void)knot_rrtype_print(result->type, type);
		snprintf(ret_text, UPDATE_HINT_MAX, "%s %s", owner, type);
	}
}

static void proof_explain(update_t *update)
{
	char hint[UPDATE_HINT_MAX];
	update_print_hint(&update->proof.result, hint);
	if (update->reason != NULL) {
		snprintf(update->reason, UPDATE_REASON_MAX, "DNSSEC validation%s%.300s", hint[0] != '\0' ? ", " : "",
				hint);
	}
}

/*
 * A digest that is wrong makes the zone useless for who verifies it. All is hashed once more, but for versions whose
 * signatures are sampled, as that takes seconds: these must have the record that was made.
 */
static knot_err_t proof_check_zonemd(update_t *update, bool is_sampled)
{
	if (!update->has_zonemd) {
		return KNOT_OK;
	}
	knot_err_t err = zonemd_is_only(update->next, &update->zonemd) ? KNOT_OK : KNOT_EMALF;
	err = err == KNOT_OK && !is_sampled ? zonemd_verify(update->next) : err;
	if (err != KNOT_OK) {
		validate_result_t *result = &update->proof.result;
		result->has_hint = true;
		result->type = KNOT_TYPE_ZONEMD;
		memcpy(result->owner, update->origin.wire, update->origin.len);
	}
	return err;
}

knot_err_t update_run_proof(update_t *update)
{
	const update_proof_t *wanted = update->policy->proof;
	if (wanted == NULL) {
		return KNOT_OK;
	}
	const zone_contents_t *base = wanted->has_proven_base ? update->base : NULL;
	update->proof.err = validate_change(base, update->next, &wanted->options, &update->proof.result);
	update->proof.is_done = true;
	if (update->proof.err == KNOT_OK || update->proof.err == KNOT_EEXPIRES) {
		knot_err_t err = proof_check_zonemd(update, wanted->options.sample > 1);
		update->proof.err = err != KNOT_OK ? err : update->proof.err;
	}
	if (update->proof.err == KNOT_OK || update->proof.err == KNOT_EEXPIRES) {
		return KNOT_OK;
	}
	proof_explain(update);
	return update->proof.err;
}
