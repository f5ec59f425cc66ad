/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/ctl/complete.h"

#include "libknot/rr/rrtype.h"
#include "src/conf/schema.h"
#include "src/tools/must.h"

#include <assert.h>
#include <dirent.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_TEXT_MAX = 4096, RRTYPE_KNOWN_MAX = 512 };

/* The state of one completion. */
typedef struct {
	const complete_source_t *source;
	const action_t *action;
	candidates_t *found;
	bool is_txn;         /* the action works on a configuration transaction */
	knot_ctl_idx_t item; /* which item of the units becomes a candidate */
} completer_t;

/* ---- Candidates ---- */

static void complete_set_stem(completer_t *c, const char *text, size_t len)
{
	candidates_set_stem(c->found, text, len);
}

static void complete_add_word(completer_t *c, const char *word)
{
	candidates_add(c->found, word);
}

/* ---- Names from the server or the configuration ---- */

static void complete_ask(completer_t *c, const knot_ctl_data_t *request, complete_unit_t on_unit)
{
	c->source->ask(c->source->ctx, c->action->local != LOCAL_NONE, request, on_unit, c);
}

static void complete_take_item(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	completer_t *c = ctx;
	if ((*unit)[KNOT_CTL_IDX_ERROR] == NULL && (*unit)[c->item] != NULL) {
		complete_add_word(c, (*unit)[c->item]);
	}
}

/* Ask, and take the item `item` of each unit of the reply. */
static void complete_ask_items(completer_t *c, knot_ctl_idx_t item, const knot_ctl_data_t *request)
{
	c->item = item;
	complete_ask(c, request, complete_take_item);
}

static void complete_add_zones(completer_t *c)
{
	knot_ctl_data_t request = {
		[KNOT_CTL_IDX_CMD] = "conf-list",
		[KNOT_CTL_IDX_SECTION] = "zone",
		[KNOT_CTL_IDX_FILTERS] = "z",
		[KNOT_CTL_IDX_FLAGS] = "z",
	};
	complete_ask_items(c, KNOT_CTL_IDX_ID, (const knot_ctl_data_t *)&request);
}

static void complete_take_counter(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	const char *section = (*unit)[KNOT_CTL_IDX_SECTION], *item = (*unit)[KNOT_CTL_IDX_ITEM];
	if ((*unit)[KNOT_CTL_IDX_ERROR] == NULL && section != NULL && item != NULL) {
		char text[256];
		snprintf(text, sizeof(text), "%s.%s", section, item);
		complete_add_word(ctx, text);
	}
}

static void complete_add_counters(completer_t *c, const char *zone)
{
	knot_ctl_data_t request = {
		[KNOT_CTL_IDX_CMD] = c->action->name,
		[KNOT_CTL_IDX_FLAGS] = "F",
		[KNOT_CTL_IDX_ZONE] = zone,
	};
	complete_ask(c, (const knot_ctl_data_t *)&request, complete_take_counter);
}

static void complete_add_prefixes(completer_t *c)
{
	knot_ctl_data_t request = { [KNOT_CTL_IDX_CMD] = c->action->name, [KNOT_CTL_IDX_TYPE] = "list" };
	complete_ask_items(c, KNOT_CTL_IDX_ID, (const knot_ctl_data_t *)&request);
}

/* ---- Words of this program ---- */

static void complete_add_words(completer_t *c, const char *const *words)
{
	for (; *words != NULL; words++) {
		complete_add_word(c, *words);
	}
}

/* with_absent: also those that are not supported yet, which can be explained, not run. */
static void complete_add_actions(completer_t *c, bool with_absent)
{
	for (size_t i = 0; i < action_count; i++) {
		if (actions[i].name != NULL && (with_absent || !actions[i].is_absent)) {
			complete_add_word(c, actions[i].name);
		}
	}
}

static void complete_add_types(completer_t *c)
{
	for (uint16_t type = 1; type < RRTYPE_KNOWN_MAX; type++) {
		char text[KNOT_TYPE_TEXT_MAX];
		(void)knot_rrtype_print(type, text);
		if (!knot_rrtype_is_meta(type) && strncmp(text, "TYPE", 4) != 0) {
			complete_add_word(c, text);
		}
	}
}

