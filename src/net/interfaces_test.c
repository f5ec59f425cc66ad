/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interfaces that follow, without a network: the functions of xdp/, of sockets and of workers that they call are
 * replaced by the ones below, whose results a test sets and whose calls it counts.
 */
#include "src/net/interfaces.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "src/sys/log.h"
#include "xdp/priv.h"

/* ---- A system to follow ---- */

struct kxdp_iface {
	kxdp_options_t options;
	unsigned index;
};

struct kxdp_queue {
	kxdp_iface_t *iface;
	unsigned index;
};

static struct {
	kxdp_device_t device;   /* of every name */
	int device_errno;       /* why it can't be asked for */
	knot_err_t open_native; /* results of opening an interface */
	knot_err_t open_emulated;
	knot_err_t queue_zero_copy; /* results of opening a queue, by the options of its interface */
	knot_err_t queue_copy;
	knot_err_t queue_emulated;
	knot_err_t configure;
	unsigned opens, closes, queue_opens, queue_closes, configures;
	unsigned open_queues, open_ifaces, open_groups; /* now */
	size_t group_addresses;                         /* of the group made last */
	kxdp_options_t options;                         /* of the interface opened last */
	size_t rules_set, rules_removed;
	knot_err_t rule_set; /* result of setting a rule */
	bool helper_is_dead;
	bool has_changed_user; /* groups can't share addresses */
	char log[16384];
} fake;

static knot_err_t fault_of(knot_err_t err, kxdp_fault_t *ret_fault)
{
	*ret_fault = (kxdp_fault_t){ .err = err };
	snprintf(ret_fault->text, sizeof(ret_fault->text), "code %d", (int)err);
	return err;
}

static void add_line(const char *format, va_list args)
{
	size_t len = strlen(fake.log);
	vsnprintf(fake.log + len, sizeof(fake.log) - len, format, args);
	len = strlen(fake.log);
	snprintf(fake.log + len, sizeof(fake.log) - len, "\n");
}

void sys_log(sys_log_source_t source, int level, knot_name_t zone, const char *format, ...)
{
	(void)source;
	(void)level;
	(void)zone;
	va_list args;
	va_start(args, format);
	add_line(format, args);
	va_end(args);
}

void sys_log_repeated(sys_log_repeats_t *repeats, sys_log_source_t source, int level, const char *format, ...)
{
	(void)repeats;
	(void)source;
	(void)level;
	va_list args;
	va_start(args, format);
	add_line(format, args);
	va_end(args);
}

kxdp_device_t kxdp_device_query(const char *ifname)
{
	(void)ifname;
	errno = fake.device_errno;
	return fake.device_errno == 0 ? fake.device : (kxdp_device_t){ .queue_count = 1, .mtu = 1500 };
}

knot_err_t kxdp_iface_of_address(
		const struct sockaddr *sa, char ret_ifname[static IF_NAMESIZE], kxdp_fault_t *ret_fault)
{
	(void)sa;
	(void)ret_ifname;
	return fault_of(KNOT_ENODEV, ret_fault);
}

knot_err_t kxdp_iface_set_host(kxdp_iface_t *iface, const kxdp_host_t *host, kxdp_fault_t *ret_fault)
{
	(void)iface;
	(void)host;
	(void)ret_fault;
	return KNOT_OK;
}

knot_err_t kxdp_iface_open(
		kxdp_priv_t *priv, const kxdp_options_t *options, kxdp_iface_t **ret_iface, kxdp_fault_t *ret_fault)
{
	(void)priv;
	knot_err_t err = options->mode == KXDP_MODE_EMULATED ? fake.open_emulated : fake.open_native;
	err = fake.device.index == 0 ? KNOT_ENODEV : err;
	if (err != KNOT_OK) {
		return fault_of(err, ret_fault);
	}
	kxdp_iface_t *iface = calloc(1, sizeof(*iface));
	assert_non_null(iface);
	*iface = (kxdp_iface_t){ *options, fake.device.index };
	fake.options = *options;
	fake.opens++;
	fake.open_ifaces++;
	*ret_iface = iface;
	return KNOT_OK;
}

knot_err_t kxdp_iface_configure(kxdp_iface_t *iface, const kxdp_config_t *config, kxdp_fault_t *ret_fault)
{
	fake.configures++;
	if (fake.configure != KNOT_OK) {
		return fault_of(fake.configure, ret_fault);
	}
	iface->options.config = *config;
	return KNOT_OK;
}

