/* SPDX-License-Identifier: BSD-2-Clause */
/* Text → store: items of the grammar are looked up in the schema, converted, checked and kept. */
#include "src/conf/load.h"
#include "src/conf/fault.h"
#include "libknot/text/conf_grammar.h"
#include "src/conf/value.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	INCLUDE_DEPTH_MAX = 6, /* the main file has depth 0 */
	FILE_MIB_MAX = 1024,   /* some million zones; what is larger is another file that a pattern has met */
	NO_SECTION = CONF_S_COUNT,
};

/* Not above: a value beyond int makes all values of its enum unsigned (since GCC 13). */
enum { ITEMS_MAX = UINT32_MAX /* bytes of a block's items */ };

/** Where the reader is: what faults name. */
typedef struct {
	const char *file;
	size_t line;
	knot_str_t key, value; /* len 0: not known */
	unsigned depth;
} place_t;

typedef struct {
	conf_store_t *store; /* borrowed */
	conf_sink_t sink;
	bool is_refused; /* something is not supported yet: go on, but fail in the end */
	place_t place;
	size_t section; /* NO_SECTION before the first */
	bool in_block;  /* items go to a block of the section */
	size_t block;   /* its index in the section's table */
	uint8_t *items; /* the block's packed items until it ends; owned */
	size_t items_len, items_max;
	uint8_t value[CONF_VALUE_MAX];
} loader_t;

/* ---- Faults ---- */

/** Room for the strings of a place. */
typedef struct {
	char id[CONF_VALUE_MAX];
	char item[KNOT_CONF_KEY_MAX + 1];
	char value[KNOT_CONF_VALUE_MAX + 1];
} strings_t;

/** The block that the loader is in, if it is in one. */
static void place_block(const loader_t *loader, strings_t *strings, conf_place_t *place)
{
	const conf_section_t *section = conf_sections[loader->section];
	place->section = section->name;
	if (loader->in_block && section->kind == CONF_MULTI) {
		const conf_block_t *block = &loader->store->tables[loader->section].blocks[loader->block];
		(void)conf_value_print(conf_id_row(section), (knot_bytes_t){ block->id, block->id_len }, strings->id,
				sizeof(strings->id));
		place->id = strings->id;
	}
}

/** The current line, with item and value as far as they are known. */
static conf_place_t place_of(const loader_t *loader, strings_t *strings)
{
	const place_t *at = &loader->place;
	conf_place_t place = { .file = at->file, .line = at->line };
	if (at->key.len == 0) {
		return place;
	}
	if (loader->section < conf_section_count) {
		place_block(loader, strings, &place);
	}
	memcpy(strings->item, at->key.data, at->key.len);
	strings->item[at->key.len] = '\0';
	place.item = strings->item;
	if (at->value.len > 0) {
		memcpy(strings->value, at->value.data, at->value.len);
		strings->value[at->value.len] = '\0';
		place.value = strings->value;
	}
	return place;
}

static knot_err_t tell_item(const loader_t *loader, conf_severity_t severity, knot_err_t err, const char *reason)
{
	strings_t strings;
	conf_place_t place = place_of(loader, &strings);
	return conf_tell(loader->sink, severity, err, &place, reason);
}

/** Words of their own, for what is not about an item. */
__attribute__((format(printf, 4, 5))) static knot_err_t tell_text(
		const loader_t *loader, conf_severity_t severity, knot_err_t err, const char *format, ...)
{
	char text[2 * PATH_MAX];
	const conf_place_t place = { .file = loader->place.file, .line = loader->place.line };
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return conf_tell_text(loader->sink, severity, err, &place, NULL, "%s", text);
}

static knot_err_t fail_item(const loader_t *loader, knot_err_t err, const char *reason)
{
	return tell_item(loader, CONF_ERROR, err, reason);
}

/** A fault whose reason is the text of its code. */
static knot_err_t fail_code(const loader_t *loader, knot_err_t err)
{
	return fail_item(loader, err, knot_strerror(err));
}

/** The item asks for what we can't do: all such items are reported, in one run. */
static void refuse_item(loader_t *loader)
{
	strings_t strings;
	conf_place_t place = place_of(loader, &strings);
	place.value = NULL;
	loader->is_refused = true;
	(void)conf_tell(loader->sink, CONF_ERROR, KNOT_CONF_ENOTSUP, &place, knot_strerror(KNOT_CONF_ENOTSUP));
}

