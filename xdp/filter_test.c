/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel program, run by the kernel on the rows' packets (BPF_PROG_TEST_RUN), in a network namespace of its own. */
#include "xdp/frame_rows.h"
#include "xdp/iface.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

static bool in_namespace;

/* Needs privileges; without them the tests are skipped. */
static int enter_namespace(void **state)
{
	(void)state;
	in_namespace = geteuid() == 0 && unshare(CLONE_NEWNET) == 0;
	int fd = in_namespace ? socket(AF_INET, SOCK_DGRAM, 0) : -1;
	if (fd >= 0) {
		struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
		(void)ioctl(fd, SIOCSIFFLAGS, &ifr);
		close(fd);
	}
	return 0;
}

static void require_namespace(void)
{
	if (!in_namespace) {
		skip();
	}
}

static kxdp_iface_t *open_iface(const kxdp_listen_t *listens, size_t count, bool udp)
{
	const kxdp_options_t options = { .ifname = "lo",
					 .config = { .listens = listens, .listen_count = count, .udp = udp },
					 .ring_size = 64,
					 .mode = KXDP_MODE_EMULATED };
	kxdp_iface_t *iface = NULL;
	kxdp_fault_t fault;
	if (kxdp_iface_open(NULL, &options, &iface, &fault) != KNOT_OK) {
		fail_msg("%s", fault.text);
	}
	return iface;
}

typedef struct {
	uint64_t counts[FILTER_COUNT_ROWS];
} counts_t;

static counts_t read_counts(const kxdp_iface_t *iface)
{
	kxdp_filter_count_t counts[FILTER_COUNT_ROWS];
	counts_t ret;
	assert_int_equal(kxdp_iface_filter_counts(iface, KXDP_ALL_QUEUES, counts, FILTER_COUNT_ROWS), FILTER_COUNT_ROWS);
	for (size_t i = 0; i < FILTER_COUNT_ROWS; i++) {
		ret.counts[i] = counts[i].packets;
	}
	return ret;
}

#define COUNT_NAME(constant, name, group, what) [constant] = name,
static const char *const names[FILTER_COUNT_ROWS] = { FILTER_COUNTS(COUNT_NAME) };
#define ACTION(constant, name, group, what) \
	[constant] = (group) == FILTER_GROUP_REDIRECTED ? XDP_REDIRECT : \
		     (group) == FILTER_GROUP_DROPPED ? XDP_DROP : XDP_PASS,
static const uint32_t actions[FILTER_COUNT_ROWS] = { FILTER_COUNTS(ACTION) };

/* Runs the program once; returns the fate whose counter moved, and checks that the action and the packet agree with it.
 */
static enum filter_count run(const kxdp_iface_t *iface, const char *what, const uint8_t *packet, size_t len)
{
	uint8_t after[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = (uint32_t)len, .data_out = after,
		    .data_size_out = sizeof(after));
	counts_t before = read_counts(iface);
	const struct bpf_program *program = bpf_object__find_program_by_name(iface->object, "bowline_filter");
	if (bpf_prog_test_run_opts(bpf_program__fd(program), &opts) != 0) {
		fail_msg("%s: %s", what, strerror(errno));
	}
	counts_t now = read_counts(iface);
	enum filter_count moved = FILTER_RECEIVED;
	assert_int_equal(now.counts[FILTER_RECEIVED], before.counts[FILTER_RECEIVED] + 1);
	for (unsigned i = FILTER_RECEIVED + 1; i < FILTER_COUNT_ROWS; i++) {
		if (now.counts[i] != before.counts[i]) {
			assert_int_equal(now.counts[i], before.counts[i] + 1);
			assert_int_equal(moved, FILTER_RECEIVED);
			moved = (enum filter_count)i;
		}
	}
	assert_int_not_equal(moved, FILTER_RECEIVED);
	assert_int_equal(opts.retval, actions[moved]);
	assert_int_equal(opts.data_size_out, len);
	assert_memory_equal(after, packet, len);
	return moved;
}

static void check(const kxdp_iface_t *iface, const char *what, const uint8_t *packet, size_t len,
		  enum filter_count want)
{
	enum filter_count got = run(iface, what, packet, len);
	if (got != want) {
		fail_msg("%s: %s, want %s", what, names[got], names[want]);
	}
}

