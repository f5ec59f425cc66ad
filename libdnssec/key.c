/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/form.h"
#include "libdnssec/internal.h"

#include "libknot/rr/rdata.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "libknot/base/encode.h"

enum {
	HEAD_LEN = 4, /* flags, protocol, algorithm */
	PROTOCOL = 3,
	POINT_MAX = 1 + 96, /* an uncompressed point: 04 x y */
	/* Of a public exponent. One as long as the modulus makes a verification cost 200 times as much, as whoever
	   publishes a key may want. OpenSSL has the same limit for moduli of more than 3072 bits. */
	RSA_EXPONENT_BITS_MAX = 64,
};

const char *dnssec_curve_name(const dnssec_algorithm_t *row)
{
	if (row->kind != DNSSEC_KIND_ECDSA) {
		return NULL;
	}
	return row->number == DNSSEC_ECDSAP256SHA256 ? "P-256" : "P-384";
}

const char *dnssec_eddsa_name(const dnssec_algorithm_t *row)
{
	return row->number == DNSSEC_ED25519 ? "ED25519" : "ED448";
}

uint16_t dnssec_rdata_tag(knot_bytes_t rdata)
{
	return knot_dnskey_tag(rdata);
}

/* ---- Public keys: from RDATA ---- */

/* RFC 3110 2: length of the exponent, exponent, modulus. */
static knot_err_t key_read_rsa(knot_bytes_t public, BIGNUM **ret_e, BIGNUM **ret_n)
{
	bool is_long = public.len >= 3 && public.data[0] == 0;
	size_t head = is_long ? 3 : 1, e_len = 0;
	if (public.len >= head) {
		e_len = is_long ? load_be16(public.data + 1) : public.data[0];
	}
	if (e_len == 0 || public.len <= head + e_len) {
		return KNOT_EPUBLICKEY;
	}
	*ret_e = BN_bin2bn(public.data + head, (int)e_len, NULL);
	*ret_n = BN_bin2bn(public.data + head + e_len, (int)(public.len - head - e_len), NULL);
	if (*ret_e == NULL || *ret_n == NULL) {
		return KNOT_ENOMEM;
	}
	return BN_num_bits(*ret_e) <= RSA_EXPONENT_BITS_MAX ? KNOT_OK : KNOT_EPUBLICKEY;
}

static EVP_PKEY *key_from_params(const char *kind, OSSL_PARAM *params)
{
	EVP_PKEY_CTX *ctx = params != NULL ? EVP_PKEY_CTX_new_from_name(NULL, kind, NULL) : NULL;
	EVP_PKEY *evp = NULL;
	if (ctx != NULL && EVP_PKEY_fromdata_init(ctx) == 1) {
		(void)EVP_PKEY_fromdata(ctx, &evp, EVP_PKEY_PUBLIC_KEY, params);
	}
	EVP_PKEY_CTX_free(ctx);
	return evp;
}

static EVP_PKEY *key_load_rsa(knot_bytes_t public)
{
	BIGNUM *e = NULL, *n = NULL;
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	OSSL_PARAM *params = NULL;
	EVP_PKEY *evp = NULL;
	if (builder != NULL && key_read_rsa(public, &e, &n) == KNOT_OK &&
			OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1 &&
			OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1) {
		params = OSSL_PARAM_BLD_to_param(builder);
		evp = key_from_params("RSA", params);
	}
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(builder);
	BN_free(e);
	BN_free(n);
	return evp;
}

static EVP_PKEY *key_load_ecdsa(const dnssec_algorithm_t *row, knot_bytes_t public)
{
	uint8_t point[POINT_MAX] = { 4 };
	memcpy(point + 1, public.data, public.len);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(
				OSSL_PKEY_PARAM_GROUP_NAME, (char *)(uintptr_t)dnssec_curve_name(row), 0),
		OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point, 1 + public.len),
		OSSL_PARAM_construct_end(),
	};
	return key_from_params("EC", params);
}

