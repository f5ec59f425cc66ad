/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which zones were queried lately: kept over a restart, so that these are loaded first. Internal to src/event.
 *
 * It is only a hint: a small file beside the images with hashes of names, written when the server stops and every few
 * minutes, and ignored when it isn't whole. Layout, in host byte order: "BWLASK01", count (8 bytes), `count` XXH3-64
 * of names in lower-case wire form, XXH3-64 of all bytes before.
 */
#pragma once

#include "src/state/state.h"

enum { ASKED_MAX = 65536 }; /* zones: half a megabyte; a server with more busy zones loads most of them first anyway */

typedef struct asked asked_t;

/** Read the file. NULL: there is no usable file, or out of memory. */
asked_t *asked_read(const char *path);

void asked_free(asked_t *asked);

/** True if the zone was queried before the restart. asked NULL: false. Cost: some 20 ns. */
bool asked_has(const asked_t *asked, knot_name_t name);

/**
 * Write which zones were queried since the last call, and reset their notes. keep: hashes that the file has already
 * stay in it as far as there is room. Nothing is written if no zone was queried. Failures are ignored. Not within a
 * read section.
 */
void asked_write(const char *path, const state_root_t *root, bool keep);
