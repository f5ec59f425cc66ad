/* SPDX-License-Identifier: BSD-2-Clause */
/* What is chosen from the seed: the world's limits and link, and what each client does. */
#include "tests/sim/tcp_world.h"

enum {
	/* Longest total time that segments of one byte, tiny windows and the like may take, in round trips. */
	ROUNDS_MAX = 200,
	SMALL_SEGMENTS_MAX = 300, /* of less than 536 bytes, per connection */
	MESSAGE_MAX = 65537,
};

/* How often each kind is chosen, of 1000. */
static const uint16_t kind_weights[SIM_KIND_COUNT] = {
	[SIM_SINGLE] = 435,
	[SIM_SEQUENTIAL] = 60,
	[SIM_PIPELINED] = 70,
	[SIM_DRIP] = 15,
	[SIM_UPLOAD] = 15,
	[SIM_BIG] = 30,
	[SIM_STREAM] = 1,
	[SIM_SLOW] = 20,
	[SIM_SHRINK] = 10,
	[SIM_HALF_CLOSE] = 60,
	[SIM_SILENT] = 40,
	[SIM_CLOSE_EARLY] = 35,
	[SIM_RESET] = 35,
	[SIM_VANISH] = 34,
	[SIM_IDLE] = 20,
	[SIM_SERVER_CLOSE] = 30,
	[SIM_SIMULTANEOUS] = 30,
	[SIM_SERVER_ABORT] = 10,
	[SIM_REOPEN] = 30,
	[SIM_BLACK_HOLE] = 5,
	[SIM_HOSTILE] = 15,
	[SIM_GREEDY] = 0,
};

static uint32_t pick(sim_random_t *random, const uint32_t *values, size_t count)
{
	return values[sim_below(random, count)];
}

static void plan_pressure(sim_world_t *world)
{
	sim_random_t *random = &world->random;
	kxdp_tcp_limits_t *limits = &world->limits;
	switch (sim_below(random, 9)) {
	case 0: /* few half-open connections, and forged SYNs that take them */
		world->has_cookies = true;
		limits->half_open_max = (uint32_t)sim_between(random, 1, 64);
		world->flood_per_ms = (uint32_t)sim_between(random, 1, 20);
		break;
	case 1: /* only cookies */
		world->has_cookies = true;
		limits->half_open_max = 0;
		break;
	case 2: /* too many clients: a full table answers with cookies, too */
		world->is_pressed = world->has_cookies = true;
		limits->clients_max = (uint32_t)sim_between(random, 50, 400);
		limits->half_open_max = limits->clients_max;
		break;
	case 3: /* too little memory */
		world->is_pressed = true;
		limits->inbuf_max = sim_between(random, 10000, 200000);
		limits->outbuf_max = sim_between(random, 4 * MESSAGE_MAX, 1000000);
		limits->out_source_max = limits->outbuf_max / 2;
		break;
	case 4: /* many clients of one address: more than one address may have */
		world->is_pressed = true;
		world->per_address = 64;
		limits->per_source_max = (uint32_t)sim_between(random, 4, 32);
		break;
	case 5: /* most sources are greedy, be it a few with many connections each, or many */
		world->has_greedy = world->is_pressed = true;
		world->per_address = pick(random, (const uint32_t[]){ 4, 16, 64, 512 }, 4);
		limits->inbuf_max = limits->outbuf_max = sim_between(random, 1 << 20, 8 << 20);
		limits->in_source_max = limits->out_source_max = sim_between(random, 2 * MESSAGE_MAX, 1 << 19);
		break;
	default: break;
	}
}

/* Only the greedy clients make others wait. */
static void plan_greedy_world(sim_world_t *world)
{
	uint32_t loss = world->link.loss;
	world->link = (sim_link_t){ .loss = loss };
	world->emit_max = 1000000;
	world->room_wanted = MESSAGE_MAX;
}

