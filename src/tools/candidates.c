/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/candidates.h"

#include "src/tools/must.h"

#include <string.h>
#include <strings.h>

void candidates_set_stem(candidates_t *found, const char *text, size_t len)
{
	free(found->stem);
	found->stem = must(strndup(text, len));
}

void candidates_set_stem_of(candidates_t *found, const complete_line_t *line)
{
	bool has_word = line->at < line->count;
	candidates_set_stem(found, has_word ? line->words[line->at] : "", has_word ? line->offset : 0);
}

static void candidates_put(candidates_t *found, const char *word)
{
	if (found->count == COMPLETE_MAX) {
		return;
	}
	if (found->count == found->max) {
		found->max = 2 * found->max + 16;
		found->words = must(realloc(found->words, found->max * sizeof(char *)));
	}
	found->words[found->count++] = must(strdup(word));
}

void candidates_add(candidates_t *found, const char *word)
{
	if (strncmp(word, found->stem, strlen(found->stem)) == 0) {
		candidates_put(found, word);
	}
}

void candidates_add_any_case(candidates_t *found, const char *word)
{
	if (strncasecmp(word, found->stem, strlen(found->stem)) == 0) {
		candidates_put(found, word);
	}
}

static int candidates_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void candidates_sort(candidates_t *found)
{
	if (found->count < 2) {
		return;
	}
	qsort(found->words, found->count, sizeof(char *), candidates_compare);
	size_t kept = 1;
	for (size_t i = 1; i < found->count; i++) {
		if (strcmp(found->words[kept - 1], found->words[i]) == 0) {
			free(found->words[i]);
		} else {
			found->words[kept++] = found->words[i];
		}
	}
	found->count = kept;
}

void candidates_free(candidates_t *found)
{
	for (size_t i = 0; i < found->count; i++) {
		free(found->words[i]);
	}
	free(found->words);
	free(found->stem);
	*found = (candidates_t){ 0 };
}

size_t candidates_shared(const candidates_t *found)
{
	if (found->count == 0) {
		return 0;
	}
	size_t shared = strlen(found->words[0]);
	for (size_t i = 1; i < found->count; i++) {
		size_t len = 0;
		while (len < shared && found->words[i][len] == found->words[0][len]) {
			len++;
		}
		shared = len;
	}
	return shared;
}
