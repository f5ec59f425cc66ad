/* SPDX-License-Identifier: BSD-2-Clause */
/** The compiled kernel program (an ELF object), part of the library, so that nothing has to be found at run time. */
#pragma once

#include "libknot/base/bytes.h"

/** The object's bytes; static, aligned to 8. */
knot_bytes_t kxdp_filter_object(void);
