/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/transfer/refresh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

#include <cmocka.h>

/*
 * A row is how a run begins, a script of events, and what the machine answers.
 *
 * Events:  soa=N  the SOA query is answered with serial N    soa=N/E  … and EXPIRE E
 *          rcode=N, bad  other answers                       lost, cut  no answer; an answer that breaks off
 *          forged  a wrong signature                         ixfr=N, axfr=N (/E)  a whole stream
 *          part=N  the first changeset of more, to N         same=N  IXFR: up to date
 *          broken, broken-axfr, size, expired  streams that fail
 *          ok=N  applied; N is the serial                    fail=CLASS  not applied
 *          +N  N seconds pass
 * Answers: soa0.1, ixfr0.0, axfr1.0 (remote.address; "*" behind it: on the connection there is), apply, diff, and at
 * the end "end +N" with the time of the next refresh. Between them what the log says.
 */
enum { NOW = 1000000, OURS = 10 };

typedef struct {
	const char *what;
	/* Remotes: number of addresses each; "e" behind it: no-edns. */
	const char *remotes;
	refresh_params_t params; /* some of it */
	const char *events, *want;
} row_t;

static const uint8_t zone_wire[] = { 1, 'z', 0 };
static const timers_soa_t soa = { 3600, 600, 86400 };

static refresh_params_t params_of(const row_t *row, refresh_remote_t *remotes)
{
	refresh_params_t p = row->params;
	for (const char *at = row->remotes; *at != '\0'; at++) {
		if (*at == 'e') {
			remotes[p.remote_count - 1].has_no_edns = true;
		} else {
			remotes[p.remote_count++] = (refresh_remote_t){ .address_count = (uint16_t)(*at - '0') };
		}
	}
	p.zone = (knot_name_t){ zone_wire, 3, 1 };
	p.remotes = remotes;
	/* In rows 0 is none, and 1 the first one. */
	p.notifier = p.notifier == 0 ? REFRESH_NO_REMOTE : (uint16_t)(p.notifier - 1);
	p.pinned = p.pinned == 0 ? REFRESH_NO_REMOTE : (uint16_t)(p.pinned - 1);
	p.serial = OURS;
	p.soa = soa;
	p.conf.refresh_min_s = 2;
	p.conf.retry_min_s = 1;
	p.conf.expire_min_s = 3;
	p.conf.refresh_max_s = p.conf.refresh_max_s > 0 ? p.conf.refresh_max_s : UINT32_MAX;
	p.conf.retry_max_s = p.conf.retry_max_s > 0 ? p.conf.retry_max_s : UINT32_MAX;
	p.conf.expire_max_s = p.conf.expire_max_s > 0 ? p.conf.expire_max_s : UINT32_MAX;
	if (p.has_contents && p.state.next_expire_s == 0) {
		p.state.next_expire_s = NOW + 5000;
	}
	return p;
}

static const struct {
	const char *name;
	refresh_failure_t failure;
	knot_err_t err;
} failure_rows[] = {
	{ "unfit", REFRESH_UNFIT, KNOT_ENORECORD },
	{ "unrelated", REFRESH_UNRELATED, KNOT_EPARAM },
	{ "invalid", REFRESH_INVALID, KNOT_ESEMCHECK },
	{ "rejected", REFRESH_REJECTED, KNOT_EDENIED },
	{ "unsigned", REFRESH_UNSIGNED, KNOT_ERROR },
	{ "unstored", REFRESH_UNSTORED, KNOT_ESPACE },
	{ "local", REFRESH_LOCAL, KNOT_ENOMEM },
};

static bool is_event(const char *word, const char *name, const char **ret_value)
{
	size_t len = strlen(name);
	*ret_value = word + len;
	return strncmp(word, name, len) == 0;
}

/* "N" or "N/E". */
static uint32_t read_value(const char *text, bool *ret_has, uint32_t *ret_expire)
{
	char *end;
	uint32_t value = (uint32_t)strtoul(text, &end, 10);
	*ret_has = *end == '/';
	*ret_expire = *end == '/' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
	return value;
}

static void read_stream(refresh_event_t *event, const char *value, stream_in_state_t state, stream_in_kind_t kind)
{
	event->kind = REFRESH_EVENT_STREAM;
	event->stream.state = state;
	event->stream.kind = kind;
	uint32_t serial = read_value(value, &event->stream.expire.is_said, &event->stream.expire.seconds);
	event->stream.serial = event->stream.serial_reached = serial;
}

