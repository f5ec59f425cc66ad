/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Entries of a journal as text, in the forms of Knot's kjournalprint, or as JSON. What could not be written is left to
 * ferror() and the writer of JSON.
 */
#pragma once

#include "libknot/base/json.h"
#include "src/journal/journal.h"

#include <stdio.h>

typedef struct {
	FILE *out;
	knot_json_t *json; /* within a list of entries; NULL: text */
	uint64_t now_s;    /* wall clock; for the times of the brief form */
	bool is_brief;     /* a line per entry (-d); JSON: without the records */
	bool is_chain;     /* all entries continue each other: no line sets the first apart */
	bool has_color;
	uint64_t skip;  /* entries not to be printed, counted down */
	uint64_t count; /* entries printed */
	knot_err_t err; /* KNOT_OK, or what ended the visits */
} print_t;

/** A visitor (journal_visit_t) that prints an entry; ctx: print_t. A damaged one is not printed in part. */
bool print_entry(const journal_entry_t *entry, void *ctx);
