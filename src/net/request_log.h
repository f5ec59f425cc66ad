/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Log lines of requests that need permission or a key: by whom and whether they were let through, what is wrong with
 * their signature, and what they asked for. Values of the engine become Knot's text. Never for plain queries.
 */
#pragma once

#include "src/answer/aside.h"

/** Write them. report: has ANSWER_EFFECT_NOTED, and a zone. May be called in a read section (doc/locks.md, rule 2). */
void request_log(const answer_source_t *source, const answer_report_t *report, const answer_aside_t *aside);
