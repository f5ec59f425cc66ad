/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies as JSON for people and their scripts: an object per zone, record, counter, item, interface or rule, with
 * numbers as numbers. The form is published in doc/formats/knotc.schema.json, which tests hold every action to.
 *
 *     {"command": "zone-status", "result": [ {"zone": "example.com.", "serial": 3, ...} ], "messages": [], "ok": true}
 *
 * Units are written as they come: an object stays open as long as units go on with it, so a reply of a million records
 * needs no memory. A writer starts as zeros; reply_begin() first, reply_end() last.
 */
#pragma once

#include "libknot/base/json.h"
#include "src/tools/ctl/action.h"

#include <stdio.h>

enum { REPLY_KEY_MAX = 1024 };

typedef struct {
	knot_json_t json;
	layout_t layout;
	bool has_object;           /* an element of "result" is open */
	bool has_list;             /* and in it "values", or "counters" */
	bool has_row;              /* and in that an element with "queues" */
	char key[REPLY_KEY_MAX];   /* which object is open: zone, interface, prefix */
	char row[REPLY_KEY_MAX];   /* which counter of an interface */
	char detail[64];           /* status: what was asked for */
	bool is_number, is_switch; /* conf: what the values of the item are */
	bool failed;               /* an ERROR unit came */
} reply_t;

/** Begin the document. command: as it was typed. action: NULL for a command that doesn't exist. */
void reply_begin(reply_t *reply, FILE *out, const char *command, const action_t *action);

/** Write an action as `help` shows it; nothing for a row that is none. */
void reply_action(reply_t *reply, const action_t *action);

/** Write a DATA or EXTRA unit. An ERROR unit becomes a message. */
void reply_unit(reply_t *reply, knot_ctl_type_t type, const knot_ctl_data_t *unit);

/** Ends the document with the messages. error: NULL, or why the reply isn't whole. is_good: nothing else failed. */
void reply_end(reply_t *reply, const char *error, bool is_good);
