/* SPDX-License-Identifier: BSD-2-Clause */
/** Lengths of time as text. Pure; any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** Print seconds as Knot does, "+23h58m1s": the sign, then the units Y M D h m s that aren't 0. */
void sys_interval_print(int64_t seconds, char *ret_text, size_t max);
