/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/nsupdate/script.h"

#include "libknot/base/number.h"
#include "libknot/text/rdata_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { SCRIPT_NAMES_MAX = 256 };

/* ---- Words ---- */

static bool script_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void script_skip_blanks(script_line_t *line)
{
	while (line->at < line->end && script_is_blank(*line->at)) {
		line->at++;
	}
}

knot_str_t script_word(script_line_t *line)
{
	script_skip_blanks(line);
	const char *start = line->at;
	while (line->at < line->end && !script_is_blank(*line->at) && *line->at != ';') {
		bool is_escape = *line->at == '\\' && line->end - line->at > 1 && line->at[1] != '\n';
		line->at += is_escape ? 2 : 1;
	}
	if (line->at < line->end && *line->at == ';') { /* nothing follows */
		line->end = line->at;
	}
	return (knot_str_t){ start, (size_t)(line->at - start) };
}

/* What is left of a line, for RDATA: quotes, parentheses and comments are in it. */
static knot_str_t script_rest(script_line_t *line)
{
	script_skip_blanks(line);
	while (line->end > line->at && script_is_blank(line->end[-1])) {
		line->end--;
	}
	bool is_comment = line->at < line->end && *line->at == ';';
	return (knot_str_t){ line->at, is_comment ? 0 : (size_t)(line->end - line->at) };
}

/* How much of a word fits into a sentence. */
static int script_shown(knot_str_t word)
{
	const size_t max = 128;
	return (int)(word.len < max ? word.len : max);
}

__attribute__((format(printf, 2, 3))) static script_step_t script_fail(script_t *script, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(script->fault, sizeof(script->fault), format, args);
	va_end(args);
	return SCRIPT_FAULT;
}

static void script_ignore(script_t *script, knot_str_t data)
{
	if (data.len > 0) {
		snprintf(script->warning, sizeof(script->warning), "ignoring input data '%.*s'", script_shown(data),
				data.data);
	}
}

/* The end of a line that should have no more words: Knot ignores them with a warning, too. */
static script_step_t script_end(script_t *script, script_line_t *line)
{
	script_ignore(script, script_rest(line));
	return SCRIPT_GO_ON;
}

/* ---- Settings ---- */

/* The whole name that a command takes. */
static bool script_scan_name(script_t *script, script_line_t *line, const char *what,
		uint8_t wire[static KNOT_NAME_MAX], knot_name_t *ret_name)
{
	knot_str_t word = script_word(line);
	if (word.len == 0) {
		(void)script_fail(script, "failed to parse %s '', a name is missing", what);
		return false;
	}
	knot_err_t err = knot_name_scan(word, knot_name_root, wire, ret_name);
	if (err != KNOT_OK) {
		(void)script_fail(script, "failed to parse %s '%.*s' (%s)", what, script_shown(word), word.data,
				knot_strerror(err));
		return false;
	}
	return true;
}

static script_step_t script_set_zone(script_t *script, script_line_t *line)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	if (!script_scan_name(script, line, "zone", wire, &name)) {
		return SCRIPT_FAULT;
	}
	draft_set_zone(&script->draft, name);
	return script_end(script, line);
}

static script_step_t script_set_origin(script_t *script, script_line_t *line)
{
	uint8_t wire[KNOT_NAME_MAX];
	knot_name_t name;
	if (!script_scan_name(script, line, "origin", wire, &name)) {
		return SCRIPT_FAULT;
	}
	memcpy(script->origin_wire, wire, name.len);
	script->origin = knot_name_of(script->origin_wire);
	return script_end(script, line);
}

static script_step_t script_set_class(script_t *script, script_line_t *line)
{
	knot_str_t word = script_word(line);
	uint16_t class;
	if (knot_rrclass_scan(word, &class) != KNOT_OK) {
		return script_fail(script, "failed to parse class '%.*s'", script_shown(word), word.data);
	}
	script->class = class;
	return script_end(script, line);
}

static script_step_t script_set_ttl(script_t *script, script_line_t *line)
{
	knot_str_t word = script_word(line);
	const char *reason = "a number is missing";
	if (word.len == 0 || knot_ttl_scan(word, &script->ttl, &reason) != KNOT_OK) {
		return script_fail(script, "failed to parse ttl '%.*s' (%s)", script_shown(word), word.data, reason);
	}
	return script_end(script, line);
}

static void script_host_done(script_host_t *host)
{
	free(host->text);
	*host = (script_host_t){ 0 };
}

