/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What transfers need that a thread which answers must not do: reading changes from the journal, logging, and freeing
 * memory of versions. One thread, which workers hand transfers to.
 *
 * A worker begins each transfer here and ends it here, in that order. Between, the transfer is the worker's; but one
 * that is UNPREPARED is this thread's until its state changes, which the worker's waker announces. Handing over is an
 * exchange of a pointer and, if the thread sleeps, a system call per transfer: no lock, so also within a read section.
 *
 * Steps that several receivers of the same change need are read once and shared: the last few are kept as long as they
 * take little memory. All steps together are bounded; what exceeds that is sent as AXFR.
 */
#pragma once

#include "src/transfer/out.h"

typedef struct transfer_service transfer_service_t;

enum {
	TRANSFER_STEPS_MAX = 64 << 20,     /* bytes of all steps: 200 receivers of one change share them */
	TRANSFER_STEPS_KEPT = 16,          /* changes that are kept for the next receiver */
	TRANSFER_STEPS_KEPT_MAX = 8 << 20, /* bytes, at most, of one that is kept */
};

/** Start the thread. journal: borrowed until transfer_service_free(). KNOT_ENOMEM, or an errno code. */
KNOT_MUST_USE knot_err_t transfer_service_new(journal_t *journal, transfer_service_t **ret_service);

/** Do what was handed over, and end the thread. All transfers have been ended. NULL is allowed. */
void transfer_service_free(transfer_service_t *take_service);

/** How a worker learns that a transfer of its own is prepared. Counted: the service may outlive the worker. */
typedef struct transfer_waker transfer_waker_t;

/** fd: an eventfd that is duplicated, for a worker that has one already; -1: make one. KNOT_ENOMEM, or an errno code.
 */
KNOT_MUST_USE knot_err_t transfer_waker_new(int fd, transfer_waker_t **ret_waker);

/** The worker is gone. NULL is allowed. */
void transfer_waker_drop(transfer_waker_t *take_waker);

/** Readable when a transfer was prepared. */
int transfer_waker_fd(const transfer_waker_t *waker);

/** It was readable: from now on it tells of the next one. True if there was one since the last call. */
bool transfer_waker_clear(transfer_waker_t *waker);

/** Begin a transfer, which is new: log it and, if it is UNPREPARED, prepare it. */
void transfer_service_begin(transfer_service_t *service, transfer_out_t *out, transfer_waker_t *waker);

/** Log its end, and free it. The waker isn't used for it any more. now_us: monotonic. */
void transfer_service_end(transfer_service_t *service, transfer_out_t *take_out, uint64_t now_us);
