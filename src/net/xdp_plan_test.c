/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/xdp_plan.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Addresses and their interfaces. */
static const struct {
	const char *ip, *ifname;
} system_addresses[] = {
	{ "192.0.2.1", "eth0" },
	{ "2001:db8::1", "eth0" },
	{ "198.51.100.1", "eth1" },
};

static knot_err_t find_nothing(const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE], kxdp_fault_t *ret_fault)
{
	(void)sa;
	(void)ret_ifname;
	*ret_fault = (kxdp_fault_t){ .err = KNOT_EIO, .text = "too many open files" };
	return KNOT_EIO;
}

static knot_err_t find(const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE], kxdp_fault_t *ret_fault)
{
	char ip[INET6_ADDRSTRLEN];
	bool is_ipv4 = sa->sa_family == AF_INET;
	inet_ntop(sa->sa_family,
			is_ipv4 ? (const void *)&((const struct sockaddr_in *)sa)->sin_addr
				: (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr,
			ip, sizeof(ip));
	for (size_t i = 0; i < KNOT_LEN(system_addresses); i++) {
		if (strcmp(ip, system_addresses[i].ip) == 0) {
			snprintf(ret_ifname, IF_NAMESIZE, "%s", system_addresses[i].ifname);
			return KNOT_OK;
		}
	}
	*ret_fault = (kxdp_fault_t){ .err = KNOT_ENODEV, .text = "no interface has this address" };
	return KNOT_ENODEV;
}

enum { LISTENS_MAX = 40 };

/* Listens from texts such as "eth0", "192.0.2.1"; ports in order of `ports`. */
static conf_xdp_t conf_of(const char *const *texts, const uint16_t *ports, size_t count, conf_xdp_listen_t *listens)
{
	for (size_t i = 0; i < count; i++) {
		listens[i] = (conf_xdp_listen_t){ .text = texts[i], .port = ports != NULL ? ports[i] : 53 };
		struct sockaddr_in *v4 = (struct sockaddr_in *)&listens[i].addr;
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&listens[i].addr;
		if (inet_pton(AF_INET, texts[i], &v4->sin_addr) == 1) {
			v4->sin_family = AF_INET;
		} else if (inet_pton(AF_INET6, texts[i], &v6->sin6_addr) == 1) {
			v6->sin6_family = AF_INET6;
		} else {
			listens[i].addr = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
			snprintf(listens[i].ifname, sizeof(listens[i].ifname), "%s", texts[i]);
		}
	}
	return (conf_xdp_t){ .listen = { listens, count }, .udp = true, .ring_size = 2048, .zero_copy = true };
}

static void listens_are_sorted_by_interface(void **state)
{
	(void)state;
	static const char *const texts[] = { "192.0.2.1", "eth2", "203.0.113.9", "2001:db8::1", "198.51.100.1",
		"2001:db8::9" };
	conf_xdp_listen_t listens[LISTENS_MAX];
	conf_xdp_t conf = conf_of(texts, NULL, KNOT_LEN(texts), listens);
	conf.tcp = true;
	static const struct {
		const char *ifname, *text;
		size_t count;
	} want[] = {
		{ "eth0", "192.0.2.1 2001:db8::1", 2 },
		{ "eth2", "eth2", 1 },
		{ "", "203.0.113.9", 1 },
		{ "eth1", "198.51.100.1", 1 },
		{ "", "2001:db8::9", 1 },
	};
	xdp_plan_t plan;
	assert_int_equal(xdp_plan_make(&conf, find, &plan), KNOT_OK);
	assert_int_equal(plan.count, KNOT_LEN(want));
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		assert_string_equal(plan.wants[i].ifname, want[i].ifname);
		assert_string_equal(plan.wants[i].text, want[i].text);
		assert_int_equal(plan.wants[i].listen_count, want[i].count);
		assert_true(plan.wants[i].udp && plan.wants[i].tcp && plan.wants[i].zero_copy);
		assert_int_equal(plan.wants[i].fault.text[0] != '\0', want[i].ifname[0] == '\0');
	}
	assert_string_equal(xdp_want_protocols(&plan.wants[0]), "UDP/TCP");
	xdp_plan_done(&plan);
	/* Not to know where an address is is another thing than to know that it is nowhere. */
	assert_int_equal(xdp_plan_make(&conf, find_nothing, &plan), KNOT_EIO);
	xdp_plan_done(&plan);
}

