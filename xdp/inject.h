/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Frames sent past socket buffers, by a kernel program that fills frames of the driver's (bpf/send.h): for a load
 * generator on links without zero copy, where an AF_XDP socket pays for a socket buffer and its copy with each frame.
 *
 * Owns: the program, its ring, and a thread that calls it: kxdp_injector_run() is in the kernel until it is stopped,
 * and uses all of the CPU time that it gets, as the program can't sleep.
 *
 * Needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON (or CAP_SYS_ADMIN) in the calling process; Linux 5.18. The driver must
 * have ndo_xdp_xmit() ready: veth needs an XDP program or GRO at the other end, others mostly an XDP program attached.
 * Where it is not, frames are lost without a word.
 *
 * Threads: frames are made by one thread, the program is run by one other.
 */
#pragma once

#include "xdp/kxdp.h"

typedef struct kxdp_injector kxdp_injector_t;

/** True if the kernel says that the device sends what is redirected to it now (Linux 6.3; false before). */
bool kxdp_injector_is_ready(unsigned ifindex);

/** KNOT_ENOTSUP: the kernel can't; KNOT_EPERM. */
KNOT_MUST_USE knot_err_t kxdp_injector_open(
		unsigned ifindex, const char *ifname, kxdp_injector_t **ret_injector, kxdp_fault_t *ret_fault);
void kxdp_injector_close(kxdp_injector_t *take_injector);

/**
 * Room for the next frame, to be filled from bytes + 128 on with the payload and headers in front: at least 1500 bytes
 * behind. NULL: the ring is full.
 */
uint8_t *kxdp_injector_take(kxdp_injector_t *injector);

/** Announce the frame that was taken last, start[0..len) within it. Nothing is sent before this. */
void kxdp_injector_put(kxdp_injector_t *injector, const uint8_t *start, size_t len);

/** Frames in the ring. */
uint32_t kxdp_injector_waiting(const kxdp_injector_t *injector);

/**
 * Call the program until the thread gets a signal that has a handler without SA_RESTART. KNOT_OK: a signal came. Other
 * errors of bpf_prog_test_run().
 */
KNOT_MUST_USE knot_err_t kxdp_injector_run(kxdp_injector_t *injector, kxdp_fault_t *ret_fault);

/** Frames that the program couldn't fill. */
uint32_t kxdp_injector_failed(const kxdp_injector_t *injector);
