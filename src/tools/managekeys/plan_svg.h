/* SPDX-License-Identifier: BSD-2-Clause */
/** A picture of a calendar of keys: a row for each key, a bar for each of its states. SVG 1.1; prints and returns. */
#pragma once

#include "src/keys/plan.h"
#include "src/tools/managekeys/keymgr.h"

enum { PLAN_NAME_MAX = DNSSEC_KEY_ID_MAX + 1 };

/** A key's tag, or the name of one that will be made. */
void plan_print_name(const keys_plan_t *plan, size_t key, char ret_name[static PLAN_NAME_MAX]);

/** zone: as text; it needs no escapes for XML but those of its own. */
void plan_print_svg(const keys_plan_t *plan, const keys_plan_params_t *params, const char *zone, FILE *out);
