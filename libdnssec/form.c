/* SPDX-License-Identifier: BSD-2-Clause */
#include "libdnssec/form.h"

#include <assert.h>
#include <openssl/crypto.h>

#include "libknot/base/encode.h"
#include "libknot/base/err.h"

#define BEGIN "-----BEGIN PRIVATE KEY-----\n"
#define END   "-----END PRIVATE KEY-----\n"

enum {
	DER_MAX = 256,
	LINE = 64, /* characters of base64 */
	DER_INTEGER = 0x02,
	DER_BIT_STRING = 0x03,
	DER_OCTET_STRING = 0x04,
	DER_SEQUENCE = 0x30,
	DER_PUBLIC_KEY = 0xa1, /* [1] of an ECPrivateKey */
	UNCOMPRESSED = 4,      /* SEC 1 2.3.3 */
};

/** Bytes without a NUL in front of their end: a literal. */
#define FORM_BYTES(text)                                                                                               \
	{                                                                                                              \
		(const uint8_t *)(text), sizeof(text) - 1                                                              \
	}

/** A curve: the bytes around the numbers. */
typedef struct {
	uint8_t algorithm;
	uint8_t private_len;
	bool is_point;             /* the public key has UNCOMPRESSED in front of it */
	knot_bytes_t identifier;   /* the inside of the AlgorithmIdentifier */
	knot_bytes_t spki_head;    /* up to the public key */
	knot_bytes_t private_head; /* up to the private number */
	knot_bytes_t public_head;  /* from there to the public key; len 0: it isn't there */
} form_t;

#define EC_OID     "\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
#define P256_OIDS  EC_OID "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"
#define P384_OIDS  EC_OID "\x06\x05\x2b\x81\x04\x00\x22"
#define ED25519_ID "\x06\x03\x2b\x65\x70"
#define ED448_ID   "\x06\x03\x2b\x65\x71"

static const form_t forms[] = {
	{ DNSSEC_ECDSAP256SHA256, 32, true, FORM_BYTES(P256_OIDS),
			FORM_BYTES("\x30\x59\x30\x13" P256_OIDS "\x03\x42\x00\x04"),
			FORM_BYTES("\x30\x81\x87\x02\x01\x00\x30\x13" P256_OIDS "\x04\x6d\x30\x6b\x02\x01\x01\x04\x20"),
			FORM_BYTES("\xa1\x44\x03\x42\x00\x04") },
	{ DNSSEC_ECDSAP384SHA384, 48, true, FORM_BYTES(P384_OIDS),
			FORM_BYTES("\x30\x76\x30\x10" P384_OIDS "\x03\x62\x00\x04"),
			FORM_BYTES("\x30\x81\xb6\x02\x01\x00\x30\x10" P384_OIDS
				   "\x04\x81\x9e\x30\x81\x9b\x02\x01\x01\x04\x30"),
			FORM_BYTES("\xa1\x64\x03\x62\x00\x04") },
	{ DNSSEC_ED25519, 32, false, FORM_BYTES(ED25519_ID), FORM_BYTES("\x30\x2a\x30\x05" ED25519_ID "\x03\x21\x00"),
			FORM_BYTES("\x30\x2e\x02\x01\x00\x30\x05" ED25519_ID "\x04\x22\x04\x20"), { NULL, 0 } },
	{ DNSSEC_ED448, 57, false, FORM_BYTES(ED448_ID), FORM_BYTES("\x30\x43\x30\x05" ED448_ID "\x03\x3a\x00"),
			FORM_BYTES("\x30\x47\x02\x01\x00\x30\x05" ED448_ID "\x04\x3b\x04\x39"), { NULL, 0 } },
};

static const form_t *form_find(const dnssec_algorithm_t *row)
{
	for (size_t i = 0; i < KNOT_LEN(forms); i++) {
		if (forms[i].algorithm == row->number) {
			return &forms[i];
		}
	}
	return NULL;
}

/* ---- Writing ---- */

static void form_put(uint8_t *der, size_t *len, knot_bytes_t bytes)
{
	if (bytes.len > 0) {
		memcpy(der + *len, bytes.data, bytes.len);
		*len += bytes.len;
	}
}

