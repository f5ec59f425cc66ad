/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/conf/test_conf.h"

#include <arpa/inet.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- Faults ---- */

/** Load what must be right. */
static conf_t *load_ok(const char *text)
{
	messages_t messages;
	knot_err_t err;
	conf_t *conf = load_text(text, &messages, &err);
	if (err != KNOT_OK || messages.text[0] != '\0') {
		fail_msg("%s\n%s", text, messages.text);
	}
	return conf;
}

/* want: what follows "config, file 'F', "; err: what the caller logs with the file's name. */
static const struct {
	const char *what, *text, *want;
	knot_err_t err;
} faults[] = {
	{ "grammar", "server\n", "line 1 (parser failed)", KNOT_EPARSEFAIL },
	{ "grammar behind a key", "server:\n  listen:1\n", "line 2, item 'listen' (parser failed)", KNOT_EPARSEFAIL },
	{ "tab", "server:\n\tlisten: ::1\n", "line 2 (tabulator character is not allowed)", KNOT_CONF_ETAB },
	{ "indentation", "server:\n  rundir: /\n   user: x\n", "line 3 (invalid indentation)", KNOT_CONF_EINDENT },
	{ "item before any section", "  listen: ::1\n", "line 1, item 'listen', value '::1' (invalid indentation)",
			KNOT_CONF_EINDENT },
	{ "id before any section", "- id: x\n", "line 1, item 'id', value 'x' (invalid indentation)",
			KNOT_CONF_EINDENT },
	{ "unknown section", "servr:\n", "line 1, item 'servr' (invalid item)", KNOT_CONF_EITEM },
	{ "names are case-sensitive", "Server:\n", "line 1, item 'Server' (invalid item)", KNOT_CONF_EITEM },
	{ "value of a section", "server: x\n", "line 1, item 'server', value 'x' (value not supported)",
			KNOT_CONF_EVALUE },
	{ "unknown item", "server:\n  foo: 1\n", "line 2, item 'foo', value '1' (invalid item)", KNOT_CONF_EITEM },
	{ "item of another section", "template:\n  - domain: b\n", "line 2, item 'domain', value 'b' (invalid item)",
			KNOT_CONF_EITEM },
	{ "id in a group", "server:\n  - listen: ::1\n", "line 2, item 'listen', value '::1' (invalid identifier)",
			KNOT_CONF_EID },
	{ "block that begins with another item", "template:\n  - storage: b\n",
			"line 2, item 'storage', value 'b' (missing identifier)", KNOT_CONF_ENOID },
	{ "dash before another item", "template:\n  - id: a\n  - storage: b\n",
			"line 3, item 'storage', value 'b' (invalid identifier)", KNOT_CONF_EID },
	{ "item before an id", "template:\n    storage: x\n", "line 2, item 'storage', value 'x' (missing identifier)",
			KNOT_CONF_ENOID },
	{ "id as an item", "template:\n  - id: a\n    id: b\n",
			"line 3, item 'id', value 'b' (identifier not supported)", KNOT_CONF_EIDUNSUP },
	{ "empty id", "template:\n  - id: \"\"\n", "line 2, item 'id' (missing value)", KNOT_CONF_ENODATA },
	{ "id twice", "template:\n  - id: a\n  - id: a\n", "line 3, item 'id', value 'a' (duplicate identifier)",
			KNOT_CONF_EDUPID },
	{ "id twice in two sections", "template:\n  - id: a\ntemplate:\n  - id: a\n",
			"line 4, item 'id', value 'a' (duplicate identifier)", KNOT_CONF_EDUPID },
	{ "zone twice in another case", "zone:\n  - domain: a.\n  - domain: A\n",
			"line 3, item 'domain', value 'A' (duplicate identifier)", KNOT_CONF_EDUPID },
	{ "value", "server:\n  udp-workers: abc\n", "line 2, item 'udp-workers', value 'abc' (invalid parameter)",
			KNOT_EINVAL },
	{ "missing value", "server:\n  udp-workers:\n", "line 2, item 'udp-workers' (invalid parameter)", KNOT_EINVAL },
	{ "range", "server:\n  udp-workers: 257\n", "line 2, item 'udp-workers', value '257' (value is out of range)",
			KNOT_CONF_ERANGE },
	{ "first mistake of a line", "server:\n  udp-workers: 0 x\n",
			"line 2, item 'udp-workers', value '0' (value is out of range)", KNOT_CONF_ERANGE },
	{ "second element of a list", "server:\n  udp-workers: [ 1, 0 ]\n",
			"line 2, item 'udp-workers', value '0' (value is out of range)", KNOT_CONF_ERANGE },
	{ "port 0", "server:\n  listen: ::1@0\n", "line 2, item 'listen', value '::1@0' (invalid port)", KNOT_EINVAL },
	{ "reference to nothing", "zone:\n  - domain: a.\n    template: x\n",
			"line 3, item 'template', value 'x' (invalid reference)", KNOT_ENOENT },
	{ "reference to what comes later", "acl:\n  - id: a\n    key: k\nkey:\n  - id: k\n    secret: YQ==\n",
			"line 3, item 'key', value 'k' (invalid reference)", KNOT_ENOENT },
	{ "reference to two",
			"remote:\n - id: a\n   address: ::1\nremotes:\n - id: a\n   remote: a\nacl:\n - id: x\n   "
			"remote: a\n",
			"line 9, item 'remote', value 'a' (ambiguous reference)", KNOT_ENOENT },
	{ "required item", "remote:\n  - id: x\n  - id: y\n    address: ::1\n",
			"line 2, section 'remote[x]' (no remote address defined)", KNOT_EINVAL },
	{ "required item at the end", "remote:\n  - id: x\n", "line 3, section 'remote[x]' (no remote address defined)",
			KNOT_EINVAL },
	{ "required item at the end without a newline", "remote:\n  - id: x",
			"line 2, section 'remote[x]' (no remote address defined)", KNOT_EINVAL },
	{ "name in a section's fault", "key:\n  - id: X\n", "line 3, section 'key[x.]' (no key secret defined)",
			KNOT_EINVAL },
	{ "base64", "key:\n  - id: x\n    secret: a\n", "line 3, item 'secret' (invalid base64 string length)",
			KNOT_EB64LEN },
	{ "unknown module section", "mod-foo:\n", "line 1, unknown module 'mod-foo'", KNOT_CONF_EITEM },
	{ "unknown module", "zone:\n  - domain: a.\n    module: foo\n",
			"line 3, item 'module', value 'foo' (unknown module)", KNOT_EINVAL },
	{ "module instance that does not exist", "zone:\n  - domain: a.\n    module: mod-stats/x\n",
			"line 3, item 'module', value 'mod-stats/x' (invalid module reference)", KNOT_ENOENT },
	{ "module that needs configuration", "zone:\n  - domain: a.\n    module: mod-dnsproxy\n",
			"line 3, item 'module', value 'mod-dnsproxy' (missing module configuration)", KNOT_CONF_ENOID },
	{ "global module elsewhere", "template:\n  - id: x\n    global-module: mod-stats\n",
			"line 4, section 'template[x]' (global module in non-default template)", KNOT_EINVAL },
	{ "intervals", "zone:\n - domain: a\n   retry-min-interval: 5\n   retry-max-interval: 4\n",
			"line 5, section 'zone[a.]' ('retry-min-interval' is higher than 'retry-max-interval')",
			KNOT_EINVAL },
	{ "too many values", "control:\n  listen: [ a, b, c, d, e ]\n",
			"line 2, item 'listen', value 'e' (too many values)", KNOT_EINVAL },
	{ "no XDP protocol", "xdp:\n  listen: eth0\n  udp: off\n",
			"line 4, section 'xdp' (XDP processing requires UDP, TCP, or QUIC enabled)", KNOT_EINVAL },
	{ "XDP interface twice", "xdp:\n  listen: [ eth0, eth0@54 ]\n",
			"line 2, item 'listen', value 'eth0@54' (duplicate XDP interface specification)", KNOT_EINVAL },
	{ "XDP address twice", "xdp:\n  listen: [ ::1, ::1@54 ]\n",
			"line 2, item 'listen', value '::1@54' (duplicate XDP interface specification)", KNOT_EINVAL },
	{ "XDP port 0", "xdp:\n  listen: eth0@0\n",
			"line 2, item 'listen', value 'eth0@0' (invalid XDP interface specification)", KNOT_EINVAL },
	{ "XDP port too big", "xdp:\n  listen: eth0@65536\n",
			"line 2, item 'listen', value 'eth0@65536' (invalid XDP interface specification)",
			KNOT_EINVAL },
	{ "XDP path", "xdp:\n  listen: /eth0\n",
			"line 2, item 'listen', value '/eth0' (invalid XDP interface specification)", KNOT_EINVAL },
	{ "XDP interface name too long", "xdp:\n  listen: averyveryverylong\n",
			"line 2, item 'listen', value 'averyveryverylong' (invalid XDP interface specification)",
			KNOT_EINVAL },
	{ "ring size", "xdp:\n  ring-size: 5\n", "line 2, item 'ring-size', value '5' (value is not a power of two)",
			KNOT_EINVAL },
	{ "socket path too long",
			"server:\n  rundir: /r\n  listen: 123456789/123456789/123456789/123456789/123456789/"
			"123456789/123456789/123456789/123456789/123456789/12345\n",
			"line 4, section 'server' (path in 'listen' is too long for a socket)", KNOT_EINVAL },
	{ "not supported yet", "xdp:\n  quic: on\n", "line 2, item 'quic', value 'on' (not supported yet)",
			KNOT_CONF_ENOTSUP },
	{ "not supported yet, but wrong first", "xdp:\n  quic: x\n",
			"line 2, item 'quic', value 'x' (invalid parameter)", KNOT_EINVAL },
	{ "module not supported yet", "zone:\n  - domain: a.\n    module: mod-probe\n",
			"line 3, item 'module', value 'mod-probe' (not supported yet)", KNOT_CONF_ENOTSUP },
	{ "module from a library", "module:\n  - id: foo\n", "line 2, item 'id', value 'foo' (required 'mod-' prefix)",
			KNOT_EINVAL },
	{ "all that is not supported yet is told", "xdp:\n  quic: on\nserver:\n  listen-tls: ::1\n  listen-quic: ::1\n",
			"line 2, item 'quic', value 'on' (not supported yet)\n"
			"config, file 'F', line 4, item 'listen-tls', value '::1' (not supported yet)\n"
			"config, file 'F', line 5, item 'listen-quic', value '::1' (not supported yet)\n"
			"config, not supported yet: TLS and QUIC (3); 3 items, 0 templates and 0 zones affected",
			KNOT_CONF_ENOTSUP },
	{ "block of no address", "xdp:\n  block: example\n",
			"line 2, item 'block', value 'example' (invalid address prefix)", KNOT_EINVAL },
	{ "block with too long a prefix", "xdp:\n  block: 192.0.2.0/33\n",
			"line 2, item 'block', value '192.0.2.0/33' (invalid prefix length)", KNOT_EINVAL },
	{ "block without a prefix length", "xdp:\n  block: 192.0.2.0/\n",
			"line 2, item 'block', value '192.0.2.0/' (invalid prefix length)", KNOT_EINVAL },
	{ "block with bits behind the prefix", "xdp:\n  block: 192.0.2.1/24\n",
			"line 2, item 'block', value '192.0.2.1/24' (address has bits behind the prefix)",
			KNOT_EINVAL },
	{ "block with rate 0", "xdp:\n  block: 192.0.2.0/24@0\n",
			"line 2, item 'block', value '192.0.2.0/24@0' (the rate must be 1 to 1000000 queries per "
			"second)",
			KNOT_EINVAL },
	{ "block with too high a rate", "xdp:\n  block: ::/0@1000001\n",
			"line 2, item 'block', value '::/0@1000001' (the rate must be 1 to 1000000 queries per second)",
			KNOT_EINVAL },
	{ "block with a sign in the rate", "xdp:\n  block: ::/0@+1\n",
			"line 2, item 'block', value '::/0@+1' (the rate must be 1 to 1000000 queries per second)",
			KNOT_EINVAL },
	{ "block of one prefix twice", "xdp:\n  block: [ 192.0.2.1, 2001:db8::/32, 192.0.2.1/32@5 ]\n",
			"line 2, item 'block', value '192.0.2.1/32@5' (duplicate prefix)", KNOT_EINVAL },
	{ "size of a key", "policy:\n - id: p\n   ksk-size: 255\n",
			"line 4, section 'policy[p]' (KSK key size not compatible with the algorithm)", KNOT_EINVAL },
	{ "size of a key of RSA", "policy:\n - id: p\n   algorithm: rsasha256\n   zsk-size: 4097\n",
			"line 5, section 'policy[p]' (ZSK key size not compatible with the algorithm)", KNOT_EINVAL },
	{ "refresh beyond the lifetime", "policy:\n - id: p\n   rrsig-lifetime: 1000\n   rrsig-refresh: 995\n",
			"line 5, section 'policy[p]' (RRSIG refresh + pre-refresh has to be lower than RRSIG lifetime)",
			KNOT_EINVAL },
	{ "refresh beyond the lifetime by the jitter",
			"policy:\n - id: p\n   rrsig-lifetime: 1000\n   rrsig-refresh: 900\n   dnssec-jitter: 11%\n",
			"line 6, section 'policy[p]' (RRSIG refresh + pre-refresh has to be lower than RRSIG lifetime)",
			KNOT_EINVAL },
	{ "spread beyond the lifetime", "policy:\n - id: p\n   rrsig-lifetime: 1000\n   rrsig-spread: 995\n",
			"line 5, section 'policy[p]' (RRSIG spread + refresh + pre-refresh has to be lower than RRSIG "
			"lifetime)",
			KNOT_EINVAL },
	{ "spread and refresh beyond the lifetime",
			"policy:\n - id: p\n   rrsig-lifetime: 1000\n   rrsig-refresh: 500\n   rrsig-spread: 495\n",
			"line 6, section 'policy[p]' (RRSIG spread + refresh + pre-refresh has to be lower than RRSIG "
			"lifetime)",
			KNOT_EINVAL },
	{ "short life of a KSK", "policy:\n - id: p\n   ksk-lifetime: 14399\n   dnskey-ttl: 1h\n",
			"line 5, section 'policy[p]' (KSK lifetime too low according to propagation delay and DNSKEY "
			"TTL)",
			KNOT_EINVAL },
	{ "short life of a ZSK",
			"policy:\n - id: p\n   zsk-lifetime: 12599\n   dnskey-ttl: 1h\n   zone-max-ttl: 1800\n",
			"line 6, section 'policy[p]' (ZSK lifetime too low according to propagation delay, DNSKEY TTL, "
			"and "
			"maximum zone TTL)",
			KNOT_EINVAL },
	{ "short life of a CSK",
			"policy:\n - id: p\n   ksk-lifetime: 12599\n   dnskey-ttl: 1h\n   zone-max-ttl: 1800\n   "
			"single-type-signing: on\n",
			"line 7, section 'policy[p]' (CSK lifetime too low according to propagation delay, DNSKEY TTL, "
			"and "
			"maximum zone TTL)",
			KNOT_EINVAL },
	{ "jitter longer than a life", "policy:\n - id: p\n   zsk-lifetime: 1d\n   dnssec-jitter: 1d\n",
			"line 5, section 'policy[p]' (DNSSEC jitter too high for ZSK lifetime)", KNOT_EINVAL },
	{ "keys of others with an offline KSK",
			"policy:\n - id: p\n   dnskey-management: incremental\n   offline-ksk: on\n",
			"line 5, section 'policy[p]' (incremental DNSKEY management can't be used with offline-ksk)",
			KNOT_EINVAL },
	{ "keys of others that are removed at once", "policy:\n - id: p\n   dnskey-management: incremental\n",
			"line 4, section 'policy[p]' (incremental DNSKEY management requires configured delete-delay)",
			KNOT_EINVAL },
	{ "intervals of a template and a zone",
			"template:\n - id: t\n   expire-min-interval: 5\nzone:\n - domain: a\n   template: t\n   "
			"expire-max-interval: 4\n",
			"line 8, section 'zone[a.]' ('expire-min-interval' is higher than 'expire-max-interval')",
			KNOT_EINVAL },
	{ "catalog of a zone that is no member", "zone:\n - domain: a\n   catalog-zone: b\n",
			"line 4, section 'zone[a.]' ('catalog-role' must correspond to configured 'catalog-zone')",
			KNOT_EINVAL },
	{ "catalog template of a zone that is no catalog",
			"template:\n - id: t\nzone:\n - domain: a\n   catalog-template: t\n",
			"line 6, section 'zone[a.]' ('catalog-role' must correspond to configured 'catalog-template')",
			KNOT_EINVAL },
	{ "serials of an unsigned zone", "zone:\n - domain: a\n   serial-modulo: 1/2\n",
			"line 4, section 'zone[a.]' ('serial-modulo' requires 'dnssec-signing')", KNOT_EINVAL },
	{ "updates of an unsigned zone aren't forwarded",
			"template:\n - id: t\n   ddns-master: \"\"\nzone:\n - domain: a\n   template: t\n",
			"line 7, section 'zone[a.]' (empty 'ddns-master' requires 'dnssec-signing')", KNOT_EINVAL },
	{ "delegation of a secondary zone",
			"remote:\n - id: r\n   address: ::1\ndelegation:\n - id: d\nzone:\n - domain: a\n   master: "
			"r\n   delegation: d\n",
			"line 10, section 'zone[a.]' ('delegation' can't be used with 'master')", KNOT_EINVAL },
	{ "bootstrapping without a resolver", "delegation:\n - id: d\n   ds-bootstrap: on\n",
			"line 4, section 'delegation[d]' ('ds-bootstrap' requires 'resolver')", KNOT_EINVAL },
	{ "secret of a cookie", "mod-cookies:\n - id: x\n   secret: 0x01\n",
			"line 4, section 'mod-cookies[x]' (the length of the cookie secret MUST BE 16 bytes (32 HEX "
			"characters))",
			KNOT_EINVAL },
	{ "names of networks with reverse-short",
			"mod-synthrecord:\n - id: x\n   type: forward\n   reverse-short: on\n",
			"line 5, section 'mod-synthrecord[x]' (reverse-short not allowed with forward type)",
			KNOT_EINVAL },
	{ "no database of places", "mod-geoip:\n - id: x\n   config-file: f\n   mode: geodb\n",
			"line 5, section 'mod-geoip[x]' (no geodb file specified)", KNOT_EINVAL },
	{ "more answers than at once", "mod-rrl:\n - id: x\n   instant-limit: 5\n   rate-limit: 5001\n",
			"line 5, section 'mod-rrl[x]' (rate limit is higher than 1000 times instant limit)",
			KNOT_EINVAL },
	{ "metrics where queries are answered", "server:\n  listen: ::1@80\n  metrics-listen: ::1@80\n",
			"line 4, section 'server' (address of 'listen' in 'metrics-listen')", KNOT_EINVAL },
	{ "include without a value", "include:\n", "line 1, item 'include' (missing value)", KNOT_CONF_ENODATA },
	{ "clear without a value", "clear:\n", "line 1, item 'clear' (missing value)", KNOT_CONF_ENODATA },
	{ "include of nothing", "include: /dev/null/x\n", "line 1, item 'include', value '/dev/null/x' (file error)",
			KNOT_EFILE },
	{ "item behind a directive", "clear: x\n  foo: b\n", "line 2, item 'foo', value 'b' (invalid item)",
			KNOT_CONF_EITEM },
};

