/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/action.h"

#include "src/tools/must.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FILTERS(...)                                                                                                   \
	.filters = (const filter_t[])                                                                                  \
	{                                                                                                              \
		__VA_ARGS__,                                                                                           \
		{                                                                                                      \
			0                                                                                              \
		}                                                                                                      \
	}
#define GROUP(heading)                       { .title = heading },
#define SERVER_COMMAND(word, how, bits, ...) { word, bits, __VA_ARGS__ },
#define LOCAL_COMMAND(word, bits, ...)       { word, bits, __VA_ARGS__ },
#define ABSENT_COMMAND(word, bits, ...)      { word, bits, __VA_ARGS__, .is_absent = true },
const action_t actions[] = {
#include "libknot/control/commands.def"
};
const size_t action_count = KNOT_LEN(actions);

const action_t *action_find(const char *name)
{
	name = strcmp(name, "?") == 0 ? "help" : name;
	for (size_t i = 0; i < action_count; i++) {
		if (actions[i].name != NULL && strcmp(actions[i].name, name) == 0) {
			return &actions[i];
		}
	}
	return NULL;
}

/* ---- Building requests; memory failures end the tool ---- */

/* A copy that lives as long as the request. */
static const char *action_keep_text(request_t *request, const char *text, size_t len)
{
	request->strings = must(realloc(request->strings, (request->string_count + 1) * sizeof(char *)));
	char *copy = must(strndup(text, len));
	request->strings[request->string_count++] = copy;
	return copy;
}

const char *request_keep_all(request_t *request, const char *text)
{
	return action_keep_text(request, text, strlen(text));
}

knot_ctl_data_t *request_add_unit(request_t *request, const knot_ctl_data_t *like)
{
	request->units = must(realloc(request->units, (request->count + 1) * sizeof(*request->units)));
	knot_ctl_data_t *unit = &request->units[request->count++];
	memcpy(unit, like, sizeof(*unit));
	return unit;
}

void request_free(request_t *request)
{
	for (size_t i = 0; i < request->string_count; i++) {
		free(request->strings[i]);
	}
	free(request->strings);
	free(request->rest);
	free(request->units);
	*request = (request_t){ 0 };
}

/* What the functions below work on: words not used yet, the unit that every unit starts from. */
typedef struct {
	const action_t *action;
	request_t *request;
	const char *const *args;
	size_t count;
	knot_ctl_data_t base;
	char *error;
} builder_t;

__attribute__((format(printf, 2, 3))) static bool action_refuse_words(builder_t *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(b->error, ACTION_ERROR_MAX, format, args);
	va_end(args);
	return false;
}

static bool action_check_count(builder_t *b, size_t min, size_t max)
{
	if (b->count >= min && b->count <= max) {
		return true;
	}
	if (b->action->layout == LAYOUT_CONF && b->action->local == LOCAL_NONE) {
		return action_refuse_words(b, "invalid number of arguments");
	}
	if (max == 0) {
		return action_refuse_words(b, "command doesn't take arguments");
	}
	if (min == max) {
		return action_refuse_words(b, "command requires %zu arguments", min);
	}
	return b->count < min ? action_refuse_words(b, "command requires at least %zu arguments", min)
			      : action_refuse_words(b, "command takes at most %zu arguments", max);
}

/*
 * Take the filter words, which begin with '+' and may stand anywhere, out of the arguments. An action without filters
 * takes such a word as an argument. The server decides which filters and values are required.
 */
