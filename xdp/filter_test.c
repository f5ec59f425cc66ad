/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel program, run by the kernel on packets (BPF_PROG_TEST_RUN), in a network namespace of its own. */
#include "xdp/filter_run.h"
#include "xdp/frame_rows.h"
#include "xdp/kxdp.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

enum { TCP_SYN = 0x02, TCP_ACK = 0x10, TCP_FLAGS_OFF = 13, LIMIT_THREADS = 4 };

static bool in_namespace;

/* Needs privileges; without them the tests are skipped. */
static int enter_namespace(void **state)
{
	(void)state;
	in_namespace = filter_enter_namespace();
	return 0;
}

static void require_namespace(void)
{
	if (!in_namespace) {
		skip();
	}
}

static void run_command(const char *command)
{
	if (system(command) != 0) {
		fail_msg("%s", command);
	}
}

/* ---- packets ---- */

static frame_t packet_of(bool v6, bool tcp, uint8_t tcp_flags)
{
	frame_t f;
	build(&f, &(row_t){ .v6 = v6,
				  .payload_len = 20,
				  .set = { AT_IP, v6 ? 6 : 9, tcp ? IPPROTO_TCP : IPPROTO_UDP } });
	f.bytes[f.udp_off + TCP_FLAGS_OFF] = tcp ? tcp_flags : f.bytes[f.udp_off + TCP_FLAGS_OFF];
	return f;
}

static void scan_address(const char *text, uint8_t ret_addr[static 16])
{
	memset(ret_addr, 0, 16);
	if (inet_pton(AF_INET, text, ret_addr + 12) == 1) {
		ret_addr[10] = ret_addr[11] = 0xFF;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, ret_addr), 1);
	}
}

/* A packet from `source` to `destination`: both IPv4 or both IPv6. */
static frame_t packet_between(const char *source, const char *destination, bool tcp, uint8_t tcp_flags)
{
	bool v6 = strchr(source, ':') != NULL;
	frame_t f = packet_of(v6, tcp, tcp_flags);
	uint8_t addr[16];
	scan_address(source, addr);
	memcpy(f.bytes + f.ip_off + (v6 ? 8 : 12), v6 ? addr : addr + 12, v6 ? 16 : 4);
	scan_address(destination, addr);
	memcpy(f.bytes + f.ip_off + (v6 ? 24 : 16), v6 ? addr : addr + 12, v6 ? 16 : 4);
	return f;
}

/* Run a packet; its one counted fate. Checks that action and packet agree with it. */
static enum filter_count fate_on(const filter_t *filter, const char *what, const uint8_t *packet, size_t len,
		unsigned ifindex, unsigned queue, filter_result_t *ret_result)
{
	struct filter_counts before[RUN_QUEUES];
	memcpy(before, filter->counts, sizeof(before));
	filter_run(filter, packet, len, ifindex, queue, ret_result);
	unsigned counted = queue < RUN_QUEUES ? queue : 0;
	enum filter_count fate = filter_moved(&before[counted], &filter->counts[counted]);
	if (fate == FILTER_RECEIVED) {
		fail_msg("%s: not exactly one counter of queue %u moved", what, counted);
	}
	for (unsigned q = 0; q < RUN_QUEUES; q++) {
		assert_true(q == counted || memcmp(&before[q], &filter->counts[q], sizeof(before[q])) == 0);
	}
	assert_int_equal(ret_result->action, filter_action(fate));
	assert_int_equal(ret_result->len, len);
	assert_memory_equal(ret_result->frame, packet, len);
	return fate;
}

static void check(const filter_t *filter, const char *what, const uint8_t *packet, size_t len, enum filter_count want)
{
	filter_result_t result;
	enum filter_count got = fate_on(filter, what, packet, len, 0, 0, &result);
	if (got != want) {
		fail_msg("%s: %s, want %s", what, filter_names[got], filter_names[want]);
	}
	assert_false(result.has_meta);
}

/* ---- what is ours ---- */

static const struct filter_config any_udp = {
	.listen_count = 1,
	.listens = { { .protos = FILTER_PROTO_UDP, .port_be = 0x3500, .any_addr = 1 } },
};

static const struct filter_config any_both = {
	.listen_count = 1,
	.listens = { { .protos = FILTER_PROTO_UDP | FILTER_PROTO_TCP, .port_be = 0x3500, .any_addr = 1 } },
};

static void test_rows(void **state)
{
	(void)state;
	require_namespace();
	filter_t filter = filter_load();
	frame_t f;
	build(&f, &rows[0]);
	check(&filter, "not configured", f.bytes, f.len, FILTER_PASS_PORT);
	filter_configure(&filter, &any_udp);
	check(&filter, "no socket yet", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	filter_open_socket(&filter);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		build(&f, &rows[i]);
		enum filter_count ours = rows[i].v6 ? FILTER_UDP6 : FILTER_UDP4;
		check(&filter, rows[i].what, f.bytes, f.len, rows[i].filter != 0 ? rows[i].filter : ours);
	}
	filter_configure(&filter, &any_both);
	for (size_t i = 0; i < KNOT_LEN(tcp_rows); i++) {
		build(&f, &tcp_rows[i]);
		enum filter_count ours = tcp_rows[i].v6 ? FILTER_TCP6 : FILTER_TCP4;
		check(&filter, tcp_rows[i].what, f.bytes, f.len, tcp_rows[i].filter != 0 ? tcp_rows[i].filter : ours);
	}
	filter_configure(&filter, &any_udp);
	/* Whatever its length, a packet that ends early is the kernel's. */
	for (size_t i = 0; i < 2; i++) {
		build(&f, &(row_t){ .v6 = i == 1, .tags = "88A8 0001 8100 0002" });
		for (size_t len = 14; len < f.len; len++) {
			check(&filter, "cut", f.bytes, len, FILTER_PASS_MALFORMED);
		}
	}
	filter_close_socket(&filter);
	build(&f, &rows[0]);
	check(&filter, "socket closed", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	filter_unload(&filter);
}

/* A client's program: by the source, and ports from 2000 on. */
static void test_client(void **state)
{
	(void)state;
	require_namespace();
	static const struct {
		const char *what;
		uint16_t source, dest; /* ports */
		bool other_host, tcp;
		uint32_t flags;
		enum filter_count want;
	} client_rows[] = {
		{ "reply", 53, 2000, false, false, 0, FILTER_UDP4 },
		{ "reply over TCP", 53, 65535, false, true, 0, FILTER_TCP4 },
		{ "port below", 53, 1999, false, false, 0, FILTER_PASS_PORT },
		{ "from another port", 54, 2000, false, false, 0, FILTER_PASS_PORT },
		{ "from another host", 53, 2000, true, false, 0, FILTER_PASS_ADDRESS },
		{ "a query to port 53", 40000, 53, false, false, 0, FILTER_PASS_PORT },
		{ "not wanted", 53, 2000, false, false, FILTER_CLIENT_DROP, FILTER_DROP_BLOCKED },
		{ "not wanted, of others", 53, 2000, true, false, FILTER_CLIENT_DROP, FILTER_PASS_ADDRESS },
	};
	filter_t filter = filter_load();
	filter.prog_fd = filter.client_fd;
	filter_open_socket(&filter);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		for (size_t i = 0; i < KNOT_LEN(client_rows); i++) {
			frame_t f = packet_of(v6, client_rows[i].tcp, TCP_ACK);
			store_be16(f.bytes + f.udp_off, client_rows[i].source);
			store_be16(f.bytes + f.udp_off + 2, client_rows[i].dest);
			struct filter_config config = {
				.listen_count = 1,
				.flags = client_rows[i].flags,
				.listens = { { .protos = FILTER_PROTO_UDP | FILTER_PROTO_TCP, .port_be = 0x3500 } },
			};
			uint8_t *addr = config.listens[0].addr;
			if (v6) {
				memcpy(addr, f.bytes + 14 + 8, 16);
			} else {
				addr[10] = addr[11] = 0xFF;
				memcpy(addr + 12, f.bytes + 14 + 12, 4);
			}
			addr[15] ^= client_rows[i].other_host;
			filter_configure(&filter, &config);
			bool is_ours = client_rows[i].want == FILTER_UDP4 || client_rows[i].want == FILTER_TCP4;
			check(&filter, client_rows[i].what, f.bytes, f.len,
					client_rows[i].want + (v6 && is_ours ? 1 : 0));
		}
	}
	filter_unload(&filter);
}

