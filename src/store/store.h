/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Zone images in LMDB: chunks of bytes and a head per zone, written so that a zone's image is whole or is not there.
 *
 * Owns the environment in one folder. Of a zone it knows only the name: the contents of head and chunks are the
 * caller's (src/zone/image.h). Layout, checksums, and what happens in a crash: doc/formats/zone-image.md. Any thread
 * may read; one thread at a time saves or removes (LMDB has one writer; others would wait for it). Nothing is logged
 * here: faults come back as an error and a text.
 */
#pragma once

#include "libknot/name/name.h"
#include "src/sys/lmdb_env.h"

#include <sys/stat.h>

typedef struct store store_t;

enum {
	STORE_SIZE_MIN = 64 << 10, /* bytes of a map, at least; a configuration allows 1 MiB */
};

/** Why something failed, for a log line: what, where, and what to do. */
typedef sys_lmdb_reason_t store_reason_t;

/** How to open an environment. */
typedef struct {
	const char *path;  /* folder; its parent must exist. Borrowed for the call */
	uint64_t size_max; /* bytes, LMDB's map size, at least STORE_SIZE_MIN; an existing larger file is still opened
			    */
	uint32_t format;   /* number of the caller's layout of heads and chunks: written into each image; images of
			      another one are KNOT_ENOTSUP. 0: any */
	bool read_only;    /* read it, also while another process writes; nothing is made, removed or set aside */
} store_options_t;

/**
 * Open the environment in a folder, or make one with a mode of 0770 less umask.
 * Leftovers of an interrupted save are removed. An environment of another format or byte order, or a damaged one (its
 * pages are checked first, as LMDB itself trusts them), is set aside (renamed to data.mdb.damaged, replacing an
 * earlier one) and a new one made; ret_reason then says so with KNOT_OK, else its text is empty. KNOT_EACCES,
 * KNOT_ENOMEM, KNOT_EBUSY (another process writes to it), KNOT_EEXIST (a database of another program: left as it is),
 * KNOT_ENOENT (read_only: there is none), KNOT_EMALF and KNOT_ENOTSUP (read_only: damaged, another format), KNOT_EFILE
 * …: ret_reason says more.
 */
KNOT_MUST_USE knot_err_t store_open(const store_options_t *options, store_t **ret_store, store_reason_t *ret_reason);

/** Close it, after the last reader and writer have ended. NULL is allowed. */
void store_close(store_t *take_store);

/* ---- Saving ---- */

enum {
	STORE_HEAD_MAX = 64 * 1024, /* bytes */
	STORE_SOURCE_MAX = 1024,    /* sources of an image */
	STORE_PATH_MAX = 4096,      /* bytes of a source's path */
};

/** A file that a version was made from, as stat(2) saw it then. While all of this is the same, so is the file. */
typedef struct {
	knot_str_t path;
	uint64_t size; /* bytes */
	uint64_t inode;
	int64_t mtime_s;   /* seconds since 1970 */
	uint32_t mtime_ns; /* [0..999999999] */
} store_source_t;

/** True if a file that stat(2) saw as `now` is the source as it was. The path is not looked at. */
bool store_source_is(const store_source_t *source, const struct stat *now);

/** One version of a zone, borrowed for the call. */
typedef struct {
	knot_name_t zone;
	const store_source_t
			*sources; /* the zone file first, then what it includes; none: the version has another origin */
	uint32_t source_count;
	bool is_ahead;     /* the version has changes that the sources don't have */
	uint32_t serial;   /* of the SOA, for lists */
	uint64_t settings; /* hash of the other inputs of the version; compared by the caller */
	uint64_t lineage;  /* chunks of one lineage only grow at their end, or become empty and stay so: what is stored
			    * of them stays  as it is */
	knot_bytes_t head; /* opaque; at most STORE_HEAD_MAX */
	const knot_bytes_t *chunks; /* the bytes in use of each */
	uint32_t chunk_count;
} store_image_t;

