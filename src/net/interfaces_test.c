/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of interfaces without a network: block rules, captures, statistics, sockets in place of XDP. What is open is
 * made by hand here. What to open, reopen and close is decided in interfaces_plan.c, which has a test of its own;
 * tests/functional/test_xdp_live.py has the steps.
 */
#include "src/net/interfaces.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "src/sys/log.h"
#include "xdp/iface.h"

enum { QUEUES = 2 };

typedef struct {
	interfaces_t set;
	worker_shared_t shared;
	kxdp_iface_t iface; /* that no helper knows of */
	xdp_lane_t lanes[QUEUES];
	xdp_worker_t workers[QUEUES];
} fixture_t;

static const conf_xdp_t conf_nothing = { .udp = true, .zero_copy = true, .ring_size = 2048 };

static int set_up(void **state)
{
	static const sockets_options_t options = {
		.udp_workers = 2, .tcp_workers = 3, .shared = true, .lenient = true
	};
	fixture_t *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	sys_log_close(); /* failures are provoked here */
	sys_rcu_register();
	assert_int_equal(interfaces_init(&f->set, &f->shared, NULL, &options), KNOT_OK);
	*state = f;
	return 0;
}

/* What open_by_hand() opened isn't the set's to close. */
static void forget_by_hand(fixture_t *f)
{
	for (size_t i = 0; i < f->set.count; i++) {
		f->set.items[i]->iface = NULL;
		f->set.items[i]->lanes = NULL;
		f->set.items[i]->lane_max = 0;
	}
	free(f->iface.rules);
	f->iface = (kxdp_iface_t){ .index = 0 };
}

static int tear_down(void **state)
{
	fixture_t *f = *state;
	forget_by_hand(f);
	interfaces_done(&f->set);
	sys_rcu_unregister();
	free(f);
	return 0;
}

static knot_err_t follow_conf(fixture_t *f, const conf_xdp_t *conf)
{
	return interfaces_follow(&f->set, conf_xdp_copy(conf), false);
}

static xdp_interface_t *first(fixture_t *f)
{
	assert_int_equal(f->set.count, 1);
	return f->set.items[0];
}

/* Follow an interface that doesn't exist, then give it one with two queues. */
static xdp_interface_t *open_by_hand(fixture_t *f)
{
	static const conf_xdp_listen_t listen = { .ifname = "nosuch0", .port = 53, .text = "nosuch0" };
	conf_xdp_t conf = conf_nothing;
	conf.listen = (conf_xdp_listens_t){ &listen, 1 };
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	xdp_interface_t *item = first(f);
	assert_int_equal(xdp_past_reserve(&f->set, item, QUEUES), KNOT_OK);
	f->iface = (kxdp_iface_t){ .name = "nosuch0", .index = 7, .queue_count = QUEUES, .queue_max = QUEUES };
	for (unsigned q = 0; q < QUEUES; q++) {
		f->workers[q] = (xdp_worker_t){ .queue_index = q };
		f->lanes[q] = (xdp_lane_t){ .worker = &f->workers[q], .number = q };
	}
	item->iface = &f->iface;
	item->lanes = f->lanes;
	item->lane_max = QUEUES;
	return item;
}

/* As when an interface is opened. */
static void open_taps(fixture_t *f, unsigned ifindex)
{
	f->iface.index = ifindex;
	for (unsigned q = 0; q < QUEUES; q++) {
		sys_mutex_lock(&f->set.change);
		f->workers[q].tap_rcu = interfaces_tap(&f->set, first(f), q);
		sys_mutex_unlock(&f->set.change);
	}
}

static knot_err_t publish(fixture_t *f)
{
	sys_mutex_lock(&f->set.change);
	knot_err_t err = interfaces_publish(&f->set);
	sys_mutex_unlock(&f->set.change);
	return err;
}

static knot_err_t follow_sockets(fixture_t *f, xdp_interface_t *item, const xdp_want_t *want, bool news)
{
	sys_mutex_lock(&f->set.change);
	knot_err_t err = interfaces_follow_sockets(&f->set, item, want, news);
	sys_mutex_unlock(&f->set.change);
	return err;
}

/* ---- Following ---- */