static void read_failed(refresh_event_t *event, stream_in_kind_t kind, refresh_failure_t failure, knot_err_t err)
{
	read_stream(event, "", STREAM_IN_FAILED, kind);
	event->stream.failure = failure;
	event->err = err;
}

static void read_applied(refresh_event_t *event, const char *word)
{
	event->kind = REFRESH_EVENT_APPLIED;
	for (size_t i = 0; i < KNOT_LEN(failure_rows); i++) {
		if (strcmp(word, failure_rows[i].name) == 0) {
			event->applied.failure = failure_rows[i].failure;
			event->err = failure_rows[i].err;
			return;
		}
	}
	fail_msg("no failure %s", word);
}

static void read_event(refresh_event_t *event, const char *word)
{
	const char *value;
	*event = (refresh_event_t){ .now_s = event->now_s, .applied = { .soa = soa, .took_ms = 1234 } };
	if (is_event(word, "soa=", &value)) {
		event->kind = REFRESH_EVENT_SOA;
		event->answer.serial = read_value(value, &event->answer.has_expire, &event->answer.expire_s);
	} else if (is_event(word, "rcode=", &value)) {
		event->kind = REFRESH_EVENT_SOA;
		event->answer = (soa_answer_t){ .verdict = SOA_ANSWER_RCODE, .rcode = (uint16_t)atoi(value) };
	} else if (strcmp(word, "bad") == 0) {
		event->kind = REFRESH_EVENT_SOA;
		event->answer = (soa_answer_t){ .verdict = SOA_ANSWER_MALFORMED };
	} else if (strcmp(word, "lost") == 0 || strcmp(word, "cut") == 0) {
		event->kind = REFRESH_EVENT_LOST;
		event->err = KNOT_ETIMEOUT;
		event->is_answered = word[0] == 'c';
	} else if (strcmp(word, "forged") == 0) {
		event->kind = REFRESH_EVENT_FORGED;
		event->err = KNOT_EDENIED;
	} else if (is_event(word, "ixfr=", &value)) {
		read_stream(event, value, STREAM_IN_DONE, STREAM_IN_IXFR);
	} else if (is_event(word, "axfr=", &value)) {
		read_stream(event, value, STREAM_IN_DONE, STREAM_IN_AXFR);
	} else if (is_event(word, "part=", &value)) {
		read_stream(event, value, STREAM_IN_DONE, STREAM_IN_IXFR);
		event->stream.serial++;
	} else if (is_event(word, "same=", &value)) {
		read_stream(event, value, STREAM_IN_UP_TO_DATE, STREAM_IN_UNKNOWN);
	} else if (strcmp(word, "broken") == 0) {
		read_failed(event, STREAM_IN_IXFR, REFRESH_BAD_STREAM, KNOT_EMALF);
	} else if (strcmp(word, "broken-axfr") == 0) {
		read_failed(event, STREAM_IN_AXFR, REFRESH_BAD_STREAM, KNOT_EMALF);
	} else if (strcmp(word, "expired") == 0) {
		read_failed(event, STREAM_IN_UNKNOWN, REFRESH_EXPIRED, KNOT_EDENIED);
	} else if (is_event(word, "fail=", &value)) {
		read_applied(event, value);
	} else if (is_event(word, "ok=", &value)) {
		event->kind = REFRESH_EVENT_APPLIED;
		event->applied.serial = (uint32_t)strtoul(value, NULL, 10);
	} else {
		fail_msg("no event %s", word);
	}
}

typedef struct {
	char text[8192];
	size_t len;
} spell_t;

__attribute__((format(printf, 2, 3))) static void spell(spell_t *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	s->len += (size_t)vsnprintf(s->text + s->len, sizeof(s->text) - s->len, format, args);
	va_end(args);
	assert_true(s->len < sizeof(s->text));
}