static void faults_have_knots_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(faults); i++) {
		messages_t messages;
		knot_err_t err;
		conf_t *conf = load_text(faults[i].text, &messages, &err);
		const char *prefix = "config, file 'F', ";
		bool has_prefix = strncmp(messages.text, prefix, strlen(prefix)) == 0;
		if (conf != NULL || err != faults[i].err || !has_prefix ||
				strcmp(messages.text + strlen(prefix), faults[i].want) != 0) {
			fail_msg("%s: %s: %s", faults[i].what, knot_strerror(err), messages.text);
		}
	}
}

static void values_are_cut_in_messages(void **state)
{
	(void)state;
	char text[1000] = "server:\n  udp-workers: ";
	memset(text + strlen(text), 'x', 800);
	messages_t messages;
	knot_err_t err;
	assert_null(load_text(text, &messages, &err));
	assert_non_null(strstr(messages.text, "xxx...' (invalid parameter)"));
	assert_true(strlen(messages.text) < 450);
}

/* Values that ask for nothing, and what only tunes or defines, are accepted. */
static void harmless_items_are_accepted(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"server:\n",
		"remote:\n",
		"zone:\n",
		"server:\n  automatic-acl: on\n  dbus-event: none\n  key-file: \"\"\n  quic-max-clients: 200\n",
		"xdp:\n  tcp: off\n  quic: off\n  route-check: off\n  tcp-max-clients: 2000\n  quic-port: 8853\n",
		"database:\n  zone-db-tls: off\n  timer-db-sync: never\n  journal-db-max-size: 1G\n",
		"zone:\n  - domain: a.\n    dnssec-signing: off\n    zonefile-sync: -1\n    journal-content: none\n"
		"    zonefile-load: whole\n    zonemd-generate: none\n    catalog-role: none\n    zone-db-input: -1\n"
		"    master: \"\"\n    notify: \"\"\n    ds-push: \"\"\n    dnssec-policy: default\n",
		"key:\n - id: k\n   algorithm: hmac-md5\n   secret: YQ==\nremote:\n - id: r\n   address: [ ::1, "
		"10.0.0.1@54 ]\n"
		"   key: k\nremotes:\n - id: g\n   remote: r\nacl:\n - id: a\n   address: 10.0.0.0/8\n   action: [ "
		"transfer, notify ]\n",
		"policy:\n  - id: p\n    keytag-modulo: 1/2\n    dnssec-jitter: 5%\nsubmission:\n  - id: s\n",
		"template:\n  - id: t\n    serial-modulo: 1/10+5\n    refresh-jitter: 10%\n    module: []\n",
		"mod-rrl:\n  - id: x\n    slip: 2\nmod-dnstap:\n  - id: y\n    sink: unix:/run/d\n",
	};
	for (size_t i = 0; i < KNOT_LEN(texts); i++) {
		conf_free(load_ok(texts[i]));
	}
}