static void test_rows(void **state)
{
	(void)state;
	require_namespace();
	const kxdp_listen_t listen = { .port = 53 };
	kxdp_iface_t *iface = open_iface(&listen, 1, true);
	kxdp_queue_t *queue;
	kxdp_fault_t fault;
	if (kxdp_queue_open(iface, 0, &queue, &fault) != KNOT_OK) {
		fail_msg("%s", fault.text);
	}
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		frame_t f;
		build(&f, &rows[i]);
		enum filter_count ours = rows[i].v6 ? FILTER_UDP6 : FILTER_UDP4;
		check(iface, rows[i].what, f.bytes, f.len, rows[i].filter != 0 ? rows[i].filter : ours);
	}
	/* Whatever its length, a packet that ends early is the kernel's. */
	for (size_t i = 0; i < 2; i++) {
		frame_t f;
		build(&f, &(row_t){ .v6 = i == 1, .tags = "88A8 0001 8100 0002" });
		for (size_t len = 14; len < f.len; len++) {
			check(iface, "cut", f.bytes, len, FILTER_PASS_MALFORMED);
		}
	}
	kxdp_queue_close(queue);
	frame_t f;
	build(&f, &rows[0]);
	check(iface, "socket closed", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	kxdp_iface_close(iface);
}

static kxdp_listen_t listen_on(const char *address, uint16_t port)
{
	kxdp_listen_t listen = { .port = port };
	struct sockaddr_in *in = (struct sockaddr_in *)&listen.addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&listen.addr;
	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
	} else if (inet_pton(AF_INET6, address, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
	}
	return listen;
}

/* Without a socket, ours is "no socket". */
static void test_destinations(void **state)
{
	(void)state;
	require_namespace();
	static const struct {
		const char *what, *address;
		uint16_t port;
		bool off;
		enum filter_count want4, want6;
	} listen_rows[] = {
		{ "any address", "", 53, false, FILTER_PASS_NO_SOCKET, FILTER_PASS_NO_SOCKET },
		{ "another port", "", 5300, false, FILTER_PASS_PORT, FILTER_PASS_PORT },
		{ "IPv4 address", "198.51.100.1", 53, false, FILTER_PASS_NO_SOCKET, FILTER_PASS_ADDRESS },
		{ "IPv4 address, another port", "198.51.100.1", 54, false, FILTER_PASS_PORT, FILTER_PASS_PORT },
		{ "another IPv4 address", "198.51.100.2", 53, false, FILTER_PASS_ADDRESS, FILTER_PASS_ADDRESS },
		{ "IPv6 address", "2001:db8:9::1", 53, false, FILTER_PASS_ADDRESS, FILTER_PASS_NO_SOCKET },
		{ "another IPv6 address", "2001:db8:0:9::1", 53, false, FILTER_PASS_ADDRESS, FILTER_PASS_ADDRESS },
		{ "IPv4 address in IPv6 clothes", "::ffff:198.51.100.1", 53, false, FILTER_PASS_NO_SOCKET, FILTER_PASS_ADDRESS },
		{ "UDP off", "", 53, true, FILTER_PASS_PORT, FILTER_PASS_PORT },
	};
	for (size_t i = 0; i < KNOT_LEN(listen_rows); i++) {
		/* Once alone, once as the last of the most that are possible. */
		for (size_t count = 1; count <= KXDP_LISTEN_MAX; count += KXDP_LISTEN_MAX - 1) {
			kxdp_listen_t listens[KXDP_LISTEN_MAX];
			for (size_t l = 0; l + 1 < count; l++) {
				listens[l] = listen_on(l % 2 == 0 ? "203.0.113.1" : "2001:db8:ffff::", 53);
			}
			listens[count - 1] = listen_on(listen_rows[i].address, listen_rows[i].port);
			kxdp_iface_t *iface = open_iface(listens, count, !listen_rows[i].off);
			/* The others are our port at another address. */
			bool is_port = listen_rows[i].want4 == FILTER_PASS_PORT;
			bool hidden = is_port && count > 1 && !listen_rows[i].off;
			frame_t f;
			build(&f, &(row_t){ .payload_len = 20 });
			check(iface, listen_rows[i].what, f.bytes, f.len,
			      hidden ? FILTER_PASS_ADDRESS : listen_rows[i].want4);
			build(&f, &(row_t){ .v6 = true, .payload_len = 20 });
			check(iface, listen_rows[i].what, f.bytes, f.len,
			      hidden ? FILTER_PASS_ADDRESS : listen_rows[i].want6);
			kxdp_iface_close(iface);
		}
	}
}

static void test_interface_of_address(void **state)
{
	(void)state;
	require_namespace();
	char name[IF_NAMESIZE] = "";
	kxdp_fault_t fault;
	kxdp_listen_t listen = listen_on("127.0.0.1", 53);
	assert_int_equal(kxdp_iface_of_address((struct sockaddr *)&listen.addr, name, &fault), KNOT_OK);
	assert_string_equal(name, "lo");
	listen = listen_on("::1", 53);
	assert_int_equal(kxdp_iface_of_address((struct sockaddr *)&listen.addr, name, &fault), KNOT_OK);
	listen = listen_on("192.0.2.77", 53);
	assert_int_equal(kxdp_iface_of_address((struct sockaddr *)&listen.addr, name, &fault), KNOT_ENODEV);
	assert_string_equal(fault.text, "no interface has this address; add it, or give the interface's name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_interface_of_address),
	};
	return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