/* ---- Blocks ---- */

static const conf_section_t *section_of(const loader_t *loader)
{
	return conf_sections[loader->section];
}

static conf_block_view_t view_of(const loader_t *loader)
{
	const conf_block_t *block = &loader->store->tables[loader->section].blocks[loader->block];
	return (conf_block_view_t){ .section = section_of(loader),
		.id = { block->id, block->id_len },
		.items = { loader->items, loader->items_len } };
}

static knot_err_t reserve_items(loader_t *loader, size_t len)
{
	size_t need = loader->items_len + len;
	if (need <= loader->items_max) {
		return KNOT_OK;
	}
	size_t max = 2 * need + 256;
	uint8_t *items = max <= ITEMS_MAX ? realloc(loader->items, max) : NULL;
	if (items == NULL) {
		return KNOT_ENOMEM;
	}
	loader->items = items;
	loader->items_max = max;
	return KNOT_OK;
}

static knot_err_t append_item(loader_t *loader, size_t row, knot_bytes_t value)
{
	knot_err_t err = reserve_items(loader, value.len + 4);
	if (err == KNOT_OK) {
		loader->items_len += conf_item_put(loader->items + loader->items_len, row, value);
	}
	return err;
}

static knot_err_t open_block(loader_t *loader, knot_bytes_t id)
{
	conf_block_t *block = conf_store_find(loader->store, loader->section, id);
	if (block == NULL) {
		knot_err_t err = conf_store_add(loader->store, loader->section, id, &block);
		if (err != KNOT_OK) {
			return fail_code(loader, err);
		}
	}
	/* A group may come several times: its items so far go on. */
	loader->items_len = 0;
	if (reserve_items(loader, block->items_len) != KNOT_OK) {
		return fail_code(loader, KNOT_ENOMEM);
	}
	if (block->items_len > 0) {
		memcpy(loader->items, block->items, block->items_len);
	}
	loader->items_len = block->items_len;
	loader->block = (size_t)(block - loader->store->tables[loader->section].blocks);
	loader->in_block = true;
	return KNOT_OK;
}

static knot_err_t fail_block(const loader_t *loader, const char *reason)
{
	strings_t strings;
	conf_place_t place = { .file = loader->place.file, .line = loader->place.line };
	place_block(loader, &strings, &place);
	return conf_tell(loader->sink, CONF_ERROR, KNOT_EINVAL, &place, reason);
}

/** Checks that need all of a block. */
static knot_err_t check_block(const loader_t *loader)
{
	const conf_section_t *section = section_of(loader);
	const conf_block_view_t view = view_of(loader);
	const conf_view_t all = { .store = loader->store };
	for (size_t i = 0; i < KNOT_LEN(section->notices) && section->notices[i] != NULL; i++) {
		char notice[CONF_NOTICE_MAX];
		if (section->notices[i](&view, all, notice)) {
			(void)tell_text(loader, CONF_NOTICE, KNOT_OK, "config, %s", notice);
		}
	}
	const char *reason = conf_check_block(&view, all);
	return reason != NULL ? fail_block(loader, reason) : KNOT_OK;
}

/** The block ends: it is checked, then its items are kept. Faults name the line before. */
static knot_err_t close_block(loader_t *loader)
{
	if (!loader->in_block) {
		return KNOT_OK;
	}
	place_t place = loader->place;
	loader->place.line--;
	loader->place.key.len = loader->place.value.len = 0;
	knot_err_t err = check_block(loader);
	if (err == KNOT_OK) {
		conf_block_t *block = &loader->store->tables[loader->section].blocks[loader->block];
		block->items = conf_store_bytes(loader->store, loader->section, loader->items, loader->items_len);
		block->items_len = (uint32_t)loader->items_len;
		err = block->items != NULL ? KNOT_OK : fail_code(loader, KNOT_ENOMEM);
	}
	loader->in_block = false;
	loader->place = place;
	return err;
}

/* ---- Values ---- */

