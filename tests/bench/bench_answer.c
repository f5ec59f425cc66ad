/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Answers to fixed mixes of questions: from message to message, and from Ethernet frame to Ethernet frame;
 * from TCP segment to TCP segment.
 *
 * By itself it prints nanoseconds per answer, best of several runs. tests/bench/count_instructions runs it under
 * callgrind and prints instructions per answer, which are the same on a loaded machine: only what measure_message(),
 * measure_frames() and measure_segments() do is counted, and each row's count ends with run_row(). The zones are small
 * enough for the cache; what cache misses cost shows in bench_scale.c and bench_net.py.
 */
#include "src/answer/answer_test_query.h"
#include "src/answer/answer_test_zones.h"
#include "src/conf/load.h"
#include "src/modules/cookies/cookie.h"
#include "src/modules/module.h"
#include "src/net/request.h"
#include "src/zone/nsec3_hash.h"
#include "tests/bench/client_frame.h"
#include "tests/bench/client_tcp.h"

#include <netinet/in.h>
#include <stdarg.h>
#include <sys/random.h>
#include <time.h>

enum {
	DELEGATIONS = 4000, /* enough for answer_read() to walk */
	SIGNED_STEP = 8,    /* every eighth delegation has a DS, and so an NSEC3 */
	QUERIES = 256,      /* different questions of a row */
	BATCH = 64,
	RUNS = 5,
	ROUNDS = 200, /* over the questions, per run */
	TEXT_MAX = 8 << 20,
};

typedef struct {
	const char *what;
	const char *name; /* of the question; % becomes a number */
	uint16_t type;
	bool edns, dnssec_ok;
	bool frames;        /* from frame to frame, in batches */
	const char *module; /* a global module, with the settings of its block `all`; NULL: none */
	bool tcp;           /* from segment to segment, over connections that stay open */
	uint8_t rcode;
	bool cookie; /* each question has a good one */
} row_t;

static const row_t rows[] = {
	{ "referral", "www.d%.plain.", KNOT_TYPE_A, false, false, false, NULL, false, 0, false },
	{ "referral, EDNS", "www.d%.plain.", KNOT_TYPE_A, true, false, false, NULL, false, 0, false },
	{ "referral, DO, opt-out", "www.d%.signed.", KNOT_TYPE_A, true, true, false, NULL, false, 0, false },
	{ "nxdomain", "x%.plain.", KNOT_TYPE_A, false, false, false, NULL, false, 3, false },
	{ "nxdomain, EDNS", "x%.plain.", KNOT_TYPE_A, true, false, false, NULL, false, 3, false },
	{ "nxdomain, DO, opt-out", "x%.signed.", KNOT_TYPE_A, true, true, false, NULL, false, 3, false },
	{ "positive", "h%.plain.", KNOT_TYPE_A, false, false, false, NULL, false, 0, false },
	{ "positive, EDNS", "h%.plain.", KNOT_TYPE_A, true, false, false, NULL, false, 0, false },
	{ "positive, DO", "h%.signed.", KNOT_TYPE_A, true, true, false, NULL, false, 0, false },
	{ "no data", "h%.plain.", KNOT_TYPE_TXT, true, false, false, NULL, false, 0, false },
	{ "refused", "www.d%.elsewhere.", KNOT_TYPE_A, true, false, false, NULL, false, 5, false },
	{ "frames, referral, EDNS", "www.d%.plain.", KNOT_TYPE_A, true, false, true, NULL, false, 0, false },
	{ "frames, referral, DO, opt-out", "www.d%.signed.", KNOT_TYPE_A, true, true, true, NULL, false, 0, false },
	{ "frames, positive, EDNS", "h%.plain.", KNOT_TYPE_A, true, false, true, NULL, false, 0, false },
	{ "frames, positive, EDNS, mod-stats", "h%.plain.", KNOT_TYPE_A, true, false, true, "mod-stats", false, 0,
			false },
	{ "frames, positive, EDNS, mod-noudp", "h%.plain.", KNOT_TYPE_A, true, false, true, "mod-noudp", false, 0,
			false },
	{ "frames, positive, EDNS, mod-queryacl", "h%.plain.", KNOT_TYPE_A, true, false, true, "mod-queryacl", false, 0,
			false },
	{ "frames, positive, EDNS, mod-cookies, without one", "h%.plain.", KNOT_TYPE_A, true, false, true,
			"mod-cookies", false, 0, false },
	{ "frames, positive, EDNS, mod-cookies, with a good one", "h%.plain.", KNOT_TYPE_A, true, false, true,
			"mod-cookies", false, 0, true },
	{ "frames, positive, EDNS, mod-rrl", "h%.plain.", KNOT_TYPE_A, true, false, true, "mod-rrl", false, 0, false },
	{ "TCP segments, positive, EDNS", "h%.plain.", KNOT_TYPE_A, true, false, false, NULL, true, 0, false },
	{ "TCP segments, referral, EDNS", "www.d%.plain.", KNOT_TYPE_A, true, false, false, NULL, true, 0, false },
};

