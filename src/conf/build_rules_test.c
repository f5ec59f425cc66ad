/* SPDX-License-Identifier: BSD-2-Clause */
/* Typed blocks of keys, remotes, groups and rules, and how zones refer to them. */
#include "src/conf/test_conf.h"

static const char blocks[] =
		"server:\n    rundir: /run/x\n    automatic-acl: on\n"
		"key:\n"
		"  - id: K1.Example.\n    secret: YWJj\n"
		"  - id: md5\n    algorithm: hmac-md5\n    secret: eA==\n"
		"  - id: sha512\n    algorithm: hmac-sha512\n    secret: eA==\n"
		"remote:\n"
		"  - id: a\n    address: [192.0.2.1, 2001:db8::1@5353, sock]\n    key: k1.example.\n"
		"    via: 192.0.2.9\n    no-edns: on\n"
		"  - id: b\n    address: 192.0.2.2\n    automatic-acl: off\n    cert-hostname: h\n    tls: on\n"
		"  - id: c\n    address: 192.0.2.3\n    block-notify-after-transfer: on\n"
		"remotes:\n  - id: g\n    remote: [c, a]\n"
		"acl:\n"
		"  - id: full\n"
		"    address: [192.0.2.0/25, 2001:db8::/33, 10.0.0.1-10.0.0.9, 127.0.0.1, /run/s]\n"
		"    key: [md5, k1.example.]\n    action: [update, query]\n    protocol: [tcp, quic]\n"
		"    deny: on\n    update-type: [A, TYPE65280]\n    update-owner: name\n"
		"    update-owner-match: pattern\n    update-owner-name: [\"*.Sub\", b.example.]\n"
		"  - id: by-remote\n    remote: [g, b]\n    action: transfer\n"
		"  - id: empty\n";
/* The schema refuses these as yet, so a check of this fails, but what was read is whole. */
static const char zones[] =
		"template:\n  - id: t\n    notify: [g, b]\n    acl: by-remote\n"
		"zone:\n"
		"  - domain: plain.\n"
		"  - domain: own.\n    template: t\n    acl: [full, empty]\n    master: a\n    ddns-master: \"\"\n"
		"    dnssec-signing: on\n"
		"  - domain: templ.\n    template: t\n    ddns-master: c\n";

static void test_keys(void **state)
{
	(void)state;
	conf_t *conf = build_text(blocks);
	static const struct {
		const char *wire;
		knot_tsig_algorithm_t algorithm;
		const char *secret;
	} rows[] = {
		{ "\2k1\7example", KNOT_TSIG_HMAC_SHA256, "abc" },
		{ "\3md5", KNOT_TSIG_HMAC_MD5, "x" },
		{ "\6sha512", KNOT_TSIG_HMAC_SHA512, "x" },
	};
	assert_int_equal(conf->store->tables[CONF_S_KEY].count, KNOT_LEN(rows));
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const conf_key_t *key = NULL;
		for (size_t j = 0; j < KNOT_LEN(rows); j++) {
			const conf_key_t *at = &conf->store->keys[j];
			key = knot_name_eq(at->tsig.name, knot_name_of((const uint8_t *)rows[i].wire)) ? at : key;
		}
		assert_non_null(key);
		assert_memory_equal(key->tsig.name.wire, rows[i].wire, key->tsig.name.len); /* lower case */
		assert_int_equal(key->tsig.algorithm, rows[i].algorithm);
		assert_int_equal(key->tsig.secret.len, strlen(rows[i].secret));
		assert_memory_equal(key->tsig.secret.data, rows[i].secret, key->tsig.secret.len);
	}
	assert_true(conf->server.automatic_acl);
	conf_free(conf);
}

static void test_remotes(void **state)
{
	(void)state;
	conf_t *conf = build_text(blocks);
	const conf_remote_t *a = &conf->store->remotes[0], *b = a + 1, *c = a + 2;
	assert_string_equal(a->id, "a");
	assert_int_equal(a->addresses.count, 3);
	char text[CONF_ADDR_TEXT_MAX];
	assert_string_equal(conf_addr_print(&a->addresses.data[0], text), "192.0.2.1@53");
	assert_string_equal(conf_addr_print(&a->addresses.data[1], text), "2001:db8::1@5353");
	assert_string_equal(conf_addr_print(&a->addresses.data[2], text), "/run/x/sock");
	assert_int_equal(a->via.count, 1);
	assert_int_equal(a->key.count, 1);
	assert_int_equal(a->key.data[0]->tsig.algorithm, KNOT_TSIG_HMAC_SHA256);
	assert_true(a->no_edns && a->automatic_acl && !a->tls && !a->quic && !a->has_cert);
	assert_true(!b->automatic_acl && b->tls && b->has_cert && b->key.data == NULL);
	assert_true(c->block_notify_after_transfer && !c->has_cert);
	const conf_group_t *groups = conf->store->groups;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(groups[i].count, 1);
		assert_ptr_equal(groups[i].remotes[0], a + i);
	}
	assert_string_equal(groups[3].id, "g");
	assert_int_equal(groups[3].count, 2);
	assert_ptr_equal(groups[3].remotes[0], c); /* as listed */
	assert_ptr_equal(groups[3].remotes[1], a);
	conf_free(conf);
}

