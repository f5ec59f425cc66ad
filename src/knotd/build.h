/* SPDX-License-Identifier: BSD-2-Clause */
/** How the server was built: what `knotd -VV` prints behind the version. */
#pragma once

#include <stdio.h>

/**
 * Print blocks of lines `Name: value`, indented by four spaces and separated by blank lines, as Knot DNS does: test
 * harnesses and scripts read them.
 */
void build_print(FILE *out);
