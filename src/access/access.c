/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/access/access.h"

#include "libknot/base/assert.h"
#include "libknot/msg/message.h"

#include <netinet/in.h>
#include <sys/un.h>

/* ---- Source, transport, key ---- */

/* The address's bytes: 4 or 16; NULL: the family has none. */
static const uint8_t *source_ip(const struct sockaddr *source, size_t *ret_len)
{
	if (source->sa_family == AF_INET) {
		*ret_len = 4;
		return (const uint8_t *)&((const struct sockaddr_in *)source)->sin_addr;
	}
	*ret_len = 16;
	return source->sa_family == AF_INET6 ? (const uint8_t *)&((const struct sockaddr_in6 *)source)->sin6_addr
					     : NULL;
}

static bool source_is_peer(const struct sockaddr *source, const conf_peer_t *peer)
{
	return conf_nets_have((conf_nets_t){ &peer->net, 1 }, source) &&
	       (peer->path == NULL || strcmp(((const struct sockaddr_un *)source)->sun_path, peer->path) == 0);
}

/* Ports don't count. */
static bool source_is(const struct sockaddr *source, const conf_addr_t *addr)
{
	if (source == NULL || source->sa_family != addr->ss.ss_family) {
		return false;
	}
	size_t len;
	const uint8_t *ip = source_ip(source, &len);
	if (ip == NULL) {
		return source->sa_family == AF_UNIX &&
		       strcmp(((const struct sockaddr_un *)source)->sun_path,
				       ((const struct sockaddr_un *)&addr->ss)->sun_path) == 0;
	}
	return memcmp(ip, source_ip((const struct sockaddr *)&addr->ss, &len), len) == 0;
}

static bool source_in_peers(const struct sockaddr *source, conf_peers_t peers)
{
	bool is_in = peers.data == NULL;
	for (size_t i = 0; i < peers.count && !is_in; i++) {
		is_in = source_is_peer(source, &peers.data[i]);
	}
	return is_in;
}

/* The key of the list that signed; NULL: none of them. */
static const conf_key_t *key_of(conf_keys_t keys, const knot_tsig_t *tsig)
{
	for (size_t i = 0; i < keys.count && tsig != NULL; i++) {
		if (knot_tsig_is_of(tsig, &keys.data[i]->tsig)) {
			return keys.data[i];
		}
	}
	return NULL;
}

/* Signed by a key of the list; without one unsigned, or signed by anything if takes_any. */
static bool key_fits(conf_keys_t keys, bool takes_any, const knot_tsig_t *tsig, const conf_key_t **ret_key)
{
	*ret_key = key_of(keys, tsig);
	return keys.data == NULL ? tsig == NULL || takes_any : *ret_key != NULL;
}

/* ---- Remotes ---- */

/* What names keys or hosts of certificates fits no request, as none has a certificate: TLS and QUIC aren't spoken. */
static bool remote_fits(const conf_remote_t *remote, bool takes_any_key, const access_facts_t *facts,
		const conf_key_t **ret_key)
{
	unsigned protocols = remote->quic  ? CONF_OVER_QUIC
			     : remote->tls ? CONF_OVER_TLS
					   : CONF_OVER_UDP | CONF_OVER_TCP;
	if (remote->has_cert || (protocols & facts->protocol) == 0 ||
			!key_fits(remote->key, takes_any_key, facts->tsig, ret_key)) {
		return false;
	}
	bool is_source = false;
	for (size_t i = 0; i < remote->addresses.count && !is_source; i++) {
		is_source = source_is(facts->source, &remote->addresses.data[i]);
	}
	return is_source;
}

/* The first remote of the groups that the request comes from; NULL: none. */
static const conf_remote_t *remote_find(conf_groups_t groups, bool is_automatic, bool takes_any_key,
		const access_facts_t *facts, const conf_key_t **ret_key)
{
	for (size_t i = 0; i < groups.count; i++) {
		for (size_t j = 0; j < groups.data[i]->count; j++) {
			const conf_remote_t *remote = groups.data[i]->remotes[j];
			if ((!is_automatic || remote->automatic_acl) &&
					remote_fits(remote, takes_any_key, facts, ret_key)) {
				return remote;
			}
		}
	}
	return NULL;
}

