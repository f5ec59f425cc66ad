/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/xdp/filter_case.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define KNOT_LEN(array) (sizeof(array) / sizeof((array)[0]))
/* IPv4-mapped */
#define V4(a, b, c, d)                                                                                                 \
	{                                                                                                              \
		[10] = 0xFF, 0xFF, a, b, c, d                                                                          \
	}
#define BOTH         (FILTER_PROTO_UDP | FILTER_PROTO_TCP)
#define PORT(number) ((number) >> 8 | ((number)&0xFF) << 8)
#define ANY(number, bits)                                                                                              \
	{                                                                                                              \
		.port_be = PORT(number), .protos = bits, .any_addr = 1                                                 \
	}
#define AT(number, bits, ...)                                                                                          \
	{                                                                                                              \
		.port_be = PORT(number), .protos = bits, .addr = __VA_ARGS__                                           \
	}
#define SERVER6                                                                                                        \
	{                                                                                                              \
		0x20, 1, 0x0D, 0xB8, [15] = 1                                                                          \
	}
#define PASS_ALL FILTER_RATE_MAX

#define CHECK_ALL FILTER_CHECK_ALL
/* As a host has it: what is near is known, too, and the mask covers all broadcast addresses. */
#define HOST                                                                                                           \
	{                                                                                                              \
		.mac = { 2, 0, 0, 0, 0, 1 }, .ipv4_count = 1, .ipv6_count = 1, .ipv6 = { SERVER6 },                    \
		.ipv4_be = { HOST4_BE }, .broadcast_mask_be = 0, .broadcast_bits_be = 0                                \
	}
#define HOST4_BE (192 | 2 << 16 | 1 << 24) /* 192.0.2.1, little-endian */
#define KNOWN                                                                                                          \
	.known_count = 10, .known = {                                                                                  \
		{ { 8 + 128, FILTER_KNOWN_ADDRESS, V4(192, 0, 2, 1), { 0 } }, FILTER_KNOWN_YES },                      \
		{ { 8 + 128, FILTER_KNOWN_ADDRESS, SERVER6, { 0 } }, FILTER_KNOWN_YES },                               \
		{ { 8 + 96 + 8, FILTER_KNOWN_ADDRESS, V4(10, 0, 0, 0), { 0 } }, FILTER_KNOWN_YES },                    \
		{ { 8 + 128, FILTER_KNOWN_ADDRESS, V4(10, 0, 0, 2), { 0 } }, FILTER_KNOWN_NO },                        \
		{ { 8 + 128, FILTER_KNOWN_ADDRESS, { 0xFE, 0x80, [15] = 1 }, { 0 } }, FILTER_KNOWN_YES },              \
		{ { 8 + 48, FILTER_KNOWN_MAC, { 2, 0, 0, 0, 0, 3 }, { 0 } }, FILTER_KNOWN_YES },                       \
		{ { 8 + 64, FILTER_KNOWN_VLAN, { 0x81, 0, 0, 5 }, { 0 } }, FILTER_KNOWN_YES },                         \
		{ { 8 + 64, FILTER_KNOWN_VLAN, { 0x88, 0xA8, 0, 5, 0x81, 0, 0, 6 }, { 0 } }, FILTER_KNOWN_YES },       \
		{ { 8 + 128, FILTER_KNOWN_BROADCAST, V4(192, 0, 2, 3), { 0 } }, FILTER_KNOWN_YES },                    \
		{ { 8 + 128, FILTER_KNOWN_BROADCAST, V4(10, 0, 0, 2), { 0 } }, FILTER_KNOWN_YES },                     \
	}

