/* SPDX-License-Identifier: BSD-2-Clause */
#include "xdp/tcp/script.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLIENTS = 64,
	WORDS_MAX = 16,
	SECOND_US = 1000000,
	PAYLOAD_MAX = 9000,
	NONE = -1,
};

typedef struct {
	uint32_t isn, iss; /* the client's, the server's */
	bool knows_iss;
	kxdp_tcp_conn_t conn;
	uint32_t read_off, write_off; /* of the application */
} client_t;

typedef struct {
	const char *what;
	int line;
	char text[200];
	kxdp_tcp_t *tcp;
	kxdp_tcp_limits_t limits;
	uint64_t now_us;
	client_t clients[CLIENTS];
	unsigned port, source;
	bool is_v6, failed;
	uint16_t mtu;
	kxdp_tcp_input_t input;
	bool has_input;
	uint8_t payload_in[PAYLOAD_MAX], payload_out[PAYLOAD_MAX];
} run_t;

static void script_note_wrong(run_t *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void script_note_wrong(run_t *run, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "%s\n  line %d: %s\n  ", run->what, run->line, run->text);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	run->failed = true;
}

/* Byte `off` of the stream from (0) or to (1) the client. */
static uint8_t script_stream_byte(unsigned port, bool to_client, uint32_t off)
{
	return (uint8_t)(off * 31 + off / 251 + port * 7 + to_client * 101);
}

/* The value of NAME=… among the words; NONE: absent. */
static int64_t script_option(char **words, const char *name)
{
	size_t len = strlen(name);
	for (int i = 0; words[i] != NULL; i++) {
		if (strncmp(words[i], name, len) == 0) {
			return strtoll(words[i] + len, NULL, 10);
		}
	}
	return NONE;
}

static bool script_has_word(char **words, const char *word)
{
	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], word) == 0) {
			return true;
		}
	}
	return false;
}

static uint8_t script_flags_of(const char *letters)
{
	static const struct {
		char letter;
		uint8_t flag;
	} rows[] = { { 'S', KXDP_TCP_SYN }, { 'F', KXDP_TCP_FIN }, { 'R', KXDP_TCP_RST }, { 'P', KXDP_TCP_PSH },
		{ 'A', KXDP_TCP_ACK } };
	uint8_t flags = 0;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		flags |= strchr(letters, rows[i].letter) != NULL ? rows[i].flag : 0;
	}
	return flags;
}

static bool script_is_number(const char *word)
{
	return word != NULL && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
}

/* ---- limits ---- */

static void script_set_limits(kxdp_tcp_limits_t *limits, char **words)
{
	const struct {
		const char *name;
		size_t off, size;
		uint64_t unit;
	} rows[] = {
#define LIMIT(name, field, unit) { name, offsetof(kxdp_tcp_limits_t, field), sizeof(limits->field), unit }
		LIMIT("clients=", clients_max, 1),
		LIMIT("source=", per_source_max, 1),
		LIMIT("half_open=", half_open_max, 1),
		LIMIT("inbuf=", inbuf_max, 1),
		LIMIT("outbuf=", outbuf_max, 1),
		LIMIT("in_source=", in_source_max, 1),
		LIMIT("out_source=", out_source_max, 1),
		LIMIT("idle_close=", idle_close_us, SECOND_US),
		LIMIT("idle_reset=", idle_reset_us, SECOND_US),
		LIMIT("resend_ms=", resend_us, 1000),
		LIMIT("resets=", resets_max, 1),
		LIMIT("mtu=", mtu, 1),
#undef LIMIT
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		int64_t value = script_option(words, rows[i].name);
		if (value != NONE) {
			uint64_t scaled = (uint64_t)value * rows[i].unit;
			memcpy((uint8_t *)limits + rows[i].off, &scaled,
					rows[i].size); /* little-endian hosts, as AF_XDP's are */
		}
	}
}

static void script_start_stack(run_t *run)
{
	static const uint8_t key[KXDP_TCP_KEY_LEN] = "0123456789abcde";
	if (run->tcp == NULL && kxdp_tcp_new(&run->limits, key, run->now_us, &run->tcp) != KNOT_OK) {
		script_note_wrong(run, "kxdp_tcp_new() failed");
	}
}

/* ---- segments ---- */