static void spell_step(spell_t *s, const refresh_t *r, const refresh_step_t *step)
{
	static const char *const names[] = { "soa", "ixfr", "axfr" };
	for (unsigned i = 0; i < step->note_count; i++) {
		char text[REFRESH_TEXT_MAX], remote[8], address[8], time[32];
		int level;
		refresh_prefix_t prefix;
		const refresh_note_t *note = &step->notes[i];
		snprintf(remote, sizeof(remote), "r%u", note->remote);
		snprintf(address, sizeof(address), "a%u", note->address);
		snprintf(time, sizeof(time), "+%llu", (unsigned long long)note->time_s - NOW);
		refresh_print(note, &(refresh_words_t){ remote, address, time }, text, &level, &prefix);
		spell(s, "%c:%s\n", "?A?EWNID"[level], text);
	}
	const refresh_action_t *a = &step->action;
	if (a->kind <= REFRESH_ASK_AXFR) {
		spell(s, "%s%u.%u%s%s\n", names[a->kind], a->remote, a->address, a->keeps_connection ? "*" : "",
				a->has_edns ? "" : "e");
	} else if (a->kind == REFRESH_APPLY) {
		spell(s, "%s\n", a->is_difference ? "diff" : "apply");
	} else {
		spell(s, "end +%lld%s\n", (long long)(r->state.next_refresh_s - NOW),
				r->err == KNOT_OK          ? ""
				: r->err == KNOT_ENOMASTER ? " none"
							   : " stopped");
	}
}

