/* SPDX-License-Identifier: BSD-2-Clause */
/** What the parts of keymgr share. */
#pragma once

#include "src/keys/zone_keys.h"
#include "src/tools/conf_choice.h"
#include "src/tools/managekeys/attributes.h"

/** One run. */
typedef struct {
	conf_choice_t choice;
	bool is_extended, is_json, lists_zones, has_colour;
	const char *tsig; /* -t: the name; NULL: not asked for */
	conf_t *conf;     /* owned */
	kasp_t *kasp;     /* owned */
	char kasp_path[4096];
	uint8_t zone_wire[KNOT_NAME_MAX];
	char zone_text[KNOT_NAME_TEXT_MAX]; /* as listings have it */
	zone_keys_env_t env;
	const char *const *arguments; /* behind the command; ends with NULL */
	size_t argument_count;
} keymgr_t;

/** "error: …" on standard error, with the format's text. Returns false. */
__attribute__((format(printf, 1, 2))) bool keymgr_complain(const char *format, ...);

/** How times are printed. */
typedef enum { LIST_UNIX, LIST_HUMAN, LIST_ISO } list_times_t;

/** `list`: all keys of the zone, as the options say. */
knot_err_t keymgr_list(const keymgr_t *run, const keys_set_t *set, list_times_t times);

/** -t: a TSIG key. algorithm, bits: NULL: the default. */
bool keymgr_make_tsig(const char *name, const char *algorithm, const char *bits);