void sim_plan_world(sim_world_t *world)
{
	sim_random_t *random = &world->random;
	static const uint32_t mtus[] = { 1500, 1500, 1500, 9000, 1280, 3000 };
	world->limits = (kxdp_tcp_limits_t){
		.clients_max = 1000000,
		.half_open_max = 100000,
		.inbuf_max = 1ull << 30,
		.outbuf_max = 4ull << 30,
		.idle_close_us = 10 * SIM_SECOND,
		.idle_reset_us = 20 * SIM_SECOND,
		.resend_us = 5 * SIM_SECOND,
		.resets_max = 1000000,
		.mtu = (uint16_t)pick(random, mtus, KNOT_LEN(mtus)),
	};
	world->per_address = sim_chance(random, 500000) ? 1 : 16;
	plan_pressure(world);
	world->link = (sim_link_t){ .loss = world->options->loss };
	if (sim_chance(random, 700000)) {
		world->link.duplicate = (uint32_t)sim_below(random, 30000);
		world->link.reorder = (uint32_t)sim_below(random, 50000);
		world->link.corrupt = (uint32_t)sim_below(random, 3000);
		/* With cookies an old ACK may well open a connection again (RFC 4987 3.6): that proves nothing. */
		world->link.replay = world->has_cookies ? 0 : (uint32_t)sim_below(random, 3000);
	}
	world->pump_delay_us = sim_chance(random, 500000) ? 0 : (uint32_t)sim_between(random, 1, 200);
	world->emit_max = sim_chance(random, 700000) ? 1000000 : (uint32_t)sim_between(random, 1, 64);
	world->payload_max = sim_chance(random, 800000) ? SIM_FRAME_MAX : 1460;
	world->room_wanted = sim_chance(random, 500000) ? 0 : MESSAGE_MAX;
	if (world->has_greedy) {
		plan_greedy_world(world);
	}
}

static void plan_options(sim_world_t *world, sim_plan_t *plan)
{
	sim_random_t *random = &world->random;
	static const uint32_t msss[] = { 0, 0, 536, 536, 1400, 9000, 9000, 65535 };
	static const uint32_t mtus[] = { 0, 0, 0, 0, 576, 1280, 1500 };
	plan->is_v6 = sim_chance(random, 400000);
	plan->delays_acks = sim_chance(random, 600000);
	plan->fin_apart = sim_chance(random, 500000);
	plan->mss = sim_chance(random, 700000) ? 1460 : (uint16_t)pick(random, msss, KNOT_LEN(msss));
	if (sim_chance(random, 20000)) {
		plan->mss = (uint16_t)(sim_chance(random, 300000) ? 1 : sim_between(random, 2, 535));
	}
	plan->scale = sim_chance(random, 300000) ? -1 : (int8_t)sim_below(random, 15);
	uint32_t field = sim_chance(random, 500000) ? 65535 : (uint32_t)sim_between(random, 536, 65535);
	uint64_t buffer = (uint64_t)field << (plan->scale > 0 ? plan->scale : 0);
	plan->buffer = (uint32_t)(buffer < 1u << 30 ? buffer : 1u << 30);
	plan->path_mtu = (uint16_t)pick(random, mtus, KNOT_LEN(mtus));
	if (plan->path_mtu == 0 || plan->path_mtu > world->limits.mtu) {
		plan->path_mtu = world->limits.mtu;
	}
	if (plan->is_v6 && plan->path_mtu < 1280) {
		plan->path_mtu = 1280;
	}
	plan->delay_us = (uint32_t)(sim_chance(random, 500000) ? sim_between(random, 20, 2000)
							       : sim_between(random, 2000, 100000));
	plan->jitter_us = sim_chance(random, 500000) ? 0 : (uint32_t)sim_below(random, plan->delay_us);
	plan->isn = (uint32_t)sim_random(random);
	if (sim_chance(random, 100000)) {
		plan->isn = 0u - (uint32_t)sim_below(random, 2000); /* wraps soon */
	}
	plan->incarnations = 1;
	plan->hole = 65535;
}

