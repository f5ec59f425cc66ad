/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * DNS without encryption: datagrams, each a message (RFC 1035 4.2.1), and streams of messages with two bytes of length
 * before each (RFC 1035 4.2.2, RFC 7766 8). Both roles are the same, and open at once.
 */
#pragma once

#include "src/transport/transport.h"

/** NULL: out of memory. */
transport_t *transport_datagram_new(void);
transport_t *transport_stream_new(void);
