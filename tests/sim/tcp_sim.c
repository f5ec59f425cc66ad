/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TCP stack against a model client over a link that loses, delays, reorders, duplicates and corrupts.
 *
 *     tcp_sim [-c connections] [-s seed] [-l loss-percent] [-v connection] [-i idle-connections]
 *
 * Connections are simulated in worlds of at most 5000; each has a seed of its own (seed, seed + 1, …), from which
 * everything follows. Without -l a quarter each of 0, 1, 5 and 20 percent. -v prints every event of one connection.
 * -i only opens connections and measures their memory.
 *
 * One line per part starts with `ok` or `not ok`. Exit status 1: something failed; how to repeat it is printed.
 */
#include "tests/sim/tcp_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	WORLD_CONNECTIONS = 5000,
	PARTS_PER_PERCENT = 10000,
	FAILURES_MAX = 5,
	IDLE_DEFAULT = 1000000,
};

typedef struct {
	uint64_t connections, idle;
	uint64_t seed;
	int loss; /* percent; -1: all */
	int64_t traced;
} arguments_t;

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_totals(const sim_totals_t *t)
{
	printf("  segments %" PRIu64 " in, %" PRIu64 " out; lost %" PRIu64 ", corrupt %" PRIu64 ", duplicate %" PRIu64
	       ", replayed %" PRIu64 ", forged SYNs %" PRIu64 "\n",
			t->segments_in, t->segments_out, t->lost, t->corrupted, t->duplicated, t->replayed, t->floods);
	printf("  retransmissions %" PRIu64 ", cookies accepted %" PRIu64 ", bytes read %" PRIu64 ", sent %" PRIu64
	       "\n",
			t->resent, t->cookies_good, t->bytes_in, t->bytes_out);
	printf("  peaks: memory %" PRIu64 " KiB, clients %" PRIu64 ", received data kept %" PRIu64
	       " KiB, replies kept %" PRIu64 " KiB\n",
			t->memory_max >> 10, t->clients_max, t->inbuf_max >> 10, t->outbuf_max >> 10);
	printf("  greedy clients %" PRIu64 ", reset for unread replies %" PRIu64
	       "; honest ones beside them took at most %" PRIu64 " us\n",
			t->kinds[SIM_GREEDY], t->greedy_dropped, t->honest_max_us);
	for (unsigned pressed = 0; pressed < 2; pressed++) {
		printf(pressed ? "  tight limits or stopped:" : " ");
		for (unsigned i = 1; i < SIM_END_COUNT; i++) {
			printf(" %s %" PRIu64, sim_end_name((sim_end_t)i), (pressed ? t->pressed_ends : t->ends)[i]);
		}
		printf("\n");
	}
}

/* Returns false when a world failed. */
static bool simulate(const arguments_t *arguments, int loss, uint64_t first_seed, uint64_t connections)
{
	sim_totals_t totals = { 0 };
	unsigned failures = 0;
	double start = seconds();
	uint64_t seed = first_seed;
	for (uint64_t done = 0; done < connections && failures < FAILURES_MAX; seed++) {
		uint64_t left = connections - done;
		sim_options_t options = {
			.seed = seed,
			.connections = (uint32_t)(left < WORLD_CONNECTIONS ? left : WORLD_CONNECTIONS),
			.loss = (uint32_t)loss * PARTS_PER_PERCENT,
			.traced = arguments->traced,
		};
		if (!sim_world_run(&options, &totals)) {
			failures++;
			printf("  repeat: tests/sim/tcp_sim -s %" PRIu64 " -c %u -l %d -v CONNECTION\n", seed,
					options.connections, loss);
		}
		done += options.connections;
	}
	printf("%s tcp: %" PRIu64 " connections, %d %% loss, seed %" PRIu64 ", %.1f s\n",
			failures == 0 ? "ok" : "not ok", connections, loss, first_seed, seconds() - start);
	print_totals(&totals);
	fflush(stdout);
	return failures == 0;
}

/* ---- idle connections ---- */

static uint64_t resident(void)
{
	unsigned long size = 0, pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file != NULL) {
		if (fscanf(file, "%lu %lu", &size, &pages) != 2) {
			pages = 0;
		}
		fclose(file);
	}
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Open a connection; one of ten also asks something, so that buffers come and go. Returns false when the server
 * doesn't. */
static bool open_idle(kxdp_tcp_t *tcp, uint64_t number, uint64_t now)
{
	uint8_t payload[2048] = { 0 };
	kxdp_segment_t out, in = {
		.flow = { .remote = { [10] = 0xff, 0xff, 10 },
				.local = { [10] = 0xff, 0xff, 10, 255, 0, 53 },
				.local_port = 53 },
		.path = { .remote_mac = { 2, 1 }, .local_mac = { 2, 2 }, .mtu = 1500, .ifindex = 7 },
		.seq = (uint32_t)(number * 77777),
		.window = 65535,
		.mss = 1460,
		.scale = 7,
		.flags = KXDP_TCP_SYN,
	};
	kxdp_tcp_input_t input;
	in.flow.remote_port = (uint16_t)(1024 + number % 16);
	in.flow.remote[13] = (uint8_t)(number >> 20);
	in.flow.remote[14] = (uint8_t)(number >> 12);
	in.flow.remote[15] = (uint8_t)(number >> 4);
	kxdp_tcp_receive(tcp, &in, now, &input);
	if (!kxdp_tcp_emit(tcp, now, payload, sizeof(payload), &out) || !(out.flags & KXDP_TCP_SYN)) {
		return false;
	}
	in.seq++;
	in.ack = out.seq + 1;
	in.flags = KXDP_TCP_ACK;
	in.mss = 0;
	in.scale = -1;
	bool asks = number % 10 == 0;
	in.len = asks ? 40 : 0;
	in.payload = asks ? payload : NULL;
	if (kxdp_tcp_receive(tcp, &in, now, &input)) {
		do {
			if (!kxdp_tcp_write(tcp, input.conn, payload, 600)) {
				return false;
			}
			kxdp_tcp_consume(tcp, input.conn, input.len);
		} while (kxdp_tcp_next(tcp, &input));
	}
	while (kxdp_tcp_emit(tcp, now, payload, sizeof(payload), &out)) {
		in.ack = out.seq + out.len;
	}
	in.seq += in.len;
	in.len = 0;
	in.payload = NULL;
	kxdp_tcp_receive(tcp, &in, now, &input);
	return !kxdp_tcp_emit(tcp, now, payload, sizeof(payload), &out);
}

