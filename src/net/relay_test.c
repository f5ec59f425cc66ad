/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/net/relay.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

static relay_inbox_t *join(relay_t *relay, uint32_t ifindex, int wake_fd)
{
	relay_inbox_t *inbox = NULL;
	assert_int_equal(relay_join(relay, ifindex, wake_fd, &inbox), KNOT_OK);
	return inbox;
}

static relay_result_t send_text(const relay_t *relay, uint32_t ifindex, uint32_t hint, const char *text)
{
	RCU_READ_SECTION(guard);
	return relay_send(relay_table(relay, guard), ifindex, hint, (const uint8_t *)text, strlen(text));
}

static void expect_text(relay_inbox_t *inbox, const char *text)
{
	uint8_t frame[RELAY_FRAME_MAX];
	size_t len = relay_inbox_take(inbox, frame);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(frame, text, len);
}

static void test_ports(void **state)
{
	(void)state;
	relay_t *relay;
	assert_int_equal(relay_new(&relay), KNOT_OK);
	assert_int_equal(send_text(relay, 7, 0, "a"), RELAY_NO_PORT);
	relay_inbox_t *seven = join(relay, 7, -1), *three = join(relay, 3, -1), *seven_too = join(relay, 7, -1);
	assert_int_equal(send_text(relay, 3, 5, "three"), RELAY_SENT);
	assert_int_equal(send_text(relay, 7, 0, "even"), RELAY_SENT);
	assert_int_equal(send_text(relay, 7, 1, "odd"), RELAY_SENT);
	assert_int_equal(send_text(relay, 8, 0, "eight"), RELAY_NO_PORT);
	expect_text(three, "three");
	expect_text(seven, "even");
	expect_text(seven_too, "odd");
	uint8_t frame[RELAY_FRAME_MAX];
	assert_int_equal(relay_inbox_take(seven, frame), 0);
	relay_leave(relay, seven);
	assert_int_equal(send_text(relay, 7, 0, "left"), RELAY_SENT);
	expect_text(seven_too, "left");
	relay_leave(relay, seven_too);
	assert_int_equal(send_text(relay, 7, 0, "gone"), RELAY_NO_PORT);
	relay_leave(relay, three);
	relay_free(relay);
}

static void test_full(void **state)
{
	(void)state;
	relay_t *relay;
	assert_int_equal(relay_new(&relay), KNOT_OK);
	relay_inbox_t *inbox = join(relay, 1, -1);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < RELAY_INBOX_SLOTS; i++) {
			assert_int_equal(send_text(relay, 1, i, "x"), RELAY_SENT);
		}
		assert_int_equal(send_text(relay, 1, 0, "too many"), RELAY_FULL);
		for (unsigned i = 0; i < RELAY_INBOX_SLOTS; i++) {
			expect_text(inbox, "x");
		}
	}
	relay_leave(relay, inbox);
	relay_free(relay);
}

static eventfd_t wakes(int fd)
{
	eventfd_t count = 0;
	(void)eventfd_read(fd, &count);
	return count;
}

static void test_wake(void **state)
{
	(void)state;
	relay_t *relay;
	assert_int_equal(relay_new(&relay), KNOT_OK);
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	relay_inbox_t *inbox = join(relay, 1, fd);
	assert_int_equal(send_text(relay, 1, 0, "busy"), RELAY_SENT);
	assert_int_equal(wakes(fd), 0);
	assert_false(relay_inbox_sleep(inbox)); /* there is a frame */
	assert_int_equal(send_text(relay, 1, 0, "still busy"), RELAY_SENT);
	assert_int_equal(wakes(fd), 0);
	expect_text(inbox, "busy");
	expect_text(inbox, "still busy");
	assert_true(relay_inbox_sleep(inbox));
	assert_int_equal(send_text(relay, 1, 0, "one"), RELAY_SENT);
	assert_int_equal(send_text(relay, 1, 0, "two"), RELAY_SENT);
	assert_int_equal(wakes(fd), 1);
	relay_inbox_awake(inbox);
	relay_leave(relay, inbox);
	close(fd);
	relay_free(relay);
}

/* Several senders, one receiver that sleeps now and then: nothing is lost, doubled or out of a sender's order. */
enum { SENDERS = 3, FRAMES = 20000 };

typedef struct {
	const relay_t *relay;
	uint32_t number;
} sender_t;

static void *send_many(void *arg)
{
	const sender_t *sender = arg;
	sys_rcu_register();
	for (uint32_t i = 0; i < FRAMES;) {
		uint32_t frame[2] = { sender->number, i };
		RCU_READ_SECTION(guard);
		i += relay_send(relay_table(sender->relay, guard), 1, 0, (const uint8_t *)frame, sizeof(frame)) ==
		     RELAY_SENT;
	}
	sys_rcu_unregister();
	return NULL;
}

