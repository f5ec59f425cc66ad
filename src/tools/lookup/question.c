/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/lookup/question.h"

#include "libknot/base/encode.h"
#include "libknot/msg/writer.h"

#include <stdlib.h>
#include <sys/random.h>

enum { QUESTION_FLAG_DO = 0x8000, QUESTION_FLAG_DE = 0x4000 };

bool lookup_question_name(const lookup_query_t *query, uint8_t ret_wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	char reverse[80];
	const char *text = query->name;
	if (query->is_reverse) {
		if (!lookup_reverse(text, reverse)) {
			return false;
		}
		text = reverse;
	}
	text = strcmp(text, "@") == 0 ? "\\@" : text; /* a name; only in zone files it is the origin */
	return knot_name_scan(knot_str_of(text), knot_name_root, ret_wire, ret_name) == KNOT_OK;
}

/* ---- EDNS ---- */

bool lookup_has_edns(const lookup_query_t *query)
{
	return query->edns >= 0 || query->bufsize > 0 || query->wants_nsid || query->wants_expire ||
	       query->wants_zoneversion || query->flag_do || query->flag_de || query->has_subnet || query->has_cookie ||
	       query->option_count > 0 || query->padding > LOOKUP_PAD_NEVER ||
	       (query->padding == LOOKUP_PAD_AUTO && query->padding_block > 0);
}

void lookup_draw(void *ret_bytes, size_t len)
{
	if (getrandom(ret_bytes, len, 0) != (ssize_t)len) {
		abort();
	}
}

static knot_err_t question_put_cookie(knot_msg_writer_t *w, const lookup_query_t *query, knot_bytes_t server_cookie,
		lookup_question_t *question)
{
	uint8_t cookie[LOOKUP_COOKIE_CLIENT_LEN + LOOKUP_COOKIE_SERVER_MAX];
	size_t len = query->cookie_len;
	memcpy(cookie, query->cookie, len);
	if (server_cookie.len > 0) {
		len = server_cookie.len;
		memcpy(cookie, server_cookie.data, len);
	} else if (len == 0) {
		len = LOOKUP_COOKIE_CLIENT_LEN;
		lookup_draw(cookie, len);
	}
	memcpy(question->cookie, cookie, LOOKUP_COOKIE_CLIENT_LEN);
	return knot_msg_put_option(w, KNOT_EDNS_COOKIE, (knot_bytes_t){ cookie, len });
}

static knot_err_t question_put_custom(knot_msg_writer_t *w, const lookup_option_t *option)
{
	knot_str_t hex = { option->hex, option->hex != NULL ? strlen(option->hex) : 0 };
	uint8_t *at = knot_msg_open_option(w, option->code, hex.len / 2);
	size_t len;
	if (at == NULL) {
		return KNOT_ESPACE;
	}
	return knot_hex_scan(hex, at, &len) ? KNOT_OK : KNOT_EINVAL;
}

/* The last option, so that it knows the length of all others. tail: bytes that follow the OPT. */
static knot_err_t question_put_padding(
		knot_msg_writer_t *w, const lookup_query_t *query, bool is_encrypted, size_t tail)
{
	size_t len = query->padding_bytes, block = query->padding_block;
	bool is_silent = query->padding == LOOKUP_PAD_AUTO && !is_encrypted && block == 0;
	if (query->padding == LOOKUP_PAD_NEVER || is_silent) {
		return KNOT_OK;
	}
	if (block == 0 && query->padding != LOOKUP_PAD_BYTES) {
		block = LOOKUP_PADDING_BLOCK;
	}
	if (block > 0 && (w->len + tail) % block == 0) { /* as long as it has to be */
		return KNOT_OK;
	}
	if (block > 0) {
		len = (block - (w->len + KNOT_OPTION_HEAD_LEN + tail) % block) % block;
	}
	uint8_t *at = knot_msg_open_option(w, KNOT_EDNS_PADDING, len);
	if (at != NULL) {
		memset(at, 0, len);
	}
	return at != NULL ? KNOT_OK : KNOT_ESPACE;
}

