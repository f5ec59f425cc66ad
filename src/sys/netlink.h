/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Asking the kernel by rtnetlink(7): dumps, their messages and attributes. No privilege is needed for any of it.
 *
 * Messages come from the kernel but are read as if anybody had sent them: every length is checked.
 */
#pragma once

#include "libknot/base/bytes.h"
#include "libknot/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What lies in bytes[0..len): attributes of one level. */
typedef struct {
	const uint8_t *at;
	size_t left;
} netlink_attributes_t;

typedef struct {
	unsigned type; /* without the flags of nested attributes */
	knot_bytes_t value;
} netlink_attribute_t;

netlink_attributes_t netlink_attributes(knot_bytes_t bytes);

/** The next attribute. False: no more, or bytes that are none. */
bool netlink_next_attribute(netlink_attributes_t *io_attributes, netlink_attribute_t *ret_attribute);

/** An attribute of 4 bytes in host order; `otherwise` if it has another length. */
uint32_t netlink_u32(const netlink_attribute_t *attribute, uint32_t otherwise);

/** Where a walk over messages ended. */
typedef enum {
	NETLINK_MORE, /* these are over, the answer is not */
	NETLINK_DONE,
	NETLINK_ERROR, /* of the kernel, also behind the last message, or bytes that are no message */
} netlink_walk_t;

/**
 * Call `see` with each message of messages[0..len), what one recv() gave: its type and what is behind its header.
 *
 * *io_interrupted: becomes true if something changed while the kernel looked. *ret_err: written with NETLINK_ERROR.
 */
netlink_walk_t netlink_walk(const uint8_t *messages, size_t len,
		void (*see)(unsigned type, knot_bytes_t body, void *ctx), void *ctx, bool *io_interrupted,
		knot_err_t *ret_err);

/**
 * Ask for one thing, and call `see` with each message of the answer; a request without an answer is acknowledged.
 *
 * request[0..len): begins with the struct nlmsghdr, whose length and number are filled in, and whose flags get
 * NLM_F_REQUEST and NLM_F_ACK. What the kernel says instead of an answer: KNOT_ENOENT, … An error of the socket.
 */
KNOT_MUST_USE knot_err_t netlink_request(
		int fd, void *request, size_t len, void (*see)(unsigned type, knot_bytes_t body, void *ctx), void *ctx);

/** A socket for netlink_dump(), close-on-exec. -1: errno says why. */
int netlink_open(void);

/**
 * Ask for a dump and call `see` with each message of the answer.
 *
 * request[0..len): begins with the struct nlmsghdr, whose length, flags and number are filled in. An error of the
 * socket, or what the kernel says instead of an answer; KNOT_EAGAIN: something changed in the middle, so that things
 * may be missing: ask again.
 */
KNOT_MUST_USE knot_err_t netlink_dump(
		int fd, void *request, size_t len, void (*see)(unsigned type, knot_bytes_t body, void *ctx), void *ctx);
