/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The shell around a transport: one socket, moved by poll(). What exchange.c is built on; for this folder only.
 *
 * The shell sends what the transport has pending and receives into its room until the caller's condition holds, the
 * time is over, or the socket fails. It knows no DNS.
 */
#pragma once

#include "src/exchange/exchange.h"

#define SHELL_NEVER_NS UINT64_MAX

typedef struct {
	int fd; /* owned; -1: none */
	bool is_connected;
	bool has_eof;
	int error;                /* errno of the system call that failed last */
	exchange_address_t peer;  /* where datagrams go on a socket that isn't connected */
	exchange_address_t stray; /* of the last datagram from somebody else */
	uint8_t prefix[64];       /* PROXYv2 header: before each datagram, or before the first byte of a stream */
	size_t prefix_len, prefix_sent;
} shell_t;

/** What ended a shell_run(). */
typedef enum {
	SHELL_DONE,    /* the condition holds */
	SHELL_ENDED,   /* the transport has ended; what was pending is sent */
	SHELL_TIMEOUT, /* until_ns has come */
	SHELL_SEND,    /* a system call failed: shell->error */
	SHELL_RECEIVE, /* the same */
	SHELL_SOURCE,  /* a datagram from somebody else was dropped: shell->stray */
} shell_result_t;

/** Is the condition fulfilled that the shell runs for? */
typedef bool (*shell_until_cb)(void *ctx);

/**
 * Drive the transport until `until` says true, which is asked first and after each step.
 * until_ns: of sys_clock_ns(); SHELL_NEVER_NS: no limit.
 */
shell_result_t shell_run(shell_t *shell, transport_t *t, shell_until_cb until, void *ctx, uint64_t until_ns);

/** Send what is pending as far as that goes at once, for the end of a connection. */
void shell_flush(shell_t *shell, transport_t *t);

/** Close the socket. */
void shell_done(shell_t *shell);
