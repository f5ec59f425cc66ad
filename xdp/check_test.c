/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kxdp_finding_t findings[KXDP_FINDINGS_MAX];
static size_t count;

static void check(const char *ifname)
{
	count = kxdp_check(&(kxdp_check_t){ .ifname = ifname }, findings, KXDP_FINDINGS_MAX);
	assert_true(count < KXDP_FINDINGS_MAX);
	for (size_t i = 0; i < count; i++) {
		assert_true(findings[i].text[0] != '\0' && strlen(findings[i].text) < sizeof(findings[i].text) - 1);
		assert_true(findings[i].severity == KXDP_CHECK_OK || findings[i].severity == KXDP_CHECK_WARNING ||
				findings[i].severity == KXDP_CHECK_ERROR);
	}
}

static const kxdp_finding_t *find(const char *id)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(findings[i].id, id) == 0) {
			return &findings[i];
		}
	}
	return NULL;
}

/* A namespace of our own, with devices made by ip(8). */
static bool enter_namespace(const char *script)
{
	return geteuid() == 0 && unshare(CLONE_NEWNET) == 0 && system(script) == 0;
}

static void test_host_only(void **state)
{
	(void)state;
	check(NULL);
	assert_non_null(find("kernel"));
	assert_non_null(find("capabilities"));
	assert_non_null(find("memory-lock"));
	assert_null(find("interface"));
	assert_null(find("mtu"));
}

static void test_no_such_interface(void **state)
{
	(void)state;
	check("nosuch0");
	assert_int_equal(find("interface")->severity, KXDP_CHECK_ERROR);
	assert_non_null(strstr(find("interface")->text, "nosuch0"));
	assert_null(find("mtu"));
}

static void test_room_for_few(void **state)
{
	(void)state;
	kxdp_finding_t few[3];
	assert_int_equal(kxdp_check(&(kxdp_check_t){ .ifname = "lo" }, few, 3), 3);
	assert_string_equal(few[0].id, "kernel");
}

static void test_ring_size_counts(void **state)
{
	(void)state;
	check(NULL);
	char before[sizeof(findings[0].text)];
	strcpy(before, find("memory-lock")->text);
	count = kxdp_check(&(kxdp_check_t){ .ring_size = 32768 }, findings, KXDP_FINDINGS_MAX);
	assert_string_not_equal(find("memory-lock")->text, before);
	assert_non_null(strstr(find("memory-lock")->text, "131072 KiB"));
}

static void test_devices(void **state)
{
	(void)state;
	if (!enter_namespace("ip link add one type veth peer name two && ip link set one up && "
			     "ip link set two up && ip address add 192.0.2.1/24 dev one && "
			     "ip link set two mtu 9000 && ip link add bridge0 type bridge && "
			     "ip link set two master bridge0")) {
		skip();
	}
	check("one");
	assert_int_equal(find("interface")->severity, KXDP_CHECK_OK);
	assert_non_null(strstr(find("kind")->text, "veth"));
	assert_string_equal(find("driver")->text, "veth");
	assert_non_null(strstr(find("addresses")->text, "1 IPv4"));
	assert_string_equal(find("mtu")->text, "1500");
	assert_string_equal(find("xdp-programs")->text, "none attached");
	assert_null(find("upper"));

	check("two");
	assert_int_equal(find("mtu")->severity, KXDP_CHECK_WARNING);
	assert_non_null(strstr(find("mtu")->advice, "ip link set dev two mtu"));
	assert_non_null(strstr(find("upper")->text, "bridge0"));

	check("bridge0");
	assert_int_equal(find("interface")->severity, KXDP_CHECK_WARNING);
	assert_non_null(strstr(find("interface")->advice, "ip link set dev bridge0 up"));
	assert_int_equal(find("kind")->severity, KXDP_CHECK_WARNING);

	char names[8][IF_NAMESIZE];
	assert_int_equal(kxdp_check_interfaces(names, 8), 2);
	assert_int_equal(kxdp_check_interfaces(names, 1), 1);
}

static void test_foreign_program(void **state)
{
	(void)state;
	/*
	 * Any program of the distribution's: xdp-tools' packet filter. ip(8) mounts a BPF file system for it: not here.
	 */
	if (access("/usr/lib/x86_64-linux-gnu/bpf/xdpfilt_alw_all.o", R_OK) != 0 ||
			!enter_namespace("ip link add one type veth peer name two && ip link set one up && "
					 "unshare -m ip link set dev one xdp obj "
					 "/usr/lib/x86_64-linux-gnu/bpf/xdpfilt_alw_all.o sec xdp "
					 ">/dev/null 2>&1")) {
		skip();
	}
	check("one");
	assert_int_equal(find("xdp-programs")->severity, KXDP_CHECK_ERROR);
	assert_non_null(strstr(find("xdp-programs")->advice, "ip link set dev one xdp off"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host_only),
		cmocka_unit_test(test_no_such_interface),
		cmocka_unit_test(test_room_for_few),
		cmocka_unit_test(test_ring_size_counts),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_foreign_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
