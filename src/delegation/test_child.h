/* SPDX-License-Identifier: BSD-2-Clause */
/** For tests: replies of a child's servers, with signatures by keys that are made here. */
#pragma once

#include "libdnssec/digest.h"
#include "libdnssec/sign.h"
#include "libknot/msg/rcode.h"
#include "src/delegation/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { TEST_NOW_S = 1800000000, TEST_MESSAGE_MAX = 20000 };

typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
} test_name_t;

static inline knot_name_t test_name(const char *text, test_name_t *room)
{
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, room->wire, &room->name), KNOT_OK);
	return room->name;
}

static inline dnssec_key_t *test_key(uint8_t algorithm, uint16_t flags)
{
	dnssec_key_t *key;
	assert_int_equal(dnssec_key_generate(algorithm, 0, flags, &key), KNOT_OK);
	return key;
}

/** How a reply is made. Zero: signed well, by `key`, one hour ago, for a week. */
typedef struct {
	const dnssec_key_t *key, *other_key; /* NULL: not signed, or not once more */
	const char *owner, *signer;          /* NULL: child.test. */
	int64_t inception, expiration;       /* from now, seconds; 0: as above */
	uint16_t no_flags, flags;            /* taken from the header, and added */
	bool is_spoilt;                      /* a bit of each signature is flipped */
	bool is_alias;                       /* a CNAME instead */
	uint16_t asked;                      /* the question's type; 0: that of the records */
	unsigned copies;                     /* of the signature, more than one */
} test_how_t;

static inline void test_put_sig(knot_msg_writer_t *w, const reply_set_t *set, knot_name_t owner, const test_how_t *how,
		const dnssec_key_t *key)
{
	uint8_t rrsig[18 + KNOT_NAME_MAX + DNSSEC_SIGNATURE_MAX], fixed[REPLY_RECORDS_MAX][10];
	knot_bytes_t pieces[1 + 3 * REPLY_RECORDS_MAX];
	test_name_t signer;
	dnssec_signer_t *maker;
	size_t count = 1, len;
	test_name(how->signer != NULL ? how->signer : "child.test.", &signer);
	store_be16(rrsig, set->type);
	rrsig[2] = dnssec_key_algorithm(key);
	rrsig[3] = owner.label_count;
	store_be32(rrsig + 4, 60);
	store_be32(rrsig + 8, (uint32_t)(TEST_NOW_S + (how->expiration != 0 ? how->expiration : 604800)));
	store_be32(rrsig + 12, (uint32_t)(TEST_NOW_S + (how->inception != 0 ? how->inception : -3600)));
	store_be16(rrsig + 16, dnssec_key_tag(key));
	memcpy(rrsig + 18, signer.wire, signer.name.len);
	size_t head_len = 18 + (size_t)signer.name.len;
	pieces[0] = (knot_bytes_t){ rrsig, head_len };
	for (size_t i = 0; i < set->count; i++) {
		knot_bytes_t rdata = reply_rdata(set, i);
		store_be16(fixed[i], set->type);
		store_be16(fixed[i] + 2, KNOT_CLASS_IN);
		store_be32(fixed[i] + 4, 60);
		store_be16(fixed[i] + 8, (uint16_t)rdata.len);
		pieces[count++] = (knot_bytes_t){ owner.wire, owner.len };
		pieces[count++] = (knot_bytes_t){ fixed[i], 10 };
		pieces[count++] = rdata;
	}
	assert_int_equal(dnssec_signer_new(key, false, &maker), KNOT_OK);
	assert_int_equal(dnssec_signer_sign(maker, pieces, count, rrsig + head_len, &len), KNOT_OK);
	dnssec_signer_free(maker);
	rrsig[head_len + len / 2] ^= how->is_spoilt ? 1 : 0;
	for (unsigned i = 0; i < (how->copies > 0 ? how->copies : 1); i++) {
		assert_int_equal(knot_msg_put_rr(w, KNOT_SECTION_ANSWER, owner, KNOT_TYPE_RRSIG, KNOT_CLASS_IN, 60,
						 (knot_bytes_t){ rrsig, head_len + len }),
				KNOT_OK);
	}
}

/** A reply; freed by free(data). */
static inline knot_bytes_t test_reply(uint16_t type, const knot_bytes_t *rdata, size_t count, const test_how_t *how)
{
	uint8_t *out = malloc(TEST_MESSAGE_MAX);
	test_name_t owner;
	reply_set_t set;
	knot_msg_writer_t w;
	assert_non_null(out);
	test_name(how->owner != NULL ? how->owner : "child.test.", &owner);
	reply_set_begin(&set, type);
	knot_msg_begin(&w, (knot_mut_bytes_t){ out, TEST_MESSAGE_MAX });
	assert_int_equal(knot_msg_put_question(&w, owner.name, how->asked != 0 ? how->asked : type, KNOT_CLASS_IN),
			KNOT_OK);
	for (size_t i = 0; i < count; i++) {
		(void)reply_set_add(&set, 60, rdata[i]);
		assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, owner.name,
						 how->is_alias ? KNOT_TYPE_CNAME : type, KNOT_CLASS_IN, 60,
						 how->is_alias ? (knot_bytes_t){ (const uint8_t *)"", 1 } : rdata[i]),
				KNOT_OK);
	}
	if (how->key != NULL && count > 0) {
		test_put_sig(&w, &set, owner.name, how, how->key);
	}
	if (how->other_key != NULL && count > 0) {
		test_put_sig(&w, &set, owner.name, how, how->other_key);
	}
	uint16_t flags = (uint16_t)(((KNOT_FLAG_QR | KNOT_FLAG_AA) & ~how->no_flags) | how->flags);
	return (knot_bytes_t){ out, knot_msg_finish(&w, 0, flags) };
}

static inline void test_free_reply(knot_bytes_t reply)
{
	free((void *)(uintptr_t)reply.data);
}

/** DS or CDS RDATA of a key. Returns a view into room. */
static inline knot_bytes_t test_ds(const dnssec_key_t *key, unsigned digest, uint8_t room[static DNSSEC_DS_MAX])
{
	test_name_t child;
	size_t len;
	assert_int_equal(dnssec_ds_make(digest, test_name("child.test.", &child), dnssec_key_rdata(key), room, &len),
			KNOT_OK);
	return (knot_bytes_t){ room, len };
}
