/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/load/quic_lane.h"

#include <stdio.h>
#include <time.h>

enum { NEXT_PER_TURN = 8 }; /* a handshake is work: replies must not wait for many */

quic_client_t *quic_lane_new_client(lane_t *lane, uint32_t ports)
{
	const gun_t *gun = lane->gun;
	const quic_client_params_t params = {
		.mode = gun->options->mode,
		.full_handshakes = gun->options->full_handshakes,
		.conns = gun->clients < ports ? gun->clients : ports,
		.ports = ports,
		.qlog_dir = gun->options->qlog_dir,
	};
	quic_client_t *client = quic_client_new(&lane->worker, &params);
	if (client == NULL) {
		snprintf(lane->error, sizeof(lane->error), "not enough memory");
	}
	return client;
}

quic_lane_turn_t quic_lane_begin_turn(lane_t *lane, quic_client_t *client, uint64_t *io_last_ns)
{
	const gun_t *gun = lane->gun;
	uint64_t now_ns = gun_now(gun);
	quic_lane_turn_t turn = { .phase = lane_phase(lane, now_ns, io_last_ns) };
	if (lane->worker.chains != NULL) {
		lane->worker.now_s = (uint64_t)time(NULL);
	}
	if (turn.phase != LANE_SENDS) {
		quic_client_finish(client, turn.phase == LANE_RECEIVES, now_ns);
	}
	while (turn.phase == LANE_SENDS && turn.begun < NEXT_PER_TURN && worker_due(&lane->worker) <= now_ns &&
			quic_client_next(client, now_ns)) {
		turn.begun++;
		now_ns = gun_now(gun);
	}
	quic_client_expire(client, gun_now(gun));
	return turn;
}

bool quic_lane_is_over(const quic_client_t *client, const quic_lane_turn_t *turn)
{
	return turn->phase == LANE_ENDS || (turn->phase == LANE_RECEIVES && quic_client_open_count(client) == 0);
}

uint64_t quic_lane_sleep_ns(const lane_t *lane, const quic_client_t *client)
{
	const uint64_t now_ns = gun_now(lane->gun), deadline_ns = quic_client_deadline_ns(client);
	const uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	const uint64_t sleep_ns = lane_sleep_ns(lane, now_ns);
	return left_ns < sleep_ns ? left_ns : sleep_ns;
}
