/* SPDX-License-Identifier: BSD-2-Clause */
/** A time that is given to kzonecheck. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Read "YYYYMMDDhhmmss" (UTC), seconds since 1970, or a distance from now: a sign, a number, and Y, M (30 days), D, h,
 * m, s or nothing. False: it is none of these. */
bool when_read(const char *text, uint64_t now_s, uint64_t *ret_s);