static bool action_take_filters(builder_t *b)
{
	const filter_t *filters = b->action->filters;
	if (filters == NULL) {
		return true;
	}
	const char **rest = must(calloc(b->count + 1, sizeof(*rest)));
	free(b->request->rest);
	b->request->rest = rest;
	size_t rest_count = 0;
	char letters[32] = "";
	for (size_t i = 0; i < b->count; i++) {
		if (b->args[i][0] != '+') {
			rest[rest_count++] = b->args[i];
			continue;
		}
		const filter_t *filter = filters;
		while (filter->word != NULL && strcmp(filter->word, b->args[i]) != 0) {
			filter++;
		}
		if (filter->word == NULL) {
			return action_refuse_words(b, "unknown filter: %s", b->args[i]);
		}
		if (strchr(letters, filter->letters[0]) == NULL && strlen(letters) + 1 < sizeof(letters)) {
			strncat(letters, filter->letters, 1);
		}
		if (filter->argument != NULL && i + 1 == b->count && (b->action->flags & COMMAND_OURS) != 0) {
			return action_refuse_words(b, "missing value of filter: %s", b->args[i]);
		}
		if (filter->argument != NULL && i + 1 < b->count) {
			knot_ctl_idx_t value = filter->value != 0 ? filter->value : KNOT_CTL_IDX_DATA;
			b->base[value] = request_keep_all(b->request, b->args[++i]);
		}
	}
	b->args = rest;
	b->count = rest_count;
	if (letters[0] != '\0') {
		b->base[KNOT_CTL_IDX_FILTERS] = request_keep_all(b->request, letters);
	}
	return true;
}

/* "--" stands for all zones: then there is no ZONE item. */
static void action_put_zone(builder_t *b, knot_ctl_data_t *unit, const char *zone)
{
	if (strcmp(zone, "--") == 0) {
		b->request->all_zones = true;
	} else {
		(*unit)[KNOT_CTL_IDX_ZONE] = request_keep_all(b->request, zone);
	}
}

static bool action_build_zones(builder_t *b, size_t min)
{
	if (!action_take_filters(b)) {
		return false;
	}
	if (b->count < min && (b->action->flags & COMMAND_FORCE) != 0) {
		return action_refuse_words(b, "zone must be specified (or -- for all zones)");
	}
	if (!action_check_count(b, min, SIZE_MAX)) {
		return false;
	}
	if (b->count == 0 || (b->count == 1 && strcmp(b->args[0], "--") == 0)) {
		b->request->all_zones = b->count == 1;
		request_add_unit(b->request, &b->base);
		return true;
	}
	for (size_t i = 0; i < b->count; i++) {
		if (strcmp(b->args[i], "--") == 0) {
			return action_refuse_words(b, "'--' can't be combined with other zones");
		}
		action_put_zone(b, request_add_unit(b->request, &b->base), b->args[i]);
	}
	return true;
}

static void action_put_counter(builder_t *b, knot_ctl_data_t *unit, const char *text)
{
	const char *dot = strchr(text, '.');
	(*unit)[KNOT_CTL_IDX_SECTION] =
			action_keep_text(b->request, text, dot != NULL ? (size_t)(dot - text) : strlen(text));
	if (dot != NULL) {
		(*unit)[KNOT_CTL_IDX_ITEM] = request_keep_all(b->request, dot + 1);
	}
}

/* The words from `first` on, joined with blanks. */
static const char *action_join_words(builder_t *b, size_t first)
{
	size_t len = 1;
	for (size_t i = first; i < b->count; i++) {
		len += strlen(b->args[i]) + 1;
	}
	char *text = must(calloc(1, len));
	size_t pos = 0;
	for (size_t i = first; i < b->count; i++) {
		pos += (size_t)snprintf(text + pos, len - pos, "%s%s", i > first ? " " : "", b->args[i]);
	}
	const char *kept = action_keep_text(b->request, text, pos);
	free(text);
	return kept;
}

/* Seconds or `1h30m`. No type begins with a digit, so a word that does is a TTL. The server checks it. */
static bool action_is_ttl(const char *text)
{
	return text[0] >= '0' && text[0] <= '9';
}

/* Take the TTL and the class from the words at `next`, in any order, as in a zone file (RFC 1035 5.1). The only class
 * isn't sent. Returns the place of the type. */