static void test_protocols(void **state)
{
	(void)state;
	require_namespace();
	static const struct {
		const char *what;
		uint8_t protos;
		enum filter_count want_udp4, want_udp6, want_tcp4, want_tcp6;
	} proto_rows[] = {
		{ "UDP", FILTER_PROTO_UDP, FILTER_UDP4, FILTER_UDP6, FILTER_PASS_PORT, FILTER_PASS_PORT },
		{ "TCP", FILTER_PROTO_TCP, FILTER_PASS_PORT, FILTER_PASS_PORT, FILTER_TCP4, FILTER_TCP6 },
		{ "both", FILTER_PROTO_UDP | FILTER_PROTO_TCP, FILTER_UDP4, FILTER_UDP6, FILTER_TCP4, FILTER_TCP6 },
		{ "none", 0, FILTER_PASS_PORT, FILTER_PASS_PORT, FILTER_PASS_PORT, FILTER_PASS_PORT },
	};
	static const uint8_t flags[] = { TCP_SYN, TCP_ACK, TCP_SYN | TCP_ACK, 0, 0xFF };
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	for (size_t i = 0; i < KNOT_LEN(proto_rows); i++) {
		struct filter_config config = any_both;
		config.listens[0].protos = proto_rows[i].protos;
		filter_configure(&filter, &config);
		for (unsigned v6 = 0; v6 < 2; v6++) {
			frame_t f = packet_of(v6, false, 0);
			check(&filter, proto_rows[i].what, f.bytes, f.len,
					v6 ? proto_rows[i].want_udp6 : proto_rows[i].want_udp4);
			for (size_t t = 0; t < KNOT_LEN(flags); t++) {
				f = packet_of(v6, true, flags[t]);
				check(&filter, proto_rows[i].what, f.bytes, f.len,
						v6 ? proto_rows[i].want_tcp6 : proto_rows[i].want_tcp4);
			}
			check(&filter, "TCP header cut", f.bytes, f.udp_off + 19, FILTER_PASS_MALFORMED);
			f.bytes[0] |= 1;
			bool ours = (proto_rows[i].protos & FILTER_PROTO_TCP) != 0;
			check(&filter, "TCP to a group", f.bytes, f.len, ours ? FILTER_PASS_GROUP : FILTER_PASS_PORT);
		}
	}
	filter_unload(&filter);
}

/* Any other protocol, whatever it is: the kernel's. */
static void test_other_protocols(void **state)
{
	(void)state;
	require_namespace();
	filter_t filter = filter_load();
	filter_configure(&filter, &any_both);
	filter_open_socket(&filter);
	for (unsigned number = 0; number < 256; number++) {
		frame_t f = packet_of(false, false, 0);
		f.bytes[f.ip_off + 9] = (uint8_t)number;
		enum filter_count want = number == IPPROTO_UDP   ? FILTER_UDP4
					 : number == IPPROTO_TCP ? FILTER_TCP4
								 : FILTER_PASS_PROTOCOL;
		check(&filter, "IPv4", f.bytes, f.len, want);
		f = packet_of(true, false, 0);
		f.bytes[f.ip_off + 6] = (uint8_t)number;
		filter_result_t result;
		enum filter_count got = fate_on(&filter, "IPv6", f.bytes, f.len, 0, 0, &result);
		bool ours = number == IPPROTO_UDP || number == IPPROTO_TCP;
		assert_int_equal(filter_groups[got] == FILTER_GROUP_REDIRECTED, ours);
	}
	filter_unload(&filter);
}

