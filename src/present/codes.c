/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/present/codes.h"

#include <stdio.h>

const char *present_opcode(unsigned opcode, char ret_text[static PRESENT_CODE_MAX])
{
	static const char *const names[] = {
		[KNOT_OPCODE_QUERY] = "QUERY",
		[KNOT_OPCODE_IQUERY] = "IQUERY",
		[KNOT_OPCODE_STATUS] = "STATUS",
		[KNOT_OPCODE_NOTIFY] = "NOTIFY",
		[KNOT_OPCODE_UPDATE] = "UPDATE",
	};
	if (opcode < KNOT_LEN(names) && names[opcode] != NULL) {
		return names[opcode];
	}
	snprintf(ret_text, PRESENT_CODE_MAX, "OPCODE %u", opcode & 0xFF);
	return ret_text;
}

/* NULL: it has no name. */
static const char *codes_rcode(unsigned rcode)
{
	static const char *const names[] = {
#define CODES_ROW(name, number, text) [number] = text,
		KNOT_RCODE_ROWS(CODES_ROW)
#undef CODES_ROW
	};
	return rcode < KNOT_LEN(names) ? names[rcode] : NULL;
}

const char *present_rcode(unsigned rcode, char ret_text[static PRESENT_CODE_MAX])
{
	const char *name = codes_rcode(rcode);
	if (name == NULL) {
		snprintf(ret_text, PRESENT_CODE_MAX, "RCODE %u", rcode & 0xFFFF);
		name = ret_text;
	}
	return name;
}

const char *present_tsig_error(unsigned error)
{
	const char *name = error == KNOT_RCODE_BADVERS ? "BADSIG" : codes_rcode(error);
	return name != NULL ? name : "Unknown";
}

const char *present_ede(unsigned code)
{
	static const char *const texts[] = {
		"Other",
		"Unsupported DNSKEY Algorithm",
		"Unsupported DS Digest Type",
		"Stale Answer",
		"Forged Answer",
		"DNSSEC Indeterminate",
		"DNSSEC Bogus",
		"Signature Expired",
		"Signature Not Yet Valid",
		"DNSKEY Missing",
		"RRSIGs Missing",
		"No Zone Key Bit Set",
		"NSEC Missing",
		"Cached Error",
		"Not Ready",
		"Blocked",
		"Censored",
		"Filtered",
		"Prohibited",
		"Stale NXDOMAIN Answer",
		"Not Authoritative",
		"Not Supported",
		"No Reachable Authority",
		"Network Error",
		"Invalid Data",
		"Signature Expired before Valid",
		"Too Early",
		"Unsupported NSEC3 Iterations Value",
		"Unable to conform to policy",
		"Synthesized",
		"Invalid Query Type",
	};
	return code < KNOT_LEN(texts) ? texts[code] : NULL;
}
