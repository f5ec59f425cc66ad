/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What the server and knotc must agree on about a command: the flags of a row of commands.def. The rows themselves are
 * expanded by src/control/session.h (prototypes), src/control/session.c (dispatch) and src/tools/ctl/action.c (words,
 * help, completion, knotc(8)).
 */
#pragma once

/** Flags of a row; several are joined with |. */
typedef enum {
	COMMAND_PLAIN = 0,
	COMMAND_WAITS = 1 << 0,     /* flag "B" waits for what the command started; marked (#) in the help */
	COMMAND_ALONE = 1 << 1,     /* no other command runs meanwhile */
	COMMAND_ALONE_T = 1 << 2,   /* the same, with filter or flag "t" */
	COMMAND_FREE = 1 << 3,      /* takes no lock: neither waits for other commands nor holds them up */
	COMMAND_QUIET = 1 << 4,     /* its receipt is logged at debug, not at info */
	COMMAND_SILENT = 1 << 5,    /* its receipt is not logged: it comes several times a second */
	COMMAND_CONF = 1 << 6,      /* local, and needs a configuration; marked (*) in the help */
	COMMAND_FORCE = 1 << 7,     /* refused without -f */
	COMMAND_TXN = 1 << 8,       /* completed from the open transaction of the configuration */
	COMMAND_OURS = 1 << 9,      /* Knot DNS doesn't have it: wrong words get the usage, too */
	COMMAND_WARNINGS = 1 << 10, /* its reply may carry warnings, which knotc asks for with filter "w" */
	COMMAND_CHANGES = 1 << 11   /* the log names the user that sent it, and the item or record that it is about */
} command_flags_t;
