/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/validate.h"

#include "libdnssec/key.h"
#include "libdnssec/sign.h"
#include "libknot/rr/rdata.h"
#include "src/present/codes.h"
#include "src/sys/clock.h"
#include "src/tools/lookup/denial.h"
#include "src/tools/lookup/fetch.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	VALIDATE_RESULT = 1,  /* verbosity: the result only */
	VALIDATE_FAULTS = 2,  /* what is wrong, too */
	VALIDATE_ALL = 3,     /* what is right, too */
	RRSIG_FIXED_LEN = 18, /* before the signer's name, RFC 4034 3.1 */
};

/* ---- The library ---- */

static struct {
	bool is_loaded;
	knot_err_t (*key_from_rdata)(knot_bytes_t rdata, dnssec_key_t **ret_key);
	void (*key_free)(dnssec_key_t *take_key);
	knot_err_t (*verifier_new)(const dnssec_key_t *key, dnssec_verifier_t **ret_verifier);
	knot_err_t (*verifier_verify)(dnssec_verifier_t *verifier, const knot_bytes_t *pieces, size_t piece_count,
			knot_bytes_t signature);
	void (*verifier_free)(dnssec_verifier_t *take_verifier);
} crypto;

static bool validate_load(lookup_t *lookup)
{
	static const char soname[] = "libbowline-dnssec.so.0";
	const struct {
		const char *name;
		void *function; /* where its address goes */
	} symbols[] = {
		{ "dnssec_key_from_rdata", &crypto.key_from_rdata },
		{ "dnssec_key_free", &crypto.key_free },
		{ "dnssec_verifier_new", &crypto.verifier_new },
		{ "dnssec_verifier_verify", &crypto.verifier_verify },
		{ "dnssec_verifier_free", &crypto.verifier_free },
	};
	if (crypto.is_loaded) {
		return true;
	}
	void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library != NULL && i < KNOT_LEN(symbols); i++) {
		void *address = dlsym(library, symbols[i].name);
		if (address == NULL) {
			library = NULL;
		} else {
			memcpy(symbols[i].function, &address, sizeof(address));
		}
	}
	crypto.is_loaded = library != NULL;
	if (library == NULL) {
		lookup_error(lookup, "can't validate without the library %s (%s)", soname, dlerror());
	}
	return crypto.is_loaded;
}

/* ---- Records of a message ---- */

/** One record in canonical form (RFC 4034 6.2): owner in lower case. */
typedef struct {
	knot_name_t owner;
	uint16_t type, class;
	knot_section_t section;
	knot_bytes_t rdata;
	bool is_done;  /* its set was looked at */
	bool is_right; /* its set, too, and its signature is right */
} record_t;

/** Records of a message, and the bytes that they point to. */
typedef struct {
	record_t *records; /* owned */
	size_t count, room;
	uint8_t *bytes; /* owned */
	bool failed;    /* memory is short */
} records_t;

static void records_done(records_t *r)
{
	free(r->records);
	free(r->bytes);
	*r = (records_t){ 0 };
}

/* Each record takes at most 255 bytes for its owner, 510 for names in its RDATA, and what the message has. */
static void records_take(records_t *r, size_t *len, const present_message_t *message, const knot_message_rr_t *rr)
{
	uint8_t *at = r->bytes + *len;
	uint16_t rdata_len;
	knot_name_lower(rr->owner, at);
	uint8_t *rdata = at + rr->owner.len;
	if (knot_rdata_unpack(rr->type, message->wire, rr->rdata_off, rr->rdata_len,
			    (knot_mut_bytes_t){ rdata, KNOT_RDATA_MAX }, &rdata_len) != KNOT_OK) {
		return;
	}
	knot_rdata_canonical(rr->type, (knot_mut_bytes_t){ rdata, rdata_len });
	r->records[r->count++] = (record_t){
		.owner = { at, rr->owner.len, rr->owner.label_count },
		.type = rr->type,
		.class = rr->class,
		.section = rr->section,
		.rdata = { rdata, rdata_len },
	};
	*len += rr->owner.len + rdata_len;
}

