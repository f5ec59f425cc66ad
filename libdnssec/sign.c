/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/sign.h"

#include <gnutls/abstract.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <stdlib.h>

#include "libdnssec/internal.h"
#include "libdnssec/p256.h"

enum {
	DER_MAX = 2 + 2 * (2 + 1 + 48), /* SEQUENCE of two INTEGERs of P-384 */
	DER_SEQUENCE = 0x30,
	DER_INTEGER = 0x02,   /* X.690 */
	COUNTED_AT_ONCE = 64, /* verifications that a verifier does before it asks for a table */
};

/** What signing and verifying have in common: the pieces as a hash, or one behind the other. */
typedef struct {
	const EVP_MD *hash; /* NULL: not hashed */
	EVP_MD_CTX *hasher; /* owned */
	uint8_t digest[EVP_MAX_MD_SIZE];
	uint8_t *message; /* owned */
	size_t message_max;
	knot_bytes_t input; /* what goes into the signature: in `digest` or `message` */
} sign_input_t;

typedef struct sign_backend sign_backend_t;

struct dnssec_signer {
	const dnssec_key_t *key;
	const sign_backend_t *backend;
	bool is_reproducible;
	bool is_unproven; /* nothing that this session of a token made was verified yet */
	sign_input_t input;
	EVP_PKEY_CTX *evp;       /* owned; of OpenSSL */
	gnutls_privkey_t gnutls; /* owned; of GnuTLS, and of keys in tokens */
};

struct dnssec_verifier {
	const dnssec_key_t *key;
	const sign_backend_t *backend;
	sign_input_t input;
	EVP_PKEY_CTX *evp;      /* owned */
	EVP_MD_CTX *md;         /* owned: EdDSA of OpenSSL */
	gnutls_pubkey_t gnutls; /* owned */
	/* Of P-256 */
	p256_table_t *table; /* NULL: there is none yet */
	p256_t *p256;        /* owned; NULL: not needed yet */
	uint64_t count;      /* verifications that the table hasn't been told of */
	p256_item_t *taken;  /* owned, P256_BATCH */
	size_t taken_count;
};

/** A library. */
struct sign_backend {
	knot_err_t (*open_signer)(dnssec_signer_t *signer);
	knot_err_t (*sign)(dnssec_signer_t *signer, uint8_t *signature, size_t *ret_len);
	knot_err_t (*open_verifier)(dnssec_verifier_t *verifier);
	knot_err_t (*verify)(dnssec_verifier_t *verifier, knot_bytes_t signature);
};

/* ---- What goes into a signature ---- */

const EVP_MD *dnssec_hash_of(const dnssec_algorithm_t *row)
{
	switch (row->number) {
	case DNSSEC_RSASHA1:
	case DNSSEC_RSASHA1_NSEC3: return EVP_sha1();
	case DNSSEC_RSASHA256:
	case DNSSEC_ECDSAP256SHA256: return EVP_sha256();
	case DNSSEC_ECDSAP384SHA384: return EVP_sha384();
	case DNSSEC_RSASHA512: return EVP_sha512();
	default: return NULL;
	}
}

static knot_err_t sign_open_input(sign_input_t *input, const dnssec_key_t *key)
{
	input->hash = dnssec_hash_of(key->row);
	if (input->hash == NULL) {
		return KNOT_OK;
	}
	input->hasher = EVP_MD_CTX_new();
	return input->hasher != NULL && EVP_DigestInit_ex(input->hasher, input->hash, NULL) == 1 ? KNOT_OK
												 : KNOT_ENOMEM;
}

static void sign_close_input(sign_input_t *input)
{
	EVP_MD_CTX_free(input->hasher);
	free(input->message);
}

static knot_err_t sign_hash_pieces(sign_input_t *input, const knot_bytes_t *pieces, size_t count)
{
	unsigned len;
	bool is_good = EVP_DigestInit_ex(input->hasher, NULL, NULL) == 1;
	for (size_t i = 0; i < count && is_good; i++) {
		is_good = EVP_DigestUpdate(input->hasher, pieces[i].data, pieces[i].len) == 1;
	}
	if (!is_good || EVP_DigestFinal_ex(input->hasher, input->digest, &len) != 1) {
		return KNOT_ECRYPTO;
	}
	input->input = (knot_bytes_t){ input->digest, len };
	return KNOT_OK;
}