/* Without a socket, ours is "no socket". */
static void test_destinations(void **state)
{
	(void)state;
	require_namespace();
	static const struct {
		const char *what, *address;
		uint16_t port;
		enum filter_count want4, want6;
	} listen_rows[] = {
		{ "any address", NULL, 53, FILTER_PASS_NO_SOCKET, FILTER_PASS_NO_SOCKET },
		{ "another port", NULL, 5300, FILTER_PASS_PORT, FILTER_PASS_PORT },
		{ "IPv4 address", "198.51.100.1", 53, FILTER_PASS_NO_SOCKET, FILTER_PASS_ADDRESS },
		{ "IPv4 address, another port", "198.51.100.1", 54, FILTER_PASS_PORT, FILTER_PASS_PORT },
		{ "another IPv4 address", "198.51.100.2", 53, FILTER_PASS_ADDRESS, FILTER_PASS_ADDRESS },
		{ "IPv6 address with the bytes of the IPv4 address", "2001:db8::198.51.100.1", 53, FILTER_PASS_ADDRESS,
				FILTER_PASS_ADDRESS },
		{ "IPv6 address", "2001:db8:9::1", 53, FILTER_PASS_ADDRESS, FILTER_PASS_NO_SOCKET },
		{ "another IPv6 address", "2001:db8:0:9::1", 53, FILTER_PASS_ADDRESS, FILTER_PASS_ADDRESS },
		{ "IPv4 address in IPv6 clothes", "::ffff:198.51.100.1", 53, FILTER_PASS_NO_SOCKET,
				FILTER_PASS_ADDRESS },
	};
	filter_t filter = filter_load();
	for (size_t i = 0; i < KNOT_LEN(listen_rows); i++) {
		/* Once alone, once as the last of the most that are possible, the others at another port. */
		for (uint32_t count = 1; count <= FILTER_LISTEN_MAX; count += FILTER_LISTEN_MAX - 1) {
			struct filter_config config = { .listen_count = count };
			for (uint32_t l = 0; l < count; l++) {
				config.listens[l] = (struct filter_listen){ .protos = FILTER_PROTO_UDP,
					.port_be = htons(5301) };
				scan_address("2001:db8:9::1", config.listens[l].addr);
			}
			struct filter_listen *last = &config.listens[count - 1];
			last->port_be = htons(listen_rows[i].port);
			last->any_addr = listen_rows[i].address == NULL;
			scan_address(last->any_addr ? "::" : listen_rows[i].address, last->addr);
			filter_configure(&filter, &config);
			frame_t f = packet_of(false, false, 0);
			check(&filter, listen_rows[i].what, f.bytes, f.len, listen_rows[i].want4);
			f = packet_of(true, false, 0);
			check(&filter, listen_rows[i].what, f.bytes, f.len, listen_rows[i].want6);
		}
	}
	filter_unload(&filter);
}

/* Whose a packet is: what the host has, in the map and beside it. Without a socket, ours is "no socket". */
static void test_host(void **state)
{
	(void)state;
	require_namespace();
	static const struct filter_config config = {
		.listen_count = 2,
		.flags = FILTER_CHECK_ALL,
		.host = { .mac = { 2, 0, 0, 0, 0, 0x0B },
				.ipv4_count = 1,
				.ipv6_count = 1,
				.ipv6 = { { 0x20, 1, 0x0D, 0xB8, [15] = 9 } } },
		.listens = { { .protos = FILTER_PROTO_UDP, .port_be = 0x3500, .any_addr = 1 },
				{ .protos = FILTER_PROTO_UDP,
						.port_be = 0x3500,
						.addr = { [10] = 0xFF, 0xFF, 203, 0, 113, 9 } } },
	};
	static const struct {
		const char *what, *source, *destination;
		uint8_t mac_end;
		enum filter_count want;
	} host_rows[] = {
		{ "near", "192.0.2.2", "198.51.100.1", 0x0B, FILTER_PASS_NO_SOCKET },
		{ "near, IPv6", "2001:db8::2", "2001:db8::9", 0x0B, FILTER_PASS_NO_SOCKET },
		{ "not near, IPv6", "2001:db8::2", "2001:db8::8", 0x0B, FILTER_PASS_NOT_LOCAL },
		{ "AnyIP", "192.0.2.2", "10.77.3.4", 0x0B, FILTER_PASS_NO_SOCKET },
		{ "broadcast within AnyIP", "192.0.2.2", "10.77.0.255", 0x0B, FILTER_PASS_NOT_LOCAL },
		{ "elsewhere", "192.0.2.2", "8.8.8.8", 0x0B, FILTER_PASS_NOT_LOCAL },
		{ "an address of a listen: always", "192.0.2.2", "203.0.113.9", 0x0B, FILTER_PASS_NO_SOCKET },
		{ "another MAC", "192.0.2.2", "198.51.100.1", 0x0C, FILTER_PASS_OTHER_MAC },
		{ "another MAC, elsewhere", "192.0.2.2", "8.8.8.8", 0x0C, FILTER_PASS_OTHER_MAC },
		{ "a second MAC", "192.0.2.2", "198.51.100.1", 0x0D, FILTER_PASS_NO_SOCKET },
		{ "from broadcast", "192.0.2.255", "198.51.100.1", 0x0B, FILTER_PASS_BROADCAST },
		{ "from broadcast to a listen's", "192.0.2.255", "203.0.113.9", 0x0B, FILTER_PASS_BROADCAST },
		{ "from beside broadcast", "192.0.2.254", "198.51.100.1", 0x0B, FILTER_PASS_NO_SOCKET },
		{ "from another broadcast", "192.0.3.255", "198.51.100.1", 0x0B, FILTER_PASS_NO_SOCKET },
	};
	filter_t filter = filter_load();
	struct filter_config c = config;
	c.host.ipv4_be[0] = htonl(0xC6336401);
	c.host.broadcast_mask_be = htonl(0xFF00FFFF); /* of 192.0.2.255 and 192.8.2.255 */
	c.host.broadcast_bits_be = htonl(0xC00002FF);
	filter_know(&filter, &(struct filter_known){ 8 + 104 + 8, .data = { [10] = 0xFF, 0xFF, 10, 77 } },
			FILTER_KNOWN_YES);
	filter_know(&filter, &(struct filter_known){ 8 + 128, .data = { [10] = 0xFF, 0xFF, 10, 77, 0, 255 } },
			FILTER_KNOWN_NO);
	filter_know(&filter, &(struct filter_known){ 8 + 48, FILTER_KNOWN_MAC, { 2, 0, 0, 0, 0, 0x0D }, { 0 } },
			FILTER_KNOWN_YES);
	filter_know(&filter,
			&(struct filter_known){
					8 + 128, FILTER_KNOWN_BROADCAST, { [10] = 0xFF, 0xFF, 192, 0, 2, 255 }, { 0 } },
			FILTER_KNOWN_YES);
	filter_configure(&filter, &c);
	for (size_t i = 0; i < KNOT_LEN(host_rows); i++) {
		frame_t f = packet_between(host_rows[i].source, host_rows[i].destination, false, 0);
		f.bytes[5] = host_rows[i].mac_end;
		check(&filter, host_rows[i].what, f.bytes, f.len, host_rows[i].want);
	}
	c.flags = 0;
	filter_configure(&filter, &c);
	for (size_t i = 0; i < KNOT_LEN(host_rows); i++) {
		frame_t f = packet_between(host_rows[i].source, host_rows[i].destination, false, 0);
		f.bytes[5] = host_rows[i].mac_end;
		check(&filter, "nothing is checked", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	}
	filter_unload(&filter);
}

/* VLANs by type and id of each tag; one of id 0 is a priority only. */
static void test_vlans(void **state)
{
	(void)state;
	require_namespace();
	static const struct {
		const char *tags;
		enum filter_count want;
	} vlan_rows[] = {
		{ "", FILTER_PASS_NO_SOCKET },
		{ "8100 0005", FILTER_PASS_NO_SOCKET },
		{ "8100 F005", FILTER_PASS_NO_SOCKET },
		{ "8100 0006", FILTER_PASS_OTHER_VLAN },
		{ "88A8 0005", FILTER_PASS_OTHER_VLAN },
		{ "8100 6000", FILTER_PASS_NO_SOCKET },
		{ "8100 0000 8100 0005", FILTER_PASS_NO_SOCKET },
		{ "8100 0005 8100 0000", FILTER_PASS_NO_SOCKET },
		{ "88A8 0007 8100 0008", FILTER_PASS_NO_SOCKET },
		{ "88A8 0008 8100 0007", FILTER_PASS_OTHER_VLAN },
		{ "88A8 0007", FILTER_PASS_OTHER_VLAN },
		{ "8100 0005 8100 0005", FILTER_PASS_OTHER_VLAN },
		{ "8100 0064", FILTER_PASS_OTHER_VLAN },
	};
	filter_t filter = filter_load();
	struct filter_config config = any_udp;
	config.flags = FILTER_CHECK_VLAN;
	filter_configure(&filter, &config);
	filter_know(&filter, &(struct filter_known){ 8 + 64, FILTER_KNOWN_VLAN, { 0x81, 0, 0, 5 }, { 0 } },
			FILTER_KNOWN_YES);
	filter_know(&filter,
			&(struct filter_known){ 8 + 64, FILTER_KNOWN_VLAN, { 0x88, 0xA8, 0, 7, 0x81, 0, 0, 8 }, { 0 } },
			FILTER_KNOWN_YES);
	for (size_t i = 0; i < KNOT_LEN(vlan_rows); i++) {
		frame_t f;
		build(&f, &(row_t){ .payload_len = 20, .tags = vlan_rows[i].tags });
		check(&filter, vlan_rows[i].tags, f.bytes, f.len, vlan_rows[i].want);
	}
	filter_unload(&filter);
}

/* What is written to the slot that isn't in use changes nothing. */
static void test_configuration_slots(void **state)
{
	(void)state;
	require_namespace();
	filter_t filter = filter_load();
	filter_configure(&filter, &any_udp);
	frame_t f = packet_of(false, false, 0);
	check(&filter, "configured", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	uint32_t other = 1 - filter.slot;
	assert_int_equal(bpf_map_update_elem(filter.config_fd, &other, &(struct filter_config){ 0 }, BPF_ANY), 0);
	check(&filter, "other slot written", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	filter_configure(&filter, &(struct filter_config){ 0 });
	check(&filter, "other slot in use", f.bytes, f.len, FILTER_PASS_PORT);
	filter_unload(&filter);
}

/* ---- queues and processors ---- */

static void test_queues(void **state)
{
	(void)state;
	require_namespace();
	run_command("ip link add q0 numrxqueues 6 numtxqueues 6 type veth peer name q1 numrxqueues 6 numtxqueues 6 && "
		    "ip link set q0 up && ip link set q1 up");
	unsigned ifindex = if_nametoindex("q0");
	filter_t filter = filter_load();
	filter_configure(&filter, &any_both);
	filter_open_socket(&filter);
	for (unsigned queue = 0; queue < 6; queue++) {
		frame_t f = packet_of(queue % 2 != 0, true, TCP_ACK);
		filter_result_t result;
		enum filter_count got = fate_on(&filter, "queue", f.bytes, f.len, ifindex, queue, &result);
		assert_int_equal(got, queue == 0 ? FILTER_TCP4 : FILTER_PASS_NO_SOCKET);
	}
	run_command("ip link del q0");
	filter_unload(&filter);
}

typedef struct {
	const filter_t *filter;
	const frame_t *frame;
	int repeat;
	pthread_t thread;
} repeat_t;

static void *repeat_thread(void *arg)
{
	repeat_t *r = arg;
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = r->frame->bytes, .data_size_in = (uint32_t)r->frame->len,
			.repeat = r->repeat);
	return bpf_prog_test_run_opts(r->filter->prog_fd, &opts) == 0 ? r : NULL;
}

static void start_threads(repeat_t *threads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(pthread_create(&threads[i].thread, NULL, repeat_thread, &threads[i]), 0);
	}
}

static void join_threads(repeat_t *threads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *ok;
		assert_int_equal(pthread_join(threads[i].thread, &ok), 0);
		assert_non_null(ok);
	}
}

