/* SPDX-License-Identifier: BSD-2-Clause */
/** What can stand at the cursor of a command line: a list of words that is filled, sorted, and shown or used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** A line that was cut into words, and where the cursor is. */
typedef struct {
	const char *const *words;
	size_t count;
	size_t at;     /* word of the cursor; `count`: a new one */
	size_t offset; /* bytes of that word before the cursor */
} complete_line_t;

enum { COMPLETE_MAX = 10000 };

/** Candidates, sorted and without duplicates. */
typedef struct {
	char **words; /* owned; what replaces `stem` */
	size_t count, max;
	char *stem;      /* owned; the part of the word before the cursor that all `words` begin with */
	const char *end; /* what follows a word that is the only one: " ", "]", ... */
} candidates_t;

/** What the words have to begin with from now on: `len` bytes of `text`. */
void candidates_set_stem(candidates_t *found, const char *text, size_t len);

/** The stem of a line: what is before the cursor of its word. */
void candidates_set_stem_of(candidates_t *found, const complete_line_t *line);

/** Put a word, if it begins so and there are fewer than COMPLETE_MAX. */
void candidates_add(candidates_t *found, const char *word);

/** The same in any case of ASCII letters; the word is put as it is given. */
void candidates_add_any_case(candidates_t *found, const char *word);

/** Sort, and drop duplicates. */
void candidates_sort(candidates_t *found);

void candidates_free(candidates_t *found);

/** Bytes that all candidates share, at least those of the stem. 0: there are none. */
size_t candidates_shared(const candidates_t *found);