/* NAME [PORT], where the name may have its port as everywhere else: 192.0.2.1@5353, [2001:db8::1]:5353. */
static script_step_t script_set_host(script_t *script, script_line_t *line, const char *what, script_host_t *host)
{
	knot_str_t name = script_word(line), port = script_word(line);
	script_host_t found = { 0 };
	if (name.len == 0) {
		return script_fail(script, "failed to parse %s '', an address or name is missing", what);
	}
	if (asprintf(&found.text, "%.*s%c%.*s", (int)name.len, name.data, '\0', (int)port.len, port.data) < 0) {
		return script_fail(script, "out of memory");
	}
	bool is_good = lookup_scan_host(found.text, &found.host) && found.host.host_len > 0;
	if (is_good && port.len > 0) {
		found.host.service = found.text + name.len + 1;
	}
	if (!is_good || (found.host.service != NULL && !lookup_is_port(found.host.service))) {
		free(found.text);
		return script_fail(script, "failed to parse %s '%.*s%s%.*s'", what, script_shown(name), name.data,
				port.len > 0 ? " " : "", script_shown(port), port.data);
	}
	script_host_done(host);
	*host = found;
	return script_end(script, line);
}

static script_step_t script_set_server(script_t *script, script_line_t *line)
{
	return script_set_host(script, line, "server", &script->server);
}

static script_step_t script_set_local(script_t *script, script_line_t *line)
{
	return script_set_host(script, line, "local address", &script->local);
}

static void script_free_key(script_t *script)
{
	lookup_key_free(script->key);
	script->key = NULL;
}

/* key [alg:]name secret */
static script_step_t script_set_key(script_t *script, script_line_t *line)
{
	char text[KNOT_NAME_TEXT_MAX + 2048];
	knot_str_t name = script_word(line), secret = script_word(line);
	lookup_key_t *key = NULL;
	const char *reason = "key [algorithm:]name secret";
	if (name.len > 0 && secret.len > 0 && name.len + secret.len < sizeof(text) - 2) {
		snprintf(text, sizeof(text), "%.*s:%.*s", (int)name.len, name.data, (int)secret.len, secret.data);
		key = lookup_key_scan(text, &reason);
		explicit_bzero(text, sizeof(text));
	}
	if (key == NULL) {
		return script_fail(script, "invalid key specification (%s)", reason);
	}
	script_free_key(script);
	script->key = key;
	return script_end(script, line);
}

/* ---- Records ---- */

/** The parts of a record that a line has. */
typedef struct {
	uint8_t owner_wire[KNOT_NAME_MAX];
	knot_name_t owner;
	bool has_ttl, has_type;
	uint32_t ttl;
	uint16_t type;
	knot_str_t data; /* as text, without blanks around it */
} script_record_t;

static bool script_scan_owner(script_t *script, script_line_t *line, script_record_t *record)
{
	knot_str_t word = script_word(line);
	knot_name_t origin = script->origin.len > 0 ? script->origin : knot_name_root;
	if (word.len == 0) {
		(void)script_fail(script, "failed to parse owner '', a name is missing");
		return false;
	}
	const char *reason = knot_name_text_fault(word);
	knot_err_t err = reason != NULL ? KNOT_EPARSEFAIL
					: knot_name_scan(word, origin, record->owner_wire, &record->owner);
	if (err != KNOT_OK) {
		(void)script_fail(script, "failed to parse owner '%.*s' (%s)", script_shown(word), word.data,
				reason != NULL ? reason : knot_strerror(err));
		return false;
	}
	return true;
}

/* TTL, class and type, the first two in any order and not needed. */
static bool script_scan_columns(script_t *script, script_line_t *line, script_record_t *record)
{
	bool has_class = false;
	for (;;) {
		script_line_t before = *line;
		knot_str_t word = script_word(line);
		uint16_t class;
		const char *reason;
		if (word.len == 0) {
			*line = before;
			return true;
		}
		if (!has_class && knot_rrclass_scan(word, &class) == KNOT_OK &&
				(class == script->class || knot_rrtype_scan(word, &record->type) != KNOT_OK)) {
			if (class != script->class) {
				(void)script_fail(script, "class mismatch '%.*s'", script_shown(word), word.data);
				return false;
			}
			has_class = true;
		} else if (!record->has_ttl && knot_is_digit(word.data[0])) {
			if (knot_ttl_scan(word, &record->ttl, &reason) != KNOT_OK) {
				(void)script_fail(script, "failed to parse ttl '%.*s' (%s)", script_shown(word),
						word.data, reason);
				return false;
			}
			record->has_ttl = true;
		} else if (knot_rrtype_scan(word, &record->type) == KNOT_OK) {
			record->has_type = true;
			record->data = script_rest(line);
			return true;
		} else {
			(void)script_fail(script, "failed to parse type '%.*s'", script_shown(word), word.data);
			return false;
		}
	}
}

