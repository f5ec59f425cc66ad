/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the sections that configure zones and what zones refer to. */
#include "src/conf/schema_rows.h"

/* clang-format off: tables */

static const conf_option_t keystore_backends[] = { { "pem", 0 }, { "pkcs11", 1 }, { NULL, 0 } };

static const conf_row_t keystore_rows[] = {
	{ .name = "id", STR, .check = conf_check_keystore_id, .pattern = "^[^-]", .doc = "Name to refer to." },
	{ .name = "backend", OPT(keystore_backends), .dflt = "pem", TUNING, .doc = "Kind of store." },
	{ .name = "config", STR, .dflt = "keys", TUNING, .doc = "Directory, or PKCS #11 URI and library." },
	{ .name = "ksk-only", BOOL, .dflt = "off", TUNING, .doc = "New zone-signing keys go elsewhere." },
	{ .name = "key-label", BOOL, .dflt = "off", TUNING, .doc = "Label keys in a PKCS #11 store." },
	COMMENT,
};
const conf_section_t conf_section_keystore = {
	.name = "keystore", .kind = CONF_MULTI, ROWS(keystore_rows), .check = conf_check_keystore,
	.doc = "Where private keys are kept.",
};

/* Numbers as dnssec algorithm tables have them: the order in which they are listed. */
static const conf_option_t tsig_algorithms[] = {
	{ "hmac-md5", 1 }, { "hmac-sha1", 2 }, { "hmac-sha224", 3 }, { "hmac-sha256", 4 }, { "hmac-sha384", 5 },
	{ "hmac-sha512", 6 }, { NULL, 0 },
};

static const conf_row_t key_rows[] = {
	{ .name = "id", .type = CONF_DNAME, .doc = "Name of the key." },
	{ .name = "algorithm", OPT(tsig_algorithms), .dflt = "hmac-sha256", TUNING, .rfc = "RFC 8945 6",
	  .doc = "Its algorithm." },
	{ .name = "secret", .type = CONF_B64, .required = true, .missing = "no key secret defined", TUNING,
	  .doc = "Its secret." },
	COMMENT,
};
const conf_section_t conf_section_key = {
	.name = "key", .kind = CONF_MULTI, ROWS(key_rows), .doc = "TSIG keys.",
};

static const conf_row_t remote_rows[] = {
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "address", .type = CONF_ADDR, MULTI, .required = true, .missing = "no remote address defined", .port = 53,
	  TUNING,
	  .doc = "Addresses, tried in order; UNIX paths are relative to server.rundir. With quic or tls the "
	         "default port is 853." },
	{ .name = "via", .type = CONF_ADDR, MULTI, TUNING,
	  .doc = "Source addresses to use: for the n-th address the last one of its family among the first n." },
	{ .name = "quic", BOOL, .dflt = "off", TUNING, .doc = "Talk QUIC to it (RFC 9250); not together with tls." },
	{ .name = "tls", BOOL, .dflt = "off", TUNING, .doc = "Talk TLS to it (RFC 7858); not together with quic." },
	{ .name = "key", REF1("key"), TUNING, .doc = "TSIG key to sign with." },
	{ .name = "cert-key", .type = CONF_B64, MULTI, .count_max = 4, .check = conf_check_pin, TUNING,
	  .doc = "Pins of its public key: SHA-256 of the SubjectPublicKeyInfo in base64." },
	{ .name = "cert-hostname", STR, MULTI, .count_max = 4, TUNING,
	  .doc = "Names that its certificate must have one of." },
	{ .name = "block-notify-after-transfer", BOOL, .dflt = "off", TUNING,
	  .doc = "Don't notify others of a zone that came from it." },
	{ .name = "no-edns", BOOL, .dflt = "off", TUNING,
	  .doc = "Send it no EDNS, and SOA and transfer over connections of their own." },
	{ .name = "automatic-acl", BOOL, .dflt = "on", TUNING,
	  .doc = "With server.automatic-acl: let it pass where a zone refers to it." },
	COMMENT,
};
const conf_section_t conf_section_remote = {
	.name = "remote", .kind = CONF_MULTI, ROWS(remote_rows), .check = conf_check_remote, .doc = "Other servers.",
};

