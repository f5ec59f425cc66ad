/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/key_rail.h"

#include "libknot/rr/rrtype.h"
#include "src/keys/served.h"
#include "src/sign/rdata.h"
#include "src/sys/log.h"
#include "src/zone/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- What a version shows of keys ---- */

enum { HEAD_LEN = 4 }; /* of DNSKEY and CDNSKEY, in front of the public key */

/** Zero: none. */
typedef struct {
	keys_seen_t *keys; /* owned, with their public keys */
	size_t count, max;
	knot_err_t err;
} rail_view_t;

static void rail_free(rail_view_t *view)
{
	for (size_t i = 0; i < view->count; i++) {
		free((void *)(uintptr_t)view->keys[i].public.data);
	}
	free(view->keys);
	*view = (rail_view_t){ .keys = NULL };
}

static keys_seen_t *rail_add(rail_view_t *view, uint8_t algorithm, uint16_t tag)
{
	if (view->count == view->max) {
		size_t max = 2 * view->max + 8;
		keys_seen_t *grown = realloc(view->keys, max * sizeof(*grown));
		if (grown == NULL) {
			view->err = KNOT_ENOMEM;
			return NULL;
		}
		view->keys = grown;
		view->max = max;
	}
	keys_seen_t *added = &view->keys[view->count++];
	*added = (keys_seen_t){ .algorithm = algorithm, .tag = tag };
	return added;
}

static void rail_see_dnskey(rail_view_t *view, knot_bytes_t rdata)
{
	if (rdata.len <= HEAD_LEN || (load_be16(rdata.data) & DNSSEC_FLAG_ZONE) == 0) {
		return;
	}
	uint8_t *public = malloc(rdata.len - HEAD_LEN);
	keys_seen_t *seen = public != NULL ? rail_add(view, rdata.data[3], dnssec_rdata_tag(rdata)) : NULL;
	if (seen == NULL) {
		free(public);
		view->err = KNOT_ENOMEM;
		return;
	}
	memcpy(public, rdata.data + HEAD_LEN, rdata.len - HEAD_LEN);
	seen->public = (knot_bytes_t){ public, rdata.len - HEAD_LEN };
	seen->is_revoked = (load_be16(rdata.data) & DNSSEC_FLAG_REVOKE) != 0;
}

/* CDS has tag and algorithm in front of the digest; those of a CDNSKEY follow from it. */
static void rail_see_cds(rail_view_t *view, uint16_t type, knot_bytes_t rdata)
{
	bool is_key = type == KNOT_TYPE_CDNSKEY;
	for (size_t i = 0; i < view->count && rdata.len > HEAD_LEN; i++) {
		keys_seen_t *seen = &view->keys[i];
		bool is_of = is_key ? seen->algorithm == rdata.data[3] && seen->tag == dnssec_rdata_tag(rdata)
				    : seen->algorithm == rdata.data[2] && seen->tag == load_be16(rdata.data);
		seen->has_cds = seen->has_cds || is_of;
	}
}

static void rail_note_signature(keys_seen_t *seen, bool is_of, bool is_key)
{
	seen->signs_keys = seen->signs_keys || (is_of && is_key);
	seen->signs_zone = seen->signs_zone || (is_of && !is_key);
}

static void rail_see_signature(rail_view_t *view, knot_bytes_t rdata)
{
	uint16_t covered = sign_rrsig_covered(rdata);
	if (rdata.len < SIGN_RRSIG_SIGNER_OFF || (covered != KNOT_TYPE_DNSKEY && covered != KNOT_TYPE_SOA)) {
		return;
	}
	uint8_t algorithm = rdata.data[2];
	uint16_t tag = load_be16(rdata.data + SIGN_RRSIG_TAG_OFF);
	bool is_key = covered == KNOT_TYPE_DNSKEY, is_known = false;
	for (size_t i = 0; i < view->count; i++) {
		keys_seen_t *seen = &view->keys[i];
		bool is_of = seen->algorithm == algorithm && seen->tag == tag;
		is_known = is_known || is_of;
		rail_note_signature(seen, is_of, is_key);
	}
	keys_seen_t *absent = is_known ? NULL : rail_add(view, algorithm, tag); /* it isn't in DNSKEY */
	if (absent != NULL) {
		rail_note_signature(absent, true, is_key);
	}
}

