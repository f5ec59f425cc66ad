/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/image_disk.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, SECTOR = 512 };

static const char data_file[] = "data.mdb";

static void give_up(const char *what)
{
	perror(what);
	abort();
}

static void path_of(const char *folder, char ret_path[static 512])
{
	snprintf(ret_path, 512, "%s/%s", folder, data_file);
}

static void read_file(const char *path, disk_image_t *ret_image)
{
	struct stat info;
	*ret_image = (disk_image_t){ 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return;
	}
	if (fstat(fd, &info) != 0) {
		give_up(path);
	}
	*ret_image = (disk_image_t){ malloc((size_t)info.st_size + 1), (size_t)info.st_size, true };
	if (ret_image->bytes == NULL || read(fd, ret_image->bytes, ret_image->len) != (ssize_t)ret_image->len) {
		give_up(path);
	}
	close(fd);
}

void disk_image_read(const char *folder, disk_image_t *ret_image)
{
	char path[512];
	path_of(folder, path);
	read_file(path, ret_image);
}

void disk_image_write(const char *folder, const disk_image_t *image)
{
	char path[512];
	path_of(folder, path);
	if (!image->is_there) {
		unlink(path);
		return;
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
	if (fd < 0 || write(fd, image->bytes, image->len) != (ssize_t)image->len || close(fd) != 0) {
		give_up(path);
	}
}

void disk_image_copy(const disk_image_t *from, disk_image_t *ret_to)
{
	*ret_to = (disk_image_t){ malloc(from->len + 1), from->len, from->is_there };
	if (ret_to->bytes == NULL) {
		give_up("copy");
	}
	if (from->is_there) {
		memcpy(ret_to->bytes, from->bytes, from->len);
	}
}

void disk_image_free(disk_image_t *image)
{
	free(image->bytes);
	*image = (disk_image_t){ 0 };
}

static void resize(disk_image_t *image, size_t len)
{
	image->bytes = realloc(image->bytes, len + 1);
	if (image->bytes == NULL) {
		give_up("resize");
	}
	if (len > image->len) {
		memset(image->bytes + image->len, 0, len - image->len);
	}
	image->len = len;
	image->is_there = true;
}

/* ---- Power failure ---- */

typedef struct {
	const disk_entry_t *entry; /* in the log */
	uint64_t off, len;         /* the part of it */
} unit_t;

static void apply(disk_image_t *image, const disk_entry_t *entry, uint64_t off, uint64_t len)
{
	if (off + len > image->len) {
		resize(image, off + len);
	}
	memcpy(image->bytes + off, (const uint8_t *)(entry + 1) + (off - entry->off), len);
}

/* Cuts what was not synced into sectors, shuffles them, and writes some. */
static void apply_by_chance(disk_image_t *image, const disk_entry_t *const *pending, size_t count, sim_random_t *random)
{
	size_t units = 0, room = 0;
	unit_t *list = NULL;
	for (size_t i = 0; i < count; i++) {
		uint64_t end = pending[i]->off + pending[i]->len;
		for (uint64_t off = pending[i]->off; off < end;) {
			uint64_t next = (off / SECTOR + 1) * SECTOR, len = (next < end ? next : end) - off;
			if (units == room) {
				room = 2 * room + 64;
				list = realloc(list, room * sizeof(*list));
				if (list == NULL) {
					give_up("sectors");
				}
			}
			list[units++] = (unit_t){ pending[i], off, len };
			off += len;
		}
	}
	/* All, none, most, some, few. */
	static const uint32_t parts[] = { 1000000, 0, 950000, 500000, 50000 };
	uint32_t chance = parts[sim_below(random, sizeof(parts) / sizeof(parts[0]))];
	for (size_t i = units; i > 0; i--) {
		size_t other = sim_below(random, i);
		unit_t unit = list[other];
		list[other] = list[i - 1];
		if (sim_chance(random, chance)) {
			apply(image, unit.entry, unit.off, unit.len);
		}
	}
	free(list);
}

static void sync_all(disk_image_t *image, const disk_entry_t **pending, size_t *count)
{
	for (size_t i = 0; i < *count; i++) {
		apply(image, pending[i], pending[i]->off, pending[i]->len);
	}
	*count = 0;
}

void disk_image_fail(disk_image_t *image, const char *log, sim_random_t *random)
{
	disk_image_t text;
	read_file(log, &text);
	size_t count = 0, most = text.len / sizeof(disk_entry_t) + 1;
	const disk_entry_t **pending = calloc(most, sizeof(const disk_entry_t *));
	if (pending == NULL) {
		give_up("log");
	}
	for (size_t at = 0; text.len - at >= sizeof(disk_entry_t);) {
		const disk_entry_t *entry = (const disk_entry_t *)(const void *)(text.bytes + at);
		bool has_data = entry->kind == DISK_WRITE || entry->kind == DISK_NAME;
		size_t len = sizeof(*entry) + (has_data ? (entry->len + 7) / 8 * 8 : 0);
		if (text.len - at < len) {
			break; /* the process ended while it wrote this */
		}
		at += len;
		if (strcmp(entry->file, data_file) != 0) {
			continue;
		}
		switch ((disk_kind_t)entry->kind) {
		case DISK_WRITE:
			if (entry->is_durable) {
				apply(image, entry, entry->off, entry->len);
			} else {
				pending[count++] = entry;
			}
			break;
		case DISK_SYNC: sync_all(image, pending, &count); break;
		case DISK_TRUNCATE:
			sync_all(image, pending, &count);
			resize(image, entry->len);
			break;
		case DISK_NAME:
		case DISK_KIND_COUNT: break;
		}
	}
	apply_by_chance(image, pending, count, random);
	free(pending);
	disk_image_free(&text);
}

/* ---- Damage ---- */

const char *const damage_names[DAMAGE_COUNT] = {
	"one bit",
	"some bits",
	"some bytes",
	"a zeroed sector",
	"a zeroed page",
	"two pages swapped",
	"a page over another",
	"truncated",
	"truncated to pages",
	"garbage",
	"a bit of a meta page",
	"the other byte order",
	"a torn end",
	"a page of the past",
};

static void flip(disk_image_t *image, size_t low, size_t high, sim_random_t *random)
{
	image->bytes[sim_between(random, low, high - 1)] ^= (uint8_t)(1u << sim_below(random, 8));
}

static void swap(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len / 2; i++) {
		uint8_t byte = bytes[i];
		bytes[i] = bytes[len - 1 - i];
		bytes[len - 1 - i] = byte;
	}
}