/* ---- Updates ---- */

/* Label by label, from the first to the root; `*` stands for any one label. */
static bool owner_has_pattern(knot_name_t owner, knot_name_t pattern)
{
	if (owner.label_count != pattern.label_count) {
		return false;
	}
	for (; owner.label_count > 0; owner = knot_name_strip(owner, 1), pattern = knot_name_strip(pattern, 1)) {
		uint8_t wire[1 + KNOT_LABEL_MAX + 1] = { 0 }, pattern_wire[1 + KNOT_LABEL_MAX + 1] = { 0 };
		memcpy(wire, owner.wire, 1u + owner.wire[0]);
		memcpy(pattern_wire, pattern.wire, 1u + pattern.wire[0]);
		if (!knot_name_is_wildcard(pattern) && !knot_name_eq(knot_name_of(wire), knot_name_of(pattern_wire))) {
			return false;
		}
	}
	return true;
}

static bool owner_relates(knot_name_t owner, knot_name_t name, conf_update_match_t match)
{
	switch (match) {
	case CONF_MATCH_SUB_OR_EQUAL: return knot_name_in(owner, name);
	case CONF_MATCH_EQUAL: return knot_name_eq(owner, name);
	case CONF_MATCH_SUB: return knot_name_in(owner, name) && owner.label_count > name.label_count;
	case CONF_MATCH_PATTERN: return owner_has_pattern(owner, name);
	}
	return false;
}

/* A name of update-owner-name, made absolute. False: it would be too long, so nothing relates to it. */
static bool owner_absolute(const conf_owner_t *owner, knot_name_t zone, uint8_t ret_wire[static KNOT_NAME_MAX],
		knot_name_t *ret_name)
{
	size_t labels_len = owner->name.len - 1u;
	if (!owner->is_relative) {
		*ret_name = owner->name;
		return true;
	}
	if (labels_len + zone.len > KNOT_NAME_MAX) {
		return false;
	}
	memcpy(ret_wire, owner->name.wire, labels_len);
	memcpy(ret_wire + labels_len, zone.wire, zone.len);
	*ret_name = knot_name_of(ret_wire);
	return true;
}

static bool owner_in_names(knot_name_t owner, const conf_acl_t *rule, knot_name_t zone)
{
	bool fits = rule->update_names.count == 0;
	for (size_t i = 0; i < rule->update_names.count && !fits; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		knot_name_t name;
		fits = owner_absolute(&rule->update_names.data[i], zone, wire, &name) &&
		       owner_relates(owner, name, (conf_update_match_t)rule->update_match);
	}
	return fits;
}

static bool update_owner_fits(
		knot_name_t owner, const conf_acl_t *rule, const conf_zone_t *zone, const access_facts_t *facts)
{
	switch ((conf_update_owner_t)rule->update_owner) {
	case CONF_OWNER_ANY: return true;
	case CONF_OWNER_KEY:
		return facts->tsig != NULL &&
		       owner_relates(owner, facts->tsig->key, (conf_update_match_t)rule->update_match);
	case CONF_OWNER_ZONE: return owner_relates(owner, zone->name, (conf_update_match_t)rule->update_match);
	case CONF_OWNER_NAME: return owner_in_names(owner, rule, zone->name);
	}
	return false;
}

static bool update_type_fits(uint16_t type, const conf_acl_t *rule)
{
	bool fits = rule->update_types.data == NULL;
	for (size_t i = 0; i < rule->update_types.count && !fits; i++) {
		fits = rule->update_types.data[i] == type;
	}
	return fits;
}

