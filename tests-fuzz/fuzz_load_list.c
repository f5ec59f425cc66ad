/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Lists of queries of any shape: lines of text, and packets of a recording. What is taken can be sent: it has a header,
 * no QR, and is short enough; a line that is refused has a reason.
 *
 * Input: one byte, below 8: a recording with this link layer (index below), packets each after 16 bits of length; else
 * lines for the profile that it chooses.
 */
#include "src/tools/load/playback.h"

#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void check_list(const queries_t *queries, bool has_times)
{
	for (size_t i = 0; i < queries->count; i++) {
		const query_t *query = &queries->items[i];
		check(query->off + query->len <= queries->used);
		check(queries_is_query((knot_bytes_t){ queries_message(queries, query), query->len }));
		check(load_be16(queries_message(queries, query)) == 0);
		check(!has_times || i == 0 || queries->times_ns[i] >= queries->times_ns[i - 1]);
	}
}

static void play(const uint8_t *data, size_t size, int link)
{
	queries_t queries = { 0 };
	playback_t *playback = playback_new(&queries, 53, true);
	knot_reader_t r = knot_reader_of((knot_bytes_t){ data, size });
	for (uint64_t time_ns = 1000; knot_reader_left(&r) > 2; time_ns += 7 - time_ns % 11) {
		size_t len = knot_read_u16(&r);
		len = len < knot_reader_left(&r) ? len : knot_reader_left(&r);
		uint8_t *exact = malloc(len > 0 ? len : 1);
		memcpy(exact, knot_read(&r, len), len);
		check(playback_packet(playback, link, time_ns, exact, len));
		free(exact);
	}
	check_list(&queries, true);
	playback_free(playback);
	queries_free(&queries);
}

static void read_lines(const uint8_t *data, size_t size, profile_t profile)
{
	queries_t queries = { 0 };
	const queries_params_t params = {
		.profile = profile, .edns_size = 1232, .serial = 1, .always_edns = (profile & 1) != 0
	};
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end != NULL ? (size_t)(end - data) - at : size - at;
		char why[QUERIES_ERROR_MAX] = "";
		bool is_good = queries_add_line(&queries, (knot_str_t){ (const char *)data + at, len }, &params, why);
		check(is_good || why[0] != '\0');
		at += len + 1;
	}
	check_list(&queries, false);
	queries_free(&queries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int links[8] = { DLT_EN10MB, DLT_LINUX_SLL, DLT_RAW, DLT_NULL, DLT_LOOP, DLT_RAW, DLT_RAW,
		DLT_EN10MB };
	if (size < 1) {
		return 0;
	}
	if (data[0] < 8) {
		play(data + 1, size - 1, links[data[0]]);
	} else {
		read_lines(data + 1, size - 1, (profile_t)(data[0] % PROFILE_COUNT));
	}
	return 0;
}
