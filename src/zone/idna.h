/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Internationalized names (RFC 5890): what a person types → what stands in zones.
 *
 * Only for what a person types, and for hints: zone files, the configuration and the control protocol have A-labels.
 * Names that are shown stay A-labels. Pure; libidn2 does the work.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * The A-labels of a name in UTF-8, `xn--bcher-kva` of `bücher`; a final dot stays. ret_ascii: at most `max` bytes with
 * the NUL, unwritten on failure. False: the name is in ASCII already, or is no name of IDNA 2008.
 */
bool zone_idna_to_ascii(const char *name, char *ret_ascii, size_t max);
