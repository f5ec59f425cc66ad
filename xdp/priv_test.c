/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The helper through its interface, on the loopback device of a network namespace of our own (needs root), and the
 * checks of requests by themselves (needs nothing).
 */
#include "xdp/iface.h"
#include "xdp/priv.h"
#include "xdp/priv_wire.h"
#include "xdp/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Requests that can't be, and some that can ---- */

typedef struct {
	unsigned calls;
	priv_kind_t last;
} recorder_t;

#define RECORD(constant, name, what)                                                                                   \
	static knot_err_t record_##name(                                                                               \
			void *state, const priv_##name##_t *request, priv_answer_t *answer, kxdp_fault_t *ret_fault)   \
	{                                                                                                              \
		(void)answer;                                                                                          \
		(void)ret_fault;                                                                                       \
		recorder_t *recorder = state;                                                                          \
		recorder->calls++;                                                                                     \
		recorder->last = (priv_kind_t)request->kind;                                                           \
		return KNOT_OK;                                                                                        \
	}
PRIV_REQUESTS(RECORD)
#define ACTION(constant, name, what) .name = record_##name,
static const priv_actions_t recording = { PRIV_REQUESTS(ACTION) };

/* Ports 53, 80, 853 and 5300, and port 0, which is refused all the same. */
static const priv_policy_t policy = {
	.ports = { [0] = 1,
			[53 / 8] = 1 << 53 % 8,
			[80 / 8] = 1 << 80 % 8,
			[853 / 8] = 1 << 853 % 8,
			[5300 / 8] = 1 << 5300 % 8 },
};

static knot_err_t serve(const void *message, size_t len, recorder_t *recorder)
{
	void *copy = malloc(len > 0 ? len : 1); /* of exact size, so that ASan sees a read of one byte more */
	memcpy(copy, message, len);
	priv_answer_t answer;
	kxdp_priv_serve(&recording, recorder, &policy, copy, len, &answer);
	free(copy);
	assert_int_equal(answer.reply.fd_count, 0);
	assert_true((answer.reply.err == KNOT_OK) == (recorder->calls == 1));
	assert_true((answer.reply.err == KNOT_OK) == (answer.reply.text[0] == '\0'));
	return (knot_err_t)answer.reply.err;
}

#define GOOD_OPEN                                                                                                      \
	.kind = PRIV_OPEN, .ifname = "eth0", .config = { .flags = 1, .listen_count = 1, .listens = { { .port = 53 } } }
#define GOOD_CONFIGURE                                                                                                 \
	.kind = PRIV_CONFIGURE,                                                                                        \
	.config = { .flags = 1, .listen_count = 1, .listens = { { .port = 53, .any_addr = 1 } } }
#define GOOD_QUEUE .kind = PRIV_QUEUE, .queue = 1, .ring_size = 2048
#define GOOD_RULE  .kind = PRIV_RULE_SET, .addr = { 0x20, 0x01, 0x0d, 0xb8 }, .prefix_len = 32
#define GOOD_KNOW                                                                                                      \
	.kind = PRIV_KNOW, .count = 1, .entries = { { .data = { 0x20, 0x01 }, .bits = 16, .value = FILTER_KNOWN_YES } }
#define GOOD_BIND .kind = PRIV_BIND, .family = AF_INET, .type = SOCK_DGRAM, .port = 53
#define NAME16                                                                                                         \
	{                                                                                                              \
		'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'                         \
	}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init" /* each row is a good request but for what it names */
