/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of zones, with what they inherit, of templates and of signing policies. */
#include "src/conf/schema_rows.h"
#include "src/conf/txn.h"

/* Numbers of options, as the rows have them. */
enum { JOURNAL_ALL = 2 };
enum { CDS_NONE = 0 };
enum { MANAGEMENT_INCREMENTAL = 1 };

/* ---- Zones ---- */

/** A zone with the template that it inherits from. */
typedef struct {
	conf_block_view_t zone, templ;
	bool has_template;
} inherited_t;

static inherited_t inherit(const conf_block_view_t *zone, conf_view_t all)
{
	static const char dflt[] = "default";
	inherited_t both = { .zone = *zone };
	knot_bytes_t id = conf_block_find(zone, "template");
	if (id.data == NULL) {
		id = (knot_bytes_t){ (const uint8_t *)dflt, sizeof(dflt) };
	}
	both.has_template = conf_view_find(all, CONF_S_TEMPLATE, id, &both.templ);
	return both;
}

/** First value that the zone has or inherits; data NULL: none. */
static knot_bytes_t check_find(const inherited_t *both, const char *name)
{
	knot_bytes_t value = conf_block_find(&both->zone, name);
	return value.data != NULL || !both->has_template ? value : conf_block_find(&both->templ, name);
}

static bool has(const inherited_t *both, const char *name)
{
	return check_find(both, name).data != NULL;
}

static unsigned option(const inherited_t *both, const char *name, unsigned dflt)
{
	knot_bytes_t value = check_find(both, name);
	return value.data != NULL ? value.data[0] : dflt;
}

static const char *check_intervals(const inherited_t *both)
{
	static const struct {
		const char *min, *max, *reason;
	} intervals[] = {
		{ "refresh-min-interval", "refresh-max-interval",
				"'refresh-min-interval' is higher than 'refresh-max-interval'" },
		{ "retry-min-interval", "retry-max-interval",
				"'retry-min-interval' is higher than 'retry-max-interval'" },
		{ "expire-min-interval", "expire-max-interval",
				"'expire-min-interval' is higher than 'expire-max-interval'" },
	};
	for (size_t i = 0; i < KNOT_LEN(intervals); i++) {
		knot_bytes_t min = check_find(both, intervals[i].min), max = check_find(both, intervals[i].max);
		if (min.data != NULL && max.data != NULL && conf_value_int(min) > conf_value_int(max)) {
			return intervals[i].reason;
		}
	}
	return NULL;
}

/** True if one of the templates that members would have says something of catalogs itself. */
static bool has_role_in_template(const inherited_t *both, conf_view_t all)
{
	bool is_own = conf_block_has(&both->zone, "catalog-template") || !both->has_template;
	const conf_block_view_t *holder = is_own ? &both->zone : &both->templ;
	size_t row = conf_row_find(holder->section, KNOT_STR("catalog-template")), pos = 0;
	conf_item_t item;
	conf_block_view_t templ;
	while (conf_item_next(holder->items, &pos, &item)) {
		if (item.row == row && conf_view_find(all, CONF_S_TEMPLATE, item.value, &templ) &&
				conf_block_has(&templ, "catalog-role")) {
			return true;
		}
	}
	return false;
}

static const char *check_catalog(const inherited_t *both, conf_view_t all)
{
	unsigned role = option(both, "catalog-role", CONF_CATALOG_NONE);
	if ((role == CONF_CATALOG_INTERPRET) != has(both, "catalog-template")) {
		return "'catalog-role' must correspond to configured 'catalog-template'";
	}
	if ((role == CONF_CATALOG_MEMBER) != has(both, "catalog-zone")) {
		return "'catalog-role' must correspond to configured 'catalog-zone'";
	}
	if (has_role_in_template(both, all)) {
		return "'catalog-role' in a catalog template";
	}
	unsigned policy = option(both, "serial-policy", CONF_SERIAL_UNIXTIME);
	return role == CONF_CATALOG_GENERATE && policy != CONF_SERIAL_UNIXTIME
			       ? "'serial-policy' must be 'unixtime' for generated catalog zones"
			       : NULL;
}

