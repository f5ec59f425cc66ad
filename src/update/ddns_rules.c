/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What updates may do: RFC 2136 3.4 with Knot's rules beside it. A rule that forbids something lets the update succeed
 * without it, so that a client which sends all it knows isn't refused for what the zone has anyway.
 */
#include "src/update/ddns_steps.h"

#include "src/update/serial.h"

#include <assert.h>

static bool rule_is_apex(const ddns_t *ddns, knot_name_t name)
{
	return name.len == ddns->update->origin.len; /* the caller knows that it is in the zone */
}

/* True if there are records of the type. *err: KNOT_OK at first, KNOT_ENOMEM if it can't be said. */
static bool rule_has(const ddns_t *ddns, knot_name_t owner, uint16_t type, knot_err_t *err)
{
	uint32_t ttl;
	knot_err_t found = zone_txn_find_ttl(ddns->update->txn, owner, type, &ttl);
	*err = found == KNOT_ENOMEM ? found : *err;
	return found == KNOT_OK;
}

/* What isn't there needn't be removed. */
static knot_err_t rule_ignore_missing(knot_err_t err)
{
	return err == KNOT_ENONODE || err == KNOT_ENOENT || err == KNOT_ENORECORD ? KNOT_OK : err;
}

/* ---- Format ---- */

static bool rule_is_meta(uint16_t type)
{
	/* Type 0 marks a SIG that covers a message (RFC 2931 3); to zone_txn_remove_all() it means all types. */
	return type == 0 || type == KNOT_TYPE_SIG || knot_rrtype_is_meta(type);
}

static bool rule_is_malformed(const ddns_rr_t *rr)
{
	switch (rr->class) {
	case KNOT_CLASS_IN: return rule_is_meta(rr->type);
	case KNOT_CLASS_ANY: return rr->has_rdata || (rr->type != KNOT_TYPE_ANY && rule_is_meta(rr->type));
	case KNOT_CLASS_NONE: return rr->ttl != 0 || rule_is_meta(rr->type);
	default: return true;
	}
}

/* The chain is the signer's: a zone gets it once, at the apex, and doesn't lose it by an update of it. */
static knot_err_t rule_check_nsec3param(const ddns_t *ddns, const ddns_rr_t *rr)
{
	knot_err_t err = KNOT_OK;
	if (!rule_is_apex(ddns, rr->owner)) {
		ddns_say(ddns, DDNS_WARNING, false, "DDNS, refusing to add NSEC3PARAM to non-apex node");
		return KNOT_EDENIED;
	}
	if (rule_has(ddns, rr->owner, KNOT_TYPE_NSEC3PARAM, &err)) {
		ddns_say(ddns, DDNS_WARNING, false, "DDNS, refusing to add second NSEC3PARAM to zone apex");
		return KNOT_EDENIED;
	}
	return err;
}

knot_err_t ddns_check_update(const ddns_t *ddns, const ddns_rr_t *rr)
{
	if (!knot_name_in(rr->owner, ddns->update->origin)) {
		return KNOT_EOUTOFZONE;
	}
	if (rule_is_malformed(rr)) {
		return KNOT_EMALF;
	}
	return rr->type == KNOT_TYPE_NSEC3PARAM ? rule_check_nsec3param(ddns, rr) : KNOT_OK;
}

/* ---- Adding ---- */

/* Put a record in the place of those of its type. */
static knot_err_t rule_replace(const ddns_t *ddns, const ddns_rr_t *rr)
{
	zone_txn_t *txn = ddns->update->txn;
	knot_err_t err = rule_ignore_missing(zone_txn_remove_all(txn, rr->owner, rr->type));
	return err == KNOT_OK ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata) : err;
}

static void rule_say_ttl(const ddns_t *ddns, const ddns_rr_t *rr)
{
	char owner[KNOT_NAME_TEXT_MAX], type[KNOT_TYPE_TEXT_MAX];
	uint8_t lower[KNOT_NAME_MAX];
	knot_name_lower(rr->owner, lower);
	knot_name_print((knot_name_t){ lower, rr->owner.len, rr->owner.label_count }, owner);
	knot_rrtype_print(rr->type, type);
	ddns_say(ddns, DDNS_NOTICE, true, "TTL mismatch, owner %.900s, type %s, TTL set to %u", owner, type,
			(unsigned)rr->ttl);
}