static kxdp_flow_t script_flow_of(const run_t *run)
{
	kxdp_flow_t flow = {
		.remote = { [10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = (uint8_t)run->source },
		.local = { [10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = 2, [15] = 53 },
		.remote_port = (uint16_t)(10000 + run->port),
		.local_port = 53,
	};
	if (run->is_v6) {
		const uint8_t prefix[] = { 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, (uint8_t)run->source, 0, 0, 0, 0 };
		memcpy(flow.remote, prefix, sizeof(prefix));
		memcpy(flow.local, prefix, sizeof(prefix));
	}
	return flow;
}

static kxdp_path_t script_path_of(const run_t *run)
{
	return (kxdp_path_t){
		.remote_mac = { 2, 0, 0, 0, 0, 1 }, .local_mac = { 2, 0, 0, 0, 0, 2 }, .mtu = run->mtu, .ifindex = 3
	};
}

static void script_put_segment(run_t *run, char **words)
{
	client_t *client = &run->clients[run->port];
	int64_t win = script_option(words, "win="), mss = script_option(words, "mss="),
		scale = script_option(words, "scale="), len = script_option(words, "len=");
	kxdp_segment_t segment = {
		.flow = script_flow_of(run),
		.path = script_path_of(run),
		.flags = script_flags_of(words[1]),
		.window = (uint16_t)(win != NONE ? win : 65535),
		.mss = (uint16_t)(mss != NONE ? mss : 0),
		.scale = (int8_t)(scale != NONE ? scale : -1),
		.len = (uint16_t)(len != NONE ? len : 0),
	};
	uint32_t seq = (uint32_t)strtoll(words[2], NULL, 10);
	segment.seq = client->isn + seq;
	if (segment.flags & KXDP_TCP_ACK) {
		segment.ack = client->iss + (uint32_t)(script_is_number(words[3]) ? strtoll(words[3], NULL, 10) : 1);
		segment.ack += script_has_word(words, "badack") ? 0x1234567 : 0;
	}
	if (segment.len > 0) {
		memset(run->payload_in, 0, sizeof(run->payload_in));
		for (uint32_t i = 0; i < segment.len; i++) {
			run->payload_in[i] = script_stream_byte(run->port, false, seq - 1 + i);
		}
		segment.payload = run->payload_in;
	}
	run->has_input = kxdp_tcp_receive(run->tcp, &segment, run->now_us, &run->input);
}

static bool script_emit_segment(run_t *run, kxdp_segment_t *segment)
{
	memset(run->payload_out, 0, sizeof(run->payload_out));
	return kxdp_tcp_emit(run->tcp, run->now_us, run->payload_out, sizeof(run->payload_out), segment);
}

static void script_compare(run_t *run, const char *name, int64_t got, int64_t want)
{
	if (got != want) {
		script_note_wrong(run, "%s %" PRId64 ", want %" PRId64, name, got, want);
	}
}

static void script_compare_options(run_t *run, char **words, const kxdp_segment_t *segment)
{
	const struct {
		const char *name;
		int64_t got;
	} rows[] = { { "win=", segment->window }, { "mss=", segment->mss }, { "scale=", segment->scale } };
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		int64_t want = script_option(words, rows[i].name);
		if (want != NONE || script_has_word(words, "scale=-1")) {
			script_compare(run, rows[i].name, rows[i].got, want != NONE || i == 2 ? want : rows[i].got);
		}
	}
	int64_t below = script_option(words, "win<"), above = script_option(words, "win>"),
		len = script_option(words, "len=");
	if ((below != NONE && segment->window >= below) || (above != NONE && segment->window <= above)) {
		script_note_wrong(run, "window %u", segment->window);
	}
	script_compare(run, "len", segment->len, len != NONE ? len : 0);
}

static void script_take_segment(run_t *run, char **words)
{
	kxdp_segment_t segment;
	bool is_sent = script_emit_segment(run, &segment);
	client_t *client = &run->clients[run->port];
	if (strcmp(words[1], "none") == 0) {
		if (is_sent) {
			script_note_wrong(run, "a segment, flags 0x%02x seq %u len %u", segment.flags,
					segment.seq - client->iss, segment.len);
		}
		return;
	}
	if (!is_sent) {
		script_note_wrong(run, "no segment");
		return;
	}
	kxdp_flow_t flow = script_flow_of(run);
	if (memcmp(&flow, &segment.flow, sizeof(flow)) != 0) {
		script_note_wrong(run, "to port %u", segment.flow.remote_port);
	}
	if (segment.flags & KXDP_TCP_SYN && !client->knows_iss) {
		client->iss = segment.seq;
		client->knows_iss = true;
	}
	script_compare(run, "flags", segment.flags & ~KXDP_TCP_PSH, script_flags_of(words[1]) & ~KXDP_TCP_PSH);
	uint32_t seq = segment.seq - client->iss;
	if (script_is_number(words[2])) {
		script_compare(run, "seq", (int32_t)seq, strtoll(words[2], NULL, 10));
		if (script_is_number(words[3])) {
			script_compare(run, "ack", (int32_t)(segment.ack - client->isn), strtoll(words[3], NULL, 10));
		}
	}
	script_compare_options(run, words, &segment);
	for (uint32_t i = 0; i < segment.len; i++) {
		if (segment.payload[i] != script_stream_byte(run->port, true, seq - 1 + i)) {
			script_note_wrong(run, "byte %u is wrong", seq - 1 + i);
			break;
		}
	}
}

/* ---- the application ---- */

static void script_do_read(run_t *run, char **words)
{
	client_t *client = &run->clients[run->port];
	if (!run->has_input) {
		script_note_wrong(run, "no input");
		return;
	}
	run->has_input = false;
	const kxdp_tcp_input_t *input = &run->input;
	client->conn = input->conn;
	script_compare(run, "bytes", (int64_t)input->len, strtoll(words[1], NULL, 10));
	script_compare(run, "fin", input->fin, script_has_word(words, "fin"));
	for (uint32_t i = 0; i < input->len; i++) {
		if (input->data[i] != script_stream_byte(run->port, false, client->read_off + i)) {
			script_note_wrong(run, "byte %u is wrong", client->read_off + i);
			break;
		}
	}
	int64_t use = script_option(words, "use=");
	size_t used = use != NONE ? (size_t)use : input->len;
	client->read_off += (uint32_t)used;
	kxdp_tcp_consume(run->tcp, input->conn, used);
}

static void script_do_write(run_t *run, char **words)
{
	client_t *client = &run->clients[run->port];
	size_t len = strtoull(words[1], NULL, 10);
	uint8_t *bytes = malloc(len + 1);
	for (size_t i = 0; i < len; i++) {
		bytes[i] = script_stream_byte(run->port, true, client->write_off + (uint32_t)i);
	}
	bool is_taken = kxdp_tcp_write(run->tcp, client->conn, bytes, len);
	free(bytes);
	script_compare(run, "taken", is_taken, !script_has_word(words, "no"));
	client->write_off += is_taken ? (uint32_t)len : 0;
}

static void script_do_time(run_t *run, char **words)
{
	char *unit;
	uint64_t count = strtoull(words[1] + 1, &unit, 10);
	uint64_t until = run->now_us + count * (strcmp(unit, "s") == 0                   ? SECOND_US
							       : strcmp(unit, "ms") == 0 ? 1000
											 : 1);
	for (unsigned rounds = 0; rounds < 100000; rounds++) {
		uint64_t next = kxdp_tcp_next_time(run->tcp);
		if (next > until) {
			break;
		}
		run->now_us = next > run->now_us ? next : run->now_us;
		kxdp_tcp_tick(run->tcp, run->now_us);
	}
	run->now_us = until;
	kxdp_tcp_tick(run->tcp, until);
}

static void script_do_stat(run_t *run, char **words)
{
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(run->tcp, &stats);
#define STAT_ROW(field, kind, help) { #field, offsetof(kxdp_tcp_stats_t, field) },
	static const struct {
		const char *name;
		size_t off;
	} rows[] = { KXDP_TCP_STATS(STAT_ROW) };
#undef STAT_ROW
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (strcmp(rows[i].name, words[1]) == 0) {
			uint64_t got;
			memcpy(&got, (const uint8_t *)&stats + rows[i].off, sizeof(got));
			script_compare(run, words[1], (int64_t)got, strtoll(words[2], NULL, 10));
			return;
		}
	}
	script_note_wrong(run, "no counter of that name");
}