/** Serials of a sequence are only chosen for signed zones whose file doesn't choose them. */
static const char *check_serial_modulo(const inherited_t *both)
{
	knot_bytes_t modulo = check_find(both, "serial-modulo");
	unsigned load = option(both, "zonefile-load", CONF_ZONEFILE_WHOLE);
	if (modulo.data == NULL || strcmp((const char *)modulo.data, "0/1") == 0) {
		return NULL;
	}
	if (!option(both, "dnssec-signing", false)) {
		return "'serial-modulo' requires 'dnssec-signing'";
	}
	return load != CONF_ZONEFILE_NONE && load != CONF_ZONEFILE_DIFFERENCE_NO_SERIAL
			       ? "'serial-modulo' requires 'zonefile-load' none or difference-no-serial"
			       : NULL;
}

/** What is changed here beside a primary would be lost at the next refresh; a signer keeps versions of its own. */
static const char *check_ddns_master(const inherited_t *both)
{
	knot_bytes_t master = check_find(both, "ddns-master");
	return master.data != NULL && master.data[0] == '\0' && !option(both, "dnssec-signing", false)
			       ? "empty 'ddns-master' requires 'dnssec-signing'"
			       : NULL;
}

/** True if one of the names of an item of the zone's own block isn't allowed. */
static bool has_bad_name(const inherited_t *both, const char *item_name, bool (*is_bad)(knot_name_t, knot_name_t))
{
	size_t row = conf_row_find(both->zone.section, knot_str_of(item_name)), pos = 0;
	knot_name_t zone = knot_name_of(both->zone.id.data);
	conf_item_t item;
	while (conf_item_next(both->zone.items, &pos, &item)) {
		if (item.row == row && is_bad(knot_name_of(item.value.data), zone)) {
			return true;
		}
	}
	return false;
}

static bool is_not_below(knot_name_t name, knot_name_t zone)
{
	return name.label_count <= zone.label_count || !knot_name_in(name, zone);
}

static const char *check_included_zones(const inherited_t *both)
{
	if (has(both, "include-from") && has(both, "reverse-generate")) {
		return "'include-from' and 'reverse-generate' cannot be specified together";
	}
	if ((has(both, "include-from") || has(both, "reverse-generate")) &&
			option(both, "catalog-role", CONF_CATALOG_NONE) == CONF_CATALOG_GENERATE) {
		return "generated catalog zones have neither 'include-from' nor 'reverse-generate'";
	}
	if (has_bad_name(both, "reverse-generate", knot_name_eq)) {
		return "zone in 'reverse-generate' is the zone itself";
	}
	return has_bad_name(both, "include-from", is_not_below) ? "zone in 'include-from' is not below the zone" : NULL;
}

/** True if the block has an item that some rule is about: most zones have none, and there may be a million of them. */
static bool has_ruled_items(const conf_block_view_t *block)
{
	conf_item_t item;
	size_t pos = 0;
	while (conf_item_next(block->items, &pos, &item)) {
		if (block->section->rows[item.row].together) {
			return true;
		}
	}
	return false;
}

const char *conf_check_zone(const conf_block_view_t *block, conf_view_t all)
{
	inherited_t both = inherit(block, all);
	if (!has_ruled_items(block) && !(both.has_template && has_ruled_items(&both.templ))) {
		return NULL;
	}
	const char *reason = check_intervals(&both);
	if (reason != NULL) {
		return reason;
	}
	if (option(&both, "zonefile-load", CONF_ZONEFILE_WHOLE) == CONF_ZONEFILE_DIFFERENCE_NO_SERIAL &&
			option(&both, "journal-content", 0) != JOURNAL_ALL) {
		return "'zonefile-load: difference-no-serial' requires 'journal-content: all'";
	}
	if (option(&both, "dnssec-signing", false) && option(&both, "dnssec-validation", false)) {
		return "'dnssec-validation' is not compatible with 'dnssec-signing'";
	}
	if (has(&both, "delegation") && has(&both, "master")) {
		return "'delegation' can't be used with 'master'";
	}
	reason = check_catalog(&both, all);
	if (reason == NULL) {
		reason = check_serial_modulo(&both);
	}
	if (reason == NULL) {
		reason = check_ddns_master(&both);
	}
	return reason != NULL ? reason : check_included_zones(&both);
}