static EVP_PKEY *key_load_public(const dnssec_algorithm_t *row, knot_bytes_t public)
{
	EVP_PKEY *evp = NULL;
	if (row->public_len != 0 && public.len != row->public_len) {
		return NULL;
	}
	switch (row->kind) {
	case DNSSEC_KIND_RSA: evp = key_load_rsa(public); break;
	case DNSSEC_KIND_ECDSA: evp = key_load_ecdsa(row, public); break;
	case DNSSEC_KIND_EDDSA:
		evp = EVP_PKEY_new_raw_public_key_ex(NULL, dnssec_eddsa_name(row), NULL, public.data, public.len);
		break;
	}
	ERR_clear_error();
	return evp;
}

/* ---- Private keys ---- */

EVP_PKEY *dnssec_make_pair(const char *kind, OSSL_PARAM_BLD *builder)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
	EVP_PKEY_CTX *ctx = params != NULL ? EVP_PKEY_CTX_new_from_name(NULL, kind, NULL) : NULL;
	EVP_PKEY *evp = NULL;
	if (ctx != NULL && EVP_PKEY_fromdata_init(ctx) == 1) {
		(void)EVP_PKEY_fromdata(ctx, &evp, EVP_PKEY_KEYPAIR, params);
	}
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return evp;
}

static EVP_PKEY *key_pair_ecdsa(const dnssec_algorithm_t *row, knot_bytes_t private, const uint8_t *public)
{
	uint8_t point[POINT_MAX] = { 4 };
	memcpy(point + 1, public, row->public_len);
	BIGNUM *number = BN_secure_new();
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	bool is_good = number != NULL && builder != NULL && BN_bin2bn(private.data, (int)private.len, number) != NULL &&
		       OSSL_PARAM_BLD_push_utf8_string(
				       builder, OSSL_PKEY_PARAM_GROUP_NAME, dnssec_curve_name(row), 0) == 1 &&
		       OSSL_PARAM_BLD_push_octet_string(
				       builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1u + row->public_len) == 1 &&
		       OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1;
	EVP_PKEY *evp = is_good ? dnssec_make_pair("EC", builder) : NULL;
	BN_clear_free(number);
	OSSL_PARAM_BLD_free(builder);
	return evp;
}

EVP_PKEY *dnssec_curve_pair(const dnssec_algorithm_t *row, knot_bytes_t private, const uint8_t *public)
{
	return row->kind == DNSSEC_KIND_ECDSA ? key_pair_ecdsa(row, private, public)
					      : EVP_PKEY_new_raw_private_key_ex(NULL, dnssec_eddsa_name(row), NULL,
								private.data, private.len);
}

