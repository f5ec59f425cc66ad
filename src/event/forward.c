/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/forward.h"

#include "libknot/msg/rcode.h"
#include "src/sys/log.h"

#include <stdlib.h>
#include <string.h>

/* A request on its way to the primary. */
typedef struct {
	remote_request_t base; /* first */
	server_t *server;
	conf_t *conf;             /* owned: a hold, for the remote and its key */
	update_request_t *update; /* owned until it is answered */
	uint8_t *reply;           /* owned: of a foreign one, what the primary said */
	uint8_t zone[KNOT_NAME_MAX];
} forward_t;

/* ---- The end ---- */

static void forward_log(const forward_t *forward, int level, knot_err_t err)
{
	conf_remote_t remote = *forward->base.remote;
	char peer[REMOTE_PEER_TEXT_MAX];
	if (forward->update->is_foreign) {
		remote.key.count = 0; /* it wasn't signed with it */
	}
	remote_print_peer(&remote, forward->base.address, " TCP", peer);
	bool is_ok = err == KNOT_OK;
	log_zone(level, forward->base.query.zone, "DDNS, outgoing, %s%s%s%s", peer,
			is_ok ? "successfully forwarded" : "failed to forward updates (",
			is_ok ? "" : knot_strerror(err), is_ok ? "" : ")");
}

/* Answer the client, and free it. */
static void forward_finish(forward_t *take_forward)
{
	update_list_t list = { .first = take_forward->update, .count = 1 };
	updates_answer(&take_forward->server->updates, &list);
	conf_free(take_forward->conf);
	free(take_forward->reply);
	free(take_forward);
}

/* ---- Asking ---- */

static remote_verdict_t forward_on_message(remote_request_t *request, knot_bytes_t message)
{
	forward_t *forward = (forward_t *)request;
	update_request_t *update = forward->update;
	update->rcode = load_be16(message.data + 2) & KNOT_RCODE_MASK;
	if (update->is_foreign && (forward->reply = malloc(message.len)) != NULL) {
		memcpy(forward->reply, message.data, message.len);
		update->reply = (knot_bytes_t){ forward->reply, message.len };
	}
	return REMOTE_DONE;
}

/* Ask the next address if this one failed. */
static void forward_on_end(remote_request_t *request, knot_err_t err)
{
	forward_t *forward = (forward_t *)request;
	while (err != KNOT_OK && err != KNOT_ESTOPPED && request->address + 1u < request->remote->addresses.count) {
		request->address++;
		err = remote_ask(forward->server->remote, request);
		if (err == KNOT_OK) {
			return; /* it may have ended already */
		}
	}
	if (err != KNOT_OK) {
		forward->update->rcode = KNOT_RCODE_SERVFAIL;
		forward->update->reply = (knot_bytes_t){ NULL, 0 };
	}
	forward_log(forward, err == KNOT_OK ? LOG_INFO : LOG_ERR, err);
	forward_finish(forward);
}

static void forward_one(server_t *server, conf_t *conf, const conf_remote_t *remote, knot_name_t zone,
		update_request_t *take_update)
{
	forward_t *forward = calloc(1, sizeof(*forward));
	update_list_t list = { .first = take_update, .count = 1 };
	if (forward == NULL) {
		take_update->rcode = KNOT_RCODE_SERVFAIL;
		updates_answer(&server->updates, &list);
		return;
	}
	memcpy(forward->zone, zone.wire, zone.len);
	forward->server = server;
	forward->conf = conf_hold(conf);
	forward->update = take_update;
	forward->base = (remote_request_t){
		.query = { .opcode = KNOT_OPCODE_UPDATE,
				.type = KNOT_TYPE_SOA,
				.zone = { forward->zone, zone.len, zone.label_count },
				.message = take_update->message,
				.is_foreign = take_update->is_foreign },
		.remote = remote,
		.on_message = forward_on_message,
		.on_end = forward_on_end,
	};
	knot_err_t err = remote_ask(server->remote, &forward->base);
	if (err != KNOT_OK) {
		forward_on_end(&forward->base, err);
	}
}

/* Where updates of a zone are forwarded to; NULL: they aren't. */
static const conf_remote_t *forward_remote_of(const state_t *state, knot_name_t name)
{
	conf_zone_t zone;
	if (!state_settings(state, name, &zone)) {
		return NULL;
	}
	bool is_off = zone.ddns_master.data != NULL && zone.ddns_master.count == 0;
	if (zone.master.count == 0 || is_off) {
		return NULL;
	}
	const conf_group_t *group = zone.ddns_master.count > 0 ? zone.ddns_master.data[0] : zone.master.data[0];
	return group->count > 0 ? group->remotes[0] : NULL;
}

bool forward_updates(server_t *server, knot_name_t zone, update_list_t *list)
{
	conf_t *conf = NULL;
	const conf_remote_t *remote;
	{
		RCU_READ_SECTION(guard);
		const state_t *state = state_load(&server->root, guard);
		remote = forward_remote_of(state, zone);
		conf = remote != NULL ? conf_hold(state->conf) : NULL;
	}
	if (remote == NULL) {
		return false;
	}
	log_zone(LOG_INFO, zone, "DDNS, forwarding %zu updates", list->count);
	for (update_request_t *next, *update = list->first; update != NULL; update = next) {
		next = update->next;
		update->next = NULL;
		forward_one(server, conf, remote, zone, update);
	}
	*list = (update_list_t){ .first = NULL };
	conf_free(conf);
	return true;
}
