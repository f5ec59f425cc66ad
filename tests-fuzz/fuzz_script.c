/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Scripts of knsupdate: each line is taken or has a reason, what is refused changes nothing, and the message that comes
 * of it can be read.
 */
#include "libknot/msg/message.h"
#include "src/tools/nsupdate/script.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds) {
		abort();
	}
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