/* What a line says of a record. may_any: ANY stands for all types. */
static bool script_scan_record(script_t *script, script_line_t *line, bool may_any, script_record_t *ret_record)
{
	char type[KNOT_TYPE_TEXT_MAX];
	*ret_record = (script_record_t){ 0 };
	if (!script_scan_owner(script, line, ret_record) || !script_scan_columns(script, line, ret_record)) {
		return false;
	}
	bool is_any = may_any && ret_record->type == KNOT_TYPE_ANY && ret_record->data.len == 0;
	if (ret_record->has_type && knot_rrtype_is_meta(ret_record->type) && !is_any) {
		(void)knot_rrtype_print(ret_record->type, type);
		(void)script_fail(script, "type %s is never of records in a zone", type);
		return false;
	}
	return true;
}

/* The same, with a type. */
static bool script_scan_typed(script_t *script, script_line_t *line, script_record_t *ret_record)
{
	if (!script_scan_record(script, line, false, ret_record)) {
		return false;
	}
	if (!ret_record->has_type) {
		(void)script_fail(script, "failed to parse type '', it is missing");
	}
	return ret_record->has_type;
}

static script_step_t script_add_record(script_t *script, const script_record_t *record, knot_section_t section,
		uint16_t class, uint32_t ttl, bool has_data)
{
	static __thread uint8_t rdata[KNOT_RDATA_MAX];
	uint16_t len = 0;
	const char *reason = NULL;
	knot_name_t origin = script->origin.len > 0 ? script->origin : knot_name_root;
	if (has_data && knot_rdata_scan(record->type, record->data, origin, (knot_mut_bytes_t){ rdata, sizeof(rdata) },
					&len, &reason) != KNOT_OK) {
		char type[KNOT_TYPE_TEXT_MAX];
		(void)knot_rrtype_print(record->type, type);
		return script_fail(script, "invalid data of %s '%.*s' (%s)", type, script_shown(record->data),
				record->data.data, reason);
	}
	return draft_add(&script->draft, section, record->owner, record->type, class, ttl,
			       (knot_bytes_t){ rdata, len }) == KNOT_OK
			       ? SCRIPT_GO_ON
			       : script_fail(script, "out of memory");
}

static script_step_t script_add(script_t *script, script_line_t *line)
{
	script_record_t record;
	if (!script_scan_typed(script, line, &record)) {
		return SCRIPT_FAULT;
	}
	uint32_t ttl = record.has_ttl ? record.ttl : script->ttl;
	return script_add_record(script, &record, (knot_section_t)DRAFT_UPDATE, script->class, ttl, true);
}

/* RFC 2136 2.5.2 to 2.5.4: one record, all of a type, all of a name. */
static script_step_t script_delete(script_t *script, script_line_t *line)
{
	script_record_t record;
	if (!script_scan_record(script, line, true, &record)) {
		return SCRIPT_FAULT;
	}
	bool has_data = record.data.len > 0;
	record.type = record.has_type ? record.type : KNOT_TYPE_ANY;
	uint16_t class = has_data ? KNOT_CLASS_NONE : KNOT_CLASS_ANY;
	return script_add_record(script, &record, (knot_section_t)DRAFT_UPDATE, class, 0, has_data);
}

/* RFC 2136 2.4.4, 2.4.5 */
static script_step_t script_need_name(script_t *script, script_line_t *line, uint16_t class)
{
	script_record_t record = { .type = KNOT_TYPE_ANY };
	if (!script_scan_owner(script, line, &record)) {
		return SCRIPT_FAULT;
	}
	script_step_t step = script_add_record(script, &record, (knot_section_t)DRAFT_PREREQUISITE, class, 0, false);
	return step == SCRIPT_GO_ON ? script_end(script, line) : step;
}

static script_step_t script_need_no_name(script_t *script, script_line_t *line)
{
	return script_need_name(script, line, KNOT_CLASS_NONE);
}

static script_step_t script_need_any_name(script_t *script, script_line_t *line)
{
	return script_need_name(script, line, KNOT_CLASS_ANY);
}