void kxdp_iface_close(kxdp_iface_t *take_iface)
{
	fake.closes += take_iface != NULL;
	fake.open_ifaces -= take_iface != NULL;
	free(take_iface);
}

const char *kxdp_iface_name(const kxdp_iface_t *iface)
{
	(void)iface;
	return "eth0";
}

unsigned kxdp_iface_index(const kxdp_iface_t *iface)
{
	return iface->index;
}

unsigned kxdp_iface_queue_count(const kxdp_iface_t *iface)
{
	(void)iface;
	return fake.device.queue_count;
}

unsigned kxdp_iface_queue_max(const kxdp_iface_t *iface)
{
	(void)iface;
	return fake.device.queue_max;
}

const char *kxdp_iface_mode_text(const kxdp_iface_t *iface)
{
	return iface->options.mode == KXDP_MODE_EMULATED ? "emulated"
	       : iface->options.zero_copy                ? "native"
							 : "native/copy";
}

size_t kxdp_iface_filter_counts(const kxdp_iface_t *iface, unsigned queue, kxdp_filter_count_t *ret_counts, size_t max)
{
	(void)iface;
	assert_true(max > 0);
	ret_counts[0] = (kxdp_filter_count_t){ "received", "", queue + 1 };
	return 1;
}

knot_err_t kxdp_rule_set(kxdp_iface_t *iface, const kxdp_rule_t *rule, kxdp_fault_t *ret_fault)
{
	(void)iface;
	(void)rule;
	if (fake.rule_set != KNOT_OK) {
		return fault_of(fake.rule_set, ret_fault);
	}
	fake.rules_set++;
	return KNOT_OK;
}

knot_err_t kxdp_rule_remove(kxdp_iface_t *iface, const kxdp_rule_t *rule, kxdp_fault_t *ret_fault)
{
	(void)iface;
	(void)rule;
	(void)ret_fault;
	fake.rules_removed++;
	return KNOT_OK;
}

size_t kxdp_iface_rules(kxdp_iface_t *iface, kxdp_rule_count_t *ret_rules, size_t max)
{
	(void)iface;
	kxdp_rule_count_t count = { .rule = { .prefix_len = 0 }, .matched = 5, .dropped = 3 };
	if (max > 0) {
		ret_rules[0] = count;
	}
	return 1;
}

knot_err_t kxdp_queue_open(kxdp_iface_t *iface, unsigned queue, kxdp_queue_t **ret_queue, kxdp_fault_t *ret_fault)
{
	knot_err_t err = iface->options.mode == KXDP_MODE_EMULATED ? fake.queue_emulated
			 : iface->options.zero_copy                ? fake.queue_zero_copy
								   : fake.queue_copy;
	if (err != KNOT_OK) {
		return fault_of(err, ret_fault);
	}
	kxdp_queue_t *made = calloc(1, sizeof(*made));
	assert_non_null(made);
	*made = (kxdp_queue_t){ iface, queue };
	fake.queue_opens++;
	fake.open_queues++;
	*ret_queue = made;
	return KNOT_OK;
}

void kxdp_queue_close(kxdp_queue_t *take_queue)
{
	fake.queue_closes += take_queue != NULL;
	fake.open_queues -= take_queue != NULL;
	free(take_queue);
}

void kxdp_queue_stats(const kxdp_queue_t *queue, kxdp_stats_t *ret_stats)
{
	*ret_stats = (kxdp_stats_t){ .replied = queue->index + 1, .fq_fill = 100 };
}

void kxdp_stats_add(kxdp_stats_t *sum, const kxdp_stats_t *part)
{
	sum->replied += part->replied;
	sum->fq_fill += part->fq_fill;
}

knot_err_t kxdp_tap_new(const kxdp_tap_options_t *options, kxdp_tap_t **ret_tap)
{
	(void)options;
	*ret_tap = malloc(1);
	return *ret_tap != NULL ? KNOT_OK : KNOT_ENOMEM;
}

void kxdp_tap_free(kxdp_tap_t *take_tap)
{
	free(take_tap);
}

bool kxdp_priv_alive(kxdp_priv_t *priv)
{
	(void)priv;
	return !fake.helper_is_dead;
}

knot_err_t kxdp_priv_check_port(const kxdp_priv_t *priv, uint16_t port, kxdp_fault_t *ret_fault)
{
	(void)priv;
	(void)port;
	(void)ret_fault;
	return KNOT_OK;
}

