/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The commands of knsupdate: lines in, an update and what to do with it out. One table has them all; help and
 * completion are made of its rows, and a test looks for each in the manual page.
 *
 * Pure: what a line asks to be shown, sent or ended is returned, and the caller does it. A script has what earlier
 * lines have said. One thread.
 */
#pragma once

#include "src/tools/lookup/lookup.h"
#include "src/tools/nsupdate/draft.h"

/** Where a command may stand. */
enum {
	SCRIPT_FIRST = 1 << 0,   /* as the first word */
	SCRIPT_PREREQ = 1 << 1,  /* behind "prereq" */
	SCRIPT_UPDATE = 1 << 2,  /* behind "update" */
	SCRIPT_FOREIGN = 1 << 3, /* nsupdate has it, and we don't: only its whole name counts */
};

/** What the caller has to do now. */
typedef enum {
	SCRIPT_GO_ON,
	SCRIPT_FAULT, /* `fault` says why; nothing has changed */
	SCRIPT_SHOW,
	SCRIPT_SEND,
	SCRIPT_ANSWER,
	SCRIPT_DEBUG,
	SCRIPT_HELP,
	SCRIPT_EXIT,
} script_step_t;

enum { SCRIPT_TTL_DEFAULT = 3600, SCRIPT_FAULT_MAX = 512 };

/** A host with its port, as a line has named it. */
typedef struct {
	char *text;         /* owned; NULL: none was named */
	lookup_host_t host; /* borrows it */
} script_host_t;

typedef struct {
	draft_t draft;
	uint8_t origin_wire[KNOT_NAME_MAX];
	knot_name_t origin; /* len 0: the root */
	uint16_t class;
	uint32_t ttl;
	script_host_t server, local;
	lookup_key_t *key; /* owned; NULL: unsigned */
	char fault[SCRIPT_FAULT_MAX];
	char warning[SCRIPT_FAULT_MAX]; /* of the last line; "": none */
} script_t;

/** The rest of a line: it is read word by word. */
typedef struct {
	const char *at, *end;
} script_line_t;

typedef struct script_command {
	const char *name;
	const char *arguments; /* for the help */
	const char *doc;       /* of one line */
	unsigned places;       /* SCRIPT_FIRST ... */
	script_step_t (*run)(script_t *script, script_line_t *line);
	script_step_t step; /* without `run`: what it asks for */
} script_command_t;

void script_init(script_t *script);
void script_done(script_t *script);

/** All rows, sorted by name. */
const script_command_t *script_commands(size_t *ret_count);

/** The row that a whole name or an unambiguous beginning of one means at a place; NULL: none, or *ret_ambiguous. */
const script_command_t *script_find(knot_str_t word, unsigned place, bool *ret_ambiguous);

/** Take one line, with or without its newline. An empty one and one with a comment ask for nothing. */
script_step_t script_take(script_t *script, knot_str_t line);

/** The next word of a line, up to a blank or a comment; len 0: there is none. */
knot_str_t script_word(script_line_t *line);