static bool script_scan_rrset(script_t *script, script_line_t *line, script_record_t *ret_record)
{
	if (!script_scan_typed(script, line, ret_record)) {
		return false;
	}
	if (ret_record->has_ttl) {
		snprintf(script->warning, sizeof(script->warning), "ignoring TTL value '%u'", ret_record->ttl);
	}
	return true;
}

/* RFC 2136 2.4.3. Data would say nothing there. */
static script_step_t script_need_no_rrset(script_t *script, script_line_t *line)
{
	script_record_t record;
	if (!script_scan_rrset(script, line, &record)) {
		return SCRIPT_FAULT;
	}
	script_ignore(script, record.data);
	return script_add_record(script, &record, (knot_section_t)DRAFT_PREREQUISITE, KNOT_CLASS_NONE, 0, false);
}

/* RFC 2136 2.4.1, 2.4.2 */
static script_step_t script_need_rrset(script_t *script, script_line_t *line)
{
	script_record_t record;
	if (!script_scan_rrset(script, line, &record)) {
		return SCRIPT_FAULT;
	}
	bool has_data = record.data.len > 0;
	uint16_t class = has_data ? script->class : KNOT_CLASS_ANY;
	return script_add_record(script, &record, (knot_section_t)DRAFT_PREREQUISITE, class, 0, has_data);
}

/* ---- The table ---- */

static script_step_t script_run_at(script_t *script, script_line_t *line, unsigned place);

static script_step_t script_take_prereq(script_t *script, script_line_t *line)
{
	return script_run_at(script, line, SCRIPT_PREREQ);
}

static script_step_t script_take_update(script_t *script, script_line_t *line)
{
	return script_run_at(script, line, SCRIPT_UPDATE);
}

#define FIRST   SCRIPT_FIRST
#define PREREQ  (SCRIPT_FIRST | SCRIPT_PREREQ)
#define UPDATE  (SCRIPT_FIRST | SCRIPT_UPDATE)
#define FOREIGN (SCRIPT_FIRST | SCRIPT_FOREIGN)

static const script_command_t script_rows[] = {
	{ "add", "NAME [TTL] [CLASS] TYPE DATA", "Add a record.", UPDATE, script_add, 0 },
	{ "answer", "", "Print the last answer of a server.", FIRST, NULL, SCRIPT_ANSWER },
	{ "class", "CLASS", "The zone's class, IN if nothing is said.", FIRST, script_set_class, 0 },
	{ "debug", "", "Print what is done, as -d.", FIRST, NULL, SCRIPT_DEBUG },
	{ "del", "NAME [CLASS] [TYPE [DATA]]", "Delete a record, all of a type, or all of a name.", UPDATE,
			script_delete, 0 },
	{ "delete", "NAME [CLASS] [TYPE [DATA]]", "The same.", UPDATE, script_delete, 0 },
	{ "exit", "", "End.", FIRST, NULL, SCRIPT_EXIT },
	{ "gsstsig", "", NULL, FOREIGN, NULL, 0 },
	{ "help", "", "Print the commands.", FIRST, NULL, SCRIPT_HELP },
	{ "key", "[ALGORITHM:]NAME SECRET", "Sign with a TSIG key, as -y.", FIRST, script_set_key, 0 },
	{ "local", "ADDRESS [PORT]", "Send from an address.", FIRST, script_set_local, 0 },
	{ "nxdomain", "NAME", "Only if the name doesn't exist.", PREREQ, script_need_no_name, 0 },
	{ "nxrrset", "NAME [CLASS] TYPE", "Only if there is no record of the type.", PREREQ, script_need_no_rrset, 0 },
	{ "oldgsstsig", "", NULL, FOREIGN, NULL, 0 },
	{ "origin", "NAME", "What names without a final dot are below.", FIRST, script_set_origin, 0 },
	{ "prereq", "nxdomain|yxdomain|nxrrset|yxrrset ...", "A condition; the word may be left out.", FIRST,
			script_take_prereq, 0 },
	{ "quit", "", "End.", FIRST, NULL, SCRIPT_EXIT },
	{ "realm", "", NULL, FOREIGN, NULL, 0 },
	{ "send", "", "Send the update, and begin the next one.", FIRST, NULL, SCRIPT_SEND },
	{ "server", "NAME [PORT]", "Whom to send it; 127.0.0.1 if nothing is said.", FIRST, script_set_server, 0 },
	{ "show", "", "Print the update.", FIRST, NULL, SCRIPT_SHOW },
	{ "ttl", "SECONDS", "TTL of records without one, 3600 if nothing is said.", FIRST, script_set_ttl, 0 },
	{ "update", "add|delete ...", "A change; the word may be left out.", FIRST, script_take_update, 0 },
	{ "yxdomain", "NAME", "Only if the name exists.", PREREQ, script_need_any_name, 0 },
	{ "yxrrset", "NAME [CLASS] TYPE [DATA]", "Only if there are records of the type, or just these.", PREREQ,
			script_need_rrset, 0 },
	{ "zone", "NAME", "The zone that is updated; it has to be said.", FIRST, script_set_zone, 0 },
};

