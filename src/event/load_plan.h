/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a zone is loaded from: zonefile-load, journal-content and what is there, as a decision. Pure.
 */
#pragma once

#include "src/conf/conf.h"

/** What the decision depends on. */
typedef struct {
	conf_zonefile_load_t load;
	conf_journal_content_t content;
	bool is_signed;       /* … by this server: what the file has is compared with what is served */
	bool is_served;       /* the zone has contents: this is a reload */
	bool is_current;      /* if served: they are what the file gives */
	bool has_image;       /* an image of the present files and settings */
	bool has_file;        /* there is a zone file */
	bool has_whole;       /* the journal has a whole zone */
	bool is_only_journal; /* … that came from no file, and that no file ever got */
} load_facts_t;

typedef enum {
	LOAD_BASE_KEEP,    /* what is served stays */
	LOAD_BASE_NOTHING, /* there is nothing to load */
	LOAD_BASE_IMAGE,
	LOAD_BASE_FILE,    /* the file replaces what is served */
	LOAD_BASE_JOURNAL, /* the journal's whole zone with the changes after it */
	LOAD_BASE_SERVED,  /* what is served, which gets what differs in the file */
} load_base_t;

typedef struct {
	load_base_t base;
	bool has_changes;    /* what the journal has after the serial of the image or file is applied to it */
	bool reads_file;     /* base JOURNAL or SERVED: it gets what differs in the file */
	bool ignores_serial; /* … but for the serial, which the policy gives */
} load_plan_t;

load_plan_t load_plan(const load_facts_t *facts);

/** What to do with the differences of a file. */
typedef enum {
	LOAD_SERIAL_GOOD,
	LOAD_SERIAL_LOWER,        /* than that of the base */
	LOAD_SERIAL_INCOMPARABLE, /* RFC 1982 3.2: half the space apart */
} load_serial_t;

load_serial_t load_compare_serials(uint32_t base, uint32_t file);
