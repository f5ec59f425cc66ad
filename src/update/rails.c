/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/update/rails.h"

#include "libknot/rr/rrtype.h"
#include "src/update/serial.h"
#include "src/zone/diff.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rail. False: the version breaks it, and the reason is printed; or *ret_err is set. old: NULL only where the row
 * says so. */
typedef bool (*rail_check_t)(const rails_policy_t *policy, const zone_contents_t *old, const zone_contents_t *next,
		char reason[static RAILS_REASON_MAX], knot_err_t *ret_err);

static bool rails_keep_size(const rails_policy_t *policy, const zone_contents_t *old, const zone_contents_t *next,
		char reason[static RAILS_REASON_MAX], knot_err_t *ret_err)
{
	(void)ret_err;
	uint64_t lost = old->record_count > next->record_count ? old->record_count - next->record_count : 0;
	/* In floating point nothing overflows, and whoever sets 10 can't notice the last bits of the 10 %. */
	double percent = old->record_count > 0 ? 100.0 * (double)lost / (double)old->record_count : 0;
	unsigned shrink_max = 100 - policy->kept_min;
	if (percent <= shrink_max) {
		return true;
	}
	snprintf(reason, RAILS_REASON_MAX, "publish-max-shrink %u %%, records %" PRIu64 " -> %" PRIu64 ", -%.1f %%",
			shrink_max, old->record_count, next->record_count, percent);
	return false;
}

static bool rails_keep_apex_ns(const rails_policy_t *policy, const zone_contents_t *old, const zone_contents_t *next,
		char reason[static RAILS_REASON_MAX], knot_err_t *ret_err)
{
	(void)policy, (void)old, (void)ret_err;
	if (zone_node_rrset(&next->arena, next->apex, KNOT_TYPE_NS) != NULL) {
		return true;
	}
	snprintf(reason, RAILS_REASON_MAX, "publish-require apex-ns, no NS record at the zone apex");
	return false;
}

static bool rails_keep_newer_serial(const rails_policy_t *policy, const zone_contents_t *old,
		const zone_contents_t *next, char reason[static RAILS_REASON_MAX], knot_err_t *ret_err)
{
	(void)policy;
	if (update_serial_is_newer(next->serial, old->serial)) {
		return true;
	}
	bool is_same = next->serial == old->serial, is_changed = false;
	if (is_same) {
		*ret_err = zone_differs(old, next, ZONE_DIFFERS_AT_ALL, &is_changed);
		if (*ret_err != KNOT_OK) {
			return false;
		}
		if (!is_changed) {
			return true;
		}
	}
	snprintf(reason, RAILS_REASON_MAX, "publish-require newer-serial, serial %" PRIu32 " -> %" PRIu32 "%s",
			old->serial, next->serial, is_same ? ", but other records" : "");
	return false;
}

static bool rails_keep_signed(const rails_policy_t *policy, const zone_contents_t *old, const zone_contents_t *next,
		char reason[static RAILS_REASON_MAX], knot_err_t *ret_err)
{
	(void)policy, (void)old, (void)ret_err;
	bool has_chain = next->has_nsec || zone_nsec3_params(next)->algorithm != 0;
	if (next->is_signed && has_chain) {
		return true;
	}
	snprintf(reason, RAILS_REASON_MAX, "publish-require signed, no %s",
			next->is_signed ? "NSEC or NSEC3 chain" : "signatures at the zone apex");
	return false;
}

/* Step through the DNSKEY records of an apex until one is, or all were, seen. */
typedef struct {
	zone_rr_iter_t iter;
	uint8_t *scratch; /* KNOT_RDATA_MAX bytes */
} keys_t;

static bool rails_next_key(keys_t *keys, knot_bytes_t *ret_rdata)
{
	uint32_t ttl;
	return zone_rr_next(&keys->iter, (knot_mut_bytes_t){ keys->scratch, KNOT_RDATA_MAX }, &ttl, ret_rdata);
}

/* Both sets are small, so each key of one is compared with each of the other. */
static bool rails_share_key(const zone_contents_t *old, const zone_rrset_t *old_set, const zone_contents_t *next,
		const zone_rrset_t *next_set, uint8_t *scratch)
{
	knot_bytes_t a, b;
	keys_t before = { zone_rr_begin(old->apex, old_set, false), scratch };
	while (rails_next_key(&before, &a)) {
		keys_t after = { zone_rr_begin(next->apex, next_set, false), scratch + KNOT_RDATA_MAX };
		while (rails_next_key(&after, &b)) {
			if (a.len == b.len && memcmp(a.data, b.data, a.len) == 0) {
				return true;
			}
		}
	}
	return false;
}

static bool rails_keep_common_key(const rails_policy_t *policy, const zone_contents_t *old, const zone_contents_t *next,
		char reason[static RAILS_REASON_MAX], knot_err_t *ret_err)
{
	(void)policy;
	const zone_rrset_t *old_set = zone_node_rrset(&old->arena, old->apex, KNOT_TYPE_DNSKEY);
	const zone_rrset_t *next_set = zone_node_rrset(&next->arena, next->apex, KNOT_TYPE_DNSKEY);
	if (old_set == NULL) {
		return true;
	}
	uint8_t *scratch = malloc(2 * (size_t)KNOT_RDATA_MAX);
	if (scratch == NULL) {
		*ret_err = KNOT_ENOMEM;
		return false;
	}
	bool is_kept = next_set != NULL && rails_share_key(old, old_set, next, next_set, scratch);
	free(scratch);
	if (!is_kept) {
		snprintf(reason, RAILS_REASON_MAX, "publish-require common-key, %s",
				next_set != NULL ? "all DNSKEY records are other ones" : "no DNSKEY record is left");
	}
	return is_kept;
}

/* In the order in which they are checked: what is cheap, and says most about what went wrong, first. */
static const struct {
	unsigned bit;   /* CONF_REQUIRE_…; 0: of kept_min */
	bool needs_old; /* compares with the version that is served */
	rail_check_t check;
} rails[] = {
	{ 0, true, rails_keep_size },
	{ CONF_REQUIRE_APEX_NS, false, rails_keep_apex_ns },
	{ CONF_REQUIRE_SIGNED, false, rails_keep_signed },
	{ CONF_REQUIRE_COMMON_KEY, true, rails_keep_common_key },
	{ CONF_REQUIRE_NEWER_SERIAL, true, rails_keep_newer_serial },
};

knot_err_t rails_check(const rails_policy_t *policy, const zone_contents_t *old, const zone_contents_t *next,
		bool is_forced, char ret_reason[static RAILS_REASON_MAX])
{
	assert(policy->kept_min <= 100);
	ret_reason[0] = '\0';
	for (size_t i = 0; i < KNOT_LEN(rails); i++) {
		knot_err_t err = KNOT_OK;
		bool holds = rails[i].bit == 0 || (policy->required & rails[i].bit) != 0;
		if (holds && (old != NULL || !rails[i].needs_old) &&
				!rails[i].check(policy, old, next, ret_reason, &err)) {
			return err != KNOT_OK ? err : is_forced || old == NULL ? KNOT_OK : KNOT_EGUARDRAIL;
		}
	}
	return KNOT_OK;
}
