/* SPDX-License-Identifier: BSD-2-Clause */
/* The link, the stack's driver, and the loop over events. */
#include "tests/sim/tcp_world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* How long after its last client the world may take to become empty. */
	QUIET_US = 600 * SIM_SECOND,
	START_GAP_US = 1500, /* mean time between two clients */
	IDLE_WAKES_MAX = 1000,
	FLOOD_TIME_US = 10 * SIM_SECOND,
};

const char *sim_kind_name(sim_kind_t kind)
{
#define KIND_NAME(name) [SIM_##name] = #name,
	static const char *const names[] = { SIM_KINDS(KIND_NAME) };
	return names[kind];
}

const char *sim_end_name(sim_end_t how)
{
#define END_NAME(name) [SIM_END_##name] = #name,
	static const char *const names[] = { SIM_ENDS(END_NAME) };
	return names[how];
}

void sim_fail(sim_world_t *world, const sim_client_t *client, const char *format, ...)
{
	if (world->failure[0] != '\0') {
		return;
	}
	int at = 0;
	if (client != NULL) {
		at = snprintf(world->failure, sizeof(world->failure), "connection %u (%s, use %u), ",
				sim_slot(world, client), sim_kind_name(client->plan.kind), client->incarnation);
	}
	at += snprintf(world->failure + at, sizeof(world->failure) - (size_t)at, "at %" PRIu64 " us: ", world->now);
	va_list list;
	va_start(list, format);
	vsnprintf(world->failure + at, sizeof(world->failure) - (size_t)at, format, list);
	va_end(list);
}

bool sim_is_traced(const sim_world_t *world, const sim_client_t *client)
{
	return client != NULL && (int64_t)sim_slot(world, client) == world->options->traced;
}

void sim_trace(const sim_world_t *world, const sim_client_t *client, const char *format, ...)
{
	if (!sim_is_traced(world, client)) {
		return;
	}
	printf("%10" PRIu64 " ", world->now);
	va_list list;
	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	putchar('\n');
}

static void trace_packet(const sim_world_t *world, const sim_client_t *client, const char *what,
		const sim_packet_t *packet, bool to_server)
{
	if (!sim_is_traced(world, client)) {
		return;
	}
	char options[40] = "";
	if (packet->flags & KXDP_TCP_SYN) {
		snprintf(options, sizeof(options), " mss %u scale %d", packet->mss, packet->scale);
	}
	sim_trace(world, client, "%s %s%s%s%s%s seq %" PRIu32 " len %u ack %" PRIu32 " win %u%s", what,
			packet->flags & KXDP_TCP_SYN ? "S" : "", packet->flags & KXDP_TCP_FIN ? "F" : "",
			packet->flags & KXDP_TCP_RST ? "R" : "", packet->flags & KXDP_TCP_PSH ? "P" : "",
			packet->flags & KXDP_TCP_ACK ? "A" : "", packet->seq - (to_server ? client->iss : client->irs),
			packet->len, packet->ack - (to_server ? client->irs : client->iss), packet->window, options);
}

/* ---- addresses ---- */

kxdp_flow_t sim_flow(const sim_world_t *world, uint32_t slot)
{
	uint32_t host = slot / world->per_address;
	kxdp_flow_t flow = {
		.remote_port = (uint16_t)(SIM_PORT_BASE + slot % world->per_address),
		.local_port = SIM_SERVER_PORT,
	};
	if (world->clients[slot].plan.is_v6) {
		flow.remote[0] = flow.local[0] = 0xfd;
		/* Each in a /64 of its own. */
		flow.remote[4] = (uint8_t)(host >> 24);
		flow.remote[5] = (uint8_t)(host >> 16);
		flow.remote[6] = (uint8_t)(host >> 8);
		flow.remote[7] = (uint8_t)host;
		flow.remote[15] = 1;
		flow.local[15] = 53;
	} else {
		flow.remote[10] = flow.remote[11] = flow.local[10] = flow.local[11] = 0xff;
		flow.remote[12] = flow.local[12] = 10;
		flow.remote[13] = (uint8_t)(host >> 16);
		flow.remote[14] = (uint8_t)(host >> 8);
		flow.remote[15] = (uint8_t)host;
		flow.local[15] = 53;
		flow.local[13] = 255;
	}
	return flow;
}

