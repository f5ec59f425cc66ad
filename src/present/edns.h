/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * EDNS (RFC 6891) in its three forms: lines of the pseudosection, one line of NAME=value, JSON. One row per option.
 *
 * Options without a row, and those whose data isn't what their RFC says, are shown in hex.
 */
#pragma once

#include "libknot/base/json.h"
#include "src/present/read.h"
#include "src/present/style.h"
#include "src/present/text.h"

/** Codes of options that have a row and no name in libknot/msg/query.h. */
enum {
	PRESENT_EDNS_CHAIN = 13,         /* RFC 7901 */
	PRESENT_EDNS_REPORTCHANNEL = 18, /* RFC 9567 */
};

/** The lines of the pseudosection, without its heading. message: has an OPT. */
void present_edns_put(present_text_t *text, const present_style_t *style, const present_message_t *message);

/** As one line. */
void present_edns_put_line(present_text_t *text, const present_style_t *style, const present_message_t *message);

/** As the member "EDNS". */
void present_edns_put_json(knot_json_t *json, const present_message_t *message);