/* Rules that a policy just keeps, or that a template alone need not keep. */
static void rules_end_where_they_say(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"policy:\n - id: p\n   rrsig-lifetime: 1000\n   rrsig-refresh: 994\n",
		"policy:\n - id: p\n   rrsig-lifetime: 10\n",
		"policy:\n - id: p\n   ksk-lifetime: 14400\n   dnskey-ttl: 1h\n",
		"policy:\n - id: p\n   zsk-lifetime: 12600\n   dnskey-ttl: 1h\n   zone-max-ttl: 1800\n",
		"policy:\n - id: p\n   ksk-lifetime: 12600\n   dnskey-ttl: 1h\n   zone-max-ttl: 1800\n   "
		"single-type-signing: on\n",
		"policy:\n - id: p\n   zsk-lifetime: 0\n   algorithm: ed448\n   ksk-size: 456\n",
		"template:\n - id: t\n   retry-min-interval: 5\n   retry-max-interval: 4\nzone:\n - domain: a\n",
		("template:\n - id: default\n   retry-min-interval: 5\n - id: t\nzone:\n - domain: a\n   template: t\n"
		 "   retry-max-interval: 4\n"),
		"server:\n  listen: ::1@80\n  metrics-listen: [ ::1@81, 127.0.0.1@80 ]\n",
		"mod-rrl:\n - id: x\n   instant-limit: 5\n   rate-limit: 5000\n",
	};
	for (size_t i = 0; i < KNOT_LEN(texts); i++) {
		conf_free(load_ok(texts[i]));
	}
}

static void blocks_are_noticed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "policy:\n - id: p\n   algorithm: rsasha1\n",
				"N:config, algorithm 5 is deprecated and shouldn't be used for DNSSEC signing" },
		{ "policy:\n - id: p\n   nsec3: on\n   nsec3-iterations: 5\n",
				"N:config, policy[p].nsec3-iterations=5 is too high, the recommended value is 0" },
		{ "policy:\n - id: p\n   nsec3-iterations: 5\n", "" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		messages_t messages;
		knot_err_t err;
		conf_t *conf = load_text(rows[i].text, &messages, &err);
		assert_int_equal(err, KNOT_OK);
		assert_string_equal(messages.text, rows[i].want);
		conf_free(conf);
	}
}

static void obsolete_items_are_noticed(void **state)
{
	(void)state;
	messages_t messages;
	knot_err_t err;
	conf_t *conf = load_text("server:\n  tcp-fastopen: on\n", &messages, &err);
	assert_int_equal(err, KNOT_OK);
	assert_string_equal(
			messages.text, "N:config, line 2, option 'server.tcp-fastopen' is obsolete and has no effect");
	conf_free(conf);
}

/* ---- Values ---- */

static void defaults(void **state)
{
	(void)state;
	const conf_host_t host = { .cpu_count = 4, .nofile_max = 1000, .hostname = "ns.example", .version = "V 1" };
	conf_t *conf;
	assert_int_equal(conf_load_text("F", KNOT_STR(""), &host, (conf_sink_t){ 0 }, &conf), KNOT_OK);
	const conf_server_t *server = &conf->server;
	assert_string_equal(server->identity, "ns.example");
	assert_string_equal(server->version, "V 1");
	assert_int_equal(server->nsid.len, 10);
	assert_string_equal(server->rundir, KNOT_RUN_DIR);
	assert_string_equal(server->pidfile, KNOT_RUN_DIR "/knot.pid");
	assert_null(server->user);
	assert_int_equal(server->udp_workers, 4);
	assert_int_equal(server->tcp_workers, 10);
	assert_int_equal(server->background_workers, 4);
	assert_int_equal(server->tcp_max_clients, 500);
	assert_int_equal(server->tcp_idle_timeout_s, 10);
	assert_int_equal(server->tcp_io_timeout_ms, 500);
	assert_int_equal(server->udp_payload_max_ipv4, 1232);
	assert_int_equal(server->udp_payload_max_ipv6, 1232);
	assert_false(server->async_start || server->answer_rotation || server->tcp_reuseport);
	assert_int_equal(server->listen.count, 0);
	assert_int_equal(server->metrics_listen.count, 0);
	assert_int_equal(conf->xdp.listen.count, 0);
	assert_true(conf->xdp.udp && conf->xdp.zero_copy && !conf->xdp.tcp && !conf->xdp.route_check);
	assert_int_equal(conf->xdp.ring_size, 2048);
	assert_int_equal(conf->xdp.busypoll_timeout_us, 20);
	assert_int_equal(conf->control.listen.count, 1);
	assert_string_equal(conf->control.listen.data[0], KNOT_RUN_DIR "/knot.sock");
	assert_int_equal(conf->control.timeout_s, 5);
	assert_int_equal(conf->statistics.timer_s, 0);
	assert_string_equal(conf->statistics.file, KNOT_RUN_DIR "/stats.yaml");
	assert_string_equal(conf->database.timer_db, KNOT_STORAGE_DIR "/timers");
	assert_int_equal(conf->zone_count, 0);
	assert_int_equal(conf->log_count, 3);
	const conf_mod_stats_t *stats = conf_mod(conf, CONF_MOD_STATS, "");
	assert_true(stats->request_protocol && stats->server_operation && stats->response_code && !stats->query_type);
	conf_free(conf);
}