uint32_t sim_slot_of(const sim_world_t *world, const kxdp_flow_t *flow)
{
	uint32_t host = flow->remote[0] == 0xfd ? (uint32_t)flow->remote[4] << 24 | (uint32_t)flow->remote[5] << 16 |
								  (uint32_t)flow->remote[6] << 8 | flow->remote[7]
						: (uint32_t)flow->remote[13] << 16 | (uint32_t)flow->remote[14] << 8 |
								  flow->remote[15];
	uint64_t slot = (uint64_t)host * world->per_address + flow->remote_port - SIM_PORT_BASE;
	if (flow->remote_port < SIM_PORT_BASE || slot >= world->options->connections) {
		return UINT32_MAX;
	}
	kxdp_flow_t same = sim_flow(world, (uint32_t)slot);
	return memcmp(&same, flow, sizeof(same)) == 0 ? (uint32_t)slot : UINT32_MAX;
}

static kxdp_path_t path_of(uint32_t host, uint16_t mtu)
{
	kxdp_path_t path = { .remote_mac = { 2, 1 }, .local_mac = { 2, 2 }, .mtu = mtu, .ifindex = 7 };
	path.remote_mac[5] = (uint8_t)host;
	return path;
}

kxdp_path_t sim_path(const sim_world_t *world, const sim_client_t *client)
{
	return path_of(sim_slot(world, client), client->plan.path_mtu);
}

/* ---- the link ---- */

void sim_schedule(sim_world_t *world, uint64_t time, sim_event_kind_t kind, uint32_t slot)
{
	sim_events_add(&world->events, &(sim_event_t){ .time = time, .kind = kind, .slot = slot });
}

static void arrive(sim_world_t *world, const sim_client_t *client, sim_event_kind_t to, const sim_packet_t *packet,
		uint64_t later)
{
	const sim_plan_t *plan = &client->plan;
	uint64_t delay = plan->delay_us + sim_below(&world->random, plan->jitter_us) + later;
	if (sim_chance(&world->random, world->link.reorder)) {
		delay += sim_below(&world->random, 3ull * plan->delay_us);
	}
	sim_events_add(&world->events, &(sim_event_t){ .time = world->now + delay,
						       .kind = to,
						       .slot = sim_slot(world, client),
						       .packet = *packet });
}

/* Once, twice, never, or much later. */
static void transmit(sim_world_t *world, const sim_client_t *client, sim_event_kind_t to, const sim_packet_t *packet)
{
	const sim_link_t *link = &world->link;
	if (sim_chance(&world->random, link->loss)) {
		trace_packet(world, client, "       lost", packet, to == SIM_TO_SERVER);
		world->totals.lost++;
		return;
	}
	/* The receiver's checksum finds it. */
	if (sim_chance(&world->random, link->corrupt)) {
		trace_packet(world, client, "    corrupt", packet, to == SIM_TO_SERVER);
		world->totals.corrupted++;
		return;
	}
	arrive(world, client, to, packet, 0);
	if (sim_chance(&world->random, link->duplicate)) {
		world->totals.duplicated++;
		arrive(world, client, to, packet, 0);
	}
	if (sim_chance(&world->random, link->replay)) {
		world->totals.replayed++;
		arrive(world, client, to, packet, sim_below(&world->random, 30 * SIM_SECOND));
	}
}

/* Random header fields, with a checksum that is right. */
static void mangle(sim_world_t *world, sim_packet_t *packet)
{
	sim_random_t *random = &world->random;
	uint64_t bits = sim_random(random);
	switch (sim_below(random, 8)) {
	case 0: packet->seq += (uint32_t)(bits % 70000) - 35000; break;
	case 1: packet->ack += (uint32_t)(bits % 70000) - 35000; break;
	case 2: packet->seq = (uint32_t)bits; break;
	case 3: packet->ack = (uint32_t)bits; break;
	case 4: packet->flags = bits & 0x1f; break;
	case 5: packet->window = (uint16_t)bits; break;
	case 6:
		packet->flags |= KXDP_TCP_SYN;
		packet->mss = (uint16_t)bits;
		packet->scale = (int8_t)(bits >> 16 & 15);
		packet->scale = packet->scale > 14 ? -1 : packet->scale;
		break;
	default: packet->len = (uint16_t)(bits % 1400); break;
	}
	packet->ack = packet->flags & KXDP_TCP_ACK ? packet->ack : 0;
}

void sim_send(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	sim_packet_t sent = *packet;
	if (client->plan.kind == SIM_HOSTILE && sim_chance(&world->random, 200000)) {
		mangle(world, &sent);
	}
	trace_packet(world, client, "client ->", &sent, true);
	transmit(world, client, SIM_TO_SERVER, &sent);
}

/* ---- the stack ---- */