typedef struct {
	uint8_t bytes[FRAME_SIZE];
	size_t len;
} frame_t;

static state_t state;
/* The port is read as bytes; any that a client has. */
static const struct sockaddr_in client = { .sin_family = AF_INET, .sin_port = 0xBBBB };
static const answer_turn_t at = { .now_us = 1000000, .wall_s = 1600000000 };
static const answer_source_t source = {
	.protocol = ANSWER_UDP4_XDP, .remote = (const struct sockaddr *)&client, .turn = &at
};

/*
 * Instead of the C library's: the set of zones is hashed with a random seed, and by chance a search meets another
 * zone's slot or not. That is up to 35 instructions of a question; the same in every run, and for every version of the
 * server.
 */
ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	(void)flags;
	memset(buffer, 0x5A, length);
	return (ssize_t)length;
}

/* ---- Zones ---- */

typedef struct {
	char *data;
	size_t len;
} text_t;

__attribute__((format(printf, 2, 3))) static void put(text_t *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	t->len += (size_t)vsnprintf(t->data + t->len, TEXT_MAX - t->len, format, args);
	va_end(args);
	test_zones_check(t->len < TEXT_MAX, "text");
}

/* As a signer would write it, but for the value. */
static void put_sig(text_t *t, const char *owner, const char *covered)
{
	put(t, "%s RRSIG %s 13 2 3600 20300101000000 20200101000000 4711 signed. %.86s==\n", owner, covered,
			"MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNA");
}

typedef struct {
	char label[ZONE_NSEC3_LABEL_LEN + 1];
	const char *types;
} hashed_t;

static hashed_t hash_of(const char *owner, const char *types)
{
	static const zone_nsec3_params_t params = { .algorithm = 1 };
	uint8_t wire[KNOT_NAME_MAX], hashed_wire[KNOT_NAME_MAX];
	knot_name_t apex, name, hashed;
	static const uint8_t apex_wire[] = "\6signed";
	apex = knot_name_of(apex_wire);
	test_zones_check(knot_name_scan(knot_str_of(owner), apex, wire, &name) == KNOT_OK, owner);
	test_zones_check(zone_nsec3_owner(&params, name, apex, hashed_wire, &hashed), owner);
	hashed_t ret = { .types = types };
	memcpy(ret.label, hashed.wire + 1, ZONE_NSEC3_LABEL_LEN);
	return ret;
}

static int cmp_hashed(const void *a, const void *b)
{
	return strcmp(((const hashed_t *)a)->label, ((const hashed_t *)b)->label);
}

static void put_nsec3_chain(text_t *t)
{
	hashed_t *chain = calloc(DELEGATIONS * 2 + 1, sizeof(*chain));
	test_zones_check(chain != NULL, "memory");
	size_t count = 0;
	char owner[32];
	chain[count++] = hash_of("@", "NS SOA RRSIG DNSKEY NSEC3PARAM");
	for (unsigned i = 0; i < DELEGATIONS; i++) {
		snprintf(owner, sizeof(owner), "h%u", i);
		chain[count++] = hash_of(owner, "A RRSIG");
		if (i % SIGNED_STEP == 0) {
			snprintf(owner, sizeof(owner), "d%u", i);
			chain[count++] = hash_of(owner, "NS DS RRSIG");
		}
	}
	qsort(chain, count, sizeof(*chain), cmp_hashed);
	for (size_t i = 0; i < count; i++) {
		put(t, "%s NSEC3 1 1 0 - %s %s\n", chain[i].label, chain[(i + 1) % count].label, chain[i].types);
		put_sig(t, chain[i].label, "NSEC3");
	}
	free(chain);
}

