/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * TCP of one AF_XDP worker: between the state machine (xdp/tcp/tcp.h) and the answer engine. RFC 7766: messages are
 * taken from the streams, answered in order, and written back.
 *
 * Not here: frames and rings (xdp_out.h, xdp.c). One thread: the worker's; xdp_tcp_stats() from any.
 */
#pragma once

#include "src/net/later.h"
#include "src/net/traffic.h"
#include "src/state/state.h"
#include "src/transfer/out_service.h"
#include "xdp/queue.h"
#include "xdp/tcp/tcp.h"

#include <stdbool.h>

typedef struct xdp_tcp xdp_tcp_t;

/**
 * KNOT_ENOMEM, or no randomness. mtu: of the interface. batch: the worker's, which requests are noted in; borrowed.
 * outbox: the worker's, which shows what is answered later; borrowed. Answers nothing until xdp_tcp_configure().
 */
KNOT_MUST_USE knot_err_t xdp_tcp_new(uint16_t mtu, traffic_batch_t *batch, later_outbox_t *outbox, xdp_tcp_t **ret_tcp);

/**
 * Serve transfers from now on: once, before the first segment. transfers: borrowed. wake_fd: wakes the worker, and is
 * duplicated. KNOT_ENOMEM, or an errno code: transfers aren't served.
 */
KNOT_MUST_USE knot_err_t xdp_tcp_serve_transfers(xdp_tcp_t *tcp, transfer_service_t *transfers, int wake_fd);

/** Free it with its stack. NULL is allowed. */
void xdp_tcp_free(xdp_tcp_t *take_tcp);

/**
 * Follow the configuration: a stack is made when `tcp` is on for the first time, limits are applied, all connections
 * are reset when it is off. worker_count: workers that share the limits, at least 1. Cheap when nothing has changed.
 */
void xdp_tcp_configure(xdp_tcp_t *tcp, const conf_xdp_t *conf, size_t worker_count, uint64_t now_us);

/** False: `tcp` was never on, there is nothing to tick, emit or abort. */
bool xdp_tcp_has_stack(const xdp_tcp_t *tcp);

/**
 * Take in verified segments and answer what has become whole by them. packets[numbers[0..count)]: ip_proto is TCP;
 * count at most NET_XDP_BATCH. The packets stay the caller's.
 */
void xdp_tcp_receive(xdp_tcp_t *tcp, const state_t *state, const kxdp_packet_t *packets, const uint8_t *numbers,
		size_t count, uint64_t now_us);

/** Let due timers take effect, go on with transfers, and answer what waited for room. This and what follows need
 * xdp_tcp_has_stack(). */
void xdp_tcp_tick(xdp_tcp_t *tcp, const state_t *state, uint64_t now_us);

/** The next segment to send, as kxdp_tcp_emit(). */
bool xdp_tcp_emit(xdp_tcp_t *tcp, uint64_t now_us, uint8_t *payload, size_t payload_max, kxdp_segment_t *ret_segment);

/** Answer what waited for room, after segments were sent. True: there was something. */
bool xdp_tcp_answer_waiting(xdp_tcp_t *tcp, const state_t *state);

/** Write a reply that was made later to its connection, way.xdp.conn, if there still is one. It stays the caller's. */
void xdp_tcp_write_later(xdp_tcp_t *tcp, const later_t *later);

/** A transfer could go on at once: don't sleep. */
bool xdp_tcp_wants_turn(const xdp_tcp_t *tcp);

/** Reset all connections, when the worker ends; xdp_tcp_emit() gives the segments. */
void xdp_tcp_abort_all(xdp_tcp_t *tcp);

/** How long nothing will be due, in microseconds, at most max_us. */
uint64_t xdp_tcp_time_left(const xdp_tcp_t *tcp, uint64_t now_us, uint64_t max_us);

/** Statistics of the stack, with segments whose header is malformed. False: there is no stack. Any thread. */
bool xdp_tcp_stats(const xdp_tcp_t *tcp, kxdp_tcp_stats_t *ret_stats);

/** The stack's share of the configured limits. Pure. */
kxdp_tcp_limits_t xdp_tcp_limits(const conf_xdp_t *conf, size_t worker_count, uint16_t mtu);
