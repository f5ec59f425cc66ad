/* SPDX-License-Identifier: BSD-2-Clause */
/* Verification with a table says what the library's own says, and tables of keys come and go. */
#include "libdnssec/internal.h"
#include "libdnssec/p256.h"
#include "libdnssec/sign.h"

#include <openssl/ecdsa.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { MANY = 1 << 20 /* verifications: enough for a table */ };

static const uint8_t order[] = { 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51 };

typedef struct {
	dnssec_key_t *key;
	dnssec_signer_t *signer;
	dnssec_verifier_t *verifier;
	const uint8_t *public;
} hand_t;

static hand_t hand_new(void)
{
	hand_t hand;
	assert_int_equal(dnssec_key_generate(DNSSEC_ECDSAP256SHA256, 0, 256, &hand.key), KNOT_OK);
	assert_int_equal(dnssec_signer_new(hand.key, false, &hand.signer), KNOT_OK);
	assert_int_equal(dnssec_verifier_new(hand.key, &hand.verifier), KNOT_OK);
	hand.public = dnssec_key_rdata(hand.key).data + 4;
	return hand;
}

static void hand_done(hand_t *hand)
{
	dnssec_verifier_free(hand->verifier);
	dnssec_signer_free(hand->signer);
	dnssec_key_free(hand->key);
}

static knot_bytes_t data_of(unsigned number, uint8_t buffer[static 4])
{
	store_be32(buffer, number);
	return (knot_bytes_t){ buffer, 4 };
}

static void sign(const hand_t *hand, unsigned number, p256_item_t *ret_item)
{
	uint8_t buffer[4], signature[DNSSEC_SIGNATURE_MAX];
	knot_bytes_t data = data_of(number, buffer);
	size_t len;
	assert_int_equal(dnssec_signer_sign(hand->signer, &data, 1, signature, &len), KNOT_OK);
	assert_int_equal(len, P256_SIGNATURE_LEN);
	memcpy(ret_item->signature, signature, len);
	(void)SHA256(data.data, data.len, ret_item->hash);
}

/* As the library verifies. */
static bool is_right(const hand_t *hand, unsigned number, const p256_item_t *item)
{
	uint8_t buffer[4];
	knot_bytes_t data = data_of(number, buffer);
	return dnssec_verifier_verify(hand->verifier, &data, 1,
			       (knot_bytes_t){ item->signature, P256_SIGNATURE_LEN }) == KNOT_OK;
}

/* What becomes of a right signature. */
static void spoil(p256_item_t *item, unsigned kind)
{
	static const uint8_t zero[32] = { 0 };
	uint8_t *r = item->signature, *s = item->signature + 32, swapped[32];
	switch (kind) {
	case 0: r[31] ^= 1; break;
	case 1: s[0] ^= 0x80; break;
	case 2: item->hash[7] ^= 4; break;
	case 3: memcpy(r, zero, 32); break;
	case 4: memcpy(s, zero, 32); break;
	case 5: memcpy(r, order, 32); break;
	case 6: memcpy(s, order, 32); break;
	case 7: memset(r, 0xff, 32); break;
	case 8: memset(s, 0xff, 32); break;
	default:
		memcpy(swapped, r, 32);
		memcpy(r, s, 32);
		memcpy(s, swapped, 32);
	}
}

static void test_same_as_library(void **state)
{
	(void)state;
	hand_t hand = hand_new(), other = hand_new();
	p256_table_t *table = p256_table_take(hand.public, MANY);
	assert_non_null(table);
	p256_t *p256 = p256_new(table);
	assert_non_null(p256);
	for (unsigned i = 0; i < 300; i++) {
		p256_item_t item;
		sign(&hand, i, &item);
		assert_true(p256_verify(p256, &item, 1));
		/* s and order - s are equally good (SEC 1 4.1.4). */
		unsigned borrow = 0;
		for (unsigned k = 64; k-- > 32;) {
			unsigned digit = 256u + order[k - 32] - item.signature[k] - borrow;
			item.signature[k] = (uint8_t)digit;
			borrow = digit < 256;
		}
		assert_true(p256_verify(p256, &item, 1));
		assert_true(is_right(&hand, i, &item));
		spoil(&item, i % 10);
		assert_false(p256_verify(p256, &item, 1));
		assert_true(i % 10 == 2 || !is_right(&hand, i, &item));
		sign(&other, i, &item);
		assert_false(p256_verify(p256, &item, 1));
	}
	p256_free(p256);
	p256_table_release(table);
	hand_done(&hand);
	hand_done(&other);
}

/* A signature of a hash that no data is known to have. */
static void sign_hash(const hand_t *hand, p256_item_t *item)
{
	uint8_t der[80];
	const uint8_t *at = der;
	size_t len = sizeof(der);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(hand->key->evp, NULL);
	assert_int_equal(EVP_PKEY_sign_init(ctx), 1);
	assert_int_equal(EVP_PKEY_sign(ctx, der, &len, item->hash, sizeof(item->hash)), 1);
	ECDSA_SIG *made = d2i_ECDSA_SIG(NULL, &at, (long)len);
	assert_non_null(made);
	assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(made), item->signature, 32), 32);
	assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(made), item->signature + 32, 32), 32);
	ECDSA_SIG_free(made);
	EVP_PKEY_CTX_free(ctx);
}

