/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * `knotc top` as a screen of text, and as lines of text or JSON. Pure: numbers in, bytes to a stream out.
 */
#pragma once

#include "src/tools/ctl/top_rates.h"

#include <stdio.h>

/** What the terminal can show. */
typedef struct {
	unsigned width, height; /* cells; at least 1 */
	bool color;
	bool unicode; /* false: ASCII only */
} top_terminal_t;

/** What is shown beside the rates. Strings are borrowed. */
typedef struct {
	const char *program; /* left in the title, e.g. name and version */
	const char *socket;
	const char *clock; /* right in the title */
	const char *state; /* "paused", why there is no answer; NULL: nothing to say */
	double interval_s;
	top_order_t order;
	bool help;
	const double *history; /* queries per second, the oldest first */
	size_t history_count;
} top_view_t;

/** Write a whole screen: lines of exactly `height`, with escape sequences for colours only, each but the last with
 * "\r\n". */
void top_screen(const top_view_t *view, const top_rates_t *rates, const top_terminal_t *terminal, FILE *out);

/** Write a sample as lines `panel name rate total`. */
void top_text(const top_rates_t *rates, FILE *out);

/** Write it as one line of JSON. */
void top_json(const top_rates_t *rates, FILE *out);