static void an_interface_that_is_not_there_is_waited_for(void **state)
{
	fixture_t *f = *state;
	static const conf_xdp_listen_t listen = { .ifname = "nosuch0", .port = 53, .text = "nosuch0" };
	conf_xdp_t conf = conf_nothing;
	conf.listen = (conf_xdp_listens_t){ &listen, 1 };
	assert_true(interfaces_empty(&f->set));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(follow_conf(f, &conf), KNOT_OK);
		assert_false(interfaces_empty(&f->set));
		assert_false(interfaces_serve(&f->set));
		assert_int_equal(interfaces_count(&f->set), 0);
		net_xdp_status_t *status;
		assert_int_equal(interfaces_status(&f->set, &status), KNOT_OK);
		assert_int_equal(status->count, 1);
		assert_int_equal(status->ifaces[0].state, NET_XDP_GONE);
		assert_string_equal(status->ifaces[0].ifname, "nosuch0");
		assert_string_equal(status->ifaces[0].listen, "nosuch0");
		assert_string_equal(status->ifaces[0].mode, "");
		net_xdp_status_free(status);
	}
	assert_int_equal(follow_conf(f, &conf_nothing), KNOT_OK);
	assert_true(interfaces_empty(&f->set));
}

static void counters_stay_when_the_queues_are_closed(void **state)
{
	fixture_t *f = *state;
	net_xdp_stats_t stats;
	xdp_interface_t *item = open_by_hand(f);
	item->was_up = true;
	static const struct filter_counts counted[QUEUES] = { [1] = { .packets = { [FILTER_UDP4] = 9 } } };
	f->iface.counts = counted;
	item->past[0].stats.replied = 6;
	item->past[1].stats.received[KXDP_OK] = 7;
	item->past[1].stats.replied = 4;
	xdp_past_count_lost(&item->past[1], item->iface, 1);
	xdp_past_add_program(&item->past[1], item->iface, 1);
	xdp_past_count_lost(&item->past[1], NULL, 1);
	forget_by_hand(f);
	assert_int_equal(interfaces_count(&f->set), 1);
	assert_true(interfaces_stats(&f->set, 0, &stats));
	assert_int_equal(stats.stats.replied, 6 + 4);
	assert_int_equal(stats.queue_count, 0);
	assert_false(interfaces_stats(&f->set, 1, &stats));
	net_xdp_status_t *status;
	assert_int_equal(interfaces_status(&f->set, &status), KNOT_OK);
	assert_int_equal(status->ifaces[0].queue_count, 1);
	const net_xdp_queue_status_t *queue = &status->ifaces[0].queues[0];
	assert_int_equal(queue->index, 1);
	assert_true(queue->is_past && !queue->is_open);
	assert_int_equal(queue->stats.replied, 4);
	assert_int_equal(queue->filter[FILTER_UDP4].packets, 9);
	assert_int_equal(queue->lost, 9 - 7);
	net_xdp_status_free(status);
}

static void workers_that_leave_are_not_published(void **state)
{
	fixture_t *f = *state;
	(void)open_by_hand(f);
	assert_int_equal(publish(f), KNOT_OK);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
	assert_ptr_equal(f->shared.xdp_rcu->workers[1], &f->workers[1]);
	f->lanes[0].leaving = true;
	assert_int_equal(publish(f), KNOT_OK);
	assert_int_equal(f->shared.xdp_rcu->count, 1);
	assert_ptr_equal(f->shared.xdp_rcu->workers[0], &f->workers[1]);
	assert_int_equal(interfaces_workers(&f->set).xdp, 1);
}

/* ---- Block rules ---- */

static conf_xdp_block_t rule_of(const char *text)
{
	conf_xdp_block_t rule;
	assert_null(conf_xdp_block_scan(knot_str_of(text), &rule));
	return rule;
}

static void rules_follow_both_sources(void **state)
{
	fixture_t *f = *state;
	conf_xdp_block_t rules[] = { rule_of("::/0@7"), rule_of("192.0.2.0/24") };
	conf_xdp_t conf = conf_nothing;
	conf.block = (conf_xdp_blocks_t){ rules, 2 };
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	conf_xdp_block_t mine = rule_of("192.0.2.0/24@9"), other = rule_of("::1");
	assert_int_equal(interfaces_block(&f->set, &(net_block_t){ .rule = mine }, 1), KNOT_OK);
	assert_int_equal(interfaces_unblock(&f->set, &other), KNOT_ENOENT);
	assert_int_equal(interfaces_unblock(&f->set, &rules[0]), KNOT_EPERM);

	conf.block.count = 1; /* the configured one goes, that of the run time stays */
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	net_block_t *list;
	size_t count;
	assert_int_equal(interfaces_blocks(&f->set, &list, &count), KNOT_OK);
	assert_int_equal(count, 2);
	assert_true(list[0].is_conf && !list[1].is_conf);
	assert_int_equal(list[1].rule.per_second, 9);
	free(list);
	assert_int_equal(interfaces_unblock(&f->set, &mine), KNOT_OK);
	assert_int_equal(interfaces_unblock(&f->set, &mine), KNOT_ENOENT);
}