static void script_do_next(run_t *run, char **words)
{
	run->has_input = kxdp_tcp_next(run->tcp, &run->input);
	script_compare(run, "input", run->has_input, words[1] == NULL);
}

static void script_do_room(run_t *run, char **words)
{
	int64_t want = strtoll(words[1], NULL, 10),
		got = (int64_t)kxdp_tcp_room(run->tcp, run->clients[run->port].conn);
	if (want == 0 ? got != 0 : got < want) {
		script_note_wrong(run, "room for %" PRId64, got);
	}
}

static void script_do_other(run_t *run, char **words)
{
	client_t *client = &run->clients[run->port];
	kxdp_segment_t segment;
	if (strcmp(words[0], "close") == 0) {
		kxdp_tcp_close(run->tcp, client->conn);
	} else if (strcmp(words[0], "abort") == 0) {
		kxdp_tcp_abort(run->tcp, client->conn);
	} else if (strcmp(words[0], "hold") == 0) {
		kxdp_tcp_hold(run->tcp, client->conn);
	} else if (strcmp(words[0], "release") == 0) {
		kxdp_tcp_release(run->tcp, client->conn);
	} else if (strcmp(words[0], "abort-all") == 0) {
		kxdp_tcp_abort_all(run->tcp);
	} else if (strcmp(words[0], "drain") == 0) {
		while (script_emit_segment(run, &segment)) {}
	} else if (strcmp(words[0], "configure") == 0) {
		script_set_limits(&run->limits, words);
		kxdp_tcp_configure(run->tcp, &run->limits);
	} else if (strcmp(words[0], "again") == 0) { /* the port is used again */
		*client = (client_t){ .isn = client->isn + (uint32_t)script_option(words, "isn=") };
	} else {
		script_note_wrong(run, "what is that?");
	}
}