static void check_levels(sim_world_t *world)
{
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(world->tcp, &stats);
	const kxdp_tcp_limits_t *limits = &world->limits;
	const struct {
		const char *what;
		uint64_t level, most;
		uint64_t *highest;
	} rows[] = {
		{ "clients", stats.clients, limits->clients_max, &world->totals.clients_max },
		{ "half-open clients", stats.half_open, limits->half_open_max, NULL },
		{ "bytes received", stats.inbuf, limits->inbuf_max, &world->totals.inbuf_max },
		{ "bytes to send", stats.outbuf, limits->outbuf_max, &world->totals.outbuf_max },
		{ "bytes of memory", stats.memory, UINT64_MAX, &world->totals.memory_max },
	};
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		if (rows[i].level > rows[i].most) {
			sim_fail(world, NULL, "%" PRIu64 " %s, at most %" PRIu64 " may be", rows[i].level, rows[i].what,
					rows[i].most);
		}
		if (rows[i].highest != NULL && rows[i].level > *rows[i].highest) {
			*rows[i].highest = rows[i].level;
		}
	}
}

static void emitted(sim_world_t *world, const kxdp_segment_t *segment)
{
	world->totals.segments_out++;
	uint32_t slot = sim_slot_of(world, &segment->flow);
	if (slot == UINT32_MAX) {
		/* A forged address: SYN-ACK, and RST when the server has lost patience. Nothing answers there. */
		if (!(segment->flags & (KXDP_TCP_SYN | KXDP_TCP_RST))) {
			sim_fail(world, NULL, "flags 0x%02x to a forged address", segment->flags);
		}
		return;
	}
	sim_client_t *client = &world->clients[slot];
	bool is_current = sim_watch_emission(world, client, segment);
	sim_packet_t packet = {
		.key = is_current ? ~client->key : 0,
		.seq = segment->seq,
		.ack = segment->ack,
		.window = segment->window,
		.mss = segment->mss,
		.len = segment->len,
		.scale = segment->scale,
		.flags = segment->flags,
	};
	world->totals.bytes_out += segment->len;
	trace_packet(world, client, "<- server", &packet, false);
	uint32_t size = (client->plan.is_v6 ? 60u : 40u) + segment->len;
	if (size > client->plan.path_mtu) {
		sim_fail(world, client, "a packet of %u bytes, the path takes %u", size, client->plan.path_mtu);
	}
	if (size <= client->plan.hole) {
		transmit(world, client, SIM_TO_CLIENT, &packet);
	}
}

static void wake_at(sim_world_t *world, uint64_t time)
{
	if (time < world->wake_scheduled) {
		world->wake_scheduled = time;
		sim_schedule(world, time, SIM_SERVER_WAKE, 0);
	}
}

/* Timers, what they and room make readable, and what is to be sent. */
static void pump(sim_world_t *world)
{
	static uint8_t payload[SIM_FRAME_MAX];
	kxdp_tcp_input_t input;
	kxdp_tcp_tick(world->tcp, world->now);
	if (kxdp_tcp_next(world->tcp, &input)) {
		sim_server_read(world, &input);
	}
	kxdp_segment_t segment;
	uint32_t count = 0;
	while (count < world->emit_max &&
			kxdp_tcp_emit(world->tcp, world->now, payload, world->payload_max, &segment)) {
		if (segment.len > world->payload_max || (segment.len > 0 && segment.payload != payload)) {
			sim_fail(world, NULL, "payload isn't where it should be");
			return;
		}
		emitted(world, &segment);
		count++;
		if (count % 256 == 0 && kxdp_tcp_next(world->tcp, &input)) {
			sim_server_read(world, &input);
		}
		if (count > 10000000 || world->failure[0] != '\0') {
			sim_fail(world, NULL, "the stack sends without end");
			return;
		}
	}
	if (kxdp_tcp_next(world->tcp, &input)) {
		sim_server_read(world, &input);
	}
	/* Woken again and again without effect: a timer that is due and does nothing. */
	world->idle_wakes = world->batch == 0 && count == 0 ? world->idle_wakes + 1 : 0;
	world->batch = 0;
	if ((world->totals.segments_in & 15) == 0) {
		check_levels(world);
	}
	uint64_t next = kxdp_tcp_next_time(world->tcp);
	if (count == world->emit_max) {
		next = world->now + 20;
	}
	if (next <= world->now && world->idle_wakes > IDLE_WAKES_MAX) {
		sim_fail(world, NULL, "a timer is due at %" PRIu64 " us, again and again", next);
	}
	if (next != UINT64_MAX) {
		wake_at(world, next > world->now ? next : world->now);
	}
}