static size_t action_take_header(builder_t *b, knot_ctl_data_t *unit, size_t next)
{
	bool has_class = false;
	for (; next < b->count; next++) {
		bool is_class = strcasecmp(b->args[next], "IN") == 0;
		if (action_is_ttl(b->args[next]) && (*unit)[KNOT_CTL_IDX_TTL] == NULL) {
			(*unit)[KNOT_CTL_IDX_TTL] = request_keep_all(b->request, b->args[next]);
		} else if (is_class && !has_class) {
			has_class = true;
		} else {
			break;
		}
	}
	return next;
}

/*
 * zone owner [ttl] [class] [type [rdata...]]. The server checks the type and what is missing: a newer server knows more
 * types than this program.
 */
static bool action_build_record(builder_t *b, size_t min)
{
	if (!action_check_count(b, min, SIZE_MAX)) {
		return false;
	}
	knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
	action_put_zone(b, unit, b->args[0]);
	(*unit)[KNOT_CTL_IDX_OWNER] = request_keep_all(b->request, b->args[1]);
	size_t next = action_take_header(b, unit, 2);
	if (next < b->count) {
		(*unit)[KNOT_CTL_IDX_TYPE] = request_keep_all(b->request, b->args[next++]);
	}
	if (next < b->count) {
		(*unit)[KNOT_CTL_IDX_DATA] = action_join_words(b, next);
	}
	return true;
}

static bool action_build_node(builder_t *b)
{
	if (!action_check_count(b, 1, 3)) {
		return false;
	}
	knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
	action_put_zone(b, unit, b->args[0]);
	if (b->count > 1) {
		(*unit)[KNOT_CTL_IDX_OWNER] = request_keep_all(b->request, b->args[1]);
	}
	if (b->count > 2) {
		(*unit)[KNOT_CTL_IDX_TYPE] = request_keep_all(b->request, b->args[2]);
	}
	return true;
}

static bool action_build_serial(builder_t *b)
{
	if (!action_check_count(b, 1, 2)) {
		return false;
	}
	knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
	action_put_zone(b, unit, b->args[0]);
	if (b->count == 1) {
		return true;
	}
	const char *serial = b->args[1];
	bool is_relative = serial[0] == '+';
	serial += is_relative;
	bool is_max = is_relative && strcasecmp(serial, "MAX") == 0;
	if (!is_max && (serial[0] == '\0' || strspn(serial, "0123456789") != strlen(serial))) {
		return action_refuse_words(b, "invalid serial '%s'", b->args[1]);
	}
	(*unit)[KNOT_CTL_IDX_TYPE] = is_relative ? "+" : "=";
	/* The largest step that serial arithmetic allows, RFC 1982 3.1. */
	(*unit)[KNOT_CTL_IDX_DATA] = is_max ? "2147483647" : request_keep_all(b->request, serial);
	return true;
}

/* section[id].item, each part but the first optional; "\]" within the id is a bracket. */
static bool action_put_item(builder_t *b, knot_ctl_data_t *unit, const char *text)
{
	size_t len = strcspn(text, "[.");
	(*unit)[KNOT_CTL_IDX_SECTION] = action_keep_text(b->request, text, len);
	const char *rest = text + len;
	if (*rest == '[') {
		char *id = must(strdup(rest + 1));
		size_t out = 0, in = 0;
		while (id[in] != '\0' && id[in] != ']') {
			in += id[in] == '\\' && id[in + 1] == ']';
			id[out++] = id[in++];
		}
		bool is_closed = id[in] == ']';
		if (is_closed) {
			(*unit)[KNOT_CTL_IDX_ID] = action_keep_text(b->request, id, out);
			rest += 1 + in + 1;
		}
		free(id);
		if (!is_closed) {
			return action_refuse_words(b, "(missing bracket after identifier) %s", text + len + 1);
		}
	}
	if (*rest == '.') {
		if (rest[1] == '\0') {
			return action_refuse_words(b, "(missing item specification)");
		}
		(*unit)[KNOT_CTL_IDX_ITEM] = request_keep_all(b->request, rest + 1);
		return true;
	}
	return *rest == '\0' ? true : action_refuse_words(b, "(unexpected token) %s", rest);
}

