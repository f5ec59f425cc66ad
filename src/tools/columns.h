/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Words in columns, downwards, as prompts list what can be completed.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/**
 * Print `count` words in as many columns as fit `width` characters, two blanks between them, each column as wide as the
 * longest word; no blanks at the ends of lines. A word that is wider than `width` stands on a line of its own. Widths
 * are counted in code points of UTF-8.
 */
void columns_print(FILE *out, char *const words[], size_t count, size_t width);
