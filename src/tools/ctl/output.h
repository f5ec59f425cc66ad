/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies as text, in the format of Knot 3.5 or 3.6, or as JSON in one of two forms. Prints to one stream, keeps what
 * it needs between units.
 */
#pragma once

#include "src/tools/ctl/action.h"
#include "src/tools/ctl/reply.h"
#include "src/tools/ctl/table.h"

#include <stdio.h>

typedef enum {
	FORMAT_35, /* as Knot 3.2 to 3.5 print; the default, see doc/adr */
	FORMAT_36,
	FORMAT_JSON, /* for people and their scripts, see reply.h */
	FORMAT_RAW,  /* JSON, too: the units of the protocol as they come */
} format_t;

static inline bool output_is_json(format_t format)
{
	return format == FORMAT_JSON || format == FORMAT_RAW;
}

typedef struct {
	FILE *out;
	const action_t *action;
	format_t format;
	const char *detail; /* status: what was asked for, borrowed; NULL: nothing */
	bool extended;      /* show empty fields too */
	bool color;
	bool all_zones;   /* "--" was given */
	bool zeros;       /* xdp-status: show rows of zeros too */
	bool line_open;   /* text without its newline was printed */
	bool field_shown; /* zone-status: a field stands on the line */
	bool printed;     /* anything at all */
	bool failed;      /* an ERROR unit came */
	bool loading;     /* status: the server is loading zones */
	reply_t reply;    /* FORMAT_JSON */
	knot_json_t raw;  /* FORMAT_RAW */
	char **warnings;  /* owned: texts that follow the success, see output_end() */
	size_t warning_count;
	table_t *table;      /* owned: being filled, NULL: none */
	size_t table_count;  /* printed */
	char table_name[64]; /* the interface */
	char facts[256];     /* behind its name */
	char difference[32]; /* between what came in and what went out */
} output_t;

/** Begin the reply of a command. */
void output_begin(output_t *output);

/** Print a DATA or EXTRA unit. */
void output_unit(output_t *output, knot_ctl_type_t type, const knot_ctl_data_t *unit);

/** End the reply. error: NULL, or why the reply isn't whole. False: an ERROR unit came, or error is set. */
bool output_end(output_t *output, const char *error);

/** For output.c: take a unit that is a cell of a table; print the table. */
void output_table_unit(output_t *output, const knot_ctl_data_t *unit);
void output_table_end(output_t *output);
