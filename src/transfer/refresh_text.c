/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/refresh.h"

#include <assert.h>
#include <stdio.h>
#include <syslog.h>

static const struct {
	int level;
	refresh_prefix_t prefix;
	const char *text;
} note_rows[REFRESH_NOTE_KIND_COUNT] = {
#define REFRESH_NOTE(name, level, prefix, text) { level, REFRESH_PREFIX_##prefix, text },
#include "src/transfer/refresh.def"
#undef REFRESH_NOTE
};

enum { FACT_MAX = 256 }; /* an identifier, an address, an error */

typedef void fact_print_t(const refresh_note_t *note, const refresh_words_t *words, char *text);

static void fact_print_serial(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	snprintf(text, FACT_MAX, "%u", note->serial);
}

static void fact_print_old(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	if (note->has_old_serial) {
		snprintf(text, FACT_MAX, "%u", note->old_serial);
	} else {
		snprintf(text, FACT_MAX, "none");
	}
}

static void fact_print_err(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	snprintf(text, FACT_MAX, "%s", knot_strerror(note->err));
}

static void fact_print_rcode(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	stream_in_print_rcode(note->rcode, text);
}

static void fact_print_primary(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	if (note->has_remote_serial) {
		snprintf(text, FACT_MAX, ", remote serial %u", note->remote_serial);
	}
}

static void fact_print_expires(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	if (note->has_expire) {
		snprintf(text, FACT_MAX, ", expires in %llu seconds", (unsigned long long)note->expire_s);
	}
}

static void fact_print_seconds(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	snprintf(text, FACT_MAX, "%.2f", (double)note->took_ms / 1000);
}

static void fact_print_remote(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)note;
	snprintf(text, FACT_MAX, "%s", words->remote);
}

static void fact_print_address(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)note;
	snprintf(text, FACT_MAX, "%s", words->address);
}

static void fact_print_time(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)note;
	snprintf(text, FACT_MAX, "%s", words->time);
}

static void fact_print_role(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	static const char *const roles[] = { "", "notifier ", "pinned " };
	snprintf(text, FACT_MAX, "%s", roles[note->role]);
}

static void fact_print_timer(const refresh_note_t *note, const refresh_words_t *words, char *text)
{
	(void)words;
	timers_print_trim(note->timer, note->trim, text);
}

static const struct {
	knot_str_t name;
	fact_print_t *print;
} fact_rows[] = {
	{ KNOT_STR("{serial}"), fact_print_serial },
	{ KNOT_STR("{old}"), fact_print_old },
	{ KNOT_STR("{err}"), fact_print_err },
	{ KNOT_STR("{rcode}"), fact_print_rcode },
	{ KNOT_STR("{primary}"), fact_print_primary },
	{ KNOT_STR("{expires}"), fact_print_expires },
	{ KNOT_STR("{seconds}"), fact_print_seconds },
	{ KNOT_STR("{remote}"), fact_print_remote },
	{ KNOT_STR("{address}"), fact_print_address },
	{ KNOT_STR("{time}"), fact_print_time },
	{ KNOT_STR("{role}"), fact_print_role },
	{ KNOT_STR("{timer}"), fact_print_timer },
};

/* Prints the fact that `text` begins with; returns the length of its name. */
static size_t fact_print(const char *text, const refresh_note_t *note, const refresh_words_t *words, char *ret_fact)
{
	size_t i = 0;
	while (strncmp(text, fact_rows[i].name.data, fact_rows[i].name.len) != 0) {
		i++;
		assert(i < KNOT_LEN(fact_rows)); /* refresh.def names facts of the table */
	}
	ret_fact[0] = '\0';
	fact_rows[i].print(note, words, ret_fact);
	return fact_rows[i].name.len;
}

void refresh_print(const refresh_note_t *note, const refresh_words_t *words, char ret_text[static REFRESH_TEXT_MAX],
		int *ret_level, refresh_prefix_t *ret_prefix)
{
	size_t len = 0;
	const char *text = note_rows[note->kind].text;
	while (*text != '\0' && len < REFRESH_TEXT_MAX - 1) {
		char fact[FACT_MAX] = { *text, '\0' };
		text += *text == '{' ? fact_print(text, note, words, fact) : 1;
		int put = snprintf(ret_text + len, REFRESH_TEXT_MAX - len, "%s", fact);
		len += put > 0 ? (size_t)put : 0;
	}
	*ret_level = note_rows[note->kind].level;
	*ret_prefix = note_rows[note->kind].prefix;
}
