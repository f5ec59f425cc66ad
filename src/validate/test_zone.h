/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: zones drawn of a list of records, keys, signing, and what a version has, to be edited. */
#pragma once

#include "libknot/text/zonefile.h"
#include "src/sign/rdata.h"
#include "src/sign/sign.h"
#include "src/zone/dump.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { NOW_S = 1700000000, LIFETIME_S = 14 * 86400 };

static uint64_t random_state;
static uint64_t now_s = NOW_S; /* KNOT_NOW, for programs that have no other time than the current one */

static inline unsigned draw(unsigned below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % below;
}

#define DIGEST "000102030405060708090A0B0C0D0E0F10111213"

static const char *const lines[] = {
	"@ 60 NS ns",
	"@ 60 MX 5 NS.Cut",
	"ns 60 A 192.0.2.1",
	"ns 30 AAAA 2001:db8::1",
	"ns.cut 60 A 192.0.2.3",
	"cut 60 NS ns.cut",
	"cut 60 A 192.0.2.2",
	"secure 60 NS ns.cut",
	"secure 60 DS 1 8 1 " DIGEST,
	"b.cut 60 NS ns.b.cut",
	"*.w 60 A 192.0.2.7",
	"a.b.c.d 60 TXT deep",
	"x.y.e 60 NS ns",
	"w.y.e 60 NS ns",
	"txt 60 TXT one",
	"txt 60 TXT two",
	"dn 60 DNAME ns.out.",
	"cn 60 CNAME W",
	"srv 60 TYPE65280 \\# 2 0102",
	"other 60 NS ns.other",
	"other 60 TYPE61440 \\# 1 00",
	"ns.other 60 A 192.0.2.5",
	"z.b.c.d 60 NS ns",
	"v.v.v.e 60 NS ns",
	"v.v.v.e 60 DS 2 8 1 " DIGEST,
	"cut 60 DS 3 8 1 " DIGEST,
};

typedef struct {
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner;
	uint16_t type;
	uint32_t ttl;
	uint8_t rdata[1000];
	size_t rdata_len;
} record_t;

static record_t records[KNOT_LEN(lines)];
static uint8_t origin_wire[] = "\4zone";
static const knot_name_t origin = { origin_wire, 6, 1 };
static const zone_build_params_t params = {
	.origin = { origin_wire, 6, 1 }, .default_ttl = 60, .checks = ZONE_CHECKS_SOFT
};

static inline void copy_record(record_t *to, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	memcpy(to->owner_wire, owner.wire, owner.len);
	to->owner = (knot_name_t){ to->owner_wire, owner.len, owner.label_count };
	to->type = type;
	to->ttl = ttl;
	to->rdata_len = rdata.len;
	assert_true(rdata.len <= sizeof(to->rdata));
	memcpy(to->rdata, rdata.data, rdata.len);
}

static inline bool keep_record(const knot_zone_record_t *record, void *ctx)
{
	copy_record(ctx, record->owner, record->type, record->ttl, record->rdata);
	return true;
}

static inline void scan_record(const char *text, record_t *to)
{
	char line[300];
	int len = snprintf(line, sizeof(line), "%s\n", text);
	to->owner.len = 0;
	knot_zonefile_params_t scan = { .origin = origin, .default_ttl = 60, .on_record = keep_record, .ctx = to };
	assert_int_equal(knot_zonefile_scan_text((knot_str_t){ line, (size_t)len }, text, &scan), KNOT_OK);
	assert_int_not_equal(to->owner.len, 0);
}

/* A name below the origin, or "@". */
static inline knot_name_t scan_name(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	if (text[0] == '@') {
		return origin;
	}
	assert_int_equal(knot_name_scan(knot_str_of(text), origin, wire, &name), KNOT_OK);
	return name;
}

/* ---- Keys and plans ---- */

enum { KEYS_EC, KEYS_RSA, KEYS_BOTH, KEYS_KINDS };

static dnssec_key_t *ec_ksk, *ec_zsk, *rsa_ksk, *rsa_zsk;
static sign_key_t sign_keys[4];
static knot_bytes_t dnskeys[4];

