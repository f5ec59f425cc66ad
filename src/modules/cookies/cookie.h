/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Server cookies that any server with the same secret makes and knows (RFC 9018). Pure.
 *
 * A cookie: the client's part (8 bytes), version (1), reserved (3), seconds since 1970 (4), hash (8). The hash is
 * SipHash-2-4 of all before it and the client's address, with the secret as key.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "xdp/tcp/siphash.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum {
	COOKIE_CLIENT_LEN = 8,
	COOKIE_LEN = 24,     /* with a server's part of RFC 9018 */
	COOKIE_LEN_MIN = 16, /* of both parts, RFC 7873 4 */
	COOKIE_LEN_MAX = 40, /* 〃 */
	COOKIE_SECRET_LEN = 16,
	COOKIE_TIME_OFF = 12,
	COOKIE_HASH_OFF = 16,
	COOKIE_AGE_MAX_S = 3600,    /* RFC 9018 4.3 */
	COOKIE_AHEAD_MAX_S = 300,   /* 〃: clocks differ */
	COOKIE_RENEW_AFTER_S = 1800 /* 〃 */
};

static inline kxdp_siphash_key_t cookie_key(const uint8_t secret[static COOKIE_SECRET_LEN])
{
	return (kxdp_siphash_key_t){ load_le64(secret), load_le64(secret + 8) };
}

/** The hash of a cookie's first 16 bytes for a client. remote: of another family than IP: as if it had no address. */
static inline uint64_t cookie_hash(const kxdp_siphash_key_t *key, const uint8_t head[static COOKIE_HASH_OFF],
		const struct sockaddr *remote)
{
	uint64_t words[4] = { load_le64(head), load_le64(head + 8), 0, 0 };
	if (remote->sa_family == AF_INET) {
		uint8_t ip[8] = { 0 };
		memcpy(ip, &((const struct sockaddr_in *)remote)->sin_addr, 4);
		return kxdp_siphash_words(key, words, 2, load_le64(ip) | UINT64_C(20) << 56, true);
	}
	if (remote->sa_family == AF_INET6) {
		const uint8_t *ip = ((const struct sockaddr_in6 *)remote)->sin6_addr.s6_addr;
		words[2] = load_le64(ip);
		words[3] = load_le64(ip + 8);
		return kxdp_siphash24(key, words, 4);
	}
	return kxdp_siphash24(key, words, 2);
}

/** Make a cookie for a client, whose part is in the first 8 bytes already. */
static inline void cookie_make(uint8_t cookie[static COOKIE_LEN], const kxdp_siphash_key_t *key,
		const struct sockaddr *remote, uint32_t now_s)
{
	store_be32(cookie + COOKIE_CLIENT_LEN, 1u << 24); /* version 1 */
	store_be32(cookie + COOKIE_TIME_OFF, now_s);
	uint64_t hash = cookie_hash(key, cookie, remote);
	for (unsigned i = 0; i < 8; i++) {
		cookie[COOKIE_HASH_OFF + i] = (uint8_t)(hash >> 8 * i);
	}
}

/** True if a cookie of 24 bytes is of our kind and its time is near enough; its hash has still to be compared. */
static inline bool cookie_is_current(const uint8_t cookie[static COOKIE_LEN], uint32_t now_s)
{
	int32_t age = (int32_t)(now_s - load_be32(cookie + COOKIE_TIME_OFF)); /* serial numbers, RFC 1982 */
	return cookie[COOKIE_CLIENT_LEN] == 1 && age <= COOKIE_AGE_MAX_S && age >= -COOKIE_AHEAD_MAX_S;
}

/** True if the cookie was made with this secret for this client. In constant time: two words are compared. */
static inline bool cookie_is_made_by(
		const uint8_t cookie[static COOKIE_LEN], const kxdp_siphash_key_t *key, const struct sockaddr *remote)
{
	return (cookie_hash(key, cookie, remote) ^ load_le64(cookie + COOKIE_HASH_OFF)) == 0;
}