/** What a save has done. */
typedef struct {
	uint64_t written; /* bytes of chunks; less than the images' size when parts had been stored before */
	uint32_t skipped; /* images not stored for lack of room: ret_reason says which room
			   */
	uint32_t refused; /* images that exceed a limit: ret_reason names one, unless it is about skipped ones */
} store_saved_t;

/**
 * Save images, of different zones, durably: afterwards each is there as given, and after a crash each is as before or
 * as given. Only the bytes of a lineage that are not yet stored are written. As small images share a transaction, many
 * in one call are much cheaper than many calls. An image larger than a transaction should be is written in several,
 * and becomes visible with the last. KNOT_OK also if some were skipped because the map is too small for them, or
 * refused: the earlier images of these zones stay. KNOT_ESPACE: the disk is full, KNOT_EFILE: another error of the
 * disk; each image is as before or as given. ret_saved is set whatever is returned; ret_reason: empty if all were
 * saved.
 */
KNOT_MUST_USE knot_err_t store_save(store_t *store, const store_image_t *images, size_t count, store_saved_t *ret_saved,
		store_reason_t *ret_reason);

/** Remove images of zones, those that have one; ret_removed: how many. Errors of store_save(), and KNOT_ESPACE for a
 * full map: all or some are still there. */
KNOT_MUST_USE knot_err_t store_remove(store_t *store, const knot_name_t *zones, size_t count, size_t *ret_removed,
		store_reason_t *ret_reason);

/* ---- Reading ---- */

/** An image being read. It holds a read transaction of LMDB: end it soon, as pages freed since its start can't be
 * reused before. */
typedef struct store_reader store_reader_t;

/** The stored image of a zone; borrowed from the reader. */
typedef struct {
	knot_bytes_t head;
	const store_source_t *sources;
	uint32_t source_count;
	bool is_ahead;
	uint32_t serial;
	uint64_t settings;
	uint32_t format; /* the caller's, see store_options_t */
	uint64_t lineage;
	uint64_t saved_s;           /* wall clock, seconds since 1970 */
	uint64_t size;              /* bytes of all chunks */
	const uint64_t *chunk_lens; /* bytes */
	uint32_t chunk_count;
	uint32_t piece_count; /* values that the chunks are stored in */
} store_view_t;

/**
 * Begin to read a zone's image. KNOT_ENOENT: there is none. KNOT_EMALF: it is damaged, KNOT_ENOTSUP: of another format
 * or byte order; ret_reason says what. ret_view is valid until store_read_end().
 */
KNOT_MUST_USE knot_err_t store_read_begin(store_t *store, knot_name_t zone, store_reader_t **ret_reader,
		store_view_t *ret_view, store_reason_t *ret_reason);

/**
 * Copy a whole chunk to `to` (view.chunk_lens[chunk] bytes) and verify it. Threads may read chunks of one reader at the
 * same time. KNOT_EMALF: damaged, KNOT_EFILE: could not be read.
 */
KNOT_MUST_USE knot_err_t store_read_chunk(
		store_reader_t *reader, uint32_t chunk, uint8_t *to, store_reason_t *ret_reason);

void store_read_end(store_reader_t *take_reader);

/**
 * Call `visit` with each zone that has an image, in canonical order of names, until it returns false. `name` is valid
 * during the call, in which no transaction is open: it may take long, save and remove. Changes made meanwhile may be
 * seen or not. Damaged records are left out: even the names of their zones are unknown.
 */
KNOT_MUST_USE knot_err_t store_each(store_t *store, bool (*visit)(knot_name_t name, void *ctx), void *ctx);

/** How many records store_each() leaves out. */
KNOT_MUST_USE knot_err_t store_count_damaged(store_t *store, size_t *ret_count);

/** Bytes: what the environment takes up of its map, and the map. */
typedef struct {
	uint64_t used, max;
} store_room_t;

store_room_t store_room(const store_t *store);
