/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/access/access.h"

#include "src/conf/test_conf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

enum { UDP = CONF_OVER_UDP, TCP = CONF_OVER_TCP, TLS = CONF_OVER_TLS, QUIC = CONF_OVER_QUIC };
enum { QUERY = CONF_ACTION_QUERY, NOTIFY, TRANSFER, UPDATE };

/* What every row's configuration starts with. The zone is z.example. */
static const char common[] =
		"key:\n  - id: k1\n    secret: YQ==\n  - id: k2\n    algorithm: hmac-sha1\n    secret: YQ==\n"
		"  - id: host.z.example\n    secret: YQ==\n"
		"remote:\n  - id: r1\n    address: [192.0.2.1, 2001:db8::1@5353]\n"
		"  - id: r2\n    address: [192.0.2.2, /run/peer]\n    key: k2\n"
		"  - id: r3\n    address: 192.0.2.3\n    automatic-acl: off\n"
		"  - id: rtls\n    address: 192.0.2.4\n    tls: on\n"
		"  - id: rquic\n    address: 192.0.2.4\n    quic: on\n"
		"  - id: rcert\n    address: 192.0.2.5\n    tls: on\n    cert-hostname: h\n"
		"remotes:\n  - id: g\n    remote: [r2, r3]\n";

/* want: of the verdict: "-" denied without a rule, "-id" by a rule, "+id" allowed by a rule, "+auto id" by a remote */
typedef struct {
	const char *what;
	const char *conf; /* items of the zone, then perhaps other sections; see make_conf() */
	unsigned action, protocol;
	const char *source;
	const char *key;    /* NULL: unsigned; "name algorithm-wire-less" see make_tsig() */
	const char *update; /* "owner type owner type …" */
	const char *want;
} row_t;

#define ACL(rules, more) "    acl: " rules "\n" more
#define ANY_TRANSFER     "acl:\n  - id: a\n    action: transfer\n"

