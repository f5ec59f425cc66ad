/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a MAC covers, RFC 8945 4.3 and 5.3:
 *
 *     request        message, variables
 *     first answer   length and MAC of the request, message, variables
 *     later answer   length and MAC of the last signed message, unsigned messages since, message, timers
 *
 * A message is covered as it was before its TSIG was put: without the record, and with the id that its signer gave it.
 * Variables: name, class, TTL, algorithm, timers, error, other data. Timers: time and fudge.
 */
#include "libknot/msg/sign.h"

#include "libknot/msg/message.h"

#include <gnutls/crypto.h>

static const struct {
	const char *wire;
	uint8_t mac_len;
	gnutls_mac_algorithm_t mac;
} algorithms[KNOT_TSIG_ALGORITHM_END] = {
	[KNOT_TSIG_HMAC_MD5] = { "\10hmac-md5\7sig-alg\3reg\3int", 16, GNUTLS_MAC_MD5 },
	[KNOT_TSIG_HMAC_SHA1] = { "\11hmac-sha1", 20, GNUTLS_MAC_SHA1 },
	[KNOT_TSIG_HMAC_SHA224] = { "\13hmac-sha224", 28, GNUTLS_MAC_SHA224 },
	[KNOT_TSIG_HMAC_SHA256] = { "\13hmac-sha256", 32, GNUTLS_MAC_SHA256 },
	[KNOT_TSIG_HMAC_SHA384] = { "\13hmac-sha384", 48, GNUTLS_MAC_SHA384 },
	[KNOT_TSIG_HMAC_SHA512] = { "\13hmac-sha512", 64, GNUTLS_MAC_SHA512 },
};

enum { BADSIG = KNOT_RCODE_BADVERS /* one number, RFC 8945 3 */, ARCOUNT_OFF = 10, RR_FIXED_LEN = 10 };

knot_name_t knot_tsig_algorithm_name(knot_tsig_algorithm_t algorithm)
{
	assert(algorithm < KNOT_TSIG_ALGORITHM_END);
	return knot_name_of((const uint8_t *)algorithms[algorithm].wire);
}

size_t knot_tsig_mac_len(knot_tsig_algorithm_t algorithm)
{
	assert(algorithm < KNOT_TSIG_ALGORITHM_END);
	return algorithms[algorithm].mac_len;
}

bool knot_tsig_is_of(const knot_tsig_t *tsig, const knot_tsig_key_t *key)
{
	return knot_name_eq(tsig->key, key->name) &&
	       knot_name_eq(tsig->algorithm, knot_tsig_algorithm_name(key->algorithm));
}

/* ---- What a MAC covers ---- */

/* Gathered as long as it's little, as GnuTLS then needs no handle and so no allocation. */
typedef struct {
	const knot_tsig_key_t *key;
	gnutls_hmac_hd_t handle; /* NULL: all of it is gathered */
	size_t len;
	bool failed;
	uint8_t gathered[KNOT_TSIG_AT_ONCE_MAX];
} digest_t;

/* Go on with a handle, which lasts and takes any length. */
static void digest_open(digest_t *d)
{
	assert(d->handle == NULL);
	d->failed = d->failed || gnutls_hmac_init(&d->handle, algorithms[d->key->algorithm].mac, d->key->secret.data,
						 d->key->secret.len) != 0;
	d->handle = d->failed ? NULL : d->handle;
	d->failed = d->failed || gnutls_hmac(d->handle, d->gathered, d->len) != 0;
}

static void digest_put(digest_t *d, const void *bytes, size_t len)
{
	if (d->failed || len == 0) {
		return;
	}
	if (d->handle == NULL && len <= sizeof(d->gathered) - d->len) {
		memcpy(d->gathered + d->len, bytes, len);
		d->len += len;
		return;
	}
	if (d->handle == NULL) {
		digest_open(d);
	}
	d->failed = d->failed || gnutls_hmac(d->handle, bytes, len) != 0;
}

