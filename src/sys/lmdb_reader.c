/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/sys/lmdb_reader.h"

#include "src/sys/lmdb_walk.h"

#include <stdlib.h>

struct sys_lmdb_reader {
	lmdb_walk_t walk;
	lmdb_meta_t meta;
	sys_lmdb_visit_t visit;
	void *visit_ctx;
	uint8_t *value; /* owned: a large one */
};

knot_err_t sys_lmdb_reader_begin(int fd, sys_lmdb_reader_t **ret_reader, const char **ret_what)
{
	sys_lmdb_reader_t *reader = calloc(1, sizeof(*reader));
	if (reader == NULL) {
		*ret_what = "out of memory";
		return KNOT_ENOMEM;
	}
	lmdb_file_t *file = &reader->walk.file;
	if (lmdb_file_begin(file, fd, &reader->meta) == KNOT_OK && lmdb_file_check_root(file, &reader->meta.main)) {
		*ret_reader = reader;
		return KNOT_OK;
	}
	knot_err_t err = file->err;
	*ret_what = file->what;
	sys_lmdb_reader_end(reader);
	return err;
}

void sys_lmdb_reader_end(sys_lmdb_reader_t *take_reader)
{
	if (take_reader != NULL) {
		lmdb_walk_end(&take_reader->walk);
		free(take_reader->value);
		free(take_reader);
	}
}

static const uint8_t *lmdb_reader_load_large(sys_lmdb_reader_t *reader, const lmdb_node_t *entry)
{
	lmdb_file_t *file = &reader->walk.file;
	uint32_t pages;
	if (entry->value_len > SYS_LMDB_VALUE_MAX) {
		(void)lmdb_file_fault(file, "a value is too long");
		return NULL;
	}
	uint8_t *value = realloc(reader->value, entry->value_len + 1);
	if (value == NULL) {
		(void)lmdb_file_fail(file, KNOT_ENOMEM, "out of memory");
		return NULL;
	}
	reader->value = value;
	return lmdb_file_check_large(file, entry->child, entry->value_len, &pages) &&
					       lmdb_file_read_large(file, entry->child, value, entry->value_len)
			       ? value
			       : NULL;
}

static bool lmdb_reader_visit(lmdb_walk_t *walk, const lmdb_node_t *entry, void *ctx)
{
	(void)walk;
	sys_lmdb_reader_t *reader = ctx;
	const uint8_t *value = entry->value != NULL ? entry->value : lmdb_reader_load_large(reader, entry);
	return value != NULL && reader->visit(entry->key, (knot_bytes_t){ value, entry->value_len }, reader->visit_ctx);
}

knot_err_t sys_lmdb_reader_each(
		sys_lmdb_reader_t *reader, knot_bytes_t from, sys_lmdb_visit_t visit, void *ctx, const char **ret_what)
{
	lmdb_walk_t *walk = &reader->walk;
	reader->visit = visit;
	reader->visit_ctx = ctx;
	walk->hooks = (lmdb_walk_hooks_t){ .on_entry = lmdb_reader_visit, .ctx = reader, .from = from };
	walk->file.what = NULL;
	walk->file.err = KNOT_OK;
	(void)lmdb_walk_entries(walk, &reader->meta.main);
	if (walk->file.err != KNOT_OK) {
		*ret_what = walk->file.what;
	}
	return walk->file.err;
}

uint64_t sys_lmdb_reader_usage(const sys_lmdb_reader_t *reader)
{
	const lmdb_tree_t *tree = &reader->meta.main;
	return (tree->branch_pages + tree->leaf_pages + tree->large_pages) * reader->walk.file.page_len;
}