/* The records of ANSWER and AUTHORITY. */
static bool records_read(const present_message_t *message, records_t *ret_records)
{
	knot_message_t view;
	knot_message_rr_t rr;
	size_t most = (size_t)message->counts[KNOT_SECTION_ANSWER] + message->counts[KNOT_SECTION_AUTHORITY], len = 0;
	records_t r = { .records = calloc(most + 1, sizeof(record_t)) };
	r.bytes = malloc(most * (3 * KNOT_NAME_MAX) + message->wire.len + KNOT_RDATA_MAX);
	if (r.records == NULL || r.bytes == NULL || knot_message_begin(message->wire, &view) != KNOT_OK) {
		records_done(&r);
		return false;
	}
	while (view.pos < message->end && knot_message_next(&view, &rr) && rr.section < KNOT_SECTION_ADDITIONAL) {
		if (rr.section != KNOT_SECTION_QUESTION) {
			records_take(&r, &len, message, &rr);
		}
	}
	*ret_records = r;
	return true;
}

/* ---- RRSIG ---- */

/** The fields of an RRSIG, RFC 4034 3.1. */
typedef struct {
	uint16_t covered, tag;
	uint8_t algorithm, labels;
	uint32_t ttl, expiration, inception;
	knot_name_t signer;
	knot_bytes_t signature, signed_part; /* RDATA without the signature */
} rrsig_t;

static bool rrsig_read(knot_bytes_t rdata, rrsig_t *ret_rrsig)
{
	knot_reader_t r = knot_reader_of(rdata);
	ret_rrsig->covered = knot_read_u16(&r);
	ret_rrsig->algorithm = knot_read_u8(&r);
	ret_rrsig->labels = knot_read_u8(&r);
	ret_rrsig->ttl = knot_read_u32(&r);
	ret_rrsig->expiration = knot_read_u32(&r);
	ret_rrsig->inception = knot_read_u32(&r);
	ret_rrsig->tag = knot_read_u16(&r);
	if (r.failed || knot_name_read((knot_bytes_t){ r.data + r.pos, knot_reader_left(&r) }, &ret_rrsig->signer) !=
					KNOT_OK) {
		return false;
	}
	size_t head = RRSIG_FIXED_LEN + ret_rrsig->signer.len;
	ret_rrsig->signed_part = (knot_bytes_t){ rdata.data, head };
	ret_rrsig->signature = (knot_bytes_t){ rdata.data + head, rdata.len - head };
	return true;
}

/* ---- One validation ---- */

/** The DNSKEY set of a zone, as the server has it. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t zone;
	records_t keys;
	bool is_there; /* fetched; else there is none */
} zone_keys_t;

/* Bounds of the work that a reply makes: zones whose keys are fetched, and signatures that are tried by a key. */
enum { VALIDATE_ZONES_MAX = 8, VALIDATE_TRIES_MAX = 1000 };

typedef struct {
	ask_t *ask;
	int verbosity;
	uint32_t now;
	records_t records;
	zone_keys_t zones[VALIDATE_ZONES_MAX];
	size_t zone_count;
	denial_record_t *denials; /* owned: NSEC and NSEC3 records whose signatures are right */
	size_t denial_count;
	size_t good, bad, unsigned_count, other_count; /* sets of records; other: not signed, and out of the zone */
	size_t tries;                                  /* signatures that were tried by a key */
	bool has_signatures;
	knot_name_t zone; /* the last signer: the zone that the reply is of */
	knot_name_t name; /* what was asked for, in `name_wire`, in lower case */
	uint8_t name_wire[KNOT_NAME_MAX];
} validation_t;

__attribute__((format(printf, 3, 4))) static void validate_say(validation_t *v, int verbosity, const char *format, ...)
{
	char line[2 * KNOT_NAME_TEXT_MAX + 256];
	va_list args;
	if (v->verbosity < verbosity || v->ask->query->style.format == PRESENT_JSON) {
		return;
	}
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	present_text_format(&v->ask->lookup->out, ";; VALIDATION: %s\n", line);
}

static void validate_print_set(const record_t *first, char ret_text[static KNOT_NAME_TEXT_MAX + KNOT_TYPE_TEXT_MAX])
{
	size_t len = knot_name_print(first->owner, ret_text);
	ret_text[len++] = ' ';
	knot_rrtype_print(first->type, ret_text + len);
}

/* ---- Keys ---- */

