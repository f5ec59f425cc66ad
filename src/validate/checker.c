/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/validate/checker.h"

#include <assert.h>
#include <stdlib.h>

#include "libknot/base/siphash.h"
#include "src/sign/set.h"
#include "src/validate/chain.h"
#include "src/zone/diff.h"

enum {
	TRIES_MAX = 3,       /* keys that are tried for one signature: CVE-2023-50387 */
	SIGS_MAX = 64,       /* of keys of the zone, over one set: each hashes the whole set */
	ALWAYS_VERIFIED = 8, /* signatures of each key, unless options say otherwise */
};

/* ---- Beginning and end ---- */

knot_err_t validate_checker_init(validate_checker_t *c, const zone_contents_t *zone, const validate_options_t *options,
		const validate_keys_t *keys)
{
	*c = (validate_checker_t){ .zone = zone, .options = options, .keys = keys };
	c->hands = calloc(keys->count + 1, sizeof(*c->hands));
	c->scratch = malloc(VALIDATE_NSEC3_SCRATCH);
	c->sig = malloc(KNOT_RDATA_MAX);
	return c->hands != NULL && c->scratch != NULL && c->sig != NULL ? KNOT_OK : KNOT_ENOMEM;
}

void validate_checker_done(validate_checker_t *c)
{
	for (size_t i = 0; c->hands != NULL && i < c->keys->count; i++) {
		dnssec_verifier_free(c->hands[i].verifier);
	}
	free(c->hands);
	free(c->data);
	free(c->scratch);
	free(c->sig);
	free(c->types);
	free(c->all.list);
	*c = (validate_checker_t){ 0 };
}

const knot_err_t validate_kinds[VALIDATE_KINDS] = { KNOT_ENOSIG, KNOT_ESIGNATURE, KNOT_EKEYTAGS, KNOT_ENONSEC,
	KNOT_ENSECBITMAP, KNOT_ENSECCHAIN, KNOT_EOPTOUT, KNOT_EEXTRANSEC };

unsigned validate_kind(knot_err_t err)
{
	unsigned kind = 0;
	while (kind < VALIDATE_KINDS && validate_kinds[kind] != err) {
		kind++;
	}
	return kind;
}

static bool is_same_fault(const validate_fault_t *a, const validate_fault_t *b)
{
	return a->err == b->err && a->type == b->type && knot_name_eq(a->owner, b->owner);
}

static knot_err_t checker_list(validate_list_t *all, const validate_fault_t *fault)
{
	/* What is wrong with a name above others may be found at each of them. */
	if (all->count > 0 && is_same_fault(&all->list[all->count - 1].fault, fault)) {
		return KNOT_OK;
	}
	if (all->count == all->max) {
		all->left_out[validate_kind(fault->err)]++;
		return KNOT_OK;
	}
	if (all->count == all->room) {
		size_t room = 2 * all->room + 16;
		void *grown = realloc(all->list, room * sizeof(*all->list));
		if (grown == NULL) {
			return KNOT_ENOMEM;
		}
		all->list = grown;
		all->room = room;
	}
	all->list[all->count].fault = *fault;
	all->list[all->count++].order = all->order;
	return KNOT_OK;
}

knot_err_t validate_checker_fault(validate_checker_t *c, knot_err_t err, knot_name_t owner, uint16_t type)
{
	c->fault = (validate_fault_t){ err, owner, type };
	return c->all.max > 0 && validate_kind(err) < VALIDATE_KINDS ? checker_list(&c->all, &c->fault) : err;
}

/* ---- The data that is signed ---- */

static knot_err_t checker_reserve(validate_checker_t *c, size_t len)
{
	if (c->data_len + len <= c->data_max) {
		return KNOT_OK;
	}
	size_t max = 2 * (c->data_len + len) + 1024;
	uint8_t *grown = realloc(c->data, max);
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	c->data = grown;
	c->data_max = max;
	return KNOT_OK;
}

