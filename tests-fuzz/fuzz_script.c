/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Scripts of knsupdate: each line is taken or has a reason, what is refused changes nothing, and the message that comes
 * of it can be read. What is shown of it has nothing for a terminal, and each record with data is a command again that
 * adds the same.
 */
#include "libknot/msg/message.h"
#include "src/present/message.h"
#include "src/tools/nsupdate/script.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
}

/* The next record with data, in the order of the message; NULL: there is none. */
static const draft_rr_t *next_record(const draft_t *draft, uint16_t class, size_t *at)
{
	while (*at < 2 * draft->count) {
		const draft_rr_t *rr = &draft->items[*at % draft->count];
		uint8_t section = *at < draft->count ? DRAFT_PREREQUISITE : DRAFT_UPDATE;
		(*at)++;
		if (rr->section == section && rr->class == class) {
			return rr;
		}
	}
	return NULL;
}

static bool is_same(const draft_t *a, const draft_rr_t *one, const draft_t *b, const draft_rr_t *two)
{
	size_t len = (size_t)one->owner_len + one->rdata_len;
	return one->type == two->type && one->ttl == two->ttl && one->owner_len == two->owner_len &&
	       one->rdata_len == two->rdata_len && memcmp(a->bytes + one->off, b->bytes + two->off, len) == 0;
}

/* A line that was shown, as a command. */
static void take_shown(script_t *script, const char *line, size_t len)
{
	char *command = malloc(len + 4);
	memcpy(command, "add ", 4);
	memcpy(command + 4, line, len);
	check(script_take(script, (knot_str_t){ command, len + 4 }) == SCRIPT_GO_ON);
	free(command);
}

/* As it stands in a line. */
static size_t print_class(uint16_t class, char text[static KNOT_TYPE_TEXT_MAX + 2])
{
	text[0] = '\t';
	size_t len = knot_rrclass_print(class, text + 1);
	text[1 + len] = '\t';
	return len + 2;
}

/* Records of another class are conditions and deletions, or from before the class was set. */
static void check_again(const script_t *script, const present_text_t *text)
{
	script_t again;
	char class[KNOT_TYPE_TEXT_MAX + 2];
	size_t at = 0, again_at = 0, class_len = print_class(script->class, class);
	const draft_rr_t *rr, *same;
	if (script->class == KNOT_CLASS_ANY || script->class == KNOT_CLASS_NONE) {
		return;
	}
	script_init(&again);
	again.class = script->class;
	for (size_t i = 0; i < text->len;) {
		const char *end = memchr(text->data + i, '\n', text->len - i);
		size_t len = (size_t)(end - text->data) - i;
		const char *line = text->data + i;
		bool is_of_class = memmem(line, len, class, class_len) != NULL;
		if (len > 0 && line[0] != ';' && is_of_class) {
			take_shown(&again, line, len);
		}
		i += len + 1;
	}
	while ((rr = next_record(&script->draft, script->class, &at)) != NULL) {
		same = next_record(&again.draft, script->class, &again_at);
		check(same != NULL && is_same(&script->draft, rr, &again.draft, same));
	}
	script_done(&again);
}

/* As `show` prints it. */
static void check_shown(const script_t *script, knot_bytes_t wire)
{
	static present_message_t message;
	present_style_t style = present_style();
	present_text_t text = { 0 };
	style.shows &= ~(uint32_t)PRESENT_STATS;
	check(present_read(wire, &message));
	present_message_put(&text, &style, &message);
	check(!text.failed);
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = (uint8_t)text.data[i];
		check((c >= ' ' && c < 0x7F) || c == '\n' || c == '\t');
	}
	check_again(script, &text);
	present_text_done(&text);
}

static void check_message(const script_t *script)
{
	static uint8_t room[KNOT_MSG_MAX];
	knot_msg_writer_t w;
	knot_message_t message;
	knot_message_rr_t rr;
	size_t fit, count = 0;
	knot_msg_begin(&w, (knot_mut_bytes_t){ room, sizeof(room) });
	if (draft_write(&script->draft, script->class, 0, &w, &fit) != KNOT_OK) {
		check(fit < script->draft.count);
		return;
	}
	size_t len = knot_msg_finish(&w, 0, KNOT_OPCODE_UPDATE << 11);
	check(knot_message_begin((knot_bytes_t){ room, len }, &message) == KNOT_OK);
	while (knot_message_next(&message, &rr)) {
		count += rr.section != KNOT_SECTION_QUESTION;
	}
	check(count == script->draft.count && knot_message_is_whole(&message));
	check_shown(script, (knot_bytes_t){ room, len });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	script_t script;
	script_init(&script);
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end != NULL ? (size_t)(end - data) - at : size - at, before = script.draft.count;
		char *exact = malloc(len > 0 ? len : 1);
		memcpy(exact, data + at, len);
		script_step_t step = script_take(&script, (knot_str_t){ exact, len });
		free(exact); /* nothing of the line is borrowed */
		check(step != SCRIPT_FAULT || (script.fault[0] != '\0' && script.draft.count == before));
		if (step == SCRIPT_SEND) {
			check_message(&script);
			draft_clear(&script.draft);
		}
		at += len + 1;
	}
	check_message(&script);
	script_done(&script);
	return 0;
}