static void test_senders(void **state)
{
	(void)state;
	relay_t *relay;
	assert_int_equal(relay_new(&relay), KNOT_OK);
	int fd = eventfd(0, EFD_CLOEXEC);
	relay_inbox_t *inbox = join(relay, 1, fd);
	pthread_t threads[SENDERS];
	sender_t senders[SENDERS];
	for (uint32_t i = 0; i < SENDERS; i++) {
		senders[i] = (sender_t){ relay, i };
		assert_int_equal(pthread_create(&threads[i], NULL, send_many, &senders[i]), 0);
	}
	uint32_t next[SENDERS] = { 0 };
	for (unsigned left = SENDERS * FRAMES; left > 0;) {
		uint8_t frame[RELAY_FRAME_MAX];
		size_t len = relay_inbox_take(inbox, frame);
		if (len == 0) {
			if (relay_inbox_sleep(inbox)) {
				eventfd_t count;
				assert_int_equal(eventfd_read(fd, &count), 0); /* blocks: a lost wake hangs the test */
			}
			relay_inbox_awake(inbox);
			continue;
		}
		uint32_t values[2];
		assert_int_equal(len, sizeof(values));
		memcpy(values, frame, sizeof(values));
		assert_true(values[0] < SENDERS);
		assert_int_equal(values[1], next[values[0]]++);
		left--;
	}
	for (uint32_t i = 0; i < SENDERS; i++) {
		pthread_join(threads[i], NULL);
	}
	relay_leave(relay, inbox);
	close(fd);
	relay_free(relay);
}

/* ---- VLAN devices ---- */

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
	relay_t *relay;
	assert_int_equal(relay_new(&relay), KNOT_OK);
	const relay_vlan_t vlans[] = {
		{ 12, 11, tag(0x8100, 200) }, /* on a VLAN device itself */
		{ 11, 2, tag(0x88a8, 100) },
		{ 10, 2, tag(0x8100, 5) },
		{ 13, 12, tag(0x8100, 3) }, /* three tags */
	};
	assert_int_equal(relay_set_vlans(relay, vlans, KNOT_LEN(vlans)), KNOT_OK);
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
	{
		RCU_READ_SECTION(guard);
		for (size_t i = 0; i < KNOT_LEN(rows); i++) {
			kxdp_path_t path = { .ifindex = rows[i].ifindex };
			bool ok = relay_resolve(relay_table(relay, guard), &path);
			if (ok != rows[i].ok ||
			    (ok && (path.ifindex != rows[i].below || path.tag_count != rows[i].tag_count ||
				    memcmp(path.tags, rows[i].tags, sizeof(path.tags)) != 0))) {
				fail_msg("interface %u", rows[i].ifindex);
			}
		}
	}
	relay_free(relay);
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
	32, 0, 18, 0,
	9, 0, 1, 0, 'v', 'l', 'a', 'n', 0, 0, 0, 0,
	16, 0, 2, 0, 6, 0, 1, 0, 44, 1, 0, 0, 6, 0, 5, 0, /* id 300; the protocol's value follows */
};

static void test_parse(void **state)
{
	(void)state;
	/* The last attribute of `dump` is completed here so that its length is right. */
	uint8_t messages[sizeof(dump) + 4 + 20];
	memcpy(messages, dump, sizeof(dump));
	static const uint8_t protocol[] = { 0x88, 0xa8, 0, 0 };
	memcpy(messages + sizeof(dump), protocol, sizeof(protocol));
	messages[0] = (uint8_t)(sizeof(dump) + 4);
	messages[48] = 36;     /* IFLA_LINKINFO */
	messages[48 + 16] = 20; /* IFLA_INFO_DATA */
	uint8_t *done = messages + sizeof(dump) + 4;
	memset(done, 0, 20);
	done[0] = 20;
	done[4] = 3; /* NLMSG_DONE */

	relay_vlan_t vlans[4];
	size_t count = 0;
	assert_true(relay_vlans_parse(messages, sizeof(dump) + 4, vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, 1);
	assert_int_equal(vlans[0].ifindex, 9);
	assert_int_equal(vlans[0].lower_ifindex, 2);
	kxdp_tag_t want = tag(0x88a8, 300);
	assert_memory_equal(&vlans[0].tag, &want, sizeof(want));
	assert_false(relay_vlans_parse(messages, sizeof(messages), vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, 2);
	count = KNOT_LEN(vlans);
	assert_true(relay_vlans_parse(messages, sizeof(dump) + 4, vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, KNOT_LEN(vlans));

	/* Cut short anywhere: no VLAN device, no read beyond the end. */
	for (size_t len = 1; len < sizeof(dump) + 4; len++) {
		uint8_t *copy = malloc(len);
		assert_non_null(copy);
		memcpy(copy, messages, len);
		count = 0;
		assert_false(relay_vlans_parse(copy, len, vlans, KNOT_LEN(vlans), &count));
		assert_int_equal(count, 0);
		free(copy);
	}
	/* Another kind of device that has the same attributes. */
	memcpy(messages + 48 + 8, "vlax", 4);
	count = 0;
	assert_true(relay_vlans_parse(messages, sizeof(dump) + 4, vlans, KNOT_LEN(vlans), &count));
	assert_int_equal(count, 0);
}

static void test_read(void **state)
{
	(void)state;
	/* What this machine has is not known here; that the kernel's answer is understood to its end is. */
	relay_vlan_t vlans[64];
	size_t count = 1000;
	assert_int_equal(relay_vlans_read(vlans, KNOT_LEN(vlans), &count), KNOT_OK);
	assert_true(count <= KNOT_LEN(vlans));
}

static int set_up(void **state)
{
	(void)state;
	sys_rcu_register();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sys_rcu_unregister();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports),   cmocka_unit_test(test_full),  cmocka_unit_test(test_wake),
		cmocka_unit_test(test_senders), cmocka_unit_test(test_resolve), cmocka_unit_test(test_parse),
		cmocka_unit_test(test_read),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
