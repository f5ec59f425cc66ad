/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the reader of text (load.c) and that of files (load_file.c) share. Only for them.
 *
 * An error is reported where it is found, and reading goes on behind it, so that one run reports all of them. Mere
 * consequences of an error aren't reported: items of an unknown section are skipped, those of a block whose identifier
 * is wrong are checked but not kept, a block with a wrong item isn't checked as a whole, and an identifier that is
 * missing may be one of a block that couldn't be read.
 */
#pragma once

#include "libknot/text/conf_grammar.h"
#include "src/conf/load.h"
#include "src/conf/unsupported.h"
#include "src/conf/value.h"

enum { NO_SECTION = CONF_S_COUNT };

/** The place of the reader, which faults name. */
typedef struct {
	const char *file;
	size_t line;
	knot_str_t key, value; /* len 0: not known */
	unsigned depth;
} place_t;

/** Where items go. */
typedef enum {
	BLOCK_NONE,  /* the section has none yet */
	BLOCK_KEPT,  /* a block of the section's table */
	BLOCK_LOST,  /* its identifier is wrong: items are checked and dropped */
	BLOCK_UNREAD /* the section isn't known: items are skipped */
} block_state_t;

typedef struct {
	conf_store_t *store; /* borrowed */
	conf_sink_t sink;    /* counts, then passes on to `outer` */
	conf_sink_t outer;
	bool is_checked;      /* lint values: conf_host_t.is_checked */
	bool is_fatal;        /* the last error ends the reading: no memory, or an include loop */
	knot_err_t first_err; /* what the whole reading returns */
	size_t error_count;
	size_t fault_line; /* of the last error in the current file; 0: none */
	conf_unsupported_t unsupported;
	place_t place;
	size_t section; /* NO_SECTION before the first */
	block_state_t state;
	bool is_damaged;             /* an item of the block was wrong */
	size_t block;                /* BLOCK_KEPT: its index in the section's table */
	bool has_lost[CONF_S_COUNT]; /* blocks of the section couldn't be read */
	uint8_t *items;              /* the block's packed items until it ends; owned */
	size_t items_len, items_max;
	uint8_t value[CONF_VALUE_MAX];
} loader_t;

/** One text from its start to its end; sections don't reach over the borders of a file. Fails if it can't go on. */
KNOT_MUST_USE knot_err_t load_text(loader_t *loader, knot_str_t text);

/** A file. Fails if it can't be read or it can't go on. hint: behind the error of one that can't; may be NULL. */
KNOT_MUST_USE knot_err_t load_file(loader_t *loader, const char *path, const char *hint);

/** The files that match the value of the current place. */
KNOT_MUST_USE knot_err_t load_include(loader_t *loader);

/** Report a fault of the current line, with item and value as far as they are known. hint: may be NULL. Returns err. */
knot_err_t load_fail_item(const loader_t *loader, knot_err_t err, const char *reason, const char *hint);

/** As above, with the text of the code as reason. */
knot_err_t load_fail_code(const loader_t *loader, knot_err_t err);

/** With a message of its own, for faults that aren't about an item. Returns err. */
__attribute__((format(printf, 5, 6))) knot_err_t load_tell_text(const loader_t *loader, conf_severity_t severity,
		knot_err_t err, const char *hint, const char *format, ...);

/** Note an error that was reported. KNOT_OK: go on reading; else the error, which ends it. */
KNOT_MUST_USE knot_err_t load_recover(loader_t *loader, knot_err_t err);