static const struct {
	const char *what;
	priv_request_t request;
	knot_err_t want;
} rows[] = {
	{ "open", { .open = { GOOD_OPEN } }, KNOT_OK },
	{ "open: mode", { .open = { GOOD_OPEN, .mode = 3 } }, KNOT_EINVAL },
	{ "open: no name", { .open = { GOOD_OPEN, .ifname = "" } }, KNOT_EINVAL },
	{ "open: name without end", { .open = { GOOD_OPEN, .ifname = NAME16 } }, KNOT_EINVAL },
	{ "open: bytes behind the name", { .open = { GOOD_OPEN, .ifname = "eth\0x" } }, KNOT_EINVAL },
	{ "open: path as a name", { .open = { GOOD_OPEN, .ifname = "../all" } }, KNOT_EINVAL },
	{ "open: dots as a name", { .open = { GOOD_OPEN, .ifname = ".." } }, KNOT_EINVAL },
	{ "open: blank in the name", { .open = { GOOD_OPEN, .ifname = "a b" } }, KNOT_EINVAL },
	{ "open: no listens", { .open = { GOOD_OPEN, .config.listen_count = 0 } }, KNOT_EINVAL },
	{ "open: too many listens", { .open = { GOOD_OPEN, .config.listen_count = KXDP_LISTEN_MAX + 1 } },
			KNOT_EINVAL },
	{ "open: count above what is there", { .open = { GOOD_OPEN, .config.listen_count = 2 } }, KNOT_EINVAL },
	{ "open: listens behind the count", { .open = { GOOD_OPEN, .config.listens[1].port = 1 } }, KNOT_EINVAL },
	{ "open: a client's", { .open = { GOOD_OPEN, .config.flags = 8 | 1 } }, KNOT_OK },
	{ "open: a client's that drops", { .open = { GOOD_OPEN, .config.flags = 16 | 8 | 1 } }, KNOT_OK },
	{ "open: a server's that drops", { .open = { GOOD_OPEN, .config.flags = 16 | 1 } }, KNOT_EINVAL },
	{ "open: a client's with route check", { .open = { GOOD_OPEN, .config.flags = 8 | 4 } }, KNOT_EINVAL },
	{ "open: unknown flag", { .open = { GOOD_OPEN, .config.flags = 32 } }, KNOT_EINVAL },
	{ "open: address with any",
			{ .open = { GOOD_OPEN, .config.listens[0] = { .port = 1, .any_addr = 1, .addr = { 1 } } } },
			KNOT_EINVAL },
	{ "open: any is 2", { .open = { GOOD_OPEN, .config.listens[0] = { .port = 1, .any_addr = 2 } } }, KNOT_EINVAL },
	{ "open: reserved", { .open = { GOOD_OPEN, .config.listens[0] = { .port = 1, .reserved = 1 } } }, KNOT_EINVAL },
	{ "open: configured high port", { .open = { GOOD_OPEN, .config.listens[0].port = 5300 } }, KNOT_OK },
	{ "open: SSH", { .open = { GOOD_OPEN, .config.listens[0].port = 22 } }, KNOT_EACCES },
	{ "open: HTTPS at any address", { .open = { GOOD_OPEN, .config.listens[0] = { .port = 443, .any_addr = 1 } } },
			KNOT_EACCES },
	{ "open: high port of others", { .open = { GOOD_OPEN, .config.listens[0].port = 5301 } }, KNOT_EACCES },
	{ "open: SSH behind DNS",
			{ .open = { GOOD_OPEN, .config = { .listen_count = 2,
							       .listens = { { .port = 53 }, { .port = 22 } } } } },
			KNOT_EACCES },
	{ "open: SSH, spoilt", { .open = { GOOD_OPEN, .mode = 3, .config.listens[0].port = 22 } }, KNOT_EINVAL },
	{ "open: no port", { .open = { GOOD_OPEN, .config.listens[0].port = 0 } }, KNOT_EINVAL },
	{ "configure", { .configure = { GOOD_CONFIGURE } }, KNOT_OK },
	{ "configure: number", { .configure = { GOOD_CONFIGURE, .iface = PRIV_IFACES_MAX } }, KNOT_EINVAL },
	{ "configure: HTTPS", { .configure = { GOOD_CONFIGURE, .config.listens[0].port = 443 } }, KNOT_EACCES },
	{ "configure: no listens", { .configure = { GOOD_CONFIGURE, .config.listen_count = 0 } }, KNOT_EINVAL },
	{ "close", { .close = { .kind = PRIV_CLOSE, .iface = PRIV_IFACES_MAX - 1 } }, KNOT_OK },
	{ "close: number", { .close = { .kind = PRIV_CLOSE, .iface = PRIV_IFACES_MAX } }, KNOT_EINVAL },
	{ "queue", { .queue = { GOOD_QUEUE } }, KNOT_OK },
	{ "queue: interface", { .queue = { GOOD_QUEUE, .iface = UINT32_MAX } }, KNOT_EINVAL },
	{ "queue: number", { .queue = { GOOD_QUEUE, .queue = PRIV_QUEUE_END } }, KNOT_EINVAL },
	{ "queue: ring of 0", { .queue = { GOOD_QUEUE, .ring_size = 0 } }, KNOT_EINVAL },
	{ "queue: ring of 3", { .queue = { GOOD_QUEUE, .ring_size = 3 } }, KNOT_EINVAL },
	{ "queue: small ring", { .queue = { GOOD_QUEUE, .ring_size = 2 } }, KNOT_EINVAL },
	{ "queue: ring that wraps around", { .queue = { GOOD_QUEUE, .ring_size = 0x80000000 } }, KNOT_EINVAL },
	{ "queue: large ring", { .queue = { GOOD_QUEUE, .ring_size = 65536 } }, KNOT_EINVAL },
	{ "start", { .start = { .kind = PRIV_START, .queue = 1, .start = 1 } }, KNOT_OK },
	{ "start: number", { .start = { .kind = PRIV_START, .queue = PRIV_QUEUE_END, .start = 1 } }, KNOT_EINVAL },
	{ "start: twice", { .start = { .kind = PRIV_START, .start = 2 } }, KNOT_EINVAL },
	{ "queue: busy poll", { .queue = { GOOD_QUEUE, .busypoll_budget = PRIV_BUSYPOLL_MAX + 1 } }, KNOT_EINVAL },
	{ "rule", { .rule_set = { GOOD_RULE } }, KNOT_OK },
	{ "rule: all", { .rule_set = { .kind = PRIV_RULE_SET } }, KNOT_OK },
	{ "rule: 129 bits", { .rule_set = { GOOD_RULE, .prefix_len = 129 } }, KNOT_EINVAL },
	{ "rule: last bit behind the prefix", { .rule_set = { GOOD_RULE, .prefix_len = 28 } }, KNOT_EINVAL },
	{ "rule: last byte", { .rule_set = { GOOD_RULE, .addr[15] = 1 } }, KNOT_EINVAL },
	{ "rule: within a byte", { .rule_set = { GOOD_RULE, .prefix_len = 29 } }, KNOT_OK },
	{ "remove", { .rule_remove = { .kind = PRIV_RULE_REMOVE, .prefix_len = 128 } }, KNOT_OK },
	{ "remove: bits", { .rule_remove = { .kind = PRIV_RULE_REMOVE, .addr = { 1 }, .prefix_len = 7 } },
			KNOT_EINVAL },
	{ "remove: rate", { .rule_remove = { .kind = PRIV_RULE_REMOVE, .prefix_len = 128, .per_second = 1 } },
			KNOT_EINVAL },
	{ "bind", { .bind = { GOOD_BIND } }, KNOT_OK },
	{ "bind: configured port", { .bind = { GOOD_BIND, .port = 80 } }, KNOT_OK },
	{ "bind: other low port", { .bind = { GOOD_BIND, .port = 22 } }, KNOT_EACCES },
	{ "bind: configured high port", { .bind = { GOOD_BIND, .port = 5300 } }, KNOT_EACCES },
	{ "bind: no port", { .bind = { GOOD_BIND, .port = 0 } }, KNOT_EACCES },
	{ "bind: family", { .bind = { GOOD_BIND, .family = AF_UNIX } }, KNOT_EINVAL },
	{ "bind: netlink", { .bind = { GOOD_BIND, .family = AF_NETLINK } }, KNOT_EINVAL },
	{ "bind: raw", { .bind = { GOOD_BIND, .type = SOCK_RAW } }, KNOT_EINVAL },
	{ "bind: type with flags", { .bind = { GOOD_BIND, .type = SOCK_DGRAM | SOCK_NONBLOCK } }, KNOT_EINVAL },
	{ "bind: IPv4 with more than an address", { .bind = { GOOD_BIND, .addr[4] = 1 } }, KNOT_EINVAL },
	{ "bind: IPv4 with a scope", { .bind = { GOOD_BIND, .scope = 1 } }, KNOT_EINVAL },
	{ "bind: IPv6 with a scope", { .bind = { GOOD_BIND, .family = AF_INET6, .scope = 1, .addr[15] = 1 } },
			KNOT_OK },
	{ "bind: device", { .bind = { GOOD_BIND, .device = "eth0" } }, KNOT_OK },
	{ "bind: device without end", { .bind = { GOOD_BIND, .device = NAME16 } }, KNOT_EINVAL },
	{ "know", { .know = { GOOD_KNOW } }, KNOT_OK },
	{ "know: nothing", { .know = { .kind = PRIV_KNOW } }, KNOT_EINVAL },
	{ "know: too much", { .know = { GOOD_KNOW, .count = PRIV_KNOWN_MAX + 1 } }, KNOT_EINVAL },
	{ "know: interface", { .know = { GOOD_KNOW, .iface = PRIV_IFACES_MAX } }, KNOT_EINVAL },
	{ "know: kind", { .know = { GOOD_KNOW, .entries[0].kind = FILTER_KNOWN_KINDS } }, KNOT_EINVAL },
	{ "know: 129 bits", { .know = { GOOD_KNOW, .entries[0].bits = 129 } }, KNOT_EINVAL },
	{ "know: behind the prefix", { .know = { GOOD_KNOW, .entries[0].data[15] = 1 } }, KNOT_EINVAL },
	{ "know: value", { .know = { GOOD_KNOW, .entries[0].value = 3 } }, KNOT_EINVAL },
	{ "know: reserved", { .know = { GOOD_KNOW, .entries[0].reserved = 1 } }, KNOT_EINVAL },
	{ "know: behind the count", { .know = { GOOD_KNOW, .entries[1].value = 1 } }, KNOT_EINVAL },
	{ "know: a MAC's prefix", { .know = { GOOD_KNOW, .entries[0].kind = FILTER_KNOWN_MAC } }, KNOT_EINVAL },
	{ "know: a MAC", { .know = { GOOD_KNOW, .entries[0] = { .kind = FILTER_KNOWN_MAC, .bits = 48 } } }, KNOT_OK },
	{ "host", { .host = { .kind = PRIV_HOST, .flags = 7 } }, KNOT_OK },
	{ "host: flag", { .host = { .kind = PRIV_HOST, .flags = 8 } }, KNOT_EINVAL },
	{ "host: interface", { .host = { .kind = PRIV_HOST, .iface = PRIV_IFACES_MAX } }, KNOT_EINVAL },
	{ "host: IPv4 addresses", { .host = { .kind = PRIV_HOST, .host.ipv4_count = FILTER_NEAR_MAX + 1 } },
			KNOT_EINVAL },
	{ "host: IPv6 addresses", { .host = { .kind = PRIV_HOST, .host.ipv6_count = FILTER_NEAR_MAX + 1 } },
			KNOT_EINVAL },
	{ "raw", { .raw = { .kind = PRIV_RAW, .family = AF_INET6 } }, KNOT_OK },
	{ "raw: packets", { .raw = { .kind = PRIV_RAW, .family = AF_PACKET } }, KNOT_EINVAL },
};
#pragma GCC diagnostic pop

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		recorder_t recorder = { 0 };
		const size_t len = kxdp_priv_request_len(rows[i].request.kind);
		knot_err_t got = serve(&rows[i].request, len, &recorder);
		if (got != rows[i].want || (got == KNOT_OK && recorder.last != rows[i].request.kind)) {
			fail_msg("%s: %d", rows[i].what, got);
		}
	}
}