/* Delegations d0 … with two name servers, one of them inside for every fourth; hosts h0 … */
static char *make_zone(const char *apex, bool is_signed)
{
	text_t t = { malloc(TEXT_MAX), 0 };
	test_zones_check(t.data != NULL, "memory");
	put(&t,
			"$ORIGIN %s.\n$TTL 3600\n@ SOA ns.elsewhere. hostmaster.elsewhere. 1 1800 900 604800 900\n@ NS "
			"ns.elsewhere.\n",
			apex);
	char owner[32];
	for (unsigned i = 0; i < DELEGATIONS; i++) {
		put(&t, "d%u NS ns1.provider%u.net.\nd%u NS ns2.provider%u.net.\n", i, i % 50, i, i % 50);
		if (i % 4 == 0) {
			put(&t, "d%u NS ns.d%u\nns.d%u A 192.0.2.1\nns.d%u AAAA 2001:db8::1\n", i, i, i, i);
		}
		put(&t, "h%u A 192.0.2.%u\n", i, i % 256);
		if (is_signed) {
			snprintf(owner, sizeof(owner), "h%u", i);
			put_sig(&t, owner, "A");
		}
		if (is_signed && i % SIGNED_STEP == 0) {
			put(&t, "d%u DS 4711 13 2 %064u\n", i, i);
			snprintf(owner, sizeof(owner), "d%u", i);
			put_sig(&t, owner, "DS");
		}
	}
	if (is_signed) {
		put(&t, "@ NSEC3PARAM 1 0 0 -\n");
		put_sig(&t, "@", "SOA");
		put_sig(&t, "@", "NS");
		put_sig(&t, "@", "NSEC3PARAM");
		put_nsec3_chain(&t);
	}
	return t.data;
}

/* ---- Questions ---- */

static size_t make_message(const row_t *row, unsigned number, uint8_t *out)
{
	char text[64];
	const char *mark = strchr(row->name, '%');
	snprintf(text, sizeof(text), "%.*s%u%s", (int)(mark - row->name), row->name, number, mark + 1);
	const test_query_t query = { .qtype = row->type,
		.id = (uint16_t)(number * 7919u),
		.udp_payload = row->edns ? 1232 : 0,
		.dnssec_ok = row->dnssec_ok };
	return test_query_put(&query, text, out, FRAME_SIZE - FRAME_HEADERS);
}

/* Put a good cookie of the client's into the OPT that ends a message. Returns the message's length. */
static size_t add_cookie(const struct sockaddr *remote, uint8_t *message, size_t len)
{
	static const uint8_t secret[COOKIE_SECRET_LEN] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	const kxdp_siphash_key_t key = cookie_key(secret);
	uint8_t *option = message + len;
	store_be16(option - 2, KNOT_OPTION_HEAD_LEN + COOKIE_LEN);
	store_be16(option, KNOT_EDNS_COOKIE);
	store_be16(option + 2, COOKIE_LEN);
	memset(option + KNOT_OPTION_HEAD_LEN, 7, COOKIE_CLIENT_LEN);
	cookie_make(option + KNOT_OPTION_HEAD_LEN, &key, remote, at.wall_s);
	return len + KNOT_OPTION_HEAD_LEN + COOKIE_LEN;
}

/* A frame from the client: the reply to a packet that never was, the writer needs only its addresses. */
static void make_frame(const row_t *row, unsigned number, frame_t *ret_frame)
{
	uint8_t *frame = ret_frame->bytes;
	memset(frame + FRAME_HEADERS, 0, FRAME_SIZE - FRAME_HEADERS);
	kxdp_packet_t packet = client_packet(frame);
	size_t len = make_message(row, number, packet.payload);
	uint8_t *start;
	ret_frame->len = kxdp_frame_reply(&packet, len, &start);
	if (row->cookie) {
		kxdp_packet_t got; /* from which address it comes */
		(void)kxdp_frame_parse(frame, ret_frame->len, FRAME_SIZE, 1500, &got);
		packet = client_packet(frame);
		len = add_cookie(&got.remote.sa, packet.payload, len);
		ret_frame->len = kxdp_frame_reply(&packet, len, &start);
	}
}

/* ---- What is measured ---- */

static traffic_batch_t traffic;
static request_limits_t limits;
static sys_counters_t *traffic_counters;

/* In place, as a worker does it. Returns the reply's length. */
__attribute__((noinline)) static size_t measure_message(uint8_t *message, size_t len)
{
	const knot_bytes_t bytes = { message, len };
	answer_request_t request;
	answer_read(&state.env, state.zones, &bytes, 1, &request);
	return request_answer(&traffic, &limits, &state, &source, &request,
			(knot_mut_bytes_t){ message, FRAME_SIZE - FRAME_HEADERS });
}