/* The records in canonical form and order, as they are stored. */
static knot_err_t checker_print_set(validate_checker_t *c, const zone_node_t *node, const zone_rrset_t *set)
{
	enum { RR_FIXED_LEN = 10 }; /* type, class, TTL, RDLENGTH */
	knot_name_t owner = zone_node_owner(node);
	zone_rr_iter_t iter = zone_rr_begin(node, set, false);
	uint32_t ttl;
	knot_bytes_t rdata;
	c->data_len = 0;
	while (zone_rr_next(&iter, (knot_mut_bytes_t){ c->scratch, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		size_t len = owner.len + RR_FIXED_LEN + rdata.len;
		knot_err_t err = checker_reserve(c, len);
		if (err != KNOT_OK) {
			return err;
		}
		knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ c->data + c->data_len, len });
		knot_write(&w, owner.wire, owner.len);
		knot_write_u16(&w, zone_rrset_type(set));
		knot_write_u16(&w, KNOT_CLASS_IN);
		knot_write_u32(&w, ttl);
		knot_write_u16(&w, (uint16_t)rdata.len);
		knot_write(&w, rdata.data, rdata.len);
		assert(!w.failed && w.len == len);
		c->data_len += len;
	}
	c->has_data = true;
	return KNOT_OK;
}

/* ---- One signature ---- */

/** The set that a signature is of, and what is known of its signatures. */
typedef struct {
	const zone_node_t *node;
	const zone_rrset_t *set;
	uint16_t type;
	bool is_keys;                /* DNSKEY, CDS or CDNSKEY of the apex */
	bool is_same;                /* verified with the version before */
	unsigned sig_count;          /* of keys of the zone */
	bool has_valid, has_wrong;   /* there is a valid signature; one of a key of the zone isn't */
	validate_algorithms_t valid; /* algorithms of valid ones */
} looked_t;

enum { ALGORITHM_OFF = 2 }; /* in the RDATA of RRSIG */

/* The next key that a signature may be of, from *io_key on. False: there is none. */
static bool checker_next_key(const validate_checker_t *c, const looked_t *at, knot_bytes_t rdata, size_t *io_key)
{
	const uint16_t tag = load_be16(rdata.data + SIGN_RRSIG_TAG_OFF);
	const uint8_t algorithm = rdata.data[ALGORITHM_OFF];
	for (size_t i = *io_key; i < c->keys->count; i++) {
		const validate_key_t *key = &c->keys->keys[i];
		if (key->tag != tag || key->algorithm != algorithm) {
			return false;
		}
		if (!at->is_keys || key->signs_keys) {
			*io_key = i;
			return true;
		}
	}
	return false;
}

static size_t checker_first_key(const validate_checker_t *c, knot_bytes_t rdata)
{
	return validate_keys_first(c->keys, load_be16(rdata.data + SIGN_RRSIG_TAG_OFF), rdata.data[ALGORITHM_OFF]);
}

/* Everything that a signature says but times. RFC 4035 5.3.1, and TTL as RFC 4034 3.1.4. */
static bool checker_has_right_head(const validate_checker_t *c, const looked_t *at, knot_bytes_t rdata)
{
	knot_name_t owner = zone_node_owner(at->node), origin = zone_node_owner(c->zone->apex);
	knot_name_t signer = knot_name_of(rdata.data + SIGN_RRSIG_SIGNER_OFF);
	return rdata.data[SIGN_RRSIG_LABELS_OFF] == owner.label_count - knot_name_is_wildcard(owner) &&
	       load_be32(rdata.data + SIGN_RRSIG_LABELS_OFF + 1) == zone_rrset_ttl(at->set) &&
	       knot_name_eq(signer, origin);
}