static inline int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		bool is_deleg = strstr(lines[i], "TYPE61440") != NULL; /* other programs don't know it */
		scan_record(is_deleg && getenv("KNOT_DUMP") != NULL ? "deleg 60 TXT x" : lines[i], &records[i]);
	}
	now_s = getenv("KNOT_NOW") != NULL ? strtoull(getenv("KNOT_NOW"), NULL, 10) : NOW_S;
	assert_int_equal(dnssec_key_generate(13, 256, 257, &ec_ksk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(13, 256, 256, &ec_zsk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(8, 1024, 257, &rsa_ksk), KNOT_OK);
	assert_int_equal(dnssec_key_generate(8, 1024, 256, &rsa_zsk), KNOT_OK);
	dnssec_key_t *all[] = { ec_ksk, ec_zsk, rsa_ksk, rsa_zsk };
	for (size_t i = 0; i < KNOT_LEN(all); i++) {
		sign_keys[i] = (sign_key_t){ all[i], i % 2 == 0, i % 2 == 1 };
		dnskeys[i] = dnssec_key_rdata(all[i]);
	}
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	dnssec_key_free(ec_ksk);
	dnssec_key_free(ec_zsk);
	dnssec_key_free(rsa_ksk);
	dnssec_key_free(rsa_zsk);
	return 0;
}

enum { CHAIN_NSEC, CHAIN_NSEC3, CHAIN_OPT_OUT, CHAINS };

static const char *const chain_names[] = { "NSEC", "NSEC3", "NSEC3 with opt-out" };

static inline sign_plan_t plan_of(unsigned chain, unsigned keys)
{
	static const uint8_t salt[] = { 0xAB, 0xCD };
	unsigned first = keys == KEYS_RSA ? 2 : 0, count = keys == KEYS_BOTH ? 4 : 2;
	return (sign_plan_t){ .keys = sign_keys + first,
		.key_count = count,
		.dnskey = { .ttl = 3600, .rdatas = dnskeys + first, .rdata_count = count },
		.chain = chain == CHAIN_NSEC ? SIGN_CHAIN_NSEC : SIGN_CHAIN_NSEC3,
		.nsec3 = { .algorithm = 1,
				.salt_len = chain == CHAIN_OPT_OUT ? 0 : 2,
				.iterations = chain == CHAIN_OPT_OUT ? 0 : 3,
				.salt = salt },
		.is_opt_out = chain == CHAIN_OPT_OUT,
		.now_s = now_s,
		.lifetime_s = LIFETIME_S,
		.refresh_s = 86400,
		.thread_count = 2 };
}

/* ---- Zones ---- */

static inline void put_rr(zone_txn_t *txn, knot_name_t owner, uint16_t type, uint32_t ttl, knot_bytes_t rdata)
{
	knot_err_t err = zone_txn_put(txn, owner, type, ttl, rdata);
	assert_true(err == KNOT_OK || err == KNOT_EISRECORD);
}

static inline void put_record(zone_txn_t *txn, const record_t *r)
{
	put_rr(txn, r->owner, r->type, r->ttl, (knot_bytes_t){ r->rdata, r->rdata_len });
}

static inline zone_txn_t *begin(const zone_contents_t *zone)
{
	zone_txn_t *txn;
	assert_int_equal(zone_txn_begin(zone, &params, &txn), KNOT_OK);
	return txn;
}

static inline zone_contents_t *commit(zone_txn_t *txn)
{
	zone_contents_t *zone;
	assert_int_equal(zone_txn_commit(txn, &zone), KNOT_OK);
	return zone;
}

/* A zone of the records that are in, signed. */
static inline zone_contents_t *make_zone(const bool *is_in, const sign_plan_t *plan)
{
	static const uint8_t soa[] = "\1m\0\1r\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\36";
	sign_result_t result;
	zone_txn_t *txn = begin(NULL);
	put_rr(txn, origin, KNOT_TYPE_SOA, 60, (knot_bytes_t){ soa, 26 });
	for (size_t i = 0; i < KNOT_LEN(lines); i++) {
		if (is_in == NULL || is_in[i]) {
			put_record(txn, &records[i]);
		}
	}
	assert_int_equal(sign_zone(txn, NULL, plan, &result), KNOT_OK);
	return commit(txn);
}

/* ---- What a version has ---- */

typedef struct {
	record_t *at; /* owned */
	size_t count, max;
} found_t;

static inline bool list_record(const zone_rr_t *rr, void *ctx)
{
	found_t *found = ctx;
	if (found->count == found->max) {
		found->max = 2 * found->max + 100;
		record_t *grown = malloc(found->max * sizeof(*grown));
		assert_non_null(grown);
		for (size_t i = 0; i < found->count; i++) { /* names point into their records */
			copy_record(&grown[i], found->at[i].owner, found->at[i].type, found->at[i].ttl,
					(knot_bytes_t){ found->at[i].rdata, found->at[i].rdata_len });
		}
		free(found->at);
		found->at = grown;
	}
	copy_record(&found->at[found->count++], rr->owner, rr->type, rr->ttl, rr->rdata);
	return true;
}

static inline found_t list_zone(const zone_contents_t *zone)
{
	static uint8_t scratch[KNOT_RDATA_MAX];
	found_t found = { .count = 0 };
	assert_true(zone_each_record(zone, scratch, list_record, &found));
	return found;
}

/* The first record of a name and type; of signatures: those that cover the type `covered`. */
static inline const record_t *find_record(const found_t *found, knot_name_t owner, uint16_t type, uint16_t covered)
{
	for (size_t i = 0; i < found->count; i++) {
		const record_t *r = &found->at[i];
		if (knot_name_eq(r->owner, owner) && r->type == type &&
				(type != KNOT_TYPE_RRSIG || load_be16(r->rdata) == covered)) {
			return r;
		}
	}
	return NULL;
}

static inline void remove_record(zone_txn_t *txn, const record_t *r)
{
	knot_err_t err = zone_txn_remove(txn, r->owner, r->type, (knot_bytes_t){ r->rdata, r->rdata_len });
	if (err != KNOT_OK) {
		char owner[KNOT_NAME_TEXT_MAX];
		knot_name_print(r->owner, owner);
		fail_msg("removing %s %u: %s", owner, r->type, knot_strerror(err));
	}
}

/* ---- For other programs to judge ---- */

/* If KNOT_DUMP is a folder, write the zone there as <number>.zone, and what we say of it as <number>.txt. */
static inline void dump_zone(const zone_contents_t *zone, const char *what, knot_err_t err, knot_name_t owner)
{
	static unsigned number;
	const char *folder = getenv("KNOT_DUMP");
	char path[500], name[KNOT_NAME_TEXT_MAX] = "";
	const zone_dump_params_t how = { .program = "test", .now_s = NOW_S };
	if (folder == NULL) {
		return;
	}
	if (owner.len > 0) {
		knot_name_print(owner, name);
	}
	snprintf(path, sizeof(path), "%s/%u.zone", folder, number);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(zone_dump(zone, fd, &how), KNOT_OK);
	close(fd);
	snprintf(path, sizeof(path), "%s/%u.txt", folder, number++);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n%s\n%s\n", what, knot_strerror(err), name);
	fclose(file);
}
