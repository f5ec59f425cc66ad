/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What has to be done with the keys of a zone now, and when the next thing is due: initial keys, rollovers of ZSK, KSK
 * and CSK, of algorithm and scheme, submission, removal.
 *
 * Pure: the keys and the time come in as values, new keys come from the caller's functions, and what was done is
 * returned. So the same code rolls keys in the server, plans them years ahead, and is tested by letting time run. The
 * steps and their delays are those of Knot DNS; RFC 6781 4.1 and RFC 7583 have the reasons.
 */
#pragma once

#include "src/conf/policy.h"
#include "src/keys/set.h"
#include "src/keys/state.h"

/** Which key is to be made. */
typedef struct {
	bool is_ksk, is_zsk;
	uint8_t algorithm;
	unsigned bits; /* 0: the algorithm's default */
	uint16_t flags;
} keys_wanted_t;

/** Where new keys come from and where their private keys go to. */
typedef struct {
	/* A new key with id, tag and public key; that is valid until the next call. Its private key is stored. */
	knot_err_t (*generate)(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx);
	/* The private key of one that was generated isn't needed. */
	void (*discard)(const kasp_key_t *key, void *ctx);
	/* The KSK that zones of the policy share, valid as above, if it fits and the zone doesn't have it yet.
	 * KNOT_ENOENT: generate one. NULL: zones share none. */
	knot_err_t (*share)(const keys_wanted_t *wanted, kasp_key_t *ret_key, void *ctx);
	/* A key was generated that is the shared one from now on. */
	knot_err_t (*note_shared)(const kasp_key_t *key, void *ctx);
	void *ctx;
} keys_maker_t;

/** What a run starts from. */
typedef struct {
	const conf_policy_t *policy; /* borrowed */
	uint32_t zsk_lifetime_s;     /* of conf_policy_times() */
	uint32_t key_ttl_s;          /* K: the TTL of DNSKEY when the keys were saved last */
	uint32_t max_ttl_s;          /* M: the highest TTL of the zone, the same */
	uint64_t now_s;
	bool forces_ksk, forces_zsk; /* by an operator */
	bool keeps_future;           /* timers in the future stay: of keys that are made in advance */
	bool rolls_only_zsk;         /* keys in advance for an offline KSK */
} keys_params_t;

/** What is done at some time. */
typedef enum {
	KEYS_NOTHING,
	KEYS_GENERATE, /* begin a rollover */
	KEYS_PUBLISH,
	KEYS_SUBMIT,
	KEYS_REPLACE,
	KEYS_RETIRE,
	KEYS_REMOVE,
	KEYS_DELETE, /* of the key database */
} keys_kind_t;

/** The word of an action in the log. */
const char *keys_kind_name(keys_kind_t kind);

typedef struct {
	keys_kind_t kind;
	bool is_ksk, is_zsk; /* the key's roles */
	uint16_t tag;        /* not of KEYS_GENERATE */
	size_t index;        /* of the key that it follows from */
	uint64_t due_s;
} keys_action_t;

/** What a run did that the log says. */
typedef enum {
	KEYS_NOTE_KSK_STARTED,
	KEYS_NOTE_ZSK_STARTED,
	KEYS_NOTE_ALGORITHM_STARTED,
	KEYS_NOTE_SCHEME_STARTED,
	KEYS_NOTE_KSK_IGNORED, /* a forced rollover, as one is running */
	KEYS_NOTE_ZSK_IGNORED,
	KEYS_NOTE_MANUAL,     /* a forced rollover, as the policy is manual */
	KEYS_NOTE_CLEARED,    /* timers in the future; tag */
	KEYS_NOTE_CONFLICT,   /* a new key whose tag is another one's; tag */
	KEYS_NOTE_SUBMISSION, /* a KSK waits for its DS; tag */
	KEYS_NOTE_FAILED,     /* err; tag, of the action `kind` */
	KEYS_NOTE_COUNT
} keys_note_kind_t;

typedef struct {
	keys_note_kind_t kind;
	keys_kind_t action;
	uint16_t tag;
	knot_err_t err;
} keys_note_t;

enum { KEYS_NOTES_MAX = 32, KEYS_DELETED_MAX = 32 };

typedef struct {
	bool is_changed;       /* keys are to be saved */
	keys_action_t next;    /* what is due next; KEYS_NOTHING: nothing is */
	uint64_t next_timer_s; /* the next timer of any key in the future; 0: none */
	size_t note_count;
	keys_note_t notes[KEYS_NOTES_MAX];
	size_t deleted_count;                 /* keys that were taken out of the list */
	kasp_key_t deleted[KEYS_DELETED_MAX]; /* without their public keys */
} keys_outcome_t;

/**
 * Do what is due, until nothing is. The list has the keys as they are to be then. KNOT_ENOMEM, errors of the maker: the
 * list may have changed in part, so drop it.
 */
KNOT_MUST_USE knot_err_t keys_run(
		keys_set_t *set, const keys_params_t *params, const keys_maker_t *maker, keys_outcome_t *ret_outcome);

/**
 * The parent has the DS of the first KSK that is ready: it takes over. delay_s: until no cache has the old DS.
 * KNOT_ENOREADY: no KSK is ready.
 */
KNOT_MUST_USE knot_err_t keys_confirm(keys_set_t *set, uint64_t now_s, uint32_t delay_s);

/** True while a rollover is on its way. */
bool keys_is_rolling(const keys_set_t *set, uint64_t now_s);
