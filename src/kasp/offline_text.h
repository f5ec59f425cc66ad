/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * KeySigningRequest and SignedKeyResponse: what goes between the machine with a zone and the one with its key-signing
 * key, in Knot's format: records of a zone file in sections, each under a comment that says from when on they hold, and
 * a last comment that says that nothing is missing.
 */
#pragma once

#include "src/kasp/offline.h"

#include <stdio.h>

/** Print a section: "<head><time> (<date>) =========" and the records. head: such as ";; KeySigningRequest 1.0 ". */
void kasp_offline_print(const char *head, uint64_t when_s, const kasp_offline_t *offline, knot_name_t zone, FILE *out);

/** Print the last line. program: such as "Knot DNS 3.2". */
void kasp_offline_print_end(const char *head, uint64_t now_s, const char *program, FILE *out);

/** A section. */
typedef struct {
	uint64_t when_s;
	kasp_offline_t records;
} kasp_offline_section_t;

/** The sections of a file, in its order. Zero: none. */
typedef struct {
	kasp_offline_section_t *sections; /* owned */
	size_t count;
} kasp_offline_file_t;

/**
 * Read the text of a file. keyword: "KeySigningRequest" or "SignedKeyResponse". Records of other owners are left out.
 * KNOT_EMALF: not such a file, one that is cut off, or times that don't ascend; *ret_line: where (0: unknown).
 * KNOT_ENOMEM.
 */
KNOT_MUST_USE knot_err_t kasp_offline_parse(knot_str_t text, const char *keyword, knot_name_t zone,
		kasp_offline_file_t *ret_file, uint64_t *ret_line);

void kasp_offline_file_done(kasp_offline_file_t *file);