static zone_keys_t *validate_keys(validation_t *v, knot_name_t signer)
{
	char name[KNOT_NAME_TEXT_MAX];
	for (size_t i = 0; i < v->zone_count; i++) {
		if (knot_name_eq(v->zones[i].zone, signer)) {
			return &v->zones[i];
		}
	}
	if (v->zone_count == VALIDATE_ZONES_MAX) {
		return NULL;
	}
	zone_keys_t *zone = &v->zones[v->zone_count++];
	static present_message_t reply;
	memcpy(zone->wire, signer.wire, signer.len);
	zone->zone = (knot_name_t){ zone->wire, signer.len, signer.label_count };
	knot_name_print(zone->zone, name);
	zone->is_there = lookup_fetch(v->ask, name, KNOT_TYPE_DNSKEY, &reply) && reply.rcode == KNOT_RCODE_NOERROR &&
			 records_read(&reply, &zone->keys);
	if (!zone->is_there) {
		validate_say(v, VALIDATE_FAULTS, "the keys of %s can't be had from this server", name);
	}
	return zone;
}

/* ---- Signatures ---- */

static int validate_compare(const void *a, const void *b)
{
	const record_t *const *left = a, *const *right = b;
	return knot_rdata_cmp((*left)->rdata, (*right)->rdata);
}

/* What a signature is of: RFC 4034 3.1.8.1. A wildcard's records have the wildcard as owner. NULL: memory is short. */
static uint8_t *validate_signed_bytes(const rrsig_t *rrsig, const record_t **set, size_t count, size_t *ret_len)
{
	uint8_t wildcard_wire[KNOT_NAME_MAX];
	knot_name_t owner = set[0]->owner;
	size_t max = rrsig->signed_part.len;
	if (rrsig->labels < owner.label_count &&
			!knot_name_wildcard_below(knot_name_strip(owner, owner.label_count - rrsig->labels),
					wildcard_wire, &owner)) {
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		max += owner.len + 10U + set[i]->rdata.len;
	}
	uint8_t *bytes = malloc(max);
	knot_writer_t w = knot_writer_of((knot_mut_bytes_t){ bytes, bytes != NULL ? max : 0 });
	knot_write(&w, rrsig->signed_part.data, rrsig->signed_part.len);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && knot_rdata_cmp(set[i]->rdata, set[i - 1]->rdata) == 0) {
			continue;
		}
		knot_write(&w, owner.wire, owner.len);
		knot_write_u16(&w, set[i]->type);
		knot_write_u16(&w, set[i]->class);
		knot_write_u32(&w, rrsig->ttl);
		knot_write_u16(&w, (uint16_t)set[i]->rdata.len);
		knot_write(&w, set[i]->rdata.data, set[i]->rdata.len);
	}
	*ret_len = w.len;
	return bytes;
}

static bool validate_by_key(knot_bytes_t dnskey, const rrsig_t *rrsig, knot_bytes_t bytes)
{
	dnssec_key_t *key = NULL;
	dnssec_verifier_t *verifier = NULL;
	bool is_right = crypto.key_from_rdata(dnskey, &key) == KNOT_OK &&
			crypto.verifier_new(key, &verifier) == KNOT_OK &&
			crypto.verifier_verify(verifier, &bytes, 1, rrsig->signature) == KNOT_OK;
	crypto.verifier_free(verifier);
	crypto.key_free(key);
	return is_right;
}

/* Why a signature isn't right by the zone's keys; NULL: it is. Static. */
static const char *validate_rrsig(validation_t *v, const rrsig_t *rrsig, const record_t **set, size_t count)
{
	const zone_keys_t *zone = validate_keys(v, rrsig->signer);
	const char *why = "there is no key for a signature";
	size_t len;
	if ((int32_t)(v->now - rrsig->inception) < 0) {
		return "a signature isn't valid yet";
	}
	if ((int32_t)(rrsig->expiration - v->now) < 0) {
		return "a signature has expired";
	}
	if (rrsig->labels > set[0]->owner.label_count || !knot_name_in(set[0]->owner, rrsig->signer)) {
		return "a signature isn't of this name";
	}
	uint8_t *bytes = zone != NULL && zone->is_there ? validate_signed_bytes(rrsig, set, count, &len) : NULL;
	for (size_t i = 0; bytes != NULL && i < zone->keys.count && why != NULL; i++) {
		const record_t *key = &zone->keys.records[i];
		bool may_be = key->type == KNOT_TYPE_DNSKEY && key->rdata.len > 4 &&
			      key->rdata.data[3] == rrsig->algorithm && (key->rdata.data[0] & 1) &&
			      knot_dnskey_tag(key->rdata) == rrsig->tag && knot_name_eq(key->owner, rrsig->signer);
		if (may_be && v->tries >= VALIDATE_TRIES_MAX) {
			why = "there are too many signatures";
			break;
		}
		if (may_be) {
			v->tries++;
			why = validate_by_key(key->rdata, rrsig, (knot_bytes_t){ bytes, len }) ? NULL
											       : "a signature is wrong";
		}
	}
	free(bytes);
	return why;
}