/* A batch as an AF_XDP worker does it. Returns how many replies there are. */
__attribute__((noinline)) static unsigned measure_frames(frame_t *frames)
{
	kxdp_packet_t packets[BATCH];
	knot_bytes_t messages[BATCH];
	answer_request_t requests[BATCH];
	unsigned replies = 0;
	for (unsigned i = 0; i < BATCH; i++) {
		if (kxdp_frame_parse(frames[i].bytes, frames[i].len, FRAME_SIZE, 1500, &packets[i]) != KXDP_OK) {
			return 0;
		}
		messages[i] = (knot_bytes_t){ packets[i].payload, packets[i].payload_len };
	}
	answer_read(&state.env, state.zones, messages, BATCH, requests);
	for (unsigned i = 0; i < BATCH; i++) {
		const kxdp_packet_t *p = &packets[i];
		answer_source_t from = {
			.protocol = ANSWER_UDP4_XDP, .remote = &p->remote.sa, .local = &p->local.sa, .turn = &at
		};
		size_t len = request_answer(&traffic, &limits, &state, &from, &requests[i],
				(knot_mut_bytes_t){ p->payload, p->payload_max });
		uint8_t *start;
		replies += len > 0 && kxdp_frame_reply(p, len, &start) > 0;
	}
	traffic_end(traffic_counters, &traffic, 5000);
	return replies;
}

/* ---- Over TCP ---- */

static xdp_tcp_t *tcp;
static later_outbox_t outbox;
static client_tcp_t tcp_clients[BATCH];
static uint64_t tcp_now_us = 1;

/* One turn of a worker: takes in the clients' segments, and gives out its own. Returns how many it gave out. */
static unsigned turn_segments(kxdp_segment_t *out, uint8_t (*payloads)[FRAME_SIZE])
{
	static kxdp_packet_t packets[BATCH];
	static uint8_t numbers[BATCH];
	for (unsigned i = 0; i < BATCH; i++) {
		packets[i] = tcp_clients[i].packet;
		numbers[i] = (uint8_t)i;
	}
	xdp_tcp_receive(tcp, &state, packets, numbers, BATCH, tcp_now_us);
	unsigned count = 0;
	while (count < BATCH && xdp_tcp_emit(tcp, tcp_now_us, payloads[count], 1400, &out[count])) {
		count++;
	}
	traffic_end(traffic_counters, &traffic, 5000);
	return count;
}

__attribute__((noinline)) static unsigned measure_segments(kxdp_segment_t *out, uint8_t (*payloads)[FRAME_SIZE])
{
	return turn_segments(out, payloads);
}

typedef unsigned turn_t(kxdp_segment_t *out, uint8_t (*payloads)[FRAME_SIZE]);

/* The segments of all clients go out, and each gets one back. */
static void exchange_segments(turn_t *turn, uint8_t (*payloads)[FRAME_SIZE], kxdp_segment_t *out)
{
	tcp_now_us += 100;
	test_zones_check(turn(out, payloads) == BATCH, "a segment for each");
	for (unsigned i = 0; i < BATCH; i++) {
		client_tcp_take(&tcp_clients[out[i].flow.remote[15] - 100], &out[i]);
	}
}

/* Each client sends its query, and gets the reply. */
static void exchange_queries(
		turn_t *turn, const frame_t *questions, uint8_t (*payloads)[FRAME_SIZE], kxdp_segment_t *out)
{
	for (unsigned i = 0; i < BATCH; i++) {
		client_tcp_send(&tcp_clients[i], i, KXDP_TCP_ACK, questions[i].bytes + FRAME_HEADERS,
				questions[i].len - FRAME_HEADERS);
	}
	exchange_segments(turn, payloads, out);
}

/* As answer_batch(), over connections that open at first: that, and their first query, isn't counted. */
static void ask_over_tcp(const frame_t *questions, frame_t *work)
{
	static uint8_t payloads[BATCH][FRAME_SIZE];
	static kxdp_segment_t out[BATCH];
	if (tcp_clients[0].seq == 0) {
		for (unsigned i = 0; i < BATCH; i++) {
			client_tcp_send(&tcp_clients[i], i, KXDP_TCP_SYN, NULL, 0);
		}
		exchange_segments(turn_segments, payloads, out);
		exchange_queries(turn_segments, questions, payloads, out);
	}
	exchange_queries(measure_segments, questions, payloads, out);
	for (unsigned i = 0; i < BATCH; i++) {
		memcpy(work[i].bytes + FRAME_HEADERS, out[i].payload + 2, out[i].len - 2u);
	}
}

static void check_answer(const row_t *row, const frame_t *frame)
{
	const uint8_t *message = frame->bytes + FRAME_HEADERS;
	if (!(message[2] & 0x80) || (message[3] & KNOT_RCODE_MASK) != row->rcode) {
		fprintf(stderr, "%s: wrong answer, rcode %u\n", row->what, message[3] & KNOT_RCODE_MASK);
		abort();
	}
}