knot_err_t xdp_worker_init(worker_t *worker)
{
	(void)worker;
	return KNOT_OK;
}

void xdp_worker_stop(worker_t *worker)
{
	atomic_store(&worker->stop, true);
}

void xdp_worker_done(worker_t *worker)
{
	(void)worker;
}

bool xdp_worker_tcp_stats(const worker_t *worker, kxdp_tcp_stats_t *ret_stats)
{
	(void)worker;
	(void)ret_stats;
	return false;
}

void xdp_worker_run(void *arg)
{
	(void)arg;
	fail_msg("no thread is started here");
}

struct sockets {
	size_t count;
};

knot_err_t sockets_new(worker_shared_t *shared, const sockets_options_t *options, const conf_addr_t *addrs,
		size_t count, sockets_t **ret_sockets)
{
	(void)shared;
	(void)addrs;
	assert_true(options->shared && options->lenient);
	sockets_t *sockets = malloc(sizeof(*sockets));
	assert_non_null(sockets);
	bool is_taken = fake.has_changed_user && fake.open_groups > 0;
	sockets->count = fake.group_addresses = is_taken ? 0 : count;
	fake.open_groups++;
	*ret_sockets = sockets;
	return is_taken ? KNOT_EADDRINUSE : KNOT_OK;
}

knot_err_t sockets_start(sockets_t *sockets)
{
	(void)sockets;
	return KNOT_OK;
}

void sockets_stop(sockets_t *sockets)
{
	(void)sockets;
}

void sockets_free(sockets_t *take_sockets)
{
	fake.open_groups -= take_sockets != NULL;
	free(take_sockets);
}

size_t sockets_count(const sockets_t *sockets)
{
	return sockets->count;
}

net_workers_t sockets_workers(const sockets_t *sockets)
{
	(void)sockets;
	return (net_workers_t){ .udp = 2, .tcp = 3 };
}

bool sockets_serves(const sockets_t *sockets, const conf_addr_t *addr)
{
	(void)sockets;
	(void)addr;
	return false;
}

bool sockets_same(const sockets_t *sockets, const conf_addr_t *addrs, size_t count)
{
	(void)addrs;
	return (sockets != NULL ? sockets->count : 0) == count;
}

/* ---- Help ---- */

typedef struct {
	interfaces_t set;
	worker_shared_t shared;
} fixture_t;

static const conf_xdp_listen_t listen_lo = { .ifname = "lo", .port = 53, .text = "lo" };
static const conf_xdp_t conf_lo = { .listen = { &listen_lo, 1 }, .udp = true, .zero_copy = true, .ring_size = 2048 };

