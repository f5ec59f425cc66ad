/* SPDX-License-Identifier: BSD-2-Clause */
/** Where kzonecheck reads a zone from, and which zone it is. */
#pragma once

#include "libknot/name/name.h"

enum { SOURCE_ERROR_MAX = 512 };

typedef struct {
	const char *path; /* of the file; "-": standard input */
	knot_str_t text;  /* of standard input or a pipe, owned; data NULL: the file is read */
	knot_name_t origin;
	uint8_t wire[KNOT_NAME_MAX]; /* of the origin, lower case */
} source_t;

/**
 * Find the zone of the file `path`. origin: its name; NULL: the owner of the first SOA record, which may be relative to
 * the name of the file without ".zone". Standard input and pipes are read to their end. False: *ret_error says why.
 */
bool source_open(const char *path, const char *origin, source_t *ret_source, char ret_error[static SOURCE_ERROR_MAX]);
void source_close(source_t *source);
