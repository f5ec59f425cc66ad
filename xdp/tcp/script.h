/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A mini language for tests of the TCP stack: segments in (<) and out (>), what the application does, and time.
 *
 * A script is lines of words:
 *
 *     limits half_open=0 clients=2 …   first: other limits than the default ones
 *     v6 | port N | source N           the client: IPv6; its port, each with sequence numbers of its own; its address
 *     < FLAGS SEQ [ACK] [win=N] [mss=N] [scale=N] [len=N] [badack] [mtu=N]
 *     > FLAGS [SEQ [ACK]] [win=N] [win<N] [win>N] [mss=N] [scale=N] [len=N]
 *     > none
 *     read LEN [fin] [use=N]           the input that came; use: bytes consumed, all by default
 *     next                             kxdp_tcp_next() gives input (then: read) …
 *     next none                        … or none
 *     write LEN | write LEN no         taken, or refused
 *     room N                           at least N; room 0: none
 *     close | abort | abort-all | configure NAME=N …
 *     time +Ns|+Nms|+Nus               timers on the way take effect
 *     stat NAME N                      a counter or level
 *     again isn=N                      the port is used again, its SYN N further
 *     drain                            let everything out, unseen
 *
 * FLAGS: letters of S F R P A; P is not compared. Sequence numbers count from the SYNs: 0 is the SYN, 1 the first byte.
 * Bytes are functions of port and offset, and compared on both sides.
 */
#pragma once

#include "xdp/tcp/tcp.h"

typedef struct {
	const char *what, *script;
} script_row_t;

/** Runs a script; prints what is wrong with line number and text. False: something was. */
bool kxdp_script_run(const char *what, const char *script);