/* Each record of the update section is one that the rule is about. Prerequisites aren't looked at. */
static bool update_fits(const conf_acl_t *rule, const conf_zone_t *zone, const access_facts_t *facts)
{
	if (rule->update_types.data == NULL && rule->update_owner == CONF_OWNER_ANY) {
		return true;
	}
	knot_message_t view;
	knot_message_rr_t rr;
	if (knot_message_begin(facts->message, &view) != KNOT_OK) {
		return false;
	}
	while (knot_message_next(&view, &rr)) {
		/* RFC 2136 2: the section that is called AUTHORITY elsewhere. */
		if (rr.section == KNOT_SECTION_AUTHORITY &&
				(!update_type_fits(rr.type, rule) || !update_owner_fits(rr.owner, rule, zone, facts))) {
			return false;
		}
	}
	return !view.failed;
}

/* ---- Rules ---- */

/* Updates go to the primary, which knows the keys. */
static bool rule_is_forwarded(const conf_zone_t *zone, const access_facts_t *facts)
{
	bool is_off = zone->ddns_master.data != NULL && zone->ddns_master.count == 0;
	return facts->action == CONF_ACTION_UPDATE && zone->master.count > 0 && !is_off;
}

static bool rule_fits_client(
		const conf_acl_t *rule, const conf_zone_t *zone, const access_facts_t *facts, access_verdict_t *verdict)
{
	bool takes_any_key = rule->deny || rule_is_forwarded(zone, facts);
	if (rule->remotes.data != NULL) {
		verdict->remote = remote_find(rule->remotes, false, takes_any_key, facts, &verdict->key);
		return verdict->remote != NULL;
	}
	return key_fits(rule->keys, takes_any_key, facts->tsig, &verdict->key) &&
	       source_in_peers(facts->source, rule->addresses) &&
	       (rule->protocols.bits == 0 || (rule->protocols.bits & facts->protocol) != 0) && !rule->has_cert;
}

/* True if the rule decides: then the verdict says how. */
static bool rule_decide(const conf_acl_t *rule, const conf_zone_t *zone, const access_facts_t *facts,
		access_verdict_t *ret_verdict)
{
	access_verdict_t verdict = { .rule = rule };
	if (!rule_fits_client(rule, zone, facts, &verdict)) {
		return false;
	}
	bool is_query = facts->action == CONF_ACTION_QUERY, has_actions = rule->actions.bits != 0;
	if (!is_query && has_actions && (rule->actions.bits >> facts->action & 1) == 0) {
		return false;
	}
	if (has_actions && facts->action == CONF_ACTION_UPDATE && !update_fits(rule, zone, facts)) {
		return false;
	}
	verdict.is_allowed = !rule->deny && (is_query || has_actions);
	verdict.key = verdict.is_allowed ? verdict.key : NULL;
	*ret_verdict = verdict;
	return true;
}

static bool automatic_decide(const conf_zone_t *zone, const access_facts_t *facts, access_verdict_t *ret_verdict)
{
	static const size_t lists[] = {
		[CONF_ACTION_QUERY] = offsetof(conf_zone_t, notify),
		[CONF_ACTION_NOTIFY] = offsetof(conf_zone_t, master),
		[CONF_ACTION_TRANSFER] = offsetof(conf_zone_t, notify),
	};
	if (facts->action == CONF_ACTION_UPDATE) {
		return false;
	}
	access_verdict_t verdict = { .is_allowed = true, .is_automatic = true };
	const conf_groups_t *groups = (const conf_groups_t *)((const uint8_t *)zone + lists[facts->action]);
	verdict.remote = remote_find(*groups, true, false, facts, &verdict.key);
	if (verdict.remote == NULL) {
		return false;
	}
	*ret_verdict = verdict;
	return true;
}

access_verdict_t access_check(bool has_automatic, const conf_zone_t *zone, const access_facts_t *facts)
{
	access_verdict_t verdict = { 0 };
	if (has_automatic && automatic_decide(zone, facts, &verdict)) {
		return verdict;
	}
	for (size_t i = 0; i < zone->acl.count; i++) {
		if (rule_decide(zone->acl.data[i], zone, facts, &verdict)) {
			break;
		}
	}
	return verdict;
}