static bool action_build_items(builder_t *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (!action_put_item(b, request_add_unit(b->request, &b->base), b->args[i])) {
			return false;
		}
	}
	if (b->count == 0) {
		request_add_unit(b->request, &b->base);
	}
	return true;
}

/* One unit per value. */
static bool action_build_set(builder_t *b, size_t min)
{
	if (!action_check_count(b, min, SIZE_MAX)) {
		return false;
	}
	for (size_t i = 1; i < b->count || i == 1; i++) {
		knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
		if (b->count > 0 && !action_put_item(b, unit, b->args[0])) {
			return false;
		}
		if (i < b->count) {
			(*unit)[KNOT_CTL_IDX_DATA] = request_keep_all(b->request, b->args[i]);
		}
	}
	return true;
}

static bool action_build_interface(builder_t *b)
{
	knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
	if (b->count > 0) {
		(*unit)[KNOT_CTL_IDX_SECTION] = request_keep_all(b->request, b->args[0]);
	}
	return action_check_count(b, 0, 1);
}

/* The file is the OWNER of the only unit, which is never sent. */
static bool action_build_file(builder_t *b, size_t min)
{
	if (!action_take_filters(b)) {
		return false;
	}
	knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
	if (b->count > 0) {
		(*unit)[KNOT_CTL_IDX_OWNER] = request_keep_all(b->request, b->args[0]);
	}
	return action_check_count(b, min, 1);
}

static bool action_build_block(builder_t *b)
{
	static const struct {
		const char *verb;
		size_t prefixes_min;
		bool has_filters;
	} verbs[] = { { "add", 1, true }, { "remove", 1, false }, { "list", 0, false } };
	if (!action_take_filters(b) || !action_check_count(b, 1, 2)) {
		return false;
	}
	for (size_t i = 0; i < KNOT_LEN(verbs); i++) {
		if (strcmp(verbs[i].verb, b->args[0]) != 0) {
			continue;
		}
		if (b->base[KNOT_CTL_IDX_FILTERS] != NULL && !verbs[i].has_filters) {
			return action_refuse_words(b, "'%s' takes no rate, time, comment or file", verbs[i].verb);
		}
		b->request->file = b->base[KNOT_CTL_IDX_SECTION]; /* read by knotc, not by the server */
		b->base[KNOT_CTL_IDX_SECTION] = NULL;
		knot_ctl_data_t *unit = request_add_unit(b->request, &b->base);
		(*unit)[KNOT_CTL_IDX_TYPE] = request_keep_all(b->request, b->args[0]);
		if (b->request->file != NULL) {
			return b->count == 1 ? true : action_refuse_words(b, "a prefix and a file can't be combined");
		}
		if (b->count > 1) {
			(*unit)[KNOT_CTL_IDX_ID] = request_keep_all(b->request, b->args[1]);
		}
		return b->count > verbs[i].prefixes_min ? true : action_refuse_words(b, "missing prefix");
	}
	return action_refuse_words(b, "unknown word '%s'", b->args[0]);
}

