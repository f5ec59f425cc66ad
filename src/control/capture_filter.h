/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Filter programs of captures as clients send them: text in, checked instructions out. Pure.
 */
#pragma once

#include "libknot/base/err.h"

#include <pcap/pcap.h>
#include <stddef.h>

enum { CAPTURE_FILTER_MAX = 4096 }; /* instructions, as many as the kernel allows */

/**
 * Read `count,code jt jf k,code jt jf k,...` in decimal, as libpcap's compilers print it. The program is safe to run on
 * any bytes: libpcap's bpf_validate() has seen it, and it has no loops.
 *
 * ret_insns[0..CAPTURE_FILTER_MAX): written also on failure. KNOT_EMALF: not so, or not a valid program.
 */
KNOT_MUST_USE knot_err_t capture_filter_scan(const char *text, struct bpf_insn *ret_insns, size_t *ret_count);