static void repeat_in_threads(repeat_t *threads, size_t count)
{
	start_threads(threads, count);
	join_threads(threads, count);
}

static void test_counts_of_many_processors(void **state)
{
	(void)state;
	require_namespace();
	enum { REPEAT = 500000 };
	filter_t filter = filter_load();
	filter_configure(&filter, &any_both);
	filter_open_socket(&filter);
	frame_t udp = packet_of(false, false, 0), tcp = packet_of(true, true, TCP_ACK);
	repeat_t threads[LIMIT_THREADS];
	for (size_t i = 0; i < LIMIT_THREADS; i++) {
		threads[i] = (repeat_t){ .filter = &filter, .frame = i % 4 == 3 ? &tcp : &udp, .repeat = REPEAT };
	}
	repeat_in_threads(threads, LIMIT_THREADS);
	assert_int_equal(filter.counts[0].packets[FILTER_UDP4], 3 * REPEAT);
	assert_int_equal(filter.counts[0].packets[FILTER_TCP6], REPEAT);
	filter_unload(&filter);
}

/* The listens change places all the time; a packet to one of them is always ours. */
static void test_configuration_changes_under_packets(void **state)
{
	(void)state;
	require_namespace();
	enum { REPEAT = 2000000, CHANGES = 1000, THREADS = 2 };
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config configs[2] = { { .listen_count = FILTER_LISTEN_MAX },
		{ .listen_count = FILTER_LISTEN_MAX } };
	for (unsigned i = 0; i < FILTER_LISTEN_MAX; i++) {
		struct filter_listen listen = { .protos = FILTER_PROTO_UDP, .port_be = htons(53) };
		scan_address("198.51.100.1", listen.addr);
		listen.addr[15] = (uint8_t)(i + 1);
		configs[0].listens[i] = configs[1].listens[FILTER_LISTEN_MAX - 1 - i] = listen;
	}
	filter_configure(&filter, &configs[0]);
	frame_t f = packet_of(false, false, 0);
	repeat_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++) {
		threads[i] = (repeat_t){ .filter = &filter, .frame = &f, .repeat = REPEAT };
	}
	start_threads(threads, THREADS);
	for (unsigned i = 0; i < CHANGES; i++) {
		filter_configure(&filter, &configs[i % 2]);
		usleep(100);
	}
	join_threads(threads, THREADS);
	assert_int_equal(filter.counts[0].packets[FILTER_UDP4], THREADS * REPEAT);
	filter_unload(&filter);
}

