/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/policy.h"

#include "libknot/base/siphash.h"
#include "src/conf/value.h"

#include <stdlib.h>

/* A part of [0 .. most] that follows from the name: zones spread over it, each the same at each start. */
static uint32_t policy_jitter(int64_t jitter, uint64_t moved_s, knot_name_t zone)
{
	uint8_t wire[KNOT_NAME_MAX];
	uint64_t most = jitter >= CONF_PERCENT ? moved_s * (uint64_t)(jitter & ~CONF_PERCENT) / 100 : (uint64_t)jitter;
	knot_name_lower(zone, wire);
	uint64_t hash = knot_siphash24(0, 0, (knot_bytes_t){ wire, zone.len });
	return (uint32_t)((1 + most) * (hash % 65536) / 65536);
}

conf_policy_times_t conf_policy_times(
		const conf_policy_t *policy, knot_name_t zone, uint32_t soa_ttl_s, uint32_t max_ttl_s)
{
	enum { PRE_REFRESH_PART = 200 /* 0.005 of the lifetime */ };
	conf_policy_times_t times = {
		.dnskey_ttl_s = policy->dnskey_ttl_s >= 0 ? (uint32_t)policy->dnskey_ttl_s : soa_ttl_s,
		.zone_max_ttl_s = policy->zone_max_ttl_s >= 0 ? (uint32_t)policy->zone_max_ttl_s : max_ttl_s,
		.pre_refresh_s = policy->rrsig_pre_refresh_s >= 0 ? (uint32_t)policy->rrsig_pre_refresh_s
								  : policy->rrsig_lifetime_s / PRE_REFRESH_PART,
		.trash_delay_s = policy->trash_delay_s >= 0 ? (uint32_t)policy->trash_delay_s
							    : 2 * policy->rrsig_lifetime_s,
	};
	/* What isn't there: a tenth of the lifetime, and the time until every cache has the new ones. */
	uint64_t refresh_s = policy->rrsig_refresh_s >= 0
					     ? (uint64_t)policy->rrsig_refresh_s
					     : policy->rrsig_lifetime_s / 10 + (uint64_t)policy->propagation_delay_s +
							       times.zone_max_ttl_s;
	refresh_s += policy_jitter(policy->jitter, refresh_s, zone);
	times.is_refresh_low = refresh_s + times.pre_refresh_s >= policy->rrsig_lifetime_s;
	if (times.is_refresh_low) {
		bool has_room = policy->rrsig_lifetime_s > times.pre_refresh_s + 1;
		refresh_s = has_room ? policy->rrsig_lifetime_s - times.pre_refresh_s - 1 : 0;
	}
	times.refresh_s = (uint32_t)refresh_s;
	/* A new signature that is due for renewal would be made again and again. */
	uint64_t kept_s = refresh_s + times.pre_refresh_s + 1;
	uint32_t room_s = policy->rrsig_lifetime_s > kept_s ? (uint32_t)(policy->rrsig_lifetime_s - kept_s) : 0;
	times.spread_s = policy->rrsig_spread_s < room_s ? policy->rrsig_spread_s : room_s;
	uint32_t earlier_s = policy_jitter(policy->jitter, policy->zsk_lifetime_s, zone);
	times.zsk_lifetime_s = policy->zsk_lifetime_s > earlier_s ? policy->zsk_lifetime_s - earlier_s
								  : policy->zsk_lifetime_s;
	return times;
}

conf_serial_rule_t conf_zone_serials(const conf_zone_t *zone)
{
	conf_serial_rule_t rule = { .policy = zone->serial_policy, .modulus = 1 };
	char *at = (char *)(uintptr_t)zone->serial_modulo; /* the row's check has seen it */
	if (at != NULL && *at >= '0' && *at <= '9') {
		rule.remainder = (uint16_t)strtoul(at, &at, 10);
		rule.modulus = (uint16_t)strtoul(at + 1, &at, 10);
	}
	rule.shift = at != NULL ? (int32_t)strtol(at, NULL, 10) : 0;
	return rule;
}

void conf_policy_tags(const conf_policy_t *policy, unsigned *ret_remainder, unsigned *ret_modulo)
{
	char *slash;
	*ret_remainder = (unsigned)strtoul(policy->keytag_modulo, &slash, 10);
	*ret_modulo = (unsigned)strtoul(slash + 1, NULL, 10); /* the row's check has seen it */
}
