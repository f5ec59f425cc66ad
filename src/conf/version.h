/* SPDX-License-Identifier: BSD-2-Clause */
/** Which version a program is and how it was built: what -V and -VV of each program print. */
#pragma once

#include <stdbool.h>

/**
 * Print "program (Bowline), version x" to standard output; with_build (-VV, --version=x): behind it blocks of lines
 * `Name: value`, indented by four spaces and separated by blank lines, as Knot DNS does: test harnesses and scripts
 * read them. All programs print the same blocks.
 */
void conf_version_print(const char *program, bool with_build);
