/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The kernel program: nanoseconds per packet by what becomes of it, best of 250 short runs, as a long one is never
 * undisturbed (BPF_PROG_TEST_RUN). As root. Packets come from the cache here, and nothing is redirected in fact.
 */
#include "xdp/filter_run.h"

#include <arpa/inet.h>

enum {
	REPEAT = 20000,
	RUNS = 250,
	FRAME_LEN = 74,
	TAG_LEN = 4,
	PORT_OFF = 36,
	ADDRESS_OFF = 30,
	PROTO_OFF = 23,
	TYPE_OFF = 12,
	PORT = 53
};

/* A DNS query's headers: 192.0.2.2 to 198.51.100.1, UDP. */
/* clang-format off */
static const uint8_t packet[FRAME_LEN] = {
	2, 0, 0, 0, 0, 11, 2, 0, 0, 0, 0, 10, 8, 0,
	0x45, 0, 0, 60, 0, 0, 0x40, 0, 57, 17, 0, 0, 192, 0, 2, 2, 198, 51, 100, 1,
	0x9C, 0x40, 0, 53, 0, 40, 0, 0,
};
/* clang-format on */

typedef struct {
	const char *what;
	uint32_t listen_count; /* all but the last are other addresses */
	uint32_t flags;
	uint32_t rule_count; /* the first covers the source, the others are elsewhere */
	uint32_t per_second;
	unsigned off; /* a byte of the packet that is changed; 0: none */
	uint8_t value;
	unsigned address_count; /* that the host has: above 0 switches all checks on; the last one is the packet's */
	bool tagged;            /* VLAN 5, which the host has */
} row_t;

static const row_t rows[] = {
	{ .what = "ARP", .listen_count = 1, .off = TYPE_OFF + 1, .value = 6 },
	{ .what = "UDP to another port", .listen_count = 1, .off = PORT_OFF + 1, .value = 54 },
	{ .what = "UDP", .listen_count = 1 },
	{ .what = "TCP", .listen_count = 1, .off = PROTO_OFF, .value = IPPROTO_TCP },
	{ .what = "UDP to the last of 16 addresses", .listen_count = 16 },
	{ .what = "UDP, host with 4 addresses", .listen_count = 1, .address_count = 4 },
	{ .what = "UDP, host with 1000 addresses", .listen_count = 1, .address_count = 1000 },
	{ .what = "UDP in a VLAN, 4 addresses", .listen_count = 1, .address_count = 4, .tagged = true },
	{ .what = "UDP to another host's address",
			.listen_count = 1,
			.address_count = 4,
			.off = ADDRESS_OFF + 3,
			.value = 9 },
	{ .what = "UDP to another host's MAC", .listen_count = 1, .address_count = 4, .off = 5, .value = 9 },
	{ .what = "UDP, rules of others", .listen_count = 1, .flags = FILTER_RULES },
	{ .what = "UDP, blocked", .listen_count = 1, .flags = FILTER_RULES, .rule_count = 1 },
	{ .what = "UDP, above its limit", .listen_count = 1, .flags = FILTER_RULES, .rule_count = 1, .per_second = 10 },
	{ .what = "UDP, above its limit, 4000 rules",
			.listen_count = 1,
			.flags = FILTER_RULES,
			.rule_count = 4000,
			.per_second = 10 },
	{ .what = "UDP, route check", .listen_count = 1, .flags = FILTER_ROUTE_CHECK },
};

