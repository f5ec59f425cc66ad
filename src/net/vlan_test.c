/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/vlan.h"

#include "libknot/base/bytes.h"
#include "src/sys/netlink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static kxdp_tag_t tag(uint16_t type, uint16_t id)
{
	kxdp_tag_t tag;
	store_be16((uint8_t *)&tag.type_be, type);
	store_be16((uint8_t *)&tag.control_be, id);
	return tag;
}

static void test_resolve(void **state)
{
	(void)state;
	const vlan_device_t vlans[] = {
		{ 12, 11, tag(0x8100, 200) }, /* on a VLAN device itself */
		{ 11, 2, tag(0x88a8, 100) }, { 10, 2, tag(0x8100, 5) }, { 13, 12, tag(0x8100, 3) }, /* three tags */
	};
	vlan_table_t *table = vlan_table_of(vlans, KNOT_LEN(vlans));
	assert_non_null(table);
	const struct {
		uint32_t ifindex;
		bool ok;
		uint32_t below;
		uint8_t tag_count;
		kxdp_tag_t tags[KXDP_TAGS_MAX];
	} rows[] = {
		{ 2, true, 2, 0, { { 0 } } },
		{ 10, true, 2, 1, { tag(0x8100, 5) } },
		{ 11, true, 2, 1, { tag(0x88a8, 100) } },
		{ 12, true, 2, 2, { tag(0x88a8, 100), tag(0x8100, 200) } },
		{ 13, false, 0, 0, { { 0 } } },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		kxdp_path_t path = { .ifindex = rows[i].ifindex };
		bool ok = vlan_resolve(table, &path);
		if (ok != rows[i].ok ||
				(ok && (path.ifindex != rows[i].below || path.tag_count != rows[i].tag_count ||
						       memcmp(path.tags, rows[i].tags, sizeof(path.tags)) != 0))) {
			fail_msg("interface %u", rows[i].ifindex);
		}
	}
	kxdp_path_t path = { .ifindex = 10 };
	assert_true(vlan_resolve(NULL, &path));
	assert_int_equal(path.ifindex, 10);
	free(table);
}

/* As `ip link add link eth0 name up type vlan protocol 802.1ad id 300` appears in a dump, but for its last 4 bytes. */
static const uint8_t dump[] = {
	/* nlmsghdr: len 80, RTM_NEWLINK */
	80, 0, 0, 0, 16, 0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	/* ifinfomsg: index 9 */
	0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	/* IFLA_IFNAME "up" */
	7, 0, 3, 0, 'u', 'p', 0, 0,
	/* IFLA_LINK 2 */
	8, 0, 5, 0, 2, 0, 0, 0,
	/* IFLA_LINKINFO, nested: 32 bytes */
	32, 0, 18, 0, 9, 0, 1, 0, 'v', 'l', 'a', 'n', 0, 0, 0, 0, 16, 0, 2, 0, 6, 0, 1, 0, 44, 1, 0, 0, 6, 0, 5,
	0, /* id 300; the protocol's value follows */
};

/* True: there is more to come. */
static bool parse(const uint8_t *messages, size_t len, vlan_device_t *devices, size_t max, size_t *io_count)
{
	vlan_gather_t gather = { devices, *io_count, max };
	bool interrupted = false;
	knot_err_t err;
	netlink_walk_t walk = netlink_walk(messages, len, vlan_see, &gather, &interrupted, &err);
	assert_false(interrupted);
	*io_count = gather.count;
	return walk == NETLINK_MORE;
}

static void test_parse(void **state)
{
	(void)state;
	/* The last attribute of `dump` is completed here so that its length is right. */
	uint8_t messages[sizeof(dump) + 4 + 20];
	memcpy(messages, dump, sizeof(dump));
	static const uint8_t protocol[] = { 0x88, 0xa8, 0, 0 };
	memcpy(messages + sizeof(dump), protocol, sizeof(protocol));
	messages[0] = (uint8_t)(sizeof(dump) + 4);
	messages[48] = 36;      /* IFLA_LINKINFO */
	messages[48 + 16] = 20; /* IFLA_INFO_DATA */
	uint8_t *done = messages + sizeof(dump) + 4;
	memset(done, 0, 20);
	done[0] = 20;
	done[4] = 3; /* NLMSG_DONE */

	vlan_device_t vlans[4];
	size_t count = 0;
	assert_true(parse(messages, sizeof(dump) + 4, vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, 1);
	assert_int_equal(vlans[0].ifindex, 9);
	assert_int_equal(vlans[0].lower_ifindex, 2);
	kxdp_tag_t want = tag(0x88a8, 300);
	assert_memory_equal(&vlans[0].tag, &want, sizeof(want));
	assert_false(parse(messages, sizeof(messages), vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, 2);
	count = KNOT_LEN(vlans);
	assert_true(parse(messages, sizeof(dump) + 4, vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, KNOT_LEN(vlans));

	/* Cut short anywhere: no VLAN device, no read beyond the end. */
	for (size_t len = 1; len < sizeof(dump) + 4; len++) {
		uint8_t *copy = malloc(len);
		assert_non_null(copy);
		memcpy(copy, messages, len);
		count = 0;
		assert_false(parse(copy, len, vlans, KNOT_LEN(vlans), &count));
		assert_int_equal(count, 0);
		free(copy);
	}
	/* Another kind of device that has the same attributes. */
	memcpy(messages + 48 + 8, "vlax", 4);
	count = 0;
	assert_true(parse(messages, sizeof(dump) + 4, vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, 0);
}

static void test_read(void **state)
{
	(void)state;
	/* What this machine has is not known here; that the kernel's answer is understood to its end is. */
	vlan_table_t *table;
	assert_int_equal(vlan_table_new(&table), KNOT_OK);
	assert_true(table->count <= VLAN_DEVICES_MAX);
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
