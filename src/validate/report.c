/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/report.h"

#include "libknot/rr/rrtype.h"

#include <stdio.h>

static zone_fault_t report_fault_of(knot_err_t err)
{
	switch ((int)err) {
	case KNOT_ENOSIG:
	case KNOT_ESIGNATURE: return ZONE_FAULT_RRSIG;
	case KNOT_ENONSEC: return ZONE_FAULT_NSEC_MISSING;
	case KNOT_ENSECBITMAP: return ZONE_FAULT_NSEC_BITMAP;
	case KNOT_ENSECCHAIN: return ZONE_FAULT_NSEC_CHAIN;
	case KNOT_EOPTOUT: return ZONE_FAULT_NSEC3_OPT_OUT;
	case KNOT_EEXTRANSEC: return ZONE_FAULT_NSEC_EXTRA;
	case KNOT_EPUBLICKEY: return ZONE_FAULT_DNSKEY_INVALID;
	case KNOT_EKEYTAGS: return ZONE_FAULT_DNSKEY_TAGS;
	default: return ZONE_FAULT_UNKNOWN;
	}
}

static void report_tell(const zone_check_params_t *params, const validate_fault_t *fault)
{
	char type[KNOT_TYPE_TEXT_MAX], detail[KNOT_TYPE_TEXT_MAX + 32];
	zone_found_t found = { .fault = report_fault_of(fault->err), .type = fault->type, .owner = fault->owner };
	if (found.fault == ZONE_FAULT_RRSIG) {
		knot_rrtype_print(fault->type, type);
		snprintf(detail, sizeof(detail), "(record type %s)", type);
		found.detail = detail;
	}
	zone_fault_tell(params, &found);
}

/* What is wrong with the zone as a whole, so that nothing else can be said. */
static knot_err_t report_tell_whole(const zone_check_params_t *params, const zone_contents_t *zone, knot_err_t err)
{
	char detail[128];
	zone_found_t found = {
		.fault = report_fault_of(err), .type = KNOT_TYPE_DNSKEY, .owner = zone_node_owner(zone->apex)
	};
	if (err == KNOT_ENSEC3PARAM) {
		snprintf(detail, sizeof(detail), "(%s)", knot_strerror(err));
		found.type = KNOT_TYPE_NSEC3PARAM;
		found.detail = detail;
	}
	switch ((int)err) {
	case KNOT_ENOSIGNKEYS: return KNOT_OK;
	case KNOT_EPUBLICKEY:
	case KNOT_ENSEC3PARAM: zone_fault_tell(params, &found); return KNOT_OK;
	default: return err;
	}
}

static void report_tell_left_out(const zone_check_params_t *params, zone_fault_t fault, uint64_t count)
{
	char text[160];
	const zone_found_t found = { .fault = fault };
	snprintf(text, sizeof(text), "check, %llu more nodes, %s", (unsigned long long)count, zone_fault_text(fault));
	if (params->on_message != NULL) {
		params->on_message(&(zone_message_t){ .level = ZONE_MESSAGE_WARNING,
						   .text = text,
						   .found = &found,
						   .more = count },
				params->ctx);
	}
}

knot_err_t validate_report(const zone_contents_t *zone, const zone_check_params_t *params)
{
	const validate_options_t options = { .now_s = params->now_s, .thread_count = params->thread_count };
	validate_faults_t found;
	knot_err_t err = validate_zone_list(zone, &options, VALIDATE_REPORT_MAX, &found);
	for (size_t i = 0; i < found.count; i++) {
		report_tell(params, &found.faults[i]);
	}
	for (size_t i = 0; i < VALIDATE_KINDS; i++) {
		if (found.left_out[i] > 0) {
			report_tell_left_out(params, report_fault_of(validate_kinds[i]), found.left_out[i]);
		}
	}
	validate_faults_done(&found);
	return err == KNOT_OK ? KNOT_OK : report_tell_whole(params, zone, err);
}