/* The addresses are 198.51.100.1, and some of 10.0.0.0/8 and of 2001:db8::/32. */
static void set_up_host(filter_t *filter, const row_t *row, struct filter_config *config)
{
	for (unsigned i = 1; i <= row->address_count; i++) {
		bool last = i == row->address_count;
		struct filter_known ipv4 = { .len = 8 + 128, .data = { [10] = 0xFF, 0xFF, 198, 51, 100, 1 } };
		struct filter_known ipv6 = { .len = 8 + 128,
			.data = { 0x20, 1, 0x0D, 0xB8, [14] = (uint8_t)(i >> 8), (uint8_t)i } };
		if (!last) {
			memcpy(ipv4.data + 12, (const uint8_t[]){ 10, 1, (uint8_t)(i >> 8), (uint8_t)i }, 4);
		}
		filter_know(filter, i % 2 == 0 && !last ? &ipv6 : &ipv4, FILTER_KNOWN_YES);
	}
	const struct filter_known others[] = {
		{ .len = 8 + 128, .data = { 0xFE, 0x80, [8] = 2, [15] = 11 } },
		{ .len = 8 + 64, .kind = FILTER_KNOWN_VLAN, .data = { 0x81, 0, 0, 5 } },
		{ .len = 8 + 128, .kind = FILTER_KNOWN_BROADCAST, .data = { [10] = 0xFF, 0xFF, 198, 51, 100, 255 } },
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		filter_know(filter, &others[i], FILTER_KNOWN_YES);
	}
	config->flags |= FILTER_CHECK_MAC | FILTER_CHECK_VLAN | FILTER_CHECK_ADDRESS;
	memcpy(config->host.mac, packet, sizeof(config->host.mac));
	if (row->address_count <= FILTER_NEAR_MAX) {
		config->host.ipv4_count = 2;
		config->host.ipv4_be[0] = htonl(0x0A010001);
		config->host.ipv4_be[1] = htonl(0xC6336401);
	}
	config->host.broadcast_mask_be = UINT32_MAX;
	config->host.broadcast_bits_be = htonl(0xC63364FF);
}

static void set_up(filter_t *filter, const row_t *row)
{
	struct filter_config config = { .listen_count = row->listen_count, .flags = row->flags };
	for (uint32_t i = 0; i < row->listen_count; i++) {
		bool last = i + 1 == row->listen_count;
		config.listens[i] = (struct filter_listen){ .port_be = htons(PORT),
			.protos = FILTER_PROTO_UDP | FILTER_PROTO_TCP,
			.any_addr = row->listen_count == 1,
			.addr = { [10] = 0xFF, 0xFF, 198, 51, 100, last ? 1 : 2 } };
	}
	for (uint32_t i = 0; i < row->rule_count; i++) {
		struct filter_prefix prefix = { .len = 96 + 24, .addr = { [10] = 0xFF, 0xFF, 192, 0, 2 } };
		prefix.addr[12] = i == 0 ? 192 : (uint8_t)(10 + i % 100);
		prefix.addr[13] = (uint8_t)(i / 100);
		filter_set_rule(filter, &prefix, i, row->per_second);
	}
	if (row->address_count > 0) {
		set_up_host(filter, row, &config);
	}
	filter_configure(filter, &config);
}

/* With route check each run leaves its metadata to the next one, which has to remove it: some ns too much. */
static unsigned measure(const filter_t *filter, const row_t *row)
{
	uint8_t frame[FRAME_LEN + TAG_LEN];
	size_t tag_len = row->tagged ? TAG_LEN : 0;
	memcpy(frame, packet, TYPE_OFF);
	memcpy(frame + TYPE_OFF, (const uint8_t[TAG_LEN]){ 0x81, 0, 0, 5 }, TAG_LEN);
	memcpy(frame + TYPE_OFF + tag_len, packet + TYPE_OFF, FRAME_LEN - TYPE_OFF);
	frame[row->off] = row->off > 0 ? row->value : frame[row->off];
	unsigned best = UINT32_MAX;
	for (unsigned run = 0; run < RUNS; run++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)(FRAME_LEN + tag_len),
				.repeat = REPEAT);
		if (bpf_prog_test_run_opts(filter->prog_fd, &opts) != 0) {
			filter_die("running the program");
		}
		best = opts.duration < best ? opts.duration : best;
	}
	return best;
}

int main(void)
{
	if (!filter_enter_namespace()) {
		printf("the kernel program: not as root, not measured\n");
		return 0;
	}
	/* A neighbour, and the one setting that looking up routes needs. */
	if (system("ip link add b0 type veth peer name b1 && ip link set b0 up && ip link set b1 up && "
		   "ip address add 192.0.2.1/24 dev b0 && "
		   "ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:0a nud permanent dev b0 && "
		   "sysctl -qw net.ipv4.conf.lo.forwarding=1") != 0) {
		fprintf(stderr, "ip and sysctl are needed\n");
		return 1;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		filter_t filter = filter_load();
		filter_open_socket(&filter);
		set_up(&filter, &rows[i]);
		printf("kernel program: %-34s %3u ns\n", rows[i].what, measure(&filter, &rows[i]));
		filter_unload(&filter);
	}
	return 0;
}