/* Lines before there is a stack. */
static bool script_do_setting(run_t *run, char **words)
{
	if (strcmp(words[0], "limits") == 0) {
		script_set_limits(&run->limits, words);
	} else if (strcmp(words[0], "v6") == 0) {
		run->is_v6 = true;
	} else if (strcmp(words[0], "port") == 0) {
		run->port = (unsigned)strtoul(words[1], NULL, 10) % CLIENTS;
	} else if (strcmp(words[0], "source") == 0) {
		run->source = (unsigned)strtoul(words[1], NULL, 10);
	} else if (strcmp(words[0], "mtu") == 0) {
		run->mtu = (uint16_t)strtoul(words[1], NULL, 10);
	} else {
		return false;
	}
	return true;
}

static void script_do_line(run_t *run, char **words)
{
	static const struct {
		const char *word;
		void (*run)(run_t *, char **);
	} rows[] = {
		{ "<", script_put_segment },
		{ ">", script_take_segment },
		{ "read", script_do_read },
		{ "write", script_do_write },
		{ "time", script_do_time },
		{ "stat", script_do_stat },
		{ "next", script_do_next },
		{ "room", script_do_room },
	};
	if (script_do_setting(run, words)) {
		return;
	}
	script_start_stack(run);
	if (run->has_input && strcmp(words[0], "read") != 0) {
		script_note_wrong(run, "%zu bytes of input were not read", run->input.len);
		return;
	}
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (strcmp(rows[i].word, words[0]) == 0) {
			rows[i].run(run, words);
			return;
		}
	}
	script_do_other(run, words);
}

bool kxdp_script_run(const char *what, const char *script)
{
	run_t *run = calloc(1, sizeof(*run));
	*run = (run_t){
		.what = what,
		.now_us = 1000000,
		.source = 1,
		.mtu = 1500,
		.limits = {
			.clients_max = 1000, .half_open_max = 100, .inbuf_max = 1 << 24, .outbuf_max = 1 << 24, .idle_close_us = 10 * SECOND_US,
			.idle_reset_us = 20 * SECOND_US, .resend_us = 5 * SECOND_US, .resets_max = 100, .mtu = 1500,
		},
	};
	for (unsigned i = 0; i < CLIENTS; i++) {
		run->clients[i].isn = 1000000 * i + (i % 2 ? 0xffffff00u : 5000); /* every second one wraps soon */
	}
	for (const char *at = script; *at != '\0' && !run->failed; run->line++) {
		size_t len = strcspn(at, "\n");
		snprintf(run->text, sizeof(run->text), "%.*s", (int)len, at);
		char copy[sizeof(run->text)], *words[WORDS_MAX] = { NULL }, *save = NULL;
		memcpy(copy, run->text, sizeof(copy));
		unsigned count = 0;
		for (char *word = strtok_r(copy, " \t", &save); word != NULL && count < WORDS_MAX - 1;
				word = strtok_r(NULL, " \t", &save)) {
			words[count++] = word;
		}
		if (count > 0) {
			script_do_line(run, words);
		}
		at += len + (at[len] == '\n');
	}
	if (run->has_input && !run->failed) {
		script_note_wrong(run, "%zu bytes of input were not read", run->input.len);
	}
	bool is_right = !run->failed;
	kxdp_tcp_free(run->tcp);
	free(run);
	return is_right;
}