/* Runs a script to its end. */
static void run(const row_t *row, refresh_t *r, spell_t *s)
{
	refresh_remote_t remotes[8] = { 0 };
	refresh_params_t p = params_of(row, remotes);
	refresh_event_t event = { .now_s = NOW };
	refresh_step_t step;
	s->len = 0;
	refresh_begin(r, &p, NOW, &step);
	spell_step(s, r, &step);
	char *words = strdup(row->events), *save;
	for (char *word = strtok_r(words, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
		if (word[0] == '+') {
			event.now_s += strtoul(word + 1, NULL, 10);
			continue;
		}
		if (step.action.kind == REFRESH_END) {
			fail_msg("%s: over before %s:\n%s", row->what, word, s->text);
		}
		read_event(&event, word);
		refresh_next(r, &event, &step);
		spell_step(s, r, &step);
	}
	free(words);
	if (step.action.kind != REFRESH_END) {
		fail_msg("%s: not over:\n%s", row->what, s->text);
	}
}

#define FRESH     .has_contents = true
#define UPDATED86 "I:zone updated, 1.23 seconds, serial 10 -> 11, expires in 86400 seconds\n"
#define OUTDATED  "I:remote serial 11, zone is outdated\n"
#define CURRENT   "I:remote serial 10, zone is up-to-date, expires in 86400 seconds\n"
#define LOST(role, r, a)                                                                                               \
	"I:" role "remote r" #r ", address a" #a ", failed (connection timeout)\nW:" role "remote r" #r " not "        \
	"usable\n"
#define LOST_ADDRESS(r, a) "I:remote r" #r ", address a" #a ", failed (connection timeout)\n"
#define FAILED(err, t, e)  "E:failed (" err "), next retry at +" #t ", expires in " #e " seconds\n"

static const row_t rows[] = {
	/* 4.1: the answer to the SOA query. */
	{ "up to date", "1", { FRESH }, "soa=10", "soa0.0\n" CURRENT "end +3600\n" },
	{ "up to date: the option is more than what is left", "1", { FRESH }, "soa=10/6000",
			"soa0.0\nI:remote serial 10, zone is up-to-date, expires in 6000 seconds\nend +3600\n" },
	{ "up to date: the option is less than what is left", "1", { FRESH }, "soa=10/400",
			"soa0.0\nI:remote serial 10, zone is up-to-date, expires in 5000 seconds\nend +3600\n" },
	{ "newer", "1", { FRESH }, "soa=11 ixfr=11 ok=11",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "incomparable", "1", { FRESH }, "soa=2147483658 axfr=2147483658 ok=2147483658",
			"soa0.0\nI:remote serial 2147483658, zone is outdated\nixfr0.0*\napply\nI:zone updated, 1.23 "
			"seconds, serial 10 -> 2147483658, expires in 86400 seconds\nend +3600\n" },
	{ "older", "1", { FRESH }, "soa=9",
			"soa0.0\nI:remote serial 9, remote is outdated\nW:all masters are outdated\nend +3600\n" },
	{ "older beyond the turn", "1", { FRESH }, "soa=2147483659",
			"soa0.0\nI:remote serial 2147483659, remote is outdated\nW:all masters are outdated\nend "
			"+3600\n" },
	{ "an rcode", "1", { FRESH }, "rcode=5",
			"soa0.0\nW:server responded with error 'REFUSED'\nI:remote r0, address a0, failed (not "
			"allowed)\n"
			"W:remote r0 not usable\n" FAILED("no usable master", 600, 5000) "end +600 none\n" },
	{ "malformed", "1", { FRESH }, "bad",
			"soa0.0\nW:malformed message\nI:remote r0, address a0, failed (malformed data)\n"
			"W:remote r0 not usable\n" FAILED("no usable master", 600, 5000) "end +600 none\n" },
	{ "malformed, soft", "1", { FRESH, .is_soft = true }, "bad axfr=11 ok=11",
			"soa0.0\nW:malformed message\naxfr0.0\napply\n" UPDATED86 "end +3600\n" },
	/* What is asked first. */
	{ "no contents", "1", { .random = 0 }, "axfr=11 ok=11",
			"axfr0.0\napply\nI:zone updated, 1.23 seconds, serial none -> 11, expires in 86400 "
			"seconds\nend +3600\n" },
	{ "retransfer", "1", { FRESH, .is_retransfer = true }, "axfr=7 ok=7",
			"axfr0.0\napply\nI:zone updated, 1.23 seconds, serial 10 -> 7, expires in 86400 seconds\nend "
			"+3600\n" },
	{ "include-from", "1", { FRESH, .is_always_whole = true }, "axfr=11 ok=11",
			"axfr0.0\napply\n" UPDATED86 "end +3600\n" },
	{ "include-from with ixfr-from-axfr", "1", { FRESH, .is_always_whole = true, .wants_difference = true },
			"axfr=11 ok=11", "axfr0.0\ndiff\n" UPDATED86 "end +3600\n" },
	{ "no-edns: another connection", "1e", { FRESH }, "soa=11 ixfr=11 ok=11",
			"soa0.0e\n" OUTDATED "ixfr0.0e\napply\n" UPDATED86 "end +3600\n" },
	/* Transfers. */
	{ "EXPIRE of a transfer as it is", "1", { FRESH }, "soa=11 ixfr=11/400 ok=11",
			"soa0.0\n" OUTDATED
			"ixfr0.0*\napply\nI:zone updated, 1.23 seconds, serial 10 -> 11, expires in 400 "
			"seconds\nend +3600\n" },
	{ "IXFR is up to date", "1", { FRESH }, "soa=11 same=10",
			"soa0.0\n" OUTDATED "ixfr0.0*\nI:zone is up-to-date, expires in 86400 seconds\nend +3600\n" },
	{ "AXFR-style", "1", { FRESH }, "soa=11 axfr=11 ok=11",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "AXFR-style with ixfr-from-axfr", "1", { FRESH, .wants_difference = true }, "soa=11 axfr=11 ok=11",
			"soa0.0\n" OUTDATED "ixfr0.0*\ndiff\n" UPDATED86 "end +3600\n" },
	{ "AXFR after a fallback isn't a difference", "1", { FRESH, .wants_difference = true },
			"soa=11 broken axfr=11 ok=11",
			"soa0.0\n" OUTDATED "ixfr0.0*\nW:fallback to AXFR (malformed data)\naxfr0.0\napply\n" UPDATED86
			"end +3600\n" },
	{ "ixfr-by-one: again at once", "1", { FRESH, .is_one_by_one = true }, "soa=12 part=11 +3 ok=11",
			"soa0.0\nI:remote serial 12, zone is outdated\nixfr0.0*\napply\n" UPDATED86 "end +3\n" },
	{ "fallback, and no more", "1", { FRESH }, "soa=11 broken broken-axfr",
			"soa0.0\n" OUTDATED "ixfr0.0*\nW:fallback to AXFR (malformed data)\naxfr0.0\n"
			"I:remote r0, address a0, failed (malformed data)\nW:remote r0 not usable\n" FAILED(
					"no usable master", 600, 5000) "end +600 none\n" },
	{ "AXFR-style doesn't fall back", "1", { FRESH }, "soa=11 broken-axfr",
			"soa0.0\n" OUTDATED "ixfr0.0*\nI:remote r0, address a0, failed (malformed data)\n"
			"W:remote r0 not usable\n" FAILED("no usable master", 600, 5000) "end +600 none\n" },
	{ "a wrong signature falls back", "1", { FRESH }, "soa=11 forged forged",
			"soa0.0\n" OUTDATED "ixfr0.0*\nW:fallback to AXFR (not allowed)\naxfr0.0\n"
			"I:remote r0, address a0, failed (not allowed)\nW:remote r0 not usable\n" FAILED(
					"no usable master", 600, 5000) "end +600 none\n" },
	{ "a connection that ends doesn't", "2", { FRESH }, "soa=11 cut",
			"soa0.0\n" OUTDATED "ixfr0.0*\n" LOST("", 0, 0)
					FAILED("no usable master", 600, 5000) "end +600 none\n" },
	{ "an expired primary doesn't", "1", { FRESH }, "soa=11 expired",
			"soa0.0\n" OUTDATED "ixfr0.0*\nI:remote r0, address a0, failed (not allowed)\n"
			"W:remote r0 not usable\n" FAILED("no usable master", 600, 5000) "end +600 none\n" },
	/* Failures to apply: IXFR. */
	{ "unfit: AXFR", "1", { FRESH }, "soa=11 ixfr=11 fail=unfit axfr=11 ok=11",
			"soa0.0\n" OUTDATED
			"ixfr0.0*\napply\nW:fallback to AXFR (no such record in zone found)\naxfr0.0\n"
			"apply\n" UPDATED86 "end +3600\n" },
	{ "not stored: AXFR", "1", { FRESH }, "soa=11 ixfr=11 fail=unstored axfr=11 ok=11",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\nW:fallback to AXFR (not enough space provided)\naxfr0.0\n"
			"apply\n" UPDATED86 "end +3600\n" },
	{ "invalid: the next primary", "11", { FRESH }, "soa=11 ixfr=11 fail=invalid soa=10",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\nI:remote r0, address a0, failed (semantic check)\n"
			"W:remote r0 not usable\nsoa1.0\n" CURRENT "end +3600\n" },
	{ "rejected: the next primary", "11", { FRESH }, "soa=11 ixfr=11 fail=rejected soa=10",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\nI:remote r0, address a0, failed (not allowed)\n"
			"W:remote r0 not usable\nsoa1.0\n" CURRENT "end +3600\n" },
	{ "unrelated: the next primary", "11", { FRESH }, "soa=11 ixfr=11 fail=unrelated soa=10",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\nI:remote r0, address a0, failed (invalid parameter)\n"
			"W:remote r0 not usable\nsoa1.0\n" CURRENT "end +3600\n" },
	{ "not signed: the next primary", "11", { FRESH }, "soa=11 ixfr=11 fail=unsigned soa=10",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\nI:remote r0, address a0, failed (failed)\n"
			"W:remote r0 not usable\nsoa1.0\n" CURRENT "end +3600\n" },
	{ "local: the end", "11", { FRESH }, "soa=11 ixfr=11 fail=local",
			"soa0.0\n" OUTDATED
			"ixfr0.0*\napply\nI:remote r0, address a0, failed (not enough memory)\n" FAILED(
					"not enough memory", 600, 5000) "end +600 stopped\n" },
	/* … AXFR. */
	{ "AXFR not signed: the end", "11", { FRESH, .is_retransfer = true }, "axfr=11 fail=unsigned",
			"axfr0.0\napply\nI:remote r0, address a0, failed (failed)\n" FAILED(
					"failed", 600, 5000) "end +600 stopped\n" },
	{ "AXFR not stored: the end", "11", { FRESH, .is_retransfer = true }, "axfr=11 fail=unstored",
			"axfr0.0\napply\nI:remote r0, address a0, failed (not enough space provided)\n" FAILED(
					"not enough space provided", 600, 5000) "end +600 stopped\n" },
	{ "AXFR invalid: the next primary", "11", { FRESH, .is_retransfer = true },
			"axfr=11 fail=invalid axfr=11 ok=11",
			"axfr0.0\napply\nI:remote r0, address a0, failed (semantic check)\nW:remote r0 not usable\n"
			"axfr1.0\napply\n" UPDATED86 "end +3600\n" },
	/* 4.3: order of primaries. */
	{ "all are asked", "111", { FRESH }, "soa=10 soa=10 soa=10",
			"soa0.0\n" CURRENT "soa1.0\n" CURRENT "soa2.0\n" CURRENT "end +3600\n" },
	{ "until one delivers", "111", { FRESH }, "soa=10 soa=11 ixfr=11 ok=11",
			"soa0.0\n" CURRENT "soa1.0\n" OUTDATED "ixfr1.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "the last one decides: failed", "11", { FRESH }, "soa=10 lost",
			"soa0.0\n" CURRENT "soa1.0\n" LOST("", 1, 0)
					FAILED("no usable master", 600, 86400) "end +600 none\n" },
	{ "the last one decides: fine", "11", { FRESH }, "lost soa=10",
			"soa0.0\n" LOST("", 0, 0) "soa1.0\n" CURRENT "end +3600\n" },
	{ "all outdated", "11", { FRESH }, "soa=9 soa=9",
			"soa0.0\nI:remote serial 9, remote is outdated\nsoa1.0\nI:remote serial 9, remote is outdated\n"
			"W:all masters are outdated\nend +3600\n" },
	{ "addresses in order", "3", { FRESH }, "lost lost soa=10",
			"soa0.0\n" LOST_ADDRESS(0, 0) "soa0.1\n" LOST_ADDRESS(0, 1) "soa0.2\n" CURRENT "end +3600\n" },
	{ "no further address after an answer", "31", { FRESH }, "cut soa=10",
			"soa0.0\n" LOST("", 0, 0) "soa1.0\n" CURRENT "end +3600\n" },
	{ "the notifier first, and the last", "111", { FRESH, .notifier = 2 }, "soa=11 ixfr=11 ok=11",
			"soa1.0\n" OUTDATED "ixfr1.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "the notifier has nothing new", "111", { FRESH, .notifier = 2 }, "soa=10 soa=10 soa=10",
			"soa1.0\n" CURRENT "W:NOTIFYing master is up-to-date\nsoa0.0\n" CURRENT "soa2.0\n" CURRENT
			"end +3600\n" },
	{ "the notifier is outdated", "11", { FRESH, .notifier = 2 }, "soa=9 soa=10",
			"soa1.0\nI:remote serial 9, remote is outdated\nW:NOTIFYing master is "
			"outdated\nsoa0.0\n" CURRENT "end +3600\n" },
	{ "the notifier fails", "11", { FRESH, .notifier = 2 }, "lost soa=10",
			"soa1.0\n" LOST("notifier ", 1, 0) "soa0.0\n" CURRENT "end +3600\n" },
	{ "several notifiers: the others are asked", "11", { FRESH, .notifier = 2, .has_more_notifiers = true },
			"soa=11 ixfr=11 ok=11 soa=11",
			"soa1.0\n" OUTDATED "ixfr1.0*\napply\n" UPDATED86
			"soa0.0\nI:remote serial 11, zone is up-to-date, expires in 86400 seconds\nend +3600\n" },
	{ "several notifiers: an update is a success", "11", { FRESH, .notifier = 2, .has_more_notifiers = true },
			"soa=11 ixfr=11 ok=11 lost",
			"soa1.0\n" OUTDATED "ixfr1.0*\napply\n" UPDATED86 "soa0.0\n" LOST("", 0, 0) "end +3600\n" },
	/* Pinning. */
	{ "the pinned one first", "11", { FRESH, .pinned = 2, .pin_tolerance_s = 60 }, "soa=11 ixfr=11 ok=11",
			"soa1.0\n" OUTDATED "ixfr1.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "without tolerance none is", "11", { FRESH, .pinned = 2 }, "soa=11 ixfr=11 ok=11",
			"soa0.0\n" OUTDATED "ixfr0.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "notifier, pinned, others", "111", { FRESH, .notifier = 3, .pinned = 2, .pin_tolerance_s = 60 },
			"soa=10 lost soa=10",
			"soa2.0\n" CURRENT "W:NOTIFYing master is up-to-date\nsoa1.0\n" LOST(
					"pinned ", 1, 0) "soa0.0\n" CURRENT "end +3600\n" },
	{ "another one is newer: wait", "11", { FRESH, .pinned = 2, .pin_tolerance_s = 60 }, "soa=10 soa=11",
			"soa1.0\n" CURRENT
			"soa0.0\nI:remote serial 11, zone is outdated, waiting for pinned master\nend +60\n" },
	{ "wait on", "11", { FRESH, .pinned = 2, .pin_tolerance_s = 60, .state.pin_hit_s = NOW - 20 }, "soa=10 soa=11",
			"soa1.0\n" CURRENT
			"soa0.0\nI:remote serial 11, zone is outdated, waiting for pinned master\nend +40\n" },
	{ "the wait is over: AXFR", "11", { FRESH, .pinned = 2, .pin_tolerance_s = 60, .state.pin_hit_s = NOW - 60 },
			"soa=10 soa=11 axfr=11 ok=11",
			"soa1.0\n" CURRENT "soa0.0\n" OUTDATED "axfr0.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "no pin: AXFR", "11", { FRESH, .pin_tolerance_s = 60 }, "soa=11 axfr=11 ok=11",
			"soa0.0\n" OUTDATED "axfr0.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "the notifier waits for the pinned one", "11", { FRESH, .notifier = 1, .pinned = 2, .pin_tolerance_s = 60 },
			"soa=11 soa=11 ixfr=11 ok=11",
			"soa0.0\nI:remote serial 11, zone is outdated, waiting for pinned master\nsoa1.0\n" OUTDATED
			"ixfr1.0*\napply\n" UPDATED86 "end +3600\n" },
	{ "the wait ends during the run", "111", { FRESH, .pinned = 2, .pin_tolerance_s = 60 },
			"soa=10 soa=11 +100 soa=10",
			"soa1.0\n" CURRENT "soa0.0\nI:remote serial 11, zone is outdated, waiting for pinned master\n"
			"soa2.0\n" CURRENT "end +100\n" },
	/* 4.4: back-off and limits. */
	{ "bootstrap: first", "1", { .random = 7 }, "lost",
			"axfr0.0\n" LOST("", 0, 0) "E:failed (no usable master), next retry at +7\nend +7 none\n" },
	{ "bootstrap: fourth", "1", { .random = 7, .state.bootstrap_failures = 3 }, "lost",
			"axfr0.0\n" LOST("", 0, 0) "E:failed (no usable master), next retry at +52\nend +52 none\n" },
	{ "bootstrap: by hand", "1", { .random = 7, .state.bootstrap_failures = 3, .is_by_operator = true }, "lost",
			"axfr0.0\n" LOST("", 0, 0) "E:failed (no usable master), next retry at +7\nend +7 none\n" },
	{ "trimmed", "1", { FRESH, .conf = { .refresh_max_s = 100, .expire_max_s = 200 } }, "soa=10",
			"soa0.0\nD:expire timer trimmed to 'expire-max-interval'\n"
			"I:remote serial 10, zone is up-to-date, expires in 200 seconds\n"
			"D:refresh timer trimmed to 'refresh-max-interval'\nend +100\n" },
	{ "retry trimmed", "1", { FRESH, .conf = { .retry_max_s = 100 } }, "lost",
			"soa0.0\n" LOST("", 0, 0) "D:retry timer trimmed to 'retry-max-interval'\n" FAILED(
					"no usable master", 100, 5000) "end +100 none\n" },
	{ "a catalog never expires", "1", { FRESH, .conf = { .is_catalog = true } }, "soa=10",
			"soa0.0\nI:remote serial 10, zone is up-to-date\nend +3600\n" },
	{ "time passes", "1", { FRESH }, "+5 soa=10", "soa0.0\n" CURRENT "end +3605\n" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < KNOT_LEN(rows); i++) {
		static refresh_t r;
		static spell_t s;
		run(&rows[i], &r, &s);
		if (strcmp(s.text, rows[i].want) != 0) {
			fail_msg("%s:\n%s\nnot\n%s", rows[i].what, s.text, rows[i].want);
		}
	}
}

static void test_facts(void **state)
{
	(void)state;
	static spell_t s;
	refresh_t r;
	run(&(row_t){ "success", "12", { FRESH, .state = { .pin_hit_s = NOW - 99, .bootstrap_failures = 4 } },
			    "lost lost soa=11 ixfr=11/70 ok=11", "" },
			&r, &s);
	assert_true(r.is_updated && r.state.is_last_ok && r.err == KNOT_OK);
	assert_int_equal(r.source, 1);
	assert_int_equal(r.source_address, 1);
	assert_int_equal(r.confirmer, 1);
	assert_int_equal(r.state.pin_hit_s, 0);
	assert_int_equal(r.state.bootstrap_failures, 0);
	assert_int_equal(r.state.next_expire_s, NOW + 70);

	run(&(row_t){ "failure", "1", { .state = { .is_last_ok = true, .bootstrap_failures = 255 } }, "lost", "" }, &r,
			&s);
	assert_false(r.is_updated || r.state.is_last_ok);
	assert_int_equal(r.confirmer, REFRESH_NO_REMOTE);
	assert_int_equal(r.state.bootstrap_failures, 255);
	assert_true(r.state.next_refresh_s >= NOW + 7200);
	run(&(row_t){ "failure", "1", { .state.bootstrap_failures = 1 }, "lost", "" }, &r, &s);
	assert_int_equal(r.state.bootstrap_failures, 2);

	run(&(row_t){ "up to date", "12", { FRESH }, "lost soa=10", "" }, &r, &s);
	assert_int_equal(r.confirmer, 1);

	run(&(row_t){ "outdated", "1", { FRESH }, "soa=9", "" }, &r, &s);
	assert_int_equal(r.confirmer, REFRESH_NO_REMOTE);
	assert_int_equal(r.state.next_expire_s, NOW + 5000); /* not renewed */

	run(&(row_t){ "waiting", "11", { FRESH, .pinned = 2, .pin_tolerance_s = 60 }, "soa=10 +2 soa=11", "" }, &r, &s);
	assert_int_equal(r.state.pin_hit_s, NOW + 2);
}

/* The zone expires before the event `at`; from then on only a whole zone helps. */
static void test_expires_meanwhile(void **state)
{
	(void)state;
	const struct {
		const char *events[4];
		unsigned at;
		const char *want;
	} expiries[] = {
		{ { "soa=10", "axfr=10", "ok=10" }, 0,
				"soa0.0\naxfr0.0*\napply\nI:zone updated, 1.23 seconds, serial none "
				"-> 10, expires in 86400 seconds\nend +3600\n" },
		{ { "soa=11", "cut" }, 0,
				"soa0.0\naxfr0.0*\n" LOST("", 0, 0) "E:failed (no usable master), next retry at "
								    "+2\nend +2 none\n" },
		{ { "soa=11", "ixfr=11", "axfr=11", "ok=11" }, 1,
				"soa0.0\n" OUTDATED "ixfr0.0*\nW:fallback to AXFR (zone is empty)\naxfr0.0\napply\n"
				"I:zone updated, 1.23 seconds, serial none -> 11, expires in 86400 seconds\nend "
				"+3600\n" },
		{ { "soa=11", "same=10", "axfr=10", "ok=10" }, 1,
				"soa0.0\n" OUTDATED "ixfr0.0*\nW:fallback to AXFR (zone is empty)\naxfr0.0\napply\n"
				"I:zone updated, 1.23 seconds, serial none -> 10, expires in 86400 seconds\nend "
				"+3600\n" },
	};
	for (size_t i = 0; i < KNOT_LEN(expiries); i++) {
		static spell_t s;
		refresh_remote_t remotes[8] = { 0 };
		const row_t row = { "", "1", { FRESH, .random = 2, .state.pin_hit_s = 5 }, "", "" };
		refresh_params_t p = params_of(&row, remotes);
		refresh_t r;
		refresh_step_t step;
		refresh_event_t event = { .now_s = NOW };
		s.len = 0;
		refresh_begin(&r, &p, NOW, &step);
		spell_step(&s, &r, &step);
		for (unsigned j = 0; j < 4 && expiries[i].events[j] != NULL; j++) {
			if (j == expiries[i].at) {
				refresh_expire(&r, NOW);
				assert_true(r.state.next_expire_s == 0 && r.state.pin_hit_s == 0);
			}
			read_event(&event, expiries[i].events[j]);
			refresh_next(&r, &event, &step);
			spell_step(&s, &r, &step);
		}
		assert_string_equal(s.text, expiries[i].want);
	}
}

static void test_failure_of(void **state)
{
	(void)state;
	stream_in_t stream = { .state = STREAM_IN_FAILED, .fault = STREAM_IN_EXPIRED };
	assert_int_equal(refresh_failure_of(&stream), REFRESH_EXPIRED);
	stream.fault = STREAM_IN_ENDLESS;
	assert_int_equal(refresh_failure_of(&stream), REFRESH_BAD_STREAM);
	stream.fault = STREAM_IN_SINK;
	stream.err = KNOT_ENOMEM;
	assert_int_equal(refresh_failure_of(&stream), REFRESH_LOCAL);
	stream.err = KNOT_EISRECORD;
	assert_int_equal(refresh_failure_of(&stream), REFRESH_UNFIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_expires_meanwhile),
		cmocka_unit_test(test_failure_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
