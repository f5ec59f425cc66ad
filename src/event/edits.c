/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/event/edits.h"

#include <search.h>
#include <stdlib.h>

#include "src/sys/clock.h"

static int edits_compare(const void *va, const void *vb)
{
	const server_edit_t *a = va, *b = vb;
	return knot_name_cmp(a->name, b->name);
}

static server_edit_t *edits_find_node(const edits_t *edits, knot_name_t name) SYS_REQUIRES(edits->lock)
{
	const server_edit_t wanted = { .name = name };
	server_edit_t **found = tfind(&wanted, &edits->map, edits_compare);
	return found != NULL ? *found : NULL;
}

static server_edit_t *edits_ref(server_edit_t *edit)
{
	if (edit != NULL) {
		edit->refs++;
	}
	return edit;
}

static void edits_free_node(server_edit_t *edit)
{
	update_end(&edit->update);
	zone_contents_free(edit->base);
	sys_mutex_done(&edit->lock);
	free(edit);
}

void edits_init(edits_t *edits)
{
	*edits = (edits_t){ .map = NULL };
	sys_mutex_init(&edits->lock);
}

void edits_done(edits_t *edits)
{
	while (edits->map != NULL) {
		server_edit_t *edit = *(server_edit_t **)edits->map;
		(void)tdelete(edit, &edits->map, edits_compare);
		edits_free_node(edit);
	}
	sys_mutex_done(&edits->lock);
}

server_edit_t *edits_new(knot_name_t name)
{
	server_edit_t *edit = calloc(1, sizeof(*edit) + name.len);
	if (edit != NULL) {
		knot_name_lower(name, edit->wire);
		edit->name = (knot_name_t){ edit->wire, name.len, name.label_count };
		edit->since_s = sys_clock_wall();
		edit->refs = 1;
		sys_mutex_init(&edit->lock);
	}
	return edit;
}

knot_err_t edits_add(edits_t *edits, server_edit_t *take_edit)
{
	sys_mutex_lock(&edits->lock);
	server_edit_t **at = tsearch(take_edit, &edits->map, edits_compare);
	bool is_added = at != NULL && *at == take_edit;
	take_edit->is_open = is_added;
	edits->count += is_added;
	sys_mutex_unlock(&edits->lock);
	return at == NULL ? KNOT_ENOMEM : is_added ? KNOT_OK : KNOT_ETXNMANY;
}

server_edit_t *edits_find(edits_t *edits, knot_name_t name)
{
	sys_mutex_lock(&edits->lock);
	server_edit_t *edit = edits_ref(edits_find_node(edits, name));
	sys_mutex_unlock(&edits->lock);
	return edit;
}

server_edit_t *edits_any(edits_t *edits)
{
	sys_mutex_lock(&edits->lock);
	server_edit_t *edit = edits->map != NULL ? edits_ref(*(server_edit_t **)edits->map) : NULL;
	sys_mutex_unlock(&edits->lock);
	return edit;
}

bool edits_remove(edits_t *edits, server_edit_t *edit)
{
	sys_mutex_lock(&edits->lock);
	bool was_open = edit->is_open;
	if (was_open) {
		assert(edit->refs > 1 && edits->count > 0);
		(void)tdelete(edit, &edits->map, edits_compare);
		edit->is_open = false;
		edit->refs--;
		edits->count--;
	}
	sys_mutex_unlock(&edits->lock);
	return was_open;
}

bool edits_has(edits_t *edits, const server_edit_t *edit)
{
	sys_mutex_lock(&edits->lock);
	bool is_open = edit->is_open;
	sys_mutex_unlock(&edits->lock);
	return is_open;
}

void edits_unref(edits_t *edits, server_edit_t *take_edit)
{
	sys_mutex_lock(&edits->lock);
	bool is_last = --take_edit->refs == 0;
	assert(!is_last || !take_edit->is_open);
	sys_mutex_unlock(&edits->lock);
	if (is_last) {
		edits_free_node(take_edit);
	}
}

size_t edits_count(edits_t *edits)
{
	sys_mutex_lock(&edits->lock);
	size_t count = edits->count;
	sys_mutex_unlock(&edits->lock);
	return count;
}