static void receive(sim_world_t *world, const kxdp_segment_t *segment)
{
	world->totals.segments_in++;
	world->batch++;
	kxdp_tcp_input_t input;
	if (kxdp_tcp_receive(world->tcp, segment, world->now, &input)) {
		sim_server_read(world, &input);
	}
	if (world->pump_delay_us == 0) {
		pump(world);
	} else {
		wake_at(world, world->now + world->pump_delay_us);
	}
}

static void to_server(sim_world_t *world, sim_client_t *client, const sim_packet_t *packet)
{
	static uint8_t payload[SIM_FRAME_MAX];
	kxdp_segment_t segment = {
		.flow = sim_flow(world, sim_slot(world, client)),
		.path = sim_path(world, client),
		.seq = packet->seq,
		.ack = packet->ack,
		.window = packet->window,
		.mss = packet->mss,
		.scale = packet->scale,
		.flags = packet->flags,
		.len = packet->len,
		.payload = packet->len > 0 ? payload : NULL,
		.ecn = packet->len & 3,
	};
	sim_stream_fill(packet->key, packet->off, payload, packet->len);
	trace_packet(world, client, "       -> stack", packet, true);
	sim_watch_delivery(world, client, packet);
	receive(world, &segment);
	memset(payload, 0xee, packet->len < 64 ? packet->len : 64); /* borrowed until here */
}

static void flood(sim_world_t *world)
{
	for (uint32_t i = 0; i < world->flood_per_ms; i++) {
		kxdp_segment_t segment = {
			.flow = { .remote = { [10] = 0xff, 0xff, 172, 16 },
					.local = { [10] = 0xff, 0xff, 10, 255, 0, 53 },
					.remote_port = (uint16_t)(1024 + sim_below(&world->random, 60000)),
					.local_port = SIM_SERVER_PORT },
			.path = path_of(0, 1500),
			.seq = (uint32_t)sim_random(&world->random),
			.window = 1024,
			.mss = 1460,
			.scale = -1,
			.flags = KXDP_TCP_SYN,
		};
		segment.flow.remote[14] = (uint8_t)sim_random(&world->random);
		segment.flow.remote[15] = (uint8_t)sim_random(&world->random);
		world->totals.floods++;
		receive(world, &segment);
	}
	if (world->running > 0 && world->now < FLOOD_TIME_US) {
		sim_schedule(world, world->now + 1000, SIM_FLOOD, 0);
	}
}

/* What the server does at its end, while clients are there; then it goes on. */
static void stop(sim_world_t *world)
{
	world->is_stopped = true;
	for (uint32_t i = 0; i < world->options->connections; i++) {
		world->clients[i].is_excused |= world->clients[i].state != SIM_UNBORN;
	}
	uint32_t emit_max = world->emit_max;
	world->emit_max = UINT32_MAX;
	kxdp_tcp_abort_all(world->tcp);
	pump(world);
	world->emit_max = emit_max;
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(world->tcp, &stats);
	if (stats.clients != 0 || stats.half_open != 0 || stats.inbuf != 0 || stats.outbuf != 0) {
		sim_fail(world, NULL, "after abort_all: %" PRIu64 " clients", stats.clients);
	}
}

/* The operator lowers the limits and takes that back. */
static void configure(sim_world_t *world)
{
	kxdp_tcp_limits_t limits = world->limits;
	limits.idle_close_us += SIM_SECOND;
	limits.idle_reset_us += SIM_SECOND;
	limits.clients_max += 10;
	kxdp_tcp_configure(world->tcp, &limits);
	kxdp_tcp_configure(world->tcp, &world->limits);
}

/* ---- the loop ---- */

static void handle(sim_world_t *world, const sim_event_t *event)
{
	sim_client_t *client = &world->clients[event->slot];
	switch (event->kind) {
	case SIM_START: sim_client_start(world, client); break;
	case SIM_CLIENT_TIMER: sim_client_timer(world, client); break;
	case SIM_TO_SERVER: to_server(world, client, &event->packet); break;
	case SIM_TO_CLIENT:
		trace_packet(world, client, "client <-      ", &event->packet, false);
		sim_client_receive(world, client, &event->packet);
		break;
	case SIM_SERVER_WAKE:
		if (event->time >= world->wake_scheduled) {
			world->wake_scheduled = UINT64_MAX;
		}
		pump(world);
		break;
	case SIM_FLOOD: flood(world); break;
	case SIM_CONFIGURE: configure(world); break;
	case SIM_STOP: stop(world); break;
	}
}