static void test_lengths(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		uint8_t message[sizeof(priv_request_t) + 1] = { 0 };
		memcpy(message, &rows[i].request, sizeof(rows[i].request));
		for (size_t len = 0; len <= sizeof(message); len++) {
			recorder_t recorder = { 0 };
			if (len != kxdp_priv_request_len(rows[i].request.kind)) {
				assert_int_equal(serve(message, len, &recorder), KNOT_EINVAL);
			}
		}
	}
	for (uint32_t kind = PRIV_KIND_END; kind < PRIV_KIND_END + 3; kind++) {
		recorder_t recorder = { 0 };
		assert_int_equal(kxdp_priv_request_len(kind), 0);
		assert_int_equal(serve(&kind, sizeof(kind), &recorder), KNOT_EINVAL);
	}
	recorder_t recorder = { 0 };
	assert_int_equal(serve(&(uint32_t){ 0 }, 4, &recorder), KNOT_EINVAL);
}

/* ---- The helper ---- */

static kxdp_fault_t fault;

static kxdp_priv_t *start(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0 || system("ip link set lo up") != 0) {
		skip();
	}
	const uint16_t ports[] = { 80, 5300, 5301 };
	kxdp_priv_t *priv = NULL;
	assert_int_equal(kxdp_priv_start(&(kxdp_priv_params_t){ .ports = ports, .port_count = 3 }, &priv, &fault),
			KNOT_OK);
	assert_true(kxdp_priv_alive(priv));
	return priv;
}