static int set_up(void **state)
{
	static const sockets_options_t options = {
		.udp_workers = 2, .tcp_workers = 3, .shared = true, .lenient = true
	};
	memset(&fake, 0, sizeof(fake));
	fake.device = (kxdp_device_t){ .index = 7, .queue_count = 2, .queue_max = 8, .mtu = 1500, .is_up = true };
	fixture_t *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	sys_rcu_register();
	assert_int_equal(interfaces_init(&f->set, &f->shared, NULL, &options), KNOT_OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	fixture_t *f = *state;
	interfaces_done(&f->set);
	sys_rcu_unregister();
	free(f);
	assert_int_equal(fake.open_queues, 0);
	assert_int_equal(fake.open_ifaces, 0);
	assert_int_equal(fake.open_groups, 0);
	return 0;
}

static knot_err_t follow_conf(fixture_t *f, const conf_xdp_t *conf)
{
	return interfaces_follow(&f->set, conf_xdp_copy(conf), false);
}

/* Some ticks of the watching thread. */
static void tick(fixture_t *f)
{
	for (unsigned i = 0; i < 3; i++) {
		(void)interfaces_follow(&f->set, NULL, false);
	}
}

static unsigned lines(const char *text)
{
	unsigned count = 0;
	for (const char *at = strstr(fake.log, text); at != NULL; at = strstr(at + 1, text)) {
		count++;
	}
	return count;
}

static xdp_interface_t *first(fixture_t *f)
{
	assert_int_equal(f->set.count, 1);
	return f->set.items[0];
}

static void fail_queue(fixture_t *f, unsigned queue, bool soon)
{
	xdp_lane_t *lane = &first(f)->lanes[queue];
	assert_non_null(lane->worker);
	atomic_store(&lane->worker->failed, true);
	lane->opened_ms -= soon ? 0 : 3600000;
}

/* ---- Tests ---- */

static void nothing_is_touched_twice(void **state)
{
	fixture_t *f = *state;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
	assert_int_equal(f->shared.xdp_rcu->workers[1]->queue_index, 1);
	tick(f);
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	assert_int_equal(fake.opens, 1);
	assert_int_equal(fake.queue_opens, 2);
	assert_int_equal(fake.configures, 0);
	assert_int_equal(fake.closes, 0);
	assert_int_equal(lines("initialized"), 1);
}

static void a_mode_that_cannot_be_had_leads_to_the_next(void **state)
{
	static const struct {
		const char *what;
		knot_err_t zero_copy, copy, native, emulated, queue_emulated;
		const char *mode; /* NULL: sockets */
		const char *reason;
	} rows[] = {
		{ "all is well", 0, 0, 0, 0, 0, "native", "" },
		{ "no zero copy", KNOT_ENOTSUP, 0, 0, 0, 0, "native/copy", "code -95" },
		{ "no native mode", 0, 0, KNOT_ENOTSUP, 0, 0, "emulated", "code -95" },
		{ "no native sockets", KNOT_EIO, KNOT_EIO, 0, 0, 0, "emulated", "code -5" },
		{ "the driver doesn't like them", KNOT_EINVAL, KNOT_EINVAL, 0, 0, 0, "emulated", "code -22" },
		{ "no sockets at all", KNOT_EIO, KNOT_EIO, 0, 0, KNOT_ENOTSUP, NULL, "code -95" },
		{ "another program", 0, 0, KNOT_EBUSY, 0, 0, NULL, "code -16" },
		{ "no permission", 0, 0, KNOT_EPERM, 0, 0, NULL, "code -1" },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		fixture_t *f = *state;
		fake.queue_zero_copy = rows[i].zero_copy;
		fake.queue_copy = rows[i].copy;
		fake.open_native = rows[i].native;
		fake.open_emulated = rows[i].emulated;
		fake.queue_emulated = rows[i].queue_emulated;
		assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
		tick(f);
		net_xdp_status_t *status;
		assert_int_equal(interfaces_status(&f->set, &status), KNOT_OK);
		const net_xdp_iface_status_t *iface = &status->ifaces[0];
		bool is_up = rows[i].mode != NULL;
		if (strcmp(iface->mode, is_up ? rows[i].mode : "") != 0 || strcmp(iface->reason, rows[i].reason) != 0 ||
				iface->state != (is_up ? NET_XDP_UP : NET_XDP_SOCKETS) ||
				fake.open_groups != (is_up ? 0 : 1) ||
				lines("using ordinary sockets") != (is_up ? 0 : 1) ||
				lines("can't have a better mode") != (is_up && rows[i].reason[0] != '\0')) {
			fail_msg("%s: mode '%s', reason '%s', state %d, groups %u, log:\n%s", rows[i].what, iface->mode,
					iface->reason, iface->state, fake.open_groups, fake.log);
		}
		net_xdp_status_free(status);
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
	}
}

static void a_queue_that_fails_is_opened_anew_then_lowers_the_mode(void **state)
{
	fixture_t *f = *state;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	fail_queue(f, 1, false);
	tick(f);
	assert_int_equal(fake.opens, 1);
	assert_int_equal(fake.queue_opens, 3);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
	assert_int_equal(lines("opened queue 1 anew"), 1);

	fail_queue(f, 1, true);
	tick(f);
	assert_string_equal(kxdp_iface_mode_text(first(f)->iface), "native/copy");
	assert_int_equal(lines("using native/copy mode instead"), 1);
	fail_queue(f, 0, true);
	tick(f);
	assert_string_equal(kxdp_iface_mode_text(first(f)->iface), "emulated");
	assert_int_equal(lines("using emulated mode instead"), 1);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
	fail_queue(f, 0, true);
	tick(f);
	assert_null(first(f)->iface);
	assert_int_equal(f->shared.xdp_rcu->count, 0);
	assert_int_equal(fake.open_groups, 1);
	assert_int_equal(lines("using ordinary sockets instead"), 1);
	assert_int_equal(interfaces_workers(&f->set).udp, 2);

	/* Time passes; the driver is well again. */
	first(f)->retry_ms = 1;
	tick(f);
	assert_string_equal(kxdp_iface_mode_text(first(f)->iface), "native");
	assert_int_equal(fake.open_groups, 0);
}

static void failures_are_told_once_and_tried_again_when_asked(void **state)
{
	fixture_t *f = *state;
	fake.open_native = KNOT_EBUSY;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	for (unsigned i = 0; i < 3; i++) {
		first(f)->retry_ms = 1;
		tick(f);
	}
	assert_int_equal(lines("failed to initialize"), 1);
	fake.open_native = KNOT_ENOTSUP;
	fake.open_emulated = KNOT_ENOTSUP;
	first(f)->retry_ms = 1;
	tick(f);
	assert_int_equal(lines("failed to initialize"), 2); /* another reason */
	assert_int_equal(first(f)->retry_ms, 0);            /* which time won't heal */
	fake.open_native = KNOT_OK;
	tick(f);
	assert_null(first(f)->iface);
	fake.device.mtu = 1400; /* something happened to the device */
	tick(f);
	assert_non_null(first(f)->iface);
}

static void what_can_change_in_flight_does(void **state)
{
	fixture_t *f = *state;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	conf_xdp_t conf = conf_lo;
	conf.tcp = true;
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(fake.configures, 1);
	assert_int_equal(fake.opens, 1);
	assert_true(first(f)->iface->options.config.tcp);

	/* A failed change: once, and the old one stays. */
	fake.configure = KNOT_EIO;
	conf.udp = false;
	assert_int_equal(follow_conf(f, &conf), KNOT_EIO);
	tick(f);
	assert_int_equal(fake.configures, 2);
	assert_int_equal(lines("it goes on as before"), 1);
	assert_true(first(f)->want.udp);

	fake.configure = KNOT_OK;
	conf.ring_size = 64;
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(fake.opens, 2);
	assert_int_equal(fake.closes, 1);
	assert_int_equal(fake.options.ring_size, 64);
	assert_false(fake.options.config.udp);
}

static void settings_that_cannot_be_had_leave_the_old_ones(void **state)
{
	fixture_t *f = *state;
	conf_xdp_t conf = conf_lo;
	conf.zero_copy = false;
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	fake.queue_zero_copy = KNOT_EBUSY; /* hopeless at any level */
	conf.zero_copy = true;
	assert_int_equal(follow_conf(f, &conf), KNOT_EBUSY);
	tick(f);
	assert_string_equal(kxdp_iface_mode_text(first(f)->iface), "native/copy");
	assert_int_equal(first(f)->state, NET_XDP_UP);
	assert_int_equal(lines("it goes on as before"), 1);
	assert_int_equal(fake.opens, 3); /* the first, the one that failed, the first again */
}

static void devices_that_change_are_followed(void **state)
{
	fixture_t *f = *state;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	fake.device.queue_count = 5;
	tick(f);
	assert_int_equal(f->shared.xdp_rcu->count, 5);
	fake.device.index = 9;
	tick(f);
	assert_int_equal(kxdp_iface_index(first(f)->iface), 9);
	assert_int_equal(lines("was replaced by another"), 1);
	fake.device.index = 0;
	tick(f);
	assert_null(first(f)->iface);
	assert_int_equal(first(f)->state, NET_XDP_GONE);
	assert_int_equal(lines("is gone"), 1);
	assert_int_equal(f->shared.xdp_rcu->count, 0);
	fake.device.index = 10;
	tick(f);
	assert_int_equal(f->shared.xdp_rcu->count, 5);
	fake.device.is_up = false;
	tick(f);
	assert_int_equal(f->shared.xdp_rcu->count, 5);
	assert_int_equal(lines("using ordinary sockets"), 0);
}

/* A server with all descriptors in use must not take its interfaces for gone. */
static void shortage_is_no_change(void **state)
{
	fixture_t *f = *state;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	fake.device_errno = EMFILE;
	tick(f);
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	assert_int_equal(fake.closes, 0);
	fake.device_errno = ENODEV;
	tick(f);
	assert_int_equal(lines("is gone"), 1);
}

static void counters_never_go_back(void **state)
{
	fixture_t *f = *state;
	net_xdp_stats_t stats;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	assert_true(interfaces_stats(&f->set, 0, &stats));
	assert_false(interfaces_stats(&f->set, 1, &stats));
	assert_int_equal(stats.stats.replied, 1 + 2);
	assert_int_equal(stats.stats.fq_fill, 100);
	fake.device.index = 9;
	tick(f);
	assert_true(interfaces_stats(&f->set, 0, &stats));
	assert_int_equal(stats.stats.replied, 2 * (1 + 2));
	assert_int_equal(stats.stats.fq_fill, 100);
	fake.device.index = 0;
	tick(f);
	assert_true(interfaces_stats(&f->set, 0, &stats));
	assert_int_equal(stats.stats.replied, 2 * (1 + 2));
	assert_int_equal(stats.stats.fq_fill, 0);
	assert_int_equal(stats.queue_count, 0);
}

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
	conf_xdp_t conf = conf_lo;
	conf.block = (conf_xdp_blocks_t){ rules, 2 };
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(fake.rules_set, 2); /* when it was opened */
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(fake.rules_set, 2);

	conf_xdp_block_t mine = rule_of("192.0.2.0/24@9"), other = rule_of("::1");
	assert_int_equal(interfaces_block(&f->set, &mine), KNOT_OK);
	assert_int_equal(fake.rules_set, 3);
	assert_int_equal(interfaces_unblock(&f->set, &other), KNOT_ENOENT);
	assert_int_equal(interfaces_unblock(&f->set, &rules[0]), KNOT_EPERM);

	conf.block.count = 1; /* the configured one goes, that of the run time stays */
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(fake.rules_removed, 0);
	net_block_t *list;
	size_t count;
	assert_int_equal(interfaces_blocks(&f->set, &list, &count), KNOT_OK);
	assert_int_equal(count, 2);
	assert_true(list[0].is_conf && !list[1].is_conf);
	assert_int_equal(list[0].matched, 5);
	assert_int_equal(list[0].dropped, 3);
	assert_int_equal(list[1].matched, 0);
	free(list);
	assert_int_equal(interfaces_unblock(&f->set, &mine), KNOT_OK);
	assert_int_equal(fake.rules_removed, 1);

	fake.device.index = 9; /* an interface that returns has the rules */
	fake.rules_set = 0;
	tick(f);
	assert_int_equal(fake.rules_set, 1);
}

