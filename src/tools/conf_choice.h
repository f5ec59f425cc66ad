/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Where a tool finds the folder of a database: named, or in a configuration, which is a file or a database.
 */
#pragma once

#include "src/conf/conf.h"

typedef struct {
	const char *config, *confdb, *dir;       /* -c, -C, -D; at most one isn't NULL */
	const char *(*pick)(const conf_t *conf); /* the folder in a configuration */
} conf_choice_t;

enum { CONF_CHOICE_ERROR_MAX = 8192 };

static inline bool conf_choice_is_made(const conf_choice_t *choice)
{
	return choice->config != NULL || choice->confdb != NULL || choice->dir != NULL;
}

/** What is used if nothing is chosen: the database if it is there, else the file. */
const char *conf_choice_default_config(void);
const char *conf_choice_default_confdb(void);

/** The whole configuration, for tools that don't take -D. False: `ret_error` says why not. Free it with conf_free(). */
bool conf_choice_load(const conf_choice_t *choice, conf_t **ret_conf, char ret_error[static CONF_CHOICE_ERROR_MAX]);

/** The folder; false: `ret_error` says why not. ret_path: PATH_MAX bytes. */
bool conf_choice_folder(const conf_choice_t *choice, char *ret_path, char ret_error[static CONF_CHOICE_ERROR_MAX]);