static void tell_obsolete(const loader_t *loader, const conf_row_t *row)
{
	strings_t strings;
	conf_place_t place = place_of(loader, &strings);
	(void)conf_tell_text(loader->sink, CONF_NOTICE, KNOT_OK, &place, NULL,
			"config, line %zu, option '%s.%s' is obsolete and has no effect", place.line,
			section_of(loader)->name, row->name);
}

/** Convert and check the value at the current place. ret_value borrows the loader's buffer. */
static knot_err_t scan_value(loader_t *loader, const conf_row_t *row, knot_bytes_t *ret_value)
{
	size_t len;
	knot_err_t err = conf_value_scan(row, loader->place.value, loader->value, &len);
	if (err != KNOT_OK) {
		/* What a listen address of xdp must be is said by its check, whatever is wrong with it. */
		bool is_xdp_listen = loader->section == CONF_S_XDP && row->type == CONF_ADDR;
		return is_xdp_listen ? fail_item(loader, err, "invalid XDP interface specification")
				     : fail_code(loader, err);
	}
	conf_check_value_t check = { .row = row, .value = { loader->value, len } };
	if (loader->in_block) {
		check.block = view_of(loader);
	}
	const char *reason = NULL;
	err = conf_check_value(&check, (conf_view_t){ .store = loader->store }, &reason);
	if (err != KNOT_OK && err != KNOT_CONF_ENOTSUP) {
		return fail_item(loader, err, reason);
	}
	reason = row->warn != NULL ? row->warn(&check) : NULL;
	if (reason != NULL) {
		(void)tell_item(loader, CONF_WARNING, KNOT_OK, reason);
	}
	if (row->support == CONF_OBSOLETE) {
		tell_obsolete(loader, row);
	}
	if (err == KNOT_CONF_ENOTSUP) {
		refuse_item(loader);
	}
	*ret_value = check.value;
	return KNOT_OK;
}

/** Take the earlier value of a single-valued item out: the last one wins. */
static void remove_item(loader_t *loader, size_t row)
{
	knot_bytes_t items = { loader->items, loader->items_len };
	conf_item_t item;
	size_t pos = 0, start = 0;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row == row) {
			memmove(loader->items + start, loader->items + pos, loader->items_len - pos);
			loader->items_len -= pos - start;
			return;
		}
		start = pos;
	}
}

/** Count of the values that the item has already; ret_is_there: this one is among them. */
static size_t count_values(const loader_t *loader, size_t row, knot_bytes_t value, bool *ret_is_there)
{
	knot_bytes_t items = { loader->items, loader->items_len };
	conf_item_t item;
	size_t pos = 0, count = 0;
	*ret_is_there = false;
	while (conf_item_next(items, &pos, &item)) {
		if (item.row == row) {
			count++;
			*ret_is_there = *ret_is_there ||
					(item.value.len == value.len &&
							memcmp(item.value.data, value.data, value.len) == 0);
		}
	}
	return count;
}

static knot_err_t set_item(loader_t *loader, size_t row_index)
{
	const conf_row_t *row = &section_of(loader)->rows[row_index];
	knot_bytes_t value;
	knot_err_t err = scan_value(loader, row, &value);
	if (err != KNOT_OK) {
		return err;
	}
	if (!row->multi) {
		remove_item(loader, row_index);
	} else {
		bool is_there;
		size_t count = count_values(loader, row_index, value, &is_there);
		if (is_there) {
			return KNOT_OK;
		}
		if (row->count_max > 0 && count >= row->count_max) {
			return fail_item(loader, KNOT_EINVAL, "too many values");
		}
	}
	err = append_item(loader, row_index, value);
	return err == KNOT_OK ? KNOT_OK : fail_code(loader, err);
}

/* ---- Events ---- */

static knot_err_t include(loader_t *loader);

bool conf_is_cleared(size_t section, const char *pattern)
{
	return conf_sections[section]->kind != CONF_DIRECTIVE &&
	       fnmatch(pattern, conf_sections[section]->name, FNM_NOESCAPE | FNM_EXTMATCH) == 0;
}

/** Forget the sections whose names match. */
static void clear(loader_t *loader)
{
	char pattern[KNOT_CONF_VALUE_MAX + 1];
	memcpy(pattern, loader->place.value.data, loader->place.value.len);
	pattern[loader->place.value.len] = '\0';
	for (size_t i = 0; i < conf_section_count; i++) {
		if (conf_is_cleared(i, pattern)) {
			conf_store_clear(loader->store, i);
		}
	}
}

