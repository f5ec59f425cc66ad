/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the sections that configure zones and what zones refer to. */
#include "src/conf/schema_rows.h"

/* Tables: each row stays together. clang-format breaks them at every comma. */
/* clang-format off */

static const conf_option_t keystore_backends[] = { { "pem", 0 }, { "pkcs11", 1 }, { NULL, 0 } };

static const conf_row_t keystore_rows[] = {
	{ .name = "id", STR, .check = conf_check_keystore_id, .pattern = "^[^-]",
	  .doc = "Name by which other sections refer to the keystore." },
	{ .name = "backend", CONF_AT(conf_keystore_t, backend), OPT(keystore_backends), .dflt = "pem",
	  .doc = "Kind of store: pem keeps keys as files, pkcs11 in a hardware or software module." },
	/* secret: a URI may have the PIN of the token */
	{ .name = "config", CONF_AT(conf_keystore_t, config), STR, .secret = true, .dflt = "keys",
	  .doc = "With backend pem, the directory of the keys; with pkcs11, the URI of the token and the path of the "
	         "module, separated by a space." },
	{ .name = "ksk-only", CONF_AT(conf_keystore_t, is_ksk_only), BOOL, .dflt = "off",
	  .doc = "Don't store new zone-signing keys here, but in the next keystore of the policy." },
	{ .name = "key-label", CONF_AT(conf_keystore_t, labels_keys), BOOL, .dflt = "off",
	  .doc = "Label new keys in a PKCS #11 store with the zone and the kind of the key." },
	COMMENT,
};
const conf_section_t conf_section_keystore = {
	.name = "keystore",
	.kind = CONF_MULTI,
	ROWS(keystore_rows),
	.struct_size = sizeof(conf_keystore_t),
	.check = conf_check_keystore,
	.doc = "Stores of private keys for DNSSEC signing.",
};

/* Numbers as dnssec algorithm tables have them: the order in which they are listed. */
static const conf_option_t tsig_algorithms[] = {
	{ "hmac-md5", 1 }, { "hmac-sha1", 2 }, { "hmac-sha224", 3 }, { "hmac-sha256", 4 }, { "hmac-sha384", 5 },
	{ "hmac-sha512", 6 }, { NULL, 0 },
};

static const conf_row_t key_rows[] = {
	{ .name = "id", .type = CONF_DNAME, .doc = "Name of the key. Both sides must use the same name." },
	{ .name = "algorithm", OPT(tsig_algorithms), CONF_AT(conf_key_t, number), .dflt = "hmac-sha256",
	  .rfc = "RFC 8945 6",
	  .doc = "Algorithm of the key. Both sides must use the same." },
	{ .name = "secret", .type = CONF_B64, .required = true, .secret = true, .missing = "no key secret defined",
	  CONF_AT(conf_key_t, tsig.secret),
	  .doc = "Shared secret of the key, in base64." },
	COMMENT,
};
const conf_section_t conf_section_key = {
	.name = "key",
	.kind = CONF_MULTI,
	ROWS(key_rows),
	.struct_size = sizeof(conf_key_t),
	.doc = "TSIG keys, which authenticate messages between servers.",
};

static const conf_row_t remote_rows[] = {
	{ .name = "id", STR, .doc = "Name by which other sections refer to the server." },
	{ .name = "address", .type = CONF_ADDR, MULTI, .required = true, .missing = "no remote address defined",
	  .port = 53, CONF_AT(conf_remote_t, addresses), .path = CONF_PATH_RUNDIR,
	  .doc = "Addresses of the server, tried in order. UNIX paths are relative to server.rundir. The default port "
	         "is 53, or 853 with quic or tls." },
	{ .name = "via", .type = CONF_ADDR, MULTI, CONF_AT(conf_remote_t, via), .path = CONF_PATH_RUNDIR,
	  .doc = "Source addresses to use: for the n-th address the last one of its family among the first n. Set it "
	         "if the remote accepts only certain sources." },
	{ .name = "quic", BOOL, CONF_AT(conf_remote_t, quic), .dflt = "off", TUNING,
	  .doc = "Connect over QUIC (RFC 9250); not together with tls." },
	{ .name = "tls", BOOL, CONF_AT(conf_remote_t, tls), .dflt = "off", TUNING,
	  .doc = "Connect over TLS (RFC 7858); not together with quic." },
	{ .name = "key", REF1("key"), CONF_AT(conf_remote_t, key),
	  .doc = "TSIG key that signs messages to this server." },
	{ .name = "cert-key", .type = CONF_B64, MULTI, .count_max = 4, .check = conf_check_pin,
	  CONF_HAS_AT(conf_remote_t, has_cert), TUNING,
	  .doc = "Pins of the server's public key, of which one must match: SHA-256 of the SubjectPublicKeyInfo in "
	         "base64." },
	{ .name = "cert-hostname", STR, MULTI, .count_max = 4, CONF_HAS_AT(conf_remote_t, has_cert), TUNING,
	  .doc = "Names of which one must be in the server's certificate." },
	{ .name = "block-notify-after-transfer", BOOL, CONF_AT(conf_remote_t, block_notify_after_transfer),
	  .dflt = "off",
	  .doc = "Don't notify other servers of a zone that was transferred from this one." },
	{ .name = "no-edns", BOOL, CONF_AT(conf_remote_t, no_edns), .dflt = "off",
	  .doc = "Send no EDNS to this server, and use separate connections for SOA queries and transfers. Use it only "
	         "for old servers that fail otherwise." },
	{ .name = "automatic-acl", BOOL, CONF_AT(conf_remote_t, automatic_acl), .dflt = "on",
	  .doc = "With server.automatic-acl on, allow this remote for the zones that refer to it." },
	COMMENT,
};
const conf_section_t conf_section_remote = {
	.name = "remote",
	.kind = CONF_MULTI,
	ROWS(remote_rows),
	.struct_size = sizeof(conf_remote_t),
	.check = conf_check_remote,
	.doc = "Other servers: primaries, secondaries, parents and signers.",
};

static const conf_row_t remotes_rows[] = {
	{ .name = "id", STR, .doc = "Name by which other sections refer to the group." },
	{ .name = "remote", REF1("remote"), MULTI, .required = true, .missing = "no remote defined",
	  .doc = "Servers of the group, in order." },
	COMMENT,
};
const conf_section_t conf_section_remotes = {
	.name = "remotes",
	.kind = CONF_MULTI,
	ROWS(remotes_rows),
	.doc = "Groups of remotes, to which other sections refer by one name.",
};

