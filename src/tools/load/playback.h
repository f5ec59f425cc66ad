/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Queries out of recordings (pcap, pcapng): UDP datagrams and what TCP streams carry, to a port, with their times.
 */
#pragma once

#include "src/tools/load/queries.h"

/**
 * Read the queries to `port` (host order), or to port 53, of a recording. Ethernet, Linux cooked, raw IP, loopback.
 * Fragments and out-of-order segments of TCP are left out. times: note when each was sent, counted from the first.
 */
bool playback_load(queries_t *queries, const char *path, uint16_t port, bool times,
		char ret_error[static QUERIES_ERROR_MAX]);

/** Streams under way; zeros at first. */
typedef struct playback playback_t;

playback_t *playback_new(queries_t *queries, uint16_t port, bool times);
void playback_free(playback_t *playback);

/** A packet from its link layer on: link: DLT_* of libpcap. time_ns: since the Epoch. False: no memory. */
bool playback_packet(playback_t *playback, int link, uint64_t time_ns, const uint8_t *bytes, size_t len);