const model_t case_models[] = {
	{ "any address", .config = { 1, 0, .listens = { ANY(53, BOTH) } }, .has_socket = true },
	{ "nothing configured", .has_socket = true },
	{ "none of the listens counts", .config = { 0, 0, .listens = { ANY(53, BOTH) } }, .has_socket = true },
	{ "one address", .config = { 1, 0, .listens = { AT(53, BOTH, V4(192, 0, 2, 1)) } }, .has_socket = true },
	{ "no socket", .config = { 2, 0, .listens = { ANY(53, FILTER_PROTO_UDP), ANY(853, FILTER_PROTO_TCP) } } },
	{ "addresses",
			.config = { 4, 0,
					.listens = { AT(53, FILTER_PROTO_UDP, V4(192, 0, 2, 1)),
							AT(53, FILTER_PROTO_TCP, SERVER6),
							AT(853, BOTH, V4(198, 51, 100, 1)), AT(853, 0, SERVER6) } },
			.has_socket = true },
	{ "as many as possible",
			.config = { FILTER_LISTEN_MAX, 0,
					.listens = { AT(53, BOTH, V4(10, 0, 0, 1)), AT(53, BOTH, V4(10, 0, 0, 2)),
							ANY(5300, BOTH), AT(53, FILTER_PROTO_TCP, SERVER6),
							[15] = AT(53, BOTH, V4(192, 0, 2, 1)) } },
			.has_socket = true },
	{ "rules", .config = { 1, FILTER_RULES, .listens = { ANY(53, BOTH) } }, .has_socket = true, .rule_count = 6,
			.rules = { { { 96 + 24, V4(192, 0, 2, 0) }, 0 }, { { 96 + 32, V4(192, 0, 2, 2) }, PASS_ALL },
					{ { 96 + 31, V4(192, 0, 2, 2) }, 0 },
					{ { 32, { 0x20, 1, 0x0D, 0xB8 } }, PASS_ALL },
					{ { 128, { 0x20, 1, 0x0D, 0xB8, [15] = 2 } }, 0 },
					{ { 0, { 0 } }, PASS_ALL } } },
	{ "rules, no socket", .config = { 1, FILTER_RULES, .listens = { ANY(53, BOTH) } }, .rule_count = 1,
			.rules = { { { 96, V4(0, 0, 0, 0) }, 0 } } },
	{ "rules that are off", .config = { 1, 0, .listens = { ANY(53, BOTH) } }, .has_socket = true, .rule_count = 1,
			.rules = { { { 0, { 0 } }, 0 } } },
	{ "route check", .config = { 2, FILTER_ROUTE_CHECK, .listens = { ANY(53, BOTH), ANY(853, FILTER_PROTO_TCP) } },
			.has_socket = true },
	{ "route check and rules", .config = { 1, FILTER_ROUTE_CHECK | FILTER_RULES, .listens = { ANY(53, BOTH) } },
			.has_socket = true, .rule_count = 2,
			.rules = { { { 10, { 0xFE, 0x80 } }, PASS_ALL }, { { 96 + 8, V4(10, 0, 0, 0) }, 0 } } },
	{ "checks, and the host has nothing", .config = { 1, CHECK_ALL, .listens = { ANY(53, BOTH) } },
			.has_socket = true },
	{ "checks of the host", .config = { 1, CHECK_ALL, HOST, { ANY(53, BOTH) } }, .has_socket = true, KNOWN },
	{ "checks, an address that is not the host's",
			.config = { 3, CHECK_ALL, HOST,
					{ ANY(53, BOTH), AT(53, BOTH, V4(198, 51, 100, 1)), ANY(853, BOTH) } },
			.has_socket = true, KNOWN },
	{ "checks, address before any",
			.config = { 2, CHECK_ALL, HOST, { AT(53, FILTER_PROTO_UDP, SERVER6), ANY(53, BOTH) } },
			.has_socket = true, KNOWN },
	{ "MAC only", .config = { 1, FILTER_CHECK_MAC, HOST, { ANY(53, BOTH) } }, .has_socket = true, KNOWN },
	{ "VLAN only", .config = { 1, FILTER_CHECK_VLAN, HOST, { ANY(53, BOTH) } }, .has_socket = true, KNOWN },
	{ "address only, rules, plain", .config = { 1, FILTER_CHECK_ADDRESS | FILTER_RULES, HOST, { ANY(53, BOTH) } },
			.has_socket = true, .is_plain = true, KNOWN, .rule_count = 1,
			.rules = { { { 96, V4(0, 0, 0, 0) }, 0 } } },
	{ "checks and route check", .config = { 1, CHECK_ALL | FILTER_ROUTE_CHECK, HOST, { ANY(53, BOTH) } },
			.has_socket = true, KNOWN },
	{ "plain program", .config = { 1, 0, .listens = { ANY(53, BOTH) } }, .has_socket = true, .is_plain = true },
	{ "plain program, route check", .config = { 1, FILTER_ROUTE_CHECK, .listens = { ANY(53, BOTH) } },
			.has_socket = true, .is_plain = true },
};
const size_t case_model_count = KNOT_LEN(case_models);

