/* SPDX-License-Identifier: BSD-2-Clause */
/** Keys and numbers of Knot's journal, which is read by knot.c and written by knot_write.c. Internal to src/journal. */
#pragma once

#include "libknot/name/name.h"

#include <assert.h>

/*
 * Keys; numbers are big endian. What is text ends in a zero byte.
 *
 *   u32 0, text                        of the journal as a whole: "version", …
 *   zone, u32 0, u32 serial, u32 chunk a chunk of the change that begins at the serial
 *   zone, u32 0, "bootstrap", u32 chunk a chunk of the whole zone
 *   zone, u32 0, text                  of the zone: "first_serial", …
 *
 * A chunk: u32 serial that it leads to, u32 number of chunks (0: not said), u64 0, u64 time, u64 0, payload. Chunks are
 * numbered from 0; their payloads together are that of changeset.h.
 */
enum {
	KNOT_KEY_MAX = KNOT_NAME_MAX + 4 + 32,
	KNOT_CHUNK_HEADER = 32,
	KNOT_FLAG_FLUSHED = 1, /* legacy: serial_flushed is valid; since version 2 it is when it differs from the first
				  one */
	KNOT_FLAG_LAST = 2,
	KNOT_FLAG_MERGED = 4,
};

#define KNOT_WHOLE_TEXT   "bootstrap"
#define KNOT_VERSION_TEXT "version"
#define KNOT_TOTAL_TEXT   "last_total_occupied"

typedef struct {
	uint8_t bytes[KNOT_KEY_MAX];
	size_t len;
} knot_key_t;

static inline knot_bytes_t knot_key_bytes(const knot_key_t *key)
{
	return (knot_bytes_t){ key->bytes, key->len };
}

static inline void knot_key_put(knot_key_t *key, const void *bytes, size_t len)
{
	assert(len <= sizeof(key->bytes) - key->len);
	memcpy(key->bytes + key->len, bytes, len);
	key->len += len;
}

static inline void knot_key_put_u32(knot_key_t *key, uint32_t number)
{
	uint8_t bytes[4];
	store_be32(bytes, number);
	knot_key_put(key, bytes, sizeof(bytes));
}

/* What all keys of a zone begin with; of the journal as a whole without a zone. */
static inline knot_key_t knot_key_of(knot_name_t zone)
{
	knot_key_t key = { .len = 0 };
	if (zone.wire != NULL) {
		knot_name_lower(zone, key.bytes);
		key.len = zone.len;
	}
	knot_key_put_u32(&key, 0);
	return key;
}

static inline knot_key_t knot_key_text(knot_name_t zone, const char *text)
{
	knot_key_t key = knot_key_of(zone);
	knot_key_put(&key, text, strlen(text) + 1);
	return key;
}