static const conf_row_t remotes_rows[] = {
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "remote", REF1("remote"), MULTI, .required = true, .missing = "no remote defined", TUNING,
	  .doc = "The servers, in order." },
	COMMENT,
};
const conf_section_t conf_section_remotes = {
	.name = "remotes", .kind = CONF_MULTI, ROWS(remotes_rows), .doc = "Groups of other servers.",
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
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "address", .type = CONF_NET, MULTI, .dflt_doc = "any", TUNING,
	  .doc = "Source addresses and networks." },
	{ .name = "key", REF1("key"), MULTI, TUNING, .doc = "TSIG keys; without any, a signed query does not match." },
	{ .name = "remote", REF_REMOTE, MULTI, TUNING,
	  .doc = "Remotes, instead of address, key, protocol and certificates." },
	{ .name = "action", OPT(acl_actions), MULTI, .dflt_doc = "none", TUNING,
	  .doc = "What is allowed or denied. A rule without an action matches nothing, except that with deny it "
	         "denies everything." },
	{ .name = "protocol", OPT(acl_protocols), MULTI, .dflt_doc = "any", TUNING, .doc = "Transport protocols." },
	{ .name = "cert-key", .type = CONF_B64, MULTI, .check = conf_check_pin, TUNING, .doc = "Pins of public keys." },
	{ .name = "cert-hostname", STR, MULTI, TUNING, .doc = "Names in certificates." },
	{ .name = "deny", BOOL, .dflt = "off", TUNING, .doc = "Deny what matches instead of allowing it." },
	{ .name = "update-type", .type = CONF_RRTYPE, MULTI, .dflt_doc = "any", TUNING,
	  .doc = "Types that may be updated." },
	{ .name = "update-owner", OPT(update_owners), TUNING,
	  .doc = "Which names an update may have: that of the key, those of the zone, or those in "
	         "update-owner-name." },
	{ .name = "update-owner-match", OPT(update_matches), .dflt = "sub-or-equal", TUNING,
	  .doc = "How an owner must stand to these names: equal or below, equal, below, or as their pattern says." },
	{ .name = "update-owner-name", STR, MULTI, TUNING, .doc = "Names, absolute or relative to the zone." },
	COMMENT,
};
const conf_section_t conf_section_acl = {
	.name = "acl", .kind = CONF_MULTI, ROWS(acl_rows), .check = conf_check_acl,
	  .doc = "Access rules. Of the rules that a zone names the first that matches decides; without one nothing "
	         "but queries is allowed.",
};

static const conf_row_t submission_rows[] = {
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "parent", REF_REMOTE, MULTI, TUNING, .doc = "Servers of the parent zone." },
	{ .name = "check-interval", TIME(1, MAX32), .dflt = "1h", TUNING, .doc = "How often they are asked." },
	{ .name = "timeout", TIME(0, MAX32), .dflt = "0", TUNING,
	  .doc = "Take it for done after this long; 0: never." },
	{ .name = "parent-delay", TIME(0, MAX32), .dflt = "0", TUNING, .doc = "Wait this long afterwards." },
	COMMENT,
};
const conf_section_t conf_section_submission = {
	.name = "submission", .kind = CONF_MULTI, ROWS(submission_rows), .doc = "Checks of DS records at the parent.",
};

static const conf_row_t dnskey_sync_rows[] = {
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "remote", REF_REMOTE, MULTI, .required = true, .missing = "no remote defined", TUNING,
	  .doc = "The other signers." },
	{ .name = "check-interval", TIME(1, MAX32), .dflt = "60", TUNING,
	  .doc = "How often their keys are asked for." },
};
const conf_section_t conf_section_dnskey_sync = {
	.name = "dnskey-sync", .kind = CONF_MULTI, ROWS(dnskey_sync_rows), .doc = "Several signers of one zone.",
};