size_t dnssec_form_spki(const dnssec_algorithm_t *row, knot_bytes_t public, uint8_t ret_der[static FORM_SPKI_MAX])
{
	const form_t *form = form_find(row);
	size_t len = 0;
	if (form == NULL || public.len != row->public_len) {
		return 0;
	}
	form_put(ret_der, &len, form->spki_head);
	form_put(ret_der, &len, public);
	return len;
}

size_t dnssec_form_private_len(const dnssec_algorithm_t *row)
{
	const form_t *form = form_find(row);
	return form != NULL ? form->private_len : 0;
}

static void form_put_text(char *pem, size_t *len, const char *text, size_t text_len)
{
	memcpy(pem + *len, text, text_len);
	*len += text_len;
}

size_t dnssec_form_write_pem(const dnssec_algorithm_t *row, const uint8_t *private, knot_bytes_t public,
		char ret_pem[static FORM_PEM_MAX])
{
	const form_t *form = form_find(row);
	uint8_t der[DER_MAX];
	char text[KNOT_BASE64_LEN(DER_MAX)];
	size_t der_len = 0, len = 0;
	assert(form != NULL && public.len == row->public_len);
	form_put(der, &der_len, form->private_head);
	form_put(der, &der_len, (knot_bytes_t){ private, form->private_len });
	form_put(der, &der_len, form->public_head);
	form_put(der, &der_len, (knot_bytes_t){ public.data, form->public_head.len > 0 ? public.len : 0 });
	size_t text_len = knot_base64_print((knot_bytes_t){ der, der_len }, text);
	form_put_text(ret_pem, &len, BEGIN, sizeof(BEGIN) - 1);
	for (size_t i = 0; i < text_len; i += LINE) {
		form_put_text(ret_pem, &len, text + i, text_len - i < LINE ? text_len - i : LINE);
		ret_pem[len++] = '\n';
	}
	form_put_text(ret_pem, &len, END, sizeof(END) - 1);
	assert(len < FORM_PEM_MAX);
	OPENSSL_cleanse(der, sizeof(der));
	OPENSSL_cleanse(text, sizeof(text));
	return len;
}

/* ---- Reading ---- */

/* The next element, if it has this tag: its inside, and *io_bytes is what follows it. X.690 8.1. */
static bool form_take(knot_bytes_t *io_bytes, uint8_t tag, knot_bytes_t *ret_inside)
{
	const uint8_t *at = io_bytes->data;
	if (io_bytes->len < 2 || at[0] != tag) {
		return false;
	}
	bool is_long = at[1] == 0x81; /* no key has a longer one */
	size_t head = is_long ? 3 : 2;
	if (io_bytes->len < head || (!is_long && at[1] >= 0x80)) {
		return false;
	}
	size_t len = is_long ? at[2] : at[1];
	if (len > io_bytes->len - head) {
		return false;
	}
	*ret_inside = (knot_bytes_t){ at + head, len };
	*io_bytes = (knot_bytes_t){ at + head + len, io_bytes->len - head - len };
	return true;
}

static bool form_is(knot_bytes_t bytes, knot_bytes_t want)
{
	return bytes.len == want.len && memcmp(bytes.data, want.data, want.len) == 0;
}

/* GnuTLS puts a zero in front of a number whose first bit is set, and leaves out others. */
static bool form_take_private(const form_t *form, knot_bytes_t *io_bytes, uint8_t *private)
{
	knot_bytes_t number;
	if (!form_take(io_bytes, DER_OCTET_STRING, &number)) {
		return false;
	}
	if (form->is_point && number.len == form->private_len + 1u && number.data[0] == 0) {
		number = (knot_bytes_t){ number.data + 1, form->private_len };
	}
	if (number.len == 0 || number.len > form->private_len || (!form->is_point && number.len != form->private_len)) {
		return false;
	}
	memset(private, 0, form->private_len - number.len);
	memcpy(private + form->private_len - number.len, number.data, number.len);
	return true;
}