/* The longest reply of `count` that windows and segments let through in bearable time. */
static uint32_t affordable(const sim_plan_t *plan, uint32_t count, uint32_t wanted)
{
	uint64_t mss = plan->mss == 0 ? 536 : plan->mss;
	uint64_t window = plan->buffer < mss * 40 ? plan->buffer : mss * 40;
	uint64_t most = window * ROUNDS_MAX;
	if (mss * SMALL_SEGMENTS_MAX < most && mss < 536) {
		most = mss * SMALL_SEGMENTS_MAX;
	}
	if (mss >= 536 && most < 10000) {
		most = 10000;
	}
	most = most / count + 1;
	return wanted < most ? wanted : (uint32_t)most;
}

static void plan_messages(
		sim_world_t *world, sim_plan_t *plan, uint32_t count, uint32_t request_max, uint32_t reply_max)
{
	plan->message_count = count;
	plan->request_min = request_max < 14 ? request_max : 14;
	plan->request_max = request_max;
	plan->reply_min = reply_max < 14 ? reply_max : 14;
	plan->reply_max = affordable(plan, count, reply_max);
	if (plan->reply_min > plan->reply_max) {
		plan->reply_min = plan->reply_max;
	}
	(void)world;
}

static void plan_kind(sim_world_t *world, sim_plan_t *plan)
{
	sim_random_t *random = &world->random;
	uint32_t count = (uint32_t)sim_between(random, 1, 5);
	/* Before, while and after it opens. */
	uint64_t some_time = sim_below(random, 8ull * plan->delay_us + 2000);
	plan->event_us = UINT64_MAX;
	plan_messages(world, plan, 1, 300, 1500);
	switch (plan->kind) {
	case SIM_SINGLE: break;
	case SIM_SEQUENTIAL: plan_messages(world, plan, (uint32_t)sim_between(random, 2, 20), 300, 1500); break;
	case SIM_PIPELINED: plan_messages(world, plan, (uint32_t)sim_between(random, 2, 200), 100, 600); break;
	case SIM_DRIP:
		plan_messages(world, plan, count > 2 ? 2 : count, 60, 600);
		plan->chunk = 1;
		plan->pause_us = (uint32_t)sim_between(random, 1, 3000);
		break;
	case SIM_UPLOAD:
		plan_messages(world, plan, 1, 65537, 1500);
		plan->request_min = 2000;
		break;
	case SIM_BIG: plan_messages(world, plan, count > 3 ? 3 : count, 300, 65537); break;
	case SIM_STREAM:
		plan_messages(world, plan, 1, 100, (uint32_t)sim_between(random, 200000, 10000000));
		plan->reply_min = plan->reply_max;
		break;
	case SIM_SLOW:
	case SIM_SHRINK:
		plan->scale = (int8_t)sim_between(random, 0, 3);
		plan->buffer = (uint32_t)sim_between(random, 536, 20000);
		plan_messages(world, plan, count, 300, 30000);
		plan->read_chunk = (uint32_t)sim_between(random, 200, 30000);
		plan->pause_us = (uint32_t)sim_between(random, 1000, 4000000);
		if (plan->pause_us > 100000 && plan->read_chunk < 3000) {
			plan->read_chunk = 3000;
		}
		break;
	case SIM_HALF_CLOSE: plan_messages(world, plan, (uint32_t)sim_between(random, 1, 50), 300, 1500); break;
	case SIM_SILENT: plan->message_count = 0; break;
	case SIM_CLOSE_EARLY:
	case SIM_RESET:
	case SIM_VANISH:
		plan_messages(world, plan, count, 300, sim_chance(random, 200000) ? 60000 : 3000);
		plan->event_us = some_time;
		break;
	case SIM_IDLE:
	case SIM_SERVER_ABORT: break;
	case SIM_SERVER_CLOSE:
	case SIM_SIMULTANEOUS: plan_messages(world, plan, count, 300, 3000); break;
	case SIM_REOPEN:
		/* With cookies an old segment that comes late opens a connection again, in the way of the next one. */
		plan->incarnations = (uint8_t)(world->has_cookies ? 1 : sim_between(random, 2, 6));
		/* Through windows of megabytes old segments get in (RFC 7323 5): that is not a fault. */
		plan->scale = (int8_t)sim_between(random, 0, 2);
		plan->buffer = plan->buffer < 100000 ? plan->buffer : 100000;
		plan_messages(world, plan, count, 300, 3000);
		break;
	case SIM_BLACK_HOLE:
		plan->hole = plan->is_v6 ? 1280 : 576;
		plan_messages(world, plan, 1, 300, 20000);
		plan->reply_min = plan->reply_max;
		break;
	case SIM_HOSTILE: plan_messages(world, plan, count, 300, 20000); break;
	case SIM_GREEDY:
		plan->scale = 0;
		plan->mss = 1460;
		plan->buffer = (uint32_t)sim_between(random, 536, 8000);
		plan_messages(world, plan, (uint32_t)sim_between(random, 1, 8), 60, MESSAGE_MAX);
		plan->reply_max = MESSAGE_MAX;
		plan->reply_min = sim_chance(random, 500000) ? 60000 : 500;
		plan->read_chunk = sim_chance(random, 800000) ? 1 : 3000; /* nothing, or next to nothing */
		plan->pause_us = plan->read_chunk == 1 ? 1000 * SIM_SECOND : 300000;
		plan->event_us = sim_between(random, 1, 30) * SIM_SECOND;
		break;
	case SIM_KIND_COUNT: break;
	}
}