size_t dnssec_private_number(const dnssec_key_t *key, uint8_t ret_number[static DNSSEC_PRIVATE_MAX])
{
	size_t len = DNSSEC_PRIVATE_MAX;
	if (key->row->kind == DNSSEC_KIND_EDDSA) {
		return EVP_PKEY_get_raw_private_key(key->evp, ret_number, &len) == 1 ? len : 0;
	}
	BIGNUM *number = NULL;
	len = key->row->public_len / 2;
	bool is_good = EVP_PKEY_get_bn_param(key->evp, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1 &&
		       BN_bn2binpad(number, ret_number, (int)len) == (int)len;
	BN_clear_free(number);
	return is_good ? len : 0;
}

/* ---- Public keys: to RDATA ---- */

static bool key_write_rsa(const EVP_PKEY *evp, uint8_t *out, size_t *ret_len)
{
	BIGNUM *e = NULL, *n = NULL;
	bool is_good = EVP_PKEY_get_bn_param(evp, OSSL_PKEY_PARAM_RSA_E, &e) == 1 &&
		       EVP_PKEY_get_bn_param(evp, OSSL_PKEY_PARAM_RSA_N, &n) == 1 &&
		       BN_num_bits(e) <= RSA_EXPONENT_BITS_MAX;
	size_t e_len = is_good ? (size_t)BN_num_bytes(e) : 0, n_len = is_good ? (size_t)BN_num_bytes(n) : 0;
	size_t head = e_len <= UINT8_MAX ? 1 : 3;
	is_good = is_good && head + e_len + n_len <= DNSSEC_KEY_RDATA_MAX - HEAD_LEN;
	if (is_good) {
		out[0] = head == 1 ? (uint8_t)e_len : 0;
		if (head == 3) {
			store_be16(out + 1, (uint16_t)e_len);
		}
		(void)BN_bn2bin(e, out + head);
		(void)BN_bn2bin(n, out + head + e_len);
		*ret_len = head + e_len + n_len;
	}
	BN_free(e);
	BN_free(n);
	return is_good;
}

static bool key_write_ecdsa(const dnssec_algorithm_t *row, const EVP_PKEY *evp, uint8_t *out, size_t *ret_len)
{
	uint8_t point[POINT_MAX];
	size_t len = 0;
	if (EVP_PKEY_get_octet_string_param(evp, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &len) != 1 ||
			len != 1u + row->public_len || point[0] != 4) {
		return false;
	}
	memcpy(out, point + 1, row->public_len);
	*ret_len = row->public_len;
	return true;
}

knot_err_t dnssec_key_write_rdata(dnssec_key_t *key, uint16_t flags)
{
	uint8_t *public = key->rdata + HEAD_LEN;
	size_t len = sizeof(key->rdata) - HEAD_LEN;
	bool is_good = false;
	switch (key->row->kind) {
	case DNSSEC_KIND_RSA: is_good = key_write_rsa(key->evp, public, &len); break;
	case DNSSEC_KIND_ECDSA: is_good = key_write_ecdsa(key->row, key->evp, public, &len); break;
	case DNSSEC_KIND_EDDSA: is_good = EVP_PKEY_get_raw_public_key(key->evp, public, &len) == 1; break;
	}
	if (!is_good || (key->row->public_len != 0 && len != key->row->public_len)) {
		return KNOT_EPUBLICKEY;
	}
	key->rdata_len = HEAD_LEN + len;
	key->rdata[2] = PROTOCOL;
	key->rdata[3] = key->row->number;
	dnssec_key_set_flags(key, flags);
	return KNOT_OK;
}

/* ---- Keys ---- */

/* Without a public key yet. NULL: *ret_err says why. */
static dnssec_key_t *key_new(unsigned algorithm, knot_err_t *ret_err)
{
	const dnssec_algorithm_t *row = dnssec_algorithm_find(algorithm);
	dnssec_key_t *key = row != NULL ? calloc(1, sizeof(*key)) : NULL;
	*ret_err = row == NULL ? KNOT_EKEYALGORITHM : key == NULL ? KNOT_ENOMEM : KNOT_OK;
	if (key != NULL) {
		key->row = row;
	}
	return key;
}

/* The key if all is well, else it is freed. */
static knot_err_t key_finish(dnssec_key_t *take_key, knot_err_t err, dnssec_key_t **ret_key)
{
	ERR_clear_error();
	if (err != KNOT_OK) {
		dnssec_key_free(take_key);
		return err;
	}
	*ret_key = take_key;
	return KNOT_OK;
}

knot_err_t dnssec_key_from_rdata(knot_bytes_t rdata, dnssec_key_t **ret_key)
{
	knot_err_t err;
	if (rdata.len <= HEAD_LEN || rdata.len > DNSSEC_KEY_RDATA_MAX || rdata.data[2] != PROTOCOL) {
		return rdata.len > DNSSEC_KEY_RDATA_MAX ? KNOT_EPUBLICKEY : KNOT_EMALF;
	}
	dnssec_key_t *key = key_new(rdata.data[3], &err);
	if (key == NULL) {
		return err;
	}
	memcpy(key->rdata, rdata.data, rdata.len);
	key->rdata_len = rdata.len;
	key->tag = dnssec_rdata_tag(rdata);
	key->evp = key_load_public(key->row, (knot_bytes_t){ rdata.data + HEAD_LEN, rdata.len - HEAD_LEN });
	return key_finish(key, key->evp != NULL ? KNOT_OK : KNOT_EPUBLICKEY, ret_key);
}

knot_err_t dnssec_key_generate(uint8_t algorithm, unsigned bits, uint16_t flags, dnssec_key_t **ret_key)
{
	knot_err_t err;
	dnssec_key_t *key = key_new(algorithm, &err);
	if (key == NULL) {
		return err;
	}
	bits = bits != 0 ? bits : key->row->bits_default;
	if (bits < key->row->bits_min || bits > key->row->bits_max) {
		return key_finish(key, KNOT_EKEYSIZE, ret_key);
	}
	switch (key->row->kind) {
	case DNSSEC_KIND_RSA: key->evp = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits); break;
	case DNSSEC_KIND_ECDSA: key->evp = EVP_PKEY_Q_keygen(NULL, NULL, "EC", dnssec_curve_name(key->row)); break;
	case DNSSEC_KIND_EDDSA: key->evp = EVP_PKEY_Q_keygen(NULL, NULL, dnssec_eddsa_name(key->row)); break;
	}
	key->has_private = key->evp != NULL;
	return key_finish(key, key->evp != NULL ? dnssec_key_write_rdata(key, flags) : KNOT_EKEYGENERATE, ret_key);
}

