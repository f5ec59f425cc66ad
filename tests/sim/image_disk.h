/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The file of an environment as bytes: kept, put back, damaged, and as a power failure leaves it.
 */
#pragma once

#include "tests/sim/disk.h"
#include "tests/sim/tcp_random.h"

typedef struct {
	uint8_t *bytes; /* owned */
	size_t len;
	bool is_there; /* false: no file */
} disk_image_t;

/** Read or write the environment's file in a folder; an unreadable one ends the process. take_image->bytes is owned
 * afterwards. */
void disk_image_read(const char *folder, disk_image_t *ret_image);
void disk_image_write(const char *folder, const disk_image_t *image);
void disk_image_copy(const disk_image_t *from, disk_image_t *ret_to);
void disk_image_free(disk_image_t *image);

/**
 * What is on the disk when power fails after all that the log says: `image` before, and everything that was synced.
 * What was not is there or not in units of 512 bytes, by chance, in any order.
 */
void disk_image_fail(disk_image_t *image, const char *log, sim_random_t *random);

typedef enum {
	DAMAGE_BIT,
	DAMAGE_BITS,
	DAMAGE_BYTES,
	DAMAGE_ZERO_SECTOR,
	DAMAGE_ZERO_PAGE,
	DAMAGE_SWAP,
	DAMAGE_COPY,
	DAMAGE_TRUNCATE,
	DAMAGE_CUT_PAGES,
	DAMAGE_GARBAGE,
	DAMAGE_META,
	DAMAGE_BYTE_ORDER,
	DAMAGE_TAIL,
	DAMAGE_OLD_PAGE, /* a page of `older` in its place: the only kind after which older versions may be right */
	DAMAGE_COUNT,
} damage_t;

extern const char *const damage_names[DAMAGE_COUNT];

/** Damage an image that is longer than two pages. */
void disk_image_damage(disk_image_t *image, damage_t damage, const disk_image_t *older, sim_random_t *random);