static bool checker_is_in_time(validate_checker_t *c, const looked_t *at, knot_bytes_t rdata)
{
	uint64_t now_s = c->options->now_s;
	uint64_t expires_s = sign_rrsig_time(load_be32(rdata.data + SIGN_RRSIG_EXPIRATION_OFF), now_s);
	uint64_t begins_s = sign_rrsig_time(load_be32(rdata.data + SIGN_RRSIG_INCEPTION_OFF), now_s);
	if (c->first.expires_s == 0 || expires_s < c->first.expires_s) {
		c->first = (validate_expiration_t){ expires_s, zone_node_owner(at->node), at->type };
	}
	return c->options->ignores_times || (begins_s <= now_s && now_s <= expires_s);
}

static bool checker_must_verify(const validate_checker_t *c, const looked_t *at, size_t key)
{
	const validate_options_t *o = c->options;
	if (o->only_times || at->is_same) {
		return false;
	}
	unsigned always = o->sample_after > 0 ? o->sample_after : ALWAYS_VERIFIED;
	if (o->sample <= 1 || at->node == c->zone->apex || c->keys->keys[key].is_shared_tag ||
			c->hands[key].count < always) {
		return true;
	}
	uint64_t hash = knot_siphash24(at->type, 0, (knot_bytes_t){ at->node->owner, at->node->owner_len });
	return (hash % o->sample + o->sample_seed) % o->sample == 0;
}

static knot_err_t checker_verify_by(validate_checker_t *c, const looked_t *at, size_t key, knot_bytes_t rdata)
{
	knot_err_t err = c->has_data ? KNOT_OK : checker_print_set(c, at->node, at->set);
	if (err == KNOT_OK && c->hands[key].verifier == NULL) {
		err = dnssec_verifier_new(c->keys->keys[key].key, &c->hands[key].verifier);
	}
	if (err != KNOT_OK) {
		return err;
	}
	uint8_t head[SIGN_RRSIG_HEAD_MAX];
	knot_name_t signer = knot_name_of(rdata.data + SIGN_RRSIG_SIGNER_OFF);
	size_t head_len = SIGN_RRSIG_SIGNER_OFF + (size_t)signer.len;
	memcpy(head, rdata.data, SIGN_RRSIG_SIGNER_OFF);
	knot_name_lower(signer, head + SIGN_RRSIG_SIGNER_OFF); /* RFC 4034 3.1.8.1, 6.2 */
	const knot_bytes_t pieces[] = { { head, head_len }, { c->data, c->data_len } };
	const knot_bytes_t signature = { rdata.data + head_len, rdata.len - head_len };
	dnssec_verifier_t *verifier = c->hands[key].verifier;
	c->hands[key].count++;
	/* Of keys that share a tag, each is tried. */
	if (!c->verifies_together || c->keys->keys[key].is_shared_tag) {
		return dnssec_verifier_verify(verifier, pieces, KNOT_LEN(pieces), signature);
	}
	err = dnssec_verifier_take(verifier, pieces, KNOT_LEN(pieces), signature);
	c->is_unsure = c->is_unsure || err == KNOT_ESIGNATURE;
	return err;
}

knot_err_t validate_checker_settle(validate_checker_t *c)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; c->hands != NULL && (err == KNOT_OK || err == KNOT_ESIGNATURE) && i < c->keys->count; i++) {
		err = c->hands[i].verifier != NULL ? dnssec_verifier_settle(c->hands[i].verifier) : KNOT_OK;
		c->is_unsure = c->is_unsure || err == KNOT_ESIGNATURE;
	}
	return err == KNOT_ESIGNATURE ? KNOT_OK : err;
}

/* Try the keys that it may be of, from *io_key on. The first one that it is of, or needn't be shown to be of: *io_key.
 */