/* EdDSA reads what it signs twice, so it takes it in one piece. */
static knot_err_t sign_join_pieces(sign_input_t *input, const knot_bytes_t *pieces, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++) {
		len += pieces[i].len;
	}
	if (len > input->message_max) {
		uint8_t *message = realloc(input->message, 2 * len);
		if (message == NULL) {
			return KNOT_ENOMEM;
		}
		input->message = message;
		input->message_max = 2 * len;
	}
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		if (pieces[i].len > 0) {
			memcpy(input->message + at, pieces[i].data, pieces[i].len);
		}
		at += pieces[i].len;
	}
	input->input = (knot_bytes_t){ input->message, len };
	return KNOT_OK;
}

static knot_err_t sign_take_pieces(sign_input_t *input, const knot_bytes_t *pieces, size_t count)
{
	return input->hash != NULL ? sign_hash_pieces(input, pieces, count) : sign_join_pieces(input, pieces, count);
}

/* ---- ECDSA: r | s in DNSSEC, a SEQUENCE of INTEGERs in both libraries ---- */

/* An INTEGER into `width` octets. Returns what follows it; NULL: malformed. */
static const uint8_t *sign_read_integer(const uint8_t *der, const uint8_t *end, size_t width, uint8_t *ret_number)
{
	if (end - der < 2 || der[0] != DER_INTEGER || der[1] > end - der - 2) {
		return NULL;
	}
	size_t len = der[1];
	const uint8_t *from = der + 2, *next = from + len;
	while (len > width && *from == 0) {
		from++;
		len--;
	}
	if (len > width) {
		return NULL;
	}
	memset(ret_number, 0, width - len);
	memcpy(ret_number + width - len, from, len);
	return next;
}

static knot_err_t sign_read_der(knot_bytes_t der, size_t width, uint8_t *signature)
{
	const uint8_t *end = der.data + der.len, *at = NULL;
	if (der.len >= 2 && der.data[0] == DER_SEQUENCE && der.data[1] == der.len - 2) {
		at = sign_read_integer(der.data + 2, end, width, signature);
	}
	at = at != NULL ? sign_read_integer(at, end, width, signature + width) : NULL;
	return at == end ? KNOT_OK : KNOT_ECRYPTO;
}

static size_t sign_write_integer(const uint8_t *number, size_t width, uint8_t *out)
{
	while (width > 1 && *number == 0) {
		number++;
		width--;
	}
	size_t pad = (*number & 0x80) != 0; /* it would be negative */
	out[0] = DER_INTEGER;
	out[1] = (uint8_t)(width + pad);
	out[2] = 0;
	memcpy(out + 2 + pad, number, width);
	return 2 + pad + width;
}

static size_t sign_write_der(knot_bytes_t signature, uint8_t ret_der[static DER_MAX])
{
	size_t width = signature.len / 2;
	size_t len = sign_write_integer(signature.data, width, ret_der + 2);
	len += sign_write_integer(signature.data + width, width, ret_der + 2 + len);
	ret_der[0] = DER_SEQUENCE;
	ret_der[1] = (uint8_t)len;
	return 2 + len;
}

/* A signature as the library made it, in the form of DNSSEC. */
static knot_err_t sign_take_made(const dnssec_key_t *key, knot_bytes_t made, uint8_t *signature, size_t *ret_len)
{
	if (key->row->kind == DNSSEC_KIND_ECDSA) {
		*ret_len = key->row->signature_len;
		return sign_read_der(made, *ret_len / 2, signature);
	}
	bool is_good = made.len <= DNSSEC_SIGNATURE_MAX &&
		       (key->row->signature_len == 0 || made.len == key->row->signature_len);
	if (!is_good) {
		return KNOT_ECRYPTO;
	}
	memcpy(signature, made.data, made.len);
	*ret_len = made.len;
	return KNOT_OK;
}

/* ---- OpenSSL: RSA and ECDSA from a hash; EdDSA is only verified ---- */

