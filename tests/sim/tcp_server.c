/* SPDX-License-Identifier: BSD-2-Clause */
/* The application above the stack: requests are read and checked, replies written as far as there is room. */
#include "tests/sim/tcp_world.h"

enum { STREAM_CHUNK = 16384 };

static void close_server(sim_world_t *world, sim_client_t *client)
{
	sim_trace(world, client, "server closes");
	client->app_closed = true;
	kxdp_tcp_close(world->tcp, client->conn);
}

static void abort_server(sim_world_t *world, sim_client_t *client, kxdp_tcp_conn_t conn)
{
	sim_trace(world, client, "server aborts");
	client->is_excused = true;
	kxdp_tcp_abort(world->tcp, conn);
	if (kxdp_tcp_room(world->tcp, conn) != 0 || kxdp_tcp_write(world->tcp, conn, (const uint8_t *)"x", 1)) {
		sim_fail(world, client, "a connection that was aborted takes bytes");
	}
}

/* Writes what there is room for of the reply to the message that is next. True: all of it. */
static bool write_reply(sim_world_t *world, sim_client_t *client)
{
	static uint8_t bytes[65537];
	uint32_t len = sim_reply_len(client, client->served);
	if (client->plan.kind != SIM_STREAM &&
			kxdp_tcp_room(world->tcp, client->conn) < (world->room_wanted > 0 ? world->room_wanted : len)) {
		return false;
	}
	while (client->reply_done < len) {
		uint32_t count = len - client->reply_done;
		if (client->plan.kind == SIM_STREAM) {
			size_t room = kxdp_tcp_room(world->tcp, client->conn);
			count = count < STREAM_CHUNK ? count : STREAM_CHUNK;
			if (room < count) {
				return false;
			}
		}
		sim_stream_fill(~client->key, client->reply_off, bytes, count);
		if (!kxdp_tcp_write(world->tcp, client->conn, bytes, count)) {
			sim_fail(world, client, "no room for %u bytes, although there was", count);
			return false;
		}
		client->reply_off += count;
		client->reply_done += count;
	}
	client->reply_done = 0;
	return true;
}

/* True: the connection is the one that this client's bytes belong to. */
static bool is_known(sim_world_t *world, sim_client_t *client, kxdp_tcp_conn_t conn)
{
	if (conn == 0) {
		sim_fail(world, client, "connection 0");
		return false;
	}
	if (client->conn == 0 && client->state != SIM_UNBORN && client->watch.is_synced) {
		client->conn = conn;
		client->kept = 0;
	}
	return client->conn == conn;
}

/* Bytes of a connection that isn't (any more): an earlier use of the ports, or an ACK that was a cookie once more. */
static void refuse_ghost(sim_world_t *world, sim_client_t *client, const kxdp_tcp_input_t *input)
{
	if (client != NULL && client->plan.incarnations == 1 && !client->is_excused && !world->has_cookies &&
			!world->is_pressed && !world->is_stopped) {
		sim_fail(world, client, "%zu bytes of a second connection", input->len);
	}
	kxdp_tcp_consume(world->tcp, input->conn, input->len);
	kxdp_tcp_abort(world->tcp, input->conn);
}

static bool is_as_sent(sim_world_t *world, sim_client_t *client, const uint8_t *bytes, size_t len)
{
	size_t same = sim_stream_same(client->key, client->served_off, bytes, len);
	/* A segment that came first passed for the one that brings the cookie back: once in some hundred thousand
	 * cases. */
	if (same == 0 && client->served_off == 0 && world->has_cookies && world->lucky_cookies++ == 0) {
		return false;
	}
	if (same < len && !client->is_excused) {
		sim_fail(world, client, "byte %zu of the requests is wrong", client->served_off + same);
	}
	return same == len;
}

/* The server's own reasons to close, after the replies. */
static void close_as_planned(sim_world_t *world, sim_client_t *client, bool is_at_end)
{
	bool is_served = client->served == client->plan.message_count;
	bool closes_first = client->plan.kind == SIM_SERVER_CLOSE || client->plan.kind == SIM_SIMULTANEOUS;
	if (!client->app_closed && (is_at_end || (closes_first && is_served))) {
		close_server(world, client);
	}
}

static void answer(sim_world_t *world, sim_client_t *client, const kxdp_tcp_input_t *input)
{
	size_t used = 0;
	bool is_wrong = false, waits = false;
	if (input->len < client->kept) {
		sim_fail(world, client, "%u bytes were kept, %zu came again", client->kept, input->len);
	}
	while (client->served < client->plan.message_count && !waits && !is_wrong) {
		uint32_t len = sim_request_len(client, client->served);
		if (input->len - used < len) {
			break;
		}
		is_wrong = !is_as_sent(world, client, input->data + used, len);
		waits = is_wrong || client->app_closed || !write_reply(world, client);
		if (!waits) {
			used += len;
			client->served_off += len;
			client->served++;
			sim_watch_progress(world, client);
		}
	}
	if (client->served == client->plan.message_count && input->len > used) {
		if (!client->is_excused) {
			sim_fail(world, client, "%zu bytes more than were sent", input->len - used);
		}
		is_wrong = true;
	}
	client->kept = (uint32_t)(input->len - used);
	kxdp_tcp_consume(world->tcp, client->conn, used);
	world->totals.bytes_in += used;
	if (is_wrong || (client->plan.kind == SIM_SERVER_ABORT && client->served > 0)) {
		abort_server(world, client, client->conn);
		return;
	}
	/* The rest of a request that the FIN cut off never comes. */
	close_as_planned(world, client, input->fin && !waits);
}

void sim_server_read(sim_world_t *world, kxdp_tcp_input_t *input)
{
	unsigned rounds = 0;
	do {
		uint32_t slot = sim_slot_of(world, &input->flow);
		sim_client_t *client = slot == UINT32_MAX ? NULL : &world->clients[slot];
		if (client == NULL) {
			sim_fail(world, NULL, "bytes of a client that there isn't");
		}
		if (client != NULL && is_known(world, client, input->conn)) {
			sim_trace(world, client, "server reads %zu bytes%s", input->len, input->fin ? ", the end" : "");
			answer(world, client, input);
		} else {
			refuse_ghost(world, client, input);
		}
		if (++rounds > 1000000) {
			sim_fail(world, client, "the stack offers input without end");
			return;
		}
	} while (kxdp_tcp_next(world->tcp, input));
}