static void matches_of_all_interfaces_are_summed(void **state)
{
	fixture_t *f = *state;
	conf_xdp_block_t block = rule_of("192.0.2.0/24"), other = rule_of("::1");
	assert_int_equal(interfaces_block(&f->set, &(net_block_t){ .rule = block }, 1), KNOT_OK);
	assert_int_equal(interfaces_block(&f->set, &(net_block_t){ .rule = other }, 1), KNOT_OK);
	(void)open_by_hand(f);
	static const struct filter_rule counted[4] = { [3] = { .matched = 5, .dropped = 3 } };
	f->iface.counted = counted;
	f->iface.rules = calloc(1, sizeof(*f->iface.rules));
	assert_non_null(f->iface.rules);
	f->iface.rules[0].rule.prefix_len = block.prefix_len;
	memcpy(f->iface.rules[0].rule.addr, block.addr, sizeof(block.addr));
	f->iface.rules[0].index = 3;
	f->iface.rule_count = 1;
	net_block_t *list;
	size_t count;
	assert_int_equal(interfaces_blocks(&f->set, &list, &count), KNOT_OK);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		bool is_first = list[i].rule.prefix_len == block.prefix_len;
		assert_int_equal(list[i].matched, is_first ? 5 : 0);
		assert_int_equal(list[i].dropped, is_first ? 3 : 0);
	}
	free(list);
}

/* Rules keep what they have counted, in the kernel and of interfaces that were closed, and are only sent when changed.
 */
static void unchanged_rules_are_left_alone(void **state)
{
	fixture_t *f = *state;
	conf_xdp_block_t rules[] = { rule_of("192.0.2.0/24@9"), rule_of("::1") };
	(void)open_by_hand(f);
	for (size_t i = 0; i < KNOT_LEN(rules); i++) {
		assert_int_equal(block_list_set(&f->set.blocks, &(net_block_t){ .rule = rules[i], .is_conf = true }),
				KNOT_OK);
	}
	block_list_find(&f->set.blocks, &rules[0])->matched = 3;
	conf_xdp_t conf = conf_nothing;
	conf.block = (conf_xdp_blocks_t){ rules, KNOT_LEN(rules) };
	free(f->set.conf);
	f->set.conf = conf_xdp_copy(&conf);
	/* Without a helper nothing can be sent: that would be an error. */
	sys_mutex_lock(&f->set.change);
	assert_int_equal(interfaces_follow_blocks(&f->set), KNOT_OK);
	sys_mutex_unlock(&f->set.change);
	assert_int_equal(block_list_find(&f->set.blocks, &rules[0])->matched, 3);
	rules[0].per_second = 10;
	free(f->set.conf);
	f->set.conf = conf_xdp_copy(&conf);
	sys_mutex_lock(&f->set.change);
	assert_int_equal(interfaces_follow_blocks(&f->set), KNOT_EPERM);
	sys_mutex_unlock(&f->set.change);
	assert_int_equal(block_list_find(&f->set.blocks, &rules[0])->matched, 3);
}

/* What no kernel program took isn't listed, and what it still obeys is. Without a helper no program takes anything. */
static void rules_that_cannot_be_had_leave_the_old_ones(void **state)
{
	fixture_t *f = *state;
	conf_xdp_block_t old = rule_of("192.0.2.0/24@9"), changed = rule_of("192.0.2.0/24"), other = rule_of("::1");
	assert_int_equal(interfaces_block(&f->set, &(net_block_t){ .rule = old }, 1), KNOT_OK);
	(void)open_by_hand(f);
	assert_int_equal(interfaces_block(&f->set, &(net_block_t){ .rule = other }, 1), KNOT_EPERM);
	assert_int_equal(interfaces_block(&f->set, &(net_block_t){ .rule = changed }, 1), KNOT_EPERM);
	net_block_t *list;
	size_t count;
	assert_int_equal(interfaces_blocks(&f->set, &list, &count), KNOT_OK);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].rule.prefix_len, old.prefix_len);
	assert_int_equal(list[0].rule.per_second, 9);
	free(list);
}