static bool action_build(builder_t *b)
{
	knot_ctl_data_t *unit;
	switch (b->action->args) {
	case ARGS_NONE: request_add_unit(b->request, &b->base); return action_check_count(b, 0, 0);
	case ARGS_ACTION:
		unit = request_add_unit(b->request, &b->base);
		if (b->count > 0) {
			(*unit)[KNOT_CTL_IDX_ITEM] = request_keep_all(b->request, b->args[0]);
		}
		return action_check_count(b, 0, 1);
	case ARGS_DETAIL:
		unit = request_add_unit(b->request, &b->base);
		if (b->count > 0) {
			(*unit)[KNOT_CTL_IDX_TYPE] = request_keep_all(b->request, b->args[0]);
		}
		return action_check_count(b, 0, 1);
	case ARGS_COUNTER:
		unit = request_add_unit(b->request, &b->base);
		if (b->count > 0) {
			action_put_counter(b, unit, b->args[0]);
		}
		return action_check_count(b, 0, 1);
	case ARGS_ZONE_COUNTER:
		if (!action_check_count(b, 1, 2)) {
			return false;
		}
		unit = request_add_unit(b->request, &b->base);
		action_put_zone(b, unit, b->args[0]);
		if (b->count > 1) {
			action_put_counter(b, unit, b->args[1]);
		}
		return true;
	case ARGS_ZONES: return action_build_zones(b, 0);
	case ARGS_ZONES_NEEDED: return action_build_zones(b, 1);
	case ARGS_NODE: return action_build_node(b);
	case ARGS_ZONE:
		if (!action_take_filters(b) || !action_check_count(b, 1, 1)) {
			return false;
		}
		action_put_zone(b, request_add_unit(b->request, &b->base), b->args[0]);
		return true;
	case ARGS_ADD: return action_build_record(b, 3);
	case ARGS_REMOVE: return action_build_record(b, 2);
	case ARGS_ROLLOVER:
		if (!action_check_count(b, 2, 2)) {
			return false;
		}
		unit = request_add_unit(b->request, &b->base);
		action_put_zone(b, unit, b->args[0]);
		(*unit)[KNOT_CTL_IDX_TYPE] = request_keep_all(b->request, b->args[1]);
		return true;
	case ARGS_SERIAL: return action_build_serial(b);
	case ARGS_ITEMS: return action_build_items(b);
	case ARGS_SET: return action_build_set(b, 1);
	case ARGS_UNSET: return action_build_set(b, 0);
	case ARGS_FILE: return action_build_file(b, 0);
	case ARGS_FILE_NEEDED: return action_build_file(b, 1);
	case ARGS_INTERFACE: return action_build_interface(b);
	case ARGS_BLOCK: return action_build_block(b);
	case ARGS_FILTERS:
		if (!action_take_filters(b)) {
			return false;
		}
		request_add_unit(b->request, &b->base);
		return action_check_count(b, 0, 0);
	}
	return false;
}

bool action_request(const action_t *action, request_flags_t flags, char *const args[], size_t count,
		request_t *ret_request, char ret_error[static ACTION_ERROR_MAX])
{
	request_t request = { 0 };
	builder_t b = { .action = action,
		.request = &request,
		.args = (const char *const *)args,
		.count = count,
		.error = ret_error };
	const char *letters = flags.force && flags.blocking ? "FB" : flags.force ? "F" : flags.blocking ? "B" : NULL;
	b.base[KNOT_CTL_IDX_CMD] = action->name;
	b.base[KNOT_CTL_IDX_FLAGS] = letters;
	if (action->layout == LAYOUT_CONF) {
		/*
		 * Configuration commands have their letters among the filters (Knot 3.5) or the flags (Knot 3.2);
		 * listing means the schema.
		 */
		const char *schema = strcmp(action->name, "conf-list") == 0 ? "s" : "";
		char all[8];
		snprintf(all, sizeof(all), "%s%s", letters != NULL ? letters : "", schema);
		if (all[0] != '\0') {
			b.base[KNOT_CTL_IDX_FLAGS] = b.base[KNOT_CTL_IDX_FILTERS] = request_keep_all(&request, all);
		}
	}
	if ((action->flags & COMMAND_WARNINGS) != 0) {
		const char *others = b.base[KNOT_CTL_IDX_FILTERS];
		char all[8];
		snprintf(all, sizeof(all), "%sw", others != NULL ? others : "");
		b.base[KNOT_CTL_IDX_FILTERS] = request_keep_all(&request, all);
	}
	bool is_good = (action->flags & COMMAND_FORCE) != 0 && !flags.force
				       ? action_refuse_words(&b, "force option required!")
				       : action_build(&b);
	if (!is_good) {
		request_free(&request);
		return false;
	}
	*ret_request = request;
	return true;
}