static const conf_option_t dnssec_algorithms[] = {
	{ "rsasha1", 5 }, { "rsasha1-nsec3-sha1", 7 }, { "rsasha256", 8 }, { "rsasha512", 10 },
	  { "ecdsap256sha256", 13 },
	{ "ecdsap384sha384", 14 }, { "ed25519", 15 }, { "ed448", 16 }, { NULL, 0 },
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
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "keystore", REF1("keystore"), MULTI, .or_default = true, TUNING, ZONE_RELOAD,
	  .doc = "Stores of private keys; new keys go to the first." },
	{ .name = "manual", BOOL, .dflt = "off", TUNING, ZONE_RELOAD, .doc = "Keys are managed by hand." },
	{ .name = "single-type-signing", BOOL, .dflt = "off", TUNING, ZONE_RELOAD, .doc = "One key for everything." },
	{ .name = "algorithm", OPT(dnssec_algorithms), .dflt = "ecdsap256sha256", TUNING, ZONE_RELOAD,
	  .doc = "Algorithm of keys." },
	{ .name = "ksk-size", SIZE(0, 65535), .dflt_doc = "by algorithm", TUNING, ZONE_RELOAD,
	  .doc = "Bits of a KSK: 1024 to 4096 with RSA, else the one size that the algorithm has." },
	{ .name = "zsk-size", SIZE(0, 65535), .dflt_doc = "by algorithm", TUNING, ZONE_RELOAD,
	  .doc = "Bits of a ZSK: 1024 to 4096 with RSA, else the one size that the algorithm has." },
	{ .name = "ksk-shared", BOOL, .dflt = "off", TUNING, ZONE_RELOAD,
	  .doc = "All zones of the policy share the KSK." },
	{ .name = "dnskey-ttl", TIME(0, MAX31), .dflt_doc = "TTL of the SOA record", TUNING, ZONE_RELOAD,
	  .doc = "TTL of DNSKEY records." },
	{ .name = "zone-max-ttl", TIME(0, MAX31), .dflt_doc = "computed", TUNING, ZONE_RELOAD,
	  .doc = "Largest TTL in the zone." },
	{ .name = "keytag-modulo", STR, .dflt = "0/1", .check = conf_check_modulo, .pattern = "^[0-9]+/[0-9]+$", TUNING, ZONE_RELOAD,
	  .doc = "Which key tags new keys may have: R/M, with R below M and M at most 256, means those that leave "
	         "R when divided by M." },
	{ .name = "dnssec-jitter", TIME(0, MAX31), .percent = true, .dflt = "0", TUNING, ZONE_RELOAD,
	  .doc = "Spread over zones: a time, or a percentage, that is added to rrsig-refresh and taken off "
	         "zsk-lifetime; different in each zone, the same every time." },
	{ .name = "ksk-lifetime", TIME(0, MAX32), .dflt = "0", TUNING, ZONE_RELOAD,
	  .doc = "Lifetime of a KSK; 0: no end. At least twice propagation-delay and twice dnskey-ttl." },
	{ .name = "zsk-lifetime", TIME(0, MAX32), .dflt = "30d", TUNING, ZONE_RELOAD,
	  .doc = "Lifetime of a ZSK; 0: no end. At least twice propagation-delay, dnskey-ttl and zone-max-ttl." },
	{ .name = "deleg-adt", BOOL, .dflt = "off", TUNING, ZONE_RELOAD,
	  .doc = "Set the flag ADT (DELEG) in new keys." },
	{ .name = "delete-delay", TIME(0, MAX32), .dflt = "0", TUNING, ZONE_RELOAD,
	  .doc = "Keep removed keys for this long." },
	{ .name = "trash-delay", TIME(0, MAX32), .dflt_doc = "twice rrsig-lifetime", TUNING, ZONE_RELOAD,
	  .doc = "Keep deleted keys for this long." },
	{ .name = "propagation-delay", TIME(0, MAX31), .dflt = "1h", TUNING, ZONE_RELOAD,
	  .doc = "Time until every secondary has a change." },
	{ .name = "rrsig-lifetime", TIME(1, MAX31), .dflt = "14d", TUNING, ZONE_RELOAD,
	  .doc = "Validity of signatures." },
	{ .name = "rrsig-refresh", TIME(1, MAX31), .dflt_doc = "computed", TUNING, ZONE_RELOAD,
	  .doc = "Renew signatures this long before they end; with rrsig-pre-refresh less than rrsig-lifetime." },
	{ .name = "rrsig-pre-refresh", TIME(0, MAX31), .dflt_doc = "0.005 of rrsig-lifetime", TUNING, ZONE_RELOAD,
	  .doc = "Renew together what is due within this time." },
	{ .name = "reproducible-signing", BOOL, .dflt = "off", TUNING, ZONE_RELOAD, .doc = "Deterministic ECDSA." },
	{ .name = "nsec3", BOOL, .dflt = "off", TUNING, ZONE_RELOAD, .doc = "NSEC3 instead of NSEC." },
	{ .name = "nsec3-iterations", INT(0, 65535), .dflt = "0", TUNING, ZONE_RELOAD,
	  .doc = "Additional iterations of NSEC3; anything but 0 costs resolvers and protects nobody (RFC 9276)." },
	{ .name = "nsec3-opt-out", BOOL, .dflt = "off", TUNING, ZONE_RELOAD, .doc = "Its opt-out." },
	{ .name = "nsec3-salt-length", INT(0, 255), .dflt = "0", TUNING, ZONE_RELOAD, .doc = "Bytes of its salt." },
	{ .name = "nsec3-salt-lifetime", TIME(-1, MAX32), .dflt = "30d", TUNING, ZONE_RELOAD,
	  .doc = "Lifetime of its salt; 0: no end, -1: as long as the ZSK." },
	{ .name = "signing-threads", INT(1, 65535), .dflt = "1", TUNING, ZONE_RELOAD, .doc = "Threads per zone." },
	{ .name = "ksk-submission", REF1("submission"), TUNING, ZONE_RELOAD, .doc = "How DS records are checked." },
	{ .name = "ds-push", REF_REMOTE, MULTI, .or_empty = true, TUNING,
	  .doc = "Servers of the parent zone, where DS records are updated; CDS and CDNSKEY must be published." },
	{ .name = "dnskey-sync", REF1("dnskey-sync"), TUNING, ZONE_RELOAD, .doc = "Other signers." },
	{ .name = "cds-cdnskey-publish", OPT(cds_publish), .dflt = "rollover", TUNING, ZONE_RELOAD,
	  .doc = "When CDS and CDNSKEY are published." },
	{ .name = "cds-digest-type", OPT(cds_digests), .dflt = "sha256", TUNING, ZONE_RELOAD,
	  .doc = "Digest of CDS records." },
	{ .name = "dnskey-management", OPT(dnskey_management), .dflt = "full", TUNING, ZONE_RELOAD,
	  .doc = "Whether DNSKEY records that are not ours are removed (full) or stay (incremental; needs "
	         "delete-delay, and no offline-ksk)." },
	{ .name = "offline-ksk", BOOL, .dflt = "off", TUNING, ZONE_RELOAD, .doc = "The KSK is kept elsewhere." },
	{ .name = "unsafe-operation", OPT(unsafe_operations), MULTI, .dflt = "none", TUNING, ZONE_RELOAD,
	  .doc = "Checks and updates to leave out." },
	COMMENT,
};
const conf_section_t conf_section_policy = {
	.name = "policy", .kind = CONF_MULTI, ROWS(policy_rows), .check = conf_check_policy,
	.notices = { conf_notice_algorithm, conf_notice_iterations }, .doc = "Signing policies.",
};