static void digest_put_u16(digest_t *d, uint16_t number)
{
	uint8_t bytes[2];
	store_be16(bytes, number);
	digest_put(d, bytes, sizeof(bytes));
}

static void digest_put_time(digest_t *d, uint64_t time_s)
{
	uint8_t bytes[8];
	store_be64(bytes, time_s);
	digest_put(d, bytes + 2, KNOT_TSIG_TIME_LEN);
}

/* What earlier messages of the chain add; takes over what is pending. */
static void digest_begin(digest_t *d, knot_tsig_chain_t *chain)
{
	d->key = chain->key;
	d->handle = chain->pending;
	d->len = 0;
	d->failed = false;
	bool has_prefix = d->handle == NULL && chain->position != KNOT_TSIG_AT_REQUEST;
	chain->pending = NULL;
	if (has_prefix) {
		digest_put_u16(d, chain->mac_len);
		digest_put(d, chain->mac, chain->mac_len);
	}
}

/* rest: the message behind its header. */
static void digest_put_message(digest_t *d, const uint8_t header[static KNOT_MSG_HEADER_LEN], knot_bytes_t rest)
{
	digest_put(d, header, KNOT_MSG_HEADER_LEN);
	digest_put(d, rest.data, rest.len);
}

static void digest_put_tsig(digest_t *d, knot_tsig_position_t position, const knot_tsig_t *tsig)
{
	bool has_variables = position != KNOT_TSIG_AT_LATER;
	if (has_variables) {
		knot_name_t algorithm = knot_tsig_algorithm_name(d->key->algorithm);
		const uint8_t ttl[4] = { 0 };
		digest_put(d, d->key->name.wire, d->key->name.len);
		digest_put_u16(d, KNOT_CLASS_ANY);
		digest_put(d, ttl, sizeof(ttl));
		digest_put(d, algorithm.wire, algorithm.len);
	}
	digest_put_time(d, tsig->time_s);
	digest_put_u16(d, tsig->fudge_s);
	if (has_variables) {
		digest_put_u16(d, tsig->error);
		digest_put_u16(d, (uint16_t)tsig->other.len);
		digest_put(d, tsig->other.data, tsig->other.len);
	}
}

static void digest_drop(digest_t *d)
{
	if (d->handle != NULL) {
		gnutls_hmac_deinit(d->handle, NULL);
		d->handle = NULL;
	}
}

static bool digest_end(digest_t *d, uint8_t ret_mac[static KNOT_TSIG_MAC_MAX])
{
	if (d->failed) {
		digest_drop(d);
		return false;
	}
	if (d->handle != NULL) {
		gnutls_hmac_deinit(d->handle, ret_mac);
		return true;
	}
	return gnutls_hmac_fast(algorithms[d->key->algorithm].mac, d->key->secret.data, d->key->secret.len, d->gathered,
			       d->len, ret_mac) == 0;
}

/* ---- Chains ---- */

void knot_tsig_chain_done(knot_tsig_chain_t *chain)
{
	if (chain->pending != NULL) {
		gnutls_hmac_deinit(chain->pending, NULL);
		chain->pending = NULL;
	}
}

/* The message with this MAC was signed, or is authentic. */
static void chain_step(knot_tsig_chain_t *chain, const uint8_t *mac, uint64_t time_s)
{
	chain->mac_len = (uint8_t)knot_tsig_mac_len(chain->key->algorithm);
	memcpy(chain->mac, mac, chain->mac_len);
	chain->time_s = time_s;
	chain->unsigned_count = 0;
	chain->position = chain->position == KNOT_TSIG_AT_REQUEST ? KNOT_TSIG_AT_FIRST : KNOT_TSIG_AT_LATER;
}

/* ---- Signing ---- */

size_t knot_tsig_len(const knot_tsig_chain_t *chain)
{
	size_t mac_len = chain->error == BADSIG ? 0 : knot_tsig_mac_len(chain->key->algorithm);
	size_t other_len = chain->error == KNOT_RCODE_BADTIME ? KNOT_TSIG_TIME_LEN : 0;
	return chain->key->name.len + (size_t)RR_FIXED_LEN + knot_tsig_algorithm_name(chain->key->algorithm).len +
	       KNOT_TSIG_FIXED_LEN + mac_len + other_len;
}

