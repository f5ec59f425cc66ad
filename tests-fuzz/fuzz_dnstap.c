/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Frames of dnstap files, which anybody may have written: what is read lies within its bounds, its times can be shown,
 * and it is the same once it is written and read again.
 *
 * Input: a frame.
 */
#include "src/dnstap/dnstap.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void check_time(struct timespec at)
{
	struct tm parts;
	check(at.tv_nsec >= 0 && at.tv_nsec < 1000000000);
	check(gmtime_r(&at.tv_sec, &parts) != NULL && parts.tm_year < 10000 - 1900);
}

static bool same_bytes(knot_bytes_t a, knot_bytes_t b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static bool same_address(const dnstap_address_t *a, const dnstap_address_t *b)
{
	return a->len == b->len && (a->len == 0 || a->port == b->port) && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void check_message(const dnstap_message_t *message)
{
	const dnstap_address_t *addresses[] = { &message->client, &message->server };
	uint8_t sum = 0;
	for (size_t i = 0; i < KNOT_LEN(addresses); i++) {
		check(addresses[i]->len == 0 || addresses[i]->len == 4 || addresses[i]->len == 16);
	}
	for (size_t i = 0; i < message->query.len; i++) {
		sum ^= message->query.data[i]; /* all of it can be read */
	}
	for (size_t i = 0; i < message->response.len; i++) {
		sum ^= message->response.data[i];
	}
	(void)*(volatile uint8_t *)&sum;
	check_time(message->query_at);
	check_time(message->response_at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dnstap_message_t message, again;
	void *owner, *owner_again;
	knot_mut_bytes_t frame;
	knot_err_t err = dnstap_read((knot_bytes_t){ data, size }, &message, &owner);
	if (err != KNOT_OK) {
		check(err == KNOT_EMALF || err == KNOT_ENOENT);
		return 0;
	}
	check_message(&message);
	check(dnstap_write(&message, "fuzz", &frame) == KNOT_OK);
	if (frame.len <= DNSTAP_FRAME_MAX) {
		check(dnstap_read((knot_bytes_t){ frame.data, frame.len }, &again, &owner_again) == KNOT_OK);
		check(again.type == message.type && again.protocol == message.protocol);
		check(same_bytes(message.query, again.query) && same_bytes(message.response, again.response));
		check(same_address(&message.client, &again.client) && same_address(&message.server, &again.server));
		dnstap_read_done(owner_again);
	}
	free(frame.data);
	dnstap_read_done(owner);
	return 0;
}