static void counts_follow_the_machine(void **state)
{
	(void)state;
	static const struct {
		unsigned cpu_count, udp, tcp, background;
	} machines[] = { { 0, 1, 10, 1 }, { 2, 2, 10, 2 }, { 64, 64, 64, 10 }, { 1000, 256, 256, 10 } };
	for (size_t i = 0; i < KNOT_LEN(machines); i++) {
		const conf_host_t host = { .cpu_count = machines[i].cpu_count, .version = "" };
		conf_t *conf;
		assert_int_equal(conf_load_text("F", KNOT_STR(""), &host, (conf_sink_t){ 0 }, &conf), KNOT_OK);
		assert_int_equal(conf->server.udp_workers, machines[i].udp);
		assert_int_equal(conf->server.tcp_workers, machines[i].tcp);
		assert_int_equal(conf->server.background_workers, machines[i].background);
		assert_int_equal(conf->server.tcp_max_clients, 100);
		conf_free(conf);
	}
}

static void groups_accumulate_and_last_value_wins(void **state)
{
	(void)state;
	conf_t *conf = load_ok(
			"server:\n  identity: a\n  listen: ::1\n  udp-workers: 3\n"
			"log:\n  - target: stderr\n    any: info\n"
			"server:\n  identity: b\n  listen: [ 127.0.0.1@54, ::1, ::1@53 ]\n  rundir: /r\n  pidfile: p\n"
			"  udp-max-payload: 1400\n  udp-max-payload-ipv6: 1280\n  nsid: 0x0102\n  user: \"\"\n");
	assert_string_equal(conf->server.identity, "b");
	assert_int_equal(conf->server.udp_workers, 3);
	assert_string_equal(conf->server.pidfile, "/r/p");
	assert_string_equal(conf->control.listen.data[0], "/r/knot.sock");
	assert_int_equal(conf->server.udp_payload_max_ipv4, 1400);
	assert_int_equal(conf->server.udp_payload_max_ipv6, 1280);
	assert_int_equal(conf->server.nsid.len, 2);
	assert_null(conf->server.user);
	/* The same address twice is dropped; with its port spelled out it is another value. */
	char text[CONF_ADDR_TEXT_MAX];
	static const char *const want[] = { "::1@53", "127.0.0.1@54", "::1@53" };
	assert_int_equal(conf->server.listen.count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		assert_string_equal(conf_addr_print(&conf->server.listen.data[i], text), want[i]);
	}
	conf_free(conf);
}

static void addresses(void **state)
{
	(void)state;
	conf_t *none = load_ok("server:\n  listen: []\n  listen:\n");
	assert_int_equal(none->server.listen.count, 0);
	conf_free(none);
	conf_t *metrics = load_ok("server:\n  rundir: /r\n  metrics-listen: [ 127.0.0.1, ::1@80, m.sock ]\n");
	static const char *const metrics_want[] = { "127.0.0.1@9433", "::1@80", "/r/m.sock" };
	assert_int_equal(metrics->server.metrics_listen.count, KNOT_LEN(metrics_want));
	for (size_t i = 0; i < KNOT_LEN(metrics_want); i++) {
		char text[CONF_ADDR_TEXT_MAX];
		assert_string_equal(conf_addr_print(&metrics->server.metrics_listen.data[i], text), metrics_want[i]);
	}
	conf_free(metrics);
	conf_t *conf = load_ok("server:\n  rundir: /r\n  listen: [ 192.0.2.1, ::%lo@54, fe80::1%lo, x.sock, /y.sock, "
			       "0.0.0.0%eth9 ]\n");
	static const struct {
		const char *text;
		int family;
		const char *device;
	} want[] = {
		{ "192.0.2.1@53", AF_INET, "" },
		{ "::%lo@54", AF_INET6, "lo" },
		{ "fe80::1%lo@53", AF_INET6, "" },
		{ "/r/x.sock", AF_UNIX, "" },
		{ "/y.sock", AF_UNIX, "" },
		{ "0.0.0.0%eth9@53", AF_INET, "eth9" },
	};
	assert_int_equal(conf->server.listen.count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		char text[CONF_ADDR_TEXT_MAX];
		const conf_addr_t *addr = &conf->server.listen.data[i];
		assert_string_equal(conf_addr_print(addr, text), want[i].text);
		assert_int_equal(addr->ss.ss_family, want[i].family);
		assert_string_equal(addr->device, want[i].device);
		assert_true(addr->len > 0 && addr->len <= sizeof(addr->ss));
	}
	const struct sockaddr_in6 *link_local = (const struct sockaddr_in6 *)&conf->server.listen.data[2].ss;
	assert_int_equal(link_local->sin6_scope_id, if_nametoindex("lo"));
	conf_free(conf);
}

static void xdp_listens(void **state)
{
	(void)state;
	conf_t *conf = load_ok("xdp:\n  listen: [ eth0, eth1@5353, 192.0.2.1@54, 2001:db8::1 ]\n  zero-copy: off\n"
			       "  busypoll-budget: 64\n  ring-size: 4096\n");
	static const struct {
		const char *ifname;
		int family;
		unsigned port;
		const char *text;
	} want[] = {
		{ "eth0", AF_UNSPEC, 53, "eth0" },
		{ "eth1", AF_UNSPEC, 5353, "eth1@5353" },
		{ "", AF_INET, 54, "192.0.2.1@54" },
		{ "", AF_INET6, 53, "2001:db8::1" },
	};
	assert_int_equal(conf->xdp.listen.count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		const conf_xdp_listen_t *listen = &conf->xdp.listen.data[i];
		assert_string_equal(listen->ifname, want[i].ifname);
		assert_int_equal(listen->addr.ss_family, want[i].family);
		assert_int_equal(listen->port, want[i].port);
		assert_string_equal(listen->text, want[i].text);
	}
	assert_false(conf->xdp.zero_copy);
	assert_int_equal(conf->xdp.ring_size, 4096);
	assert_int_equal(conf->xdp.busypoll_budget, 64);
	conf_free(conf);
}

static void xdp_blocks(void **state)
{
	(void)state;
	conf_t *conf = load_ok(
			"xdp:\n  block: [ 198.51.100.0/24, 192.0.2.1, 2001:db8:bad::/48@100, ::1@1000000, ::/0 ]\n"
			"  block: 0.0.0.0/0@7\n");
	static const struct {
		const char *text, *printed;
		uint8_t first, last, prefix_len;
		uint32_t per_second;
	} want[] = {
		{ "198.51.100.0/24", "198.51.100.0/24", 0, 0, 120, 0 },
		{ "192.0.2.1", "192.0.2.1/32", 0, 1, 128, 0 },
		{ "2001:db8:bad::/48@100", "2001:db8:bad::/48@100", 0x20, 0, 48, 100 },
		{ "::1@1000000", "::1/128@1000000", 0, 1, 128, 1000000 },
		{ "::/0", "::/0", 0, 0, 0, 0 },
		{ "0.0.0.0/0@7", "0.0.0.0/0@7", 0, 0, 96, 7 },
	};
	assert_int_equal(conf->xdp.block.count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		const conf_xdp_block_t *block = &conf->xdp.block.data[i];
		char text[CONF_XDP_BLOCK_TEXT_MAX];
		assert_string_equal(block->text, want[i].text);
		assert_string_equal(conf_xdp_block_print(block, text), want[i].printed);
		assert_int_equal(block->addr[0], want[i].first);
		assert_int_equal(block->addr[15], want[i].last);
		assert_int_equal(block->prefix_len, want[i].prefix_len);
		assert_int_equal(block->per_second, want[i].per_second);
	}
	conf_free(conf);
	conf = load_ok("xdp:\n  listen: [ eth0, ::1@54 ]\n  ring-size: 8\n  block: [ ::/0, 192.0.2.1 ]\n");
	conf_xdp_t *copy = conf_xdp_copy(&conf->xdp);
	conf_free(conf);
	assert_non_null(copy);
	assert_int_equal(copy->ring_size, 8);
	assert_int_equal(copy->listen.count, 2);
	assert_string_equal(copy->listen.data[0].text, "eth0");
	assert_string_equal(copy->listen.data[1].text, "::1@54");
	assert_int_equal(copy->listen.data[1].port, 54);
	assert_int_equal(copy->block.count, 2);
	assert_int_equal(copy->block.data[1].prefix_len, 128);
	free(copy);
	conf = load_ok("xdp:\n  block: []\n");
	assert_int_equal(conf->xdp.block.count, 0);
	conf_free(conf);
}

