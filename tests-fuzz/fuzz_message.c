/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Messages of any shape: the parser takes or refuses them, and what the answer engine sends back is a whole message
 * with valid records, within the size limits, to the same id; built in place of the request it is the same.
 *
 * Input: one byte of flags (1: over TCP, 2: from IPv6, 4: rotate answers, 8: echo client subnets, 16: build in place),
 * then the message. Zones: those of src/answer/answer_test.c.
 */
#include "src/answer/answer.h"

#include "libknot/msg/message.h"
#include "libknot/rr/rdata.h"
#include "src/answer/answer_test_rows.h"
#include "src/answer/answer_test_zones.h"

#include <netinet/in.h>
#include <stdlib.h>

enum { OVER_TCP = 1, FROM_IPV6 = 2, ROTATE = 4, CLIENT_SUBNET = 8, IN_PLACE = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

static void check_reply(knot_bytes_t request, knot_bytes_t reply)
{
	static uint8_t rdata[KNOT_RDATA_MAX];
	knot_message_t m;
	knot_message_rr_t rr;
	check(request.len >= KNOT_MSG_HEADER_LEN && knot_message_begin(reply, &m) == KNOT_OK);
	check(m.id == load_be16(request.data) && (m.flags & KNOT_FLAG_QR));
	while (knot_message_next(&m, &rr)) {
		uint16_t len;
		if (rr.section != KNOT_SECTION_QUESTION && rr.type != KNOT_TYPE_OPT) {
			check(knot_rdata_unpack(rr.type, reply, rr.rdata_off, rr.rdata_len,
					      (knot_mut_bytes_t){ rdata, sizeof(rdata) }, &len) == KNOT_OK);
			check(knot_rdata_check(rr.type, (knot_bytes_t){ rdata, len }) == KNOT_OK);
		}
	}
	check(knot_message_is_whole(&m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static test_zones_t zones;
	static uint8_t out[KNOT_MSG_MAX];
	if (zones.db == NULL) {
		static const char *const texts[] = { zone_ex, zone_child_ex, zone_nsec, zone_nsec3, zone_optout, NULL };
		zones = test_zones_new(texts, "fail.");
	}
	if (size < 1 || size - 1 > KNOT_MSG_MAX) {
		return 0;
	}
	uint8_t flags = data[0];
	answer_env_t env = {
		.nsid = { (const uint8_t *)"nsid", 4 },
		.identity = { (const uint8_t *)"id", 2 },
		.version = { (const uint8_t *)"v", 1 },
		.udp_payload_max_ipv4 = 1232,
		.udp_payload_max_ipv6 = 1400,
		.rotate = flags & ROTATE,
		.client_subnet = flags & CLIENT_SUBNET,
	};
	struct sockaddr_in6 remote = { .sin6_family = flags & FROM_IPV6 ? AF_INET6 : AF_INET };
	answer_source_t source = { .protocol = answer_protocol_of_socket(remote.sin6_family, flags & OVER_TCP),
		.remote = (const struct sockaddr *)&remote };
	size_t max = flags & OVER_TCP ? sizeof(out) : 1400;

	answer_report_t report;
	uint8_t *message = malloc(size); /* a byte more than the message, so never empty; the message ends at its end */
	memcpy(message, data, size);
	knot_bytes_t bytes = { message + 1, size - 1 };
	test_zones_enter(&zones);
	size_t len;
	if (flags & IN_PLACE) {
		memcpy(out, bytes.data, bytes.len);
		const knot_bytes_t batch[] = { { out, bytes.len }, bytes, bytes, bytes };
		answer_request_t requests[KNOT_LEN(batch)];
		answer_read(&env, zones.db, batch, KNOT_LEN(batch), requests);
		len = answer_message(
				&env, &source, &requests[0], NULL, (knot_mut_bytes_t){ out, sizeof(out) }, &report);
	} else {
		answer_request_t request;
		answer_read(&env, zones.db, &bytes, 1, &request);
		len = answer_message(&env, &source, &request, NULL, (knot_mut_bytes_t){ out, max }, &report);
	}
	test_zones_leave(&zones);
	check((len == 0) == (report.verdict == KNOT_MSG_DROP));
	if (len > 0) {
		check(len <= max);
		check_reply(bytes, (knot_bytes_t){ out, len });
	}
	free(message);
	return 0;
}
