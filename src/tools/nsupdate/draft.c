/* SPDX-License-Identifier: BSD-2-Clause */
#include "src/tools/nsupdate/draft.h"

#include <stdlib.h>

void draft_set_zone(draft_t *draft, knot_name_t zone)
{
	memcpy(draft->zone_wire, zone.wire, zone.len);
	draft->zone = knot_name_of(draft->zone_wire);
}

/* The array with room for `needed` items; NULL: memory is short, and it is as it was. */
static void *draft_grow(void *items, size_t *room, size_t needed, size_t size)
{
	if (items != NULL && needed <= *room) {
		return items;
	}
	size_t more = needed < 32 ? 64 : needed * 2;
	void *grown = reallocarray(items, more, size);
	*room = grown != NULL ? more : *room;
	return grown;
}

knot_err_t draft_add(draft_t *draft, knot_section_t section, knot_name_t owner, uint16_t type, uint16_t class,
		uint32_t ttl, knot_bytes_t rdata)
{
	size_t needed = draft->len + owner.len + rdata.len;
	draft_rr_t *items = draft_grow(draft->items, &draft->room, draft->count + 1, sizeof(*items));
	draft->items = items != NULL ? items : draft->items;
	uint8_t *bytes = draft_grow(draft->bytes, &draft->bytes_room, needed, 1);
	draft->bytes = bytes != NULL ? bytes : draft->bytes;
	if (items == NULL || bytes == NULL) {
		return KNOT_ENOMEM;
	}
	draft->items[draft->count++] = (draft_rr_t){
		.off = draft->len,
		.ttl = ttl,
		.type = type,
		.class = class,
		.rdata_len = (uint16_t)rdata.len,
		.owner_len = owner.len,
		.section = (uint8_t)section,
	};
	memcpy(draft->bytes + draft->len, owner.wire, owner.len);
	if (rdata.len > 0) {
		memcpy(draft->bytes + draft->len + owner.len, rdata.data, rdata.len);
	}
	draft->len += owner.len + rdata.len;
	return KNOT_OK;
}

void draft_clear(draft_t *draft)
{
	draft->count = draft->len = 0;
}

void draft_free(draft_t *draft)
{
	free(draft->items);
	free(draft->bytes);
	*draft = (draft_t){ 0 };
}

static knot_err_t draft_put_section(const draft_t *draft, knot_section_t section, knot_msg_writer_t *w, size_t *ret_fit)
{
	for (size_t i = 0; i < draft->count; i++) {
		const draft_rr_t *rr = &draft->items[i];
		knot_name_t owner = knot_name_of(draft->bytes + rr->off);
		knot_bytes_t rdata = { draft->bytes + rr->off + rr->owner_len, rr->rdata_len };
		if (rr->section != section) {
			continue;
		}
		if (knot_msg_put_rr(w, section, owner, rr->type, rr->class, rr->ttl, rdata) != KNOT_OK) {
			*ret_fit = i;
			return KNOT_ESPACE;
		}
	}
	return KNOT_OK;
}

knot_err_t draft_write(const draft_t *draft, uint16_t zone_class, size_t tail, knot_msg_writer_t *w, size_t *ret_fit)
{
	static __thread knot_msg_names_t names;
	*ret_fit = 0;
	if (!knot_msg_reserve(w, tail)) {
		return KNOT_ESPACE;
	}
	if (draft->zone.len > 0 && knot_msg_put_question(w, draft->zone, KNOT_TYPE_SOA, zone_class) != KNOT_OK) {
		return KNOT_ESPACE;
	}
	knot_msg_compress_exact(w, &names);
	knot_err_t err = draft_put_section(draft, (knot_section_t)DRAFT_PREREQUISITE, w, ret_fit);
	if (err == KNOT_OK) {
		err = draft_put_section(draft, (knot_section_t)DRAFT_UPDATE, w, ret_fit);
	}
	knot_msg_release(w);
	return err;
}