static void log_targets(void **state)
{
	(void)state;
	conf_t *conf = load_ok("log:\n  - target: stdout\n    any: warning\n    zone: info\n  - target: SYSLOG\n    "
			       "quic: debug\n"
			       "  - target: /var/log/x\n    server: critical\n    any: error\n");
	static const struct {
		const char *target;
		conf_log_kind_t kind;
		int server, control, zone, quic;
	} want[] = {
		{ "/var/log/x", CONF_LOG_FILE, LOG_ERR, LOG_ERR, LOG_ERR, -1 },
		{ "SYSLOG", CONF_LOG_SYSLOG, -1, -1, -1, LOG_DEBUG },
		{ "stdout", CONF_LOG_STDOUT, LOG_WARNING, LOG_WARNING, LOG_INFO, -1 },
	};
	assert_int_equal(conf->log_count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		const conf_log_t *log = &conf->logs[i];
		const int levels[] = { want[i].server, want[i].control, want[i].zone, want[i].quic };
		assert_string_equal(log->target, want[i].target);
		assert_int_equal(log->kind, want[i].kind);
		for (size_t j = 0; j < CONF_LOG_SOURCE_COUNT; j++) {
			assert_int_equal(log->levels[j], levels[j] < 0 ? 0 : LOG_UPTO(levels[j]));
		}
	}
	conf_free(conf);
}

/* ---- Zones ---- */

static knot_name_t name_of(const char *text, uint8_t wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan(knot_str_of(text), knot_name_root, wire, &name), KNOT_OK);
	return name;
}

static conf_zone_t zone_of(const conf_t *conf, const char *text)
{
	uint8_t wire[KNOT_NAME_MAX];
	size_t index;
	if (!conf_zone_find(conf, name_of(text, wire), &index)) {
		fail_msg("no zone %s", text);
	}
	return conf_zone(conf, index);
}

static void zones_inherit(void **state)
{
	(void)state;
	conf_t *conf = load_ok(
			"mod-stats:\n  - id: z\n    query-type: on\n    request-bytes: off\n"
			"template:\n"
			"  - id: default\n    storage: /d\n    default-ttl: 1m\n    module: mod-stats\n"
			"    global-module: [ mod-stats, mod-stats/z ]\n"
			"  - id: t\n    file: t/%s\n    semantic-checks: soft\n    comment: c\n    zonefile-sync: -1\n"
			"zone:\n"
			"  - domain: plain\n"
			"  - domain: with.t\n    template: t\n"
			"  - domain: own\n    storage: /o\n    module: [ mod-stats/z, mod-stats ]\n    zone-max-size: "
			"1M\n"
			"    zonefile-sync: 2147483647\n    serial-policy: dateserial\n"
			"  - domain: void\n    module: []\n");
	conf_zone_t plain = zone_of(conf, "PLAIN"), with_t = zone_of(conf, "with.t"), own = zone_of(conf, "own"),
		    no_module = zone_of(conf, "void");
	assert_string_equal(plain.storage, "/d");
	assert_string_equal(plain.template_id, "default");
	assert_int_equal(plain.default_ttl, 60);
	assert_int_equal(plain.modules.count, 1);
	assert_int_equal(plain.zonefile_load, CONF_ZONEFILE_WHOLE);
	/* A zone with a template gets nothing from the default one. */
	assert_string_equal(with_t.storage, KNOT_STORAGE_DIR);
	assert_string_equal(with_t.file, "t/%s");
	assert_string_equal(with_t.comment, "c");
	assert_int_equal(with_t.semantic_checks, CONF_SEMCHECKS_SOFT);
	assert_int_equal(with_t.default_ttl, 3600);
	assert_int_equal(with_t.modules.count, 0);
	assert_string_equal(own.storage, "/o");
	assert_int_equal(own.default_ttl, 60);
	assert_int_equal(own.zone_max_size, 1 << 20);
	assert_true(plain.zonefile_sync_s == 0 && with_t.zonefile_sync_s == -1 && own.zonefile_sync_s == INT32_MAX);
	assert_int_equal(plain.serial_policy, CONF_SERIAL_INCREMENT);
	assert_int_equal(own.serial_policy, CONF_SERIAL_DATESERIAL);
	assert_int_equal(own.modules.count, 2);
	assert_string_equal(own.modules.data[0].name, "mod-stats");
	assert_string_equal(own.modules.data[0].id, "z");
	assert_string_equal(own.modules.data[1].id, "");
	assert_int_equal(no_module.modules.count, 0);
	assert_int_equal(conf->global_modules.count, 2);
	const conf_mod_stats_t *z = conf_mod(conf, CONF_MOD_STATS, "z"), *built_in = conf_mod(conf, CONF_MOD_STATS, "");
	assert_true(z->query_type && !z->request_bytes);
	assert_true(built_in->request_bytes);
	conf_free(conf);
}

static void options_of_a_list_are_joined(void **state)
{
	(void)state;
	conf_t *conf = load_ok("template:\n  - id: default\n    publish-require: [ signed, apex-ns ]\n    "
			       "publish-max-shrink: 0\n"
			       "zone:\n  - domain: plain\n  - domain: own\n    publish-require: newer-serial\n"
			       "    publish-require: [ common-key, newer-serial ]\n    publish-max-shrink: 7\n"
			       "  - domain: nothing\n    publish-require: none\n    publish-max-shrink: 100\n");
	conf_zone_t plain = zone_of(conf, "plain"), own = zone_of(conf, "own"), nothing = zone_of(conf, "nothing");
	assert_int_equal(plain.publish_require.bits, CONF_REQUIRE_SIGNED | CONF_REQUIRE_APEX_NS);
	assert_int_equal(own.publish_require.bits, CONF_REQUIRE_NEWER_SERIAL | CONF_REQUIRE_COMMON_KEY);
	assert_int_equal(nothing.publish_require.bits, 0);
	assert_int_equal(plain.publish_max_shrink, 0);
	assert_int_equal(own.publish_max_shrink, 7);
	assert_int_equal(nothing.publish_max_shrink, 100);
	conf_free(conf);
	conf = load_ok("zone:\n  - domain: plain\n");
	plain = zone_of(conf, "plain");
	assert_int_equal(plain.publish_require.bits, 0);
	assert_int_equal(plain.publish_max_shrink, 100);
	conf_free(conf);
}

static void zones_are_in_canonical_order(void **state)
{
	(void)state;
	conf_t *conf = load_ok(
			"zone:\n  - domain: z\n  - domain: b.a\n  - domain: .\n  - domain: a\n  - domain: \"\\001.a\"\n"
			"  - domain: Z.a\n  - domain: a.b.a\n  - domain: aa\n");
	static const char *const want[] = { ".", "a.", "\\001.a.", "b.a.", "a.b.a.", "z.a.", "aa.", "z." };
	assert_int_equal(conf->zone_count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		char text[KNOT_NAME_TEXT_MAX];
		size_t found;
		knot_name_print(conf_zone_name(conf, i), text);
		assert_string_equal(text, want[i]);
		assert_true(conf_zone_find(conf, conf_zone_name(conf, i), &found));
		assert_int_equal(found, i);
	}
	uint8_t wire[KNOT_NAME_MAX];
	size_t found;
	assert_false(conf_zone_find(conf, name_of("b", wire), &found));
	conf_free(conf);
}

/** Random zones, compared with the naive way: every neighbour pair is in order, every name is found. */
static void many_zones(void **state)
{
	(void)state;
	const char *seed_text = getenv("KNOT_SEED");
	unsigned seed = seed_text != NULL ? (unsigned)strtoul(seed_text, NULL, 10) : 1;
	enum { COUNT = 20000, LINE_MAX_LEN = 64 };
	print_message("KNOT_SEED=%u\n", seed);
	const size_t max = COUNT * LINE_MAX_LEN + 16;
	char *text = malloc(max);
	size_t len = (size_t)snprintf(text, max, "zone:\n");
	for (unsigned i = 0; i < COUNT; i++) {
		seed = seed * 1103515245u + 12345u;
		len += (size_t)snprintf(text + len, max - len, "  - domain: n%x.%c.d%u.example\n    file: f%u\n",
				seed >> 8, 'a' + i % 26, i, i);
	}
	conf_t *conf = load_ok(text);
	assert_int_equal(conf->zone_count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		size_t found;
		conf_zone_t zone = conf_zone(conf, i);
		assert_true(i == 0 || knot_name_cmp(conf_zone_name(conf, i - 1), zone.name) < 0);
		assert_true(conf_zone_find(conf, zone.name, &found) && found == i);
		unsigned number = (unsigned)strtoul(zone.file + 1, NULL, 10);
		knot_name_t parent = knot_name_strip(zone.name, 2);
		char want[16];
		snprintf(want, sizeof(want), "d%u", number);
		assert_int_equal(parent.wire[0], strlen(want));
		assert_memory_equal(parent.wire + 1, want, strlen(want));
	}
	conf_free(conf);
	free(text);
}