static knot_err_t do_directive(loader_t *loader)
{
	if (loader->place.value.len == 0) {
		return fail_code(loader, KNOT_CONF_ENODATA);
	}
	if (loader->section == CONF_S_INCLUDE) {
		return include(loader);
	}
	clear(loader);
	return KNOT_OK;
}

static knot_err_t on_key0(loader_t *loader)
{
	knot_err_t err = close_block(loader);
	if (err != KNOT_OK) {
		return err;
	}
	loader->section = conf_section_find(loader->place.key);
	if (loader->section == conf_section_count) {
		if (loader->place.key.len < 4 || memcmp(loader->place.key.data, "mod-", 4) != 0) {
			return fail_code(loader, KNOT_CONF_EITEM);
		}
		return tell_text(loader, CONF_ERROR, KNOT_CONF_EITEM,
				"config, file '%s', line %zu, unknown module '%.*s'", loader->place.file,
				loader->place.line, (int)loader->place.key.len, loader->place.key.data);
	}
	if (section_of(loader)->kind == CONF_DIRECTIVE) {
		return do_directive(loader);
	}
	if (loader->place.value.len > 0) {
		return fail_code(loader, KNOT_CONF_EVALUE);
	}
	return section_of(loader)->kind == CONF_GROUP ? open_block(loader, (knot_bytes_t){ 0 }) : KNOT_OK;
}

/** An item where only an identifier may be, or the other way round. A value that is wrong by itself is told before, as
 * Knot does. */
static knot_err_t fail_out_of_place(loader_t *loader, const conf_row_t *row, knot_err_t err)
{
	size_t len;
	knot_err_t value_err = conf_value_scan(row, loader->place.value, loader->value, &len);
	return fail_code(loader, value_err != KNOT_OK ? value_err : err);
}

static knot_err_t on_key1(loader_t *loader)
{
	if (loader->section == NO_SECTION) {
		return fail_code(loader, KNOT_CONF_EINDENT);
	}
	const conf_section_t *section = section_of(loader);
	size_t row = conf_row_find(section, loader->place.key);
	if (row == section->row_count) {
		return fail_code(loader, KNOT_CONF_EITEM);
	}
	if (section->kind == CONF_MULTI && &section->rows[row] == conf_id_row(section)) {
		return fail_out_of_place(loader, &section->rows[row], KNOT_CONF_EIDUNSUP);
	}
	return loader->in_block ? set_item(loader, row) : fail_code(loader, KNOT_CONF_ENOID);
}

static knot_err_t on_id(loader_t *loader)
{
	if (loader->section == NO_SECTION) {
		return fail_code(loader, KNOT_CONF_EINDENT);
	}
	/* Whatever the line has, the block before it has ended. */
	bool is_first = section_of(loader)->kind == CONF_MULTI && !loader->in_block;
	knot_err_t err = close_block(loader);
	if (err != KNOT_OK) {
		return err;
	}
	const conf_section_t *section = section_of(loader);
	size_t row = conf_row_find(section, loader->place.key);
	if (row == section->row_count) {
		return fail_code(loader, KNOT_CONF_EITEM);
	}
	if (section->kind != CONF_MULTI || &section->rows[row] != conf_id_row(section)) {
		return is_first ? fail_code(loader, KNOT_CONF_ENOID)
				: fail_out_of_place(loader, &section->rows[row], KNOT_CONF_EID);
	}
	if (loader->place.value.len == 0) {
		return fail_code(loader, KNOT_CONF_ENODATA);
	}
	knot_bytes_t id;
	err = scan_value(loader, &section->rows[row], &id);
	if (err != KNOT_OK) {
		return err;
	}
	if (conf_store_find(loader->store, loader->section, id) != NULL) {
		return fail_code(loader, KNOT_CONF_EDUPID);
	}
	return open_block(loader, id);
}

