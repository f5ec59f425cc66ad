/* SPDX-License-Identifier: BSD-2-Clause */
/** Private numbers that the library leaves in memory that it frees. */
#pragma once

#include <stdbool.h>

#include "libknot/base/err.h"

/**
 * Let all memory that OpenSSL frees be cleared first: its decoders of key files free buffers as they are. Of the
 * process; call it first in main(), before any other function of OpenSSL. False: that is too late. Cost: to clear some
 * hundred bytes for each signature.
 */
KNOT_EXPORT bool dnssec_clear_freed_memory(void);
