/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The options of kdig, one row each: what it is called, what it takes, what it is for, and what it does. The help, the
 * manual page and completion are made of these rows. Constant.
 */
#pragma once

#include "src/tools/lookup/lookup.h"

typedef enum {
	OPTION_TAKES_NOTHING,
	OPTION_MAY_TAKE, /* +name or +name=value */
	OPTION_TAKES,    /* +name=value */
} option_argument_t;

/** What a row does. Rows of the same kind need no code of their own. */
typedef enum {
	OPTION_BOOL,  /* sets a bool of the query, at `offset` */
	OPTION_NOT,   /* clears it */
	OPTION_SHOWS, /* bits of style.shows */
	OPTION_FLAG,  /* a bit of flags */
	OPTION_CALL,  /* `set` */
} option_kind_t;

/** The outcome of a value. */
typedef enum {
	OPTION_GOOD,
	OPTION_INVALID, /* "invalid +name=value" */
	OPTION_SAID,    /* wrong, and the reason has been said */
} option_result_t;

/** What settings of a query point to; they end together, by dig_options_free(). */
typedef struct option_data option_data_t;

/** What options are set in: the query, and whom to tell what is wrong. */
typedef struct {
	lookup_t *lookup;
	lookup_query_t *query;
	option_data_t **data; /* gets what the query's settings point to; owned by the caller */
	bool is_quiet;        /* no warnings: they were given before */
} option_context_t;

typedef struct {
	const char *name;
	option_argument_t argument;
	const char *value; /* what to call the value in the help */
	const char *doc;   /* of one line */
	option_kind_t kind;
	uint32_t offset_or_bits;
	option_result_t (*set)(
			option_context_t *context, bool is_on, const char *value); /* value: NULL if there is none */
	bool is_hidden;                                                            /* an old name */
} option_row_t;

/** All rows, in the order of the help. */
const option_row_t *dig_options(size_t *ret_count);

/**
 * Take one +word. False: it isn't good, which has been said; *ret_usage: the usage helps.
 */
bool dig_option_take(option_context_t *context, const char *word, bool *ret_usage);

/** Free what settings point to: no query that has them is asked any more. *data: NULL afterwards, and may be before. */
void dig_options_free(lookup_t *lookup, option_data_t **data);