/* The time of the next message. It doesn't go back within a chain, which the other side would refuse (RFC 8945 5.2.3),
 * even if the clock does. With an error it is the one that the other side sent. */
static uint64_t sign_time(const knot_tsig_chain_t *chain, uint64_t now_s)
{
	bool is_before = chain->position == KNOT_TSIG_AT_LATER && now_s < chain->time_s;
	return (chain->error != 0 || is_before ? chain->time_s : now_s) & ((UINT64_C(1) << 48) - 1);
}

knot_err_t knot_tsig_sign(knot_tsig_chain_t *chain, knot_msg_writer_t *w, uint64_t now_s, size_t *ret_len)
{
	uint8_t mac[KNOT_TSIG_MAC_MAX], now[8];
	if (knot_tsig_len(chain) > w->max - w->len) {
		return KNOT_ESPACE;
	}
	store_be64(now, now_s);
	knot_tsig_t tsig = {
		.key = chain->key->name,
		.algorithm = knot_tsig_algorithm_name(chain->key->algorithm),
		.time_s = sign_time(chain, now_s),
		.fudge_s = KNOT_TSIG_FUDGE_S,
		.original_id = load_be16(w->data),
		.error = chain->error,
	};
	if (chain->error == KNOT_RCODE_BADTIME) {
		tsig.other = (knot_bytes_t){ now + 2, KNOT_TSIG_TIME_LEN };
	}
	if (chain->error != BADSIG) {
		digest_t d;
		digest_begin(&d, chain);
		digest_put_message(&d, w->data,
				(knot_bytes_t){ w->data + KNOT_MSG_HEADER_LEN, w->len - KNOT_MSG_HEADER_LEN });
		digest_put_tsig(&d, chain->position, &tsig);
		if (!digest_end(&d, mac)) {
			return KNOT_ERROR;
		}
		tsig.mac = (knot_bytes_t){ mac, knot_tsig_mac_len(chain->key->algorithm) };
	}
	knot_err_t err = knot_tsig_put(w, &tsig);
	assert(err == KNOT_OK); /* knot_tsig_len() bytes */
	(void)err;
	store_be16(w->data + ARCOUNT_OFF, w->counts[KNOT_SECTION_ADDITIONAL]);
	if (tsig.mac.len > 0) {
		chain_step(chain, mac, tsig.time_s);
	}
	*ret_len = w->len;
	return KNOT_OK;
}

/* ---- Verifying ---- */

/* What the other side says is wrong with the message before. */
static knot_err_t verify_error_of(const knot_tsig_t *tsig)
{
	switch (tsig->error) {
	case KNOT_RCODE_BADKEY: return KNOT_TSIG_EBADKEY;
	case KNOT_RCODE_BADTIME: return KNOT_TSIG_EBADTIME;
	default: return KNOT_TSIG_EBADSIG;
	}
}

static bool verify_is_in_time(const knot_tsig_chain_t *chain, const knot_tsig_t *tsig, uint64_t now_s)
{
	uint64_t distance = now_s > tsig->time_s ? now_s - tsig->time_s : tsig->time_s - now_s;
	bool is_ordered = chain->position != KNOT_TSIG_AT_LATER || tsig->time_s >= chain->time_s;
	return tsig->time_s != 0 && tsig->fudge_s != 0 && distance <= tsig->fudge_s && is_ordered;
}

/* The MAC of the message as it was before its TSIG was put. */
static bool verify_make_mac(knot_tsig_chain_t *chain, knot_bytes_t message, const knot_tsig_t *tsig,
		uint8_t ret_mac[static KNOT_TSIG_MAC_MAX])
{
	uint8_t header[KNOT_MSG_HEADER_LEN];
	memcpy(header, message.data, sizeof(header));
	store_be16(header, tsig->original_id);
	store_be16(header + ARCOUNT_OFF, (uint16_t)(load_be16(header + ARCOUNT_OFF) - 1));
	digest_t d;
	digest_begin(&d, chain);
	digest_put_message(&d, header, (knot_bytes_t){ message.data + sizeof(header), tsig->off - sizeof(header) });
	digest_put_tsig(&d, chain->position, tsig);
	return digest_end(&d, ret_mac);
}