void case_apply(filter_t *filter, const model_t *model)
{
	struct filter_prefix prefix;
	while (bpf_map_get_next_key(filter->prefixes_fd, NULL, &prefix) == 0) {
		if (bpf_map_delete_elem(filter->prefixes_fd, &prefix) != 0) {
			filter_die("removing a rule");
		}
	}
	for (uint32_t i = 0; i < model->rule_count; i++) {
		filter_set_rule(filter, &model->rules[i].prefix, i, model->rules[i].per_second);
	}
	filter_forget_all(filter);
	for (size_t i = 0; i < model->known_count; i++) {
		filter_know(filter, &model->known[i].key, model->known[i].value);
	}
	filter_close_socket(filter);
	if (model->has_socket) {
		filter_open_socket(filter);
	}
	filter_configure(filter, &model->config);
	filter->prog_fd = model->is_plain ? filter->plain_fd : filter->full_fd;
}

/* ---- frames ---- */

static unsigned choose(choices_t *c, unsigned count)
{
	if (c->bytes == NULL) {
		c->random ^= c->random << 13;
		c->random ^= c->random >> 7;
		c->random ^= c->random << 17;
		return (unsigned)(c->random >> 32) % count;
	}
	unsigned value = 0;
	for (unsigned range = 1; range < count; range *= 256) {
		value = value * 256 + (c->len > 0 ? *c->bytes++ : 0);
		c->len -= c->len > 0;
	}
	return value % count;
}

/* Once in `times`. Never when a fuzzer has no bytes left. */
static bool rarely(choices_t *c, unsigned times)
{
	return choose(c, times) == times - 1;
}

typedef struct {
	uint8_t *at;
	const uint8_t *end;
} out_t;

static void put(out_t *o, unsigned byte)
{
	if (o->at < o->end) {
		*o->at++ = (uint8_t)byte;
	}
}

static void put16(out_t *o, unsigned value)
{
	put(o, value >> 8);
	put(o, value & 0xFF);
}

static void put_any(out_t *o, choices_t *c, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		put(o, choose(c, 256));
	}
}

static void put_address4(out_t *o, choices_t *c)
{
	static const uint8_t pool[][4] = { { 192, 0, 2, 1 }, { 192, 0, 2, 2 }, { 192, 0, 2, 3 }, { 192, 0, 3, 1 },
		{ 198, 51, 100, 1 }, { 10, 0, 0, 1 }, { 10, 0, 0, 2 }, { 127, 0, 0, 1 }, { 224, 0, 0, 251 },
		{ 255, 255, 255, 255 } };
	unsigned i = choose(c, KNOT_LEN(pool) + 1);
	for (unsigned b = 0; b < 4; b++) {
		put(o, i < KNOT_LEN(pool) ? pool[i][b] : choose(c, 256));
	}
}