/* Nothing is left: levels are 0 and memory is what slabs keep. */
static void check_empty(sim_world_t *world)
{
	kxdp_tcp_stats_t stats;
	kxdp_tcp_stats(world->tcp, &stats);
	world->totals.resent += stats.resent;
	world->totals.cookies_good += stats.cookies_good;
	world->totals.greedy_dropped += world->has_greedy ? stats.dropped_outbuf : 0;
	if (world->has_greedy && world->options->connections >= 1000 && stats.dropped_outbuf == 0) {
		sim_fail(world, NULL, "greedy clients lost nothing");
	}
	if (stats.clients != 0 || stats.half_open != 0 || stats.time_wait != 0 || stats.inbuf != 0 ||
			stats.outbuf != 0) {
		sim_fail(world, NULL,
				"left behind: %" PRIu64 " clients, %" PRIu64 " half-open, %" PRIu64
				" in TIME-WAIT, %" PRIu64 " and %" PRIu64 " bytes",
				stats.clients, stats.half_open, stats.time_wait, stats.inbuf, stats.outbuf);
	}
	if (world->running > 0) {
		sim_fail(world, NULL, "%u clients are waiting for ever", world->running);
	}
	if (!world->is_pressed && !world->is_stopped && world->link.loss == 0 &&
			world->totals.ends[SIM_END_GIVEN_UP] > world->totals.kinds[SIM_BLACK_HOLE]) {
		sim_fail(world, NULL, "%" PRIu64 " connections given up without loss",
				world->totals.ends[SIM_END_GIVEN_UP]);
	}
}

static void run(sim_world_t *world)
{
	uint64_t last_start = 0;
	for (uint32_t i = 0; i < world->options->connections; i++) {
		sim_plan_client(world, &world->clients[i]);
		sim_schedule(world, last_start, SIM_START, i);
		last_start += sim_below(&world->random, 2 * START_GAP_US);
	}
	if (world->flood_per_ms > 0) {
		sim_schedule(world, 0, SIM_FLOOD, 0);
	}
	if (sim_chance(&world->random, 100000)) {
		sim_schedule(world, last_start / 2, SIM_STOP, 0);
	}
	if (sim_chance(&world->random, 300000)) {
		sim_schedule(world, last_start / 3, SIM_CONFIGURE, 0);
	}
	sim_event_t event;
	/* 10 MB through 20 % loss both ways are 2 kB/s: an hour and a half. */
	uint64_t end = last_start + 4 * 3600ull * SIM_SECOND;
	while (world->failure[0] == '\0' && sim_events_take(&world->events, &event)) {
		world->now = event.time;
		handle(world, &event);
		if (world->now > end) {
			sim_fail(world, NULL, "after four hours there is still something to do (%u clients)",
					world->running);
		}
	}
	if (world->failure[0] == '\0') {
		check_empty(world);
	}
}

static void add_totals(sim_totals_t *totals, const sim_totals_t *more)
{
	uint64_t *sums = (uint64_t *)totals;
	const uint64_t *values = (const uint64_t *)more;
	for (size_t i = 0; i < sizeof(*totals) / sizeof(uint64_t); i++) {
		bool is_level = (&sums[i] >= &totals->memory_max && &sums[i] <= &totals->outbuf_max) ||
				&sums[i] == &totals->honest_max_us;
		sums[i] = !is_level ? sums[i] + values[i] : values[i] > sums[i] ? values[i] : sums[i];
	}
}

bool sim_world_run(const sim_options_t *options, sim_totals_t *totals)
{
	sim_world_t world = { .options = options, .random = { options->seed }, .wake_scheduled = UINT64_MAX };
	sim_plan_world(&world);
	world.clients = calloc(options->connections, sizeof(world.clients[0]));
	uint8_t key[KXDP_TCP_KEY_LEN];
	sim_stream_fill(sim_random(&world.random), 0, key, sizeof(key));
	if (world.clients == NULL || kxdp_tcp_new(&world.limits, key, 0, &world.tcp) != KNOT_OK) {
		sim_fail(&world, NULL, "no memory");
	} else {
		run(&world);
	}
	kxdp_tcp_free(world.tcp);
	sim_events_done(&world.events);
	free(world.clients);
	add_totals(totals, &world.totals);
	if (world.failure[0] != '\0') {
		printf("%s\n", world.failure);
	}
	return world.failure[0] == '\0';
}