/* ---- Sets of records ---- */

static bool validate_same_set(const record_t *a, const record_t *b)
{
	return a->type == b->type && a->class == b->class && a->section == b->section &&
	       knot_name_eq(a->owner, b->owner);
}

static void validate_add_denials(validation_t *v, const record_t **set, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (set[i]->type == KNOT_TYPE_NSEC || set[i]->type == KNOT_TYPE_NSEC3) {
			v->denials[v->denial_count++] = (denial_record_t){ set[i]->owner, set[i]->type, set[i]->rdata };
		}
	}
}

/* NS records of a delegation, which its parent doesn't sign. */
static bool validate_is_referral(const validation_t *v, const record_t *record)
{
	return record->section == KNOT_SECTION_AUTHORITY && record->type == KNOT_TYPE_NS &&
	       (v->zone.len == 0 || !knot_name_eq(record->owner, v->zone));
}

/* A CNAME that a server makes of a DNAME isn't signed: RFC 6672 5.3.1. */
static bool validate_is_of_dname(const validation_t *v, const record_t *cname)
{
	knot_name_t target, end;
	if (cname->type != KNOT_TYPE_CNAME || cname->section != KNOT_SECTION_ANSWER ||
			knot_name_read(cname->rdata, &target) != KNOT_OK) {
		return false;
	}
	for (size_t i = 0; i < v->records.count; i++) {
		const record_t *dname = &v->records.records[i];
		bool is_above = dname->type == KNOT_TYPE_DNAME && dname->section == KNOT_SECTION_ANSWER &&
				dname->is_right && knot_name_in(cname->owner, dname->owner) &&
				cname->owner.label_count > dname->owner.label_count;
		if (!is_above || knot_name_read(dname->rdata, &end) != KNOT_OK) {
			continue;
		}
		unsigned labels = cname->owner.label_count - dname->owner.label_count;
		size_t len = (size_t)cname->owner.len - dname->owner.len;
		if (target.label_count == labels + end.label_count && target.len == len + end.len &&
				memcmp(target.wire, cname->owner.wire, len) == 0 &&
				knot_name_eq(knot_name_strip(target, labels), end)) {
			return true;
		}
	}
	return false;
}

static void validate_add_unsigned(validation_t *v, const record_t *first, const char *text)
{
	/* What was asked for is of the zone, whoever signed something else. */
	bool is_of_zone =
			v->zone.len == 0 || knot_name_in(first->owner, v->zone) || knot_name_eq(first->owner, v->name);
	*(is_of_zone ? &v->unsigned_count : &v->other_count) += 1;
	validate_say(v, VALIDATE_FAULTS, "%s: not signed", text);
}

/* True: its signature is right. */
static bool validate_set(validation_t *v, const record_t **set, size_t count)
{
	char text[KNOT_NAME_TEXT_MAX + KNOT_TYPE_TEXT_MAX];
	const char *why = NULL;
	rrsig_t rrsig;
	bool is_signed = false, is_right = false;
	qsort(set, count, sizeof(*set), validate_compare);
	validate_print_set(set[0], text);
	for (size_t i = 0; i < v->records.count && !is_right; i++) {
		const record_t *r = &v->records.records[i];
		if (r->type != KNOT_TYPE_RRSIG || r->section != set[0]->section ||
				!knot_name_eq(r->owner, set[0]->owner) || !rrsig_read(r->rdata, &rrsig) ||
				rrsig.covered != set[0]->type) {
			continue;
		}
		is_signed = true;
		why = validate_rrsig(v, &rrsig, set, count);
		is_right = why == NULL;
	}
	if (is_right) {
		char signer[KNOT_NAME_TEXT_MAX];
		v->good++;
		v->zone = validate_keys(v, rrsig.signer)->zone;
		validate_add_denials(v, set, count);
		knot_name_print(rrsig.signer, signer);
		validate_say(v, VALIDATE_ALL, "%s: signed by %s, algorithm %u, key tag %u%s", text, signer,
				rrsig.algorithm, rrsig.tag,
				rrsig.labels < set[0]->owner.label_count && !knot_name_is_wildcard(set[0]->owner)
						? ", made of a wildcard"
						: "");
	} else if (is_signed) {
		v->bad++;
		validate_say(v, VALIDATE_FAULTS, "%s: %s", text, why);
	} else if (count == 1 && validate_is_of_dname(v, set[0])) {
		v->good++;
		validate_say(v, VALIDATE_ALL, "%s: made of a DNAME", text);
	} else if (!validate_is_referral(v, set[0])) {
		validate_add_unsigned(v, set[0], text);
	}
	return is_right;
}

