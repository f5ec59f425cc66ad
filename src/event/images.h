/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Images of the zones on disk: whether one may be served instead of reading the zone file, and the thread that saves
 * them.
 *
 * An image is used when everything it was made from is unchanged (source.h). Saving doesn't delay serving: the writer
 * takes new versions some time after they were published, at low priority, only the newest version of a zone, and many
 * small ones at once. When the disk or the map is full, saving stops for some minutes and serving goes on; each change
 * from good to bad and back is logged once. Not here: the layout on disk (store/), the meaning of a zone's bytes
 * (zone/image.h).
 */
#pragma once

#include <limits.h>

#include "src/event/source.h"
#include "src/zone/contents.h"

typedef struct images images_t;

/** A version to save. */
typedef struct {
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;          /* of wire[] */
	zone_contents_t *contents; /* owned: zone_image_hold() */
	sources_t *sources;        /* owned */
	uint64_t print;            /* of the sources when they were read */
} images_item_t;

typedef struct {
	const char *path;  /* folder; its parent is made if it is missing. Copied */
	uint64_t size_max; /* bytes */
	/**
	 * Fill items[0..max) with zones whose newest version isn't saved yet, up to about `bytes_max` together, but
	 * always one; returns how many. Called by the writer's thread.
	 */
	size_t (*take)(images_item_t *items, size_t max, uint64_t bytes_max, void *ctx);
	/** These were saved, or they were not and must be taken again after `retry` was called. */
	void (*saved)(const images_item_t *items, size_t count, bool success, void *ctx);
	/** Versions that could not be saved must be taken again. */
	void (*retry)(void *ctx);
	/** Called every few minutes, with the folder of the images. */
	void (*now_and_then)(const char *path, void *ctx);
	/** True while zones are being loaded, which comes first. */
	bool (*is_busy)(void *ctx);
	void *ctx;
} images_params_t;

/** Open the images. Succeeds but for KNOT_ENOMEM: when they can't be opened, a warning is logged and the server runs
 * without images. */
KNOT_MUST_USE knot_err_t images_new(const images_params_t *params, images_t **ret_images);

/** Start the writer, if there are images. */
KNOT_MUST_USE knot_err_t images_start(images_t *images);

/** True if versions can be saved. */
bool images_exist(const images_t *images);

/** Folder of the images; NULL: there is none. */
const char *images_path(const images_t *images);

/** Wake the writer: there is something to save. Any thread; cheap. */
void images_wake(images_t *images);

/**
 * Note that a version was taken for saving: called within params.take(), before the zone may change again.
 */
void images_note_taken(images_t *images, knot_name_t name, uint32_t serial);

/**
 * The serials of the zone's image on disk and of the version that is being saved; returns how many are known. What
 * leads on from the newer one is needed if the server starts before that is saved. Any thread; a read transaction of
 * the images.
 */
size_t images_serials(images_t *images, knot_name_t name, uint32_t ret_serials[static 2]);

/** The configuration changed: try again at once to save versions that could not be saved. */
void images_retry(images_t *images);

/** Save waiting versions for at most a second, and end the writer. NULL is allowed. */
void images_stop(images_t *images);

/** Free them, after images_stop() and with no reader left. NULL is allowed. */
void images_free(images_t *images);

/** Text of why an image isn't used. */
enum { IMAGES_REASON_MAX = 512 };

typedef enum {
	IMAGES_READ,    /* ret_contents, ret_source are set */
	IMAGES_NONE,    /* there is none */
	IMAGES_STALE,   /* made from something else; ret_reason says from what */
	IMAGES_DAMAGED, /* ret_reason says what is wrong */
} images_verdict_t;

typedef struct {
	knot_name_t name;
	const char *path;  /* of the zone file */
	uint64_t settings; /* settings_number() */
} images_query_t;

/**
 * Read the image of a zone if its sources are unchanged. ret_source: where its contents came from; free it with
 * source_clear().
 */
images_verdict_t images_read(images_t *images, const images_query_t *query, zone_contents_t **ret_contents,
		load_source_t *ret_source, char ret_reason[static IMAGES_REASON_MAX]);

/** What is stored for a zone. */
typedef struct {
	images_verdict_t verdict; /* IMAGES_READ: it would be used */
	uint32_t serial;
	uint64_t size;                  /* bytes */
	uint32_t pieces;                /* values in the database */
	uint64_t saved_s;               /* wall clock */
	char path[PATH_MAX];            /* zone file that it was made from */
	char reason[IMAGES_REASON_MAX]; /* if it isn't IMAGES_READ */
} images_info_t;

void images_info(images_t *images, const images_query_t *query, images_info_t *ret_info);

/** Remove the images of zones. ret_removed: how many there were. Waits for a running save. Errors are logged. */
KNOT_MUST_USE knot_err_t images_remove(images_t *images, const knot_name_t *names, size_t count, size_t *ret_removed);

/**
 * Remove all images whose zone is `wanted`. Errors of images_remove(), and KNOT_ENOMEM: some or all images still
 * exist.
 */
KNOT_MUST_USE knot_err_t images_remove_if(images_t *images, bool (*wanted)(knot_name_t name, void *ctx), void *ctx);