/* ---- PEM ---- */

static int key_refuse_password(char *buffer, int size, int is_write, void *ctx)
{
	(void)buffer, (void)size, (void)is_write, (void)ctx;
	return -1;
}

/* True if the library's key is of the kind and the curve that the algorithm needs. */
static bool key_is_of(const EVP_PKEY *evp, const dnssec_algorithm_t *row)
{
	char curve[32] = "";
	switch (row->kind) {
	case DNSSEC_KIND_RSA: return EVP_PKEY_is_a(evp, "RSA");
	case DNSSEC_KIND_EDDSA: return EVP_PKEY_is_a(evp, dnssec_eddsa_name(row));
	case DNSSEC_KIND_ECDSA: break;
	}
	return EVP_PKEY_is_a(evp, "EC") && EVP_PKEY_get_group_name(evp, curve, sizeof(curve), NULL) == 1 &&
	       strcmp(curve, row->number == DNSSEC_ECDSAP256SHA256 ? "prime256v1" : "secp384r1") == 0;
}

/* A key in a usual form. NULL: in another one, or none. */
static EVP_PKEY *key_read_usual(const dnssec_algorithm_t *row, knot_bytes_t pem)
{
	uint8_t private[FORM_PRIVATE_MAX], public[FORM_PUBLIC_MAX];
	bool has_public = false, is_read = dnssec_form_read_pem(row, pem, private, public, &has_public);
	bool is_whole = is_read && (has_public || row->kind == DNSSEC_KIND_EDDSA);
	EVP_PKEY *evp = is_whole ? dnssec_curve_pair(
						   row, (knot_bytes_t){ private, dnssec_form_private_len(row) }, public)
				 : NULL;
	OPENSSL_cleanse(private, sizeof(private));
	return evp;
}

static EVP_PKEY *key_read_pem(knot_bytes_t pem)
{
	BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);
	EVP_PKEY *evp = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, key_refuse_password, NULL) : NULL;
	BIO_free(bio);
	return evp;
}

/*
 * A file of elliptic curves has both numbers, and a file of RSA has all of them: the library believes what it says.
 * What doesn't belong together would sign what nobody can verify. The public key of EdDSA always follows from the
 * private one.
 */
static bool key_is_pair(const dnssec_key_t *key)
{
	if (key->row->kind == DNSSEC_KIND_RSA) {
		return dnssec_key_prove(key) == KNOT_OK; /* the library would look for primes, too */
	}
	EVP_PKEY_CTX *ctx =
			key->row->kind == DNSSEC_KIND_ECDSA ? EVP_PKEY_CTX_new_from_pkey(NULL, key->evp, NULL) : NULL;
	bool is_pair = key->row->kind == DNSSEC_KIND_EDDSA || (ctx != NULL && EVP_PKEY_pairwise_check(ctx) == 1);
	EVP_PKEY_CTX_free(ctx);
	return is_pair;
}