static knot_err_t checker_verify(validate_checker_t *c, const looked_t *at, knot_bytes_t rdata, size_t *io_key)
{
	knot_err_t err = KNOT_ESIGNATURE;
	unsigned tries = 0;
	for (size_t key = *io_key; err == KNOT_ESIGNATURE && checker_next_key(c, at, rdata, &key); key++) {
		if (tries == TRIES_MAX) {
			return KNOT_EKEYTAGS;
		}
		*io_key = key;
		if (!checker_must_verify(c, at, key)) {
			return KNOT_OK;
		}
		tries++;
		c->verified_count += tries == 1;
		err = checker_verify_by(c, at, key, rdata);
	}
	return err == KNOT_ESIGNATURE && tries == TRIES_MAX ? KNOT_EKEYTAGS : err;
}

/* A signature of no key of the zone is nothing to us. One of a key must be right, also if others are. */
static knot_err_t checker_look_at(validate_checker_t *c, looked_t *at, knot_bytes_t rdata)
{
	size_t key = checker_first_key(c, rdata);
	if (!checker_next_key(c, at, rdata, &key)) {
		return KNOT_OK;
	}
	if (++at->sig_count > SIGS_MAX) {
		at->has_wrong = true;
		return KNOT_OK;
	}
	c->rrsig_count++;
	bool is_in_time = checker_is_in_time(c, at, rdata);
	bool is_right = is_in_time && checker_has_right_head(c, at, rdata);
	knot_err_t err = is_right ? checker_verify(c, at, rdata, &key) : KNOT_ESIGNATURE;
	if (err != KNOT_OK) {
		at->has_wrong = at->has_wrong || err == KNOT_ESIGNATURE;
		return err == KNOT_ESIGNATURE ? KNOT_OK : err;
	}
	if (!c->keys->keys[key].is_revoked) {
		at->has_valid = true;
		validate_algorithms_add(&at->valid, c->keys->keys[key].algorithm);
	}
	return KNOT_OK;
}

/* ---- Sets and names ---- */

static bool checker_is_complete(const validate_checker_t *c, const looked_t *at)
{
	const validate_algorithms_t *wanted = at->is_keys ? &c->keys->key_algorithms : &c->keys->algorithms;
	return at->has_valid && (!c->options->all_algorithms || validate_algorithms_has(&at->valid, wanted));
}