static void put_address6(out_t *o, choices_t *c)
{
	static const uint8_t pool[][16] = { SERVER6, { 0x20, 1, 0x0D, 0xB8, [15] = 2 },
		{ 0x20, 1, 0x0D, 0xB8, [15] = 3 }, { 0x20, 1, 0x0D, 0xB9, [15] = 1 }, { 0xFE, 0x80, [15] = 1 },
		{ 0xFE, 0xBF, [15] = 1 }, { 0xFE, 0xC0, [15] = 1 }, { 0xFF, 0x02, [15] = 0xFB }, { [15] = 1 },
		V4(192, 0, 2, 1), V4(10, 0, 0, 1) };
	unsigned i = choose(c, KNOT_LEN(pool) + 1);
	for (unsigned b = 0; b < 16; b++) {
		put(o, i < KNOT_LEN(pool) ? pool[i][b] : choose(c, 256));
	}
}

static unsigned choose_protocol(choices_t *c)
{
	static const uint8_t others[] = { IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_SCTP, IPPROTO_NONE, IPPROTO_ESP,
		IPPROTO_AH, IPPROTO_MH, IPPROTO_FRAGMENT };
	if (!rarely(c, 6)) {
		return choose(c, 2) == 0 ? IPPROTO_UDP : IPPROTO_TCP;
	}
	return rarely(c, 4) ? choose(c, 256) : others[choose(c, KNOT_LEN(others))];
}

static void put_transport(out_t *o, choices_t *c, unsigned protocol)
{
	static const uint16_t ports[] = { 53, 53, 53, 53, 853, 5300, 5353, 0 };
	put16(o, choose(c, 65536));
	put16(o, ports[choose(c, KNOT_LEN(ports))]);
	if (protocol == IPPROTO_TCP) {
		put_any(o, c, 8);
		put16(o, 0x5000 | choose(c, 512)); /* length, flags */
		put_any(o, c, 6);
	} else {
		put16(o, 8);
		put16(o, 0);
	}
	unsigned payload_len = rarely(c, 20) ? choose(c, 1400) : choose(c, 40);
	for (unsigned i = 0; i < payload_len; i++) {
		put(o, i);
	}
}

static void put_ipv4(out_t *o, choices_t *c)
{
	unsigned option_words = rarely(c, 4) ? choose(c, 11) : 0;
	unsigned protocol = choose_protocol(c);
	put(o, rarely(c, 40) ? choose(c, 256) : 0x45 + option_words);
	put_any(o, c, 5);
	put16(o, rarely(c, 12) ? choose(c, 65536) : choose(c, 2) << 14); /* don't fragment */
	put(o, 64);
	put(o, protocol);
	put16(o, 0);
	put_address4(o, c);
	put_address4(o, c);
	put_any(o, c, option_words * 4);
	put_transport(o, c, protocol);
}

static void put_ipv6(out_t *o, choices_t *c)
{
	static const uint8_t extensions[] = { IPPROTO_HOPOPTS, IPPROTO_DSTOPTS, IPPROTO_ROUTING };
	unsigned count = rarely(c, 3) ? choose(c, 11) : 0;
	unsigned protocol = choose_protocol(c);
	unsigned next = count > 0 ? extensions[choose(c, 3)] : protocol;
	put(o, rarely(c, 40) ? choose(c, 256) : 0x60);
	put_any(o, c, 5);
	put(o, next);
	put(o, 64);
	put_address6(o, c);
	put_address6(o, c);
	for (unsigned i = 0; i < count; i++) {
		bool last = i + 1 == count;
		unsigned words = rarely(c, 4) ? choose(c, rarely(c, 8) ? 256 : 4) : 0;
		unsigned after = last ? protocol : extensions[choose(c, 3)];
		put(o, after);
		put(o, words);
		put(o, choose(c, 256));
		put(o, rarely(c, 6) ? choose(c, 256) : 0); /* routing: segments left */
		for (unsigned b = 0; b < 4 + words * 8; b++) {
			put(o, b);
		}
	}
	put_transport(o, c, protocol);
}

