/* SPDX-License-Identifier: BSD-2-Clause */
/** Ways to damage a file of LMDB, at random: for the tests of what is stored in it. */
#pragma once

#include "libknot/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint64_t test_random_state;

static inline uint64_t test_random(uint64_t end)
{
	test_random_state = test_random_state * 6364136223846793005 + 1442695040888963407;
	return (test_random_state >> 33) * 0x9e3779b97f4a7c15 % end;
}

/* ---- Each changes a file of `len` bytes, at least three pages ---- */

typedef struct {
	const char *what;
	void (*damage)(uint8_t *file, size_t *len);
} damage_kind_t;

static inline void damage_flip_bit(uint8_t *file, size_t *len)
{
	uint64_t bit = test_random(*len * 8);
	file[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

static inline void damage_flip_meta(uint8_t *file, size_t *len)
{
	(void)len;
	uint64_t bit = test_random(152 * 8);
	file[bit / 8 + 4096 * test_random(2)] ^= (uint8_t)(1 << bit % 8);
}

/* A page of a tree, by its kind. */
static inline uint8_t *damage_tree_page(uint8_t *file, size_t len)
{
	for (;;) {
		uint8_t *page = file + 4096 * (2 + test_random(len / 4096 - 2));
		if (page[10] == 1 || page[10] == 2) {
			return page;
		}
	}
}

static inline void damage_flip_tree(uint8_t *file, size_t *len)
{
	uint64_t bit = test_random(4096 * 8);
	damage_tree_page(file, *len)[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

static inline void damage_flip_page_head(uint8_t *file, size_t *len)
{
	uint64_t bit = test_random(64 * 8);
	damage_tree_page(file, *len)[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

static inline void damage_randomize(uint8_t *file, size_t *len)
{
	uint64_t at = test_random(*len - 64), count = 1 + test_random(64);
	for (uint64_t i = 0; i < count; i++) {
		file[at + i] = (uint8_t)test_random(256);
	}
}

static inline void damage_zero_page(uint8_t *file, size_t *len)
{
	memset(file + 4096 * test_random(*len / 4096), 0, 4096);
}

static inline void damage_copy_page(uint8_t *file, size_t *len)
{
	memcpy(file + 4096 * test_random(*len / 4096), file + 4096 * test_random(*len / 4096), 4096);
}

static inline void damage_cut(uint8_t *file, size_t *len)
{
	(void)file;
	*len = test_random(*len);
}

static inline void damage_cut_pages(uint8_t *file, size_t *len)
{
	(void)file;
	*len = 4096 * test_random(*len / 4096);
}

static const damage_kind_t damage_kinds[] = {
	{ "one bit anywhere", damage_flip_bit },
	{ "one bit of a meta page", damage_flip_meta },
	{ "one bit of a tree's page", damage_flip_tree },
	{ "one bit of a page's start", damage_flip_page_head },
	{ "random bytes", damage_randomize },
	{ "a page of zeros", damage_zero_page },
	{ "a page in place of another", damage_copy_page },
	{ "cut anywhere", damage_cut },
	{ "cut between pages", damage_cut_pages },
};
