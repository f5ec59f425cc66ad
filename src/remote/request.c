/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/remote/request.h"

#include <stdio.h>
#include <string.h>

#include "src/conf/conf.h"

const knot_tsig_key_t *remote_key(const conf_remote_t *remote)
{
	return remote->key.count > 0 ? &remote->key.data[0]->tsig : NULL;
}

void remote_print_peer(const conf_remote_t *remote, unsigned address, const char *transport,
		char ret_text[static REMOTE_PEER_TEXT_MAX])
{
	char addr[CONF_ADDR_TEXT_MAX], name[KNOT_NAME_TEXT_MAX] = "";
	const conf_addr_t *at = &remote->addresses.data[address];
	const knot_tsig_key_t *key = remote_key(remote);
	if (key != NULL) {
		(void)knot_name_print(key->name, name);
	}
	snprintf(ret_text, REMOTE_PEER_TEXT_MAX, "remote %s%s, %s%.300s%s", conf_addr_print(at, addr),
			at->ss.ss_family != AF_UNIX ? transport : "", key != NULL ? "key " : "", name,
			key != NULL ? ", " : "");
}

const knot_tsig_key_t *remote_request_key(const remote_request_t *request)
{
	return request->query.is_foreign ? NULL : remote_key(request->remote);
}

size_t remote_query_max(const remote_query_t *query)
{
	size_t max = REMOTE_QUERY_MAX + query->message.len;
	return max < KNOT_MSG_MAX ? max : KNOT_MSG_MAX;
}

const conf_addr_t *remote_via(const conf_remote_t *remote, unsigned address)
{
	const conf_addr_t *found = NULL;
	sa_family_t family = remote->addresses.data[address].ss.ss_family;
	for (size_t i = 0; i < remote->via.count && i <= address; i++) {
		if (remote->via.data[i].ss.ss_family == family) {
			found = &remote->via.data[i];
		}
	}
	return found;
}

static knot_err_t request_put_soa(knot_msg_writer_t *w, const remote_query_t *query)
{
	knot_section_t section = query->opcode == KNOT_OPCODE_NOTIFY ? KNOT_SECTION_ANSWER : KNOT_SECTION_AUTHORITY;
	return query->soa.len == 0 ? KNOT_OK
				   : knot_msg_put_rr(w, section, query->zone, KNOT_TYPE_SOA, KNOT_CLASS_IN,
						     query->soa_ttl, query->soa);
}

enum { EDNS_DO = 0x8000 };

static knot_err_t request_put_edns(knot_msg_writer_t *w, const remote_query_t *query)
{
	if (!query->has_edns) {
		return KNOT_OK;
	}
	knot_err_t err = knot_msg_put_opt(w, REMOTE_PAYLOAD, 0, 0, query->wants_signatures ? EDNS_DO : 0);
	if (err == KNOT_OK && query->reports.len > 0) {
		err = knot_msg_put_option(
				w, KNOT_EDNS_REPORT_CHANNEL, (knot_bytes_t){ query->reports.wire, query->reports.len });
	}
	return err == KNOT_OK && query->has_expire
			       ? knot_msg_put_option(w, KNOT_EDNS_EXPIRE, (knot_bytes_t){ .len = 0 })
			       : err;
}

/* A message that is there already, in place of the writer's. */
static knot_err_t request_put_message(knot_msg_writer_t *w, const remote_query_t *query, uint16_t id)
{
	knot_bytes_t message = query->message;
	if (message.len > w->max) {
		return KNOT_ESPACE;
	}
	memcpy(w->data, message.data, message.len);
	store_be16(w->data, id);
	w->len = message.len;
	for (unsigned i = 0; i < KNOT_LEN(w->counts); i++) {
		w->counts[i] = load_be16(w->data + 4 + 2 * (size_t)i);
	}
	return KNOT_OK;
}

knot_err_t remote_query_write(const remote_query_t *query, uint16_t id, const knot_tsig_key_t *key, uint64_t now_s,
		knot_mut_bytes_t room, knot_tsig_chain_t *chain, size_t *ret_len)
{
	knot_msg_writer_t w;
	knot_msg_begin(&w, room);
	if (query->message.len > 0) {
		knot_err_t err = request_put_message(&w, query, id);
		*ret_len = w.len;
		if (err != KNOT_OK || key == NULL) {
			return err;
		}
		knot_tsig_chain_begin(chain, key);
		return knot_tsig_sign(chain, &w, now_s, ret_len);
	}
	uint16_t flags = (uint16_t)((unsigned)query->opcode << 11);
	flags |= query->opcode == KNOT_OPCODE_NOTIFY ? KNOT_FLAG_AA : 0;
	flags |= query->is_recursive ? KNOT_FLAG_RD : 0;
	knot_err_t err = knot_msg_put_question(&w, query->zone, query->type, KNOT_CLASS_IN);
	err = err == KNOT_OK ? request_put_soa(&w, query) : err;
	err = err == KNOT_OK ? request_put_edns(&w, query) : err;
	if (err != KNOT_OK) {
		return err;
	}
	*ret_len = knot_msg_finish(&w, id, flags);
	if (key == NULL) {
		return KNOT_OK;
	}
	knot_tsig_chain_begin(chain, key);
	return knot_tsig_sign(chain, &w, now_s, ret_len);
}
