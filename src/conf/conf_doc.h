/* SPDX-License-Identifier: BSD-2-Clause */
/** What the documents made from the schema's rows share. Not part of the library. */
#pragma once

#include "src/conf/schema.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { CONF_DOC_NUMBER_MAX = 32 };

/** Name of the row's type in documents; NULL: options alone. */
const char *conf_doc_type(const conf_row_t *row);

/** A number in the largest unit of the row that divides it. Returns ret_text. */
const char *conf_doc_number(const conf_row_t *row, int64_t number, char ret_text[static CONF_DOC_NUMBER_MAX]);

/** True if the row's upper bound is only what its number can hold. */
bool conf_doc_is_open(const conf_row_t *row);

/** Print the reference part of the manual, in reStructuredText: sections underlined with -, items with ~. */
void conf_doc_rst(void);