/* Both meta pages as a machine of the other byte order writes them: magic and version are what LMDB looks at. */
static void swap_metas(disk_image_t *image)
{
	enum { PAGE_HEADER = 16 };
	for (size_t page = 0; page < 2; page++) {
		uint8_t *meta = image->bytes + page * PAGE + PAGE_HEADER;
		swap(meta, 4);
		swap(meta + 4, 4);
		for (size_t off = 8; off < 136; off += 8) {
			swap(meta + off, 8);
		}
	}
}

void disk_image_damage(disk_image_t *image, damage_t damage, const disk_image_t *older, sim_random_t *random)
{
	uint8_t page[PAGE];
	size_t pages = image->len / PAGE;
	uint8_t *one = image->bytes + sim_below(random, pages) * PAGE,
		*other = image->bytes + sim_below(random, pages) * PAGE;
	size_t start = sim_below(random, image->len - 1), len = 1 + sim_below(random, 64);
	switch (damage) {
	case DAMAGE_BIT: flip(image, 0, image->len, random); break;
	case DAMAGE_BITS:
		for (uint64_t count = sim_between(random, 2, 200); count > 0; count--) {
			flip(image, 0, image->len, random);
		}
		break;
	case DAMAGE_BYTES:
		len = len < image->len - start ? len : image->len - start;
		sim_stream_fill(sim_random(random), 0, image->bytes + start, len);
		image->bytes[start] ^= 1;
		break;
	case DAMAGE_ZERO_SECTOR: memset(one + sim_below(random, PAGE / SECTOR) * SECTOR, 0, SECTOR); break;
	case DAMAGE_ZERO_PAGE: memset(one, 0, PAGE); break;
	case DAMAGE_SWAP:
		memcpy(page, one, PAGE);
		memcpy(one, other, PAGE);
		memcpy(other, page, PAGE);
		break;
	case DAMAGE_COPY: memmove(one, other, PAGE); break;
	case DAMAGE_TRUNCATE: resize(image, start); break;
	case DAMAGE_CUT_PAGES: resize(image, sim_below(random, pages) * PAGE); break;
	case DAMAGE_GARBAGE: sim_stream_fill(sim_random(random), 0, image->bytes, image->len); break;
	case DAMAGE_META: flip(image, 0, 2 * PAGE, random); break;
	case DAMAGE_BYTE_ORDER: swap_metas(image); break;
	case DAMAGE_TAIL: memset(image->bytes + start, 0, image->len - start); break;
	case DAMAGE_OLD_PAGE:
		start = sim_below(random, (older->len < image->len ? older->len : image->len) / PAGE) * PAGE;
		memcpy(image->bytes + start, older->bytes + start, PAGE);
		break;
	case DAMAGE_COUNT: assert(false); break; /* not a kind of damage */
	}
}