static void answer_batch(const row_t *row, const frame_t *questions, frame_t *work)
{
	for (unsigned i = 0; i < BATCH; i++) {
		work[i].len = questions[i].len;
		memcpy(work[i].bytes, questions[i].bytes, questions[i].len);
	}
	if (row->frames) {
		test_zones_check(measure_frames(work) == BATCH, row->what);
	}
	if (row->tcp) {
		ask_over_tcp(questions, work);
	}
	for (unsigned i = 0; i < BATCH; i++) {
		if (!row->frames && !row->tcp) {
			(void)measure_message(work[i].bytes + FRAME_HEADERS, work[i].len - FRAME_HEADERS);
		}
		check_answer(row, &work[i]);
	}
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* rounds 1, runs 1: for counting instructions. */
__attribute__((noinline)) static void run_row(const row_t *row, unsigned runs, unsigned rounds)
{
	static frame_t questions[QUERIES];
	for (unsigned i = 0; i < QUERIES; i++) {
		make_frame(row, i * 7 % DELEGATIONS, &questions[i]);
	}
	static frame_t work[BATCH];
	double best = 0;
	for (unsigned run = 0; run < runs; run++) {
		double begin = now_ns();
		for (unsigned i = 0; i < rounds * QUERIES; i += BATCH) {
			answer_batch(row, &questions[i % QUERIES], work);
		}
		double ns = (now_ns() - begin) / ((double)rounds * QUERIES);
		best = run == 0 || ns < best ? ns : best;
	}
	if (rounds > 1) {
		printf("answer, %s: %.0f ns\n", row->what, best);
	}
}

static void on_fault(void *ctx, const conf_fault_t *fault)
{
	(void)ctx;
	(void)fault;
	test_zones_check(false, "configuration");
}

int main(int argc, char **argv)
{
	bool counts = argc > 1 && strcmp(argv[1], "count") == 0;
	if (argc > 1 && strcmp(argv[1], "rows") == 0) {
		for (size_t i = 0; i < KNOT_LEN(rows); i++) {
			printf("%u\tmeasure_*\tanswer, %s\n", QUERIES, rows[i].what);
		}
		return 0;
	}
	char *plain = make_zone("plain", false), *with_sigs = make_zone("signed", true);
	const char *const texts[] = { plain, with_sigs, NULL };
	test_zones_t zones = test_zones_new(texts, "empty.");
	state.zones = zones.db;
	state.env = (answer_env_t){ .udp_payload_max_ipv4 = 1232, .udp_payload_max_ipv6 = 1232 };
	static const char conf_text[] = "mod-stats:\n  - id: all\n    request-protocol: on\n    server-operation: on\n"
					"    response-code: on\n    query-type: on\n"
					"mod-noudp:\n  - id: all\n    udp-truncate-rate: 4294967295\n"
					"mod-queryacl:\n  - id: all\n    address: [ 10.0.0.0/8, 0.0.0.0/0, ::/0 ]\n"
					"mod-cookies:\n  - id: all\n    secret: 0x000102030405060708090a0b0c0d0e0f\n"
					"mod-rrl:\n  - id: all\n    instant-limit: 5000000\n";
	conf_t *conf;
	test_zones_check(conf_load_text("bench", KNOT_STR(conf_text), NULL, (conf_sink_t){ on_fault, NULL }, &conf) ==
					 KNOT_OK,
			"configuration");
	(void)sys_slot_take();
	traffic_counters = traffic_counters_new();
	test_zones_check(traffic_counters != NULL, "memory");
	const conf_xdp_t xdp = { .tcp = true,
		.tcp_max_clients = 1000000,
		.tcp_inbuf_max_size = 100 << 20,
		.tcp_outbuf_max_size = 100 << 20,
		.tcp_idle_close_timeout_s = 10,
		.tcp_idle_reset_timeout_s = 20,
		.tcp_resend_timeout_s = 5 };
	test_zones_check(xdp_tcp_new(1500, &traffic, &outbox, &tcp) == KNOT_OK, "TCP");
	xdp_tcp_configure(tcp, &xdp, 1, tcp_now_us);
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		conf_modref_t ref = { rows[i].module, "all" };
		const conf_modrefs_t refs = { &ref, rows[i].module != NULL ? 1 : 0 };
		test_zones_check(module_chain_new(conf, refs, &state.modules) == KNOT_OK, "module");
		test_zones_enter(&zones);
		run_row(&rows[i], counts ? 1 : RUNS, counts ? 1 : ROUNDS);
		test_zones_leave(&zones);
		module_chain_free(state.modules);
	}
	xdp_tcp_free(tcp);
	conf_free(conf);
	test_zones_free(&zones);
	free(plain);
	free(with_sigs);
	return 0;
}