/* ---- Captures ---- */

static void captures_follow_queues(void **state)
{
	fixture_t *f = *state;
	kxdp_tap_options_t options = { 0 };
	net_capture_t *capture, *other;
	net_capture_source_t sources[8];
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &capture), KNOT_ENODEV);
	xdp_interface_t *item = open_by_hand(f);
	assert_int_equal(interfaces_capture(&f->set, "eth9", &options, &capture), KNOT_ENODEV);
	snprintf(item->want.ifname, sizeof(item->want.ifname), "a-name-of-15-by");
	assert_int_equal(interfaces_capture(&f->set, "a-name-of-15-bytes", &options, &capture), KNOT_ENODEV);
	snprintf(item->want.ifname, sizeof(item->want.ifname), "nosuch0");
	assert_int_equal(interfaces_capture(&f->set, "nosuch0", &options, &capture), KNOT_OK);
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &other), KNOT_EBUSY);
	assert_int_equal(interfaces_capture_sources(&f->set, capture, sources, 8), 2);
	assert_string_equal(sources[1].ifname, "nosuch0");
	assert_int_equal(sources[1].queue, 1);
	assert_ptr_equal(sources[1].tap, f->workers[1].tap_rcu);
	open_taps(f, 9);
	assert_int_equal(interfaces_capture_sources(&f->set, capture, sources, 8), 4);
	assert_int_equal(sources[0].ifindex, 7);
	assert_int_equal(sources[3].ifindex, 9);
	assert_ptr_equal(sources[3].tap, f->workers[1].tap_rcu);
	interfaces_capture_end(&f->set, capture);
	assert_null(f->workers[1].tap_rcu);
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &other), KNOT_EBUSY);
	open_taps(f, 7);
	assert_null(f->workers[1].tap_rcu);
	assert_int_equal(interfaces_capture_sources(&f->set, capture, sources, 8), 4);
	interfaces_capture_stop(&f->set, capture);
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &capture), KNOT_OK);
	interfaces_capture_stop(&f->set, capture);
	interfaces_capture_stop(&f->set, NULL);
}

/* ---- Sockets ---- */

static conf_addr_t loopback(unsigned host, uint16_t port)
{
	conf_addr_t addr = { .len = sizeof(struct sockaddr_in) };
	*(struct sockaddr_in *)&addr.ss = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x7F000000 + host)
	};
	return addr;
}

static uint16_t free_port(void)
{
	conf_addr_t addr = loopback(1, 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&addr.ss, addr.len), 0);
	socklen_t len = sizeof(addr.ss);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr.ss, &len), 0);
	close(fd);
	return ntohs(((const struct sockaddr_in *)&addr.ss)->sin_port);
}

/* Sockets bound at the start, by root, and those of the user that it became don't share a high port. */
static void sockets_of_another_user_make_room(void **state)
{
	enum { OTHER_USER = 65534 };
	fixture_t *f = *state;
	if (geteuid() != 0) {
		skip();
	}
	xdp_interface_t *item = open_by_hand(f);
	forget_by_hand(f); /* closed: sockets serve */
	const uint16_t port = free_port();
	xdp_want_t want = item->want;
	want.listen_count = 2;
	for (unsigned i = 0; i < want.listen_count; i++) {
		want.listens[i] = (kxdp_listen_t){ .addr = loopback(1 + i, port).ss, .port = port };
	}
	want.listen_count = 1;
	assert_int_equal(follow_sockets(f, item, &want, true), KNOT_OK);
	assert_int_equal(sockets_count(item->sockets), 1);
	want.listen_count = 2;
	assert_int_equal(seteuid(OTHER_USER), 0);
	knot_err_t err = follow_sockets(f, item, &want, true);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(err, KNOT_OK);
	assert_int_equal(sockets_count(item->sockets), 2);
	assert_int_equal(interfaces_workers(&f->set).tcp, 3);
	assert_true(interfaces_serve(&f->set));
	want.listen_count = 0;
	assert_int_equal(follow_sockets(f, item, &want, false), KNOT_OK);
	assert_null(item->sockets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_interface_that_is_not_there_is_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_stay_when_the_queues_are_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(workers_that_leave_are_not_published, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rules_follow_both_sources, set_up, tear_down),
		cmocka_unit_test_setup_teardown(matches_of_all_interfaces_are_summed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unchanged_rules_are_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rules_that_cannot_be_had_leave_the_old_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(captures_follow_queues, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sockets_of_another_user_make_room, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