bool conf_notice_journal(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX])
{
	char name[KNOT_NAME_TEXT_MAX];
	if (!has_ruled_items(block)) {
		return false;
	}
	inherited_t both = inherit(block, all);
	if (option(&both, "zonefile-load", CONF_ZONEFILE_WHOLE) != CONF_ZONEFILE_WHOLE ||
			option(&both, "journal-content", 0) != JOURNAL_ALL) {
		return false;
	}
	(void)knot_name_print(knot_name_of(block->id.data), name);
	(void)snprintf(room, CONF_NOTICE_MAX,
			"zone[%.256s], 'zonefile-load: whole' makes 'journal-content: all' of no use", name);
	return true;
}

const char *conf_check_delegation(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	bool needs_resolver = conf_block_option(block, "ds-bootstrap", false) && !conf_block_has(block, "resolver");
	return needs_resolver ? "'ds-bootstrap' requires 'resolver'" : NULL;
}

const char *conf_check_template(const conf_block_view_t *block, conf_view_t all)
{
	(void)all;
	bool is_default = strcmp((const char *)block->id.data, "default") == 0;
	return !is_default && conf_block_has(block, "global-module") ? "global module in non-default template" : NULL;
}

/* ---- Policies ---- */

/** Sizes of keys, in bits, that the algorithms have. */
static const struct {
	unsigned algorithm;
	int64_t min, max, dflt;
	bool is_deprecated; /* RFC 8624 3.1 */
} algorithms[] = {
	{ 5, 1024, 4096, 2048, true }, /* RSA with SHA-1 */
	{ 7, 1024, 4096, 2048, true },
	{ 8, 1024, 4096, 2048, false }, /* RSA with SHA-2 */
	{ 10, 1024, 4096, 2048, false },
	{ 13, 256, 256, 256, false }, /* ECDSA */
	{ 14, 384, 384, 384, false },
	{ 15, 256, 256, 256, false }, /* EdDSA */
	{ 16, 456, 456, 456, false },
};

static size_t algorithm_of(const conf_block_view_t *block)
{
	enum { ECDSA_P256_SHA256 = 13 };
	unsigned number = conf_block_option(block, "algorithm", ECDSA_P256_SHA256);
	size_t i = 0;
	while (algorithms[i].algorithm != number) {
		i++; /* the row's options are these */
	}
	return i;
}

bool conf_notice_algorithm(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX])
{
	(void)all;
	size_t i = algorithm_of(block);
	(void)snprintf(room, CONF_NOTICE_MAX, "algorithm %u is deprecated and shouldn't be used for DNSSEC signing",
			algorithms[i].algorithm);
	return algorithms[i].is_deprecated;
}

bool conf_notice_iterations(const conf_block_view_t *block, conf_view_t all, char room[static CONF_NOTICE_MAX])
{
	(void)all;
	int64_t iterations = conf_block_number(block, "nsec3-iterations", 0); /* RFC 9276 3.1: 0 */
	(void)snprintf(room, CONF_NOTICE_MAX,
			"policy[%.256s].nsec3-iterations=%lld is too high, the recommended value is 0",
			(const char *)block->id.data, (long long)iterations);
	return conf_block_option(block, "nsec3", false) && iterations > 0;
}

static const char *check_sizes(const conf_block_view_t *block)
{
	size_t i = algorithm_of(block);
	int64_t ksk = conf_block_number(block, "ksk-size", algorithms[i].dflt);
	int64_t zsk = conf_block_number(block, "zsk-size", algorithms[i].dflt);
	if (ksk < algorithms[i].min || ksk > algorithms[i].max) {
		return "KSK key size not compatible with the algorithm";
	}
	return zsk < algorithms[i].min || zsk > algorithms[i].max ? "ZSK key size not compatible with the algorithm"
								  : NULL;
}

