/* SPDX-License-Identifier: BSD-2-Clause */
/** A page that shows the server's metrics live in a browser: HTML with its own style and script, no other resources. */
#pragma once

#include <stddef.h>

/** The page, static. ret_len: its bytes. */
const char *dashboard_page(size_t *ret_len);