/* What no kernel program took isn't listed, and what it still obeys is. */
static void rules_that_cannot_be_had_leave_the_old_ones(void **state)
{
	fixture_t *f = *state;
	f->shared.priv = (kxdp_priv_t *)&fake;
	conf_xdp_block_t old = rule_of("192.0.2.0/24@9"), changed = rule_of("192.0.2.0/24"), other = rule_of("::1");
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	assert_int_equal(interfaces_block(&f->set, &old), KNOT_OK);
	fake.rule_set = KNOT_ESPACE;
	assert_int_equal(interfaces_block(&f->set, &other), KNOT_ESPACE);
	assert_int_equal(interfaces_block(&f->set, &changed), KNOT_ESPACE);
	fake.rule_set = KNOT_OK;
	fake.helper_is_dead = true;
	assert_int_equal(interfaces_block(&f->set, &other), KNOT_ECONNCLOSED);
	assert_int_equal(interfaces_unblock(&f->set, &old), KNOT_ECONNCLOSED);
	net_block_t *list;
	size_t count;
	assert_int_equal(interfaces_blocks(&f->set, &list, &count), KNOT_OK);
	assert_int_equal(count, 1);
	assert_int_equal(list[0].rule.prefix_len, old.prefix_len);
	assert_int_equal(list[0].rule.per_second, 9);
	free(list);
}

