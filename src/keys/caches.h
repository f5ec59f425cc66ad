/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether a version's keys are safe for resolvers that have DS, DNSKEY and data of versions before it in their caches.
 *
 * A version can be proven by its own keys and still be bogus for who knows the keys of yesterday. What may be cached
 * follows from two sources: the version that is served, and the timers of the key database, by which the uses of each
 * key at any time in the past are known (state.h). Pure functions of values; any thread. RFC 7583 3, 6781 4.1;
 * doc/adr/0062-validation.md says what can't be known.
 */
#pragma once

#include "src/keys/state.h"

/** A key as a version shows it: a DNSKEY, or one that signs without being there. */
typedef struct {
	knot_bytes_t public; /* borrowed, the public key of the DNSKEY; len 0: there is none, the tag is all that is
				known */
	uint16_t tag;
	uint8_t algorithm;
	bool is_revoked;
	bool signs_keys, signs_zone; /* DNSKEY; SOA, which stands for the rest */
	bool has_cds;                /* CDS or CDNSKEY asks the parent for its DS */
} keys_seen_t;

/** The keys of a version. */
typedef struct {
	const keys_seen_t *keys; /* borrowed */
	size_t count;
} keys_view_t;

/** The key as the view shows it; NULL: it doesn't. */
const keys_seen_t *keys_find_seen(const keys_view_t *view, const kasp_key_t *key);

/** What is to be judged. Borrowed. */
typedef struct {
	keys_view_t served; /* empty: nothing is, or it isn't signed */
	keys_view_t next;
	const kasp_key_t *keys; /* of the key database */
	size_t count;
	bool is_offline_ksk;  /* DNSKEY and its signatures come from elsewhere */
	uint32_t key_hold_s;  /* how long DNSKEY sets are cached: propagation delay and K of roll.h */
	uint32_t data_hold_s; /* the same of data and its signatures: M */
	uint64_t now_s;
} keys_caches_t;

typedef enum {
	KEYS_SAFE,
	KEYS_GONE,            /* a key isn't in DNSKEY any more, but by its timers it is to be */
	KEYS_MUTE,            /* a key doesn't sign any more, but by its timers it is to */
	KEYS_DATA_ORPHANED,   /* data is cached of whose signers none is in DNSKEY */
	KEYS_DATA_AHEAD,      /* DNSKEY sets are cached that have none of the keys that sign the data */
	KEYS_DS_ORPHANED,     /* DNSKEY is signed by no key that the parent is known to have a DS of */
	KEYS_DS_AHEAD,        /* DNSKEY sets are cached that no key with a DS has signed */
	KEYS_CDS_AHEAD,       /* the same of a key that is to get its DS */
	KEYS_ALGORITHM_AHEAD, /* DNSKEY has an algorithm of which cached data has no signature */
	KEYS_ALGORITHM_GONE,  /* the data has no signature of an algorithm that cached DNSKEY sets have */
	KEYS_DANGER_COUNT
} keys_danger_kind_t;

typedef struct {
	keys_danger_kind_t kind;
	uint16_t tag;     /* of a key that is missed; 0: there isn't one */
	uint64_t until_s; /* when caches have forgotten what doesn't fit; 0: not known */
} keys_danger_t;

/** What a danger is, in words that follow "key N" if there is a tag. */
const char *keys_danger_text(keys_danger_kind_t kind);

/** Find the first danger. A version with the keys and signers of the one that is served is always KEYS_SAFE. */
keys_danger_t keys_caches_check(const keys_caches_t *caches);