/* An answer without a TSIG: the next signed one covers it. */
static knot_err_t verify_unsigned(knot_tsig_chain_t *chain, knot_bytes_t message)
{
	if (message.len < KNOT_MSG_HEADER_LEN || chain->position != KNOT_TSIG_AT_LATER ||
			chain->unsigned_count == KNOT_TSIG_UNSIGNED_MAX) {
		return KNOT_EMALF;
	}
	digest_t d;
	digest_begin(&d, chain);
	if (d.handle == NULL) {
		digest_open(&d);
	}
	digest_put(&d, message.data, message.len);
	if (d.failed) {
		digest_drop(&d);
		return KNOT_ERROR;
	}
	chain->pending = d.handle;
	chain->unsigned_count++;
	return KNOT_OK;
}

knot_err_t knot_tsig_verify_read(
		knot_tsig_chain_t *chain, knot_bytes_t message, const knot_tsig_t *tsig, uint64_t now_s)
{
	if (tsig == NULL) {
		return verify_unsigned(chain, message);
	}
	uint8_t mac[KNOT_TSIG_MAC_MAX];
	bool is_request = chain->position == KNOT_TSIG_AT_REQUEST;
	assert(tsig->off >= KNOT_MSG_HEADER_LEN && tsig->off < message.len);
	if (!knot_tsig_is_of(tsig, chain->key)) {
		return KNOT_TSIG_EBADKEY;
	}
	if (!is_request && tsig->mac.len == 0 && tsig->error != 0) {
		return verify_error_of(tsig);
	}
	if (!verify_make_mac(chain, message, tsig, mac)) {
		return KNOT_ERROR;
	}
	size_t mac_len = knot_tsig_mac_len(chain->key->algorithm);
	if (tsig->mac.len != mac_len || gnutls_memcmp(tsig->mac.data, mac, mac_len) != 0) {
		chain->error = is_request ? BADSIG : 0;
		chain->time_s = tsig->time_s;
		return KNOT_TSIG_EBADSIG;
	}
	bool is_in_time = verify_is_in_time(chain, tsig, now_s);
	chain_step(chain, mac, tsig->time_s);
	if (!is_request && tsig->error != 0) {
		return verify_error_of(tsig); /* authentic: BADTIME is said with a MAC */
	}
	chain->error = is_request && !is_in_time ? KNOT_RCODE_BADTIME : 0;
	return is_in_time ? KNOT_OK : KNOT_TSIG_EBADTIME;
}

/* True if the message's last record is a TSIG. False also for one that can't be read: it has no signature either. */
static bool verify_has_tsig(knot_bytes_t message)
{
	knot_message_t view;
	knot_message_rr_t rr = { .rdata_len = 0 };
	if (knot_message_begin(message, &view) != KNOT_OK) {
		return false;
	}
	while (knot_message_next(&view, &rr)) {}
	return !view.failed && rr.type == KNOT_TYPE_TSIG;
}

knot_err_t knot_tsig_verify(knot_tsig_chain_t *chain, knot_bytes_t message, uint64_t now_s)
{
	assert(chain->position != KNOT_TSIG_AT_REQUEST);
	uint8_t key_wire[KNOT_NAME_MAX];
	knot_tsig_t tsig;
	/* Nearly all have one: then they are walked once. */
	if (knot_tsig_read(message, key_wire, &tsig) == KNOT_OK) {
		return knot_tsig_verify_read(chain, message, &tsig, now_s);
	}
	return verify_has_tsig(message) ? KNOT_EMALF : knot_tsig_verify_read(chain, message, NULL, now_s);
}
