/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What comes out of TLS or TCP as bytes goes in as messages: all of them, in order, whole, and nothing else, however
 * the bytes are cut. At the end of the stream a part of a message that is left over is told.
 *
 * Input: one byte (how long pieces are), then the bytes of a stream.
 */
#include "src/transport/plain.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* Messages that can be taken must be the next ones of `all`; returns the position behind them. */
static size_t check_messages(transport_t *t, knot_bytes_t all, size_t pos, size_t fed)
{
	transport_event_t event;
	while (transport_take(t, &event)) {
		check(event.kind == TRANSPORT_MESSAGE && event.stream == 0 && pos + 2 <= fed);
		size_t len = load_be16(all.data + pos);
		check(event.message.len == len && pos + 2 + len <= fed);
		check(len == 0 || memcmp(event.message.data, all.data + pos + 2, len) == 0);
		pos += 2 + len;
	}
	check(fed - pos < 2 || fed - pos - 2 < load_be16(all.data + pos));
	return pos;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1) {
		return 0;
	}
	knot_bytes_t all = { data + 1, size - 1 };
	size_t pos = 0;
	transport_t *t = transport_stream_new();
	check(t != NULL);
	for (size_t fed = 0, turn = 0; fed < all.len; turn++) {
		knot_mut_bytes_t room = transport_room(t);
		size_t len = 1 + (data[0] >> (turn % 4)) % 64 * ((data[0] & 1) != 0 ? 100 : 1);
		check(room.len > 0);
		len = len < room.len ? len : room.len;
		len = len < all.len - fed ? len : all.len - fed;
		memcpy(room.data, all.data + fed, len);
		transport_note_received(t, len, 0);
		fed += len;
		if (turn % 3 != 0 || room.len < 1000) { /* not always at once */
			pos = check_messages(t, all, pos, fed);
		}
	}
	transport_note_eof(t, 0);
	check(transport_end(t) == TRANSPORT_END_BY_PEER || transport_end(t) == TRANSPORT_END_CUT);
	pos = check_messages(t, all, pos, all.len);
	check((transport_end(t) == TRANSPORT_END_CUT) == (pos < all.len));
	transport_free(t);
	return 0;
}