/* Records come by type, signatures last. */
static bool rail_see(const zone_rr_t *rr, void *ctx)
{
	rail_view_t *view = ctx;
	switch (rr->type) {
	case KNOT_TYPE_DNSKEY: rail_see_dnskey(view, rr->rdata); break;
	case KNOT_TYPE_CDS:
	case KNOT_TYPE_CDNSKEY: rail_see_cds(view, rr->type, rr->rdata); break;
	case KNOT_TYPE_RRSIG: rail_see_signature(view, rr->rdata); break;
	default: break;
	}
	return view->err == KNOT_OK;
}

static knot_err_t rail_view(const zone_contents_t *zone, rail_view_t *view)
{
	knot_err_t err = zone != NULL && zone->is_signed ? zone_read_apex(zone, rail_see, view) : KNOT_OK;
	return err == KNOT_OK ? view->err : err;
}

/* ---- The judgement ---- */

static void rail_explain(const keys_danger_t *danger, char *reason)
{
	struct tm utc;
	char until[40] = "";
	time_t until_s = (time_t)danger->until_s;
	if (danger->until_s != 0 && gmtime_r(&until_s, &utc) != NULL) {
		(void)strftime(until, sizeof(until), ", until %Y-%m-%dT%H:%M:%SZ", &utc);
	}
	snprintf(reason, UPDATE_REASON_MAX, "key %u %s%s", danger->tag, keys_danger_text(danger->kind), until);
}

knot_err_t key_rail_check(const zone_keys_env_t *env, const zone_keys_t *keys, const conf_policy_times_t *times,
		const zone_contents_t *served, const zone_contents_t *next, char *reason)
{
	rail_view_t old = { .keys = NULL }, new = { .keys = NULL };
	knot_err_t err = rail_view(served, &old);
	err = err == KNOT_OK ? rail_view(next, &new) : err;
	if (err == KNOT_OK) {
		uint32_t delay_s = env->policy->propagation_delay_s;
		const keys_caches_t caches = { .served = { old.keys, old.count },
			.next = { new.keys, new.count },
			.keys = keys->set.keys,
			.count = keys->set.count,
			.is_offline_ksk = env->policy->is_offline_ksk,
			.key_hold_s = delay_s + (keys->has_ttls ? keys->key_ttl_s : times->dnskey_ttl_s),
			.data_hold_s = delay_s + (keys->has_ttls ? keys->max_ttl_s : times->zone_max_ttl_s),
			.now_s = env->now_s };
		keys_danger_t danger = keys_caches_check(&caches);
		if (danger.kind != KEYS_SAFE) {
			rail_explain(&danger, reason);
			err = KNOT_EGUARDRAIL;
		}
	}
	rail_free(&old);
	rail_free(&new);
	return err;
}

/* ---- Steps that aren't served ---- */

knot_err_t key_rail_wait(
		const zone_keys_env_t *env, zone_keys_t *keys, const zone_contents_t *served, bool *ret_is_changed)
{
	rail_view_t view = { .keys = NULL };
	knot_err_t err = rail_view(served, &view);
	const keys_view_t seen = { view.keys, view.count };
	uint8_t cds = env->policy->cds_publish;
	bool asks_parent = cds != CONF_CDS_NONE && cds != CONF_CDS_DELETE;
	*ret_is_changed = false;
	for (size_t i = 0; i < keys->set.count && err == KNOT_OK; i++) {
		kasp_key_t *key = &keys->set.keys[i];
		uint64_t *timer = keys_unserved_timer(key, &seen, asks_parent, env->now_s);
		if (timer != NULL && *timer != env->now_s) {
			*timer = env->now_s;
			*ret_is_changed = true;
			log_zone(LOG_NOTICE, env->zone,
					"DNSSEC, key %u, its last step wasn't published, its rollover waits", key->tag);
		}
	}
	rail_free(&view);
	return err;
}
