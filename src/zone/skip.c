/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/zone/skip.h"

#include "libknot/rr/rrtype.h"

#include <strings.h>

static void skip_add_type(zone_skip_t *skip, uint16_t type)
{
	if (!zone_skip_has(skip, type) && skip->count < ZONE_SKIP_MAX) {
		skip->types[skip->count++] = type;
	}
}

static void skip_add_word(zone_skip_t *skip, const char *word)
{
	static const uint16_t dnssec[] = { KNOT_TYPE_DNSKEY, KNOT_TYPE_RRSIG, KNOT_TYPE_NSEC, KNOT_TYPE_NSEC3,
		KNOT_TYPE_NSEC3PARAM, KNOT_TYPE_CDNSKEY, KNOT_TYPE_CDS };
	uint16_t type;
	if (strcasecmp(word, "dnssec") == 0) {
		for (size_t i = 0; i < KNOT_LEN(dnssec); i++) {
			skip_add_type(skip, dnssec[i]);
		}
	} else if (knot_rrtype_scan(knot_str_of(word), &type) == KNOT_OK) {
		skip_add_type(skip, type);
	}
}

zone_skip_t zone_skip_of(const char *const *words, size_t count)
{
	zone_skip_t skip = { .count = 0 };
	for (size_t i = 0; i < count; i++) {
		skip_add_word(&skip, words[i]);
	}
	return skip;
}