static void zone_files(void **state)
{
	(void)state;
	static const struct {
		const char *what, *name, *file, *want;
	} rows[] = {
		{ "default", "Example.com", NULL, "/s/example.com.zone" },
		{ "name", "example.com", "zones/%s.db", "/s/zones/example.com.db" },
		{ "absolute", "example.com", "/z/%s", "/z/example.com" },
		{ "root", ".", "%s.zone", "/s/.zone" },
		{ "percent sign", "a", "%%%s", "/s/%a" },
		{ "first character", "example.com", "%c[0]/%s", "/s/e/example.com" },
		{ "characters", "example.com", "%c[0-2]", "/s/exa" },
		{ "dots count", "a.com", "%c[1-2]", "/s/.c" },
		{ "final dot counts", "a.com", "%c[5]x", "/s/.x" },
		{ "character out of range", "a.com", "%c[6]x", "/s/x" },
		{ "characters partly out of range", "a.com", "%c[4-99]", "/s/m." },
		{ "label from the right", "www.example.com", "%l[0]/%l[1]/%l[2]", "/s/com/example/www" },
		{ "label out of range", "a.com", "%l[2]x", "/s/x" },
		{ "label of the root", ".", "%l[0]x", "/s/x" },
		{ "slash in the name", "0/25.2.0.192", "%s", "/s/0_25.2.0.192" },
		{ "slash in a label", "a/b.c", "%l[1]", "/s/a_b" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char text[512], path[PATH_MAX];
		snprintf(text, sizeof(text), "zone:\n  - domain: \"%s\"\n    storage: /s\n%s%s%s", rows[i].name,
				rows[i].file != NULL ? "    file: \"" : "", rows[i].file != NULL ? rows[i].file : "",
				rows[i].file != NULL ? "\"\n" : "");
		conf_t *conf = load_ok(text);
		conf_zone_t zone = conf_zone(conf, 0);
		assert_int_equal(conf_zone_file(&zone, path, sizeof(path)), KNOT_OK);
		if (strcmp(path, rows[i].want) != 0) {
			fail_msg("%s: %s", rows[i].what, path);
		}
		assert_int_equal(conf_zone_file(&zone, path, strlen(rows[i].want)), KNOT_ESPACE);
		conf_free(conf);
	}
}

static void empty_directories_are_the_current_one(void **state)
{
	(void)state;
	char path[PATH_MAX];
	conf_t *conf = load_ok("server:\n  rundir: \"\"\nzone:\n  - domain: a\n    storage: \"\"\n");
	conf_zone_t zone = conf_zone(conf, 0);
	assert_string_equal(conf->server.pidfile, "knot.pid");
	assert_int_equal(conf_zone_file(&zone, path, sizeof(path)), KNOT_OK);
	assert_string_equal(path, "a.zone");
	conf_free(conf);
}

static void zone_files_with_mistakes(void **state)
{
	(void)state;
	static const struct {
		const char *what, *file, *want, *warning; /* want NULL: KNOT_EINVAL */
	} rows[] = {
		{ "unknown formatter", "x%qy", "/s/xy", "ignoring unknown zonefile formatter" },
		{ "percent sign at the end", "x%", "/s/x", "ignoring unknown zonefile formatter" },
		{ "no brackets", "x%cy", NULL, "invalid index of zonefile formatter" },
		{ "empty brackets", "%c[]", NULL, "invalid index of zonefile formatter" },
		{ "open bracket", "%c[1", NULL, "invalid index of zonefile formatter" },
		{ "backward range", "%c[2-1]", NULL, "invalid index of zonefile formatter" },
		{ "index too big", "%c[256]", NULL, "invalid index of zonefile formatter" },
		{ "range of labels", "%l[0-1]", NULL, "invalid index of zonefile formatter" },
		{ "both", "%q%l", NULL, "invalid index of zonefile formatter" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char text[512], path[PATH_MAX], want[512];
		messages_t messages;
		knot_err_t err;
		snprintf(text, sizeof(text), "zone:\n  - domain: a\n    storage: /s\n    file: \"%s\"\n", rows[i].file);
		snprintf(want, sizeof(want), "W:config, file 'F', line 4, item 'file', value '%s' (%s)", rows[i].file,
				rows[i].warning);
		conf_t *conf = load_text(text, &messages, &err);
		assert_int_equal(err, KNOT_OK);
		assert_string_equal(messages.text, want);
		conf_zone_t zone = conf_zone(conf, 0);
		err = conf_zone_file(&zone, path, sizeof(path));
		if (err != (rows[i].want != NULL ? KNOT_OK : KNOT_EINVAL) ||
				(rows[i].want != NULL && strcmp(path, rows[i].want) != 0)) {
			fail_msg("%s: %s: %s", rows[i].what, knot_strerror(err), path);
		}
		conf_free(conf);
	}
}

static void payload_must_fit_a_frame(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool warns;
	} rows[] = {
		{ "server:\n  udp-max-payload: 1724\nxdp:\n  listen: nosuch0\n", false },
		{ "server:\n  udp-max-payload: 1725\nxdp:\n  listen: nosuch0\n", true },
		{ "server:\n  udp-max-payload-ipv4: 1744\nxdp:\n  listen: nosuch0\n", false },
		{ "server:\n  udp-max-payload-ipv4: 1745\nxdp:\n  listen: nosuch0\n", true },
		{ "server:\n  udp-max-payload: 4096\n", false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		messages_t messages;
		knot_err_t err;
		conf_free(load_text(rows[i].text, &messages, &err));
		assert_int_equal(err, KNOT_OK);
		assert_string_equal(messages.text, rows[i].warns ? "W:config, maximum UDP payload not compatible with "
								   "XDP MTU (1790)"
								 : "");
	}
}

static void zone_file_too_long(void **state)
{
	(void)state;
	char text[4096] = "zone:\n  - domain: a\n    file: ", path[PATH_MAX];
	size_t len = strlen(text);
	memset(text + len, 'x', 1023);
	conf_t *conf = load_ok(text);
	conf_zone_t zone = conf_zone(conf, 0);
	assert_int_equal(conf_zone_file(&zone, path, sizeof(path)), KNOT_OK);
	conf_free(conf);
	text[len + 1023] = 'x';
	conf = load_ok(text);
	zone = conf_zone(conf, 0);
	assert_int_equal(conf_zone_file(&zone, path, sizeof(path)), KNOT_ESPACE);
	conf_free(conf);
}

/* ---- Files ---- */

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/** In `want` and in messages D stands for the directory. */
static void replace_dir(char *text, const char *dir)
{
	for (char *at = text; (at = strstr(at, dir)) != NULL;) {
		*at = 'D';
		memmove(at + 1, at + strlen(dir), strlen(at + strlen(dir)) + 1);
	}
}

static knot_err_t load_main(const char *dir, messages_t *messages, conf_t **ret_conf)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/main", dir);
	*ret_conf = NULL;
	knot_err_t err = conf_load(path, NULL, messages_sink(messages), ret_conf);
	replace_dir(messages->text, dir);
	return err;
}

static void includes(void **state)
{
	(void)state;
	static const struct {
		const char *what, *main;
		knot_err_t err;
		const char *messages; /* D: the directory */
	} rows[] = {
		{ "relative to the file", "include: sub/b\nserver:\n  version: v\n", KNOT_OK, "" },
		{ "pattern", "include: sub/*.conf\n", KNOT_OK, "" },
		{ "pattern without a match", "include: sub/x*\n", KNOT_OK, "" },
		{ "directories are skipped", "include: sub\n", KNOT_OK, "" },
		{ "list", "include: [ sub/1.conf, sub/2.conf ]\n", KNOT_OK, "" },
		{ "what is no file", "include: /dev/null\n", KNOT_OK, "W:config, invalid include file '/dev/null'" },
		{ "a link that leads nowhere", "include: sub/*.lnk\n", KNOT_OK,
				"W:config, failed to get file status for 'D/sub/dangling.lnk'" },
		{ "no such file", "include: sub/nosuch\n", KNOT_EFILE,
				"config, file 'D/main', line 1, item 'include', value 'sub/nosuch' (file error)" },
		{ "error inside", "\ninclude: sub/bad\n", KNOT_CONF_EITEM,
				"config, file 'D/sub/worse', line 2, item 'foo', value 'y' (invalid item)" },
		{ "section ends with the file", "include: sub/open\n  listen: ::1\n", KNOT_CONF_EITEM,
				"config, file 'D/main', line 2, item 'listen', value '::1' (invalid item)" },
		{ "clear", "include: sub/b\nclear: serv*\ninclude: sub/empty\n", KNOT_OK, "" },
	};
	char dir[] = "/tmp/conf_test.XXXXXX", sub[PATH_MAX];
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_file(sub, "b", "server:\n  identity: b\ninclude: c\n");
	write_file(sub, "c", "server:\n  nsid: c\n");
	write_file(sub, "1.conf", "zone:\n  - domain: one\n");
	write_file(sub, "2.conf", "zone:\n  - domain: two\n");
	write_file(sub, "bad", "server:\n  version: y\ninclude: worse\n");
	write_file(sub, "worse", "server:\n  foo: y\n");
	write_file(sub, "open", "server:\n");
	write_file(sub, "empty", "");
	char link[PATH_MAX + 16];
	snprintf(link, sizeof(link), "%s/dangling.lnk", sub);
	assert_int_equal(symlink("nowhere", link), 0);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		messages_t messages;
		conf_t *conf;
		write_file(dir, "main", rows[i].main);
		knot_err_t err = load_main(dir, &messages, &conf);
		if (err != rows[i].err || strcmp(messages.text, rows[i].messages) != 0) {
			fail_msg("%s: %s: %s", rows[i].what, knot_strerror(err), messages.text);
		}
		if (i == 0) {
			assert_string_equal(conf->server.identity, "b");
			assert_string_equal(conf->server.version, "v");
			assert_memory_equal(conf->server.nsid.data, "c", 1);
		} else if (i == 1 || i == 4) {
			assert_int_equal(conf->zone_count, 2);
		} else if (conf != NULL) {
			assert_string_equal(conf->server.identity, "localhost");
		}
		conf_free(conf);
	}
	messages_t messages;
	conf_t *conf;
	write_file(dir, "main", "include: main\n");
	assert_int_equal(load_main(dir, &messages, &conf), KNOT_EPARSEFAIL);
	assert_int_equal(strncmp(messages.text, "config, include loop detected\n", 30), 0);
	char command[PATH_MAX + 16];
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static void files_that_cannot_be_read(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		knot_err_t err;
		const char *want;
	} rows[] = {
		{ "/dev/null.nosuch", KNOT_ENOENT, "config, failed to load file '/dev/null.nosuch' (not exists)" },
		{ "/", KNOT_EFILE, "config, failed to load file '/' (file error)" },
		{ "/dev/null", KNOT_EFILE, "config, failed to load file '/dev/null' (file error)" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		messages_t messages;
		conf_t *conf = NULL;
		assert_int_equal(conf_load(rows[i].path, NULL, messages_sink(&messages), &conf), rows[i].err);
		assert_string_equal(messages.text, rows[i].want);
		assert_null(conf);
	}
}

static void clear_forgets(void **state)
{
	(void)state;
	conf_t *conf = load_ok("template:\n  - id: t\n    storage: /t\nzone:\n  - domain: a\n    template: t\n"
			       "server:\n  identity: x\nclear: @(server|template)\nserver:\n  version: y\n"
			       "template:\n  - id: t2\nzone:\n  - domain: b\n    template: t2\n");
	assert_string_equal(conf->server.identity, "localhost");
	assert_string_equal(conf->server.version, "y");
	assert_int_equal(conf->zone_count, 2);
	assert_string_equal(zone_of(conf, "a").storage, KNOT_STORAGE_DIR);
	conf_free(conf);
	conf = load_ok("zone:\n  - domain: a\nclear: zone\nzone:\n  - domain: a\nclear: zon\nclear: include\n");
	assert_int_equal(conf->zone_count, 1);
	conf_free(conf);
}

/* ---- Differences ---- */

static void differences(void **state)
{
	(void)state;
	static const struct {
		const char *what, *old, *new;
		bool logs, server, modules, statistics;
		const char *restart;
	} rows[] = {
		{ "nothing", "server:\n  udp-workers: 1\n", "", false, false, false, false, "" },
		{ "default spelled out", "", "server:\n  async-start: off\nxdp:\n  udp: on\n", false, false, false,
				false, "" },
		{ "at once", "", "server:\n  tcp-idle-timeout: 5\n", false, true, false, false, "" },
		{ "with a restart", "", "server:\n  udp-workers: 5\n  listen: ::1\n", false, false, false, false,
				"udp-workers listen " },
		{ "order of addresses", "server:\n  listen: [ ::1, ::2 ]\n", "server:\n  listen: [ ::2, ::1 ]\n", false,
				false, false, false, "listen " },
		{ "XDP", "xdp:\n  listen: eth0\n", "xdp:\n  listen: eth1\n  ring-size: 4\n", false, true, false, false,
				"" },
		{ "a rule more", "xdp:\n  block: ::1\n", "xdp:\n  block: [ ::1, ::2 ]\n", false, true, false, false,
				"" },
		{ "rundir moves what is relative to it", "",
				"server:\n  rundir: /x\ncontrol:\n  listen: /s\nstatistics:\n  file: /f\n", false,
				false, false, true, "rundir pidfile listen " },
		{ "images", "", "database:\n  image-db: /x\n  image-db-max-size: 1G\n", false, false, false, false,
				"image-db image-db-max-size " },
		{ "storage moves what is relative to it", "", "database:\n  storage: /x\n", false, false, false, false,
				"journal-db timer-db catalog-db image-db " },
		{ "journal", "", "database:\n  journal-db: /x\n  journal-db-mode: asynchronous\n", false, false, false,
				false, "journal-db journal-db-mode " },
		{ "databases that are not there yet", "", "database:\n  kasp-db-max-size: 1G\n", false, false, false,
				false, "" },
		{ "two of a name", "", "server:\n  listen: ::1\ncontrol:\n  listen: /s\n", false, false, false, false,
				"listen " },
		{ "metrics", "", "server:\n  metrics-listen: ::1\n", false, true, false, false, "" },
		{ "log", "", "log:\n  - target: stderr\n    any: info\n", true, false, false, false, "" },
		{ "level", "log:\n  - target: stderr\n    any: info\n", "log:\n  - target: stderr\n    any: debug\n",
				true, false, false, false, "" },
		{ "comment", "log:\n  - target: stderr\n    any: info\n",
				"log:\n  - target: stderr\n    any: info\n    comment: x\n", false, false, false, false,
				"" },
		{ "statistics", "", "statistics:\n  timer: 5\n", false, false, false, true, "" },
		{ "module instance", "mod-stats:\n  - id: a\n", "mod-stats:\n  - id: a\n    query-type: on\n", false,
				false, true, false, "" },
		{ "another module instance", "mod-stats:\n  - id: a\n", "mod-stats:\n  - id: b\n", false, false, true,
				false, "" },
		{ "global module", "", "template:\n  - id: default\n    global-module: mod-stats\n", false, false, true,
				false, "" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		conf_t *old = load_ok(rows[i].old), *new = load_ok(rows[i].new);
		conf_diff_t diff = conf_diff(old, new);
		char restart[512] = "";
		for (size_t j = 0; j < diff.restart_count; j++) {
			size_t len = strlen(restart);
			snprintf(restart + len, sizeof(restart) - len, "%s ", diff.restart[j]);
		}
		if (diff.logs != rows[i].logs || diff.server != rows[i].server || diff.modules != rows[i].modules ||
				diff.statistics != rows[i].statistics || strcmp(restart, rows[i].restart) != 0) {
			fail_msg("%s: %d %d %d %d %s", rows[i].what, diff.logs, diff.server, diff.modules,
					diff.statistics, restart);
		}
		conf_free(old);
		conf_free(new);
	}
}

static void zone_differences(void **state)
{
	(void)state;
	static const struct {
		const char *what, *old, *new;
		bool want;
	} rows[] = {
		{ "same", "", "", true },
		{ "default spelled out", "", "    file: \"%s.zone\"\n    semantic-checks: off\n", true },
		{ "file", "", "    file: x\n", false },
		{ "storage", "", "    storage: /x\n", false },
		{ "checks", "", "    semantic-checks: soft\n", false },
		{ "TTL", "", "    default-ttl: 1\n", false },
		{ "size", "", "    zone-max-size: 1\n", false },
		{ "comment", "", "    comment: x\n", true },
		{ "module", "", "    module: mod-stats\n", true },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char old_text[256], new_text[256];
		snprintf(old_text, sizeof(old_text), "zone:\n  - domain: a\n%s", rows[i].old);
		snprintf(new_text, sizeof(new_text), "zone:\n  - domain: a\n%s", rows[i].new);
		conf_t *old = load_ok(old_text), *new = load_ok(new_text);
		conf_zone_t a = conf_zone(old, 0), b = conf_zone(new, 0);
		if (conf_zone_same(&a, &b) != rows[i].want) {
			fail_msg("%s", rows[i].what);
		}
		conf_free(old);
		conf_free(new);
	}
}

/* A reload that changes what a zone says of catalogs must see it: each item by itself, between two blocks of one. */
static void catalog_differences(void **state)
{
	(void)state;
	static const knot_bytes_t a_ids[] = { { (const uint8_t *)"a", 2 } }, b_ids[] = { { (const uint8_t *)"b", 2 } };
	const conf_zone_t zone = {
		.name = { (const uint8_t *)"", 1, 0 },
		.catalog_role = CONF_CATALOG_MEMBER,
		.catalog_templates = { a_ids, 1 },
		.catalog_zone = { (const uint8_t *)"\1c", 3 },
		.catalog_group = "g",
	};
	conf_zone_t others[] = { zone, zone, zone, zone, zone, zone };
	others[1].catalog_role = CONF_CATALOG_NONE;
	others[2].catalog_templates = (conf_bytes_list_t){ b_ids, 1 };
	others[3].catalog_templates.count = 0;
	others[4].catalog_zone = (knot_bytes_t){ (const uint8_t *)"\1d", 3 };
	others[5].catalog_group = NULL;
	for (size_t i = 0; i < KNOT_LEN(others); i++) {
		if (conf_zone_same(&zone, &others[i]) != (i == 0)) {
			fail_msg("other %zu", i);
		}
	}
}

/* With the directory of a start, and without: nothing else may differ. */
static void start_directory(void **state)
{
	(void)state;
	static const char text[] =
			"server:\n  rundir: run\n  listen: [ s, /t ]\nlog:\n  - target: l\n    any: info\n"
			"  - target: STDOUT\n    any: info\n  - target: /m\n    any: info\ndatabase:\n  storage: db\n"
			"template:\n  - id: t\n    storage: z\nzone:\n  - domain: a\n    template: t\n"
			"  - domain: b\n    storage: y\n  - domain: c\n    storage: \"\"\n  - domain: d\n    storage: "
			"/x\n"
			"  - domain: e\n    storage: y\n    file: /e\n";
	static const struct {
		const char *directory, *rundir, *pidfile, *listen, *control, *images, *logs[3], *zones[5];
	} rows[] = {
		{ NULL, "run", "run/knot.pid", "run/s", "run/knot.sock", "db/images", { "/m", "STDOUT", "l" },
				{ "z/a.zone", "y/b.zone", "c.zone", "/x/d.zone", "/e" } },
		{ "/start", "/start/run", "/start/run/knot.pid", "/start/run/s", "/start/run/knot.sock",
				"/start/db/images", { "/m", "STDOUT", "/start/l" },
				{ "/start/z/a.zone", "/start/y/b.zone", "/start/c.zone", "/x/d.zone", "/e" } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const conf_host_t host = {
			.cpu_count = 1, .hostname = "h", .version = "v", .directory = rows[i].directory
		};
		messages_t messages = { 0 };
		conf_t *conf = NULL;
		assert_int_equal(conf_load_text("F", knot_str_of(text), &host, messages_sink(&messages), &conf),
				KNOT_OK);
		assert_string_equal(conf->server.rundir, rows[i].rundir);
		assert_string_equal(conf->server.pidfile, rows[i].pidfile);
		assert_string_equal(((const struct sockaddr_un *)&conf->server.listen.data[0].ss)->sun_path,
				rows[i].listen);
		assert_string_equal(((const struct sockaddr_un *)&conf->server.listen.data[1].ss)->sun_path, "/t");
		assert_string_equal(conf->control.listen.data[0], rows[i].control);
		assert_string_equal(conf->database.image_db, rows[i].images);
		for (size_t j = 0; j < KNOT_LEN(rows[i].logs); j++) {
			assert_string_equal(conf->logs[j].target, rows[i].logs[j]);
		}
		for (size_t j = 0; j < KNOT_LEN(rows[i].zones); j++) {
			char path[PATH_MAX];
			conf_zone_t zone = conf_zone(conf, j);
			assert_int_equal(conf_zone_file(&zone, path, sizeof(path)), KNOT_OK);
			assert_string_equal(path, rows[i].zones[j]);
		}
		conf_free(conf);
	}
}

/* A socket's path has an end that the path as it is written doesn't reach. */
static void start_directory_is_long(void **state)
{
	(void)state;
	char directory[128] = "/";
	memset(directory + 1, 'd', sizeof(directory) - 2);
	const conf_host_t host = { .cpu_count = 1, .hostname = "h", .version = "v", .directory = directory };
	messages_t messages = { 0 };
	conf_t *conf = NULL;
	assert_int_equal(conf_load_text("F", KNOT_STR("server:\n  rundir: run\n  listen: s\n"), &host,
					 messages_sink(&messages), &conf),
			KNOT_ESPACE);
	assert_string_equal(messages.text,
			"config, the path of a socket is too long with the directory that it is relative to, give "
			"'rundir' as an absolute path");
	assert_null(conf);
}

static void users(void **state)
{
	(void)state;
	static const struct {
		const char *user;
		knot_err_t err;
		const char *fault;
	} rows[] = {
		{ "root", KNOT_OK, "" },
		{ "root:root", KNOT_OK, "" },
		{ "nosuchuser_", KNOT_ENOENT, "config, invalid user name 'nosuchuser_'" },
		{ "nosuchuser_:root", KNOT_ENOENT, "config, invalid user name 'nosuchuser_'" },
		{ "root:nosuchgroup_", KNOT_ENOENT, "config, invalid group name 'nosuchgroup_'" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		char text[128];
		uid_t uid = 12345;
		gid_t gid = 12345;
		snprintf(text, sizeof(text), "server:\n  user: %s\n", rows[i].user);
		conf_t *conf = load_ok(text);
		char fault[CONF_USER_FAULT_MAX] = "";
		assert_int_equal(conf_user(conf, &uid, &gid, fault), rows[i].err);
		assert_string_equal(fault, rows[i].fault);
		assert_int_equal(uid, rows[i].err == KNOT_OK ? 0 : 12345);
		conf_free(conf);
	}
}

/* ---- Many zones ---- */

/* `count` zones in an order that is none, every tenth with items of its own. Free it. */
static char *many_zones_text(size_t count)
{
	char *text = malloc(count * 128 + 256);
	assert_non_null(text);
	size_t len = (size_t)sprintf(
			text, "template:\n  - id: default\n    storage: /a\n  - id: other\n    storage: /b\nzone:\n");
	for (size_t i = 0; i < count; i++) {
		size_t number = i * 7919 % count; /* a prime: each number once */
		len += (size_t)sprintf(
				text + len, "  - domain: z%zu.%s\n", number, number % 3 ? "example" : "co.Example");
		if (number % 10 == 0) {
			len += (size_t)sprintf(text + len,
					"    template: other\n    file: f%zu\n    default-ttl: %zu\n", number,
					number + 1);
		}
	}
	return text;
}

static void test_many_zones(void **state)
{
	(void)state;
	enum { COUNT = 20000 };
	char *text = many_zones_text(COUNT);
	conf_t *conf = load_ok(text);
	assert_int_equal(conf->zone_count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		uint8_t wire[KNOT_NAME_MAX];
		char name_text[64], file[64];
		knot_name_t name;
		size_t index;
		(void)snprintf(name_text, sizeof(name_text), "Z%zu.%s", i, i % 3 ? "example" : "co.example");
		assert_int_equal(knot_name_scan(knot_str_of(name_text), knot_name_root, wire, &name), KNOT_OK);
		assert_true(conf_zone_find(conf, name, &index));
		conf_zone_t zone = conf_zone(conf, index);
		assert_true(knot_name_eq(zone.name, name));
		assert_true(index == 0 || knot_name_cmp(conf_zone_name(conf, index - 1), name) < 0);
		(void)snprintf(file, sizeof(file), "f%zu", i);
		assert_string_equal(zone.file, i % 10 ? "%s.zone" : file);
		assert_string_equal(zone.storage, i % 10 ? "/a" : "/b");
		assert_int_equal(zone.default_ttl, i % 10 ? 3600 : i + 1);
		wire[1] = 'y';
		assert_false(conf_zone_find(conf, name, &index));
	}
	assert_false(conf_has_zone_modules(conf));
	conf_free(conf);
	free(text);
}

static double cpu_seconds_of_load(size_t count)
{
	char *text = many_zones_text(count);
	double best = 1e9;
	for (unsigned i = 0; i < 3; i++) {
		double start = cpu_s();
		conf_free(load_ok(text));
		double taken = cpu_s() - start;
		best = taken < best ? taken : best;
	}
	free(text);
	return best;
}

/* Ten times as many zones take about ten times as long; with anything quadratic it would be a hundred. */
static void test_many_zones_are_linear(void **state)
{
	(void)state;
	double few = cpu_seconds_of_load(5000), many = cpu_seconds_of_load(50000);
	if (many > 40 * few) {
		fail_msg("5,000 zones: %.4f s, 50,000 zones: %.4f s", few, many);
	}
}

static void test_has_zone_modules(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{ "zone:\n  - domain: a\n", false },
		{ "zone:\n  - domain: a\n    module: mod-stats\n", true },
		{ "zone:\n  - domain: a\n    module: []\n", false },
		{ "template:\n  - id: x\n    module: mod-stats\nzone:\n  - domain: a\n    template: x\n", true },
		{ "template:\n  - id: default\n    global-module: mod-stats\nzone:\n  - domain: a\n", false },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		conf_t *conf = load_ok(rows[i].text);
		assert_int_equal(conf_has_zone_modules(conf), rows[i].want);
		conf_free(conf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_zones),
		cmocka_unit_test(test_many_zones_are_linear),
		cmocka_unit_test(test_has_zone_modules),
		cmocka_unit_test(faults_have_knots_words),
		cmocka_unit_test(values_are_cut_in_messages),
		cmocka_unit_test(harmless_items_are_accepted),
		cmocka_unit_test(rules_end_where_they_say),
		cmocka_unit_test(blocks_are_noticed),
		cmocka_unit_test(obsolete_items_are_noticed),
		cmocka_unit_test(defaults),
		cmocka_unit_test(counts_follow_the_machine),
		cmocka_unit_test(groups_accumulate_and_last_value_wins),
		cmocka_unit_test(addresses),
		cmocka_unit_test(xdp_listens),
		cmocka_unit_test(xdp_blocks),
		cmocka_unit_test(log_targets),
		cmocka_unit_test(zones_inherit),
		cmocka_unit_test(options_of_a_list_are_joined),
		cmocka_unit_test(zones_are_in_canonical_order),
		cmocka_unit_test(many_zones),
		cmocka_unit_test(zone_files),
		cmocka_unit_test(empty_directories_are_the_current_one),
		cmocka_unit_test(zone_files_with_mistakes),
		cmocka_unit_test(payload_must_fit_a_frame),
		cmocka_unit_test(zone_file_too_long),
		cmocka_unit_test(includes),
		cmocka_unit_test(files_that_cannot_be_read),
		cmocka_unit_test(clear_forgets),
		cmocka_unit_test(differences),
		cmocka_unit_test(zone_differences),
		cmocka_unit_test(catalog_differences),
		cmocka_unit_test(start_directory),
		cmocka_unit_test(start_directory_is_long),
		cmocka_unit_test(users),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