static void too_many_listens_name_their_interface(void **state)
{
	(void)state;
	const char *texts[LISTENS_MAX] = { "198.51.100.1" };
	for (size_t i = 1; i < LISTENS_MAX; i++) {
		texts[i] = "192.0.2.1";
	}
	conf_xdp_listen_t listens[LISTENS_MAX];
	conf_xdp_t conf = conf_of(texts, NULL, 1 + KXDP_LISTEN_MAX, listens);
	xdp_plan_t plan;
	assert_int_equal(xdp_plan_make(&conf, find, &plan), KNOT_OK);
	assert_int_equal(plan.wants[1].listen_count, KXDP_LISTEN_MAX);
	assert_true(strlen(plan.wants[1].text) < sizeof(plan.wants[1].text));
	xdp_plan_done(&plan);
	conf = conf_of(texts, NULL, 2 + KXDP_LISTEN_MAX, listens);
	assert_int_equal(xdp_plan_make(&conf, find, &plan), KNOT_ESPACE);
	assert_string_equal(plan.wants[plan.count - 1].ifname, "eth0");
	xdp_plan_done(&plan);
}

static xdp_want_t only_want(const conf_xdp_t *conf)
{
	xdp_plan_t plan;
	assert_int_equal(xdp_plan_make(conf, find, &plan), KNOT_OK);
	assert_int_equal(plan.count, 1);
	xdp_want_t want = plan.wants[0];
	xdp_plan_done(&plan);
	return want;
}

static void differences_have_their_effect(void **state)
{
	(void)state;
	static const char *const eth0[] = { "eth0" }, *const v4[] = { "192.0.2.1" }, *const eth1[] = { "eth1" },
				 *const lost[] = { "203.0.113.9" }, *const lost2[] = { "203.0.113.10" };
	static const uint16_t other_port[] = { 5353 };
	static const struct {
		const char *what;
		const char *const *texts;
		const uint16_t *ports;
		bool tcp, route_check, copy, small, busy;
		bool meets, opens_alike, serves_alike;
	} rows[] = {
		{ "nothing", eth0, NULL, false, false, false, false, false, true, true, true },
		{ "port", eth0, other_port, false, false, false, false, false, true, true, false },
		{ "only one address", v4, NULL, false, false, false, false, false, true, true, false },
		{ "TCP", eth0, NULL, true, false, false, false, false, true, true, false },
		{ "route check", eth0, NULL, false, true, false, false, false, true, true, false },
		{ "zero copy", eth0, NULL, false, false, true, false, false, true, false, true },
		{ "ring size", eth0, NULL, false, false, false, true, false, true, false, true },
		{ "busy polling", eth0, NULL, false, false, false, false, true, true, false, true },
		{ "interface", eth1, NULL, false, false, false, false, false, false, true, true },
	};
	conf_xdp_listen_t listens[LISTENS_MAX];
	conf_xdp_t conf = conf_of(eth0, NULL, 1, listens);
	const xdp_want_t base = only_want(&conf);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		conf = conf_of(rows[i].texts, rows[i].ports, 1, listens);
		conf.tcp = rows[i].tcp;
		conf.route_check = rows[i].route_check;
		conf.zero_copy = !rows[i].copy;
		conf.ring_size = rows[i].small ? 64 : 2048;
		conf.busypoll_budget = rows[i].busy ? 16 : 0;
		const xdp_want_t other = only_want(&conf);
		if (xdp_want_meets(&base, &other) != rows[i].meets ||
				xdp_want_opens_alike(&base, &other) != rows[i].opens_alike ||
				xdp_want_serves_alike(&base, &other) != rows[i].serves_alike) {
			fail_msg("%s", rows[i].what);
		}
	}
	conf = conf_of(lost, NULL, 1, listens);
	const xdp_want_t a = only_want(&conf), again = only_want(&conf);
	conf = conf_of(lost2, NULL, 1, listens);
	const xdp_want_t b = only_want(&conf);
	assert_true(xdp_want_meets(&a, &again));
	assert_false(xdp_want_meets(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listens_are_sorted_by_interface),
		cmocka_unit_test(too_many_listens_name_their_interface),
		cmocka_unit_test(differences_have_their_effect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