void sim_plan_client(sim_world_t *world, sim_client_t *client)
{
	sim_plan_t *plan = &client->plan;
	*plan = (sim_plan_t){ 0 };
	unsigned at = (unsigned)sim_below(&world->random, 1000), kind = 0;
	while (kind + 1 < SIM_KIND_COUNT && at >= kind_weights[kind]) {
		at -= kind_weights[kind++];
	}
	plan->kind = (sim_kind_t)kind;
	if (world->has_greedy) {
		bool is_honest = sim_slot(world, client) / world->per_address % 4 == 3;
		plan->kind = is_honest ? SIM_SINGLE : SIM_GREEDY;
	}
	plan_options(world, plan);
	plan_kind(world, plan);
	if (world->has_greedy && plan->kind != SIM_GREEDY) {
		plan->mss = 1460;
		plan->scale = -1;
		plan->buffer = 65535;
		plan->path_mtu = world->limits.mtu;
	}
	world->totals.kinds[plan->kind]++;
}

bool sim_is_honest(const sim_world_t *world, const sim_client_t *client)
{
	return world->has_greedy && !world->is_stopped && world->link.loss == 0 && client->plan.kind != SIM_GREEDY;
}

static uint32_t message_len(const sim_client_t *client, uint64_t which, uint32_t low, uint32_t high)
{
	return low + (uint32_t)(sim_mix(client->key ^ which * 0x9e3779b97f4a7c15u) % (high - low + 1u));
}

uint32_t sim_request_len(const sim_client_t *client, uint32_t message)
{
	return message_len(client, 2 * (uint64_t)message + 1, client->plan.request_min, client->plan.request_max);
}

uint32_t sim_reply_len(const sim_client_t *client, uint32_t message)
{
	return message_len(client, 2 * (uint64_t)message + 2, client->plan.reply_min, client->plan.reply_max);
}

void sim_plan_incarnation(sim_world_t *world, sim_client_t *client)
{
	uint8_t next = (uint8_t)(client->state == SIM_UNBORN ? 0 : client->incarnation + 1);
	uint32_t iss = next == 0 ? client->plan.isn
				 : client->iss + client->max + 1000000 + (uint32_t)sim_below(&world->random, 1000000);
	sim_plan_t plan = client->plan;
	*client = (sim_client_t){ .plan = plan, .incarnation = next, .iss = iss };
	client->key = sim_random(&world->random);
	client->start_time = world->now;
	for (uint32_t i = 0; i < plan.message_count; i++) {
		client->total_in += sim_request_len(client, i);
		client->total_out += sim_reply_len(client, i);
	}
	client->resend_time = client->ack_time = client->app_time = client->event_time = client->end_wait_time =
			UINT64_MAX;
	client->timer_scheduled = UINT64_MAX;
	client->is_excused = plan.kind == SIM_HOSTILE || plan.kind == SIM_GREEDY;
}