/* The sets of DNAME records, or all others, which may be made of those. */
static void validate_sets(validation_t *v, bool is_of_dname)
{
	const record_t **set = calloc(v->records.count + 1, sizeof(record_t *));
	for (size_t i = 0; set != NULL && i < v->records.count; i++) {
		record_t *first = &v->records.records[i];
		size_t count = 0;
		v->has_signatures |= first->type == KNOT_TYPE_RRSIG;
		if (first->is_done || first->type == KNOT_TYPE_RRSIG ||
				(first->type == KNOT_TYPE_DNAME) != is_of_dname) {
			continue;
		}
		for (size_t k = i; k < v->records.count; k++) {
			record_t *other = &v->records.records[k];
			if (validate_same_set(first, other)) {
				other->is_done = true;
				set[count++] = other;
			}
		}
		first->is_right = validate_set(v, set, count);
	}
	free(set);
}

/* ---- What is denied ---- */

/* The name that the answer is about at last: behind CNAMEs. */
static knot_name_t validate_final_name(const validation_t *v, knot_name_t name, uint16_t qtype)
{
	for (size_t steps = 0; steps < v->records.count && qtype != KNOT_TYPE_CNAME; steps++) {
		const record_t *alias = NULL;
		for (size_t i = 0; i < v->records.count; i++) {
			const record_t *r = &v->records.records[i];
			if (r->section == KNOT_SECTION_ANSWER && r->type == KNOT_TYPE_CNAME &&
					knot_name_eq(r->owner, name)) {
				alias = r;
			}
		}
		if (alias == NULL || knot_name_read(alias->rdata, &name) != KNOT_OK) {
			break;
		}
	}
	return name;
}

static bool validate_has_answer(const validation_t *v, knot_name_t name, uint16_t type)
{
	for (size_t i = 0; i < v->records.count; i++) {
		const record_t *r = &v->records.records[i];
		if (r->section == KNOT_SECTION_ANSWER && knot_name_eq(r->owner, name) &&
				(r->type == type || (type == KNOT_TYPE_ANY && r->type != KNOT_TYPE_RRSIG))) {
			return true;
		}
	}
	return false;
}

/* Records that were made of a wildcard need a proof that there are none of the name's own. */
static void validate_wildcards(validation_t *v)
{
	char text[KNOT_NAME_TEXT_MAX + KNOT_TYPE_TEXT_MAX];
	rrsig_t rrsig;
	for (size_t i = 0; i < v->records.count; i++) {
		const record_t *r = &v->records.records[i];
		bool is_made = r->type == KNOT_TYPE_RRSIG && r->section == KNOT_SECTION_ANSWER &&
			       rrsig_read(r->rdata, &rrsig) && rrsig.labels < r->owner.label_count &&
			       !knot_name_is_wildcard(r->owner);
		if (is_made && !denial_of_closer(v->denials, v->denial_count, r->owner, rrsig.labels)) {
			v->bad++;
			validate_print_set(r, text);
			validate_say(v, VALIDATE_FAULTS,
					"%s: made of a wildcard, and it isn't proven that the name has no records",
					text);
		}
	}
}

/* The delegation that a referral is to; len 0: it is none. */
static knot_name_t validate_referral(const validation_t *v)
{
	for (size_t i = 0; i < v->records.count; i++) {
		if (validate_is_referral(v, &v->records.records[i])) {
			return v->records.records[i].owner;
		}
	}
	return (knot_name_t){ 0 };
}