static void complete_add_interfaces(completer_t *c)
{
	struct if_nameindex *all = if_nameindex();
	for (size_t i = 0; all != NULL && all[i].if_index != 0; i++) {
		complete_add_word(c, all[i].if_name);
	}
	if_freenameindex(all);
}

static bool complete_is_given(const complete_line_t *line, const char *word)
{
	for (size_t i = 1; i < line->count; i++) {
		if (i != line->at && strcmp(line->words[i], word) == 0) {
			return true;
		}
	}
	return false;
}

static void complete_add_filters(completer_t *c, const complete_line_t *line)
{
	for (const filter_t *filter = c->action->filters; filter != NULL && filter->word != NULL; filter++) {
		if (!complete_is_given(line, filter->word)) {
			complete_add_word(c, filter->word);
		}
	}
}

/* ---- Paths ---- */

static bool complete_is_directory(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Candidates for the last part of a path. */
static void complete_add_paths(completer_t *c, const char *typed, bool only_directories)
{
	const char *slash = strrchr(typed, '/');
	size_t base_len = slash != NULL ? (size_t)(slash + 1 - typed) : 0;
	char base[PATH_TEXT_MAX];
	snprintf(base, sizeof(base), "%.*s", (int)base_len, typed);
	complete_set_stem(c, typed + base_len, strlen(typed) - base_len);
	DIR *dir = opendir(base_len > 0 ? base : ".");
	if (dir == NULL) {
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		char path[PATH_TEXT_MAX + 256];
		snprintf(path, sizeof(path), "%s%s", base, entry->d_name);
		bool is_dir = complete_is_directory(path);
		/* Hidden files only if the word begins with a dot. */
		if ((entry->d_name[0] == '.' && c->found->stem[0] != '.') || (only_directories && !is_dir)) {
			continue;
		}
		char word[256 + 2];
		snprintf(word, sizeof(word), "%s%s", entry->d_name, is_dir ? "/" : "");
		complete_add_word(c, word);
	}
	(void)closedir(dir);
	if (c->found->count == 1 && strchr(c->found->words[0], '/') != NULL) {
		c->found->end = "";
	}
}

/* ---- Items of the configuration ---- */

/* The parts of "section[id].item" that have been typed; NULL: not there. Owned. */
typedef struct {
	char *section, *id, *item;
	bool is_id_closed;
} typed_item_t;

static void complete_free_item(typed_item_t *typed)
{
	free(typed->section);
	free(typed->id);
	free(typed->item);
}

static typed_item_t complete_read_item(const char *text)
{
	typed_item_t typed = { 0 };
	size_t len = strcspn(text, "[.");
	typed.section = must(strndup(text, len));
	const char *rest = text + len;
	if (*rest == '[') {
		typed.id = must(strdup(rest + 1));
		size_t out = 0;
		for (rest++; *rest != '\0' && *rest != ']'; rest++) {
			rest += rest[0] == '\\' && rest[1] == ']';
			typed.id[out++] = *rest;
		}
		typed.id[out] = '\0';
		typed.is_id_closed = *rest == ']';
		rest += typed.is_id_closed;
	}
	if (*rest == '.') {
		typed.item = must(strdup(rest + 1));
	}
	return typed;
}

static const char *complete_schema_filter(const completer_t *c)
{
	return c->is_txn ? "st" : "s";
}

/* One conf-list request. Knot 3.2 reads the filters from FLAGS. */
static void complete_list(completer_t *c, knot_ctl_idx_t taken, const typed_item_t *where, const char *filters)
{
	knot_ctl_data_t request = {
		[KNOT_CTL_IDX_CMD] = "conf-list",
		[KNOT_CTL_IDX_SECTION] = where->section,
		[KNOT_CTL_IDX_ID] = where->id,
		[KNOT_CTL_IDX_ITEM] = where->item,
		[KNOT_CTL_IDX_FILTERS] = filters,
		[KNOT_CTL_IDX_FLAGS] = filters,
	};
	complete_ask_items(c, taken, (const knot_ctl_data_t *)&request);
}

static void complete_add_sections(completer_t *c, const char *typed)
{
	complete_list(c, KNOT_CTL_IDX_SECTION, &(typed_item_t){ 0 }, "s");
	c->found->end = "";
	/* A complete name of a section that this release knows is followed by what it can have. */
	for (size_t i = 0; i < c->found->count; i++) {
		if (strcmp(c->found->words[i], typed) != 0) {
			continue;
		}
		size_t section = conf_section_find(knot_str_of(typed));
		char *word = c->found->words[i];
		c->found->words[i] = c->found->words[--c->found->count];
		char text[128];
		snprintf(text, sizeof(text), "%s.", word);
		complete_add_word(c, text);
		snprintf(text, sizeof(text), "%s[", word);
		if (section == conf_section_count || conf_sections[section]->kind == CONF_MULTI) {
			complete_add_word(c, text);
		}
		free(word);
		return;
	}
}

static void complete_take_id(void *ctx, knot_ctl_type_t type, const knot_ctl_data_t *unit)
{
	(void)type;
	completer_t *c = ctx;
	const char *id = (*unit)[KNOT_CTL_IDX_ID];
	if ((*unit)[KNOT_CTL_IDX_ERROR] != NULL || id == NULL) {
		return;
	}
	char *escaped = must(malloc(2 * strlen(id) + 1)), *out = escaped;
	for (; *id != '\0'; id++) {
		if (*id == ']') {
			*out++ = '\\';
		}
		*out++ = *id;
	}
	*out = '\0';
	complete_add_word(c, escaped);
	free(escaped);
}

/* Identifiers, in the transaction if there is one. */
static void complete_list_ids(completer_t *c, const char *section, complete_unit_t on_unit)
{
	static const char *const filters[] = { "t", NULL };
	for (size_t i = c->is_txn ? 0 : 1; i < KNOT_LEN(filters) && c->found->count == 0; i++) {
		knot_ctl_data_t request = {
			[KNOT_CTL_IDX_CMD] = "conf-list",
			[KNOT_CTL_IDX_SECTION] = section,
			[KNOT_CTL_IDX_FILTERS] = filters[i],
			[KNOT_CTL_IDX_FLAGS] = filters[i],
		};
		c->item = KNOT_CTL_IDX_ID;
		complete_ask(c, (const knot_ctl_data_t *)&request, on_unit);
	}
}

static void complete_add_items(completer_t *c, const char *text)
{
	typed_item_t typed = complete_read_item(text);
	if (typed.item != NULL) {
		complete_set_stem(c, typed.item, strlen(typed.item));
		complete_list(c, KNOT_CTL_IDX_ITEM, &(typed_item_t){ .section = typed.section },
				complete_schema_filter(c));
		if (c->found->count == 0 && c->is_txn) {
			complete_list(c, KNOT_CTL_IDX_ITEM, &(typed_item_t){ .section = typed.section }, "s");
		}
	} else if (typed.is_id_closed) {
		complete_set_stem(c, "", 0);
		complete_add_word(c, ".");
		c->found->end = "";
	} else if (typed.id != NULL) {
		const char *start = strchr(text, '[') + 1;
		complete_set_stem(c, start, strlen(start));
		complete_list_ids(c, typed.section, complete_take_id);
		c->found->end = "]";
	} else {
		complete_add_sections(c, text);
	}
	complete_free_item(&typed);
}

static const conf_row_t *complete_find_row(const typed_item_t *typed)
{
	size_t section = conf_section_find(knot_str_of(typed->section));
	if (section == conf_section_count || typed->item == NULL) {
		return NULL;
	}
	size_t row = conf_row_find(conf_sections[section], knot_str_of(typed->item));
	return row < conf_sections[section]->row_count ? &conf_sections[section]->rows[row] : NULL;
}

/* Values that an item can be given: names of options, identifiers that it can refer to, paths. */
static void complete_add_values(completer_t *c, const typed_item_t *typed)
{
	const conf_row_t *row = complete_find_row(typed);
	complete_list(c, KNOT_CTL_IDX_DATA, &(typed_item_t){ .section = typed->section, .item = typed->item }, "s");
	if (row == NULL) {
		return;
	}
	if (row->type == CONF_BOOL) {
		complete_add_words(c, (const char *const[]){ "on", "off", NULL });
	} else if (row->type == CONF_RRTYPE) {
		complete_add_types(c);
	} else if (row->type == CONF_STR && row->path != CONF_PATH_AS_IS) {
		complete_add_paths(c, c->found->stem, false);
	}
	for (size_t i = 0; row->type == CONF_REF && i < KNOT_LEN(row->ref) && row->ref[i] != NULL; i++) {
		candidates_t before = *c->found;
		/* The candidates of each section are found separately. */
		*c->found = (candidates_t){ .stem = before.stem, .end = before.end };
		complete_list_ids(c, row->ref[i], complete_take_item);
		candidates_t more = *c->found;
		*c->found = before;
		for (size_t j = 0; j < more.count; j++) {
			complete_add_word(c, more.words[j]);
			free(more.words[j]);
		}
		free(more.words);
	}
}

/* Values that are set for the item. */
static void complete_add_set_values(completer_t *c, const typed_item_t *typed)
{
	static const char *const commands[] = { "conf-get", "conf-read" };
	for (size_t i = 0; i < KNOT_LEN(commands) && c->found->count == 0; i++) {
		knot_ctl_data_t request = {
			[KNOT_CTL_IDX_CMD] = commands[i],
			[KNOT_CTL_IDX_SECTION] = typed->section,
			[KNOT_CTL_IDX_ID] = typed->id,
			[KNOT_CTL_IDX_ITEM] = typed->item,
		};
		complete_ask_items(c, KNOT_CTL_IDX_DATA, (const knot_ctl_data_t *)&request);
	}
}

static void complete_add_item_values(completer_t *c, const char *item, bool is_set)
{
	typed_item_t typed = complete_read_item(item);
	if (typed.item != NULL && is_set) {
		complete_add_values(c, &typed);
	} else if (typed.item != NULL) {
		complete_add_set_values(c, &typed);
	}
	complete_free_item(&typed);
}

/* ---- Arguments ---- */

/* True if the word at the cursor is the value of a filter. */
static bool complete_filter_value(completer_t *c, const complete_line_t *line, const char *typed)
{
	for (const filter_t *filter = c->action->filters; filter != NULL && filter->word != NULL; filter++) {
		if (filter->argument == NULL || strcmp(line->words[line->at - 1], filter->word) != 0) {
			continue;
		}
		switch (filter->kind) {
		case VALUE_DIRECTORY: complete_add_paths(c, typed, true); break;
		case VALUE_FILE: complete_add_paths(c, typed, false); break;
		case VALUE_INTERFACE: complete_add_interfaces(c); break;
		case VALUE_ANY: break;
		}
		return true;
	}
	return false;
}

/* position: of the word at the cursor, 1 is the first behind the action and its options. first: that word, if the
 * cursor is behind it. */
static void complete_argument(completer_t *c, size_t position, const char *first, const char *typed)
{
	switch (c->action->args) {
	case ARGS_ACTION: complete_add_actions(c, true); return;
	case ARGS_DETAIL:
		complete_add_words(c, (const char *const[]){ "version", "workers", "configure", "cert-key", NULL });
		return;
	case ARGS_COUNTER: complete_add_counters(c, NULL); return;
	case ARGS_ZONES:
	case ARGS_ZONES_NEEDED:
		complete_add_zones(c);
		complete_add_word(c, "--");
		return;
	case ARGS_ZONE_COUNTER:
	case ARGS_NODE:
	case ARGS_ZONE:
	case ARGS_ADD:
	case ARGS_REMOVE:
	case ARGS_SERIAL:
	case ARGS_ROLLOVER:
		if (position == 1) {
			complete_add_zones(c);
			complete_add_word(c, "--");
		} else if (c->action->args == ARGS_ZONE_COUNTER) {
			complete_add_counters(c, strcmp(first, "--") == 0 ? NULL : first);
		} else if (c->action->args == ARGS_ROLLOVER) {
			complete_add_words(c, (const char *const[]){ "ksk", "zsk", NULL });
		} else if (c->action->args == ARGS_SERIAL) {
			complete_add_word(c, "+MAX");
		} else if (c->action->args == ARGS_ZONE) {
			return;
		} else if (position == 2) {
			complete_add_word(c, "@");
		} else if (position == 3 || (position == 4 && c->action->args != ARGS_NODE)) {
			complete_add_types(c); /* the fourth behind a TTL */
		}
		return;
	case ARGS_ITEMS: complete_add_items(c, typed); return;
	case ARGS_SET:
	case ARGS_UNSET:
		if (position == 1) {
			complete_add_items(c, typed);
		} else {
			complete_add_item_values(c, first, c->action->args == ARGS_SET);
		}
		return;
	case ARGS_INTERFACE: complete_add_interfaces(c); return;
	case ARGS_BLOCK:
		if (position == 1) {
			complete_add_words(c, (const char *const[]){ "add", "remove", "list", NULL });
		} else if (position == 2 && strcmp(first, "add") != 0) {
			complete_add_prefixes(c);
			if (strcmp(first, "remove") == 0) {
				complete_add_word(c, "all");
			}
		}
		return;
	case ARGS_FILE:
	case ARGS_FILE_NEEDED:
		if (position == 1) {
			complete_add_paths(c, typed, false);
		}
		return;
	case ARGS_FILTERS:
	case ARGS_NONE: return;
	}
}

/* words: NULL ends the list. */
static bool complete_is_one_of(const char *word, const char *const *words)
{
	while (*words != NULL && strcmp(*words, word) != 0) {
		words++;
	}
	return *words != NULL;
}

static const char *const options[] = { "-b", "-f", "--blocking", "--force", NULL };

/* Filters may stand anywhere, so they and their values are not counted. */
static size_t complete_find_position(
		const completer_t *c, const complete_line_t *line, size_t start, const char **ret_first)
{
	size_t position = 1;
	for (size_t i = start; i < line->at; i++) {
		if (line->words[i][0] == '+' && c->action->filters != NULL) {
			for (const filter_t *filter = c->action->filters; filter->word != NULL; filter++) {
				i += filter->argument != NULL && strcmp(filter->word, line->words[i]) == 0;
			}
		} else {
			if (position++ == 1) {
				*ret_first = line->words[i];
			}
		}
	}
	return position;
}

static void complete_behind_action(completer_t *c, const complete_line_t *line, const char *typed)
{
	size_t start = 1;
	while (start < line->at && complete_is_one_of(line->words[start], options)) {
		start++;
	}
	if (complete_filter_value(c, line, typed)) {
		return;
	}
	if (line->at == start && typed[0] == '-') {
		complete_add_words(c, (const char *const[]){ "-b", "-f", "--blocking", "--force", NULL });
	}
	complete_add_filters(c, line);
	if (typed[0] == '+' && c->action->filters != NULL) {
		return;
	}
	const char *first = "";
	size_t position = complete_find_position(c, line, start, &first);
	complete_argument(c, position, first, typed);
}

void complete(const complete_line_t *line, const complete_source_t *source, candidates_t *ret_found)
{
	assert(line->at <= line->count);
	assert(line->at == line->count || line->offset <= strlen(line->words[line->at]));
	candidates_t found = { .end = " " };
	completer_t c = { .source = source, .found = &found };
	const char *word = line->at < line->count ? line->words[line->at] : "";
	complete_set_stem(&c, word, line->at < line->count ? line->offset : 0);
	char *typed = must(strdup(found.stem));
	if (line->at == 0) {
		complete_add_actions(&c, false);
	} else {
		c.action = action_find(line->words[0]);
		if (c.action != NULL) {
			c.is_txn = (c.action->flags & COMMAND_TXN) != 0;
			complete_behind_action(&c, line, typed);
		}
	}
	free(typed);
	candidates_sort(&found);
	*ret_found = found;
}