static void captures_follow_queues(void **state)
{
	fixture_t *f = *state;
	kxdp_tap_options_t options = { 0 };
	net_capture_t *capture, *other;
	net_capture_source_t sources[8];
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &capture), KNOT_ENODEV);
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	assert_int_equal(interfaces_capture(&f->set, "eth9", &options, &capture), KNOT_ENODEV);
	xdp_interface_t *item = first(f);
	snprintf(item->want.ifname, sizeof(item->want.ifname), "a-name-of-15-by");
	assert_int_equal(interfaces_capture(&f->set, "a-name-of-15-bytes", &options, &capture), KNOT_ENODEV);
	snprintf(item->want.ifname, sizeof(item->want.ifname), "lo");
	assert_int_equal(interfaces_capture(&f->set, "lo", &options, &capture), KNOT_OK);
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &other), KNOT_EBUSY);
	assert_int_equal(interfaces_capture_sources(&f->set, capture, sources, 8), 2);
	assert_string_equal(sources[1].ifname, "lo");
	assert_int_equal(sources[1].queue, 1);
	assert_ptr_equal(sources[1].tap, f->shared.xdp_rcu->workers[1]->tap_rcu);
	fake.device.index = 9;
	tick(f);
	assert_int_equal(interfaces_capture_sources(&f->set, capture, sources, 8), 4);
	assert_int_equal(sources[0].ifindex, 7);
	assert_int_equal(sources[3].ifindex, 9);
	assert_ptr_equal(sources[3].tap, f->shared.xdp_rcu->workers[1]->tap_rcu);
	interfaces_capture_end(&f->set, capture);
	assert_null(f->shared.xdp_rcu->workers[1]->tap_rcu);
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &other), KNOT_EBUSY);
	fake.device.index = 7;
	tick(f);
	assert_null(f->shared.xdp_rcu->workers[1]->tap_rcu);
	assert_int_equal(interfaces_capture_sources(&f->set, capture, sources, 8), 4);
	interfaces_capture_stop(&f->set, capture);
	assert_int_equal(interfaces_capture(&f->set, NULL, &options, &capture), KNOT_OK);
	interfaces_capture_stop(&f->set, capture);
	interfaces_capture_stop(&f->set, NULL);
}