static const conf_acl_t *acl_of(const conf_t *conf, const char *id)
{
	const conf_acl_t *acl = conf->store->acls;
	while (strcmp(acl->id, id) != 0) {
		acl++;
	}
	return acl;
}

static void test_acls(void **state)
{
	(void)state;
	static const struct {
		sa_family_t family;
		uint8_t from[4], to[4];
	} nets[] = {
		{ AF_INET, { 192, 0, 2, 0 }, { 192, 0, 2, 127 } },
		{ AF_INET6, { 0x20, 0x01, 0x0d, 0xb8 }, { 0x20, 0x01, 0x0d, 0xb8 } },
		{ AF_INET, { 10, 0, 0, 1 }, { 10, 0, 0, 9 } },
		{ AF_INET, { 127, 0, 0, 1 }, { 127, 0, 0, 1 } },
		{ AF_UNIX, { 0 }, { 0 } },
	};
	conf_t *conf = build_text(blocks);
	const conf_acl_t *full = acl_of(conf, "full"), *remote = acl_of(conf, "by-remote"),
			 *empty = acl_of(conf, "empty");
	assert_int_equal(full->addresses.count, KNOT_LEN(nets));
	for (size_t i = 0; i < KNOT_LEN(nets); i++) {
		assert_int_equal(full->addresses.data[i].net.family, nets[i].family);
		assert_memory_equal(full->addresses.data[i].net.first, nets[i].from, 4);
		assert_memory_equal(full->addresses.data[i].net.last, nets[i].to, 4);
	}
	assert_int_equal(full->addresses.data[1].net.last[4], 0x7f);
	assert_int_equal(full->addresses.data[1].net.last[15], 0xff);
	assert_string_equal(full->addresses.data[4].path, "/run/s");
	assert_int_equal(full->keys.count, 2);
	assert_int_equal(full->keys.data[0]->tsig.algorithm, KNOT_TSIG_HMAC_MD5);
	assert_int_equal(full->actions.bits, 1 << CONF_ACTION_UPDATE | 1 << CONF_ACTION_QUERY);
	assert_int_equal(full->protocols.bits, CONF_OVER_TCP | CONF_OVER_QUIC);
	assert_true(full->deny && !full->has_cert);
	assert_int_equal(full->update_types.count, 2);
	assert_int_equal(full->update_types.data[1], 65280);
	assert_int_equal(full->update_owner, CONF_OWNER_NAME);
	assert_int_equal(full->update_match, CONF_MATCH_PATTERN);
	assert_int_equal(full->update_names.count, 2);
	assert_true(full->update_names.data[0].is_relative && !full->update_names.data[1].is_relative);
	assert_memory_equal(full->update_names.data[0].name.wire, "\1*\3sub", 7);

	assert_int_equal(remote->remotes.count, 2);
	assert_string_equal(remote->remotes.data[0]->id, "g");
	assert_int_equal(remote->actions.bits, 1 << CONF_ACTION_TRANSFER);
	assert_true(empty->addresses.data == NULL && empty->keys.data == NULL && empty->remotes.data == NULL);
	assert_true(empty->actions.bits == 0 && empty->protocols.bits == 0 && !empty->deny);
	assert_int_equal(empty->update_match, CONF_MATCH_SUB_OR_EQUAL);
	conf_free(conf);
}

static conf_zone_t zone_of(const conf_t *conf, const char *wire)
{
	size_t index = 0;
	assert_true(conf_zone_find(conf, knot_name_of((const uint8_t *)wire), &index));
	return conf_zone(conf, index);
}

static void test_zones(void **state)
{
	(void)state;
	char text[4096];
	(void)snprintf(text, sizeof(text), "%s%s", blocks, zones);
	conf_t *conf = build_text(text);
	conf_zone_t zone = zone_of(conf, "\5plain");
	assert_true(zone.acl.data == NULL && zone.master.data == NULL && zone.notify.data == NULL);
	assert_null(zone.ddns_master.data);
	zone = zone_of(conf, "\3own");
	assert_int_equal(zone.acl.count, 2);
	assert_ptr_equal(zone.acl.data[0], acl_of(conf, "full"));
	assert_ptr_equal(zone.acl.data[1], acl_of(conf, "empty"));
	assert_int_equal(zone.master.count, 1);
	assert_string_equal(zone.master.data[0]->id, "a");
	assert_int_equal(zone.notify.count, 2);
	assert_true(zone.ddns_master.data != NULL && zone.ddns_master.count == 0);
	zone = zone_of(conf, "\5templ");
	assert_ptr_equal(zone.acl.data[0], acl_of(conf, "by-remote"));
	assert_ptr_equal(zone.notify.data[0], &conf->store->groups[3]);
	assert_string_equal(zone.ddns_master.data[0]->id, "c");
	conf_free(conf);
}