static const kxdp_listen_t listens[] = { { .port = 5300 }, { .port = 5301 } };

static kxdp_options_t options_of(const char *ifname)
{
	return (kxdp_options_t){
		.ifname = ifname,
		.config = { .listens = listens, .listen_count = 1, .udp = true },
		.ring_size = 64,
	};
}

/* The process that keeps the other end of the pair: the only child. */
static pid_t helper_pid(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	FILE *file = fopen(path, "re");
	int pid = 0;
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

static void test_without_helper(void **state)
{
	(void)state;
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	int fd;
	assert_int_equal(kxdp_iface_open(NULL, &options, &iface, &fault), KNOT_EPERM);
	assert_non_null(strstr(fault.text, "CAP_NET_ADMIN"));
	assert_int_equal(kxdp_priv_raw_socket(NULL, AF_INET, &fd, &fault), KNOT_EPERM);
	assert_false(kxdp_priv_alive(NULL));
	kxdp_priv_stop(NULL);
}

static void test_bind(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	kxdp_bind_t bind = { .type = SOCK_DGRAM, .addr = (const struct sockaddr *)&in };
	int fd, second;
	bool nonlocal = true;
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_OK);
	assert_false(nonlocal);
	struct sockaddr_in got;
	socklen_t len = sizeof(got);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&got, &len), 0);
	assert_int_equal(got.sin_port, htons(53));
	assert_int_equal(got.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	/* Taken, and free again when our descriptor, the only one, closes. */
	assert_int_equal(kxdp_priv_bind(priv, &bind, &second, &nonlocal, &fault), KNOT_EADDRINUSE);
	close(fd);
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_OK);
	close(fd);
	bind.reuseport = true;
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_OK);
	assert_int_equal(kxdp_priv_bind(priv, &bind, &second, &nonlocal, &fault), KNOT_OK);
	close(fd);
	close(second);

	bind.type = SOCK_STREAM;
	in.sin_addr.s_addr = htonl(0xC0000201); /* 192.0.2.1: no interface has it */
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_OK);
	assert_true(nonlocal);
	close(fd);
	in.sin_port = htons(22);
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_EACCES);
	assert_non_null(strstr(fault.text, "port 22"));
	in.sin_port = htons(80);
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_OK);
	close(fd);

	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(853), .sin6_addr = IN6ADDR_LOOPBACK_INIT
	};
	bind.addr = (const struct sockaddr *)&in6;
	snprintf(bind.device, sizeof(bind.device), "lo");
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_OK);
	close(fd);
	snprintf(bind.device, sizeof(bind.device), "nosuch0");
	assert_int_equal(kxdp_priv_bind(priv, &bind, &fd, &nonlocal, &fault), KNOT_ENODEV);
	kxdp_priv_stop(priv);
}

static void test_raw_socket(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	int raw, udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(5300), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	assert_int_equal(bind(udp, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(kxdp_priv_raw_socket(priv, AF_INET, &raw, &fault), KNOT_OK);
	/* A whole IPv4 packet with a UDP datagram "hi" without checksum, from an address that we don't have. */
	uint8_t packet[30] = { 0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 9, 127, 0, 0, 1, 0x30, 0x39,
		5300 >> 8, 5300 & 255, 0, 10, 0, 0, 'h', 'i' };
	assert_int_equal(sendto(raw, packet, sizeof(packet), 0, (const struct sockaddr *)&to, sizeof(to)),
			sizeof(packet));
	char got[8];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	assert_int_equal(recvfrom(udp, got, sizeof(got), 0, (struct sockaddr *)&from, &len), 2);
	assert_int_equal(from.sin_addr.s_addr, htonl(0x7F000009));
	assert_true(recv(raw, got, sizeof(got), 0) < 0 && errno == EAGAIN);
	close(raw);
	close(udp);
	assert_int_equal(kxdp_priv_raw_socket(priv, AF_INET6, &raw, &fault), KNOT_OK);
	close(raw);
	kxdp_priv_stop(priv);
}

static void test_iface(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	kxdp_options_t options = options_of("nosuch0");
	kxdp_iface_t *iface, *second;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_ENODEV);
	options.ifname = "a-name-that-is-too-long";
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_ENODEV);
	options.ifname = "lo";
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	assert_string_equal(kxdp_iface_mode_text(iface), "emulated/copy");
	assert_false(kxdp_iface_is_shared(iface));
	assert_int_equal(kxdp_iface_index(iface), 1);
	assert_int_equal(kxdp_iface_open(priv, &options, &second, &fault), KNOT_EBUSY);

	kxdp_config_t config = { .listens = listens, .listen_count = 2, .udp = true, .tcp = true };
	assert_int_equal(kxdp_iface_configure(iface, &config, &fault), KNOT_OK);
	config.listen_count = KXDP_LISTEN_MAX + 1;
	assert_int_equal(kxdp_iface_configure(iface, &config, &fault), KNOT_EINVAL);
	kxdp_iface_close(iface);
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

/* What a worker that was taken over could ask for: other ports of an interface, at once or after opening it for DNS. */
static void test_ports_of_others(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	static const uint16_t ports[] = { 22, 443, 1, 52, 54, 5299, 5302, 65535 };
	kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface, *second;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	for (size_t i = 0; i < KNOT_LEN(ports); i++) {
		const kxdp_listen_t taken[] = { { .port = 53 }, { .port = ports[i] } };
		char text[16];
		snprintf(text, sizeof(text), "port %u ", ports[i]);
		options.config = (kxdp_config_t){ .listens = taken, .listen_count = 2, .tcp = true };
		assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_EACCES);
		assert_non_null(strstr(fault.text, text));
		assert_non_null(strstr(fault.text, "restart the server"));
		assert_int_equal(kxdp_iface_open(priv, &options, &second, &fault), KNOT_EACCES);
	}
	const kxdp_listen_t dns[] = { { .port = 53 } };
	options.config = (kxdp_config_t){ .listens = dns, .listen_count = 1, .tcp = true };
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_OK);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

