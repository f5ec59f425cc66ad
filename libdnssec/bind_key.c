/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/bind_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <time.h>

#include "libdnssec/internal.h"
#include "libknot/base/encode.h"
#include "libknot/base/number.h"

enum { NUMBER_MAX = 520 /* bytes: RSA of 4096 bits, and the remainder of base64 */ };

/* ---- Lines ---- */

/* The value of a line `name: value`. False: there is no such line. */
static bool bind_find(knot_bytes_t text, const char *name, knot_str_t *ret_value)
{
	const char *at = (const char *)text.data, *end = at + text.len;
	size_t name_len = strlen(name);
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		line_end = line_end != NULL ? line_end : end;
		size_t len = (size_t)(line_end - at);
		if (len > name_len && memcmp(at, name, name_len) == 0 && at[name_len] == ':') {
			const char *value = at + name_len + 1;
			while (value < line_end && *value == ' ') {
				value++;
			}
			size_t value_len = (size_t)(line_end - value);
			value_len -= value_len > 0 && value[value_len - 1] == '\r';
			*ret_value = (knot_str_t){ value, value_len };
			return true;
		}
		at = line_end + 1;
	}
	return false;
}

/* Two digits at a time. */
static int bind_read_pair(const char *digits)
{
	return (digits[0] - '0') * 10 + (digits[1] - '0');
}

knot_err_t dnssec_bind_time(knot_bytes_t text, const char *name, uint64_t *ret_s)
{
	enum { DIGITS = 14 };
	knot_str_t value;
	if (!bind_find(text, name, &value)) {
		*ret_s = 0;
		return KNOT_OK;
	}
	for (size_t i = 0; i < DIGITS; i++) {
		if (i >= value.len || value.data[i] < '0' || value.data[i] > '9') {
			return KNOT_EMALF;
		}
	}
	struct tm wanted = { .tm_year = bind_read_pair(value.data) * 100 + bind_read_pair(value.data + 2) - 1900,
		.tm_mon = bind_read_pair(value.data + 4) - 1,
		.tm_mday = bind_read_pair(value.data + 6),
		.tm_hour = bind_read_pair(value.data + 8),
		.tm_min = bind_read_pair(value.data + 10),
		.tm_sec = bind_read_pair(value.data + 12) };
	struct tm utc = wanted;
	time_t seconds = timegm(&utc); /* another day than was said: there is no such day */
	if (value.len != DIGITS || seconds < 0 || utc.tm_mon != wanted.tm_mon || utc.tm_mday != wanted.tm_mday ||
			utc.tm_hour != wanted.tm_hour || utc.tm_min != wanted.tm_min || utc.tm_sec != wanted.tm_sec) {
		return KNOT_EMALF;
	}
	*ret_s = (uint64_t)seconds;
	return KNOT_OK;
}

/* A number in base64, at most NUMBER_MAX bytes; 0: missing, or malformed. */
static size_t bind_read_number(knot_bytes_t text, const char *name, uint8_t ret_number[static NUMBER_MAX])
{
	knot_str_t value;
	knot_base64_state_t state = { 0 };
	size_t len = 0;
	bool is_good = bind_find(text, name, &value) &&
		       knot_base64_add(&state, value, (knot_mut_bytes_t){ ret_number, NUMBER_MAX }, &len) ==
				       KNOT_DECODE_OK &&
		       state.digit_count == 0;
	return is_good ? len : 0;
}

/* ---- Numbers to keys of the library ---- */

/* The numbers of a row must be owned by the caller until the parameters are made. */
static EVP_PKEY *bind_load_rsa(knot_bytes_t text)
{
	static const struct {
		const char *name, *param;
	} rows[] = {
		{ "Modulus", OSSL_PKEY_PARAM_RSA_N },
		{ "PublicExponent", OSSL_PKEY_PARAM_RSA_E },
		{ "PrivateExponent", OSSL_PKEY_PARAM_RSA_D },
		{ "Prime1", OSSL_PKEY_PARAM_RSA_FACTOR1 },
		{ "Prime2", OSSL_PKEY_PARAM_RSA_FACTOR2 },
		{ "Exponent1", OSSL_PKEY_PARAM_RSA_EXPONENT1 },
		{ "Exponent2", OSSL_PKEY_PARAM_RSA_EXPONENT2 },
		{ "Coefficient", OSSL_PKEY_PARAM_RSA_COEFFICIENT1 },
	};
	uint8_t number[NUMBER_MAX];
	BIGNUM *numbers[KNOT_LEN(rows)] = { NULL };
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	bool is_good = builder != NULL;
	for (size_t i = 0; i < KNOT_LEN(rows) && is_good; i++) {
		size_t len = bind_read_number(text, rows[i].name, number);
		numbers[i] = len > 0 ? BN_secure_new() : NULL;
		is_good = numbers[i] != NULL && BN_bin2bn(number, (int)len, numbers[i]) != NULL &&
			  OSSL_PARAM_BLD_push_BN(builder, rows[i].param, numbers[i]) == 1;
	}
	EVP_PKEY *evp = is_good ? dnssec_make_pair("RSA", builder) : NULL;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		BN_clear_free(numbers[i]);
	}
	OSSL_PARAM_BLD_free(builder);
	OPENSSL_cleanse(number, sizeof(number));
	return evp;
}

static EVP_PKEY *bind_load_curve(knot_bytes_t text, const dnssec_key_t *key)
{
	uint8_t number[NUMBER_MAX];
	size_t len = bind_read_number(text, "PrivateKey", number);
	EVP_PKEY *evp = len > 0 ? dnssec_curve_pair(key->row, (knot_bytes_t){ number, len }, key->rdata + 4) : NULL;
	OPENSSL_cleanse(number, sizeof(number));
	return evp;
}

/* True if what is private and what is public of the library's key belong together. */
static bool bind_check_pair(EVP_PKEY *evp)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(evp, NULL);
	bool is_pair = ctx != NULL && EVP_PKEY_pairwise_check(ctx) == 1;
	EVP_PKEY_CTX_free(ctx);
	return is_pair;
}

knot_err_t dnssec_bind_get(knot_bytes_t text, dnssec_key_t *key)
{
	knot_str_t version, algorithm;
	uint64_t number;
	size_t len;
	if (!bind_find(text, "Private-key-format", &version) || !bind_find(text, "Algorithm", &algorithm) ||
			version.len < 4 || memcmp(version.data, "v1.", 3) != 0) {
		return KNOT_EMALF;
	}
	knot_number_t read = knot_number_begin(algorithm, UINT8_MAX, &number, &len);
	if (read != KNOT_NUMBER_OK || number != key->row->number) {
		return KNOT_EKEYALGORITHM;
	}
	dnssec_key_t private = *key;
	private.url = NULL;
	private.evp = NULL;
	private.evp = key->row->kind == DNSSEC_KIND_RSA ? bind_load_rsa(text) : bind_load_curve(text, key);
	private.has_private = private.evp != NULL;
	knot_err_t err = private.evp != NULL && bind_check_pair(private.evp)
					 ? dnssec_key_write_rdata(&private, dnssec_key_flags(key))
					 : KNOT_EPRIVATEKEY;
	err = err == KNOT_OK ? dnssec_key_take_private(key, &private) : err;
	EVP_PKEY_free(private.evp);
	OPENSSL_cleanse(&private, sizeof(private));
	ERR_clear_error();
	return err;
}