static knot_err_t on_item(loader_t *loader, const knot_conf_item_t *item)
{
	loader->place.line = item->line;
	loader->place.key = item->key;
	loader->place.value = item->value;
	switch (item->kind) {
	case KNOT_CONF_KEY0: return on_key0(loader);
	case KNOT_CONF_KEY1: return on_key1(loader);
	case KNOT_CONF_ID: return on_id(loader);
	}
	return KNOT_EINVAL;
}

/** One text from its start to its end; sections don't reach over the borders of a file. */
static knot_err_t load_text(loader_t *loader, knot_str_t text)
{
	knot_conf_parser_t *parser = malloc(sizeof(*parser));
	if (parser == NULL) {
		return fail_code(loader, KNOT_ENOMEM);
	}
	knot_conf_parser_init(parser, text);
	loader->section = NO_SECTION;
	knot_conf_item_t item;
	knot_conf_verdict_t verdict;
	knot_err_t err = KNOT_OK;
	while (err == KNOT_OK && (verdict = knot_conf_next(parser, &item)) != KNOT_CONF_END) {
		if (verdict == KNOT_CONF_ITEM) {
			err = on_item(loader, &item);
			continue;
		}
		loader->place.line = item.line;
		loader->place.key = item.key;
		loader->place.value = item.value;
		err = fail_code(loader, parser->err);
	}
	if (err == KNOT_OK) {
		loader->place.line = item.line;
		err = close_block(loader);
	}
	free(parser);
	return err;
}

/* ---- Files ---- */

static knot_err_t read_whole(int fd, size_t size, char **ret_text, size_t *ret_len)
{
	char *text = malloc(size + 1);
	if (text == NULL) {
		return KNOT_ENOMEM;
	}
	size_t len = 0;
	while (len < size) {
		ssize_t count = read(fd, text + len, size - len);
		if (count < 0 && errno == EINTR) {
			continue;
		}
		if (count < 0) {
			free(text);
			return knot_err_of_errno(errno);
		}
		if (count == 0) {
			break;
		}
		len += (size_t)count;
	}
	*ret_text = text;
	*ret_len = len;
	return KNOT_OK;
}