/* The RRset gets the TTL of the record, unless that is there already. */
static knot_err_t rule_put(const ddns_t *ddns, const ddns_rr_t *rr)
{
	zone_txn_t *txn = ddns->update->txn;
	uint32_t ttl;
	knot_err_t err = zone_txn_find_ttl(txn, rr->owner, rr->type, &ttl);
	bool is_mismatch = err == KNOT_OK && ttl != rr->ttl && rr->type != KNOT_TYPE_RRSIG;
	if (err == KNOT_ENOMEM) {
		return err;
	}
	size_t mark = update_mark(ddns->update);
	err = zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata);
	if (err == KNOT_EISRECORD) {
		update_rollback(ddns->update, mark);
		return KNOT_OK;
	}
	if (err == KNOT_OK && is_mismatch) {
		rule_say_ttl(ddns, rr);
	}
	return err;
}

/* A SOA says which version is to be next: it must be newer than what is served. */
static knot_err_t rule_add_soa(const ddns_t *ddns, const ddns_rr_t *rr)
{
	const zone_contents_t *base = ddns->update->base;
	bool is_newer = base == NULL || update_serial_is_newer(knot_soa_serial(rr->rdata), base->serial);
	return rule_is_apex(ddns, rr->owner) && is_newer ? rule_replace(ddns, rr) : KNOT_OK;
}

/* What a signer has made doesn't count (RFC 2136 3.4.2.2, RFC 4035 2.5): it is made again for what is there then. */
static bool rule_see_other(const zone_rr_t *rr, void *ctx)
{
	bool *has_other = ctx;
	*has_other = !knot_rrtype_beside_cname(rr->type);
	return !*has_other;
}

static knot_err_t rule_add_cname(const ddns_t *ddns, const ddns_rr_t *rr)
{
	knot_err_t err = KNOT_OK;
	if (!rule_has(ddns, rr->owner, KNOT_TYPE_CNAME, &err) && err == KNOT_OK) {
		bool has_other = false;
		err = zone_txn_each_of(ddns->update->txn, rr->owner, rule_see_other, &has_other);
		err = err == KNOT_ENONODE ? KNOT_OK : err;
		if (has_other) {
			return err;
		}
	}
	return err == KNOT_OK ? rule_replace(ddns, rr) : err;
}

static knot_err_t rule_add_dname(const ddns_t *ddns, const ddns_rr_t *rr)
{
	zone_txn_t *txn = ddns->update->txn;
	knot_err_t err = KNOT_OK;
	if (rule_has(ddns, rr->owner, KNOT_TYPE_CNAME, &err) || err != KNOT_OK) {
		return err;
	}
	if (!rule_has(ddns, rr->owner, KNOT_TYPE_DNAME, &err) && err == KNOT_OK) {
		err = zone_txn_find_below(txn, rr->owner);
		return err == KNOT_ENONODE ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata) : err;
	}
	size_t mark = update_mark(ddns->update);
	err = err == KNOT_OK ? zone_txn_put(txn, rr->owner, rr->type, rr->ttl, rr->rdata) : err;
	if (err == KNOT_EISRECORD) {
		update_rollback(ddns->update, mark); /* the same with another TTL is there already */
		return KNOT_OK;
	}
	return err == KNOT_OK ? rule_replace(ddns, rr) : err;
}

/* One that is there was added by this message (ddns_check_update()): Knot drops both. */
static knot_err_t rule_add_nsec3param(const ddns_t *ddns, const ddns_rr_t *rr)
{
	knot_err_t err = KNOT_OK;
	bool is_second = rule_has(ddns, rr->owner, KNOT_TYPE_NSEC3PARAM, &err);
	if (err != KNOT_OK || !is_second) {
		return err == KNOT_OK ? rule_put(ddns, rr) : err;
	}
	return zone_txn_remove_all(ddns->update->txn, rr->owner, KNOT_TYPE_NSEC3PARAM);
}

static knot_err_t rule_add_other(const ddns_t *ddns, const ddns_rr_t *rr)
{
	knot_err_t err = KNOT_OK;
	bool is_alias = rule_has(ddns, rr->owner, KNOT_TYPE_CNAME, &err);
	if (err != KNOT_OK || is_alias) {
		return err;
	}
	ddns_rr_t record = *rr;
	if (rr->type == KNOT_TYPE_RRSIG) {
		assert(rr->rdata.len >= 18);                /* RFC 4034 3.1: it was checked when it was read */
		record.ttl = load_be32(rr->rdata.data + 4); /* RFC 4034 3: that of the RRset that it signs */
	}
	return rule_put(ddns, &record);
}

