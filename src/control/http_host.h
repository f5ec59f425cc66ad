/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Whether the header Host of an HTTP request names this server: against DNS rebinding, where a page of a stranger has
 * its own name resolve to this server's address, and the browser of a reader of that page hands it what is served here.
 * Such a request carries the stranger's name. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * True for no Host at all (HTTP/1.0; browsers always send one), an IP address, localhost or a name below it, and each
 * of names[0..count), all with or without a port and a final dot, in any case of letters. host: the header's value, any
 * bytes; NULL: it is missing. names: without port; NULL and "" match nothing.
 */
bool http_host_is_ours(const char *host, const char *const *names, size_t count);
