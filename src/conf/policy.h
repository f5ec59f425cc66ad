/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Signing policies as the configuration has them: sections policy, keystore, submission, dnskey-sync and delegation as
 * structs that point at each other. They live as long as the configuration. What follows from a policy and a zone's own
 * values is computed by conf_policy_times(): shared/reference names and defaults of Knot DNS 3.6.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/conf/rules.h"

/** Numbers of the options of `backend`. */
typedef enum { CONF_KEYSTORE_PEM, CONF_KEYSTORE_PKCS11 } conf_keystore_backend_t;

/** A block of section `keystore`. */
typedef struct {
	const char *id;     /* "": the built-in one */
	uint8_t backend;    /* conf_keystore_backend_t */
	const char *config; /* of PEM: a folder, relative to that of the key database; of PKCS #11: URI and module */
	bool is_ksk_only;
	bool labels_keys;
} conf_keystore_t;

typedef struct {
	const conf_keystore_t *const *data;
	size_t count;
} conf_keystores_t;

/** A block of section `submission`. */
typedef struct {
	const char *id;
	conf_groups_t parents;
	uint32_t check_interval_s;
	uint32_t timeout_s; /* 0: never */
	uint32_t parent_delay_s;
} conf_submission_t;

typedef struct {
	const conf_submission_t *const *data;
	size_t count;
} conf_submissions_t;

/** A block of section `dnskey-sync`. */
typedef struct {
	const char *id;
	conf_groups_t remotes;
	uint32_t check_interval_s;
} conf_dnskey_sync_t;

typedef struct {
	const conf_dnskey_sync_t *const *data;
	size_t count;
} conf_dnskey_syncs_t;

/** A block of section `delegation`: what a parent does by what its children publish. */
typedef struct {
	const char *id;
	bool may_update, may_delete, may_bootstrap; /* DS records */
	bool may_csync;
	conf_groups_t resolvers; /* that validate */
	uint32_t min_interval_s; /* between checks of one child */
	uint32_t children_max;   /* of a zone that wait */
} conf_delegation_t;

typedef struct {
	const conf_delegation_t *const *data;
	size_t count;
} conf_delegations_t;

/** Numbers of the options of `cds-cdnskey-publish`. */
typedef enum { CONF_CDS_NONE, CONF_CDS_DELETE, CONF_CDS_ROLLOVER, CONF_CDS_ALWAYS, CONF_CDS_DOUBLE_DS } conf_cds_t;
/** Numbers of the options of `dnskey-management`. */
typedef enum { CONF_MANAGES_FULL, CONF_MANAGES_INCREMENTAL } conf_manages_t;
/** Numbers of the options of `unsafe-operation`. */
enum { CONF_UNSAFE_KEYSET = 1, CONF_UNSAFE_DNSKEY = 2, CONF_UNSAFE_NSEC = 4, CONF_UNSAFE_EXPIRED = 8 };

enum { CONF_POLICY_UNSET = -1 };

/** A block of section `policy`. Times in seconds; CONF_POLICY_UNSET where that is said: the item isn't there. */
typedef struct {
	const char *id;             /* "default": the built-in one, if no block has that name */
	conf_keystores_t keystores; /* none: the built-in one */
	bool is_manual;
	bool is_single_type;
	uint8_t algorithm;
	uint16_t ksk_bits, zsk_bits; /* 0: the algorithm's default */
	bool is_ksk_shared;
	int64_t dnskey_ttl_s, zone_max_ttl_s;    /* or unset */
	const char *keytag_modulo;               /* "R/M" */
	int64_t jitter;                          /* seconds, or with CONF_PERCENT (value.h) percent */
	uint32_t ksk_lifetime_s, zsk_lifetime_s; /* 0: for ever */
	bool has_adt;
	uint32_t delete_delay_s;
	int64_t trash_delay_s; /* or unset */
	uint32_t propagation_delay_s;
	uint32_t rrsig_lifetime_s;
	int64_t rrsig_refresh_s, rrsig_pre_refresh_s; /* or unset */
	uint32_t rrsig_spread_s;
	bool is_reproducible;
	bool has_nsec3;
	uint16_t nsec3_iterations;
	bool has_opt_out;
	uint8_t salt_len;        /* bytes */
	int64_t salt_lifetime_s; /* 0: for ever; -1: as long as the ZSK */
	uint16_t threads;
	conf_submissions_t submission; /* at most one */
	conf_groups_t ds_push;
	conf_dnskey_syncs_t dnskey_sync; /* at most one */
	conf_groups_t dsync_notify;      /* who is asked for the parent's DSYNC records */
	int64_t dsync_delay_s;           /* or unset */
	knot_bytes_t dsync_report;       /* wire name; len 0: none */
	uint8_t cds_publish;             /* conf_cds_t */
	uint8_t cds_digest;              /* the number of DS digests */
	uint8_t manages;                 /* conf_manages_t */
	bool is_offline_ksk;
	conf_bits_t unsafe; /* CONF_UNSAFE_… */
} conf_policy_t;

typedef struct {
	const conf_policy_t *const *data;
	size_t count;
} conf_policies_t;

/** What follows from a policy for one zone. Seconds. */
typedef struct {
	uint32_t dnskey_ttl_s, zone_max_ttl_s;
	uint32_t refresh_s, pre_refresh_s; /* refresh: with the zone's jitter */
	uint32_t zsk_lifetime_s;           /* less the zone's jitter */
	uint32_t trash_delay_s;
	bool is_refresh_low; /* refresh + pre-refresh would have reached the lifetime: it was cut */
	uint32_t spread_s;   /* of expirations; what is left of it beside refresh and pre-refresh */
} conf_policy_times_t;

/**
 * Compute them. zone: its name, any case, from which the jitter follows; soa_ttl_s, max_ttl_s: of its SOA, and its
 * highest one. RFC 7583's propagation delays are the caller's.
 */
conf_policy_times_t conf_policy_times(
		const conf_policy_t *policy, knot_name_t zone, uint32_t soa_ttl_s, uint32_t max_ttl_s);

/** The tags that new keys may have: remainder and modulus of `keytag-modulo`. */
void conf_policy_tags(const conf_policy_t *policy, unsigned *ret_remainder, unsigned *ret_modulo);
