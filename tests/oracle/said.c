/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/said.h"

#include "libknot/base/assert.h"
#include "tests/oracle/chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void said_add(const zone_message_t *message, void *said)
{
	said_t *s = said;
	chain_check(s->count < SAID_MAX, "room for messages");
	snprintf(s->texts[s->count], SAID_TEXT_MAX, "%s", message->text);
	snprintf(s->owners[s->count], SAID_TEXT_MAX, "%s", message->owner != NULL ? message->owner : "");
	s->count++;
}

void said_touch(said_touched_t *touched, knot_name_t owner)
{
	char text[KNOT_NAME_TEXT_MAX];
	knot_name_print(owner, text);
	text[SAID_TEXT_MAX - 1] = '\0';
	for (size_t i = 0; i < touched->count; i++) {
		if (strcmp(touched->owners[i], text) == 0) {
			return;
		}
	}
	chain_check(touched->count < SAID_OWNERS_MAX, "room for owners");
	memcpy(touched->owners[touched->count++], text, strlen(text) + 1);
}

/* How often: a fault of one name may be that of several others. */
static size_t times_said(const said_t *said, const char *text)
{
	size_t count = 0;
	for (size_t i = 0; i < said->count; i++) {
		count += strcmp(said->texts[i], text) == 0;
	}
	return count;
}

/* What a commit must say wherever it is, and what it says of names that it touches. */
static bool must_be_said(const char *text, const char *owner, const said_touched_t *touched)
{
	static const char *const everywhere[] = { "another record exists beside CNAME", "multiple CNAME records",
		"child record exists under DNAME", "multiple DNAME records", "NS record exists beside DNAME",
		"multiple SOA records", "more NSEC3 iterations" };
	for (size_t i = 0; i < KNOT_LEN(everywhere); i++) {
		if (strstr(text, everywhere[i]) != NULL) {
			return true;
		}
	}
	for (size_t i = 0; i < touched->count; i++) {
		if (strcmp(touched->owners[i], owner) == 0) {
			return true;
		}
	}
	return false;
}

const char *said_fault(const said_t *commit, const said_t *whole, const said_t *before, const said_touched_t *touched,
		const char **ret_text)
{
	for (size_t i = 0; i < commit->count; i++) {
		*ret_text = commit->texts[i];
		if (times_said(commit, commit->texts[i]) > times_said(whole, commit->texts[i])) {
			return "a commit says what the check of the whole zone doesn't say, or says less often";
		}
	}
	for (size_t i = 0; i < whole->count; i++) {
		*ret_text = whole->texts[i];
		if (times_said(before, whole->texts[i]) == 0 && times_said(commit, whole->texts[i]) == 0 &&
				must_be_said(whole->texts[i], whole->owners[i], touched)) {
			return "a commit doesn't say what it broke";
		}
	}
	return NULL;
}