/* ---- block rules ---- */

static struct filter_prefix prefix_of(const char *address, uint32_t len)
{
	struct filter_prefix prefix = { .len = strchr(address, ':') == NULL ? len + 96 : len };
	scan_address(address, prefix.addr);
	return prefix;
}

static void test_rules(void **state)
{
	(void)state;
	require_namespace();
	static const struct {
		const char *address;
		uint32_t len;
		uint32_t per_second;
	} rules[] = {
		{ "192.0.2.0", 24, 0 },
		{ "192.0.2.128", 25, FILTER_RATE_MAX },
		{ "192.0.2.200", 32, 0 },
		{ "2001:db8::", 32, 0 },
		{ "2001:db8:1::", 48, FILTER_RATE_MAX },
		{ "2001:db8:1::7", 128, 0 },
		{ "203.0.113.0", 24, 1 },
	};
	static const struct {
		const char *source;
		enum filter_count want;
		int rule; /* that counts; -1: none */
	} source_rows[] = {
		{ "192.0.1.255", FILTER_UDP4, -1 },
		{ "192.0.2.0", FILTER_DROP_BLOCKED, 0 },
		{ "192.0.2.127", FILTER_DROP_BLOCKED, 0 },
		{ "192.0.2.128", FILTER_UDP4, 1 },
		{ "192.0.2.200", FILTER_DROP_BLOCKED, 2 },
		{ "192.0.2.201", FILTER_UDP4, 1 },
		{ "192.0.3.0", FILTER_UDP4, -1 },
		{ "2001:db7::1", FILTER_UDP6, -1 },
		{ "2001:db8::1", FILTER_DROP_BLOCKED, 3 },
		{ "2001:db8:1::6", FILTER_UDP6, 4 },
		{ "2001:db8:1::7", FILTER_DROP_BLOCKED, 5 },
		{ "2001:db8:2::", FILTER_DROP_BLOCKED, 3 },
		/* Burst and one more; then the next is too early. */
		{ "203.0.113.1", FILTER_UDP4, 6 },
		{ "203.0.113.2", FILTER_UDP4, 6 },
		{ "203.0.113.3", FILTER_DROP_LIMITED, 6 },
	};
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	for (uint32_t i = 0; i < KNOT_LEN(rules); i++) {
		struct filter_prefix prefix = prefix_of(rules[i].address, rules[i].len);
		filter_set_rule(&filter, &prefix, i, rules[i].per_second);
	}
	filter_configure(&filter, &any_both);
	frame_t f = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	check(&filter, "rules not in use", f.bytes, f.len, FILTER_UDP4);
	struct filter_config config = any_both;
	config.flags = FILTER_RULES;
	filter_configure(&filter, &config);
	uint64_t matched[KNOT_LEN(rules)] = { 0 }, dropped[KNOT_LEN(rules)] = { 0 };
	for (size_t i = 0; i < KNOT_LEN(source_rows); i++) {
		bool v6 = strchr(source_rows[i].source, ':') != NULL;
		f = packet_between(source_rows[i].source, v6 ? "2001:db8:9::1" : "198.51.100.1", false, 0);
		check(&filter, source_rows[i].source, f.bytes, f.len, source_rows[i].want);
		if (source_rows[i].rule >= 0) {
			matched[source_rows[i].rule]++;
			dropped[source_rows[i].rule] += filter_groups[source_rows[i].want] == FILTER_GROUP_DROPPED;
		}
	}
	for (size_t i = 0; i < KNOT_LEN(rules); i++) {
		assert_int_equal(filter.rules[i].matched, matched[i]);
		assert_int_equal(filter.rules[i].dropped, dropped[i]);
	}
	/* Only what is ours is blocked. */
	f = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	f.bytes[f.udp_off + 3]++;
	check(&filter, "blocked source, another port", f.bytes, f.len, FILTER_PASS_PORT);
	struct filter_prefix prefix = prefix_of(rules[0].address, rules[0].len);
	assert_int_equal(bpf_map_delete_elem(filter.prefixes_fd, &prefix), 0);
	f = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	check(&filter, "rule removed", f.bytes, f.len, FILTER_UDP4);
	filter_unload(&filter);
}

/* IPv4 sources are kept as ::ffff:0:0/96, which is no reason to take them for IPv6. */
static void test_rules_of_one_family(void **state)
{
	(void)state;
	require_namespace();
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_RULES;
	filter_configure(&filter, &config);
	const struct filter_prefix all6 = prefix_of("::", 0), all4 = prefix_of("0.0.0.0", 0);
	filter_set_rule(&filter, &all6, 0, 0);
	frame_t v4 = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	frame_t v6 = packet_between("2001:db8::1", "2001:db8:9::1", false, 0);
	check(&filter, "IPv4, ::/0", v4.bytes, v4.len, FILTER_UDP4);
	check(&filter, "IPv6, ::/0", v6.bytes, v6.len, FILTER_DROP_BLOCKED);
	assert_int_equal(filter.rules[0].matched, 1);
	filter_set_rule(&filter, &all4, 1, 0);
	check(&filter, "IPv4, 0.0.0.0/0", v4.bytes, v4.len, FILTER_DROP_BLOCKED);
	assert_int_equal(filter.rules[1].matched, 1);
	filter_unload(&filter);
}

