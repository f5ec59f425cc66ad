/* SPDX-License-Identifier: BSD-2-Clause */
/** The compiled kernel programs (ELF objects), part of the library, so that nothing has to be found at run time. */
#pragma once

#include "libknot/base/bytes.h"

/** The object's bytes; static, aligned to 8: of filter.bpf.c and of send.bpf.c. */
knot_bytes_t kxdp_filter_object(void);
knot_bytes_t kxdp_send_object(void);