/** The jitter is a time, or a percentage of what it moves. */
static int64_t jitter_of(const conf_block_view_t *block, int64_t moved)
{
	int64_t jitter = conf_block_number(block, "dnssec-jitter", 0);
	return jitter >= CONF_PERCENT ? moved / 100 * (jitter & ~CONF_PERCENT) : jitter;
}

/** Only where the times were chosen: computed ones follow the lifetime. */
static const char *check_refresh(const conf_block_view_t *block)
{
	enum { LIFETIME_DEFAULT = 14 * 86400, PRE_REFRESH_PART = 200 };
	int64_t lifetime = conf_block_number(block, "rrsig-lifetime", LIFETIME_DEFAULT);
	int64_t refresh = conf_block_number(block, "rrsig-refresh", 0);
	int64_t pre_refresh = conf_block_number(block, "rrsig-pre-refresh", lifetime / PRE_REFRESH_PART);
	int64_t spread = conf_block_number(block, "rrsig-spread", 0);
	if (refresh > 0 && refresh + jitter_of(block, refresh) + pre_refresh >= lifetime) {
		return "RRSIG refresh + pre-refresh has to be lower than RRSIG lifetime";
	}
	return spread > 0 && refresh + jitter_of(block, refresh) + pre_refresh + spread >= lifetime
			       ? "RRSIG spread + refresh + pre-refresh has to be lower than RRSIG lifetime"
			       : NULL;
}

/**
 * A key must outlive a rollover: until all resolvers have the new keys, and no signature of the old one is cached.
 */
static const char *check_lifetimes(const conf_block_view_t *block)
{
	enum { PROPAGATION_DEFAULT = 3600, ZSK_DEFAULT = 30 * 86400 };
	int64_t ksk = conf_block_number(block, "ksk-lifetime", 0),
		zsk = conf_block_number(block, "zsk-lifetime", ZSK_DEFAULT);
	int64_t propagation = 2 * conf_block_number(block, "propagation-delay", PROPAGATION_DEFAULT);
	int64_t dnskey_ttl = conf_block_number(block, "dnskey-ttl", 0);
	int64_t zone_ttl = conf_block_number(block, "zone-max-ttl", dnskey_ttl);
	if (conf_block_option(block, "single-type-signing", false)) {
		return ksk > 0 && ksk < propagation + dnskey_ttl + zone_ttl
				       ? "CSK lifetime too low according to propagation delay, DNSKEY TTL, and maximum "
					 "zone TTL"
				       : NULL;
	}
	if (ksk > 0 && ksk < propagation + 2 * dnskey_ttl) {
		return "KSK lifetime too low according to propagation delay and DNSKEY TTL";
	}
	if (zsk > 0 && zsk < propagation + dnskey_ttl + zone_ttl) {
		return "ZSK lifetime too low according to propagation delay, DNSKEY TTL, and maximum zone TTL";
	}
	return zsk > 0 && jitter_of(block, zsk) >= zsk ? "DNSSEC jitter too high for ZSK lifetime" : NULL;
}

const char *conf_check_policy(const conf_block_view_t *block, conf_view_t all)
{
	static const char *(*const checks[])(
			const conf_block_view_t *block) = { check_sizes, check_refresh, check_lifetimes };
	(void)all;
	for (size_t i = 0; i < KNOT_LEN(checks); i++) {
		const char *reason = checks[i](block);
		if (reason != NULL) {
			return reason;
		}
	}
	knot_bytes_t ds_push = conf_block_find(block, "ds-push");
	if (ds_push.data != NULL && ds_push.data[0] != '\0' && conf_block_has(block, "cds-cdnskey-publish") &&
			conf_block_option(block, "cds-cdnskey-publish", CDS_NONE) == CDS_NONE) {
		return "DS push requires enabled CDS/CDNSKEY publication";
	}
	if (conf_block_option(block, "dnskey-management", 0) != MANAGEMENT_INCREMENTAL) {
		return NULL;
	}
	if (conf_block_option(block, "offline-ksk", false)) {
		return "incremental DNSKEY management can't be used with offline-ksk";
	}
	return conf_block_number(block, "delete-delay", 0) == 0
			       ? "incremental DNSKEY management requires configured delete-delay"
			       : NULL;
}
