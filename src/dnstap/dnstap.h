/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * dnstap: DNS messages with their addresses and times, as frames and back. Pure; frames are bytes, files and sockets
 * are the caller's (fstrm). The schema is dnstap.proto.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <time.h>

/** The content type of Frame Streams that carry dnstap. */
#define DNSTAP_CONTENT_TYPE "protobuf:dnstap.Dnstap"

enum {
	DNSTAP_ADDRESS_MAX = 16,
	DNSTAP_FRAME_MAX = 2 * 65535 + 1024, /* bytes of a frame that is made or read */
};

/** Numbers of the schema. */
typedef enum { DNSTAP_TOOL_QUERY = 11, DNSTAP_TOOL_RESPONSE = 12 } dnstap_type_t;
typedef enum { DNSTAP_NONE, DNSTAP_UDP, DNSTAP_TCP, DNSTAP_DOT, DNSTAP_DOH, DNSTAP_DOQ = 7 } dnstap_protocol_t;

/** An address: its family follows from its length. */
typedef struct {
	uint8_t bytes[DNSTAP_ADDRESS_MAX];
	uint8_t len; /* 4, 16; 0: unknown */
	uint16_t port;
} dnstap_address_t;

/** One message, or a response with its query. */
typedef struct {
	unsigned type;     /* dnstap_type_t, or another of the schema; odd ones are queries */
	unsigned protocol; /* dnstap_protocol_t */
	dnstap_address_t client, server;
	struct timespec query_at, response_at; /* since 1970; zeros: unknown */
	knot_bytes_t query, response;          /* borrowed; len 0: none */
} dnstap_message_t;

/**
 * Make a frame of a message. version: of the program. *ret_frame is the caller's, free(). KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t dnstap_write(
		const dnstap_message_t *message, const char *version, knot_mut_bytes_t *ret_frame);

/**
 * Read a frame. *ret_message borrows from *ret_owner, which dnstap_read_done() releases. KNOT_EMALF: it isn't one;
 * KNOT_ENOENT: one without a message.
 */
KNOT_MUST_USE knot_err_t dnstap_read(knot_bytes_t frame, dnstap_message_t *ret_message, void **ret_owner);
void dnstap_read_done(void *take_owner);