static int forwarding(const char *family)
{
	char path[80], c;
	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/lo/forwarding", family);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, &c, 1), 1);
	close(fd);
	return c - '0';
}

static void test_route_check_settings(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	assert_int_equal(forwarding("ipv4"), 0);
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	assert_int_equal(forwarding("ipv4") + forwarding("ipv6"), 0);
	options.config.route_check = true;
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_OK);
	assert_int_equal(forwarding("ipv4") + forwarding("ipv6"), 2);
	options.config.route_check = false;
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_OK);
	assert_int_equal(forwarding("ipv4") + forwarding("ipv6"), 0);
	options.config.route_check = true;
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_OK);
	kxdp_iface_close(iface);
	assert_int_equal(forwarding("ipv4") + forwarding("ipv6"), 0);
	/* What another program has set stays. */
	assert_int_equal(system("echo 1 >/proc/sys/net/ipv4/conf/lo/forwarding"), 0);
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	kxdp_iface_close(iface);
	assert_int_equal(forwarding("ipv4"), 1);
	assert_int_equal(forwarding("ipv6"), 0);
	kxdp_priv_stop(priv);
}

static kxdp_rule_t rule_of(uint8_t last, uint8_t prefix_len, uint32_t per_second)
{
	kxdp_rule_t rule = { .addr = { [10] = 0xFF, [11] = 0xFF, [12] = 127, [15] = last }, .prefix_len = prefix_len };
	rule.per_second = per_second;
	return rule;
}

static void send_to_server(unsigned count)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(5300), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	for (unsigned i = 0; i < count; i++) {
		(void)sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
	}
	close(fd);
}

static uint64_t filter_count(const kxdp_iface_t *iface, const char *name)
{
	kxdp_filter_count_t counts[32];
	size_t count = kxdp_iface_filter_counts(iface, KXDP_ALL_QUEUES, counts, KNOT_LEN(counts));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(counts[i].name, name) == 0) {
			return counts[i].packets;
		}
	}
	fail_msg("no counter %s", name);
	return 0;
}

static void test_rules(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	kxdp_rule_count_t rules[4];
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	assert_int_equal(kxdp_iface_rules(iface, rules, 4), 0);
	kxdp_rule_t all = rule_of(0, 104, 0), one = rule_of(1, 128, 1000000);
	assert_int_equal(kxdp_rule_remove(iface, &all, &fault), KNOT_ENOENT);
	assert_int_equal(kxdp_rule_set(iface, &all, &fault), KNOT_OK);
	send_to_server(5);
	assert_int_equal(kxdp_iface_rules(iface, rules, 4), 1);
	assert_int_equal(rules[0].matched, 5);
	assert_int_equal(rules[0].dropped, 5);
	assert_int_equal(filter_count(iface, "dropped-blocked"), 5);
	/* The longer prefix decides. */
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_OK);
	send_to_server(3);
	assert_int_equal(kxdp_iface_rules(iface, rules, 4), 2);
	assert_int_equal(rules[1].matched, 3);
	assert_int_equal(rules[1].dropped, 0);
	/* Another limit: counters stay. */
	one.per_second = 0;
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_OK);
	send_to_server(2);
	assert_int_equal(kxdp_iface_rules(iface, rules, 1), 2);
	assert_int_equal(kxdp_iface_rules(iface, rules, 4), 2);
	assert_int_equal(rules[1].matched, 5);
	assert_int_equal(rules[1].dropped, 2);
	/* The same once more, or another limit: when the next one is due stays, too. */
	one.per_second = 1;
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_OK);
	send_to_server(5);
	const uint64_t due = iface->counted[iface->rules[1].index].due;
	assert_int_not_equal(due, 0);
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_OK);
	assert_true(iface->counted[iface->rules[1].index].due == due);
	one.per_second = 2;
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_OK);
	assert_true(iface->counted[iface->rules[1].index].due == due);
	assert_int_equal(kxdp_iface_rules(iface, rules, 4), 2);
	assert_int_equal(rules[1].matched, 10);
	/* A new rule in a place that was used starts at 0. */
	assert_int_equal(kxdp_rule_remove(iface, &one, &fault), KNOT_OK);
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_OK);
	assert_int_equal(kxdp_iface_rules(iface, rules, 4), 2);
	assert_int_equal(rules[1].matched, 0);
	assert_int_equal(kxdp_rule_remove(iface, &one, &fault), KNOT_OK);
	assert_int_equal(kxdp_rule_remove(iface, &all, &fault), KNOT_OK);
	send_to_server(7);
	assert_int_equal(filter_count(iface, "dropped-blocked"), 5 + 2);
	one = rule_of(1, 127, 0);
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_EINVAL); /* bits behind the prefix */
	one = rule_of(1, 128, UINT32_MAX);
	assert_int_equal(kxdp_rule_set(iface, &one, &fault), KNOT_ERANGE);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