static const conf_row_t external_rows[] = {
	{ .name = "id", STR, .doc = "Name to refer to." },
	{ .name = "timeout", TIME(0, MAX32), .dflt = "300", TUNING, .doc = "Time for the decision." },
	{ .name = "dump-new-zone", STR, TUNING, .doc = "File for the new zone." },
	{ .name = "dump-removals", STR, TUNING, .doc = "File for what is removed." },
	{ .name = "dump-additions", STR, TUNING, .doc = "File for what is added." },
};
const conf_section_t conf_section_external = {
	.name = "external", .kind = CONF_MULTI, ROWS(external_rows), .doc = "Validation by another program.",
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
static const conf_option_t journal_contents[] = { { "none", 0 }, { "changes", 1 }, { "all", 2 }, { NULL, 0 } };
static const conf_option_t metadata_dbs[] = { { "kasp", 0 }, { "timer", 1 }, { NULL, 0 } };
static const conf_option_t serial_policies[] = {
	{ "increment", CONF_SERIAL_INCREMENT }, { "unixtime", CONF_SERIAL_UNIXTIME },
	{ "dateserial", CONF_SERIAL_DATESERIAL }, { NULL, 0 },
};
static const conf_option_t zonemd_generate[] = {
	{ "none", 0 }, { "zonemd-sha384", 1 }, { "zonemd-sha512", 2 }, { "remove", 255 }, { NULL, 0 },
};
static const conf_option_t catalog_roles[] = {
	{ "none", 0 }, { "interpret", 1 }, { "generate", 2 }, { "member", 3 }, { NULL, 0 },
};

/* Zones and templates share these rows; a template is a zone without a name that zones inherit from. */
static const conf_row_t zone_rows[] = {
	/* The identifier is the first row of its section: here the first that belongs to it. */
	{ .name = "domain", .type = CONF_DNAME, .only_in = CONF_ONLY_ZONE, .doc = "Name of the zone." },
	{ .name = "id", STR, .only_in = CONF_ONLY_TEMPLATE,
	  .doc = "Name to refer to. The template named default applies to zones without a template." },
	{ .name = "template", REF1("template"), .only_in = CONF_ONLY_ZONE, ZONE_RELOAD,
	  .doc = "Template that the zone takes its other items from." },
	{ .name = "global-module", .type = CONF_MODREF, MULTI, .only_in = CONF_ONLY_TEMPLATE,
	  .doc = "Modules that see every query, before those of zones. Only in the template named default." },
	{ .name = "storage", STR, CONF_AT(conf_zone_t, storage), .dflt = KNOT_STORAGE_DIR, ZONE_RELOAD,
	  .doc = "Directory of the zone file." },
	{ .name = "file", STR, CONF_AT(conf_zone_t, file), .dflt = "%s.zone", .warn = conf_check_zonefile, ZONE_RELOAD,
	  .doc = "Path of the zone file, relative to storage. %s stands for the name of the zone, %c[N] and "
	         "%c[N-M] for"
	         "characters of it, %l[N] for a label counted from the right, %% for a percent sign." },
	{ .name = "zone-db-input", INT(-1, 8), .dflt = "-1", .not_zero = true, REFUSED_BUT("-1"),
	  ZONE_RELOAD,
	  .doc = "Redis instance to read the zone from." },
	{ .name = "zone-db-output", INT(-1, 8), .dflt = "-1", .not_zero = true, REFUSED_BUT("-1"),
	  ZONE_RELOAD,
	  .doc = "Redis instance to write the zone to." },
	{ .name = "master", REF_REMOTE, MULTI, .or_empty = true, REFUSED_BUT("\"\""),
	  .doc = "Primary servers of the zone." },
	{ .name = "ddns-master", REF1("remote"), .or_empty = true, REFUSED,
	  .doc = "Server that dynamic updates are sent on to; an empty value: they are made here, which needs "
	         "signing." },
	{ .name = "notify", REF_REMOTE, MULTI, .or_empty = true, REFUSED_BUT("\"\""),
	  .doc = "Servers to notify of changes." },
	{ .name = "notify-delay", TIME(0, MAX32), .dflt = "0", TUNING,
	  .doc = "Wait this long before notifying, so that several changes make one notification." },
	{ .name = "update-delay", TIME(0, MAX32), .dflt = "0", TUNING,
	  .doc = "Collect dynamic updates for this long." },
	{ .name = "acl", REF1("acl"), MULTI, REFUSED,
	  .doc = "Rules for transfers, notifications and updates, in order." },
	{ .name = "master-pin-tolerance", TIME(0, MAX32), .dflt = "0", TUNING,
	  .doc = "Prefer the last primary for this long." },
	{ .name = "provide-ixfr", BOOL, .dflt = "on", TUNING, .doc = "Answer IXFR with differences." },
	{ .name = "deleg-aware", OPT(deleg_awareness), .dflt = "auto", REFUSED_BUT("auto off"), ZONE_RELOAD,
	  .doc = "Support of DELEG records." },
	{ .name = "semantic-checks", OPT(semantic_checks), CONF_AT(conf_zone_t, semantic_checks), .dflt = "off", ZONE_RELOAD,
	  .doc = "Check the zone when it is loaded: soft only warns of what on refuses." },
	{ .name = "default-ttl", TIME(1, MAX31), CONF_AT(conf_zone_t, default_ttl), .dflt = "3600", ZONE_RELOAD,
	  .doc = "TTL of records in the zone file that have none." },
	{ .name = "zonefile-sync", TIME(-1, MAX31), CONF_AT(conf_zone_t, zonefile_sync_s), .dflt = "0",
	  .doc = "How long after a change the zone file is written; 0: at once, -1: never, unless one asks for it." },
	{ .name = "zonefile-load", TOGETHER, OPT(zonefile_loads), CONF_AT(conf_zone_t, zonefile_load), .dflt = "whole",
	  REFUSED_BUT("whole"),
	  .doc = "How the zone file is used when a zone is loaded: as the zone (whole), as changes to what is in "
	         "the journal, or not at all. difference-no-serial needs journal-content: all." },
	{ .name = "zonefile-skip", STR, MULTI, REFUSED_BUT("\"\""), .check = conf_check_skipped_type,
	  .doc = "Types that are not read from the zone file and not written to it: mnemonics, or dnssec for all "
	         "that signing makes." },
	{ .name = "journal-content", TOGETHER, OPT(journal_contents), .dflt = "changes", REFUSED_BUT("none changes"), ZONE_RELOAD,
	  .doc = "What is kept in the journal: changes, or the zone as well." },
	{ .name = "journal-max-usage", SIZE(40 * KILO, MAX48), .dflt = "100M", TUNING,
	  .doc = "Journal space of the zone." },
	{ .name = "journal-max-depth", INT(2, MAX48), .dflt = "20", TUNING,
	  .doc = "Changes of the zone in the journal." },
	{ .name = "ixfr-benevolent", BOOL, .dflt = "off", TUNING, .doc = "Tolerate errors in incoming IXFR." },
	{ .name = "ixfr-by-one", BOOL, .dflt = "off", TUNING, .doc = "One change per incoming IXFR." },
	{ .name = "ixfr-from-axfr", BOOL, .dflt = "off", TUNING, .doc = "Make a difference from an incoming AXFR." },
	{ .name = "zone-max-size", SIZE(0, MAX48), CONF_AT(conf_zone_t, zone_max_size), .dflt = "281474976710655", ZONE_RELOAD,
	  .doc = "Largest size of the zone in wire format." },
	{ .name = "adjust-threads", INT(1, 65535), .dflt = "1", TUNING,
	  .doc = "Threads for loading the zone." },
	{ .name = "external-validation", REF1("external"), .or_default = true, REFUSED, ZONE_RELOAD,
	  .doc = "Let another program validate the zone." },
	{ .name = "dnssec-signing", BOOL, .dflt = "off", REFUSED_BUT("off"), ZONE_RELOAD, .doc = "Sign the zone." },
	{ .name = "dnssec-validation", TOGETHER, BOOL, .dflt = "off", REFUSED_BUT("off"), ZONE_RELOAD,
	  .doc = "Validate the zone's signatures." },
	{ .name = "dnssec-policy", REF1("policy"), .or_default = true, TUNING, ZONE_RELOAD,
	  .doc = "How the zone is signed." },
	{ .name = "dnssec-metadata-db", OPT(metadata_dbs), .dflt = "kasp", TUNING,
	  .doc = "Where signing times are kept." },
	{ .name = "ds-push", REF_REMOTE, MULTI, .or_empty = true, REFUSED_BUT("\"\""), ZONE_RELOAD,
	  .doc = "Where DS records are updated." },
	{ .name = "reverse-generate", TOGETHER, .type = CONF_DNAME, MULTI, REFUSED, ZONE_RELOAD,
	  .doc = "Make PTR records of the addresses in these zones." },
	{ .name = "include-from", TOGETHER, .type = CONF_DNAME, MULTI, REFUSED, ZONE_RELOAD,
	  .doc = "Merge these zones, which must be below this one, into it." },
	{ .name = "serial-policy", OPT(serial_policies), CONF_AT(conf_zone_t, serial_policy), .dflt = "increment",
	  .doc = "The serial that a zone gets when a change doesn't say which: one more than the old one, the time "
	         "in seconds, or"
	         "the date as YYYYMMDDnn, in UTC; one more than the old one if that would not be higher (RFC 1982)." },
	{ .name = "serial-modulo", TOGETHER, STR, .dflt = "0/1", .check = conf_check_serial_modulo, .pattern = "^([0-9]+/[0-9]+)?([+-][0-9]+)?$", TUNING,
	  .doc = "Which serials may be chosen: R/M means those that leave R when divided by M; +A or -A behind it "
	         "shifts them. For several signers of one zone: needs dnssec-signing, and zonefile-load none or "
	         "difference-no-serial." },
	{ .name = "zonemd-generate", OPT(zonemd_generate), .dflt = "none", REFUSED_BUT("none"), ZONE_RELOAD,
	  .rfc = "RFC 8976",
	  .doc = "Make ZONEMD records, or remove them." },
	{ .name = "zonemd-verify", BOOL, .dflt = "off", REFUSED_BUT("off"), ZONE_RELOAD,
	  .doc = "Verify ZONEMD records." },
	{ .name = "refresh-jitter", TIME(0, MAX32), .percent = true, .dflt = "0", TUNING,
	  .doc = "Spread of refreshes: a time, or a percentage, that is taken off the interval." },
	{ .name = "refresh-min-interval", TOGETHER, TIME(2, MAX32), .dflt = "2", TUNING,
	  .doc = "Least refresh interval." },
	{ .name = "refresh-max-interval", TOGETHER, TIME(2, MAX32), .dflt_doc = "no limit", TUNING,
	  .doc = "Largest refresh interval." },
	{ .name = "retry-min-interval", TOGETHER, TIME(1, MAX32), .dflt = "1", TUNING, .doc = "Least retry interval." },
	{ .name = "retry-max-interval", TOGETHER, TIME(1, MAX32), .dflt_doc = "no limit", TUNING,
	  .doc = "Largest retry interval." },
	{ .name = "expire-min-interval", TOGETHER, TIME(3, MAX32), .dflt = "3", TUNING,
	  .doc = "Least expire interval." },
	{ .name = "expire-max-interval", TOGETHER, TIME(3, MAX32), .dflt_doc = "no limit", TUNING,
	  .doc = "Largest expire interval." },
	{ .name = "catalog-role", TOGETHER, OPT(catalog_roles), .dflt = "none", REFUSED_BUT("none"), ZONE_RELOAD,
	  .rfc = "RFC 9432",
	  .doc = "Part of the zone in catalogs: its members are configured by it (interpret), it lists the zones "
	         "that name it (generate), or it is listed in one (member)." },
	{ .name = "catalog-template", TOGETHER, REF1("template"), MULTI, TUNING, ZONE_RELOAD,
	  .doc = "Templates of a catalog's members: the one named as a member's group, else the first. Only with "
	         "catalog-role: interpret." },
	{ .name = "catalog-zone", TOGETHER, .type = CONF_DNAME, TUNING, ZONE_RELOAD,
	  .doc = "Catalog that the zone is a member of. Only with catalog-role: member." },
	{ .name = "catalog-group", STR, .check = conf_check_group, TUNING, ZONE_RELOAD, .doc = "Its group there." },
	{ .name = "module", .type = CONF_MODREF, MULTI, CONF_AT(conf_zone_t, modules), ZONE_RELOAD,
	  .doc = "Modules that see the zone's queries, in order." },
	{ .name = "comment", STR, CONF_AT(conf_zone_t, comment), .doc = "Free text for the reader." },
};
const conf_section_t conf_section_template = {
	.name = "template", .kind = CONF_MULTI, ROWS(zone_rows), .is = CONF_ONLY_TEMPLATE,
	  .struct_size = sizeof(conf_zone_t),
	.check = conf_check_template, .doc = "Items that zones have in common.",
};
const conf_section_t conf_section_zone = {
	.name = "zone", .kind = CONF_MULTI, ROWS(zone_rows), .is = CONF_ONLY_ZONE, .struct_size = sizeof(conf_zone_t),
	.check = conf_check_zone, .notices = { conf_notice_journal },
	  .doc = "Zones of the server. An item that a zone lacks comes from its template, from the template named "
	         "default if it"
	       "names none, else it has the default value.",
};
