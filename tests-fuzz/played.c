/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests-fuzz/played.h"

#include "src/exchange/exchange.h"

#include "libknot/msg/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static knot_reader_t events;
static played_query_cb played_query;
static uint8_t *last; /* owned */
static size_t last_len;

void played_check(bool holds)
{
	if (!holds) {
		abort();
	}
}

void played_begin(knot_bytes_t bytes, played_query_cb query)
{
	events = knot_reader_of(bytes);
	played_query = query;
	last_len = 0;
}

knot_bytes_t played_reply(void)
{
	return (knot_bytes_t){ last, last_len };
}

int played_output(void)
{
	int output = memfd_create("output", 0);
	FILE *nowhere = fopen("/dev/null", "w");
	played_check(output >= 0 && nowhere != NULL && dup2(output, STDOUT_FILENO) == STDOUT_FILENO);
	stderr = nowhere;
	return output;
}

/* ---- exchange.h ---- */

struct exchange {
	bool is_beside, is_open, is_udp;
	uint16_t id;
	uint8_t *message; /* owned: of exact size, so that a byte too far is seen, and the use of an old one */
};

exchange_t *exchange_new(const exchange_params_t *params)
{
	exchange_t *x = calloc(1, sizeof(*x));
	played_check(x != NULL);
	x->is_beside = params->note == NULL;
	x->is_udp = params->kind == EXCHANGE_UDP;
	return x;
}

void exchange_free(exchange_t *take_x)
{
	if (take_x != NULL) {
		free(take_x->message);
		free(take_x);
	}
}

exchange_end_t exchange_open(exchange_t *x)
{
	x->is_open = true;
	return EXCHANGE_OK;
}

exchange_end_t exchange_send(exchange_t *x, knot_bytes_t message)
{
	played_check(message.len >= KNOT_MSG_HEADER_LEN);
	if (!x->is_open) {
		return EXCHANGE_CLOSED;
	}
	x->id = load_be16(message.data);
	played_query(x->is_beside);
	return EXCHANGE_OK;
}

uint64_t exchange_until_ns(const exchange_t *x)
{
	(void)x;
	return UINT64_MAX;
}

static exchange_end_t exchange_fail(exchange_t *x, exchange_end_t end)
{
	if (x->is_udp && end == EXCHANGE_CLOSED) { /* nobody listens there; it may go on */
		return EXCHANGE_RECEIVE;
	}
	x->is_open &= end != EXCHANGE_CLOSED;
	return end;
}

exchange_end_t exchange_receive(exchange_t *x, uint64_t until_ns, knot_bytes_t *ret_message)
{
	static const exchange_end_t ends[] = { [PLAYED_TIMEOUT] = EXCHANGE_TIMEOUT,
		[PLAYED_CLOSED] = EXCHANGE_CLOSED,
		[PLAYED_SOURCE] = EXCHANGE_SOURCE };
	(void)until_ns;
	if (!x->is_open) {
		return EXCHANGE_CLOSED;
	}
	unsigned kind = knot_reader_left(&events) > 0 ? knot_read_u8(&events) % PLAYED_COUNT : PLAYED_TIMEOUT;
	if (kind > PLAYED_RAW) {
		return exchange_fail(x, ends[kind]);
	}
	size_t len = knot_read_u16(&events), left = knot_reader_left(&events);
	len = len < left ? len : left;
	free(x->message);
	x->message = malloc(len > 0 ? len : 1);
	played_check(x->message != NULL);
	if (len > 0) {
		memcpy(x->message, knot_read(&events, len), len);
	}
	if (kind == PLAYED_REPLY && len >= KNOT_MSG_HEADER_LEN) {
		store_be16(x->message, x->id);
		x->message[2] |= 0x80;
	}
	if (!x->is_beside) {
		last = realloc(last, len + 1);
		played_check(last != NULL);
		memcpy(last, x->message, len);
		last_len = len;
	}
	*ret_message = (knot_bytes_t){ x->message, len };
	return EXCHANGE_OK;
}

const char *exchange_problem(const exchange_t *x)
{
	(void)x;
	return "played";
}

const char *exchange_reason(const exchange_t *x)
{
	(void)x;
	return "";
}

const char *exchange_peer_text(const exchange_t *x)
{
	(void)x;
	return "192.0.2.1@53(UDP)";
}

const exchange_address_t *exchange_remote(const exchange_t *x)
{
	static const exchange_address_t none;
	(void)x;
	return &none;
}

const exchange_address_t *exchange_local(exchange_t *x)
{
	return exchange_remote(x);
}

void exchange_describe(const exchange_t *x, transport_session_t *ret_session)
{
	(void)x;
	*ret_session = (transport_session_t){ 0 };
}

bool exchange_is_open(const exchange_t *x)
{
	return x->is_open;
}

void exchange_address_print(const exchange_address_t *address, char ret_text[static EXCHANGE_TEXT_MAX])
{
	(void)address;
	memcpy(ret_text, "192.0.2.1@53", 13);
}
