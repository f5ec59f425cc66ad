/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/answer/protocol.h"

#include <assert.h>

static const struct {
	const char *name;
	bool is_spoken;
} rows[ANSWER_PROTOCOL_END] = {
	[ANSWER_UDP4] = { "udp4", true },
	[ANSWER_TCP4] = { "tcp4", true },
	[ANSWER_QUIC4] = { "quic4", false },
	[ANSWER_TLS4] = { "tls4", false },
	[ANSWER_UDP6] = { "udp6", true },
	[ANSWER_TCP6] = { "tcp6", true },
	[ANSWER_QUIC6] = { "quic6", false },
	[ANSWER_TLS6] = { "tls6", false },
	[ANSWER_UDP4_XDP] = { "udp4-xdp", true },
	[ANSWER_TCP4_XDP] = { "tcp4-xdp", true },
	[ANSWER_QUIC4_XDP] = { "quic4-xdp", false },
	[ANSWER_UDP6_XDP] = { "udp6-xdp", true },
	[ANSWER_TCP6_XDP] = { "tcp6-xdp", true },
	[ANSWER_QUIC6_XDP] = { "quic6-xdp", false },
};

const char *answer_protocol_name(answer_protocol_t protocol)
{
	assert(protocol < ANSWER_PROTOCOL_END);
	return rows[protocol].name;
}

bool answer_protocol_is_spoken(answer_protocol_t protocol)
{
	assert(protocol < ANSWER_PROTOCOL_END);
	return rows[protocol].is_spoken;
}