/** ret_reason: in words, on failure. */
static knot_err_t read_file(const char *path, char **ret_text, size_t *ret_len, const char **ret_reason)
{
	/* Not blocking: a pipe in place of the file must not stop us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	knot_err_t err = fd >= 0 && fstat(fd, &info) == 0 ? KNOT_OK : knot_err_of_errno(errno);
	if (err == KNOT_OK && !S_ISREG(info.st_mode)) {
		err = KNOT_EFILE;
	}
	bool is_large = err == KNOT_OK && info.st_size > (off_t)FILE_MIB_MAX << 20;
	if (is_large) {
		err = KNOT_ESPACE;
	}
	if (err == KNOT_OK) {
		err = read_whole(fd, (size_t)info.st_size, ret_text, ret_len);
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	_Static_assert(FILE_MIB_MAX == 1024, "as the reason says");
	*ret_reason = is_large ? "larger than 1024 MiB" : knot_strerror(err);
	return err;
}

static knot_err_t load_file(loader_t *loader, const char *path)
{
	char *text = NULL;
	size_t len = 0;
	const char *reason;
	knot_err_t err = read_file(path, &text, &len, &reason);
	loader->place.file = path;
	if (err != KNOT_OK) {
		loader->place.line = 0;
		return tell_text(loader, CONF_ERROR, err, "config, failed to load file '%s' (%s)", path, reason);
	}
	err = load_text(loader, (knot_str_t){ text, len });
	free(text);
	return err;
}

/** glob() gives its error function no context. */
static _Thread_local const loader_t *glob_loader;

static int warn_of_access(const char *path, int errnum)
{
	(void)tell_text(glob_loader, CONF_WARNING, KNOT_OK, "config, failed to access '%s' (%s)", path,
			knot_strerror(knot_err_of_errno(errnum)));
	return 0;
}

/** The pattern, made absolute with the directory of the file that includes. */
static knot_err_t include_pattern(const loader_t *loader, char ret_pattern[static 2 * PATH_MAX])
{
	knot_str_t value = loader->place.value;
	char dir[PATH_MAX] = "";
	if (value.len >= PATH_MAX) {
		return KNOT_ESPACE;
	}
	if (value.data[0] != '/') {
		char *slash;
		if (loader->place.file == NULL || realpath(loader->place.file, dir) == NULL ||
				(slash = strrchr(dir, '/')) == NULL) {
			(void)snprintf(dir, sizeof(dir), "./"); /* text that is not from a file */
		} else {
			slash[1] = '\0';
		}
	}
	(void)snprintf(ret_pattern, 2 * PATH_MAX, "%s%.*s", dir, (int)value.len, value.data);
	return KNOT_OK;
}

static knot_err_t include_match(loader_t *loader, const char *path)
{
	struct stat info;
	if (stat(path, &info) != 0) {
		/* A link that leads nowhere, or a file that went since the pattern met it. */
		(void)tell_text(loader, CONF_WARNING, KNOT_OK, "config, failed to get file status for '%s'", path);
		return KNOT_OK;
	}
	if (S_ISDIR(info.st_mode)) {
		return KNOT_OK;
	}
	if (!S_ISREG(info.st_mode)) {
		(void)tell_text(loader, CONF_WARNING, KNOT_OK, "config, invalid include file '%s'", path);
		return KNOT_OK;
	}
	place_t place = loader->place;
	size_t section = loader->section;
	loader->place = (place_t){ .depth = place.depth + 1 };
	knot_err_t err = load_file(loader, path);
	loader->place = place;
	loader->section = section;
	return err;
}

static knot_err_t include(loader_t *loader)
{
	char pattern[2 * PATH_MAX];
	if (loader->place.depth >= INCLUDE_DEPTH_MAX) {
		(void)tell_text(loader, CONF_ERROR, KNOT_EPARSEFAIL, "config, %s", knot_strerror(KNOT_ELOOP));
		return fail_code(loader, KNOT_EPARSEFAIL);
	}
	knot_err_t err = include_pattern(loader, pattern);
	if (err != KNOT_OK) {
		return fail_code(loader, err);
	}
	glob_t matches;
	glob_loader = loader;
	int status = glob(pattern, 0, warn_of_access, &matches);
	if (status == GLOB_NOMATCH) {
		bool may_be_empty = memchr(loader->place.value.data, '*', loader->place.value.len) != NULL;
		return may_be_empty ? KNOT_OK : fail_code(loader, KNOT_EFILE);
	}
	if (status != 0) {
		return fail_code(loader, status == GLOB_NOSPACE ? KNOT_ENOMEM : KNOT_EFILE);
	}
	for (size_t i = 0; i < matches.gl_pathc && err == KNOT_OK; i++) {
		err = include_match(loader, matches.gl_pathv[i]);
	}
	globfree(&matches);
	return err == KNOT_OK ? KNOT_OK : fail_code(loader, err);
}

/** A loader for one reading. NULL: no memory, which the sink was told. */
static loader_t *new_loader(conf_store_t *store, const char *path, conf_sink_t sink)
{
	loader_t *loader = calloc(1, sizeof(*loader));
	if (loader == NULL) {
		const conf_place_t place = { .file = path };
		(void)conf_tell_text(sink, CONF_ERROR, KNOT_ENOMEM, &place, NULL, "config, not enough memory");
		return NULL;
	}
	loader->store = store;
	loader->sink = sink;
	loader->place.file = path;
	return loader;
}

static knot_err_t end_loader(loader_t *loader, knot_err_t err)
{
	if (err == KNOT_OK && loader->is_refused) {
		err = KNOT_CONF_ENOTSUP;
	}
	free(loader->items);
	free(loader);
	return err;
}

knot_err_t conf_include(conf_store_t *store, const char *pattern, conf_sink_t sink)
{
	loader_t *loader = new_loader(store, NULL, sink);
	if (loader == NULL) {
		return KNOT_ENOMEM;
	}
	loader->section = NO_SECTION;
	loader->place.key = KNOT_STR("include");
	loader->place.value = knot_str_of(pattern);
	return end_loader(loader, include(loader));
}

knot_err_t conf_read(conf_store_t *store, const char *path, const knot_str_t *text, conf_sink_t sink)
{
	loader_t *loader = new_loader(store, path, sink);
	if (loader == NULL) {
		return KNOT_ENOMEM;
	}
	return end_loader(loader, text != NULL ? load_text(loader, *text) : load_file(loader, path));
}
