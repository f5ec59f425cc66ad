/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/schema.h"

const conf_section_t *const conf_sections[] = {
	[CONF_S_MODULE] = &conf_section_module,
	[CONF_S_SERVER] = &conf_section_server,
	[CONF_S_XDP] = &conf_section_xdp,
	[CONF_S_CONTROL] = &conf_section_control,
	[CONF_S_LOG] = &conf_section_log,
	[CONF_S_STATISTICS] = &conf_section_statistics,
	[CONF_S_DATABASE] = &conf_section_database,
	[CONF_S_KEYSTORE] = &conf_section_keystore,
	[CONF_S_KEY] = &conf_section_key,
	[CONF_S_REMOTE] = &conf_section_remote,
	[CONF_S_REMOTES] = &conf_section_remotes,
	[CONF_S_ACL] = &conf_section_acl,
	[CONF_S_SUBMISSION] = &conf_section_submission,
	[CONF_S_DNSKEY_SYNC] = &conf_section_dnskey_sync,
	[CONF_S_POLICY] = &conf_section_policy,
	[CONF_S_EXTERNAL] = &conf_section_external,
	[CONF_S_DELEGATION] = &conf_section_delegation,
	[CONF_S_TEMPLATE] = &conf_section_template,
	[CONF_S_ZONE] = &conf_section_zone,
	[CONF_S_INCLUDE] = &conf_section_include,
	[CONF_S_CLEAR] = &conf_section_clear,
	[CONF_S_MOD_ALIAS] = &conf_section_mod_alias,
	[CONF_S_MOD_AUTHSIGNAL] = &conf_section_mod_authsignal,
	[CONF_S_MOD_COOKIES] = &conf_section_mod_cookies,
	[CONF_S_MOD_DNSERR] = &conf_section_mod_dnserr,
	[CONF_S_MOD_DNSPROXY] = &conf_section_mod_dnsproxy,
	[CONF_S_MOD_DNSTAP] = &conf_section_mod_dnstap,
	[CONF_S_MOD_GEOIP] = &conf_section_mod_geoip,
	[CONF_S_MOD_NOUDP] = &conf_section_mod_noudp,
	[CONF_S_MOD_ONLINESIGN] = &conf_section_mod_onlinesign,
	[CONF_S_MOD_PROBE] = &conf_section_mod_probe,
	[CONF_S_MOD_QUERYACL] = &conf_section_mod_queryacl,
	[CONF_S_MOD_RRL] = &conf_section_mod_rrl,
	[CONF_S_MOD_STATS] = &conf_section_mod_stats,
	[CONF_S_MOD_SYNTHRECORD] = &conf_section_mod_synthrecord,
	[CONF_S_MOD_WHOAMI] = &conf_section_mod_whoami,
};
const conf_section_t *const conf_mod_sections[CONF_MOD_END] = {
	[CONF_MOD_COOKIES] = &conf_section_mod_cookies,
	[CONF_MOD_NOUDP] = &conf_section_mod_noudp,
	[CONF_MOD_QUERYACL] = &conf_section_mod_queryacl,
	[CONF_MOD_RRL] = &conf_section_mod_rrl,
	[CONF_MOD_STATS] = &conf_section_mod_stats,
};
const size_t conf_section_count = KNOT_LEN(conf_sections);

static bool is_named(const char *name, knot_str_t text)
{
	return strncmp(name, text.data, text.len) == 0 && name[text.len] == '\0';
}

size_t conf_section_find(knot_str_t name)
{
	size_t i = 0;
	while (i < conf_section_count && !is_named(conf_sections[i]->name, name)) {
		i++;
	}
	return i;
}

size_t conf_row_find(const conf_section_t *section, knot_str_t name)
{
	for (size_t i = 0; i < section->row_count; i++) {
		if (is_named(section->rows[i].name, name) && conf_row_in(section, &section->rows[i])) {
			return i;
		}
	}
	return section->row_count;
}

bool conf_section_has_secret(const conf_section_t *section)
{
	for (size_t i = 0; i < section->row_count; i++) {
		if (section->rows[i].secret) {
			return true;
		}
	}
	return false;
}

bool conf_may_be_secret(const char *section, const char *item)
{
	size_t known = section != NULL ? conf_section_find(knot_str_of(section)) : conf_section_count;
	for (size_t i = 0; i < conf_section_count; i++) {
		const conf_section_t *schema = conf_sections[i];
		size_t row = conf_row_find(schema, knot_str_of(item));
		bool is_row = row < schema->row_count;
		if (i == known) {
			return is_row ? schema->rows[row].secret : conf_section_has_secret(schema);
		}
		if (known == conf_section_count && is_row && schema->rows[row].secret) {
			return true;
		}
	}
	return false;
}
