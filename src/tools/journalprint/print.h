/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Entries of a journal as text, in the forms of Knot's kjournalprint. What could not be written is left to ferror().
 */
#pragma once

#include "src/journal/journal.h"

#include <stdio.h>

typedef struct {
	FILE *out;
	uint64_t now_s; /* wall clock; for the times of the brief form */
	bool is_brief;  /* a line per entry (-d) */
	bool is_chain;  /* all entries continue each other: no line sets the first apart */
	bool has_color;
	uint64_t skip;  /* entries not to be printed, counted down */
	uint64_t count; /* entries printed */
	knot_err_t err; /* KNOT_OK, or what ended the visits */
} print_t;

/** A visitor (journal_visit_t) that prints an entry; ctx: print_t. A damaged one is not printed in part. */
bool print_entry(const journal_entry_t *entry, void *ctx);