static kxdp_known_t known_ipv4(uint8_t last, uint8_t value)
{
	return (kxdp_known_t){ .kind = FILTER_KNOWN_ADDRESS,
		.bits = 128,
		.data = { [10] = 0xFF, 0xFF, 127, 0, 0, last },
		.value = value };
}

static void check_passed(kxdp_iface_t *iface, const char *row, unsigned count)
{
	uint64_t before = filter_count(iface, row);
	send_to_server(count);
	assert_int_equal(filter_count(iface, row) - before, count);
}

/* What the program knows of the host follows, by differences. Packets go to 127.0.0.1. */
static void test_host(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	check_passed(iface, "passed-no-socket", 2);
	kxdp_host_t host = { .check_address = true, .broadcast_bits_be = 1 };
	assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	enum { MANY = 100 };
	kxdp_known_t known[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		known[i] = known_ipv4((uint8_t)(i + 1), FILTER_KNOWN_YES);
	}
	host.known = known;
	host.known_count = MANY;
	assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
	check_passed(iface, "passed-no-socket", 2);
	known[0].value = FILTER_KNOWN_NO;
	assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	/* Configuring keeps the checks. */
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	known[0].value = FILTER_KNOWN_YES;
	assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
	check_passed(iface, "passed-no-socket", 2);
	host.known = known + 1;
	host.known_count--;
	assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	host.check_mac = true; /* of `lo` all bytes are 0 */
	host.mac[5] = 1;
	assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
	check_passed(iface, "passed-other-mac", 2);
	assert_int_equal(kxdp_iface_set_host(iface, &(kxdp_host_t){ 0 }, &fault), KNOT_OK);
	check_passed(iface, "passed-no-socket", 2);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

/* More than the map has room for beside what it has, and back. */
static void test_host_swapped(void **state)
{
	(void)state;
	enum { MANY = KXDP_KNOWN_MAX - 1 };
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	kxdp_known_t *known = calloc(MANY + 1, sizeof(*known));
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			known[i] = (kxdp_known_t){ .bits = 128, .value = FILTER_KNOWN_YES };
			known[i].data[0] = 0x20 + (uint8_t)(round % 2);
			known[i].data[14] = (uint8_t)(i >> 8);
			known[i].data[15] = (uint8_t)i;
		}
		const bool has_ours = round % 2 == 0;
		memmove(known + 1, known, MANY * sizeof(*known));
		known[0] = known_ipv4(1, FILTER_KNOWN_YES);
		const kxdp_host_t host = { .known = has_ours ? known : known + 1,
			.known_count = has_ours ? MANY + 1 : MANY,
			.check_address = true,
			.broadcast_bits_be = 1 };
		assert_int_equal(kxdp_iface_set_host(iface, &host, &fault), KNOT_OK);
		check_passed(iface, has_ours ? "passed-no-socket" : "passed-not-local", 2);
	}
	free(known);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

