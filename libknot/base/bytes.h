/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Borrowed byte ranges, and a reader and a writer over them.
 *
 * Reader and writer fail stickily: after the first access out of bounds every read yields 0 and every write does
 * nothing, and `failed` stays set, so a parser checks once per logical unit. All integers are big-endian on the
 * wire. Nothing here allocates or owns memory; all of it is inline: it is the hot path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
	const uint8_t *data;
	size_t len;
} knot_bytes_t;

typedef struct {
	uint8_t *data;
	size_t len;
} knot_mut_bytes_t;

/** Text that needs no terminator. */
typedef struct {
	const char *data;
	size_t len;
} knot_str_t;

#define KNOT_STR(literal) ((knot_str_t){ (literal), sizeof(literal) - 1 })

static inline knot_str_t knot_str_of(const char *text)
{
	return (knot_str_t){ text, strlen(text) };
}

static inline bool knot_str_eq(knot_str_t a, knot_str_t b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline uint16_t load_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t load_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline uint64_t load_be64(const uint8_t *p)
{
	return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

/** Eight bytes as a number whose lowest byte is the first one. */
static inline uint64_t load_le64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

static inline void store_be16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
	store_be32(p, (uint32_t)(v >> 32));
	store_be32(p + 4, (uint32_t)v);
}

typedef struct {
	const uint8_t *data;
	size_t len;
	size_t pos; /* next byte to read, [0..len] */
	bool failed;
} knot_reader_t;

static inline knot_reader_t knot_reader_of(knot_bytes_t bytes)
{
	return (knot_reader_t){ .data = bytes.data, .len = bytes.len };
}

static inline size_t knot_reader_left(const knot_reader_t *r)
{
	return r->len - r->pos;
}

/** The next `len` bytes, borrowed; NULL and `failed` when there are fewer. */
static inline const uint8_t *knot_read(knot_reader_t *r, size_t len)
{
	if (r->failed || len > r->len - r->pos) {
		r->failed = true;
		return NULL;
	}
	const uint8_t *p = r->data + r->pos;
	r->pos += len;
	return p;
}

static inline uint8_t knot_read_u8(knot_reader_t *r)
{
	const uint8_t *p = knot_read(r, 1);
	return p != NULL ? *p : 0;
}

static inline uint16_t knot_read_u16(knot_reader_t *r)
{
	const uint8_t *p = knot_read(r, 2);
	return p != NULL ? load_be16(p) : 0;
}

static inline uint32_t knot_read_u32(knot_reader_t *r)
{
	const uint8_t *p = knot_read(r, 4);
	return p != NULL ? load_be32(p) : 0;
}

static inline uint64_t knot_read_u64(knot_reader_t *r)
{
	const uint8_t *p = knot_read(r, 8);
	return p != NULL ? load_be64(p) : 0;
}

typedef struct {
	uint8_t *data;
	size_t max;  /* capacity in bytes */
	size_t len;  /* written so far */
	bool failed; /* something did not fit; data[0..len) is whole units only if the caller rolls back */
} knot_writer_t;

static inline knot_writer_t knot_writer_of(knot_mut_bytes_t bytes)
{
	return (knot_writer_t){ .data = bytes.data, .max = bytes.len };
}

/** Room for `len` bytes, to be filled by the caller; NULL and `failed` when it does not fit. */
static inline uint8_t *knot_write_room(knot_writer_t *w, size_t len)
{
	if (w->failed || len > w->max - w->len) {
		w->failed = true;
		return NULL;
	}
	uint8_t *p = w->data + w->len;
	w->len += len;
	return p;
}

static inline void knot_write(knot_writer_t *w, const void *bytes, size_t len)
{
	uint8_t *p = knot_write_room(w, len);
	if (p != NULL && len > 0) {
		memcpy(p, bytes, len);
	}
}

static inline void knot_write_u8(knot_writer_t *w, uint8_t v)
{
	knot_write(w, &v, 1);
}

static inline void knot_write_u16(knot_writer_t *w, uint16_t v)
{
	uint8_t *p = knot_write_room(w, 2);
	if (p != NULL) {
		store_be16(p, v);
	}
}

static inline void knot_write_u32(knot_writer_t *w, uint32_t v)
{
	uint8_t *p = knot_write_room(w, 4);
	if (p != NULL) {
		store_be32(p, v);
	}
}

static inline void knot_write_u64(knot_writer_t *w, uint64_t v)
{
	uint8_t *p = knot_write_room(w, 8);
	if (p != NULL) {
		store_be64(p, v);
	}
}