const script_command_t *script_commands(size_t *ret_count)
{
	*ret_count = KNOT_LEN(script_rows);
	return script_rows;
}

const script_command_t *script_find(knot_str_t word, unsigned place, bool *ret_ambiguous)
{
	const script_command_t *found = NULL;
	size_t count = 0;
	*ret_ambiguous = false;
	for (size_t i = 0; i < KNOT_LEN(script_rows) && word.len > 0; i++) {
		const script_command_t *row = &script_rows[i];
		if (!(row->places & place) || strncasecmp(row->name, word.data, word.len) != 0) {
			continue;
		}
		if (strlen(row->name) == word.len) {
			return row;
		}
		if (!(row->places & SCRIPT_FOREIGN)) {
			/* "dele" is "delete" as "de" is either: rows of one function are no choice. */
			count += found == NULL || found->run == NULL || found->run != row->run;
			found = row;
		}
	}
	*ret_ambiguous = count > 1;
	return count == 1 ? found : NULL;
}

/* The names that begin with a word. */
static void script_print_names(knot_str_t word, unsigned place, char names[static SCRIPT_NAMES_MAX])
{
	size_t len = 0;
	names[0] = '\0';
	for (size_t i = 0; i < KNOT_LEN(script_rows) && len < SCRIPT_NAMES_MAX; i++) {
		const script_command_t *row = &script_rows[i];
		bool is_candidate = (row->places & place) && !(row->places & SCRIPT_FOREIGN);
		if (is_candidate && strncasecmp(row->name, word.data, word.len) == 0) {
			int more = snprintf(names + len, SCRIPT_NAMES_MAX - len, "%s%s", len > 0 ? "|" : "", row->name);
			len += more > 0 ? (size_t)more : 0;
		}
	}
}

static script_step_t script_fail_word(script_t *script, knot_str_t word, unsigned place, bool is_ambiguous)
{
	char names[SCRIPT_NAMES_MAX];
	script_print_names(is_ambiguous ? word : (knot_str_t){ "", 0 }, place, names);
	if (is_ambiguous) {
		return script_fail(script, "ambiguous literal: '%.*s', did you mean {%s}?", script_shown(word),
				word.data, names);
	}
	if (place != SCRIPT_FIRST) {
		return script_fail(script, "unexpected token '%.*s' after '%s', allowed: '{%s}'", script_shown(word),
				word.data, place == SCRIPT_UPDATE ? "update" : "prereq", names);
	}
	return script_fail(script, "unexpected literal: '%.*s'", script_shown(word), word.data);
}

static script_step_t script_run_at(script_t *script, script_line_t *line, unsigned place)
{
	bool is_ambiguous;
	knot_str_t word = script_word(line);
	const script_command_t *row = script_find(word, place, &is_ambiguous);
	if (row == NULL) {
		return script_fail_word(script, word, place, is_ambiguous);
	}
	if (row->places & SCRIPT_FOREIGN) {
		return script_fail(script, "%s not supported", row->name);
	}
	if (row->run != NULL) {
		return row->run(script, line);
	}
	(void)script_end(script, line);
	return row->step;
}

script_step_t script_take(script_t *script, knot_str_t text)
{
	script_line_t line = { text.data, text.data + text.len };
	script->fault[0] = script->warning[0] = '\0';
	script_skip_blanks(&line);
	if (line.at == line.end || *line.at == ';') {
		return SCRIPT_GO_ON;
	}
	if (memchr(line.at, '\0', (size_t)(line.end - line.at)) != NULL) {
		return script_fail(script, "a byte with the value 0 in the line");
	}
	return script_run_at(script, &line, SCRIPT_FIRST);
}

void script_init(script_t *script)
{
	*script = (script_t){ .class = KNOT_CLASS_IN, .ttl = SCRIPT_TTL_DEFAULT };
}

void script_done(script_t *script)
{
	draft_free(&script->draft);
	script_host_done(&script->server);
	script_host_done(&script->local);
	script_free_key(script);
}