/* A rule whose keys were cleared had keys all the same. */
static void test_cleared(void **state)
{
	(void)state;
	conf_t *conf = build_text("key:\n  - id: k\n    secret: eA==\nremote:\n  - id: r\n    address: ::1\n"
				  "acl:\n  - id: by-key\n    key: k\n  - id: by-remote\n    remote: r\n"
				  "remotes:\n  - id: g\n    remote: r\n"
				  "clear: key\nclear: remote\n");
	const conf_acl_t *acl = acl_of(conf, "by-key");
	assert_true(acl->keys.data != NULL && acl->keys.count == 0);
	acl = acl_of(conf, "by-remote");
	assert_true(acl->remotes.data != NULL && acl->remotes.count == 0);
	assert_int_equal(conf->store->groups[0].count, 0);
	conf_free(conf);
}

/* ---- Catalogs ---- */

static const char catalogs[] =
		"template:\n  - id: default\n    storage: /d\n  - id: one\n    storage: /1\n  - id: two\n    storage: "
		"/2\n"
		"    zonefile-sync: 7\n"
		"  - id: role\n    catalog-role: interpret\n    catalog-template: two\n"
		"zone:\n"
		"  - domain: cat.\n    catalog-role: interpret\n    catalog-template: [ one, two ]\n"
		"  - domain: dog.\n    template: role\n"
		"  - domain: gen.\n    catalog-role: generate\n"
		"  - domain: own.\n    catalog-role: member\n    catalog-zone: Gen.\n    catalog-group: g\n"
		"  - domain: plain.\n";

static void test_catalogs(void **state)
{
	(void)state;
	static const uint8_t member[] = "\1m";
	static const struct {
		const char *catalog, *group, *want; /* storage; NULL: no settings */
	} rows[] = {
		{ "\3cat", "", "/1" },
		{ "\3CAT", "one", "/1" },
		{ "\3cat", "two", "/2" },
		{ "\3cat", "TWO", "/1" },
		{ "\3cat", "default", "/1" },
		{ "\3cat", "none", "/1" },
		{ "\3dog", "one", "/2" },
		{ "\3gen", "one", NULL },
		{ "\3own", "", NULL },
		{ "\5plain", "", NULL },
		{ "\6nosuch", "", NULL },
	};
	conf_t *conf = build_text(catalogs);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		conf_zone_t zone = { .storage = NULL };
		knot_bytes_t group = { (const uint8_t *)rows[i].group, strlen(rows[i].group) };
		bool has = conf_member(conf, knot_name_of(member), knot_name_of((const uint8_t *)rows[i].catalog),
				group, &zone);
		assert_int_equal(has, rows[i].want != NULL);
		if (has) {
			assert_string_equal(zone.storage, rows[i].want);
			assert_ptr_equal(zone.name.wire, member);
			assert_int_equal(zone.catalog_role, CONF_CATALOG_NONE);
		}
	}
	conf_zone_t own = zone_of(conf, "\3own"), plain = zone_of(conf, "\5plain");
	assert_int_equal(own.catalog_role, CONF_CATALOG_MEMBER);
	assert_int_equal(own.catalog_zone.len, 5);
	assert_memory_equal(own.catalog_zone.data, "\3gen", 5);
	assert_string_equal(own.catalog_group, "g");
	assert_int_equal(plain.catalog_role, CONF_CATALOG_NONE);
	assert_true(plain.catalog_zone.data == NULL && plain.catalog_group == NULL &&
			plain.catalog_templates.count == 0);
	conf_free(conf);
	conf = build_text("template:\n  - id: t\nzone:\n  - domain: cat.\n    catalog-role: interpret\n"
			  "    catalog-template: t\nclear: template\n");
	conf_zone_t zone;
	assert_false(conf_member(conf, knot_name_of(member), knot_name_of((const uint8_t *)"\3cat"),
			(knot_bytes_t){ 0 }, &zone));
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_remotes),
		cmocka_unit_test(test_acls),
		cmocka_unit_test(test_zones),
		cmocka_unit_test(test_cleared),
		cmocka_unit_test(test_catalogs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
