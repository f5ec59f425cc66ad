/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/asked.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum {
	SLOT_COUNT = 2 * ASKED_MAX, /* open addressing, half full at most */
	SLICE = 16384,              /* zones looked at in one read section */
	WORDS_AROUND = 3,           /* of the file: mark, count, checksum */
};

static const char mark[8] = "BWLASK01";

struct asked {
	uint64_t slots[SLOT_COUNT]; /* 0: free */
};

static uint64_t asked_hash_of(knot_name_t name)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_lower(name, wire);
	uint64_t hash = XXH3_64bits(wire, name.len);
	return hash != 0 ? hash : 1;
}

/* The slot where `hash` is or would be. */
static uint64_t *asked_slot_of(asked_t *asked, uint64_t hash)
{
	size_t at = hash % SLOT_COUNT;
	while (asked->slots[at] != 0 && asked->slots[at] != hash) {
		at = (at + 1) % SLOT_COUNT;
	}
	return &asked->slots[at];
}

bool asked_has(const asked_t *asked, knot_name_t name)
{
	uint64_t hash = asked_hash_of(name);
	return asked != NULL && *asked_slot_of((asked_t *)asked, hash) == hash;
}

void asked_free(asked_t *asked)
{
	free(asked);
}

/* The words of the file, of which the second says how many hashes follow; NULL: there is no usable file. The caller
 * frees them. */
static uint64_t *asked_read_words(const char *path)
{
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		return NULL;
	}
	uint64_t *words = malloc((ASKED_MAX + WORDS_AROUND) * sizeof(*words));
	size_t count = words != NULL ? fread(words, sizeof(*words), ASKED_MAX + WORDS_AROUND, file) : 0;
	fclose(file);
	if (count < WORDS_AROUND || memcmp(words, mark, sizeof(mark)) != 0 || words[1] != count - WORDS_AROUND ||
			words[count - 1] != XXH3_64bits(words, (count - 1) * sizeof(*words))) {
		free(words);
		return NULL;
	}
	return words;
}

asked_t *asked_read(const char *path)
{
	uint64_t *words = asked_read_words(path);
	asked_t *asked = words != NULL ? calloc(1, sizeof(*asked)) : NULL;
	for (uint64_t i = 0; asked != NULL && i < words[1]; i++) {
		*asked_slot_of(asked, words[2 + i]) = words[2 + i];
	}
	free(words);
	return asked;
}

/* Collect hashes of zones that were queried; in slices, as there may be a million zones. */
static size_t asked_collect(const state_root_t *root, uint64_t *hashes)
{
	size_t found = 0, at = 0, count = 0;
	do {
		RCU_READ_SECTION(guard);
		const zonedb_t *zones = state_load(root, guard)->zones;
		count = zonedb_count(zones);
		for (size_t end = at + SLICE; at < end && at < count && found < ASKED_MAX; at++) {
			zone_t *zone = zonedb_zones(zones)[at];
			if (zone_take_asked(zone)) {
				hashes[found++] = asked_hash_of(zone_name(zone));
			}
		}
	} while (at < count && found < ASKED_MAX);
	return found;
}

static size_t asked_add_kept(const char *path, uint64_t *hashes, size_t count)
{
	uint64_t *words = asked_read_words(path);
	for (uint64_t i = 0; words != NULL && i < words[1] && count < ASKED_MAX; i++) {
		hashes[count++] = words[2 + i];
	}
	free(words);
	return count;
}

static bool asked_write_words(const char *path, const uint64_t *words, size_t count)
{
	FILE *file = fopen(path, "we");
	if (file == NULL) {
		return false;
	}
	bool written = fwrite(words, sizeof(*words), count, file) == count;
	return fclose(file) == 0 && written;
}

void asked_write(const char *path, const state_root_t *root, bool keep)
{
	uint64_t *words = malloc((ASKED_MAX + WORDS_AROUND) * sizeof(*words));
	if (words == NULL) {
		return;
	}
	size_t count = asked_collect(root, words + 2);
	if (count > 0) {
		count = keep ? asked_add_kept(path, words + 2, count) : count;
		memcpy(words, mark, sizeof(mark));
		words[1] = count;
		words[2 + count] = XXH3_64bits(words, (2 + count) * sizeof(*words));
		char new_path[PATH_MAX];
		int len = snprintf(new_path, sizeof(new_path), "%s.new", path);
		if (len < (int)sizeof(new_path) && asked_write_words(new_path, words, count + WORDS_AROUND)) {
			(void)rename(new_path, path);
		}
	}
	free(words);
}
