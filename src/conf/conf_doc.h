/* SPDX-License-Identifier: BSD-2-Clause */
/** What the programs share that make documents from the schema's rows. Not part of the library. */
#pragma once

#include "src/conf/row_text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/** Name of the row's type in documents; NULL: options alone. */
const char *conf_doc_type(const conf_row_t *row);

/** Print the reference part of the manual, in reStructuredText: sections underlined with -, items with ~. */
void conf_doc_rst(void);