static EVP_PKEY_CTX *openssl_context(const dnssec_key_t *key, int (*init)(EVP_PKEY_CTX *ctx))
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(key->evp, NULL);
	bool is_good = ctx != NULL && init(ctx) == 1 &&
		       EVP_PKEY_CTX_set_signature_md(ctx, dnssec_hash_of(key->row)) == 1;
	if (is_good && key->row->kind == DNSSEC_KIND_RSA) {
		is_good = EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1;
	}
	if (!is_good) {
		EVP_PKEY_CTX_free(ctx);
		ERR_clear_error();
		return NULL;
	}
	return ctx;
}

static knot_err_t openssl_open_signer(dnssec_signer_t *signer)
{
	signer->evp = openssl_context(signer->key, EVP_PKEY_sign_init);
	return signer->evp != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static knot_err_t openssl_sign(dnssec_signer_t *signer, uint8_t *signature, size_t *ret_len)
{
	uint8_t made[DNSSEC_SIGNATURE_MAX];
	size_t len = sizeof(made);
	if (EVP_PKEY_sign(signer->evp, made, &len, signer->input.input.data, signer->input.input.len) != 1) {
		ERR_clear_error();
		return KNOT_ECRYPTO;
	}
	return sign_take_made(signer->key, (knot_bytes_t){ made, len }, signature, ret_len);
}

static knot_err_t openssl_open_verifier(dnssec_verifier_t *verifier)
{
	if (verifier->key->row->kind == DNSSEC_KIND_EDDSA) {
		verifier->md = EVP_MD_CTX_new();
		return verifier->md != NULL ? KNOT_OK : KNOT_ENOMEM;
	}
	verifier->evp = openssl_context(verifier->key, EVP_PKEY_verify_init);
	return verifier->evp != NULL ? KNOT_OK : KNOT_ENOMEM;
}

static int openssl_verify_whole(dnssec_verifier_t *verifier, knot_bytes_t signature)
{
	const knot_bytes_t *input = &verifier->input.input;
	int is_good = EVP_DigestVerifyInit(verifier->md, NULL, NULL, NULL, verifier->key->evp) == 1 &&
		      EVP_DigestVerify(verifier->md, signature.data, signature.len, input->data, input->len) == 1;
	(void)EVP_MD_CTX_reset(verifier->md);
	return is_good;
}

static knot_err_t openssl_verify(dnssec_verifier_t *verifier, knot_bytes_t signature)
{
	uint8_t der[DER_MAX];
	int is_good;
	if (verifier->md != NULL) {
		is_good = openssl_verify_whole(verifier, signature);
	} else {
		if (verifier->key->row->kind == DNSSEC_KIND_ECDSA) {
			signature = (knot_bytes_t){ der, sign_write_der(signature, der) };
		}
		is_good = EVP_PKEY_verify(verifier->evp, signature.data, signature.len, verifier->input.input.data,
					  verifier->input.input.len) == 1;
	}
	ERR_clear_error();
	return is_good ? KNOT_OK : KNOT_ESIGNATURE;
}

/* ---- GnuTLS: curves that are faster there, reproducible ECDSA, keys in tokens ---- */

static gnutls_sign_algorithm_t gnutls_algorithm_of(const dnssec_algorithm_t *row)
{
	switch (row->number) {
	case DNSSEC_RSASHA1:
	case DNSSEC_RSASHA1_NSEC3: return GNUTLS_SIGN_RSA_SHA1;
	case DNSSEC_RSASHA256: return GNUTLS_SIGN_RSA_SHA256;
	case DNSSEC_RSASHA512: return GNUTLS_SIGN_RSA_SHA512;
	case DNSSEC_ECDSAP256SHA256: return GNUTLS_SIGN_ECDSA_SHA256;
	case DNSSEC_ECDSAP384SHA384: return GNUTLS_SIGN_ECDSA_SHA384;
	case DNSSEC_ED25519: return GNUTLS_SIGN_EDDSA_ED25519;
	case DNSSEC_ED448: return GNUTLS_SIGN_EDDSA_ED448;
	default: return GNUTLS_SIGN_UNKNOWN;
	}
}

gnutls_ecc_curve_t dnssec_gnutls_curve(const dnssec_algorithm_t *row)
{
	switch (row->number) {
	case DNSSEC_ECDSAP256SHA256: return GNUTLS_ECC_CURVE_SECP256R1;
	case DNSSEC_ECDSAP384SHA384: return GNUTLS_ECC_CURVE_SECP384R1;
	case DNSSEC_ED25519: return GNUTLS_ECC_CURVE_ED25519;
	case DNSSEC_ED448: return GNUTLS_ECC_CURVE_ED448;
	default: return GNUTLS_ECC_CURVE_INVALID;
	}
}

gnutls_pk_algorithm_t dnssec_gnutls_kind(const dnssec_algorithm_t *row)
{
	switch (row->kind) {
	case DNSSEC_KIND_RSA: return GNUTLS_PK_RSA;
	case DNSSEC_KIND_ECDSA: return GNUTLS_PK_ECDSA;
	case DNSSEC_KIND_EDDSA: break;
	}
	return row->number == DNSSEC_ED25519 ? GNUTLS_PK_EDDSA_ED25519 : GNUTLS_PK_EDDSA_ED448;
}

static knot_err_t gnutls_error(int result, knot_err_t err)
{
	return result == GNUTLS_E_SUCCESS ? KNOT_OK : result == GNUTLS_E_MEMORY_ERROR ? KNOT_ENOMEM : err;
}

/* The public key behind the head of the RDATA, as GnuTLS wants it: y is absent of EdDSA. */
static void gnutls_public_numbers(const dnssec_key_t *key, gnutls_datum_t *x, gnutls_datum_t *y)
{
	bool is_pair = key->row->kind == DNSSEC_KIND_ECDSA;
	uint8_t *public = (uint8_t *)(uintptr_t)key->rdata + 4;
	unsigned len = is_pair ? key->row->public_len / 2u : key->row->public_len;
	*x = (gnutls_datum_t){ public, len };
	*y = (gnutls_datum_t){ is_pair ? public + len : NULL, is_pair ? len : 0 };
}

static int gnutls_load_numbers(gnutls_privkey_t private, const dnssec_key_t *key)
{
	uint8_t number[DNSSEC_PRIVATE_MAX];
	gnutls_datum_t x, y, k = { number, (unsigned)dnssec_private_number(key, number) };
	gnutls_public_numbers(key, &x, &y);
	int result = k.size > 0 ? gnutls_privkey_import_ecc_raw(private, dnssec_gnutls_curve(key->row), &x,
						  y.size > 0 ? &y : NULL, &k)
				: GNUTLS_E_MEMORY_ERROR;
	OPENSSL_cleanse(number, sizeof(number));
	return result;
}

/* A session of the signer's own. Another kind of key would fail in ways that depend on the module. */
static knot_err_t gnutls_open_token(gnutls_privkey_t private, const dnssec_key_t *key)
{
	knot_err_t err = dnssec_token_err(gnutls_privkey_import_url(private, key->url, 0), KNOT_EPRIVATEKEY);
	int kind = err == KNOT_OK ? gnutls_privkey_get_pk_algorithm(private, NULL) : 0;
	return err == KNOT_OK && kind != (int)dnssec_gnutls_kind(key->row) ? KNOT_EPRIVATEKEY : err;
}

static knot_err_t gnutls_open_signer(dnssec_signer_t *signer)
{
	const dnssec_key_t *key = signer->key;
	int result = gnutls_privkey_init(&signer->gnutls);
	if (result != GNUTLS_E_SUCCESS) {
		return KNOT_ENOMEM;
	}
	if (key->url != NULL) {
		return gnutls_open_token(signer->gnutls, key);
	}
	return gnutls_error(gnutls_load_numbers(signer->gnutls, key), KNOT_EPRIVATEKEY);
}

static knot_err_t gnutls_sign(dnssec_signer_t *signer, uint8_t *signature, size_t *ret_len)
{
	const knot_bytes_t *input = &signer->input.input;
	const gnutls_datum_t data = { (uint8_t *)(uintptr_t)input->data, (unsigned)input->len };
	gnutls_datum_t made;
	gnutls_sign_algorithm_t algorithm = gnutls_algorithm_of(signer->key->row);
	unsigned flags = signer->is_reproducible ? GNUTLS_PRIVKEY_FLAG_REPRODUCIBLE : 0;
	int result = signer->input.hash != NULL
				     ? gnutls_privkey_sign_hash2(signer->gnutls, algorithm, flags, &data, &made)
				     : gnutls_privkey_sign_data2(signer->gnutls, algorithm, 0, &data, &made);
	if (result != GNUTLS_E_SUCCESS) {
		return signer->key->url != NULL ? dnssec_token_err(result, KNOT_ECRYPTO)
						: gnutls_error(result, KNOT_ECRYPTO);
	}
	knot_err_t err = sign_take_made(signer->key, (knot_bytes_t){ made.data, made.size }, signature, ret_len);
	gnutls_free(made.data);
	return err;
}

static knot_err_t gnutls_open_verifier(dnssec_verifier_t *verifier)
{
	gnutls_datum_t x, y;
	if (gnutls_pubkey_init(&verifier->gnutls) != GNUTLS_E_SUCCESS) {
		return KNOT_ENOMEM;
	}
	gnutls_public_numbers(verifier->key, &x, &y);
	return gnutls_error(gnutls_pubkey_import_ecc_raw(verifier->gnutls, dnssec_gnutls_curve(verifier->key->row), &x,
					    y.size > 0 ? &y : NULL),
			KNOT_ECRYPTO);
}

static knot_err_t gnutls_verify(dnssec_verifier_t *verifier, knot_bytes_t signature)
{
	uint8_t der[DER_MAX];
	const knot_bytes_t *input = &verifier->input.input;
	const gnutls_datum_t hash = { (uint8_t *)(uintptr_t)input->data, (unsigned)input->len };
	const gnutls_datum_t made = { der, (unsigned)sign_write_der(signature, der) };
	int result = gnutls_pubkey_verify_hash2(
			verifier->gnutls, gnutls_algorithm_of(verifier->key->row), 0, &hash, &made);
	return result >= 0 ? KNOT_OK : gnutls_error(result, KNOT_ESIGNATURE);
}

/* ---- Which library does what ---- */

static const sign_backend_t openssl = { openssl_open_signer, openssl_sign, openssl_open_verifier, openssl_verify };
static const sign_backend_t gnutls = { gnutls_open_signer, gnutls_sign, gnutls_open_verifier, gnutls_verify };

/* The faster one, as measured (ADR 57). OpenSSL 3.0 has no reproducible ECDSA. */
static const struct {
	uint8_t algorithm;
	const sign_backend_t *signs, *signs_reproducibly, *verifies;
} choices[] = {
	{ DNSSEC_RSASHA1, &openssl, &openssl, &openssl },
	{ DNSSEC_RSASHA1_NSEC3, &openssl, &openssl, &openssl },
	{ DNSSEC_RSASHA256, &openssl, &openssl, &openssl },
	{ DNSSEC_RSASHA512, &openssl, &openssl, &openssl },
	{ DNSSEC_ECDSAP256SHA256, &openssl, &gnutls, &openssl },
	{ DNSSEC_ECDSAP384SHA384, &gnutls, &gnutls, &gnutls },
	{ DNSSEC_ED25519, &gnutls, &gnutls, &openssl },
	{ DNSSEC_ED448, &gnutls, &gnutls, &openssl },
};

static size_t sign_choose(const dnssec_key_t *key)
{
	size_t at = 0;
	while (choices[at].algorithm != key->row->number) {
		at++; /* each algorithm has a row: sign_test.c */
	}
	return at;
}

/* ---- Interface ---- */

knot_err_t dnssec_signer_new(const dnssec_key_t *key, bool is_reproducible, dnssec_signer_t **ret_signer)
{
	if (!dnssec_key_has_private(key)) {
		return KNOT_ENOPRIVATEKEY;
	}
	dnssec_signer_t *signer = calloc(1, sizeof(*signer));
	if (signer == NULL) {
		return KNOT_ENOMEM;
	}
	size_t choice = sign_choose(key);
	signer->key = key;
	signer->is_unproven = key->url != NULL;
	signer->is_reproducible = is_reproducible && key->row->kind == DNSSEC_KIND_ECDSA && key->url == NULL;
	signer->backend = key->url != NULL          ? &gnutls
			  : signer->is_reproducible ? choices[choice].signs_reproducibly
						    : choices[choice].signs;
	knot_err_t err = sign_open_input(&signer->input, key);
	err = err == KNOT_OK ? signer->backend->open_signer(signer) : err;
	if (err != KNOT_OK) {
		dnssec_signer_free(signer);
		return err;
	}
	*ret_signer = signer;
	return KNOT_OK;
}

/* Sessions of one token may lead to different devices, whose keys aren't always the same. */
static knot_err_t sign_prove_session(
		const dnssec_signer_t *signer, const knot_bytes_t *pieces, size_t piece_count, knot_bytes_t signature)
{
	dnssec_verifier_t *verifier;
	knot_err_t err = dnssec_verifier_new(signer->key, &verifier);
	if (err == KNOT_OK) {
		err = dnssec_verifier_verify(verifier, pieces, piece_count, signature);
		dnssec_verifier_free(verifier);
	}
	return err == KNOT_ESIGNATURE ? KNOT_EPRIVATEKEY : err;
}

knot_err_t dnssec_signer_sign(dnssec_signer_t *signer, const knot_bytes_t *pieces, size_t piece_count,
		uint8_t ret_signature[static DNSSEC_SIGNATURE_MAX], size_t *ret_len)
{
	knot_err_t err = sign_take_pieces(&signer->input, pieces, piece_count);
	err = err == KNOT_OK ? signer->backend->sign(signer, ret_signature, ret_len) : err;
	if (err == KNOT_OK && signer->is_unproven) {
		err = sign_prove_session(signer, pieces, piece_count, (knot_bytes_t){ ret_signature, *ret_len });
		signer->is_unproven = err != KNOT_OK;
	}
	return err;
}

knot_err_t dnssec_key_prove(const dnssec_key_t *key)
{
	/* It can't be the beginning of what an RRSIG signs: the octet where that has the algorithm is a letter. */
	static const char text[] = "Bowline asks whether this private key belongs to its public key.";
	const knot_bytes_t piece = { (const uint8_t *)text, sizeof(text) };
	uint8_t signature[DNSSEC_SIGNATURE_MAX];
	size_t len = 0;
	dnssec_signer_t *signer = NULL;
	knot_err_t err = dnssec_signer_new(key, false, &signer);
	if (err == KNOT_OK) {
		signer->is_unproven = true;
		err = dnssec_signer_sign(signer, &piece, 1, signature, &len);
	}
	dnssec_signer_free(signer);
	return err == KNOT_ECRYPTO ? KNOT_EPRIVATEKEY : err;
}

void dnssec_signer_free(dnssec_signer_t *take_signer)
{
	if (take_signer != NULL) {
		sign_close_input(&take_signer->input);
		EVP_PKEY_CTX_free(take_signer->evp);
		gnutls_privkey_deinit(take_signer->gnutls);
		free(take_signer);
	}
}

/* ---- P-256 with a table of the key's multiples ---- */

static const uint8_t *verifier_public(const dnssec_verifier_t *verifier)
{
	return verifier->key->rdata + 4;
}

/* Without memory things go on without the table. */
static bool verifier_has_table(dnssec_verifier_t *verifier)
{
	if (verifier->key->row->number != DNSSEC_ECDSAP256SHA256) {
		return false;
	}
	if (verifier->table == NULL && ++verifier->count >= COUNTED_AT_ONCE) {
		verifier->table = p256_table_take(verifier_public(verifier), verifier->count);
		verifier->count = 0;
	}
	if (verifier->table != NULL && verifier->p256 == NULL) {
		verifier->p256 = p256_new(verifier->table);
	}
	if (verifier->p256 != NULL && verifier->taken == NULL) {
		verifier->taken = calloc(P256_BATCH, sizeof(*verifier->taken));
	}
	return verifier->p256 != NULL && verifier->taken != NULL;
}

/* The hash is that of the input. */
static void verifier_put(const dnssec_verifier_t *verifier, knot_bytes_t signature, p256_item_t *item)
{
	memcpy(item->hash, verifier->input.digest, P256_HASH_LEN);
	memcpy(item->signature, signature.data, P256_SIGNATURE_LEN);
}

/* By the library itself. */
static knot_err_t verifier_look_again(dnssec_verifier_t *verifier, const p256_item_t *items, size_t count)
{
	knot_err_t err = KNOT_OK;
	for (size_t i = 0; err == KNOT_OK && i < count; i++) {
		verifier->input.input = (knot_bytes_t){ items[i].hash, P256_HASH_LEN };
		err = verifier->backend->verify(verifier, (knot_bytes_t){ items[i].signature, P256_SIGNATURE_LEN });
	}
	return err;
}

static knot_err_t verifier_verify_items(dnssec_verifier_t *verifier, const p256_item_t *items, size_t count)
{
	return p256_verify(verifier->p256, items, count) ? KNOT_OK : verifier_look_again(verifier, items, count);
}

static knot_err_t verifier_verify_one(dnssec_verifier_t *verifier, knot_bytes_t signature)
{
	p256_item_t item;
	if (!verifier_has_table(verifier)) {
		return verifier->backend->verify(verifier, signature);
	}
	verifier_put(verifier, signature, &item);
	return verifier_verify_items(verifier, &item, 1);
}

static bool verifier_has_length(const dnssec_verifier_t *verifier, knot_bytes_t signature)
{
	uint16_t len = verifier->key->row->signature_len;
	return len == 0 || signature.len == len;
}

knot_err_t dnssec_verifier_new(const dnssec_key_t *key, dnssec_verifier_t **ret_verifier)
{
	dnssec_verifier_t *verifier = calloc(1, sizeof(*verifier));
	if (verifier == NULL) {
		return KNOT_ENOMEM;
	}
	verifier->key = key;
	verifier->backend = choices[sign_choose(key)].verifies;
	knot_err_t err = sign_open_input(&verifier->input, key);
	err = err == KNOT_OK ? verifier->backend->open_verifier(verifier) : err;
	if (err == KNOT_OK && key->row->number == DNSSEC_ECDSAP256SHA256) {
		verifier->table = p256_table_take(verifier_public(verifier), 0);
	}
	if (err != KNOT_OK) {
		dnssec_verifier_free(verifier);
		return err;
	}
	*ret_verifier = verifier;
	return KNOT_OK;
}

knot_err_t dnssec_verifier_verify(
		dnssec_verifier_t *verifier, const knot_bytes_t *pieces, size_t piece_count, knot_bytes_t signature)
{
	if (!verifier_has_length(verifier, signature)) {
		return KNOT_ESIGNATURE;
	}
	knot_err_t err = sign_take_pieces(&verifier->input, pieces, piece_count);
	return err == KNOT_OK ? verifier_verify_one(verifier, signature) : err;
}

knot_err_t dnssec_verifier_take(
		dnssec_verifier_t *verifier, const knot_bytes_t *pieces, size_t piece_count, knot_bytes_t signature)
{
	if (!verifier_has_length(verifier, signature)) {
		return KNOT_ESIGNATURE;
	}
	knot_err_t err = sign_take_pieces(&verifier->input, pieces, piece_count);
	if (err != KNOT_OK || !verifier_has_table(verifier)) {
		return err == KNOT_OK ? verifier->backend->verify(verifier, signature) : err;
	}
	verifier_put(verifier, signature, &verifier->taken[verifier->taken_count++]);
	return verifier->taken_count == P256_BATCH ? dnssec_verifier_settle(verifier) : KNOT_OK;
}

knot_err_t dnssec_verifier_settle(dnssec_verifier_t *verifier)
{
	size_t count = verifier->taken_count;
	verifier->taken_count = 0;
	return count > 0 ? verifier_verify_items(verifier, verifier->taken, count) : KNOT_OK;
}

static void verifier_free_table(dnssec_verifier_t *verifier)
{
	if (verifier->table == NULL && verifier->count > 0) {
		verifier->table = p256_table_take(verifier_public(verifier), verifier->count);
	}
	p256_free(verifier->p256);
	free(verifier->taken);
	p256_table_release(verifier->table);
}

void dnssec_verifier_free(dnssec_verifier_t *take_verifier)
{
	if (take_verifier != NULL) {
		sign_close_input(&take_verifier->input);
		EVP_PKEY_CTX_free(take_verifier->evp);
		EVP_MD_CTX_free(take_verifier->md);
		gnutls_pubkey_deinit(take_verifier->gnutls);
		verifier_free_table(take_verifier);
		free(take_verifier);
	}
}
