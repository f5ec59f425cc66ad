/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * knotc's actions: what arguments one takes, how they become control units, how replies are printed, and what help,
 * completion and knotc(8) show. The rows are those of libknot/control/commands.def, which the server has, too. Pure:
 * text in, units out.
 */
#pragma once

#include "libknot/control/command.h"
#include "libknot/control/control.h"

#include <stdbool.h>

/** The arguments of an action. */
typedef enum {
	ARGS_NONE,
	ARGS_ACTION,       /* [action] */
	ARGS_DETAIL,       /* [detail] */
	ARGS_COUNTER,      /* [module[.counter]] */
	ARGS_ZONE_COUNTER, /* zone [module[.counter]] */
	ARGS_ZONES,        /* [zone...] [filter...] */
	ARGS_ZONES_NEEDED, /* zone... [filter...] */
	ARGS_NODE,         /* zone [owner [type]] */
	ARGS_ZONE,         /* zone [filter...] */
	ARGS_ADD,          /* zone owner [ttl] type rdata */
	ARGS_REMOVE,       /* zone owner [type [rdata]] */
	ARGS_ROLLOVER,     /* zone ksk|zsk */
	ARGS_SERIAL,       /* zone [[+]serial] */
	ARGS_ITEMS,        /* [item...] */
	ARGS_SET,          /* item [data...] */
	ARGS_UNSET,        /* [item] [data...] */
	ARGS_FILE,         /* [file] [filter...] */
	ARGS_FILE_NEEDED,  /* file [filter...] */
	ARGS_INTERFACE,    /* [interface] */
	ARGS_BLOCK,        /* add|remove prefix, or list [prefix]; [filter...] */
	ARGS_FILTERS,      /* [filter...] */
} args_kind_t;

/** How units of a reply are laid out. */
typedef enum {
	LAYOUT_STATUS,
	LAYOUT_TRIGGER,
	LAYOUT_ZONE_STATUS,
	LAYOUT_STATS,
	LAYOUT_RECORDS,
	LAYOUT_CONF,
	LAYOUT_XDP_STATUS, /* a table per interface (SECTION): rows ITEM grouped by TYPE, columns ID */
	LAYOUT_XDP_BLOCK,  /* a table: rows ID, columns ITEM */
} layout_t;

/** What a filter's value is, for completion. */
typedef enum { VALUE_ANY, VALUE_DIRECTORY, VALUE_FILE, VALUE_INTERFACE } value_kind_t;

typedef struct {
	const char *word;     /* as typed, with '+'; NULL ends a list */
	const char *letters;  /* for FILTERS */
	const char *argument; /* name of its value, the next word, in the help ("<dir>"); NULL: it has none */
	knot_ctl_idx_t value; /* the item that carries it; 0: DATA */
	value_kind_t kind;
} filter_t;

typedef enum {
	LOCAL_NONE, /* sent to the server */
	LOCAL_EXIT,
	LOCAL_HELP,
	LOCAL_CONF_CHECK,
	LOCAL_ZONE_CHECK,
	LOCAL_CONF_INIT,
	LOCAL_CONF_IMPORT,
	LOCAL_CONF_EXPORT,
	LOCAL_XDP_CAPTURE, /* several requests on one connection */
	LOCAL_XDP_CHECK,
	LOCAL_TOP, /* several requests on one connection */
} local_t;

/** What the success of a command says about the transactions of the zones that it names, or of the configuration. */
typedef enum {
	TXN_NONE, /* nothing */
	TXN_BEGINS,
	TXN_ENDS,
	TXN_NEEDS, /* one is open; nothing, if filters were given for a zone */
} txn_effect_t;

/** A row of commands.def. */
typedef struct {
	const char *name; /* NULL: a group of actions begins */
	command_flags_t flags;
	args_kind_t args;
	layout_t layout;
	local_t local;
	const filter_t *filters; /* NULL: none */
	const char *done;        /* printed for an empty reply; NULL: nothing */
	const char *usage;       /* arguments, for the help; NULL: none */
	const char *help;        /* a line for `knotc -h` */
	const char *doc;         /* for knotc(8): sentences, in which backquotes mark words that are typed */
	const char *title;       /* of the group; NULL for an action */
	bool is_absent;          /* not supported yet */
	txn_effect_t txn;
} action_t;

/** All actions in the order of the help, in groups. */
extern const action_t actions[];
extern const size_t action_count;

/** The action of this name, or NULL. */
const action_t *action_find(const char *name);

/** The units of one block. */
typedef struct {
	knot_ctl_data_t *units; /* owned, as are the strings in it */
	size_t count;
	char **strings; /* owned: what `units` point to */
	size_t string_count;
	const char **rest; /* owned: arguments that are no filters, borrowed each */
	bool all_zones;    /* "--" was given */
	const char *file; /* "-": standard input; the units are still to be made of its lines, like units[0]; NULL: none
			   */
} request_t;

typedef struct {
	bool force;
	bool blocking;
} request_flags_t;

enum { ACTION_ERROR_MAX = 256 };

/**
 * Make the units of an action. args[0..count): the words after it.
 * False: `ret_error` says what is wrong with the words. Free with request_free() when true.
 */
bool action_request(const action_t *action, request_flags_t flags, char *const args[], size_t count,
		request_t *ret_request, char ret_error[static ACTION_ERROR_MAX]);

void request_free(request_t *request);

/** A copy of a text that lives as long as the request. */
const char *request_keep_all(request_t *request, const char *text);

/** Add a unit with the items of `like`, which are not copied. Valid until the next is added. */
knot_ctl_data_t *request_add_unit(request_t *request, const knot_ctl_data_t *like);