knot_err_t dnssec_key_from_pem(knot_bytes_t pem, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	knot_err_t err;
	if (pem.len > INT32_MAX) {
		return KNOT_EPRIVATEKEY;
	}
	dnssec_key_t *key = key_new(algorithm, &err);
	if (key == NULL) {
		return err;
	}
	key->evp = key_read_usual(key->row, pem);
	key->evp = key->evp != NULL ? key->evp : key_read_pem(pem);
	key->has_private = key->evp != NULL;
	err = key->evp == NULL ? KNOT_EPRIVATEKEY : key_is_of(key->evp, key->row) ? KNOT_OK : KNOT_EKEYALGORITHM;
	err = err == KNOT_OK ? dnssec_key_write_rdata(key, flags) : err;
	unsigned bits = err == KNOT_OK ? dnssec_key_bits(key) : 0;
	if (err == KNOT_OK && key->row->kind == DNSSEC_KIND_RSA &&
			(bits < key->row->bits_min || bits > key->row->bits_max)) {
		err = KNOT_EKEYSIZE;
	}
	if (err == KNOT_OK && !key_is_pair(key)) {
		err = KNOT_EPRIVATEKEY;
	}
	return key_finish(key, err, ret_key);
}

knot_err_t dnssec_key_from_spki(knot_bytes_t der, uint8_t algorithm, uint16_t flags, dnssec_key_t **ret_key)
{
	knot_err_t err;
	dnssec_key_t *key = key_new(algorithm, &err);
	if (key == NULL) {
		return err;
	}
	const uint8_t *at = der.data;
	key->evp = d2i_PUBKEY(NULL, &at, (long)der.len);
	bool is_good = key->evp != NULL && key_is_of(key->evp, key->row);
	return key_finish(key, is_good ? dnssec_key_write_rdata(key, flags) : KNOT_EPUBLICKEY, ret_key);
}

static knot_err_t key_write_curve(const dnssec_key_t *key, knot_mut_bytes_t *ret_pem)
{
	uint8_t number[DNSSEC_PRIVATE_MAX];
	char text[FORM_PEM_MAX];
	const knot_bytes_t public = { key->rdata + HEAD_LEN, key->rdata_len - HEAD_LEN };
	bool is_good = dnssec_private_number(key, number) == dnssec_form_private_len(key->row);
	size_t len = is_good ? dnssec_form_write_pem(key->row, number, public, text) : 0;
	uint8_t *pem = is_good ? malloc(len + 1) : NULL;
	if (pem != NULL) {
		memcpy(pem, text, len);
		pem[len] = '\0';
		*ret_pem = (knot_mut_bytes_t){ pem, len };
	}
	OPENSSL_cleanse(number, sizeof(number));
	OPENSSL_cleanse(text, sizeof(text));
	return pem != NULL ? KNOT_OK : KNOT_ENOMEM;
}

knot_err_t dnssec_key_to_pem(const dnssec_key_t *key, knot_mut_bytes_t *ret_pem)
{
	if (!key->has_private) {
		return KNOT_ENOPRIVATEKEY;
	}
	if (dnssec_form_private_len(key->row) > 0) {
		return key_write_curve(key, ret_pem);
	}
	BIO *bio = BIO_new(BIO_s_secmem());
	char *text = NULL;
	uint8_t *pem = NULL;
	long len = 0;
	if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, key->evp, NULL, NULL, 0, NULL, NULL) == 1) {
		len = BIO_get_mem_data(bio, &text);
		pem = malloc((size_t)len + 1);
	}
	if (pem != NULL) {
		memcpy(pem, text, (size_t)len);
		pem[len] = '\0';
		*ret_pem = (knot_mut_bytes_t){ pem, (size_t)len };
	}
	BIO_free(bio); /* clears its memory */
	ERR_clear_error();
	return pem != NULL ? KNOT_OK : KNOT_ENOMEM;
}

