/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Which zones were asked for lately: kept over a restart, so that these are loaded first. Within src/event only.
 *
 * A hint, nothing more: a small file beside the images with hashes of names, written when the server stops and every
 * few minutes, and ignored when it isn't whole. Layout: "BWLASK01", count (8 bytes), so many XXH3-64 of names in
 * lower-case wire form, XXH3-64 of all before; host byte order.
 */
#pragma once

#include "src/state/state.h"

enum { ASKED_MAX = 65536 }; /* zones: half a megabyte; who has more of them busy loads most of them first anyway */

typedef struct asked asked_t;

/** Read the file. NULL: there is none that can be used, or no memory. */
asked_t *asked_read(const char *path);

void asked_free(asked_t *asked);

/** asked NULL: false. Some 20 ns. */
bool asked_has(const asked_t *asked, knot_name_t name);

/**
 * Write which zones were asked for since the last call, and forget that they were. keep: what the file says by now
 * stays in it as far as there is room. Nothing is written if none was. Failures are of no consequence. Not within a
 * read section.
 */
void asked_write(const char *path, const state_root_t *root, bool keep);