/* A limit is for queries and new connections; blocking is for all. */
static void test_rules_and_tcp(void **state)
{
	(void)state;
	require_namespace();
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_RULES;
	filter_configure(&filter, &config);
	struct filter_prefix limited = prefix_of("192.0.2.0", 24), blocked = prefix_of("203.0.113.0", 24);
	filter_set_rule(&filter, &limited, 7, 1);
	filter_set_rule(&filter, &blocked, 8, 0);
	static const enum filter_count want[] = { FILTER_TCP4, FILTER_TCP4, FILTER_DROP_LIMITED };
	for (size_t i = 0; i < KNOT_LEN(want); i++) {
		frame_t f = packet_between("192.0.2.1", "198.51.100.1", true, TCP_SYN);
		check(&filter, "SYN", f.bytes, f.len, want[i]);
		f = packet_between("192.0.2.1", "198.51.100.1", true, TCP_ACK);
		check(&filter, "ACK", f.bytes, f.len, FILTER_TCP4);
		f = packet_between("203.0.113.1", "198.51.100.1", true, TCP_ACK);
		check(&filter, "blocked ACK", f.bytes, f.len, FILTER_DROP_BLOCKED);
	}
	filter_unload(&filter);
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* Far more queries than the limit, from several processors: no more than the rate and a burst pass. */
static void check_limit(uint32_t per_second)
{
	enum { REPEAT = 1500000 };
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_RULES;
	filter_configure(&filter, &config);
	struct filter_prefix prefix = prefix_of("192.0.2.0", 24);
	filter_set_rule(&filter, &prefix, 0, per_second);
	frame_t f = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	repeat_t threads[LIMIT_THREADS];
	for (size_t i = 0; i < LIMIT_THREADS; i++) {
		threads[i] = (repeat_t){ .filter = &filter, .frame = &f, .repeat = REPEAT };
	}
	uint64_t start = now_ns();
	repeat_in_threads(threads, LIMIT_THREADS);
	double seconds = (double)(now_ns() - start) / 1e9;
	uint64_t passed = filter.counts[0].packets[FILTER_UDP4];
	assert_int_equal(passed + filter.counts[0].packets[FILTER_DROP_LIMITED], LIMIT_THREADS * (uint64_t)REPEAT);
	assert_int_equal(filter.rules[0].matched, LIMIT_THREADS * (uint64_t)REPEAT);
	assert_int_equal(filter.rules[0].dropped, filter.counts[0].packets[FILTER_DROP_LIMITED]);
	double most = seconds * per_second + (double)filter_burst(per_second) + 1;
	print_message("limit %u/s: %lu passed in %.3f s, at most %.0f\n", per_second, (unsigned long)passed, seconds,
			most);
	assert_true((double)passed <= most);
	/*
	 * All of the first burst, and some after it. How many depends on when the threads run: see test_limit_is_fair.
	 */
	assert_true(passed >= filter_burst(per_second) + (seconds * per_second >= 2 ? 1 : 0));
	filter_unload(&filter);
}

static void test_limits(void **state)
{
	(void)state;
	require_namespace();
	check_limit(1);
	check_limit(100);
	check_limit(10000);
	check_limit(1000000);
}

/* Queries that come evenly at the rate all pass; of twice as many the rate does. None comes earlier because the one
 * before was late. Where the machine lets this process wait, what the rule saves up for it is bounded by the burst: a
 * bucket that is empty at first says how many queries are due at least. */
static void test_limit_is_fair(void **state)
{
	(void)state;
	require_namespace();
	enum { RATE = 2000, SENT = 600 };
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_RULES;
	filter_configure(&filter, &config);
	struct filter_prefix prefix = prefix_of("192.0.2.0", 24);
	frame_t f = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	for (unsigned times = 1; times <= 2; times++) {
		filter_set_rule(&filter, &prefix, 0, RATE);
		const uint64_t start = now_ns(), step = 1000000000 / RATE / times;
		uint64_t passed = 0, due = 0, last = start;
		double bucket = 0;
		for (unsigned i = 0; i < SENT * times; i++) {
			uint64_t now = now_ns();
			while (now < last + step) {
				now = now_ns();
			}
			bucket += (double)(now - last) * RATE / 1e9;
			bucket = bucket < (double)filter_burst(RATE) ? bucket : (double)filter_burst(RATE);
			due += bucket >= 1;
			bucket -= bucket >= 1;
			last = now;
			filter_result_t result;
			filter_run(&filter, f.bytes, f.len, 0, 0, &result);
			passed += result.action == XDP_REDIRECT;
		}
		uint64_t most = (last - start) * RATE / 1000000000 + filter_burst(RATE) + 2;
		print_message("evenly at %u times the rate: %lu of %u passed, at least %lu, at most %lu\n", times,
				(unsigned long)passed, SENT * times, (unsigned long)due, (unsigned long)most);
		assert_true(passed <= most);
		/* A query may come later than its time was taken: one of twenty. */
		assert_true(passed == SENT * times || (times == 2 && passed + SENT / 20 >= due));
	}
	filter_unload(&filter);
}

/* The program's time wraps around: whatever `due` is left of a prefix that was silent for long, or of a rule that is
 * new on a machine that has been up for more than a year, the next query passes, and the limit holds from then on. */
static void test_limit_after_silence(void **state)
{
	(void)state;
	require_namespace();
	enum { RATE = 100 };
	static const uint64_t ahead[] = { UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1, UINT64_C(3) << 61,
		UINT64_C(100000000000) << 8 /* 100 s */ };
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_RULES;
	filter_configure(&filter, &config);
	struct filter_prefix prefix = prefix_of("192.0.2.0", 24);
	frame_t f = packet_between("192.0.2.1", "198.51.100.1", false, 0);
	for (size_t i = 0; i < KNOT_LEN(ahead); i++) {
		filter_set_rule(&filter, &prefix, 0, RATE);
		filter.rules[0].due = (now_ns() << 8) + ahead[i];
		filter_result_t result;
		filter_run(&filter, f.bytes, f.len, 0, 0, &result);
		assert_int_equal(result.action, XDP_REDIRECT);
		for (unsigned sent = 0; result.action != XDP_DROP; sent++) {
			assert_true(sent < 1000000);
			filter_run(&filter, f.bytes, f.len, 0, 0, &result);
		}
	}
	/* As far ahead as queries put it: those that come then come too early. */
	filter_set_rule(&filter, &prefix, 0, RATE);
	filter.rules[0].due = (now_ns() << 8) + filter.rules[0].tolerance + filter.rules[0].interval;
	filter_result_t result;
	filter_run(&filter, f.bytes, f.len, 0, 0, &result);
	assert_int_equal(result.action, XDP_DROP);
	filter_unload(&filter);
}

/* ---- route check ---- */

static void set_forwarding(const char *device, bool on)
{
	char command[128];
	snprintf(command, sizeof(command), "sysctl -qw net.ipv4.conf.%s.forwarding=%d net.ipv6.conf.%s.forwarding=%d",
			device, on, device, on);
	run_command(command);
}

/* Two uplinks; `p0` and `p1` are the other ends. Nothing forwards but `lo`. */
static void make_uplinks(void)
{
	run_command("ip link add u0 address 02:00:00:00:00:10 type veth peer name p0 && "
		    "ip link add u1 address 02:00:00:00:00:11 type veth peer name p1 && "
		    "for d in u0 u1 p0 p1; do sysctl -qw net.ipv6.conf.$d.accept_dad=0; ip link set $d up; done; "
		    "ip address add 192.0.2.1/24 dev u0; ip address add 203.0.113.1/24 dev u1; "
		    "ip address add 2001:db8:a::1/64 dev u0 nodad; ip address add 2001:db8:b::1/64 dev u1 nodad; "
		    "ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:20 nud permanent dev u0; "
		    "ip neighbour add 203.0.113.9 lladdr 02:00:00:00:00:21 nud permanent dev u1; "
		    "ip neighbour add 2001:db8:a::9 lladdr 02:00:00:00:00:20 nud permanent dev u0; "
		    "ip neighbour add 2001:db8:b::9 lladdr 02:00:00:00:00:21 nud permanent dev u1; "
		    "ip neighbour add 192.0.2.34 lladdr 02:00:00:00:00:20 nud stale dev u0; "
		    "ip neighbour add 192.0.2.35 lladdr 02:00:00:00:00:20 nud failed dev u0; "
		    "ip neighbour add 2001:db8:a::35 lladdr 02:00:00:00:00:20 nud failed dev u0; "
		    "ip route add default via 192.0.2.9; ip route add default via 2001:db8:a::9; "
		    "ip route add 198.18.8.0/24 via inet6 2001:db8:b::9; "
		    "ip nexthop add id 7 via 203.0.113.9 dev u1; ip route add 198.19.0.0/24 nhid 7; "
		    "ip route add 198.18.1.0/24 via 203.0.113.9 mtu lock 1280; "
		    "ip route add 198.18.7.0/24 via 203.0.113.9 mtu 1280; "
		    "ip route add 2001:db8:c::/48 via 2001:db8:b::9 mtu lock 1280; "
		    "ip route add 198.18.2.0/24 via 203.0.113.77; ip route add 2001:db8:d::/48 via 2001:db8:b::77; "
		    "for r in blackhole:3 unreachable:4 prohibit:5 throw:6; do "
		    "ip route add ${r%:*} 198.18.${r#*:}.0/24; ip route add ${r%:*} 2001:db8:e${r#*:}::/48; done; "
		    "ip rule add from 203.0.113.1 table 100; ip route add default via 203.0.113.9 table 100; "
		    "ip -6 rule add from 2001:db8:b::1 table 100; "
		    "ip -6 route add default via 2001:db8:b::9 table 100; "
		    "ip rule add iif lo from 192.0.2.2 table 101; ip route add default via 203.0.113.9 table 101; "
		    "ip rule add iif u0 from 192.0.2.3 table 101; "
		    "ip rule add ipproto udp sport 53 from 192.0.2.4 table 101");
	/* The kernel makes IPv6 addresses its own a while later, in the background. */
	run_command("for a in 2001:db8:a::1 2001:db8:b::1; do "
		    "timeout 60 sh -c \"until ip -6 route show table local | grep -q 'local $a '; do sleep 0.01; "
		    "done\" || exit; done");
	set_forwarding("all", false);
	set_forwarding("default", false);
	set_forwarding("u0", false);
	set_forwarding("u1", false);
}

static const struct {
	const char *what, *client, *local;
	enum filter_count want;
	enum filter_way way; /* when it is redirected */
	unsigned uplink;     /* 0 or 1 */
	uint16_t mtu;
} route_rows[] = {
	{ "on the link", "192.0.2.9", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 0, 1500 },
	{ "on the other link", "203.0.113.9", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "default route", "198.18.9.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 0, 1500 },
	{ "route with a locked MTU", "198.18.1.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1280 },
	{ "route with an MTU that may grow", "198.18.7.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "neighbour not known", "192.0.2.33", "192.0.2.1", FILTER_UDP4, FILTER_WAY_KERNEL, 0, 0 },
	{ "neighbour not heard of for long", "192.0.2.34", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 0, 1500 },
	{ "neighbour that didn't answer", "192.0.2.35", "192.0.2.1", FILTER_UDP4, FILTER_WAY_KERNEL, 0, 0 },
	{ "IPv6 gateway", "198.18.8.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "next-hop object", "198.19.0.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "gateway not known", "198.18.2.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_KERNEL, 0, 0 },
	{ "blackhole", "198.18.3.1", "192.0.2.1", FILTER_DROP_UNROUTABLE, 0, 0, 0 },
	{ "unreachable", "198.18.4.1", "192.0.2.1", FILTER_DROP_UNROUTABLE, 0, 0, 0 },
	{ "prohibit", "198.18.5.1", "192.0.2.1", FILTER_DROP_UNROUTABLE, 0, 0, 0 },
	{ "throw, nothing else", "198.18.6.1", "192.0.2.1", FILTER_PASS_NO_ROUTE, 0, 0, 0 },
	{ "our own address", "203.0.113.1", "192.0.2.1", FILTER_PASS_NO_ROUTE, 0, 0, 0 },
	{ "multicast: user space refuses it", "224.0.0.1", "192.0.2.1", FILTER_UDP4, FILTER_WAY_ROUTE, 0, 1500 },
	{ "rule from our address", "198.18.9.1", "203.0.113.1", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "rule for what this machine sends", "198.18.9.1", "192.0.2.2", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "rule for what comes in by u0", "198.18.9.1", "192.0.2.3", FILTER_UDP4, FILTER_WAY_ROUTE, 0, 1500 },
	{ "rule for our port", "198.18.9.1", "192.0.2.4", FILTER_UDP4, FILTER_WAY_ROUTE, 1, 1500 },
	{ "IPv6, on the link", "2001:db8:a::9", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_ROUTE, 0, 1500 },
	{ "IPv6, on the other link", "2001:db8:b::9", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_ROUTE, 1, 1500 },
	{ "IPv6, default route", "2001:db8:f::1", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_ROUTE, 0, 1500 },
	{ "IPv6, route with a locked MTU", "2001:db8:c::1", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_ROUTE, 1, 1280 },
	{ "IPv6, neighbour not known", "2001:db8:a::33", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_KERNEL, 0, 0 },
	{ "IPv6, neighbour that didn't answer", "2001:db8:a::35", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_KERNEL, 0,
			0 },
	{ "IPv6, gateway not known", "2001:db8:d::1", "2001:db8:a::1", FILTER_UDP6, FILTER_WAY_KERNEL, 0, 0 },
	{ "IPv6, blackhole", "2001:db8:e3::1", "2001:db8:a::1", FILTER_DROP_UNROUTABLE, 0, 0, 0 },
	{ "IPv6, unreachable", "2001:db8:e4::1", "2001:db8:a::1", FILTER_DROP_UNROUTABLE, 0, 0, 0 },
	{ "IPv6, prohibit", "2001:db8:e5::1", "2001:db8:a::1", FILTER_DROP_UNROUTABLE, 0, 0, 0 },
	{ "IPv6, throw, nothing else", "2001:db8:e6::1", "2001:db8:a::1", FILTER_PASS_NO_ROUTE, 0, 0, 0 },
	{ "IPv6, our own address", "2001:db8:b::1", "2001:db8:a::1", FILTER_PASS_NO_ROUTE, 0, 0, 0 },
	{ "IPv6, rule from our address", "2001:db8:f::1", "2001:db8:b::1", FILTER_UDP6, FILTER_WAY_ROUTE, 1, 1500 },
	{ "IPv6, link-local", "fe80::9", "fe80::1", FILTER_UDP6, FILTER_WAY_BACK, 0, 0 },
};

static void check_meta(
		const char *what, const struct filter_meta *meta, enum filter_way way, unsigned uplink, uint16_t mtu)
{
	struct filter_meta want = { .magic = FILTER_META_MAGIC, .way = (uint8_t)way, .mtu = mtu };
	if (way == FILTER_WAY_ROUTE) {
		want.ifindex = if_nametoindex(uplink == 0 ? "u0" : "u1");
		memcpy(want.local_mac, (uint8_t[]){ 2, 0, 0, 0, 0, (uint8_t)(0x10 + uplink) }, 6);
		memcpy(want.remote_mac, (uint8_t[]){ 2, 0, 0, 0, 0, (uint8_t)(0x20 + uplink) }, 6);
	}
	if (memcmp(meta, &want, sizeof(want)) != 0) {
		fail_msg("%s: way %u, interface %u, MTU %u; want %u, %u, %u", what, meta->way, meta->ifindex, meta->mtu,
				way, want.ifindex, mtu);
	}
}

static void test_routes(void **state)
{
	(void)state;
	require_namespace();
	make_uplinks();
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_ROUTE_CHECK;
	filter_configure(&filter, &config);
	for (unsigned forwarding = 0; forwarding < 2; forwarding++) {
		set_forwarding("lo", forwarding);
		for (size_t i = 0; i < KNOT_LEN(route_rows); i++) {
			const char *what = route_rows[i].what;
			frame_t f = packet_between(route_rows[i].client, route_rows[i].local, false, 0);
			filter_result_t result;
			enum filter_count got = fate_on(&filter, what, f.bytes, f.len, 0, 0, &result);
			bool v6 = strchr(route_rows[i].client, ':') != NULL;
			/* Without forwarding on `lo` the kernel says nothing. */
			bool unknown = forwarding == 0 && route_rows[i].way != FILTER_WAY_BACK;
			enum filter_count want = unknown ? (v6 ? FILTER_UDP6 : FILTER_UDP4) : route_rows[i].want;
			enum filter_way way = unknown ? FILTER_WAY_KERNEL : route_rows[i].way;
			if (got != want) {
				fail_msg("%s, forwarding %u: %s, want %s", what, forwarding, filter_names[got],
						filter_names[want]);
			}
			assert_int_equal(result.has_meta, filter_groups[want] == FILTER_GROUP_REDIRECTED);
			if (result.has_meta) {
				check_meta(what, &result.meta, way, route_rows[i].uplink,
						unknown ? 0 : route_rows[i].mtu);
			}
		}
	}
	filter_close_socket(&filter);
	frame_t f = packet_between("192.0.2.9", "192.0.2.1", false, 0);
	check(&filter, "no socket: no metadata either", f.bytes, f.len, FILTER_PASS_NO_SOCKET);
	filter_unload(&filter);
	run_command("ip link del u0; ip link del u1");
}

/* Under libxdp's dispatcher another program may have left its metadata. */
static void test_metadata_of_others(void **state)
{
	(void)state;
	require_namespace();
	filter_t filter = filter_load();
	filter_open_socket(&filter);
	struct filter_config config = any_both;
	config.flags = FILTER_ROUTE_CHECK;
	filter_configure(&filter, &config);
	frame_t f = packet_between("fe80::9", "fe80::1", false, 0);
	for (uint32_t others = 4; others <= 32; others += 4) {
		uint8_t packet[FRAME_MAX], after[FRAME_MAX];
		memset(packet, 0xAA, others);
		memcpy(packet + others, f.bytes, f.len);
		uint32_t len = (uint32_t)f.len + others;
		struct xdp_md in = { .data = others, .data_end = len }, out;
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = len, .data_out = after,
				.data_size_out = sizeof(after), .ctx_in = &in, .ctx_size_in = sizeof(in),
				.ctx_out = &out, .ctx_size_out = sizeof(out));
		assert_int_equal(bpf_prog_test_run_opts(filter.prog_fd, &opts), 0);
		assert_int_equal(opts.retval, XDP_REDIRECT);
		assert_int_equal(out.data, sizeof(struct filter_meta));
		check_meta("others' metadata", (const struct filter_meta *)after, FILTER_WAY_BACK, 0, 0);
		assert_memory_equal(after + out.data, f.bytes, f.len);
	}
	filter_unload(&filter);
}

static void test_interface_of_address(void **state)
{
	(void)state;
	require_namespace();
	char name[IF_NAMESIZE] = "";
	kxdp_fault_t fault;
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 sa6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	assert_int_equal(kxdp_iface_of_address((struct sockaddr *)&sa, name, &fault), KNOT_OK);
	assert_string_equal(name, "lo");
	assert_int_equal(kxdp_iface_of_address((struct sockaddr *)&sa6, name, &fault), KNOT_OK);
	sa.sin_addr.s_addr = inet_addr("192.0.2.77");
	assert_int_equal(kxdp_iface_of_address((struct sockaddr *)&sa, name, &fault), KNOT_ENODEV);
	assert_string_equal(fault.text, "no interface has this address; add it, or give the interface's name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_protocols),
		cmocka_unit_test(test_other_protocols),
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_vlans),
		cmocka_unit_test(test_configuration_slots),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_counts_of_many_processors),
		cmocka_unit_test(test_configuration_changes_under_packets),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_rules_of_one_family),
		cmocka_unit_test(test_rules_and_tcp),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_limit_is_fair),
		cmocka_unit_test(test_limit_after_silence),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_metadata_of_others),
		cmocka_unit_test(test_interface_of_address),
	};
	return cmocka_run_group_tests(tests, enter_namespace, NULL);
}