void dnssec_pem_free(knot_mut_bytes_t *pem)
{
	if (pem->data != NULL) {
		OPENSSL_cleanse(pem->data, pem->len);
		free(pem->data);
	}
	*pem = (knot_mut_bytes_t){ NULL, 0 };
}

knot_err_t dnssec_key_take_private(dnssec_key_t *key, dnssec_key_t *from)
{
	bool is_same = key->row->kind == from->row->kind && key->rdata_len == from->rdata_len &&
		       memcmp(key->rdata + HEAD_LEN, from->rdata + HEAD_LEN, key->rdata_len - HEAD_LEN) == 0;
	if (!is_same || !dnssec_key_has_private(from)) {
		return is_same ? KNOT_ENOPRIVATEKEY : KNOT_EPRIVATEKEY;
	}
	EVP_PKEY_free(key->evp);
	dnssec_url_free(key->url);
	key->evp = from->evp;
	key->url = from->url;
	key->has_private = from->has_private;
	from->evp = NULL;
	from->url = NULL;
	from->has_private = false;
	return KNOT_OK;
}

/* ---- What a key is ---- */

void dnssec_key_set_flags(dnssec_key_t *key, uint16_t flags)
{
	store_be16(key->rdata, flags);
	key->tag = dnssec_rdata_tag(dnssec_key_rdata(key));
}

knot_bytes_t dnssec_key_rdata(const dnssec_key_t *key)
{
	return (knot_bytes_t){ key->rdata, key->rdata_len };
}

const dnssec_algorithm_t *dnssec_key_algorithm_row(const dnssec_key_t *key)
{
	return key->row;
}

uint8_t dnssec_key_algorithm(const dnssec_key_t *key)
{
	return key->row->number;
}

uint16_t dnssec_key_flags(const dnssec_key_t *key)
{
	return load_be16(key->rdata);
}

uint16_t dnssec_key_tag(const dnssec_key_t *key)
{
	return key->tag;
}

unsigned dnssec_key_bits(const dnssec_key_t *key)
{
	bool is_fixed = key->row->bits_min == key->row->bits_max;
	return is_fixed ? key->row->bits_min : (unsigned)EVP_PKEY_get_bits(key->evp);
}

bool dnssec_key_has_private(const dnssec_key_t *key)
{
	return key->has_private || key->url != NULL;
}

knot_err_t dnssec_key_id(const dnssec_key_t *key, char ret_id[static DNSSEC_KEY_ID_LEN + 1])
{
	uint8_t usual[FORM_SPKI_MAX], *der = NULL, hash[EVP_MAX_MD_SIZE];
	const knot_bytes_t public = { key->rdata + HEAD_LEN, key->rdata_len - HEAD_LEN };
	size_t usual_len = dnssec_form_spki(key->row, public, usual);
	int len = usual_len > 0 ? (int)usual_len : i2d_PUBKEY(key->evp, &der);
	unsigned hash_len = 0;
	bool is_good = len > 0 &&
		       EVP_Digest(der != NULL ? der : usual, (size_t)len, hash, &hash_len, EVP_sha1(), NULL) == 1;
	OPENSSL_free(der);
	ERR_clear_error();
	if (!is_good) {
		return KNOT_ENOMEM;
	}
	knot_hex_print((knot_bytes_t){ hash, hash_len }, KNOT_HEX_LOWER, ret_id);
	ret_id[DNSSEC_KEY_ID_LEN] = '\0';
	return KNOT_OK;
}

void dnssec_url_free(char *take_url)
{
	if (take_url != NULL) {
		OPENSSL_cleanse(take_url, strlen(take_url));
		free(take_url);
	}
}

void dnssec_key_free(dnssec_key_t *take_key)
{
	if (take_key != NULL) {
		EVP_PKEY_free(take_key->evp); /* clears private numbers */
		dnssec_url_free(take_key->url);
		free(take_key);
	}
}