static knot_err_t rule_add(const ddns_t *ddns, const ddns_rr_t *rr)
{
	static const struct {
		uint16_t type;
		knot_err_t (*add)(const ddns_t *ddns, const ddns_rr_t *rr);
	} rows[] = {
		{ KNOT_TYPE_SOA, rule_add_soa },
		{ KNOT_TYPE_CNAME, rule_add_cname },
		{ KNOT_TYPE_DNAME, rule_add_dname },
		{ KNOT_TYPE_NSEC3PARAM, rule_add_nsec3param },
	};
	if (zone_txn_is_below_dname(ddns->update->txn, rr->owner)) {
		return KNOT_OK;
	}
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (rows[i].type == rr->type) {
			return rows[i].add(ddns, rr);
		}
	}
	return rule_add_other(ddns, rr);
}

/* ---- Deleting ---- */

typedef struct {
	uint16_t type;
	unsigned count;
} rule_count_t;

static bool rule_count_type(const zone_rr_t *rr, void *ctx)
{
	rule_count_t *count = ctx;
	count->count += rr->type == count->type;
	return count->count < 2; /* one or more: nothing else is asked */
}

/* True for the only NS of the apex, without which the zone couldn't be delegated to (RFC 2136 3.4.2.4). */
static bool rule_is_last_ns(const ddns_t *ddns, const ddns_rr_t *rr, knot_err_t *err)
{
	rule_count_t ns = { .type = KNOT_TYPE_NS };
	if (rr->type == KNOT_TYPE_NS && rule_is_apex(ddns, rr->owner)) {
		*err = rule_ignore_missing(zone_txn_each_of(ddns->update->txn, rr->owner, rule_count_type, &ns));
	}
	return ns.count == 1;
}

enum { RULE_TYPES_MAX = 256 }; /* types of the apex that are removed at once; more are, too, in more rounds */

typedef struct {
	uint16_t types[RULE_TYPES_MAX];
	size_t count;
} rule_types_t;

static bool rule_list_type(const zone_rr_t *rr, void *ctx)
{
	rule_types_t *types = ctx;
	bool is_kept = rr->type == KNOT_TYPE_SOA || rr->type == KNOT_TYPE_NS;
	bool is_listed = types->count > 0 && types->types[types->count - 1] == rr->type;
	if (!is_kept && !is_listed) {
		types->types[types->count++] = rr->type;
	}
	return types->count < KNOT_LEN(types->types);
}

/* SOA and NS of the apex stay (RFC 2136 3.4.2.3). */
static knot_err_t rule_clear_apex(const ddns_t *ddns, knot_name_t apex)
{
	zone_txn_t *txn = ddns->update->txn;
	knot_err_t err = KNOT_OK;
	rule_types_t types;
	do {
		types.count = 0;
		err = rule_ignore_missing(zone_txn_each_of(txn, apex, rule_list_type, &types));
		for (size_t i = 0; err == KNOT_OK && i < types.count; i++) {
			err = rule_ignore_missing(zone_txn_remove_all(txn, apex, types.types[i]));
		}
	} while (err == KNOT_OK && types.count == KNOT_LEN(types.types));
	return err;
}

static knot_err_t rule_delete_sets(const ddns_t *ddns, const ddns_rr_t *rr)
{
	zone_txn_t *txn = ddns->update->txn;
	bool is_apex = rule_is_apex(ddns, rr->owner);
	if (rr->type == KNOT_TYPE_ANY) {
		return is_apex ? rule_clear_apex(ddns, rr->owner)
			       : rule_ignore_missing(zone_txn_remove_all(txn, rr->owner, 0));
	}
	return is_apex && rr->type == KNOT_TYPE_NS ? KNOT_OK
						   : rule_ignore_missing(zone_txn_remove_all(txn, rr->owner, rr->type));
}

static knot_err_t rule_delete_record(const ddns_t *ddns, const ddns_rr_t *rr)
{
	knot_err_t err = KNOT_OK;
	if (rule_is_last_ns(ddns, rr, &err) || err != KNOT_OK) {
		return err;
	}
	return rule_ignore_missing(zone_txn_remove(ddns->update->txn, rr->owner, rr->type, rr->rdata));
}

knot_err_t ddns_apply_update(const ddns_t *ddns, const ddns_rr_t *rr)
{
	if (rr->class == KNOT_CLASS_IN) {
		return rule_add(ddns, rr);
	}
	if (rr->type == KNOT_TYPE_SOA) {
		return KNOT_OK; /* a zone always has its SOA */
	}
	return rr->class == KNOT_CLASS_ANY ? rule_delete_sets(ddns, rr) : rule_delete_record(ddns, rr);
}
