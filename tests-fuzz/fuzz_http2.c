/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a server of HTTP/2 says to a client of DNS over HTTPS: any bytes. Each query has one event at most, a message is
 * no longer than one of DNS, and what is to be sent stays within its bound. A connection that has ended stays so.
 *
 * Input: one byte (bit 0: GET; bits 1–3: queries; bit 4: one is cancelled), one byte (how long pieces are), then what
 * the server sends.
 */
#include "src/transport/http.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/** What has become of queries. */
typedef struct {
	bool has_event[64];
	unsigned count; /* put */
} queries_t;

static void put_query(transport_t *t, queries_t *queries)
{
	uint64_t stream;
	static const uint8_t query[] = "\0\0\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1";
	knot_err_t err = transport_put(t, (knot_bytes_t){ query, sizeof(query) - 1 }, &stream);
	if (err == KNOT_OK) {
		check(stream == queries->count);
		queries->count++;
	} else {
		check(err == KNOT_ECONNRESET);
	}
}

static void take_events(transport_t *t, queries_t *queries)
{
	transport_event_t event;
	while (transport_take(t, &event)) {
		check(event.stream < queries->count && !queries->has_event[event.stream]);
		queries->has_event[event.stream] = true;
		check(event.message.len <= TRANSPORT_MESSAGE_MAX);
		check(event.kind == TRANSPORT_MESSAGE || event.message.len == 0);
		uint8_t sum = 0;
		for (size_t i = 0; i < event.message.len; i++) {
			sum ^= event.message.data[i]; /* all of it can be read */
		}
		(void)*(volatile uint8_t *)&sum;
	}
}

static void send_all(transport_t *t)
{
	knot_bytes_t bytes;
	size_t sum = 0;
	while ((bytes = transport_pending(t, 0)).len > 0) {
		check(bytes.len <= TRANSPORT_PENDING_MAX);
		sum += bytes.len;
		check(sum < 64 * (size_t)TRANSPORT_PENDING_MAX);
		transport_note_sent(t, bytes.len, 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	transport_t *t;
	queries_t queries = { .count = 0 };
	if (size < 2) {
		return 0;
	}
	transport_http_params_t params = { .uses_get = (data[0] & 1) != 0, .authority = "dns.example" };
	check(transport_http_new(NULL, &params, &t) == KNOT_OK);
	for (unsigned i = 0; i <= (data[0] >> 1 & 7); i++) {
		put_query(t, &queries);
	}
	send_all(t);
	if ((data[0] & 16) != 0) {
		transport_cancel(t, 0);
	}
	for (size_t pos = 2, turn = 0; pos < size; turn++) {
		knot_mut_bytes_t room = transport_room(t);
		if (room.len == 0) {
			check(transport_state(t) == TRANSPORT_ENDED);
			break;
		}
		size_t len = 1 + data[1] % 251;
		len = len < size - pos ? len : size - pos;
		memcpy(room.data, data + pos, len);
		transport_note_received(t, len, 0);
		pos += len;
		take_events(t, &queries);
		send_all(t);
		if (turn % 8 == 7 && queries.count < 64) {
			put_query(t, &queries);
		}
	}
	transport_session_t session;
	transport_describe(t, &session);
	transport_note_eof(t, 0);
	check(transport_state(t) == TRANSPORT_ENDED && transport_reason(t)[0] != '\0');
	take_events(t, &queries);
	send_all(t);
	transport_free(t);
	return 0;
}