/* Does memory stay below KXDP_TCP_IDLE_BYTES per connection, and does all of it end when they are left alone? */
static bool idle(uint64_t count)
{
	kxdp_tcp_limits_t limits = {
		.clients_max = (uint32_t)count,
		.half_open_max = 1000,
		.inbuf_max = 1 << 20,
		.outbuf_max = 1 << 20,
		.idle_close_us = 10 * SIM_SECOND,
		.idle_reset_us = 20 * SIM_SECOND,
		.resend_us = 5 * SIM_SECOND,
		.resets_max = 1000,
		.mtu = 1500,
	};
	const uint8_t key[KXDP_TCP_KEY_LEN] = "0123456789abcde";
	kxdp_tcp_t *tcp;
	uint64_t before = resident(), now = 1, opened = 0;
	if (kxdp_tcp_new(&limits, key, now, &tcp) != KNOT_OK) {
		printf("not ok tcp: no memory\n");
		return false;
	}
	double start = seconds();
	while (opened < count && open_idle(tcp, opened, now)) {
		opened++;
		now++;
		kxdp_tcp_tick(tcp, now);
	}
	kxdp_tcp_stats_t full, end;
	kxdp_tcp_stats(tcp, &full);
	uint64_t grown = resident() - before;
	double opening = seconds() - start;
	/* There is no answer: FIN, and RST at the end. */
	uint8_t payload[2048];
	kxdp_segment_t segment;
	for (uint64_t until = now + 150ull * SIM_SECOND; now < until; now += 10000) {
		kxdp_tcp_tick(tcp, now);
		while (kxdp_tcp_emit(tcp, now, payload, sizeof(payload), &segment)) {}
	}
	kxdp_tcp_stats(tcp, &end);
	kxdp_tcp_free(tcp);
	bool is_small = opened == count && full.clients == count && full.memory <= count * KXDP_TCP_IDLE_BYTES &&
			/* The allocator's own, and tables that grow in steps. */
			grown <= count * KXDP_TCP_IDLE_BYTES / 8 * 9 + (1 << 20);
	bool is_empty = end.clients == 0 && end.inbuf == 0 && end.outbuf == 0 && end.half_open == 0;
	printf("%s tcp: %" PRIu64 " of %" PRIu64
	       " idle connections, %.1f bytes each (resident %.1f), opened in %.1f s; left behind %" PRIu64 "\n",
			is_small && is_empty ? "ok" : "not ok", opened, count, (double)full.memory / (double)count,
			(double)grown / (double)count, opening, end.clients);
	return is_small && is_empty;
}

/* ---- */

static bool all(const arguments_t *arguments)
{
	static const int losses[] = { 0, 1, 5, 20 };
	bool is_fine = true;
	if (arguments->connections > 0) {
		for (size_t i = 0; i < KNOT_LEN(losses); i++) {
			if (arguments->loss < 0) {
				uint64_t part = arguments->connections / KNOT_LEN(losses);
				is_fine &= simulate(arguments, losses[i], arguments->seed + i * 1000000,
						part > 0 ? part : 1);
			}
		}
		if (arguments->loss >= 0) {
			is_fine = simulate(arguments, arguments->loss, arguments->seed, arguments->connections);
		}
	}
	if (arguments->idle > 0) {
		is_fine &= idle(arguments->idle);
	}
	return is_fine;
}

int main(int argc, char **argv)
{
	arguments_t arguments = { .loss = -1, .traced = -1, .seed = (uint64_t)time(NULL) };
	bool is_default = true;
	int option;
	while ((option = getopt(argc, argv, "c:s:l:v:i:")) != -1) {
		uint64_t value = optarg != NULL ? strtoull(optarg, NULL, 10) : 0;
		switch (option) {
		case 'c':
			arguments.connections = value;
			is_default = false;
			break;
		case 's': arguments.seed = value; break;
		case 'l': arguments.loss = (int)(value <= 100 ? value : 100); break;
		case 'v': arguments.traced = (int64_t)value; break;
		case 'i':
			arguments.idle = value;
			is_default = false;
			break;
		default:
			fputs("Usage: tcp_sim [-c connections] [-s seed] [-l loss-percent] [-v connection] [-i "
			      "idle-connections]\n",
					stderr);
			return 1;
		}
	}
	if (is_default) {
		arguments.connections = 1000000;
		arguments.idle = IDLE_DEFAULT;
	}
	return all(&arguments) ? 0 : 1;
}