static knot_err_t checker_look_at_all(validate_checker_t *c, looked_t *at)
{
	zone_rr_iter_t iter = zone_rr_begin(at->node, at->set, true);
	uint32_t ttl;
	knot_bytes_t rdata;
	knot_err_t err = KNOT_OK;
	c->has_data = false;
	while (err == KNOT_OK && zone_rrset_has_sigs(at->set) &&
			zone_rr_next(&iter, (knot_mut_bytes_t){ c->sig, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		err = checker_look_at(c, at, rdata);
	}
	if (err != KNOT_OK) {
		return err;
	}
	return !checker_is_complete(c, at) ? KNOT_ENOSIG : at->has_wrong ? KNOT_ESIGNATURE : KNOT_OK;
}

/* Of signatures that cover nothing at the name: whether one is of signatures. RFC 4035 2.2. */
static bool checker_covers_rrsig(validate_checker_t *c, const zone_node_t *node, const zone_rrset_t *set)
{
	zone_rr_iter_t iter = zone_rr_begin(node, set, false);
	uint32_t ttl;
	knot_bytes_t rdata;
	bool covers = false;
	while (!covers && zone_rr_next(&iter, (knot_mut_bytes_t){ c->sig, KNOT_RDATA_MAX }, &ttl, &rdata)) {
		covers = sign_rrsig_covered(rdata) == KNOT_TYPE_RRSIG;
	}
	return covers && !c->options->only_times;
}

knot_err_t validate_signatures(validate_checker_t *c, const zone_node_t *node, sign_place_t place,
		const zone_contents_t *base, const zone_node_t *before)
{
	unsigned count = zone_node_rrset_count(node);
	knot_err_t err = KNOT_OK;
	for (unsigned i = 0; err == KNOT_OK && i < count; i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&c->zone->arena, node, i);
		uint16_t type = zone_rrset_type(set);
		if (type == KNOT_TYPE_RRSIG) {
			err = checker_covers_rrsig(c, node, set) ? KNOT_ENOSIG : KNOT_OK;
		} else if (!sign_place_signs(place, type)) {
			err = zone_rrset_has_sigs(set) && !c->options->only_times ? KNOT_ENOSIG : KNOT_OK;
		} else {
			const zone_rrset_t *old = before != NULL ? zone_node_rrset(&base->arena, before, type) : NULL;
			looked_t at = { .node = node,
				.set = set,
				.type = type,
				.is_keys = node == c->zone->apex && sign_is_key_type(type),
				.is_same = old != NULL && zone_rrset_is_same(old, set) };
			err = checker_look_at_all(c, &at);
		}
		if (err != KNOT_OK) {
			err = validate_checker_fault(c, err, zone_node_owner(node), type);
		}
	}
	return err;
}

/* ---- Bitmaps ---- */

static bool is_made_everywhere(uint16_t type)
{
	return type == KNOT_TYPE_NSEC || type == KNOT_TYPE_RRSIG || type == KNOT_TYPE_NSEC3;
}

bool validate_has_data(const zone_contents_t *zone, const zone_node_t *node)
{
	bool has_data = false;
	for (unsigned i = 0; !has_data && i < zone_node_rrset_count(node); i++) {
		has_data = !is_made_everywhere(zone_rrset_type(zone_node_rrset_at(&zone->arena, node, i)));
	}
	return has_data;
}

static knot_err_t checker_reserve_types(validate_checker_t *c, size_t count)
{
	if (count <= c->type_max) {
		return KNOT_OK;
	}
	uint16_t *grown = realloc(c->types, 2 * count * sizeof(*grown));
	if (grown == NULL) {
		return KNOT_ENOMEM;
	}
	c->types = grown;
	c->type_max = 2 * count;
	return KNOT_OK;
}

/* RFC 4034 4.1.2, RFC 5155 3.1.8: at a cut what the parent has. */
knot_err_t validate_bitmap(validate_checker_t *c, const zone_node_t *node, sign_place_t place, sign_chain_t chain,
		uint8_t ret_bitmap[static SIGN_BITMAP_MAX], size_t *ret_len)
{
	unsigned rrsets = zone_node_rrset_count(node);
	knot_err_t err = checker_reserve_types(c, rrsets + 2);
	if (err != KNOT_OK) {
		return err;
	}
	bool is_nsec = chain == SIGN_CHAIN_NSEC, is_signed = false, has_added = false;
	size_t count = 0;
	for (unsigned i = 0; i < rrsets; i++) {
		const zone_rrset_t *set = zone_node_rrset_at(&c->zone->arena, node, i);
		uint16_t type = zone_rrset_type(set);
		is_signed = is_signed || (type == KNOT_TYPE_RRSIG && place == SIGN_PLACE_AUTH) ||
			    (zone_rrset_has_sigs(set) && sign_place_signs(place, type));
	}
	for (unsigned i = 0; i <= rrsets; i++) {
		unsigned type = i < rrsets ? zone_rrset_type(zone_node_rrset_at(&c->zone->arena, node, i))
					   : UINT16_MAX + 1;
		if (!has_added && type > KNOT_TYPE_RRSIG) {
			has_added = true;
			if (is_signed) {
				c->types[count++] = KNOT_TYPE_RRSIG;
			}
			if (is_nsec) {
				c->types[count++] = KNOT_TYPE_NSEC;
			}
		}
		bool is_in = i < rrsets && !is_made_everywhere((uint16_t)type) &&
			     (place == SIGN_PLACE_AUTH || type == KNOT_TYPE_NS ||
					     sign_place_signs(place, (uint16_t)type));
		if (is_in) {
			c->types[count++] = (uint16_t)type;
		}
	}
	*ret_len = sign_bitmap_print(c->types, count, ret_bitmap);
	return KNOT_OK;
}