static const conf_option_t acl_actions[] = {
	{ "query", 0 }, { "notify", 1 }, { "transfer", 2 }, { "update", 3 }, { NULL, 0 },
};
static const conf_option_t acl_protocols[] = { { "udp", 1 }, { "tcp", 2 }, { "tls", 4 }, { "quic", 8 }, { NULL, 0 } };
static const conf_option_t update_owners[] = { { "key", 1 }, { "zone", 2 }, { "name", 3 }, { NULL, 0 } };
static const conf_option_t update_matches[] = {
	{ "sub-or-equal", 0 }, { "equal", 1 }, { "sub", 2 }, { "pattern", 3 }, { NULL, 0 },
};

static const conf_row_t acl_rows[] = {
	{ .name = "id", STR, .doc = "Name by which zones refer to the rule." },
	{ .name = "address", .type = CONF_NET, MULTI, CONF_AT(conf_acl_t, addresses), .dflt_doc = "any",
	  .doc = "Source addresses and networks to which the rule applies." },
	{ .name = "key", REF1("key"), MULTI, CONF_AT(conf_acl_t, keys),
	  .doc = "TSIG keys to which the rule applies. If the rule has no key, a signed query doesn't match." },
	{ .name = "remote", REF_REMOTE, MULTI, CONF_AT(conf_acl_t, remotes),
	  .doc = "Remotes to which the rule applies, in place of address, key, protocol and certificates." },
	{ .name = "action", OPT(acl_actions), MULTI, CONF_AT(conf_acl_t, actions), .dflt_doc = "none",
	  .doc = "Actions that the rule allows or denies. A rule without an action matches nothing, unless it has "
	         "deny: then it denies everything." },
	{ .name = "protocol", OPT(acl_protocols), MULTI, CONF_AT(conf_acl_t, protocols), .dflt_doc = "any",
	  .doc = "Transport protocols to which the rule applies." },
	{ .name = "cert-key", .type = CONF_B64, MULTI, .check = conf_check_pin, CONF_HAS_AT(conf_acl_t, has_cert), TUNING,
	  .doc = "Pins of the public keys of clients to which the rule applies." },
	{ .name = "cert-hostname", STR, MULTI, CONF_HAS_AT(conf_acl_t, has_cert), TUNING,
	  .doc = "Names in the certificates of clients to which the rule applies." },
	{ .name = "deny", BOOL, CONF_AT(conf_acl_t, deny), .dflt = "off",
	  .doc = "Deny the queries that match instead of allowing them. Put such a rule before those that allow "
	         "more." },
	{ .name = "update-type", .type = CONF_RRTYPE, MULTI, CONF_AT(conf_acl_t, update_types), .dflt_doc = "any",
	  .doc = "Record types that dynamic updates may change." },
	{ .name = "update-owner", OPT(update_owners), CONF_AT(conf_acl_t, update_owner),
	  .doc = "Owner names that dynamic updates may change: that of the key, those of the zone, or those in "
	         "update-owner-name." },
	{ .name = "update-owner-match", OPT(update_matches), CONF_AT(conf_acl_t, update_match), .dflt = "sub-or-equal",
	  .doc = "How an owner name must relate to the names of update-owner: equal or below, equal, below, or "
	         "matching them as patterns." },
	{ .name = "update-owner-name", STR, MULTI, .check = conf_check_owner, CONF_AT(conf_acl_t, update_names),
	  .doc = "Names for update-owner, absolute or relative to the zone." },
	COMMENT,
};
const conf_section_t conf_section_acl = {
	.name = "acl",
	.kind = CONF_MULTI,
	ROWS(acl_rows),
	.struct_size = sizeof(conf_acl_t),
	.check = conf_check_acl,
	.doc = "Access rules for transfers, notifications and updates. The first matching rule of a zone decides. If "
	       "no rule matches, only queries are allowed.",
};

static const conf_row_t submission_rows[] = {
	{ .name = "id", STR, .doc = "Name by which policies refer to the check." },
	{ .name = "parent", CONF_AT(conf_submission_t, parents), REF_REMOTE, MULTI,
	  .doc = "Servers of the parent zone that are queried for the DS record." },
	{ .name = "check-interval", CONF_AT(conf_submission_t, check_interval_s), TIME(1, MAX32), .dflt = "1h",
	  .doc = "Interval at which the parent's servers are queried." },
	{ .name = "timeout", CONF_AT(conf_submission_t, timeout_s), TIME(0, MAX32), .dflt = "0",
	  .doc = "Consider the submission complete after this time, even without a DS record; 0 means never." },
	{ .name = "parent-delay", CONF_AT(conf_submission_t, parent_delay_s), TIME(0, MAX32), .dflt = "0",
	  .doc = "Time to wait after the DS record has been found, so that all servers of the parent have it." },
	COMMENT,
};
const conf_section_t conf_section_submission = {
	.name = "submission",
	.kind = CONF_MULTI,
	ROWS(submission_rows),
	.struct_size = sizeof(conf_submission_t),
	.doc = "Checks whether the parent zone has the DS record of a new key.",
};

static const conf_row_t dnskey_sync_rows[] = {
	{ .name = "id", STR, .doc = "Name by which policies refer to the group." },
	{ .name = "remote", CONF_AT(conf_dnskey_sync_t, remotes), REF_REMOTE, MULTI, .required = true, .missing = "no remote defined",
	  .doc = "The other signers of the zone." },
	{ .name = "check-interval", CONF_AT(conf_dnskey_sync_t, check_interval_s), TIME(1, MAX32), .dflt = "60",
	  .doc = "Interval at which the other signers' keys are queried." },
};
const conf_section_t conf_section_dnskey_sync = {
	.name = "dnskey-sync",
	.kind = CONF_MULTI,
	ROWS(dnskey_sync_rows),
	.struct_size = sizeof(conf_dnskey_sync_t),
	.doc = "Key exchange between several signers of one zone.",
};

