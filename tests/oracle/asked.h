/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * For the oracle: the answers that two versions give to the same questions, byte for byte, through the answer engine.
 *
 * Asked about a name: itself, a name below, its neighbours in canonical order, the wildcard below; for each, the types
 * that are there and one that isn't, DS, ANY, with DO and without, with room for all and with little.
 */
#pragma once

#include "src/zone/contents.h"

typedef struct asked asked_t;

/** What answers are asked with. It registers the thread as a reader. */
asked_t *asked_new(knot_name_t origin);
void asked_free(asked_t *take_asked);

/** Borrow two versions until asked_end(). */
void asked_begin(asked_t *asked, zone_contents_t *zone, zone_contents_t *want);
void asked_end(asked_t *asked);

/** Ask all about a name (lower case, in the zone), or one question that `random` chooses. True: the answers are the
 * same. */
bool asked_all_of(asked_t *asked, knot_name_t name);
bool asked_one_of(asked_t *asked, knot_name_t name, uint64_t random);

/** All about each name of both versions. ret_at: the name whose answers differ. */
bool asked_everything(asked_t *asked, knot_name_t *ret_at);

/** Questions asked so far. */
uint64_t asked_count(const asked_t *asked);

/** The question whose answers differed last, for a message. */
const char *asked_text(const asked_t *asked);