/* Sockets bound at the start, by root, and those of the user that it became don't share a high port. */
static void sockets_of_another_user_make_room(void **state)
{
	fixture_t *f = *state;
	conf_xdp_listen_t listens[] = { listen_lo, listen_lo };
	for (size_t i = 0; i < 2; i++) {
		struct sockaddr_in *in = (struct sockaddr_in *)&listens[i].addr;
		*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xC0000201 + (uint32_t)i) };
	}
	conf_xdp_t conf = conf_lo;
	conf.listen = (conf_xdp_listens_t){ listens, 1 };
	fake.open_native = fake.open_emulated = KNOT_EPERM;
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(sockets_count(first(f)->sockets), 1);
	fake.has_changed_user = true;
	conf.listen.count = 2;
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	assert_int_equal(sockets_count(first(f)->sockets), 2);
	assert_int_equal(fake.open_groups, 1);
}

static void the_end_of_the_helper_is_told_once(void **state)
{
	fixture_t *f = *state;
	f->shared.priv = (kxdp_priv_t *)&fake;
	assert_int_equal(follow_conf(f, &conf_lo), KNOT_OK);
	fake.helper_is_dead = true;
	tick(f);
	assert_int_equal(lines("the helper process"), 1);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
}

/* What would have to be closed first could not be opened again. */
static void without_the_helper_nothing_is_closed(void **state)
{
	fixture_t *f = *state;
	f->shared.priv = (kxdp_priv_t *)&fake;
	conf_xdp_t conf = conf_lo;
	assert_int_equal(follow_conf(f, &conf), KNOT_OK);
	fake.helper_is_dead = true;
	fake.open_native = fake.open_emulated = KNOT_ECONNCLOSED;
	fake.queue_zero_copy = fake.queue_copy = fake.queue_emulated = KNOT_ECONNCLOSED;
	conf.ring_size = 4096;
	assert_int_equal(follow_conf(f, &conf), KNOT_ECONNCLOSED);
	assert_int_equal(first(f)->state, NET_XDP_UP);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
	fake.device.queue_count = 4;
	tick(f);
	assert_int_equal(f->shared.xdp_rcu->count, 2);
	assert_int_equal(lines("failed to change XDP interface lo (the privileged helper has ended)"), 2);
	fail_queue(f, 1, false);
	tick(f);
	assert_int_equal(f->shared.xdp_rcu->count, 1);
	assert_int_equal(lines("queue 1 failed"), 1);
	assert_int_equal(fake.closes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_touched_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_mode_that_cannot_be_had_leads_to_the_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
				a_queue_that_fails_is_opened_anew_then_lowers_the_mode, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failures_are_told_once_and_tried_again_when_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_can_change_in_flight_does, set_up, tear_down),
		cmocka_unit_test_setup_teardown(settings_that_cannot_be_had_leave_the_old_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(devices_that_change_are_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shortage_is_no_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counters_never_go_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rules_follow_both_sources, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rules_that_cannot_be_had_leave_the_old_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(captures_follow_queues, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sockets_of_another_user_make_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_of_the_helper_is_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_the_helper_nothing_is_closed, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