/* A change of which the helper takes only the first part leaves nothing behind, and nothing is checked meanwhile. */
static void test_host_failure(void **state)
{
	(void)state;
	enum { MANY = 2 * PRIV_KNOWN_MAX + 10 };
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	kxdp_known_t known[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		known[i] = known_ipv4((uint8_t)(i + 1), FILTER_KNOWN_YES);
	}
	const kxdp_host_t with = {
		.known = known, .known_count = PRIV_KNOWN_MAX, .check_address = true, .broadcast_bits_be = 1
	};
	kxdp_host_t without = with, bad = with;
	without.known++;
	without.known_count--;
	bad.known_count = MANY;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	/* The address is added by the change that fails. */
	assert_int_equal(kxdp_iface_set_host(iface, &without, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	known[MANY - 1].value = 3; /* that no helper takes */
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(kxdp_iface_set_host(iface, &bad, &fault), KNOT_EINVAL);
		check_passed(iface, "passed-no-socket", 2);
	}
	assert_int_equal(kxdp_iface_set_host(iface, &without, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	/* … or changed by it. */
	assert_int_equal(kxdp_iface_set_host(iface, &with, &fault), KNOT_OK);
	check_passed(iface, "passed-no-socket", 2);
	known[0].value = FILTER_KNOWN_NO;
	assert_int_equal(kxdp_iface_set_host(iface, &bad, &fault), KNOT_EINVAL);
	known[0].value = FILTER_KNOWN_YES;
	assert_int_equal(kxdp_iface_set_host(iface, &with, &fault), KNOT_OK);
	check_passed(iface, "passed-no-socket", 2);
	/* … or removed. */
	bad.known++;
	bad.known_count--;
	assert_int_equal(kxdp_iface_set_host(iface, &bad, &fault), KNOT_EINVAL);
	check_passed(iface, "passed-no-socket", 2);
	assert_int_equal(kxdp_iface_set_host(iface, &without, &fault), KNOT_OK);
	check_passed(iface, "passed-not-local", 2);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

static void test_many_rules(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	kxdp_rule_t rule = { .prefix_len = 128 };
	unsigned max = 0;
	knot_err_t err = KNOT_OK;
	for (; max < 100000 && err == KNOT_OK; max++) {
		rule.addr[13] = (uint8_t)(max >> 16);
		rule.addr[14] = (uint8_t)(max >> 8);
		rule.addr[15] = (uint8_t)max;
		err = kxdp_rule_set(iface, &rule, &fault);
	}
	assert_int_equal(err, KNOT_ESPACE);
	assert_int_equal(kxdp_iface_rules(iface, NULL, 0), max - 1);
	rule.addr[13] = rule.addr[14] = rule.addr[15] = 0;
	assert_int_equal(kxdp_rule_remove(iface, &rule, &fault), KNOT_OK);
	assert_int_equal(kxdp_rule_set(iface, &rule, &fault), KNOT_OK);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

/* Frames that have arrived. Those of the loopback device have addresses that no reply may go to. */
static uint64_t received(kxdp_queue_t *queue)
{
	kxdp_packet_t packets[KXDP_BATCH_MAX];
	assert_int_equal(kxdp_receive(queue, packets, KXDP_BATCH_MAX), 0);
	kxdp_stats_t stats;
	kxdp_queue_stats(queue, &stats);
	return stats.received[KXDP_BAD_ADDRESS];
}

/* What the daemon closes is closed: nothing of a queue stays in the helper. */
static void test_queue(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	kxdp_queue_t *queue, *second;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	for (unsigned round = 1; round <= 3; round++) {
		assert_int_equal(kxdp_queue_open(iface, 0, &queue, &fault), KNOT_OK);
		send_to_server(10);
		assert_int_equal(filter_count(iface, "redirected-udp4"), 10 * round);
		assert_int_equal(received(queue), 10);
		kxdp_queue_close(queue);
		send_to_server(1);
		assert_int_equal(filter_count(iface, "passed-no-socket"), round);
	}
	assert_int_equal(kxdp_queue_open(iface, 0, &queue, &fault), KNOT_OK);
	assert_int_equal(kxdp_queue_open(iface, 0, &second, &fault), KNOT_EBUSY);
	send_to_server(1);
	assert_int_equal(received(queue), 1); /* the one that was there is unharmed */
	kxdp_queue_close(queue);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

/* All that the configuration has room for can be had. */
static void test_large_busypoll_budget(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	kxdp_options_t options = options_of("lo");
	options.busypoll_budget = UINT16_MAX;
	options.busypoll_timeout_us = UINT16_MAX;
	kxdp_iface_t *iface;
	kxdp_queue_t *queue;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	assert_int_equal(kxdp_queue_open(iface, 0, &queue, &fault), KNOT_OK);
	kxdp_queue_close(queue);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

static unsigned count_fds(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *dir = opendir(path);
	unsigned count = 0;
	while (readdir(dir) != NULL) {
		count++;
	}
	closedir(dir);
	return count;
}

/* Neither side keeps descriptors of what was opened and closed, or could not be opened. */
static void test_no_descriptor_is_kept(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_options_t wrong = options_of("lo");
	wrong.mode = KXDP_MODE_NATIVE; /* loopback can't */
	unsigned here = 0, there = 0;
	for (unsigned i = 0; i < 4; i++) {
		kxdp_iface_t *iface;
		kxdp_queue_t *queue, *second;
		int fd;
		assert_int_equal(kxdp_iface_open(priv, &wrong, &iface, &fault), KNOT_ENOTSUP);
		assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
		assert_int_equal(kxdp_queue_open(iface, 0, &queue, &fault), KNOT_OK);
		if (i == 0) {
			assert_int_equal(kxdp_queue_open(iface, 0, &second, &fault), KNOT_EBUSY);
		}
		kxdp_queue_close(queue);
		assert_int_equal(kxdp_priv_raw_socket(priv, AF_INET, &fd, &fault), KNOT_OK);
		close(fd);
		/* Another request: by its reply, what the one before sent is closed. */
		assert_int_equal(kxdp_rule_set(iface, &(kxdp_rule_t){ 0 }, &fault), KNOT_OK);
		kxdp_iface_close(iface);
		if (i == 0) {
			here = count_fds(getpid());
			there = count_fds(helper_pid());
		}
	}
	assert_int_equal(count_fds(getpid()), here);
	assert_int_equal(count_fds(helper_pid()), there);
	kxdp_priv_stop(priv);
}

/* A daemon without room for more descriptors is told so, keeps its helper, and can go on later. */
static void test_no_room_for_descriptors(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	kxdp_queue_t *queue;
	struct rlimit before, few;
	unsigned refused = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned free_fds = 0; free_fds < 5; free_fds++) {
		few = before;
		int next = dup(0); /* the lowest number that is free */
		close(next);
		few.rlim_cur = (rlim_t)next + free_fds;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		knot_err_t err = kxdp_iface_open(priv, &options, &iface, &fault);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_true(err == KNOT_OK || free_fds < 3);
		assert_true(kxdp_priv_alive(priv));
		refused += err == KNOT_ESPACE;
		if (err == KNOT_OK) {
			kxdp_iface_close(iface);
		}
	}
	assert_int_not_equal(refused, 0);
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	assert_int_equal(kxdp_queue_open(iface, 0, &queue, &fault), KNOT_OK);
	kxdp_queue_close(queue);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

static void wait_for_end(kxdp_priv_t *priv)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	const time_t end_s = time(NULL) + 60;
	while (kxdp_priv_alive(priv) && time(NULL) < end_s) {
		nanosleep(&pause, NULL);
	}
	assert_false(kxdp_priv_alive(priv));
}

static void test_helper_killed(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const kxdp_options_t options = options_of("lo");
	kxdp_iface_t *iface;
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	const pid_t pid = helper_pid();
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < KNOT_LEN(ignored); i++) {
		assert_int_equal(kill(pid, ignored[i]), 0);
	}
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_OK);
	assert_int_equal(kill(pid, SIGKILL), 0);
	wait_for_end(priv);
	/* The program is still attached and counts; nothing can be changed. */
	send_to_server(4);
	assert_int_equal(filter_count(iface, "passed-no-socket"), 4);
	assert_int_equal(kxdp_iface_configure(iface, &options.config, &fault), KNOT_ECONNCLOSED);
	assert_non_null(strstr(fault.text, "restart"));
	kxdp_queue_t *queue;
	assert_int_equal(kxdp_queue_open(iface, 0, &queue, &fault), KNOT_ECONNCLOSED);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
	/* Nothing is left: another one can open it. */
	priv = NULL;
	assert_int_equal(kxdp_priv_start(&(kxdp_priv_params_t){ .ports = (const uint16_t[]){ 5300 }, .port_count = 1 },
					 &priv, &fault),
			KNOT_OK);
	assert_int_equal(kxdp_iface_open(priv, &options, &iface, &fault), KNOT_OK);
	kxdp_iface_close(iface);
	kxdp_priv_stop(priv);
}

/* One that was stopped, or is stuck, doesn't outlive the daemon: it holds the interface. */
static void test_helper_stopped(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const pid_t pid = helper_pid();
	assert_int_equal(kill(pid, SIGSTOP), 0);
	kxdp_priv_stop(priv);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void *ask_for_socket(void *priv)
{
	kxdp_fault_t why;
	int sock = -1;
	if (kxdp_priv_raw_socket(priv, AF_INET, &sock, &why) == KNOT_OK) {
		close(sock);
	}
	return NULL;
}

/* Whether the helper lives is known at once, also while a request to a helper that doesn't react waits for its reply.
 */
static void test_alive_while_asked(void **state)
{
	(void)state;
	kxdp_priv_t *priv = start();
	const pid_t pid = helper_pid();
	struct timespec before, after;
	pthread_t thread;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(pthread_create(&thread, NULL, ask_for_socket, priv), 0);
	nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL); /* that the request waits can't be seen */
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_true(kxdp_priv_alive(priv));
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(kill(pid, SIGCONT), 0);
	pthread_join(thread, NULL);
	assert_true(after.tv_sec - before.tv_sec < 10);
	assert_true(kxdp_priv_alive(priv));
	kxdp_priv_stop(priv);
}

/* What the helper has of the process that it came from. */
static void test_helper_is_bare(void **state)
{
	(void)state;
	int secret = open("/dev/zero", O_RDONLY); /* without close-on-exec: the helper is no exec */
	kxdp_priv_t *priv = start();
	int fd;
	assert_int_equal(kxdp_priv_raw_socket(priv, AF_INET, &fd, &fault), KNOT_OK); /* once it replies, it is ready */
	close(fd);
	assert_int_equal(kxdp_priv_raw_socket(priv, AF_UNIX, &fd, &fault), KNOT_EINVAL);
	char path[64], line[256];
	snprintf(path, sizeof(path), "ls /proc/%d/fd | tr '\\n' ' '", (int)helper_pid());
	FILE *out = popen(path, "r");
	assert_non_null(fgets(line, sizeof(line), out));
	pclose(out);
	assert_string_equal(line, "0 1 2 3 ");
	snprintf(path, sizeof(path), "/proc/%d/status", (int)helper_pid());
	FILE *status = fopen(path, "re");
	unsigned long long effective = 0, permitted = 0;
	unsigned no_new_privileges = 0;
	while (fgets(line, sizeof(line), status) != NULL) {
		(void)sscanf(line, "CapEff: %llx", &effective);
		(void)sscanf(line, "CapPrm: %llx", &permitted);
		(void)sscanf(line, "NoNewPrivs: %u", &no_new_privileges);
	}
	fclose(status);
	const unsigned long long allowed = 1ULL << 10 | 1ULL << 12 | 1ULL << 13 | 1ULL << 14 | 1ULL << 38 | 1ULL << 39;
	const unsigned long long admin = 1ULL << 21;
	assert_true(effective != 0 && (effective & ~allowed) == 0);
	assert_true((permitted & ~(allowed | admin)) == 0);
	assert_int_equal(no_new_privileges, 1);
	close(secret);
	kxdp_priv_stop(priv);
}

/* A process that was started without standard streams gets the pair in their place. */
static void test_without_standard_streams(void **state)
{
	(void)state;
	kxdp_priv_stop(start()); /* skips without privileges */
	const uint16_t ports[] = { 53 };
	for (unsigned closed = 1; closed < 8; closed++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			kxdp_priv_t *priv = NULL;
			int fd;
			for (int i = 0; i < 3; i++) {
				if ((closed >> i & 1) != 0) {
					close(i);
				}
			}
			const kxdp_priv_params_t params = {
				.ports = ports, .port_count = 1, .detached = closed % 2 == 0
			};
			bool is_good = kxdp_priv_start(&params, &priv, &fault) == KNOT_OK &&
				       kxdp_priv_raw_socket(priv, AF_INET, &fd, &fault) == KNOT_OK;
			kxdp_priv_stop(priv);
			_exit(is_good ? 0 : 1);
		}
		int status = -1;
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0) {
			fail_msg("streams closed: %u", closed);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_without_helper),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_raw_socket),
		cmocka_unit_test(test_iface),
		cmocka_unit_test(test_ports_of_others),
		cmocka_unit_test(test_route_check_settings),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_host_swapped),
		cmocka_unit_test(test_host_failure),
		cmocka_unit_test(test_many_rules),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_large_busypoll_budget),
		cmocka_unit_test(test_no_descriptor_is_kept),
		cmocka_unit_test(test_no_room_for_descriptors),
		cmocka_unit_test(test_helper_killed),
		cmocka_unit_test(test_helper_stopped),
		cmocka_unit_test(test_alive_while_asked),
		cmocka_unit_test(test_helper_is_bare),
		cmocka_unit_test(test_without_standard_streams),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