/* A hash above the order counts modulo it, and so one that is the order is 0. */
static void test_hashes(void **state)
{
	(void)state;
	hand_t hand = hand_new();
	p256_table_t *table = p256_table_take(hand.public, MANY);
	p256_t *p256 = p256_new(table);
	p256_item_t item;
	memset(item.hash, 0xff, sizeof(item.hash));
	sign_hash(&hand, &item);
	assert_true(p256_verify(p256, &item, 1));
	memset(item.hash, 0, sizeof(item.hash));
	sign_hash(&hand, &item);
	assert_true(p256_verify(p256, &item, 1));
	memcpy(item.hash, order, sizeof(item.hash));
	assert_true(p256_verify(p256, &item, 1));
	item.hash[31]++;
	assert_false(p256_verify(p256, &item, 1));
	p256_free(p256);
	p256_table_release(table);
	hand_done(&hand);
}

static void test_batches(void **state)
{
	(void)state;
	hand_t hand = hand_new();
	p256_table_t *table = p256_table_take(hand.public, MANY);
	p256_t *p256 = p256_new(table);
	p256_item_t items[P256_BATCH];
	for (unsigned count = 1; count <= P256_BATCH; count++) {
		for (unsigned i = 0; i < count; i++) {
			sign(&hand, i, &items[i]);
		}
		assert_true(p256_verify(p256, items, count));
		unsigned wrong = (7 * count) % count, kind = count % 10;
		const p256_item_t right = items[wrong];
		spoil(&items[wrong], kind);
		assert_false(p256_verify(p256, items, count));
		items[wrong] = right;
		assert_true(p256_verify(p256, items, count));
	}
	p256_free(p256);
	p256_table_release(table);
	hand_done(&hand);
}

/* The table of a key comes when it has been used enough, and goes when others are used more; who has it keeps it. */
static void test_known_keys(void **state)
{
	(void)state;
	enum { KEYS = 20 };
	hand_t hands[KEYS];
	p256_item_t item;
	for (unsigned i = 0; i < KEYS; i++) {
		hands[i] = hand_new();
	}
	p256_table_t *table = p256_table_take(hands[0].public, 0);
	for (unsigned calls = 0; table == NULL; calls++) {
		assert_true(calls < 100);
		table = p256_table_take(hands[0].public, 64);
	}
	for (unsigned i = 1; i < KEYS; i++) {
		p256_table_t *next = p256_table_take(hands[i].public, MANY),
			     *again = p256_table_take(hands[i].public, 0);
		assert_non_null(next);
		assert_ptr_equal(again, next);
		p256_table_release(next);
		p256_table_release(again);
	}
	assert_null(p256_table_take(hands[0].public, 0));
	p256_t *p256 = p256_new(table);
	sign(&hands[0], 5, &item);
	assert_true(p256_verify(p256, &item, 1));
	p256_free(p256);
	p256_table_release(table);
	p256_table_release(NULL);
	p256_free(NULL);
	/* What is no point of the curve has no table. */
	static const uint8_t nothing[P256_PUBLIC_LEN] = { 1, 2, 3 };
	assert_null(p256_table_take(nothing, MANY));
	assert_null(p256_table_take(nothing, MANY));
	for (unsigned i = 0; i < KEYS; i++) {
		hand_done(&hands[i]);
	}
}

static void *verify_much(void *ctx)
{
	const hand_t *hand = ctx;
	dnssec_verifier_t *verifier;
	uint8_t buffer[4];
	bool is_good = dnssec_verifier_new(hand->key, &verifier) == KNOT_OK;
	p256_item_t item;
	sign(hand, 9, &item);
	for (unsigned i = 0; is_good && i < 1500; i++) {
		knot_bytes_t data = data_of(9, buffer);
		is_good = dnssec_verifier_take(verifier, &data, 1,
					  (knot_bytes_t){ item.signature, P256_SIGNATURE_LEN }) == KNOT_OK;
	}
	is_good = is_good && dnssec_verifier_settle(verifier) == KNOT_OK;
	dnssec_verifier_free(verifier);
	return is_good ? ctx : NULL;
}

/* Threads that verify with one key while its table is made. */
static void test_threads(void **state)
{
	(void)state;
	enum { THREADS = 4 };
	hand_t hands[THREADS] = { hand_new() };
	pthread_t threads[THREADS];
	for (unsigned i = 1; i < THREADS; i++) {
		hands[i] = hands[0];
		assert_int_equal(dnssec_signer_new(hands[0].key, false, &hands[i].signer), KNOT_OK);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, verify_much, &hands[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		void *result;
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_non_null(result);
	}
	for (unsigned i = 1; i < THREADS; i++) {
		dnssec_signer_free(hands[i].signer);
	}
	hand_done(&hands[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_library),
		cmocka_unit_test(test_hashes),
		cmocka_unit_test(test_batches),
		cmocka_unit_test(test_known_keys),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
