/* SPDX-License-Identifier: BSD-2-Clause */
/** Messages as sentences, in the form of Knot's khost. Pure. */
#pragma once

#include "src/present/read.h"
#include "src/present/style.h"
#include "src/present/text.h"

/** One record: "mail.example. has IPv4 address 192.0.2.1". rdata: unpacked, checked. */
void present_host_put_record(
		present_text_t *text, const present_style_t *style, const knot_message_rr_t *rr, knot_bytes_t rdata);

/**
 * The records of the answer section; or, without one, that there is none of the type, or the rcode. hides_alias: CNAMEs
 * aren't printed: an earlier answer about the same name had them.
 */
void present_host_put(
		present_text_t *text, const present_style_t *style, const present_message_t *message, bool hides_alias);