static bool validate_has_ds(const validation_t *v, knot_name_t name)
{
	for (size_t i = 0; i < v->records.count; i++) {
		if (v->records.records[i].type == KNOT_TYPE_DS && knot_name_eq(v->records.records[i].owner, name)) {
			return true;
		}
	}
	return false;
}

/* What isn't in the answer has to be denied. */
static void validate_denial(validation_t *v, const present_message_t *reply)
{
	static const char *const words[] = {
		[DENIAL_NONE] = "nothing",
		[DENIAL_NXDOMAIN] = "that the name isn't there",
		[DENIAL_NODATA] = "that the name hasn't the type",
		[DENIAL_OPT_OUT] = "that the name may be an insecure delegation",
	};
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_t name = validate_final_name(v, v->name, reply->qtype);
	knot_name_t cut = validate_referral(v);
	uint16_t type = reply->qtype;
	bool is_other_zone = v->zone.len > 0 && !knot_name_in(name, v->zone); /* an alias leads out of it */
	if (!v->has_signatures || is_other_zone || validate_has_answer(v, name, type)) {
		return;
	}
	if (cut.len > 0) {
		if (validate_has_ds(v, cut)) {
			return;
		}
		name = cut;
		type = KNOT_TYPE_DS;
	}
	denial_t denial = denial_find(v->denials, v->denial_count, v->zone, name, type);
	bool wants_no_name = reply->rcode == KNOT_RCODE_NXDOMAIN;
	bool is_right = denial == (wants_no_name ? DENIAL_NXDOMAIN : DENIAL_NODATA) ||
			(denial == DENIAL_OPT_OUT && type == KNOT_TYPE_DS);
	knot_name_print(name, text);
	v->bad += !is_right;
	validate_say(v, is_right ? VALIDATE_ALL : VALIDATE_FAULTS, "%s: NSEC%s records prove %s%s", text,
			v->denial_count > 0 && v->denials[0].type == KNOT_TYPE_NSEC3 ? "3" : "", words[denial],
			is_right ? "" : ", and not what the reply says");
}

/* ---- The whole ---- */

static bool validate_say_result(validation_t *v)
{
	char zone[KNOT_NAME_TEXT_MAX] = "?";
	if (v->zone.len > 0) {
		knot_name_print(v->zone, zone);
	}
	if (v->bad > 0 || (v->has_signatures && (v->good == 0 || v->unsigned_count > 0))) {
		validate_say(v, VALIDATE_RESULT, "bogus: %zu sets of records are right, %zu wrong, %zu not signed",
				v->good, v->bad, v->unsigned_count);
		return false;
	}
	if (!v->has_signatures) {
		validate_say(v, VALIDATE_RESULT, "insecure: nothing is signed");
		return true;
	}
	validate_say(v, VALIDATE_RESULT,
			"good: all%s is signed by keys of %s that this server has; no chain of trust was looked at",
			v->other_count > 0 ? " that is of the zone" : "", zone);
	return true;
}

bool lookup_validate(ask_t *ask, const present_message_t *reply)
{
	static validation_t v;
	v = (validation_t){ .ask = ask, .verbosity = ask->query->validates, .now = (uint32_t)sys_clock_wall() };
	if (!validate_load(ask->lookup) || !reply->has_question || !records_read(reply, &v.records)) {
		return false;
	}
	knot_name_lower(reply->qname, v.name_wire);
	v.name = (knot_name_t){ v.name_wire, reply->qname.len, reply->qname.label_count };
	v.denials = calloc(v.records.count + 1, sizeof(*v.denials));
	present_text_str(&ask->lookup->out, ask->query->style.format == PRESENT_JSON ? "" : "\n");
	bool is_good = v.denials != NULL;
	if (is_good) {
		validate_sets(&v, true);
		validate_sets(&v, false);
		validate_wildcards(&v);
		validate_denial(&v, reply);
		is_good = validate_say_result(&v);
	}
	if (!is_good && ask->query->style.format == PRESENT_JSON) {
		lookup_warn(ask->lookup, "the reply doesn't validate");
	}
	for (size_t i = 0; i < v.zone_count; i++) {
		records_done(&v.zones[i].keys);
	}
	free(v.denials);
	records_done(&v.records);
	return is_good;
}