static const conf_option_t dnssec_algorithms[] = {
	{ "rsasha1", 5 }, { "rsasha1-nsec3-sha1", 7 }, { "rsasha256", 8 }, { "rsasha512", 10 },
	{ "ecdsap256sha256", 13 }, { "ecdsap384sha384", 14 }, { "ed25519", 15 }, { "ed448", 16 }, { NULL, 0 },
};
static const conf_option_t cds_publish[] = {
	{ "none", 0 }, { "delete-dnssec", 1 }, { "rollover", 2 }, { "always", 3 }, { "double-ds", 4 }, { NULL, 0 },
};
static const conf_option_t cds_digests[] = { { "sha256", 2 }, { "sha384", 4 }, { NULL, 0 } };
static const conf_option_t dnskey_management[] = { { "full", 0 }, { "incremental", 1 }, { NULL, 0 } };
static const conf_option_t unsafe_operations[] = {
	{ "none", 0 }, { "no-check-keyset", 1 }, { "no-update-dnskey", 2 }, { "no-update-nsec", 4 },
	{ "no-update-expired", 8 }, { NULL, 0 },
};

static const conf_row_t policy_rows[] = {
	{ .name = "id", STR, .doc = "Name by which zones refer to the policy." },
	{ .name = "keystore", CONF_AT(conf_policy_t, keystores), REF1("keystore"), MULTI, .or_default = true, ZONE_RELOAD,
	  .doc = "Stores of private keys. New keys are created in the first." },
	{ .name = "manual", CONF_AT(conf_policy_t, is_manual), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Manage keys by hand: no key is generated or rolled over automatically." },
	{ .name = "single-type-signing", CONF_AT(conf_policy_t, is_single_type), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Sign with one key for all records instead of a KSK and a ZSK." },
	{ .name = "algorithm", CONF_AT(conf_policy_t, algorithm), OPT(dnssec_algorithms), .dflt = "ecdsap256sha256", ZONE_RELOAD,
	  .doc = "Algorithm of new keys. A change starts an algorithm rollover." },
	{ .name = "ksk-size", CONF_AT(conf_policy_t, ksk_bits), SIZE(0, 65535), .dflt_doc = "by algorithm", ZONE_RELOAD,
	  .doc = "Size of a KSK in bits: 1024 to 4096 with RSA, else the one size that the algorithm has." },
	{ .name = "zsk-size", CONF_AT(conf_policy_t, zsk_bits), SIZE(0, 65535), .dflt_doc = "by algorithm", ZONE_RELOAD,
	  .doc = "Size of a ZSK in bits: 1024 to 4096 with RSA, else the one size that the algorithm has." },
	{ .name = "ksk-shared", CONF_AT(conf_policy_t, is_ksk_shared), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Use the same KSK for all zones of the policy." },
	{ .name = "dnskey-ttl", CONF_AT(conf_policy_t, dnskey_ttl_s), TIME(0, MAX31), .dflt_doc = "TTL of the SOA record", ZONE_RELOAD,
	  .doc = "TTL of DNSKEY records. A shorter one makes rollovers faster." },
	{ .name = "zone-max-ttl", CONF_AT(conf_policy_t, zone_max_ttl_s), TIME(0, MAX31), .dflt_doc = "computed", ZONE_RELOAD,
	  .doc = "Largest TTL in the zone, from which times of rollovers are computed. Set it if the zone changes and "
	         "its largest TTL isn't known in advance." },
	{ .name = "keytag-modulo", CONF_AT(conf_policy_t, keytag_modulo), STR, .dflt = "0/1", .check = conf_check_modulo, .pattern = "^[0-9]+/[0-9]+$", 
	  ZONE_RELOAD,
	  .doc = "Key tags that new keys may have: R/M, with R below M and M at most 256, allows those with remainder "
	         "R when divided by M. Use it with several signers of one zone, so that their keys never have the same "
	         "tag." },
	{ .name = "dnssec-jitter", CONF_AT(conf_policy_t, jitter), TIME(0, MAX31), .percent = true, .dflt = "0", ZONE_RELOAD,
	  .doc = "Time, or percentage, that spreads the signing of many zones: it is added to rrsig-refresh and "
	         "subtracted from zsk-lifetime. It differs between zones and is constant for each." },
	{ .name = "ksk-lifetime", CONF_AT(conf_policy_t, ksk_lifetime_s), TIME(0, MAX32), .dflt = "0", ZONE_RELOAD,
	  .doc = "Lifetime of a KSK; 0 means unlimited. It is at least twice propagation-delay plus twice "
	         "dnskey-ttl." },
	{ .name = "zsk-lifetime", CONF_AT(conf_policy_t, zsk_lifetime_s), TIME(0, MAX32), .dflt = "30d", ZONE_RELOAD,
	  .doc = "Lifetime of a ZSK; 0 means unlimited. It is at least twice propagation-delay plus dnskey-ttl and "
	         "zone-max-ttl." },
	{ .name = "deleg-adt", CONF_AT(conf_policy_t, has_adt), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Set the flag ADT (DELEG) in new keys." },
	{ .name = "delete-delay", CONF_AT(conf_policy_t, delete_delay_s), TIME(0, MAX32), .dflt = "0", ZONE_RELOAD,
	  .doc = "Time for which keys that were removed from the zone are kept." },
	{ .name = "trash-delay", CONF_AT(conf_policy_t, trash_delay_s), TIME(0, MAX32), .dflt_doc = "twice rrsig-lifetime", ZONE_RELOAD,
	  .doc = "Time for which deleted keys can still be restored; 0 deletes them at once." },
	{ .name = "propagation-delay", CONF_AT(conf_policy_t, propagation_delay_s), TIME(0, MAX31), .dflt = "1h", ZONE_RELOAD,
	  .doc = "Time after which every secondary has a change. Set it to more than your slowest secondary takes: "
	         "rollovers wait for it." },
	{ .name = "rrsig-lifetime", CONF_AT(conf_policy_t, rrsig_lifetime_s), TIME(1, MAX31), .dflt = "14d", ZONE_RELOAD,
	  .doc = "Validity of new signatures. A longer one survives longer outages of the signer, a shorter one limits "
	         "replay of old data." },
	{ .name = "rrsig-refresh", CONF_AT(conf_policy_t, rrsig_refresh_s), TIME(1, MAX31), .dflt_doc = "computed", ZONE_RELOAD,
	  .doc = "Renew signatures this time before they expire. Together with rrsig-pre-refresh it must be less than "
	         "rrsig-lifetime." },
	{ .name = "rrsig-pre-refresh", CONF_AT(conf_policy_t, rrsig_pre_refresh_s), TIME(0, MAX31), .dflt_doc = "0.005 of rrsig-lifetime", ZONE_RELOAD,
	  .doc = "Renew together the signatures that are due within this time, so that the zone changes less often." },
	{ .name = "rrsig-spread", CONF_AT(conf_policy_t, rrsig_spread_s), TIME(0, MAX31), .dflt = "0", ZONE_RELOAD,
	  .doc = "Let new signatures expire up to this time earlier, each zone's at a time of its own, and in large zones "
	         "those of every few names, so that what was signed together isn't all renewed together. If it is more than half of what is between two "
	         "renewals, signing is as much in each hour, and what it is in full costs no more signatures than none. Together with rrsig-refresh and rrsig-pre-refresh it must be "
	         "less than rrsig-lifetime; beside a computed rrsig-refresh it is cut to what is left. Only Bowline has "
	         "this item." },
	{ .name = "reproducible-signing", CONF_AT(conf_policy_t, is_reproducible), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Make ECDSA signatures deterministic (RFC 6979): the same data always gets the same signature." },
	{ .name = "nsec3", CONF_AT(conf_policy_t, has_nsec3), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Use NSEC3 instead of NSEC. It makes listing all names of the zone harder; its answers are larger and "
	         "cost more." },
	{ .name = "nsec3-iterations", CONF_AT(conf_policy_t, nsec3_iterations), INT(0, 65535), .dflt = "0", ZONE_RELOAD,
	  .doc = "Additional iterations of the NSEC3 hash. Leave it at 0: more cost servers and resolvers time and "
	         "protect nothing (RFC 9276)." },
	{ .name = "nsec3-opt-out", CONF_AT(conf_policy_t, has_opt_out), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "Leave unsigned delegations out of the NSEC3 chain. Use it only for large zones with few signed "
	         "delegations." },
	{ .name = "nsec3-salt-length", CONF_AT(conf_policy_t, salt_len), INT(0, 255), .dflt = "0", ZONE_RELOAD,
	  .doc = "Length of the NSEC3 salt in bytes. 0 is recommended (RFC 9276)." },
	{ .name = "nsec3-salt-lifetime", CONF_AT(conf_policy_t, salt_lifetime_s), TIME(-1, MAX32), .dflt = "30d", ZONE_RELOAD,
	  .doc = "Lifetime of the NSEC3 salt; 0 means unlimited, -1 as long as the ZSK." },
	{ .name = "signing-threads", CONF_AT(conf_policy_t, threads), INT(1, 65535), .dflt = "1", ZONE_RELOAD,
	  .doc = "Number of threads that sign one zone. Use more for large zones." },
	{ .name = "ksk-submission", CONF_AT(conf_policy_t, submission), REF1("submission"), ZONE_RELOAD,
	  .doc = "Check of DS records at the parent during a KSK rollover." },
	{ .name = "ds-push", CONF_AT(conf_policy_t, ds_push), REF_REMOTE, MULTI, .or_empty = true, ZONE_RELOAD,
	  .doc = "Servers of the parent zone to which DS records are sent by dynamic update. CDS and CDNSKEY must be "
	         "published." },
	{ .name = "dsync-notify", CONF_AT(conf_policy_t, dsync_notify), REF_REMOTE, MULTI, .or_empty = true, ZONE_RELOAD,
	  .rfc = "RFC 9859",
	  .doc = "Resolvers, or servers of the parent zone, that are asked for the parent's DSYNC record when CDS, CDNSKEY "
	         "or CSYNC records come. The server sends a NOTIFY to the target in it. The first that answers counts. Not "
	         "set: no NOTIFY." },
	{ .name = "dsync-delay", CONF_AT(conf_policy_t, dsync_delay_s), TIME(0, MAX31), .dflt_doc = "propagation-delay", ZONE_RELOAD,
	  .rfc = "RFC 9859 4.2",
	  .doc = "How long such a NOTIFY waits, so that all secondaries have the records that the parent will look at." },
	{ .name = "dsync-report-channel", .type = CONF_DNAME, CONF_AT(conf_policy_t, dsync_report), ZONE_RELOAD,
	  .rfc = "RFC 9859 4.2.1, RFC 9567",
	  .doc = "Domain to which the parent is asked to report why it has changed nothing, by queries. It must be one of "
	         "the zone's NS names or below one." },
	{ .name = "dnskey-sync", CONF_AT(conf_policy_t, dnskey_sync), REF1("dnskey-sync"), ZONE_RELOAD,
	  .doc = "Other signers of the zone, with which DNSKEY records are exchanged." },
	{ .name = "cds-cdnskey-publish", CONF_AT(conf_policy_t, cds_publish), OPT(cds_publish), .dflt = "rollover", ZONE_RELOAD,
	  .doc = "When CDS and CDNSKEY records are published: never, to ask the parent to remove DS records, during "
	         "rollovers, or always." },
	{ .name = "cds-digest-type", CONF_AT(conf_policy_t, cds_digest), OPT(cds_digests), .dflt = "sha256", ZONE_RELOAD,
	  .doc = "Digest of CDS records." },
	{ .name = "dnskey-management", CONF_AT(conf_policy_t, manages), OPT(dnskey_management), .dflt = "full", ZONE_RELOAD,
	  .doc = "Whether DNSKEY records of other signers are removed (full) or kept (incremental). incremental needs "
	         "delete-delay and excludes offline-ksk." },
	{ .name = "offline-ksk", CONF_AT(conf_policy_t, is_offline_ksk), BOOL, .dflt = "off", ZONE_RELOAD,
	  .doc = "The KSK is kept on another machine, and this server uses signatures made there in advance." },
	{ .name = "unsafe-operation", CONF_AT(conf_policy_t, unsafe), OPT(unsafe_operations), MULTI, .dflt = "none",  ZONE_RELOAD,
	  .doc = "Checks and updates to skip when signing. They exist for tests and repairs: the zone may become "
	         "invalid." },
	COMMENT,
};
const conf_section_t conf_section_policy = {
	.name = "policy",
	.kind = CONF_MULTI,
	ROWS(policy_rows),
	.struct_size = sizeof(conf_policy_t),
	.check = conf_check_policy,
	.notices = { conf_notice_algorithm, conf_notice_iterations },
	.doc = "Signing policies.",
};

static const conf_row_t external_rows[] = {
	{ .name = "id", STR, .doc = "Name by which zones refer to the validation." },
	{ .name = "timeout", TIME(0, MAX32), CONF_AT(conf_external_t, timeout_s), .dflt = "300", TUNING,
	  .doc = "Time within which the other program must decide, else the change is refused." },
	{ .name = "dump-new-zone", STR, CONF_AT(conf_external_t, dump_new_zone), TUNING, .doc = "File to which the new version of the zone is written." },
	{ .name = "dump-removals", STR, CONF_AT(conf_external_t, dump_removals), TUNING, .doc = "File to which the removed records are written." },
	{ .name = "dump-additions", STR, CONF_AT(conf_external_t, dump_additions), TUNING, .doc = "File to which the added records are written." },
};
const conf_section_t conf_section_external = {
	.name = "external",
	.kind = CONF_MULTI,
	ROWS(external_rows),
	.struct_size = sizeof(conf_external_t),
	.doc = "Validation of new zone versions by another program before they are published.",
};

static const conf_row_t delegation_rows[] = {
	{ .name = "id", STR, .doc = "Name by which zones refer to the rules." },
	{ .name = "ds-update", BOOL, CONF_AT(conf_delegation_t, may_update), .dflt = "off", .rfc = "RFC 7344",
	  .doc = "Change the DS records of a child that is secure as its CDS and CDNSKEY records say." },
	{ .name = "ds-delete", BOOL, CONF_AT(conf_delegation_t, may_delete), .dflt = "off", .rfc = "RFC 8078 4",
	  .doc = "Remove the DS records of a child whose CDS or CDNSKEY record asks for that." },
	{ .name = "ds-bootstrap", BOOL, CONF_AT(conf_delegation_t, may_bootstrap), .dflt = "off", .rfc = "RFC 9615",
	  .doc = "Make DS records of a child that has none, if the zones _signal of its name servers have the same CDS and "
	         "CDNSKEY records as the child. It needs resolver." },
	{ .name = "csync", BOOL, CONF_AT(conf_delegation_t, may_csync), .dflt = "off", .rfc = "RFC 7477",
	  .doc = "Change NS records and addresses of name servers of a child that is secure as its CSYNC record says." },
	{ .name = "resolver", CONF_AT(conf_delegation_t, resolvers), REF_REMOTE, MULTI,
	  .doc = "Resolvers that are asked for addresses of name servers that this server doesn't know, and for zones _signal. "
	         "They must validate, and the way to them must be safe: their flag AD is trusted. The first that answers "
	         "counts." },
	{ .name = "min-interval", CONF_AT(conf_delegation_t, min_interval_s), TIME(0, MAX31), .dflt = "1m",
	  .doc = "How long a child isn't checked again because of a NOTIFY. One that comes before is followed later." },
	{ .name = "children-max", CONF_AT(conf_delegation_t, children_max), INT(1, 100000), .dflt = "1000",
	  .doc = "How many children of a zone may wait for a check. A source network (/24, /56) may have an eighth of them "
	         "waiting. NOTIFYs beyond that are answered and ignored." },
	COMMENT,
};
const conf_section_t conf_section_delegation = {
	.name = "delegation",
	.kind = CONF_MULTI,
	ROWS(delegation_rows),
	.struct_size = sizeof(conf_delegation_t),
	.check = conf_check_delegation,
	.doc = "What a parent zone does when a child sends NOTIFY of CDS or CSYNC (RFC 9859): which records of the child's "
	       "delegation are changed as the child says. Its servers are asked over TCP, and all must agree.",
};

static const conf_option_t deleg_awareness[] = {
	{ "auto", 0 }, { "off", 1 }, { "false", 1 }, { "on", 2 }, { "true", 2 }, { NULL, 0 },
};
static const conf_option_t semantic_checks[] = {
	{ "off", CONF_SEMCHECKS_OFF }, { "false", CONF_SEMCHECKS_OFF }, { "on", CONF_SEMCHECKS_ON },
	{ "true", CONF_SEMCHECKS_ON }, { "soft", CONF_SEMCHECKS_SOFT }, { NULL, 0 },
};
static const conf_option_t zonefile_loads[] = {
	{ "none", CONF_ZONEFILE_NONE }, { "difference", CONF_ZONEFILE_DIFFERENCE },
	{ "difference-no-serial", CONF_ZONEFILE_DIFFERENCE_NO_SERIAL }, { "whole", CONF_ZONEFILE_WHOLE }, { NULL, 0 },
};
static const conf_option_t journal_contents[] = {
	{ "none", CONF_JOURNAL_NONE }, { "changes", CONF_JOURNAL_CHANGES }, { "all", CONF_JOURNAL_ALL }, { NULL, 0 },
};
static const conf_option_t publish_requires[] = {
	{ "none", 0 }, { "apex-ns", CONF_REQUIRE_APEX_NS }, { "newer-serial", CONF_REQUIRE_NEWER_SERIAL },
	{ "signed", CONF_REQUIRE_SIGNED }, { "common-key", CONF_REQUIRE_COMMON_KEY }, { NULL, 0 },
};
static const conf_option_t metadata_dbs[] = { { "kasp", CONF_METADATA_KASP }, { "timer", CONF_METADATA_TIMER }, { NULL, 0 } };
static const conf_option_t serial_policies[] = {
	{ "increment", CONF_SERIAL_INCREMENT }, { "unixtime", CONF_SERIAL_UNIXTIME },
	{ "dateserial", CONF_SERIAL_DATESERIAL }, { NULL, 0 },
};
static const conf_option_t zonemd_generate[] = {
	{ "none", CONF_ZONEMD_NONE }, { "zonemd-sha384", CONF_ZONEMD_SHA384 }, { "zonemd-sha512", CONF_ZONEMD_SHA512 },
	{ "remove", CONF_ZONEMD_REMOVE }, { NULL, 0 },
};
static const conf_option_t catalog_roles[] = {
	{ "none", CONF_CATALOG_NONE }, { "interpret", CONF_CATALOG_INTERPRET }, { "generate", CONF_CATALOG_GENERATE },
	{ "member", CONF_CATALOG_MEMBER }, { NULL, 0 },
};

/* Zones and templates share these rows; a template is a zone without a name that zones inherit from. */
static const conf_row_t zone_rows[] = {
	/* The identifier is the first row of its section: here the first that belongs to it. */
	{ .name = "domain", .type = CONF_DNAME, .only_in = CONF_ONLY_ZONE, .doc = "Name of the zone." },
	{ .name = "id", STR, .only_in = CONF_ONLY_TEMPLATE,
	  .doc = "Name by which zones refer to the template. The template named default applies to zones without a "
	         "template." },
	{ .name = "template", REF1("template"), .only_in = CONF_ONLY_ZONE, ZONE_RELOAD,
	  .doc = "Template from which the zone takes the items that its own block doesn't have. Without it, the "
	         "template named default applies, if there is one." },
	{ .name = "global-module", .type = CONF_MODREF, MULTI, .only_in = CONF_ONLY_TEMPLATE,
	  .doc = "Modules that process every query, before the modules of zones. Only allowed in the template named "
	         "default." },
	{ .name = "storage", STR, CONF_AT(conf_zone_t, storage), .dflt = KNOT_STORAGE_DIR, ZONE_RELOAD,
	  .doc = "Directory of the zone file. The server needs write permission there to write the zone file." },
	{ .name = "file", STR, CONF_AT(conf_zone_t, file), .dflt = "%s.zone", .warn = conf_check_zonefile, ZONE_RELOAD,
	  .doc = "Path of the zone file, relative to storage. %s stands for the name of the zone, %c[N] and %c[N-M] "
	         "for characters of it, %l[N] for a label counted from the right, %% for a percent sign. With many "
	         "zones, use them to spread the files over directories." },
	{ .name = "zone-db-input", INT(-1, 8), .dflt = "-1", .not_zero = true, REFUSED_BUT("-1"),
	  FOR("zone database (Redis)"), ZONE_RELOAD,
	  .doc = "Number of the Redis instance from which the zone is read; -1 means none." },
	{ .name = "zone-db-output", INT(-1, 8), .dflt = "-1", .not_zero = true, REFUSED_BUT("-1"),
	  FOR("zone database (Redis)"), ZONE_RELOAD,
	  .doc = "Number of the Redis instance to which the zone is written; -1 means none." },
	{ .name = "master", REF_REMOTE, MULTI, .or_empty = true, CONF_AT(conf_zone_t, master), ZONE_RELOAD,
	  .doc = "Primary servers from which the zone is transferred." },
	{ .name = "ddns-master", TOGETHER, REF1("remote"), .or_empty = true, CONF_AT(conf_zone_t, ddns_master),
	  .doc = "Server to which dynamic updates are forwarded. With an empty value they are applied here, which "
	         "needs dnssec-signing." },
	{ .name = "notify", REF_REMOTE, MULTI, .or_empty = true, CONF_AT(conf_zone_t, notify),
	  .doc = "Secondary servers that are notified of changes." },
	{ .name = "notify-delay", TIME(0, MAX32), .dflt = "0", CONF_AT(conf_zone_t, notify_delay_s),
	  .doc = "Time to wait before notifying, so that several changes need one notification." },
	{ .name = "update-delay", TIME(0, MAX32), .dflt = "0", CONF_AT(conf_zone_t, update_delay_s),
	  .doc = "Time for which dynamic updates are collected, from the first one on, and then applied together. They "
	         "are answered then." },
	{ .name = "acl", REF1("acl"), MULTI, CONF_AT(conf_zone_t, acl),
	  .doc = "Access rules for transfers, notifications and updates, in order." },
	{ .name = "master-pin-tolerance", TIME(0, MAX32), .dflt = "0", CONF_AT(conf_zone_t, master_pin_tolerance_s),
	  .doc = "Time for which the last primary is preferred, even if another one has a newer version." },
	{ .name = "provide-ixfr", BOOL, CONF_AT(conf_zone_t, provide_ixfr), .dflt = "on",
	  .doc = "Answer IXFR queries with differences. Switch it off if secondaries should always transfer the whole "
	         "zone." },
	{ .name = "deleg-aware", OPT(deleg_awareness), .dflt = "auto", REFUSED_BUT("auto off"),
	  FOR("delegations with DELEG"), ZONE_RELOAD,
	  .doc = "Whether DELEG records make delegations." },
	{ .name = "semantic-checks", OPT(semantic_checks), CONF_AT(conf_zone_t, semantic_checks), .dflt = "off",
	  ZONE_RELOAD,
	  .doc = "Check the zone for errors when it is loaded. Those that make it unusable, such as records beside a CNAME, "
	         "are always looked for: the zone is refused and the previous version stays; with soft, they are only "
	         "logged. With on, others are looked for in zone files and logged, such as missing glue; of zones that "
	         "are signed but neither signed nor validated here, signatures are verified, too, which makes loading "
	         "slower. Use on if your zones must be right, and soft for the zones of customers." },
	{ .name = "default-ttl", TIME(1, MAX31), CONF_AT(conf_zone_t, default_ttl), .dflt = "3600", ZONE_RELOAD,
	  .doc = "TTL of records in the zone file that have none." },
	{ .name = "zonefile-sync", TIME(-1, MAX31), CONF_AT(conf_zone_t, zonefile_sync_s), .dflt = "0",
	  .doc = "Period after which the zone file is written if the zone has changed; 0 means at once, -1 only by knotc -f "
	         "zone-flush. Writing removes comments and directives from the file: use -1 if you edit or generate "
	         "zone files. Use a time if a zone changes often and is large." },
	{ .name = "zonefile-load", TOGETHER, OPT(zonefile_loads), CONF_AT(conf_zone_t, zonefile_load), .dflt = "whole",
	  ZONE_RELOAD,
	  .doc = "How the zone file is used when the zone is loaded: as the whole zone (whole), as changes to the "
	         "contents of the journal (difference, difference-no-serial), or not at all (none). "
	         "difference-no-serial needs journal-content: all." },
	{ .name = "zonefile-skip", STR, MULTI, .count_max = 32, CONF_AT(conf_zone_t, zonefile_skip),
	  .check = conf_check_skipped_type,
	  .doc = "Record types that are neither read from the zone file nor written to it: mnemonics, or dnssec for "
	         "all types that signing makes." },
	{ .name = "journal-content", TOGETHER, OPT(journal_contents), .dflt = "changes",
	  CONF_AT(conf_zone_t, journal_content), ZONE_RELOAD,
	  .doc = "What is kept in the journal: nothing, the changes, or the changes and the zone. With changes or all, "
	         "a change is on disk when its command says OK." },
	{ .name = "journal-max-usage", SIZE(40 * KILO, MAX48), .dflt = "100M",
	  CONF_AT(conf_zone_t, journal_max_usage),
	  .doc = "Largest size of the zone's part of the journal. When it is reached, the zone file is written and "
	         "changes that it has are dropped; with zonefile-sync -1 they are merged. A change that is larger is "
	         "refused." },
	{ .name = "journal-max-depth", INT(2, MAX48), .dflt = "20",
	  CONF_AT(conf_zone_t, journal_max_depth),
	  .doc = "Largest number of changes of the zone in the journal. What happens when it is reached is as for "
	         "journal-max-usage." },
	{ .name = "ixfr-benevolent", BOOL, .dflt = "off", CONF_AT(conf_zone_t, ixfr_benevolent),
	  .doc = "Tolerate errors in an incoming IXFR, such as the removal of a record that doesn't exist." },
	{ .name = "ixfr-by-one", BOOL, .dflt = "off", CONF_AT(conf_zone_t, ixfr_by_one),
	  .doc = "Apply each change of an incoming IXFR separately, so that each is in the journal." },
	{ .name = "ixfr-from-axfr", BOOL, .dflt = "off", CONF_AT(conf_zone_t, ixfr_from_axfr),
	  .doc = "Compute the difference from an incoming AXFR, so that it can be given to secondaries as an IXFR." },
	{ .name = "zone-max-size", SIZE(0, MAX48), CONF_AT(conf_zone_t, zone_max_size), .dflt = "281474976710655",
	  ZONE_RELOAD,
	  .doc = "Largest size of the zone in wire format; a larger one is refused. Set it where others make the "
	         "zones, so that one zone can't take all memory." },
	{ .name = "nsec3-max-iterations", INT(0, 65535), CONF_AT(conf_zone_t, nsec3_max_iterations), .dflt = "65535",
	  ZONE_RELOAD, .rfc = "RFC 9276 3.2",
	  .doc = "Refuse the zone if its NSEC3 chain has more additional iterations. Each is a hash for every query "
	         "for a name that doesn't exist, so that one zone with thousands of them takes the time of all others: "
	         "set it where others make the zones. 65535 refuses none; more than 50 are warned of in any case." },
	/* Ours: guard rails, src/update/rails.h. */
	{ .name = "publish-max-shrink", INT(0, 100), CONF_AT(conf_zone_t, publish_max_shrink), .dflt = "100",
	  .doc = "Percentage of its records that the zone may lose in one change. A version that loses more is not "
	         "published, the old one is served on, and zone-status shows why; knotc -f zone-reload, -f "
	         "zone-commit or -f zone-revert publishes it all the same. 100 is no limit. Set it if zone files are "
	         "generated: a file that was written only in part then does no harm. Not an item of Knot DNS." },
	{ .name = "publish-require", OPT(publish_requires), MULTI, CONF_AT(conf_zone_t, publish_require),
	  .dflt = "none",
	  .doc = "What a new version must have, or it is not published, as with publish-max-shrink: NS records at the "
	         "apex (apex-ns); a serial that secondaries take as newer, unless no record changed (newer-serial); "
	         "signatures at the apex and a chain of NSEC or NSEC3 records (signed); one of the DNSKEY records "
	         "that are served, if there are any (common-key). Use signed and common-key for zones that another "
	         "server signs. Not an item of Knot DNS." },
	{ .name = "adjust-threads", INT(1, 65535), .dflt = "1", TUNING,
	  .doc = "Number of threads that load the zone. Use more for a few very large zones." },
	{ .name = "delegation", TOGETHER, REF1("delegation"), CONF_AT(conf_zone_t, delegation),
	  .doc = "Follow what children of the zone publish: rules for NOTIFY of CDS and CSYNC. The zone must be a primary one, "
	         "and a rule in acl must allow notify to those who may send such NOTIFYs." },
	{ .name = "external-validation", REF1("external"), .or_default = true, CONF_AT(conf_zone_t, external),
	  .doc = "Validation by another program before a new version of the zone is published: the version waits for "
	         "zone-commit or zone-abort. Not of versions by zone-commit." },
	{ .name = "dnssec-signing", BOOL, CONF_AT(conf_zone_t, dnssec_signing), .dflt = "off", ZONE_RELOAD,
	  .doc = "Sign the zone automatically." },
	{ .name = "dnssec-validation", TOGETHER, BOOL, CONF_AT(conf_zone_t, dnssec_validation), .dflt = "off",
	  ZONE_RELOAD,
	  .doc = "Prove the signatures and the chain of the zone, which another signer made, before each version is published. "
	         "What isn't valid is refused, and the old version served on. Not together with dnssec-signing, where "
	         "each version is proven anyway." },
	{ .name = "dnssec-policy", REF1("policy"), .or_default = true, CONF_AT(conf_zone_t, policy),
	  ZONE_RELOAD,
	  .doc = "Policy by which the zone is signed." },
	{ .name = "dnssec-metadata-db", OPT(metadata_dbs), CONF_AT(conf_zone_t, metadata_db), .dflt = "kasp",
	  .doc = "Database that keeps the serial that was signed last: kasp, where it is written after each signing, or timer, where it is "
	         "written as database.timer-db-sync says. If you change this, the serial of the other database counts until the next signing." },
	{ .name = "ds-push", REF_REMOTE, MULTI, .or_empty = true, CONF_AT(conf_zone_t, ds_push),
	  ZONE_RELOAD,
	  .doc = "Servers of the parent zone to which DS records are sent by dynamic update. It overrides that of the "
	         "policy." },
	{ .name = "reverse-generate", TOGETHER, .type = CONF_DNAME, MULTI, CONF_AT(conf_zone_t, reverse_generate),
	  ZONE_RELOAD,
	  .doc = "Generate PTR records from the addresses in these zones, which are of this server: from AAAA records if "
	         "this zone is below ip6.arpa, otherwise from A records. Those whose owners are outside of this zone "
	         "are left out. The records follow each change of the zones. The zone file has the rest of the zone "
	         "and is not written by the server; journal-content is all, and zonefile-load is "
	         "difference-no-serial." },
	{ .name = "include-from", TOGETHER, .type = CONF_DNAME, MULTI, CONF_AT(conf_zone_t, include_from), ZONE_RELOAD,
	  .doc = "Merge these zones, which must be below this one and of this server, into it: what they have takes the "
	         "place of all that this zone has at and below their names, without SOA, NS, DNSKEY, CDS, CDNSKEY and "
	         "ZONEMD records of their apexes, signatures, and NSEC and NSEC3 records. For the rest see "
	         "reverse-generate, which excludes it." },
	{ .name = "serial-policy", OPT(serial_policies), CONF_AT(conf_zone_t, serial_policy), .dflt = "increment",
	  .doc = "The serial that a zone gets if a change doesn't set one: the old one plus 1 (increment), the time in "
	         "seconds (unixtime), or the date in UTC as YYYYMMDDnn (dateserial). If that isn't higher than the old "
	         "one (RFC 1982), the new serial is the old one plus 1." },
	{ .name = "serial-modulo", TOGETHER, STR, CONF_AT(conf_zone_t, serial_modulo), .dflt = "0/1",
	  .check = conf_check_serial_modulo, .pattern = "^([0-9]+/[0-9]+)?([+-][0-9]+)?$",
	  .doc = "Serials that may be chosen: R/M allows those with remainder R when divided by M; +A or -A after it "
	         "shifts them. Use it with several signers of one zone. It needs dnssec-signing, and zonefile-load "
	         "none or difference-no-serial." },
	{ .name = "zonemd-generate", OPT(zonemd_generate), CONF_AT(conf_zone_t, zonemd_generate), .dflt = "none",
	  ZONE_RELOAD, .rfc = "RFC 8976",
	  .doc = "Generate a ZONEMD record with this digest in place of those that the zone has, or remove them. Each "
	         "change of the zone then hashes all of it. A zone file without the right record gets the next serial." },
	{ .name = "zonemd-verify", BOOL, CONF_AT(conf_zone_t, zonemd_verify), .dflt = "off", ZONE_RELOAD,
	  .rfc = "RFC 8976",
	  .doc = "Refuse a version of the zone that has no ZONEMD record with the right digest, wherever it comes from. "
	         "Each change of the zone then hashes all of it." },
	{ .name = "refresh-jitter", TIME(0, MAX32), .percent = true, .dflt = "0", CONF_AT(conf_zone_t, refresh_jitter),
	  .doc = "Time, or percentage, by which refresh intervals are shortened, so that many zones don't refresh at "
	         "the same moment." },
	{ .name = "refresh-min-interval", TOGETHER, TIME(2, MAX32), .dflt = "2", CONF_AT(conf_zone_t, refresh_min_s),
	  .doc = "Lower limit of the refresh interval in the SOA record. Set it if a primary demands too frequent "
	         "refreshes." },
	{ .name = "refresh-max-interval", TOGETHER, TIME(2, MAX32), .dflt_doc = "no limit", CONF_AT(conf_zone_t, refresh_max_s),
	  .doc = "Upper limit of the refresh interval in the SOA record." },
	{ .name = "retry-min-interval", TOGETHER, TIME(1, MAX32), .dflt = "1", CONF_AT(conf_zone_t, retry_min_s),
	  .doc = "Lower limit of the retry interval in the SOA record." },
	{ .name = "retry-max-interval", TOGETHER, TIME(1, MAX32), .dflt_doc = "no limit", CONF_AT(conf_zone_t, retry_max_s),
	  .doc = "Upper limit of the retry interval in the SOA record." },
	{ .name = "expire-min-interval", TOGETHER, TIME(3, MAX32), .dflt = "3", CONF_AT(conf_zone_t, expire_min_s),
	  .doc = "Lower limit of the expire interval in the SOA record." },
	{ .name = "expire-max-interval", TOGETHER, TIME(3, MAX32), .dflt_doc = "no limit", CONF_AT(conf_zone_t, expire_max_s),
	  .doc = "Upper limit of the expire interval in the SOA record." },
	{ .name = "catalog-role", TOGETHER, OPT(catalog_roles), CONF_AT(conf_zone_t, catalog_role), .dflt = "none", ZONE_RELOAD, .rfc = "RFC 9432",
	  .doc = "Role of the zone in catalogs: it configures its members (interpret), it lists the zones that name it "
	         "(generate), or a catalog lists it (member)." },
	{ .name = "catalog-template", TOGETHER, REF1("template"), MULTI, CONF_AT(conf_zone_t, catalog_templates),
	  ZONE_RELOAD,
	  .doc = "Templates of a catalog's members: the one with the name of a member's group, else the first. Only "
	         "allowed with catalog-role: interpret." },
	{ .name = "catalog-zone", TOGETHER, .type = CONF_DNAME, CONF_AT(conf_zone_t, catalog_zone), ZONE_RELOAD,
	  .doc = "Catalog of which the zone is a member. Only allowed with catalog-role: member." },
	{ .name = "catalog-group", STR, .check = conf_check_group, CONF_AT(conf_zone_t, catalog_group),
	  ZONE_RELOAD,
	  .doc = "Group of the zone in its catalog." },
	{ .name = "module", .type = CONF_MODREF, MULTI, CONF_AT(conf_zone_t, modules), ZONE_RELOAD,
	  .doc = "Modules that process the zone's queries, in this order." },
	{ .name = "comment", STR, CONF_AT(conf_zone_t, comment), .doc = "Free text, ignored by the server." },
};
const conf_section_t conf_section_template = {
	.name = "template",
	.kind = CONF_MULTI,
	ROWS(zone_rows),
	.is = CONF_ONLY_TEMPLATE,
	.struct_size = sizeof(conf_zone_t),
	.check = conf_check_template,
	.doc = "Items that zones have in common. Use templates to write them once.",
};
const conf_section_t conf_section_zone = {
	.name = "zone",
	.kind = CONF_MULTI,
	ROWS(zone_rows),
	.is = CONF_ONLY_ZONE,
	.struct_size = sizeof(conf_zone_t),
	.check = conf_check_zone,
	.notices = { conf_notice_journal },
	.doc = "Zones that the server serves. An item that a zone's block doesn't have comes from its template, or "
	       "from the template named default if the zone names none. Otherwise the default value applies.",
};