static knot_err_t question_put_opt(knot_msg_writer_t *w, const lookup_query_t *query, bool is_encrypted, size_t tail,
		knot_bytes_t server_cookie, lookup_question_t *question)
{
	int bufsize = query->bufsize >= 0 ? query->bufsize : LOOKUP_BUFSIZE_DEFAULT;
	int version = query->edns >= 0 ? query->edns : 0;
	uint16_t flags = (uint16_t)((query->flag_do ? QUESTION_FLAG_DO : 0) | (query->flag_de ? QUESTION_FLAG_DE : 0));
	knot_err_t err = knot_msg_put_opt(w, (uint16_t)bufsize, 0, (uint8_t)version, flags);
	if (err == KNOT_OK && query->wants_nsid) {
		err = knot_msg_put_option(w, KNOT_EDNS_NSID, (knot_bytes_t){ NULL, 0 });
	}
	if (err == KNOT_OK && query->has_subnet) {
		err = knot_msg_put_option(w, KNOT_EDNS_SUBNET, (knot_bytes_t){ query->subnet, query->subnet_len });
	}
	if (err == KNOT_OK && (query->has_cookie || server_cookie.len > 0)) {
		err = question_put_cookie(w, query, server_cookie, question);
	}
	if (err == KNOT_OK && query->wants_expire) {
		err = knot_msg_put_option(w, KNOT_EDNS_EXPIRE, (knot_bytes_t){ NULL, 0 });
	}
	if (err == KNOT_OK && query->wants_zoneversion) {
		err = knot_msg_put_option(w, KNOT_EDNS_ZONEVERSION, (knot_bytes_t){ NULL, 0 });
	}
	for (size_t i = 0; i < query->option_count && err == KNOT_OK; i++) {
		err = question_put_custom(w, &query->options[i]);
	}
	return err == KNOT_OK ? question_put_padding(w, query, is_encrypted, tail) : err;
}

/* ---- The message ---- */

/* A SOA of which only the serial says something: of IXFR (RFC 1995 3) and NOTIFY (RFC 1996 3.7). */
static knot_err_t question_put_serial(knot_msg_writer_t *w, const lookup_query_t *query, knot_name_t name)
{
	uint8_t rdata[2 + KNOT_SOA_NUMBERS_LEN] = { 0 };
	knot_section_t section = query->operation == LOOKUP_NOTIFY ? KNOT_SECTION_ANSWER : KNOT_SECTION_AUTHORITY;
	store_be32(rdata + 2, query->serial);
	return knot_msg_put_rr(
			w, section, name, KNOT_TYPE_SOA, query->class, 0, (knot_bytes_t){ rdata, sizeof(rdata) });
}

static uint16_t question_flags(const lookup_query_t *query)
{
	bool is_notify = query->operation == LOOKUP_NOTIFY; /* RD means nothing there */
	uint16_t flags = is_notify ? (uint16_t)(query->flags & ~KNOT_FLAG_RD) : query->flags;
	return (uint16_t)(flags | (is_notify ? KNOT_OPCODE_NOTIFY << 11 : 0));
}

bool lookup_question_make(const lookup_query_t *query, bool is_encrypted, knot_bytes_t server_cookie,
		knot_tsig_chain_t *chain, uint64_t now_s, lookup_question_t *ret_question)
{
	lookup_question_t *question = ret_question;
	static knot_msg_names_t names;
	knot_msg_writer_t w;
	knot_err_t err = KNOT_OK;
	question->name = (knot_name_t){ 0 };
	question->id = 0;
	bool has_id = !(query->uses_https && query->uses_tls) && !query->uses_quic; /* RFC 8484 4.1, RFC 9250 4.2.1 */
	if (has_id) {
		lookup_draw(&question->id, sizeof(question->id));
	}
	knot_msg_begin(&w, (knot_mut_bytes_t){ question->room, sizeof(question->room) });
	if (query->name != NULL) {
		if (!lookup_question_name(query, question->name_wire, &question->name)) {
			return false;
		}
		err = knot_msg_put_question(&w, question->name, query->type, query->class);
	}
	knot_msg_compress(&w, &names);
	if (err == KNOT_OK && query->has_serial && question->name.len > 0) {
		err = question_put_serial(&w, query, question->name);
	}
	if (err == KNOT_OK && lookup_has_edns(query)) {
		size_t tail = chain != NULL ? knot_tsig_len(chain) : 0;
		err = question_put_opt(&w, query, is_encrypted, tail, server_cookie, question);
	}
	if (err != KNOT_OK) {
		return false;
	}
	size_t len = knot_msg_finish(&w, question->id, question_flags(query));
	if (chain != NULL && knot_tsig_sign(chain, &w, now_s, &len) != KNOT_OK) {
		return false;
	}
	question->wire = (knot_bytes_t){ question->room, len };
	return true;
}