static void put_frame(out_t *o, choices_t *c)
{
	static const uint16_t ids[] = { 5, 5, 5, 6, 6, 0, 0x2005 };
	put(o, rarely(c, 10) ? choose(c, 256) : 2);
	bool known_mac = !rarely(c, 4);
	for (unsigned i = 0; i < 4; i++) {
		put(o, known_mac ? 0 : choose(c, 256));
	}
	put(o, known_mac ? 1 + choose(c, 4) : choose(c, 256)); /* 1 and 3 are the host's */
	put(o, 2);
	put_any(o, c, 5);
	unsigned tags = rarely(c, 4) ? choose(c, 4) : 0;
	for (unsigned i = 0; i < tags; i++) {
		put16(o, choose(c, 2) == 0 ? 0x8100 : 0x88A8);
		put16(o, rarely(c, 3) ? choose(c, 65536) : ids[choose(c, KNOT_LEN(ids))]);
	}
	unsigned type = choose(c, 2) == 0 ? 0x0800 : 0x86DD;
	type = rarely(c, 12) ? choose(c, 65536) : type;
	bool other_behind = rarely(c, 60);
	put16(o, type);
	if ((type == 0x0800) != other_behind) {
		put_ipv4(o, c);
	} else {
		put_ipv6(o, c);
	}
}

size_t case_frame(choices_t *choices, uint8_t ret_frame[static CASE_FRAME_MAX])
{
	out_t o = { ret_frame, ret_frame + CASE_FRAME_MAX };
	if (rarely(choices, 30)) {
		put_any(&o, choices, choose(choices, 200));
	} else {
		put_frame(&o, choices);
	}
	size_t len = (size_t)(o.at - ret_frame);
	if (rarely(choices, 5)) {
		len = choose(choices, (unsigned)len + 1);
	}
	unsigned spoilt = rarely(choices, 6) ? choose(choices, 4) : 0;
	for (unsigned i = 0; i < spoilt && len > 0; i++) {
		ret_frame[choose(choices, (unsigned)len)] ^= (uint8_t)choose(choices, 256);
	}
	while (len < 14) { /* the kernel runs programs on nothing shorter */
		ret_frame[len++] = 0;
	}
	return len;
}

/* ---- comparing ---- */

static void say_difference(const model_t *model, const char *what, enum filter_count got, enum filter_count want,
		const uint8_t *frame, size_t len)
{
	fprintf(stderr, "%s: %s; program: %s, model: %s\n", model->what, what,
			got < FILTER_COUNT_ROWS ? filter_names[got] : "?", filter_names[want]);
	for (size_t i = 0; i < len; i++) {
		fprintf(stderr, "%02x%s", frame[i], i % 32 == 31 || i + 1 == len ? "\n" : " ");
	}
}

/* The program changes nothing of the frame, and puts in front of it what the model says. */
static bool same_frame(const filter_result_t *result, const model_result_t *want, const uint8_t *frame, size_t len)
{
	const struct filter_meta meta = { .magic = FILTER_META_MAGIC, .way = (uint8_t)want->way };
	if (result->has_meta != (want->way != 0) || result->len != len || memcmp(result->frame, frame, len) != 0) {
		return false;
	}
	return !result->has_meta || memcmp(&result->meta, &meta, sizeof(meta)) == 0;
}

enum filter_count case_compare(const filter_t *filter, const model_t *model, const uint8_t *frame, size_t len)
{
	const model_result_t want = model_run(model, frame, len);
	const struct filter_counts before = filter->counts[0];
	uint64_t matched = want.rule >= 0 ? filter->rules[want.rule].matched : 0;
	filter_result_t result;
	filter_run(filter, frame, len, 0, 0, &result);
	enum filter_count got = filter_moved(&before, &filter->counts[0]);
	const char *fault = NULL;
	if (got != want.fate) {
		fault = "another counter, or not exactly one";
	} else if (result.action != filter_action(want.fate)) {
		fault = "the action is not that of the counter";
	} else if (!same_frame(&result, &want, frame, len)) {
		fault = "frame or metadata";
	} else if (want.rule >= 0 && filter->rules[want.rule].matched != matched + 1) {
		fault = "another rule";
	}
	if (fault != NULL) {
		say_difference(model, fault, got, want.fate, frame, len);
		return FILTER_RECEIVED;
	}
	return got;
}