/* [1] { BIT STRING }, behind parameters that say the curve once more. */
static bool form_take_public(const dnssec_algorithm_t *row, knot_bytes_t bytes, uint8_t *public)
{
	enum { PARAMETERS = 0xa0 };
	static const uint8_t head[] = { 0, UNCOMPRESSED };
	knot_bytes_t inside, point;
	(void)form_take(&bytes, PARAMETERS, &inside);
	if (!form_take(&bytes, DER_PUBLIC_KEY, &inside) || bytes.len != 0 ||
			!form_take(&inside, DER_BIT_STRING, &point) || inside.len != 0 ||
			point.len != sizeof(head) + row->public_len || memcmp(point.data, head, sizeof(head)) != 0) {
		return false;
	}
	memcpy(public, point.data + sizeof(head), row->public_len);
	return true;
}

/* A version, an AlgorithmIdentifier, and the key as an OCTET STRING. RFC 5958 2. */
static bool form_read_der(const dnssec_algorithm_t *row, knot_bytes_t der, uint8_t *private, uint8_t *public,
		bool *ret_has_public)
{
	static const uint8_t zero[] = { 0 }, one[] = { 1 };
	const form_t *form = form_find(row);
	knot_bytes_t info, version, identifier, key, inside;
	if (!form_take(&der, DER_SEQUENCE, &info) || der.len != 0 || !form_take(&info, DER_INTEGER, &version) ||
			!form_is(version, (knot_bytes_t){ zero, 1 }) || !form_take(&info, DER_SEQUENCE, &identifier) ||
			!form_is(identifier, form->identifier) || !form_take(&info, DER_OCTET_STRING, &key) ||
			info.len != 0) {
		return false;
	}
	*ret_has_public = false;
	if (!form->is_point) {
		return form_take_private(form, &key, private) && key.len == 0;
	}
	if (!form_take(&key, DER_SEQUENCE, &inside) || key.len != 0 || !form_take(&inside, DER_INTEGER, &version) ||
			!form_is(version, (knot_bytes_t){ one, 1 }) || !form_take_private(form, &inside, private)) {
		return false;
	}
	*ret_has_public = form_take_public(row, inside, public);
	return true;
}

/* The base64 of a PEM file that is nothing else. len 0: it isn't one. */
static knot_bytes_t form_inside(knot_bytes_t pem)
{
	const size_t begin_len = sizeof(BEGIN) - 1, end_len = sizeof(END) - 1;
	bool is_one = pem.len > begin_len + end_len && memcmp(pem.data, BEGIN, begin_len) == 0 &&
		      memcmp(pem.data + pem.len - end_len, END, end_len) == 0;
	return (knot_bytes_t){ pem.data + begin_len, is_one ? pem.len - begin_len - end_len : 0 };
}

static bool form_decode(knot_bytes_t text, knot_mut_bytes_t room, size_t *ret_len)
{
	knot_base64_state_t state = { 0 };
	size_t len = 0;
	bool is_good = text.len > 0;
	while (is_good && text.len > 0) {
		const uint8_t *end = memchr(text.data, '\n', text.len);
		size_t line = end != NULL ? (size_t)(end - text.data) : text.len, got = 0;
		is_good = end != NULL && knot_base64_add(&state, (knot_str_t){ (const char *)text.data, line },
							 (knot_mut_bytes_t){ room.data + len, room.len - len },
							 &got) == KNOT_DECODE_OK;
		len += got;
		text = (knot_bytes_t){ text.data + line + 1, is_good ? text.len - line - 1 : 0 };
	}
	*ret_len = len;
	return is_good && state.digit_count == 0;
}

bool dnssec_form_read_pem(const dnssec_algorithm_t *row, knot_bytes_t pem, uint8_t ret_private[static FORM_PRIVATE_MAX],
		uint8_t ret_public[static FORM_PUBLIC_MAX], bool *ret_has_public)
{
	uint8_t der[DER_MAX];
	size_t len;
	bool is_read = form_find(row) != NULL &&
		       form_decode(form_inside(pem), (knot_mut_bytes_t){ der, sizeof(der) }, &len) &&
		       form_read_der(row, (knot_bytes_t){ der, len }, ret_private, ret_public, ret_has_public);
	OPENSSL_cleanse(der, sizeof(der));
	return is_read;
}