static const row_t rows[] = {
	{ "no rule", "", TRANSFER, TCP, "192.0.2.1", NULL, NULL, "-" },
	{ "no rule, signed query", "", QUERY, UDP, "192.0.2.1", "k1", NULL, "-" },

	/* Actions. */
	{ "listed action", ACL("a", ANY_TRANSFER), TRANSFER, TCP, "192.0.2.1", NULL, NULL, "+a" },
	{ "action isn't listed", ACL("a", ANY_TRANSFER), NOTIFY, TCP, "192.0.2.1", NULL, NULL, "-" },
	{ "a query's action isn't looked at", ACL("a", ANY_TRANSFER), QUERY, TCP, "192.0.2.1", NULL, NULL, "+a" },
	{ "no action denies", ACL("[n, a]", "acl:\n  - id: a\n    action: transfer\n  - id: n\n"), TRANSFER, TCP,
			"192.0.2.1", NULL, NULL, "-n" },
	{ "no action that doesn't match",
			ACL("[n, a]", "acl:\n  - id: a\n    action: transfer\n  - id: n\n    key: k1\n"), TRANSFER, TCP,
			"192.0.2.1", NULL, NULL, "+a" },
	{ "deny of another action",
			ACL("[d, a]", "acl:\n  - id: d\n    action: update\n    deny: on\n  - id: a\n    action: "
				      "transfer\n"),
			TRANSFER, TCP, "192.0.2.1", NULL, NULL, "+a" },
	{ "deny without action", ACL("[d, a]", "acl:\n  - id: d\n    deny: on\n  - id: a\n    action: transfer\n"),
			TRANSFER, TCP, "192.0.2.1", NULL, NULL, "-d" },
	{ "deny of a query", ACL("d", "acl:\n  - id: d\n    deny: on\n"), QUERY, UDP, "192.0.2.1", NULL, NULL, "-d" },
	{ "the first rule decides", ACL("[a, d]", "acl:\n  - id: d\n    deny: on\n  - id: a\n    action: transfer\n"),
			TRANSFER, TCP, "192.0.2.1", NULL, NULL, "+a" },

	{ "a query that is signed, no action", ACL("n", "acl:\n  - id: n\n    key: k1\n"), QUERY, UDP, "192.0.2.1",
			"k1", NULL, "+n" },
	{ "no action denies whatever is updated",
			ACL("[n, a]", "acl:\n  - id: a\n    action: update\n  - id: n\n    update-type: TXT\n"), UPDATE,
			UDP, "192.0.2.1", NULL, "x. A", "-n" },

	/* Addresses. */
	{ "address", ACL("a", "acl:\n  - id: a\n    address: 192.0.2.1\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.1", NULL, NULL, "+a" },
	{ "another address", ACL("a", "acl:\n  - id: a\n    address: 192.0.2.1\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.2", NULL, NULL, "-" },
	{ "prefix, last", ACL("a", "acl:\n  - id: a\n    address: 192.0.2.0/25\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.127", NULL, NULL, "+a" },
	{ "prefix, behind it", ACL("a", "acl:\n  - id: a\n    address: 192.0.2.0/25\n    action: notify\n"), NOTIFY,
			UDP, "192.0.2.128", NULL, NULL, "-" },
	{ "range, last", ACL("a", "acl:\n  - id: a\n    address: 10.0.0.250-10.0.1.3\n    action: notify\n"), NOTIFY,
			UDP, "10.0.1.3", NULL, NULL, "+a" },
	{ "range, behind it", ACL("a", "acl:\n  - id: a\n    address: 10.0.0.250-10.0.1.3\n    action: notify\n"),
			NOTIFY, UDP, "10.0.1.4", NULL, NULL, "-" },
	{ "range, before it", ACL("a", "acl:\n  - id: a\n    address: 10.0.0.250-10.0.1.3\n    action: notify\n"),
			NOTIFY, UDP, "10.0.0.249", NULL, NULL, "-" },
	{ "all of IPv4", ACL("a", "acl:\n  - id: a\n    address: 0.0.0.0/0\n    action: notify\n"), NOTIFY, UDP,
			"255.255.255.255", NULL, NULL, "+a" },
	{ "isn't IPv6", ACL("a", "acl:\n  - id: a\n    address: 0.0.0.0/0\n    action: notify\n"), NOTIFY, UDP, "::1",
			NULL, NULL, "-" },
	{ "IPv6 prefix", ACL("a", "acl:\n  - id: a\n    address: [::1, 2001:db8::/33]\n    action: notify\n"), NOTIFY,
			UDP, "2001:db8:7fff::9", NULL, NULL, "+a" },
	{ "UNIX path", ACL("a", "acl:\n  - id: a\n    address: /run/a\n    action: notify\n"), NOTIFY, TCP, "/run/a",
			NULL, NULL, "+a" },
	{ "another path", ACL("a", "acl:\n  - id: a\n    address: /run/a\n    action: notify\n"), NOTIFY, TCP, "/run/b",
			NULL, NULL, "-" },

	/* Keys. */
	{ "key", ACL("a", "acl:\n  - id: a\n    key: [k2, k1]\n    action: transfer\n"), TRANSFER, TCP, "192.0.2.1",
			"k1", NULL, "+a" },
	{ "key in upper case", ACL("a", "acl:\n  - id: a\n    key: k1\n    action: transfer\n"), TRANSFER, TCP,
			"192.0.2.1", "K1", NULL, "+a" },
	{ "another key", ACL("a", "acl:\n  - id: a\n    key: k2\n    action: transfer\n"), TRANSFER, TCP, "192.0.2.1",
			"k1", NULL, "-" },
	{ "another algorithm", ACL("a", "acl:\n  - id: a\n    key: k1\n    action: transfer\n"), TRANSFER, TCP,
			"192.0.2.1", "k1/sha1", NULL, "-" },
	{ "unsigned", ACL("a", "acl:\n  - id: a\n    key: k1\n    action: transfer\n"), TRANSFER, TCP, "192.0.2.1",
			NULL, NULL, "-" },
	{ "signed, rule without key", ACL("a", ANY_TRANSFER), TRANSFER, TCP, "192.0.2.1", "k1", NULL, "-" },
	{ "signed, rule without key that denies",
			ACL("[d, a]", "acl:\n  - id: d\n    deny: on\n  - id: a\n    key: k1\n"
				      "    action: transfer\n"),
			TRANSFER, TCP, "192.0.2.1", "k1", NULL, "-d" },
	{ "key and address, both",
			ACL("a", "acl:\n  - id: a\n    key: k1\n    address: 192.0.2.1\n    action: transfer\n"),
			TRANSFER, TCP, "192.0.2.2", "k1", NULL, "-" },
	{ "signed query", ACL("a", "acl:\n  - id: a\n    key: k1\n    action: query\n"), QUERY, UDP, "192.0.2.1", "k1",
			NULL, "+a" },

	/* Protocols and certificates. */
	{ "protocol", ACL("a", "acl:\n  - id: a\n    protocol: [udp, tls]\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.1", NULL, NULL, "+a" },
	{ "another protocol", ACL("a", "acl:\n  - id: a\n    protocol: [udp, tls]\n    action: notify\n"), NOTIFY, TCP,
			"192.0.2.1", NULL, NULL, "-" },
	{ "certificate", ACL("a", "acl:\n  - id: a\n    cert-hostname: h\n    action: notify\n"), NOTIFY, TCP,
			"192.0.2.1", NULL, NULL, "-" },

	/* Remotes. */
	{ "remote", ACL("a", "acl:\n  - id: a\n    remote: r1\n    action: notify\n"), NOTIFY, UDP, "192.0.2.1", NULL,
			NULL, "+a r1" },
	{ "remote, its other address", ACL("a", "acl:\n  - id: a\n    remote: r1\n    action: notify\n"), NOTIFY, UDP,
			"2001:db8::1", NULL, NULL, "+a r1" },
	{ "remote, another address", ACL("a", "acl:\n  - id: a\n    remote: r1\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.9", NULL, NULL, "-" },
	{ "remote without key, signed", ACL("a", "acl:\n  - id: a\n    remote: r1\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.1", "k1", NULL, "-" },
	{ "remote without key, signed, deny", ACL("d", "acl:\n  - id: d\n    remote: r1\n    deny: on\n"), NOTIFY, UDP,
			"192.0.2.1", "k1", NULL, "-d r1" },
	{ "remote without key, signed, forwarded",
			ACL("a", "    master: r2\nacl:\n  - id: a\n    remote: r1\n    action: update\n"), UPDATE, UDP,
			"192.0.2.1", "unknown", NULL, "+a r1" },
	{ "remote with key", ACL("a", "acl:\n  - id: a\n    remote: [r1, r2]\n    action: notify\n"), NOTIFY, UDP,
			"192.0.2.2", "k2", NULL, "+a r2" },
	{ "remote with key, unsigned", ACL("a", "acl:\n  - id: a\n    remote: [r1, r2]\n    action: notify\n"), NOTIFY,
			UDP, "192.0.2.2", NULL, NULL, "-" },
	{ "remote by path", ACL("a", "acl:\n  - id: a\n    remote: r2\n    action: notify\n"), NOTIFY, TCP, "/run/peer",
			"k2", NULL, "+a r2" },
	{ "group", ACL("a", "acl:\n  - id: a\n    remote: g\n    action: notify\n"), NOTIFY, UDP, "192.0.2.3", NULL,
			NULL, "+a r3" },
	{ "remote over TLS, by TCP", ACL("a", "acl:\n  - id: a\n    remote: [rtls, rquic]\n    action: notify\n"),
			NOTIFY, TCP, "192.0.2.4", NULL, NULL, "-" },
	{ "remote over TLS", ACL("a", "acl:\n  - id: a\n    remote: rtls\n    action: notify\n"), NOTIFY, TLS,
			"192.0.2.4", NULL, NULL, "+a rtls" },
	{ "remote over QUIC", ACL("a", "acl:\n  - id: a\n    remote: rquic\n    action: notify\n"), NOTIFY, QUIC,
			"192.0.2.4", NULL, NULL, "+a rquic" },
	{ "remote with a certificate", ACL("a", "acl:\n  - id: a\n    remote: rcert\n    action: notify\n"), NOTIFY,
			TLS, "192.0.2.5", NULL, NULL, "-" },
	{ "remotes that were cleared", ACL("a", "acl:\n  - id: a\n    remote: r1\n    action: notify\nclear: remote\n"),
			NOTIFY, UDP, "192.0.2.1", NULL, NULL, "-" },
	{ "keys that were cleared", ACL("a", "acl:\n  - id: a\n    key: k1\n    action: notify\nclear: key\n"), NOTIFY,
			UDP, "192.0.2.1", NULL, NULL, "-" },

	/* automatic-acl. */
	{ "automatic NOTIFY",
			"    master: r1\n"
			"server:\n    automatic-acl: on\n",
			NOTIFY, UDP, "192.0.2.1", NULL, NULL, "+auto r1" },
	{ "automatic, off", "    master: r1\n", NOTIFY, UDP, "192.0.2.1", NULL, NULL, "-" },
	{ "automatic, a master may not transfer",
			"    master: r1\n"
			"server:\n    automatic-acl: on\n",
			TRANSFER, TCP, "192.0.2.1", NULL, NULL, "-" },
	{ "automatic transfer",
			"    notify: [r1, g]\n"
			"server:\n    automatic-acl: on\n",
			TRANSFER, TCP, "192.0.2.2", "k2", NULL, "+auto r2" },
	{ "automatic transfer, unsigned",
			"    notify: [r1, g]\n"
			"server:\n    automatic-acl: on\n",
			TRANSFER, TCP, "192.0.2.2", NULL, NULL, "-" },
	{ "automatic query",
			"    notify: g\n"
			"server:\n    automatic-acl: on\n",
			QUERY, UDP, "192.0.2.2", "k2", NULL, "+auto r2" },
	{ "automatic, the remote's is off",
			"    notify: g\n"
			"server:\n    automatic-acl: on\n",
			TRANSFER, TCP, "192.0.2.3", NULL, NULL, "-" },
	{ "automatic, never an update",
			"    master: r1\n    notify: r1\n"
			"server:\n    automatic-acl: on\n",
			UPDATE, TCP, "192.0.2.1", NULL, "", "-" },
	{ "automatic before a rule that denies",
			"    master: r1\n    acl: d\n"
			"server:\n    automatic-acl: on\nacl:\n  - id: d\n"
			"    deny: on\n",
			NOTIFY, UDP, "192.0.2.1", NULL, NULL, "+auto r1" },

	/* Updates: what may be changed. */
	{ "update", ACL("a", "acl:\n  - id: a\n    action: update\n"), UPDATE, UDP, "192.0.2.1", NULL, "x. A", "+a" },
	{ "type", ACL("a", "acl:\n  - id: a\n    action: update\n    update-type: [A, TXT]\n"), UPDATE, UDP,
			"192.0.2.1", NULL, "x. A y. TXT", "+a" },
	{ "another type among them", ACL("a", "acl:\n  - id: a\n    action: update\n    update-type: [A, TXT]\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "x. A y. AAAA", "-" },
	{ "type, next rule",
			ACL("[a, b]", "acl:\n  - id: a\n    action: update\n    update-type: A\n  - id: b\n"
				      "    action: update\n    update-type: AAAA\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "y. AAAA", "+b" },
	{ "type, denied",
			ACL("[a, b]", "acl:\n  - id: a\n    action: update\n    deny: on\n    update-type: A\n  - id: "
				      "b\n"
				      "    action: update\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "y. A", "-a" },
	{ "type, prerequisites aren't looked at", ACL("a", "acl:\n  - id: a\n    action: update\n    update-type: A\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "", "+a" },
	{ "no type for other actions",
			ACL("a", "acl:\n  - id: a\n    action: [transfer, update]\n    update-type: A\n"), TRANSFER,
			TCP, "192.0.2.1", NULL, NULL, "+a" },
	{ "owner key",
			ACL("a", "acl:\n  - id: a\n    key: host.z.example\n    action: update\n    update-owner: "
				 "key\n"),
			UPDATE, UDP, "192.0.2.1", "host.z.example", "HOST.z.example. A a.host.z.example. A", "+a" },
	{ "owner key, above it",
			ACL("a", "acl:\n  - id: a\n    key: host.z.example\n    action: update\n"
				 "    update-owner: key\n"),
			UPDATE, UDP, "192.0.2.1", "host.z.example", "z.example. A", "-" },
	{ "owner key, unsigned", ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: key\n"), UPDATE, UDP,
			"192.0.2.1", NULL, "host.z.example. A", "-" },
	{ "owner key, equal",
			ACL("a", "acl:\n  - id: a\n    key: host.z.example\n    action: update\n    update-owner: key\n"
				 "    update-owner-match: equal\n"),
			UPDATE, UDP, "192.0.2.1", "host.z.example", "a.host.z.example. A", "-" },
	{ "owner zone", ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: zone\n"), UPDATE, UDP,
			"192.0.2.1", NULL, "z.example. A a.b.z.example. A", "+a" },
	{ "owner zone, sub",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: zone\n"
				 "    update-owner-match: sub\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "a.z.example. A", "+a" },
	{ "owner zone, sub, the apex",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: zone\n"
				 "    update-owner-match: sub\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "z.example. A", "-" },
	{ "owner name, no names", ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"), UPDATE,
			UDP, "192.0.2.1", NULL, "z.example. A", "+a" },
	{ "owner name, relative",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"
				 "    update-owner-name: [x, b]\n    update-owner-match: equal\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "b.z.example. A x.z.example. A", "+a" },
	{ "owner name, absolute",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"
				 "    update-owner-name: b.z.example.\n    update-owner-match: equal\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "b.z.example. A", "+a" },
	{ "owner name, absolute elsewhere",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"
				 "    update-owner-name: b.\n    update-owner-match: equal\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "b.z.example. A", "-" },
	{ "owner name, pattern",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"
				 "    update-owner-name: \"_acme.*.b\"\n    update-owner-match: pattern\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "_ACME.x.b.z.example. A", "+a" },
	{ "pattern, one label too many",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"
				 "    update-owner-name: \"_acme.*.b\"\n    update-owner-match: pattern\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "_acme.x.y.b.z.example. A", "-" },
	{ "pattern, another label",
			ACL("a", "acl:\n  - id: a\n    action: update\n    update-owner: name\n"
				 "    update-owner-name: \"_acme.*.b\"\n    update-owner-match: pattern\n"),
			UPDATE, UDP, "192.0.2.1", NULL, "_other.x.b.z.example. A", "-" },
	{ "forwarded update, signed by a key that isn't known",
			"    master: r1\n    acl: a\nacl:\n  - id: a\n    action: update\n", UPDATE, UDP, "192.0.2.1",
			"unknown", "x. A", "+a" },
	{ "not forwarded", "    acl: a\nacl:\n  - id: a\n    action: update\n", UPDATE, UDP, "192.0.2.1", "unknown",
			"x. A", "-" },
	{ "forwarding is off",
			"    master: r1\n    ddns-master: \"\"\n    dnssec-signing: on\n    acl: a\nacl:\n  - id: a\n  "
			"  action: update\n",
			UPDATE, UDP, "192.0.2.1", "unknown", "x. A", "-" },
	{ "forwarded to another server",
			"    master: r1\n    ddns-master: r2\n    acl: a\nacl:\n  - id: a\n    action: update\n",
			UPDATE, UDP, "192.0.2.1", "unknown", "x. A", "+a" },
};

/* items: of the zone, indented; then other sections, with `server:` among them. */
static conf_t *make_conf(const char *items)
{
	char text[4096];
	size_t own_len = 0;
	while (items[own_len] == ' ') {
		own_len += strcspn(items + own_len, "\n") + 1;
	}
	/* A rule must stand before the zone that refers to it. */
	(void)snprintf(text, sizeof(text), "%s%szone:\n  - domain: z.example\n%.*s", common, items + own_len,
			(int)own_len, items);
	const char *clear = strstr(items, "clear:");
	if (clear != NULL) { /* and what is cleared, after all that refers to it */
		(void)snprintf(text, sizeof(text), "%s%.*szone:\n  - domain: z.example\n%.*s%s", common,
				(int)(clear - items - (ptrdiff_t)own_len), items + own_len, (int)own_len, items, clear);
	}
	return build_text(text);
}

static struct sockaddr_storage make_source(const char *text)
{
	struct sockaddr_storage ss = { 0 };
	if (text[0] == '/') {
		struct sockaddr_un *un = (struct sockaddr_un *)&ss;
		un->sun_family = AF_UNIX;
		memcpy(un->sun_path, text, strlen(text) + 1);
	} else if (strchr(text, ':') != NULL) {
		ss.ss_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &((struct sockaddr_in6 *)&ss)->sin6_addr), 1);
		((struct sockaddr_in6 *)&ss)->sin6_port = 12345;
	} else {
		ss.ss_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, text, &((struct sockaddr_in *)&ss)->sin_addr), 1);
		((struct sockaddr_in *)&ss)->sin_port = 12345;
	}
	return ss;
}

static knot_name_t scan_name(const char *text, size_t len, uint8_t ret_wire[static KNOT_NAME_MAX])
{
	knot_name_t name;
	assert_int_equal(knot_name_scan((knot_str_t){ text, len }, knot_name_root, ret_wire, &name), KNOT_OK);
	return name;
}

/* "name" has the algorithm of the key k1, but k2 its own; "name/sha1". */
static knot_tsig_t make_tsig(const char *text, uint8_t ret_wire[static KNOT_NAME_MAX])
{
	size_t len = strcspn(text, "/");
	bool is_sha1 = text[len] == '/' || strcmp(text, "k2") == 0;
	return (knot_tsig_t){
		.key = scan_name(text, len, ret_wire),
		.algorithm = knot_tsig_algorithm_name(is_sha1 ? KNOT_TSIG_HMAC_SHA1 : KNOT_TSIG_HMAC_SHA256),
	};
}

/* With a prerequisite about a name that no rule allows. */
static size_t make_update(const char *records, uint8_t *room, size_t room_len)
{
	knot_msg_writer_t w;
	uint8_t wire[KNOT_NAME_MAX];
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, room_len });
	assert_int_equal(knot_msg_put_question(&w, scan_name("z.example.", 10, wire), KNOT_TYPE_SOA, KNOT_CLASS_IN),
			KNOT_OK);
	knot_name_t name = scan_name("elsewhere.", 10, wire);
	assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_ANSWER, name, KNOT_TYPE_MX, KNOT_CLASS_ANY, 0,
					 (knot_bytes_t){ 0 }),
			KNOT_OK);
	while (*records != '\0') {
		size_t len = strcspn(records, " ");
		const char *type = records + len + 1;
		name = scan_name(records, len, wire);
		uint16_t number = strncmp(type, "AAAA", 4) == 0  ? KNOT_TYPE_AAAA
				  : strncmp(type, "TXT", 3) == 0 ? KNOT_TYPE_TXT
								 : KNOT_TYPE_A;
		assert_int_equal(knot_msg_put_rr(&w, KNOT_SECTION_AUTHORITY, name, number, KNOT_CLASS_ANY, 0,
						 (knot_bytes_t){ 0 }),
				KNOT_OK);
		records = type + strcspn(type, " ");
		records += *records == ' ';
	}
	return knot_msg_finish(&w, 1, KNOT_OPCODE_UPDATE << 11);
}

static void print_verdict(access_verdict_t verdict, char *ret_text, size_t max)
{
	(void)snprintf(ret_text, max, "%s%s%s%s", verdict.is_allowed ? "+" : "-",
			verdict.is_automatic   ? "auto"
			: verdict.rule != NULL ? verdict.rule->id
					       : "",
			verdict.remote != NULL ? " " : "", verdict.remote != NULL ? verdict.remote->id : "");
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		const row_t *row = &rows[i];
		conf_t *conf = make_conf(row->conf);
		conf_zone_t zone = conf_zone(conf, 0);
		uint8_t key_wire[KNOT_NAME_MAX], room[1024];
		knot_tsig_t tsig;
		struct sockaddr_storage source = make_source(row->source);
		access_facts_t facts = {
			.action = (conf_action_t)row->action,
			.protocol = row->protocol,
			.source = (const struct sockaddr *)&source,
			.message = { room, 0 },
		};
		if (row->key != NULL) {
			tsig = make_tsig(row->key, key_wire);
			facts.tsig = &tsig;
		}
		if (row->update != NULL) {
			facts.message.len = make_update(row->update, room, sizeof(room));
		}
		access_verdict_t verdict = access_check(conf->server.automatic_acl, &zone, &facts);
		char got[128];
		print_verdict(verdict, got, sizeof(got));
		if (strcmp(got, row->want) != 0) {
			fail_msg("%s: %s, not %s", row->what, got, row->want);
		}
		/* A signed request that is allowed has a key to verify it with, unless it's forwarded. */
		bool has_known_key = row->key != NULL && strcmp(row->key, "unknown") != 0;
		assert_int_equal(verdict.key != NULL, verdict.is_allowed && has_known_key);
		if (verdict.key != NULL) {
			assert_true(knot_tsig_is_of(facts.tsig, &verdict.key->tsig));
		}
		conf_free(conf);
	}
}

/* A request whose source isn't known, as in tests of the engine: rules with addresses don't match. */
static void test_no_source(void **state)
{
	(void)state;
	conf_t *conf = make_conf(
			ACL("[a, b]", "acl:\n  - id: a\n    address: 0.0.0.0/0\n    action: notify\n  - id: b\n"
				      "    remote: r1\n    action: notify\n"));
	conf_zone_t zone = conf_zone(conf, 0);
	const access_facts_t facts = { .action = CONF_ACTION_NOTIFY, .protocol = UDP };
	assert_false(access_check(true, &zone, &facts).is_allowed);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_source),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
