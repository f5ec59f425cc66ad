/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Replies of any shape, presented in every form: nothing is printed that does something to a terminal, what is
 * malformed is shown in comments only, with a reason, and JSON is closed.
 *
 * Input: one byte (the style), then the message.
 */
#include "src/present/host.h"
#include "src/present/json.h"
#include "src/present/message.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* Printable, UTF-8 without controls, newlines and tabulators. */
static void check_text(const present_text_t *text)
{
	check(!text->failed);
	for (size_t i = 0; i < text->len; i++) {
		uint8_t c = (uint8_t)text->data[i];
		check(c >= ' ' || c == '\n' || c == '\t');
		check(c != 0x7F && !(c == 0xC2 && i + 1 < text->len && (uint8_t)text->data[i + 1] < 0xA0));
	}
}

static void check_comments(const present_text_t *text)
{
	for (size_t i = 0; i < text->len; i++) {
		bool begins = i == 0 || text->data[i - 1] == '\n';
		check(!begins || text->data[i] == ';' || text->data[i] == '\n');
	}
}

static void present(const present_message_t *message, present_style_t *style, bool is_good)
{
	present_text_t text = { 0 };
	for (present_format_t format = PRESENT_FULL; format <= PRESENT_HOST; format++) {
		style->format = format;
		text.len = 0;
		if (format == PRESENT_HOST) {
			present_host_put(&text, style, message, false);
		} else {
			present_message_put(&text, style, message);
		}
		check_text(&text);
	}
	if (!is_good) {
		check(message->fault != NULL && message->fault_off <= message->wire.len &&
				message->end == message->fault_off);
		text.len = 0;
		present_wreck_put(&text, style, message);
		check_text(&text);
		check_comments(&text);
	}
	present_text_done(&text);
}

static void present_json(const present_message_t *message, const present_style_t *style)
{
	knot_json_buffer_t out = { 0 };
	knot_json_t json = knot_json_of(knot_json_to_buffer, &out);
	const struct tm when = { .tm_year = 124, .tm_mday = 1, .tm_zone = "UTC" };
	present_json_put(&json, NULL, style, message, &when, 1704067200);
	check(knot_json_end(&json) && out.len > 2 && out.data[0] == '{' && strcmp(out.data + out.len - 2, "}\n") == 0);
	for (size_t i = 0; i < out.len; i++) {
		check((uint8_t)out.data[i] >= ' ' || out.data[i] == '\n');
	}
	free(out.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 + KNOT_MSG_MAX) {
		return 0;
	}
	present_style_t style = present_style();
	style.rdata.is_multiline = data[0] & 1;
	style.rdata.is_generic = data[0] & 2;
	style.rdata.hides_crypto = data[0] & 4;
	style.shows ^= (data[0] & 8 ? PRESENT_OPT_PRESENT : 0) | (data[0] & 16 ? PRESENT_OPT_TEXT : 0) |
		       (data[0] & 32 ? PRESENT_COMMENTS : 0);
	uint8_t *copy = malloc(size); /* of exactly the size */
	present_message_t message;
	check(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	bool is_good = present_read((knot_bytes_t){ copy, size - 1 }, &message);
	present(&message, &style, is_good);
	present_json(&message, &style);
	free(copy);
	return 0;
}
